//! The inner loop in the window: a race whose winner is selected, a drafted fix that is applied, and the costs of
//! both.

use std::fs;

use anyhow::{Context as _, Result, ensure};
use forge_tests::{drafter, patience::until, webdriver::keys, window::Window};
use serde_json::{Value, json};

use crate::{
    access::{clean, load, violations},
    fixture::{ProjectFixture, go, reach, text},
    scripted::{Gate, block, scripted},
};

#[tokio::test]
async fn finished_race_accepts_another_winner() -> Result<()> {
    let window = Window::open().await?;
    let outcome = winner_is_picked(&window).await;
    window.end("loop-race", outcome).await
}

const NAMES: [&str; 3] = ["broken", "cheap", "dear"];

async fn winner_is_picked(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let gates: Vec<Gate> = NAMES.iter().map(|name| Gate::new(window, name)).collect();
    let [broken, cheap, dear] = gates.as_slice() else { anyhow::bail!("three gates") };
    let told = [
        strategy("broken", &broken.before("edit bad <<< \"x\\n\"\nusage m 9 9 100000")),
        strategy(
            "cheap",
            &format!(
                "activity Reading the menu\n{}",
                cheap.before("edit good <<< \"cheap\\n\"\nusage m 9 9 200000")
            ),
        ),
        strategy("dear", &dear.before("edit good <<< \"dear\\n\"\nusage m 9 9 300000")),
    ];
    configure_race(window, &fixture).await?;
    let task = fixture
        .worked_on(
            window,
            "Write the menu",
            &told.concat(),
            json!({
                "race": { "enabled": true, "humanCrown": true },
                "review_config": { "ci_steps": ["test -e good"] },
            }),
        )
        .await?;
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=race", fixture.project_id)).await?;

    for name in NAMES {
        page.wait_for_text(&lane(name), "Running").await?;
    }
    page.wait_for_text(&lane("cheap"), "Reading the menu").await?;
    window.keep_picture("loop-race-live").await?;
    let mut found = violations(window, "a race that runs").await?;
    // Each lane says what it comes to while the others go on.
    broken.open()?;
    page.wait_for_text(&lane("broken"), "Failed").await?;
    page.wait_for_text(&lane("broken"), "$0.10").await?;
    page.wait_for_text("[role=status]", "1 of 3 entries").await?;
    page.wait_for_text(&lane("dear"), "Running").await?;
    for gate in [cheap, dear] {
        gate.open()?;
    }
    page.wait_for_text(&lane("cheap"), "Suggested winner").await?;
    page.wait_for_text("[role=status]", "Suggested winner: cheap. Choose the winner").await?;
    for said in ["broken is out: checks failed.", "dear is out: cost $0.30, cheap cost $0.20."] {
        page.wait_for_text("section[aria-labelledby^=trail] li", said).await?;
    }
    window.keep_picture("loop-race-elected").await?;
    found.extend(violations(window, "a race that waits for its winner").await?);

    // By keyboard: the button in the lane, and the question that it asks.
    page.tab_to("button", "Pick as winner: dear").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_text("[role=alertdialog]", "The rules suggest cheap.").await?;
    found.extend(violations(window, "asking for the winner").await?);
    let sure = page.find_with_text("[role=alertdialog] button", "Pick dear as winner").await?;
    page.click(&sure).await?;
    page.wait_gone("[role=alertdialog]").await?;
    page.wait_for_text(&lane("dear"), "Picked as winner").await?;
    page.wait_for_text("section[aria-labelledby^=trail] li", "picked dear as winner instead of cheap.")
        .await?;
    let done = reach(window, &task, |task| task["review"]["status"] == "awaiting_human").await?;
    page.press_named("button", "Approve").await?;
    reach(window, &done, |task| task["status"] == "done").await?;
    window.keep_picture("loop-race-picked").await?;
    found.extend(violations(window, "a race that is decided").await?);
    ensure!(fixture.repository.show("main", "good").context("it is not merged")? == "dear");
    clean(&found)
}

#[tokio::test]
async fn drafted_fix_is_applied_and_verified() -> Result<()> {
    let window = Window::open().await?;
    let outcome = fix_is_applied(&window).await;
    window.end("loop-fix", outcome).await
}

/// A check that reports the file as compilers do.
const CHECK: &str = "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";
const CARD: &str = "section[aria-label='Fix for total.txt']";

