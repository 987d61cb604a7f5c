//! One random history.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, scripted_agent};
use forge_testkit::{Repository, script};
use forge_tests::drafter;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::ledger::{Ledger, content, git};

/// The number of events in a history.
const EVENTS: usize = 32;
/// How long a task is watched at most.
const WATCHED: Duration = Duration::from_millis(800);
/// Fails until the drafter's fix is applied.
const CHECK: &str = "! test -e total.txt || grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";
const STATES: [&str; 5] = ["todo", "in_progress", "review", "merging", "done"];

struct Rng(u64);

impl Rng {
    fn next(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound.max(1)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.next(of.len());
        of.get(at)
    }
}

/// A task that Forge finished: its number, its reviewed commit, and its records.
type FinishedTask = (usize, Option<String>, String);

/// The result of a history.
pub struct HistoryOutcome {
    /// Tasks that Forge finished.
    pub finished: usize,
    /// Texts that were written.
    pub texts: usize,
}

pub struct History {
    server: Served,
    dir: TempDir,
    repo: Repository,
    /// The initial content of every task.
    start: String,
    rng: Rng,
    project: String,
    agent: String,
    tasks: Vec<String>,
    /// Tasks that a person deleted.
    deleted: BTreeSet<usize>,
    /// Tasks whose agent stages all files.
    staged_by_agent: BTreeSet<usize>,
    ledger: Ledger,
    written: usize,
    away: bool,
    /// Whether a person deleted the folder of a worktree.
    has_destroyed: bool,
    /// The events, for the message of a failure.
    log: Vec<String>,
}

/// The initial repositories of every history, created once because that takes most of a second.
pub struct Template {
    dir: TempDir,
}

impl Template {
    /// Creates a repository with a submodule that has a submodule of its own.
    pub fn create() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let files = [("README.md", "# Sample\n"), ("src/main.txt", "main\n")];
        let repo = Repository::create(&dir.path().join("repo"), &files)?;
        let core = Repository::create(&dir.path().join("core"), &[("core.txt", "one\n")])?;
        let library = Repository::create(&dir.path().join("library"), &[("lib.txt", "one\n")])?;
        for (repo, from, to) in [(&library, &core, "core"), (&repo, &library, "lib")] {
            let from = from.path().display().to_string();
            repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, to])?;
            repo.commit("a library")?;
        }
        Ok(Self { dir })
    }

    /// The remotes of the submodule and of its submodule. Histories only read them.
    fn libraries(&self) -> [PathBuf; 2] {
        ["library", "core"].map(|name| self.dir.path().join(name))
    }

    fn copy_repository(&self, to: &Path) -> Result<Repository> {
        let copied = Command::new("cp").arg("-a").arg(self.dir.path().join("repo")).arg(to).status()?;
        ensure!(copied.success(), "the repository cannot be copied");
        Ok(Repository::open(to))
    }
}

fn serve(dir: &Path) -> Result<Served> {
    Serve { program: "forge-faulty", data: dir.join("data"), env: Vec::new() }.start()
}

impl History {
    /// Runs the history of a seed and checks its promises.
    pub async fn run(seed: u64, template: &Template) -> Result<HistoryOutcome> {
        let mut history = Self::begin(seed, template).await?;
        let told = history.run_events().await;
        // Agents end with the engine that ends in order; one that is killed leaves them to the next.
        history.server.end_in_order();
        told.with_context(|| format!("what happened:\n{}", history.log.join("\n")))
    }

