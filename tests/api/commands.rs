//! Commands of the program that look at tasks, races, runs, costs and settings, as a person types them.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::{Context as _, Result};
use forge_testkit::{Folder, Repository, folder::CommandOutput};
use forge_tests::patience::until;
use serde_json::json;

/// A project named `thing` with an agent that writes a file.
fn with_writer() -> Result<Folder> {
    let folder = Folder::new()?;
    let repo = folder.repo.path().to_string_lossy().into_owned();
    folder.run(&["project", "add", &repo, "--name", "thing"])?.succeeded()?;
    folder
        .run(&["agent", "add", "Writer", "--command", "printf 'one\\ntwo\\n' > made.txt; rm README.md"])?
        .succeeded()?;
    Ok(folder)
}

/// What a command prints when it succeeds.
fn printed(folder: &Folder, args: &[&str]) -> Result<String> {
    let ended = folder.run(args)?;
    ended.succeeded()?;
    Ok(ended.stdout)
}

/// Runs a command with an editor that replaces a text in what it edits, and notes what it was given.
fn edited(folder: &Folder, args: &[&str], replacement: &str) -> Result<CommandOutput> {
    let editor = folder.dir.path().join("editor.sh");
    let noted = folder.dir.path().join("edited");
    fs::write(
        &editor,
        format!(
            "#!/bin/sh\nprintf %s \"$1\" > '{}'\n[ -d \"$1\" ] || sed -i '{replacement}' \"$1\"\n",
            noted.display()
        ),
    )?;
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755))?;
    let output = folder.command(args)?.env("EDITOR", &editor).output()?;
    Ok(CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout)?,
        stderr: String::from_utf8(output.stderr)?,
    })
}

#[test]
fn settings_are_set_shown_with_their_source_and_taken_back_by_name() -> Result<()> {
    let folder = with_writer()?;
    let set = printed(&folder, &["project", "set", "auto_approve=true", "innerLoop.autoFix.enabled=false"])?;
    assert_eq!(set, "auto_approve = true\ninnerLoop.autoFix.enabled = false\n");
    let own = printed(&folder, &["project", "settings", "--own"])?;
    let rows: Vec<Vec<&str>> = own.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows,
        [
            vec!["SETTING", "VALUE", "FROM"],
            vec!["auto_approve", "true", "project"],
            vec!["innerLoop.autoFix.enabled", "false", "project"],
        ]
    );
    let values = folder.json(&["project", "settings", "innerLoop.autoFix"])?;
    assert_eq!(values["innerLoop.autoFix.maxChangedLines"]["value"], 200);
    let unset = printed(&folder, &["project", "unset", "auto_approve"])?;
    assert_eq!(unset, "auto_approve = false (default)\n");
    for (args, code, says) in [
        (["project", "set", "no_such=1"], 1, "invalid: the input is not valid: no_such: "),
        (["project", "set", "auto_approve"], 2, "usage: `auto_approve` is not SETTING=VALUE"),
        (["project", "settings", "no_such"], 3, "not_found: no setting `no_such`"),
    ] {
        let ended = folder.run(&args)?;
        assert_eq!(ended.code, Some(code), "{ended:?}");
        assert!(ended.stderr.starts_with(says), "{ended:?}");
    }
    Ok(())
}

