//! Agents at work: a conversation of everything that agents say and do, what runs with its processes, a question with
//! messages that wait, profiles of every adapter, pictures among the changes; and the pictures of them.
//!
//! The question is a real program's, where one is installed; else it is not among the pictures.

use anyhow::{Context as _, Result};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_testkit::{
    Repository,
    models::{AgentProgram, ModelServer, Scenario, Turn},
};
use forge_tests::{patience::until, window::Window};
use serde_json::{Value, json};

use crate::{
    scenes::Scene,
    stage::{claim, reach, text},
};

const OLD_PICTURE: &[u8] = include_bytes!("../../icons/64x64.png");
const NEW_PICTURE: &[u8] = include_bytes!("../../icons/128x128.png");

/// Writes what it says as entries of the log, as a script of a person may.
const TALKER: &str = r####"
said() { printf '%s\n' "$1"; }
said '{"kind":"reasoning","body":{"text":"The configuration is read in `load`, on every request. A cache keyed by path and time of change would do, if everybody passes the same path."}}'
said '{"kind":"assistant_text","body":{"text":"I will look at **who reads the configuration** first, then decide where the cache belongs."}}'
said '{"kind":"plan","body":{"steps":[{"text":"Find the readers","done":true},{"text":"Keep what was read, by path and time of change","done":true},{"text":"Show in a test that a change is seen","done":false}]}}'
said '{"kind":"tool_call","status":"completed","body":{"name":"Grep","input":{"pattern":"Config::load","path":"src"},"output":"src/server.rs:41\nsrc/cli.rs:12\nsrc/watch.rs:77"}}'
said '{"kind":"tool_call","status":"completed","body":{"name":"Read","input":{"file_path":"src/server.rs","offset":30,"limit":40},"output":"let config = Config::load(&path)?;"}}'
said '{"kind":"file_change","status":"completed","body":{"path":"src/config.rs","change":"modified","diff":"@@ -12,6 +12,9 @@ impl Config {\n     pub fn load(path: &Path) -> Result<Self> {\n-        let text = fs::read_to_string(path)?;\n-        toml::from_str(&text)\n+        if let Some(known) = CACHE.get(path) {\n+            return Ok(known);\n+        }\n+        Self::read(path)\n     }\n"}}'
said '{"kind":"command","status":"failed","body":{"command":"cargo test config","exit_code":101,"output":"running 4 tests\ntest config::reads ... ok\ntest config::sees_a_change ... FAILED\n\nfailures:\n    config::sees_a_change"}}'
said '{"kind":"assistant_text","body":{"text":"The time of change has whole seconds here. I compare the length, too:\n\n```rust\nlet stamp = (meta.modified()?, meta.len());\n```"}}'
said '{"kind":"command","status":"completed","body":{"command":"cargo test config","exit_code":0,"output":"running 4 tests\ntest result: ok. 4 passed; 0 failed"}}'
said '{"kind":"usage","body":{"model":"claude-opus-4-1","input_uncached":12000,"cache_read":140000,"cache_write":9100,"output":4100,"reasoning":1300,"cost_micro_usd":201000}}'
said '{"kind":"notice","body":{"text":"The conversation was compacted to fit the model."}}'
mkdir -p src assets
printf 'pub struct Config;\n' > src/config.rs
cp "$PICTURE" assets/logo.png
said '{"kind":"assistant_text","body":{"text":"## Summary\n\n- The configuration is parsed once and kept until its file changes.\n- `cargo test config` passes, with a test that a change is seen.\n- Open: `watch.rs` could drop its own copy."}}'
"####;

/// Keeps processes below processes at work.
const BUSY: &str = "sh -c 'sh -c \"while :; do sleep 0.2; done # cargo test --workspace\" & sleep 600 # npm run watch'; true";

/// The project.
pub struct Agents {
    project: String,
    talked: u32,
    asking: bool,
    _server: ModelServer,
}

