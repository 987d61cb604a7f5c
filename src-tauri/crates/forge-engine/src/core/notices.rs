//! Notifications. Each is a row, written in the transaction of its cause; the window raises a native one when the
//! event's `native` says so.

use forge_model::event::EventType;
use forge_model::notification::{Notification, NotificationKind};
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    World,
    core::{context::ProjectContext, lineage::is_entry},
    error::Result,
};

/// Tells the person something about a task, once per `cause`.
pub(crate) async fn notify(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    kind: NotificationKind,
    body: &str,
    cause: &str,
) -> Result<()> {
    // Of a race's entries only what they ask and what they cost concerns a person, as news of the task.
    let concerns =
        matches!(kind, NotificationKind::AgentAsks | NotificationKind::Cost | NotificationKind::CostAnomaly);
    if is_entry(task) && !concerns {
        return Ok(());
    }
    let about = task.parent_id.as_ref().filter(|_| is_entry(task)).unwrap_or(&task.id);
    let wanted = &context.settings.notifications;
    let native = match kind {
        NotificationKind::Blocked => wanted.blocked,
        NotificationKind::AwaitingHuman => wanted.awaiting_human,
        NotificationKind::Waiting => wanted.waiting,
        NotificationKind::Done => wanted.done,
        NotificationKind::Disk => wanted.disk,
        NotificationKind::AgentAsks => wanted.agent_asks,
        NotificationKind::Cost => wanted.cost,
        NotificationKind::RaceDecided => wanted.race_decided,
        NotificationKind::CostAnomaly => wanted.cost_anomaly,
    };
    let notification = Notification {
        id: world.new_id(),
        kind,
        project_id: task.project_id.clone(),
        task_id: about.clone(),
        task_number: task.number,
        title: super::redaction::redacted_in(world, context, task.title.clone()),
        body: super::redaction::redacted_in(world, context, body.to_owned()),
        read: false,
        created_at: world.now(),
    };
    if tx.notifications_mut().insert(&notification, cause).await? {
        let facts = json!({ "kind": kind, "native": native });
        world.emit(tx, EventType::NotificationCreated, task, notification.id.as_str(), &facts).await?;
    }
    Ok(())
}
