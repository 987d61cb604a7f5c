//! Runs, their use, and what they cost.

use forge_model::execution::ExecutionStatus;
use forge_model::sandbox::{SandboxMode, SandboxReport, SandboxState};
use forge_model::time::Timestamp;

use super::*;
use crate::testing::{count, entry, is_refused, run, seeded, task};

async fn added(
    tx: &mut crate::Tx,
    id: &str,
    task: &str,
    edit: impl FnOnce(&mut ExecutionRow),
) -> ExecutionRow {
    let mut row = run(id, task);
    edit(&mut row);
    tx.executions_mut().insert(&row).await.unwrap();
    row
}

fn ids(rows: &[ExecutionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.execution.id.as_str()).collect()
}

#[tokio::test]
async fn run_is_read_back_and_its_end_is_written() {
    let mut tx = seeded().await;
    let edit = |row: &mut ExecutionRow| {
        row.goes_on = true;
        row.effort = Some("high".to_owned());
    };
    let mut row = added(&mut tx, "x", "t", edit).await;
    assert_eq!(tx.executions().get(&"x".into()).await.unwrap().as_ref(), Some(&row));
    row.execution.status = ExecutionStatus::Finished;
    row.execution.summary = Some("Done".to_owned());
    row.execution.finished_at = Some(Timestamp(9));
    tx.executions_mut().update(&row.execution).await.unwrap();
    tx.executions_mut().set_withheld(&"x".into(), &["TOKEN".to_owned()]).await.unwrap();
    row.execution.withheld = vec!["TOKEN".to_owned()];
    let report =
        SandboxReport { refused: 2, ..SandboxReport::begun(SandboxMode::Files, SandboxState::Enforced) };
    tx.executions_mut().set_sandbox(&"x".into(), &report).await.unwrap();
    row.execution.sandbox = Some(report);
    assert_eq!(tx.executions().get(&"x".into()).await.unwrap(), Some(row));
    assert!(is_refused(tx.executions_mut().insert(&run("y", "gone")).await, "FOREIGN KEY"));
}

#[tokio::test]
async fn last_run_is_the_newest_that_is_no_draft() {
    let mut tx = seeded().await;
    added(&mut tx, "first", "t", |_| ()).await;
    added(&mut tx, "second", "t", |row| row.execution.role = ExecutionRole::Reviewer).await;
    added(&mut tx, "draft", "t", |row| row.execution.role = ExecutionRole::Drafter).await;
    let all = tx.executions().list(&"t".into()).await.unwrap();
    assert_eq!(ids(&all), ["first", "second", "draft"]);
    let last = tx.executions().last(&"t".into()).await.unwrap();
    assert_eq!(last.unwrap().execution.id.as_str(), "second");
    let coder = tx.executions().last_of(&"t".into(), ExecutionRole::Coder).await.unwrap();
    assert_eq!(coder.unwrap().execution.id.as_str(), "first");
    assert_eq!(tx.executions().count(&"t".into(), "reviewer").await.unwrap(), 1);
}

#[tokio::test]
async fn open_runs_and_their_tokens_end_with_them() {
    let mut tx = seeded().await;
    tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
    let mut row = added(&mut tx, "x", "t", |_| ()).await;
    added(&mut tx, "y", "u", |_| ()).await;
    tx.executions_mut().set_token_hash(&"x".into(), "hash").await.unwrap();
    assert_eq!(ids(&tx.executions().open(None).await.unwrap()), ["x", "y"]);
    assert_eq!(ids(&tx.executions().open(Some(&["u".into()])).await.unwrap()), ["y"]);
    assert!(tx.executions().open_with_token("hash").await.unwrap().is_some());
    row.execution.status = ExecutionStatus::Failed;
    tx.executions_mut().update(&row.execution).await.unwrap();
    assert_eq!(ids(&tx.executions().open(None).await.unwrap()), ["y"]);
    assert_eq!(tx.executions().open_with_token("hash").await.unwrap(), None);
}

#[tokio::test]
async fn cost_of_entries_is_the_cost_of_their_task() {
    let mut tx = seeded().await;
    tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
    for (id, task, cost) in [("x", "t", 5), ("y", "e", 7), ("z", "t", 100)] {
        added(&mut tx, id, task, |row| row.execution.usage.cost_micro_usd = Some(cost)).await;
    }
    let but = Some(ExecutionId::from("z"));
    assert_eq!(tx.executions().cost_of_task(&"t".into(), but.as_ref()).await.unwrap(), 12);
    assert_eq!(tx.executions().cost_since(&"p".into(), Timestamp(1), None).await.unwrap(), 112);
    assert_eq!(tx.executions().cost_since(&"p".into(), Timestamp(2), None).await.unwrap(), 0);
    let usage = tx.executions().usage(&["t".into()]).await.unwrap();
    assert_eq!(usage[&TaskId::from("t")].cost_micro_usd, Some(112));
}

#[tokio::test]
async fn use_of_a_run_that_is_over_stays() {
    let mut tx = seeded().await;
    let mut row = added(&mut tx, "x", "t", |_| ()).await;
    row.execution.usage.output = 3;
    tx.executions_mut().set_used(&row.execution, Some(&Value::from("carry"))).await.unwrap();
    let stored = tx.executions().get(&"x".into()).await.unwrap().unwrap();
    assert_eq!((stored.execution.usage.output, stored.carry), (3, Some(Value::from("carry"))));
    row.execution.finished_at = Some(Timestamp(9));
    tx.executions_mut().update(&row.execution).await.unwrap();
    row.execution.usage.output = 4;
    tx.executions_mut().set_used(&row.execution, None).await.unwrap();
    let stored = tx.executions().get(&"x".into()).await.unwrap().unwrap();
    assert_eq!(stored.execution.usage.output, 3);
    tx.tasks_mut().delete(&"t".into()).await.unwrap();
    assert_eq!(count(&mut tx, "executions").await, 0, "a task takes its runs along");
}
