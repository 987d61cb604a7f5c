//! The manifest of a Job.

use serde_json::{Map, Value, json};

use super::{KubernetesSetup, Toleration};
use crate::{KeeperProgram, job::JobRef};

/// What is in labels before the name.
const DOMAIN: &str = "forge.dev";

/// What the names of Jobs begin with.
const PREFIX: &str = "forge-";

/// The name of the one container.
pub(super) const CONTAINER: &str = "forge";

/// What the pod does: it takes the ends of programs whose parents are gone, and ends when it is asked to. The keeper and
/// all that it runs are beside it. A pod that is taken from its node has not done what it was for.
const IDLE: &str = "trap 'exit 143' TERM INT; while :; do sleep 3600 & wait $!; done";

/// How long the pod has to end, in seconds.
const ENDS_WITHIN: u32 = 10;

/// The longest value of a label.
const LONGEST_LABEL: usize = 63;

/// The name of a Job that is created as this.
pub(super) fn name(id: &str) -> String {
    format!("{PREFIX}{}", id.to_ascii_lowercase())
}

/// What finds the Jobs of an owner, or one of them, with its pods.
pub(super) fn selector(owner: &str, id: Option<&str>) -> String {
    let job = id.map(|id| format!(",{DOMAIN}/job={}", id.to_ascii_lowercase())).unwrap_or_default();
    format!("--selector={DOMAIN}/owner={owner}{job}")
}

/// What finds a Job and its pods by its name.
pub(super) fn selector_of(owner: &str, job: &JobRef) -> String {
    selector(owner, Some(job.0.strip_prefix(PREFIX).unwrap_or(&job.0)))
}

/// What an object of an owner was created as.
pub(super) fn id_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(format!("{DOMAIN}/job"))?.as_str()
}

/// A Job for a task.
pub(super) fn manifest(setup: &KubernetesSetup, id: &str, task: &str) -> Value {
    let config = &setup.config;
    let mut labels = Map::new();
    labels.insert("app.kubernetes.io/managed-by".to_owned(), json!("forge"));
    let job = id.to_ascii_lowercase();
    for (name, value) in [("owner", setup.owner.as_str()), ("job", &job), ("task", task)] {
        if is_label(value) {
            labels.insert(format!("{DOMAIN}/{name}"), json!(value));
        }
    }
    // An idle pod waits for somebody: nodes are not emptied of it to save some.
    let annotations = json!({
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "karpenter.sh/do-not-disrupt": "true",
    });
    let mut pod = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": ENDS_WITHIN,
        "enableServiceLinks": false,
        "containers": [{
            "name": CONTAINER,
            "image": config.image,
            "command": ["sh", "-c", IDLE],
            "volumeMounts": [{ "name": CONTAINER, "mountPath": setup.root }],
        }],
        "volumes": [{ "name": CONTAINER, "emptyDir": {} }],
    });
    match &config.service_account {
        Some(account) => pod["serviceAccountName"] = json!(account),
        None => pod["automountServiceAccountToken"] = json!(false),
    }
    if !config.resources.is_empty() {
        pod["containers"][0]["resources"] =
            json!({ "requests": config.resources, "limits": config.resources });
    }
    if let Some(kind) = kind_of_nodes(setup.keepers.iter().map(KeeperProgram::architecture)) {
        pod["nodeSelector"] = json!({ "kubernetes.io/arch": kind });
    }
    if !config.tolerations.is_empty() {
        pod["tolerations"] = config.tolerations.iter().map(toleration).collect();
    }
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name(id), "labels": labels },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            // Servers that do not know it leave it out. With it, no pod is made beside one that is ending.
            "podReplacementPolicy": "Failed",
            "template": { "metadata": { "labels": labels, "annotations": annotations }, "spec": pod },
        },
    })
}

