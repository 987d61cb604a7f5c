//! Panics: a panic ends the unit of work that it happens in, and nothing else.
//!
//! A unit is a task's worker, a run, a request or a background timer. [`guarded`] catches what a unit panics with and
//! says where that was. A worker's step and a run are begun once more; when they panic again, the task goes to a person
//! with `recovery_required`. Timers are begun again after a pause that doubles.

use std::{
    any::Any,
    cell::RefCell,
    collections::HashSet,
    panic::{self, AssertUnwindSafe},
    sync::Once,
    time::Duration,
};

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::execution::ExecutionError;
use forge_model::ids::TaskId;
use forge_model::notification::NotificationKind;
use forge_model::task::AnnotationType;
use forge_model::transition::{StepOutcome, StepStatus};
use forge_model::workflow::{State, StateKind};
use forge_store::Tx;
use forge_store::table::{steps, tasks, tasks::TaskRow};
use futures::FutureExt as _;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Engine,
    core::{context::ProjectContext, features::features, runner::name_of, trouble::Trouble},
    error::{Panic, Result},
};

/// How long a timer that panicked waits before it is begun again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);
/// The code of a run's error that a panic ended.
pub(crate) const PANICKED: &str = "panicked";

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Has every panic write down where it is, on top of what is done with panics already.
fn note_places() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
            PLACE.with_borrow_mut(|last| *last = place);
            before(info);
        }));
    });
}

/// Does some work; a panic in it is an answer.
///
/// # Errors
/// The panic.
pub fn guarded<T>(work: impl Future<Output = T>) -> impl Future<Output = std::result::Result<T, Panic>> {
    note_places();
    // What a panic leaves half-done is in the database: its transaction is rolled back. Locks are not poisoned.
    // Boxed, since whoever guards much would otherwise carry all of it on its own stack.
    let caught = Box::pin(AssertUnwindSafe(work).catch_unwind());
    async move {
        caught.await.map_err(|payload| {
            // Nothing was awaited since the panic was caught: this is the thread that it happened on.
            let place = PLACE.with_borrow_mut(Option::take);
            let place = place.unwrap_or_else(|| "a place that is not known".to_owned());
            let caught = Panic { message: said(payload.as_ref()), place };
            tracing::error!(place = %caught.place, message = %caught.message, "caught a panic");
            caught
        })
    }
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

impl Panic {
    pub(crate) fn error(&self) -> ExecutionError {
        ExecutionError {
            code: PANICKED.to_owned(),
            message: self.to_string(),
            remedy: "Try again; if it fails again, report it with the log of the engine.".to_owned(),
        }
    }

    pub(crate) fn trouble(&self, unit: &str) -> Trouble {
        let message = format!(
            "{self} ({unit}). It was tried twice. Retry it; if it fails again, report it with the log of the engine."
        );
        let mut trouble = Trouble::new(AnnotationType::RecoveryRequired, message);
        trouble.details = json!({ "place": self.place, "panic": self.message, "unit": unit });
        trouble
    }
}

impl Engine {
    /// Does something once, beside everything else.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.tracker.spawn(async move { drop(guarded(work).await) });
    }
}

/// Runs a task's steps, see [`Engine::work`]. The step that panics is begun once more.
pub(crate) async fn work_guarded(engine: &Engine, task: &TaskId, cancel: &CancellationToken) {
    let mut panicked = HashSet::new();
    while let Err(panic) = guarded(super::runner::work(engine, task, cancel)).await {
        // Whoever stops the worker decides about the task, and its steps stay pending.
        if cancel.is_cancelled() {
            return;
        }
        let recorded =
            guarded(super::disk::with_patience(engine, || step_panicked(engine, task, &panic, &panicked)))
                .await;
        match recorded {
            Ok(Ok(step)) => drop(panicked.insert(step)),
            Ok(Err(error)) => {
                tracing::error!(%task, %error, "failed to record a panic; the task's steps stay pending");
                return;
            }
            Err(_) => return,
        }
    }
}

