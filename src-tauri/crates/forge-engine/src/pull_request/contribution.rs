//! What pull requests contribute: the merge step, which takes the way that its project chose, and what they do at the
//! moments of a task.

use forge_model::project::WorkMode;

use super::{hosts, step};
use crate::{
    core::world::features::{Moments, StepSpec},
    merge,
};

pub(crate) const MERGE: StepSpec = StepSpec::acting(|world, s, cancel| match s.context.project.work_mode {
    WorkMode::PullRequest => Box::pin(step::run_pull_request(world, s, cancel)),
    WorkMode::DirectCommit => Box::pin(merge::step::run_merge(world, s, cancel)),
});

pub(crate) fn contribute(moments: &mut Moments) {
    moments
        .before_move
        .push(|tx, context, task, mv| Box::pin(super::let_go_of_pull_request(tx, context, task, mv)));
    moments.learn_secrets.push(|world, context| Box::pin(hosts::learn_host_token(world, context)));
}
