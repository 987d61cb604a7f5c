//! Machines: where tasks may run besides the computer that the engine is on.

use crate::{contract, ids::MachineId, names, time::Timestamp, workflow::Finding};

use container::ContainerConfig;
use kubernetes::KubernetesConfig;
use slurm::SlurmConfig;

pub mod container;
pub mod fleet;
pub mod kubernetes;
pub mod required;
pub mod slurm;

/// The folder of Forge on a machine, unless said otherwise.
pub const DEFAULT_ROOT: &str = "~/.forge";

/// What the computer that the engine is on is called; neither a machine nor a label is called so.
pub const LOCAL: &str = "local";

/// The most labels of a machine, and of what a task requires.
const MAX_LABELS: usize = 20;

/// The largest figure that JavaScript reads exactly.
const MAX_MICRO_USD: u64 = (1 << 53) - 1;

/// The longest label, in characters.
const MAX_LABEL: usize = 40;

/// The longest name, in characters.
const MAX_NAME: usize = 60;

names! {
    /// How a machine is reached.
    pub enum MachineKind {
        /// By the user's `ssh` program.
        Ssh = "ssh",
        /// Containers of this computer, one for each task, by podman or docker.
        Container = "container",
        /// Jobs of a cluster of Slurm, one for each task.
        Slurm = "slurm",
        /// Jobs in a namespace of Kubernetes, one for each task, by `kubectl`.
        Kubernetes = "kubernetes",
    }
}

impl MachineKind {
    /// Whether each task has a keeper of its own there, in what is made for it and removed with its worktree.
    #[must_use]
    pub const fn is_of_tasks(self) -> bool {
        match self {
            Self::Ssh => false,
            Self::Container | Self::Slurm | Self::Kubernetes => true,
        }
    }

    /// Whether what is made for each task is a job of a cluster.
    #[must_use]
    pub const fn is_of_jobs(self) -> bool {
        match self {
            Self::Ssh | Self::Container => false,
            Self::Slurm | Self::Kubernetes => true,
        }
    }

    /// The folder of Forge there, unless said otherwise.
    #[must_use]
    pub const fn default_root(self) -> &'static str {
        match self {
            Self::Ssh | Self::Container | Self::Slurm => DEFAULT_ROOT,
            Self::Kubernetes => kubernetes::DEFAULT_ROOT,
        }
    }
}

names! {
    /// A machine.
    pub enum MachineContact {
        /// There is a connection.
        Live = "live",
        /// The connection failed.
        Unreachable = "unreachable",
        /// Not contacted since this engine started.
        Unknown = "unknown",
    }
}

contract! {
    /// How `ssh` reaches a machine.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct SshConfig {
        /// A host name, an address, or an alias of `~/.ssh/config`.
        pub host: String,
        /// The user there; as ssh decides when absent.
        #[serde(default)]
        pub user: Option<String>,
        /// The port; as ssh decides when absent.
        #[serde(default)]
        pub port: Option<u16>,
        /// The key file; as ssh decides when absent.
        #[serde(default)]
        pub identity_file: Option<String>,
        /// Options for `ssh -o`.
        #[serde(default)]
        pub options: Vec<String>,
    }

    /// What may run on a machine at once.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct MachineCaps {
        /// Runs of agents; no limit when absent.
        pub runs: Option<u32>,
    }

    /// What may run on a machine on one day, which begins at midnight where the engine is.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct MachineQuota {
        /// Runs of agents that begin on a day; no limit when absent.
        pub runs_per_day: Option<u32>,
        /// What the runs of a day may have cost, in micro-dollars, before the next one waits for the following day;
        /// without limit when absent. A run that is at work goes on.
        #[specta(type = Option<f64>)]
        pub micro_usd_per_day: Option<u64>,
    }

    /// A machine.
    pub struct Machine {
        /// Identity.
        pub id: MachineId,
        /// Display name; unique.
        pub name: String,
        /// How it is reached.
        pub kind: MachineKind,
        /// How `ssh` reaches it; only for a machine of that kind.
        #[serde(default)]
        pub ssh: Option<SshConfig>,
        /// How its containers are created; only for a machine of that kind.
        #[serde(default)]
        pub container: Option<ContainerConfig>,
        /// What its jobs ask for; of a machine of that kind alone.
        #[serde(default)]
        pub slurm: Option<SlurmConfig>,
        /// What its Jobs ask for; of a machine of that kind alone.
        #[serde(default)]
        pub kubernetes: Option<KubernetesConfig>,
        /// The folder of Forge there; `~/` is the home folder there. Of a cluster of Slurm, the nodes share it with the
        /// computer that submits jobs. Of Kubernetes, an empty volume is mounted there.
        pub root: String,
        /// What tasks ask for: `gpu`, `arm`.
        pub labels: Vec<String>,
        /// What may run there at once.
        pub caps: MachineCaps,
        /// What may run there on one day.
        #[serde(default)]
        pub quota: MachineQuota,
        /// While true, no new runs start on it.
        pub draining: bool,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
        /// Whether there is a connection.
        pub contact: MachineContact,
        /// Start of this state.
        pub contact_since: Option<Timestamp>,
        /// Why it is not reachable.
        pub contact_error: Option<MachineFault>,
        /// Open runs of agents there.
        pub runs: u32,
        /// Tasks whose worktree is there.
        pub tasks: u32,
    }

    /// Why something failed on a machine.
    #[derive(Eq)]
    pub struct MachineFault {
        /// What happened.
        pub message: String,
        /// Remedy.
        pub remedy: String,
    }

    /// One step of a test of a machine.
    #[derive(Eq)]
    pub struct MachineTestStep {
        /// What was checked.
        pub name: String,
        /// Whether it passed.
        pub ok: bool,
        /// What was found.
        pub message: String,
        /// Remedy.
        pub remedy: Option<String>,
    }

    /// What a test of a machine found, in order. After a step without which nothing else can be asked, it ends.
    #[derive(Eq)]
    pub struct MachineTest {
        /// Whether tasks can run there.
        pub ok: bool,
        /// The steps.
        pub steps: Vec<MachineTestStep>,
    }

    /// A host of the user's `~/.ssh/config`, which can be added as a machine.
    #[derive(Eq)]
    pub struct SshHost {
        /// Its alias.
        pub alias: String,
        /// Where it leads, as reported by ssh: `user@host:port`.
        pub target: String,
        /// The machine that it was already added as.
        pub machine_id: Option<MachineId>,
    }
}

