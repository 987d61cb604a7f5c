//! Starting agents: taking a place, recording the run, and restarting after a conflict or a failure.

use std::sync::Arc;

use async_trait::async_trait;
use forge_model::actor::Cause;
use forge_model::agent::Agent;
use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::ids::ExecutionId;
use forge_model::log::EntryKind;
use forge_model::task::AnnotationType;
use forge_model::workflow::StateKind;
use forge_model::workspace::WorkspaceStatus;
use forge_store::Tx;
use forge_store::table::executions::ExecutionRow;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        admission::Looked,
        again::re_enter,
        block_reason::BlockReason,
        entry::corrupt_step,
        lineage::audits,
        moves::{EntryInput, Move},
        retry_budget,
        world::step::{Effect, End, Finding, Stepping},
    },
    cost,
    error::Result,
    hook,
    subtask::{self, open_parts, turns::frame},
};

/// How many earlier corrections a prompt carries; older ones are in the history, not in the prompt.
const CORRECTIONS_CARRIED: usize = 3;

/// Decides whether the task is next for a place of its agent, where the scheduler's pass does not.
pub(crate) async fn admit(world: &World, s: &Stepping) -> Result<End> {
    let looked = core::admission::look(world, &s.task.id).await?;
    Ok(End::Found(Arc::new(Admission(looked))))
}

/// Gives the task a place of its agent, or lets it wait for one.
struct Admission(Looked);

#[async_trait]
impl Finding for Admission {
    async fn decide(
        &self,
        world: &World,
        tx: &mut Tx,
        s: &mut Stepping,
        effects: &mut Vec<Effect>,
    ) -> Result<End> {
        // A place that was given meanwhile would be kept for nobody.
        let Some(agent) = core::admission::agent_for(tx, &s.context, &s.task).await? else {
            core::admission::needs_no_place(tx, &s.task.id, effects).await?;
            return Ok(End::skipped("the role has no agent"));
        };
        if earlier_pass_stands(s) {
            core::admission::needs_no_place(tx, &s.task.id, effects).await?;
            return Ok(End::skipped("the earlier result still applies"));
        }
        core::admission::take_place(world, tx, s, (&agent, self.0.clone()), effects).await
    }
}

