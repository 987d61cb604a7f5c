//! Checks of a module, scored over attempts: the operation `validate`, and the gate of reviews.
//!
//! All of a call's input is verified before anything runs. The attempts of a module are a file under `.forge/` of
//! the project's root, whichever folder was checked. The lock of that file is held only while the attempt is
//! appended, so calls do not wait for each other's checks. A caller that goes away ends what runs, and nothing is
//! counted. Once checks have run, their report is returned, also where the attempt cannot be written: then its
//! number is 0, and the report says why.

pub(crate) mod attempts;
pub(crate) mod call;
pub(crate) mod checks;
pub(crate) mod contribution;
pub(crate) mod events;
pub(crate) mod gate;
pub(crate) mod place;
pub(crate) mod running;

use forge_model::event::EventType;
use forge_model::redact::Redactor;
use forge_model::validate::{
    AttemptFacts, CheckResult, CwdCheck, IterationState, LogEventKind, LogEvents, Measures, Recommendation,
    ValidateInput, ValidateReport, measure,
};
use forge_reading::identity::judge;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, context::ProjectContext},
    error::{Result, whole},
    export, hook,
    validate::call::Call,
};

use attempts::{Counted, Module};
pub(crate) use place::Validated;
pub use place::WhichProject;
pub(crate) use running::Validations;

/// Checks a piece of work and counts the attempt. Dropping the future ends what runs.
pub(crate) async fn validate(world: &World, input: ValidateInput) -> Result<ValidateReport> {
    let (at, input) = place::validated_at(world, input).await?;
    let call = Call { at, input, id: world.inner.config.ids.new_id() };
    let cancel = world.inner.shutdown.child_token();
    let ends_with_the_caller = cancel.clone().drop_guard();
    let validations = world.part::<Validations>();
    let known = validations.know(&call, cancel.clone());
    let beside = world.clone();
    let running = world.inner.tracker.spawn(async move { run_validation(&beside, &call, &cancel).await });
    let report = running.await.map_err(|error| EngineError::io("validate")(std::io::Error::other(error)))?;
    drop((known, ends_with_the_caller));
    report?.ok_or_else(|| {
        if world.inner.shutdown.is_cancelled() {
            EngineError::conflict(ConflictCode::Stopping, "Forge is stopping")
        } else {
            EngineError::conflict(ConflictCode::Cancelled, "stopped before it finished")
        }
    })
}

/// The attempts of a module; none of them is counted by this.
pub(crate) async fn iteration_state(
    world: &World,
    project: &WhichProject,
    module: &str,
    run: Option<&str>,
) -> Result<IterationState> {
    module_at(world, project, module, run).await?.read().await
}

/// Forgets the attempts of a module.
pub(crate) async fn reset_iterations(
    world: &World,
    project: &WhichProject,
    module: &str,
    run: Option<&str>,
) -> Result<IterationState> {
    let module = module_at(world, project, module, run).await?;
    module.forget().await?;
    module.read().await
}

/// The latest calls and verdicts, oldest first: of a run, or of all of them.
pub(crate) async fn validate_log(
    world: &World,
    project: &WhichProject,
    run: Option<String>,
    module: Option<String>,
    limit: usize,
) -> Result<LogEvents> {
    let context = place::project_at(world, project).await?;
    place::check_ids(module.as_deref(), run.as_deref())?;
    events::latest(context, run, module, limit).await
}

async fn module_at(world: &World, project: &WhichProject, module: &str, run: Option<&str>) -> Result<Module> {
    place::check_ids(Some(module), run)?;
    let context = place::project_at(world, project).await?;
    Ok(Module::new(&context, module, run))
}

/// Makes the checks of a call and counts the attempt; none when it was stopped.
pub(crate) async fn run_validation(
    world: &World,
    call: &Call,
    cancel: &CancellationToken,
) -> Result<Option<ValidateReport>> {
    let Some(context) = call.at.context.clone() else {
        // Only a folder that is none belongs to no project.
        return Ok(Some(missing(&call.at)));
    };
    if !call.input.commands.is_empty() && call.at.missing.is_none() {
        let (task, workspace) = call.at.task.as_ref().map(|(task, space)| (task, space)).unzip();
        hook::script::require_trust_of_script(world, &context, task, workspace).await?;
    }
    let mut notes = Notes::default();
    notes.said.extend(call.at.notice());
    // What git would see is not written.
    notes.keeps =
        notes.tried("the attempt is not counted", export::keep_out_of_git(world, &context).await).is_some();
    let called = json!({ "tool": "validate", "input": call.input });
    note_validation(world, call, LogEventKind::ToolCall, called, &mut notes).await;
    let begun = world.now();
    let report = match &call.at.missing {
        Some(_) => Some(missing(&call.at)),
        None => match checks::make_checks(world, call, cancel).await? {
            Some(results) => Some(count(world, call, &context, results, &mut notes).await),
            None => None,
        },
    };
    let verdict = match &report {
        None => json!({ "cancelled": true }),
        Some(report) => verdict_of(report),
    };
    let took = world.now().since(begun);
    let mut data = verdict.clone();
    data["durationMs"] = json!(took);
    note_validation(world, call, LogEventKind::Validate, data, &mut notes).await;
    if report.is_some() {
        notes.tried("the event is not sent", tell_validated(world, call, verdict).await);
    }
    Ok(report.map(|report| ValidateReport { notice: notes.into_notice(), ..report }))
}