/// Makes the project and lets its agents work.
pub async fn stage(window: &Window) -> Result<Agents> {
    let folder = window.display.folder().to_owned();
    let path = folder.join("parser");
    let repository = Repository::create(&path, &[("README.md", "# Parser\n")])?;
    std::fs::create_dir_all(path.join("assets"))?;
    std::fs::write(path.join("assets/logo.png"), OLD_PICTURE)?;
    repository.git(&["add", "assets"])?;
    repository.git(&["commit", "-m", "A logo"])?;
    let picture = folder.join("new-logo.png");
    std::fs::write(&picture, NEW_PICTURE)?;
    let new = json!({ "name": "Parser", "repo_path": path, "settings": { "shell": ["sh", "-c"] } });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let profile = async |name: &str, adapter: &str, config: Value, model: Option<&str>| -> Result<String> {
        let new = json!({ "name": name, "adapter": adapter, "config": config, "model": model, "max_concurrent": 2 });
        text(&window.call("agent_create", new).await?, "id")
    };
    let env = json!({ "PICTURE": picture });
    let talker =
        profile("Storyteller", "shell", json!({ "command": "sh", "args": ["-c", TALKER], "env": env }), None)
            .await?;
    let busy =
        profile("Night shift", "shell", json!({ "command": "sh", "args": ["-c", BUSY] }), None).await?;
    profile(
        "Codex",
        "codex",
        json!({ "permissions": "ask", "effort": "high", "cost_micro_usd": 2_000_000 }),
        Some("gpt-5.5"),
    )
    .await?;
    profile("OpenCode", "acp", json!({ "program": "opencode", "args": ["acp"] }), None).await?;
    let task = async |title: &str, agent: &str, words: &str| -> Result<Value> {
        let new = json!({ "project_id": project, "title": title, "description": words, "roles": { "coder": agent } });
        let made = window.call("task_create", new).await?;
        claim(window, &made).await?;
        Ok(made)
    };
    let talked = task("Read the configuration once", &talker, "It is read on every request.").await?;
    reach(window, &talked, |task| task["review"]["status"] == "awaiting_human").await?;
    let works = task("Run the whole suite for as long as it takes", &busy, "").await?;
    reach(window, &works, |task| task["live"].is_object()).await?;
    let server = ModelServer::start().await?;
    let asking = match AgentProgram::Claude.settle(&folder.join("seat"), &server) {
        Ok(seat) => {
            let config = json!({ "program": seat.program, "env": seat.environment, "permissions": "ask" });
            let claude = profile("Claude", "claude", config, None).await?;
            let asks = Scenario::new("ask").turn(
                Turn::new()
                    .think("The inputs should be generated.")
                    .say("For inputs that nobody thought of I would like **fast-check**.")
                    .run("npm install --save-dev fast-check"),
            );
            let tag = server.script(asks);
            let asks = task("Generate the inputs of the tests", &claude, &tag).await?;
            question(window, &asks).await?;
            true
        }
        Err(error) => {
            eprintln!("no picture of a question: {error:#}");
            false
        }
    };
    let number = u32::try_from(talked["number"].as_u64().context("no number")?)?;
    Ok(Agents { project, talked: number, asking, _server: server })
}

/// Waits for the question, and says something meanwhile.
async fn question(window: &Window, task: &Value) -> Result<()> {
    let asked = until("a question", async || {
        let asked = window.call("approval_list", json!({ "task_id": task["id"] })).await?;
        Ok(asked["items"].get(0).cloned())
    })
    .await?;
    let file = async |name: &str, data: &[u8]| {
        let data = BASE64_STANDARD.encode(data);
        window.call("attachment_add", json!({ "task_id": task["id"], "name": name, "data": data })).await
    };
    let sent = file("failing-run.log", b"1 failed").await?;
    let message = "Keep the old examples, too: they came from people.";
    window
        .call(
            "execution_follow_up",
            json!({ "execution_id": asked["execution_id"], "message": message, "attachments": [sent["id"]] }),
        )
        .await?;
    file("a screenshot of what it looks like in the browser.png", NEW_PICTURE).await?;
    file("notes.md", b"# Notes\n").await.map(drop)
}

/// The pictures.
pub fn scenes(agents: &Agents) -> Vec<Scene> {
    let Agents { project, talked, asking, .. } = agents;
    let page = |number: u32, tab: &str| format!("#/task/{project}/{number}?tab={tab}");
    let mut scenes = vec![
        Scene::at("work-conversation", page(*talked, "conversation")),
        Scene::at("work-conversation-panel", format!("#/board/{project}?task={talked}&tab=conversation")),
        Scene::at("work-pictures", page(*talked, "diff")).acting(&[
            "[...document.querySelectorAll('main button, main [role=treeitem]')].find((each) => each.textContent.includes('logo.png')).click()",
        ]),
        Scene::at("work-runs", "#/runs").acting(&[
            "document.querySelectorAll('main ul[aria-label=Runs] button[aria-expanded=false]').forEach((each) => each.click())",
        ]),
        Scene::at("work-agents", "#/agents"),
        Scene::at("work-agent-dialog", "#/agents").acting(&[
            "document.querySelector('button[aria-label=\"Change Codex\"], button[aria-label=\"Edit Codex\"]').click()",
        ]),
        Scene::at("work-agent-try", "#/agents")
            .acting(&["document.querySelector('button[aria-label=\"Try Codex\"]').click()"]),
        Scene::at("work-costs", format!("#/settings/project/{project}?tab=costs")),
        Scene::at("work-attention", "#/attention"),
        Scene::at("work-board", format!("#/board/{project}")),
    ];
    if *asking {
        scenes.push(Scene::at("work-question", page(3, "conversation")));
        scenes.push(Scene::at("work-question-panel", format!("#/board/{project}?task=3&tab=conversation")));
    }
    scenes
}

/// Ends what runs, so that it is in no other picture.
pub async fn end(window: &Window) -> Result<()> {
    let runs = window.call("run_list", json!({})).await?;
    for run in runs["items"].as_array().into_iter().flatten().filter(|run| run["execution_id"].is_string()) {
        window.call("execution_stop", json!({ "execution_id": run["execution_id"] })).await?;
    }
    Ok(())
}
