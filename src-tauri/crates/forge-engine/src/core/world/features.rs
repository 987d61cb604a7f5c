//! The interface between the core and the features above it: what runs each step and asks each guard, and what
//! features contribute at the moments of a task. The core names no feature: `registry.rs` collects them, and an engine
//! is made with them.

#![expect(
    clippy::type_complexity,
    reason = "the type of a moment is written once, where its arguments are explained"
)]

use std::collections::HashSet;

use forge_git::Repo;
use forge_model::actor::Actor;
use forge_model::execution::{Execution, ExecutionError};
use forge_model::fix::{FixDraft, FixProposal};
use forge_model::ids::{ExecutionId, MachineId, ReviewId, TaskId};
use forge_model::offer::Verb;
use forge_model::postmortem::PostmortemCause;
use forge_model::review::{Review, ReviewStep};
use forge_model::task::Waiting;
use forge_model::validate::ValidateGate;
use forge_model::workflow::{Action, State};
use forge_model::workspace::Workspace;
use forge_store::table::{
    executions::ExecutionRow,
    steps::StepRow,
    tasks::{QueuedTask, TaskRow},
    transitions::TransitionRow,
};
use forge_store::{ReadConnection, Tx};
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{
        context::ProjectContext,
        going::{Going, GoingWorktrees},
        location::keeper_id::KeeperId,
        moves::Move,
        world::{
            cx::Cx,
            step::{Effect, End, Stepping},
        },
    },
    error::Result,
};

/// Reads and writes the database alone, in the transaction of its task's instant steps.
pub(crate) type Instant =
    for<'a> fn(&'a World, &'a mut Tx, &'a mut Stepping, &'a mut Vec<Effect>) -> BoxFuture<'a, Result<End>>;

/// Acts on processes and git. It may be run again after a kill, and looks first at what is there.
pub(crate) type Acting =
    for<'a> fn(&'a World, &'a Stepping, &'a CancellationToken) -> BoxFuture<'a, Result<End>>;

/// Completes the row of a step that is about to act.
pub(crate) type Begin = for<'a> fn(&'a World, &'a mut Tx, &'a mut StepRow) -> BoxFuture<'a, Result<()>>;

/// How a step is run.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    Instant(Instant),
    Acting(Acting),
}

/// A step as the runner needs to know it.
#[derive(Clone, Copy)]
pub(crate) struct StepSpec {
    pub run: Run,
    /// What its row is completed by, in the transaction that marks it running.
    pub begin: Option<Begin>,
}

impl StepSpec {
    pub(crate) const fn instant(run: Instant) -> Self {
        Self { run: Run::Instant(run), begin: None }
    }

    pub(crate) const fn acting(run: Acting) -> Self {
        Self { run: Run::Acting(run), begin: None }
    }

    pub(crate) const fn begun_by(self, begin: Begin) -> Self {
        Self { run: self.run, begin: Some(begin) }
    }
}

/// What keeps agents from starting on the tasks of a project.
#[derive(Debug, Clone)]
pub(crate) struct Obstacle {
    pub waiting: Waiting,
    /// Tasks that it does not keep: their start tells of a limit of their own that is reached.
    pub spares: HashSet<TaskId>,
}

/// The steps that there are.
pub(crate) struct Steps {
    /// The entry of a step.
    pub of_step: fn(&StepRow) -> StepSpec,
    /// The entry of an action of the workflow.
    pub of_action: fn(Action) -> StepSpec,
}

impl Steps {
    /// The code of an action that only reads and writes the database; none of one that acts.
    pub(crate) fn instant_of(&self, action: Action) -> Option<Instant> {
        match (self.of_action)(action).run {
            Run::Instant(run) => Some(run),
            Run::Acting(_) => None,
        }
    }
}

/// Why a guard does not let a task go, in a sentence, and what it found.
pub(crate) type Objection = (String, Value);

/// Asks whether a task may leave its state.
pub(crate) type Guard =
    for<'a> fn(&'a World, &'a ProjectContext, &'a TaskRow) -> BoxFuture<'a, Result<Option<Objection>>>;

