//! The same through a login node: every command and every step goes by the one session with it.

use std::sync::Arc;

use forge_machines::{
    AnyMachine, Fault, Way,
    slurm::{SlurmSetup, Submit},
};
use forge_machines_testkit::{Cluster, Following};

use crate::{LONG, Tasks, script};

#[tokio::test]
async fn job_is_submitted_and_reached_through_a_login_node() {
    let Some(cluster) = Cluster::start() else { return };
    let login = AnyMachine::new(Arc::new(cluster.login()) as Arc<dyn Way>);
    let setup = SlurmSetup { submit: Submit::Via(login.clone()), ..cluster.setup(Cluster::small()) };
    let tasks = Tasks::new(setup);
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let text = "echo begun; sleep 2; hostname; exit 3";
    let mut following = Following::of(keeper.open(script("a", text)).await.unwrap());
    following.until(6).await;
    let clients = cluster.running("control/").into_iter().filter(|(_, line)| line.contains("srun")).count();
    assert!(clients > 0, "it goes by the connection of the session");
    let (finished, printed) = following.end().await;
    assert!(!finished.unwrap().is_success());
    let told = String::from_utf8_lossy(&printed.out).into_owned();
    assert!(told.starts_with(&format!("begun\n{}", cluster.owner())), "{told}");
    assert!(tasks.slurm.sees(&tasks.book.all()[0].id).await.unwrap());
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    drop((tasks, login));
    cluster.close().unwrap();
}

#[tokio::test]
async fn login_node_that_cannot_be_reached_says_nothing_of_the_job() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    drop(tasks.begun().await);
    let mut config = cluster.login();
    config.ssh.options[0] = "ProxyCommand=false".to_owned();
    let away = AnyMachine::new(Arc::new(config) as Arc<dyn Way>);
    let setup = SlurmSetup { submit: Submit::Via(away), ..cluster.setup(Cluster::small()) };
    let other = Tasks { slurm: forge_machines::slurm::Slurm::new(setup), book: Arc::clone(&tasks.book) };
    let fault = forge_machines::Machine::new(other.job()).connect().await.unwrap_err();
    assert!(!matches!(fault, Fault::Slurm(_) | Fault::Job(_)), "{fault:?}");
    assert_eq!(tasks.book.all()[0].over, None);
    tasks.release().await;
    cluster.close().unwrap();
}
