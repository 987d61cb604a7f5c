//! Retention of a race's losers, with a clock that is set forward.

use anyhow::{Context as _, Result};
use forge_testkit::Sandbox;
use forge_tests::patience::until;
use serde_json::{Value, json};

use crate::retention::restart_days_later;

async fn entries(sandbox: &Sandbox, task: &Value) -> Result<[Value; 2]> {
    let races = sandbox.call("task_races", json!({ "task_id": task["id"] })).await?;
    let race = races["items"][0].clone();
    let named = |name: &str| {
        let all = race["entries"].as_array().into_iter().flatten();
        all.clone().find(|entry| entry["strategy"] == name).cloned().context("no such entry")
    };
    Ok([named("cheap")?, named("dear")?])
}

/// The first changed path of an entry and whether its log has lines, or the error codes.
async fn diff_and_log(sandbox: &Sandbox, entry: &Value) -> Result<(Value, Value)> {
    let diff = sandbox.call("task_diff", json!({ "task_id": entry["task_id"] })).await;
    let paths = diff.map_or_else(|error| json!(error.code), |diff| diff["files"][0]["path"].clone());
    let runs = sandbox.call("task_executions", json!({ "task_id": entry["task_id"] })).await?;
    let log = sandbox.call("execution_logs", json!({ "execution_id": runs["items"][0]["id"] })).await;
    let lines = log.map_or_else(|error| json!(error.code), |log| json!(log["entries"] != json!([])));
    Ok((paths, lines))
}

#[tokio::test(flavor = "multi_thread")]
async fn race_losers_are_removed_after_their_days() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let named = |name: &str| json!({ "name": name, "agent_id": sandbox.agent });
    let competitive =
        json!({ "enabled": true, "keepLosersDays": 3, "strategies": [named("cheap"), named("dear")] });
    let patch = json!({ "project_id": sandbox.project, "innerLoop": { "competitive": competitive } });
    sandbox.call("project_settings_update", patch).await?;
    let block = |name: &str, cost: u32| {
        format!("```forge-script strategy={name}\nedit {name} <<< \"x\\n\"\nusage m 1 1 {cost}\n```\n")
    };
    let script = [block("cheap", 1), block("dear", 2)].concat();
    let task = sandbox.described("Raced", &script, json!({ "race": { "enabled": true } })).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;
    let [winner, loser] = entries(&sandbox, &task).await?;
    let kept = loser["branch"].as_str().context("the loser has no branch")?.to_owned();
    let branch = |sandbox: &Sandbox| sandbox.repo.git(&["rev-parse", "--verify", "--quiet", &kept]).ok();
    assert_eq!(branch(&sandbox).as_deref().map(str::trim), loser["commit"].as_str());
    assert_eq!(diff_and_log(&sandbox, &loser).await?, (json!("dear"), json!(true)));

    // A clock that jumps makes nothing old: of each pause a day counts.
    restart_days_later(&mut sandbox, 40).await?;
    assert!(branch(&sandbox).is_some(), "it went because a clock jumped");
    restart_days_later(&mut sandbox, 41).await?;
    assert!(branch(&sandbox).is_some(), "it went before its time");
    assert_eq!(diff_and_log(&sandbox, &loser).await?, (json!("dear"), json!(true)));

    for day in 42..46 {
        restart_days_later(&mut sandbox, day).await?;
    }
    until("the end of the loser's branch", async || {
        Ok(entries(&sandbox, &task).await?[1]["branch"].is_null().then_some(()))
    })
    .await?;
    assert_eq!(branch(&sandbox), None);
    let (diff, log) = diff_and_log(&sandbox, &loser).await?;
    assert_eq!(diff, "workspace_missing");
    assert_ne!(log, json!(true), "its log is left");
    // What was found out stays, and so does what the winner did.
    let [_, now] = entries(&sandbox, &task).await?;
    for fact in ["gate", "cost_micro_usd", "duration_ms", "diff_stat"] {
        assert_eq!(now[fact], loser[fact], "{fact}");
    }
    assert_eq!(diff_and_log(&sandbox, &winner).await?, (json!("cheap"), json!(true)));
    Ok(())
}
