//! The environment of every program that Forge starts for a project, a task or an agent profile.
//!
//! Each starts from the user's environment, or from what the login shell's profile makes of it, and gets what the
//! environment policy (`forge-model/environment.rs`) passes. Nothing else here or elsewhere decides that. What Forge
//! and the user set explicitly comes on top, where the program is started.

use std::{
    ffi::{OsStr, OsString},
    sync::Arc,
};

use forge_agents::{AgentError, LogWriter, ProbeFolder, adapter};
use forge_exec::{LoginError, LoginShell, Variables};
use forge_git::REPOSITORY_VARIABLES;
use forge_model::agent::{AdapterKind, Agent, Profile};
use forge_model::environment::{EnvironmentPolicy, Inherited, ShellMode};
use forge_model::log::EntryKind;
use forge_model::redact::Redactor;
use forge_model::settings::ProjectSettings;
use serde_json::{Value, json};

use crate::{ConflictCode, EngineError, Work, World, core::context::ProjectContext, error::Result};

/// The folder below the data folder in which programs are tried and asked about themselves.
pub(crate) const TRIALS: &str = "trials";

/// The search path.
const PATH: &str = "PATH";

/// What a program inherits, and the shell that runs its command.
#[derive(Debug, Clone)]
pub(crate) struct ProgramEnvironment {
    passed: Arc<Variables>,
    inherited: Inherited,
    shell: Vec<String>,
    redactor: Arc<Redactor>,
}

impl ProgramEnvironment {
    /// What takes secrets out of the program's output, those of its environment among them.
    pub(crate) fn redactor(&self) -> &Arc<Redactor> {
        &self.redactor
    }

    /// What the program's environment starts from.
    pub(crate) fn base(&self) -> Arc<Variables> {
        Arc::clone(&self.passed)
    }

    /// The shell with its arguments that runs a line in this environment.
    pub(crate) fn shell(&self) -> &[String] {
        &self.shell
    }

    /// Names of what the program does not get.
    pub(crate) fn withheld_names(&self) -> Vec<String> {
        self.inherited.withheld_names()
    }

    /// Tells a log what the program does not get.
    pub(crate) fn note_withheld(&self, log: &LogWriter) {
        let names = self.withheld_names();
        if !names.is_empty() {
            let text = format!("Withheld from the environment: {}.", names.join(", "));
            log.append(EntryKind::Notice, "", json!({ "text": text, "code": "withheld", "names": names }));
        }
    }
}

/// The environment of a command that a project runs: a check, a set-up command, a hook. On another machine it begins with
/// what a login there sets up.
///
/// # Errors
/// When the login shell's profile fails.
pub(crate) async fn command_environment(
    world: &World,
    context: &ProjectContext,
    login_there: Option<&Variables>,
) -> Result<ProgramEnvironment> {
    learn_of_project(world, context).await;
    let policy = EnvironmentPolicy::of(&context.settings.environment);
    let (variables, shell) = match login_there {
        Some(login) => variables_there(world, login, &context.settings),
        None => match surroundings(world, &context.settings).await? {
            Some(surroundings) => surroundings,
            None => (extended_variables(world).await, context.settings.shell.clone()),
        },
    };
    Ok(program_environment(world, policy.apply(&variables), shell, Some(context)))
}

/// Learns what must not be printed by the programs of a project.
async fn learn_of_project(world: &World, context: &ProjectContext) {
    for learn in &world.features().moments.learn_secrets {
        learn(world, context).await;
    }
}

fn program_environment(
    world: &World,
    inherited: Inherited,
    shell: Vec<String>,
    context: Option<&ProjectContext>,
) -> ProgramEnvironment {
    super::redaction::learn_secrets(world, inherited.secrets());
    let redactor = context.map_or_else(
        || super::redaction::general_redactor(world),
        |context| super::redaction::redactor_in(world, context),
    );
    ProgramEnvironment { passed: Arc::new(inherited.passed.clone()), inherited, shell, redactor }
}

