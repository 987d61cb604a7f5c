//! The verbs: each can be repeated, and says what is.

use forge_machines::{
    Fault, JobFault, SlurmFault, StepName, job,
    job::{Known, Ledger as _, Look},
    slurm::{Slurm, SlurmConfig},
};
use forge_machines_testkit::Cluster;
use std::sync::Arc;

use crate::{Tasks, connected};

#[tokio::test]
async fn name_is_submitted_once_and_job_that_was_not_written_down_is_found_by_it() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    // Killed between `sbatch` and the row.
    let intended = tasks.book.intend().await.unwrap();
    let job = tasks.slurm.submit(&intended.id).await.unwrap();
    let machine = tasks.begun().await;
    assert_eq!(tasks.number(), job);
    assert_eq!(cluster.jobs().unwrap().len(), 1);
    assert!(matches!(tasks.slurm.look(&job, Known::default()).await.unwrap(), Look::Ready { .. }));
    let listed = tasks.slurm.list().await.unwrap();
    assert_eq!((listed.len(), &listed[0].job, listed[0].id.as_str()), (1, &job, intended.id.as_str()));
    let (one, other) = tokio::join!(connected(&machine), connected(&machine));
    assert!(one.is_ok() && other.is_ok());
    drop(machine);
    tasks.release().await;
    assert!(tasks.slurm.cancel(&job, Known::default()).await.unwrap(), "it may be repeated");
    // Nobody submits another one in its place but whoever may.
    let machine = forge_machines::Machine::new(tasks.job());
    let fault = machine.connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Job(JobFault::Over(_))), "{fault:?}");
    assert_eq!(fault.to_string().split(':').nth(1), Some(" somebody cancelled it."));
    assert_eq!(cluster.jobs().unwrap(), []);
    cluster.close().unwrap();
}

#[tokio::test]
async fn refusal_and_reason_for_waiting_are_told_in_a_sentence() {
    let Some(cluster) = Cluster::start() else { return };
    let refused =
        async |config: SlurmConfig| Slurm::new(cluster.setup(config)).submit("x").await.unwrap_err();
    let partition =
        refused(SlurmConfig { partition: Some("nowhere".to_owned()), ..SlurmConfig::default() }).await;
    assert!(
        matches!(&partition, Fault::Slurm(SlurmFault::Refused { said }) if said.contains("partition")),
        "{partition:?}"
    );
    let large = SlurmConfig { cpus: Some(2), memory_mb: Some(256), ..SlurmConfig::default() };
    let slurm = Slurm::new(cluster.setup(large));
    let mut jobs = Vec::new();
    for id in ["a", "b", "c"] {
        jobs.push(slurm.submit(id).await.unwrap());
    }
    // The third one finds no place.
    let waits = loop {
        let Look::Waiting { fault } = slurm.look(&jobs[2], Known::default()).await.unwrap() else {
            panic!("there is no place for it")
        };
        if !fault.to_string().contains("not looked") {
            break fault;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    };
    let told = waits.to_string();
    let is_known =
        told.ends_with("the resources that it requests are not free.") || told.ends_with("are ahead of it.");
    assert!(is_known && waits.remedy().starts_with("Wait"), "{told}");
    let short =
        SlurmConfig { partition: Some("short".to_owned()), time_minutes: Some(600), ..Cluster::small() };
    let short = Slurm::new(cluster.setup(short));
    match short.submit("d").await {
        Err(fault) => assert!(matches!(fault, Fault::Slurm(SlurmFault::Refused { .. })), "{fault:?}"),
        Ok(job) => {
            let Look::Waiting { fault } = short.look(&job, Known::default()).await.unwrap() else {
                panic!("it may not begin")
            };
            assert!(fault.remedy().starts_with("Lower"), "only a person can mend it: {fault}");
            jobs.push(job);
        }
    }
    for job in jobs {
        while !slurm.cancel(&job, Known::default()).await.unwrap() {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    cluster.close().unwrap();
}

#[tokio::test]
async fn every_step_of_a_test_is_told_as_it_is_taken_and_its_job_goes() {
    let Some(cluster) = Cluster::start() else { return };
    let slurm: Arc<dyn job::Cluster> = Arc::new(Slurm::new(cluster.setup(Cluster::small())));
    let mut told = Vec::new();
    let steps = job::test(&slurm, &["git", "no-such-tool"], |step| told.push(step.clone())).await;
    assert_eq!(told, steps);
    use StepName::{Clock, Disk, Git, Job, Keeper, Program, SharedFolder, Slurm as Controller};
    let names: Vec<StepName> = steps.iter().map(|step| step.name).collect();
    assert_eq!(
        names,
        [Controller, Job, SharedFolder, Keeper, Git, Disk, Program, Program, Clock],
        "{steps:#?}"
    );
    let bad: Vec<&str> =
        steps.iter().filter(|step| !step.ok).filter_map(|step| step.subject.as_deref()).collect();
    assert_eq!(bad, ["no-such-tool"], "{steps:#?}");
    assert_eq!(cluster.jobs().unwrap(), []);
    cluster.close().unwrap();
}
