use crate::testing::Sandbox;

const PREFIX: &str = "refs/forge/backup/task";

#[tokio::test]
async fn a_guest_leaves_no_trace_and_loses_no_commit() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let reviewed = sandbox.commit("work", &[(".gitignore", "deps/\n"), ("b", "b")]);
    sandbox.write("mine", "here before");
    let before = ["mine".to_owned()];
    let made = sandbox.commit("by the guest", &[("a", "theirs"), ("mine", "here before")]);
    sandbox.git(&["rm", "-q", "--cached", "mine"]);
    sandbox.write("b", "dirty");
    sandbox.write("new dir/new", "x");
    sandbox.write("deps/cache", "x");
    sandbox.git(&["clone", "-q", ".", "inner"]);
    let discarded = repo.discard_changes(repo.root(), "main", &reviewed, &before, PREFIX).await.unwrap();
    let kept = format!("{PREFIX}/1");
    assert_eq!(discarded.kept, [kept.as_str()]);
    assert_eq!(discarded.removed, ["new dir/new"]);
    assert_eq!(discarded.left, ["inner/"]);
    assert_eq!(sandbox.git_out(&["rev-parse", &kept]), made);
    assert_eq!(sandbox.git_out(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!((sandbox.head(), sandbox.read("b"), sandbox.read("a")), (reviewed, "b".into(), "a\n".into()));
    assert!(!sandbox.path("new dir").exists() && sandbox.path("deps/cache").exists());
}

#[tokio::test]
async fn a_guest_on_another_branch_or_in_the_middle_of_something_is_brought_back() {
    for command in [["merge", "theirs"], ["rebase", "theirs"], ["cherry-pick", "theirs"]] {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.git(&["checkout", "-q", "-b", "theirs"]);
        let theirs = sandbox.commit("theirs", &[("a", "theirs\n")]);
        sandbox.git(&["checkout", "-q", "main"]);
        let reviewed = sandbox.commit("ours", &[("a", "ours\n")]);
        let (ok, _) = sandbox.try_git_at(repo.root(), &command);
        assert!(!ok);
        let discarded = repo.discard_changes(repo.root(), "main", &reviewed, &[], PREFIX).await.unwrap();
        assert_eq!(repo.operation(repo.root()).await.unwrap(), None, "{command:?}");
        assert_eq!(repo.status(repo.root()).await.unwrap(), [], "{command:?}");
        assert_eq!((sandbox.head(), sandbox.read("a")), (reviewed.clone(), "ours\n".to_owned()));
        // A stopped rebase stands on the other branch's commit.
        assert_eq!(discarded.kept.len(), usize::from(command[0] == "rebase"));
        sandbox.git(&["checkout", "-q", "theirs"]);
        let discarded = repo.discard_changes(repo.root(), "main", &reviewed, &[], PREFIX).await.unwrap();
        assert_eq!(sandbox.git_out(&["rev-parse", &discarded.kept[0]]), theirs);
        assert_eq!(sandbox.git_out(&["rev-parse", "theirs", "main"]), format!("{theirs}\n{reviewed}"));
    }
}