impl SshConfig {
    /// Where it leads, as programs that use ssh are told: `user@host:port`, as far as it says so.
    #[must_use]
    pub fn destination(&self) -> String {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{user}{}{port}", self.host)
    }

    /// What is wrong with it: each finding names the field below `path`.
    fn findings(&self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add =
            |field: &str, message: &str| findings.push(Finding::new(format!("{path}.{field}"), message));
        let Self { host, user, port, identity_file, options } = self;
        if !is_line(host) || host.starts_with('-') || host.contains(char::is_whitespace) {
            add(
                "host",
                "must be a host name, an address or an alias, without blanks and not beginning with `-`",
            );
        }
        if user.as_deref().is_some_and(|user| !is_line(user) || user.contains(char::is_whitespace)) {
            add("user", "must be a user name, without blanks");
        }
        if *port == Some(0) {
            add("port", "must be between 1 and 65535");
        }
        if identity_file.as_deref().is_some_and(|file| !is_line(file)) {
            add("identity_file", "must be the path of a file");
        }
        for (index, option) in options.iter().enumerate() {
            let name: &str = option.split(['=', ' ']).next().unwrap_or_default();
            let path = format!("options[{index}]");
            if !is_line(option) || name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
                add(&path, "must be an option as `ssh -o` takes it, such as `ProxyJump=gate`");
            } else if OWN_OPTIONS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                add(&path, "is set by Forge itself, and cannot be changed");
            }
        }
        findings
    }
}

impl Machine {
    /// What is wrong with it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |path: &str, message: &str| findings.push(Finding::new(path, message));
        if !is_line(&self.name) || self.name.chars().count() > MAX_NAME {
            add("name", "must be 1 to 60 characters on one line");
        }
        if self.name == LOCAL {
            add("name", "is the name of this computer; choose another name");
        }
        let ways =
            [self.ssh.is_some(), self.container.is_some(), self.slurm.is_some(), self.kubernetes.is_some()];
        let own = match self.kind {
            MachineKind::Ssh => self.ssh.as_ref().map(|ssh| ssh.findings("ssh")),
            MachineKind::Container => self.container.as_ref().map(|it| it.findings("container")),
            MachineKind::Slurm => self.slurm.as_ref().map(|slurm| slurm.findings("slurm")),
            MachineKind::Kubernetes => self.kubernetes.as_ref().map(|it| it.findings("kubernetes")),
        };
        match own.filter(|_| ways.into_iter().filter(|given| *given).count() == 1) {
            Some(own) => findings.extend(own),
            None => findings
                .push(Finding::new(self.kind.as_str(), "must be given, and no other way to the machine")),
        }
        let mut add = |path: &str, message: &str| findings.push(Finding::new(path, message));
        let folder = self.root.strip_prefix("~/").or_else(|| self.root.strip_prefix('/'));
        let is_folder = folder.is_some_and(|rest| rest.split('/').any(|part| !part.is_empty()));
        if !is_line(&self.root) || !is_folder || self.root.split('/').any(|part| part == "..") {
            add("root", "must be an absolute folder or begin with `~/`, without `..`");
        } else if self.kind == MachineKind::Kubernetes && !self.root.starts_with('/') {
            add("root", "must be an absolute folder: an empty volume of the pod is mounted there");
        }
        if self.labels.len() > MAX_LABELS {
            add("labels", "must be at most 20");
        }
        for (index, label) in self.labels.iter().enumerate() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if label.is_empty() || label.chars().count() > MAX_LABEL || !label.chars().all(is_word) {
                add(&format!("labels[{index}]"), "must be 1 to 40 letters, digits, `-`, `_` and `.`");
            } else if label == LOCAL {
                add(&format!("labels[{index}]"), "is the name of this computer; choose another label");
            }
        }
        if self.caps.runs == Some(0) {
            add("caps.runs", "must be at least 1; null for no limit");
        }
        if self.quota.runs_per_day == Some(0) {
            add("quota.runs_per_day", "must be at least 1; null for no limit");
        }
        match self.quota.micro_usd_per_day {
            Some(0) => add("quota.micro_usd_per_day", "must be at least 1; null for no limit"),
            Some(limit) if limit > MAX_MICRO_USD => add("quota.micro_usd_per_day", "must be below 2^53"),
            Some(_) | None => {}
        }
        findings
    }
}

