//! Creation of worktrees in phases that can be followed, stopped and repeated.

use std::{collections::HashSet, time::Duration};

use anyhow::Result;
use forge_testkit::board::{text, until_exists};
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, is_ready, tree};

#[tokio::test(flavor = "multi_thread")]
async fn worktree_files_and_setup_are_logged_in_order_in_one_log() -> Result<()> {
    let settings = json!({
        "copy_files": [{ "pattern": ".env" }, { "pattern": "shared/", "mode": "symlink" }],
        "setup": ["cat .env; echo port $FORGE_PORT_BASE", "echo two >&2"],
    });
    let fixture =
        WorkspaceFixture::with(settings, &[(".env", "SECRET=1"), ("shared/lib.txt", "lib")]).await?;
    let task = fixture.manual_task("Ready").await?;
    assert_eq!(std::fs::read_to_string(tree(&task).join(".env"))?, "SECRET=1");
    assert_eq!(std::fs::read_to_string(tree(&task).join("shared/lib.txt"))?, "lib");
    assert!(tree(&task).join("shared").is_symlink());
    let step = fixture.step(&task, "prepare_workspace").await?;
    assert_eq!((step["status"].as_str(), step["outcome"].as_str()), (Some("done"), Some("ok")));
    let log = fixture.log(&task, step["log_id"].as_str().unwrap_or_default()).await?;
    let port = task["workspace"]["port_base"].to_string();
    let places: Vec<Option<usize>> = [
        "worktree",
        "copy files",
        "copied 2 files",
        "setup 1 of 2",
        "SECRET=1",
        &format!("port {port}"),
        "setup 2 of 2",
        "two",
    ]
    .iter()
    .map(|said| log.find(*said))
    .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in:\n{log}");
    assert_eq!(fixture.folder.repo.git(&["status", "--porcelain"])?, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn running_setup_can_be_followed_stopped_and_repeated() -> Result<()> {
    let probe = WorkspaceFixture::new(json!({})).await?;
    let go = probe.folder.dir.path().join("go");
    let settings =
        json!({ "setup": ["echo begun >> runs.txt", format!("echo streaming; {}", until_exists(&go))] });
    let fixture = WorkspaceFixture::new(settings).await?;
    let task = fixture.task("Slow", &["say hello"]).await?;
    fixture.claim(&task).await?;
    let log_id = loop {
        let step = fixture.step(&task, "prepare_workspace").await;
        if let Ok(step) = step
            && let Some(id) = step["log_id"].as_str()
            && fixture.log(&task, id).await?.contains("streaming")
        {
            // What it says now, not what it said before the log was read.
            let step = fixture.step(&task, "prepare_workspace").await?;
            assert_eq!(step["status"], "running");
            assert!(
                step["reason"].as_str().is_some_and(|reason| reason.starts_with("setup 2 of 2")),
                "{step}"
            );
            break id.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    let now = fixture.get(&task).await?;
    assert_eq!(now["workspace"]["status"], "creating");
    assert_eq!(now["workspace"]["lock"]["execution_id"], log_id.as_str(), "set-up holds the lock");
    assert_ne!(now["workspace"]["lock"]["pid"], std::process::id(), "in the name of its own process");
    fixture.act(&task, "cancel", json!({})).await?;
    fixture.state(&task, "cancelled").await?;
    let runs = tree(&now).join("runs.txt");
    assert!(runs.exists(), "what is there is kept for a while");
    assert!(!super::fixture::lock_file(&now).exists(), "and nobody holds it");
    // The same task again: it is made to the end, in the same place.
    std::fs::write(&go, "")?;
    let body = json!({ "to": "todo", "version": fixture.get(&task).await?["version"] });
    fixture.post(&task, "/transition", body).await?;
    fixture.claim(&task).await?;
    let ready = fixture.engine.until(&task, |task| task["workspace"]["status"] == "active").await?;
    assert_eq!(tree(&ready), tree(&now));
    assert_eq!(std::fs::read_to_string(tree(&ready).join("runs.txt"))?.lines().count(), 2);
    assert_eq!(fixture.worktrees()?.len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_setup_blocks_with_its_output_and_can_be_retried() -> Result<()> {
    let fixture = WorkspaceFixture::new(
        json!({ "setup": ["echo before; test -e ../../../../mended || { echo missing >&2; exit 7; }"] }),
    )
    .await?;
    let task = fixture.started("Unready", &["say hello"]).await?;
    let blocked = fixture.state(&task, "blocked").await?;
    let trouble = &blocked["error_annotation"];
    assert_eq!(
        (trouble["type"].as_str(), trouble["evidence"]["exit_code"].as_i64()),
        (Some("environment_not_ready"), Some(7))
    );
    assert_eq!(trouble["evidence"]["output"], "before\nmissing");
    assert!(fixture.log(&task, &text(&trouble["evidence"], "log_id")).await?.contains("missing"));
    assert_eq!(blocked["workspace"]["status"], "creating");
    assert!(blocked["workspace"]["error"].as_str().is_some_and(|error| error.contains("exited with 7")));
    std::fs::write(fixture.folder.data_dir().join("mended"), "")?;
    fixture.act(&task, "retry", json!({})).await?;
    fixture.engine.until(&task, |task| task["workspace"]["status"] == "active").await?;
    let log = fixture.log(&task, &text(&trouble["evidence"], "log_id")).await?;
    assert_eq!(log.matches("setup 1 of 1").count(), 2, "it was run again: {log}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn file_that_cannot_be_copied_blocks_and_is_named() -> Result<()> {
    let settings = json!({ "copy_files": [{ "pattern": "*.secret" }] });
    let fixture = WorkspaceFixture::with(settings, &[("a.secret", "mine"), ("escape.secret", "x")]).await?;
    let escape = fixture.folder.repo.path().join("escape.secret");
    std::fs::remove_file(&escape)?;
    std::fs::write(fixture.folder.dir.path().join("outside"), "not yours")?;
    std::os::unix::fs::symlink(fixture.folder.dir.path().join("outside"), &escape)?;
    let ignored = std::fs::read_to_string(fixture.folder.repo.path().join(".gitignore"))?;
    assert!(ignored.contains("escape.secret"));
    let task = fixture.started("Escape", &["say hello"]).await?;
    let blocked = fixture.state(&task, "blocked").await?;
    let trouble = &blocked["error_annotation"];
    assert_eq!(trouble["type"], "environment_not_ready");
    let message = text(trouble, "message");
    assert!(message.contains("path_escape") && message.contains("escape.secret"), "{message}");
    assert!(!tree(&blocked).join("escape.secret").exists());
    Ok(())
}

/// Concurrent claims: no creation fails on a git lock, and no two tasks share ports.
#[tokio::test(flavor = "multi_thread")]
async fn thirty_concurrent_claims_each_get_a_worktree() -> Result<()> {
    let mut fixture = WorkspaceFixture::new(json!({ "max_concurrent": 30 })).await?;
    let new = json!({ "name": "Many", "adapter": "shell", "max_concurrent": 30,
        "config": { "command": forge_testkit::program("forge")?, "args": ["scripted-agent", "--prompt-file", "{prompt_file}"] } });
    fixture.agent = text(&fixture.engine.post("/agents", new).await?, "id");
    let mut tasks = Vec::new();
    for number in 0..30 {
        tasks.push(fixture.task(&format!("Task {number}"), &["say ready", "hang"]).await?);
    }
    let claims = tasks.iter().map(|task| fixture.claim(task));
    for claimed in futures::future::join_all(claims).await {
        claimed?;
    }
    let (mut ports, mut paths) = (HashSet::new(), HashSet::new());
    for task in &tasks {
        let live = fixture
            .engine
            .until(task, |task| task["live"].is_object() || task["status"] != "in_progress")
            .await?;
        assert_eq!(live["status"], "in_progress", "{live:#}");
        assert!(ports.insert(live["workspace"]["port_base"].as_u64()), "ports are its own");
        assert!(paths.insert(tree(&live)), "so is its folder");
    }
    assert_eq!(fixture.worktrees()?.len(), 30);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn git_lock_delays_creation_and_names_its_holder() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let task = fixture.task("Held up", &[]).await?;
    let branch = format!("forge/{}", text(&task, "id"));
    let lock = fixture.folder.repo.path().join(".git/refs/heads").join(format!("{branch}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap())?;
    let mut holder =
        std::process::Command::new("sleep").arg("600").stdout(std::fs::File::create(&lock)?).spawn()?;
    let claim = json!({ "agent_id": "user", "version": task["version"] });
    fixture.post(&task, "/claim", claim).await?;
    let held = fixture.engine.until(&task, |task| task["waiting"].is_object() || is_ready(task)).await?;
    let waiting = &held["waiting"];
    assert_eq!(waiting["reason"], "git_locked", "{held:#}");
    let message = text(waiting, "message");
    assert!(message.contains(&holder.id().to_string()) && message.contains("sleep"), "{message}");
    std::fs::remove_file(&lock)?;
    holder.kill()?;
    holder.wait()?;
    fixture.engine.until(&task, is_ready).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_other_tools_are_suggested_as_settings() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let imports = format!("/projects/{}/imports", fixture.project);
    assert_eq!(fixture.items(&imports).await?, Vec::<Value>::new());
    fixture.folder.repo.write(".worktreeinclude", ".env\n")?;
    fixture.folder.repo.write(".cursor/worktrees.json", r#"{ "setup-worktree": ["npm ci"] }"#)?;
    fixture.folder.repo.write("conductor.json", "{ not json")?;
    std::fs::write(fixture.folder.dir.path().join("secret.json"), "{}")?;
    std::os::unix::fs::symlink(
        fixture.folder.dir.path().join("secret.json"),
        fixture.folder.repo.path().join(".emdash.json"),
    )?;
    let offers = fixture.items(&imports).await?;
    let of =
        |source: &str| offers.iter().find(|offer| offer["source"] == source).cloned().unwrap_or_default();
    assert_eq!(of(".worktreeinclude")["copy_files"][0]["pattern"], ".env");
    assert_eq!(of(".cursor/worktrees.json")["setup"], json!(["npm ci"]));
    assert!(text(&of("conductor.json"), "error").contains("is not JSON"), "{offers:#?}");
    assert!(text(&of(".emdash.json"), "error").contains("not a regular file"), "{offers:#?}");
    Ok(())
}
