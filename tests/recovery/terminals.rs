//! A kill of the engine with a terminal open: the next engine has the same shell, once, with what it printed.

use std::{path::Path, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_store::Store;
use forge_testkit::serve::{Serve, Served, scripted_agent};
use forge_testkit::{Repository, fault};
use serde_json::{Value, json};
use tempfile::TempDir;

struct TerminalFixture {
    server: Served,
    dir: TempDir,
    task: String,
}

impl TerminalFixture {
    fn serve(dir: &Path, env: Vec<(String, String)>) -> Result<Served> {
        Serve { program: "forge-faulty", data: dir.join("data"), env }.start()
    }

    /// A task whose work waits for a person, and a terminal whose opening may have been cut short.
    async fn start(env: Vec<(String, String)>) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let server = Self::serve(dir.path(), env)?;
        let agent = server.post("/agents", scripted_agent("scripted")?).await?["id"].clone();
        let settings = json!({ "shell": ["sh", "-c"], "sandbox": { "mode": "off" } });
        let new = json!({ "name": "sample", "repo_path": repo.path(), "settings": settings });
        let project = server.post("/projects", new).await?;
        let path = format!("/projects/{}/tasks", project["id"].as_str().context("no id")?);
        let description = "```forge-script\nedit work.txt <<< \"done\\n\"\n```";
        let new = json!({ "title": "Try", "description": description, "roles": { "coder": agent } });
        let task = server.post(&path, new).await?;
        let id = task["id"].as_str().context("no id")?.to_owned();
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        server.post(&format!("/tasks/{id}/claim"), claim).await?;
        server.wait(&id, "awaiting a person", |task| task["review"]["status"] == "awaiting_human").await?;
        server.patch("/settings", json!({ "terminal_remote": true })).await?;
        // The server may be killed while it answers.
        let _ = server.post(&format!("/tasks/{id}/terminals"), json!({})).await;
        Ok(Self { server, dir, task: id })
    }

    async fn terminal(&self) -> Result<Value> {
        let mut page = self.server.get(&format!("/tasks/{}/terminals", self.task)).await?;
        ensure!(page["items"].as_array().is_some_and(|items| items.len() == 1), "not one: {page:#}");
        Ok(page["items"][0].take())
    }

    async fn types(&self, text: &str) -> Result<()> {
        let id = self.terminal().await?["id"].clone();
        let path = format!("/terminals/{}/input", id.as_str().context("no id")?);
        self.server.post(&path, json!({ "bytes": STANDARD.encode(text) })).await.map(drop)
    }

    /// Where the terminal is read from the beginning.
    async fn stream(&self) -> Result<String> {
        let id = self.terminal().await?["id"].clone();
        Ok(format!("/terminals/{}/stream?wait_ms=0", id.as_str().context("no id")?))
    }

    /// What the terminal shows from the beginning, once something is there.
    async fn shows(&self, expected: &str) -> Result<String> {
        let path = self.stream().await?;
        let mut text = String::new();
        for _ in 0..500 {
            let read = self.server.get(&path).await?;
            let bytes = STANDARD.decode(read["bytes"].as_str().context("no bytes")?)?;
            text = String::from_utf8_lossy(&bytes).into_owned();
            if text.contains(expected) {
                return Ok(text);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!("it does not show {expected:?}: {text:?}")
    }

    /// Says which shell it is.
    async fn sign(&self, word: &str) -> Result<()> {
        let evidence = self.dir.path().join("evidence");
        self.types(&format!("echo $$ >> '{}'; echo {word} $((6*7))\n", evidence.display())).await?;
        self.shows(&format!("{word} 42\r\n")).await.map(drop)
    }

    /// The shells that signed.
    fn signed(&self) -> Result<Vec<String>> {
        let signed = std::fs::read_to_string(self.dir.path().join("evidence"))?;
        Ok(signed.lines().map(ToOwned::to_owned).collect())
    }

    async fn survives(point: &str) -> Result<()> {
        let env = vec![(fault::FAULT_VARIABLE.to_owned(), point.to_owned())];
        let mut fixture = Self::start(env).await?;
        fixture.server.until_gone().await?;
        fixture.server.kill()?;
        fixture.server = Self::serve(fixture.dir.path(), Vec::new())?;
        fixture.sign("after").await.with_context(|| point.to_owned())?;
        let marked = fixture.shells()?;
        ensure!(marked == 1, "{point}: {marked} shells");
        let store = Store::open(&fixture.dir.path().join("data")).await?;
        let rows = store.read().await?.terminals().active().await?;
        ensure!(rows.iter().all(|row| row.spawned), "{point}: the id could name another shell");
        store.close().await;
        Ok(())
    }

    /// How many shells of terminals run.
    fn shells(&self) -> Result<usize> {
        let marks = forge_exec::look();
        let signed = self.signed()?;
        let pid: u32 = signed.last().context("none signed")?.parse()?;
        let of = marks.iter().filter(|(mark, _)| mark.starts_with("terminal-"));
        let own = of.filter(|(_, processes)| processes.iter().any(|it| it.pid == pid));
        Ok(own.map(|(_, processes)| processes.len()).sum())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_of_the_engine_leaves_the_shell_and_what_it_printed() -> Result<()> {
    let mut fixture = TerminalFixture::start(Vec::new()).await?;
    fixture.sign("before").await?;
    fixture.types("seq 1 3000\n").await?;
    let before = fixture.shows("\r\n3000\r\n").await?;
    let opened = fixture.terminal().await?;
    fixture.server.kill()?;
    fixture.server = TerminalFixture::serve(fixture.dir.path(), Vec::new())?;
    // Who reads it first is told where that ends which was printed before.
    let first = fixture.server.get(&fixture.stream().await?).await?;
    ensure!(first["end"].as_u64() >= u64::try_from(before.len()).ok(), "it is not known whole: {first}");
    let after = fixture.shows("\r\n3000\r\n").await?;
    ensure!(after.starts_with(&before), "it shows something else: {after:?}");
    ensure!(fixture.terminal().await? == opened, "it is another one");
    fixture.sign("after").await?;
    let signed = fixture.signed()?;
    ensure!(signed.len() == 2 && signed[0] == signed[1], "it is another shell: {signed:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_before_the_keeper_has_a_terminal_starts_it_once() -> Result<()> {
    TerminalFixture::survives("terminal.recorded").await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_before_the_start_of_a_terminal_is_noted_goes_on_with_its_shell() -> Result<()> {
    TerminalFixture::survives("terminal.started").await
}
