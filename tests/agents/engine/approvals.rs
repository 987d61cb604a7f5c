//! Approvals that an agent requests, and what its program reports about itself.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::{Value, json};

use super::fixture::{EngineFixture, is, of_kind, text};

super::both!(
    approval_allowed_or_refused_has_its_effect,
    approval_of_a_stopped_run_expires,
    installed_program_is_detected_probed_and_tried,
);
super::with!(with_opencode, OpenCode: approval_allowed_or_refused_has_its_effect, approval_of_a_stopped_run_expires,);

/// Waits for a pending approval other than these.
pub async fn pending_approval(fixture: &EngineFixture, but: &[&str]) -> Result<Value> {
    let pick = |now: &Value| {
        let waiting =
            now["items"].as_array()?.iter().find(|it| !but.contains(&it["id"].as_str().unwrap_or_default()));
        waiting.cloned()
    };
    fixture.until("a question", "/approvals", pick).await
}

pub async fn answer_approval(
    fixture: &EngineFixture,
    asked: &Value,
    choice: &str,
    note: Option<&str>,
) -> Result<Value> {
    let options = asked["options"].as_array().context("no options")?;
    let option =
        options.iter().find(|it| it["choice"] == choice).with_context(|| format!("{choice}: {asked:#}"))?;
    let path = format!("/executions/{}/approvals/{}", text(asked, "execution_id"), text(asked, "id"));
    fixture.post(&path, json!({ "option": option["id"], "note": note })).await
}

async fn approval_allowed_or_refused_has_its_effect(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "ask" }), json!({})).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().run("echo yes >allowed.txt"))
            .turn(Turn::new().run("echo no >refused.txt"))
            .turn(Turn::new().say("So be it.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    let first = pending_approval(&fixture, &[]).await?;
    assert_eq!((&first["kind"], &first["status"]), (&json!("command"), &json!("pending")), "{first:#}");
    ensure!(text(&first, "title").contains("echo yes >allowed.txt"), "{first:#}");
    assert_eq!(first["task_id"], task["id"]);
    let run = fixture.wait_for_run(&task, |run| run["status"] == "waiting").await?;
    assert_eq!(first["execution_id"], run["id"]);
    let told = fixture.items("/notifications").await?;
    ensure!(told.iter().any(|it| it["kind"] == "agent_asks" && it["task_id"] == task["id"]), "{told:#?}");
    let needed = fixture.items("/attention").await?;
    ensure!(needed.iter().any(|it| it["id"] == task["id"]), "who is asked is needed: {needed:#?}");
    let asked = |page: &Value| {
        page["entries"].as_array()?.iter().find(|it| it["kind"] == "approval_request").cloned()
    };
    let log = format!("/executions/{}/logs?after=0&limit=200", text(&run, "id"));
    let entry = fixture.until("its entry in the log", &log, asked).await?;
    assert_eq!(entry["id"], first["ask"], "its entry in the log has its name");
    let tree = fixture.worktree(&task).await?;
    ensure!(!tree.join("allowed.txt").exists(), "it did not wait");

    let answered = answer_approval(&fixture, &first, "allow_once", None).await?;
    assert_eq!(
        (&answered["status"], &answered["answered_by"]),
        (&json!("answered"), &json!("user:api")),
        "{answered:#}"
    );
    let again = answer_approval(&fixture, &first, "allow_once", None)
        .await
        .err()
        .context("answered twice")?
        .to_string();
    ensure!(again.contains("409") && again.contains("not_awaiting"), "{again}");

    let second = pending_approval(&fixture, &[text(&first, "id").as_str()]).await?;
    ensure!(text(&second, "title").contains("echo no >refused.txt"), "{second:#}");
    answer_approval(&fixture, &second, "reject_once", None).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "allowed.txt").as_deref(), Some("yes"));
    ensure!(fixture.repo.show("main", "refused.txt").is_none(), "it did what was refused");
    let runs = fixture.runs(&task).await?;
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("finished")), "{runs:#?}");
    let log = fixture.log(&runs[0]).await?;
    let asked: Vec<String> =
        of_kind(&log, "approval_resolved").iter().map(|entry| text(entry, "status")).collect();
    assert_eq!(asked, ["completed", "declined"]);
    let all = fixture.items(&format!("/approvals?all=true&task_id={}", text(&task, "id"))).await?;
    ensure!(all.iter().all(|it| it["status"] == "answered"), "{all:#?}");
    Ok(fixture)
}

