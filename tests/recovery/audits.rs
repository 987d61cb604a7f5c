//! Kills and panics around an audited task with a conflict or a rebase: the auditor spoils the worktree, the agent
//! resolves the conflict or Forge rebases, and the work lands once without a trace of the auditor.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, marked_processes, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::{Fault, all_survived, panicked};

/// How the task reaches the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergeRoute {
    /// The auditor passes the work, the merge conflicts, the agent resolves the conflict.
    Conflict,
    /// The auditor passes the work, the target has moved, Forge rebases.
    Rebase,
}

struct AuditFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    route: MergeRoute,
}

impl AuditFixture {
    fn start(route: MergeRoute, env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        repo.git(&["checkout", "-q", "-b", "elsewhere"])?;
        let server = Serve { program: "forge-faulty", data: dir.path().join("data"), env }.start()?;
        Ok(Self { dir, repo, server, route })
    }

    fn description(&self) -> String {
        let repo = self.repo.path().display();
        // Once, however often its attempt is repeated. A git that was ended in the middle leaves its lock.
        let file = if self.route == MergeRoute::Conflict { "work" } else { "other" };
        let moves = format!(
            "run cd '{repo}' && rm -f .git/refs/heads/main.lock && git show main:{file} >/dev/null 2>&1 || \
             (export GIT_INDEX_FILE='{repo}/../index'; git read-tree main && \
             git update-index --add --cacheinfo 100644,$(git rev-parse main:README.md),{file} && \
             git update-ref refs/heads/main $(git commit-tree -p main -m moved $(git write-tree)))"
        );
        let audit = "edit work <<< \"spoiled\"\nedit trace <<< \"trace\"\nrun git add -A && git commit -qm trace\nverdict pass fine";
        // A run that a kill cut short is another attempt: each does what is needed wherever it finds itself.
        let work = "run test -e work || echo work >work";
        // Nothing is mended before it was committed and reviewed: then only the first run is repeated.
        let mend = match self.route {
            MergeRoute::Conflict => {
                "run test -z \"$(git log --format=%s main..HEAD)\" || git rebase -q --strategy-option=theirs main"
            }
            MergeRoute::Rebase => "run true",
        };
        format!(
            "```forge-script\n{moves}\n{work}\n```\n```forge-script attempt=2\n{moves}\n{work}\n{mend}\n```\n\
             ```forge-script role=reviewer\n{audit}\n```"
        )
    }

    /// Creates everything up to the claim, which no fault disturbs.
    async fn make(&self) -> Result<Value> {
        let agent = self.server.post("/agents", scripted_agent("scripted")?).await?;
        let strategy = if self.route == MergeRoute::Conflict { "merge" } else { "rebase" };
        let settings = json!({
            "shell": ["sh", "-c"], "review_config": { "ci_steps": ["test -e work && ! test -e trace"] },
            "merge_config": { "strategy": strategy, "target_branch": "main" },
        });
        let new = json!({ "name": "sample", "repo_path": self.repo.path(), "settings": settings });
        let path = format!("/projects/{}/tasks", id(&self.server.post("/projects", new).await?)?);
        let roles = json!({ "coder": agent["id"], "reviewer": agent["id"] });
        let new = json!({ "title": "Audited", "description": self.description(), "roles": roles });
        let task = self.server.post(&path, new).await?;
        let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
        // The kill may come before, while or after it answers.
        let _ = self.server.post(&format!("/tasks/{}/claim", id(&task)?), claim).await;
        Ok(task)
    }

