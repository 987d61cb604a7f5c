//! The scripted agents of the measurements: `forge-perf print flood BYTES`, `forge-perf print stream MS` and
//! `forge-perf print ask MS`.
//!
//! The first two print lines that tell their own place, so that nothing can be lost unseen, and leave a file to be merged.

use std::{
    fmt::Write as _,
    io::{BufWriter, Write as _},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, bail};

use crate::lines::Chance;

/// What a streaming agent prints in a second.
pub const BYTES_A_SECOND: u64 = 40_000;
/// How often it prints.
const TICK: Duration = Duration::from_millis(10);
/// The length of each of its lines, line break included.
pub const LINE_BYTES: usize = 100;
/// How often an asking agent prints.
const ASKS_EVERY: Duration = Duration::from_millis(20);

/// Prints as the arguments say.
pub fn print(mut args: impl Iterator<Item = String>) -> Result<()> {
    let (Some(how), Some(number)) = (args.next(), args.next()) else { bail!("usage: print HOW NUMBER") };
    let number: u64 = number.parse().context("no number")?;
    match how.as_str() {
        "flood" => flood(number)?,
        "stream" => stream(Duration::from_millis(number))?,
        "ask" => ask(Duration::from_millis(number))?,
        _ => bail!("nothing is printed in this way: {how}"),
    }
    // Nothing but the flood in a folder that is no worktree: the yardstick's.
    if let Ok(number) = std::env::var("FORGE_TASK_NUMBER") {
        std::fs::write(format!("TASK-{number}.txt"), number)?;
    }
    Ok(())
}

/// At least so many bytes as fast as they are taken, as a program would print them.
fn flood(bytes: u64) -> Result<()> {
    let mut out = BufWriter::with_capacity(8 * 1024, std::io::stdout().lock());
    let mut lines = Flood::new(bytes);
    while let Some(line) = lines.next_line() {
        out.write_all(line.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// The lines of a flood: numbered, of many lengths, some with the look of entries, some not of plain ASCII.
pub struct Flood {
    left: u64,
    number: u64,
    chance: Chance,
    line: String,
}

impl Flood {
    pub fn new(bytes: u64) -> Self {
        Self { left: bytes, number: 0, chance: Chance::new(11), line: String::new() }
    }

    pub fn next_line(&mut self) -> Option<&str> {
        if self.left == 0 {
            return None;
        }
        self.number += 1;
        self.line.clear();
        if self.number.is_multiple_of(50) {
            let _ = write!(self.line, "{{\"number\":{},\"text\":\"", self.number);
            self.chance.words(&mut self.line, 3, 40);
            self.line.push_str("\"}\n");
        } else {
            let _ = write!(self.line, "{} ", self.number);
            self.chance.words(&mut self.line, 1, 30);
            self.line.push('\n');
        }
        self.left = self.left.saturating_sub(self.line.len() as u64);
        Some(&self.line)
    }
}

/// For so long, evenly: lines that begin with the time in microseconds and their number.
fn stream(time: Duration) -> Result<()> {
    let lines = usize::try_from(BYTES_A_SECOND * TICK.as_millis() as u64 / 1000)? / LINE_BYTES;
    let mut out = std::io::stdout().lock();
    let begun = Instant::now();
    let (mut number, mut ticks) = (0_u64, 0_u32);
    while begun.elapsed() < time {
        let mut text = String::new();
        let now = now_us();
        for _ in 0..lines {
            let start = text.len();
            let _ = write!(text, "{now} {number} ");
            number += 1;
            text.extend(std::iter::repeat_n('x', LINE_BYTES - 1 - (text.len() - start)));
            text.push('\n');
        }
        out.write_all(text.as_bytes())?;
        out.flush()?;
        ticks += 1;
        std::thread::sleep((TICK * ticks).saturating_sub(begun.elapsed()));
    }
    Ok(writeln!(out, "{} {number} end", now_us())?)
}

/// For so long, now and then: a line with the time in microseconds, as short as a question.
fn ask(time: Duration) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let begun = Instant::now();
    while begun.elapsed() < time {
        writeln!(out, "{}", now_us())?;
        out.flush()?;
        std::thread::sleep(ASKS_EVERY);
    }
    Ok(())
}

/// The time as streaming agents tell it.
pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
