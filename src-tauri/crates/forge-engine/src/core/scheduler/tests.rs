//! The pass over rows of a real database, with nothing at work beside it.

use forge_model::agent::{AdapterKind, Agent};
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::ids::{AgentId, ProjectId};
use forge_model::machine::fleet::PlacementVerdict;
use forge_model::task::{ExecutionMode, HolderKind, RoleHolder, WaitReason};
use forge_model::transition::StepKind;
use forge_store::table::{
    executions::ExecutionRow, slots::Slot, steps::StepRow, tasks::TaskRow, turns::Oldest,
};
use serde_json::Value;

use super::*;
use crate::core::{
    admission::take_place_again,
    contexts,
    fleet::{policy::wait, preview, waiting},
    testing, workers,
    world::step::{Effect, End, Stepping},
};
use crate::{EngineConfig, World, run};

struct Rows {
    world: World,
    _dir: tempfile::TempDir,
}

impl Rows {
    /// An engine that starts nothing by itself, one agent with a place, and a project.
    async fn new(work: Work) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
        (config.work, config.login_shell) = (work, Some("true".into()));
        let world = crate::start::open(config).await.unwrap();
        let mut tx = world.store().write().await.unwrap();
        let agent = Agent {
            id: AgentId::from("a"),
            name: "Ada".to_owned(),
            adapter: AdapterKind::Shell,
            config: json!({ "command": "true" }),
            model: None,
            max_concurrent: 1,
            paused: false,
            running: 0,
            created_at: world.now(),
            updated_at: world.now(),
        };
        tx.agents_mut().put(&agent).await.unwrap();
        tx.commit().await.unwrap();
        let rows = Self { world, _dir: dir };
        rows.project("p", json!({ "auto_start": true, "max_concurrent": 3 })).await;
        rows
    }

    async fn project(&self, id: &str, settings: Value) {
        let mut row = testing::project_row(settings, self.world.now());
        row.project.id = ProjectId::from(id);
        row.project.name = id.to_owned();
        let mut tx = self.world.store().write().await.unwrap();
        tx.projects_mut().insert(&row).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// A task of the agent in a state, with its next step, changed by what is said.
    async fn task(&self, id: &str, next: Option<StepKind>, change: impl FnOnce(&mut TaskRow)) {
        let mut tx = self.world.store().write().await.unwrap();
        let state = if next.is_some() { "in_progress" } else { "todo" };
        let mut row = testing::task_row(id.into(), 0, state, self.world.now());
        change(&mut row);
        row.number = tx.projects_mut().take_task_number(&row.project_id).await.unwrap();
        tx.tasks_mut().insert(&row).await.unwrap();
        if row.waiting.is_some() {
            tx.tasks_mut().update(&mut row, self.world.now()).await.unwrap();
        }
        let role = RoleHolder { kind: HolderKind::Agent, id: Some("a".into()) };
        tx.roles_mut().put(&id.into(), "coder", Some(&role)).await.unwrap();
        if let Some(kind) = next {
            let mut step = StepRow::pending(&id.into(), state, kind, "before_enter");
            tx.steps_mut().insert(&mut step).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    async fn row(&self, id: &str) -> TaskRow {
        self.world.store().read().await.unwrap().tasks().get(&id.into()).await.unwrap().unwrap()
    }

    async fn slot(&self, id: &str) -> Option<Slot> {
        self.world.store().read().await.unwrap().slots().of(&id.into()).await.unwrap()
    }

    async fn waiting(&self, whose: Whose) -> Waiters {
        let mut conn = self.world.store().read().await.unwrap();
        who_waits(&self.world, &mut conn, whose).await.unwrap()
    }

    async fn asking(&self, whose: Whose) -> Vec<String> {
        self.waiting(whose).await.asking.into_iter().map(|it| it.row.id.0).collect()
    }

    /// A task at its next step.
    async fn at_its_step(&self, id: &str) -> Stepping {
        let mut conn = self.world.store().read().await.unwrap();
        let task = conn.tasks().get(&id.into()).await.unwrap().unwrap();
        let step = conn.steps().next(&id.into()).await.unwrap().unwrap();
        let context = contexts::context_of(&self.world, &mut conn, &task).await.unwrap();
        let transition = testing::transition(&task, &testing::by_person(&task.status));
        Stepping { step, task, context, transition }
    }

    async fn stop(self) {
        crate::start::stop(&self.world, crate::start::Runs::End).await;
    }
}

fn busy(row: &mut TaskRow) {
    row.waiting = Some(wait(WaitReason::AgentBusy, "Ada is working on another task"));
}

#[tokio::test]
async fn engine_for_one_command_looks_at_its_own_tasks_and_what_is_of_them() {
    let rows = Rows::new(Work::Named).await;
    for id in ["mine", "other"] {
        rows.task(id, Some(StepKind::Admit), busy).await;
        let entry = format!("{id}-entry");
        let is_entry = |row: &mut TaskRow| {
            (row.execution_mode, row.parent_id) = (ExecutionMode::RaceEntry, Some(id.into()));
            row.status = "race/running".to_owned();
            busy(row);
        };
        rows.task(&entry, Some(StepKind::Admit), is_entry).await;
    }
    rows.task("queued", None, |_| {}).await;
    workers::work_on(&rows.world, &"mine".into());
    let mut ours = rows.asking(Whose::Ours).await;
    ours.sort();
    assert_eq!(ours, ["mine", "mine-entry"]);
    assert_eq!(rows.asking(Whose::Everyones).await.len(), 5);
    rows.stop().await;
}

#[tokio::test]
async fn broken_project_and_one_without_auto_start_ask_for_nothing_and_end_no_pass() {
    let rows = Rows::new(Work::Nothing).await;
    rows.project("by-hand", json!({ "auto_start": false })).await;
    rows.project("broken", json!({ "auto_start": true })).await;
    let in_project = |id: &'static str| move |row: &mut TaskRow| row.project_id = id.into();
    rows.task("good", None, |_| {}).await;
    rows.task("hand", None, |row| {
        in_project("by-hand")(row);
        busy(row);
    })
    .await;
    rows.task("bad", None, in_project("broken")).await;
    let mut tx = rows.world.store().write().await.unwrap();
    let mut row = tx.projects().get(&"broken".into()).await.unwrap().unwrap();
    row.workflow = "{".to_owned();
    tx.projects_mut().update(&mut row, rows.world.now()).await.unwrap();
    tx.commit().await.unwrap();
    let waiting = rows.waiting(Whose::Everyones).await;
    let asking: Vec<_> = waiting.asking.iter().map(|it| it.row.id.as_str()).collect();
    let to_clear: Vec<_> = waiting.to_clear.iter().map(|row| row.id.as_str()).collect();
    assert_eq!((asking, to_clear), (vec!["good"], vec!["hand"]));
    rows.stop().await;
}

#[tokio::test]
async fn start_whose_place_is_taken_meanwhile_leaves_nothing_behind() {
    let rows = Rows::new(Work::Nothing).await;
    let day = 24 * 3_600_000;
    rows.task("late", None, |row| row.status_since = Timestamp(row.status_since.0 - 3 * day)).await;
    rows.task("next", None, |row| row.priority = 9).await;
    let chosen = Chosen { machine: None, oldest: Oldest { of_project: true, ..Oldest::default() } };
    let asking = rows.waiting(Whose::Everyones).await.asking;
    let of = |id: &str| asking.iter().find(|it| it.row.id.as_str() == id).unwrap();
    // Whatever is ranked before it, and though the move makes it young again.
    assert_eq!(start_by_itself(&rows.world, of("late"), &chosen).await.unwrap(), Meant::Given);
    assert_eq!(rows.row("late").await.status, "in_progress");
    let before = rows.row("next").await;
    assert_eq!(start_by_itself(&rows.world, of("next"), &chosen).await.unwrap(), Meant::Free);
    assert_eq!((rows.row("next").await, rows.slot("next").await), (before, None));
    let turns = rows.world.store().read().await.unwrap().turns().all().await.unwrap();
    assert_eq!(turns[&ProjectId::from("p")]["p"].turn, 1, "one place was given, one turn is counted");
    rows.stop().await;
}

#[tokio::test]
async fn place_is_given_once_to_a_task_that_still_asks_for_it() {
    let rows = Rows::new(Work::Nothing).await;
    rows.task("raced", Some(StepKind::Race), busy).await;
    rows.task("waits", Some(StepKind::Admit), busy).await;
    let chosen = Chosen { machine: None, oldest: Oldest::default() };
    let waiting = rows.waiting(Whose::Everyones).await;
    assert_eq!(waiting.to_wake.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["raced"]);
    let [it] = &waiting.asking[..] else { panic!("{} ask", waiting.asking.len()) };
    assert_eq!(go_on(&rows.world, it, &chosen).await.unwrap(), Meant::Given);
    assert_eq!(go_on(&rows.world, it, &chosen).await.unwrap(), Meant::Free);
    assert_eq!(rows.row("waits").await.waiting, None, "with its place it waits no more");
    assert_eq!(rows.slot("waits").await, Some(Slot { agent_id: "a".into(), machine_id: None }));
    rows.stop().await;
}

impl Rows {
    async fn change_project(&self, change: impl FnOnce(&mut forge_store::table::projects::ProjectRow)) {
        let mut tx = self.world.store().write().await.unwrap();
        let mut row = tx.projects().get(&"p".into()).await.unwrap().unwrap();
        change(&mut row);
        tx.projects_mut().update(&mut row, self.world.now()).await.unwrap();
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn project_that_changes_while_a_pass_gives_places_counts_as_it_is_then() {
    let rows = Rows::new(Work::Nothing).await;
    rows.task("begun", Some(StepKind::Admit), busy).await;
    rows.task("queued", None, |_| {}).await;
    let asking = rows.waiting(Whose::Everyones).await.asking;
    let of = |id: &str| asking.iter().find(|it| it.row.id.as_str() == id).unwrap();
    let chosen = Chosen { machine: None, oldest: Oldest::default() };
    let given = async || {
        let begun = go_on(&rows.world, of("begun"), &chosen).await.unwrap();
        (begun, start_by_itself(&rows.world, of("queued"), &chosen).await.unwrap())
    };
    rows.change_project(|row| row.project.paused = true).await;
    assert_eq!(given().await, (Meant::Free, Meant::Free), "it is paused");
    rows.change_project(|row| {
        row.project.paused = false;
        row.settings = json!({ "auto_start": false, "max_concurrent": 3 });
    })
    .await;
    assert_eq!(start_by_itself(&rows.world, of("queued"), &chosen).await.unwrap(), Meant::Free);
    rows.change_project(|row| row.settings = json!({ "auto_start": true, "max_concurrent": 1 })).await;
    rows.task("other", Some(StepKind::Admit), busy).await;
    let mut tx = rows.world.store().write().await.unwrap();
    let agent = tx.agents().get(&"a".into()).await.unwrap().unwrap();
    tx.agents_mut().put(&Agent { max_concurrent: 9, ..agent }).await.unwrap();
    let slot = Slot { agent_id: "a".into(), machine_id: Some("m".into()) };
    tx.slots_mut().take(&"other".into(), &"p".into(), &slot, rows.world.now()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(given().await, (Meant::Free, Meant::Free), "it has no places any more");
    assert_eq!((rows.slot("begun").await, rows.row("queued").await.status), (None, "todo".to_owned()));
    rows.stop().await;
}

#[tokio::test]
async fn place_of_a_gate_whose_work_passed_before_goes_to_others() {
    let rows = Rows::new(Work::Nothing).await;
    rows.task("t", Some(StepKind::Admit), |row| row.status = "review".to_owned()).await;
    let mut tx = rows.world.store().write().await.unwrap();
    let role = RoleHolder { kind: HolderKind::Agent, id: Some("a".into()) };
    tx.roles_mut().put(&"t".into(), "reviewer", Some(&role)).await.unwrap();
    let mut task = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
    task.review_passed_at = Some(rows.world.now());
    tx.tasks_mut().update(&mut task, rows.world.now()).await.unwrap();
    tx.commit().await.unwrap();
    let mut s = rows.at_its_step("t").await;
    assert_eq!(rows.asking(Whose::Everyones).await, Vec::<String>::new(), "no auditor is asked again");
    let slot = Slot { agent_id: "a".into(), machine_id: None };
    let End::Found(found) = run::dispatch::admit(&rows.world, &s).await.unwrap() else {
        panic!("it is decided")
    };
    for is_admitted in [true, false] {
        let mut effects = Vec::new();
        let mut tx = rows.world.store().write().await.unwrap();
        tx.slots_mut().take(&"t".into(), &"p".into(), &slot, rows.world.now()).await.unwrap();
        let end = match is_admitted {
            true => found.decide(&rows.world, &mut tx, &mut s, &mut effects).await.unwrap(),
            false => run::dispatch::dispatch(&rows.world, &mut tx, &s, &mut effects).await.unwrap(),
        };
        assert!(matches!(end, End::Skipped(_)), "admitted: {is_admitted}");
        assert_eq!(tx.slots().of(&"t".into()).await.unwrap(), None, "admitted: {is_admitted}");
        assert!(matches!(effects[..], [Effect::WakeWaiting]), "others are told, admitted: {is_admitted}");
    }
    rows.stop().await;
}

#[tokio::test]
async fn task_that_is_admitted_leaves_the_decision_to_a_pass() {
    let rows = Rows::new(Work::All).await;
    // The pass of its start finds nothing.
    while !is_idle(&rows.world) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    rows.task("fresh", Some(StepKind::Admit), |_| {}).await;
    rows.task("held", Some(StepKind::Admit), |row| row.waiting = Some(wait(WaitReason::Held, "on hold")))
        .await;
    let locked = wait(WaitReason::WorkspaceLocked, "ada changes its files");
    rows.task("locked", Some(StepKind::Admit), |row| row.waiting = Some(locked)).await;
    for (id, says) in [("fresh", None), ("held", None), ("locked", Some(WaitReason::AgentBusy))] {
        let mut s = rows.at_its_step(id).await;
        let End::Found(found) = run::dispatch::admit(&rows.world, &s).await.unwrap() else { panic!("{id}") };
        let mut effects = Vec::new();
        let mut tx = rows.world.store().write().await.unwrap();
        let end = found.decide(&rows.world, &mut tx, &mut s, &mut effects).await.unwrap();
        let said = match end {
            End::Written(false) => None,
            End::Wait(waiting) => Some(waiting.reason),
            _ => panic!("{id} is admitted"),
        };
        assert_eq!(said, says, "{id} says nothing new before the pass does");
        // Though a place is free.
        assert_eq!(tx.slots().of(&id.into()).await.unwrap(), None, "{id}");
        assert!(matches!(effects[..], [Effect::WakeWaiting]), "{id} asks for a pass");
    }
    rows.stop().await;
}

#[tokio::test]
async fn start_that_fails_keeps_its_place_from_nobody() {
    let rows = Rows::new(Work::Nothing).await;
    rows.task("fails", None, |row| row.priority = 9).await;
    rows.task("next", None, |_| {}).await;
    let version = rows.row("fails").await.version;
    locked(&rows.world.part::<Scheduler>().failed).insert("fails".into(), (version, 1));
    let first = read_round(&rows.world, Whose::Everyones, Tries::First).await.unwrap();
    assert_eq!(first.left_out, 1);
    let starts: Vec<_> =
        first.decided.starts.iter().map(|start| first.read.asking[start.at].0.row.id.as_str()).collect();
    assert_eq!(starts, ["next"], "the one that failed is tried after it");
    let last = read_round(&rows.world, Whose::Everyones, Tries::All).await.unwrap();
    assert_eq!((last.left_out, last.read.asking.len()), (0, 2));
    // Once it changes, it is tried as all others are.
    locked(&rows.world.part::<Scheduler>().failed).insert("fails".into(), (version + 1, 1));
    assert_eq!(read_round(&rows.world, Whose::Everyones, Tries::First).await.unwrap().left_out, 0);
    rows.stop().await;
}

#[tokio::test]
async fn places_that_others_ask_for_are_those_of_the_agent_that_starts_next_and_of_no_machine() {
    let rows = Rows::new(Work::Nothing).await;
    for id in ["mine", "asks"] {
        rows.task(id, Some(StepKind::Admit), |_| {}).await;
    }
    let for_machine = |row: &mut TaskRow| row.waiting = Some(wait(WaitReason::MachineBusy, "m is busy"));
    rows.task("elsewhere", Some(StepKind::Admit), for_machine).await;
    let is_open = |row: &mut TaskRow| row.waiting = Some(wait(WaitReason::DependencyOpen, "waits for #1"));
    rows.task("open", Some(StepKind::Admit), is_open).await;
    rows.task("held", Some(StepKind::Admit), |row| row.held = true).await;
    rows.task("queued", None, |_| {}).await;
    let mut conn = rows.world.store().read().await.unwrap();
    let mut asked = async |agent: &str| {
        let (agent, project) = (AgentId::from(agent), ProjectId::from("p"));
        waiting::asked_by_others(&rows.world, &mut conn, (&agent, &project), &"mine".into()).await.unwrap()
    };
    assert_eq!(asked("a").await, (1, 1));
    assert_eq!(asked("reviewer").await, (0, 1), "an agent of another role is asked for by nobody");
    drop(conn);
    rows.stop().await;
}

/// A run of a task that began now and has cost something.
async fn paid(rows: &Rows, task: &str) {
    let id = format!("run-of-{task}").as_str().into();
    let role = ExecutionRole::Coder;
    let mut run = Execution::begun(id, task.into(), "a".into(), role, rows.world.now());
    run.usage.cost_micro_usd = Some(5);
    (run.status, run.finished_at) = (ExecutionStatus::Finished, Some(rows.world.now()));
    let row = ExecutionRow {
        execution: run,
        corrections: Vec::new(),
        spends: None,
        after_transition: 0,
        carry: None,
        goes_on: false,
        effort: None,
    };
    let mut tx = rows.world.store().write().await.unwrap();
    tx.executions_mut().insert(&row).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn engine_for_one_command_starts_nothing_once_the_limit_of_the_day_is_reached() {
    let rows = Rows::new(Work::Named).await;
    rows.change_project(|row| row.settings = json!({ "cost_limits": { "day_micro_usd": 5 } })).await;
    rows.task("t", Some(StepKind::Admit), |_| {}).await;
    paid(&rows, "t").await;
    let s = rows.at_its_step("t").await;
    let mut tx = rows.world.store().write().await.unwrap();
    let agent = tx.agents().get(&"a".into()).await.unwrap().unwrap();
    let mut effects = Vec::new();
    let end = take_place_again(&rows.world, &mut tx, &s, &agent, &mut effects).await.unwrap();
    let End::Wait(waiting) = end else { panic!("it has a place") };
    assert_eq!(waiting.reason, WaitReason::CostLimit);
    assert!(matches!(effects[..], [Effect::WakeAt(_)]), "it is asked again tomorrow");
    assert_eq!(tx.slots().of(&"t".into()).await.unwrap(), None);
    drop(tx);
    rows.stop().await;
}

#[cfg(feature = "race")]
#[tokio::test]
async fn race_begins_while_the_agent_of_its_task_is_busy() {
    let rows = Rows::new(Work::Nothing).await;
    use forge_model::inner_loop;
    let races = json!({ "competitive": { "enabled": true } });
    rows.change_project(|row| {
        row.settings = json!({ "auto_start": true, "max_concurrent": 3, inner_loop::KEY: races });
    })
    .await;
    rows.task("at-work", Some(StepKind::Admit), busy).await;
    let own = inner_loop::TaskRace { enabled: true, ..Default::default() };
    rows.task("raced", None, |row| row.race = Some(own)).await;
    let mut tx = rows.world.store().write().await.unwrap();
    let slot = Slot { agent_id: "a".into(), machine_id: None };
    tx.slots_mut().take(&"at-work".into(), &"p".into(), &slot, rows.world.now()).await.unwrap();
    tx.commit().await.unwrap();
    let round = read_round(&rows.world, Whose::Everyones, Tries::First).await.unwrap();
    let [(it, waiter)] = &round.read.asking[..] else { panic!("{} ask", round.read.asking.len()) };
    let wants = &crate::core::fleet::policy::Wants::Race;
    assert_eq!((&waiter.wants, &round.decided.decisions[0]), (wants, &Decision::Start(None)));
    let told = preview::placement(&rows.world, &"raced".into()).await.unwrap();
    assert_eq!(told.verdict, PlacementVerdict::Starts, "{told:?}");
    assert!(told.reason.contains("its race would begin"), "{told:?}");
    let chosen = Chosen { machine: None, oldest: Oldest::default() };
    assert_eq!(start_by_itself(&rows.world, it, &chosen).await.unwrap(), Meant::Free);
    let mut conn = rows.world.store().read().await.unwrap();
    let next = conn.steps().next(&"raced".into()).await.unwrap().map(|step| step.kind);
    assert_eq!(next, Some(StepKind::Race));
    assert_eq!(conn.slots().of(&"raced".into()).await.unwrap(), None);
    drop(conn);
    rows.stop().await;
}

#[tokio::test]
async fn preview_returns_the_decision_of_the_pass() {
    let rows = Rows::new(Work::Nothing).await;
    rows.change_project(|row| {
        let limits = json!({ "task_micro_usd": 5 });
        row.settings = json!({
            "auto_start": true, "max_concurrent": 3, "cost_limits": limits,
        });
    })
    .await;
    rows.task("free", None, |_| {}).await;
    rows.task("checked", Some(StepKind::Capture), |row| row.status = "review".to_owned()).await;
    rows.task("locked", Some(StepKind::Capture), |row| {
        row.status = "review".to_owned();
        row.waiting = Some(wait(WaitReason::WorkspaceLocked, "ada changes its files"));
    })
    .await;
    rows.task("gone", None, |row| row.status = "cancelled".to_owned()).await;
    rows.task("after", None, |_| {}).await;
    rows.task("paid", None, |_| {}).await;
    paid(&rows, "paid").await;
    let mut tx = rows.world.store().write().await.unwrap();
    tx.dependencies_mut().insert(&"after".into(), &"gone".into()).await.unwrap();
    tx.commit().await.unwrap();
    let (starts, waits, rests) = (PlacementVerdict::Starts, PlacementVerdict::Waits, PlacementVerdict::Rests);
    for (id, verdict, reason) in [
        ("free", starts, "would run on this computer"),
        ("checked", rests, "Forge is working on it"),
        ("locked", waits, "ada changes its files"),
        ("gone", rests, "no agent starts on a task in"),
        ("after", rests, "which it depends on, was cancelled"),
        ("paid", rests, "its runs have reached the task's limit of"),
    ] {
        let told = preview::placement(&rows.world, &id.into()).await.unwrap();
        assert_eq!(told.verdict, verdict, "{id}: {told:?}");
        assert!(told.reason.contains(reason), "{id}: {told:?}");
    }
    rows.stop().await;
}

#[tokio::test]
async fn what_a_task_waits_for_is_written_when_its_reason_or_its_time_changes() {
    let rows = Rows::new(Work::Nothing).await;
    rows.task("t", None, busy).await;
    let mut conn = rows.world.store().read().await.unwrap();
    let row = conn.tasks().as_queued(&"t".into()).await.unwrap().unwrap();
    drop(conn);
    let says = |waiting: Option<Waiting>| Explanation::of(&row, waiting.as_ref()).is_some();
    assert!(!says(Some(wait(WaitReason::AgentBusy, "other words"))));
    assert!(says(Some(wait(WaitReason::ProjectBusy, ""))) && says(None));
    assert!(says(Some(Waiting { until: Some(Timestamp(5)), ..wait(WaitReason::AgentBusy, "") })));
    // A task that changed since is left alone.
    let said = |version| Explanation { task: "t".into(), version, waiting: None };
    say(&rows.world, &[said(row.version + 1)]).await.unwrap();
    assert!(rows.row("t").await.waiting.is_some());
    say(&rows.world, &[said(row.version)]).await.unwrap();
    assert!(rows.row("t").await.waiting.is_none());
    rows.stop().await;
}

#[tokio::test]
async fn move_that_starts_no_agent_asks_for_no_place() {
    let rows = Rows::new(Work::Nothing).await;
    let dispatch = |applies_to: &str| {
        let on_enter = json!([{ "action": "dispatch_role_agent", "applies_to": applies_to }]);
        move |row: &mut forge_store::table::projects::ProjectRow| {
            let mut workflow: Value = serde_json::from_str(&row.workflow).unwrap();
            let states = workflow["states"].as_array_mut().unwrap();
            let work = states.iter_mut().find(|state| state["name"] == "in_progress").unwrap();
            work["hooks"]["on_enter"] = on_enter;
            row.workflow = workflow.to_string();
        }
    };
    for (applies_to, asks) in [("agent_only", false), ("user_only", true), ("all", true)] {
        rows.change_project(dispatch(applies_to)).await;
        rows.task(applies_to, None, |_| {}).await;
        let mut tx = rows.world.store().write().await.unwrap();
        let mut task = tx.tasks().get(&applies_to.into()).await.unwrap().unwrap();
        let context = contexts::context_of(&rows.world, &mut tx, &task).await.unwrap();
        let mv = Move::by("in_progress", "move", Actor::User { via: forge_model::actor::Via::Cli });
        crate::core::transition::apply(&rows.world, &mut tx, &context, &mut task, mv).await.unwrap();
        let open = tx.steps().open(&task.id).await.unwrap();
        let has = |kind| open.iter().any(|step| step.kind == kind);
        assert_eq!((has(StepKind::Admit), has(StepKind::PrepareWorkspace)), (asks, true), "{applies_to}");
    }
    rows.stop().await;
}

#[test]
fn passes_that_fail_are_repeated_ever_later_and_by_one_timer() {
    let mut pass = Pass::default();
    let mut after = |is_well: bool, now: i64| pass.retry_after(is_well, Timestamp(now)).map(|at| at.0 - now);
    assert_eq!(after(false, 0), Some(60_000));
    // Whatever else asks for passes meanwhile.
    assert_eq!((after(false, 1), after(false, 59_999)), (None, None));
    assert_eq!(after(false, 60_000), Some(120_000));
    assert_eq!((after(false, 180_000), after(false, 420_000)), (Some(240_000), Some(480_000)));
    assert_eq!((after(false, 900_000), after(false, 1_500_000)), (Some(600_000), Some(600_000)));
    assert_eq!((after(true, 1_500_001), after(false, 1_500_002)), (None, Some(60_000)));
}
