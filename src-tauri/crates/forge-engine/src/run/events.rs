//! Events of a run while it lasts: its session, its approvals, what it spends. Each is stored at once, so that it
//! survives the run and this process.

use forge_agents::{Ask, Handle, ReportedWindow, RunCommand, RunEvent};
use forge_model::agent::LimitWindow;
use forge_model::approval::{Approval, ApprovalStatus};
use forge_model::event::EventType;
use forge_model::execution::ExecutionStatus;
use forge_model::ids::{ExecutionId, TaskId};
use forge_model::notification::NotificationKind;
use forge_model::time::Timestamp;
use forge_model::transition::{StepKind, StepOutcome, StepStatus};
use serde_json::json;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use crate::{
    EngineError, World,
    core::{self, guarded::guarded},
    cost::{
        self,
        meter::{Meter, Metered, Spent},
    },
    error::{Panic, Result},
    run,
};

/// The task that listens to one run.
#[derive(Debug)]
pub(crate) struct Listening(tokio::task::JoinHandle<Result<Meter, Panic>>);

impl Listening {
    /// What the run spent, once everything that it told is written down. The run's control must be gone.
    pub(crate) async fn over(self) -> Result<Meter> {
        let over = self.0.await;
        let listened =
            over.map_err(|error| EngineError::io("listen to a run")(std::io::Error::other(error)))?;
        Ok(listened?)
    }
}

/// Listens to a run until it is over.
pub(crate) fn listen_to_run(
    world: &World,
    task: TaskId,
    execution: ExecutionId,
    handle: Handle,
    mut told: mpsc::UnboundedReceiver<RunEvent>,
) -> Listening {
    let tracker = &world.inner.tracker;
    let (world, cancel) = (world.clone(), handle.cancel.clone());
    let listen = async move {
        let mut meter = Meter::default();
        // What was taken out of the queue to see whether it supersedes what came before it.
        let mut waiting = None;
        loop {
            let due = meter.due();
            let next = async { if waiting.is_some() { waiting.take() } else { told.recv().await } };
            let event = tokio::select! {
                biased;
                event = next => event,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    if let Err(error) = cost::meter::write_used(&world, &mut meter, &execution).await {
                        tracing::error!(%execution, %error, "failed to write down what a run used");
                    }
                    continue;
                }
            };
            let Some(event) = event else { break };
            let event = without_the_superseded(event, &mut told, &mut waiting);
            let heard = match event {
                RunEvent::Used { sample, carry } => {
                    let spent = Spent::Counted { sample, carry };
                    record_spent(&world, &task, &execution, (&handle, &mut meter), spent).await
                }
                RunEvent::Estimated { samples } => {
                    let spent = Spent::Estimated(samples);
                    record_spent(&world, &task, &execution, (&handle, &mut meter), spent).await
                }
                event => {
                    if let RunEvent::Carried { carry } = &event {
                        meter.carries(carry);
                    }
                    // Told once: it waits for a disk that refuses. What was spent is written by its total.
                    core::disk::with_patience(&world, || heard(&world, &task, &execution, event.clone()))
                        .await
                }
            };
            if let Err(error) = heard {
                tracing::error!(%execution, %error, "failed to write down what a run told");
            }
        }
        // Whatever becomes of the run's own end: what it used is known.
        if meter.due().is_some()
            && let Err(error) = cost::meter::write_used(&world, &mut meter, &execution).await
        {
            tracing::error!(%execution, %error, "failed to write down what a run used");
        }
        meter
    };
    Listening(tracker.spawn(async move {
        // A run that nobody listens to would wait for answers for ever.
        guarded(listen).await.inspect_err(|_| cancel.cancel())
    }))
}

async fn heard(world: &World, task: &TaskId, execution: &ExecutionId, event: RunEvent) -> Result<()> {
    match event {
        RunEvent::Session { id, .. } => {
            let mut tx = world.store().write().await?;
            if let Some(mut row) = tx.executions().get(execution).await? {
                row.execution.session_id = Some(id);
                tx.executions_mut().update(&row.execution).await?;
            }
            tx.commit().await?;
        }
        RunEvent::Asked(ask) => {
            asked(world, task, execution, redacted_ask(world, task, ask).await?).await?;
        }
        RunEvent::Withdrawn { id } => {
            let mut tx = world.store().write().await?;
            if tx.approvals_mut().expire(execution, Some(&id), world.now()).await? > 0 {
                question_settled(world, &mut tx, task, execution).await?;
            }
            tx.commit().await?;
        }
        // What was spent is counted apart.
        RunEvent::Used { .. } | RunEvent::Estimated { .. } => {}
        RunEvent::Carried { carry } => {
            let mut tx = world.store().write().await?;
            tx.executions_mut().set_carry(execution, Some(&carry)).await?;
            tx.commit().await?;
        }
        RunEvent::Windows { windows } => windows_reported(world, execution, windows).await?,
        RunEvent::Heard { id } => was_heard(world, task, &id).await?,
    }
    Ok(())
}

