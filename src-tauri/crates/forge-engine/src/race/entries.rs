//! The entries of a race: starting them and counting their ends.

use forge_model::actor::{Actor, Cause};
use forge_model::event::EventType;
use forge_model::race::{Race, RaceEntryStatus};
use forge_model::task::AnnotationType;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        context::{ProjectContext, task_branch},
        moves::Move,
        world::step::Stepping,
    },
    error::Result,
    race::{SECOND_MS, is_entry_over, put_out},
    run,
};

/// Writes down what is known of entries that are over, and ends those whose time is up.
pub(crate) async fn record_ended_entries(
    world: &World,
    s: &Stepping,
    context: &ProjectContext,
    race: &mut Race,
) -> Result<()> {
    let now = world.now();
    let (base, limit) = (race.base_commit.clone(), i64::from(race.timeout_sec) * SECOND_MS);
    for entry in race.entries.iter_mut().filter(|entry| entry.status == RaceEntryStatus::Running) {
        let late = entry.started_at.is_some_and(|at| now.since(at) >= limit);
        let hold = if late { Some(core::workers::hold(world, &entry.task_id).await) } else { None };
        if late {
            run::running::stop_run(world, &entry.task_id).await;
        }
        let Some(task) = world.store().read().await?.tasks().get(&entry.task_id).await? else {
            continue;
        };
        let done = is_entry_over(context, &task);
        if !done && !late {
            continue;
        }
        let unsaved = super::left::save_entry(world, context, &task, &base).await;
        let mut tx = world.store().write().await?;
        super::look_at_entry(&mut tx, context, &base, entry).await?;
        if let Some(saved) = unsaved {
            saved.into_entry(entry);
        }
        entry.status = match (done, &task.error_annotation) {
            (false, _) => RaceEntryStatus::TimedOut,
            (true, None) => RaceEntryStatus::Finished,
            (true, Some(trouble)) => {
                // Failed checks and a verdict are an entry's own end: it did all that it does.
                let judged = matches!(
                    trouble.kind,
                    AnnotationType::ReviewBudgetExhausted | AnnotationType::ReviewStagnant
                );
                entry.reason = Some(trouble.message.clone());
                if judged { RaceEntryStatus::Finished } else { RaceEntryStatus::Failed }
            }
        };
        if entry.status == RaceEntryStatus::TimedOut {
            entry.reason = Some(format!("its {} seconds were up", race.timeout_sec));
        }
        entry.finished_at = Some(now);
        entry.duration_ms = entry.started_at.map(|at| now.since(at));
        tx.races_mut().put_entry(&race.id, entry).await?;
        let facts = json!({
            "name": entry.strategy, "status": entry.status, "gate": entry.gate,
            "score": entry.score, "cost_micro_usd": entry.cost_micro_usd,
        });
        world.emit(&mut tx, EventType::RaceEntryFinished, &s.task, race.id.as_str(), &facts).await?;
        if !done {
            put_out(world, &mut tx, context, &entry.task_id).await?;
        }
        tx.commit().await?;
        core::scheduler::wake_waiting(world);
        world.point("race.entry_finished");
        drop(hold);
    }
    Ok(())
}

/// Starts as many of those that wait for their turn as may run.
pub(crate) async fn start_entries(
    world: &World,
    s: &Stepping,
    context: &ProjectContext,
    race: &mut Race,
) -> Result<()> {
    let running = race.entries.iter().filter(|entry| entry.status == RaceEntryStatus::Running).count();
    let free = usize::try_from(race.max_parallel).unwrap_or(usize::MAX).saturating_sub(running);
    let waiting = race.entries.iter_mut().filter(|entry| entry.status == RaceEntryStatus::Queued);
    for entry in waiting.take(free) {
        let mut tx = world.store().write().await?;
        let Some(mut task) = tx.tasks().get(&entry.task_id).await? else { continue };
        let Some(to) = context.workflow.work_state().map(|state| state.name.clone()) else { continue };
        let mv = Move::by(&to, "accept", Actor::System { cause: Cause::Workflow });
        core::transition::apply(world, &mut tx, context, &mut task, mv).await?;
        entry.status = RaceEntryStatus::Running;
        entry.started_at = Some(world.now());
        entry.branch = Some(task_branch(&task));
        tx.races_mut().put_entry(&race.id, entry).await?;
        let facts = json!({ "name": entry.strategy });
        world.emit(&mut tx, EventType::RaceEntryStarted, &s.task, race.id.as_str(), &facts).await?;
        tx.commit().await?;
        world.point("race.entry_started");
        core::workers::kick(world, &entry.task_id);
    }
    Ok(())
}
