//! Comments, checks and conflicts at the code host reach the agent.

use anyhow::{Context as _, Result, ensure};
use forge_model::pull_request::{HostCheckStatus, HostKind, HostVerdict};
use forge_testkit::board::text;
use serde_json::{Value, json};

use super::{CALM, PullRequestFixture};

const TWO_ROUNDS: &str = "```forge-script\nedit work.txt <<< \"one\\ntwo\\n\"\nsummary First try.\n```\n\
    ```forge-script attempt=2\nappend work.txt <<< \"three\\n\"\nsummary Second try.\n```";

fn id_of(seen: &Value, text: &str) -> Result<String> {
    let comments = seen["pull_request"]["comments"].as_array().context("no comments")?;
    let found = comments.iter().find(|comment| comment["body"] == text);
    Ok(self::text(found.with_context(|| format!("nobody said {text}: {seen:#}"))?, "id"))
}

#[tokio::test(flavor = "multi_thread")]
async fn host_comments_and_checks_reach_the_agent() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let board = &fixture.board;
    let task = fixture.started(TWO_ROUNDS).await?;
    fixture.wait_for_merge(&task).await?;
    let first = fixture.pull_request(&task).await?["pushed_commit"].clone();
    fixture.host.comment_on_line(1, "ada", "work.txt", 2, "Why two?")?;
    fixture.host.comment(1, "bob", "Please mention three.")?;
    fixture.host.review(1, "ada", HostVerdict::ChangesRequested, "Not yet.")?;
    fixture.host.set_check(1, "build", HostCheckStatus::Failed, "exit 2")?;
    fixture.host.set_check(1, "lint", HostCheckStatus::Passed, "fine")?;

    let seen = fixture.refresh(&task).await?;
    let now = board.get(&task).await?;
    ensure!(text(&now["waiting"], "message").contains("a check failed there"), "{now:#}");
    let comments = board.items(&format!("/tasks/{}/comments", text(&task, "id"))).await?;
    ensure!(comments.len() == 1, "{comments:#?}");
    let shown = &comments[0];
    ensure!(
        shown["source"] == "host" && shown["author"] == "ada" && shown["text"] == "Why two?",
        "{shown:#}"
    );
    ensure!(
        shown["path"] == "work.txt" && shown["now_line"] == 2 && shown["excerpt"] == json!(["two"]),
        "{shown:#}"
    );
    fixture.refresh(&task).await?;
    let again = board.items(&format!("/tasks/{}/comments", text(&task, "id"))).await?;
    ensure!(again.len() == 1, "each is kept once");

    let path = format!("/tasks/{}/pull-request/send", text(&task, "id"));
    for (wrong, field) in [
        (json!({ "comments": ["nobody"] }), "comments[0]"),
        (json!({ "checks": ["lint"] }), "checks[0]"),
        (json!({}), "message"),
    ] {
        let (status, said) = board.refuse(&path, wrong).await?;
        ensure!(status == 400 && said.to_string().contains(field), "{said:#}");
    }
    let told = vec![id_of(&seen, "Why two?")?, id_of(&seen, "Please mention three.")?];
    let send = json!({ "comments": told, "checks": ["build"], "message": "Have a look." });
    let sent = board.engine.post(&path, send).await?;
    ensure!(sent["status"] == "in_progress" || sent["status"] == "review", "{sent:#}");
    ensure!(sent["budgets"]["review"]["used"] == 0, "no retry is spent: {sent:#}");

    fixture.wait_for_merge(&task).await?;
    let runs = board.runs(&task).await?;
    ensure!(runs.len() == 2, "{runs:#?}");
    let log =
        board.engine.get(&format!("/tasks/{}/logs/{}", text(&task, "id"), text(&runs[1], "log_id"))).await?;
    let log = log.to_string();
    for words in [
        "Have a look.",
        "Why two?",
        "bob said at the code host",
        "Please mention three.",
        "`build` failed",
        "exit 2",
    ] {
        ensure!(log.contains(words), "the agent was not told {words}: {log}");
    }
    ensure!(!log.contains("Not yet."), "only what was chosen is told");
    // The second round comes to the same pull request.
    let pulls = fixture.pulls();
    ensure!(pulls.len() == 1 && pulls[0].body.contains("Second try."), "{pulls:#?}");
    let seen = fixture.pull_request(&task).await?;
    ensure!(seen["told"] == json!(told) && seen["pushed_commit"] != first, "{seen:#}");
    ensure!(seen["pushed_commit"] == fixture.remote(&pulls[0].head)?.as_str(), "{seen:#}");
    ensure!(seen["pull_request"]["head_commit"] == seen["pushed_commit"], "{seen:#}");
    fixture.host.merge(1)?;
    fixture.refresh(&task).await?;
    ensure!(board.get(&task).await?["status"] == "done");
    ensure!(fixture.board.folder.repo.git(&["ls-remote", "origin", "main"])?.len() > 40);
    let merges = board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    let ends: Vec<String> = merges.iter().map(|merge| text(merge, "status")).collect();
    ensure!(ends == ["failed", "landed"], "{merges:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rewritten_work_replaces_the_pushed_branch() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Gitea, CALM).await?;
    let rewrites = "```forge-script\nedit work.txt <<< \"one\\n\"\n```\n\
        ```forge-script attempt=2\nrun git reset -q --soft HEAD~1\nedit work.txt <<< \"other\\n\"\n```";
    let task = fixture.started(rewrites).await?;
    fixture.wait_for_merge(&task).await?;
    let first = fixture.remote(&fixture.last_pull()?.head)?;
    let path = format!("/tasks/{}/pull-request/send", text(&task, "id"));
    fixture.board.engine.post(&path, json!({ "message": "Do it over." })).await?;
    fixture.wait_for_merge(&task).await?;
    let second = fixture.remote(&fixture.last_pull()?.head)?;
    ensure!(first != second && fixture.pulls().len() == 1);
    let git = |args: &[&str]| fixture.board.folder.repo.git(args);
    ensure!(git(&["rev-parse", &format!("{first}^")])? == git(&["rev-parse", &format!("{second}^")])?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn conflict_at_the_host_is_shown() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    let repo = &fixture.board.folder.repo;
    repo.git(&["switch", "-qc", "theirs", "main"])?;
    repo.write("work.txt", "theirs\n")?;
    repo.commit("theirs")?;
    repo.git(&["push", "-q", "origin", "theirs:main"])?;
    repo.git(&["switch", "-q", "main"])?;
    let seen = fixture.refresh(&task).await?;
    ensure!(seen["pull_request"]["mergeable"] == "no", "{seen:#}");
    let now = fixture.board.get(&task).await?;
    ensure!(now["status"] == "merging", "it is shown, not acted on: {now:#}");
    ensure!(text(&now["waiting"], "message").contains("it conflicts with main"), "{now:#}");
    Ok(())
}
