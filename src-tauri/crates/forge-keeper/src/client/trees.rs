//! A task's worktree on another machine: sent there, and fetched back.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use forge_exec::Variables;
use forge_transfer::{Fault, Snapshot, Store, Tree};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use tokio_util::bytes::Bytes;

use super::Keeper;
use crate::{
    Refusal, TransferError,
    wire::{Ask, FarTreeState, Frame, Standing, TaskTree, Tell, Wire, bytes_at, message, receive, send},
};

/// How long nothing may move.
const PATIENCE: Duration = Duration::from_secs(60);

/// The worktree of one task on the machine of a keeper. Each end applies what comes in full or goes on with it later;
/// everything may be repeated.
#[derive(Debug)]
pub struct FarTree {
    keeper: Keeper,
    place: TaskTree,
    path: OnceLock<PathBuf>,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Whether the machine had something else.
    pub changed: bool,
    /// Repositories in the worktree that stay here.
    pub left_out: Vec<PathBuf>,
    /// How much went over the wire.
    pub bytes: u64,
}

/// What was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Whether anything was changed there since it was sent or fetched.
    pub changed: bool,
    /// Repositories in the worktree that stay there.
    pub left_out: Vec<PathBuf>,
    /// How much came over the wire.
    pub bytes: u64,
}

/// A snapshot whose objects are here.
struct Came {
    snapshot: String,
    left_out: Vec<PathBuf>,
    /// How much came over the wire; none when all was here.
    bytes: Option<u64>,
}

/// A snapshot that was told, with the stream by which its objects come.
struct Told {
    wire: Wire,
    snapshot: String,
    left_out: Vec<PathBuf>,
    /// Whether objects come.
    follows: bool,
}

/// What a worktree there was as while programs may have been at work, and is not yet here.
#[derive(Debug)]
pub struct Looked {
    /// The snapshot.
    pub snapshot: String,
    /// How much came over the wire.
    pub bytes: u64,
    store: Store,
}

impl Looked {
    /// Whether the tree here is another one.
    #[must_use]
    pub fn is_news(&self) -> bool {
        self.store.held().as_ref() != Some(&self.snapshot)
    }

    /// Makes the tree here so. What somebody changed in it goes.
    ///
    /// # Errors
    /// What git and the system refuse.
    pub async fn apply(self) -> Result<(), TransferError> {
        self.store.apply(&self.snapshot).await?;
        Ok(self.store.remove_others().await?)
    }
}

impl Keeper {
    /// The worktree that a task has on this keeper's machine, or will have. git runs there in `environment`.
    #[must_use]
    pub fn far_tree(&self, task: &str, project: &str, environment: &Arc<Variables>) -> FarTree {
        let environment = environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let place = TaskTree { task: task.to_owned(), project: project.to_owned(), environment };
        FarTree { keeper: self.clone(), place, path: OnceLock::new() }
    }

    /// Which tasks have worktrees there; with their sizes on demand.
    ///
    /// # Errors
    /// When the machine cannot be reached.
    pub async fn far_trees(&self, sizes: bool) -> Result<Vec<FarTreeState>, TransferError> {
        let mut wire = self.to_transfer(&Ask::Trees { sizes }).await?;
        match answer(&mut wire).await? {
            Tell::Trees(trees) => Ok(trees),
            other => Err(unexpected(&other)),
        }
    }

    /// Puts a question. The answer comes next.
    async fn to_transfer(&self, ask: &Ask) -> Result<Wire, TransferError> {
        let asked = async {
            // A keeper that no engine needs leaves.
            self.attend().await?;
            self.ask(ask).await
        };
        asked.await.map_err(unreachable)
    }
}

