//! What learning contributes: its steps, and what is recorded at the moments of a task. What is to be learned holds
//! nobody up, unless its hook says so.

use super::{command, debrief, postmortem, step, teaching};
use crate::core::{
    runner::or_not_kept,
    world::features::{Moments, StepSpec},
};

pub(crate) const DEBRIEF: StepSpec = StepSpec::acting(|world, s, _| {
    Box::pin(async move { or_not_kept(world, debrief::debrief_task(world, s).await).await })
});

pub(crate) const INJECT: StepSpec = StepSpec::acting(|world, s, _| {
    Box::pin(async move { or_not_kept(world, step::inject_knowledge(world, s).await).await })
});

pub(crate) const CAPTURE: StepSpec = StepSpec::acting(|world, s, _| {
    Box::pin(async move { or_not_kept(world, step::capture_knowledge(world, s).await).await })
});

pub(crate) fn contribute(moments: &mut Moments) {
    moments
        .on_run
        .push(|world, tx, context, task, row| Box::pin(teaching::record_told(world, tx, context, task, row)));
    moments
        .on_review_failed
        .push(|world, tx, task, review| Box::pin(postmortem::record_gate_failure(world, tx, task, review)));
    moments.on_given_up.push(|world, tx, task, cause, review| {
        Box::pin(async move { postmortem::record_postmortem(world, tx, task, cause, review).await.map(drop) })
    });
    moments.export.push(|world| Box::pin(teaching::export_new_debriefs(world)));
    moments.resume.push(|world| {
        Box::pin(async move {
            command::recover_lessons(world);
            Ok(())
        })
    });
}
