//! Programs in a job: they start once, go on without whoever started them, and know no secret but their own.

use std::{ffi::OsStr, fs};

use forge_exec::Stdin;
use forge_machines_testkit::{Cluster, Following};

use crate::{
    LONG, Tasks, script,
    worktree::{git, lent_worktree},
};

#[tokio::test]
async fn program_goes_on_through_cuts_and_without_its_engine_and_starts_once() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
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
    assert!(lines[1001].starts_with(cluster.owner()), "{}", lines[1001]);
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn nothing_of_the_environment_here_and_no_secret_is_in_a_job_or_an_argument() {
    let Some(cluster) = Cluster::start() else { return };
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let environment = machine.login_environment().await.unwrap();
    let of = |name: &str| environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
    assert_eq!(of("HOME").as_deref(), Some("/root"));
    assert_eq!((of("FORGE_TEST_OWN"), of("SLURM_STEP_ID"), of("SLURM_EXPORT_ENV")), (None, None, None));
    assert_eq!(of("SLURM_JOB_ID"), Some(tasks.number().0));
    let keeper = machine.keeper(1, LONG);
    let secret = format!("s3cr3t-0123456789-of-a-job-{}", std::process::id());
    let mut run = script("a", "echo has $TOKEN; read word; echo read $word; read more");
    run.command = run.command.env("TOKEN", secret.as_str());
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    input.send(format!("{secret}\n").into_bytes()).await.unwrap();
    following.until(2 * secret.len() + "has \nread \n".len()).await;
    let has = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let mut carry = 0;
    for (pid, line) in cluster.running("") {
        assert!(!has(line.as_bytes(), &secret), "{line}");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if has(&environment, &secret) {
            assert!(line.starts_with("sh -c echo has"), "{line}");
            carry += 1;
        }
        let is_of_job = line.contains("forge-keeper serve") && line.contains(cluster.owner());
        assert!(!is_of_job || !has(&environment, "FORGE_TEST_OWN"), "{line}");
    }
    assert_eq!(carry, 1);
    drop(input);
    assert!(has(&following.end().await.1.out, &secret));
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}

#[tokio::test]
async fn worktree_is_worked_on_there_and_comes_back() {
    let Some(cluster) = Cluster::start() else { return };
    let tree = lent_worktree(&cluster.folder.path().join("here"));
    let tasks = Tasks::new(cluster.setup(Cluster::small()));
    let machine = tasks.begun().await;
    let keeper = machine.keeper(1, LONG);
    let environment = machine.login_environment().await.unwrap();
    let far = keeper.far_tree("task", "project", &environment);
    assert!(far.send(&tree).await.unwrap().changed);
    let there = far.path().unwrap().to_owned();
    let mut work = script("work", "hostname > made && git add -A && git commit -qm there");
    work.command = work.command.base(environment);
    work.command.cwd.clone_from(&there);
    let (finished, printed) = Following::of(keeper.open(work).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success(), "{printed:?}");
    assert!(far.fetch(&tree, false).await.unwrap().changed);
    assert_eq!(git(&tree.worktree, &["log", "-1", "--format=%s"]), "there");
    assert!(fs::read_to_string(tree.worktree.join("made")).unwrap().starts_with(cluster.owner()));
    far.remove().await.unwrap();
    machine.stop_all(&keeper).await.unwrap();
    drop((far, keeper, machine));
    tasks.release().await;
    cluster.close().unwrap();
}
