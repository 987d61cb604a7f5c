//! One connection of an engine.

use std::{io, path::Path, sync::Arc, time::Duration};

use futures::{SinkExt as _, StreamExt as _};
use tokio::{net::UnixStream, sync::mpsc};
use tokio_util::bytes::Bytes;

use super::{Shared, callers, kept::Kept, trees};
use crate::provided;
use crate::wire::{
    Ask, Frame, PROTOCOL, Refusal, Tell, Wire, bytes_at, message, receive, receive_message, refuse, send,
    wire, wire_of,
};

/// How much of a spool goes into one frame.
const CHUNK_BYTES: usize = 256 * 1024;

/// How long a program that is kept has to say what it wants.
const PROGRAM_SPEAKS_WITHIN: Duration = Duration::from_secs(10);

/// The longest message of a program that has not shown its secret.
const MAX_FIRST_WORDS: usize = 4096;

/// Greets the other side. Its epoch; none when it was refused.
async fn greet(wire: &mut Wire) -> io::Result<Option<u64>> {
    let Ask::Hello { protocol, epoch } = receive_message(wire).await? else {
        let why = "the first message must be a greeting".to_owned();
        return refuse(wire, Refusal::Misunderstood(why)).await.map(|()| None);
    };
    if protocol != PROTOCOL {
        return refuse(wire, Refusal::Protocol { theirs: PROTOCOL }).await.map(|()| None);
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    send(wire, &Tell::Welcome { protocol: PROTOCOL, version }).await?;
    Ok(Some(epoch))
}

/// Serves a program that is kept here, which may call tools and nothing else.
pub(super) async fn serve_program(shared: &Shared, stream: UnixStream) -> io::Result<()> {
    let mut wire = wire_of(Box::new(stream), MAX_FIRST_WORDS);
    let first = async {
        Ok::<_, io::Error>(match greet(&mut wire).await? {
            Some(_) => Some(receive_message::<Ask>(&mut wire).await?),
            None => None,
        })
    };
    match tokio::time::timeout(PROGRAM_SPEAKS_WITHIN, first).await.map_err(io::Error::other)?? {
        None => Ok(()),
        Some(Ask::Call { secret }) => callers::serve(shared, wire, &secret).await,
        Some(_) => {
            tracing::warn!("a program that is kept here tried to speak with its keeper");
            let why = "a program that is kept may call tools, and nothing else".to_owned();
            refuse(&mut wire, Refusal::Misunderstood(why)).await
        }
    }
}

/// Serves a connection until the other side goes.
pub(super) async fn serve(shared: &Arc<Shared>, stream: UnixStream) -> io::Result<()> {
    let mut wire = wire(Box::new(stream));
    let Some(epoch) = greet(&mut wire).await? else { return Ok(()) };
    loop {
        match receive::<Ask>(&mut wire).await? {
            None => return Ok(()),
            Some(Frame::Message(Ask::Lease { orphan_ms })) => return attend(shared, wire, orphan_ms).await,
            Some(Frame::Message(Ask::Open { spec })) => match shared.start(*spec, epoch) {
                Ok((kept, is_new)) => return follow(shared, &kept, wire, (0, is_new)).await,
                Err(refusal) => return refuse(&mut wire, refusal).await,
            },
            Some(Frame::Message(Ask::OpenTerminal { mut spec, size })) => {
                spec.terminal = Some(size);
                match shared.start(*spec, epoch) {
                    Ok((kept, is_new)) => return follow(shared, &kept, wire, (0, is_new)).await,
                    Err(refusal) => return refuse(&mut wire, refusal).await,
                }
            }
            Some(Frame::Message(Ask::Foreground { id })) => match shared.find(&id, epoch) {
                Ok(kept) => {
                    let program = blocking(&shared.root, move || Ok(kept.foreground())).await;
                    send(&mut wire, &program.map_or_else(Tell::Refused, Tell::Foreground)).await?;
                }
                Err(refusal) => send(&mut wire, &Tell::Refused(refusal)).await?,
            },
            Some(Frame::Message(Ask::Attach { id, from })) => match shared.find(&id, epoch) {
                Ok(kept) => return follow(shared, &kept, wire, (from, false)).await,
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
                let made = blocking(&shared.root, move || provided.make()).await;
                let done = made.map_or_else(Tell::Refused, |()| Tell::Done);
                send(&mut wire, &done).await?;
            }
            Some(Frame::Message(Ask::File { path, most })) => {
                let read = blocking(&shared.root, move || provided::read(&path, most)).await;
                let told = read.map_or_else(Tell::Refused, Tell::File);
                send(&mut wire, &told).await?;
            }
            Some(Frame::Message(Ask::Support)) => {
                send(&mut wire, &Tell::Support(forge_exec::sandbox_support())).await?;
            }
            Some(Frame::Message(Ask::Program)) => {
                let told = match shared.program.clone() {
                    Some(program) => Tell::Program { program, folder: shared.root.clone() },
                    None => {
                        Tell::Refused(Refusal::System("this keeper has no program of its own".to_owned()))
                    }
                };
                send(&mut wire, &told).await?;
            }
            Some(Frame::Message(Ask::Call { secret })) => return callers::serve(shared, wire, &secret).await,
            Some(Frame::Message(Ask::TakeCalls { run, task })) => match shared.admit(&task, epoch) {
                Ok(()) => return callers::take(shared, wire, &run, epoch).await,
                Err(refusal) => return refuse(&mut wire, refusal).await,
            },
            Some(_) => {
                let why = "no program is open on this connection".to_owned();
                return refuse(&mut wire, Refusal::Misunderstood(why)).await;
            }
        }
    }
}

/// Does something that waits for a disk.
async fn blocking<T: Send + 'static>(
    root: &Path,
    act: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Refusal> {
    let acted = tokio::task::spawn_blocking(act).await.map_err(io::Error::other).flatten();
    acted.map_err(|error| trees::system(&error, root))
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
async fn follow(shared: &Shared, kept: &Kept, wire: Wire, (from, is_new): (u64, bool)) -> io::Result<()> {
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
                Frame::Message(Ask::Resize(size)) => {
                    kept.resize(size);
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
        let (mut length, mut end, mut refused) = (kept.spool.length(), kept.end(), kept.refused());
        let mut is_refused = false;
        let mut buffer = vec![0; CHUNK_BYTES];
        let mut at = from;
        loop {
            while let Ok(offset) = was_fed.try_recv() {
                to_engine.send(message(&Tell::Fed { offset })?).await?;
            }
            let ended = end.borrow_and_update().clone();
            length.borrow_and_update();
            let (from, read) = kept.spool.read(at, &mut buffer)?;
            if read > 0 {
                to_engine.send(bytes_at(from, buffer.get(..read).unwrap_or_default())).await?;
                at = from + read as u64;
                kept.was_read(at);
                continue;
            }
            let refuses = *refused.borrow_and_update();
            if std::mem::replace(&mut is_refused, refuses) != refuses {
                let path = refuses.then(|| shared.root.clone());
                to_engine.send(message(&Tell::DiskRefuses { path })?).await?;
            }
            if let Some(ended) = ended {
                return to_engine.send(message(&Tell::Ended(ended))?).await;
            }
            tokio::select! {
                _ = length.changed() => {}
                _ = end.changed() => {}
                _ = refused.changed() => {}
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
