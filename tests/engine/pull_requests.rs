//! Pull requests: a running engine, real git, and a fake code host on the loopback interface.

mod failures;
mod feedback;
mod outcomes;

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use forge_model::pull_request::{HostConfig, HostKind, PullRequestState};
use forge_testkit::hosts::{FakeHost, FakePull, TOKEN};
use reqwest::Method;
use serde_json::{Value, json};

use forge_testkit::{
    Board, Folder, LocalEngine,
    board::{text, with},
    script,
};

/// Polling of the host without delays.
const HASTY: u32 = 300;
/// Polling so slow that none happens during a test.
const CALM: u32 = 1;

/// A project that merges by pull requests on a fake code host.
struct PullRequestFixture {
    board: Board,
    host: FakeHost,
}

impl PullRequestFixture {
    async fn new(kind: HostKind, pace: u32) -> Result<Self> {
        Self::with(kind, pace, TOKEN, json!({})).await
    }

    async fn with(kind: HostKind, pace: u32, token: &str, settings: Value) -> Result<Self> {
        let sandbox = Folder::new()?;
        // Programs that a test puts there are found as those of a person are.
        std::fs::write(sandbox.dir.path().join("home/.profile"), "PATH=\"$HOME/bin:$PATH\"\n")?;
        let bare = sandbox.dir.path().join("bare.git");
        let host = FakeHost::start(kind, &bare).await?;
        sandbox.repo.git(&["remote", "add", "origin", &bare.to_string_lossy()])?;
        sandbox.repo.git(&["push", "--quiet", "origin", "main"])?;
        let variable = format!("FORGE_{}_TOKEN", kind.as_str().to_uppercase());
        let engine = LocalEngine::start(sandbox.dir.path(), |config| {
            config.token_variables.insert(variable, token.to_owned());
            config.host_pace = pace;
            config.login_shell = Some("/bin/sh".into());
        })
        .await?;
        let usual = json!({
            "auto_approve": true, "shell": ["sh", "-c"], "code_host": host.config("origin"),
            "review_config": { "ci_steps": ["test -e work.txt"] },
        });
        let (project, agent) = engine.project(&sandbox.repo, with(usual, &settings)).await?;
        let board = Board { folder: sandbox, engine, project, agent };
        board.patch(&format!("/projects/{}", board.project), json!({ "work_mode": "pull_request" })).await?;
        Ok(Self { board, host })
    }