/// Whether a text is one line with something on it.
fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

/// Options that decide how the one connection is held, and what does not leave this computer.
const OWN_OPTIONS: [&str; 9] = [
    "BatchMode",
    "ClearAllForwardings",
    "ControlMaster",
    "ControlPath",
    "ControlPersist",
    "ForwardAgent",
    "ForwardX11",
    "RemoteCommand",
    "RequestTTY",
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn machine(change: &Value) -> Machine {
        let mut machine = json!({
            "id": "m", "name": "box", "kind": "ssh", "ssh": { "host": "box.example" }, "root": DEFAULT_ROOT,
            "labels": [], "caps": {}, "draining": false, "created_at": "2026-01-01T00:00:00.000Z",
            "updated_at": "2026-01-01T00:00:00.000Z", "contact": "unknown", "contact_since": null,
            "contact_error": null, "runs": 0, "tasks": 0,
        });
        crate::merge_patch::merge_patch(&mut machine, change);
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn what_ssh_would_take_for_something_else_is_refused_by_its_field() {
        assert_eq!(machine(&json!({})).findings(), []);
        for (change, path) in [
            (json!({ "name": "" }), "name"),
            (json!({ "ssh": { "host": "-oProxyCommand=x" } }), "ssh.host"),
            (json!({ "ssh": { "host": "a b" } }), "ssh.host"),
            (json!({ "ssh": { "port": 0 } }), "ssh.port"),
            (json!({ "ssh": { "options": ["Port=22", "forwardagent yes"] } }), "ssh.options[1]"),
            (json!({ "ssh": { "options": ["=x"] } }), "ssh.options[0]"),
            (json!({ "root": "/" }), "root"),
            (json!({ "root": "~/../x" }), "root"),
            (json!({ "root": "forge" }), "root"),
            (json!({ "labels": ["gpu", "a b"] }), "labels[1]"),
            (json!({ "caps": { "runs": 0 } }), "caps.runs"),
            (json!({ "quota": { "runs_per_day": 0 } }), "quota.runs_per_day"),
            (json!({ "quota": { "micro_usd_per_day": 0 } }), "quota.micro_usd_per_day"),
            (json!({ "quota": { "micro_usd_per_day": 1_u64 << 53 } }), "quota.micro_usd_per_day"),
            (json!({ "name": "local" }), "name"),
            (json!({ "ssh": null }), "ssh"),
            (json!({ "container": { "image": "debian:12" } }), "ssh"),
            (json!({ "kind": "container" }), "container"),
            (json!({ "kind": "slurm" }), "slurm"),
            (json!({ "slurm": {} }), "ssh"),
            (json!({ "kind": "slurm", "ssh": null, "slurm": { "cpus": 0 } }), "slurm.cpus"),
            (json!({ "kind": "kubernetes", "root": "/forge" }), "kubernetes"),
            (
                json!({ "kind": "kubernetes", "ssh": null, "root": "/forge",
                    "kubernetes": { "namespace": "A", "image": "a" } }),
                "kubernetes.namespace",
            ),
            (
                json!({ "kind": "kubernetes", "ssh": null, "kubernetes": { "namespace": "a", "image": "a" } }),
                "root",
            ),
            (
                json!({ "kind": "container", "ssh": null, "container": { "image": "--privileged" } }),
                "container.image",
            ),
            (json!({ "labels": ["gpu", "local"] }), "labels[1]"),
        ] {
            let findings = machine(&change).findings();
            assert_eq!(findings.len(), 1, "{change}: {findings:?}");
            assert_eq!(findings[0].path, path, "{change}");
        }
    }
}
