//! The gate `validate` of a review: one more check, once the commands passed. Its results are a step of the review,
//! and its attempts count with those of people and agents, each review once.

use forge_agents::{LogWriter, log::DEFAULT_CAP_BYTES};
use forge_exec::{HeadTail, Stream};
use forge_model::log::EntryKind;
use forge_model::review::{Review, ReviewStep};
use forge_model::validate::{ValidateGate, ValidateReport, told};
use forge_model::workspace::Workspace;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{self, world::step::Stepping},
    error::Result,
    program,
    review::{self, check::TAIL_BYTES},
    validate::{self, call::Call},
};

/// What the step is called.
const NAME: &str = "validate";

/// Makes the checks of a review's gate; none when they were stopped.
pub(crate) async fn run_gate(
    world: &World,
    s: &Stepping,
    review: &Review,
    workspace: &Workspace,
    gate: &ValidateGate,
    index: usize,
    cancel: &CancellationToken,
) -> Result<Option<ReviewStep>> {
    let command = match &gate.module_id {
        Some(module) => format!("{NAME} {module}"),
        None => NAME.to_owned(),
    };
    let log_id = format!("check-{}-{index}", review.id);
    let begun = ReviewStep::begun(u32::try_from(index).unwrap_or(u32::MAX), &command, &log_id);
    review::check::write_check(world, s, review, &begun).await?;
    let input = gate.input(&s.task.project_id, &s.task.id, &workspace.path);
    let (at, input) = match validate::place::validated_at(world, input).await {
        // What the worktree holds can make a check impossible: then it fails and says so.
        Err(error @ (EngineError::Invalid(_) | EngineError::Escape { .. })) => {
            return Ok(Some(ReviewStep { finished: true, stderr_tail: error.to_string(), ..begun }));
        }
        found => found?,
    };
    let call = Call { at, input, id: review.id.0.clone() };
    let since = world.now();
    let Some(report) = validate::run_validation(world, &call, cancel).await? else { return Ok(None) };
    let duration_ms = world.now().since(since);
    log_gate(world, s, &log_id, &report).await?;
    Ok(Some(ended(begun, duration_ms, report)))
}

async fn log_gate(world: &World, s: &Stepping, log_id: &str, report: &ValidateReport) -> Result<()> {
    let dir = world.log_dir(&s.task.project_id, &s.task.id);
    let log = LogWriter::open(
        &dir,
        log_id,
        log_id,
        DEFAULT_CAP_BYTES,
        core::redaction::redactor_in(world, &s.context),
    )?;
    let _follow = program::log::follow_log(world, &s.task.project_id, Some(&s.task.id), log_id, &log);
    let text = format!("{}\n", told(&report.results));
    log.raw(text.as_bytes());
    log.append(EntryKind::Stdout, "", json!({ "text": text }));
    program::log::close_log(world, log).await
}

fn ended(begun: ReviewStep, duration_ms: i64, report: ValidateReport) -> ReviewStep {
    let mut kept = HeadTail::new(TAIL_BYTES);
    kept.push(Stream::Stdout, told(&report.results).as_bytes());
    if let Some(notice) = &report.notice {
        kept.push(Stream::Stderr, notice.as_bytes());
    }
    let kept = kept.into_strings();
    ReviewStep {
        exit_code: Some(i32::from(!report.passed)),
        finished: true,
        duration_ms,
        stdout_tail: kept.stdout,
        stderr_tail: kept.stderr,
        validate: Some(report),
        ..begun
    }
}
