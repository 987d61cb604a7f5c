//! The command line, with and without a running engine.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

use anyhow::{Context as _, Result};
use forge_testkit::program;
use forge_tests::patience::{until, until_there};
use serde_json::{Value, json};

use forge_testkit::{Folder, board::text, folder::CommandOutput, script};

fn add_bot(folder: &Folder) -> Result<Value> {
    let forge = program("forge")?;
    let forge = forge.to_str().context("no text")?;
    let args = ["agent", "add", "Bot", "--command", forge, "--json", "--"];
    folder.run(&[&args[..], &["scripted-agent", "--prompt-file", "{prompt_file}"]].concat())?.json()
}

/// Takes a task from nothing to done with commands only.
fn bring_task_to_done(sandbox: &Folder) -> Result<()> {
    let repo = sandbox.repo.path().to_str().context("no text")?;
    let project = sandbox.json(&["project", "add", repo, "--name", "Sample"])?;
    assert_eq!(project["default_branch"], "main");
    add_bot(sandbox)?;
    let work = script(&["edit hello.txt <<< \"hello\\n\"", "say I greeted."]);
    let task = sandbox.json(&[
        "task",
        "create",
        "Greet",
        "--description",
        &work,
        "--agent",
        "Bot",
        "--check",
        "test -e hello.txt",
    ])?;
    assert_eq!((&task["number"], text(&task, "status").as_str()), (&json!(1), "todo"));

    let started = sandbox.run(&["task", "start", "1", "--wait", "--json"])?;
    assert!(started.stderr.contains("#1 in_progress -> review"), "{started:?}");
    let started = started.json()?;
    assert_eq!(
        (text(&started, "status").as_str(), &started["review"]["status"]),
        ("review", &json!("awaiting_human"))
    );
    assert_eq!(text(&started["roles"]["coder"], "type"), "agent");
    let log = sandbox.run(&["task", "log", "#1"])?;
    assert!(log.stdout.contains("I greeted."), "{log:?}");

    let sent_back = sandbox.json(&["task", "reject", "1", "--reason", "Say it again", "--wait"])?;
    assert_eq!(sent_back["review"]["attempt_number"], 2);
    let done = sandbox.json(&["task", "approve", "1", "--project", "Sample", "--wait"])?;
    assert_eq!(done["status"], "done");
    assert_eq!(sandbox.repo.show("main", "hello.txt").as_deref(), Some("hello"));

    let shown = sandbox.run(&["task", "show", &text(&task, "id")])?;
    assert!(shown.stdout.starts_with("#1 Greet\nstate     done\n"), "{shown:?}");
    let listed = sandbox.json(&["task", "list", "--status", "done", "--project", &text(&project, "id")])?;
    assert_eq!(listed["items"][0]["id"], task["id"]);
    let second = sandbox.json(&["task", "create", "Nothing", "--depends-on", "1"])?;
    assert_eq!(second["depends_on"], json!([task["id"]]));
    assert_eq!(sandbox.json(&["task", "cancel", "2"])?["status"], "cancelled");
    let doctor = sandbox.run(&["doctor"])?;
    for subject in ["project Sample", "database", "login shell", "keeper", "sandbox", "worktrees"] {
        assert!(doctor.stdout.contains(&format!("ok   {subject}: ")), "{subject}: {doctor:?}");
    }
    Ok(())
}

#[test]
fn commands_without_a_running_engine_bring_a_task_to_done() -> Result<()> {
    let sandbox = Folder::new()?;
    bring_task_to_done(&sandbox)?;
    assert!(!sandbox.data_dir().join("token").exists(), "nothing was served");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_with_a_running_engine_bring_a_task_to_done() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    bring_task_to_done(&sandbox)?;
    // It was this engine that did it, and it knows at whose word.
    let project = text(&server.get("/projects").await?["items"][0], "id");
    let task = server.get(&format!("/projects/{project}/tasks/by-number/1")).await?;
    let moves = server.get(&format!("/tasks/{}/transitions", text(&task, "id"))).await?;
    assert_eq!(moves["items"][0]["actor"], "user:cli");
    Ok(())
}

