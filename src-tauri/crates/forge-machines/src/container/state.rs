//! How a container is, as podman and docker tell it.

use serde_json::Value;

use crate::ContainerFault;

/// The labels of containers.
pub(super) const OWNER: &str = "forge.owner";
pub(super) const MACHINE: &str = "forge.machine";
pub(super) const TASK: &str = "forge.task";
pub(super) const KEEPER_HASH: &str = "forge.keeper";

/// How a container is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It is being made, or its making was cut short.
    Pending,
    /// It runs.
    Ready,
    /// It does not run. Its files are there, and it is started when somebody connects.
    Stopped {
        /// Why.
        fault: ContainerFault,
    },
    /// There is no such container.
    Gone {
        /// Why.
        fault: ContainerFault,
    },
}

/// A container of an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The task that it is for.
    pub task: String,
    /// The machine that it was made for.
    pub machine: String,
    /// The hash of the keeper that holds it.
    pub keeper: String,
    /// How it is.
    pub look: Look,
}

impl Listed {
    /// Whether a test of a machine made it that this process runs.
    #[must_use]
    pub fn is_of_own_test(&self) -> bool {
        self.task.starts_with(&test_tasks())
    }

    /// Whether a test of a machine made it.
    #[must_use]
    pub fn is_of_test(&self) -> bool {
        self.task.starts_with(TEST)
    }
}

/// What the tasks of tests begin with.
const TEST: &str = "test-";

/// What the tasks of this process's tests begin with.
pub(super) fn test_tasks() -> String {
    format!("{TEST}{}-", std::process::id())
}

/// Reads one container of what `inspect` tells.
pub(super) fn look_of(name: &str, told: &Value) -> Look {
    let state = &told["State"];
    let name = || name.to_owned();
    match state["Status"].as_str().unwrap_or_default() {
        "running" => Look::Ready,
        // It cannot be started any more.
        "removing" => Look::Gone { fault: ContainerFault::Gone { name: name() } },
        "created" | "configured" | "initialized" => Look::Pending,
        _ if state["OOMKilled"].as_bool() == Some(true) => {
            let bytes = told["HostConfig"]["Memory"].as_u64().filter(|bytes| *bytes > 0);
            let limit_mb = bytes.and_then(|bytes| u32::try_from(bytes >> 20).ok());
            Look::Stopped { fault: ContainerFault::OutOfMemory { name: name(), limit_mb } }
        }
        status => {
            let error = state["Error"].as_str().unwrap_or_default();
            let code = state["ExitCode"].as_i64().unwrap_or_default();
            let why = match (error, code) {
                ("", 137) => "its first process was killed".to_owned(),
                ("", 0) => "it was stopped".to_owned(),
                ("", code) => format!("{status}, exit code {code}"),
                (error, _) => error.trim_end_matches('.').to_owned(),
            };
            Look::Stopped { fault: ContainerFault::Stopped { name: name(), why } }
        }
    }
}

pub(super) fn listed(told: &Value) -> Option<Listed> {
    // Docker puts a slash before it.
    let name = told["Name"].as_str()?.trim_start_matches('/').to_owned();
    let labels = &told["Config"]["Labels"];
    let label = |label: &str| labels[label].as_str().unwrap_or_default().to_owned();
    let look = look_of(&name, told);
    Some(Listed { name, task: label(TASK), machine: label(MACHINE), keeper: label(KEEPER_HASH), look })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn state_is_read_as_podman_and_docker_tell_it() {
        let look =
            |state: Value| look_of("c", &json!({ "State": state, "HostConfig": { "Memory": 67_108_864 } }));
        assert_eq!(look(json!({ "Status": "running" })), Look::Ready);
        assert_eq!(look(json!({ "Status": "created", "ExitCode": 0 })), Look::Pending);
        assert!(matches!(look(json!({ "Status": "removing" })), Look::Gone { .. }));
        let killed = look(json!({ "Status": "exited", "OOMKilled": true, "ExitCode": 137 }));
        let Look::Stopped { fault } = killed else { panic!("{killed:?}") };
        assert!(fault.to_string().ends_with("its memory limit of 64 MiB."), "{fault}");
        for (state, why) in [
            (json!({ "Status": "exited", "ExitCode": 137 }), "killed"),
            (json!({ "Status": "stopped", "ExitCode": 3 }), "exit code 3"),
            (json!({ "Status": "exited", "ExitCode": 0 }), "was stopped"),
            (json!({ "Status": "exited", "ExitCode": 127, "Error": "no such file" }), "no such file"),
        ] {
            let Look::Stopped { fault } = look(state) else { panic!("{why}") };
            assert!(fault.to_string().contains(why), "{fault}");
        }
        let told = json!({ "Name": "/forge-o-t", "State": { "Status": "running" },
            "Config": { "Labels": { "forge.task": "t", "forge.machine": "m", "forge.keeper": "k" } } });
        let listed = listed(&told).unwrap();
        assert_eq!(
            (listed.name.as_str(), listed.task.as_str(), listed.keeper.as_str()),
            ("forge-o-t", "t", "k")
        );
    }
}
