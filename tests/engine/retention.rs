//! Retention: deletion by age, with a clock that is set forward or jumps.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use forge_engine::Clock;
use forge_model::ids::TaskId;
use forge_model::task::ExecutionMode;
use forge_model::time::Timestamp;
use forge_store::{Store, table::tasks::TaskRow};
use forge_testkit::Sandbox;
use forge_tests::patience::until;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The system's clock, shifted by a number of days.
struct ShiftedClock(i64);

impl Clock for ShiftedClock {
    fn now(&self) -> Timestamp {
        forge_engine::SystemClock.now().plus_ms(self.0 * DAY_MS)
    }
}

pub async fn restart_days_later(sandbox: &mut Sandbox, days: i64) -> Result<()> {
    sandbox.restart_with(|config| config.clock = Arc::new(ShiftedClock(days))).await
}

/// The system's clock, set forward while the engine runs.
#[derive(Default)]
struct AdjustableClock {
    ms: AtomicI64,
    jumped: Notify,
}

impl Clock for AdjustableClock {
    fn now(&self) -> Timestamp {
        forge_engine::SystemClock.now().plus_ms(self.ms.load(Ordering::Acquire))
    }

    fn jumped(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.jumped.notified())
    }
}

impl AdjustableClock {
    /// Sets the clock forward and waits until the engine has noticed.
    async fn advance_days(&self, days: i64) {
        self.ms.fetch_add(days * DAY_MS, Ordering::AcqRel);
        self.jumped.notify_one();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Creates closed tasks, each with a log, and returns the log folders.
async fn closed_tasks(sandbox: &Sandbox, count: usize) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for number in 0..count {
        let task = sandbox.task(&format!("Closed {number}"), &[], json!({})).await?;
        let cancel = json!({
            "task_id": task["id"], "verb": "cancel", "version": task["version"], "reason": "not wanted",
        });
        sandbox.call("task_action", cancel).await?;
        let id = task["id"].as_str().context("no id")?;
        let folder = sandbox.dir.path().join("data/logs").join(&sandbox.project).join(id);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("run.jsonl"), "{}\n")?;
        logs.push(folder);
    }
    Ok(logs)
}

/// Creates open tasks, each with a log, and returns the log folders.
async fn open_tasks(sandbox: &Sandbox, count: usize) -> Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for number in 0..count {
        let task = sandbox.task(&format!("Open {number}"), &[], json!({})).await?;
        let folder = sandbox.dir.path().join("data/logs").join(&sandbox.project);
        let folder = folder.join(task["id"].as_str().context("no id")?);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("run.jsonl"), "{}\n")?;
        logs.push(folder);
    }
    Ok(logs)
}

