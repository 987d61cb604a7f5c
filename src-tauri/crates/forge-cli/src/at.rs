//! What commands work with: the contract of an engine, and the project that was named.

use std::sync::Arc;

use forge_api::{
    Call, Client as _, Reply,
    operations::{AgentList, ProjectGet, ProjectList},
    ops::{Empty, projects::ProjectPath},
};
use forge_engine::{Observer, Work};
use forge_model::ids::ProjectId;

use crate::{
    answer::Answer, args::Common, connection::Connection, error::CliError, place, signals::interruptible,
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
    pub(crate) async fn call<C: Call>(&self, call: C, input: C::Input) -> Result<Reply<C::Output>, CliError> {
        self.connection.call(call, input).await
    }

    /// A project by its id or name: only where one is read is a name understood.
    pub(crate) async fn project_named(&self, named: &str) -> Result<ProjectId, CliError> {
        let path = ProjectPath { project_id: ProjectId::from(named) };
        Ok(self.call(ProjectGet, path).await?.value.id)
    }

    /// The project that was named, else the only one.
    pub(crate) async fn project(&self) -> Result<ProjectId, CliError> {
        if let Some(named) = &self.project {
            return self.project_named(named).await;
        }
        let projects = self.call(ProjectList, Empty {}).await?;
        match projects.items.as_slice() {
            [only] => Ok(only.id.clone()),
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
        let agents = self.call(AgentList, Empty {}).await?;
        let found = agents.items.iter().find(|agent| agent.id.as_str() == named || agent.name == named);
        found.map(|agent| agent.id.0.clone()).ok_or_else(|| CliError::NotFound {
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
