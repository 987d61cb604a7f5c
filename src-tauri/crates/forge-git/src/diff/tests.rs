use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use forge_model::comment::DiffSide;
use forge_model::diff::{DiffLineKind, DiffSummary, FileChange, FileChangeKind};

use super::*;
use crate::command::Kind;
use crate::testing::Sandbox;

fn uncommitted(repo: &Repo) -> DiffScope {
    DiffScope::Uncommitted { worktree: repo.main_worktree() }
}

/// One line per file: kind, paths, counts and flags.
fn shown(summary: &DiffSummary) -> Vec<String> {
    let line = |f: &FileChange| {
        let kind = format!("{:?}", f.kind).to_lowercase();
        let old = f.old_path.as_ref().map(|old| format!("{old} -> ")).unwrap_or_default();
        let flags = [(f.binary, " binary"), (f.generated, " generated"), (f.untracked, " untracked")];
        let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
        format!("{kind} {old}{} +{} -{}{flags}", f.path, f.added, f.removed)
    };
    summary.files.iter().map(line).collect()
}

/// Rows as in a unified diff.
fn rows(diff: &FileDiff) -> Vec<String> {
    let mut shown = Vec::new();
    for hunk in &diff.hunks {
        shown.push(format!("@@ {},{} {},{}", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines));
        for line in &hunk.lines {
            let sign = match line.kind {
                DiffLineKind::Context => ' ',
                DiffLineKind::Added => '+',
                DiffLineKind::Removed => '-',
            };
            let end = if line.no_newline { "\\" } else { "" };
            shown.push(format!("{sign}{}{end}", line.text));
        }
    }
    shown
}

async fn of(repo: &Repo, path: &str) -> FileDiff {
    repo.diff_file(&uncommitted(repo), path, DiffPage::default()).await.unwrap()
}

const LONG: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

/// Every kind of change, over a committed base.
async fn changed() -> (Sandbox, Repo) {
    let sandbox = Sandbox::new().await;
    let attributes = "*.gen linguist-generated\nCargo.lock -linguist-generated\n*.dat -diff\n";
    sandbox.commit(
        "base",
        &[
            (".gitattributes", attributes),
            (".gitignore", "ignored\n"),
            ("from", LONG),
            ("gone", GONE),
            ("dead", "rest in peace\n2\n"),
            ("run", "r\n"),
            ("typed", "t\n"),
            ("made.gen", "x\n"),
            ("Cargo.lock", "x\n"),
            ("yarn.lock", "x\n"),
            ("bin", "\0one"),
            ("plain.dat", "x\n"),
            ("ünï ☃", "x\n"),
        ],
    );
    sandbox.git(&["mv", "from", "to"]);
    sandbox.write("to", LONG.replace("two", "2"));
    sandbox.remove("gone");
    sandbox.write("moved", GONE.to_owned() + "more");
    sandbox.remove("dead");
    fs::set_permissions(sandbox.path("run"), PermissionsExt::from_mode(0o755)).unwrap();
    sandbox.remove("typed");
    symlink("a", sandbox.path("typed")).unwrap();
    for path in ["made.gen", "Cargo.lock", "yarn.lock", "plain.dat", "ünï ☃"] {
        sandbox.write(path, "y\n");
    }
    sandbox.write("bin", "\0three");
    sandbox.write("fresh", "1\n2\n3");
    sandbox.write("fresh.bin", "\0");
    sandbox.write("ignored", "x");
    symlink("no/where", sandbox.path("link")).unwrap();
    let repo = sandbox.repo().await;
    (sandbox, repo)
}

const GONE: &str = "some\ntext\nthat\nmoves\n";

const CHANGES: [&str; 14] = [
    "modified Cargo.lock +1 -1",
    "modified bin +0 -0 binary",
    "deleted dead +0 -2",
    "added fresh +3 -0 untracked",
    "added fresh.bin +0 -0 binary untracked",
    "added link +1 -0 untracked",
    "modified made.gen +1 -1 generated",
    "renamed gone -> moved +1 -0 untracked",
    "modified plain.dat +0 -0 binary",
    "modechanged run +0 -0",
    "renamed from -> to +1 -1",
    "typechanged typed +1 -1",
    "modified yarn.lock +1 -1 generated",
    "modified ünï ☃ +1 -1",
];

