//! Waiting for what happens elsewhere: looked for again and again until it is there.

use std::{future::Future, path::Path, time::Duration};

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

/// Far more than anything here takes; reached only when something is broken.
const LIMIT: Duration = Duration::from_secs(30);
const EVERY: Duration = Duration::from_millis(40);

/// Waits until a file is there.
///
/// # Errors
/// When it never is.
pub async fn until_there(file: &Path) -> Result<()> {
    until(&format!("the file {}", file.display()), async || Ok(file.exists().then_some(()))).await
}

/// Looks until there is something, and gives it.
///
/// # Errors
/// When looking itself fails, or nothing has appeared in the end.
pub async fn until<T, Look, Found>(what: &str, look: Look) -> Result<T>
where
    Look: FnMut() -> Found,
    Found: Future<Output = Result<Option<T>>>,
{
    until_within(LIMIT, what, look).await
}

/// The same with a limit of one's own.
///
/// # Errors
/// When looking itself fails, or nothing has appeared in the end.
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
