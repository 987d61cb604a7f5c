//! A sink for a check's output that also collects the check's diagnoses.
//!
//! Rows and reports keep a few kilobytes of an output. All of its diagnoses show whether an attempt makes progress,
//! so they are read from far more of the output, and only their text is kept.

use std::{io, path::Path};

use async_trait::async_trait;
use forge_exec::{Exit, Finished, HeadTail, OutputSink, Stream};
use forge_reading::complaint::FailedCommand;

/// How much of each stream is read for diagnoses: half from its beginning, half from its end.
const READ_BYTES: usize = 256 * 1024;

/// Output that goes to another sink and is read for diagnoses once the command has ended.
pub(crate) struct Diagnosing<S> {
    sink: S,
    read: HeadTail,
}

impl<S> Diagnosing<S> {
    pub(crate) fn new(sink: S) -> Self {
        Self { sink, read: HeadTail::new(READ_BYTES) }
    }

    /// The other sink, and what a command that failed complained about; nothing of one that passed, that was
    /// cancelled or that never ran.
    pub(crate) async fn finish(self, cwd: &Path, finished: Option<&Finished>) -> (S, Option<String>) {
        let Some(finished) = finished.filter(|it| !it.cancelled && !it.is_success()) else {
            return (self.sink, None);
        };
        let (exit_code, signal) = match finished.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (None, Some(signal)),
        };
        let (timed_out, read) = (finished.timed_out, self.read);
        let cwd = cwd.to_string_lossy().into_owned();
        let diagnoses = tokio::task::spawn_blocking(move || {
            let said = read.into_strings();
            let (stderr, stdout) = (said.stderr.as_str(), said.stdout.as_str());
            FailedCommand { stderr, stdout, cwd: &cwd, timed_out, exit_code, signal }.diagnoses()
        });
        match diagnoses.await {
            Ok(diagnoses) => (self.sink, Some(diagnoses)),
            Err(error) => {
                tracing::warn!(%error, "Could not read the diagnoses of a check.");
                (self.sink, None)
            }
        }
    }
}

#[async_trait]
impl<S: OutputSink + Send> OutputSink for Diagnosing<S> {
    async fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        self.read.push(stream, bytes);
        self.sink.write(stream, bytes).await
    }
}
