//! What fails is never taken for an end: the server, the sign-in, a right.

use forge_machines::{
    Contact, Fault, KubernetesFault,
    job::{Cluster as _, Known},
};
use forge_machines_testkit::{Answers, FakeKubernetes, Following};

use crate::{LONG, Tasks, script};

#[tokio::test(flavor = "multi_thread")]
async fn server_that_is_down_is_unreachable_and_the_program_goes_on() {
    let Some(mut cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let go = cluster.folder.path().join("go");
    let text = format!("echo begun; while [ ! -e {} ]; do sleep 0.05; done; echo on", go.display());
    let mut following = Following::of(keeper.open(script("a", &text)).await.unwrap());
    following.until(6).await;
    let mut contact = machine.contact();
    tokio::task::block_in_place(|| cluster.down());
    let is_told = |contact: &Contact| {
        matches!(
            contact,
            Contact::Unreachable { fault: Fault::Kubernetes(KubernetesFault::Server { .. }), .. }
        )
    };
    let told = contact.wait_for(is_told).await.unwrap().clone();
    let Contact::Unreachable { fault, .. } = told else { return };
    assert!(fault.to_string().ends_with(" was refused."), "{fault}");
    assert_eq!(tasks.book.all()[0].over, None, "nobody says that it ended");
    let fault = tasks.cluster.cancel(&tasks.name(), Known::default()).await.unwrap_err();
    assert!(matches!(fault, Fault::Kubernetes(KubernetesFault::Server { .. })), "{fault:?}");
    cluster.up().unwrap();
    machine.nudge().await;
    std::fs::write(&go, "").unwrap();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(String::from_utf8_lossy(&printed.out), "begun\non\n");
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn server_that_refuses_or_never_answers_says_nothing_of_the_job() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    drop(tasks.begun().await);
    for (answers, told, is_passing) in [
        (
            Answers::Unauthorized,
            "Could not sign in to Kubernetes: the sign-in has expired, or is not accepted.",
            true,
        ),
        (Answers::Forbidden, "Could not use Kubernetes: it forbids this (", false),
        (Answers::Broken, "Could not reach the API server of Kubernetes: ", true),
        (Answers::Never, "Could not reach the API server of Kubernetes: ", true),
    ] {
        cluster.answer(answers);
        let fault = forge_machines::Machine::new(tasks.job()).connect().await.unwrap_err();
        assert!(fault.to_string().starts_with(told), "{answers:?}: {fault}");
        assert_eq!(fault.is_passing(), is_passing, "{answers:?}");
        assert!(!fault.is_of_one_task() && fault.remedy().ends_with('.'), "{answers:?}");
    }
    cluster.answer(Answers::Well);
    assert_eq!((tasks.book.all()[0].over.as_ref(), cluster.created()), (None, 1));
    drop(tasks.begun().await);
    tasks.release().await;
    cluster.close().unwrap();
}
