//! `forge completions` and `forge man`: both are made from the definition that reads the command line.

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::{answer::Answer, args::Cli, complete, error::CliError};

/// What a shell is to read, to complete the program's command line.
pub(crate) fn completions(shell: Shell) -> Answer {
    let script = complete::script(&shell.to_string()).unwrap_or_default();
    Answer::new(json!({ "shell": shell.to_string(), "script": script }), script)
}

/// The manual page of the program, or those of every command as files of a folder.
pub(crate) fn pages(folder: Option<&Path>) -> Result<Answer, CliError> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command().disable_help_subcommand(true)).render(&mut page);
        rendered.map_err(CliError::io("write the manual page"))?;
        let page = String::from_utf8_lossy(&page).trim_end().to_owned();
        return Ok(Answer::new(json!({ "page": page }), page));
    };
    let doing = || format!("write the manual pages to {}", folder.display());
    std::fs::create_dir_all(folder).map_err(CliError::io(doing()))?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(CliError::io(doing()))?;
    let text = format!("Wrote the manual pages to {}.", folder.display());
    Ok(Answer::new(json!({ "folder": folder }), text))
}
