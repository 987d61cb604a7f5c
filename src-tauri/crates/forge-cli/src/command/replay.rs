//! Decisions made again from the facts they were made from: JSON in, JSON out, nothing else asked or written.

use std::{io::Read as _, path::Path};

use forge_model::log::{EntryKind, LogEntry};
use forge_model::replay::{CostInput, HistoryInput, RaceInput};
use forge_model::workflow::{Finding, shape_findings};
use forge_reading::verdict::AuditReader;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Value, json};

use crate::{answer::Answer, args::Replay, error::CliError};

const ONE_OBJECT: &str = "Pass one JSON object.";

/// What an auditor said: its text, or the entries of its log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VerdictInput {
    text: Option<String>,
    log: Option<Vec<SaidEntry>>,
}

/// What a verdict needs of a log's entry, however old the log is. What else an entry has is not looked at.
#[derive(Debug, Deserialize)]
struct SaidEntry {
    #[serde(default)]
    turn: u32,
    #[serde(default)]
    id: String,
    #[serde(deserialize_with = "any_kind")]
    kind: EntryKind,
    #[serde(default)]
    body: Value,
}

impl From<SaidEntry> for LogEntry {
    fn from(said: SaidEntry) -> Self {
        Self {
            seq: 0,
            at: 0,
            execution_id: String::new(),
            turn: said.turn,
            id: said.id,
            parent_id: None,
            kind: said.kind,
            status: None,
            body: said.body,
            raw_offset: 0,
        }
    }
}

/// Older names of kinds are read, too.
fn any_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EntryKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    EntryKind::read(&name).ok_or_else(|| D::Error::custom(format!("`{name}` is not a kind of log entry")))
}

/// A decision and what it was to be.
#[derive(Debug)]
struct Case {
    /// Where its facts are in the file.
    path: String,
    name: Option<String>,
    input: Value,
    expected: Option<Map<String, Value>>,
}

pub(crate) fn run(replay: Replay) -> Result<Answer, CliError> {
    match replay {
        Replay::Verdict => {
            let text = read(Path::new("-"))?;
            if !parse::<Value>(&text)?.is_object() {
                let message = "the input must be an object".to_owned();
                return Err(CliError::Usage { message, hint: ONE_OBJECT });
            }
            let said = parse(&text)?;
            let json = verdict(said)?;
            Ok(Answer::new(json.clone(), format!("{json:#}")))
        }
        Replay::Election(facts) => decide("election", &facts.file, election),
        Replay::Anomaly(facts) => decide("anomaly", &facts.file, |case| {
            written(&facts_of::<CostInput>(case, shape_findings::<CostInput>)?.judge())
        }),
        Replay::ValidateHistory(facts) => decide("validate-sequence", &facts.file, |case| {
            written(&facts_of::<HistoryInput>(case, shape_findings::<HistoryInput>)?.measure())
        }),
    }
}

fn read(file: &Path) -> Result<String, CliError> {
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(CliError::io("read standard input"))?;
    } else {
        text = std::fs::read_to_string(file).map_err(CliError::io(format!("read {}", file.display())))?;
    }
    Ok(text)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, CliError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let facts = serde_path_to_error::deserialize(&mut reader).map_err(|error| wrong("", &error))?;
    reader.end().map_err(|error| CliError::Usage {
        message: error.to_string(),
        hint: "Pass one JSON object and nothing after it.",
    })?;
    Ok(facts)
}

