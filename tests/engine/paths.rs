//! The direct paths from todo to done, and those that end with a person.

use anyhow::Result;
use forge_testkit::Sandbox;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn task_with_passing_work_goes_from_todo_to_done() -> Result<()> {
    let sandbox =
        Sandbox::new(json!({ "auto_approve": true, "review_config": { "ci_steps": ["test -f hello.txt"] } }))
            .await?;
    let task =
        sandbox.task("Say hello", &["say working", "edit hello.txt <<< \"hello\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    let done = sandbox.reach(&task, "done").await?;
    assert_eq!(
        sandbox.moves(&task).await?,
        [
            "claim todo>in_progress",
            "accept in_progress>review",
            "accept review>merging",
            "accept merging>done"
        ]
    );
    assert_eq!(sandbox.repo.show("main", "hello.txt").as_deref(), Some("hello"));
    assert_eq!(
        std::fs::read_to_string(sandbox.repo.path().join("hello.txt"))?,
        "hello\n",
        "the clean checkout follows"
    );
    assert_eq!(done["workspace"]["status"], "cleaned");
    assert_eq!(done["diff_stat"], json!({ "files": 1, "added": 1, "removed": 0 }));
    assert!(!std::path::Path::new(done["workspace"]["path"].as_str().unwrap()).exists());
    assert_eq!(sandbox.processes()?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_check_sends_output_back_to_agent() -> Result<()> {
    let sandbox = Sandbox::new(
        json!({ "auto_approve": true, "review_config": { "ci_steps": ["echo looked; grep -q good a.txt"] } }),
    )
    .await?;
    let description = "```forge-script\nedit a.txt <<< \"bad\\n\"\n```\n```forge-script attempt=2\nedit a.txt <<< \"good\\n\"\n```";
    let task = sandbox.described("Be good", description, json!({})).await?;
    sandbox.claim(&task).await?;
    let done = sandbox.reach(&task, "done").await?;
    assert_eq!(
        sandbox.moves(&task).await?[1..4],
        ["accept in_progress>review", "reject review>in_progress", "accept in_progress>review"]
    );
    let reviews = sandbox.call("task_reviews", json!({ "task_id": task["id"] })).await?;
    assert_eq!(reviews["items"][0]["status"], "failed");
    assert_eq!(reviews["items"][0]["steps"][0]["exit_code"], 1);
    assert_eq!(reviews["items"][0]["steps"][0]["stdout_tail"], "looked\n");
    assert_eq!(reviews["items"][1]["status"], "passed");
    assert_eq!(done["budgets"]["review"], json!({ "used": 0, "limit": 2 }), "a pass is a boundary");
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    let log = sandbox.call("execution_logs", json!({ "execution_id": runs["items"][1]["id"] })).await?;
    let entries = log["entries"].as_array().unwrap();
    let prompts: Vec<_> = entries.iter().filter(|entry| entry["kind"] == "user_message").collect();
    assert_eq!(prompts.len(), 1, "told once");
    let prompt = prompts[0]["body"]["text"].as_str().unwrap();
    assert!(prompt.contains("Review attempt 1 of 3 failed") && prompt.contains("looked"), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_check_after_two_retries_blocks_with_actions() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "review_config": { "ci_steps": ["echo no >&2; false"] } })).await?;
    let task = sandbox.task("Never good", &["append a.txt <<< \"x\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    let blocked = sandbox.reach(&task, "blocked").await?;
    assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted");
    assert_eq!(blocked["error_annotation"]["evidence"]["exit_code"], 1);
    assert_eq!(blocked["error_annotation"]["evidence"]["output"], "no");
    assert_eq!(blocked["budgets"]["review"], json!({ "used": 2, "limit": 2 }));
    let verbs: Vec<_> =
        blocked["offers"].as_array().unwrap().iter().map(|offer| offer["verb"].as_str().unwrap()).collect();
    assert_eq!(
        verbs,
        ["send_back", "reset_budget", "approve", "restart", "restart_with_changes", "hold", "cancel"]
    );
    let told = sandbox.call("notification_list", json!({})).await?;
    assert_eq!(told["items"][0]["kind"], "blocked");
    assert_eq!(told["items"].as_array().unwrap().len(), 1, "told once");
    // A person's word passes the gate.
    sandbox.call("task_action", json!({ "task_id": task["id"], "verb": "approve", "version": blocked["version"], "reason": "fine by me" })).await?;
    let done = sandbox.reach(&task, "done").await?;
    assert_eq!(done["error_annotation"], json!(null));
    assert!(sandbox.repo.show("main", "a.txt").is_some());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn review_by_a_person_approves_or_sends_back() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let description = "```forge-script\nedit a.txt <<< \"one\\n\"\n```\n```forge-script attempt=2\nedit a.txt <<< \"two\\n\"\n```";
    let task = sandbox.described("Ask me", description, json!({})).await?;
    sandbox.claim(&task).await?;
    let waiting =
        sandbox.wait(&task, "awaiting", |task| task["review"]["status"] == "awaiting_human").await?;
    assert_eq!(waiting["status"], "review");
    let reviews = sandbox.call("task_reviews", json!({ "task_id": task["id"] })).await?;
    assert_eq!(reviews["items"][0]["note"], "no checks configured");
    let attention = sandbox.call("attention", json!({})).await?;
    assert_eq!(attention["items"][0]["id"], task["id"]);
    sandbox.call("review_reject", json!({ "task_id": task["id"], "reason": "say two" })).await?;
    sandbox
        .wait(&task, "reviewed again", |task| {
            task["review"]["attempt_number"] == 2 && task["review"]["status"] == "awaiting_human"
        })
        .await?;
    assert_eq!(sandbox.get(&task).await?["budgets"]["review"]["used"], 1);
    let answer = sandbox.call("review_approve", json!({ "task_id": task["id"], "reason": "good" })).await?;
    assert_eq!(answer["task"]["status"], "done", "the answer waits until the merge and the cleanup are done");
    assert_eq!(answer["review"]["decided_by"], "user:api");
    assert_eq!(sandbox.repo.show("main", "a.txt").as_deref(), Some("two"));
    let again = sandbox.call("review_approve", json!({ "task_id": task["id"] })).await.unwrap_err();
    assert_eq!((again.status, again.code.as_str()), (409, "not_awaiting"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crashing_agent_is_restarted_within_its_budget() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let task = sandbox.task("Crash", &["say about to fall", "fail 3"], json!({})).await?;
    sandbox.claim(&task).await?;
    let blocked = sandbox.reach(&task, "blocked").await?;
    assert_eq!(blocked["error_annotation"]["type"], "executor_failed");
    assert!(blocked["error_annotation"]["evidence"]["output"].as_str().unwrap().contains("about to fall"));
    assert_eq!(blocked["budgets"]["execution"], json!({ "used": 2, "limit": 2 }));
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    assert_eq!(runs["items"].as_array().unwrap().len(), 3);
    assert_eq!(runs["items"][0]["error"]["code"], "crashed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_agent_program_blocks_at_once() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let agent = sandbox
        .call("agent_create", json!({ "name": "nobody", "adapter": "shell", "config": { "command": "/no/such/program", "args": ["x"] } }))
        .await?;
    let task = sandbox.task("Nobody home", &[], json!({ "roles": { "coder": agent["id"] } })).await?;
    sandbox
        .call("task_claim", json!({ "task_id": task["id"], "agent_id": agent["id"], "version": 1 }))
        .await?;
    let blocked = sandbox.reach(&task, "blocked").await?;
    assert_eq!(blocked["error_annotation"]["type"], "executor_unavailable");
    assert_eq!(blocked["budgets"]["execution"]["used"], 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_without_changes_is_asked_once() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let task = sandbox.task("Nothing to do", &["say nothing to do"], json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    assert_eq!(runs["items"].as_array().unwrap().len(), 2);
    let reviews = sandbox.call("task_reviews", json!({ "task_id": task["id"] })).await?;
    assert_eq!(reviews["items"][0]["note"], "no changes");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn first_merge_conflict_is_resolved_by_the_agent() -> Result<()> {
    let sandbox = Sandbox::new(
        json!({ "auto_approve": true, "author": { "name": "F", "email": "f@example.invalid" } }),
    )
    .await?;
    let gate = sandbox.dir.path().join("go");
    let wait = format!("wait-for {}", gate.display());
    let description = format!(
        "```forge-script\nedit src/a.txt <<< \"task\\n\"\n{wait}\n```\n```forge-script attempt=2\nrun git rebase --strategy-option=theirs main\n```"
    );
    let task = sandbox.described("Conflict", &description, json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.wait(&task, "running", |task| task["live"].is_object()).await?;
    sandbox.repo.write("src/a.txt", "main\n")?;
    sandbox.repo.commit("main moves on")?;
    std::fs::write(&gate, "")?;
    sandbox.reach(&task, "done").await?;
    assert_eq!(
        sandbox.moves(&task).await?[3..],
        [
            "fail merging>merge_failed",
            "retry merge_failed>in_progress",
            "accept in_progress>review",
            "accept review>merging",
            "accept merging>done"
        ]
    );
    let reviews = sandbox.call("task_reviews", json!({ "task_id": task["id"] })).await?;
    assert_eq!(reviews["items"][1]["verdict"], "pass_ci_only");
    assert_eq!(sandbox.repo.show("main", "src/a.txt").as_deref(), Some("task"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn second_merge_conflict_needs_a_person() -> Result<()> {
    let sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let gate = sandbox.dir.path().join("go");
    let wait = format!("wait-for {}", gate.display());
    let task = sandbox
        .task(
            "Conflict",
            &["edit src/a.txt <<< \"task\\n\"", &wait, "append src/a.txt <<< \"more\\n\""],
            json!({}),
        )
        .await?;
    sandbox.claim(&task).await?;
    sandbox.wait(&task, "running", |task| task["live"].is_object()).await?;
    sandbox.repo.write("src/a.txt", "main\n")?;
    sandbox.repo.commit("main moves on")?;
    std::fs::write(&gate, "")?;
    let stuck = sandbox.reach(&task, "merge_failed").await?;
    assert_eq!(stuck["error_annotation"]["type"], "merge_conflict");
    assert_eq!(stuck["budgets"]["merge_fix"], json!({ "used": 2, "limit": 1 }));
    assert_eq!(sandbox.repo.show("main", "src/a.txt").as_deref(), Some("main"), "the target is as it was");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_of_a_person_moves_through_columns_without_agent() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let task = sandbox.task("By hand", &[], json!({ "roles": {} })).await?;
    let step = async |to: &str| -> Result<serde_json::Value> {
        let version = sandbox.get(&task).await?["version"].clone();
        Ok(sandbox
            .call("task_transition", json!({ "task_id": task["id"], "to": to, "version": version }))
            .await?)
    };
    assert_eq!(step("in_progress").await?["task"]["workspace"], json!(null), "nobody to make a worktree for");
    let review = step("review").await?;
    assert_eq!(review["review"]["status"], "awaiting_human");
    let answer = sandbox.call("review_approve", json!({ "task_id": task["id"] })).await?;
    assert_eq!(answer["task"]["status"], "done");
    assert_eq!(sandbox.repo.git(&["log", "--oneline"])?.lines().count(), 1, "nothing was merged");
    Ok(())
}
