//! One task from todo to done, agent that writes one file, one check `true`, against a bare shell script
//! that does the same with git alone.

use std::{ffi::OsString, path::Path, process::Command, time::Instant};

use anyhow::{Context as _, Result, ensure};
use forge_api::Api;
use forge_engine::{Engine, EngineConfig};
use forge_model::actor::Via;
use serde_json::{Value, json};

use crate::{
    measure::Row,
    repository::{generate, git, hermetic},
};

/// Worktree, one file, commit, check, merge without a checkout, worktree away: no more than it takes.
const SCRIPT: &str = r#"
set -eu
base=$(git -C "$REPO" rev-parse main)
git -C "$REPO" worktree add --quiet -b "task/$N" "$TREE" "$base"
printf 'task %s\n' "$N" >"$TREE/TASK-$N.txt"
git -C "$TREE" add --all
git -C "$TREE" commit --quiet -m "task $N"
( cd "$TREE" && bash -lc true )
tree=$(git -C "$REPO" merge-tree --write-tree "$base" "task/$N")
commit=$(git -C "$REPO" commit-tree "$tree" -p "$base" -p "task/$N" -m "merge task $N")
git -C "$REPO" update-ref refs/heads/main "$commit" "$base"
git -C "$REPO" worktree remove --force "$TREE"
git -C "$REPO" branch --quiet -D "task/$N"
"#;

/// Where a task's worktree comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Worktree {
    /// Made anew.
    New,
    /// The one that the task before left.
    FromSlot,
}

pub async fn measure(folder: &Path, files: u32, rounds: usize, worktree: Worktree) -> Result<Row> {
    let (how, reuse, promise) = match worktree {
        Worktree::New => ("", "off", 1.2),
        Worktree::FromSlot => (" from a slot", "tracked", 0.7),
    };
    let folder = &folder.join(format!("task-{files}-{reuse}"));
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    for repo in [&ours, &theirs] {
        generate(repo, files)?;
        // Neither side's target is checked out: both merge by moving a ref.
        git(repo, &["checkout", "--quiet", "--detach"])?;
    }
    let board = Board::start(&folder.join("data"), &ours, reuse, std::env::vars_os()).await?;
    let (mut forge, mut shell) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let by_forge = board.task(round).await?;
        let by_hand = script(&theirs, &folder.join("hand"), round)?;
        // The first round warms both sides up, and leaves the first slot.
        if round > 0 {
            forge.push(by_forge);
            shell.push(by_hand);
        }
    }
    board.api.engine().stop().await;
    Ok(Row::new(
        format!("one task{how}, todo to done, {files} files"),
        "the same by a bare shell script",
        promise,
        forge,
        shell,
    ))
}

/// An engine with a project whose tasks are done by a writer.
pub struct Board {
    pub api: Api,
    project: String,
    agent: String,
}

impl Board {
    /// Starts an engine in a folder; `reuse` says what becomes of worktrees, `environment` how programs are found.
    pub async fn start(
        data: &Path,
        repo: &Path,
        reuse: &str,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self> {
        let mut config = EngineConfig::new(data.to_owned(), environment);
        config.git_env = forge_testkit::HERMETIC_GIT
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        config.keeper = forge_testkit::keeper_program()?;
        let api = Api::new(Engine::start(config).await?, std::env::current_exe()?);
        let call = async |op: &str, input: Value| {
            api.call(Via::Api, op, input).await.context("the contract refused")
        };
        let agent = call("agent_create", json!({
            "name": "writer", "adapter": "shell",
            "config": { "command": "sh", "args": ["-c", "printf 'task %s\\n' $FORGE_TASK_NUMBER >TASK-$FORGE_TASK_NUMBER.txt"] },
        }))
        .await?;
        let settings = json!({
            "auto_approve": true, "review_config": { "ci_steps": ["true"] }, "workspace_reuse": reuse,
        });
        let project = call(
            "project_create",
            json!({ "repo_path": repo, "default_branch": "main", "settings": settings }),
        )
        .await?;
        let id = |value: &Value| value["id"].as_str().map(str::to_owned).context("no id");
        let (project, agent) = (id(&project)?, id(&agent)?);
        Ok(Self { api, project, agent })
    }

    /// Has the tasks run on a machine.
    pub async fn take_in(&self, machine: Value) -> Result<()> {
        self.api.call(Via::Api, "machine_create", machine.clone()).await?;
        let settings = json!({ "project_id": self.project, "machines": [machine["name"]] });
        self.api.call(Via::Api, "project_settings_update", settings).await?;
        Ok(())
    }

    /// Has a task done, and returns how many milliseconds it took.
    pub async fn task(&self, round: usize) -> Result<f64> {
        let Self { api, project, agent } = self;
        let new =
            json!({ "project_id": project, "title": format!("task {round}"), "roles": { "coder": agent } });
        let task = api.call(Via::Api, "task_create", new).await?;
        let mut events = api.engine().events();
        let begun = Instant::now();
        api.call(
            Via::Api,
            "task_claim",
            json!({ "task_id": task["id"], "agent_id": agent, "version": task["version"] }),
        )
        .await?;
        loop {
            events.borrow_and_update();
            let now = api.call(Via::Api, "task_get", json!({ "task_id": task["id"] })).await?;
            ensure!(now["status"] != "blocked", "the task is blocked: {now}");
            if now["status"] == "done" && now["workspace"]["status"] == "cleaned" {
                return Ok(begun.elapsed().as_secs_f64() * 1000.0);
            }
            events.changed().await?;
        }
    }
}

fn script(repo: &Path, tree: &Path, round: usize) -> Result<f64> {
    let begun = Instant::now();
    let mut command = Command::new("bash");
    command.args(["-c", SCRIPT]).env("REPO", repo).env("TREE", tree).env("N", round.to_string());
    let status = hermetic(&mut command).status()?;
    ensure!(status.success(), "the shell script failed");
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}
