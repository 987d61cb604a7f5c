//! Why a Job waits, in words.

use serde_json::Value;

use super::object::{condition, state, text};
use crate::kubernetes_fault::short;

/// A sentence's end, and what a person can do about it; nothing where waiting helps.
pub(super) type Told = (String, String);

/// Why a pod does not run yet.
pub(super) fn of_pod(pod: &Value) -> Told {
    if let Some(waiting) = state(pod, "waiting") {
        return of_container(text(waiting, "/reason"), text(waiting, "/message"));
    }
    match condition(pod, "PodScheduled") {
        Some(scheduled) if text(scheduled, "/status") == "False" => match text(scheduled, "/reason") {
            "SchedulingGated" => told("something holds it back before it gets a node", ADMINISTRATOR),
            _ => unschedulable(text(scheduled, "/message")),
        },
        Some(_) => told("its node is making it ready", ""),
        None => told("Kubernetes has not looked for a node for it yet", ""),
    }
}

fn of_container(reason: &str, message: &str) -> Told {
    let said = said(message);
    match reason {
        "ErrImagePull" | "ImagePullBackOff" => told(&format!("its image cannot be pulled{said}"), IMAGE),
        "InvalidImageName" => told(&format!("the name of its image is not valid{said}"), IMAGE),
        "ErrImageNeverPull" => {
            told(&format!("its image is not on the node, and is never pulled{said}"), IMAGE)
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            told(&format!("its container cannot be made{said}"), CONFIGURATION)
        }
        "" | "ContainerCreating" | "PodInitializing" => told("its node is making it ready", ""),
        other => told(&format!("Kubernetes gives the reason {other}{said}"), ""),
    }
}

/// Why the scheduler finds no node.
fn unschedulable(message: &str) -> Told {
    let message = message.split(" preemption:").next().unwrap_or(message);
    let said = said(message);
    let has = |text: &str| message.contains(text);
    // What others take now may be free later, whatever else is wrong with some nodes.
    if has("Insufficient") || has("Too many pods") {
        told(&format!("no node has free what it asks for{said}"), "")
    } else if has("taint") {
        told(&format!("the nodes have taints that it does not tolerate{said}"), TOLERATIONS)
    } else if has("didn't match") || has("node selector") || has("affinity") {
        told(&format!("no node is one that it may run on{said}"), ADMINISTRATOR)
    } else {
        told(&format!("no node takes it{said}"), "")
    }
}

/// Why no pod is made for a Job, by the last of its events that says that.
pub(super) fn of_events(events: &[Value]) -> Option<Told> {
    let failed = events.iter().filter(|event| text(event, "/reason") == "FailedCreate");
    let last = failed.max_by_key(|event| {
        let at = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
        at.iter().map(|at| text(event, at)).find(|at| !at.is_empty()).unwrap_or_default().to_owned()
    })?;
    let message = text(last, "/message");
    let message = message.strip_prefix("Error creating: ").unwrap_or(message);
    let said = said(message);
    let has = |text: &str| message.contains(text);
    Some(if has("exceeded quota") {
        told(&format!("the quota of the namespace is used up{said}"), QUOTA)
    } else if has("serviceaccount") && has("not found") {
        told(&format!("its service account is not there{said}"), SERVICE_ACCOUNT)
    } else if has("violates PodSecurity") {
        told(&format!("the security rules of the namespace do not allow its pod{said}"), ADMINISTRATOR)
    } else {
        told(&format!("its pod cannot be made{said}"), CONFIGURATION)
    })
}

fn told(why: &str, remedy: &str) -> Told {
    (why.to_owned(), remedy.to_owned())
}

/// What Kubernetes said, in brackets.
fn said(message: &str) -> String {
    // What a runtime of containers says stands behind its own words.
    let message = message.rsplit_once(" desc = ").map_or(message, |(_, rest)| rest);
    if message.trim().is_empty() { String::new() } else { format!(" ({})", short(message)) }
}

