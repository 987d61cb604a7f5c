//! How a Job is, by what the API server tells of it and of its pods.

use serde_json::Value;

use super::{
    object::{condition, is_going, text},
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
            // Somebody deleted the Job, and the pod may follow or not.
            Look::Ready { .. } if of_job.is_none_or(is_going) => ending(job),
            look => look,
        });
    }
    let Some(of_job) = of_job else { return Seen::Is(Look::Over(gone(job, known, JobEnd::Deleted))) };
    if known.place.is_some() {
        return Seen::Is(Look::Over(gone(job, known, JobEnd::Deleted)));
    }
    if is_going(of_job) {
        return Seen::Is(ending(job));
    }
    if let Some(failed) = condition(of_job, "Failed").filter(|it| text(it, "/status") == "True") {
        let end = match text(failed, "/reason") {
            "DeadlineExceeded" => JobEnd::TimeLimit,
            _ => JobEnd::Deleted,
        };
        return Seen::Is(Look::Over(gone(job, known, end)));
    }
    if of_job.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true) {
        let remedy = "Ask who suspended it.".to_owned();
        return Seen::Is(waiting(job, "it is suspended".to_owned(), remedy));
    }
    Seen::NoPod
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
        json!({ "kind": "Pod", "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "nodeName": "n1" },
            "status": { "phase": phase, "containerStatuses": [{ "state": { "running": {} } }] } })
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
        let known = Known { place: Some(&place), over: None };
        let end = |items: &[Value], known: Known<'_>| match seen(&job(), items, known) {
            Seen::Is(Look::Over(over)) => (over.end, over.is_certain()),
            other => panic!("{other:?}"),
        };
        assert_eq!(end(&items, known), (JobEnd::Ended, true));
        assert_eq!(end(&[of_job.clone(), pod("p2", "Running")], known), (JobEnd::Deleted, true));
        assert_eq!(end(&[], known), (JobEnd::Deleted, true));
        let failed = JobOver::new(job(), JobEnd::NodeFailed);
        assert_eq!(
            end(&[], Known { place: Some(&place), over: Some(&failed) }),
            (JobEnd::NodeCameBack, true)
        );
        let cancelled = JobOver { may_go_on: true, ..JobOver::new(job(), JobEnd::Cancelled) };
        assert_eq!(end(&[], Known { place: None, over: Some(&cancelled) }), (JobEnd::Cancelled, true));
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
        let late = json!({ "kind": "Job", "status": { "conditions":
            [{ "type": "Failed", "status": "True", "reason": "DeadlineExceeded" }] } });
        let seen = seen(&job(), &[late], Known::default());
        assert!(matches!(&seen, Seen::Is(Look::Over(over)) if over.end == JobEnd::TimeLimit), "{seen:?}");
    }
}
