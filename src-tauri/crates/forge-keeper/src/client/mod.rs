//! The engine's end: finding or starting the keeper, and what is asked of it beside a program's own connection.

mod calls;
mod lease;
mod pause;
mod sender;
mod session;
mod trees;

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use forge_exec::{Marker, NamedProcess, SandboxSupport, start_apart};
use futures::SinkExt as _;
use tokio::{net::UnixStream, sync::OnceCell, task::JoinHandle};

pub use calls::{CallAnswerer, McpProgram};
pub use session::{KeptSink, NoteSender, Opened, Output, Plain, Session};
pub use trees::{FarTree, Fetched, Looked, Sent};

use crate::{
    BoxedStream, Connector, KeepError, KeptRun, Place, Provided, Server,
    place::socket_path,
    task::Spec,
    wire::{Ask, PROTOCOL, Refusal, RunState, Tell, Wire, message, receive_message, send, wire},
};

pub use pause::Pause;

/// How often a keeper that goes just then is asked again.
const TRIES: u32 = 5;

/// How long a keeper may take to answer. One that hangs is an error, and nobody waits for it for ever.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The same for what holds files, over a slow line.
const WRITES_WITHIN: Duration = Duration::from_secs(600);

/// Of what is asked first, so many bytes go with the greeting; what is longer follows when that is answered.
const MOST_WITH_GREETING: usize = 64 * 1024;

/// Between two of them.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// From the gentle signal to the kill of what a keeper left that was killed.
const GRACE: Duration = Duration::from_secs(2);

/// The keeper of one engine. Cheap to clone; all clones are the same.
#[derive(Debug, Clone)]
pub struct Keeper {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    place: Place,
    epoch: u64,
    within: OnceCell<Server>,
    /// How long programs may go on without this engine, and what holds the connection that says it is there.
    lease: tokio::sync::Mutex<Lease>,
    leaves_running: AtomicBool,
}

#[derive(Debug)]
struct Lease {
    patience: Duration,
    holder: Option<JoinHandle<()>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(holder) = self.lease.get_mut().holder.take() {
            holder.abort();
        }
    }
}

