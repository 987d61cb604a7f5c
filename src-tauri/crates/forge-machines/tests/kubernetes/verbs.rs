//! The verbs: each can be repeated, and says what is.

use std::sync::Arc;

use forge_machines::{
    Fault, JobFault, KubernetesFault, Machine, StepName,
    job::{self, Cluster, Known, Ledger as _, Look},
    kubernetes::{Kubernetes, KubernetesConfig, Toleration},
};
use forge_machines_testkit::{FakeKubernetes, Pods};
use serde_json::{Value, json};

use crate::Tasks;

#[tokio::test]
async fn name_is_created_once_and_job_that_was_not_written_down_is_found_by_it() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    // Killed between the request and the row.
    let intended = tasks.book.intend().await.unwrap();
    let job = tasks.cluster.submit(&intended.id, "task-1").await.unwrap();
    assert_eq!(tasks.cluster.submit(&intended.id, "task-1").await.unwrap(), job, "it may be repeated");
    let machine = tasks.begun().await;
    assert_eq!((tasks.name(), cluster.created()), (job.clone(), 1));
    let Look::Ready { place } = tasks.cluster.look(&job, Known::default()).await.unwrap() else {
        panic!("it runs")
    };
    assert_eq!((place.node.as_str(), tasks.book.all()[0].place.as_ref()), ("node-1", Some(&place)));
    let listed = tasks.cluster.list().await.unwrap();
    assert_eq!((listed.len(), &listed[0].job, listed[0].id.as_str()), (1, &job, intended.id.as_str()));
    let others = forge_machines::kubernetes::KubernetesSetup {
        owner: "owner2".to_owned(),
        ..cluster.setup(cluster.config())
    };
    assert_eq!(Kubernetes::new(others).list().await.unwrap(), [], "another owner's are not listed");
    drop(machine);
    tasks.release().await;
    assert!(tasks.cluster.remove(&job, &intended.id).await.unwrap(), "it may be repeated");
    // Nobody creates another one in its place but whoever may.
    let fault = Machine::new(tasks.job()).connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Job(JobFault::Over(_))), "{fault:?}");
    assert_eq!(fault.to_string(), "Could not continue in job forge-t0 on node-1: somebody deleted it.");
    cluster.close().unwrap();
}

#[tokio::test]
async fn job_says_all_that_is_configured_and_no_credential() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let config = KubernetesConfig {
        service_account: Some("robot".to_owned()),
        resources: [("cpu".to_owned(), "500m".to_owned())].into(),
        tolerations: vec![Toleration { key: "gpu".to_owned(), value: None, effect: "NoSchedule".to_owned() }],
        ..cluster.config()
    };
    let tasks = Tasks::new(cluster.setup(config));
    drop(tasks.begun().await);
    let sent = cluster.sent();
    let body = sent.lines().find_map(|line| line.strip_prefix("POST ")?.split_once(" {")).unwrap().1;
    let job: Value = serde_json::from_str(&format!("{{{body}")).unwrap();
    let pod = &job["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "robot");
    assert_eq!(pod["containers"][0]["resources"]["limits"], json!({ "cpu": "500m" }));
    assert_eq!(pod["tolerations"][0]["key"], "gpu");
    let labels = &job["metadata"]["labels"];
    assert_eq!(
        (&labels["app.kubernetes.io/managed-by"], &labels["forge.dev/task"]),
        (&json!("forge"), &json!("task-1"))
    );
    assert!(!sent.contains("FORGE_TEST_OWN") && !sent.contains("t0ken"), "{sent}");
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn refusal_of_the_job_is_told_in_a_sentence() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let refused = async |config: KubernetesConfig| Tasks::new(cluster.setup(config)).refused().await;
    let namespace = refused(KubernetesConfig { namespace: "nowhere".to_owned(), ..cluster.config() }).await;
    assert!(matches!(&namespace, Fault::Kubernetes(KubernetesFault::Refused { .. })), "{namespace:?}");
    assert!(namespace.to_string().contains("namespaces \"nowhere\" not found"), "{namespace}");
    let image = refused(KubernetesConfig { image: String::new(), ..cluster.config() }).await;
    assert!(image.to_string().contains("containers[0].image: Required value"), "{image}");
    let context = refused(KubernetesConfig { context: Some("far".to_owned()), ..cluster.config() }).await;
    assert!(matches!(&context, Fault::Kubernetes(KubernetesFault::Configuration { .. })), "{context:?}");
    let file = KubernetesConfig { kubeconfig: Some("/nowhere".to_owned()), ..cluster.config() };
    let file = refused(file).await;
    assert!(matches!(&file, Fault::Kubernetes(KubernetesFault::Configuration { .. })), "{file:?}");
    for fault in [namespace, image, context, file] {
        assert!(!fault.is_passing() && fault.remedy().starts_with("Correct"), "{fault}: {}", fault.remedy());
    }
    let mut setup = cluster.setup(cluster.config());
    setup.environment = Arc::new([("PATH".into(), "/nowhere".into())].into());
    let missing = Tasks::new(setup).refused().await;
    assert_eq!(missing, Fault::Kubernetes(KubernetesFault::NoProgram));
    cluster.close().unwrap();
}

