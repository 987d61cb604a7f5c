//! The keeper as a process of its own: what it runs outlives the engine, and what it printed and read is whole.

use std::{io::ErrorKind, path::Path, time::Duration};

use async_trait::async_trait;
use forge_exec::{ExecError, Exit, Finished, ProcessIdentity, Sandbox, Stdin, look, sandbox_support};
use forge_keeper::{
    Given, KeepError, Keeper, KeptRun, KeptSink, LimitHit, Limits, Output, PROTOCOL, Place, Session,
};
use forge_machines_testkit::kept_script;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    sync::mpsc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);

fn keeper(root: &Path, epoch: u64, patience: Duration) -> Keeper {
    Keeper::new(
        root.join("keeper"),
        Place::Program(env!("CARGO_BIN_EXE_forge-keeper").into()),
        epoch,
        patience,
    )
}

fn run(root: &Path, id: &str, script: &str) -> KeptRun {
    KeptRun { memo: b"m".to_vec(), ..kept_script(id, root.display(), root, script) }
}

#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    limits: Vec<LimitHit>,
    live_after: Option<usize>,
    stop_at_limit: Option<CancellationToken>,
    seen: Option<mpsc::UnboundedSender<usize>>,
}

#[async_trait]
impl KeptSink for Taken {
    async fn output(&mut self, output: Output<'_>) -> std::io::Result<()> {
        self.bytes.extend_from_slice(output.bytes);
        if let Some(seen) = &self.seen {
            let _ = seen.send(self.bytes.len());
        }
        Ok(())
    }

    async fn limit(&mut self, hit: LimitHit) {
        self.limits.push(hit);
        if let Some(stop) = &self.stop_at_limit {
            stop.cancel();
        }
    }

    async fn live(&mut self) {
        self.live_after = Some(self.bytes.len());
    }
}

async fn to_end(session: Session) -> (Result<Finished, KeepError>, Taken) {
    let mut taken = Taken::default();
    let finished = session.run(&CancellationToken::new(), &mut taken).await;
    (finished, taken)
}

/// Follows until so many bytes came, then leaves.
async fn until(session: Session, bytes: usize) -> Taken {
    let (seen, mut told) = mpsc::unbounded_channel();
    let mut taken = Taken { seen: Some(seen), ..Taken::default() };
    let stop = CancellationToken::new();
    tokio::select! {
        finished = session.run(&stop, &mut taken) => panic!("it ended: {finished:?}"),
        () = async { while told.recv().await.is_some_and(|length| length < bytes) {} } => {}
    }
    taken
}

fn alive(root: &Path, id: &str) -> usize {
    look().get(&format!("{id}-{}", root.display())).map_or(0, Vec::len)
}

