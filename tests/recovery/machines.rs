//! SIGKILL of the engine while a task is on a machine, and an engine on a copy of the data: the agent runs once, one row
//! tells of it, and its log and cost are those of an undisturbed run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    HERMETIC_GIT, Repository, program,
    serve::{Serve, Served, marked_processes, scripted_agent},
};
use forge_tests::{
    patience,
    sameness::{Sameness, ensure_same},
    ssh_server::Server,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults;

/// How often the agent waits for the test.
const STEPS: usize = 5;

/// A task whose agent works on a machine that is reached by ssh. It can be continued after a kill of the engine.
struct FarScenario {
    // Ends before the machine and the folders go.
    engine: Option<Served>,
    machine: Server,
    /// Everything of the machine, and what its agent and the test tell each other.
    there: TempDir,
    /// Everything of the user: data, repository, home.
    here: TempDir,
    repo: Repository,
}

/// What a task came to, without what may differ.
#[derive(Debug)]
struct Came {
    log: String,
    /// The log without the prompt, which says so when an earlier run did not end well.
    unprompted: String,
    run: String,
    /// How many runs there were.
    runs: usize,
}

impl Came {
    fn ensure_same(&self, undisturbed: &Self) -> Result<()> {
        ensure_same("the runs", &self.run, &undisturbed.run)?;
        if self.runs == undisturbed.runs {
            return ensure_same("the logs", &self.log, &undisturbed.log);
        }
        ensure_same("the logs behind the prompt", &self.unprompted, &undisturbed.unprompted)
    }
}

impl FarScenario {
    /// None where there is no ssh server. What the agent waits for is there already, unless it is to be stepped.
    fn new(stepped: bool) -> Result<Option<Self>> {
        let (here, there) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let Some(machine) = Server::start(there.path())? else { return Ok(None) };
        machine.make_known(here.path(), "far")?;
        let repo = Repository::create(&here.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let scenario = Self { engine: None, machine, there, here, repo };
        if !stepped {
            (1..=STEPS).try_for_each(|step| scenario.go(step))?;
        }
        Ok(Some(scenario))
    }

    fn data(&self) -> PathBuf {
        self.here.path().join("data")
    }

    /// Lets the agent go on behind a step.
    fn go(&self, step: usize) -> Result<()> {
        Ok(fs::write(self.there.path().join(format!("go-{step}")), "")?)
    }

    fn serve(&mut self, env: Vec<(String, String)>) -> Result<()> {
        self.engine = None;
        self.engine = Some(Serve { program: "forge-faulty", data: self.data(), env }.start()?);
        Ok(())
    }

    fn engine(&self) -> Result<&Served> {
        self.engine.as_ref().context("no engine")
    }

    fn kill(&mut self) -> Result<()> {
        self.engine.take().context("no engine")?.kill()
    }

    /// What the agent does: it leaves a trace of its start, prints and waits, and changes the worktree.
    fn script(&self) -> String {
        let at = self.there.path().display();
        let mut lines = vec![format!("run echo begun >> {at}/starts")];
        for step in 1..=STEPS {
            lines.push(format!("print step {step} begins"));
            lines.push(format!("usage test-model {step} 7 {step}000"));
            lines.push(format!("wait-for {at}/go-{step}"));
            lines.push(format!("append steps.txt <<< \"{step}\\n\""));
        }
        lines.extend(
            ["commit by the agent", "edit feature.txt <<< \"right\\n\"", "summary All is done."]
                .map(str::to_owned),
        );
        format!("```forge-script\n{}\n```", lines.join("\n"))
    }

    /// Makes machine, agent, project and task unless they exist, and starts the task unless it has started.
    async fn begin(&self) -> Result<String> {
        let engine = self.engine()?;
        let first = async |path: &str| Ok::<_, anyhow::Error>(engine.items(path).await?.into_iter().next());
        if first("/machines").await?.is_none() {
            let root = self.there.path().join("forge");
            engine
                .post("/machines", json!({ "name": "box", "ssh": { "host": "far" }, "root": root }))
                .await?;
        }
        let agent = match first("/agents").await? {
            Some(agent) => agent,
            None => engine.post("/agents", scripted_agent("scripted")?).await?,
        };
        let project = match first("/projects").await? {
            Some(project) => project,
            None => {
                let settings = json!({
                    "machines": ["box"], "auto_approve": true, "shell": ["sh", "-c"], "sandbox": { "mode": "off" },
                    "review_config": { "ci_steps": ["grep -q right feature.txt"] },
                });
                let new = json!({ "name": "sample", "repo_path": self.repo.path(), "settings": settings });
                engine.post("/projects", new).await?
            }
        };
        let tasks = format!("/projects/{}/tasks", id_of(&project)?);
        let task = match first(&tasks).await? {
            Some(task) => task,
            None => {
                let roles = json!({ "coder": agent["id"] });
                engine
                    .post(&tasks, json!({ "title": "Feature", "description": self.script(), "roles": roles }))
                    .await?
            }
        };
        let id = id_of(&task)?;
        if task["status"] == "todo" {
            let claim = json!({ "agent_id": agent["id"], "version": task["version"] });
            engine.post(&format!("/tasks/{id}/claim"), claim).await?;
        }
        Ok(id)
    }

    async fn run_to_the_end(&self) -> Result<()> {
        let task = self.begin().await?;
        let over = |now: &Value| {
            let is_done = now["status"] == "done" && now["workspace"]["status"] == "cleaned";
            is_done || now["status"] == "blocked"
        };
        let end = self.engine()?.wait(&task, "done and cleaned", over).await?;
        ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
        Ok(())
    }

    async fn runs(&self) -> Result<Vec<Value>> {
        let task = self.begin().await?;
        self.engine()?.items(&format!("/tasks/{task}/executions")).await
    }

    async fn entries(&self, run: &Value) -> Result<Vec<Value>> {
        let page = self.engine()?.get(&format!("/executions/{}/logs?after=0&limit=200", id_of(run)?)).await?;
        Ok(page["entries"].as_array().context("no entries")?.clone())
    }

    /// Waits until the log has a line.
    async fn until_printed(&self, line: &str) -> Result<()> {
        patience::until(line, async || {
            let Some(run) = self.runs().await?.pop() else { return Ok(None) };
            let has = |entry: &Value| entry["body"]["text"].as_str().is_some_and(|text| text.contains(line));
            Ok(self.entries(&run).await?.iter().any(has).then_some(()))
        })
        .await
    }

    /// Checks that the agent was started once and did once what it does, and that nothing is left. Returns what came of it.
    async fn check(&self) -> Result<Came> {
        let starts = fs::read_to_string(self.there.path().join("starts"))?;
        ensure!(starts == "begun\n", "it was started {} times", starts.lines().count());
        let steps: Vec<String> = (1..=STEPS).map(|step| step.to_string()).collect();
        let main = |file: &str| self.repo.show("main", file);
        ensure!(main("steps.txt") == Some(steps.join("\n")), "{:?}", main("steps.txt"));
        ensure!(main("feature.txt").as_deref() == Some("right"), "the work is not on main");
        let all = self.runs().await?;
        let (finished, others): (Vec<_>, Vec<_>) = all.iter().partition(|run| run["status"] == "finished");
        ensure!(finished.len() == 1, "{all:#?}");
        // One that never began says so; nothing ran for it.
        ensure!(others.iter().all(|run| run["status"] == "lost"), "{all:#?}");
        patience::until("the copies are removed", async || {
            Ok(self.machine.copies().is_empty().then_some(()))
        })
        .await?;
        for folder in [self.here.path(), self.there.path()] {
            let gone = async || Ok(marked_processes(folder)?.is_empty().then_some(()));
            patience::until("no program is left", gone).await?;
        }
        let owner = fs::read_dir(self.there.path().join("forge/keepers"))?.next().context("no keeper")??;
        let folders = [
            (owner.path(), "keeper"),
            (self.there.path().to_owned(), "machine"),
            (self.here.path().to_owned(), "user"),
        ];
        let same = Sameness::of(folders.iter().map(|(path, name)| (path.as_path(), *name)))?;
        let mut run = finished[0].clone();
        // Which attempt it was, and why, depends on whether one before never began.
        for field in ["attempt", "cause", "parent_execution_id", "session_mode"] {
            run[field].take();
        }
        let mut entries = self.entries(finished[0]).await?;
        let (log, run) = (same.log(&entries)?, same.text(&run.to_string()));
        for entry in entries.iter_mut().filter(|entry| entry["kind"] == "user_message") {
            entry["body"].take();
        }
        Ok(Came { log, unprompted: same.log(&entries)?, run, runs: all.len() })
    }
}

fn id_of(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}

/// What an undisturbed task comes to, and which fault points it passes how often.
async fn undisturbed() -> Result<Option<(Came, Vec<String>)>> {
    let Some(mut scenario) = FarScenario::new(false)? else { return Ok(None) };
    let trace = scenario.here.path().join("trace.txt");
    let env = vec![(forge_testkit::fault::TRACE_VARIABLE.to_owned(), trace.to_string_lossy().into_owned())];
    scenario.serve(env)?;
    scenario.run_to_the_end().await?;
    let came = scenario.check().await?;
    let passed = fs::read_to_string(trace)?.lines().map(str::to_owned).collect();
    Ok(Some((came, passed)))
}

/// Kills at the n-th passing of a fault point, restarts without a fault, and compares.
async fn survives(point: String, times: u32, expected: std::sync::Arc<Came>) -> Result<()> {
    let Some(mut scenario) = FarScenario::new(false)? else { return Ok(()) };
    scenario.serve(faults::Fault::Kill.at(&point, times))?;
    // Cut off somewhere in it.
    let _ = scenario.run_to_the_end().await;
    scenario.engine.as_mut().context("no engine")?.until_gone().await?;
    scenario.serve(Vec::new())?;
    scenario.run_to_the_end().await?;
    let came = scenario.check().await?;
    came.ensure_same(&expected)
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_at_fault_points_of_a_task_on_a_machine_runs_its_agent_once() -> Result<()> {
    let Some((expected, passed)) = undisturbed().await? else { return Ok(()) };
    let expected = std::sync::Arc::new(expected);
    for point in
        ["transfer.sent", "transfer.fetched", "execution.starting", "execution.started", "execution.ended"]
    {
        ensure!(passed.iter().any(|passed| passed == point), "{point} is not among {passed:?}");
    }
    let is_of_machines = |point: &&String| {
        let others =
            ["claim.committed", "workspace.made", "work.committed", "merge.landed", "cleanup.removed"];
        point.starts_with("transfer.") || point.starts_with("execution.") || others.contains(&point.as_str())
    };
    let mut cases: Vec<(String, u32)> = Vec::new();
    for point in passed.iter().filter(is_of_machines) {
        if cases.iter().any(|(known, _)| known == point) {
            continue;
        }
        let times = u32::try_from(passed.iter().filter(|other| *other == point).count())?;
        cases.push((point.clone(), 1));
        if times > 1 {
            cases.push((point.clone(), times));
        }
    }
    println!("{} kills: {cases:?}", cases.len());
    faults::all_survived(cases, |point, times| survives(point, times, std::sync::Arc::clone(&expected))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn run_on_a_machine_over_kills_in_its_middle_is_the_same_as_undisturbed() -> Result<()> {
    let Some((expected, _)) = undisturbed().await? else { return Ok(()) };
    let Some(mut scenario) = FarScenario::new(true)? else { return Ok(()) };
    scenario.serve(Vec::new())?;
    scenario.begin().await?;
    for step in 1..=STEPS {
        scenario.until_printed(&format!("step {step} begins")).await?;
        scenario.kill()?;
        if step % 2 == 0 {
            // The agent goes on while no engine is there.
            scenario.go(step)?;
        }
        scenario.serve(Vec::new())?;
        scenario.go(step)?;
    }
    scenario.run_to_the_end().await?;
    let runs = scenario.runs().await?;
    ensure!(runs.len() == 1, "{runs:#?}");
    let came = scenario.check().await?;
    came.ensure_same(&expected)
}

/// A `forge serve` on a computer that is a clone of this one as the user's folder was: the same paths and the same name,
/// other processes.
fn clone_of(folder: &Path, copy: &Path) -> Result<Option<Served>> {
    let mut command = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    let can = Command::new(command.get_program())
        .args(command.get_args())
        .args(["sh", "-c", "mount --bind \"$0\" \"$1\""])
        .arg(copy)
        .arg(folder)
        .output()?;
    if !can.status.success() {
        eprintln!("skipped: this may not make namespaces: {}", String::from_utf8_lossy(&can.stderr));
        return Ok(None);
    }
    command.args(["sh", "-c", "mount --bind \"$0\" \"$1\" && shift && exec \"$@\""]).arg(copy).arg(folder);
    command.arg(program("forge")?).args(["serve", "--port", "0", "--data-dir"]).arg(folder.join("data"));
    command.envs(HERMETIC_GIT).env("SHELL", "/bin/sh").env("HOME", folder);
    Served::start(command).map(Some)
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_engines_on_copies_of_the_data_the_later_one_goes_on_and_the_other_says_why() -> Result<()> {
    let Some(mut scenario) = FarScenario::new(true)? else { return Ok(()) };
    scenario.serve(Vec::new())?;
    let task = scenario.begin().await?;
    scenario.until_printed("step 1 begins").await?;
    // The copy is of one moment, as that of a disk is.
    let first = Pid::from_raw(scenario.engine()?.pid().cast_signed());
    let copy = tempfile::tempdir()?;
    kill(first, Signal::SIGSTOP)?;
    let copied = Command::new("cp").args(["-a", "-T"]).arg(scenario.here.path()).arg(copy.path()).status()?;
    kill(first, Signal::SIGCONT)?;
    ensure!(copied.success(), "the folder was not copied");
    let Some(mut second) = clone_of(scenario.here.path(), copy.path())? else { return Ok(()) };
    let taken = |now: &Value| now["status"] == "blocked";
    let blocked = scenario.engine()?.wait(&task, "refused", taken).await?;
    let message = blocked["error_annotation"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        message,
        "Could not work on the machine `box`: the machine refused: another engine, started later, works on this task",
        "{blocked:#}"
    );
    (1..=STEPS).try_for_each(|step| scenario.go(step))?;
    second.wait(&task, "done", |now| now["status"] == "done").await?;
    let starts = fs::read_to_string(scenario.there.path().join("starts"))?;
    ensure!(starts == "begun\n", "it was started {} times", starts.lines().count());
    let theirs = Repository::open(&copy.path().join("repo"));
    ensure!(theirs.show("main", "feature.txt").as_deref() == Some("right"), "the work is not on main");
    ensure!(scenario.repo.show("main", "feature.txt").is_none(), "the refused engine merged something");
    let runs = scenario.runs().await?;
    ensure!(runs.len() == 1, "the refused engine started another run: {runs:#?}");
    second.kill()?;
    scenario.kill()
}
