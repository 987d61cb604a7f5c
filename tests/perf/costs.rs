//! The Costs page and the scoreboard in the built window: from the wish to see them to what is drawn, of ten thousand runs
//! beside a hundred.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_model::{
    actor::Via,
    cost::CostAnomalyRecord,
    execution::{Execution, Usage},
    time::Timestamp,
    usage::UsageSample,
};
use forge_store::Store;
use forge_store::table::{costs::CostSample, executions::ExecutionRow};
use forge_tests::{display::Display, patience::until, window::Window};
use serde_json::{Value, json};

use crate::{
    measure::Row,
    repository::{generate, git},
};

const MANY: u32 = 10_000;
const FEW: u32 = 100;
/// Of so many runs one is out of the ordinary.
const RARE: u32 = 100;
const TASKS: u32 = 40;
/// The runs are spread over these days.
const DAYS: i64 = 28;
const PROMISE: f64 = 1.5;

/// Goes to the page and answers with the milliseconds until its chart is painted and its lists are there.
const DRAW: &str = r#"
    const [address, done] = arguments;
    const begun = performance.now();
    location.hash = address;
    const look = () => {
        const drawn = document.querySelector("section[aria-labelledby=costs-course] [role=img] canvas")
            && document.querySelectorAll("section[aria-labelledby=costs-runs] tbody tr").length >= 100
            && document.querySelector("section[aria-labelledby=costs-sums] tbody tr");
        if (!drawn) return requestAnimationFrame(look);
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
    };
    look();"#;

/// The same for the table that says what the chart says.
const TWIN: &str = r#"
    const [done] = arguments;
    const begun = performance.now();
    const course = document.querySelector("section[aria-labelledby=costs-course]");
    [...course.querySelectorAll("[role=radio]")].at(-1).click();
    const look = () => {
        if (!course.querySelector("tbody tr")) return requestAnimationFrame(look);
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
    };
    look();"#;

/// Goes to the scoreboard and answers with the milliseconds until its lines are painted.
const SCORES: &str = r#"
    const [address, done] = arguments;
    const begun = performance.now();
    location.hash = address;
    const look = () => {
        const named = [...document.querySelectorAll("caption")].find((each) => each.textContent === "Scoreboard");
        if (!named?.parentElement.querySelector("tbody tr")) return requestAnimationFrame(look);
        requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - begun)));
    };
    look();"#;

/// Leaves the page, so that the next look at it begins with nothing.
const LEAVE: &str = r##"
    const [done] = arguments;
    location.hash = "#/agents";
    const look = () => document.querySelector("[aria-labelledby^=costs-], caption")
        ? requestAnimationFrame(look) : requestAnimationFrame(() => requestAnimationFrame(() => done()));
    requestAnimationFrame(look);"##;

/// Begins the page anew; what is marked here is gone then.
const RELOAD: &str = "window.isOld = true; location.hash = '#/agents'; location.reload()";
const IS_NEW: &str = "return !window.isOld && document.querySelector('main') !== null";

/// Measures both, taking turns in one window.
pub async fn measure(folder: &Path, rounds: usize) -> Result<Vec<Row>> {
    let home = tempfile::tempdir_in(folder)?;
    let display = Display::start(home.path()).await?;
    let [warm, few, many] = seed(&home.path().join("forge"), &home.path().join("repo")).await?;
    let window = Window::open_on(display, home).await?;
    window.page.find("main").await?;
    let (mut of_few, mut of_many) = (Sides::default(), Sides::default());
    for round in 0..rounds {
        // Nothing that was read or built before helps.
        window.page.execute(RELOAD, &[]).await?;
        until("the window to come up again", async || {
            // Between two pages there is none that could answer.
            let is_new = window.page.execute(IS_NEW, &[]).await.unwrap_or_default();
            Ok((is_new == true).then_some(()))
        })
        .await?;
        // The page's program is loaded by a project that is not measured.
        Sides::default().look(&window, &warm).await?;
        let mut turns = [(&mut of_few, &few), (&mut of_many, &many)];
        if round % 2 == 1 {
            turns.reverse();
        }
        for (side, project) in turns {
            side.look(&window, project).await?;
        }
    }
    window.page.close().await?;
    let beside = format!("the same of {FEW}");
    Ok(vec![
        Row::new(
            format!("Costs page of {MANY} runs drawn, window"),
            &beside,
            PROMISE,
            of_many.page,
            of_few.page,
        ),
        Row::new(format!("table twin of {MANY} runs, window"), &beside, PROMISE, of_many.twin, of_few.twin),
        Row::new(
            format!("scoreboard over {MANY} runs, window"),
            &beside,
            PROMISE,
            of_many.scores,
            of_few.scores,
        ),
    ])
}

/// What was measured of one project.
#[derive(Default)]
struct Sides {
    page: Vec<f64>,
    twin: Vec<f64>,
    scores: Vec<f64>,
}

impl Sides {
    async fn look(&mut self, window: &Window, project: &str) -> Result<()> {
        let page = &window.page;
        let address = format!("#/costs?of={project}");
        self.page.push(page.execute_async(DRAW, &[address.into()]).await?.as_f64().context("no time")?);
        self.twin.push(page.execute_async(TWIN, &[]).await?.as_f64().context("no time")?);
        page.execute_async(LEAVE, &[]).await?;
        let address = format!("#/agents?view=scoreboard&range=all&of={project}");
        self.scores.push(page.execute_async(SCORES, &[address.into()]).await?.as_f64().context("no time")?);
        page.execute_async(LEAVE, &[]).await.map(drop)
    }
}