async fn gone(root: &Path, id: &str, within: Duration) {
    let begun = Instant::now();
    while alive(root, id) > 0 {
        assert!(begun.elapsed() < within, "{id} still runs");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The process that keeps.
#[expect(clippy::expect_used, reason = "a helper of a test")]
fn keeper_pid(root: &Path) -> i32 {
    let serves = |pid: i32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.ends_with([root.join("keeper").as_os_str().as_encoded_bytes(), b"\0"].concat().as_slice())
    };
    let all = std::fs::read_dir("/proc").expect("all processes");
    let mut pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.find(|pid| serves(*pid)).expect("a keeper")
}

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn root() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[tokio::test]
async fn program_goes_on_without_its_engine_and_the_next_one_reads_all_of_it() {
    let root = root();
    let script = "for n in 1 2 3 4 5 6; do echo out $n; echo err $n >&2; read line; echo got $line; done";
    let feed = |words: &[&str]| {
        let (input, stdin) = mpsc::channel(8);
        words.iter().for_each(|word| input.try_send(format!("{word}\n").into_bytes()).unwrap());
        (input, Stdin::Stream(stdin))
    };
    let first = keeper(root.path(), 1, LONG);
    assert!(first.outlives_engine());
    let mut started = run(root.path(), "a", script);
    let (input, stdin) = feed(&["one", "two"]);
    started.command.stdin = stdin;
    let session = first.open(started).await.unwrap();
    assert!(session.opened().is_new);
    let identity = session.opened().identity.clone().unwrap();
    session.notes().note(b"said two".to_vec());
    // As if it were killed: nothing says goodbye.
    first.leave_running();
    let half = until(session, "out 1\nerr 1\ngot one\nout 2\nerr 2\ngot two\nout 3\nerr 3\n".len()).await;
    drop((first, input));

    let second = keeper(root.path(), 2, LONG);
    let runs = second.runs().await.unwrap();
    assert_eq!(
        (runs[0].id.as_str(), runs[0].is_running, runs[0].memo.as_slice()),
        ("a", true, b"m".as_slice())
    );
    let mut again = run(root.path(), "a", "echo never");
    let (input, stdin) = feed(&["three", "four"]);
    again.command.stdin = stdin;
    let session = second.open(again).await.unwrap();
    assert_eq!(session.opened().given, [Given::of(b"one\n"), Given::of(b"two\n")]);
    assert_eq!(
        (session.opened().is_new, session.opened().identity.as_ref(), session.opened().notes.as_slice()),
        (false, Some(&identity), [b"said two".to_vec()].as_slice())
    );
    input.try_send(b"five\nsix\n".to_vec()).unwrap();
    let (finished, taken) = to_end(session).await;
    assert_eq!(finished.unwrap().exit, Exit::Code(0));
    assert!(taken.bytes.starts_with(&half.bytes), "{}", String::from_utf8_lossy(&taken.bytes));
    assert!(taken.live_after.is_some_and(|at| at >= half.bytes.len()));
    let words: Vec<u8> = ["one", "two", "three", "four", "five", "six"]
        .iter()
        .flat_map(|it| format!("got {it}\n").into_bytes())
        .collect();
    let got = String::from_utf8(taken.bytes).unwrap();
    let got: String =
        got.lines().filter(|line| line.starts_with("got")).map(|line| format!("{line}\n")).collect();
    assert_eq!(got.as_bytes(), words);
    assert_eq!(second.open(run(root.path(), "a", "")).await.unwrap().opened().given.len(), 5);
    // Kept until it is forgotten.
    let (_, once_more) = to_end(second.open(run(root.path(), "a", "")).await.unwrap()).await;
    assert_eq!(String::from_utf8_lossy(&once_more.bytes).lines().count(), 18);
    second.forget("a").await.unwrap();
    assert!(second.runs().await.unwrap().is_empty());
}

#[tokio::test]
async fn without_patience_a_program_ends_within_two_seconds_and_the_keeper_leaves() {
    let root = root();
    let engine = keeper(root.path(), 1, Duration::ZERO);
    let session = engine
        .open(run(root.path(), "b", "trap '' TERM; (setsid sleep 100 &) ; while :; do sleep 1; done"))
        .await
        .unwrap();
    assert!(session.opened().is_new);
    let pid = keeper_pid(root.path());
    engine.leave_running();
    drop(session);
    drop(engine);
    gone(root.path(), "b", Duration::from_secs(2)).await;
    // What it came to may still be asked for: the keeper waits for that.
    let next = keeper(root.path(), 2, Duration::ZERO);
    let (finished, _) = to_end(next.open(run(root.path(), "b", "")).await.unwrap()).await;
    assert!(finished.unwrap().cancelled);
    next.forget("b").await.unwrap();
    drop(next);
    if let Some(serves) = ProcessIdentity::of(u32::try_from(pid).unwrap()) {
        tokio::time::timeout(Duration::from_secs(5), serves.ended())
            .await
            .expect("the keeper stays")
            .unwrap();
    }
    assert!(!root.path().join("keeper/socket").exists());
}

#[tokio::test]
async fn of_a_keeper_that_is_killed_nothing_is_left_and_its_programs_are_lost() {
    let root = root();
    let engine = keeper(root.path(), 1, LONG);
    let script = "(setsid sleep 100 &); echo begun; sleep 100";
    let session = engine.open(run(root.path(), "c", script)).await.unwrap();
    let (seen, mut told) = mpsc::unbounded_channel();
    let mut taken = Taken { seen: Some(seen), ..Taken::default() };
    let stop = CancellationToken::new();
    let kill = async {
        told.recv().await;
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(keeper_pid(root.path())),
            nix::sys::signal::Signal::SIGKILL,
        )
        .unwrap();
        std::future::pending::<()>().await;
    };
    let finished = tokio::select! {
        finished = session.run(&stop, &mut taken) => finished,
        () = kill => unreachable!(),
    };
    assert!(matches!(finished, Err(KeepError::Lost { .. })), "{finished:?}");
    assert_eq!(alive(root.path(), "c"), 0);
    assert_eq!(taken.bytes, b"begun\n");
    // It is not there to be gone on with, and the next one starts anew.
    let mut again = run(root.path(), "c", "echo never");
    again.goes_on = true;
    assert!(matches!(engine.open(again).await, Err(KeepError::Lost { .. })));
    let (finished, taken) = to_end(engine.open(run(root.path(), "c", "echo anew")).await.unwrap()).await;
    assert_eq!((finished.unwrap().exit, taken.bytes.as_slice()), (Exit::Code(0), b"anew\n".as_slice()));
}

