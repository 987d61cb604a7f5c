//! A real program run by its adapter, as the engine runs it.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_agents::{
    Adapter, Ask, Control, Handle, Launch, Limits, LogReader, LogWriter, RunCommand, RunEvent, RunOutcome,
    SessionRequest, log::DEFAULT_CAP_BYTES, marker_of,
};
use forge_keeper::Keeper;
use forge_model::{
    agent::PermissionMode,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus, LogEntry},
    usage::UsageSample,
};
use forge_testkit::{
    Repository,
    models::{AgentProgram, ModelServer, Seat},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

/// Much longer than any run takes.
const LIMIT: Duration = Duration::from_secs(90);

/// A repository, a model, and a program with a home.
pub struct AdapterFixture {
    keeper: Keeper,
    pub server: ModelServer,
    pub seat: Seat,
    pub repository: Repository,
    folder: TempDir,
    runs: AtomicU32,
}

/// The options of a run; the defaults are those of a coder that may edit.
pub struct RunRequest {
    pub prompt: String,
    pub session: SessionRequest,
    pub carry: Option<Value>,
    pub role: ExecutionRole,
    pub permissions: PermissionMode,
    pub limits: Limits,
}

/// A running run.
pub struct Running {
    handle: Handle,
    told: mpsc::UnboundedReceiver<RunEvent>,
    heard: Vec<RunEvent>,
    run: tokio::task::JoinHandle<RunOutcome>,
    execution_id: String,
    logs: PathBuf,
}

/// A finished run and its log.
pub struct FinishedRun {
    pub outcome: RunOutcome,
    pub events: Vec<RunEvent>,
    pub entries: Vec<LogEntry>,
}

impl RunRequest {
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            session: SessionRequest::New,
            carry: None,
            role: ExecutionRole::Coder,
            permissions: PermissionMode::Edit,
            limits: Limits::default(),
        }
    }

    /// Continues the session of another run, or a fork of it.
    pub fn after(
        mut self,
        ran: &FinishedRun,
        session: impl FnOnce(String) -> SessionRequest,
    ) -> Result<Self> {
        self.session = session(ran.outcome.session_id.clone().context("it had no session")?);
        self.carry = ran.outcome.carry.clone();
        Ok(self)
    }

    pub fn role(self, role: ExecutionRole) -> Self {
        Self { role, ..self }
    }

    pub fn permissions(self, permissions: PermissionMode) -> Self {
        Self { permissions, ..self }
    }
}

impl AdapterFixture {
    /// The repository has a `README.md` that says hello.
    pub async fn new(program: AgentProgram) -> Result<Self> {
        let folder = TempDir::new()?;
        let server = ModelServer::start().await?;
        let seat = program.settle(&folder.path().join("a"), &server)?;
        let repository = Repository::create(&folder.path().join("repository"), &[("README.md", "hello\n")])?;
        let keeper = forge_testkit::keeper(folder.path())?;
        Ok(Self { keeper, server, seat, repository, folder, runs: AtomicU32::new(0) })
    }

    /// The profile's configuration.
    pub fn config(&self) -> Value {
        json!({ "program": self.seat.program, "env": self.seat.environment })
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.repository.path().join(name)
    }

    pub fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.file(name)).with_context(|| format!("failed to read {name}"))
    }

    /// The folder of prompt files, beside the worktree.
    pub fn task_folder(&self) -> PathBuf {
        self.folder.path().join("task")
    }

    /// Starts a run.
    pub fn start(
        &self,
        adapter: impl Adapter + 'static,
        config: Value,
        order: RunRequest,
    ) -> Result<Running> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let name = self.folder.path().file_name().context("the folder has no name")?.to_string_lossy();
        // The folder's name is unique on this machine, hence the execution's marker too.
        let execution_id = format!("{}-{number}", name.trim_start_matches('.'));
        let logs = self.folder.path().join("logs");
        fs::create_dir_all(self.task_folder())?;
        let prompt_file = self.task_folder().join(format!("prompt-{number}.md"));
        fs::write(&prompt_file, &order.prompt)?;
        let launch = Launch {
            execution_id: execution_id.clone(),
            task_id: execution_id.clone(),
            keeper: self.keeper.clone(),
            process: 1,
            kept: 0,
            memo: Vec::new(),
            log: LogWriter::open(&logs, &execution_id, &execution_id, DEFAULT_CAP_BYTES, Default::default())?,
            config,
            model: None,
            prompt: order.prompt,
            prompt_file,
            worktree: self.repository.path().to_owned(),
            given: None,
            base: forge_exec::variables_of(std::env::vars_os()),
            env: Vec::new(),
            shell: vec!["sh".to_owned(), "-c".to_owned()],
            sandbox: None,
            limits: order.limits,
            grace: Duration::from_secs(5),
            session: order.session,
            carry: order.carry,
            role: order.role,
            permissions: order.permissions,
            mcp: None,
            started: Box::new(|_| {}),
        };
        let (control, handle, told) = Control::new(CancellationToken::new());
        let run = tokio::spawn(async move { adapter.run(launch, &control).await });
        Ok(Running { handle, told, heard: Vec::new(), run, execution_id, logs })
    }
}

