//! Inner loop configuration over HTTP: layers, the source of each value, refused values.

use anyhow::Result;
use forge_tests::patience;
use reqwest::Method;
use serde_json::{Value, json};

use crate::answers::refused;
use forge_testkit::{Folder, serve::Served};

const FILE: &str = ".forge.json";

async fn inner_loop(server: &Served, project: &str) -> Result<Value> {
    server.get(&format!("/projects/{project}/inner-loop")).await
}

async fn until(server: &Served, project: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
    patience::until("the configuration that is wanted", async || {
        let now = inner_loop(server, project).await?;
        Ok(wanted(&now).then_some(now))
    })
    .await
}

fn keep(sandbox: &Folder, config: &Value, message: &str) -> Result<()> {
    sandbox.repo.write(FILE, &config.to_string())?;
    sandbox.repo.commit(message).map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn project_value_overrides_repository_value_per_field() -> Result<()> {
    let sandbox = Folder::new()?;
    let ours = json!({ "competitive": { "enabled": true, "maxParallel": 3 }, "stopOnStagnation": true });
    keep(&sandbox, &json!({ "innerLoop": ours, "somebody": "else" }), "a configuration")?;
    let server = sandbox.serve()?;
    let settings = json!({ "innerLoop": { "competitive": { "maxParallel": 4 } } });
    let (project, _) = server.project(&sandbox.repo, settings).await?;

    // It is in force from the first moment.
    let now = inner_loop(&server, &project).await?;
    let race = &now["config"]["competitive"];
    assert_eq!(
        (&race["enabled"], &race["maxParallel"], &race["timeoutSec"]),
        (&json!(true), &json!(4), &json!(1800))
    );
    let source = |now: &Value, path: &str| now["sources"][path].clone();
    assert_eq!(source(&now, "competitive.enabled"), "repository");
    assert_eq!(source(&now, "competitive.maxParallel"), "project");
    assert_eq!(source(&now, "competitive.timeoutSec"), "default");
    let settings = server.get(&format!("/projects/{project}/settings")).await?;
    assert_eq!(settings["settings"]["innerLoop"]["stopOnStagnation"], true);
    assert_eq!(settings["own"]["innerLoop"], json!({ "competitive": { "maxParallel": 4 } }));

    // Only what is committed on the default branch counts.
    sandbox.repo.write(FILE, r#"{"innerLoop": {"stopOnStagnation": false}}"#)?;
    let back = server.request(Method::PATCH, &format!("/projects/{project}/settings"));
    crate::answers::good(back.json(&json!({ "innerLoop": null })).send().await?).await?;
    let now = inner_loop(&server, &project).await?;
    assert_eq!(
        (&now["config"]["competitive"]["maxParallel"], &now["config"]["stopOnStagnation"]),
        (&json!(3), &json!(true))
    );
    sandbox.repo.commit("a newer one")?;
    let now = until(&server, &project, |now| now["config"]["stopOnStagnation"] == false).await?;
    assert_eq!(source(&now, "competitive.enabled"), "default");

    // A broken one is told by paths and changes nothing; without the file nothing of it is left.
    keep(
        &sandbox,
        &json!({ "innerLoop": { "stopOnStagnation": true, "costAnomaly": { "ratoi": 3 } } }),
        "broken",
    )?;
    let now = until(&server, &project, |now| now["repository"]["findings"] != json!([])).await?;
    assert_eq!(now["repository"]["findings"][0]["path"], "innerLoop.costAnomaly.ratoi");
    assert_eq!(now["config"]["stopOnStagnation"], false);
    std::fs::remove_file(sandbox.repo.path().join(FILE))?;
    sandbox.repo.commit("none")?;
    let now = until(&server, &project, |now| now["repository"]["commit"].is_null()).await?;
    assert_eq!(now["repository"]["inner_loop"], json!({}));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_value_is_refused_with_its_path_and_nothing_written() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let before = inner_loop(&server, &project).await?;
    let two = json!([{ "name": "a", "agent_id": "x" }, { "name": "a", "agent_id": "y" }]);
    for (patch, path) in [
        (json!({ "costAnomaly": { "ratio": 0 } }), "innerLoop.costAnomaly.ratio"),
        (json!({ "costAnomaly": { "ratio": "2" } }), "innerLoop.costAnomaly.ratio"),
        (json!({ "costAnomaly": { "medianWindow": 1.5 } }), "innerLoop.costAnomaly.medianWindow"),
        (json!({ "autoFix": { "maxChangedLines": 0 } }), "innerLoop.autoFix.maxChangedLines"),
        (json!({ "competitive": { "strategies": two } }), "innerLoop.competitive.strategies[1].name"),
        (json!({ "races": {} }), "innerLoop.races"),
    ] {
        let request = server.request(Method::PATCH, &format!("/projects/{project}/settings"));
        let (status, body) = refused(request.json(&json!({ "innerLoop": patch }))).await?;
        assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!(path)), "{body:#}");
    }
    assert_eq!(inner_loop(&server, &project).await?, before);
    Ok(())
}
