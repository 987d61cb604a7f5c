//! Services: commands of the project that run in a task's worktree, so that its work can be tried.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_engine::{Clock, SystemClock};
use forge_model::time::Timestamp;
use forge_testkit::{Sandbox, lasting_folder};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// A service that prints where it is, and never listens.
const PRINTS: &str =
    "echo port $PORT of $FORGE_PORT_BASE in $(basename $PWD), $COLOUR; echo up; exec sleep 600";

/// The system's clock, which can be moved forwards.
#[derive(Default)]
struct MovedClock {
    by: AtomicI64,
    jumped: Notify,
}

impl MovedClock {
    fn forwards(&self, minutes: i64) {
        self.by.fetch_add(minutes * 60_000, Ordering::SeqCst);
        self.jumped.notify_one();
    }
}

struct Shared(Arc<MovedClock>);

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_ms(self.0.by.load(Ordering::SeqCst))
    }

    fn jumped(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.jumped.notified())
    }
}

fn ready_by(pattern: &str) -> Value {
    json!({ "pattern": pattern })
}

/// Settings with these services.
fn with(services: &Value) -> Value {
    json!({ "services": services })
}

/// Such settings with one service that waits behind others, so that no test has the port of another one.
fn at_place(place: usize, service: Value) -> Value {
    let before = (0..place).map(|n| json!({ "name": format!("other{n}"), "command": "true" }));
    with(&before.chain([service]).collect())
}

