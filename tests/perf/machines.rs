//! What the keeper costs on this machine: the start of a program, its output, a question beside a flood, and the
//! keeper itself. It is the real program in its own process, as packages carry it; `cargo xtask bench` builds it so.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use forge_agents::{Control, LogWriter, shell::output_sink};
use forge_exec::{Command, Marker, OutputSink, Stream};
use forge_keeper::{Keeper, KeptRun, KeptSink, LimitHit, Limits, Output};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::{
    measure::{Promise, Row},
    meter::{Peak, processor_time_of, resident_of},
    printer::now_us,
};

/// Starts of a program in a round.
const STARTS: usize = 20;
/// What a loud program prints.
const BYTES: u64 = 50_000_000;
/// Programs of which one floods.
pub const RUNS: usize = 32;
/// What the one prints that floods: more than it is given the time for.
const FLOOD: &str = "20000000000";
/// How long the others ask, in milliseconds.
const ASKS_MS: &str = "4000";
/// How long a keeper with nothing to do is looked at.
const IDLE: Duration = Duration::from_secs(5);
/// Above what is printed.
const CAP_BYTES: u64 = 64 << 30;
/// A place of its own for each program.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The rows of the local keeper.
pub async fn measure(folder: &Path, rounds: usize) -> Result<Vec<Row>> {
    let bench = Bench::new(&folder.join("machines"))?;
    let mut rows = vec![starts(&bench, rounds).await?];
    rows.extend(outputs(&bench, rounds, "").await?);
    let asked = Arc::new(Bench::new(&bench.folder)?);
    let work = format!("{RUNS} runs on one keeper, one of which floods: a line of another seen, 99 of 100");
    rows.push(questions(work, &asked, rounds.min(crate::LONG_ROUNDS)).await?);
    rows.extend(itself(&bench).await?);
    if let Some(disk) = crate::disk() {
        let disk = tempfile::tempdir_in(disk)?;
        let [time, _] = outputs(&Bench::new(disk.path())?, rounds, ", on disk").await?;
        rows.push(Row { promise: Promise::Told, ..time });
    }
    Ok(rows)
}

/// A keeper that is there, and what programs are given.
pub struct Bench {
    folder: PathBuf,
    /// In which programs run.
    place: PathBuf,
    /// This program, which is also one that prints.
    printer: PathBuf,
    keeper: Keeper,
    base: Arc<forge_exec::Variables>,
}

impl Bench {
    fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        Self::of(forge_testkit::keeper(folder)?, folder, folder, &std::env::current_exe()?)
    }

    /// One whose programs run in `place`, which may be on another machine. Logs go to `folder`, here.
    pub fn of(keeper: Keeper, folder: &Path, place: &Path, printer: &Path) -> Result<Self> {
        let base = forge_exec::variables_of(std::env::vars_os());
        let (folder, place, printer) = (folder.to_owned(), place.to_owned(), printer.to_owned());
        Ok(Self { folder, place, printer, keeper, base })
    }

    /// A program with its id.
    pub fn command(&self, program: OsString, args: &[&str]) -> (String, Command) {
        let id = format!("perf-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let command = Command::new(program, &self.place, Marker(id.clone())).args(args);
        (id, command.base(Arc::clone(&self.base)).grace(Duration::from_secs(1)))
    }

    fn printer(&self, how: &str, number: &str) -> (String, Command) {
        self.command(self.printer.clone().into_os_string(), &["print", how, number])
    }

    /// Runs a program by the keeper.
    pub async fn kept(
        &self,
        (id, command): (String, Command),
        stop: &CancellationToken,
        sink: &mut dyn KeptSink,
    ) -> Result<()> {
        let run = KeptRun {
            id: id.clone(),
            task: "t".to_owned(),
            command,
            limits: Limits::default(),
            memo: Vec::new(),
            goes_on: false,
            tools: None,
        };
        let finished = self.keeper.open(run).await?.run(stop, sink).await?;
        ensure!(finished.cancelled || finished.is_success(), "the program failed");
        Ok(self.keeper.forget(&id).await?)
    }

    /// The process that keeps.
    fn keeper_pid(&self) -> Result<u32> {
        let root = self.folder.join("keeper");
        let serves = |pid: u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.ends_with(&[b"serve\0", root.as_os_str().as_encoded_bytes(), b"\0"].concat())
        };
        let all = fs::read_dir("/proc")?;
        let mut pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.find(|pid| serves(*pid)).context("no keeper runs")
    }
}

