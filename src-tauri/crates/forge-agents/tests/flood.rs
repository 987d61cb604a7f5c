//! An agent that prints 50 MB: all of it is kept, in little memory. Alone in its program, since it looks at
//! the memory of the whole process.

use std::time::Duration;

use forge_agents::{
    Adapter as _, Control, Launch, Limits, LogReader, LogWriter, SessionRequest, ShellAdapter,
    log::DEFAULT_CAP_BYTES,
};
use forge_keeper::{Keeper, Place};
use forge_model::{agent::PermissionMode, execution::ExecutionRole, log::EntryKind};
use tokio_util::sync::CancellationToken;

const BYTES: u64 = 50_000_000;

#[tokio::test]
async fn a_flood_of_50_megabytes_is_kept_whole_in_little_memory() {
    let dir = tempfile::tempdir().expect("a folder");
    let prompt_file = dir.path().join("prompt.md");
    std::fs::write(&prompt_file, "flood").expect("a prompt");
    let line = format!("yes 'a line that an agent may well have printed' | head -c {BYTES}");
    let launch = Launch {
        execution_id: dir.path().display().to_string(),
        task_id: "t".to_owned(),
        keeper: Keeper::new(dir.path().join("keeper"), Place::Within, 1, Duration::ZERO),
        process: 1,
        kept: 0,
        memo: Vec::new(),
        log: LogWriter::open(dir.path(), "log", "e", DEFAULT_CAP_BYTES, Default::default()).expect("a log"),
        config: serde_json::json!({ "command": line }),
        model: None,
        prompt: "flood".to_owned(),
        prompt_file,
        worktree: dir.path().to_owned(),
        given: None,
        base: forge_exec::variables_of(std::env::vars_os()),
        env: Vec::new(),
        shell: vec!["sh".to_owned(), "-c".to_owned()],
        sandbox: None,
        limits: Limits::default(),
        grace: Duration::from_secs(1),
        session: SessionRequest::New,
        carry: None,
        role: ExecutionRole::Coder,
        permissions: PermissionMode::Edit,
        mcp: None,
        started: Box::new(|_| {}),
    };
    let before = peak_memory();
    let outcome = ShellAdapter.run(launch, &Control::new(CancellationToken::new()).0).await;
    assert_eq!(outcome.result, Ok(()));
    let grown = peak_memory() - before;
    assert!(grown < 32 * 1024 * 1024, "grew by {grown} bytes");

    let mut kept = 0;
    let mut after = 0;
    loop {
        let page = LogReader::page(dir.path(), "log", Some(after), None, 100).expect("a page");
        let Some(last) = page.entries.last() else { break };
        after = last.seq;
        for entry in page.entries.iter().filter(|entry| entry.kind == EntryKind::Stdout) {
            let text = entry.body["text"].as_str().expect("text");
            // The line break that an entry stands for.
            kept += text.len() as u64 + u64::from(entry.body.get("partial").is_none());
        }
    }
    assert_eq!(kept, BYTES);
    assert_eq!(LogReader::raw(dir.path(), "log", BYTES - 7, 100).expect("bytes").len(), 7);
}

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("our status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") * 1024
}
