//! Actions for failed checks: with a spent budget, without progress, and after a conflict was resolved.

use anyhow::Result;
use forge_model::task::AnnotationType;
use forge_testkit::script;
use serde_json::json;

use super::{ActionFixture, BlockCase, attempts, block_case, limits};

#[tokio::test(flavor = "multi_thread")]
async fn review_budget_exhausted_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let settings = json!({ "review_config": { "ci_steps": [fixture.cause_is_gone()] } });
    let project = fixture.board.project("checked", settings, json!({})).await?;
    let told = script(&["append a <<< \"x\\n\""]);
    let spent = limits(&json!({ "review": 0 }));
    let case = BlockCase { retried: "review", ..block_case(AnnotationType::ReviewBudgetExhausted) };
    fixture.take_every_action(&case, async || fixture.started(&project, &told, spent.clone()).await).await
}

/// The retry fails with the same failure.
#[tokio::test(flavor = "multi_thread")]
async fn review_stagnant_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let settings = json!({
        "review_config": { "ci_steps": [fixture.cause_is_gone()] }, "innerLoop": { "stopOnStagnation": true },
    });
    let project = fixture.board.project("stuck", settings, json!({})).await?;
    let told = script(&["append a <<< \"x\\n\""]);
    let case = BlockCase { retried: "review", ..block_case(AnnotationType::ReviewStagnant) };
    fixture.take_every_action(&case, async || fixture.started(&project, &told, json!({})).await).await
}

/// The first review passes, the merge conflicts, the agent resolves it, and then the checks fail.
#[tokio::test(flavor = "multi_thread")]
async fn ci_failed_after_merge_fix_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let check = format!("{} || ! grep -q fixed c", fixture.cause_is_gone());
    let project = fixture
        .board
        .project("fixed", json!({ "review_config": { "ci_steps": [check] } }), json!({}))
        .await?;
    let repo = fixture.board.folder.repo.path().display().to_string();
    let first = format!(
        "run cd '{repo}' && echo main $FORGE_TASK_ID >c && git add c && git commit -qm main\nedit c <<< \"task\\n\""
    );
    let fix = "run git rebase -q --strategy-option=ours main\nrun echo fixed $$ >c";
    let told = attempts(&first, 2, fix);
    let case = BlockCase { retried: "review", ..block_case(AnnotationType::CiFailedAfterMergeFix) };
    fixture.take_every_action(&case, async || fixture.started(&project, &told, json!({})).await).await
}
