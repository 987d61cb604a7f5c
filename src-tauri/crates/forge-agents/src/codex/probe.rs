//! Looks at the program without calling the model: its version, whether it is signed in, its models.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use forge_exec::Exit;
use forge_model::agent::{AgentModel, ProgramConfig};
use serde_json::{Value, json};

use super::wire::{self, Heard, Refusal, SERVER};
use crate::{
    AgentError, Detected, ProbeFolder,
    json::{list, text},
    probe::{Input, command, listen, talk},
};

/// How long one look may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The most pages of models that are read.
const MOST_PAGES: usize = 20;

/// The program's version, and whether it is signed in.
pub(super) async fn detect(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Detected, AgentError> {
    let told = listen(command(config, &program, place, PATIENCE).arg("--version")).await?;
    if told.exit != Exit::Code(0) {
        return Err(AgentError::Unavailable {
            program: program.to_string_lossy().into_owned(),
            detail: format!("it did not report its version: {}", told.last_words()),
        });
    }
    let version = told.text().split_whitespace().next_back().map(str::to_owned);
    let signed_in = signed_in(config, &program, place).await;
    Ok(Detected { program, version, signed_in })
}

/// Without a sign-in of its own it may still have a key of another provider: then nobody knows, and neither does
/// anybody when it does not tell.
async fn signed_in(config: &ProgramConfig, program: &Path, place: &ProbeFolder) -> Option<bool> {
    let status = listen(command(config, program, place, PATIENCE).args(["login", "status"])).await;
    if status.is_ok_and(|status| status.exit == Exit::Code(0)) {
        return Some(true);
    }
    let account = match ask(config, program, place, "account/read", |_| json!({})).await {
        Ok(pages) => pages.into_iter().next()?,
        Err(error) => {
            tracing::warn!(%error, "failed to ask codex whether it is signed in");
            return None;
        }
    };
    if account.get("account").is_some_and(Value::is_object) {
        return Some(true);
    }
    account.get("requiresOpenaiAuth").and_then(Value::as_bool).filter(|required| *required).map(|_| false)
}

/// The models that it offers.
pub(super) async fn models(
    config: &ProgramConfig,
    program: PathBuf,
    place: &ProbeFolder,
) -> Result<Vec<AgentModel>, AgentError> {
    let page = |cursor: Option<&str>| cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    let pages = ask(config, &program, place, "model/list", page).await?;
    Ok(pages.iter().flat_map(|page| list(page, "data")).filter_map(model).collect())
}

fn model(model: &Value) -> Option<AgentModel> {
    if model.get("hidden").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let id = text(model, "model").or_else(|| text(model, "id"))?;
    let efforts = list(model, "supportedReasoningEfforts").iter();
    Some(AgentModel {
        id: id.to_owned(),
        name: text(model, "displayName").unwrap_or(id).to_owned(),
        efforts: efforts.filter_map(|effort| text(effort, "reasoningEffort")).map(str::to_owned).collect(),
        is_default: model.get("isDefault").and_then(Value::as_bool).unwrap_or_default(),
    })
}

/// Asks a server of its own one thing, page by page: hello, one request a page, the end of its input.
async fn ask(
    config: &ProgramConfig,
    program: &Path,
    place: &ProbeFolder,
    method: &'static str,
    params: fn(Option<&str>) -> Value,
) -> Result<Vec<Value>, AgentError> {
    let server = command(config, program, place, PATIENCE).arg(SERVER).args(config.args.iter().flatten());
    let (mut pages, mut refusal, mut is_over) = (Vec::new(), None, false);
    let mut hear = |line: &[u8], input: &mut Input| match wire::read(line) {
        Some(Heard::Answer { result: Err(why), .. }) => {
            refusal = Some(why);
            input.end();
        }
        Some(Heard::Answer { id: 1, result: Ok(_) }) => {
            input.say(&wire::notification("initialized"));
            input.say(&wire::request(2, method, &params(None)));
        }
        Some(Heard::Answer { result: Ok(page), .. }) => {
            let next = text(&page, "nextCursor").map(str::to_owned);
            pages.push(page);
            match next.filter(|_| pages.len() < MOST_PAGES) {
                Some(cursor) => {
                    let id = pages.len() as u64 + 2;
                    input.say(&wire::request(id, method, &params(Some(&cursor))));
                }
                None => {
                    is_over = true;
                    input.end();
                }
            }
        }
        Some(Heard::Request { id, method, .. }) => input.say(&wire::not_served(&id, &method)),
        Some(Heard::Notification { .. } | Heard::Piece) | None => {}
    };
    let told = talk(server, &wire::request(1, "initialize", &wire::hello()), &mut hear).await?;
    match refusal {
        Some(Refusal { message }) => Err(AgentError::Protocol { detail: message }),
        None if is_over => Ok(pages),
        // It went before it had answered.
        None => Err(AgentError::Crashed { exit: Some(told.exit), last_line: told.last_words() }),
    }
}
