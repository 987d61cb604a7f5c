//! What every adapter is asked and what it answers.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Exit, Marker, ProcessIdentity, Sandbox};
use forge_keeper::{Keeper, Tools};
use forge_model::{
    agent::{AdapterKind, AgentModel, PermissionMode},
    approval::{ApprovalKind, ApprovalOption},
    environment::Variables,
    execution::ExecutionRole,
    usage::UsageSample,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{AgentError, Confinable, CostScope, ForgeMcp, LimitKind, LogWriter, ProbeFolder};

/// How often the live activity changes at most.
const ACTIVITY_EVERY: Duration = Duration::from_millis(250);

/// The longest activity, in characters; a card shows one line.
const ACTIVITY_CHARS: usize = 160;

/// What a program can do beyond running one prompt to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Go on with an earlier session.
    pub resume: bool,
    /// Branch off an earlier session.
    pub fork: bool,
    /// Review natively.
    pub review: bool,
    /// Take words while it works.
    pub steer: bool,
    /// Stop a turn and stay usable.
    pub interrupt: bool,
    /// Ask before it does something.
    pub approvals: bool,
    /// Report what it used.
    pub usage: bool,
    /// Tell which models there are.
    pub models: bool,
    /// Answer a question without changing anything.
    pub draft: bool,
}

impl Capabilities {
    /// All of it.
    pub const ALL: Self = Self {
        resume: true,
        fork: true,
        review: true,
        steer: true,
        interrupt: true,
        approvals: true,
        usage: true,
        models: true,
        draft: true,
    };
}

/// What a look at the machine found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detected {
    /// The program.
    pub program: PathBuf,
    /// Its version, when it tells one.
    pub version: Option<String>,
    /// Whether it is signed in, when that can be known.
    pub signed_in: Option<bool>,
}

/// Which conversation a run belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionRequest {
    /// A fresh one.
    New,
    /// The earlier one with this id, continued.
    Resume(String),
    /// A copy of the earlier one with this id, continued.
    Fork(String),
}

/// How long a run may take and be quiet. None means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// From start to end.
    pub wall_clock: Option<Duration>,
    /// From one output to the next. Time in which a person is asked does not count, in neither.
    pub silence: Option<Duration>,
    /// Calls of the model.
    pub turns: Option<u32>,
    /// What it may cost. Whoever starts a run watches that by itself; programs that can are told, so that they stop
    /// in time although they tell of it late.
    pub cost: Option<CostLimit>,
}

/// What a run may still cost, and the limit that leaves so much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostLimit {
    /// What is left of it, in micro-dollars.
    pub left_micro_usd: u64,
    /// The limit in micro-dollars.
    pub limit_micro_usd: u64,
    /// What the limit is for.
    pub of: CostScope,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_clock: Some(Duration::from_secs(3600)),
            silence: Some(Duration::from_secs(600)),
            turns: None,
            cost: None,
        }
    }
}

