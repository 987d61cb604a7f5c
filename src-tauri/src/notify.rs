//! Native notifications: raised from what the engine records, answered by showing the task.

use forge_api::Api;
use forge_model::notification::Notification;
use futures::StreamExt as _;
use serde_json::Value;
use tauri::{AppHandle, Runtime};
use tauri_plugin_notification::{Action, ActionPerformed, ActionType, NotificationExt as _};

use crate::links::{self, OpenTask};

/// The kind of notification that can be answered.
const TASK: &str = "task";
/// Its one answer.
const OPEN: &str = "open";

const PROJECT_ID: &str = "project_id";
const NUMBER: &str = "number";

/// Says which answers there are and who hears them. Must come before the first notification: one that was
/// raised without a listener has no answers.
///
/// # Errors
/// When the plugin refuses.
pub fn prepare<R: Runtime>(app: &AppHandle<R>) -> Result<(), tauri_plugin_notification::Error> {
    let open = Action::builder(OPEN, "Open task").build();
    app.notification().register_action_types(vec![ActionType::builder(TASK).actions(vec![open]).build()])?;
    let handle = app.clone();
    app.notification().on_action(move |performed| {
        if let Some(task) = task_of(performed) {
            links::show_task(&handle, task);
        }
    })
}

/// Raises what the engine wants raised, until it stops.
pub async fn raise_all<R: Runtime>(app: AppHandle<R>, api: Api) {
    let mut notifications = std::pin::pin!(api.notifications());
    while let Some(notification) = notifications.next().await {
        raise(&app, &notification);
    }
}

fn raise<R: Runtime>(app: &AppHandle<R>, notification: &Notification) {
    let shown = app
        .notification()
        .builder()
        .title(format!("#{} {}", notification.task_number, notification.title))
        .body(&notification.body)
        .action_type_id(TASK)
        .extra(PROJECT_ID, &notification.project_id)
        .extra(NUMBER, notification.task_number)
        .show();
    if let Err(error) = shown {
        tracing::warn!(%error, "failed to raise a notification");
    }
}

/// Says once that Forge goes on without its window.
pub fn say_hidden<R: Runtime>(app: &AppHandle<R>, agents: usize) {
    let text = match agents {
        1 => "1 agent is at work. Open Forge again from the tray, or by starting it.".to_owned(),
        count => format!("{count} agents are at work. Open Forge again from the tray, or by starting it."),
    };
    if let Err(error) = app.notification().builder().title("Forge keeps running").body(text).show() {
        tracing::warn!(%error, "failed to raise a notification");
    }
}

/// The task of a notification that was clicked, on itself or on its button.
fn task_of(performed: &ActionPerformed) -> Option<OpenTask> {
    let extra = performed.notification()?.extra();
    let project_id = extra.get(PROJECT_ID)?.as_str()?;
    let number = extra.get(NUMBER).and_then(Value::as_u64)?;
    Some(OpenTask { project_id: project_id.to_owned().into(), number: u32::try_from(number).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_click_names_its_task() {
        for (payload, expected) in [
            (
                serde_json::json!({
                    "actionId": "tap",
                    "notification": { "id": 1, "title": "t", "extra": { "project_id": "p", "number": 7 } },
                }),
                Some(OpenTask { project_id: "p".to_owned().into(), number: 7 }),
            ),
            (serde_json::json!({ "actionId": "tap", "notification": { "id": 1, "extra": {} } }), None),
            (serde_json::json!({ "actionId": "tap" }), None),
        ] {
            let performed: ActionPerformed = serde_json::from_value(payload.clone()).unwrap();
            assert_eq!(task_of(&performed), expected, "{payload}");
        }
    }
}