    async fn begin(seed: u64, template: &Template) -> Result<Self> {
        // Neighbouring seeds begin alike otherwise.
        let mut rng = Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let dir = tempfile::tempdir()?;
        let repo = template.copy_repository(&dir.path().join("repo"))?;
        let start = repo.git(&["rev-parse", "main"])?;
        let ledger = Ledger::new(dir.path(), template.libraries())?;
        let program = drafter::install(&dir.path().join("drafter"), FIX)?;
        let server = serve(dir.path())?;
        let agent = id(&server.post("/agents", scripted_agent("Bot")?).await?)?;
        let drafts = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
        let drafts = id(&server.post("/agents", drafts).await?)?;
        let strategies = ["merge", "squash", "rebase"];
        let settings = json!({
            "auto_approve": rng.next(2) == 0, "shell": ["sh", "-c"],
            "setup": ["git -c protocol.file.allow=always submodule update --init --recursive --quiet"],
            "review_config": { "ci_steps": [CHECK] },
            "merge_config": { "strategy": rng.pick(&strategies) },
            "innerLoop": { "autoFix": { "agentId": drafts, "applyWithoutReview": rng.next(2) == 0 } },
        });
        let new = json!({ "name": "case", "repo_path": repo.path(), "settings": settings });
        let project = id(&server.post("/projects", new).await?)?;
        Ok(Self {
            dir,
            repo,
            start,
            server,
            rng,
            project,
            agent,
            tasks: Vec::new(),
            deleted: BTreeSet::new(),
            staged_by_agent: BTreeSet::new(),
            ledger,
            written: 0,
            away: false,
            has_destroyed: false,
            log: Vec::new(),
        })
    }

    async fn run_events(&mut self) -> Result<HistoryOutcome> {
        for n in 0..EVENTS {
            self.random_event().await.with_context(|| format!("event {n}"))?;
        }
        if self.away {
            self.bring_back()?;
        }
        self.finish().await?;
        let finished = self.finished_tasks().await?;
        self.server.end_in_order();
        self.done_means_merged(&finished)?;
        let held = self.ledger.look(self.repo.path(), &self.folders())?;
        let lost = self.ledger.lost(&held)?;
        ensure!(lost.is_empty(), "lost: {lost:?}\nlisted: {:#?}", self.repo.git(&["for-each-ref"])?);
        Ok(HistoryOutcome { finished: finished.len(), texts: self.ledger.texts()?.len() })
    }

    /// A person approves waiting reviews, and every task is watched once more.
    async fn finish(&mut self) -> Result<()> {
        for task in 0..self.tasks.len() {
            if self.deleted.contains(&task) {
                continue;
            }
            let mut now = self.get(task).await?;
            if now["review"]["status"] == "awaiting_human" {
                let commit = now["review"]["reviewed_commit"].clone();
                self.act(task, "review/approve?wait=none", json!({ "commit": commit })).await?;
                now = self.get(task).await?;
            }
            self.watch(task, &now).await?;
        }
        Ok(())
    }

    fn folders(&self) -> Vec<PathBuf> {
        let data = self.dir.path().join("data");
        vec![data.join("workspaces"), data.join("kept"), self.repo.path().to_owned()]
    }

    async fn random_event(&mut self) -> Result<()> {
        let task = match self.rng.next(self.tasks.len() + 1) {
            number if number < self.tasks.len() => number,
            _ if self.tasks.len() - self.deleted.len() < 4 => return self.create().await,
            _ => 0,
        };
        if self.deleted.contains(&task) {
            return Ok(());
        }
        let now = self.get(task).await?;
        match self.rng.next(16) {
            0..=2 if now["status"] == "todo" => self.claim(task).await,
            0..=2 if now["review"]["status"] == "awaiting_human" => self.decide_review(task).await,
            3 => {
                let to = *self.rng.pick(&STATES).context("no state")?;
                self.act(task, "transition?wait=none", json!({ "to": to })).await
            }
            4..=6 => self.take_an_action(task).await,
            7 | 8 => self.person_writes(task).await,
            9 => self.kill(),
            10 => self.person_destroys(task).await,
            11 if self.away => self.bring_back(),
            11 if self.rng.next(2) == 0 => self.move_away().await,
            12 if !self.away && self.rng.next(3) == 0 => self.delete(task).await,
            _ => self.watch(task, &now).await,
        }
    }