/// One run to start.
pub struct Launch {
    /// The execution; its [`marker_of`] is on every process of the run.
    pub execution_id: String,
    /// The task that it is for.
    pub task_id: String,
    /// What runs its processes.
    pub keeper: Keeper,
    /// Which process of the run, from 1. Each is started once; a run that goes on after the engine was killed finds
    /// those that it started.
    pub process: u32,
    /// How many of its processes another engine started, which is gone: they are gone on with, never started.
    pub kept: u32,
    /// What the engine needs to go on with the run after it was killed.
    pub memo: Vec<u8>,
    /// Where everything it says goes.
    pub log: LogWriter,
    /// The agent profile's own configuration.
    pub config: Value,
    /// The model to ask for, when the adapter takes one.
    pub model: Option<String>,
    /// What the agent is told.
    pub prompt: String,
    /// The same text in a file, outside the worktree.
    pub prompt_file: PathBuf,
    /// Where it works.
    pub worktree: PathBuf,
    /// A folder outside of it with files that it was given to read, once there are any.
    pub given: Option<PathBuf>,
    /// What its environment starts from: what it inherits of the user's, and nothing else.
    pub base: Arc<Variables>,
    /// Variables on top of that, the `FORGE_` ones among them.
    pub env: Vec<(String, String)>,
    /// The project's shell with its arguments, for adapters that run a line of shell.
    pub shell: Vec<String>,
    /// What its program and all that it starts may touch; everything, when absent.
    pub sandbox: Option<Sandbox>,
    /// Its limits.
    pub limits: Limits,
    /// From the gentle signal to the kill.
    pub grace: Duration,
    /// Which conversation.
    pub session: SessionRequest,
    /// What the adapter left in [`RunOutcome::carry`] at the end of the run whose conversation this is or forks:
    /// running totals that the program goes on counting from.
    pub carry: Option<Value>,
    /// What the run is for. A reviewer is asked for a verdict, natively where the program can.
    pub role: ExecutionRole,
    /// What it may do without being asked.
    pub permissions: PermissionMode,
    /// Forge's own tools, when it may use them.
    pub mcp: Option<ForgeMcp>,
    /// Told the process as soon as there is one, to be recorded for a later engine.
    pub started: Started,
}

/// Told each process of a run as it starts. There is one, or a second when the first found nothing to go on with.
pub type Started = Box<dyn FnMut(ProcessIdentity) + Send>;

/// A window of a provider's rate limit as a program reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportedWindow {
    /// The program's name for it.
    pub name: String,
    /// Its length in minutes.
    pub minutes: Option<u32>,
    /// How much of it is used, in percent.
    pub used_percent: u32,
    /// When it begins anew, in milliseconds since 1970.
    pub resets_ms: Option<i64>,
}

impl ReportedWindow {
    /// A share in percent, to the nearest one; none for what is no share.
    pub(crate) fn percent(share: f64) -> Option<u32> {
        (share.is_finite() && (0.0..=10_000.0).contains(&share))
            .then(|| format!("{share:.0}").parse().ok())
            .flatten()
    }
}

/// What an adapter tells while a run goes on. None of it is needed to know how the run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// The program's conversation has a name: from now on it can be resumed.
    Session {
        /// The program's own name for it.
        id: String,
        /// The model that answers.
        model: Option<String>,
    },
    /// It asks for permission or for an answer, and waits.
    Asked(Ask),
    /// It no longer waits for an answer to the question with this id: it took one or gave up.
    Withdrawn {
        /// [`Ask::id`].
        id: String,
    },
    /// What was spent since the sample before.
    Used {
        /// How much.
        sample: UsageSample,
        /// [`RunOutcome::carry`] as it would be if the run ended now.
        carry: Option<Value>,
    },
    /// What was spent beyond what [`RunEvent::Used`] told, as far as the program shows it before it says so itself.
    /// Takes the place of the estimate before; an empty one ends it.
    Estimated {
        /// By model, without cost.
        samples: Vec<UsageSample>,
    },
    /// [`RunOutcome::carry`] as it would be if the run ended now, before anything was spent.
    Carried {
        /// What is carried.
        carry: Value,
    },
    /// How full the windows of the provider's limits are; all that it knows.
    Windows {
        /// The windows.
        windows: Vec<ReportedWindow>,
    },
    /// It heard what [`RunCommand::Say`] with this id told it.
    Heard {
        /// The id that the command gave.
        id: String,
    },
}

/// A question that a program waits for.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Unique within the run.
    pub id: String,
    /// Subject.
    pub kind: ApprovalKind,
    /// One line: the command, the path or the question.
    pub title: String,
    /// Why, where, the change: `{reason?, command?, cwd?, paths?, diff?, input?}`.
    pub detail: Value,
    /// The possible answers.
    pub options: Vec<ApprovalOption>,
}

