//! The two ends of calls of tools: programs that call, and the engine that answers.

use std::io;

use futures::{SinkExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio_util::bytes::Bytes;

use super::{Shared, calls::Caller, kept::Kept};
use crate::{
    tools::{MAX_ANSWER, MAX_CALL, Secret},
    wire::{Ask, Frame, Refusal, Tell, Wire, bytes_at, message, receive, refuse, send},
};

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
