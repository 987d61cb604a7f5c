//! Tools that behave badly, for real: they are bounded, and end gently with their group when they are given up.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::{
    io::Read as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use forge_exec::{
    Caps, CollectError, Collected, Command, ExecError, Exit, ProcessIdentity, Stdin, Unmarked, collect,
};

const CAPS: Caps = Caps { stdout: 1 << 20, stderr: 1000 };
const GRACE: Duration = Duration::from_millis(300);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

fn sh(script: &str) -> Command<Unmarked> {
    Command::tool("sh", "/").args(["-c", script]).grace(GRACE)
}

async fn printed(command: Command<Unmarked>) -> (Exit, String, String) {
    let Collected { exit, stdout, stderr } = collect(command, CAPS).await.expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (exit, text(stdout), text(stderr))
}

/// The process whose number a script writes, whole, into the file.
async fn written(file: &Path) -> ProcessIdentity {
    loop {
        if let Ok(text) = std::fs::read_to_string(file) {
            return ProcessIdentity::of(text.trim().parse().expect("a number")).expect("a process");
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// A script that writes the number of its process, then does the rest.
fn telling(file: &Path, rest: &str) -> String {
    format!("echo $$ >{0}.new; mv {0}.new {0}; {rest}", file.display())
}

#[tokio::test]
async fn output_input_and_exit_are_those_of_the_tool() {
    let command = sh("cat; echo \"$A:${FORGE_PROCESS-none}\" >&2; exit 7")
        .env_remove("FORGE_PROCESS")
        .env("A", "a b")
        .stdin(Stdin::Bytes(b"input".to_vec()));
    assert_eq!(printed(command).await, (Exit::Code(7), "input".to_owned(), "a b:none\n".to_owned()));
    let unread = sh("kill -KILL $$").stdin(Stdin::Bytes(vec![b'x'; 1 << 20]));
    assert_eq!(printed(unread).await.0, Exit::Signal(9));
}

/// Says whether a tool leads a group, and whether it has a terminal. The group is the third field behind the name.
const SELF: &str = "sed 's/.*) //' /proc/$$/stat | { read state parent group rest; test $group = $$ && echo group; }; \
                    if (: </dev/tty) 2>/dev/null; then echo terminal; fi";

#[tokio::test]
async fn tool_leads_a_group() {
    assert_eq!(printed(sh(SELF)).await.1.lines().next(), Some("group"));
    assert_eq!(printed(sh(SELF).without_terminal()).await.1, "group\n");
}

#[tokio::test]
#[ignore = "run on a terminal by the test below"]
async fn tool_of_a_process_with_a_terminal() {
    assert_eq!(printed(sh(SELF)).await.1, "group\nterminal\n");
    assert_eq!(printed(sh(SELF).without_terminal()).await.1, "group\n");
}

#[test]
fn tool_on_request_has_no_terminal_where_the_engine_has_one() {
    let test = std::env::current_exe().expect("this test");
    let test = format!("'{}' --ignored --exact tool_of_a_process_with_a_terminal", test.display());
    let script = ["--quiet", "--return", "--command", &test, "/dev/null"];
    let on_terminal = std::process::Command::new("script").args(script).output().expect("a terminal");
    let said = String::from_utf8_lossy(&on_terminal.stdout);
    assert!(on_terminal.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn program_is_found_on_the_path_that_it_gets() {
    let folder = tempfile::tempdir().expect("a folder");
    let tool = folder.path().join("a-tool");
    std::fs::copy("/bin/sh", &tool).expect("a copy");
    let command = Command::tool("a-tool", "/").args(["-c", "echo $0"]).env("PATH", folder.path());
    assert_eq!(printed(command).await.1, "a-tool\n");
    // A script that does not say what runs it is run by a shell.
    std::fs::write(&tool, "echo script\n").expect("a script");
    let command =
        Command::tool("a-tool", "/").env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()));
    assert_eq!(printed(command).await.1, "script\n");
}

#[tokio::test]
async fn output_goes_into_the_pipe_that_is_given() {
    let (mut from, to) = std::io::pipe().expect("a pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        from.read_to_string(&mut text).map(|_| text)
    });
    assert_eq!(printed(sh("echo out; echo err >&2").stdout_to(to)).await.1, "");
    assert_eq!(reader.join().expect("it ends").expect("text"), "out\n");
}

#[tokio::test]
async fn flood_of_output_is_an_error_and_of_errors_is_cut() {
    let fits = Caps { stdout: 1000, stderr: 1000 };
    let exact = collect(sh("head -c 1000 /dev/zero; head -c 100000 /dev/zero >&2"), fits).await;
    let exact = exact.expect("it fits");
    assert_eq!((exact.stdout.len(), exact.stderr.len()), (1000, 1000));
    let over = collect(sh("head -c 1001 /dev/zero"), fits).await;
    assert!(matches!(over, Err(CollectError::TooMuchOutput { cap: 1000, .. })), "{over:?}");
    let flood = collect(sh("yes"), fits).await;
    assert!(matches!(flood, Err(CollectError::TooMuchOutput { cap: 1000, .. })), "{flood:?}");
}

#[tokio::test]
async fn missing_program_and_folder_are_told_apart() {
    let no_program = collect(Command::tool("no-such-program-anywhere", "/"), CAPS).await;
    assert!(matches!(no_program, Err(CollectError::Run(ExecError::NoProgram { .. }))), "{no_program:?}");
    let no_folder = collect(Command::tool("true", "/no/such/folder"), CAPS).await;
    assert!(matches!(no_folder, Err(CollectError::Run(ExecError::NoFolder { .. }))), "{no_folder:?}");
}

#[tokio::test]
async fn hang_is_ended_in_time_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let child = telling(&file, "exec sleep 1000");
    let hang = async {
        let command = sh(&format!("sh -c '{child}'; true")).timeout(Duration::from_millis(500));
        collect(command, CAPS).await
    };
    let (hang, child) = tokio::join!(hang, written(&file));
    assert!(matches!(hang, Err(CollectError::TimedOut { .. })), "{hang:?}");
    assert!(!child.is_alive(), "the child outlived the tool");
}

#[tokio::test]
async fn tool_that_ignores_the_gentle_signal_is_killed_after_the_grace() {
    let begun = Instant::now();
    let command = sh("trap '' TERM; while :; do sleep 1; done").timeout(Duration::from_millis(100));
    let hang = collect(command, CAPS).await;
    assert!(matches!(hang, Err(CollectError::TimedOut { .. })), "{hang:?}");
    assert!(begun.elapsed() >= GRACE, "it was not asked first");
}

#[tokio::test]
async fn dropped_tool_may_tidy_up_and_what_is_kept_for_it_is_kept_until_then() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, tidy) = (folder.path().join("pid"), folder.path().join("tidy"));
    // Nobody reads any more what it says about its own children.
    let script = format!("exec 2>/dev/null; trap 'sleep 0.1; echo done >{}; exit 0' TERM; ", tidy.display());
    let lock = Arc::new(());
    let command = sh(&(script + &telling(&file, "while :; do sleep 0.01; done")))
        .grace(Duration::from_secs(30))
        .keep(lock.clone());
    tokio::select! {
        ended = collect(command, CAPS) => panic!("it ended: {ended:?}"),
        _ = written(&file) => {}
    }
    assert_eq!(Arc::strong_count(&lock), 2);
    while Arc::strong_count(&lock) > 1 {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    assert_eq!(std::fs::read_to_string(tidy).expect("it tidied up"), "done\n");
}