/// Records an execution of the agent that holds the state's role; its process starts after the commit.
pub(crate) async fn dispatch(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let Some(state) = s.context.workflow.state(&s.task.status) else {
        return Ok(End::skipped("no such state"));
    };
    let Some(agent) = core::admission::agent_for(tx, &s.context, &s.task).await? else {
        core::admission::needs_no_place(tx, &s.task.id, effects).await?;
        return Ok(End::skipped(format!(
            "the role {} has no agent",
            state.role.as_deref().unwrap_or("of this state")
        )));
    };
    let role = match state.kind {
        StateKind::Active => ExecutionRole::Coder,
        StateKind::Gate if state.plans() => ExecutionRole::Planner,
        StateKind::Gate if earlier_pass_stands(s) => {
            core::admission::needs_no_place(tx, &s.task.id, effects).await?;
            return Ok(End::skipped("the earlier result still applies"));
        }
        StateKind::Gate => ExecutionRole::Reviewer,
        kind => {
            return Ok(End::skipped(format!(
                "agents start in states for work, plan or review; {} is a {kind}",
                state.name
            )));
        }
    };
    let workspace = tx.workspaces().last(&s.task.id).await?;
    let Some(workspace) = workspace.filter(|workspace| workspace.status == WorkspaceStatus::Active) else {
        core::admission::needs_no_place(tx, &s.task.id, effects).await?;
        return Ok(End::skipped("no workspace"));
    };
    if let Some(open) = tx.executions().open(Some(std::slice::from_ref(&s.task.id))).await?.first() {
        return Ok(End::Ok(Some(format!("run {} is already active", open.execution.id))));
    }
    let is_good = match tx.slots().of(&s.task.id).await? {
        Some(place) => core::admission::is_place_good(world, tx, s, &place).await?,
        None => false,
    };
    if !is_good {
        // Since it had one it was on hold, its role changed hands, or its agent or project was paused.
        core::admission::needs_no_place(tx, &s.task.id, effects).await?;
        let place = core::admission::take_place_again(world, tx, s, &agent, effects).await?;
        if !matches!(place, End::Ok(_)) {
            return Ok(place);
        }
    }
    let input: EntryInput = s
        .step
        .params
        .clone()
        .map(serde_json::from_value)
        .transpose()
        .map_err(corrupt_step)?
        .unwrap_or_default();
    if let Some(message) = cost::meter::own_limit_reached(world, tx, &s.context, &s.task).await? {
        return Ok(End::Block(BlockReason::new(AnnotationType::ExecutorFailed, message)));
    }
    let previous = match role {
        ExecutionRole::Coder => core::lineage::last_work(tx, &s.task.id).await?,
        _ => tx.executions().last_of(&s.task.id, role).await?,
    };
    let session = super::sessions::session_for(tx, s, &agent, role, previous.as_ref(), &input).await?;
    let turn = if input.subtask_turn {
        let Some(part) = subtask::turns::begin_turn(world, tx, s).await? else {
            effects.push(Effect::WakeWaiting);
            return Ok(End::skipped("no ordered subtask is open"));
        };
        Some(part)
    } else {
        None
    };
    let follow = if s.context.workflow.work_state().is_some_and(|work| work.name == s.task.status) {
        open_parts(tx, &s.context, &s.task.id).await?
    } else {
        Vec::new()
    };
    // What a person cleared by starting over is not brought up again.
    let of_this_start = previous.as_ref().filter(|row| row.after_transition > s.task.budget_boundary);
    // A part's turn is told what happened in that turn, no more.
    let of_this_turn = of_this_start
        .filter(|row| turn.as_ref().is_none_or(|part| row.execution.subtask_id.as_ref() == Some(&part.id)));
    // An auditor is told about earlier attempts by their reviews.
    let of_this_turn = of_this_turn.filter(|_| !audits(role));
    let mut corrections = of_this_turn.map(|row| row.corrections.clone()).unwrap_or_default();
    corrections.retain(|correction| !correction.is_of_one_turn());
    let messages = input.corrections.iter().filter_map(Correction::as_said).collect();
    corrections.extend(input.corrections);
    // A limit that is waited for again and again is told once.
    corrections.dedup();
    let surplus = corrections.len().saturating_sub(CORRECTIONS_CARRIED);
    corrections.drain(..surplus);
    frame(&mut corrections, turn.as_ref(), &follow);
    let left = s.context.workflow.state(&s.transition.from);
    let trigger = left.and_then(|left| left.triggers.get(&s.transition.trigger));
    if let Some(text) = trigger.filter(|trigger| trigger.to == s.task.status).and_then(|to| to.prompt.clone())
    {
        corrections.push(Correction::Workflow { text });
    }
    if !input.lessons.is_empty() {
        corrections.insert(0, Correction::Lessons { lessons: input.lessons });
    }
    let id: ExecutionId = world.new_id();
    let begun = Execution::begun(id.clone(), s.task.id.clone(), agent.id.clone(), role, world.now());
    let row = ExecutionRow {
        carry: session.carry,
        corrections,
        spends: input.spends,
        goes_on: input.goes_on,
        effort: core::lineage::effort_of(&agent),
        after_transition: tx.transitions().max_seq().await?,
        execution: Execution {
            machine_id: workspace.machine_id,
            subtask_id: turn.map(|part| part.id),
            attempt: tx.executions().count(&s.task.id, role.as_str()).await? + 1,
            session_mode: session.mode.0,
            from_session: session.from,
            parent_execution_id: if audits(role) {
                tx.executions().last_of(&s.task.id, ExecutionRole::Coder).await?.map(|row| row.execution.id)
            } else {
                previous.map(|row| row.execution.id)
            },
            cause: input.cause.unwrap_or_else(|| "started".to_owned()),
            messages,
            ..begun
        },
    };
    tx.executions_mut().insert(&row).await?;
    world
        .emit(
            tx,
            EventType::ExecutionStarted,
            &s.task,
            id.as_str(),
            &json!({ "agent_id": agent.id, "attempt": row.execution.attempt }),
        )
        .await?;
    hook::queue_work_start(tx, &s.context, &s.task, &s.transition, (&agent.id, &id)).await?;
    effects.push(Effect::Launch(s.task.id.clone(), id));
    Ok(End::Ok(Some(agent.name)))
}

/// Decides what follows a failed or refused run, or a conflict: another run within the budget, else a person.
pub(crate) async fn restart(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let is_merge_failed =
        s.context.workflow.merge_failed().is_some_and(|failed| failed.name == s.task.status);
    if is_merge_failed { fix_conflict(tx, s).await } else { run_again(world, tx, s, effects).await }
}

async fn fix_conflict(tx: &mut Tx, s: &Stepping) -> Result<End> {
    let input: EntryInput = s
        .step
        .params
        .clone()
        .map(serde_json::from_value)
        .transpose()
        .map_err(corrupt_step)?
        .unwrap_or_default();
    let retry = s.context.workflow.state(&s.task.status).and_then(|state| state.triggers.get("retry"));
    let Some(retry) = retry.filter(|_| input.fix_conflict) else {
        return Ok(End::skipped("the merge-fix budget is used up"));
    };
    if work_agent(tx, s).await?.is_none() {
        return Ok(End::skipped("no agent to resolve the conflict"));
    }
    let mut mv = Move::cascade(&retry.to, "retry", Cause::Merge, &s.transition);
    mv.reason.clone_from(&s.transition.reason);
    mv.input = EntryInput {
        corrections: input.corrections,
        cause: Some("merge conflict".to_owned()),
        ..EntryInput::default()
    };
    Ok(End::go(mv))
}

