//! One connection of an engine.

use std::{io, sync::Arc, time::Duration};

use futures::{SinkExt as _, StreamExt as _};
use tokio::{net::UnixStream, sync::mpsc};
use tokio_util::bytes::Bytes;

use super::{Shared, kept::Kept, trees};
use crate::provided;
use crate::wire::{
    Ask, Frame, PROTOCOL, Refusal, Tell, Wire, bytes_at, message, receive, receive_message, refuse, send,
    wire,
};

/// How much of a spool goes into one frame.
const CHUNK_BYTES: usize = 256 * 1024;

/// Serves a connection until the other side goes.
pub(super) async fn serve(shared: &Arc<Shared>, stream: UnixStream) -> io::Result<()> {
    let mut wire = wire(Box::new(stream));
    let Ask::Hello { protocol, epoch } = receive_message(&mut wire).await? else {
        return refuse(&mut wire, Refusal::Misunderstood("the first message must be a greeting".to_owned()))
            .await;
    };
    if protocol != PROTOCOL {
        return refuse(&mut wire, Refusal::Protocol { theirs: PROTOCOL }).await;
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    send(&mut wire, &Tell::Welcome { protocol: PROTOCOL, version }).await?;
    loop {
        match receive::<Ask>(&mut wire).await? {
            None => return Ok(()),
            Some(Frame::Message(Ask::Lease { orphan_ms })) => return attend(shared, wire, orphan_ms).await,
            Some(Frame::Message(Ask::Open { spec })) => match shared.start(*spec, epoch) {
                Ok((kept, is_new)) => return follow(&kept, wire, 0, is_new).await,
                Err(refusal) => return refuse(&mut wire, refusal).await,
            },
            Some(Frame::Message(Ask::Attach { id, from })) => match shared.find(&id, epoch) {
                Ok(kept) => return follow(&kept, wire, from, false).await,
                Err(refusal) => return refuse(&mut wire, refusal).await,
            },
            Some(Frame::Message(Ask::List)) => send(&mut wire, &Tell::Runs(shared.states())).await?,
            Some(Frame::Message(Ask::Forget { id })) => match shared.forget(&id, epoch).await {
                Ok(()) => send(&mut wire, &Tell::Done).await?,
                Err(refusal) => send(&mut wire, &Tell::Refused(refusal)).await?,
            },
            Some(Frame::Message(Ask::Stand(place))) => trees::stand(shared, &mut wire, &place, epoch).await?,
            Some(Frame::Message(Ask::Receive { place, manner, snapshot, roots })) => {
                let coming = trees::Coming { place, manner, snapshot, roots };
                return trees::receive(shared, &mut wire, coming, epoch).await;
            }
            Some(Frame::Message(Ask::Collect { place, haves })) => {
                return trees::collect(shared, &mut wire, &place, &haves, epoch).await;
            }
            Some(Frame::Message(Ask::Look { place, haves })) => {
                return trees::look(shared, &mut wire, &place, &haves, epoch).await;
            }
            Some(Frame::Message(Ask::Remove { task })) => {
                trees::remove(shared, &mut wire, &task, epoch).await?;
            }
            Some(Frame::Message(Ask::Trees { sizes })) => trees::list(shared, &mut wire, sizes).await?,
            Some(Frame::Message(Ask::Provide(provided))) => {
                let made = blocking(move || provided.make()).await;
                let done = made.map_or_else(Tell::Refused, |()| Tell::Done);
                send(&mut wire, &done).await?;
            }
            Some(Frame::Message(Ask::File { path, most })) => {
                let read = blocking(move || provided::read(&path, most)).await;
                let told = read.map_or_else(Tell::Refused, Tell::File);
                send(&mut wire, &told).await?;
            }
            Some(Frame::Message(Ask::Support)) => {
                send(&mut wire, &Tell::Support(forge_exec::sandbox_support())).await?;
            }
            Some(_) => {
                let why = "no program is open on this connection".to_owned();
                return refuse(&mut wire, Refusal::Misunderstood(why)).await;
            }
        }
    }
}

/// Does something that waits for a disk.
async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    let acted = tokio::task::spawn_blocking(act).await.map_err(io::Error::other).flatten();
    acted.map_err(|error| Refusal::System(error.to_string()))
}

