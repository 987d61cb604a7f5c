//! The way out: what a person who quits is asked, and the end of the program.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use forge_engine::Engine;
use forge_server::Running;
use tauri::{AppHandle, Manager as _, Runtime};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind, MessageDialogResult};

use crate::{counts, host::Host, windows};

/// The running engine and HTTP server, which the end of the program stops.
#[derive(Default)]
pub struct Lifetime {
    pub(crate) open: Mutex<Option<(Engine, Option<Running>)>>,
    pub(crate) closing: AtomicBool,
    pub(crate) said_hidden: AtomicBool,
}

/// The person wants to leave: asked what to do with agents that run.
pub fn quit<R: Runtime>(app: &AppHandle<R>) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        match running_agents(&app).await {
            0 => end(&app, Agents::Stop).await,
            agents => ask_to_quit(&app, agents),
        }
    });
}

/// What becomes of the agents that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agents {
    /// They are stopped, and resume at the next start.
    Stop,
    /// They go on without the window, for a while.
    GoOn,
}

const KEEP: &str = "Keep running";
const STOP: &str = "Stop and quit";

/// What is asked about agents at work, and the answer by which they keep running, where they can.
fn question(agents: usize, can_go_on: bool) -> (String, Option<&'static str>) {
    let (running, they) = match agents {
        1 => ("1 agent is running".to_owned(), "It"),
        count => (format!("{count} agents are running"), "They"),
    };
    if can_go_on {
        let text = format!(
            "{running}. {they} can keep running in the background until Forge starts again, or stop now and resume at \
             the next start."
        );
        return (text, Some(KEEP));
    }
    let text = format!(
        "{running}. {they} will stop now and resume at the next start: the program forge-keeper, which can keep agents \
         running without Forge, is missing. Install Forge again to have it."
    );
    (text, None)
}

/// Asks what becomes of agents at work.
pub fn ask_to_quit<R: Runtime>(app: &AppHandle<R>, agents: usize) {
    let can_go_on = app.state::<Host>().own_now().is_some_and(|api| api.engine().computer().keeps_agents);
    let (text, keep) = question(agents, can_go_on);
    let handle = app.clone();
    let mut dialog = app.dialog().message(text);
    if let Some(window) = windows::on_screen(app) {
        dialog = dialog.parent(&window);
    }
    dialog
        .title("Quit Forge?")
        .kind(MessageDialogKind::Warning)
        .buttons(match keep {
            Some(keep) => {
                MessageDialogButtons::YesNoCancelCustom(keep.to_owned(), STOP.to_owned(), "Cancel".to_owned())
            }
            None => MessageDialogButtons::OkCancelCustom(STOP.to_owned(), "Cancel".to_owned()),
        })
        .show_with_result(move |answer| {
            let agents = match answer {
                MessageDialogResult::Custom(answer) if keep.is_some_and(|keep| answer == keep) => {
                    Agents::GoOn
                }
                MessageDialogResult::Custom(answer) if answer == STOP => Agents::Stop,
                _ => return,
            };
            tauri::async_runtime::spawn(async move { end(&handle, agents).await });
        });
}

/// How many agents are at work.
pub async fn running_agents<R: Runtime>(app: &AppHandle<R>) -> usize {
    let host = app.state::<Host>();
    let Some(api) = host.own_now() else { return 0 };
    match counts::running_agents(api).await {
        Ok(count) => count,
        Err(error) => {
            tracing::warn!(%error, "failed to count the agents that run");
            0
        }
    }
}

/// Stops the server and the engine, and ends the program. A second call does nothing.
pub async fn end<R: Runtime>(app: &AppHandle<R>, agents: Agents) {
    let lifetime = app.state::<Lifetime>();
    if lifetime.closing.swap(true, Ordering::AcqRel) {
        return;
    }
    // Hidden at once: nobody should have to watch the rest.
    windows::hide(app);
    if let Some(there) = app.state::<Host>().there_now() {
        there.close().await;
    }
    let open = lifetime.open.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((engine, server)) = open {
        if let Some(server) = server {
            server.stop().await;
        }
        match agents {
            Agents::Stop => engine.stop().await,
            Agents::GoOn => engine.leave().await,
        }
    }
    app.exit(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_can_keep_running_only_where_their_keeper_outlives_the_window() {
        let (text, keep) = question(2, true);
        assert!(text.starts_with("2 agents are running. They can keep running"), "{text}");
        assert_eq!(keep, Some(KEEP));
        let (text, keep) = question(1, false);
        assert!(text.starts_with("1 agent is running. It will stop now"), "{text}");
        assert_eq!(keep, None);
    }
}
