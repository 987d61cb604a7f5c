//! Native notifications: raised from what the engine records, answered by showing the task.

use forge_api::Api;
use forge_engine::StorageHealth;
use forge_model::notification::{Notification, NotificationKind};
use futures::StreamExt as _;
use serde::Deserialize as _;
use serde_json::Value;
use tauri::{AppHandle, Runtime};
use tauri_plugin_notification::{Action, ActionPerformed, ActionType, NotificationExt as _};

use crate::{links, open_task::OpenTask};

/// The one answer that a notification has.
const OPEN: &str = "open";
/// What it leads to, by the name of its action type, and what the button says.
const ANSWERS: [(&str, &str); 3] = [(TASK, "Open task"), (RACE, "Open race"), (COSTS, "Open costs")];
const TASK: &str = "task";
const RACE: &str = "race";
const COSTS: &str = "costs";

const PROJECT_ID: &str = "project_id";
const NUMBER: &str = "number";
const ABOUT: &str = "about";

/// Says which answers there are and who hears them. Must come before the first notification: one that was
/// raised without a listener has no answers.
///
/// # Errors
/// When the plugin refuses.
pub fn prepare<R: Runtime>(app: &AppHandle<R>) -> Result<(), tauri_plugin_notification::Error> {
    let types = ANSWERS.map(|(name, label)| {
        ActionType::builder(name).actions(vec![Action::builder(OPEN, label).build()]).build()
    });
    app.notification().register_action_types(types.to_vec())?;
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

const fn answer_of(kind: NotificationKind) -> &'static str {
    match kind {
        NotificationKind::RaceDecided => RACE,
        NotificationKind::CostAnomaly => COSTS,
        _ => TASK,
    }
}

/// Raises one.
pub fn raise<R: Runtime>(app: &AppHandle<R>, notification: &Notification) {
    let shown = app
        .notification()
        .builder()
        .title(format!("#{} {}", notification.task_number, notification.title))
        .body(markup(&notification.body))
        .action_type_id(answer_of(notification.kind))
        .extra(PROJECT_ID, &notification.project_id)
        .extra(NUMBER, notification.task_number)
        .extra(ABOUT, notification.kind)
        .show();
    if let Err(error) = shown {
        tracing::warn!(%error, "failed to raise a notification");
    }
}

/// A text as the body of a notification. On Linux desktops read it as markup: a title such as `Vec<T>` is shown as it is
/// written. Source: the Desktop Notifications Specification, "Markup". Elsewhere it is plain text.
fn markup(text: &str) -> String {
    if !cfg!(target_os = "linux") {
        return text.to_owned();
    }
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Tells a disk that is nearly full, and one that refuses, once each time it begins. What the engine records cannot tell
/// that: those are rows of the database.
pub async fn follow_storage<R: Runtime>(app: AppHandle<R>, api: Api) {
    let mut health = api.engine().follow_storage();
    let mut told = StorageHealth::default();
    loop {
        let now = health.borrow_and_update().clone();
        if let Some((title, body)) = news_of_storage(&told, &now)
            && let Err(error) = app.notification().builder().title(title).body(markup(&body)).show()
        {
            tracing::warn!(%error, "failed to raise a notification");
        }
        told = now;
        if health.changed().await.is_err() {
            return;
        }
    }
}

/// What is new to a person about the disk, as a title and a text.
fn news_of_storage(before: &StorageHealth, now: &StorageHealth) -> Option<(&'static str, String)> {
    match (&before.failure, &now.failure) {
        (None, Some(failure)) => {
            let text = format!("Running agents are waiting. {}", failure.trouble.remedy());
            Some(("Could not save", text))
        }
        (_, None) if now.low && !before.low => {
            let text = "Free some space: Forge stops saving when the disk is full.".to_owned();
            Some(("Disk space is low", text))
        }
        _ => None,
    }
}

/// Says once that Forge goes on without its window.
pub fn say_hidden<R: Runtime>(app: &AppHandle<R>, agents: usize) {
    let text = match agents {
        1 => "1 agent is running. Reopen Forge from the tray, or start it again.".to_owned(),
        count => format!("{count} agents are running. Reopen Forge from the tray, or start it again."),
    };
    if let Err(error) = app.notification().builder().title("Forge keeps running").body(markup(&text)).show() {
        tracing::warn!(%error, "failed to raise a notification");
    }
}

/// The task of a notification that was clicked, on itself or on its button.
fn task_of(performed: &ActionPerformed) -> Option<OpenTask> {
    let extra = performed.notification()?.extra();
    let project_id = extra.get(PROJECT_ID)?.as_str()?;
    let number = extra.get(NUMBER).and_then(Value::as_u64)?;
    Some(OpenTask {
        project_id: project_id.to_owned().into(),
        number: u32::try_from(number).ok()?,
        about: extra.get(ABOUT).and_then(|kind| NotificationKind::deserialize(kind).ok()),
    })
}

#[cfg(test)]
mod tests {
    use forge_engine::StorageFailure;
    use forge_model::{storage::StorageTrouble, time::Timestamp};

    use super::*;

    #[test]
    fn body_of_a_notification_is_read_as_text() {
        assert_eq!(markup("`Vec<T>` && <b>"), "`Vec&lt;T&gt;` &amp;&amp; &lt;b&gt;");
    }

    #[test]
    fn trouble_of_the_disk_is_told_once_when_it_begins() {
        let good = StorageHealth::default();
        let low = StorageHealth { low: true, ..StorageHealth::default() };
        let failure =
            StorageFailure { trouble: StorageTrouble::Full, detail: "full".to_owned(), since: Timestamp(0) };
        let full = StorageHealth { failure: Some(failure), low: true };
        let title = |before, now| news_of_storage(before, now).map(|(title, _)| title);
        assert_eq!(title(&good, &low), Some("Disk space is low"));
        assert_eq!(title(&low, &low), None);
        assert_eq!(title(&low, &full), Some("Could not save"));
        assert_eq!(title(&full, &full), None);
        assert_eq!(title(&full, &low), None, "it was told before");
        assert_eq!(title(&low, &good), None);
    }

    #[test]
    fn a_click_names_its_task() {
        for (payload, expected) in [
            (
                serde_json::json!({
                    "actionId": "tap",
                    "notification": { "id": 1, "title": "t", "extra": { "project_id": "p", "number": 7 } },
                }),
                Some(OpenTask { project_id: "p".to_owned().into(), number: 7, about: None }),
            ),
            (
                serde_json::json!({
                    "actionId": "open",
                    "notification": { "id": 1, "title": "t", "extra": {
                        "project_id": "p", "number": 7, "about": NotificationKind::RaceDecided } },
                }),
                Some(OpenTask {
                    project_id: "p".to_owned().into(),
                    number: 7,
                    about: Some(NotificationKind::RaceDecided),
                }),
            ),
            (serde_json::json!({ "actionId": "tap", "notification": { "id": 1, "extra": {} } }), None),
            (serde_json::json!({ "actionId": "tap" }), None),
        ] {
            let performed: ActionPerformed = serde_json::from_value(payload.clone()).unwrap();
            assert_eq!(task_of(&performed), expected, "{payload}");
        }
    }
}
