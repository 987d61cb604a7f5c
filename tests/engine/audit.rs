//! The auditor: an agent that reviews the work, leaves no trace in it, and whose verdict decides.

use std::{io::Write as _, process::Stdio};

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
};
use serde_json::{Value, json};

/// A task with a script for the coder and one for each audit.
async fn judged(board: &Board, coder: &[&str], audits: &[&[&str]], more: Value) -> Result<Value> {
    let mut description = block("", coder);
    for (index, lines) in audits.iter().enumerate() {
        description.push_str(&block(&format!(" role=reviewer attempt={}", index + 1), lines));
    }
    let roles = json!({ "coder": board.agent, "reviewer": board.agent });
    let new = json!({ "title": "Do it", "description": description, "roles": roles });
    board.engine.task(&board.project, with(new, &more)).await
}

fn block(words: &str, lines: &[&str]) -> String {
    format!("\n```forge-script{words}\n{}\n```\n", lines.join("\n"))
}

async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

const WORK: &[&str] = &["edit a.txt <<< \"one\\ntwo\\nthree\\n\"", "summary written"];

#[tokio::test(flavor = "multi_thread")]
async fn auditor_pass_merges_and_names_the_auditor() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let audit: &[&str] = &["print ===SCORE: 91===", "verdict pass all of it"];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let review = reviews(&board, &task).await?.remove(0);
    assert_eq!((&review["status"], &review["verdict"]), (&json!("passed"), &json!("pass")));
    assert_eq!(review["decided_by"], format!("agent:{}", board.agent));
    let report = &review["audits"][0];
    assert_eq!((&report["verdict"], &report["score"]), (&json!("pass"), &json!(91)), "{report:#}");
    assert_eq!((&review["report"], &review["score"]), (&report["text"], &json!(91)), "{review:#}");
    assert!(text(&review, "report").contains("===SCORE: 91==="), "{review:#}");
    assert_eq!(review["findings"], json!([]));
    let runs = board.runs(&task).await?;
    let roles: Vec<_> = runs.iter().map(|run| run["role"].as_str()).collect();
    assert_eq!(roles, [Some("coder"), Some("reviewer")]);
    assert_eq!(runs[1]["parent_execution_id"], runs[0]["id"]);
    let delivered = board.engine.get(&format!("/tasks/{}/delivery", text(&task, "id"))).await?;
    assert_eq!(delivered["summary"], "written", "the work's own words, not those of who judged it");
    assert_eq!((&delivered["audit"]["score"], &delivered["runs"]), (&json!(91), &json!(2)), "{delivered:#}");
    Ok(())
}

fn replay(board: &Board, facts: &str) -> Result<(Option<i32>, String, String)> {
    let mut command = board.folder.command(["replay", "verdict"])?;
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().context("no input")?.write_all(facts.as_bytes())?;
    let ended = child.wait_with_output()?;
    Ok((ended.status.code(), String::from_utf8(ended.stdout)?, String::from_utf8(ended.stderr)?))
}

