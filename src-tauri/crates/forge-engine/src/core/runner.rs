//! Running what is still to be done for a task, in order.
//!
//! Instant steps only read and write the database; a run of them is one transaction. The others act on
//! processes and git: they are marked running, run, and their end is written with whatever follows from it.
//! A step whose task was moved meanwhile finds itself done and its end is dropped. Every step may be run
//! again after a kill: it looks first at what is there.

use super::leaving;
use forge_model::transition::StepOutcome;
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

use forge_model::ids::{ExecutionId, TaskId};
use forge_model::task::{AnnotationType, WaitReason, Waiting};
use forge_model::transition::{StepKind, StepStatus};
use forge_model::workflow::Action;
use forge_store::Tx;
use forge_store::table::{
    steps, steps::StepRow, tasks, tasks::TaskRow, transitions, transitions::TransitionRow,
};
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{
    Engine, EngineError,
    core::{
        context::ProjectContext,
        features::{Run, features},
        outcome::{finish_step, record},
        transition::Move,
        trouble::{Trouble, trouble_of},
    },
    error::Result,
};

/// How a step ended.
#[derive(Clone)]
pub(crate) enum End {
    /// It did what it is for; with a remark.
    Ok(Option<String>),
    /// There was nothing to do, and why.
    Skipped(String),
    /// It failed; its hook's policy decides.
    Failed(Trouble),
    /// It sends the task on.
    Go(Box<Move>),
    /// It blocks the task, whatever the policy.
    Block(Trouble),
    /// It cannot go on yet and will be run again.
    Wait(Waiting),
    /// It was stopped from outside and stays pending; a hook is settled by the next worker.
    Interrupted,
    /// What it found out is to be decided on in the transaction that writes its end.
    Found(Arc<dyn Finding>),
    /// How it ended is written already, with what follows; whether to go on with the task's next step.
    Written(bool),
}

/// What a step found out.
pub(crate) trait Finding: Send + Sync {
    /// Writes what was found and says how the step ends.
    fn decide<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        s: &'a mut Stepping,
        effects: &'a mut Vec<Effect>,
    ) -> BoxFuture<'a, Result<End>>;

    /// How the step ends, where that is known before.
    fn end(&self) -> Option<&End> {
        None
    }

    /// The finding as one that may pass a gate, whose guards are asked first.
    fn at_gate(self: Arc<Self>) -> Option<Arc<dyn AtGate>> {
        None
    }
}

/// A finding that may send its task out of a gate.
pub(crate) trait AtGate: Finding {
    /// The end of its step when the gate's guards do not let the task go.
    fn held_back<'a>(
        self: Arc<Self>,
        engine: &'a Engine,
        s: &'a Stepping,
        by: HeldBack,
    ) -> BoxFuture<'a, Result<End>>;
}

/// What the guards of a gate say to a task that was about to pass.
pub(crate) enum HeldBack {
    /// It goes somewhere else.
    Aside(Box<Move>),
    /// It stays, and why.
    Refused(Trouble),
}

impl End {
    pub(crate) const fn ok() -> Self {
        Self::Ok(None)
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }

    pub(crate) fn go(mv: Move) -> Self {
        Self::Go(Box::new(mv))
    }

    pub(crate) fn wait(reason: WaitReason, message: impl Into<String>) -> Self {
        Self::Wait(Waiting { reason, until: None, files: Vec::new(), message: message.into() })
    }
}

/// What is done once the transaction is committed.
pub(crate) enum Effect {
    /// Start the process of this task's execution.
    Launch(TaskId, ExecutionId),
    /// Run the pending steps of another task.
    Kick(TaskId),
    /// Places became free: ask whoever waits for one.
    WakeWaiting,
    /// A turn became free: ask whoever stands in line.
    WakeLines,
}

/// Why the steps after a failed barrier did not run.
pub(crate) const BEHIND_BARRIER: &str = "an earlier blocking step failed";

