//! A machine: the session with it, which is made again when somebody needs it, and whether it can be reached.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use forge_exec::{Caps, CollectError, Exit, Stdin, clock_jump, collect};
use forge_keeper::{BoxedStream, Connector, Greeting, Keeper, Place};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use crate::{
    Contact, Fault, MachineConfig,
    session::{Session, Stage},
    shell,
    shell::MARK,
    way::{Sharing, Way},
};

/// From one attempt to the next, at first.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The same for what only a person can mend. A server locks out who tries too often.
const PERSONS_PAUSE: Duration = Duration::from_secs(600);

/// The same of what is mended outside of Forge, which nobody tells.
const OUTSIDE_PAUSE: Duration = Duration::from_secs(60);

/// How much a shell there may answer.
const CAPS: Caps = Caps { stdout: 8 * 1024 * 1024, stderr: 64 * 1024 };

/// A machine that is reached by ssh.
pub type SshMachine = Machine<MachineConfig>;

/// A machine, however it is reached.
pub type AnyMachine = Machine<Arc<dyn Way>>;

/// A machine. Cheap to clone; all clones share one session.
#[derive(Debug)]
pub struct Machine<W> {
    inner: Arc<Inner<W>>,
}

impl<W> Clone for Machine<W> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

#[derive(Debug)]
struct Inner<W> {
    way: Arc<W>,
    session: Mutex<Option<Arc<Session>>>,
    /// Whoever connects has it: others wait for what comes of that.
    attempts: tokio::sync::Mutex<Attempts>,
    contact: watch::Sender<Contact>,
    /// Wakes those who wait for the next attempt.
    nudged: Notify,
}

#[derive(Debug, Default)]
struct Attempts {
    failures: u32,
    /// When the next one is due, and why the last one failed.
    paused: Option<(Instant, Fault)>,
}

impl<W: Way> Machine<W> {
    /// A machine that nobody connects to yet.
    #[must_use]
    pub fn new(way: W) -> Self {
        Self::by(Arc::new(way))
    }

