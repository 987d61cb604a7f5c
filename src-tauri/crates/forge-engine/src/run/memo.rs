//! What a run was begun with, kept with its program: an engine that goes on with the run after another one was killed
//! begins it again with exactly this, whatever the profile or the task says by then.

use forge_agents::{ForgeMcp, Limits, SessionRequest};
use forge_model::agent::{AdapterKind, PermissionMode};
use forge_model::execution::ExecutionRole;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a run was begun with. It holds the run's token, so it is never written to a file.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct LaunchMemo {
    pub adapter: AdapterKind,
    pub config: Value,
    pub model: Option<String>,
    pub prompt: String,
    pub session: SessionRequest,
    pub carry: Option<Value>,
    pub role: ExecutionRole,
    pub permissions: PermissionMode,
    pub limits: Limits,
    pub mcp: Option<ForgeMcp>,
}

/// A run that another engine began.
#[derive(Clone)]
pub(crate) struct KeptLaunch {
    /// What it was begun with.
    pub memo: LaunchMemo,
    /// How many of its processes the keeper has.
    pub processes: u32,
}

/// Where a run that another engine began is to be gone on with.
#[derive(Clone)]
pub(crate) enum Found {
    /// On this computer.
    Here(Box<KeptLaunch>),
    /// On the machine of its worktree, which is asked when it can be reached.
    There,
}

impl LaunchMemo {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        // Its keys are texts, so that it can be written.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// None when it is of a program that is no run, or of a Forge that knew other fields.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
