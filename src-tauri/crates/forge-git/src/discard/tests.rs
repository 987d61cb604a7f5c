use std::fs;
use std::path::PathBuf;

use crate::repo::Repo;
use crate::testing::Sandbox;
use crate::worktrees::NewWorktree;

const PREFIX: &str = "refs/forge/backup/task";

/// A repository with a worktree on the branch `work`.
struct Given {
    sandbox: Sandbox,
    repo: Repo,
    tree: PathBuf,
}

impl Given {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let (repo, tree) = (sandbox.repo().await, sandbox.dir().join("task/tree"));
        let spec = NewWorktree { path: tree.clone(), branch: "work".into(), base: "main".into() };
        repo.create_worktree(&spec).await.unwrap();
        Self { sandbox, repo, tree }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.tree.join(path)).unwrap()
    }

    fn git(&self, args: &[&str]) -> String {
        self.sandbox.git_at(&self.tree, args)
    }

    fn commit(&self, files: &[(&str, &str)]) -> String {
        for (path, content) in files {
            self.write(path, content);
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "m"]);
        self.git(&["rev-parse", "HEAD"])
    }

    async fn discard(&self, commit: &str, before: &[&str]) -> super::Discarded {
        let before: Vec<String> = before.iter().map(|path| (*path).to_owned()).collect();
        self.repo.worktree_at(&self.tree).discard_changes("work", commit, &before, PREFIX).await.unwrap()
    }
}

#[tokio::test]
async fn a_guest_leaves_no_trace_and_nothing_is_lost() {
    let given = Given::new().await;
    let reviewed = given.commit(&[(".gitignore", "deps/\n"), ("b", "b")]);
    let made = given.commit(&[("a", "theirs"), ("mine", "here before")]);
    given.git(&["rm", "-q", "--cached", "mine"]);
    given.write("b", "dirty");
    given.write("staged", "staged first");
    given.git(&["add", "staged"]);
    given.write("staged", "written since");
    given.write("new dir/new", "x");
    given.write("deps/cache", "x");
    given.git(&["clone", "-q", ".", "inner"]);
    let discarded = given.discard(&reviewed, &["mine"]).await;
    let kept = [format!("{PREFIX}/1"), format!("{PREFIX}/2")];
    assert_eq!(discarded.kept, kept);
    assert_eq!(discarded.removed, ["new dir/new"]);
    assert_eq!(discarded.left, ["inner/"]);
    for (path, content) in [("b", "dirty"), ("staged", "written since"), ("new dir/new", "x")] {
        assert_eq!(given.git(&["show", &format!("{}:{path}", kept[0])]), content);
    }
    assert_eq!(given.git(&["show", &format!("{}^2:staged", kept[0])]), "staged first");
    assert_eq!(given.git(&["rev-parse", &kept[1]]), made);
    assert_eq!(given.git(&["symbolic-ref", "HEAD"]), "refs/heads/work");
    assert_eq!(given.git(&["rev-parse", "HEAD"]), reviewed);
    assert_eq!(
        (given.read("b"), given.read("a"), given.read("mine")),
        ("b".into(), "a\n".into(), "here before".into())
    );
    assert!(!given.tree.join("new dir").exists() && given.tree.join("deps/cache").exists());
}

#[tokio::test]
async fn where_nothing_was_done_nothing_is_kept_or_written() {
    let given = Given::new().await;
    let reviewed = given.commit(&[("b", "b")]);
    given.write("mine", "here before");
    let index = given.repo.worktree_at(&given.tree).git_dir().await.unwrap().join("index");
    let written = || index.metadata().unwrap().modified().unwrap();
    let before = written();
    assert_eq!(given.discard(&reviewed, &["mine"]).await, super::Discarded::default());
    assert_eq!(written(), before);
    given.git(&["checkout", "-q", "--detach"]);
    assert_eq!(given.discard(&reviewed, &["mine"]).await, super::Discarded::default());
    assert_eq!(given.git(&["symbolic-ref", "HEAD"]), "refs/heads/work");
}

#[tokio::test]
async fn a_guest_on_another_branch_or_in_the_middle_of_something_is_brought_back() {
    for command in [["merge", "theirs"], ["rebase", "theirs"], ["cherry-pick", "theirs"]] {
        let given = Given::new().await;
        given.git(&["checkout", "-q", "-b", "theirs"]);
        let theirs = given.commit(&[("a", "theirs\n")]);
        given.git(&["checkout", "-q", "work"]);
        let reviewed = given.commit(&[("a", "ours\n")]);
        let (ok, _) = given.sandbox.try_git_at(&given.tree, &command);
        assert!(!ok);
        let discarded = given.discard(&reviewed, &[]).await;
        assert_eq!(given.repo.worktree_at(&given.tree).operation().await.unwrap(), None, "{command:?}");
        assert_eq!(given.repo.worktree_at(&given.tree).status().await.unwrap(), [], "{command:?}");
        assert_eq!(
            (given.git(&["rev-parse", "HEAD"]), given.read("a")),
            (reviewed.clone(), "ours\n".to_owned())
        );
        // The conflict; a stopped rebase stands on the other branch's commit, too.
        assert_eq!(discarded.kept.len(), 1 + usize::from(command[0] == "rebase"), "{discarded:?}");
        given.git(&["checkout", "-q", "theirs"]);
        let discarded = given.discard(&reviewed, &[]).await;
        assert_eq!(given.git(&["rev-parse", &discarded.kept[0]]), theirs);
        assert_eq!(given.git(&["rev-parse", "theirs", "work"]), format!("{theirs}\n{reviewed}"));
    }
}
