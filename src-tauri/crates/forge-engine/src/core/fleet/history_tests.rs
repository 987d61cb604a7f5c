//! Random histories of the real core: store, scheduler, workers, admission and the placing of worktrees. Agents are
//! rows that the test ends, and nothing else of a step is done. One to five things happen before it is quiet; then what
//! must hold of every history is looked at, in rows alone and without the decision that is tested (`oracle.rs`).

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use forge_model::actor::{Actor, Cause, Via};
use forge_model::agent::{AdapterKind, Agent};
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::ids::{AgentId, ExecutionId, MachineId, ProjectId, TaskId};
use forge_model::machine::{MachineCaps, MachineQuota, SshConfig};
use forge_model::task::{ExecutionMode, HolderKind, RoleHolder, WaitReason};
use forge_model::time::Timestamp;
use forge_model::transition::StepKind;
use forge_model::workflow::Action;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, EngineConfig, IfLocked, MachineChange, World,
    core::{
        self, contexts,
        moves::Move,
        scheduler::{self, look_for_work, wake_at, wake_waiting},
        testing, workers,
        world::{
            features::{StepSpec, Steps},
            step::{End, Stepping},
        },
    },
    error::Result,
    machine, registry, run,
    task::moves::{ClaimRequest, claim, set_held},
    workspace,
};

mod oracle;

const TASKS: usize = 40;
const MACHINES: usize = 4;
const PROJECTS: usize = 3;
const AGENTS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(30);

const HOUR: i64 = 3_600_000;

/// A clock that goes, and jumps where it is told to.
#[derive(Default)]
struct Jumping {
    ahead: AtomicI64,
    jumped: Notify,
}

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        crate::SystemClock.now().plus_ms(self.ahead.load(Ordering::SeqCst))
    }

    fn jumped(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.jumped.notified())
    }
}

/// A race goes on until its entries are over, whatever its task's agent does.
const RACE: StepSpec = StepSpec::instant(|_, _, _, _| {
    Box::pin(async { Ok(End::wait(WaitReason::AgentBusy, "its entries are at work")) })
});
const DONE: StepSpec = StepSpec::instant(|_, _, _, _| Box::pin(async { Ok(End::ok()) }));
const PREPARE: StepSpec = StepSpec::acting(|world, s, cancel| Box::pin(prepare(world, s, cancel)));

/// The steps that give places and start runs are the real ones.
fn spec_of(step: &StepRow) -> StepSpec {
    match step.kind {
        StepKind::Admit | StepKind::Restart | StepKind::ClearBarrier => {
            (registry::features().steps.of_step)(step)
        }
        StepKind::Action
            if matches!(step.action, Some(Action::DispatchRoleAgent | Action::SatisfyDependents)) =>
        {
            (registry::features().steps.of_step)(step)
        }
        StepKind::PrepareWorkspace => PREPARE,
        StepKind::Race => RACE,
        _ => DONE,
    }
}

/// Places the worktree as it is placed, without making one.
async fn prepare(world: &World, s: &Stepping, _: &CancellationToken) -> Result<End> {
    // Others act between the start and this.
    for _ in 0..s.task.number % 5 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let last = world.store().read().await?.workspaces().last(&s.task.id).await?;
    if last.as_ref().is_some_and(|workspace| workspace.status == WorkspaceStatus::Active) {
        return Ok(End::ok());
    }
    let fresh = Workspace {
        id: world.new_id(),
        task_id: s.task.id.clone(),
        machine_id: None,
        status: WorkspaceStatus::Creating,
        path: format!("/nowhere/{}/tree", s.task.id),
        branch: format!("forge/{}", s.task.id),
        base_commit: "c".to_owned(),
        cleanup_at: None,
        disk_bytes: None,
        error: None,
        lock: None,
        port_base: 4000,
        created_at: world.now(),
        updated_at: world.now(),
    };
    let placed = match workspace::prepare::placed(world, s, last.unwrap_or(fresh)).await? {
        Ok(placed) => placed,
        Err(end) => return Ok(end),
    };
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().put(&Workspace { status: WorkspaceStatus::Active, ..placed }, world.now()).await?;
    tx.commit().await?;
    Ok(End::ok())
}

