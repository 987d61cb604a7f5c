//! Guards on moves by agents, the engine, claims and approvals.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
    script,
};
use serde_json::{Value, json};

use super::{Policy, guard, guarded, put_plan};

const MARKERS: &str = "run printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' >m";
const EDIT: &str = "append a <<< \"x\\n\"";

/// A project with these guards on leaving a state.
async fn project(board: &Board, name: &str, state: &str, guards: Value) -> Result<String> {
    board.project(name, json!({}), json!({ "workflow": guarded(state, guards)? })).await
}

async fn started(board: &Board, project: &str, description: &str, more: Value) -> Result<Value> {
    let new = json!({ "title": "Guarded", "description": description, "roles": { "coder": board.agent } });
    let task = board.engine.task(project, forge_testkit::board::with(new, &more)).await?;
    board.claim(&task).await?;
    Ok(task)
}

fn awaits_review(task: &Value) -> bool {
    task["review"]["status"] == "awaiting_human"
}

async fn was_told(board: &Board, task: &Value, run: &Value, what: &str) -> Result<bool> {
    let path = format!("/tasks/{}/logs/{}", text(task, "id"), text(run, "log_id"));
    Ok(board.engine.get(&path).await?.to_string().contains(what))
}

/// The refusal is reported to the agent, whose next run spends an execution; a guard for people does not apply.
#[tokio::test(flavor = "multi_thread")]
async fn agent_refused_by_a_guard_gets_another_run() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let mends = format!("```forge-script\n{MARKERS}\n```\n```forge-script attempt=2\nrun rm m\n{EDIT}\n```");
    let action = "require_no_conflict_markers";
    for (audience, runs) in [("all", 2), ("agent_only", 2), ("user_only", 1)] {
        let guards = json!([guard(action, audience, Policy::Default)]);
        let project = project(&board, audience, "in_progress", guards).await?;
        let task = started(&board, &project, &mends, json!({})).await?;
        let done = board.engine.until(&task, is("done")).await?;
        let all = board.runs(&task).await?;
        assert_eq!(all.len(), runs, "{audience}");
        if runs == 2 {
            assert!(was_told(&board, &task, &all[1], "conflict markers").await?);
            assert_eq!(board.moves(&task).await?[1], "in_progress>review", "{done:#}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_policy_log_or_cascade_applies_to_an_agents_move() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let action = "require_plan_complete";
    for (policy, end) in [(Policy::Log, "done"), (Policy::Cascade, "backlog")] {
        let guards = json!([guard(action, "agent_only", policy)]);
        let project = project(&board, end, "in_progress", guards).await?;
        let task = started(&board, &project, &script(&[EDIT]), json!({})).await?;
        board.engine.until(&task, |task| task["status"] == end).await?;
        assert_eq!(board.runs(&task).await?.len(), 1);
        let last = board.history(&task).await?.last().cloned().context("no history")?;
        assert_eq!(text(&last, "reason").contains(action), policy == Policy::Cascade, "{last:#}");
    }
    Ok(())
}

/// Guards that only a person can satisfy: the runs are spent, then a person acts and the task continues.
#[tokio::test(flavor = "multi_thread")]
async fn guard_that_an_agent_cannot_satisfy_blocks_for_a_person() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for action in ["require_plan_complete", "dependency_gate"] {
        let guards = json!([guard(action, "agent_only", Policy::Block)]);
        let project = project(&board, action, "in_progress", guards).await?;
        let first = board.engine.task(&project, json!({ "title": "First" })).await?;
        let limit = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
        let new =
            json!({ "title": "Guarded", "description": script(&[EDIT]), "roles": { "coder": board.agent } });
        let task = board.engine.task(&project, forge_testkit::board::with(new, &limit)).await?;
        if action == "dependency_gate" {
            let path = format!("/tasks/{}/dependencies", text(&task, "id"));
            board.engine.post(&path, json!({ "depends_on": first["id"] })).await?;
        }
        // By hand, which overrides what a claim asks.
        board.move_to(&task, "in_progress").await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        let annotation = &blocked["error_annotation"];
        assert_eq!(annotation["type"], "guard_rejected");
        assert_eq!(annotation["details"]["action"], action);
        assert_eq!(blocked["budgets"]["execution"], json!({ "used": 1, "limit": 1 }));
        assert_eq!(board.runs(&task).await?.len(), 2);
        match action {
            "dependency_gate" => drop(board.move_to(&first, "done").await?),
            _ => put_plan(&board, &task, "1. Do it.").await?,
        }
        board.act(&task, "actions/retry?wait=none", json!({})).await?;
        board.engine.until(&task, is("done")).await?;
    }
    Ok(())
}

/// A gate that passes automatically asks the guards on leaving its state.
#[tokio::test(flavor = "multi_thread")]
async fn passing_gate_asks_its_guards() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let action = "require_plan_complete";
    let block = json!([guard(action, "agent_only", Policy::Block)]);
    let gate = project(&board, "gate", "review", block.clone()).await?;
    let limit = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
    let task = started(&board, &gate, &script(&[EDIT]), limit).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "guard_rejected");
    assert_eq!(blocked["error_annotation"]["from_state"], "review");
    assert!(blocked["review_passed_at"].is_null(), "it did not pass");
    let runs = board.runs(&task).await?;
    assert_eq!(runs.len(), 2, "the agent got a turn for it");
    assert!(was_told(&board, &task, &runs[1], "there is no plan").await?);
    assert_eq!(board.folder.repo.show("main", "a"), None);
    put_plan(&board, &task, "1. Do it.").await?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;

    let aside = json!([guard(action, "all", Policy::Cascade)]);
    let aside = project(&board, "aside", "review", aside).await?;
    let task = started(&board, &aside, &script(&[EDIT]), json!({})).await?;
    board.engine.until(&task, is("backlog")).await?;
    assert_eq!(board.moves(&task).await?.last().map(String::as_str), Some("review>backlog"));

    let told = project(&board, "told", "review", json!([guard(action, "all", Policy::Log)])).await?;
    let task = started(&board, &told, &script(&[EDIT]), json!({})).await?;
    board.engine.until(&task, is("done")).await?;

    // What has been merged stays merged, whatever is to follow.
    let merged = project(&board, "merged", "merging", block).await?;
    let limit = json!({ "task_state_config": { "retry_budgets": { "execution": 0 } } });
    let task = started(&board, &merged, &script(&["append b <<< \"x\\n\""]), limit).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["from_state"], "merging");
    assert_eq!(board.folder.repo.show("main", "b").as_deref(), Some("x"));
    Ok(())
}

