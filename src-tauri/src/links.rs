//! Showing one task: asked for by a notification, the tray, or a link `forge://task/{id}`.

use std::sync::{Mutex, PoisonError};

use forge_model::{actor::Via, ids::ProjectId, notification::NotificationKind};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tauri::{AppHandle, Emitter as _, Manager as _, Runtime};

use crate::{host::Host, windows};

const OPEN_TASK: &str = "open-task";
const TASK_LINK: &str = "forge://task/";

/// The task to show, as the page names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenTask {
    /// Its project.
    pub project_id: ProjectId,
    /// Its number in the project.
    pub number: u32,
    /// Why it is to be shown, when a notification asked: the page knows where that is to be seen.
    #[serde(default)]
    pub about: Option<NotificationKind>,
}

impl OpenTask {
    /// Tells the page.
    pub fn send<R: Runtime>(&self, app: &AppHandle<R>) {
        if let Err(error) = app.emit_to(windows::target(), OPEN_TASK, self) {
            tracing::warn!(%error, "failed to show a task");
        }
    }
}

/// Before the page listens, the last wish waits here.
#[derive(Default)]
pub struct Pending(Mutex<Wish>);

#[derive(Default)]
struct Wish {
    page_listens: bool,
    task: Option<OpenTask>,
}

impl Pending {
    /// From now on the page hears; gives what it has missed.
    pub fn page_listens(&self) -> Option<OpenTask> {
        let mut wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wish.page_listens = true;
        wish.task.take()
    }

    /// Gives the task back when it can be sent at once, else keeps it.
    fn offer(&self, task: OpenTask) -> Option<OpenTask> {
        let mut wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if wish.page_listens {
            return Some(task);
        }
        wish.task = Some(task);
        None
    }
}

/// Brings the window forward with a task.
pub fn show_task<R: Runtime>(app: &AppHandle<R>, task: OpenTask) {
    windows::show(app);
    if let Some(task) = app.state::<Pending>().offer(task) {
        task.send(app);
    }
}

/// Follows the first link among a start's arguments, if there is one.
pub fn follow<R: Runtime>(app: &AppHandle<R>, arguments: &[String]) {
    let Some(id) = task_of(arguments) else { return };
    let (app, id) = (app.clone(), id.to_owned());
    tauri::async_runtime::spawn(async move {
        let task = match app
            .state::<Host>()
            .api()
            .await
            .call(Via::Board, "task_get", json!({ "task_id": id }))
            .await
        {
            Ok(task) => task,
            Err(error) => return tracing::warn!(%error, "failed to follow a link to a task"),
        };
        match OpenTask::deserialize(task) {
            Ok(task) => show_task(&app, task),
            Err(error) => tracing::warn!(%error, "failed to read the task of a link"),
        }
    });
}

fn task_of(arguments: &[String]) -> Option<&str> {
    let id = arguments.iter().find_map(|argument| argument.strip_prefix(TASK_LINK))?.trim_end_matches('/');
    // Ids are letters, digits and dashes; anything else did not come from us.
    (!id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_a_task_by_id() {
        for (arguments, expected) in [
            (vec!["forge-desktop"], None),
            (vec!["forge-desktop", "forge://task/0190-ab"], Some("0190-ab")),
            (vec!["forge-desktop", "--flag", "forge://task/0190-ab/"], Some("0190-ab")),
            (vec!["forge-desktop", "forge://task/"], None),
            (vec!["forge-desktop", "forge://task/../x"], None),
            (vec!["forge-desktop", "forge://settings"], None),
        ] {
            let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
            assert_eq!(task_of(&arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn the_last_wish_waits_for_the_page() {
        let task = |number| OpenTask { project_id: ProjectId::from("p".to_owned()), number, about: None };
        let pending = Pending::default();
        assert_eq!(pending.offer(task(1)), None);
        assert_eq!(pending.offer(task(2)), None);
        assert_eq!(pending.page_listens(), Some(task(2)));
        assert_eq!(pending.offer(task(3)), Some(task(3)), "sent at once");
        assert_eq!(pending.page_listens(), None);
    }
}
