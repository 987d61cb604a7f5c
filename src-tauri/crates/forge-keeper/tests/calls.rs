//! Calls of tools by programs that a keeper runs: each is answered once, whatever happens to connections and engines.

use std::{
    io,
    net::Shutdown,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Exit, Finished, Sandbox, Stdin, Stream, sandbox_support};
use forge_keeper::{
    BoxedStream, CallAnswerer, Connector, KeepError, Keeper, KeptRun, KeptSink, LimitHit, Limits, Output,
    Place, SECRET_VARIABLE, Secret, Tools,
};
use forge_machines_testkit::kept_script;
use tempfile::TempDir;
use tokio::{
    net::UnixStream,
    sync::{Semaphore, mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

const LONG: Duration = Duration::from_secs(600);
const PROGRAM: &str = env!("CARGO_BIN_EXE_forge-keeper");
const SECRET: &str = "run_secret";

#[expect(clippy::expect_used, reason = "a helper of a test")]
fn root() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn starting(root: &Path, epoch: u64) -> Keeper {
    Keeper::new(root.join("keeper"), Place::Program(PROGRAM.into()), epoch, LONG)
}

/// Connections with a keeper of this computer, as if it were another one.
#[derive(Debug)]
struct Line {
    socket: PathBuf,
    open: Mutex<Vec<std::os::unix::net::UnixStream>>,
    is_up: watch::Sender<bool>,
}

impl Line {
    fn new(root: &Path) -> Arc<Self> {
        let socket = root.join("keeper/socket");
        Arc::new(Self { socket, open: Mutex::default(), is_up: watch::Sender::new(true) })
    }

    fn keeper(self: &Arc<Self>, epoch: u64) -> Keeper {
        let way: Arc<dyn Connector> = Arc::clone(self) as _;
        Keeper::new(PathBuf::new(), Place::Far(way), epoch, LONG)
    }

    /// Every connection breaks, and none can be made until the line is up.
    fn cut(&self) {
        self.is_up.send_replace(false);
        for stream in self.open.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.is_up.send_replace(true);
    }
}

#[async_trait]
impl Connector for Line {
    async fn connect(&self) -> io::Result<BoxedStream> {
        if !*self.is_up.borrow() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let stream = UnixStream::connect(&self.socket).await?.into_std()?;
        let other = stream.try_clone()?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push(other);
        Ok(Box::new(UnixStream::from_std(stream)?))
    }

    async fn reachable(&self) {
        let _ = self.is_up.subscribe().wait_for(|is_up| *is_up).await;
    }
}

/// An engine that answers a call by its name and the call itself, as soon as it is let.
struct Echo {
    name: &'static str,
    begun: watch::Sender<usize>,
    done: AtomicUsize,
    lets: Semaphore,
}

impl Echo {
    fn new(name: &'static str, lets: usize) -> Arc<Self> {
        Arc::new(Self {
            name,
            begun: watch::Sender::new(0),
            done: AtomicUsize::new(0),
            lets: Semaphore::new(lets),
        })
    }

    /// Returns when it has begun so many calls.
    async fn begun(&self, calls: usize) {
        let _ = self.begun.subscribe().wait_for(|begun| *begun >= calls).await;
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl CallAnswerer for Echo {
    async fn answer(&self, _: u64, call: &[u8]) -> Option<Vec<u8>> {
        self.begun.send_modify(|begun| *begun += 1);
        self.lets.acquire().await.ok()?.forget();
        self.done.fetch_add(1, Ordering::Relaxed);
        let call = String::from_utf8_lossy(call).into_owned();
        (!call.starts_with("note")).then(|| format!("{} {call}", self.name).into_bytes())
    }

    fn unknown(&self, call: &[u8]) -> Option<Vec<u8>> {
        Some(format!("{} unknown {}", self.name, String::from_utf8_lossy(call)).into_bytes())
    }
}

fn taking(keeper: Keeper, echo: &Arc<Echo>) -> JoinHandle<()> {
    let echo: Arc<dyn CallAnswerer> = Arc::clone(echo) as _;
    tokio::spawn(async move { keeper.take_calls("r", "t", echo).await })
}

/// A program that calls, as an agent's own `forge-keeper mcp` does.
struct Agent {
    input: mpsc::Sender<Vec<u8>>,
    lines: mpsc::UnboundedReceiver<String>,
    ended: JoinHandle<(Result<Finished, KeepError>, Told)>,
    stop: CancellationToken,
}

struct Told {
    lines: mpsc::UnboundedSender<String>,
    out: Vec<u8>,
    err: String,
    limits: Vec<LimitHit>,
}

#[async_trait]
impl KeptSink for Told {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        if output.stream == Stream::Stderr {
            self.err += &String::from_utf8_lossy(output.bytes);
            return Ok(());
        }
        self.out.extend_from_slice(output.bytes);
        while let Some(end) = self.out.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.out.drain(..=end).collect();
            let _ = self.lines.send(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
        Ok(())
    }

    async fn limit(&mut self, hit: LimitHit) {
        self.limits.push(hit);
    }

    async fn live(&mut self) {}
}

fn calling(root: &Path, id: &str, secret: &str) -> KeptRun {
    let script = format!("exec {PROGRAM} mcp {}", root.join("keeper").display());
    let mut run = kept_script(id, root.display(), root, &script);
    run.command.env.push((SECRET_VARIABLE.into(), secret.into()));
    run.tools = Some(Tools { run: "r".to_owned(), secret: Secret(SECRET.to_owned()) });
    run
}

impl Agent {
    #[expect(clippy::expect_used, reason = "a helper of a test")]
    async fn start(keeper: &Keeper, mut run: KeptRun) -> Self {
        let (input, stdin) = mpsc::channel(8);
        run.command.stdin = Stdin::Stream(stdin);
        let session = keeper.open(run).await.expect("it starts");
        let (sender, lines) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let ended = tokio::spawn(async move {
            let mut told = Told { lines: sender, out: Vec::new(), err: String::new(), limits: Vec::new() };
            let finished = session.run(&stopping, &mut told).await;
            (finished, told)
        });
        Self { input, lines, ended, stop }
    }

    #[expect(clippy::expect_used, reason = "a helper of a test")]
    async fn call(&self, text: &str) {
        self.input.send(format!("{text}\n").into_bytes()).await.expect("it reads");
    }

    #[expect(clippy::expect_used, reason = "a helper of a test")]
    async fn line(&mut self) -> String {
        tokio::time::timeout(Duration::from_secs(60), self.lines.recv())
            .await
            .expect("an answer in time")
            .expect("an answer")
    }

    /// Closes its input and waits for its end.
    #[expect(clippy::expect_used, reason = "a helper of a test")]
    async fn end(self) -> (Exit, Told) {
        drop(self.input);
        let (finished, told) = self.ended.await.expect("it is followed");
        (finished.expect("it ends").exit, told)
    }
}

#[tokio::test]
async fn call_is_answered_and_a_notification_is_not() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let mut agent = Agent::start(&keeper, calling(root.path(), "a", SECRET)).await;
    let echo = Echo::new("one", 100);
    let taker = taking(keeper.clone(), &echo);
    agent.call("first").await;
    assert_eq!(agent.line().await, "one first");
    for text in ["note", "second", "", "third"] {
        agent.call(text).await;
    }
    let mut lines = [agent.line().await, agent.line().await];
    lines.sort();
    assert_eq!(lines, ["one second", "one third"]);
    let (exit, told) = agent.end().await;
    assert_eq!((exit, told.err.as_str()), (Exit::Code(0), ""));
    assert_eq!(echo.done(), 4);
    taker.abort();
}

#[tokio::test]
async fn call_waits_for_an_engine_and_its_time_counts_in_no_limit() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let mut run = calling(root.path(), "a", SECRET);
    run.limits = Limits { wall_clock: None, silence: Some(Duration::from_secs(2)) };
    let mut agent = Agent::start(&keeper, run).await;
    agent.call("early").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let echo = Echo::new("one", 100);
    let taker = taking(keeper.clone(), &echo);
    assert_eq!(agent.line().await, "one early");
    let (exit, told) = agent.end().await;
    assert_eq!((exit, told.limits), (Exit::Code(0), Vec::new()));
    taker.abort();
}

#[tokio::test]
async fn call_whose_connection_broke_is_done_once_and_answered_by_the_same_engine() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let mut agent = Agent::start(&keeper, calling(root.path(), "a", SECRET)).await;
    let line = Line::new(root.path());
    let echo = Echo::new("far", 0);
    let taker = taking(line.keeper(1), &echo);
    agent.call("worked-on").await;
    echo.begun(1).await;
    // Cut in the middle of the work, which ends while nobody can be told.
    line.cut();
    echo.lets.add_permits(1);
    while echo.done() < 1 {
        tokio::task::yield_now().await;
    }
    agent.call("meanwhile").await;
    echo.lets.add_permits(1);
    line.mend();
    let mut lines = [agent.line().await, agent.line().await];
    lines.sort();
    assert_eq!(lines, ["far meanwhile", "far worked-on"]);
    // Cut again: what was answered is not offered any more.
    line.cut();
    line.mend();
    agent.call("last").await;
    echo.lets.add_permits(1);
    assert_eq!(agent.line().await, "far last");
    assert_eq!((echo.done(), *echo.begun.borrow()), (3, 3));
    assert_eq!(agent.end().await.0, Exit::Code(0));
    taker.abort();
}

#[tokio::test]
async fn call_that_another_engine_had_is_not_done_again() {
    let root = root();
    let first = starting(root.path(), 1);
    let mut agent = Agent::start(&first, calling(root.path(), "a", SECRET)).await;
    let killed = Echo::new("one", 0);
    let taker = taking(first.clone(), &killed);
    agent.call("begun").await;
    killed.begun(1).await;
    taker.abort();
    let _ = taker.await;
    let second = starting(root.path(), 2);
    let echo = Echo::new("two", 100);
    // What nobody was told of is simply done.
    agent.call("new").await;
    let taker = taking(second.clone(), &echo);
    let mut lines = [agent.line().await, agent.line().await];
    lines.sort();
    assert_eq!(lines, ["two new", "two unknown begun"]);
    assert_eq!((killed.done(), echo.done()), (0, 1));
    // The earlier one does not get them back.
    let late = Echo::new("late", 100);
    first.take_calls("r", "t", Arc::clone(&late) as _).await;
    agent.call("after").await;
    assert_eq!(agent.line().await, "two after");
    taker.abort();
}

#[tokio::test]
async fn program_without_the_secret_of_its_run_calls_nothing() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let _other = Agent::start(&keeper, calling(root.path(), "other", SECRET)).await;
    for secret in ["run_other", ""] {
        let id = format!("a{}", secret.len());
        let (exit, told) = Agent::start(&keeper, calling(root.path(), &id, secret)).await.end().await;
        assert_eq!(exit, Exit::Code(1));
        assert!(told.err.contains("the run of this program has ended"), "{}", told.err);
    }
}

