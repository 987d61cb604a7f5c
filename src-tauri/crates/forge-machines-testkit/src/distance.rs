//! A long way to a host: bytes take their time, and round trips are counted.
//!
//! Not every kernel can delay packets, so a relay of TCP does it. Each piece of bytes carries the number of round trips
//! that led to it: what is sent before an answer arrives has the number of what was known then. What is sent at once, in
//! however many pieces, is one round trip; the count does not depend on how fast the machine is.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use forge_machines::MachineConfig;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::Host;

/// How many pieces may be under way in one direction.
const UNDER_WAY: usize = 1024;

/// How much is taken at once.
const PIECE_BYTES: usize = 64 * 1024;

/// A long way to a host. It ends when this is dropped.
#[derive(Debug)]
pub struct Distance {
    port: u16,
    key_name: String,
    trips: Arc<Trips>,
    accepts: JoinHandle<()>,
}

/// How many round trips led to what each end knows.
#[derive(Debug, Default)]
struct Trips {
    here: AtomicU64,
    there: AtomicU64,
}

/// From where bytes come.
#[derive(Debug, Clone, Copy)]
enum From {
    Here,
    There,
}

impl Trips {
    /// The number of what is sent now.
    fn sent(&self, from: From) -> u64 {
        match from {
            From::Here => self.here.load(Ordering::SeqCst) + 1,
            From::There => self.there.load(Ordering::SeqCst),
        }
    }

    /// What was sent with a number arrives at the other end.
    fn arrives(&self, from: From, number: u64) {
        let end = match from {
            From::Here => &self.there,
            From::There => &self.here,
        };
        end.fetch_max(number, Ordering::SeqCst);
    }
}

impl Distance {
    /// A way on which bytes take `round_trip` to go there and back.
    ///
    /// # Errors
    /// When nothing can listen here.
    pub async fn start(host: &Host, round_trip: Duration) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port to listen on")?;
        let port = listener.local_addr()?.port();
        let trips = Arc::new(Trips::default());
        let accepts = tokio::spawn(accept(listener, host.address(), round_trip / 2, Arc::clone(&trips)));
        Ok(Self { port, key_name: host.key_name(), trips, accepts })
    }

    /// The way to the same machine over this distance.
    #[must_use]
    pub fn config(&self, mut config: MachineConfig) -> MachineConfig {
        config.ssh.port = Some(self.port);
        let options = ["HostName=127.0.0.1".to_owned(), format!("HostKeyAlias={}", self.key_name)];
        config.ssh.options.extend(options);
        config
    }

    /// How many round trips were waited for since this began, one after the other.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.trips.here.load(Ordering::SeqCst)
    }
}

impl Drop for Distance {
    fn drop(&mut self) {
        self.accepts.abort();
    }
}

async fn accept(listener: TcpListener, to: String, one_way: Duration, trips: Arc<Trips>) {
    while let Ok((near, _)) = listener.accept().await {
        let (to, trips) = (to.clone(), Arc::clone(&trips));
        tokio::spawn(async move {
            // One that breaks is closed at both ends.
            let _ = join(near, &to, one_way, trips).await;
        });
    }
}

async fn join(near: TcpStream, to: &str, one_way: Duration, trips: Arc<Trips>) -> io::Result<()> {
    let far = TcpStream::connect(to).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
    tokio::try_join!(
        carry(from_near, to_far, From::Here, one_way, &trips),
        carry(from_far, to_near, From::There, one_way, &trips),
    )
    .map(drop)
}

/// Carries bytes in one direction until they end.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    end: From,
    one_way: Duration,
    trips: &Trips,
) -> io::Result<()> {
    let (sender, mut under_way) = mpsc::channel::<(Instant, u64, Vec<u8>)>(UNDER_WAY);
    let send = async move {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let read = from.read(&mut piece).await?;
            let taken = piece.get(..read).unwrap_or_default().to_vec();
            if read == 0 || sender.send((Instant::now() + one_way, trips.sent(end), taken)).await.is_err() {
                return Ok(());
            }
        }
    };
    let deliver = async move {
        while let Some((at, number, piece)) = under_way.recv().await {
            sleep_until(at).await;
            trips.arrives(end, number);
            to.write_all(&piece).await?;
        }
        to.shutdown().await
    };
    tokio::try_join!(send, deliver).map(drop)
}