/// Both kinds of engine report a missing path field in the same words.
#[test]
fn missing_path_field_is_named() -> Result<()> {
    let sandbox = Folder::new()?;
    let each = [
        ("task_get", "{}", "task_id"),
        ("task_get", r#"{"task_id": null}"#, "task_id"),
        ("execution_follow_up", r#"{"message": "More."}"#, "execution_id"),
    ];
    let say = |running: bool| -> Result<()> {
        for (operation, input, field) in each {
            let ended = sandbox.run(&["api", operation, input])?;
            check(&ended, 1, "invalid");
            assert!(ended.stderr.starts_with(&format!("invalid: {field}: ")), "{running}: {ended:?}");
        }
        Ok(())
    };
    say(false)?;
    let _server = sandbox.serve()?;
    say(true)?;
    for (given, says) in [("\"\"", "must not be empty"), ("[]", "must be text"), ("\"..\"", "must be a name")]
    {
        let ended = sandbox.run(&["api", "task_get", &format!("{{\"task_id\": {given}}}")])?;
        check(&ended, 1, "invalid");
        assert!(ended.stderr.contains(says), "{ended:?}");
    }
    Ok(())
}

/// A command that starts an agent with a running engine does not wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn claim_with_a_running_engine_leaves_the_agent_to_it() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let go = sandbox.dir.path().join("go");
    let wait = format!("wait-for {}", go.display());
    let task =
        server.task(&project, json!({ "description": script(&[&wait, "edit a <<< \"a\\n\""]) })).await?;
    let started = sandbox.json(&["task", "start", "1"])?;
    assert_eq!(started["status"], "in_progress");
    std::fs::write(&go, "")?;
    server.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    Ok(())
}

/// Interrupted work of other tasks is resumed by a lasting engine, not by each short-lived command.
#[tokio::test(flavor = "multi_thread")]
async fn claim_without_a_running_engine_works_on_its_task_alone() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let (project, agent) = server.project(&sandbox.repo, json!({})).await?;
    server
        .request(reqwest::Method::PATCH, &format!("/agents/{agent}"))
        .json(&json!({ "max_concurrent": 2 }))
        .send()
        .await?;
    let began = sandbox.dir.path().join("began");
    let lines = [format!("run echo one >> {}", began.display()), "wait-for never".to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let cut = server.task(&project, json!({ "description": script(&lines) })).await?;
    sandbox.json(&["task", "start", "1"])?;
    until_there(&began).await?;
    let (status, _) = server.terminate().await?;
    assert_eq!(status.code(), Some(0));

    let work = script(&["edit hello.txt <<< \"hello\\n\""]);
    sandbox.json(&["task", "create", "Greet", "--description", &work, "--agent", &agent])?;
    check(&sandbox.run(&["task", "approve", "2"])?, 4, "not_awaiting");
    let started = sandbox.json(&["task", "start", "2"])?;
    assert_eq!(started["review"]["status"], "awaiting_human", "{started:#}");
    let done = sandbox.json(&["task", "approve", "2"])?;
    assert_eq!(
        (&done["status"], &done["workspace"]["status"]),
        (&json!("done"), &json!("cleaned")),
        "{done:#}"
    );
    let mut server = sandbox.serve()?;
    let path = format!("/tasks/{}/executions", text(&cut, "id"));
    let runs = server.get(&path).await?;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(1), "{runs:#}");
    assert_eq!(runs["items"][0]["status"], "running", "the other one goes on by itself");
    assert_eq!(std::fs::read_to_string(&began)?, "one\n", "and is not started again");

    server.interrupt().await?;
    let server = sandbox.serve()?;
    until("the other one goes on in another run", async || {
        Ok((std::fs::read_to_string(&began)? == "one\none\n").then_some(()))
    })
    .await?;
    let runs = server.get(&path).await?;
    assert_eq!(runs["items"].as_array().map(Vec::len), Some(2), "{runs:#}");
    Ok(())
}

