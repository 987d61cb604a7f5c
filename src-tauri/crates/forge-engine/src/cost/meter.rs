//! The cost meter: follows what a run costs, stores it, warns at 80 % of a limit, and stops the run at the limit.

use std::{collections::HashSet, time::Duration};

use forge_agents::{CostScope, Handle, LimitKind};
use forge_model::agent::{Agent, Profile};
use forge_model::execution::{Execution, Usage};
use forge_model::ids::ExecutionId;
use forge_model::notification::NotificationKind;
use forge_model::task::{WaitReason, Waiting};
use forge_model::time::Timestamp;
use forge_model::usage::UsageSample;
use forge_model::words::dollars;
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    World,
    core::{self, context::ProjectContext, day::day_of, lineage::is_entry, world::features::Obstacle},
    cost::prices::{Cost, Ledger},
    error::Result,
};

/// How often what a run has used is written while it goes on, at most.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// What one run spends.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    ledger: Ledger,
    /// What is known beyond that and not counted yet, by the calls of the model.
    estimate: Ledger,
    /// What goes with what was counted, see [`executions::set_used`].
    carry: Option<Value>,
    warned: Vec<CostScope>,
    written: Option<Instant>,
    /// Whether something was counted since.
    owes: bool,
}

/// What a run tells of its spending.
#[derive(Debug)]
pub(crate) enum Spent {
    /// Since the sample before, and what the next run of the conversation must know of it.
    Counted { sample: UsageSample, carry: Option<Value> },
    /// Beyond what was counted, in place of the estimate before.
    Estimated(Vec<UsageSample>),
}

/// Whose spending a meter watches.
pub(crate) struct Metered<'r> {
    pub context: &'r ProjectContext,
    pub task: &'r TaskRow,
    pub agent: &'r Agent,
    pub execution: &'r ExecutionId,
}

impl Meter {
    /// What the run cost, all told.
    pub(crate) fn cost(&self) -> Cost {
        self.ledger.with(&self.estimate).cost()
    }

    /// What the next run of the conversation must know, before anything was counted.
    pub(crate) fn carries(&mut self, carry: &Value) {
        self.carry = Some(carry.clone());
    }

    /// When what was counted last is to be written down; none when it is.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.owes.then(|| self.written.map_or_else(Instant::now, |at| at + WRITE_EVERY))
    }
}

/// Counts what a run spent, and stops it when that is too much.
pub(crate) async fn metered(
    world: &World,
    meter: &mut Meter,
    of: &Metered<'_>,
    spent: Spent,
    handle: &Handle,
) -> Result<()> {
    let prices = &of.context.settings.model_prices;
    match spent {
        Spent::Counted { sample, carry } => {
            meter.ledger.add(&sample, prices);
            meter.carry = carry.or_else(|| meter.carry.take());
        }
        Spent::Estimated(samples) if samples.is_empty() => {
            // What takes its place follows at once: nothing is written between the two.
            meter.estimate = Ledger::default();
            return Ok(());
        }
        Spent::Estimated(samples) => {
            meter.estimate = Ledger::default();
            samples.iter().for_each(|sample| meter.estimate.add(sample, prices));
        }
    }
    meter.owes = true;
    if meter.due().is_some_and(|due| due <= Instant::now()) {
        write_used(world, meter, of.execution).await?;
    }
    let known = meter.ledger.with(&meter.estimate).known_micro_usd();
    let limits = {
        let mut conn = world.store().read().await?;
        limits_of_cost(world, &mut conn, of.context, of.task, Some(of)).await?
    };
    for (scope, limit, before) in limits {
        let spent = before.saturating_add(known);
        if spent >= limit {
            handle.stop_at(LimitKind::Cost { micro_usd: limit, of: scope });
        }
        if spent >= limit / 5 * 4 && !meter.warned.contains(&scope) {
            meter.warned.push(scope);
            warn_of_cost(world, of, scope, spent, limit).await?;
        }
    }
    Ok(())
}

/// Writes down what was counted, with what the next run of the conversation must know of it.
pub(crate) async fn write_used(world: &World, meter: &mut Meter, execution: &ExecutionId) -> Result<()> {
    meter.written = Some(Instant::now());
    let mut tx = world.store().write().await?;
    if let Some(row) = tx.executions().get(execution).await? {
        let mut execution = row.execution;
        meter.cost().write_into(&mut execution);
        tx.executions_mut().set_used(&execution, meter.carry.as_ref()).await?;
    }
    tx.commit().await?;
    meter.owes = false;
    Ok(())
}