/// Everything a step is given.
pub(crate) struct Stepping {
    pub step: StepRow,
    pub task: TaskRow,
    pub context: Arc<ProjectContext>,
    /// The move that the step belongs to.
    pub transition: TransitionRow,
}

impl Stepping {
    /// The same, to be tried on its own.
    pub(crate) fn again(&self) -> Self {
        Self {
            step: self.step.clone(),
            task: self.task.clone(),
            context: Arc::clone(&self.context),
            transition: self.transition.clone(),
        }
    }
}

enum Next {
    Nothing,
    Later(forge_model::time::Timestamp),
    Run(Box<Stepping>),
}

/// Runs the task's steps until none is left, one waits, or `cancel` fires.
pub(crate) async fn work(engine: &Engine, task: &TaskId, cancel: &CancellationToken) {
    let mut pause = Engine::first_pause();
    while !cancel.is_cancelled() {
        let next = match run_instant_steps(engine, task).await {
            Ok(next) => next,
            Err(error) if super::disk::passes_with_storage(engine, &error).await => {
                super::disk::say_waits_for_disk(task, &error);
                if !super::disk::wait_for_storage(engine, &mut pause, cancel).await {
                    return;
                }
                continue;
            }
            Err(error) => {
                tracing::error!(%task, %error, "failed to go on with a task; its steps stay pending");
                return;
            }
        };
        match next {
            Next::Nothing => return,
            Next::Later(at) => return super::workers::kick_at(engine, task, at),
            Next::Run(stepping) => {
                let name = name_of(&stepping.step);
                engine.point(&format!("step.begin:{name}"));
                let end = match Box::pin(ask_and_run(engine, &stepping, cancel)).await {
                    Ok(Some(end)) => end,
                    Ok(None) => continue,
                    Err(_) if cancel.is_cancelled() => End::Interrupted,
                    // Begun again as after a kill: it looks first at what is there.
                    Err(error) if super::disk::passes_with_storage(engine, &error).await => {
                        super::disk::say_waits_for_disk(task, &error);
                        if !super::disk::wait_for_storage(engine, &mut pause, cancel).await {
                            return;
                        }
                        continue;
                    }
                    Err(error) => broken(&stepping, &error),
                };
                engine.point(&format!("step.ran:{name}"));
                // What a step came to is kept until it can be written.
                let finish = || finish_step(engine, &stepping, end.clone());
                match super::disk::with_patience_until(engine, cancel, finish).await {
                    Ok(true) => {
                        pause = Engine::first_pause();
                        engine.made_progress();
                    }
                    Ok(false) => return engine.made_progress(),
                    Err(error) => {
                        tracing::error!(%task, %error, "failed to record a step; it stays pending");
                        return;
                    }
                }
                engine.point(&format!("step.end:{name}"));
            }
        }
    }
}

/// A step that could not even be tried: the task needs a person, who sees the error itself.
fn broken(stepping: &Stepping, error: &EngineError) -> End {
    tracing::warn!(task = %stepping.task.id, step = %name_of(&stepping.step), %error, "step failed");
    let kind = match (stepping.step.kind, stepping.step.action) {
        _ if matches!(error, EngineError::Login(_)) => AnnotationType::EnvironmentNotReady,
        (StepKind::PrepareWorkspace, _) => AnnotationType::WorkspaceError,
        (_, Some(Action::RunMerge)) => AnnotationType::MergeError,
        _ => AnnotationType::RecoveryRequired,
    };
    End::Block(trouble_of(error, kind))
}

