//! `forge project trust`: shows the files that programs run code from, and trusts them.

use forge_api::{
    Reply,
    operations::{ProjectTrust, ProjectTrustAccept},
    ops::trust::{TrustFiles, TrustPath},
};
use forge_model::{
    trust::{TrustFile, TrustState, TrustedContent},
    words::counted,
};

use super::task;
use crate::{
    answer::{Answer, confirm, say},
    args::Trust,
    at::At,
    error::CliError,
};

/// Set by Forge for everything that it runs for an agent.
const RUN: &str = "FORGE_EXECUTION_ID";

pub(crate) async fn run(at: &At, asked: Trust) -> Result<Answer, CliError> {
    let project_id = at.project_named(&asked.project).await?;
    let task_id = match asked.task {
        Some(named) => Some(task::find_in(at, Some(project_id.clone()), &named).await?.value.id),
        None => None,
    };
    let of = TrustPath { project_id: project_id.clone(), task_id: task_id.clone() };
    let Reply { value: listing, json } = at.call(ProjectTrust, of).await?;
    let open: Vec<&TrustFile> = listing.files.iter().filter(|file| !file.accepted).collect();
    if open.is_empty() {
        let text = match listing.files.len() {
            0 => "This repository has no startup files.".to_owned(),
            count => format!("Trusted: {}.", counted(count as u64, "file", "files")),
        };
        return Ok(Answer::new(json, text));
    }
    let shown: Vec<String> = open.iter().map(|file| show(file)).collect();
    let shown = shown.join("\n\n");
    let count = counted(open.len() as u64, "file", "files");
    if !asked.accept {
        let text = format!("{shown}\n\nNot trusted: {count}. Add --accept to trust the files shown.");
        return Ok(Answer { good: false, ..Answer::new(json, text) });
    }
    if std::env::var_os(RUN).is_some() {
        return Err(CliError::Conflict {
            message: "Could not trust the files: only a person can trust them, not an agent.".to_owned(),
            hint: "Trust them in Forge's window, or run the command in your own terminal.",
        });
    }
    if !asked.yes {
        say(&shown);
        let question = format!("\nTrust {count}? Programs may run code from these files.");
        confirm(&question, "trust the files", false)?;
    }
    let seen = |file: &&TrustFile| TrustedContent { path: file.path.clone(), sha256: file.sha256.clone() };
    let files = open.iter().map(seen).collect();
    let now = at.call(ProjectTrustAccept, TrustFiles { project_id, task_id, files }).await?;
    Ok(Answer::new(now.json, format!("Trusted {count}. Tasks that waited for this continue.")))
}

/// A file as a person reads it: its name, where it is, and its text or what changed of it.
fn show(file: &TrustFile) -> String {
    let place = match (&file.commit, file.state) {
        (_, TrustState::Removed) => String::new(),
        (Some(commit), _) => format!(" in commit {}", commit.get(..10).unwrap_or(commit)),
        (None, _) => " in a worktree, uncommitted".to_owned(),
    };
    let head = format!("{} ({}){place}", file.path, file.state);
    let body = match &file.content {
        _ if !file.diff.is_empty() => file.diff.clone(),
        Some(text) => text.clone(),
        None if file.state == TrustState::Removed => String::new(),
        None => format!("{} bytes, binary", file.size),
    };
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let cut = if file.cut { "    ... (cut)\n" } else { "" };
    format!("{head}\n{lines}{cut}").trim_end().to_owned()
}
