//! Worktrees that cannot be made, cannot be made ready, or are lost with their branch.

use anyhow::Result;
use forge_model::task::AnnotationType;
use serde_json::json;

use super::{Stage, attempts, trouble};
use crate::forge::{script, text};

const EDIT: &str = "append a <<< \"x\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn environment_not_ready_offers_lead_where_they_say() -> Result<()> {
    let stage = Stage::new().await?;
    let settings = json!({ "setup": [stage.is_mended()] });
    let project = stage.board.project("unready", settings, json!({})).await?;
    let told = script(&[EDIT]);
    let case = trouble(AnnotationType::EnvironmentNotReady);
    stage.every_way_out(&case, async || stage.started(&project, &told, json!({})).await).await
}

/// The branch that the work is to start from is not there yet.
#[tokio::test(flavor = "multi_thread")]
async fn workspace_error_offers_lead_where_they_say() -> Result<()> {
    let mut stage = Stage::new().await?;
    stage.also = Some(|repo, mended| {
        if mended {
            repo.git(&["branch", "later", "main"])?;
        } else if repo.git(&["rev-parse", "--verify", "refs/heads/later"]).is_ok() {
            repo.git(&["branch", "-D", "later"])?;
        }
        Ok(())
    });
    let told = script(&[EDIT]);
    let target = json!({ "merge_config": { "target_branch": "later" } });
    let case = trouble(AnnotationType::WorkspaceError);
    stage
        .every_way_out(&case, async || stage.started(&stage.board.project, &told, target.clone()).await)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn workspace_reset_required_offers_lead_where_they_say() -> Result<()> {
    let stage = Stage::new().await?;
    let told = attempts("error auth who are you", 2, EDIT);
    let failed = trouble(AnnotationType::ExecutorFailed);
    let case = trouble(AnnotationType::WorkspaceResetRequired);
    let lost = async || {
        let task = stage.started(&stage.board.project, &told, json!({})).await?;
        let task = stage.in_trouble(&task, &failed).await?;
        let repo = &stage.board.sandbox.repo;
        std::fs::remove_dir_all(text(&task["workspace"], "path"))?;
        repo.git(&["worktree", "prune"])?;
        repo.git(&["branch", "-D", &text(&task["workspace"], "branch")])?;
        stage.board.act(&task, "actions/retry", json!({})).await?;
        Ok(task)
    };
    stage.every_way_out(&case, lost).await
}
