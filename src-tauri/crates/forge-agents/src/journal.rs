//! What was done to a dialogue from outside, and when: kept with its program, so that an engine that goes on with the
//! run brings a new dialogue to the same state.
//!
//! A dialogue is a state machine: the same lines, commands and stops in the same order leave it in the same state and
//! have it say the same. The lines are in the program's spool; the rest is noted here, each with the number of lines
//! that were heard before it.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use forge_keeper::NoteSender;
use serde::{Deserialize, Serialize};

use crate::{AgentError, LimitKind, RunCommand};

/// Something that was done to a dialogue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Deed {
    /// It was told something.
    Told(RunCommand),
    /// It was stopped.
    Stopped(StopReason),
}

/// Why a dialogue was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopReason {
    /// On request.
    Request,
    /// At a limit.
    Limit(LimitKind),
    /// It was silent for so long.
    Silence(Duration),
}

impl StopReason {
    /// Why a run was stopped whose control says so.
    pub(crate) fn of(error: &AgentError) -> Self {
        match error {
            AgentError::Limit(limit) => Self::Limit(*limit),
            AgentError::Silent { after } => Self::Silence(*after),
            _ => Self::Request,
        }
    }

    pub(crate) const fn error(self) -> AgentError {
        match self {
            Self::Request => AgentError::Cancelled,
            Self::Limit(limit) => AgentError::Limit(limit),
            Self::Silence(after) => AgentError::Silent { after },
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// How many lines were heard before.
    after: u64,
    deed: Deed,
}

/// The notes of one program.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Option<NoteSender>,
    /// Notes of an earlier engine that are still to be done again.
    due: VecDeque<Note>,
    /// Ids of messages that the dialogue was told.
    said: BTreeSet<String>,
    heard: u64,
}

impl Journal {
    /// A journal with what an earlier engine noted.
    pub(crate) fn new(sender: NoteSender, notes: &[Vec<u8>]) -> Self {
        let mut due = VecDeque::new();
        for note in notes {
            match serde_json::from_slice(note) {
                Ok(note) => due.push_back(note),
                Err(error) => tracing::error!(%error, "failed to read a note of an earlier engine"),
            }
        }
        Self { sender: Some(sender), due, said: BTreeSet::new(), heard: 0 }
    }

    /// A journal of a program that could not be started.
    pub(crate) const fn none() -> Self {
        Self { sender: None, due: VecDeque::new(), said: BTreeSet::new(), heard: 0 }
    }

    /// The dialogue heard one more line.
    pub(crate) const fn heard(&mut self) {
        self.heard += 1;
    }

    /// What is to be done again before the next line.
    pub(crate) fn next_due(&mut self) -> Option<Deed> {
        let note = self.due.pop_front_if(|note| note.after <= self.heard)?;
        if let Deed::Told(RunCommand::Say { id, .. }) = &note.deed {
            self.said.insert(id.clone());
        }
        Some(note.deed)
    }

    /// Notes what is about to be done. False when it was done before.
    pub(crate) fn note(&mut self, deed: &Deed) -> bool {
        if let Deed::Told(RunCommand::Say { id, .. }) = deed
            && !self.said.insert(id.clone())
        {
            return false;
        }
        let note = Note { after: self.heard, deed: deed.clone() };
        match (serde_json::to_vec(&note), &self.sender) {
            (Ok(note), Some(sender)) => sender.note(note),
            (Err(error), _) => tracing::error!(%error, "failed to note what a run was told"),
            (Ok(_), None) => {}
        }
        true
    }

    /// Says whether somebody is asked.
    pub(crate) fn set_waiting(&self, waits: bool) {
        if let Some(sender) = &self.sender {
            sender.set_waiting(waits);
        }
    }
}
