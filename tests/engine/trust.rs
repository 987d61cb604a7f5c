//! Trust in a repository: no program starts with files that run code until a person trusts them.

use std::{os::unix::fs::symlink, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text, until_exists, with},
};
use forge_tests::patience::until_there;
use serde_json::{Value, json};

const SERVERS: &str = "{ \"mcpServers\": {} }\n";

/// A board whose checks and further programs leave a mark when they run.
async fn open(more: Value) -> Result<Board> {
    let board = Board::new(json!({})).await?;
    let settings = with(json!({ "review_config": { "ci_steps": [touch(&board, "check")] } }), &more);
    board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
    Ok(board)
}

fn mark(board: &Board, name: &str) -> PathBuf {
    board.folder.dir.path().join(format!("{name}-ran"))
}

fn touch(board: &Board, name: &str) -> String {
    format!("touch '{}'", mark(board, name).display())
}

fn path(board: &Board, query: &str) -> String {
    format!("/projects/{}/trust{query}", board.project)
}

/// A file of a listing by path.
fn file<'a>(listing: &'a Value, path: &str) -> Result<&'a Value> {
    let files = listing["files"].as_array().context("no files")?;
    files.iter().find(|file| file["path"] == path).with_context(|| format!("no {path}: {listing:#}"))
}

/// The request that trusts every listed file.
fn trust_request(listing: &Value) -> Value {
    let files = listing["files"].as_array().into_iter().flatten();
    json!({ "files": files.map(|file| json!({ "path": file["path"], "sha256": file["sha256"] })).collect::<Vec<_>>() })
}

async fn waits(board: &Board, task: &Value) -> Result<Value> {
    let ended = |task: &Value| !task["error_annotation"].is_null() || task["status"] == "done";
    let now = board.engine.until(task, ended).await?;
    ensure!(now["error_annotation"]["type"] == "trust_required", "{now:#}");
    assert_eq!(now["status"], "blocked");
    Ok(now)
}

