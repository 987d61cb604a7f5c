//! What a terminal prints, on its way into memory.

use std::{io, sync::Arc};

use async_trait::async_trait;
use forge_keeper::{KeptSink, LimitHit, Output};

use super::opened::Opened;

pub(super) struct Screen(pub Arc<Opened>);

#[async_trait]
impl KeptSink for Screen {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        self.0.print(output.bytes);
        Ok(())
    }

    /// A terminal has none.
    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {
        self.0.live.cancel();
    }
}
