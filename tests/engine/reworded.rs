//! A run that an engine of another version goes on with: its dialogue words some messages differently, or says others.
//! The program is a script under the real keeper; engines come and go as if they were killed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use forge_agents::{
    AgentError, Control, Dialogue, DialogueContext, DialogueEnd, Launch, Limits, LogReader, LogWriter,
    RunCommand, RunOutcome, SessionRequest, dialogue::converse, log::DEFAULT_CAP_BYTES, marker_of,
};
use forge_exec::{Command, look};
use forge_keeper::Keeper;
use forge_model::{agent::PermissionMode, execution::ExecutionRole, log::EntryKind};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);

/// Takes a greeting and a prompt, waits for a file, asks, and writes down what it was told until then.
const SCRIPT: &str = r#"
IFS= read -r greeting; IFS= read -r prompt
echo '{"working":true}'
while [ ! -e go ]; do sleep 0.02; done
echo '{"ask":true}'
IFS= read -r answer
printf '%s\n' "$greeting" "$prompt" "$answer" >told
echo '{"done":true}'
cat >>told
"#;

/// What one version of Forge says: some messages at the beginning, and an answer.
struct Version {
    says: &'static [&'static str],
    heard: mpsc::UnboundedSender<Value>,
    is_done: bool,
}

impl Dialogue for Version {
    fn begin(&mut self, cx: &mut DialogueContext<'_>) {
        self.says.iter().for_each(|words| cx.send(&json!({ "say": words })));
    }

    fn hear(&mut self, line: &[u8], _: u64, cx: &mut DialogueContext<'_>) {
        let line: Value = serde_json::from_slice(line).unwrap_or_default();
        if line.get("ask").is_some() {
            cx.send(&json!({ "answer": "yes" }));
        }
        if line.get("done").is_some() {
            self.is_done = true;
            cx.end();
        }
        let _ = self.heard.send(line);
    }

    fn command(&mut self, _: RunCommand, _: &mut DialogueContext<'_>) {}

    fn interrupt(&mut self, cx: &mut DialogueContext<'_>) {
        cx.end();
    }

    fn take_end(&mut self) -> DialogueEnd {
        DialogueEnd { result: self.is_done.then_some(Ok(())), ..DialogueEnd::default() }
    }
}

struct Fixture {
    folder: TempDir,
    execution: String,
    epoch: AtomicU64,
}

impl Fixture {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let execution = folder.path().file_name().context("no name")?.to_string_lossy().into_owned();
        Ok(Self { folder, execution, epoch: AtomicU64::new(0) })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The keeper, for an engine that comes after all others.
    fn keeper(&self) -> Result<Keeper> {
        let epoch = self.epoch.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Keeper::new(self.path().join("keeper"), forge_testkit::keeper_program()?, epoch, LONG))
    }

    fn launch(&self, keeper: &Keeper, kept: u32, log: LogWriter) -> Launch {
        Launch {
            execution_id: self.execution.clone(),
            task_id: "t".to_owned(),
            keeper: keeper.clone(),
            process: 1,
            kept,
            memo: Vec::new(),
            log,
            config: Value::Null,
            model: None,
            prompt: "Work.".to_owned(),
            prompt_file: PathBuf::new(),
            worktree: self.path().to_owned(),
            given: None,
            base: forge_exec::variables_of(std::env::vars_os()),
            env: Vec::new(),
            shell: Vec::new(),
            sandbox: None,
            limits: Limits::default(),
            grace: Duration::from_millis(500),
            session: SessionRequest::New,
            carry: None,
            role: ExecutionRole::Coder,
            permissions: PermissionMode::Unattended,
            mcp: None,
            started: Box::new(|_| {}),
        }
    }

    fn log(&self) -> Result<LogWriter> {
        let logs = self.path().join("logs");
        Ok(LogWriter::open(&logs, "log", &self.execution, DEFAULT_CAP_BYTES, Arc::default())?)
    }

