//! Submodules and embedded repositories: an unpushed commit or an unlisted repository does not land, whichever way
//! a task takes to the merge.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text, with},
    script,
};
use serde_json::{Value, json};

/// Makes an unpushed commit in the submodule.
const UNPUSHED: &str =
    "run cd lib && echo two > lib.txt && git -c user.name=a -c user.email=a@b commit -qam two";

/// A board whose repository has the submodule `lib`.
struct SubmoduleFixture {
    board: Board,
    pinned: String,
}

impl SubmoduleFixture {
    async fn new(settings: Value) -> Result<Self> {
        let (board, _, pinned) = Board::with_library(settings).await?;
        Ok(Self { board, pinned })
    }

    /// A task that a person works on, and its worktree.
    async fn manual_task(&self) -> Result<(Value, PathBuf)> {
        let board = &self.board;
        let task = board.engine.task(&board.project, json!({})).await?;
        board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
        let ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
        let ready = board.engine.until(&task, ready).await?;
        Ok((task, PathBuf::from(text(&ready["workspace"], "path"))))
    }

    fn landed(&self) -> Result<String> {
        self.board.folder.repo.git(&["rev-parse", "main:lib"])
    }
}

fn git(folder: &Path, args: &[&str]) -> Result<String> {
    let mut git = std::process::Command::new("git");
    let output = git.args(args).current_dir(folder).envs(forge_testkit::HERMETIC_GIT).output()?;
    ensure!(output.status.success(), "git {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn ended(task: &Value) -> bool {
    is("done")(task) || is("blocked")(task)
}

#[tokio::test(flavor = "multi_thread")]
async fn unpushed_submodule_moved_to_the_merge_by_hand_blocks_until_it_is_pushed() -> Result<()> {
    let fixture = SubmoduleFixture::new(json!({})).await?;
    let board = &fixture.board;
    let (task, tree) = fixture.manual_task().await?;
    std::fs::write(tree.join("lib/lib.txt"), "two\n")?;
    git(&tree.join("lib"), &["commit", "-qam", "two"])?;
    let own = git(&tree.join("lib"), &["rev-parse", "HEAD"])?;
    board.move_to(&task, "merging").await?;
    for _ in 0..2 {
        let blocked = board.engine.until(&task, ended).await?;
        assert_eq!(blocked["error_annotation"]["type"], "submodule_not_pushed", "{blocked:#}");
        assert_eq!(fixture.landed()?, fixture.pinned);
        board.act(&task, "actions/retry", json!({})).await?;
    }
    board.engine.until(&task, ended).await?;
    git(&tree.join("lib"), &["push", "-q", "origin", "HEAD:refs/heads/next"])?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(fixture.landed()?, own);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unpushed_submodule_is_reported_to_the_agent_once_and_cannot_be_approved() -> Result<()> {
    for (retries, runs) in [(2, 2), (0, 1)] {
        let fixture = SubmoduleFixture::new(json!({})).await?;
        let board = &fixture.board;
        let description = format!(
            "{}\n{}",
            script(&[UNPUSHED]),
            script(&["say I leave it"]).replace("forge-script", "forge-script attempt=2")
        );
        let budget = json!({ "task_state_config": { "retry_budgets": { "review": retries } } });
        let task = board.task(&[], with(json!({ "description": description }), &budget)).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, ended).await?;
        let trouble = &blocked["error_annotation"];
        assert_eq!(trouble["type"], "submodule_not_pushed", "{retries}: {blocked:#}");
        assert_eq!(trouble["details"]["submodules"][0]["path"], "lib", "{trouble:#}");
        let offers: Vec<String> =
            blocked["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect();
        assert!(!offers.contains(&"approve".to_owned()), "{offers:?}");
        assert_eq!(board.runs(&task).await?.len(), runs, "{retries}");
        assert_eq!(fixture.landed()?, fixture.pinned);
        let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
        let first = reviews.first().context("no review")?;
        assert!(text(first, "reason").contains("is on no branch of its remote: push it"), "{first:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn embedded_repository_committed_by_hand_does_not_land_as_a_link() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.engine.task(&board.project, json!({})).await?;
    board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    let ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
    let tree = PathBuf::from(text(&board.engine.until(&task, ready).await?["workspace"], "path"));
    git(&tree, &["init", "-q", "inner"])?;
    std::fs::write(tree.join("inner/file"), "inner\n")?;
    git(&tree.join("inner"), &["add", "file"])?;
    git(&tree.join("inner"), &["commit", "-qm", "inner"])?;
    git(&tree, &["add", "inner"])?;
    git(&tree, &["commit", "-qm", "a link"])?;
    board.move_to(&task, "merging").await?;
    let blocked = board.engine.until(&task, ended).await?;
    assert_eq!(blocked["error_annotation"]["type"], "embedded_repository", "{blocked:#}");
    assert_eq!(board.folder.repo.git(&["ls-tree", "main", "inner"])?, "");
    board.act(&task, "actions/add_embedded?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "inner/file").as_deref(), Some("inner"));
    Ok(())
}

/// The folder is missing but the branch exists, so the links of its commit are checked all the same.
#[tokio::test(flavor = "multi_thread")]
async fn unpushed_submodule_whose_worktree_was_deleted_does_not_land() -> Result<()> {
    let fixture = SubmoduleFixture::new(json!({})).await?;
    let board = &fixture.board;
    let (task, tree) = fixture.manual_task().await?;
    std::fs::write(tree.join("lib/lib.txt"), "two\n")?;
    git(&tree.join("lib"), &["commit", "-qam", "two"])?;
    git(&tree, &["commit", "-qam", "a link"])?;
    std::fs::remove_dir_all(&tree)?;
    board.move_to(&task, "merging").await?;
    let blocked = board.engine.until(&task, ended).await?;
    assert_ne!(blocked["status"], "done", "{blocked:#}");
    assert_eq!(fixture.landed()?, fixture.pinned);
    Ok(())
}

/// The agent leaves an uncommitted file in the submodule.
#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_file_in_a_submodule_is_reported_with_a_remedy() -> Result<()> {
    for checks in [json!([]), json!(["true"])] {
        let fixture = SubmoduleFixture::new(json!({ "review_config": { "ci_steps": checks } })).await?;
        let board = &fixture.board;
        let description = format!(
            "{}\n{}",
            script(&["run echo x > lib/loose && echo own > own"]),
            script(&["say I leave it"]).replace("forge-script", "forge-script attempt=2")
        );
        let task = board.task(&[], json!({ "description": description })).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, ended).await?;
        let trouble = &blocked["error_annotation"];
        assert_eq!(trouble["type"], "submodule_not_pushed", "{blocked:#}");
        assert!(text(trouble, "message").contains("are not committed there"), "{trouble:#}");
        assert_eq!(board.runs(&task).await?.len(), 2, "the agent was told once");
        let tree = PathBuf::from(text(&blocked["workspace"], "path"));
        std::fs::remove_file(tree.join("lib/loose"))?;
        board.act(&task, "actions/retry?wait=none", json!({})).await?;
        board.engine.until(&task, is("done")).await?;
        assert_eq!(board.folder.repo.show("main", "own").as_deref(), Some("own"));
    }
    Ok(())
}