impl Running {
    /// Waits for an event.
    pub async fn until<T>(&mut self, what: &str, is: impl Fn(&RunEvent) -> Option<T>) -> Result<T> {
        loop {
            let event = timeout(LIMIT, self.told.recv()).await.with_context(|| format!("never: {what}"))?;
            let Some(event) = event else { bail!("it ended without: {what}; told {:?}", self.heard) };
            let found = is(&event);
            self.heard.push(event);
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// Waits until its activity starts with a text.
    pub async fn until_doing(&mut self, what: &str) -> Result<()> {
        let doing = self.handle.activity.wait_for(|line| line.starts_with(what));
        timeout(LIMIT, doing).await.with_context(|| format!("never: {what}"))??;
        Ok(())
    }

    /// Waits for its next approval.
    pub async fn asked(&mut self) -> Result<Ask> {
        let is = |event: &RunEvent| match event {
            RunEvent::Asked(ask) => Some(ask.clone()),
            _ => None,
        };
        self.until("a question", is).await
    }

    pub fn answer(&self, ask: &Ask, option: &str) -> Result<()> {
        let (ask, option) = (ask.id.clone(), option.to_owned());
        self.tell(RunCommand::Answer { ask, option, note: None })
    }

    pub fn tell(&self, command: RunCommand) -> Result<()> {
        ensure!(self.handle.tell(command), "it is over");
        Ok(())
    }

    pub fn cancel(&self) {
        self.handle.cancel.cancel();
    }

    /// Waits for its end and checks that no process is left.
    pub async fn end(mut self) -> Result<FinishedRun> {
        let outcome = timeout(LIMIT, &mut self.run).await.context("it never ends")??;
        while let Ok(event) = self.told.try_recv() {
            self.heard.push(event);
        }
        let left = forge_exec::usage(&marker_of(&self.execution_id)).processes;
        ensure!(left == 0, "{left} processes were left");
        let mut entries = Vec::new();
        loop {
            let after = Some(entries.len() as u64);
            let page = LogReader::page(&self.logs, &self.execution_id, after, None, 10_000)?;
            if page.entries.is_empty() {
                return Ok(FinishedRun { outcome, events: self.heard, entries });
            }
            entries.extend(page.entries);
        }
    }
}

impl FinishedRun {
    /// Checks that it finished without an error.
    pub fn finished(self) -> Result<Self> {
        ensure!(self.outcome.result.is_ok(), "{:?}\n{:#?}", self.outcome.result, self.entries);
        Ok(self)
    }

    /// The log entries of a kind, each in its last state.
    pub fn of(&self, kind: EntryKind) -> Vec<&LogEntry> {
        let is_last = |entry: &&LogEntry| {
            !self
                .entries
                .iter()
                .any(|other| other.seq > entry.seq && (other.turn, &other.id) == (entry.turn, &entry.id))
        };
        self.entries.iter().filter(|entry| entry.kind == kind).filter(is_last).collect()
    }

    /// The texts of the log entries of a kind.
    pub fn texts(&self, kind: EntryKind) -> Vec<&str> {
        self.of(kind).iter().filter_map(|entry| entry.body["text"].as_str()).collect()
    }

    pub fn notices(&self) -> Vec<&str> {
        self.of(EntryKind::Notice).iter().filter_map(|entry| entry.body["code"].as_str()).collect()
    }

    /// How each command ended.
    pub fn commands(&self) -> Vec<(&str, Option<EntryStatus>)> {
        let commands = self.of(EntryKind::Command);
        let told = commands.iter().map(|it| (it.body["command"].as_str().unwrap_or_default(), it.status));
        told.collect()
    }

    /// Its total usage.
    pub fn used(&self) -> Result<&UsageSample> {
        ensure!(self.outcome.usage.len() == 1, "{:?}", self.outcome.usage);
        Ok(&self.outcome.usage[0])
    }
}
