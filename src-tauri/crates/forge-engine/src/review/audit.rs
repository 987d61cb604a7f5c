//! The reviewing agent. It may do what it likes in the worktree and leaves no trace there; its verdict is read from
//! what it said. Without a verdict the reviewer failed, not the work: it is asked once more, then a person decides.

use std::sync::Arc;

use async_trait::async_trait;
use forge_agents::LogReader;
use forge_model::actor::Actor;
use forge_model::audit::{AuditFinding, AuditVerdict};
use forge_model::comment::{Anchor, CommentSource, CommentStatus, DiffSide};
use forge_model::correction::Correction;
use forge_model::execution::{Execution, ExecutionStatus};
use forge_model::notification::NotificationKind;
use forge_model::review::{AuditReport, Review, Verdict};
use forge_model::task::{AnnotationType, Evidence};
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, Phase, State};
use forge_reading::verdict::AuditReader;
use forge_store::Tx;
use forge_store::table::{comments::CommentRow, steps::StepRow, tasks::TaskRow, transitions::TransitionRow};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        entry::corrupt_step,
        moves::{EntryInput, Move},
        retry_budget,
        world::step::{AtGate, Effect, End, Finding, HeldBack, Stepping},
    },
    error::Result,
    review::{self, rejection::Rejection},
    run, workspace,
};

/// How much of an auditor's text its report keeps, in bytes.
const REPORT_BYTES: usize = 16 * 1024;
/// The most findings of one report that become comments.
const MAX_FINDINGS: usize = 200;

/// What became of an auditor's run.
#[derive(Clone)]
pub(crate) struct Audited {
    execution: Execution,
    heard: Heard,
    /// The lines that its findings speak of, and the commit that they were read from.
    anchors: Vec<(Anchor, String)>,
    /// The end of its output.
    evidence: Option<Evidence>,
    /// What follows a pass that the gate's guards do not let go.
    instead: Option<Box<End>>,
}

#[async_trait]
impl Finding for Audited {
    async fn decide(&self, world: &World, tx: &mut Tx, s: &mut Stepping, _: &mut Vec<Effect>) -> Result<End> {
        decide_audit(world, tx, s, self.clone()).await
    }

    fn at_gate(self: Arc<Self>) -> Option<Arc<dyn AtGate>> {
        Some(self)
    }
}

#[async_trait]
impl AtGate for Audited {
    async fn held_back(self: Arc<Self>, world: &World, s: &Stepping, by: HeldBack) -> Result<End> {
        let instead = match by {
            HeldBack::Redirected(mv) => End::Go(mv),
            HeldBack::Refused(trouble) => core::leaving::refused(world, s, *trouble).await?,
        };
        Ok(End::Found(Arc::new(Self { instead: Some(Box::new(instead)), ..self.as_ref().clone() })))
    }
}

#[derive(Clone)]
enum Heard {
    /// It may have decided.
    Report(Box<AuditReport>),
    /// The provider asked to wait.
    Limited,
    /// Forge's own end cut it short.
    Lost,
}

/// After a run of the auditor: the worktree as it was, and what it said.
pub(crate) async fn finish_audit(
    world: &World,
    s: &Stepping,
    execution: Execution,
    cancel: &CancellationToken,
) -> Result<End> {
    let workspace = world.store().read().await?.workspaces().last(&s.task.id).await?;
    if let Some(workspace) = &workspace {
        workspace::traces::remove_traces(world, &s.context, &s.task, workspace).await?;
    }
    let heard = hear_auditor(world, s, &execution).await?;
    let anchors = match &heard {
        Heard::Report(report) => anchors_of(world, s, &report.audit.findings).await?,
        Heard::Limited | Heard::Lost => Vec::new(),
    };
    if let (Heard::Report(report), Some(workspace)) = (&heard, &workspace) {
        let sent_back = report.audit.verdict == Some(AuditVerdict::Fail);
        if let Some(mending) = &world.features().mending
            && !(mending.apply_requested_fix)(world, s, (workspace, &execution), sent_back, cancel).await?
        {
            return Ok(End::Interrupted);
        }
    }
    let evidence = run::dispatch::log_evidence(world, s, &execution).await;
    let audited = Audited { execution, heard, anchors, evidence, instead: None };
    Ok(End::Found(Arc::new(audited)))
}

