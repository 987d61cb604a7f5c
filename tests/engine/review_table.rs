//! The review table: who decides each case, and how long a pass stays valid.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, state, text, with},
};
use serde_json::{Value, json};

/// A script whose merge conflicts once, because its first run commits the same file for the user.
/// The second run does `fix`.
pub fn conflicting(board: &Board, file: &str, fix: &[&str], auditor: &str) -> String {
    let repo = board.folder.repo.path().display();
    let ours = format!("run cd '{repo}' && echo main >{file} && git add {file} && git commit -qm main");
    let rebase = "run git rebase -q --strategy-option=theirs main";
    let fix = [&[rebase], fix].concat().join("\n");
    format!(
        "```forge-script\n{ours}\nedit {file} <<< \"task\\n\"\n```\n```forge-script attempt=2\n{fix}\n```\n\
         ```forge-script role=reviewer\n{auditor}\n```"
    )
}

pub async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

/// A project whose review has this `requires_user_approval`.
async fn project(board: &Board, name: &str, approval: &Value, auto_approve: bool) -> Result<String> {
    let workflow = Board::workflow(|states| {
        state(states, "review")["gate_config"]["requires_user_approval"] = approval.clone();
    })?;
    board.project(name, json!({ "auto_approve": auto_approve }), json!({ "workflow": workflow })).await
}

/// Approves every waiting review until the task is closed.
async fn approve_until_closed(board: &Board, task: &Value) -> Result<Value> {
    let mut approved = 0;
    loop {
        let attempt = |task: &Value| task["review"]["attempt_number"].as_u64().unwrap_or(0);
        let waits = |task: &Value| {
            task["status"] == "review"
                && task["review"]["status"] == "awaiting_human"
                && attempt(task) > approved
        };
        let over = |task: &Value| task["status"] == "done" || task["status"] == "blocked";
        let now = board.engine.until(task, |task| waits(task) || over(task)).await?;
        if over(&now) {
            return Ok(now);
        }
        approved = attempt(&now);
        board.act(task, "review/approve?wait=none", json!({})).await?;
    }
}

/// The actor, the verdict and the number of audits of a review.
fn decided(review: &Value) -> (String, String, usize) {
    let by = text(review, "decided_by");
    let by = if by.starts_with("agent:") { "agent" } else { by.split(':').next().unwrap_or_default() };
    (by.to_owned(), text(review, "verdict"), review["audits"].as_array().map_or(0, Vec::len))
}

fn row(by: &str, verdict: &str, audits: usize) -> (String, String, usize) {
    (by.to_owned(), verdict.to_owned(), audits)
}

