//! What engine and keeper say to each other over one stream of bytes.
//!
//! A frame is `[length u32 big-endian][tag u8][rest]`: tag 0 is a message ([`Ask`] or [`Tell`]) in postcard, tag 1 is
//! `[offset u64 little-endian][bytes]`, to the keeper for the program to read, to the engine what the spool holds.
//! The first message of either side is `Hello` and `Welcome`; what an engine asks first may follow `Hello` at once. Within
//! a protocol number messages are only added at the end.

use std::{ffi::OsString, fmt, io, path::PathBuf};

use forge_exec::{Finished, NamedProcess, ProcessIdentity, SandboxSupport, TerminalSize};
use forge_transfer::{Fault, Manner};
use futures::{Sink, SinkExt as _, Stream, StreamExt as _};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::{
    bytes::{BufMut as _, Bytes, BytesMut},
    codec::{Framed, LengthDelimitedCodec},
};

use crate::{
    given::Given,
    provided::Provided,
    task::{Failure, Spec},
    tools::Secret,
};

/// The number of this protocol.
pub const PROTOCOL: u32 = 5;

/// The longest frame. A prompt and an environment go into one.
const MAX_FRAME: usize = 64 * 1024 * 1024;

const MESSAGE: u8 = 0;
const BYTES: u8 = 1;

/// From an engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Who asks.
    Hello { protocol: u32, epoch: u64 },
    /// An engine is there for as long as this connection is. What runs may go on for so long without one.
    Lease { orphan_ms: u64 },
    /// Starts a program, or goes on with it.
    Open { spec: Box<Spec> },
    /// Goes on with a program that was started.
    Attach { id: String, from: u64 },
    /// The program's input ends at this offset.
    EndInput { offset: u64 },
    /// To be given back to whoever opens the run again.
    Note(Vec<u8>),
    /// Whether somebody is asked: limits stand still meanwhile.
    Waiting(bool),
    /// Ends the program: gently, and then by force.
    Stop,
    /// Ends it by force.
    Kill,
    /// What is kept.
    List,
    /// Ends what runs of it, and drops it.
    Forget { id: String },
    /// What a task's worktree holds.
    Stand(TaskTree),
    /// A snapshot of a worktree comes: its pack in bytes, ended by `EndInput`.
    Receive { place: TaskTree, manner: Manner, snapshot: String, roots: Vec<String> },
    /// Takes a snapshot, and tells it less what the asker has.
    Collect { place: TaskTree, haves: Vec<String> },
    /// Removes a task's worktree with all that is kept of it.
    Remove { task: String },
    /// Which tasks have worktrees; with their sizes on demand.
    Trees { sizes: bool },
    /// Makes folders and files.
    Provide(Box<Provided>),
    /// What a file holds, up to a size.
    File { path: PathBuf, most: u64 },
    /// What the kernel can confine.
    Support,
    /// Where the program of the keeper is, and its folder.
    Program,
    /// From a program that the keeper runs: from now on each frame of bytes is a call of a tool. Each is answered by
    /// a frame, in any order, which is empty where there is nothing to answer.
    Call { secret: Secret },
    /// Takes the calls of a run, and those that are open first.
    TakeCalls { run: String, task: String },
    /// The answer to a call; empty where there is nothing to answer.
    Answer { number: u64, answer: Vec<u8> },
    /// Takes a snapshot of a worktree in which programs may be at work, and tells it less what the asker has. What the
    /// worktree was as when it was last sent or fetched is not touched.
    Look { place: TaskTree, haves: Vec<String> },
    /// Starts a program in a terminal of a size, or goes on with it.
    OpenTerminal { spec: Box<Spec>, size: TerminalSize },
    /// Gives the terminal of the program another size.
    Resize(TerminalSize),
    /// Which program runs in the foreground of a terminal.
    Foreground { id: String },
}

/// A task's worktree there, and the environment in which git runs on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskTree {
    pub(crate) task: String,
    pub(crate) project: String,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

/// From a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tell {
    Welcome {
        protocol: u32,
        version: String,
    },
    /// Why it does not do what it was asked.
    Refused(Refusal),
    Opened(Box<OpenedRun>),
    /// How much of the input the program was given.
    Fed {
        offset: u64,
    },
    /// All output was told, and the program is gone.
    Ended(Result<Finished, Failure>),
    Runs(Vec<RunState>),
    Done,
    /// It goes on with what it was asked for.
    Working,
    Stands(Standing),
    /// The snapshot; its pack follows in bytes up to `Done`, unless the asker has it.
    Collected {
        snapshot: String,
        roots: Vec<String>,
        left_out: Vec<PathBuf>,
        follows: bool,
    },
    Trees(Vec<FarTreeState>),
    File(Option<Vec<u8>>),
    Support(SandboxSupport),
    Program {
        program: PathBuf,
        folder: PathBuf,
    },
    /// The calls that are open; each of them is told next.
    OpenCalls(Vec<u64>),
    /// A call that is to be answered.
    Called {
        number: u64,
        /// Whether another engine was told of it: it may have been done.
        was_told: bool,
        /// Which program of the run calls.
        caller: u64,
        call: Vec<u8>,
    },
    /// The answer has arrived, or nobody waits for it any more.
    CallClosed {
        number: u64,
    },
    /// The disk there refuses the program's output, which waits: where; nothing once it takes it again.
    DiskRefuses {
        path: Option<PathBuf>,
    },
    /// The program in the foreground of a terminal, unless it is the one that was started there.
    Foreground(Option<NamedProcess>),
}

