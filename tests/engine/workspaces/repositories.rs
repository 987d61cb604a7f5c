//! Repositories with LFS, submodules, sparse checkouts, hooks or unusual names: a task goes from creation to done
//! with the user's git configuration.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
    caller::good,
};
use serde_json::{Value, json};

use super::fixture::tree;

/// A file large enough for LFS.
const LARGE: &str = "a large file, which is kept elsewhere and stands in the tree as a pointer only\n";

/// Runs a script in a task's worktree until the task is merged.
async fn to_done(board: &Board, lines: &[&str]) -> Result<Value> {
    let task = board.task(lines, json!({})).await?;
    board.claim(&task).await?;
    let end = |task: &Value| task["status"] == "done" || !task["error_annotation"].is_null();
    let done = board.engine.until(&task, end).await?;
    assert_eq!(done["status"], "done", "{done:#}");
    board.engine.until(&task, |task| task["workspace"]["status"] == "cleaned").await
}

fn script(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let file = folder.join(name);
    std::fs::write(&file, format!("#!/bin/sh\n{text}\n"))?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755))?;
    Ok(file)
}

/// A filter with the name of the LFS one: commits hold a pointer, the worktree holds the content.
#[tokio::test(flavor = "multi_thread")]
async fn repository_with_lfs_is_merged_with_pointers() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let (dir, repo) = (board.folder.dir.path(), &board.folder.repo);
    let store = dir.join("lfs-objects");
    std::fs::create_dir(&store)?;
    let store = store.display();
    let clean = script(
        dir,
        "clean",
        &format!(
            "cat >'{store}/new.'$$; id=$(sha256sum <'{store}/new.'$$ | cut -c1-64); mv '{store}/new.'$$ '{store}/'$id; printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize 1\\n' $id"
        ),
    )?;
    let smudge = script(dir, "smudge", &format!("id=$(sed -n 's/^oid sha256://p'); cat '{store}/'$id"))?;
    repo.git(&["config", "filter.lfs.clean", &format!("'{}'", clean.display())])?;
    repo.git(&["config", "filter.lfs.smudge", &format!("'{}'", smudge.display())])?;
    repo.git(&["config", "filter.lfs.required", "true"])?;
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")?;
    repo.write("first.bin", LARGE)?;
    repo.commit("a large file")?;
    assert!(repo.show("main", "first.bin").context("none")?.starts_with("version https://git-lfs"));
    // The agent sees the content, not the pointer, and so do those who look at the checkout later.
    to_done(
        &board,
        &["run grep -q 'kept elsewhere' first.bin", "run cp first.bin second.bin && echo more >>second.bin"],
    )
    .await?;
    let pointer = repo.show("main", "second.bin").context("not merged")?;
    assert!(pointer.starts_with("version https://git-lfs"), "{pointer}");
    assert_eq!(std::fs::read_to_string(repo.path().join("second.bin"))?, format!("{LARGE}more\n"));
    assert_eq!(repo.git(&["status", "--porcelain"])?, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_with_a_submodule_is_merged() -> Result<()> {
    let (board, library, pinned) = Board::with_library(json!({})).await?;
    let repo = &board.folder.repo;
    // One task changes its own files, one moves the library on.
    to_done(&board, &["run cat lib/lib.txt >copy.txt"]).await?;
    assert_eq!(repo.show("main", "copy.txt").as_deref(), Some("one"));
    assert_eq!(repo.git(&["rev-parse", "main:lib"])?, pinned, "nobody moved it");
    library.write("lib.txt", "two\n")?;
    let next = library.commit("two")?;
    to_done(
        &board,
        &[&format!(
            "run cd lib && git -c protocol.file.allow=always fetch -q origin && git checkout -q {next}"
        )],
    )
    .await?;
    assert_eq!(repo.git(&["rev-parse", "main:lib"])?, next);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_with_a_sparse_checkout_is_merged() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = &board.folder.repo;
    for folder in ["here", "there"] {
        repo.write(&format!("{folder}/file.txt"), "x\n")?;
    }
    repo.commit("two folders")?;
    repo.git(&["sparse-checkout", "set", "here"])?;
    assert!(!repo.path().join("there").exists());
    to_done(&board, &["append here/file.txt <<< \"y\\n\""]).await?;
    assert_eq!(repo.show("main", "here/file.txt").as_deref(), Some("x\ny"));
    assert_eq!(repo.show("main", "there/file.txt").as_deref(), Some("x"), "what is not checked out stays");
    assert!(!repo.path().join("there").exists(), "the user's choice stands");
    assert_eq!(repo.git(&["status", "--porcelain"])?, "");
    Ok(())
}

/// Failing post-hooks change nothing; a hook that refuses a commit is reported to the agent, who fixes the work.
#[tokio::test(flavor = "multi_thread")]
async fn repository_with_failing_user_hooks_is_merged() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for hook in ["post-checkout", "post-commit", "post-merge", "post-rewrite"] {
        board.git_hook(hook, "echo I am broken >&2; exit 1")?;
    }
    board.forbid_to_commit("no.txt")?;
    let told = "```forge-script\nedit no.txt <<< \"no\"\n```\n```forge-script attempt=2\nrun rm no.txt\nedit yes.txt <<< \"yes\"\n```";
    let task = board.task(&[], json!({ "description": told })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.runs(&task).await?.len(), 2);
    assert_eq!(board.folder.repo.show("main", "yes.txt").as_deref(), Some("yes"));
    assert_eq!(board.folder.repo.show("main", "no.txt"), None);
    Ok(())
}

