//! A row: what was measured, beside what, and what is promised.

use std::{fmt::Write as _, time::Instant};

use anyhow::Result;
use serde::Serialize;

/// One measured promise.
#[derive(Debug, Serialize)]
pub struct Row {
    /// What Forge did.
    pub work: String,
    /// What it is compared with.
    pub yardstick: String,
    /// Median of Forge's times in milliseconds.
    pub forge_ms: f64,
    /// Median of the yardstick's times in milliseconds.
    pub yardstick_ms: f64,
    /// Least of Forge's times: what other work on the machine disturbed least.
    pub forge_least_ms: f64,
    /// Least of the yardstick's times.
    pub yardstick_least_ms: f64,
    /// Forge's time over the yardstick's.
    pub ratio: f64,
    /// The largest ratio that keeps the promise.
    pub promise: f64,
    /// How often each was done.
    pub rounds: usize,
}

impl Row {
    /// A row from the times of both sides.
    pub fn new(
        work: String,
        yardstick: &str,
        promise: f64,
        mut forge: Vec<f64>,
        mut other: Vec<f64>,
    ) -> Self {
        let (forge_ms, yardstick_ms) = (median(&mut forge), median(&mut other));
        let yardstick = yardstick.to_owned();
        Self {
            work,
            yardstick,
            forge_ms,
            yardstick_ms,
            // Sorted by now.
            forge_least_ms: forge.first().copied().unwrap_or_default(),
            yardstick_least_ms: other.first().copied().unwrap_or_default(),
            ratio: forge_ms / yardstick_ms,
            promise,
            rounds: forge.len(),
        }
    }

    /// Whether the promise is kept.
    pub fn kept(&self) -> bool {
        self.ratio <= self.promise
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    if times.len() % 2 == 1 { times[middle] } else { f64::midpoint(times[middle - 1], times[middle]) }
}

/// What work came to, and how many milliseconds it took.
pub async fn timed<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<(T, f64)>
where
    anyhow::Error: From<E>,
{
    let begun = Instant::now();
    let done = work.await?;
    Ok((done, begun.elapsed().as_secs_f64() * 1000.0))
}

/// How many milliseconds a yardstick took.
pub fn timed_by_hand<T>(work: impl FnOnce() -> Result<T>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// The rows as a table for people.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| work | yardstick | Forge ms (least) | yardstick ms (least) | ratio | promise | |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let verdict = if row.kept() { "kept" } else { "MISSED" };
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} ({:.0}) | {:.0} ({:.0}) | {:.2} | {:.2} | {verdict} |",
            row.work,
            row.yardstick,
            row.forge_ms,
            row.forge_least_ms,
            row.yardstick_ms,
            row.yardstick_least_ms,
            row.ratio,
            row.promise
        );
    }
    text
}
