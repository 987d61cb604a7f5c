//! Programs that a keeper runs, and what they print.

use std::{fmt::Display, io, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use forge_exec::{Command, Finished, Marker, Stream};
use forge_keeper::{KeepError, KeptRun, KeptSink, LimitHit, Limits, Output, Session};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A script for a keeper to run in a folder. `mark` is what its marker has beside its id: no two tests share one.
#[must_use]
pub fn kept_script(id: &str, mark: impl Display, folder: impl Into<PathBuf>, script: &str) -> KeptRun {
    let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
    let command = Command::new("sh", folder, Marker(format!("{id}-{mark}")))
        .args(["-c", script])
        .base(Arc::new([path].into()))
        .grace(Duration::from_secs(2));
    KeptRun {
        id: id.to_owned(),
        task: "t".to_owned(),
        command,
        limits: Limits::default(),
        memo: Vec::new(),
        goes_on: false,
        tools: None,
    }
}

/// What was printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// To standard output.
    pub out: Vec<u8>,
    /// To standard error.
    pub err: Vec<u8>,
    length: Option<watch::Sender<usize>>,
}

#[async_trait]
impl KeptSink for Printed {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        match output.stream {
            Stream::Stdout => self.out.extend_from_slice(output.bytes),
            Stream::Stderr => self.err.extend_from_slice(output.bytes),
        }
        if let Some(length) = &self.length {
            length.send_modify(|length| *length += output.bytes.len());
        }
        Ok(())
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

/// A program that is followed while the test does something else.
#[derive(Debug)]
pub struct Following {
    /// How many bytes came.
    pub printed: watch::Receiver<usize>,
    /// What becomes of it.
    pub ended: tokio::task::JoinHandle<(Result<Finished, KeepError>, Printed)>,
}

impl Following {
    /// Follows a program.
    #[must_use]
    pub fn of(session: Session) -> Self {
        let (length, printed) = watch::channel(0);
        let ended = tokio::spawn(async move {
            let mut printed = Printed { length: Some(length), ..Printed::default() };
            let finished = session.run(&CancellationToken::new(), &mut printed).await;
            (finished, printed)
        });
        Self { printed, ended }
    }

    /// Returns once so many bytes came.
    ///
    /// # Panics
    /// When the program ends before.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub async fn until(&mut self, bytes: usize) {
        self.printed.wait_for(|length| *length >= bytes).await.expect("it goes on");
    }

    /// What became of it.
    ///
    /// # Panics
    /// When following it does.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    pub async fn end(self) -> (Result<Finished, KeepError>, Printed) {
        self.ended.await.expect("it is followed to its end")
    }
}