/// An engine is there while this connection is.
async fn attend(shared: &Shared, mut wire: Wire, orphan_ms: u64) -> io::Result<()> {
    let attendance = shared.presence.attend(Duration::from_millis(orphan_ms));
    send(&mut wire, &Tell::Done).await?;
    // Nothing more is said on it: what comes is its end.
    let ended = receive::<Ask>(&mut wire).await;
    drop(attendance);
    ended.map(drop)
}

/// Tells what a program prints from an offset on, and gives it what it is to read.
async fn follow(kept: &Kept, wire: Wire, from: u64, is_new: bool) -> io::Result<()> {
    let replaced = kept.follow();
    kept.begun().await;
    let (mut to_engine, mut from_engine) = wire.split();
    to_engine.send(message(&Tell::Opened(Box::new(kept.opened(is_new).await)))?).await?;
    let (fed, mut to_feed) = mpsc::unbounded_channel::<Feeding>();
    let (told, mut was_fed) = mpsc::unbounded_channel();
    let listen = async {
        while let Some(frame) = receive::<Ask>(&mut from_engine).await? {
            let feeding = match frame {
                Frame::Bytes { offset, bytes } => Some(Feeding::Bytes { offset, bytes }),
                Frame::Message(Ask::EndInput { offset }) => Some(Feeding::End { offset }),
                Frame::Message(Ask::Note(note)) => {
                    kept.note(note);
                    None
                }
                Frame::Message(Ask::Waiting(waits)) => {
                    kept.set_waiting(waits);
                    None
                }
                Frame::Message(Ask::Stop) => {
                    kept.stop();
                    None
                }
                Frame::Message(Ask::Kill) => {
                    kept.kill();
                    None
                }
                Frame::Message(_) => None,
            };
            // The receiver is polled beside this.
            feeding.map(|feeding| fed.send(feeding));
        }
        Ok(())
    };
    // Apart from the rest: a program that does not read keeps nobody from being stopped.
    let feed = async {
        while let Some(feeding) = to_feed.recv().await {
            match feeding {
                Feeding::Bytes { offset, bytes } => {
                    // The receiver is polled beside this.
                    let _ = told.send(kept.feed(offset, &bytes).await);
                }
                Feeding::End { offset } => kept.end_input(offset).await,
            }
        }
        std::future::pending::<()>().await;
    };
    let tell = async {
        let (mut length, mut end) = (kept.spool.length(), kept.end());
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut at = from;
        loop {
            while let Ok(offset) = was_fed.try_recv() {
                to_engine.send(message(&Tell::Fed { offset })?).await?;
            }
            let ended = end.borrow_and_update().clone();
            length.borrow_and_update();
            let read = kept.spool.read(at, &mut buffer)?;
            if read > 0 {
                to_engine.send(bytes_at(at, buffer.get(..read).unwrap_or_default())).await?;
                at += read as u64;
                kept.was_read(at);
                continue;
            }
            if let Some(ended) = ended {
                return to_engine.send(message(&Tell::Ended(ended))?).await;
            }
            tokio::select! {
                _ = length.changed() => {}
                _ = end.changed() => {}
                Some(offset) = was_fed.recv() => to_engine.send(message(&Tell::Fed { offset })?).await?,
            }
        }
    };
    tokio::select! {
        biased;
        // First: whoever took this one's place knows what was given until then.
        () = replaced.cancelled() => Ok(()),
        listened = listen => listened,
        told = tell => told,
        () = feed => Ok(()),
    }
}

/// What is to be given to a program.
enum Feeding {
    Bytes { offset: u64, bytes: Bytes },
    End { offset: u64 },
}
