//! The test of a cluster: whether it answers, a job, what the job shares, and what a task needs in it.

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

use super::{Allocation, Cluster, JobFault, JobOver, JobRef, Known, Ledger, Place, TaskJob};
use crate::{Fault, Machine, Step, StepName};

/// How long a job of a test may wait for its beginning.
const BEGINS_WITHIN: Duration = Duration::from_secs(90);

/// From one look at it to the next: a cluster tells nobody that a job begins.
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

    async fn addressed(&self, _: &str, server: &str) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).server = Some(server.to_owned());
        Ok(())
    }

    async fn submitted(&self, _: &str, job: &JobRef) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).job = Some(job.clone());
        Ok(())
    }

    async fn began(&self, _: &str, place: &Place) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).place = Some(place.clone());
        Ok(())
    }

    async fn over(&self, _: &str, over: &JobOver) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).over = Some(over.clone());
        Ok(())
    }
}

/// Tests a cluster. Each step is reported when it is taken; the first one that fails on the way into a job is the last. The
/// job is submitted for the test and cancelled in the end; `programs` are looked up in it, on the search path of a login.
pub async fn test(cluster: &Arc<dyn Cluster>, programs: &[&str], mut report: impl FnMut(&Step)) -> Vec<Step> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let mut steps = Vec::new();
    let mut add = |step: Step| {
        report(&step);
        steps.push(step);
    };
    match cluster.list().await {
        Ok(_) => add(cluster.answers()),
        Err(fault) => {
            add(Step::from(&fault));
            return steps;
        }
    }
    let id = format!("{TEST}{}-{}", this_process(), MADE.fetch_add(1, Ordering::Relaxed));
    let first = Allocation::new(id.clone());
    let ledger = Arc::new(Passing(Mutex::new(first)));
    let written = Arc::clone(&ledger) as Arc<dyn Ledger>;
    let job = Arc::new(TaskJob::new(Arc::clone(cluster), "a job of a test", &id, written));
    test_in(&job, &id, programs, &mut add).await;
    let called = ledger.0.lock().unwrap_or_else(PoisonError::into_inner).job.clone();
    // The cluster may have taken it without saying so.
    let called = match called {
        Some(called) => Some(called),
        // Why it cannot be asked is told by the step before, and the sweep of a later start sees the job.
        None => cluster.find(&id).await.ok().flatten(),
    };
    if let Some(called) = called
        && let Err(fault) = end_test(cluster, &called, &id).await
    {
        add(Step::from(&fault));
    }
    steps
}

async fn test_in(job: &Arc<TaskJob>, id: &str, programs: &[&str], add: &mut impl FnMut(Step)) {
    let _making = job.allow_making();
    let machine = Machine::new(Arc::clone(job));
    let begun = tokio::time::Instant::now();
    let (apart, session) = loop {
        match machine.open_apart(None).await {
            Ok(opened) => break opened,
            Err(Fault::Job(JobFault::Waiting { .. })) if begun.elapsed() < BEGINS_WITHIN => {
                tokio::time::sleep(LOOKS_EVERY).await;
            }
            Err(fault) => return add(Step::from(&fault)),
        }
    };
    let called = job.running().map(|running| running.called().0).unwrap_or_default();
    let host = &session.greeting.host_name;
    add(Step::good(StepName::Job, format!("Job {called} is running on {host}.")));
    if let Some(step) = job.cluster().shares(id).await {
        add(step);
    }
    let steps = apart.inside(&session, programs).await;
    // Programs of a job go on for as long as the job, whoever signs in and out.
    steps.into_iter().filter(|step| step.name != StepName::Lingering).for_each(add);
}

/// Cancels the job of a test and removes what is left of it once it is over.
async fn end_test(cluster: &Arc<dyn Cluster>, job: &JobRef, id: &str) -> Result<(), Fault> {
    let begun = tokio::time::Instant::now();
    while !cluster.cancel(job, Known::default()).await? {
        if begun.elapsed() > BEGINS_WITHIN {
            // The sweep of jobs that no task has sees it.
            return Ok(());
        }
        tokio::time::sleep(LOOKS_EVERY).await;
    }
    cluster.remove(job, id).await.map(drop)
}
