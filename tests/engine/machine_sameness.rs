//! The same task gives the same tree, review, log and costs on this computer and on a machine, whatever its agent does.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{HERMETIC_GIT, Sandbox};
use forge_tests::sameness::{Sameness, ensure_same};
use serde_json::{Value, json};

use crate::{
    in_containers::InContainers,
    on_machines::OnMachine,
    ssh_server::{Server, board},
};

/// What an agent does to its worktree, as a script of shell; one after the other on the same branch.
const BEHAVIOURS: &[(&str, &str)] = &[
    ("new file", "echo work > new.txt; mkdir -p deep/er; echo deep > deep/er/file"),
    ("deleted file", "rm src/a.txt"),
    ("executable bit", "printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh; chmod +x README.md"),
    ("executable bit taken away", "chmod -x run.sh"),
    ("symlink", "ln -s README.md link; ln -s nowhere dangling; ln -s deep folder-link"),
    ("symlink that becomes a file", "rm link; echo file > link; rm new.txt; ln -s README.md new.txt"),
    ("ignored file", "printf '*.tmp\\nout/\\n' > .gitignore; echo x > a.tmp; mkdir out; echo y > out/y"),
    ("binary file", "head -c 70000 /dev/zero > blob.bin; printf 'a\\000b\\377\\r\\n' >> blob.bin"),
    ("rename", "mv README.md docs.md; git mv run.sh moved.sh"),
    ("empty file and empty folder", ": > empty; mkdir hollow"),
    ("file that becomes a folder", "rm empty; mkdir empty; echo in > empty/in"),
    ("folder that becomes a file", "rm -r deep; echo flat > deep"),
    (
        "names with spaces",
        "echo x > 'with  two spaces '; echo y > 'quote\" and \\back'; echo z > \"$(printf 'tab\\there')\"",
    ),
    ("names that are no text", "echo x > \"$(printf 'caf\\351')\"; echo y > \"$(printf 'caf\\303\\251')\""),
    ("ends of lines", "printf 'one\\r\\ntwo\\n' > lines.txt; printf 'no end' > no-end.txt"),
    (
        "commits of its own",
        "echo 1 > one; git add one; git commit -qm first; echo 2 > two; git add two; git commit -qm second; echo 3 > three",
    ),
    (
        "commit that is changed",
        "echo 4 > four; git add four; git commit -qm wrong; git commit -q --amend -m right",
    ),
    (
        "staged and unstaged",
        "echo s > staged; git add staged; echo t >> staged; echo u > unstaged; git rm -q --cached one",
    ),
    ("output on both pipes", "echo out; echo err >&2; printf 'no end of line'; echo more > more.txt"),
    (
        "usage that is told",
        "echo '{\"kind\":\"usage\",\"body\":{\"model\":\"m\",\"input_uncached\":7,\"output\":5,\"cost_micro_usd\":123}}'; \
                            echo '{\"kind\":\"assistant_text\",\"body\":{\"text\":\"I am done.\"}}'; echo paid > paid.txt",
    ),
    ("nothing at all", "true"),
    ("failure", "echo half > half.txt; echo broken >&2; exit 3"),
];

/// Those that are tried in containers, too: files come and go as on any machine, but programs run as another user there.
const IN_CONTAINERS: &[&str] = &[
    "new file",
    "executable bit",
    "symlink",
    "names that are no text",
    "commits of its own",
    "usage that is told",
];

