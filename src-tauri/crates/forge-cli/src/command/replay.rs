//! Decisions made again from the facts they were made from: JSON in, JSON out, nothing else asked or written.

use std::io::Read as _;

use forge_model::log::LogEntry;
use forge_model::verdict::AuditReader;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{Answer, args::Replay, error::CliError};

/// What an auditor said: its text, or the entries of its log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    text: Option<String>,
    log: Option<Vec<LogEntry>>,
}

pub(crate) fn run(replay: Replay) -> Result<Answer, CliError> {
    let json = match replay {
        Replay::Verdict => verdict(read()?)?,
    };
    Ok(Answer::new(json.clone(), format!("{json:#}")))
}

fn read<T: DeserializeOwned>() -> Result<T, CliError> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    let facts = serde_path_to_error::deserialize(&mut reader).map_err(|error| CliError::Usage {
        message: format!("{}: {}", error.path(), error.inner()),
        hint: "Give the facts as one JSON object on standard input.",
    })?;
    reader.end().map_err(|error| CliError::Usage {
        message: error.to_string(),
        hint: "Give one JSON object and nothing behind it.",
    })?;
    Ok(facts)
}

fn verdict(said: Said) -> Result<Value, CliError> {
    let mut reader = AuditReader::default();
    match said {
        Said { text: Some(text), log: None } => reader.read(&text),
        Said { text: None, log: Some(log) } => log.iter().for_each(|entry| reader.hear(entry)),
        Said { .. } => {
            return Err(CliError::Usage {
                message: "either `text` or `log` is needed".to_owned(),
                hint: "Give {\"text\": \"...\"} or {\"log\": [entries]}.",
            });
        }
    }
    let (audit, _) = reader.finish();
    let mut answer = json!({ "verdict": audit.verdict, "findings": audit.findings });
    if let Some(reason) = audit.reason {
        answer["reason"] = reason.into();
    }
    if let Some(score) = audit.score {
        answer["score"] = score.into();
    }
    Ok(answer)
}
