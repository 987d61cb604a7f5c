//! One program as the engine follows it.

use std::{ffi::OsString, io, time::Duration};

use async_trait::async_trait;
use forge_exec::{ExecError, Finished, Marker, OutputSink, ProcessIdentity, Stdin, TerminalSize};
use futures::stream::SplitStream;
use tokio_util::sync::CancellationToken;

use super::{
    Keeper, is_final,
    pause::Pause,
    sender::{Sender, split},
};
use crate::{
    Given, KeepError, LimitHit,
    record::{self, Content, Record},
    wire::{Ask, Frame, OpenedRun, Tell, Wire, receive},
};

/// Who takes what a kept program prints.
#[async_trait]
pub trait KeptSink: Send {
    /// Takes bytes as they were read.
    async fn output(&mut self, output: Output<'_>) -> io::Result<()>;

    /// Learns that a limit was reached; whoever follows stops the program.
    async fn limit(&mut self, hit: LimitHit);

    /// Everything was told that had been printed when the program was opened: what comes now is new. Called once.
    async fn live(&mut self);

    /// Learns that the disk where the program runs refuses what it prints, and where; nothing once it takes that again.
    /// The program waits meanwhile, and nothing is lost.
    async fn disk_refuses(&mut self, _: Option<&std::path::Path>) {}
}

/// Something that a program printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Output<'b> {
    /// Through which pipe.
    pub stream: forge_exec::Stream,
    /// When it came, in Unix milliseconds.
    pub at_ms: i64,
    /// What, as it was read: at most 64 KiB.
    pub bytes: &'b [u8],
}

/// A plain sink, for programs without limits of their own.
pub struct Plain<'s>(pub &'s mut (dyn OutputSink + Send));

#[async_trait]
impl KeptSink for Plain<'_> {
    async fn output(&mut self, output: Output<'_>) -> io::Result<()> {
        self.0.write(output.stream, output.bytes).await
    }

    async fn limit(&mut self, _: LimitHit) {}

    async fn live(&mut self) {}
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Whether the program was started by this.
    pub is_new: bool,
    /// Its process; none when it could not be started.
    pub identity: Option<ProcessIdentity>,
    /// The notes so far, in order.
    pub notes: Vec<Vec<u8>>,
    /// What the program was given to read so far, in order. What is fed comes behind it.
    pub given: Vec<Given>,
    /// How long the spool was.
    spooled: u64,
}

impl From<OpenedRun> for Opened {
    fn from(run: OpenedRun) -> Self {
        let OpenedRun { is_new, identity, notes, given, spooled } = run;
        Self { is_new, identity, notes, given, spooled }
    }
}

/// What the engine knows of the program without asking.
#[derive(Debug)]
pub(super) struct About {
    pub(super) id: String,
    pub(super) program: OsString,
    pub(super) marker: Marker,
    pub(super) grace: Duration,
}

/// A program that is followed. One that is dropped before its end is killed, unless the keeper
/// [leaves programs running](Keeper::leave_running).
#[derive(Debug)]
pub struct Session {
    keeper: Keeper,
    frames: SplitStream<Wire>,
    sender: Sender,
    opened: Opened,
    about: About,
    stdin: Stdin,
    has_ended: bool,
}

/// Notes what must be known to whoever opens the program again.
#[derive(Debug, Clone)]
pub struct NoteSender(Sender);

impl NoteSender {
    /// Notes something. Whatever is sent to the program afterwards is given to it after the note is kept.
    pub fn note(&self, note: Vec<u8>) {
        self.0.note(note);
    }

    /// Says whether somebody is asked: limits stand still meanwhile.
    pub fn set_waiting(&self, waits: bool) {
        self.0.set_waiting(waits);
    }

    /// Gives the program's terminal another size.
    pub fn resize(&self, size: TerminalSize) {
        self.0.resize(size);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.has_ended && !self.keeper.leaves_running() {
            self.sender.ask(&Ask::Kill);
        }
    }
}

/// How the program's input goes on.
struct Feeding {
    stdin: Stdin,
    offset: u64,
    /// What was sent and not yet given to the program, and where it starts.
    under_way: Option<(u64, Vec<u8>)>,
    has_ended: bool,
}

