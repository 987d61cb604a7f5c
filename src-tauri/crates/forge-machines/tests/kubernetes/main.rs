//! Machines that are a namespace of Kubernetes: a real `kubectl` against a server that gives the answers of one, whose pods
//! are processes here. No real cluster was tried. Where pods may not be made, each test says so and does nothing.

mod ends;
mod failures;
mod runs;
mod verbs;

#[path = "../shared/book.rs"]
mod book;
#[path = "../shared/worktree.rs"]
mod worktree;

use std::{sync::Arc, time::Duration};

use book::Book;
use forge_keeper::KeptRun;
use forge_machines::{
    Fault, Machine,
    job::{Cluster as _, JobRef, Known, TaskJob},
    kubernetes::{Kubernetes, KubernetesSetup},
};
use forge_machines_testkit::kept_script;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(3600);

/// A script to run there.
fn script(id: &str, script: &str) -> KeptRun {
    kept_script(id, std::process::id(), "/tmp", script)
}

/// A task with what is written down of its Jobs.
struct Tasks {
    cluster: Kubernetes,
    book: Arc<Book>,
}

impl Tasks {
    fn new(setup: KubernetesSetup) -> Self {
        Self { cluster: Kubernetes::new(setup), book: Arc::default() }
    }

    fn job(&self) -> Arc<TaskJob> {
        let cluster = Arc::new(self.cluster.clone());
        Arc::new(TaskJob::new(cluster, "job of t", "task-1", self.book.ledger()))
    }

    /// A machine whose Job runs.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn begun(&self) -> Machine<Arc<TaskJob>> {
        let job = self.job();
        let making = job.allow_making();
        let machine = Machine::new(job);
        machine.connect().await.expect("a Job that runs");
        drop(making);
        machine
    }

    /// Why a Job cannot be had.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn refused(&self) -> Fault {
        let job = self.job();
        let _making = job.allow_making();
        Machine::new(job).connect().await.expect_err("no Job")
    }

    /// The name of the last Job.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    fn name(&self) -> JobRef {
        self.book.all().last().and_then(|it| it.job.clone()).expect("a Job")
    }

    /// Deletes the last Job.
    #[expect(clippy::expect_used, reason = "a helper of tests")]
    async fn release(&self) {
        assert!(self.cluster.cancel(&self.name(), Known::default()).await.expect("an answer"));
    }
}
