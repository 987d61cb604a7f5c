//! The package as a user has it: installed into a system that never had Forge, over an older version, and removed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_tests::{clean_root::CleanRoot, display::Display, patience, window::Window};
use serde_json::Value;

use crate::demo;

/// An agent that waits for a file beside the worktree, and writes down under which number it runs.
const AGENT: &str = r#"{"name":"patient","adapter":"shell","config":{"command":"sh","args":["-c",
    "echo $$ >>started; while [ ! -e /srv/go ]; do sleep 0.1; done; echo changed >README.md"]}}"#;

/// A repository and a project of it, whose task the agent has begun.
const BEGIN: &str = "export FORGE_DATA_DIR=/srv/data
    git init --quiet --initial-branch main /srv/repository; cd /srv/repository
    git config --global user.name Tester; git config --global user.email tester@localhost
    echo new >README.md; git add .; git commit --quiet --message first
    forge serve --background --json >/srv/engine.json
    forge project add --name sample .
    forge api agent_create \"$AGENT\"
    forge task create --agent patient 'Outlive an upgrade'
    forge task start 1";

/// What there is of a task's work: `started` of its worktree.
const STARTED: &str = "find /srv/data -name started -size +0 -exec cat {} +";

/// The older engine is asked to end; the newer one goes on, and then the agent may.
const RESTART: &str = r#"export FORGE_DATA_DIR=/srv/data
    engine=$(sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' /srv/engine.json)
    kill "$engine"; while kill -0 "$engine" 2>/dev/null; do sleep 0.05; done
    forge serve --background
    touch /srv/go"#;

/// How long an installed system may take for one step of a task.
const STEP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn package_is_installed_upgraded_under_a_running_agent_and_removed_without_the_data() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let display = Display::start(folder.path()).await?;
    let Some(system) = CleanRoot::create(&[folder.path(), Path::new("/tmp/.X11-unix")]).await? else {
        return Ok(());
    };
    let package = package()?;
    let older = older(&package, folder.path()).await?;

    system.install(&older).await?;
    assert_eq!(installed(&system).await?, "0.0.1");
    system
        .run("! ldd /usr/bin/forge-desktop /usr/bin/forge /usr/bin/forge-keeper | grep 'not found'")
        .await?;
    system.run("git --version; forge --version").await?;
    let pid = begin(&system).await?;

    system.install(&package).await?;
    ensure!(installed(&system).await? != "0.0.1", "the newer version is installed");
    finish(&system, &pid).await?;

    system.run("apt-get install --yes --quiet webkit2gtk-driver").await?;
    let window = Window::open_installed(display, folder, &system).await?;
    let outcome = demo::with_the_pointer(&window).await;
    window.end("installed", outcome).await?;

    system.run("apt-get purge --yes --quiet forge").await?;
    system
        .run("test ! -e /usr/bin/forge && test ! -e /usr/bin/forge-keeper && test ! -e /usr/lib/forge")
        .await?;
    system
        .run("test -s /srv/data/forge.db && git -C /srv/repository rev-parse --verify --quiet main")
        .await?;
    Ok(())
}

/// The package of the debug build.
fn package() -> Result<PathBuf> {
    let program = forge_testkit::program("forge")?;
    let folder = program.with_file_name("bundle").join("deb");
    let entries = fs::read_dir(&folder)
        .with_context(|| format!("{} is missing: run `cargo xtask package --debug`", folder.display()))?;
    let mut packages = entries.flatten().map(|entry| entry.path());
    packages.find(|path| path.extension().is_some_and(|it| it == "deb")).context("no package was built")
}

/// The same package as an older version.
async fn older(package: &Path, folder: &Path) -> Result<PathBuf> {
    let (unpacked, older) = (folder.join("older"), folder.join("forge-older.deb"));
    let script = r#"dpkg-deb --raw-extract "$1" "$2"
        sed --in-place 's/^Version: .*/Version: 0.0.1/' "$2/DEBIAN/control"
        dpkg-deb -Znone --build "$2" "$3" >/dev/null
        rm -r "$2""#;
    let mut shell = forge_tests::children::program("sh");
    let done =
        shell.args(["-e", "-c", script, "sh"]).arg(package).arg(&unpacked).arg(&older).output().await?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Ok(older)
}

async fn installed(system: &CleanRoot) -> Result<String> {
    system.run("dpkg-query --show --showformat '${Version}' forge").await
}

/// Has an agent begin with a task. The number of its process.
async fn begin(system: &CleanRoot) -> Result<String> {
    system.run(&format!("AGENT='{AGENT}'\n{BEGIN}")).await?;
    patience::until_within(STEP, "the agent's start", async || {
        let started = system.run(STARTED).await?;
        Ok(Some(started.trim().to_owned()).filter(|pid| !pid.is_empty()))
    })
    .await
}

/// Another engine goes on with the agent that the older version started, and its work is what a person reviews.
async fn finish(system: &CleanRoot, pid: &str) -> Result<()> {
    system.run(&format!("test -d /proc/{pid}")).await.context("the agent goes on over an upgrade")?;
    system.run(RESTART).await?;
    let review = patience::until_within(STEP, "the review", async || {
        let task = system.run("FORGE_DATA_DIR=/srv/data forge --json task show 1").await?;
        let task: Value = serde_json::from_str(&task).with_context(|| task.clone())?;
        Ok(Some(task).filter(|task| task["status"] == "review"))
    });
    review.await?;
    assert_eq!(system.run(STARTED).await?.trim(), pid, "it was started once");
    let diff = system.run("FORGE_DATA_DIR=/srv/data forge task diff 1").await?;
    ensure!(diff.contains("+changed"), "{diff}");
    Ok(())
}