struct Rng(u64);

impl Rng {
    fn next(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.next(bound) == 0
    }
}

struct History {
    world: World,
    clock: Arc<Jumping>,
    rng: Rng,
    /// All that an agent is to work on, but those that were deleted.
    tasks: Vec<TaskId>,
    /// How many were made of them.
    made: usize,
    /// Tasks that no agent works on: raced ones, with their entries, and ordered parts.
    raced: HashMap<TaskId, Vec<TaskId>>,
    parts: Vec<TaskId>,
    done: BTreeSet<TaskId>,
    /// Every run that was ever seen, with where and when it began.
    seen: HashMap<ExecutionId, (Option<MachineId>, Timestamp)>,
    _dir: tempfile::TempDir,
}

fn agent(n: usize, most: u32) -> Agent {
    Agent {
        id: AgentId(format!("a{n}")),
        name: format!("Agent {n}"),
        adapter: AdapterKind::Shell,
        config: json!({ "command": "true" }),
        model: None,
        max_concurrent: most,
        paused: false,
        running: 0,
        created_at: testing::NOW,
        updated_at: testing::NOW,
    }
}

impl History {
    async fn new(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        config.login_shell = Some("true".into());
        let clock = Arc::new(Jumping::default());
        config.clock = Arc::clone(&clock) as Arc<dyn Clock>;
        let mut features = registry::features();
        features.steps = Steps { of_step: spec_of, of_action: features.steps.of_action };
        features.launch = |_, _, _| {};
        features.after_work = |_, _| Box::pin(async {});
        // Runs are rows: the watchdog, which a jump of the clock wakes, would find nothing at work.
        features.moments.attends.push(|_, _| true);
        let world = crate::start::open_with(config, features).await.unwrap();
        let mut rng = Rng(seed);
        let mut tx = world.store().write().await.unwrap();
        for n in 0..PROJECTS {
            let settings = json!({ "auto_start": true, "max_concurrent": 2 + rng.next(4) });
            let mut row = testing::project_row(settings, world.now());
            row.project.id = ProjectId(format!("p{n}"));
            row.project.name = format!("p{n}");
            tx.projects_mut().insert(&row).await.unwrap();
        }
        for n in 0..AGENTS {
            let most = u32::try_from(1 + rng.next(5)).unwrap();
            tx.agents_mut().put(&agent(n, most)).await.unwrap();
        }
        tx.commit().await.unwrap();
        for n in 0..MACHINES {
            let ssh = SshConfig {
                host: "nowhere".to_owned(),
                user: None,
                port: None,
                identity_file: None,
                options: Vec::new(),
            };
            let labels: &[&str] = [&["gpu"][..], &["arm"], &["gpu", "arm"], &["gpu"]][n];
            let runs_per_day = rng.one_in(3).then_some(4);
            let new = MachineChange {
                name: Some(format!("m{n}")),
                ssh: Some(ssh),
                labels: Some(labels.iter().map(|label| (*label).to_owned()).collect()),
                caps: Some(MachineCaps { runs: u32::try_from(1 + rng.next(2)).ok() }),
                quota: Some(MachineQuota { runs_per_day, micro_usd_per_day: None }),
                ..MachineChange::default()
            };
            machine::command::create_machine(&world, new).await.unwrap();
        }
        Self {
            world,
            clock,
            rng,
            tasks: Vec::new(),
            made: 0,
            raced: HashMap::new(),
            parts: Vec::new(),
            done: BTreeSet::new(),
            seen: HashMap::new(),
            _dir: dir,
        }
    }