/// An agent is stopped once it went on without Forge for as long as it may; its work goes on at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn agent_stopped_without_an_engine_goes_on_in_another_run() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    sandbox.json(&["settings", "set", "orphan_minutes", "0"])?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let began = sandbox.dir.path().join("began");
    let lines = [format!("run echo one >> {}", began.display()), "wait-for never".to_owned()];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let task = server.task(&project, json!({ "description": script(&lines) })).await?;
    sandbox.json(&["task", "start", "1"])?;
    until_there(&began).await?;
    let path = format!("/tasks/{}/executions", text(&task, "id"));
    let marker = format!("execution-{}", text(&server.get(&path).await?["items"][0], "id"));
    server.kill()?;
    until("the agent's end", async || Ok((!forge_exec::look().contains_key(&marker)).then_some(()))).await?;

    let server = sandbox.serve()?;
    until("another run", async || Ok((std::fs::read_to_string(&began)? == "one\none\n").then_some(())))
        .await?;
    let runs = server.get(&path).await?;
    let statuses: Vec<&Value> = (0..2).map(|at| &runs["items"][at]["status"]).collect();
    assert_eq!(statuses, ["lost", "running"], "{runs:#}");
    let now = server.get(&format!("/tasks/{}", text(&task, "id"))).await?;
    assert_eq!(now["budgets"]["execution"]["used"], 0, "{now:#}");
    Ok(())
}

/// The engine starts no work when it cannot serve its port.
#[tokio::test(flavor = "multi_thread")]
async fn taken_port_is_reported_before_work_begins() -> Result<()> {
    let sandbox = Folder::new()?;
    let mut server = sandbox.serve()?;
    let (project, _) = server.project(&sandbox.repo, json!({})).await?;
    let began = sandbox.dir.path().join("began");
    let line = format!("run echo one >> {}", began.display());
    server.task(&project, json!({ "description": script(&[&line, "wait-for never"]) })).await?;
    sandbox.json(&["task", "start", "1"])?;
    until_there(&began).await?;
    server.terminate().await?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let ended = sandbox.run(&["serve", "--port", &taken.local_addr()?.port().to_string()])?;
    assert!(ended.code.is_some_and(|code| code > 0) && ended.stderr.contains("port"), "{ended:?}");
    assert_eq!(std::fs::read_to_string(&began)?, "one\n");
    let runs = sandbox.json(&["api", "task_executions", "--task", "1", "--project", &project])?;
    assert_eq!(runs["items"][0]["status"], "running", "nothing was settled: {runs:#}");
    Ok(())
}

#[test]
fn settings_are_shown_and_set_with_and_without_a_running_engine() -> Result<()> {
    let sandbox = Folder::new()?;
    let shown = sandbox.run(&["settings", "show"])?;
    assert_eq!(
        shown.stdout,
        "SETTING          VALUE\norphan_minutes   30\nservices_max     4\nterminal_remote  0\n"
    );
    let set = sandbox.json(&["settings", "set", "orphan_minutes", "10"])?;
    assert_eq!(set, json!({ "orphan_minutes": 10, "services_max": 4, "terminal_remote": false }));
    let _server = sandbox.serve()?;
    assert_eq!(sandbox.json(&["settings", "show"])?, set);
    let refused = sandbox.run(&["settings", "set", "orphan_minutes", "10081"])?;
    check(&refused, 1, "invalid");
    assert!(refused.stderr.contains("orphan_minutes: "), "{refused:?}");
    check(&sandbox.run(&["settings", "set", "other", "1"])?, 2, "usage");
    assert_eq!(sandbox.json(&["settings", "show"])?, set);
    Ok(())
}

fn check(ended: &CommandOutput, code: i32, says: &str) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.stderr.starts_with(&format!("{says}: ")), "{ended:?}");
    assert!(ended.stdout.is_empty(), "{ended:?}");
}

