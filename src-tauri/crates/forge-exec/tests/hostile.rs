//! Children that behave badly, for real: nothing hangs, nothing grows, nothing is left behind.

#![expect(clippy::expect_used, reason = "helpers of tests")]

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use forge_exec::{
    Command, ExecError, Exit, Finished, HeadTail, Marker, OutputSink, ProcessIdentity, Stdin, Stream,
    become_subreaper, end, run, sweep, usage, working_in,
};
use tokio_util::sync::CancellationToken;

/// A marker that no other test, and no other run of the tests, has.
fn marker() -> Marker {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let identity = ProcessIdentity::of(std::process::id()).expect("this process");
    Marker(format!("test-{}-{}-{number}", identity.pid, identity.start_time))
}

fn sh(script: &str, marker: &Marker) -> Command {
    Command::shell(&["sh".to_owned(), "-c".to_owned()], script, Path::new("/"), marker.clone())
        .grace(Duration::from_millis(300))
}

async fn finish(command: Command) -> (Finished, String, String) {
    let mut output = HeadTail::new(64 * 1024);
    let finished =
        run(command, &CancellationToken::new(), |_| {}, &mut output).await.expect("the program runs");
    let captured = output.into_strings();
    (finished, captured.stdout, captured.stderr)
}

fn alive(marker: &Marker) -> u32 {
    usage(marker).processes
}

