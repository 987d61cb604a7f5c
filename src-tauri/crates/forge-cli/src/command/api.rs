//! `forge api`: any operation of the contract, so that what the window can do, a script can.

use std::io::Read as _;

use forge_api::{Client as _, Operation, operations};
use serde_json::{Map, Value, json};

use super::task;
use crate::{answer::Answer, args::TaskRef, at::At, error::CliError, shown::table};

/// What is asked.
pub(crate) struct Call {
    /// The operation's name.
    pub(crate) operation: String,
    /// Its input as JSON; `-` for what is piped in.
    pub(crate) input: Option<String>,
    /// A task's id or number.
    pub(crate) task: Option<String>,
}

/// Does one operation.
pub(crate) async fn run(at: &At, call: Call) -> Result<Answer, CliError> {
    let operation = operations().iter().find(|operation| operation.name == call.operation);
    let operation = operation.ok_or_else(|| CliError::NotFound {
        message: format!("no operation `{}`", call.operation),
        hint: "`forge api` lists them.",
    })?;
    let mut input = input(call.input.as_deref())?;
    complete(at, operation, call.task, &mut input).await?;
    let answer = at.connection.send(operation.name, Value::Object(input)).await?;
    Ok(Answer::new(answer.clone(), format!("{answer:#}")))
}

/// All of them, with what each needs at least; what else it takes stands in the OpenAPI document.
pub(crate) fn list() -> Answer {
    let rows: Vec<Vec<String>> = operations()
        .iter()
        .map(|operation| {
            let fields: Vec<&str> = operation.path_fields().collect();
            vec![operation.name.to_owned(), fields.join(", "), operation.summary.to_owned()]
        })
        .collect();
    let json = operations().iter().map(
        |operation| json!({ "name": operation.name, "path": operation.path, "summary": operation.summary }),
    );
    Answer::new(json!({ "items": json.collect::<Vec<_>>() }), table(&["OPERATION", "NEEDS", ""], &rows))
}

fn input(given: Option<&str>) -> Result<Map<String, Value>, CliError> {
    let mut piped = String::new();
    let text = match given {
        None => return Ok(Map::new()),
        Some("-") => {
            std::io::stdin().read_to_string(&mut piped).map_err(CliError::io("read standard input"))?;
            piped.as_str()
        }
        Some(text) => text,
    };
    serde_json::from_str(text).map_err(|error| CliError::Usage {
        message: format!("the input is not a JSON object: {error}"),
        hint: "Write it as '{\"field\": value}', or pass `-` and pipe it in.",
    })
}

/// Names the project and the task as other commands do, where the operation is about one and the input has none.
async fn complete(
    at: &At,
    operation: &Operation,
    named: Option<String>,
    input: &mut Map<String, Value>,
) -> Result<(), CliError> {
    let wants = |field: &str, input: &Map<String, Value>| {
        operation.path_fields().any(|needed| needed == field) && !input.contains_key(field)
    };
    if wants("project_id", input) {
        input.insert("project_id".to_owned(), at.project().await?.0.into());
    }
    let Some(named) = named else { return Ok(()) };
    let found = task::find(at, &TaskRef { task: named }).await?;
    for field in ["task_id", "version"] {
        if !input.contains_key(field) && operation.takes(field) {
            let value = if field == "task_id" { json!(found.id) } else { json!(found.version) };
            input.insert(field.to_owned(), value);
        }
    }
    Ok(())
}
