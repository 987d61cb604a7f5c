//! What the jobs of a machine ask for that is a cluster of Slurm.

use super::is_line;
use crate::{contract, workflow::Finding};

/// The least memory of a job, in MiB: an agent needs it.
const LEAST_MEMORY: u32 = 64;

contract! {
    /// What the jobs of tasks ask for, and where they are submitted. What is absent is as the cluster has it.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct SlurmConfig {
        /// The partition; several are separated by commas.
        pub partition: Option<String>,
        /// The account to charge.
        pub account: Option<String>,
        /// The time limit of a job, in minutes.
        pub time_minutes: Option<u32>,
        /// The processors.
        pub cpus: Option<u32>,
        /// The memory, in MiB.
        pub memory_mb: Option<u32>,
        /// Generic resources, such as `gpu:1`.
        pub gres: Option<String>,
        /// The machine of ssh on which jobs are submitted, by its name; this computer when absent.
        pub via: Option<String>,
    }
}

impl SlurmConfig {
    /// What is wrong with it: each finding names the field below `path` and says what to do.
    #[must_use]
    pub fn findings(&self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add =
            |field: &str, message: &str| findings.push(Finding::new(format!("{path}.{field}"), message));
        let Self { partition, account, time_minutes, cpus, memory_mb, gres, via } = self;
        if !is_word(partition.as_deref(), "-_.,") {
            add("partition", "must be the name of a partition: letters, digits, `-`, `_` and `.`");
        }
        if !is_word(account.as_deref(), "-_.") {
            add("account", "must be the name of an account: letters, digits, `-`, `_` and `.`");
        }
        if !is_word(gres.as_deref(), "-_.,:=") {
            add("gres", "must be generic resources as Slurm names them, such as `gpu:1`");
        }
        if *time_minutes == Some(0) {
            add("time_minutes", "must be at least 1; null for what the partition allows");
        }
        if *cpus == Some(0) {
            add("cpus", "must be at least 1; null for what the cluster gives");
        }
        if memory_mb.is_some_and(|memory| memory < LEAST_MEMORY) {
            add("memory_mb", "must be at least 64; null for what the cluster gives");
        }
        if via.as_deref().is_some_and(|name| !is_line(name)) {
            add("via", "must be the name of a machine of ssh; null for this computer");
        }
        findings
    }
}

/// Whether `sbatch` would read a value as a name, and not as an option. What is absent is one.
fn is_word(text: Option<&str>, more: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    text.is_none_or(|text| !text.is_empty() && !text.starts_with('-') && text.chars().all(is_part))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_sbatch_would_take_for_something_else_is_refused_by_its_field() {
        let findings = |config: serde_json::Value| {
            serde_json::from_value::<SlurmConfig>(config).unwrap().findings("slurm")
        };
        assert_eq!(findings(json!({})), []);
        let full = json!({ "partition": "gpu,long", "account": "lab-1", "time_minutes": 90, "cpus": 2,
            "memory_mb": 512, "gres": "gpu:a100:2", "via": "login" });
        assert_eq!(findings(full), []);
        for (config, field) in [
            (json!({ "partition": "-x" }), "partition"),
            (json!({ "partition": "" }), "partition"),
            (json!({ "account": "a b" }), "account"),
            (json!({ "gres": "gpu$(x)" }), "gres"),
            (json!({ "time_minutes": 0 }), "time_minutes"),
            (json!({ "cpus": 0 }), "cpus"),
            (json!({ "memory_mb": 1 }), "memory_mb"),
            (json!({ "via": "" }), "via"),
        ] {
            let paths: Vec<String> = findings(config.clone()).into_iter().map(|it| it.path).collect();
            assert_eq!(paths, [format!("slurm.{field}")], "{config}");
        }
    }
}
