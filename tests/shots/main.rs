//! Pictures of every screen of the built window: light and dark, narrow and wide, empty, ordinary, extreme.
//!
//! `forge-shots FOLDER` writes one PNG a scene, theme and size. They are for eyes: nothing is compared.

mod scenes;
mod spaces;
mod stage;

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result};
use forge_tests::{display::Display, window::Window};
use scenes::Scene;

const SIZES: [(u32, u32); 2] = [(900, 600), (1440, 900)];
const THEMES: [&str; 2] = ["light", "dark"];

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(count) => {
            println!("{count} pictures");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("failed to take pictures: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<usize> {
    let mut args = std::env::args_os().skip(1);
    let folder: PathBuf = args.next().context("usage: forge-shots FOLDER [SCENE]")?.into();
    let only = args.next().and_then(|name| name.into_string().ok());
    std::fs::create_dir_all(&folder)?;
    let home = tempfile::tempdir()?;
    let display = Display::start(home.path()).await?;
    let window = Window::open_on(display, home).await?;
    window.page.find("main").await?;
    let mut taken = 0;
    let wanted = |scene: &Scene| only.as_ref().is_none_or(|only| scene.name.contains(only.as_str()));
    for scene in scenes::empty().iter().filter(|scene| wanted(scene)) {
        taken += take(&window, &folder, scene).await?;
    }
    let demo = stage::ordinary(&window).await?;
    for scene in scenes::ordinary(&demo).iter().filter(|scene| wanted(scene)) {
        taken += take(&window, &folder, scene).await?;
    }
    let spaces = spaces::stage(&window).await?;
    for scene in spaces::scenes(&spaces).iter().filter(|scene| wanted(scene)) {
        taken += take(&window, &folder, scene).await?;
    }
    let extreme = stage::extreme(&window).await?;
    for scene in scenes::extreme(&extreme).iter().filter(|scene| wanted(scene)) {
        taken += take(&window, &folder, scene).await?;
    }
    window.page.close().await?;
    Ok(taken)
}

async fn take(window: &Window, folder: &std::path::Path, scene: &Scene) -> Result<usize> {
    let mut taken = 0;
    for (width, height) in SIZES {
        window.page.resize(width, height).await?;
        for theme in THEMES {
            scene.enter(window, theme).await.with_context(|| format!("scene {}", scene.name))?;
            let path = folder.join(format!("{}-{theme}-{width}.png", scene.name));
            std::fs::write(&path, window.page.screenshot().await?)?;
            taken += 1;
        }
    }
    Ok(taken)
}
