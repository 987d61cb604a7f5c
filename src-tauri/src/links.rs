//! Showing one task: asked for by a notification, the tray, or a link `forge://task/{id}`.

use forge_api::{Client as _, operations::TaskGet, ops::TaskPath};
use tauri::{AppHandle, Manager as _, Runtime};

use crate::{
    contract::Contract,
    host::Host,
    open_task::{OpenTask, Pending},
    windows,
};

const TASK_LINK: &str = "forge://task/";

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
        let host = app.state::<Host>();
        match Contract(host.engine().await).call(TaskGet, TaskPath { task_id: id.into() }).await {
            Ok(task) => {
                show_task(
                    &app,
                    OpenTask { project_id: task.project_id.clone(), number: task.number, about: None },
                );
            }
            Err(error) => tracing::warn!(%error, "failed to follow a link to a task"),
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
}
