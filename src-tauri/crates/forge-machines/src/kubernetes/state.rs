//! How a Job is, by what the API server tells of it and of its pods.

use serde_json::Value;

use super::{
    object::{holds, is_going, text},
    pod::{ending, is_ended, look_of, waiting},
};
use crate::job::{JobEnd, JobOver, JobRef, Known, Look};

/// What is told of a Job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// How it is.
    Is(Look),
    /// It has no pod yet. Its events may say why.
    NoPod,
}

/// Whether an object is of a kind.
fn is_of(object: &Value, kind: &str) -> bool {
    text(object, "/kind") == kind
}

/// Reads Jobs and pods that were listed as those of one Job.
pub(super) fn seen(job: &JobRef, items: &[Value], known: Known<'_>) -> Seen {
    let of_job = items.iter().find(|item| is_of(item, "Job"));
    let mut pods: Vec<&Value> = items.iter().filter(|item| is_of(item, "Pod")).collect();
    pods.sort_by_key(|pod| (!is_ended(pod), text(pod, "/metadata/creationTimestamp").to_owned()));
    let began_in = known.place.and_then(|place| place.pod.as_deref());
    let pod = match began_in {
        // In another one there is nothing of the task.
        Some(name) => pods.iter().find(|pod| text(pod, "/metadata/name") == name),
        None => pods.last(),
    };
    if let Some(pod) = pod {
        return Seen::Is(match look_of(job, pod) {
            // Somebody deleted the Job, and the pod follows.
            Look::Ready { .. } if is_deserted(of_job, pod) => ending(job),
            look => look,
        });
    }
    let Some(of_job) = of_job else { return Seen::Is(Look::Over(gone(job, known, JobEnd::Deleted))) };
    if let Some(end) = end_of(of_job) {
        return Seen::Is(Look::Over(gone(job, known, end)));
    }
    if known.place.is_some() {
        let end = if is_going(of_job) { JobEnd::Deleted } else { JobEnd::Taken };
        return Seen::Is(Look::Over(gone(job, known, end)));
    }
    if is_going(of_job) {
        return Seen::Is(ending(job));
    }
    if of_job.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true) {
        let remedy = "Ask who suspended it.".to_owned();
        return Seen::Is(waiting(job, "it is suspended".to_owned(), remedy));
    }
    Seen::NoPod
}

/// Whether a pod that runs goes with its Job. One that was made an orphan on purpose stays.
fn is_deserted(of_job: Option<&Value>, pod: &Value) -> bool {
    let has_owner =
        pod.pointer("/metadata/ownerReferences").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    of_job.map_or(has_owner, is_going)
}

/// How a Job ended that has no pod any more, by its own words. Its pod ended, or was taken away, before anybody looked.
fn end_of(of_job: &Value) -> Option<JobEnd> {
    let over = ["Failed", "FailureTarget", "Complete", "SuccessCriteriaMet"];
    let over = over.iter().find_map(|kind| holds(of_job, kind))?;
    Some(match text(over, "/reason") {
        "DeadlineExceeded" => JobEnd::TimeLimit,
        _ if is_going(of_job) => JobEnd::Deleted,
        _ => JobEnd::Taken,
    })
}

