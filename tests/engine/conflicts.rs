//! Merge conflicts: what a person sees, what the agent is told, what is caught before the review, and how a task
//! leaves them.

use std::path::Path;

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text},
    caller::refused,
};
use forge_tests::patience::until_there;
use serde_json::{Value, json};

use crate::review_table::{conflicting, reviews};

fn task_of(board: &Board, description: &str, merge_fix: u32) -> Value {
    json!({
        "title": "Do it", "description": description, "roles": { "coder": board.agent },
        "task_state_config": { "retry_budgets": { "merge_fix": merge_fix } },
    })
}

async fn claimed_task(board: &Board, description: &str, merge_fix: u32) -> Result<Value> {
    let task = board.engine.task(&board.project, task_of(board, description, merge_fix)).await?;
    board.claim(&task).await?;
    Ok(task)
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_shows_three_sides_and_reaches_the_agent() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = &board.folder.repo;
    repo.write("c", "one\ntwo\nthree\n")?;
    repo.write("far", "head\na\nb\nc\nd\ne\nf\nword\nend\n")?;
    repo.commit("what both come from")?;
    let path = repo.path().display();
    let first = format!(
        "run cd '{path}' && printf 'one\\nmain\\nthree\\n' >c && echo theirs >new && sed -i 's/^word$/main/' far && git add -A && git commit -qm main\n\
         edit c <<< \"one\\ntask\\nthree\\n\"\nedit new <<< \"ours\\n\"\nedit calm <<< \"x\\n\"\n\
         edit far <<< \"zero\\nhead\\na\\nb\\nc\\nd\\ne\\nf\\ntask\\nend\\n\""
    );
    let told = format!("```forge-script\n{first}\n```\n```forge-script attempt=2\nhang\n```");
    let task = claimed_task(&board, &told, 1).await?;
    let fixing = board
        .engine
        .until(&task, |task| {
            task["live"].is_object()
                && task["status"] == "in_progress"
                && task["budgets"]["merge_fix"]["used"] == 1
        })
        .await?;
    assert!(fixing["review_passed_at"].is_string());
    let id = text(&task, "id");
    let answer = board.engine.get(&format!("/tasks/{id}/conflict")).await?;
    assert_eq!(answer["standing"], "open");
    let conflict = answer["conflict"].clone();
    assert_eq!(conflict["target"], "main");
    assert_eq!(conflict["target_commit"], repo.git(&["rev-parse", "main"])?.as_str());
    let paths = conflict["paths"].as_array().context("no paths")?;
    let kinds: Vec<_> = paths.iter().map(|path| (text(path, "path"), text(path, "kind"))).collect();
    assert_eq!(
        kinds,
        [("c".into(), "content".into()), ("far".into(), "content".into()), ("new".into(), "add/add".into())]
    );
    let places: Vec<_> = paths.iter().map(|path| path["places"].clone()).collect();
    assert_eq!(
        places,
        [
            json!([{ "ours": 2, "theirs": 2 }]),
            // The line that only the task has above it counts on its side alone.
            json!([{ "ours": 8, "theirs": 9 }]),
            json!([{ "ours": 1, "theirs": 1 }])
        ]
    );
    assert!(paths[0]["hunks"][0].as_str().is_some_and(|hunk| hunk.contains("main") && hunk.contains("task")));
    let file = board.engine.get(&format!("/tasks/{id}/conflict/file?path=c")).await?;
    let side = |name: &str| file[name]["text"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        [side("base"), side("ours"), side("theirs")],
        ["one\ntwo\nthree\n", "one\nmain\nthree\n", "one\ntask\nthree\n"]
    );
    let file = board.engine.get(&format!("/tasks/{id}/conflict/file?path=new")).await?;
    assert!(file["base"].is_null(), "{file:#}");
    let calm = board.engine.request(reqwest::Method::GET, &format!("/tasks/{id}/conflict/file?path=calm"));
    assert_eq!(refused(calm).await?.0, 404);
    let run = board.runs(&task).await?.pop().context("no run")?;
    assert_eq!(run["cause"], "merge conflict");
    let tree = text(&fixing["workspace"], "path");
    let prompt =
        Path::new(&tree).parent().context("no folder")?.join(format!("prompt-{}.md", text(&run, "id")));
    until_there(&prompt).await?;
    let prompt = std::fs::read_to_string(prompt)?;
    for part in ["`main`", "`c`", "`new`", "one\n<<<<<<<", "main\n=======\ntask"] {
        assert!(prompt.contains(part), "{part}:\n{prompt}");
    }
    assert!(prompt.contains("Rebase onto `main`"), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn leftover_conflict_markers_return_to_the_agent_before_review() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let merge = "run git merge -q main; git add -A && git commit -qm half";
    let told = conflicting(&board, "c", &[], "verdict pass")
        .replace("run git rebase -q --strategy-option=theirs main", merge);
    let told = format!("{told}\n```forge-script attempt=3\nedit c <<< \"both\\n\"\n```");
    let task = claimed_task(&board, &told, 1).await?;
    board.engine.until(&task, is("done")).await?;
    let causes: Vec<_> = board.runs(&task).await?.iter().map(|run| text(run, "cause")).collect();
    assert_eq!(causes, ["started", "merge conflict", "a guard refused"]);
    let verdicts: Vec<_> = reviews(&board, &task).await?.iter().map(|row| text(row, "verdict")).collect();
    assert_eq!(verdicts, ["pass", "pass_ci_only"], "no review saw the markers");
    assert_eq!(board.folder.repo.show("main", "c").as_deref(), Some("both"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_with_spent_budget_waits_for_a_person() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let told = conflicting(&board, "c", &[], "verdict pass");
    let task = claimed_task(&board, &told, 0).await?;
    let stuck =
        board.engine.until(&task, |task| task["error_annotation"]["type"] == "merge_conflict").await?;
    assert_eq!((&stuck["status"], &stuck["workspace"]["status"]), (&json!("merge_failed"), &json!("active")));
    let verbs: Vec<_> = stuck["offers"].as_array().into_iter().flatten().map(|o| text(o, "verb")).collect();
    assert_eq!(
        verbs,
        ["retry", "send_back", "reset_budget", "restart", "restart_with_changes", "hold", "cancel"]
    );
    assert_eq!(board.folder.repo.show("main", "c").as_deref(), Some("main"), "the target is as it was");
    let route = format!("/tasks/{}/conflict", text(&task, "id"));
    let standing = async || anyhow::Ok(board.engine.get(&route).await?["standing"].clone());
    assert_eq!(standing().await?, "open");
    // By hand: they mend it in its worktree and send it on themselves.
    let tree = text(&stuck["workspace"], "path");
    let git = |args: &[&str]| {
        std::process::Command::new("git")
            .args(args)
            .current_dir(&tree)
            .envs(forge_testkit::HERMETIC_GIT)
            .output()
    };
    git(&["merge", "-q", "main"])?;
    std::fs::write(Path::new(&tree).join("c"), "by hand\n")?;
    let done = git(&["commit", "-qam", "by hand"])?;
    assert!(done.status.success(), "{done:?}");
    assert_eq!(standing().await?, "resolved");
    board.move_to(&task, "review").await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(standing().await?, "merged");
    assert_eq!(board.folder.repo.show("main", "c").as_deref(), Some("by hand"));
    let verdicts: Vec<_> = reviews(&board, &task).await?.iter().map(|row| text(row, "verdict")).collect();
    assert_eq!(verdicts, ["pass", "pass"], "a person's move ends the cycle: judged as new");
    Ok(())
}

/// Closed tasks report what they delivered, each kind distinct.
#[tokio::test(flavor = "multi_thread")]
async fn closed_task_reports_its_delivery() -> Result<()> {
    let checks = json!({ "ci_steps": ["echo fine"] });
    let board = Board::new(json!({ "review_config": checks })).await?;
    let delivery =
        async |task: &Value| board.engine.get(&format!("/tasks/{}/delivery", text(task, "id"))).await;
    let lines = ["edit a <<< \"x\\n\"", "commit first step", "edit b <<< \"x\\n\"", "summary all is written"];
    for (strategy, file) in [("merge", "a"), ("squash", "s")] {
        let lines: Vec<String> = lines
            .iter()
            .map(|line| {
                line.replace("edit a", &format!("edit {file}")).replace("edit b", &format!("edit {file}2"))
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let task = board.task(&lines, json!({ "merge_config": { "strategy": strategy } })).await?;
        let path = format!("/tasks/{}/delivery", text(&task, "id"));
        let (status, refusal) = refused(board.engine.request(reqwest::Method::GET, &path)).await?;
        assert_eq!((status, &refusal["code"]), (409, &json!("task_open")));
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        let delivered = delivery(&task).await?;
        assert_eq!(delivered["summary"], "all is written", "{delivered:#}");
        assert_eq!(
            (&delivered["merge"]["status"], &delivered["merge"]["strategy"]),
            (&json!("landed"), &json!(strategy))
        );
        assert_eq!(
            delivered["merge"]["merge_commit"],
            board.folder.repo.git(&["rev-parse", "main"])?.as_str()
        );
        let subjects: Vec<_> =
            delivered["commits"].as_array().into_iter().flatten().map(|c| text(c, "subject")).collect();
        assert_eq!(subjects, ["first step", "Do it"], "{strategy}: the task's own commits");
        assert_eq!(delivered["diff_stat"]["files"], 2);
        assert_eq!(
            (&delivered["checks"][0]["command"], &delivered["attempts"], &delivered["runs"]),
            (&json!("echo fine"), &json!(1), &json!(1))
        );
        assert_eq!(delivered["decided_by"], "system:review");
    }
    let none = board.task(&["summary nothing to do"], json!({})).await?;
    board.claim(&none).await?;
    board.engine.until(&none, is("done")).await?;
    let delivered = delivery(&none).await?;
    assert_eq!((&delivered["merge"]["status"], &delivered["commits"]), (&json!("nothing"), &json!([])));
    let closed = board.task(&[], json!({})).await?;
    board.move_to(&closed, "done").await?;
    let delivered = delivery(&closed).await?;
    assert_eq!(
        (&delivered["merge"], &delivered["decided_by"], &delivered["runs"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    Ok(())
}
