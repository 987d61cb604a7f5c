//! Tasks whose programs run on another machine, by a real ssh server: where they run, what they leave, and what becomes
//! of them when the machine cannot be reached.

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::Sandbox;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ssh_server::{Server, board, configuring};

/// A board with a machine named `box` that the project's tasks run on.
struct OnMachine {
    board: Sandbox,
    server: Server,
    folder: TempDir,
}

impl OnMachine {
    /// None where there is no ssh server.
    async fn new(settings: Value) -> Result<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let Some(server) = Server::start(folder.path())? else { return Ok(None) };
        let mut all = json!({ "machines": ["box"], "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &settings);
        let board = board(&server.configuration("far"), all).await?;
        let new = json!({ "name": "box", "ssh": { "host": "far" }, "root": folder.path().join("forge") });
        board.call("machine_create", new).await?;
        Ok(Some(Self { board, server, folder }))
    }

    /// A task of an agent that runs a script of shell, started.
    async fn begin(&mut self, script: &str) -> Result<Value> {
        let config = json!({ "command": script });
        let agent = json!({ "name": "writer", "adapter": "shell", "config": config, "max_concurrent": 8 });
        let agent = self.board.call("agent_create", agent).await?;
        self.board.agent = agent["id"].as_str().context("no id")?.to_owned();
        let task = self.board.task("Write", &[], json!({})).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        let runs = self.board.call("task_executions", json!({ "task_id": task["id"] })).await?;
        runs["items"].as_array().cloned().context("no runs")
    }

    /// A file by whose being there a script is told to go on, and one by which it tells how far it is.
    fn signals(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("go-on"), self.folder.path().join("is-there"))
    }

