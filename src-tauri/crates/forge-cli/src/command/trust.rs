//! `forge project trust`: shows the files that programs run code from, and trusts them.

use std::io::BufRead as _;

use forge_model::words::counted;
use serde_json::{Value, json};

use super::task;
use crate::{
    answer::{Answer, say},
    args::Trust,
    at::At,
    error::CliError,
    shown::string,
};

/// Set by Forge for everything that it runs for an agent.
const RUN: &str = "FORGE_EXECUTION_ID";

pub(crate) async fn run(at: &At, asked: Trust) -> Result<Answer, CliError> {
    // A name is understood where a project is read.
    let found = at.call("project_get", json!({ "project_id": asked.project })).await?;
    let mut input = json!({ "project_id": found["id"] });
    if let Some(named) = asked.task {
        let task = task::find_in(at, Some(string(&found, "id")), &named).await?;
        input["task_id"] = task["id"].clone();
    }
    let listing = at.call("project_trust", input.clone()).await?;
    let open = open(&listing);
    if open.is_empty() {
        let text = match files(&listing).len() {
            0 => "This repository has no startup files.".to_owned(),
            count => format!("Trusted: {}.", counted(count as u64, "file", "files")),
        };
        return Ok(Answer::new(listing, text));
    }
    let shown: Vec<String> = open.iter().map(|file| show(file)).collect();
    let shown = shown.join("\n\n");
    let count = counted(open.len() as u64, "file", "files");
    if !asked.accept {
        let text = format!("{shown}\n\nNot trusted: {count}. Add --accept to trust the files shown.");
        return Ok(Answer { good: false, ..Answer::new(listing, text) });
    }
    if std::env::var_os(RUN).is_some() {
        return Err(CliError::Conflict {
            message: "Could not trust the files: only a person can trust them, not an agent.".to_owned(),
            hint: "Trust them in Forge's window, or run the command in your own terminal.",
        });
    }
    if !asked.yes {
        say(&shown);
        say(&format!("\nTrust {count}? Programs may run code from these files. [y/N]"));
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map_err(CliError::io("read the answer"))?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            return Err(CliError::Conflict {
                message: "Could not trust the files: not confirmed.".to_owned(),
                hint: "Answer `y`, or add --yes in scripts.",
            });
        }
    }
    let seen = open.iter().map(|file| json!({ "path": file["path"], "sha256": file["sha256"] }));
    input["files"] = seen.collect();
    let now = at.call("project_trust_accept", input).await?;
    Ok(Answer::new(now, format!("Trusted {count}. Tasks that waited for this continue.")))
}

fn files(listing: &Value) -> &[Value] {
    listing["files"].as_array().map_or(&[], Vec::as_slice)
}

fn open(listing: &Value) -> Vec<&Value> {
    files(listing).iter().filter(|file| file["accepted"] != true).collect()
}

/// A file as a person reads it: its name, where it is, and its text or what changed of it.
fn show(file: &Value) -> String {
    let place = match (file["commit"].as_str(), file["state"].as_str()) {
        (_, Some("removed")) => String::new(),
        (Some(commit), _) => format!(" in commit {}", commit.get(..10).unwrap_or(commit)),
        (None, _) => " in a worktree, uncommitted".to_owned(),
    };
    let head = format!("{} ({}){place}", string(file, "path"), string(file, "state"));
    let diff = string(file, "diff");
    let body = match file["content"].as_str() {
        _ if !diff.is_empty() => diff,
        Some(text) => text.to_owned(),
        None if file["state"] == "removed" => String::new(),
        None => format!("{} bytes, binary", file["size"]),
    };
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let cut = if file["cut"] == true { "    ... (cut)\n" } else { "" };
    format!("{head}\n{lines}{cut}").trim_end().to_owned()
}
