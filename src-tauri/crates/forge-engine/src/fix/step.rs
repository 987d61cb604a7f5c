//! Running a failed check again with a drafted fix: as a step after somebody applied it, or within the review whose
//! check failed, where a draft replaces the retry.

use forge_model::actor::{Actor, Cause};
use forge_model::execution::Execution;
use forge_model::fix::{FixProposal, FixStatus, FixVerification};
use forge_model::review::{Review, ReviewStep};
use forge_model::workspace::Workspace;
use tokio_util::sync::CancellationToken;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        world::{
            cx::Cx,
            step::{End, Stepping},
        },
    },
    error::Result,
    fix::{
        self,
        command::Fixing,
        draft::{self, Progress},
    },
    review, workspace,
};

/// Runs the failing step of an applied fix again: green, it is verified; else it is rolled back.
pub(crate) async fn verify_fix(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let id = s.step.params.as_ref().and_then(|params| params.get("fix_id")).and_then(|id| id.as_str());
    let (fix, workspace) = {
        let mut conn = world.store().read().await?;
        let fix = conn.fixes().get(&s.task.id, id.unwrap_or_default()).await?;
        (fix, conn.workspaces().last(&s.task.id).await?)
    };
    let Some(fix) = fix.filter(|fix| fix.status == FixStatus::Applied) else {
        return Ok(End::skipped("the fix is no longer applied"));
    };
    let Some(workspace) = workspace else { return Ok(End::skipped("no workspace")) };
    Ok(match check_with_fix(world, s, &workspace, fix, cancel).await? {
        Some(fix) => End::Ok(Some(fix.reason.unwrap_or_else(|| fix.status.to_string()))),
        None => End::Interrupted,
    })
}

/// Runs the failing step of an applied fix again and follows what it says; nothing when cancelled first.
async fn check_with_fix(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    fix: FixProposal,
    cancel: &CancellationToken,
) -> Result<Option<FixProposal>> {
    let log_id = format!("fix-{}-{}", fix.fix_id.get(..16).unwrap_or(&fix.fix_id), s.step.id);
    let check = ReviewStep::begun(fix.gate.step, &fix.gate.command, &log_id);
    let config = s.context.review_config(&s.task);
    let Some(check) = review::check::run_command(world, s, workspace, &config, check, cancel).await? else {
        return Ok(None);
    };
    let fix = record_fix_result(world, s, workspace, fix, &check).await?;
    let stat = workspace::measure::measure(world, s, workspace).await?;
    let mut tx = world.store().write().await?;
    if let Some(mut task) = tx.tasks().get(&s.task.id).await? {
        task.diff_stat = Some(stat);
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    tx.commit().await?;
    review::look_at_changed_work(world, &s.task.id).await?;
    Ok(Some(fix))
}

/// After a reviewer's run: applies what they asked for if they send the work back, and has the failing step run
/// again; else their wish is over. False when cancelled first; done again after a kill, it goes on where it was.
pub(crate) async fn apply_requested_fix(
    world: &World,
    s: &Stepping,
    (workspace, run): (&Workspace, &Execution),
    sent_back: bool,
    cancel: &CancellationToken,
) -> Result<bool> {
    let all = world.store().read().await?.fixes().of_task(&s.task.id).await?;
    for fix in all {
        let Some(actor) = fix.wanted_by.clone() else { continue };
        // Of an earlier run that nobody settled, a wish is over.
        let is_meant = sent_back && fix.updated_at >= run.started_at;
        if is_meant {
            if !apply_and_check(world, s, workspace, fix, actor, cancel).await? {
                return Ok(false);
            }
        } else {
            forget_wish(world, &fix).await?;
        }
    }
    Ok(true)
}

/// Applies a fix that somebody asked for and has its failing step run again; then the wish is over. False when
/// cancelled first. A fix that cannot be applied stays out, and says why itself.
pub(crate) async fn apply_and_check(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    mut fix: FixProposal,
    actor: Actor,
    cancel: &CancellationToken,
) -> Result<bool> {
    if fix.status == FixStatus::Drafted {
        let of = Fixing { context: &s.context, task: &s.task, workspace };
        match super::command::land_fix(world, &of, fix.clone(), actor, false).await {
            Ok(landed) => fix = landed,
            Err(EngineError::Conflict { code, message, .. }) if code != ConflictCode::Stopping => {
                tracing::info!(task = %s.task.id, %message, "a fix that somebody asked for is not applied");
            }
            Err(error) => return Err(error),
        }
    }
    if fix.status == FixStatus::Applied {
        match check_with_fix(world, s, workspace, fix, cancel).await? {
            Some(settled) => fix = settled,
            None => return Ok(false),
        }
    }
    forget_wish(world, &fix).await?;
    Ok(true)
}

async fn forget_wish(world: &World, fix: &FixProposal) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.fixes_mut().forget_wish(fix).await?;
    tx.commit().await?;
    Ok(())
}

