//! The tasks that must be done before a task.

use forge_model::ids::TaskId;
use forge_model::task::AnnotationType;
use forge_model::workflow::StateKind;
use forge_store::ReadConnection;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    core::{block_reason::BlockReason, context::ProjectContext},
    error::Result,
};

/// Whether a task reached a terminal state other than the cancellation.
pub(crate) fn is_done(context: &ProjectContext, task: &TaskRow) -> bool {
    is_done_state(context, &task.status)
}

/// Whether a state is terminal and not the cancellation.
pub(crate) fn is_done_state(context: &ProjectContext, state: &str) -> bool {
    context.workflow.state(state).is_some_and(|state| {
        state.kind == StateKind::Terminal && state.name != context.workflow.cancellation_state
    })
}

/// What must be done before a task and is not; a cancelled prerequisite is not done either.
pub(crate) async fn open_prerequisites(
    conn: &mut ReadConnection,
    context: &ProjectContext,
    task: &TaskId,
) -> Result<Vec<TaskRow>> {
    let mut open = Vec::new();
    for id in conn.dependencies().of(task).await? {
        if let Some(other) = conn.tasks().get(&id).await?
            && !is_done(context, &other)
        {
            open.push(other);
        }
    }
    Ok(open)
}

/// Why a task cannot start whose prerequisite was cancelled.
pub(crate) fn prerequisite_cancelled(prerequisite: &TaskRow) -> BlockReason {
    let message =
        format!("#{} {}, which it depends on, was cancelled", prerequisite.number, prerequisite.title);
    let details = json!({ "prerequisite": prerequisite.id, "number": prerequisite.number });
    BlockReason { details, ..BlockReason::new(AnnotationType::DependencyCancelled, message) }
}

/// Tasks as people call them.
pub(crate) fn named(tasks: &[TaskRow]) -> String {
    tasks.iter().map(|task| format!("#{} {}", task.number, task.title)).collect::<Vec<_>>().join(", ")
}