/// What a task came to, without what may differ.
pub(crate) struct Outcome {
    tree: String,
    told: Vec<(&'static str, String)>,
}

impl Outcome {
    /// How they differ.
    pub(crate) fn compared(&self, other: &Self) -> Vec<String> {
        let trees = ("trees", &self.tree, &other.tree);
        let told = self.told.iter().zip(&other.told).map(|((what, one), (_, other))| (*what, one, other));
        let all = std::iter::once(trees).chain(told);
        all.filter_map(|(what, one, other)| ensure_same(what, one, other).err())
            .map(|why| why.to_string())
            .collect()
    }
}

impl OnMachine {
    /// Finds the copies of worktrees that the machine has of tasks.
    pub(crate) fn elsewhere(&self) -> impl Fn(&str) -> Option<PathBuf> + use<> {
        let keepers = self.folder.path().join("forge/keepers");
        move |task| {
            let owner = keepers.canonicalize().ok()?.read_dir().ok()?.flatten().next()?.path();
            Some(owner.join("tasks").join(task).join("tree"))
        }
    }
}

/// Lets an agent do something in a task, and gives what comes of it. `elsewhere` finds the copy of a task's worktree.
pub(crate) async fn outcome(
    board: &mut Sandbox,
    (name, script): (&str, &str),
    elsewhere: impl Fn(&str) -> Option<PathBuf>,
) -> Result<Outcome> {
    // Who commits is the user here, and nobody there. The maintenance that git leaves running after a commit may or may
    // not be seen when the agent ends.
    let maintenance = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "maintenance.auto"),
        ("GIT_CONFIG_VALUE_0", "false"),
    ];
    let env: BTreeMap<_, _> = HERMETIC_GIT.into_iter().chain(maintenance).collect();
    let config = json!({ "command": script, "env": env });
    let new = json!({ "name": name, "adapter": "shell", "config": config, "max_concurrent": 8 });
    board.agent = board.call("agent_create", new).await?["id"].as_str().context("no id")?.to_owned();
    let limits = json!({ "task_state_config": { "retry_budgets": { "execution": 1 } } });
    let task = board.task(name, &[], limits).await?;
    board.claim(&task).await?;
    let over = |now: &Value| ["done", "blocked"].iter().any(|state| now["status"] == *state);
    let end = board.wait(&task, "over", over).await?;
    let end = board.reach(&task, end["status"].as_str().context("no state")?).await?;
    let of_task = json!({ "task_id": task["id"] });
    let mut runs = board.call("task_executions", of_task.clone()).await?["items"].take();
    let mut logs = Vec::new();
    for run in runs.as_array_mut().context("no runs")? {
        // Where it ran is all that differs.
        run["machine_id"].take();
        let asked = json!({ "execution_id": run["id"], "after": 0, "limit": 200 });
        let log = board.call("execution_logs", asked).await?["entries"].take();
        logs.push(log.as_array().context("no entries")?.clone());
    }
    let reviews = board.call("task_reviews", of_task.clone()).await?["items"].take();
    let mut changes = board.call("task_changes", of_task).await?;
    // Which commits they lie between are names of this run.
    for commit in ["base", "head"] {
        changes[commit].take();
    }
    let here = PathBuf::from(end["workspace"]["path"].as_str().context("no worktree")?);
    let id = task["id"].as_str().context("no id")?;
    let there = elsewhere(id).unwrap_or_else(|| here.clone());
    let above = |path: &Path| path.parent().unwrap_or(path).to_owned();
    let (around, around_there) = (above(&here), above(&there));
    let same = Sameness::of([
        (there.as_path(), "tree"),
        (around_there.as_path(), "task"),
        (here.as_path(), "tree"),
        (around.as_path(), "task"),
        (board.dir.path(), "board"),
    ])?;
    let annotation = format!("{} {}", end["error_annotation"]["type"], end["error_annotation"]["message"]);
    let logs = logs.iter().map(|log| same.log(log)).collect::<Result<Vec<String>>>()?.join("\n");
    let git = |args: &[&str]| board.repo.git(args);
    Ok(Outcome {
        tree: git(&["ls-tree", "-r", "main"])?,
        told: vec![
            ("state", format!("{} {} {}", end["status"], annotation, end["diff_stat"])),
            ("commits", same.text(&git(&["log", "--format=%s|%b|%an|%ae|%cn|%ce", "main"])?)),
            ("changes", same.text(&changes.to_string())),
            ("reviews", same.text(&reviews.to_string())),
            ("runs and costs", same.text(&runs.to_string())),
            ("log", logs),
        ],
    })
}

/// What is checked of the worktree as it is where the task runs.
fn looked_at() -> Value {
    json!({
        "review_config": { "ci_steps": ["git status --porcelain -z | od -c; git ls-files -s -z | od -c; ls -a"] },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn task_comes_to_the_same_here_and_in_a_container() -> Result<()> {
    let mut all = looked_at();
    let Some(mut far) = InContainers::new(all.clone(), json!({})).await? else { return Ok(()) };
    forge_model::settings::merge_patch(
        &mut all,
        &json!({ "auto_approve": true, "sandbox": { "mode": "off" } }),
    );
    let mut near = board("", all).await?;
    let mut failures = Vec::new();
    for behaviour in BEHAVIOURS.iter().filter(|(name, _)| IN_CONTAINERS.contains(name)) {
        let here = outcome(&mut near, *behaviour, |_| None).await.with_context(|| behaviour.0)?;
        let elsewhere = far.elsewhere();
        let there = outcome(&mut far.board, *behaviour, elsewhere).await.with_context(|| behaviour.0)?;
        failures.extend(here.compared(&there).into_iter().map(|why| format!("{}: {why}", behaviour.0)));
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    far.close().await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_comes_to_the_same_here_and_on_a_machine() -> Result<()> {
    let settings = looked_at();
    let Some(mut far) = OnMachine::new(settings.clone()).await? else { return Ok(()) };
    let near_server = tempfile::tempdir()?;
    let Some(server) = Server::start(near_server.path())? else { return Ok(()) };
    let mut all = json!({ "auto_approve": true, "sandbox": { "mode": "off" } });
    forge_model::settings::merge_patch(&mut all, &settings);
    let mut near = board(&server.configuration("far"), all).await?;
    let mut failures = Vec::new();
    for behaviour in BEHAVIOURS {
        let here = outcome(&mut near, *behaviour, |_| None).await.with_context(|| behaviour.0)?;
        let elsewhere = far.elsewhere();
        let there = outcome(&mut far.board, *behaviour, elsewhere).await.with_context(|| behaviour.0)?;
        failures.extend(here.compared(&there).into_iter().map(|why| format!("{}: {why}", behaviour.0)));
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}
