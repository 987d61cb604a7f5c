//! Who waits: the tasks that ask for a place, those that are to be woken, and those of which nothing is to be said.

use std::{collections::HashMap, sync::Arc};

use forge_model::ids::{AgentId, ProjectId, TaskId};
use forge_model::task::WaitReason;
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, Audience, State};
use forge_store::ReadConnection;
use forge_store::table::tasks::QueuedTask;

use super::situation::Asking;
use crate::{
    World,
    core::{context::ProjectContext, contexts, workers},
    error::Result,
};

/// Whose tasks are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// All, and those that are to be started by themselves.
    Everyones,
    /// Those alone that an engine for one command works on.
    Ours,
}

/// The tasks that wait.
#[derive(Default)]
pub(crate) struct Waiters {
    /// Those that ask for a place.
    pub asking: Vec<Asking>,
    /// Those that wait with a next step that gives no place: their worker looks at them itself.
    pub to_wake: Vec<QueuedTask>,
    /// Those that nothing starts by itself, and that say what they wait for all the same.
    pub to_clear: Vec<QueuedTask>,
}

/// Reads who waits. A project that cannot be read is left out with its tasks, which the log tells.
pub(crate) async fn who_waits(world: &World, conn: &mut ReadConnection, whose: Whose) -> Result<Waiters> {
    let mut all = Waiters::default();
    let mut contexts = HashMap::new();
    // An engine for one command works on a few tasks, and on what is of them.
    let ours = match whose {
        Whose::Ours => Some(workers::named_with_theirs(world, conn).await?),
        Whose::Everyones => None,
    };
    for row in conn.tasks().asking().await? {
        if ours.as_ref().is_some_and(|ours| !ours.contains(&row.id)) {
            continue;
        }
        let Some(context) = readable(world, conn, &mut contexts, &row.project_id).await else { continue };
        let is_initial = context.workflow.initial().is_some_and(|initial| initial.name == row.status);
        if is_initial && !row.is_admitted_later && whose == Whose::Everyones {
            // What is under way of a task that was not started yet is no start of it.
            continue;
        }
        match sort(row, &context) {
            Some(Sorted::Asks(it)) => all.asking.push(it),
            Some(Sorted::Wakes(row)) => all.to_wake.push(row),
            None => {}
        }
    }
    if whose == Whose::Everyones {
        for row in conn.projects().list().await? {
            let id = &row.project.id;
            let Some(context) = readable(world, conn, &mut contexts, id).await else { continue };
            let Some(initial) = context.workflow.initial() else { continue };
            let role = context.work_role().filter(|_| starts_by_itself(&context));
            for row in conn.tasks().queued(id, &initial.name, role).await? {
                let it = Asking::queued(world, row, &context);
                match it.agent() {
                    _ if it.row.is_admitted_later => {}
                    Some(_) if role.is_some() => all.asking.push(it),
                    _ => all.to_clear.push(it.row),
                }
            }
        }
    }
    let is_open = |it: &Asking| {
        let waiting = it.row.waiting.as_ref().map(|waiting| waiting.reason);
        !it.is_begun || waiting == Some(WaitReason::DependencyOpen)
    };
    let ids: Vec<TaskId> = all.asking.iter().filter(|it| is_open(it)).map(|it| it.row.id.clone()).collect();
    let mut needs = conn.dependencies().of_tasks(&ids).await?;
    for it in &mut all.asking {
        it.needs = needs.remove(&it.row.id).unwrap_or_default();
    }
    Ok(all)
}

/// Whether tasks of a project are started where no person does.
pub(crate) fn starts_by_itself(context: &ProjectContext) -> bool {
    let target = context.workflow.initial().and_then(|initial| context.workflow.claim_target(&initial.name));
    // Where only a person's move starts the agent, nothing would begin.
    context.settings.auto_start && target.is_some_and(|target| target.dispatches_for(Audience::AgentOnly))
}

