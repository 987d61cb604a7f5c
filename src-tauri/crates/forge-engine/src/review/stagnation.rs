//! Whether a task's reviews make progress: each decided review is measured against those before it since its retries
//! were counted from zero. Where the project wants it, no progress ends the retries.

use forge_model::loop_status::Subsystem;
use forge_model::review::Review;
use forge_model::validate::{Measures, Recommendation};
use forge_reading::measured_review::measure_review;
use forge_store::Tx;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{self, context::ProjectContext},
    error::Result,
    review::rejection::Rejection,
};

/// How a review that was just decided compares with those before it; what is shown is what is enforced.
pub(crate) async fn measures_of(tx: &mut Tx, task: &TaskRow, review: &Review) -> Result<Option<Measures>> {
    let all = tx.reviews().since(&task.id, &review.state, task.budget_boundary).await?;
    let (mut stored, earlier): (Vec<Review>, Vec<Review>) =
        all.into_iter().partition(|other| other.id == review.id);
    // Checks are written one by one, beside the review at hand.
    let steps = stored.pop().map_or_else(|| review.steps.clone(), |stored| stored.steps);
    Ok(measure_review(&earlier, &Review { steps, ..review.clone() }))
}

/// Why a rejection is not worth another try, where the project asks; none when it is.
pub(crate) async fn stagnation(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    rejection: &Rejection,
) -> Result<Option<&'static str>> {
    // A person who sends work back has been asked already.
    if !context.settings.inner_loop.stop_on_stagnation || rejection.actor.is_user() {
        return Ok(None);
    }
    let Some(review) = tx.reviews().last(&task.id).await? else { return Ok(None) };
    let measures = review.measures.filter(|it| it.recommendation == Recommendation::Escalate);
    let why = measures.and_then(|measures| measures.why_stagnant());
    if let Some(why) = why {
        let effect = format!("stopped after attempt {}: {why}", review.attempt_number);
        let (project, task) = (&context.project.id, Some(&task.id));
        core::effects::record_effect(world, tx, project, Subsystem::Validate, task, effect).await?;
    }
    Ok(why)
}
