//! The user's checkout of the target: it is updated when possible and never damaged.

use anyhow::Result;
use forge_testkit::Sandbox;
use serde_json::json;

async fn sandbox() -> Result<Sandbox> {
    Sandbox::new(json!({ "auto_approve": true })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_with_unrelated_local_changes_keeps_them_and_updates_checkout() -> Result<()> {
    let sandbox = sandbox().await?;
    sandbox.repo.write("README.md", "# Mine, not committed\n")?;
    sandbox.repo.write("notes.txt", "untracked\n")?;
    let task = sandbox.task("Elsewhere", &["edit src/b.txt <<< \"new\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;
    let read = |name: &str| std::fs::read_to_string(sandbox.repo.path().join(name));
    assert_eq!(read("src/b.txt")?, "new\n");
    assert_eq!(read("README.md")?, "# Mine, not committed\n");
    assert_eq!(read("notes.txt")?, "untracked\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_with_conflicting_local_changes_waits_until_they_are_gone() -> Result<()> {
    let sandbox = sandbox().await?;
    sandbox.repo.write("src/a.txt", "mine\n")?;
    let before = sandbox.repo.git(&["rev-parse", "main"])?;
    let task = sandbox.task("In the way", &["append src/a.txt <<< \"four\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    let held = sandbox
        .wait(&task, "waiting", |task| task["waiting"].is_object() && task["status"] == "merging")
        .await?;
    assert_eq!(held["waiting"]["reason"], "target_checkout_dirty");
    assert_eq!(held["waiting"]["files"], json!(["src/a.txt"]));
    assert_eq!(sandbox.repo.git(&["rev-parse", "main"])?, before, "nothing moved");
    assert_eq!(std::fs::read_to_string(sandbox.repo.path().join("src/a.txt"))?, "mine\n");
    sandbox.repo.git(&["checkout", "--", "src/a.txt"])?;
    sandbox.reach(&task, "done").await?;
    assert_eq!(std::fs::read_to_string(sandbox.repo.path().join("src/a.txt"))?, "one\ntwo\nthree\nfour\n");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_into_target_without_checkout_moves_only_the_branch() -> Result<()> {
    let sandbox = sandbox().await?;
    sandbox.repo.git(&["checkout", "--quiet", "-b", "other"])?;
    let task = sandbox.task("Quietly", &["edit b.txt <<< \"b\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;
    assert!(sandbox.repo.show("main", "b.txt").is_some());
    assert!(!sandbox.repo.path().join("b.txt").exists());
    assert_eq!(sandbox.repo.git(&["status", "--porcelain"])?, "");
    Ok(())
}