    fn by(way: Arc<W>) -> Self {
        let inner = Inner {
            way,
            session: Mutex::new(None),
            attempts: tokio::sync::Mutex::default(),
            contact: watch::Sender::new(Contact::Unknown),
            nudged: Notify::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// How it is reached.
    #[must_use]
    pub fn config(&self) -> &W {
        &self.inner.way
    }

    /// Whether it can be reached, as that changes.
    #[must_use]
    pub fn contact(&self) -> watch::Receiver<Contact> {
        self.inner.contact.subscribe()
    }

    /// Connects now, however often that failed just before.
    ///
    /// # Errors
    /// When the machine cannot be used.
    pub async fn connect(&self) -> Result<Greeting, Fault> {
        self.live(true).await.map(|session| session.greeting.clone())
    }

    /// Connects unless that failed just before.
    pub(crate) async fn reach(&self) -> Result<(), Fault> {
        self.live(false).await.map(drop)
    }

    /// Whoever waits for the machine tries at once: the network changed, or a person asks for it.
    pub async fn nudge(&self) {
        self.inner.attempts.lock().await.paused = None;
        self.inner.nudged.notify_waiters();
    }

    /// The keeper there, for an engine with this epoch. Programs may go on for `patience` when neither
    /// this engine nor its connection is there.
    #[must_use]
    pub fn keeper(&self, epoch: u64, patience: Duration) -> Keeper {
        Keeper::new(PathBuf::new(), Place::Far(Arc::new(self.clone())), epoch, patience)
    }

    /// Ends all programs that this engine's keeper has there, and drops what it kept of them. How many there were.
    ///
    /// # Errors
    /// When the machine cannot be reached, or its keeper refuses.
    pub async fn stop_all(&self, keeper: &Keeper) -> io::Result<usize> {
        let runs = keeper.runs().await?;
        for run in &runs {
            keeper.forget(&run.id).await?;
        }
        Ok(runs.len())
    }

    /// Has a shell there run a script, beside everything else.
    pub(crate) async fn ask(&self, script: &str, within: Duration) -> Result<Vec<u8>, Fault> {
        let way = &self.inner.way;
        let session = self.session();
        if session.is_none() {
            way.prepare().await?;
        }
        let command = way
            .shell(sharing(session.as_deref()), false)
            .stdin(Stdin::Bytes(script.as_bytes().to_vec()))
            .timeout(within);
        let host = way.name().to_owned();
        match collect(command, CAPS).await {
            Ok(done) if matches!(done.exit, Exit::Code(code) if way.is_of_the_way(code)) => {
                let errors = String::from_utf8_lossy(&done.stderr).into_owned();
                Err(way.why_it_ended(Some(done.exit), &errors).await)
            }
            Ok(done) => Ok(done.stdout),
            Err(CollectError::TimedOut { .. }) => Err(Fault::TimedOut { host }),
            Err(error) => Err(Fault::Ended { host, said: error.to_string() }),
        }
    }

    /// A program that runs there beside everything else, by the connection of the session while that is open.
    pub(crate) fn program(&self, words: &[String]) -> Option<forge_exec::Command<forge_exec::Unmarked>> {
        self.inner.way.program(sharing(self.session().as_deref()), words)
    }

    /// Opens a session that tells how far it is. It is not the one that others of this machine use.
    pub(crate) async fn open_apart(
        &self,
        stages: Option<tokio::sync::mpsc::UnboundedSender<Stage>>,
    ) -> Result<(Self, Arc<Session>), Fault> {
        let apart = Self::by(Arc::clone(&self.inner.way));
        let session = Arc::new(Session::begin(&apart.inner.way, stages).await?);
        apart.inner.set_session(Some(Arc::clone(&session)));
        Ok((apart, session))
    }

    fn session(&self) -> Option<Arc<Session>> {
        let session = self.inner.session.lock().unwrap_or_else(PoisonError::into_inner);
        session.as_ref().filter(|session| session.is_open()).map(Arc::clone)
    }

    /// The session; a new one when there is none. Without `at_once`, a machine that could not be reached just before is
    /// left alone for a while.
    async fn live(&self, at_once: bool) -> Result<Arc<Session>, Fault> {
        if let Some(session) = self.session() {
            return Ok(session);
        }
        let inner = &*self.inner;
        let mut attempts = inner.attempts.lock().await;
        if let Some(session) = self.session() {
            return Ok(session);
        }
        if let Some((next, fault)) = &attempts.paused
            && !at_once
            && Instant::now() < *next
        {
            return Err(fault.clone());
        }
        match Session::begin(&inner.way, None).await {
            Ok(session) => {
                *attempts = Attempts::default();
                let session = Arc::new(session);
                inner.set_session(Some(Arc::clone(&session)));
                let greeting = session.greeting.clone();
                inner.contact.send_replace(Contact::Live { since: SystemTime::now(), greeting });
                let (of, ended) = (Arc::downgrade(&session), session.mux.when_closed());
                tokio::spawn(notice_loss(Arc::downgrade(&self.inner), of, ended, session.loss()));
                Ok(session)
            }
            Err(fault) => {
                attempts.failures = attempts.failures.saturating_add(1);
                let pause = if fault.is_passing() {
                    fault
                        .longest_pause()
                        .min(FIRST_PAUSE * 2_u32.saturating_pow(attempts.failures.saturating_sub(1)))
                } else if matches!(&fault, Fault::Kubernetes(fault) if fault.is_mended_outside()) {
                    OUTSIDE_PAUSE
                } else {
                    PERSONS_PAUSE
                };
                attempts.paused = Some((Instant::now() + pause, fault.clone()));
                drop(attempts);
                unreachable(&inner.contact, &fault);
                Err(fault)
            }
        }
    }
}

impl SshMachine {
    /// Removes keepers of other versions that nobody runs. Which ones, by their hashes.
    ///
    /// # Errors
    /// When the machine cannot be used.
    pub async fn sweep(&self) -> Result<Vec<String>, Fault> {
        let config = self.config();
        let keep: Vec<&str> = config.keepers.iter().map(crate::KeeperProgram::hash).collect();
        let said = self.ask(&shell::sweep(&config.root, &keep), Duration::from_secs(60)).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(said
            .lines()
            .filter_map(|line| line.split_once(MARK)?.1.strip_prefix("swept ").map(str::to_owned))
            .collect())
    }
}

/// Says that the machine cannot be reached. Since when stays as it was.
fn unreachable(contact: &watch::Sender<Contact>, fault: &Fault) {
    contact.send_if_modified(|contact| {
        let since = match contact {
            // Nobody is told the same again.
            Contact::Unreachable { fault: told, .. } if told == fault => return false,
            Contact::Unreachable { since, .. } => *since,
            Contact::Unknown | Contact::Live { .. } => SystemTime::now(),
        };
        *contact = Contact::Unreachable { since, fault: fault.clone() };
        true
    });
}

/// How what is asked beside a session shares its connection.
fn sharing(session: Option<&Session>) -> Sharing<'_> {
    session.and_then(|session| session.control_path.as_deref()).map_or(Sharing::Alone, Sharing::Client)
}

impl<W> Inner<W> {
    fn set_session(&self, session: Option<Arc<Session>>) {
        let earlier = {
            let mut current = self.session.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *current, session)
        };
        drop(earlier);
    }

