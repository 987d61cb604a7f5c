//! Comments on lines of the diff: drafts, batches that the agent is told, and lines that move or go.

use anyhow::{Context as _, Result};
use forge_tests::patience::until_there;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    board::{Board, is},
    forge::{good, refused, text},
};

const FIRST: &str =
    "edit a.txt <<< \"one\\ntwo\\nthree\\nfour\\nfive\\nsix\\nseven\\neight\\nnine\\nten\\n\"";
const SECOND: &str =
    "edit a.txt <<< \"zero\\none\\ntwo\\nthree\\nfour\\nfive\\nsix\\nseven\\neight\\nneun\\nzehn\\n\"";

async fn waiting(board: &Board) -> Result<Value> {
    let told = format!("```forge-script\n{FIRST}\n```\n```forge-script attempt=2\n{SECOND}\n```");
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.server.task(&board.project, new).await?;
    board.claim(&task).await?;
    awaits(board, &task, 1).await?;
    Ok(task)
}

async fn awaits(board: &Board, task: &Value, attempt: u64) -> Result<Value> {
    let there = |task: &Value| {
        task["review"]["status"] == "awaiting_human" && task["review"]["attempt_number"] == attempt
    };
    board.server.until(task, there).await
}

async fn comment(board: &Board, task: &Value, body: Value) -> Result<Value> {
    board.server.post(&format!("/tasks/{}/comments", text(task, "id")), body).await
}

async fn all(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/comments", text(task, "id"))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_tells_the_agent_what_was_said_on_lines() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = waiting(&board).await?;
    let id = text(&task, "id");
    let draft = comment(&board, &task, json!({ "path": "a.txt", "line": 2, "text": "say zwei" })).await?;
    assert_eq!(
        (&draft["status"], &draft["excerpt"], &draft["now_line"]),
        (&json!("draft"), &json!(["two"]), &json!(2))
    );
    let gone = comment(&board, &task, json!({ "path": "a.txt", "text": "never mind" })).await?;
    let removed =
        board.server.request(Method::DELETE, &format!("/comments/{}", text(&gone, "id"))).send().await?;
    assert!(removed.status().is_success());
    let path = format!("/comments/{}", text(&draft, "id"));
    board.patch(&path, json!({ "text": "say deux" })).await?;
    let more = json!({ "path": "a.txt", "line": 9, "last_line": 10, "text": "in German" });
    board.act(&task, "review/reject?wait=none", json!({ "comments": [more] })).await?;
    awaits(&board, &task, 2).await?;
    let run = board.runs(&task).await?.pop().context("no run")?;
    let log = board.server.get(&format!("/tasks/{id}/logs/{}", text(&run, "log_id"))).await?.to_string();
    let preview = board.server.get(&format!("/tasks/{id}/prompt-preview")).await?.to_string();
    for part in ["`a.txt` line 2", "say deux", "`a.txt` lines 9-10", "in German"] {
        assert!(log.contains(part) || preview.contains(part), "{part}:\n{preview}");
    }
    assert!(!preview.contains("never mind"), "{preview}");
    // The agent's second version has another first line, and no ninth and tenth any more.
    let shown = all(&board, &task).await?;
    let places: Vec<_> =
        shown.iter().map(|c| (text(c, "status"), c["now_line"].clone(), c["outdated"].clone())).collect();
    assert_eq!(places, [("sent".into(), json!(3), json!(false)), ("sent".into(), Value::Null, json!(true))]);
    assert_eq!(shown[1]["excerpt"], json!(["nine", "ten"]), "what it was about can still be read");
    assert!(shown.iter().all(|comment| comment["review_id"].is_string()));
    // Sent is sent, but can be settled.
    for (method, body) in [(Method::PATCH, json!({ "text": "other" })), (Method::DELETE, Value::Null)] {
        let request = board.server.request(method.clone(), &path);
        let request = if body.is_null() { request } else { request.json(&body) };
        let (status, refusal) = refused(request).await?;
        assert_eq!((status, &refusal["code"]), (409, &json!("already_sent")), "{method}");
    }
    let settled = board.patch(&path, json!({ "resolved": true })).await?;
    assert_eq!(settled["status"], "resolved");
    let again = board.patch(&path, json!({ "resolved": false })).await?;
    assert_eq!(again["status"], "sent");
    board.act(&task, "review/approve?wait=none", json!({})).await?;
    board.server.until(&task, is("done")).await?;
    Ok(())
}

