//! Random sequences of commands by people, agents and crashes, over shipped and random workflows: an open task has
//! an owner or a reason, the history explains the state, no cap is exceeded, and no work is lost.
//!
//! The seed decides what happens; the machine decides when. A failure names its seed.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use forge_model::workflow::{StateKind, Workflow, preset, random_workflow};
use forge_testkit::{Sandbox, script};
use serde_json::{Value, json};

/// The number of events in a case.
const EVENTS: usize = 30;
/// No further case starts after this time.
const ENOUGH: Duration = Duration::from_secs(15);
/// How long a task may take to have an owner or a reason.
const PATIENCE: Duration = Duration::from_secs(30);
/// The cap of the project; the agent has more slots.
const PLACES: usize = 2;

struct Rng(u64);

impl Rng {
    fn next(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.next(of.len());
        of.get(at)
    }
}

struct Case {
    sandbox: Sandbox,
    workflow: Workflow,
    rng: Rng,
    tasks: Vec<Value>,
    versions: BTreeMap<String, u64>,
    commits: BTreeSet<String>,
    scribbles: Vec<(String, String)>,
    /// The number of accepted operations.
    accepted: std::cell::Cell<usize>,
}

impl Case {
    async fn new(seed: u64, workflow: Workflow) -> Result<Self> {
        let mut sandbox = Sandbox::new(json!({})).await?;
        let settings = json!({
            "shell": ["sh", "-c"], "max_concurrent": PLACES, "auto_approve": seed.is_multiple_of(2),
            "review_config": { "ci_steps": ["test $(wc -l <log) -gt 1"] },
        });
        let path = sandbox.repo.path().to_string_lossy().into_owned();
        let new = json!({ "name": "case", "repo_path": path, "settings": settings, "workflow": workflow });
        let project = sandbox.call("project_create", new).await?;
        sandbox.project = project["id"].as_str().context("no id")?.to_owned();
        Ok(Self {
            sandbox,
            workflow,
            rng: Rng(seed),
            tasks: Vec::new(),
            versions: BTreeMap::new(),
            commits: BTreeSet::new(),
            scribbles: Vec::new(),
            accepted: std::cell::Cell::new(0),
        })
    }

    /// Calls an operation, which may be refused but not fail otherwise.
    async fn attempt(&self, op: &str, input: Value) -> Result<Option<Value>> {
        match self.sandbox.call(op, input.clone()).await {
            Ok(answer) => {
                self.accepted.set(self.accepted.get() + 1);
                Ok(Some(answer))
            }
            Err(refusal) => {
                ensure!(refusal.status < 500, "{op} {input}: {refusal}");
                Ok(None)
            }
        }
    }

