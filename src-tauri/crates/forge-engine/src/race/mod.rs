//! Races: which tasks are raced, the tasks of their entries, and what is known of each.
//!
//! An entry is a row of `tasks` in an internal workflow (`forge_model::race::entry_workflow`), so it has everything
//! that a task has: worker, durable steps, worktree, runs, limits, recovery. It shows on no board, sends no
//! notification, and is moved by its race alone. The race continues whenever its task's step runs (`race/step.rs`),
//! which the end of each entry asks for.

pub(crate) mod contribution;
pub(crate) mod entries;
pub(crate) mod estimate;
pub(crate) mod fixes;
pub(crate) mod left;
pub(crate) mod step;

use forge_model::actor::Actor;
use forge_model::actor::Cause;
use forge_model::agent::Agent;
use forge_model::election::GateResult;
use forge_model::event::EventType;
use forge_model::execution::ExecutionRole;
use forge_model::ids::TaskId;
use forge_model::inner_loop::{Competitive, MAX_STRATEGIES, Strategy, TaskRace, is_strategy_name};
use forge_model::offer::Verb;
use forge_model::race::{Race, RaceEntry, RaceEntryStatus, RaceStatus};
use forge_model::review::{Review, ReviewStatus};
use forge_model::task::{ExecutionMode, HolderKind, RoleHolder};
use forge_model::workflow::{State, StateKind};
use forge_store::table::tasks::{QueuedTask, TaskRow};
use forge_store::{ReadConnection, Tx};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::ProjectContext,
        lineage::is_entry,
        moves::Move,
        world::{cx::Cx, features::Asked},
    },
    error::Result,
};

/// Whether nothing more comes of an entry by itself.
pub(crate) fn is_entry_over(context: &ProjectContext, entry: &TaskRow) -> bool {
    let kind = context.workflow.state(&entry.status).map(|state| state.kind);
    matches!(kind, None | Some(StateKind::Terminal | StateKind::Blocked)) || entry.error_annotation.is_some()
}

impl ProjectContext {
    /// How a task of its project is raced; none when it is not.
    pub(crate) fn race_of(&self, task: &TaskRow) -> Option<Competitive> {
        task.race.as_ref().and_then(|own| self.race_by(own))
    }

    /// The race that a task's own settings ask for, if the project has races.
    fn race_by(&self, own: &TaskRace) -> Option<Competitive> {
        Some(self.settings.inner_loop.race_of(own)).filter(|race| own.enabled && race.enabled)
    }
}

/// Every race of a task, oldest first; of one that runs, entries are told as they are now.
pub(crate) async fn races(world: &World, id: &TaskId) -> Result<Vec<Race>> {
    let mut conn = world.store().read().await?;
    let (_, context) = core::load::load(world, &mut conn, id, None).await?;
    let mut all = conn.races().list(id).await?;
    if let Some(race) = all.last_mut().filter(|race| race.status == RaceStatus::Running) {
        let context = context.for_entries()?;
        for entry in race.entries.iter_mut().filter(|entry| entry.status == RaceEntryStatus::Running) {
            look_at_entry(&mut conn, &context, &race.base_commit, entry).await?;
            entry.duration_ms = entry.started_at.map(|at| world.now().since(at));
        }
    }
    Ok(all)
}

/// Whether entering `state` starts a race instead of an agent.
pub(crate) async fn enters_race(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
    state: &State,
) -> Result<bool> {
    if !is_raced_in(context, state) || is_entry(task) {
        return Ok(false);
    }
    let last = conn.races().last(&task.id).await?.map(|race| race.status);
    Ok(races_after(last, || context.race_of(task).is_some()))
}

/// The same of a task in the queue.
pub(crate) fn is_raced(context: &ProjectContext, task: &QueuedTask, state: &State) -> bool {
    let asks = || task.race.as_ref().is_some_and(|race| context.race_by(race).is_some());
    is_raced_in(context, state) && !task.is_entry && races_after(task.last_race, asks)
}

fn is_raced_in(context: &ProjectContext, state: &State) -> bool {
    let works = state.kind == StateKind::Active && state.role.is_some();
    works && context.workflow.work_state().is_some_and(|work| work.name == state.name)
}

fn races_after(last: Option<RaceStatus>, asks: impl FnOnce() -> bool) -> bool {
    match last {
        // Once there is a winner, its work is gone on with.
        Some(RaceStatus::Promoted) => false,
        // One that was begun is ended, whatever the settings say since.
        Some(RaceStatus::Decided) => true,
        _ => asks(),
    }
}

