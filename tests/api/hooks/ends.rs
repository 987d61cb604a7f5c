//! Where work ends: what is told when its task is closed, and of whom when the work is a part's turn.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn work_that_ends_with_its_task_is_told_as_the_task_s_end_alone() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let line = "$FORGE_EVENT $FORGE_TASK_PREVIOUS_STATUS:$FORGE_TASK_STATUS $(basename $PWD)";
    let told = note(stage.sandbox.dir.path(), line);
    set_hooks(&stage, json!({ "on_work_stop": [told], "on_task_done": [told], "on_task_cancel": [told] }))
        .await?;
    let given_up = stage.task(&["hang"]).await?;
    stage.claim(&given_up).await?;
    stage.server.until(&given_up, |task| task["live"].is_object()).await?;
    stage.act(&given_up, "cancel", json!({})).await?;
    stage.until_outcomes(&given_up, &["on_task_cancel[0] ok"]).await?;
    let by_hand = stage.task(&["hang"]).await?;
    stage.claim(&by_hand).await?;
    stage.server.until(&by_hand, |task| task["live"].is_object()).await?;
    stage.go(&by_hand, "done").await?;
    stage.until_outcomes(&by_hand, &["on_task_done[0] ok"]).await?;
    assert_eq!(
        stage.evidence(),
        ["on_task_cancel in_progress:cancelled tree", "on_task_done in_progress:done tree"],
        "both run in the worktree"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_part_is_worked_on_behind_its_parent_s_hooks() -> Result<()> {
    let stage = Stage::with(json!({}), json!({ "auto_approve": true })).await?;
    let told = note(stage.sandbox.dir.path(), "$FORGE_EVENT $FORGE_TASK_ID");
    let blocking = json!({ "type": "script", "command": told["command"], "blocking": true });
    set_hooks(
        &stage,
        json!({ "before_work": [blocking], "on_work_start": [told], "on_work_stop": [told], "on_task_done": [told] }),
    )
    .await?;
    let parent = stage.task(&["edit own.txt <<< \"own\""]).await?;
    let new = json!({
        "description": script(&["edit part.txt <<< \"part\""]),
        "parent_id": parent["id"], "execution_mode": "ordered_turn",
    });
    let part = stage.server.task(&stage.project, new).await?;
    stage.claim(&parent).await?;
    stage.server.until(&parent, |task| task["status"] == "done").await?;
    stage.until_outcomes(&part, &["on_task_done[0] ok"]).await?;
    let of_part = format!(" {}", text(&part, "id"));
    let told: Vec<String> = stage.evidence().into_iter().filter(|line| line.ends_with(&of_part)).collect();
    assert_eq!(told, [format!("on_task_done{of_part}")]);
    Ok(())
}