/// Keeps how full the limits of an agent's provider are. What did not change is written nowhere.
async fn windows_reported(
    world: &World,
    execution: &ExecutionId,
    windows: Vec<ReportedWindow>,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(row) = tx.executions().get(execution).await? else { return Ok(()) };
    let agent = row.execution.agent_id;
    let seen_at = world.now();
    let windows: Vec<LimitWindow> = windows
        .into_iter()
        .map(|it| LimitWindow {
            name: it.name,
            minutes: it.minutes,
            used_percent: it.used_percent,
            resets_at: it.resets_ms.map(Timestamp),
            seen_at,
        })
        .collect();
    let known = tx.limits().windows_of(&agent).await?;
    let Some(windows) = with_reported(&known, windows, seen_at) else { return Ok(()) };
    tx.limits_mut().put_windows(&agent, &windows).await?;
    tx.emit(EventType::AgentChanged, seen_at, None, None, agent.as_str(), &json!({})).await?;
    tx.commit().await?;
    Ok(())
}

/// The windows of an agent with those that were just reported; none when that changes nothing. A program may report one
/// window at a time: others stay until they begin anew.
fn with_reported(
    known: &[LimitWindow],
    reported: Vec<LimitWindow>,
    now: Timestamp,
) -> Option<Vec<LimitWindow>> {
    let is_known = |new: &LimitWindow| {
        known.iter().any(|old| *old == LimitWindow { seen_at: old.seen_at, ..new.clone() })
    };
    if reported.iter().all(is_known) {
        return None;
    }
    let is_kept = |old: &&LimitWindow| {
        old.resets_at.is_some_and(|at| at > now) && reported.iter().all(|new| new.name != old.name)
    };
    let kept: Vec<LimitWindow> = known.iter().filter(is_kept).cloned().collect();
    Some(reported.into_iter().chain(kept).collect())
}

/// A question without the secrets in its words. What it is answered by stays.
async fn redacted_ask(world: &World, task: &TaskId, ask: Ask) -> Result<Ask> {
    let mut conn = world.store().read().await?;
    let (_, context) = core::load::load(world, &mut conn, task, None).await?;
    let redactor = core::redaction::redactor_in(world, &context);
    Ok(Ask { title: redactor.string(ask.title), detail: redactor.json(ask.detail), ..ask })
}

async fn record_spent(
    world: &World,
    task: &TaskId,
    execution: &ExecutionId,
    (handle, meter): (&Handle, &mut Meter),
    spent: Spent,
) -> Result<()> {
    let (context, task, agent) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, task, None).await?;
        let row = conn.executions().get(execution).await?;
        let agent = match row {
            Some(row) => conn.agents().get(&row.execution.agent_id).await?,
            None => None,
        };
        (context, task, agent)
    };
    let Some(agent) = agent else { return Ok(()) };
    let of = Metered { context: &context, task: &task, agent: &agent, execution };
    cost::meter::metered(world, meter, &of, spent, handle).await
}

/// A message that waited for the end of the run was taken by the run itself.
async fn was_heard(world: &World, task: &TaskId, id: &str) -> Result<()> {
    let mut tx = world.store().write().await?;
    let open = tx.steps().open(task).await?;
    let said = open.into_iter().find(|step| step.kind == StepKind::FollowUp && step.id.to_string() == id);
    if let Some(mut step) = said {
        step.status = StepStatus::Done;
        step.outcome = Some(StepOutcome::Ok);
        step.reason = Some("said to the agent while it worked".to_owned());
        step.finished_at = Some(world.now());
        tx.steps_mut().update(&step).await?;
        super::attachments::queue_changed(world, &mut tx, task).await?;
    }
    tx.commit().await?;
    Ok(())
}