/// Who races: as the task or the project says, else every enabled agent, of many the first [`MAX_STRATEGIES`].
pub(crate) async fn strategies_of(conn: &mut ReadConnection, race: &Competitive) -> Result<Vec<Strategy>> {
    if !race.strategies.is_empty() {
        return Ok(race.strategies.clone());
    }
    let all = conn.agents().list().await?;
    let enabled = all.into_iter().filter(|agent| !agent.paused);
    Ok(enabled.take(MAX_STRATEGIES).map(|agent| strategy_of(&agent)).collect())
}

/// The tasks that the entries of a new race are worked on as.
pub(crate) async fn make_entries(
    cx: &mut Cx<'_>,
    context: &ProjectContext,
    task: &TaskRow,
    strategies: &[Strategy],
    reviewer: Option<&RoleHolder>,
) -> Result<Vec<RaceEntry>> {
    let workflow = &context.for_entries()?.workflow;
    let initial =
        workflow.initial().ok_or_else(|| EngineError::not_found("state", "of kind initial"))?.name.clone();
    let made = cx.tx.tasks().race_entries(&task.id).await?;
    let mut place = made.iter().filter_map(|entry| entry.race_place).max().unwrap_or(0);
    let mut entries = Vec::with_capacity(strategies.len());
    for strategy in strategies {
        place += 1;
        let (project, title) = (task.project_id.clone(), task.title.clone());
        let row = TaskRow {
            race_place: Some(place),
            description: task.description.clone(),
            priority: task.priority,
            position: task.position,
            parent_id: Some(task.id.clone()),
            execution_mode: ExecutionMode::RaceEntry,
            review_config: task.review_config.clone(),
            merge_config: task.merge_config.clone(),
            task_state_config: task.task_state_config.clone(),
            machines: task.machines.clone(),
            held: task.held,
            ..TaskRow::new(cx.new_id(), project, task.number, title, initial.clone(), cx.now)
        };
        cx.tx.tasks_mut().insert(&row).await?;
        let coder = RoleHolder { kind: HolderKind::Agent, id: Some(strategy.agent_id.clone()) };
        cx.tx.roles_mut().put(&row.id, "coder", Some(&coder)).await?;
        cx.tx.roles_mut().put(&row.id, "reviewer", reviewer).await?;
        entries.push(RaceEntry::queued(strategy.clone(), row.id));
    }
    Ok(entries)
}

/// Brings what is known of an entry up to date from its rows.
pub(crate) async fn look_at_entry(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    base: &str,
    entry: &mut RaceEntry,
) -> Result<()> {
    let Some(task) = conn.tasks().get(&entry.task_id).await? else { return Ok(()) };
    let runs = conn.executions().list(&task.id).await?;
    let work: Vec<_> =
        runs.iter().map(|row| &row.execution).filter(|run| run.role == ExecutionRole::Coder).collect();
    entry.commit = work.iter().rev().find_map(|run| run.after_commit.clone());
    let unknown = work.is_empty() || work.iter().any(|run| run.cost_micro_usd.is_none());
    entry.cost_micro_usd = (!unknown).then(|| work.iter().filter_map(|run| run.cost_micro_usd).sum());
    entry.diff_stat = task.diff_stat;
    let review = conn.reviews().last(&task.id).await?;
    if let Some(judged) = review.as_ref().and_then(|review| review.reviewed_commit.clone()) {
        // What the checks changed themselves is part of what they passed on.
        entry.commit = Some(judged);
    }
    let checks = context.review_config(&task).check_count();
    entry.checks = u32::try_from(checks).ok();
    entry.gate = gate_of(review.as_ref(), checks);
    entry.score = review
        .iter()
        .flat_map(|review| &review.audits)
        .rev()
        .find_map(|report| report.audit.score)
        .map(f64::from);
    let changed = entry.commit.as_deref().is_some_and(|commit| commit != base);
    let is_judged = review
        .as_ref()
        .is_some_and(|review| matches!(review.status, ReviewStatus::Passed | ReviewStatus::Failed));
    if !changed && (entry.gate == GateResult::Passed || (checks == 0 && is_judged)) {
        // To do nothing is cheap, and passes every check that passed before.
        entry.gate = GateResult::NotRun;
        entry.reason = Some("it changed nothing".to_owned());
    }
    Ok(())
}

