//! An engine on another computer, by the user's ssh: a real ssh server of a user with a home of its own.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{Folder, board::text, folder::CommandOutput, program, script};
use forge_tests::{patience::until, ssh_server::Server};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

/// A user here, and a user on another computer.
struct Far {
    here: Folder,
    server: Server,
    there: PathBuf,
}

impl Far {
    /// None where there is no ssh server.
    fn new() -> Result<Option<Self>> {
        let here = Folder::new()?;
        let there = here.dir.path().join("there");
        fs::create_dir(&there)?;
        let Some(server) = Server::start(&there)? else { return Ok(None) };
        server.make_known(&here.dir.path().join("home"), "far")?;
        let far = Self { here, server, there };
        far.install(program("forge")?.parent().context("no folder")?)?;
        Ok(Some(far))
    }

    /// Puts the programs of a folder on the path of the login there.
    fn install(&self, programs: &Path) -> Result<()> {
        let line = format!("export PATH=\"{}:/usr/bin:/bin\"\n", programs.display());
        Ok(fs::write(self.there.join("home/.profile"), line)?)
    }

    fn command(&self, args: &[&str]) -> Result<Command> {
        let mut command = self.here.command(args)?;
        let bin = self.here.dir.path().join("home/bin");
        let path = std::env::var_os("PATH").context("no PATH")?;
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)))?;
        command.env("PATH", path).env_remove("FORGE_DATA_DIR");
        Ok(command)
    }

    fn run(&self, args: &[&str]) -> Result<CommandOutput> {
        let output = self.command(args)?.output()?;
        Ok(CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    fn json(&self, args: &[&str]) -> Result<Value> {
        self.run(&[&["--on", "far", "--json"], args].concat())?.json()
    }

    fn data_dir(&self) -> PathBuf {
        self.there.join("home/.local/share/forge")
    }

    /// The process of the engine there.
    fn engine(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.data_dir().join("engine.lock")).ok()?;
        let pid = serde_json::from_str::<Value>(&text).ok()?["pid"].as_i64()?;
        Some(Pid::from_raw(i32::try_from(pid).ok()?))
    }

    fn is_running(&self) -> bool {
        self.engine().is_some_and(|pid| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("serve")
        })
    }

    /// Runs a command that fails, and compares what it says with a pattern of code and words.
    fn refused(&self, code: &str, words: &str) -> Result<()> {
        let refused = self.run(&["connect", "far", "--print"])?;
        ensure!(refused.code == Some(1), "{refused:?}");
        ensure!(refused.stderr.starts_with(&format!("{code}: Could not ")), "{refused:?}");
        ensure!(refused.stderr.contains(words) && refused.stderr.contains("\nhint: "), "{refused:?}");
        Ok(())
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        if self.is_running()
            && let Some(pid) = self.engine()
        {
            let _ = kill(pid, Signal::SIGINT);
            for _ in 0..200 {
                if !self.is_running() {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
        }
    }
}

#[test]
fn engine_on_another_computer_is_started_once_and_used_by_commands() -> Result<()> {
    let Some(far) = Far::new()? else { return Ok(()) };
    let connected = far.run(&["connect", "far", "--print"])?;
    connected.succeeded()?;
    let data_dir = far.data_dir().to_string_lossy().into_owned();
    ensure!(connected.stdout.starts_with("Connected to far: Forge "), "{connected:?}");
    ensure!(connected.stdout.contains(&data_dir) && connected.stdout.contains("--on far"), "{connected:?}");
    let engine = far.engine().context("no engine there")?;
    let socket = fs::symlink_metadata(far.data_dir().join("engine.sock"))?;
    ensure!(socket.file_type().is_socket() && socket.permissions().mode() & 0o777 == 0o600);

    let repository = far.here.repo.path().to_string_lossy().into_owned();
    let relative = far.run(&["--on", "far", "project", "add", "repo"])?;
    ensure!(relative.code == Some(2) && relative.stderr.contains("full path"), "{relative:?}");
    far.json(&["project", "add", &repository, "--name", "Sample"])?;
    let scripted = program("forge-scripted-agent")?;
    let agent = ["agent", "add", "Bot", "--command", scripted.to_str().context("no text")?];
    far.json(&[&agent[..], &["--", "--prompt-file", "{prompt_file}"]].concat())?;
    let work = script(&["edit hello.txt <<< \"hello\\n\"", "say I greeted."]);
    far.json(&["task", "create", "Greet", "--description", &work, "--agent", "Bot"])?;
    let started = far.run(&["--on", "far", "task", "start", "1", "--wait"])?;
    started.succeeded()?;
    ensure!(started.stderr.contains("#1 in_progress -> review"), "{started:?}");
    let done = far.json(&["task", "approve", "1", "--wait"])?;
    assert_eq!(text(&done, "status"), "done");
    assert_eq!(far.here.repo.show("main", "hello.txt").as_deref(), Some("hello"));
    assert_eq!(far.engine(), Some(engine), "it is the same engine each time");

    let token = fs::read_to_string(far.data_dir().join("token"))?;
    ensure!(!far.here.data_dir().exists(), "nothing was opened here");
    for entry in fs::read_dir(far.here.dir.path().join("home"))? {
        let said = fs::read_to_string(entry?.path()).unwrap_or_default();
        ensure!(!said.contains(token.trim()), "the token is in a file here");
    }
    let serve = far.run(&["--on", "far", "serve"])?;
    ensure!(serve.code == Some(2) && serve.stderr.contains("without --on"), "{serve:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn command_that_waits_goes_on_when_the_connection_is_cut() -> Result<()> {
    let Some(far) = Far::new()? else { return Ok(()) };
    let repository = far.here.repo.path().to_string_lossy().into_owned();
    far.json(&["project", "add", &repository, "--name", "Sample"])?;
    let go = far.here.dir.path().join("go");
    let waits = format!("touch {0}.begun; until test -e {0}; do sleep 0.05; done", go.display());
    far.json(&["agent", "add", "Slow", "--command", &waits])?;
    far.json(&["task", "create", "Slow work", "--agent", "Slow"])?;
    let mut waiting = far.command(&["--on", "far", "--json", "task", "start", "1", "--wait"])?;
    let waiting =
        waiting.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn()?;
    let begun = go.with_extension("begun");
    until("the agent's begin", async || Ok(begun.exists().then_some(()))).await?;
    far.server.cut();
    fs::write(&go, "")?;
    let ended = tokio::task::spawn_blocking(move || waiting.wait_with_output()).await??;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    ensure!(ended.status.success(), "{said}");
    let task: Value = serde_json::from_slice(&ended.stdout)?;
    ensure!(task["live"].is_null() && text(&task, "status") == "review", "{task}");
    Ok(())
}

#[test]
fn each_trouble_on_the_way_is_told_in_a_sentence_with_a_remedy() -> Result<()> {
    let Some(mut far) = Far::new()? else { return Ok(()) };
    let programs = far.there.join("programs");
    fs::create_dir(&programs)?;
    far.install(&programs)?;
    far.refused("forge_missing", "Could not find Forge on far")?;

    let other = programs.join("forge");
    fs::write(
        &other,
        "#!/bin/sh\n[ \"$1\" = --version ] && echo forge 0.0.1 && exit\ntouch \"$0.started\"\n",
    )?;
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755))?;
    far.refused("other_version", "it is version 0.0.1, and this is version")?;
    ensure!(!programs.join("forge.started").exists(), "an engine of another version was started");

    far.install(program("forge")?.parent().context("no folder")?)?;
    fs::write(far.there.join("home/.local"), "no folder")?;
    far.refused("engine_refused", "Could not use the engine on far")?;
    fs::remove_file(far.there.join("home/.local"))?;

    let known = far.there.join("known_hosts");
    let right = fs::read_to_string(&known)?;
    let key = fs::read_to_string(far.there.join("key.pub"))?;
    fs::write(&known, format!("forge-test {key}"))?;
    far.refused("host_key", "its host key has changed")?;
    fs::write(&known, right)?;

    far.server.stop();
    far.refused("unreachable", "Could not reach far: Connection refused")?;
    ensure!(!far.is_running(), "no engine was needed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn change_that_is_sent_again_with_its_key_is_made_once() -> Result<()> {
    let folder = Folder::new()?;
    let server = folder.serve()?;
    let (project, _) = server.project(&folder.repo, json!({})).await?;
    let create = async |key: &str, title: &str| -> Result<(u16, Value)> {
        let path = format!("/projects/{project}/tasks");
        let request = server.request(reqwest::Method::POST, &path).json(&json!({ "title": title }));
        let answer = request.header("Idempotency-Key", key).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    };
    let (one, same) = tokio::try_join!(create("k1", "Once"), create("k1", "Once"))?;
    assert_eq!(one.0, 201, "{}", one.1);
    assert_eq!(one, same, "both are given the same answer");
    assert_eq!(create("k1", "Once").await?, one, "also later");
    let misused = create("k1", "Another").await?;
    assert_eq!((misused.0, text(&misused.1, "code").as_str()), (400, "invalid"));
    create("k2", "Another").await?;
    let tasks = server.get(&format!("/projects/{project}/tasks")).await?;
    assert_eq!(tasks["items"].as_array().map(Vec::len), Some(2), "{tasks}");
    Ok(())
}