/// What a run is told while it goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RunCommand {
    /// Words for the running turn; for adapters that can [`Capabilities::steer`].
    Say {
        /// Given back by [`RunEvent::Heard`].
        id: String,
        /// The words.
        text: String,
    },
    /// The answer to a question.
    Answer {
        /// [`Ask::id`].
        ask: String,
        /// [`ApprovalOption::id`] of the one chosen.
        option: String,
        /// Words for the agent that go with it.
        note: Option<String>,
    },
}

/// How a run is influenced and watched while it goes on: the adapter's end.
#[derive(Debug)]
pub struct Control {
    /// Stops the run.
    pub cancel: CancellationToken,
    /// What the agent is doing now.
    pub activity: Activity,
    limit: Arc<OnceLock<LimitKind>>,
    events: mpsc::UnboundedSender<RunEvent>,
    commands: AsyncMutex<mpsc::UnboundedReceiver<RunCommand>>,
}

/// The engine's end of a [`Control`].
#[derive(Debug, Clone)]
pub struct Handle {
    /// Stops the run.
    pub cancel: CancellationToken,
    /// What the agent is doing now, in one line, as it changes; at most four times a second.
    pub activity: watch::Receiver<String>,
    limit: Arc<OnceLock<LimitKind>>,
    commands: mpsc::UnboundedSender<RunCommand>,
}

impl Control {
    /// A control that `cancel` stops, the engine's end of it, and what the adapter will tell.
    #[must_use]
    pub fn new(cancel: CancellationToken) -> (Self, Handle, mpsc::UnboundedReceiver<RunEvent>) {
        let (events, told) = mpsc::unbounded_channel();
        let (commands, heard) = mpsc::unbounded_channel();
        let activity = Activity::new();
        let limit = Arc::default();
        let handle = Handle {
            cancel: cancel.clone(),
            activity: activity.shown.subscribe(),
            limit: Arc::clone(&limit),
            commands,
        };
        (Self { cancel, activity, limit, events, commands: AsyncMutex::new(heard) }, handle, told)
    }

    /// Where events go.
    pub(crate) fn events(&self) -> mpsc::UnboundedSender<RunEvent> {
        self.events.clone()
    }

    /// Tells the engine. Nobody listening is fine.
    pub fn tell(&self, event: RunEvent) {
        let _ = self.events.send(event);
    }

    /// The next command; never returns once nobody can give one.
    pub async fn next_command(&self) -> RunCommand {
        match self.commands.lock().await.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }

    /// Stops the run because it reached a limit.
    pub fn stop_at(&self, limit: LimitKind) {
        let _ = self.limit.set(limit);
        self.cancel.cancel();
    }

    /// Why a run that was stopped on request was stopped.
    #[must_use]
    pub fn why_stopped(&self) -> AgentError {
        self.limit.get().map_or(AgentError::Cancelled, |limit| AgentError::Limit(*limit))
    }
}

impl Handle {
    /// Tells the run. False when it is over.
    #[must_use]
    pub fn tell(&self, command: RunCommand) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Stops the run because it reached a limit.
    pub fn stop_at(&self, limit: LimitKind) {
        let _ = self.limit.set(limit);
        self.cancel.cancel();
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// Whether the agent finished.
    pub result: Result<(), AgentError>,
    /// The program's session, to resume.
    pub session_id: Option<String>,
    /// What it used in this run alone, summed by model.
    pub usage: Vec<UsageSample>,
    /// What the next run of the same conversation, or of a fork, must know; see [`Launch::carry`].
    pub carry: Option<Value>,
    /// How its process ended; none when there was none.
    pub exit: Option<Exit>,
    /// What it was doing last.
    pub activity: String,
    /// How it summed up its work, when it did.
    pub summary: Option<String>,
    /// Processes it left behind, which were ended.
    pub left_behind: u32,
}

impl RunOutcome {
    /// The outcome of a run that never had a process.
    #[must_use]
    pub fn failed(error: AgentError) -> Self {
        Self {
            result: Err(error),
            session_id: None,
            usage: Vec::new(),
            carry: None,
            exit: None,
            activity: String::new(),
            summary: None,
            left_behind: 0,
        }
    }
}

/// One kind of agent program.
#[async_trait]
pub trait Adapter: Send + Sync {
    /// Which one.
    fn kind(&self) -> AdapterKind;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Names of variables that the program of `config` needs to sign in, by what `environment` says of the service it
    /// uses. They are passed to this program although they look like secrets.
    fn sign_in_variables(&self, config: &Value, environment: &Variables) -> Vec<&'static str>;

