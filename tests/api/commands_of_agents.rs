//! Commands of the program about what agents ask for, draft and leave pending, with and without a running engine.

use anyhow::{Context as _, Result};
use forge_testkit::Folder;
use forge_tests::{asker, drafter, patience::until};
use serde_json::{Value, json};

/// A check that reports the file as compilers do.
const CHECK: &str = "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
/// A patch of the second of three lines.
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";
/// A patch that does not help.
const NO_FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+worse\n three\n";

fn with_project() -> Result<Folder> {
    let folder = Folder::new()?;
    let repo = folder.repo.path().to_string_lossy().into_owned();
    folder.run(&["project", "add", &repo, "--name", "thing"])?.succeeded()?;
    Ok(folder)
}

/// What a command prints when it succeeds.
fn printed(folder: &Folder, args: &[&str]) -> Result<String> {
    let ended = folder.run(args)?;
    ended.succeeded()?;
    Ok(ended.stdout)
}

/// A task whose agent asks for a permission.
fn with_asker() -> Result<Folder> {
    let folder = with_project()?;
    let program = asker::install(&folder.dir.path().join("asker"))?;
    let program = program.to_string_lossy().into_owned();
    folder.run(&["agent", "add", "Asker", "--program", "acp", "--", &program])?.succeeded()?;
    folder.run(&["task", "create", "Ask", "--agent", "Asker"])?.succeeded()?;
    Ok(folder)
}

#[test]
fn wait_for_an_agent_that_asks_ends_where_nothing_could_pass_the_answer_on() -> Result<()> {
    let folder = with_asker()?;
    let ended = folder.run(&["task", "start", "1", "--wait"])?;
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let said = "conflict: Could not wait for #1: its agent asks for an approval: ";
    assert!(ended.stderr.contains(said) && ended.stderr.contains("hint: Run `forge serve`"), "{ended:?}");
    Ok(())
}

#[tokio::test]
async fn wait_for_an_agent_that_asks_says_how_to_answer_and_the_answer_goes_on() -> Result<()> {
    let folder = with_asker()?;
    let mut served = folder.serve()?;
    let asked = printed(&folder, &["task", "start", "1", "--wait"])?;
    assert!(asked.contains("now       needs your answer: "), "{asked}");
    let next = asked.lines().find_map(|line| line.strip_prefix("next      forge run answer "));
    let next = next.context("the next command")?;
    assert!(next.contains("OPTION, with one of: allow (Allow once), reject (Reject)"), "{next}");
    let id = next.split_whitespace().next().context("an approval")?;
    let approvals = printed(&folder, &["run", "approvals"])?;
    assert!(approvals.contains(id) && approvals.contains("reject (Reject)"), "{approvals}");
    let short = id.get(..id.len() - 2).context("the beginning of it")?;
    printed(&folder, &["run", "answer", short, "Allow once"])?;
    until("the agent goes on", async || {
        Ok((folder.json(&["task", "show", "1"])?["status"] == "review").then_some(()))
    })
    .await?;
    served.terminate().await.map(drop)
}

#[test]
fn task_whose_engine_is_gone_says_so_and_is_gone_on_with() -> Result<()> {
    let folder = with_project()?;
    folder.run(&["agent", "add", "Writer", "--command", "echo one > made.txt"])?.succeeded()?;
    folder.run(&["task", "create", "Make", "--agent", "Writer"])?.succeeded()?;
    let started = printed(&folder, &["task", "start", "1", "--no-wait"])?;
    assert!(started.contains("now       pending: it continues when Forge runs\n"), "{started}");
    assert!(started.contains("next      forge task start 1, or forge serve\n"), "{started}");
    let status = printed(&folder, &["status"])?;
    assert!(
        status.contains("Waiting: 1") && status.contains("pending: forge serve continues it"),
        "{status}"
    );
    let gone_on = printed(&folder, &["task", "start", "1"])?;
    assert!(gone_on.contains("state     review\n"), "{gone_on}");
    Ok(())
}

/// Two tasks whose checks failed in the same way, with one draft each.
async fn with_drafts(answer: &str) -> Result<(Folder, String)> {
    let folder = with_project()?;
    let mut served = folder.serve()?;
    let program = drafter::install(&folder.dir.path().join("drafter"), answer)?;
    let program = program.to_string_lossy().into_owned();
    folder.run(&["agent", "add", "Drafter", "--program", "acp", "--", &program])?.succeeded()?;
    let writes = "printf 'one\\nbad\\nthree\\n' > total.txt";
    folder.run(&["agent", "add", "Writer", "--command", writes])?.succeeded()?;
    folder.run(&["project", "set", "innerLoop.autoFix.agentId=Drafter"])?.succeeded()?;
    let mut ids = Vec::new();
    for number in ["1", "2"] {
        folder.run(&["task", "create", "Total", "--agent", "Writer", "--check", CHECK])?.succeeded()?;
        let once = json!({ "task_state_config": { "retry_budgets": { "review": 0 } } }).to_string();
        folder.run(&["api", "task_update", "--task", number, &once])?.succeeded()?;
        folder.run(&["task", "start", number, "--wait"])?.succeeded()?;
        ids.push(
            until("a draft", async || {
                let all = folder.json(&["fix", "list", number])?;
                Ok(all["items"][0]["fixId"].as_str().map(str::to_owned))
            })
            .await?,
        );
    }
    served.terminate().await?;
    let id = ids.first().cloned().context("a fix")?;
    assert_eq!(Some(&id), ids.last(), "the same for both");
    Ok((folder, id))
}