/// An entry into a state, while its steps are collected: a task that moves still has its old state.
#[derive(Clone, Copy)]
pub(crate) struct Entering<'a> {
    pub context: &'a ProjectContext,
    pub task: &'a TaskRow,
    /// The state that is left; empty when the task's own state is entered once more.
    pub left: &'a str,
    pub state: &'a State,
    pub row: &'a TransitionRow,
}

/// A move that is written.
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub context: &'a ProjectContext,
    pub task: &'a TaskRow,
    pub state: &'a State,
    pub row: &'a TransitionRow,
    /// Whether a feature's own steps are the entry, see [`Moments::takes_over`].
    pub taken_over: bool,
}

/// An action that a person took.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub verb: Verb,
    pub actor: &'a Actor,
    pub text: Option<&'a str>,
}

/// What features add at the moments of a task: a list for each moment, asked in the order of the features. A feature
/// adds to it by the function `contribute` of its module.
#[derive(Default)]
pub(crate) struct Moments {
    /// Before a move is written, which may change it.
    pub before_move:
        Vec<for<'a> fn(&'a mut Tx, &'a ProjectContext, &'a TaskRow, Move) -> BoxFuture<'a, Result<Move>>>,
    /// When a task is about to leave its state.
    pub on_leave: Vec<for<'a> fn(&'a World, &'a mut Tx, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// When open steps of a task are about to be skipped.
    pub on_skip: Vec<for<'a> fn(&'a mut Cx<'a>, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// The steps of an entry instead of those by which the state's agent works. The first answer counts.
    pub takes_over: Vec<for<'a> fn(&'a mut Tx, Entering<'a>) -> BoxFuture<'a, Result<Option<Vec<StepRow>>>>>,
    /// Whether a task that enters a state is raced for there, so that no agent of its own starts.
    pub races: Vec<fn(&ProjectContext, &QueuedTask, &State) -> bool>,
    /// Adds steps to an entry that nobody took over.
    pub adds_steps:
        Vec<for<'a> fn(&'a mut Tx, Entering<'a>, &'a mut Vec<StepRow>) -> BoxFuture<'a, Result<()>>>,
    /// After a move is written, in its transaction.
    pub on_moved: Vec<for<'a> fn(&'a World, &'a mut Tx, Moved<'a>) -> BoxFuture<'a, Result<()>>>,
    /// When no step of a task is left.
    pub on_idle: Vec<for<'a> fn(&'a World, &'a mut Tx, &'a TaskId) -> BoxFuture<'a, Result<Option<Effect>>>>,
    /// What keeps agents from starting on the tasks of a project.
    pub obstacle: Vec<
        for<'a> fn(
            &'a World,
            &'a mut ReadConnection,
            &'a ProjectContext,
        ) -> BoxFuture<'a, Result<Option<Obstacle>>>,
    >,
    /// What a task is told in place of the start of its agent: a limit of its own is reached.
    pub refuses_start: Vec<
        for<'a> fn(
            &'a World,
            &'a mut ReadConnection,
            &'a ProjectContext,
            &'a TaskRow,
        ) -> BoxFuture<'a, Result<Option<String>>>,
    >,
    /// After the contact with a machine changed, whatever came of telling of it.
    pub after_contact: Vec<fn(&World)>,
    /// When tasks wait for a machine that cannot be reached: has somebody wait for it, who wakes them.
    pub on_machine_awaited: Vec<fn(&World, &MachineId)>,
    /// Whether something of the feature is at work for a task in this process.
    pub attends: Vec<fn(&World, &TaskId) -> bool>,
    /// Ends what is recorded as begun for a task whose worker panicked before it began.
    pub on_panic:
        Vec<for<'a> fn(&'a World, &'a mut Tx, &'a TaskRow, &'a ExecutionError) -> BoxFuture<'a, Result<()>>>,
    /// When a project's repository is opened.
    pub on_repository: Vec<for<'a> fn(&'a World, &'a ProjectContext, &'a Repo) -> BoxFuture<'a, Result<()>>>,
    /// Before programs are started for a project: learns the secrets that they must not print.
    pub learn_secrets: Vec<for<'a> fn(&'a World, &'a ProjectContext) -> BoxFuture<'a, ()>>,
    /// Ends what is at work for a task in this process, and waits until nothing of it is left. Whether there was something.
    pub stop: Vec<for<'a> fn(&'a World, &'a TaskId) -> BoxFuture<'a, bool>>,
    /// After the work of a task changed.
    pub on_work_changed: Vec<for<'a> fn(&'a World, &'a TaskId) -> BoxFuture<'a, ()>>,
    /// When a run is about to begin.
    pub on_run: Vec<
        for<'a> fn(
            &'a World,
            &'a mut Tx,
            &'a ProjectContext,
            &'a TaskRow,
            &'a ExecutionRow,
        ) -> BoxFuture<'a, Result<()>>,
    >,
    /// When a review failed.
    pub on_review_failed:
        Vec<for<'a> fn(&'a World, &'a mut Tx, &'a TaskRow, &'a Review) -> BoxFuture<'a, Result<()>>>,
    /// When a review waits for a person, in the transaction that writes so.
    pub on_review_waits: Vec<for<'a> fn(&'a World, &'a mut Tx, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// Before what runs in the worktrees of tasks for a person is ended: refuses while there is something, and names it.
    pub before_end: Vec<for<'a> fn(&'a World, &'a [TaskId]) -> BoxFuture<'a, Result<()>>>,
    /// Before a worktree is removed, once nothing more is started in it.
    pub on_worktree_goes: Vec<for<'a> fn(&'a World, &'a Workspace) -> BoxFuture<'a, Result<()>>>,
    /// When nothing more is tried by itself for a task, for this cause and after this review.
    pub on_given_up: Vec<
        for<'a> fn(
            &'a World,
            &'a mut Tx,
            &'a TaskRow,
            PostmortemCause,
            Option<&'a ReviewId>,
        ) -> BoxFuture<'a, Result<()>>,
    >,
    /// Takes up a fix that a person wants applied; none when it is not the feature's to apply.
    pub takes_fix: Vec<
        for<'a> fn(&'a World, &'a Actor, &'a TaskId, &'a str) -> BoxFuture<'a, Result<Option<FixProposal>>>,
    >,
    /// Exports what was recorded and is not exported yet.
    pub export: Vec<for<'a> fn(&'a World) -> BoxFuture<'a, Result<()>>>,
    /// What an action that a person took means for the feature, before the task goes on.
    pub on_action: Vec<for<'a> fn(&'a mut Cx<'a>, &'a mut TaskRow, Asked<'a>) -> BoxFuture<'a, Result<()>>>,
    /// After an action that a person took, in its transaction.
    pub on_acted: Vec<for<'a> fn(&'a mut Cx<'a>, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// When the work of a task is set aside, to be begun anew.
    pub on_work_set_aside: Vec<for<'a> fn(&'a mut Cx<'a>, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// Before a task is deleted.
    pub on_delete: Vec<for<'a> fn(&'a World, &'a ProjectContext, &'a TaskRow) -> BoxFuture<'a, Result<()>>>,
    /// Whether a process with this marker is the feature's own, which no later engine goes on with.
    pub owns_process: Vec<fn(&str) -> bool>,
    /// At start: settles what an earlier process left, before anything goes on.
    pub recover: Vec<for<'a> fn(&'a World) -> BoxFuture<'a, Result<()>>>,
    /// At start: goes on with what is pending, and watches what is to come.
    pub resume: Vec<for<'a> fn(&'a World) -> BoxFuture<'a, Result<()>>>,
    /// When a machine, or the container of a task on one, can be reached again, or cannot any more.
    pub on_contact: Vec<for<'a> fn(&'a World, &'a KeeperId, bool) -> BoxFuture<'a, Result<()>>>,
    /// When places became free: asks those again that stand in the feature's own lines.
    pub wake: Vec<fn(&World)>,
}

