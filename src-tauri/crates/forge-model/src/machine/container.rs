//! How a machine is made that is a container for each task.

use std::borrow::Cow;

use super::is_line;
use crate::{contract, names, workflow::Finding};

/// The least memory of a container, in MiB: an agent needs it.
const LEAST_MEMORY: u32 = 64;

/// The fewest processes of a container: a shell, git and the keeper need some.
const FEWEST_PIDS: u32 = 16;

/// The most mounts.
const MAX_MOUNTS: usize = 20;

/// Sockets by which a container would rule this computer.
const SOCKETS: &[&str] = &["docker.sock", "podman.sock", "containerd.sock", "crio.sock"];

/// Folders of a container that are its own, or Forge's.
const OWN_FOLDERS: &[&str] = &["/", "/dev", "/opt/forge-keepers", "/proc", "/sys"];

names! {
    /// Program that runs containers.
    pub enum ContainerEngine {
        /// podman if it can be used, otherwise docker.
        Auto = "auto",
        /// podman.
        Podman = "podman",
        /// docker.
        Docker = "docker",
    }
}

names! {
    /// What a container can reach.
    pub enum ContainerNetwork {
        /// Nothing.
        None = "none",
        /// Everything that this computer can reach, and its own services.
        Host = "host",
        /// The default of podman or docker.
        Default = "default",
    }
}

const fn auto() -> ContainerEngine {
    ContainerEngine::Auto
}

const fn usual_network() -> ContainerNetwork {
    ContainerNetwork::Default
}

contract! {
    /// A folder or file of this computer that a container can see.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ContainerMount {
        /// The absolute path on this computer.
        pub source: String,
        /// The absolute path in the container.
        pub target: String,
        /// Whether the container cannot write to it.
        #[serde(default = "yes")]
        pub read_only: bool,
    }

    /// How containers of a machine are made. Exactly one of `image`, `containerfile` and `devcontainer` is given.
    #[serde(deny_unknown_fields)]
    pub struct ContainerConfig {
        /// Program that runs them.
        #[serde(default = "auto")]
        pub engine: ContainerEngine,
        /// The name of an image, which is pulled if it is missing.
        #[serde(default)]
        pub image: Option<String>,
        /// The absolute path of a Containerfile, whose folder the image is built from.
        #[serde(default)]
        pub containerfile: Option<String>,
        /// The absolute path of a devcontainer.json, whose folder the image is built from.
        #[serde(default)]
        pub devcontainer: Option<String>,
        /// What they reach.
        #[serde(default = "usual_network")]
        pub network: ContainerNetwork,
        /// Maximum memory, in MiB; no limit when absent.
        #[serde(default)]
        pub memory_mb: Option<u32>,
        /// Maximum processor time, in processors; no limit when absent.
        #[serde(default)]
        pub cpus: Option<f64>,
        /// Maximum number of processes and threads; the default of podman or docker when absent.
        #[serde(default)]
        pub pids: Option<u32>,
        /// Folders and files of this computer that they can see; none when empty.
        #[serde(default)]
        pub mounts: Vec<ContainerMount>,
        /// The user in them, by name or numbers; the image's user when absent.
        #[serde(default)]
        pub user: Option<String>,
    }
}

const fn yes() -> bool {
    true
}

impl ContainerConfig {
    /// What is wrong with it: each finding names the field below `path` and says what to do.
    #[must_use]
    pub fn findings(&self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add =
            |field: &str, message: &str| findings.push(Finding::new(format!("{path}.{field}"), message));
        let sources = [&self.image, &self.containerfile, &self.devcontainer];
        if sources.iter().filter(|source| source.is_some()).count() != 1 {
            add("image", "give exactly one of `image`, `containerfile` and `devcontainer`");
        }
        if self.image.as_deref().is_some_and(|image| !is_image(image)) {
            add("image", "must be the name of an image, such as `docker.io/library/debian:12`");
        }
        for (field, file) in [("containerfile", &self.containerfile), ("devcontainer", &self.devcontainer)] {
            if file.as_deref().is_some_and(|file| !is_path(file)) {
                add(field, "must be the absolute path of a file, without `..`");
            }
        }
        if self.memory_mb.is_some_and(|memory| memory < LEAST_MEMORY) {
            add("memory_mb", "must be at least 64; null for no limit");
        }
        if self.cpus.is_some_and(|cpus| !cpus.is_finite() || !(0.1..=1024.0).contains(&cpus)) {
            add("cpus", "must be between 0.1 and 1024; null for no limit");
        }
        if self.pids.is_some_and(|pids| pids < FEWEST_PIDS) {
            add("pids", "must be at least 16; null for what podman or docker allows");
        }
        if self.user.as_deref().is_some_and(|user| !is_user(user)) {
            add("user", "must be a user of the image, or numbers such as `1000:1000`");
        }
        if self.mounts.len() > MAX_MOUNTS {
            add("mounts", "must be at most 20");
        }
        for (index, mount) in self.mounts.iter().enumerate() {
            for (field, message) in mount.findings() {
                add(&format!("mounts[{index}].{field}"), &message);
            }
        }
        findings
    }
}

