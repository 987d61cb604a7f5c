//! Tells Tauri where capabilities and permissions live; the working directory is the repository's root.

use tauri_build::{AppManifest, Attributes};

fn main() {
    for watched in ["src-tauri/capabilities", "src-tauri/permissions"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    let attributes = Attributes::new()
        .capabilities_path_pattern("./src-tauri/capabilities/**/*")
        .app_manifest(AppManifest::new().permissions_path_pattern("./src-tauri/permissions/**/*"));
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo::error=failed to prepare the Tauri build: {error:#}");
    }
}
