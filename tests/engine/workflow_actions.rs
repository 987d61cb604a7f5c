//! Workflow actions on a running engine: phases, audiences, policies, dependencies, and how each outcome shows in
//! the timeline.

use anyhow::{Context as _, Result};
use forge_testkit::{Sandbox, script};
use serde_json::{Value, json};

/// A sandbox whose project has a changed default workflow.
async fn with_workflow(settings: Value, change: impl FnOnce(&mut Value)) -> Result<Sandbox> {
    let sandbox = Sandbox::new(settings).await?;
    let now = sandbox.call("project_workflow_get", json!({ "project_id": sandbox.project })).await?;
    let mut workflow = now["workflow"].clone();
    change(&mut workflow);
    let put = json!({ "project_id": sandbox.project, "workflow": workflow });
    sandbox.call("project_workflow_put", put).await?;
    Ok(sandbox)
}

fn state<'a>(workflow: &'a mut Value, name: &str) -> &'a mut Value {
    let mut known = workflow["states"].as_array().into_iter().flatten();
    let place = known.position(|state| state["name"] == name);
    // There is nothing beyond the end: the test ends here when no state has the name.
    &mut workflow["states"][place.unwrap_or(usize::MAX)]
}

/// The steps of a task's moves to a state as `phase action outcome: reason`.
async fn steps(sandbox: &Sandbox, task: &Value, to: &str) -> Result<Vec<String>> {
    let moves = sandbox.call("task_transitions", json!({ "task_id": task["id"] })).await?;
    let moves = moves["items"].as_array().context("no moves")?.iter().filter(|one| one["to"] == to);
    let steps = moves.flat_map(|one| one["steps"].as_array().cloned().unwrap_or_default());
    let text = |step: &Value, key: &str| step[key].as_str().unwrap_or_default().to_owned();
    Ok(steps
        .map(|step| {
            let reason = text(&step, "reason");
            let colon = if reason.is_empty() { "" } else { ": " };
            let [phase, action, outcome] = ["phase", "action", "outcome"].map(|key| text(&step, key));
            format!("{phase} {action} {outcome}{colon}{reason}")
        })
        .collect())
}