/// How a Job ended that nothing is left of. What was known before is still so, and is certain now: Kubernetes forgets a pod
/// only when its node has ended it, or was taken away.
fn gone(job: &JobRef, known: Known<'_>, otherwise: JobEnd) -> JobOver {
    match known.over {
        Some(over) => {
            let end = if over.end == JobEnd::NodeFailed { JobEnd::NodeCameBack } else { over.end };
            JobOver { end, may_go_on: false, ..over.clone() }
        }
        None => {
            let node = known.place.map(|place| place.node.clone()).unwrap_or_default();
            JobOver { node, ..JobOver::new(job.clone(), otherwise) }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::job::{JobFault, Place};

    fn job() -> JobRef {
        JobRef("forge-a".to_owned())
    }

    fn pod(name: &str, phase: &str) -> Value {
        json!({ "kind": "Pod",
            "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{ "kind": "Job", "name": "forge-a" }] },
            "spec": { "nodeName": "n1" },
            "status": { "phase": phase, "containerStatuses": [{ "name": "forge", "state": { "running": {} } }] } })
    }

    #[test]
    fn job_is_the_pod_that_it_began_in_and_no_other() {
        let of_job = json!({ "kind": "Job", "metadata": {}, "spec": {}, "status": {} });
        let items = [of_job.clone(), pod("p1", "Failed"), pod("p2", "Running")];
        let new = seen(&job(), &items, Known::default());
        assert!(
            matches!(&new, Seen::Is(Look::Ready { place }) if place.pod.as_deref() == Some("p2")),
            "{new:?}"
        );
        let place = Place { node: "n1".to_owned(), pod: Some("p1".to_owned()) };
        let known = Known { place: Some(&place), ..Known::default() };
        let end = |items: &[Value], known: Known<'_>| match seen(&job(), items, known) {
            Seen::Is(Look::Over(over)) => (over.end, over.is_certain()),
            other => panic!("{other:?}"),
        };
        assert_eq!(end(&items, known), (JobEnd::Ended, true));
        assert_eq!(end(&[of_job.clone(), pod("p2", "Running")], known), (JobEnd::Taken, true));
        assert_eq!(end(std::slice::from_ref(&of_job), known), (JobEnd::Taken, true));
        assert_eq!(end(&[], known), (JobEnd::Deleted, true));
        let failed = JobOver::new(job(), JobEnd::NodeFailed);
        assert_eq!(
            end(&[], Known { place: Some(&place), over: Some(&failed), server: None }),
            (JobEnd::NodeCameBack, true)
        );
        let cancelled = JobOver { may_go_on: true, ..JobOver::new(job(), JobEnd::Cancelled) };
        let known = Known { over: Some(&cancelled), ..Known::default() };
        assert_eq!(end(&[], known), (JobEnd::Cancelled, true));
        let preempted = JobOver { may_go_on: true, ..JobOver::new(job(), JobEnd::Preempted) };
        let known = Known { place: Some(&place), over: Some(&preempted), server: None };
        assert_eq!(end(std::slice::from_ref(&of_job), known), (JobEnd::Preempted, true));
        assert_eq!(seen(&job(), &[of_job], Known::default()), Seen::NoPod);
    }

    #[test]
    fn job_that_is_about_to_go_is_not_taken_up() {
        let going = json!({ "kind": "Job", "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        for items in [vec![going.clone()], vec![going, pod("p1", "Running")], vec![pod("p1", "Running")]] {
            let seen = seen(&job(), &items, Known::default());
            let is_ending = matches!(seen, Seen::Is(Look::Waiting { fault: JobFault::Stalled { .. } }));
            assert!(is_ending, "{items:?}: {seen:?}");
        }
        let orphan = json!({ "kind": "Pod", "metadata": { "name": "p1" }, "spec": { "nodeName": "n1" }, "status":
            { "phase": "Running", "containerStatuses": [{ "name": "forge", "state": { "running": {} } }] } });
        let left = seen(&job(), &[orphan], Known::default());
        assert!(matches!(left, Seen::Is(Look::Ready { .. })), "what it holds can be fetched: {left:?}");
    }

    #[test]
    fn job_that_ended_without_its_pod_being_seen_is_over() {
        let place = Place { node: "n1".to_owned(), pod: Some("p1".to_owned()) };
        let of = |kind: &str, reason: &str| {
            json!({ "kind": "Job", "status": { "conditions":
            [{ "type": kind, "status": "True", "reason": reason }] } })
        };
        for (kind, reason, end) in [
            ("Failed", "DeadlineExceeded", JobEnd::TimeLimit),
            ("FailureTarget", "DeadlineExceeded", JobEnd::TimeLimit),
            ("Failed", "BackoffLimitExceeded", JobEnd::Taken),
            ("Complete", "CompletionsReached", JobEnd::Taken),
            ("SuccessCriteriaMet", "CompletionsReached", JobEnd::Taken),
        ] {
            for place in [None, Some(&place)] {
                let seen = seen(&job(), &[of(kind, reason)], Known { place, ..Known::default() });
                let is_so =
                    matches!(&seen, Seen::Is(Look::Over(over)) if over.end == end && over.is_certain());
                assert!(is_so, "{kind} {reason} {place:?}: {seen:?}");
            }
        }
    }
}