impl ContainerMount {
    fn findings(&self) -> Vec<(&'static str, Cow<'static, str>)> {
        let mut findings = Vec::new();
        let name = self.source.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
        if !is_path(&self.source) || self.source.contains([',', '"']) {
            findings.push(("source", "must be an absolute path, without `..`, `,` and quotes".into()));
        } else if name.is_empty() {
            findings.push(("source", "is all of this computer; name a folder".into()));
        } else if SOCKETS.contains(&name) {
            findings.push(("source", "would let the container rule this computer; leave it out".into()));
        }
        let target = self.target.trim_end_matches('/');
        let target = if target.is_empty() { "/" } else { target };
        if !is_path(&self.target) || self.target.contains([',', '"']) {
            findings.push(("target", "must be an absolute path, without `..`, `,` and quotes".into()));
        } else if OWN_FOLDERS.contains(&target) {
            findings.push(("target", format!("{target} is the container's own; choose another path").into()));
        }
        findings
    }
}

/// Whether podman and docker would read it as an image's name, and not as an option.
fn is_image(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(is_part)
}

fn is_path(path: &str) -> bool {
    is_line(path) && path.starts_with('/') && path.split('/').all(|part| part != "..")
}

fn is_user(user: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    user.split(':').count() <= 2 && user.split(':').all(is_part)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config(change: &Value) -> ContainerConfig {
        let mut config = json!({ "image": "debian:12" });
        crate::merge_patch::merge_patch(&mut config, change);
        serde_json::from_value(config).unwrap()
    }

    #[test]
    fn container_is_made_by_podman_or_docker_without_mounts_and_limits_unless_said_otherwise() {
        let config = config(&json!({}));
        assert_eq!((config.engine, config.network), (ContainerEngine::Auto, ContainerNetwork::Default));
        assert_eq!((config.memory_mb, config.cpus, config.pids), (None, None, None));
        assert_eq!(config.findings("container"), []);
        let full = json!({ "image": null, "devcontainer": "/p/.devcontainer/devcontainer.json", "engine": "docker",
            "network": "none", "memory_mb": 512, "cpus": 1.5, "pids": 100, "user": "1000:1000",
            "mounts": [{ "source": "/cache", "target": "/cache" }] });
        let full = self::config(&full);
        assert!(full.mounts[0].read_only);
        assert_eq!(full.findings("container"), []);
    }

    #[test]
    fn what_podman_would_take_for_something_else_is_refused_by_its_field() {
        let mount =
            |source: &str, target: &str| json!({ "mounts": [{ "source": source, "target": target }] });
        for (change, path) in [
            (json!({ "image": null }), "image"),
            (json!({ "containerfile": "/a/Containerfile" }), "image"),
            (json!({ "image": "--privileged" }), "image"),
            (json!({ "image": "a b" }), "image"),
            (json!({ "image": null, "containerfile": "Containerfile" }), "containerfile"),
            (json!({ "image": null, "devcontainer": "/a/../b" }), "devcontainer"),
            (json!({ "memory_mb": 1 }), "memory_mb"),
            (json!({ "cpus": 0.0 }), "cpus"),
            (json!({ "pids": 1 }), "pids"),
            (json!({ "user": "-x" }), "user"),
            (json!({ "user": "a:b:c" }), "user"),
            (mount("cache", "/cache"), "mounts[0].source"),
            (mount("/", "/cache"), "mounts[0].source"),
            (mount("/a,readonly=false", "/cache"), "mounts[0].source"),
            (mount("/var/run/docker.sock", "/s"), "mounts[0].source"),
            (mount("/cache", "/"), "mounts[0].target"),
            (mount("/cache", "/proc/"), "mounts[0].target"),
        ] {
            let findings = config(&change).findings("container");
            assert_eq!(findings.len(), 1, "{change}: {findings:?}");
            assert_eq!(findings[0].path, format!("container.{path}"), "{change}");
        }
    }
}
