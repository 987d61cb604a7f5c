//! What agents, checks, setup commands and hooks inherit of the user's environment.

use std::{collections::BTreeMap, ffi::OsString, path::Path, sync::Arc};

use anyhow::{Context as _, Result};
use forge_testkit::Sandbox;
use serde_json::{Value, json};

/// Variables of the test's user.
const USER: [(&str, &str); 6] = [
    ("CANARY_TOKEN", "canary-1"),
    ("DB_PASSWORD", "canary-2"),
    ("PLAIN", "plain"),
    ("PROJECT_SECRET", "canary-3"),
    ("AGENT_SECRET", "canary-4"),
    ("ANTHROPIC_API_KEY", "canary-5"),
];

fn user_variables() -> BTreeMap<OsString, OsString> {
    let mut own = (*forge_exec::variables_of(std::env::vars_os())).clone();
    own.extend(USER.map(|(name, value)| (name.into(), value.into())));
    own
}

/// A command that writes the environment into the task's folder, outside the worktree.
fn dump_environment(who: &str) -> String {
    format!("env > \"$FORGE_WORKTREE_PATH/../{who}.env\"")
}

/// Settings whose programs all write their environment.
fn settings(more: &Value) -> Value {
    let mut all = json!({
        "auto_approve": true,
        "setup": [dump_environment("setup")],
        "review_config": { "ci_steps": [dump_environment("check")] },
        "lifecycle_hooks": { "before_work": [{ "type": "script", "command": dump_environment("hook") }] },
    });
    forge_model::settings::merge_patch(&mut all, more);
    all
}

/// The environment of one of a task's programs.
fn environment_of(tree: &Path, who: &str) -> Result<BTreeMap<String, String>> {
    let folder = tree.parent().context("a task's folder")?;
    let text = std::fs::read_to_string(folder.join(format!("{who}.env"))).with_context(|| who.to_owned())?;
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    Ok(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

/// Runs a task of a shell agent to its end, and returns its worktree and its runs.
async fn run(sandbox: &mut Sandbox, config: Value) -> Result<(std::path::PathBuf, Value)> {
    let new = json!({ "name": "teller", "adapter": "shell", "config": config });
    let agent = sandbox.call("agent_create", new).await?;
    sandbox.agent = agent["id"].as_str().context("no id")?.to_owned();
    let task = sandbox.task("Tell", &[], json!({})).await?;
    sandbox.claim(&task).await?;
    let place = sandbox.wait(&task, "in a worktree", |now| now["workspace"]["path"].is_string()).await?;
    sandbox.reach(&task, "done").await?;
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    Ok((place["workspace"]["path"].as_str().context("no path")?.into(), runs))
}

fn dumping_agent(more: &Value) -> Value {
    let mut config = json!({ "command": format!("{}; echo work > work.txt", dump_environment("agent")) });
    forge_model::settings::merge_patch(&mut config, more);
    config
}

#[tokio::test]
async fn programs_in_safe_mode_inherit_no_secrets_and_run_lists_withheld_names() -> Result<()> {
    let own = settings(&json!({ "environment": { "pass": ["PROJECT_SECRET"] } }));
    let mut sandbox =
        Sandbox::with_config(own, |config| config.environment = Arc::new(user_variables())).await?;
    let config = dumping_agent(
        &json!({ "environment": { "pass": ["AGENT_SECRET"] }, "env": { "GIVEN_TOKEN": "given" } }),
    );
    let (tree, runs) = run(&mut sandbox, config).await?;
    for who in ["setup", "check", "hook", "agent"] {
        let given = environment_of(&tree, who)?;
        let value = |name: &str| given.get(name).map(String::as_str);
        assert_eq!(value("PLAIN"), Some("plain"), "{who}");
        assert_eq!(value("PROJECT_SECRET"), Some("canary-3"), "{who}");
        for name in ["CANARY_TOKEN", "DB_PASSWORD", "ANTHROPIC_API_KEY"] {
            assert_eq!(value(name), None, "{who} got {name}");
        }
        let of_agent = (who == "agent").then_some(("canary-4", "given"));
        assert_eq!(value("AGENT_SECRET"), of_agent.map(|it| it.0), "{who}");
        assert_eq!(value("GIVEN_TOKEN"), of_agent.map(|it| it.1), "{who}");
    }
    let withheld: Vec<String> = serde_json::from_value(runs["items"][0]["withheld"].clone())?;
    for name in ["ANTHROPIC_API_KEY", "CANARY_TOKEN", "DB_PASSWORD"] {
        assert!(withheld.iter().any(|it| it == name), "{name} is not named: {withheld:?}");
    }
    assert!(!withheld.iter().any(|it| it == "AGENT_SECRET" || it == "PROJECT_SECRET"), "{withheld:?}");
    let logs = sandbox.dir.path().join("data/logs");
    let told = text_below(&logs)?;
    assert!(told.contains("Withheld from the environment:"), "checks say what was withheld");
    for value in ["canary-1", "canary-2", "canary-5"] {
        assert!(!told.contains(value), "{value} is in a log");
    }
    Ok(())
}

/// The text of all files below a folder.
fn text_below(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            text.push_str(&text_below(&path)?);
        } else {
            text.push_str(&String::from_utf8_lossy(&std::fs::read(&path)?));
        }
    }
    Ok(text)
}