/// Follows what the auditor said.
async fn decide_audit(world: &World, tx: &mut Tx, s: &mut Stepping, audited: Audited) -> Result<End> {
    let Some((state, mut review)) = review::decision::running_review(tx, s).await? else {
        return Ok(End::skipped("no review waits for the reviewer"));
    };
    let Audited { execution, heard, anchors, evidence, instead } = audited;
    let cause = match heard {
        Heard::Lost => "Forge was restarted",
        Heard::Limited => "the rate limit ended",
        Heard::Report(report) => {
            keep_findings(world, tx, s, &review, &report, anchors).await?;
            review.audits.push((*report).clone());
            tx.reviews_mut().update(&review).await?;
            if report.audit.verdict.is_none() {
                return without_verdict(world, tx, s, &state, &mut review, &execution, evidence).await;
            }
            return follow_verdict(world, tx, s, &state, &mut review, &report, instead).await;
        }
    };
    let row = tx.executions().get(&execution.id).await?;
    let corrections = row.map(|row| row.corrections).unwrap_or_default();
    let input = EntryInput { cause: Some(cause.to_owned()), corrections, ..EntryInput::default() };
    ask_auditor(tx, &s.task, &s.transition, input).await?;
    Ok(End::Ok(Some(cause.to_owned())))
}

async fn hear_auditor(world: &World, s: &Stepping, execution: &Execution) -> Result<Heard> {
    let limited = execution.error.as_ref().is_some_and(|error| error.code == "rate_limited");
    match execution.status {
        ExecutionStatus::Lost => return Ok(Heard::Lost),
        _ if limited => return Ok(Heard::Limited),
        _ => {}
    }
    let dir = world.log_dir(&s.task.project_id, &s.task.id);
    let log_id = execution.log_id.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut reader = AuditReader::new(REPORT_BYTES);
        LogReader::each(&dir, &log_id, |entry| reader.hear(entry))?;
        Ok::<_, forge_agents::LogError>(reader.finish())
    });
    let read = read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))?;
    let (mut audit, text) = match read {
        Ok(read) => read,
        // It was never started.
        Err(forge_agents::LogError::NotFound(_)) => Default::default(),
        Err(error) => return Err(error.into()),
    };
    if execution.status != ExecutionStatus::Finished {
        // Who did not come to an end has not decided.
        audit.verdict = None;
    }
    Ok(Heard::Report(Box::new(AuditReport {
        execution_id: execution.id.clone(),
        agent_id: execution.agent_id.clone(),
        audit,
        text,
        log_id: execution.log_id.clone(),
        at: execution.finished_at.unwrap_or_else(|| world.now()),
    })))
}

/// The lines that findings speak of; read before the transaction, as files are.
async fn anchors_of(world: &World, s: &Stepping, findings: &[AuditFinding]) -> Result<Vec<(Anchor, String)>> {
    let places: Vec<_> = findings
        .iter()
        .take(MAX_FINDINGS)
        .map(|finding| (finding.file.clone(), DiffSide::New, finding.line.unwrap_or(0)))
        .collect();
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let (anchors, commit) = super::comments::anchors(world, &s.task.id, &places).await?;
    Ok(anchors.into_iter().map(|anchor| (anchor, commit.clone())).collect())
}

async fn keep_findings(
    world: &World,
    tx: &mut Tx,
    s: &Stepping,
    review: &Review,
    report: &AuditReport,
    anchors: Vec<(Anchor, String)>,
) -> Result<()> {
    let agent = tx.agents().get(&report.agent_id).await?;
    let author = agent.map(|agent| agent.name).unwrap_or_default();
    let now = world.now();
    for (finding, (anchor, at_commit)) in report.audit.findings.iter().zip(anchors) {
        if finding.file.is_empty() {
            continue;
        }
        // A line that is not there: the finding is about the file.
        let line = finding.line.filter(|_| !anchor.lines.is_empty());
        let row = CommentRow {
            id: world.new_id(),
            task_id: s.task.id.clone(),
            review_id: Some(review.id.clone()),
            source: CommentSource::Auditor,
            author: author.clone(),
            status: CommentStatus::Sent,
            severity: Some(finding.severity),
            path: finding.file.clone(),
            side: DiffSide::New,
            line,
            last_line: line,
            anchor,
            at_commit,
            text: finding.text.clone(),
            url: None,
            external_id: None,
            created_at: now,
            updated_at: now,
        };
        tx.comments_mut().insert(&row).await?;
    }
    Ok(())
}

