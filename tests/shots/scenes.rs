//! The scenes: an address, what is pressed there, and what must be seen before the picture is taken.

use std::time::Duration;

use anyhow::Result;
use forge_tests::window::Window;

use crate::stage::{Extreme, Ordinary};

/// The page settles: fonts, the diff's worker, the last answers.
const SETTLE: Duration = Duration::from_millis(1_200);

/// One scene.
pub struct Scene {
    /// Its name, also the picture's.
    pub name: String,
    address: String,
    keys: Vec<Vec<&'static str>>,
    acts: Vec<&'static str>,
}

impl Scene {
    /// At an address.
    pub fn at(name: &str, address: impl Into<String>) -> Self {
        Self { name: name.to_owned(), address: address.into(), keys: Vec::new(), acts: Vec::new() }
    }

    /// Pressed after the address is reached, one combination after the other.
    pub fn pressing(mut self, keys: &[&[&'static str]]) -> Self {
        self.keys = keys.iter().map(|combination| combination.to_vec()).collect();
        self
    }

    /// Done on the page after that, one script after the other.
    pub fn acting(mut self, scripts: &[&'static str]) -> Self {
        self.acts = scripts.to_vec();
        self
    }

    /// Goes there.
    pub async fn enter(&self, window: &Window, theme: &str) -> Result<()> {
        // As if the window had just been opened there by a person who prefers this theme.
        const GO: &str =
            "const kept = JSON.parse(localStorage.getItem('forge.preferences') ?? '{\"version\":1}');
            kept.state = { ...kept.state, theme: arguments[0] };
            // Last of all: the page that is left may still write what it knows.
            addEventListener('pagehide', () => {
                localStorage.setItem('forge.preferences', JSON.stringify(kept));
                // What the scene before wrote is not this one's.
                localStorage.removeItem('forge.drafts');
            });
            location.hash = arguments[1]; location.reload();";
        window.page.execute(GO, &[theme.into(), self.address.clone().into()]).await?;
        tokio::time::sleep(SETTLE).await;
        window.page.find("main").await?;
        tokio::time::sleep(SETTLE).await;
        for combination in &self.keys {
            window.page.press(combination).await?;
            tokio::time::sleep(SETTLE).await;
        }
        for script in &self.acts {
            window.page.execute(script, &[]).await?;
            tokio::time::sleep(SETTLE).await;
        }
        Ok(())
    }
}

/// Opens the fourth state's form and empties its column.
const BREAK_STATE: [&str; 2] = [
    "document.querySelector(\"li[data-path='states[3]'] button[aria-expanded]\").click()",
    "const field = document.querySelector(\"[data-path='states[3].column'] input\");
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, '');
    field.dispatchEvent(new Event('input', { bubbles: true }));
    field.scrollIntoView({ block: 'center' });",
];
const SHOW_JSON: [&str; 2] = [
    "document.querySelector('[role=radio][aria-label=JSON]').click()",
    "document.querySelector('section[aria-label=Problems] li button').click()",
];
/// Writes a hook and tries it out.
const TEST_HOOK: [&str; 3] = [
    "[...document.querySelectorAll('button')].find((each) => each.textContent.includes('Add script')).click()",
    "const field = document.querySelector(\"[data-path='before_work[0].command'] textarea\");
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value').set.call(field,
        'echo Looking for the licence\\necho no licence found >&2\\nexit 3');
    field.dispatchEvent(new Event('input', { bubbles: true }));
    [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === 'Test').click();",
    "[...document.querySelectorAll('button')].find((each) => each.textContent.includes('Run test')).click()",
];
/// Opens what hangs under a button of the board's bar.
macro_rules! open_named {
    ($name:literal) => {
        [concat!(
            "[...document.querySelectorAll('header button, main button')].find((each) => each.textContent.includes('",
            $name,
            "') || each.getAttribute('aria-label')?.includes('",
            $name,
            "')).click()"
        )]
    };
}
/// Shows the token, and what a client over HTTP must be told.
const SHOW_API_ACCESS: [&str; 2] = [
    "document.querySelector(\"[aria-label='Show token']\").click()",
    "for (const each of ['Claude Code', 'HTTP'])
        document.querySelector(`[role=radio][aria-label='${each}']`).click()",
];
const FAILING_TOAST: [&str; 1] = [
    "[...document.querySelectorAll('main button')].findLast((each) => each.textContent === 'danger').click()",
];

/// Before there is a project.
pub fn empty() -> Vec<Scene> {
    vec![
        Scene::at("empty-board", "#/"),
        Scene::at("empty-attention", "#/attention"),
        Scene::at("empty-agents", "#/agents"),
        Scene::at("empty-runs", "#/runs"),
        Scene::at("empty-workspaces", "#/workspaces"),
        Scene::at("empty-add-project", "#/").acting(&open_named!("Add project")),
        Scene::at("empty-new-agent", "#/agents").acting(&open_named!("Add first agent")),
        Scene::at("toast", "#/gallery").acting(&FAILING_TOAST),
        Scene::at("settings", "#/settings"),
        Scene::at("settings-api", "#/settings?part=api"),
        Scene::at("settings-api-http", "#/settings?part=api").acting(&SHOW_API_ACCESS),
        Scene::at("settings-api-renew", "#/settings?part=api").acting(&open_named!("Renew token")),
        Scene::at("gallery", "#/gallery"),
        Scene::at("unknown-address", "#/nowhere"),
    ]
}

/// The demo project after a while.
pub fn ordinary(demo: &Ordinary) -> Vec<Scene> {
    let board = format!("#/board/{}", demo.project);
    let panel = |number: u32| format!("{board}?task={number}");
    let page = |number: u32| format!("#/task/{}/{number}", demo.project);
    let process = |tab: &str| format!("#/settings/project/{}?tab={tab}", demo.project);
    let mut scenes = vec![
        Scene::at("board", board.clone()),
        Scene::at("board-palette", board.clone()).pressing(&[&["\u{E009}", "k"]]),
        Scene::at("board-new-task", board.clone()).pressing(&[&["c"]]),
        Scene::at("board-keys", board.clone()).pressing(&[&["?"]]),
        Scene::at("board-filter", board.clone()).acting(&open_named!("Filter")),
        Scene::at("board-display", board.clone()).acting(&open_named!("Display")),
        Scene::at("board-notifications", board.clone()).acting(&open_named!("otifications")),
        Scene::at("attention", "#/attention"),
        Scene::at("agents", "#/agents"),
        Scene::at("machines", "#/machines"),
        Scene::at("project-settings", format!("#/settings/project/{}", demo.project)),
        Scene::at("workflow-graph", process("workflow")),
        Scene::at("workflow-form", process("workflow&view=form")).acting(&BREAK_STATE),
        Scene::at("workflow-json", process("workflow&view=form"))
            .acting(&[BREAK_STATE.as_slice(), &SHOW_JSON].concat()),
        Scene::at("hooks-test", process("hooks")).acting(&TEST_HOOK),
        Scene::at("hooks", process("hooks")),
        Scene::at("project-setup", process("setup")),
        Scene::at("project-checks", process("checks")),
        Scene::at("project-merging", process("merge")),
        Scene::at("project-automation", process("automation")),
        Scene::at("project-notifications", process("notifications")),
        Scene::at("task-missing", page(9_999)),
        Scene::at("panel-blocked", panel(demo.blocked)),
        Scene::at("panel-awaiting", panel(demo.awaiting)),
        Scene::at("panel-fresh", panel(demo.fresh)),
    ];
    for (key, tab) in
        [("1", "conversation"), ("2", "diff"), ("3", "review"), ("4", "timeline"), ("5", "workspace")]
    {
        scenes.push(Scene::at(&format!("task-{tab}"), page(demo.awaiting)).pressing(&[&[key]]));
        scenes.push(Scene::at(&format!("task-blocked-{tab}"), page(demo.blocked)).pressing(&[&[key]]));
    }
    scenes.push(Scene::at("panel-done", panel(demo.done)).pressing(&[&["3"]]));
    scenes
}

/// Many tasks, long titles, a long log, a large diff.
pub fn extreme(extreme: &Extreme) -> Vec<Scene> {
    let board = format!("#/board/{}", extreme.project);
    let page = format!("#/task/{}/{}", extreme.project, extreme.large);
    vec![
        Scene::at("extreme-board", board.clone()),
        Scene::at("extreme-panel", format!("{board}?task={}", extreme.long_title)),
        Scene::at("extreme-conversation", page.clone()).pressing(&[&["1"]]),
        Scene::at("extreme-diff", page).pressing(&[&["2"]]),
    ]
}
