//! Code hosts and remotes that are unreachable, busy or refuse.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Result, ensure};
use forge_model::{pull_request::HostKind, time::Timestamp};
use forge_testkit::hosts::{HostFault, TOKEN};
use serde_json::{Value, json};

use super::{CALM, HASTY, PullRequestFixture, is_finished, waits};
use forge_testkit::{board::text, script};

impl PullRequestFixture {
    /// Waits until the code host or the remote blocks a task, with this message and remedy.
    async fn blocks_with(&self, task: &Value, said: &str, help: &str) -> Result<Value> {
        let now =
            self.board.engine.until(task, |task| is_finished(task) || waits(task, "awaiting_merge")).await?;
        let annotation = &now["error_annotation"];
        ensure!(now["status"] == "blocked" && annotation["type"] == "pr_failed", "{now:#}");
        ensure!(
            annotation["from_state"] == "merging" && text(annotation, "message").contains(said),
            "{now:#}"
        );
        ensure!(text(&annotation["details"], "remedy").contains(help), "{now:#}");
        let offers = now["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb"));
        ensure!(
            offers.collect::<Vec<_>>()
                == ["retry", "send_back", "restart", "restart_with_changes", "hold", "cancel"],
            "{now:#}"
        );
        Ok(now)
    }

    async fn continues_to_done(&self, task: &Value) -> Result<()> {
        self.board.act(task, "actions/retry", json!({})).await?;
        self.wait_for_merge(task).await?;
        ensure!(self.pulls().len() == 1, "{:#?}", self.pulls());
        Ok(())
    }

    async fn work(&self) -> Result<Value> {
        self.started(&script(&["edit work.txt <<< \"done\\n\""])).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn task_without_network_waits_and_continues_automatically() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    fixture.host.go_offline().await;
    let task = fixture.work().await?;
    let now = fixture
        .board
        .engine
        .until(&task, |task| waits(task, "host_unreachable") || is_finished(task))
        .await?;
    ensure!(now["status"] == "merging" && now["error_annotation"].is_null(), "{now:#}");
    ensure!(
        now["waiting"]["until"].is_string()
            && text(&now["waiting"], "message").contains("could not reach the host"),
        "{now:#}"
    );
    let told = fixture.pull_request(&task).await?;
    ensure!(told["trouble"].is_string() && text(&told, "remedy").contains("automatically"), "{told:#}");
    ensure!(now["pull_request"].is_null(), "there is none yet: {now:#}");
    fixture.host.come_back().await?;
    let now = fixture.wait_for_merge(&task).await?;
    ensure!(now["pull_request"]["number"] == 1 && now["pull_request"]["state"] == "open", "{now:#}");
    let told = fixture.pull_request(&task).await?;
    ensure!(told["trouble"].is_null() && told["remedy"].is_null(), "{told:#}");
    fixture.host.go_offline().await;
    fixture.board.engine.until(&task, |task| waits(task, "host_unreachable")).await?;
    fixture.host.come_back().await?;
    fixture.host.merge(1)?;
    let end = fixture.board.engine.until(&task, is_finished).await?;
    ensure!(end["status"] == "done" && fixture.pulls().len() == 1, "{end:#}");
    ensure!(end["pull_request"]["state"] == "merged", "{end:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_or_rate_limiting_host_is_waited_for() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let task = fixture.awaiting().await?;
    for (trouble, said) in
        [(HostFault::Broken, "status 500"), (HostFault::Busy(2), "rate limited by the host until")]
    {
        fixture.host.set_fault(Some(trouble));
        let held = |task: &Value| {
            waits(task, "host_unreachable") && text(&task["waiting"], "message").contains(said)
        };
        let now = fixture.board.engine.until(&task, |task| held(task) || is_finished(task)).await?;
        ensure!(held(&now), "{now:#}");
        fixture.host.set_fault(None);
        fixture.wait_for_merge(&task).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limiting_host_gets_no_requests_meanwhile() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let task = fixture.awaiting().await?;
    fixture.host.set_fault(Some(HostFault::Busy(3600)));
    let now = fixture.board.engine.until(&task, |task| waits(task, "host_unreachable")).await?;
    let asked = fixture.host.requests();
    // Things happen meanwhile that wake the task's steps.
    fixture.board.act(&task, "actions/hold", json!({})).await?;
    fixture.board.act(&task, "actions/release", json!({})).await?;
    let again = fixture.board.engine.until(&task, |task| waits(task, "host_unreachable")).await?;
    ensure!(again["waiting"]["until"] == now["waiting"]["until"], "{again:#}");
    ensure!(fixture.host.requests() == asked, "it was asked {} times more", fixture.host.requests() - asked);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_token_needs_a_person() -> Result<()> {
    const WRONG: &str = "not-the-right-token";
    let fixture = PullRequestFixture::with(HostKind::Github, CALM, WRONG, json!({})).await?;
    let task = fixture.work().await?;
    let now = fixture.blocks_with(&task, "not signed in", "FORGE_GITHUB_TOKEN").await?;
    ensure!(now["error_annotation"]["details"]["status"] == 401, "{now:#}");
    let standing =
        fixture.board.engine.get(&format!("/projects/{}/code-host", fixture.board.project)).await?;
    ensure!(
        standing["reachable"] == false && text(&standing, "remedy").contains("FORGE_GITHUB_TOKEN"),
        "{standing:#}"
    );
    // The work is safe at the remote, and the token is nowhere.
    ensure!(!fixture.remote(&format!("forge/{}", text(&task, "id")))?.is_empty());
    let history = fixture.board.history(&task).await?;
    ensure!(!format!("{now}{standing}{history:?}").contains(WRONG));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_without_permission_is_retried_by_a_person() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Gitea, CALM).await?;
    fixture.host.set_fault(Some(HostFault::Forbidden));
    let task = fixture.work().await?;
    let now = fixture.blocks_with(&task, "denied access", "token").await?;
    ensure!(
        now["error_annotation"]["details"]["status"] == 403 && !now.to_string().contains(TOKEN),
        "{now:#}"
    );
    fixture.host.set_fault(None);
    fixture.continues_to_done(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_push_is_retried_by_a_person() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let hook = fixture.host.repository().join("hooks/pre-receive");
    std::fs::write(&hook, "#!/bin/sh\necho the branch is too long >&2\nexit 1\n")?;
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))?;
    let task = fixture.work().await?;
    fixture.blocks_with(&task, "the branch is too long", "hook").await?;
    ensure!(fixture.pulls().is_empty(), "nothing is proposed that is not there");
    std::fs::remove_file(&hook)?;
    fixture.continues_to_done(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_commits_on_the_pushed_branch_are_kept() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let rewrites = "```forge-script\nedit work.txt <<< \"one\\n\"\n```\n\
        ```forge-script attempt=2\nappend work.txt <<< \"two\\n\"\n```";
    let task = fixture.started(rewrites).await?;
    fixture.wait_for_merge(&task).await?;
    let (repo, head) = (&fixture.board.folder.repo, fixture.pulls()[0].head.clone());
    repo.git(&["fetch", "-q", "origin"])?;
    repo.git(&["switch", "-q", "--detach", &format!("origin/{head}")])?;
    repo.write("theirs.txt", "theirs\n")?;
    let theirs = repo.commit("theirs")?;
    repo.git(&["push", "-q", "origin", &format!("HEAD:refs/heads/{head}")])?;
    repo.git(&["switch", "-q", "main"])?;
    let theirs = if theirs.len() == 40 { theirs } else { fixture.remote(&head)? };
    let path = format!("/tasks/{}/pull-request/send", text(&task, "id"));
    fixture.board.engine.post(&path, json!({ "message": "Two, too." })).await?;
    fixture.blocks_with(&task, "it was moved on the remote", "fetch that branch").await?;
    ensure!(fixture.remote(&head)? == theirs, "what they pushed is theirs");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_remote_is_named() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let settings = format!("/projects/{}/settings", fixture.board.project);
    fixture.board.patch(&settings, json!({ "code_host": { "remote": "upstream" } })).await?;
    let standing =
        fixture.board.engine.get(&format!("/projects/{}/code-host", fixture.board.project)).await?;
    ensure!(text(&standing, "problem").contains("no git remote `upstream`"), "{standing:#}");
    let task = fixture.work().await?;
    fixture.blocks_with(&task, "no remote `upstream`", "git remote add").await?;
    fixture.board.patch(&settings, json!({ "code_host": { "remote": "origin" } })).await?;
    fixture.continues_to_done(&task).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unreachable_remote_is_waited_for() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let repo = &fixture.board.folder.repo;
    repo.git(&["remote", "set-url", "origin", "http://127.0.0.1:1/octo/app.git"])?;
    let task = fixture.work().await?;
    let now = fixture
        .board
        .engine
        .until(&task, |task| waits(task, "host_unreachable") || is_finished(task))
        .await?;
    ensure!(text(&now["waiting"], "message").contains("Could not reach the remote `origin`"), "{now:#}");
    repo.git(&["remote", "set-url", "origin", &fixture.host.repository().to_string_lossy()])?;
    // Another remote is another place for the work to go to: nothing moves before a person says so.
    let now = fixture.board.engine.until(&task, |task| task["status"] == "blocked").await?;
    ensure!(now["error_annotation"]["type"] == "repository_changed", "{now:#}");
    fixture.board.accept_configuration().await?;
    fixture.wait_for_merge(&task).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_a_code_host_reports_it() -> Result<()> {
    let fixture =
        PullRequestFixture::with(HostKind::Github, CALM, TOKEN, json!({ "code_host": null })).await?;
    let task = fixture.work().await?;
    fixture.blocks_with(&task, "find a code host", "settings").await?;
    Ok(())
}

/// A refused token is looked up again, not cached.
#[tokio::test(flavor = "multi_thread")]
async fn new_token_is_used_at_once() -> Result<()> {
    let fixture = PullRequestFixture::with(HostKind::Github, CALM, " ", json!({})).await?;
    let (home, kept) = (fixture.marker("home"), fixture.marker("token"));
    std::fs::write(&kept, "not-the-right-token")?;
    let gh = home.join("bin/gh");
    std::fs::create_dir(home.join("bin"))?;
    std::fs::write(&gh, format!("#!/bin/sh\nexec cat '{}'\n", kept.display()))?;
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755))?;
    let path = format!("/projects/{}/code-host", fixture.board.project);
    let standing = fixture.board.engine.get(&path).await?;
    ensure!(standing["token"] == "gh" && standing["reachable"] == false, "{standing:#}");
    let task = fixture.work().await?;
    fixture.blocks_with(&task, "not signed in", "gh auth login").await?;
    std::fs::write(&kept, TOKEN)?;
    fixture.continues_to_done(&task).await?;
    std::fs::write(&kept, "wrong again")?;
    let standing = fixture.board.engine.get(&path).await?;
    ensure!(standing["reachable"] == false, "the settings tell what holds now: {standing:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repeatedly_failing_host_is_asked_with_growing_delay() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    fixture.host.set_fault(Some(HostFault::Broken));
    let mut due: Vec<i64> = Vec::new();
    for _ in 0..3 {
        let seen = fixture.refresh(&task).await?;
        let at: Timestamp = serde_json::from_value(seen["next_check_at"].clone())?;
        due.push(at.0);
    }
    // One, two, then four minutes, each a tenth more or less.
    ensure!(due[1] - due[0] > 40_000 && due[2] - due[1] > 80_000, "{due:?}");
    Ok(())
}
