//! Routes: every operation of the contract is documented, routed and recorded with its actor.

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::json;

use crate::answers::refused;
use forge_testkit::{Folder, board::text};

fn method_of(method: forge_api::Method) -> Method {
    match method {
        forge_api::Method::Get => Method::GET,
        forge_api::Method::Post => Method::POST,
        forge_api::Method::Patch => Method::PATCH,
        forge_api::Method::Put => Method::PUT,
        forge_api::Method::Delete => Method::DELETE,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_documented_and_routed() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let document = server.get("/openapi.json").await?;
    for operation in forge_api::operations() {
        let method = method_of(operation.method);
        let entry = &document["paths"][operation.path][method.as_str().to_lowercase()];
        assert_eq!(entry["operationId"], operation.name);
        // A field that no operation has: each refuses it (or does not find what its path names), and does nothing.
        let mut path = operation.path.to_owned();
        for field in operation.path_fields() {
            path = path.replace(&format!("{{{field}}}"), "1");
        }
        let request = match operation.method {
            forge_api::Method::Get | forge_api::Method::Delete => {
                server.request(method, &format!("{path}?no_such_field=1"))
            }
            _ => server.request(method, &path).json(&json!({ "no_such_field": 1 })),
        };
        let (status, body) = refused(request).await?;
        let message = text(&body, "message");
        assert!(matches!(status, 400 | 404), "{}: {status} {message}", operation.name);
        assert!(!message.starts_with("no route "), "{}: {message}", operation.name);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_is_documented_and_served_with_its_media_type() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let document = server.get("/openapi.json").await?;
    for file in forge_api::FILE_ROUTES {
        let entry = &document["paths"][file.path]["get"];
        assert_eq!(entry["operationId"], format!("{}_file", file.operation));
        assert_eq!(entry["responses"]["200"]["content"][file.media_type]["schema"]["type"], "string");
        let asked: Vec<&str> = entry["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        assert_eq!(asked, ["project", "since", "until"], "{}", file.path);
        let answer = server.request(Method::GET, file.path).send().await?;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &file.media_type.parse()?)
        );
        for field in forge_api::PAGING {
            let (status, _) =
                refused(server.request(Method::GET, &format!("{}?{field}=1", file.path))).await?;
            assert_eq!(status, 400, "{field} of {}", file.path);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn path_query_and_body_are_merged_into_one_input() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let made = server.request(Method::POST, &format!("/projects/{project}/tasks"));
    let made = made.json(&json!({ "title": "One", "project_id": project })).send().await?;
    assert_eq!(made.status(), 201);
    let task: serde_json::Value = made.json().await?;
    let claim = json!({ "agent_id": "user", "version": task["version"] });
    server.post(&format!("/tasks/{}/claim?queue=false", text(&task, "id")), claim).await?;
    server.task(&project, json!({ "title": "Two" })).await?;
    let page = server.get(&format!("/projects/{project}/tasks?status=todo,in_progress&limit=1")).await?;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(1));
    let cursor = page["next_cursor"].as_str().context("no cursor")?;
    let rest = format!("/projects/{project}/tasks?status=todo,in_progress&limit=1&cursor={cursor}");
    assert_eq!(server.get(&rest).await?["items"].as_array().map(Vec::len), Some(1));
    let todo = server.get(&format!("/projects/{project}/tasks?status=todo")).await?;
    assert_eq!(todo["items"][0]["title"], "Two");
    assert_eq!(server.get(&format!("/projects/{project}/tasks/by-number/1")).await?["title"], "One");

    let moves = server.get(&format!("/tasks/{}/transitions", text(&task, "id"))).await?;
    assert_eq!(moves["items"][0]["actor"], "user:api");
    Ok(())
}
