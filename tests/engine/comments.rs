//! Line comments on a diff: drafts, batches that the agent receives, and lines that move or disappear.

use anyhow::{Context as _, Result};
use forge_api::{
    operations::{
        CommentCreate, CommentDelete, CommentUpdate, ReviewApprove, ReviewReject, TaskClaim, TaskComments,
        TaskExecutions, TaskLog, TaskPromptPreview,
    },
    ops::{
        TaskPath, Wait,
        comments::{CommentPath, CreateComment, UpdateComment},
        executions::ReadTaskLog,
        reviews::DecideReview,
        tasks::ClaimTask,
    },
};
use forge_model::{
    comment::{Comment, CommentStatus, DiffSide, NewComment},
    execution::Execution,
    ids::{CommentId, TaskId},
    review::ReviewStatus,
    task::Task,
};
use forge_testkit::{Board, caller::refusal};
use forge_tests::patience::until_there;
use serde_json::json;

const FIRST: &str =
    "edit a.txt <<< \"one\\ntwo\\nthree\\nfour\\nfive\\nsix\\nseven\\neight\\nnine\\nten\\n\"";
const SECOND: &str =
    "edit a.txt <<< \"zero\\none\\ntwo\\nthree\\nfour\\nfive\\nsix\\nseven\\neight\\nneun\\nzehn\\n\"";

/// A task whose first review waits for a person.
async fn reviewed(board: &Board, description: &str) -> Result<TaskId> {
    let task = board.make(description, json!({})).await?.id;
    let claim = |version| ClaimTask {
        task_id: task.clone(),
        agent_id: board.agent.clone(),
        version,
        queue: None,
        if_locked: None,
    };
    board.call_at_version(TaskClaim, &task, claim).await?;
    wait_for_review(board, &task, 1).await?;
    Ok(task)
}

async fn waiting(board: &Board) -> Result<TaskId> {
    let told = format!("```forge-script\n{FIRST}\n```\n```forge-script attempt=2\n{SECOND}\n```");
    reviewed(board, &told).await
}

async fn wait_for_review(board: &Board, task: &TaskId, attempt: u32) -> Result<Task> {
    let there = |task: &Task| {
        let review = task.review.as_ref();
        review.is_some_and(|it| it.status == ReviewStatus::AwaitingHuman && it.attempt_number == attempt)
    };
    board.until(task, "ready for review", there).await
}

/// A new comment on lines of a file.
fn comment_on(path: &str, line: Option<u32>, last_line: Option<u32>, text: &str) -> NewComment {
    NewComment { path: path.to_owned(), side: DiffSide::New, line, last_line, text: text.to_owned() }
}

async fn comment(board: &Board, task: &TaskId, new: NewComment) -> Result<Comment> {
    let NewComment { path, side, line, last_line, text } = new;
    let new = CreateComment { task_id: task.clone(), path, side: Some(side), line, last_line, text };
    board.call(CommentCreate, new).await
}

async fn all(board: &Board, task: &TaskId) -> Result<Vec<Comment>> {
    Ok(board.call(TaskComments, TaskPath { task_id: task.clone() }).await?.items)
}

async fn delete(board: &Board, comment: &CommentId) -> Result<()> {
    board.call(CommentDelete, CommentPath { comment_id: comment.clone() }).await.map(drop)
}

async fn reword(board: &Board, comment: &CommentId, text: &str) -> Result<Comment> {
    let change = UpdateComment { comment_id: comment.clone(), text: Some(text.to_owned()), resolved: None };
    board.call(CommentUpdate, change).await
}

async fn resolve(board: &Board, comment: &CommentId, resolved: bool) -> Result<Comment> {
    let change = UpdateComment { comment_id: comment.clone(), text: None, resolved: Some(resolved) };
    board.call(CommentUpdate, change).await
}

fn decision(task: &TaskId, version: u32) -> DecideReview {
    DecideReview {
        task_id: task.clone(),
        reason: None,
        commit: None,
        comments: Vec::new(),
        version: Some(version),
        wait: Some(Wait::None),
    }
}

async fn reject(board: &Board, task: &TaskId, reason: Option<&str>, comments: &[NewComment]) -> Result<()> {
    let rejection = |version| DecideReview {
        reason: reason.map(str::to_owned),
        comments: comments.to_vec(),
        ..decision(task, version)
    };
    board.call_at_version(ReviewReject, task, rejection).await.map(drop)
}

async fn last_run(board: &Board, task: &TaskId) -> Result<Execution> {
    let runs = board.call(TaskExecutions, TaskPath { task_id: task.clone() }).await?.items;
    runs.into_iter().next_back().context("no run")
}

