//! A pass of the scheduler over ten thousand waiting tasks and two hundred machines, beside a tenth of both.
//!
//! What is measured is the question where a task would run: it reads and decides for all tasks that wait as a pass does,
//! and writes nothing. Every other machine is busy, and the others are given to tasks of several projects and agents.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_model::{
    actor::Via,
    ids::{AgentId, ProjectId, TaskId},
    machine::fleet::PlacementVerdict,
    task::{HolderKind, RoleHolder},
    time::Timestamp,
};
use forge_store::{
    Store,
    table::{slots::Slot, tasks::TaskRow},
};
use serde_json::{Value, json};

use crate::{
    measure::{Promise, Row, timed},
    repository::{generate, git},
};

const TASKS: u32 = 10_000;
const MACHINES: u32 = 200;
const PROJECTS: u32 = 8;
const AGENTS: u32 = 4;
/// How much smaller the yardstick is.
const PART: u32 = 10;
/// Milliseconds that a pass over everything may take.
const MOST_MS: f64 = 1_000.0;

/// The rows of the scheduler.
pub async fn measure(folder: &Path, rounds: usize) -> Result<[Row; 2]> {
    let few = Waiting::start(&folder.join("schedule-few"), TASKS / PART, MACHINES / PART).await?;
    let many = Waiting::start(&folder.join("schedule-many"), TASKS, MACHINES).await?;
    let (mut ten, mut one) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ten.push(timed(few.passes(PART)).await?.1);
        one.push(timed(many.passes(1)).await?.1);
    }
    few.api.engine().stop().await;
    many.api.engine().stop().await;
    let work = format!("a pass of the scheduler over {TASKS} tasks and {MACHINES} machines");
    let beside = format!("{PART} passes over {} tasks and {} machines", TASKS / PART, MACHINES / PART);
    Ok([
        Row::new(work.clone(), &beside, 1.5, one.clone(), ten.clone()),
        Row::of(format!("{work}, in all"), &beside, ("ms", Promise::Most(MOST_MS)), one, ten),
    ])
}

/// An engine with tasks that wait for machines.
struct Waiting {
    api: Api,
    task: TaskId,
}

impl Waiting {
    async fn start(folder: &Path, tasks: u32, machines: u32) -> Result<Self> {
        let data = folder.join("data");
        let mut config = EngineConfig::new(data.clone(), std::env::vars_os());
        config.git_env = forge_testkit::HERMETIC_GIT
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        config.keeper = forge_testkit::keeper_program()?;
        let api = Api::new(Engine::start(config).await?, std::env::current_exe()?);
        let call = async |op: &str, input: Value| api.call(Via::Api, op, input).await.context(op.to_owned());
        let (mut projects, mut agents) = (Vec::new(), Vec::new());
        for number in 0..PROJECTS {
            let repo = folder.join(format!("repo-{number}"));
            generate(&repo, 1)?;
            git(&repo, &["checkout", "--quiet", "--detach"])?;
            let settings = json!({ "auto_start": true, "max_concurrent": 64, "machines": ["gpu"] });
            let new = json!({ "repo_path": repo, "default_branch": "main", "settings": settings });
            projects.push(ProjectId(id(&call("project_create", new).await?)?));
        }
        for number in 0..AGENTS {
            let config = json!({ "command": "true" });
            let name = format!("worker-{number}");
            let new = json!({ "name": name, "adapter": "shell", "config": config, "max_concurrent": 64 });
            agents.push(AgentId(id(&call("agent_create", new).await?)?));
        }
        let mut ids = Vec::new();
        for number in 0..machines {
            let name = format!("machine-{number:03}");
            let labels = if number % 2 == 0 { json!(["gpu"]) } else { json!(["gpu", "big"]) };
            let new = json!({
                "name": name, "ssh": { "host": "nowhere.invalid" }, "labels": labels, "caps": { "runs": 1 },
                "quota": { "runs_per_day": 100 },
            });
            ids.push(id(&call("machine_create", new).await?)?);
        }
        let store = Store::open(&data).await?;
        let mut tx = store.write().await?;
        for number in 1..=tasks + machines {
            let project = &projects[(number % PROJECTS) as usize];
            let agent = &agents[(number / 2 % AGENTS) as usize];
            let role = RoleHolder { kind: HolderKind::Agent, id: Some(agent.clone()) };
            let at_work = ids.get((number - 1) as usize).filter(|_| number % 2 == 0);
            let state = if at_work.is_some() { "in_progress" } else { "todo" };
            let task = TaskId(format!("task-{number:05}"));
            let title = format!("Task {number}");
            let mut row =
                TaskRow::new(task.clone(), project.clone(), number, title, state.to_owned(), Timestamp(1));
            row.priority = (number % 5).cast_signed();
            row.machines = (number % 3 == 0).then(|| vec!["gpu".to_owned(), "big".to_owned()]);
            tx.tasks_mut().insert(&row).await?;
            tx.roles_mut().put(&task, "coder", Some(&role)).await?;
            if let Some(machine) = at_work {
                let slot = Slot { agent_id: agent.clone(), machine_id: Some(machine.as_str().into()) };
                tx.slots_mut().take(&task, project, &slot, Timestamp(1)).await?;
            }
        }
        tx.commit().await?;
        store.close().await;
        Ok(Self { api, task: TaskId(format!("task-{:05}", tasks + machines)) })
    }

    async fn passes(&self, count: u32) -> Result<()> {
        for _ in 0..count {
            let placed = self.api.engine().task_placement(&self.task).await?;
            ensure!(placed.verdict == PlacementVerdict::Waits, "{placed:?}");
        }
        Ok(())
    }
}

fn id(value: &Value) -> Result<String> {
    value["id"].as_str().map(str::to_owned).context("no id")
}
