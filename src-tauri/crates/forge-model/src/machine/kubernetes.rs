//! What the Jobs of a machine ask for that is a namespace of Kubernetes.

use std::collections::BTreeMap;

use super::is_line;
use crate::{contract, workflow::Finding};

/// The folder of Forge in a pod, unless said otherwise: an empty volume is mounted there.
pub const DEFAULT_ROOT: &str = "/forge";

/// The least memory of a pod, in MiB: an agent needs it.
const LEAST_MEMORY: u32 = 64;

/// The most tolerations.
const MAX_TOLERATIONS: usize = 20;

/// What a taint that is tolerated does.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

contract! {
    /// What the Jobs of tasks ask for, and where they are created by `kubectl`.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields)]
    pub struct KubernetesConfig {
        /// The context of the configuration of `kubectl`; its current one when absent.
        #[serde(default)]
        pub context: Option<String>,
        /// The absolute path of that configuration; as `kubectl` decides when absent.
        #[serde(default)]
        pub kubeconfig: Option<String>,
        /// The namespace.
        pub namespace: String,
        /// The image of the pods, which has `sh` and git.
        pub image: String,
        /// The service account of the pods. Without one, they see no credential of the cluster.
        #[serde(default)]
        pub service_account: Option<String>,
        /// What each pod asks for, and may take at most, by resource: `{"cpu": "500m", "memory": "2Gi"}`.
        #[serde(default)]
        pub resources: BTreeMap<String, String>,
        /// Which taints of nodes the pods tolerate: `key:Effect`, or `key=value:Effect`.
        #[serde(default)]
        pub tolerations: Vec<String>,
    }
}

/// A toleration in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Toleration<'t> {
    /// The key of the taint.
    pub key: &'t str,
    /// Its value; any when absent.
    pub value: Option<&'t str>,
    /// Its effect.
    pub effect: &'t str,
}

impl<'t> Toleration<'t> {
    /// Reads `key[=value]:Effect`.
    #[must_use]
    pub fn parse(text: &'t str) -> Option<Self> {
        let (taint, effect) = text.rsplit_once(':')?;
        let (key, value) = match taint.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (taint, None),
        };
        let is_whole = is_qualified(key) && value.is_none_or(is_label) && EFFECTS.contains(&effect);
        is_whole.then_some(Self { key, value, effect })
    }
}

impl KubernetesConfig {
    /// The memory that a pod may take at most, in MiB.
    #[must_use]
    pub fn memory_mb(&self) -> Option<u32> {
        let mebibytes = quantity(self.resources.get("memory")?)? / f64::from(1 << 20);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is bounded")]
        Some(mebibytes.clamp(0.0, f64::from(u32::MAX)) as u32)
    }

    /// What is wrong with it: each finding names the field below `path` and says what to do.
    #[must_use]
    pub fn findings(&self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add =
            |field: &str, message: &str| findings.push(Finding::new(format!("{path}.{field}"), message));
        let Self { context, kubeconfig, namespace, image, service_account, resources, tolerations } = self;
        if context.as_deref().is_some_and(|context| !is_line(context)) {
            add("context", "must be the name of a context; null for the current one");
        }
        let is_file = |file: &str| is_line(file) && file.starts_with('/') && !file.ends_with('/');
        if kubeconfig.as_deref().is_some_and(|file| !is_file(file)) {
            add("kubeconfig", "must be the absolute path of a file; null for what kubectl uses");
        }
        if !is_dns_label(namespace) {
            add("namespace", "must be a namespace: at most 63 small letters, digits and `-`");
        }
        if !is_line(image) || image.contains(char::is_whitespace) {
            add("image", "must be the name of an image, such as `registry.example/agent:1`");
        }
        let is_account = |name: &str| name.len() <= 253 && name.split('.').all(is_dns_label);
        if service_account.as_deref().is_some_and(|name| !is_account(name)) {
            add("service_account", "must be a service account: small letters, digits, `-` and `.`");
        }
        for (name, amount) in resources {
            let field = format!("resources.{name}");
            if !is_qualified(name) {
                add(&field, "must be the name of a resource, such as `cpu`, `memory` or `nvidia.com/gpu`");
            } else if quantity(amount).is_none_or(|amount| amount <= 0.0) {
                add(&field, "must be a quantity above zero, such as `2`, `500m` or `2Gi`");
            }
        }
        if self.memory_mb().is_some_and(|memory| memory < LEAST_MEMORY)
            && resources.get("memory").is_some_and(|memory| quantity(memory).is_some_and(|it| it > 0.0))
        {
            add("resources.memory", "must be at least `64Mi`; left out for what the cluster gives");
        }
        if tolerations.len() > MAX_TOLERATIONS {
            add("tolerations", "must be at most 20");
        }
        for (index, toleration) in tolerations.iter().enumerate() {
            if Toleration::parse(toleration).is_none() {
                let message = "must be `key:Effect` or `key=value:Effect`, with the effect `NoSchedule`, \
                               `PreferNoSchedule` or `NoExecute`";
                add(&format!("tolerations[{index}]"), message);
            }
        }
        findings
    }
}