/// The limits of cost that count for a task's run, each with what was spent of it before, in micro-dollars.
pub(crate) async fn limits_of_cost(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
    of: Option<&Metered<'_>>,
) -> Result<Vec<(CostScope, u64, u64)>> {
    let settings = &context.settings.cost_limits;
    let execution = of.map(|of| of.execution);
    let mut limits = Vec::new();
    let of_profile = of.and_then(|of| Profile::of(of.agent).cost_micro_usd);
    let of_run = [settings.execution_micro_usd, of_profile].into_iter().flatten().min();
    if let Some(limit) = of_run.filter(|_| of.is_some()) {
        limits.push((CostScope::Run, limit, 0));
    }
    if let Some(limit) = settings.task_micro_usd {
        // An entry's runs are its task's.
        let whose = task.parent_id.as_ref().filter(|_| is_entry(task)).unwrap_or(&task.id);
        limits.push((CostScope::Task, limit, conn.executions().cost_of_task(whose, execution).await?));
    }
    if let Some(limit) = settings.day_micro_usd {
        let since = day_of(world.now()).0;
        let spent = conn.executions().cost_since(&task.project_id, since, execution).await?;
        limits.push((CostScope::Day, limit, spent));
    }
    Ok(limits)
}

/// The limit of cost that keeps a task's agent from being started, and when it no longer does, if it goes away
/// by itself.
pub(crate) async fn cost_reached(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<(CostScope, u64, Option<Timestamp>)>> {
    let limits = limits_of_cost(world, conn, context, task, None).await?;
    let reached = limits.into_iter().find(|(_, limit, spent)| spent >= limit);
    Ok(reached.map(|(scope, limit, _)| {
        let until = (scope == CostScope::Day).then(|| day_of(world.now()).1);
        (scope, limit, until)
    }))
}

/// What a task is told whose own limit of cost is reached: no day that begins helps it.
pub(crate) async fn own_limit_reached(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<Option<String>> {
    let reached = cost_reached(world, conn, context, task).await?.filter(|(.., until)| until.is_none());
    Ok(reached.map(|(_, limit, _)| format!("its runs have reached the task's limit of {}", dollars(limit))))
}

/// A limit that passes by itself and keeps the agents of a project from being started until then.
pub(crate) async fn wait_for_day(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
) -> Result<Option<Obstacle>> {
    let limits = &context.settings.cost_limits;
    let Some(limit) = limits.day_micro_usd else { return Ok(None) };
    let (since, until) = day_of(world.now());
    let spent = conn.executions().cost_since(&context.project.id, since, None).await?;
    if spent < limit {
        return Ok(None);
    }
    let message = format!("today's runs have reached the limit of {}", dollars(limit));
    let waiting = Waiting { reason: WaitReason::CostLimit, until: Some(until), files: Vec::new(), message };
    // A task whose own limit is reached would wait for a day that does not help it.
    let spares = match limits.task_micro_usd {
        Some(own) => conn.executions().tasks_that_cost(&context.project.id, own).await?,
        None => HashSet::new(),
    };
    Ok(Some(Obstacle { waiting, spares }))
}

async fn warn_of_cost(
    world: &World,
    of: &Metered<'_>,
    scope: CostScope,
    spent: u64,
    limit: u64,
) -> Result<()> {
    let (what, cause) = match scope {
        CostScope::Run => ("This run", format!("cost:run:{}", of.execution)),
        CostScope::Task => ("This task", format!("cost:task:{}:{limit}", of.task.id)),
        CostScope::Day => {
            ("Today's work in this project", format!("cost:day:{}:{limit}", day_of(world.now()).0.0))
        }
    };
    let body = format!("{what} has cost {} of at most {}.", dollars(spent), dollars(limit));
    let mut tx = world.store().write().await?;
    core::notices::notify(world, &mut tx, of.context, of.task, NotificationKind::Cost, &body, &cause).await?;
    tx.commit().await?;
    Ok(())
}

impl Cost {
    /// Writes it into the record of its run.
    pub(crate) fn write_into(self, execution: &mut Execution) {
        let mut usage = Usage::of_run(&self.models);
        usage.cost_micro_usd = self.micro_usd;
        usage.runs_of_unknown_cost = u32::from(self.micro_usd.is_none());
        execution.usage = usage;
        execution.cost_micro_usd = self.micro_usd;
        execution.cost_source = self.source;
        execution.price_version = self.price_version;
        execution.models = self.models;
    }
}
