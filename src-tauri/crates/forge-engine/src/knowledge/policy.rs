//! What is to be learned from how a task went: a pure function of what is stored, with the entries of its races.

use std::collections::BTreeMap;

use forge_model::audit::AuditVerdict;
use forge_model::execution::{Execution, Usage};
use forge_model::ids::{ReviewId, TaskId};
use forge_model::postmortem::{
    GateFailure, Postmortem, PostmortemAttempt, PostmortemCause, PostmortemEntry, PostmortemGate,
};
use forge_model::race::RaceEntry;
use forge_model::review::{Review, ReviewStatus, ReviewStep, Verdict};
use forge_model::time::Timestamp;
use forge_reading::diagnostic::diagnostics;

/// The longest line that is quoted, in characters.
const MAX_LINE: usize = 300;

/// What is known of an entry of a race.
#[derive(Debug, Clone)]
pub(crate) struct EntryFacts {
    /// Which race of the task.
    pub(crate) race: u32,
    /// The entry.
    pub(crate) entry: RaceEntry,
    /// Its attempts at passing its gate.
    pub(crate) reviews: Vec<Review>,
    /// Its runs.
    pub(crate) runs: Vec<Execution>,
}

/// What is known of a task.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// The task.
    pub(crate) task_id: TaskId,
    /// Its number.
    pub(crate) task_number: u32,
    /// Its title.
    pub(crate) title: String,
    /// The state it is in.
    pub(crate) state: String,
    /// Where it is worked on: complaints about files elsewhere are none.
    pub(crate) worktree: String,
    /// Its attempts at passing gates, oldest first.
    pub(crate) reviews: Vec<Review>,
    /// Its runs, oldest first.
    pub(crate) runs: Vec<Execution>,
    /// The entries of its races.
    pub(crate) entries: Vec<EntryFacts>,
}

/// What is written, when and why.
#[derive(Debug, Clone)]
pub(crate) struct Occasion {
    /// 1, 2, ... per task.
    pub(crate) number: u32,
    /// Why.
    pub(crate) cause: PostmortemCause,
    /// The review that failed, when one did.
    pub(crate) review_id: Option<ReviewId>,
    /// When.
    pub(crate) at: Timestamp,
}

/// The postmortem of a task as far as it has come.
pub(crate) fn postmortem(facts: &Facts, occasion: Occasion) -> Postmortem {
    let attempts = attempts(facts);
    let entries: Vec<PostmortemEntry> =
        facts.entries.iter().map(|it| entry_of(it, &facts.worktree)).collect();
    let failures = attempts.iter().map(|it| &it.failed).chain(entries.iter().map(|it| &it.failed));
    let first_failure = failures.flatten().min_by_key(|failed| failed.at).cloned();
    let runs: Vec<&Execution> =
        facts.runs.iter().chain(facts.entries.iter().flat_map(|it| &it.runs)).collect();
    let mut usage = Usage::default();
    runs.iter().for_each(|run| usage.add(&run.usage));
    let began = runs.iter().map(|run| run.started_at).min();
    let Occasion { number, cause, review_id, at } = occasion;
    Postmortem {
        task_id: facts.task_id.clone(),
        task_number: facts.task_number,
        title: facts.title.clone(),
        number,
        cause,
        review_id,
        state: facts.state.clone(),
        at,
        gates: gates(facts),
        first_failure,
        runs: count(runs.len()),
        agent_ms: runs.iter().map(|run| worked_ms(run)).sum(),
        wall_ms: began.map(|began| at.since(began)),
        usage,
        attempts,
        entries,
    }
}

/// Each attempt with the runs since the one before it.
fn attempts(facts: &Facts) -> Vec<PostmortemAttempt> {
    let mut from = Timestamp(i64::MIN);
    let attempt = |review: &Review| {
        let since = std::mem::replace(&mut from, review.started_at);
        let its = |run: &&Execution| run.started_at >= since && run.started_at < review.started_at;
        let runs: Vec<&Execution> = facts.runs.iter().filter(its).collect();
        let mut usage = Usage::default();
        runs.iter().for_each(|run| usage.add(&run.usage));
        PostmortemAttempt {
            number: review.attempt_number,
            state: review.state.clone(),
            status: review.status,
            failed: failure_of(review, None, &facts.worktree),
            commit: review.reviewed_commit.clone(),
            judged_ms: review.finished_at.map(|end| end.since(review.started_at)),
            agent_ms: runs.iter().map(|run| worked_ms(run)).sum(),
            runs: count(runs.len()),
            cost_micro_usd: usage.cost_micro_usd,
            started_at: review.started_at,
        }
    };
    facts.reviews.iter().map(attempt).collect()
}