impl Keeper {
    /// The keeper in the folder `root`, for an engine whose `epoch` is higher than that of each earlier one on its data and on
    /// copies of them. Programs may go on for
    /// `patience` without it: a far keeper takes a lost connection for a lost engine, so that one needs more of it.
    /// Nothing is started yet. Where a far keeper has its folder is its [`Connector`]'s affair.
    #[must_use]
    pub fn new(root: PathBuf, place: Place, epoch: u64, patience: Duration) -> Self {
        let inner = Inner {
            root,
            place,
            epoch,
            within: OnceCell::new(),
            lease: tokio::sync::Mutex::new(Lease { patience, holder: None }),
            leaves_running: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Starts a program, or goes on with it when its id was started before.
    ///
    /// On another machine, one that was started already, or that may have been since the answer got lost, is waited for
    /// until the machine can be reached: whoever does not want to wait drops this.
    ///
    /// # Errors
    /// `NoKeeper` when no keeper can be had and nothing was started, `Lost` when the program is to be gone on with and is
    /// not there. Why the program itself could not be started is told by [`Session::run`].
    pub async fn open(&self, run: KeptRun) -> Result<Session, KeepError> {
        let (program, goes_on) = (run.command.program.clone(), run.goes_on);
        let no_keeper = |source| KeepError::NoKeeper { program: program.clone(), source };
        let (spec, stdin) = Spec::of(run)?;
        let about = session::About {
            id: spec.id.clone(),
            program: program.clone(),
            marker: spec.marker.clone(),
            grace: spec.grace,
        };
        let ask = match spec.terminal {
            _ if goes_on => Ask::Attach { id: about.id.clone(), from: 0 },
            Some(size) => Ask::OpenTerminal { spec: Box::new(spec), size },
            None => Ask::Open { spec: Box::new(spec) },
        };
        let (mut pause, mut may_run) = (Pause::default(), goes_on);
        let opened = loop {
            match self.try_open(&ask, &mut may_run).await {
                Ok(opened) => break opened,
                Err(error) => match self.far() {
                    Some(connector) if may_run && !is_final(&error) => pause.until_reachable(connector).await,
                    _ => return Err(no_keeper(error)),
                },
            }
        };
        let Some((wire, opened)) = opened else {
            self.sweep(&about.marker).await;
            return Err(KeepError::Lost { program });
        };
        Ok(Session::new(self.clone(), wire, opened, about, stdin))
    }

    /// What is kept, whether it runs or has ended; nothing when no keeper is there. One that keeps something for this
    /// engine learns that the engine is there.
    ///
    /// # Errors
    /// When the keeper cannot be asked.
    pub async fn runs(&self) -> io::Result<Vec<RunState>> {
        let Some(mut wire) = self.connect(false, None).await? else { return Ok(Vec::new()) };
        // Said first: it must not leave between two questions.
        self.attend().await?;
        send(&mut wire, &Ask::List).await?;
        match answer_within(&mut wire, ANSWERS_WITHIN).await? {
            Tell::Runs(runs) => Ok(runs),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends what still runs of a program, and has the keeper drop it. One that is not known is no error.
    ///
    /// # Errors
    /// When the keeper cannot be asked, or refuses.
    pub async fn forget(&self, id: &str) -> io::Result<()> {
        let ask = Ask::Forget { id: id.to_owned() };
        let Some(mut wire) = self.connect(false, Some(&ask)).await? else { return Ok(()) };
        match answer_within(&mut wire, ANSWERS_WITHIN).await? {
            Tell::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// The program in the foreground of a terminal, unless it is the one that was started there; none when the terminal is
    /// not known.
    ///
    /// # Errors
    /// When the keeper cannot be asked.
    pub async fn foreground(&self, id: &str) -> io::Result<Option<NamedProcess>> {
        let ask = Ask::Foreground { id: id.to_owned() };
        let Some(mut wire) = self.connect(false, Some(&ask)).await? else { return Ok(None) };
        match answer_within(&mut wire, ANSWERS_WITHIN).await? {
            Tell::Foreground(program) => Ok(program),
            Tell::Refused(Refusal::Unknown) => Ok(None),
            other => Err(unexpected(&other)),
        }
    }

    /// The epoch of the engine: of those that work on a task, only the one with the highest may go on.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.inner.epoch
    }

    /// Makes folders and files where the keeper is.
    ///
    /// # Errors
    /// When the keeper cannot be asked, or something cannot be made.
    pub async fn provide(&self, provided: &Provided) -> io::Result<()> {
        match self.asked(&Ask::Provide(Box::new(provided.clone())), WRITES_WITHIN).await? {
            Tell::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// What a file holds where the keeper is, up to a size; none when there is none.
    ///
    /// # Errors
    /// When the keeper cannot be asked, or the file cannot be read.
    pub async fn file(&self, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
        match self.asked(&Ask::File { path: path.to_owned(), most }, WRITES_WITHIN).await? {
            Tell::File(content) => Ok(content),
            other => Err(unexpected(&other)),
        }
    }

    /// What the kernel can confine where the keeper is.
    ///
    /// # Errors
    /// When the keeper cannot be asked.
    pub async fn sandbox_support(&self) -> io::Result<SandboxSupport> {
        match self.asked(&Ask::Support, ANSWERS_WITHIN).await? {
            Tell::Support(support) => Ok(support),
            other => Err(unexpected(&other)),
        }
    }

    /// Puts a question to a keeper, which is started when there is none. The answer comes next.
    async fn ask(&self, ask: &Ask) -> io::Result<Wire> {
        self.connect(true, Some(ask)).await?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Asks a keeper, which is started when there is none.
    async fn asked(&self, ask: &Ask, within: Duration) -> io::Result<Tell> {
        answer_within(&mut self.ask(ask).await?, within).await
    }

    /// Says how long programs may go on without this engine from now on.
    ///
    /// # Errors
    /// When the keeper that is there cannot be told.
    pub async fn set_patience(&self, patience: Duration) -> io::Result<()> {
        let earlier = {
            let mut lease = self.inner.lease.lock().await;
            lease.patience = patience;
            lease.holder.take()
        };
        // One that counts down since an earlier engine went learns of it, too.
        let told = match earlier.is_some() || self.connect(false, None).await?.is_some() {
            true => self.attend().await,
            false => Ok(()),
        };
        // Not before: without any engine, programs might be ended at once.
        if let Some(earlier) = earlier {
            earlier.abort();
        }
        told
    }

    /// Whether programs can go on without this engine: not where it keeps them itself.
    #[must_use]
    pub fn outlives_engine(&self) -> bool {
        matches!(self.inner.place, Place::Program(_) | Place::Far(_))
    }

    /// The way to a keeper on another machine, when it is there.
    fn far(&self) -> Option<&dyn Connector> {
        match &self.inner.place {
            Place::Far(connector) => Some(&**connector),
            Place::Program(_) | Place::Within => None,
        }
    }

    /// From now on a [`Session`] that is dropped leaves its program running.
    pub fn leave_running(&self) {
        self.inner.leaves_running.store(true, Ordering::Relaxed);
    }

    fn leaves_running(&self) -> bool {
        self.inner.leaves_running.load(Ordering::Relaxed)
    }

    /// Tells the keeper that this engine is there, and starts it when there is none.
    async fn attend(&self) -> io::Result<()> {
        let mut lease = self.inner.lease.lock().await;
        if lease.holder.as_ref().is_some_and(|holder| !holder.is_finished()) {
            return Ok(());
        }
        let wire = self.lease(lease.patience).await?;
        lease.holder = Some(tokio::spawn(lease::hold(Arc::downgrade(&self.inner), wire)));
        Ok(())
    }

    /// Says on a connection of its own that this engine is there: it is for as long as that is open.
    async fn lease(&self, patience: Duration) -> io::Result<Wire> {
        let orphan_ms = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
        let mut wire = self.ask(&Ask::Lease { orphan_ms }).await?;
        match answer_within(&mut wire, ANSWERS_WITHIN).await? {
            Tell::Done => Ok(wire),
            other => Err(unexpected(&other)),
        }
    }

    /// Opens or attaches. From `was_sent` on, the program may have been started.
    async fn try_open(&self, ask: &Ask, was_sent: &mut bool) -> io::Result<Option<(Wire, Opened)>> {
        self.attend().await?;
        let starts = matches!(ask, Ask::Open { .. } | Ask::OpenTerminal { .. });
        match self.connect_to_ask(starts, Some(ask), was_sent).await? {
            Some(wire) => follow(wire).await.map_err(|error| match ask {
                Ask::OpenTerminal { .. } if is_unread(&error) => {
                    io::Error::new(io::ErrorKind::Unsupported, Refusal::NoTerminals)
                }
                _ => error,
            }),
            None => Ok(None),
        }
    }

    /// Goes on with a program at an offset, if the keeper that has it is there.
    async fn attach(&self, id: &str, from: u64) -> io::Result<Option<(Wire, Opened)>> {
        let ask = Ask::Attach { id: id.to_owned(), from };
        match self.connect(false, Some(&ask)).await? {
            Some(wire) => follow(wire).await,
            None => Ok(None),
        }
    }

    /// Ends what a program left whose keeper was killed. A keeper on another machine did so when it began.
    async fn sweep(&self, marker: &Marker) {
        if self.far().is_none() {
            forge_exec::sweep(marker, GRACE).await;
        }
    }

    /// A connection on which both have said who they are, and something is asked: its answer comes next. None when no keeper
    /// is there and none is to be started. What is asked may be asked again when a keeper goes just then.
    async fn connect(&self, starts: bool, ask: Option<&Ask>) -> io::Result<Option<Wire>> {
        self.connect_to_ask(starts, ask, &mut false).await
    }

    /// The same, told whether a keeper may have got the question.
    async fn connect_to_ask(
        &self,
        starts: bool,
        ask: Option<&Ask>,
        was_sent: &mut bool,
    ) -> io::Result<Option<Wire>> {
        let mut failed: io::Error = io::ErrorKind::NotFound.into();
        for tried in 0..TRIES {
            if tried > 0 {
                tokio::time::sleep(BETWEEN_TRIES).await;
            }
            let stream = match self.stream(starts).await {
                Ok(Some(stream)) => stream,
                Ok(None) => return Ok(None),
                // Whether and when to try again is the connector's affair.
                Err(error) if self.far().is_some() => return Err(error),
                Err(error) => {
                    failed = error;
                    continue;
                }
            };
            *was_sent = true;
            match greet(stream, self.inner.epoch, ask).await {
                Ok(wire) => return Ok(Some(wire)),
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::TimedOut) =>
                {
                    return Err(error);
                }
                // It was about to leave.
                Err(error) => failed = error,
            }
        }
        if starts || self.far().is_some() || !is_absent(&failed) { Err(failed) } else { Ok(None) }
    }

    async fn stream(&self, starts: bool) -> io::Result<Option<BoxedStream>> {
        let inner = &*self.inner;
        let program = match &inner.place {
            Place::Within => {
                if !starts && !inner.within.initialized() {
                    return Ok(None);
                }
                let server = inner.within.get_or_try_init(|| Server::new(&inner.root)).await?.clone();
                let (ours, theirs) = UnixStream::pair()?;
                tokio::spawn(async move { server.serve(theirs).await });
                return Ok(Some(Box::new(ours)));
            }
            Place::Far(connector) => return connector.connect().await.map(Some),
            Place::Program(program) => program,
        };
        match connect(&inner.root).await {
            Ok(stream) => return Ok(Some(Box::new(stream))),
            Err(error) if is_absent(&error) && !starts => return Ok(None),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
        start(program, &inner.root).await?;
        Ok(Some(Box::new(connect(&inner.root).await?)))
    }
}

/// Connects to the keeper in a folder.
pub(crate) async fn connect(root: &Path) -> io::Result<UnixStream> {
    let (path, _folder) = socket_path(&root.join("socket"))?;
    UnixStream::connect(path).await
}

/// Whether an error says that no keeper is there.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Starts the keeper of a folder.
pub(crate) async fn start(program: &Path, root: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
    let log = fs::OpenOptions::new().create(true).append(true).mode(0o600).open(root.join("keeper.log"))?;
    let args = ["serve".into(), root.as_os_str().to_owned()];
    start_apart(program, &args, log).await
}

/// Says who asks, and what, so that one way there and back does for both. The answer to the question comes next.
pub(crate) async fn greet(stream: BoxedStream, epoch: u64, ask: Option<&Ask>) -> io::Result<Wire> {
    let mut wire = wire(stream);
    let hello = message(&Ask::Hello { protocol: PROTOCOL, epoch })?;
    let ask = ask.map(message).transpose()?;
    let (with_it, behind) = match ask {
        Some(ask) if ask.len() > MOST_WITH_GREETING => (None, Some(ask)),
        ask => (ask, None),
    };
    let greeted = async {
        let said = match with_it {
            Some(ask) => match wire.feed(hello).await {
                Ok(()) => wire.send(ask).await,
                failed => failed,
            },
            None => wire.send(hello).await,
        };
        // One that refuses may be gone before it has read all; why is said then.
        match receive_message(&mut wire).await {
            Ok(Tell::Welcome { .. }) => said,
            Ok(Tell::Refused(refusal)) => Err(io::Error::new(io::ErrorKind::Unsupported, refusal)),
            Ok(other) => Err(unexpected(&other)),
            Err(error) => said.and(Err(error)),
        }
    };
    tokio::time::timeout(ANSWERS_WITHIN, greeted).await.map_err(|_| io::ErrorKind::TimedOut)??;
    if let Some(ask) = behind {
        let sent = tokio::time::timeout(WRITES_WITHIN, wire.send(ask)).await;
        sent.map_err(|_| io::ErrorKind::TimedOut)??;
    }
    Ok(wire)
}

/// What became of opening or attaching; nothing when the keeper does not know the program.
async fn follow(mut wire: Wire) -> io::Result<Option<(Wire, Opened)>> {
    match receive_message(&mut wire).await? {
        Tell::Opened(opened) => Ok(Some((wire, Opened::from(*opened)))),
        Tell::Refused(Refusal::Unknown) => Ok(None),
        other => Err(unexpected(&other)),
    }
}

/// Whether the keeper itself refused: a better connection changes nothing.
fn is_final(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData || error.get_ref().is_some_and(|it| it.is::<Refusal>())
}

/// Whether a keeper that had greeted went instead of an answer: it did not understand what it was asked.
fn is_unread(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}

/// The answer to what was asked.
async fn answer_within(wire: &mut Wire, within: Duration) -> io::Result<Tell> {
    tokio::time::timeout(within, receive_message(wire)).await.map_err(|_| io::ErrorKind::TimedOut)?
}

fn unexpected(tell: &Tell) -> io::Error {
    match tell {
        Tell::Refused(refusal) => io::Error::other(refusal.clone()),
        _ => io::Error::new(io::ErrorKind::InvalidData, "the keeper answered something else"),
    }
}