fn wrong(at: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> CliError {
    let path = match (at, error.path().to_string().as_str()) {
        ("", path) => path.to_owned(),
        (at, ".") => at.to_owned(),
        (at, path) => format!("{at}.{path}"),
    };
    CliError::Usage { message: format!("{path}: {}", error.inner()), hint: ONE_OBJECT }
}

/// Decides what a file holds: the facts of one decision, or several with what they were to be.
fn decide(
    kind: &str,
    file: &Path,
    decision: impl Fn(&Case) -> Result<Value, CliError>,
) -> Result<Answer, CliError> {
    let given: Value = parse(&read(file)?)?;
    let (cases, is_list) = match given.get(kind) {
        Some(Value::Array(list)) => {
            let cases = list.iter().enumerate().map(|(at, case)| one(&format!("{kind}[{at}]"), case));
            (cases.collect::<Result<Vec<Case>, CliError>>()?, true)
        }
        Some(_) => {
            return Err(CliError::Usage { message: format!("{kind}: must be a list"), hint: ONE_OBJECT });
        }
        None => (vec![one("", &given)?], false),
    };
    if cases.is_empty() {
        return Err(CliError::Usage { message: format!("{kind}: is empty"), hint: ONE_OBJECT });
    }
    let mut told = Vec::with_capacity(cases.len());
    let mut lines = Vec::new();
    let mut failed = 0;
    for case in &cases {
        let decided = decision(case)?;
        let differences = case.expected.as_ref().map(|expected| differences(expected, &decided));
        let is_bad = differences.as_ref().is_some_and(|differences| !differences.is_empty());
        failed += usize::from(is_bad);
        let name = case.name.clone().unwrap_or_else(|| case.path.clone());
        lines.push(format!("{} {name}", if is_bad { "BAD " } else { "ok  " }));
        lines.extend(differences.iter().flatten().map(|difference| format!("     {difference}")));
        told.push(json!({
            "name": case.name, "decided": decided, "expected": case.expected, "differences": differences,
        }));
    }
    if let ([Case { expected: None, .. }], Some(told), false) = (cases.as_slice(), told.first(), is_list) {
        let decided = told["decided"].clone();
        return Ok(Answer::new(decided.clone(), format!("{decided:#}")));
    }
    lines.push(format!("{} of {} as expected.", cases.len() - failed, cases.len()));
    let json = json!({ "cases": told, "failed": failed });
    Ok(Answer { good: failed == 0, ..Answer::new(json, lines.join("\n")) })
}

/// A decision's facts, with or without what it was to be.
fn one(path: &str, given: &Value) -> Result<Case, CliError> {
    let at = |field: &str| if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") };
    let usage = |message: String| CliError::Usage { message, hint: ONE_OBJECT };
    let Some(object) = given.as_object() else {
        return Err(usage(format!(
            "{}: must be an object",
            if path.is_empty() { "the facts" } else { path }
        )));
    };
    let Some(input) = object.get("input") else {
        if path.is_empty() {
            return Ok(Case { path: String::new(), name: None, input: given.clone(), expected: None });
        }
        return Err(usage(format!("{}: is missing", at("input"))));
    };
    if let Some(unknown) = object.keys().find(|key| !["name", "input", "expected"].contains(&key.as_str())) {
        return Err(usage(format!("{}: unknown field", at(unknown))));
    }
    let expected = match object.get("expected") {
        None | Some(Value::Null) => None,
        Some(Value::Object(expected)) => Some(expected.clone()),
        Some(_) => return Err(usage(format!("{}: must be an object", at("expected")))),
    };
    let name = object.get("name").and_then(Value::as_str).map(str::to_owned);
    Ok(Case { path: at("input"), name, input: input.clone(), expected })
}

fn facts_of<T: DeserializeOwned>(
    case: &Case,
    shape: fn(&Value, &str) -> Vec<Finding>,
) -> Result<T, CliError> {
    // Deserialisation alone takes a list for an object whose fields have that order.
    if let Some(Finding { path, message }) = shape(&case.input, &case.path).into_iter().next() {
        return Err(CliError::Usage { message: format!("{path}: {message}"), hint: ONE_OBJECT });
    }
    serde_path_to_error::deserialize(&case.input).map_err(|error| wrong(&case.path, &error))
}

fn written(decision: &impl Serialize) -> Result<Value, CliError> {
    let value = serde_json::to_value(decision).map_err(std::io::Error::from);
    let mut value = value.map_err(CliError::io("write the decision down"))?;
    // Spelled as the facts are.
    if let Some(median) = value.as_object_mut().and_then(|it| it.remove("median_micro_usd")) {
        value["medianMicroUsd"] = median;
    }
    Ok(value)
}

fn election(case: &Case) -> Result<Value, CliError> {
    written(&facts_of::<RaceInput>(case, shape_findings::<RaceInput>)?.elect())
}

/// How a decision differs from what it was to be, in what that names.
fn differences(expected: &Map<String, Value>, decided: &Value) -> Vec<String> {
    expected.iter().flat_map(|(key, value)| differences_at(key, value, &decided[key.as_str()])).collect()
}

fn differences_at(path: &str, expected: &Value, decided: &Value) -> Vec<String> {
    let is_same = match (expected, decided) {
        (Value::Array(expected), Value::Array(decided)) if expected.len() == decided.len() => {
            let pairs = expected.iter().zip(decided).enumerate();
            return pairs.flat_map(|(at, (e, d))| differences_at(&format!("{path}[{at}]"), e, d)).collect();
        }
        (Value::Object(expected), Value::Object(_)) => {
            let each = expected.iter();
            return each
                .flat_map(|(key, e)| differences_at(&format!("{path}.{key}"), e, &decided[key]))
                .collect();
        }
        _ => match (expected.as_f64(), decided.as_f64()) {
            // A whole number and a decimal are the same number.
            (Some(expected), Some(decided)) => (expected - decided).abs() < 1e-12,
            _ => expected == decided,
        },
    };
    if is_same { Vec::new() } else { vec![format!("{path} is {decided}, not {expected}")] }
}

fn verdict(input: VerdictInput) -> Result<Value, CliError> {
    let mut reader = AuditReader::default();
    match input {
        VerdictInput { text: Some(text), log: None } => reader.read(&text),
        VerdictInput { text: None, log: Some(log) } => {
            log.into_iter().for_each(|entry| reader.hear(&entry.into()));
        }
        VerdictInput { .. } => {
            return Err(CliError::Usage {
                message: "either `text` or `log` is required".to_owned(),
                hint: "Pass {\"text\": \"...\"} or {\"log\": [entries]}.",
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
