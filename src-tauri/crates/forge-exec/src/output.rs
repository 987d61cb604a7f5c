//! Where the output of a child goes.

use std::io;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Which pipe bytes came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Where output goes. Awaiting a write is what slows a child down that prints faster than it is taken.
#[async_trait]
pub trait OutputSink {
    /// Takes bytes as they were read: at most 64 KiB, cut anywhere.
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;
}
