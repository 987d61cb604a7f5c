//! The tray: how many tasks need the person, the way back to the window, and the way out.
//!
//! A desktop without the indicator library has no tray; then closing the window never hides it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use forge_api::Api;
use tauri::{
    AppHandle, Manager as _, Runtime,
    menu::{MenuBuilder, MenuItem, MenuItemBuilder},
    tray::{TrayIcon, TrayIconBuilder},
};
use tokio::sync::Notify;

use crate::{counts, quit, windows};

const ID: &str = "forge";
const SUMMARY: &str = "tray-summary";
const OPEN: &str = "tray-open";
const QUIT: &str = "tray-quit";

/// Changes come in bursts; the tray is read by people.
const AT_MOST_EVERY: Duration = Duration::from_millis(500);

/// The tray and the line of its menu that counts.
pub struct Tray<R: Runtime> {
    icon: TrayIcon<R>,
    summary: MenuItem<R>,
}

/// Puts the icon into the tray, if there is one.
///
/// # Errors
/// When the menu or the icon is refused.
pub fn install<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<()> {
    let summary = MenuItemBuilder::with_id(SUMMARY, text(0)).enabled(false).build(app)?;
    let menu = MenuBuilder::new(app)
        .item(&summary)
        .separator()
        .text(OPEN, "Open Forge")
        .text(QUIT, "Quit")
        .build()?;
    let builder = TrayIconBuilder::with_id(ID)
        .icon(tauri::include_image!("icons/tray.png"))
        .tooltip("Forge")
        .menu(&menu)
        .on_menu_event(|app, event| match event.id().as_ref() {
            OPEN => windows::show(app),
            QUIT => quit::quit(app),
            _ => {}
        });
    // The binding to the indicator library panics when the library is not on the machine.
    match catch_unwind(AssertUnwindSafe(|| builder.build(app))) {
        Ok(icon) => {
            app.manage(Tray { icon: icon?, summary });
        }
        Err(_) => tracing::warn!("this desktop has no tray: install libayatana-appindicator3 to have one"),
    }
    Ok(())
}

/// Whether the window can be reached again once it is hidden.
pub fn is_there<R: Runtime>(app: &AppHandle<R>) -> bool {
    app.try_state::<Tray<R>>().is_some()
}

/// Keeps the count right until the program ends.
pub async fn follow<R: Runtime>(app: AppHandle<R>, api: Api, changed: Arc<Notify>) {
    let mut shown = None;
    loop {
        match counts::attention(&api).await {
            Ok(count) if shown != Some(count) => {
                show(&app, count);
                shown = Some(count);
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "failed to count what waits for the person"),
        }
        tokio::time::sleep(AT_MOST_EVERY).await;
        changed.notified().await;
    }
}

fn show<R: Runtime>(app: &AppHandle<R>, count: usize) {
    let Some(tray) = app.try_state::<Tray<R>>() else { return };
    // Linux shows the title beside the icon and knows no tooltip; the others do it the other way round.
    let title = (count > 0).then(|| count.to_string());
    for outcome in [
        tray.summary.set_text(text(count)),
        tray.icon.set_title(title),
        tray.icon.set_tooltip(Some(text(count))),
    ] {
        if let Err(error) = outcome {
            tracing::warn!(%error, "failed to update the tray");
        }
    }
}

fn text(count: usize) -> String {
    match count {
        0 => "No tasks need you".to_owned(),
        1 => "1 task needs you".to_owned(),
        count => format!("{count} tasks need you"),
    }
}
