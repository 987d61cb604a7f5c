//! Random histories of the real core: store, scheduler, workers, admission and the placing of worktrees. Agents are
//! rows that the test ends, and nothing else of a step is done. One to five things happen before it is quiet (`events.rs`);
//! then what must hold of every history is looked at, in rows alone and without the decision that is tested
//! (`oracle.rs`). That no limit is passed is looked at after each of them, while others are at work.
//!
//! That an old task is not passed for ever is stated by the tests of the decision: here so few tasks wait that each has
//! its turn anyhow.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{
        Arc, Mutex,
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
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    Clock, EngineConfig, EngineError, IfLocked, MachineChange, World,
    core::{
        self,
        context::ProjectContext,
        contexts,
        location::contacts::CutOff,
        moves::Move,
        scheduler::{self, look_for_work, wake_at, wake_waiting},
        sync::locked,
        testing, workers,
        world::{
            features::{Guard, Objection, StepSpec, Steps},
            step::{End, Stepping},
        },
    },
    error::Result,
    machine, registry, run,
    task::{
        command::assign,
        moves::{ClaimRequest, claim, set_held},
    },
    workspace,
};

mod events;
mod oracle;

/// How many histories there are, however long they take.
const HISTORIES: usize = 3;
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
const RACE: StepSpec = StepSpec::instant(|_, tx, s, _| Box::pin(race_goes_on(tx, s)));
/// The checks of a gate take a while, with a place that is given meanwhile, or without one.
const CHECKS: StepSpec = StepSpec::acting(|_, s, _| Box::pin(take_a_while(s)));
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
        StepKind::Action if step.action == Some(Action::RunCiSteps) => CHECKS,
        StepKind::PrepareWorkspace => PREPARE,
        StepKind::Race => RACE,
        _ => DONE,
    }
}

async fn race_goes_on(tx: &mut Tx, s: &Stepping) -> Result<End> {
    let entries = tx.tasks().race_entries(&s.task.id).await?;
    let over = entries.iter().filter(|entry| entry.status == "race/over").count();
    Ok(match over == entries.len() {
        true => End::ok(),
        false => End::wait(WaitReason::RaceRunning, format!("{over} of {} entries finished", entries.len())),
    })
}

/// Others act meanwhile.
async fn take_a_while(s: &Stepping) -> Result<End> {
    for _ in 0..s.task.number % 5 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(End::ok())
}

/// Machines that somebody is to wait for.
#[derive(Default)]
struct Awaited(Mutex<HashSet<MachineId>>);

/// A machine that can be reached again wakes tasks only when somebody was told to wait for it.
fn await_machine(world: &World, id: &MachineId) {
    locked(&world.part::<Awaited>().0).insert(id.clone());
    if !locked(&world.part::<CutOff>().0).contains(id) {
        locked(&world.part::<Awaited>().0).remove(id);
        wake_waiting(world);
    }
}

/// Tasks whose start fails.
#[derive(Default)]
struct Failing(Mutex<HashSet<TaskId>>);

fn guard_of(action: Action) -> Option<Guard> {
    let guard: Guard = match action {
        Action::DependencyGate => |world, context, task| Box::pin(ask(world, context, task)),
        _ => return (registry::features().guard)(action),
    };
    Some(guard)
}

async fn ask(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<Option<Objection>> {
    if locked(&world.part::<Failing>().0).contains(&task.id) {
        return Err(EngineError::invalid("guard", "cannot be asked"));
    }
    core::guards::ask_prerequisites(world, context, task).await
}

/// Places the worktree as it is placed, without making one.
async fn prepare(world: &World, s: &Stepping, _: &CancellationToken) -> Result<End> {
    take_a_while(s).await?;
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
    /// Tasks in review whose work passed before: nobody is asked again, and a person moves them on.
    passed: BTreeSet<TaskId>,
    /// Every run that was ever seen, with where and when it began.
    seen: HashMap<ExecutionId, (Option<MachineId>, Timestamp)>,
    /// What those have cost that ended, in micro-dollars.
    costs: HashMap<ExecutionId, u64>,
    /// Those that were looked at when it was quiet.
    checked: HashSet<ExecutionId>,
    /// Machines that had used up a quota when it was quiet last, each with the day.
    spent: HashSet<(MachineId, Timestamp)>,
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
        features.guard = guard_of;
        features.moments.on_machine_awaited.clear();
        features.moments.on_machine_awaited.push(await_machine);
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
                quota: Some(MachineQuota { runs_per_day, micro_usd_per_day: rng.one_in(3).then_some(12) }),
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
            passed: BTreeSet::new(),
            seen: HashMap::new(),
            costs: HashMap::new(),
            checked: HashSet::new(),
            spent: HashSet::new(),
            _dir: dir,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_lose_no_task_start_none_twice_and_pass_no_limit() {
    let begun = Instant::now();
    let mut histories = 0;
    for seed in 1..=20 {
        // Some on any machine, and more where that is quick.
        if histories >= HISTORIES && begun.elapsed() > Duration::from_secs(20) {
            break;
        }
        let mut history = History::new(seed).await;
        for _ in 0..40 {
            for _ in 0..=history.rng.next(5) {
                history.happen().await;
                history.check_caps().await;
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
}
