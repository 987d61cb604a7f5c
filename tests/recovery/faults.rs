//! Runs many cases of kills or panics, a few at a time, and names the fault point of each that failed.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::fault::{FAULT_VARIABLE, PANIC};

/// How many stories run beside each other: each is an engine with its children.
const AT_ONCE: usize = 3;

/// What happens to Forge at a boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Its process ends.
    Kill,
    /// What it was doing there panics, and its process goes on.
    Panic,
}

impl Fault {
    /// Has it happen at the n-th passing of a boundary.
    pub fn at(self, point: &str, times: u32) -> Vec<(String, String)> {
        let how = if self == Self::Panic { PANIC } else { "" };
        vec![(FAULT_VARIABLE.to_owned(), format!("{how}{point}#{times}"))]
    }
}

/// Makes sure that a server whose data folder this is panicked at a boundary.
pub fn panicked(data: &Path, point: &str) -> Result<()> {
    let log = std::fs::read_to_string(data.with_extension("log"))?;
    ensure!(log.contains(&format!("fault at {point}")), "nothing panicked at {point}");
    Ok(())
}

/// Tells the story once for each boundary and pass, killed there; all must be survived.
pub async fn all_survived<F>(cases: Vec<(String, u32)>, survives: impl Fn(String, u32) -> F) -> Result<()>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (mut running, mut failures) = (tokio::task::JoinSet::new(), Vec::new());
    let mut left = cases.into_iter();
    loop {
        while running.len() < AT_ONCE {
            let Some((point, times)) = left.next() else { break };
            let story = survives(point.clone(), times);
            running.spawn(async move { story.await.with_context(|| format!("at {point}#{times}")) });
        }
        match running.join_next().await {
            None => break,
            Some(done) => failures.extend(done?.err().map(|error| format!("{error:#}"))),
        }
    }
    ensure!(failures.is_empty(), "{} were not survived:\n{}", failures.len(), failures.join("\n\n"));
    Ok(())
}
