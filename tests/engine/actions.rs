//! Actions on blocked tasks, a file per cause: every offered action is accepted, takes effect and leads to its
//! state; an action that is not offered is refused with those that are.

mod agents;
mod flow;
mod merges;
mod reviews;
mod worktrees;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use forge_model::{offer::Verb, task::AnnotationType};
use forge_testkit::{
    Board, Repository,
    board::{text, with},
    program,
};
use serde_json::{Value, json};

/// The actions offered for a block reason besides `hold` and `cancel`; none for reasons that other tests cover.
const fn offered_actions(kind: AnnotationType) -> Option<&'static [&'static str]> {
    use AnnotationType as T;
    Some(match kind {
        T::ReviewBudgetExhausted | T::ReviewStagnant => {
            &["send_back", "reset_budget", "approve", "restart", "restart_with_changes"]
        }
        T::CiFailedAfterMergeFix => &["send_back", "retry", "restart", "restart_with_changes"],
        T::ExecutorFailed => &["retry", "resume_session", "restart", "restart_with_changes"],
        T::ExecutorUnavailable => &["retry", "restart", "restart_with_changes"],
        T::EnvironmentNotReady => &["retry", "restart", "restart_with_changes", "reset_workspace"],
        T::CommitRefused | T::GuardRejected => {
            &["resume_session", "retry", "restart", "restart_with_changes"]
        }
        T::TargetUnstable | T::MergeError => &["retry", "send_back"],
        T::WorkspaceResetRequired => &["reset_workspace"],
        T::WorkspaceError => &["retry", "reset_workspace"],
        T::BeforeWorkHookFailed | T::BeforeWorkHookTimeout => {
            &["retry_hook", "skip_hook_once", "restart", "restart_with_changes"]
        }
        T::SubtaskPaused => &["retry", "resume_session", "restart", "restart_with_changes"],
        T::DependencyCancelled => &["restart"],
        T::Manual => &["restart", "restart_with_changes"],
        T::CascadeLimit | T::RecoveryRequired => &["retry", "send_back", "restart", "restart_with_changes"],
        T::MergeConflict => &["retry", "send_back", "reset_budget", "restart", "restart_with_changes"],
        T::SubmoduleNotPushed => &["retry", "send_back", "restart", "restart_with_changes"],
        // What lies in a worktree has tests of its own.
        T::RepositoryChanged | T::EmbeddedRepository => return None,
        // Startup files that nobody trusted are brought about in `trust.rs`.
        T::TrustRequired => return None,
        // Races have tests of their own, as have auditors and pull requests.
        T::RaceNoWinner | T::RaceNotPromoted => return None,
        T::ReviewerUnusable | T::PrFailed | T::PrClosedWithoutMerge => return None,
        // What is missing, and what changed after a review, is brought about in `done.rs`.
        T::WorkMissing | T::WorkChanged => return None,
    })
}

/// A block reason and the states that its actions lead to.
struct BlockCase {
    kind: AnnotationType,
    /// The state of the blocked task.
    state: &'static str,
    /// The first state after a retry.
    retried: &'static str,
    /// The possible final states once the cause is removed.
    ends: &'static [&'static str],
}

const fn block_case(kind: AnnotationType) -> BlockCase {
    BlockCase { kind, state: "blocked", retried: "in_progress", ends: &["done"] }
}

impl BlockCase {
    fn ended(&self, task: &Value) -> bool {
        self.ends.iter().any(|state| task["status"] == *state)
    }
}

/// A project whose block causes end as soon as a file exists.
struct ActionFixture {
    board: Board,
    /// A link to the `forge` program, so that it can serve as an agent's program, too.
    mended: PathBuf,
    /// Runs in addition when the cause is removed (true) or restored (false).
    also: Option<Also>,
}

type Also = fn(&Repository, bool) -> Result<()>;

impl ActionFixture {
    async fn new() -> Result<Self> {
        let board = Board::new(json!({})).await?;
        board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
        let mended = board.folder.dir.path().join("mended");
        Ok(Self { board, mended, also: None })
    }

    /// A shell line that succeeds once the cause is removed.
    fn cause_is_gone(&self) -> String {
        format!("test -e '{}'", self.mended.display())
    }

