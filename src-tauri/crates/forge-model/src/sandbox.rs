//! The sandbox of programs that Forge starts for a task: what a project and an agent ask for, and what is said of it
//! afterwards. How it is enforced is in `forge-exec`; which paths it has, in the engine (`core/confinement`).

use crate::{contract, names, workflow::Finding};

names! {
    /// How far programs are confined.
    pub enum SandboxMode {
        /// Not at all.
        Off = "off",
        /// Programs can write the task's folder, caches and temporary files, and read everything that is not hidden.
        Files = "files",
        /// Also limits TCP connections to the listed ports.
        FilesAndNetwork = "files_and_network",
    }
}

names! {
    /// Result of the requested sandbox.
    pub enum SandboxState {
        /// The kernel enforces it.
        Enforced = "enforced",
        /// The kernel enforces the rules for files, but has none for the network.
        FilesOnly = "files_only",
        /// The agent program confines its own commands, and cannot be confined as a whole.
        Own = "own",
        /// This kernel has no Landlock: the program was not confined.
        Missing = "missing",
    }
}

contract! {
    /// How programs of a project's tasks are confined: agents, checks, hooks and setup commands.
    #[derive(Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct SandboxSettings {
        /// Sandbox mode; an agent can override it for its own runs.
        pub mode: SandboxMode,
        /// Additional writable files and folders; absolute, or in the home folder with `~/`.
        pub write: Vec<String>,
        /// Files and folders that they cannot read; absolute, or in the home folder with `~/`. Forge's own data always
        /// is one.
        pub hide: Vec<String>,
        /// TCP ports that programs may connect to, if the network is confined.
        pub ports: Vec<u16>,
    }

    /// Result of a run's sandbox.
    #[derive(Eq)]
    pub struct SandboxReport {
        /// What was requested.
        pub mode: SandboxMode,
        /// Its status.
        pub state: SandboxState,
        /// Number of refusals that its programs printed.
        pub refused: u32,
        /// The first 20 refusals that programs printed.
        pub paths: Vec<String>,
        /// Refs that keep the run's changes to other refs than its own.
        pub kept_refs: Vec<String>,
    }
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self {
            mode: SandboxMode::Files,
            write: Vec::new(),
            hide: ["~/.ssh", "~/.gnupg", "~/.aws", "~/.config/gh"].map(str::to_owned).to_vec(),
            ports: vec![80, 443],
        }
    }
}

impl SandboxReport {
    /// A report with nothing to tell yet.
    #[must_use]
    pub const fn begun(mode: SandboxMode, state: SandboxState) -> Self {
        Self { mode, state, refused: 0, paths: Vec::new(), kept_refs: Vec::new() }
    }
}

impl SandboxSettings {
    /// What is wrong with its paths and ports.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let lists = [("sandbox.write", &self.write), ("sandbox.hide", &self.hide)];
        let mut findings: Vec<Finding> =
            lists.into_iter().flat_map(|(name, paths)| path_findings(name, paths)).collect();
        for (index, _) in self.ports.iter().enumerate().filter(|(_, port)| **port == 0) {
            findings.push(Finding::new(format!("sandbox.ports[{index}]"), "must be between 1 and 65535"));
        }
        findings
    }
}

fn path_findings(name: &str, paths: &[String]) -> Vec<Finding> {
    let wrong = paths.iter().enumerate().filter(|(_, path)| !is_path(path));
    wrong
        .map(|(index, _)| {
            let message =
                "must be an absolute path or begin with `~/`, without `..`; `/` and `~` are too much";
            Finding::new(format!("{name}[{index}]"), message)
        })
        .collect()
}

fn is_path(path: &str) -> bool {
    let below = path.strip_prefix("~/").or_else(|| path.strip_prefix('/'));
    let has_name = |rest: &str| rest.split('/').any(|part| !part.is_empty() && part != ".");
    below.is_some_and(has_name) && !path.split('/').any(|part| part == "..") && !path.contains('\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_hold_everything_or_lead_elsewhere_are_refused_by_their_field() {
        let settings = |write: &[&str]| SandboxSettings {
            write: write.iter().map(|path| (*path).to_owned()).collect(),
            ports: vec![443, 0],
            ..SandboxSettings::default()
        };
        assert_eq!(SandboxSettings::default().findings(), []);
        let wrong = settings(&["~/.m2", "/opt/x", "/", "~", "~/", "x", "", "/a/../..", "~/a\0"]).findings();
        let paths: Vec<&str> = wrong.iter().map(|finding| finding.path.as_str()).collect();
        let expected = [2, 3, 4, 5, 6, 7, 8].map(|index| format!("sandbox.write[{index}]"));
        assert_eq!(paths[..7], expected);
        assert_eq!(paths[7..], ["sandbox.ports[1]"]);
    }
}
