//! The tasks of each project in the orders in which they are asked whether they can be given a place.

use std::{cmp::Reverse, collections::BTreeMap};

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::time::Timestamp;

use super::{DAY, Waiter, Wants};

/// The tasks of a project; the first one is last in each list.
pub(super) struct Queue {
    pub by_rank: Vec<usize>,
    /// All of them by rank, in a list for each agent with what is wanted of it: the tasks of one are given the same place.
    pub of_kind: Vec<Vec<usize>>,
    /// Those alone that have waited for more than a day, in lists of the same kind.
    pub by_age: Vec<Vec<usize>>,
}

/// The queues of all projects that tasks wait in.
pub(super) fn queues(waiters: &[Waiter], now: Timestamp) -> Vec<Queue> {
    let mut by_project: BTreeMap<&ProjectId, Vec<usize>> = BTreeMap::new();
    for (at, waiter) in waiters.iter().enumerate() {
        by_project.entry(&waiter.project).or_default().push(at);
    }
    let queue = |mut by_rank: Vec<usize>| {
        by_rank.sort_by_key(|at| Reverse((waiters[*at].rank, &waiters[*at].task)));
        let mut of_kind: BTreeMap<(&AgentId, Kind<'_>), Vec<usize>> = BTreeMap::new();
        for at in &by_rank {
            of_kind.entry((&waiters[*at].agent, Kind::of(&waiters[*at]))).or_default().push(*at);
        }
        let of_kind: Vec<Vec<usize>> = of_kind.into_values().collect();
        let is_old = |at: &usize| now.since(waiters[*at].since) > DAY;
        let old = of_kind.iter().map(|list| list.iter().copied().filter(is_old).collect());
        let mut by_age: Vec<Vec<usize>> = old.filter(|list: &Vec<usize>| !list.is_empty()).collect();
        for list in &mut by_age {
            list.sort_by_key(|at| Reverse((waiters[*at].since, waiters[*at].rank, &waiters[*at].task)));
        }
        Queue { by_rank, of_kind, by_age }
    };
    by_project.into_values().map(queue).collect()
}

/// What tasks of an agent have in common that are given the same place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Kind<'w> {
    Race,
    Here,
    Labels(&'w [String]),
    /// With the task, where it has a keeper of its own there.
    Its(&'w MachineId, Option<&'w TaskId>),
}

impl<'w> Kind<'w> {
    fn of(waiter: &'w Waiter) -> Self {
        match &waiter.wants {
            Wants::Race => Self::Race,
            Wants::Here => Self::Here,
            Wants::Labels(labels) => Self::Labels(labels),
            Wants::Its(id, contact) => Self::Its(id, contact.is_some().then_some(&waiter.task)),
        }
    }
}