#[tokio::test]
async fn run_that_ended_takes_no_calls() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let agent = Agent::start(&keeper, calling(root.path(), "a", SECRET)).await;
    let call = async || {
        let mut command = tokio::process::Command::new(PROGRAM);
        command.arg("mcp").arg(root.path().join("keeper")).env(SECRET_VARIABLE, SECRET);
        let output = command.stdin(std::process::Stdio::null()).output().await.unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(call().await, (true, String::new()), "it runs");
    agent.stop.cancel();
    agent.end().await;
    let (is_served, why) = call().await;
    assert!(!is_served && why.contains("the run of this program has ended"), "{why}");
}

#[tokio::test]
async fn program_that_is_kept_can_ask_its_keeper_for_nothing_else() {
    let root = root();
    let keeper = starting(root.path(), 1);
    // The relay gives whoever speaks through it all that an engine may ask.
    let script = format!("exec {PROGRAM} relay {}", root.path().join("keeper").display());
    let mut run = kept_script("a", root.path().display(), root.path(), &script);
    run.tools = Some(Tools { run: "r".to_owned(), secret: Secret(SECRET.to_owned()) });
    let (input, stdin) = mpsc::channel(8);
    run.command.stdin = Stdin::Stream(stdin);
    let session = keeper.open(run).await.unwrap();
    let (through, other) = tokio::io::duplex(64 * 1024);
    let (mut read, mut write) = tokio::io::split(other);
    tokio::spawn(async move {
        let mut buffer = vec![0; 4096];
        while let Ok(length @ 1..) = tokio::io::AsyncReadExt::read(&mut read, &mut buffer).await {
            if input.send(buffer[..length].to_vec()).await.is_err() {
                return;
            }
        }
    });
    let (printed, mut prints) = mpsc::unbounded_channel::<Vec<u8>>();
    let following = tokio::spawn(async move {
        let mut sink = Raw(printed);
        session.run(&CancellationToken::new(), &mut sink).await
    });
    let mut greeting = Vec::new();
    while !greeting.contains(&b'\n') {
        greeting.extend(prints.recv().await.unwrap());
    }
    tokio::spawn(async move {
        while let Some(bytes) = prints.recv().await {
            if tokio::io::AsyncWriteExt::write_all(&mut write, &bytes).await.is_err() {
                return;
            }
        }
    });
    let inside =
        Keeper::new(PathBuf::new(), Place::Far(Arc::new(Through(forge_keeper::Mux::new(through)))), 1, LONG);
    let refused = inside.sandbox_support().await.unwrap_err();
    assert!(refused.to_string().contains("may call tools, and nothing else"), "{refused}");
    following.abort();
}

