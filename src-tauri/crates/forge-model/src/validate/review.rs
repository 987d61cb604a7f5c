//! The same measures over a task's review attempts: their failing checks are the set.

use super::{
    AttemptFacts, Measures,
    identity::{Diagnosed, compared, identity},
    measure,
};
use crate::review::{Review, ReviewStatus, ReviewStep};

/// Measures a decided review against those before it, the latest last. None when it checked nothing; those before it
/// that were given up or checked nothing are left out.
#[must_use]
pub fn measure_review(earlier: &[Review], now: &Review) -> Option<Measures> {
    let earlier: Vec<AttemptFacts> = earlier.iter().filter_map(facts).collect();
    Some(measure(&earlier, &facts(now)?))
}

fn facts(review: &Review) -> Option<AttemptFacts> {
    let failed = match review.status {
        ReviewStatus::Passed => false,
        ReviewStatus::Failed => true,
        ReviewStatus::Running | ReviewStatus::AwaitingHuman | ReviewStatus::Cancelled => return None,
    };
    let mut counted = 0;
    let mut failures = Vec::new();
    for step in review.steps.iter().filter(|step| step.finished) {
        let (checks, failing) = facts_of(step);
        counted += checks;
        failures.extend(failing);
    }
    // A verdict is a check, too. It only says more than the others when none of them failed.
    let refused = failed && failures.is_empty();
    counted += usize::from(refused || !review.audits.is_empty());
    if refused {
        let reason = review.reason.as_deref().unwrap_or_default();
        failures.push(format!("verdict: {}", compared(reason.lines().next().unwrap_or_default(), "")));
    }
    // Failures that the configuration only records do not make a pass a failure.
    (counted > 0).then(|| AttemptFacts { passed: !failed, ..AttemptFacts::new(counted, failures) })
}

/// How many checks a step stands for, and which of them failed.
fn facts_of(step: &ReviewStep) -> (usize, Vec<String>) {
    let results = step.validate.as_ref().map(|report| report.results.as_slice()).unwrap_or_default();
    let mut counted = results.iter().filter(|result| result.passed().is_some()).count();
    let failed = results.iter().filter(|result| result.passed() == Some(false));
    let mut failures: Vec<String> = failed.map(|result| identity(result, "")).collect();
    let fails_by_itself = !step.has_passed() && failures.is_empty();
    if counted == 0 || fails_by_itself {
        counted += 1;
        failures.extend(fails_by_itself.then(|| failure_of(step)));
    }
    (counted, failures)
}

fn failure_of(step: &ReviewStep) -> String {
    let said = Diagnosed { stderr: &step.stderr_tail, stdout: &step.stdout_tail, cwd: "" }.first();
    let complaint = match said {
        Some(said) if step.exit_code != Some(0) && !step.timed_out => compared(&said, ""),
        Some(_) | None => step.failure(),
    };
    format!("command {}: {complaint}", step.command)
}