async fn approval_of_a_stopped_run_expires(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with(program, json!({ "permissions": "ask" }), json!({})).await?;
    let tag = fixture.server.script(Scenario::new("work").turn(Turn::new().run("echo yes >allowed.txt")));
    let task = fixture.started(&tag, json!({})).await?;
    let asked = pending_approval(&fixture, &[]).await?;
    let run = fixture.wait_for_run(&task, |run| run["status"] == "waiting").await?;
    fixture.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    fixture.wait_for_run(&task, |run| run["status"] == "cancelled").await?;
    let all = fixture.items("/approvals?all=true").await?;
    assert_eq!((all.len(), &all[0]["status"]), (1, &json!("expired")), "{all:#?}");
    ensure!(fixture.items("/approvals").await?.is_empty(), "nothing waits");
    let late = answer_approval(&fixture, &asked, "allow_once", None)
        .await
        .err()
        .context("answered too late")?
        .to_string();
    ensure!(late.contains("409") && late.contains("not_awaiting"), "{late}");
    Ok(fixture)
}

async fn installed_program_is_detected_probed_and_tried(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = EngineFixture::with_program_on_path(program).await?;
    let name = fixture.name();
    let known = fixture.items("/agents/detect").await?;
    let found = known.iter().find(|it| it["config"]["program"] == name).context("it is not known")?;
    assert_eq!(
        (&found["check"]["found"], &found["profiles"]),
        (&json!(true), &json!(["Robot"])),
        "{found:#}"
    );
    let version = text(&found["check"], "version");
    ensure!(version.starts_with(|c: char| c.is_ascii_digit()), "{found:#}");
    assert_eq!(found["check"]["program"], fixture.path("bin").join(name).to_string_lossy().as_ref());

    let profile = json!({ "adapter": name, "config": fixture.config(&json!({})) });
    let probed = fixture.post("/agents/probe", profile.clone()).await?;
    assert_eq!((&probed["found"], &probed["version"]), (&json!(true), &json!(version)), "{probed:#}");
    ensure!(probed["signed_in"] != false, "it has a key: {probed:#}");
    let missing = json!({ "adapter": name, "config": { "program": "/nowhere/agent" } });
    let probed = fixture.post("/agents/probe", missing).await?;
    ensure!(probed["found"] == false && probed["remedy"].is_string(), "{probed:#}");

    let offered = fixture.post("/agents/models", profile).await?;
    let models = offered["models"].as_array().context("no models")?;
    ensure!(models.iter().filter(|model| model["is_default"] == true).count() == 1, "{offered:#}");
    ensure!(
        models.iter().all(|model| !text(model, "id").is_empty() && !text(model, "name").is_empty()),
        "{offered:#}"
    );

    fixture.server.script(
        Scenario::new("trial").untagged("Answer with the one word `ready`").turn(Turn::new().say("ready")),
    );
    let path = format!("/agents/{}/try", fixture.agent);
    let trial = fixture.post(&path, json!({})).await?;
    assert_eq!((&trial["ok"], &trial["text"]), (&json!(true), &json!("ready")), "{trial:#}");
    ensure!(trial["cost_micro_usd"].as_u64().is_some_and(|cost| cost > 0), "{trial:#}");
    fixture.server.go_offline().await;
    let trial = fixture.post(&path, json!({})).await?;
    ensure!(trial["ok"] == false && trial["problem"].is_string() && trial["remedy"].is_string(), "{trial:#}");
    ensure!(fixture.items("/runs").await?.is_empty(), "a trial is nobody's run");
    Ok(fixture)
}
