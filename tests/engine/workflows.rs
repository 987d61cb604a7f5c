//! Workflow definitions: validation, changes while tasks exist, definitions in the repository; and plans
//! that an agent writes and a person approves.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Caller, Folder, LocalEngine,
    board::text,
    caller::{good, refused},
};
use reqwest::Method;
use serde_json::{Value, json};

const FILE: &str = ".forge/workflow.json";

async fn definition(engine: &Caller, preset: &str) -> Result<Value> {
    let presets = engine.get("/workflow/presets").await?;
    let found = presets["items"].as_array().context("a list")?.iter().find(|one| one["name"] == preset);
    Ok(found.with_context(|| format!("no preset {preset}"))?["workflow"].clone())
}

async fn put(engine: &Caller, project: &str, body: &Value) -> Result<Value> {
    let request = engine.request(Method::PUT, &format!("/projects/{project}/workflow")).json(body);
    good(request.send().await?)
}

async fn put_refused(engine: &Caller, project: &str, body: &Value) -> Result<(u16, Value)> {
    refused(engine.request(Method::PUT, &format!("/projects/{project}/workflow")).json(body)).await
}

async fn patch_settings(engine: &Caller, project: &str, body: Value) -> Result<Value> {
    let request = engine.request(Method::PATCH, &format!("/projects/{project}/settings")).json(&body);
    good(request.send().await?)
}

fn paths(found: &Value) -> Vec<String> {
    found.as_array().into_iter().flatten().map(|finding| text(finding, "path")).collect()
}

