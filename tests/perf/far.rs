//! What a machine that is reached by ssh costs: output that streams from it, a question beside a flood, and the start of
//! a program near and far. It is a second host on this computer, with a real sshd; where none can be made, the rows are
//! skipped by name.

use std::{
    fs, io,
    path::Path,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use forge_keeper::{KeptSink, LimitHit, Output};
use forge_machines::{MachineConfig, SshMachine};
use forge_machines_testkit::{Distance, Host, Setup};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;

use crate::{
    machines::{Bench, First, RUNS, questions},
    measure::{Promise, Row},
    meter::Peak,
    printer::Flood,
    repository::{generate, git},
    task::Board,
};

/// What is streamed.
const BYTES: u64 = 500_000_000;
/// Starts of a program in a round.
const STARTS: usize = 5;
/// Programs on a machine may go on for so long without this process.
const PATIENCE: Duration = Duration::from_secs(600);
/// The size of a task's worktree.
const FILES: u32 = 5_000;
/// The longer way.
const LONG_WAY: Duration = Duration::from_millis(50);

/// The rows of a machine that is reached by ssh.
pub async fn measure(folder: &Path, rounds: usize) -> Result<Vec<Row>> {
    let streamed = format!("{} MB streamed from a machine by ssh", BYTES / 1_000_000);
    let asked =
        format!("{RUNS} runs on one machine by ssh, one of which floods: a line of another seen, 99 of 100");
    let started = |way: &str| format!("start of a program on a machine by ssh, {way}, to its first byte");
    let (near, far) = (started("on this computer"), started("50 ms there and back"));
    let task_on = |way: &str| format!("one task on a machine by ssh, {way}, todo to done, {FILES} files");
    let (task_near, task_far) = (task_on("on this computer"), task_on("50 ms there and back"));
    // Its user must get through to it: not in a folder of this user's alone.
    let beside = folder.parent().unwrap_or(folder);
    let host = match Host::try_start(Setup::default(), tempfile::tempdir_in(beside)?) {
        Ok(host) => host,
        Err(why) => {
            for row in [&streamed, &asked, &near, &far, &task_near, &task_far] {
                println!("skipped: {row}: {why:#}");
            }
            return Ok(Vec::new());
        }
    };
    let folder = folder.join("far");
    fs::create_dir_all(&folder)?;
    let printer = host.folder.path().join("printer");
    fs::copy(std::env::current_exe()?, &printer)?;
    let bench = |config: MachineConfig| {
        Bench::of(SshMachine::new(config).keeper(1, PATIENCE), &folder, &host.home(), &printer)
    };
    let here = Arc::new(bench(host.config())?);
    let long_rounds = rounds.min(crate::LONG_ROUNDS);
    let mut rows = Vec::from(stream(streamed, &host, &here, long_rounds).await?);
    rows.push(questions(asked, &here, long_rounds).await?);
    rows.push(starts(near, &host.config(), &here, rounds).await?);
    let distance = Distance::start(&host, LONG_WAY).await?;
    let config = distance.config(host.config());
    rows.push(starts(far, &config, &bench(config.clone())?, long_rounds).await?);
    for (work, way, most) in [(task_near, None, 150.0), (task_far, Some(&config), 1500.0)] {
        let folder = folder.join(format!("task-{most}"));
        rows.push(task(work, &host, way, (&folder, most), rounds).await?);
    }
    Ok(rows)
}

/// One task on the machine, and the same one on this computer.
async fn task(
    work: String,
    host: &Host,
    way: Option<&MachineConfig>,
    (folder, most): (&Path, f64),
    rounds: usize,
) -> Result<Row> {
    let board = async |name: &str| {
        let repo = folder.join(format!("{name}-repository"));
        generate(&repo, FILES)?;
        git(&repo, &["checkout", "--quiet", "--detach"])?;
        Board::start(&folder.join(name), &repo, "off", std::env::vars_os()).await
    };
    let (here, there) = (board("here").await?, board("there").await?);
    let mut ssh = host.ssh_config();
    if let Some(way) = way {
        // ssh takes what it is told first.
        ssh.options.splice(0..0, way.ssh.options.iter().cloned());
        ssh.port = way.ssh.port;
    }
    there
        .take_in(
            json!({ "name": "box", "ssh": { "host": ssh.host, "port": ssh.port, "options": ssh.options } }),
        )
        .await?;
    let (mut on_machine, mut on_this) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let times = (there.task(round).await?, here.task(round).await?);
        // The first one brings the project there.
        if round > 0 {
            on_machine.push(times.0);
            on_this.push(times.1);
        }
    }
    for board in [here, there] {
        board.api.engine().stop().await;
    }
    Ok(Row::of(work, "the same on this computer", ("ms", Promise::More(most)), on_machine, on_this))
}