#[tokio::test(flavor = "multi_thread")]
async fn rejection_passes_line_comments_to_the_agent() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = waiting(&board).await?;
    let draft = comment(&board, &task, comment_on("a.txt", Some(2), None, "say zwei")).await?;
    assert_eq!(
        (draft.status, draft.excerpt, draft.now_line),
        (CommentStatus::Draft, vec!["two".to_owned()], Some(2))
    );
    let gone = comment(&board, &task, comment_on("a.txt", None, None, "never mind")).await?;
    delete(&board, &gone.id).await?;
    reword(&board, &draft.id, "say deux").await?;
    reject(&board, &task, None, &[comment_on("a.txt", Some(9), Some(10), "in German")]).await?;
    wait_for_review(&board, &task, 2).await?;
    let log_id = last_run(&board, &task).await?.log_id;
    let log = ReadTaskLog { task_id: task.clone(), log_id, after: None, before: None, limit: None };
    let log = serde_json::to_string(&board.call(TaskLog, log).await?)?;
    let preview = board.call(TaskPromptPreview, TaskPath { task_id: task.clone() }).await?.text;
    for part in ["`a.txt` line 2", "say deux", "`a.txt` lines 9-10", "in German"] {
        assert!(log.contains(part) || preview.contains(part), "{part}:\n{preview}");
    }
    assert!(!preview.contains("never mind"), "{preview}");
    // The agent's second version has another first line, and no ninth and tenth any more.
    let shown = all(&board, &task).await?;
    let places: Vec<_> = shown.iter().map(|it| (it.status, it.now_line, it.outdated)).collect();
    assert_eq!(places, [(CommentStatus::Sent, Some(3), false), (CommentStatus::Sent, None, true)]);
    assert_eq!(shown[1].excerpt, ["nine", "ten"], "what it was about can still be read");
    assert!(shown.iter().all(|comment| comment.review_id.is_some()));
    // Sent is sent, but can be settled.
    for refused in
        [refusal(reword(&board, &draft.id, "other").await)?, refusal(delete(&board, &draft.id).await)?]
    {
        assert_eq!((refused.status, refused.code.as_str()), (409, "already_sent"));
    }
    assert_eq!(resolve(&board, &draft.id, true).await?.status, CommentStatus::Resolved);
    assert_eq!(resolve(&board, &draft.id, false).await?.status, CommentStatus::Sent);
    board.call_at_version(ReviewApprove, &task, |version| decision(&task, version)).await?;
    board.until(&task, "done", |task| task.status == "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_on_missing_lines_is_refused() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = waiting(&board).await?;
    let old = NewComment { side: DiffSide::Old, ..comment_on("a.txt", Some(1), None, "x") };
    let cases = [
        (comment_on("a.txt", Some(11), None, "x"), "line"),
        (comment_on("a.txt", Some(0), None, "x"), "line"),
        (comment_on("a.txt", Some(3), Some(2), "x"), "last_line"),
        (comment_on("a.txt", None, Some(2), "x"), "line"),
        (comment_on("none.txt", Some(1), None, "x"), "path"),
        (old, "path"),
        (comment_on("../../etc/passwd", Some(1), None, "x"), "path"),
        (comment_on("/etc/passwd", None, None, "x"), "path"),
        (comment_on("a.txt", Some(1), None, "  "), "text"),
        (comment_on("a.txt", None, None, &"x".repeat(16 * 1024 + 1)), "text"),
        (comment_on("a.txt", Some(1), Some(501), "x"), "last_line"),
    ];
    for (new, field) in cases {
        let refused = refusal(comment(&board, &task, new.clone()).await)?;
        let named = &refused.details["findings"][0]["path"];
        assert_eq!((refused.status, named), (400, &json!(field)), "{new:?}: {refused}");
    }
    assert_eq!(all(&board, &task).await?, Vec::<Comment>::new());
    // A batch with one that is refused changes nothing.
    let good = || comment_on("a.txt", Some(1), None, "good");
    for (bad, code, field) in [
        (comment_on("a.txt", Some(99), None, "bad"), "invalid", "comments[1].line"),
        (comment_on("../../etc/passwd", Some(1), None, "bad"), "path_escape", "comments[1].path"),
        (comment_on("/etc/passwd", Some(1), None, "bad"), "path_escape", "comments[1].path"),
    ] {
        let refused = refusal(reject(&board, &task, None, &[good(), bad]).await)?;
        let named = &refused.details["findings"][0]["path"];
        assert_eq!((refused.status, refused.code.as_str(), named), (400, code, &json!(field)), "{refused}");
    }
    let now = board.see(&task).await?;
    assert_eq!(now.status, "review");
    assert_eq!(now.review.map(|review| review.status), Some(ReviewStatus::AwaitingHuman));
    assert_eq!(all(&board, &task).await?, Vec::<Comment>::new());
    Ok(())
}

/// A draft that is resolved and reopened stays private; a removed line is quoted.
#[tokio::test(flavor = "multi_thread")]
async fn reopened_draft_stays_private_and_removed_lines_are_quoted() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    board.folder.repo.write("old.txt", "first\nsecond line of old\nthird\n")?;
    board.folder.repo.commit("what was there")?;
    let told =
        "```forge-script\nedit old.txt <<< \"first\\nthird\\n\"\n```\n```forge-script attempt=2\nhang\n```";
    let task = reviewed(&board, told).await?;
    let old = NewComment { side: DiffSide::Old, ..comment_on("old.txt", Some(2), None, "keep it") };
    let draft = comment(&board, &task, old).await?;
    assert_eq!((draft.excerpt, draft.now_line), (vec!["second line of old".to_owned()], Some(2)));
    assert_eq!(resolve(&board, &draft.id, true).await?.status, CommentStatus::Resolved);
    assert_eq!(resolve(&board, &draft.id, false).await?.status, CommentStatus::Draft);
    reject(&board, &task, Some("no"), &[]).await?;
    let at_work = |task: &Task| task.live.is_some() && task.status == "in_progress";
    let back = board.until(&task, "at work again", at_work).await?;
    let run = last_run(&board, &task).await?;
    let tree = back.workspace.context("no worktree")?.path;
    let folder = std::path::Path::new(&tree).parent().context("no folder")?;
    let file = folder.join(format!("prompt-{}.md", run.id));
    until_there(&file).await?;
    let prompt = std::fs::read_to_string(file)?;
    for part in ["`old.txt`", "second line of old", "keep it"] {
        assert!(prompt.contains(part), "{part}:\n{prompt}");
    }
    assert!(!prompt.contains("`old.txt` line 2"), "the agent's version has another second line:\n{prompt}");
    Ok(())
}