#[test]
fn failed_command_exits_with_the_code_of_its_error() -> Result<()> {
    let sandbox = Folder::new()?;
    check(&sandbox.run(&["frobnicate"])?, 2, "usage");
    check(&sandbox.run(&["task", "start", "1", "--wait", "--no-wait"])?, 2, "usage");
    check(&sandbox.run(&["task", "list"])?, 3, "not_found");
    let home = sandbox.dir.path().join("home");
    check(&sandbox.run(&["project", "add", home.to_str().context("no text")?])?, 1, "invalid");
    let repo = sandbox.repo.path().to_str().context("no text")?.to_owned();
    sandbox.run(&["project", "add", &repo, "--name", "One"])?.succeeded()?;
    let taken = sandbox.run(&["project", "add", &repo, "--name", "One"])?;
    check(&taken, 4, "name_taken");
    assert!(taken.stderr.contains("`--name`"), "{taken:?}");
    let none = sandbox.run(&["task", "list", "--status", "nope"])?;
    check(&none, 1, "invalid");
    assert!(none.stderr.contains("status: ") && none.stderr.contains("`nope`"), "{none:?}");
    sandbox.run(&["task", "create", "Plain"])?.succeeded()?;
    check(&sandbox.run(&["task", "show", "7"])?, 3, "not_found");
    check(&sandbox.run(&["task", "show", "no-such-id"])?, 3, "not_found");
    let refused = sandbox.run(&["task", "action", "1", "retry"])?;
    check(&refused, 4, "not_offered");
    assert!(refused.stderr.contains("hint: Offered now: hold, cancel."), "{refused:?}");
    let nowhere = sandbox.run(&["task", "move", "1", "nowhere"])?;
    check(&nowhere, 4, "illegal_transition");
    assert!(nowhere.stderr.contains("hint: Allowed states: "), "{nowhere:?}");
    check(&sandbox.run(&["task", "start", "1"])?, 3, "not_found");
    assert_eq!(sandbox.run(&["--version"])?.code, Some(0));
    std::fs::rename(sandbox.repo.path(), sandbox.dir.path().join("moved"))?;
    let doctor = sandbox.run(&["doctor"])?;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("BAD  project One"), "{doctor:?}");
    Ok(())
}

#[test]
fn diagnostics_have_the_checks_and_the_log_without_secrets_and_titles() -> Result<()> {
    const SECRET: &str = "hunter2-of-the-profile";
    let sandbox = Folder::new()?;
    sandbox.run(&["project", "add", sandbox.repo.path().to_str().context("a path")?])?.succeeded()?;
    sandbox.run(&["task", "create", "Nobody else's business"])?.succeeded()?;
    let config = json!({ "command": "true", "env": { "OWN_PASSWORD": SECRET } });
    let agent = json!({ "name": "Own", "adapter": "shell", "config": config }).to_string();
    sandbox.run(&["api", "agent_create", &agent])?.succeeded()?;
    std::fs::write(sandbox.data_dir().join("forge.log"), format!("WARN could not use {SECRET} twice\n"))?;
    let told = sandbox.run(&["diagnostics"])?;
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(
        told.stdout.contains("- ok database: ") && told.stdout.contains("WARN could not use "),
        "{told:?}"
    );
    assert!(!told.stdout.contains(SECRET) && !told.stdout.contains("business"), "{told:?}");
    Ok(())
}

#[test]
fn folder_with_non_utf8_path_is_refused_by_name() -> Result<()> {
    let sandbox = Folder::new()?;
    let odd = sandbox.dir.path().join(OsStr::from_bytes(b"caf\xe9"));
    forge_testkit::Repository::create(&odd, &[("a", "a")])?;
    for args in [["project", "add", "."].as_slice(), &["validate", "m", "--command", "true"]] {
        let output = sandbox.command(args)?.current_dir(&odd).output()?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("its path is not UTF-8") && stderr.contains("Rename the folder"), "{stderr}");
    }
    // A name that is text may lead there.
    let link = sandbox.dir.path().join("link");
    std::os::unix::fs::symlink(&odd, &link)?;
    let added = sandbox.run(&["project", "add", link.to_str().context("no text")?])?;
    check(&added, 1, "invalid");
    assert!(added.stderr.contains("is not UTF-8: rename the folder"), "{added:?}");
    Ok(())
}

#[test]
fn bare_repository_works_as_a_project() -> Result<()> {
    let sandbox = Folder::new()?;
    let bare = sandbox.dir.path().join("bare.git");
    let bare = bare.to_str().context("no text")?;
    sandbox.repo.git(&["clone", "--quiet", "--bare", ".", bare])?;
    sandbox.run(&["project", "add", bare])?.succeeded()?;
    let doctor = sandbox.run(&["doctor"])?;
    assert!(doctor.stdout.contains("ok   project bare.git"), "{doctor:?}");
    Ok(())
}

#[test]
fn command_with_several_projects_requires_a_name() -> Result<()> {
    let sandbox = Folder::new()?;
    let other = forge_testkit::Repository::create(&sandbox.dir.path().join("other"), &[("a", "a")])?;
    for path in [sandbox.repo.path(), other.path()] {
        sandbox.run(&["project", "add", path.to_str().context("no text")?])?.succeeded()?;
    }
    let unnamed = sandbox.run(&["task", "create", "X"])?;
    check(&unnamed, 2, "usage");
    assert!(unnamed.stderr.contains("hint: Choose one with --project"), "{unnamed:?}");
    let task = sandbox.json(&["task", "create", "X", "--project", "other"])?;
    assert_eq!(task["number"], 1);
    check(&sandbox.run(&["task", "list", "--project", "third"])?, 3, "not_found");
    Ok(())
}

