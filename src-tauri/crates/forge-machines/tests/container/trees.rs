//! A task's worktree in a container: sent, worked on there, fetched, removed.

use std::fs;

use forge_machines::container::Containers;
use forge_machines_testkit::{Following, Podman};

use crate::{
    LONG, script,
    worktree::{git, lent_worktree},
};

#[tokio::test]
async fn worktree_is_worked_on_there_and_comes_back() {
    let Some(podman) = Podman::rootful() else { return };
    let tree = lent_worktree(&podman.folder.path().join("here"));
    let worktree = tree.worktree.clone();
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let environment = machine.login_environment().await.unwrap();
    let far = keeper.far_tree("task", "project", &environment);
    assert!(far.send(&tree).await.unwrap().changed);
    let there = far.path().unwrap().to_owned();
    assert!(there.display().to_string().contains("/.forge/"), "{}", there.display());
    let mut work =
        script("work", "echo there > made && git add -A && git commit -qm there && git status --porcelain");
    work.command = work.command.base(environment);
    work.command.cwd.clone_from(&there);
    let (finished, printed) = Following::of(keeper.open(work).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success(), "{printed:?}");
    assert!(far.fetch(&tree, false).await.unwrap().changed);
    assert_eq!(git(&worktree, &["log", "-1", "--format=%s"]), "there");
    assert_eq!(fs::read_to_string(worktree.join("made")).unwrap(), "there\n");
    far.remove().await.unwrap();
    assert!(keeper.far_trees(false).await.unwrap().is_empty());
    machine.stop_all(&keeper).await.unwrap();
    drop((far, keeper, machine));
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}