/// A task whose work waits for a person, in its worktree.
async fn in_review(sandbox: &Sandbox) -> Result<Value> {
    let task = sandbox.task("Serve", &["edit work.txt <<< \"work\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    let waits = |now: &Value| now["review"]["status"] == "awaiting_human";
    sandbox.wait(&task, "awaiting a person", waits).await
}

async fn start(sandbox: &Sandbox, task: &Value, name: &str) -> Result<Value> {
    Ok(sandbox.call("service_start", json!({ "task_id": task["id"], "name": name })).await?)
}

/// The latest start of a service of a task.
async fn last(sandbox: &Sandbox, task: &Value, name: &str) -> Result<Value> {
    let page = sandbox.call("task_services", json!({ "task_id": task["id"] })).await?;
    let all = page["items"].as_array().context("no items")?;
    Ok(all.iter().find(|one| one["name"] == name).context("no such service")?["last"].clone())
}

/// Waits until a service is in a state.
async fn until(sandbox: &Sandbox, task: &Value, name: &str, state: &str) -> Result<Value> {
    for _ in 0..600 {
        let now = last(sandbox, task, name).await?;
        if now["state"] == state {
            return Ok(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bail!("{name} did not become {state}: {:#}", last(sandbox, task, name).await?)
}

/// What a service printed, once its log has as much as is expected.
async fn log(sandbox: &Sandbox, task: &Value, service: &Value, expected: &str) -> Result<String> {
    let read = json!({ "task_id": task["id"], "log_id": service["log_id"], "limit": 200 });
    let mut printed = String::new();
    for _ in 0..200 {
        let page = sandbox.call("task_log", read.clone()).await?;
        let entries = page["entries"].as_array().context("no entries")?;
        let lines = entries.iter().filter(|entry| entry["kind"] == "stdout");
        printed = lines.filter_map(|entry| entry["body"]["text"].as_str()).collect();
        if printed.len() >= expected.len() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(printed)
}

/// What runs of services; Forge asks the login shell beside them.
fn services_of(sandbox: &Sandbox) -> Result<Vec<String>> {
    Ok(sandbox.processes()?.into_iter().filter(|process| process.contains("sleep 600")).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn service_runs_in_the_worktree_until_it_is_stopped_and_is_started_once() -> Result<()> {
    let service =
        json!({ "name": "web", "command": PRINTS, "env": { "COLOUR": "blue" }, "ready": ready_by("^up$") });
    let sandbox = Sandbox::new(with(&json!([service]))).await?;
    let task = in_review(&sandbox).await?;
    assert_eq!(last(&sandbox, &task, "web").await?, Value::Null);
    let started = start(&sandbox, &task, "web").await?;
    assert_eq!(started["state"], "starting");
    let ready = until(&sandbox, &task, "web", "ready").await?;
    let base = task["workspace"]["port_base"].as_u64().context("no ports")?;
    assert_eq!(ready["url"], format!("http://localhost:{base}/"));
    let printed = format!("port {base} of {base} in tree, blue\nup\n");
    assert_eq!(log(&sandbox, &task, &ready, &printed).await?, printed);
    assert_eq!(start(&sandbox, &task, "web").await?["id"], started["id"], "it runs already");
    let listed = sandbox.call("service_list", json!({})).await?;
    assert_eq!(listed["items"][0]["id"], started["id"]);
    let stop = json!({ "task_id": task["id"], "name": "web" });
    let stopped = sandbox.call("service_stop", stop.clone()).await?;
    assert_eq!(stopped["items"][0]["last"]["reason"], "Stopped by a person");
    assert_eq!(services_of(&sandbox)?, Vec::<String>::new());
    let refused = sandbox.call("service_stop", stop).await.unwrap_err();
    assert_eq!((refused.status, refused.code.as_str()), (409, "nothing_running"));
    assert_ne!(start(&sandbox, &task, "web").await?["id"], started["id"], "another start");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn service_that_cannot_start_or_is_not_ready_in_time_says_why() -> Result<()> {
    let services = json!([
        { "name": "ends", "command": "echo no such module >&2; exit 3", "ready": ready_by("up") },
        { "name": "waits", "command": "exec sleep 600", "ready": ready_by("up"), "ready_within_seconds": 1 },
        { "name": "deaf", "command": "exec sleep 600", "ready": { "http": "/" }, "ready_within_seconds": 1 },
        { "name": "nowhere", "command": "true", "cwd": "missing" },
        { "name": "done", "command": "true" },
    ]);
    let sandbox = Sandbox::new(with(&services)).await?;
    let task = in_review(&sandbox).await?;
    for name in ["ends", "waits", "nowhere", "done"] {
        start(&sandbox, &task, name).await?;
    }
    let why = async |name: &str, state: &str| -> Result<String> {
        let ended = until(&sandbox, &task, name, state).await?;
        Ok(ended["reason"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(why("ends", "failed").await?, "Ended with exit code 3: no such module");
    let waited = why("waits", "failed").await?;
    assert_eq!(waited, "Not ready within 1 second: no line of its output matched `up`");
    assert!(why("nowhere", "failed").await?.contains("`missing` is not a folder in the task's worktree"));
    assert_eq!(why("done", "stopped").await?, "Ended by itself (exit code 0)");
    start(&sandbox, &task, "deaf").await?;
    let deaf = why("deaf", "failed").await?;
    assert!(deaf.starts_with("Not ready within 1 second: `/` did not respond on port"), "{deaf}");
    let gone = async {
        while !services_of(&sandbox)?.is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.context("a process goes on")??;
    for (name, says) in [("nosuch", "no such service: ends, waits"), ("", "no such service")] {
        let refused = sandbox.call("service_start", json!({ "task_id": task["id"], "name": name })).await;
        assert!(refused.unwrap_err().message.contains(says), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tasks_serve_side_by_side_by_http() -> Result<()> {
    let serve = "exec python3 -m http.server $PORT --bind 127.0.0.1";
    let service =
        json!({ "name": "web", "command": serve, "ready": { "http": "/work.txt" }, "open": "/work.txt" });
    let sandbox = Sandbox::new(at_place(9, service)).await?;
    let (first, second) = (in_review(&sandbox).await?, in_review(&sandbox).await?);
    for task in [&first, &second] {
        start(&sandbox, task, "web").await?;
    }
    let (one, other) =
        (until(&sandbox, &first, "web", "ready").await?, until(&sandbox, &second, "web", "ready").await?);
    assert_ne!(one["port"], other["port"]);
    assert!(other["url"].as_str().context("no url")?.ends_with("/work.txt"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn port_in_use_is_said_with_the_program_that_has_it() -> Result<()> {
    let service = json!({ "name": "web", "command": "exec sleep 600", "ready": { "port": true } });
    let sandbox = Sandbox::new(at_place(8, service)).await?;
    let task = in_review(&sandbox).await?;
    let base = task["workspace"]["port_base"].as_u64().context("no ports")?;
    let listener = TcpListener::bind(("127.0.0.1", u16::try_from(base + 8)?))?;
    start(&sandbox, &task, "web").await?;
    let failed = until(&sandbox, &task, "web", "failed").await?;
    let reason = failed["reason"].as_str().context("no reason")?;
    let own = format!("(process {})", std::process::id());
    assert!(
        reason.starts_with(&format!("Port {} is in use by", base + 8)) && reason.contains(&own),
        "{reason}"
    );
    drop(listener);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oldest_idle_service_makes_room_and_an_unused_one_stops_by_itself() -> Result<()> {
    let clock = Arc::new(MovedClock::default());
    let service =
        json!({ "name": "web", "command": PRINTS, "ready": ready_by("^up$"), "stop_after_minutes": 30 });
    let shared = Arc::new(Shared(Arc::clone(&clock)));
    let sandbox = Sandbox::with_config(with(&json!([service])), |config| config.clock = shared).await?;
    sandbox.call("settings_update", json!({ "services_max": 1 })).await?;
    let (first, second) = (in_review(&sandbox).await?, in_review(&sandbox).await?);
    start(&sandbox, &first, "web").await?;
    until(&sandbox, &first, "web", "ready").await?;
    let refused = sandbox.call("service_start", json!({ "task_id": second["id"] })).await.unwrap_err();
    assert_eq!((refused.status, refused.code.as_str()), (409, "services_full"));
    assert!(refused.message.contains("web of #1"), "{}", refused.message);
    clock.forwards(2);
    start(&sandbox, &second, "web").await?;
    let evicted = last(&sandbox, &first, "web").await?;
    assert_eq!(
        (&evicted["state"], &evicted["reason"]),
        (&json!("stopped"), &json!("Stopped to make room for web of #2"))
    );
    until(&sandbox, &second, "web", "ready").await?;
    clock.forwards(31);
    let idle = until(&sandbox, &second, "web", "stopped").await?;
    assert_eq!(idle["reason"], "Stopped after 30 minutes without use");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn service_starts_with_each_review_that_waits_for_a_person() -> Result<()> {
    let services = json!([
        { "name": "web", "command": PRINTS, "ready": ready_by("^up$"), "start": "on_review" },
        { "name": "manual", "command": PRINTS },
    ]);
    let sandbox = Sandbox::new(with(&services)).await?;
    let task = in_review(&sandbox).await?;
    let first = until(&sandbox, &task, "web", "ready").await?;
    assert_eq!(first["started_by"], "system:review");
    assert_eq!(last(&sandbox, &task, "manual").await?, Value::Null);
    let reject = json!({ "task_id": task["id"], "reason": "again", "version": task["version"] });
    sandbox.call("review_reject", reject).await?;
    let again =
        |now: &Value| now["review"]["status"] == "awaiting_human" && now["review"]["attempt_number"] == 2;
    sandbox.wait(&task, "a second review", again).await?;
    let second = until(&sandbox, &task, "web", "ready").await?;
    assert_ne!(first["id"], second["id"]);
    assert_eq!(services_of(&sandbox)?.len(), 1, "the first one is gone");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn service_ends_before_its_worktree_is_removed() -> Result<()> {
    let service = json!({ "name": "web", "command": PRINTS, "ready": ready_by("^up$") });
    let sandbox = Sandbox::new(with(&json!([service]))).await?;
    let task = in_review(&sandbox).await?;
    start(&sandbox, &task, "web").await?;
    until(&sandbox, &task, "web", "ready").await?;
    let cancel = json!({ "task_id": task["id"], "verb": "cancel", "version": task["version"] });
    sandbox.call("task_action", cancel).await?;
    sandbox.call("workspace_remove", json!({ "task_id": task["id"] })).await?;
    let ended = last(&sandbox, &task, "web").await?;
    assert_eq!(ended["reason"], "Stopped since its worktree was removed");
    assert_eq!(services_of(&sandbox)?, Vec::<String>::new());
    let refused = sandbox.call("service_start", json!({ "task_id": task["id"] })).await.unwrap_err();
    assert_eq!(refused.code, "workspace_missing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn service_ends_when_its_worktree_was_removed_by_hand() -> Result<()> {
    let service = json!({ "name": "web", "command": PRINTS, "ready": ready_by("^up$") });
    let sandbox = Sandbox::new(with(&json!([service]))).await?;
    let task = in_review(&sandbox).await?;
    start(&sandbox, &task, "web").await?;
    until(&sandbox, &task, "web", "ready").await?;
    std::fs::remove_dir_all(task["workspace"]["path"].as_str().context("no worktree")?)?;
    let reject = json!({ "task_id": task["id"], "reason": "again", "version": task["version"] });
    sandbox.call("review_reject", reject).await?;
    let again =
        |now: &Value| now["review"]["status"] == "awaiting_human" && now["review"]["attempt_number"] == 2;
    sandbox.wait(&task, "a second review", again).await?;
    let ended = last(&sandbox, &task, "web").await?;
    assert_eq!(ended["reason"], "Stopped since its worktree was removed");
    assert_eq!(services_of(&sandbox)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn confined_service_changes_its_worktree_and_not_the_repository() -> Result<()> {
    if !forge_exec::sandbox_support().files {
        eprintln!("skipped: this kernel has no Landlock");
        return Ok(());
    }
    let command = "echo x > made && echo made; (echo x > \"$FORGE_REPO_PATH/stray\") 2>/dev/null || echo refused; \
                   git log -1 --format=%s >/dev/null && echo reads; echo up; exec sleep 600";
    let service = json!({ "name": "web", "command": command, "ready": ready_by("^up$") });
    let sandbox = Sandbox::in_folder(lasting_folder()?, with(&json!([service])), |_| {}).await?;
    let task = in_review(&sandbox).await?;
    start(&sandbox, &task, "web").await?;
    let ready = until(&sandbox, &task, "web", "ready").await?;
    let printed = "made\nrefused\nreads\nup\n";
    assert_eq!(log(&sandbox, &task, &ready, printed).await?, printed);
    // An agent's work is taken into the repository although the service goes on.
    let reject = json!({ "task_id": task["id"], "reason": "again", "version": task["version"] });
    sandbox.call("review_reject", reject).await?;
    let again =
        |now: &Value| now["review"]["status"] == "awaiting_human" && now["review"]["attempt_number"] == 2;
    sandbox.wait(&task, "a second review", again).await?;
    assert_eq!(last(&sandbox, &task, "web").await?["id"], ready["id"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn services_end_with_forge_and_are_told_so_at_the_next_start() -> Result<()> {
    let service = json!({ "name": "web", "command": PRINTS, "ready": ready_by("^up$") });
    let mut sandbox = Sandbox::new(with(&json!([service]))).await?;
    let task = in_review(&sandbox).await?;
    start(&sandbox, &task, "web").await?;
    until(&sandbox, &task, "web", "ready").await?;
    sandbox.restart().await?;
    let ended = last(&sandbox, &task, "web").await?;
    assert_eq!((&ended["state"], &ended["reason"]), (&json!("stopped"), &json!("Stopped with Forge")));
    assert_eq!(services_of(&sandbox)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn services_that_files_imply_are_offered_until_the_project_has_them() -> Result<()> {
    let named = json!([{ "name": "own", "command": "make dev" }]);
    let sandbox = Sandbox::new(with(&named)).await?;
    sandbox.repo.write("Makefile", "dev:\n\techo\n")?;
    sandbox.repo.write("package.json", r#"{"scripts":{"dev":"vite","start":"node ."}}"#)?;
    sandbox.repo.write(".superset/config.json", r#"{"run":["bun api"]}"#)?;
    let of = json!({ "project_id": sandbox.project });
    let offered = async || -> Result<Vec<Value>> {
        let page = sandbox.call("project_service_offers", of.clone()).await?;
        Ok(page["items"]
            .as_array()
            .context("no items")?
            .iter()
            .map(|it| it["service"]["name"].clone())
            .collect())
    };
    assert_eq!(offered().await?, [] as [Value; 0], "uncommitted files suggest nothing");
    sandbox.repo.commit("how it is run")?;
    assert_eq!(offered().await?, ["run", "dev", "start"]);
    let take = |names: Value| json!({ "project_id": sandbox.project, "names": names });
    let refused = sandbox.call("project_services_take", take(json!(["dev", "none"]))).await.unwrap_err();
    ensure!(refused.to_string().contains("`none` is not a suggested service"), "{refused}");
    sandbox.call("project_services_take", take(json!(["start", "dev"]))).await?;
    assert_eq!(offered().await?, ["run"]);
    let settings = sandbox.call("project_settings_get", of.clone()).await?;
    let names = settings["settings"]["services"].as_array().context("no services")?;
    let names: Vec<&Value> = names.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["own", "dev", "start"]);
    Ok(())
}
