//! Backups of the database, and recovery from a damaged or missing one, over the command line and HTTP.

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answers::good;
use forge_testkit::Folder;

fn tasks(sandbox: &Folder) -> Result<usize> {
    let list = sandbox.run(&["task", "list", "--json"])?.json()?;
    Ok(list["items"].as_array().context("no items")?.len())
}

#[test]
fn backup_is_made_and_restored_without_an_engine() -> Result<()> {
    let sandbox = Folder::new()?;
    sandbox.run(&["project", "add", sandbox.repo.path().to_str().context("a path")?])?;
    sandbox.run(&["task", "create", "Kept"])?;
    let made = sandbox.run(&["backup", "create", "--json"])?.json()?;
    let name = made["name"].as_str().context("no name")?;
    sandbox.run(&["task", "create", "Later"])?;
    assert_eq!(tasks(&sandbox)?, 2);
    let unknown = sandbox.run(&["backup", "restore", "../forge"])?;
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    let restored = sandbox.run(&["backup", "restore", name])?;
    assert_eq!(restored.code, Some(0), "{restored:?}");
    assert_eq!(tasks(&sandbox)?, 1);
    assert!(sandbox.data_dir().join("set-aside/1/forge.db").exists(), "the former database is gone");
    Ok(())
}

#[test]
fn damaged_or_emptied_database_is_kept_and_the_newest_good_copy_is_named() -> Result<()> {
    let sandbox = Folder::new()?;
    sandbox.run(&["project", "add", sandbox.repo.path().to_str().context("a path")?])?;
    sandbox.run(&["task", "create", "Kept"])?;
    let made = sandbox.run(&["backup", "create", "--json"])?.json()?;
    let name = made["name"].as_str().context("no name")?;
    let database = sandbox.data_dir().join("forge.db");
    for damage in [vec![b'x'; 65536], Vec::new()] {
        for log in ["forge.db-wal", "forge.db-shm"] {
            let _ = std::fs::remove_file(sandbox.data_dir().join(log));
        }
        std::fs::write(&database, &damage)?;
        let refused = sandbox.run(&["task", "list"])?;
        assert!(refused.stderr.starts_with("database_damaged:"), "{refused:?}");
        let doctor = sandbox.run(&["doctor"])?;
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert!(doctor.stdout.contains(&format!("forge backup restore {name}")), "{doctor:?}");
        assert_eq!(std::fs::read(&database)?, damage, "the damaged file was changed");
        let restored = sandbox.run(&["backup", "restore", name])?;
        assert_eq!(restored.code, Some(0), "{restored:?}");
        assert_eq!(tasks(&sandbox)?, 1);
    }
    Ok(())
}

#[tokio::test]
async fn backup_of_a_running_engine_is_restored_at_its_next_start() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let path = sandbox.repo.path().to_str().context("a path")?;
    let project = server.post("/projects", json!({ "repo_path": path })).await?;
    let made = server.post("/backups", json!({})).await?;
    assert_eq!(made["reason"], "manual");
    let tasks = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
    server.post(&tasks, json!({ "title": "Later" })).await?;
    let listed = server.get("/backups").await?;
    assert_eq!(listed["items"][0]["name"], made["name"]);
    let restore = format!("/backups/{}/restore", made["name"].as_str().context("no name")?);
    let asked = server.post(&restore, json!({})).await?;
    assert_eq!(asked["restart_required"], true);
    let status = server.get("/storage").await?;
    assert_eq!(status["restore_pending"], made["name"]);
    assert_eq!(server.get(&tasks).await?["items"].as_array().map(Vec::len), Some(1));
    server.terminate().await?;
    let server = sandbox.serve()?;
    assert_eq!(server.get(&tasks).await?["items"], json!([]));
    assert_eq!(server.get("/storage").await?["restore_pending"], Value::Null);
    Ok(())
}

#[tokio::test]
async fn storage_reports_its_state_and_accepts_settings() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let health: Value = server.bare(Method::GET, "/healthz").send().await?.json().await?;
    assert_eq!(health["status"], "ok");
    assert_eq!(health["storage"]["writable"], true);
    assert!(health["storage"]["free_bytes"].is_u64(), "{health}");
    let status = server.get("/storage").await?;
    assert_eq!(status["retention"], json!({ "logs_days": 90, "events_days": 90 }));
    let change = json!({ "retention": { "logs_days": 30, "events_days": 7 } });
    let changed = good(server.request(Method::PATCH, "/storage").json(&change).send().await?).await?;
    assert_eq!(changed["retention"], change["retention"]);
    let usage = server.get("/storage/usage").await?;
    assert!(usage["database_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{usage}");
    Ok(())
}
