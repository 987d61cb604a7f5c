//! Forge's adapter with the real Claude Code.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_agents::{
    Adapter as _, AgentError, ClaudeAdapter, Control, Handle, Launch, LimitKind, Limits, LogReader,
    LogWriter, ProbeFolder, RunCommand, RunEvent, RunOutcome, SessionRequest, marker_of,
};
use forge_keeper::Keeper;
use forge_model::{
    agent::PermissionMode,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus, LogEntry},
};
use forge_testkit::{
    Repository,
    models::{AgentProgram, Failure, ModelServer, Scenario, Seat, Turn},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::support::three_turn_scenario;

/// A command that runs until it is ended.
const FOR_EVER: &str = r#"python3 -c "import time; time.sleep(300)""#;

type OnEvent = Box<dyn Fn(&RunEvent, &Handle) + Send>;
type OnActivity = Box<dyn Fn(&str, &Handle) + Send>;

/// A repository, the program, its model, and the adapter between them.
struct AdapterFixture {
    keeper: Keeper,
    server: ModelServer,
    seat: Seat,
    repository: Repository,
    folder: TempDir,
    runs: Mutex<u32>,
}

/// The options of a run, and the actions of a person during it.
struct RunRequest {
    prompt: String,
    session: SessionRequest,
    carry: Option<Value>,
    permissions: PermissionMode,
    turns: Option<u32>,
    env: BTreeMap<String, String>,
    act: OnEvent,
    /// Called with each activity line.
    watch: OnActivity,
}

/// The outcome of a run, its events and its log.
struct FinishedRun {
    outcome: RunOutcome,
    events: Vec<RunEvent>,
    entries: Vec<LogEntry>,
}

impl RunRequest {
    fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            session: SessionRequest::New,
            carry: None,
            permissions: PermissionMode::Unattended,
            turns: None,
            env: BTreeMap::new(),
            act: Box::new(|_, _| {}),
            watch: Box::new(|_, _| {}),
        }
    }

    fn permissions(mut self, permissions: PermissionMode) -> Self {
        self.permissions = permissions;
        self
    }

    fn continue_session(mut self, session: SessionRequest, carry: Option<Value>) -> Self {
        (self.session, self.carry) = (session, carry);
        self
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Answers every approval with an option.
    fn answer_approvals_with(mut self, option: &'static str) -> Self {
        self.act = Box::new(move |event, handle| {
            if let RunEvent::Asked(ask) = event {
                let (ask, option) = (ask.id.clone(), option.to_owned());
                let _ = handle.tell(RunCommand::Answer { ask, option, note: None });
            }
        });
        self
    }
}

impl AdapterFixture {
    async fn new() -> Result<Self> {
        // As the engine does: what loses its parent comes to us.
        forge_exec::become_subreaper()?;
        let folder = TempDir::new()?;
        let server = ModelServer::start().await?;
        let seat = AgentProgram::Claude.settle(&folder.path().join("a"), &server)?;
        let repository = Repository::create(&folder.path().join("repository"), &[("README.md", "hello\n")])?;
        let keeper = forge_testkit::keeper(folder.path())?;
        Ok(Self { keeper, server, seat, repository, folder, runs: Mutex::default() })
    }

    fn script(&self, scenario: Scenario) -> String {
        self.server.script(scenario)
    }

