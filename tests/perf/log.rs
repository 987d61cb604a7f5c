//! A log of 500 MB: normalised and kept by the adapters that agents are run by, and opened again at any place.
//!
//! The program is a shell script that speaks the protocol's greeting and then prints a file, so that everything
//! from the pipe to the disk is the production path: `Adapter::run` with a `LogWriter`.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use forge_agents::{Control, Launch, Limits, LogReader, LogWriter, SessionRequest, adapter, pack_logs};
use forge_keeper::Keeper;
use forge_model::{
    agent::{AdapterKind, PermissionMode},
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
    redact::{Redactor, Secret},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    lines::{self, Chance, Program, Written},
    measure::{Promise, Row, timed_by_hand},
    meter::Peak,
};

/// Above what is measured; by default a log ends at 256 MiB.
const CAP_BYTES: u64 = 4 << 30;
/// Entries of a page, as the window asks for them.
const PAGE: usize = 200;
/// Places at which a log is opened.
const PLACES: u64 = 200;

/// Greets as Claude Code does, prints the file once it has its prompt, and ends its turn.
const CLAUDE: &str = r#"#!/bin/sh
read -r greeting
echo '{"type":"control_response","response":{"subtype":"success","request_id":"forge-1","response":{}}}'
read -r prompt
cat "$LINES_FILE"
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Done.","modelUsage":{}}'
read -r end
"#;

/// Takes a thread and a turn as Codex does, prints the file, and ends the turn.
const CODEX: &str = r#"#!/bin/sh
read -r initialize
echo '{"id":1,"result":{"userAgent":"codex"}}'
read -r initialized
read -r start
echo '{"id":2,"result":{"thread":{"id":"thread"},"model":"gpt"}}'
read -r turn
echo '{"id":3,"result":{"turn":{"id":"turn","rootTurnId":"turn"}}}'
cat "$LINES_FILE"
echo '{"method":"turn/completed","params":{"threadId":"thread","turn":{"id":"turn","status":"completed"}}}'
read -r end
"#;

/// The rows of a long log.
pub async fn measure(folder: &Path, rounds: usize, megabytes: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for program in [Program::Claude, Program::Codex] {
        rows.extend(of_program(program, folder, rounds, megabytes).await?);
    }
    Ok(rows)
}

async fn of_program(program: Program, folder: &Path, rounds: usize, megabytes: u64) -> Result<[Row; 6]> {
    let folder = &folder.join(format!("log-{program:?}"));
    fs::create_dir_all(folder)?;
    let file = folder.join("lines.jsonl");
    let written = lines::write(program, &file, megabytes * 1_000_000)?;
    let (mut kept, mut jq, mut grown, mut stored) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut opened, mut packed) = (Vec::new(), Vec::new());
    let keeper = forge_testkit::keeper(folder)?;
    for round in 0..rounds {
        let dir = folder.join(format!("logs-{round}"));
        let peak = Peak::from_now()?;
        kept.push(keep(program, &file, &dir, &keeper).await?);
        grown.push(peak.grown()?);
        jq.push(timed_by_hand(|| by_jq(&file))?);
        stored.push(bytes_of(&dir)?);
        check(&dir, &file, written)?;
        opened.push(open(&dir)?);
        packed.push(open_compressed(&dir)?);
        fs::remove_dir_all(&dir)?;
    }
    fs::remove_file(&file)?;
    let what = match program {
        Program::Claude => "Claude Code's stream-json",
        Program::Codex => "Codex' app server",
    };
    let of = |did: &str| format!("log of {megabytes} MB of {what}: {did}");
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let raw = vec![mb(written.bytes); rounds];
    let figures = |of: fn(&Opened) -> f64| opened.iter().map(of).collect::<Vec<_>>();
    let page = "its bytes alone";
    Ok([
        Row::new(of("normalised and stored"), "`jq -c .`", 0.4, kept, jq),
        Row::of(of("memory meanwhile"), "", ("MiB", Promise::Most(64.0)), grown, Vec::new()),
        Row::of(
            of("store"),
            "the lines",
            ("MB", Promise::Ratio(1.2)),
            stored.into_iter().map(mb).collect(),
            raw,
        ),
        Row::of(
            of("opened at its end"),
            page,
            ("ms", Promise::Most(50.0)),
            figures(|it| it.end),
            figures(|it| it.bytes),
        ),
        Row::of(
            of(&format!("opened at the worst of {PLACES} places")),
            page,
            ("ms", Promise::Most(50.0)),
            figures(|it| it.place),
            figures(|it| it.bytes),
        ),
        Row::of(
            of(&format!("compressed, opened at the worst of {PLACES} places")),
            page,
            ("ms", Promise::Most(50.0)),
            packed,
            figures(|it| it.bytes),
        ),
    ])
}

