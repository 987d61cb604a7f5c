//! Kills and panics while a fix is drafted, applied and verified: a draft whose agent was asked goes on and is asked and
//! paid once, another is dropped whole, a fix is in the branch once or not at all, and an applied fix is verified.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, script};
use forge_tests::{
    drafter,
    patience::{until, until_there},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::{Fault, panicked};

const CHECK: &str = "test -e waived || grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";

struct FixFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    task: String,
}

impl FixFixture {
    /// A task whose check fails once, and an agent that drafts a fix.
    async fn start(fault: Fault, point: &str, in_place: bool) -> Result<Self> {
        Self::with(fault, point, in_place, false, |_| failing_task()).await
    }

    /// The same without a fault, with a drafter that waits for its gate.
    async fn gated(in_place: bool) -> Result<Self> {
        let closed = |dir: &Path| {
            std::fs::write(dir.join("drafter/gate"), "").map(|()| failing_task()).unwrap_or_default()
        };
        Self::with(Fault::Kill, "none", in_place, false, closed).await
    }

    /// A task whose second attempt is rejected by a reviewer that records how to reach Forge.
    async fn judged(fault: Fault, point: &str) -> Result<Self> {
        Self::with(fault, point, false, true, |dir| {
            let file = dir.join("token");
            let writes =
                format!("run printf %s \"$FORGE_MCP_TOKEN\" > {0}.new && mv {0}.new {0}", file.display());
            let wait = format!("wait-for {}", dir.join("go").display());
            let description = [
                ("attempt=1", vec!["edit total.txt <<< \"one\\nbad\\nthree\\n\""]),
                ("attempt=2", vec!["edit waived <<< \"yes\\n\""]),
                ("role=reviewer", vec![writes.as_str(), wait.as_str(), "verdict fail it is not good"]),
            ]
            .map(|(who, lines)| format!("```forge-script {who}\n{}\n```\n", lines.join("\n")))
            .concat();
            json!({ "description": description, "task_state_config": { "retry_budgets": { "review": 1 } } })
        })
        .await
    }

    async fn with(
        fault: Fault,
        point: &str,
        in_place: bool,
        judged: bool,
        task: impl FnOnce(&Path) -> Value,
    ) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let drafting = drafter::install(&dir.path().join("drafter"), FIX)?;
        let (data, env) = (dir.path().join("data"), fault.at(point, 1));
        let server = Serve { program: "forge-faulty", data, env }.start()?;
        let coder = id(&server.post("/agents", scripted_agent("Bot")?).await?)?;
        let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": drafting } });
        let drafter = id(&server.post("/agents", drafter).await?)?;
        let settings = json!({
            "auto_approve": true, "review_config": { "ci_steps": [CHECK] },
            "innerLoop": { "autoFix": { "agentId": drafter, "applyWithoutReview": in_place } },
            "mcp": { "inject": true },
        });
        let new = json!({ "name": "sample", "repo_path": repo.path(), "settings": settings });
        let project = id(&server.post("/projects", new).await?)?;
        let mut new = task(dir.path());
        new["title"] = json!("Total");
        new["roles"] =
            if judged { json!({ "coder": coder, "reviewer": coder }) } else { json!({ "coder": coder }) };
        let task = server.post(&format!("/projects/{project}/tasks"), new).await?;
        let claim = json!({ "agent_id": coder, "version": task["version"] });
        // The server may be killed while it answers.
        let _ = server.post(&format!("/tasks/{}/claim", id(&task)?), claim).await;
        Ok(Self { dir, repo, server, task: id(&task)? })
    }

    /// Waits for the fault; after a kill it starts another server.
    async fn restart_after_fault(&mut self, fault: Fault, point: &str) -> Result<()> {
        if fault == Fault::Panic {
            let data = self.dir.path().join("data");
            return until("the panic", async || Ok(panicked(&data, point).ok())).await;
        }
        self.server.until_gone().await?;
        let data = self.dir.path().join("data");
        self.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
        Ok(())
    }

    async fn fixes(&self) -> Result<Value> {
        self.server.get(&format!("/tasks/{}/fixes/drafts", self.task)).await
    }

    async fn proposal(&self, status: &str) -> Result<Value> {
        until(&format!("a fix that is {status}"), async || {
            let one = self.fixes().await?["proposals"][0].clone();
            Ok((one["status"] == status).then_some(one))
        })
        .await
    }

    /// The number of fix commits on the branch.
    fn commits(&self) -> Result<usize> {
        let log = self.repo.git(&["log", "--format=%an", &format!("forge/{}", self.task)])?;
        Ok(log.lines().filter(|author| *author == "Forge").count())
    }
}

