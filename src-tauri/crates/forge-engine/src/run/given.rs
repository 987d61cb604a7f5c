//! What a run is given: environment, limits, permissions and session.

use std::path::Path;
use std::time::Duration;

use forge_agents::{Adapter, ForgeMcp, Limits, SessionRequest};
use forge_model::agent::{Agent, PermissionMode, Profile};
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::workflow::SessionMode;

use crate::{
    World,
    program::given::task_env,
    run::{plan::plan_file, prepared::Prepared},
};

/// `identity` is what its own git needs to commit where the user has none.
pub(super) fn run_env(
    world: &World,
    p: &Prepared,
    prompt_file: &Path,
    identity: Vec<(String, String)>,
    mcp: Option<&ForgeMcp>,
) -> Vec<(String, String)> {
    let execution = &p.row.execution;
    let mut env = task_env(world, &p.context, &p.task, Some(&p.workspace));
    env.push(("FORGE_AGENT_ID".to_owned(), execution.agent_id.0.clone()));
    env.push(("FORGE_EXECUTION_ID".to_owned(), execution.id.0.clone()));
    env.push(("FORGE_ATTEMPT".to_owned(), execution.attempt.to_string()));
    env.push(("FORGE_ROLE".to_owned(), execution.role.to_string()));
    if let Some(strategy) = &p.strategy {
        env.push(("FORGE_STRATEGY".to_owned(), strategy.name.clone()));
    }
    env.push(("FORGE_PLAN_FILE".to_owned(), plan_file(&p.workspace).to_string_lossy().into_owned()));
    env.push(("FORGE_PROMPT_FILE".to_owned(), prompt_file.to_string_lossy().into_owned()));
    env.extend(identity);
    env.extend(mcp.into_iter().flat_map(ForgeMcp::variables));
    env
}

pub(crate) fn limits_of(agent: &Agent) -> Limits {
    let profile = Profile::of(agent);
    let default = Limits::default();
    let seconds = |value: Option<u32>| value.map(|seconds| Duration::from_secs(u64::from(seconds)));
    Limits {
        wall_clock: seconds(profile.wall_clock_seconds).or(default.wall_clock),
        silence: seconds(profile.silence_seconds).or(default.silence),
        turns: profile.turns,
        cost: None,
    }
}

/// The conversation of a run: the one it goes on with, where the program can.
pub(crate) fn session_of(execution: &Execution, adapter: &dyn Adapter) -> SessionRequest {
    let can = adapter.capabilities();
    match (&execution.from_session, execution.session_mode) {
        (Some(session), SessionMode::Fork) if can.fork => SessionRequest::Fork(session.clone()),
        (Some(session), SessionMode::Fork | SessionMode::Resume) if can.resume => {
            SessionRequest::Resume(session.clone())
        }
        _ => SessionRequest::New,
    }
}

/// What a run may do without being asked: who judges or plans writes nothing.
pub(crate) fn permissions_of(agent: &Agent, role: ExecutionRole) -> PermissionMode {
    match role {
        ExecutionRole::Coder => Profile::of(agent).permissions,
        ExecutionRole::Reviewer | ExecutionRole::Planner | ExecutionRole::Drafter => PermissionMode::ReadOnly,
    }
}
