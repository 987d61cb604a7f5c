//! A race of real programs: two entries of one program with two models, of which the cheaper one wins.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use reqwest::Method;
use serde_json::{Value, json};

use super::floor::{Floor, is, text};

super::both!(the_cheaper_model_wins_and_its_work_is_the_tasks);

const EACH: Tokens =
    Tokens { input_uncached: 2000, cache_read: 0, cache_write: 0, output: 500, reasoning: 0 };

/// An entry that says another word for `hello`.
fn entry(told: &str, word: &str) -> Scenario {
    Scenario::new("work")
        .when(told)
        .turn(Turn::new().edit("README.md", "hello", word).tokens(EACH))
        .turn(Turn::new().say("Done.").tokens(EACH))
}

/// A model that costs much and one that costs little.
fn models(program: AgentProgram) -> (&'static str, &'static str) {
    match program {
        AgentProgram::Claude => ("claude-opus-5-5", "claude-haiku-4-5"),
        // Another name of the same family, whose tools are plain calls, too; its price is the project's.
        _ => ("gpt-5.5", "gpt-5.5-mini"),
    }
}

async fn the_cheaper_model_wins_and_its_work_is_the_tasks(program: AgentProgram) -> Result<Floor> {
    let checks = json!({ "review_config": { "ci_steps": ["! grep -q hello README.md"] } });
    let floor = Floor::with(program, json!({}), checks).await?;
    let (dear, cheap) = models(program);
    let strategy = |name: &str, model: &str, words: &str| json!({ "name": name, "agent_id": floor.agent, "model": model, "prompt_suffix": words });
    let strategies = json!([
        strategy("dear", dear, "Be thorough about it."),
        strategy("cheap", cheap, "Be quick about it.")
    ]);
    let on = json!({
        "innerLoop": { "competitive": { "enabled": true, "strategies": strategies } },
        "model_prices": { "gpt-5.5-mini": { "input": 1_000_000, "output": 4_000_000 } },
    });
    let settings = format!("/projects/{}/settings", floor.project);
    floor.served()?.call(Method::PATCH, &settings, Some(on)).await?;
    let two = json!({ "max_concurrent": 2 });
    floor.served()?.call(Method::PATCH, &format!("/agents/{}", floor.agent), Some(two)).await?;
    let tag = floor.server.script(entry("Be thorough about it.", "good day"));
    floor.server.script(entry("Be quick about it.", "hi"));
    let task = floor.started(&tag, json!({ "race": { "enabled": true } })).await?;
    let done = floor.task_is(&task, is("done")).await?;
    assert_eq!(floor.repo.show("main", "README.md").as_deref(), Some("hi"));

    let races = floor.get(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let race = &races["items"][0];
    assert_eq!(
        (text(race, "winner").as_str(), text(race, "status").as_str()),
        ("cheap", "promoted"),
        "{race:#}"
    );
    assert_eq!(race["election"]["decided_by"], "cost");
    let mut sum = 0;
    for entry in race["entries"].as_array().context("no entries")? {
        let runs = floor.runs(&json!({ "id": entry["task_id"] })).await?;
        let asked: Vec<&Value> = runs.iter().collect();
        ensure!(asked.len() == 1 && asked[0]["status"] == "finished", "{runs:#?}");
        let model = if entry["strategy"]["name"] == "cheap" { cheap } else { dear };
        ensure!(asked[0]["models"].to_string().contains(model), "{runs:#?}");
        sum += entry["cost_micro_usd"].as_u64().context("its cost is unknown")?;
    }
    assert_eq!(done["usage"]["cost_micro_usd"], sum, "the loser's cost is the task's, too");
    // Each model was asked for what it was told, and nobody was told of the other.
    for (told, other, model) in [
        ("Be thorough about it.", "Be quick about it.", dear),
        ("Be quick about it.", "Be thorough about it.", cheap),
    ] {
        let of_it: Vec<_> = floor
            .server
            .requests()
            .of("work")
            .iter()
            .filter(|request| request.was_told(told))
            .cloned()
            .collect();
        ensure!(!of_it.is_empty(), "nobody was told `{told}`");
        for request in of_it {
            ensure!(request.model == model && !request.was_told(other), "{}", request.model);
        }
    }
    let worktrees = floor.repo.git(&["worktree", "list"])?;
    ensure!(worktrees.lines().count() == 1, "a worktree is left:\n{worktrees}");
    Ok(floor)
}