    /// A task in a project of its own choice, or of its parent.
    async fn insert(&mut self, tx: &mut forge_store::Tx, of: Option<(&TaskRow, ExecutionMode)>) -> TaskRow {
        let project = ProjectId(format!("p{}", self.rng.next(PROJECTS)));
        let project = of.map_or(project, |(parent, _)| parent.project_id.clone());
        let number = tx.projects_mut().take_task_number(&project).await.unwrap();
        let labels: [&[&str]; 5] = [&[], &["gpu"], &["arm"], &["gpu", "arm"], &["m1"]];
        let labels = labels[self.rng.next(5)].iter().map(|label| (*label).to_owned()).collect();
        let id = TaskId(format!("{project}-{number:03}"));
        let mut row = TaskRow {
            project_id: project,
            priority: i32::try_from(self.rng.next(3)).unwrap(),
            machines: Some(labels),
            ..testing::task_row(id.clone(), number, "todo", self.world.now())
        };
        if let Some((parent, mode)) = of {
            (row.parent_id, row.execution_mode) = (Some(parent.id.clone()), mode);
            row.race_place = (mode == ExecutionMode::RaceEntry).then_some(number);
        }
        tx.tasks_mut().insert(&row).await.unwrap();
        for role in ["coder", "reviewer"] {
            let agent = Some(AgentId(format!("a{}", self.rng.next(AGENTS))));
            let holder = RoleHolder { kind: HolderKind::Agent, id: agent };
            tx.roles_mut().put(&id, role, Some(&holder)).await.unwrap();
        }
        row
    }

