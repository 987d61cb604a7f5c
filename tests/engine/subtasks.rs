//! Subtasks: their creation, the order in which a parent's agent works on them, and who may move them.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
    caller::{good, refused},
    script,
};
use reqwest::Method;
use serde_json::{Value, json};

async fn ordered(board: &Board, parent: &Value, title: &str, lines: &[&str], more: Value) -> Result<Value> {
    let new = json!({
        "title": title, "description": script(lines), "parent_id": parent["id"], "execution_mode": "ordered_turn",
    });
    board.engine.task(&board.project, with(new, &more)).await
}

fn kind(task: &Value) -> &str {
    task["commit_result"]["kind"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_subtasks_run_in_order_after_the_parents_own_run() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["test -f a && test -f b"] } })).await?;
    let parent = board.task(&["edit own.txt <<< \"own\\n\""], json!({})).await?;
    // Made in one order, worked on in the other.
    let second = ordered(
        &board,
        &parent,
        "Second",
        &["edit b <<< \"b\\n\"", "commit by the agent"],
        json!({ "subtask_order": 7 }),
    )
    .await?;
    let first =
        ordered(&board, &parent, "First", &["edit a <<< \"a\\n\""], json!({ "subtask_order": 3 })).await?;
    let last = ordered(&board, &parent, "Last", &["say nothing to do"], json!({})).await?;
    assert_eq!(last["subtask_order"], 8, "after the last");
    let now = board.engine.get(&format!("/tasks/{}", text(&parent, "id"))).await?;
    assert_eq!(now["subtasks"], json!({ "closed": 0, "total": 3 }));

    board.claim(&parent).await?;
    let done = board.engine.until(&parent, is("done")).await?;
    assert_eq!(done["subtasks"], json!({ "closed": 3, "total": 3 }));
    assert_eq!(
        board.moves(&parent).await?,
        ["todo>in_progress", "in_progress>review", "review>merging", "merging>done"],
        "it goes on to review by itself, once"
    );
    let runs = board.runs(&parent).await?;
    let whose: Vec<&Value> = runs.iter().map(|run| &run["subtask_id"]).collect();
    assert_eq!(whose, [&Value::Null, &first["id"], &second["id"], &last["id"]]);
    for (part, how) in [(&first, "forge_commit"), (&second, "agent_commit_range"), (&last, "no_diff")] {
        let part = board.engine.get(&format!("/tasks/{}", text(part, "id"))).await?;
        assert_eq!((part["status"].as_str(), kind(&part)), (Some("done"), how), "{part:#}");
        assert!(part["workspace"].is_null(), "it has no worktree of its own");
        assert_eq!(board.moves(&part).await?, ["todo>in_progress", "in_progress>done"]);
        let history = board.engine.get(&format!("/tasks/{}/transitions", text(&part, "id"))).await?;
        let steps = history["items"].as_array().context("no items")?;
        let actions: Vec<&str> = steps
            .iter()
            .flat_map(|row| row["steps"].as_array().into_iter().flatten())
            .filter_map(|step| step["action"].as_str())
            .collect();
        assert_eq!(actions, ["satisfy_dependents"]);
    }
    let first = board.engine.get(&format!("/tasks/{}", text(&first, "id"))).await?;
    let range = &first["commit_result"];
    assert_eq!(range["before"], runs[0]["after_commit"]);
    assert_eq!(range["after"], runs[1]["after_commit"]);
    let message = board.folder.repo.git(&[
        "log",
        "-1",
        "--format=%B",
        range["after"].as_str().context("no commit")?,
    ])?;
    assert_eq!(message, format!("First\n\nSubtask #{} of task #{}", first["number"], parent["number"]));
    // The prompt of a turn frames the part below the task; the parent's own turn is told what follows.
    let prompt = async |run: &Value| -> Result<String> {
        let log = board.engine.get(&format!("/executions/{}/logs", text(run, "id"))).await?;
        let entry =
            log["entries"].as_array().into_iter().flatten().find(|entry| entry["kind"] == "user_message");
        Ok(entry.map(|entry| text(&entry["body"], "text")).unwrap_or_default())
    };
    let own = prompt(&runs[0]).await?;
    assert!(own.contains("# Parts that follow") && own.contains("First"), "{own}");
    let turn = prompt(&runs[1]).await?;
    assert!(
        turn.contains("# Your turn now: subtask #3: First") && !turn.contains("Parts that follow"),
        "{turn}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_subtask_is_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let path = format!("/projects/{}/tasks", board.project);
    let parent = board.task(&["hang"], json!({})).await?;
    let part = ordered(&board, &parent, "Part", &[], json!({})).await?;
    let finding = async |new: Value| -> Result<String> {
        let (status, body) = board.refuse(&path, new).await?;
        assert_eq!(status, 400, "{body}");
        Ok(text(&body["details"]["findings"][0], "path"))
    };
    let closed = board.task(&[], json!({})).await?;
    board.move_to(&closed, "cancelled").await?;
    let reviewed = board.engine.task(&board.project, json!({ "title": "By hand" })).await?;
    board.move_to(&reviewed, "blocked").await?;
    let cases = [
        (json!({ "title": "x", "parent_id": part["id"] }), "parent_id"),
        (json!({ "title": "x", "parent_id": closed["id"] }), "parent_id"),
        (json!({ "title": "x", "parent_id": "nothing" }), "parent_id"),
        (json!({ "title": "x", "execution_mode": "ordered_turn" }), "execution_mode"),
        (json!({ "title": "x", "subtask_order": 1 }), "subtask_order"),
        (json!({ "title": "x", "parent_id": parent["id"], "subtask_order": 1 }), "subtask_order"),
        (
            json!({ "title": "x", "parent_id": reviewed["id"], "execution_mode": "ordered_turn" }),
            "execution_mode",
        ),
    ];
    for (new, field) in cases {
        assert_eq!(finding(new.clone()).await?, field, "{new}");
    }
    let independent =
        board.engine.task(&board.project, json!({ "title": "Own", "parent_id": parent["id"] })).await?;
    assert_eq!(
        (independent["execution_mode"].as_str(), &independent["subtask_order"]),
        (Some("independent"), &Value::Null)
    );
    let change = |task: &Value| json!({ "subtask_order": 5, "version": task["version"] });
    let patch = |task: &Value| {
        board.engine.request(Method::PATCH, &format!("/tasks/{}", text(task, "id"))).json(&change(task))
    };
    assert_eq!(refused(patch(&independent)).await?.0, 400);
    assert_eq!(good(patch(&part).send().await?)?["subtask_order"], 5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_subtask_refuses_moves_other_than_closing() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let go = board.folder.dir.path().join("go");
    let parent =
        board.task(&[&format!("wait-for {}", go.display()), "edit own <<< \"own\""], json!({})).await?;
    let part = ordered(&board, &parent, "Part", &["edit a <<< \"a\""], json!({})).await?;
    let id = text(&part, "id");
    let claim = json!({ "agent_id": board.agent, "version": part["version"] });
    let (status, body) = board.refuse(&format!("/tasks/{id}/claim"), claim).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "SUBTASK_MANAGED_BY_PARENT"));
    let (status, body) = board
        .refuse(
            &format!("/tasks/{id}/transition"),
            json!({ "to": "in_progress", "version": part["version"] }),
        )
        .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "PARENT_WORKSPACE_REQUIRED"), "{body}");
    let (status, body) = board
        .refuse(&format!("/tasks/{id}/transition"), json!({ "to": "review", "version": part["version"] }))
        .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "SUBTASK_MANAGED_BY_PARENT"), "{body}");
    // A person may close one by hand; the others still run.
    let second = ordered(&board, &parent, "Second", &["edit b <<< \"b\""], json!({})).await?;
    board.move_to(&part, "cancelled").await?;
    board.claim(&parent).await?;
    board.engine.until(&parent, |task| task["live"].is_object()).await?;
    std::fs::write(&go, "")?;
    board.engine.until(&parent, is("done")).await?;
    let runs = board.runs(&parent).await?;
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[1]["subtask_id"], second["id"]);
    // Its parent is closed: it stays closed.
    let now = board.engine.get(&format!("/tasks/{id}")).await?;
    let (status, body) = board
        .refuse(&format!("/tasks/{id}/transition"), json!({ "to": "todo", "version": now["version"] }))
        .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "SUBTASK_MANAGED_BY_PARENT"), "{body}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_the_current_subtask_continues_the_sequence() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let parent = board.task(&["edit own <<< \"own\""], json!({})).await?;
    let stuck = ordered(&board, &parent, "Stuck", &["edit half <<< \"half\"", "hang"], json!({})).await?;
    let next = ordered(&board, &parent, "Next", &["edit b <<< \"b\""], json!({})).await?;
    board.claim(&parent).await?;
    board.engine.until(&stuck, is("in_progress")).await?;
    let half = |task: &Value| std::path::Path::new(&text(&task["workspace"], "path")).join("half").exists();
    board.engine.until(&parent, half).await?;
    board.move_to(&stuck, "done").await?;
    board.engine.until(&parent, is("done")).await?;
    let stuck = board.engine.get(&format!("/tasks/{}", text(&stuck, "id"))).await?;
    assert_eq!((stuck["status"].as_str(), kind(&stuck)), (Some("done"), "forge_commit"));
    assert_eq!(board.folder.repo.show("main", "half").as_deref(), Some("half"), "what it had done is kept");
    assert_eq!(board.runs(&parent).await?.last().context("no run")?["subtask_id"], next["id"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crash_during_a_subtask_repeats_it_within_the_parents_budget() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let parent = board.task(&["edit own <<< \"own\""], json!({})).await?;
    let first = ordered(&board, &parent, "First", &["edit a <<< \"a\""], json!({})).await?;
    let crashing = format!(
        "{}\n{}",
        script(&["append c <<< \"x\"", "commit c", "fail 3"]),
        "```forge-script attempt=4\nappend c <<< \"y\"\n```"
    );
    let second = board.engine.task(&board.project, json!({
        "title": "Second", "description": crashing, "parent_id": parent["id"], "execution_mode": "ordered_turn",
    })).await?;
    board.claim(&parent).await?;
    let done = board.engine.until(&parent, is("done")).await?;
    let runs = board.runs(&parent).await?;
    let whose: Vec<&Value> = runs.iter().map(|run| &run["subtask_id"]).collect();
    assert_eq!(whose, [&Value::Null, &first["id"], &second["id"], &second["id"]]);
    let second = board.engine.get(&format!("/tasks/{}", text(&second, "id"))).await?;
    assert_eq!(board.moves(&second).await?, ["todo>in_progress", "in_progress>done"]);
    assert_eq!(second["commit_result"]["before"], runs[1]["after_commit"], "from before its first run");
    assert_eq!(kind(&second), "forge_commit");
    assert_eq!(done["status"], "done");

    // Without budget the parent blocks, the part is open again, and the retry is its turn.
    let mut parent = board.task(&["edit own2 <<< \"own\""], json!({})).await?;
    let change =
        json!({ "task_state_config": { "retry_budgets": { "execution": 0 } }, "version": parent["version"] });
    parent = board.engine.patch(&format!("/tasks/{}", text(&parent, "id")), change).await?;
    let crashing = format!("{}\n{}", script(&["fail 3"]), "```forge-script attempt=3\nedit d <<< \"y\"\n```");
    let part = board.engine.task(&board.project, json!({
        "title": "Part", "description": crashing, "parent_id": parent["id"], "execution_mode": "ordered_turn",
    })).await?;
    board.claim(&parent).await?;
    let blocked = board.engine.until(&parent, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "executor_failed");
    assert_eq!(board.engine.get(&format!("/tasks/{}", text(&part, "id"))).await?["status"], "todo");
    board
        .engine
        .post(
            &format!("/tasks/{}/actions/retry", text(&parent, "id")),
            json!({ "version": blocked["version"] }),
        )
        .await?;
    board.engine.until(&parent, is("done")).await?;
    let runs = board.runs(&parent).await?;
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[2]["subtask_id"], part["id"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_a_cancelled_failed_subtask_skips_the_parents_own_run() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let no_restart = json!({ "task_state_config": { "retry_budgets": { "execution": 0 } } });
    for follows in [false, true] {
        let parent =
            board.task(&[&format!("append own-{follows} <<< \"own\\n\"")], no_restart.clone()).await?;
        let fails = ordered(&board, &parent, "Fails", &["fail 3"], json!({})).await?;
        let mut whose = vec![Value::Null, fails["id"].clone()];
        if follows {
            let next = ordered(&board, &parent, "Next", &["edit next <<< \"x\""], json!({})).await?;
            whose.push(next["id"].clone());
        }
        board.claim(&parent).await?;
        let blocked = board.engine.until(&parent, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], "executor_failed");
        board.act(&fails, "transition?wait=none", json!({ "to": "cancelled" })).await?;
        board.act(&parent, "actions/retry", json!({})).await?;
        board.engine.until(&parent, is("done")).await?;
        let runs = board.runs(&parent).await?;
        assert_eq!(runs.iter().map(|run| run["subtask_id"].clone()).collect::<Vec<_>>(), whose);
        let own = board.folder.repo.git(&["show", &format!("main:own-{follows}")])?;
        assert_eq!(own.lines().count(), 1, "the parent's own turn ran once");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn uncommittable_work_pauses_the_sequence() -> Result<()> {
    let board = Board::new(json!({})).await?;
    // As a line of its own the end of the block would be taken for a quotation.
    let markers = "run printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' >m";
    for (what, lines, message) in [
        ("markers", vec![markers], "conflict markers are left in m"),
        ("hooks", vec!["edit no.txt <<< \"no\""], "hooks refuse"),
    ] {
        if what == "hooks" {
            board.forbid_to_commit("no.txt")?;
            board.accept_configuration().await?;
        }
        let parent = board.task(&[&format!("edit own-{what} <<< \"own\"")], json!({})).await?;
        let mended = format!(
            "{}\n```forge-script attempt=3\nrun rm -f m no.txt\nedit ok-{what} <<< \"ok\"\n```",
            script(&lines)
        );
        let part = board.engine.task(&board.project, json!({
            "title": "Part", "description": mended, "parent_id": parent["id"], "execution_mode": "ordered_turn",
        })).await?;
        let later =
            ordered(&board, &parent, "Later", &[&format!("edit later-{what} <<< \"x\"")], json!({})).await?;
        board.claim(&parent).await?;
        let blocked = board.engine.until(&parent, is("blocked")).await?;
        let annotation = &blocked["error_annotation"];
        assert_eq!(annotation["type"], "subtask_paused", "{annotation:#}");
        assert!(text(annotation, "message").contains(message), "{annotation:#}");
        assert_eq!(annotation["details"]["subtask_id"], part["id"]);
        assert_eq!(board.engine.get(&format!("/tasks/{}", text(&later, "id"))).await?["status"], "todo");
        let verbs: Vec<String> =
            blocked["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect();
        assert_eq!(verbs, ["retry", "resume_session", "restart", "restart_with_changes", "hold", "cancel"]);
        let told = json!({ "version": blocked["version"], "message": "mend it" });
        board.engine.post(&format!("/tasks/{}/actions/resume_session", text(&parent, "id")), told).await?;
        board.engine.until(&parent, is("done")).await?;
        let whose: Vec<Value> =
            board.runs(&parent).await?.iter().map(|run| run["subtask_id"].clone()).collect();
        assert_eq!(whose, [Value::Null, part["id"].clone(), part["id"].clone(), later["id"].clone()]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_parent_closes_its_ordered_subtasks_only() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for (to, expected) in [("done", "done"), ("cancelled", "cancelled")] {
        let parent = board.task(&[], json!({})).await?;
        let part = ordered(&board, &parent, "Part", &[], json!({})).await?;
        let independent =
            board.engine.task(&board.project, json!({ "title": "Own", "parent_id": parent["id"] })).await?;
        board.move_to(&parent, to).await?;
        board.engine.until(&part, is(expected)).await?;
        assert_eq!(
            board.engine.get(&format!("/tasks/{}", text(&independent, "id"))).await?["status"],
            "todo"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_for_people_keeps_the_parent_out_of_review() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let path = format!("/projects/{}/workflow", board.project);
    let mut workflow = board.engine.get(&path).await?;
    let workflow = match workflow.get_mut("workflow") {
        Some(inner) => inner.take(),
        None => workflow,
    };
    let mut workflow = workflow;
    for state in workflow["states"].as_array_mut().context("no states")? {
        if state["name"] == "in_progress" {
            state["hooks"]["before_exit"][0]["applies_to"] = "all".into();
        }
    }
    let new = json!({ "name": "strict", "repo_path": board.folder.repo.path(), "workflow": workflow });
    let project = text(&board.engine.post("/projects", new).await?, "id");
    let parent = board.engine.task(&project, json!({ "title": "Whole" })).await?;
    let new = json!({ "title": "Part", "parent_id": parent["id"], "execution_mode": "ordered_turn" });
    let part = board.engine.task(&project, new).await?;
    board.move_to(&parent, "in_progress").await?;
    let (status, body) = loop {
        let now = board.engine.get(&format!("/tasks/{}", text(&parent, "id"))).await?;
        let ask = json!({ "to": "review", "version": now["version"] });
        let refused = board.refuse(&format!("/tasks/{}/transition", text(&parent, "id")), ask).await?;
        // The engine may just have said something on the task; then it is read again, as a person would.
        if refused.1["code"] != "version_conflict" {
            break refused;
        }
    };
    assert_eq!((status, text(&body, "code").as_str()), (412, "guard_rejected"));
    assert_eq!(body["details"]["action"], "subtask_sequence_complete");
    assert_eq!(body["details"]["code"], "SUBTASK_SEQUENCE_NOT_COMPLETE", "{body:#}");
    assert_eq!(body["details"]["details"]["open"], json!([part["id"]]));
    board.move_to(&part, "done").await?;
    assert_eq!(board.move_to(&parent, "review").await?["task"]["status"], "review");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_parent_with_an_open_subtask_names_the_subtask() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let parent = board.task(&[], json!({})).await?;
    ordered(&board, &parent, "Half", &["edit a <<< \"a\""], json!({})).await?;
    let delete = board.engine.request(Method::DELETE, &format!("/tasks/{}", text(&parent, "id")));
    let (status, refusal) = refused(delete).await?;
    let message = "Could not delete the task: its subtask #2 Half is open: finish or cancel it first.";
    assert_eq!((status, text(&refusal, "message").as_str()), (409, message));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn subtask_on_hold_or_with_open_dependency_holds_the_sequence() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let waits = |reason: &'static str| move |task: &Value| task["waiting"]["reason"] == reason;
    let parent = board.task(&["edit own <<< \"own\""], json!({})).await?;
    let held = ordered(&board, &parent, "Held", &["edit held <<< \"x\""], json!({})).await?;
    let before = board.engine.task(&board.project, json!({ "title": "Before" })).await?;
    let needs = json!({ "depends_on": [before["id"]] });
    let after = ordered(&board, &parent, "After", &["edit after <<< \"x\""], needs).await?;
    board.act(&held, "actions/hold", json!({})).await?;
    board.claim(&parent).await?;
    board.engine.until(&parent, |task| waits("held")(task) || task["status"] == "done").await?;
    assert_eq!(board.get(&held).await?["status"], "todo");
    board.act(&held, "actions/release", json!({})).await?;
    board.engine.until(&held, is("done")).await?;
    board.engine.until(&parent, |task| waits("dependency_open")(task) || task["status"] == "done").await?;
    assert_eq!(board.get(&after).await?["status"], "todo");
    board.move_to(&before, "done").await?;
    board.engine.until(&parent, is("done")).await?;
    assert_eq!(board.runs(&parent).await?.len(), 3, "its own and one of each part");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reopened_subtask_without_changes_reports_no_diff() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let parent = board.task(&["edit own <<< \"own\""], json!({})).await?;
    let again = ordered(&board, &parent, "Again", &["edit a <<< \"a\""], json!({})).await?;
    let stuck = ordered(&board, &parent, "Stuck", &["hang"], json!({})).await?;
    board.claim(&parent).await?;
    board.engine.until(&stuck, is("in_progress")).await?;
    let first = board.get(&again).await?;
    assert_eq!(kind(&first), "forge_commit");
    board.move_to(&again, "todo").await?;
    board.move_to(&stuck, "done").await?;
    board.engine.until(&parent, is("done")).await?;
    let second = board.get(&again).await?;
    assert_eq!(kind(&second), "no_diff", "nothing was left to do: {:#}", second["commit_result"]);
    assert_eq!(second["commit_result"]["after"], first["commit_result"]["after"]);
    Ok(())
}