    /// Waits until a task changes, or a limit has passed.
    async fn watch(&self, task: usize, before: &Value) -> Result<()> {
        let end = tokio::time::Instant::now() + WATCHED;
        while self.get(task).await?["version"] == before["version"] && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
        Ok(())
    }

    fn text(&mut self, task: usize) -> String {
        self.written += 1;
        format!("text-{task}-{}", self.written)
    }

    /// A directive that writes a text of the task into a folder.
    fn writes(&mut self, task: usize, folder: &str, then: &str) -> String {
        let name = self.text(task);
        self.ledger.agent_writes(&name, folder, then)
    }

    async fn create(&mut self) -> Result<()> {
        let task = self.tasks.len();
        let work = self.writes(task, ".", "true");
        let more = self.writes(task, ".", "true");
        let git_add = "git -C nested add --all && git -C nested commit -qm nested";
        let lines: Vec<String> = match self.rng.next(20) {
            0 => vec![work, "commit mine".into(), more],
            1 => vec![work, "hang".into()],
            2 => vec![work, "commit mine".into(), more, "fail 1".into()],
            3 => vec!["say nothing to do".into()],
            4 => {
                let inside = self.writes(task, "nested", git_add);
                vec![work, "run git init -q nested".into(), inside]
            }
            5 => {
                let inside = self.writes(task, "lib", "git -C lib add --all && git -C lib commit -qm inside");
                vec![work, inside]
            }
            6 => vec![work, "run rm -f .git".into(), more],
            7 => {
                let inside = self.writes(task, ".", "git add --all && git commit -qm own");
                vec![work, "run rm -f .git && git init -q .".into(), inside]
            }
            8 => vec![work, "edit total.txt <<< \"one\\nbad\\nthree\\n\"".into()],
            9 => vec!["sleep 200".into(), work, "commit mine".into()],
            10 => {
                let beside = self.writes(task, ".", "git add --all && git commit -qm beside");
                vec![work, "commit mine".into(), "run git checkout -q --detach".into(), beside, more]
            }
            11 => {
                let elsewhere = "git add --all && git commit -qm away && git checkout -q --orphan fresh";
                let away = self.writes(task, ".", elsewhere);
                vec![work, "commit mine".into(), "run git checkout -q --detach".into(), away, more]
            }
            12 => {
                let overlooked = self.text(task);
                let commit = format!(
                    "git add --all && git commit -qm own && git update-index --assume-unchanged {overlooked}"
                );
                let before = self.ledger.agent_writes(&overlooked, ".", &commit);
                let hidden = self.text(task);
                vec![work, before, self.ledger.agent_overwrites(&hidden, &overlooked)]
            }
            13 => {
                let beside =
                    "git -C src add --all && git -C src commit -qm beside && git -C src rm -q 'text-*'";
                let beside = self.writes(task, "src", beside);
                vec![work, "run git init -q src".into(), beside]
            }
            14 => {
                let inside = "git -C lib/core add --all && git -C lib/core commit -qm inside";
                let inside = self.writes(task, "lib/core", inside);
                let uncommitted = self.writes(task, "lib/core", "true");
                vec![work, inside, uncommitted]
            }
            15 => {
                let reset = "git add --all && git commit -qm dropped && git reset -q --hard HEAD~1";
                let dropped = self.writes(task, ".", reset);
                vec![work, "commit mine".into(), dropped]
            }
            16 => {
                let amended = self.text(task);
                let commit = "git add --all && git commit -qm once";
                let before = self.ledger.agent_writes(&amended, ".", commit);
                let amend = format!("run git rm -q {amended} && git commit -qm other --amend --allow-empty");
                vec![work, before, amend]
            }
            _ => vec![work],
        };
        self.log.push(format!("task {task} created: {lines:?}"));
        if lines.iter().any(|line| line.starts_with("commit") || line.contains("git add --all")) {
            self.staged_by_agent.insert(task);
        }
        let again = self.writes(task, ".", "true");
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let audit = "edit README.md <<< \"spoiled\"\nrun sleep 0.3\nverdict pass fine";
        let description = format!(
            "{}\n```forge-script attempt=2\n{again}\n```\n```forge-script role=reviewer\n{audit}\n```",
            script(&lines)
        );
        let mut roles = json!({ "coder": self.agent });
        if self.rng.next(3) == 0 {
            roles["reviewer"] = json!(self.agent);
        }
        let new = json!({ "title": format!("Task {task}"), "description": description, "roles": roles });
        let path = format!("/projects/{}/tasks", self.project);
        if let Some(made) = self.answer(Method::POST, &path, Some(new)).await? {
            self.tasks.push(id(&made)?);
            if self.rng.next(3) > 0 {
                return self.claim(task).await;
            }
        }
        Ok(())
    }

