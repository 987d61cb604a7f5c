use proptest::prelude::*;

use super::*;
use crate::testing::Sandbox;

fn request(strategy: MergeStrategy) -> MergeRequest {
    MergeRequest {
        target_branch: "main".to_owned(),
        source: "side".to_owned(),
        strategy,
        message: "Merge side".to_owned(),
        author: None,
    }
}

/// Branches off, commits `theirs` on `side` and `ours` on `main`; `None` deletes.
fn diverge(sandbox: &Sandbox, ours: &[(&str, Option<&str>)], theirs: &[(&str, Option<&str>)]) {
    for (branch, changes) in [("side", theirs), ("main", ours)] {
        sandbox.git(&["checkout", "-q", if branch == "side" { "-b" } else { "-q" }, branch]);
        for (path, content) in changes {
            match content {
                Some(content) => sandbox.write(path, content),
                None => sandbox.remove(path),
            }
        }
        if !changes.is_empty() {
            sandbox.commit(branch, &[]);
        }
    }
}

async fn conflicts(sandbox: &Sandbox) -> Vec<(String, ConflictKind)> {
    let repo = sandbox.repo().await;
    let before = sandbox.head();
    match repo.compute_merge(&request(MergeStrategy::Merge)).await.unwrap() {
        MergeComputation::Conflict { target_before, paths, messages, .. } => {
            assert_eq!(target_before, before);
            assert!(
                messages.iter().any(|m| m.kind.starts_with("CONFLICT") && !m.text.is_empty()),
                "{messages:?}"
            );
            paths.into_iter().map(|p| (p.path, p.kind)).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn kinds_of_conflict() {
    type Changes = &'static [(&'static str, Option<&'static str>)];
    type Kinds = &'static [(&'static str, ConflictKind)];
    let long = "one\ntwo\nthree\nfour\nfive\nsix\n";
    let cases: [(Changes, Changes, Kinds); 6] = [
        (&[("a", Some("x"))], &[("a", Some("y"))], &[("a", ConflictKind::Content)]),
        (&[("ü", Some("x"))], &[("ü", Some("y"))], &[("ü", ConflictKind::AddAdd)]),
        (&[("a", Some("x"))], &[("a", None)], &[("a", ConflictKind::ModifyDelete)]),
        (&[("a", None)], &[("a", Some("x"))], &[("a", ConflictKind::ModifyDelete)]),
        (&[("bin", Some("x\0y"))], &[("bin", Some("y\0y"))], &[("bin", ConflictKind::Binary)]),
        (
            &[("long", None), ("left", Some("one\ntwo\nthree\nfour\nfive\nsix\n"))],
            &[("long", None)],
            &[("left", ConflictKind::RenameDelete)],
        ),
    ];
    for (ours, theirs, expected) in cases {
        let sandbox = Sandbox::new().await;
        sandbox.commit("base", &[("long", long), ("bin", "\0")]);
        diverge(&sandbox, ours, theirs);
        let expected: Vec<_> = expected.iter().map(|(p, k)| ((*p).to_owned(), *k)).collect();
        assert_eq!(conflicts(&sandbox).await, expected, "{ours:?} {theirs:?}");
    }
}

#[tokio::test]
async fn both_renamed() {
    let sandbox = Sandbox::new().await;
    let long = "one\ntwo\nthree\nfour\nfive\nsix\n";
    sandbox.commit("base", &[("long", long)]);
    diverge(&sandbox, &[("long", None), ("left", Some(long))], &[("long", None), ("right", Some(long))]);
    let found = conflicts(&sandbox).await;
    assert!(found.iter().all(|(_, kind)| *kind == ConflictKind::RenameRename), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[tokio::test]
async fn a_conflict_has_its_three_sides() {
    let sandbox = Sandbox::new().await;
    diverge(&sandbox, &[("a", Some("ours"))], &[("a", Some("theirs"))]);
    let repo = sandbox.repo().await;
    let MergeComputation::Conflict { paths, .. } =
        repo.compute_merge(&request(MergeStrategy::Squash)).await.unwrap()
    else {
        panic!("no conflict");
    };
    let sides = [&paths[0].base, &paths[0].ours, &paths[0].theirs];
    let mut shown = Vec::new();
    for side in sides {
        let side = side.as_ref().unwrap();
        assert_eq!(side.mode, "100644");
        shown.push(String::from_utf8(repo.blob(&side.oid, 100).await.unwrap()).unwrap());
    }
    assert_eq!(shown, ["a\n", "ours", "theirs"]);
}

#[tokio::test]
async fn nothing_to_merge() {
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
        // Contained; reverted again; the same change on both sides.
        let contained = Sandbox::new().await;
        contained.git(&["branch", "side"]);
        contained.commit("later", &[("b", "b")]);
        let reverted = Sandbox::new().await;
        diverge(&reverted, &[], &[("a", Some("x"))]);
        reverted.git(&["checkout", "-q", "side"]);
        reverted.commit("back", &[("a", "a\n")]);
        reverted.git(&["checkout", "-q", "main"]);
        let same = Sandbox::new().await;
        diverge(&same, &[("a", Some("x"))], &[("a", Some("x"))]);
        for sandbox in [contained, reverted, same] {
            let computed = sandbox.repo().await.compute_merge(&request(strategy)).await.unwrap();
            assert_eq!(computed, MergeComputation::NothingToMerge, "{strategy:?}");
        }
    }
}

#[tokio::test]
async fn nothing_but_objects_is_written() {
    let sandbox = Sandbox::new().await;
    diverge(&sandbox, &[("b", Some("b"))], &[("c", Some("c"))]);
    sandbox.write("a", "dirty");
    let state = || {
        let status = sandbox.git_out(&["status", "--porcelain"]);
        (status, sandbox.git_out(&["for-each-ref"]), std::fs::read(sandbox.path(".git/index")).unwrap())
    };
    let before = state();
    let repo = sandbox.repo().await;
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
        let ready = repo.compute_merge(&request(strategy)).await.unwrap();
        assert!(matches!(ready, MergeComputation::Ready { fast_forward: false, .. }));
    }
    assert_eq!(state(), before);
    assert!(!sandbox.path("c").exists());
}

async fn ready(sandbox: &Sandbox, request: &MergeRequest) -> (String, bool) {
    match sandbox.repo().await.compute_merge(request).await.unwrap() {
        MergeComputation::Ready { commit, fast_forward, target_before } => {
            assert_eq!(target_before, sandbox.head());
            (commit, fast_forward)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn shapes_of_the_three_strategies() {
    let sandbox = Sandbox::new().await;
    diverge(&sandbox, &[("b", Some("b"))], &[("c", Some("c"))]);
    let (main, side) = (sandbox.head(), sandbox.git_out(&["rev-parse", "side"]));
    let shape = |commit: &str| sandbox.git_out(&["show", "-s", "--format=%P|%an|%s", commit]);
    let author = Some(("Ada".to_owned(), "ada@example.com".to_owned()));
    let (merge, _) = ready(&sandbox, &MergeRequest { author, ..request(MergeStrategy::Merge) }).await;
    assert_eq!(shape(&merge), format!("{main} {side}|Ada|Merge side"));
    let (squash, _) = ready(&sandbox, &request(MergeStrategy::Squash)).await;
    assert_eq!(shape(&squash), format!("{main}|Tester|Merge side"));
    let (rebase, _) = ready(&sandbox, &request(MergeStrategy::Rebase)).await;
    assert_eq!(shape(&rebase), format!("{main}|Tester|side"));
    let trees = [&merge, &squash, &rebase].map(|c| sandbox.git_out(&["rev-parse", &format!("{c}^{{tree}}")]));
    assert!(trees.iter().all(|tree| *tree == trees[0]));
}

#[tokio::test]
async fn a_source_ahead_is_taken_as_it_is() {
    let sandbox = Sandbox::new().await;
    diverge(&sandbox, &[], &[("c", Some("c"))]);
    let side = sandbox.git_out(&["rev-parse", "side"]);
    for strategy in [MergeStrategy::Merge, MergeStrategy::Rebase] {
        assert_eq!(ready(&sandbox, &request(strategy)).await, (side.clone(), true));
    }
    let (squash, fast_forward) = ready(&sandbox, &request(MergeStrategy::Squash)).await;
    assert!(squash != side && !fast_forward);
}

#[tokio::test]
async fn a_replay_keeps_authors_and_drops_empty_commits() {
    let sandbox = Sandbox::new().await;
    // Two files in one commit: the side's commit of one of them is not the same patch, and empty all the same.
    diverge(&sandbox, &[("b", Some("b")), ("e", Some("e"))], &[("c", Some("c"))]);
    sandbox.git(&["checkout", "-q", "side"]);
    sandbox.commit("part of main", &[("b", "b")]);
    sandbox.write("d", "d");
    sandbox.git(&["add", "d"]);
    sandbox.git(&[
        "commit",
        "-q",
        "--author=Ünal <u@example.com>",
        "--date=@1500000000 +0200",
        "-m",
        "by Ü\n\nbody\n",
    ]);
    sandbox.git(&["checkout", "-q", "main"]);
    let (tip, _) = ready(&sandbox, &request(MergeStrategy::Rebase)).await;
    let log =
        sandbox.git_out(&["log", "--reverse", "--date=raw", "--format=%an %ad %s", &format!("main..{tip}")]);
    assert_eq!(log, "Tester 1700000000 +0000 side\nÜnal 1500000000 +0200 by Ü");
    assert_eq!(sandbox.git_out(&["show", "-s", "--format=%B", &tip]), "by Ü\n\nbody");
}

#[tokio::test]
async fn unrelated_histories_and_unknown_names_are_refused() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let unknown = repo.compute_merge(&request(MergeStrategy::Merge)).await;
    assert!(matches!(unknown, Err(GitError::UnknownRevision { rev }) if rev == "side"));
    sandbox.git(&["checkout", "-q", "--orphan", "side"]);
    sandbox.commit("alone", &[]);
    let unrelated = repo.compute_merge(&request(MergeStrategy::Merge)).await;
    assert!(matches!(unrelated, Err(GitError::UnrelatedHistories { .. })), "{unrelated:?}");
}

#[tokio::test]
async fn merge_drivers_follow_the_target_not_the_checkout() {
    let sandbox = Sandbox::new().await;
    sandbox.commit("attributes", &[("dir/.gitattributes", "*.log merge=union\n"), ("dir/x.log", "1\n")]);
    diverge(&sandbox, &[("dir/x.log", Some("1\nours\n"))], &[("dir/x.log", Some("1\ntheirs\n"))]);
    let target = sandbox.head();
    sandbox.git(&["checkout", "-q", "--orphan", "elsewhere"]);
    sandbox.git(&["rm", "-rqf", "."]);
    sandbox.commit("nothing here", &[]);
    let repo = sandbox.repo().await;
    let MergeComputation::Ready { commit, target_before, .. } =
        repo.compute_merge(&request(MergeStrategy::Merge)).await.unwrap()
    else {
        panic!("the union driver was not used");
    };
    assert_eq!(target_before, target);
    assert_eq!(sandbox.git_out(&["show", &format!("{commit}:dir/x.log")]), "1\nours\ntheirs");
}

/// git ends this merge as clean, with markers in the file and the conflict in a message alone.
#[tokio::test]
async fn a_collision_that_git_calls_clean_is_a_conflict() {
    let lines = |changed: u8| {
        let line = move |n| if n == changed { format!("{n}!\n") } else { format!("{n}\n") };
        (0..8).map(line).collect::<String>()
    };
    let sandbox = Sandbox::new().await;
    sandbox.commit("base", &[("old", &lines(0))]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit("theirs", &[("old", &lines(4)), ("new", &lines(5))]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.remove("old");
    sandbox.commit("ours", &[("new", &lines(5))]);
    let computed = sandbox.repo().await.compute_merge(&request(MergeStrategy::Merge)).await.unwrap();
    let MergeComputation::Conflict { paths, .. } = computed else { panic!("{computed:?}") };
    let told: Vec<_> = paths.iter().map(|path| (path.path.as_str(), path.kind)).collect();
    assert_eq!(told, [("new", ConflictKind::RenameRename), ("old", ConflictKind::RenameRename)]);
}

#[tokio::test]
async fn signing_follows_the_configuration() {
    let sandbox = Sandbox::new().await;
    diverge(&sandbox, &[("b", Some("b"))], &[("c", Some("c"))]);
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    sandbox.git(&["config", "gpg.program", "/nowhere/gpg"]);
    let unsigned = sandbox.repo().await.compute_merge(&request(MergeStrategy::Merge)).await;
    assert!(matches!(unsigned, Err(GitError::SigningFailed { .. })), "{unsigned:?}");
}

fn edits() -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
    // Few paths, few contents: collisions are the point.
    prop::collection::vec((0..6u8, prop::option::weighted(0.8, 0..6u8)), 1..5)
}

fn apply(sandbox: &Sandbox, edits: &[(u8, Option<u8>)]) {
    for (path, content) in edits {
        let path = format!("f{path}");
        match content {
            Some(content) => {
                let lines =
                    (0..8).map(|n| if n == content % 8 { format!("{content}!\n") } else { format!("{n}\n") });
                sandbox.write(&path, lines.collect::<String>());
            }
            None if sandbox.path(&path).exists() => sandbox.remove(&path),
            None => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn results_equal_those_of_git_merge_and_rebase(base in edits(), ours in edits(), theirs in edits()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sandbox = Sandbox::new().await;
            apply(&sandbox, &base);
            sandbox.commit("base", &[]);
            sandbox.git(&["checkout", "-q", "-b", "side"]);
            apply(&sandbox, &theirs);
            sandbox.commit("theirs", &[]);
            apply(&sandbox, &ours[..1]);
            sandbox.commit("theirs again", &[]);
            sandbox.git(&["checkout", "-q", "main"]);
            apply(&sandbox, &ours);
            sandbox.commit("ours", &[]);
            let repo = sandbox.repo().await;
            let tree = |rev: &str| sandbox.git_out(&["rev-parse", &format!("{rev}^{{tree}}")]);
            let target_tree = tree("main");
            for (strategy, command) in [
                (MergeStrategy::Merge, &["merge", "-q", "--no-edit", "side"][..]),
                (MergeStrategy::Rebase, &["rebase", "-q", "--empty=drop", "main", "side"][..]),
            ] {
                let computed = repo.compute_merge(&request(strategy)).await.unwrap();
                sandbox.git(&["checkout", "-q", "--detach", "main"]);
                sandbox.git(&["branch", "-f", "oracle-side", "side"]);
                let mut args = command.to_vec();
                if let Some(last) = args.last_mut() { *last = "oracle-side"; }
                let (ended, said) = sandbox.try_git_at(repo.root(), &args);
                // git can commit a rename's collision with its markers; then only its words tell.
                let clean = ended && !said.contains("CONFLICT");
                match computed {
                    MergeComputation::Ready { commit, .. } => {
                        assert!(clean, "{strategy:?}: git refused: {said}");
                        assert_eq!(tree(&commit), tree("HEAD"), "{strategy:?}");
                    }
                    MergeComputation::NothingToMerge => {
                        assert!(clean, "{strategy:?}: git refused: {said}");
                        assert_eq!(target_tree, tree("HEAD"), "{strategy:?}");
                    }
                    MergeComputation::Conflict { .. } => assert!(!clean, "{strategy:?}: git had no conflict"),
                }
                if !ended {
                    sandbox.git(&[args[0], "--abort"]);
                }
                sandbox.git(&["checkout", "-q", "main"]);
            }
        });
    }
}

#[tokio::test]
async fn change_that_the_target_lost_or_never_got_is_not_held() {
    for strategy in [MergeStrategy::Merge, MergeStrategy::Squash, MergeStrategy::Rebase] {
        let sandbox = Sandbox::new().await;
        sandbox.commit("base", &[("a", "a")]);
        diverge(&sandbox, &[("ours", Some("ours"))], &[("theirs", Some("theirs"))]);
        let (source, before) = (sandbox.git_out(&["rev-parse", "side"]), sandbox.head());
        let (commit, _) = ready(&sandbox, &request(strategy)).await;
        let repo = sandbox.repo().await;
        let held = async |commit: &str| {
            let landed = LandedChange {
                target_branch: "main",
                source: &source,
                target_before: &before,
                commit,
                strategy,
            };
            repo.holds_change(landed).await.unwrap()
        };
        assert!(!held(&commit).await, "{strategy:?}: the target has not moved yet");
        sandbox.git(&["update-ref", "refs/heads/main", &commit]);
        assert!(held(&commit).await, "{strategy:?}");
        // What comes on top does not matter.
        let tree = format!("{commit}^{{tree}}");
        let later = sandbox.git_out(&["commit-tree", "-p", &commit, "-m", "later", &tree]);
        sandbox.git(&["update-ref", "refs/heads/main", &later]);
        assert!(held(&commit).await, "{strategy:?}");
        // A commit that says it is the merge, with another content.
        let forged =
            sandbox.git_out(&["commit-tree", "-p", &before, "-m", "forged", &format!("{before}^{{tree}}")]);
        sandbox.git(&["update-ref", "refs/heads/main", &forged]);
        assert!(!held(&forged).await, "{strategy:?}: another content");
        assert!(!held(&commit).await, "{strategy:?}: the target was moved back");
    }
}

#[tokio::test]
async fn work_is_contained_by_ancestry_or_by_content() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let contained = async |commit: &str| repo.is_contained(commit, "main").await.unwrap();
    sandbox.git(&["switch", "-qc", "topic"]);
    assert!(contained("topic").await);
    sandbox.commit("one", &[("b", "1\n")]);
    sandbox.commit("two", &[("b", "2\n"), ("c", "c\n")]);
    assert!(!contained("topic").await, "ahead");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.commit("other", &[("a", "other\n")]);
    assert!(!contained("topic").await, "diverged");
    sandbox.git(&["merge", "-q", "--squash", "topic"]);
    sandbox.git(&["commit", "-qm", "squashed"]);
    assert!(!repo.is_ancestor("topic", "main").await.unwrap());
    assert!(contained("topic").await, "squashed");
    sandbox.commit("later", &[("d", "d\n")]);
    assert!(contained("topic").await, "squashed, and the target went on");
    sandbox.commit("undone", &[("c", "changed\n")]);
    assert!(!contained("topic").await, "what it did was changed since: somebody has to look");
    sandbox.git(&["merge", "-q", "-s", "ours", "topic"]);
    assert!(contained("topic").await, "merged");
    sandbox.git(&["switch", "-q", "--orphan", "unrelated"]);
    sandbox.commit("unrelated", &[("z", "z")]);
    assert!(!contained("unrelated").await);
    let unknown = repo.is_contained("nothing", "main").await;
    assert!(matches!(unknown, Err(GitError::UnknownRevision { .. })));
}
