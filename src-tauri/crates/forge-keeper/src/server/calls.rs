//! The calls of tools by the programs of one run: they wait for an engine, and each is answered once.
//!
//! Which engine was told of a call is kept with it. The same one is told again after its connection broke: it knows
//! what it did. Another one learns that the call may have been done.

use std::{
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{SinkExt as _, StreamExt as _};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio_util::{bytes::Bytes, sync::CancellationToken};

use super::{Shared, kept::Kept};
use crate::{
    mcp::MAX_CALL,
    tools::Secret,
    wire::{Ask, Frame, Refusal, Tell, Wire, bytes_at, message, receive, refuse, send},
};

/// The longest answer.
pub(crate) const MAX_ANSWER: usize = 16 * 1024 * 1024;

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
struct Caller {
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

    fn come(&self, answers: mpsc::UnboundedSender<Bytes>) -> Result<Caller, Refusal> {
        let mut state = self.state();
        if state.callers >= MAX_CALLERS {
            return Err(Refusal::TooManyCallers);
        }
        state.callers += 1;
        state.next_caller += 1;
        Ok(Caller { number: state.next_caller, answers })
    }

    /// A program is gone: nobody waits for its answers.
    fn go(&self, caller: &Caller) {
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
    async fn put(&self, call: Bytes, caller: &Caller) {
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
    fn take(&self, epoch: u64, tells: mpsc::UnboundedSender<Tell>) -> CancellationToken {
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
    fn leave(&self, tells: &mpsc::UnboundedSender<Tell>) {
        let mut state = self.state();
        state.taker.take_if(|taker| taker.tells.same_channel(tells));
        self.changed(&state);
    }

    /// Answers a call, unless it was answered.
    fn answer(&self, number: u64, answer: Bytes, tells: &mpsc::UnboundedSender<Tell>) {
        let mut state = self.state();
        if let Some(call) = state.open.remove(&number) {
            // Whoever is gone needs none.
            let _ = call.caller.answers.send(answer);
        }
        let _ = tells.send(Tell::CallClosed { number });
        self.changed(&state);
    }
}

/// Serves a program of a run that calls tools, until it goes or the run ends.
pub(super) async fn serve(shared: &Shared, mut wire: Wire, secret: &Secret) -> io::Result<()> {
    let Some(kept) = shared.with_secret(secret) else { return refuse(&mut wire, Refusal::Unknown).await };
    let calls = kept.calls();
    let (to_caller, mut answers) = mpsc::unbounded_channel();
    let caller = match calls.come(to_caller) {
        Ok(caller) => caller,
        Err(refusal) => return refuse(&mut wire, refusal).await,
    };
    let served = serve_caller(&kept, wire, &caller, &mut answers).await;
    calls.go(&caller);
    served
}

async fn serve_caller(
    kept: &Kept,
    mut wire: Wire,
    caller: &Caller,
    answers: &mut mpsc::UnboundedReceiver<Bytes>,
) -> io::Result<()> {
    send(&mut wire, &Tell::Done).await?;
    wire.codec_mut().set_max_frame_length(MAX_ANSWER + 1024);
    let (mut to_program, mut from_program) = wire.split();
    let listen = async {
        while let Some(Frame::Bytes { bytes, .. }) = receive::<Ask>(&mut from_program).await? {
            if bytes.len() > MAX_CALL {
                return Err(io::ErrorKind::InvalidData.into());
            }
            kept.calls().put(bytes, caller).await;
        }
        Ok(())
    };
    let answer = async {
        while let Some(answer) = answers.recv().await {
            to_program.send(bytes_at(0, &answer)).await?;
        }
        Ok(())
    };
    tokio::select! {
        listened = listen => listened,
        answered = answer => answered,
        () = kept.ended() => Ok(()),
    }
}

/// Has an engine take the calls of a run, until it goes or another one takes its place.
pub(super) async fn take(shared: &Shared, wire: Wire, run: &str, epoch: u64) -> io::Result<()> {
    let calls = shared.calls_of(run);
    let (tells, mut to_tell) = mpsc::unbounded_channel();
    let replaced = calls.take(epoch, tells.clone());
    let (mut to_engine, mut from_engine) = wire.split();
    let tell = async {
        while let Some(tell) = to_tell.recv().await {
            to_engine.send(message(&tell)?).await?;
        }
        Ok(())
    };
    let listen = async {
        while let Some(frame) = receive::<Ask>(&mut from_engine).await? {
            if let Frame::Message(Ask::Answer { number, answer }) = frame {
                calls.answer(number, answer.into(), &tells);
            }
        }
        Ok(())
    };
    let served = tokio::select! {
        biased;
        // First: whoever took this one's place answers from now on.
        () = replaced.cancelled() => Ok(()),
        told = tell => told,
        listened = listen => listened,
    };
    calls.leave(&tells);
    drop(calls);
    shared.drop_calls();
    served
}