/// What a task's worktree holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Where it is, or will be, on that machine.
    pub path: PathBuf,
    /// The snapshot that it was as when it was last sent or fetched.
    pub holds: Option<String>,
    /// Objects that need not be sent.
    pub(crate) haves: Vec<String>,
}

/// A worktree that a keeper has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarTreeState {
    /// Of which task.
    pub task: String,
    /// Of which project.
    pub project: String,
    /// How much of the disk it takes with all that is kept of it.
    pub bytes: Option<u64>,
}

/// What became of a start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenedRun {
    pub(crate) is_new: bool,
    pub(crate) identity: Option<ProcessIdentity>,
    pub(crate) notes: Vec<Vec<u8>>,
    /// What the program was given to read so far, in order.
    pub(crate) given: Vec<Given>,
    /// How long the spool is now.
    pub(crate) spooled: u64,
}

/// Why a keeper refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// Engine and keeper have no protocol in common.
    #[error("the keeper speaks protocol {theirs}, this program speaks {ours}", ours = PROTOCOL)]
    Protocol {
        /// The keeper's.
        theirs: u32,
    },
    /// Nothing with this id is kept.
    #[error("nothing is kept under this id")]
    Unknown,
    /// Another engine, started later, works on the task.
    #[error("another engine, started later, works on this task")]
    OldEpoch,
    /// It was no message, or one at the wrong time.
    #[error("the message was not understood: {0}")]
    Misunderstood(String),
    /// The system refused something.
    #[error("{0}")]
    System(String),
    /// A worktree does not travel.
    #[error("{0}")]
    Transfer(Fault),
    /// As many programs of a run call tools as may at once.
    #[error("too many programs in this run are using Forge's tools at once")]
    TooManyCallers,
    /// The keeper is older than terminals.
    #[error(
        "the keeper is of an earlier version, which runs no terminals; one that runs nothing is replaced"
    )]
    NoTerminals,
}

/// Something that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// The task that it is for.
    pub task: String,
    /// Whether it runs.
    pub is_running: bool,
    /// Its process, once there is one.
    pub identity: Option<ProcessIdentity>,
    /// What was given with the start.
    pub memo: Vec<u8>,
}

/// What came over the wire.
pub(crate) enum Frame<M> {
    Message(M),
    Bytes { offset: u64, bytes: Bytes },
}

/// A stream of bytes between an engine and a keeper.
pub trait ByteStream: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> ByteStream for S {}

/// Such a stream, of whatever kind.
pub type BoxedStream = Box<dyn ByteStream>;

/// One connection.
pub(crate) type Wire = Framed<BoxedStream, LengthDelimitedCodec>;

pub(crate) fn wire(stream: BoxedStream) -> Wire {
    wire_of(stream, MAX_FRAME)
}

/// The same with frames of at most so many bytes.
pub(crate) fn wire_of(stream: BoxedStream, max_frame: usize) -> Wire {
    let codec = LengthDelimitedCodec::builder().max_frame_length(max_frame).new_codec();
    Framed::new(stream, codec)
}

/// A message as a frame.
pub(crate) fn message<M: Serialize>(message: &M) -> io::Result<Bytes> {
    let bytes = postcard::to_extend(message, vec![MESSAGE]).map_err(io::Error::other)?;
    Ok(Bytes::from(bytes))
}

/// Bytes at an offset as a frame.
pub(crate) fn bytes_at(offset: u64, bytes: &[u8]) -> Bytes {
    let mut frame = BytesMut::with_capacity(9 + bytes.len());
    frame.put_u8(BYTES);
    frame.put_u64_le(offset);
    frame.put_slice(bytes);
    frame.freeze()
}

/// Sends a message.
pub(crate) async fn send<M: Serialize>(
    wire: &mut (impl Sink<Bytes, Error = io::Error> + Unpin),
    it: &M,
) -> io::Result<()> {
    wire.send(message(it)?).await
}

/// Says why not.
pub(crate) async fn refuse(
    wire: &mut (impl Sink<Bytes, Error = io::Error> + Unpin),
    refusal: Refusal,
) -> io::Result<()> {
    send(wire, &Tell::Refused(refusal)).await
}

/// The next frame; none when the other side is gone. Nothing is lost when the wait is given up.
pub(crate) async fn receive<M: for<'m> Deserialize<'m>>(
    wire: &mut (impl Stream<Item = io::Result<BytesMut>> + Unpin),
) -> io::Result<Option<Frame<M>>> {
    let Some(frame) = wire.next().await else { return Ok(None) };
    let frame = frame?.freeze();
    match frame.first() {
        Some(&MESSAGE) => {
            let message = postcard::from_bytes(frame.get(1..).unwrap_or_default());
            message.map(|it| Some(Frame::Message(it))).map_err(|error| invalid(&error.to_string()))
        }
        Some(&BYTES) => {
            let offset = frame.get(1..9).and_then(|it| it.first_chunk()).copied();
            let offset = u64::from_le_bytes(offset.ok_or_else(|| invalid("a frame is cut"))?);
            Ok(Some(Frame::Bytes { offset, bytes: frame.slice(9..) }))
        }
        _ => Err(invalid("a frame has an unknown tag")),
    }
}

/// The next frame, which must be a message.
pub(crate) async fn receive_message<M: for<'m> Deserialize<'m>>(
    wire: &mut (impl Stream<Item = io::Result<BytesMut>> + Unpin),
) -> io::Result<M> {
    match receive(wire).await? {
        Some(Frame::Message(message)) => Ok(message),
        Some(Frame::Bytes { .. }) => Err(invalid("bytes came where a message was due")),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
