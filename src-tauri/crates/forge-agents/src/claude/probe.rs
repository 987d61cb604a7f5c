//! Looks at the program without calling the model: its version, whether it is signed in, its models.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_exec::{Command, Exit};
use forge_model::agent::{AgentModel, ProgramConfig};
use serde_json::Value;

use crate::{
    AgentError, Detected, ProbeFolder,
    json::{list, owned, text},
    probe::{self, Input, listen, talk},
    sign_in,
};

use super::{
    arguments::{ENVIRONMENT, OF_ANOTHER, STREAMS},
    wire,
};

/// Far more than the program takes to say something about itself.
const PATIENCE: Duration = Duration::from_secs(30);

/// The first version that was seen to tell whether it is signed in. Much older ones take the words for a prompt.
const TELLS_SIGN_IN: [u32; 3] = [2, 1, 330];

/// The program, its version, and whether it is signed in.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Detected, AgentError> {
    let answer = listen(command(config, &program, place, &["--version"])).await?;
    let version = version_in(&answer.text());
    if answer.exit != Exit::Code(0) {
        return Err(AgentError::Unavailable {
            program: program.to_string_lossy().into_owned(),
            detail: format!("it did not report its version: {}", answer.last_words()),
        });
    }
    let told = match version.as_deref() {
        Some(version) if numbers(version) >= TELLS_SIGN_IN => {
            let answer = listen(command(config, &program, place, &["auth", "status", "--json"])).await?;
            is_signed_in(answer.bytes())
        }
        _ => None,
    };
    let inherited = |name: &str| place.variables.get(OsStr::new(name))?.to_str().map(str::to_owned);
    let has_key = || {
        let set = |name: &&str| {
            let own = config.env.as_ref().and_then(|env| env.get(*name)).cloned();
            own.or_else(|| inherited(name)).is_some_and(|value| !value.is_empty())
        };
        sign_in::CLAUDE_KEYS.iter().any(set).then_some(true)
    };
    Ok(Detected { program, version, signed_in: told.or_else(has_key) })
}

/// The models that it offers, from its answer to a greeting.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Vec<AgentModel>, AgentError> {
    let args = [STREAMS, &["--no-session-persistence"]].concat();
    let mut response = None;
    let mut hear = |line: &[u8], input: &mut Input| {
        // Whatever it says first: it was greeted, and that is all it is asked.
        input.end();
        if response.is_none() {
            response = answer_in(line);
        }
    };
    let command = command(config, &program, place, &args);
    let answer = talk(command, &wire::initialize("models"), &mut hear).await?;
    let Some(response) = response else {
        return Err(AgentError::Protocol {
            detail: format!("it did not answer the handshake: {}", answer.last_words()),
        });
    };
    let response = response.get("response").and_then(|it| it.get("response")).cloned().unwrap_or_default();
    Ok(list(&response, "models").iter().filter_map(model).collect())
}

/// What it says of its sign-in; none when that cannot be read, which is no reason not to use it.
fn is_signed_in(status: &[u8]) -> Option<bool> {
    match serde_json::from_slice::<Value>(status) {
        Ok(status) => status.get("loggedIn")?.as_bool(),
        Err(error) => {
            tracing::warn!(%error, "failed to read whether claude is signed in");
            None
        }
    }
}

/// The line as an event, when it is the answer to a request. Other lines may be anything.
fn answer_in(line: &[u8]) -> Option<Value> {
    match serde_json::from_slice::<Value>(line) {
        Ok(event) if text(&event, "type") == Some("control_response") => Some(event),
        Ok(_) | Err(_) => None,
    }
}

fn model(model: &Value) -> Option<AgentModel> {
    let id = owned(model, "value")?;
    let efforts = list(model, "supportedEffortLevels").iter();
    Some(AgentModel {
        name: owned(model, "displayName").unwrap_or_else(|| id.clone()),
        efforts: efforts.filter_map(|it| Some(it.as_str()?.to_owned())).collect(),
        is_default: id == "default",
        id,
    })
}

fn command(config: &ProgramConfig, program: &Path, place: &ProbeFolder, args: &[&str]) -> Command {
    let mut command = probe::command(config, program, place, PATIENCE).args(args);
    // The profile's own variables come after ours.
    let ours = ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into()));
    command.env.splice(0..0, ours);
    OF_ANOTHER.iter().fold(command, |command, name| command.env_remove(name))
}

/// The version in `2.1.330 (Claude Code)`.
fn version_in(text: &str) -> Option<String> {
    let word = text.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

fn numbers(version: &str) -> [u32; 3] {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or_default());
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(version_in("2.1.330 (Claude Code)\n").as_deref(), Some("2.1.330"));
        assert_eq!(version_in("error: what?"), None);
        assert!(numbers("2.1.330") >= TELLS_SIGN_IN && numbers("2.10.0") >= TELLS_SIGN_IN);
        assert!(numbers("2.1.99") < TELLS_SIGN_IN && numbers("1.0") < TELLS_SIGN_IN);
    }
}
