//! Tells Tauri where the capabilities live; the working directory is the repository's root.

fn main() {
    println!("cargo:rerun-if-changed=src-tauri/capabilities");
    let attributes =
        tauri_build::Attributes::new().capabilities_path_pattern("./src-tauri/capabilities/**/*");
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo::error=failed to prepare the Tauri build: {error:#}");
    }
}