/// Checks that the drafter was asked once, in one run that is over, and that nothing of it is left.
async fn asked_once(fixture: &FixFixture) -> Result<()> {
    let asked = std::fs::read_to_string(fixture.dir.path().join("drafter/asked"))?;
    ensure!(asked.lines().count() == 1, "it was asked again:\n{asked}");
    let runs = fixture.server.get(&format!("/tasks/{}/executions", fixture.task)).await?;
    let drafts: Vec<&Value> =
        runs["items"].as_array().context("no runs")?.iter().filter(|run| run["role"] == "drafter").collect();
    ensure!(drafts.len() == 1 && drafts[0]["status"] == "finished", "{drafts:#?}");
    let data = fixture.dir.path().join("data");
    until("the end of the drafter", async || {
        let left = marked_processes(&fixture.dir.path().join("drafter"))?;
        Ok(left.is_empty().then_some(()))
    })
    .await?;
    let folders = std::fs::read_dir(data.join("drafts"))?.count();
    ensure!(folders == 0, "{folders} folders of drafts are left");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_that_was_answered_before_a_kill_is_proposed_and_asked_once() -> Result<()> {
    for point in ["draft.ended", "fix.drafted"] {
        for in_place in [false, true] {
            let mut fixture = FixFixture::start(Fault::Kill, point, in_place).await?;
            fixture.restart_after_fault(Fault::Kill, point).await?;
            comes_to_its_end(&fixture, in_place)
                .await
                .with_context(|| format!("{point}, in place: {in_place}"))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn drafter_at_work_goes_on_over_a_kill_and_an_orderly_end_that_leaves_runs() -> Result<()> {
    for in_place in [false, true] {
        let mut fixture = FixFixture::gated(in_place).await?;
        let gate = fixture.dir.path().join("drafter/gate");
        until_there(&fixture.dir.path().join("drafter/asked")).await?;
        for kill in [true, false] {
            if kill {
                fixture.server.kill()?;
            } else {
                let _ = fixture.server.terminate().await?;
            }
            let data = fixture.dir.path().join("data");
            fixture.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
        }
        std::fs::remove_file(&gate)?;
        comes_to_its_end(&fixture, in_place).await.with_context(|| format!("in place: {in_place}"))?;
    }
    Ok(())
}

/// Waits for what comes of a draft: a proposal beside the blocked task, or a task that is done with the fix.
async fn comes_to_its_end(fixture: &FixFixture, in_place: bool) -> Result<()> {
    if in_place {
        fixture.server.wait(&fixture.task, "done", |task| task["status"] == "done").await?;
        fixture.proposal("verified").await?;
        ensure!(fixture.commits()? == 1, "{} commits", fixture.commits()?);
    } else {
        fixture.proposal("drafted").await?;
        fixture.server.wait(&fixture.task, "blocked", |task| task["status"] == "blocked").await?;
    }
    asked_once(fixture).await
}

fn failing_task() -> Value {
    let description = script(&["edit total.txt <<< \"one\\nbad\\nthree\\n\""]);
    json!({ "description": description, "task_state_config": { "retry_budgets": { "review": 0 } } })
}

async fn draft_is_dropped(fault: Fault, point: &str) -> Result<()> {
    let mut fixture = FixFixture::start(fault, point, false).await?;
    fixture.restart_after_fault(fault, point).await?;
    fixture.server.wait(&fixture.task, "blocked", |task| task["status"] == "blocked").await?;
    let all = until("the end of the draft", async || {
        let all = fixture.fixes().await?;
        Ok(all["drafts"][0]["reason"].is_string().then_some(all))
    })
    .await?;
    ensure!(all["proposals"] == json!([]), "{all:#}");
    let why = all["drafts"][0]["reason"].as_str().unwrap_or_default();
    let told = if fault == Fault::Kill { "Forge ended while it was drafted" } else { "Internal error" };
    ensure!(why.contains(told), "{all:#}");
    let runs = fixture.server.get(&format!("/tasks/{}/executions", fixture.task)).await?;
    let open = runs["items"].as_array().context("no runs")?.iter().any(|run| run["finished_at"].is_null());
    ensure!(!open, "{runs:#}");
    let left = marked_processes(&fixture.dir.path().join("drafter"))?;
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_interrupted_by_a_kill_is_dropped() -> Result<()> {
    for point in ["draft.recorded", "draft.starting"] {
        draft_is_dropped(Fault::Kill, point).await.with_context(|| point.to_owned())?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn draft_interrupted_by_a_panic_is_dropped() -> Result<()> {
    for point in ["draft.recorded", "draft.starting", "fix.drafted"] {
        draft_is_dropped(Fault::Panic, point).await.with_context(|| point.to_owned())?;
    }
    Ok(())
}

async fn fix_is_applied_once_at(fault: Fault, point: &str, lands: bool) -> Result<()> {
    let mut fixture = FixFixture::start(fault, point, false).await?;
    let fix = fixture.proposal("drafted").await?;
    let path = format!("/fixes/{}/apply", fix["fixId"].as_str().unwrap_or_default());
    fixture.server.wait(&fixture.task, "blocked", |task| task["status"] == "blocked").await?;
    // The server may be killed while it answers.
    let _ = fixture.server.post(&path, json!({})).await;
    fixture.restart_after_fault(fault, point).await?;
    if !lands {
        fixture.proposal("drafted").await?;
        ensure!(fixture.commits()? == 0, "{point}: it is in the branch");
        fixture.server.post(&path, json!({})).await?;
    }
    fixture.proposal("verified").await?;
    ensure!(fixture.commits()? == 1, "{point}: {} commits", fixture.commits()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_is_applied_once_after_a_kill_at_any_fault_point() -> Result<()> {
    fix_is_applied_once(Fault::Kill).await
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_is_applied_once_after_a_panic_at_any_fault_point() -> Result<()> {
    fix_is_applied_once(Fault::Panic).await
}

async fn fix_is_applied_once(fault: Fault) -> Result<()> {
    for (point, lands) in [
        ("fix.intended", false),
        ("fix.landed", true),
        ("step.begin:verify_fix", true),
        ("step.ran:verify_fix", true),
    ] {
        fix_is_applied_once_at(fault, point, lands).await.with_context(|| point.to_owned())?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn review_after_kill_or_panic_continues_with_its_applied_fix() -> Result<()> {
    for fault in [Fault::Kill, Fault::Panic] {
        review_continues_with_its_fix(fault).await.with_context(|| format!("{fault:?}"))?;
    }
    Ok(())
}

async fn review_continues_with_its_fix(fault: Fault) -> Result<()> {
    let mut fixture = FixFixture::start(fault, "fix.landed", true).await?;
    fixture.restart_after_fault(fault, "fix.landed").await?;
    fixture.server.wait(&fixture.task, "done", |task| task["status"] == "done").await?;
    fixture.proposal("verified").await?;
    ensure!(fixture.commits()? == 1, "{} commits", fixture.commits()?);
    Ok(())
}

/// Requests the fix with the reviewer's token and lets the reviewer continue.
async fn request_fix(fixture: &FixFixture) -> Result<()> {
    let file = fixture.dir.path().join("token");
    until_there(&file).await?;
    let fix = fixture.proposal("drafted").await?;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "apply_fix_proposal", "arguments": { "fix_id": fix["fixId"] } },
    });
    let client = reqwest::Client::builder().no_proxy().build()?;
    let answer = client
        .post(format!("{}/mcp", fixture.server.url))
        .bearer_auth(std::fs::read_to_string(&file)?)
        .header("accept", "application/json, text/event-stream")
        .json(&call);
    let answer = answer.send().await?.text().await?;
    ensure!(answer.contains("wantedBy") && !answer.contains("isError\":true"), "{answer}");
    std::fs::write(fixture.dir.path().join("go"), "")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_requested_by_a_reviewer_is_applied_once_after_a_kill() -> Result<()> {
    for point in ["fix.intended", "fix.landed"] {
        let mut fixture = FixFixture::judged(Fault::Kill, point).await?;
        request_fix(&fixture).await?;
        fixture.restart_after_fault(Fault::Kill, point).await?;
        let fix = fixture.proposal("verified").await?;
        ensure!(fix["wantedBy"].is_null(), "{point}: {fix:#}");
        ensure!(fixture.commits()? == 1, "{point}: {} commits", fixture.commits()?);
        fixture.server.wait(&fixture.task, "blocked", |task| task["status"] == "blocked").await?;
    }
    Ok(())
}