impl Feeding {
    /// What goes on behind what was given. A whole input that was given is not given again.
    fn new(mut stdin: Stdin, given: &[Given]) -> Self {
        if let (Stdin::Bytes(bytes), false) = (&mut stdin, given.is_empty()) {
            bytes.clear();
        }
        let offset = given.iter().map(Given::length).sum();
        Self { stdin, offset, under_way: None, has_ended: false }
    }

    /// The next bytes to send; none at the end. Waits for as long as earlier ones are under way.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if self.under_way.is_some() || self.has_ended {
            return std::future::pending().await;
        }
        match &mut self.stdin {
            Stdin::Null => std::future::pending().await,
            Stdin::Bytes(bytes) => (!bytes.is_empty()).then(|| std::mem::take(bytes)),
            Stdin::Stream(chunks) => chunks.recv().await,
        }
    }

    fn send(&mut self, bytes: Option<Vec<u8>>, sender: &Sender) {
        match bytes {
            Some(bytes) if bytes.is_empty() => {}
            Some(bytes) => {
                sender.feed(self.offset, &bytes);
                self.under_way = Some((self.offset, bytes));
            }
            None => {
                sender.ask(&Ask::EndInput { offset: self.offset });
                self.has_ended = true;
            }
        }
    }

    fn given(&mut self, offset: u64) {
        if let Some((at, bytes)) = self.under_way.take_if(|(at, bytes)| offset >= *at + bytes.len() as u64) {
            self.offset = at + bytes.len() as u64;
        }
    }

    /// Sends again what may have been lost with a connection.
    fn again(&self, sender: &Sender) {
        if let Some((at, bytes)) = &self.under_way {
            sender.feed(*at, bytes);
        }
        if self.has_ended {
            sender.ask(&Ask::EndInput { offset: self.offset });
        }
    }
}

impl Session {
    pub(super) fn new(keeper: Keeper, wire: Wire, opened: Opened, about: About, stdin: Stdin) -> Self {
        let (frames, sender) = split(wire);
        let sender = Sender::new(sender, opened.notes.len());
        Self { keeper, frames, sender, opened, about, stdin, has_ended: false }
    }

    /// What became of the start.
    #[must_use]
    pub const fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Where notes go.
    #[must_use]
    pub fn notes(&self) -> NoteSender {
        NoteSender(self.sender.clone())
    }

    /// Follows the program from the beginning of its output to its end. Each chunk of a stream that it reads is one
    /// message, which it is given whole or not at all; they come behind [`Opened::given`]. Firing `stop` ends it, gently and then by
    /// force. The keeper keeps it until it is [forgotten](Keeper::forget).
    ///
    /// # Errors
    /// When it could not be started or waited for, when the sink fails, and [`KeepError::Lost`] when its keeper was
    /// killed. Nothing of it runs then. On another machine all this is told by the keeper there, for which it is waited
    /// as long as it takes; one that is dropped meanwhile leaves the program to be found by [`Keeper::runs`].
    pub async fn run(
        mut self,
        stop: &CancellationToken,
        sink: &mut dyn KeptSink,
    ) -> Result<Finished, KeepError> {
        let mut feeding = Feeding::new(std::mem::take(&mut self.stdin), &self.opened.given);
        let mut unread = Unread { at: 0, bytes: Vec::new(), live_at: Some(self.opened.spooled) };
        let mut is_stopping = false;
        unread.tell(sink, None).await.map_err(|source| self.failed_output(source))?;
        loop {
            let frame = tokio::select! {
                biased;
                () = stop.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    self.sender.ask(&Ask::Stop);
                    continue;
                }
                // Before the output: of a program that floods there is always more.
                bytes = feeding.next() => {
                    feeding.send(bytes, &self.sender);
                    continue;
                }
                frame = receive::<Tell>(&mut self.frames) => frame,
            };
            match frame {
                Ok(Some(Frame::Bytes { offset, bytes })) => {
                    unread.skip_to(offset);
                    let patience = is_stopping.then_some(self.about.grace);
                    let told = tokio::select! {
                        told = unread.take(&bytes, sink, patience) => told,
                        () = stuck(stop, self.about.grace), if patience.is_none() => {
                            Err(io::ErrorKind::TimedOut.into())
                        }
                    };
                    told.map_err(|source| self.failed_output(source))?;
                }
                Ok(Some(Frame::Message(Tell::Fed { offset }))) => feeding.given(offset),
                Ok(Some(Frame::Message(Tell::Ended(ended)))) => {
                    self.has_ended = true;
                    return ended.map_err(|failure| KeepError::Run(failure.into_error()));
                }
                Ok(Some(Frame::Message(Tell::DiskRefuses { path }))) => {
                    sink.disk_refuses(path.as_deref()).await;
                }
                Ok(Some(Frame::Message(_))) => {}
                Ok(None) | Err(_) => {
                    self.reconnect(unread.received()).await?;
                    feeding.again(&self.sender);
                    if is_stopping {
                        self.sender.ask(&Ask::Stop);
                    }
                }
            }
        }
    }

    /// The sink fails: the program is killed when this is dropped.
    fn failed_output(&self, source: io::Error) -> KeepError {
        KeepError::Run(ExecError::Output { program: self.about.program.clone(), source })
    }

    /// Goes on after the connection broke. A keeper on another machine is waited for: only it knows what became of the
    /// program.
    async fn reconnect(&mut self, from: u64) -> Result<(), KeepError> {
        let mut pause = Pause::default();
        loop {
            match self.keeper.attach(&self.about.id, from).await {
                Ok(Some((wire, opened))) => {
                    let (frames, sender) = split(wire);
                    self.frames = frames;
                    self.sender.go_by(sender, opened.notes.len());
                    return Ok(());
                }
                Ok(None) => {
                    self.keeper.sweep(&self.about.marker).await;
                    self.has_ended = true;
                    return Err(KeepError::Lost { program: self.about.program.clone() });
                }
                Err(source) => match self.keeper.far() {
                    Some(connector) if !is_final(&source) => pause.until_reachable(connector).await,
                    _ => {
                        self.has_ended = true;
                        return Err(KeepError::NoKeeper { program: self.about.program.clone(), source });
                    }
                },
            }
        }
    }
}

