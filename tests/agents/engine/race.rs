//! A race of real programs: two entries of one program with two models, of which the cheaper one wins.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Tokens, Turn};
use serde_json::{Value, json};

use super::{
    approvals::answer_approval,
    fixture::{EngineFixture, is, text},
};

super::both!(
    cheaper_model_wins_and_its_work_becomes_the_tasks,
    winner_sent_back_continues_its_session,
    auditor_scores_entries_without_knowing_their_agents,
    approval_of_an_entry_is_answered_at_the_raced_task,
);

const EACH: Tokens =
    Tokens { input_uncached: 2000, cache_read: 0, cache_write: 0, output: 500, reasoning: 0 };

/// An entry that replaces `hello`.
fn entry(told: &str, word: &str) -> Scenario {
    Scenario::new("work")
        .when(told)
        .turn(Turn::new().edit("README.md", "hello", word).tokens(EACH))
        .turn(Turn::new().say("Done.").tokens(EACH))
}

/// An expensive and a cheap model.
fn models(program: AgentProgram) -> (&'static str, &'static str) {
    match program {
        AgentProgram::Claude => ("claude-opus-5-5", "claude-haiku-4-5"),
        // Another name of the same family, whose tools are plain calls, too; its price is the project's.
        _ => ("gpt-5.5", "gpt-5.5-mini"),
    }
}

/// A project in which the program races with both models, and the tag of what it is scripted to do: `first`, where that
/// fits, else an entry's part.
async fn race_fixture(
    program: AgentProgram,
    settings: Value,
    first: Option<Scenario>,
) -> Result<(EngineFixture, String)> {
    let fixture = EngineFixture::with(program, json!({}), settings).await?;
    first.map(|scenario| fixture.server.script(scenario));
    let (dear, cheap) = models(program);
    let strategy = |name: &str, model: &str, words: &str| json!({ "name": name, "agent_id": fixture.agent, "model": model, "prompt_suffix": words });
    let strategies = json!([
        strategy("dear", dear, "Be thorough about it."),
        strategy("cheap", cheap, "Be quick about it.")
    ]);
    let on = json!({
        "innerLoop": { "competitive": { "enabled": true, "strategies": strategies } },
        "model_prices": { "gpt-5.5-mini": { "input": 1_000_000, "output": 4_000_000 } },
    });
    fixture.set(on).await?;
    fixture.change_agent(json!({ "max_concurrent": 2 })).await?;
    let tag = fixture.server.script(entry("Be thorough about it.", "good day"));
    fixture.server.script(entry("Be quick about it.", "hi"));
    Ok((fixture, tag))
}

