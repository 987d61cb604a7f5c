//! Random histories of agents, people, fixes, kills and deletions keep two promises: a task that Forge finished has
//! its reviewed change in the target, and every text is held by a ref, a kept folder or a backup.
//!
//! The seed decides what happens; the machine decides when. A failure names its seed.
//! `FORGE_TRUST_CASES` sets the number of histories, `FORGE_TRUST_SEED` the first seed.

mod history;
mod ledger;

use std::sync::Arc;

use anyhow::{Result, ensure};
use history::{History, Template};

/// The number of histories in one run.
const CASES: u64 = 100;
/// The number of concurrent histories: each is an engine that mostly waits for its agents.
const AT_ONCE: usize = 12;

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_histories_lose_nothing_and_done_means_merged() -> Result<()> {
    let first = number("FORGE_TRUST_SEED", 1);
    let mut seeds = first..first + number("FORGE_TRUST_CASES", CASES);
    let template = Arc::new(Template::create()?);
    let (mut running, mut failures) = (tokio::task::JoinSet::new(), Vec::new());
    let (mut told, mut finished, mut texts) = (0, 0, 0);
    loop {
        while running.len() < AT_ONCE {
            let Some(seed) = seeds.next() else { break };
            let template = Arc::clone(&template);
            running.spawn(async move { (seed, Box::pin(History::run(seed, &template)).await) });
        }
        let Some(done) = running.join_next().await else { break };
        let (seed, outcome) = done?;
        match outcome {
            Ok(seen) => {
                told += 1;
                finished += seen.finished;
                texts += seen.texts;
                if told % 100 == 0 {
                    println!("{told} histories held so far");
                }
            }
            Err(error) => {
                eprintln!("seed {seed}: {error:#}\n");
                failures.push((seed, error.root_cause().to_string()));
            }
        }
    }
    println!("{told} histories held: {finished} tasks finished by Forge, {texts} texts written");
    ensure!(failures.is_empty(), "histories that broke a promise, by seed: {failures:?}");
    ensure!(finished > told / 4 && texts > told, "too little happened for this to mean anything");
    Ok(())
}
