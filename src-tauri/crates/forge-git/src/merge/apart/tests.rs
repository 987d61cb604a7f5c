use proptest::prelude::*;

use super::*;
use crate::testing::Sandbox;

/// What the two ways make of merging `side` into `main`: ours (`None`: left to git), git's own tree and words.
async fn both(sandbox: &Sandbox) -> (Option<String>, Option<String>, String) {
    let repo = sandbox.repo().await;
    let tips = repo.tips("main", "refs/heads/side").await.unwrap();
    let apart = repo.merge_apart(&tips).await.unwrap();
    let args = ["merge-tree", "--write-tree", "--messages", "main", "side"];
    let (clean, said) = sandbox.try_git_at(repo.root(), &args);
    let (tree, words) = said.split_once('\n').unwrap_or((&said, ""));
    (apart, clean.then(|| tree.to_owned()), words.trim().to_owned())
}

fn lines(changed: u8) -> String {
    (0..12).map(|n| if n == changed { format!("{n}!\n") } else { format!("{n}\n") }).collect()
}

type Edits = &'static [(&'static str, Option<u8>)];

fn apply(sandbox: &Sandbox, edits: &[(&str, Option<u8>)]) {
    for (path, content) in edits {
        let place = sandbox.path(path);
        if place.is_dir() {
            std::fs::remove_dir_all(&place).unwrap();
        }
        for above in Path::new(path).ancestors().skip(1) {
            let above = sandbox.path(above.to_str().unwrap());
            if above.is_file() {
                std::fs::remove_file(above).unwrap();
            }
        }
        match content {
            Some(content) => sandbox.write(path, lines(*content)),
            None if place.exists() => sandbox.remove(path),
            None => {}
        }
    }
}

async fn diverged(
    base: &[(&str, Option<u8>)],
    ours: &[(&str, Option<u8>)],
    theirs: &[(&str, Option<u8>)],
) -> Sandbox {
    let sandbox = Sandbox::new().await;
    apply(&sandbox, base);
    sandbox.commit("base", &[]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    apply(&sandbox, theirs);
    sandbox.commit("theirs", &[]);
    sandbox.git(&["checkout", "-q", "main"]);
    apply(&sandbox, ours);
    sandbox.commit("ours", &[]);
    sandbox
}

#[tokio::test]
async fn only_what_was_touched_on_one_side_is_merged_here() {
    const BASE: Edits =
        &[("d/a", Some(20)), ("d/b", Some(21)), ("e/f/c", Some(22)), ("top", Some(23)), ("x", Some(24))];
    let cases: [(Edits, Edits, bool); 13] = [
        (&[("d/a", Some(1))], &[("d/b", Some(2))], true),
        (&[("d/a", Some(1)), ("d/n", Some(3))], &[("e/f/c", None), ("d.x", Some(2))], true),
        // A file becomes a folder, and the other way round.
        (&[("x/y", Some(1))], &[("top", Some(2))], true),
        (&[("e", Some(1))], &[("top", Some(2))], true),
        // Renamed, and nobody else was there.
        (&[("d/a", None), ("d/z", Some(20))], &[("d/b", Some(2))], true),
        // Both.
        (&[("top", Some(1))], &[("top", Some(2))], false),
        (&[("top", None)], &[("top", None), ("d/b", Some(2))], false),
        (&[("new", Some(1))], &[("new", Some(2))], false),
        // A folder in the way of a file.
        (&[("new/a", Some(1))], &[("new", Some(2))], false),
        // Renamed on one side, changed on the other.
        (&[("top", None), ("moved", Some(23))], &[("top", Some(1))], false),
        // A whole folder went elsewhere, and the other side put something into it.
        (&[("d/a", None), ("d/b", None), ("g/a", Some(20)), ("g/b", Some(21))], &[("d/new", Some(3))], false),
        // The folder is empty in the end.
        (&[("d/a", None)], &[("d/b", None)], false),
        (&[("e/f/c", None), ("e/f/new", Some(1))], &[("d/a", Some(2))], true),
    ];
    for (ours, theirs, here) in cases {
        let sandbox = diverged(BASE, ours, theirs).await;
        let (apart, by_git, words) = both(&sandbox).await;
        assert_eq!(apart.is_some(), here, "{ours:?} {theirs:?}");
        if here {
            assert_eq!((apart, words.as_str()), (by_git, ""), "{ours:?} {theirs:?}");
            sandbox.git(&["fsck", "--strict", "--no-dangling"]);
        }
    }
}

#[tokio::test]
async fn settings_about_writing_are_left_to_git() {
    let sandbox = diverged(&[], &[("b", Some(1))], &[("c", Some(1))]).await;
    assert!(both(&sandbox).await.0.is_some());
    sandbox.git(&["config", "core.sharedRepository", "group"]);
    assert!(both(&sandbox).await.0.is_none());
}

fn edits() -> impl Strategy<Value = Vec<(&'static str, Option<u8>)>> {
    const PATHS: [&str; 10] = ["a", "b", "d", "d/a", "d/b", "d/e/c", "d/e/d", "f/a", "f/b", "f/e/c"];
    let content = prop::option::weighted(0.6, (0..3u8).prop_map(|n| n * 4));
    prop::collection::vec((prop::sample::select(PATHS.to_vec()), content), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_is_merged_here_is_what_git_makes_of_it(
        base in prop::collection::vec(edits(), 3).prop_map(|parts| parts.concat()),
        ours in edits(),
        theirs in edits(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let sandbox = diverged(&base, &ours, &theirs).await;
            let (apart, by_git, words) = both(&sandbox).await;
            if apart.is_some() {
                assert_eq!(apart, by_git, "{base:?} {ours:?} {theirs:?}");
                assert_eq!(words, "", "git has something to say");
            }
        });
    }
}