/// The field that a refusal names first.
fn named(refusal: &Value) -> String {
    text(&refusal["details"]["findings"][0], "path")
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_not_there_are_refused() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = waiting(&board).await?;
    let path = format!("/tasks/{}/comments", text(&task, "id"));
    let cases = [
        (json!({ "path": "a.txt", "line": 11, "text": "x" }), "line"),
        (json!({ "path": "a.txt", "line": 0, "text": "x" }), "line"),
        (json!({ "path": "a.txt", "line": 3, "last_line": 2, "text": "x" }), "last_line"),
        (json!({ "path": "a.txt", "last_line": 2, "text": "x" }), "line"),
        (json!({ "path": "none.txt", "line": 1, "text": "x" }), "path"),
        (json!({ "path": "a.txt", "side": "old", "line": 1, "text": "x" }), "path"),
        (json!({ "path": "../../etc/passwd", "line": 1, "text": "x" }), "path"),
        (json!({ "path": "/etc/passwd", "text": "x" }), "path"),
        (json!({ "path": "a.txt", "line": 1, "text": "  " }), "text"),
    ];
    let long = json!({ "path": "a.txt", "text": "x".repeat(16 * 1024 + 1) });
    let wide = json!({ "path": "a.txt", "line": 1, "last_line": 501, "text": "x" });
    for (body, field) in cases.into_iter().chain([(long, "text"), (wide, "last_line")]) {
        let (status, refusal) = board.refuse(&path, body.clone()).await?;
        assert_eq!((status, named(&refusal).as_str()), (400, field), "{body}: {refusal:#}");
    }
    assert_eq!(all(&board, &task).await?, Vec::<Value>::new());
    // A batch with one that is refused changes nothing.
    let batch = json!([{ "path": "a.txt", "line": 1, "text": "good" }, { "path": "a.txt", "line": 99, "text": "bad" }]);
    let (status, refusal) = board.refused(&task, "review/reject", json!({ "comments": batch })).await?;
    assert_eq!((status, named(&refusal).as_str()), (400, "comments[1].line"), "{refusal:#}");
    for outside in ["../../etc/passwd", "/etc/passwd"] {
        let batch =
            json!([{ "path": "a.txt", "text": "good" }, { "path": outside, "line": 1, "text": "bad" }]);
        let (status, refusal) = board.refused(&task, "review/reject", json!({ "comments": batch })).await?;
        assert_eq!((status, text(&refusal, "code")), (400, "path_escape".to_owned()), "{refusal:#}");
        assert_eq!(named(&refusal), "comments[1].path", "{refusal:#}");
    }
    let now = board.get(&task).await?;
    assert_eq!((&now["status"], &now["review"]["status"]), (&json!("review"), &json!("awaiting_human")));
    assert_eq!(all(&board, &task).await?, Vec::<Value>::new());
    let kept = good(board.server.request(Method::GET, &path).send().await?).await?;
    assert_eq!(kept["items"], json!([]));
    Ok(())
}

/// A draft that is settled and taken up again is still nobody's news; what is gone is told by its words.
#[tokio::test(flavor = "multi_thread")]
async fn a_draft_stays_one_and_lines_that_went_are_told_by_what_they_said() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    board.sandbox.repo.write("old.txt", "first\nsecond line of old\nthird\n")?;
    board.sandbox.repo.commit("what was there")?;
    let told =
        "```forge-script\nedit old.txt <<< \"first\\nthird\\n\"\n```\n```forge-script attempt=2\nhang\n```";
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.server.task(&board.project, new).await?;
    board.claim(&task).await?;
    awaits(&board, &task, 1).await?;
    let draft =
        comment(&board, &task, json!({ "path": "old.txt", "side": "old", "line": 2, "text": "keep it" }))
            .await?;
    assert_eq!((&draft["excerpt"], &draft["now_line"]), (&json!(["second line of old"]), &json!(2)));
    let path = format!("/comments/{}", text(&draft, "id"));
    assert_eq!(board.patch(&path, json!({ "resolved": true })).await?["status"], "resolved");
    assert_eq!(board.patch(&path, json!({ "resolved": false })).await?["status"], "draft");
    board.act(&task, "review/reject?wait=none", json!({ "reason": "no" })).await?;
    let back = board.server.until(&task, |task| task["live"].is_object() && is("in_progress")(task)).await?;
    let run = board.runs(&task).await?.pop().context("no run")?;
    let tree = text(&back["workspace"], "path");
    let folder = std::path::Path::new(&tree).parent().context("no folder")?;
    let file = folder.join(format!("prompt-{}.md", text(&run, "id")));
    until_there(&file).await?;
    let prompt = std::fs::read_to_string(file)?;
    for part in ["`old.txt`", "second line of old", "keep it"] {
        assert!(prompt.contains(part), "{part}:\n{prompt}");
    }
    assert!(!prompt.contains("`old.txt` line 2"), "the agent's version has another second line:\n{prompt}");
    Ok(())
}
