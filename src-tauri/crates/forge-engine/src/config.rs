//! What an engine is given from outside: folders, time, identities, environment, and the observer of its fault
//! points.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf, sync::Arc, time::Duration};

use forge_exec::Variables;
use forge_hosts::{Keychain, TOKEN_VARIABLES};
use forge_keeper::Place;
use forge_model::time::Timestamp;
use futures::future::BoxFuture;

/// How long the profile of a login shell may take unless told otherwise.
const LOGIN_PATIENCE: Duration = Duration::from_secs(30);
/// How long a command of `validate` may take unless told otherwise.
const VALIDATE_COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// How long `validate` may take over one text unless told otherwise.
const SOURCE_CHECK_LIMIT: Duration = Duration::from_secs(60);

/// Tells the time. The system's in production; one that stands still in tests.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// Ends when this clock jumps: it is set, or the machine wakes from sleep. One that cannot tell never ends.
    fn jumped(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_millisecond())
    }

    fn jumped(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Err(error) = forge_exec::clock_jump().await {
                tracing::warn!(%error, "nobody tells when the clock jumps or the machine wakes: it is looked at once a minute");
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Makes identities.
pub trait IdSource: Send + Sync {
    /// A new identity, different from all others.
    fn new_id(&self) -> String;
}

/// Version 7 UUIDs: unique, and ordered by the time they were made at.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl IdSource for RandomIds {
    fn new_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}

/// Told the name of each boundary that the machine passes (`step.begin:run_merge`, `merge.intended`, ...).
/// Tests end the process there; production has none.
pub trait Observer: Send + Sync {
    /// The machine is at `point`; everything before it is committed.
    fn at(&self, point: &str);

    /// Whether the disk takes the next statement that writes to the database.
    fn takes_statement(&self) -> bool {
        true
    }
}

/// Passes what the database asks on to an observer.
pub(crate) struct Statements(pub(crate) Arc<dyn Observer>);

impl forge_store::WriteObserver for Statements {
    fn takes_statement(&self) -> bool {
        self.0.takes_statement()
    }
}

/// Which pending work an engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// None: commands are taken and steps stay pending. For a program that only looks or asks and ends at once, which
    /// would cut agents off again a moment after it started them.
    Nothing,
    /// That of the tasks it is told of by [`crate::Engine::work_on`], and of their parts. For a program that ends once
    /// they rest: what else was cut short waits for an engine that stays.
    Named,
    /// All.
    All,
}

/// What an engine is given.
#[derive(Clone)]
pub struct EngineConfig {
    /// Everything that lasts lives here.
    pub data_dir: PathBuf,
    /// Where worktrees are made; never inside a repository.
    pub workspace_root: PathBuf,
    /// How long the worktree of a cancelled task is kept, unless its state says otherwise.
    pub cleanup_delay: Duration,
    /// How long a drag that starts an agent can be undone.
    pub undo_window: Duration,
    /// The git program; the one on the path when absent.
    pub git: Option<PathBuf>,
    /// Environment for git on top of the process's own.
    pub git_env: Vec<(String, String)>,
    /// The user's shell, asked once for the path that programs are found on.
    pub login_shell: Option<OsString>,
    /// The user's environment: what programs inherit of it, the environment policy of their project decides.
    pub environment: Arc<Variables>,
    /// How long the profile of a login shell may take.
    pub login_patience: Duration,
    /// Variables of the environment that may hold a code host's token, see [`EngineConfig::with_tokens_of`].
    pub token_variables: BTreeMap<String, String>,
    /// Where tokens of code hosts are kept.
    pub keychain: Keychain,
    /// Spans between looks at a code host are divided by it; 1 is polite, more is for tests.
    pub host_pace: u32,
    /// The folder that `validate` checks unless told otherwise.
    pub cwd: Option<PathBuf>,
    /// How long a command of `validate` may take.
    pub validate_command_limit: Duration,
    /// How long `validate` may take over the form of a file, or a contract.
    pub source_check_limit: Duration,
    /// What runs agents, checks, hooks and set-up.
    pub keeper: Place,
    /// Which pending work is done.
    pub work: Work,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Identities.
    pub ids: Arc<dyn IdSource>,
    /// Who watches the boundaries.
    pub observer: Option<Arc<dyn Observer>>,
}

impl EngineConfig {
    /// The ordinary configuration for a data folder, in the environment that the program was started with.
    #[must_use]
    pub fn new(data_dir: PathBuf, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self {
            workspace_root: data_dir.join("workspaces"),
            data_dir,
            cleanup_delay: Duration::from_secs(24 * 60 * 60),
            undo_window: Duration::from_secs(5),
            git: None,
            git_env: Vec::new(),
            login_shell: None,
            environment: forge_exec::variables_of(environment),
            login_patience: LOGIN_PATIENCE,
            token_variables: BTreeMap::new(),
            keychain: Keychain::System,
            host_pace: 1,
            cwd: None,
            validate_command_limit: VALIDATE_COMMAND_LIMIT,
            source_check_limit: SOURCE_CHECK_LIMIT,
            keeper: Place::Within,
            work: Work::All,
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            observer: None,
        }
    }

    /// Takes from an environment what may hold a code host's token, and nothing else.
    #[must_use]
    pub fn with_tokens_of(mut self, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let known = environment.into_iter().filter_map(text);
        self.token_variables = known.filter(|(name, _)| TOKEN_VARIABLES.contains(&name.as_str())).collect();
        self
    }
}
