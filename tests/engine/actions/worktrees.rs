//! Actions for worktrees that cannot be created or set up, or are lost with their branch.

use anyhow::Result;
use forge_model::task::AnnotationType;
use forge_testkit::{board::text, script};
use serde_json::json;

use super::{ActionFixture, attempts, block_case};

const EDIT: &str = "append a <<< \"x\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn environment_not_ready_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let settings = json!({ "setup": [fixture.cause_is_gone()] });
    let project = fixture.board.project("unready", settings, json!({})).await?;
    let told = script(&[EDIT]);
    let case = block_case(AnnotationType::EnvironmentNotReady);
    fixture.take_every_action(&case, async || fixture.started(&project, &told, json!({})).await).await
}

/// The base branch does not exist yet.
#[tokio::test(flavor = "multi_thread")]
async fn workspace_error_actions_have_their_effect() -> Result<()> {
    let mut fixture = ActionFixture::new().await?;
    fixture.also = Some(|repo, mended| {
        if mended {
            repo.git(&["branch", "later", "main"])?;
        } else if repo.git(&["rev-parse", "--verify", "refs/heads/later"]).is_ok() {
            repo.git(&["branch", "-D", "later"])?;
        }
        Ok(())
    });
    let told = script(&[EDIT]);
    let target = json!({ "merge_config": { "target_branch": "later" } });
    let case = block_case(AnnotationType::WorkspaceError);
    fixture
        .take_every_action(&case, async || {
            fixture.started(&fixture.board.project, &told, target.clone()).await
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_reset_required_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let told = attempts("error auth who are you", 2, EDIT);
    let failed = block_case(AnnotationType::ExecutorFailed);
    let case = block_case(AnnotationType::WorkspaceResetRequired);
    let lost = async || {
        let task = fixture.started(&fixture.board.project, &told, json!({})).await?;
        let task = fixture.wait_until_blocked(&task, &failed).await?;
        let repo = &fixture.board.folder.repo;
        std::fs::remove_dir_all(text(&task["workspace"], "path"))?;
        repo.git(&["worktree", "prune"])?;
        repo.git(&["branch", "-D", &text(&task["workspace"], "branch")])?;
        fixture.board.act(&task, "actions/retry", json!({})).await?;
        Ok(task)
    };
    fixture.take_every_action(&case, lost).await
}
