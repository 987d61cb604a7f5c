//! The inner loop: a race that runs, one whose winner a person chooses, fixes, what all of it cost, and the pictures
//! of them.

use anyhow::{Context as _, Result};
use forge_testkit::{Repository, program};
use forge_tests::{drafter, patience::until, window::Window};
use serde_json::{Value, json};

use crate::{
    scenes::Scene,
    stage::{claim, reach, text},
};

/// Complains about the file as compilers do.
const CHECK: &str = "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";
const NAMES: [&str; 3] = ["careful", "quick", "thorough"];

fn strategy(name: &str, lines: &str) -> String {
    format!("```forge-script strategy={name}\n{lines}\n```\n")
}

/// Makes the project and lets its agents race and draft; the project.
pub async fn stage(window: &Window) -> Result<String> {
    let folder = window.display.folder().to_owned();
    let path = folder.join("tavern");
    Repository::create(&path, &[("README.md", "# Tavern\n")])?;
    let agent = json!({ "name": "Innkeeper", "adapter": "shell", "max_concurrent": 8, "config": {
        "command": program("forge-scripted-agent")?.to_string_lossy(), "args": ["--prompt-file", "{prompt_file}"] } });
    let agent = text(&window.call("agent_create", agent).await?, "id")?;
    let drafts = drafter::install(&folder.join("tavern-drafter"), FIX)?;
    let drafts = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": drafts } });
    let drafts = window.call("agent_create", drafts).await?;
    let strategies = NAMES.map(|name| json!({ "name": name, "agent_id": agent }));
    let settings = json!({
        "shell": ["sh", "-c"], "max_concurrent": 8, "auto_approve": true,
        "innerLoop": {
            "competitive": { "enabled": true, "maxParallel": 3, "strategies": strategies },
            "autoFix": { "agentId": drafts["id"] },
        },
    });
    let new = json!({ "name": "Tavern", "repo_path": path, "settings": settings });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let task = async |title: &str, told: &str, more: Value| -> Result<Value> {
        let mut new = json!({ "project_id": project, "title": title, "description": told,
            "roles": { "coder": agent } });
        for (key, value) in more.as_object().context("an object")? {
            new[key] = value.clone();
        }
        let made = window.call("task_create", new).await?;
        claim(window, &made).await?;
        Ok(made)
    };

    let held = format!("activity Reading the menu\nwait-for {}", folder.join("never").display());
    let over = "edit good <<< \"quick\\n\"\nusage m 900 90 184000";
    let running = [strategy("careful", &held), strategy("quick", over), strategy("thorough", &held)];
    let raced = json!({ "race": { "enabled": true }, "review_config": { "ci_steps": ["test -e good"] } });
    task("Write the menu", &running.concat(), raced.clone()).await?;
    let elected = [
        strategy("careful", "edit good <<< \"careful\\n\"\nusage m 900 90 412000"),
        strategy("quick", "edit bad <<< \"quick\\n\"\nusage m 900 90 61000"),
        strategy("thorough", "edit good <<< \"thorough\\n\"\nusage m 900 90 733000"),
    ];
    let mut by_person = raced;
    by_person["race"]["humanCrown"] = json!(true);
    let elected = task("List the tables", &elected.concat(), by_person).await?;
    reach(window, &elected, |task| task["waiting"]["reason"] == "race_crown").await?;
    let once = json!({
        "review_config": { "ci_steps": [CHECK] },
        "task_state_config": { "retry_budgets": { "review": 0 } },
    });
    let bad = "```forge-script\nedit total.txt <<< \"one\\nbad\\nthree\\n\"\nusage m 900 90 240000\n```\n";
    for (title, applied) in [("Total the bill", false), ("Total the tips", true)] {
        let broken = task(title, bad, once.clone()).await?;
        reach(window, &broken, |task| task["status"] == "blocked").await?;
        let fix = until("a draft", async || {
            let fixes = window.call("fix_list", json!({ "task_id": broken["id"] })).await?;
            Ok(fixes["proposals"].get(0).cloned())
        })
        .await?;
        if applied {
            let which = json!({ "task_id": broken["id"], "fix_id": fix["fixId"] });
            window.call("fix_apply", which).await?;
        }
    }
    Ok(project)
}

/// The pictures.
pub fn scenes(project: &str) -> Vec<Scene> {
    let page = |number: u32, tab: &str| format!("#/task/{project}/{number}?tab={tab}");
    let panel = |number: u32, tab: &str| format!("#/board/{project}?task={number}&tab={tab}");
    vec![
        Scene::at("loop-race-runs", page(1, "race")),
        Scene::at("loop-race-runs-panel", panel(1, "race")),
        Scene::at("loop-race-elected", page(2, "race")),
        Scene::at("loop-fix-drafted", page(3, "fixes")),
        Scene::at("loop-fix-drafted-panel", panel(3, "fixes")),
        Scene::at("loop-fix-verified", page(4, "fixes")),
        Scene::at("loop-costs", "#/costs"),
        Scene::at("loop-status", format!("#/inner-loop/{project}")),
        Scene::at("loop-settings", format!("#/settings/project/{project}?tab=innerLoop")),
    ]
}
