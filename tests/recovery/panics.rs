//! A panic at every fault point of the pipeline ends only its step, run or request; the engine continues and the
//! task is done. A panic that repeats blocks the task for a person.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::fault::{FAULT_VARIABLE, PANIC};
use forge_testkit::serve::Serve;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{fault_points, faults, scenario::Scenario};

/// How long to wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(20);
/// Passed before the engine serves requests: a panic there ends its start.
const AT_START: &str = "recovery.settled";

fn panicking(scenario: &Scenario, at: &str) -> Serve<'static> {
    let fault = vec![(FAULT_VARIABLE.to_owned(), format!("{PANIC}{at}"))];
    Serve { program: "forge-faulty", data: scenario.data(), env: fault }
}

async fn survives(point: &str) -> Result<()> {
    let mut scenario = Scenario::new(point)?;
    scenario.serve(panicking(&scenario, &format!("{point}#1")))?;
    if let Err(error) = scenario.run_to_the_end().await {
        // A request that panicked after its commit is answered so; what it asked for goes on.
        ensure!(format!("{error:#}").contains("500: "), "{error:#}");
        scenario.run_to_the_end().await?;
    }
    scenario.check().await?;
    faults::panicked(&scenario.data(), point)
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_at_any_fault_point_ends_only_its_unit() -> Result<()> {
    let passed = fault_points().await?;
    let cases: Vec<(String, u32)> =
        passed.into_keys().filter(|point| point != AT_START).map(|point| (point, 1)).collect();
    println!("panics at {} fault points", cases.len());
    faults::all_survived(cases, |point, _| async move { survives(&point).await }).await
}

/// A scenario whose task is blocked by a repeated panic, and the task.
async fn task_blocked_by(at: &str) -> Result<(Scenario, Value)> {
    let mut scenario = Scenario::new(at)?;
    scenario.serve(panicking(&scenario, at))?;
    let id = scenario.begin().await?;
    let task = scenario.server()?.wait(&id, "blocked", |task| task["status"] == "blocked").await?;
    let annotation = &task["error_annotation"];
    ensure!(annotation["type"] == "recovery_required", "it is blocked otherwise: {annotation:#}");
    let place = annotation["details"]["place"].as_str().context("no place")?;
    ensure!(place.contains("fault.rs:"), "another place: {place}");
    let message = annotation["message"].as_str().context("no message")?;
    ensure!(message.contains(place) && message.contains(&format!("fault at {at}")), "{message}");
    wait_for_notification(&scenario, &id).await?;
    Ok((scenario, task))
}

/// Waits for the notification of a blocked task, which a step of its state sends.
async fn wait_for_notification(scenario: &Scenario, id: &str) -> Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let is_of_task = |one: &Value| one["task_id"] == json!(id) && one["kind"] == "blocked";
    loop {
        let told = scenario.server()?.get("/notifications").await?;
        if told["items"].as_array().is_some_and(|all| all.iter().any(is_of_task)) {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < deadline, "nobody was told: {told:#}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How often a text is in the log of the program.
fn count_in_log(scenario: &Scenario, at: &str) -> Result<usize> {
    let log = std::fs::read_to_string(scenario.data().with_extension("log"))?;
    Ok(log
        .lines()
        .filter(|line| line.contains("caught a panic") && line.contains(&format!("fault at {at}")))
        .count())
}

#[tokio::test(flavor = "multi_thread")]
async fn step_that_panics_twice_blocks_its_task() -> Result<()> {
    let at = "step.begin:run_ci_steps";
    let (scenario, _) = task_blocked_by(at).await?;
    ensure!(count_in_log(&scenario, at)? == 2, "it was not tried exactly twice");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn run_that_panics_twice_blocks_its_task() -> Result<()> {
    let at = "execution.started";
    let (scenario, task) = task_blocked_by(at).await?;
    let id = task["id"].as_str().context("no id")?;
    let runs = scenario.server()?.get(&format!("/tasks/{id}/executions")).await?;
    let runs = runs["items"].as_array().context("no runs")?;
    let ended = |run: &Value| run["status"] == "lost" && run["error"]["code"] == "panicked";
    ensure!(runs.len() == 2 && runs.iter().all(ended), "other runs: {runs:#?}");
    let left = forge_testkit::serve::marked_processes(scenario.folder())?;
    ensure!(left.is_empty(), "processes are left: {left:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn panicking_request_reports_its_location_and_the_next_is_served() -> Result<()> {
    let mut scenario = Scenario::new("claim.committed")?;
    scenario.serve(panicking(&scenario, "claim.committed#1"))?;
    ensure!(scenario.begin().await.is_err(), "nothing panicked");
    let server = scenario.server()?;
    let task = server.get("/projects").await?["items"][0]["id"].clone();
    let path = format!("/projects/{}/tasks", task.as_str().context("no project")?);
    let task = server.get(&path).await?["items"][0].clone();
    // What was committed before the panic stays; the answer is that of the engine itself.
    ensure!(task["status"] == "in_progress", "{task:#}");
    let (status, _) = server.answer(Method::GET, "/agents", None).await?;
    ensure!(status == 200, "{status}");
    scenario.run_to_the_end().await?;
    scenario.check().await
}