/// What a task that is under way is to a pass.
enum Sorted {
    Asks(Asking),
    Wakes(QueuedTask),
}

fn sort(row: QueuedTask, context: &Arc<ProjectContext>) -> Option<Sorted> {
    let waits = row.waiting.as_ref().is_some_and(|waiting| waits_for_place(waiting.reason));
    if asks(&row, context) {
        match Asking::begun(row.clone(), context) {
            Ok(it) if it.agent().is_some() => return Some(Sorted::Asks(it)),
            // Its step tells it.
            Ok(_) => {}
            Err(error) => tracing::error!(task = %row.id, %error, "failed to see who works on a task"),
        }
    }
    waits.then_some(Sorted::Wakes(row))
}

async fn readable(
    world: &World,
    conn: &mut ReadConnection,
    known: &mut HashMap<ProjectId, Option<Arc<ProjectContext>>>,
    id: &ProjectId,
) -> Option<Arc<ProjectContext>> {
    if let Some(known) = known.get(id) {
        return known.clone();
    }
    let read = contexts::context(world, conn, id).await;
    let read = read.inspect_err(|error| tracing::error!(project = %id, %error, "failed to read a project"));
    known.entry(id.clone()).or_insert(read.ok()).clone()
}

/// How many places of an agent, and of a project, other tasks ask for that have none: what is free is meant for them. A
/// task that could not use one now asks for none.
pub(crate) async fn asked_by_others(
    world: &World,
    conn: &mut ReadConnection,
    (agent, project): (&AgentId, &ProjectId),
    except: &TaskId,
) -> Result<(u32, u32)> {
    let (mut of_agent, mut of_project) = (0, 0);
    let mut contexts = HashMap::new();
    for row in conn.tasks().asking().await? {
        let is_kept_off = row.held || row.waiting.as_ref().is_some_and(|waiting| keeps_off(waiting.reason));
        if !row.is_admitted_later || is_kept_off || row.id == *except {
            continue;
        }
        let Some(context) = readable(world, conn, &mut contexts, &row.project_id).await else { continue };
        if context.project.paused || is_passed_gate(&row, &context) {
            continue;
        }
        let it = Asking::begun(row, &context)?;
        if let Some(asked) = it.agent() {
            of_agent += u32::from(asked == agent);
            of_project += u32::from(it.row.project_id == *project);
        }
    }
    Ok((of_agent, of_project))
}

/// Whether a task whose steps are under way asks for a place now: its next step gives one, and it waits for nothing else.
/// One whose worker is about to look is one of them. A gate whose work passed before asks no auditor again.
pub(crate) fn asks(row: &QueuedTask, context: &ProjectContext) -> bool {
    row.waiting.as_ref().is_none_or(|waiting| waits_for_place(waiting.reason))
        && next_step_admits(row)
        && !is_passed_gate(row, context)
}

fn is_passed_gate(row: &QueuedTask, context: &ProjectContext) -> bool {
    row.is_passed && context.workflow.state(&row.status).is_some_and(State::audits)
}

/// Whether a task that waits for this could not use a place that is free.
const fn keeps_off(reason: WaitReason) -> bool {
    use WaitReason::{AgentBusy, ProjectBusy};
    waits_for_place(reason) && !matches!(reason, AgentBusy | ProjectBusy)
}

fn next_step_admits(row: &QueuedTask) -> bool {
    row.next_step.as_ref().is_some_and(|(kind, action)| match action.as_deref() {
        Some(action) => action == Action::DispatchRoleAgent.as_str(),
        None if *kind == StepKind::PrepareWorkspace.as_str() => row.is_for_agent,
        None => *kind == StepKind::Admit.as_str(),
    })
}

/// Whether it is a machine that a task waits for.
pub(crate) const fn is_for_machine(reason: WaitReason) -> bool {
    matches!(
        reason,
        WaitReason::NoMachine
            | WaitReason::MachineBusy
            | WaitReason::MachineQuota
            | WaitReason::MachineUnreachable
    )
}