/// Whether a text is a label of a DNS name, as Kubernetes takes it.
fn is_dns_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len())
        && text.chars().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Whether a text is the value of a label, which may be empty.
fn is_label(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && is_edge(text.chars().next())
        && is_edge(text.chars().last())
}

/// Whether a text is a name, with or without a domain before it.
fn is_qualified(text: &str) -> bool {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    let is_domain = |domain: &str| domain.len() <= 253 && domain.split('.').all(is_dns_label);
    !name.is_empty() && is_label(name) && domain.is_none_or(is_domain)
}

/// The amount of a quantity as Kubernetes writes it.
fn quantity(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let scale = match suffix {
        "" => 1.0,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "Ki" => 1024.0,
        "Mi" => 1024.0_f64.powi(2),
        "Gi" => 1024.0_f64.powi(3),
        "Ti" => 1024.0_f64.powi(4),
        "Pi" => 1024.0_f64.powi(5),
        _ => return None,
    };
    let is_number = number.starts_with(|c: char| c.is_ascii_digit()) && !number.ends_with('.');
    Some(number.parse::<f64>().ok().filter(|_| is_number)? * scale)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(change: &Value) -> KubernetesConfig {
        let mut config = json!({ "namespace": "agents", "image": "registry.example/agent:1" });
        crate::merge_patch::merge_patch(&mut config, change);
        serde_json::from_value(config).unwrap()
    }

    #[test]
    fn what_kubernetes_would_refuse_is_refused_by_its_field() {
        assert_eq!(config(&json!({})).findings("kubernetes"), []);
        let full = json!({ "context": "prod/admin", "kubeconfig": "/home/me/.kube/config", "service_account": "robot.v1",
            "resources": { "cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": "1", "ephemeral-storage": "1.5G" },
            "tolerations": ["gpu:NoSchedule", "example.com/team=a_b:NoExecute", "x=:PreferNoSchedule"] });
        assert_eq!(config(&full).findings("kubernetes"), []);
        for (change, field) in [
            (json!({ "namespace": "" }), "namespace"),
            (json!({ "namespace": "Agents" }), "namespace"),
            (json!({ "namespace": "-a" }), "namespace"),
            (json!({ "namespace": "a".repeat(64) }), "namespace"),
            (json!({ "image": "" }), "image"),
            (json!({ "image": "a b" }), "image"),
            (json!({ "context": "" }), "context"),
            (json!({ "kubeconfig": "~/.kube/config" }), "kubeconfig"),
            (json!({ "service_account": "Robot" }), "service_account"),
            (json!({ "resources": { "cpu": "half" } }), "resources.cpu"),
            (json!({ "resources": { "cpu": "0" } }), "resources.cpu"),
            (json!({ "resources": { "memory": "2GiB" } }), "resources.memory"),
            (json!({ "resources": { "memory": "1Mi" } }), "resources.memory"),
            (json!({ "resources": { "Nvidia.com/gpu": "1" } }), "resources.Nvidia.com/gpu"),
            (json!({ "tolerations": ["gpu"] }), "tolerations[0]"),
            (json!({ "tolerations": ["gpu:NoSchedule", "gpu:Never"] }), "tolerations[1]"),
            (json!({ "tolerations": ["a b:NoSchedule"] }), "tolerations[0]"),
        ] {
            let paths: Vec<String> =
                config(&change).findings("kubernetes").into_iter().map(|it| it.path).collect();
            assert_eq!(paths, [format!("kubernetes.{field}")], "{change}");
        }
    }

    #[test]
    fn memory_and_tolerations_are_read() {
        let memory = |memory: &str| config(&json!({ "resources": { "memory": memory } })).memory_mb();
        assert_eq!(
            [memory("2Gi"), memory("512Mi"), memory("1G"), memory("x")],
            [Some(2048), Some(512), Some(953), None]
        );
        assert_eq!(config(&json!({})).memory_mb(), None);
        let gpu = Toleration { key: "gpu", value: Some("yes"), effect: "NoSchedule" };
        assert_eq!(Toleration::parse("gpu=yes:NoSchedule"), Some(gpu));
        assert_eq!(Toleration::parse("gpu:NoExecute").and_then(|it| it.value), None);
    }
}
