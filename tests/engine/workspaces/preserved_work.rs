//! Work on a detached head, on an unborn branch or in a worktree without `.git` is preserved, and every action
//! stays available.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text},
};
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, tree};

fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let mut git = std::process::Command::new("git");
    let output = git.args(args).current_dir(folder).envs(forge_testkit::HERMETIC_GIT).output()?;
    ensure!(output.status.success(), "git {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn commit(folder: &Path, name: &str) -> Result<String> {
    std::fs::write(folder.join(name), format!("{name}\n"))?;
    git(folder, &["add", "--all"])?;
    git(folder, &["commit", "-qm", name])?;
    git(folder, &["rev-parse", "HEAD"])
}

/// Cancels a task and removes its worktree.
async fn remove_worktree(fixture: &WorkspaceFixture, task: &Value) -> Result<()> {
    fixture.act(task, "cancel", json!({})).await?;
    fixture.engine.until(task, |task| task["workspace"]["status"] == "scheduled").await?;
    let gone = fixture.post(task, "/workspace/remove", json!({})).await?;
    assert_eq!((gone["status"].as_str(), &gone["error"]), (Some("cleaned"), &Value::Null));
    Ok(())
}

async fn is_backed_up(fixture: &WorkspaceFixture, task: &Value, file: &str) -> Result<bool> {
    let repo = &fixture.folder.repo;
    Ok(fixture.backups(task).await?.iter().any(|kept| repo.show(&text(kept, "commit"), file).is_some()))
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_on_a_detached_head_are_kept_when_the_worktree_goes() -> Result<()> {
    for (reuse, is_there) in [("off", true), ("tracked", true), ("off", false)] {
        let fixture = WorkspaceFixture::new(json!({ "workspace_reuse": reuse })).await?;
        let task = fixture.manual_task("Detached").await?;
        git(&tree(&task), &["checkout", "-q", "--detach"])?;
        let alone = commit(&tree(&task), "alone")?;
        if !is_there {
            std::fs::remove_dir_all(tree(&task))?;
        }
        remove_worktree(&fixture, &task).await?;
        let kept: Vec<_> = fixture.backups(&task).await?.iter().map(|kept| text(kept, "commit")).collect();
        assert_eq!(kept, [alone], "{reuse}, there: {is_there}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_with_unborn_head_can_be_removed_continued_and_deleted() -> Result<()> {
    let leave: [&[&str]; 2] = [&["checkout", "-q", "--orphan", "fresh"], &["update-ref", "-d", "HEAD"]];
    for args in leave {
        let fixture = WorkspaceFixture::new(json!({ "auto_approve": false })).await?;
        // Removed.
        let task = fixture.manual_task("Removed").await?;
        commit(&tree(&task), "work")?;
        git(&tree(&task), args)?;
        std::fs::write(tree(&task).join("new"), "new\n")?;
        remove_worktree(&fixture, &task).await?;
        assert!(
            is_backed_up(&fixture, &task, "new").await? && is_backed_up(&fixture, &task, "work").await?,
            "{args:?}"
        );
        // Worked on: by the end of that run, and by the next one when it failed.
        let leave = format!("run git {}", args.join(" "));
        let mut task = Value::Null;
        for end in ["say done", "fail 1"] {
            let lines = ["edit work <<< \"w\\n\"", "commit work", &leave, "edit new <<< \"n\\n\"", end];
            let again = "```forge-script attempt=2\nsay again\n```";
            let description = format!("{}\n{again}", forge_testkit::script(&lines));
            let new =
                json!({ "title": end, "description": description, "roles": { "coder": fixture.agent } });
            task = fixture.engine.task(&fixture.project, new).await?;
            fixture.claim(&task).await?;
            let judged = |task: &Value| task["review"]["status"] == "awaiting_human";
            task = fixture.engine.until(&task, judged).await?;
            let branch = format!("forge/{}", text(&task, "id"));
            for file in ["work", "new", "README.md"] {
                assert!(fixture.folder.repo.show(&branch, file).is_some(), "{args:?}, {end}: {file}");
            }
        }
        // Deleted.
        git(&tree(&task), args)?;
        fixture.act(&task, "cancel", json!({})).await?;
        let path = format!("/tasks/{}", text(&task, "id"));
        fixture.engine.delete(&path).await.with_context(|| format!("{args:?}"))?;
        assert!(!tree(&task).exists(), "{args:?}");
    }
    Ok(())
}

/// A board with manual approval, and a task in review with the file `work`.
async fn awaiting() -> Result<(Board, Value)> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    let task = board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    Ok((board, task))
}

#[tokio::test(flavor = "multi_thread")]
async fn merging_the_reviewed_commit_keeps_commits_on_a_detached_head() -> Result<()> {
    let (board, task) = awaiting().await?;
    git(&tree(&task), &["checkout", "-q", "--detach"])?;
    commit(&tree(&task), "after")?;
    std::fs::write(tree(&task).join("loose"), "loose\n")?;
    let (status, _) =
        board.refuse(&format!("/tasks/{}/review/approve", text(&task, "id")), json!({})).await?;
    assert_eq!(status, 409);
    board.act(&task, "actions/merge_reviewed?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    let branch = format!("forge/{}", text(&task, "id"));
    for file in ["after", "loose"] {
        assert!(board.folder.repo.show(&branch, file).is_some(), "{file}");
        assert!(board.folder.repo.show("main", file).is_none(), "{file}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_git_file_hides_no_work_from_approval_and_merge() -> Result<()> {
    for is_known in [true, false] {
        let (board, task) = awaiting().await?;
        std::fs::write(tree(&task).join("after"), "after\n")?;
        std::fs::remove_file(tree(&task).join(".git"))?;
        if !is_known {
            std::fs::rename(tree(&task), tree(&task).with_file_name("away"))?;
            board.folder.repo.git(&["worktree", "prune"])?;
            std::fs::rename(tree(&task).with_file_name("away"), tree(&task))?;
        }
        let path = format!("/tasks/{}/review/approve", text(&task, "id"));
        let (status, refusal) = board.refuse(&path, json!({})).await?;
        assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
        assert_eq!(refusal["details"]["uncommitted"], json!(["after"]), "known: {is_known}");
        std::fs::remove_file(tree(&task).join(".git"))?;
        board.act(&task, "actions/review_again?wait=none", json!({})).await?;
        let again = |task: &Value| {
            task["review"]["attempt_number"] == 2 && task["review"]["status"] == "awaiting_human"
        };
        let now = board.engine.until(&task, again).await?;
        let commit = text(&now["review"], "reviewed_commit");
        assert!(board.folder.repo.show(&commit, "after").is_some(), "known: {is_known}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_marked_assume_unchanged_is_reviewed_and_merged() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": true })).await?;
    let hide = "run git update-index --assume-unchanged README.md && echo hidden >README.md";
    let task = board.task(&[hide], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "README.md").as_deref(), Some("hidden"));
    Ok(())
}
