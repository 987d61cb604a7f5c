//! The watchdog: finds tasks that nothing acts on, when a worker ends, at start, and by a slow timer, and gives them
//! to a person.
//!
//! What acts on an open task is a pending step, an agent's run, a wait that ends by itself, or a person: who holds
//! the state's role, whom a gate asks, who moved the card into a state that nothing leads out of, or who is told by
//! an annotation.

use std::time::Duration;

use forge_agents::marker_of;
use forge_model::actor::Cause;
use forge_model::execution::ExecutionStatus;
use forge_model::ids::TaskId;
use forge_model::review::ReviewStatus;
use forge_model::task::{AnnotationType, HolderKind};
use forge_model::workflow::{Action, Audience, State, StateKind};
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;

use crate::{
    Work, World,
    core::{
        self, block_reason::BlockReason, context::ProjectContext, lineage::is_ordered,
        transition::is_reviewed,
    },
    error::Result,
};

/// How often all tasks are looked at. What goes on is found out by events; this finds what fell between.
const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);

/// Looks at one task after its worker ended, and gives it to a person when nobody acts on it.
pub(crate) async fn watch_over(world: &World, id: &TaskId) {
    if world.inner.shutdown.is_cancelled() || world.inner.config.work == Work::Nothing {
        return;
    }
    if let Err(error) = look_after(world, id).await {
        tracing::error!(task = %id, %error, "failed to see whether somebody acts on a task");
    }
}

/// Looks at all tasks now and then, from now on.
pub(crate) fn keep_watch(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        loop {
            if let Err(error) = look_after_all(&world).await {
                tracing::error!(%error, "failed to look for tasks that nobody acts on");
            }
            if !super::sleep::pause(&world, LOOK_EVERY).await {
                return;
            }
        }
    });
}

async fn look_after_all(world: &World) -> Result<()> {
    let all = world.store().read().await?.projects().list().await?;
    for row in all {
        let idle = {
            let mut conn = world.store().read().await?;
            let context = super::contexts::context(world, &mut conn, &row.project.id).await?;
            let entries = context.for_entries()?;
            let states = context.workflow.states.iter().chain(&entries.workflow.states);
            let states = states.filter(|state| is_watched(state));
            let states: Vec<String> = states.map(|state| state.name.clone()).collect();
            conn.tasks().idle(&row.project.id, &states).await?
        };
        for task in idle {
            look_after(world, &task.id).await?;
        }
    }
    Ok(())
}

async fn look_after(world: &World, id: &TaskId) -> Result<()> {
    let adrift = {
        let mut conn = world.store().read().await?;
        match conn.tasks().get(id).await? {
            Some(task) => {
                let context = super::contexts::context_of(world, &mut conn, &task).await?;
                is_adrift(world, &mut conn, &context, &task).await?
            }
            None => false,
        }
    };
    if !adrift {
        return Ok(());
    }
    // The second look, while nobody can write.
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(id).await? else { return Ok(()) };
    let context = super::contexts::context_of(world, &mut tx, &task).await?;
    if !is_adrift(world, &mut tx, &context, &task).await? {
        return Ok(());
    }
    tracing::warn!(task = %id, state = %task.status, "nobody acts on a task; it goes to a person");
    for row in tx.executions().open(Some(std::slice::from_ref(id))).await? {
        let mut lost = row.execution;
        lost.status = ExecutionStatus::Lost;
        lost.finished_at = Some(world.now());
        tx.executions_mut().update(&lost).await?;
        tx.processes_mut().delete(&marker_of(lost.id.as_str()).0).await?;
    }
    let message = format!("nothing is running, waiting or pending for this task in {}", task.status);
    let trouble = BlockReason::new(AnnotationType::RecoveryRequired, message);
    super::transition::block(world, &mut tx, &context, &mut task, trouble, Cause::Recovery).await?;
    tx.commit().await?;
    super::workers::kick(world, id);
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Whether an open task has neither an owner nor a reason to wait.
async fn is_adrift(
    world: &World,
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskRow,
) -> Result<bool> {
    let Some(state) = context.workflow.state(&task.status).filter(|state| is_watched(state)) else {
        return Ok(false);
    };
    // The parent acts on an ordered part.
    if is_ordered(task) || task.waiting.is_some() || task.error_annotation.is_some() {
        return Ok(false);
    }
    if super::workers::is_attended(world, &task.id)
        || world.features().moments.attends.iter().any(|attends| attends(world, &task.id))
        || conn.steps().any_open(&task.id).await?
    {
        return Ok(false);
    }
    Ok(!person_acts(conn, task, state).await?)
}

fn is_watched(state: &State) -> bool {
    match state.kind {
        StateKind::Active | StateKind::Gate | StateKind::Custom => true,
        StateKind::Backlog | StateKind::Initial | StateKind::Blocked | StateKind::Terminal => false,
    }
}

/// Whether it is a person's turn.
async fn person_acts(conn: &mut ReadConnection, task: &TaskRow, state: &State) -> Result<bool> {
    let holder = match &state.role {
        Some(role) => conn.roles().holder(&task.id, role).await?,
        None => None,
    };
    let agent_holds = holder.is_some_and(|holder| holder.kind == HolderKind::Agent);
    Ok(match state.kind {
        StateKind::Active => {
            let moved = conn.transitions().last(&task.id).await?;
            let starts = moved.map_or(state.dispatches(), |moved| state.dispatches_for(moved.audience));
            !agent_holds || !starts
        }
        StateKind::Gate => {
            let decides = [
                Action::AutoCascadeOnReviewPass,
                Action::AutoCascadeOnUnassignedRole,
                Action::AutoCascadeOnMergeResult,
                Action::RunMerge,
            ];
            let is_asked = conn.reviews().last(&task.id).await?.is_some_and(|review| {
                is_reviewed(state)
                    && review.state == state.name
                    && matches!(review.status, ReviewStatus::AwaitingHuman | ReviewStatus::Passed)
            });
            is_asked
                || !decides.iter().any(|action| state.has_action(*action))
                || put_there(conn, task).await?
        }
        StateKind::Custom => !agent_holds || put_there(conn, task).await?,
        StateKind::Backlog | StateKind::Initial | StateKind::Blocked | StateKind::Terminal => true,
    })
}

/// Whether a person put the task where it is.
async fn put_there(conn: &mut ReadConnection, task: &TaskRow) -> Result<bool> {
    let last = conn.transitions().last(&task.id).await?;
    Ok(last.is_some_and(|last| last.audience == Audience::UserOnly && last.cascade_depth == 0))
}
