//! Polling for events of other processes.

use std::{future::Future, path::Path, time::Duration};

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// Much longer than any wait takes; reached only when something is broken.
const LIMIT: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_millis(40);

/// Waits until a file exists.
///
/// # Errors
/// When the file does not appear.
pub async fn until_there(file: &Path) -> Result<()> {
    until(&format!("the file {}", file.display()), async || Ok(file.exists().then_some(()))).await
}

/// Polls until `look` finds something, and returns it.
///
/// # Errors
/// When `look` fails, or finds nothing within the limit.
pub async fn until<T, Look, Found>(what: &str, look: Look) -> Result<T>
where
    Look: FnMut() -> Found,
    Found: Future<Output = Result<Option<T>>>,
{
    until_within(LIMIT, what, look).await
}

/// The same with another limit.
///
/// # Errors
/// When `look` fails, or finds nothing within the limit.
pub async fn until_within<T, Look, Found>(limit: Duration, what: &str, mut look: Look) -> Result<T>
where
    Look: FnMut() -> Found,
    Found: Future<Output = Result<Option<T>>>,
{
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if Instant::now() > end {
            bail!("waited {} s in vain for {what}", limit.as_secs());
        }
        sleep(EVERY).await;
    }
}
