//! Pull requests that are closed, merged elsewhere or changed by others, and tasks that leave them.

use anyhow::{Context as _, Result, ensure};
use forge_model::pull_request::{HostKind, PullRequestState};
use forge_testkit::{Repository, hosts::TOKEN};
use serde_json::{Value, json};

use super::{CALM, HASTY, PullRequestFixture, is_finished, waits};
use forge_testkit::{
    board::{is, text},
    script,
};

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

impl PullRequestFixture {
    /// A task whose pull request was closed without a merge.
    async fn closed(&self) -> Result<Value> {
        let task = self.awaiting().await?;
        self.host.close(self.last_pull()?.number)?;
        self.refresh(&task).await?;
        let now = self.board.get(&task).await?;
        ensure!(now["status"] == "blocked", "{now:#}");
        let annotation = &now["error_annotation"];
        ensure!(
            annotation["type"] == "pr_closed_without_merge" && annotation["from_state"] == "merging",
            "{now:#}"
        );
        ensure!(annotation["details"]["number"] == self.last_pull()?.number, "{now:#}");
        ensure!(
            verbs(&now) == ["retry", "send_back", "restart", "restart_with_changes", "hold", "cancel"],
            "{now:#}"
        );
        Ok(now)
    }

    /// Waits until another pull request replaced a closed one, and merges it.
    async fn replacement_is_merged(&self, task: &Value, before: usize) -> Result<()> {
        self.wait_for_merge(task).await?;
        let pulls = self.pulls();
        ensure!(pulls.len() == before + 1, "{pulls:#?}");
        ensure!(pulls[before - 1].state == PullRequestState::Closed, "the closed one is left alone");
        ensure!(pulls[before - 1].head == pulls[before].head, "it is the same branch");
        self.host.merge(self.last_pull()?.number)?;
        self.refresh(task).await?;
        self.board.engine.until(task, is("done")).await?;
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_pull_request_is_replaced_on_retry() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.closed().await?;
    fixture.board.act(&task, "actions/retry", json!({})).await?;
    fixture.replacement_is_merged(&task, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_pull_request_can_be_sent_back() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Gitlab, CALM).await?;
    let task = fixture.closed().await?;
    fixture.board.act(&task, "actions/send_back", json!({ "reason": "they want less" })).await?;
    ensure!(fixture.board.moves(&task).await?.contains(&"blocked>in_progress".to_owned()));
    fixture.replacement_is_merged(&task, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_pull_request_can_be_restarted() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Gitea, CALM).await?;
    let task = fixture.closed().await?;
    let now = fixture.board.act(&task, "actions/restart", json!({})).await?;
    ensure!(now["task"]["status"] == "todo", "{now:#}");
    fixture.board.claim(&task).await?;
    fixture.replacement_is_merged(&task, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_task_leaves_its_pull_request_open() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let board = &fixture.board;
    let task = fixture.awaiting().await?;
    board.act(&task, "actions/cancel", json!({})).await?;
    let history = board.history(&task).await?;
    let last = history.last().context("no move")?;
    ensure!(
        last["to"] == "cancelled" && text(last, "reason").contains("pull request 1 is unchanged"),
        "{last:#}"
    );
    ensure!(fixture.last_pull()?.state == PullRequestState::Open, "it is the host's");
    ensure!(fixture.pull_request(&task).await?["next_check_at"].is_null(), "nobody waits for it");
    // It is still shown as it is, when somebody asks.
    fixture.host.merge(1)?;
    let seen = fixture.refresh(&task).await?;
    ensure!(seen["pull_request"]["state"] == "merged", "{seen:#}");
    ensure!(board.get(&task).await?["status"] == "cancelled");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn move_by_a_person_ends_the_wait_for_the_host() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let board = &fixture.board;
    let task = fixture.awaiting().await?;
    board.move_to(&task, "backlog").await?;
    let now = board.get(&task).await?;
    ensure!(now["status"] == "backlog" && now["waiting"].is_null(), "{now:#}");
    ensure!(fixture.pull_request(&task).await?["next_check_at"].is_null());
    fixture.host.merge(1)?;
    fixture.refresh(&task).await?;
    ensure!(board.get(&task).await?["status"] == "backlog", "it is recorded, and nothing follows");
    Ok(())
}

/// The pull request was merged during a run, so later work needs another one.
#[tokio::test(flavor = "multi_thread")]
async fn work_after_the_merge_gets_another_pull_request() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let more = "```forge-script\nedit work.txt <<< \"done\\n\"\n```\n\
        ```forge-script attempt=2\nrun until [ -e merged ]; do sleep 0.05; done; rm merged\nedit more.txt <<< \"more\\n\"\n```";
    let task = fixture.started(more).await?;
    let now = fixture.wait_for_merge(&task).await?;
    let path = format!("/tasks/{}/pull-request/send", text(&task, "id"));
    fixture.board.engine.post(&path, json!({ "message": "More." })).await?;
    fixture.host.merge(1)?;
    std::fs::write(std::path::Path::new(&text(&now["workspace"], "path")).join("merged"), "")?;
    fixture.wait_for_merge(&task).await?;
    let pulls = fixture.pulls();
    ensure!(pulls.len() == 2 && pulls[0].state == PullRequestState::Merged, "{pulls:#?}");
    fixture.host.merge(2)?;
    fixture.refresh(&task).await?;
    ensure!(fixture.board.get(&task).await?["status"] == "done");
    fixture.board.folder.repo.git(&["fetch", "-q", "origin"])?;
    ensure!(fixture.board.folder.repo.show("origin/main", "more.txt").as_deref() == Some("more"));
    Ok(())
}

/// The pull request was closed during rework: a person is notified at once and decides about another one.
#[tokio::test(flavor = "multi_thread")]
async fn pull_request_closed_during_rework_is_reported_at_once() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let board = &fixture.board;
    let go = fixture.marker("go");
    let first = "edit work.txt <<< \"done\\n\"";
    let told = format!(
        "```forge-script\n{first}\n```\n```forge-script attempt=2\nedit work.txt <<< \"better\\n\"\nwait-for {}\n```",
        go.display()
    );
    let task = fixture.started(&told).await?;
    fixture.wait_for_merge(&task).await?;
    let send = format!("/tasks/{}/pull-request/send", text(&task, "id"));
    board.engine.post(&send, json!({ "message": "better, please" })).await?;
    board.engine.until(&task, |task| task["status"] == "in_progress" && task["live"].is_object()).await?;
    fixture.host.close(1)?;
    let told = board.events("notification.created", 1).await?;
    ensure!(told[0]["task_id"] == task["id"], "{told:#?}");
    let notices = board.items("/notifications").await?;
    ensure!(
        notices.iter().any(|notice| text(notice, "body").contains("Pull request 1 was closed")),
        "{notices:#?}"
    );
    ensure!(fixture.pull_request(&task).await?["pull_request"]["state"] == "closed");
    ensure!(board.get(&task).await?["status"] == "in_progress", "its agent goes on");
    std::fs::write(&go, "")?;
    let blocked = board.engine.until(&task, is("blocked")).await?;
    ensure!(blocked["error_annotation"]["type"] == "pr_closed_without_merge", "{blocked:#}");
    ensure!(fixture.pulls().len() == 1, "nobody asked for another one");
    board.act(&task, "actions/retry", json!({})).await?;
    fixture.replacement_is_merged(&task, 1).await
}

