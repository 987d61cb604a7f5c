//! The way into the job of a task, which is submitted while that is allowed.

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use tokio::time::Instant;

use super::{Known, Look, Slurm, script};
use crate::{Fault, JobOver, KeeperProgram, Sharing, SlurmFault, Way};

/// How long a job may take to appear of which the controller has not said that it took it.
const UNSURE_FOR: Duration = Duration::from_secs(60);

/// What is written down of a task's job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// What it is or will be submitted as: letters, digits and `-`. No other job ever has it.
    pub id: String,
    /// Its number, once that is known.
    pub job: Option<u64>,
    /// The node that it runs or ran on, once it has begun.
    pub node: Option<String>,
    /// How it ended, once Slurm said so.
    pub over: Option<JobOver>,
}

impl Allocation {
    /// What is known of it, for whoever looks at it.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        Known { node: self.node.as_deref().unwrap_or_default(), over: self.over.as_ref() }
    }
}

/// Where the jobs of a task are written down. Each word is durable when it returns.
#[async_trait]
pub trait Ledger: fmt::Debug + Send + Sync + 'static {
    /// The last one.
    ///
    /// # Errors
    /// When it cannot be read.
    async fn last(&self) -> io::Result<Option<Allocation>>;

    /// Another one, which is about to be submitted.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn intend(&self) -> io::Result<Allocation>;

    /// It has this number.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn submitted(&self, id: &str, job: u64) -> io::Result<()>;

    /// It runs on this node.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn began(&self, id: &str, node: &str) -> io::Result<()>;

    /// It is over.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn over(&self, id: &str, over: &JobOver) -> io::Result<()>;
}

/// The way into the job of a task. A job that is over is a fault: its worktree is nobody's any more. Another one is
/// submitted only while somebody [allows](TaskJob::allow_making) that.
#[derive(Debug)]
pub struct TaskJob {
    slurm: Slurm,
    ledger: Arc<dyn Ledger>,
    name: String,
    makers: AtomicU32,
    /// One at a time: whoever comes second finds what the first one submitted.
    turn: tokio::sync::Mutex<()>,
    running: Mutex<Option<Allocation>>,
    /// Until when a job may come that the controller has not said to have taken. Whoever submits has it.
    unsure_until: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

/// While it lives, whoever connects to a job submits one when there is none.
#[derive(Debug)]
pub struct MakingJob(Arc<TaskJob>);

impl Drop for MakingJob {
    fn drop(&mut self) {
        self.0.makers.fetch_sub(1, Ordering::AcqRel);
    }
}

fn unwritten(error: &io::Error) -> Fault {
    SlurmFault::Unwritten { said: error.to_string() }.into()
}

impl TaskJob {
    /// The way to the job of a task, which is `name` for people.
    #[must_use]
    pub fn new(slurm: Slurm, name: &str, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            slurm,
            ledger,
            name: name.to_owned(),
            makers: AtomicU32::new(0),
            turn: tokio::sync::Mutex::default(),
            running: Mutex::default(),
            unsure_until: Arc::default(),
        }
    }

    /// From now on, whoever connects submits a job when there is none: no worktree is in it.
    #[must_use = "a job is submitted only while this lives"]
    pub fn allow_making(self: &Arc<Self>) -> MakingJob {
        self.makers.fetch_add(1, Ordering::AcqRel);
        MakingJob(Arc::clone(self))
    }

    /// The cluster.
    #[must_use]
    pub const fn slurm(&self) -> &Slurm {
        &self.slurm
    }

    /// The most memory that the job may take, in MiB.
    #[must_use]
    pub fn memory_mb(&self) -> Option<u32> {
        self.slurm.setup().config.memory_mb
    }

    /// The job that runs, as it was last found.
    #[must_use]
    pub fn running(&self) -> Option<Allocation> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, running: Option<Allocation>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    /// The job that there is, or another one where that is allowed. It is written down before it is submitted.
    async fn submitted(&self) -> Result<(Allocation, u64), Fault> {
        let last = self.ledger.last().await.map_err(|error| unwritten(&error))?;
        let may_make = self.may_make();
        let allocation = match last {
            Some(last) => match &last.over {
                None => last,
                Some(_) if may_make => self.ledger.intend().await.map_err(|error| unwritten(&error))?,
                Some(over) => return Err(SlurmFault::Over(self.newest(&last, over).await?).into()),
            },
            None if may_make => self.ledger.intend().await.map_err(|error| unwritten(&error))?,
            None => return Err(SlurmFault::NoJob.into()),
        };
        match allocation.job {
            Some(job) => Ok((allocation, job)),
            None => self.submit(allocation, may_make).await,
        }
    }

