//! Many streams over one stream of bytes: one session with a machine carries everything.
//!
//! The engine's end opens streams, the [relay](crate::relay) takes them. The first one carries nothing but a pulse, by
//! which the relay notices an engine that is gone without a word, as one on a laptop that sleeps is.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter},
    sync::{mpsc, oneshot},
};
use tokio_util::{
    compat::{Compat, FuturesAsyncReadCompatExt as _, TokioAsyncReadCompatExt as _},
    sync::CancellationToken,
};
use yamux::{Config, Connection, Mode};

use crate::wire::BoxedStream;

/// How many programs, questions and tunnels may be open at once.
const MAX_STREAMS: usize = 4096;

/// How much of a stream goes out at once. Others wait for so much of one that floods.
pub(crate) const FRAME_BYTES: usize = 64 * 1024;

/// The window that each stream has at least.
const LEAST_WINDOW: usize = 256 * 1024;

/// By how much the windows of all streams together may grow: as much is under way on a long line, and as much memory may
/// be taken while nobody reads.
const WINDOW_GROWTH: usize = 8 * 1024 * 1024;

/// The number of the stream that carries the pulse: the first one that an engine opens.
pub(crate) const PULSE: u32 = 1;

/// How often the engine shows that it is there.
pub(crate) const PULSE_EVERY: Duration = Duration::from_secs(15);

/// How long what was sent last has to go out.
const LAST_WORDS: Duration = Duration::from_millis(100);

type Asked = oneshot::Sender<io::Result<yamux::Stream>>;

/// The engine's end. When all clones are dropped, the session ends.
#[derive(Debug, Clone)]
pub struct Mux {
    asks: mpsc::Sender<Asked>,
    closed: CancellationToken,
}

impl Mux {
    /// Carries streams over `stream`, whose other end is a relay that has sent its greeting.
    #[must_use]
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let (asks, to_open) = mpsc::channel(16);
        let closed = CancellationToken::new();
        let connection = Connection::new(whole_frames(stream).compat(), config(), Mode::Client);
        let (pulse, opened) = oneshot::channel();
        tokio::spawn(beat(opened));
        let guard = closed.clone().drop_guard();
        tokio::spawn(async move {
            let _guard = guard;
            drive(connection, to_open, pulse).await;
        });
        Self { asks, closed }
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// When the session has ended.
    pub async fn open(&self) -> io::Result<BoxedStream> {
        let gone = || io::Error::from(io::ErrorKind::NotConnected);
        let (asked, opened) = oneshot::channel();
        self.asks.send(asked).await.map_err(|_| gone())?;
        let stream = opened.await.map_err(|_| gone())??;
        Ok(Box::new(stream.compat()))
    }

    /// Whether the session has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Waits for the end of the session, without keeping it open.
    pub fn when_closed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.closed.clone().cancelled_owned()
    }
}

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.set_max_connection_receive_window(Some(MAX_STREAMS * LEAST_WINDOW + WINDOW_GROWTH));
    config.set_max_num_streams(MAX_STREAMS);
    config.set_split_send_size(FRAME_BYTES);
    config
}

/// Sends a frame with its header: apart, each would be a packet of ssh.
pub(crate) fn whole_frames<T: AsyncWrite>(stream: T) -> BufWriter<T> {
    const HEADERS: usize = 4096;
    BufWriter::with_capacity(FRAME_BYTES + HEADERS, stream)
}

/// Shows that the engine is there, until the session ends.
async fn beat(opened: oneshot::Receiver<io::Result<yamux::Stream>>) {
    let Ok(Ok(pulse)) = opened.await else { return };
    let mut pulse = pulse.compat();
    let mut every = tokio::time::interval(PULSE_EVERY);
    while pulse.write_all(b".").await.is_ok() && pulse.flush().await.is_ok() {
        every.tick().await;
    }
}

/// Moves bytes until the session ends or nobody needs it.
async fn drive<T>(mut connection: Connection<Compat<T>>, mut asks: mpsc::Receiver<Asked>, pulse: Asked)
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let mut asked = Some(pulse);
    let is_broken = poll_fn(|cx| {
        let nobody_asks = open_asked(&mut connection, &mut asks, &mut asked, cx).is_ready();
        match broken(&mut connection, cx) {
            Poll::Pending if nobody_asks => Poll::Ready(false),
            polled => polled.map(|()| true),
        }
    })
    .await;
    if !is_broken {
        // Dropped then, and not closed: closing wakes nobody who waits for a stream.
        let _ = tokio::time::timeout(LAST_WORDS, poll_fn(|cx| broken(&mut connection, cx))).await;
    }
}

/// Moves bytes. Ready when the session ended.
fn broken<T>(connection: &mut Connection<Compat<T>>, cx: &mut Context<'_>) -> Poll<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        match connection.poll_next_inbound(cx) {
            // A relay opens none.
            Poll::Ready(Some(Ok(stream))) => drop(stream),
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "the session with a machine broke");
                return Poll::Ready(());
            }
            Poll::Ready(None) => return Poll::Ready(()),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Opens what is asked for. Ready when nobody can ask any more.
fn open_asked<T>(
    connection: &mut Connection<Compat<T>>,
    asks: &mut mpsc::Receiver<Asked>,
    asked: &mut Option<Asked>,
    cx: &mut Context<'_>,
) -> Poll<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        if asked.is_none() {
            match asks.poll_recv(cx) {
                Poll::Ready(Some(next)) => *asked = Some(next),
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        match connection.poll_new_outbound(cx) {
            Poll::Ready(opened) => {
                if let Some(asked) = asked.take() {
                    // Whoever asked may have gone.
                    let _ = asked.send(opened.map_err(io::Error::other));
                }
            }
            Poll::Pending => return Poll::Pending,
        }
    }
}
