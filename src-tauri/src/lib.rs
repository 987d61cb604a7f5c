//! The thin Tauri shell.

/// Opens the window.
pub fn run() {}
