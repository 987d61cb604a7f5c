//! Accessibility: axe-core finds no serious or critical violation on any screen in either theme.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use forge_tests::{patience::until, webdriver::keys, window::Window};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fixture::text;

const AXE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ui/node_modules/axe-core/axe.min.js");
/// The first theme with the one rule that depends on the theme; the second is the initial one.
const THEMES: [(&str, Option<&str>); 2] = [("dark", Some("color-contrast")), ("light", None)];

#[derive(Debug, Deserialize)]
struct Violation {
    rule: String,
    impact: String,
    help: String,
    /// Selectors of the elements, with the measured values.
    places: Vec<String>,
}

#[tokio::test]
async fn every_screen_has_no_serious_accessibility_violation() -> Result<()> {
    let window = Window::open().await?;
    let outcome = every_screen(&window).await;
    window.end("access", outcome).await
}

async fn every_screen(window: &Window) -> Result<()> {
    let page = &window.page;
    load(window).await?;
    let mut found = Vec::new();
    found.extend(violations_on(window, "empty board", "#/", "main h2, main h3, main p").await?);
    let project = demo_with_work(window).await?;

    let board = format!("#/board/{project}");
    let task = |number: u32| format!("{board}?task={number}");
    found.extend(violations_on(window, "board", &board, "[data-task]").await?);
    found.extend(violations_on(window, "blocked task", &task(3), "article [role=log]").await?);
    found.extend(violations_on(window, "fresh task", &task(5), "article [role=tab]").await?);
    found.extend(violations_on(window, "conversation", &task(1), "article [role=log]").await?);
    for (key, tab, there) in [
        ("2", "diff", "article [data-head*='src/']"),
        ("3", "review", "article li [aria-label=Passed]"),
        ("4", "validate", "article [role=tabpanel] form"),
        ("5", "timeline", "article [role=tabpanel] li"),
        ("6", "workspace", "article [role=tabpanel] code"),
    ] {
        page.press(&[key]).await?;
        found.extend(violations_on(window, tab, &task(1), there).await?);
    }
    found.extend(violations_on(window, "attention", "#/attention", "main button").await?);
    found.extend(violations_on(window, "agents", "#/agents", "main button").await?);
    found.extend(violations_on(window, "workspaces", "#/workspaces", "main li").await?);
    found.extend(violations_on(window, "settings", "#/settings", "main section pre").await?);
    let settings = format!("#/settings/project/{project}");
    found.extend(violations_on(window, "project settings", &settings, "main input").await?);

    found.extend(violations_on(window, "board, again", &board, "[data-task]").await?);
    page.press(&["c"]).await?;
    found.extend(violations_on(window, "new task", &board, "[role=dialog] input").await?);
    page.press(&[keys::ESCAPE]).await?;
    page.wait_gone("[role=dialog] input").await?;

    clean(&found)
}

/// The demo with a task in review and a blocked one.
async fn demo_with_work(window: &Window) -> Result<String> {
    let project = text(&window.call("demo_create", json!({})).await?, "id")?;
    let tasks = window.call("task_list", json!({ "project_id": project })).await?;
    for index in [0, 2] {
        let task = &tasks["items"][index];
        let agent = &task["roles"]["coder"]["id"];
        let claim = json!({ "task_id": task["id"], "agent_id": agent, "version": task["version"] });
        window.call("task_claim", claim).await?;
    }
    wait_for_task(window, &tasks["items"][0], |task| task["review"]["status"] == "awaiting_human").await?;
    wait_for_task(window, &tasks["items"][2], |task| task["status"] == "blocked").await?;
    Ok(project)
}

async fn wait_for_task(window: &Window, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<()> {
    until(&format!("task {}", task["title"]), async || {
        let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
        Ok(wanted(&now).then_some(()))
    })
    .await
}

/// Puts axe into the page.
pub async fn load(window: &Window) -> Result<()> {
    let library = fs::read_to_string(AXE).context("failed to read axe-core: run `npm ci` in ui")?;
    window.page.execute(&library, &[]).await.map(drop)
}

/// The violations on a screen once `there` is visible, a line each.
async fn violations_on(window: &Window, name: &str, address: &str, there: &str) -> Result<Vec<String>> {
    const GO: &str = "if (location.hash !== arguments[0]) location.hash = arguments[0]";
    let page = &window.page;
    page.execute(GO, &[address.into()]).await?;
    page.find(there).await.with_context(|| format!("on the screen {name}"))?;
    violations(window, name).await
}

/// The violations on the current screen, a line each.
pub async fn violations(window: &Window, name: &str) -> Result<Vec<String>> {
    const THEME: &str = "document.documentElement.dataset.theme = arguments[0]";
    const LOOK: &str = r#"const [rules, done] = arguments;
        const grave = ["serious", "critical"];
        // What a card says beside its title is what it holds, not what it is called: its agent, its time.
        const isCard = ({ id }, { html }) => id === "label-content-name-mismatch" && html.includes("data-task=");
        axe.run(document, { resultTypes: ["violations"], ...rules }).then(({ violations }) =>
            done({ found: violations.filter(({ impact }) => grave.includes(impact))
                .map((violation) => ({ ...violation,
                    nodes: violation.nodes.filter((node) => !isCard(violation, node)) }))
                .filter(({ nodes }) => nodes.length > 0)
                .map(({ id, impact, help, nodes }) => ({ rule: id, impact, help,
                    places: nodes.slice(0, 5).map(({ target, any, html }) =>
                        `${target.join(" ")} ${any[0]?.message ?? ""} ${html.slice(0, 160)}`) })) }),
            (error) => done({ error: String(error) }));"#;
    let page = &window.page;
    let mut lines = Vec::new();
    for (theme, rule) in THEMES {
        let rules = rule.map_or_else(|| json!({}), |rule| json!({ "runOnly": [rule] }));
        page.execute(THEME, &[theme.into()]).await?;
        page.drawn().await?;
        let mut answer = page.execute_async(LOOK, &[rules]).await?;
        if let Some(error) = answer.get("error") {
            bail!("axe failed on {name}: {error}");
        }
        let found: Vec<Violation> = serde_json::from_value(answer["found"].take())?;
        lines.extend(found.into_iter().map(|Violation { rule, impact, help, places }| {
            format!("{name}, {theme}: {rule} ({impact}): {help}\n    {}", places.join("\n    "))
        }));
    }
    Ok(lines)
}

/// Fails when axe found a violation.
pub fn clean(found: &[String]) -> Result<()> {
    ensure!(found.is_empty(), "{} violations:\n{}", found.len(), found.join("\n"));
    Ok(())
}
