//! The environment policy: which variables of the user's environment a program gets.
//!
//! The policy is one pure function, [`EnvironmentPolicy::apply`], used for every program that Forge starts for a task
//! or a project: agents, checks, set-up commands, hooks, commands of `validate`, and probes of agent programs. Variables
//! that a user configures explicitly (an agent's `env`) and those that Forge sets itself come on top of its outcome and
//! are not its concern.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use crate::{contract, names, workflow::Finding};

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// A name that contains one of these, in any case, looks like a secret's.
const SECRET_PARTS: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"];

/// How the names of Forge's own variables begin.
const FORGE_PREFIX: &str = "FORGE_";

/// The one variable of Forge that programs inherit: where `forge` finds its data.
const FORGE_DATA_DIR: &str = "FORGE_DATA_DIR";

/// Variables that name a file which shells run at every start: it would export again what is withheld.
const SHELL_FILES: [&str; 2] = ["BASH_ENV", "ENV"];

/// What `minimal` passes.
const MINIMAL: [&str; 13] = [
    "HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TEMP", "TERM", "TMP", "TMPDIR", "TZ", "USER",
    "HOSTNAME",
];

/// How the names of further variables begin that `minimal` passes.
const MINIMAL_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

names! {
    /// How much of the user's environment programs inherit.
    pub enum EnvironmentMode {
        /// All of it.
        InheritAll = "inherit_all",
        /// All variables, except what looks like a secret and names files that shells run at every start.
        Safe = "safe",
        /// The search path, the home folder, the language and the like.
        Minimal = "minimal",
    }
}

names! {
    /// When the profile of the login shell runs.
    pub enum ShellMode {
        /// Once; commands run in the environment that it leaves, in a shell that reads no profile.
        LoginOnce = "login_once",
        /// For each command.
        LoginEach = "login_each",
    }
}

contract! {
    /// Which variables of the user's environment programs inherit.
    #[derive(Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct EnvironmentSettings {
        /// How much.
        pub mode: EnvironmentMode,
        /// Names of variables that are passed in every mode.
        pub pass: Vec<String>,
    }

    /// What an agent's program inherits besides what its project passes.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct AgentEnvironment {
        /// Names of variables that are passed to this agent.
        pub pass: Vec<String>,
    }
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self { mode: EnvironmentMode::Safe, pass: Vec::new() }
    }
}

/// What is wrong with names of variables.
#[must_use]
pub fn findings_of_names(names: &[String], path: &str) -> Vec<Finding> {
    let is_name = |name: &str| !name.trim().is_empty() && !name.contains(['=', '\0']);
    let wrong = names.iter().enumerate().filter(|(_, name)| !is_name(name));
    wrong
        .map(|(index, _)| {
            Finding::new(format!("{path}[{index}]"), "must be a variable name, such as `NPM_TOKEN`")
        })
        .collect()
}

/// Whether a variable's name says that its value is a secret.
#[must_use]
pub fn looks_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Which variables one program gets.
#[derive(Debug, Clone)]
pub struct EnvironmentPolicy {
    /// How much is inherited.
    mode: EnvironmentMode,
    /// Names that are passed whatever the mode.
    pass: Vec<String>,
}

/// The outcome of a policy: what a program inherits, and what is kept from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inherited {
    /// What the program gets.
    pub passed: Variables,
    /// What it does not get, with the values: they are to be kept out of logs.
    pub withheld: Variables,
}

impl EnvironmentPolicy {
    /// The policy of a project's settings.
    #[must_use]
    pub fn of(settings: &EnvironmentSettings) -> Self {
        Self { mode: settings.mode, pass: settings.pass.clone() }
    }

    /// The same policy that also passes these.
    #[must_use]
    pub fn passing<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.pass.extend(names.into_iter().map(Into::into));
        self
    }

    /// Divides an environment into what is passed and what is withheld.
    #[must_use]
    pub fn apply(&self, environment: &Variables) -> Inherited {
        let mut inherited = Inherited::default();
        for (name, value) in environment {
            let side = if self.passes(name) { &mut inherited.passed } else { &mut inherited.withheld };
            side.insert(name.clone(), value.clone());
        }
        inherited
    }

    fn passes(&self, name: &OsStr) -> bool {
        if self.pass.iter().any(|passed| name == passed.as_str()) {
            return true;
        }
        let text = name.to_string_lossy();
        match self.mode {
            EnvironmentMode::InheritAll => true,
            EnvironmentMode::Safe => {
                let is_of_forge = text.starts_with(FORGE_PREFIX) && text != FORGE_DATA_DIR;
                let is_shell_file = SHELL_FILES.contains(&text.as_ref());
                !is_of_forge && !is_shell_file && !looks_secret(name)
            }
            EnvironmentMode::Minimal => {
                text == FORGE_DATA_DIR
                    || MINIMAL.contains(&text.as_ref())
                    || (MINIMAL_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) && !looks_secret(name))
            }
        }
    }
}

