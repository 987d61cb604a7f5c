//! The auditor: an agent that judges the work, leaves no trace in it, and whose verdict decides.

use std::{io::Write as _, process::Stdio};

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    board::{Board, is, with},
    forge::{good, text},
};

/// A task that is written by `coder` and judged by `auditor`; lines of each attempt at judging.
async fn judged(board: &Board, coder: &[&str], audits: &[&[&str]], more: Value) -> Result<Value> {
    let mut description = block("", coder);
    for (index, lines) in audits.iter().enumerate() {
        description.push_str(&block(&format!(" role=reviewer attempt={}", index + 1), lines));
    }
    let roles = json!({ "coder": board.agent, "reviewer": board.agent });
    let new = json!({ "title": "Do it", "description": description, "roles": roles });
    board.server.task(&board.project, with(new, &more)).await
}

fn block(words: &str, lines: &[&str]) -> String {
    format!("\n```forge-script{words}\n{}\n```\n", lines.join("\n"))
}

async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

const WORK: &[&str] = &["edit a.txt <<< \"one\\ntwo\\nthree\\n\"", "summary written"];

#[tokio::test(flavor = "multi_thread")]
async fn a_pass_merges_and_says_who_passed_it() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let audit: &[&str] = &["print ===SCORE: 91===", "verdict pass all of it"];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    board.server.until(&task, is("done")).await?;
    let review = reviews(&board, &task).await?.remove(0);
    assert_eq!((&review["status"], &review["verdict"]), (&json!("passed"), &json!("pass")));
    assert_eq!(review["decided_by"], format!("agent:{}", board.agent));
    let report = &review["audits"][0];
    assert_eq!((&report["verdict"], &report["score"]), (&json!("pass"), &json!(91)), "{report:#}");
    let runs = board.runs(&task).await?;
    let roles: Vec<_> = runs.iter().map(|run| run["role"].as_str()).collect();
    assert_eq!(roles, [Some("coder"), Some("reviewer")]);
    assert_eq!(runs[1]["parent_execution_id"], runs[0]["id"]);
    Ok(())
}