/// The environment of an agent's program, in a project or on its own; on another machine as a command's.
///
/// # Errors
/// When the login shell's profile fails.
pub(crate) async fn agent_environment(
    world: &World,
    context: Option<&ProjectContext>,
    agent: &Agent,
    login_there: Option<&Variables>,
) -> Result<ProgramEnvironment> {
    let usual = ProjectSettings::default();
    let settings = context.map_or(&usual, |context| &context.settings);
    if let Some(context) = context {
        learn_of_project(world, context).await;
    }
    let surroundings = match (login_there, context) {
        (Some(login), _) => Some(variables_there(world, login, settings)),
        (None, Some(context)) => surroundings(world, &context.settings).await?,
        (None, None) => None,
    };
    let (variables, shell) = match surroundings {
        Some(surroundings) => surroundings,
        None => (user_variables(world).await, settings.shell.clone()),
    };
    let policy = EnvironmentPolicy::of(&settings.environment)
        .passing(adapter(agent.adapter).sign_in_variables(&agent.config, &variables))
        .passing(Profile::of(agent).pass);
    super::redaction::learn_profile(world, &agent.config);
    Ok(program_environment(world, policy.apply(&variables), shell, context))
}

/// Where an agent program is asked about itself: its environment, and a folder that nobody else writes to.
///
/// # Errors
/// When the folder cannot be made.
pub(crate) async fn probe_folder(
    world: &World,
    kind: AdapterKind,
    config: &Value,
) -> std::result::Result<ProbeFolder, AgentError> {
    let variables = user_variables(world).await;
    let named = config.get("environment").and_then(|environment| environment.get("pass"));
    let named = named.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let policy = EnvironmentPolicy::of(&ProjectSettings::default().environment)
        .passing(adapter(kind).sign_in_variables(config, &variables))
        .passing(named);
    let passed = Arc::new(policy.apply(&variables).passed);
    ProbeFolder::new(passed, &world.data_dir().join(TRIALS)).map_err(|error| AgentError::Unavailable {
        program: kind.to_string(),
        detail: format!("could not create its working folder: {error}"),
    })
}

/// The environment of a command of `validate`: this program's own, since such commands are run by `/bin/sh` without
/// any profile. An engine that works may have been started from a desktop, with a bare path: what the login shell
/// knows comes behind what this program was given on purpose.
pub(crate) async fn validate_environment(
    world: &World,
    context: Option<&ProjectContext>,
) -> ProgramEnvironment {
    if let Some(context) = context {
        learn_of_project(world, context).await;
    }
    let usual = ProjectSettings::default();
    let policy = EnvironmentPolicy::of(&context.map_or(&usual, |context| &context.settings).environment);
    let variables = match world.inner.config.work {
        Work::Nothing => own_variables(world),
        Work::Named | Work::All => extended_variables(world).await,
    };
    program_environment(world, policy.apply(&variables), Vec::new(), context)
}

/// What a login sets up on another machine, and the shell that runs lines there. Nothing of this computer's environment
/// goes there.
fn variables_there(world: &World, login: &Variables, settings: &ProjectSettings) -> (Variables, Vec<String>) {
    super::redaction::learn_variables(world, login);
    let shell = match LoginShell::read(&settings.shell) {
        Some(shell) if settings.shell_mode == ShellMode::LoginOnce => shell.plain().to_vec(),
        _ => settings.shell.clone(),
    };
    (without_repository(login.clone()), shell)
}

/// The path that the user's programs are found on.
pub(crate) async fn user_path(world: &World) -> OsString {
    user_variables(world).await.get(OsStr::new(PATH)).cloned().unwrap_or_default()
}

/// The whole environment that a project's programs choose from, and the shell that runs lines in it, where the
/// project's login shell makes it once; none where the shell reads its profile itself or is no login shell.
async fn surroundings(world: &World, settings: &ProjectSettings) -> Result<Option<(Variables, Vec<String>)>> {
    let read = LoginShell::read(&settings.shell);
    let login = match settings.shell_mode {
        ShellMode::LoginOnce => read,
        ShellMode::LoginEach => {
            if let Some(shell) = read {
                learn_login_shell(world, &shell).await;
            }
            None
        }
    };
    let Some(login) = login else { return Ok(None) };
    let taken = tokio::select! {
        taken = world.inner.logins.get(&login) => taken?,
        () = world.inner.shutdown.cancelled() => {
            return Err(EngineError::conflict(ConflictCode::Stopping, "Forge is stopping"));
        }
    };
    super::redaction::learn_variables(world, &taken);
    let mut variables = without_repository((*taken).clone());
    // Agent programs may be known to the user's own shell alone.
    if !world.inner.login_shell.is_same_program(&login) {
        extend_path(&mut variables, login_variables(world).await.as_deref());
    }
    Ok(Some((variables, login.plain().to_vec())))
}

