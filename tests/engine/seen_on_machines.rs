//! What people see of a task, and give to its agent, while it works on another machine.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::Observer;
use serde_json::{Value, json};

use crate::on_machines::{OnMachine, eventually};

/// Counts how often a machine is asked for what stands there.
#[derive(Default)]
struct Looks(AtomicUsize);

impl Observer for Looks {
    fn at(&self, point: &str) {
        if point == "live.asked" {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Looks {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

async fn watched() -> Result<Option<(OnMachine, Arc<Looks>)>> {
    let looks = Arc::new(Looks::default());
    let observer = Arc::clone(&looks);
    let on = OnMachine::of(tempfile::tempdir()?, json!({}), move |config| config.observer = Some(observer));
    Ok(on.await?.map(|on| (on, looks)))
}

/// A script that does something, tells so, and does the next thing when it is told to go on.
struct Paced {
    folder: PathBuf,
}

impl Paced {
    fn script(&self, parts: &[&str]) -> String {
        let at = self.folder.display();
        let parts = parts.iter().enumerate();
        let part = |(n, part): (usize, &&str)| {
            format!("{part}; touch {at}/is-{n}; until [ -e {at}/go-{n} ]; do sleep 0.02; done")
        };
        parts.map(part).collect::<Vec<_>>().join("; ")
    }

    async fn until(&self, n: usize) -> Result<()> {
        let file = self.folder.join(format!("is-{n}"));
        eventually(&format!("part {n} is done"), || Ok(file.exists())).await
    }

    fn go_on(&self, n: usize) -> Result<()> {
        Ok(fs::write(self.folder.join(format!("go-{n}")), "")?)
    }
}

impl OnMachine {
    fn paced(&self) -> Paced {
        Paced { folder: self.folder.path().to_owned() }
    }

    async fn diff(&self, task: &Value, scope: &str) -> Result<Value> {
        Ok(self.board.call("task_diff", json!({ "task_id": task["id"], "scope": scope })).await?)
    }

    async fn tree(&self, task: &Value) -> Result<PathBuf> {
        let now = self.board.get(task).await?;
        Ok(PathBuf::from(now["workspace"]["path"].as_str().context("a worktree")?))
    }

    /// Waits until the diff is such a one.
    async fn diff_until(&self, task: &Value, is_so: impl Fn(&Value) -> bool) -> Result<Value> {
        for _ in 0..600 {
            let diff = self.diff(task, "task").await?;
            if is_so(&diff) {
                return Ok(diff);
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        anyhow::bail!("it never came: {:#}", self.diff(task, "task").await?)
    }
}

fn paths(diff: &Value) -> Vec<&str> {
    let files = diff["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    files.iter().filter_map(|file| file["path"].as_str()).collect()
}

fn copy_of(tree: &Path) -> PathBuf {
    tree.with_file_name("live")
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_shows_what_stands_on_the_machine_and_disturbs_nothing() -> Result<()> {
    let Some((mut on, looks)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let script = paced.script(&[
        "echo mine > mine.txt; git add -A; git commit -qm mine; echo later > later.txt; rm src/a.txt",
        "echo more >> later.txt; echo last > last.txt; rm mine.txt",
        "echo unseen > unseen.txt",
    ]);
    let task = on.begin(&script).await?;
    paced.until(0).await?;
    assert_eq!(looks.count(), 0, "nobody looked");
    let diff = on.diff(&task, "task").await?;
    assert_eq!(paths(&diff), ["later.txt", "mine.txt", "src/a.txt"], "{diff:#}");
    let machine = on.board.call("machine_get", json!({ "machine_id": "box" })).await?;
    assert_eq!(diff["there"]["machine_id"], machine["id"], "{diff:#}");
    assert_eq!(diff["there"]["machine"], "box");
    assert_eq!(diff["there"]["error"], Value::Null);
    let uncommitted = on.diff(&task, "uncommitted").await?;
    assert_eq!(paths(&uncommitted), ["later.txt", "src/a.txt"], "what it committed is a commit");
    let page = json!({ "task_id": task["id"], "path": "later.txt" });
    let file = on.board.call("task_diff_file", page).await?;
    assert_eq!(file["hunks"][0]["lines"][0]["text"], "later", "{file:#}");
    let tree = on.tree(&task).await?;
    ensure!(
        !tree.join("later.txt").exists() && tree.join("src/a.txt").exists(),
        "the worktree here is as sent"
    );
    ensure!(copy_of(&tree).exists());
    paced.go_on(0)?;
    paced.until(1).await?;
    let diff = on.diff_until(&task, |diff| paths(diff).contains(&"last.txt")).await?;
    assert_eq!(paths(&diff), ["last.txt", "later.txt", "src/a.txt"], "{diff:#}");
    paced.go_on(1)?;
    paced.until(2).await?;
    let looked = looks.count();
    paced.go_on(2)?;
    on.board.reach(&task, "done").await?;
    assert_eq!(looks.count(), looked, "what nobody looks at is fetched once, at the end");
    assert_eq!(on.on_main("later.txt")?, "later\nmore");
    assert_eq!(on.on_main("unseen.txt")?, "unseen");
    ensure!(on.on_main("mine.txt").is_err() && on.on_main("src/a.txt").is_err());
    let refs = on.board.repo.git(&["for-each-ref", "--format=%(refname)", "refs/forge/backup"])?;
    assert_eq!(refs, "", "nothing here was taken for a change");
    eventually("the copy is removed", || Ok(!copy_of(&tree).exists())).await?;
    let diff = on.diff(&task, "task").await?;
    assert_eq!(diff["there"], Value::Null, "{diff:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn viewers_at_once_share_one_look() -> Result<()> {
    let Some((mut on, looks)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let task = on.begin(&paced.script(&["echo work > work.txt"])).await?;
    paced.until(0).await?;
    let all = futures::future::join_all((0..8).map(|_| on.diff(&task, "task"))).await;
    for diff in all {
        assert_eq!(paths(&diff?), ["work.txt"]);
    }
    assert_eq!(looks.count(), 1);
    let changes = on.board.call("task_changes", json!({ "task_id": task["id"] })).await?;
    assert_eq!(changes["files"][0]["hunks"][0]["lines"][0]["text"], "work", "{changes:#}");
    paced.go_on(0)?;
    on.board.reach(&task, "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_of_an_unreachable_machine_says_since_when_it_is_as_shown() -> Result<()> {
    let Some((mut on, _)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let task = on.begin(&paced.script(&["echo work > work.txt", "echo more > more.txt"])).await?;
    paced.until(0).await?;
    let before = on.diff(&task, "task").await?;
    assert_eq!(before["there"]["error"], Value::Null, "{before:#}");
    on.server.stop();
    paced.go_on(0)?;
    paced.until(1).await?;
    let away = on.diff_until(&task, |diff| diff["there"]["error"].is_string()).await?;
    assert_eq!(paths(&away), ["work.txt"], "what was seen last is shown");
    ensure!(away["there"]["at"].as_str() >= before["there"]["at"].as_str(), "{away:#}");
    let again = on.diff(&task, "task").await?;
    assert_eq!(again["there"]["at"], away["there"]["at"], "its time stands still");
    on.server.start_again()?;
    on.diff_until(&task, |diff| paths(diff) == ["more.txt", "work.txt"]).await?;
    paced.go_on(1)?;
    on.board.reach(&task, "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn validate_checks_what_stands_on_the_machine() -> Result<()> {
    let Some((mut on, _)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let task = on.begin(&paced.script(&["echo '{}' > work.json", "echo more > more.txt"])).await?;
    paced.until(0).await?;
    let tree = on.tree(&task).await?;
    let call = |files: &[&str], commands: &[&str]| json!({ "moduleId": "m1", "cwd": tree, "files": files, "commands": commands });
    let command = "test -e work.json && test \"$PWD\" = \"$FORGE_WORKTREE_PATH\" && touch made-by-check.txt && rm README.md";
    let report = on.board.call("validate", call(&["work.json", "README.md"], &[command])).await?;
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(report["notice"], Value::Null, "{report:#}");
    ensure!(!tree.join("made-by-check.txt").exists() && tree.join("README.md").exists());
    let missing = on.board.call("validate", call(&["more.txt"], &[])).await?;
    assert_eq!(missing["passed"], false, "{missing:#}");
    paced.go_on(0)?;
    paced.until(1).await?;
    let diff = on.diff_until(&task, |diff| paths(diff).contains(&"more.txt")).await?;
    assert_eq!(paths(&diff), ["more.txt", "work.json"], "what the check did is no work of the agent");
    on.server.stop();
    on.diff_until(&task, |diff| diff["there"]["error"].is_string()).await?;
    let report = on.board.call("validate", call(&["more.txt"], &[])).await?;
    assert_eq!(report["passed"], true, "{report:#}");
    ensure!(report["notice"].as_str().is_some_and(|notice| notice.contains("on box at")), "{report:#}");
    on.server.start_again()?;
    paced.go_on(1)?;
    on.board.reach(&task, "done").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn file_attached_while_a_run_goes_on_is_there_before_the_agent_is_told_of_it() -> Result<()> {
    let Some((mut on, _)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let script = paced.script(&[
        "path=$(grep -o '/[^ `]*/notes.txt' \"$FORGE_PROMPT_FILE\" | head -n 1); \
         if [ -n \"$path\" ]; then readlink -f \"$path\" > path.txt; cat \"$path\" > copied.txt; else echo none > first.txt; fi",
    ]);
    let task = on.begin(&script).await?;
    paced.until(0).await?;
    let data = json!({ "task_id": task["id"], "name": "notes.txt", "data": "bm90ZWQK" });
    let file = on.board.call("attachment_add", data).await?;
    let run = on.runs(&task).await?.remove(0);
    let say = json!({
        "execution_id": run["id"], "message": "Read this.", "attachments": [file["id"]], "at_once": true
    });
    on.board.call("execution_follow_up", say).await?;
    let there = || {
        let folders = on.server.copies().into_iter().map(|copy| copy.join("attachments"));
        let files = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        files.map(|folder| folder.path().join("notes.txt")).find(|file| file.exists())
    };
    eventually("the file is there while the run goes on", || Ok(there().is_some())).await?;
    // The copy goes once the task is done.
    let there = there().context("the file")?.canonicalize()?;
    paced.go_on(0)?;
    on.board.reach(&task, "done").await?;
    assert_eq!(on.runs(&task).await?.len(), 2, "who cannot be told at once is told in another run");
    assert_eq!(on.on_main("copied.txt")?, "noted");
    assert_eq!(PathBuf::from(on.on_main("path.txt")?), there);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn place_of_a_worktree_is_on_its_machine_while_programs_work_there() -> Result<()> {
    let Some((mut on, _)) = watched().await? else { return Ok(()) };
    let paced = on.paced();
    let task = on.begin(&paced.script(&["pwd > work.txt"])).await?;
    paced.until(0).await?;
    let of = json!({ "task_id": task["id"] });
    let place = on.board.call("task_place", of.clone()).await?;
    assert_eq!(place["there"]["machine"], "box", "{place:#}");
    assert_eq!(place["there"]["destination"], "far");
    let runs = on.board.call("run_list", json!({})).await?;
    let machine = on.board.call("machine_get", json!({ "machine_id": "box" })).await?;
    assert_eq!(runs["items"][0]["machine_id"], machine["id"], "{runs:#}");
    paced.go_on(0)?;
    on.board.reach(&task, "done").await?;
    let work = on.on_main("work.txt")?;
    assert_eq!(place["there"]["path"], work.trim(), "{place:#}");
    let place = on.board.call("task_place", of).await?;
    assert_eq!(place["there"], Value::Null, "{place:#}");
    Ok(())
}
