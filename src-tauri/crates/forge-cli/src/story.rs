//! Events as sentences, for people who watch.

use forge_model::{
    review::ReviewStatus,
    task::{AnnotationType, Task, WaitReason},
    transition::{StepStatus, Transition},
};
use serde_json::Value;

use crate::words;

/// The type of the event of an agent that waits for an approval, or for its provider.
pub(crate) const ASKS: &str = "execution.waiting";

/// What an event tells, when it is worth telling.
pub(crate) fn sentence(event: &Value) -> Option<String> {
    let data = &event["data"];
    let text = |key: &str| data[key].as_str().unwrap_or("?").to_owned();
    Some(match event["type"].as_str()? {
        "task.status_changed" => {
            let who = match text("actor").split_once(':') {
                Some(("user", _)) => "a person",
                Some(("agent", _)) => "its agent",
                _ => "Forge",
            };
            format!("{} -> {} ({}, by {who})", text("from"), text("to"), text("trigger"))
        }
        "task.blocked" => match data["type"].as_str() {
            Some(kind) => {
                let known = kind.parse::<AnnotationType>();
                format!(
                    "needs you: {}",
                    known.map_or_else(|_| kind.to_owned(), |it| words::trouble(it).to_owned())
                )
            }
            None => "needs you".to_owned(),
        },
        "workspace.created" => "worktree created".to_owned(),
        "workspace.recovered" => match data["message"].as_str() {
            Some(message) => message.to_owned(),
            None => "worktree recreated".to_owned(),
        },
        "workspace.cleaned" => "worktree removed".to_owned(),
        "workspace.error" => format!("worktree failed: {}", text("reason")),
        "execution.started" => match data["role"].as_str() {
            Some("drafter") => "agent started to draft a fix".to_owned(),
            _ => format!("agent started, run {}", data["attempt"]),
        },
        ASKS if data["approval_id"].is_string() => "agent asks for an approval".to_owned(),
        "execution.finished" => match data["error"].as_str() {
            Some(error) => format!("agent ended: {} ({error})", text("status")),
            None => format!("agent ended: {}", text("status")),
        },
        "review.step" if data["finished"] == true => {
            let number = data["index"].as_u64().unwrap_or_default() + 1;
            match data["exit_code"].as_i64() {
                Some(0) => format!("check {number} passed"),
                Some(code) => format!("check {number} failed (exit {code})"),
                None => format!("check {number} failed"),
            }
        }
        "review.awaiting_human" => "checks finished, ready for your review".to_owned(),
        "review.passed" => format!("review {} passed", data["attempt_number"]),
        "review.failed" => format!("review {} failed", data["attempt_number"]),
        "merge.conflict" => format!("merge conflict with {1} in {0} file(s)", data["paths"], text("target")),
        "merge.succeeded" => format!("merged to {}", text("target")),
        "transition.effect_failed" => format!("{} failed: {}", text("action"), text("reason")),
        _ => return None,
    })
}

/// A task's end, as far as the engine can bring it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is closed.
    Closed,
    /// A person must decide at a gate.
    Decide,
    /// It is in trouble.
    Trouble,
    /// It waits for something outside.
    Waiting,
    /// Nothing is pending.
    Idle,
}

/// Where a task came to rest; none while something runs or is pending.
pub(crate) fn rest(task: &Task, transitions: &[Transition]) -> Option<Rest> {
    let closed = task.offers.is_empty();
    if task.live.is_some() {
        return None;
    }
    match task.waiting.as_ref().map(|waiting| waiting.reason) {
        // Agents of its own are at work, so nothing rests.
        Some(WaitReason::RaceRunning) => return None,
        Some(_) => return Some(if closed { Rest::Closed } else { Rest::Waiting }),
        None => {}
    }
    let mut steps = transitions.iter().flat_map(|one| &one.steps);
    if steps.any(|step| step.status != StepStatus::Done) {
        return None;
    }
    if closed {
        return Some(Rest::Closed);
    }
    if task.error_annotation.is_some() {
        return Some(Rest::Trouble);
    }
    let awaited = task.review.as_ref().is_some_and(|it| it.status == ReviewStatus::AwaitingHuman);
    Some(if awaited { Rest::Decide } else { Rest::Idle })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    #[test]
    fn approvals_and_drafts_are_told_as_such() {
        let told = |kind: &str, data: Value| sentence(&json!({ "type": kind, "data": data }));
        assert_eq!(told(ASKS, json!({ "approval_id": "q" })).as_deref(), Some("agent asks for an approval"));
        assert_eq!(told(ASKS, json!({ "until": 1 })), None);
        let started = |role: Value| told("execution.started", json!({ "attempt": 1, "role": role }));
        assert_eq!(started(json!("drafter")).as_deref(), Some("agent started to draft a fix"));
        assert_eq!(started(Value::Null).as_deref(), Some("agent started, run 1"));
        let blocked = told("task.blocked", json!({ "type": "review_stagnant" }));
        assert_eq!(blocked.as_deref(), Some("needs you: retries make no progress"));
    }

    #[test]
    fn where_a_task_rests() {
        let step = |status: &str| json!({ "phase": "enter", "action": "capture", "status": status });
        let moved = |statuses: &[&str]| {
            let steps: Vec<Value> = statuses.iter().map(|status| step(status)).collect();
            vec![sample::transition(json!({ "steps": steps }))]
        };
        let (done, pending) = (moved(&["done"]), moved(&["done", "pending"]));
        let with = |changes: Value, moves: &[Transition]| rest(&sample::task(changes), moves);
        let waits = |reason: &str| json!({ "waiting": { "reason": reason, "files": [], "message": "" } });
        let review = |status: &str| json!({ "review": { "attempt_number": 1, "status": status } });
        assert_eq!(with(json!({}), &pending), None);
        assert_eq!(with(json!({}), &done), Some(Rest::Idle));
        assert_eq!(with(json!({ "live": sample::live("") }), &done), None);
        assert_eq!(with(json!({ "offers": [] }), &pending), None, "it is tidied up");
        assert_eq!(with(json!({ "offers": [] }), &done), Some(Rest::Closed));
        assert_eq!(with(waits("held"), &pending), Some(Rest::Waiting));
        assert_eq!(with(waits("race_running"), &pending), None);
        assert_eq!(
            with(json!({ "error_annotation": sample::trouble("manual") }), &done),
            Some(Rest::Trouble)
        );
        assert_eq!(with(review("awaiting_human"), &done), Some(Rest::Decide));
        assert_eq!(with(review("passed"), &done), Some(Rest::Idle));
    }
}
