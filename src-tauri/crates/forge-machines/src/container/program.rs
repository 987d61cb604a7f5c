//! Running podman and docker, and what they say when something does not work.

use std::time::Duration;

use forge_exec::{Caps, CollectError, Collected, Command, Exit, Unmarked};

use super::EngineKind;
use crate::ContainerFault;

/// How much is read of an answer.
const CAPS: Caps = Caps { stdout: 16 * 1024 * 1024, stderr: 1024 * 1024 };

/// How many lines of a build are told.
const LAST_LINES: usize = 12;

/// How long it may take to tell something.
pub(super) const TELLS_WITHIN: Duration = Duration::from_secs(60);

/// How long it may take to make or remove a container.
pub(super) const MAKES_WITHIN: Duration = Duration::from_secs(300);

/// How long an image may take to be pulled or built.
pub(super) const BUILDS_WITHIN: Duration = Duration::from_secs(3600);

/// What a program left that ended.
pub(super) struct Done {
    pub(super) exit: Exit,
    pub(super) out: String,
    pub(super) err: String,
}

impl Done {
    pub(super) fn is_good(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

pub(super) async fn run(
    kind: EngineKind,
    what: &str,
    command: Command<Unmarked>,
) -> Result<Done, ContainerFault> {
    let engine = kind.name().to_owned();
    match forge_exec::collect(command, CAPS).await {
        Ok(Collected { exit, stdout, stderr }) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            Ok(Done { exit, out: text(&stdout), err: text(&stderr) })
        }
        Err(CollectError::TimedOut { after, .. }) => {
            Err(ContainerFault::TimedOut { engine, what: what.to_owned(), seconds: after.as_secs() })
        }
        Err(CollectError::Run(_)) => Err(ContainerFault::NoEngine { wanted: engine }),
        Err(error) => Err(ContainerFault::Engine { engine, said: error.to_string() }),
    }
}

/// What is wrong with the program itself, by what it printed as errors.
pub(super) fn fault_of(kind: EngineKind, errors: &str) -> Option<ContainerFault> {
    let engine = kind.name().to_owned();
    let has = |texts: &[&str]| texts.iter().any(|text| errors.contains(text));
    if has(&["no space left on device", "No space left on device", "disk quota exceeded"]) {
        return Some(ContainerFault::StorageFull { engine });
    }
    if has(&["newuidmap", "subuid", "subgid", "no subordinate", "cannot clone: Operation not permitted"]) {
        return Some(ContainerFault::Rootless { said: last_said(errors) });
    }
    if has(&["docker daemon", "Docker daemon", "docker API", "unable to connect to Podman"]) {
        return Some(ContainerFault::Engine { engine, said: last_said(errors) });
    }
    None
}

/// Whether an error says that there is no such container.
pub(super) fn is_unknown(errors: &str) -> bool {
    let errors = errors.to_lowercase();
    // Docker says the last one of a container that it is about to remove.
    ["no such container", "no container with name or id", "marked for removal"]
        .iter()
        .any(|said| errors.contains(said))
}

/// The last line that says something, without what every error begins with.
pub(super) fn last_said(errors: &str) -> String {
    let line = errors.lines().map(str::trim).rfind(|line| {
        // Docker tells at last where its help is.
        !line.is_empty() && !line.contains("--help'") && !line.starts_with("time=")
    });
    let line = line.unwrap_or("no reason was given");
    let line = ["docker: ", "Error: ", "Error response from daemon: "]
        .iter()
        .fold(line, |line, prefix| line.strip_prefix(prefix).unwrap_or(line));
    line.trim_end_matches('.').to_owned()
}

/// What a build printed last, without what only its developers understand.
pub(super) fn last_lines(printed: &str) -> String {
    let told = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("at ") && !line.contains("Error: Command failed")
    };
    let lines: Vec<&str> = printed.lines().filter(told).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_podman_and_docker_say_is_told_by_its_kind() {
        let podman = |errors| fault_of(EngineKind::Podman, errors);
        assert!(matches!(
            podman("Error: writing blob: storing blob: write /x: no space left on device\n"),
            Some(ContainerFault::StorageFull { .. })
        ));
        assert!(matches!(
            podman(
                "Error: command required for rootless mode with multiple IDs: exec: \"newuidmap\": executable file not found in $PATH\n"
            ),
            Some(ContainerFault::Rootless { .. })
        ));
        let down = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n";
        let Some(ContainerFault::Engine { said, .. }) = fault_of(EngineKind::Docker, down) else {
            panic!("{down}")
        };
        assert!(said.starts_with("Cannot connect"), "{said}");
        assert_eq!(podman("Error: no such container\n"), None);
    }

    #[test]
    fn last_line_that_says_something_is_told() {
        let errors = "docker: Error response from daemon: No such image: x.\n\nRun 'docker run --help' for more information\n";
        assert_eq!(last_said(errors), "No such image: x");
        assert_eq!(last_said("Error: no such container\n"), "no such container");
        assert_eq!(last_said(""), "no reason was given");
        let build = "STEP 2: RUN false\nError: while running: exit status 1\n    at x (y.js:1)\n\n";
        assert_eq!(last_lines(build), "STEP 2: RUN false\nError: while running: exit status 1");
    }
}