#[tokio::test]
async fn reason_for_waiting_is_told_and_job_begins_when_it_is_gone() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let pending = |mut status: Value| {
        status["phase"] = json!("Pending");
        Pods::Wait(status)
    };
    let unscheduled = |message: &str| {
        pending(
            json!({ "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message }] }),
        )
    };
    let quota = "Error creating: pods \"forge-t0-\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
    let pull = json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling image \"registry.example/agent:1\"" } });
    for (pods, told, is_persons) in [
        (
            unscheduled("0/2 nodes are available: 2 Insufficient memory."),
            "no node has free what it asks for",
            false,
        ),
        (unscheduled("0/2 nodes are available: 2 node(s) had untolerated taint {a: b}."), "taints", true),
        (
            pending(json!({ "containerStatuses": [{ "name": "forge", "state": pull }] })),
            "its image cannot be pulled",
            true,
        ),
        (Pods::AreRefused(quota.to_owned()), "the quota of the namespace is used up", true),
    ] {
        cluster.pods(pods).unwrap();
        let fault = tasks.refused().await;
        assert!(matches!(&fault, Fault::Job(JobFault::Waiting { .. })), "{fault:?}");
        assert!(fault.to_string().starts_with("Could not start job forge-t0 yet: "), "{fault}");
        assert!(fault.to_string().contains(told), "{fault}");
        assert_eq!(!fault.remedy().starts_with("Wait:"), is_persons, "{}", fault.remedy());
    }
    cluster.pods(Pods::Run).unwrap();
    drop(tasks.begun().await);
    assert_eq!(cluster.created(), 1, "it was created once");
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn every_step_of_a_test_is_told_as_it_is_taken_and_its_job_goes() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let kubernetes: Arc<dyn Cluster> = Arc::new(Kubernetes::new(cluster.setup(cluster.config())));
    let mut told = Vec::new();
    let steps = job::test(&kubernetes, &["git", "no-such-tool"], |step| told.push(step.clone())).await;
    assert_eq!(told, steps);
    use StepName::{Clock, Disk, Git, Job, Keeper, Kubernetes as Server, Program};
    let names: Vec<StepName> = steps.iter().map(|step| step.name).collect();
    assert_eq!(names, [Server, Job, Keeper, Git, Disk, Program, Program, Clock], "{steps:#?}");
    let bad: Vec<&str> =
        steps.iter().filter(|step| !step.ok).filter_map(|step| step.subject.as_deref()).collect();
    assert_eq!(bad, ["no-such-tool"], "{steps:#?}");
    cluster.close().unwrap();
}