    /// The answer of a route, or none when it refuses, which is not a failure of Forge.
    async fn answer(&self, method: Method, path: &str, body: Option<Value>) -> Result<Option<Value>> {
        let (status, value) = self.server.answer(method, path, body).await?;
        ensure!(status < 500, "{path}: {status} {value:#}");
        Ok((status < 300).then_some(value))
    }

    async fn get(&self, task: usize) -> Result<Value> {
        let path = format!("/tasks/{}", self.tasks[task]);
        self.answer(Method::GET, &path, None).await?.with_context(|| format!("task {task} is gone"))
    }

    async fn act(&mut self, task: usize, path: &str, body: Value) -> Result<()> {
        let now = self.get(task).await?;
        let mut body = body;
        body["version"] = now["version"].clone();
        let route = format!("/tasks/{}/{path}", self.tasks[task]);
        let taken = self.answer(Method::POST, &route, Some(body.clone())).await?.is_some();
        self.log.push(format!("task {task} in {}: {path} {body}: {taken}", now["status"]));
        Ok(())
    }

    async fn claim(&mut self, task: usize) -> Result<()> {
        let who = if self.rng.next(3) == 0 { "user".to_owned() } else { self.agent.clone() };
        self.act(task, "claim", json!({ "agent_id": who })).await
    }

    async fn delete(&mut self, task: usize) -> Result<()> {
        // Only a task that is closed can be deleted.
        self.act(task, "actions/cancel?wait=none", json!({ "reason": "so" })).await?;
        let path = format!("/tasks/{}", self.tasks[task]);
        let is_deleted = self.answer(Method::DELETE, &path, None).await?.is_some();
        self.log.push(format!("task {task}: deleted: {is_deleted}"));
        if is_deleted {
            self.deleted.insert(task);
        }
        Ok(())
    }

    async fn take_an_action(&mut self, task: usize) -> Result<()> {
        let now = self.get(task).await?;
        let offers = now["offers"].as_array().cloned().unwrap_or_default();
        let Some(offer) = self.rng.pick(&offers) else { return Ok(()) };
        if offer["verb"] == "cancel" && self.rng.next(3) > 0 {
            return Ok(());
        }
        let path = format!("actions/{}?wait=none", offer["verb"].as_str().unwrap_or_default());
        self.act(task, &path, json!({ "reason": "so", "message": "so" })).await
    }

    async fn decide_review(&mut self, task: usize) -> Result<()> {
        let now = self.get(task).await?;
        let commit = now["review"]["reviewed_commit"].clone();
        match self.rng.next(4) {
            0 => self.act(task, "review/reject?wait=none", json!({ "reason": "so" })).await,
            1 => self.act(task, "review/approve?wait=none", json!({})).await,
            _ => self.act(task, "review/approve?wait=none", json!({ "commit": commit })).await,
        }
    }

    /// The worktree of a task, if it exists.
    async fn worktree(&self, task: usize) -> Result<Option<PathBuf>> {
        let now = self.get(task).await?;
        let path = now["workspace"]["path"].as_str().map(PathBuf::from);
        Ok(path.filter(|path| path.join("README.md").is_file() && !self.away))
    }

