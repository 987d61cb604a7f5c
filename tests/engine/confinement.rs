//! What confined programs may write, read and connect to, and what is told of what they may not.

use std::{collections::BTreeMap, ffi::OsString, net::TcpListener, path::Path, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{HERMETIC_GIT, Sandbox, lasting_folder};
use serde_json::{Value, json};

/// A board in a folder that is not one for temporary files, whose user has a home there.
async fn confined_board(settings: Value) -> Result<Option<Sandbox>> {
    if !forge_exec::sandbox_support().files {
        eprintln!("skipped: this kernel has no Landlock");
        return Ok(None);
    }
    let dir = lasting_folder()?;
    let home = dir.path().join("home");
    std::fs::create_dir_all(home.join(".ssh"))?;
    std::fs::write(home.join(".ssh/id"), "a private key\n")?;
    std::fs::write(home.join(".bashrc"), "# mine\n")?;
    let mut variables = (*forge_exec::variables_of(std::env::vars_os())).clone();
    variables.extend(HERMETIC_GIT.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    variables.insert("HOME".into(), home.into());
    let set = move |config: &mut forge_engine::EngineConfig| config.environment = Arc::new(variables);
    Ok(Some(Sandbox::in_folder(dir, settings, set).await?))
}

/// A task of an agent that runs a script of shell.
async fn task_of(sandbox: &mut Sandbox, script: &str, more: Value) -> Result<Value> {
    let env: BTreeMap<&str, &str> = HERMETIC_GIT.iter().copied().collect();
    let mut config = json!({ "command": script, "env": env });
    forge_model::settings::merge_patch(&mut config, &more);
    let agent = sandbox
        .call("agent_create", json!({ "name": "writer", "adapter": "shell", "config": config }))
        .await?;
    sandbox.agent = agent["id"].as_str().context("no id")?.to_owned();
    let task = sandbox.task("Write", &[], json!({})).await?;
    sandbox.claim(&task).await?;
    Ok(task)
}

async fn report_of(sandbox: &Sandbox, task: &Value) -> Result<Value> {
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    Ok(runs["items"][0]["sandbox"].clone())
}

/// Does its work, and tries what it must not; it goes on whatever is refused.
const MISDEEDS: &str = r#"
echo work > work.txt
git add work.txt
git commit --quiet --message "the work"
echo "evil" >> "$HOME/.bashrc"
cat "$HOME/.ssh/id"
echo "evil" > "$FORGE_REPO_PATH/README.md"
echo "evil" > "$FORGE_REPO_PATH/.git/hooks/post-merge"
git config user.name evil
git -C "$FORGE_REPO_PATH" config core.fsmonitor evil
git -C "$FORGE_REPO_PATH" update-ref refs/heads/main "$(git rev-parse HEAD)"
git update-ref refs/heads/main "$(git rev-parse HEAD)"
true
"#;

#[tokio::test]
async fn confined_agent_commits_and_changes_nothing_of_the_users() -> Result<()> {
    let settings = json!({ "auto_approve": true, "sandbox": { "mode": "files" } });
    let Some(mut sandbox) = confined_board(settings).await? else { return Ok(()) };
    let home = sandbox.dir.path().join("home");
    let repo = sandbox.repo.path().to_owned();
    let config = std::fs::read(repo.join(".git/config"))?;
    let task = task_of(&mut sandbox, MISDEEDS, json!({})).await?;
    let done = sandbox.reach(&task, "done").await?;
    assert_eq!(sandbox.repo.git(&["show", "main:work.txt"])?, "work", "the work is on main: {done:#}");
    let log = sandbox.repo.git(&["log", "--format=%s", "main"])?;
    ensure!(log.contains("the work"), "the agent's own commit is: {log}");
    assert_eq!(std::fs::read_to_string(home.join(".bashrc"))?, "# mine\n");
    assert_eq!(std::fs::read(repo.join(".git/config"))?, config);
    ensure!(!repo.join(".git/hooks/post-merge").exists());
    assert_eq!(sandbox.repo.git(&["show", "main:README.md"])?, "# Sample");
    let report = report_of(&sandbox, &task).await?;
    assert_eq!((&report["mode"], &report["state"]), (&json!("files"), &json!("enforced")));
    ensure!(report["refused"].as_u64() >= Some(4), "{report:#}");
    let paths = report["paths"].to_string();
    for path in [".bashrc", ".ssh/id", "README.md", "hooks/post-merge"] {
        ensure!(paths.contains(path), "{path} is told: {report:#}");
    }
    let kept =
        report["kept_refs"][0].as_str().with_context(|| format!("the other main is kept: {report:#}"))?;
    ensure!(kept.starts_with("refs/forge/sandbox/"), "{kept}");
    Ok(())
}

#[tokio::test]
async fn checks_hooks_and_set_up_are_confined_and_their_logs_tell() -> Result<()> {
    let misdeed = |who: &str| format!("touch \"$HOME/{who}\" || true");
    let settings = json!({
        "auto_approve": true,
        "sandbox": { "mode": "files", "write": ["~/open"] },
        "setup": [misdeed("setup"), "touch ~/open/setup"],
        "review_config": { "ci_steps": [misdeed("check"), "test -e work.txt"] },
        "lifecycle_hooks": { "before_work": [{ "type": "script", "command": misdeed("hook") }] },
    });
    let Some(mut sandbox) = confined_board(settings).await? else { return Ok(()) };
    let home = sandbox.dir.path().join("home");
    std::fs::create_dir(home.join("open"))?;
    let task = task_of(&mut sandbox, "echo work > work.txt", json!({})).await?;
    sandbox.reach(&task, "done").await?;
    for who in ["setup", "check", "hook"] {
        ensure!(!home.join(who).exists(), "{who} wrote to the home");
        let told = lines_with(&sandbox.dir.path().join("data/logs"), "sandbox_refused")?;
        ensure!(told.iter().any(|line| line.contains(&format!("home/{who}"))), "{who}: {told:#?}");
    }
    ensure!(home.join("open/setup").exists(), "what the settings open is open");
    Ok(())
}

#[tokio::test]
async fn an_agent_says_otherwise_than_its_project() -> Result<()> {
    let settings = json!({ "auto_approve": true, "sandbox": { "mode": "files" } });
    let Some(mut sandbox) = confined_board(settings).await? else { return Ok(()) };
    let script = "touch \"$HOME/free\"; echo work > work.txt";
    let task = task_of(&mut sandbox, script, json!({ "sandbox": "off" })).await?;
    sandbox.reach(&task, "done").await?;
    ensure!(sandbox.dir.path().join("home/free").exists());
    assert_eq!(report_of(&sandbox, &task).await?, Value::Null);
    Ok(())
}

#[tokio::test]
async fn new_project_is_confined_and_one_that_says_off_is_not() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let silent = sandbox.call("project_settings_get", json!({ "project_id": sandbox.project })).await?;
    assert_eq!(silent["settings"]["sandbox"]["mode"], "files");
    let off = Sandbox::new(json!({ "sandbox": { "mode": "off" } })).await?;
    let off = off.call("project_settings_get", json!({ "project_id": off.project })).await?;
    assert_eq!(off["settings"]["sandbox"]["mode"], "off");
    Ok(())
}

#[tokio::test]
async fn confined_network_reaches_listed_ports_alone() -> Result<()> {
    if !forge_exec::sandbox_support().network {
        eprintln!("skipped: this kernel has no rules for the network");
        return Ok(());
    }
    let (open, closed) = (TcpListener::bind("127.0.0.1:0")?, TcpListener::bind("127.0.0.1:0")?);
    let (open_port, closed_port) = (open.local_addr()?.port(), closed.local_addr()?.port());
    let sandbox = json!({ "mode": "files_and_network", "ports": [open_port] });
    let Some(mut board) = confined_board(json!({ "auto_approve": true, "sandbox": sandbox })).await? else {
        return Ok(());
    };
    let script = format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/{open_port}' && echo open >> work.txt; \
         bash -c 'exec 3<>/dev/tcp/127.0.0.1/{closed_port}' || echo closed >> work.txt"
    );
    let task = task_of(&mut board, &script, json!({})).await?;
    board.reach(&task, "done").await?;
    assert_eq!(board.repo.git(&["show", "main:work.txt"])?, "open\nclosed");
    Ok(())
}

/// The lines of all log files below a folder that contain a text.
fn lines_with(folder: &Path, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(lines_with(&path, text)?);
        } else if path.extension().is_some_and(|ending| ending == "jsonl") {
            let content = std::fs::read_to_string(&path)?;
            found.extend(content.lines().filter(|line| line.contains(text)).map(str::to_owned));
        }
    }
    Ok(found)
}
