//! The native menu: only what a person looks for there. Everything else is in the page.

use tauri::{
    AppHandle, Runtime,
    menu::{Menu, MenuBuilder, MenuEvent, MenuItemBuilder, SubmenuBuilder},
};

use crate::{connections, lifecycle, quit};

const CONNECT: &str = "menu-connect";
const CLOSE: &str = "menu-close";
const QUIT: &str = "menu-quit";

/// Makes the menu.
///
/// # Errors
/// When the system refuses it.
pub fn build<R: Runtime>(app: &AppHandle<R>) -> tauri::Result<Menu<R>> {
    let connect = MenuItemBuilder::with_id(CONNECT, "Connect to Another Computer…").build(app)?;
    let close =
        MenuItemBuilder::with_id(CLOSE, "Close Window").accelerator("CmdOrCtrl+Shift+W").build(app)?;
    let quit = MenuItemBuilder::with_id(QUIT, "Quit").accelerator("CmdOrCtrl+Q").build(app)?;
    let forge =
        SubmenuBuilder::new(app, "Forge").item(&connect).item(&close).separator().item(&quit).build()?;
    let menu = MenuBuilder::new(app).item(&forge);
    // On macOS cut, copy and paste reach a page only through a menu.
    #[cfg(target_os = "macos")]
    let menu = menu.item(
        &SubmenuBuilder::new(app, "Edit")
            .undo()
            .redo()
            .separator()
            .cut()
            .copy()
            .paste()
            .select_all()
            .build()?,
    );
    menu.build()
}

/// Does what was chosen.
pub fn perform<R: Runtime>(app: &AppHandle<R>, event: &MenuEvent) {
    match event.id().as_ref() {
        CONNECT => connections::ask(app),
        CLOSE => lifecycle::close(app),
        QUIT => quit::quit(app),
        _ => {}
    }
}
