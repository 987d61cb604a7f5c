//! Tasks whose programs run on another machine, by a real ssh server: where they run, what they leave, and what becomes
//! of them when the machine cannot be reached.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_engine::EngineConfig;
use forge_testkit::{Sandbox, lasting_folder};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ssh_server::{Server, board_with, configuring};

/// Waits for what no event tells.
pub(crate) async fn eventually(what: &str, is_so: impl Fn() -> Result<bool>) -> Result<()> {
    for _ in 0..1200 {
        if is_so()? {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bail!("it never came to it that {what}")
}

/// A board with a machine named `box` that the project's tasks run on.
pub(crate) struct OnMachine {
    pub(crate) board: Sandbox,
    pub(crate) server: Server,
    pub(crate) folder: TempDir,
}

impl OnMachine {
    /// None where there is no ssh server.
    pub(crate) async fn new(settings: Value) -> Result<Option<Self>> {
        Self::in_folder(tempfile::tempdir()?, settings).await
    }

    /// The same with everything of the machine in this folder.
    pub(crate) async fn in_folder(folder: TempDir, settings: Value) -> Result<Option<Self>> {
        Self::of(folder, settings, |_| {}).await
    }

    /// The same with changes to the engine's configuration.
    pub(crate) async fn of(
        folder: TempDir,
        settings: Value,
        change: impl FnOnce(&mut EngineConfig),
    ) -> Result<Option<Self>> {
        let Some(server) = Server::start(folder.path())? else { return Ok(None) };
        let configuration = server.configuration("far");
        Self::by_way(folder, server, &configuration, settings, change).await.map(Some)
    }

    /// The same with a server that the user's ssh reaches by this configuration, and changes to that of the engine.
    pub(crate) async fn by_way(
        folder: TempDir,
        server: Server,
        configuration: &str,
        settings: Value,
        change: impl FnOnce(&mut EngineConfig),
    ) -> Result<Self> {
        let mut all = json!({ "machines": ["box"], "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &settings);
        let board = board_with(configuration, all, change).await?;
        let new = json!({ "name": "box", "ssh": { "host": "far" }, "root": folder.path().join("forge") });
        board.call("machine_create", new).await?;
        Ok(Self { board, server, folder })
    }

    /// A task of an agent that runs a script of shell, started.
    pub(crate) async fn begin(&mut self, script: &str) -> Result<Value> {
        let config = json!({ "command": script });
        let agent = json!({ "name": "writer", "adapter": "shell", "config": config, "max_concurrent": 8 });
        let agent = self.board.call("agent_create", agent).await?;
        self.board.agent = agent["id"].as_str().context("no id")?.to_owned();
        let task = self.board.task("Write", &[], json!({})).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    pub(crate) async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        let runs = self.board.call("task_executions", json!({ "task_id": task["id"] })).await?;
        runs["items"].as_array().cloned().context("no runs")
    }

    /// A file by whose being there a script is told to go on, and one by which it tells how far it is.
    pub(crate) fn signals(&self) -> (PathBuf, PathBuf) {
        (self.folder.path().join("go-on"), self.folder.path().join("is-there"))
    }

    pub(crate) async fn until(&self, file: &Path) -> Result<()> {
        eventually(&format!("{} is there", file.display()), || Ok(file.exists())).await
    }

    /// The process of the machine's keeper.
    fn keeper(&self) -> Result<nix::unistd::Pid> {
        let pid = self.server.keepers().first().copied().context("no keeper")?;
        Ok(nix::unistd::Pid::from_raw(pid.cast_signed()))
    }

    /// Everything that a run printed.
    pub(crate) async fn printed(&self, run: &Value) -> Result<String> {
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

    pub(crate) fn on_main(&self, file: &str) -> Result<String> {
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
                  echo later >> work.txt; rm src/a.txt; \
                  echo \"${FORGE_REPO_PATH-none}\" > repository.txt; cat \"$FORGE_PROMPT_FILE\" > prompt.txt";
    let task = on.begin(script).await?;
    let done = on.board.reach(&task, "done").await?;
    let there = on.folder.path().join("forge").canonicalize()?;
    let work = on.on_main("work.txt")?;
    ensure!(work.starts_with(&*there.to_string_lossy()) && work.ends_with("later"), "{work}: {done:#}");
    assert_eq!(on.on_main("hook.txt")?.lines().next(), work.lines().next());
    ensure!(on.on_main("prompt.txt")?.contains("Write"), "the prompt is there");
    ensure!(on.board.repo.git(&["log", "--format=%s", "main"])?.contains("mine"));
    ensure!(on.on_main("src/a.txt").is_err(), "what it removed is gone");
    assert_eq!(on.on_main("repository.txt")?, "none", "the user's repository is not there");
    ensure!(on.on_main("ignored").is_err(), "what is ignored stays there");
    let run = on.runs(&task).await?.remove(0);
    let machine = on.board.call("machine_get", json!({ "machine_id": "box" })).await?;
    assert_eq!(run["machine_id"], machine["id"], "{run:#}");
    assert_eq!(machine["contact"], "live", "{machine:#}");
    eventually("the copy is removed", || Ok(on.server.copies().is_empty())).await?;
    let fetched = on.board.api.engine().data_dir().join("fetched");
    ensure!(!fetched.exists(), "what was known here was fetched once more");
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
        tokio::time::sleep(Duration::from_millis(300)).await;
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
    let refused = on.board.act(&task, "cancel", json!({})).await.err().context("it was not refused")?;
    ensure!(refused.to_string().contains("give it up"), "a person is not made to wait: {refused}");
    on.board.act(&task, "give_up_machine", json!({})).await?;
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
    eventually("the copy is removed", || Ok(on.server.copies().is_empty())).await?;
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

#[tokio::test(flavor = "multi_thread")]
async fn task_that_waited_to_begin_begins_when_its_machine_is_back() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let first = on.begin("echo first > first.txt").await?;
    on.board.reach(&first, "done").await?;
    on.server.stop();
    let machine = json!({ "machine_id": "box" });
    let mut contact = Value::Null;
    for _ in 0..200 {
        contact = on.board.call("machine_get", machine.clone()).await?["contact"].clone();
        if contact == "unreachable" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(contact, "unreachable");
    let second = on.board.task("Then", &[], json!({})).await?;
    on.board.claim(&second).await?;
    on.board.wait(&second, "waiting", |now| now["waiting"]["reason"] == "machine_unreachable").await?;
    assert_eq!(on.runs(&second).await?.len(), 0, "it takes no place meanwhile");
    on.server.start_again()?;
    // Nobody asks for the machine but the task.
    on.board.reach(&second, "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_were_changed_here_meanwhile_are_kept_as_a_backup() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let script = format!(
        "echo there > work.txt; touch {}; until [ -e {} ]; do sleep 0.05; done",
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    let here = on.board.get(&task).await?;
    let here = PathBuf::from(here["workspace"]["path"].as_str().context("a worktree")?);
    ensure!(!here.join("work.txt").exists(), "it is worked on there");
    fs::write(here.join("work.txt"), "here\n")?;
    fs::write(&go_on, "")?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("work.txt")?, "there");
    let id = task["id"].as_str().context("an id")?;
    let kept = on.board.repo.git(&["show", &format!("refs/forge/backup/{id}/1:work.txt")])?;
    assert_eq!(kept, "here");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_machine_has_and_nobody_here_knows_of_is_kept_as_a_backup() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({ "auto_approve": false })).await? else { return Ok(()) };
    let task = on.begin("echo once >> work.txt").await?;
    on.board.wait(&task, "reviewed", |now| now["review"]["status"] == "awaiting_human").await?;
    // As in data that were restored from a backup: what was sent and fetched last is not known any more.
    let now = on.board.get(&task).await?;
    let here = PathBuf::from(now["workspace"]["path"].as_str().context("a worktree")?);
    fs::remove_dir_all(here.parent().context("a folder")?.join("transfer"))?;
    fs::write(here.join("here.txt"), "here\n")?;
    on.board.call("review_reject", json!({ "task_id": task["id"], "reason": "again" })).await?;
    let waits =
        |now: &Value| now["review"]["status"] == "awaiting_human" && now["review"]["attempt_number"] == 2;
    on.board.wait(&task, "reviewed again", waits).await?;
    assert_eq!(fs::read_to_string(here.join("work.txt"))?, "once\nonce\n");
    assert_eq!(fs::read_to_string(here.join("here.txt"))?, "here\n");
    let id = task["id"].as_str().context("an id")?;
    let refs =
        on.board.repo.git(&["for-each-ref", "--format=%(refname)", &format!("refs/forge/backup/{id}")])?;
    let kept = refs.lines().last().context("a backup")?;
    assert_eq!(on.board.repo.git(&["show", &format!("{kept}:work.txt")])?, "once");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn run_that_its_machine_knows_nothing_of_is_lost_and_another_follows() -> Result<()> {
    let Some(mut on) = OnMachine::new(json!({})).await? else { return Ok(()) };
    let (go_on, is_there) = on.signals();
    let script = format!(
        "echo line >> work.txt; touch {}; until [ -e {} ]; do sleep 0.05; done",
        is_there.display(),
        go_on.display()
    );
    let task = on.begin(&script).await?;
    on.until(&is_there).await?;
    // As after a power cut: the keeper, what it ran and what it knew are gone, the files are there.
    nix::sys::signal::kill(on.keeper()?, nix::sys::signal::Signal::SIGKILL)?;
    on.server.cut();
    fs::write(&go_on, "")?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    let of = |status: &str| runs.iter().filter(|run| run["status"] == status).count();
    assert_eq!((runs.len(), of("lost"), of("finished")), (2, 1, 1), "{runs:#?}");
    assert_eq!(on.on_main("work.txt")?, "line\nline", "what the lost one left was fetched");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_on_a_machine_are_confined_there() -> Result<()> {
    if !forge_exec::sandbox_support().files {
        eprintln!("skipped: this kernel has no Landlock");
        return Ok(());
    }
    let settings = json!({ "sandbox": { "mode": "files" } });
    // Not below a folder for temporary files, where everybody may write.
    let Some(mut on) = OnMachine::in_folder(lasting_folder()?, settings).await? else { return Ok(()) };
    let home = on.folder.path().join("home");
    fs::create_dir(home.join(".ssh"))?;
    fs::write(home.join(".ssh/id"), "a private key\n")?;
    let script = "echo evil > \"$HOME/evil\"; cat \"$HOME/.ssh/id\" > seen.txt; \
                  echo work > work.txt; git add -A; git commit -qm mine; true";
    let task = on.begin(script).await?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("work.txt")?, "work", "what it may, it did");
    ensure!(!home.join("evil").exists(), "it wrote to the home there");
    assert_eq!(on.on_main("seen.txt")?, "", "it read a key there");
    let run = on.runs(&task).await?.remove(0);
    assert_eq!(run["sandbox"]["state"], "enforced", "{run:#}");
    ensure!(run["sandbox"]["refused"].as_u64() >= Some(2), "{run:#}");
    Ok(())
}
