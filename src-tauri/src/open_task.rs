//! A task that the page is to show.

use std::sync::{Mutex, PoisonError};

use forge_model::{ids::ProjectId, notification::NotificationKind};
use serde::{Deserialize, Serialize};
use tauri::{AppHandle, Emitter as _, Runtime};

use crate::windows;

const OPEN_TASK: &str = "open-task";

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

/// Before the page listens, the last task to show waits here.
#[derive(Default)]
pub struct Pending(Mutex<Wish>);

#[derive(Default)]
struct Wish {
    page_listens: bool,
    task: Option<OpenTask>,
}

impl Pending {
    /// From now on the page listens; gives the task that it missed.
    pub fn page_listens(&self) -> Option<OpenTask> {
        let mut wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wish.page_listens = true;
        wish.task.take()
    }

    /// Gives the task back when it can be sent at once, else keeps it.
    pub fn offer(&self, task: OpenTask) -> Option<OpenTask> {
        let mut wish = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if wish.page_listens {
            return Some(task);
        }
        wish.task = Some(task);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_task_waits_for_the_page() {
        let task = |number| OpenTask { project_id: ProjectId::from("p".to_owned()), number, about: None };
        let pending = Pending::default();
        assert_eq!(pending.offer(task(1)), None);
        assert_eq!(pending.offer(task(2)), None);
        assert_eq!(pending.page_listens(), Some(task(2)));
        assert_eq!(pending.offer(task(3)), Some(task(3)), "sent at once");
        assert_eq!(pending.page_listens(), None);
    }
}