    /// Waits until a file is there.
    async fn until(&self, file: &std::path::Path) -> Result<()> {
        for _ in 0..1200 {
            if file.exists() {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        anyhow::bail!("{} is not there", file.display())
    }

    /// Everything that a run printed.
    async fn printed(&self, run: &Value) -> Result<String> {
        // Entries end at the ends of lines.
        let text =
            |entry: &Value| entry["body"]["text"].as_str().map(|text| text.trim_end().to_owned() + "\n");
        let (mut printed, mut after) = (String::new(), json!(0));
        loop {
            let asked = json!({ "execution_id": run["id"], "after": after, "limit": 200 });
            let page = self.board.call("execution_logs", asked).await?;
            let entries = page["entries"].as_array().with_context(|| format!("{page:#}"))?;
            let Some(last) = entries.last() else { return Ok(printed) };
            after = last["seq"].clone();
            printed.extend(entries.iter().filter(|entry| entry["kind"] == "stdout").filter_map(text));
        }
    }

    fn on_main(&self, file: &str) -> Result<String> {
        self.board.repo.git(&["show", &format!("main:{file}")])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn task_runs_on_its_machine_and_its_work_is_merged() -> Result<()> {
    let settings = json!({
        "setup": ["pwd > set-up.log; echo set-up >> .gitignore"],
        "lifecycle_hooks": { "before_work": [{ "type": "script", "command": "pwd > hook.txt" }] },
        "review_config": { "ci_steps": ["test -e work.txt && test -e ignored && pwd >&2"] },
    });
    let Some(mut on) = OnMachine::new(settings).await? else { return Ok(()) };
    let script = "pwd > work.txt; echo ignored >> .gitignore; echo kept > ignored; git add -A; git commit -qm mine; \
                  echo later >> work.txt; rm src/a.txt; cat \"$FORGE_PROMPT_FILE\" > prompt.txt";
    let task = on.begin(script).await?;
    let done = on.board.reach(&task, "done").await?;
    let there = on.folder.path().join("forge").canonicalize()?;
    let work = on.on_main("work.txt")?;
    ensure!(work.starts_with(&*there.to_string_lossy()) && work.ends_with("later"), "{work}: {done:#}");
    assert_eq!(on.on_main("hook.txt")?.lines().next(), work.lines().next());
    ensure!(on.on_main("prompt.txt")?.contains("Write"), "the prompt is there");
    ensure!(on.board.repo.git(&["log", "--format=%s", "main"])?.contains("mine"));
    ensure!(on.on_main("src/a.txt").is_err(), "what it removed is gone");
    ensure!(on.on_main("ignored").is_err(), "what is ignored stays there");
    let run = on.runs(&task).await?.remove(0);
    let machine = on.board.call("machine_get", json!({ "machine_id": "box" })).await?;
    assert_eq!(run["machine_id"], machine["id"], "{run:#}");
    assert_eq!(machine["contact"], "live", "{machine:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_lose_and_double_nothing() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let script = format!(
        "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); [ $i = 100 ] && touch {}; \
         [ $i = 200 ] && until [ -e {} ]; do sleep 0.02; done; done; echo work > work.txt",
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    for _ in 0..3 {
        on.server.cut();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    fs::write(&go_on, "")?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    let expected: String = (0..300).map(|i| format!("line {i}\n")).collect();
    assert_eq!(on.printed(&runs[0]).await?, expected);
    assert_eq!(on.on_main("work.txt")?, "work");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_that_comes_back_goes_on_with_the_run_there() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let script = format!(
        "echo once >> work.txt; touch {}; until [ -e {} ]; do sleep 0.05; done; echo end",
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    on.board.api.engine().leave().await;
    fs::write(&go_on, "")?;
    on.board.restart_with(configuring(on.board.dir.path())?).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(runs[0]["status"], "finished");
    assert_eq!(on.on_main("work.txt")?, "once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_that_is_gone_is_waited_for_and_may_be_given_up() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    // It goes on for as long as its machine knows of it; on this computer there is nothing to wait for.
    let script = format!(
        "echo \"$PWD\" > work.txt; touch {}; case $PWD in {}/*) until [ -e {} ]; do sleep 0.05; done; \
         echo there > late.txt;; esac",
        is_there.display(),
        on.folder.path().display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    on.server.stop();
    let waits =
        on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "machine_unreachable").await?;
    ensure!(waits["waiting"]["message"].as_str().is_some_and(|text| text.contains("box")), "{waits:#}");
    assert_eq!(on.runs(&task).await?.len(), 1, "nothing starts elsewhere");
    let local = json!({ "project_id": on.board.project, "machines": [] });
    on.board.call("project_settings_update", local).await?;
    let act = json!({ "task_id": task["id"], "verb": "give_up_machine", "version": waits["version"] });
    on.board.call("task_action", act).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    let abandoned = runs.iter().find(|run| run["status"] == "lost").context("an abandoned run")?;
    assert_eq!(abandoned["error"]["code"], "abandoned");
    let work = on.on_main("work.txt")?;
    ensure!(!work.starts_with(&*on.folder.path().to_string_lossy()), "it was done here: {work}");
    // What the machine has is kept when it is back, and removed there.
    on.server.start_again()?;
    on.board.call("machine_test", json!({ "machine_id": "box" })).await?;
    let copy = on.folder.path().join("forge/keepers");
    let has_copy = || {
        let owners = fs::read_dir(&copy).into_iter().flatten().flatten();
        owners
            .into_iter()
            .any(|it| fs::read_dir(it.path().join("tasks")).is_ok_and(|mut all| all.next().is_some()))
    };
    for _ in 0..600 {
        if !has_copy() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    ensure!(!has_copy(), "the copy is still there");
    let backups = format!("refs/forge/backup/{}", task["id"].as_str().context("an id")?);
    let refs = on.board.repo.git(&["for-each-ref", "--format=%(refname)", "refs/forge"])?;
    let kept = refs.lines().find(|name| name.starts_with(&backups)).with_context(|| refs.clone())?;
    let kept = on.board.repo.git(&["show", &format!("{kept}:work.txt")])?;
    ensure!(kept.starts_with(&*on.folder.path().canonicalize()?.to_string_lossy()), "{kept}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_waits_until_a_machine_has_its_labels() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({ "machines": ["gpu"] })).await? else { return Ok(()) };
    let task = on.begin("echo work > work.txt").await?;
    on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "no_machine").await?;
    let labels = json!({ "machine_id": "box", "labels": ["gpu"] });
    on.board.call("machine_update", labels).await?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("work.txt")?, "work");
    Ok(())
}
