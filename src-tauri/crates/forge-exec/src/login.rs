//! The environment that a login shell sets up, taken once and kept.
//!
//! A program started from a desktop has a bare environment; what the user set up is in the profile of the login shell,
//! which may take seconds to run and does not bear being killed half-way (version managers leave locks behind). So the
//! profile is run once per shell, whoever asks: concurrent callers share one run, and a caller that goes away does not
//! end it. It is run again when a profile file has changed.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::Mutex as AsyncMutex, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::variables::Variables;
use crate::{
    Command, Exit, HeadTail, MARKER_VARIABLE, Marker, OutputSink, Stream, find_program, process::os_string,
    run,
};

/// Stands around the answer: profiles print greetings.
const FENCE: &str = "__forge_login_environment__";

/// What the login shell runs behind its profile. The program's path is absolute, since a profile may break the `PATH`.
const SCRIPT: &str =
    "printf '%s' __forge_login_environment__; /usr/bin/env -0; printf '%s' __forge_login_environment__";

/// The most of the output that is kept. An environment is far shorter: the system allows a few megabytes at most.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// How much of what the profile prints as errors is kept, to say why it failed.
const ERRORS_KEPT: usize = 2048;

/// From the gentle signal to the kill of a profile that takes too long: time to remove its locks.
const GRACE: Duration = Duration::from_secs(2);

/// What a shell sets for itself. Whatever runs later sets its own.
const OF_THE_SHELL: [&str; 5] = ["_", "OLDPWD", "PWD", "SHLVL", MARKER_VARIABLE];

/// Shells whose options are known.
const KNOWN_SHELLS: [&str; 6] = ["bash", "dash", "fish", "ksh", "sh", "zsh"];

/// Shells that read configuration files whenever they start, with the option that keeps them from it. What is exported
/// in such a file would bring back what the environment policy withholds.
const WITHOUT_FILES: [(&str, &str); 2] = [("fish", "--no-config"), ("zsh", "-f")];

/// Why the environment of a login shell is not known.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LoginError {
    /// The shell did not run.
    #[error("Could not read the login environment of {shell}: {reason}.")]
    NotRun {
        /// The shell.
        shell: String,
        /// Why.
        reason: String,
    },
    /// The profile took too long, as one that waits for input does.
    #[error("Could not read the login environment of {shell}: its profile timed out after {} s{}", timeout.as_secs(), said(.errors))]
    TimedOut {
        /// The shell.
        shell: String,
        /// How long it had.
        timeout: Duration,
        /// The last line that it printed as an error.
        errors: String,
    },
    /// The shell ended before it told its environment.
    #[error("Could not read the login environment of {shell}: its profile ended the shell ({exit}){}", said(.errors))]
    NoAnswer {
        /// The shell.
        shell: String,
        /// How it ended.
        exit: String,
        /// The last line that it printed as an error.
        errors: String,
    },
}

fn said(errors: &str) -> String {
    if errors.is_empty() { ".".to_owned() } else { format!(". It printed: {errors}") }
}

/// A shell that reads its profile, and the same shell without doing so.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginShell {
    login: Vec<String>,
    plain: Vec<String>,
}

impl LoginShell {
    /// Reads a command such as `["bash", "-lc"]`. None when it is no login shell of a kind that is known, or is
    /// interactive, too: what aliases and functions it sets up does not travel by its environment.
    #[must_use]
    pub fn read(command: &[String]) -> Option<Self> {
        let (program, options) = command.split_first()?;
        let name = Path::new(program).file_name()?.to_str()?;
        if !KNOWN_SHELLS.contains(&name) || (program.contains('/') && !program.starts_with('/')) {
            return None;
        }
        let mut plain = vec![program.clone()];
        let mut is_login = false;
        for option in options {
            let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            match letters {
                None if option == "--login" => is_login = true,
                None if option.starts_with("--") => plain.push(option.clone()),
                None => return None,
                Some(letters) if letters.contains('i') => return None,
                Some(letters) => {
                    let rest: String = letters.chars().filter(|letter| *letter != 'l').collect();
                    is_login |= rest.len() < letters.len();
                    if !rest.is_empty() {
                        plain.push(format!("-{rest}"));
                    }
                }
            }
        }
        let takes_script =
            plain.last().is_some_and(|option| option.starts_with('-') && option.ends_with('c'));
        // These read files of the user's without being login shells.
        if let Some((_, option)) = WITHOUT_FILES.iter().find(|(shell, _)| *shell == name) {
            plain.insert(1, (*option).to_owned());
        }
        (is_login && takes_script).then(|| Self { login: command.to_vec(), plain })
    }

    /// The user's own shell, whatever it is, asked as a login shell.
    #[must_use]
    pub fn of_user(program: &OsStr) -> Self {
        let program = program.to_string_lossy().into_owned();
        let command = |option: &str| vec![program.clone(), option.to_owned()];
        Self { login: command("-lc"), plain: command("-c") }
    }

    /// The same shell without its profile: `["bash", "-c"]`.
    #[must_use]
    pub fn plain(&self) -> &[String] {
        &self.plain
    }

