//! Missing worktrees are recreated, and a person can reset them.

use anyhow::Result;
use forge_testkit::board::text;
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, is_ready, tree};

#[tokio::test(flavor = "multi_thread")]
async fn missing_worktree_is_recreated_from_its_branch_with_files_and_setup() -> Result<()> {
    let settings = json!({ "setup": ["echo deps > deps.txt"], "copy_files": [{ "pattern": ".env" }] });
    let fixture = WorkspaceFixture::with(settings, &[(".env", "S=1")]).await?;
    let task = fixture.manual_task("Lost").await?;
    let commit = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(tree(&task)).args(args).envs(forge_testkit::HERMETIC_GIT).output()
    };
    std::fs::write(tree(&task).join("work.txt"), "work")?;
    commit(&["add", "work.txt"])?;
    commit(&["commit", "-q", "-m", "work"])?;
    std::fs::remove_dir_all(tree(&task))?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?;
    let claim = json!({ "agent_id": "user", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/claim", claim).await?;
    let back = fixture.engine.until(&task, is_ready).await?;
    for (file, content) in [("work.txt", "work"), ("deps.txt", "deps\n"), (".env", "S=1")] {
        assert_eq!(std::fs::read_to_string(tree(&back).join(file))?, content);
    }
    let step = fixture.step(&task, "prepare_workspace").await?;
    assert_eq!(step["reason"], "recreated from its branch", "the timeline says so");
    assert_eq!(fixture.worktrees()?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_worktree_without_its_branch_needs_a_reset() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "setup": ["echo ready > ready.txt"] })).await?;
    let task = fixture.manual_task("Gone").await?;
    let (status, body) =
        fixture.refused(&format!("/tasks/{}/workspace/reset", text(&task, "id")), json!({})).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("not_offered")));
    std::fs::remove_dir_all(tree(&task))?;
    let branch = format!("forge/{}", text(&task, "id"));
    fixture.folder.repo.git(&["worktree", "prune"])?;
    fixture.folder.repo.git(&["branch", "-D", &branch])?;
    let version = fixture.get(&task).await?["version"].clone();
    fixture.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?;
    let claim = json!({ "agent_id": "user", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/claim", claim).await?;
    let blocked = fixture.state(&task, "blocked").await?;
    assert_eq!(blocked["error_annotation"]["type"], "workspace_reset_required");
    assert_eq!(verbs(&blocked), ["reset_workspace", "hold", "cancel"]);
    assert!(blocked["workspace"].is_null(), "its record is gone");
    let fresh = fixture.post(&task, "/workspace/reset", json!({})).await?;
    assert_eq!(fresh["path"], tree(&task).to_string_lossy().as_ref());
    assert_eq!(fresh["base_commit"], fixture.folder.repo.git(&["rev-parse", "main"])?.trim());
    let now = fixture.get(&task).await?;
    assert_eq!((&now["status"], &now["error_annotation"]["type"]), (&json!("blocked"), &json!("manual")));
    assert_eq!(verbs(&now), ["restart", "restart_with_changes", "hold", "cancel"]);
    assert!(!tree(&now).join("ready.txt").exists(), "set-up waits until work starts");
    fixture.act(&task, "restart", json!({})).await?;
    let claim = json!({ "agent_id": "user", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/claim", claim).await?;
    let ready = fixture.engine.until(&task, is_ready).await?;
    assert_eq!(std::fs::read_to_string(tree(&ready).join("ready.txt"))?, "ready\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_backs_up_uncommitted_work_and_the_old_branch() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "setup": ["test ! -e break"] })).await?;
    fixture.folder.repo.write("break", "x")?;
    fixture.folder.repo.commit("break it")?;
    let task = fixture.started("Reset", &["say hello"]).await?;
    let blocked = fixture.state(&task, "blocked").await?;
    assert!(verbs(&blocked).contains(&"reset_workspace".to_owned()), "{blocked:#}");
    let old_tip = fixture.folder.repo.git(&["rev-parse", "main"])?.trim().to_owned();
    std::fs::write(tree(&blocked).join("half.txt"), "half")?;
    std::fs::remove_file(fixture.folder.repo.path().join("break"))?;
    fixture.folder.repo.commit("mend it")?;
    let fresh = fixture.post(&task, "/workspace/reset", json!({})).await?;
    let new_tip = fixture.folder.repo.git(&["rev-parse", "main"])?.trim().to_owned();
    assert_eq!(fresh["base_commit"], new_tip.as_str());
    let kept = fixture.backups(&task).await?;
    let commits: Vec<String> = kept.iter().map(|backup| text(backup, "commit")).collect();
    assert!(commits.contains(&old_tip), "the old branch: {kept:#?}");
    assert!(commits.iter().any(|c| fixture.folder.repo.show(c, "half.txt").as_deref() == Some("half")));
    let now = fixture.get(&task).await?;
    assert!(!tree(&now).join("half.txt").exists());
    let branch = format!("forge/{}", text(&task, "id"));
    assert_eq!(fixture.folder.repo.git(&["rev-parse", &branch])?.trim(), new_tip);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_sets_retry_counts_to_zero() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "review_config": { "ci_steps": ["false"] } })).await?;
    let lines = "```forge-script\nedit a <<< \"x\"\n```\n```forge-script attempt=2\nhang\n```";
    let new = json!({ "title": "Reset", "description": lines, "roles": { "coder": fixture.agent } });
    let task = fixture.engine.task(&fixture.project, new).await?;
    fixture.claim(&task).await?;
    let used = |task: &Value| task["budgets"]["review"]["used"].as_u64();
    fixture.engine.until(&task, |task| used(task) == Some(1) && task["live"].is_object()).await?;
    let version = fixture.get(&task).await?["version"].clone();
    let stopped =
        fixture.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?["task"]
            .clone();
    assert_eq!(used(&stopped), Some(1), "a stop is no boundary");
    std::fs::remove_dir_all(tree(&fixture.get(&task).await?))?;
    fixture.folder.repo.git(&["worktree", "prune"])?;
    fixture.folder.repo.git(&["branch", "-D", &format!("forge/{}", text(&task, "id"))])?;
    fixture.claim(&task).await?;
    let lost = fixture.state(&task, "blocked").await?;
    assert_eq!(
        (text(&lost["error_annotation"], "type").as_str(), used(&lost)),
        ("workspace_reset_required", Some(1))
    );
    fixture.post(&task, "/workspace/reset", json!({})).await?;
    assert_eq!(used(&fixture.get(&task).await?), Some(0));
    Ok(())
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

/// A task keeps an available action whatever happens to the `.git` of its worktree.
#[tokio::test(flavor = "multi_thread")]
async fn task_whose_worktree_lost_its_git_file_is_retried_reset_removed_and_deleted() -> Result<()> {
    for way in ["retry", "reset", "remove", "delete"] {
        // A worktree is reset where it cannot be made ready.
        let setup = if way == "reset" { vec!["exit 1"] } else { Vec::new() };
        let fixture = WorkspaceFixture::new(json!({ "setup": setup })).await?;
        let lines = "```forge-script\nedit a <<< \"a\"\nfail 3\n```\n\
                     ```forge-script attempt=4\nedit b <<< \"b\"\n```";
        let new = json!({ "title": "Lost", "description": lines, "roles": { "coder": fixture.agent } });
        let task = fixture.engine.task(&fixture.project, new).await?;
        fixture.claim(&task).await?;
        let folder = tree(&fixture.state(&task, "blocked").await?);
        std::fs::write(folder.join("a"), "a")?;
        std::fs::remove_file(folder.join(".git"))?;
        match way {
            "retry" => {
                fixture.act(&task, "retry", json!({})).await?;
                fixture.engine.until(&task, |task| task["review"]["status"].is_string()).await?;
                let branch = format!("forge/{}", text(&task, "id"));
                let made = |name: &str| fixture.folder.repo.show(&branch, name);
                assert_eq!((made("a").as_deref(), made("b").as_deref()), (Some("a"), Some("b")));
            }
            "reset" => {
                fixture.post(&task, "/workspace/reset", json!({})).await?;
                assert!(folder.join(".git").exists() && !folder.join("a").exists());
            }
            "remove" => {
                fixture.act(&task, "cancel", json!({})).await?;
                fixture.post(&task, "/workspace/remove", json!({})).await?;
                assert!(!folder.exists());
            }
            _ => {
                fixture.act(&task, "cancel", json!({})).await?;
                let path = format!("/tasks/{}", text(&task, "id"));
                fixture.engine.delete(&path).await?;
                assert!(fixture.get(&task).await.is_err(), "it is gone");
            }
        }
        if matches!(way, "reset" | "remove") {
            let kept = fixture.backups(&task).await?;
            let has_a = |backup: &Value| {
                fixture.folder.repo.show(&text(backup, "commit"), "a").as_deref() == Some("a")
            };
            assert!(kept.iter().any(has_a), "{way}: {kept:#?}");
        }
    }
    Ok(())
}
