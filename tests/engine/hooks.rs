//! Lifecycle hooks: a running engine, real git, and scripts that record their runs.

mod endings;
mod gate;
mod logs;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::{
    Board, Folder, LocalEngine,
    board::text,
    caller::{good, refused},
    script,
};
use reqwest::Method;
use serde_json::{Value, json};

/// The name of the file that hook scripts append to.
const EVIDENCE: &str = "evidence";

/// A board whose project has hooks.
async fn hooked(hooks: Value) -> Result<Board> {
    Board::new(json!({ "auto_approve": false, "lifecycle_hooks": hooks })).await
}

/// What the tests of hooks ask of a board.
trait HookBoard {
    /// A file beside the repository for a hook's output.
    fn file(&self, name: &str) -> PathBuf;
    fn evidence(&self) -> Vec<String>;
    /// The hook steps of a task: name, outcome, reason.
    async fn hooks(&self, task: &Value) -> Result<Vec<Value>>;
    async fn outcomes(&self, task: &Value) -> Result<Vec<String>>;
    /// Waits until the hooks have these outcomes.
    async fn until_outcomes(&self, task: &Value, wanted: &[&str]) -> Result<()>;
    /// All events of a kind so far.
    async fn events_of(&self, kind: &str) -> Result<Vec<Value>>;
}

impl HookBoard for Board {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.dir.path().join(name)
    }

    fn evidence(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.file(EVIDENCE)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    async fn hooks(&self, task: &Value) -> Result<Vec<Value>> {
        let moves = self.history(task).await?;
        let steps = moves.iter().flat_map(|one| one["steps"].as_array().cloned().unwrap_or_default());
        Ok(steps.filter(|step| step["action"].as_str().is_some_and(|name| name.ends_with(']'))).collect())
    }

    async fn outcomes(&self, task: &Value) -> Result<Vec<String>> {
        let hooks = self.hooks(task).await?;
        let shown = |hook: &Value| format!("{} {}", text(hook, "action"), text(hook, "outcome"));
        Ok(hooks.iter().map(shown).collect())
    }

    async fn until_outcomes(&self, task: &Value, wanted: &[&str]) -> Result<()> {
        let look = async || Ok((self.outcomes(task).await? == wanted).then_some(()));
        match self.engine.watch(look).await? {
            Some(()) => Ok(()),
            None => bail!("{:?}, not {wanted:?}", self.outcomes(task).await?),
        }
    }

    async fn events_of(&self, kind: &str) -> Result<Vec<Value>> {
        let last = self.task(&[], json!({})).await?;
        let is_last = |event: &Value| event["type"] == "task.created" && event["task_id"] == last["id"];
        let all = self.events_until(|all| all.iter().any(is_last), "the last event").await?;
        Ok(all.into_iter().filter(|event| event["type"] == kind).collect())
    }
}

/// A hook script that adds a line to the evidence.
fn note(dir: &Path, line: &str) -> Value {
    json!({ "type": "script", "command": format!("echo \"{line}\" >> '{}'", dir.join(EVIDENCE).display()) })
}

