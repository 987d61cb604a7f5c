//! Programs in a pod: they start once, go on without whoever started them, and know no secret but their own.

use std::{ffi::OsStr, fs};

use forge_exec::Stdin;
use forge_machines_testkit::{FakeKubernetes, Following};

use crate::{
    LONG, Tasks, script,
    worktree::{git, lent_worktree},
};

#[tokio::test]
async fn program_goes_on_through_cuts_and_without_its_engine_and_starts_once() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let go = cluster.folder.path().join("go");
    let text =
        format!("echo begun; while [ ! -e {} ]; do sleep 0.05; done; seq 1000; hostname", go.display());
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let mut following = Following::of(keeper.open(script("a", &text)).await.unwrap());
    following.until(6).await;
    let mut contact = machine.contact();
    assert!(cluster.kill_clients() > 0);
    contact.wait_for(|contact| !contact.is_live()).await.unwrap();
    machine.nudge().await;
    contact.wait_for(forge_machines::Contact::is_live).await.unwrap();
    keeper.leave_running();
    following.ended.abort();
    drop((following, keeper, machine));
    let machine = forge_machines::Machine::new(tasks.job());
    let keeper = machine.keeper(2, LONG);
    let session = keeper.open(script("a", &text)).await.unwrap();
    assert!(!session.opened().is_new);
    fs::write(&go, "").unwrap();
    let (finished, printed) = Following::of(session).end().await;
    assert!(finished.unwrap().is_success());
    let told = String::from_utf8_lossy(&printed.out).into_owned();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[1000]), (1002, "begun", "1000"));
    assert!(lines[1001].starts_with("forge-t0-"), "{}", lines[1001]);
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn nothing_of_the_environment_here_and_no_secret_is_in_a_pod_or_an_argument() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let machine = tasks.begun().await;
    let environment = machine.login_environment().await.unwrap();
    let of = |name: &str| environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
    assert_eq!((of("HOME").as_deref(), of("FORGE_TEST_OWN")), (Some("/root"), None));
    let keeper = machine.keeper(1, LONG);
    let secret = format!("s3cr3t-0123456789-of-a-pod-{}", std::process::id());
    let mut run = script("a", "echo has $TOKEN; read word; echo read $word");
    run.command = run.command.env("TOKEN", secret.as_str());
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until("has \n".len() + secret.len()).await;
    assert_eq!(cluster.running(&secret), []);
    input.send(format!("{secret}\n").into_bytes()).await.unwrap();
    drop(input);
    let printed = following.end().await.1;
    assert!(String::from_utf8_lossy(&printed.out).contains(&format!("read {secret}")));
    assert!(!cluster.sent().contains(&secret));
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn worktree_is_worked_on_there_and_comes_back() {
    let Some(cluster) = FakeKubernetes::start() else { return };
    let tree = lent_worktree(&cluster.folder.path().join("here"));
    let tasks = Tasks::new(cluster.setup(cluster.config()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let environment = machine.login_environment().await.unwrap();
    let far = keeper.far_tree("task", "project", &environment);
    assert!(far.send(&tree).await.unwrap().changed);
    let there = far.path().unwrap().to_owned();
    assert!(!there.exists(), "the pod has a folder of its own");
    let mut work = script("work", "hostname > made && git add -A && git commit -qm there");
    work.command = work.command.base(environment);
    work.command.cwd.clone_from(&there);
    let (finished, printed) = Following::of(keeper.open(work).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success(), "{printed:?}");
    assert!(far.fetch(&tree, false).await.unwrap().changed);
    assert_eq!(git(&tree.worktree, &["log", "-1", "--format=%s"]), "there");
    assert!(fs::read_to_string(tree.worktree.join("made")).unwrap().starts_with("forge-t0-"));
    far.remove().await.unwrap();
    machine.stop_all(&keeper).await.unwrap();
    drop((far, keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}