#[tokio::test]
async fn programs_with_project_mode_inherit_everything_or_minimum() -> Result<()> {
    for (mode, token, plain) in [("inherit_all", Some("canary-1"), Some("plain")), ("minimal", None, None)] {
        let own = settings(&json!({ "environment": { "mode": mode } }));
        let set = |config: &mut forge_engine::EngineConfig| config.environment = Arc::new(user_variables());
        let mut sandbox = Sandbox::with_config(own, set).await?;
        let (tree, _) = run(&mut sandbox, dumping_agent(&json!({}))).await?;
        for who in ["setup", "check", "hook", "agent"] {
            let given = environment_of(&tree, who)?;
            let value = |name: &str| given.get(name).map(String::as_str);
            assert_eq!((value("CANARY_TOKEN"), value("PLAIN")), (token, plain), "{mode}: {who}");
            assert!(value("PATH").is_some(), "{mode}: {who}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn git_hook_with_passed_variables_sees_them_and_no_forge_variable() -> Result<()> {
    for (pass, token) in [(json!([]), None), (json!(["CANARY_TOKEN"]), Some("canary-1"))] {
        let own = json!({ "auto_approve": true, "environment": { "pass": pass } });
        let mut sandbox = Sandbox::with_config(own, |config| {
            let mut user = user_variables();
            user.insert("FORGE_EXECUTION_ID".into(), "of another run".into());
            config.environment = Arc::new(user);
        })
        .await?;
        let told = sandbox.dir.path().join("hook.env");
        let hook = sandbox.repo.path().join(".git/hooks/pre-commit");
        std::fs::write(&hook, format!("#!/bin/sh\nenv > '{}'\n", told.display()))?;
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        run(&mut sandbox, json!({ "command": "echo work > work.txt" })).await?;
        let text = std::fs::read_to_string(&told).context("the hook did not run")?;
        let given: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
        assert_eq!((given.get("PLAIN"), given.get("CANARY_TOKEN")), (Some(&"plain"), token.as_ref()));
        for name in ["DB_PASSWORD", "ANTHROPIC_API_KEY", "FORGE_EXECUTION_ID"] {
            assert_eq!(given.get(name), None, "{name}");
        }
    }
    Ok(())
}

/// A home whose profile counts how often it runs.
fn home(sandbox: &Path, rest: &str) -> Result<std::path::PathBuf> {
    let home = sandbox.join("home");
    std::fs::create_dir_all(&home)?;
    let count = "echo x >> \"$HOME/runs\"\nexport FROM_PROFILE=yes PROFILE_TOKEN=canary-6";
    std::fs::write(home.join(".bash_profile"), format!("{count}\n{rest}\n"))?;
    Ok(home)
}

fn runs_of_profile(home: &Path) -> usize {
    std::fs::read_to_string(home.join("runs")).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn login_profile_runs_once_and_its_exports_are_filtered() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (mode, at_most) in [("login_once", 1), ("login_each", usize::MAX)] {
        let home = home(&folder.path().join(mode), "")?;
        let mut variables = user_variables();
        variables.insert("HOME".into(), home.clone().into());
        let own = settings(&json!({ "shell": ["bash", "-lc"], "shell_mode": mode }));
        let mut sandbox =
            Sandbox::with_config(own, |config| config.environment = Arc::new(variables)).await?;
        let (tree, _) = run(&mut sandbox, dumping_agent(&json!({}))).await?;
        for who in ["setup", "check", "hook", "agent"] {
            let given = environment_of(&tree, who)?;
            let value = |name: &str| given.get(name).map(String::as_str);
            assert_eq!(value("FROM_PROFILE"), Some("yes"), "{mode}: {who}");
            assert_eq!(value("CANARY_TOKEN"), None, "{mode}: {who}");
            if mode == "login_once" {
                assert_eq!(value("PROFILE_TOKEN"), None, "{mode}: {who}");
            }
        }
        let runs = runs_of_profile(&home);
        assert!(
            runs <= at_most && (mode == "login_once" || runs >= 4),
            "{mode}: the profile ran {runs} times"
        );
    }
    Ok(())
}

#[tokio::test]
async fn failing_login_profile_blocks_task_with_reason() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let home = home(folder.path(), "echo 'pyenv: cannot rehash' >&2; exit 3")?;
    let mut variables = user_variables();
    variables.insert("HOME".into(), home.clone().into());
    let own = json!({ "shell": ["bash", "-lc"], "setup": ["true"] });
    let sandbox = Sandbox::with_config(own, |config| config.environment = Arc::new(variables)).await?;
    let task = sandbox.task("Try", &["write a.txt a"], json!({})).await?;
    sandbox.claim(&task).await?;
    let blocked = sandbox.reach(&task, "blocked").await?;
    let annotation = &blocked["error_annotation"];
    assert_eq!(annotation["type"], "environment_not_ready");
    let message = annotation["message"].as_str().unwrap_or_default();
    assert!(message.contains("Could not read the login environment of bash"), "{message}");
    assert!(message.contains("pyenv: cannot rehash") && message.contains("login_each"), "{message}");
    // A profile that is mended is run again.
    std::fs::write(home.join(".bash_profile"), "export FROM_PROFILE=yes\n")?;
    sandbox
        .call("task_action", json!({ "task_id": task["id"], "verb": "retry", "version": blocked["version"] }))
        .await?;
    sandbox.wait(&task, "under way", |now| now["status"] != "blocked").await?;
    sandbox.wait(&task, "at work or further", |now| now["workspace"]["status"] == "active").await?;
    Ok(())
}
