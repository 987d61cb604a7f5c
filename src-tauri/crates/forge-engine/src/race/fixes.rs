//! Drafted fixes of a race without a winner: one for each entry whose check failed, proposed for the raced task.
//! Each fits the work of its entry alone and names it: applying one makes that entry the winner first.

use forge_model::actor::Actor;
use forge_model::fix::{FixDraft, FixProposal};
use forge_model::ids::TaskId;
use forge_model::race::{Race, RaceEntry, RaceStatus};
use forge_model::task::AnnotationType;
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{
        self,
        context::ProjectContext,
        world::{cx::Cx, step::Stepping},
    },
    error::Result,
    fix::{self, of_races::race_of_fix, proposal::is_waiting, superseded::supersede_race_fixes},
    retry,
};

/// What is to be drafted; of an entry that is no case for a small local patch, nothing is.
pub(crate) async fn plan_drafts_of_race(
    world: &World,
    project: &ProjectContext,
    race: &Race,
) -> Vec<FixDraft> {
    let mut drafts = Vec::new();
    for entry in &race.entries {
        match draft_of_entry(world, project, race, entry).await {
            Ok(draft) => drafts.extend(draft),
            // A race ends without a winner, whatever becomes of a proposal.
            Err(error) => {
                let name = &entry.strategy;
                tracing::warn!(task = %race.task_id, %name, %error, "failed to see whether a fix can be drafted");
            }
        }
    }
    drafts
}

async fn draft_of_entry(
    world: &World,
    project: &ProjectContext,
    race: &Race,
    entry: &RaceEntry,
) -> Result<Option<FixDraft>> {
    let (task, review, workspace) = {
        let mut conn = world.store().read().await?;
        let task = conn.tasks().get(&entry.task_id).await?;
        let review = conn.reviews().last(&entry.task_id).await?;
        (task, review, conn.workspaces().last(&entry.task_id).await?)
    };
    let (Some(task), Some(review), Some(workspace)) = (task, review, workspace) else { return Ok(None) };
    let failed = |step: &&forge_model::review::ReviewStep| step.finished && step.exit_code != Some(0);
    let Some(check) = review.steps.iter().find(failed) else { return Ok(None) };
    let context = project.for_entries()?;
    let draft = fix::look_for_draft(world, (&context, &task), &review, &workspace, check).await?;
    let strategy = Some(entry.strategy.clone());
    Ok(draft.map(|draft| FixDraft { task_id: race.task_id.clone(), strategy, ..draft }))
}

/// Applies a fix of an entry's work where nobody won the race: the entry becomes the winner by that word, its work
/// the task's, and the fix is applied and verified there before the work is reviewed. Nothing when the fix is none of
/// a race that waits for a choice.
pub(crate) async fn apply_to_entry(
    world: &World,
    actor: &Actor,
    id: &TaskId,
    fix: &str,
) -> Result<Option<FixProposal>> {
    let _hold = core::workers::hold(world, id).await;
    let mut tx = world.store().write().await?;
    let (mut task, context) = core::load::load_own(world, &mut tx, id, None).await?;
    let found = tx.fixes().get(id, fix).await?;
    let Some(mut fix) = found.filter(is_waiting) else { return Ok(None) };
    let Some(race) = race_of_fix(&mut tx, &fix).await? else { return Ok(None) };
    let annotation = task.error_annotation.clone();
    let waits = race.status == RaceStatus::NoWinner
        && annotation.as_ref().is_some_and(|why| why.kind == AnnotationType::RaceNoWinner);
    let Some(name) = fix.strategy.clone().filter(|_| waits) else { return Ok(None) };
    super::select_winner(&mut Cx::of(world, &mut tx), &task, actor.clone(), &name).await?;
    (fix.wanted_by, fix.updated_at) = (Some(actor.clone()), world.now());
    tx.fixes_mut().update(&fix).await?;
    retry::retry(world, &mut tx, &context, &mut task, actor.clone(), annotation, None).await?;
    supersede_race_fixes(&mut Cx::of(world, &mut tx), &task).await?;
    tx.commit().await?;
    fix::proposal::export_fixes(world, &context, None).await;
    core::scheduler::wake_waiting(world);
    Ok(Some(fix))
}

/// Applies the fix that the winner was chosen with and has its check run again. False when cancelled first; done
/// again after a kill, it goes on where it was.
pub(crate) async fn run_chosen_fix(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<bool> {
    let (all, workspace) = {
        let mut conn = world.store().read().await?;
        (conn.fixes().of_task(&s.task.id).await?, conn.workspaces().last(&s.task.id).await?)
    };
    let Some(workspace) = workspace else { return Ok(true) };
    for fix in all.into_iter().filter(|fix| fix.strategy.is_some()) {
        let Some(actor) = fix.wanted_by.clone() else { continue };
        if !fix::step::apply_and_check(world, s, &workspace, fix, actor, cancel).await? {
            return Ok(false);
        }
    }
    Ok(true)
}
