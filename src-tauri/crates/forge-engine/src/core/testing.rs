//! What tests of decisions are made of: a project, tasks, moves and races as rows that no database has, and steps as
//! lines of text.

use forge_model::actor::Actor;
use forge_model::ids::{AgentId, ProjectId, RaceId, TaskId, TransitionId};
use forge_model::inner_loop::Strategy;
use forge_model::project::{Project, WorkMode};
use forge_model::race::{Race, RaceEntry, RaceStatus};
use forge_model::time::Timestamp;
use forge_model::workflow::default_workflow;
use forge_store::table::{projects::ProjectRow, steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde_json::{Value, json};

use crate::core::{context::ProjectContext, moves::Move, world::step::name_of};

/// The time of everything.
pub(crate) const NOW: Timestamp = Timestamp(1_000_000);

/// A project with the default workflow.
pub(crate) fn project_row(settings: Value, now: Timestamp) -> ProjectRow {
    ProjectRow {
        project: Project {
            id: ProjectId::from("p"),
            name: "p".into(),
            repo_path: "/nowhere".into(),
            default_branch: "main".into(),
            work_mode: WorkMode::DirectCommit,
            paused: false,
            version: 1,
            created_at: now,
            updated_at: now,
        },
        settings,
        workflow: serde_json::to_string(default_workflow()).unwrap(),
        workflow_origin: None,
        repository_config: None,
    }
}

/// The same, read.
pub(crate) fn project(settings: Value) -> ProjectContext {
    ProjectContext::read(&project_row(settings, NOW)).unwrap()
}

/// A task in a state, as if it had been moved there.
pub(crate) fn task_row(id: TaskId, number: u32, state: &str, now: Timestamp) -> TaskRow {
    TaskRow { position: 1.0, ..TaskRow::new(id, ProjectId::from("p"), number, "t".into(), state.into(), now) }
}

/// A move as it is recorded.
pub(crate) fn transition(task: &TaskRow, mv: &Move) -> TransitionRow {
    TransitionRow {
        seq: 1,
        id: TransitionId::from("m"),
        task_id: task.id.clone(),
        from: task.status.clone(),
        to: mv.to.clone(),
        trigger: mv.trigger.clone(),
        actor: mv.actor.clone(),
        audience: mv.audience,
        reason: mv.reason.clone(),
        rejection: mv.rejection,
        cascade_depth: mv.depth,
        at: NOW,
    }
}

/// A person's move by the board.
pub(crate) fn by_person(to: &str) -> Move {
    Move::by(to, "move", Actor::User { via: forge_model::actor::Via::Board })
}

/// Steps as lines: the phase, the name, and for one that is over, its reason.
pub(crate) fn lines(steps: &[StepRow]) -> String {
    let line = |step: &StepRow| {
        let over = step.reason.as_ref().map(|reason| format!(" ({reason})"));
        format!("{} {}{}", step.phase, name_of(step), over.unwrap_or_default())
    };
    steps.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A race that runs, with an entry for each name.
pub(crate) fn race(names: &[&str]) -> Race {
    let entry = |name: &&str| {
        let agent_id = AgentId::from("a");
        let strategy =
            Strategy { name: (*name).to_owned(), agent_id, model: None, effort: None, prompt_suffix: None };
        RaceEntry::queued(strategy, TaskId::from((*name).to_owned()))
    };
    Race {
        id: RaceId::from("r"),
        task_id: TaskId::from("t"),
        number: 1,
        status: RaceStatus::Running,
        base_commit: "base".to_owned(),
        reviewer_enabled: true,
        max_parallel: 2,
        timeout_sec: 60,
        human_crown: false,
        name_decides: true,
        keep_losers_days: 1,
        entries: names.iter().map(entry).collect(),
        elected: None,
        decided_by: None,
        trail: Vec::new(),
        winner: None,
        crowned_by: None,
        error: None,
        started_at: NOW,
        finished_at: None,
        losers_until: None,
    }
}

/// Settings without anything of their own.
pub(crate) fn plain() -> Value {
    json!({})
}
