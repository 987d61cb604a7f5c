//! What fails is never taken for an end: the controller, a node's program, a node.

use forge_machines::{Contact, Fault, JobEnd, JobFault, Machine, SlurmFault, job::Known, slurm::LeftBehind};
use forge_machines_testkit::{Cluster, Following};

use crate::{LONG, Tasks, script, until_fault};

#[tokio::test]
async fn controller_that_is_down_is_unreachable_and_the_program_goes_on() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let go = cluster.folder.path().join("go");
    let text = format!("echo begun; while [ ! -e {} ]; do sleep 0.05; done; echo on", go.display());
    let mut following = Following::of(keeper.open(script("a", &text)).await.unwrap());
    following.until(6).await;
    cluster.kill_controller().unwrap();
    let mut contact = machine.contact();
    assert!(cluster.kill_clients() > 0);
    let is_told = |contact: &Contact| {
        matches!(contact, Contact::Unreachable { fault: Fault::Slurm(SlurmFault::Controller { .. }), .. })
    };
    contact.wait_for(is_told).await.unwrap();
    assert_eq!(tasks.book.all()[0].over, None, "nobody says that it ended");
    let fault = tasks.slurm.cancel(&tasks.number(), Known::default()).await.unwrap_err();
    assert!(matches!(fault, Fault::Slurm(SlurmFault::Controller { .. })), "{fault:?}");
    cluster.start_controller().unwrap();
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
async fn node_whose_slurmd_was_killed_is_not_certain_until_it_is_back_and_there_is_one_job() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let nap = format!("sleep 54321{}", std::process::id());
    let mut following = Following::of(keeper.open(script("a", &format!("echo begun; {nap}"))).await.unwrap());
    following.until(6).await;
    let number = if cluster.slurm(&["squeue", "--noheader", "--format=%N"]).unwrap().trim() == cluster.node(1)
    {
        1
    } else {
        2
    };
    cluster.kill_slurmd(number).unwrap();
    cluster.until_nodes("down*", 1).unwrap();
    cluster.kill_clients();
    let failed =
        |fault: &Fault| matches!(fault, Fault::Job(JobFault::Over(over)) if over.end == JobEnd::NodeFailed);
    let fault = until_fault(&machine, failed).await;
    assert!(fault.to_string().contains("cannot tell"), "{fault}");
    assert!(!cluster.running(&nap).is_empty(), "its programs go on");
    assert_eq!(cluster.jobs().unwrap(), [], "it is not requeued");
    cluster.start_slurmd(number).unwrap();
    let back =
        |fault: &Fault| matches!(fault, Fault::Job(JobFault::Over(over)) if over.end == JobEnd::NodeCameBack);
    until_fault(&machine, back).await;
    assert_eq!(tasks.book.all()[0].over.as_ref().map(|over| over.end), Some(JobEnd::NodeCameBack));
    assert_eq!(tasks.book.all().len(), 1);
    following.ended.abort();
    drop((keeper, machine));
    cluster.close().unwrap();
}

#[tokio::test]
async fn what_a_job_left_is_read_where_jobs_are_submitted_after_its_node_was_powered_off() {
    let Some(mut cluster) = Cluster::start() else { return };
    let tree = crate::worktree::lent_worktree(&cluster.folder.path().join("here"));
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let environment = machine.login_environment().await.unwrap();
    let far = keeper.far_tree("task", "project", &environment);
    far.send(&tree).await.unwrap();
    std::fs::write(far.path().unwrap().join("late"), "late\n").unwrap();
    let number = if cluster.slurm(&["squeue", "--noheader", "--format=%N"]).unwrap().trim() == cluster.node(1)
    {
        1
    } else {
        2
    };
    cluster.power_off(number);
    drop((far, keeper));
    until_fault(&machine, |fault| matches!(fault, Fault::Job(JobFault::Over(_)))).await;
    let left = Machine::new(LeftBehind::new(tasks.slurm.clone(), &tasks.book.all()[0].id));
    let keeper = left.keeper(2, LONG);
    assert_eq!(keeper.far_trees(false).await.unwrap().len(), 1);
    let far = keeper.far_tree("task", "project", &environment);
    assert!(far.fetch(&tree, false).await.unwrap().changed);
    assert_eq!(std::fs::read_to_string(tree.worktree.join("late")).unwrap(), "late\n");
    far.remove().await.unwrap();
    drop((far, keeper, left, machine));
    tasks.slurm.remove_folder(&tasks.book.all()[0].id).await.unwrap();
    assert!(!tasks.slurm.sees(&tasks.book.all()[0].id).await.unwrap());
    cluster.close().unwrap();
}