/// How checks that failed are mended by drafts.
pub(crate) struct Mending {
    /// The fix that stands applied for a review.
    pub applied_for: for<'a> fn(&'a World, &'a Review) -> BoxFuture<'a, Result<Option<FixProposal>>>,
    /// Drafts and applies a fix for a failed check, where that takes the place of the retry.
    pub in_place: for<'a> fn(
        &'a World,
        &'a Stepping,
        &'a mut Review,
        &'a Workspace,
        &'a ReviewStep,
        &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Option<FixProposal>>>,
    /// Writes what the check said with an applied fix, and takes it back when it did not help.
    pub settle: for<'a> fn(
        &'a World,
        &'a Stepping,
        &'a Workspace,
        FixProposal,
        &'a ReviewStep,
    ) -> BoxFuture<'a, Result<FixProposal>>,
    /// What is to be drafted for a failed check.
    pub plan: for<'a> fn(
        &'a World,
        &'a Stepping,
        &'a Review,
        &'a Workspace,
        &'a ReviewStep,
    ) -> BoxFuture<'a, Option<FixDraft>>,
    /// Drafts what was planned and written down.
    pub start: fn(&World, FixDraft),
    /// Applies what an auditor's run asked for, where the work is sent back. False when cancelled first.
    pub apply_requested_fix: for<'a> fn(
        &'a World,
        &'a Stepping,
        (&'a Workspace, &'a Execution),
        bool,
        &'a CancellationToken,
    ) -> BoxFuture<'a, Result<bool>>,
}

