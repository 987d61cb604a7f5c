//! What becomes of a worktree whose task is closed: each row of the table, delays, failures, and branches.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::Result;
use serde_json::{Value, json};

use super::bench::{Bench, bystander, foreign_lock, is_ready, tree};
use crate::{
    events::Stream,
    forge::{Sandbox, Served, refused, text},
};

const EDIT: &str = "edit done.txt <<< \"done\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn done_goes_at_once_and_says_so() -> Result<()> {
    let bench = Bench::new(json!({ "auto_approve": true })).await?;
    let task = bench.started("Done", &[EDIT]).await?;
    let done = bench.state(&task, "done").await?;
    let done = if done["workspace"]["status"] == "cleaned" { done } else { bench.cleaned(&task).await? };
    assert!(!tree(&done).exists());
    assert_eq!(bench.worktrees()?, Vec::<String>::new());
    assert!(bench.branch(&format!("forge/{}", text(&task, "id"))), "nobody asked for its branch to go");
    let mut told = Stream::open(&bench.server, Some(0)).await?;
    told.until(|event| event.kind() == "workspace.cleaned" && event.data["task_id"] == task["id"]).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_waits_a_day_and_can_go_now_or_stay() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let mut tasks = Vec::new();
    for title in ["Now", "Stays"] {
        let task = bench.by_hand(title).await?;
        let path = format!("/tasks/{}/workspace", text(&task, "id"));
        for what in ["remove", "keep"] {
            let (status, body) = bench.refused(&format!("{path}/{what}"), json!({})).await?;
            assert_eq!((status, body["code"].as_str()), (409, Some("task_open")));
        }
        std::fs::write(tree(&task).join("half.txt"), "half")?;
        bench.act(&task, "cancel", json!({})).await?;
        let due = bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
        let hours =
            (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
        assert!((hours - 24.0).abs() < 0.1, "{hours}");
        tasks.push(due);
    }
    let gone = bench.post(&tasks[0], "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    assert!(!tree(&tasks[0]).exists(), "gone before the answer");
    let backup = &bench.backups(&tasks[0]).await?[0];
    assert_eq!(bench.sandbox.repo.show(&text(backup, "commit"), "half.txt").as_deref(), Some("half"));
    let kept = bench.post(&tasks[1], "/workspace/keep", json!({})).await?;
    assert_eq!((kept["status"].as_str(), &kept["cleanup_at"]), (Some("active"), &Value::Null));
    let (status, body) =
        bench.refused(&format!("/tasks/{}/workspace/remove", text(&tasks[0], "id")), json!({})).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workspace_missing")));
    let all = bench.items(&format!("/projects/{}/backups", bench.project)).await?;
    assert_eq!(all.iter().map(|backup| &backup["task_id"]).collect::<Vec<_>>(), [&tasks[0]["id"]]);
    let listed = bench.items("/workspaces").await?;
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["task_title"], &listed[0]["task_status"]), (&json!("Stays"), &json!("cancelled")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_says_how_long_and_a_restart_does_not_forget() -> Result<()> {
    let mut bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Given up").await?;
    bench.server.terminate().await?;
    let serve = |sandbox: &Sandbox, seconds: &str| {
        let mut command = sandbox.command(["serve", "--port", "0"])?;
        command.env("FORGE_WORKSPACE_CLEANUP_DELAY_SECONDS", seconds);
        Served::start(command)
    };
    let server = serve(&bench.sandbox, "3600")?;
    bench.server = server;
    bench.act(&task, "cancel", json!({})).await?;
    let due = bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let hours = (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
    assert!((hours - 1.0).abs() < 0.1, "{hours}");
    bench.again().await?;
    assert_eq!(bench.get(&task).await?["workspace"]["cleanup_at"], due["workspace"]["cleanup_at"]);
    // One whose time comes while Forge is away goes at the next start; one that was opened again stays.
    bench.server.terminate().await?;
    bench.server = serve(&bench.sandbox, "2")?;
    let opened = bench.by_hand("Opened again").await?;
    let soon = bench.by_hand("Soon").await?;
    for task in [&opened, &soon] {
        bench.act(task, "cancel", json!({})).await?;
        bench.server.until(task, |task| !task["workspace"]["cleanup_at"].is_null()).await?;
    }
    let version = bench.get(&opened).await?["version"].clone();
    bench.post(&opened, "/transition", json!({ "to": "todo", "version": version })).await?;
    bench.again().await?;
    bench.cleaned(&soon).await?;
    let opened = bench.get(&opened).await?;
    assert_eq!(opened["workspace"]["status"], "scheduled");
    assert!(tree(&opened).join("README.md").exists(), "it was due first");
    // Work on it takes the planned removal back.
    let claim = json!({ "agent_id": "user", "version": opened["version"] });
    bench.post(&opened, "/claim", claim).await?;
    let kept = bench.server.until(&opened, is_ready).await?;
    assert!(kept["workspace"]["cleanup_at"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_s_own_word_goes_before_the_engine_s() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    let path = format!("/projects/{project}/workflow");
    let mut workflow = server.get(&path).await?["workflow"].clone();
    for state in workflow["states"].as_array_mut().into_iter().flatten() {
        match state["name"].as_str() {
            Some("done") => state["cleanup"] = json!("keep"),
            Some("cancelled") => state["cleanup"] = json!({ "delayed": { "seconds": 7200 } }),
            _ => {}
        }
    }
    let put = server.request(reqwest::Method::PUT, &path).json(&json!({ "workflow": workflow }));
    crate::forge::good(put.send().await?).await?;
    let bench = Bench { sandbox, server, project, agent };
    let done = bench.by_hand("Kept").await?;
    let version = bench.get(&done).await?["version"].clone();
    bench.post(&done, "/transition", json!({ "to": "done", "version": version })).await?;
    assert_eq!(bench.step(&done, "cleanup_workspace_now").await?["outcome"], "skipped");
    let done = bench.get(&done).await?;
    assert_eq!((done["workspace"]["status"].as_str(), tree(&done).exists()), (Some("active"), true));
    let given_up = bench.by_hand("Given up").await?;
    bench.act(&given_up, "cancel", json!({})).await?;
    let due = bench.server.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    let hours = (millis(&due["workspace"]["cleanup_at"]) - millis(&due["status_since"])) as f64 / 3_600_000.0;
    assert!((hours - 2.0).abs() < 0.1, "{hours}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_worktree_stays_and_a_repository_inside_is_kept_when_it_goes() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Stays").await?;
    let nested = tree(&task).join("nested");
    forge_testkit::Repository::create(&nested, &[("only.txt", "only here")])?;
    bench.act(&task, "cancel", json!({})).await?;
    let task = bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let remove = format!("/tasks/{}/workspace/remove", text(&task, "id"));
    // Somebody else changes it now.
    let mut other = bystander(bench.sandbox.dir.path())?;
    foreign_lock(&task, other.id())?;
    let (status, body) = bench.refused(&remove, json!({})).await?;
    assert_eq!(status, 409, "{body}");
    assert!(body.to_string().contains("somebody-else"), "{body}");
    assert!(tree(&task).exists());
    drop(other.stdin.take());
    other.wait()?;
    let gone = bench.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    let kept = bench.sandbox.repo.git(&["rev-list", "--all", "--objects"])?;
    assert!(kept.contains("nested/only.txt"), "{kept}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_removal_is_an_error_of_the_worktree_not_of_the_merge() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.started("Done", &[EDIT]).await?;
    let review = bench.server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    // A shell of the user's stands in it.
    let mut shell = bystander(&tree(&review))?;
    bench.post(&task, "/review/approve", json!({})).await?;
    let done = bench.server.until(&task, |task| task["workspace"]["status"] == "error").await?;
    assert_eq!(done["status"], "done");
    assert_eq!(bench.sandbox.repo.show("main", "done.txt").as_deref(), Some("done"));
    let error = text(&done["workspace"], "error");
    assert!(error.contains(&shell.id().to_string()), "{error}");
    let minutes =
        (millis(&done["workspace"]["cleanup_at"]) - millis(&done["workspace"]["updated_at"])) / 60_000;
    assert_eq!(minutes, 5);
    let again = bench.refused(&format!("/tasks/{}/workspace/remove", text(&task, "id")), json!({})).await?;
    assert_eq!((again.0, again.1["code"].as_str()), (409, Some("in_use")));
    let later = bench.get(&task).await?["workspace"].clone();
    assert_eq!((millis(&later["cleanup_at"]) - millis(&later["updated_at"])) / 60_000, 10, "later and later");
    drop(shell.stdin.take());
    shell.wait()?;
    let gone = bench.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_whose_git_file_leads_elsewhere_goes_and_that_repository_is_left_alone() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Led astray").await?;
    let other = forge_testkit::Repository::create(&bench.sandbox.dir.path().join("other"), &[("a", "a")])?;
    let refs = other.git(&["for-each-ref"])?;
    std::fs::write(tree(&task).join(".git"), format!("gitdir: {}\n", other.path().join(".git").display()))?;
    bench.act(&task, "cancel", json!({})).await?;
    bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    bench.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!(other.git(&["for-each-ref"])?, refs, "not even a backup was written there");
    nothing_is_left(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_tree_goes_too() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Read-only").await?;
    let deep = tree(&task).join("node_modules/pkg");
    std::fs::create_dir_all(&deep)?;
    std::fs::write(deep.join("file"), "x")?;
    std::fs::set_permissions(&deep, std::fs::Permissions::from_mode(0o500))?;
    bench.act(&task, "cancel", json!({})).await?;
    bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    bench.post(&task, "/workspace/remove", json!({})).await?;
    nothing_is_left(&task).await
}

/// Files of another user, as a container leaves them, and folders that nobody may write to.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_files_go_too_and_what_they_hold_is_kept() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Foreign").await?;
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
    bench.act(&task, "cancel", json!({})).await?;
    bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    let gone = bench.post(&task, "/workspace/remove", json!({})).await?;
    assert_eq!((gone["status"].as_str(), &gone["error"]), (Some("cleaned"), &Value::Null));
    assert!(!tree(&task).exists());
    let commit = text(&bench.backups(&task).await?[0], "commit");
    for file in ["locked/file", "foreign/file"] {
        assert_eq!(bench.sandbox.repo.show(&commit, file).as_deref(), Some("made by others"), "{file}");
    }
    assert_eq!(bench.worktrees()?, Vec::<String>::new());
    nothing_is_left(&task).await
}

/// Until nothing waits to be deleted where a worktree was.
async fn nothing_is_left(task: &Value) -> Result<()> {
    let folder = tree(task).with_file_name("");
    let deadline = std::time::Instant::now() + crate::forge::PATIENCE;
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
async fn a_merged_branch_goes_when_the_project_asks_and_no_other() -> Result<()> {
    let settings = json!({ "auto_approve": true, "delete_merged_branches": true, "merge_config": { "strategy": "squash" } });
    let bench = Bench::new(settings).await?;
    let merged = bench.started("Merged", &[EDIT]).await?;
    bench.state(&merged, "done").await?;
    bench.cleaned(&merged).await?;
    assert!(!bench.branch(&format!("forge/{}", text(&merged, "id"))), "contained by its tree");
    let diff = bench.server.get(&format!("/tasks/{}/diff", text(&merged, "id"))).await?;
    assert_eq!(diff["files"][0]["path"], "done.txt", "its work is still to be seen");
    let given_up = bench.by_hand("Given up").await?;
    std::fs::write(tree(&given_up).join("x"), "x")?;
    bench.act(&given_up, "cancel", json!({})).await?;
    bench.server.until(&given_up, |task| task["workspace"]["status"] == "scheduled").await?;
    bench.post(&given_up, "/workspace/remove", json!({})).await?;
    assert!(bench.branch(&format!("forge/{}", text(&given_up, "id"))), "nobody merged it");
    // Done by a person's word: the target has nothing of it.
    let by_hand = bench.by_hand("By hand").await?;
    std::fs::write(tree(&by_hand).join("x"), "x")?;
    for args in [&["add", "x"][..], &["commit", "-qm", "not merged"]] {
        let mut git = std::process::Command::new("git");
        let ended = git.args(args).current_dir(tree(&by_hand)).envs(forge_testkit::HERMETIC_GIT).status()?;
        assert!(ended.success());
    }
    let version = bench.get(&by_hand).await?["version"].clone();
    bench.post(&by_hand, "/transition", json!({ "to": "done", "version": version })).await?;
    bench.cleaned(&by_hand).await?;
    assert!(bench.branch(&format!("forge/{}", text(&by_hand, "id"))), "its commits are nowhere else");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_branch_that_somebody_has_checked_out_stays() -> Result<()> {
    let bench = Bench::new(json!({ "delete_merged_branches": true })).await?;
    let task = bench.started("Merged", &[EDIT]).await?;
    bench.server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let branch = format!("forge/{}", text(&task, "id"));
    let elsewhere = bench.sandbox.dir.path().join("elsewhere");
    bench.sandbox.repo.git(&["worktree", "add", "--force", &elsewhere.to_string_lossy(), &branch])?;
    bench.post(&task, "/review/approve", json!({})).await?;
    bench.state(&task, "done").await?;
    bench.cleaned(&task).await?;
    assert!(bench.branch(&branch));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_put_back_unless_it_would_overwrite() -> Result<()> {
    let bench = Bench::new(json!({})).await?;
    let task = bench.by_hand("Come back").await?;
    std::fs::write(tree(&task).join("half.txt"), "half")?;
    bench.act(&task, "cancel", json!({})).await?;
    bench.server.until(&task, |task| task["workspace"]["status"] == "scheduled").await?;
    bench.post(&task, "/workspace/remove", json!({})).await?;
    let commit = text(&bench.backups(&task).await?[0], "commit");
    let restore = format!("/tasks/{}/backups/restore", text(&task, "id"));
    let (status, body) = bench.refused(&restore, json!({ "commit": commit })).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workspace_missing")));
    let body = json!({ "to": "todo", "version": bench.get(&task).await?["version"] });
    bench.post(&task, "/transition", body).await?;
    let claim = json!({ "agent_id": "user", "version": bench.get(&task).await?["version"] });
    bench.post(&task, "/claim", claim).await?;
    let back = bench.server.until(&task, is_ready).await?;
    bench.server.post(&restore, json!({ "commit": commit })).await?;
    assert_eq!(std::fs::read_to_string(tree(&back).join("half.txt"))?, "half");
    std::fs::write(tree(&back).join("half.txt"), "mine")?;
    let (status, body) =
        refused(bench.server.request(reqwest::Method::POST, &restore).json(&json!({ "commit": commit })))
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
