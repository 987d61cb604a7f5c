//! A rejection: why work is sent back, and where to.

use forge_model::actor::Actor;
use forge_model::correction::Correction;
use forge_model::task::Evidence;

/// Why the task goes back to work.
pub(crate) struct Rejection {
    pub to: String,
    pub actor: Actor,
    pub reason: String,
    pub correction: Correction,
    pub evidence: Option<Evidence>,
}
