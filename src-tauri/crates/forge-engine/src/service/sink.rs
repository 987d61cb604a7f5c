//! The output of a service: written to its log without secrets, and searched for the line that says that it is ready.

use std::{io, path::Path};

use async_trait::async_trait;
use forge_agents::LogWriter;
use forge_exec::OutputSink as _;
use forge_keeper::{KeptSink, LimitHit, Output};
use forge_model::service::PatternWatch;
use tokio::sync::watch;

use super::running::Running;
use crate::{World, core::redaction::Redacting};

pub(super) struct ServiceSink<'s> {
    pub world: &'s World,
    pub running: &'s Running,
    pub log: LogWriter,
    pub output: Redacting<'s>,
    /// What the output is searched for, until it is found.
    pub pattern: Option<PatternWatch>,
    pub matched: watch::Sender<bool>,
    pub is_live: bool,
    /// Whether it printed as much as is kept of a program.
    pub is_full: bool,
}

#[async_trait]
impl KeptSink for ServiceSink<'_> {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        if self.is_live {
            self.running.use_at(self.world.now());
        }
        if self.pattern.as_mut().is_some_and(|pattern| pattern.push(output.bytes)) {
            self.pattern = None;
            self.matched.send_replace(true);
        }
        self.log.set_time(Some(output.at_ms));
        self.output.write(output.stream, output.bytes).await
    }

    async fn limit(&mut self, hit: LimitHit) {
        self.is_full |= hit == LimitHit::Output;
        self.running.stop.cancel();
    }

    async fn live(&mut self) {
        self.is_live = true;
        self.log.told_again();
    }

    async fn disk_refuses(&mut self, path: Option<&Path>) {
        self.log.note_disk(path);
    }
}