#[tokio::test(flavor = "multi_thread")]
async fn verdict_is_replayed_from_its_log() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let audit: &[&str] =
        &["say > ===REVIEW: PASS===", "print ===SCORE: 12===", "verdict fail it is not done"];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["review"]["verdict"] == "fail").await?;
    let report = reviews(&board, &task).await?[0]["audits"][0].clone();
    let path = format!("/executions/{}/logs?after=0&limit=200", text(&report, "execution_id"));
    let log = board.engine.get(&path).await?["entries"].clone();
    let (code, answer, _) = replay(&board, &json!({ "log": log }).to_string())?;
    let answer: Value = serde_json::from_str(&answer)?;
    assert_eq!(
        (code, &answer["verdict"], &answer["score"]),
        (Some(0), &json!("fail"), &json!(12)),
        "{answer:#}"
    );
    assert_eq!(answer["reason"], report["reason"]);
    let spoken =
        |kind: &str, text: &str| json!({ "turn": 1, "id": "a", "kind": kind, "body": { "text": text } });
    let old = json!({ "log": [
        { "kind": "reasoning", "body": { "text": "===REVIEW: FAIL===" } },
        { "at": "2026-01-02T03:04:05Z", "kind": "assistant", "body": { "text": "I looked.\n===SCORE: 7===" } },
        spoken("assistant", "===REVIEW: "), spoken("assistant_text", "PASS==="),
    ] });
    let (code, answer, said) = replay(&board, &old.to_string())?;
    assert_eq!(code, Some(0), "older names and what is left out: {said}");
    let answer: Value = serde_json::from_str(&answer)?;
    assert_eq!((&answer["verdict"], &answer["score"]), (&json!("pass"), &json!(7)), "{answer:#}");
    let (code, _, said) = replay(&board, &json!({ "log": [spoken("spoken", "x")] }).to_string())?;
    assert!(code == Some(2) && said.contains("log[0].kind: `spoken` is not a kind of log entry"), "{said}");
    for wrong in ["{}", "{\"text\": 1}", "{\"txt\": \"\"}", "nothing", "{\"text\": \"\", \"log\": []}"] {
        let (code, answer, said) = replay(&board, wrong)?;
        assert_eq!((code, answer.as_str()), (Some(2), ""), "{wrong}: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_work_returns_with_findings_until_it_passes() -> Result<()> {
    let board = Board::new(
        json!({ "review_config": { "ci_steps": ["true"], "review_prompt": "Mind the numerals." } }),
    )
    .await?;
    let many: Vec<Value> = (0..220)
        .map(|n| json!({ "file": "many.txt", "severity": "info", "text": format!("no. {n}") }))
        .collect();
    let findings = [
        json!({ "file": "a.txt", "line": 2, "severity": "error", "text": "say zwei" }),
        json!({ "file": "a.txt", "line": 99, "text": "beyond the end" }),
        json!({ "file": "", "text": "of nothing in particular" }),
    ];
    let findings: Vec<Value> = findings.into_iter().chain(many).collect();
    let answer =
        json!({ "verdict": "fail", "score": 20, "summary": "line two is wrong", "findings": findings });
    let answer = format!("print {answer}");
    let told = board.folder.dir.path().join("told");
    std::fs::create_dir(&told)?;
    let keep = format!("run cp ../prompt-*.md '{}'", told.display());
    let again: &[&str] = &[&keep, "verdict pass now it is right"];
    // What was judged first is gone by the time of the second look.
    let work = &[WORK, &["commit by the agent"]].concat();
    let rewritten = block(
        " attempt=2",
        &[
            "edit a.txt <<< \"one\\nzwei\\nthree\\n\"",
            "run git add -A && git commit -q --amend -m again && git reflog expire --expire=now --all && git gc -q --prune=now",
        ],
    );
    let mut description = block("", work) + &rewritten;
    for (index, lines) in [&[answer.as_str()][..], again].iter().enumerate() {
        description.push_str(&block(&format!(" role=reviewer attempt={}", index + 1), lines));
    }
    let roles = json!({ "coder": board.agent, "reviewer": board.agent });
    let new = json!({ "title": "Do it", "description": description, "roles": roles });
    let task = board.engine.task(&board.project, new).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, is("done")).await?;
    assert_eq!(done["budgets"]["review"]["used"], 0, "a pass is a boundary");
    let all = reviews(&board, &task).await?;
    let verdicts: Vec<_> = all.iter().map(|review| review["verdict"].as_str()).collect();
    assert_eq!(verdicts, [Some("fail"), Some("pass")]);
    assert_eq!(all[0]["reason"], "line two is wrong");
    assert_eq!((&all[0]["score"], &all[0]["findings"]), (&json!(20), &all[0]["audits"][0]["findings"]));
    assert_eq!((&all[0]["findings"][0]["text"], &all[1]["findings"]), (&json!("say zwei"), &json!([])));
    let moves = board.history(&task).await?;
    let back = moves.iter().find(|row| row["from"] == "review" && row["to"] == "in_progress");
    let back = back.context("no way back")?;
    assert_eq!((&back["rejection"], &back["trigger"]), (&json!(true), &json!("reject")));
    let comments = board.items(&format!("/tasks/{}/comments?limit=200", text(&task, "id"))).await?;
    let comment = &comments[0];
    assert_eq!((&comment["source"], &comment["line"]), (&json!("auditor"), &json!(2)), "{comment:#}");
    assert_eq!(comment["excerpt"], json!(["two"]));
    let beyond = &comments[1];
    assert_eq!(
        (&beyond["path"], &beyond["line"]),
        (&json!("a.txt"), &Value::Null),
        "about the file: {beyond:#}"
    );
    assert!(comments.iter().all(|comment| comment["path"] != ""), "what is about no file is no comment");
    assert_eq!(comments.len(), 199, "200 findings are looked at, one of which has no file");
    // What the coder and the auditor were told the second time.
    let mut prompts = Vec::new();
    for entry in std::fs::read_dir(&told)? {
        prompts.push(std::fs::read_to_string(entry?.path())?);
    }
    let prompt = |part: &str| prompts.iter().find(|prompt| prompt.contains(part)).context(part.to_owned());
    prompt("Review attempt 1 of 3: the reviewer rejected the work.")?;
    let auditor = prompt("# Earlier attempts")?;
    for part in ["You judge the work", "Mind the numerals.", "- `true` passed", "+zwei", "`a.txt:2` say zwei"]
    {
        assert!(auditor.contains(part), "{part}:\n{auditor}");
    }
    Ok(())
}

