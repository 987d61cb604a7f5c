//! What commands work with: the contract of an engine, and the project that was named.

use std::sync::Arc;

use forge_engine::{Observer, Work};
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    args::Common,
    connection::Connection,
    error::CliError,
    place,
    shown::{items, string},
    signals::interruptible,
};

/// What commands work with.
pub(crate) struct At {
    /// The contract.
    pub(crate) connection: Connection,
    /// The project that was named.
    pub(crate) project: Option<String>,
}

impl At {
    /// Does one operation.
    pub(crate) async fn call(&self, op: &str, input: Value) -> Result<Value, CliError> {
        self.connection.call(op, input).await
    }

    /// The project that was named, else the only one.
    pub(crate) async fn project(&self) -> Result<String, CliError> {
        if let Some(named) = &self.project {
            return Ok(string(&self.call("project_get", json!({ "project_id": named })).await?, "id"));
        }
        let projects = self.call("project_list", json!({})).await?;
        match items(&projects) {
            [only] => Ok(string(only, "id")),
            [] => Err(CliError::NotFound {
                message: "there are no projects".to_owned(),
                hint: "Add one with `forge project add PATH`.",
            }),
            _ => Err(CliError::Usage {
                message: "there are several projects".to_owned(),
                hint: "Choose one with --project; `forge project list` lists them.",
            }),
        }
    }

    /// What a role's holder is called in the contract: an agent's id, or `user`.
    pub(crate) async fn holder(&self, named: &str) -> Result<String, CliError> {
        if named == "user" {
            return Ok(named.to_owned());
        }
        let agents = self.call("agent_list", json!({})).await?;
        let found = items(&agents).iter().find(|agent| agent["id"] == named || agent["name"] == named);
        found.map(|agent| string(agent, "id")).ok_or_else(|| CliError::NotFound {
            message: format!("no agent `{named}`"),
            hint: "List them with `forge agent list`.",
        })
    }
}

/// Connects to the engine for a command, and closes the connection however the command ends.
pub(crate) async fn through(
    common: Common,
    observer: Option<Arc<dyn Observer>>,
    work: Work,
    command: impl AsyncFnOnce(&At) -> Result<Answer, CliError>,
) -> Result<Option<Answer>, CliError> {
    // Starting an engine is a large future.
    let connection = Box::pin(Connection::open(place::data_dir(common.data_dir)?, observer, work)).await?;
    let at = At { connection, project: common.project };
    let answer = interruptible(command(&at)).await;
    at.connection.close().await;
    answer.map(Some)
}