async fn move_to(sandbox: &Sandbox, task: &Value, to: &str) -> Result<Value> {
    let version = sandbox.get(task).await?["version"].clone();
    Ok(sandbox
        .call("task_transition", json!({ "task_id": task["id"], "to": to, "version": version }))
        .await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn action_in_every_allowed_phase_runs() -> Result<()> {
    let parked = json!({
        "name": "parked", "display_name": "Parked", "kind": "custom", "column": "Parked",
        "hooks": {
            "before_enter": [
                { "action": "run_before_work_hooks" }, { "action": "run_ci_steps" }, { "action": "knowledge-inject" },
            ],
            "on_enter": [
                { "action": "dispatch_role_agent" }, { "action": "run_merge", "applies_to": "agent_only" }, { "action": "satisfy_dependents" },
                { "action": "propagate_done_to_subtasks" }, { "action": "cancel_pending_subtasks" },
                { "action": "publish_task_blocked" }, { "action": "knowledge-inject" },
                { "action": "knowledge-capture" }, { "action": "cleanup_workspace_now" },
                { "action": "schedule_workspace_cleanup", "applies_to": "agent_only" },
            ],
            "after_enter": [
                { "action": "check_retry_budget" }, { "action": "auto_cascade_on_review_pass" },
                { "action": "auto_cascade_on_unassigned_role" }, { "action": "auto_cascade_on_merge_result" },
            ],
        },
        "triggers": { "accept": { "to": "todo" } },
    });
    let sandbox = with_workflow(json!({}), |workflow| {
        state(workflow, "todo")["triggers"]["park"] = json!({ "to": "parked" });
        workflow["states"].as_array_mut().unwrap().push(parked);
    })
    .await?;
    let task = sandbox.task("Park me", &[], json!({ "roles": {} })).await?;
    move_to(&sandbox, &task, "parked").await?;
    sandbox.reach(&task, "parked").await?;
    assert_eq!(
        steps(&sandbox, &task, "parked").await?,
        [
            "before_enter run_before_work_hooks skipped: before_work hooks run in active states",
            "before_enter run_ci_steps skipped: this move has no review",
            "before_enter knowledge-inject skipped: no lesson in docs/knowledge on main matches the task",
            "before_enter clear_barrier ok",
            "on_enter dispatch_role_agent skipped: the role of this state has no agent",
            "on_enter run_merge skipped: answers to agent_only moves",
            "on_enter satisfy_dependents skipped: nothing depends on it",
            "on_enter propagate_done_to_subtasks skipped: no ordered subtasks are open",
            "on_enter cancel_pending_subtasks skipped: no ordered subtasks are open",
            "on_enter publish_task_blocked skipped: notified before",
            "on_enter knowledge-inject skipped: no lesson in docs/knowledge on main matches the task",
            "on_enter knowledge-capture skipped: no lesson proposed",
            "on_enter cleanup_workspace_now skipped: no workspace",
            "on_enter schedule_workspace_cleanup skipped: answers to agent_only moves",
            "after_enter check_retry_budget ok: 0 of 2 used",
            "after_enter auto_cascade_on_review_pass skipped: this move has no review",
            "after_enter auto_cascade_on_unassigned_role skipped: the state has no role",
            "after_enter auto_cascade_on_merge_result skipped: run_merge was skipped",
        ]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn work_in_a_state_of_ones_own_needs_somebody_until_it_is_moved_on() -> Result<()> {
    let sandbox = with_workflow(json!({ "auto_approve": true }), |workflow| {
        let qa = json!({
            "name": "qa", "display_name": "QA", "kind": "custom", "column": "QA",
            "triggers": { "accept": { "to": "merging" } },
        });
        state(workflow, "todo")["triggers"]["later"] = json!({ "to": "qa" });
        state(workflow, "review")["triggers"]["accept"] = json!({ "to": "qa" });
        workflow["states"].as_array_mut().unwrap().push(qa);
    })
    .await?;
    let needing = async || -> Result<Vec<Value>> {
        let attention = sandbox.call("attention", json!({})).await?;
        Ok(attention["items"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect())
    };
    let parked = sandbox.task("Not begun", &[], json!({ "roles": {} })).await?;
    move_to(&sandbox, &parked, "qa").await?;
    let task = sandbox.task("Try me", &["append a.txt <<< \"x\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "qa").await?;
    assert_eq!(needing().await?, [task["id"].clone()]);
    sandbox.act(&task, "hold", json!({})).await?;
    assert_eq!(needing().await?, [] as [Value; 0], "a person has put it aside");
    sandbox.act(&task, "release", json!({})).await?;
    assert_eq!(needing().await?, [task["id"].clone()]);
    move_to(&sandbox, &task, "merging").await?;
    sandbox.reach(&task, "done").await?;
    assert_eq!(needing().await?, [] as [Value; 0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn action_after_skipped_dependency_is_skipped_and_needs_a_person() -> Result<()> {
    let sandbox = with_workflow(json!({ "auto_approve": true }), |workflow| {
        state(workflow, "merging")["hooks"]["on_enter"][0]["applies_to"] = json!("user_only");
    })
    .await?;
    let task = sandbox.task("Unmerged", &["edit a.txt <<< \"x\\n\""], json!({})).await?;
    sandbox.claim(&task).await?;
    // Nothing merges it, so the watchdog gives it to a person once its worker has ended.
    let blocked = sandbox.wait(&task, "blocked", |task| task["status"] == "blocked").await?;
    let annotation = &blocked["error_annotation"];
    assert_eq!(
        (&annotation["type"], &annotation["from_state"]),
        (&json!("recovery_required"), &json!("merging"))
    );
    assert_eq!(
        steps(&sandbox, &task, "merging").await?,
        [
            "before_enter capture skipped: the work was reviewed",
            "on_enter run_merge skipped: answers to user_only moves",
            "after_enter auto_cascade_on_merge_result skipped: run_merge was skipped",
        ]
    );
    // A planner that is not started: nothing passes by itself.
    let presets = sandbox.call("workflow_presets", json!({})).await?;
    let all = presets["items"].as_array().context("no presets")?;
    let mut planned = all.iter().find(|one| one["name"] == "planned").context("none")?["workflow"].clone();
    state(&mut planned, "planning")["hooks"]["on_enter"][0]["applies_to"] = json!("agent_only");
    let repo = sandbox.repo.path().to_string_lossy().into_owned();
    let new = json!({ "name": "planned", "repo_path": repo, "workflow": planned });
    let project = sandbox.call("project_create", new).await?;
    let new = json!({ "project_id": project["id"], "title": "Plan", "roles": { "planner": sandbox.agent } });
    let task = sandbox.call("task_create", new).await?;
    sandbox.claim(&task).await?;
    sandbox.wait(&task, "awaiting", |task| task["review"]["status"] == "awaiting_human").await?;
    let steps = steps(&sandbox, &task, "planning").await?;
    let dispatch = "on_enter dispatch_role_agent skipped: answers to agent_only moves";
    assert!(steps.iter().any(|step| step == dispatch), "{steps:?}");
    let last = "after_enter auto_cascade_on_review_pass skipped: no agent started; ready for your review";
    assert_eq!(steps.last().map(String::as_str), Some(last));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_barrier_blocks_logs_or_cascades() -> Result<()> {
    // Nothing said is `block` for what must pass before a state is entered.
    let (unsaid, cascades) = (Value::Null, json!({ "cascade": "backlog" }));
    for (policy, end) in
        [(unsaid, "review"), (json!("block"), "review"), (json!("log"), "done"), (cascades, "backlog")]
    {
        let settings = json!({ "auto_approve": true, "review_config": { "ci_steps": ["false"] } });
        let sandbox = with_workflow(settings, |workflow| {
            let review = state(workflow, "review");
            let hook = &mut review["hooks"]["before_enter"][0];
            hook["on_failure"] = policy.clone();
            if let Some(hook) = hook.as_object_mut().filter(|_| policy.is_null()) {
                hook.remove("on_failure");
            }
            review["gate_config"]["max_rejections"] = json!(9);
            review["triggers"]["park"] = json!({ "to": "backlog" });
        })
        .await?;
        let task = sandbox.task("Fails", &["edit a.txt <<< \"x\\n\""], json!({})).await?;
        sandbox.claim(&task).await?;
        let now = sandbox
            .wait(&task, end, |now| {
                now["status"] == end && (end != "review" || now["error_annotation"].is_object())
            })
            .await?;
        let events = sandbox.api.engine().events_after(0, 1000).await?.context("no events")?;
        let told = events.iter().filter(|event| event.kind.as_str() == "transition.effect_failed");
        let actions: Vec<&Value> = told.map(|event| &event.data["action"]).collect();
        // What sends the task on is no failure of the move.
        let failed = if end == "backlog" { vec![] } else { vec![json!("run_ci_steps")] };
        assert_eq!(actions, failed.iter().collect::<Vec<_>>(), "{policy}");
        let list = steps(&sandbox, &task, "review").await?;
        let checks = list.iter().find(|step| step.contains("run_ci_steps")).context("no checks")?;
        let dispatched = list.iter().find(|step| step.contains("dispatch_role_agent")).context("none")?;
        match end {
            "review" => {
                assert!(checks.contains(" failed: "), "{checks}");
                assert!(dispatched.ends_with("skipped: an earlier blocking step failed"), "{dispatched}");
                assert!(now["entry_barrier"].is_object());
            }
            "done" => assert!(checks.contains(" failed: "), "{checks}"),
            _ => assert!(checks.contains(" cascade: to backlog"), "{checks}"),
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_guard_refuses_with_event_or_only_reports() -> Result<()> {
    let sandbox = with_workflow(json!({}), |workflow| {
        let guard = json!({ "action": "dependency_gate", "applies_to": "user_only" });
        let logs = json!({ "action": "dependency_gate", "applies_to": "user_only", "on_failure": "log" });
        state(workflow, "todo")["hooks"]["before_exit"] = json!([guard]);
        state(workflow, "backlog")["hooks"] = json!({ "before_exit": [logs] });
    })
    .await?;
    let first = sandbox.task("First", &[], json!({})).await?;
    let task = sandbox.task("Second", &[], json!({ "depends_on": [first["id"]] })).await?;
    let version = task["version"].clone();
    let ask = json!({ "task_id": task["id"], "to": "backlog", "version": version });
    let refused = sandbox.call("task_transition", ask).await.unwrap_err();
    assert_eq!((refused.status, refused.code.as_str()), (412, "guard_rejected"));
    assert_eq!(sandbox.get(&task).await?["version"], version, "nothing changed");
    let other =
        sandbox.call("task_create", json!({ "project_id": sandbox.project, "title": "Third" })).await?;
    move_to(&sandbox, &other, "backlog").await?;
    sandbox.call("task_dependency_add", json!({ "task_id": other["id"], "depends_on": first["id"] })).await?;
    move_to(&sandbox, &other, "todo").await?;
    let events = sandbox.api.engine().events_after(0, 1000).await?.context("no events")?;
    let told: Vec<(Value, Value)> = events
        .into_iter()
        .filter(|event| event.kind.as_str() == "transition.guard_rejected")
        .map(|event| (event.data["action"].clone(), event.data["policy"].clone()))
        .collect();
    assert_eq!(told, [(json!("dependency_gate"), json!("block")), (json!("dependency_gate"), json!("log"))]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_with_audience_applies_to_that_audience_only() -> Result<()> {
    let sandbox = with_workflow(json!({ "auto_approve": true }), |workflow| {
        let guard = |audience: &str| json!([{ "action": "dependency_gate", "applies_to": audience }]);
        state(workflow, "todo")["hooks"]["before_exit"] = guard("agent_only");
        state(workflow, "in_progress")["hooks"]["before_exit"] = guard("user_only");
    })
    .await?;
    let first = sandbox.task("First", &[], json!({})).await?;
    let more = json!({ "depends_on": [first["id"]] });
    let task = sandbox.task("Second", &["edit done.txt <<< \"done\\n\""], more.clone()).await?;
    // A person overrides the dependency, and the agent is not asked for what people are asked for.
    move_to(&sandbox, &task, "in_progress").await?;
    sandbox.wait(&task, "done", |task| task["status"] == "done").await?;
    let held = sandbox.task("Third", &["hang"], more).await?;
    move_to(&sandbox, &held, "in_progress").await?;
    sandbox.wait(&held, "running", |task| task["live"].is_object()).await?;
    let refused = move_to(&sandbox, &held, "todo").await.unwrap_err();
    assert!(format!("{refused:#}").contains("First"), "{refused:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dependent_task_after_last_dependency_is_released() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let first = sandbox.task("First", &[], json!({})).await?;
    let second = sandbox.task("Second", &[], json!({})).await?;
    let needs = json!({ "depends_on": [first["id"], second["id"]] });
    let task = sandbox.task("Third", &[], needs).await?;
    let told = async || -> Result<Vec<Value>> {
        let events = sandbox.api.engine().events_after(0, 1000).await?.context("no events")?;
        let satisfied = events.into_iter().filter(|event| event.kind.as_str() == "task.dependency_satisfied");
        Ok(satisfied.map(|event| json!(event.task_id)).collect())
    };
    move_to(&sandbox, &first, "done").await?;
    assert_eq!(told().await?, [] as [Value; 0], "the other one is open");
    move_to(&sandbox, &second, "done").await?;
    assert_eq!(told().await?, [task["id"].clone()]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn prompt_with_matching_lessons_contains_them() -> Result<()> {
    let inject = json!({ "type": "plugin", "name": "knowledge-inject" });
    for by_hook in [true, false] {
        let hooks = if by_hook { json!([inject]) } else { json!([]) };
        let settings = json!({ "lifecycle_hooks": { "before_work": hooks } });
        let sandbox = with_workflow(settings, |workflow| {
            if !by_hook {
                let hooks = &mut state(workflow, "in_progress")["hooks"];
                hooks["on_enter"] =
                    json!([{ "action": "knowledge-inject" }, { "action": "dispatch_role_agent" }]);
            }
        })
        .await?;
        sandbox
            .repo
            .write("docs/knowledge/login.md", "# Sessions\n\nA login lives for an hour.\n\nMore.\n")?;
        sandbox.repo.write("docs/knowledge/icons.md", "# Icons\n\nDraw them twice.\n")?;
        sandbox.repo.commit("lessons")?;
        let description = script(&["hang"]);
        let task = sandbox.described("Mend the login", &description, json!({})).await?;
        sandbox.claim(&task).await?;
        sandbox.wait(&task, "running", |task| task["live"].is_object()).await?;
        let prompt = sandbox.call("task_prompt_preview", json!({ "task_id": task["id"] })).await?;
        let prompt = prompt["text"].as_str().context("no prompt")?.to_owned();
        let wanted = "# What this project has learned\n\n## Sessions\n\nA login lives for an hour.\n\nSource: `docs/knowledge/login.md`\n";
        assert!(prompt.contains(wanted), "{prompt}");
        assert!(!prompt.contains("icons.md") && !prompt.contains("What happened so far"), "{prompt}");
        let steps = steps(&sandbox, &task, "in_progress").await?;
        let told = if by_hook { "before_work before_work[0] ok" } else { "on_enter knowledge-inject ok" };
        assert!(steps.contains(&format!("{told}: docs/knowledge/login.md")), "{steps:?}");
    }
    Ok(())
}
