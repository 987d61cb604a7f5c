//! What worktrees contribute: their steps and guards.

use super::{cleanup, guards, prepare};
use crate::core::world::features::{Guard, StepSpec};

pub(crate) const PREPARE: StepSpec =
    StepSpec::acting(|world, s, cancel| Box::pin(prepare::prepare_workspace(world, s, cancel)));

pub(crate) const CLEAN_UP_NOW: StepSpec =
    StepSpec::acting(|world, s, _| Box::pin(cleanup::clean_up_now(world, s)));

pub(crate) const SCHEDULE_CLEANUP: StepSpec =
    StepSpec::acting(|world, s, _| Box::pin(cleanup::schedule_cleanup(world, s)));

pub(crate) const CLEAN_WORKTREE: Guard =
    |world, context, task| Box::pin(guards::uncommitted(world, context, task));

pub(crate) const NO_CONFLICT_MARKERS: Guard =
    |world, context, task| Box::pin(guards::markers(world, context, task));
