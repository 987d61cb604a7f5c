//! The window's program; everything is in the library beside it.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

use std::process::ExitCode;

fn main() -> ExitCode {
    forge_desktop::run()
}
