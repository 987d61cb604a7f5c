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

use super::{Cluster, JobFault, JobOver, JobRef, Known, Look, Place};
use crate::{Fault, KeeperProgram, Sharing, Way};

/// How long a job may take to appear of which the cluster has not said that it took it.
const UNSURE_FOR: Duration = Duration::from_secs(60);

/// What is written down of a task's job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// What it is or will be submitted as: letters, digits and `-`. No other job ever has it.
    pub id: String,
    /// What the cluster calls it, once that is known.
    pub job: Option<JobRef>,
    /// Where it runs or ran, once it has begun.
    pub place: Option<Place>,
    /// How it ended, once the cluster said so.
    pub over: Option<JobOver>,
    /// The server that it is created on, where [`Cluster::server`] names one.
    pub server: Option<String>,
}

impl Allocation {
    /// One of which nothing is known.
    #[must_use]
    pub const fn new(id: String) -> Self {
        Self { id, job: None, place: None, over: None, server: None }
    }

    /// What is known of it, for whoever looks at it.
    #[must_use]
    pub fn known(&self) -> Known<'_> {
        Known { place: self.place.as_ref(), over: self.over.as_ref(), server: self.server.as_deref() }
    }

    /// What people are told that it is called.
    #[must_use]
    pub fn called(&self) -> JobRef {
        self.job.clone().unwrap_or_else(|| JobRef(self.id.clone()))
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

    /// It is about to be submitted on this server.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn addressed(&self, id: &str, server: &str) -> io::Result<()>;

    /// The cluster calls it so.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn submitted(&self, id: &str, job: &JobRef) -> io::Result<()>;

    /// It runs there.
    ///
    /// # Errors
    /// When it cannot be written.
    async fn began(&self, id: &str, place: &Place) -> io::Result<()>;

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
    cluster: Arc<dyn Cluster>,
    ledger: Arc<dyn Ledger>,
    name: String,
    task: String,
    makers: AtomicU32,
    /// One at a time: whoever comes second finds what the first one submitted.
    turn: tokio::sync::Mutex<()>,
    running: Mutex<Option<Allocation>>,
    /// Until when a job may come that the cluster has not said to have taken. Whoever submits has it.
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
    JobFault::Unwritten { said: error.to_string() }.into()
}

