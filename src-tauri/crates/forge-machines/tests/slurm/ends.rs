//! How jobs end: each way is told by its name, and nothing of a job is left.

use forge_machines::{Fault, JobEnd, JobFault, slurm::SlurmConfig};
use forge_machines_testkit::{Cluster, Following};

use crate::{LONG, Tasks, script, until_fault};

#[expect(clippy::panic, reason = "a helper of tests")]
fn end_of(fault: &Fault) -> JobEnd {
    let Fault::Job(JobFault::Over(over)) = fault else { panic!("{fault:?}") };
    assert!(fault.to_string().starts_with("Could not ") && fault.remedy().ends_with('.'), "{fault}");
    over.end
}

fn is_over(fault: &Fault) -> bool {
    matches!(fault, Fault::Job(JobFault::Over(_)))
}

#[tokio::test]
async fn cancel_leaves_nothing_and_another_job_is_submitted_only_when_that_is_allowed() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let nap = format!("sleep 12345{}", std::process::id());
    let text = format!("setsid {nap} & echo begun; {nap}");
    let mut left = Following::of(keeper.open(script("b", &text)).await.unwrap());
    left.until(6).await;
    assert!(!cluster.running(&nap).is_empty());
    cluster.slurm(&["scancel", &tasks.number().to_string()]).unwrap();
    let fault = until_fault(&machine, is_over).await;
    assert_eq!(end_of(&fault), JobEnd::Cancelled);
    assert_eq!(cluster.running(&nap), []);
    assert_eq!(cluster.jobs().unwrap(), []);
    left.ended.abort();
    drop((keeper, machine));
    // It is known still when Slurm has no more to say.
    assert_eq!(tasks.book.all()[0].over.as_ref().map(|over| over.end), Some(JobEnd::Cancelled));
    let first = tasks.number();
    let machine = tasks.begun().await;
    assert_eq!((tasks.book.all().len(), first != tasks.number()), (2, true));
    drop(machine);
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn memory_that_ends_a_program_is_counted_and_that_of_the_job_is_told() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(SlurmConfig { memory_mb: Some(96), ..Cluster::small() }));
    let machine = tasks.begun().await;
    assert_eq!(machine.memory_kills().await.unwrap(), Some(0));
    let keeper = machine.keeper(1, LONG);
    let greedy = script("a", "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}");
    let (finished, printed) = Following::of(keeper.open(greedy).await.unwrap()).end().await;
    assert!(printed.out.is_empty(), "{finished:?}");
    // What was killed is the program, or the keeper with it.
    match machine.memory_kills().await {
        Ok(kills) => assert!(kills > Some(0), "{kills:?}"),
        Err(fault) => assert!(!is_over(&fault) || end_of(&fault) == JobEnd::OutOfMemory, "{fault}"),
    }
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn time_limit_is_told_with_its_length() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(SlurmConfig { time_minutes: Some(5), ..Cluster::small() }));
    let machine = tasks.begun().await;
    // A minute is the shortest that Slurm knows: what has run for longer than its limit ends at the next look.
    let job = format!("JobId={}", tasks.number());
    cluster.slurm(&["scontrol", "update", &job, "TimeLimit=0-00:00:01"]).unwrap();
    let fault = until_fault(&machine, is_over).await;
    assert_eq!(end_of(&fault), JobEnd::TimeLimit);
    assert!(fault.to_string().contains("time limit of 00:0"), "{fault}");
    drop(machine);
    cluster.close().unwrap();
}
