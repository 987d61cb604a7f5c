//! Restart of a task: with a fresh worktree, or with the present one.

use anyhow::Result;
use forge_testkit::{
    Board,
    board::{is, text, with},
    script,
};
use serde_json::{Value, json};

/// The first run breaks the work; the second adds `good` and records whether the broken file is left.
const LINES: &str = "```forge-script\nedit broken <<< \"x\\n\"\n```\n```forge-script attempt=2\n\
    run test -e broken && echo kept >found || echo fresh >found\nedit good <<< \"x\\n\"\n```";

async fn blocked(board: &Board) -> Result<Value> {
    let more = json!({
        "description": LINES,
        "review_config": { "ci_steps": ["test -e good"] },
        "task_state_config": { "retry_budgets": { "review": 0 } },
    });
    let task = board.task(&[], more).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("blocked")).await
}

fn shown(board: &Board, name: &str) -> Result<String> {
    Ok(board.folder.repo.git(&["show", &format!("main:{name}")])?.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_makes_a_fresh_worktree_and_backs_the_old_one_up() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = blocked(&board).await?;
    let tree = std::path::PathBuf::from(text(&task["workspace"], "path"));
    std::fs::write(tree.join("half"), "not committed")?;
    let tip = board.folder.repo.git(&["rev-parse", &format!("forge/{}", text(&task, "id"))])?;
    board.act(&task, "actions/restart", json!({})).await?;
    let over = board.get(&task).await?;
    assert_eq!(
        (&over["status"], &over["workspace"]["status"]),
        (&json!("todo"), &json!("cleaned")),
        "{over:#}"
    );
    assert!(over["diff_stat"].is_null(), "{over:#}");
    assert!(!tree.exists());
    let backups = board.items(&format!("/tasks/{}/backups", text(&task, "id"))).await?;
    let commits: Vec<String> = backups.iter().map(|backup| text(backup, "commit")).collect();
    assert!(commits.iter().any(|commit| *commit == tip.trim()), "the branch: {backups:#?}");
    let kept = commits.iter().filter_map(|commit| board.folder.repo.show(commit, "half"));
    assert_eq!(kept.collect::<Vec<_>>(), ["not committed"], "{backups:#?}");

    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(shown(&board, "found")?, "fresh");
    assert!(shown(&board, "broken").is_err(), "the failure is no part of what was merged");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_with_changes_keeps_the_worktree() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = blocked(&board).await?;
    board.act(&task, "actions/restart_with_changes", json!({})).await?;
    let over = board.get(&task).await?;
    assert_eq!(
        (&over["status"], &over["workspace"]["status"]),
        (&json!("todo"), &json!("active")),
        "{over:#}"
    );
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!((shown(&board, "found")?.as_str(), shown(&board, "broken")?.as_str()), ("kept", "x"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_opens_ordered_subtasks_whose_work_was_set_aside() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let more = json!({
        "review_config": { "ci_steps": ["test -e mended"] },
        "task_state_config": { "retry_budgets": { "review": 0 } },
    });
    let parent = board.task(&["edit own <<< \"x\""], more).await?;
    let part = json!({
        "title": "Part", "description": script(&["edit part <<< \"x\\n\"", "run test $FORGE_ATTEMPT -le 2 || touch mended"]),
        "parent_id": parent["id"], "execution_mode": "ordered_turn",
    });
    let part = board.engine.task(&board.project, part).await?;
    board.claim(&parent).await?;
    board.engine.until(&parent, is("blocked")).await?;
    assert_eq!(board.get(&part).await?["status"], "done");
    board.act(&parent, "actions/restart", json!({})).await?;
    assert_eq!(board.get(&part).await?["status"], "todo");
    board.claim(&parent).await?;
    board.engine.until(&parent, is("done")).await?;
    assert_eq!(
        (shown(&board, "part")?.as_str(), board.get(&part).await?["status"].as_str()),
        ("x", Some("done"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_of_a_raced_task_races_again() -> Result<()> {
    let board = Board::new(json!({ "innerLoop": { "competitive": { "enabled": true } } })).await?;
    let more = json!({
        "review_config": { "ci_steps": ["test -e good"] }, "race": { "enabled": true },
        "task_state_config": { "retry_budgets": { "review": 0 } },
        "description": "```forge-script\nedit good <<< \"$FORGE_TASK_ID\"\n```",
    });
    let task = board.task(&[], with(more, &json!({ "title": "Race" }))).await?;
    board.patch(&format!("/projects/{}/settings", board.project), json!({ "auto_approve": false })).await?;
    board.claim(&task).await?;
    let awaiting = |task: &Value| task["review"]["status"] == "awaiting_human";
    board.engine.until(&task, awaiting).await?;
    board.act(&task, "review/reject", json!({})).await?;
    board.engine.until(&task, is("blocked")).await?;
    board.act(&task, "actions/restart", json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, awaiting).await?;
    let races = board.items(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let states: Vec<&str> = races.iter().filter_map(|race| race["status"].as_str()).collect();
    assert_eq!(states, ["cancelled", "promoted"]);
    Ok(())
}
