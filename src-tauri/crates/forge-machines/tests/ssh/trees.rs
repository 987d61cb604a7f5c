//! A task's worktree on a machine: sent, worked on there, fetched, removed.

use std::fs;

use forge_machines::SshMachine;
use forge_machines_testkit::{Following, Host, Setup};

use crate::{
    LONG, script,
    worktree::{git, lent_worktree},
};

#[tokio::test]
async fn worktree_is_worked_on_there_and_comes_back_over_one_session() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let tree = lent_worktree(&host.folder.path().join("here"));
    let worktree = tree.worktree.clone();
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    // Whatever is asked afterwards goes over its connection.
    machine.connect().await.unwrap();
    let environment = machine.login_environment().await.unwrap();
    let far = keeper.far_tree("task", "project", &environment);
    assert!(far.send(&tree).await.unwrap().changed);
    let there = far.path().unwrap().to_owned();
    let mut work =
        script("work", "echo there > made && git add -A && git commit -qm there && git status --porcelain");
    work.command = work.command.base(environment);
    work.command.cwd.clone_from(&there);
    let (finished, printed) = Following::of(keeper.open(work).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success(), "{printed:?}");
    assert!(far.fetch(&tree, false).await.unwrap().changed);
    assert_eq!(git(&worktree, &["log", "-1", "--format=%s"]), "there");
    assert_eq!(fs::read_to_string(worktree.join("made")).unwrap(), "there\n");
    assert_eq!(host.sign_ins(), 1);
    assert!(!keeper.far_trees(false).await.unwrap().is_empty());
    far.remove().await.unwrap();
    assert!(keeper.far_trees(false).await.unwrap().is_empty());
    machine.stop_all(&keeper).await.unwrap();
}