/// A lesson reaches the target only by a pull request, as work does.
#[tokio::test(flavor = "multi_thread")]
async fn lesson_with_pull_requests_does_not_touch_the_local_branch() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let board = &fixture.board;
    let path = format!("/projects/{}/knowledge", board.project);
    let draft = json!({ "title": "The token expires", "body": "Renew it.", "paths": ["src"] });
    let lesson = board.engine.post(&path, draft).await?;
    let main = board.folder.repo.git(&["rev-parse", "main"])?;
    let accept = format!("{path}/{}/accept", text(&lesson, "id"));
    let (status, refusal) = board.refuse(&accept, json!({ "body": "Renew it hourly." })).await?;
    ensure!((status, text(&refusal, "code").as_str()) == (409, "lesson_needs_pull_request"), "{refusal:#}");
    ensure!(refusal["details"]["file"] == "docs/knowledge/the-token-expires.md", "{refusal:#}");
    ensure!(
        text(&refusal["details"], "text").contains("# The token expires\n\nRenew it hourly."),
        "{refusal:#}"
    );
    ensure!(board.folder.repo.git(&["rev-parse", "main"])? == main, "nothing moves");
    let waiting = board.items(&format!("{path}?status=proposed")).await?;
    ensure!(waiting.len() == 1 && waiting[0]["id"] == lesson["id"], "{waiting:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_without_changes_opens_no_pull_request() -> Result<()> {
    let fixture = PullRequestFixture::with(
        HostKind::Github,
        CALM,
        TOKEN,
        json!({ "review_config": { "ci_steps": [] } }),
    )
    .await?;
    let task = fixture.started(&script(&["summary There is nothing to do."])).await?;
    let end =
        fixture.board.engine.until(&task, |task| is_finished(task) || waits(task, "awaiting_merge")).await?;
    ensure!(end["status"] == "done" && fixture.pulls().is_empty(), "{end:#}");
    let merges = fixture.board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    ensure!(merges.iter().all(|merge| merge["status"] == "nothing"), "{merges:#?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_commits_before_the_merge_are_reported() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Gitea, CALM).await?;
    let task = fixture.awaiting().await?;
    let repo = &fixture.board.folder.repo;
    let branch = format!("forge/{}", text(&task, "id"));
    let tip = fixture.remote(&branch)?;
    let more = repo.git(&["commit-tree", "-p", &tip, "-m", "theirs", &format!("{tip}^{{tree}}")])?;
    repo.git(&["push", "--quiet", "origin", &format!("{more}:refs/heads/{branch}")])?;
    fixture.refresh(&task).await?;
    fixture.host.merge(1)?;
    fixture.refresh(&task).await?;
    fixture.board.engine.until(&task, is("done")).await?;
    let history = fixture.board.history(&task).await?;
    let last = history.last().context("no move")?;
    ensure!(text(last, "reason").contains("others had added commits"), "{last:#}");
    Ok(())
}

/// Pushes a commit with a file on top of a branch of the code host, as another machine would.
fn push_from_elsewhere(
    fixture: &PullRequestFixture,
    on: &str,
    (name, content): (&str, &str),
    to: &str,
) -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let theirs = Repository::create(&elsewhere.path().join("theirs"), &[("README.md", "# Theirs\n")])?;
    let bare = fixture.board.folder.repo.git(&["remote", "get-url", "origin"])?;
    theirs.git(&["fetch", "-q", &bare, on])?;
    theirs.git(&["reset", "-q", "--hard", "FETCH_HEAD"])?;
    theirs.write(name, content)?;
    theirs.commit("theirs")?;
    theirs.git(&["push", "-q", "--force", &bare, &format!("HEAD:refs/heads/{to}")])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_reviewed_work_is_not_done() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    let branch = format!("forge/{}", text(&task, "id"));
    push_from_elsewhere(&fixture, "main", ("theirs.txt", "theirs\n"), &branch)?;
    fixture.host.merge(1)?;
    fixture.refresh(&task).await?;
    let blocked = fixture.board.engine.until(&task, is("blocked")).await?;
    let message = text(&blocked["error_annotation"], "message");
    ensure!(message.contains("pull request 1 was merged without the reviewed commit"), "{message}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_merged_elsewhere_is_done_once_its_target_has_the_work() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    fixture.host.retarget(1, "release")?;
    let merged = fixture.host.merge(1)?;
    fixture.refresh(&task).await?;
    let blocked = fixture.board.engine.until(&task, is_finished).await?;
    let message = text(&blocked["error_annotation"], "message");
    ensure!(message.contains("pull request 1 was merged into release"), "{blocked:#}");
    fixture.board.folder.repo.git(&["fetch", "--quiet", "origin"])?;
    fixture.board.folder.repo.git(&["push", "--quiet", "origin", &format!("{merged}:refs/heads/main")])?;
    fixture.board.act(&task, "actions/retry?wait=none", json!({})).await?;
    fixture.board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_edited_by_others_before_the_squash_is_done() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    let branch = format!("forge/{}", text(&task, "id"));
    push_from_elsewhere(&fixture, &branch, ("work.txt", "done, and better\n"), &branch)?;
    fixture.host.squash(1)?;
    fixture.refresh(&task).await?;
    let end = fixture.board.engine.until(&task, is_finished).await?;
    ensure!(end["status"] == "done", "{end:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn line_comment_at_the_host_is_imported_once() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    let comments = format!("/tasks/{}/comments", text(&task, "id"));
    for number in 1..=2 {
        fixture.host.comment_on_line(1, "octo", "work.txt", 1, &format!("no. {number}"))?;
        fixture.refresh(&task).await?;
        ensure!(fixture.board.items(&comments).await?.len() == number, "each is there once");
    }
    Ok(())
}