impl TaskJob {
    /// The way to the job of a task, which is `name` for people.
    #[must_use]
    pub fn new(cluster: Arc<dyn Cluster>, name: &str, task: &str, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            cluster,
            ledger,
            name: name.to_owned(),
            task: task.to_owned(),
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
    pub fn cluster(&self) -> &Arc<dyn Cluster> {
        &self.cluster
    }

    /// The most memory that the job may take, in MiB.
    #[must_use]
    pub fn memory_mb(&self) -> Option<u32> {
        self.cluster.memory_mb()
    }

    /// The job that runs, as it was last found.
    #[must_use]
    pub fn running(&self) -> Option<Allocation> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The job that runs, for whoever reaches into it: nobody does before it was found.
    fn to_reach(&self) -> Allocation {
        let unknown = || Allocation::new(String::new());
        self.running().unwrap_or_else(unknown)
    }

    fn note(&self, running: Option<Allocation>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = running;
    }

    /// The job that there is, or another one where that is allowed. It is written down before it is submitted.
    async fn submitted(&self) -> Result<(Allocation, JobRef), Fault> {
        let last = self.ledger.last().await.map_err(|error| unwritten(&error))?;
        let may_make = self.may_make();
        let allocation = match last {
            Some(last) => match &last.over {
                None => last,
                Some(_) if may_make => self.ledger.intend().await.map_err(|error| unwritten(&error))?,
                Some(over) => return Err(JobFault::Over(self.newest(&last, over).await?).into()),
            },
            None if may_make => self.ledger.intend().await.map_err(|error| unwritten(&error))?,
            None => return Err(JobFault::NoJob.into()),
        };
        match allocation.job.clone() {
            Some(job) => Ok((allocation, job)),
            None => self.submit(allocation, may_make).await,
        }
    }

    /// Submits a job, or finds the one that was submitted just before the engine was killed. Whoever stops waiting for that
    /// does not cut it short: a request that is on its way becomes a job.
    async fn submit(&self, allocation: Allocation, may_make: bool) -> Result<(Allocation, JobRef), Fault> {
        let (cluster, ledger, task) =
            (Arc::clone(&self.cluster), Arc::clone(&self.ledger), self.task.clone());
        let unsure = Arc::clone(&self.unsure_until);
        let done = tokio::spawn(async move {
            let mut unsure = unsure.lock().await;
            let mut allocation = allocation;
            if allocation.server.is_none()
                && let Some(server) = cluster.server().await?
            {
                let addressed = ledger.addressed(&allocation.id, &server).await;
                addressed.map_err(|error| unwritten(&error))?;
                allocation.server = Some(server);
            }
            let found = cluster.find(&allocation.id).await?;
            if found.is_none() {
                // It may be where the user's configuration led when it was asked for.
                cluster.require_server(allocation.server.as_deref()).await?;
            }
            let job = match found {
                Some(job) => job,
                None if unsure.is_some_and(|until| Instant::now() < until) => {
                    return Err(JobFault::Unsure.into());
                }
                None if may_make => {
                    let submitted = cluster.submit(&allocation.id, &task).await;
                    let is_unsure = submitted.as_ref().is_err_and(Fault::is_of_silent_cluster);
                    *unsure = (is_unsure && !cluster.refuses_second()).then(|| Instant::now() + UNSURE_FOR);
                    submitted?
                }
                None => return Err(JobFault::NoJob.into()),
            };
            ledger.submitted(&allocation.id, &job).await.map_err(|error| unwritten(&error))?;
            Ok((Allocation { job: Some(job.clone()), ..allocation }, job))
        });
        done.await.unwrap_or_else(|error| Err(unwritten(&io::Error::other(error))))
    }

    fn may_make(&self) -> bool {
        self.makers.load(Ordering::Acquire) > 0
    }

    /// How a job ended, as it is known now: that of a node which failed becomes certain.
    async fn newest(&self, last: &Allocation, over: &JobOver) -> Result<JobOver, Fault> {
        let (false, Some(job)) = (over.is_certain(), &last.job) else { return Ok(over.clone()) };
        match self.cluster.look(job, last.known()).await? {
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
            match self.cluster.look(&job, allocation.known()).await? {
                Look::Ready { place } => {
                    if allocation.place.as_ref() != Some(&place) {
                        let began = self.ledger.began(&allocation.id, &place).await;
                        began.map_err(|error| unwritten(&error))?;
                    }
                    self.note(Some(Allocation { place: Some(place), ..allocation }));
                    return Ok(());
                }
                Look::Waiting { fault } => return Err(fault.into()),
                Look::Over(over) => {
                    self.ledger.over(&allocation.id, &over).await.map_err(|error| unwritten(&error))?;
                    if is_second || !self.may_make() {
                        return Err(JobFault::Over(over).into());
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
        self.cluster.root()
    }

    fn keepers(&self) -> &[KeeperProgram] {
        self.cluster.keepers()
    }

    async fn prepare(&self) -> Result<(), Fault> {
        self.found().await
    }

    fn begin(&self) -> String {
        self.cluster.begin(&self.to_reach().id)
    }

    fn environment(&self, fence: &str) -> String {
        self.cluster.environment(fence)
    }

    fn memory_kills(&self) -> &'static str {
        self.cluster.memory_kills()
    }

    fn shell(&self, _: Sharing<'_>, _: bool) -> Command<Unmarked> {
        self.cluster.shell(&self.to_reach())
    }

    fn not_started(&self, _: String) -> Fault {
        self.cluster.not_started()
    }

    fn silent(&self) -> Fault {
        self.cluster.silent(&self.to_reach().called())
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
        let is_folders = matches!(exit, Some(Exit::Code(1..=3))) && errors.contains("cannot create");
        if is_folders {
            return Fault::of_folder(&self.name, self.root(), errors);
        }
        self.cluster.why_cut(&self.to_reach().called(), exit, errors)
    }
}