#[tokio::test]
async fn every_kind_of_change_is_listed() {
    let (sandbox, repo) = changed().await;
    let summary = repo.diff_files(&uncommitted(&repo)).await.unwrap();
    assert_eq!(shown(&summary), CHANGES);
    assert_eq!((summary.base, summary.head), (sandbox.head(), None));
    assert_eq!((summary.added, summary.removed), (11, 8));
    let bin = summary.files.iter().find(|f| f.path == "bin").unwrap();
    assert_eq!((bin.old_size, bin.new_size), (Some(4), Some(6)));
    let run = summary.files.iter().find(|f| f.path == "run").unwrap();
    assert_eq!((run.old_mode.as_deref(), run.new_mode.as_deref()), (Some("100644"), Some("100755")));
}

#[tokio::test]
async fn settings_of_the_user_change_nothing() {
    let (sandbox, repo) = changed().await;
    for (name, value) in [
        ("color.ui", "always"),
        ("diff.renames", "false"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.relative", "true"),
        ("core.quotePath", "true"),
        ("status.showUntrackedFiles", "no"),
        ("core.fsmonitor", "true"),
    ] {
        sandbox.git(&["config", name, value]);
    }
    assert_eq!(shown(&repo.diff_files(&uncommitted(&repo)).await.unwrap()), CHANGES);
}

#[tokio::test]
async fn committed_or_not_the_worktree_shows_the_same() {
    let (sandbox, repo) = changed().await;
    let base = sandbox.head();
    let scope = DiffScope::Worktree { worktree: repo.main_worktree(), base: base.clone() };
    assert_eq!(shown(&repo.diff_files(&scope).await.unwrap()), CHANGES);
    repo.main_worktree().commit_all("all", None).await.unwrap();
    let tracked: Vec<String> = CHANGES.iter().map(|c| c.replace(" untracked", "")).collect();
    assert_eq!(shown(&repo.diff_files(&scope).await.unwrap()), tracked);
    let commits = DiffScope::Commits { base: base.clone(), head: "HEAD".to_owned() };
    let summary = repo.diff_files(&commits).await.unwrap();
    assert_eq!(shown(&summary), tracked);
    assert_eq!((summary.base, summary.head), (base, Some(sandbox.head())));
    assert_eq!(shown(&repo.diff_files(&uncommitted(&repo)).await.unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn each_listed_file_opens_with_the_same_counts() {
    let (sandbox, repo) = changed().await;
    let base = sandbox.head();
    let mut scopes = vec![uncommitted(&repo)];
    for _ in 0..2 {
        for scope in &scopes {
            for listed in repo.diff_files(scope).await.unwrap().files {
                let opened = repo.diff_file(scope, &listed.path, DiffPage::default()).await.unwrap();
                let sizes = FileChange { old_size: None, new_size: None, ..opened.change };
                assert_eq!(sizes, FileChange { old_size: None, new_size: None, ..listed });
            }
        }
        repo.main_worktree().commit_all("all", None).await.unwrap();
        scopes = vec![
            DiffScope::Commits { base: base.clone(), head: "HEAD".to_owned() },
            DiffScope::Worktree { worktree: repo.main_worktree(), base: base.clone() },
        ];
    }
}

#[tokio::test]
async fn rows_of_a_change() {
    let (_sandbox, repo) = changed().await;
    let to = of(&repo, "to").await;
    assert_eq!(to.change.old_path.as_deref(), Some("from"), "found without a list before");
    assert_eq!(rows(&to), ["@@ 1,5 1,5", " one", "-two", "+2", " three", " four", " five"]);
    let numbers: Vec<_> = to.hunks[0].lines.iter().map(|l| (l.old_no, l.new_no)).collect();
    assert_eq!(numbers[..4], [(Some(1), Some(1)), (Some(2), None), (None, Some(2)), (Some(3), Some(3))]);
    assert_eq!(rows(&of(&repo, "fresh").await), ["@@ 0,0 1,3", "+1", "+2", "+3\\"]);
    assert_eq!(rows(&of(&repo, "dead").await), ["@@ 1,2 0,0", "-rest in peace", "-2"]);
    let moved = of(&repo, "moved").await;
    assert_eq!(moved.change.old_path.as_deref(), Some("gone"));
    assert_eq!(rows(&moved), ["@@ 2,3 2,4", " text", " that", " moves", "+more\\"]);
    assert_eq!(rows(&of(&repo, "link").await), ["@@ 0,0 1,1", "+no/where\\"]);
    assert_eq!(rows(&of(&repo, "typed").await), ["@@ 1,1 1,1", "-t", "+a\\"]);
    assert_eq!(rows(&of(&repo, "bin").await), Vec::<String>::new());
    let unchanged = repo.diff_file(&uncommitted(&repo), "a", DiffPage::default()).await;
    assert!(matches!(unchanged, Err(GitError::NotInDiff { .. })));
    let ignored = repo.diff_file(&uncommitted(&repo), "ignored", DiffPage::default()).await;
    assert!(matches!(ignored, Err(GitError::NotInDiff { .. })));
}

#[tokio::test]
async fn a_missing_last_line_feed_is_marked_on_its_side() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.commit("base", &[("a", "1\n2"), ("b", "1\n2\n"), ("c", "1\n2")]);
    sandbox.write("a", "1\n2\n");
    sandbox.write("b", "1\n2");
    sandbox.write("c", "0\n2");
    assert_eq!(rows(&of(&repo, "a").await), ["@@ 1,2 1,2", " 1", "-2\\", "+2"]);
    assert_eq!(rows(&of(&repo, "b").await), ["@@ 1,2 1,2", " 1", "-2", "+2\\"]);
    assert_eq!(rows(&of(&repo, "c").await), ["@@ 1,2 1,2", "-1", "+0", " 2\\"]);
    assert_eq!(of(&repo, "a").await.total_rows, 3);
}

#[tokio::test]
async fn rows_come_in_pages() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let old: String = (0..100).map(|n| format!("fn f{n}() {{\n  {n}\n}}\n")).collect();
    sandbox.commit("base", &[("a", &old)]);
    sandbox.write("a", old.replace("  1\n", "  one\n").replace("  50\n", "  fifty\n").replace("  99\n", ""));
    let scope = uncommitted(&repo);
    let whole = of(&repo, "a").await;
    assert_eq!(whole.next_start, None);
    assert_eq!(whole.hunks.len(), 3);
    assert_eq!(whole.hunks[1].header, "fn f49() {");
    let mut pages = Vec::new();
    let mut start = Some(0);
    while let Some(start_line) = start {
        let page = DiffPage { start_line, limit: 5, ..DiffPage::default() };
        let page = repo.diff_file(&scope, "a", page).await.unwrap();
        assert_eq!(page.total_rows, whole.total_rows);
        assert_eq!(page.change, whole.change);
        pages.extend(page.hunks.iter().flat_map(|h| h.lines.clone()));
        start = page.next_start;
    }
    let lines: Vec<_> = whole.hunks.iter().flat_map(|h| h.lines.clone()).collect();
    assert_eq!(pages, lines);
    let beyond = DiffPage { start_line: 1000, ..DiffPage::default() };
    let beyond = repo.diff_file(&scope, "a", beyond).await.unwrap();
    assert_eq!((beyond.hunks.len(), beyond.next_start), (0, None));
    let wide = DiffPage { context: 1000, limit: u32::MAX, ..DiffPage::default() };
    assert_eq!(repo.diff_file(&scope, "a", wide).await.unwrap().hunks.len(), 1);
}

#[tokio::test]
async fn large_files_wait_to_be_asked_for() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("big", "line of a large file\n".repeat(300_000));
    sandbox.write("wide", "x".repeat(6000));
    let forced = DiffPage { force: true, limit: 10, ..DiffPage::default() };
    for (path, total) in [("big", 300_000), ("wide", 1)] {
        let folded = of(&repo, path).await;
        assert!(folded.too_large && folded.hunks.is_empty() && folded.change.new_size.is_some(), "{path}");
        let open = repo.diff_file(&uncommitted(&repo), path, forced).await.unwrap();
        assert_eq!((open.too_large, open.total_rows), (false, total));
    }
}

#[tokio::test]
async fn text_that_is_not_utf8_is_flagged() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.write("latin", b"caf\xe9\n");
    let latin = of(&repo, "latin").await;
    assert!(latin.lossy);
    assert_eq!(rows(&latin), ["@@ 0,0 1,1", "+caf\u{fffd}"]);
}

