//! An agent that prints 50 MB as fast as it can, as a task of the engine.

use std::{fs::File, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use forge_agents::LogReader;
use forge_model::log::EntryKind;

use crate::{
    measure::{Promise, Row, timed_by_hand},
    meter::Peak,
    printer::Flood,
    stage::{Stage, Work},
};

const BYTES: u64 = 50_000_000;

/// The rows of a flood.
pub async fn measure(folder: &Path, rounds: usize) -> Result<[Row; 2]> {
    let folder = folder.join("flood");
    let stage = Stage::start(&folder, 4).await?;
    let bytes = BYTES.to_string();
    let quiet = stage.agent("quiet", &["flood", "1"], 1).await?;
    let loud = stage.agent("loud", &["flood", &bytes], 1).await?;
    let (mut by_forge, mut grown, mut to_file) = (Vec::new(), Vec::new(), Vec::new());
    // What any task needs is there before.
    stage.done(&stage.begin(&quiet, "quiet").await?).await?;
    for round in 0..rounds {
        let peak = Peak::from_now()?;
        let begun = Instant::now();
        let work = stage.begin(&loud, &format!("loud {round}")).await?;
        stage.done(&work).await?;
        by_forge.push(begun.elapsed().as_secs_f64() * 1000.0);
        grown.push(peak.grown()?);
        to_file.push(timed_by_hand(|| print_to(&folder.join("printed")))?);
        check(&stage.logs_of(&work), &work)?;
    }
    stage.api.engine().stop().await;
    let of = |what: &str| format!("agent prints {} MB through the engine: {what}", BYTES / 1_000_000);
    Ok([
        Row::of(of("its whole task"), "the same to a file", ("ms", Promise::Told), by_forge, to_file),
        Row::of(of("memory, nothing lost"), "", ("MiB", Promise::Most(32.0)), grown, Vec::new()),
    ])
}

fn print_to(path: &Path) -> Result<()> {
    let mut print = Command::new(std::env::current_exe()?);
    print.args(["print", "flood", &BYTES.to_string()]).stdout(File::create(path)?);
    ensure!(print.status()?.success(), "the printer failed");
    Ok(())
}

/// Every byte is in the entries and in the raw log, in its place.
fn check(logs: &Path, work: &Work) -> Result<()> {
    let mut expected = Flood::new(BYTES);
    let mut line = String::new();
    let mut wrong = 0_u64;
    LogReader::each(logs, &work.run, |entry| {
        if entry.kind != EntryKind::Stdout {
            return;
        }
        let text = entry.body["text"].as_str().unwrap_or_default();
        let is_whole = entry.body.get("partial").is_none();
        let mut rest = text;
        while let Some((head, tail)) = rest.split_once('\n') {
            line.push_str(head);
            wrong += u64::from(expected.next_line().map(str::trim_end) != Some(&line));
            line.clear();
            rest = tail;
        }
        line.push_str(rest);
        if is_whole {
            wrong += u64::from(expected.next_line().map(str::trim_end) != Some(&line));
            line.clear();
        }
    })?;
    ensure!(wrong == 0 && expected.next_line().is_none(), "{wrong} lines are lost or changed, or the end is");
    let mut expected = Flood::new(BYTES);
    let mut rest: Vec<u8> = Vec::new();
    let mut at = 0;
    loop {
        let raw = LogReader::raw(logs, &work.run, at, 16 << 20)?;
        if raw.is_empty() {
            break;
        }
        at += raw.len() as u64;
        rest.extend(raw);
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in rest.drain(..whole).collect::<Vec<_>>().split_inclusive(|byte| *byte == b'\n') {
            let expected = expected.next_line().context("there is too much in the raw log")?;
            ensure!(expected.as_bytes() == line, "the raw log differs before {at}");
        }
    }
    ensure!(rest.is_empty() && expected.next_line().is_none(), "the raw log is too short");
    Ok(())
}