#[test]
fn worktree_root_from_environment_is_used() -> Result<()> {
    let sandbox = Folder::new()?;
    let root = sandbox.dir.path().join("trees");
    let repo = sandbox.repo.path().to_str().context("no text")?.to_owned();
    sandbox.run(&["project", "add", &repo])?.succeeded()?;
    sandbox.run(&["task", "create", "Mine"])?.succeeded()?;
    let mut start = sandbox.command(["task", "start", "1", "--agent", "user", "--json"])?;
    let output = start.env("FORGE_WORKSPACE_ROOT", &root).output()?;
    let task: Value = serde_json::from_slice(&output.stdout)?;
    let path = text(&task["workspace"], "path");
    assert!(std::path::Path::new(&path).starts_with(&root), "{path}");
    assert!(std::path::Path::new(&path).join("README.md").is_file());
    let mut wrong = sandbox.command(["project", "list"])?;
    let wrong = wrong.env("FORGE_WORKSPACE_CLEANUP_DELAY_SECONDS", "soon").output()?;
    assert_eq!(wrong.status.code(), Some(2));
    Ok(())
}

#[test]
fn every_demo_story_ends_as_expected() -> Result<()> {
    let sandbox = Folder::new()?;
    let data_dir = sandbox.data_dir();
    let told = sandbox.run(&["demo", "--data-dir", data_dir.to_str().context("no text")?])?;
    assert_eq!(told.code, Some(0), "{told:?}");
    for sentence in [
        "review -> in_progress (reject, by Forge)",
        "needs you: out of review retries",
        "offered: send_back",
        "merge conflict with main in 1 file(s)",
        "merging -> done",
        "Three entries race for one task",
        "All 6 stories ended as expected.",
    ] {
        assert!(told.stdout.contains(sentence), "{sentence}: {}", told.stdout);
    }
    // A play that has been played cannot begin again.
    check_conflict(&sandbox.run(&["demo", "--json", "--data-dir", data_dir.to_str().context("no text")?])?);
    Ok(())
}

#[test]
fn every_demo_story_ends_as_expected_on_a_second_host() -> Result<()> {
    if !std::path::Path::new("/usr/sbin/sshd").exists() {
        eprintln!("skipped: /usr/sbin/sshd is missing");
        return Ok(());
    }
    let sandbox = Folder::new()?;
    let data_dir = sandbox.data_dir();
    let data_dir = data_dir.to_str().context("no text")?;
    let told = sandbox.run(&["demo", "--machine", "ssh", "--data-dir", data_dir])?;
    assert_eq!(told.code, Some(0), "{told:?}");
    assert!(told.stdout.contains("All 6 stories ended as expected."), "{}", told.stdout);
    let machine = sandbox.run(&["machine", "show", "second-host"])?;
    machine.succeeded()?;
    assert!(!machine.stdout.contains("tasks     0"), "worktrees are there: {}", machine.stdout);
    Ok(())
}

fn check_conflict(ended: &CommandOutput) {
    check(ended, 4, "conflict");
}

const EXAMPLES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../src-tauri/crates/forge-model/tests/vectors/inner-loop-examples.json"
);

