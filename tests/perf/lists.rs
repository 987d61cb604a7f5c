//! Lists and memory of an engine with ten thousand tasks, beside a project of one thousand in the same engine.
//!
//! The engine runs in a process of its own, so that nothing but its tasks is in the memory that is measured.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_model::actor::Via;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    measure::{Promise, Row, timed},
    meter::resident,
    repository::{generate, git},
};

/// The first argument of the process that holds the engine.
pub const HELD: &str = "hold-lists";

const MANY: u32 = 10_000;
const FEW: u32 = 1_000;
/// Tasks of a page.
const PAGE: u32 = 50;
/// Pages read in a round: one takes a few milliseconds.
const PAGES: u32 = 20;

/// What the process with the engine found.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Figures {
    /// Resident memory in MiB with a project and no task.
    idle: Vec<f64>,
    /// The same once all tasks are created.
    created: Vec<f64>,
    /// Milliseconds for a page of all tasks: of few, of many.
    page: [Vec<f64>; 2],
    /// Milliseconds for a page of two states: of few, of many.
    column: [Vec<f64>; 2],
}

/// The rows of lists.
pub fn measure(folder: &Path, rounds: usize) -> Result<[Row; 3]> {
    let mut holder = Command::new(std::env::current_exe()?);
    holder.arg(HELD).arg(folder.join("lists")).arg(rounds.to_string()).stderr(Stdio::inherit());
    let held = holder.output()?;
    ensure!(held.status.success(), "the process with the engine failed");
    let Figures { idle, created, page, column } = serde_json::from_slice(&held.stdout)?;
    let beside = format!("the same of {FEW}");
    let [few, many] = page;
    let [few_of_column, many_of_column] = column;
    Ok([
        Row::new(format!("first page of {MANY} tasks"), &beside, 1.2, many, few),
        Row::new(
            format!("first page of two states of {MANY} tasks"),
            &beside,
            1.2,
            many_of_column,
            few_of_column,
        ),
        Row::of(
            format!("memory of the engine after {MANY} tasks were created"),
            "without tasks",
            ("MiB", Promise::Most(60.0)),
            created,
            idle,
        ),
    ])
}

/// Creates the tasks, measures, and prints the figures.
pub async fn hold(mut arguments: impl Iterator<Item = String>) -> Result<()> {
    let folder = PathBuf::from(arguments.next().context("no folder")?);
    let rounds: u32 = arguments.next().context("no rounds")?.parse()?;
    let repo = folder.join("repo");
    generate(&repo, 10)?;
    git(&repo, &["checkout", "--quiet", "--detach"])?;
    let mut config = EngineConfig::new(folder.join("data"), std::env::vars_os());
    config.git_env = forge_testkit::HERMETIC_GIT
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let api = Api::new(Engine::start(config).await?, std::env::current_exe()?);
    let few = project(&api, "Few", &repo).await?;
    let many = project(&api, "Many", &repo).await?;
    let mut figures = Figures { idle: vec![resident()?], ..Figures::default() };
    create(&api, &few, FEW).await?;
    create(&api, &many, MANY).await?;
    figures.created.push(resident()?);
    // The first round warms both sides up.
    for round in 0..=rounds {
        let mut sides = [(0, &few), (1, &many)];
        if round % 2 == 1 {
            sides.reverse();
        }
        for (side, project) in sides {
            let page = pages(&api, json!({ "project_id": project, "limit": PAGE })).await?;
            let column = json!({ "project_id": project, "limit": PAGE, "status": ["todo", "backlog"] });
            let column = pages(&api, column).await?;
            if round > 0 {
                figures.page[side].push(page);
                figures.column[side].push(column);
            }
        }
    }
    api.engine().stop().await;
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

async fn project(api: &Api, name: &str, repo: &Path) -> Result<String> {
    let new = json!({ "name": name, "repo_path": repo, "default_branch": "main" });
    let project = call(api, "project_create", new).await?;
    project["id"].as_str().map(str::to_owned).context("no id")
}

async fn create(api: &Api, project: &str, tasks: u32) -> Result<()> {
    for number in 0..tasks {
        let new = json!({
            "project_id": project, "title": format!("Task {number}"), "description": "What is to be done. ".repeat(20),
        });
        call(api, "task_create", new).await?;
    }
    Ok(())
}

/// Reads the first page as often as [`PAGES`] says; the milliseconds of one.
async fn pages(api: &Api, list: Value) -> Result<f64> {
    let (_, taken) = timed(async {
        for _ in 0..PAGES {
            let page = call(api, "task_list", list.clone()).await?;
            ensure!(
                page["items"].as_array().is_some_and(|items| items.len() == PAGE as usize),
                "no full page"
            );
        }
        Ok::<_, anyhow::Error>(())
    })
    .await?;
    Ok(taken / f64::from(PAGES))
}

async fn call(api: &Api, op: &str, input: Value) -> Result<Value> {
    api.call(Via::Api, op, input).await.with_context(|| format!("the contract refused {op}"))
}
