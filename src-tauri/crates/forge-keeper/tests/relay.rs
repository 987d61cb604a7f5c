//! A keeper on another machine, as far as the relay goes: sessions are cut at any time, and nothing is lost or doubled.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Exit, Finished, Stdin, look};
use forge_keeper::{
    BoxedStream, Connector, Greeting, KeepError, Keeper, KeptRun, KeptSink, LimitHit, Mux, Output, PROTOCOL,
    Place,
};
use forge_machines_testkit::kept_script;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Child,
    sync::{Mutex, mpsc, watch},
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);

/// Sessions with a machine that is this one.
#[derive(Debug)]
struct Sessions {
    root: PathBuf,
    session: Mutex<Option<(Child, Mux)>>,
    made: AtomicUsize,
}

impl Sessions {
    fn new(root: &Path) -> Arc<Self> {
        let root = root.join("keeper");
        Arc::new(Self { root, session: Mutex::new(None), made: AtomicUsize::new(0) })
    }

    fn keeper(self: &Arc<Self>, epoch: u64, patience: Duration) -> Keeper {
        let way: Arc<dyn Connector> = Arc::clone(self) as _;
        Keeper::new(PathBuf::new(), Place::Far(way), epoch, patience)
    }

    /// Ends the session as a lost connection does.
    async fn cut(&self) {
        if let Some((mut child, _)) = self.session.lock().await.take() {
            let _ = child.kill().await;
        }
    }

    async fn begin(&self) -> io::Result<(Child, Mux)> {
        self.made.fetch_add(1, Ordering::Relaxed);
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_forge-keeper"))
            .arg("relay")
            .arg(&self.root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line).await?;
        let greeting = Greeting::read(&line).ok_or(io::ErrorKind::InvalidData)?;
        assert_eq!(greeting.protocol, PROTOCOL);
        Ok((child, Mux::new(tokio::io::join(stdout, stdin))))
    }
}

#[async_trait]
impl Connector for Sessions {
    async fn connect(&self) -> io::Result<BoxedStream> {
        let mut session = self.session.lock().await;
        if session.as_ref().is_none_or(|(_, mux)| mux.is_closed()) {
            *session = Some(self.begin().await?);
        }
        let mux = session.as_ref().map(|(_, mux)| mux.clone()).ok_or(io::ErrorKind::NotConnected)?;
        drop(session);
        mux.open().await
    }

    async fn reachable(&self) {}
}

fn run(root: &Path, id: &str, script: &str) -> KeptRun {
    kept_script(id, root.display(), root, script)
}

fn alive(root: &Path, id: &str) -> usize {
    look().get(&format!("{id}-{}", root.display())).map_or(0, Vec::len)
}

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn root() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    seen: Option<mpsc::UnboundedSender<usize>>,
}

#[async_trait]
impl KeptSink for Taken {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        self.bytes.extend_from_slice(output.bytes);
        if let Some(seen) = &self.seen {
            let _ = seen.send(self.bytes.len());
        }
        Ok(())
    }

    async fn limit(&mut self, hit: LimitHit) {
        self.bytes.extend_from_slice(format!("limit {hit:?}\n").as_bytes());
    }

    async fn live(&mut self) {}
}

/// Runs to the end while `meanwhile` goes on, which learns how much was printed so far.
async fn with(
    session: forge_keeper::Session,
    meanwhile: impl AsyncFnOnce(mpsc::UnboundedReceiver<usize>),
) -> (Result<Finished, KeepError>, Vec<u8>) {
    let (seen, told) = mpsc::unbounded_channel();
    let mut taken = Taken { seen: Some(seen), ..Taken::default() };
    let stop = CancellationToken::new();
    let finished = {
        let follow = session.run(&stop, &mut taken);
        let act = async {
            meanwhile(told).await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            finished = follow => finished,
            () = act => unreachable!(),
        }
    };
    (finished, taken.bytes)
}