    /// Whether and how the program of `config` is confined in an environment.
    fn confinable(&self, config: &Value, environment: &Variables) -> Confinable;

    /// Looks for the program that `config` names, on the `PATH` of a place.
    async fn detect(&self, config: &Value, place: &ProbeFolder) -> Result<Detected, AgentError>;

    /// The models that the program of `config` offers in a place; none for adapters that cannot tell.
    async fn models(&self, config: &Value, place: &ProbeFolder) -> Result<Vec<AgentModel>, AgentError>;

    /// Runs one prompt to its end. Dropping the future kills what runs.
    async fn run(&self, launch: Launch, control: &Control) -> RunOutcome;
}

impl Launch {
    /// What the keeper knows the process by.
    #[must_use]
    pub fn kept_id(&self) -> String {
        kept_id(&self.execution_id, self.process)
    }

    /// What lets its process call Forge's tools by its keeper, where it does.
    pub(crate) fn tools(&self) -> Option<Tools> {
        self.mcp.as_ref().and_then(|mcp| mcp.tools(&self.execution_id))
    }

    /// Whether the process is one that another engine started.
    pub(crate) const fn goes_on(&self) -> bool {
        self.process <= self.kept
    }
}

/// What the keeper knows a process of an execution by, counted from 1.
#[must_use]
pub fn kept_id(execution_id: &str, process: u32) -> String {
    format!("{}.{process}", marker_of(execution_id).0)
}

/// The marker on every process of an execution.
#[must_use]
pub fn marker_of(execution_id: &str) -> Marker {
    Marker(format!("execution-{execution_id}"))
}

/// One line that says what an agent is doing, changing at most four times a second. The last one always
/// gets through: what comes too soon is kept and shown by [`Activity::flush`].
#[derive(Debug, Clone)]
pub struct Activity {
    shown: Arc<watch::Sender<String>>,
    pending: Arc<Mutex<Pending>>,
}

#[derive(Debug, Default)]
struct Pending {
    line: Option<String>,
    last: Option<Instant>,
}

impl Activity {
    fn new() -> Self {
        Self { shown: Arc::new(watch::Sender::new(String::new())), pending: Arc::default() }
    }

    /// Says what is being done. Blank lines say nothing.
    pub fn say(&self, line: &str) {
        let line: String = line.trim().chars().take(ACTIVITY_CHARS).collect();
        if line.is_empty() {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.last.is_some_and(|last| last.elapsed() < ACTIVITY_EVERY) {
            pending.line = Some(line);
        } else {
            pending.line = None;
            pending.last = Some(Instant::now());
            self.show(line);
        }
    }

    /// Shows what was kept back, now.
    pub fn flush(&self) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = pending.line.take() {
            pending.last = Some(Instant::now());
            self.show(line);
        }
    }

    /// What was said last, shown or not.
    #[must_use]
    pub fn latest(&self) -> String {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.line.clone().unwrap_or_else(|| self.shown.borrow().clone())
    }

    /// Shows what is kept back whenever its time has come. Runs beside the agent; never returns.
    pub async fn keep_settling(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(ACTIVITY_EVERY).await;
            self.flush();
        }
    }

    fn show(&self, line: String) {
        self.shown.send_if_modified(|shown| {
            let changed = *shown != line;
            if changed {
                *shown = line;
            }
            changed
        });
    }
}
