//! A worktree with one commit, as it is lent to a machine.

use std::{fs, path::Path, process::Command};

use forge_transfer::{Manner, Side, Tree};

/// What git prints for a tester.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=Tester", "-c", "user.email=tester@example.com"];
    let done = Command::new("git").args(identity).args(args).current_dir(dir).output().ok();
    let printed = done.filter(|done| done.status.success()).map(|done| done.stdout);
    assert!(printed.is_some(), "git {args:?} failed");
    String::from_utf8_lossy(&printed.unwrap_or_default()).trim_end().to_owned()
}

/// Makes the repository in a folder.
#[expect(clippy::expect_used, reason = "a helper of tests")]
pub(crate) fn lent_worktree(base: &Path) -> Tree {
    let worktree = base.join("tree");
    fs::create_dir_all(&worktree).expect("a folder");
    git(&worktree, &["init", "-q", "-b", "main"]);
    fs::write(worktree.join("a"), "a\n").expect("a file");
    git(&worktree, &["add", "-A"]);
    git(&worktree, &["commit", "-qm", "first"]);
    let settings = [("user.name", "Tester"), ("user.email", "tester@example.com")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Tree {
        git_dir: worktree.join(".git"),
        objects: vec![worktree.join(".git/objects")],
        worktree,
        store: base.join("store"),
        program: "git".into(),
        environment: std::sync::Arc::new(std::env::vars_os().collect()),
        manner: Some(Manner { settings, ..Manner::default() }),
        side: Side::Lent,
    }
}