#[tokio::test]
async fn session_that_is_cut_again_and_again_loses_and_doubles_nothing() {
    let root = root();
    let machine = Sessions::new(root.path());
    let engine = machine.keeper(1, LONG);
    // Each line that is read is answered, between lines of a stream that never rests.
    let script = "(i=0; while [ $i -lt 40000 ]; do echo line $i; i=$((i+1)); done) & \
                  while read word; do echo got $word; done; wait";
    let mut started = run(root.path(), "a", script);
    let (input, stdin) = mpsc::channel(1);
    started.command.stdin = Stdin::Stream(stdin);
    let session = engine.open(started).await.unwrap();
    assert!(session.opened().is_new);
    let notes = session.notes();
    let (finished, printed) = with(session, async |mut told| {
        for n in 0..200 {
            notes.note(format!("note {n}").into_bytes());
            input.send(format!("word{n}\n").into_bytes()).await.unwrap();
            if n % 3 == 0 {
                // Something came by this session, and some of it is under way.
                told.recv().await;
                while told.try_recv().is_ok() {}
                machine.cut().await;
            }
        }
        drop(input);
    })
    .await;
    assert_eq!(finished.unwrap().exit, Exit::Code(0));
    let printed = String::from_utf8(printed).unwrap();
    let (got, lines): (Vec<&str>, Vec<&str>) = printed.lines().partition(|line| line.starts_with("got"));
    let expected: Vec<String> = (0..40_000).map(|n| format!("line {n}")).collect();
    assert!(lines == expected, "{} lines", lines.len());
    let words: Vec<String> = (0..200).map(|n| format!("got word{n}")).collect();
    assert_eq!(got, words);
    assert!(machine.made.load(Ordering::Relaxed) > 60, "{:?}", machine.made);
    let again = engine.open(run(root.path(), "a", "")).await.unwrap();
    let notes: Vec<Vec<u8>> = (0..200).map(|n| format!("note {n}").into_bytes()).collect();
    assert_eq!(again.opened().notes, notes);
    drop(again);
    engine.forget("a").await.unwrap();
}

#[tokio::test]
async fn engine_that_comes_back_is_there_again() {
    let root = root();
    let machine = Sessions::new(root.path());
    // Without an engine everything ends at once.
    let engine = machine.keeper(1, Duration::from_millis(700));
    let session = engine.open(run(root.path(), "b", "echo begun; sleep 2; echo end")).await.unwrap();
    let (finished, printed) = with(session, async |mut told| {
        told.recv().await;
        machine.cut().await;
    })
    .await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed, b"begun\nend\n");
    engine.forget("b").await.unwrap();
}

#[tokio::test]
async fn stream_of_a_session_that_nobody_needs_any_more_ends() {
    let root = root();
    let machine = Sessions::new(root.path());
    let mut stream = machine.connect().await.unwrap();
    // Dropped while its relay still runs.
    let Some((child, mux)) = machine.session.lock().await.take() else { panic!("no session") };
    drop(mux);
    assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
    drop(child);
}

#[tokio::test]
async fn relay_says_which_protocol_a_keeper_of_another_version_speaks() {
    let root = root();
    let machine = Sessions::new(root.path());
    std::fs::create_dir(&machine.root).unwrap();
    let listener = tokio::net::UnixListener::bind(machine.root.join("socket")).unwrap();
    let other = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        // `Refused`, `Protocol`, its number.
        stream.write_all(&[0, 0, 0, 4, 0, 1, 0, 99]).await.unwrap();
        stream
    });
    let done = tokio::process::Command::new(env!("CARGO_BIN_EXE_forge-keeper"))
        .arg("relay")
        .arg(&machine.root)
        .stdin(Stdio::null())
        .output()
        .await
        .unwrap();
    let greeting = Greeting::read(&String::from_utf8(done.stdout).unwrap()).unwrap();
    assert_eq!(greeting.protocol, 99);
    drop(other);
}

