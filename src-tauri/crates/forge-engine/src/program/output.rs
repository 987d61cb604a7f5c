//! The output of a program: written to its log, with the ends of its streams kept.

use async_trait::async_trait;
use std::io;

use forge_agents::LogWriter;
use forge_exec::{HeadTail, OutputSink, Stream};
use forge_model::log::EntryKind;
use serde_json::json;

/// A script's output: the whole of it in its log, its two ends for its record.
pub(crate) struct CheckOutput {
    pub log: LogWriter,
    pub kept: HeadTail,
}

#[async_trait]
impl OutputSink for CheckOutput {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.log.until_room().await;
        self.kept.push(stream, bytes);
        self.log.raw(bytes);
        let kind = match stream {
            Stream::Stdout => EntryKind::Stdout,
            Stream::Stderr => EntryKind::Stderr,
        };
        self.log.append(kind, "", json!({ "text": String::from_utf8_lossy(bytes) }));
        Ok(())
    }
}