#[tokio::test]
async fn line_endings_and_filters_are_compared_as_stored() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
    sandbox.git(&["config", "filter.up.smudge", "cat"]);
    let attributes = "*.txt text eol=crlf\n*.up filter=up\n";
    sandbox.commit(
        "base",
        &[(".gitattributes", attributes), ("a.txt", "1\r\n2\r\n"), ("b.up", "one\ntwo\n"), ("raw", "1\r\n")],
    );
    assert_eq!(sandbox.git_out(&["show", "HEAD:a.txt"]), "1\n2");
    sandbox.write("a.txt", "1\r\ntwo\r\n");
    sandbox.write("b.up", "one\n2\n");
    sandbox.write("raw", "2\r\n");
    let objects = || sandbox.git_out(&["count-objects"]);
    let before = objects();
    assert_eq!(rows(&of(&repo, "a.txt").await), ["@@ 1,2 1,2", " 1", "-2", "+two"]);
    assert_eq!(rows(&of(&repo, "b.up").await), ["@@ 1,2 1,2", " ONE", "-TWO", "+2"]);
    assert_eq!(rows(&of(&repo, "raw").await), ["@@ 1,1 1,1", "-1\r", "+2\r"]);
    assert_eq!(objects(), before, "looking grew the repository");
}

#[tokio::test]
async fn submodules_show_their_commits() {
    let sandbox = Sandbox::new().await;
    let other = Sandbox::new().await;
    let url = other.path("");
    sandbox.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        url.to_str().unwrap(),
        "lib",
    ]);
    let before = sandbox.commit("with lib", &[]);
    let old = other.head();
    sandbox.git_at(&sandbox.path("lib"), &["commit", "-q", "--allow-empty", "-m", "inside"]);
    let new = sandbox.git_at(&sandbox.path("lib"), &["rev-parse", "HEAD"]);
    let repo = sandbox.repo().await;
    let expected = ["@@ 1,1 1,1", &format!("-Subproject commit {old}"), &format!("+Subproject commit {new}")];
    assert_eq!(shown(&repo.diff_files(&uncommitted(&repo)).await.unwrap()), ["modified lib +1 -1"]);
    assert_eq!(rows(&of(&repo, "lib").await), expected);
    sandbox.commit("moved", &[]);
    let commits = DiffScope::Commits { base: before, head: "HEAD".to_owned() };
    let committed = repo.diff_file(&commits, "lib", DiffPage::default()).await.unwrap();
    assert_eq!(rows(&committed), expected);
}

