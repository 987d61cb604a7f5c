//! Worktrees that went missing, and the fresh start a person asks for.

use anyhow::Result;
use serde_json::{Value, json};

use super::bench::{Bench, is_ready, tree};
use crate::forge::text;

#[tokio::test(flavor = "multi_thread")]
async fn missing_worktree_is_recreated_from_its_branch_with_files_and_setup() -> Result<()> {
    let settings = json!({ "setup": ["echo deps > deps.txt"], "copy_files": [{ "pattern": ".env" }] });
    let bench = Bench::with(settings, &[(".env", "S=1")]).await?;
    let task = bench.by_hand("Lost").await?;
    let commit = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(tree(&task)).args(args).envs(forge_testkit::HERMETIC_GIT).output()
    };
    std::fs::write(tree(&task).join("work.txt"), "work")?;
    commit(&["add", "work.txt"])?;
    commit(&["commit", "-q", "-m", "work"])?;
    std::fs::remove_dir_all(tree(&task))?;
    let version = bench.get(&task).await?["version"].clone();
    bench.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?;
    let claim = json!({ "agent_id": "user", "version": bench.get(&task).await?["version"] });
    bench.post(&task, "/claim", claim).await?;
    let back = bench.server.until(&task, is_ready).await?;
    for (file, content) in [("work.txt", "work"), ("deps.txt", "deps\n"), (".env", "S=1")] {
        assert_eq!(std::fs::read_to_string(tree(&back).join(file))?, content);
    }
    let step = bench.step(&task, "prepare_workspace").await?;
    assert_eq!(step["reason"], "recreated from its branch", "the timeline says so");
    assert_eq!(bench.worktrees()?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_worktree_without_its_branch_needs_a_reset() -> Result<()> {
    let bench = Bench::new(json!({ "setup": ["echo ready > ready.txt"] })).await?;
    let task = bench.by_hand("Gone").await?;
    let (status, body) =
        bench.refused(&format!("/tasks/{}/workspace/reset", text(&task, "id")), json!({})).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("not_offered")));
    std::fs::remove_dir_all(tree(&task))?;
    let branch = format!("forge/{}", text(&task, "id"));
    bench.sandbox.repo.git(&["worktree", "prune"])?;
    bench.sandbox.repo.git(&["branch", "-D", &branch])?;
    let version = bench.get(&task).await?["version"].clone();
    bench.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?;
    let claim = json!({ "agent_id": "user", "version": bench.get(&task).await?["version"] });
    bench.post(&task, "/claim", claim).await?;
    let blocked = bench.state(&task, "blocked").await?;
    assert_eq!(blocked["error_annotation"]["type"], "workspace_reset_required");
    assert_eq!(verbs(&blocked), ["reset_workspace", "hold", "cancel"]);
    assert!(blocked["workspace"].is_null(), "its record is gone");
    let fresh = bench.post(&task, "/workspace/reset", json!({})).await?;
    assert_eq!(fresh["path"], tree(&task).to_string_lossy().as_ref());
    assert_eq!(fresh["base_commit"], bench.sandbox.repo.git(&["rev-parse", "main"])?.trim());
    let now = bench.get(&task).await?;
    assert_eq!((&now["status"], &now["error_annotation"]["type"]), (&json!("blocked"), &json!("manual")));
    assert_eq!(verbs(&now), ["restart", "restart_with_changes", "hold", "cancel"]);
    assert!(!tree(&now).join("ready.txt").exists(), "set-up waits until work starts");
    bench.act(&task, "restart", json!({})).await?;
    let claim = json!({ "agent_id": "user", "version": bench.get(&task).await?["version"] });
    bench.post(&task, "/claim", claim).await?;
    let ready = bench.server.until(&task, is_ready).await?;
    assert_eq!(std::fs::read_to_string(tree(&ready).join("ready.txt"))?, "ready\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_backs_up_uncommitted_work_and_the_old_branch() -> Result<()> {
    let bench = Bench::new(json!({ "setup": ["test ! -e break"] })).await?;
    bench.sandbox.repo.write("break", "x")?;
    bench.sandbox.repo.commit("break it")?;
    let task = bench.started("Reset", &["say hello"]).await?;
    let blocked = bench.state(&task, "blocked").await?;
    assert!(verbs(&blocked).contains(&"reset_workspace".to_owned()), "{blocked:#}");
    let old_tip = bench.sandbox.repo.git(&["rev-parse", "main"])?.trim().to_owned();
    std::fs::write(tree(&blocked).join("half.txt"), "half")?;
    std::fs::remove_file(bench.sandbox.repo.path().join("break"))?;
    bench.sandbox.repo.commit("mend it")?;
    let fresh = bench.post(&task, "/workspace/reset", json!({})).await?;
    let new_tip = bench.sandbox.repo.git(&["rev-parse", "main"])?.trim().to_owned();
    assert_eq!(fresh["base_commit"], new_tip.as_str());
    let kept = bench.backups(&task).await?;
    let commits: Vec<String> = kept.iter().map(|backup| text(backup, "commit")).collect();
    assert!(commits.contains(&old_tip), "the old branch: {kept:#?}");
    assert!(commits.iter().any(|c| bench.sandbox.repo.show(c, "half.txt").as_deref() == Some("half")));
    let now = bench.get(&task).await?;
    assert!(!tree(&now).join("half.txt").exists());
    let branch = format!("forge/{}", text(&task, "id"));
    assert_eq!(bench.sandbox.repo.git(&["rev-parse", &branch])?.trim(), new_tip);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reset_sets_retry_counts_to_zero() -> Result<()> {
    let bench = Bench::new(json!({ "review_config": { "ci_steps": ["false"] } })).await?;
    let lines = "```forge-script\nedit a <<< \"x\"\n```\n```forge-script attempt=2\nhang\n```";
    let new = json!({ "title": "Reset", "description": lines, "roles": { "coder": bench.agent } });
    let task = bench.server.task(&bench.project, new).await?;
    bench.claim(&task).await?;
    let used = |task: &Value| task["budgets"]["review"]["used"].as_u64();
    bench.server.until(&task, |task| used(task) == Some(1) && task["live"].is_object()).await?;
    let version = bench.get(&task).await?["version"].clone();
    let stopped =
        bench.post(&task, "/transition", json!({ "to": "todo", "version": version })).await?["task"].clone();
    assert_eq!(used(&stopped), Some(1), "a stop is no boundary");
    std::fs::remove_dir_all(tree(&bench.get(&task).await?))?;
    bench.sandbox.repo.git(&["worktree", "prune"])?;
    bench.sandbox.repo.git(&["branch", "-D", &format!("forge/{}", text(&task, "id"))])?;
    bench.claim(&task).await?;
    let lost = bench.state(&task, "blocked").await?;
    assert_eq!(
        (text(&lost["error_annotation"], "type").as_str(), used(&lost)),
        ("workspace_reset_required", Some(1))
    );
    bench.post(&task, "/workspace/reset", json!({})).await?;
    assert_eq!(used(&bench.get(&task).await?), Some(0));
    Ok(())
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

/// Whatever becomes of a worktree's own `.git`, no task is left without a way out.
#[tokio::test(flavor = "multi_thread")]
async fn task_whose_worktree_lost_its_git_file_is_retried_reset_removed_and_deleted() -> Result<()> {
    for way in ["retry", "reset", "remove", "delete"] {
        // A worktree is reset where it cannot be made ready.
        let setup = if way == "reset" { vec!["exit 1"] } else { Vec::new() };
        let bench = Bench::new(json!({ "setup": setup })).await?;
        let lines = "```forge-script\nedit a <<< \"a\"\nfail 3\n```\n\
                     ```forge-script attempt=4\nedit b <<< \"b\"\n```";
        let new = json!({ "title": "Lost", "description": lines, "roles": { "coder": bench.agent } });
        let task = bench.server.task(&bench.project, new).await?;
        bench.claim(&task).await?;
        let folder = tree(&bench.state(&task, "blocked").await?);
        std::fs::write(folder.join("a"), "a")?;
        std::fs::remove_file(folder.join(".git"))?;
        match way {
            "retry" => {
                bench.act(&task, "retry", json!({})).await?;
                bench.server.until(&task, |task| task["review"]["status"].is_string()).await?;
                let branch = format!("forge/{}", text(&task, "id"));
                let made = |name: &str| bench.sandbox.repo.show(&branch, name);
                assert_eq!((made("a").as_deref(), made("b").as_deref()), (Some("a"), Some("b")));
            }
            "reset" => {
                bench.post(&task, "/workspace/reset", json!({})).await?;
                assert!(folder.join(".git").exists() && !folder.join("a").exists());
            }
            "remove" => {
                bench.act(&task, "cancel", json!({})).await?;
                bench.post(&task, "/workspace/remove", json!({})).await?;
                assert!(!folder.exists());
            }
            _ => {
                bench.act(&task, "cancel", json!({})).await?;
                let path = format!("/tasks/{}", text(&task, "id"));
                bench.server.request(reqwest::Method::DELETE, &path).send().await?.error_for_status()?;
                assert!(bench.get(&task).await.is_err(), "it is gone");
            }
        }
        if matches!(way, "reset" | "remove") {
            let kept = bench.backups(&task).await?;
            let has_a = |backup: &Value| {
                bench.sandbox.repo.show(&text(backup, "commit"), "a").as_deref() == Some("a")
            };
            assert!(kept.iter().any(has_a), "{way}: {kept:#?}");
        }
    }
    Ok(())
}