impl Inherited {
    /// The names of what is withheld, in order.
    #[must_use]
    pub fn withheld_names(&self) -> Vec<String> {
        self.withheld.keys().map(|name| name.to_string_lossy().into_owned()).collect()
    }

    /// The secrets of the environment with their names, passed or withheld: what must appear in no log. Values that
    /// are no text are left out, since no text can show them.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.withheld.iter().chain(&self.passed);
        all.filter(|(name, value)| looks_secret(name) && !value.is_empty())
            .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: [(&str, &str); 14] = [
        ("AWS_ACCESS_KEY_ID", "AKIA"),
        ("BASH_ENV", "/home/me/env.sh"),
        ("ENV", "/home/me/env.sh"),
        ("CARGO_HOME", "/cargo"),
        ("DB_PASSWORD", "hunter2"),
        ("FORGE_CWD", "/here"),
        ("FORGE_DATA_DIR", "/data"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/key.json"),
        ("HOME", "/home/me"),
        ("LC_TIME", "C"),
        ("OPENAI_API_KEY", "sk-1"),
        ("PATH", "/bin"),
        ("npm_config_authToken", "t"),
        ("deploy_private_key", "k"),
    ];

    fn environment() -> Variables {
        USUAL.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    fn names(variables: &Variables) -> Vec<&str> {
        variables.keys().filter_map(|name| name.to_str()).collect()
    }

    fn policy(mode: EnvironmentMode, pass: &[&str]) -> EnvironmentPolicy {
        EnvironmentPolicy::of(&EnvironmentSettings { mode, pass: Vec::new() }).passing(pass.iter().copied())
    }

    #[test]
    fn safe_withholds_secrets_and_variables_of_forge() {
        let inherited = policy(EnvironmentMode::Safe, &[]).apply(&environment());
        assert_eq!(names(&inherited.passed), ["CARGO_HOME", "FORGE_DATA_DIR", "HOME", "LC_TIME", "PATH"]);
        assert_eq!(
            inherited.withheld_names(),
            [
                "AWS_ACCESS_KEY_ID",
                "BASH_ENV",
                "DB_PASSWORD",
                "ENV",
                "FORGE_CWD",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "OPENAI_API_KEY",
                "deploy_private_key",
                "npm_config_authToken",
            ]
        );
    }

    #[test]
    fn safe_withholds_every_kind_of_secret_name_in_any_case() {
        for part in SECRET_PARTS {
            for name in [part.to_owned(), format!("MY_{part}_2"), format!("my_{}", part.to_lowercase())] {
                assert!(looks_secret(OsStr::new(&name)), "{name}");
            }
        }
        for name in ["PATH", "KEYMAP", "SSH_AUTH_SOCK", "PASS_THROUGH", "API_URL"] {
            assert!(!looks_secret(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn names_to_pass_are_passed_in_every_mode_and_no_others() {
        for mode in [EnvironmentMode::Safe, EnvironmentMode::Minimal] {
            let inherited = policy(mode, &["OPENAI_API_KEY", "FORGE_CWD"]).apply(&environment());
            let passed = names(&inherited.passed);
            assert!(
                passed.contains(&"OPENAI_API_KEY") && passed.contains(&"FORGE_CWD"),
                "{mode}: {passed:?}"
            );
            assert!(!passed.contains(&"DB_PASSWORD"), "{mode}: {passed:?}");
        }
    }

    #[test]
    fn minimal_passes_a_short_list_and_inherit_all_everything() {
        let minimal = policy(EnvironmentMode::Minimal, &[]).apply(&environment());
        assert_eq!(names(&minimal.passed), ["FORGE_DATA_DIR", "HOME", "LC_TIME", "PATH"]);
        let all = policy(EnvironmentMode::InheritAll, &[]).apply(&environment());
        assert_eq!((all.passed, all.withheld), (environment(), Variables::new()));
    }

    #[test]
    fn secrets_are_named_whether_passed_or_withheld() {
        let inherited = policy(EnvironmentMode::Safe, &["DB_PASSWORD"]).apply(&environment());
        let secrets: Vec<_> = inherited.secrets().collect();
        assert!(
            secrets.contains(&("DB_PASSWORD", "hunter2")) && secrets.contains(&("OPENAI_API_KEY", "sk-1"))
        );
        assert!(!secrets.iter().any(|(name, _)| *name == "FORGE_CWD"));
    }

    #[test]
    fn findings_name_what_is_no_variable() {
        let names = ["OK".to_owned(), " ".to_owned(), "A=B".to_owned()];
        let paths: Vec<_> =
            findings_of_names(&names, "environment.pass").into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["environment.pass[1]", "environment.pass[2]"]);
    }
}
