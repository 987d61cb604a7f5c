//! Runs many cases of kills or panics, a few at a time, and names the fault point of each that failed.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::fault::{FAULT_VARIABLE, PANIC};

/// The number of concurrent cases: each is an engine with its children.
const AT_ONCE: usize = 3;

/// What happens to Forge at a fault point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process ends.
    Kill,
    /// The current work panics, and the process continues.
    Panic,
}

impl Fault {
    /// The environment for a fault at the n-th passing of a fault point.
    pub fn at(self, point: &str, times: u32) -> Vec<(String, String)> {
        let how = if self == Self::Panic { PANIC } else { "" };
        vec![(FAULT_VARIABLE.to_owned(), format!("{how}{point}#{times}"))]
    }
}

/// Checks that the server of a data folder panicked at a fault point.
pub fn panicked(data: &Path, point: &str) -> Result<()> {
    let log = std::fs::read_to_string(data.with_extension("log"))?;
    ensure!(log.contains(&format!("fault at {point}")), "nothing panicked at {point}");
    Ok(())
}

/// Runs `survives` for each fault point and passing; all must succeed.
pub async fn all_survived<F>(cases: Vec<(String, u32)>, survives: impl Fn(String, u32) -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (mut running, mut failures) = (tokio::task::JoinSet::new(), Vec::new());
    let mut left = cases.into_iter();
    loop {
        while running.len() < AT_ONCE {
            let Some((point, times)) = left.next() else { break };
            let case = survives(point.clone(), times);
            running.spawn(async move { case.await.with_context(|| format!("at {point}#{times}")) });
        }
        match running.join_next().await {
            None => break,
            Some(done) => failures.extend(done?.err().map(|error| format!("{error:#}"))),
        }
    }
    ensure!(failures.is_empty(), "{} were not survived:\n{}", failures.len(), failures.join("\n\n"));
    Ok(())
}
