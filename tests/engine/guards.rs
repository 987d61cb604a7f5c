//! Guards: each refuses and releases a move, applies to its audience, and acts as its policy says.

mod engine;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{state, text},
    caller::good,
};
use reqwest::Method;
use serde_json::{Value, json};

const POLICIES: [Policy; 4] = [Policy::Default, Policy::Block, Policy::Log, Policy::Cascade];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Policy {
    Default,
    Block,
    Log,
    Cascade,
}

/// The default workflow with these guards on leaving a state.
fn guarded(state_name: &str, guards: Value) -> Result<Value> {
    Board::workflow(|states| state(states, state_name)["hooks"]["before_exit"] = guards)
}

fn guard(action: &str, audience: &str, policy: Policy) -> Value {
    let mut guard = json!({ "action": action, "applies_to": audience });
    match policy {
        Policy::Default => {}
        Policy::Block => guard["on_failure"] = "block".into(),
        Policy::Log => guard["on_failure"] = "log".into(),
        Policy::Cascade => guard["on_failure"] = json!({ "cascade": "backlog" }),
    }
    guard
}

async fn put_guard(board: &Board, state: &str, guard: Value) -> Result<()> {
    let path = format!("/projects/{}/workflow", board.project);
    let body = json!({ "workflow": guarded(state, json!([guard]))? });
    good(board.engine.request(Method::PUT, &path).json(&body).send().await?).map(drop)
}

/// A task that a person works on.
async fn manual_task(board: &Board) -> Result<Value> {
    let task = board.engine.task(&board.project, json!({ "title": "By hand" })).await?;
    board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    let ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
    board.engine.until(&task, ready).await
}

fn tree(task: &Value) -> PathBuf {
    PathBuf::from(text(&task["workspace"], "path"))
}

/// Tests one guard for every policy and audience with moves of a person.
/// The guard reports `details`; `mend` satisfies it.
async fn asks_people(
    board: &Board,
    task: &Value,
    action: &str,
    details: Value,
    mend: impl AsyncFn() -> Result<()>,
) -> Result<()> {
    for (audience, asked) in [("all", true), ("user_only", true), ("agent_only", false)] {
        for policy in POLICIES {
            put_guard(board, "in_progress", guard(action, audience, policy)).await?;
            let what = format!("{action} {audience} {policy:?}");
            if action == "require_clean_worktree" {
                // Entering the review commits what was there.
                std::fs::write(tree(task).join("half.txt"), &what)?;
            }
            let before = board.get(task).await?;
            assert_eq!(before["status"], "in_progress", "{what}");
            if asked && matches!(policy, Policy::Default | Policy::Block) {
                let (status, body) = board.refused(task, "transition", json!({ "to": "review" })).await?;
                assert_eq!((status, text(&body, "code").as_str()), (412, "guard_rejected"), "{what}: {body}");
                assert_eq!(body["details"]["action"], action, "{what}");
                assert!(body["details"]["reason"].as_str().is_some_and(|why| !why.is_empty()), "{what}");
                assert_eq!(body["details"]["details"], details, "{what}");
                assert_eq!(board.get(task).await?, before, "{what}: nothing changes");
                continue;
            }
            let moved = board.act(task, "transition", json!({ "to": "review" })).await?;
            let history = board.history(task).await?;
            let last = history.last().context("no history")?;
            if asked && policy == Policy::Cascade {
                assert_eq!(moved["task"]["status"], "backlog", "{what}");
                let how = (text(last, "trigger"), text(last, "actor"));
                assert_eq!(how, ("cascade".to_owned(), "system:workflow".to_owned()), "{what}: {last:#}");
                assert!(text(last, "reason").contains(action), "{what}: {last:#}");
            } else {
                assert_eq!(moved["task"]["status"], "review", "{what}");
                assert_eq!(text(last, "actor"), "user:api", "{what}");
            }
            board.act(task, "transition", json!({ "to": "in_progress" })).await?;
        }
    }
    let told = board.events("transition.guard_rejected", 8).await?;
    let told: Vec<Value> = told.iter().map(|event| event["data"]["policy"].clone()).collect();
    let once = [json!("block"), json!("block"), json!("log"), json!({ "cascade": "backlog" })];
    assert_eq!(told, once.iter().chain(&once).cloned().collect::<Vec<_>>(), "{action}");
    put_guard(board, "in_progress", guard(action, "all", Policy::Block)).await?;
    mend().await?;
    let moved = board.act(task, "transition", json!({ "to": "review" })).await?;
    assert_eq!(moved["task"]["status"], "review", "{action} is content");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dependency_gate_refuses_until_dependencies_are_done() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let first = board.task(&[], json!({})).await?;
    let task = manual_task(&board).await?;
    let path = format!("/tasks/{}/dependencies", text(&task, "id"));
    board.engine.post(&path, json!({ "depends_on": first["id"] })).await?;
    let details = json!({ "open": [first["id"]] });
    let mend = async || board.move_to(&first, "done").await.map(drop);
    asks_people(&board, &task, "dependency_gate", details, mend).await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_clean_worktree_refuses_until_worktree_is_clean() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = manual_task(&board).await?;
    let mend = async || {
        let mut git = std::process::Command::new("git");
        git.args(["checkout", "-q", "--", "half.txt"]).envs(forge_testkit::HERMETIC_GIT);
        anyhow::ensure!(git.current_dir(tree(&task)).status()?.success(), "git failed");
        Ok(())
    };
    asks_people(&board, &task, "require_clean_worktree", json!({ "files": ["half.txt"] }), mend).await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_no_conflict_markers_refuses_until_markers_are_gone() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = manual_task(&board).await?;
    let file = tree(&task).join("m");
    std::fs::write(&file, "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")?;
    let mend = async || Ok(std::fs::write(&file, "a\nb\n")?);
    asks_people(&board, &task, "require_no_conflict_markers", json!({ "files": ["m"] }), mend).await
}

#[tokio::test(flavor = "multi_thread")]
async fn require_plan_complete_refuses_until_the_plan_is_complete() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = manual_task(&board).await?;
    let mend = async || put_plan(&board, &task, "1. Do it.").await;
    asks_people(&board, &task, "require_plan_complete", json!({ "written_at": null }), mend).await
}

async fn put_plan(board: &Board, task: &Value, plan: &str) -> Result<()> {
    let path = format!("/tasks/{}/plan", text(task, "id"));
    let put = board.engine.request(Method::PUT, &path).json(&json!({ "text": plan }));
    let plan = good(put.send().await?)?;
    // However slow the machine, it is none from before the task comes to where it is asked for.
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
    Ok(std::fs::File::options().write(true).open(text(&plan, "path"))?.set_modified(later)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn subtask_sequence_complete_refuses_until_subtasks_are_done() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = manual_task(&board).await?;
    let new = json!({ "title": "Part", "parent_id": task["id"], "execution_mode": "ordered_turn" });
    let part = board.engine.task(&board.project, new).await?;
    let details = json!({ "code": "SUBTASK_SEQUENCE_NOT_COMPLETE", "open": [part["id"]] });
    let mend = async || board.move_to(&part, "done").await.map(drop);
    asks_people(&board, &task, "subtask_sequence_complete", details, mend).await
}