/// Adds a manual state between Todo and work.
fn with_a_state(mut workflow: Value) -> Value {
    let state = json!({
        "name": "ready", "display_name": "Ready", "kind": "custom", "column": "Ready",
        "triggers": { "accept": { "to": "in_progress" } }
    });
    workflow["states"][1]["triggers"]["later"] = json!({ "to": "ready" });
    if let Some(states) = workflow["states"].as_array_mut() {
        states.insert(2, state);
    }
    workflow
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_definition_reports_all_findings_at_once() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let good = definition(&engine, "default").await?;
    let report = engine.post("/workflow/check", json!({ "workflow": good })).await?;
    assert_eq!(report["findings"], json!([]));
    assert_eq!(report["workflow"]["name"], "default");

    let mut bad = good.clone();
    bad["colour"] = json!("red");
    bad["states"][2]["role"] = json!("nobody");
    bad["states"][3]["hooks"]["before_enter"][0]["action"] = json!("run_ci_stepz");
    bad["states"][4]["triggers"]["accept"]["to"] = json!("nowhere");
    let wanted = [
        "colour",
        "states[2].role",
        "states[3].hooks.before_enter[0].action",
        "states[4].triggers.accept.to",
    ];
    let report = engine.post("/workflow/check", json!({ "workflow": bad })).await?;
    let (status, body) = put_refused(&engine, &project, &bad).await?;
    assert_eq!((status, body["code"].as_str()), (400, Some("invalid")), "{body:#}");
    for found in [paths(&report["findings"]), paths(&body["details"]["findings"])] {
        for path in wanted {
            assert!(found.iter().any(|one| one == path), "{path} in {found:?}");
        }
    }

    let (status, body) = put_refused(&engine, &project, &json!({ "text": "{\n  \"name\": }" })).await?;
    assert_eq!(status, 400);
    assert!(text(&body["details"]["findings"][0], "message").contains("line 2 column"), "{body:#}");
    let now = engine.get(&format!("/projects/{project}/workflow")).await?;
    assert_eq!(now["workflow"], good, "what is refused changes nothing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_can_be_changed_while_tasks_exist() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let task = engine.task(&project, json!({})).await?;
    let before = engine.get(&format!("/projects/{project}/workflow")).await?;
    let changed = with_a_state(before["workflow"].clone());
    let now = put(&engine, &project, &json!({ "workflow": changed, "version": before["version"] })).await?;
    assert_eq!(now["workflow"]["states"][2]["name"], "ready");

    // The task goes through the new state; the version that was read before is out of date by now.
    let to = json!({ "to": "ready", "version": task["version"] });
    let moved = engine.post(&format!("/tasks/{}/transition", text(&task, "id")), to).await?;
    assert_eq!(moved["task"]["status"], "ready");
    let stale = json!({ "workflow": before["workflow"], "version": before["version"] });
    let (status, body) = put_refused(&engine, &project, &stale).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("version_conflict")));

    // A state that holds tasks is not taken away; the definition itself is a body, too.
    let (status, body) = put_refused(&engine, &project, &before["workflow"]).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("states_in_use")), "{body:#}");
    assert_eq!(body["details"]["states"], json!(["ready"]));
    assert_eq!(body["details"]["tasks"][0]["id"], task["id"]);
    let back = json!({ "to": "todo", "version": moved["task"]["version"] });
    engine.post(&format!("/tasks/{}/transition", text(&task, "id")), back).await?;
    let now = put(&engine, &project, &before["workflow"]).await?;
    assert_eq!(now["workflow"], before["workflow"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_board_preset_has_no_agents() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let workflow = definition(&engine, "manual").await?;
    let new = json!({ "repo_path": sandbox.repo.path(), "workflow": workflow });
    let project = text(&engine.post("/projects", new).await?, "id");
    let mut task = engine.task(&project, json!({})).await?;
    let names: Vec<String> =
        workflow["states"].as_array().context("states")?.iter().map(|state| text(state, "name")).collect();
    let begun = text(&task, "status");
    for name in names.iter().filter(|name| **name != begun && *name != "cancelled") {
        let to = json!({ "to": name, "version": task["version"] });
        let path = format!("/tasks/{}/transition", text(&task, "id"));
        task = engine.post(&path, to).await?["task"].clone();
        assert_eq!(text(&task, "status"), *name);
        assert!(task["workspace"].is_null() && task["entry_barrier"].is_null(), "{task:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn definition_in_the_repository_is_read_from_its_commits() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let own = definition(&engine, "default").await?;
    let ask = json!({ "workflow_source": "repository" });
    let patch = engine.request(Method::PATCH, &format!("/projects/{project}/settings")).json(&ask);
    let (status, body) = refused(patch).await?;
    assert_eq!(status, 400, "{body:#}");
    assert_eq!(paths(&body["details"]["findings"]), ["workflow_source"], "{body:#}");

    let mut kept = with_a_state(own.clone());
    kept["name"] = json!("kept");
    keep(&sandbox, &kept.to_string(), "a workflow")?;
    patch_settings(&engine, &project, ask).await?;
    let now = engine.get(&format!("/projects/{project}/workflow")).await?;
    assert_eq!(
        (now["source"].as_str(), now["workflow"]["name"].as_str()),
        (Some("repository"), Some("kept"))
    );
    let (status, body) = put_refused(&engine, &project, &own).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("workflow_in_repository")), "{body:#}");

    // What is not committed does not count; a commit does, without anybody asking.
    kept["name"] = json!("not committed");
    std::fs::write(sandbox.repo.path().join(FILE), kept.to_string())?;
    kept["name"] = json!("newer");
    keep(&sandbox, &kept.to_string(), "a newer one")?;
    until_workflow(&engine, &project, |now| now["workflow"]["name"] == "newer").await?;

    // A broken one is told, and the last good one stays.
    keep(&sandbox, "{ \"name\": 1 }", "a broken one")?;
    let now = until_workflow(&engine, &project, |now| now["origin"]["findings"] != json!([])).await?;
    assert_eq!(now["workflow"]["name"], "newer");
    assert_ne!(now["origin"]["commit"], now["origin"]["looked_at"]);
    kept["name"] = json!("mended");
    keep(&sandbox, &kept.to_string(), "a mended one")?;
    let now = until_workflow(&engine, &project, |now| now["workflow"]["name"] == "mended").await?;
    assert_eq!(now["origin"]["findings"], json!([]));

    patch_settings(&engine, &project, json!({ "workflow_source": null })).await?;
    let now = put(&engine, &project, &own).await?;
    assert_eq!((now["source"].as_str(), now["origin"].is_null()), (Some("project"), true));
    Ok(())
}

/// Commits the text as the repository's workflow.
fn keep(sandbox: &Folder, text: &str, message: &str) -> Result<()> {
    sandbox.repo.write(FILE, text)?;
    sandbox.repo.commit(message).map(drop)
}

async fn until_workflow(engine: &Caller, project: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    let path = format!("/projects/{project}/workflow");
    let found = engine.watch(async || Ok(Some(engine.get(&path).await?).filter(&wanted))).await?;
    found.context("the workflow never came to be as wanted")
}

/// An agent that writes a plan when asked for one and logs its prompt; otherwise it follows the prompt.
const PLANNER: &str = r#"
if [ "$FORGE_ROLE" = planner ]; then
  echo "stray" > stray.txt
  grep -q "shorter" "$FORGE_PROMPT_FILE" && echo "Short plan." > "$FORGE_PLAN_FILE" || echo "A long plan." > "$FORGE_PLAN_FILE"
else
  cp "$FORGE_PROMPT_FILE" told.txt
fi
"#;

#[tokio::test(flavor = "multi_thread")]
async fn plan_written_by_an_agent_is_approved_by_a_person() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let workflow = definition(&engine, "planned").await?;
    let new = json!({ "repo_path": sandbox.repo.path(), "workflow": workflow });
    let project = text(&engine.post("/projects", new).await?, "id");
    let config = json!({ "command": "sh", "args": ["-c", PLANNER] });
    let agent = engine.post("/agents", json!({ "name": "P", "adapter": "shell", "config": config })).await?;
    let task = engine.task(&project, json!({ "title": "Plan it" })).await?;
    let id = text(&task, "id");
    let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
    engine.post(&format!("/tasks/{id}/claim"), claim).await?;
    let awaiting = |now: &Value| now["status"] == "planning" && now["review"]["status"] == "awaiting_human";
    let planned = engine.until(&task, awaiting).await?;
    assert_eq!(planned["roles"]["coder"]["id"], agent["id"], "who plans does the work, too");
    let plan = engine.get(&format!("/tasks/{id}/plan")).await?;
    assert_eq!(plan["text"], "A long plan.\n");
    assert_eq!(engine.get(&format!("/tasks/{id}/diff")).await?["files"], json!([]), "a plan changes nothing");

    // Sent back, it is written anew with the reason; that spends no retry of the review.
    let reject = json!({ "reason": "Make it shorter." });
    engine.post(&format!("/tasks/{id}/review/reject"), reject).await?;
    let revised = engine
        .until(&task, |now| {
            awaiting(now) && now["review"]["attempt_number"] != planned["review"]["attempt_number"]
        })
        .await?;
    assert_eq!(engine.get(&format!("/tasks/{id}/plan")).await?["text"], "Short plan.\n");
    assert_eq!(revised["budgets"]["review"]["used"], 0);
    assert!(revised["review_passed_at"].is_null());

    // Without a plan nobody passes; a person may write one.
    let write = |plan: &str| {
        let request = engine.request(Method::PUT, &format!("/tasks/{id}/plan"));
        request.json(&json!({ "text": plan })).send()
    };
    good(write(" \n").await?)?;
    let approve = engine.request(Method::POST, &format!("/tasks/{id}/review/approve")).json(&json!({}));
    let (status, body) = refused(approve).await?;
    assert_eq!((status, body["code"].as_str()), (412, Some("guard_rejected")), "{body:#}");
    assert_eq!(body["details"]["action"], "require_plan_complete", "{body:#}");
    good(write("Do it by hand.\n").await?)?;
    engine.post(&format!("/tasks/{id}/review/approve"), json!({})).await?;

    let done = engine.until(&task, |now| now["status"] == "review" && awaiting_any(now)).await?;
    assert!(done["review_passed_at"].is_null(), "the plan's approval is no pass of the work");
    let branch = text(&done["workspace"], "branch");
    let told = sandbox.repo.git(&["show", &format!("{branch}:told.txt")])?;
    assert!(told.contains("# The plan that was approved\n\nDo it by hand."), "{told}");
    assert!(sandbox.repo.git(&["ls-tree", "--name-only", &branch])?.lines().all(|name| name != "stray.txt"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_plan_does_not_pass_unchanged() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let workflow = definition(&engine, "planned").await?;
    let new = json!({ "repo_path": sandbox.repo.path(), "workflow": workflow });
    let project = text(&engine.post("/projects", new).await?, "id");
    // It writes one plan, and never another; no clock is too coarse for how old that is.
    let line = "cd \"$(dirname \"$FORGE_PLAN_FILE\")\" && { test -s plan.md || { echo 'The only plan.' >plan.md && touch -t 202001010000 plan.md; }; }";
    let config = json!({ "command": "sh", "args": ["-c", line] });
    let agent = engine.post("/agents", json!({ "name": "P", "adapter": "shell", "config": config })).await?;
    let task = engine.task(&project, json!({ "title": "Plan it" })).await?;
    let id = text(&task, "id");
    let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
    engine.post(&format!("/tasks/{id}/claim"), claim).await?;
    let awaited =
        |attempt: u32| move |now: &Value| awaiting_any(now) && now["review"]["attempt_number"] == attempt;
    engine.until(&task, awaited(1)).await?;
    engine.post(&format!("/tasks/{id}/review/reject"), json!({ "reason": "Think again." })).await?;
    engine.until(&task, awaited(2)).await?;
    assert_eq!(engine.get(&format!("/tasks/{id}/plan")).await?["text"], "The only plan.\n");
    let approve = engine.request(Method::POST, &format!("/tasks/{id}/review/approve")).json(&json!({}));
    let (status, body) = refused(approve).await?;
    assert_eq!((status, body["code"].as_str()), (412, Some("guard_rejected")), "{body:#}");
    assert_eq!(body["details"]["action"], "require_plan_complete", "{body:#}");
    Ok(())
}

fn awaiting_any(now: &Value) -> bool {
    now["review"]["status"] == "awaiting_human"
}
