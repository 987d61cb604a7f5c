//! Retry budgets: the number shown is the number enforced, and when counting restarts.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
    program,
};
use serde_json::{Value, json};

fn limits(limits: &Value) -> Value {
    json!({ "task_state_config": { "retry_budgets": limits } })
}

#[tokio::test(flavor = "multi_thread")]
async fn transient_run_errors_are_retried_and_others_are_not() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let agent = async |name: &str, more: Value| -> Result<String> {
        let config = json!({ "command": program("forge")?, "args": ["scripted-agent", "--prompt-file", "{prompt_file}"] });
        let new =
            json!({ "name": name, "adapter": "shell", "max_concurrent": 4, "config": with(config, &more) });
        Ok(text(&board.engine.post("/agents", new).await?, "id"))
    };
    let plain = agent("plain", json!({})).await?;
    let silent = agent("silent", json!({ "silence_seconds": 1 })).await?;
    let short = agent("short", json!({ "wall_clock_seconds": 1 })).await?;
    let missing = agent("missing", json!({ "command": "/no/such/program" })).await?;
    // Who, what they do, the error, how many runs, what blocks.
    let cases = [
        (&plain, "fail 3", "crashed", 3, "executor_failed"),
        (&plain, "error model_error overloaded", "model_error", 3, "executor_failed"),
        (&silent, "hang", "silent", 3, "executor_failed"),
        (&plain, "error auth who are you", "auth", 1, "executor_failed"),
        (&plain, "error refused not this", "refused", 1, "executor_failed"),
        (&short, "hang", "limit", 1, "executor_failed"),
        (&missing, "hang", "unavailable", 1, "executor_unavailable"),
    ];
    let mut tasks = Vec::new();
    for (agent, line, ..) in &cases {
        let task = board.task(&[line], json!({ "title": line, "roles": { "coder": agent } })).await?;
        board.act(&task, "claim", json!({ "agent_id": agent })).await?;
        tasks.push(task);
    }
    for (task, (_, line, error, runs, kind)) in tasks.iter().zip(&cases) {
        let blocked = board.engine.until(task, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], *kind, "{line}");
        let all = board.runs(task).await?;
        assert_eq!(all.len(), *runs, "{line}");
        assert!(all.iter().all(|run| run["error"]["code"] == *error), "{line}: {all:#?}");
        assert_eq!(blocked["budgets"]["execution"], json!({ "used": runs - 1, "limit": 2 }), "{line}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_review_runs_once_more_than_its_retry_limit() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["false"] } })).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 4 })).await?;
    let mut tasks = Vec::new();
    for own in [None, Some(0), Some(1), Some(3)] {
        let more = own.map_or(json!({}), |limit| limits(&json!({ "review": limit })));
        let task = board.task(&["append a <<< \"x\\n\""], more).await?;
        assert_eq!(task["budgets"]["review"], json!({ "used": 0, "limit": own.unwrap_or(2) }));
        board.claim(&task).await?;
        tasks.push((own.unwrap_or(2), task));
    }
    for (limit, task) in tasks {
        let blocked = board.engine.until(&task, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted");
        assert_eq!(blocked["budgets"]["review"], json!({ "used": limit, "limit": limit }));
        let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
        assert_eq!(reviews.len() as u64, limit + 1);
        let history = board.history(&task).await?;
        let rejections = history.iter().filter(|row| row["rejection"] == true).count();
        assert_eq!(rejections as u64, limit);
        let last = history.last().context("no history")?;
        assert_eq!((last["to"].as_str(), &last["rejection"]), (Some("blocked"), &json!(false)));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_conflict_is_fixed_up_to_its_limit() -> Result<()> {
    let board = Board::new(json!({})).await?;
    // Whatever the agent does, main has done something else meanwhile.
    let repo = board.folder.repo.path().display().to_string();
    for limit in [0_u64, 1] {
        let file = format!("c{limit}");
        let main = format!(
            "run cd '{repo}' && echo $FORGE_ATTEMPT >>{file} && git add {file} && git commit -qm main"
        );
        let lines = [main.as_str(), &format!("append {file} <<< \"task\\n\"")];
        let task = board.task(&lines, limits(&json!({ "merge_fix": limit }))).await?;
        board.claim(&task).await?;
        let conflicted = |task: &Value| task["error_annotation"]["type"] == "merge_conflict";
        let stuck = board.engine.until(&task, conflicted).await?;
        assert_eq!(stuck["status"], "merge_failed");
        assert_eq!(stuck["budgets"]["merge_fix"], json!({ "used": limit + 1, "limit": limit }));
        let fixes = board.moves(&task).await?;
        let fixes = fixes.iter().filter(|row| *row == "merge_failed>in_progress").count();
        assert_eq!(fixes as u64, limit);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_fix_budget_is_reset_when_a_person_clears_the_failed_merge() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = board.folder.repo.path().display().to_string();
    for way in ["move", "reset_budget"] {
        let file = format!("c-{way}");
        let main = format!(
            "run cd '{repo}' && echo $FORGE_ATTEMPT >>{file} && git add {file} && git commit -qm main"
        );
        let lines = [main.as_str(), &format!("append {file} <<< \"task\\n\"")];
        let task = board.task(&lines, json!({})).await?;
        board.claim(&task).await?;
        let stuck =
            board.engine.until(&task, |task| task["error_annotation"]["type"] == "merge_conflict").await?;
        assert_eq!(stuck["budgets"]["merge_fix"], json!({ "used": 2, "limit": 1 }));
        board.act(&task, "actions/hold", json!({})).await?;
        match way {
            "move" => board.move_to(&task, "todo").await?,
            _ => board.act(&task, "actions/reset_budget?wait=none", json!({})).await?,
        };
        assert_eq!(
            board.get(&task).await?["budgets"]["merge_fix"],
            json!({ "used": 0, "limit": 1 }),
            "{way}"
        );
        board.act(&task, "actions/cancel", json!({})).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_commit_spends_an_execution() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.forbid_to_commit("no.txt")?;
    for limit in [0_usize, 1] {
        let task = board.task(&["edit no.txt <<< \"no\""], limits(&json!({ "execution": limit }))).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], "commit_refused");
        assert_eq!(blocked["budgets"]["execution"], json!({ "used": limit, "limit": limit }));
        assert_eq!(board.runs(&task).await?.len(), limit + 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_count_is_reset_by_a_person_and_by_a_pass() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["test -e good"] } })).await?;
    let used = |task: &Value| task["budgets"]["review"]["used"].as_u64();
    let exhausted = async || -> Result<Value> {
        let task = board.task(&["append a <<< \"x\\n\""], limits(&json!({ "review": 1 }))).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        assert_eq!(used(&blocked), Some(1));
        Ok(task)
    };
    // A person clears the block.
    let task = exhausted().await?;
    board.move_to(&task, "todo").await?;
    assert_eq!(used(&board.get(&task).await?), Some(0), "to todo");
    let task = exhausted().await?;
    let claimed = board.act(&task, "claim", json!({ "agent_id": "user" })).await?;
    assert_eq!(used(&claimed), Some(0), "claimed again");
    let task = exhausted().await?;
    board.act(&task, "actions/reset_budget?wait=none", json!({})).await?;
    board.engine.until(&task, is("blocked")).await?;
    let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    assert_eq!(reviews.len(), 4, "two of each count");
    // Sending it back is not clearing it.
    let task = exhausted().await?;
    board.act(&task, "actions/send_back?wait=none", json!({ "reason": "again" })).await?;
    let again = board
        .engine
        .until(&task, |task| task["status"] == "blocked" && task["review"]["attempt_number"] == 3)
        .await?;
    assert_eq!(used(&again), Some(1));
    // A pass is a boundary.
    let lines =
        "```forge-script\nappend b <<< \"x\\n\"\n```\n```forge-script attempt=2\nedit good <<< \"x\"\n```";
    let more = with(json!({ "description": lines }), &limits(&json!({ "review": 1 })));
    let task = board.task(&[], more).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, is("done")).await?;
    assert_eq!(used(&done), Some(0));
    assert_eq!(done["review"]["attempt_number"], 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_restart_spends_no_retry() -> Result<()> {
    let mut board = Board::new(json!({})).await?;
    let task = board.task(&["hang"], limits(&json!({ "execution": 0 }))).await?;
    board.claim(&task).await?;
    let first = board.engine.until(&task, |task| task["live"].is_object()).await?["live"].clone();
    let other = |task: &Value| {
        task["live"].is_object() && task["live"]["execution_id"] != first["execution_id"]
            || task["status"] != "in_progress"
    };
    board.restart().await?;
    let again = board.engine.until(&task, other).await?;
    assert_eq!(again["budgets"]["execution"], json!({ "used": 0, "limit": 0 }));
    let causes: Vec<String> = board.runs(&task).await?.iter().map(|run| text(run, "cause")).collect();
    assert_eq!(causes, ["started", "Forge was restarted"]);
    Ok(())
}
