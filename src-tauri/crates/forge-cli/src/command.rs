//! The commands.

mod agent;
mod api;
mod backup;
mod manual;
mod mcp;
mod project;
mod replay;
mod serve;
mod task;
mod trust;
mod validate;

use std::{path::PathBuf, sync::Arc};

use forge_engine::{Observer, Work};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{
    Answer,
    args::{ApiCall, Cli, Command, Common},
    connection::Connection,
    demo,
    error::CliError,
    place,
};

/// Does what the command line says.
pub(crate) async fn run(cli: Cli, observer: Option<Arc<dyn Observer>>) -> Result<Option<Answer>, CliError> {
    let Cli { common, command } = cli;
    let work = command.work();
    let data_dir = |asked: Option<PathBuf>| place::data_dir(asked);
    match command {
        Command::Serve(options) => {
            serve::run(data_dir(common.data_dir)?, options, observer).await.map(|()| None)
        }
        Command::Mcp(options) => match options.print_config {
            Some(client) => {
                let config = async |at: &At| mcp::print_config(at, client, options.transport).await;
                through(common, observer, Work::Nothing, config).await
            }
            None => mcp::run(data_dir(common.data_dir)?, observer).await.map(|()| None),
        },
        Command::Demo => {
            // A whole story is a large future.
            let story = Box::pin(demo::run(common.data_dir, common.json, observer));
            let answer = interruptible(story).await?;
            Ok(Some(answer))
        }
        Command::Project(project) => {
            through(common, observer, work, async |at| project::run(at, project).await).await
        }
        Command::Task(task) => through(common, observer, work, async |at| task::run(at, task).await).await,
        Command::Agent(agent) => {
            through(common, observer, work, async |at| agent::run(at, agent).await).await
        }
        Command::Validate(asked) => {
            let validated = through(common, observer, work, async |at| validate::run(at, asked).await);
            validated.await.map_err(CliError::of_checks)
        }
        Command::Replay(what) => replay::run(what).map(Some),
        Command::Backup(what) => Box::pin(backup::run(common, what, observer)).await,
        Command::Doctor => {
            let folder = data_dir(common.data_dir.clone())?;
            match through(common, observer, work, async |at| doctor(at).await).await {
                Err(error) => backup::diagnose(&folder, &error).await.map(Some).ok_or(error),
                report => report,
            }
        }
        Command::Api(ApiCall { operation: None, .. }) => Ok(Some(api::list())),
        Command::Api(ApiCall { operation: Some(operation), input, task }) => {
            let checks = operation == "validate";
            let call = api::Call { operation, input, task };
            let called = through(common, observer, work, async |at| api::run(at, call).await).await;
            called.map_err(|error| if checks { error.of_checks() } else { error })
        }
        Command::Completions { shell } => Ok(Some(manual::completions(shell))),
        Command::Man { out } => manual::pages(out.as_deref()).map(Some),
    }
}

/// What commands work with.
pub(crate) struct At {
    /// The connection to the engine.
    pub(crate) connection: Connection,
    /// The project that was named.
    pub(crate) project: Option<String>,
}

/// Connects to the engine for a command, and closes the connection however the command ends.
async fn through(
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

/// Ends early, in good order, when a signal asks for it.
async fn interruptible<T>(work: impl Future<Output = Result<T, CliError>>) -> Result<T, CliError> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        done = work => done,
        () = signals.any() => Err(CliError::Interrupted),
    }
}

/// The signals that ask this program to end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> Result<Self, CliError> {
        let to = |kind| signal(kind).map_err(CliError::io("listen for signals"));
        Ok(Self {
            terminate: to(SignalKind::terminate())?,
            interrupt: to(SignalKind::interrupt())?,
            hangup: to(SignalKind::hangup())?,
        })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
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
                message: "there is no project yet".to_owned(),
                hint: "Add one: forge project add PATH",
            }),
            _ => Err(CliError::Usage {
                message: "there are several projects".to_owned(),
                hint: "Name one with --project; `forge project list` shows them.",
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
            hint: "`forge agent list` shows them.",
        })
    }
}

async fn doctor(at: &At) -> Result<Answer, CliError> {
    let report = at.call("doctor", json!({})).await?;
    let mut lines = Vec::new();
    for finding in report["findings"].as_array().into_iter().flatten() {
        let mark = if finding["ok"] == true { "ok  " } else { "BAD " };
        lines.push(format!("{mark} {}: {}", string(finding, "subject"), string(finding, "detail")));
        if let Some(remedy) = finding["remedy"].as_str() {
            lines.push(format!("     {remedy}"));
        }
    }
    let good = report["ok"] == true;
    Ok(Answer { good, ..Answer::new(report, lines.join("\n")) })
}

/// The items of a page.
pub(crate) fn items(page: &Value) -> &[Value] {
    page["items"].as_array().map_or(&[], Vec::as_slice)
}

/// A text of an answer; empty when there is none.
pub(crate) fn string(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// Rows as a table with columns as wide as needed.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let head: Vec<String> = head.iter().map(|name| (*name).to_owned()).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(rows).collect();
    let width = |column: usize| {
        all.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    all.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let rows = vec![vec!["1".to_owned(), "Zoë".to_owned()], vec!["12".to_owned(), "x".to_owned()]];
        assert_eq!(table(&["#", "NAME"], &rows), "#   NAME\n1   Zoë\n12  x");
    }
}
