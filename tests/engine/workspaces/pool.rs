//! The pool of finished worktrees that later tasks reuse.

use anyhow::Result;
use forge_testkit::{LocalEngine, board::text};
use forge_tests::patience::until;
use serde_json::{Value, json};

use super::fixture::{WorkspaceFixture, tree};

const EDIT: &[&str] = &["edit done.txt <<< \"done\\n\""];

async fn finished(fixture: &WorkspaceFixture, title: &str) -> Result<Value> {
    let task = fixture.started(title, EDIT).await?;
    fixture.state(&task, "done").await?;
    fixture.cleaned(&task).await
}

fn pool(fixture: &WorkspaceFixture) -> Vec<std::path::PathBuf> {
    let pool = fixture.root().join("repo/.pool");
    let entries = std::fs::read_dir(pool).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.join(".git").exists()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_worktree_is_pooled_and_reused_clean() -> Result<()> {
    let settings = json!({ "auto_approve": true, "workspace_reuse": "with_ignored", "setup": ["mkdir -p cache; date > cache/warm"] });
    let mut fixture = WorkspaceFixture::with(settings, &[("cache/cold", "in the checkout only")]).await?;
    let first = fixture.task("First", &[]).await?;
    let claim = json!({ "agent_id": "user", "version": first["version"] });
    fixture.post(&first, "/claim", claim).await?;
    let first = fixture.engine.until(&first, super::fixture::is_ready).await?;
    std::fs::write(tree(&first).join("untracked.txt"), "left behind")?;
    let warm = |task: &Value| -> Result<u64> {
        Ok(std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(tree(task).join("cache/warm"))?))
    };
    let inode = warm(&first)?;
    fixture.act(&first, "cancel", json!({})).await?;
    fixture.engine.until(&first, |task| task["workspace"]["status"] == "scheduled").await?;
    let gone = fixture.post(&first, "/workspace/remove", json!({})).await?;
    assert_eq!(gone["status"], "cleaned");
    assert!(!tree(&first).exists(), "its path is gone as promised");
    assert_eq!(fixture.backups(&first).await?.len(), 1, "and so are not its changes");
    assert_eq!(pool(&fixture).len(), 1);
    let disk = fixture.until_items("/workspaces/disk", |all| all[0]["slots"] == 1).await?;
    assert!(disk[0]["slots_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    // The pool outlives the engine.
    fixture.restart().await?;
    assert_eq!(pool(&fixture).len(), 1);
    let settings = format!("/projects/{}/settings", fixture.project);
    fixture.engine.patch(&settings, json!({ "setup": null })).await?;
    let second = fixture.manual_task("Second").await?;
    assert_eq!(pool(&fixture).len(), 0);
    assert!(!tree(&second).join("untracked.txt").exists());
    let status = std::process::Command::new("git")
        .arg("-C")
        .arg(tree(&second))
        .args(["status", "--porcelain"])
        .envs(forge_testkit::HERMETIC_GIT)
        .output()?;
    assert_eq!(String::from_utf8(status.stdout)?, "", "nothing but what is ignored");
    assert_eq!(warm(&second)?, inode, "what git ignores is still warm");
    let head = std::fs::read_to_string(tree(&second).join("README.md"))?;
    assert_eq!(head, "# Sample\n");
    assert_eq!(fixture.worktrees()?, [tree(&second).to_string_lossy()]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pool_keeps_at_most_its_limit_and_is_empty_when_disabled() -> Result<()> {
    let fixture = WorkspaceFixture::new(
        json!({ "auto_approve": true, "workspace_reuse": "tracked", "workspace_pool_size": 1 }),
    )
    .await?;
    let both = [fixture.started("One", EDIT).await?, fixture.started("Two", EDIT).await?];
    for task in &both {
        fixture.state(task, "done").await?;
        fixture.cleaned(task).await?;
    }
    assert_eq!(pool(&fixture).len(), 1);
    let settings = format!("/projects/{}/settings", fixture.project);
    let off = json!({ "workspace_reuse": "off" });
    fixture.engine.patch(&settings, off).await?;
    fixture.until_items("/workspaces/disk", |all| all[0]["slots"] == 0).await?;
    assert_eq!((pool(&fixture).len(), fixture.worktrees()?.len()), (0, 0));
    finished(&fixture, "Three").await?;
    assert_eq!((pool(&fixture).len(), fixture.worktrees()?.len()), (0, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_of_a_kill_in_the_pool_are_removed_at_start() -> Result<()> {
    let mut fixture =
        WorkspaceFixture::new(json!({ "auto_approve": true, "workspace_reuse": "tracked" })).await?;
    let done = finished(&fixture, "Done").await?;
    fixture.engine.stop().await;
    let aside = tree(&done).with_file_name(".trash-of-a-kill");
    let taken = fixture.root().join("repo/.pool/taken-by-a-kill");
    for left in [&aside, &taken] {
        std::fs::create_dir_all(left.join("deep"))?;
        std::fs::write(left.join("deep/file"), "x")?;
    }
    fixture.engine = LocalEngine::start(fixture.folder.dir.path(), |_| {}).await?;
    let gone = async || Ok((!aside.exists() && !taken.exists()).then_some(()));
    until("the end of what a kill left", gone).await?;
    assert_eq!(pool(&fixture).len(), 1, "the finished one is there for the next task");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pooled_worktrees_are_removed_with_their_project() -> Result<()> {
    let fixture =
        WorkspaceFixture::new(json!({ "auto_approve": true, "workspace_reuse": "tracked" })).await?;
    finished(&fixture, "One").await?;
    assert_eq!(pool(&fixture).len(), 1);
    let name = text(&fixture.engine.get(&format!("/projects/{}", fixture.project)).await?, "name");
    let path = format!("/projects/{}?confirm={name}", fixture.project);
    fixture.engine.delete(&path).await?;
    assert_eq!((pool(&fixture).len(), fixture.worktrees()?.len()), (0, 0));
    assert_eq!(fixture.items("/workspaces/orphans").await?, Vec::<Value>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disk_cap_crossing_is_reported_once() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({ "workspace_disk_cap_mib": 1 })).await?;
    let task = fixture.manual_task("Big").await?;
    let told = |items: &[Value]| items.iter().filter(|item| item["kind"] == "disk").count();
    fixture.until_items("/workspaces/disk", |all| all[0]["unmeasured"] == 0).await?;
    assert_eq!(told(&fixture.items("/notifications").await?), 0);
    std::fs::write(tree(&task).join("big"), vec![7_u8; 3 * 1024 * 1024])?;
    let measure = async || -> Result<Value> { fixture.engine.post("/workspaces/measure", json!({})).await };
    measure().await?;
    let disk = fixture.until_items("/workspaces/disk", |all| all[0]["over"] == true).await?;
    assert_eq!(disk[0]["cap_bytes"], 1024 * 1024);
    let notices = fixture.until_items("/notifications", |items| told(items) == 1).await?;
    assert_eq!(notices[0]["task_id"], task["id"]);
    std::fs::write(tree(&task).join("bigger"), vec![7_u8; 1024 * 1024])?;
    measure().await?;
    fixture.until_items("/workspaces/disk", |all| all[0]["tasks_bytes"].as_u64() > Some(4_000_000)).await?;
    assert_eq!(told(&fixture.items("/notifications").await?), 1, "once per crossing");
    for file in ["big", "bigger"] {
        std::fs::remove_file(tree(&task).join(file))?;
    }
    measure().await?;
    fixture.until_items("/workspaces/disk", |all| all[0]["over"] == false).await?;
    std::fs::write(tree(&task).join("big"), vec![7_u8; 3 * 1024 * 1024])?;
    measure().await?;
    fixture.until_items("/notifications", |items| told(items) == 2).await?;
    Ok(())
}
