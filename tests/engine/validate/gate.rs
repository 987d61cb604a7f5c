//! `validate` as a gate of reviews, its measures over the reviews of a task, and early stops without progress.

use std::path::Path;

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
};
use serde_json::{Value, json};

async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

async fn started(board: &Board, description: &str, more: Value) -> Result<Value> {
    let new = json!({ "title": "Do it", "description": description, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, forge_testkit::board::with(new, &more)).await?;
    board.claim(&task).await?;
    Ok(task)
}

fn attempts(first: &str, then: &str) -> String {
    format!("```forge-script\n{first}\n```\n```forge-script attempt=2\n{then}\n```")
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_passes_work_that_passes_its_validation() -> Result<()> {
    let gate = json!({ "files": ["a.mjs"], "commands": ["test -e ok"] });
    let board = Board::new(json!({ "review_config": { "ci_steps": ["true"], "validate": gate } })).await?;
    let told = attempts(
        "edit a.mjs <<< \"export const = 1;\\n\"",
        "edit a.mjs <<< \"export const a = 1;\\n\"\nedit ok <<< \"x\"",
    );
    let task = started(&board, &told, json!({})).await?;
    let done = board.engine.until(&task, |task| is("done")(task) || is("blocked")(task)).await?;
    assert_eq!(done["status"], "done", "{done:#}");
    let reviews = reviews(&board, &task).await?;
    let steps = |at: usize| reviews[at]["steps"].as_array().cloned().unwrap_or_default();
    let (first, second) = (steps(0), steps(1));
    assert_eq!(
        (first.len(), &first[1]["command"], &first[1]["exit_code"]),
        (2, &json!("validate"), &json!(1))
    );
    let results = first[1]["validate"]["results"].as_array().context("no results")?;
    assert_eq!(results.iter().filter(|it| it["passed"] == false).count(), 2, "{first:#?}");
    let reason = text(&reviews[0], "reason");
    assert!(reason.contains("syntax_check a.mjs") && reason.contains("command test -e ok"), "{reason}");
    let tail = text(&first[1], "stdout_tail");
    assert!(tail.contains("FAILED  syntax_check a.mjs"), "{tail}");
    assert_eq!((&second[1]["exit_code"], &second[1]["validate"]["attempt"]), (&json!(0), &json!(2)));
    assert_eq!(reviews[0]["measures"]["recommendation"], "RETRY");
    assert_eq!(reviews[1]["measures"]["recommendation"], "PROCEED");
    // What the agent was told is what is to be mended.
    let runs = board.runs(&task).await?;
    assert_eq!(runs.len(), 2);
    // The project keeps its attempts with those that people make.
    let of = format!("/validate/state?moduleId={}&project_id={}", text(&task, "id"), board.project);
    let state = board.engine.get(&of).await?;
    assert_eq!(state["attempts"].as_array().map(Vec::len), Some(2), "{state:#}");
    let kept = board.folder.repo.path().join(".forge/iterations").join(format!("{}.json", text(&task, "id")));
    assert!(Path::new(&kept).is_file());
    let log = board.engine.get(&format!("/executions/{}/logs", text(&first[1], "log_id"))).await?;
    assert!(log.to_string().contains("syntax_check a.mjs"), "{log:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_gate_can_be_disabled_per_task_and_invalid_one_is_refused() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "validate": { "commands": ["false"] } } })).await?;
    let off = json!({ "review_config": { "validate": {} } });
    let task = board.task(&["edit a <<< \"x\""], off).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let reviews = reviews(&board, &task).await?;
    assert_eq!((&reviews[0]["steps"], &reviews[0]["note"]), (&json!([]), &json!("no checks configured")));
    assert_eq!(reviews[0]["measures"], json!(null), "it checked nothing");
    let settings = format!("/projects/{}/settings", board.project);
    for (gate, path) in [
        (json!({ "files": ["../x"] }), "review_config.validate.files[0]"),
        (json!({ "moduleId": "a/b", "commands": ["true"] }), "review_config.validate.moduleId"),
        (json!({ "comands": [] }), "review_config.validate.comands"),
    ] {
        let request = board.engine.request(reqwest::Method::PATCH, &settings);
        let body = json!({ "review_config": { "validate": gate } });
        let (status, refusal) = forge_testkit::caller::refused(request.json(&body)).await?;
        assert_eq!((status, &refusal["details"]["findings"][0]["path"]), (400, &json!(path)), "{refusal:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_errors_inside_a_long_output_are_no_stagnation() -> Result<()> {
    // Each try of the agent adds a line to `a`, and each line mends an error that no row keeps.
    let tsc = "n=$(wc -l < a); for i in $(seq 300); do \
               [ $i -gt 140 ] && [ $i -le $((140 + n)) ] || echo \"src/a.ts($i,1): error TS2304: no x$i\"; done; false";
    let settings =
        json!({ "review_config": { "ci_steps": [tsc] }, "innerLoop": { "stopOnStagnation": true } });
    let board = Board::new(settings).await?;
    let task = started(&board, "```forge-script\nappend a <<< \"x\\n\"\n```", json!({})).await?;
    board.engine.until(&task, is("blocked")).await?;
    let reviews = reviews(&board, &task).await?;
    let measures = &reviews[1]["measures"];
    assert_eq!((&measures["sameAsPrev"], &measures["recommendation"]), (&json!(false), &json!("RETRY")));
    let diagnoses = reviews[0]["steps"][0]["diagnoses"].as_str().context("none were noted")?;
    assert!(
        diagnoses.starts_with("src/a.ts: TS2304: no x1; ") && diagnoses.contains("and 296 more"),
        "{diagnoses}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stagnant_retries_end_early_when_enabled() -> Result<()> {
    for stops in [true, false] {
        let settings = json!({
            "review_config": { "ci_steps": ["echo 'src/a.rs:3:1: it took 0.'$$'s'; false"] },
            "innerLoop": { "stopOnStagnation": stops },
        });
        let board = Board::new(settings).await?;
        let task = started(&board, "```forge-script\nappend a <<< \"x\\n\"\n```", json!({})).await?;
        let blocked = board.engine.until(&task, is("blocked")).await?;
        let (kind, attempts) = if stops { ("review_stagnant", 2) } else { ("review_budget_exhausted", 3) };
        let trouble = &blocked["error_annotation"];
        assert_eq!(trouble["type"], kind, "{blocked:#}");
        let used = &blocked["budgets"]["review"];
        assert_eq!((&used["used"], &used["limit"]), (&json!(attempts - 1), &json!(2)), "{used:#}");
        let reviews = reviews(&board, &task).await?;
        let said: Vec<&Value> = reviews.iter().map(|review| &review["measures"]["recommendation"]).collect();
        let expected = [json!("RETRY"), json!("ESCALATE"), json!("ESCALATE")];
        assert_eq!(said, expected.iter().take(attempts).collect::<Vec<_>>());
        assert_eq!(reviews[1]["measures"]["sameAsPrev"], true, "{:#}", reviews[1]);
        let status = board.engine.get(&format!("/projects/{}/inner-loop/status", board.project)).await?;
        let parts = status["items"].as_array().context("no parts")?;
        let part = parts.iter().find(|part| part["name"] == "validate").context("no part")?;
        assert_eq!(part["last"].is_object(), stops, "{part:#}");
        if stops {
            assert!(text(trouble, "message").contains("the same checks fail as before"), "{trouble:#}");
            // A person who asks for more retries gets them: the checks again, and a try of the agent.
            board.act(&task, "actions/reset_budget?wait=none", json!({})).await?;
            let again = board
                .engine
                .until(&task, |task| task["review"]["attempt_number"] == 4 && is("blocked")(task));
            assert_eq!(again.await?["error_annotation"]["type"], "review_stagnant");
        }
    }
    Ok(())
}