    async fn wait_until_done(&self, task: &Value) -> Result<()> {
        let over = |task: &Value| {
            let cleaned = task["workspace"]["status"] == "cleaned";
            (task["status"] == "done" && cleaned)
                || ["blocked", "merge_failed"].contains(&task["status"].as_str().unwrap_or_default())
                    && !task["error_annotation"].is_null()
        };
        let end = self.server.wait(&id(task)?, "over", over).await?;
        ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
        ensure!(self.repo.show("main", "trace").is_none(), "the auditor's file landed");
        let work = self.repo.show("main", "work").unwrap_or_default();
        ensure!(work == "work", "the work is {work:?}");
        let log = self.repo.git(&["log", "--format=%s", "main"])?;
        ensure!(!log.contains("trace"), "the auditor's commit landed:\n{log}");
        let merges = self.server.get(&format!("/tasks/{}/merges", id(task)?)).await?;
        let landed =
            merges["items"].as_array().into_iter().flatten().filter(|merge| merge["status"] == "landed");
        ensure!(landed.count() == 1, "{merges:#}");
        let reviews = self.server.get(&format!("/tasks/{}/reviews", id(task)?)).await?;
        let reviews = reviews["items"].as_array().context("no reviews")?;
        let open =
            reviews.iter().filter(|row| row["status"] == "running" || row["status"] == "awaiting_human");
        ensure!(open.count() == 0, "{reviews:#?}");
        let last = reviews.last().context("no review")?;
        ensure!(last["verdict"] == "pass_ci_only", "{last:#}");
        if self.route == MergeRoute::Rebase {
            ensure!(last["reviewed_commit"] == self.repo.git(&["rev-parse", "main"])?.as_str(), "{last:#}");
        }
        let moves = self.server.get(&format!("/tasks/{}/transitions", id(task)?)).await?;
        let moves = moves["items"].as_array().context("no moves")?;
        ensure!(moves.iter().filter(|row| row["to"] == "done").count() == 1, "{moves:#?}");
        ensure!(moves.iter().all(|row| row["rejection"] == false), "nothing was rejected: {moves:#?}");
        self.repo.git(&["fsck", "--strict", "--no-dangling"])?;
        ensure!(self.repo.git(&["status", "--porcelain"])?.is_empty(), "the user's checkout was touched");
        ensure!(self.repo.git(&["worktree", "list"])?.lines().count() == 1, "a worktree is left");
        let left = marked_processes(self.dir.path())?;
        ensure!(left.is_empty(), "processes are left: {left:?}");
        Ok(())
    }
}

async fn survives(route: MergeRoute, fault: Fault, point: &str, times: u32) -> Result<()> {
    let mut fixture = AuditFixture::start(route, fault.at(point, times))?;
    let task = fixture.make().await?;
    let data = fixture.dir.path().join("data");
    if fault == Fault::Panic {
        fixture.wait_until_done(&task).await?;
        return panicked(&data, point);
    }
    // The kill must happen: the undisturbed run passed this fault point, too.
    fixture.server.until_gone().await.with_context(|| format!("{route:?}: {point}#{times}"))?;
    fixture.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
    fixture.wait_until_done(&task).await
}

/// The fault points of audits, conflicts and rebases; other tests cover the rest.
const OWN_POINTS: [&str; 9] = [
    "step.begin:run_ci_steps",
    "step.ran:run_ci_steps",
    "step.end:run_ci_steps",
    "step.ran:advance",
    "execution.",
    "traces.",
    "rebase.",
    "merge.",
    "step.ran:run_merge",
];

/// The fault points that each route must pass, so that the test cannot pass without them.
const OF_CONFLICTS: [&str; 3] = ["traces.discarded", "step.end:run_ci_steps", "merge.landed"];
const OF_REBASES: [&str; 4] = ["rebase.opened", "rebase.moved", "rebase.checked", "merge.landed"];

async fn survives_each(route: MergeRoute, fault: Fault, expected: &[&str]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let trace = folder.path().join("trace.txt");
    let env = vec![(fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    let undisturbed = AuditFixture::start(route, env)?;
    let task = undisturbed.make().await?;
    undisturbed.wait_until_done(&task).await?;
    let mut passed: BTreeMap<String, u32> = BTreeMap::new();
    for line in std::fs::read_to_string(&trace)?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    for point in expected {
        ensure!(passed.contains_key(*point), "{point} is not among {passed:?}");
    }
    let mut cases = Vec::new();
    for (point, times) in &passed {
        if OWN_POINTS.iter().any(|prefix| point.starts_with(prefix)) {
            let times = if fault == Fault::Panic { 1 } else { *times };
            cases.extend((1..=times).map(|n| (point.clone(), n)));
        }
    }
    println!("{} times {fault:?}", cases.len());
    let survives = move |point: String, times| async move { survives(route, fault, &point, times).await };
    all_survived(cases, survives).await
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_resolved_conflict_survive_a_kill_at_every_fault_point() -> Result<()> {
    survives_each(MergeRoute::Conflict, Fault::Kill, &OF_CONFLICTS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_engine_rebase_survive_a_kill_at_every_fault_point() -> Result<()> {
    survives_each(MergeRoute::Rebase, Fault::Kill, &OF_REBASES).await
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_resolved_conflict_survive_a_panic_at_every_fault_point() -> Result<()> {
    survives_each(MergeRoute::Conflict, Fault::Panic, &OF_CONFLICTS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_and_engine_rebase_survive_a_panic_at_every_fault_point() -> Result<()> {
    survives_each(MergeRoute::Rebase, Fault::Panic, &OF_REBASES).await
}