async fn follow_verdict(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    state: &State,
    review: &mut Review,
    report: &AuditReport,
    instead: Option<Box<End>>,
) -> Result<End> {
    let auditor = Actor::Agent { id: report.agent_id.clone() };
    let context = Arc::clone(&s.context);
    let reason = report.audit.reason.clone();
    match report.audit.verdict {
        Some(AuditVerdict::Pass) => {
            let gate = state.gate_config.as_ref();
            if gate.is_some_and(|gate| gate.requires_user_approval.required()) {
                super::decision::await_person(world, tx, s, state, review).await?;
                return Ok(End::Ok(Some("the reviewer passed the work; ready for your review".to_owned())));
            }
            if let Some(instead) = instead {
                return Ok(*instead);
            }
            super::decision::pass_review(
                world,
                tx,
                &context,
                &mut s.task,
                review,
                Verdict::Pass,
                auditor.clone(),
                reason,
            )
            .await?;
            Ok(match state.triggers.get("accept") {
                Some(accept) => End::go(Move::by(&accept.to, "accept", auditor)),
                None => End::Ok(Some("passed; the state has no accept transition".to_owned())),
            })
        }
        Some(AuditVerdict::Fail) | None => {
            let reason = reason.unwrap_or_else(|| "the reviewer rejected the work".to_owned());
            super::decision::fail_review(world, tx, &s.task, review, auditor.clone(), &reason).await?;
            let target = state.gate_config.as_ref().and_then(|gate| gate.reject_target.clone());
            let to = target.or_else(|| context.workflow.work_state().map(|work| work.name.clone()));
            let Some(to) = to else {
                return Ok(End::Ok(Some("failed; the gate has no reject transition".to_owned())));
            };
            let limit = retry_budget::budget(tx, &context, &s.task).await?.review.limit;
            let correction = Correction::AuditFailed {
                reason: reason.clone(),
                findings: report.audit.findings.clone(),
                attempt: review.attempt_number,
                of: (limit + 1).max(review.attempt_number),
            };
            let rejection = Rejection { to, actor: auditor, reason, correction, evidence: None };
            let transition = s.transition.clone();
            super::decision::reject(world, tx, &context, &mut s.task, &transition, rejection).await
        }
    }
}

/// The auditor cannot be used: asked once more, then a person decides. The work is not rejected for it.
async fn without_verdict(
    world: &World,
    tx: &mut Tx,
    s: &mut Stepping,
    state: &State,
    review: &mut Review,
    execution: &Execution,
    evidence: Option<Evidence>,
) -> Result<End> {
    let stopped = execution.status == ExecutionStatus::Cancelled;
    let hopeless = execution
        .error
        .as_ref()
        .is_some_and(|error| matches!(error.code.as_str(), "unavailable" | "auth" | "refused" | "limit"));
    let row = tx.executions().get(&execution.id).await?;
    let asked_again = row.is_some_and(|row| row.corrections.contains(&Correction::NoVerdict {}));
    if !asked_again && !stopped && !hopeless {
        let input = EntryInput {
            cause: Some("no verdict".to_owned()),
            corrections: vec![Correction::NoVerdict {}],
            ..EntryInput::default()
        };
        ask_auditor(tx, &s.task, &s.transition, input).await?;
        return Ok(End::Ok(Some("no verdict: the reviewer is asked again".to_owned())));
    }
    let message = match &execution.error {
        Some(error) => format!("the reviewer failed: {}", error.message),
        None if stopped => "you stopped the reviewer".to_owned(),
        None => "the reviewer gave no verdict".to_owned(),
    };
    review.note = Some(message.clone());
    let mut trouble = BlockReason::new(AnnotationType::ReviewerUnusable, message.clone());
    trouble.execution = Some(execution.id.clone());
    trouble.details = json!({ "error": execution.error });
    trouble.evidence = evidence;
    s.task.error_annotation = Some(trouble.annotation(&state.name, world.now()));
    tx.tasks_mut().update(&mut s.task, world.now()).await?;
    super::decision::hand_over(world, tx, &s.task, review).await?;
    let cause = format!("unusable:{}", execution.id);
    core::notices::notify(world, tx, &s.context, &s.task, NotificationKind::Blocked, &message, &cause)
        .await?;
    Ok(End::Ok(Some(message)))
}

/// Queues another run of the auditor; the checks are not run again for it.
pub(crate) async fn ask_auditor(
    tx: &mut Tx,
    task: &TaskRow,
    transition: &TransitionRow,
    input: EntryInput,
) -> Result<()> {
    let params = serde_json::to_value(input).map_err(corrupt_step)?;
    let queue = |kind, action, params| {
        let mut step = StepRow::pending(&task.id, &task.status, kind, Phase::OnEnter.as_str());
        step.transition_seq = Some(transition.seq);
        step.action = action;
        step.params = params;
        step
    };
    let mut place = queue(StepKind::Admit, None, None);
    tx.steps_mut().insert(&mut place).await?;
    let mut dispatch = queue(StepKind::Action, Some(Action::DispatchRoleAgent), Some(params));
    Ok(tx.steps_mut().insert(&mut dispatch).await?)
}
