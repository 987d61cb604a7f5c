//! What differs between clusters.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use forge_exec::{Command, Exit, Unmarked};

use super::Allocation;
use crate::{
    Fault, KeeperProgram, Step, Way,
    job_fault::{JobFault, JobOver, JobRef},
};

/// Where a job runs or ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The node.
    pub node: String,
    /// The pod that it began in, where the cluster has pods. In another one it would begin again.
    pub pod: Option<String>,
}

/// What is known of a job already: clusters forget jobs that are over.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'k> {
    /// Where it began; none when it is not known that it did.
    pub place: Option<&'k Place>,
    /// How it ended.
    pub over: Option<&'k JobOver>,
    /// The server that it was created on, where a cluster has several ways to be reached.
    pub server: Option<&'k str>,
}

/// How a job is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It has not begun, or has not ended wholly.
    Waiting {
        /// Why, as a fault with a remedy.
        fault: JobFault,
    },
    /// It runs.
    Ready {
        /// Where.
        place: Place,
    },
    /// It is over.
    Over(JobOver),
}

/// A job of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedJob {
    /// What the cluster calls it.
    pub job: JobRef,
    /// What it was submitted as.
    pub id: String,
}

impl ListedJob {
    /// Whether a test of a machine submitted it that this process does.
    #[must_use]
    pub fn is_of_own_test(&self) -> bool {
        super::examine::is_of_own_test(&self.id)
    }
}

/// A cluster that runs jobs. Each verb may be repeated.
#[async_trait]
pub trait Cluster: fmt::Debug + Send + Sync + 'static {
    /// The address of the server that is asked now; none where the machine itself says which cluster is asked.
    ///
    /// # Errors
    /// When that is not known.
    async fn server(&self) -> Result<Option<String>, Fault> {
        Ok(None)
    }

    /// Refuses to be asked for a job that was created on another server: that it is not here says nothing of it.
    ///
    /// # Errors
    /// When the servers differ, or the one that is asked now is not known.
    async fn require_server(&self, _: Option<&str>) -> Result<(), Fault> {
        Ok(())
    }

    /// Submits a job for a task. Whoever calls has written down that it is asked for, and has looked for it.
    ///
    /// # Errors
    /// When the cluster refuses it, or does not answer: then it may have been submitted all the same.
    async fn submit(&self, id: &str, task: &str) -> Result<JobRef, Fault>;

    /// Whether a second job that is submitted as the same is refused.
    fn refuses_second(&self) -> bool;

    /// The job that was submitted as this, if one was and the cluster knows it still.
    ///
    /// # Errors
    /// When that is not known.
    async fn find(&self, id: &str) -> Result<Option<JobRef>, Fault>;

    /// All jobs of this owner that the cluster knows still.
    ///
    /// # Errors
    /// When they cannot be listed.
    async fn list(&self) -> Result<Vec<ListedJob>, Fault>;

    /// How a job is.
    ///
    /// # Errors
    /// When that is not known: it says nothing of the job.
    async fn look(&self, job: &JobRef, known: Known<'_>) -> Result<Look, Fault>;

    /// Cancels a job. Whether it is surely over: until then it is to be cancelled again.
    ///
    /// # Errors
    /// When that is not known.
    async fn cancel(&self, job: &JobRef, known: Known<'_>) -> Result<bool, Fault>;

    /// The way to what a job that is over left where it can be read; none when nothing of it is left.
    ///
    /// # Errors
    /// When that is not known.
    async fn left(&self, id: &str) -> Result<Option<Arc<dyn Way>>, Fault>;

    /// Removes what is left of a job that is over. Whether nothing of it is.
    ///
    /// # Errors
    /// When that is not known.
    async fn remove(&self, job: &JobRef, id: &str) -> Result<bool, Fault>;

    /// The folder in a job that holds everything of Forge.
    fn root(&self) -> &str;

    /// The keepers that can run there.
    fn keepers(&self) -> &[KeeperProgram];

    /// The most memory that a job may take, in MiB.
    fn memory_mb(&self) -> Option<u32>;

    /// What the shell of a session in a job does: it becomes the relay.
    fn begin(&self, id: &str) -> String;

    /// What a shell does to tell the environment of a login: sections between fences, of which later ones win.
    fn environment(&self, fence: &str) -> String;

    /// What a shell does to tell how often the kernel killed something in the job since it took too much memory.
    fn memory_kills(&self) -> &'static str;

    /// Runs a shell in a job that runs.
    fn shell(&self, running: &Allocation) -> Command<Unmarked>;

    /// The program of [`shell`](Self::shell) could not be started.
    fn not_started(&self) -> Fault;

    /// The shell says nothing.
    fn silent(&self, job: &JobRef) -> Fault;

    /// Why a shell ended by itself in a job that goes on, by how its program did and by what it printed as errors.
    fn why_cut(&self, job: &JobRef, exit: Option<Exit>, errors: &str) -> Fault;

    /// The step of a test that says that the cluster answers.
    fn answers(&self) -> Step;

    /// The step of a test that says whether what a job writes is read where jobs are submitted, where that is promised.
    async fn shares(&self, id: &str) -> Option<Step>;
}
