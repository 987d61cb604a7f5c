//! The commands.

mod agent;
mod api;
mod approval;
mod background;
mod backup;
mod connect;
mod cost;
mod fix;
mod hook;
mod issue;
mod knowledge;
mod log;
mod machine;
mod manual;
mod mcp;
mod project;
mod race;
mod replay;
mod runs;
mod scoreboard;
mod serve;
mod service;
mod settings;
mod settings_of_project;
mod status;
mod task;
mod trust;
mod validate;
mod workflow;
mod workspace;

use std::{path::PathBuf, sync::Arc};

use forge_api::{
    Call as _,
    operations::{Diagnostics, Doctor, Validate},
    ops::Empty,
};
use forge_engine::{Observer, Work};

use crate::{
    answer::Answer,
    args::{ApiCall, Cli, Command, Run, Task},
    at::{At, through},
    demo,
    error::CliError,
    place,
    signals::interruptible,
};

/// Does what the command line says.
pub(crate) async fn run(cli: Cli, observer: Option<Arc<dyn Observer>>) -> Result<Option<Answer>, CliError> {
    let Cli { common, command } = cli;
    let work = command.work();
    let data_dir = |asked: Option<PathBuf>| place::data_dir(asked);
    if common.on.is_some() && !command.works_elsewhere() {
        return Err(CliError::Usage {
            message: "this command works on this computer alone, without --on".to_owned(),
            hint: "Run it on the other computer: `ssh HOST forge ...`.",
        });
    }
    match command {
        Command::Serve(options) => {
            let data_dir = data_dir(common.data_dir)?;
            if options.background {
                return background::run(data_dir, options.socket).await.map(Some);
            }
            serve::run(data_dir, options, observer).await.map(|()| None)
        }
        Command::Connect(asked) => interruptible(connect::run(asked)).await.map(Some),
        Command::Service(asked) => service::run(data_dir(common.data_dir)?, asked).await.map(Some),
        Command::Mcp(options) => match options.print_config {
            Some(client) => {
                let config = async |at: &At| mcp::print_config(at, client, options.transport).await;
                through(common, observer, Work::Nothing, config).await
            }
            None => mcp::run(data_dir(common.data_dir)?, observer).await.map(|()| None),
        },
        Command::Demo { machine } => {
            // A whole story is a large future.
            let story = Box::pin(demo::run(common.data_dir, common.json, machine, observer));
            let answer = interruptible(story).await?;
            Ok(Some(answer))
        }
        Command::Project(project) => {
            through(common, observer, work, async |at| project::run(at, project).await).await
        }
        Command::Task(task) => {
            // The commands on tasks are many, and their future is as large as the largest of them.
            let follows = matches!(task, Task::Log { follow: true, .. });
            let run = async |at: &At| Box::pin(task::run(at, task)).await;
            let done = Box::pin(through(common, observer, work, run)).await;
            done.map_err(|error| if follows { error.of_log() } else { error })
        }
        Command::Agent(agent) => {
            through(common, observer, work, async |at| agent::run(at, agent).await).await
        }
        Command::Status => through(common, observer, work, async |at| status::run(at).await).await,
        Command::Race(race) => through(common, observer, work, async |at| race::run(at, race).await).await,
        Command::Fix(fix) => {
            Box::pin(through(common, observer, work, async |at| fix::run(at, fix).await)).await
        }
        Command::Run(run) => {
            let follows = matches!(run, Run::Log { follow: true, .. });
            let done = through(common, observer, work, async |at| runs::run(at, run).await).await;
            done.map_err(|error| if follows { error.of_log() } else { error })
        }
        Command::Cost(cost) => through(common, observer, work, async |at| cost::run(at, cost).await).await,
        Command::Workspace(what) => {
            through(common, observer, work, async |at| workspace::run(at, what).await).await
        }
        Command::Issue(what) => {
            Box::pin(through(common, observer, work, async |at| issue::run(at, what).await)).await
        }
        Command::Knowledge(what) => {
            through(common, observer, work, async |at| knowledge::run(at, what).await).await
        }
        Command::Hook(what) => through(common, observer, work, async |at| hook::run(at, what).await).await,
        Command::Workflow(what) => {
            through(common, observer, work, async |at| workflow::run(at, what).await).await
        }
        Command::Machine(machine) => {
            through(common, observer, work, async |at| machine::run(at, machine).await).await
        }
        Command::Validate(asked) => {
            let validated = through(common, observer, work, async |at| validate::run(at, asked).await);
            validated.await.map_err(CliError::of_checks)
        }
        Command::Replay(what) => replay::run(what).map(Some),
        Command::Backup(what) => Box::pin(backup::run(common, what, observer)).await,
        Command::Settings(settings) => {
            through(common, observer, work, async |at| settings::run(at, settings).await).await
        }
        Command::Doctor => {
            if common.on.is_some() {
                return through(common, observer, work, async |at| doctor(at).await).await;
            }
            let folder = data_dir(common.data_dir.clone())?;
            match through(common, observer, work, async |at| doctor(at).await).await {
                Err(error) => backup::diagnose(&folder, &error).await.map(Some).ok_or(error),
                report => report,
            }
        }
        Command::Diagnostics => through(common, observer, work, async |at| diagnostics(at).await).await,
        Command::Api(ApiCall { operation: None, .. }) => Ok(Some(api::list())),
        Command::Api(ApiCall { operation: Some(operation), input, task }) => {
            let checks = operation == Validate::NAME;
            let call = api::Call { operation, input, task };
            let called = through(common, observer, work, async |at| api::run(at, call).await).await;
            called.map_err(|error| if checks { error.of_checks() } else { error })
        }
        Command::Completions { shell } => Ok(Some(manual::completions(shell))),
        Command::Man { out } => manual::pages(out.as_deref()).map(Some),
    }
}

async fn diagnostics(at: &At) -> Result<Answer, CliError> {
    let report = at.call(Diagnostics, Empty {}).await?;
    let text = report.text.trim_end().to_owned();
    Ok(Answer::new(report.json, text))
}

async fn doctor(at: &At) -> Result<Answer, CliError> {
    let report = at.call(Doctor, Empty {}).await?;
    let mut lines = Vec::new();
    for finding in &report.findings {
        let mark = if finding.ok { "ok  " } else { "BAD " };
        lines.push(format!("{mark} {}: {}", finding.subject, finding.detail));
        if let Some(remedy) = &finding.remedy {
            lines.push(format!("     {remedy}"));
        }
    }
    Ok(Answer { good: report.ok, ..Answer::new(report.json, lines.join("\n")) })
}