/// This process's own environment, with the folders that only the user's login shell knows behind its path.
async fn extended_variables(world: &World) -> Variables {
    let mut variables = own_variables(world);
    extend_path(&mut variables, login_variables(world).await.as_deref());
    variables
}

/// This process's own environment with the path of the user's login shell, where that is known.
pub(crate) async fn user_variables(world: &World) -> Variables {
    let mut variables = own_variables(world);
    let login = login_variables(world).await;
    if let Some(path) = login.as_ref().and_then(|login| login.get(OsStr::new(PATH))) {
        variables.insert(PATH.into(), path.clone());
    }
    variables
}

fn own_variables(world: &World) -> Variables {
    without_repository((*world.inner.config.environment).clone())
}

/// Learns what a profile exports that each command runs for itself: it reaches commands unfiltered.
async fn learn_login_shell(world: &World, shell: &LoginShell) {
    let taken = tokio::select! {
        taken = world.inner.logins.get(shell) => taken,
        () = world.inner.shutdown.cancelled() => return,
    };
    match taken {
        Ok(variables) => super::redaction::learn_variables(world, &variables),
        Err(error) => tracing::warn!(%error, "secrets that only the login shell exports are not known"),
    }
}

/// How many variables the profile of the user's login shell exports.
///
/// # Errors
/// Why it could not be read.
pub(crate) async fn read_login(world: &World) -> std::result::Result<usize, String> {
    match taken_of_login(world).await {
        Some(taken) => taken.map(|variables| variables.len()).map_err(|error| error.to_string()),
        None => Err("Forge is stopping".to_owned()),
    }
}

/// What the profile of the user's login shell makes of the environment; none when the engine ends meanwhile.
async fn taken_of_login(world: &World) -> Option<std::result::Result<Arc<Variables>, LoginError>> {
    tokio::select! {
        taken = world.inner.logins.get(&world.inner.login_shell) => Some(taken),
        () = world.inner.shutdown.cancelled() => None,
    }
}

/// What the user's login shell sets up; none when it is not known.
async fn login_variables(world: &World) -> Option<Arc<Variables>> {
    match taken_of_login(world).await? {
        Ok(variables) => {
            super::redaction::learn_variables(world, &variables);
            Some(variables)
        }
        Err(error) => {
            tracing::warn!(%error, "programs are looked for on this process's own path");
            None
        }
    }
}

/// Without what tells git of another repository: whoever started Forge may have worked in one.
fn without_repository(mut variables: Variables) -> Variables {
    for name in REPOSITORY_VARIABLES {
        variables.remove(OsStr::new(name));
    }
    variables
}

/// Adds the folders of another environment's path behind those that are there.
fn extend_path(variables: &mut Variables, other: Option<&Variables>) {
    let Some(further) = other.and_then(|other| other.get(OsStr::new(PATH))) else { return };
    let own = variables.get(OsStr::new(PATH)).cloned().unwrap_or_default();
    let mut folders: Vec<_> =
        std::env::split_paths(&own).filter(|folder| !folder.as_os_str().is_empty()).collect();
    for folder in std::env::split_paths(further) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    // Folders of a path that was just divided hold no separator.
    if let Ok(joined) = std::env::join_paths(folders) {
        variables.insert(PATH.into(), joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_another_path_come_behind_and_once() {
        let with = |path: &str| Variables::from([(OsString::from(PATH), OsString::from(path))]);
        let mut variables = with("/a:/b");
        extend_path(&mut variables, Some(&with("/b:/c:/a")));
        assert_eq!(variables, with("/a:/b:/c"));
        extend_path(&mut variables, None);
        assert_eq!(variables, with("/a:/b:/c"));
    }
}
