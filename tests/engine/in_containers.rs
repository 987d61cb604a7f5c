//! Tasks whose programs run in containers of their own, by real podman: where they run, what they may, what they leave,
//! and what becomes of them when a container is gone.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::EngineConfig;
use forge_machines_testkit::{BASE, Podman};
use forge_testkit::Sandbox;
use serde_json::{Value, json};

use crate::{on_machines::eventually, ssh_server::configuring};

/// The machine of the board.
const BOX: &str = "box";

/// A board with a machine named `box`, whose containers the project's tasks run in.
pub(crate) struct InContainers {
    // Ends before podman is cleaned up.
    pub(crate) board: Sandbox,
    pub(crate) podman: Podman,
}

impl InContainers {
    /// None where podman may not run, which is told. Containers reach nothing unless `container` says otherwise.
    pub(crate) async fn new(settings: Value, container: Value) -> Result<Option<Self>> {
        let Some(podman) = tokio::task::block_in_place(Podman::rootful) else { return Ok(None) };
        let dir = tempfile::tempdir()?;
        fs::create_dir(dir.path().join("data"))?;
        // So that whatever is left is the test's.
        fs::write(dir.path().join("data/keeper-owner"), podman.owner())?;
        let mut all = json!({ "machines": [BOX], "auto_approve": true, "sandbox": { "mode": "off" } });
        forge_model::settings::merge_patch(&mut all, &settings);
        let configure = with_podman(dir.path(), &podman)?;
        let board = Sandbox::in_folder(dir, all, configure).await?;
        let mut made = json!({ "engine": "podman", "image": BASE, "network": "none" });
        forge_model::settings::merge_patch(&mut made, &container);
        board.call("machine_create", json!({ "name": BOX, "container": made })).await?;
        Ok(Some(Self { board, podman }))
    }

    /// A task of an agent that runs a script of shell, started.
    async fn begin(&mut self, script: &str) -> Result<Value> {
        self.begin_with(script, json!({})).await
    }

    async fn begin_with(&mut self, script: &str, extra: Value) -> Result<Value> {
        let config = json!({ "command": script });
        let agent = json!({ "name": "writer", "adapter": "shell", "config": config, "max_concurrent": 8 });
        let agent = self.board.call("agent_create", agent).await?;
        self.board.agent = agent["id"].as_str().context("no id")?.to_owned();
        let task = self.board.task("Write", &[], extra).await?;
        self.board.claim(&task).await?;
        Ok(task)
    }

    async fn runs(&self, task: &Value) -> Result<Vec<Value>> {
        let runs = self.board.call("task_executions", json!({ "task_id": task["id"] })).await?;
        runs["items"].as_array().cloned().context("no runs")
    }

    async fn machine(&self) -> Result<Value> {
        Ok(self.board.call("machine_get", json!({ "machine_id": BOX })).await?)
    }

    /// The names of the test's containers.
    fn containers(&self) -> Result<Vec<String>> {
        let owner = format!("label=forge.owner={}", self.podman.owner());
        let all = self.podman.podman(&["ps", "--all", "--format", "{{.Names}}", "--filter", &owner])?;
        Ok(all.lines().map(str::to_owned).collect())
    }

    fn only_container(&self) -> Result<String> {
        let all = self.containers()?;
        ensure!(all.len() == 1, "{all:?}");
        all.into_iter().next().context("no container")
    }

    /// Has a shell do something in the only container.
    fn inside(&self, script: &str) -> Result<String> {
        self.podman.podman(&["exec", &self.only_container()?, "sh", "-c", script])
    }

    async fn until_inside(&self, file: &str) -> Result<()> {
        eventually(&format!("{file} is there"), || Ok(self.inside(&format!("test -e {file}")).is_ok())).await
    }

    async fn until_none_is_left(&self) -> Result<()> {
        eventually("no container is left", || Ok(self.containers()?.is_empty())).await
    }

    fn on_main(&self, file: &str) -> Result<String> {
        self.board.repo.git(&["show", &format!("main:{file}")])
    }