/// Whether it is a place, or what goes with one, that a task waits for.
pub(crate) const fn waits_for_place(reason: WaitReason) -> bool {
    is_for_machine(reason)
        || matches!(
            reason,
            WaitReason::AgentBusy
                | WaitReason::ProjectBusy
                | WaitReason::Paused
                | WaitReason::Held
                | WaitReason::StartRequired
                | WaitReason::RateLimited
                | WaitReason::CostLimit
                | WaitReason::DependencyOpen
        )
}

#[cfg(test)]
mod tests {
    use forge_model::time::Timestamp;

    use super::*;
    use crate::core::{fleet::policy::wait, testing};

    fn row(next: &str, action: Option<&str>, waits: Option<WaitReason>) -> QueuedTask {
        QueuedTask {
            id: "t".into(),
            project_id: "p".into(),
            number: 1,
            race_place: None,
            status: "in_progress".to_owned(),
            version: 1,
            priority: 0,
            held: false,
            machines: None,
            waiting: waits.map(|reason| wait(reason, "")),
            is_entry: false,
            parent_id: None,
            created_at: Timestamp(0),
            status_since: Timestamp(0),
            agents: vec![("coder".to_owned(), AgentId::from("a"))],
            workspace: None,
            next_step: Some((next.to_owned(), action.map(str::to_owned))),
            is_for_agent: true,
            is_passed: false,
            race: None,
            last_race: None,
            is_admitted_later: true,
            is_from_public: false,
        }
    }

    #[test]
    fn task_asks_for_a_place_when_its_next_step_gives_one_and_is_woken_otherwise() {
        let context = Arc::new(testing::project(testing::plain()));
        let what = |row: QueuedTask| match sort(row, &context) {
            Some(Sorted::Asks(_)) => "asks",
            Some(Sorted::Wakes(_)) => "wakes",
            None => "nothing",
        };
        let busy = Some(WaitReason::AgentBusy);
        assert_eq!(what(row("admit", None, busy)), "asks");
        assert_eq!(what(row("admit", None, None)), "asks", "its worker is about to look");
        assert_eq!(what(row("prepare_workspace", None, Some(WaitReason::MachineBusy))), "asks");
        assert_eq!(what(row("action", Some("dispatch_role_agent"), busy)), "asks");
        // A parent of a race or of ordered subtasks, and a review that is still in its checks.
        assert_eq!(what(row("race", None, busy)), "wakes");
        assert_eq!(what(row("advance", None, Some(WaitReason::DependencyOpen))), "wakes");
        assert_eq!(what(row("action", Some("run_ci_steps"), Some(WaitReason::MachineBusy))), "wakes");
        assert_eq!(what(row("action", Some("run_ci_steps"), None)), "nothing");
        assert_eq!(what(row("prepare_workspace", None, Some(WaitReason::MachineDiskFull))), "nothing");
        // The winner of a race was worked on already: its worktree is made for nobody.
        let won = QueuedTask {
            is_for_agent: false,
            ..row("prepare_workspace", None, Some(WaitReason::MachineBusy))
        };
        assert_eq!(what(won), "wakes");
        // Its work passed before, and only a conflict was mended since.
        let passed = |next, action| {
            let agents = vec![("reviewer".to_owned(), AgentId::from("a"))];
            let status = "review".to_owned();
            QueuedTask { is_passed: true, agents, status, ..row(next, action, None) }
        };
        assert_eq!(what(passed("admit", None)), "nothing");
        assert_eq!(what(passed("action", Some("dispatch_role_agent"))), "nothing");
        let fresh = QueuedTask { is_passed: false, ..passed("admit", None) };
        assert_eq!(what(fresh), "asks");
        // A person works on it.
        let mine = QueuedTask {
            agents: Vec::new(),
            ..row("prepare_workspace", None, Some(WaitReason::MachineBusy))
        };
        assert_eq!(what(mine), "wakes");
    }
}