/// A data folder with projects of few, few and many runs that are over.
async fn seed(data: &Path, repo: &Path) -> Result<[String; 3]> {
    generate(repo, 10)?;
    git(repo, &["checkout", "--quiet", "--detach"])?;
    let api = Api::new(
        Engine::start(EngineConfig::new(data.to_owned(), std::env::vars_os())).await?,
        std::env::current_exe()?,
    );
    let agent = json!({ "name": "Agent", "adapter": "shell", "config": { "command": "true" } });
    let agent = text(&call(&api, "agent_create", agent).await?, "id")?;
    let mut projects = Vec::new();
    for (name, runs) in [("Warm", FEW), ("Few", FEW), ("Many", MANY)] {
        let new = json!({ "name": name, "repo_path": repo, "default_branch": "main" });
        let project = text(&call(&api, "project_create", new).await?, "id")?;
        spend(&api, &project, &agent, runs).await?;
        projects.push(project);
    }
    api.engine().stop().await;
    projects.try_into().map_err(|_| anyhow::anyhow!("three projects"))
}

async fn spend(api: &Api, project: &str, agent: &str, runs: u32) -> Result<()> {
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let new = json!({ "project_id": project, "title": format!("Task {number}") });
        tasks.push(text(&call(api, "task_create", new).await?, "id")?);
    }
    let (now, span) = (jiff::Timestamp::now().as_millisecond(), DAYS * 24 * 3_600_000);
    let store = Store::open(api.engine().data_dir()).await?;
    let mut tx = store.write().await?;
    for number in 0..runs {
        let task = &tasks[(number % TASKS) as usize];
        let at = now - span + i64::from(number) * span / i64::from(runs);
        let rare = number % RARE == RARE / 2;
        let cost = (100_000 + u64::from(number) * 7_919 % 90_000) * if rare { 5 } else { 1 };
        let run = run(&format!("{project}-{number}"), task, agent, at, cost)?;
        tx.executions_mut().insert(&run).await?;
        tx.executions_mut().update(&run.execution).await?;
        let sample = sample(&run.execution, project, rare);
        tx.costs_mut().insert(&sample).await?;
        if rare {
            tx.costs_mut().insert_anomaly(&sample.project_id, &record(&sample, cost)).await?;
        }
    }
    tx.commit().await?;
    store.close().await;
    let totals = call(api, "cost_totals", json!({ "project": project })).await?;
    ensure!(totals["all"]["runs"] == runs, "{}", totals["all"]);
    Ok(())
}

/// A run that is over.
fn run(id: &str, task: &str, agent: &str, at: i64, cost: u64) -> Result<ExecutionRow> {
    let used = UsageSample {
        model: "model".to_owned(),
        input_uncached: 1_200,
        cache_read: 8_400,
        output: 640,
        cost_micro_usd: Some(cost),
        ..UsageSample::default()
    };
    let execution: Execution = serde_json::from_value(json!({
        "id": id, "task_id": task, "subtask_id": null, "role": "coder", "agent_id": agent, "attempt": 1,
        "status": "finished", "parent_execution_id": null, "session_id": null, "session_mode": "new",
        "from_session": null, "cause": "", "messages": [], "activity": "", "before_commit": null,
        "after_commit": null, "usage": Usage::of_run(std::slice::from_ref(&used)), "cost_micro_usd": cost,
        "cost_source": "reported", "price_version": null, "models": [used], "conflict": null, "error": null,
        "summary": null, "log_id": id, "started_at": Timestamp(at - 60_000), "finished_at": Timestamp(at),
    }))?;
    Ok(ExecutionRow {
        execution,
        corrections: Vec::new(),
        spends: None,
        after_transition: 0,
        carry: None,
        goes_on: false,
        effort: None,
    })
}

fn sample(run: &Execution, project: &str, rare: bool) -> CostSample {
    CostSample {
        execution_id: run.id.clone(),
        project_id: project.to_owned().into(),
        task_id: run.task_id.clone(),
        agent_id: run.agent_id.clone(),
        strategy: None,
        model: "model".to_owned(),
        asked: None,
        cost: run.cost_micro_usd,
        attempts: 1,
        median: Some(140_000.5),
        ratio: 2.0,
        is_anomaly: rare,
        ended_at: run.finished_at.unwrap_or(run.started_at),
    }
}

fn record(sample: &CostSample, cost: u64) -> CostAnomalyRecord {
    CostAnomalyRecord {
        at: sample.ended_at,
        task_id: sample.task_id.clone(),
        execution_id: sample.execution_id.clone(),
        title: "Task".to_owned(),
        strategy: None,
        model: sample.model.clone(),
        cost_micro_usd: cost,
        median_micro_usd: 140_000.5,
        ratio: 4.5,
        threshold: 2.0,
        samples: 20,
        tokens: forge_model::cost::CostTokens::default(),
        attempts: 1,
    }
}

async fn call(api: &Api, op: &str, input: Value) -> Result<Value> {
    api.call(Via::Api, op, input).await.with_context(|| format!("the contract refused {op}"))
}

fn text(value: &Value, field: &str) -> Result<String> {
    value[field].as_str().map(str::to_owned).with_context(|| format!("no {field} in {value}"))
}