    async fn person_writes(&mut self, task: usize) -> Result<()> {
        let Some(worktree) = self.worktree(task).await? else { return Ok(()) };
        let name = self.text(task);
        if std::fs::write(worktree.join(&name), content(&name)).is_err() {
            // It went in this moment.
            return Ok(());
        }
        let how = match self.rng.next(4) {
            // An agent that stages all files replaces what the index alone has.
            3 if self.staged_by_agent.contains(&task) => 1,
            how => how,
        };
        // Git refuses where the agent's git, or Forge's, is at work, and where the agent broke it.
        let staged = how > 0 && git(&worktree, &["add", "--", &name]).is_ok();
        if how == 2 {
            let _ = git(&worktree, &["commit", "-qm", "by hand", "--", &name]);
        }
        if how == 3 {
            let other = self.text(task);
            // The first text is in the index alone from now on, and nowhere when git did not take it.
            if std::fs::write(worktree.join(&name), content(&other)).is_ok() {
                self.ledger.person_wrote(task, &other);
            }
            if staged {
                self.ledger.person_wrote(task, &name);
            }
        } else if worktree.join(&name).is_file() {
            self.ledger.person_wrote(task, &name);
        }
        self.log.push(format!("task {task}: a person writes {name} ({how})"));
        Ok(())
    }

    fn kill(&mut self) -> Result<()> {
        self.log.push("killed".into());
        self.server.kill()?;
        self.server = serve(self.dir.path())?;
        Ok(())
    }

    /// A person deletes the branch, or the worktree's folder, or both.
    async fn person_destroys(&mut self, task: usize) -> Result<()> {
        if self.away {
            return Ok(());
        }
        let reviews = format!("/tasks/{}/reviews", self.tasks[task]);
        let worktree = self.worktree(task).await?;
        let what = self.rng.next(3);
        if what > 0
            && let Some(worktree) = worktree
        {
            // Whoever works there may make files meanwhile.
            let _ = std::fs::remove_dir_all(worktree);
            self.has_destroyed = true;
        }
        if what < 2 {
            let name = format!("refs/heads/forge/{}", self.tasks[task]);
            let _ = self.repo.git(&["update-ref", "-d", &name]);
        }
        self.log.push(format!("task {task}: a person destroys {}", ["branch", "both", "worktree"][what]));
        let all = self.answer(Method::GET, &reviews, None).await?.unwrap_or_default();
        let mut kept = BTreeSet::new();
        for commit in all["items"].as_array().into_iter().flatten() {
            if let Some(commit) = commit["reviewed_commit"].as_str() {
                kept.extend(self.tree(commit)?.into_iter().map(|(_, blob)| blob));
            }
        }
        let held = self.ledger.look_without_indexes(self.repo.path(), &self.folders())?;
        self.ledger.give_up(task, &held, &kept)
    }

    fn elsewhere(&self) -> PathBuf {
        self.dir.path().join("away")
    }

