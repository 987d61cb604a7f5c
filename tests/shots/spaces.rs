//! Worktrees, parts of tasks and hooks: a project that has some of each, and the pictures of it.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{HERMETIC_GIT, Repository};
use forge_tests::window::Window;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    scenes::Scene,
    stage::{claim, reach, text},
};

/// The project.
pub struct Spaces {
    project: String,
    /// A task whose parts were worked on in turn.
    whole: u32,
    /// One that a hook keeps from being started.
    held_up: u32,
    /// One that waits for another.
    waits: u32,
    /// One that was cancelled; its worktree is there for a while.
    cancelled: u32,
}

/// Makes the project and lets its agent work.
pub async fn stage(window: &Window) -> Result<Spaces> {
    let path = window.display.folder().join("places");
    Repository::create(&path, &[("README.md", "# Places\n")])?;
    let config = json!({ "command": "sh", "args": ["-c", "echo one more line >> made.txt"] });
    let agent = json!({ "name": "Line writer", "adapter": "shell", "config": config, "max_concurrent": 4 });
    let agent = text(&window.call("agent_create", agent).await?, "id")?;
    // The hook lets every task pass but one.
    let hook = "case \"$FORGE_TASK_TITLE\" in Publish*) echo 'left-pad 1.3.0: no licence in the package'; exit 3;; esac";
    let settings = json!({ "shell": ["sh", "-c"], "workspace_disk_cap_mib": 1,
        "setup": ["head -c 2000000 /dev/zero > cache.bin"],
        "lifecycle_hooks": { "before_work": [{ "type": "script", "command": hook, "blocking": true }] } });
    let project = json!({ "name": "Places", "repo_path": path, "settings": settings });
    let project = text(&window.call("project_create", project).await?, "id")?;
    let task = async |title: &str, more: Value| -> Result<Value> {
        let mut new = json!({ "project_id": project, "title": title, "roles": { "coder": agent } });
        for (key, value) in more.as_object().context("an object")? {
            new[key] = value.clone();
        }
        window.call("task_create", new).await
    };
    let part = |parent: &Value| json!({ "parent_id": parent["id"], "execution_mode": "ordered_turn", "roles": null });

    let whole = task("Import tables of every kind", json!({})).await?;
    task("Read what is quoted", part(&whole)).await?;
    task("Read what is nested", part(&whole)).await?;
    task("Say which tables can be read", json!({ "parent_id": whole["id"] })).await?;
    let held_up = task("Publish the package", json!({})).await?;
    let waits = task("Announce the new version", json!({ "depends_on": [held_up["id"]] })).await?;
    let given_up = task("Draw tables as pictures", json!({})).await?;
    for each in [&whole, &held_up, &given_up] {
        claim(window, each).await?;
    }
    reach(window, &held_up, |task| !task["error_annotation"].is_null()).await?;
    let awaiting = |task: &Value| task["review"]["status"] == "awaiting_human";
    reach(window, &whole, awaiting).await?;
    reach(window, &given_up, awaiting).await?;
    let now = window.call("task_get", json!({ "task_id": given_up["id"] })).await?;
    let cancel = json!({ "task_id": given_up["id"], "verb": "cancel", "version": now["version"] });
    window.call("task_action", cancel).await?;
    leave_a_folder(&path, &window.data_dir().join("workspaces/places/left-behind/tree")).await?;
    let number =
        |task: &Value| -> Result<u32> { Ok(u32::try_from(task["number"].as_u64().context("no number")?)?) };
    Ok(Spaces {
        whole: number(&whole)?,
        held_up: number(&held_up)?,
        waits: number(&waits)?,
        cancelled: number(&given_up)?,
        project,
    })
}

/// A worktree that no task knows of, with work in it.
async fn leave_a_folder(repository: &Path, tree: &Path) -> Result<()> {
    let at = tree.to_str().context("a path that is text")?;
    let added = Command::new("git")
        .args(["worktree", "add", "-b", "forge/left-behind", at])
        .current_dir(repository)
        .envs(HERMETIC_GIT)
        .output()
        .await?;
    ensure!(added.status.success(), "git worktree add: {}", String::from_utf8_lossy(&added.stderr));
    tokio::fs::write(tree.join("notes.txt"), "not committed\n").await?;
    Ok(())
}

/// The pictures.
pub fn scenes(spaces: &Spaces) -> Vec<Scene> {
    let board = format!("#/board/{}", spaces.project);
    let panel = |number: u32| format!("{board}?task={number}");
    let page = |number: u32, tab: &str| format!("#/task/{}/{number}?tab={tab}", spaces.project);
    vec![
        Scene::at("spaces", "#/workspaces"),
        Scene::at("spaces-board", board.clone()),
        Scene::at("spaces-attention", "#/attention"),
        Scene::at("spaces-panel-whole", panel(spaces.whole)),
        Scene::at("spaces-page-whole", page(spaces.whole, "timeline")),
        Scene::at("spaces-panel-hook", panel(spaces.held_up)),
        Scene::at("spaces-page-hook", page(spaces.held_up, "timeline")),
        Scene::at("spaces-panel-waits", panel(spaces.waits)),
        Scene::at("spaces-workspace", page(spaces.cancelled, "workspace")),
    ]
}
