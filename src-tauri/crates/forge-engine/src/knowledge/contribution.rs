//! What learning contributes: its steps, and what is recorded at the moments of a task. What is to be learned holds
//! nobody up, unless its hook says so.

use super::{command, debrief, postmortem, step, teaching};
use crate::core::{
    engine::features::{Moments, StepSpec},
    runner::or_not_kept,
};

pub(crate) const DEBRIEF: StepSpec = StepSpec::acting(|engine, s, _| {
    Box::pin(async move { or_not_kept(engine, debrief::debrief_task(engine, s).await).await })
});

pub(crate) const INJECT: StepSpec = StepSpec::acting(|engine, s, _| {
    Box::pin(async move { or_not_kept(engine, step::inject_knowledge(engine, s).await).await })
});

pub(crate) const CAPTURE: StepSpec = StepSpec::acting(|engine, s, _| {
    Box::pin(async move { or_not_kept(engine, step::capture_knowledge(engine, s).await).await })
});

pub(crate) fn contribute(moments: &mut Moments) {
    moments.on_run.push(|engine, tx, context, task, row| {
        Box::pin(teaching::record_told(engine, tx, context, task, row))
    });
    moments
        .on_review_failed
        .push(|engine, tx, task, review| Box::pin(postmortem::record_gate_failure(engine, tx, task, review)));
    moments.on_given_up.push(|engine, tx, task, cause, review| {
        Box::pin(
            async move { postmortem::record_postmortem(engine, tx, task, cause, review).await.map(drop) },
        )
    });
    moments.export.push(|engine| Box::pin(teaching::export_new_debriefs(engine)));
    moments.resume.push(|engine| {
        Box::pin(async move {
            command::recover_lessons(engine);
            Ok(())
        })
    });
}