async fn questions(sandbox: &Sandbox) -> Result<Value> {
    Ok(sandbox.call("storage_get", json!({})).await?["questions"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_closed_tasks_expire_by_observed_days_not_by_clock_jumps() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let retention = json!({ "retention": { "logs_days": 2, "events_days": 0 } });
    sandbox.call("storage_update", retention).await?;
    let logs = closed_tasks(&sandbox, 2).await?;
    let of_open = open_tasks(&sandbox, 2).await?;

    for day in [400, 401] {
        restart_days_later(&mut sandbox, day).await?;
        // What is old is looked for before the answer of a command that asks for it is given.
        sandbox.api.engine().sweep().await?;
        assert!(logs.iter().all(|folder| folder.exists()), "deleted because a clock jumped (day {day})");
    }
    restart_days_later(&mut sandbox, 403).await?;
    until("the end of old logs", async || Ok(logs.iter().all(|folder| !folder.exists()).then_some(())))
        .await?;
    assert!(of_open.iter().all(|folder| folder.exists()), "the log of an open task went");
    assert_eq!(questions(&sandbox).await?, json!([]));
    Ok(())
}

/// Creates a race entry of a task with a log, and returns the log folder.
async fn entry_of(sandbox: &Sandbox, task: &str) -> Result<PathBuf> {
    let store = Store::open(&sandbox.dir.path().join("data")).await?;
    let mut tx = store.write().await?;
    let raced = tx.tasks().get(&TaskId(task.to_owned())).await?.context("no task")?;
    let entry = TaskRow {
        id: TaskId(format!("{task}-entry")),
        status: "todo".to_owned(),
        parent_id: Some(raced.id.clone()),
        execution_mode: ExecutionMode::RaceEntry,
        race_place: Some(1),
        race: None,
        ..raced
    };
    tx.tasks_mut().insert(&entry).await?;
    tx.commit().await?;
    store.close().await;
    let folder = sandbox.dir.path().join("data/logs").join(&sandbox.project).join(entry.id.as_str());
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("run.jsonl"), "{}\n")?;
    Ok(folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_race_entry_age_with_the_raced_task() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let retention = json!({ "retention": { "logs_days": 1, "events_days": 0 } });
    sandbox.call("storage_update", retention).await?;
    let id_of = |folder: &PathBuf| folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let closed = closed_tasks(&sandbox, 1).await?;
    let open = open_tasks(&sandbox, 2).await?;
    let old = entry_of(&sandbox, &id_of(&closed[0]).context("no name")?).await?;
    let young = entry_of(&sandbox, &id_of(&open[0]).context("no name")?).await?;
    for day in 1..4 {
        restart_days_later(&mut sandbox, day).await?;
    }
    sandbox.api.engine().sweep().await?;
    assert!(!old.exists() && !closed[0].exists(), "logs of a race that is over stay");
    assert!(young.exists() && open.iter().all(|folder| folder.exists()), "logs of a race went");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_of_task_closed_for_a_day_are_compressed_and_stay_readable() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({ "auto_approve": true })).await?;
    let lines = vec!["print 0123456789012345678901234567890123456789012345678901234567890123456789"; 1500];
    let closed = sandbox.task("Closed", &lines, json!({})).await?;
    let id = closed["id"].as_str().context("no id")?.to_owned();
    sandbox.claim(&closed).await?;
    sandbox.reach(&closed, "done").await?;
    let runs = sandbox.call("task_executions", json!({ "task_id": id })).await?;
    let run = runs["items"][0]["id"].clone();
    let log = async |sandbox: &Sandbox| {
        sandbox.call("execution_logs", json!({ "execution_id": run, "after": 700, "limit": 50 })).await
    };
    let before = log(&sandbox).await?;
    let folder = sandbox.dir.path().join("data/logs").join(&sandbox.project).join(&id);
    let compressed = || {
        let names = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".jsonl.zst")).count()
    };
    sandbox.api.engine().sweep().await?;
    assert_eq!(compressed(), 0, "it was closed just now");
    for day in 1..=2 {
        restart_days_later(&mut sandbox, day).await?;
    }
    sandbox.api.engine().sweep().await?;
    assert_ne!(compressed(), 0);
    assert_eq!(log(&sandbox).await?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_expire_after_thirty_observed_days() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let backup = "refs/forge/backup/gone/1";
    let repo = sandbox.repo.path().to_owned();
    let old = std::process::Command::new("git")
        .current_dir(&repo)
        .envs(forge_testkit::HERMETIC_GIT)
        .args(["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "old"])
        .env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z")
        .output()?;
    let old = String::from_utf8(old.stdout)?;
    sandbox.repo.git(&["update-ref", backup, old.trim()])?;
    let kept = |sandbox: &Sandbox| sandbox.repo.git(&["rev-parse", "--verify", "--quiet", backup]).is_ok();
    for day in 1..=29 {
        restart_days_later(&mut sandbox, day).await?;
    }
    sandbox.api.engine().sweep().await?;
    assert!(kept(&sandbox), "a commit's date counted, not the time since");
    for day in 30..=33 {
        restart_days_later(&mut sandbox, day).await?;
    }
    sandbox.api.engine().sweep().await?;
    assert!(kept(&sandbox), "the only backup went without a question");
    let kind = format!("backups:{}", sandbox.project);
    assert_eq!(questions(&sandbox).await?[0]["kind"], *kind);
    sandbox.call("storage_answer", json!({ "kind": kind, "answer": "delete" })).await?;
    until("the end of the old backup", async || Ok((!kept(&sandbox)).then_some(()))).await
}

/// Six closed tasks with expired logs after a sweep, and the log folders.
async fn swept_with_six_old_logs() -> Result<(Sandbox, Vec<PathBuf>)> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let retention = json!({ "retention": { "logs_days": 1, "events_days": 0 } });
    sandbox.call("storage_update", retention).await?;
    let logs = closed_tasks(&sandbox, 6).await?;
    for day in 1..4 {
        restart_days_later(&mut sandbox, day).await?;
    }
    sandbox.api.engine().sweep().await?;
    Ok((sandbox, logs))
}

#[tokio::test(flavor = "multi_thread")]
async fn unanswered_deletion_approval_still_waits_when_fewer_than_half_are_old() -> Result<()> {
    let (sandbox, logs) = swept_with_six_old_logs().await?;
    open_tasks(&sandbox, 7).await?;
    sandbox.api.engine().sweep().await?;
    let asked = questions(&sandbox).await?;
    assert_eq!((&asked[0]["doomed"], &asked[0]["total"]), (&json!(6), &json!(13)));
    assert_eq!(asked[0]["answer"], Value::Null);
    assert!(logs.iter().all(|folder| folder.exists()), "deleted without an answer");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion_of_more_than_half_waits_for_answer() -> Result<()> {
    let (sandbox, logs) = swept_with_six_old_logs().await?;
    let asked = questions(&sandbox).await?;
    assert_eq!(
        (&asked[0]["kind"], &asked[0]["doomed"], &asked[0]["total"]),
        (&json!("logs"), &json!(6), &json!(6))
    );
    assert!(logs.iter().all(|folder| folder.exists()), "deleted without an answer");

    sandbox.call("storage_answer", json!({ "kind": "logs", "answer": "keep" })).await?;
    sandbox.api.engine().sweep().await?;
    assert!(logs.iter().all(|folder| folder.exists()), "deleted against the answer");
    // They are fewer than half from here on.
    let more = open_tasks(&sandbox, 7).await?;
    sandbox.api.engine().sweep().await?;
    assert!(logs.iter().all(|folder| folder.exists()), "deleted against the answer once they were fewer");
    assert_eq!(questions(&sandbox).await?[0]["answer"], "keep");

    sandbox.call("storage_answer", json!({ "kind": "logs", "answer": "delete" })).await?;
    until("the end of old logs", async || Ok(logs.iter().all(|folder| !folder.exists()).then_some(())))
        .await?;
    until("the end of the question", async || Ok((questions(&sandbox).await? == json!([])).then_some(())))
        .await?;
    assert!(more.iter().all(|folder| folder.exists()), "logs of open tasks went");
    let unasked = sandbox.call("storage_answer", json!({ "kind": "logs", "answer": "delete" })).await;
    assert_eq!(unasked.err().map(|error| error.code), Some("not_found".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_of_closed_task_is_not_removed_early_by_clock_jump() -> Result<()> {
    let clock = Arc::new(AdjustableClock::default());
    let sandbox = Sandbox::with_config(json!({}), |config| {
        config.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        config.cleanup_delay = Duration::from_secs(3 * 24 * 60 * 60);
    })
    .await?;
    let task = sandbox.task("Given up", &[], json!({ "roles": {} })).await?;
    let claim = json!({ "task_id": task["id"], "agent_id": "user", "version": task["version"] });
    sandbox.call("task_claim", claim).await?;
    let is_ready = |task: &Value| task["workspace"]["status"] == "active" && task["entry_barrier"].is_null();
    let task = sandbox.wait(&task, "ready", is_ready).await?;
    let worktree = PathBuf::from(task["workspace"]["path"].as_str().context("no path")?);
    let cancel = json!({
        "task_id": task["id"], "verb": "cancel", "version": task["version"], "reason": "not wanted",
    });
    sandbox.call("task_action", cancel).await?;
    sandbox.wait(&task, "to be removed", |task| task["workspace"]["status"] == "scheduled").await?;
    clock.advance_days(400).await;
    let now = sandbox.get(&task).await?;
    assert_eq!(now["workspace"]["status"], "scheduled", "removed because a clock jumped");
    assert!(worktree.exists());
    for _ in 0..3 {
        clock.advance_days(1).await;
    }
    sandbox.wait(&task, "removed", |task| task["workspace"]["status"] == "cleaned").await?;
    assert!(!worktree.exists());
    Ok(())
}