    /// Whether both are the same program, however it is named.
    #[must_use]
    pub fn is_same_program(&self, other: &Self) -> bool {
        let name = |shell: &Self| Path::new(shell.program()).file_name().map(OsStr::to_owned);
        name(self) == name(other)
    }

    fn program(&self) -> &str {
        self.login.first().map_or("", String::as_str)
    }
}

/// The environments of login shells, each taken once and again when a profile file changed.
#[derive(Debug)]
pub struct LoginEnvironments {
    /// What profiles start from.
    base: Arc<Variables>,
    patience: Duration,
    slots: Mutex<HashMap<LoginShell, Arc<AsyncMutex<Slot>>>>,
    under_way: TaskTracker,
}

#[derive(Debug, Default)]
struct Slot {
    taken: Option<(Stamps, Arc<Variables>)>,
    /// The last failure and when it came: those who asked before are told the same.
    failed: Option<(Instant, LoginError)>,
}

impl LoginEnvironments {
    /// Will run profiles on top of `base`, each for at most `patience`.
    #[must_use]
    pub fn new(base: Arc<Variables>, patience: Duration) -> Self {
        Self { base, patience, slots: Mutex::default(), under_way: TaskTracker::new() }
    }

    /// The environment of a login shell, taken now when it is not known or no longer holds.
    ///
    /// # Errors
    /// When the shell does not run, or does not answer in time; the next call tries again.
    pub async fn get(&self, shell: &LoginShell) -> Result<Arc<Variables>, LoginError> {
        self.ask(shell, false).await
    }

    /// Takes the environment anew, for when the user installed something.
    ///
    /// # Errors
    /// As [`LoginEnvironments::get`]; what was known stays.
    pub async fn refresh(&self, shell: &LoginShell) -> Result<Arc<Variables>, LoginError> {
        self.ask(shell, true).await
    }

    /// Waits until no profile runs, at most for `patience`: one that is killed in the middle can leave locks behind.
    pub async fn settle(&self, patience: Duration) {
        self.under_way.close();
        // What takes longer is killed with this process.
        let _ = tokio::time::timeout(patience, self.under_way.wait()).await;
    }

    async fn ask(&self, shell: &LoginShell, anew: bool) -> Result<Arc<Variables>, LoginError> {
        let asked = Instant::now();
        let slot = self.slot(shell);
        let (shell, base, patience) = (shell.clone(), Arc::clone(&self.base), self.patience);
        let name = shell.program().to_owned();
        // On its own, since a caller that goes away must not kill a profile half-way.
        let taking = self.under_way.spawn(async move {
            let mut slot = slot.lock().await;
            if let Some((_, error)) = slot.failed.as_ref().filter(|(at, _)| *at > asked) {
                return Err(error.clone());
            }
            // Before the profile runs: what changes meanwhile makes it run again.
            let stamps = stamps_off_thread(Arc::clone(&base)).await;
            if let Some((known, variables)) = slot.taken.as_ref().filter(|_| !anew)
                && *known == stamps
            {
                return Ok(Arc::clone(variables));
            }
            match take(&shell, base, patience).await {
                Ok(variables) => {
                    let variables = Arc::new(variables);
                    *slot = Slot { taken: Some((stamps, Arc::clone(&variables))), failed: None };
                    Ok(variables)
                }
                Err(error) => {
                    slot.failed = Some((Instant::now(), error.clone()));
                    Err(error)
                }
            }
        });
        match taking.await {
            Ok(taken) => taken,
            Err(error) => Err(LoginError::NotRun { shell: name, reason: error.to_string() }),
        }
    }

    fn slot(&self, shell: &LoginShell) -> Arc<AsyncMutex<Slot>> {
        let path = self.base.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        // However it is named, a shell's profile is run once.
        let named = find_program(shell.program(), &path).and_then(|found| found.canonicalize().ok());
        let mut key = shell.clone();
        if let (Some(found), Some(program)) = (named, key.login.first_mut()) {
            *program = found.to_string_lossy().into_owned();
            key.plain.clear();
        }
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key).or_default())
    }
}

/// Runs the profile.
async fn take(shell: &LoginShell, base: Arc<Variables>, timeout: Duration) -> Result<Variables, LoginError> {
    let name = shell.program().to_owned();
    let marker = Marker(format!("login-{}-{}", std::process::id(), shell.login.join(" ")));
    let command = Command::new(shell.program(), "/", marker)
        .args(shell.login.iter().skip(1))
        .arg(SCRIPT)
        .base(base)
        .timeout(timeout)
        .grace(GRACE);
    let mut answer = Answer { stdout: Vec::new(), stderr: HeadTail::new(ERRORS_KEPT) };
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut answer).await;
    let finished = finished.map_err(|error| {
        let reason = match std::error::Error::source(&error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        };
        LoginError::NotRun { shell: name.clone(), reason }
    })?;
    let errors = || {
        let all = answer.stderr.clone().into_strings().stderr;
        all.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
    };
    match answer.variables() {
        Some(variables) => Ok(variables),
        None if finished.timed_out => Err(LoginError::TimedOut { shell: name, timeout, errors: errors() }),
        None => {
            let exit = match finished.exit {
                Exit::Code(code) => format!("exit {code}"),
                Exit::Signal(signal) => format!("signal {signal}"),
            };
            Err(LoginError::NoAnswer { shell: name, exit, errors: errors() })
        }
    }
}

