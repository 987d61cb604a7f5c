//! Machines that are a cluster of Slurm, against a real one of two nodes. Where this may not make one, each test says so
//! and does nothing.

#[path = "../shared/book.rs"]
mod book;
mod ends;
mod failures;
mod login;
mod runs;
mod verbs;
#[path = "../shared/worktree.rs"]
mod worktree;

use std::{sync::Arc, time::Duration};

use book::Book;
use forge_keeper::KeptRun;
use forge_machines::{
    Fault, JobFault, Machine,
    job::{JobRef, Known, TaskJob},
    slurm::{Slurm, SlurmSetup},
};
use forge_machines_testkit::kept_script;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// A script to run there.
fn script(id: &str, script: &str) -> KeptRun {
    kept_script(id, std::process::id(), "/tmp", script)
}

/// A task with what is written down of its jobs.
struct Tasks {
    slurm: Slurm,
    book: Arc<Book>,
}

impl Tasks {
    fn new(setup: SlurmSetup) -> Self {
        Self { slurm: Slurm::new(setup), book: Arc::default() }
    }

    fn job(&self) -> Arc<TaskJob> {
        let cluster = Arc::new(self.slurm.clone());
        Arc::new(TaskJob::new(cluster, "job of t", "t", self.book.ledger()))
    }

    /// A machine whose job runs.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn begun(&self) -> Machine<Arc<TaskJob>> {
        let job = self.job();
        let making = job.allow_making();
        let machine = Machine::new(job);
        connected(&machine).await.expect("a job that runs");
        drop(making);
        machine
    }

    /// The number of the last job.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    fn number(&self) -> JobRef {
        self.book.all().last().and_then(|it| it.job.clone()).expect("a job")
    }

    /// Cancels the last job, and returns when it is over.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn release(&self) {
        while !self.slurm.cancel(&self.number(), Known::default()).await.expect("an answer") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Connects when the job has begun.
async fn connected(machine: &Machine<Arc<TaskJob>>) -> Result<(), Fault> {
    loop {
        match machine.connect().await {
            Err(Fault::Job(JobFault::Waiting { remedy, .. })) if remedy.is_empty() => {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            connected => return connected.map(drop),
        }
    }
}

/// Returns when connecting fails as it should.
#[expect(clippy::panic, reason = "a helper of tests")]
async fn until_fault(machine: &Machine<Arc<TaskJob>>, is: impl Fn(&Fault) -> bool) -> Fault {
    let begun = tokio::time::Instant::now();
    loop {
        let connected = machine.connect().await;
        match connected {
            Err(fault) if is(&fault) => return fault,
            other if begun.elapsed() > Duration::from_secs(100) => panic!("{other:?}"),
            _ => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }
}
