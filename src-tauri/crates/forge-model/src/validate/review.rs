//! The same measures over a task's review attempts: their failing checks are the set.

use super::{
    AttemptFacts, Diagnosed, Measures,
    identity::{compared, identity},
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::review::Verdict;

    fn review(status: ReviewStatus, reason: &str, steps: Vec<ReviewStep>) -> Review {
        let decided = matches!(status, ReviewStatus::Passed | ReviewStatus::Failed);
        let verdict =
            decided.then_some(if status == ReviewStatus::Passed { Verdict::Pass } else { Verdict::Fail });
        let mut review: Review = serde_json::from_value(json!({
            "id": "r", "task_id": "t", "attempt_number": 1, "state": "review", "status": status, "verdict": verdict,
            "steps": [], "audits": [], "work_execution_id": null, "note": null, "reason": reason,
            "decided_by": null, "measures": null, "base_commit": null, "reviewed_commit": null,
            "started_at": "2026-01-01T00:00:00Z", "finished_at": null,
        }))
        .unwrap();
        review.steps = steps;
        review
    }

    fn step(command: &str, exit_code: i32, stderr: &str) -> ReviewStep {
        ReviewStep {
            exit_code: Some(exit_code),
            finished: true,
            stderr_tail: stderr.to_owned(),
            ..ReviewStep::begun(0, command, "l")
        }
    }

    fn failed(stderr: &str) -> Review {
        review(ReviewStatus::Failed, "check failed", vec![step("lint", 0, ""), step("test", 1, stderr)])
    }

    #[test]
    fn failing_checks_are_compared_without_what_differs_between_runs() {
        let before = [failed("src/a.rs:1:1: no (0.3s)")];
        let again = measure_review(&before, &failed("src/a.rs:7:1: no (0.4s)")).unwrap();
        assert!(again.same_as_prev && again.stagnant);
        let other = measure_review(&before, &failed("src/a.rs:7:1: yes")).unwrap();
        assert!(!other.same_as_prev && !other.stagnant);
    }

    #[test]
    fn a_verdict_counts_where_no_check_failed() {
        let refused = |reason| review(ReviewStatus::Failed, reason, vec![step("test", 0, "")]);
        let before = [refused("too clever")];
        assert!(measure_review(&before, &refused("too clever")).unwrap().same_as_prev);
        assert!(!measure_review(&before, &refused("too slow")).unwrap().same_as_prev);
    }

    #[test]
    fn what_was_not_decided_or_checked_nothing_is_no_attempt() {
        let nothing = review(ReviewStatus::Passed, "", vec![]);
        assert_eq!(measure_review(&[], &nothing), None);
        assert_eq!(
            measure_review(&[], &review(ReviewStatus::Cancelled, "", vec![step("test", 1, "")])),
            None
        );
        let before = [failed("no"), nothing, review(ReviewStatus::Cancelled, "", vec![step("test", 1, "x")])];
        assert!(measure_review(&before, &failed("no")).unwrap().same_as_prev, "they stand between nothing");
    }

    #[test]
    fn a_gates_results_count_one_by_one() {
        let gate = |passed: bool, broken: &str| {
            let results = json!([
                { "type": "file_check", "file": "a", "passed": passed },
                { "type": "contract_check", "exporter": "a", "importer": "b", "result": "unknown", "passed": null,
                  "exported": [], "imported": [], "missing": [] },
                { "type": "syntax_check", "file": "b.js", "passed": false, "error": broken },
            ]);
            let report = json!({
                "passed": false, "score": 0.5, "results": results, "attempt": 1, "stagnant": false,
                "velocity": null, "oscillating": false, "sameAsPrev": false, "recommendation": "RETRY",
            });
            let validate = Some(serde_json::from_value(report).unwrap());
            review(ReviewStatus::Failed, "", vec![ReviewStep { validate, ..step("validate", 1, "") }])
        };
        let facts = facts(&gate(true, "x")).unwrap();
        assert_eq!((facts.score, facts.failures), (0.5, vec!["syntax_check b.js: x".to_owned()]));
        let before = [gate(false, "x"), gate(false, "y")];
        assert!(measure_review(&before, &gate(false, "x")).unwrap().oscillating);
    }
}
