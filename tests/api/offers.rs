//! The ways out: for every trouble that can be brought about, each thing that is offered is accepted and leads
//! where it says, and what is not offered is refused with what is.

use anyhow::{Context as _, Result, ensure};
use forge_model::offer::Verb;
use serde_json::{Value, json};

use crate::{
    board::{Board, is, with},
    forge::text,
};

/// How a task gets into trouble.
struct Trouble {
    kind: &'static str,
    settings: Value,
    lines: Vec<String>,
    task: Value,
    /// Where it stands then.
    state: &'static str,
    /// Where a retry leads.
    retried: &'static str,
}

fn trouble(kind: &'static str, line: &str) -> Trouble {
    Trouble {
        kind,
        settings: json!({}),
        lines: vec![line.to_owned()],
        task: json!({}),
        state: "blocked",
        retried: "in_progress",
    }
}

fn limits(limits: &Value) -> Value {
    json!({ "task_state_config": { "retry_budgets": limits } })
}

fn troubles(board: &Board) -> Vec<Trouble> {
    let edit = "append a <<< \"x\\n\"";
    let repo = board.sandbox.repo.path().display();
    let markers = "run printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' >m";
    let conflict = format!("run cd '{repo}' && echo main >>c && git add c && git commit -qm main");
    vec![
        Trouble {
            settings: json!({ "review_config": { "ci_steps": ["false"] } }),
            task: limits(&json!({ "review": 0 })),
            retried: "review",
            ..trouble("review_budget_exhausted", edit)
        },
        trouble("executor_failed", "error auth who are you"),
        Trouble { settings: json!({ "setup": ["false"] }), ..trouble("environment_not_ready", edit) },
        Trouble {
            task: limits(&json!({ "execution": 0 })),
            ..trouble("commit_refused", "edit no.txt <<< \"no\"")
        },
        Trouble { task: limits(&json!({ "execution": 0 })), ..trouble("guard_rejected", markers) },
        Trouble {
            task: limits(&json!({ "merge_fix": 0 })),
            lines: vec![conflict, "append c <<< \"task\\n\"".to_owned()],
            state: "merge_failed",
            ..trouble("merge_conflict", "")
        },
    ]
}

async fn bring_about(board: &Board, project: &str, trouble: &Trouble) -> Result<Value> {
    let lines: Vec<&str> = trouble.lines.iter().map(String::as_str).collect();
    let new = json!({ "title": trouble.kind, "description": crate::forge::script(&lines), "roles": { "coder": board.agent } });
    let task = board.server.task(project, with(new, &trouble.task)).await?;
    board.claim(&task).await?;
    in_trouble(board, &task, trouble.kind, trouble.state).await
}

async fn in_trouble(board: &Board, task: &Value, kind: &str, state: &str) -> Result<Value> {
    let there = |task: &Value| task["error_annotation"]["type"] == kind && task["status"] == state;
    let now = board.server.until(task, |task| there(task) || task["status"] == "done").await?;
    ensure!(there(&now), "{kind}: {now:#}");
    Ok(now)
}

