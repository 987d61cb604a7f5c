//! Claims: the role that a claim fills, the agent that it never replaces, and the tasks that can be claimed.

use anyhow::{Context as _, Result};
use forge_api::{
    operations::{
        AgentCreate, AgentGet, TaskAssign, TaskClaim, TaskTransition, TaskTransitions, WorkflowPresets,
    },
    ops::{
        Empty, TaskPath, Wait,
        agents::{AgentPath, CreateAgent},
        tasks::{AssignRole, ClaimTask, TransitionTask},
    },
};
use forge_model::{
    agent::AdapterKind,
    ids::{AgentId, TaskId},
    task::{HolderKind, Task},
};
use forge_testkit::{Board, caller::refusal, script};
use serde_json::json;

/// Another scripted agent.
async fn second_agent(board: &Board) -> Result<String> {
    let first = AgentPath { agent_id: AgentId::from(board.agent.as_str()) };
    let config = board.call(AgentGet, first).await?.config;
    let new = CreateAgent {
        name: "Second".to_owned(),
        adapter: AdapterKind::Shell,
        config,
        model: None,
        max_concurrent: None,
    };
    Ok(board.call(AgentCreate, new).await?.id.0)
}

/// A project with the preset that starts with planning.
async fn planned(board: &Board) -> Result<String> {
    let presets = board.call(WorkflowPresets, Empty {}).await?.items;
    let planned = presets.into_iter().find(|one| one.name == "planned").context("no preset")?;
    board.project("Planned", json!({}), json!({ "workflow": planned.workflow })).await
}

async fn claim(board: &Board, task: &TaskId, agent: &str) -> Result<Task> {
    let claim = |version| ClaimTask {
        task_id: task.clone(),
        agent_id: agent.to_owned(),
        version,
        queue: None,
        if_locked: None,
    };
    board.call_at_version(TaskClaim, task, claim).await
}

async fn move_to(board: &Board, task: &TaskId, to: &str) -> Result<()> {
    let transition = |version| TransitionTask {
        task_id: task.clone(),
        to: to.to_owned(),
        version,
        reason: None,
        wait: Some(Wait::None),
        if_locked: None,
        end_terminals: None,
    };
    board.call_at_version(TaskTransition, task, transition).await.map(drop)
}

/// The agent in a role of a task.
fn holder<'a>(task: &'a Task, role: &str) -> Option<&'a str> {
    task.roles.get(role)?.as_ref()?.id.as_ref().map(AgentId::as_str)
}

fn is_done(task: &Task) -> bool {
    task.status == "done"
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_by_another_agent_is_a_role_conflict_and_changes_nothing() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let other = second_agent(&board).await?;
    let task = board.make(&script(&["edit a <<< \"x\""]), json!({})).await?.id;
    let before = board.see(&task).await?;
    let refused = refusal(claim(&board, &task, &other).await)?;
    assert_eq!((refused.status, refused.code.as_str()), (409, "role_conflict"), "{refused}");
    assert_eq!(refused.details["role"], "coder");
    assert_eq!(refused.details["holder"]["id"], board.agent.as_str());
    assert_eq!(board.see(&task).await?, before);
    // Once the role is given to the other agent, the claim is its own.
    let given = AssignRole {
        task_id: task.clone(),
        role: "coder".to_owned(),
        holder: Some(other.clone()),
        version: Some(before.version),
    };
    board.call(TaskAssign, given).await?;
    claim(&board, &task, &other).await?;
    let done = board.until(&task, "done", is_done).await?;
    assert_eq!(holder(&done, "coder"), Some(other.as_str()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_by_a_person_takes_the_task_over_and_is_recorded() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.make(&script(&[]), json!({})).await?.id;
    let claimed = claim(&board, &task, "user").await?;
    let kind = claimed.roles["coder"].as_ref().map(|holder| holder.kind);
    assert_eq!(kind, Some(HolderKind::User));
    let told = board.events("task.assigned", 1).await?;
    assert_eq!(told[0]["data"]["role"], "coder", "{told:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_never_makes_the_coder_the_planner() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let (project, planner) = (planned(&board).await?, second_agent(&board).await?);
    let described = script(&["edit a <<< \"x\""]);
    // Somebody else plans: the claim is theirs.
    let roles = json!({ "coder": board.agent, "planner": planner });
    let task = board.make(&described, json!({ "project_id": project, "roles": roles })).await?.id;
    let refused = refusal(claim(&board, &task, &board.agent).await)?;
    assert_eq!((refused.status, refused.code.as_str()), (409, "role_conflict"), "{refused}");
    let (role, named) = (&refused.details["role"], &refused.details["holder"]["id"]);
    assert_eq!((role, named), (&json!("planner"), &json!(planner)));
    assert_eq!(holder(&board.see(&task).await?, "planner"), Some(planner.as_str()));
    // Nobody plans: work begins at once.
    let task = board.make(&described, json!({ "project_id": project })).await?.id;
    claim(&board, &task, &board.agent).await?;
    let begun = |task: &Task| task.status != "todo" && task.status != "planning";
    let worked = board.until(&task, "past planning", begun).await?;
    assert_eq!(holder(&worked, "planner"), None, "{worked:#?}");
    let moves = board.call(TaskTransitions, TaskPath { task_id: task }).await?.items;
    let moves: Vec<_> = moves.iter().take(2).map(|it| (it.from.as_str(), it.to.as_str())).collect();
    assert_eq!(moves, [("todo", "planning"), ("planning", "in_progress")]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_in_the_backlog_cannot_be_claimed() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.make(&script(&["edit a <<< \"x\""]), json!({})).await?.id;
    move_to(&board, &task, "backlog").await?;
    let refused = refusal(claim(&board, &task, &board.agent).await)?;
    assert_eq!((refused.status, refused.code.as_str()), (409, "not_claimable"), "{refused}");
    assert!(refused.message.contains("move it to Todo first"), "{refused}");
    assert_eq!(board.see(&task).await?.status, "backlog");
    move_to(&board, &task, "todo").await?;
    claim(&board, &task, &board.agent).await?;
    board.until(&task, "done", is_done).await.map(drop)
}