async fn work_agent(tx: &mut Tx, s: &Stepping) -> Result<Option<Agent>> {
    let Some(role) = s.context.work_role() else { return Ok(None) };
    let holder = tx.roles().holder(&s.task.id, role).await?;
    match holder.and_then(|holder| holder.id) {
        Some(id) => Ok(tx.agents().get(&id).await?),
        None => Ok(None),
    }
}

/// After a run that did not end well: again while the budget lasts and it makes sense, else blocked.
async fn run_again(world: &World, tx: &mut Tx, s: &mut Stepping, effects: &mut Vec<Effect>) -> Result<End> {
    let Some(last) = tx.executions().last(&s.task.id).await? else {
        return Ok(End::skipped("nothing ran"));
    };
    let lost = last.execution.status == ExecutionStatus::Lost;
    let error = last.execution.error.clone();
    let retryable = lost || error.as_ref().is_some_and(|error| RETRYABLE.contains(&error.code.as_str()));
    let what =
        error.as_ref().map_or_else(|| "Forge stopped while it ran".to_owned(), |error| error.message.clone());
    if error.as_ref().is_some_and(|error| error.code == "rate_limited") {
        return run_after_the_limit(world, tx, s, &last, effects).await;
    }
    let budget = retry_budget::budget(tx, &s.context, &s.task).await?.get(BudgetKind::Execution);
    if !retryable || !(lost || budget.allows()) {
        let kind = match error.as_ref().map(|error| error.code.as_str()) {
            Some("unavailable") => AnnotationType::ExecutorUnavailable,
            _ => AnnotationType::ExecutorFailed,
        };
        let mut trouble = BlockReason::new(kind, what);
        trouble.execution = Some(last.execution.id.clone());
        trouble.details = json!({ "error": error, "budget": budget });
        trouble.evidence = log_evidence(world, s, &last.execution).await;
        return Ok(End::Block(trouble));
    }
    let subtask_turn = subtask::turns::is_failed_turn(Some(&last));
    let mut input = EntryInput {
        cause: Some(if lost { "Forge was restarted" } else { "automatic restart" }.to_owned()),
        subtask_turn,
        goes_on: true,
        ..EntryInput::default()
    };
    input.corrections.push(Correction::Interrupted { what });
    // Forge's own end is not the agent's fault and spends nothing.
    input.spends = (!lost).then_some(BudgetKind::Execution);
    re_enter(world, tx, s, input, effects).await?;
    Ok(End::Ok(Some("another run follows".to_owned())))
}

/// After a run that its provider cut short: another one that spends nothing. Its place is given when the
/// agent's limit is over.
async fn run_after_the_limit(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    last: &ExecutionRow,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    let what = "rate limited by the provider".to_owned();
    let input = EntryInput {
        cause: Some("the rate limit ended".to_owned()),
        corrections: vec![Correction::Interrupted { what }],
        subtask_turn: subtask::turns::is_failed_turn(Some(last)),
        goes_on: true,
        ..EntryInput::default()
    };
    re_enter(world, tx, s, input, effects).await?;
    Ok(End::Ok(Some("resumes when the rate limit ends".to_owned())))
}

/// The end of a run's output, for people to see why it failed.
pub(crate) async fn log_evidence(
    world: &World,
    s: &Stepping,
    execution: &Execution,
) -> Option<forge_model::task::Evidence> {
    let dir = world.log_dir(&s.task.project_id, &s.task.id);
    let log_id = execution.log_id.clone();
    let page =
        tokio::task::spawn_blocking(move || forge_agents::LogReader::page(&dir, &log_id, None, None, 20))
            .await
            .ok()?
            .ok()?;
    let lines: Vec<String> = page
        .entries
        .iter()
        // What it was told says nothing about what it did.
        .filter(|entry| entry.kind != EntryKind::UserMessage)
        .filter_map(|entry| {
            entry.body.get("text").or_else(|| entry.body.get("output")).and_then(|text| text.as_str())
        })
        .map(|text| text.trim_end().to_owned())
        .collect();
    let mut output = lines.join("\n");
    let cut = output.len().saturating_sub(4096);
    let cut = (cut..output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    output.drain(..cut);
    Some(forge_model::task::Evidence {
        command: None,
        exit_code: None,
        output,
        log_id: Some(execution.log_id.clone()),
    })
}

/// Whether a gate's work was passed before and only its merge was mended since: no auditor is asked again then.
fn earlier_pass_stands(s: &Stepping) -> bool {
    s.task.review_passed_at.is_some()
        && s.context.workflow.state(&s.task.status).is_some_and(forge_model::workflow::State::audits)
}

/// Agent errors after which another run may help.
const RETRYABLE: [&str; 4] = ["crashed", "silent", "model_error", "protocol"];