/// A task with a failing check, and an agent that drafts a fix.
async fn broken_total(window: &Window, fixture: &ProjectFixture) -> Result<Value> {
    let program = drafter::install(&window.display.folder().join("drafter"), FIX)?;
    let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
    let drafter = window.call("agent_create", drafter).await?;
    fixture
        .update_settings(window, json!({ "innerLoop": { "autoFix": { "agentId": drafter["id"] } } }))
        .await?;
    let told = block("", "edit total.txt <<< \"one\\nbad\\nthree\\n\"\nusage m 9 9 70000");
    fixture
        .worked_on(
            window,
            "Total the bill",
            &told,
            json!({
                "review_config": { "ci_steps": [CHECK] },
                "task_state_config": { "retry_budgets": { "review": 0 } },
            }),
        )
        .await
}

async fn fix_is_applied(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    let task = broken_total(window, &fixture).await?;
    load(window).await?;
    go(page, &format!("#/task/{}/1?tab=fixes", fixture.project_id)).await?;
    page.wait_for_text(CARD, "Needs your decision").await?;
    for part in [CHECK, "exit 1", "bad", "good", "Drafted by Drafter", "cost unknown"] {
        page.wait_for_text(CARD, part).await?;
    }
    reach(window, &task, |task| task["status"] == "blocked").await?;
    window.keep_picture("loop-fix-drafted").await?;
    let mut found = violations(window, "a drafted fix").await?;
    page.tab_to("button", "Apply the fix for total.txt").await?;
    page.press(&[keys::ENTER]).await?;
    page.wait_for_text(CARD, "Verified").await?;
    page.wait_for_text("[role=status]", "Fix for total.txt: Verified").await?;
    page.wait_for_focus(CARD).await?;
    page.press_named("button", "Check output").await?;
    page.find("[role=dialog]").await?;
    page.press(&[keys::ESCAPE]).await?;
    page.wait_gone("[role=dialog]").await?;
    window.keep_picture("loop-fix-verified").await?;
    found.extend(violations(window, "a fix that helps").await?);
    let branch = format!("forge/{}", text(&task, "id")?);
    ensure!(fixture.repository.show(&branch, "total.txt").context("no file")? == "one\ngood\nthree");
    page.press_named("button", "Roll back the fix for total.txt").await?;
    page.wait_for_text(CARD, "Rolled back").await?;
    ensure!(fixture.repository.show(&branch, "total.txt").context("no file")? == "one\nbad\nthree");
    clean(&found)
}

#[tokio::test]
async fn cost_page_shows_costs_of_all_runs() -> Result<()> {
    let window = Window::open().await?;
    let outcome = costs_are_shown(&window).await;
    window.end("loop-costs", outcome).await
}

/// The expected ledger: task, purpose, micro-dollars.
const LEDGER: [(&str, &str, Option<u64>); 8] = [
    ("1", "coder", Some(100_000)),
    ("1", "coder", Some(200_000)),
    ("1", "coder", Some(300_000)),
    ("1", "reviewer", Some(50_000)),
    ("2", "coder", Some(400_000)),
    ("2", "coder", Some(90_000_000)),
    ("3", "coder", Some(70_000)),
    ("3", "drafter", None),
];

/// A race with two losers and a reviewer, an expensive retry, and a draft of unknown cost.
async fn run_priced_tasks(window: &Window, fixture: &ProjectFixture) -> Result<()> {
    configure_race(window, fixture).await?;
    let rare = json!({ "costAnomaly": { "ratio": 50.0 } });
    fixture.update_settings(window, json!({ "auto_approve": true, "innerLoop": rare })).await?;
    let told = [
        strategy("broken", "edit bad <<< \"x\\n\"\nusage m 9 9 100000"),
        strategy("cheap", "edit good <<< \"cheap\\n\"\nusage m 9 9 200000"),
        strategy("dear", "edit good <<< \"dear\\n\"\nusage m 9 9 300000"),
        block(" role=reviewer", "usage judge 9 9 50000\nverdict pass It is good."),
    ];
    let first = fixture
        .worked_on(
            window,
            "Write the menu",
            &told.concat(),
            json!({
                "race": { "enabled": true },
                "review_config": { "ci_steps": ["test -e good"] },
                "roles": { "reviewer": fixture.agent_id },
            }),
        )
        .await?;
    reach(window, &first, |task| task["status"] == "done").await?;
    let told = [
        block("", "edit wine <<< \"red\\n\"\nusage m 9 9 400000"),
        block(" attempt=2", "edit wine <<< \"white\\n\"\nusage m 9 9 90000000"),
    ];
    let checks = json!({ "review_config": { "ci_steps": ["grep -q white wine"] } });
    let second = fixture.worked_on(window, "List the wine", &told.concat(), checks).await?;
    reach(window, &second, |task| task["status"] == "done").await?;
    let third = broken_total(window, fixture).await?;
    reach(window, &third, |task| task["status"] == "blocked").await?;
    until("the draft", async || {
        let fixes = window.call("fix_list", json!({ "task_id": third["id"] })).await?;
        Ok((fixes["proposals"][0]["status"] == "drafted").then_some(()))
    })
    .await
}

