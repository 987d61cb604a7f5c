//! Tasks whose machine a person gave up: whoever waits for it on their behalf stops waiting.

use std::{collections::HashMap, sync::Mutex};

use forge_model::execution::ExecutionError;
use forge_model::ids::TaskId;
use tokio_util::sync::CancellationToken;

use crate::{World, core::sync::locked};

/// How jobs of clusters end through no fault of what ran in them: another one may go better.
const BAD_LUCK: [&str; 5] = ["node_failed", "job_preempted", "job_taken", "boot_failed", "job_unknown"];

#[derive(Default)]
struct GivenUp(Mutex<HashMap<TaskId, CancellationToken>>);

/// Fires when the machine that the task is on now is given up.
pub(crate) fn token(world: &World, task: &TaskId) -> CancellationToken {
    locked(&world.part::<GivenUp>().0).entry(task.clone()).or_default().clone()
}

/// Cancels all waiting for the task's machine. The next machine that the task gets is waited for again.
pub(crate) fn give_up(world: &World, task: &TaskId) {
    if let Some(token) = locked(&world.part::<GivenUp>().0).remove(task) {
        token.cancel();
    }
}

/// Whether what ran on a machine may go better on the next one.
pub(crate) fn is_bad_luck(why: &ExecutionError) -> bool {
    BAD_LUCK.contains(&why.code.as_str())
}
