//! What fails is never taken for an end: the server, the sign-in, a right.

use forge_machines::{
    Contact, Fault, KubernetesFault,
    job::{Cluster as _, Known, Ledger as _},
    kubernetes::current_context,
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

#[tokio::test]
async fn job_that_was_created_on_another_server_is_neither_over_nor_created_again() {
    let (Some(cluster), Some(other)) = (FakeKubernetes::start(), FakeKubernetes::start()) else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    drop(tasks.begun().await);
    let written = tasks.book.all();
    assert!(written[0].server.as_ref().is_some_and(|server| server.starts_with("http://127.0.0.1:")));
    // What was asked for there, too, of which nobody heard.
    let intended = tasks.book.intend().await.unwrap();
    tasks.book.addressed(&intended.id, written[0].server.as_deref().unwrap()).await.unwrap();
    cluster.lead_to(&other).unwrap();
    let is_told = |fault: &Fault| matches!(fault, Fault::Kubernetes(KubernetesFault::Configuration { said }) if said.contains("it leads to http://"));
    let looked = tasks.cluster.look(written[0].job.as_ref().unwrap(), written[0].known()).await.unwrap_err();
    assert!(is_told(&looked), "{looked:?}");
    let refused = tasks.refused().await;
    assert!(is_told(&refused), "{refused:?}");
    assert_eq!((cluster.created(), other.created()), (1, 0));
    assert_eq!(tasks.book.all()[0].over, None, "nobody says that it ended");
    cluster.lead_to(&cluster).unwrap();
    drop(tasks.begun().await);
    assert_eq!(cluster.created(), 2);
    cluster.delete_jobs();
    cluster.close().unwrap();
    other.close().unwrap();
}

#[tokio::test]
async fn current_context_is_that_of_the_configuration_and_a_fault_where_there_is_none() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let setup = cluster.setup(cluster.config());
    let file = cluster.kubeconfig();
    let current = async || current_context(file.to_str(), setup.environment.clone()).await;
    assert_eq!(current().await.unwrap(), "other");
    let text = std::fs::read_to_string(&file).unwrap().replace("current-context: other\n", "");
    std::fs::write(&file, text).unwrap();
    let none = current().await.unwrap_err();
    assert!(matches!(&none, Fault::Kubernetes(KubernetesFault::Configuration { .. })), "{none:?}");
    cluster.close().unwrap();
}
