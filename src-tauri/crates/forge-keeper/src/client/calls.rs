//! The calls of tools that the programs of a run make, as an engine takes and answers them.

use std::{collections::HashMap, io, path::PathBuf, sync::Arc};

use async_trait::async_trait;
use futures::{SinkExt as _, StreamExt as _};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::{ANSWERS_WITHIN, Keeper, answer_within, is_final, pause::Pause, unexpected};
use crate::wire::{Ask, Frame, Tell, Wire, message, receive};

/// Who answers the calls of a run.
#[async_trait]
pub trait CallAnswerer: Send + Sync + 'static {
    /// Does what a call says that the `caller`th program of the run makes. None where there is nothing to answer. Dropped
    /// when nobody waits for the answer any more.
    async fn answer(&self, caller: u64, call: &[u8]) -> Option<Vec<u8>>;

    /// Answers a call that an engine that is gone was told of: whether it did it is not known.
    fn unknown(&self, call: &[u8]) -> Option<Vec<u8>>;
}

/// How a program starts the server of its tools: the program with `mcp` and the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpProgram {
    /// The keeper's program.
    pub program: PathBuf,
    /// The folder of the keeper.
    pub folder: PathBuf,
}

/// What this engine did with a call.
enum Known {
    Answering(AbortHandle),
    /// Kept until the keeper has it.
    Answered(Vec<u8>),
}

/// The calls that this engine knows of.
struct Taken {
    answerer: Arc<dyn CallAnswerer>,
    known: HashMap<u64, Known>,
    answering: JoinSet<Option<Vec<u8>>>,
    /// The calls that are worked on.
    calls: HashMap<Id, (u64, Arc<Vec<u8>>)>,
}

impl Keeper {
    /// The program by which programs that the keeper runs call tools.
    ///
    /// # Errors
    /// When the keeper cannot be asked.
    pub async fn mcp_program(&self) -> io::Result<McpProgram> {
        match self.asked(&Ask::Program, ANSWERS_WITHIN).await? {
            Tell::Program { program, folder } => Ok(McpProgram { program, folder }),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes the calls of tools that the programs of a run make, and has each answered once. Goes on after the
    /// connection broke, for as long as this is polled; returns when the keeper refuses, or one of this computer is gone.
    pub async fn take_calls(&self, run: &str, task: &str, answerer: Arc<dyn CallAnswerer>) {
        let mut taken =
            Taken { answerer, known: HashMap::new(), answering: JoinSet::new(), calls: HashMap::new() };
        let mut pause = Pause::default();
        loop {
            let ask = Ask::TakeCalls { run: run.to_owned(), task: task.to_owned() };
            let error = match self.begin_calls(&ask).await {
                Ok((wire, open)) => {
                    pause = Pause::default();
                    taken.keep(&open);
                    match taken.serve(wire).await {
                        Ok(()) => io::ErrorKind::UnexpectedEof.into(),
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            match self.far() {
                Some(connector) if !is_final(&error) => {
                    tracing::debug!(%error, run, "the calls of a run wait");
                    // What is done already is known to the next connection.
                    tokio::select! {
                        () = pause.until_reachable(connector) => {}
                        never = taken.go_on() => match never {},
                    }
                }
                _ => {
                    tracing::warn!(%error, run, "nobody takes the calls of a run any more");
                    return;
                }
            }
        }
    }

    async fn begin_calls(&self, ask: &Ask) -> io::Result<(Wire, Vec<u64>)> {
        let mut wire = self.ask(ask).await?;
        match answer_within(&mut wire, ANSWERS_WITHIN).await? {
            Tell::OpenCalls(open) => Ok((wire, open)),
            other => Err(unexpected(&other)),
        }
    }
}

impl Taken {
    /// Answers what comes, until the connection breaks.
    async fn serve(&mut self, wire: Wire) -> io::Result<()> {
        let (mut to_keeper, mut from_keeper) = wire.split();
        loop {
            let (number, answer) = tokio::select! {
                Some(done) = self.answering.join_next_with_id() => match self.answered(done) {
                    Some(answered) => answered,
                    None => continue,
                },
                frame = receive::<Tell>(&mut from_keeper) => match frame? {
                    None => return Ok(()),
                    Some(Frame::Message(Tell::Called { number, was_told, caller, call })) => {
                        match self.called(number, was_told, (caller, call)) {
                            Some(answer) => (number, answer),
                            None => continue,
                        }
                    }
                    Some(Frame::Message(Tell::CallClosed { number })) => {
                        self.closed(number);
                        continue;
                    }
                    Some(_) => continue,
                },
            };
            to_keeper.send(message(&Ask::Answer { number, answer })?).await?;
        }
    }

    /// Notes what is done while the keeper cannot be told.
    async fn go_on(&mut self) -> std::convert::Infallible {
        while let Some(done) = self.answering.join_next_with_id().await {
            self.answered(done);
        }
        std::future::pending().await
    }

    /// The answer to a call, if this engine has it already; otherwise it works on it.
    fn called(&mut self, number: u64, was_told: bool, (caller, call): (u64, Vec<u8>)) -> Option<Vec<u8>> {
        match self.known.get(&number) {
            Some(Known::Answered(answer)) => return Some(answer.clone()),
            Some(Known::Answering(_)) => return None,
            None if was_told => {
                let answer = self.answerer.unknown(&call).unwrap_or_default();
                self.known.insert(number, Known::Answered(answer.clone()));
                return Some(answer);
            }
            None => {}
        }
        let (answerer, call) = (Arc::clone(&self.answerer), Arc::new(call));
        let worked_on = Arc::clone(&call);
        let handle = self.answering.spawn(async move { answerer.answer(caller, &worked_on).await });
        self.calls.insert(handle.id(), (number, call));
        self.known.insert(number, Known::Answering(handle));
        None
    }

    fn answered(&mut self, done: Result<(Id, Option<Vec<u8>>), JoinError>) -> Option<(u64, Vec<u8>)> {
        let id = done.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let (number, call) = self.calls.remove(&id)?;
        // One that nobody waits for was dropped.
        let known = self.known.get_mut(&number)?;
        let answer = match done {
            Ok((_, answer)) => answer,
            Err(error) => {
                tracing::error!(%error, "failed to answer a call");
                self.answerer.unknown(&call)
            }
        };
        let answer = answer.unwrap_or_default();
        *known = Known::Answered(answer.clone());
        Some((number, answer))
    }

    /// Drops what is not open any more.
    fn keep(&mut self, open: &[u64]) {
        let closed: Vec<u64> = self.known.keys().copied().filter(|number| !open.contains(number)).collect();
        closed.into_iter().for_each(|number| self.closed(number));
    }

    /// Nothing of a call is needed any more.
    fn closed(&mut self, number: u64) {
        if let Some(Known::Answering(handle)) = self.known.remove(&number) {
            handle.abort();
        }
    }
}