    async fn random_event(&mut self) -> Result<()> {
        let task = self.rng.pick(&self.tasks).cloned();
        let Some(task) = task.filter(|_| self.rng.next(6) > 0) else { return self.create().await };
        let now = self.sandbox.get(&task).await?;
        let (id, version) = (&task["id"], &now["version"]);
        match self.rng.next(13) {
            0 | 1 => {
                let who = if self.rng.next(4) == 0 { json!("user") } else { json!(self.sandbox.agent) };
                self.attempt("task_claim", json!({ "task_id": id, "agent_id": who, "version": version }))
                    .await?;
            }
            2 => {
                let to = self.rng.pick(&self.workflow.states).map(|state| state.name.clone());
                let input = json!({ "task_id": id, "to": to, "version": version, "wait": "none" });
                self.attempt("task_transition", input).await?;
            }
            3..=5 => {
                let offers = now["offers"].as_array().cloned().unwrap_or_default();
                if let Some(offer) = self.rng.pick(&offers) {
                    let input = json!({
                        "task_id": id, "verb": offer["verb"], "version": version, "wait": "none", "reason": "r", "message": "m",
                    });
                    self.attempt("task_action", input).await?;
                }
            }
            6 | 7 => {
                let op = if self.rng.next(2) == 0 { "review_approve" } else { "review_reject" };
                self.attempt(op, json!({ "task_id": id, "reason": "so", "wait": "none" })).await?;
            }
            8 => {
                let on = self.rng.pick(&self.tasks).map(|task| task["id"].clone());
                self.attempt("task_dependency_add", json!({ "task_id": id, "depends_on": on })).await?;
            }
            9 => {
                let auto = self.rng.next(2) == 0;
                let input = json!({ "project_id": self.sandbox.project, "auto_start": auto });
                self.attempt("project_settings_update", input).await?;
            }
            10 => self.write_untracked_file(&now)?,
            11 if self.rng.next(3) == 0 => self.sandbox.restart().await?,
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        Ok(())
    }

    async fn create(&mut self) -> Result<()> {
        let n = self.tasks.len();
        let works = format!("append log <<< \"{n}\\n\"");
        let lines: &[&[&str]] = &[
            &[works.as_str()],
            &[works.as_str(), "fail 1"],
            &["say nothing to do"],
            &["rate-limit 80"],
            &["sleep 150", works.as_str(), "commit mine"],
            &["error refused no"],
        ];
        let again = format!("```forge-script attempt=2\n{works}\n```");
        let description = format!("{}\n{again}", script(self.rng.pick(lines).copied().unwrap_or_default()));
        let mut new = json!({
            "project_id": self.sandbox.project, "title": format!("Task {n}"), "description": description,
            "priority": self.rng.next(3),
        });
        if let Some(role) = self.workflow.work_state().and_then(|state| state.role.clone()) {
            new["roles"] = json!({ role: self.sandbox.agent });
        }
        let other = self.rng.pick(&self.tasks).map(|task| task["id"].clone()).unwrap_or_default();
        match self.rng.next(4) {
            0 if !other.is_null() => new["depends_on"] = json!([other]),
            1 if !other.is_null() => {
                new["parent_id"] = other;
                let mode = if self.rng.next(2) == 0 { "ordered_turn" } else { "independent" };
                new["execution_mode"] = json!(mode);
            }
            _ => {}
        }
        self.tasks.extend(self.attempt("task_create", new).await?);
        Ok(())
    }

    /// A person writes a file into an idle worktree.
    fn write_untracked_file(&mut self, task: &Value) -> Result<()> {
        let path = task["workspace"]["path"].as_str().unwrap_or_default();
        let kind = self.kind(task);
        let idle = task["live"].is_null() && kind == Some(StateKind::Blocked);
        if idle && Path::new(path).is_dir() && task["workspace"]["status"] == "active" {
            let name = format!("note-{}", self.scribbles.len());
            std::fs::write(Path::new(path).join(&name), format!("{name} by hand\n"))?;
            self.scribbles.push((name, path.to_owned()));
        }
        Ok(())
    }

    fn kind(&self, task: &Value) -> Option<StateKind> {
        let state = task["status"].as_str().and_then(|name| self.workflow.state(name));
        state.map(|state| state.kind)
    }

    /// Checks the invariants.
    async fn check_invariants(&mut self) -> Result<()> {
        let mut live = 0;
        for task in self.tasks.clone() {
            let now = self.sandbox.get(&task).await?;
            let id = now["id"].as_str().context("no id")?.to_owned();
            let version = now["version"].as_u64().context("no version")?;
            let before = self.versions.insert(id, version).unwrap_or_default();
            ensure!(version >= before, "its version fell from {before}: {now:#}");
            live += usize::from(now["live"].is_object());
            for (name, surplus) in [("review", 0), ("execution", 0), ("merge_fix", 1)] {
                let budget = &now["budgets"][name];
                let (used, limit) = (budget["used"].as_u64(), budget["limit"].as_u64());
                ensure!(used <= limit.map(|limit| limit + surplus), "{name} is overdrawn: {now:#}");
            }
            self.check_history(&now).await?;
        }
        // A run is counted while one task after the other is read; the store's own count is exact.
        let agent = self.sandbox.call("agent_get", json!({ "agent_id": self.sandbox.agent })).await?;
        let running = agent["running"].as_u64().unwrap_or_default();
        ensure!(running <= PLACES as u64, "{running} run ({live} seen), {PLACES} may");
        let tips = self.sandbox.repo.git(&["rev-list", "--all"])?;
        let now: BTreeSet<String> = tips.lines().map(str::to_owned).collect();
        let lost: Vec<&String> = self.commits.difference(&now).collect();
        ensure!(lost.is_empty(), "commits can no longer be reached: {lost:?}");
        self.commits = now;
        Ok(())
    }

    /// Checks that the history leads to the state.
    async fn check_history(&self, task: &Value) -> Result<()> {
        let history = self.sandbox.call("task_transitions", json!({ "task_id": task["id"] })).await?;
        let again = self.sandbox.get(task).await?;
        let mut at = json!(self.workflow.initial().map(|state| state.name.clone()));
        for row in history["items"].as_array().into_iter().flatten() {
            ensure!(row["from"] == at, "the history is no chain: {history:#}");
            at = row["to"].clone();
        }
        // It may have been moved while its history was read.
        ensure!(at == task["status"] || again["version"] != task["version"], "{at} explains no {task:#}");
        Ok(())
    }

    /// Whether a task has an owner or a reason to wait. States in which a person acts count as owned.
    fn is_owned(&self, task: &Value) -> bool {
        let state = task["status"].as_str().and_then(|name| self.workflow.state(name));
        let Some(state) = state.filter(|state| state.kind == StateKind::Active && state.dispatches()) else {
            return true;
        };
        let role = state.role.as_deref().unwrap_or_default();
        let part = task["execution_mode"] == "ordered_turn" && !task["parent_id"].is_null();
        part || task["roles"][role]["type"] != "agent"
            || !task["live"].is_null()
            || !task["waiting"].is_null()
            || !task["error_annotation"].is_null()
    }

    async fn wait_until_idle(&mut self) -> Result<()> {
        for task in self.tasks.clone() {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let now = self.sandbox.get(&task).await?;
                if self.is_owned(&now) {
                    break;
                }
                ensure!(Instant::now() < deadline, "nobody acts on it: {now:#}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        self.check_invariants().await?;
        let objects = self.sandbox.repo.git(&["rev-list", "--all", "--objects"])?;
        for (name, folder) in &self.scribbles {
            let kept = Path::new(folder).join(name).is_file() || objects.contains(name.as_str());
            ensure!(kept, "{name}, written by hand into {folder}, is gone");
        }
        Ok(())
    }
}

async fn run_case(seed: u64, workflow: Workflow) -> Result<usize> {
    let mut case = Case::new(seed, workflow).await?;
    for n in 0..EVENTS {
        case.random_event().await.with_context(|| format!("event {n}"))?;
        if n % 5 == 4 {
            case.check_invariants().await.with_context(|| format!("after event {n}"))?;
        }
    }
    case.wait_until_idle().await?;
    case.sandbox.api.engine().stop().await;
    let left = case.sandbox.processes()?;
    ensure!(left.is_empty(), "processes are left: {left:?}");
    Ok(case.accepted.get())
}

#[tokio::test(flavor = "multi_thread")]
async fn random_commands_keep_all_invariants() -> Result<()> {
    let begun = Instant::now();
    let shipped = |name: &str| -> Result<Workflow> {
        let info = preset(name).with_context(|| format!("no preset {name}"))?;
        Ok(info.workflow())
    };
    let mut cases: Vec<(u64, String, Workflow)> = Vec::new();
    for seed in 1..=4 {
        cases.push((seed, "default".to_owned(), shipped("default")?));
        cases.push((seed, "random".to_owned(), random_workflow(seed)));
    }
    cases.push((5, "planned".to_owned(), shipped("planned")?));
    cases.push((6, "manual".to_owned(), shipped("manual")?));
    let all = cases.len();
    let (mut done, mut accepted) = (0, 0);
    for (seed, name, workflow) in cases {
        if begun.elapsed() > ENOUGH {
            break;
        }
        accepted += Box::pin(run_case(seed, workflow))
            .await
            .with_context(|| format!("seed {seed} over the {name} workflow"))?;
        done += 1;
    }
    println!("{done} of {all} cases of {EVENTS} events; {accepted} operations were accepted");
    assert!(accepted > done * EVENTS / 4, "too little happened for this to mean anything");
    Ok(())
}