async fn costs_are_shown(window: &Window) -> Result<()> {
    let page = &window.page;
    let fixture = scripted(window).await?;
    run_priced_tasks(window, &fixture).await?;
    load(window).await?;
    go(page, "#/costs").await?;
    let known: u64 = LEDGER.iter().filter_map(|(.., cost)| *cost).sum();
    ensure!(known == 91_120_000, "reckoned by hand, too");
    page.find_with_text("[aria-labelledby=costs-today] dl", "$91.12").await?;
    let figures = page.find_with_text("main dl:not([aria-labelledby=costs-today] *)", "$91.12").await?;
    let figures = page.text(&figures).await?;
    ensure!(figures.contains("Runs\n8") && figures.contains("Unknown\n1"), "{figures}");
    page.find("[role=img][aria-label^='Cost of 6 runs with m: $0.07 to $90.00, 1 anomaly'] canvas").await?;
    window.keep_picture("loop-costs").await?;
    let mut found = violations(window, "costs").await?;
    page.press_named("radio", "Table").await?;
    page.press_named("radio", "Task").await?;
    let sums = "section[aria-labelledby=costs-sums] tbody tr";
    for (task, cost) in [("#1", "$0.65"), ("#2", "$90.40"), ("#3", "$0.07")] {
        let row = page.find_with_text(sums, task).await?;
        let row = page.text(&row).await?;
        ensure!(row.contains(cost), "{row} is not {cost}");
    }
    let runs = page.texts_everywhere("section[aria-labelledby=costs-runs] tbody tr").await?;
    ensure!(runs.len() == LEDGER.len(), "{runs:#?}");
    for mark in ["dear lost", "broken lost", "cheap won", "unknown", "Anomaly"] {
        ensure!(runs.iter().any(|row| row.contains(mark)), "no run is {mark}: {runs:#?}");
    }
    found.extend(violations(window, "costs as tables").await?);
    is_saved(window).await?;

    // What is out of the ordinary leads to its task.
    page.click_on("a[data-anomaly]").await?;
    window.wait_for_address(&format!("#/task/{}/2", fixture.project_id)).await?;
    clean(&found)
}

/// Saves the file with the desktop's own dialog and compares it with the ledger.
async fn is_saved(window: &Window) -> Result<()> {
    let file = window.display.folder().join("costs.csv");
    window.page.press_named("button", "CSV").await?;
    let dialogs = window.display.wait_for_windows("Save forge-costs.csv", 1).await?;
    window.display.focus(&dialogs[0]).await?;
    window.display.press("ctrl+a").await?;
    window.display.write(&file.to_string_lossy()).await?;
    window.display.press("Return").await?;
    let saved =
        until("the file", async || Ok(fs::read_to_string(&file).ok().filter(|text| !text.is_empty())))
            .await?;
    let mut lines = saved.split_terminator("\r\n");
    let heads: Vec<&str> = lines.next().context("no heads")?.split(',').collect();
    let at = |name: &str| {
        heads.iter().position(|head| *head == name).with_context(|| format!("no {name} in {heads:?}"))
    };
    let (task, role, cost) = (at("task")?, at("role")?, at("cost_micro_usd")?);
    let mut rows: Vec<(String, String, Option<u64>)> = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        rows.push((fields[task].to_owned(), fields[role].to_owned(), fields[cost].parse().ok()));
    }
    rows.sort();
    let mut wanted = LEDGER.map(|(task, role, cost)| (task.to_owned(), role.to_owned(), cost));
    wanted.sort();
    ensure!(rows == wanted, "{rows:#?}");
    Ok(())
}

fn lane(name: &str) -> String {
    format!("li[aria-label='Entry {name}']")
}

fn strategy(name: &str, lines: &str) -> String {
    block(&format!(" strategy={name}"), lines)
}

/// Configures a race of the agent with three strategies.
async fn configure_race(window: &Window, fixture: &ProjectFixture) -> Result<()> {
    window.call("agent_update", json!({ "agent_id": fixture.agent_id, "max_concurrent": 8 })).await?;
    let strategies = NAMES.map(|name| json!({ "name": name, "agent_id": fixture.agent_id }));
    let races = json!({ "enabled": true, "maxParallel": 3, "strategies": strategies });
    fixture.update_settings(window, json!({ "innerLoop": { "competitive": races } })).await
}
