//! What an agent asks before it does it, and what its program says about itself.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::{Value, json};

use super::fixture::{Floor, is, of_kind, text};

super::both!(
    approval_allowed_or_refused_has_its_effect,
    approval_of_a_stopped_run_expires,
    installed_program_is_detected_probed_and_tried,
);
super::with!(with_opencode, OpenCode: approval_allowed_or_refused_has_its_effect, approval_of_a_stopped_run_expires,);

/// A question that waits, but for these.
pub async fn question(floor: &Floor, but: &[&str]) -> Result<Value> {
    let pick = |now: &Value| {
        let waiting =
            now["items"].as_array()?.iter().find(|it| !but.contains(&it["id"].as_str().unwrap_or_default()));
        waiting.cloned()
    };
    floor.until("a question", "/approvals", pick).await
}

pub async fn answer(floor: &Floor, asked: &Value, choice: &str, note: Option<&str>) -> Result<Value> {
    let options = asked["options"].as_array().context("no options")?;
    let option =
        options.iter().find(|it| it["choice"] == choice).with_context(|| format!("{choice}: {asked:#}"))?;
    let path = format!("/executions/{}/approvals/{}", text(asked, "execution_id"), text(asked, "id"));
    floor.post(&path, json!({ "option": option["id"], "note": note })).await
}

async fn approval_allowed_or_refused_has_its_effect(program: AgentProgram) -> Result<Floor> {
    let floor = Floor::with(program, json!({ "permissions": "ask" }), json!({})).await?;
    let tag = floor.server.script(
        Scenario::new("work")
            .turn(Turn::new().run("echo yes >allowed.txt"))
            .turn(Turn::new().run("echo no >refused.txt"))
            .turn(Turn::new().say("So be it.")),
    );
    let task = floor.started(&tag, json!({})).await?;
    let first = question(&floor, &[]).await?;
    assert_eq!((&first["kind"], &first["status"]), (&json!("command"), &json!("pending")), "{first:#}");
    ensure!(text(&first, "title").contains("echo yes >allowed.txt"), "{first:#}");
    assert_eq!(first["task_id"], task["id"]);
    let run = floor.run_is(&task, |run| run["status"] == "waiting").await?;
    assert_eq!(first["execution_id"], run["id"]);
    let told = floor.items("/notifications").await?;
    ensure!(told.iter().any(|it| it["kind"] == "agent_asks" && it["task_id"] == task["id"]), "{told:#?}");
    let needed = floor.items("/attention").await?;
    ensure!(needed.iter().any(|it| it["id"] == task["id"]), "who is asked is needed: {needed:#?}");
    let entry = floor.log(&run).await?.into_iter().find(|it| it["kind"] == "approval_request");
    assert_eq!(entry.context("no entry")?["id"], first["ask"], "its entry in the log has its name");
    let tree = floor.worktree(&task).await?;
    ensure!(!tree.join("allowed.txt").exists(), "it did not wait");

    let answered = answer(&floor, &first, "allow_once", None).await?;
    assert_eq!(
        (&answered["status"], &answered["answered_by"]),
        (&json!("answered"), &json!("user:api")),
        "{answered:#}"
    );
    let again = answer(&floor, &first, "allow_once", None).await.err().context("answered twice")?.to_string();
    ensure!(again.contains("409") && again.contains("not_awaiting"), "{again}");

    let second = question(&floor, &[text(&first, "id").as_str()]).await?;
    ensure!(text(&second, "title").contains("echo no >refused.txt"), "{second:#}");
    answer(&floor, &second, "reject_once", None).await?;
    floor.task_is(&task, is("done")).await?;
    assert_eq!(floor.repo.show("main", "allowed.txt").as_deref(), Some("yes"));
    ensure!(floor.repo.show("main", "refused.txt").is_none(), "it did what was refused");
    let runs = floor.runs(&task).await?;
    assert_eq!((runs.len(), &runs[0]["status"]), (1, &json!("finished")), "{runs:#?}");
    let log = floor.log(&runs[0]).await?;
    let asked: Vec<String> =
        of_kind(&log, "approval_resolved").iter().map(|entry| text(entry, "status")).collect();
    assert_eq!(asked, ["completed", "declined"]);
    let all = floor.items(&format!("/approvals?all=true&task_id={}", text(&task, "id"))).await?;
    ensure!(all.iter().all(|it| it["status"] == "answered"), "{all:#?}");
    Ok(floor)
}