#[tokio::test]
async fn a_repository_inside_and_odd_names_do_not_break_the_list() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    sandbox.git(&["clone", "-q", ".", "inner"]);
    let long = "n".repeat(255);
    for name in ["new\nline", ":odd", "*.x", "-dash", "tab\there", long.as_str()] {
        sandbox.write(name, "x\n");
    }
    let summary = repo.diff_files(&uncommitted(&repo)).await.unwrap();
    assert_eq!(summary.files.len(), 6);
    for file in &summary.files {
        assert_eq!(file.kind, FileChangeKind::Added);
        assert_eq!(rows(&of(&repo, &file.path).await), ["@@ 0,0 1,1", "+x"], "{:?}", file.path);
    }
}

#[tokio::test]
async fn an_unresolved_merge_is_listed_once() {
    let sandbox = Sandbox::new().await;
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.commit("theirs", &[("a", "theirs\n")]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit("ours", &[("a", "ours\n")]);
    let repo = sandbox.repo().await;
    let (ok, _) = sandbox.try_git_at(repo.root(), &["merge", "side"]);
    assert!(!ok);
    let summary = repo.diff_files(&uncommitted(&repo)).await.unwrap();
    assert_eq!(shown(&summary), ["modified a +4 -0"]);
    assert_eq!(of(&repo, "a").await.total_rows, 5);
}

#[tokio::test]
async fn a_list_that_is_out_of_date_misleads_nobody() {
    let (sandbox, repo) = changed().await;
    let scope = uncommitted(&repo);
    repo.diff_files(&scope).await.unwrap();
    // A memory of its own: asking for a file that is in no list makes a new list.
    let other = sandbox.repo().await;
    other.diff_files(&scope).await.unwrap();
    sandbox.write("yarn.lock", "x\n");
    sandbox.write("Cargo.lock", "z\n");
    sandbox.write("from", LONG);
    sandbox.write("run", "changed\n");
    sandbox.remove("fresh");
    sandbox.remove("typed");
    sandbox.write("typed", "t\nu\n");
    sandbox.write("late", "x\n");
    let same_again = repo.diff_file(&scope, "yarn.lock", DiffPage::default()).await;
    assert!(matches!(same_again, Err(GitError::NotInDiff { .. })));
    let gone = repo.diff_file(&scope, "fresh", DiffPage::default()).await;
    assert!(matches!(gone, Err(GitError::NotInDiff { .. })));
    assert_eq!(rows(&of(&repo, "Cargo.lock").await), ["@@ 1,1 1,1", "-x", "+z"]);
    let to = of(&other, "to").await;
    assert_eq!((to.change.kind, to.change.old_path), (FileChangeKind::Added, None));
    assert_eq!(of(&repo, "run").await.change.kind, FileChangeKind::Modified);
    let typed = of(&repo, "typed").await;
    assert_eq!(typed.change.kind, FileChangeKind::Modified);
    assert_eq!(rows(&typed), ["@@ 1,1 1,2", " t", "+u"]);
    assert_eq!(rows(&of(&repo, "late").await), ["@@ 0,0 1,1", "+x"]);
    repo.main_worktree().commit_all("all", None).await.unwrap();
    let committed = repo.diff_file(&scope, "Cargo.lock", DiffPage::default()).await;
    assert!(matches!(committed, Err(GitError::NotInDiff { .. })));
}

#[tokio::test]
async fn counts_and_paths_are_those_of_the_full_list() {
    let sandbox = Sandbox::new().await;
    sandbox
        .commit("base", &[("kept", "1\n2\n"), ("old", &"line\n".repeat(20)), ("gone", "x\n"), ("bin", "\0")]);
    let base = sandbox.head();
    sandbox.remove("gone");
    fs::rename(sandbox.path("old"), sandbox.path("renamed")).unwrap();
    let head = sandbox.commit("head", &[("kept", "1\n3\n"), ("added", "a\nb\n"), ("bin", "\0\0")]);
    let repo = sandbox.repo().await;
    let scope = DiffScope::Commits { base: base.clone(), head: head.clone() };
    let full = repo.diff_files(&scope).await.unwrap();
    let counts = repo.diff_counts(&base, &head).await.unwrap();
    assert_eq!(
        (counts.files as usize, counts.added, counts.removed),
        (full.files.len(), full.added, full.removed)
    );
    assert_eq!((counts.files, counts.added, counts.removed), (5, 3, 2));
    sandbox.write("ünï/new", "x");
    let paths = repo.main_worktree().changed_paths(&base).await.unwrap();
    assert_eq!(paths, ["added", "bin", "gone", "kept", "old", "renamed", "ünï/new"]);
}

async fn side(repo: &Repo, scope: &DiffScope, path: &str, side: DiffSide) -> FileSide {
    repo.diff_side(scope, path, side, 5).await.unwrap()
}

fn content(text: &[u8]) -> FileSide {
    FileSide::Content(text.to_vec())
}

#[tokio::test]
async fn each_side_is_read_where_it_lies() {
    use DiffSide::{New, Old};
    let (sandbox, repo) = changed().await;
    let scope = uncommitted(&repo);
    for (path, old, new) in [
        ("bin", content(b"\0one"), FileSide::TooLarge(6)),
        ("fresh.bin", FileSide::Absent, content(b"\0")),
        ("dead", FileSide::TooLarge(16), FileSide::Absent),
        // A link is neither followed nor read, and what it replaced is still there.
        ("typed", content(b"t\n"), FileSide::NoFile),
        ("link", FileSide::Absent, FileSide::NoFile),
        ("run", content(b"r\n"), content(b"r\n")),
    ] {
        assert_eq!(side(&repo, &scope, path, Old).await, old, "{path}");
        assert_eq!(side(&repo, &scope, path, New).await, new, "{path}");
    }
    let base = sandbox.head();
    let head = sandbox.commit("all", &[]);
    let scope = DiffScope::Commits { base, head };
    for (path, old, new) in [
        ("bin", content(b"\0one"), FileSide::TooLarge(6)),
        ("fresh.bin", FileSide::Absent, content(b"\0")),
        ("typed", content(b"t\n"), FileSide::NoFile),
    ] {
        assert_eq!(side(&repo, &scope, path, Old).await, old, "{path}");
        assert_eq!(side(&repo, &scope, path, New).await, new, "{path}");
    }
    let unchanged = repo.diff_side(&scope, "a", New, 5).await;
    assert!(matches!(unchanged, Err(GitError::NotInDiff { .. })));
}

#[tokio::test]
async fn a_side_is_read_anew_as_it_lies_there() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let scope = uncommitted(&repo);
    sandbox.commit("filtered", &[(".gitattributes", "*.pic filter=pointers\n"), ("x.pic", "old")]);
    sandbox.git(&["config", "filter.pointers.clean", "tr a-z A-Z"]);
    sandbox.write("x.pic", "one");
    repo.diff_files(&scope).await.unwrap();
    assert_eq!(side(&repo, &scope, "x.pic", DiffSide::New).await, content(b"one"));
    sandbox.write("x.pic", "two");
    assert_eq!(side(&repo, &scope, "x.pic", DiffSide::New).await, content(b"two"));
    sandbox.remove("x.pic");
    assert_eq!(side(&repo, &scope, "x.pic", DiffSide::New).await, FileSide::Absent);
}

#[tokio::test]
async fn replaced_object_is_neither_shown_nor_checked_out() {
    let sandbox = Sandbox::new().await;
    let repo = sandbox.repo().await;
    let base = sandbox.head();
    let tip = sandbox.commit("real", &[("a", "real\n")]);
    let other = sandbox.commit("other", &[("a", "a\n")]);
    sandbox.git(&["reset", "-q", "--hard", &tip]);
    let blob = |commit: &str| sandbox.git_out(&["rev-parse", &format!("{commit}:a")]);
    sandbox.git(&["replace", &blob(&tip), &blob(&other)]);
    let scope = DiffScope::Commits { base, head: tip.clone() };
    let shown = repo.diff_files(&scope).await.unwrap();
    assert_eq!(shown.files.len(), 1, "{shown:?}");
    assert_eq!(repo.read().args(["cat-file", "-p", &format!("{tip}:a")]).text().await.unwrap(), "real");
    sandbox.write("a", "mine\n");
    repo.main_worktree().command(Kind::User).args(["checkout", "-q", "--", "a"]).ok().await.unwrap();
    assert_eq!(sandbox.read("a"), "real\n");
}