#[tokio::test]
async fn keeper_that_comes_after_a_killed_one_ends_what_that_one_left() {
    let root = root();
    let engine = keeper(root.path(), 1, LONG);
    let session = engine.open(run(root.path(), "d", "sleep 100")).await.unwrap();
    engine.leave_running();
    drop(session);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(keeper_pid(root.path())),
        nix::sys::signal::Signal::SIGKILL,
    )
    .unwrap();
    // A program that is just being started has no mark for a moment.
    let begun = Instant::now();
    while alive(root.path(), "d") == 0 {
        assert!(begun.elapsed() < Duration::from_secs(10), "it goes on without its keeper");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let next = keeper(root.path(), 2, LONG);
    let (finished, _) = to_end(next.open(run(root.path(), "other", "true")).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    assert_eq!(alive(root.path(), "d"), 0);
}

#[tokio::test]
async fn engine_that_was_started_earlier_is_refused() {
    let root = root();
    let (old, new) = (keeper(root.path(), 1, LONG), keeper(root.path(), 2, LONG));
    let mut session = old.open(run(root.path(), "e", "sleep 100")).await.unwrap();
    assert!(session.opened().is_new);
    let taken_over = new.open(run(root.path(), "e", "")).await.unwrap();
    assert!(!taken_over.opened().is_new);
    let refused = old.open(run(root.path(), "f", "true")).await.unwrap_err();
    assert!(
        matches!(&refused, KeepError::NoKeeper { source, .. } if source.to_string().contains("started later")),
        "{refused:?}"
    );
    // Whoever followed before is not told any more, and may not end it.
    session.notes().set_waiting(true);
    session = match session.run(&CancellationToken::new(), &mut Taken::default()).await {
        Err(KeepError::NoKeeper { .. }) => taken_over,
        other => panic!("{other:?}"),
    };
    assert!(alive(root.path(), "e") > 0);
    drop(session);
    gone(root.path(), "e", Duration::from_secs(5)).await;
}

#[tokio::test]
async fn limit_is_told_and_reached_without_an_engine_too() {
    let root = root();
    let limits = Limits { silence: Some(Duration::from_millis(300)), wall_clock: None };
    let engine = keeper(root.path(), 1, LONG);
    let mut quiet = run(root.path(), "g", "echo once; sleep 100");
    quiet.limits = limits;
    let session = engine.open(quiet).await.unwrap();
    engine.leave_running();
    drop(session);
    drop(engine);
    tokio::time::sleep(Duration::from_millis(600)).await;
    let next = keeper(root.path(), 2, LONG);
    let session = next.open(run(root.path(), "g", "")).await.unwrap();
    let stop = CancellationToken::new();
    let mut taken = Taken { stop_at_limit: Some(stop.clone()), ..Taken::default() };
    let finished = session.run(&stop, &mut taken).await.unwrap();
    assert_eq!((finished.cancelled, taken.limits), (true, vec![LimitHit::Silence]));
}

#[tokio::test]
async fn output_is_whole_however_often_its_reader_goes() {
    let root = root();
    let script = "i=0; while [ $i -lt 60 ]; do head -c 500000 /dev/zero | tr '\\0' a; echo; i=$((i+1)); done; seq 1 20000";
    let all: Vec<u8> = std::iter::repeat_n([vec![b'a'; 500_000], vec![b'\n']].concat(), 60)
        .flatten()
        .chain((1..=20_000).flat_map(|n| format!("{n}\n").into_bytes()))
        .collect();
    let mut engine = keeper(root.path(), 1, LONG);
    for round in 1..=6_u64 {
        let session = engine.open(run(root.path(), "h", script)).await.unwrap();
        assert_eq!(session.opened().is_new, round == 1);
        engine.leave_running();
        let taken = until(session, usize::try_from(round).unwrap() * 3_000_000).await;
        assert!(all.starts_with(&taken.bytes));
        engine = keeper(root.path(), round + 1, LONG);
    }
    let (finished, taken) = to_end(engine.open(run(root.path(), "h", script)).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    assert!(taken.bytes == all, "{} of {} bytes", taken.bytes.len(), all.len());
}

#[tokio::test]
async fn program_that_reads_nothing_is_stopped_all_the_same() {
    let root = root();
    let engine = keeper(root.path(), 1, LONG);
    let mut deaf = run(root.path(), "i", "sleep 100");
    deaf.command.stdin = Stdin::Bytes(vec![b'x'; 1_000_000]);
    let session = engine.open(deaf).await.unwrap();
    let stop = CancellationToken::new();
    let begun = Instant::now();
    let fires = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.cancel();
        std::future::pending::<()>().await;
    };
    let mut taken = Taken::default();
    let finished = tokio::select! {
        finished = session.run(&stop, &mut taken) => finished.unwrap(),
        () = fires => unreachable!(),
    };
    assert!(finished.cancelled && begun.elapsed() < Duration::from_secs(5), "{finished:?}");
}

#[tokio::test]
async fn whole_input_that_was_given_is_not_given_again() {
    let root = root();
    let whole = || {
        let mut reads = run(root.path(), "w", "cat; echo end; sleep 1");
        reads.command.stdin = Stdin::Bytes(b"in\n".to_vec());
        reads
    };
    let first = keeper(root.path(), 1, LONG);
    let session = first.open(whole()).await.unwrap();
    first.leave_running();
    until(session, b"in\n".len()).await;
    drop(first);
    let second = keeper(root.path(), 2, LONG);
    let (finished, taken) = to_end(second.open(whole()).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    assert_eq!(taken.bytes, b"in\nend\n");
}

#[tokio::test]
async fn program_that_is_not_there_is_named() {
    let root = root();
    let engine = keeper(root.path(), 1, LONG);
    let mut missing = run(root.path(), "j", "");
    missing.command.program = "no-such-program".into();
    let (finished, _) = to_end(engine.open(missing).await.unwrap()).await;
    assert!(
        matches!(finished, Err(KeepError::Run(ExecError::NoProgram { program, .. })) if program == "no-such-program")
    );
}

#[tokio::test]
async fn keeper_that_greets_and_then_hangs_is_an_error_in_time() {
    let root = root();
    // The greeting as a keeper frames it, from a keeper that is there for a moment.
    let engine = keeper(root.path(), 1, Duration::ZERO);
    let (finished, _) = to_end(engine.open(run(root.path(), "l", "true")).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    let welcome = {
        let mut stream = UnixStream::connect(root.path().join("keeper/socket")).await.unwrap();
        // Tag 0, `Hello`, the protocol, epoch 1.
        stream.write_all(&[0, 0, 0, 4, 0, 0, u8::try_from(PROTOCOL).unwrap(), 1]).await.unwrap();
        let length = stream.read_u32().await.unwrap();
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
        [length.to_be_bytes().to_vec(), frame].concat()
    };
    let other = root.path().join("other");
    std::fs::create_dir_all(other.join("keeper")).unwrap();
    let listener = UnixListener::bind(other.join("keeper/socket")).unwrap();
    let hangs = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(&welcome).await.unwrap();
            all.push(stream);
        }
    });
    let engine = keeper(&other, 1, Duration::ZERO);
    let begun = Instant::now();
    let (runs, forgotten) = tokio::join!(engine.runs(), engine.forget("l"));
    hangs.abort();
    assert_eq!([runs.unwrap_err().kind(), forgotten.unwrap_err().kind()], [ErrorKind::TimedOut; 2]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn engine_that_keeps_programs_itself_follows_them_the_same_way() {
    let root = root();
    let engine = Keeper::new(root.path().join("keeper"), Place::Within, 1, LONG);
    assert!(!engine.outlives_engine());
    let mut given = run(root.path(), "k", "cat; echo end");
    given.command.stdin = Stdin::Bytes(b"in\n".to_vec());
    let (finished, taken) = to_end(engine.open(given).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    assert_eq!(taken.bytes, b"in\nend\n");
    assert!(!root.path().join("keeper/socket").exists());
}

#[tokio::test]
async fn kept_program_is_confined_by_its_sandbox() {
    if !sandbox_support().files {
        println!("skipped kept_program_is_confined_by_its_sandbox: the kernel confines no files");
        return;
    }
    let root = root();
    let engine = keeper(root.path(), 1, Duration::ZERO);
    std::fs::create_dir(root.path().join("own")).unwrap();
    std::fs::write(root.path().join("secret"), "secret").unwrap();
    let sandbox = Sandbox {
        writable: vec![root.path().join("own")],
        hidden: vec![root.path().join("secret")],
        ..Sandbox::default()
    };
    let mut given = run(root.path(), "m", "echo in >own/file; cat secret; echo out >file; cat own/file");
    given.command = given.command.sandboxed(sandbox);
    let (finished, taken) = to_end(engine.open(given).await.unwrap()).await;
    assert!(finished.unwrap().is_success());
    let printed = String::from_utf8(taken.bytes).unwrap();
    assert_eq!(printed.matches("Permission denied").count(), 2, "{printed}");
    assert!(printed.contains("in\n") && !root.path().join("file").exists(), "{printed}");
    // What cannot be confined is told as what it is, and not started.
    let mut given = run(root.path(), "n", "echo out >file");
    let relative = Sandbox { hidden: vec!["secret".into()], ..Sandbox::default() };
    given.command = given.command.sandboxed(relative);
    let (finished, _) = to_end(engine.open(given).await.unwrap()).await;
    let Err(KeepError::Run(ExecError::Sandbox { source, .. })) = finished else { panic!("{finished:?}") };
    assert_eq!(source.to_string(), "the path secret of the sandbox is not absolute");
    assert!(!root.path().join("file").exists());
}
