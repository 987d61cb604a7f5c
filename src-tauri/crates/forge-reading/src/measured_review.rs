//! The measures of `validate` over a task's review attempts: their failing checks are the set.

use forge_model::{
    review::{Review, ReviewStatus, ReviewStep},
    validate::{AttemptFacts, Measures, measure},
};

use crate::{
    compared::compared,
    complaint::{FailedCommand, listed},
    identity::identity,
};

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
        failures.push(format!("verdict: {}", refusal_of(review)));
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

/// What a decider refused the work for: the reason, and what the last auditor found.
fn refusal_of(review: &Review) -> String {
    let reason = review.reason.iter().flat_map(|reason| reason.lines());
    let reason = reason.map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned);
    let findings = review.audits.last().map(|report| report.audit.findings.as_slice()).unwrap_or_default();
    let findings = findings.iter().map(|finding| format!("{}: {}", finding.file, finding.text));
    listed(reason.chain(findings).map(|said| compared(&said, "")))
}

fn failure_of(step: &ReviewStep) -> String {
    // What was noted when the check ended and all of its output was there, else what the kept output says.
    let diagnoses = step.diagnoses.clone().unwrap_or_else(|| match step.exit_code {
        Some(0) if !step.timed_out => step.failure(),
        exit_code => {
            let (stderr, stdout) = (step.stderr_tail.as_str(), step.stdout_tail.as_str());
            let (timed_out, signal) = (step.timed_out, step.signal);
            FailedCommand { stderr, stdout, cwd: "", timed_out, exit_code, signal }.diagnoses()
        }
    });
    format!("command {}: {diagnoses}", step.command)
}

#[cfg(test)]
mod tests {
    use forge_model::review::Verdict;
    use serde_json::json;

    use super::*;

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
    fn a_refusal_with_other_findings_is_another_failure() {
        let refused = |findings: &[&str]| {
            let findings: Vec<_> = findings
                .iter()
                .map(|text| json!({ "file": "a.rs", "line": 3, "severity": "error", "text": text }))
                .collect();
            let report = json!({
                "execution_id": "e", "agent_id": "a", "verdict": "fail", "reason": "It has faults.", "score": 40,
                "findings": findings, "text": "", "log_id": "l", "at": "2026-01-01T00:00:00Z",
            });
            let mut review = review(ReviewStatus::Failed, "It has faults.", vec![step("test", 0, "")]);
            review.audits = vec![serde_json::from_value(report).unwrap()];
            review
        };
        let same = |before: &[&str], now: &[&str]| {
            measure_review(&[refused(before)], &refused(now)).unwrap().same_as_prev
        };
        assert!(same(&["one", "two"], &["two", "one"]));
        assert!(!same(&["one", "two"], &["one"]));
        assert!(!same(&["one", "two"], &["one", "three"]));
    }

    #[test]
    fn a_reason_counts_whole() {
        let refused = |reason| review(ReviewStatus::Failed, reason, vec![step("test", 0, "")]);
        let before = [refused("Two things:\n- the name\n- the test")];
        assert!(
            !measure_review(&before, &refused("Two things:\n- the name\n- the docs")).unwrap().same_as_prev
        );
        assert!(
            measure_review(&before, &refused("Two things:\n\n- the name\n- the test\n"))
                .unwrap()
                .same_as_prev
        );
    }

    #[test]
    fn fewer_errors_than_before_are_progress() {
        let tsc = |count: u32| {
            let errors =
                (0..count).map(|n| format!("src/a.ts({n},1): error TS2304: Cannot find name 'x'.\n"));
            failed(&errors.collect::<String>())
        };
        assert!(!measure_review(&[tsc(3)], &tsc(2)).unwrap().same_as_prev);
        assert!(measure_review(&[tsc(2)], &tsc(2)).unwrap().same_as_prev);
    }

    #[test]
    fn diagnoses_that_were_noted_go_before_the_kept_output() {
        let noted = |diagnoses: &str| {
            let mut review = failed("the same end of the output");
            review.steps[1].diagnoses = Some(diagnoses.to_owned());
            review
        };
        assert!(!measure_review(&[noted("a; b")], &noted("a")).unwrap().same_as_prev);
        assert!(measure_review(&[noted("a")], &noted("a")).unwrap().same_as_prev);
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