/// Gives what a program prints that is run directly to what takes it from a keeper.
struct Direct<'s>(&'s mut dyn KeptSink);

#[async_trait]
impl OutputSink for Direct<'_> {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        self.0.output(Output { stream, at_ms, bytes }).await
    }
}

/// When the first byte came.
#[derive(Default)]
pub struct First(pub Option<Instant>);

#[async_trait]
impl KeptSink for First {
    async fn output(&mut self, _: Output<'_>) -> io::Result<()> {
        self.0.get_or_insert_with(Instant::now);
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

async fn starts(bench: &Bench, rounds: usize) -> Result<Row> {
    let (mut kept, mut direct) = (Vec::new(), Vec::new());
    let stop = CancellationToken::new();
    // The keeper is there before: it stays as long as its engine.
    for number in 0..=rounds * STARTS {
        let mut first = First::default();
        let begun = Instant::now();
        bench.kept(bench.command("echo".into(), &["begun"]), &stop, &mut first).await?;
        let by_keeper = first.0.context("nothing was printed")? - begun;
        let mut first = First::default();
        let begun = Instant::now();
        let (_, command) = bench.command("echo".into(), &["begun"]);
        forge_exec::run(command, &stop, |_| {}, &mut Direct(&mut first)).await?;
        let by_itself = first.0.context("nothing was printed")? - begun;
        if number > 0 {
            kept.push(by_keeper.as_secs_f64() * 1000.0);
            direct.push(by_itself.as_secs_f64() * 1000.0);
        }
    }
    let work = "start of a program under the keeper, to its first byte";
    Ok(Row::of(work.to_owned(), "started directly", ("ms", Promise::More(5.0)), kept, direct))
}

async fn outputs(bench: &Bench, rounds: usize, place: &str) -> Result<[Row; 2]> {
    let (mut kept, mut direct) = (Vec::new(), Vec::new());
    let (mut grown, mut grown_directly) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let by_itself = output(bench, false).await?;
        let by_keeper = output(bench, true).await?;
        if round > 0 {
            kept.push(by_keeper.0);
            grown.push(by_keeper.1);
            direct.push(by_itself.0);
            grown_directly.push(by_itself.1);
        }
    }
    let of = |what: &str| {
        format!("{} MB of output through the keeper into a log{place}: {what}", BYTES / 1_000_000)
    };
    let beside = "without a keeper";
    Ok([
        Row::new(of("time"), beside, 1.1, kept, direct),
        Row::of(
            of("memory of engine and keeper"),
            beside,
            ("MiB", Promise::More(8.0)),
            grown,
            grown_directly,
        ),
    ])
}

/// How long it takes until a loud program's output is in a log, in milliseconds, and how far memory grows meanwhile.
async fn output(bench: &Bench, by_keeper: bool) -> Result<(f64, f64)> {
    let logs = bench.folder.join("logs");
    let printer = bench.printer("flood", &BYTES.to_string());
    let stop = CancellationToken::new();
    let mut peaks = vec![Peak::from_now()?];
    if by_keeper {
        // Its first program starts it.
        bench.kept(bench.command("true".into(), &[]), &stop, &mut First::default()).await?;
        peaks.push(Peak::of_process(bench.keeper_pid()?)?);
    }
    let begun = Instant::now();
    let log = LogWriter::open(&logs, "log", "e", CAP_BYTES, Arc::default())?;
    let (control, _handle, _told) = Control::new(CancellationToken::new());
    let mut sink = output_sink(log.clone(), &control);
    if by_keeper {
        bench.kept(printer, &stop, &mut *sink).await?;
    } else {
        let finished = forge_exec::run(printer.1, &stop, |_| {}, &mut Direct(&mut *sink)).await?;
        ensure!(finished.is_success(), "the printer failed");
    }
    drop(sink);
    let summary = tokio::task::spawn_blocking(move || log.close()).await?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    ensure!(summary.dropped == 0 && summary.raw_bytes >= BYTES, "output is lost");
    let grown: Result<Vec<f64>> = peaks.iter().map(Peak::grown).collect();
    fs::remove_dir_all(&logs)?;
    Ok((took, grown?.iter().sum()))
}

/// How long each line of an asking program was on its way, in microseconds.
#[derive(Default)]
struct Delays {
    line: Vec<u8>,
    all: Vec<u64>,
}

#[async_trait]
impl KeptSink for Delays {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        let now = now_us();
        self.line.extend_from_slice(output.bytes);
        while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let printed = std::str::from_utf8(&line).ok().and_then(|line| line.trim().parse::<u64>().ok());
            self.all.push(now.saturating_sub(printed.unwrap_or_default()));
        }
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

/// How late the lines of many programs come while one floods.
pub async fn questions(work: String, bench: &Arc<Bench>, rounds: usize) -> Result<Row> {
    let (mut many, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        alone.push(ask(bench, 1).await?);
        let (logs, stop) = (bench.folder.join("flood-logs"), CancellationToken::new());
        let flood = tokio::spawn(flood(Arc::clone(bench), logs.clone(), stop.clone()));
        many.push(ask(bench, RUNS - 1).await?);
        stop.cancel();
        let flooded = flood.await??;
        ensure!(flooded > BYTES, "only {flooded} bytes were printed by the one that floods");
        fs::remove_dir_all(&logs)?;
    }
    Ok(Row::of(work, "one alone", ("ms", Promise::Most(200.0)), many, alone))
}

/// Floods a log until it is stopped. Returns how much went into it.
async fn flood(bench: Arc<Bench>, logs: PathBuf, stop: CancellationToken) -> Result<u64> {
    let log = LogWriter::open(&logs, "log", "e", CAP_BYTES, Arc::default())?;
    let (control, _handle, _told) = Control::new(CancellationToken::new());
    let mut sink = output_sink(log.clone(), &control);
    bench.kept(bench.printer("flood", FLOOD), &stop, &mut *sink).await?;
    drop(sink);
    Ok(tokio::task::spawn_blocking(move || log.close()).await?.raw_bytes)
}

/// How long the slowest but for one of a hundred lines takes of so many programs, in milliseconds.
async fn ask(bench: &Arc<Bench>, programs: usize) -> Result<f64> {
    let mut asking = JoinSet::new();
    for _ in 0..programs {
        let bench = Arc::clone(bench);
        asking.spawn(async move {
            let mut delays = Delays::default();
            let stop = CancellationToken::new();
            bench.kept(bench.printer("ask", ASKS_MS), &stop, &mut delays).await?;
            anyhow::Ok(delays.all)
        });
    }
    let mut all = Vec::new();
    while let Some(delays) = asking.join_next().await {
        let delays = delays??;
        ensure!(delays.len() > 20, "hardly anything was asked");
        all.extend(delays);
    }
    all.sort_unstable();
    Ok(all.get(all.len() * 99 / 100).map_or(0.0, |us| *us as f64 / 1000.0))
}

/// The keeper's program, and its process while what it keeps is idle.
async fn itself(bench: &Bench) -> Result<[Row; 3]> {
    let program = forge_testkit::program("forge-keeper")?;
    let megabytes = fs::metadata(&program)?.len() as f64 / 1e6;
    let folder = bench.folder.join("idle");
    let bench = Bench::new(&folder)?;
    let stop = CancellationToken::new();
    let (mut sink, sleeper) = (First::default(), bench.command("sleep".into(), &["1000"]));
    let look = async {
        // All that comes with a start is over.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let pid = bench.keeper_pid()?;
        let before = processor_time_of(pid)?;
        tokio::time::sleep(IDLE).await;
        let spent = processor_time_of(pid)?.saturating_sub(before).as_secs_f64() * 1000.0;
        let memory = resident_of(&pid.to_string())?;
        stop.cancel();
        anyhow::Ok((memory, spent))
    };
    let (kept, looked) = tokio::join!(bench.kept(sleeper, &stop, &mut sink), look);
    kept?;
    let (memory, spent) = looked?;
    let row = |what: &str, promise, figure| Row::of(what.to_owned(), "", promise, vec![figure], Vec::new());
    Ok([
        row("the keeper's program, static", ("MB", Promise::Most(3.0)), megabytes),
        row("the keeper's memory, one idle program", ("MiB", Promise::Most(4.0)), memory),
        row(
            &format!("the keeper's processor time in {} s, one idle program", IDLE.as_secs()),
            ("ms", Promise::Most(0.0)),
            spent,
        ),
    ])
}