/// The one kind of nodes that keepers are for, as nodes call it.
fn kind_of_nodes<'k>(mut keepers: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let first = keepers.next()?;
    let is_only = keepers.all(|other| other == first);
    let kind = match first {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    is_only.then_some(kind)
}

fn toleration(of: &Toleration) -> Value {
    let Toleration { key, value, effect } = of;
    match value {
        Some(value) => json!({ "key": key, "operator": "Equal", "value": value, "effect": effect }),
        None => json!({ "key": key, "operator": "Exists", "effect": effect }),
    }
}

fn is_label(value: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    value.len() <= LONGEST_LABEL
        && is_edge(value.chars().next())
        && is_edge(value.chars().last())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::kubernetes::KubernetesConfig;

    fn setup(config: KubernetesConfig) -> KubernetesSetup {
        let root = "/forge".to_owned();
        KubernetesSetup {
            config,
            root,
            owner: "o1".to_owned(),
            keepers: Vec::new(),
            environment: Arc::default(),
        }
    }

    #[test]
    fn nodes_are_of_the_kind_that_there_is_a_keeper_for() {
        assert_eq!(kind_of_nodes(["x86_64"].into_iter()), Some("amd64"));
        assert_eq!(kind_of_nodes(["aarch64", "aarch64"].into_iter()), Some("arm64"));
        assert_eq!(kind_of_nodes(["x86_64", "aarch64"].into_iter()), None);
        assert_eq!(kind_of_nodes(std::iter::empty()), None);
    }

    #[test]
    fn job_is_never_begun_again_and_asks_for_what_is_configured() {
        let config = KubernetesConfig {
            namespace: "agents".to_owned(),
            image: "registry.example/agent:1".to_owned(),
            resources: [("cpu", "500m"), ("memory", "2Gi")].map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
            tolerations: vec![
                Toleration { key: "gpu".to_owned(), value: None, effect: "NoSchedule".to_owned() },
                Toleration {
                    key: "a/b".to_owned(),
                    value: Some("c".to_owned()),
                    effect: "NoExecute".to_owned(),
                },
            ],
            ..KubernetesConfig::default()
        };
        let job = manifest(&setup(config.clone()), "0198-A", "task 1");
        assert_eq!(
            (&job["metadata"]["name"], &job["spec"]["backoffLimit"]),
            (&json!("forge-0198-a"), &json!(0))
        );
        let pod = &job["spec"]["template"]["spec"];
        assert_eq!(
            (&pod["restartPolicy"], &pod["automountServiceAccountToken"]),
            (&json!("Never"), &json!(false))
        );
        assert_eq!(pod["containers"][0]["resources"]["limits"], json!({ "cpu": "500m", "memory": "2Gi" }));
        assert_eq!(
            pod["containers"][0]["resources"]["requests"],
            pod["containers"][0]["resources"]["limits"]
        );
        assert_eq!(
            pod["tolerations"],
            json!([
                { "key": "gpu", "operator": "Exists", "effect": "NoSchedule" },
                { "key": "a/b", "operator": "Equal", "value": "c", "effect": "NoExecute" },
            ])
        );
        let template = &job["spec"]["template"]["metadata"];
        assert_eq!(template["annotations"]["karpenter.sh/do-not-disrupt"], "true");
        let labels = &template["labels"];
        assert_eq!((labels["forge.dev/job"].as_str(), id_of(&job)), (Some("0198-a"), Some("0198-a")));
        assert_eq!(
            selector_of("o1", &JobRef(name("0198-A"))),
            "--selector=forge.dev/owner=o1,forge.dev/job=0198-a"
        );
        assert_eq!(labels.get("forge.dev/task"), None, "what is no label is left out");
        let account = KubernetesConfig { service_account: Some("robot".to_owned()), ..config };
        let pod = &manifest(&setup(account), "a", "t")["spec"]["template"]["spec"];
        assert_eq!(
            (pod["serviceAccountName"].as_str(), pod.get("automountServiceAccountToken")),
            (Some("robot"), None)
        );
    }
}