    /// Submits a job, or finds the one that was submitted just before the engine was killed. Whoever stops waiting for that
    /// does not cut it short: a request that is on its way becomes a job.
    async fn submit(&self, allocation: Allocation, may_make: bool) -> Result<(Allocation, u64), Fault> {
        let (slurm, ledger, unsure) =
            (self.slurm.clone(), Arc::clone(&self.ledger), Arc::clone(&self.unsure_until));
        let done = tokio::spawn(async move {
            let mut unsure = unsure.lock().await;
            let job = match slurm.find(&allocation.id).await? {
                Some(job) => job,
                None if unsure.is_some_and(|until| Instant::now() < until) => {
                    let said = "it has not said yet whether it took the job".to_owned();
                    return Err(SlurmFault::Controller { said }.into());
                }
                None if may_make => {
                    let submitted = slurm.submit(&allocation.id).await;
                    let is_unsure = matches!(submitted, Err(Fault::Slurm(SlurmFault::Controller { .. })));
                    *unsure = is_unsure.then(|| Instant::now() + UNSURE_FOR);
                    submitted?
                }
                None => return Err(SlurmFault::NoJob.into()),
            };
            ledger.submitted(&allocation.id, job).await.map_err(|error| unwritten(&error))?;
            Ok((Allocation { job: Some(job), ..allocation }, job))
        });
        done.await.unwrap_or_else(|error| Err(unwritten(&io::Error::other(error))))
    }

    fn may_make(&self) -> bool {
        self.makers.load(Ordering::Acquire) > 0
    }

    /// How a job ended, as it is known now: that of a node which failed becomes certain.
    async fn newest(&self, last: &Allocation, over: &JobOver) -> Result<JobOver, Fault> {
        let (false, Some(job)) = (over.is_certain(), last.job) else { return Ok(over.clone()) };
        match self.slurm.look(job, last.known()).await? {
            Look::Over(now) => {
                self.ledger.over(&last.id, &now).await.map_err(|error| unwritten(&error))?;
                Ok(now)
            }
            _ => Ok(over.clone()),
        }
    }

    /// Finds the job that runs. Where another one may be made, one that is over is followed by it at once, but not one that
    /// was made just now.
    async fn found(&self) -> Result<(), Fault> {
        let _turn = self.turn.lock().await;
        self.note(None);
        let mut is_second = false;
        loop {
            let (allocation, job) = self.submitted().await?;
            match self.slurm.look(job, allocation.known()).await? {
                Look::Ready { node } => {
                    if allocation.node.as_ref() != Some(&node) {
                        let began = self.ledger.began(&allocation.id, &node).await;
                        began.map_err(|error| unwritten(&error))?;
                    }
                    self.note(Some(allocation));
                    return Ok(());
                }
                Look::Waiting { fault } => return Err(fault.into()),
                Look::Over(over) => {
                    self.ledger.over(&allocation.id, &over).await.map_err(|error| unwritten(&error))?;
                    if is_second || !self.may_make() {
                        return Err(SlurmFault::Over(over).into());
                    }
                    is_second = true;
                }
            }
        }
    }
}

#[async_trait]
impl Way for TaskJob {
    fn name(&self) -> &str {
        &self.name
    }

    fn root(&self) -> &str {
        &self.slurm.setup().root
    }

    fn keepers(&self) -> &[KeeperProgram] {
        &self.slurm.setup().keepers
    }

    async fn prepare(&self) -> Result<(), Fault> {
        self.found().await
    }

    fn begin(&self) -> String {
        let id = self.running().map(|running| running.id).unwrap_or_default();
        script::begin(self.root(), &self.slurm.keeper(&id), self.keepers())
    }

    fn environment(&self, fence: &str) -> String {
        script::environment(fence)
    }

    fn memory_kills(&self) -> &'static str {
        script::MEMORY_KILLS
    }

    fn shell(&self, _: Sharing<'_>, _: bool) -> Command<Unmarked> {
        let job = self.running().and_then(|running| running.job).unwrap_or_default();
        let words = [
            "srun",
            &format!("--jobid={job}"),
            // Beside the job's script, which has all of its processors and memory.
            "--overlap",
            "--nodes=1",
            "--ntasks=1",
            "--export=NONE",
            "--mpi=none",
            "--unbuffered",
            "--chdir=/",
            "/bin/sh",
            "-c",
            script::STEP,
        ];
        self.slurm.setup().submit.program(&words.map(str::to_owned))
    }

    fn not_started(&self, _: String) -> Fault {
        let place = self.slurm.setup().submit.place();
        SlurmFault::NoProgram { program: "srun".to_owned(), place }.into()
    }

    /// A step begins as soon as the node is there, the script of the job often only later.
    fn silent(&self) -> Fault {
        let job = self.running().and_then(|running| running.job).unwrap_or_default();
        let why = "its node has not begun its script".to_owned();
        let remedy = "Wait; if it lasts, look at the node.".to_owned();
        SlurmFault::Stalled { job, why, remedy }.into()
    }

    fn is_of_the_way(&self, code: i32) -> bool {
        // What the shell does ends with 0.
        code != 0
    }

    async fn why_it_ended(&self, exit: Option<Exit>, errors: &str) -> Fault {
        // Whether the job is over is asked, never guessed.
        if let Err(fault) = self.found().await {
            return fault;
        }
        let job = self.running().and_then(|running| running.job).unwrap_or_default();
        let is_folders = matches!(exit, Some(Exit::Code(1..=3))) && errors.contains("cannot create");
        if is_folders {
            return Fault::of_folder(&self.name, self.root(), errors);
        }
        let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty());
        let last =
            last.map(|line| line.rsplit_once("error: ").map_or(line, |(_, rest)| rest).trim_end_matches('.'));
        let said = last.unwrap_or("the connection ended").to_owned();
        SlurmFault::Disconnected { job, said }.into()
    }
}
