//! Costs of runs: reported by the program or computed from prices, counted once, and never beyond a limit.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, text};

super::both!(
    forked_and_resumed_runs_are_counted_once,
    run_of_unpriced_model_has_unknown_cost,
    run_at_its_cost_limit_is_stopped,
    run_beyond_task_or_daily_limit_is_not_started,
);
super::with!(with_opencode, OpenCode: forked_and_resumed_runs_are_counted_once);

const EACH: Tokens =
    Tokens { input_uncached: 1000, cache_read: 2000, cache_write: 0, output: 300, reasoning: 100 };
/// List prices of `gpt-5.5` in dollars per million tokens: 5 for input, 0.5 for cached input, 30 for output.
const EACH_OF_CODEX: u64 = 1000 * 5 + 2000 / 2 + 300 * 30;

/// Two model calls: one that edits, one that reports it.
fn two_calls(name: &str, when: Option<&str>, edit: (&str, &str)) -> Scenario {
    let scenario = Scenario::new(name);
    let scenario = match when {
        Some(words) => scenario.when(words),
        None => scenario,
    };
    scenario
        .turn(Turn::new().edit("README.md", edit.0, edit.1).tokens(EACH))
        .turn(Turn::new().say("So it is.").tokens(EACH))
}

fn cost(run: &Value) -> Result<u64> {
    run["cost_micro_usd"].as_u64().with_context(|| format!("its cost is unknown: {run:#}"))
}

async fn wait_for_review(fixture: &EngineFixture, task: &Value) -> Result<Value> {
    fixture.wait_for_task(task, |task| task["review"]["status"] == "awaiting_human").await
}

async fn forked_and_resumed_runs_are_counted_once(program: AgentProgram) -> Result<EngineFixture> {
    let settings = json!({
        "auto_approve": false,
        "review_config": { "ci_steps": ["if grep -q hello README.md; then echo 'README is rude'; exit 1; fi"] },
    });
    let fixture = EngineFixture::with(program, json!({}), settings).await?;
    let tag = fixture.server.script(two_calls("work", Some("once more"), ("goodbye", "farewell")));
    fixture.server.script(two_calls("work", Some("Review attempt 1"), ("hello you", "goodbye")));
    fixture.server.script(two_calls("work", None, ("hello", "hello you")));
    let task = fixture.started(&tag, json!({})).await?;
    wait_for_review(&fixture, &task).await?;
    let last = fixture.runs(&task).await?.pop().context("no run")?;
    fixture.follow_up(&last, "once more", json!({})).await?;
    fixture.wait_for_run(&task, |run| run["attempt"] == 3 && run["status"] == "finished").await?;
    let now = wait_for_review(&fixture, &task).await?;
    let runs = fixture.runs(&task).await?;
    let modes: Vec<_> = runs.iter().map(|run| text(run, "session_mode")).collect();
    assert_eq!(modes, ["new", "fork", "resume"], "{runs:#?}");
    // Of tokens opencode tells those of the last call alone.
    for run in runs.iter().filter(|_| program != AgentProgram::OpenCode) {
        let usage = &run["usage"];
        let told = ["input_uncached", "cache_read", "cache_write", "output", "reasoning"]
            .map(|key| usage[key].as_u64());
        assert_eq!(told, [2000, 4000, 0, 600, 200].map(Some), "{run:#}");
    }
    let costs = runs.iter().map(cost).collect::<Result<Vec<_>>>()?;
    let all: u64 = costs.iter().sum();
    assert_eq!(now["usage"]["cost_micro_usd"], all, "{now:#}");
    match program {
        AgentProgram::Codex => {
            assert_eq!(costs, [2 * EACH_OF_CODEX; 3]);
            ensure!(runs.iter().all(|run| run["cost_source"] == "computed"), "{runs:#?}");
            ensure!(
                runs.iter().all(|run| text(run, "price_version").starts_with("genai-prices ")),
                "{runs:#?}"
            );
        }
        AgentProgram::OpenCode | AgentProgram::Gemini => {
            let each = EACH.input_uncached + EACH.cache_read / 10 + EACH.output * 2;
            assert_eq!(costs, [2 * each; 3]);
            ensure!(runs.iter().all(|run| run["cost_source"] == "reported"), "{runs:#?}");
        }
        AgentProgram::Claude => {
            // The program's own total goes on over resumed and forked sessions.
            let total = fixture.reported_dollars(&task, &runs[2])?;
            let reported: u64 = format!("{:.0}", total * 1_000_000.0).parse()?;
            ensure!(all.abs_diff(reported) <= 3 && all > 0, "counted {all}, reported {reported}");
            ensure!(
                costs.iter().all(|cost| cost.abs_diff(all / 3) <= 1),
                "the same work, the same cost: {costs:?}"
            );
            ensure!(runs.iter().all(|run| run["cost_source"] == "reported"), "{runs:#?}");
        }
    }
    Ok(fixture)
}