/// Runs instant steps in one transaction, up to the first that acts on the world or must wait.
async fn run_instant_steps(engine: &Engine, task_id: &TaskId) -> Result<Next> {
    let mut effects = Vec::new();
    let mut tx = engine.store().write().await?;
    let next = loop {
        let Some(mut step) = steps::next(&mut tx, task_id).await? else {
            for go_on in features(engine).each(|feature| feature.on_idle) {
                effects.extend(go_on(engine, &mut tx, task_id).await?);
            }
            break Next::Nothing;
        };
        if let Some(at) = step.not_before.filter(|at| *at > engine.now()) {
            break Next::Later(at);
        }
        let Some(mut task) = tasks::get(&mut tx, task_id).await? else { break Next::Nothing };
        let context = super::context::context_of(engine, &mut tx, &task).await?;
        if task.held
            && let Some(end) = super::held::hold_back(&mut tx, &step, &mut effects).await?
        {
            record(engine, &mut tx, &context, &mut task, &mut step, end, &mut effects).await?;
            break Next::Nothing;
        }
        let transition = match step.transition_seq {
            Some(seq) => transitions::get(&mut tx, seq).await?,
            None => transitions::last(&mut tx, task_id).await?,
        };
        let transition = transition.ok_or_else(|| EngineError::not_found("transition of step", step.id))?;
        step.runs += 1;
        step.started_at.get_or_insert(engine.now());
        let mut stepping = Stepping { step, task: task.clone(), context: Arc::clone(&context), transition };
        let spec = (features(engine).steps.of_step)(&stepping.step);
        let instant = match spec.run {
            Run::Instant(run) if !leaving::must_be_asked(&stepping) => Some(run),
            Run::Instant(_) | Run::Acting(_) => None,
        };
        let Some(instant) = instant else {
            stepping.step.status = StepStatus::Running;
            if let Some(begin) = spec.begin {
                begin(engine, &mut tx, &mut stepping.step).await?;
            }
            steps::update(&mut tx, &stepping.step).await?;
            break Next::Run(Box::new(stepping));
        };
        let end = match skip_with_needed(&mut tx, &stepping, stepping.step.action).await? {
            Some(end) => end,
            None => instant(engine, &mut tx, &mut stepping, &mut effects).await?,
        };
        task = stepping.task;
        let mut step = stepping.step;
        if !record(engine, &mut tx, &context, &mut task, &mut step, end, &mut effects).await? {
            break Next::Nothing;
        }
    };
    tx.commit().await?;
    engine.made_progress();
    act(engine, effects);
    Ok(next)
}

/// The end of an action that makes no sense without another one that was skipped.
async fn skip_with_needed(tx: &mut Tx, s: &Stepping, action: Option<Action>) -> Result<Option<End>> {
    match action.and_then(Action::depends_on) {
        Some(needed) if was_skipped(tx, s, needed).await? => {
            Ok(Some(End::skipped(format!("{needed} was skipped"))))
        }
        _ => Ok(None),
    }
}

/// Runs the code of an action that only reads and writes the database, apart from its step.
pub(crate) async fn run_instant_action(
    engine: &Engine,
    tx: &mut Tx,
    s: &mut Stepping,
    action: Action,
    effects: &mut Vec<Effect>,
) -> Result<End> {
    if let Some(end) = skip_with_needed(tx, s, Some(action)).await? {
        return Ok(end);
    }
    match features(engine).steps.instant_of(action) {
        Some(run) => run(engine, tx, s, effects).await,
        None => Ok(End::skipped(format!("{action} runs as a step of its own"))),
    }
}

/// Runs a step. None when it only asked whether its task may leave, and may be run now.
async fn ask_and_run(engine: &Engine, s: &Stepping, cancel: &CancellationToken) -> Result<Option<End>> {
    if leaving::must_be_asked(s) {
        return leaving::ask_to_leave(engine, s).await;
    }
    match Box::pin(run_step(engine, s, cancel)).await? {
        End::Found(found) => match Arc::clone(&found).at_gate() {
            Some(at_gate) => leaving::ask_to_pass(engine, s, at_gate).await.map(Some),
            None => Ok(Some(End::Found(found))),
        },
        end => Ok(Some(end)),
    }
}

async fn run_step(engine: &Engine, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    match (features(engine).steps.of_step)(&s.step).run {
        Run::Acting(run) => run(engine, s, cancel).await,
        // Only those are begun here that their task's guards are asked about first.
        Run::Instant(_) => Ok(End::Interrupted),
    }
}

