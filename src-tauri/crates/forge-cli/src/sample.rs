//! Answers for tests: whole ones, of which each test names what it is about.

use forge_model::{
    execution::Execution, fix::FixProposal, machine::Machine, review::Review, task::Task,
    transition::Transition,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const AT: &str = "2026-01-02T03:04:05.006Z";

fn with<T: DeserializeOwned>(mut base: Value, changes: Value) -> T {
    for (key, value) in serde_json::from_value::<Map<String, Value>>(changes).unwrap() {
        base[&key] = value;
    }
    serde_json::from_value(base).unwrap()
}

/// An open task that nothing happens to.
pub(crate) fn task(changes: Value) -> Task {
    let budget = json!({ "used": 0, "limit": 3 });
    let offer = json!({ "verb": "cancel", "label": "Cancel task", "fields": [], "why": "Closes the task." });
    let base = json!({
        "id": "t", "number": 1, "project_id": "p", "title": "A task", "description": "", "status": "todo",
        "priority": 0, "position": 1.0, "version": 1, "execution_mode": "independent",
        "subtasks": { "closed": 0, "total": 0 }, "depends_on": [], "blocked_by": [], "roles": {},
        "held": false, "health": "idle", "offers": [offer],
        "budgets": { "review": budget, "merge_fix": budget, "execution": budget },
        "unmerged_commits": 0, "closed_unmerged": false, "usage": usage(None, 0),
        "created_at": AT, "updated_at": AT, "status_since": AT,
    });
    with(base, changes)
}

/// What the runs of a task used.
pub(crate) fn usage(cost: Option<u64>, runs_of_unknown_cost: u32) -> Value {
    json!({
        "input_uncached": 0, "cache_read": 0, "cache_write": 0, "output": 0, "reasoning": 0,
        "cost_micro_usd": cost, "runs_of_unknown_cost": runs_of_unknown_cost,
    })
}

/// What an agent does right now.
pub(crate) fn live(activity: &str) -> Value {
    json!({ "execution_id": "e", "agent_id": "a", "role": "coder", "activity": activity, "started_at": AT })
}

/// Why a task needs a person.
pub(crate) fn trouble(kind: &str) -> Value {
    json!({ "type": kind, "from_state": "review", "message": "x", "details": null, "at": AT })
}

/// A move of a task.
pub(crate) fn transition(changes: Value) -> Transition {
    let base = json!({
        "id": "m", "from": "todo", "to": "in_progress", "trigger": "claim", "actor": "user:cli",
        "rejection": false, "steps": [], "at": AT,
    });
    with(base, changes)
}

/// A review that is over.
pub(crate) fn review(verdict: &str) -> Review {
    let base = json!({
        "id": "r", "task_id": "t", "attempt_number": 1, "state": "review", "status": "passed",
        "steps": [], "audits": [], "started_at": AT,
    });
    with(base, json!({ "verdict": verdict }))
}

/// A run that is over.
pub(crate) fn run(changes: Value) -> Execution {
    let base = json!({
        "id": "e", "task_id": "t", "role": "coder", "agent_id": "a", "attempt": 1, "status": "finished",
        "session_mode": "new", "cause": "", "messages": [], "activity": "", "usage": usage(None, 1),
        "cost_source": "unknown", "models": [], "withheld": [], "sandbox": null, "log_id": "e", "started_at": AT,
    });
    with(base, changes)
}

/// A machine named `box`.
pub(crate) fn machine(changes: Value) -> Machine {
    let base = json!({
        "id": "m", "name": "box", "kind": "ssh", "ssh": { "host": "box.example" }, "root": "~/.forge", "labels": [],
        "caps": {}, "draining": false, "created_at": AT, "updated_at": AT, "contact": "unknown",
        "runs": 0, "tasks": 0,
    });
    with(base, changes)
}

/// A drafted fix of the files `a` and `b`.
pub(crate) fn fix(changes: Value) -> FixProposal {
    let base = json!({
        "fixId": "f", "taskId": "t", "executionId": "e", "reviewId": "r", "baseCommit": "c",
        "files": ["a", "b"], "addedLines": 1, "removedLines": 1,
        "gate": { "step": 0, "command": "test", "failureIds": [] }, "author": { "agent": "a" },
        "status": "drafted", "createdAt": AT, "updatedAt": AT, "patch": "",
    });
    with(base, changes)
}
