//! A kill at every fault point of the pipeline, then a restart: the task is done, each effect happened once, the
//! target is before or after the merge and never between, and no leftovers remain.

mod audits;
mod cancellation;
mod containers;
mod costs;
mod disk;
mod faults;
mod fixes;
mod hooks;
mod lessons;
mod machines;
mod panics;
mod pull_requests;
mod races;
mod scenario;
mod services;
mod subtasks;
mod terminals;
mod trust;
mod validate;
mod worktrees;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use forge_testkit::serve::Serve;
use scenario::Scenario;

/// The fault points that one undisturbed task passes, each with its count, as the program traces them.
async fn fault_points() -> Result<BTreeMap<String, u32>> {
    let mut scenario = Scenario::new("trace")?;
    let trace = scenario.folder().join("trace.txt");
    let env = vec![(forge_testkit::fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    scenario.serve(Serve { program: "forge-faulty", data: scenario.data(), env })?;
    scenario.run_to_the_end().await?;
    scenario.check().await?;
    let mut passed = BTreeMap::new();
    for line in std::fs::read_to_string(trace).context("no fault point was passed")?.lines() {
        *passed.entry(line.to_owned()).or_default() += 1;
    }
    Ok(passed)
}

/// Kills at the n-th passing of a fault point, restarts without a fault, and checks the result.
async fn survives(point: &str, times: u32) -> Result<()> {
    let mut scenario = Scenario::new(point)?;
    let fault = vec![(forge_testkit::fault::FAULT_VARIABLE.to_owned(), format!("{point}#{times}"))];
    let first = Serve { program: "forge-faulty", data: scenario.data(), env: fault };
    match scenario.serve(first) {
        // It may be ended before it could say where it is.
        Err(_) => scenario.forget_server(),
        Ok(()) => scenario.run_until_it_ends().await?,
    }
    scenario.serve(Serve { program: "forge-faulty", data: scenario.data(), env: Vec::new() })?;
    scenario.run_to_the_end().await?;
    scenario.check().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_at_any_fault_point_loses_no_work() -> Result<()> {
    let passed = fault_points().await?;
    // The steps of the scenario must be among them, so that the test cannot pass without them.
    for expected in [
        "claim.committed",
        "workspace.made",
        "execution.started",
        "work.committed",
        "merge.intended",
        "merge.landed",
        "cleanup.removed",
    ] {
        assert!(passed.contains_key(expected), "{expected} is not among {passed:?}");
    }
    let mut cases: Vec<(String, u32)> = Vec::new();
    for (point, times) in &passed {
        cases.push((point.clone(), 1));
        if *times > 1 {
            cases.push((point.clone(), *times));
        }
    }
    println!("{} kills at {} fault points", cases.len(), passed.len());
    faults::all_survived(cases, |point, times| async move { survives(&point, times).await }).await
}