/// The end of a step about what is to be learned: an error only fails it, unless it passes with the disk's trouble.
pub(crate) async fn or_not_kept(engine: &Engine, end: Result<End>) -> Result<End> {
    match end {
        Err(error) if super::disk::passes_with_storage(engine, &error).await => Err(error),
        Err(error) => Ok(End::Failed(Trouble::new(AnnotationType::RecoveryRequired, error.to_string()))),
        end => end,
    }
}

/// Does what was waiting for a commit.
pub(crate) fn act(engine: &Engine, effects: Vec<Effect>) {
    let mut wake = false;
    for effect in effects {
        match effect {
            Effect::Launch(task, id) => {
                engine.point("execution.recorded");
                (features(engine).launch)(engine, &task, id);
            }
            Effect::Kick(task) => engine.kick(&task),
            Effect::WakeWaiting => wake = true,
            Effect::WakeLines => wake_lines(engine),
        }
    }
    if wake {
        wake_waiting(engine);
    }
}

fn wake_lines(engine: &Engine) {
    features(engine).each(|feature| feature.wake).for_each(|wake| wake(engine));
}

/// Asks every task that waits for a place again, in order of priority, and looks for work to start.
pub(crate) fn wake_waiting(engine: &Engine) {
    super::scheduler::look_for_work(engine);
    wake_lines(engine);
    let engine = engine.clone();
    engine.clone().in_background(async move {
        let waiting = async {
            let mut conn = engine.store().read().await?;
            tasks::waiting(&mut conn).await
        };
        match waiting.await {
            Ok(tasks) => {
                for task in tasks.iter().filter(|task| waits_for_place(task)) {
                    engine.kick(&task.id);
                }
            }
            Err(error) => tracing::error!(%error, "failed to look for waiting tasks"),
        }
    });
}

pub(crate) fn waits_for_place(task: &TaskRow) -> bool {
    task.waiting.as_ref().is_some_and(|waiting| {
        matches!(
            waiting.reason,
            WaitReason::AgentBusy
                | WaitReason::ProjectBusy
                | WaitReason::Paused
                | WaitReason::Held
                | WaitReason::RateLimited
                | WaitReason::CostLimit
                | WaitReason::DependencyOpen
        )
    })
}

/// The action's name, the hook's place, or the engine's own work.
pub(crate) fn name_of(step: &StepRow) -> Cow<'static, str> {
    match step.kind {
        StepKind::Hook => Cow::Owned(shown_name(step)),
        StepKind::UndoWindow
        | StepKind::Admit
        | StepKind::PrepareWorkspace
        | StepKind::ClearBarrier
        | StepKind::Action
        | StepKind::CommitWork
        | StepKind::Capture
        | StepKind::Advance
        | StepKind::Restart
        | StepKind::BlockDependents
        | StepKind::Race
        | StepKind::Promote
        | StepKind::EndRace
        | StepKind::VerifyFix
        | StepKind::Debrief
        | StepKind::FollowUp
        | StepKind::Cleanup => Cow::Borrowed(step.action.map_or(step.kind.as_str(), Action::as_str)),
    }
}

/// The event and place of a hook's row, as people see it.
pub(crate) fn shown_name(step: &StepRow) -> String {
    let index = step.params.as_ref().and_then(|params| params.get("index")).and_then(Value::as_u64);
    format!("{}[{}]", step.phase, index.unwrap_or_default())
}

/// Whether an action of the same move was skipped: what depends on it has nothing to say.
pub(crate) async fn was_skipped(tx: &mut Tx, s: &Stepping, action: Action) -> Result<bool> {
    let all = steps::of_transition(tx, s.transition.seq).await?;
    // The entry may have been made more than once; the latest before this step is meant.
    let before = all.iter().rfind(|step| step.id < s.step.id && step.action == Some(action));
    Ok(before.is_some_and(|step| step.outcome == Some(StepOutcome::Skipped)))
}
