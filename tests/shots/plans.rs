//! A task whose plan waits for a person: its project, and the pictures of it.

use anyhow::{Context as _, Result};
use forge_testkit::Repository;
use forge_tests::window::Window;
use serde_json::{Value, json};

use crate::{
    scenes::Scene,
    stage::{claim, reach, text},
};

const PLANNER: &str = r#"
cat > "$FORGE_PLAN_FILE" <<END
Dates are read in two places, each with rules of its own. One reader, used by both.

1. Move the reader of \`src/import.rs\` to \`src/dates.rs\`, with its tests.
2. Let \`src/report.rs\` use it; its own reader goes.
3. Say in the guide which forms are understood.

**Not part of it:** time zones. They deserve a task of their own.
END
"#;

/// Makes the project and lets its agent plan; the project's and the task's address.
pub async fn stage(window: &Window) -> Result<(String, u32)> {
    let path = window.display.folder().join("dates");
    Repository::create(&path, &[("README.md", "# Dates\n")])?;
    let presets = window.call("workflow_presets", json!({})).await?;
    let planned = presets["items"]
        .as_array()
        .and_then(|presets| presets.iter().find(|preset| preset["name"] == "planned"))
        .context("no workflow in which an agent plans")?;
    let config = json!({ "command": "sh", "args": ["-c", PLANNER] });
    let agent = window
        .call("agent_create", json!({ "name": "Planner", "adapter": "shell", "config": config }))
        .await?;
    let new = json!({ "name": "Dates", "repo_path": path, "workflow": planned["workflow"],
        "settings": { "shell": ["sh", "-c"] } });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let roles = json!({ "planner": agent["id"], "coder": agent["id"] });
    let new = json!({ "project_id": project, "title": "One reader for dates", "roles": roles });
    let task = window.call("task_create", new).await?;
    claim(window, &task).await?;
    let planned = |now: &Value| now["status"] == "planning" && now["review"]["status"] == "awaiting_human";
    reach(window, &task, planned).await?;
    let number = u32::try_from(task["number"].as_u64().context("no number")?)?;
    Ok((project, number))
}

/// The pictures.
pub fn scenes((project, number): &(String, u32)) -> Vec<Scene> {
    vec![
        Scene::at("plan-review", format!("#/task/{project}/{number}?tab=review")),
        Scene::at("plan-panel", format!("#/board/{project}?task={number}")),
    ]
}