async fn approval_of_a_stopped_run_expires(program: AgentProgram) -> Result<Floor> {
    let floor = Floor::with(program, json!({ "permissions": "ask" }), json!({})).await?;
    let tag = floor.server.script(Scenario::new("work").turn(Turn::new().run("echo yes >allowed.txt")));
    let task = floor.started(&tag, json!({})).await?;
    let asked = question(&floor, &[]).await?;
    let run = floor.run_is(&task, |run| run["status"] == "waiting").await?;
    floor.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    floor.run_is(&task, |run| run["status"] == "cancelled").await?;
    let all = floor.items("/approvals?all=true").await?;
    assert_eq!((all.len(), &all[0]["status"]), (1, &json!("expired")), "{all:#?}");
    ensure!(floor.items("/approvals").await?.is_empty(), "nothing waits");
    let late =
        answer(&floor, &asked, "allow_once", None).await.err().context("answered too late")?.to_string();
    ensure!(late.contains("409") && late.contains("not_awaiting"), "{late}");
    Ok(floor)
}

async fn installed_program_is_detected_probed_and_tried(program: AgentProgram) -> Result<Floor> {
    let floor = Floor::on_the_path(program).await?;
    let name = floor.name();
    let known = floor.items("/agents/detect").await?;
    let found = known.iter().find(|it| it["config"]["program"] == name).context("it is not known")?;
    assert_eq!(
        (&found["check"]["found"], &found["profiles"]),
        (&json!(true), &json!(["Robot"])),
        "{found:#}"
    );
    let version = text(&found["check"], "version");
    ensure!(version.starts_with(|c: char| c.is_ascii_digit()), "{found:#}");
    assert_eq!(found["check"]["program"], floor.path("bin").join(name).to_string_lossy().as_ref());

    let profile = json!({ "adapter": name, "config": floor.config(&json!({})) });
    let probed = floor.post("/agents/probe", profile.clone()).await?;
    assert_eq!((&probed["found"], &probed["version"]), (&json!(true), &json!(version)), "{probed:#}");
    ensure!(probed["signed_in"] != false, "it has a key: {probed:#}");
    let missing = json!({ "adapter": name, "config": { "program": "/nowhere/agent" } });
    let probed = floor.post("/agents/probe", missing).await?;
    ensure!(probed["found"] == false && probed["remedy"].is_string(), "{probed:#}");

    let offered = floor.post("/agents/models", profile).await?;
    let models = offered["models"].as_array().context("no models")?;
    ensure!(models.iter().filter(|model| model["is_default"] == true).count() == 1, "{offered:#}");
    ensure!(
        models.iter().all(|model| !text(model, "id").is_empty() && !text(model, "name").is_empty()),
        "{offered:#}"
    );

    floor.server.script(
        Scenario::new("trial").untagged("Answer with the one word `ready`").turn(Turn::new().say("ready")),
    );
    let path = format!("/agents/{}/try", floor.agent);
    let trial = floor.post(&path, json!({})).await?;
    assert_eq!((&trial["ok"], &trial["text"]), (&json!(true), &json!("ready")), "{trial:#}");
    ensure!(trial["cost_micro_usd"].as_u64().is_some_and(|cost| cost > 0), "{trial:#}");
    floor.server.go_offline().await;
    let trial = floor.post(&path, json!({})).await?;
    ensure!(trial["ok"] == false && trial["problem"].is_string() && trial["remedy"].is_string(), "{trial:#}");
    ensure!(floor.items("/runs").await?.is_empty(), "a trial is nobody's run");
    Ok(floor)
}