    /// A claimed task whose agent follows a script.
    async fn started(&self, description: &str) -> Result<Value> {
        let new = json!({
            "title": "Write it down", "description": description, "roles": { "coder": self.board.agent },
        });
        let task = self.board.engine.task(&self.board.project, new).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    /// A task whose pull request waits for its merge.
    async fn awaiting(&self) -> Result<Value> {
        let task =
            self.started(&script(&["edit work.txt <<< \"done\\n\"", "summary Wrote it down."])).await?;
        self.wait_for_merge(&task).await?;
        Ok(task)
    }

    async fn wait_for_merge(&self, task: &Value) -> Result<Value> {
        let end =
            self.board.engine.until(task, |task| waits(task, "awaiting_merge") || is_finished(task)).await?;
        ensure!(waits(&end, "awaiting_merge"), "{end:#}");
        Ok(end)
    }

    async fn pull_request(&self, task: &Value) -> Result<Value> {
        let answer = self.board.engine.get(&format!("/tasks/{}/pull-request", text(task, "id"))).await?;
        Ok(answer["pull_request"].clone())
    }

    /// Polls the host now.
    async fn refresh(&self, task: &Value) -> Result<Value> {
        let path = format!("/tasks/{}/pull-request/refresh", text(task, "id"));
        Ok(self.board.engine.post(&path, json!({})).await?["pull_request"].clone())
    }

    fn pulls(&self) -> Vec<FakePull> {
        self.host.pull_requests()
    }

    fn last_pull(&self) -> Result<FakePull> {
        self.pulls().pop().context("no pull request")
    }

    /// The commit of a branch on the remote.
    fn remote(&self, branch: &str) -> Result<String> {
        let said = self.board.folder.repo.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")])?;
        Ok(said.split_whitespace().next().unwrap_or_default().to_owned())
    }

    fn marker(&self, name: &str) -> PathBuf {
        self.board.folder.dir.path().join(name)
    }
}

fn waits(task: &Value, reason: &str) -> bool {
    task["waiting"]["reason"] == reason
}

fn is_finished(task: &Value) -> bool {
    task["status"] == "done" || task["status"] == "blocked" || task["status"] == "cancelled"
}

async fn work_reaches(kind: HostKind) -> Result<()> {
    let fixture = PullRequestFixture::new(kind, CALM).await?;
    let (board, done) = (&fixture.board, fixture.marker("hooked"));
    let hook =
        json!({ "type": "script", "command": format!("echo $FORGE_TASK_STATUS >>'{}'", done.display()) });
    let settings = format!("/projects/{}/settings", board.project);
    board.patch(&settings, json!({ "lifecycle_hooks": { "on_task_done": [hook] } })).await?;
    let main = board.folder.repo.git(&["rev-parse", "main"])?;
    let lines =
        ["edit work.txt <<< \"done\\n\"", "usage m 1000 200 420000", "summary Wrote it down, @everyone."];
    let task = fixture.started(&script(&lines)).await?;
    let later = json!({ "title": "Later", "depends_on": [task["id"]] });
    let later = board.engine.task(&board.project, later).await?;
    let waiting = fixture.wait_for_merge(&task).await?;
    ensure!(waiting["status"] == "merging" && waiting["error_annotation"].is_null(), "{waiting:#}");
    ensure!(text(&waiting["waiting"], "message").contains("pull request 1"), "{waiting:#}");

    let pulls = fixture.pulls();
    ensure!(pulls.len() == 1, "{pulls:#?}");
    let (pull, head) = (&pulls[0], format!("forge/{}", text(&task, "id")));
    ensure!(
        (pull.title.as_str(), pull.base.as_str(), &pull.head) == ("Write it down", "main", &head),
        "{pull:#?}"
    );
    for told in ["Wrote it down, @", "| `test -e work.txt` | passed |", "- Cost $0.42", "Forge task 1"] {
        ensure!(pull.body.contains(told), "{told}: {}", pull.body);
    }
    ensure!(!pull.body.contains("@everyone"), "nobody is called: {}", pull.body);
    ensure!(!pull.body.contains("Reviewed by"), "nobody looked at it: {}", pull.body);
    let seen = fixture.pull_request(&task).await?;
    ensure!(seen["pull_request"]["number"] == 1 && seen["pull_request"]["state"] == "open", "{seen:#}");
    ensure!(seen["pushed_commit"] == fixture.remote(&head)?.as_str(), "{seen:#}");
    ensure!(board.folder.repo.git(&["rev-parse", "main"])? == main, "nothing is merged here");
    let merges = board.items(&format!("/tasks/{}/merges", text(&task, "id"))).await?;
    ensure!(merges.len() == 1 && merges[0]["status"] == "intended", "{merges:#?}");

    let merged = fixture.host.merge(1)?;
    let seen = fixture.refresh(&task).await?;
    ensure!(seen["pull_request"]["state"] == "merged" && seen["next_check_at"].is_null(), "{seen:#}");
    let end = board.engine.until(&task, |task| task["workspace"]["status"] == "cleaned").await?;
    ensure!(end["status"] == "done" && end["waiting"].is_null(), "{end:#}");
    ensure!(std::fs::read_to_string(&done)?.trim() == "done", "the hook ran once");
    ensure!(board.get(&later).await?["blocked_by"] == json!([]), "its dependents may start");
    let history = board.history(&task).await?;
    let last = history.last().context("no move")?;
    ensure!(last["actor"] == "system:host" && last["trigger"] == "accept", "{last:#}");
    ensure!(
        text(last, "reason").contains("merged at the host as pull request 1; the local main is unchanged"),
        "{last:#}"
    );
    let delivery = board.engine.get(&format!("/tasks/{}/delivery", text(&task, "id"))).await?;
    ensure!(delivery["merge"]["status"] == "landed" && delivery["merge"]["merge_commit"] == merged.as_str());
    ensure!(delivery["pull_request"]["state"] == "merged", "{delivery:#}");
    ensure!(board.folder.repo.git(&["rev-parse", "main"])? == main, "main here is the person's");
    ensure!(fixture.remote("main")? == merged);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_on_github_is_opened_and_merged() -> Result<()> {
    work_reaches(HostKind::Github).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_on_gitea_is_opened_and_merged() -> Result<()> {
    work_reaches(HostKind::Gitea).await
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_on_gitlab_is_opened_and_merged() -> Result<()> {
    work_reaches(HostKind::Gitlab).await
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_at_the_host_is_noticed_by_polling() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, HASTY).await?;
    let task = fixture.awaiting().await?;
    fixture.host.squash(1)?;
    let end = fixture.board.engine.until(&task, is_finished).await?;
    ensure!(end["status"] == "done", "{end:#}");
    ensure!(fixture.pulls().len() == 1 && fixture.last_pull()?.state == PullRequestState::Merged);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unchanged_pull_request_is_polled_with_conditional_requests() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let task = fixture.awaiting().await?;
    fixture.refresh(&task).await?;
    let (asked, unchanged) = (fixture.host.requests(), fixture.host.unchanged());
    let version = fixture.board.get(&task).await?["version"].clone();
    fixture.refresh(&task).await?;
    let (asked, unchanged) = (fixture.host.requests() - asked, fixture.host.unchanged() - unchanged);
    ensure!(asked > 0 && asked == unchanged, "{unchanged} of {asked} requests cost nothing");
    ensure!(fixture.board.get(&task).await?["version"] == version, "no news is told");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn code_host_can_be_tested_before_its_first_use() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let board = &fixture.board;
    let path = format!("/projects/{}/code-host", board.project);
    let standing = board.engine.get(&path).await?;
    ensure!(standing["reachable"] == true && standing["configured"] == true, "{standing:#}");
    ensure!(standing["token"] == "FORGE_GITHUB_TOKEN" && standing["problem"].is_null(), "{standing:#}");
    ensure!(!standing.to_string().contains(TOKEN));
    fixture.host.go_offline().await;
    let standing = board.engine.get(&path).await?;
    ensure!(
        standing["reachable"] == false && text(&standing, "problem").contains("could not reach the host"),
        "{standing:#}"
    );
    fixture.host.come_back().await?;

    // Nothing configured: a folder is no code host.
    let settings = format!("/projects/{}/settings", board.project);
    board.patch(&settings, json!({ "code_host": null })).await?;
    let standing = board.engine.get(&path).await?;
    ensure!(standing["host"].is_null() && standing["configured"] == false, "{standing:#}");
    ensure!(text(&standing, "problem").contains("folder") && !text(&standing, "remedy").is_empty());
    // What a remote says is believed.
    board.folder.repo.git(&["remote", "set-url", "origin", "git@gitlab.com:group/sub/app.git"])?;
    let guessed = board.engine.get(&path).await?["host"].clone();
    let guessed: HostConfig = serde_json::from_value(guessed)?;
    ensure!(guessed.kind == HostKind::Gitlab && guessed.owner == "group/sub" && guessed.repo == "app");

    // What is wrong is told by its fields.
    let wrong = json!({ "code_host": { "kind": "github", "owner": "", "repo": "a/b", "base_url": "x", "remote": "-r" } });
    let answer = board.engine.request(Method::PATCH, &settings).json(&wrong).send().await?;
    ensure!(answer.status == 400);
    let said = answer.body.to_string();
    for field in ["code_host.owner", "code_host.repo", "code_host.base_url", "code_host.remote"] {
        ensure!(said.contains(field), "{field}: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn token_without_a_keychain_is_refused() -> Result<()> {
    let fixture = PullRequestFixture::new(HostKind::Github, CALM).await?;
    let path = format!("/projects/{}/code-host/token", fixture.board.project);
    let put = |token: &str| {
        fixture.board.engine.request(Method::PUT, &path).json(&json!({ "token": token })).send()
    };
    let empty = put(" ").await?;
    ensure!(empty.status == 400, "{empty:?}");
    let refused = put("a-secret-token").await?;
    ensure!(refused.status == 409);
    let said = refused.body;
    ensure!(said["code"] == "keychain_unavailable", "{said:#}");
    ensure!(
        text(&said, "message").contains("FORGE_GITHUB_TOKEN") && !said.to_string().contains("a-secret-token")
    );
    Ok(())
}