#[tokio::test]
async fn leftover_child_stays_and_holds_the_pipes_for_the_grace_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("pid");
    let child = telling(&file, "exec sleep 1000");
    let begun = Instant::now();
    let command = sh(&format!("sh -c '{child}' & echo out; until test -e {}; do :; done", file.display()));
    assert_eq!(printed(command).await.1, "out\n");
    assert!(begun.elapsed() >= GRACE, "the pipes were not waited for");
    let child = written(&file).await;
    assert!(child.is_alive(), "what was left in the background was ended");
    let number = nix::unistd::Pid::from_raw(i32::try_from(child.pid).expect("a number"));
    nix::sys::signal::kill(number, nix::sys::signal::Signal::SIGKILL).expect("it ends");
}

#[test]
fn dropped_tool_does_not_outlive_the_runtime() {
    // Its end is left to a task that the runtime never runs, or drops while the tool is asked to end.
    for turns in [0, 10] {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let script = format!("trap '' TERM; {}", telling(&file, "while :; do sleep 1; done"));
        let command = sh(&script).grace(Duration::from_secs(1000));
        let tool = runtime.block_on(async {
            let tool = tokio::select! {
                ended = collect(command, CAPS) => panic!("it ended: {ended:?}"),
                tool = written(&file) => tool,
            };
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            tool
        });
        drop(runtime);
        while tool.is_alive() {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
