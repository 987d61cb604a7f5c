//! The `forge` program: the engine without a window, and its contract on the command line.
//!
//! Every command is an operation of `forge-api`, asked of the engine that runs on the data folder, or of one
//! of its own when none runs ([`connection`]). Standard output carries answers, standard error everything else.
//! Exit codes: 0 ok, 1 the operation failed, 2 usage, 3 not found, 4 conflict or refused by a guard.
//! Deliberately absent: rules about tasks.

mod amount;
mod answer;
mod args;
mod at;
mod changes;
mod command;
mod complete;
mod connection;
mod container_args;
mod demo;
mod editor;
mod error;
mod kubernetes_args;
mod labels;
mod place;
mod remote;
#[cfg(test)]
mod sample;
mod shown;
mod signals;
mod slurm_args;
mod story;
mod words;

use std::{ffi::OsString, io::IsTerminal as _, process::ExitCode, sync::Arc, time::Duration};

use clap::Parser as _;
use forge_engine::Observer;
use tracing_subscriber::EnvFilter;

use crate::{
    answer::{Answer, put, say},
    args::Cli,
    error::CliError,
};

/// Says which log lines are wanted, as `tracing` directives.
const LOG_VARIABLE: &str = "FORGE_LOG";
/// How long the program waits for threads that will not end.
const LAST_THREADS: Duration = Duration::from_millis(500);

/// Runs the program. `arguments` begin with its name; `observer` is told every boundary the engine passes
/// (tests end the process there).
pub fn run(arguments: impl IntoIterator<Item = OsString>, observer: Option<Arc<dyn Observer>>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "scripted-agent") {
        return forge_demo::scripted::main(arguments.into_iter().skip(2));
    }
    if complete::answered(&arguments) {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            // Help and version; a reader that went away needs neither.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            say(&usage(&error.render().to_string()));
            return ExitCode::from(error::USAGE);
        }
    };
    log_to_stderr(cli.command.serves());
    let json = cli.common.json;
    match start(cli, observer) {
        Ok(answer) => print(&answer, json),
        Err(error) => {
            say(&format!("{}: {error}", error.code()));
            for hint in error.hints() {
                say(&format!("hint: {hint}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// What the command line's reader says, in the form of every error.
fn usage(said: &str) -> String {
    let said = said.strip_prefix("error: ").unwrap_or(said).trim_end();
    let (what, more) = said.rsplit_once("\n\n").unwrap_or((said, ""));
    if more.starts_with("For more information") {
        format!("usage: {what}\nhint: {more}")
    } else {
        format!("usage: {said}\nhint: See `--help`.")
    }
}

fn start(cli: Cli, observer: Option<Arc<dyn Observer>>) -> Result<Option<Answer>, CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(CliError::Runtime)?;
    let result = runtime.block_on(Box::pin(command::run(cli, observer)));
    runtime.shutdown_timeout(LAST_THREADS);
    result
}

fn log_to_stderr(serves: bool) {
    let default = if serves { "warn,forge_engine=info,forge_server=info,forge_cli=info" } else { "error" };
    let filter = EnvFilter::try_from_env(LOG_VARIABLE).unwrap_or_else(|_| EnvFilter::new(default));
    // Somebody who runs this program inside another one may have set a log up already; then that is used.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _ = log.with_ansi(std::io::stderr().is_terminal()).try_init();
}

fn print(answer: &Option<Answer>, json: bool) -> ExitCode {
    let Some(answer) = answer else { return ExitCode::SUCCESS };
    let text = if json { answer.json.to_string() } else { answer.text.clone() };
    if text.is_empty() || put(&text) {
        ExitCode::from(u8::from(!answer.good))
    } else {
        ExitCode::from(error::FAILED)
    }
}