/// Waits for something that is bound to happen; the test runner's own limit ends a wait in vain.
async fn until(mut happened: impl FnMut() -> bool) {
    while !happened() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Takes output and tells when a word has come.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Heard {
    fn has(&self, word: &str) -> bool {
        String::from_utf8_lossy(&self.0.lock().expect("the output")).contains(word)
    }
}

#[async_trait::async_trait]
impl OutputSink for Heard {
    async fn write(&mut self, _: Stream, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().expect("the output").extend_from_slice(bytes);
        Ok(())
    }
}

#[tokio::test]
async fn tells_how_a_program_ended() {
    for (script, exit) in [
        ("exit 0", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
    ] {
        let (finished, ..) = finish(sh(script, &marker())).await;
        assert_eq!(finished.exit, exit, "{script}");
        assert_eq!((finished.timed_out, finished.cancelled, finished.left_behind), (false, false, 0));
    }
}

#[tokio::test]
async fn passes_environment_folder_input_and_keeps_streams_apart() {
    let marker = marker();
    let command = sh("cat; echo \"$A:$HOME:$FORGE_PROCESS:$PWD\" >&2", &marker)
        .env("A", "a b")
        .env_remove("HOME")
        .stdin(Stdin::Bytes(b"input".to_vec()));
    let (_, stdout, stderr) = finish(command).await;
    assert_eq!((stdout.as_str(), stderr), ("input", format!("a b::{}:/\n", marker.0)));
}

#[tokio::test]
async fn gives_input_as_it_comes() {
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let heard = Heard::default();
    let mut sink = heard.clone();
    let command = sh("while read line; do echo \"got $line\"; done; echo end", &marker())
        .stdin(Stdin::Stream(receiver));
    let cancel = CancellationToken::new();
    let talk = async {
        sender.send(b"one\n".to_vec()).await.expect("taken");
        until(|| heard.has("got one")).await;
        sender.send(b"two\n".to_vec()).await.expect("taken");
        until(|| heard.has("got two")).await;
        drop(sender);
    };
    let (finished, ()) = tokio::join!(run(command, &cancel, |_| {}, &mut sink), talk);
    assert!(finished.expect("the program runs").is_success());
    assert!(heard.has("end"));
}

#[tokio::test]
async fn does_not_mind_input_that_nobody_reads() {
    let (finished, ..) = finish(sh("exit 3", &marker()).stdin(Stdin::Bytes(vec![b'x'; 1 << 20]))).await;
    assert_eq!(finished.exit, Exit::Code(3));
}

#[tokio::test]
async fn says_what_is_missing() {
    let run_it = async |command: Command| {
        run(command, &CancellationToken::new(), |_| {}, &mut HeadTail::new(0)).await.expect_err("must fail")
    };
    let no_program = run_it(Command::new("no-such-program-anywhere", "/", marker())).await;
    assert!(matches!(no_program, ExecError::NoProgram { .. }), "{no_program}");
    let no_folder = run_it(Command::new("true", "/no/such/folder", marker())).await;
    assert!(matches!(no_folder, ExecError::NoFolder { .. }), "{no_folder}");
    let no_right = run_it(Command::new("/etc/passwd", "/", marker())).await;
    assert!(matches!(no_right, ExecError::Start { .. }), "{no_right}");
}

#[tokio::test]
async fn kills_what_ignores_the_gentle_signal() {
    let marker = marker();
    let (finished, ..) =
        finish(sh("trap '' TERM; while :; do sleep 1; done", &marker).timeout(Duration::from_millis(100)))
            .await;
    assert_eq!((finished.exit, finished.timed_out), (Exit::Signal(9), true));
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn lets_a_program_end_by_itself_when_asked_gently() {
    let cancel = CancellationToken::new();
    let heard = Heard::default();
    let mut sink = heard.clone();
    let script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let command = sh(script, &marker()).grace(Duration::from_secs(60));
    let ask = async {
        until(|| heard.has("ready")).await;
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(run(command, &cancel, |_| {}, &mut sink), ask);
    let finished = finished.expect("the program runs");
    assert_eq!((finished.exit, finished.cancelled), (Exit::Code(5), true));
    assert!(heard.has("bye"));
}

#[tokio::test]
async fn ends_descendants_that_left_group_and_session() {
    become_subreaper().expect("the right to reap");
    let marker = marker();
    // Twice forked, in a session of its own, deaf to the gentle signal, holding the pipe open.
    let script = "sh -c 'setsid sh -c \"trap : TERM; echo away \\$\\$; while :; do sleep 1; done\" &'; \
        until [ -n \"$(ps -e -o sid=,args= | grep '[e]cho away')\" ]; do :; done; echo leader";
    let (finished, stdout, _) = finish(sh(script, &marker)).await;
    assert_eq!(finished.exit, Exit::Code(0));
    assert!(finished.left_behind >= 1, "{finished:?}");
    assert!(stdout.contains("leader"), "{stdout}");
    assert_eq!(alive(&marker), 0);
    // Not even as a zombie: it became our child when it lost its parent, and was reaped.
    let away = stdout.lines().find_map(|line| line.strip_prefix("away ")).expect("its number");
    assert_eq!(ProcessIdentity::of(away.parse().expect("a number")), None);
}

#[tokio::test]
async fn ends_descendants_that_shed_their_environment() {
    let marker = marker();
    // Still in the leader's group, which is the other sign by which they are known.
    let (finished, stdout, _) = finish(sh("env -i sleep 3600 & echo $!", &marker)).await;
    assert_eq!(finished.left_behind, 1);
    let pid = stdout.trim().parse().expect("a process number");
    until(|| ProcessIdentity::of(pid).is_none_or(|identity| !identity.is_alive())).await;
}

#[tokio::test]
async fn does_not_wait_for_a_stranger_that_holds_the_pipe() {
    // Neither marker nor group nor a parent in the family: it cannot be found, so it must not be waited for.
    let marker = marker();
    let script = "env -i setsid sh -c 'sleep 3600 & echo $! >&2' & wait; \
        until ps -e -o args= | grep -q '[s]leep 3600'; do :; done; echo told";
    let (finished, stdout, stderr) = finish(sh(script, &marker)).await;
    assert_eq!((finished.exit, stdout.as_str()), (Exit::Code(0), "told\n"));
    let pid: u32 = stderr.trim().parse().expect("a process number");
    if let Some(stranger) = ProcessIdentity::of(pid) {
        end(&stranger, &marker, Duration::ZERO).await;
        assert!(!stranger.is_alive());
    }
}

#[tokio::test]
async fn wakes_a_stopped_child_to_end_it() {
    let marker = marker();
    let cancel = CancellationToken::new();
    let heard = Heard::default();
    let mut sink = heard.clone();
    let command = sh("echo ready; kill -STOP $$; sleep 3600", &marker).grace(Duration::from_secs(60));
    let ask = async {
        until(|| heard.has("ready")).await;
        cancel.cancel();
    };
    let (finished, ()) = tokio::join!(run(command, &cancel, |_| {}, &mut sink), ask);
    assert_eq!(finished.expect("the program runs").exit, Exit::Signal(15));
}

#[tokio::test]
async fn loses_nothing_of_a_flood_and_stays_small() {
    const BYTES: u64 = 50 * 1024 * 1024;
    struct Count(u64);
    #[async_trait::async_trait]
    impl OutputSink for Count {
        async fn write(&mut self, _: Stream, bytes: &[u8]) -> io::Result<()> {
            assert!(bytes.len() <= 64 * 1024);
            self.0 += bytes.len() as u64;
            Ok(())
        }
    }
    let before = peak_memory();
    let mut count = Count(0);
    let command = sh(&format!("head -c {BYTES} /dev/zero"), &marker());
    let finished = run(command, &CancellationToken::new(), |_| {}, &mut count).await.expect("it runs");
    assert!(finished.is_success());
    assert_eq!(count.0, BYTES);
    let grown = peak_memory() - before;
    assert!(grown < 8 * 1024 * 1024, "grew by {grown} bytes");
}

#[tokio::test]
async fn loses_nothing_when_the_engine_is_too_busy_to_look() {
    // Blocks the only thread for longer than pipes are waited for after the child's end.
    struct Busy(usize);
    #[async_trait::async_trait]
    impl OutputSink for Busy {
        async fn write(&mut self, _: Stream, bytes: &[u8]) -> io::Result<()> {
            self.0 += bytes.len();
            std::thread::sleep(Duration::from_millis(80));
            Ok(())
        }
    }
    for _ in 0..3 {
        let mut busy = Busy(0);
        let command = sh("head -c 150000 /dev/zero; head -c 50000 /dev/zero >&2", &marker());
        let finished = run(command, &CancellationToken::new(), |_| {}, &mut busy).await.expect("it runs");
        assert!(finished.is_success());
        assert_eq!(busy.0, 200_000);
    }
}

#[tokio::test]
async fn slows_a_child_down_that_prints_faster_than_it_is_taken() {
    // A sink that takes one piece and then nothing: the child cannot get far ahead of it, and stopping
    // still works.
    struct Stuck(CancellationToken);
    #[async_trait::async_trait]
    impl OutputSink for Stuck {
        async fn write(&mut self, _: Stream, _: &[u8]) -> io::Result<()> {
            self.0.cancel();
            std::future::pending().await
        }
    }
    let marker = marker();
    let cancel = CancellationToken::new();
    let mut stuck = Stuck(cancel.clone());
    let result = run(sh("yes", &marker), &cancel, |_| {}, &mut stuck).await;
    assert!(matches!(result, Err(ExecError::Output { .. })), "{result:?}");
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn stops_the_child_when_its_output_cannot_be_taken() {
    struct Full;
    #[async_trait::async_trait]
    impl OutputSink for Full {
        async fn write(&mut self, _: Stream, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    let marker = marker();
    let result = run(sh("yes", &marker), &CancellationToken::new(), |_| {}, &mut Full).await;
    assert!(matches!(result, Err(ExecError::Output { .. })), "{result:?}");
    assert_eq!(alive(&marker), 0);
}

#[tokio::test]
async fn kills_everything_when_the_run_is_dropped() {
    let marker = marker();
    let heard = Heard::default();
    let mut sink = heard.clone();
    let cancel = CancellationToken::new();
    {
        let script = "setsid sh -c 'echo away; sleep 3600' & echo here; wait; sleep 3600";
        let mut running = Box::pin(run(sh(script, &marker), &cancel, |_| {}, &mut sink));
        tokio::select! {
            finished = &mut running => panic!("ended by itself: {finished:?}"),
            () = until(|| heard.has("away") && heard.has("here")) => {}
        }
        assert!(alive(&marker) >= 2);
    }
    until(|| alive(&marker) == 0).await;
}

#[tokio::test]
async fn keeps_the_last_words_of_a_child_that_dies_within_a_line() {
    let (finished, stdout, _) = finish(sh("printf 'whole\\nhalf a li'; kill -KILL $$", &marker())).await;
    assert_eq!((finished.exit, stdout.as_str()), (Exit::Signal(9), "whole\nhalf a li"));
}

#[tokio::test]
async fn ends_the_orphans_of_an_engine_that_died() {
    become_subreaper().expect("the right to reap");
    let marker = marker();
    // The shell stands for the dead engine: it starts a run's processes and goes away.
    let script = format!(
        "FORGE_PROCESS={0} setsid sh -c 'echo $$; exec >/dev/null; (setsid sleep 3600 &); exec sleep 3600' &",
        marker.0
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .stderr(std::process::Stdio::null())
        .output()
        .expect("sh runs");
    let pid = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a process number");
    let leader = ProcessIdentity::of(pid).expect("the orphan");
    until(|| alive(&marker) == 2).await;
    assert!(leader.is_alive());

    // Another process that now has the number is not the one.
    let reused = ProcessIdentity { start_time: leader.start_time + 1, ..leader.clone() };
    assert!(!reused.is_alive());
    let other_boot = ProcessIdentity { boot_id: "another".to_owned(), ..leader.clone() };
    assert!(!other_boot.is_alive());
    let stranger = Marker("nobody-has-this-marker".to_owned());
    assert_eq!(end(&reused, &stranger, Duration::ZERO).await, 0);
    assert!(leader.is_alive());

    assert_eq!(end(&leader, &marker, Duration::from_secs(5)).await, 2);
    assert_eq!((leader.is_alive(), alive(&marker)), (false, 0));
}

#[tokio::test]
async fn a_sweep_takes_only_the_exact_marker() {
    let marker = marker();
    let longer = Marker(format!("{}-longer", marker.0));
    let mut child = std::process::Command::new("sleep")
        .arg("3600")
        .env("FORGE_PROCESS", &longer.0)
        .spawn()
        .expect("sleep runs");
    until(|| alive(&longer) == 1).await;
    assert_eq!(sweep(&marker, Duration::ZERO).await, 0);
    assert_eq!(alive(&longer), 1);
    assert_eq!(sweep(&longer, Duration::from_secs(5)).await, 1);
    assert!(!child.wait().is_ok_and(|status| status.success()));
}

/// While the system replaces a process's program, the process has no environment to find it by.
#[tokio::test]
async fn process_that_is_just_starting_another_program_is_swept() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("again");
    std::fs::write(&script, "exec sh \"$0\"").expect("a script");
    for _ in 0..50 {
        let marker = marker();
        let mut child = std::process::Command::new("sh")
            .arg(&script)
            .env("FORGE_PROCESS", &marker.0)
            .spawn()
            .expect("sh runs");
        assert_eq!(sweep(&marker, Duration::ZERO).await, 1);
        assert!(!child.wait().is_ok_and(|status| status.success()));
    }
}

#[tokio::test]
async fn a_sweep_leaves_exit_statuses_to_those_who_wait_for_them() {
    become_subreaper().expect("the right to reap");
    let marker = marker();
    let heard = Heard::default();
    let mut sink = heard.clone();
    let cancel = CancellationToken::new();
    let sweeping = async {
        until(|| heard.has("ready")).await;
        sweep(&marker, Duration::from_secs(5)).await
    };
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    let (finished, swept) = tokio::join!(run(sh(script, &marker), &cancel, |_| {}, &mut sink), sweeping);
    assert_eq!(finished.expect("the status was not stolen").exit, Exit::Code(9));
    assert!(swept >= 1);
}

#[tokio::test]
async fn measures_what_a_run_uses() {
    let marker = marker();
    let heard = Heard::default();
    let mut sink = heard.clone();
    let cancel = CancellationToken::new();
    let measure = async {
        until(|| heard.has("ready") && usage(&marker).cpu_ms > 0).await;
        let used = usage(&marker);
        cancel.cancel();
        used
    };
    let command = sh("echo ready; while :; do :; done", &marker);
    let (_, used) = tokio::join!(run(command, &cancel, |_| {}, &mut sink), measure);
    assert_eq!(used.processes, 1);
    assert!(used.rss_bytes > 100 * 1024, "{used:?}");
}

#[tokio::test]
async fn hands_out_the_identity_at_the_start() {
    let told = Arc::new(Mutex::new(None));
    let teller = Arc::clone(&told);
    let mut output = HeadTail::new(100);
    let cancel = CancellationToken::new();
    let started = move |identity: ProcessIdentity| {
        *teller.lock().expect("the identity") = Some(identity);
    };
    run(sh("echo $$; sleep 0.05", &marker()), &cancel, started, &mut output).await.expect("it runs");
    let identity = told.lock().expect("the identity").take().expect("told");
    assert_eq!(output.into_strings().stdout.trim(), identity.pid.to_string());
    assert!(!identity.is_alive());
}

fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("our status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") * 1024
}

/// A process with a marker that stands in `folder` until its standard input ends.
fn standing_in(folder: &Path) -> std::process::Child {
    std::process::Command::new("cat")
        .current_dir(folder)
        .env("FORGE_PROCESS", marker().0)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("cat runs")
}

#[tokio::test]
async fn who_works_in_a_folder_is_found_and_its_end_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("deep")).expect("a folder");
    assert_eq!(working_in(folder.path()), None);
    let mut child = standing_in(&folder.path().join("deep"));
    let found = working_in(folder.path()).expect("somebody is there");
    assert_eq!((found.pid, found.name.as_str()), (child.id(), "cat"));
    assert_eq!(working_in(&folder.path().join("elsewhere")), None);

    let identity = ProcessIdentity::of(child.id()).expect("it runs");
    let ended = tokio::spawn({
        let identity = identity.clone();
        async move { identity.ended().await }
    });
    tokio::task::yield_now().await;
    assert!(!ended.is_finished());
    drop(child.stdin.take());
    ended.await.expect("no panic").expect("the system tells");
    child.wait().expect("it ends");
    identity.ended().await.expect("one that is gone has ended");
    let other = ProcessIdentity { pid: std::process::id(), start_time: 1, boot_id: identity.boot_id };
    other.ended().await.expect("a later process with its number is another one");
    assert_eq!(working_in(folder.path()), None);
}

/// git that this process runs is an errand of its own and keeps nobody from anything.
#[test]
fn own_errands_do_not_count() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = std::process::Command::new("cat")
        .current_dir(folder.path())
        .env_remove("FORGE_PROCESS")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("cat runs");
    assert_eq!(working_in(folder.path()), None);
    drop(child.stdin.take());
    child.wait().expect("it ends");
}