#[test]
fn work_is_read_commented_opened_and_undone_from_the_command_line() -> Result<()> {
    let folder = with_writer()?;
    folder.run(&["task", "create", "Make", "--agent", "Writer"])?.succeeded()?;
    folder.run(&["task", "start", "1", "--wait"])?.succeeded()?;

    assert_eq!(printed(&folder, &["task", "diff", "1", "--name-only"])?, "README.md\nmade.txt\n");
    let stat = printed(&folder, &["task", "diff", "1", "--stat"])?;
    assert!(stat.ends_with("2 files, +2 -1\n"), "{stat}");
    let patch = printed(&folder, &["task", "diff", "1", "made.txt"])?;
    assert_eq!(patch, "--- /dev/null\n+++ made.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n");

    let draft = printed(&folder, &["task", "comment", "1", "made.txt:2", "Why two?"])?;
    assert!(draft.starts_with("Draft on made.txt:2. It goes to the agent with "), "{draft}");
    let comments = printed(&folder, &["task", "comments", "1"])?;
    assert!(comments.contains("made.txt:2") && comments.contains("Why two?"), "{comments}");

    let path = printed(&folder, &["task", "path", "1"])?;
    assert!(fs::exists(path.trim())?, "{path}");
    edited(&folder, &["task", "open", "1"], "")?.succeeded()?;
    assert_eq!(fs::read_to_string(folder.dir.path().join("edited"))?, path.trim());
    let none = folder.run(&["task", "open", "1"])?;
    assert!(none.stderr.starts_with("usage: no editor is set"), "{none:?}");

    let moves = printed(&folder, &["task", "moves", "1"])?;
    assert!(moves.contains("in_progress") && moves.contains("review"), "{moves}");
    let prompt = printed(&folder, &["task", "prompt", "1"])?;
    assert!(prompt.contains("Make"), "{prompt}");
    let assigned = printed(&folder, &["task", "assign", "1", "user", "--role", "reviewer"])?;
    assert!(assigned.starts_with("#1 Make"), "{assigned}");
    let asked = folder.run(&["task", "delete", "1"])?;
    assert_eq!(asked.code, Some(4), "{asked:?}");
    assert!(asked.stderr.contains("Delete #1 Make with its history? [y/N]"), "{asked:?}");

    let status = printed(&folder, &["status"])?;
    assert!(status.starts_with("Needs you: 1\n") && status.contains("ready for your review"), "{status}");
    assert!(status.contains("Nothing is running.") && status.contains("Nothing is waiting."), "{status}");
    let costs = printed(&folder, &["cost", "--by", "task"])?;
    assert!(costs.contains("#1 Make") && costs.contains("unknown"), "{costs}");
    let spaces = printed(&folder, &["workspace", "list"])?;
    assert!(spaces.contains(path.trim()), "{spaces}");

    // Of another project there is nothing, for programs as for people.
    let other = Repository::create(&folder.dir.path().join("other"), &[("a", "b\n")])?;
    folder.run(&["project", "add", &other.path().to_string_lossy(), "--name", "other"])?.succeeded()?;
    assert_eq!(printed(&folder, &["workspace", "list", "--project", "other"])?, "No worktrees.\n");
    assert_eq!(folder.json(&["workspace", "list", "--project", "other"])?["items"], json!([]));
    let own = folder.json(&["workspace", "list", "--project", "thing"])?;
    assert_eq!(own["items"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[test]
fn backup_of_a_worktree_is_listed_and_restored() -> Result<()> {
    let folder = with_writer()?;
    folder.run(&["task", "create", "Make", "--agent", "Writer", "--check", "false"])?.succeeded()?;
    folder.run(&["task", "start", "1", "--wait"])?.succeeded()?;
    let note = || -> Result<_> {
        Ok(std::path::Path::new(printed(&folder, &["task", "path", "1"])?.trim()).join("note.txt"))
    };
    fs::write(note()?, "mine")?;
    // It begins with a fresh worktree, in which its check fails again.
    folder.run(&["task", "action", "1", "restart", "--wait"])?.succeeded()?;
    folder.run(&["task", "start", "1", "--wait"])?.succeeded()?;
    assert!(!note()?.exists());
    let backups = folder.json(&["workspace", "backups", "1"])?;
    let commit = backups["items"][0]["commit"].as_str().context("a backup")?.to_owned();
    let short = commit.get(..10).context("a commit")?;
    assert!(printed(&folder, &["workspace", "backups", "1"])?.contains(short));
    folder.run(&["workspace", "restore", "1", short])?.succeeded()?;
    assert_eq!(fs::read_to_string(note()?)?, "mine");
    let missing = folder.run(&["workspace", "restore", "1", "0000000"])?;
    assert_eq!(missing.code, Some(3), "{missing:?}");
    Ok(())
}

#[test]
fn race_is_made_shown_and_its_winner_picked_by_names() -> Result<()> {
    let folder = with_writer()?;
    folder.run(&["agent", "add", "Other", "--command", "echo other > made.txt"])?.succeeded()?;
    folder.run(&["project", "set", "innerLoop.competitive.enabled=true"])?.succeeded()?;
    let new = ["task", "create", "Make", "--race", "first=Writer", "--race", "second=Other:some-model"];
    folder.run(&new)?.succeeded()?;
    let task = folder.json(&["task", "show", "1"])?;
    assert_eq!(task["race"]["strategies"][1]["model"], "some-model");
    folder.run(&["task", "start", "1", "--agent", "Writer", "--wait"])?.succeeded()?;
    let shown = printed(&folder, &["race", "show", "1"])?;
    assert!(shown.contains("first") && shown.contains("second"), "{shown}");
    let log = printed(&folder, &["race", "log", "1", "second"])?;
    assert!(log.contains("user_message"), "{log}");
    let unknown = folder.run(&["race", "log", "1", "third"])?;
    assert!(unknown.stderr.starts_with("not_found: the race has no entry `third`"), "{unknown:?}");
    // Nothing tells the entries apart, so a person picks.
    let picked = printed(&folder, &["race", "pick", "1", "second"])?;
    assert!(picked.contains("winner: second"), "{picked}");
    let own = printed(&folder, &["task", "log", "1"])?;
    assert!(own.contains("user_message"), "{own}");
    for wrong in ["first", "=Writer", "first=user"] {
        let ended = folder.run(&["task", "create", "Wrong", "--race", wrong])?;
        assert_eq!(ended.code, Some(2), "{ended:?}");
    }
    Ok(())
}

#[test]
fn workflow_is_shown_checked_set_and_edited() -> Result<()> {
    let folder = with_writer()?;
    let shown = printed(&folder, &["workflow", "show"])?;
    assert!(shown.contains("in_progress") && shown.contains("MOVES TO"), "{shown}");
    let file = folder.dir.path().join("workflow.json");
    let path = file.to_string_lossy().into_owned();
    fs::write(&file, folder.json(&["workflow", "show"])?.to_string())?;
    assert_eq!(printed(&folder, &["workflow", "check", &path])?, "The workflow is valid.\n");
    folder.run(&["workflow", "set", &path])?.succeeded()?;
    fs::write(&file, r#"{"name": "mine"}"#)?;
    let wrong = folder.run(&["workflow", "check", &path])?;
    assert_eq!((wrong.code, wrong.stdout.starts_with("roles: is missing")), (Some(1), true), "{wrong:?}");

    let same = edited(&folder, &["workflow", "edit"], "")?;
    assert!(same.stdout.starts_with("Nothing was changed."), "{same:?}");
    edited(&folder, &["workflow", "edit"], r#"s/"display_name": "Todo"/"display_name": "Next"/"#)?
        .succeeded()?;
    let states = folder.json(&["workflow", "show"])?;
    assert!(states["states"].as_array().context("states")?.iter().any(|it| it["display_name"] == "Next"));
    let refused = edited(&folder, &["workflow", "edit"], r#"s/"states"/"stats"/"#)?;
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let kept = refused.stderr.lines().find_map(|line| line.strip_prefix("Your text is kept in "));
    let kept = kept.and_then(|path| path.strip_suffix('.')).context("the file that is kept")?;
    assert!(fs::read_to_string(kept)?.contains("\"stats\""), "nothing that was written is lost");
    fs::remove_dir_all(std::path::Path::new(kept).parent().context("its folder")?)?;
    Ok(())
}

#[tokio::test]
async fn run_is_listed_followed_and_stopped() -> Result<()> {
    let folder = with_writer()?;
    let mut served = folder.serve()?;
    let slow = "echo begun; while [ ! -e go ]; do sleep 0.1; done; echo gone on; sleep 600";
    folder.run(&["agent", "add", "Slow", "--command", slow])?.succeeded()?;
    folder.run(&["task", "create", "Wait", "--agent", "Slow"])?.succeeded()?;
    folder.run(&["task", "start", "1"])?.succeeded()?;
    until("the run is listed", async || {
        let listed = printed(&folder, &["run", "list"])?;
        Ok((listed.contains("#1") && listed.contains("Wait")).then_some(()))
    })
    .await?;
    until("it printed", async || Ok(printed(&folder, &["run", "log", "1"])?.contains("begun").then_some(())))
        .await?;
    let follower =
        folder.command(["run", "log", "1", "--follow"])?.stdout(std::process::Stdio::piped()).spawn()?;
    let path = printed(&folder, &["task", "path", "1"])?;
    fs::write(std::path::Path::new(path.trim()).join("go"), "")?;
    until("it went on", async || {
        Ok(printed(&folder, &["run", "log", "1"])?.contains("gone on").then_some(()))
    })
    .await?;
    let status = printed(&folder, &["status"])?;
    assert!(status.contains("Running: "), "{status}");
    let stopped = printed(&folder, &["run", "stop", "1"])?;
    assert_eq!(stopped, "Stopped the run of #1 Wait.\n");
    let followed = tokio::task::spawn_blocking(move || follower.wait_with_output()).await??;
    let followed = String::from_utf8(followed.stdout)?;
    let lines: Vec<&str> =
        followed.lines().filter(|line| line.contains("begun") || line.contains("gone on")).collect();
    assert_eq!(lines.len(), 2, "each entry once, and until the end: {followed}");
    assert_eq!(printed(&folder, &["run", "approvals"])?, "No open approvals.\n");
    assert_eq!(folder.json(&["run", "approvals"])?["items"], json!([]));
    served.terminate().await.map(drop)
}

#[test]
fn agents_are_changed_paused_and_removed_by_name() -> Result<()> {
    let folder = with_writer()?;
    let changed = printed(&folder, &["agent", "edit", "Writer", "--model", "big", "--max-concurrent", "3"])?;
    assert_eq!(changed, "Writer: model big, up to 3 concurrent runs.\n");
    assert_eq!(printed(&folder, &["agent", "pause", "Writer"])?, "Writer starts no new runs.\n");
    assert!(printed(&folder, &["agent", "list"])?.contains("(paused)"));
    assert_eq!(printed(&folder, &["agent", "resume", "Writer"])?, "Writer may start new runs again.\n");
    assert!(printed(&folder, &["agent", "detect"])?.contains("codex"));
    let nothing = folder.run(&["agent", "edit", "Writer"])?;
    assert_eq!(nothing.code, Some(2), "{nothing:?}");
    let unknown = folder.run(&["agent", "add", "New", "--program", "no-such"])?;
    assert!(unknown.stderr.starts_with("usage: `no-such` is not a supported program"), "{unknown:?}");
    assert_eq!(printed(&folder, &["agent", "remove", "Writer"])?, "Removed Writer.\n");
    Ok(())
}
