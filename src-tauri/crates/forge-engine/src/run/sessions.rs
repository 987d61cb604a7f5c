//! Which session of an agent's program a run belongs to.
//!
//! A coder continues its own session: what follows in the same state (a message, an ordered subtask, a run that was
//! cut short) resumes it; work that was sent back forks it, so that the session that led to the rejected work stays
//! as it was; a workflow's trigger may say otherwise. A reviewer that uses the same adapter as the coder works on a
//! fork of the coder's session, where the program can fork: it knows the intent, and leaves no trace in that
//! session. Starting over, or another agent than before, starts a new session. The winner of a race continues the
//! session of its entry.

use forge_agents::adapter;
use forge_model::agent::Agent;
use forge_model::execution::ExecutionRole;
use forge_model::workflow::SessionMode;
use forge_store::Tx;
use forge_store::table::executions::ExecutionRow;
use serde_json::Value;

use crate::{
    core::{self, lineage::is_entry, moves::EntryInput, world::step::Stepping},
    error::Result,
};

/// The conversation of a run that is to be started.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Session {
    /// How it comes to it.
    pub mode: Mode,
    /// The conversation that it goes on with or copies.
    pub from: Option<String>,
    /// What the adapter left when that conversation was last used.
    pub carry: Option<Value>,
}

/// [`SessionMode`] with the default that a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mode(pub SessionMode);

impl Default for Mode {
    fn default() -> Self {
        Self(SessionMode::New)
    }
}

/// The conversation of the run of `agent` that the step starts. `previous` is the last run in the same role.
pub(crate) async fn session_for(
    tx: &mut Tx,
    s: &Stepping,
    agent: &Agent,
    role: ExecutionRole,
    previous: Option<&ExecutionRow>,
    input: &EntryInput,
) -> Result<Session> {
    let can = adapter(agent.adapter).capabilities();
    let of_coder;
    let (source, wanted) = match role {
        ExecutionRole::Coder | ExecutionRole::Planner => {
            let source = previous.filter(|row| row.execution.agent_id == agent.id);
            (source, coder_mode(s, input, source))
        }
        // Whose conversation it is would tell who races.
        ExecutionRole::Reviewer if is_entry(&s.task) => (None, SessionMode::New),
        ExecutionRole::Reviewer => {
            of_coder = core::lineage::last_work(tx, &s.task.id).await?;
            (alike(tx, of_coder.as_ref(), agent).await?, SessionMode::Fork)
        }
        ExecutionRole::Drafter => (None, SessionMode::New),
    };
    // What a person cleared by starting over is not gone on with. A pass and a budget that is filled again clear
    // nothing: who mends what was passed, or tries again, is who did it.
    let stands = |row: &&ExecutionRow| row.after_transition > s.task.session_boundary;
    let source = source.filter(stands);
    let Some((row, from)) = source.and_then(|row| Some((row, row.execution.session_id.clone()?))) else {
        return Ok(Session::default());
    };
    let mode = match wanted {
        SessionMode::Fork if can.fork => SessionMode::Fork,
        // A reviewer does not write into the coder's conversation.
        SessionMode::Fork if role == ExecutionRole::Reviewer => return Ok(Session::default()),
        SessionMode::Fork | SessionMode::Resume if can.resume => SessionMode::Resume,
        SessionMode::Fork | SessionMode::Resume | SessionMode::New => return Ok(Session::default()),
    };
    Ok(Session { mode: Mode(mode), from: Some(from), carry: row.carry.clone() })
}

/// The coder's run, when its agent is driven by the same program as `agent`.
async fn alike<'r>(
    tx: &mut Tx,
    coder: Option<&'r ExecutionRow>,
    agent: &Agent,
) -> Result<Option<&'r ExecutionRow>> {
    let Some(row) = coder else { return Ok(None) };
    let of_coder = tx.agents().get(&row.execution.agent_id).await?;
    let program = |agent: &Agent| {
        (agent.adapter, agent.config.get("program").cloned(), agent.config.get("env").cloned())
    };
    Ok(of_coder.is_some_and(|other| program(&other) == program(agent)).then_some(row))
}

/// What the move that led here asks for. A second run behind the same move goes on with the first one's.
fn coder_mode(s: &Stepping, input: &EntryInput, source: Option<&ExecutionRow>) -> SessionMode {
    let is_second = source.is_some_and(|row| row.after_transition >= s.transition.seq);
    if input.subtask_turn || is_second {
        return SessionMode::Resume;
    }
    let left = s.context.workflow.state(&s.transition.from);
    let trigger = left.and_then(|state| state.triggers.get(&s.transition.trigger));
    match trigger.filter(|trigger| trigger.to == s.transition.to).and_then(|trigger| trigger.session) {
        Some(mode) => mode,
        None if s.transition.rejection => SessionMode::Fork,
        None => SessionMode::Resume,
    }
}
