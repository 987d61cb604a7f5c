//! `forge-keeper relay`: between one session of ssh and the keeper's socket on its machine.
//!
//! The relay starts the keeper when there is none, says in one line what it is connected to, and then joins each
//! [stream](crate::Mux) of the session to a connection with the keeper. It ends with the session; the keeper does not.
//!
//! Where whatever a session starts ends with it, as in a step of a Slurm job, the relay starts no keeper
//! (`forge-keeper attach`): it ends when the keeper is gone, and the next session has another one started.

use std::{
    fs,
    future::poll_fn,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::UnixStream,
    sync::{Notify, oneshot},
};
use tokio_util::compat::{FuturesAsyncReadCompatExt as _, TokioAsyncReadCompatExt as _};
use yamux::{Connection, Mode};

use crate::{
    client::{connect, greet, is_absent, start},
    mux::{FRAME_BYTES, PULSE, PULSE_EVERY, config, whole_frames},
    stdio::{stdin, stdout},
    wire::{PROTOCOL, Refusal},
};

/// How often a keeper that goes just then is started again.
const TRIES: u32 = 5;

/// How many beats of an engine may be missing.
const MISSED_BEATS: u32 = 4;

/// The first word of a greeting.
const NAME: &str = "forge-keeper-relay";

/// What a relay says first, in a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The protocol of the keeper that runs there.
    pub protocol: u32,
    /// When the machine was started, by the name that its kernel gives to that.
    pub boot: String,
    /// Which machine it is; empty where the system has no name for that.
    pub machine: String,
    /// The machine's name for itself.
    pub host_name: String,
}

impl Greeting {
    /// What holds here, for a keeper of this protocol.
    fn here(protocol: u32) -> Self {
        let read =
            |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        Self {
            protocol,
            boot: read("/proc/sys/kernel/random/boot_id"),
            machine: read("/etc/machine-id"),
            host_name: read("/proc/sys/kernel/hostname"),
        }
    }

    fn line(&self) -> String {
        let Self { protocol, boot, machine, host_name } = self;
        format!("{NAME} {protocol} ={boot} ={machine} ={host_name}\n")
    }

    /// Reads a line; none when it is something else, such as what a profile prints.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        // What was printed before may not have ended its line.
        let (_, rest) = line.split_once(NAME)?;
        let mut words = rest.split_whitespace();
        let protocol = words.next()?.parse().ok()?;
        let mut named = || words.next()?.strip_prefix('=').map(str::to_owned);
        Some(Self { protocol, boot: named()?, machine: named()?, host_name: named()? })
    }
}

/// Joins the session that standard input and output are to the keeper in `root`, which is started from `program` when
/// there is none. Without a program, none is started. Returns when the session ends, or when no keeper is there that may
/// not be started.
///
/// # Errors
/// When no keeper can be had, or the session breaks.
pub async fn relay(root: &Path, program: Option<&Path>) -> io::Result<()> {
    let (stdin, mut stdout) = (stdin()?, stdout()?);
    let protocol = match reach(root, program).await {
        Ok(stream) => match greet(Box::new(stream), 0, None).await {
            Ok(_) => PROTOCOL,
            Err(error) => match error.get_ref().and_then(|it| it.downcast_ref::<Refusal>()) {
                Some(Refusal::Protocol { theirs }) => *theirs,
                _ => return Err(error),
            },
        },
        Err(error) => return Err(error),
    };
    stdout.write_all(Greeting::here(protocol).line().as_bytes()).await?;
    stdout.flush().await?;
    serve(tokio::io::join(stdin, stdout), root, program).await
}

async fn serve(
    session: impl AsyncRead + AsyncWrite + Send + Unpin,
    root: &Path,
    program: Option<&Path>,
) -> io::Result<()> {
    let place: Arc<(PathBuf, Option<PathBuf>)> = Arc::new((root.to_owned(), program.map(Path::to_owned)));
    let left = Arc::new(Notify::new());
    let mut connection = Connection::new(whole_frames(session).compat(), config(), Mode::Server);
    let (found, pulse) = oneshot::channel::<yamux::Stream>();
    let silent = async {
        let Ok(pulse) = pulse.await else { return };
        let (mut pulse, mut beat) = (pulse.compat(), [0; 64]);
        let patience = PULSE_EVERY * MISSED_BEATS;
        while let Ok(Ok(1..)) = tokio::time::timeout(patience, pulse.read(&mut beat)).await {}
    };
    let carry_all = async {
        let mut found = Some(found);
        while let Some(stream) = poll_fn(|cx| connection.poll_next_inbound(cx)).await {
            let (stream, place) = (stream.map_err(io::Error::other)?, Arc::clone(&place));
            let left = Arc::clone(&left);
            if stream.id().val() == PULSE {
                // Who watches it is polled beside this.
                found.take().map(|found| found.send(stream));
                continue;
            }
            tokio::spawn(async move {
                // The engine asks again on another stream.
                if let Err(error) = carry(stream, &place.0, place.1.as_deref()).await {
                    tracing::debug!(%error, "a stream broke");
                    if place.1.is_none() && is_absent(&error) {
                        left.notify_one();
                    }
                }
            });
        }
        Ok(())
    };
    tokio::select! {
        carried = carry_all => carried,
        () = silent => Ok(()),
        () = left.notified() => Ok(()),
    }
}

async fn carry(stream: yamux::Stream, root: &Path, program: Option<&Path>) -> io::Result<()> {
    let mut keeper = reach(root, program).await?;
    let mut stream = stream.compat();
    tokio::io::copy_bidirectional_with_sizes(&mut stream, &mut keeper, FRAME_BYTES, FRAME_BYTES)
        .await
        .map(drop)
}

/// A connection to the keeper. One that is just about to leave is followed by another.
async fn reach(root: &Path, program: Option<&Path>) -> io::Result<UnixStream> {
    let mut tries = 1;
    loop {
        match (connect(root).await, program) {
            (Err(error), Some(program)) if is_absent(&error) && tries < TRIES => start(program, root).await?,
            (reached, _) => return reached,
        }
        tries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greeting_is_found_behind_what_a_profile_prints() {
        let greeting = Greeting {
            protocol: 7,
            boot: "b-1".to_owned(),
            machine: String::new(),
            host_name: "far".to_owned(),
        };
        assert_eq!(Greeting::read(&greeting.line()), Some(greeting.clone()));
        assert_eq!(Greeting::read(&format!("Welcome! {}", greeting.line())), Some(greeting));
        assert_eq!(Greeting::read("Last login: Monday\n"), None);
        assert_eq!(Greeting::read("forge-keeper-relay x\n"), None);
    }
}