async fn run_of_unpriced_model_has_unknown_cost(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({}), json!({ "auto_approve": false })).await?;
    fixture.change_agent(json!({ "model": "nobodys-model-1" })).await?;
    let tag = fixture.server.script(two_calls("work", None, ("hello", "goodbye")));
    let task = fixture.started(&tag, json!({})).await?;
    let now = wait_for_review(&fixture, &task).await?;
    let run = &fixture.runs(&task).await?[0];
    assert_eq!((&run["cost_source"], &run["cost_micro_usd"]), (&json!("unknown"), &Value::Null), "{run:#}");
    assert_eq!((&run["usage"]["output"], &run["price_version"]), (&json!(600), &Value::Null));
    assert_eq!(now["usage"]["runs_of_unknown_cost"], 1);
    // The project's own price is one.
    let price = json!({ "input": 1_000_000, "cache_read": 0, "output": 2_000_000 });
    fixture.set(json!({ "model_prices": { "nobodys-model-1": price } })).await?;
    fixture.server.script(two_calls("more", None, ("goodbye", "farewell")));
    fixture.follow_up(run, &Scenario::tag("more"), json!({})).await?;
    let run = fixture.wait_for_run(&task, |run| run["attempt"] == 2 && run["status"] == "finished").await?;
    assert_eq!((cost(&run)?, &run["price_version"]), (2000 + 600 * 2, &json!("project settings")), "{run:#}");
    Ok(fixture)
}

async fn run_at_its_cost_limit_is_stopped(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({}), json!({ "auto_approve": false })).await?;
    // What one run of two calls costs tells where to stop one of more.
    let tag = fixture.server.script(two_calls("work", None, ("hello", "goodbye")));
    let task = fixture.started(&tag, json!({})).await?;
    wait_for_review(&fixture, &task).await?;
    let first = fixture.runs(&task).await?.pop().context("no run")?;
    let each = cost(&first)? / 2;
    fixture.set(json!({ "cost_limits": { "execution_micro_usd": each * 5 / 2 } })).await?;
    let long = (0..8).fold(Scenario::new("long"), |it, n| {
        it.turn(Turn::new().run(format!("echo {n} >>long.txt")).tokens(EACH))
    });
    let tag = fixture.server.script(long);
    // It goes on in the same conversation: what was spent there before is not this run's.
    fixture.follow_up(&first, &tag, json!({})).await?;
    let task = fixture.wait_for_task(&task, |task| task["status"] == "blocked").await?;
    let run = fixture.runs(&task).await?.pop().context("no run")?;
    assert_eq!((&run["session_mode"], &run["error"]["code"]), (&json!("resume"), &json!("limit")), "{run:#}");
    ensure!(text(&run["error"], "message").contains("one run may cost"), "{run:#}");
    ensure!(text(&run["error"], "remedy").contains("Raise the limit"), "{run:#}");
    ensure!(cost(&run)? >= each * 5 / 2 && cost(&run)? <= each * 5, "{each} each: {run:#}");
    assert_eq!(text(&task["error_annotation"], "type"), "executor_failed");
    ensure!(fixture.server.requests().of("long").len() < 7, "it was not stopped");
    let told = fixture.items("/notifications").await?;
    ensure!(told.iter().any(|it| it["kind"] == "cost"), "nobody was warned: {told:#?}");
    Ok(fixture)
}

async fn run_beyond_task_or_daily_limit_is_not_started(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({}), json!({ "auto_approve": false })).await?;
    let tag = fixture.server.script(two_calls("work", None, ("hello", "goodbye")));
    let task = fixture.started(&tag, json!({})).await?;
    wait_for_review(&fixture, &task).await?;
    let first = fixture.runs(&task).await?.pop().context("no run")?;
    let spent = cost(&first)?;
    fixture.set(json!({ "cost_limits": { "task_micro_usd": spent } })).await?;
    fixture.follow_up(&first, "More.", json!({})).await?;
    let refused = fixture.wait_for_task(&task, |task| task["status"] == "blocked").await?;
    ensure!(refused["error_annotation"].to_string().contains("the task's limit of"), "{refused:#}");
    assert_eq!(fixture.runs(&task).await?.len(), 1, "it was begun");

    // The second task comes to more than 80 % of what the day may cost, the third is not begun.
    fixture
        .set(json!({ "cost_limits": { "task_micro_usd": null, "day_micro_usd": spent * 23 / 10 } }))
        .await?;
    let second = fixture.started(&tag, json!({})).await?;
    wait_for_review(&fixture, &second).await?;
    let told = fixture.items("/notifications").await?;
    let warned: Vec<_> =
        told.iter().filter(|it| it["kind"] == "cost" && it["task_id"] == second["id"]).collect();
    ensure!(warned.len() == 1 && text(warned[0], "body").contains("Today's work"), "{told:#?}");
    fixture.set(json!({ "cost_limits": { "day_micro_usd": spent * 2 } })).await?;
    let third = fixture.started(&tag, json!({})).await?;
    let waits = fixture.wait_for_task(&third, |task| task["waiting"]["reason"] == "cost_limit").await?;
    ensure!(waits["waiting"]["until"].is_string(), "{waits:#}");
    // It goes on by itself when more may be spent.
    fixture.set(json!({ "cost_limits": { "day_micro_usd": null } })).await?;
    wait_for_review(&fixture, &third).await?;
    Ok(fixture)
}