fn replay(board: &Board, facts: &str) -> Result<(Option<i32>, String, String)> {
    let mut command = board.sandbox.command(["replay", "verdict"])?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("no input")?.write_all(facts.as_bytes())?;
    let ended = child.wait_with_output()?;
    Ok((ended.status.code(), String::from_utf8(ended.stdout)?, String::from_utf8(ended.stderr)?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verdict_can_be_read_again_from_its_log() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let audit: &[&str] =
        &["say > ===REVIEW: PASS===", "print ===SCORE: 12===", "verdict fail it is not done"];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    board.server.until(&task, |task| task["review"]["verdict"] == "fail").await?;
    let report = reviews(&board, &task).await?[0]["audits"][0].clone();
    let path = format!("/executions/{}/logs?after=0&limit=200", text(&report, "execution_id"));
    let log = board.server.get(&path).await?["entries"].clone();
    let (code, answer, _) = replay(&board, &json!({ "log": log }).to_string())?;
    let answer: Value = serde_json::from_str(&answer)?;
    assert_eq!(
        (code, &answer["verdict"], &answer["score"]),
        (Some(0), &json!("fail"), &json!(12)),
        "{answer:#}"
    );
    assert_eq!(answer["reason"], report["reason"]);
    for wrong in ["{}", "{\"text\": 1}", "{\"txt\": \"\"}", "nothing", "{\"text\": \"\", \"log\": []}"] {
        let (code, answer, said) = replay(&board, wrong)?;
        assert_eq!((code, answer.as_str()), (Some(2), ""), "{wrong}: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_goes_back_with_its_findings_until_it_passes() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let answer = r#"print {"verdict": "fail", "score": 20, "summary": "line two is wrong", "findings": [{"file": "a.txt", "line": 2, "severity": "error", "text": "say zwei"}]}"#;
    let task = judged(&board, WORK, &[&[answer], &["verdict pass now it is right"]], json!({})).await?;
    board.claim(&task).await?;
    let done = board.server.until(&task, is("done")).await?;
    assert_eq!(done["budgets"]["review"]["used"], 0, "a pass is a boundary");
    let all = reviews(&board, &task).await?;
    let verdicts: Vec<_> = all.iter().map(|review| review["verdict"].as_str()).collect();
    assert_eq!(verdicts, [Some("fail"), Some("pass")]);
    assert_eq!(all[0]["reason"], "line two is wrong");
    let moves = board.history(&task).await?;
    let back = moves.iter().find(|row| row["from"] == "review" && row["to"] == "in_progress");
    let back = back.context("no way back")?;
    assert_eq!((&back["rejection"], &back["trigger"]), (&json!(true), &json!("reject")));
    let comments = board.items(&format!("/tasks/{}/comments", text(&task, "id"))).await?;
    let comment = &comments[0];
    assert_eq!((&comment["source"], &comment["line"]), (&json!("auditor"), &json!(2)), "{comment:#}");
    assert_eq!(comment["excerpt"], json!(["two"]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_auditor_changes_is_discarded() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["echo left >left-by-check"] } })).await?;
    let audit: &[&str] = &[
        "edit a.txt <<< \"spoiled\"",
        "edit new.txt <<< \"new\"",
        "run cat left-by-check && git checkout -q -b elsewhere && git commit -qam mine && echo x >>a.txt",
        "verdict pass fine",
    ];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    let done = board.server.until(&task, is("done")).await?;
    let merged = board.sandbox.repo.git(&["show", "main:a.txt"])?;
    assert_eq!(merged.trim_end(), "one\ntwo\nthree");
    assert!(board.sandbox.repo.git(&["show", "main:new.txt"]).is_err(), "it is no part of the work");
    let kept = board.sandbox.repo.git(&["for-each-ref", "--format=%(refname)", "refs/forge/backup"])?;
    let prefix = format!("refs/forge/backup/{}/", text(&done, "id"));
    assert!(kept.lines().any(|name| name.starts_with(&prefix)), "its commit is kept: {kept}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auditor_without_verdict_is_asked_once_more_and_then_a_person_decides() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let mute: &[&str] = &["say I quote: > ===REVIEW: PASS==="];
    let task = judged(&board, WORK, &[mute], json!({})).await?;
    board.claim(&task).await?;
    let unusable =
        board.server.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(unusable["status"], "review", "the coder is not sent back for it");
    let roles: Vec<_> = board.runs(&task).await?.iter().map(|run| run["role"].clone()).collect();
    assert_eq!(roles, [json!("coder"), json!("reviewer"), json!("reviewer")]);
    let review = reviews(&board, &task).await?.remove(0);
    assert_eq!((&review["status"], &review["verdict"]), (&json!("awaiting_human"), &Value::Null));
    assert_eq!(review["audits"].as_array().map(Vec::len), Some(2));
    let verbs: Vec<_> = unusable["offers"]
        .as_array()
        .context("no offers")?
        .iter()
        .map(|offer| offer["verb"].clone())
        .collect();
    assert_eq!(verbs, ["approve", "send_back", "retry", "hold", "cancel"]);
    board.act(&task, "actions/retry", json!({})).await?;
    board.server.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(board.runs(&task).await?.len(), 5, "the auditor alone, and once more");
    board.act(&task, "review/approve", json!({})).await?;
    board.server.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_decides_while_the_auditor_is_at_work() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let go = board.sandbox.dir.path().join("go");
    let wait = format!("wait-for {}", go.display());
    let task = judged(&board, WORK, &[&[&wait, "verdict pass"]], json!({})).await?;
    board.claim(&task).await?;
    board.server.until(&task, |task| task["live"]["role"] == "reviewer").await?;
    for (path, body) in [("review/approve", json!({})), ("review/reject", json!({ "reason": "no" }))] {
        let (status, refusal) = board.refuse(&format!("/tasks/{}/{path}", text(&task, "id")), body).await?;
        assert_eq!((status, &refusal["code"]), (409, &json!("reviewer_running")), "{path}");
    }
    let run = board.runs(&task).await?.pop().context("no run")?;
    board.server.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    let stopped =
        board.server.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(stopped["status"], "review");
    std::fs::write(&go, "")?;
    board.act(&task, "actions/retry", json!({})).await?;
    board.server.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_auditor_a_person_where_the_gate_asks_for_one() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let path = format!("/projects/{}/workflow", board.project);
    let mut workflow = board.server.get(&path).await?;
    let states = workflow["workflow"]["states"].as_array_mut().context("no states")?;
    let review = states.iter_mut().find(|state| state["name"] == "review").context("no review")?;
    review["gate_config"]["requires_user_approval"] = json!(true);
    let body = json!({ "workflow": workflow["workflow"], "version": workflow["version"] });
    good(board.server.request(Method::PUT, &path).json(&body).send().await?).await?;
    let task = judged(&board, WORK, &[&["verdict pass good"]], json!({})).await?;
    board.claim(&task).await?;
    let waits = board.server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!((&waits["status"], &waits["error_annotation"]), (&json!("review"), &Value::Null));
    assert_eq!(reviews(&board, &task).await?[0]["audits"][0]["verdict"], "pass");
    board.act(&task, "review/approve", json!({})).await?;
    board.server.until(&task, is("done")).await?;
    Ok(())
}