async fn asked(world: &World, task_id: &TaskId, execution: &ExecutionId, ask: Ask) -> Result<()> {
    let mut tx = world.store().write().await?;
    let (Some(task), Some(mut row)) = (tx.tasks().get(task_id).await?, tx.executions().get(execution).await?)
    else {
        return Ok(());
    };
    let approval = Approval {
        id: world.new_id(),
        project_id: task.project_id.clone(),
        task_id: task_id.clone(),
        // Who asks is told by the row that is stored.
        raced: None,
        execution_id: execution.clone(),
        agent_id: row.execution.agent_id.clone(),
        kind: ask.kind,
        ask: ask.id,
        title: ask.title,
        detail: ask.detail,
        options: ask.options,
        status: ApprovalStatus::Pending,
        answer: None,
        note: None,
        answered_by: None,
        asked_at: world.now(),
        answered_at: None,
    };
    let (id, title) = (approval.id.clone(), approval.title.clone());
    if tx.approvals_mut().insert(&approval).await? {
        row.execution.status = ExecutionStatus::Waiting;
        tx.executions_mut().update(&row.execution).await?;
        let facts = json!({ "approval_id": id, "kind": ask.kind });
        world.emit(&mut tx, EventType::ExecutionWaiting, &task, execution.as_str(), &facts).await?;
        let context = core::contexts::context_of(world, &mut tx, &task).await?;
        let (kind, cause) = (NotificationKind::AgentAsks, format!("approval:{id}"));
        core::notices::notify(world, &mut tx, &context, &task, kind, &title, &cause).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// A question of a run is settled; a run that waits for nothing any more goes on.
pub(crate) async fn question_settled(
    world: &World,
    tx: &mut forge_store::Tx,
    task: &TaskId,
    execution: &ExecutionId,
) -> Result<()> {
    let (Some(task), Some(mut row)) = (tx.tasks().get(task).await?, tx.executions().get(execution).await?)
    else {
        return Ok(());
    };
    let waiting = tx.approvals().pending(execution).await?;
    if row.execution.status == ExecutionStatus::Waiting && waiting == 0 {
        row.execution.status = ExecutionStatus::Running;
        tx.executions_mut().update(&row.execution).await?;
    }
    let facts = json!({ "waiting": waiting });
    world.emit(tx, EventType::ApprovalResolved, &task, execution.as_str(), &facts).await
}

/// Passes an answer on to the run that waits for it.
pub(crate) fn pass_on(world: &World, approval: &Approval) -> bool {
    let answer = RunCommand::Answer {
        ask: approval.ask.clone(),
        option: approval.answer.clone().unwrap_or_default(),
        note: approval.note.clone(),
    };
    run::running::tell_run(world, &approval.task_id, &approval.execution_id, answer)
}

/// An estimate takes the place of the one before: of those that wait in a row only the last is looked at, however fast
/// a program tells them. What follows them is put into `waiting`.
fn without_the_superseded(
    event: RunEvent,
    told: &mut mpsc::UnboundedReceiver<RunEvent>,
    waiting: &mut Option<RunEvent>,
) -> RunEvent {
    let mut last = event;
    while matches!(last, RunEvent::Estimated { .. })
        && waiting.is_none()
        && let Ok(next) = told.try_recv()
    {
        if matches!(next, RunEvent::Estimated { .. }) {
            last = next;
        } else {
            *waiting = Some(next);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use forge_model::usage::UsageSample;

    use super::*;

    fn estimate(output: u64) -> RunEvent {
        RunEvent::Estimated { samples: vec![UsageSample { output, ..UsageSample::default() }] }
    }

    #[test]
    fn report_of_one_window_keeps_others_until_they_begin_anew() {
        let window = |name: &str, used_percent, resets_at: Option<i64>, seen_at| LimitWindow {
            name: name.to_owned(),
            minutes: None,
            used_percent,
            resets_at: resets_at.map(Timestamp),
            seen_at: Timestamp(seen_at),
        };
        let known = [
            window("hours", 10, Some(50), 1),
            window("days", 20, Some(90), 1),
            window("past", 30, Some(5), 1),
            window("endless", 40, None, 1),
        ];
        let now = Timestamp(9);
        assert_eq!(with_reported(&known, vec![window("hours", 10, Some(50), 9)], now), None, "nothing new");
        let hours = window("hours", 11, Some(50), 9);
        assert_eq!(with_reported(&known, vec![hours.clone()], now), Some(vec![hours, known[1].clone()]));
        let first = window("hours", 1, None, 9);
        assert_eq!(with_reported(&[], vec![first.clone()], now), Some(vec![first]));
    }

    #[test]
    fn of_estimates_in_a_row_the_last_counts_and_nothing_else_is_lost() {
        let (tell, mut told) = mpsc::unbounded_channel();
        for event in [estimate(2), estimate(3), RunEvent::Heard { id: "a".to_owned() }, estimate(4)] {
            tell.send(event).unwrap();
        }
        let mut waiting = None;
        let first = without_the_superseded(estimate(1), &mut told, &mut waiting);
        assert!(matches!(&first, RunEvent::Estimated { samples } if samples[0].output == 3));
        let second = waiting.take().unwrap();
        assert!(matches!(&second, RunEvent::Heard { id } if id == "a"));
        assert!(matches!(without_the_superseded(second, &mut told, &mut waiting), RunEvent::Heard { .. }));
        assert!(waiting.is_none());
        assert!(
            matches!(told.try_recv().unwrap(), RunEvent::Estimated { samples } if samples[0].output == 4)
        );
    }
}
