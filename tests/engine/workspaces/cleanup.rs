//! Cleanup of worktrees of closed tasks: each row of the table, delays, failures and branches.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::Result;
use forge_testkit::{
    Folder, LocalEngine,
    board::text,
    caller::{good, refused},
};
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, bystander, foreign_lock, is_ready, tree};

const EDIT: &str = "edit done.txt <<< \"done\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn worktree_of_done_task_is_removed_at_once_and_recorded() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "auto_approve": true })).await?;
    let task = fixture.started("Done", &[EDIT]).await?;
    let done = fixture.state(&task, "done").await?;
    let done = if done["workspace"]["status"] == "cleaned" { done } else { fixture.cleaned(&task).await? };
    assert!(!tree(&done).exists());
    assert_eq!(fixture.worktrees()?, Vec::<String>::new());
    assert!(fixture.branch(&format!("forge/{}", text(&task, "id"))), "nobody asked for its branch to go");
    let cleaned = |event: &Value| event["type"] == "workspace.cleaned" && event["task_id"] == task["id"];
    fixture.engine.events_until(|events| events.iter().any(cleaned), "the cleanup").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_of_cancelled_task_waits_a_day_unless_removed_or_kept() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let mut tasks = Vec::new();
    for title in ["Now", "Stays"] {
        let task = fixture.manual_task(title).await?;
        let path = format!("/tasks/{}/workspace", text(&task, "id"));
        for what in ["remove", "keep"] {
            let (status, body) = fixture.refused(&format!("{path}/{what}"), json!({})).await?;
            assert_eq!((status, body["code"].as_str()), (409, Some("task_open")));
        }
        std::fs::write(tree(&task).join("half.txt"), "half")?;
        fixture.act(&task, "cancel", json!({})).await?;
        let due = fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
        let hours =
            (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
        assert!((hours - 24.0).abs() < 0.1, "{hours}");
        tasks.push(due);
    }
    let gone = fixture.post(&tasks[0], "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    assert!(!tree(&tasks[0]).exists(), "gone before the answer");
    let backup = &fixture.backups(&tasks[0]).await?[0];
    assert_eq!(fixture.folder.repo.show(&text(backup, "commit"), "half.txt").as_deref(), Some("half"));
    let kept = fixture.post(&tasks[1], "/workspace/keep", json!({})).await?;
    assert_eq!((kept["status"].as_str(), &kept["cleanup_at"]), (Some("active"), &Value::Null));
    let (status, body) =
        fixture.refused(&format!("/tasks/{}/workspace/remove", text(&tasks[0], "id")), json!({})).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workspace_missing")));
    let all = fixture.items(&format!("/projects/{}/backups", fixture.project)).await?;
    assert_eq!(all.iter().map(|backup| &backup["task_id"]).collect::<Vec<_>>(), [&tasks[0]["id"]]);
    let listed = fixture.items("/workspaces").await?;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["task_title"], &listed[0]["task_status"]), (&json!("Stays"), &json!("cancelled")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_delay_from_environment_survives_a_restart() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Given up").await?;
    fixture.restart_with_delay(3600).await?;
    fixture.act(&task, "cancel", json!({})).await?;
    let due = fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let hours = (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
    assert!((hours - 1.0).abs() < 0.1, "{hours}");
    fixture.restart().await?;
    assert_eq!(fixture.get(&task).await?["workspace"]["cleanup_at"], due["workspace"]["cleanup_at"]);
    // One whose time comes while Forge is away goes at the next start; one that was opened again stays.
    fixture.restart_with_delay(2).await?;
    let opened = fixture.manual_task("Opened again").await?;
    let soon = fixture.manual_task("Soon").await?;
    for task in [&opened, &soon] {
        fixture.act(task, "cancel", json!({})).await?;
        fixture.engine.until(task, |task| !task["workspace"]["cleanup_at"].is_null()).await?;
    }
    let version = fixture.get(&opened).await?["version"].clone();
    fixture.post(&opened, "/transition", json!({ "to": "todo", "version": version })).await?;
    fixture.restart().await?;
    fixture.cleaned(&soon).await?;
    let opened = fixture.get(&opened).await?;
    assert_eq!(opened["workspace"]["status"], "scheduled");
    assert!(tree(&opened).join("README.md").exists(), "it was due first");
    // Work on it takes the planned removal back.
    let claim = json!({ "agent_id": "user", "version": opened["version"] });
    fixture.post(&opened, "/claim", claim).await?;
    let kept = fixture.engine.until(&opened, is_ready).await?;
    assert!(kept["workspace"]["cleanup_at"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cleanup_policy_of_the_state_overrides_the_engines() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, agent) = engine.project(&sandbox.repo, json!({})).await?;
    let path = format!("/projects/{project}/workflow");
    let mut workflow = engine.get(&path).await?["workflow"].clone();
    for state in workflow["states"].as_array_mut().into_iter().flatten() {
        match state["name"].as_str() {
            Some("done") => state["cleanup"] = json!("keep"),
            Some("cancelled") => state["cleanup"] = json!({ "delayed": { "seconds": 7200 } }),
            _ => {}
        }
    }
    let put = engine.request(reqwest::Method::PUT, &path).json(&json!({ "workflow": workflow }));
    good(put.send().await?)?;
    let fixture = WorkspaceFixture { folder: sandbox, engine, project, agent };
    let done = fixture.manual_task("Kept").await?;
    let version = fixture.get(&done).await?["version"].clone();
    fixture.post(&done, "/transition", json!({ "to": "done", "version": version })).await?;
    assert_eq!(fixture.step(&done, "cleanup_workspace_now").await?["outcome"], "skipped");
    let done = fixture.get(&done).await?;
    assert_eq!((done["workspace"]["status"].as_str(), tree(&done).exists()), (Some("active"), true));
    let given_up = fixture.manual_task("Given up").await?;
    fixture.act(&given_up, "cancel", json!({})).await?;
    let due = fixture.engine.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    let hours = (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
    assert!((hours - 2.0).abs() < 0.1, "{hours}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_worktree_stays_and_inner_repository_is_backed_up_on_removal() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Stays").await?;
    let nested = tree(&task).join("nested");
    forge_testkit::Repository::create(&nested, &[("only.txt", "only here")])?;
    fixture.act(&task, "cancel", json!({})).await?;
    let task = fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let remove = format!("/tasks/{}/workspace/remove", text(&task, "id"));
    // Somebody else changes it now.
    let mut other = bystander(fixture.folder.dir.path())?;
    foreign_lock(&task, other.id())?;
    let (status, body) = fixture.refused(&remove, json!({})).await?;
    assert_eq!(status, 409, "{body}");
    assert!(body.to_string().contains("somebody-else"), "{body}");
    assert!(tree(&task).exists());
    drop(other.stdin.take());
    other.wait()?;
    let gone = fixture.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    let kept = fixture.folder.repo.git(&["rev-list", "--all", "--objects"])?;
    assert!(kept.contains("nested/only.txt"), "{kept}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_removal_is_reported_on_the_worktree_not_on_the_merge() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.started("Done", &[EDIT]).await?;
    let review = fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    // A shell of the user's stands in it.
    let mut shell = bystander(&tree(&review))?;
    fixture.post(&task, "/review/approve", json!({})).await?;
    let done = fixture.engine.until(&task, |task| task["workspace"]["status"] == "error").await?;
    assert_eq!(done["status"], "done");
    assert_eq!(fixture.folder.repo.show("main", "done.txt").as_deref(), Some("done"));
    let error = text(&done["workspace"], "error");
    assert!(error.contains(&shell.id().to_string()), "{error}");
    let minutes =
        (millis(&done["workspace"]["cleanup_at"]) - millis(&done["workspace"]["updated_at"])) / 60_000;
    assert_eq!(minutes, 5);
    let again = fixture.refused(&format!("/tasks/{}/workspace/remove", text(&task, "id")), json!({})).await?;
    assert_eq!((again.0, again.1["code"].as_str()), (409, Some("in_use")));
    let later = fixture.get(&task).await?["workspace"].clone();
    assert_eq!((millis(&later["cleanup_at"]) - millis(&later["updated_at"])) / 60_000, 10, "later and later");
    drop(shell.stdin.take());
    shell.wait()?;
    let gone = fixture.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_with_foreign_git_file_is_removed_without_touching_that_repository() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Led astray").await?;
    let other = forge_testkit::Repository::create(&fixture.folder.dir.path().join("other"), &[("a", "a")])?;
    let refs = other.git(&["for-each-ref"])?;
    std::fs::write(tree(&task).join(".git"), format!("gitdir: {}\n", other.path().join(".git").display()))?;
    fixture.act(&task, "cancel", json!({})).await?;
    fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    fixture.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(other.git(&["for-each-ref"])?, refs, "not even a backup was written there");
    nothing_is_left(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_worktree_is_removed() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Read-only").await?;
    let deep = tree(&task).join("node_modules/pkg");
    std::fs::create_dir_all(&deep)?;
    std::fs::write(deep.join("file"), "x")?;
    std::fs::set_permissions(&deep, std::fs::Permissions::from_mode(0o500))?;
    fixture.act(&task, "cancel", json!({})).await?;
    fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    fixture.post(&task, "/workspace/remove", json!({})).await?;
    nothing_is_left(&task).await
}

/// Files of another user, as a container leaves them, and read-only folders.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_another_user_are_removed_and_backed_up() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Foreign").await?;
    let locked = tree(&task).join("locked");
    let foreign = tree(&task).join("foreign");
    for folder in [&locked, &foreign] {
        std::fs::create_dir(folder)?;
        std::fs::write(folder.join("file"), "made by others\n")?;
    }
    if nix::unistd::geteuid().is_root() {
        for path in [foreign.join("file"), foreign.clone()] {
            std::os::unix::fs::chown(&path, Some(65534), Some(65534))?;
        }
    }
    std::fs::set_permissions(foreign.join("file"), std::fs::Permissions::from_mode(0o444))?;
    for folder in [&locked, &foreign] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o555))?;
    }
    fixture.act(&task, "cancel", json!({})).await?;
    fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let gone = fixture.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!((gone["status"].as_str(), &gone["error"]), (Some("cleaned"), &Value::Null));
    assert!(!tree(&task).exists());
    let commit = text(&fixture.backups(&task).await?[0], "commit");
    for file in ["locked/file", "foreign/file"] {
        assert_eq!(fixture.folder.repo.show(&commit, file).as_deref(), Some("made by others"), "{file}");
    }
    assert_eq!(fixture.worktrees()?, Vec::<String>::new());
    nothing_is_left(&task).await
}

/// Waits until no trash folder is left beside a worktree.
async fn nothing_is_left(task: &Value) -> Result<()> {
    let folder = tree(task).with_file_name("");
    let deadline = std::time::Instant::now() + forge_testkit::caller::PATIENCE;
    loop {
        let left: Vec<_> = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.file_name()).collect();
        if !left.iter().any(|name| name.to_string_lossy().starts_with(".trash")) {
            return Ok(());
        }
        assert!(std::time::Instant::now() < deadline, "{left:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_merged_branch_is_deleted_when_the_project_asks() -> Result<()> {
    let settings = json!({ "auto_approve": true, "delete_merged_branches": true, "merge_config": { "strategy": "squash" } });
    let fixture = WorkspaceFixture::new(settings).await?;
    let merged = fixture.started("Merged", &[EDIT]).await?;
    fixture.state(&merged, "done").await?;
    fixture.cleaned(&merged).await?;
    assert!(!fixture.branch(&format!("forge/{}", text(&merged, "id"))), "contained by its tree");
    let diff = fixture.engine.get(&format!("/tasks/{}/diff", text(&merged, "id"))).await?;
    assert_eq!(diff["files"][0]["path"], "done.txt", "its work is still to be seen");
    let given_up = fixture.manual_task("Given up").await?;
    std::fs::write(tree(&given_up).join("x"), "x")?;
    fixture.act(&given_up, "cancel", json!({})).await?;
    fixture.engine.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    fixture.post(&given_up, "/workspace/remove", json!({})).await?;
    assert!(fixture.branch(&format!("forge/{}", text(&given_up, "id"))), "nobody merged it");
    // Done by a person's word: the target has nothing of it.
    let by_hand = fixture.manual_task("By hand").await?;
    std::fs::write(tree(&by_hand).join("x"), "x")?;
    for args in [&["add", "x"][..], &["commit", "-qm", "not merged"]] {
        let mut git = std::process::Command::new("git");
        let ended = git.args(args).current_dir(tree(&by_hand)).envs(forge_testkit::HERMETIC_GIT).status()?;
        assert!(ended.success());
    }
    let version = fixture.get(&by_hand).await?["version"].clone();
    fixture.post(&by_hand, "/transition", json!({ "to": "done", "version": version })).await?;
    fixture.cleaned(&by_hand).await?;
    assert!(fixture.branch(&format!("forge/{}", text(&by_hand, "id"))), "its commits are nowhere else");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn checked_out_merged_branch_is_kept() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "delete_merged_branches": true })).await?;
    let task = fixture.started("Merged", &[EDIT]).await?;
    fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let branch = format!("forge/{}", text(&task, "id"));
    let elsewhere = fixture.folder.dir.path().join("elsewhere");
    fixture.folder.repo.git(&["worktree", "add", "--force", &elsewhere.to_string_lossy(), &branch])?;
    fixture.post(&task, "/review/approve", json!({})).await?;
    fixture.state(&task, "done").await?;
    fixture.cleaned(&task).await?;
    assert!(fixture.branch(&branch));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn backup_is_restored_unless_it_would_overwrite() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.manual_task("Come back").await?;
    std::fs::write(tree(&task).join("half.txt"), "half")?;
    fixture.act(&task, "cancel", json!({})).await?;
    fixture.engine.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    fixture.post(&task, "/workspace/remove", json!({})).await?;
    let commit = text(&fixture.backups(&task).await?[0], "commit");
    let restore = format!("/tasks/{}/backups/restore", text(&task, "id"));
    let (status, body) = fixture.refused(&restore, json!({ "commit": commit })).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workspace_missing")));
    let body = json!({ "to": "todo", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/transition", body).await?;
    let claim = json!({ "agent_id": "user", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/claim", claim).await?;
    let back = fixture.engine.until(&task, is_ready).await?;
    fixture.engine.post(&restore, json!({ "commit": commit })).await?;
    assert_eq!(std::fs::read_to_string(tree(&back).join("half.txt"))?, "half");
    std::fs::write(tree(&back).join("half.txt"), "mine")?;
    let (status, body) =
        refused(fixture.engine.request(reqwest::Method::POST, &restore).json(&json!({ "commit": commit })))
            .await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("backup_in_the_way")));
    assert_eq!(body["details"]["files"], json!(["half.txt"]));
    assert_eq!(std::fs::read_to_string(tree(&back).join("half.txt"))?, "mine");
    Ok(())
}

fn millis(value: &Value) -> i64 {
    let time = serde_json::from_value::<forge_model::time::Timestamp>(value.clone());
    time.map(|time| time.0).unwrap_or_default()
}
