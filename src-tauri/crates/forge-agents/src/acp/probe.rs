//! Looks at a program without calling the model: its version, its models.

use std::{path::PathBuf, time::Duration};

use forge_exec::Exit;
use forge_model::agent::{AgentModel, ProgramConfig};

use crate::{
    AgentError, Detected, ProbeFolder,
    probe::{self, Input, listen, talk},
};

use super::{
    outcome,
    wire::{self, Greeted, Line, Options},
};

/// Far more than a program takes to say something about itself.
const PATIENCE: Duration = Duration::from_secs(60);

const GREETING: u64 = 1;
const SESSION: u64 = 2;

/// The program and its version, when it tells one. Whether it is signed in only a session would show.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Detected, AgentError> {
    let heard = listen(probe::command(config, &program, place, PATIENCE).arg("--version")).await?;
    let version = version_in(&heard.text()).filter(|_| heard.exit == Exit::Code(0));
    Ok(Detected { program, version, signed_in: None })
}

/// The models that the program offers in a session, which is opened in the probe's empty folder and ended immediately.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Vec<AgentModel>, AgentError> {
    let command = probe::command(config, &program, place, PATIENCE).args(config.args.iter().flatten());
    let (mut sign_in, mut session, mut error) = (Vec::new(), None, None);
    let mut on_line = |line: &[u8], input: &mut Input| {
        let (true, Line::Answer { id, result }) = (input.is_open(), Line::read(line)) else { return };
        match (id, result) {
            (GREETING, Ok(answer)) => {
                sign_in = Greeted::read(&answer).unwrap_or_default().sign_in;
                input.say(&wire::new_session(SESSION, place.folder(), Vec::new()));
            }
            (SESSION, Ok(answer)) => {
                session = Some(answer);
                input.end();
            }
            (_, Err(why)) => {
                error = Some(why);
                input.end();
            }
            (_, Ok(_)) => {}
        }
    };
    let output = talk(command, &wire::initialize(GREETING), &mut on_line).await?;
    match (session, error) {
        (Some(session), _) => Ok(offered(&Options::read(&session))),
        (None, Some(error)) => Err(outcome::failure(&error, &sign_in, 0)),
        (None, None) => Err(AgentError::Protocol {
            detail: format!("it did not open a session: {}", output.last_words()),
        }),
    }
}

fn offered(options: &Options) -> Vec<AgentModel> {
    let Some(models) = &options.model else { return Vec::new() };
    let efforts: Vec<String> =
        options.effort.iter().flat_map(|it| &it.offered).map(|(value, _)| value.clone()).collect();
    let model = |(id, name): &(String, String)| AgentModel {
        id: id.clone(),
        name: name.clone(),
        efforts: efforts.clone(),
        is_default: *id == models.current,
    };
    models.offered.iter().map(model).collect()
}

/// The first word that is a version: `1.18.33`, `v2.0`.
fn version_in(text: &str) -> Option<String> {
    let words = text.split_whitespace().take(20).map(|word| word.strip_prefix('v').unwrap_or(word));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words.into_iter().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_among_words() {
        assert_eq!(version_in("1.18.33\n").as_deref(), Some("1.18.33"));
        assert_eq!(version_in("gemini v0.61.0 (node 20)").as_deref(), Some("0.61.0"));
        assert_eq!(version_in("unknown flag\n"), None);
    }
}
