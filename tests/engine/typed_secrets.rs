//! Secrets that a person typed or stores in the keychain leave the database only as placeholders: in commit
//! messages, which are pushed, variables of programs, notifications, files of `validate` and logs.

use std::{collections::BTreeMap, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result};
use forge_hosts::{Keychain, Token};
use forge_testkit::Sandbox;
use serde_json::json;

use crate::secrets::{holds, written_below};

const TYPED: &str = "ghp_Typ3dByAPers0nTyp3dByAPers0nTyp3dByA";
const PLACEHOLDER: &str = "[redacted: GITHUB_TOKEN]";

/// A token of Gitea's format, which looks like a hash.
const OPAQUE: &str = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432";

/// An agent that runs a command.
async fn agent_of(sandbox: &Sandbox, command: String) -> Result<String> {
    let new = json!({ "name": "other", "adapter": "shell", "config": { "command": command } });
    Ok(sandbox.call("agent_create", new).await?["id"].as_str().context("no id")?.to_owned())
}

#[tokio::test]
async fn secret_in_title_is_redacted_in_commits_programs_and_notifications() -> Result<()> {
    let settings = json!({
        "auto_approve": true,
        "review_config": { "ci_steps": [format!("echo x >> src/a.txt; : {TYPED}")], "allow_changes": true },
    });
    let mut sandbox = Sandbox::new(settings).await?;
    let seen = sandbox.dir.path().join("title");
    let works = format!("printf %s \"$FORGE_TASK_TITLE\" > '{}'; echo x > work.txt", seen.display());
    sandbox.agent = agent_of(&sandbox, works).await?;
    let task = sandbox.described(&format!("Use {TYPED}"), "", json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;

    assert_eq!(std::fs::read_to_string(&seen)?, format!("Use {PLACEHOLDER}"));
    let messages = sandbox.repo.git(&["log", "--all", "--format=%B"])?;
    assert!(messages.contains(PLACEHOLDER) && !messages.contains(TYPED), "{messages}");
    let told = sandbox.call("notification_list", json!({})).await?.to_string();
    assert!(told.contains(PLACEHOLDER) && !told.contains(TYPED), "{told}");
    Ok(())
}

#[tokio::test]
async fn secret_in_validate_command_is_redacted_in_private_files() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let command = format!("false --header 'Authorization: Bearer {TYPED}'");
    let call = json!({ "moduleId": "m", "cwd": sandbox.repo.path(), "commands": [command] });
    for _ in 0..2 {
        sandbox.call("validate", call.clone()).await?;
    }
    let files = written_below(&sandbox.repo.path().join(".forge"))?;
    let holding = files.iter().filter(|(_, content)| holds(content, PLACEHOLDER)).count();
    assert_eq!(holding, 2, "the log and the attempts");
    for (path, content) in &files {
        assert!(!holds(content, TYPED), "{} holds it", path.display());
        assert_eq!(std::fs::metadata(path)?.permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    let state =
        sandbox.call("validate_state", json!({ "moduleId": "m", "cwd": sandbox.repo.path() })).await?;
    assert_eq!(state["attempts"][1]["sameAsPrev"], true, "{state:#}");
    Ok(())
}

#[tokio::test]
async fn keychain_token_is_known_before_project_programs_start() -> Result<()> {
    let settings = json!({
        "auto_approve": true,
        "code_host": { "kind": "gitea", "base_url": "http://127.0.0.1:9", "owner": "o", "repo": "r" },
        "review_config": { "ci_steps": [format!("echo {OPAQUE}")] },
    });
    let token = Token::new(OPAQUE).context("a token")?;
    let keychain = Keychain::Fixed(BTreeMap::from([("127.0.0.1:9".to_owned(), token)]));
    let mut sandbox = Sandbox::with_config(settings, |config| config.keychain = keychain).await?;
    let works = format!("echo {OPAQUE}; echo x > work.txt");
    sandbox.agent = agent_of(&sandbox, works).await?;
    let task = sandbox.described("Work", "", json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;
    sandbox.api.engine().stop().await;
    assert_kept_redacted(&sandbox.dir.path().join("data/logs"), "[redacted: CODE_HOST_TOKEN]")
}

fn assert_kept_redacted(logs: &Path, placeholder: &str) -> Result<()> {
    let files = written_below(logs)?;
    for (path, content) in &files {
        assert!(!holds(content, OPAQUE), "{} holds it", path.display());
    }
    assert!(files.iter().filter(|(_, content)| holds(content, placeholder)).count() >= 2, "it was printed");
    Ok(())
}