/// Counts an attempt, unless its checks say nothing.
async fn count(
    world: &World,
    call: &Call,
    context: &ProjectContext,
    results: Vec<CheckResult>,
    notes: &mut Notes,
) -> ValidateReport {
    let cwd = call.at.cwd.to_string_lossy();
    let Some(facts) = judge(&results, &cwd) else {
        return ValidateReport {
            passed: false,
            score: 0.0,
            results,
            attempt: 0,
            measures: Measures::uncounted(Recommendation::Retry),
            notice: None,
        };
    };
    world.point("validate.checked");
    let redactor = core::redaction::redactor_in(world, context);
    let by_itself = measure(&[], &facts);
    let (passed, score) = (facts.passed, facts.score);
    let counted = Counted {
        id: call.id.clone(),
        at: world.now(),
        facts: redacted_facts(&redactor, facts),
        // What a person or a project typed into a command is a secret in a file, too.
        input: redactor.record(call.input.clone()),
        results: redactor.record(results.clone()),
    };
    let counted = if notes.keeps {
        let module = Module::new(context, &call.input.module_id, call.input.run_id.as_deref());
        let world = world.clone();
        notes
            .tried("the attempt is not counted", module.count(counted, move |point| world.point(point)).await)
    } else {
        None
    };
    let (attempt, measures) = match counted {
        Some((attempt, notice)) => {
            notes.said.extend(notice);
            (attempt.attempt, attempt.measures)
        }
        None => (0, by_itself),
    };
    ValidateReport { passed, score, results, attempt, measures, notice: None }
}

/// Adds a line to the log, where there may be one.
async fn note_validation(
    world: &World,
    call: &Call,
    kind: LogEventKind,
    data: serde_json::Value,
    notes: &mut Notes,
) {
    if notes.keeps {
        notes.tried("the call is not logged", events::log_validation(world, call, kind, data).await);
    }
}

/// Tells everybody who listens what came of a call.
async fn tell_validated(world: &World, call: &Call, verdict: serde_json::Value) -> Result<()> {
    let Some(context) = &call.at.context else { return Ok(()) };
    let mut facts = verdict;
    facts["moduleId"] = json!(call.input.module_id);
    facts["runId"] = json!(call.input.run_id);
    let mut tx = world.store().write().await?;
    let (project, task) = (&context.project.id, call.at.task_id());
    let module = &call.input.module_id;
    tx.emit(EventType::ValidateFinished, world.now(), Some(project), task, module, &facts).await?;
    tx.commit().await?;
    Ok(())
}

/// What is to be said besides a report.
#[derive(Default)]
struct Notes {
    said: Vec<String>,
    /// Whether anything may be written below `.forge/`.
    keeps: bool,
}

impl Notes {
    /// What came of something that a report does not depend on; a failure is noted, with what follows from it.
    fn tried<T>(&mut self, otherwise: &str, came: Result<T>) -> Option<T> {
        came.map_err(|error| {
            let note = format!("{otherwise}: {}", whole(&error));
            tracing::warn!(note, "a validation could not be kept");
            if !self.said.contains(&note) {
                self.said.push(note);
            }
        })
        .ok()
    }

    fn into_notice(self) -> Option<String> {
        (!self.said.is_empty()).then(|| self.said.join("; "))
    }
}

/// Whether a process is a command of a validation, by its mark.
pub(crate) fn is_of_validation(marker: &str) -> bool {
    marker.starts_with(checks::MARKER)
}

/// The facts of an attempt as they are kept: what failed is named by what was typed.
fn redacted_facts(redactor: &Redactor, facts: AttemptFacts) -> AttemptFacts {
    let mut failures: Vec<String> = facts.failures.into_iter().map(|it| redactor.string(it)).collect();
    failures.sort();
    AttemptFacts { failures, ..facts }
}

/// What a report says in an event and in a log, without what the checks printed.
fn verdict_of(report: &ValidateReport) -> serde_json::Value {
    let failed = report.results.iter().filter(|result| result.passed() == Some(false)).count();
    let unknown = report.results.iter().filter(|result| result.passed().is_none()).count();
    json!({
        "passed": report.passed, "score": report.score, "attempt": report.attempt,
        "checks": report.results.len(), "failed": failed, "unknown": unknown,
        "stagnant": report.measures.stagnant, "velocity": report.measures.velocity,
        "oscillating": report.measures.oscillating, "sameAsPrev": report.measures.same_as_prev,
        "recommendation": report.measures.recommendation, "notice": report.notice,
    })
}

/// What is said about a folder that is none. It is not counted.
fn missing(at: &Validated) -> ValidateReport {
    let error = at.missing.clone().unwrap_or_default();
    let cwd = at.cwd.to_string_lossy().into_owned();
    ValidateReport {
        passed: false,
        score: 0.0,
        results: vec![CheckResult::CwdCheck(CwdCheck { passed: false, cwd, error })],
        attempt: 0,
        measures: Measures::uncounted(Recommendation::Escalate),
        notice: None,
    }
}
