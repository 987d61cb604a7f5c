//! Checks of a review: reuse of passes on identical files, cancelled reviews, invalid configurations.

use std::path::Path;

use anyhow::{Context as _, Result};
use forge_model::{
    ids::{ProjectId, TaskId},
    review::ReviewConfig,
};
use forge_store::Store;
use forge_tests::patience::{until, until_there};
use reqwest::Method;
use serde_json::{Value, json};

use forge_testkit::{
    Board, LocalEngine,
    board::{is, text, until_exists},
    caller::refused,
    script,
    serve::marked_processes,
};

async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

fn counting(file: &Path) -> String {
    format!("echo x >>'{}' && echo counted", file.display())
}

fn count(file: &Path) -> usize {
    std::fs::read_to_string(file).unwrap_or_default().lines().count()
}

const EDIT: &[&str] = &["edit a <<< \"x\\n\""];

async fn awaiting(board: &Board, task: &Value, attempt: u32) -> Result<Value> {
    let there = |task: &Value| {
        task["review"]["status"] == "awaiting_human" && task["review"]["attempt_number"] == attempt
    };
    board.engine.until(task, there).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pass_on_identical_files_is_reused_only_when_enabled() -> Result<()> {
    for reuse in [true, false] {
        let settings = json!({ "auto_approve": false });
        let board = Board::new(settings).await?;
        let dir = board.folder.dir.path();
        let (first, second) = (dir.join("first"), dir.join("second"));
        let checks = json!({ "ci_steps": [counting(&first), counting(&second)], "reuse_passes": reuse });
        let task = board.task(EDIT, json!({ "review_config": checks })).await?;
        board.claim(&task).await?;
        awaiting(&board, &task, 1).await?;
        // Another task comes to the same files by itself.
        let twin = board.task(EDIT, json!({ "review_config": checks })).await?;
        board.claim(&twin).await?;
        awaiting(&board, &twin, 1).await?;
        assert_eq!((count(&first), count(&second)), if reuse { (1, 1) } else { (2, 2) });
        let (own, shared) = (reviews(&board, &task).await?, reviews(&board, &twin).await?);
        for index in 0..2 {
            let (own, shared) = (&own[0]["steps"][index], &shared[0]["steps"][index]);
            assert_eq!((&own["cached"], &shared["cached"]), (&json!(false), &json!(reuse)));
            assert_eq!(own["log_id"] == shared["log_id"], reuse);
            let log = board.engine.get(&format!("/executions/{}/logs", text(shared, "log_id"))).await?;
            assert!(log.to_string().contains("counted"), "its log can be read: {log:#}");
        }
        // Other files are checked anew, and a check of another text, too.
        board.act(&task, "review/reject?wait=none", json!({ "reason": "more" })).await?;
        awaiting(&board, &task, 2).await?;
        let again = reviews(&board, &task).await?;
        assert_eq!(again[1]["steps"][0]["cached"], reuse, "the agent changed nothing");
        let other = board.task(&["edit b <<< \"x\\n\""], json!({ "review_config": checks })).await?;
        board.claim(&other).await?;
        awaiting(&board, &other, 1).await?;
        assert_eq!(reviews(&board, &other).await?[0]["steps"][0]["cached"], false);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_that_failed_or_changed_files_runs_again() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let dir = board.folder.dir.path();
    let (flaky, changing) = (dir.join("flaky"), dir.join("changing"));
    // Passes from its second run on; the other one changes a file when it is run for the first time.
    let fails = format!("{}; test $(wc -l <'{}') -gt 1", counting(&flaky), flaky.display());
    let changes =
        format!("{}; test $(wc -l <'{}') -gt 1 || echo y >>a", counting(&changing), changing.display());
    for (check, file) in [(fails, &flaky), (changes, &changing)] {
        std::fs::remove_file(file).ok();
        let checks = json!({ "ci_steps": [check], "reuse_passes": true });
        let budget = json!({ "retry_budgets": { "review": 0 } });
        let task = board.task(EDIT, json!({ "review_config": checks, "task_state_config": budget })).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted");
        if file == &changing {
            let tree = text(&blocked["workspace"], "path");
            std::fs::write(Path::new(&tree).join("a"), "x\n")?;
        }
        board.act(&task, "actions/reset_budget?wait=none", json!({})).await?;
        awaiting(&board, &task, 2).await?;
        let step = reviews(&board, &task).await?[1]["steps"][0].clone();
        assert_eq!((&step["cached"], count(file)), (&json!(false), 2), "{step:#}");
        board.act(&task, "actions/cancel", json!({})).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn allowed_changes_of_a_check_are_merged() -> Result<()> {
    // It knows what it is run for.
    let format = "test \"$FORGE_TASK_TITLE\" = 'Do it' && echo formatted >>a";
    let checks = json!({ "ci_steps": [format], "allow_changes": true, "reuse_passes": true });
    let board = Board::new(json!({ "review_config": checks })).await?;
    for _ in 0..2 {
        let task = board.task(EDIT, json!({})).await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        let review = reviews(&board, &task).await?.remove(0);
        assert_eq!(review["steps"][0]["cached"], false);
        assert_eq!(board.folder.repo.show("main", "a").as_deref(), Some("x\nformatted"));
        board.folder.repo.git(&["rm", "-q", "a"])?;
        board.folder.repo.git(&["commit", "-qm", "as before"])?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pass_before_another_check_changed_files_is_not_reused() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let seen = board.folder.dir.path().join("seen");
    let checks = |steps: &[&str]| json!({ "ci_steps": steps, "allow_changes": true, "reuse_passes": true });
    let lint = counting(&seen);
    for steps in [&[lint.as_str()][..], &["echo formatted >>a", &lint]] {
        let task = board.task(EDIT, json!({ "review_config": checks(steps) })).await?;
        board.claim(&task).await?;
        awaiting(&board, &task, 1).await?;
    }
    assert_eq!(count(&seen), 2, "it passed on other files");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pass_beside_uncommitted_files_is_not_reused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let dir = board.folder.dir.path();
    let (seen, go) = (dir.join("seen"), dir.join("go"));
    let steps = [format!("{}; echo x >left-behind", counting(&seen)), until_exists(&go)];
    let checks = json!({ "ci_steps": steps, "reuse_passes": true });
    let task = board.task(EDIT, json!({ "review_config": checks })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("review")).await?;
    until("the first check's end", async || {
        let rows = reviews(&board, &task).await?;
        Ok(rows.first().filter(|row| row["steps"][0]["finished"] == true).map(drop))
    })
    .await?;
    board.engine.post(&format!("/tasks/{}/review/cancel", text(&task, "id")), json!({})).await?;
    std::fs::write(&go, "")?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(count(&seen), 2, "it ran beside a file that is in no commit");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn check_that_exits_zero_after_its_timeout_fails() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let checks = json!({ "ci_steps": ["trap 'exit 0' TERM; sleep 600 & wait"], "ci_timeout_seconds": 1 });
    let budget = json!({ "retry_budgets": { "review": 0 } });
    let task = board.task(EDIT, json!({ "review_config": checks, "task_state_config": budget })).await?;
    board.claim(&task).await?;
    let end = board.engine.until(&task, |task| is("blocked")(task) || is("done")(task)).await?;
    assert_eq!(end["status"], "blocked", "{end:#}");
    let review = reviews(&board, &task).await?.remove(0);
    assert_eq!(
        (&review["steps"][0]["timed_out"], &review["verdict"]),
        (&json!(true), &json!("fail")),
        "{review:#}"
    );
    assert!(text(&review, "reason").contains("timed out"), "{review:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_checks_run_again_on_retry() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let go = board.folder.dir.path().join("go");
    let check = format!("sleep 600 & {}; kill $!", until_exists(&go));
    let task = board.task(EDIT, json!({ "review_config": { "ci_steps": [check] } })).await?;
    let (status, refusal) =
        board.refuse(&format!("/tasks/{}/review/cancel", text(&task, "id")), json!({})).await?;
    assert_eq!((status, &refusal["code"]), (409, &json!("nothing_running")));
    board.claim(&task).await?;
    board.engine.until(&task, is("review")).await?;
    let dir = board.folder.dir.path();
    let sleeps =
        || -> Result<bool> { Ok(marked_processes(dir)?.iter().any(|line| line.contains("sleep 600"))) };
    until("the check's process", async || Ok(sleeps()?.then_some(()))).await?;
    let answer = board.engine.post(&format!("/tasks/{}/review/cancel", text(&task, "id")), json!({})).await?;
    assert_eq!(
        (&answer["review"]["status"], &answer["task"]["status"]),
        (&json!("cancelled"), &json!("review"))
    );
    assert!(!sleeps()?, "its whole process group is gone");
    let stopped = board.get(&task).await?;
    assert_eq!(stopped["error_annotation"]["type"], "manual");
    let verbs: Vec<_> = stopped["offers"].as_array().into_iter().flatten().map(|o| text(o, "verb")).collect();
    assert_eq!(verbs, ["retry", "send_back", "restart", "restart_with_changes", "hold", "cancel"]);
    let (status, refusal) =
        board.refuse(&format!("/tasks/{}/review/cancel", text(&task, "id")), json!({})).await?;
    assert_eq!((status, &refusal["code"]), (409, &json!("nothing_running")));
    std::fs::write(&go, "")?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    let rows: Vec<_> = reviews(&board, &task).await?.iter().map(|row| text(row, "status")).collect();
    assert_eq!(rows, ["cancelled", "passed"], "what was stopped stays on record");
    assert_eq!(board.get(&task).await?["budgets"]["review"]["used"], 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_review_stops_its_auditor() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let dir = board.folder.dir.path();
    let (began, go) = (dir.join("began"), dir.join("go"));
    let audit = format!(
        "edit a <<< \"spoiled\"\nrun touch '{}'\nwait-for {}\nverdict pass",
        began.display(),
        go.display()
    );
    let description =
        format!("{}\n```forge-script role=reviewer\n{audit}\n```\n", script(&["edit a <<< \"x\\n\""]));
    let roles = json!({ "coder": board.agent, "reviewer": board.agent });
    let new = json!({ "title": "Do it", "description": description, "roles": roles });
    let task = board.engine.task(&board.project, new).await?;
    board.claim(&task).await?;
    until_there(&began).await?;
    board.engine.post(&format!("/tasks/{}/review/cancel", text(&task, "id")), json!({})).await?;
    let stopped = board.get(&task).await?;
    assert_eq!((&stopped["status"], &stopped["live"]), (&json!("review"), &Value::Null));
    assert_eq!(stopped["error_annotation"]["type"], "manual", "not the auditor's fault");
    let tree = text(&stopped["workspace"], "path");
    assert_eq!(std::fs::read_to_string(Path::new(&tree).join("a"))?, "x\n", "no trace of it");
    let run = board.runs(&task).await?.pop().context("no run")?;
    assert_eq!(run["status"], "cancelled");
    std::fs::write(&go, "")?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

/// An older Forge may have stored such checks; the API refuses to save them.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_stored_checks_block_the_task() -> Result<()> {
    for broken in [json!({ "ci_steps": "npm test" }), json!({ "ci_steps": ["  "] }), json!({ "steps": [] })] {
        let mut board = Board::new(json!({})).await?;
        let task = board.task(EDIT, json!({})).await?;
        board.engine.stop().await;
        let store = Store::open(&board.folder.data_dir()).await?;
        let mut tx = store.write().await?;
        let mut row = tx.projects().get(&ProjectId(board.project.clone())).await?.context("no project")?;
        row.settings["review_config"] = broken.clone();
        let now = row.project.updated_at;
        tx.projects_mut().update(&mut row, now).await?;
        tx.commit().await?;
        store.close().await;
        board.engine = LocalEngine::start(board.folder.dir.path(), |_| {}).await?;
        board.claim(&task).await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        let trouble = &blocked["error_annotation"];
        assert_eq!(
            (&trouble["type"], &trouble["from_state"]),
            (&json!("recovery_required"), &json!("review"))
        );
        assert!(text(trouble, "message").contains("review_config"), "{broken}: {trouble:#}");
        assert!(board.folder.repo.show("main", "a").is_none());
        // It is mended where it was made.
        let path = format!("/projects/{}/settings", board.project);
        let change = board.engine.request(Method::PATCH, &path).json(&json!({ "max_concurrent": 3 }));
        let (status, refusal) = refused(change).await?;
        let field = text(&refusal["details"]["findings"][0], "path");
        assert!(
            status == 400 && field.starts_with("review_config"),
            "it is said to whoever saves: {refusal:#}"
        );
        board.patch(&path, json!({ "review_config": null })).await?;
        board.act(&task, "actions/retry?wait=none", json!({})).await?;
        board.engine.until(&task, is("done")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn blank_stored_check_of_a_task_blocks_it() -> Result<()> {
    let mut board = Board::new(json!({})).await?;
    let task = board.task(EDIT, json!({ "review_config": { "ci_steps": ["true"] } })).await?;
    board.engine.stop().await;
    let store = Store::open(&board.folder.data_dir()).await?;
    let mut tx = store.write().await?;
    let mut row = tx.tasks().get(&TaskId(text(&task, "id"))).await?.context("no task")?;
    row.review_config =
        Some(ReviewConfig { ci_steps: Some(vec![" ".to_owned()]), ..ReviewConfig::default() });
    let now = row.updated_at;
    tx.tasks_mut().update(&mut row, now).await?;
    tx.commit().await?;
    store.close().await;
    board.engine = LocalEngine::start(board.folder.dir.path(), |_| {}).await?;
    board.claim(&task).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    assert!(text(&blocked["error_annotation"], "message").contains("ci_steps[0]"), "{blocked:#}");
    Ok(())
}
