//! The window's program; everything is in the library beside it.
#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

fn main() {
    forge_desktop::run();
}