    /// Finds the copies of worktrees in the containers.
    pub(crate) fn elsewhere(&self) -> impl Fn(&str) -> Option<PathBuf> + use<> {
        let keeper = PathBuf::from("/root").join(".forge/keepers").join(self.podman.owner());
        move |task| Some(keeper.join("tasks").join(task).join("tree"))
    }

    /// Waits until nothing is left, and takes podman away.
    pub(crate) async fn close(self) -> Result<()> {
        self.until_none_is_left().await?;
        let Self { board, podman } = self;
        drop(board);
        podman.close()
    }
}

/// What makes an engine one of a user whose podman is that of the test, with a keeper that outlives it.
fn with_podman(folder: &Path, podman: &Podman) -> Result<impl FnOnce(&mut EngineConfig) + use<>> {
    let configure = configuring(folder)?;
    let bin = podman.folder.path().to_owned();
    let temporary = OsString::from(podman.folder.path().join("tmp"));
    Ok(move |config: &mut EngineConfig| {
        configure(config);
        let mut variables: BTreeMap<OsString, OsString> = (*config.environment).clone();
        let path = variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)));
        variables.insert("PATH".into(), path.unwrap_or_default());
        variables.insert("TMPDIR".into(), temporary);
        config.environment = Arc::new(variables);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn task_runs_in_a_container_of_its_own_which_goes_with_its_worktree() -> Result<()> {
    let settings = json!({
        "setup": ["pwd > set-up.log; hostname > /tmp/host; echo set-up.log >> .gitignore"],
        "review_config": { "ci_steps": ["test -e work.txt && test -e set-up.log && cat /tmp/host | grep -qx $(hostname)"] },
    });
    let Some(mut on) = InContainers::new(settings, json!({})).await? else { return Ok(()) };
    let script = "pwd > work.txt; hostname > host.txt; cat /tmp/host >> host.txt; \
                  cat /proc/net/dev | grep -c : > networks.txt; ls -A / | grep -c home > homes.txt; \
                  echo \"${FORGE_REPO_PATH-none}\" > repository.txt; cat \"$FORGE_PROMPT_FILE\" > prompt.txt";
    let task = on.begin(script).await?;
    on.board.reach(&task, "done").await?;
    let work = on.on_main("work.txt")?;
    ensure!(work.contains("/.forge/"), "{work}");
    let hosts = on.on_main("host.txt")?;
    let hosts: Vec<&str> = hosts.lines().collect();
    ensure!(hosts.len() == 2 && hosts[0] == hosts[1], "set-up and agent share the container: {hosts:?}");
    assert_eq!(on.on_main("networks.txt")?, "1", "it reaches nothing but itself");
    assert_eq!(on.on_main("repository.txt")?, "none", "the user's repository is not there");
    ensure!(on.on_main("prompt.txt")?.contains("Write"), "the prompt is there");
    let run = on.runs(&task).await?.remove(0);
    assert_eq!(run["machine_id"], on.machine().await?["id"], "{run:#}");
    on.until_none_is_left().await?;
    let second = on.board.task("Again", &[], json!({})).await?;
    on.board.claim(&second).await?;
    on.board.reach(&second, "done").await?;
    let other = on.on_main("host.txt")?;
    ensure!(!other.contains(hosts[0]), "another task has another container");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_that_comes_back_goes_on_with_the_run_in_its_container() -> Result<()> {
    let Some(mut on) = InContainers::new(json!({}), json!({})).await? else { return Ok(()) };
    let task = on.begin("echo once >> work.txt; touch /there; until [ -e /go ]; do sleep 0.05; done").await?;
    on.until_inside("/there").await?;
    on.board.api.engine().leave().await;
    on.inside("touch /go")?;
    let configure = with_podman(on.board.dir.path(), &on.podman)?;
    on.board.restart_with(configure).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!(runs[0]["status"], "finished");
    assert_eq!(on.on_main("work.txt")?, "once");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_limit_that_ends_a_run_is_told_in_it() -> Result<()> {
    let limit = json!({ "memory_mb": 128 });
    let Some(mut on) = InContainers::new(json!({}), limit).await? else { return Ok(()) };
    let test = on.board.call("machine_test", json!({ "machine_id": BOX })).await?;
    let steps = test["steps"].as_array().context("no steps")?;
    if let Some(cannot) = steps.iter().find(|step| step["name"] == "limits" && step["ok"] == false) {
        eprintln!("skipped: {}", cannot["message"]);
        return on.close().await;
    }
    assert_eq!(test["ok"], true, "{test:#}");
    let script = "x=$(head -c 300000000 /dev/zero | tr '\\0' x); echo ${#x}";
    let limits = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
    let task = on.begin_with(script, limits).await?;
    on.board.wait(&task, "blocked", |now| now["status"] == "blocked").await?;
    let run = on.runs(&task).await?.remove(0);
    assert_eq!(run["error"]["code"], "out_of_memory", "{run:#}");
    let told = run["error"]["message"].as_str().context("a message")?;
    ensure!(told.contains("128 MiB"), "{told}");
    on.board.act(&task, "cancel", json!({})).await?;
    // Its worktree is kept for a day.
    on.podman.podman(&["rm", "--force", "--time", "0", &on.only_container()?])?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn container_that_was_removed_between_two_runs_is_made_again() -> Result<()> {
    let Some(mut on) = InContainers::new(json!({ "auto_approve": false }), json!({})).await? else {
        return Ok(());
    };
    let task = on.begin("echo once >> work.txt").await?;
    on.board.wait(&task, "reviewed", |now| now["review"]["status"] == "awaiting_human").await?;
    let first = on.inside("hostname")?;
    on.podman.podman(&["rm", "--force", "--time", "0", &on.only_container()?])?;
    on.board.call("review_reject", json!({ "task_id": task["id"], "reason": "again" })).await?;
    let waits =
        |now: &Value| now["review"]["status"] == "awaiting_human" && now["review"]["attempt_number"] == 2;
    let again = on.board.wait(&task, "reviewed again", waits).await?;
    ensure!(first != on.inside("hostname")?, "it is another one");
    let here = PathBuf::from(again["workspace"]["path"].as_str().context("a worktree")?);
    assert_eq!(fs::read_to_string(here.join("work.txt"))?, "once\nonce\n");
    on.board.call("review_approve", json!({ "task_id": task["id"] })).await?;
    on.board.reach(&task, "done").await?;
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn container_that_was_removed_in_mid_run_is_waited_for_and_may_be_given_up() -> Result<()> {
    let Some(mut on) = InContainers::new(json!({}), json!({})).await? else { return Ok(()) };
    // In a container it goes on without end; on this computer there is nothing to wait for.
    let script = "pwd > work.txt; case $PWD in */.forge/*) touch /there; sleep 1000;; esac";
    let task = on.begin(script).await?;
    on.until_inside("/there").await?;
    on.podman.podman(&["rm", "--force", "--time", "0", &on.only_container()?])?;
    let is_told = |now: &Value| {
        now["waiting"]["reason"] == "machine_unreachable"
            && now["waiting"]["message"].as_str().is_some_and(|told| told.contains("removed"))
    };
    on.board.wait(&task, "waiting", is_told).await?;
    assert_eq!(on.runs(&task).await?.len(), 1, "nothing starts elsewhere");
    assert_eq!(on.machine().await?["contact"], "unknown", "other tasks can use the machine");
    let local = json!({ "project_id": on.board.project, "machines": [] });
    on.board.call("project_settings_update", local).await?;
    on.board.act(&task, "give_up_machine", json!({})).await?;
    on.board.reach(&task, "done").await?;
    let runs = on.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    ensure!(!on.on_main("work.txt")?.contains("/.forge/"), "it was done here");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_container_has_of_a_task_that_gave_it_up_is_kept_and_the_container_removed() -> Result<()> {
    let Some(mut on) = InContainers::new(json!({}), json!({})).await? else { return Ok(()) };
    let script = "pwd > work.txt; case $PWD in */.forge/*) touch /there; sleep 1000;; esac";
    let task = on.begin(script).await?;
    on.until_inside("/there").await?;
    let (program, away) = (on.podman.program(), on.podman.folder.path().join("away"));
    fs::rename(&program, &away)?;
    // What it would start instead is no podman.
    fs::write(&program, "#!/bin/sh\nexit 125\n")?;
    fs::set_permissions(&program, fs::metadata(&away)?.permissions())?;
    ensure!(on.podman.kill_clients() > 0, "nobody was connected");
    on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "machine_unreachable").await?;
    let local = json!({ "project_id": on.board.project, "machines": [] });
    on.board.call("project_settings_update", local).await?;
    on.board.act(&task, "give_up_machine", json!({})).await?;
    on.board.reach(&task, "done").await?;
    fs::rename(&away, &program)?;
    ensure!(!on.containers()?.is_empty(), "it is there still");
    on.board.call("machine_test", json!({ "machine_id": BOX })).await?;
    on.until_none_is_left().await?;
    let backups = format!("refs/forge/backup/{}", task["id"].as_str().context("an id")?);
    let refs = on.board.repo.git(&["for-each-ref", "--format=%(refname)", &backups])?;
    let kept = refs.lines().next().context("a backup")?;
    let kept = on.board.repo.git(&["show", &format!("{kept}:work.txt")])?;
    ensure!(kept.contains("/.forge/"), "{kept}");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_waits_for_an_image_that_is_not_there_until_the_machine_names_another_one() -> Result<()> {
    let wrong = json!({ "image": "localhost/forge-test-none:1" });
    let Some(mut on) = InContainers::new(json!({}), wrong).await? else { return Ok(()) };
    let test = on.board.call("machine_test", json!({ "machine_id": BOX })).await?;
    let last = test["steps"].as_array().and_then(|steps| steps.last()).context("a step")?;
    assert_eq!((&last["name"], &last["ok"]), (&json!("image"), &json!(false)), "{test:#}");
    let task = on.begin("echo work > work.txt").await?;
    let waits =
        on.board.wait(&task, "waiting", |now| now["waiting"]["reason"] == "machine_unreachable").await?;
    let message = waits["waiting"]["message"].as_str().context("a message")?;
    ensure!(message.contains("localhost/forge-test-none:1"), "{message}");
    let machine = on.machine().await?;
    assert_eq!(machine["contact"], "unreachable", "{machine:#}");
    let mut container = machine["container"].clone();
    container["image"] = json!(BASE);
    on.board.call("machine_update", json!({ "machine_id": BOX, "container": container })).await?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.on_main("work.txt")?, "work");
    on.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_that_no_task_has_are_swept_when_an_engine_begins() -> Result<()> {
    let Some(mut on) = InContainers::new(json!({}), json!({})).await? else { return Ok(()) };
    let task = on.begin("echo work > work.txt; touch /there; until [ -e /go ]; do sleep 0.05; done").await?;
    on.until_inside("/there").await?;
    let own = on.only_container()?;
    let owner = format!("forge.owner={}", on.podman.owner());
    let machine = format!("forge.machine={}", on.machine().await?["id"].as_str().context("an id")?);
    on.board.api.engine().leave().await;
    let mount = on.podman.podman(&[
        "container",
        "inspect",
        "--format",
        "{{range .Mounts}}{{.Source}}{{end}}",
        &own,
    ])?;
    // A list, or a text in earlier versions of podman.
    let keeper = on.podman.podman(&["container", "inspect", "--format", "{{.Config.Entrypoint}}", &own])?;
    let entrypoint = keeper.trim().trim_matches(['[', ']']).to_owned();
    let name = format!("forge-{}-m-left", on.podman.owner());
    on.podman.podman(&[
        "run",
        "--detach",
        "--name",
        &name,
        "--label",
        &owner,
        "--label",
        &machine,
        "--label",
        "forge.task=left",
        "--network",
        "none",
        "--volume",
        &format!("{}:/opt/forge-keepers:ro", mount.trim()),
        "--entrypoint",
        &entrypoint,
        BASE,
        "hold",
    ])?;
    let configure = with_podman(on.board.dir.path(), &on.podman)?;
    on.board.restart_with(configure).await?;
    eventually("the other one is swept", || Ok(on.containers()? == [own.clone()])).await?;
    on.inside("touch /go")?;
    on.board.reach(&task, "done").await?;
    on.close().await
}