/// Makes the checks of a review's `validate` gate, as the step at an index; none when they were stopped.
pub(crate) type ValidateRun = for<'a> fn(
    &'a World,
    &'a Stepping,
    &'a Review,
    &'a Workspace,
    &'a ValidateGate,
    usize,
    &'a CancellationToken,
) -> BoxFuture<'a, Result<Option<ReviewStep>>>;

/// All features, as the core knows them. They are an argument of the engine, so that none runs without them.
pub(crate) struct Features {
    pub steps: Steps,
    /// What an action asks as a guard; none for one that is no guard.
    pub guard: fn(Action) -> Option<Guard>,
    /// Runs the pending steps of a task.
    pub work: for<'a> fn(&'a World, &'a TaskId, &'a CancellationToken) -> BoxFuture<'a, ()>,
    /// Looks after a task whose worker ended.
    pub after_work: for<'a> fn(&'a World, &'a TaskId) -> BoxFuture<'a, ()>,
    /// Starts the process of a recorded run.
    pub launch: fn(&World, &TaskId, ExecutionId),
    /// How failed checks are mended, where they are.
    pub mending: Option<Mending>,
    /// How the `validate` gate is asked, where there is one.
    pub validate: Option<ValidateRun>,
    pub moments: Moments,
}

/// Has features leave a worktree that is about to be removed, for as long as what is returned lives.
pub(crate) async fn leave_worktree(world: &World, workspace: &Workspace) -> Result<Going> {
    let going = world.part::<GoingWorktrees>().goes(&workspace.id);
    for leave in &world.features().moments.on_worktree_goes {
        leave(world, workspace).await?;
    }
    Ok(going)
}

/// Refuses while something runs for a person in the worktrees of tasks that are to be closed or to lose them, unless it
/// may end.
///
/// # Errors
/// Names what runs.
pub(crate) async fn require_idle(world: &World, tasks: &[TaskId], may_end: bool) -> Result<()> {
    if may_end {
        return Ok(());
    }
    for refuse in &world.features().moments.before_end {
        refuse(world, tasks).await?;
    }
    Ok(())
}

/// Tells features that the work of a task changed.
pub(crate) async fn work_changed(world: &World, task: &TaskId) {
    for tell in &world.features().moments.on_work_changed {
        tell(world, task).await;
    }
}

/// Ends what is at work for a task in this process, and waits until nothing of it is left. Whether there was something.
pub(crate) async fn stop_at_work(world: &World, task: &TaskId) -> bool {
    let mut stopped = false;
    for stop in &world.features().moments.stop {
        stopped |= stop(world, task).await;
    }
    stopped
}

/// Tells features that Forge makes no more automatic attempts for a task.
pub(crate) async fn given_up(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    cause: PostmortemCause,
    review: Option<&ReviewId>,
) -> Result<()> {
    for tell in &world.features().moments.on_given_up {
        tell(world, tx, task, cause, review).await?;
    }
    Ok(())
}