    fn remove_cause(&self) -> Result<()> {
        self.also.map_or(Ok(()), |also| also(&self.board.folder.repo, true))?;
        Ok(std::os::unix::fs::symlink(program("forge")?, &self.mended)?)
    }

    fn restore_cause(&self) -> Result<()> {
        self.also.map_or(Ok(()), |also| also(&self.board.folder.repo, false))?;
        match std::fs::remove_file(&self.mended) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// A claimed task for the agent.
    async fn started(&self, project: &str, description: &str, more: Value) -> Result<Value> {
        let new =
            json!({ "title": "Trouble", "description": description, "roles": { "coder": self.board.agent } });
        let task = self.board.engine.task(project, with(new, &more)).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    async fn wait_until_blocked(&self, task: &Value, case: &BlockCase) -> Result<Value> {
        let there = |task: &Value| {
            task["error_annotation"]["type"] == case.kind.as_str() && task["status"] == case.state
        };
        let ended = |task: &Value| task["status"] == "done" || task["status"] == "blocked";
        let now = self.board.engine.until(task, |task| there(task) || ended(task)).await?;
        ensure!(there(&now), "{}: {now:#}", case.kind);
        Ok(now)
    }

    /// Blocks a task once per action and performs the action.
    async fn take_every_action(
        &self,
        case: &BlockCase,
        bring: impl AsyncFn() -> Result<Value>,
    ) -> Result<()> {
        let offered = offered_actions(case.kind).context("nothing brings it about")?;
        let all: Vec<&str> = offered.iter().copied().chain(["hold", "cancel"]).collect();
        for verb in &all {
            self.restore_cause()?;
            let task = self.wait_until_blocked(&bring().await?, case).await?;
            ensure!(verbs(&task) == all, "{}: {:#}", case.kind, task["offers"]);
            if verb == &all[0] {
                self.refuses_the_others(&task, &all).await?;
            }
            self.remove_cause()?;
            self.take(&task, verb, case).await.with_context(|| format!("{} {verb}", case.kind))?;
        }
        Ok(())
    }

    async fn refuses_the_others(&self, task: &Value, offered: &[&str]) -> Result<()> {
        for verb in Verb::ALL.iter().map(|verb| verb.as_str()).filter(|verb| !offered.contains(verb)) {
            let said = json!({ "reason": "r", "message": "m" });
            let (status, body) = self.board.refused(task, &format!("actions/{verb}"), said).await?;
            ensure!((status, text(&body, "code").as_str()) == (409, "not_offered"), "{verb}: {body:#}");
            ensure!(body["details"]["offers"] == task["offers"], "{verb}: {body:#}");
        }
        ensure!(self.board.get(task).await? == *task, "nothing of it changed the task");
        Ok(())
    }

    /// Performs an action and checks its immediate effect and the final state of the task.
    async fn take(&self, task: &Value, verb: &str, case: &BlockCase) -> Result<()> {
        let board = &self.board;
        let before = board.history(task).await?.len();
        let reason = format!("because of {verb}");
        let said = json!({ "reason": reason, "message": reason });
        board.act(task, &format!("actions/{verb}?wait=none"), said).await?;
        let now = board.get(task).await?;
        if verb == "hold" {
            ensure!(now["held"] == true && verbs(&now).contains(&"release".to_owned()), "{now:#}");
            ensure!(now["error_annotation"] == task["error_annotation"], "{now:#}");
            board.act(task, "actions/release", json!({})).await?;
            let now = board.get(task).await?;
            ensure!(now["held"] == false && now["offers"] == task["offers"], "{now:#}");
            return Ok(());
        }
        if verb == "reset_workspace" {
            return self.was_reset(task, &now, case).await;
        }
        let hook = verb.contains("hook");
        if !hook {
            let history = board.history(task).await?;
            let led = history.get(before).with_context(|| format!("no move follows {verb}"))?;
            let to = match verb {
                "retry" | "reset_budget" => case.retried,
                "resume_session" | "send_back" => "in_progress",
                "approve" => "merging",
                "restart" | "restart_with_changes" => "todo",
                "cancel" => "cancelled",
                other => bail!("{other} has no case"),
            };
            ensure!(led["to"] == to && text(led, "actor") == "user:api", "{verb} led to {led:#}");
            ensure!(led["rejection"] == false, "no budget is spent: {led:#}");
        }
        match verb {
            "cancel" => return ensure_that(now["status"] == "cancelled" && now["offers"] == json!([]), &now),
            "restart" | "restart_with_changes" => self.started_over(task, &now).await?,
            "reset_budget" => ensure_that(now["budgets"]["review"]["used"] == 0, &now)?,
            _ => {}
        }
        let end = board.engine.until(task, |task| case.ended(task)).await?;
        ensure_that(end["status"] == "blocked" || end["error_annotation"].is_null(), &end)?;
        match verb {
            "send_back" | "resume_session" => self.agent_was_told(task, &reason).await,
            "approve" => {
                let reviews = board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await?;
                let last = reviews.last().context("no review")?;
                ensure_that(last["decided_by"] == "user:api" && last["reason"] == reason.as_str(), last)
            }
            "skip_hook_once" => {
                let history = board.history(task).await?.iter().map(Value::to_string).collect::<String>();
                ensure!(history.contains(&reason), "the timeline tells why");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A restarted task keeps its worktree only, and can be claimed.
    async fn started_over(&self, before: &Value, now: &Value) -> Result<()> {
        ensure_that(now["status"] == "todo" && now["error_annotation"].is_null(), now)?;
        ensure_that(now["review_passed_at"].is_null(), now)?;
        let budgets = now["budgets"].as_object().context("no budgets")?;
        ensure_that(budgets.values().all(|budget| budget["used"] == 0), now)?;
        ensure_that(now["workspace"]["path"] == before["workspace"]["path"], now)?;
        self.board.claim(now).await?;
        Ok(())
    }

    /// A reset creates a fresh worktree, blocks the task for a person and keeps the old branch.
    async fn was_reset(&self, before: &Value, now: &Value, case: &BlockCase) -> Result<()> {
        let repo = &self.board.folder.repo;
        let target = now["merge_config"]["target_branch"].as_str().unwrap_or("main");
        ensure_that(
            now["status"] == "blocked"
                && now["error_annotation"]["type"] == "manual"
                && now["review_passed_at"].is_null(),
            now,
        )?;
        ensure_that(verbs(now) == ["restart", "restart_with_changes", "hold", "cancel"], now)?;
        let tree = PathBuf::from(text(&now["workspace"], "path"));
        ensure!(tree.is_dir(), "{now:#}");
        ensure_that(now["workspace"]["base_commit"] == repo.git(&["rev-parse", target])?.as_str(), now)?;
        if before["workspace"].is_object() {
            let prefix = format!("refs/forge/backup/{}/", text(now, "id"));
            let kept = repo.git(&["for-each-ref", "--format=%(objectname)", &prefix])?;
            let base = text(&before["workspace"], "base_commit");
            ensure!(kept.lines().any(|kept| kept == base), "the old branch was not kept: {kept}");
        }
        self.board.act(now, "actions/restart?wait=none", json!({})).await?;
        let now = self.board.get(now).await?;
        self.started_over(&now, &now).await?;
        self.board.engine.until(&now, |task| case.ended(task)).await?;
        Ok(())
    }

    async fn agent_was_told(&self, task: &Value, message: &str) -> Result<()> {
        for run in self.board.runs(task).await? {
            let path = format!("/tasks/{}/logs/{}", text(task, "id"), text(&run, "log_id"));
            if self.board.engine.get(&path).await?.to_string().contains(message) {
                return Ok(());
            }
        }
        bail!("no run of the agent was told {message}")
    }
}

fn ensure_that(holds: bool, what: &Value) -> Result<()> {
    ensure!(holds, "{what:#}");
    Ok(())
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

/// Retry budgets of a task.
fn limits(limits: &Value) -> Value {
    json!({ "task_state_config": { "retry_budgets": limits } })
}

/// A script for the first runs and another one from run `number` on.
fn attempts(first: &str, number: u32, then: &str) -> String {
    format!("```forge-script\n{first}\n```\n```forge-script attempt={number}\n{then}\n```")
}