/// Looks for as many secrets as a developer's environment holds, and for the well-known formats.
fn redactor() -> Redactor {
    let secrets: Vec<_> = (0..16_u32)
        .map(|number| Secret {
            name: format!("SERVICE_{number}_TOKEN"),
            value: format!("{:08x}-kq7Zw{number}xT4vB9mN2pL", number.wrapping_mul(2_654_435_761)),
        })
        .collect();
    Redactor::new(&secrets, &["developer"], &[])
}

/// Runs the agent to its end and closes its log.
async fn keep(program: Program, file: &Path, dir: &Path, keeper: &Keeper) -> Result<f64> {
    fs::create_dir_all(dir)?;
    let (kind, script) = match program {
        Program::Claude => (AdapterKind::Claude, CLAUDE),
        Program::Codex => (AdapterKind::Codex, CODEX),
    };
    let path = dir.with_extension("sh");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    let begun = Instant::now();
    let log =
        LogWriter::open(dir, "log", "0198c0de-0000-7000-8000-000000000000", CAP_BYTES, Arc::new(redactor()))?;
    let launch = Launch {
        execution_id: dir.display().to_string(),
        task_id: "t".to_owned(),
        keeper: keeper.clone(),
        process: 1,
        kept: 0,
        memo: Vec::new(),
        log: log.clone(),
        config: json!({ "program": path, "env": { "LINES_FILE": file } }),
        model: None,
        prompt: "Work.".to_owned(),
        prompt_file: PathBuf::new(),
        worktree: dir.to_owned(),
        given: None,
        base: forge_exec::variables_of(std::env::vars_os()),
        env: Vec::new(),
        shell: Vec::new(),
        sandbox: None,
        limits: Limits::default(),
        grace: Duration::from_secs(1),
        session: SessionRequest::New,
        carry: None,
        role: ExecutionRole::Coder,
        permissions: PermissionMode::Unattended,
        mcp: None,
        started: Box::new(|_| {}),
    };
    let (control, _handle, told) = Control::new(CancellationToken::new());
    // As the engine listens: to each thing at once.
    let listening = tokio::spawn(async move {
        let mut told = told;
        while told.recv().await.is_some() {}
    });
    let outcome = adapter(kind).run(launch, &control).await;
    drop(control);
    listening.await?;
    outcome.result.context("the run failed")?;
    let summary = tokio::task::spawn_blocking(move || log.close()).await?;
    ensure!(summary.dropped == 0, "{} entries were dropped", summary.dropped);
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

fn by_jq(file: &Path) -> Result<()> {
    let mut jq = Command::new("jq");
    jq.args(["-c", "."]).arg(file).stdout(Stdio::null());
    ensure!(jq.status().context("jq did not start: install it")?.success(), "jq failed");
    Ok(())
}

fn bytes_of(dir: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { bytes_of(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// Everything is there: the raw bytes as they were printed, and an end of every call.
fn check(dir: &Path, file: &Path, written: Written) -> Result<()> {
    let mut ended = 0;
    LogReader::each(dir, "log", |entry| {
        let is_call = matches!(entry.kind, EntryKind::Command | EntryKind::FileChange | EntryKind::ToolCall);
        ended += u64::from(is_call && entry.status == Some(EntryStatus::Completed));
    })?;
    ensure!(ended == written.calls, "{ended} of {} calls are in the log", written.calls);
    // At places: reading a raw log goes through all that is before. The text of a first delta is masked.
    let greeting = find(&LogReader::raw(dir, "log", 0, 4096)?, &head(file, 16)?)?;
    let lines = File::open(file)?;
    let mut chance = Chance::new(3);
    for _ in 0..5 {
        let at = chance.within(0, written.bytes - 100_000);
        let mut expected = vec![0; 100_000];
        lines.read_exact_at(&mut expected, at)?;
        let raw = LogReader::raw(dir, "log", greeting + at, 100_000)?;
        ensure!(is_raw_of(&raw, &expected), "the raw log differs at {at}");
    }
    Ok(())
}

/// Whether these are the raw bytes of what was printed: the same, but for the texts of deltas, which are masked.
fn is_raw_of(raw: &[u8], printed: &[u8]) -> bool {
    let lines = |text: &[u8]| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let is_delta = |line: &[u8]| line.windows(5).any(|it| it == b"elta\"");
    let is_masked = |(raw, printed): (&u8, &u8)| raw == printed || *raw == b'*';
    // The first line and the last one may be cut within a delta.
    let (kept, expected) = (lines(raw), lines(printed));
    let last = expected.len() - 1;
    kept.len() == expected.len()
        && kept.iter().zip(&expected).enumerate().all(|(at, (raw, printed))| {
            let may_differ = at == 0 || at == last || is_delta(printed);
            raw == printed
                || (may_differ && raw.len() == printed.len() && raw.iter().zip(printed).all(is_masked))
        })
}

fn head(file: &Path, bytes: usize) -> Result<Vec<u8>> {
    let mut head = vec![0; bytes];
    File::open(file)?.read_exact_at(&mut head, 0)?;
    Ok(head)
}

fn find(all: &[u8], part: &[u8]) -> Result<u64> {
    let at = all.windows(part.len()).position(|window| window == part);
    Ok(at.context("the lines are not in the raw log")? as u64)
}

struct Opened {
    end: f64,
    place: f64,
    bytes: f64,
}

fn open(dir: &Path) -> Result<Opened> {
    let mut end = 0.0;
    let mut last = LogReader::page(dir, "log", None, None, 1)?;
    for _ in 0..5 {
        let begun = Instant::now();
        last = LogReader::page(dir, "log", None, None, PAGE)?;
        end = f64::max(end, begun.elapsed().as_secs_f64() * 1000.0);
        ensure!(last.last_seq == last.total, "this is not the end");
    }
    let text = File::open(dir.join("log.jsonl"))?;
    let index = File::open(dir.join("log.idx"))?;
    let bytes = timed_by_hand(|| {
        let mut offset = [0; 8];
        index.read_exact_at(&mut offset, (last.first_seq - 1) * 8)?;
        let start = u64::from_le_bytes(offset);
        let mut bytes = vec![0; usize::try_from(text.metadata()?.len() - start)?];
        Ok(text.read_exact_at(&mut bytes, start)?)
    })?;
    Ok(Opened { end, place: worst_place(dir, last.total)?, bytes })
}

/// How long the slowest of some places takes to open, in milliseconds.
fn worst_place(dir: &Path, total: u64) -> Result<f64> {
    let mut chance = Chance::new(5);
    let mut place: f64 = 0.0;
    for _ in 0..PLACES {
        let after = chance.within(0, total);
        let begun = Instant::now();
        let page = LogReader::page(dir, "log", Some(after), None, PAGE)?;
        place = place.max(begun.elapsed().as_secs_f64() * 1000.0);
        ensure!(page.first_seq == after + 1, "this is another place");
    }
    Ok(place)
}

/// The same of a log that is compressed first.
fn open_compressed(dir: &Path) -> Result<f64> {
    ensure!(pack_logs(dir, || true)? > 0, "nothing was compressed");
    worst_place(dir, LogReader::page(dir, "log", None, None, 1)?.total)
}
