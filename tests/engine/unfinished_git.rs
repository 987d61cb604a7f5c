//! Git operations that an agent left unfinished or outside its branch: the work reaches the merge or a person.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board, Folder, LocalEngine,
    board::{is, text},
    script,
};
use serde_json::{Value, json};

use crate::review_table::conflicting;

const VARIABLES: [&str; 4] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// A project of a user without a git identity.
async fn board_without_git_identity(settings: Value) -> Result<Board> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |config| {
        let kept = config.environment.iter().filter(|(name, _)| !VARIABLES.iter().any(|one| name == one));
        config.environment =
            forge_exec::variables_of(kept.map(|(name, value)| (name.clone(), value.clone())));
        config.git_env.retain(|(name, _)| !VARIABLES.contains(&name.as_str()));
    })
    .await?;
    Board::on(sandbox, engine, settings).await
}

/// A task whose second run resolves a conflict.
async fn conflicted_task(board: &Board, second: &str, third: &str) -> Result<Value> {
    let told = conflicting(board, "c", &[], "verdict pass")
        .replace("run git rebase -q --strategy-option=theirs main", second);
    let told = format!("{told}\n```forge-script attempt=3\n{third}\n```");
    let new = json!({ "title": "Do it", "description": told, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, new).await?;
    board.claim(&task).await?;
    Ok(task)
}

async fn causes(board: &Board, task: &Value) -> Result<Vec<String>> {
    Ok(board.runs(task).await?.iter().map(|run| text(run, "cause")).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_commit_without_git_identity_uses_the_configured_author() -> Result<()> {
    let who = ["show", "-s", "--format=%an <%ae>, %cn <%ce>", "main"];
    let lines = ["edit a <<< \"x\\n\"", "run git add -A && git commit -qm own"];
    let author = json!({ "author": { "name": "Bot", "email": "bot@example.invalid" } });
    for (settings, expected) in [
        (json!({}), "Forge <forge@localhost>, Forge <forge@localhost>"),
        (author, "Bot <bot@example.invalid>, Forge <forge@localhost>"),
    ] {
        let board = board_without_git_identity(settings).await?;
        let task = board.task(&lines, json!({})).await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        let log = board.folder.repo.git(&["log", "--format=%s", "main"])?;
        assert_eq!(log, "own\nfirst", "the agent's own commit");
        assert_eq!(board.folder.repo.git(&who)?, expected);
    }
    // Where the user has a name, that is it.
    let board = board_without_git_identity(json!({})).await?;
    for (name, value) in [("user.name", "Kim"), ("user.email", "kim@example.invalid")] {
        board.folder.repo.git(&["config", name, value])?;
    }
    let task = board.task(&lines, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.git(&who)?, "Kim <kim@example.invalid>, Kim <kim@example.invalid>");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn resolved_rebase_left_open_is_continued() -> Result<()> {
    // Whatever stopped it: the conflict is resolved, the rest is Forge's to do.
    let board = Board::new(json!({})).await?;
    let task = conflicted_task(
        &board,
        "run git rebase -q main\nedit c <<< \"both\\n\"\nedit more <<< \"m\\n\"",
        "hang",
    )
    .await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(causes(&board, &task).await?, ["started", "merge conflict"]);
    let show = |name: &str| board.folder.repo.show("main", name);
    assert_eq!((show("c").as_deref(), show("more").as_deref()), (Some("both"), Some("m")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unresolved_conflict_returns_to_the_agent() -> Result<()> {
    for (name, begin, end) in [
        (
            "rebase",
            "run git rebase -q main",
            "run printf 'both\\n' >c; git add c; GIT_EDITOR=: git rebase --continue",
        ),
        ("merge", "run git merge -q main", "run printf 'both\\n' >c; git add c; git commit -qm merged"),
        (
            "cherry-pick",
            "run git cherry-pick main",
            "run git cherry-pick --abort; git merge -q -X theirs main\nedit c <<< \"both\\n\"",
        ),
    ] {
        let board = Board::new(json!({})).await?;
        let task = conflicted_task(&board, begin, end).await?;
        board.engine.until(&task, is("done")).await?;
        assert_eq!(
            causes(&board, &task).await?,
            ["started", "merge conflict", "an unfinished git operation was found"],
            "{name}"
        );
        assert_eq!(board.folder.repo.show("main", "c").as_deref(), Some("both"), "{name}");
        let run = board.runs(&task).await?.pop().context("no run")?;
        let log =
            board.engine.get(&format!("/tasks/{}/logs/{}", text(&task, "id"), text(&run, "log_id"))).await?;
        let told = format!("the {name} in the worktree has conflicts in c");
        assert!(log.to_string().contains(&told), "{name}: {log:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_outside_the_branch_are_adopted_or_reported() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for (name, away) in [("detached", "git checkout -q --detach"), ("other", "git checkout -q -b other")] {
        let line = format!("run {away}; echo x >{name}; git add -A; git commit -qm {name}");
        let task = board.task(&[line.as_str(), &format!("edit {name}2 <<< \"y\\n\"")], json!({})).await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;
        for (file, content) in [(name.to_owned(), "x"), (format!("{name}2"), "y")] {
            assert_eq!(board.folder.repo.show("main", &file).as_deref(), Some(content), "{file}");
        }
    }
    // Those that do not follow from it are nobody's to choose among, and nothing of them is lost.
    let lines = [
        "edit one <<< \"1\\n\"",
        "commit one",
        "run git checkout -q --detach HEAD~1; echo 2 >two; git add -A; git commit -qm two",
    ];
    let more = json!({ "task_state_config": { "retry_budgets": { "execution": 0 } } });
    let task = board.task(&lines, more).await?;
    board.claim(&task).await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    let annotation = &blocked["error_annotation"];
    assert_eq!(annotation["type"], "guard_rejected", "{annotation:#}");
    assert!(text(annotation, "message").contains("do not descend"), "{annotation:#}");
    let (repo, kept) = (&board.folder.repo, text(&annotation["details"], "kept"));
    assert_eq!(repo.show(&kept, "two").as_deref(), Some("2"));
    let branch = format!("forge/{}", text(&task, "id"));
    assert_eq!(repo.show(&branch, "one").as_deref(), Some("1"));
    // A person who reviews it all the same does not review something else than what would be merged.
    board.move_to(&task, "review").await?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["from_state"], "review", "{blocked:#}");
    // They bring it to the branch by hand, and it goes on.
    let tree = text(&blocked["workspace"], "path");
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(args).current_dir(&tree).envs(forge_testkit::HERMETIC_GIT).output()
    };
    assert!(git(&["checkout", "-q", &branch])?.status.success());
    assert!(git(&["cherry-pick", &kept])?.status.success());
    board.move_to(&task, "review").await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(
        (repo.show("main", "one").as_deref(), repo.show("main", "two").as_deref()),
        (Some("1"), Some("2"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_work_on_an_earlier_commit_lands_on_the_branch() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let lines = script(&[
        "edit one <<< \"1\\n\"",
        "commit one",
        "run git checkout -q --detach HEAD~1",
        "edit two <<< \"2\\n\"",
    ]);
    let new = json!({ "title": "Do it", "description": lines, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, new).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    for (file, content) in [("one", "1"), ("two", "2")] {
        assert_eq!(board.folder.repo.show("main", file).as_deref(), Some(content), "{file}");
    }
    Ok(())
}
