//! The thin Tauri shell: one window on an engine, which runs in the same process or on another computer ([`remote`]).
//!
//! It decides nothing about tasks. What the page asks goes to `forge-api` ([`host`]); what happens comes back
//! as change batches ([`events`]), native notifications ([`notify`]) and a number in the tray ([`tray`]).
//! Deliberately absent: any rule, any state of the product, any way for the page to reach a plugin.

mod arguments;
mod connections;
mod contact;
mod contract;
mod counts;
mod events;
mod host;
mod lifecycle;
mod links;
mod locale;
mod menu;
mod notify;
mod open_task;
mod outside;
mod quit;
mod remote;
mod tray;
mod windows;

use std::{
    env,
    error::Error,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
    process::ExitCode,
};

use forge_engine::EngineLog;
use tauri::{App, AppHandle, Builder, Manager as _, RunEvent, Runtime, WindowEvent, Wry};
use tracing_subscriber::{EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _};

use crate::arguments::Arguments;

/// Says which log lines are wanted, as `tracing` directives.
const LOG_VARIABLE: &str = "FORGE_LOG";
const LOG_DEFAULT: &str = "warn,forge=info,forge_desktop=info,forge_engine=info";

/// Opens the window, or is the scripted agent of the demo when started as one.
#[must_use]
pub fn run() -> ExitCode {
    let mut arguments = env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "scripted-agent") {
        return forge_demo::scripted::main(arguments);
    }
    match open() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("forge-desktop: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open() -> Result<(), Box<dyn Error>> {
    let has_display = ["WAYLAND_DISPLAY", "DISPLAY"]
        .iter()
        .any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !has_display {
        return Err(
            "Could not open the window: there is no display (neither WAYLAND_DISPLAY nor DISPLAY is set).\n\
                    `forge serve` and `forge demo` work without one."
                .into(),
        );
    }
    locale::ensure().map_err(|error| format!("Could not set a language: {error}"))?;
    let wanted = || EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(LOG_DEFAULT));
    let shows = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_filter(wanted());
    let keeps =
        tracing_subscriber::fmt::layer().with_writer(|| EngineLog).with_ansi(false).with_filter(wanted());
    tracing_subscriber::registry().with(shows).with(keeps).init();

    let app = build().map_err(|error| format!("Could not open the window: {error}"))?;
    app.run(|app, event| follow(app, &event));
    Ok(())
}

fn build() -> tauri::Result<App<Wry>> {
    let arguments = Arguments::read(env::args().skip(1));
    // First of all: a second start must be noticed before anything else is set up.
    Builder::default()
        .plugin(single_instance(&arguments))
        .plugin(tauri_plugin_dialog::init())
        .plugin(tauri_plugin_notification::init())
        .plugin(tauri_plugin_shell::init())
        .plugin(tauri_plugin_window_state::Builder::new().with_state_flags(windows::remembered()).build())
        .manage(host::Host::default())
        .manage(arguments.clone())
        .manage(quit::Lifetime::default())
        .manage(open_task::Pending::default())
        .manage(windows::Visibility::default())
        .menu(menu::build)
        .on_menu_event(|app, event| menu::perform(app, &event))
        .invoke_handler(tauri::generate_handler![
            host::api_call,
            host::shell_pick_folder,
            host::shell_save_text,
            host::shell_open,
            host::ui_ready,
            connections::shell_engine,
            connections::shell_connect,
            connections::shell_reconnect
        ])
        .setup(|app| set_up(app.handle()))
        .build(tauri::generate_context!())
}

fn set_up<R: Runtime>(app: &AppHandle<R>) -> Result<(), Box<dyn Error>> {
    notify::prepare(app)?;
    let arguments = app.state::<Arguments>();
    // The engine starts while the page loads; what the page asks waits for it.
    match &arguments.connect {
        None => {
            tray::install(app)?;
            tauri::async_runtime::spawn(lifecycle::launch(app.clone()));
        }
        // Nothing goes on in this process without its window, so that it needs no tray.
        Some(_) => {
            tauri::async_runtime::spawn(remote::launch(app.clone()));
        }
    }
    tauri::async_runtime::spawn(lifecycle::end_on_signal(app.clone()));
    windows::open(app, &arguments.title())?;
    links::follow(app, &env::args().collect::<Vec<_>>());
    Ok(())
}

fn follow<R: Runtime>(app: &AppHandle<R>, event: &RunEvent) {
    match event {
        RunEvent::WindowEvent { label, event: WindowEvent::CloseRequested { api, .. }, .. }
            if label == windows::MAIN =>
        {
            api.prevent_close();
            lifecycle::close(app);
        }
        // Without a code nobody has stopped the engine yet; with one, it is our own last step.
        RunEvent::ExitRequested { code: None, api, .. } => {
            api.prevent_exit();
            let app = app.clone();
            tauri::async_runtime::spawn(async move { quit::end(&app, quit::Agents::Stop).await });
        }
        _ => {}
    }
}

/// One window per engine: a second start brings the first one forward.
fn single_instance<R: Runtime>(arguments: &Arguments) -> tauri::plugin::TauriPlugin<R> {
    let mut builder = tauri_plugin_single_instance::Builder::new().callback(|app, arguments, _| {
        windows::show(app);
        links::follow(app, &arguments);
    });
    let mut hasher = DefaultHasher::new();
    let folder = chosen_data_dir();
    folder.hash(&mut hasher);
    if let Some(host) = &arguments.connect {
        host.hash(&mut hasher);
        builder = builder.dbus_id(format!("dev.forge.desktop.r{:x}", hasher.finish()));
    } else if folder.is_some() {
        builder = builder.dbus_id(format!("dev.forge.desktop.d{:x}", hasher.finish()));
    }
    builder.build()
}

/// The data folder, when somebody chose one.
fn chosen_data_dir() -> Option<PathBuf> {
    let folder = env::var_os("FORGE_DATA_DIR").filter(|folder| !folder.is_empty()).map(PathBuf::from)?;
    // Its full path, since engines and windows are told apart by it.
    Some(std::path::absolute(&folder).unwrap_or(folder))
}
