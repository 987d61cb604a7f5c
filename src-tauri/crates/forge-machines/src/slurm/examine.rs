//! The test of a cluster: Slurm, a job, the folder, and what a task needs in the job.

use std::{
    hash::{BuildHasher as _, RandomState},
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;

use super::{Allocation, JobOver, Known, Ledger, Slurm, SlurmFault, TaskJob};
use crate::{Fault, Machine, Step, StepName};

/// How long a job of a test may wait for its beginning.
const BEGINS_WITHIN: Duration = Duration::from_secs(90);

/// From one look at it to the next: Slurm tells nobody that a job begins.
const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// What the jobs of tests begin with.
const TEST: &str = "test-";

/// Whether a test of this process submitted a job as this.
pub(super) fn is_of_own_test(id: &str) -> bool {
    let of = id.strip_prefix(TEST).and_then(|rest| rest.split_once('-'));
    of.is_some_and(|(process, _)| process == this_process())
}

/// A word for this process. Its number may be that of an earlier one.
fn this_process() -> &'static str {
    static WORD: OnceLock<String> = OnceLock::new();
    WORD.get_or_init(|| format!("{:x}", RandomState::new().hash_one(std::process::id())))
}

/// The job of a test is written down nowhere: it is cancelled in the end, and swept by its name.
#[derive(Debug)]
struct Passing(Mutex<Allocation>);

#[async_trait]
impl Ledger for Passing {
    async fn last(&self) -> io::Result<Option<Allocation>> {
        Ok(Some(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    async fn intend(&self) -> io::Result<Allocation> {
        Err(io::Error::other("a test submits one job"))
    }

    async fn submitted(&self, _: &str, job: u64) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).job = Some(job);
        Ok(())
    }

    async fn began(&self, _: &str, node: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).node = Some(node.to_owned());
        Ok(())
    }

    async fn over(&self, _: &str, over: &JobOver) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).over = Some(over.clone());
        Ok(())
    }
}

impl Slurm {
    /// Tests a cluster. Each step is reported when it is taken; the first one that fails on the way into a job is the
    /// last. The job is submitted for the test and cancelled in the end; `programs` are looked up in it, on the search
    /// path of a login.
    pub async fn test(&self, programs: &[&str], mut report: impl FnMut(&Step)) -> Vec<Step> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let mut steps = Vec::new();
        let mut add = |step: Step| {
            report(&step);
            steps.push(step);
        };
        match self.list().await {
            Ok(_) => {
                let place = self.setup().submit.place();
                add(Step::good(StepName::Slurm, format!("The controller answers {place}.")));
            }
            Err(fault) => {
                add(Step::from(&fault));
                return steps;
            }
        }
        let id = format!("{TEST}{}-{}", this_process(), MADE.fetch_add(1, Ordering::Relaxed));
        let first = Allocation { id: id.clone(), job: None, node: None, over: None };
        let ledger = Arc::new(Passing(Mutex::new(first)));
        let job =
            Arc::new(TaskJob::new(self.clone(), "a job of a test", Arc::clone(&ledger) as Arc<dyn Ledger>));
        self.test_in(&job, &id, programs, &mut add).await;
        let number = ledger.0.lock().unwrap_or_else(PoisonError::into_inner).job;
        if let Some(number) = number
            && let Err(fault) = self.end_test(number, &id).await
        {
            add(Step::from(&fault));
        }
        steps
    }

    async fn test_in(&self, job: &Arc<TaskJob>, id: &str, programs: &[&str], add: &mut impl FnMut(Step)) {
        let _making = job.allow_making();
        let machine = Machine::new(Arc::clone(job));
        let begun = tokio::time::Instant::now();
        let (apart, session) = loop {
            match machine.open_apart(None).await {
                Ok(opened) => break opened,
                Err(Fault::Slurm(SlurmFault::Waiting { .. })) if begun.elapsed() < BEGINS_WITHIN => {
                    tokio::time::sleep(LOOKS_EVERY).await;
                }
                Err(fault) => return add(Step::from(&fault)),
            }
        };
        let number = job.running().and_then(|running| running.job).unwrap_or_default();
        let host = &session.greeting.host_name;
        add(Step::good(StepName::Job, format!("Job {number} runs on {host}.")));
        match self.sees(id).await {
            Ok(true) => add(Step::good(StepName::SharedFolder, "The nodes share the folder with this side.")),
            Ok(false) => {
                let (folder, place) = (self.setup().root.clone(), self.setup().submit.place());
                add(Step::from(&Fault::from(SlurmFault::NotShared { folder, place })));
            }
            Err(fault) => add(Step::from(&fault)),
        }
        let steps = apart.inside(&session, programs).await;
        // Programs of a job go on for as long as the job, whoever signs in and out.
        steps.into_iter().filter(|step| step.name != StepName::Lingering).for_each(add);
    }

    /// Cancels the job of a test and removes its folder once it is over.
    async fn end_test(&self, job: u64, id: &str) -> Result<(), Fault> {
        let begun = tokio::time::Instant::now();
        while !self.cancel(job, Known::default()).await? {
            if begun.elapsed() > BEGINS_WITHIN {
                // The sweep of jobs that no task has sees it.
                return Ok(());
            }
            tokio::time::sleep(LOOKS_EVERY).await;
        }
        self.remove_folder(id).await
    }
}
