//! The shell adapter with real commands, well-behaved and otherwise.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use forge_exec::usage as processes;
use forge_keeper::{Keeper, Place};
use forge_model::{
    agent::PermissionMode,
    execution::ExecutionRole,
    log::{EntryStatus, LogEntry},
    usage::UsageSample,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Handle, LogReader, LogWriter, SessionRequest, log::DEFAULT_CAP_BYTES, marker_of};

struct Run {
    dir: TempDir,
    config: Value,
    env: Vec<(String, String)>,
    limits: Limits,
    control: Control,
    handle: Handle,
    execution_id: String,
}

impl Run {
    fn of(config: Value) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("it's a tree")).expect("a worktree");
        // The folder's name is unique on this machine, hence the execution's marker too.
        let execution_id = dir.path().file_name().expect("a name").to_string_lossy().into_owned();
        let (control, handle, _) = Control::new(CancellationToken::new());
        Self { dir, config, env: Vec::new(), limits: Limits::default(), control, handle, execution_id }
    }

    fn line(line: &str) -> Self {
        Self::of(json!({ "command": line }))
    }

    fn worktree(&self) -> PathBuf {
        self.dir.path().join("it's a tree")
    }

    fn logs(&self) -> PathBuf {
        self.dir.path().join("logs")
    }

    async fn go(&self) -> RunOutcome {
        self.go_capped(DEFAULT_CAP_BYTES).await
    }

    async fn go_capped(&self, cap: u64) -> RunOutcome {
        let prompt_file = self.dir.path().join("prompt's file.md");
        std::fs::write(&prompt_file, "do it").expect("a prompt");
        let launch = Launch {
            execution_id: self.execution_id.clone(),
            task_id: "t".to_owned(),
            keeper: Keeper::new(self.dir.path().join("keeper"), Place::Within, 1, Duration::ZERO),
            process: 1,
            kept: 0,
            memo: Vec::new(),
            log: LogWriter::open(&self.logs(), "log", &self.execution_id, cap, Default::default())
                .expect("a log"),
            config: self.config.clone(),
            model: None,
            prompt: "do it".to_owned(),
            prompt_file,
            worktree: self.worktree(),
            given: None,
            base: forge_exec::variables_of(std::env::vars_os()),
            env: self.env.clone(),
            shell: vec!["sh".to_owned(), "-c".to_owned()],
            sandbox: None,
            limits: self.limits,
            grace: Duration::from_millis(200),
            session: SessionRequest::New,
            carry: None,
            role: ExecutionRole::Coder,
            permissions: PermissionMode::Edit,
            mcp: None,
            started: Box::new(|identity| assert!(identity.pid > 1)),
        };
        let outcome = ShellAdapter.run(launch, &self.control).await;
        assert_eq!(processes(&marker_of(&self.execution_id)).processes, 0, "something was left behind");
        outcome
    }

    fn entries(&self) -> Vec<LogEntry> {
        entries(&self.logs())
    }

    fn texts(&self, kind: EntryKind) -> Vec<String> {
        let of_kind = self.entries().into_iter().filter(|entry| entry.kind == kind);
        of_kind.map(|entry| entry.body["text"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

fn on_path(path: &str) -> Arc<Variables> {
    Arc::new(Variables::from([("PATH".into(), path.into())]))
}

fn entries(logs: &Path) -> Vec<LogEntry> {
    let mut all = Vec::new();
    loop {
        let page = LogReader::page(logs, "log", Some(all.len() as u64), None, 10_000).expect("a page");
        if page.entries.is_empty() {
            return all;
        }
        all.extend(page.entries);
    }
}

#[tokio::test]
async fn runs_a_line_of_shell_and_tells_its_story() {
    let run =
        Run::line("echo hello; cat {prompt_file} \"$FORGE_PROMPT_FILE\"; pwd; echo oops >&2; touch made");
    let outcome = run.go().await;
    assert_eq!((outcome.result, outcome.exit), (Ok(()), Some(Exit::Code(0))));
    assert!(run.worktree().join("made").exists());
    let stdout = run.texts(EntryKind::Stdout).join("\n");
    assert_eq!(stdout, format!("hello\ndo itdo it{}", run.worktree().display()));
    assert_eq!(run.texts(EntryKind::Stderr), ["oops"]);
    let kinds: Vec<EntryKind> = run.entries().iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds.first(), Some(&EntryKind::UserMessage));
    assert_eq!(kinds.get(1), Some(&EntryKind::SessionStarted));
    assert_eq!(kinds.last(), Some(&EntryKind::ProcessExit));
}

#[tokio::test]
async fn runs_a_program_with_its_arguments_as_they_are() {
    let args = json!(["-c", "printf '%s|' \"$@\" \"$A\" \"$B\"", "-", "{prompt_file}", "$HOME `x`"]);
    let mut run = Run::of(json!({ "command": "sh", "args": args, "env": { "A": "profile" } }));
    run.env = vec![("A".to_owned(), "launch".to_owned()), ("B".to_owned(), "b".to_owned())];
    assert_eq!(run.go().await.result, Ok(()));
    let prompt_file = run.dir.path().join("prompt's file.md");
    assert_eq!(run.texts(EntryKind::Stdout), [format!("{}|$HOME `x`|profile|b|", prompt_file.display())]);
}

#[tokio::test]
async fn takes_lines_that_are_entries_and_leaves_the_rest_text() {
    let lines = [
        "before",
        r#"{"kind":"assistant_text","body":{"text":"hi"},"id":"a","status":"completed","turn":2}"#,
        r#"{"kind":"assistant","body":{"text":"old name"}}"#,
        "between",
        r#"{"kind":"nonsense","body":{}}"#,
        r#"{"kind":"process_exit","body":{"code":0}}"#,
        r#"{"some":"json"}"#,
        r#"{"kind":"usage","body":{"model":"m","input_uncached":10,"output":5,"reasoning":2,"cost_micro_usd":7}}"#,
        r#"{"kind":"usage","body":{"model":"m","input_uncached":1,"cache_read":3,"output":1,"new_field":1}}"#,
        r#"{"kind":"usage","body":{"model":"n","output":-1}}"#,
        r#"{"kind":"turn_ended","body":{"summary":"all good"}}"#,
    ];
    let run = Run::line("cat input");
    std::fs::write(run.worktree().join("input"), lines.join("\n")).expect("written");
    let outcome = run.go().await;
    assert_eq!(outcome.result, Ok(()));
    assert_eq!(outcome.summary.as_deref(), Some("all good"));
    let sample = UsageSample {
        model: "m".to_owned(),
        input_uncached: 11,
        cache_read: 3,
        output: 6,
        reasoning: 2,
        cost_micro_usd: Some(7),
        ..UsageSample::default()
    };
    assert_eq!(outcome.usage, [sample]);
    assert_eq!(run.texts(EntryKind::AssistantText), ["hi", "old name"]);
    assert_eq!(run.texts(EntryKind::Stdout), ["before".to_owned(), lines[3..7].join("\n")]);
    assert!(run.texts(EntryKind::Notice)[0].contains("not counted"));
    let entries = run.entries();
    let hi = entries.iter().find(|entry| entry.id == "a").expect("the entry");
    assert_eq!((hi.turn, hi.status), (2, Some(EntryStatus::Completed)));
    // Each entry knows where its bytes are.
    let raw = LogReader::raw(&run.logs(), "log", hi.raw_offset, lines[1].len()).expect("bytes");
    assert_eq!(raw, lines[1].as_bytes());
    assert_eq!(entries.iter().filter(|entry| entry.kind == EntryKind::ProcessExit).count(), 1);
}

#[tokio::test]
async fn an_entry_may_come_in_pieces_and_be_long() {
    let text = "long ".repeat(50_000);
    let entry = json!({ "kind": "assistant_text", "body": { "text": text } }).to_string();
    let run = Run::line("cat one; sleep 0.05; cat two");
    let (one, two) = entry.split_at(100_001);
    std::fs::write(run.worktree().join("one"), one).expect("written");
    std::fs::write(run.worktree().join("two"), two).expect("written");
    run.go().await;
    let entries = run.entries();
    let entry = entries.iter().find(|entry| entry.kind == EntryKind::AssistantText).expect("the entry");
    assert_eq!(entry.body["text_bytes"], text.len());
    assert_eq!(LogReader::blob(&run.logs(), "log", entry.seq).expect("the text"), text);
}

#[tokio::test]
async fn the_exit_code_decides_and_the_last_line_is_shown() {
    let outcome = Run::line("echo fine; echo 'no such key' >&2; exit 3").go().await;
    let error = outcome.result.expect_err("it failed");
    assert_eq!((error.code(), error.is_retryable()), ("crashed", true));
    assert_eq!(error.to_string(), "the agent ended with exit code 3: no such key");
    let error = Run::line("kill -SEGV $$").go().await.result.expect_err("it failed");
    assert_eq!(error.to_string(), "the agent ended by signal 11");
}

#[tokio::test]
async fn a_program_may_say_why_it_failed() {
    let error = async |body: &str, code: i32| {
        let run = Run::line(&format!("cat input; exit {code}"));
        let line = format!("{{\"kind\":\"turn_ended\",\"body\":{{\"error\":{body}}}}}\n");
        std::fs::write(run.worktree().join("input"), line).expect("written");
        run.go().await.result
    };
    let limited = error(r#"{"code":"rate_limited","until_ms":123}"#, 1).await;
    assert_eq!(limited, Err(AgentError::RateLimited { until_ms: 123 }));
    let refused = error(r#"{"code":"refused","message":"no"}"#, 1).await;
    assert_eq!(refused, Err(AgentError::Refused { detail: "no".to_owned() }));
    let unknown = error(r#"{"code":"cancelled"}"#, 1).await;
    assert_eq!(unknown.expect_err("it failed").code(), "crashed");
    assert_eq!(error(r#"{"code":"auth"}"#, 0).await, Ok(()));
}

#[tokio::test]
async fn stops_a_silent_one_a_slow_one_and_a_cancelled_one() {
    let mut silent = Run::line("echo once; sleep 3600");
    silent.limits.silence = Some(Duration::from_millis(100));
    let error = silent.go().await.result.expect_err("stopped");
    assert_eq!(error, AgentError::Silent { after: Duration::from_millis(100) });

    let mut slow = Run::line("trap '' TERM; while :; do echo x; sleep 0.01; done");
    slow.limits =
        Limits { wall_clock: Some(Duration::from_millis(150)), silence: None, turns: None, cost: None };
    let outcome = slow.go().await;
    assert_eq!(outcome.exit, Some(Exit::Signal(9)));
    assert_eq!(outcome.result.expect_err("stopped").code(), "limit");

    let run = Run::line("echo ready; sleep 3600");
    let mut activity = run.handle.activity.clone();
    let cancel = async {
        activity.wait_for(|line| line == "ready").await.expect("an activity");
        run.control.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run.go(), cancel);
    assert_eq!(outcome.result, Err(AgentError::Cancelled));
    assert_eq!(run.entries().last().and_then(|entry| entry.status), Some(EntryStatus::Cancelled));
}

#[tokio::test]
async fn ends_what_it_leaves_behind() {
    let outcome = Run::line("setsid sleep 3600 & sleep 3600 & echo done").go().await;
    assert_eq!((outcome.result, outcome.left_behind), (Ok(()), 2));
}

#[tokio::test]
async fn says_what_cannot_be_started() {
    let problem = async |config: Value| Run::of(config).go().await.result.expect_err("refused");
    let missing = problem(json!({ "command": "no-such-agent", "args": [] })).await;
    assert!(matches!(&missing, AgentError::Unavailable { program, .. } if program == "no-such-agent"));
    assert!(!missing.is_retryable());
    assert_eq!(problem(json!({ "command": 3 })).await.code(), "unavailable");

    let mut elsewhere = Run::of(json!({ "command": "sh", "args": [] }));
    elsewhere.env = vec![("PATH".to_owned(), "/nowhere".to_owned())];
    assert_eq!(elsewhere.go().await.result.expect_err("refused").code(), "unavailable");
}

#[tokio::test]
async fn shows_what_is_no_text_and_what_has_no_end() {
    let run = Run::line(r"printf 'a\377b\n'; printf 'caf\303'; sleep 0.05; printf '\251 no end'");
    assert_eq!(run.go().await.result, Ok(()));
    assert_eq!(run.texts(EntryKind::Stdout), ["a\u{FFFD}b", "café no end"]);
    let partial: Vec<bool> = run
        .entries()
        .iter()
        .filter(|entry| entry.kind == EntryKind::Stdout)
        .map(|entry| entry.body.get("partial").is_some())
        .collect();
    assert_eq!(partial, [false, true]);
    let raw = LogReader::raw(&run.logs(), "log", 0, 100).expect("bytes");
    assert_eq!(raw, b"a\xFFb\ncaf\xC3\xA9 no end");
}

#[tokio::test]
async fn takes_a_line_of_20_megabytes_in_pieces() {
    let bytes = 20_000_000;
    let run = Run::line(&format!("head -c {bytes} /dev/zero | tr '\\0' '{{'; echo; echo after"));
    assert_eq!(run.go().await.result, Ok(()));
    let entries = run.entries();
    let pieces: Vec<_> = entries.iter().filter(|entry| entry.kind == EntryKind::Stdout).collect();
    let mut whole = String::new();
    for piece in &pieces {
        let text = piece.body["text"].as_str().expect("text that stayed in its entry");
        assert!(text.len() <= 64 * 1024);
        whole.push_str(text);
        if piece.body.get("partial").is_none() {
            whole.push('\n');
        }
    }
    assert!(whole == format!("{}\nafter\n", "{".repeat(bytes)), "{} bytes came", whole.len());
    assert!((300..1000).contains(&pieces.len()), "{}", pieces.len());
}

#[tokio::test]
async fn many_lines_become_few_entries_and_none_is_lost() {
    let run = Run::line("seq 1 200000");
    assert_eq!(run.go().await.result, Ok(()));
    let texts = run.texts(EntryKind::Stdout);
    assert!(texts.len() < 5000, "{}", texts.len());
    let lines: Vec<String> = texts.join("\n").lines().map(str::to_owned).collect();
    assert!(lines == (1..=200_000).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_full_log_does_not_stop_the_agent() {
    let run = Run::line("seq 1 100000; touch done");
    assert_eq!(run.go_capped(20_000).await.result, Ok(()));
    assert!(run.worktree().join("done").exists());
    assert!(run.texts(EntryKind::Notice).iter().any(|text| text.contains("log is full")));
    assert!(run.entries().iter().any(|entry| entry.kind == EntryKind::ProcessExit));
}

#[tokio::test]
async fn shows_the_last_activity_even_when_it_came_too_soon() {
    let lines = r#"{"kind":"command","body":{"command":"sh test.sh"}}"#;
    let run = Run::line("echo one; cat input; sleep 3600");
    std::fs::write(run.worktree().join("input"), format!("{lines}\n")).expect("written");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut activity = run.handle.activity.clone();
    let watch = async {
        while activity.changed().await.is_ok() {
            let line = activity.borrow_and_update().clone();
            let is_last = line == "Running sh test.sh";
            seen.lock().expect("the lines").push(line);
            if is_last {
                break;
            }
        }
        run.control.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(run.go(), watch);
    assert_eq!(outcome.activity, "Running sh test.sh");
    assert!(seen.lock().expect("the lines").len() <= 2);
}

#[tokio::test]
async fn finds_the_program_of_a_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = ProbeFolder::new(on_path("/usr/bin:/bin"), folder.path()).expect("a place");
    let detect = async |config: Value| ShellAdapter.detect(&config, &place).await;
    let found = detect(json!({ "command": "sh", "args": [] })).await.expect("sh");
    assert!(found.program.ends_with("sh") && found.program.is_absolute());
    assert_eq!(
        detect(json!({ "command": "no-such", "args": [] })).await.expect_err("none").code(),
        "unavailable"
    );
    assert!(detect(json!({ "command": "sh -c true" })).await.is_ok());
}
