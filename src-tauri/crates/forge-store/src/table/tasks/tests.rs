//! Rows of tasks, and what the database refuses.

use forge_model::task::WaitReason;

use super::*;
use crate::testing::{count, entry, is_refused, project, run, seeded, task};

#[tokio::test]
async fn inserted_task_is_read_back() {
    let mut tx = seeded().await;
    let row = TaskRow {
        description: "Words".to_owned(),
        priority: -3,
        parent_id: Some("t".into()),
        execution_mode: ExecutionMode::OrderedTurn,
        subtask_order: Some(4),
        held: true,
        machines: Some(vec!["gpu".to_owned(), "arm".to_owned()]),
        ..task("part", 7)
    };
    tx.tasks_mut().insert(&row).await.unwrap();
    assert_eq!(tx.tasks().get(&row.id).await.unwrap().as_ref(), Some(&row));
    assert_eq!(tx.tasks().by_number(&row.project_id, 7).await.unwrap().as_ref(), Some(&row));
    assert_eq!(tx.tasks().get(&"gone".into()).await.unwrap(), None);
    assert_eq!(tx.tasks().by_number(&"q".into(), 7).await.unwrap(), None, "a number is of one project");
}

#[tokio::test]
async fn update_writes_every_field_but_identity_and_raises_the_version() {
    let mut tx = seeded().await;
    tx.tasks_mut().insert(&task("parent", 2)).await.unwrap();
    let mut row = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
    row.title = "Renamed".to_owned();
    row.status = "done".to_owned();
    row.position = 0.5;
    row.parent_id = Some("parent".into());
    row.waiting = Some(Waiting {
        reason: WaitReason::Held,
        until: None,
        files: Vec::new(),
        message: "on hold".to_owned(),
    });
    row.diff_stat = Some(DiffStat { files: 1, added: 2, removed: 3 });
    row.budget_boundary = 5;
    row.closed_unmerged = true;
    row.machines = Some(Vec::new());
    tx.tasks_mut().update(&mut row, Timestamp(9)).await.unwrap();
    assert_eq!((row.version, row.updated_at), (2, Timestamp(9)));
    assert_eq!(tx.tasks().get(&row.id).await.unwrap().as_ref(), Some(&row));
    let other = tx.tasks().get(&"parent".into()).await.unwrap();
    assert_eq!(other, Some(task("parent", 2)), "another task was written");
}

#[tokio::test]
async fn what_follows_from_git_leaves_the_version() {
    let mut tx = seeded().await;
    tx.tasks_mut().set_unmerged(&"t".into(), 3).await.unwrap();
    let row = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
    assert_eq!((row.unmerged_commits, row.version), (3, 1));
}

#[tokio::test]
async fn number_is_unique_among_tasks_that_are_no_entries() {
    let mut tx = seeded().await;
    assert!(is_refused(tx.tasks_mut().insert(&task("again", 1)).await, "UNIQUE"));
    let elsewhere = TaskRow { project_id: "q".into(), ..task("elsewhere", 1) };
    tx.tasks_mut().insert(&elsewhere).await.unwrap();
    for (id, place) in [("second", 2), ("first", 1)] {
        tx.tasks_mut().insert(&entry(id, place)).await.unwrap();
    }
    assert!(is_refused(tx.tasks_mut().insert(&entry("twin", 2)).await, "UNIQUE"));
    let entries = tx.tasks().race_entries(&"t".into()).await.unwrap();
    assert_eq!(entries, [entry("first", 1), entry("second", 2)]);
    let found = tx.tasks().by_number(&"p".into(), 1).await.unwrap();
    assert_eq!(found, Some(task("t", 1)), "nobody finds an entry by its number");
    assert_eq!(tx.tasks().children(&"t".into()).await.unwrap(), [], "an entry is no part");
}

#[tokio::test]
async fn children_come_in_their_order_and_ids_in_that_of_the_list() {
    let mut tx = seeded().await;
    for (id, number, order) in [("x", 2, Some(2)), ("y", 3, Some(1)), ("z", 4, None)] {
        let row = TaskRow { parent_id: Some("t".into()), subtask_order: order, ..task(id, number) };
        tx.tasks_mut().insert(&row).await.unwrap();
    }
    let names = |rows: Vec<TaskRow>| rows.into_iter().map(|row| row.id.0).collect::<Vec<_>>();
    assert_eq!(names(tx.tasks().children(&"t".into()).await.unwrap()), ["z", "y", "x"]);
    let wanted = ["y", "gone", "t", "x"].map(TaskId::from);
    assert_eq!(names(tx.tasks().of_ids(&wanted).await.unwrap()), ["y", "t", "x"]);
}

#[tokio::test]
async fn deletion_takes_rows_of_the_task_along_and_leaves_its_children() {
    let mut tx = seeded().await;
    tx.tasks_mut().insert(&TaskRow { parent_id: Some("t".into()), ..task("child", 2) }).await.unwrap();
    tx.executions_mut().insert(&run("x", "t")).await.unwrap();
    tx.tasks_mut().delete(&"t".into()).await.unwrap();
    assert_eq!(count(&mut tx, "executions").await, 0);
    let child = tx.tasks().get(&"child".into()).await.unwrap().unwrap();
    assert_eq!(child.parent_id, None);
    let orphan = TaskRow { project_id: "gone".into(), ..task("orphan", 3) };
    assert!(is_refused(tx.tasks_mut().insert(&orphan).await, "FOREIGN KEY"));
    tx.projects_mut().delete(&project("p").project.id).await.unwrap();
    assert_eq!(count(&mut tx, "tasks").await, 0, "a project takes its tasks along");
}