    async fn run(&self, run: RunRequest) -> Result<FinishedRun> {
        let number = {
            let mut runs = self.runs.lock().map_err(|_| anyhow::anyhow!("a test panicked"))?;
            *runs += 1;
            *runs
        };
        let id = format!("{}-{number}", self.folder.path().display().to_string().replace('/', "_"));
        let logs = self.folder.path().join("logs");
        let mut env = self.seat.environment.clone();
        env.extend(run.env);
        let log_id = format!("run-{number}");
        let launch = Launch {
            execution_id: id.clone(),
            task_id: id.clone(),
            keeper: self.keeper.clone(),
            process: 1,
            kept: 0,
            memo: Vec::new(),
            log: LogWriter::open(&logs, &log_id, &id, 1 << 28, Default::default())?,
            config: json!({ "program": self.seat.program, "env": env }),
            model: None,
            prompt: run.prompt,
            prompt_file: PathBuf::from("/dev/null"),
            worktree: self.repository.path().to_owned(),
            given: None,
            base: forge_exec::variables_of(std::env::vars_os()),
            env: Vec::new(),
            shell: Vec::new(),
            sandbox: None,
            limits: Limits { turns: run.turns, ..Limits::default() },
            grace: Duration::from_secs(2),
            session: run.session,
            carry: run.carry,
            role: ExecutionRole::Coder,
            permissions: run.permissions,
            mcp: None,
            started: Box::new(|_| {}),
        };
        let (control, handle, mut told) = Control::new(CancellationToken::new());
        let events = Arc::new(Mutex::new(Vec::new()));
        let listening = tokio::spawn({
            let (events, handle, act) = (Arc::clone(&events), handle.clone(), run.act);
            async move {
                while let Some(event) = told.recv().await {
                    act(&event, &handle);
                    if let Ok(mut events) = events.lock() {
                        events.push(event);
                    }
                }
            }
        });
        let watching = tokio::spawn({
            let (mut activity, watch) = (handle.activity.clone(), run.watch);
            async move {
                while activity.changed().await.is_ok() {
                    let line = activity.borrow_and_update().clone();
                    watch(&line, &handle);
                }
            }
        });
        let outcome = ClaudeAdapter.run(launch, &control).await;
        ensure!(forge_exec::usage(&marker_of(&id)).processes == 0, "something was left behind");
        drop(control);
        listening.await?;
        watching.abort();
        let mut entries = Vec::new();
        LogReader::each(&logs, &log_id, |entry| entries.push(entry.clone()))?;
        let events = std::mem::take(&mut *events.lock().map_err(|_| anyhow::anyhow!("a test panicked"))?);
        Ok(FinishedRun { outcome, events, entries })
    }

    fn text(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.repository.path().join(name)).with_context(|| format!("no {name}"))
    }
}

impl FinishedRun {
    fn succeeded(self) -> Result<Self> {
        ensure!(self.outcome.result.is_ok(), "{:?}: {:#?}", self.outcome.result, self.entries);
        Ok(self)
    }

    fn code(&self) -> &'static str {
        self.outcome.result.as_ref().err().map_or("ok", AgentError::code)
    }

    fn session(&self) -> Result<String> {
        self.outcome.session_id.clone().context("there is no session")
    }

    /// Its cost in micro-dollars.
    fn cost(&self) -> u64 {
        self.outcome.usage.iter().filter_map(|sample| sample.cost_micro_usd).sum()
    }

    /// The cost of the whole session that the program reports, in micro-dollars.
    fn total(&self) -> Option<u64> {
        let totals = self.outcome.carry.as_ref()?.get("totals")?.as_object()?;
        let dollars: f64 = totals.values().filter_map(|model| model.get("cost")?.as_f64()).sum();
        format!("{:.0}", dollars * 1_000_000.0).parse().ok()
    }

    /// The last entry of each thing of a kind.
    fn of(&self, kind: EntryKind) -> Vec<&LogEntry> {
        let is_last = |entry: &&LogEntry| {
            let same = |other: &LogEntry| (other.turn, &other.id) == (entry.turn, &entry.id);
            entry.kind == kind && !self.entries.iter().any(|other| other.seq > entry.seq && same(other))
        };
        self.entries.iter().filter(is_last).collect()
    }

    fn notices(&self) -> Vec<&str> {
        self.of(EntryKind::Notice).iter().filter_map(|entry| entry.body["code"].as_str()).collect()
    }
}

#[tokio::test]
async fn run_with_script_edits_file_and_runs_command() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(
        Scenario::new("work")
            .turn(Turn::new().think("What is there?").run("echo from-the-shell; exit 3"))
            .turn(Turn::new().edit("README.md", "hello", "goodbye"))
            .turn(Turn::new().say("It is done.\n\nMore.")),
    );
    let ended = fixture.run(RunRequest::new(tag)).await?.succeeded()?;
    assert_eq!(fixture.text("README.md")?, "goodbye\n");
    let commands = ended.of(EntryKind::Command);
    assert_eq!((commands.len(), &commands[0].body["exit_code"]), (1, &json!(3)));
    assert_eq!(commands[0].body["output"], "from-the-shell");
    let changes = ended.of(EntryKind::FileChange);
    assert_eq!((changes.len(), &changes[0].body["path"]), (1, &json!("README.md")));
    ensure!(changes[0].body["diff"].as_str().is_some_and(|diff| diff.contains("-hello\n+goodbye\n")));
    assert_eq!(ended.outcome.summary.as_deref(), Some("It is done."));
    ensure!(ended.cost() > 0 && Some(ended.cost()) == ended.total());
    Ok(())
}

