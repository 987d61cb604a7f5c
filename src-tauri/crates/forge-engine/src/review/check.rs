//! One check of a review: a shell command in the task's worktree, in a process group of its own, with a time limit
//! and its whole output in a log.

use std::sync::Arc;
use std::time::Duration;

use forge_agents::LogWriter;
use forge_exec::{Command, Exit, Finished, HeadTail, Marker};
use forge_model::event::EventType;
use forge_model::review::{DEFAULT_CI_TIMEOUT_SECONDS, Review, ReviewConfig, ReviewStep};
use forge_model::task::Evidence;
use forge_model::workspace::Workspace;
use forge_store::Tx;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{self, confinement::Subject, world::step::Stepping},
    error::Result,
    program::{self, diagnosing::Diagnosing, output::CheckOutput},
    trust,
};

/// How much of each stream a review's row keeps.
pub(crate) const TAIL_BYTES: usize = 4096;

/// From the gentle signal to the kill of a check.
const GRACE: Duration = Duration::from_secs(5);

#[expect(clippy::too_many_arguments, reason = "each is a fact of one check; a struct would only rename them")]
pub(crate) async fn run_check(
    world: &World,
    s: &Stepping,
    review: &Review,
    workspace: &Workspace,
    config: &ReviewConfig,
    index: usize,
    command: &str,
    cancel: &CancellationToken,
) -> Result<Option<ReviewStep>> {
    let log_id = format!("check-{}-{index}", review.id);
    let check = ReviewStep::begun(u32::try_from(index).unwrap_or(u32::MAX), command, &log_id);
    write_check(world, s, review, &check).await?;
    run_command(world, s, workspace, config, check, cancel).await
}

/// Runs one check to its end; none when it was stopped.
pub(crate) async fn run_command(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    config: &ReviewConfig,
    mut check: ReviewStep,
    cancel: &CancellationToken,
) -> Result<Option<ReviewStep>> {
    let log_id = check.log_id.clone();
    let timeout =
        Duration::from_secs(u64::from(config.ci_timeout_seconds.unwrap_or(DEFAULT_CI_TIMEOUT_SECONDS)));
    let marker = Marker(log_id.clone());
    trust::require_trust_of(world, &s.context, &s.task, Some(workspace)).await?;
    let Some(location) = core::location::location_of(world, Some(workspace), cancel).await? else {
        return Ok(None);
    };
    let environment = core::environment::command_environment(world, &s.context, location.login()).await?;
    let subject = Subject::command_in(Some(workspace), &location, cancel);
    let confined = core::confinement::confine(world, &s.context, &environment, subject).await?;
    let Some(mut confinement) = confined else { return Ok(None) };
    let variables = program::given::task_env(world, &s.context, &s.task, Some(workspace));
    let place = location.worktree(workspace);
    let process = Command::shell(environment.shell(), &check.command, &place, marker.clone())
        .base(environment.base())
        .envs(location.variables(Some(workspace), variables))
        .timeout(timeout)
        .grace(GRACE);
    let log = LogWriter::open(
        &world.log_dir(&s.task.project_id, &s.task.id),
        &log_id,
        &log_id,
        forge_agents::log::DEFAULT_CAP_BYTES,
        Arc::clone(environment.redactor()),
    )?;
    environment.note_withheld(&log);
    confinement.begin_log(&log);
    let output = CheckOutput { log: log.clone(), kept: HeadTail::new(TAIL_BYTES) };
    let mut output = Diagnosing::new(output);
    let _follow = program::log::follow_log(world, &s.task.project_id, Some(&s.task.id), &log_id, &log);
    let finished = program::recorded::run_recorded(
        world,
        &s.task,
        &location,
        confinement.of(process),
        cancel,
        (&mut output, environment.redactor()),
    )
    .await;
    confinement.note_refusals(&log);
    confinement.end(world, &log).await?;
    program::log::close_log(world, log).await?;
    let (output, diagnoses) = output.finish(&place, finished.as_ref().ok()).await;
    check.diagnoses = diagnoses;
    let kept = output.kept.into_strings();
    (check.stdout_tail, check.stderr_tail, check.finished) = (kept.stdout, kept.stderr, true);
    match finished {
        Ok(Finished { cancelled: true, .. }) => return Ok(None),
        Ok(finished) => {
            check.timed_out = finished.timed_out;
            check.duration_ms = i64::try_from(finished.duration.as_millis()).unwrap_or(i64::MAX);
            match finished.exit {
                Exit::Code(code) => check.exit_code = Some(code),
                Exit::Signal(signal) => check.signal = Some(signal),
            }
        }
        Err(error) => check.stderr_tail = error.to_string(),
    }
    Ok(Some(check))
}

/// Writes what a check came to, and which untracked files lie in the worktree since.
pub(crate) async fn write_ended(
    world: &World,
    s: &Stepping,
    review: &Review,
    check: &ReviewStep,
    made: &[String],
) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.reviews_mut().set_check_files(&review.id, made).await?;
    put_check(world, &mut tx, s, review, check).await?;
    tx.commit().await?;
    Ok(())
}

/// Writes how far a check has come.
pub(crate) async fn write_check(
    world: &World,
    s: &Stepping,
    review: &Review,
    check: &ReviewStep,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    put_check(world, &mut tx, s, review, check).await?;
    tx.commit().await?;
    Ok(())
}

async fn put_check(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    review: &Review,
    check: &ReviewStep,
) -> Result<()> {
    tx.reviews_mut().put_step(&review.id, check).await?;
    let facts = json!({ "index": check.index, "finished": check.finished, "exit_code": check.exit_code });
    world.emit(tx, EventType::ReviewStep, &s.task, review.id.as_str(), &facts).await?;
    Ok(())
}

/// What people need to see of a failed check to believe it.
pub(crate) fn evidence_of(check: &ReviewStep) -> Evidence {
    let tails = [check.stdout_tail.trim_end(), check.stderr_tail.trim_end()];
    Evidence {
        command: Some(check.command.clone()),
        exit_code: check.exit_code,
        output: tails.join("\n").trim().to_owned(),
        log_id: Some(check.log_id.clone()),
    }
}