    async fn move_away(&mut self) -> Result<()> {
        self.log.push("the repository is moved away".into());
        std::fs::rename(self.repo.path(), self.elsewhere())?;
        self.away = true;
        // A git that the move caught in the middle of its work may make its folders and files anew.
        let end = tokio::time::Instant::now() + Duration::from_secs(20);
        while is_git_at_work(self.dir.path()) {
            ensure!(tokio::time::Instant::now() < end, "a git does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        match std::fs::remove_dir_all(self.repo.path()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn bring_back(&mut self) -> Result<()> {
        self.log.push("the repository is moved back".into());
        ensure!(!self.repo.path().exists(), "Forge wrote where the moved repository was");
        std::fs::rename(self.elsewhere(), self.repo.path())?;
        self.away = false;
        Ok(())
    }

    /// The files of a commit with their blobs, without submodules.
    fn tree(&self, commit: &str) -> Result<BTreeSet<(String, String)>> {
        let listed = self.repo.git(&["ls-tree", "-r", commit])?;
        let entry = |line: &str| {
            let (facts, path) = line.split_once('\t')?;
            let mut facts = facts.split(' ').skip(1);
            (facts.next()? == "blob").then_some((path.to_owned(), facts.next()?.to_owned()))
        };
        Ok(listed.lines().filter_map(entry).collect())
    }

    /// Tasks that Forge itself finished, each with its reviewed commit, if it has one.
    async fn finished_tasks(&self) -> Result<Vec<FinishedTask>> {
        let mut finished = Vec::new();
        for task in 0..self.tasks.len() {
            let path = format!("/tasks/{}", self.tasks[task]);
            let Some(now) = self.answer(Method::GET, &path, None).await? else { continue };
            let moves = self.answer(Method::GET, &format!("{path}/transitions"), None).await?;
            let moves = moves.unwrap_or_default();
            let last = moves["items"].as_array().and_then(|items| items.last());
            let by_person =
                |row: &Value| row["actor"].as_str().is_some_and(|actor| actor.starts_with("user"));
            let by_forge = last.is_some_and(|last| last["to"] == "done" && !by_person(last));
            if now["status"] != "done" || !by_forge {
                continue;
            }
            let reviews = self.answer(Method::GET, &format!("{path}/reviews"), None).await?;
            let reviews = reviews.unwrap_or_default();
            let passed = reviews["items"]
                .as_array()
                .and_then(|all| all.iter().rev().find(|review| review["status"] == "passed").cloned());
            let commit = passed.and_then(|review| review["reviewed_commit"].as_str().map(str::to_owned));
            ensure!(
                commit.is_some() || now["workspace"].is_null(),
                "task {task} is done without a reviewed commit: {now:#}\nmoves: {moves:#}"
            );
            let merges = self.answer(Method::GET, &format!("{path}/merges"), None).await?.unwrap_or_default();
            finished.push((task, commit, format!("{moves:#}\n{reviews:#}\n{merges:#}")));
        }
        Ok(finished)
    }

    fn done_means_merged(&self, finished: &[FinishedTask]) -> Result<()> {
        // What was there before, a person's hand may have taken: a worktree is captured while its folder is deleted. So
        // may what another task had landed before that worktree began.
        let before = self.tree(&self.start)?;
        let mut targets = vec!["main".to_owned()];
        if self.has_destroyed {
            let earlier = self.repo.git(&["rev-list", "--first-parent", &format!("{}..main", self.start)])?;
            targets.extend(earlier.lines().map(str::to_owned));
        }
        let trees = targets.iter().map(|commit| self.tree(commit)).collect::<Result<Vec<_>>>()?;
        for (task, commit, told) in finished {
            let Some(commit) = commit else { continue };
            let work = self.tree(commit)?;
            let is_in_target = |file: &&(String, String)| trees.iter().any(|tree| tree.contains(*file));
            let missing: Vec<_> = work.difference(&before).filter(|file| !is_in_target(file)).collect();
            let history = self.repo.git(&["log", "--format=%h %p %s", "main", commit])?;
            ensure!(
                missing.is_empty(),
                "task {task} is done, and main lacks {missing:?} of {commit}\n{told}\n{history}"
            );
        }
        Ok(())
    }
}

/// Whether a git process works on a folder, by its arguments or its working directory.
fn is_git_at_work(folder: &Path) -> bool {
    let folder = folder.as_os_str().as_encoded_bytes();
    let names = |bytes: &[u8]| bytes.windows(folder.len()).any(|part| part == folder);
    std::fs::read_dir("/proc").into_iter().flatten().flatten().any(|process| {
        let process = process.path();
        let told = |file: &str| std::fs::read(process.join(file)).is_ok_and(|text| names(&text));
        let stands = || {
            let cwd = std::fs::read_link(process.join("cwd"));
            cwd.is_ok_and(|cwd| names(cwd.as_os_str().as_encoded_bytes()))
        };
        let is_git = std::fs::read_to_string(process.join("comm")).is_ok_and(|name| name.starts_with("git"));
        is_git && (told("cmdline") || told("environ") || stands())
    })
}