#[tokio::test]
async fn approval_allowed_refused_or_stopped_has_its_effect() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let write = |name: &str| {
        Scenario::new(name).turn(Turn::new().write("new.md", "x\n")).turn(Turn::new().say("So."))
    };
    for (name, option, code, exists) in
        [("no", "refuse", "ok", false), ("stop", "stop", "cancelled", false), ("yes", "allow", "ok", true)]
    {
        let tag = fixture.script(write(name));
        let ended = fixture
            .run(RunRequest::new(tag).permissions(PermissionMode::Ask).answer_approvals_with(option))
            .await?;
        assert_eq!((ended.code(), fixture.text("new.md").is_ok()), (code, exists), "{name}");
        let status = if exists { EntryStatus::Completed } else { EntryStatus::Declined };
        assert_eq!(ended.of(EntryKind::FileChange)[0].status, Some(status), "{name}");
        assert_eq!(fixture.server.requests().of(name).len(), if name == "stop" { 1 } else { 2 });
    }
    Ok(())
}

#[tokio::test]
async fn read_only_run_changes_nothing_and_waits_for_no_approval() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(
        Scenario::new("read")
            .turn(Turn::new().run("rm README.md; touch new.md"))
            .turn(Turn::new().say("So.")),
    );
    let ended = fixture.run(RunRequest::new(tag).permissions(PermissionMode::ReadOnly)).await?.succeeded()?;
    ensure!(fixture.text("README.md").is_ok() && fixture.text("new.md").is_err());
    assert_eq!(ended.of(EntryKind::Command)[0].status, Some(EntryStatus::Declined));
    ensure!(!ended.events.iter().any(|event| matches!(event, RunEvent::Asked(_))));
    Ok(())
}

#[tokio::test]
async fn message_during_turn_reaches_the_model() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(
        Scenario::new("steer")
            .turn(Turn::new().run("while [ ! -e go ]; do python3 -c 'import time; time.sleep(0.1)'; done"))
            .turn(Turn::new().say("I heard you.")),
    );
    let go = fixture.repository.path().join("go");
    let mut run = RunRequest::new(tag);
    run.watch = Box::new(move |line, handle| {
        if line.starts_with("Running while") {
            let _ = handle.tell(RunCommand::Say { id: "s".to_owned(), text: "Mind the heron.".to_owned() });
            let _ = fs::write(&go, "");
        }
    });
    let ended = fixture.run(run).await?.succeeded()?;
    ensure!(ended.events.contains(&RunEvent::Heard { id: "s".to_owned() }), "{:?}", ended.events);
    // In the running turn they come as a message of the system's, behind the tool's result.
    let shown = fixture.server.requests().iter().any(|it| it.body.to_string().contains("Mind the heron."));
    ensure!(shown, "the model was not told");
    Ok(())
}

#[tokio::test]
async fn interrupted_command_leaves_no_process() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(Scenario::new("long").turn(Turn::new().run(FOR_EVER)));
    let mut run = RunRequest::new(tag);
    run.watch = Box::new(|line, handle| {
        if line.starts_with("Running python3") {
            handle.cancel.cancel();
        }
    });
    let ended = fixture.run(run).await?;
    assert_eq!(ended.code(), "cancelled");
    assert_eq!(ended.of(EntryKind::Command)[0].status, Some(EntryStatus::Cancelled));
    assert_eq!(ended.of(EntryKind::ProcessExit).len(), 1);
    Ok(())
}

#[tokio::test]
async fn resumed_and_forked_session_is_counted_once() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(three_turn_scenario());
    let first = fixture.run(RunRequest::new(tag)).await?.succeeded()?;
    let resume = SessionRequest::Resume(first.session()?);
    let again = fixture
        .run(RunRequest::new("again").continue_session(resume, first.outcome.carry.clone()))
        .await?
        .succeeded()?;
    assert_eq!(again.session()?, first.session()?);
    let fork = SessionRequest::Fork(first.session()?);
    let forked = fixture
        .run(RunRequest::new("and here").continue_session(fork, again.outcome.carry.clone()))
        .await?
        .succeeded()?;
    assert_ne!(forked.session()?, first.session()?);
    let requests = fixture.server.requests().of("talk");
    ensure!(requests[1].remembers("The word is heron.") && requests[2].remembers("You asked again."));
    ensure!(first.cost() > 0);
    let mut sum = 0;
    for ended in [&first, &again, &forked] {
        sum += ended.cost();
        assert_eq!(ended.total(), Some(sum), "what the program says that all of it cost");
    }
    Ok(())
}

