//! A panic in each kind of step: the step is repeated once, and the task is done.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Result, ensure};
use forge_engine::Observer;
use forge_testkit::{Sandbox, script};
use serde_json::{Value, json};

/// Panics when the first step of each name begins.
#[derive(Default)]
struct PanicsOnce(Mutex<BTreeSet<String>>);

impl PanicsOnce {
    fn names(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for PanicsOnce {
    fn at(&self, point: &str) {
        if let Some(name) = point.strip_prefix("step.begin:")
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
        {
            std::panic::resume_unwind(Box::new(format!("a fault at {name}")));
        }
    }
}

async fn raced_task(sandbox: &Sandbox) -> Result<Value> {
    let named = |name: &str| json!({ "name": name, "agent_id": sandbox.agent });
    let competitive = json!({ "enabled": true, "strategies": [named("cheap"), named("dear")] });
    let patch = json!({ "project_id": sandbox.project, "innerLoop": { "competitive": competitive } });
    sandbox.call("project_settings_update", patch).await?;
    let block = |name: &str, cost: u32| {
        format!("```forge-script strategy={name}\nedit {name} <<< \"x\\n\"\nusage m 1 1 {cost}\n```\n")
    };
    let script = [block("cheap", 1), block("dear", 2)].concat();
    sandbox.described("Raced", &script, json!({ "race": { "enabled": true } })).await
}

async fn task_with_subtasks(sandbox: &Sandbox) -> Result<Value> {
    let whole = sandbox.task("Whole", &["edit own <<< \"own\\n\""], json!({})).await?;
    let part = json!({ "parent_id": whole["id"], "execution_mode": "ordered_turn" });
    sandbox.task("Part", &["edit part <<< \"part\\n\""], part).await?;
    sandbox.get(&whole).await
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_in_each_step_kind_is_survived() -> Result<()> {
    let faults = Arc::new(PanicsOnce::default());
    let observer = Arc::clone(&faults);
    // A script is begun at most once: a blocking one that is cut short would wait for a person.
    let hook = json!({ "type": "script", "command": "true" });
    let settings = json!({
        "auto_approve": true,
        "review_config": { "ci_steps": ["true"] },
        "lifecycle_hooks": { "before_work": [hook], "on_task_done": [hook] },
    });
    let sandbox = Sandbox::with_config(settings, |config| config.observer = Some(observer)).await?;
    let plain = sandbox.task("Plain", &["edit plain <<< \"x\\n\""], json!({})).await?;
    let turns = task_with_subtasks(&sandbox).await?;
    let raced = raced_task(&sandbox).await?;
    for task in [plain, turns, raced] {
        sandbox.claim(&task).await?;
        sandbox.reach(&task, "done").await?;
    }
    let waits_for = sandbox.described("Given up", &script(&[]), json!({})).await?;
    let waits = json!({ "depends_on": [waits_for["id"]] });
    let waits = sandbox.task("Waits for it", &[], waits).await?;
    let cancel = json!({
        "task_id": waits_for["id"], "verb": "cancel", "version": waits_for["version"], "reason": "not wanted",
    });
    sandbox.call("task_action", cancel).await?;
    sandbox.reach(&waits, "blocked").await?;
    let panicked = faults.names();
    println!("panics at {panicked:?}");
    let expected = [
        "advance",
        "before_work[0]",
        "block_dependents",
        "capture",
        "commit_work",
        "end_race",
        "prepare_workspace",
        "promote",
        "race",
        "run_ci_steps",
    ];
    let missing: Vec<&str> = expected.into_iter().filter(|name| !panicked.contains(*name)).collect();
    ensure!(missing.is_empty(), "no panic at {missing:?}");
    sandbox.api.engine().stop().await;
    Ok(())
}