/// Counts what comes.
#[derive(Default)]
struct Counted {
    first: First,
    bytes: u64,
}

#[async_trait]
impl KeptSink for Counted {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        self.first.output(output).await?;
        self.bytes += output.bytes.len() as u64;
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

/// Streams a file through the keeper there and by `ssh` alone, from the first byte to the last one.
async fn stream(work: String, host: &Host, bench: &Bench, rounds: usize) -> Result<[Row; 2]> {
    let file = host.folder.path().join("streamed");
    let mut lines = Flood::new(BYTES);
    let mut text = io::BufWriter::new(fs::File::create(&file)?);
    while let Some(line) = lines.next_line() {
        io::Write::write_all(&mut text, line.as_bytes())?;
    }
    drop(text);
    let (name, length) = (file.display().to_string(), fs::metadata(&file)?.len());
    let stop = CancellationToken::new();
    // Connects, and starts the keeper.
    bench.kept(bench.command("true".into(), &[]), &stop, &mut First::default()).await?;
    let (mut kept, mut direct, mut grown) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        direct.push(by_ssh(&host.config(), &["cat", &name], length).await?);
        let serves = host.running("forge-keeper serve");
        let (pid, _) = serves.first().context("no keeper runs there")?;
        let peaks = [Peak::from_now()?, Peak::of_process(u32::try_from(*pid)?)?];
        let mut counted = Counted::default();
        bench.kept(bench.command("cat".into(), &[&name]), &stop, &mut counted).await?;
        kept.push(since(&counted.first)?);
        ensure!(counted.bytes == length, "{} of {length} bytes came", counted.bytes);
        let all: Result<Vec<f64>> = peaks.iter().map(Peak::grown).collect();
        grown.push(all?.iter().sum());
    }
    fs::remove_file(&file)?;
    let memory = format!("{work}: memory of engine and keeper");
    Ok([
        Row::new(work, "`ssh H cat`", 1.5, kept, direct),
        Row::of(memory, "", ("MiB", Promise::Most(32.0)), grown, Vec::new()),
    ])
}

fn since(first: &First) -> Result<f64> {
    Ok(first.0.context("nothing came")?.elapsed().as_secs_f64() * 1000.0)
}

/// Starts `ssh` with a connection of its own.
fn ssh(config: &MachineConfig, command: &[&str]) -> Result<tokio::process::Child> {
    let options = config.ssh.options.iter().flat_map(|option| ["-o", option]);
    let port = config.ssh.port.map(|port| format!("-p{port}"));
    let mut ssh = tokio::process::Command::new(&config.program);
    ssh.args(options).args(port).args(["--", &config.ssh.host]).args(command);
    Ok(ssh.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?)
}

/// How long the output of a command takes from its first byte to its last one, in milliseconds.
async fn by_ssh(config: &MachineConfig, command: &[&str], length: u64) -> Result<f64> {
    let mut child = ssh(config, command)?;
    let mut output = child.stdout.take().context("its output")?;
    let (mut first, mut came) = (First::default(), 0);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = output.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        first.0.get_or_insert_with(Instant::now);
        came += read as u64;
    }
    let took = since(&first)?;
    ensure!(came == length && child.wait().await?.success(), "{came} of {length} bytes came by ssh");
    Ok(took)
}

/// Starts a program through the keeper there, which is connected, and by an `ssh` of its own.
async fn starts(work: String, config: &MachineConfig, bench: &Bench, rounds: usize) -> Result<Row> {
    let (mut kept, mut direct) = (Vec::new(), Vec::new());
    let stop = CancellationToken::new();
    for number in 0..=rounds * STARTS {
        let (mut first, begun) = (First::default(), Instant::now());
        bench.kept(bench.command("echo".into(), &["begun"]), &stop, &mut first).await?;
        let by_keeper = first.0.context("nothing was printed")? - begun;
        let begun = Instant::now();
        let mut child = ssh(config, &["echo", "begun"])?;
        child.stdout.take().context("its output")?.read_u8().await?;
        let by_ssh = begun.elapsed();
        child.wait().await?;
        // The first one connects.
        if number > 0 {
            kept.push(by_keeper.as_secs_f64() * 1000.0);
            direct.push(by_ssh.as_secs_f64() * 1000.0);
        }
    }
    Ok(Row::of(work, "`ssh H echo`", ("ms", Promise::Told), kept, direct))
}
