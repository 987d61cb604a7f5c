//! Pictures of every screen of the built window: light and dark, narrow and wide, empty, ordinary, extreme.
//!
//! `forge-shots FOLDER [NAME,..]` writes one PNG a scene, theme and size; only those whose name has a part in the list. They are for eyes: nothing is compared.

mod agents;
mod loops;
mod plans;
mod reviews;
mod scenes;
mod spaces;
mod stage;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, Result, ensure};
use forge_tests::{display::Display, window::Window};
use scenes::Scene;

/// The one in which the next scene is entered comes last.
const SIZES: [(u32, u32); 2] = [(900, 600), (1440, 900)];
/// Until the page lies as the new size asks.
const RESIZED: Duration = Duration::from_millis(500);
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
    let folder: PathBuf = args.next().context("usage: forge-shots FOLDER [NAME,..]")?.into();
    let only = args.next().and_then(|name| name.into_string().ok());
    std::fs::create_dir_all(&folder)?;
    let home = tempfile::tempdir()?;
    let display = Display::start(home.path()).await?;
    let window = Window::open_on(display, home).await?;
    window.page.find("main").await?;
    let mut taken = Taken::default();
    let wanted = |scene: &Scene| {
        only.as_ref().is_none_or(|only| only.split(',').any(|part| scene.name.contains(part)))
    };
    for scene in scenes::empty().iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    let demo = stage::ordinary(&window).await?;
    for scene in scenes::ordinary(&demo).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    let agents = agents::stage(&window).await?;
    for scene in agents::scenes(&agents).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    agents::end(&window).await?;
    // The rest need not be made for pictures of agents at work alone.
    if only.as_ref().is_some_and(|only| only.split(',').all(|part| part.starts_with("work"))) {
        return taken.end(window).await;
    }
    let loops = loops::stage(&window).await?;
    for scene in loops::scenes(&loops).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    agents::end(&window).await?;
    // Nor for those of the inner loop.
    if only.as_ref().is_some_and(|only| only.split(',').all(|part| part.starts_with("loop"))) {
        return taken.end(window).await;
    }
    let spaces = spaces::stage(&window).await?;
    for scene in spaces::scenes(&spaces).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    let plans = plans::stage(&window).await?;
    for scene in plans::scenes(&plans).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    let reviews = reviews::stage(&window).await?;
    for scene in reviews::scenes(&reviews).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    let extreme = stage::extreme(&window).await?;
    for scene in scenes::extreme(&extreme).iter().filter(|scene| wanted(scene)) {
        taken.note(scene, take(&window, &folder, scene).await);
    }
    taken.end(window).await
}

/// What came of the scenes: one that fails does not keep the others from being seen.
#[derive(Default)]
struct Taken {
    pictures: usize,
    failures: Vec<String>,
}

impl Taken {
    /// Closes the window; how many pictures there are.
    async fn end(self, window: Window) -> Result<usize> {
        window.page.close().await?;
        ensure!(self.failures.is_empty(), "{} scenes:\n{}", self.failures.len(), self.failures.join("\n"));
        Ok(self.pictures)
    }

    fn note(&mut self, scene: &Scene, outcome: Result<usize>) {
        match outcome {
            Ok(pictures) => self.pictures += pictures,
            Err(error) => self.failures.push(format!("{}: {error:#}", scene.name)),
        }
    }
}

async fn take(window: &Window, folder: &std::path::Path, scene: &Scene) -> Result<usize> {
    let mut taken = 0;
    for theme in THEMES {
        scene.enter(window, theme).await?;
        // One entrance for all sizes: a person resizes the window without leaving the screen.
        for (width, height) in SIZES {
            window.page.resize(width, height).await?;
            tokio::time::sleep(RESIZED).await;
            let path = folder.join(format!("{}-{theme}-{width}.png", scene.name));
            std::fs::write(&path, window.page.screenshot().await?)?;
            taken += 1;
        }
    }
    Ok(taken)
}
