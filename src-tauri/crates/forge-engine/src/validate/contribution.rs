//! What `validate` contributes: the gate of a review, and its processes, which no later engine goes on with.

use super::gate;
use crate::core::engine::features::{Moments, ValidateRun};

pub(crate) const GATE: ValidateRun = |engine, s, review, workspace, gate, index, cancel| {
    Box::pin(gate::run_gate(engine, s, review, workspace, gate, index, cancel))
};

pub(crate) fn contribute(moments: &mut Moments) {
    moments.owns_process.push(super::is_of_validation);
}
