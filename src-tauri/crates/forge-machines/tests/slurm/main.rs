//! Machines that are a cluster of Slurm, against a real one of two nodes. Where this may not make one, each test says so
//! and does nothing.

mod ends;
mod failures;
mod login;
mod runs;
mod verbs;
#[path = "../shared/worktree.rs"]
mod worktree;

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use forge_keeper::KeptRun;
use forge_machines::{
    Fault, JobOver, Machine, SlurmFault,
    slurm::{Allocation, Known, Ledger, Slurm, SlurmSetup, TaskJob},
};
use forge_machines_testkit::kept_script;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// A script to run there.
fn script(id: &str, script: &str) -> KeptRun {
    kept_script(id, std::process::id(), "/tmp", script)
}

/// What a test writes down of jobs, in order.
#[derive(Debug, Default)]
struct Book(Mutex<Vec<Allocation>>);

impl Book {
    fn all(&self) -> Vec<Allocation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Allocation)) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = all.iter_mut().find(|it| it.id == id) {
            change(found);
        }
    }
}

#[async_trait]
impl Ledger for Book {
    async fn last(&self) -> io::Result<Option<Allocation>> {
        Ok(self.all().last().cloned())
    }

    async fn intend(&self) -> io::Result<Allocation> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = Allocation { id: format!("t{}", all.len()), job: None, node: None, over: None };
        all.push(made.clone());
        Ok(made)
    }

    async fn submitted(&self, id: &str, job: u64) -> io::Result<()> {
        self.change(id, |it| it.job = Some(job));
        Ok(())
    }

    async fn began(&self, id: &str, node: &str) -> io::Result<()> {
        self.change(id, |it| it.node = Some(node.to_owned()));
        Ok(())
    }

    async fn over(&self, id: &str, over: &JobOver) -> io::Result<()> {
        self.change(id, |it| it.over = Some(over.clone()));
        Ok(())
    }
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
        Arc::new(TaskJob::new(self.slurm.clone(), "job of t", Arc::clone(&self.book) as Arc<dyn Ledger>))
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
    fn number(&self) -> u64 {
        self.book.all().last().and_then(|it| it.job).expect("a job")
    }

    /// Cancels the last job, and returns when it is over.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn release(&self) {
        while !self.slurm.cancel(self.number(), Known::default()).await.expect("an answer") {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

/// Connects when the job has begun.
async fn connected(machine: &Machine<Arc<TaskJob>>) -> Result<(), Fault> {
    loop {
        match machine.connect().await {
            Err(Fault::Slurm(SlurmFault::Waiting { remedy, .. })) if remedy.is_empty() => {
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