fn run_with_input(sandbox: &Folder, args: &[&str], facts: &str) -> Result<CommandOutput> {
    let file = sandbox.dir.path().join("facts.json");
    std::fs::write(&file, facts)?;
    let mut command = sandbox.command(args)?;
    let output = command.stdin(std::fs::File::open(&file)?).output()?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

#[test]
fn elections_and_costs_are_replayed_from_facts() -> Result<()> {
    let sandbox = Folder::new()?;
    let examples = std::fs::read_to_string(EXAMPLES)?;
    for (kind, key) in
        [("election", "election"), ("anomaly", "anomaly"), ("validate-history", "validate-sequence")]
    {
        let all: Value = serde_json::from_str(&examples)?;
        let count = all[key].as_array().context("no examples")?.len();
        let told = sandbox.json(&["replay", kind, EXAMPLES])?;
        assert_eq!((told["cases"].as_array().map(Vec::len), &told["failed"]), (Some(count), &json!(0)));
        // The same from standard input, for people.
        let ended = run_with_input(&sandbox, &["replay", kind, "-"], &examples)?;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.ends_with(&format!("{count} of {count} as expected.\n")), "{ended:?}");
    }

    let race = json!({ "strategies": [
        { "name": "b", "gatePassed": true, "costUsd": 2 }, { "name": "a", "gatePassed": true, "costUsd": 1 },
    ] });
    let decided = run_with_input(&sandbox, &["replay", "election"], &race.to_string())?.json()?;
    assert_eq!((&decided["winner"], &decided["decidedBy"]), (&json!("a"), &json!("cost")));
    assert_eq!(decided["trail"][1]["dropped"], json!([{ "name": "b", "value": "2000000" }]));
    let not_run = json!({ "strategies": [
        { "name": "a", "gatePassed": null, "costUsd": 1 }, { "name": "b", "gatePassed": true, "costUsd": 2 },
    ] });
    let decided = run_with_input(&sandbox, &["replay", "election"], &not_run.to_string())?.json()?;
    assert_eq!((&decided["winner"], &decided["decidedBy"]), (&json!("b"), &json!("gate")), "{decided:#}");
    let dear =
        json!({ "history": [{ "model": "m", "costUsd": 1 }], "current": { "model": "m", "costUsd": 3 } });
    let decided = run_with_input(&sandbox, &["replay", "anomaly", "--json"], &dear.to_string())?.json()?;
    assert_eq!(
        (&decided["recorded"], &decided["why"], &decided["ratio"], &decided["medianUsd"]),
        (&json!(true), &json!("above"), &json!(3.0), &json!(1.0))
    );

    let history =
        json!({ "attempts": [{ "checks": 2, "failing": ["a"] }, { "checks": 2, "failing": ["a"] }] });
    let measured = run_with_input(&sandbox, &["replay", "validate-history"], &history.to_string())?.json()?;
    assert_eq!(
        measured["attempts"][1],
        json!({
            "attempt": 2, "passed": false, "score": 0.5, "stagnant": true, "oscillating": false,
            "velocity": null, "sameAsPrev": true, "recommendation": "ESCALATE",
        })
    );
    let other = json!({ "input": history, "expected": { "attempts": [{}, { "attempt": 3 }] } });
    let ended = run_with_input(&sandbox, &["replay", "validate-history"], &other.to_string())?;
    assert!(ended.stdout.contains("attempts[1].attempt is 2, not 3"), "{ended:?}");

    // What comes out otherwise than expected is named.
    let wrong = json!({ "name": "mine", "input": dear, "expected": { "recorded": false, "why": "above" } });
    for (facts, path) in [(wrong.clone(), "mine"), (json!({ "anomaly": [wrong] }), "mine")] {
        let ended = run_with_input(&sandbox, &["replay", "anomaly"], &facts.to_string())?;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.stdout.contains(&format!("BAD  {path}\n     recorded is true, not false\n")),
            "{ended:?}"
        );
    }
    // And so is the place of what cannot be read.
    for (kind, facts, says) in [
        ("election", json!({ "strategies": [{ "name": 1 }] }), "strategies[0].name: "),
        (
            "election",
            json!({ "strategies": [{ "name": "a", "cost": 1 }] }),
            "strategies[0].cost: unknown key `cost`",
        ),
        (
            "anomaly",
            json!({ "anomaly": [{ "input": { "history": [], "current": {} } }] }),
            "anomaly[0].input.current",
        ),
        ("anomaly", json!({ "anomaly": [{ "expected": {} }] }), "anomaly[0].input: "),
        ("anomaly", json!({ "anomaly": {} }), "anomaly: must be a list"),
        ("anomaly", json!([]), "must be an object"),
        ("election", json!({ "strategies": [["a", true]] }), "strategies[0]: must be an object, not a list"),
        ("verdict", json!(["===REVIEW: PASS==="]), "must be an object"),
    ] {
        let ended = run_with_input(&sandbox, &["replay", kind], &facts.to_string())?;
        check(&ended, 2, "usage");
        assert!(ended.stderr.contains(says), "{says}: {ended:?}");
    }
    check(&sandbox.run(&["replay", "anomaly", "nowhere.json"])?, 1, "io");
    Ok(())
}