#[tokio::test]
async fn program_is_lost_only_when_a_keeper_that_follows_says_so() {
    let root = root();
    let machine = Sessions::new(root.path());
    let engine = machine.keeper(1, LONG);
    let session =
        engine.open(run(root.path(), "c", "(setsid sleep 100 &); echo begun; sleep 100")).await.unwrap();
    let (finished, printed) = with(session, async |mut told| {
        told.recv().await;
        let serves = format!("serve\0{}\0", root.path().join("keeper").display());
        for (pid, line) in std::fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse::<i32>().ok()?;
            Some((pid, std::fs::read(format!("/proc/{pid}/cmdline")).ok()?))
        }) {
            if line.ends_with(serves.as_bytes()) {
                let pid = nix::unistd::Pid::from_raw(pid);
                nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
            }
        }
    })
    .await;
    assert!(matches!(finished, Err(KeepError::Lost { .. })), "{finished:?}");
    assert_eq!((printed.as_slice(), alive(root.path(), "c")), (b"begun\n".as_slice(), 0));
}

/// A connector whose streams break before the first answer comes.
#[derive(Debug)]
struct LosesAnswers {
    machine: Arc<Sessions>,
    left: AtomicUsize,
}

#[async_trait]
impl Connector for LosesAnswers {
    async fn connect(&self) -> io::Result<BoxedStream> {
        let stream = self.machine.connect().await?;
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err() {
            return Ok(stream);
        }
        // What is asked arrives; of what is answered only the greeting comes back.
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let (mut from_engine, mut to_engine) = tokio::io::split(theirs);
            let (mut from_keeper, mut to_keeper) = tokio::io::split(stream);
            let answers = async {
                let length = from_keeper.read_u32().await?;
                to_engine.write_u32(length).await?;
                tokio::io::copy(&mut (&mut from_keeper).take(u64::from(length)), &mut to_engine).await?;
                // Not told: what comes next.
                from_keeper.read_u8().await
            };
            tokio::select! {
                _ = tokio::io::copy(&mut from_engine, &mut to_keeper) => {}
                _ = answers => {}
            }
        });
        Ok(Box::new(ours))
    }

    async fn reachable(&self) {}
}

#[tokio::test]
async fn start_whose_answer_is_lost_starts_once() {
    let root = root();
    let machine = Sessions::new(root.path());
    let script = "echo started >> starts; cat starts";
    // The greeting of the lease comes whole.
    let leased = machine.keeper(1, LONG);
    leased.runs().await.unwrap();
    let way: Arc<dyn Connector> =
        Arc::new(LosesAnswers { machine: Arc::clone(&machine), left: AtomicUsize::new(0) });
    let engine = Keeper::new(PathBuf::new(), Place::Far(way), 1, LONG);
    engine.runs().await.unwrap();
    let way = LosesAnswers { machine: Arc::clone(&machine), left: AtomicUsize::new(4) };
    let loses = Keeper::new(PathBuf::new(), Place::Far(Arc::new(way)), 1, LONG);
    // The first answer that is lost is that to the lease: nothing was started.
    let refused = loses.open(run(root.path(), "d", script)).await.unwrap_err();
    assert!(matches!(refused, KeepError::NoKeeper { .. }), "{refused:?}");
    assert!(engine.runs().await.unwrap().is_empty());
    let loses = {
        let way = Arc::new(LosesAnswers { machine: Arc::clone(&machine), left: AtomicUsize::new(0) });
        let keeper = Keeper::new(PathBuf::new(), Place::Far(Arc::clone(&way) as _), 1, LONG);
        keeper.set_patience(LONG).await.unwrap();
        way.left.store(3, Ordering::Relaxed);
        keeper
    };
    let session = loses.open(run(root.path(), "d", script)).await.unwrap();
    let (finished, printed) = with(session, async |_| {}).await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed, b"started\n");
    engine.forget("d").await.unwrap();
}

/// A machine that can be reached at times.
#[derive(Debug)]
struct Away {
    machine: Arc<Sessions>,
    is_there: watch::Receiver<bool>,
    /// Bumped when somebody waits for it.
    waits: watch::Sender<usize>,
}

