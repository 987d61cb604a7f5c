//! How long to wait before a machine is tried again.

use std::time::Duration;

use crate::Connector;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// The pause before a machine is tried again. It grows with each use.
#[derive(Debug)]
pub struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Pause {
    /// Waits until the machine can be reached, and for a moment before that: a machine that can be reached may still
    /// answer nothing.
    pub async fn until_reachable(&mut self, connector: &dyn Connector) {
        tokio::time::sleep(self.0).await;
        self.0 = LONGEST.min(self.0 * 2);
        connector.reachable().await;
    }
}
