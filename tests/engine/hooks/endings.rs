//! Hooks at the end of work: which hook runs when a task is closed, and for which task when a subtask did the work.

use super::*;
use forge_testkit::Board;

#[tokio::test(flavor = "multi_thread")]
async fn work_ended_by_closing_its_task_runs_only_the_task_hook() -> Result<()> {
    let board = hooked(json!({})).await?;
    let line = "$FORGE_EVENT $FORGE_TASK_PREVIOUS_STATUS:$FORGE_TASK_STATUS $(basename $PWD)";
    let told = note(board.folder.dir.path(), line);
    set_hooks(&board, json!({ "on_work_stop": [told], "on_task_done": [told], "on_task_cancel": [told] }))
        .await?;
    let given_up = board.task(&["hang"], json!({})).await?;
    board.claim(&given_up).await?;
    board.engine.until(&given_up, |task| task["live"].is_object()).await?;
    board.act(&given_up, "actions/cancel", json!({})).await?;
    board.until_outcomes(&given_up, &["on_task_cancel[0] ok"]).await?;
    let by_hand = board.task(&["hang"], json!({})).await?;
    board.claim(&by_hand).await?;
    board.engine.until(&by_hand, |task| task["live"].is_object()).await?;
    board.act(&by_hand, "transition", json!({ "to": "done" })).await?;
    board.until_outcomes(&by_hand, &["on_task_done[0] ok"]).await?;
    assert_eq!(
        board.evidence(),
        ["on_task_cancel in_progress:cancelled tree", "on_task_done in_progress:done tree"],
        "both run in the worktree"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_subtask_runs_behind_the_hooks_of_its_parent() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let told = note(board.folder.dir.path(), "$FORGE_EVENT $FORGE_TASK_ID");
    let blocking = json!({ "type": "script", "command": told["command"], "blocking": true });
    set_hooks(
        &board,
        json!({ "before_work": [blocking], "on_work_start": [told], "on_work_stop": [told], "on_task_done": [told] }),
    )
    .await?;
    let parent = board.task(&["edit own.txt <<< \"own\""], json!({})).await?;
    let new = json!({
        "description": script(&["edit part.txt <<< \"part\""]),
        "parent_id": parent["id"], "execution_mode": "ordered_turn",
    });
    let part = board.engine.task(&board.project, new).await?;
    board.claim(&parent).await?;
    board.engine.until(&parent, |task| task["status"] == "done").await?;
    board.until_outcomes(&part, &["on_task_done[0] ok"]).await?;
    let of_part = format!(" {}", text(&part, "id"));
    let told: Vec<String> = board.evidence().into_iter().filter(|line| line.ends_with(&of_part)).collect();
    assert_eq!(told, [format!("on_task_done{of_part}")]);
    Ok(())
}