impl FarTree {
    /// Where the worktree is on that machine, once [`stand`](Self::stand) or anything else was asked there.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.get().map(PathBuf::as_path)
    }

    /// Asks what the worktree there holds.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub async fn stand(&self) -> Result<Standing, TransferError> {
        self.ask_to_stand().await.map(|(_, standing)| standing)
    }

    async fn ask_to_stand(&self) -> Result<(Wire, Standing), TransferError> {
        let mut wire = self.keeper.to_transfer(&Ask::Stand(self.place.clone())).await?;
        match answer(&mut wire).await? {
            Tell::Stands(standing) => {
                self.path.get_or_init(|| standing.path.clone());
                Ok((wire, standing))
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Makes the worktree there as this one is. Nothing is sent when it was so when it was last sent or fetched.
    ///
    /// # Errors
    /// All of [`TransferError`] but `LocalChanges`. `Foreign` when what is there was not sent or fetched by this store.
    pub async fn send(&self, tree: &Tree) -> Result<Sent, TransferError> {
        let store = tree.open().await?;
        let snapshot = async { Ok::<_, TransferError>(store.snapshot().await?) };
        let (snapshot, (wire, standing)) =
            tokio::try_join!(Box::pin(snapshot), Box::pin(self.ask_to_stand()))?;
        let mut sent = Sent { changed: false, left_out: snapshot.left_out.clone(), bytes: 0 };
        if standing.holds.as_ref() != Some(&snapshot.id) {
            if standing.holds.is_some() && standing.holds != store.held() {
                return Err(TransferError::Foreign);
            }
            let manner = tree.manner.clone().unwrap_or_default();
            sent.bytes = self.send_pack(wire, &store, &snapshot, manner, &standing.haves).await?;
            sent.changed = true;
        }
        store.hold(&snapshot)?;
        Ok(sent)
    }

    async fn send_pack(
        &self,
        mut wire: Wire,
        store: &Store,
        snapshot: &Snapshot,
        manner: forge_transfer::Manner,
        haves: &[String],
    ) -> Result<u64, TransferError> {
        let Snapshot { id, roots, .. } = snapshot.clone();
        ask(&mut wire, &Ask::Receive { place: self.place.clone(), manner, snapshot: id, roots }).await?;
        let mut packing = store.pack(snapshot, haves).await?;
        // Where it refuses, that comes while the pack is sent.
        let (mut to_keeper, mut from_keeper) = wire.split();
        let mut offset = 0;
        while let Some(chunk) = packing.chunk().await? {
            let frame = bytes_at(offset, &chunk);
            offset += chunk.len() as u64;
            deliver(&mut to_keeper, &mut from_keeper, frame).await?;
        }
        let end = message(&Ask::EndInput { offset }).map_err(unreachable)?;
        deliver(&mut to_keeper, &mut from_keeper, end).await?;
        loop {
            match next(&mut from_keeper).await? {
                Frame::Message(Tell::Working) => {}
                Frame::Message(Tell::Done) => return Ok(offset),
                Frame::Message(other) => return Err(unexpected(&other)),
                Frame::Bytes { .. } => return Err(unreachable(io::ErrorKind::InvalidData.into())),
            }
        }
    }

    /// Makes the worktree here as the one there is. Where files here were changed since they were sent or fetched, it
    /// refuses, unless they are to be replaced.
    ///
    /// # Errors
    /// All of [`TransferError`].
    pub async fn fetch(&self, tree: &Tree, replace: bool) -> Result<Fetched, TransferError> {
        let store = tree.open().await?;
        let mut haves = store.haves().await?;
        if replace {
            // Nothing here is as the record says: the snapshot itself is applied, even if it is the one of the record.
            haves.retain(|oid| store.held().as_ref() != Some(oid));
        }
        let changes = async {
            match replace {
                true => Ok(false),
                false => Ok::<bool, TransferError>(store.has_changes().await?),
            }
        };
        // The machine looks meanwhile.
        let (has_changes, told) = tokio::try_join!(Box::pin(changes), Box::pin(self.collect(haves)))?;
        if has_changes {
            return Err(TransferError::LocalChanges);
        }
        self.take(&store, told).await
    }

    /// Fetches it into a tree that has nothing yet, less what that tree's store has of these objects.
    ///
    /// # Errors
    /// All of [`TransferError`] but `LocalChanges`.
    pub async fn fetch_copy(&self, tree: &Tree, known: Vec<String>) -> Result<Fetched, TransferError> {
        let store = tree.open().await?;
        let haves = store.present(known).await?;
        let told = self.collect(haves).await?;
        self.take(&store, told).await
    }

    /// Whether the worktree there is as this snapshot says. Neither end remembers it as a transfer.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub async fn is_still(&self, snapshot: &str) -> Result<bool, TransferError> {
        let haves = vec![snapshot.to_owned()];
        let told = self.told(&Ask::Look { place: self.place.clone(), haves }).await?;
        Ok(told.snapshot == snapshot)
    }

    async fn collect(&self, haves: Vec<String>) -> Result<Told, TransferError> {
        self.told(&Ask::Collect { place: self.place.clone(), haves }).await
    }

    /// Makes the worktree here as the one there was.
    async fn take(&self, store: &Store, told: Told) -> Result<Fetched, TransferError> {
        let Came { snapshot, left_out, bytes } = come(store, told).await?;
        let changed = store.held().as_ref() != Some(&snapshot);
        match bytes {
            // It is the one that this end has, too.
            None => store.hold_on()?,
            Some(_) => store.apply(&snapshot).await?,
        }
        Ok(Fetched { changed, left_out, bytes: bytes.unwrap_or_default() })
    }

    /// Fetches what stands there now, also while programs work there, into a tree of somebody who only looks; `known` is a
    /// snapshot whose objects that tree has. Neither end remembers it as a transfer.
    ///
    /// # Errors
    /// All of [`TransferError`] but `LocalChanges`.
    pub async fn look(&self, tree: &Tree, known: Option<String>) -> Result<Looked, TransferError> {
        let store = tree.open().await?;
        let snapshots: Vec<String> = store.held().into_iter().chain(known).collect();
        let haves = store.haves_of(&snapshots).await?;
        let look = Ask::Look { place: self.place.clone(), haves };
        let Came { snapshot, bytes, .. } = come(&store, self.told(&look).await?).await?;
        Ok(Looked { snapshot, bytes: bytes.unwrap_or_default(), store })
    }

    /// Has a snapshot told.
    async fn told(&self, what: &Ask) -> Result<Told, TransferError> {
        let mut wire = self.keeper.to_transfer(what).await?;
        match answer(&mut wire).await? {
            Tell::Collected { snapshot, left_out, follows, .. } => {
                Ok(Told { wire, snapshot, left_out, follows })
            }
            other => Err(unexpected(&other)),
        }
    }

    /// Removes the worktree there with all that is kept of it. None there is no error.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub async fn remove(&self) -> Result<(), TransferError> {
        let mut wire = self.keeper.to_transfer(&Ask::Remove { task: self.place.task.clone() }).await?;
        match answer(&mut wire).await? {
            Tell::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }
}

/// Stores the objects of a snapshot that was told.
async fn come(store: &Store, told: Told) -> Result<Came, TransferError> {
    let Told { wire, snapshot, left_out, follows } = told;
    if !follows {
        return Ok(Came { snapshot, left_out, bytes: None });
    }
    let mut unpacking = store.unpack().await?;
    let mut came = 0;
    let (_to_keeper, mut from_keeper): (SplitSink<Wire, Bytes>, _) = wire.split();
    loop {
        match next(&mut from_keeper).await? {
            Frame::Bytes { bytes, .. } => {
                unpacking.write(&bytes).await?;
                came += bytes.len() as u64;
            }
            Frame::Message(Tell::Working) => {}
            Frame::Message(Tell::Done) => break,
            Frame::Message(other) => return Err(unexpected(&other)),
        }
    }
    unpacking.finish().await?;
    Ok(Came { snapshot, left_out, bytes: Some(came) })
}

/// Sends a frame, and hears meanwhile whether the keeper refuses.
async fn deliver(
    to_keeper: &mut (impl futures::Sink<Bytes, Error = io::Error> + Unpin),
    from_keeper: &mut SplitStream<Wire>,
    frame: Bytes,
) -> Result<(), TransferError> {
    let mut sending = std::pin::pin!(tokio::time::timeout(PATIENCE, to_keeper.send(frame)));
    loop {
        tokio::select! {
            biased;
            told = next(from_keeper) => match told? {
                Frame::Message(Tell::Working) => {}
                Frame::Message(other) => return Err(unexpected(&other)),
                Frame::Bytes { .. } => return Err(unreachable(io::ErrorKind::InvalidData.into())),
            },
            sent = &mut sending => {
                return match sent {
                    Ok(Ok(())) => Ok(()),
                    // It may have said why before it went.
                    Ok(Err(error)) => match next(from_keeper).await {
                        Ok(Frame::Message(Tell::Refused(refusal))) => Err(refusal.into()),
                        _ => Err(unreachable(error)),
                    },
                    Err(_) => Err(unreachable(io::ErrorKind::TimedOut.into())),
                };
            }
        }
    }
}

async fn ask(wire: &mut Wire, ask: &Ask) -> Result<(), TransferError> {
    let sent = tokio::time::timeout(PATIENCE, send(wire, ask)).await;
    sent.map_err(io::Error::from).and_then(|sent| sent).map_err(unreachable)
}

/// The next frame. The keeper says at least that it goes on.
async fn next(wire: &mut SplitStream<Wire>) -> Result<Frame<Tell>, TransferError> {
    heard(receive::<Tell>(wire)).await
}

async fn heard(
    frame: impl Future<Output = io::Result<Option<Frame<Tell>>>>,
) -> Result<Frame<Tell>, TransferError> {
    let heard = tokio::time::timeout(PATIENCE, frame).await.map_err(io::Error::from).and_then(|heard| heard);
    match heard {
        Ok(Some(frame)) => Ok(frame),
        Ok(None) => Err(unreachable(io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(unreachable(error)),
    }
}

/// The next message, whatever it says.
async fn answered(wire: &mut Wire) -> Result<Tell, TransferError> {
    match heard(receive::<Tell>(wire)).await? {
        Frame::Message(tell) => Ok(tell),
        Frame::Bytes { .. } => Err(unreachable(io::ErrorKind::InvalidData.into())),
    }
}

/// The answer, however long the keeper works on it.
async fn answer(wire: &mut Wire) -> Result<Tell, TransferError> {
    loop {
        match answered(wire).await? {
            Tell::Working => {}
            tell => return Ok(tell),
        }
    }
}

fn unreachable(error: io::Error) -> TransferError {
    match error.get_ref().and_then(|it| it.downcast_ref::<Refusal>()) {
        Some(refusal) => TransferError::Refused(refusal.clone()),
        None => TransferError::Unreachable(error),
    }
}

fn unexpected(tell: &Tell) -> TransferError {
    match tell {
        Tell::Refused(refusal) => refusal.clone().into(),
        _ => TransferError::Refused(Refusal::Transfer(Fault::Damaged {
            what: "the keeper answered something else".to_owned(),
        })),
    }
}