async fn each_approval(reviewer: &str) -> Result<()> {
    let board = Board::new(json!({})).await?;
    let audits = usize::from(reviewer == "agent");
    let approvals = [json!(false), json!(true), json!("always")];
    let cases = approvals.iter().flat_map(|approval| [(approval, true), (approval, false)]);
    for (number, (approval, auto)) in cases.enumerate() {
        let name = format!("p{number}");
        let project = project(&board, &name, approval, auto).await?;
        let mut roles = json!({ "coder": board.agent });
        match reviewer {
            "agent" => roles["reviewer"] = json!(board.agent),
            "user" => roles["reviewer"] = json!("user"),
            _ => {}
        }
        let told = conflicting(&board, &name, &[], "verdict pass fine");
        let new = json!({ "title": "Do it", "description": told, "roles": roles });
        let task = board.engine.task(&project, new).await?;
        board.claim(&task).await?;
        let end = approve_until_closed(&board, &task).await?;
        assert_eq!(end["status"], "done", "{reviewer} {approval} {auto}: {end:#}");
        assert!(end["review_passed_at"].is_string(), "{end:#}");
        let asks = approval != &json!(false);
        let first = match reviewer {
            "agent" if !asks => row("agent", "pass", 1),
            "none" if !asks && auto => row("system", "pass", 0),
            _ => row("user", "pass", audits),
        };
        let always = approval == &json!("always");
        let second = if always { row("user", "pass", 0) } else { row("system", "pass_ci_only", 0) };
        let found: Vec<_> = reviews(&board, &task).await?.iter().map(decided).collect();
        assert_eq!(found, [first, second], "{reviewer} {approval} auto_approve={auto}");
        assert_eq!(end["budgets"]["review"]["used"], 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn review_by_an_agent_is_decided_as_its_approval_setting_says() -> Result<()> {
    each_approval("agent").await
}

#[tokio::test(flavor = "multi_thread")]
async fn review_by_a_person_is_decided_as_its_approval_setting_says() -> Result<()> {
    each_approval("user").await
}

#[tokio::test(flavor = "multi_thread")]
async fn review_without_reviewer_is_decided_as_its_approval_setting_says() -> Result<()> {
    each_approval("none").await
}

/// A conflict fix outside the reviewed files is new work: the auditor or a person reviews it again.
#[tokio::test(flavor = "multi_thread")]
async fn conflict_fix_outside_the_reviewed_files_is_reviewed_again() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    for reviewer in [json!(board.agent), json!("user")] {
        let file = if reviewer == json!("user") { "u" } else { "a" };
        let told =
            conflicting(&board, file, &[&format!("edit {file}-more <<< \"x\\n\"")], "verdict pass fine");
        let rejects = format!(
            "{told}\n```forge-script role=reviewer attempt=2\nverdict fail too much\n```\n```forge-script role=reviewer attempt=3\nverdict pass fine\n```"
        );
        let roles = json!({ "coder": board.agent, "reviewer": reviewer });
        let new = json!({ "title": "Do it", "description": rejects, "roles": roles });
        let task = board.engine.task(&board.project, new).await?;
        board.claim(&task).await?;
        if reviewer == json!("user") {
            let waits = |n: u64| {
                move |task: &Value| {
                    task["review"]["status"] == "awaiting_human" && task["review"]["attempt_number"] == n
                }
            };
            board.engine.until(&task, waits(1)).await?;
            board.act(&task, "review/approve?wait=none", json!({})).await?;
            let again = board.engine.until(&task, waits(2)).await?;
            assert!(again["review_passed_at"].is_null(), "{again:#}");
            board.act(&task, "review/reject?wait=none", json!({ "reason": "too much" })).await?;
            board.engine.until(&task, waits(3)).await?;
            board.act(&task, "review/approve?wait=none", json!({})).await?;
        }
        board.engine.until(&task, is("done")).await?;
        let all = reviews(&board, &task).await?;
        let verdicts: Vec<_> = all.iter().map(|review| text(review, "verdict")).collect();
        assert_eq!(verdicts, ["pass", "fail", "pass"]);
        assert!(text(&all[1], "note").contains(&format!("{file}-more")), "{:#}", all[1]);
        let rejection = board.history(&task).await?.iter().filter(|row| row["rejection"] == true).count();
        assert_eq!(rejection, 1, "it counts as any rejection");
    }
    Ok(())
}

/// A task that passed its review and waits at a conflict without a fix budget.
async fn conflicted_task(board: &Board, file: &str, more: Value) -> Result<Value> {
    let told = conflicting(board, file, &[], "verdict pass fine");
    let limits = json!({ "task_state_config": { "retry_budgets": { "merge_fix": 0 } } });
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, with(with(new, &limits), &more)).await?;
    board.claim(&task).await?;
    let stuck = board.engine.until(&task, is("merge_failed")).await?;
    ensure!(stuck["review_passed_at"].is_string(), "{stuck:#}");
    Ok(stuck)
}

#[tokio::test(flavor = "multi_thread")]
async fn change_by_a_person_revokes_the_pass() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
    let gone = |task: &Value| task["review_passed_at"].is_null();
    for (number, to) in ["todo", "backlog", "in_progress", "review"].iter().enumerate() {
        let task = conflicted_task(&board, &format!("m{number}"), json!({})).await?;
        // The agent or the checks may pass it anew a moment later: what the move itself did is in its answer.
        board.act(&task, "actions/hold", json!({})).await?;
        let moved = board.move_to(&task, to).await?;
        let moved = moved.get("task").unwrap_or(&moved).clone();
        assert!(gone(&moved), "{to}: {moved:#}");
        board.act(&task, "actions/cancel", json!({})).await?;
    }
    for (verb, file) in [("send_back", "v0"), ("restart", "v1")] {
        let task = conflicted_task(&board, file, json!({})).await?;
        board.act(&task, "actions/hold", json!({})).await?;
        board.act(&task, &format!("actions/{verb}?wait=none"), json!({ "reason": "again" })).await?;
        assert!(gone(&board.get(&task).await?), "{verb}");
        board.act(&task, "actions/cancel", json!({})).await?;
    }
    let task = conflicted_task(&board, "reset", json!({})).await?;
    let repo = &board.folder.repo;
    std::fs::remove_dir_all(text(&task["workspace"], "path"))?;
    repo.git(&["worktree", "prune"])?;
    repo.git(&["branch", "-D", &format!("forge/{}", text(&task, "id"))])?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    let lost = |task: &Value| task["error_annotation"]["type"] == "workspace_reset_required";
    assert!(!gone(&board.engine.until(&task, lost).await?), "trying again is no new judgement");
    board.engine.post(&format!("/tasks/{}/workspace/reset", text(&task, "id")), json!({})).await?;
    assert!(gone(&board.get(&task).await?), "a fresh worktree");
    // Another coder's work was not seen; the same one's was.
    let task = conflicted_task(&board, "coder", json!({})).await?;
    let config = board.engine.get(&format!("/agents/{}", board.agent)).await?["config"].clone();
    let other = json!({ "name": "Other", "adapter": "shell", "config": config });
    let other = text(&board.engine.post("/agents", other).await?, "id");
    let path = format!("/tasks/{}/roles/coder", text(&task, "id"));
    for (holder, stands) in [(&board.agent, true), (&other, false)] {
        let version = board.get(&task).await?["version"].clone();
        let body = json!({ "holder": holder, "version": version });
        board.engine.put(&path, body).await?;
        assert_eq!(gone(&board.get(&task).await?), !stands);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_keeps_the_pass_and_reopening_revokes_it() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = conflicted_task(&board, "c", json!({})).await?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    let done = board.engine.until(&task, is("done")).await?;
    let verdicts: Vec<_> = reviews(&board, &task).await?.iter().map(|row| text(row, "verdict")).collect();
    assert_eq!(verdicts, ["pass", "pass_ci_only"], "only the merge was mended");
    assert_eq!(done["review_passed_at"], task["review_passed_at"], "it is not moved inside the cycle");
    let opened = board.move_to(&task, "todo").await?;
    let opened = opened.get("task").unwrap_or(&opened);
    assert!(opened["review_passed_at"].is_null(), "{opened:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_checks_of_a_conflict_fix_revoke_the_pass_and_block() -> Result<()> {
    let board = Board::new(json!({ "review_config": { "ci_steps": ["! grep -q bad c"] } })).await?;
    let told = conflicting(&board, "c", &["edit c <<< \"bad\\n\""], "verdict pass");
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, new).await?;
    board.claim(&task).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "ci_failed_after_merge_fix");
    assert!(blocked["review_passed_at"].is_null());
    let last = reviews(&board, &task).await?.pop().context("no review")?;
    assert_eq!((&last["status"], &last["steps"][0]["exit_code"]), (&json!("failed"), &json!(1)));
    assert_eq!(blocked["budgets"]["review"]["used"], 0, "no retry of the review is spent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_budgets_are_counted_separately() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let budgets = json!({ "task_state_config": { "retry_budgets": { "review": 1, "merge_fix": 0 } } });
    let repo = board.folder.repo.path().display();
    let ours = format!("run cd '{repo}' && echo main >c && git add c && git commit -qm main");
    let told = format!(
        "```forge-script\n{ours}\nedit c <<< \"task\\n\"\n```\n```forge-script attempt=2\nappend c <<< \"x\\n\"\n```"
    );
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, with(new, &budgets)).await?;
    board.claim(&task).await?;
    let waits = |n: u64| {
        move |task: &Value| {
            task["review"]["status"] == "awaiting_human" && task["review"]["attempt_number"] == n
        }
    };
    board.engine.until(&task, waits(1)).await?;
    board.act(&task, "review/reject?wait=none", json!({ "reason": "more" })).await?;
    let again = board.engine.until(&task, waits(2)).await?;
    assert_eq!(
        (&again["budgets"]["review"]["used"], &again["budgets"]["merge_fix"]["used"]),
        (&json!(1), &json!(0))
    );
    board.act(&task, "review/approve?wait=none", json!({})).await?;
    let stuck = board.engine.until(&task, is("merge_failed")).await?;
    assert_eq!(stuck["error_annotation"]["type"], "merge_conflict");
    assert_eq!(stuck["budgets"]["merge_fix"]["limit"], 0);
    assert_eq!(
        stuck["budgets"]["review"]["used"], 0,
        "the pass was a boundary, the conflict spends none of it"
    );
    Ok(())
}
