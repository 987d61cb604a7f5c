//! A full, read-only or failing disk during work: commands report it, no effect is lost or repeated, and work
//! continues once there is room.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use forge_engine::Observer;
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served, scripted_agent};
use forge_testkit::{Repository, Sandbox};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// The size of the small disk.
const DISK_BYTES: u64 = 96 * 1024 * 1024;
/// How long to wait for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Bytes that the agent prints while the disk is full: more than is buffered in memory.
const PRINTED: u64 = 24 * 1024 * 1024;

/// A task whose agent waits for a file, prints much output, and changes a file.
struct DiskFixture {
    dir: TempDir,
    repo: Repository,
    project: String,
    task: String,
}

impl DiskFixture {
    fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Self { dir, repo, project: String::new(), task: String::new() })
    }

    fn serve(&self) -> Serve<'static> {
        let worktrees = self.dir.path().join("worktrees");
        let env = vec![("FORGE_WORKSPACE_ROOT".to_owned(), worktrees.to_string_lossy().into_owned())];
        Serve { program: "forge-faulty", data: self.data(), env }
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn signal(&self) -> PathBuf {
        self.dir.path().join("go")
    }

    /// Creates the project and the task, and waits until the agent runs.
    async fn begin(&mut self, server: &Served, printed: u64) -> Result<()> {
        let agent = id(&server.post("/agents", scripted_agent("scripted")?).await?)?;
        let project = json!({
            "name": "sample", "repo_path": self.repo.path(),
            "settings": { "shell": ["sh", "-c"], "review_config": { "ci_steps": ["test -f feature.txt"] } },
        });
        self.project = id(&server.post("/projects", project).await?)?;
        let script = format!(
            "```forge-script\nrun touch {0}.began\nwait-for {0}\nflood {printed}\nedit feature.txt <<< \"done\\n\"\n```",
            self.signal().display()
        );
        let task = json!({ "title": "Feature", "description": script, "roles": { "coder": agent } });
        let task = server.post(&format!("/projects/{}/tasks", self.project), task).await?;
        self.task = id(&task)?;
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        server.post(&format!("/tasks/{}/claim", self.task), claim).await?;
        let began = self.signal().with_extension("began");
        until("the agent works", async || Ok(began.exists())).await
    }

    /// Waits until the task is done without help, and checks that its work landed once and whole.
    async fn ends_well(&self, server: &Served) -> Result<()> {
        let waits = |task: &Value| task["review"]["status"] == "awaiting_human" && task["status"] == "review";
        let now =
            server.wait(&self.task, "reviewed", |task| waits(task) || task["status"] == "blocked").await?;
        ensure!(waits(&now), "it ended otherwise: {now:#}");
        let runs = server.get(&format!("/tasks/{}/executions", self.task)).await?;
        let runs = runs["items"].as_array().context("no runs")?;
        ensure!(runs.len() == 1, "the agent ran {} times", runs.len());
        ensure!(runs[0]["status"] == "finished", "its run: {:#}", runs[0]);
        server
            .post(&format!("/tasks/{}/review/approve?wait=none", self.task), json!({ "reason": "good" }))
            .await?;
        server.wait(&self.task, "done", |task| task["status"] == "done").await?;
        ensure!(self.repo.show("main", "feature.txt").as_deref() == Some("done"), "the work is not on main");
        let moves = server.get(&format!("/tasks/{}/transitions", self.task)).await?;
        let moves = moves["items"].as_array().context("no moves")?;
        for state in ["in_progress", "review", "merging", "done"] {
            let count = moves.iter().filter(|one| one["to"] == state).count();
            ensure!(count == 1, "it entered {state} {count} times: {moves:#?}");
        }
        Ok(())
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> Result<bool>) -> Result<()> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds().await? {
        ensure!(tokio::time::Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

/// Fills the disk.
fn fill(path: &Path) -> Result<()> {
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
    let mut piece = 64 * 1024;
    while piece > 0 {
        if file.write_all(&vec![0; piece]).is_err() {
            piece /= 2;
        }
    }
    Ok(())
}

/// Creates tasks until one is refused, and returns the refusal.
async fn refusal(server: &Served, project: &str) -> Result<Value> {
    for _ in 0..2000 {
        let task = json!({ "title": "One more", "description": "x".repeat(20_000) });
        let (status, answer) =
            server.answer(Method::POST, &format!("/projects/{project}/tasks"), Some(task)).await?;
        if status >= 500 {
            return Ok(json!({ "status": status, "code": answer["code"], "hints": answer["hints"] }));
        }
    }
    anyhow::bail!("every task was made")
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_is_reported_and_work_continues_once_there_is_room() -> Result<()> {
    let mut work = DiskFixture::new()?;
    let server = work.serve().start_on_small_disk(DISK_BYTES)?;
    work.begin(&server, PRINTED).await?;
    let ballast = server.path_of(&work.data()).join("ballast");
    fill(&ballast)?;
    let refused = refusal(&server, &work.project).await?;
    ensure!(refused["status"] == 507 && refused["code"] == "storage_full", "{refused}");
    ensure!(refused["hints"][0].as_str().is_some_and(|hint| hint.contains("Free some space")), "{refused}");
    // What the refused write left of the log's file may hold a probe or two.
    until("the engine says that it cannot write", async || {
        let (status, health) = server.health().await?;
        Ok(status == 503 && health["status"] == "degraded" && health["storage"]["writable"] == false)
    })
    .await?;
    // The agent prints, and ends, while nothing can be written.
    std::fs::write(work.signal(), "")?;
    for _ in 0..3 {
        let task = server.get(&format!("/tasks/{}", work.task)).await?;
        ensure!(task["status"] == "in_progress", "a full disk moved the task: {task:#}");
        ensure!(task["error_annotation"].is_null(), "a full disk blocked the task: {task:#}");
        ensure!(server.health().await?.0 == 503);
    }
    std::fs::remove_file(&ballast)?;
    until("writes succeed", async || Ok(server.health().await?.0 == 200)).await?;
    work.ends_well(&server).await?;
    printed_in_full(&server, &work.task).await
}

/// Checks that every printed line is in the log.
async fn printed_in_full(server: &Served, task: &str) -> Result<()> {
    let runs = server.get(&format!("/tasks/{task}/executions")).await?;
    let run = id(&runs["items"][0])?;
    let log = server.get(&format!("/executions/{run}/logs?limit=200")).await?;
    let dropped = log["entries"].as_array().context("no entries")?;
    let dropped = dropped.iter().find(|entry| entry["body"]["code"] == "log_dropped");
    ensure!(dropped.is_none(), "entries are missing: {dropped:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_disk_is_reported_and_work_continues_automatically() -> Result<()> {
    let mut work = DiskFixture::new()?;
    std::fs::create_dir_all(work.data())?;
    let server = work.serve().start()?;
    work.begin(&server, 100_000).await?;
    limit_files(&server, "4096:unlimited")?;
    let refused = refusal(&server, &work.project).await?;
    ensure!(refused["status"] == 503 && refused["code"] == "storage_unavailable", "{refused}");
    std::fs::write(work.signal(), "")?;
    let (status, _) = server.health().await?;
    ensure!(status == 503, "the probe was written");
    let task = server.get(&format!("/tasks/{}", work.task)).await?;
    ensure!(task["status"] == "in_progress", "{task:#}");
    limit_files(&server, "unlimited:unlimited")?;
    until("writes succeed", async || Ok(server.health().await?.0 == 200)).await?;
    work.ends_well(&server).await
}

/// Limits the file size of the process, so that writes beyond it fail.
fn limit_files(server: &Served, limit: &str) -> Result<()> {
    let status = Command::new("prlimit")
        .args(["--pid", &server.pid().to_string(), &format!("--fsize={limit}")])
        .status()?;
    ensure!(status.success(), "prlimit: {status}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn read_only_disk_is_refused_at_start_and_harms_nothing() -> Result<()> {
    let work = DiskFixture::new()?;
    std::fs::create_dir_all(work.data())?;
    work.serve().start()?.end_in_order();
    ensure!(work.serve().start_on_read_only_disk().is_err(), "it started where it cannot write");
    let said = std::fs::read_to_string(work.data().with_extension("log"))?;
    ensure!(said.contains("Read-only file system"), "{said}");
    let server = work.serve().start()?;
    ensure!(server.health().await?.0 == 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn full_disk_at_start_is_refused_with_its_own_remedy_and_harms_nothing() -> Result<()> {
    let work = DiskFixture::new()?;
    std::fs::create_dir_all(work.data())?;
    let mut server = work.serve().start()?;
    // The first daily copy: one that was cut short leaves space that the next start may use.
    until("the database is copied", async || {
        let copies = server.get("/backups").await?;
        Ok(copies["items"].as_array().is_some_and(|copies| !copies.is_empty()))
    })
    .await?;
    server.end_in_order();
    drop(server);
    let content = work.data().with_extension("content");
    std::fs::rename(work.data(), &content)?;
    ensure!(work.serve().start_on_full_disk(DISK_BYTES, &content).is_err(), "it started where nothing fits");
    let said = std::fs::read_to_string(work.data().with_extension("log"))?;
    ensure!(said.contains("Free some space on the disk of the data folder"), "{said}");
    ensure!(!said.contains("earlier states"), "an older state was offered: {said}");
    std::fs::remove_dir(work.data())?;
    std::fs::rename(&content, work.data())?;
    let server = work.serve().start()?;
    ensure!(server.health().await?.0 == 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_open_files_are_reported_and_work_continues_once_there_are_fewer() -> Result<()> {
    let work = DiskFixture::new()?;
    std::fs::create_dir_all(work.data())?;
    let server = work.serve().start()?;
    // Accepted now, when more can be: a client that pools its connections may open another one.
    let mut open = OpenConnection::to(&server).await?;
    open.request("GET", "").await?;
    let project = json!({ "name": "sample", "repo_path": work.repo.path() });
    limit_open_files(&server, "4:")?;
    let (status, refused) = open.request("POST", &project.to_string()).await?;
    ensure!(status == 503 && refused["code"] == "too_many_open_files", "{status}: {refused}");
    ensure!(refused["hints"][0].as_str().is_some_and(|hint| hint.contains("ulimit")), "{refused}");
    limit_open_files(&server, "1024:")?;
    server.post("/projects", project).await?;
    ensure!(server.health().await?.0 == 200);
    Ok(())
}

/// One connection to a server, for requests for its projects.
struct OpenConnection {
    stream: BufReader<TcpStream>,
    head: String,
}

impl OpenConnection {
    async fn to(server: &Served) -> Result<Self> {
        let host = server.url.strip_prefix("http://").context("no http")?;
        let token = server.token.as_deref().context("no token")?;
        let head = format!(
            "HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json"
        );
        Ok(Self { stream: BufReader::new(TcpStream::connect(host).await?), head })
    }

    /// The status and the body of the answer.
    async fn request(&mut self, method: &str, body: &str) -> Result<(u16, Value)> {
        let head = &self.head;
        let request =
            format!("{method} /api/v1/projects {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        self.stream.write_all(request.as_bytes()).await?;
        let (mut status, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            ensure!(self.stream.read_line(&mut line).await? > 0, "the server closed the connection");
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            } else if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().and_then(|code| code.parse().ok());
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse()?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status.context("no status")?, serde_json::from_slice(&body)?))
    }
}

/// Limits the number of open files of the process.
fn limit_open_files(server: &Served, limit: &str) -> Result<()> {
    let status = Command::new("prlimit")
        .args(["--pid", &server.pid().to_string(), &format!("--nofile={limit}")])
        .status()?;
    ensure!(status.success(), "prlimit: {status}");
    Ok(())
}

/// Fails one statement, then every `STRIDE`th after it.
struct FailingStatements {
    armed: AtomicBool,
    seen: AtomicU64,
    first: u64,
    every: u64,
    refused: AtomicU64,
}

impl Observer for FailingStatements {
    fn at(&self, _: &str) {}

    fn takes_statement(&self) -> bool {
        if !self.armed.load(Ordering::Acquire) {
            return true;
        }
        let at = self.seen.fetch_add(1, Ordering::AcqRel);
        let refused = at % self.every == self.first;
        if refused {
            self.refused.fetch_add(1, Ordering::AcqRel);
        }
        !refused
    }
}

/// The distance between failing statements: longer than the longest transaction.
const STRIDE: u64 = 211;
/// The distance between the first failing statements of two runs; 1 tries every statement.
const STEP: usize = 3;
/// The number of concurrent runs, which mostly wait for retries.
const AT_ONCE: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn failed_statement_anywhere_in_the_step_loop_loses_and_repeats_no_effect() -> Result<()> {
    let mut running = tokio::task::JoinSet::new();
    let mut failures = Vec::new();
    let mut refused = 0;
    let mut firsts = (0..STRIDE).step_by(STEP);
    loop {
        while running.len() < AT_ONCE {
            let Some(first) = firsts.next() else { break };
            running.spawn(async move {
                run_with_failing_statements(first)
                    .await
                    .with_context(|| format!("statement {first} of each {STRIDE} failed"))
            });
        }
        match running.join_next().await {
            None => break,
            Some(done) => match done? {
                Ok(count) => refused += count,
                Err(error) => failures.push(format!("{error:#}")),
            },
        }
    }
    println!("{refused} statements failed");
    ensure!(failures.is_empty(), "{} runs failed:\n{}", failures.len(), failures.join("\n\n"));
    ensure!(refused > STRIDE / STEP as u64, "only {refused} statements failed");
    Ok(())
}

/// Runs one task to done with failing statements, and returns how many failed.
async fn run_with_failing_statements(first: u64) -> Result<u64> {
    let faults = Arc::new(FailingStatements {
        armed: AtomicBool::new(false),
        seen: AtomicU64::new(0),
        first,
        every: STRIDE,
        refused: AtomicU64::new(0),
    });
    let observer = Arc::clone(&faults);
    let sandbox = Sandbox::with_config(
        json!({ "review_config": { "ci_steps": ["grep -q right feature.txt"] } }),
        |config| config.observer = Some(observer),
    )
    .await?;
    let lines = ["edit feature.txt <<< \"right\\n\""];
    let task = sandbox.task("Feature", &lines, json!({})).await?;
    faults.armed.store(true, Ordering::Release);
    let mut claimed = sandbox.claim(&task).await;
    for _ in 0..5 {
        if claimed.is_ok() {
            break;
        }
        // Refused as a whole: the same command can be given again.
        let now = sandbox.get(&task).await?;
        ensure!(now["status"] == "todo", "a refused command left something: {now:#}");
        claimed = sandbox.claim(&task).await;
    }
    claimed?;
    let over =
        |task: &Value| ["done", "blocked", "merge_failed"].iter().any(|state| task["status"] == *state);
    let waits = |task: &Value| task["review"]["status"] == "awaiting_human";
    let now = sandbox.wait(&task, "reviewed or over", |now| over(now) || waits(now)).await?;
    if waits(&now) {
        let approve = json!({ "task_id": task["id"], "reason": "good", "wait": "none" });
        for _ in 0..5 {
            if sandbox.call("review_approve", approve.clone()).await.is_ok() {
                break;
            }
        }
    }
    let end = sandbox.wait(&task, "over", over).await?;
    ensure!(end["status"] == "done", "it ended otherwise: {end:#}");
    ensure!(sandbox.repo.show("main", "feature.txt").as_deref() == Some("right"), "the work is not on main");
    let moves = sandbox.moves(&task).await?;
    for state in ["in_progress", "review", "merging", "done"] {
        let count = moves.iter().filter(|one| one.ends_with(&format!(">{state}"))).count();
        ensure!(count == 1, "it entered {state} {count} times: {moves:?}");
    }
    let runs = sandbox.call("task_executions", json!({ "task_id": task["id"] })).await?;
    ensure!(runs["items"].as_array().is_some_and(|runs| runs.len() == 1), "more than one run: {runs:#}");
    sandbox.api.engine().stop().await;
    Ok(faults.refused.load(Ordering::Acquire))
}
