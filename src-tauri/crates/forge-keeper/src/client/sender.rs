//! The way to the keeper of one program, which outlives each single connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forge_exec::TerminalSize;
use futures::{SinkExt as _, StreamExt as _, stream::SplitStream};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::bytes::Bytes;

use crate::wire::{Ask, Wire, bytes_at, message};

/// The way to the keeper, in order. Clones go on by the connection that follows one that broke.
#[derive(Debug, Clone)]
pub(super) struct Sender(Arc<Mutex<Way>>);

#[derive(Debug)]
struct Way {
    frames: UnboundedSender<Bytes>,
    /// How many notes the keeper had when the program was opened.
    earlier_notes: usize,
    /// What was noted since. It goes again by the next connection where it did not arrive.
    notes: Vec<Vec<u8>>,
    /// Whether somebody is asked, once that was said.
    waits: Option<bool>,
    /// The size of the terminal, once another one was asked for.
    size: Option<TerminalSize>,
}

impl Way {
    /// A connection that is gone is noticed by whoever reads it.
    fn send(&self, frame: Bytes) {
        drop(self.frames.send(frame));
    }

    fn ask(&self, ask: &Ask) {
        match message(ask) {
            Ok(frame) => self.send(frame),
            Err(error) => tracing::error!(%error, "failed to write a message to the keeper"),
        }
    }
}

impl Sender {
    /// Goes by a connection to a keeper that has so many notes.
    pub(super) fn new(frames: UnboundedSender<Bytes>, earlier_notes: usize) -> Self {
        Self(Arc::new(Mutex::new(Way { frames, earlier_notes, notes: Vec::new(), waits: None, size: None })))
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ask(&self, ask: &Ask) {
        self.way().ask(ask);
    }

    pub(super) fn feed(&self, offset: u64, bytes: &[u8]) {
        self.way().send(bytes_at(offset, bytes));
    }

    pub(super) fn note(&self, note: Vec<u8>) {
        let mut way = self.way();
        way.notes.push(note.clone());
        way.ask(&Ask::Note(note));
    }

    pub(super) fn set_waiting(&self, waits: bool) {
        let mut way = self.way();
        way.waits = Some(waits);
        way.ask(&Ask::Waiting(waits));
    }

    pub(super) fn resize(&self, size: TerminalSize) {
        let mut way = self.way();
        way.size = Some(size);
        way.ask(&Ask::Resize(size));
    }

    /// From now on everything goes by another connection, to a keeper that has so many notes.
    pub(super) fn go_by(&self, frames: UnboundedSender<Bytes>, arrived: usize) {
        let mut way = self.way();
        way.frames = frames;
        let arrived = arrived.saturating_sub(way.earlier_notes);
        for note in way.notes.iter().skip(arrived) {
            way.ask(&Ask::Note(note.clone()));
        }
        if let Some(waits) = way.waits {
            way.ask(&Ask::Waiting(waits));
        }
        if let Some(size) = way.size {
            way.ask(&Ask::Resize(size));
        }
    }
}

/// Splits a connection. What is sent goes out beside whatever else happens, also when the session is dropped.
pub(super) fn split(wire: Wire) -> (SplitStream<Wire>, UnboundedSender<Bytes>) {
    let (mut out, frames) = wire.split();
    let (sender, mut frames_out): (_, UnboundedReceiver<Bytes>) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(frame) = frames_out.recv().await {
            if out.send(frame).await.is_err() {
                return;
            }
        }
    });
    (frames, sender)
}