const IMAGE: &str = "Correct the image of the machine, or let the namespace's service account pull it, and delete the Job \
                     with `kubectl delete job`: another one is made.";
const CONFIGURATION: &str = "Correct the machine by what was said, and delete the Job with `kubectl delete job`: another one is made.";
const TOLERATIONS: &str = "Have the machine tolerate a taint of the nodes, and delete the Job with `kubectl delete job`: \
                           another one is made.";
const SERVICE_ACCOUNT: &str = "Create the service account, or correct that of the machine and delete the Job with `kubectl \
                               delete job`: another one is made.";
pub(super) const QUOTA: &str =
    "Wait until other pods of the namespace end, lower what the machine asks for, or ask for a higher quota.";
const ADMINISTRATOR: &str = "Ask the cluster's administrator.";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reason_that_only_a_person_can_mend_has_a_remedy() {
        let waiting = |reason: &str, message: &str| json!({ "status": { "containerStatuses": [{ "name": "forge", "state": { "waiting": { "reason": reason, "message": message } } }] } });
        let scheduled = |reason: &str, message: &str| {
            let condition =
                json!({ "type": "PodScheduled", "status": "False", "reason": reason, "message": message });
            json!({ "status": { "conditions": [condition] } })
        };
        let pull = "rpc error: code = NotFound desc = failed to resolve reference \"x:1\": not found";
        for (pod, has, is_persons) in [
            (waiting("ErrImagePull", pull), "its image cannot be pulled (failed to resolve reference", true),
            (waiting("ImagePullBackOff", "Back-off pulling image \"x:1\""), "Back-off pulling", true),
            (waiting("InvalidImageName", "couldn't parse image reference"), "not valid", true),
            (waiting("CreateContainerConfigError", "secret \"x\" not found"), "cannot be made (secret", true),
            (waiting("ContainerCreating", ""), "making it ready", false),
            (waiting("SomethingNew", ""), "SomethingNew", false),
            (
                scheduled(
                    "Unschedulable",
                    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes",
                ),
                "no node has free what it asks for (0/3 nodes are available: 3 Insufficient cpu)",
                false,
            ),
            (
                scheduled(
                    "Unschedulable",
                    "0/1 nodes are available: 1 node(s) had untolerated taint {gpu: yes}.",
                ),
                "untolerated taint {gpu: yes})",
                true,
            ),
            (
                scheduled(
                    "Unschedulable",
                    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
                ),
                "no node is one that it may run on",
                true,
            ),
            (scheduled("SchedulingGated", ""), "holds it back", true),
            (json!({ "status": {} }), "not looked", false),
        ] {
            let (why, remedy) = of_pod(&pod);
            assert!(why.contains(has), "{pod}: {why}");
            assert_eq!(!remedy.is_empty(), is_persons, "{pod}: {remedy}");
        }
    }

    #[test]
    fn last_event_that_says_why_there_is_no_pod_is_told() {
        let event = |reason: &str, at: &str, message: &str| json!({ "reason": reason, "lastTimestamp": at, "message": message });
        let quota = "Error creating: pods \"x-\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1";
        let account = "Error creating: pods \"x-\" is forbidden: error looking up service account agents/robot: serviceaccount \"robot\" not found";
        let told = of_events(&[
            event("FailedCreate", "2026-01-01T00:00:02Z", quota),
            event("FailedCreate", "2026-01-01T00:00:01Z", account),
            event("SuccessfulCreate", "2026-01-01T00:00:03Z", "Created pod"),
        ]);
        assert!(
            told.unwrap().0.starts_with("the quota of the namespace is used up (pods \"x-\" is forbidden")
        );
        let (why, remedy) = of_events(&[event("FailedCreate", "", account)]).unwrap();
        assert!(why.contains("service account is not there") && remedy.starts_with("Create"), "{why}");
        assert_eq!(of_events(&[]), None);
    }
}
