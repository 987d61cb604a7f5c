//! The one window: how it is made, shown and hidden, and whether somebody can see it.

use tauri::{
    AppHandle, EventTarget, Manager as _, Runtime, Theme, Url, Webview, WebviewUrl, WebviewWindow,
    WebviewWindowBuilder, WindowEvent, utils::config::Color,
};
use tauri_plugin_window_state::StateFlags;
use tokio::sync::watch;

/// Its label, which capabilities and events name.
pub const MAIN: &str = "main";

/// What is seen before the page has painted: the page's own ground (`--surface-base`) in either theme.
const LIGHT: Color = Color(0xfa, 0xfb, 0xfc, 0xff);
const DARK: Color = Color(0x12, 0x14, 0x18, 0xff);

/// Whether the window can be seen; what is not seen is not told.
pub struct Visibility(watch::Sender<bool>);

impl Default for Visibility {
    fn default() -> Self {
        Self(watch::Sender::new(true))
    }
}

impl Visibility {
    /// Follows it from now on.
    pub fn follow(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }

    fn set(&self, visible: bool) {
        self.0.send_if_modified(|current| std::mem::replace(current, visible) != visible);
    }
}

/// What is remembered of the window. Not whether it was shown: after a start it is.
pub fn remembered() -> StateFlags {
    StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED | StateFlags::FULLSCREEN
}

/// The target of events for the window.
pub fn target() -> EventTarget {
    EventTarget::webview_window(MAIN)
}

/// Makes the window.
///
/// # Errors
/// When the system refuses one.
pub fn open<R: Runtime>(app: &AppHandle<R>, title: &str) -> tauri::Result<WebviewWindow<R>> {
    let dev_url = app.config().build.dev_url.clone().filter(|_| tauri::is_dev());
    let window = WebviewWindowBuilder::new(app, MAIN, WebviewUrl::default())
        .title(title)
        .inner_size(1280.0, 820.0)
        .min_inner_size(900.0, 600.0)
        .on_navigation(move |url| is_own(url, dev_url.as_ref()))
        .build()?;
    let ground = if window.theme()? == Theme::Dark { DARK } else { LIGHT };
    // Of the page alone: the menu bar above it has the desktop's colours.
    AsRef::<Webview<R>>::as_ref(&window).set_background_color(Some(ground))?;
    let app = app.clone();
    window.on_window_event(move |event| {
        // The system tells nobody that a window was minimised, but it loses the focus then, and gets it
        // back when it is restored.
        if matches!(event, WindowEvent::Focused(_))
            && let Some(window) = app.get_webview_window(MAIN)
        {
            let seen = window.is_visible().unwrap_or(true) && !window.is_minimized().unwrap_or(false);
            app.state::<Visibility>().set(seen);
        }
    });
    Ok(window)
}

/// No page but the bundled one, or the development server's, is ever loaded.
fn is_own(url: &Url, dev_url: Option<&Url>) -> bool {
    let bundled = url.scheme() == "tauri" || url.host_str() == Some("tauri.localhost");
    bundled || dev_url.is_some_and(|dev| dev.origin() == url.origin())
}

/// Brings the window before the person, wherever it was.
pub fn show<R: Runtime>(app: &AppHandle<R>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    app.state::<Visibility>().set(true);
    for outcome in [window.show(), window.unminimize(), window.set_focus()] {
        if let Err(error) = outcome {
            tracing::warn!(%error, "failed to bring the window forward");
        }
    }
}

/// The window, while it is on the screen.
pub fn on_screen<R: Runtime>(app: &AppHandle<R>) -> Option<WebviewWindow<R>> {
    app.get_webview_window(MAIN).filter(|window| window.is_visible().unwrap_or(false))
}

/// Takes the window off the screen; it lives on.
pub fn hide<R: Runtime>(app: &AppHandle<R>) {
    let Some(window) = app.get_webview_window(MAIN) else { return };
    match window.hide() {
        Ok(()) => app.state::<Visibility>().set(false),
        Err(error) => tracing::warn!(%error, "failed to hide the window"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_pages_are_loaded() {
        let dev: Url = "http://127.0.0.1:5173".parse().unwrap();
        for (url, dev_url, expected) in [
            ("tauri://localhost/index.html#/board", None, true),
            ("https://example.com/", None, false),
            ("file:///etc/passwd", None, false),
            ("http://127.0.0.1:5173/src/main.tsx", None, false),
            ("http://127.0.0.1:5173/src/main.tsx", Some(&dev), true),
            ("http://127.0.0.1:5174/", Some(&dev), false),
            ("data:text/html,x", Some(&dev), false),
        ] {
            assert_eq!(is_own(&url.parse().unwrap(), dev_url), expected, "{url}");
        }
    }
}