/// Writes what the failing step said with the fix, and takes the fix back when that did not help.
pub(crate) async fn record_fix_result(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    mut fix: FixProposal,
    check: &ReviewStep,
) -> Result<FixProposal> {
    // Whoever asked for it has it.
    fix.wanted_by = None;
    fix.verification = Some(FixVerification {
        passed: check.has_passed(),
        exit_code: check.exit_code,
        timed_out: check.timed_out,
        duration_ms: check.duration_ms,
        log_id: check.log_id.clone(),
        at: world.now(),
    });
    if check.has_passed() {
        let mut tx = world.store().write().await?;
        fix::proposal::write_fix(&mut Cx::of(world, &mut tx), &s.task, &mut fix, FixStatus::Verified).await?;
        tx.commit().await?;
        fix::proposal::export_fixes(world, &s.context, None).await;
        return Ok(fix);
    }
    let of = Fixing { context: &s.context, task: &s.task, workspace };
    let reason = format!("it did not help: {}", check.failure());
    match super::command::take_back_fix(world, &of, fix.clone(), None, &reason).await {
        Err(EngineError::Conflict { message, .. }) => {
            // It stands as it is: a person sees why.
            fix.reason = Some(format!("{reason}; it could not be taken back: {message}"));
            let mut tx = world.store().write().await?;
            fix::proposal::write_fix(&mut Cx::of(world, &mut tx), &s.task, &mut fix, FixStatus::Applied)
                .await?;
            tx.commit().await?;
            Ok(fix)
        }
        other => other,
    }
}

/// The fix that stands applied for a review.
pub(crate) async fn applied_for(world: &World, review: &Review) -> Result<Option<FixProposal>> {
    let all = world.store().read().await?.fixes().of_task(&review.task_id).await?;
    Ok(all.into_iter().find(|fix| fix.review_id == review.id && fix.status == FixStatus::Applied))
}

/// Has a fix drafted for a failed check and applies it, where the project lets a draft take the place of the
/// retry. Nothing when nothing came of it.
pub(crate) async fn fix_in_place(
    world: &World,
    s: &Stepping,
    review: &mut Review,
    workspace: &Workspace,
    check: &ReviewStep,
    cancel: &CancellationToken,
) -> Result<Option<FixProposal>> {
    if !s.context.settings.inner_loop.auto_fix.apply_without_review {
        return Ok(None);
    }
    let Some(draft) = super::plan_draft(world, s, review, workspace, check).await else { return Ok(None) };
    let mut tx = world.store().write().await?;
    let first = tx.fixes_mut().begin_draft(&draft).await?;
    tx.commit().await?;
    let drafted = if first {
        draft::draft_fix(world, draft, Progress::Unasked, cancel).await?
    } else {
        draft::drafted_before(world, &review.id, cancel).await?
    };
    let Some(fix) = drafted else { return Ok(None) };
    let of = Fixing { context: &s.context, task: &s.task, workspace };
    let actor = Actor::System { cause: Cause::Review };
    let fix = match super::command::land_fix(world, &of, fix, actor, false).await {
        Ok(fix) => fix,
        Err(EngineError::Conflict { code, message, .. }) if code != ConflictCode::Stopping => {
            tracing::info!(task = %s.task.id, %message, "a drafted fix stands as a proposal");
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if let Some(commit) = fix.applied_commit.clone() {
        let repo = core::repository::repo(world, &s.context).await?;
        review::review_commit(world, &repo, review, commit).await?;
    }
    Ok(Some(fix))
}