/// Claims and approvals are moves of a person.
#[tokio::test(flavor = "multi_thread")]
async fn claim_and_approval_ask_the_guards_for_people() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let action = "require_plan_complete";
    for (policy, audience) in
        [(Policy::Block, "user_only"), (Policy::Cascade, "all"), (Policy::Block, "agent_only")]
    {
        let name = format!("claims {policy:?} {audience}");
        let claims = project(&board, &name, "todo", json!([guard(action, audience, policy)])).await?;
        let new = json!({ "title": "Claimed", "description": script(&[EDIT]) });
        let task = board.engine.task(&claims, new).await?;
        let claim = json!({ "agent_id": board.agent });
        match (policy, audience) {
            (Policy::Block, "user_only") => {
                let (status, body) = board.refused(&task, "claim", claim).await?;
                assert_eq!((status, text(&body, "code").as_str()), (412, "guard_rejected"));
                assert_eq!(board.get(&task).await?, task, "nothing changes");
            }
            (Policy::Cascade, _) => {
                board.act(&task, "claim", claim).await?;
                assert_eq!(board.get(&task).await?["status"], "backlog");
            }
            _ => {
                board.act(&task, "claim", claim).await?;
                board.engine.until(&task, is("done")).await?;
            }
        }
    }
    for policy in [Policy::Block, Policy::Cascade] {
        let name = format!("approves {policy:?}");
        let workflow = guarded("review", json!([guard(action, "user_only", policy)]))?;
        let asked = json!({ "auto_approve": false });
        let gate = board.project(&name, asked, json!({ "workflow": workflow })).await?;
        let task = started(&board, &gate, &script(&["append g <<< \"x\\n\""]), json!({})).await?;
        let waiting =
            board.engine.until(&task, |task| awaits_review(task) && task["entry_barrier"].is_null()).await?;
        let path = format!("/tasks/{}/review/approve", text(&task, "id"));
        if policy == Policy::Cascade {
            board.engine.post(&path, json!({})).await?;
            assert_eq!(board.get(&task).await?["status"], "backlog");
            continue;
        }
        let (status, body) = board.refuse(&path, json!({})).await?;
        assert_eq!((status, text(&body, "code").as_str()), (412, "guard_rejected"));
        assert_eq!(board.get(&task).await?, waiting, "nothing changes");
        put_plan(&board, &task, "1. Do it.").await?;
        board.engine.post(&path, json!({})).await?;
        board.engine.until(&task, is("done")).await?;
    }
    Ok(())
}

