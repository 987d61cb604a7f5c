//! Many kills, a few at a time, each told by its boundary when it was not survived.

use anyhow::{Context as _, Result, ensure};

/// How many stories run beside each other: each is an engine with its children.
const AT_ONCE: usize = 3;

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
            running.spawn(async move { story.await.with_context(|| format!("killed at {point}#{times}")) });
        }
        match running.join_next().await {
            None => break,
            Some(done) => failures.extend(done?.err().map(|error| format!("{error:#}"))),
        }
    }
    ensure!(failures.is_empty(), "{} kills were not survived:\n{}", failures.len(), failures.join("\n\n"));
    Ok(())
}