/// The longest valid file name, non-ASCII names, and names that git or a shell would interpret.
#[tokio::test(flavor = "multi_thread")]
async fn repository_with_unusual_file_names_is_merged() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let long = "n".repeat(255);
    let wide = "é".repeat(127);
    let names = [
        long.as_str(),
        &wide,
        "дерево/ファイル.txt",
        "with space",
        "-dash",
        "tab\there",
        "new\nline",
        "quo\"te",
        ":(top)x",
        "*",
    ];
    let task = board.engine.task(&board.project, json!({ "title": "Names" })).await?;
    board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    let task = board.engine.until(&task, super::fixture::is_ready).await?;
    for name in names {
        let file = tree(&task).join(name);
        std::fs::create_dir_all(file.parent().context("no folder")?)?;
        std::fs::write(file, "content\n")?;
    }
    let id = text(&task, "id");
    let shown = async || -> Result<()> {
        let diff = board.engine.get(&format!("/tasks/{id}/diff")).await?;
        let mut listed: Vec<String> =
            diff["files"].as_array().into_iter().flatten().map(|file| text(file, "path")).collect();
        listed.sort();
        let mut wanted: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        wanted.sort();
        assert_eq!(listed, wanted);
        for name in names {
            let asked = board.engine.request(reqwest::Method::GET, &format!("/tasks/{id}/diff/file"));
            let file = good(asked.query(&[("path", name)]).send().await?)?;
            assert!(file.to_string().contains("content"), "{name}: {file:#}");
        }
        Ok(())
    };
    shown().await?;
    let git = std::process::Command::new("sh")
        .args(["-c", "git add --all && git commit -qm names"])
        .envs(forge_testkit::HERMETIC_GIT)
        .current_dir(tree(&task))
        .status()?;
    assert!(git.success());
    shown().await?;
    board.move_to(&task, "review").await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    board.engine.post(&format!("/tasks/{id}/review/approve"), json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    for name in names {
        // Not `show`, which takes a name for a file's first.
        let merged = board.folder.repo.git(&["cat-file", "blob", &format!("main:{name}")])?;
        assert_eq!(merged, "content", "{name}");
        assert!(board.folder.repo.path().join(name).exists(), "{name}");
    }
    Ok(())
}
