//! Refused requests: authentication, origins, and malformed or unsuitable input.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::json;

use crate::answers::refused;
use forge_testkit::{Folder, board::text};

const META: &str = "/api/v1/meta";

#[tokio::test(flavor = "multi_thread")]
async fn request_without_the_token_is_unauthorized() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let file = server.line["token_file"].as_str().context("no token file")?.to_owned();
    assert_eq!(std::fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);
    let token = server.token.clone().context("no token")?;
    assert_eq!(token.len(), 43, "32 bytes in base64url");

    for path in [META, "/api/v1/openapi.json", "/api/v1/events", "/api/v1/nothing", "/"] {
        let (status, body) = refused(server.bare(Method::GET, path)).await?;
        assert_eq!((status, text(&body, "code").as_str()), (401, "unauthorized"), "{path}");
    }
    for wrong in ["x", &token[1..], &format!("{token}x")] {
        let (status, _) = refused(server.bare(Method::GET, META).bearer_auth(wrong)).await?;
        assert_eq!(status, 401);
    }
    let asked = server.bare(Method::GET, META).send().await?;
    assert!(asked.headers()["www-authenticate"].to_str()?.starts_with("Bearer"));
    assert_eq!(server.bare(Method::GET, "/healthz").send().await?.status(), 200);
    assert_eq!(text(&server.get("/meta").await?, "data_dir"), sandbox.data_dir().to_string_lossy());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn request_with_foreign_host_or_origin_is_refused() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let port = server.url.rsplit_once(':').context("no port")?.1;
    let with = |name: &str, value: String| server.request(Method::GET, "/meta").header(name, value);
    for host in ["evil.test".to_owned(), format!("evil.test:{port}"), "127.0.0.1".to_owned()] {
        let (status, body) = refused(with("host", host)).await?;
        assert_eq!((status, text(&body, "code").as_str()), (403, "forbidden_host"));
    }
    for origin in ["http://evil.test".to_owned(), "null".to_owned(), format!("https://127.0.0.1:{port}")] {
        let (status, body) = refused(with("origin", origin)).await?;
        assert_eq!((status, text(&body, "code").as_str()), (403, "forbidden_origin"));
    }
    let (status, _) = refused(server.bare(Method::GET, "/healthz").header("host", "evil.test")).await?;
    assert_eq!(status, 403);
    for (name, value) in
        [("host", format!("localhost:{port}")), ("origin", format!("http://127.0.0.1:{port}"))]
    {
        let response = with(name, value).send().await?;
        assert_eq!(response.status(), 200);
        assert!(response.headers().get("access-control-allow-origin").is_none());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_origin_is_refused_even_without_authentication() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve_with(&["--no-auth"])?;
    assert!(server.line["token_file"].is_null());
    assert_eq!(server.bare(Method::GET, META).send().await?.status(), 200);
    let (status, _) = refused(server.bare(Method::GET, META).header("origin", "http://evil.test")).await?;
    assert_eq!(status, 403);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_request_is_refused_with_its_status_and_code() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let tasks = format!("/projects/{project}/tasks");
    let json_body = |text: &str| {
        server
            .request(Method::POST, &tasks)
            .header("content-type", "application/json; charset=utf-8")
            .body(text.to_owned())
    };
    let path_of = |body: &serde_json::Value| text(&body["details"]["findings"][0], "path");

    let (status, body) = refused(json_body(r#"{"title":"x","colour":"red"}"#)).await?;
    assert_eq!((status, text(&body, "code").as_str(), path_of(&body).as_str()), (400, "invalid", "colour"));
    let (status, body) = refused(json_body(r#"{"title":"x","review_config":{"ci_steps":["a",2]}}"#)).await?;
    assert_eq!((status, path_of(&body).as_str()), (400, "review_config.ci_steps[1]"));
    let (status, body) = refused(server.request(Method::GET, &format!("{tasks}?colour=red"))).await?;
    assert_eq!((status, path_of(&body).as_str()), (400, "colour"));
    let (status, body) = refused(server.request(Method::GET, &format!("{tasks}?limit=many"))).await?;
    assert_eq!((status, path_of(&body).as_str()), (400, "limit"));
    let (status, body) = refused(json_body(r#"{"title":"x","project_id":"another"}"#)).await?;
    assert_eq!((status, path_of(&body).as_str()), (400, "project_id"));

    let (status, body) = refused(json_body("{\"title\":")).await?;
    assert_eq!((status, text(&body, "code").as_str()), (400, "malformed_json"));
    assert_eq!(refused(json_body("[1]")).await?.0, 400);
    let plain =
        server.request(Method::POST, &tasks).header("content-type", "text/plain").body("{\"title\":\"x\"}");
    assert_eq!(refused(plain).await?.0, 415);
    let none = server.request(Method::POST, &tasks).body("{\"title\":\"x\"}");
    assert_eq!(refused(none).await?.0, 415);
    let huge = format!(r#"{{"title":"x","description":"{}"}}"#, "y".repeat(3 * 1024 * 1024));
    let (status, body) = refused(json_body(&huge)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (413, "too_large"));
    let streamed = reqwest::Body::wrap_stream(tokio_stream_of(huge));
    let streamed =
        server.request(Method::POST, &tasks).header("content-type", "application/json").body(streamed);
    assert_eq!(refused(streamed).await?.0, 413);

    assert_eq!(refused(server.request(Method::GET, "/nothing/here")).await?.0, 404);
    let (status, body) = refused(server.request(Method::GET, "/tasks/none")).await?;
    assert_eq!((status, text(&body, "code").as_str()), (404, "not_found"));
    let (status, body) = refused(server.request(Method::PUT, &tasks)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (405, "method_not_allowed"));
    let allowed = server.request(Method::PUT, &tasks).send().await?;
    let allowed = allowed.headers()["allow"].to_str()?.to_owned();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    assert_eq!(server.get(&tasks).await?["items"], json!([]), "nothing of it made a task");
    Ok(())
}

/// A body without a declared length.
fn tokio_stream_of(text: String) -> impl futures::Stream<Item = Result<Vec<u8>, std::io::Error>> {
    let chunks: Vec<_> = text.into_bytes().chunks(64 * 1024).map(|chunk| Ok(chunk.to_vec())).collect();
    futures::stream::iter(chunks)
}

#[tokio::test(flavor = "multi_thread")]
async fn action_that_does_not_fit_names_those_that_do() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    let task = server.task(&project, json!({})).await?;
    let id = text(&task, "id");
    let post = |path: String, body: serde_json::Value| server.request(Method::POST, &path).json(&body);

    let stale = json!({ "agent_id": agent, "version": 9 });
    let (status, body) = refused(post(format!("/tasks/{id}/claim"), stale)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "version_conflict"));
    assert_eq!(body["details"], json!({ "expected": 9, "actual": task["version"] }));

    let nowhere = json!({ "to": "nowhere", "version": task["version"] });
    let (status, body) = refused(post(format!("/tasks/{id}/transition"), nowhere)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (422, "illegal_transition"));
    assert!(
        body["details"]["allowed"].as_array().is_some_and(|to| to.contains(&json!("in_progress"))),
        "{body}"
    );
    assert!(body["hints"][0].as_str().is_some_and(|hint| hint.contains(" in_progress, ")), "{body}");

    let (status, body) =
        refused(post(format!("/tasks/{id}/actions/retry"), json!({ "version": task["version"] }))).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "not_offered"));
    let offers: Vec<String> =
        body["details"]["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect();
    assert_eq!(offers, ["hold", "cancel"]);

    assert_eq!(server.get(&format!("/tasks/{id}")).await?, task, "nothing of it changed the task");
    Ok(())
}

/// Serde would accept a list as the fields of an object in order.
#[tokio::test(flavor = "multi_thread")]
async fn list_in_place_of_an_object_is_refused() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let task = server.task(&project, json!({})).await?;
    let change =
        json!({ "version": task["version"], "task_state_config": { "retry_budgets": [null, null] } });
    let request = server.request(Method::PATCH, &format!("/tasks/{}", text(&task, "id"))).json(&change);
    let (status, body) = refused(request).await?;
    let path = text(&body["details"]["findings"][0], "path");
    assert_eq!((status, path.as_str()), (400, "task_state_config.retry_budgets"));
    Ok(())
}