fn verbs(task: &Value) -> Vec<String> {
    task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_all_five_events_run_in_order_with_their_subject() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let dir = board.folder.dir.path();
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
    set_hooks(&board, hooks).await?;
    let task = board.task(&["edit work.txt <<< \"done\\n\""], json!({})).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, |task| task["workspace"]["status"] == "cleaned").await?;
    assert_eq!(done["status"], "done");
    let seen = board.evidence();
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
    board
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
    assert_eq!(board.hooks(&task).await?[1]["reason"], "exited with 7");
    // Given up before anything was begun: in the repository itself.
    let other = board.task(&[], json!({})).await?;
    board.act(&other, "actions/cancel", json!({})).await?;
    board.until_outcomes(&other, &["on_task_cancel[0] failed", "on_task_cancel[1] ok"]).await?;
    assert_eq!(board.evidence()[5], "on_task_cancel todo:cancelled [work] agent=yes run=");
    let told = board.events_of("hook.run").await?;
    assert_eq!(told.len(), 11);
    assert_eq!(told[0]["data"]["event"], "before_work");
    assert_eq!((&told[0]["data"]["index"], &told[0]["data"]["status"]), (&json!(1), &json!("ok")));
    assert_eq!(told[1]["data"]["status"], "failed");
    assert!(board.events_of("transition.effect_failed").await?.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_script_gets_user_and_forge_variables() -> Result<()> {
    let sandbox = Folder::new()?;
    let evidence = sandbox.dir.path().join(EVIDENCE);
    let hook = json!({ "type": "script", "command": format!("cat; env > '{}'", evidence.display()), "blocking": true });
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let settings = json!({ "lifecycle_hooks": { "before_work": [hook] }, "shell": ["sh", "-c"] });
    let (project, agent) = engine.project(&sandbox.repo, settings).await?;
    let new = json!({ "title": "Say \"hi\" $(now)", "description": script(&["hang"]), "roles": { "coder": agent } });
    let task = engine.task(&project, new).await?;
    let id = text(&task, "id");
    engine
        .post(&format!("/tasks/{id}/claim"), json!({ "agent_id": agent, "version": task["version"] }))
        .await?;
    let now = engine.until(&task, |task| task["live"].is_object()).await?;
    let env = std::fs::read_to_string(&evidence)?;
    let value =
        |name: &str| env.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    let repo = engine.get(&format!("/projects/{project}")).await?;
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

async fn set_hooks(board: &Board, hooks: Value) -> Result<()> {
    let path = format!("/projects/{}/settings", board.project);
    let patch = board.engine.request(Method::PATCH, &path).json(&json!({ "lifecycle_hooks": hooks }));
    good(patch.send().await?).map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn hook_timeout_ends_the_whole_process_group() -> Result<()> {
    let board = hooked(json!({})).await?;
    let (pid, late) = (board.file("pid"), board.file("late"));
    let command = format!(
        "echo begun; sh -c 'echo $$ > {}; sleep 600; touch {}' & wait",
        pid.display(),
        late.display()
    );
    let hook = json!({ "type": "script", "command": command, "blocking": true, "timeout_seconds": 1 });
    set_hooks(&board, json!({ "before_work": [hook] })).await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    let held = board.engine.until(&task, |task| task["error_annotation"].is_object()).await?;
    assert_eq!(held["error_annotation"]["type"], "before_work_hook_timeout");
    assert_eq!(held["error_annotation"]["evidence"]["exit_code"], Value::Null);
    assert_eq!(verbs(&held)[..2], ["retry_hook", "skip_hook_once"]);
    let child = std::fs::read_to_string(&pid)?.trim().to_owned();
    assert!(!Path::new(&format!("/proc/{child}")).exists(), "the child lives on");
    assert!(!late.exists());
    let log = text(&held["error_annotation"]["evidence"], "log_id");
    let record = record(&board, &task, &log).await?;
    assert_eq!((&record["status"], &record["stdout"]), (&json!("timed_out"), &json!("begun\n")));
    Ok(())
}

/// The last entry of a hook's log.
async fn record(board: &Board, task: &Value, log: &str) -> Result<Value> {
    let page = board.engine.get(&format!("/tasks/{}/logs/{log}", text(task, "id"))).await?;
    let last = page["entries"].as_array().and_then(|all| all.last()).context("an empty log")?;
    ensure!(last["kind"] == "hook_run", "{last}");
    Ok(last["body"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn listed_exit_codes_count_as_success() -> Result<()> {
    let hook =
        json!({ "type": "script", "command": "exit 3", "blocking": true, "success_exit_codes": [2, 3] });
    let zero = json!({ "type": "script", "command": "exit 0", "success_exit_codes": [2, 3] });
    let board = hooked(json!({ "before_work": [hook, zero] })).await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    board.until_outcomes(&task, &["before_work[0] ok", "before_work[1] failed"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_hook_configuration_is_refused_with_its_field() -> Result<()> {
    let board = hooked(json!({})).await?;
    let path = format!("/projects/{}/settings", board.project);
    for event in ["on_work_start", "on_work_stop", "on_task_done", "on_task_cancel"] {
        let hook = json!({ "type": "script", "command": "true", "blocking": true });
        let patch = json!({ "lifecycle_hooks": { event: [hook] } });
        let (status, body) = refused(board.engine.request(Method::PATCH, &path).json(&patch)).await?;
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
        let (status, body) = refused(board.engine.request(Method::PATCH, &path).json(&patch)).await?;
        assert_eq!(status, 400, "{body}");
        let at = body["details"]["findings"][0]["path"].as_str().unwrap_or_default();
        assert!(at.starts_with("lifecycle_hooks.before_work[0]"), "{body}");
    }
    assert_eq!(board.engine.get(&path).await?["settings"]["lifecycle_hooks"]["on_task_done"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_run_where_allowed_and_give_a_reason_elsewhere() -> Result<()> {
    let plugin = |name: &str| json!({ "type": "plugin", "name": name });
    let off = json!({ "type": "plugin", "name": "check_retry_budget", "enabled": false });
    let board = hooked(json!({
        "before_work": [plugin("run_merge"), plugin("knowledge-inject")],
        "on_work_start": [plugin("check_retry_budget"), off, plugin("cleanup_workspace_now")],
        "on_work_stop": [plugin("publish_task_blocked")],
        "on_task_cancel": [plugin("satisfy_dependents"), plugin("cleanup_workspace_now")],
    }))
    .await?;
    let task = board.task(&["hang"], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["live"].is_object()).await?;
    board.act(&task, "transition", json!({ "to": "todo" })).await?;
    board.act(&task, "actions/cancel", json!({})).await?;
    let cleaned = |task: &Value| task["workspace"]["status"] == "cleaned";
    board.engine.until(&task, cleaned).await?;
    let hooks = board.hooks(&task).await?;
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
    let record = record(&board, &task, &text(&hooks[1], "log_id")).await?;
    assert_eq!(
        (&record["status"], &record["type"], &record["command"]),
        (&json!("skipped"), &json!("plugin"), &json!("run_merge"))
    );
    assert_eq!(board.events_of("hook.run").await?.len(), 2);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_work_runs_its_hook_once_for_every_cause() -> Result<()> {
    let board = hooked(json!({})).await?;
    let told = note(board.folder.dir.path(), "$FORGE_EVENT $FORGE_TASK_PREVIOUS_STATUS:$FORGE_TASK_STATUS");
    set_hooks(&board, json!({ "on_work_start": [told], "on_work_stop": [told] })).await?;
    // An agent that crashes is started again twice, then the task is blocked.
    let task = board.task(&["fail 3"], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["status"] == "blocked").await?;
    let names =
        ["start", "stop", "start", "stop", "start", "stop"].map(|name| format!("on_work_{name}[0] ok"));
    board.until_outcomes(&task, &names.each_ref().map(String::as_str)).await?;
    let seen = board.evidence();
    assert_eq!(seen[1], "on_work_stop todo:in_progress", "it stays where it is");
    assert_eq!(seen[5], "on_work_stop in_progress:blocked");
    // A person stops the agent, then moves the card: that is one stop.
    let other = board.task(&["hang"], json!({})).await?;
    board.claim(&other).await?;
    let live = board.engine.until(&other, |task| task["live"].is_object()).await?;
    board.until_outcomes(&other, &["on_work_start[0] ok"]).await?;
    board
        .engine
        .post(&format!("/executions/{}/stop", text(&live["live"], "execution_id")), json!({}))
        .await?;
    board.until_outcomes(&other, &["on_work_start[0] ok", "on_work_stop[0] ok"]).await?;
    board.act(&other, "transition", json!({ "to": "todo" })).await?;
    board.until_outcomes(&other, &["on_work_start[0] ok", "on_work_stop[0] ok"]).await
}