    /// Runs the program, or goes on with it, until it ends or something is heard.
    async fn engine(
        &self,
        says: &'static [&'static str],
        kept: u32,
        until: Option<&str>,
    ) -> Result<Option<RunOutcome>> {
        let (heard, mut lines) = mpsc::unbounded_channel();
        let (keeper, log) = (self.keeper()?, self.log()?);
        if kept > 0 {
            log.tell_again();
        }
        let launch = self.launch(&keeper, kept, log.clone());
        let command = Command::new("sh", self.path(), marker_of(&self.execution))
            .args(["-c", SCRIPT])
            .base(forge_exec::variables_of(std::env::vars_os()));
        let (control, _handle, _events) = Control::new(CancellationToken::new());
        if until.is_some() {
            // As if the engine were killed: what is dropped below does not end the program.
            keeper.leave_running();
        }
        let mut version = Version { says, heard, is_done: false };
        let outcome = tokio::select! {
            outcome = converse(launch, command, &mut version, &control) => Some(outcome),
            () = async {
                while let Some(line) = lines.recv().await {
                    if until.is_some_and(|until| line.get(until).is_some()) {
                        return;
                    }
                }
                std::future::pending::<()>().await;
            } => None,
        };
        log.close();
        Ok(outcome)
    }

    fn told(&self) -> Vec<String> {
        let told = fs::read_to_string(self.path().join("told")).unwrap_or_default();
        told.lines().map(str::to_owned).collect()
    }

    fn notices(&self) -> Result<Vec<String>> {
        let mut codes = Vec::new();
        LogReader::each(&self.path().join("logs"), "log", |entry| {
            if entry.kind == EntryKind::Notice {
                codes.push(entry.body["code"].as_str().unwrap_or_default().to_owned());
            }
        })?;
        Ok(codes)
    }
}

fn say(words: &str) -> String {
    json!({ "say": words }).to_string()
}

#[tokio::test]
async fn message_in_other_words_is_not_sent_again_and_the_run_goes_on() {
    let fixture = Fixture::new().unwrap();
    assert!(fixture.engine(&["I am 0.1", "work"], 0, Some("working")).await.unwrap().is_none());
    // Longer, so that by bytes it would reach into the prompt.
    fs::write(fixture.path().join("go"), "").expect("written");
    let outcome =
        fixture.engine(&["I am 0.10.0, the next one", "work"], 1, None).await.unwrap().expect("its end");
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(fixture.told(), [say("I am 0.1"), say("work"), json!({ "answer": "yes" }).to_string()]);
    assert_eq!(fixture.notices().unwrap(), ["replay_reworded"]);
}

#[tokio::test]
async fn run_whose_messages_cannot_be_aligned_is_lost_and_its_program_gone() {
    let others: [&'static [&'static str]; 3] = [&["work"], &["new", "I am 0.1", "work"], &["I am 0.1"]];
    for says in others {
        let fixture = Fixture::new().unwrap();
        assert!(fixture.engine(&["I am 0.1", "work"], 0, Some("working")).await.unwrap().is_none());
        let outcome = fixture.engine(says, 1, None).await.unwrap().expect("its end");
        assert_eq!(outcome.result, Err(AgentError::Lost), "{says:?}");
        assert_eq!(fixture.notices().unwrap(), ["replay_unaligned"], "{says:?}");
        assert!(!look().contains_key(&marker_of(&fixture.execution).0), "{says:?} leaves something running");
        assert!(!fixture.told().iter().any(|line| line.contains("answer")), "{says:?}");
    }
}

#[tokio::test]
async fn same_version_goes_on_without_a_word() {
    let fixture = Fixture::new().unwrap();
    assert!(fixture.engine(&["I am 0.1", "work"], 0, Some("working")).await.unwrap().is_none());
    fs::write(fixture.path().join("go"), "").expect("written");
    let outcome = fixture.engine(&["I am 0.1", "work"], 1, None).await.unwrap().expect("its end");
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(fixture.told().len(), 3);
    assert_eq!(fixture.notices().unwrap(), Vec::<String>::new());
}