fn status_of(folder: &Folder, task: &str) -> Result<Value> {
    Ok(folder.json(&["fix", "list", task])?["items"][0]["status"].clone())
}

#[tokio::test]
async fn fix_that_two_tasks_share_is_applied_to_the_one_that_is_named_and_checked_without_an_engine()
-> Result<()> {
    let (folder, id) = with_drafts(FIX).await?;
    let short = id.get(..8).context("the beginning of it")?;
    for command in ["show", "apply", "reject"] {
        let unclear = folder.run(&["fix", command, short])?;
        assert_eq!(unclear.code, Some(2), "{unclear:?}");
        assert!(unclear.stderr.contains("hint: Choose one with `--task 1` or `--task 2`."), "{unclear:?}");
    }
    let listed = printed(&folder, &["fix", "list"])?;
    assert!(listed.contains("#1") && listed.contains("#2"), "{listed}");
    let applied = printed(&folder, &["fix", "apply", short, "--task", "2"])?;
    assert_eq!(applied, format!("Fix {id} of #2 is verified.\n"));
    assert_eq!((status_of(&folder, "1")?, status_of(&folder, "2")?), (json!("drafted"), json!("verified")));
    let rejected = printed(&folder, &["fix", "reject", short, "--task", "1"])?;
    assert_eq!(rejected, format!("Fix {id} of #1 is rejected.\n"));
    Ok(())
}

#[tokio::test]
async fn fix_that_does_not_help_is_a_failure_of_the_command() -> Result<()> {
    let (folder, id) = with_drafts(NO_FIX).await?;
    let later = printed(&folder, &["fix", "apply", &id, "--task", "1", "--no-wait"])?;
    assert!(later.ends_with("Its check runs when Forge does: `forge serve`.\n"), "{later}");
    let applied = folder.run(&["fix", "apply", &id, "--task", "2"])?;
    assert_eq!(applied.code, Some(1), "{applied:?}");
    assert!(applied.stdout.contains("is rolled back: it did not help"), "{applied:?}");
    Ok(())
}

#[test]
fn agents_and_settings_that_name_nothing_are_not_found() -> Result<()> {
    let folder = with_project()?;
    for (command, says) in [("/nonexistent/x", "does not exist"), ("nosuchprog | cat", "not on the PATH")] {
        folder.run(&["agent", "add", "Gone", "--command", command])?.succeeded()?;
        let checked = folder.run(&["agent", "check", "Gone"])?;
        assert_eq!(checked.code, Some(1), "{checked:?}");
        assert!(checked.stdout.contains("is not found.") && checked.stdout.contains(says), "{checked:?}");
        folder.run(&["agent", "remove", "Gone"])?.succeeded()?;
    }
    let program = folder.run(&["agent", "add", "New", "--program", "acp"])?;
    assert_eq!(program.code, Some(2), "{program:?}");
    let known = folder.json(&["agent", "add", "Open", "--program", "opencode"])?;
    assert_eq!(known["config"], json!({ "program": "opencode", "args": ["acp"] }));
    folder.run(&["agent", "edit", "Open", "--model", "big"])?.succeeded()?;
    let edited = printed(&folder, &["agent", "edit", "Open", "--model", ""])?;
    assert_eq!(edited, "Open: model chosen by the program, up to 1 concurrent run.\n");
    for args in [
        ["project", "set", "innerLoop.autoFix.agentId=NoSuch"],
        ["project", "unset", "nosuch"],
        ["project", "unset", "innerLoop.nosuch"],
    ] {
        let ended = folder.run(&args)?;
        assert_eq!(ended.code, Some(3), "{ended:?}");
    }
    folder.run(&["task", "create", "Make", "--agent", "Open"])?.succeeded()?;
    let log = folder.run(&["task", "log", "1", "--log", "nosuch"])?;
    assert_eq!((log.code, log.stderr.starts_with("not_found: no log `nosuch`")), (Some(3), true), "{log:?}");
    let wrong = folder.run(&["task", "action", "1", "nosuch"])?;
    assert_eq!((wrong.code, wrong.stderr.contains("hint: Offered now: ")), (Some(4), true), "{wrong:?}");
    Ok(())
}
