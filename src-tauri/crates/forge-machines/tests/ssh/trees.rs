//! A task's worktree on a machine: sent, worked on there, fetched, removed.

use std::{fs, path::Path, process::Command};

use forge_machines::SshMachine;
use forge_machines_testkit::{Following, Host, Setup};
use forge_transfer::{Manner, Side, Tree};

use crate::{LONG, script};

fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
    let done = Command::new("git").args(identity).args(args).current_dir(dir).output().ok();
    let printed = done.filter(|done| done.status.success()).map(|done| done.stdout);
    assert!(printed.is_some(), "git {args:?} failed");
    String::from_utf8_lossy(&printed.unwrap_or_default()).trim_end().to_owned()
}

#[tokio::test]
async fn worktree_is_worked_on_there_and_comes_back_over_one_session() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let base = host.folder.path().join("here");
    let worktree = base.join("tree");
    fs::create_dir_all(&worktree).unwrap();
    git(&worktree, &["init", "-q", "-b", "main"]);
    fs::write(worktree.join("a"), "a\n").unwrap();
    git(&worktree, &["add", "-A"]);
    git(&worktree, &["commit", "-qm", "first"]);
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    // Whatever is asked afterwards goes over its connection.
    machine.connect().await.unwrap();
    let environment = machine.login_environment().await.unwrap();
    let settings = [("user.name", "Tester"), ("user.email", "tester@example.com")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let tree = Tree {
        git_dir: worktree.join(".git"),
        objects: vec![worktree.join(".git/objects")],
        worktree: worktree.clone(),
        store: base.join("store"),
        program: "git".into(),
        environment: std::sync::Arc::new(std::env::vars_os().collect()),
        manner: Some(Manner { settings, ..Manner::default() }),
        side: Side::Lent,
    };
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