/// Trusts every listed file, as the window does.
async fn trust(board: &Board) -> Result<Value> {
    let listing = board.engine.get(&path(board, "")).await?;
    board.engine.post(&path(board, ""), trust_request(&listing)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_repository_starts_no_program_until_a_person_trusts_it() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let hook = json!({ "type": "script", "command": touch(&board, "hook"), "blocking": true });
    let settings = json!({
        "setup": [touch(&board, "setup")],
        "review_config": { "ci_steps": [touch(&board, "check")] },
        "lifecycle_hooks": { "before_work": [hook] },
    });
    board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
    let repo = &board.folder.repo;
    repo.write(".claude/settings.json", "{ \"hooks\": {} }\n")?;
    repo.write("deep/.envrc", "export A=1\n")?;
    repo.write(".forge.json", "{ \"innerLoop\": {} }\n")?;
    let commit = repo.commit("startup files")?;

    // Reading it runs nothing, and says what would be run.
    let listing = board.engine.get(&path(&board, "")).await?;
    assert_eq!((&listing["trusted"], &listing["commit"]), (&json!(false), &json!(commit)));
    let paths: Vec<&Value> =
        listing["files"].as_array().into_iter().flatten().map(|it| &it["path"]).collect();
    assert_eq!(paths, [".claude/settings.json", ".forge.json", "deep/.envrc"]);
    let direnv = file(&listing, "deep/.envrc")?;
    assert_eq!(
        (&direnv["state"], &direnv["accepted"], &direnv["content"]),
        (&json!("new"), &json!(false), &json!("export A=1\n"))
    );

    let task = board.task(&[&format!("run {}", touch(&board, "agent"))], json!({})).await?;
    board.claim(&task).await?;
    let blocked = waits(&board, &task).await?;
    assert!(text(&blocked["error_annotation"], "message").contains("`deep/.envrc` (new)"), "{blocked:#}");
    assert_eq!(board.runs(&task).await?, Vec::<Value>::new());
    let told = board.events("notification.created", 1).await?;
    assert_eq!(told[0]["task_id"], task["id"], "{told:#?}");
    let validate = json!({ "moduleId": "m", "cwd": repo.path(), "commands": [touch(&board, "validate")] });
    let (status, body) = board.refuse("/validate", validate).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_required")), "{body:#}");
    let test = json!({ "event": "before_work", "hook_index": 0 });
    let (status, body) = board.refuse(&format!("/projects/{}/hooks/test", board.project), test).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_required")), "{body:#}");
    for name in ["setup", "hook", "agent", "check", "validate"] {
        assert!(!mark(&board, name).exists(), "{name} ran");
    }

    let now = trust(&board).await?;
    assert_eq!(now["trusted"], true, "{now:#}");
    board.engine.until(&task, is("done")).await?;
    for name in ["setup", "hook", "agent", "check"] {
        assert!(mark(&board, name).exists(), "{name} did not run");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn repository_without_startup_files_needs_no_trust() -> Result<()> {
    let board = open(json!({})).await?;
    let listing = board.engine.get(&path(&board, "")).await?;
    assert_eq!((&listing["trusted"], &listing["files"]), (&json!(true), &json!([])));
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_startup_file_on_the_default_branch_needs_trust_and_shows_its_diff() -> Result<()> {
    let board = open(json!({})).await?;
    let repo = &board.folder.repo;
    repo.write(".mcp.json", "one\ntwo\n")?;
    repo.commit("servers")?;
    trust(&board).await?;
    repo.write(".mcp.json", "one\nthree\n")?;
    repo.commit("other servers")?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    let blocked = waits(&board, &task).await?;
    let proof = text(&blocked["error_annotation"]["evidence"], "output");
    assert!(proof.contains("-two\n+three"), "{proof}");
    let listing = board.engine.get(&path(&board, "")).await?;
    let changed = file(&listing, ".mcp.json")?;
    assert_eq!(changed["state"], "changed");
    assert_eq!(changed["diff"], "@@ -1,2 +1,2 @@\n one\n-two\n+three\n");

    // What changes between the look and the word is not trusted by it.
    repo.write(".mcp.json", "one\nfour\n")?;
    repo.commit("still others")?;
    let (status, body) = board.refuse(&path(&board, ""), trust_request(&listing)).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_changed")), "{body:#}");
    assert_eq!(body["details"]["paths"], json!([".mcp.json"]));
    let (status, body) = board.refused(&task, "actions/trust_files", json!({})).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_changed")), "{body:#}");
    assert_eq!(waits(&board, &task).await?["status"], "blocked");
    // The task shows what is to be trusted now.
    board.act(&task, "actions/trust_files", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn startup_file_written_by_an_agent_needs_trust_once_for_all_branches() -> Result<()> {
    let board = open(json!({})).await?;
    let task = board.task(&["edit .mcp.json <<< \"servers\\n\""], json!({})).await?;
    board.claim(&task).await?;
    waits(&board, &task).await?;
    assert!(!mark(&board, "check").exists(), "the check ran");
    // It is not on the branch that tasks start on, but shown as what a task waits for.
    let listing = board.engine.get(&path(&board, "")).await?;
    assert_eq!(file(&listing, ".mcp.json")?["task_id"], task["id"]);
    let own = board.engine.get(&path(&board, &format!("?task_id={}", text(&task, "id")))).await?;
    assert_eq!(file(&own, ".mcp.json")?["state"], "new");
    trust(&board).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", ".mcp.json").as_deref(), Some("servers"));
    assert_eq!(board.runs(&task).await?.len(), 1, "the agent has done its work");

    // The merge brought a content that is trusted.
    let next = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&next).await?;
    board.engine.until(&next, is("done")).await?;

    // One that is taken away may have held limits.
    let last = board.task(&["run rm .mcp.json"], json!({})).await?;
    board.claim(&last).await?;
    waits(&board, &last).await?;
    let listing = board.engine.get(&path(&board, &format!("?task_id={}", text(&last, "id")))).await?;
    let gone = file(&listing, ".mcp.json")?;
    assert_eq!(
        (&gone["state"], &gone["sha256"], &gone["diff"]),
        (&json!("removed"), &json!(null), &json!("@@ -1 +0,0 @@\n-servers\n"))
    );
    trust(&board).await?;
    board.engine.until(&last, is("done")).await?;
    Ok(())
}

/// A failed run leaves uncommitted files, and the next run would start with them.
#[tokio::test(flavor = "multi_thread")]
async fn uncommitted_startup_file_needs_trust_before_the_next_run() -> Result<()> {
    let board = open(json!({})).await?;
    let first = "```forge-script\nrun echo servers >.mcp.json; echo .mcp.json >>.git-excluded\nerror auth who are you\n```\n";
    let second = format!("```forge-script attempt=2\nrun {}\n```", touch(&board, "second"));
    let told = json!({ "description": format!("{first}{second}") });
    let task = board.task(&[], told).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "executor_failed").await?;
    board.act(&task, "actions/retry?wait=none", json!({})).await?;
    let found = |task: &Value| task["error_annotation"]["type"] == "trust_required";
    board.engine.until(&task, found).await?;
    let listing = board.engine.get(&path(&board, &format!("?task_id={}", text(&task, "id")))).await?;
    let uncommitted = file(&listing, ".mcp.json")?;
    assert_eq!((&uncommitted["commit"], &uncommitted["task_id"]), (&json!(null), &task["id"]));
    assert_eq!(board.runs(&task).await?.len(), 1);
    assert!(!mark(&board, "second").exists());
    // Starting over leaves it behind.
    board.act(&task, "actions/restart", json!({})).await?;
    let listing = board.engine.get(&path(&board, "")).await?;
    assert_eq!(listing["files"], json!([]));
    Ok(())
}

/// The copied file is not in the repository, but programs of the task would start with it.
#[tokio::test(flavor = "multi_thread")]
async fn startup_file_copied_into_the_worktree_needs_trust_before_setup() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let settings = json!({ "copy_files": [{ "pattern": ".envrc" }], "setup": [touch(&board, "setup")] });
    board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
    let repo = &board.folder.repo;
    repo.write(".gitignore", ".envrc\n")?;
    repo.commit("ignored")?;
    repo.write(".envrc", "export A=1\n")?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&task).await?;
    waits(&board, &task).await?;
    assert!(!mark(&board, "setup").exists(), "the set-up ran");
    let listing = board.engine.get(&path(&board, "")).await?;
    let copied = file(&listing, ".envrc")?;
    assert_eq!((&copied["commit"], &copied["content"]), (&json!(null), &json!("export A=1\n")));
    trust(&board).await?;
    board.engine.until(&task, is("done")).await?;
    assert!(mark(&board, "setup").exists());
    Ok(())
}

/// Forge reads its own files from the default branch, whichever commit a task started from.
#[tokio::test(flavor = "multi_thread")]
async fn forge_files_added_to_the_default_branch_hold_earlier_tasks() -> Result<()> {
    let board = open(json!({})).await?;
    let go = board.folder.dir.path().join("go");
    let begun = mark(&board, "begun");
    let lines = [
        format!("run {}", touch(&board, "begun")),
        format!("run {}", until_exists(&go)),
        "edit a <<< \"x\"".to_owned(),
    ];
    let task = board.task(&lines.each_ref().map(String::as_str), json!({})).await?;
    board.claim(&task).await?;
    until_there(&begun).await?;
    board.folder.repo.write(".forge.json", "{ \"innerLoop\": { \"stopOnStagnation\": true } }\n")?;
    board.folder.repo.commit("a configuration")?;
    std::fs::write(&go, "")?;
    let blocked = waits(&board, &task).await?;
    assert!(text(&blocked["error_annotation"], "message").contains(".forge.json"), "{blocked:#}");
    assert!(!mark(&board, "check").exists());
    trust(&board).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn link_target_counts_as_content_of_the_link() -> Result<()> {
    let board = open(json!({})).await?;
    let repo = &board.folder.repo;
    repo.write("servers.json", "harmless\n")?;
    symlink("servers.json", repo.path().join(".mcp.json"))?;
    repo.commit("a link")?;
    let listing = trust(&board).await?;
    let content = text(file(&listing, ".mcp.json")?, "content");
    assert_eq!(content, "symbolic link to servers.json\nharmless\n");
    let first = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.claim(&first).await?;
    board.engine.until(&first, is("done")).await?;
    // The link itself stays as it is.
    let task = board.task(&["edit servers.json <<< \"evil\""], json!({})).await?;
    board.claim(&task).await?;
    let blocked = waits(&board, &task).await?;
    assert!(text(&blocked["error_annotation"], "message").contains("`.mcp.json` (changed)"), "{blocked:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn race_with_untrusted_files_does_not_begin() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let strategies =
        json!([{ "name": "one", "agent_id": board.agent }, { "name": "two", "agent_id": board.agent }]);
    let settings = json!({ "innerLoop": { "competitive": { "enabled": true, "strategies": strategies } } });
    board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
    board.folder.repo.write(".mcp.json", SERVERS)?;
    board.folder.repo.commit("servers")?;
    let lines = [&*format!("run {}", touch(&board, "entry")), "edit a <<< \"x\""];
    let task = board.task(&lines, json!({ "race": { "enabled": true } })).await?;
    board.claim(&task).await?;
    waits(&board, &task).await?;
    assert_eq!(board.items(&format!("/tasks/{}/races", text(&task, "id"))).await?, Vec::<Value>::new());
    assert!(!mark(&board, "entry").exists());
    trust(&board).await?;
    board
        .engine
        .until(&task, |task| task["waiting"]["reason"] == "race_crown" || task["status"] == "done")
        .await?;
    assert!(mark(&board, "entry").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_in_the_users_checkout_need_trust_on_any_branch() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let hook = json!({ "type": "script", "command": touch(&board, "hook"), "blocking": true });
    board
        .patch(
            &format!("/projects/{}/settings", board.project),
            json!({ "lifecycle_hooks": { "before_work": [hook] } }),
        )
        .await?;
    let repo = &board.folder.repo;
    repo.git(&["switch", "-q", "-c", "other"])?;
    repo.write(".mcp.json", SERVERS)?;
    repo.commit("servers")?;
    repo.write(".envrc", "export A=1\n")?;

    let test = json!({ "event": "before_work", "hook_index": 0 });
    let hooks = format!("/projects/{}/hooks/test", board.project);
    let (status, body) = board.refuse(&hooks, test.clone()).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_required")), "{body:#}");
    let call = json!({ "moduleId": "m", "cwd": repo.path(), "commands": [touch(&board, "validate")] });
    let (status, body) = board.refuse("/validate", call.clone()).await?;
    assert_eq!((status, &body["code"]), (409, &json!("trust_required")), "{body:#}");
    assert!(!mark(&board, "hook").exists() && !mark(&board, "validate").exists());

    let listing = board.engine.get(&path(&board, "")).await?;
    assert_eq!((&listing["trusted"], &file(&listing, ".envrc")?["state"]), (&json!(false), &json!("new")));
    assert_eq!(file(&listing, ".mcp.json")?["state"], "new");
    trust(&board).await?;
    board.engine.post(&hooks, test).await?;
    board.engine.post("/validate", call).await?;
    assert!(mark(&board, "hook").exists() && mark(&board, "validate").exists());
    Ok(())
}
