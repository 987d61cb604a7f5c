//! Messages of a person to a running agent: stored with text and files, delivered once, never lost.

use anyhow::Result;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_testkit::{Caller, Folder, LocalEngine, board::text, caller::refused};
use reqwest::Method;
use serde_json::{Value, json};

use crate::workspaces::fixture::WorkspaceFixture;

/// The queued messages of a task.
async fn waiting(fixture: &WorkspaceFixture, task: &Value) -> Result<Vec<Value>> {
    let moves = fixture.items(&format!("/tasks/{}/transitions", text(task, "id"))).await?;
    let steps = moves.iter().flat_map(|it| it["steps"].as_array().cloned().unwrap_or_default());
    Ok(steps.map(|step| step["message"].clone()).filter(|message| !message.is_null()).collect())
}

async fn files(fixture: &WorkspaceFixture, task: &Value) -> Result<Vec<String>> {
    let items = fixture.items(&format!("/tasks/{}/attachments", text(task, "id"))).await?;
    Ok(items.iter().map(|it| text(it, "name")).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn queued_message_keeps_text_and_files_for_the_agent() -> Result<()> {
    let fixture = WorkspaceFixture::new(json!({})).await?;
    let go = fixture.folder.dir.path().join("go");
    let description = format!("```forge-script\nwait-for {}\nedit a <<< \"one\"\n```", go.display());
    let task = fixture.engine.task(&fixture.project, json!({ "description": description })).await?;
    fixture.claim(&task).await?;
    let live = fixture.engine.until(&task, |task| task["live"].is_object()).await?;

    let at = format!("/tasks/{}/attachments", text(&task, "id"));
    let given = json!({ "name": "../trace log.txt", "data": BASE64_STANDARD.encode("it broke here\n") });
    let trace = fixture.engine.post(&at, given).await?;
    assert_eq!((&trace["name"], &trace["bytes"]), (&json!("trace log.txt"), &json!(14)), "{trace}");
    let lies = fixture.folder.dir.path().join("sketch.svg");
    std::fs::write(&lies, "<svg/>")?;
    let sketch = fixture.engine.post(&at, json!({ "path": lies })).await?;
    let spare = fixture.engine.post(&at, json!({ "name": "spare", "data": "" })).await?;
    let gone = format!("/attachments/{}", text(&spare, "id"));
    fixture.engine.delete(&gone).await?;
    assert_eq!(files(&fixture, &task).await?, ["trace log.txt", "sketch.svg"]);

    let path = format!("/executions/{}/follow-up", text(&live["live"], "execution_id"));
    let all = json!([trace["id"], sketch["id"]]);
    fixture.engine.post(&path, json!({ "message": "Look at these.", "attachments": all })).await?;
    let expected = json!([
        { "text": "Look at these.", "comments": 0, "files": ["trace log.txt", "sketch.svg"] }
    ]);
    assert_eq!(json!(waiting(&fixture, &task).await?), expected);
    assert_eq!(files(&fixture, &task).await?, Vec::<String>::new(), "they went with the message");
    let twice = json!({ "message": "", "attachments": [trace["id"]] });
    let (status, body) = fixture.refused(&path, twice).await?;
    assert_eq!((status, &body["code"]), (409, &json!("already_sent")), "{body}");

    std::fs::write(&go, "")?;
    fixture.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!(waiting(&fixture, &task).await?, Vec::<Value>::new());
    let runs = fixture.items(&format!("/tasks/{}/executions", text(&task, "id"))).await?;
    let [first, second] = runs.as_slice() else { anyhow::bail!("one more run: {runs:#?}") };
    assert_eq!(
        (&first["messages"], &second["messages"]),
        (&json!([]), &expected),
        "what it was started with"
    );
    let log = fixture.log(&task, &text(second, "log_id")).await?;
    let kept = fixture.folder.data_dir().join("attachments").join(&fixture.project).join(text(&task, "id"));
    for (file, content) in [(&trace, "it broke here\n"), (&sketch, "<svg/>")] {
        let place = kept.join(text(file, "id")).join(text(file, "name"));
        assert!(log.contains(&place.to_string_lossy().into_owned()), "the agent was told of it: {log}");
        assert_eq!(std::fs::read_to_string(place)?, content);
    }
    fixture.act(&task, "cancel", json!({})).await?;
    let removal = fixture.engine.request(Method::DELETE, &format!("/tasks/{}", text(&task, "id")));
    forge_testkit::caller::good(removal.send().await?)?;
    assert!(!kept.exists(), "a task's files go with it");
    Ok(())
}

#[tokio::test]
async fn unsuitable_attachment_is_refused_with_a_reason() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let task = engine.task(&project, json!({})).await?;
    let at = format!("/tasks/{}/attachments", text(&task, "id"));
    let large = BASE64_STANDARD.encode(vec![0_u8; 10 * 1024 * 1024 + 1]);
    for (given, field, why) in [
        (json!({ "name": "large.bin", "data": large }), "data", "at most 10 MiB"),
        (json!({ "name": "..", "data": "" }), "name", "file name"),
        (json!({ "name": "a", "data": "%" }), "data", "base64"),
        (json!({ "name": "a" }), "data", "either"),
        (json!({ "path": "relative.txt" }), "path", "absolute"),
        (json!({ "path": sandbox.dir.path() }), "path", "only files"),
        (json!({ "path": sandbox.dir.path().join("nothing") }), "path", "No such file"),
    ] {
        let (status, body) = refuse(&engine, &at, given).await?;
        let finding = &body["details"]["findings"][0];
        assert_eq!((status, &finding["path"]), (400, &json!(field)), "{body}");
        assert!(body.to_string().contains(why), "{why}: {body}");
    }
    for index in 0..10 {
        engine.post(&at, json!({ "name": format!("{index}.txt"), "data": "" })).await?;
    }
    let (status, body) = refuse(&engine, &at, json!({ "name": "more.txt", "data": "" })).await?;
    let finding = &body["details"]["findings"][0];
    assert!(
        status == 400 && finding["path"] == "task_id" && text(finding, "message").starts_with("10 files"),
        "{body}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_attachments_are_counted_and_refused_ones_leave_no_file() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let task = engine.task(&project, json!({})).await?;
    let at = format!("/tasks/{}/attachments", text(&task, "id"));
    let all = (0..16).map(|index| {
        let given = json!({ "name": format!("{index}.txt"), "data": BASE64_STANDARD.encode("x") });
        engine.request(Method::POST, &at).json(&given).send()
    });
    let mut kept = Vec::new();
    for answer in futures::future::join_all(all).await {
        let answer = answer?;
        if answer.status < 300 {
            kept.push(text(&answer.body, "id"));
        } else {
            assert_eq!(answer.status, 400, "{answer:?}");
        }
    }
    kept.sort();
    let folder = sandbox.data_dir().join("attachments").join(&project).join(text(&task, "id"));
    let mut there = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        there.push(entry?.file_name().to_string_lossy().into_owned());
    }
    there.sort();
    assert_eq!((kept.len(), there), (10, kept), "what was refused lies there");
    Ok(())
}

async fn refuse(caller: &Caller, at: &str, given: Value) -> Result<(u16, Value)> {
    refused(caller.request(Method::POST, at).json(&given)).await
}
