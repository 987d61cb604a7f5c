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
    /// What the figures count.
    pub unit: &'static str,
    /// Median of Forge's figures.
    pub forge: f64,
    /// Median of the yardstick's figures.
    pub beside: f64,
    /// Least of Forge's figures: what other work on the machine disturbed least.
    pub forge_least: f64,
    /// Least of the yardstick's figures.
    pub beside_least: f64,
    /// Forge's figure over the yardstick's; none where that is nothing.
    pub ratio: Option<f64>,
    /// What is promised.
    pub promise: Promise,
    /// How often each was done.
    pub rounds: usize,
}

/// What keeps a promise.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// The largest ratio.
    Ratio(f64),
    /// The largest figure of Forge's own.
    Most(f64),
    /// How much larger than the yardstick's Forge's figure may be.
    More(f64),
    /// Nothing: the figure is told beside others that are promised.
    Told,
}

impl Row {
    /// A row from the times of both sides in milliseconds; `promise` is the largest ratio.
    pub fn new(work: String, yardstick: &str, promise: f64, forge: Vec<f64>, other: Vec<f64>) -> Self {
        Self::of(work, yardstick, ("ms", Promise::Ratio(promise)), forge, other)
    }

    /// A row from figures of another unit, or with another promise.
    pub fn of(
        work: String,
        yardstick: &str,
        (unit, promise): (&'static str, Promise),
        mut forge: Vec<f64>,
        mut other: Vec<f64>,
    ) -> Self {
        let (of_forge, beside) = (median(&mut forge), median(&mut other));
        let ratio = of_forge / beside;
        Self {
            work,
            yardstick: yardstick.to_owned(),
            unit,
            forge: of_forge,
            beside,
            // Sorted by now.
            forge_least: forge.first().copied().unwrap_or_default(),
            beside_least: other.first().copied().unwrap_or_default(),
            ratio: ratio.is_finite().then_some(ratio),
            promise,
            rounds: forge.len(),
        }
    }

    /// Whether the promise is kept.
    pub fn kept(&self) -> bool {
        match self.promise {
            Promise::Ratio(most) => self.ratio.is_some_and(|ratio| ratio <= most),
            Promise::Most(most) => self.forge <= most,
            Promise::More(most) => self.forge - self.beside <= most,
            Promise::Told => true,
        }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    if times.is_empty() {
        return 0.0;
    }
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
        "| work | yardstick | Forge (least) | yardstick (least) | ratio | promise | |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let verdict = match row.promise {
            Promise::Told => "told",
            Promise::Ratio(_) | Promise::Most(_) | Promise::More(_) if row.kept() => "kept",
            Promise::Ratio(_) | Promise::Most(_) | Promise::More(_) => "MISSED",
        };
        let promise = match row.promise {
            Promise::Ratio(most) => format!("{most:.2} x"),
            Promise::Most(most) => format!("{most:.0} {}", row.unit),
            Promise::More(most) => format!("+ {most:.0} {}", row.unit),
            Promise::Told => String::new(),
        };
        let ratio = row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "| {} | {} | {} ({}) {unit} | {} ({}) {unit} | {ratio} | {promise} | {verdict} |",
            row.work,
            row.yardstick,
            shown(row.forge),
            shown(row.forge_least),
            shown(row.beside),
            shown(row.beside_least),
            unit = row.unit,
        );
    }
    text
}

/// Small figures with their fractions.
fn shown(figure: f64) -> String {
    if figure.abs() < 10.0 { format!("{figure:.2}") } else { format!("{figure:.0}") }
}