/// A plan passes only when the guards of its gate allow it, whether an agent or a person decides.
#[tokio::test(flavor = "multi_thread")]
async fn automatically_passing_plan_asks_its_guards() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let presets = board.engine.get("/workflow/presets").await?;
    let planned = presets["items"].as_array().context("a list")?.iter().find(|one| one["name"] == "planned");
    let mut workflow = planned.context("no preset")?["workflow"].clone();
    for (name, policy, approval, end) in [
        ("refused", Policy::Block, json!(false), "blocked"),
        ("aside", Policy::Cascade, json!(false), "backlog"),
        ("told", Policy::Log, json!(false), "in_progress"),
        ("by hand", Policy::Block, json!("always"), "planning"),
    ] {
        let states = workflow["states"].as_array_mut().context("no states")?;
        let planning = forge_testkit::board::state(states, "planning");
        // What makes it a gate for plans stays.
        let plan = guard("require_plan_complete", "all", Policy::Default);
        planning["hooks"]["before_exit"] =
            json!([plan, guard("subtask_sequence_complete", "agent_only", policy)]);
        planning["gate_config"]["requires_user_approval"] = approval;
        let project = board.project(name, json!({}), json!({ "workflow": workflow })).await?;
        let plans = "```forge-script role=planner\nsummary 1. Do it.\n```";
        let task = board
            .engine
            .task(
                &project,
                json!({
                    "title": "Planned", "description": format!("{}\n{plans}", script(&[EDIT])),
                    "roles": { "coder": board.agent, "planner": board.agent },
                    "task_state_config": { "retry_budgets": { "execution": 1 } },
                }),
            )
            .await?;
        let part = json!({ "title": "Part", "parent_id": task["id"], "execution_mode": "ordered_turn" });
        let part = board.engine.task(&project, part).await?;
        board.claim(&task).await?;
        let there = |task: &Value| match end {
            "planning" => task["status"] == end && awaits_review(task),
            "in_progress" => text(task, "status") != "todo" && text(task, "status") != "planning",
            _ => task["status"] == end,
        };
        let ended = board.engine.until(&task, there).await?;
        let runs = board.runs(&task).await?;
        let planned = runs.iter().filter(|run| run["role"] == "planner").count();
        match end {
            "blocked" => {
                let annotation = &ended["error_annotation"];
                assert_eq!(
                    (&annotation["type"], &annotation["from_state"]),
                    (&json!("guard_rejected"), &json!("planning"))
                );
                assert_eq!(annotation["details"]["action"], "subtask_sequence_complete");
                assert_eq!(planned, 2, "the planner got a turn for it");
                assert_eq!(runs[1]["cause"], "a guard refused");
                board.move_to(&part, "done").await?;
                board.act(&task, "actions/retry?wait=none", json!({})).await?;
                board.engine.until(&task, is("done")).await?;
            }
            "backlog" => {
                let last = board.history(&task).await?.last().cloned().context("no history")?;
                assert!(text(&last, "reason").contains("subtask_sequence_complete"), "{last:#}");
                assert_eq!(planned, 1);
            }
            _ => assert_eq!(planned, 1, "{name}"),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn auditor_pass_asks_the_guards_of_its_gate() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let action = "dependency_gate";
    for (name, policy, audience, end) in [
        ("refused", Policy::Block, "agent_only", "blocked"),
        ("aside", Policy::Cascade, "all", "backlog"),
        ("for people", Policy::Block, "user_only", "done"),
    ] {
        let project = project(&board, name, "review", json!([guard(action, audience, policy)])).await?;
        let judges = "```forge-script role=reviewer\nverdict pass fine\n```";
        let file = format!("audited-{policy:?}");
        let edit = format!("edit {file} <<< \"{name}\\n\"");
        let more = json!({
            "roles": { "coder": board.agent, "reviewer": board.agent },
            "task_state_config": { "retry_budgets": { "execution": 1 } },
        });
        let first = board.engine.task(&project, json!({ "title": "First" })).await?;
        let new = json!({
            "title": "Judged", "description": format!("{}\n{judges}", script(&[&edit])),
            "depends_on": [first["id"]],
        });
        let task = board.engine.task(&project, forge_testkit::board::with(new, &more)).await?;
        // By hand, which overrides what a claim asks.
        board.move_to(&task, "in_progress").await?;
        let over = |task: &Value| ["blocked", "backlog", "done"].contains(&text(task, "status").as_str());
        let ended = board.engine.until(&task, over).await?;
        assert_eq!(ended["status"], end, "{name}: {:#?}", board.history(&task).await?);
        let path = format!("/tasks/{}/reviews", text(&task, "id"));
        let reviews = board.items(&path).await?;
        assert_eq!(reviews[0]["audits"][0]["verdict"], "pass", "what it said is kept: {reviews:#?}");
        if end == "done" {
            assert_eq!(reviews[0]["status"], "passed");
            continue;
        }
        assert_ne!(reviews[0]["status"], "passed", "{name}: {reviews:#?}");
        assert!(ended["review_passed_at"].is_null(), "it did not pass");
        assert_eq!(board.folder.repo.show("main", &file), None);
        if end == "backlog" {
            assert_eq!(board.moves(&task).await?.last().map(String::as_str), Some("review>backlog"));
            continue;
        }
        let annotation = &ended["error_annotation"];
        assert_eq!(
            (&annotation["type"], &annotation["from_state"]),
            (&json!("guard_rejected"), &json!("review"))
        );
        let coders: Vec<Value> =
            board.runs(&task).await?.into_iter().filter(|run| run["role"] == "coder").collect();
        assert_eq!(coders.len(), 2, "the coder got a turn for it");
        assert!(was_told(&board, &task, &coders[1], "waits for #1 First").await?);
        board.move_to(&first, "done").await?;
        board.act(&task, "actions/retry?wait=none", json!({})).await?;
        board.engine.until(&task, is("done")).await?;
    }
    Ok(())
}