/// Records that the worker of a task panicked. The step that it was at is begun again, unless it has panicked
/// before: then the task goes to a person. Gives the step.
async fn step_panicked(
    engine: &Engine,
    id: &TaskId,
    panic: &Panic,
    before: &HashSet<Option<i64>>,
) -> Result<Option<i64>> {
    let mut tx = engine.store().write().await?;
    let step = steps::next(&mut tx, id).await?;
    let at = step.as_ref().map(|step| step.id);
    let Some(mut task) = tasks::get(&mut tx, id).await? else { return Ok(at) };
    let unit = step.as_ref().map_or_else(|| "work on a task".into(), name_of).into_owned();
    let facts = json!({ "action": unit, "reason": panic.to_string() });
    engine.emit(&mut tx, EventType::TransitionEffectFailed, &task, id.as_str(), &facts).await?;
    let gives_up = before.contains(&at);
    if let Some(mut step) = step {
        step.reason = Some(panic.to_string());
        if gives_up {
            step.status = StepStatus::Done;
            step.outcome = Some(StepOutcome::Failed);
            step.finished_at = Some(engine.now());
        }
        steps::update(&mut tx, &step).await?;
    }
    for settle in features(engine).each(|feature| feature.on_panic) {
        settle(engine, &mut tx, &task, &panic.error()).await?;
    }
    if gives_up {
        let context = super::context::context_of(engine, &mut tx, &task).await?;
        give_to_person(engine, &mut tx, &context, &mut task, panic.trouble(&unit)).await?;
    }
    tx.commit().await?;
    // What was to be done after the last commit may not have been.
    super::disk::resume_work(engine);
    Ok(at)
}

/// Blocks a task; one that is blocked or closed stays where it is.
pub(crate) async fn give_to_person(
    engine: &Engine,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &mut TaskRow,
    trouble: Trouble,
) -> Result<()> {
    let state = context.workflow.state(&task.status);
    let stays = |state: &State| state.is_terminal() || state.kind == StateKind::Blocked;
    if !state.is_some_and(stays) {
        super::transition::block(engine, tx, context, task, trouble, Cause::Recovery).await?;
        return Ok(());
    }
    let (now, body) = (engine.now(), trouble.message.clone());
    task.error_annotation = Some(trouble.annotation(&task.status, now));
    tasks::update(tx, task, now).await?;
    engine.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &json!({})).await?;
    let cause = format!("panic:{}:{}", task.id, now.0);
    super::notices::notify(engine, tx, context, task, NotificationKind::Blocked, &body, &cause).await
}

/// Keeps something going until it ends by itself or the engine stops: a panic ends one pass of it.
pub(crate) fn keep_going<F, W>(engine: &Engine, begin: F)
where
    F: Fn(Engine) -> W + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    let engine = engine.clone();
    engine.clone().inner.tracker.spawn(async move {
        let mut pause = FIRST_PAUSE;
        while guarded(begin(engine.clone())).await.is_err() {
            tokio::select! {
                () = engine.inner.shutdown.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn timer_that_panics_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = crate::EngineConfig::new(folder.path().to_owned());
        config.work = crate::Work::Nothing;
        let engine = Engine::start(config).await.unwrap();
        let (begun, mut passes) = tokio::sync::mpsc::unbounded_channel();
        keep_going(&engine, move |_| {
            let begun = begun.clone();
            async move {
                begun.send(()).unwrap();
                assert!(begun.is_closed(), "a mistake of the timer");
            }
        });
        for _ in 0..2 {
            let pass = tokio::time::timeout(Duration::from_secs(20), passes.recv()).await;
            pass.expect("the timer was not begun again").unwrap();
        }
        passes.close();
        engine.stop().await;
    }

    #[tokio::test]
    async fn panic_in_guarded_work_says_what_and_where() {
        let panicked = guarded(async {
            tokio::task::yield_now().await;
            panic!("{} of its kind", 1);
        });
        let caught: Panic = panicked.await.map(|(): ()| ()).unwrap_err();
        assert_eq!(caught.message, "1 of its kind");
        let (file, line) = caught.place.rsplit_once(':').unwrap();
        assert!(file.ends_with("panics.rs") && line.parse::<u32>().is_ok(), "{}", caught.place);
        assert_eq!(guarded(async { 7 }).await, Ok(7));
    }
}