/// Makes an entry the winner by a person's word, whatever the rules say.
pub(crate) async fn select_winner(cx: &mut Cx<'_>, task: &TaskRow, actor: Actor, name: &str) -> Result<()> {
    let race = cx.tx.races().last(&task.id).await?;
    let mut race = race
        .filter(|race| matches!(race.status, RaceStatus::AwaitingCrown | RaceStatus::NoWinner))
        .ok_or_else(|| EngineError::conflict(ConflictCode::NotAwaiting, "no race waits for a winner"))?;
    let entry = race.entry(name).ok_or_else(|| {
        let names: Vec<&str> = race.entries.iter().map(|entry| entry.strategy.as_str()).collect();
        EngineError::invalid(
            "entry",
            format!("the race has no entry `{name}`; its entries are {}", names.join(", ")),
        )
    })?;
    if entry.commit.as_ref().is_none_or(|commit| *commit == race.base_commit) {
        return Err(EngineError::invalid("entry", format!("the work of `{name}` no longer exists")));
    }
    let facts = json!({ "winner": name, "elected": race.elected, "decidedBy": actor });
    race.choose(name, actor);
    race.status = RaceStatus::Decided;
    race.finished_at = None;
    cx.tx.races_mut().put(&race).await?;
    cx.emit(EventType::RaceCrowned, task, race.id.as_str(), &facts).await
}

/// Gives up a race that was decided but whose winner's work could not become the task's.
pub(crate) async fn give_race_up(cx: &mut Cx<'_>, task: &TaskRow) -> Result<()> {
    let Some(mut race) = cx.tx.races().last(&task.id).await?.filter(|race| !race.status.is_over()) else {
        return Ok(());
    };
    race.status = RaceStatus::Cancelled;
    race.finished_at = Some(cx.now);
    Ok(cx.tx.races_mut().put(&race).await?)
}

/// How an entry's checks ended, from its last review.
fn gate_of(review: Option<&Review>, checks: usize) -> GateResult {
    let Some(review) = review else { return GateResult::NotRun };
    let failed = |step: &forge_model::review::ReviewStep| {
        step.finished && (step.timed_out || step.exit_code != Some(0) || !step.changed_files.is_empty())
    };
    if review.steps.iter().any(|step| step.finished && step.timed_out) {
        return GateResult::TimedOut;
    }
    if review.steps.iter().any(failed) {
        return GateResult::Failed;
    }
    let ended = review.steps.iter().filter(|step| step.finished).count();
    // Without checks nothing passed.
    if checks > 0 && ended >= checks { GateResult::Passed } else { GateResult::NotRun }
}

/// An agent that races as it is, by its own name as far as that can be one.
fn strategy_of(agent: &Agent) -> Strategy {
    let plain: String = agent
        .name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .take(forge_model::inner_loop::MAX_STRATEGY_NAME)
        .collect();
    let plain = plain.trim_matches(['.', '-']).to_owned();
    let name = if is_strategy_name(&plain) { plain } else { format!("agent-{}", short(agent.id.as_str())) };
    Strategy { name, agent_id: agent.id.clone(), model: None, effort: None, prompt_suffix: None }
}

fn short(id: &str) -> &str {
    id.get(id.len().saturating_sub(8)..).unwrap_or(id)
}

/// Names that several agents came to have are told apart by the agents' identities.
pub(crate) fn tell_apart(mut strategies: Vec<Strategy>) -> Vec<Strategy> {
    for index in 1..strategies.len() {
        let (before, rest) = strategies.split_at_mut(index);
        if let Some(this) = rest.first_mut()
            && before.iter().any(|other| other.name == this.name)
        {
            this.name = format!("agent-{}", short(this.agent_id.as_str()));
        }
    }
    strategies
}

/// A second in milliseconds.
pub(crate) const SECOND_MS: i64 = 1000;

/// Moves an entry where nothing more is done about it.
pub(crate) async fn put_out(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    entry: &TaskId,
) -> Result<()> {
    let Some(mut task) = tx.tasks().get(entry).await? else { return Ok(()) };
    if context.workflow.state(&task.status).is_some_and(State::is_terminal) {
        return Ok(());
    }
    let out = context.workflow.cancellation_state.clone();
    let mv = Move::by(&out, "cancel", Actor::System { cause: Cause::Workflow });
    core::transition::apply(world, tx, context, &mut task, mv).await.map(drop)
}

/// What an action that a person took means for the task's race.
pub(crate) async fn act(cx: &mut Cx<'_>, task: &mut TaskRow, asked: Asked<'_>) -> Result<()> {
    match asked.verb {
        Verb::Crown => select_winner(cx, task, asked.actor.clone(), asked.text.unwrap_or_default()).await,
        Verb::RaceAgain => give_race_up(cx, task).await,
        Verb::SingleAgent => {
            give_race_up(cx, task).await?;
            if let Some(race) = &mut task.race {
                race.enabled = false;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Forgets a winner whose work is set aside.
pub(crate) async fn forget_winner(tx: &mut Tx, task: &TaskRow) -> Result<()> {
    if let Some(mut race) = tx.races().last(&task.id).await?
        && race.status == RaceStatus::Promoted
    {
        race.status = RaceStatus::Cancelled;
        tx.races_mut().put(&race).await?;
    }
    Ok(())
}