fn offered(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

/// Takes an offer and looks where it led.
async fn take(board: &Board, task: &Value, verb: &str, retried: &str) -> Result<()> {
    let before = board.history(task).await?.len();
    let said = json!({ "reason": "because", "message": "mend it" });
    board.act(task, &format!("actions/{verb}?wait=none"), said).await?;
    let now = board.get(task).await?;
    if verb == "hold" || verb == "release" {
        ensure!(now["held"] == (verb == "hold"), "{now:#}");
        return Ok(());
    }
    let history = board.history(task).await?;
    let led = history.get(before).with_context(|| format!("no move follows {verb}"))?;
    let to = match verb {
        "retry" | "reset_budget" => retried,
        "resume_session" | "send_back" => "in_progress",
        "approve" => "merging",
        "restart" => "todo",
        "cancel" => "cancelled",
        other => anyhow::bail!("{other} has no case"),
    };
    ensure!(led["to"] == to && text(led, "actor") == "user:api", "{verb} led to {led:#}");
    if verb == "restart" {
        ensure!(now["status"] == "todo" && now["error_annotation"].is_null(), "{now:#}");
        ensure!(now["budgets"]["review"]["used"] == 0 && now["budgets"]["merge_fix"]["used"] == 0, "{now:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_offer_is_accepted_and_nothing_else() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
    board.forbid_to_commit("no.txt")?;
    for trouble in troubles(&board) {
        let project = board.project(trouble.kind, trouble.settings.clone(), json!({})).await?;
        let first = bring_about(&board, &project, &trouble).await?;
        let verbs = offered(&first);
        for verb in Verb::ALL.iter().map(|verb| verb.as_str()).filter(|verb| !verbs.iter().any(|v| v == verb))
        {
            let (status, body) = board
                .refused(&first, &format!("actions/{verb}"), json!({ "reason": "r", "message": "m" }))
                .await?;
            assert_eq!(
                (status, text(&body, "code").as_str()),
                (409, "not_offered"),
                "{} {verb}",
                trouble.kind
            );
            assert_eq!(body["details"]["offers"], first["offers"]);
        }
        let mut given = Some(first);
        for verb in verbs.iter().filter(|verb| *verb != "reset_workspace") {
            let task = match given.take() {
                Some(task) => task,
                None => bring_about(&board, &project, &trouble).await?,
            };
            take(&board, &task, verb, trouble.retried)
                .await
                .with_context(|| format!("{} {verb}", trouble.kind))?;
            if verb == "hold" {
                take(&board, &task, "release", trouble.retried).await?;
            }
        }
    }
    Ok(())
}

/// Manual blocks, cancelled prerequisites, and an agent whose program is missing.
#[tokio::test(flavor = "multi_thread")]
async fn troubles_that_others_bring_about() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for verb in ["restart", "cancel"] {
        let task = board.task(&[], json!({})).await?;
        board.move_to(&task, "blocked").await?;
        let task = in_trouble(&board, &task, "manual", "blocked").await?;
        assert_eq!(offered(&task), ["restart", "hold", "cancel"]);
        take(&board, &task, verb, "").await?;
        let first = board.task(&[], json!({})).await?;
        let task = board.task(&[], json!({ "depends_on": [first["id"]] })).await?;
        board.act(&first, "actions/cancel", json!({})).await?;
        let task = in_trouble(&board, &task, "dependency_cancelled", "blocked").await?;
        assert_eq!(offered(&task), ["restart", "hold", "cancel"]);
        take(&board, &task, verb, "").await?;
    }
    let config = json!({ "command": "/no/such/program", "args": ["x"] });
    let nobody = board
        .server
        .post("/agents", json!({ "name": "nobody", "adapter": "shell", "config": config }))
        .await?;
    for verb in ["retry", "restart", "cancel"] {
        let task = board.task(&[], json!({ "roles": { "coder": nobody["id"] } })).await?;
        board.act(&task, "claim", json!({ "agent_id": nobody["id"] })).await?;
        let task = in_trouble(&board, &task, "executor_unavailable", "blocked").await?;
        take(&board, &task, verb, "in_progress").await?;
    }
    Ok(())
}

/// A worktree and a branch that are gone, and what a reset gives.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_worktree_is_reset_by_a_person() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&["append a <<< \"x\\n\""], json!({})).await?;
    board.claim(&task).await?;
    let waiting = board.server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let path = text(&waiting["workspace"], "path");
    std::fs::remove_dir_all(&path)?;
    board.sandbox.repo.git(&["worktree", "prune"])?;
    board.sandbox.repo.git(&["branch", "-D", &text(&waiting["workspace"], "branch")])?;
    board
        .server
        .post(&format!("/tasks/{}/review/reject?wait=none", text(&task, "id")), json!({ "reason": "again" }))
        .await?;
    let lost = in_trouble(&board, &task, "workspace_reset_required", "blocked").await?;
    assert_eq!(offered(&lost), ["reset_workspace", "hold", "cancel"]);
    board.act(&task, "actions/reset_workspace?wait=none", json!({})).await?;
    let reset = in_trouble(&board, &task, "manual", "blocked").await?;
    assert!(std::path::Path::new(&text(&reset["workspace"], "path")).is_dir());
    take(&board, &reset, "restart", "").await
}

/// Nothing leads out of the merge, nobody is asked: the watchdog gives the task to a person.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_nobody_acts_on_goes_to_a_person() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let mut workflow: Value = serde_json::from_str(forge_model::workflow::default_workflow_json())?;
    for state in workflow["states"].as_array_mut().context("no states")? {
        if state["name"] == "merging" {
            state["hooks"]["after_enter"] = json!([]);
        }
    }
    let project = board.project("dead end", json!({}), json!({ "workflow": workflow })).await?;
    let trouble = Trouble { retried: "merging", ..trouble("recovery_required", "append d <<< \"x\\n\"") };
    let mut verbs: Vec<String> = vec!["retry".to_owned()];
    let mut seen = false;
    while let Some(verb) = verbs.pop() {
        let task = bring_about(&board, &project, &trouble).await?;
        assert_eq!(task["error_annotation"]["from_state"], "merging");
        if !std::mem::replace(&mut seen, true) {
            assert_eq!(offered(&task), ["retry", "send_back", "restart", "hold", "cancel"]);
            verbs = vec!["send_back".to_owned(), "restart".to_owned()];
        }
        take(&board, &task, &verb, trouble.retried).await?;
    }
    // People in the middle of their work are not disturbed.
    let quiet = board.project("quiet", json!({ "auto_approve": false }), json!({})).await?;
    let mine = board.server.task(&quiet, json!({ "title": "Mine" })).await?;
    board.move_to(&mine, "in_progress").await?;
    board.move_to(&mine, "review").await?;
    board.server.until(&mine, |task| task["review"]["status"] == "awaiting_human").await?;
    assert!(is("review")(&board.get(&mine).await?));
    Ok(())
}
