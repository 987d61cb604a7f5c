//! Claims: which roles a claim fills, and whether they are free.

use forge_model::actor::Actor;
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::task::{HolderKind, RoleHolder};
use forge_model::workflow::{Action, State, StateKind};
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext, guards::GuardRedirect, lineage::is_ordered},
    error::Result,
};

/// Writes the roles that a claim fills. Whoever takes the first step of a task that nobody else does also does
/// the work. The holder of the work does not become the holder of a step that tasks pass by without one.
pub(crate) async fn fill_claimed_roles(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    (target, role): (&State, &str),
    holder: &RoleHolder,
) -> Result<()> {
    let mut filled = vec![role];
    if let Some(work) = context.work_role().filter(|work| *work != role) {
        match tx.roles().holder(&task.id, work).await? {
            None => filled.push(work),
            Some(present) if present == *holder && target.has_action(Action::AutoCascadeOnUnassignedRole) => {
                filled.clear();
            }
            Some(_) => {}
        }
    }
    for role in filled {
        let present = tx.roles().holder(&task.id, role).await?;
        if present.as_ref() != Some(holder) {
            tx.roles_mut().put(&task.id, role, Some(holder)).await?;
            world.emit(tx, EventType::TaskAssigned, task, task.id.as_str(), &json!({ "role": role })).await?;
        }
    }
    Ok(())
}

/// Asks the guards of the state that a claim would leave; what cannot be claimed is told by the claim itself.
pub(crate) async fn ask_guards_of_claim(
    world: &World,
    actor: &Actor,
    id: &TaskId,
    version: Option<u32>,
) -> Result<Option<GuardRedirect>> {
    let (task, context) = {
        let mut conn = world.store().read().await?;
        core::load::load_own(world, &mut conn, id, version).await?
    };
    let leaves = context.workflow.claim_target(&task.status).is_some_and(|to| to.name != task.status);
    if leaves && !is_ordered(&task) {
        return core::guards::ask_guards(world, &context, &task, actor.audience()).await;
    }
    Ok(None)
}

/// Refuses a claim for another agent than the one that works on the task.
pub(crate) async fn require_same_agent(
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    holder: &RoleHolder,
) -> Result<()> {
    let at_work = context.workflow.state(&task.status).filter(|state| state.kind == StateKind::Active);
    let Some(role) = at_work.and_then(|state| state.role.as_deref()) else { return Ok(()) };
    match tx.roles().holder(&task.id, role).await? {
        Some(present) if present != *holder => Err(EngineError::Conflict {
            code: ConflictCode::RoleConflict,
            message: format!("the role {role} has another holder who is working on the task"),
            details: json!({ "role": role, "holder": present }),
        }),
        _ => Ok(()),
    }
}

/// Refuses a claim for a role that another agent or the person holds. The person may take a task over themselves.
pub(crate) fn require_free_role(
    role: &str,
    present: Option<&RoleHolder>,
    claimer: &RoleHolder,
) -> Result<()> {
    match present {
        Some(present) if present != claimer && claimer.kind != HolderKind::User => {
            Err(EngineError::Conflict {
                code: ConflictCode::RoleConflict,
                message: format!(
                    "the role {role} has another holder: claim the task for that holder, or assign the role first"
                ),
                details: json!({ "role": role, "holder": present }),
            })
        }
        _ => Ok(()),
    }
}

/// Why a task cannot be claimed where it is, with what to do about it.
pub(crate) fn not_claimable(context: &ProjectContext, task: &TaskRow) -> String {
    let state = context.workflow.state(&task.status);
    let name = state.map_or(task.status.as_str(), |state| state.display_name.as_str());
    let initial = context.workflow.initial().map_or("", |initial| initial.display_name.as_str());
    match state.map(|state| state.kind) {
        Some(StateKind::Backlog) => format!("could not claim a task in {name}: move it to {initial} first"),
        _ => format!("could not claim a task in {name}"),
    }
}
