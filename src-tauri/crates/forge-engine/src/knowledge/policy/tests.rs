use forge_model::{actor::Actor, election::GateResult, inner_loop::Strategy, race::RaceEntryStatus};
use serde_json::json;

use super::*;

fn review(attempt: u32, at: i64, commit: &str, steps: Vec<ReviewStep>) -> Review {
    let failed = steps.iter().any(|step| !step.has_passed());
    Review {
        id: format!("r{attempt}").into(),
        task_id: "t".into(),
        attempt_number: attempt,
        state: "review".into(),
        status: if failed { ReviewStatus::Failed } else { ReviewStatus::Passed },
        verdict: Some(if failed { Verdict::Fail } else { Verdict::Pass }),
        steps,
        audits: vec![],
        report: None,
        score: None,
        findings: vec![],
        work_execution_id: None,
        note: None,
        reason: None,
        decided_by: None,
        base_commit: None,
        reviewed_commit: Some(commit.into()),
        started_at: Timestamp(at),
        finished_at: Some(Timestamp(at + 5)),
        measures: None,
    }
}

fn check(command: &str, code: i32, stderr: &str) -> ReviewStep {
    ReviewStep {
        exit_code: Some(code),
        finished: true,
        stderr_tail: stderr.into(),
        ..ReviewStep::begun(0, command, "l")
    }
}

fn run(at: i64, took: i64, cost: Option<u64>) -> Execution {
    let mut run: Execution = serde_json::from_value(json!({
        "id": format!("x{at}"), "task_id": "t", "subtask_id": null, "role": "coder", "agent_id": "a",
        "attempt": 1, "status": "finished", "parent_execution_id": null, "session_id": null,
        "session_mode": "new", "from_session": null, "cause": "", "messages": [], "activity": "",
        "before_commit": null, "after_commit": null, "usage": Usage::default(), "cost_micro_usd": cost,
        "cost_source": "reported", "price_version": null, "models": [], "conflict": null, "error": null, "withheld": [],
        "summary": null, "log_id": "l", "started_at": Timestamp(at), "finished_at": Timestamp(at + took),
    }))
    .unwrap();
    run.usage.cost_micro_usd = cost;
    run.usage.runs_of_unknown_cost = u32::from(cost.is_none());
    run
}

fn facts(reviews: Vec<Review>, runs: Vec<Execution>) -> Facts {
    Facts {
        task_id: "t".into(),
        task_number: 3,
        title: "Do it".into(),
        state: "done".into(),
        worktree: "/tree".into(),
        reviews,
        runs,
        entries: vec![],
    }
}

fn of(facts: &Facts) -> Postmortem {
    let cause = PostmortemCause::TaskClosed;
    postmortem(facts, Occasion { number: 1, cause, review_id: None, at: Timestamp(1000) })
}

fn flapping(reviews: Vec<Review>) -> Vec<String> {
    let all = of(&facts(reviews, vec![])).gates;
    all.into_iter().filter(|gate| gate.flapping).map(|gate| gate.gate).collect()
}

#[test]
fn each_attempt_has_the_runs_before_it_and_what_failed() {
    let lint = "src/a.rs:3:1: error: no";
    let reviews = vec![
        review(1, 100, "c1", vec![check("test", 0, ""), check("lint", 1, &format!("warning\n{lint}\n"))]),
        review(2, 300, "c2", vec![check("test", 0, ""), check("lint", 0, "")]),
    ];
    let found = of(&facts(reviews, vec![run(10, 30, Some(7)), run(50, 10, None), run(200, 40, Some(5))]));
    let told: Vec<_> =
        found.attempts.iter().map(|it| (it.number, it.runs, it.agent_ms, it.cost_micro_usd)).collect();
    assert_eq!(told, [(1, 2, 40, Some(7)), (2, 1, 40, Some(5))]);
    let first = found.first_failure.unwrap();
    assert_eq!(
        (first.gate.as_str(), first.attempt, first.what.as_str(), first.line.as_deref()),
        ("lint", 1, "check `lint` exited with 1", Some("src/a.rs:3: error: no"))
    );
    assert_eq!(found.attempts[0].failed.as_ref().unwrap().gate, "lint");
    assert_eq!(found.attempts[1].failed, None);
    assert_eq!((found.runs, found.agent_ms, found.wall_ms), (3, 80, Some(990)));
    assert_eq!((found.usage.cost_micro_usd, found.usage.runs_of_unknown_cost), (Some(12), 1));
    let gates: Vec<_> = found.gates.iter().map(|it| (it.gate.as_str(), it.passed, it.failed)).collect();
    assert_eq!(gates, [("test", 2, 0), ("lint", 1, 1)]);
}

#[test]
fn a_gate_flaps_when_it_changes_its_mind_without_a_reason() {
    let says = |attempt, commit: &str, code| {
        review(attempt, i64::from(attempt) * 100, commit, vec![check("t", code, "")])
    };
    assert_eq!(flapping(vec![says(1, "a", 1), says(2, "b", 0)]), [] as [&str; 0], "it was mended");
    assert_eq!(flapping(vec![says(1, "a", 1), says(2, "a", 0)]), ["t"], "the same commit");
    assert_eq!(flapping(vec![says(1, "a", 0), says(2, "b", 1), says(3, "c", 0)]), ["t"], "twice");
    let mut cached = says(3, "c", 0);
    cached.steps[0].cached = true;
    assert_eq!(flapping(vec![says(1, "a", 0), says(2, "b", 1), cached]), [] as [&str; 0], "taken over");
}

#[test]
fn people_are_gates_too() {
    let mut rejected = review(1, 100, "a", vec![]);
    rejected.status = ReviewStatus::Failed;
    rejected.verdict = Some(Verdict::Fail);
    rejected.reason = Some("Handle the empty name.\nAnd test it.".into());
    rejected.decided_by = Some("user:api".parse::<Actor>().unwrap());
    let found = of(&facts(vec![rejected], vec![]));
    let first = found.first_failure.unwrap();
    assert_eq!((first.gate.as_str(), first.line.as_deref()), ("person", Some("Handle the empty name.")));
    assert_eq!((found.gates[0].gate.as_str(), found.gates[0].failed), ("person", 1));
    assert_eq!(found.wall_ms, None);
}

#[test]
fn entries_of_races_count_with_their_own_failures() {
    let strategy = Strategy {
        name: "cheap".into(),
        agent_id: "a".into(),
        model: None,
        effort: None,
        prompt_suffix: None,
    };
    let entry = RaceEntry {
        status: RaceEntryStatus::Finished,
        gate: GateResult::Failed,
        cost_micro_usd: Some(9),
        duration_ms: Some(70),
        ..RaceEntry::queued(strategy, "e".into())
    };
    let mut facts = facts(vec![review(1, 500, "c", vec![check("t", 1, "later")])], vec![]);
    let reviews = vec![review(1, 50, "e", vec![check("t", 2, "earlier")])];
    facts.entries = vec![EntryFacts { race: 1, entry, reviews, runs: vec![run(10, 20, Some(9))] }];
    let found = of(&facts);
    let first = found.first_failure.unwrap();
    assert_eq!((first.strategy.as_deref(), first.line.as_deref()), (Some("cheap"), Some("earlier")));
    assert_eq!(found.entries[0].failed.as_ref().unwrap().what, "check `t` exited with 2");
    assert_eq!((found.runs, found.usage.cost_micro_usd, found.gates[0].failed), (1, Some(9), 2));
}
