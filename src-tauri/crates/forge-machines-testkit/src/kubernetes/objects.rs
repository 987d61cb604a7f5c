//! The Jobs, pods and events that the server has.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    process::Child,
};

use anyhow::Result;
use serde_json::{Value, json};

use super::{Answers, NAMESPACE, PodEnd, Pods, pods};

/// When everything happens.
const AT: &str = "2026-01-01T00:00:00Z";

/// The node of all pods.
const NODE: &str = "node-1";

/// A pod, and its first process while it runs.
#[derive(Debug)]
pub(super) struct Pod {
    pub(super) object: Value,
    first: Option<Child>,
    /// Whether it is gone after the next look.
    is_taken: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) how: Answers,
    pub(super) jobs: BTreeMap<String, Value>,
    pub(super) pods: BTreeMap<String, Pod>,
    pub(super) events: Vec<Value>,
    pub(super) created: usize,
    pub(super) sent: Vec<String>,
    folder: PathBuf,
    becomes: Pods,
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self {
            how: Answers::Well,
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            events: Vec::new(),
            created: 0,
            sent: Vec::new(),
            folder,
            becomes: Pods::Run,
        }
    }

    /// Takes a Job, and does for its pod what controller, scheduler and node do.
    pub(super) fn create(&mut self, mut job: Value) -> Result<Value> {
        self.created += 1;
        let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        job["metadata"]["namespace"] = json!(NAMESPACE);
        job["metadata"]["uid"] = json!(format!("uid-{}", self.created));
        job["metadata"]["creationTimestamp"] = json!(AT);
        job["status"] = json!({});
        self.jobs.insert(name.clone(), job.clone());
        self.place(&name)?;
        Ok(job)
    }

    /// Does for the Job of a name what is to become of its pod.
    fn place(&mut self, name: &str) -> Result<()> {
        let job = self.jobs[name].clone();
        let pod_name = format!("{name}-p{}", self.created);
        let status = match self.becomes.clone() {
            Pods::AreRefused(message) => {
                self.events.push(json!({
                    "kind": "Event", "apiVersion": "v1",
                    "metadata": { "name": format!("{name}.1"), "namespace": NAMESPACE, "creationTimestamp": AT },
                    "involvedObject": { "kind": "Job", "name": name, "namespace": NAMESPACE, "apiVersion": "batch/v1" },
                    "reason": "FailedCreate", "message": message, "type": "Warning", "lastTimestamp": AT,
                }));
                return Ok(());
            }
            Pods::Wait(status) => status,
            Pods::Run => running(),
        };
        let template = &job["spec"]["template"];
        let mut labels = template["metadata"]["labels"].clone();
        labels["job-name"] = json!(name);
        let mut object = json!({
            "kind": "Pod", "apiVersion": "v1",
            "metadata": { "name": pod_name, "namespace": NAMESPACE, "labels": labels, "creationTimestamp": AT,
                "uid": format!("{pod_name}-uid"),
                "ownerReferences": [{ "apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": true,
                    "uid": job["metadata"]["uid"] }] },
            "spec": template["spec"],
            "status": status,
        });
        let mut first = None;
        if self.becomes == Pods::Run {
            object["spec"]["nodeName"] = json!(NODE);
            first = Some(pods::start(&self.folder, &pod_name, &template["spec"])?);
        }
        self.pods.insert(pod_name, Pod { object, first, is_taken: false });
        Ok(())
    }

    /// Has the pods of Jobs become something else, those that wait at once.
    pub(super) fn change(&mut self, becomes: Pods) -> Result<()> {
        self.becomes = becomes;
        self.pods.retain(|_, pod| pod.object["status"]["phase"] != "Pending");
        self.events.clear();
        let names: Vec<String> = self.jobs.keys().cloned().collect();
        for name in names {
            if !self.pods.values().any(|pod| is_of(&pod.object, &name)) {
                self.place(&name)?;
            }
        }
        Ok(())
    }

    /// Ends the pods that run.
    pub(super) fn end_all(&mut self, end: &PodEnd) {
        for pod in self.pods.values_mut().filter(|pod| pod.first.is_some()) {
            match end {
                PodEnd::Failed(status) => {
                    pods::end(&mut pod.first);
                    pod.object["status"] = status.clone();
                    pod.object["status"]["phase"] = json!("Failed");
                }
                PodEnd::NodeLost => {
                    pod.object["metadata"]["deletionTimestamp"] = json!(AT);
                    pod.object["status"]["reason"] = json!("NodeLost");
                }
                PodEnd::Taken(reason) => {
                    pods::end(&mut pod.first);
                    pod.object["metadata"]["deletionTimestamp"] = json!(AT);
                    let target = json!({ "type": "DisruptionTarget", "status": "True", "reason": reason });
                    pod.object["status"]["conditions"] = json!([target]);
                    pod.is_taken = true;
                }
                PodEnd::Gone => pods::end(&mut pod.first),
            }
        }
        if *end == PodEnd::Gone {
            self.pods.clear();
        }
        // A pod that is about to go is not counted yet.
        if matches!(end, PodEnd::Failed(_) | PodEnd::Gone) {
            self.jobs.values_mut().for_each(fail);
        }
    }

    /// Those that were taken from their nodes are there no more.
    pub(super) fn forget_taken(&mut self) {
        let taken: Vec<String> =
            self.pods.iter().filter(|(_, pod)| pod.is_taken).map(|(name, _)| name.clone()).collect();
        for name in taken {
            let of = self.pods[&name].object["metadata"]["labels"]["job-name"].clone();
            self.pods.remove(&name);
            if let Some(job) = of.as_str().and_then(|of| self.jobs.get_mut(of)) {
                fail(job);
            }
        }
    }

    /// Deletes a Job with its pods. Whether it was there.
    pub(super) fn delete_job(&mut self, name: &str) -> bool {
        let of: Vec<String> = self
            .pods
            .iter()
            .filter(|(_, pod)| is_of(&pod.object, name))
            .map(|(name, _)| name.clone())
            .collect();
        of.iter().for_each(|pod| {
            self.delete_pod(pod);
        });
        self.jobs.remove(name).is_some()
    }

    /// Deletes a pod. Whether it was there.
    pub(super) fn delete_pod(&mut self, name: &str) -> bool {
        let Some(mut pod) = self.pods.remove(name) else { return false };
        pods::end(&mut pod.first);
        true
    }

    pub(super) fn delete_all(&mut self) {
        let names: Vec<String> = self.jobs.keys().cloned().collect();
        names.iter().for_each(|name| {
            self.delete_job(name);
        });
    }

    /// The first processes of all pods.
    pub(super) fn first_pids(&self) -> BTreeSet<u32> {
        self.pods.values().filter_map(|pod| pods::first_of(pod.first.as_ref()?).ok()).collect()
    }
}

/// The Job of a pod that failed is over.
fn fail(job: &mut Value) {
    let why = json!({ "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded",
        "message": "Job has reached the specified backoff limit" });
    job["status"] = json!({ "failed": 1, "conditions": [why] });
}

fn is_of(pod: &Value, job: &str) -> bool {
    pod["metadata"]["labels"]["job-name"] == job
}

/// The status of a pod that runs.
fn running() -> Value {
    json!({
        "phase": "Running",
        "conditions": [
            { "type": "Initialized", "status": "True", "lastTransitionTime": AT },
            { "type": "Ready", "status": "True", "lastTransitionTime": AT },
            { "type": "ContainersReady", "status": "True", "lastTransitionTime": AT },
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": AT },
        ],
        "containerStatuses": [{ "name": "forge", "ready": true, "restartCount": 0, "started": true,
            "state": { "running": { "startedAt": AT } }, "lastState": {} }],
        "startTime": AT,
        "qosClass": "BestEffort",
    })
}
