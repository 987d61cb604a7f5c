//! A `devcontainer.json`: its image is built by the devcontainer CLI, and what it wishes beyond that is read from the
//! metadata that the CLI leaves in the image.
//!
//! The file comes with the repository, so nothing that it says is done on this computer, and nothing that would open this
//! computer to the container is granted. That is told.

use std::path::Path;

use forge_exec::{Command, Unmarked};
use serde_json::Value;

use super::{
    ContainerSetup,
    engine::Containers,
    program::{TELLS_WITHIN, last_said, run},
};
use crate::{ContainerFault, quote};

/// The label of the metadata.
const METADATA: &str = "devcontainer.metadata";

/// What is left out, by the names that it has in the metadata.
const REFUSED: &[&str] = &["privileged", "capAdd", "securityOpt", "mounts", "entrypoint", "hostRequirements"];

/// The set-up of a new worktree, in the order in which it is done.
const AFTER_CREATE: &[&str] = &["onCreateCommand", "updateContentCommand", "postCreateCommand"];

/// What a file wishes of a container.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wishes {
    pub(super) environment: Vec<(String, String)>,
    pub(super) user: Option<String>,
    pub(super) after_create: Vec<String>,
    pub(super) ignored: Vec<String>,
}

impl Wishes {
    /// What the image says, as `image inspect` tells it. Later entries win.
    pub(super) fn of(told: &Value) -> Self {
        let label = told["Config"]["Labels"][METADATA].as_str().unwrap_or("[]");
        let entries: Vec<Value> = match serde_json::from_str(label) {
            Ok(Value::Array(entries)) => entries,
            Ok(entry) => vec![entry],
            Err(_) => Vec::new(),
        };
        let mut known: Vec<(String, String)> = Vec::new();
        for variable in told["Config"]["Env"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some((name, value)) = variable.split_once('=') {
                set(&mut known, name, value.to_owned());
            }
        }
        let mut wishes = Self::default();
        for kind in ["containerEnv", "remoteEnv"] {
            for (name, value) in entries.iter().filter_map(|entry| entry[kind].as_object()).flatten() {
                let Some(value) = value.as_str() else { continue };
                let value = resolved(value, &known);
                set(&mut known, name, value.clone());
                set(&mut wishes.environment, name, value);
            }
        }
        let last = |name: &str| entries.iter().rev().find_map(|entry| entry[name].as_str());
        wishes.user = last("remoteUser").or_else(|| last("containerUser")).map(str::to_owned);
        for name in AFTER_CREATE {
            wishes.after_create.extend(entries.iter().filter_map(|entry| script(&entry[*name])));
        }
        for name in REFUSED {
            if entries.iter().any(|entry| is_wish(&entry[*name])) {
                wishes.ignored.push((*name).to_owned());
            }
        }
        wishes
    }
}

fn is_wish(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(all) => !all.is_empty(),
        _ => true,
    }
}

fn set(variables: &mut Vec<(String, String)>, name: &str, value: String) {
    variables.retain(|(known, _)| known != name);
    variables.push((name.to_owned(), value));
}

/// A value with `${containerEnv:NAME}` resolved. Variables of this computer are not given.
fn resolved(value: &str, known: &[(String, String)]) -> String {
    let mut text = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((inner, after)) = behind.split_once('}') else { break };
        text.push_str(before);
        let mut words = inner.splitn(3, ':');
        let (kind, name, usual) = (words.next(), words.next().unwrap_or_default(), words.next());
        let found = known.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let found = if kind == Some("containerEnv") { found } else { None };
        text.push_str(found.or(usual).unwrap_or_default());
        rest = after;
    }
    text + rest
}

/// A command as a line for the shell: a text, words, or several of these by name.
fn script(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(line.clone()).filter(|line| !line.trim().is_empty()),
        Value::Array(words) => {
            let words: Vec<String> = words.iter().filter_map(Value::as_str).map(quote).collect();
            Some(words.join(" ")).filter(|line| !line.is_empty())
        }
        Value::Object(all) => {
            let lines: Vec<String> =
                all.values().filter_map(script).map(|line| format!("({line})")).collect();
            Some(lines.join(" && ")).filter(|line| !line.is_empty())
        }
        _ => None,
    }
}