async fn cheaper_model_wins_and_its_work_becomes_the_tasks(program: AgentProgram) -> Result<EngineFixture> {
    let checks = json!({ "review_config": { "ci_steps": ["! grep -q hello README.md"] } });
    let (fixture, tag) = race_fixture(program, checks, None).await?;
    let (dear, cheap) = models(program);
    let task = fixture.started(&tag, json!({ "race": { "enabled": true } })).await?;
    let done = fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("hi"));

    let races = fixture.get(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let race = &races["items"][0];
    assert_eq!(
        (text(race, "winner").as_str(), text(race, "status").as_str()),
        ("cheap", "promoted"),
        "{race:#}"
    );
    assert_eq!(race["decidedBy"], "cost");
    let mut sum = 0;
    for entry in race["entries"].as_array().context("no entries")? {
        let runs = fixture.runs(&json!({ "id": entry["task_id"] })).await?;
        let asked: Vec<&Value> = runs.iter().collect();
        ensure!(asked.len() == 1 && asked[0]["status"] == "finished", "{runs:#?}");
        let model = if entry["strategy"] == "cheap" { cheap } else { dear };
        ensure!(asked[0]["models"].to_string().contains(model), "{runs:#?}");
        sum += entry["cost_micro_usd"].as_u64().context("its cost is unknown")?;
    }
    assert_eq!(done["usage"]["cost_micro_usd"], sum, "the loser's cost is the task's, too");
    // Each model was asked for what it was told, and nobody was told of the other.
    for (told, other, model) in [
        ("Be thorough about it.", "Be quick about it.", dear),
        ("Be quick about it.", "Be thorough about it.", cheap),
    ] {
        let of_it: Vec<_> = fixture
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
    // The last one goes in a step after the one that ends the task.
    forge_tests::patience::until("one worktree", async || {
        Ok((fixture.repo.git(&["worktree", "list"])?.lines().count() == 1).then_some(()))
    })
    .await?;
    Ok(fixture)
}

async fn winner_sent_back_continues_its_session(program: AgentProgram) -> Result<EngineFixture> {
    let mends = Scenario::new("work")
        .when("say it louder")
        .turn(Turn::new().edit("README.md", "hi", "HI").tokens(EACH))
        .turn(Turn::new().say("Louder.").tokens(EACH));
    let (fixture, tag) = race_fixture(program, json!({ "auto_approve": false }), Some(mends)).await?;
    let (_, cheap) = models(program);
    let task = fixture.started(&tag, json!({ "race": { "enabled": true } })).await?;
    let waits = |task: &Value| task["review"]["status"] == "awaiting_human";
    fixture.wait_for_task(&task, waits).await?;
    fixture.act(&task, "review/reject?wait=none", json!({ "reason": "say it louder" })).await?;
    fixture.wait_for_task(&task, |task| waits(task) && task["review"]["attempt_number"] == 2).await?;
    fixture.act(&task, "review/approve?wait=none", json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("HI"));

    let races = fixture.get(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let entries = races["items"][0]["entries"].as_array().context("no entries")?;
    let winner = entries.iter().find(|entry| entry["strategy"] == "cheap").context("no winner")?;
    let of_entry = fixture.runs(&json!({ "id": winner["task_id"] })).await?;
    let runs = fixture.runs(&task).await?;
    // The winner's run is the task's, too.
    let [_, run] = runs.as_slice() else { anyhow::bail!("{} runs: {runs:#?}", runs.len()) };
    assert_eq!(
        (&run["session_mode"], &run["from_session"], &run["parent_execution_id"]),
        (&json!("fork"), &of_entry[0]["session_id"], &of_entry[0]["id"]),
        "{run:#}"
    );
    let asked = fixture.server.requests().of("work");
    let asked: Vec<_> = asked.iter().filter(|request| request.was_told("say it louder")).collect();
    ensure!(asked.len() == 2, "{} requests", asked.len());
    for request in asked {
        ensure!(request.model == cheap && request.was_told("Be quick about it."), "{}", request.model);
        ensure!(request.remembers("Done."), "it forgot what it did in the race: {:?}", request.messages);
    }
    Ok(fixture)
}

async fn auditor_scores_entries_without_knowing_their_agents(program: AgentProgram) -> Result<EngineFixture> {
    let judges = Scenario::new("work")
        .when("===REVIEW: PASS===")
        .turn(Turn::new().say("Fine.\n\n===SCORE: 70===\n===REVIEW: PASS==="));
    let (fixture, tag) = race_fixture(program, json!({}), Some(judges)).await?;
    fixture.set(json!({ "innerLoop": { "reviewer": { "enabled": true } } })).await?;
    let roles = json!({ "coder": fixture.agent, "reviewer": fixture.agent });
    let task = fixture.started(&tag, json!({ "race": { "enabled": true }, "roles": roles })).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let races = fixture.get(&format!("/tasks/{}/races", text(&task, "id"))).await?;
    let race = &races["items"][0];
    assert_eq!(race["winner"], "cheap", "both score the same, and it costs less: {race:#}");
    let rules: Vec<_> = race["trail"].as_array().into_iter().flatten().map(|it| text(it, "rule")).collect();
    assert_eq!(rules.last().map(String::as_str), Some("cost"));
    for entry in race["entries"].as_array().context("no entries")? {
        assert_eq!(entry["score"], 70.0, "{entry:#}");
        let runs = fixture.runs(&json!({ "id": entry["task_id"] })).await?;
        let [_, audit] = runs.as_slice() else { anyhow::bail!("{} runs: {runs:#?}", runs.len()) };
        assert_eq!((text(audit, "role").as_str(), text(audit, "session_mode").as_str()), ("reviewer", "new"));
        assert_eq!(audit["from_session"], Value::Null);
    }
    // The two that score entries see no words of theirs and no names; the task's own goes on from the winner.
    let asked = fixture.server.requests().of("work");
    let audits: Vec<_> = asked.iter().filter(|it| it.was_told("===REVIEW: PASS===")).collect();
    let blind = audits.iter().filter(|it| !it.was_told("Be quick about it.") && !it.remembers("Done."));
    ensure!(blind.clone().count() >= 2, "{} of {}", blind.count(), audits.len());
    for request in blind {
        for secret in ["Be thorough about it.", "\"cheap\"", "\"dear\"", "race-1-"] {
            ensure!(!request.was_told(secret), "it was told of {secret}");
        }
    }
    Ok(fixture)
}

async fn approval_of_an_entry_is_answered_at_the_raced_task(program: AgentProgram) -> Result<EngineFixture> {
    let asks = Scenario::new("work")
        .when("Be quick about it.")
        .turn(Turn::new().run("echo yes >allowed.txt").tokens(EACH))
        .turn(Turn::new().say("Done.").tokens(EACH));
    let (fixture, tag) = race_fixture(program, json!({}), Some(asks)).await?;
    let config = fixture.config(&json!({ "permissions": "ask" }));
    fixture.change_agent(json!({ "config": config })).await?;
    let only = json!({ "name": "cheap", "agent_id": fixture.agent, "prompt_suffix": "Be quick about it." });
    let task = fixture.started(&tag, json!({ "race": { "enabled": true, "strategies": [only] } })).await?;
    let path = format!("/approvals?task_id={}", text(&task, "id"));
    let asked = fixture.until("a question", &path, |now| now["items"].get(0).cloned()).await?;
    assert_eq!(asked["raced"], json!({ "task_id": task["id"], "name": "cheap" }), "{asked:#}");
    assert_ne!(asked["task_id"], task["id"]);
    let told = fixture.items("/notifications").await?;
    ensure!(told.iter().any(|it| it["kind"] == "agent_asks" && it["task_id"] == task["id"]), "{told:#?}");
    let needed: Vec<_> = fixture.items("/attention").await?.iter().map(|it| text(it, "id")).collect();
    assert_eq!(needed, [text(&task, "id")], "the raced task needs the person, and nothing that nobody knows");
    answer_approval(&fixture, &asked, "allow_once", None).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "allowed.txt").as_deref(), Some("yes"));
    let all = fixture.items(&format!("{path}&all=true")).await?;
    assert_eq!((all.len(), text(&all[0], "status").as_str()), (1, "answered"), "{all:#?}");
    Ok(fixture)
}
