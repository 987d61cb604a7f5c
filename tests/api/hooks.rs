//! Lifecycle hooks through HTTP: a running engine, real git, scripts that leave evidence.

mod ends;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};

use crate::forge::{PATIENCE, Sandbox, Server, good, refused, script, text, until_exists};

/// Ends every test that waits for a file that never comes.
const EVIDENCE: &str = "evidence";

/// A server, a project with hooks, an agent.
struct Stage {
    sandbox: Sandbox,
    server: Server,
    project: String,
    agent: String,
}

impl Stage {
    async fn new(hooks: Value) -> Result<Self> {
        Self::with(hooks, json!({})).await
    }

    async fn with(hooks: Value, mut settings: Value) -> Result<Self> {
        let sandbox = Sandbox::new()?;
        let server = sandbox.serve()?;
        settings["lifecycle_hooks"] = hooks;
        settings["shell"] = json!(["sh", "-c"]);
        let (project, agent) = server.project(&sandbox, settings).await?;
        Ok(Self { sandbox, server, project, agent })
    }

    /// Where the hooks of a test leave what they saw.
    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.dir.path().join(name)
    }

    fn evidence(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(EVIDENCE)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn task(&self, lines: &[&str]) -> Result<Value> {
        self.server
            .task(&self.project, json!({ "description": script(lines), "roles": { "coder": self.agent } }))
            .await
    }

    async fn claim(&self, task: &Value) -> Result<Value> {
        let body = json!({ "agent_id": self.agent, "version": task["version"] });
        self.server.post(&format!("/tasks/{}/claim", text(task, "id")), body).await
    }

    async fn act(&self, task: &Value, verb: &str, mut body: Value) -> Result<Value> {
        let id = text(task, "id");
        body["version"] = self.server.get(&format!("/tasks/{id}")).await?["version"].clone();
        self.server.post(&format!("/tasks/{id}/actions/{verb}"), body).await
    }

    async fn go(&self, task: &Value, to: &str) -> Result<Value> {
        let id = text(task, "id");
        let version = self.server.get(&format!("/tasks/{id}")).await?["version"].clone();
        self.server.post(&format!("/tasks/{id}/transition"), json!({ "to": to, "version": version })).await
    }

    /// The steps of a task that are hooks: name, outcome, reason.
    async fn hooks(&self, task: &Value) -> Result<Vec<Value>> {
        let moves = self.server.get(&format!("/tasks/{}/transitions", text(task, "id"))).await?;
        let all = moves["items"].as_array().context("no moves")?.iter();
        let steps = all.flat_map(|one| one["steps"].as_array().cloned().unwrap_or_default());
        Ok(steps.filter(|step| step["action"].as_str().is_some_and(|name| name.ends_with(']'))).collect())
    }

    async fn outcomes(&self, task: &Value) -> Result<Vec<String>> {
        let hooks = self.hooks(task).await?;
        let shown = |hook: &Value| format!("{} {}", text(hook, "action"), text(hook, "outcome"));
        Ok(hooks.iter().map(shown).collect())
    }

    /// Until every hook that was asked for has ended.
    async fn until_outcomes(&self, task: &Value, wanted: &[&str]) -> Result<()> {
        let deadline = std::time::Instant::now() + PATIENCE;
        loop {
            let now = self.outcomes(task).await?;
            if now == wanted {
                return Ok(());
            }
            ensure!(std::time::Instant::now() < deadline, "{now:?}, not {wanted:?}");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    async fn events(&self, kind: &str) -> Result<Vec<Value>> {
        let mut response =
            self.server.request(Method::GET, "/events").header("Last-Event-ID", "0").send().await?;
        let mut all = String::new();
        while let Ok(Ok(Some(chunk))) =
            tokio::time::timeout(std::time::Duration::from_millis(500), response.chunk()).await
        {
            all.push_str(&String::from_utf8_lossy(&chunk));
        }
        let data = all.lines().filter_map(|line| line.strip_prefix("data:"));
        let events = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
        Ok(events.filter(|event| event["type"] == kind).collect())
    }
}

/// A script that adds a line to the evidence.
fn note(dir: &Path, line: &str) -> Value {
    json!({ "type": "script", "command": format!("echo \"{line}\" >> '{}'", dir.join(EVIDENCE).display()) })
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_five_events_come_in_order_with_what_they_are_about() -> Result<()> {
    let stage = Stage::with(json!({}), json!({ "auto_approve": true })).await?;
    let dir = stage.sandbox.dir.path();
    let seen = "$FORGE_EVENT $FORGE_TASK_PREVIOUS_STATUS:$FORGE_TASK_STATUS \
                [$(test -f work.txt && echo work)] $(test . -ef \"$FORGE_WORKTREE_PATH\" && echo tree) \
                agent=${FORGE_AGENT_ID:+yes} run=${FORGE_EXECUTION_ID:+yes}";
    let all =
        json!({ "type": "script", "command": format!("echo {seen} >> '{}'", dir.join(EVIDENCE).display()) });
    let fails = json!({ "type": "script", "command": "echo not well >&2; exit 7" });
    let blocking = json!({ "type": "script", "command": all["command"], "blocking": true });
    let hooks = json!({
        "before_work": [fails, blocking, all], "on_work_start": [fails, all], "on_work_stop": [fails, all],
        "on_task_done": [fails, all], "on_task_cancel": [fails, all],
    });
    stage
        .server
        .request(Method::PATCH, &format!("/projects/{}/settings", stage.project))
        .json(&json!({ "lifecycle_hooks": hooks }))
        .send()
        .await?
        .error_for_status()?;
    let task = stage.task(&["edit work.txt <<< \"done\\n\""]).await?;
    stage.claim(&task).await?;
    let done = stage.server.until(&task, |task| task["workspace"]["status"] == "cleaned").await?;
    assert_eq!(done["status"], "done");
    let seen = stage.evidence();
    assert_eq!(seen[0], "before_work todo:in_progress [] tree agent=yes run=", "behind the barrier");
    let beside: Vec<&str> = seen[1..3].iter().map(|line| line.split(" [").next().unwrap_or("")).collect();
    assert_eq!(beside, ["before_work todo:in_progress", "on_work_start todo:in_progress"]);
    assert!(seen[2].ends_with("tree agent=yes run=yes"), "{seen:?}");
    assert_eq!(
        seen[3..],
        [
            "on_work_stop in_progress:review [work] tree agent=yes run=yes",
            "on_task_done merging:done [work] tree agent=yes run=yes",
        ]
    );
    stage
        .until_outcomes(
            &task,
            &[
                "before_work[1] ok",
                "before_work[0] failed",
                "before_work[2] ok",
                "on_work_start[0] failed",
                "on_work_start[1] ok",
                "on_work_stop[0] failed",
                "on_work_stop[1] ok",
                "on_task_done[0] failed",
                "on_task_done[1] ok",
            ],
        )
        .await?;
    assert_eq!(stage.hooks(&task).await?[1]["reason"], "exited with 7");
    // Given up before anything was begun: in the repository itself.
    let other = stage.task(&[]).await?;
    stage.act(&other, "cancel", json!({})).await?;
    stage.until_outcomes(&other, &["on_task_cancel[0] failed", "on_task_cancel[1] ok"]).await?;
    assert_eq!(stage.evidence()[5], "on_task_cancel todo:cancelled [work] agent=yes run=");
    let told = stage.events("hook.run").await?;
    assert_eq!(told.len(), 11);
    assert_eq!(told[0]["data"]["event"], "before_work");
    assert_eq!((&told[0]["data"]["index"], &told[0]["data"]["status"]), (&json!(1), &json!("ok")));
    assert_eq!(told[1]["data"]["status"], "failed");
    assert!(stage.events("transition.effect_failed").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_gets_the_user_s_environment_and_forge_s() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let evidence = sandbox.dir.path().join(EVIDENCE);
    let hook = json!({ "type": "script", "command": format!("cat; env > '{}'", evidence.display()), "blocking": true });
    let server = sandbox.serve()?;
    let settings = json!({ "lifecycle_hooks": { "before_work": [hook] }, "shell": ["sh", "-c"] });
    let (project, agent) = server.project(&sandbox, settings).await?;
    let new = json!({ "title": "Say \"hi\" $(now)", "description": script(&["hang"]), "roles": { "coder": agent } });
    let task = server.task(&project, new).await?;
    let id = text(&task, "id");
    server
        .post(&format!("/tasks/{id}/claim"), json!({ "agent_id": agent, "version": task["version"] }))
        .await?;
    let now = server.until(&task, |task| task["live"].is_object()).await?;
    let env = std::fs::read_to_string(&evidence)?;
    let value =
        |name: &str| env.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    let repo = server.get(&format!("/projects/{project}")).await?;
    for (name, wanted) in [
        ("FORGE_EVENT", "before_work"),
        ("FORGE_TASK_ID", &id),
        ("FORGE_TASK_TITLE", "Say \"hi\" $(now)"),
        ("FORGE_TASK_STATUS", "in_progress"),
        ("FORGE_TASK_PREVIOUS_STATUS", "todo"),
        ("FORGE_PROJECT_ID", &project),
        ("FORGE_PROJECT_NAME", &text(&repo, "name")),
        ("FORGE_REPO_PATH", &text(&repo, "repo_path")),
        ("FORGE_WORKTREE_PATH", &text(&now["workspace"], "path")),
        ("FORGE_AGENT_ID", &agent),
        ("FORGE_EXECUTION_ID", ""),
        ("HOME", &sandbox.dir.path().join("home").to_string_lossy()),
    ] {
        assert_eq!(value(name).as_deref(), Some(wanted), "{name}");
    }
    assert_eq!(value("GIT_DIR"), None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_failure_keeps_the_agent_away_until_the_hook_passes() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let (first, ok) = (note(stage.sandbox.dir.path(), "first"), stage.file("ok"));
    let command = format!("echo looked; echo trouble >&2; test -e '{}' || exit 3", ok.display());
    let last = note(stage.sandbox.dir.path(), "last");
    let blocking = |mut hook: Value| {
        hook["blocking"] = json!(true);
        hook
    };
    let hooks = [blocking(first), blocking(json!({ "type": "script", "command": command })), blocking(last)];
    set_hooks(&stage, json!({ "before_work": hooks })).await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    let held = stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["status"], "in_progress");
    assert_eq!(held["entry_barrier"]["state"], "in_progress");
    let annotation = &held["error_annotation"];
    assert_eq!(annotation["type"], "before_work_hook_failed");
    assert_eq!(annotation["hook"], json!({ "event": "before_work", "index": 1, "command": command }));
    assert_eq!(
        (&annotation["evidence"]["exit_code"], &annotation["evidence"]["command"]),
        (&json!(3), &json!(command))
    );
    assert_eq!(annotation["evidence"]["output"], "looked\ntrouble");
    assert_eq!(
        verbs(&held),
        ["retry_hook", "skip_hook_once", "restart", "restart_with_changes", "hold", "cancel"]
    );
    assert_eq!(stage.evidence(), ["first"]);
    let id = text(&task, "id");
    assert_eq!(stage.server.get(&format!("/tasks/{id}/executions")).await?["items"], json!([]));
    let told = stage.server.get("/notifications").await?;
    assert_eq!(
        (told["items"].as_array().map(Vec::len), &told["items"][0]["kind"]),
        (Some(1), &json!("blocked"))
    );
    assert_eq!(stage.events("task.blocked").await?.len(), 1);
    // The place of the agent is free: another task of the same agent takes it.
    let other = stage.task(&["hang"]).await?;
    stage.claim(&other).await?;
    stage.server.until(&other, |task| task["error_annotation"].is_object()).await?;
    // What is not offered is refused, with what is.
    let version = stage.server.get(&format!("/tasks/{id}")).await?["version"].clone();
    let retry = stage.server.request(Method::POST, &format!("/tasks/{id}/actions/retry"));
    let (status, body) = refused(retry.json(&json!({ "version": version }))).await?;
    assert_eq!((status, body["code"].as_str()), (409, Some("not_offered")));
    // Again in vain, then again and it passes.
    stage.act(&task, "retry_hook", json!({})).await?;
    let again = stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_ne!(again["error_annotation"]["evidence"]["log_id"], annotation["evidence"]["log_id"]);
    std::fs::write(&ok, "")?;
    stage.act(&task, "retry_hook", json!({})).await?;
    let at_work = stage.server.until(&task, |task| task["live"].is_object()).await?;
    assert!(at_work["error_annotation"].is_null() && at_work["entry_barrier"].is_null());
    assert_eq!(stage.evidence(), ["first", "first", "last"], "what passed is not run again");
    assert_eq!(
        stage.outcomes(&task).await?,
        [
            "before_work[0] ok",
            "before_work[1] failed",
            "before_work[2] skipped",
            "before_work[1] failed",
            "before_work[2] skipped",
            "before_work[1] ok",
            "before_work[2] ok",
        ]
    );
    Ok(())
}

async fn set_hooks(stage: &Stage, hooks: Value) -> Result<()> {
    let path = format!("/projects/{}/settings", stage.project);
    let patch = stage.server.request(Method::PATCH, &path).json(&json!({ "lifecycle_hooks": hooks }));
    good(patch.send().await?).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_skipped_once_with_the_reason_and_runs_the_next_time() -> Result<()> {
    let never = json!({ "type": "script", "command": "exit 1", "blocking": true });
    let stage = Stage::new(json!({ "before_work": [never] })).await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    let id = text(&task, "id");
    let version = stage.server.get(&format!("/tasks/{id}")).await?["version"].clone();
    let bare = stage.server.request(Method::POST, &format!("/tasks/{id}/actions/skip_hook_once"));
    let (status, body) = refused(bare.json(&json!({ "version": version }))).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("reason")));
    stage.act(&task, "skip_hook_once", json!({ "reason": "the mirror is down" })).await?;
    stage.server.until(&task, |task| task["live"].is_object()).await?;
    let hooks = stage.hooks(&task).await?;
    assert_eq!(
        (&hooks[1]["outcome"], &hooks[1]["reason"]),
        (&json!("skipped"), &json!("skipped once by user:api: the mirror is down"))
    );
    // The next dispatch asks the hook again.
    stage.go(&task, "todo").await?;
    let back = stage.server.get(&format!("/tasks/{id}")).await?;
    stage.claim(&back).await?;
    let held = stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["error_annotation"]["type"], "before_work_hook_failed");
    assert!(held["live"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mended_command_is_what_is_run_again() -> Result<()> {
    let stage =
        Stage::new(json!({ "before_work": [{ "type": "script", "command": "exit 1", "blocking": true }] }))
            .await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    set_hooks(
        &stage,
        json!({ "before_work": [{ "type": "script", "command": "exit 0", "blocking": true }] }),
    )
    .await?;
    stage.act(&task, "retry_hook", json!({})).await?;
    stage.server.until(&task, |task| task["live"].is_object()).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_ends_the_whole_group() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let (pid, late) = (stage.file("pid"), stage.file("late"));
    let command = format!(
        "echo begun; sh -c 'echo $$ > {}; sleep 600; touch {}' & wait",
        pid.display(),
        late.display()
    );
    let hook = json!({ "type": "script", "command": command, "blocking": true, "timeout_seconds": 1 });
    set_hooks(&stage, json!({ "before_work": [hook] })).await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    let held = stage.server.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["error_annotation"]["type"], "before_work_hook_timeout");
    assert_eq!(held["error_annotation"]["evidence"]["exit_code"], Value::Null);
    assert_eq!(verbs(&held)[..2], ["retry_hook", "skip_hook_once"]);
    let child = std::fs::read_to_string(&pid)?.trim().to_owned();
    assert!(!Path::new(&format!("/proc/{child}")).exists(), "the child lives on");
    assert!(!late.exists());
    let log = text(&held["error_annotation"]["evidence"], "log_id");
    let record = record(&stage, &task, &log).await?;
    assert_eq!((&record["status"], &record["stdout"]), (&json!("timed_out"), &json!("begun\n")));
    Ok(())
}

/// The last entry of a hook's log.
async fn record(stage: &Stage, task: &Value, log: &str) -> Result<Value> {
    let page = stage.server.get(&format!("/tasks/{}/logs/{log}", text(task, "id"))).await?;
    let last = page["entries"].as_array().and_then(|all| all.last()).context("an empty log")?;
    ensure!(last["kind"] == "hook_run", "{last}");
    Ok(last["body"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn named_exit_codes_count_as_success() -> Result<()> {
    let hook =
        json!({ "type": "script", "command": "exit 3", "blocking": true, "success_exit_codes": [2, 3] });
    let zero = json!({ "type": "script", "command": "exit 0", "success_exit_codes": [2, 3] });
    let stage = Stage::new(json!({ "before_work": [hook, zero] })).await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    stage.server.until(&task, |task| task["live"].is_object()).await?;
    stage.until_outcomes(&task, &["before_work[0] ok", "before_work[1] failed"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_configured_is_refused_with_its_field() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let path = format!("/projects/{}/settings", stage.project);
    for event in ["on_work_start", "on_work_stop", "on_task_done", "on_task_cancel"] {
        let hook = json!({ "type": "script", "command": "true", "blocking": true });
        let patch = json!({ "lifecycle_hooks": { event: [hook] } });
        let (status, body) = refused(stage.server.request(Method::PATCH, &path).json(&patch)).await?;
        let field = format!("lifecycle_hooks.{event}[0].blocking");
        assert_eq!(
            (status, body["details"]["findings"][0]["path"].as_str()),
            (400, Some(field.as_str())),
            "{body}"
        );
    }
    for hook in [
        json!({ "type": "plugin", "name": "no-such-plugin" }),
        json!({ "type": "plugin", "name": "knowledge-inject", "blocking": true }),
        json!({ "type": "script", "command": "true", "colour": "red" }),
    ] {
        let patch = json!({ "lifecycle_hooks": { "before_work": [hook] } });
        let (status, body) = refused(stage.server.request(Method::PATCH, &path).json(&patch)).await?;
        assert_eq!(status, 400, "{body}");
        let at = body["details"]["findings"][0]["path"].as_str().unwrap_or_default();
        assert!(at.starts_with("lifecycle_hooks.before_work[0]"), "{body}");
    }
    assert_eq!(stage.server.get(&path).await?["settings"]["lifecycle_hooks"]["on_task_done"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_act_where_they_may_and_say_why_not_elsewhere() -> Result<()> {
    let plugin = |name: &str| json!({ "type": "plugin", "name": name });
    let off = json!({ "type": "plugin", "name": "check_retry_budget", "enabled": false });
    let stage = Stage::new(json!({
        "before_work": [plugin("run_merge"), plugin("knowledge-inject")],
        "on_work_start": [plugin("check_retry_budget"), off, plugin("cleanup_workspace_now")],
        "on_work_stop": [plugin("publish_task_blocked")],
        "on_task_cancel": [plugin("satisfy_dependents"), plugin("cleanup_workspace_now")],
    }))
    .await?;
    let task = stage.task(&["hang"]).await?;
    stage.claim(&task).await?;
    stage.server.until(&task, |task| task["live"].is_object()).await?;
    stage.go(&task, "todo").await?;
    stage.act(&task, "cancel", json!({})).await?;
    let cleaned = |task: &Value| task["workspace"]["status"] == "cleaned";
    stage.server.until(&task, cleaned).await?;
    let hooks = stage.hooks(&task).await?;
    let shown: Vec<(String, String, String)> = hooks
        .iter()
        .map(|hook| (text(hook, "action"), text(hook, "outcome"), text(hook, "reason")))
        .collect();
    let wanted = [
        ("before_work[1]", "skipped", "no lesson in docs/knowledge on main"),
        ("before_work[0]", "skipped", "unsupported_event"),
        ("on_work_start[0]", "ok", "0 of 2 used"),
        ("on_work_start[1]", "skipped", "it is off"),
        ("on_work_start[2]", "skipped", "unsupported_event"),
        ("on_work_stop[0]", "skipped", "the task is not blocked"),
        ("on_task_cancel[0]", "skipped", "nothing depends on it"),
        ("on_task_cancel[1]", "ok", ""),
    ];
    assert_eq!(shown.len(), wanted.len(), "{shown:#?}");
    for ((name, outcome, reason), (want, how, why)) in shown.iter().zip(wanted) {
        assert_eq!((name.as_str(), outcome.as_str()), (want, how), "{reason}");
        assert!(reason.starts_with(why), "{name}: {reason}");
    }
    // Also what is skipped leaves a record; it is no event.
    let record = record(&stage, &task, &text(&hooks[1], "log_id")).await?;
    assert_eq!(
        (&record["status"], &record["type"], &record["command"]),
        (&json!("skipped"), &json!("plugin"), &json!("run_merge"))
    );
    assert_eq!(stage.events("hook.run").await?.len(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_leaves_a_log_that_can_be_followed_and_read() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let go = stage.file("go");
    let command = format!(
        "echo early; {}; i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done; echo late; echo odd >&2",
        until_exists(&go)
    );
    set_hooks(&stage, json!({ "before_work": [{ "type": "script", "command": command, "blocking": true }] }))
        .await?;
    let task = stage.task(&["hang"]).await?;
    let id = text(&task, "id");
    let body = json!({ "agent_id": stage.agent, "version": task["version"] });
    stage.server.post(&format!("/tasks/{id}/claim"), body).await?;
    // While it runs the timeline names its log, and the log grows.
    let log = loop {
        let hooks = stage.hooks(&task).await?;
        if let Some(log) = hooks.first().and_then(|hook| hook["log_id"].as_str()) {
            let page = stage.server.get(&format!("/executions/{log}/logs")).await?;
            if page["entries"][0]["body"]["text"] == "early\n" {
                assert_eq!(hooks[0]["status"], "running");
                break log.to_owned();
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    std::fs::write(&go, "")?;
    stage.server.until(&task, |task| task["live"].is_object()).await?;
    assert!(log.starts_with("hook-before_work-0-"), "{log}");
    let record = record(&stage, &task, &log).await?;
    assert_eq!(
        (&record["event"], &record["index"], &record["type"]),
        (&json!("before_work"), &json!(0), &json!("script"))
    );
    assert_eq!(
        (&record["status"], &record["exit_code"], &record["stderr"]),
        (&json!("ok"), &json!(0), &json!("odd\n"))
    );
    assert!(record["duration_ms"].as_u64().is_some(), "{record}");
    let stdout = text(&record, "stdout");
    assert!(stdout.starts_with("early\n") && stdout.ends_with("late\n"), "{stdout}");
    assert!(stdout.contains("bytes left out") && stdout.len() < 11 * 1024, "{} bytes", stdout.len());
    let project = &stage.project;
    let file = stage.sandbox.data_dir().join(format!("logs/{project}/{id}/{log}.jsonl"));
    let lines = std::fs::read_to_string(&file)?;
    let last: Value = serde_json::from_str(lines.lines().last().context("no line")?)?;
    assert_eq!(last["body"], record);
    let page = stage.server.get(&format!("/executions/{log}/logs?limit=200")).await?;
    assert_eq!(
        page["entries"].as_array().and_then(|all| all.last()).map(|last| last["body"].clone()),
        Some(record)
    );
    let (status, _) =
        refused(stage.server.request(Method::GET, "/executions/hook-before_work-0-1/logs")).await?;
    assert_eq!(status, 404);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_is_tested_without_a_move_and_without_an_agent() -> Result<()> {
    let stage = Stage::new(json!({ "on_work_stop": [
        { "type": "plugin", "name": "publish_task_blocked" },
        { "type": "script", "command": "pwd; echo $FORGE_EVENT:$FORGE_TASK_TITLE; exit 4" },
    ] }))
    .await?;
    let task = stage.task(&["hang"]).await?;
    let path = format!("/projects/{}/hooks/test", stage.project);
    let ask = json!({ "task_id": task["id"], "event": "on_work_stop", "hook_index": 1, "log_id": "hook-test-mine" });
    let shown = stage.server.post(&path, ask).await?;
    assert_eq!(
        (&shown["status"], &shown["exit_code"], &shown["timed_out"]),
        (&json!("failed"), &json!(4), &json!(false))
    );
    let repo = stage.sandbox.repo.path().canonicalize()?;
    assert_eq!(text(&shown, "stdout"), format!("{}\non_work_stop:Do it\n", repo.display()));
    assert_eq!(Path::new(&text(&shown, "working_dir")).canonicalize()?, repo, "there is no worktree yet");
    assert_eq!(shown["environment"]["FORGE_TASK_ID"], task["id"]);
    assert_eq!(shown["environment"]["FORGE_WORKTREE_PATH"], "");
    let names = shown["environment"].as_object().context("no environment")?.keys();
    assert!(names.into_iter().all(|name| name.starts_with("FORGE_")));
    assert!(Path::new(&text(&shown, "log_path")).is_file());
    assert_eq!(record(&stage, &task, "hook-test-mine").await?["exit_code"], 4);
    let of_task = stage.server.get(&format!("/tasks/{}/logs/hook-test-mine", text(&task, "id"))).await?;
    assert_eq!(stage.server.get("/executions/hook-test-mine/logs").await?, of_task, "the route of all logs");
    let none = stage.server.request(Method::GET, "/executions/hook-test-none/logs");
    assert_eq!(refused(none).await?.0, 404);
    // Not saved yet, without a task, with its time limit.
    let hook = json!({ "type": "script", "command": "sleep 600", "timeout_seconds": 1, "blocking": true });
    let ask = json!({ "event": "before_work", "hook_index": 0, "hook": hook });
    let shown = stage.server.post(&path, ask).await?;
    assert_eq!((&shown["status"], &shown["timed_out"]), (&json!("timed_out"), &json!(true)));
    assert_eq!(shown["environment"]["FORGE_TASK_ID"], "");
    assert!(text(&shown, "log_path").contains("/_hooks/hook-test-before_work-0-"), "{shown}");
    let log = stage.server.get(&format!("/executions/{}/logs", text(&shown, "log_id"))).await?;
    assert_eq!(log["entries"].as_array().and_then(|all| all.last()).context("none")?["kind"], "hook_run");
    // A plugin says what it would do, and does nothing.
    let shown = stage
        .server
        .post(&path, json!({ "task_id": task["id"], "event": "on_work_stop", "hook_index": 0 }))
        .await?;
    assert_eq!(shown["status"], "skipped");
    assert!(text(&shown, "error").contains("Notifies the user"), "{shown}");
    for (bad, field) in [
        (json!({ "event": "on_work_stop", "hook_index": 2 }), "hook_index"),
        (json!({ "event": "on_work_stop", "hook_index": 1, "log_id": "../x" }), "log_id"),
        (
            json!({ "event": "on_work_stop", "hook_index": 0, "hook": { "type": "script", "command": "true", "blocking": true } }),
            "hook.blocking",
        ),
    ] {
        let (status, body) = refused(stage.server.request(Method::POST, &path).json(&bad)).await?;
        assert_eq!((status, body["details"]["findings"][0]["path"].as_str()), (400, Some(field)), "{body}");
    }
    let after = stage.server.get(&format!("/tasks/{}", text(&task, "id"))).await?;
    assert_eq!((&after["status"], &after["version"]), (&task["status"], &task["version"]));
    assert!(after["live"].is_null());
    assert_eq!(stage.events("hook.run").await?.len(), 0);
    Ok(())
}

/// Whoever waits for a test sees what it prints while it runs, with a task and without one.
#[tokio::test(flavor = "multi_thread")]
async fn a_test_can_be_followed_in_the_repository_itself() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let go = stage.file("go");
    let task = stage.task(&["hang"]).await?;
    let test = format!("/projects/{}/hooks/test", stage.project);
    for (log, owner) in [("hook-test-alone", Value::Null), ("hook-test-of-task", task["id"].clone())] {
        let path = if owner.is_null() {
            format!("/projects/{}/hooks/logs/{log}", stage.project)
        } else {
            format!("/tasks/{}/logs/{log}", text(&task, "id"))
        };
        assert_eq!(stage.server.get(&path).await?["total"], 0, "not there yet");
        let command = format!("echo begun; {}", until_exists(&go));
        let hook = json!({ "type": "script", "command": command, "timeout_seconds": 60 });
        let mut ask = json!({ "event": "before_work", "hook_index": 0, "hook": hook, "log_id": log });
        if !owner.is_null() {
            ask["task_id"] = owner.clone();
        }
        let mut events = stage.server.request(Method::GET, "/events").send().await?;
        let grows = async {
            let mut all = String::new();
            loop {
                let chunk =
                    tokio::time::timeout(PATIENCE, events.chunk()).await??.context("the events end")?;
                all.push_str(&String::from_utf8_lossy(&chunk));
                let data = all.lines().filter_map(|line| line.strip_prefix("data:"));
                let mut events = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
                let found =
                    events.find(|event| event["type"] == "execution.log" && event["entity_id"] == log);
                let Some(found) = found else { continue };
                ensure!(
                    found["project_id"] == stage.project.as_str() && found["task_id"] == owner,
                    "{found}"
                );
                let page = stage.server.get(&path).await?;
                if page["entries"].to_string().contains("begun") {
                    std::fs::write(&go, "")?;
                    return Ok(page);
                }
                all.clear();
            }
        };
        let (shown, page) = tokio::join!(stage.server.post(&test, ask), grows);
        let (shown, page) = (shown?, page?);
        assert!(!page["entries"].to_string().contains("exit_code"), "it ran on: {page:#}");
        assert_eq!((&shown["status"], text(&shown, "stdout")), (&json!("ok"), "begun\n".to_owned()));
        std::fs::remove_file(&go)?;
    }
    for wrong in ["hook-before_work-0-1", "..%2F..%2Fx"] {
        let path = format!("/projects/{}/hooks/logs/{wrong}", stage.project);
        let (status, body) = refused(stage.server.request(Method::GET, &path)).await?;
        assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("log_id")), "{body}");
    }
    let nobody = stage.server.request(Method::GET, "/projects/none/hooks/logs/hook-test-x");
    assert_eq!(refused(nobody).await?.0, 404);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_stops_is_told_once_however_it_stops() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let told = note(stage.sandbox.dir.path(), "$FORGE_EVENT $FORGE_TASK_PREVIOUS_STATUS:$FORGE_TASK_STATUS");
    set_hooks(&stage, json!({ "on_work_start": [told], "on_work_stop": [told] })).await?;
    // An agent that crashes is started again twice, then the task is blocked.
    let task = stage.task(&["fail 3"]).await?;
    stage.claim(&task).await?;
    stage.server.until(&task, |task| task["status"] == "blocked").await?;
    let names =
        ["start", "stop", "start", "stop", "start", "stop"].map(|name| format!("on_work_{name}[0] ok"));
    stage.until_outcomes(&task, &names.each_ref().map(String::as_str)).await?;
    let seen = stage.evidence();
    assert_eq!(seen[1], "on_work_stop todo:in_progress", "it stays where it is");
    assert_eq!(seen[5], "on_work_stop in_progress:blocked");
    // A person stops the agent, then moves the card: that is one stop.
    let other = stage.task(&["hang"]).await?;
    stage.claim(&other).await?;
    let live = stage.server.until(&other, |task| task["live"].is_object()).await?;
    stage.until_outcomes(&other, &["on_work_start[0] ok"]).await?;
    stage
        .server
        .post(&format!("/executions/{}/stop", text(&live["live"], "execution_id")), json!({}))
        .await?;
    stage.until_outcomes(&other, &["on_work_start[0] ok", "on_work_stop[0] ok"]).await?;
    stage.go(&other, "todo").await?;
    stage.until_outcomes(&other, &["on_work_start[0] ok", "on_work_stop[0] ok"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_s_move_ends_a_blocking_hook_and_skips_the_others() -> Result<()> {
    let stage = Stage::new(json!({})).await?;
    let dir = stage.sandbox.dir.path();
    let hang = json!({ "type": "script", "command": "sleep 600", "blocking": true, "timeout_seconds": 3600 });
    let stop = note(dir, "stopped");
    set_hooks(&stage, json!({ "before_work": [hang, note(dir, "beside")], "on_work_stop": [stop] })).await?;
    let task = stage.task(&["hang"]).await?;
    let id = text(&task, "id");
    let body = json!({ "agent_id": stage.agent, "version": task["version"] });
    stage.server.post(&format!("/tasks/{id}/claim"), body).await?;
    loop {
        if stage.hooks(&task).await?.first().is_some_and(|hook| hook["status"] == "running") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    stage.go(&task, "backlog").await?;
    stage.until_outcomes(&task, &["before_work[0] failed", "before_work[1] skipped"]).await?;
    let hooks = stage.hooks(&task).await?;
    assert_eq!(hooks[0]["reason"], "interrupted");
    assert_eq!(hooks[1]["reason"], "the task left in_progress");
    assert_eq!(record(&stage, &task, &text(&hooks[0], "log_id")).await?["status"], "interrupted");
    let now = stage.server.get(&format!("/tasks/{id}")).await?;
    assert_eq!((&now["status"], &now["error_annotation"]), (&json!("backlog"), &Value::Null));
    assert!(stage.evidence().is_empty(), "work had not begun: {:?}", stage.evidence());
    Ok(())
}
