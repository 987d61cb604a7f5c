//! What worktrees contribute: their steps and guards.

use super::{cleanup, guards, prepare};
use crate::core::engine::features::{Guard, StepSpec};

pub(crate) const PREPARE: StepSpec =
    StepSpec::acting(|engine, s, cancel| Box::pin(prepare::prepare_workspace(engine, s, cancel)));

pub(crate) const CLEAN_UP_NOW: StepSpec =
    StepSpec::acting(|engine, s, _| Box::pin(cleanup::clean_up_now(engine, s)));

pub(crate) const SCHEDULE_CLEANUP: StepSpec =
    StepSpec::acting(|engine, s, _| Box::pin(cleanup::schedule_cleanup(engine, s)));

pub(crate) const CLEAN_WORKTREE: Guard =
    |engine, context, task| Box::pin(guards::uncommitted(engine, context, task));

pub(crate) const NO_CONFLICT_MARKERS: Guard =
    |engine, context, task| Box::pin(guards::markers(engine, context, task));
