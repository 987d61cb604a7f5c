//! What `validate` contributes: the gate of a review, and its processes, which no later engine goes on with.

use super::gate;
use crate::core::world::features::{Moments, ValidateRun};

pub(crate) const GATE: ValidateRun = |world, s, review, workspace, gate, index, cancel| {
    Box::pin(gate::run_gate(world, s, review, workspace, gate, index, cancel))
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.owns_process.push(super::is_of_validation);
}
