//! `forge validate` with and without a running engine, and `forge replay validate-history`.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use forge_testkit::serve::marked_processes;
use forge_tests::patience::until;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use forge_testkit::{Folder, folder::CommandOutput};

/// Runs the program in the repository.
fn run_in_repository(sandbox: &Folder, args: &[&str]) -> Result<CommandOutput> {
    let output = sandbox.command(args)?.current_dir(sandbox.repo.path()).output()?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_command_works_with_and_without_a_running_engine() -> Result<()> {
    for serves in [true, false] {
        let sandbox = Folder::new()?;
        let server = if serves { Some(sandbox.serve()?) } else { None };
        let repo = sandbox.repo.path().to_str().context("no text")?;
        assert_eq!(sandbox.run(&["project", "add", repo, "--name", "Sample"])?.code, Some(0));
        sandbox.repo.write("a.json", "{\"a\": 1}\n")?;

        let nothing = run_in_repository(&sandbox, &["validate", "m1"])?;
        assert_eq!(nothing.code, Some(3), "{nothing:?}");
        assert!(
            nothing.stderr.starts_with("not_found: ") && nothing.stderr.contains("hint: "),
            "{nothing:?}"
        );

        let first = run_in_repository(
            &sandbox,
            &["validate", "m1", "--file", "a.json", "--command", "test -e b", "--json"],
        )?;
        assert_eq!(first.code, Some(1), "{first:?}");
        let report: serde_json::Value = serde_json::from_str(&first.stdout)?;
        assert_eq!((&report["attempt"], &report["results"][1]["type"]), (&json!(1), &json!("syntax_check")));

        // The module alone is the same again, from wherever in the project it is asked.
        let again = run_in_repository(&sandbox, &["validate", "m1"])?;
        assert_eq!(again.code, Some(1), "{again:?}");
        let last = again.stdout.lines().last().unwrap_or_default().to_owned();
        assert_eq!(last, "Attempt 2: failed, score 0.67, ESCALATE (the same checks fail as before)");
        sandbox.repo.write("b", "")?;
        let mended = sandbox.run(&["validate", "m1", "--project", "Sample", "--json"])?;
        let report = mended.json()?;
        assert_eq!((&report["passed"], &report["attempt"]), (&json!(true), &json!(3)), "{report:#}");

        let run = run_in_repository(
            &sandbox,
            &["validate", "m1", "--run", "r", "--contract", "x.mjs", "y.mjs", "--json"],
        )?;
        assert_eq!(run.code, Some(1));
        assert!(run.stdout.contains("contract_check"), "{run:?}");
        let wrong = run_in_repository(&sandbox, &["validate", "a/b", "--command", "true"])?;
        assert_eq!(wrong.code, Some(1));
        assert!(wrong.stderr.starts_with("invalid: ") && wrong.stderr.contains("moduleId"), "{wrong:?}");
        let outside = sandbox.run(&["validate", "m1", "--command", "true"])?;
        assert!(outside.stderr.contains("project_id"), "{outside:?}");
        assert_eq!(run_in_repository(&sandbox, &["validate"])?.code, Some(2));
        drop(server);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_comes_from_the_option_then_the_environment_then_the_current_one() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    let repo = sandbox.repo.path();
    server.project(&sandbox.repo, json!({})).await?;
    std::fs::create_dir(repo.join("inner"))?;
    let asked = |args: &[&str], cwd: Option<&str>| {
        let mut command =
            sandbox.command([&["validate", "m1", "--command", "pwd", "--json"], args].concat())?;
        command.current_dir(repo.join("inner"));
        if let Some(cwd) = cwd {
            command.env("FORGE_CWD", cwd);
        }
        let output = command.output()?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        anyhow::Ok(report["results"][0]["stdout"].as_str().context("no output")?.trim().to_owned())
    };
    let root = repo.to_str().context("no text")?;
    assert_eq!(asked(&[], None)?, format!("{root}/inner"));
    assert_eq!(asked(&[], Some(root))?, root);
    assert_eq!(asked(&["--cwd", "."], Some(root))?, format!("{root}/inner"));
    Ok(())
}

/// Starts the program with an endless check and sends it a signal once the check runs.
async fn signalled(sandbox: &Folder, signal: Signal) -> Result<CommandOutput> {
    let begun = sandbox.dir.path().join("begun");
    let check = format!("echo x >'{}'; sleep 600", begun.display());
    let mut command = sandbox.command(["validate", "m1", "--command", check.as_str()])?;
    command.current_dir(sandbox.repo.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    until("the check's start", async || Ok(begun.exists().then_some(()))).await?;
    kill(Pid::from_raw(i32::try_from(child.id())?), signal)?;
    let output = child.wait_with_output()?;
    std::fs::remove_file(begun)?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_left_by_a_killed_program_are_ended_by_the_next() -> Result<()> {
    let sandbox = Folder::new()?;
    let repo = sandbox.repo.path().to_str().context("no text")?;
    assert_eq!(sandbox.run(&["project", "add", repo, "--name", "Sample"])?.code, Some(0));
    signalled(&sandbox, Signal::SIGKILL).await?;
    assert!(!marked_processes(sandbox.dir.path())?.is_empty(), "the check lives on");
    assert_eq!(run_in_repository(&sandbox, &["validate", "m2", "--command", "true"])?.code, Some(0));
    assert_eq!(marked_processes(sandbox.dir.path())?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_program_reports_stopped_checks() -> Result<()> {
    let sandbox = Folder::new()?;
    let repo = sandbox.repo.path().to_str().context("no text")?;
    assert_eq!(sandbox.run(&["project", "add", repo, "--name", "Sample"])?.code, Some(0));
    let ended = signalled(&sandbox, Signal::SIGINT).await?;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let said = "interrupted: checks stopped; the attempt is not counted\n\
                hint: Run the same command again.\n";
    assert_eq!(ended.stderr, said);
    assert_eq!(marked_processes(sandbox.dir.path())?, Vec::<String>::new());
    let state =
        sandbox.command(["api", "validate_state", "{\"moduleId\": \"m1\"}"])?.current_dir(repo).output()?;
    let state: serde_json::Value = serde_json::from_slice(&state.stdout)?;
    assert_eq!(state["attempts"], json!([]));
    Ok(())
}
