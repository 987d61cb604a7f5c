//! A way to a machine whose single streams can be broken while its session goes on.

use std::{
    fmt, io,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll},
};

use async_trait::async_trait;
use forge_keeper::{BoxedStream, Connector};
use forge_machines::SshMachine;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_util::sync::CancellationToken;

/// A machine, and what breaks the streams to its keeper.
#[derive(Debug)]
pub(super) struct Way {
    machine: SshMachine,
    broken: Mutex<CancellationToken>,
}

impl Way {
    pub(super) fn new(machine: SshMachine) -> Self {
        Self { machine, broken: Mutex::default() }
    }

    /// Breaks all streams that are open now.
    pub(super) fn break_streams(&self) {
        let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *broken).cancel();
    }
}

#[async_trait]
impl Connector for Way {
    async fn connect(&self) -> io::Result<BoxedStream> {
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let stream = Connector::connect(&self.machine).await?;
        let breaks = Box::pin(broken.clone().cancelled_owned());
        Ok(Box::new(Breakable { stream, broken, breaks }))
    }

    async fn reachable(&self) {
        self.machine.reachable().await;
    }
}

/// A stream that can be broken.
struct Breakable {
    stream: BoxedStream,
    broken: CancellationToken,
    /// Wakes whoever reads: there is always somebody.
    breaks: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Breakable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Breakable").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Breakable {
    fn whole(&mut self) -> io::Result<&mut BoxedStream> {
        if self.broken.is_cancelled() {
            Err(io::ErrorKind::ConnectionReset.into())
        } else {
            Ok(&mut self.stream)
        }
    }
}

impl AsyncRead for Breakable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.broken.is_cancelled() && self.breaks.as_mut().poll(cx).is_pending() {
            return Pin::new(&mut self.stream).poll_read(cx, into);
        }
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl AsyncWrite for Breakable {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.whole()?).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.whole()?).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.whole()?).poll_shutdown(cx)
    }
}