struct Raw(mpsc::UnboundedSender<Vec<u8>>);

#[async_trait]
impl KeptSink for Raw {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        let _ = self.0.send(output.bytes.to_vec());
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

#[derive(Debug)]
struct Through(forge_keeper::Mux);

#[async_trait]
impl Connector for Through {
    async fn connect(&self) -> io::Result<BoxedStream> {
        self.0.open().await
    }

    async fn reachable(&self) {}
}

#[tokio::test]
async fn calls_take_bounded_room_and_none_is_lost() {
    let root = root();
    let keeper = starting(root.path(), 1);
    let mut agent = Agent::start(&keeper, calling(root.path(), "a", SECRET)).await;
    // Twenty mebibytes without an engine: the program waits at eight.
    let large = "x".repeat(1024 * 1024);
    let sending = {
        let (input, large) = (agent.input.clone(), large.clone());
        tokio::spawn(async move {
            for n in 0..20 {
                let _ = input.send(format!("{n} {large}\n").into_bytes()).await;
            }
        })
    };
    let echo = Echo::new("one", 100);
    let taker = taking(keeper.clone(), &echo);
    let mut answered = Vec::new();
    for _ in 0..20 {
        answered.push(agent.line().await.len());
    }
    sending.await.unwrap();
    assert!(answered.iter().all(|length| *length > large.len()), "{answered:?}");
    // One that is longer than a call may be ends the program, with the reason.
    for _ in 0..5 {
        agent.input.send(large.clone().into_bytes()).await.unwrap();
    }
    let (exit, told) = agent.end().await;
    assert_eq!(exit, Exit::Code(1));
    assert!(told.err.contains("a call is longer than 4 MiB"), "{}", told.err);
    taker.abort();
}

#[tokio::test]
async fn confined_program_calls_although_the_keepers_folder_is_hidden_and_its_path_is_long() {
    if !sandbox_support().files {
        eprintln!("skipped: this kernel has no Landlock");
        return;
    }
    let root = root();
    let deep = root.path().join("d".repeat(60)).join("e".repeat(60));
    std::fs::create_dir_all(&deep).unwrap();
    let keeper = starting(&deep, 1);
    let mut run = calling(&deep, "a", SECRET);
    let tcp = sandbox_support().network.then(Vec::new);
    let hidden = vec![deep.join("keeper")];
    run.command.sandbox = Some(Sandbox { hidden, tcp, ..Sandbox::default() });
    let mut agent = Agent::start(&keeper, run).await;
    let echo = Echo::new("one", 100);
    let taker = taking(keeper.clone(), &echo);
    agent.call("confined").await;
    assert_eq!(agent.line().await, "one confined");
    taker.abort();
}
