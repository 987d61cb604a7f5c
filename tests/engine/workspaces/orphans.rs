//! Orphans: folders without a task are listed, and only a person decides about them.

use std::path::PathBuf;

use anyhow::Result;
use forge_testkit::board::text;
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, bystander, tree};

/// A worktree in the root without a task, as an earlier database would have left it.
fn orphan(fixture: &WorkspaceFixture, name: &str, branch: &str) -> Result<PathBuf> {
    let folder = fixture.root().join("repo").join(name);
    std::fs::create_dir_all(&folder)?;
    let tree = folder.join("tree");
    fixture.folder.repo.git(&["worktree", "add", "-q", "-b", branch, &tree.to_string_lossy()])?;
    std::fs::write(folder.join("prompt-1.md"), "old")?;
    Ok(folder)
}

fn git(at: &std::path::Path, args: &[&str]) -> Result<String> {
    let mut command = std::process::Command::new("git");
    let output = command.current_dir(at).args(args).envs(forge_testkit::HERMETIC_GIT).output()?;
    anyhow::ensure!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_listed_with_branch_and_uncommitted_work() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Has one").await?;
    let folder = orphan(&fixture, "7-left-abc", "forge/left")?;
    std::fs::write(folder.join("tree/work.txt"), "work")?;
    git(&folder.join("tree"), &["add", "."])?;
    git(&folder.join("tree"), &["commit", "-q", "-m", "work"])?;
    std::fs::write(folder.join("tree/loose.txt"), "loose")?;
    let plain = fixture.root().join("repo/plain");
    std::fs::create_dir(&plain)?;
    std::fs::write(plain.join("notes"), "mine")?;
    fixture.restart().await?;
    let listed = fixture.items("/workspaces/orphans").await?;
    assert_eq!(listed.len(), 2, "{listed:#?}");
    let of = |path: &PathBuf| {
        listed.iter().find(|o| o["path"] == path.to_string_lossy().as_ref()).cloned().unwrap_or_default()
    };
    let left = of(&folder);
    assert_eq!(
        (&left["branch"], &left["unmerged_commits"], &left["uncommitted"]),
        (&json!("forge/left"), &json!(1), &json!(1))
    );
    assert_eq!((&left["project_id"], &left["adoptable"]), (&json!(fixture.project), &json!(true)));
    assert!(left["bytes"].as_u64().is_some_and(|bytes| bytes > 0) && left["last_change"].is_string());
    assert_eq!(of(&plain)["adoptable"], false);
    assert!(folder.join("tree").exists() && plain.exists() && tree(&task).exists(), "nothing goes by itself");
    let (status, body) = fixture.refused("/workspaces/orphans/reclaim", json!({ "path": plain })).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("not_an_orphan")), "nothing could keep its files");
    assert!(plain.join("notes").exists());

    let doctor = fixture.engine.get("/doctor").await?;
    let findings = doctor["findings"].as_array().into_iter().flatten();
    let worktrees = findings.into_iter().find(|finding| finding["subject"] == "worktrees").cloned();
    let worktrees = worktrees.unwrap_or_default();
    assert_eq!((&doctor["ok"], &worktrees["ok"]), (&json!(false), &json!(false)), "{doctor:#}");
    assert!(worktrees["detail"].to_string().contains("2 folders without a task"), "{worktrees:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reclaimed_orphan_has_its_unique_work_backed_up() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let folder = orphan(&fixture, "7-left-abc", "forge/left")?;
    let inside = folder.join("tree");
    git(&inside, &["checkout", "-q", "--detach"])?;
    std::fs::write(inside.join("work.txt"), "work")?;
    git(&inside, &["add", "."])?;
    git(&inside, &["commit", "-q", "-m", "on no branch"])?;
    let tip = git(&inside, &["rev-parse", "HEAD"])?;
    std::fs::write(inside.join("loose.txt"), "loose")?;
    let reclaim = json!({ "path": folder });
    let mut shell = bystander(&inside)?;
    let (status, body) = fixture.refused("/workspaces/orphans/reclaim", reclaim.clone()).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("in_use")), "{body}");
    drop(shell.stdin.take());
    shell.wait()?;
    fixture.engine.post("/workspaces/orphans/reclaim", reclaim).await?;
    assert!(!folder.exists());
    assert_eq!(fixture.worktrees()?, Vec::<String>::new());
    let kept = fixture.items(&format!("/projects/{}/backups", fixture.project)).await?;
    let commits: Vec<String> = kept.iter().map(|backup| text(backup, "commit")).collect();
    assert!(commits.contains(&tip), "{kept:#?}");
    assert!(commits.iter().any(|c| fixture.folder.repo.show(c, "loose.txt").as_deref() == Some("loose")));
    assert!(
        kept.iter()
            .all(|backup| text(backup, "ref_name").starts_with("refs/forge/backup/orphan-7-left-abc/"))
    );
    assert!(fixture.branch("forge/left"), "its branch stays");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_orphan_is_the_worktree_of_a_new_task() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let folder = orphan(&fixture, "7-left-abc", "forge/left")?;
    std::fs::write(folder.join("tree/work.txt"), "work")?;
    git(&folder.join("tree"), &["add", "."])?;
    git(&folder.join("tree"), &["commit", "-q", "-m", "work"])?;
    std::fs::write(folder.join("tree/loose.txt"), "loose")?;
    let adopt = json!({ "path": folder, "project_id": fixture.project, "title": "Goes on" });
    let task = fixture.engine.post("/workspaces/orphans/adopt", adopt).await?;
    assert_eq!((&task["title"], &task["status"]), (&json!("Goes on"), &json!("todo")));
    assert_eq!(task["workspace"]["status"], "active");
    assert!(!folder.exists());
    assert_eq!(std::fs::read_to_string(tree(&task).join("loose.txt"))?, "loose");
    let branch = format!("forge/{}", text(&task, "id"));
    assert_eq!(git(&tree(&task), &["branch", "--show-current"])?, branch);
    assert!(!fixture.branch("forge/left"), "a branch of ours that nobody has got a new name");
    assert_eq!(fixture.items("/workspaces/orphans").await?, Vec::<Value>::new());
    // Work goes on in it.
    fixture.claim(&task).await?;
    fixture.engine.until(&task, |task| task["live"].is_object() || task["status"] != "todo").await?;
    let again = fixture.get(&task).await?;
    assert_eq!(tree(&again), tree(&task));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn adopted_orphan_on_a_users_branch_keeps_that_branch() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let folder = orphan(&fixture, "mine", "feature/mine")?;
    let task = fixture
        .engine
        .post("/workspaces/orphans/adopt", json!({ "path": folder, "project_id": fixture.project }))
        .await?;
    assert_eq!(task["title"], "feature/mine");
    assert!(fixture.branch("feature/mine") && fixture.branch(&format!("forge/{}", text(&task, "id"))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn orphan_in_use_is_not_adopted_and_leaves_no_task() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let folder = orphan(&fixture, "busy", "forge/busy")?;
    let admin = git(&folder.join("tree"), &["rev-parse", "--absolute-git-dir"])?;
    std::fs::write(PathBuf::from(admin).join("MERGE_HEAD"), "0000000000000000000000000000000000000000\n")?;
    let adopt = json!({ "path": folder, "project_id": fixture.project });
    let (status, body) = fixture.refused("/workspaces/orphans/adopt", adopt).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("in_use")), "{body}");
    assert!(folder.join("tree").exists());
    let tasks = fixture.items(&format!("/projects/{}/tasks", fixture.project)).await?;
    assert_eq!(tasks, Vec::<Value>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_of_a_reclaimed_orphan_is_restored_into_a_task() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Wants it").await?;
    let folder = orphan(&fixture, "7-left-abc", "forge/left")?;
    std::fs::write(folder.join("tree/loose.txt"), "loose")?;
    fixture.engine.post("/workspaces/orphans/reclaim", json!({ "path": folder })).await?;
    let kept = fixture.items(&format!("/projects/{}/backups", fixture.project)).await?;
    let has_it = |kept: &&Value| {
        fixture.folder.repo.show(&text(kept, "commit"), "loose.txt").as_deref() == Some("loose")
    };
    let commit = kept.iter().find(has_it).map(|kept| text(kept, "commit")).unwrap_or_default();
    let restore = format!("/tasks/{}/backups/restore", text(&task, "id"));
    fixture.engine.post(&restore, json!({ "commit": commit })).await?;
    assert_eq!(std::fs::read_to_string(tree(&task).join("loose.txt"))?, "loose");
    Ok(())
}
