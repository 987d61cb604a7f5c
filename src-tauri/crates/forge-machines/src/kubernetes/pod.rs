//! How a pod is, as the API server tells it.

use serde_json::Value;

use super::{
    manifest::CONTAINER,
    object::{holds, is_going, named, state, text},
    reason,
};
use crate::job::{JobEnd, JobFault, JobOver, JobRef, Look, Place};
use crate::kubernetes_fault::short;

/// Why a pod is about to be taken from its node, where that is told.
fn disruption(pod: &Value) -> &str {
    holds(pod, "DisruptionTarget").map_or("", |target| text(target, "/reason"))
}

/// How a pod ends that is about to be taken from its node, which answers.
fn taken(pod: &Value) -> Option<JobEnd> {
    match disruption(pod) {
        "PreemptionByScheduler" => Some(JobEnd::Preempted),
        "EvictionByEvictionAPI" => Some(JobEnd::Taken),
        "TerminationByKubelet" => Some(JobEnd::Evicted),
        _ => None,
    }
}

pub(super) fn is_ended(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// How the pod of a Job is.
pub(super) fn look_of(job: &JobRef, pod: &Value) -> Look {
    let node = text(pod, "/spec/nodeName").to_owned();
    let over = |end: JobEnd| JobOver { node: node.clone(), ..JobOver::new(job.clone(), end) };
    let is_lost = text(pod, "/status/reason") == "NodeLost" || disruption(pod) == "DeletionByTaintManager";
    match text(pod, "/status/phase") {
        "Succeeded" | "Failed" => Look::Over(ended(pod, over)),
        // It is not begun again, whatever goes on beside it.
        _ if state(pod, "terminated").is_some() => Look::Over(ended(pod, over)),
        // Its node does not answer, so nobody knows what goes on there until it does or is taken away.
        "Unknown" => Look::Over(over(JobEnd::NodeFailed)),
        _ if is_going(pod) && is_lost => Look::Over(over(JobEnd::NodeFailed)),
        // Soon the pod is not there any more, and nothing tells why.
        _ if is_going(pod) => match taken(pod) {
            Some(end) => Look::Over(JobOver { may_go_on: true, ..over(end) }),
            None => ending(job),
        },
        "Running" if state(pod, "running").is_some() => {
            Look::Ready { place: Place { node, pod: Some(text(pod, "/metadata/name").to_owned()) } }
        }
        _ => {
            let (why, remedy) = reason::of_pod(pod);
            waiting(job, why, remedy)
        }
    }
}

/// What is there and is not over is about to end.
pub(super) fn ending(job: &JobRef) -> Look {
    let (why, remedy) = ("it is ending".to_owned(), "Wait until it has ended.".to_owned());
    Look::Waiting { fault: JobFault::Stalled { job: job.clone(), why, remedy } }
}

pub(super) fn waiting(job: &JobRef, why: String, remedy: String) -> Look {
    Look::Waiting { fault: JobFault::Waiting { job: job.clone(), why, remedy } }
}

/// How a pod ended whose programs are gone.
fn ended(pod: &Value, over: impl Fn(JobEnd) -> JobOver) -> JobOver {
    let terminated = state(pod, "terminated").unwrap_or(&Value::Null);
    let said = |end: JobEnd| JobOver { said: short(text(pod, "/status/message")), ..over(end) };
    if text(terminated, "/reason") == "OOMKilled" {
        let container = named(pod, "/spec/containers", CONTAINER).unwrap_or(&Value::Null);
        let limit = text(container, "/resources/limits/memory").to_owned();
        return JobOver { limit, ..over(JobEnd::OutOfMemory) };
    }
    match (text(pod, "/status/reason"), disruption(pod)) {
        ("Evicted", _) => said(JobEnd::Evicted),
        ("NodeShutdown" | "Shutdown" | "Terminated", _) => said(JobEnd::Taken),
        ("DeadlineExceeded", _) => over(JobEnd::TimeLimit),
        ("Preempting", _) | (_, "PreemptionByScheduler") => over(JobEnd::Preempted),
        // That it is told as ended is what a node says that came back, or the cluster of one that was taken away.
        ("NodeLost", _) | (_, "DeletionByTaintManager" | "DeletionByPodGC") => over(JobEnd::NodeCameBack),
        (_, "EvictionByEvictionAPI") => said(JobEnd::Taken),
        (_, "TerminationByKubelet") => said(JobEnd::Evicted),
        _ if is_going(pod) => over(JobEnd::Deleted),
        _ => JobOver { said: why_ended(terminated), ..over(JobEnd::Ended) },
    }
}

/// What is told of a container that ended by itself: what kept it from starting, or its exit code.
fn why_ended(terminated: &Value) -> String {
    let message = short(text(terminated, "/message"));
    let code = terminated.pointer("/exitCode").and_then(Value::as_i64).unwrap_or_default();
    match (message.is_empty(), code) {
        (false, _) => message,
        (true, 0) => String::new(),
        (true, code) => format!("exit code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(change: &Value) -> Value {
        let mut pod = json!({
            "metadata": { "name": "forge-a-x1y2z" },
            "spec": { "nodeName": "n1", "containers": [
                { "name": "envoy", "resources": { "limits": { "memory": "64Mi" } } },
                { "name": "forge", "resources": { "limits": { "memory": "2Gi" } } },
            ] },
            "status": { "phase": "Running", "containerStatuses": [
                { "name": "envoy", "state": { "waiting": { "reason": "CrashLoopBackOff" } } },
                { "name": "forge", "state": { "running": {} } },
            ] },
        });
        for (at, value) in change.as_object().unwrap() {
            *pod.pointer_mut(&format!("/{}", at.split('/').next().unwrap())).unwrap() =
                match at.split_once('/') {
                    Some((first, second)) => {
                        let mut of = pod[first].clone();
                        of[second] = value.clone();
                        of
                    }
                    None => value.clone(),
                };
        }
        pod
    }

    #[test]
    fn pod_is_told_with_its_node_end_and_limit() {
        let job = JobRef("forge-a".to_owned());
        let look = |change: Value| look_of(&job, &pod(&change));
        let place = Place { node: "n1".to_owned(), pod: Some("forge-a-x1y2z".to_owned()) };
        assert_eq!(look(json!({})), Look::Ready { place });
        let going = json!("2026-01-01T00:00:00Z");
        let stalled = look(json!({ "metadata/deletionTimestamp": going }));
        assert!(matches!(stalled, Look::Waiting { fault: JobFault::Stalled { .. } }), "{stalled:?}");
        let failed = |status: Value| {
            let mut status = status;
            status["phase"] = json!("Failed");
            json!({ "status": status })
        };
        let by = |reason: &str| {
            failed(
                json!({ "conditions": [{ "type": "DisruptionTarget", "status": "True", "reason": reason }] }),
            )
        };
        let terminated = |state: Value| {
            failed(json!({ "containerStatuses": [{ "name": "forge", "state": { "terminated": state } }] }))
        };
        for (change, end, text) in [
            (
                terminated(json!({ "reason": "OOMKilled", "exitCode": 137 })),
                JobEnd::OutOfMemory,
                "Could not continue in job forge-a on n1: it was killed at its memory limit of 2Gi.",
            ),
            (
                failed(json!({ "reason": "Evicted", "message": "The node was low on resource: memory. " })),
                JobEnd::Evicted,
                "Could not continue in job forge-a on n1: its node evicted it (The node was low on resource: memory).",
            ),
            (
                failed(json!({ "reason": "DeadlineExceeded" })),
                JobEnd::TimeLimit,
                "Could not continue in job forge-a on n1: it reached its time limit.",
            ),
            (
                by("PreemptionByScheduler"),
                JobEnd::Preempted,
                "Could not continue in job forge-a on n1: a job with a higher priority preempted it.",
            ),
            (
                by("DeletionByPodGC"),
                JobEnd::NodeCameBack,
                "Could not continue in job forge-a on n1: its node failed, and came back without the job.",
            ),
            (
                terminated(
                    json!({ "reason": "StartError", "exitCode": 128, "message": "exec: \"sh\": executable file not found in $PATH" }),
                ),
                JobEnd::Ended,
                "Could not continue in job forge-a on n1: it ended (exec: \"sh\": executable file not found in $PATH).",
            ),
            (
                terminated(json!({ "reason": "Error", "exitCode": 137 })),
                JobEnd::Ended,
                "Could not continue in job forge-a on n1: it ended (exit code 137).",
            ),
            (
                json!({ "metadata/deletionTimestamp": going, "status": { "phase": "Running", "reason": "NodeLost" } }),
                JobEnd::NodeFailed,
                "Could not continue in job forge-a on n1: its node failed, and the cluster cannot tell whether programs still run there.",
            ),
            (
                json!({ "metadata/deletionTimestamp": going, "status": { "phase": "Failed" } }),
                JobEnd::Deleted,
                "Could not continue in job forge-a on n1: somebody deleted it.",
            ),
        ] {
            let Look::Over(over) = look(change.clone()) else { panic!("{change}") };
            assert_eq!((over.end, over.is_certain()), (end, end != JobEnd::NodeFailed), "{change}");
            let fault = JobFault::Over(over);
            assert_eq!(fault.to_string(), text);
            assert!(fault.remedy().ends_with('.'));
        }
    }

    #[test]
    fn container_that_ended_is_over_while_another_one_beside_it_runs() {
        let job = JobRef("forge-a".to_owned());
        let statuses = json!([
            { "name": "envoy", "state": { "running": {} } },
            { "name": "forge", "state": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } } },
        ]);
        let Look::Over(over) = look_of(&job, &pod(&json!({ "status/containerStatuses": statuses }))) else {
            panic!("it is over")
        };
        assert_eq!((over.end, over.limit.as_str(), over.is_certain()), (JobEnd::OutOfMemory, "2Gi", true));
        let sidecar = json!([
            { "name": "envoy", "state": { "terminated": { "exitCode": 1 } } },
            { "name": "forge", "state": { "running": {} } },
        ]);
        let look = look_of(&job, &pod(&json!({ "status/containerStatuses": sidecar })));
        assert!(matches!(look, Look::Ready { .. }), "{look:?}");
    }

    #[test]
    fn pod_that_is_taken_from_its_node_is_told_as_that_before_it_is_gone() {
        let job = JobRef("forge-a".to_owned());
        for (reason, end, told) in [
            (
                "PreemptionByScheduler",
                JobEnd::Preempted,
                "Could not continue in job forge-a on n1: a job with a higher priority preempted it, and it may not have ended yet.",
            ),
            (
                "EvictionByEvictionAPI",
                JobEnd::Taken,
                "Could not continue in job forge-a on n1: its pod was removed, and it has not ended yet.",
            ),
            (
                "TerminationByKubelet",
                JobEnd::Evicted,
                "Could not continue in job forge-a on n1: its node evicted it, and it has not ended yet.",
            ),
        ] {
            let target = json!([{ "type": "DisruptionTarget", "status": "True", "reason": reason }]);
            let mut going = pod(&json!({ "status/conditions": target }));
            going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            let Look::Over(over) = look_of(&job, &going) else { panic!("{reason}") };
            assert_eq!((over.end, over.is_certain()), (end, false), "{reason}");
            assert_eq!(JobFault::Over(over).to_string(), told);
        }
    }
}
