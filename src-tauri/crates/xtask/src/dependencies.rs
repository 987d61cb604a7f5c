//! What the program is made of: licences, bans and sources of the crates, checked with every test run, and the
//! advisories about crates and npm packages, which are looked up on demand.
//!
//! The rules are in `.config/deny.toml`. Advisories come from outside and change without a commit, so they are no part
//! of the test command; an audit that could not ask is told apart from one that found nothing.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Output, Stdio},
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::{
    program::{program, run, shown},
    system,
    workspace::Workspace,
};

/// The rules, from the root.
const RULES: &str = ".config/deny.toml";

/// Checks licences, bans and sources. Nothing is asked of the network once the crates are there.
pub fn check(workspace: &Workspace) -> Result<()> {
    run(&mut deny(workspace, &["--locked", "check", "licenses", "bans", "sources"]))
}

fn deny(workspace: &Workspace, arguments: &[&str]) -> Command {
    let first = ["deny", "--config", RULES, "--workspace"];
    program("cargo", first.iter().chain(arguments), &workspace.root)
}

/// What an audit of one set of dependencies came to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing is known against them, but for the exceptions of the rules.
    Clean,
    /// Something is; shown already, or here.
    Found(String),
    /// Nobody could be asked, and why.
    Unreachable(String),
}

/// Looks up what is known against the crates and the npm packages.
pub fn audit(workspace: &Workspace) -> Result<ExitCode> {
    let mut outcomes = vec![("crates".to_owned(), crates(workspace)?)];
    for folder in [workspace.ui(), workspace.agent_programs()] {
        outcomes.push((of_folder(&workspace.root, &folder), packages(&folder)?));
    }
    eprintln!();
    for (name, outcome) in &outcomes {
        match outcome {
            Outcome::Clean => eprintln!("ok           {name}"),
            Outcome::Found(what) => eprintln!("FOUND        {name}: {what}"),
            Outcome::Unreachable(why) => eprintln!("NOT CHECKED  {name}: {why}"),
        }
    }
    Ok(ExitCode::from(code(outcomes.iter().map(|(_, outcome)| outcome))))
}

fn of_folder(root: &Path, folder: &Path) -> String {
    let folder: PathBuf = folder.strip_prefix(root).unwrap_or(folder).into();
    format!("npm packages of {}", folder.display())
}

/// 1 when anything was found, else 2 when anything could not be looked up.
fn code<'o>(outcomes: impl Iterator<Item = &'o Outcome>) -> u8 {
    let codes = outcomes.map(|outcome| match outcome {
        Outcome::Clean => 0,
        Outcome::Found(_) => 1,
        Outcome::Unreachable(_) => 2,
    });
    codes.filter(|code| *code > 0).min().unwrap_or(0)
}

/// By the advisory database of RustSec, which is fetched first: from then on a failure is a finding.
fn crates(workspace: &Workspace) -> Result<Outcome> {
    if let Err(error) = system::prepare_cargo_deny(&workspace.root) {
        return Ok(Outcome::Unreachable(format!("Could not install cargo-deny: {error:#}")));
    }
    let fetched = output(&mut deny(workspace, &["fetch", "db"]))?;
    if !fetched.status.success() {
        let said = String::from_utf8_lossy(&fetched.stderr);
        return Ok(Outcome::Unreachable(format!(
            "Could not fetch the advisory database: {}",
            last_line(&said)
        )));
    }
    let mut check = deny(workspace, &["--locked", "check", "--hide-inclusion-graph", "advisories"]);
    eprintln!("$ {}", shown(&check));
    let status = check.status().with_context(|| format!("failed to start `{}`", shown(&check)))?;
    Ok(if status.success() { Outcome::Clean } else { Outcome::Found("the advisories above".to_owned()) })
}

/// By the npm registry.
fn packages(folder: &Path) -> Result<Outcome> {
    let audited = output(&mut program("npm", ["audit", "--json"], folder))?;
    Ok(npm_outcome(&String::from_utf8_lossy(&audited.stdout)))
}

/// What npm says about a lock file. It ends alike when it finds something and when it cannot ask.
fn npm_outcome(said: &str) -> Outcome {
    let Ok(report) = serde_json::from_str::<Value>(said) else {
        return Outcome::Unreachable("npm gave no report".to_owned());
    };
    let Some(total) = report["metadata"]["vulnerabilities"]["total"].as_u64() else {
        let why = [&report["message"], &report["error"]["summary"], &report["error"]["code"]];
        let why = why.iter().find_map(|why| why.as_str().filter(|why| !why.is_empty()));
        return Outcome::Unreachable(format!(
            "Could not ask the registry: {}",
            why.unwrap_or("npm gave no reason")
        ));
    };
    if total == 0 {
        return Outcome::Clean;
    }
    let named = report["vulnerabilities"].as_object().into_iter().flatten();
    let named =
        named.map(|(name, found)| format!("{name} ({})", found["severity"].as_str().unwrap_or("unknown")));
    Outcome::Found(named.collect::<Vec<_>>().join(", "))
}

/// Runs a program to its end, whatever that is.
fn output(command: &mut Command) -> Result<Output> {
    eprintln!("$ {}", shown(command));
    command.stdin(Stdio::null()).output().with_context(|| format!("failed to start `{}`", shown(command)))
}

fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it gave no reason")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npm_reports_tell_findings_from_failures() {
        let clean = r#"{"vulnerabilities": {}, "metadata": {"vulnerabilities": {"high": 0, "total": 0}}}"#;
        assert_eq!(npm_outcome(clean), Outcome::Clean);
        let found = r#"{"vulnerabilities": {"a": {"severity": "high"}, "b": {}},
            "metadata": {"vulnerabilities": {"high": 1, "total": 2}}}"#;
        assert_eq!(npm_outcome(found), Outcome::Found("a (high), b (unknown)".to_owned()));
        let refused = r#"{"message": "405 Method Not Allowed", "error": {"summary": "", "detail": ""}}"#;
        let why = "Could not ask the registry: 405 Method Not Allowed";
        assert_eq!(npm_outcome(refused), Outcome::Unreachable(why.to_owned()));
        let offline = r#"{"error": {"code": "ENOTFOUND", "summary": ""}}"#;
        assert_eq!(
            npm_outcome(offline),
            Outcome::Unreachable("Could not ask the registry: ENOTFOUND".to_owned())
        );
        for nothing in ["", "npm error", "{}", "[]"] {
            assert!(matches!(npm_outcome(nothing), Outcome::Unreachable(_)), "{nothing}");
        }
    }

    #[test]
    fn the_exit_code_tells_findings_before_failures_to_ask() {
        let (clean, found, unreachable) =
            (Outcome::Clean, Outcome::Found(String::new()), Outcome::Unreachable(String::new()));
        assert_eq!(code([&clean, &clean].into_iter()), 0);
        assert_eq!(code([&clean, &unreachable].into_iter()), 2);
        assert_eq!(code([&unreachable, &found, &clean].into_iter()), 1);
    }

    #[test]
    fn a_failure_is_told_by_its_last_line() {
        assert_eq!(last_line("fatal: one\n  two  \n\n"), "two");
        assert_eq!(last_line(" \n"), "it gave no reason");
    }
}
