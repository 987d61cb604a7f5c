//! Help, shell completions and manual pages of the program.

use std::collections::VecDeque;

use anyhow::{Context as _, Result};

use forge_testkit::{Folder, folder::CommandOutput};

/// Runs the program as in a terminal with a hundred columns.
fn asked(folder: &Folder, args: &[String]) -> Result<CommandOutput> {
    let output = folder.command(args)?.env("COLUMNS", "100").output()?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        // A wrapped explanation stands further in.
        line.strip_prefix("  ").filter(|line| !line.starts_with(' '))?.split_whitespace().next()
    });
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command with its help text, the program itself first.
fn all(sandbox: &Folder) -> Result<Vec<(Vec<String>, String)>> {
    let mut told = Vec::new();
    let mut open = VecDeque::from([Vec::new()]);
    while let Some(command) = open.pop_front() {
        let ended = asked(sandbox, &[&command[..], &["--help".to_owned()]].concat())?;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{command:?}");
        for name in listed(&ended.stdout) {
            open.push_back([&command[..], &[name]].concat());
        }
        told.push((command, ended.stdout));
    }
    Ok(told)
}

#[test]
fn help_of_each_command_matches_the_snapshot() -> Result<()> {
    let sandbox = Folder::new()?;
    let all = all(&sandbox)?;
    assert!(all.len() > 20, "{}", all.len());
    let text: String = all
        .iter()
        .map(|(command, help)| {
            format!("$ forge {}\n{help}\n", [&command[..], &["--help".to_owned()]].concat().join(" "))
        })
        .collect();
    insta::assert_snapshot!("help", text.trim_end());
    assert!(!sandbox.data_dir().exists(), "asking for help opens nothing");
    Ok(())
}

/// What bash suggests after these words for what was begun.
fn suggested(folder: &Folder, words: &[String], begun: &str) -> Result<Vec<String>> {
    let script = folder.dir.path().join("forge.bash");
    std::fs::write(&script, folder.run(&["completions", "bash"])?.stdout)?;
    let program = forge_testkit::program("forge")?;
    let beside = program.parent().context("the folder of the program")?;
    let path = format!("{}:{}", beside.display(), std::env::var("PATH")?);
    let line = r#"source "$0"; COMP_WORDS=(forge "$@"); COMP_CWORD=$#; COMP_TYPE=9
        _clap_complete_forge forge "${!#}" forge; printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = std::process::Command::new("bash");
    bash.args(["--norc", "-c", line]).arg(&script).args(words).arg(begun);
    let said = bash.env("PATH", path).env("FORGE_DATA_DIR", folder.data_dir()).output()?;
    let said = String::from_utf8(said.stdout)?;
    Ok(said.lines().filter(|line| !line.is_empty()).map(|line| line.trim_end().to_owned()).collect())
}

#[tokio::test]
async fn names_that_a_running_engine_knows_are_completed() -> Result<()> {
    let folder = Folder::new()?;
    let repo = folder.repo.path().to_string_lossy().into_owned();
    folder.run(&["project", "add", &repo, "--name", "thing"])?.succeeded()?;
    folder.run(&["agent", "add", "Writer", "--command", "true"])?.succeeded()?;
    folder.run(&["task", "create", "Greet"])?.succeeded()?;
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert!(suggested(&folder, &words("task show"), "")?.iter().all(|it| it != "1"), "nothing runs");
    let mut served = folder.serve()?;
    assert!(suggested(&folder, &words("task show"), "")?.contains(&"1".to_owned()));
    assert_eq!(suggested(&folder, &words("task start 1 --agent"), "Wri")?, ["Writer"]);
    assert_eq!(suggested(&folder, &words("agent pause"), "W")?, ["Writer"]);
    assert_eq!(suggested(&folder, &words("task list --project"), "th")?, ["thing"]);
    served.terminate().await.map(drop)
}

#[test]
fn completions_and_manuals_cover_every_command() -> Result<()> {
    let sandbox = Folder::new()?;
    let all = all(&sandbox)?;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell])?;
        script.succeeded()?;
        assert!(script.stdout.contains("forge"), "{shell}: {script:?}");
    }
    for (command, _) in all.iter().filter(|(command, _)| !command.is_empty()) {
        let (last, path) = command.split_last().context("a command")?;
        let said = suggested(&sandbox, path, last)?;
        assert!(said.contains(last), "{command:?}: {said:?}");
    }
    assert_eq!(suggested(&sandbox, &["task".to_owned()], "app")?, ["approve"]);
    assert!(!sandbox.data_dir().exists(), "completing a line opens nothing");

    let folder = sandbox.dir.path().join("man/man1");
    let written = sandbox.run(&["man", "--out", &folder.to_string_lossy()])?;
    assert_eq!(written.code, Some(0), "{written:?}");
    for (command, _) in &all {
        let name = [&["forge".to_owned()], &command[..]].concat().join("-");
        let page = std::fs::read_to_string(folder.join(format!("{name}.1")))?;
        assert!(page.contains(".SH SYNOPSIS"), "{name}");
    }
    assert_eq!(
        sandbox.run(&["man"])?.stdout.trim_end(),
        std::fs::read_to_string(folder.join("forge.1"))?.trim_end()
    );
    Ok(())
}

#[test]
fn every_operation_can_be_called_by_name() -> Result<()> {
    let sandbox = Folder::new()?;
    let list = sandbox.run(&["api"])?;
    let removal = list.stdout.lines().find(|line| line.starts_with("task_dependency_remove "));
    assert!(removal.is_some_and(|line| line.contains(" task_id, depends_on ")), "{list:?}");
    assert!(!sandbox.data_dir().exists(), "listing them opens nothing");
    let repo = sandbox.repo.path().to_string_lossy().into_owned();
    sandbox.run(&["project", "add", &repo])?.succeeded()?;
    sandbox.run(&["task", "create", "Old", "--description", "Words"])?.succeeded()?;
    let input = r#"{"title": "New"}"#;
    let task = sandbox.run(&["api", "task_update", input, "--task", "#1"])?.json()?;
    assert_eq!((&task["title"], &task["description"]), (&"New".into(), &"Words".into()));
    let input = r#"{"description": null}"#;
    let task = sandbox.run(&["api", "task_update", input, "--task", "1"])?.json()?;
    assert_eq!((&task["title"], &task["description"]), (&"New".into(), &"".into()), "null takes it away");
    let settings = sandbox.run(&["api", "project_settings_update", r#"{"auto_start": true}"#])?.json()?;
    assert_eq!(settings["own"], serde_json::json!({ "auto_start": true }));
    for (args, code, says) in [
        (["api", "no_such_operation", "{}"], 3, "not_found: "),
        (["api", "task_list", "[]"], 2, "usage: the input is not a JSON object"),
        (["api", "task_list", r#"{"limit": 0}"#], 1, "invalid: limit: "),
    ] {
        let ended = sandbox.run(&args)?;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.starts_with(says), "{ended:?}");
    }
    Ok(())
}