impl Containers {
    /// The CLI with a subcommand, told which program runs containers.
    pub(super) fn devcontainer(&self, subcommand: &str) -> Command<Unmarked> {
        let setup = self.setup();
        Command::tool(setup.programs.devcontainer.clone(), "/")
            .arg(subcommand)
            .args(["--docker-path".as_ref(), self.command().program.as_os_str()])
            .base(std::sync::Arc::clone(&setup.environment))
            .without_terminal()
    }

    /// Refuses what is not one image of one folder: only what is in the folder counts as its content.
    pub(super) async fn check_devcontainer(&self, file: &Path) -> Result<(), ContainerFault> {
        let folder = file.parent().unwrap_or(file);
        let command = self
            .devcontainer("read-configuration")
            .args(["--config".as_ref(), file.as_os_str(), "--workspace-folder".as_ref(), folder.as_os_str()])
            .timeout(TELLS_WITHIN);
        let asked = run(self.kind(), "read a devcontainer.json", command).await;
        let done = asked.map_err(|fault| fault_of_cli(fault, self.setup()))?;
        let refused = |said: String| ContainerFault::Source { file: file.display().to_string(), said };
        let told: Value = match serde_json::from_str(done.out.trim()) {
            Ok(told) if done.is_good() => told,
            _ => return Err(refused(last_said(&done.err))),
        };
        let configuration = &told["configuration"];
        if is_wish(&configuration["dockerComposeFile"]) {
            return Err(refused(
                "services of docker compose are not made; name an image or a Dockerfile".to_owned(),
            ));
        }
        let build = &configuration["build"];
        for path in
            [&build["context"], &configuration["context"], &build["dockerfile"], &configuration["dockerFile"]]
        {
            let leaves = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
            if path.as_str().is_some_and(leaves) {
                return Err(refused(
                    "it is built from files outside its folder; move its Dockerfile and their files there"
                        .to_owned(),
                ));
            }
        }
        Ok(())
    }
}

/// That no program is there is said of the CLI when it was the CLI.
pub(super) fn fault(fault: ContainerFault, setup: &ContainerSetup, kind: &str) -> ContainerFault {
    if kind == "devcontainer" { fault_of_cli(fault, setup) } else { fault }
}

fn fault_of_cli(fault: ContainerFault, setup: &ContainerSetup) -> ContainerFault {
    let program = setup.programs.devcontainer.to_string_lossy().into_owned();
    match fault {
        ContainerFault::NoEngine { .. } => ContainerFault::NoDevcontainer { program },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn image(metadata: &Value) -> Value {
        json!({ "Config": { "Env": ["PATH=/usr/bin", "A=1"], "Labels": { "devcontainer.metadata": metadata.to_string() } } })
    }

    #[test]
    fn wishes_are_merged_and_what_opens_this_computer_is_left_out() {
        let wishes = Wishes::of(&image(&json!([
            { "containerEnv": { "B": "b" }, "remoteUser": "base", "onCreateCommand": "first", "capAdd": ["SYS_PTRACE"] },
            { "remoteEnv": { "PATH": "/own:${containerEnv:PATH}", "KEY": "${localEnv:KEY}", "D": "${localEnv:D:usual}" },
              "containerUser": "other", "privileged": true, "mounts": [],
              "postCreateCommand": { "x": ["echo", "a b"], "y": "make" }, "updateContentCommand": "" },
        ])));
        let environment: Vec<(&str, &str)> =
            wishes.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut sorted = environment;
        sorted.sort_unstable();
        assert_eq!(sorted, [("B", "b"), ("D", "usual"), ("KEY", ""), ("PATH", "/own:/usr/bin")]);
        assert_eq!(wishes.user.as_deref(), Some("base"));
        assert_eq!(wishes.after_create, ["first", "(echo 'a b') && (make)"]);
        assert_eq!(wishes.ignored, ["privileged", "capAdd"]);
    }

    #[test]
    fn image_without_metadata_wishes_nothing() {
        assert_eq!(Wishes::of(&json!({})), Wishes::default());
        assert_eq!(Wishes::of(&image(&json!("nonsense"))), Wishes::default());
        assert_eq!(resolved("${open", &[]), "${open");
    }
}