#[tokio::test]
async fn missing_session_starts_a_new_one() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let tag = fixture.script(Scenario::new("gone").turn(Turn::new().say("Hello.")));
    let unknown = SessionRequest::Resume("11111111-1111-4111-8111-111111111111".to_owned());
    let ended = fixture.run(RunRequest::new(tag).continue_session(unknown, None)).await?.succeeded()?;
    assert_ne!(ended.session()?, "11111111-1111-4111-8111-111111111111");
    ensure!(ended.notices().contains(&"session_lost"), "{:?}", ended.notices());
    Ok(())
}

#[tokio::test]
async fn failures_of_each_kind_have_their_error() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let limited = Failure::RateLimited { seconds: 2 };
    for (name, failure, code) in [
        ("refused-key", Failure::Status(401), "auth"),
        ("limited", limited, "rate_limited"),
        ("broken", Failure::Status(500), "model_error"),
        ("busy", Failure::Status(529), "model_error"),
    ] {
        let tag = fixture.script(Scenario::new(name).turn(Turn::new().always_fails(failure)));
        let ended = fixture.run(RunRequest::new(tag)).await?;
        assert_eq!(ended.code(), code, "{name}: {:?}", ended.outcome.result);
    }
    let cut = Turn::new().say("A sentence that is long enough to have a middle.").fails(Failure::Cut, 1);
    let ended =
        fixture.run(RunRequest::new(fixture.script(Scenario::new("cut").turn(cut)))).await?.succeeded()?;
    ensure!(ended.notices().contains(&"api_retry"));

    let tag =
        fixture.script(Scenario::new("loop").turn(Turn::new().run("true")).turn(Turn::new().say("No.")));
    let mut run = RunRequest::new(tag.clone());
    run.turns = Some(1);
    let ended = fixture.run(run).await?;
    assert_eq!(ended.outcome.result, Err(AgentError::Limit(LimitKind::Turns(1))));

    let ended = fixture.run(RunRequest::new(tag.clone()).env("ANTHROPIC_API_KEY", "")).await?;
    assert_eq!(ended.code(), "auth", "not signed in: {:?}", ended.outcome.result);
    fixture.server.go_offline().await;
    let ended = fixture.run(RunRequest::new(tag)).await?;
    assert_eq!(ended.code(), "model_error", "{:?}", ended.outcome.result);
    Ok(())
}

#[tokio::test]
async fn installed_program_is_detected_with_its_details() -> Result<()> {
    let fixture = AdapterFixture::new().await?;
    let folder = tempfile::tempdir()?;
    let own = ProbeFolder::new(forge_exec::variables_of(std::env::vars_os()), folder.path())?;
    let config = |env: &BTreeMap<String, String>| json!({ "program": fixture.seat.program, "env": env });
    let found = ClaudeAdapter.detect(&config(&fixture.seat.environment), &own).await?;
    assert_eq!((found.version.as_deref(), found.signed_in), (Some("2.1.330"), Some(true)));
    let mut keyless = fixture.seat.environment.clone();
    keyless.insert("ANTHROPIC_API_KEY".to_owned(), String::new());
    assert_eq!(ClaudeAdapter.detect(&config(&keyless), &own).await?.signed_in, Some(false));
    let models = ClaudeAdapter.models(&config(&fixture.seat.environment), &own).await?;
    ensure!(models.iter().any(|model| model.is_default) && models.iter().any(|model| model.id == "opus"));
    ensure!(models.iter().all(|model| model.efforts.contains(&"high".to_owned())), "{models:?}");
    assert_eq!(fixture.server.requests().len(), 0, "no model is called for that");
    let missing = ClaudeAdapter.detect(&json!({ "program": "no-such-claude" }), &own).await;
    ensure!(matches!(missing, Err(AgentError::Unavailable { .. })), "{missing:?}");
    Ok(())
}