    async fn create(&mut self) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let row = self.insert(&mut tx, None).await;
        // Nothing depends on the entry of a race.
        let entries: BTreeSet<&TaskId> = self.raced.values().flatten().collect();
        let others: Vec<TaskId> = self.tasks.iter().filter(|id| !entries.contains(id)).cloned().collect();
        if !others.is_empty() && self.rng.one_in(4) {
            let before = others[self.rng.next(others.len())].clone();
            tx.dependencies_mut().insert(&row.id, &before).await.unwrap();
        }
        let part = match self.rng.one_in(6) {
            true => Some(self.insert(&mut tx, Some((&row, ExecutionMode::OrderedTurn))).await),
            false => None,
        };
        tx.commit().await.unwrap();
        self.parts.extend(part.map(|part| part.id));
        self.tasks.push(row.id);
        self.made += 1;
        look_for_work(&self.world);
    }

    /// A task that is raced for, with two entries that begin at once.
    async fn race(&mut self) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let mut raced = self.insert(&mut tx, None).await;
        let context = contexts::context_of(&world, &mut tx, &raced).await.unwrap();
        let start = |to: &str| Move::by(to, "start", Actor::System { cause: Cause::Scheduler });
        core::transition::apply(&world, &mut tx, &context, &mut raced, start("in_progress")).await.unwrap();
        tx.steps_mut().skip_open(&raced.id, "it is raced for", world.now()).await.unwrap();
        for kind in [StepKind::Race, StepKind::Admit] {
            let mut step = StepRow::pending(&raced.id, "in_progress", kind, "before_enter");
            tx.steps_mut().insert(&mut step).await.unwrap();
        }
        let mut entries = Vec::new();
        for _ in 0..2 {
            let mut entry = self.insert(&mut tx, Some((&raced, ExecutionMode::RaceEntry))).await;
            let context = contexts::context_of(&world, &mut tx, &entry).await.unwrap();
            core::transition::apply(&world, &mut tx, &context, &mut entry, start("race/running"))
                .await
                .unwrap();
            entries.push(entry.id);
        }
        tx.commit().await.unwrap();
        for id in entries.iter().chain([&raced.id]) {
            workers::kick(&world, id);
        }
        self.made += entries.len();
        self.tasks.extend(entries.iter().cloned());
        self.raced.insert(raced.id, entries);
    }

    /// The clock jumps by some hours, or to another day.
    async fn jump(&mut self, hours: i64) {
        self.clock.ahead.fetch_add(hours * HOUR, Ordering::SeqCst);
        self.clock.jumped.notify_one();
        // Whoever sleeps until then wakes.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// An agent's provider takes nothing for some hours.
    async fn limit(&mut self) {
        let until = self.world.now().plus_ms(HOUR * 3);
        let agent = AgentId(format!("a{}", self.rng.next(AGENTS)));
        let mut tx = self.world.store().write().await.unwrap();
        tx.limits_mut().put(&agent, until).await.unwrap();
        tx.commit().await.unwrap();
        wake_at(&self.world, until);
    }

    /// A task that is done is deleted, with its runs.
    async fn delete(&mut self, id: &TaskId) {
        let is_of_race = self.raced.values().flatten().any(|entry| entry == id);
        if !self.done.contains(id) || is_of_race {
            return;
        }
        let mut tx = self.world.store().write().await.unwrap();
        tx.tasks_mut().delete(id).await.unwrap();
        tx.commit().await.unwrap();
        self.tasks.retain(|task| task != id);
        let left = self.world.store().read().await.unwrap().tasks().of_ids(&self.parts).await.unwrap();
        self.parts = left.into_iter().filter(|part| part.parent_id.is_some()).map(|part| part.id).collect();
        wake_waiting(&self.world);
    }

    async fn open_runs(&self) -> Vec<Execution> {
        let open = self.world.store().read().await.unwrap().executions().open(None).await.unwrap();
        open.into_iter().map(|row| row.execution).collect()
    }

    /// A run ends well; its task is reviewed next, or done.
    async fn end(&mut self, mut run: Execution) {
        let world = self.world.clone();
        let mut tx = world.store().write().await.unwrap();
        let mut task = tx.tasks().get(&run.task_id).await.unwrap().unwrap();
        let context = contexts::context_of(&world, &mut tx, &task).await.unwrap();
        run.status = ExecutionStatus::Finished;
        run.finished_at = Some(world.now());
        tx.executions_mut().update(&run).await.unwrap();
        let is_entry = task.execution_mode == ExecutionMode::RaceEntry;
        let is_reviewed = task.status == "in_progress" && self.rng.one_in(2);
        let to = match is_entry {
            true => "race/over",
            false if is_reviewed => "review",
            false => "done",
        };
        let mv = Move::by(to, "accept", Actor::System { cause: Cause::Workflow });
        core::transition::apply(&world, &mut tx, &context, &mut task, mv).await.unwrap();
        tx.commit().await.unwrap();
        if !is_reviewed {
            assert!(self.done.insert(task.id.clone()), "{} ended twice", task.id);
        }
        workers::kick(&world, &task.id);
        wake_waiting(&world);
    }

    /// A run is cut short; another one follows, where its worktree is.
    async fn lose(&self, run: Execution) {
        let world = &self.world;
        let mut tx = world.store().write().await.unwrap();
        let task = tx.tasks().get(&run.task_id).await.unwrap().unwrap();
        run::lost::lose_run(world, &mut tx, &task, run).await.unwrap();
        tx.commit().await.unwrap();
        workers::kick(world, &task.id);
        wake_waiting(world);
    }

    async fn pause(&self, n: usize, paused: bool) {
        let mut tx = self.world.store().write().await.unwrap();
        let now = tx.agents().get(&AgentId(format!("a{n}"))).await.unwrap().unwrap();
        tx.agents_mut().put(&Agent { paused, ..now }).await.unwrap();
        tx.commit().await.unwrap();
        wake_waiting(&self.world);
    }

    async fn change(&self, n: usize, change: MachineChange) {
        let id = MachineId(format!("m{n}"));
        machine::command::update_machine(&self.world, &id, change).await.unwrap();
    }

    async fn drain(&self, n: usize, draining: bool) {
        self.change(n, MachineChange { draining: Some(draining), ..MachineChange::default() }).await;
    }

    async fn happen(&mut self) {
        let open = self.open_runs().await;
        for run in &open {
            self.seen.insert(run.id.clone(), (run.machine_id.clone(), run.started_at));
        }
        let run = (!open.is_empty()).then(|| open[self.rng.next(open.len())].clone());
        let task = (!self.tasks.is_empty()).then(|| self.tasks[self.rng.next(self.tasks.len())].clone());
        match (self.rng.next(17), run, task) {
            (0..=3, _, _) if self.made < TASKS => self.create().await,
            (4..=6, Some(run), _) => self.end(run).await,
            (7, Some(run), _) if run.role == ExecutionRole::Coder => self.lose(run).await,
            (8, ..) => {
                let (n, draining) = (self.rng.next(MACHINES), self.rng.one_in(2));
                self.drain(n, draining).await;
            }
            (9, ..) => {
                let (n, paused) = (self.rng.next(AGENTS), self.rng.one_in(2));
                self.pause(n, paused).await;
            }
            (10, _, Some(task)) => {
                let held = self.rng.one_in(2);
                // A closed task cannot be held, which is no matter here.
                let _ = set_held(&self.world, &task, None, held).await;
            }
            (11, ..) if self.made + 1 < TASKS => self.race().await,
            (12, ..) => {
                let hours = i64::try_from(1 + self.rng.next(30)).unwrap();
                self.jump(hours).await;
            }
            (13, ..) => self.limit().await,
            (14, _, Some(task)) => self.delete(&task).await,
            (_, _, Some(task)) => self.claim(&task).await,
            _ => {}
        }
    }

    /// A person starts it; what is refused is no matter here.
    async fn claim(&mut self, task: &TaskId) {
        let holder = self.world.store().read().await.unwrap().roles().holder(task, "coder").await.unwrap();
        let request =
            ClaimRequest { version: None, holder: holder.unwrap(), queue: true, if_locked: IfLocked::Reject };
        let _ = claim(&self.world, Actor::User { via: Via::Cli }, task, request).await;
    }

    async fn quiet(&self) {
        let begun = Instant::now();
        let mut still = 0;
        while still < 3 {
            let is_quiet = workers::are_idle(&self.world) && scheduler::is_idle(&self.world);
            still = if is_quiet { still + 1 } else { 0 };
            assert!(begun.elapsed() < PATIENCE, "it never becomes quiet");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Everything that holds something up ends, and then all runs do.
    async fn finish(&mut self) {
        while self.made < TASKS {
            self.create().await;
        }
        self.jump(48).await;
        for n in 0..MACHINES {
            let quota = Some(MachineQuota::default());
            self.change(n, MachineChange { draining: Some(false), quota, ..MachineChange::default() }).await;
        }
        for n in 0..AGENTS {
            self.pause(n, false).await;
        }
        for task in self.tasks.clone() {
            let _ = set_held(&self.world, &task, None, false).await;
        }
        for _ in 0..3 * TASKS {
            self.quiet().await;
            self.check().await;
            for run in self.open_runs().await {
                self.end(run).await;
            }
            if self.done.len() >= TASKS {
                return;
            }
        }
        let left: Vec<_> = self.tasks.iter().filter(|task| !self.done.contains(*task)).collect();
        panic!("lost: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_lose_no_task_start_none_twice_and_pass_no_limit() {
    let begun = Instant::now();
    let mut histories = 0;
    for seed in 1..=20 {
        if begun.elapsed() > Duration::from_secs(20) {
            break;
        }
        let mut history = History::new(seed).await;
        for _ in 0..40 {
            for _ in 0..=history.rng.next(5) {
                history.happen().await;
            }
            history.quiet().await;
            history.check().await;
        }
        history.finish().await;
        history.quiet().await;
        let world = history.world.clone();
        crate::start::stop(&world, crate::start::Runs::End).await;
        histories += 1;
    }
    println!("{histories} histories of {TASKS} tasks");
    assert!(histories > 0);
}