    fn is_current(&self, session: &Weak<Session>) -> bool {
        let current = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().is_some_and(|it| std::ptr::eq(Arc::as_ptr(it), session.as_ptr()))
    }
}

/// Waits for the end of a session, and says that the machine cannot be reached: at once, and with the reason as soon as
/// `ssh` has told it. Another session may have followed by then.
async fn notice_loss<W: Way>(
    machine: Weak<Inner<W>>,
    session: Weak<Session>,
    ended: impl Future<Output = ()>,
    loss: watch::Receiver<Option<Fault>>,
) {
    ended.await;
    let at_once = {
        let Some(machine) = machine.upgrade() else { return };
        if !machine.is_current(&session) {
            return;
        }
        machine.set_session(None);
        let host = machine.way.name().to_owned();
        let at_once = Fault::Ended { host, said: "the connection ended".to_owned() };
        unreachable(&machine.contact, &at_once);
        at_once
    };
    let Some(fault) = Session::lost(loss).await else { return };
    let Some(machine) = machine.upgrade() else { return };
    let is_said =
        matches!(&*machine.contact.borrow(), Contact::Unreachable { fault, .. } if *fault == at_once);
    if is_said {
        unreachable(&machine.contact, &fault);
    }
}

#[async_trait]
impl<W: Way> Connector for Machine<W> {
    async fn connect(&self) -> io::Result<BoxedStream> {
        let session = self.live(false).await.map_err(io::Error::other)?;
        session.mux.open().await
    }

    async fn reachable(&self) {
        loop {
            if self.live(false).await.is_ok() {
                return;
            }
            let nudged = self.inner.nudged.notified();
            let next = {
                let attempts = self.inner.attempts.lock().await;
                attempts.paused.as_ref().map_or_else(Instant::now, |(next, _)| *next)
            };
            let woken = async {
                if clock_jump().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let mut contact = self.contact();
            let live = async move {
                // The sender is this one's own.
                let _ = contact.wait_for(Contact::is_live).await;
            };
            let has_woken = tokio::select! {
                () = tokio::time::sleep_until(next) => false,
                () = nudged => false,
                () = woken => true,
                () = live => false,
            };
            if has_woken {
                // A computer that was asleep is often in another network.
                self.nudge().await;
            }
        }
    }
}
