//! `forge service`, with a program in place of `systemctl`. Where systemd runs, the user's own is left alone.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use anyhow::{Result, ensure};
use forge_testkit::{Folder, folder::CommandOutput};
use forge_tests::patience::until;
use serde_json::json;

/// Starts and stops what a unit says, as systemd would; keeps what it was asked in `asked`.
const SYSTEMCTL: &str = r#"#!/bin/sh
here=$(dirname "$0")
units=$HOME/.config/systemd/user
echo "$*" >>"$here/asked"
[ "$1" = --user ] || exit 9
shift
stop() {
    [ -f "$here/pid" ] || return 0
    kill -TERM "$(cat "$here/pid")" 2>/dev/null
    while active; do sleep 0.05; done
    rm "$here/pid"
}
active() { [ -f "$here/pid" ] && grep -q '^State:.[^Z]' "/proc/$(cat "$here/pid")/status" 2>/dev/null; }
case $1 in
show-environment | daemon-reload) ;;
enable) touch "$here/enabled" ;;
restart)
    stop
    line=$(sed -n 's/^ExecStart=//p' "$units/$2")
    ( eval "exec setsid $line" ) >/dev/null 2>&1 </dev/null &
    echo $! >"$here/pid"
    ;;
disable) stop; rm -f "$here/enabled" ;;
is-enabled) [ -f "$here/enabled" ] && echo enabled || { echo disabled; exit 1; } ;;
is-active) active && echo active || { echo inactive; exit 3; } ;;
*) exit 9 ;;
esac
"#;

fn run(folder: &Folder, args: &[&str]) -> Result<CommandOutput> {
    let mut command: Command = folder.command(args)?;
    let path = format!("{}:/usr/bin:/bin", folder.dir.path().join("tools").display());
    let output = command.env("PATH", path).output()?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

fn has_systemd() -> bool {
    let has = Path::new("/run/systemd/system").exists();
    if has {
        eprintln!("skipped: systemd runs here");
    }
    has
}

#[tokio::test(flavor = "multi_thread")]
async fn service_is_installed_started_shown_and_removed() -> Result<()> {
    if has_systemd() {
        return Ok(());
    }
    let folder = Folder::new()?;
    let tools = folder.dir.path().join("tools");
    fs::create_dir(&tools)?;
    fs::write(tools.join("systemctl"), SYSTEMCTL)?;
    fs::set_permissions(tools.join("systemctl"), fs::Permissions::from_mode(0o755))?;

    let none = run(&folder, &["service", "remove"])?;
    ensure!(none.code == Some(3), "{none:?}");
    let status = run(&folder, &["service", "status", "--json"])?;
    ensure!(status.code == Some(1) && status.stdout.contains("\"installed\":false"), "{status:?}");

    let installed = run(&folder, &["service", "install", "--port", "0", "--json"])?.json()?;
    let file = installed["file"].as_str().unwrap_or_default().to_owned();
    let unit = fs::read_to_string(&file)?;
    ensure!(unit.contains("KillMode=process") && unit.contains("WantedBy=default.target"), "{unit}");
    let running = until("the service's engine", async || {
        let status = run(&folder, &["service", "status", "--json"])?;
        let status: serde_json::Value = serde_json::from_str(&status.stdout)?;
        Ok(status["url"].is_string().then_some(status))
    })
    .await;
    let used = folder.run(&["project", "list", "--json"]);
    let again = run(&folder, &["service", "install", "--port", "0", "--json"]);
    let removed = run(&folder, &["service", "remove"])?;

    let running = running?;
    assert_eq!((&running["enabled"], &running["active"]), (&json!(true), &json!(true)));
    assert_eq!(used?.json()?["items"], json!([]), "commands use the service's engine");
    again?.succeeded()?;
    removed.succeeded()?;
    ensure!(!Path::new(&file).exists(), "the unit is gone");
    let asked = fs::read_to_string(tools.join("asked"))?;
    ensure!(asked.contains("--user disable --now forge-data-"), "{asked}");
    let stopped = run(&folder, &["service", "status", "--json"])?;
    ensure!(stopped.stdout.contains("\"url\":null"), "{stopped:?}");
    Ok(())
}

#[test]
fn service_is_refused_beside_another_engine_and_without_systemd() -> Result<()> {
    if has_systemd() {
        return Ok(());
    }
    let folder = Folder::new()?;
    let tools = folder.dir.path().join("tools");
    fs::create_dir(&tools)?;
    let fake = |text: &str| {
        fs::write(tools.join("systemctl"), text)?;
        fs::set_permissions(tools.join("systemctl"), fs::Permissions::from_mode(0o755))
    };
    fake("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n")?;
    let without = run(&folder, &["service", "install"])?;
    ensure!(
        without.code == Some(1) && without.stderr.contains("Could not reach the user's systemd"),
        "{without:?}"
    );
    ensure!(without.stderr.contains("forge serve --background"), "{without:?}");
    ensure!(!folder.dir.path().join("home/.config/systemd").exists(), "nothing was written");

    fake(SYSTEMCTL)?;
    let server = folder.serve()?;
    let beside = run(&folder, &["service", "install"])?;
    ensure!(beside.code == Some(4) && beside.stderr.contains(&server.pid().to_string()), "{beside:?}");
    Ok(())
}
