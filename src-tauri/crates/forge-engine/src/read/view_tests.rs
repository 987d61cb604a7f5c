//! The first page of a list costs the same however long the list is, counted in what SQLite does for it.

use std::sync::atomic::Ordering;

use forge_model::actor::{Actor, Cause};
use forge_store::table::tasks::Filter;

use crate::core::{
    self,
    moves::Move,
    transition_tests::{Bench, bench},
};

/// Tasks of a page.
const PAGE: u32 = 50;

/// Makes so many more tasks, each with a history.
async fn add_tasks(bench: &Bench, count: u32) {
    let mut tx = bench.world.store().write().await.unwrap();
    for _ in 0..count {
        let mut task = bench.task_in(&mut tx, "backlog").await;
        let mv = Move::by("todo", "walk", Actor::System { cause: Cause::Workflow });
        core::transition::apply(&bench.world, &mut tx, &bench.context, &mut task, mv).await.unwrap();
    }
    tx.commit().await.unwrap();
}

/// How many instructions SQLite runs for the first page of a list.
async fn steps_of_first_page(bench: &Bench, states: &[&str]) -> u64 {
    let mut conn = bench.world.store().read().await.unwrap();
    let steps = conn.count_instructions().await.unwrap();
    let project = &bench.context.project.id;
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    let filter = Filter { project: Some(project.clone()), states, ..Filter::default() };
    let page = super::tasks_in(&bench.world, &mut conn, project, filter, None, PAGE).await.unwrap();
    assert_eq!(page.items.len(), PAGE as usize);
    steps.load(Ordering::Relaxed)
}

#[tokio::test]
async fn first_page_of_many_tasks_takes_no_more_work_than_of_few() {
    let bench = bench().await;
    add_tasks(&bench, 2 * PAGE).await;
    let lists: [&[&str]; 2] = [&[], &["backlog", "todo"]];
    let mut few = Vec::new();
    for states in lists {
        few.push(steps_of_first_page(&bench, states).await);
    }
    add_tasks(&bench, 18 * PAGE).await;
    for (states, few) in lists.into_iter().zip(few) {
        let many = steps_of_first_page(&bench, states).await;
        assert!(few > u64::from(PAGE), "{few} instructions for {states:?}: nothing was counted");
        assert!(many <= few + few / 20, "{few} instructions for {states:?} became {many}");
    }
}