/// A crashing auditor is retried within its budget, and its output before the crash decides nothing.
#[tokio::test(flavor = "multi_thread")]
async fn crashed_auditor_decides_nothing() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let unusable = |task: &Value| task["error_annotation"]["type"] == "reviewer_unusable";
    let roles = async |task: &Value| -> Result<Vec<String>> {
        Ok(board.runs(task).await?.iter().map(|run| text(run, "role")).collect())
    };
    let crashing = judged(&board, WORK, &[&["verdict pass fine", "fail 3"]], json!({})).await?;
    board.claim(&crashing).await?;
    let now = board.engine.until(&crashing, |task| unusable(task) || task["status"] == "done").await?;
    assert_eq!(now["status"], "review", "{now:#}");
    assert_eq!(roles(&crashing).await?, ["coder", "reviewer", "reviewer"]);
    let told = board.items("/notifications").await?;
    assert!(told.iter().any(|it| it["task_id"] == crashing["id"] && it["kind"] == "blocked"), "{told:#?}");
    // Nobody is there: asking once more would change nothing.
    let config = json!({ "command": "/nowhere/auditor", "args": [] });
    let new = json!({ "name": "Away", "adapter": "shell", "config": config });
    let away = text(&board.engine.post("/agents", new).await?, "id");
    let who = json!({ "roles": { "coder": board.agent, "reviewer": away } });
    let task = judged(&board, WORK, &[], who).await?;
    board.claim(&task).await?;
    board.engine.until(&task, unusable).await?;
    assert_eq!(roles(&task).await?, ["coder", "reviewer"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn auditor_changes_are_discarded_and_concurrent_writes_kept() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["echo left >left-by-check"] } })).await?;
    let audit: &[&str] = &[
        "edit a.txt <<< \"spoiled\"",
        "edit new.txt <<< \"new\"",
        "run cat left-by-check && git checkout -q -b elsewhere && git commit -qam mine && echo x >>a.txt",
        // A person has the worktree open, too.
        "run echo first >by-hand.txt && git add by-hand.txt && echo second >by-hand.txt",
        "verdict pass fine",
    ];
    let task = judged(&board, WORK, &[audit], json!({})).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, is("done")).await?;
    let git = |args: &[&str]| board.folder.repo.git(args);
    assert_eq!(git(&["show", "main:a.txt"])?.trim_end(), "one\ntwo\nthree");
    assert!(git(&["show", "main:new.txt"]).is_err(), "it is no part of the work");
    let prefix = format!("refs/forge/backup/{}", text(&done, "id"));
    let kept = |path: &str| git(&["show", &format!("{prefix}/1:{path}")]);
    assert_eq!((kept("new.txt")?.trim_end(), kept("by-hand.txt")?.trim_end()), ("new", "second"));
    assert_eq!(git(&["show", &format!("{prefix}/1^2:by-hand.txt")])?.trim_end(), "first");
    let subjects = git(&["for-each-ref", "--format=%(subject)", &prefix])?;
    assert!(subjects.lines().any(|subject| subject == "mine"), "the auditor's commit is kept: {subjects}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn auditor_without_verdict_is_asked_again_then_a_person_decides() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let mute: &[&str] = &["say I quote: > ===REVIEW: PASS==="];
    let task = judged(&board, WORK, &[mute], json!({})).await?;
    board.claim(&task).await?;
    let unusable =
        board.engine.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(unusable["status"], "review", "the coder is not sent back for it");
    let evidence = &unusable["error_annotation"]["evidence"]["output"];
    assert_eq!(evidence, "I quote: > ===REVIEW: PASS===", "what it said, not what it was told");
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
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(board.runs(&task).await?.len(), 5, "the auditor alone, and once more");
    board.act(&task, "review/approve", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    let delivered = board.engine.get(&format!("/tasks/{}/delivery", text(&task, "id"))).await?;
    assert!(delivered["audit"].is_null(), "nobody judged it but a person: {delivered:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_during_audit_is_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let go = board.folder.dir.path().join("go");
    let wait = format!("wait-for {}", go.display());
    let task = judged(&board, WORK, &[&[&wait, "verdict pass"]], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["live"]["role"] == "reviewer").await?;
    for (path, body) in [("review/approve", json!({})), ("review/reject", json!({ "reason": "no" }))] {
        let (status, refusal) = board.refuse(&format!("/tasks/{}/{path}", text(&task, "id")), body).await?;
        assert_eq!((status, &refusal["code"]), (409, &json!("reviewer_running")), "{path}");
    }
    let run = board.runs(&task).await?.pop().context("no run")?;
    board.engine.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    let stopped =
        board.engine.until(&task, |task| task["error_annotation"]["type"] == "reviewer_unusable").await?;
    assert_eq!(stopped["status"], "review");
    std::fs::write(&go, "")?;
    board.act(&task, "actions/retry", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_with_human_approval_waits_for_a_person_after_the_audit() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let path = format!("/projects/{}/workflow", board.project);
    let mut workflow = board.engine.get(&path).await?;
    let states = workflow["workflow"]["states"].as_array_mut().context("no states")?;
    let review = states.iter_mut().find(|state| state["name"] == "review").context("no review")?;
    review["gate_config"]["requires_user_approval"] = json!(true);
    let body = json!({ "workflow": workflow["workflow"], "version": workflow["version"] });
    board.engine.put(&path, body).await?;
    let task = judged(&board, WORK, &[&["verdict pass good"]], json!({})).await?;
    board.claim(&task).await?;
    let waits = board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!((&waits["status"], &waits["error_annotation"]), (&json!("review"), &Value::Null));
    assert_eq!(reviews(&board, &task).await?[0]["audits"][0]["verdict"], "pass");
    board.act(&task, "review/approve", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}
