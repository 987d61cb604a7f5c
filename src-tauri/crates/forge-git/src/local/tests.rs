use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;
use crate::testing::Sandbox;

fn local(repo: &Repo) -> Local<'_> {
    Local { common_dir: repo.common_dir(), objects: &repo.inner.objects }
}

/// Commits `refs/heads/h/0` and so on, each with its parents and its date.
fn history(sandbox: &Sandbox, commits: &[(Vec<usize>, i64)]) {
    let mut text = String::new();
    for (at, (parents, date)) in commits.iter().enumerate() {
        let _ = write!(text, "commit refs/heads/h/{at}\nmark :{}\n", at + 1);
        let _ = write!(text, "committer T <t@e> {date} +0000\ndata {}\n{at}\n", at.to_string().len() + 1);
        for (place, parent) in parents.iter().enumerate() {
            let _ = writeln!(text, "{} :{}", if place == 0 { "from" } else { "merge" }, parent + 1);
        }
        text.push('\n');
    }
    let mut import = Command::new(sandbox.git.program())
        .args(["fast-import", "--quiet", "--force"])
        .current_dir(sandbox.path(""))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
}

/// Up to 9 commits with up to 3 earlier parents; dates in no order.
fn histories() -> impl Strategy<Value = Vec<(Vec<usize>, i64)>> {
    let commit =
        (prop::collection::vec(any::<prop::sample::Index>(), 0..=3), 1_600_000_000..1_600_000_006_i64);
    prop::collection::vec(commit, 2..=9).prop_map(|commits| {
        let with_parents = commits.into_iter().enumerate().map(|(at, (parents, date))| {
            let mut parents: Vec<usize> =
                if at == 0 { Vec::new() } else { parents.iter().map(|p| p.index(at)).collect() };
            parents.sort_unstable();
            parents.dedup();
            (parents, date)
        });
        with_parents.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_agrees_about_every_pair(commits in histories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (sandbox, repo) = runtime.block_on(async {
            let sandbox = Sandbox::new().await;
            let repo = sandbox.repo().await;
            (sandbox, repo)
        });
        history(&sandbox, &commits);
        for a in 0..commits.len() {
            for b in 0..a {
                let (a, b) = (format!("refs/heads/h/{a}"), format!("refs/heads/h/{b}"));
                let (_, bases) = sandbox.try_git_at(&sandbox.path(""), &["merge-base", "--all", &a, &b]);
                if let Some(base) = local(&repo).merge_base(&a, &b) {
                    prop_assert_eq!(&bases, &base);
                }
                for (one, other) in [(&a, &b), (&b, &a)] {
                    if let Some(is) = local(&repo).is_ancestor(one, other) {
                        prop_assert_eq!(is, bases == sandbox.git_out(&["rev-parse", one]));
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn ordinary_histories_need_no_git_and_several_bases_do() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    // 0 - 1 - 2 - 5 (merges 4), 1 - 3 - 4, and 6 alone; 7 and 8 merge 2 and 3 both.
    let parents: [&[usize]; 9] = [&[], &[0], &[1], &[1], &[3], &[2, 4], &[], &[2, 3], &[3, 2]];
    let commits: Vec<_> = parents.iter().zip(1_600_000_000..).map(|(p, at)| (p.to_vec(), at)).collect();
    history(&sandbox, &commits);
    let name = |at: usize| format!("refs/heads/h/{at}");
    let base = |a, b| local(&repo).merge_base(&name(a), &name(b));
    for (a, b, expected) in [(0, 5, 0), (2, 4, 1), (4, 2, 1), (5, 4, 4), (3, 3, 3), (5, 7, 2)] {
        let expected = sandbox.git_out(&["rev-parse", &name(expected)]);
        let several = (a, b) == (5, 7);
        assert_eq!(base(a, b), (!several).then_some(expected), "{a} {b}");
    }
    assert_eq!(base(5, 6), None);
    assert_eq!(base(7, 8), None);
    assert_eq!(local(&repo).is_ancestor(&name(1), &name(5)), Some(true));
    assert_eq!(local(&repo).is_ancestor(&name(5), &name(1)), Some(false));
    assert!(repo.merge_base(&name(7), &name(8)).await.unwrap().is_some());
    assert_eq!(repo.merge_base(&name(5), &name(6)).await.unwrap(), None);
}

#[tokio::test]
async fn refs_are_found_loose_and_packed_and_the_loose_one_counts() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let first = sandbox.head();
    sandbox.git(&["branch", "forge/packed"]);
    sandbox.git(&["tag", "-a", "-m", "x", "tag"]);
    sandbox.git(&["pack-refs", "--all"]);
    let second = sandbox.commit("second", &[("b", "b")]);
    sandbox.git(&["branch", "forge/loose"]);
    let name = |short: &str| format!("refs/heads/{short}");
    for (short, expected) in [
        ("forge/packed", Some(&first)),
        ("forge/loose", Some(&second)),
        ("main", Some(&second)),
        ("no", None),
        ("forge", None),
    ] {
        assert_eq!(local(&repo).resolve(&name(short)), Some(expected.cloned()), "{short}");
        assert_eq!(repo.resolve(&name(short)).await.unwrap().as_ref(), expected, "{short}");
    }
    assert_eq!(local(&repo).resolve("HEAD"), Some(Some(second.clone())));
    assert_eq!(local(&repo).resolve(&first), Some(Some(first.clone())));
    assert_eq!(
        local(&repo).tree_of(&first).unwrap(),
        sandbox.git_out(&["rev-parse", &format!("{first}^{{tree}}")])
    );
}

#[tokio::test]
async fn what_needs_gits_rules_is_left_to_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let first = sandbox.head();
    let second = sandbox.commit("second", &[("b", "b")]);
    sandbox.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    sandbox.git(&["update-ref", "refs/heads/blob", &second]);
    for rev in [
        "main",
        "HEAD~1",
        "refs/heads/main~1",
        "refs/heads/main@{0}",
        "refs/heads/alias",
        "refs/heads/a..b",
        "refs/heads/../../HEAD",
        "refs/heads/",
        "refs/heads/x.lock",
        "refs/heads/.invalid",
        &first[..12],
        &first.to_uppercase(),
        &"1".repeat(40),
        &sandbox.git_out(&["rev-parse", "HEAD:a"]),
    ] {
        assert_eq!(local(&repo).resolve(rev), None, "{rev}");
    }
    assert_eq!(repo.resolve("refs/heads/main~1").await.unwrap(), Some(first.clone()));
    assert_eq!(repo.resolve("refs/heads/alias").await.unwrap(), Some(second.clone()));
    assert_eq!(repo.resolve(&"1".repeat(40)).await.unwrap(), None);
}

#[tokio::test]
async fn histories_that_are_not_as_written_are_left_to_git() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let first = sandbox.head();
    let second = sandbox.commit("second", &[("b", "b")]);
    assert!(repo.is_ancestor(&first, &second).await.unwrap());
    assert_eq!(local(&repo).is_ancestor(&first, &second), Some(true));
    // Replacements count neither here nor for git as Forge runs it.
    sandbox.git(&["replace", "--graft", &second]);
    for packed in [false, true] {
        assert_eq!(local(&repo).is_ancestor(&first, &second), Some(true), "packed: {packed}");
        assert!(repo.read().args(["merge-base", "--is-ancestor", &first, &second]).yes().await.unwrap());
        assert_eq!(repo.merge_base(&first, &second).await.unwrap().as_ref(), Some(&first));
        sandbox.git(&["pack-refs", "--all"]);
    }
    sandbox.git(&["replace", "-d", &second]);
    fs::write(repo.common_dir().join("shallow"), format!("{second}\n")).unwrap();
    assert_eq!(local(&repo).is_ancestor(&first, &second), None);
    assert!(!repo.is_ancestor(&first, &second).await.unwrap());
}

#[tokio::test]
async fn heads_and_git_directories_of_worktrees() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("sub", &[("sub/file", "x")]);
    let linked = sandbox.dir().join("linked");
    sandbox.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap(), "HEAD~1"]);
    for place in [sandbox.path(""), linked.clone()] {
        let asked = sandbox.git_at(&place, &["rev-parse", "--absolute-git-dir"]);
        let head = sandbox.git_at(&place, &["rev-parse", "HEAD"]);
        let found = repo.worktree_at(&place).git_dir().await.unwrap();
        assert_eq!(found, Path::new(&asked));
        assert_eq!(repo.worktree_at(&place).head().await.unwrap(), head);
        assert_eq!(local(&repo).head(&found), Some(head));
    }
    // A folder in a worktree is none itself.
    assert_eq!(repo.worktree_at(sandbox.path("sub")).recorded_git_dir(), None);
    sandbox.git_at(&linked, &["checkout", "-q", "--detach", "main"]);
    assert_eq!(local(&repo).head(&repo.worktree_at(&linked).git_dir().await.unwrap()), Some(sandbox.head()));
    // Another repository's worktree is not ours to look into.
    let other = Sandbox::new().await;
    assert_eq!(repo.worktree_at(other.path("")).recorded_git_dir(), None);
}

#[tokio::test]
async fn commits_after_another_are_counted_and_git_is_asked_where_they_are_beside_it() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let at = |name: &str| sandbox.git_at(repo.root(), &["rev-parse", name]);
    let first = at("HEAD");
    sandbox.git_at(repo.root(), &["checkout", "-q", "-b", "side"]);
    for n in 0..3 {
        sandbox.git_at(repo.root(), &["commit", "-q", "--allow-empty", "-m", &format!("side {n}")]);
    }
    sandbox.git_at(repo.root(), &["checkout", "-q", "main"]);
    sandbox.git_at(repo.root(), &["merge", "-q", "--no-ff", "--no-edit", "side~1"]);
    let (side, main) = (at("side"), at("main"));
    let count = async |tip: &str, other: &str| {
        let (tip, other) = (tip.to_owned(), other.to_owned());
        repo.locally(move |local| Some(local.count_after(&tip, &other))).await.unwrap()
    };
    assert_eq!(count(&side, &first).await, Some(3));
    assert_eq!(count(&main, &first).await, Some(3));
    assert_eq!(count(&main, &main).await, Some(0));
    // Two of the three are in the other's history: from the tip alone that cannot be seen.
    assert_eq!(count(&side, &main).await, None);
    assert_eq!(repo.commits_outside("side", std::slice::from_ref(&main)).await.unwrap(), 1);
    assert_eq!(repo.commits_outside("side", &[first.clone(), main]).await.unwrap(), 1);
    assert_eq!(repo.commits_outside("main", &[first]).await.unwrap(), 3);
}

#[tokio::test]
async fn head_names_a_branch_or_a_commit() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let named = async || {
        let dir = repo.common_dir().to_owned();
        repo.locally(move |local| local.attached_to(&dir)).await.unwrap()
    };
    assert_eq!(named().await.as_deref(), Some("refs/heads/main"));
    sandbox.git_at(repo.root(), &["checkout", "-q", "--detach"]);
    assert_eq!(named().await, None);
}

#[tokio::test]
async fn a_name_below_which_no_ref_lies_is_known_loose_and_packed() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let none_below = |name: &str| local(&repo).has_none_below(name).is_some();
    assert!(none_below("refs/forge/backup/task"));
    sandbox.git_at(repo.root(), &["update-ref", "refs/forge/backup/task/1", "HEAD"]);
    assert!(!none_below("refs/forge/backup/task"));
    sandbox.git_at(repo.root(), &["pack-refs", "--all"]);
    assert!(!none_below("refs/forge/backup/task"));
    assert!(
        none_below("refs/forge/backup/tas") && !none_below("refs/forge/a..b") && !none_below("refs/tags")
    );
    assert_eq!(repo.backups("refs/forge/backup/task").await.unwrap().len(), 1);
}