/// Returns when a sink that takes nothing has been waited for long enough after the wish to stop.
async fn stuck(stop: &CancellationToken, patience: Duration) {
    stop.cancelled().await;
    tokio::time::sleep(patience).await;
}

/// What came of the spool and is not told yet: at most the beginning of a record.
struct Unread {
    /// The offset behind what was told.
    at: u64,
    bytes: Vec<u8>,
    /// From where on output is new; none once that was said.
    live_at: Option<u64>,
}

impl Unread {
    const fn received(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// The beginning of what a terminal printed is not kept: what comes begins with a record further on.
    fn skip_to(&mut self, offset: u64) {
        if offset > self.received() {
            self.bytes.clear();
            self.at = offset;
        }
    }

    async fn take(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn KeptSink,
        patience: Option<Duration>,
    ) -> io::Result<()> {
        if self.bytes.is_empty() {
            let told = self.tell_all(bytes, sink, patience).await?;
            self.bytes.extend_from_slice(bytes.get(told..).unwrap_or_default());
            return Ok(());
        }
        self.bytes.extend_from_slice(bytes);
        self.tell(sink, patience).await
    }

    /// Tells what is whole of what is here.
    async fn tell(&mut self, sink: &mut dyn KeptSink, patience: Option<Duration>) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let told = self.tell_all(&bytes, sink, patience).await?;
        bytes.drain(..told);
        self.bytes = bytes;
        Ok(())
    }

    /// Tells the whole records of `bytes`. Returns how much that was.
    async fn tell_all(
        &mut self,
        bytes: &[u8],
        sink: &mut dyn KeptSink,
        patience: Option<Duration>,
    ) -> io::Result<usize> {
        let mut told = 0;
        loop {
            if self.live_at.is_some_and(|live_at| self.at >= live_at) {
                self.live_at = None;
                sink.live().await;
            }
            let Some((record, length)) = record::first_of(bytes.get(told..).unwrap_or_default())? else {
                return Ok(told);
            };
            match patience {
                None => tell(record, sink).await?,
                Some(patience) => tokio::time::timeout(patience, tell(record, sink)).await??,
            }
            told += length;
            self.at += length as u64;
        }
    }
}

async fn tell(record: Record<'_>, sink: &mut dyn KeptSink) -> io::Result<()> {
    match record.content {
        Content::Output(stream, bytes) => sink.output(Output { stream, at_ms: record.at_ms, bytes }).await,
        Content::Limit(hit) => {
            sink.limit(hit).await;
            Ok(())
        }
    }
}