struct Answer {
    stdout: Vec<u8>,
    stderr: HeadTail,
}

impl Answer {
    fn variables(&self) -> Option<Variables> {
        let fence = FENCE.as_bytes();
        let find = |from: usize| {
            let rest = self.stdout.get(from..)?;
            rest.windows(fence.len()).position(|window| window == fence).map(|at| from + at)
        };
        let start = find(0)? + fence.len();
        let bytes = self.stdout.get(start..find(start)?)?;
        let pairs = bytes.split(|byte| *byte == 0).filter_map(|pair| {
            let equals = pair.iter().position(|byte| *byte == b'=')?;
            Some((os_string(pair.get(..equals)?), os_string(pair.get(equals + 1..)?)))
        });
        Some(pairs.filter(|(name, _)| !OF_THE_SHELL.iter().any(|own| name == own)).collect())
    }
}

#[async_trait::async_trait]
impl OutputSink for Answer {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Stdout if self.stdout.len() < MAX_ANSWER => self.stdout.extend_from_slice(bytes),
            Stream::Stdout => {}
            Stream::Stderr => self.stderr.push(stream, bytes),
        }
        Ok(())
    }
}

/// What tells one version of a file from the next; none when it is not there.
type Stamp = Option<(i64, i64, u64, u64)>;

/// The profile files, as they are at one moment.
type Stamps = BTreeMap<PathBuf, Stamp>;

/// Looks at files off the threads that others share: a home folder may be on a network.
async fn stamps_off_thread(base: Arc<Variables>) -> Stamps {
    match tokio::task::spawn_blocking(move || stamps(&base)).await {
        Ok(stamps) => stamps,
        Err(error) => {
            tracing::warn!(%error, "could not look at the profile files");
            Stamps::new()
        }
    }
}

fn stamps(base: &Variables) -> Stamps {
    let variable =
        |name: &str| base.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut files: Vec<PathBuf> = [
        "/etc/profile",
        "/etc/environment",
        "/etc/bash.bashrc",
        "/etc/bashrc",
        "/etc/zshenv",
        "/etc/zprofile",
        "/etc/zsh/zshenv",
        "/etc/zsh/zprofile",
        "/etc/fish/config.fish",
    ]
    .map(PathBuf::from)
    .into();
    let mut folders = vec![PathBuf::from("/etc/profile.d")];
    let home = variable("HOME");
    if let Some(home) = &home {
        let own = [
            ".bash_profile",
            ".bash_login",
            ".profile",
            ".bashrc",
            ".zshenv",
            ".zprofile",
            ".zshrc",
            ".zlogin",
        ];
        files.extend(own.map(|name| home.join(name)));
    }
    if let Some(folder) = variable("ZDOTDIR") {
        files.extend([".zshenv", ".zprofile", ".zshrc", ".zlogin"].map(|name| folder.join(name)));
    }
    if let Some(config) = variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config"))) {
        files.push(config.join("fish/config.fish"));
        folders.push(config.join("fish/conf.d"));
    }
    files.extend(
        folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flat_map(|entries| entries.filter_map(|entry| entry.ok().map(|entry| entry.path()))),
    );
    files.into_iter().map(|file| (stamp(&file), file)).map(|(stamp, file)| (file, stamp)).collect()
}

fn stamp(file: &Path) -> Stamp {
    let found = fs::metadata(file).ok()?;
    Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(command: &[&str]) -> Option<Vec<String>> {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        LoginShell::read(&command).map(|shell| shell.plain().to_vec())
    }

    #[test]
    fn login_options_are_taken_off() {
        assert_eq!(read(&["bash", "-lc"]).unwrap(), ["bash", "-c"]);
        assert_eq!(read(&["/bin/zsh", "-l", "-c"]).unwrap(), ["/bin/zsh", "-f", "-c"]);
        assert_eq!(read(&["bash", "--login", "-ec"]).unwrap(), ["bash", "-ec"]);
        assert_eq!(
            read(&["fish", "-l", "--private", "-c"]).unwrap(),
            ["fish", "--no-config", "--private", "-c"]
        );
    }

    #[test]
    fn shells_without_a_profile_to_take_stay_as_they_are() {
        for command in [
            &["bash", "-c"][..],
            &["bash", "-ilc"],
            &["bash", "-l"],
            &["nu", "-lc"],
            &["./bash", "-lc"],
            &["nix", "develop", "-c", "bash", "-lc"],
            &["bash", "-o", "pipefail", "-lc"],
            &[],
        ] {
            assert_eq!(read(command), None, "{command:?}");
        }
    }
}
