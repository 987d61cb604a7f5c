//! Selection of a winner without evidence, and what the raced task shows of its winner.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
};
use serde_json::{Value, json};

use super::{block, entry, git, race, race_board, task};

/// Two entries that differ only in name.
fn alike() -> [String; 2] {
    [block("a", &["edit good <<< \"a\\n\""]), block("b", &["edit good <<< \"b\\n\""])]
}

#[tokio::test(flavor = "multi_thread")]
async fn race_without_evidence_waits_for_a_persons_choice() -> Result<()> {
    let board = race_board(&["b", "a"], json!({})).await?;
    let task = task(&board, &alike(), json!({})).await?;
    board.claim(&task).await?;
    let waiting = board.engine.until(&task, |task| task["waiting"]["reason"] == "race_crown").await?;
    let said = text(&waiting["waiting"], "message");
    assert_eq!(said, "Choose the winner. a, b are equal in checks, score and cost.");
    let offer = waiting["offers"].as_array().into_iter().flatten().find(|offer| offer["verb"] == "crown");
    assert_eq!(offer.context("no choice is offered")?["label"], "Pick as winner");
    let now = race(&board, &task).await?;
    // The election is as the rules have it; nobody won yet.
    assert_eq!(
        (&now["status"], &now["elected"], &now["decidedBy"], &now["winner"]),
        (&json!("awaiting_crown"), &json!("a"), &json!("name"), &Value::Null),
        "{now:#}"
    );
    for name in ["a", "b"] {
        let entry = entry(&now, name)?;
        assert_eq!(
            (&entry["gate"], &entry["checks"], &entry["cost_micro_usd"]),
            (&json!("not_run"), &json!(0), &Value::Null),
            "{entry:#}"
        );
    }
    board.act(&task, "race/crown", json!({ "strategy": "b" })).await?;
    board.engine.until(&task, is("done")).await?;
    let chosen = race(&board, &task).await?;
    assert_eq!(
        (&chosen["winner"], &chosen["decidedBy"], &chosen["crowned_by"], &chosen["elected"]),
        (&json!("b"), &json!("person"), &json!("user:api"), &json!("a")),
        "{chosen:#}"
    );
    assert_eq!(git(&board, &["show", "main:good"])?, "b");
    // The election is told once, and the choice apart from it. `race.promoted` follows both.
    let all = board.events_through("race.promoted", 1).await?;
    let of = |kind: &str| all.iter().filter(|event| event["type"] == kind).cloned().collect::<Vec<_>>();
    let elected = of("race.elected");
    assert_eq!((elected.len(), &elected[0]["data"]["awaits_choice"]), (1, &json!(true)), "{elected:#?}");
    let picked = of("race.crowned");
    assert_eq!(
        (&picked[0]["data"]["winner"], &picked[0]["data"]["decidedBy"]),
        (&json!("b"), &json!("user:api"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tie_is_decided_by_name_when_enabled() -> Result<()> {
    let board = race_board(&["b", "a"], json!({ "nameDecides": true })).await?;
    let task = task(&board, &alike(), json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let race = race(&board, &task).await?;
    assert_eq!((&race["winner"], &race["decidedBy"]), (&json!("a"), &json!("name")), "{race:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_without_changes_loses_even_without_checks() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let blocks = [block("a", &["say nothing to do"]), block("b", &["edit good <<< \"b\\n\""])];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let race = race(&board, &task).await?;
    assert_eq!((&race["winner"], &race["decidedBy"]), (&json!("b"), &json!("gate")), "{race:#}");
    assert_eq!(entry(&race, "a")?["reason"], "it changed nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn raced_task_lists_its_winners_runs_and_their_logs() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let blocks = [
        block("a", &["say hello from a", "edit good <<< \"a\\n\"", "usage m 1 1 1"]),
        block("b", &["say hello from b", "edit good <<< \"b\\n\"", "usage m 1 1 2"]),
    ];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let winner = entry(&race(&board, &task).await?, "a")?;
    let runs = board.runs(&task).await?;
    let of: Vec<&Value> = runs.iter().map(|run| &run["task_id"]).collect();
    assert_eq!(of, [&winner["task_id"]], "{runs:#?}");
    for path in [
        format!("/tasks/{}/logs/{}", text(&task, "id"), text(&runs[0], "log_id")),
        format!("/executions/{}/logs", text(&runs[0], "id")),
    ] {
        let log = board.engine.get(&path).await?.to_string();
        assert!(log.contains("hello from a"), "{path}: {log}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn message_to_the_winners_run_goes_to_the_raced_task() -> Result<()> {
    let board = race_board(&["a"], json!({})).await?;
    board.patch(&format!("/projects/{}/settings", board.project), json!({ "auto_approve": false })).await?;
    let task = task(&board, &[block("a", &["append good <<< \"a\\n\""])], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let run = board.runs(&task).await?.remove(0);
    let path = format!("/executions/{}/follow-up", text(&run, "id"));
    board.engine.post(&path, json!({ "message": "once more" })).await?;
    board.engine.until(&task, |task| task["review"]["attempt_number"] == 2).await?;
    assert_eq!(board.runs(&task).await?[1]["task_id"], task["id"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn race_of_every_agent_starts_at_most_sixteen() -> Result<()> {
    let board =
        Board::new(json!({ "innerLoop": { "competitive": { "enabled": true, "maxParallel": 1 } } })).await?;
    for number in 0..19 {
        let config = json!({ "command": "sh", "args": ["-c", "sleep 600"] });
        let new = json!({ "name": format!("agent-{number}"), "adapter": "shell", "config": config });
        board.engine.post("/agents", new).await?;
    }
    let hangs = ["```forge-script\nhang\n```\n".to_owned()];
    let task = task(&board, &hangs, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["waiting"]["reason"] == "race_running").await?;
    let entries = race(&board, &task).await?["entries"].as_array().map(Vec::len);
    assert_eq!(entries, Some(16));
    let estimate = board.engine.get(&format!("/tasks/{}/race-estimate", text(&task, "id"))).await?;
    assert_eq!(estimate["entries"].as_array().map(Vec::len), Some(16), "{estimate:#}");
    board.act(&task, "actions/cancel", json!({})).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn shell_strategy_finds_its_model_and_effort() -> Result<()> {
    let board = race_board(&["a"], json!({})).await?;
    let line = "printf '%s %s' \"$FORGE_MODEL\" \"$FORGE_EFFORT\" >seen";
    let config = json!({ "command": "sh", "args": ["-c", line], "effort": "low" });
    let new = json!({ "name": "Teller", "adapter": "shell", "config": config, "model": "small" });
    let teller = board.engine.post("/agents", new).await?;
    let strategies = json!([{ "name": "a", "agent_id": teller["id"], "model": "large", "effort": "high" }]);
    let on = json!({ "innerLoop": { "competitive": { "strategies": strategies } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    let raced = task(&board, &[], json!({})).await?;
    board.claim(&raced).await?;
    board.engine.until(&raced, is("done")).await?;
    assert_eq!(git(&board, &["show", "main:seen"])?, "large high");
    // Without a race, the profile's own.
    let new = json!({ "title": "Alone", "roles": { "coder": teller["id"] } });
    let alone = board.engine.task(&board.project, new).await?;
    board.act(&alone, "claim", json!({ "agent_id": teller["id"] })).await?;
    board.engine.until(&alone, is("done")).await?;
    assert_eq!(git(&board, &["show", "main:seen"])?, "small low");
    Ok(())
}
