//! Actions for tasks that the workflow stops: blocked by hand or by a dependency, cascading, stuck, paused.

use anyhow::Result;
use forge_model::task::AnnotationType;
use forge_testkit::{Board, board::state, script};
use serde_json::{Value, json};

use super::{ActionFixture, BlockCase, attempts, block_case};

const EDIT: &str = "append a <<< \"x\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn manual_block_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let told = script(&[EDIT]);
    let case = block_case(AnnotationType::Manual);
    let blocked = async || {
        let new = json!({ "title": "Stop", "description": told, "roles": { "coder": fixture.board.agent } });
        let task = fixture.board.engine.task(&fixture.board.project, new).await?;
        fixture.board.move_to(&task, "blocked").await?;
        Ok(task)
    };
    fixture.take_every_action(&case, blocked).await
}

#[tokio::test(flavor = "multi_thread")]
async fn dependency_cancelled_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let case = block_case(AnnotationType::DependencyCancelled);
    let waiting = async || {
        let first = fixture.board.task(&[], json!({})).await?;
        let task = fixture.board.task(&[EDIT], json!({ "depends_on": [first["id"]] })).await?;
        fixture.board.act(&first, "actions/cancel", json!({})).await?;
        Ok(task)
    };
    fixture.take_every_action(&case, waiting).await
}

/// Four states in a row cascade; the fourth exceeds the limit.
#[tokio::test(flavor = "multi_thread")]
async fn cascade_limit_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let mut workflow = Board::workflow(|states| {
        state(states, "todo")["triggers"]["post"] = json!({ "to": "s1" });
        for (name, next) in [("s1", "s2"), ("s2", "s3"), ("s3", "s4"), ("s4", "s5"), ("s5", "done")] {
            states.push(json!({
                "name": name, "display_name": name, "kind": "custom", "column": "Posted", "role": "clerk",
                "hooks": { "after_enter": [{ "action": "auto_cascade_on_unassigned_role" }] },
                "triggers": { "accept": { "to": next } },
            }));
        }
    })?;
    let roles = json!([
        { "name": "coder", "display_name": "Coder" }, { "name": "reviewer", "display_name": "Reviewer" },
        { "name": "clerk", "display_name": "Clerk" },
    ]);
    workflow["roles"] = roles;
    let project = fixture.board.project("posted", json!({}), json!({ "workflow": workflow })).await?;
    let case = BlockCase { retried: "s4", ..block_case(AnnotationType::CascadeLimit) };
    let posted = async || {
        let new = json!({ "title": "Post", "description": script(&[EDIT]), "roles": { "coder": fixture.board.agent } });
        let task = fixture.board.engine.task(&project, new).await?;
        fixture.board.move_to(&task, "s1").await?;
        Ok(task)
    };
    fixture.take_every_action(&case, posted).await
}

/// No transition leaves the merge and no approval is open, so the watchdog blocks the task for a person.
#[tokio::test(flavor = "multi_thread")]
async fn recovery_required_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let workflow = Board::workflow(|states| state(states, "merging")["hooks"]["after_enter"] = json!([]))?;
    let project = fixture.board.project("dead end", json!({}), json!({ "workflow": workflow })).await?;
    // Where a person sent it, it is a person's turn; else the watchdog finds it again.
    let ends = &["merging", "blocked"];
    let case = BlockCase { retried: "merging", ends, ..block_case(AnnotationType::RecoveryRequired) };
    let told = script(&[EDIT]);
    fixture.take_every_action(&case, async || fixture.started(&project, &told, json!({})).await).await?;
    // People in the middle of their work are not disturbed.
    let quiet = fixture.board.project("quiet", json!({ "auto_approve": false }), json!({})).await?;
    let mine = fixture.board.engine.task(&quiet, json!({ "title": "Mine" })).await?;
    fixture.board.move_to(&mine, "in_progress").await?;
    fixture.board.move_to(&mine, "review").await?;
    let now = fixture.board.engine.until(&mine, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!(now["status"], "review");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn subtask_paused_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let markers = "run printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' >m";
    let part = attempts(markers, 3, "run rm -f m\nappend part <<< \"x\\n\"");
    let case = block_case(AnnotationType::SubtaskPaused);
    let paused = async || -> Result<Value> {
        let parent = fixture.board.task(&[EDIT], json!({})).await?;
        let new = json!({
            "title": "Part", "description": part, "parent_id": parent["id"], "execution_mode": "ordered_turn",
        });
        fixture.board.engine.task(&fixture.board.project, new).await?;
        fixture.board.claim(&parent).await?;
        Ok(parent)
    };
    fixture.take_every_action(&case, paused).await
}