impl Away {
    fn new(machine: &Arc<Sessions>, is_there: watch::Receiver<bool>) -> Self {
        Self { machine: Arc::clone(machine), is_there, waits: watch::Sender::new(0) }
    }
}

#[async_trait]
impl Connector for Away {
    async fn connect(&self) -> io::Result<BoxedStream> {
        if *self.is_there.borrow() {
            self.machine.connect().await
        } else {
            Err(io::ErrorKind::HostUnreachable.into())
        }
    }

    async fn reachable(&self) {
        self.waits.send_modify(|waits| *waits += 1);
        let _ = self.is_there.clone().wait_for(|is_there| *is_there).await;
    }
}

#[tokio::test]
async fn what_is_noted_and_fed_while_a_machine_is_away_arrives_when_it_is_back() {
    let root = root();
    let machine = Sessions::new(root.path());
    let (there, is_there) = watch::channel(true);
    let way = Away::new(&machine, is_there);
    let engine = Keeper::new(PathBuf::new(), Place::Far(Arc::new(way)), 1, LONG);
    let mut reads = run(root.path(), "f", "echo begun; while read word; do echo got $word; done");
    let (input, stdin) = mpsc::channel(4);
    reads.command.stdin = Stdin::Stream(stdin);
    // The limit stands still while somebody is asked.
    reads.limits.silence = Some(Duration::from_millis(1500));
    let session = engine.open(reads).await.unwrap();
    let notes = session.notes();
    notes.note(b"before".to_vec());
    let (finished, printed) = with(session, async |mut told| {
        told.recv().await;
        there.send_replace(false);
        machine.cut().await;
        for n in 0..3 {
            notes.note(format!("away {n}").into_bytes());
            input.send(format!("{n}\n").into_bytes()).await.unwrap();
        }
        notes.set_waiting(true);
        tokio::time::sleep(Duration::from_millis(500)).await;
        there.send_replace(true);
        tokio::time::sleep(Duration::from_millis(1800)).await;
        drop(input);
    })
    .await;
    let finished = finished.unwrap();
    assert!(finished.is_success() && !finished.cancelled, "{finished:?}");
    assert_eq!(printed, b"begun\ngot 0\ngot 1\ngot 2\n");
    let again = engine.open(run(root.path(), "f", "")).await.unwrap();
    let notes: Vec<&[u8]> = again.opened().notes.iter().map(Vec::as_slice).collect();
    assert_eq!(notes, [b"before".as_slice(), b"away 0", b"away 1", b"away 2"]);
    drop(again);
    engine.forget("f").await.unwrap();
}

#[tokio::test]
async fn run_that_goes_on_waits_for_its_machine() {
    let root = root();
    let machine = Sessions::new(root.path());
    let first = machine.keeper(1, LONG);
    let session = first.open(run(root.path(), "e", "echo begun; sleep 1; echo end")).await.unwrap();
    first.leave_running();
    drop(session);
    drop(first);
    machine.cut().await;
    let (there, is_there) = watch::channel(false);
    let way = Away::new(&machine, is_there);
    let mut waited_for = way.waits.subscribe();
    let second = Keeper::new(PathBuf::new(), Place::Far(Arc::new(way)), 2, LONG);
    assert_eq!(second.runs().await.unwrap_err().kind(), io::ErrorKind::HostUnreachable);
    let refused = second.open(run(root.path(), "new", "true")).await.unwrap_err();
    assert!(matches!(refused, KeepError::NoKeeper { .. }), "{refused:?}");
    let mut goes_on = run(root.path(), "e", "");
    goes_on.goes_on = true;
    let returns = async {
        waited_for.wait_for(|waits| *waits > 0).await.unwrap();
        there.send_replace(true);
    };
    let (session, ()) = tokio::join!(second.open(goes_on), returns);
    let (finished, printed) = with(session.unwrap(), async |_| {}).await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed, b"begun\nend\n");
    second.forget("e").await.unwrap();
}
