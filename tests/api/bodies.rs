//! Validation of settings, profiles, tasks and definitions when they are saved.

use anyhow::Result;
use reqwest::Method;
use serde_json::{Value, json};

use crate::answers::refused;
use forge_testkit::serve::Served;
use forge_testkit::{Board, board::text};

/// Status and field paths of a refusal.
async fn paths(
    board: &Board<Served>,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<(u16, Vec<String>)> {
    let (status, refusal) = refused(board.engine.request(method, path).json(body)).await?;
    let findings = refusal["details"]["findings"].as_array().cloned().unwrap_or_default();
    Ok((status, findings.iter().map(|finding| text(finding, "path")).collect()))
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_and_unusable_values_are_refused_on_save() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let settings = format!("/projects/{}/settings", board.project);
    for (body, path) in [
        (json!({ "innerLoop": { "competitive": [true, 3, 60] } }), "innerLoop.competitive"),
        (json!({ "author": ["A", "a@b"] }), "author"),
        (json!({ "author": { "name": "", "email": "a@b" } }), "author.name"),
        (json!({ "copy_files": [[".env", "copy"]] }), "copy_files[0]"),
        (json!({ "review_config": { "validate": [] } }), "review_config.validate"),
        (
            json!({ "lifecycle_hooks": { "before_work": [["script", "x"]] } }),
            "lifecycle_hooks.before_work[0]",
        ),
    ] {
        let refusal = paths(&board, Method::PATCH, &settings, &body).await?;
        assert_eq!(refusal, (400, vec![path.to_owned()]), "{body}");
    }
    let now = board.engine.get(&settings).await?;
    assert_eq!(now["settings"]["innerLoop"]["competitive"]["enabled"], false, "nothing was switched on");

    let tasks = format!("/projects/{}/tasks", board.project);
    for (more, path) in [
        (json!({ "race": [true] }), "race"),
        (json!({ "merge_config": ["main"] }), "merge_config"),
        (json!({ "review_config": [] }), "review_config"),
        (json!({ "task_state_config": [] }), "task_state_config"),
        (json!({ "roles": { "coder": ["agent", board.agent] } }), "roles.coder"),
    ] {
        let body = forge_testkit::board::with(json!({ "title": "x" }), &more);
        let refusal = paths(&board, Method::POST, &tasks, &body).await?;
        assert_eq!(refusal, (400, vec![path.to_owned()]), "{body}");
    }

    for (config, path) in [
        (json!(["sh"]), "config"),
        (json!({ "command": "sh", "env": [] }), "config.env"),
        (json!({ "command": "sh", "env": { "A=B": "1" } }), "config.env[\"A=B\"]"),
        (json!({ "command": "sh\0" }), "config.command"),
        (json!({ "command": "sh", "wall_clock_seconds": 0 }), "config.wall_clock_seconds"),
    ] {
        let body = json!({ "name": "listed", "adapter": "shell", "config": config });
        let refusal = paths(&board, Method::POST, "/agents", &body).await?;
        assert_eq!(refusal, (400, vec![path.to_owned()]), "{body}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn target_branch_is_trimmed_and_validated_on_save() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let settings = format!("/projects/{}/settings", board.project);
    let target = |target: &str| json!({ "merge_config": { "target_branch": target } });
    let saved = board.patch(&settings, target(" main\n")).await?;
    assert_eq!(saved["settings"]["merge_config"]["target_branch"], "main", "{saved:#}");
    let task = board.task(&["edit a <<< \"x\""], target("\tmain ")).await?;
    assert_eq!(task["merge_config"]["target_branch"], "main", "{task:#}");

    let path = vec!["merge_config.target_branch".to_owned()];
    let tasks = format!("/projects/{}/tasks", board.project);
    let this_task = format!("/tasks/{}", text(&task, "id"));
    for wrong in ["", "  ", "a b", "main..next", "-f", "HEAD", "a.lock", "refs//x", "x~1", "a:b"] {
        let refusal = paths(&board, Method::PATCH, &settings, &target(wrong)).await?;
        assert_eq!(refusal, (400, path.clone()), "{wrong:?}");
        let new = forge_testkit::board::with(json!({ "title": "x" }), &target(wrong));
        assert_eq!(paths(&board, Method::POST, &tasks, &new).await?, (400, path.clone()), "{wrong:?}");
        let change = forge_testkit::board::with(json!({ "version": task["version"] }), &target(wrong));
        assert_eq!(
            paths(&board, Method::PATCH, &this_task, &change).await?,
            (400, path.clone()),
            "{wrong:?}"
        );
    }
    let this_project = format!("/projects/{}", board.project);
    for wrong in ["main~0", "main^{commit}", "", "ma in"] {
        let refusal =
            paths(&board, Method::PATCH, &this_project, &json!({ "default_branch": wrong })).await?;
        assert_eq!(refusal, (400, vec!["default_branch".to_owned()]), "{wrong:?}");
    }
    let saved = board.patch(&this_project, json!({ "default_branch": " main " })).await?;
    assert_eq!(saved["default_branch"], "main");
    let root = board.folder.repo.path();
    let new = json!({ "repo_path": root, "name": "second", "settings": target("a b") });
    let refusal = paths(&board, Method::POST, "/projects", &new).await?;
    assert_eq!(refusal, (400, vec!["settings.merge_config.target_branch".to_owned()]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_config_on_a_plain_state_is_refused() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let workflow = format!("/projects/{}/workflow", board.project);
    let definition = Board::workflow(|states| {
        forge_testkit::board::state(states, "in_progress")["gate_config"] =
            json!({ "requires_user_approval": true });
    })?;
    let refusal = paths(&board, Method::PUT, &workflow, &json!({ "workflow": definition })).await?;
    assert_eq!(refusal, (400, vec!["states[2].gate_config".to_owned()]));
    Ok(())
}
