//! A race of real programs: two entries of one program with two models, of which the cheaper one wins.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use serde_json::{Value, json};

use super::floor::{Floor, is, text};

super::both!(
    the_cheaper_model_wins_and_its_work_is_the_tasks,
    a_winner_that_is_sent_back_goes_on_in_its_conversation,
);

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

/// A project in which the program races with both models, and the tag of what it is scripted to do: `first`, where that
/// fits, else an entry's part.
async fn raced(program: AgentProgram, settings: Value, first: Option<Scenario>) -> Result<(Floor, String)> {
    let floor = Floor::with(program, json!({}), settings).await?;
    first.map(|scenario| floor.server.script(scenario));
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
    floor.set(on).await?;
    floor.change_agent(json!({ "max_concurrent": 2 })).await?;
    let tag = floor.server.script(entry("Be thorough about it.", "good day"));
    floor.server.script(entry("Be quick about it.", "hi"));
    Ok((floor, tag))
}

async fn the_cheaper_model_wins_and_its_work_is_the_tasks(program: AgentProgram) -> Result<Floor> {
    let checks = json!({ "review_config": { "ci_steps": ["! grep -q hello README.md"] } });
    let (floor, tag) = raced(program, checks, None).await?;
    let (dear, cheap) = models(program);
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

async fn a_winner_that_is_sent_back_goes_on_in_its_conversation(program: AgentProgram) -> Result<Floor> {
    let mends = Scenario::new("work")
        .when("say it louder")
        .turn(Turn::new().edit("README.md", "hi", "HI").tokens(EACH))
        .turn(Turn::new().say("Louder.").tokens(EACH));
    let (floor, tag) = raced(program, json!({ "auto_approve": false }), Some(mends)).await?;
    let (_, cheap) = models(program);
    let task = floor.started(&tag, json!({ "race": { "enabled": true } })).await?;
    let waits = |task: &Value| task["review"]["status"] == "awaiting_human";
    floor.task_is(&task, waits).await?;
    floor.act(&task, "review/reject?wait=none", json!({ "reason": "say it louder" })).await?;
    floor.task_is(&task, |task| waits(task) && task["review"]["attempt_number"] == 2).await?;
    floor.act(&task, "review/approve?wait=none", json!({})).await?;
    floor.task_is(&task, is("done")).await?;
    assert_eq!(floor.repo.show("main", "README.md").as_deref(), Some("HI"));

    let races = floor.get(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let entries = races["items"][0]["entries"].as_array().context("no entries")?;
    let winner = entries.iter().find(|entry| entry["strategy"]["name"] == "cheap").context("no winner")?;
    let of_entry = floor.runs(&json!({ "id": winner["task_id"] })).await?;
    let runs = floor.runs(&task).await?;
    let [run] = runs.as_slice() else { anyhow::bail!("{} runs: {runs:#?}", runs.len()) };
    assert_eq!(
        (&run["session_mode"], &run["from_session"], &run["parent_execution_id"]),
        (&json!("fork"), &of_entry[0]["session_id"], &of_entry[0]["id"]),
        "{run:#}"
    );
    let asked = floor.server.requests().of("work");
    let asked: Vec<_> = asked.iter().filter(|request| request.was_told("say it louder")).collect();
    ensure!(asked.len() == 2, "{} requests", asked.len());
    for request in asked {
        ensure!(request.model == cheap && request.was_told("Be quick about it."), "{}", request.model);
        ensure!(request.remembers("Done."), "it forgot what it did in the race: {:?}", request.messages);
    }
    Ok(floor)
}
