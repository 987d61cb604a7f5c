//! Lists: every one takes `limit` and `cursor` in the same way.

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answers::refused;
use forge_testkit::{Folder, board::text, script, serve::Served};

/// Every list path of the OpenAPI document, with the ids of `task` and `project` filled in.
async fn lists(server: &Served, project: &str, task: &str) -> Result<Vec<String>> {
    let document = server.get("/openapi.json").await?;
    let schemas = &document["components"]["schemas"];
    let is_list = |schema: &Value| {
        let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
        !schemas[name]["properties"]["next_cursor"].is_null()
            && !schemas[name]["properties"]["items"].is_null()
    };
    let paths = document["paths"].as_object().context("no paths")?;
    let found = paths.iter().filter(|(_, entry)| {
        is_list(&entry["get"]["responses"]["200"]["content"]["application/json"]["schema"])
    });
    Ok(found.map(|(path, _)| path.replace("{project_id}", project).replace("{task_id}", task)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_takes_limit_and_cursor() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let task = text(&server.task(&project, json!({})).await?, "id");
    server.patch("/settings", json!({ "terminal_remote": true })).await?;
    let lists = lists(&server, &project, &task).await?;
    assert!(lists.len() > 30, "{lists:?}");
    for path in lists {
        let path = match path.as_str() {
            path if path.ends_with("/knowledge/search") => format!("{path}?q=anything&"),
            "/checks/offers" => format!("{path}?repo_path={}&", sandbox.repo.path().display()),
            path => format!("{path}?"),
        };
        let page = server.get(&format!("{path}limit=1")).await.with_context(|| path.clone())?;
        assert!(page["items"].as_array().is_some_and(|items| items.len() <= 1), "{path}: {page}");
        for wrong in ["limit=0", "limit=201", "limit=many", "cursor=%21%21"] {
            let (status, body) = refused(server.request(Method::GET, &format!("{path}{wrong}"))).await?;
            let field = wrong.split('=').next();
            assert_eq!(
                (status, body["details"]["findings"][0]["path"].as_str()),
                (400, field),
                "{path}{wrong}"
            );
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_together_equal_the_list() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    for name in ["d", "b", "a", "c", "e"] {
        let agent = json!({ "name": name, "adapter": "shell", "config": { "command": "true" } });
        server.post("/agents", agent).await?;
    }
    let (mut names, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = server.get(&format!("/agents?limit=2{cursor}")).await?;
        names.extend(page["items"].as_array().into_iter().flatten().map(|agent| text(agent, "name")));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    // Fifty unless asked otherwise; the command line reads on.
    for number in 0..50 {
        let agent =
            json!({ "name": format!("n{number}"), "adapter": "shell", "config": { "command": "true" } });
        server.post("/agents", agent).await?;
    }
    let page = server.get("/agents").await?;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(50));
    assert!(page["next_cursor"].is_string());
    let all = sandbox.run(&["agent", "list", "--json"])?.json()?;
    assert_eq!(all["items"].as_array().map(Vec::len), Some(55));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_has_the_lines_of_each_file() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    let work = script(&["edit a.txt <<< \"one\\ntwo\\n\"", "edit b.txt <<< \"b\\n\""]);
    let task = server.task(&project, json!({ "description": work })).await?;
    let id = text(&task, "id");
    let claim = json!({ "agent_id": agent, "version": task["version"] });
    server.post(&format!("/tasks/{id}/claim"), claim).await?;
    server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let diff = server.get(&format!("/tasks/{id}/diff?scope=task")).await?;
    assert_eq!((&diff["files"][0]["path"], &diff["files"][1]["path"]), (&json!("a.txt"), &json!("b.txt")));
    let lines = diff["files"][0]["hunks"][0]["lines"].as_array().context("no lines")?;
    let lines: Vec<(String, String)> =
        lines.iter().map(|line| (text(line, "kind"), text(line, "text"))).collect();
    assert_eq!(lines, [("added".into(), "one".into()), ("added".into(), "two".into())]);
    let one = server.get(&format!("/tasks/{id}/diff?path=b.txt")).await?;
    assert_eq!((one["files"].as_array().map(Vec::len), &one["files"][0]["path"]), (Some(1), &json!("b.txt")));
    assert_eq!((&one["added"], &one["files"][0]["hunks"][0]["lines"][0]["text"]), (&json!(1), &json!("b")));
    let none = server.request(Method::GET, &format!("/tasks/{id}/diff?path=c.txt"));
    assert_eq!(refused(none).await?.0, 404);
    Ok(())
}
