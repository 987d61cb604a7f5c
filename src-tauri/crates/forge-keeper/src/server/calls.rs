//! The calls of tools by the programs of one run: they wait for an engine, and each is answered once.
//!
//! Which engine was told of a call is kept with it. The same one is told again after its connection broke: it knows
//! what it did. Another one learns that the call may have been done.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::{bytes::Bytes, sync::CancellationToken};

use crate::wire::{Refusal, Tell};

/// How much the open calls of a run may take, in kibibytes. A program that calls more waits.
const ROOM: u32 = 8 * 1024;

/// What a call takes at least: no more than 64 are open at once.
const LEAST: u32 = ROOM / 64;

/// How many programs of a run may call at once.
const MAX_CALLERS: usize = 32;

/// The calls of one run.
#[derive(Debug)]
pub(super) struct Calls {
    state: Mutex<State>,
    room: Arc<Semaphore>,
    /// Whether calls wait and no engine takes them.
    unattended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Call>,
    /// Programs that call.
    callers: usize,
    next_caller: u64,
    taker: Option<Taker>,
}

#[derive(Debug)]
struct Call {
    call: Bytes,
    /// Who waits for the answer.
    caller: Caller,
    /// The engine that was told of it first.
    told: Option<u64>,
    _room: OwnedSemaphorePermit,
}

/// A program that calls.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    number: u64,
    answers: mpsc::UnboundedSender<Bytes>,
}

/// The engine that takes the calls.
#[derive(Debug)]
struct Taker {
    epoch: u64,
    tells: mpsc::UnboundedSender<Tell>,
    /// Fired when another one takes its place.
    replaced: CancellationToken,
}

impl Taker {
    fn tell(&self, number: u64, call: &mut Call) {
        let was_told = *call.told.get_or_insert(self.epoch) != self.epoch;
        // A connection that broke is followed by another, which is told again.
        let (caller, call) = (call.caller.number, call.call.to_vec());
        let _ = self.tells.send(Tell::Called { number, was_told, caller, call });
    }
}

impl Default for Calls {
    fn default() -> Self {
        let room = Arc::new(Semaphore::new(ROOM as usize));
        Self { state: Mutex::default(), room, unattended: watch::Sender::new(false) }
    }
}

impl Calls {
    /// Whether calls wait and no engine takes them.
    pub(super) fn unattended(&self) -> watch::Receiver<bool> {
        self.unattended.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self, state: &State) {
        let is_unattended = state.taker.is_none() && !state.open.is_empty();
        self.unattended.send_if_modified(|was| std::mem::replace(was, is_unattended) != is_unattended);
    }

    pub(super) fn come(&self, answers: mpsc::UnboundedSender<Bytes>) -> Result<Caller, Refusal> {
        let mut state = self.state();
        if state.callers >= MAX_CALLERS {
            return Err(Refusal::TooManyCallers);
        }
        state.callers += 1;
        state.next_caller += 1;
        Ok(Caller { number: state.next_caller, answers })
    }

    /// A program is gone: nobody waits for its answers.
    pub(super) fn go(&self, caller: &Caller) {
        let mut state = self.state();
        state.callers = state.callers.saturating_sub(1);
        let State { open, taker, .. } = &mut *state;
        open.retain(|number, call| {
            let stays = call.caller.number != caller.number;
            if let (false, Some(taker)) = (stays, &taker) {
                let _ = taker.tells.send(Tell::CallClosed { number: *number });
            }
            stays
        });
        self.changed(&state);
    }

    /// Waits for room, and puts a call to the engine, now or when one takes the calls.
    pub(super) async fn put(&self, call: Bytes, caller: &Caller) {
        let takes = u32::try_from(call.len() / 1024 + 1).unwrap_or(ROOM).clamp(LEAST, ROOM);
        // The semaphore is never closed.
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(takes).await else { return };
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let mut call = Call { call, caller: caller.clone(), told: None, _room: room };
        if let Some(taker) = &state.taker {
            taker.tell(number, &mut call);
        }
        state.open.insert(number, call);
        self.changed(&state);
    }

    /// Takes the place of whoever takes the calls.
    pub(super) fn take(&self, epoch: u64, tells: mpsc::UnboundedSender<Tell>) -> CancellationToken {
        let replaced = CancellationToken::new();
        let taker = Taker { epoch, tells, replaced: replaced.clone() };
        let mut state = self.state();
        let _ = taker.tells.send(Tell::OpenCalls(state.open.keys().copied().collect()));
        for (number, call) in &mut state.open {
            taker.tell(*number, call);
        }
        if let Some(earlier) = state.taker.replace(taker) {
            earlier.replaced.cancel();
        }
        self.changed(&state);
        replaced
    }

    /// An engine takes the calls no longer.
    pub(super) fn leave(&self, tells: &mpsc::UnboundedSender<Tell>) {
        let mut state = self.state();
        state.taker.take_if(|taker| taker.tells.same_channel(tells));
        self.changed(&state);
    }

    /// Answers a call, unless it was answered.
    pub(super) fn answer(&self, number: u64, answer: Bytes, tells: &mpsc::UnboundedSender<Tell>) {
        let mut state = self.state();
        if let Some(call) = state.open.remove(&number) {
            // Whoever is gone needs none.
            let _ = call.caller.answers.send(answer);
        }
        let _ = tells.send(Tell::CallClosed { number });
        self.changed(&state);
    }
}