fn entry_of(facts: &EntryFacts, worktree: &str) -> PostmortemEntry {
    let entry = &facts.entry;
    let strategy = &entry.strategy;
    PostmortemEntry {
        race: facts.race,
        strategy: strategy.clone(),
        status: entry.status,
        gate: entry.gate,
        failed: facts.reviews.iter().find_map(|review| failure_of(review, Some(strategy), worktree)),
        duration_ms: entry.duration_ms,
        cost_micro_usd: entry.cost_micro_usd,
    }
}

/// The gate at which an attempt failed; the others were not asked, or let it through.
fn failure_of(review: &Review, strategy: Option<&String>, worktree: &str) -> Option<GateFailure> {
    let at = review.finished_at.unwrap_or(review.started_at);
    let failed = |gate: &str, what: String, line: Option<String>| GateFailure {
        gate: gate.to_owned(),
        attempt: review.attempt_number,
        strategy: strategy.cloned(),
        what,
        line,
        at,
    };
    if let Some(check) = review.steps.iter().find(|check| check.finished && !check.has_passed()) {
        return Some(failed(&check.command, check.failure(), complaint(check, worktree)));
    }
    if review.status != ReviewStatus::Failed {
        return None;
    }
    let words = review.reason.as_deref().and_then(|reason| reason.lines().next()).map(shortened);
    let (gate, what) = if rejected_by_auditor(review) {
        (AUDITOR, "the reviewer rejected the work")
    } else {
        (PERSON, "a person asks for changes")
    };
    Some(failed(gate, what.to_owned(), words))
}

const AUDITOR: &str = "auditor";
const PERSON: &str = "person";

fn rejected_by_auditor(review: &Review) -> bool {
    review.audits.last().is_some_and(|report| report.audit.verdict == Some(AuditVerdict::Fail))
}

/// What a check complains about first, else what it said last.
fn complaint(check: &ReviewStep, worktree: &str) -> Option<String> {
    let output = format!("{}\n{}", check.stderr_tail, check.stdout_tail);
    if let Some(first) = diagnostics(&output, worktree).first() {
        let line = first.line.map(|line| format!(":{line}")).unwrap_or_default();
        return Some(shortened(&format!("{}{line}: {}", first.path, first.message)));
    }
    let said = |text: &str| text.lines().rev().find(|line| !line.trim().is_empty()).map(shortened);
    said(&check.stderr_tail).or_else(|| said(&check.stdout_tail))
}

fn shortened(line: &str) -> String {
    line.trim().chars().take(MAX_LINE).collect()
}

/// Each answer of a gate: what it said of which commit.
type Answers<'f> = Vec<(Option<&'f str>, bool)>;

fn gates(facts: &Facts) -> Vec<PostmortemGate> {
    let mut order: Vec<&str> = Vec::new();
    let mut answers: BTreeMap<&str, Answers<'_>> = BTreeMap::new();
    for review in facts.reviews.iter().chain(facts.entries.iter().flat_map(|it| &it.reviews)) {
        let commit = review.reviewed_commit.as_deref();
        let mut said = |gate, passed| {
            if !order.contains(&gate) {
                order.push(gate);
            }
            answers.entry(gate).or_default().push((commit, passed));
        };
        // A pass that was taken over is no answer of its own.
        for check in review.steps.iter().filter(|check| check.finished && !check.cached) {
            said(check.command.as_str(), check.has_passed());
        }
        match (review.audits.last().and_then(|report| report.audit.verdict), review.verdict) {
            (Some(verdict), _) => said(AUDITOR, verdict == AuditVerdict::Pass),
            (None, Some(verdict)) if review.decided_by.as_ref().is_some_and(|who| who.is_user()) => {
                said(PERSON, verdict != Verdict::Fail);
            }
            (None, _) => {}
        }
    }
    let gate = |gate: &str| {
        let answers = answers.get(gate).map(Vec::as_slice).unwrap_or_default();
        let passed = answers.iter().filter(|(_, passed)| *passed).count();
        PostmortemGate {
            gate: gate.to_owned(),
            passed: count(passed),
            failed: count(answers.len() - passed),
            flapping: flaps(answers),
        }
    };
    order.into_iter().map(gate).collect()
}

fn flaps(answers: &[(Option<&str>, bool)]) -> bool {
    let changes = answers.windows(2).filter(|pair| matches!(pair, [a, b] if a.1 != b.1)).count();
    let differs = |(at, (commit, passed)): (usize, &(Option<&str>, bool))| {
        answers.iter().skip(at + 1).any(|later| commit.is_some() && later.0 == *commit && later.1 != *passed)
    };
    changes > 1 || answers.iter().enumerate().any(differs)
}

fn worked_ms(run: &Execution) -> i64 {
    run.finished_at.map_or(0, |end| end.since(run.started_at))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
