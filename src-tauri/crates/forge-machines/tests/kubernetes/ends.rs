//! How Jobs end: each way is told by its name, is known still afterwards, and is followed by another Job only when that is
//! allowed.

use forge_machines::{
    Fault, JobEnd, JobFault,
    job::{Cluster as _, Known, Look},
};
use forge_machines_testkit::{FakeKubernetes, PodEnd};
use serde_json::{Value, json};

use crate::Tasks;

#[tokio::test]
async fn end_of_a_pod_is_told_and_another_job_is_created_only_when_that_is_allowed() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let terminated = |state: Value| json!({ "containerStatuses": [{ "name": "forge", "state": { "terminated": state } }] });
    let oom = terminated(json!({ "reason": "OOMKilled", "exitCode": 137 }));
    let evicted =
        json!({ "reason": "Evicted", "message": "The node was low on resource: ephemeral-storage. " });
    for (count, (end, kind, told)) in [
        (PodEnd::Failed(oom), JobEnd::OutOfMemory, "it was killed at its memory limit."),
        (
            PodEnd::Failed(evicted),
            JobEnd::Evicted,
            "its node evicted it (The node was low on resource: ephemeral-storage).",
        ),
        (
            PodEnd::Failed(json!({ "reason": "DeadlineExceeded" })),
            JobEnd::TimeLimit,
            "it reached its time limit.",
        ),
        (PodEnd::Gone, JobEnd::Taken, "its pod was removed."),
    ]
    .into_iter()
    .enumerate()
    {
        let machine = tasks.begun().await;
        assert_eq!(cluster.created(), count + 1, "one that is over is followed by another one");
        cluster.end_pods(&end);
        let mut contact = machine.contact();
        contact.wait_for(|contact| !contact.is_live()).await.unwrap();
        let fault = machine.connect().await.unwrap_err();
        let Fault::Job(JobFault::Over(over)) = &fault else { panic!("{fault:?}") };
        assert_eq!((over.end, over.is_certain()), (kind, true));
        assert!(fault.to_string().ends_with(told) && fault.remedy().ends_with('.'), "{fault}");
        assert_eq!(tasks.book.all()[count].over.as_ref(), Some(over), "it is written down");
        drop(machine);
        // It is known still when Kubernetes has no more to say.
        cluster.delete_jobs();
        let known = forge_machines::Machine::new(tasks.job()).connect().await.unwrap_err();
        assert_eq!(known, fault);
    }
    cluster.close().unwrap();
}

#[tokio::test]
async fn pod_whose_node_is_lost_is_not_certain_until_it_is_gone_and_there_is_one_job() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let machine = tasks.begun().await;
    cluster.end_pods(&PodEnd::NodeLost);
    let mut contact = machine.contact();
    assert!(cluster.kill_clients() > 0);
    contact.wait_for(|contact| !contact.is_live()).await.unwrap();
    let fault = machine.connect().await.unwrap_err();
    assert!(
        matches!(&fault, Fault::Job(JobFault::Over(over)) if over.end == JobEnd::NodeFailed),
        "{fault:?}"
    );
    assert!(fault.is_passing() && fault.to_string().contains("cannot tell"), "{fault}");
    assert_eq!((tasks.book.all().len(), cluster.created()), (1, 1), "nothing begins beside what may go on");
    drop(machine);
    cluster.end_pods(&PodEnd::Gone);
    let back = forge_machines::Machine::new(tasks.job()).connect().await.unwrap_err();
    assert!(
        matches!(&back, Fault::Job(JobFault::Over(over)) if over.end == JobEnd::NodeCameBack),
        "{back:?}"
    );
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn pod_that_is_taken_from_its_node_is_known_to_have_been_when_it_is_gone() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    for (reason, end) in
        [("PreemptionByScheduler", JobEnd::Preempted), ("EvictionByEvictionAPI", JobEnd::Taken)]
    {
        // Nobody is connected: each look is one of these.
        let job = tasks.cluster.submit(reason.to_ascii_lowercase().as_str(), "task-1").await.unwrap();
        let look = async |known: Known<'_>| tasks.cluster.look(&job, known).await.unwrap();
        let Look::Ready { place } = look(Known::default()).await else { panic!("it runs") };
        cluster.end_pods(&PodEnd::Taken(reason));
        let known = Known { place: Some(&place), ..Known::default() };
        let Look::Over(told) = look(known).await else { panic!("it is told") };
        assert_eq!((told.end, told.is_certain()), (end, false));
        let late = look(known).await;
        assert!(
            matches!(&late, Look::Over(over) if over.end == JobEnd::Taken && over.is_certain()),
            "{late:?}"
        );
        let Look::Over(gone) = look(Known { over: Some(&told), ..known }).await else { panic!("it is over") };
        assert_eq!((gone.end, gone.is_certain()), (end, true));
        cluster.delete_jobs();
    }
    cluster.close().unwrap();
}
