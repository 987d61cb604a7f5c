//! "Done" means merged: whoever moves a task and whatever happens to its work, the engine finishes it only with the
//! reviewed commit in the target, and reports work that stays behind.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text},
    caller::good,
    script,
};
use forge_tests::patience::until_there;
use reqwest::Method;
use serde_json::{Value, json};

const PERSON: &str = r#"{"agent_id":"user"}"#;

fn awaits_review(task: &Value) -> bool {
    task["review"]["status"] == "awaiting_human"
}

fn branch(task: &Value) -> String {
    format!("forge/{}", text(task, "id"))
}

async fn tree(board: &Board, task: &Value) -> Result<PathBuf> {
    Ok(PathBuf::from(text(&board.get(task).await?["workspace"], "path")))
}

fn git(tree: &Path, args: &[&str]) -> Result<String> {
    let mut git = std::process::Command::new("git");
    let output = git.args(args).current_dir(tree).envs(forge_testkit::HERMETIC_GIT).output()?;
    ensure!(output.status.success(), "git {args:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

async fn last_review(board: &Board, task: &Value) -> Result<Value> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await?.pop().context("no review")
}

/// A board with manual approval, and a task in review with the file `work`.
async fn awaiting(settings: Value) -> Result<(Board, Value)> {
    let board = Board::new(forge_testkit::board::with(json!({ "auto_approve": false }), &settings)).await?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    let task = board.engine.until(&task, awaits_review).await?;
    Ok((board, task))
}

/// A task that a person works on.
async fn manual_task(board: &Board) -> Result<Value> {
    let task = board.engine.task(&board.project, json!({})).await?;
    board.act(&task, "claim", serde_json::from_str(PERSON)?).await?;
    let ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
    board.engine.until(&task, ready).await
}

/// Applies the default workflow with changed states.
async fn change_workflow(board: &Board, change: impl FnOnce(&mut Vec<Value>)) -> Result<()> {
    let path = format!("/projects/{}/workflow", board.project);
    let version = board.engine.get(&path).await?["version"].clone();
    let put = board.engine.request(Method::PUT, &path);
    let body = json!({ "workflow": Board::workflow(change)?, "version": version });
    good(put.json(&body).send().await?).map(drop)
}

async fn approve(board: &Board, task: &Value) -> Result<Value> {
    let commit = board.get(task).await?["review"]["reviewed_commit"].clone();
    board.act(task, "review/approve?wait=none", json!({ "commit": commit })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn running_task_moved_to_review_is_merged_with_its_uncommitted_work() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.task(&["edit half <<< \"half\\n\"", "hang"], json!({})).await?;
    board.claim(&task).await?;
    let running = board.engine.until(&task, |task| task["live"].is_object()).await?;
    until_there(&Path::new(&text(&running["workspace"], "path")).join("half")).await?;
    board.move_to(&task, "review").await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "half").as_deref(), Some("half"));
    let review = last_review(&board, &task).await?;
    let kept = format!("refs/forge/reviewed/{}/1", text(&task, "id"));
    assert_eq!(board.folder.repo.git(&["rev-parse", &kept])?, text(&review, "reviewed_commit"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_of_a_person_is_committed_shown_and_merged() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = manual_task(&board).await?;
    let tree = tree(&board, &task).await?;
    std::fs::write(tree.join("mine"), "mine\n")?;
    board.move_to(&task, "review").await?;
    let waits = board.engine.until(&task, awaits_review).await?;
    let diff = board.engine.get(&format!("/tasks/{}/diff", text(&task, "id"))).await?;
    assert_eq!(
        (&diff["head"], &diff["files"][0]["path"]),
        (&waits["review"]["reviewed_commit"], &json!("mine"))
    );
    assert!(diff["outside_review"].is_null(), "{diff:#}");
    assert_eq!(waits["unmerged_commits"], 1);
    std::fs::write(tree.join("late"), "late\n")?;
    let diff = board.engine.get(&format!("/tasks/{}/diff", text(&task, "id"))).await?;
    assert_eq!(diff["files"].as_array().map(Vec::len), Some(1), "the reviewed commit alone");
    assert_eq!(diff["outside_review"]["uncommitted"], json!(["late"]));
    std::fs::remove_file(tree.join("late"))?;
    approve(&board, &task).await?;
    let done = board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "mine").as_deref(), Some("mine"));
    assert_eq!(done["unmerged_commits"], 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn person_sending_work_to_the_merge_merges_all_of_it() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = manual_task(&board).await?;
    std::fs::write(tree(&board, &task).await?.join("mine"), "mine\n")?;
    board.move_to(&task, "merging").await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "mine").as_deref(), Some("mine"));
    let review = last_review(&board, &task).await?;
    assert_eq!((&review["status"], &review["state"]), (&json!("passed"), &json!("merging")), "{review:#}");
    let history = board.history(&task).await?;
    let sent = history.iter().find(|row| row["to"] == "merging").context("no move")?;
    assert_eq!(sent["trigger"], "override", "the workflow does not lead there");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_commit_blocks_with_the_message_of_git() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.forbid_to_commit("forbidden")?;
    let task = manual_task(&board).await?;
    let tree = tree(&board, &task).await?;
    std::fs::write(tree.join("forbidden"), "x\n")?;
    board.move_to(&task, "review").await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    let trouble = &blocked["error_annotation"];
    assert_eq!(trouble["type"], "commit_refused", "{trouble:#}");
    assert!(text(&trouble["details"], "output").contains("never"), "{trouble:#}");
    assert!(text(trouble, "message").lines().count() > 1, "a remedy: {trouble:#}");
    std::fs::rename(tree.join("forbidden"), tree.join("allowed"))?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "allowed").as_deref(), Some("x"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_branch_blocks_and_is_restored_from_the_reviewed_commit() -> Result<()> {
    for with_worktree in [true, false] {
        let (board, task) = awaiting(json!({})).await?;
        let repo = &board.folder.repo;
        if with_worktree {
            repo.git(&["update-ref", "-d", &format!("refs/heads/{}", branch(&task))])?;
        } else {
            std::fs::remove_dir_all(tree(&board, &task).await?)?;
            repo.git(&["worktree", "prune"])?;
            repo.git(&["branch", "-D", &branch(&task)])?;
        }
        approve(&board, &task).await?;
        let blocked = board.engine.until(&task, |task| is("blocked")(task) || is("done")(task)).await?;
        let trouble = &blocked["error_annotation"];
        assert_eq!(trouble["type"], "work_missing", "{blocked:#}");
        assert_eq!(trouble["details"]["missing"], "branch");
        assert!(text(trouble, "message").contains(&branch(&task)), "{trouble:#}");
        assert_eq!(verbs(&blocked).first().map(String::as_str), Some("restore_branch"));
        board.act(&task, "actions/restore_branch?wait=none", json!({})).await?;
        board.engine.until(&task, is("done")).await?;
        assert_eq!(repo.show("main", "work").as_deref(), Some("work"));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn moved_repository_never_ends_in_done() -> Result<()> {
    let (board, task) = awaiting(json!({})).await?;
    let path = board.folder.repo.path().to_owned();
    let away = path.with_file_name("away");
    std::fs::rename(&path, &away)?;
    approve(&board, &task).await?;
    let blocked = board.engine.until(&task, |task| is("blocked")(task) || is("done")(task)).await?;
    let trouble = &blocked["error_annotation"];
    assert_eq!(
        (&trouble["type"], &trouble["details"]["missing"]),
        (&json!("work_missing"), &json!("repository"))
    );
    std::fs::rename(&away, &path)?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "work").as_deref(), Some("work"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_its_repository_reports_it_and_can_be_removed() -> Result<()> {
    let (board, _) = awaiting(json!({})).await?;
    let task = board.task(&["edit more <<< \"more\""], json!({})).await?;
    let path = board.folder.repo.path().to_owned();
    std::fs::rename(&path, path.with_file_name("away"))?;
    board.claim(&task).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    let message = text(&blocked["error_annotation"], "message");
    assert!(message.contains(&format!("find a git repository at {}", path.display())), "{message}");
    let project = board.engine.get(&format!("/projects/{}", board.project)).await?;
    let delete = format!("/projects/{}?confirm={}", board.project, text(&project, "name"));
    board.engine.delete(&delete).await?;
    assert_eq!(board.items("/projects").await?, Vec::<Value>::new());
    // What lies in the worktrees is still there for a person.
    assert_eq!(board.items("/workspaces/orphans").await?.len(), 1);
    Ok(())
}

/// Adds a commit and a file after the review.
async fn changed_after_review(board: &Board, task: &Value) -> Result<(String, String)> {
    let tree = tree(board, task).await?;
    std::fs::write(tree.join("after"), "after\n")?;
    git(&tree, &["add", "after"])?;
    git(&tree, &["commit", "-qm", "after the review"])?;
    std::fs::write(tree.join("loose"), "loose\n")?;
    Ok((text(&board.get(task).await?["review"], "reviewed_commit"), git(&tree, &["rev-parse", "HEAD"])?))
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_of_changed_work_is_refused_and_a_new_review_takes_it_in() -> Result<()> {
    let (board, task) = awaiting(json!({})).await?;
    let (reviewed, tip) = changed_after_review(&board, &task).await?;
    for body in [json!({}), json!({ "commit": reviewed }), json!({ "commit": tip })] {
        let path = format!("/tasks/{}/review/approve", text(&task, "id"));
        let (status, refusal) = board.refuse(&path, body).await?;
        assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
        let details = &refusal["details"];
        assert_eq!((&details["reviewed_commit"], &details["tip_commit"]), (&json!(reviewed), &json!(tip)));
        assert_eq!((&details["uncommitted"], &details["commits"]), (&json!(["loose"]), &json!(1)));
    }
    let now = board.get(&task).await?;
    assert_eq!(verbs(&now)[..2], ["review_again", "merge_reviewed"]);
    assert_eq!(now["work_changed"]["tip_commit"], json!(tip));
    board.act(&task, "actions/review_again?wait=none", json!({})).await?;
    let again = |task: &Value| task["review"]["attempt_number"] == 2 && awaits_review(task);
    let again = board.engine.until(&task, again).await?;
    assert!(again["work_changed"].is_null() && !verbs(&again).contains(&"review_again".to_owned()));
    // The earlier commit is no longer what is approved.
    let path = format!("/tasks/{}/review/approve", text(&task, "id"));
    let (status, refusal) = board.refuse(&path, json!({ "commit": reviewed })).await?;
    assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
    approve(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    for file in ["work", "after", "loose"] {
        assert!(board.folder.repo.show("main", file).is_some(), "{file}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merging_the_reviewed_commit_keeps_later_work_on_the_branch() -> Result<()> {
    for strategy in ["merge", "squash", "rebase"] {
        let (board, task) = awaiting(json!({ "merge_config": { "strategy": strategy } })).await?;
        changed_after_review(&board, &task).await?;
        let path = format!("/tasks/{}/review/approve", text(&task, "id"));
        board.refuse(&path, json!({})).await?;
        board.act(&task, "actions/merge_reviewed?wait=none", json!({})).await?;
        let done = board.engine.until(&task, is("done")).await?;
        let repo = &board.folder.repo;
        assert_eq!(repo.show("main", "work").as_deref(), Some("work"), "{strategy}");
        assert_eq!((repo.show("main", "after"), repo.show("main", "loose")), (None, None), "{strategy}");
        assert_eq!(repo.show(&branch(&task), "loose").as_deref(), Some("loose"), "{strategy}");
        assert_eq!(done["unmerged_commits"], 2, "{strategy}: {done:#}");
        assert_eq!(done["closed_unmerged"], false);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_created_by_checks_do_not_count_as_changed_work() -> Result<()> {
    let (board, task) = awaiting(json!({ "review_config": { "ci_steps": ["echo x > report"] } })).await?;
    assert!(tree(&board, &task).await?.join("report").exists());
    approve(&board, &task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "report"), None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_closed_by_hand_reports_unmerged_work() -> Result<()> {
    let (board, task) = awaiting(json!({})).await?;
    let answer = board.act(&task, "transition", json!({ "to": "done" })).await?;
    let said = format!("closed without merging; 1 commit stays on {}", branch(&task));
    assert_eq!(answer["notice"], json!(said), "{answer:#}");
    assert_eq!(
        (&answer["task"]["unmerged_commits"], &answer["task"]["closed_unmerged"]),
        (&json!(1), &json!(true))
    );
    let history = board.history(&task).await?;
    let last = history.last().context("no move")?;
    assert_eq!((&last["trigger"], &last["reason"]), (&json!("override"), &json!(said)));
    let list = board.items(&format!("/projects/{}/tasks", board.project)).await?;
    assert_eq!(list[0]["unmerged_commits"], 1);
    board.engine.serve().await?;
    let shown = board.folder.run(&["task", "show", &text(&task, "id")])?;
    assert!(shown.stdout.contains(&said), "{shown:?}");
    assert_eq!(board.folder.repo.show("main", "work"), None);
    // A cancelled task with commits says the same; one that was never begun has nothing to say.
    let other = board.task(&["edit other <<< \"x\\n\""], json!({})).await?;
    let idle = board.task(&["edit idle <<< \"x\\n\""], json!({})).await?;
    board.claim(&other).await?;
    board.engine.until(&other, awaits_review).await?;
    let answer = board.act(&other, "actions/cancel", json!({ "reason": "not needed" })).await?;
    assert_eq!(
        answer["notice"],
        json!(format!("closed without merging; 1 commit stays on {}", branch(&other)))
    );
    let answer = board.act(&idle, "actions/cancel", json!({})).await?;
    assert!(answer["notice"].is_null(), "{answer:#}");
    Ok(())
}

/// A board whose tasks are squash-merged; with `in_place` their worktrees stay.
async fn squashing(in_place: bool) -> Result<Board> {
    let board = Board::new(json!({ "merge_config": { "strategy": "squash" } })).await?;
    if in_place {
        change_workflow(&board, |states| {
            forge_testkit::board::state(states, "done")["cleanup"] = json!("keep");
        })
        .await?;
    }
    Ok(board)
}

#[tokio::test(flavor = "multi_thread")]
async fn squash_merged_task_reopens_from_the_target() -> Result<()> {
    for in_place in [false, true] {
        let board = squashing(in_place).await?;
        let task = board
            .task(&["edit c <<< \"one\\n\"", "commit one", "append c <<< \"two\\n\""], json!({}))
            .await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        let old = board.folder.repo.git(&["rev-parse", &branch(&task)])?;
        board.move_to(&task, "todo").await?;
        board.act(&task, "claim", serde_json::from_str(PERSON)?).await?;
        let main = board.folder.repo.git(&["rev-parse", "main"])?;
        let ready = |task: &Value| {
            task["workspace"]["status"] == "active"
                && task["entry_barrier"].is_null()
                && is("in_progress")(task)
        };
        let opened = board.engine.until(&task, ready).await?;
        let tree = PathBuf::from(text(&opened["workspace"], "path"));
        assert_eq!(git(&tree, &["rev-parse", "HEAD"])?, main, "in place: {in_place}");
        assert_eq!(opened["unmerged_commits"], 0);
        let kept = format!("refs/forge/backup/{}", text(&task, "id"));
        let kept = board.folder.repo.git(&["for-each-ref", "--format=%(objectname)", &kept])?;
        assert!(kept.contains(&old), "the old tip is kept: {kept}");
        std::fs::write(tree.join("c"), "three\n")?;
        board.move_to(&task, "review").await?;
        let end = board.engine.until(&task, |task| is("done")(task) || is("merge_failed")(task)).await?;
        assert_eq!(end["status"], "done", "{end:#}");
        assert_eq!(board.folder.repo.show("main", "c").as_deref(), Some("three"));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_merge_is_reported_only_without_started_work() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.task(&["say hello"], json!({})).await?;
    board.move_to(&task, "merging").await?;
    board.engine.until(&task, is("done")).await?;
    let merges = board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    assert_eq!(merges[0]["reason"], "nothing to merge: no work was started");
    Ok(())
}

/// Work that came after an empty review was never reviewed.
#[tokio::test(flavor = "multi_thread")]
async fn empty_review_with_later_work_blocks_instead_of_merging_nothing() -> Result<()> {
    let board = Board::new(json!({})).await?;
    change_workflow(&board, |states| {
        forge_testkit::board::state(states, "review")["hooks"]["before_enter"] = json!([]);
    })
    .await?;
    let task = manual_task(&board).await?;
    let late = tree(&board, &task).await?.join("late");
    let writes = format!("echo late > '{}'", late.display());
    let moves_it = "test \"$1\" = committed && grep -q refs/forge/reviewed";
    board.git_hook("reference-transaction", &format!("if {moves_it}; then {writes}; fi"))?;
    board.move_to(&task, "review").await?;
    let end = board.engine.until(&task, |task| is("done")(task) || is("blocked")(task)).await?;
    assert_eq!(end["error_annotation"]["type"], "work_changed_since_review", "{end:#}");
    std::fs::remove_file(board.folder.repo.path().join(".git/hooks/reference-transaction"))?;
    assert!(verbs(&end).contains(&"review_again".to_owned()), "{end:#}");
    board.act(&task, "actions/review_again?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "late").as_deref(), Some("late"));
    Ok(())
}

/// A merge that began for earlier work does not cover later work, even when the earlier work landed by hand.
#[tokio::test(flavor = "multi_thread")]
async fn later_work_is_merged_after_a_person_merged_the_earlier_work() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = &board.folder.repo;
    repo.write("work", "in the way\n")?;
    let go = board.folder.dir.path().join("go");
    let waits = format!("wait-for {}", go.display());
    let again =
        script(&[&waits, "edit more <<< \"more\\n\""]).replace("forge-script", "forge-script attempt=2");
    let description = format!("{}\n{again}", script(&["edit work <<< \"work\\n\""]));
    let task = board.task(&[], json!({ "description": description })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["waiting"]["reason"] == "target_checkout_dirty").await?;
    board.move_to(&task, "in_progress").await?;
    board.engine.until(&task, |task| is("in_progress")(task) && task["live"].is_object()).await?;
    std::fs::remove_file(repo.path().join("work"))?;
    repo.git(&["merge", "-q", "--ff-only", &branch(&task)])?;
    std::fs::write(&go, "")?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(repo.show("main", "more").as_deref(), Some("more"));
    let merges = board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    let mut ends: Vec<String> = merges.iter().map(|merge| text(merge, "status")).collect();
    ends.sort();
    assert_eq!(ends, ["failed", "landed"], "{merges:#?}");
    Ok(())
}

/// Work without a worktree is checked in one recreated from its branch.
#[tokio::test(flavor = "multi_thread")]
async fn work_without_its_worktree_is_checked_before_it_is_merged() -> Result<()> {
    for (file, merged) in [("good", true), ("bad", false)] {
        let board = Board::new(json!({ "review_config": { "ci_steps": ["test ! -e bad"] } })).await?;
        let task = manual_task(&board).await?;
        let tree = tree(&board, &task).await?;
        std::fs::write(tree.join(file), "x\n")?;
        git(&tree, &["add", file])?;
        git(&tree, &["commit", "-qm", file])?;
        std::fs::remove_dir_all(&tree)?;
        board.move_to(&task, "review").await?;
        let decided = |task: &Value| matches!(task["review"]["status"].as_str(), Some("passed" | "failed"));
        board.engine.until(&task, decided).await?;
        let review = last_review(&board, &task).await?;
        assert_eq!(review["steps"].as_array().map(Vec::len), Some(1), "{review:#}");
        assert_eq!(review["status"], if merged { "passed" } else { "failed" }, "{review:#}");
        if merged {
            board.engine.until(&task, is("done")).await?;
        }
        assert_eq!(board.folder.repo.show("main", file).is_some(), merged);
    }
    Ok(())
}

/// The leftover is not to be merged, so a refusal by the user's hook does not hold the task.
#[tokio::test(flavor = "multi_thread")]
async fn leftover_refused_by_a_hook_is_backed_up_and_the_reviewed_commit_merged() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    board.forbid_to_commit("forbidden")?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, awaits_review).await?;
    std::fs::write(tree(&board, &task).await?.join("forbidden"), "x\n")?;
    let path = format!("/tasks/{}/review/approve", text(&task, "id"));
    board.refuse(&path, json!({})).await?;
    board.act(&task, "actions/merge_reviewed?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    let repo = &board.folder.repo;
    assert_eq!((repo.show("main", "work").as_deref(), repo.show("main", "forbidden")), (Some("work"), None));
    let merges = board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    let kept = format!("refs/forge/backup/{}/1", text(&task, "id"));
    assert!(text(&merges[0], "reason").contains(&kept), "{merges:#?}");
    assert_eq!(repo.show(&kept, "forbidden").as_deref(), Some("x"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_content_of_the_reviewed_commit_is_reported_as_missing_work() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let repo = &board.folder.repo;
    let lines = |first: &str| format!("{first}\n{}", "between\n".repeat(20));
    repo.write("long", &lines("one"))?;
    repo.commit("a long file")?;
    let task = board.task(&["append long <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, awaits_review).await?;
    // Both sides changed the file, so that the merge reads the content.
    repo.write("long", &lines("another"))?;
    repo.commit("moved")?;
    let content = repo.git(&["rev-parse", &format!("{}:long", branch(&task))])?;
    let object = repo.path().join(".git/objects").join(&content[..2]).join(&content[2..]);
    let away = repo.path().with_file_name("away");
    repo.write("long", "in the way\n")?;
    approve(&board, &task).await?;
    board.engine.until(&task, |task| task["waiting"]["reason"] == "target_checkout_dirty").await?;
    std::fs::rename(&object, &away)?;
    repo.git(&["checkout", "-q", "long"])?;
    let blocked = board.engine.until(&task, |task| is("blocked")(task) || is("done")(task)).await?;
    let trouble = &blocked["error_annotation"];
    assert_eq!(trouble["type"], "work_missing", "{blocked:#}");
    assert_eq!(
        (&trouble["details"]["missing"], &trouble["details"]["name"]),
        (&json!("object"), &json!(content))
    );
    std::fs::rename(&away, &object)?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(repo.show("main", "long"), Some(format!("{}work", lines("another"))));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn move_of_changed_work_to_the_merge_is_refused_like_its_approval() -> Result<()> {
    let (board, task) = awaiting(json!({})).await?;
    let (reviewed, tip) = changed_after_review(&board, &task).await?;
    let (status, refusal) = board.refused(&task, "transition", json!({ "to": "merging" })).await?;
    assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
    let details = &refusal["details"];
    assert_eq!((&details["reviewed_commit"], &details["tip_commit"]), (&json!(reviewed), &json!(tip)));
    assert_eq!(verbs(&board.get(&task).await?)[..2], ["review_again", "merge_reviewed"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn squash_merged_task_moved_straight_to_review_starts_from_the_target() -> Result<()> {
    for in_place in [false, true] {
        let board = squashing(in_place).await?;
        let task = board.task(&["edit c <<< \"one\\n\""], json!({})).await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        let repo = &board.folder.repo;
        let old = repo.git(&["rev-parse", &branch(&task)])?;
        // On its old branch it would conflict with what became of its work.
        repo.write("c", "three\n")?;
        repo.commit("changed since")?;
        let main = repo.git(&["rev-parse", "main"])?;
        board.move_to(&task, "todo").await?;
        board.move_to(&task, "review").await?;
        let end = board.engine.until(&task, |task| is("done")(task) || is("merge_failed")(task)).await?;
        assert_eq!(end["status"], "done", "in place: {in_place}: {end:#}");
        assert_eq!(last_review(&board, &task).await?["reviewed_commit"], json!(main));
        let kept = format!("refs/forge/backup/{}", text(&task, "id"));
        assert!(repo.git(&["for-each-ref", "--format=%(objectname)", &kept])?.contains(&old));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_signer_is_reported_with_its_remedy() -> Result<()> {
    for by_person in [false, true] {
        let board = Board::new(json!({})).await?;
        let repo = &board.folder.repo;
        let signer = board.folder.dir.path().join("signer");
        std::fs::write(&signer, "#!/bin/sh\necho 'no secret key' >&2\nexit 2\n")?;
        std::fs::set_permissions(&signer, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        for (name, value) in [("gpg.program", &*signer.to_string_lossy()), ("commit.gpgSign", "true")] {
            repo.git(&["config", name, value])?;
        }
        let task = if by_person {
            let task = manual_task(&board).await?;
            std::fs::write(tree(&board, &task).await?.join("work"), "work\n")?;
            board.move_to(&task, "review").await?;
            task
        } else {
            let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
            board.claim(&task).await?;
            task
        };
        let blocked = board.engine.until(&task, is("blocked")).await?;
        let trouble = &blocked["error_annotation"];
        assert_eq!(trouble["type"], "environment_not_ready", "{by_person}: {trouble:#}");
        let message = text(trouble, "message");
        for told in ["no secret key", "Check `user.signingKey`"] {
            assert!(message.contains(told), "{by_person}: {message}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_in_a_worktree_that_lost_its_git_file_is_merged_whole() -> Result<()> {
    for to in ["review", "merging"] {
        let board = Board::new(json!({})).await?;
        let task = manual_task(&board).await?;
        let tree = tree(&board, &task).await?;
        std::fs::write(tree.join("mine"), "mine\n")?;
        std::fs::remove_file(tree.join(".git"))?;
        board.move_to(&task, to).await?;
        board.engine.until(&task, is("done")).await?;
        assert_eq!(board.folder.repo.show("main", "mine").as_deref(), Some("mine"), "{to}");
    }
    Ok(())
}
