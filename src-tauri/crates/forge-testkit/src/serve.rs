//! A running `forge serve` and a client of it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc,
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};
use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::{HERMETIC_GIT, Repository, client::HttpClient, program};

/// How long a test waits for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The interval of polling for changes without an event.
const UNTOLD: Duration = Duration::from_millis(200);
/// The interval between attempts to reach an engine that does not answer.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A `forge serve` process on a data folder, and its address. Dropping it shuts it down in order.
pub struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// The line that it printed at its start.
    pub line: Value,
    /// Its URL.
    pub url: String,
    /// The token of requests, unless it was started without one.
    pub token: Option<String>,
    /// The HTTP client.
    pub client: reqwest::Client,
    /// The typed client of its operations.
    pub api: HttpClient,
}

/// The options of a server.
pub struct Serve<'a> {
    /// The program: `forge`, or the one with fault points.
    pub program: &'a str,
    /// Its data folder.
    pub data: PathBuf,
    /// Variables added to the hermetic environment.
    pub env: Vec<(String, String)>,
}

impl Serve<'_> {
    /// Starts the server and waits until it prints its address.
    ///
    /// # Errors
    /// When it ends before that.
    pub fn start(self) -> Result<Served> {
        let command = Command::new(program(self.program)?);
        self.start_by(command)
    }

    /// Starts the server on a small disk of its own, mounted at its data folder and visible to it only.
    ///
    /// # Errors
    /// When the mount fails, or the program ends before it prints its address.
    pub fn start_on_small_disk(self, bytes: u64) -> Result<Served> {
        self.start_mounted(&format!("mount -t tmpfs -o size={bytes} none \"$0\""))
    }

    /// Starts the server on a small disk that is filled by the content of a folder.
    ///
    /// # Errors
    /// When the mount fails, or the program ends before it prints its address.
    pub fn start_on_full_disk(self, bytes: u64, content: &Path) -> Result<Served> {
        let content = content.display();
        self.start_mounted(&format!(
            "mount -t tmpfs -o size={bytes} none \"$0\" && cp -a '{content}/.' \"$0\" \
             && {{ cat /dev/zero > \"$0/ballast\" 2>/dev/null || true; }}"
        ))
    }

    /// Starts the server with a read-only data folder.
    ///
    /// # Errors
    /// When the mount fails, or the program ends before it prints its address.
    pub fn start_on_read_only_disk(self) -> Result<Served> {
        self.start_mounted("mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\"")
    }

    fn start_mounted(self, mount: &str) -> Result<Served> {
        std::fs::create_dir_all(&self.data)?;
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        command.arg(format!("{mount} && exec \"$@\"")).arg(&self.data).arg(program(self.program)?);
        self.start_by(command)
    }

    fn start_by(self, mut command: Command) -> Result<Served> {
        command.args(["serve", "--port", "0", "--data-dir"]).arg(&self.data);
        command.envs(HERMETIC_GIT).envs(self.env).env("SHELL", "/bin/sh");
        // No profile of whoever runs the tests: a login shell reads it.
        command.env("HOME", self.data.parent().unwrap_or(&self.data));
        let log =
            std::fs::OpenOptions::new().create(true).append(true).open(self.data.with_extension("log"))?;
        command.stdin(Stdio::null()).stderr(log);
        Served::start(command)
    }
}

impl Served {
    /// Starts a `forge serve` command and waits until it prints its address.
    ///
    /// # Errors
    /// When it ends before that.
    pub fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut said = String::new();
        stdout.read_line(&mut said)?;
        if said.is_empty() {
            let status = child.wait()?;
            bail!("forge serve ended: {status}");
        }
        let line: Value = serde_json::from_str(&said).with_context(|| format!("not JSON: {said}"))?;
        let url = line["url"].as_str().context("no url")?.to_owned();
        let token = match line["token_file"].as_str() {
            // Seen as the process sees it, which may have a disk of its own.
            Some(file) => {
                Some(std::fs::read_to_string(format!("/proc/{}/root{file}", child.id()))?.trim().to_owned())
            }
            None => None,
        };
        let client = reqwest::Client::builder().no_proxy().build()?;
        let api = HttpClient::new(client.clone(), url.clone(), token.clone());
        Ok(Self { child, stdout, line, url, token, client, api })
    }

    /// A request without a token, at the root.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// A request with the token, below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.bare(method, &format!("/api/v1{path}"));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Calls a route below `/api/v1`; the error is the server's answer, or that the server is gone.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value> {
        let (status, value) = self.answer(method, path, body).await?;
        ensure!((200..300).contains(&status), "{status}: {value}");
        Ok(value)
    }

    /// The status and the body of the health check.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn health(&self) -> Result<(u16, Value)> {
        let answer = self.bare(Method::GET, "/healthz").send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// A path as the server sees it.
    #[must_use]
    pub fn path_of(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix("/").unwrap_or(path);
        PathBuf::from(format!("/proc/{}/root", self.pid())).join(inside)
    }

    /// Calls a route below `/api/v1` and returns status and body, also of a refusal.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn answer(&self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, Value)> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await?;
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok((status, body))
    }

    /// Reads a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn get(&self, path: &str) -> Result<Value> {
        self.call(Method::GET, path, None).await
    }

    /// Posts to a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.call(Method::POST, path, Some(body)).await
    }

    /// Waits until a task satisfies a condition.
    ///
    /// # Errors
    /// When the condition is not met, or the server is gone.
    pub async fn wait(&self, task: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let path = format!("/tasks/{task}");
        let found = self.watch(async || Ok(Some(self.get(&path).await?).filter(&wanted))).await?;
        match found {
            Some(task) => Ok(task),
            None => {
                let now = self.get(&path).await?;
                let history = self.get(&format!("{path}/transitions")).await?;
                bail!("the task is not {what}: {now:#}\nhistory: {history:#}")
            }
        }
    }

    /// Waits until a task, given as an answer, satisfies a condition.
    ///
    /// # Errors
    /// When the condition is not met, or the server is gone.
    pub async fn until(&self, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        self.wait(&id(task)?, "as wanted", wanted).await
    }

    /// Creates a project on a repository and a scripted agent, and returns their ids.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn project(&self, repo: &Repository, settings: Value) -> Result<(String, String)> {
        let project =
            self.post("/projects", json!({ "repo_path": repo.path(), "settings": settings })).await?;
        let args = ["scripted-agent", "--prompt-file", "{prompt_file}"];
        let config = json!({ "command": program("forge")?, "args": args });
        let agent =
            self.post("/agents", json!({ "name": "Bot", "adapter": "shell", "config": config })).await?;
        Ok((id(&project)?, id(&agent)?))
    }

    /// Creates a task of a project, with a default title.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn task(&self, project: &str, mut new: Value) -> Result<Value> {
        if new["title"].is_null() {
            new["title"] = "Do it".into();
        }
        self.post(&format!("/projects/{project}/tasks"), new).await
    }

    /// Polls now and after each event of the engine until `look` finds something; none after [`PATIENCE`].
    ///
    /// # Errors
    /// When `look` fails.
    pub async fn watch<T, Look, Found>(&self, mut look: Look) -> Result<Option<T>>
    where
        Look: FnMut() -> Found,
        Found: Future<Output = Result<Option<T>>>,
    {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut news = EventSignal { served: self, stream: None };
        loop {
            let found = look().await?;
            if found.is_some() || tokio::time::Instant::now() > deadline {
                return Ok(found);
            }
            news.next().await;
        }
    }

    /// The id of the process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has ended.
    ///
    /// # Errors
    /// When the state of the process cannot be read.
    pub fn is_gone(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// When it lives on.
    pub async fn until_gone(&mut self) -> Result<()> {
        let exit = self.exit();
        let gone = tokio::task::spawn_blocking(move || exit.recv_timeout(PATIENCE)).await?;
        gone.context("the process lives on: the fault point was never passed")
    }

    /// Requests a shutdown and waits for it within a limit.
    pub fn end_in_order(&mut self) {
        let Ok(pid) = i32::try_from(self.pid()).map(Pid::from_raw) else { return };
        if matches!(self.is_gone(), Ok(false)) && kill(pid, Signal::SIGTERM).is_ok() {
            // A process that lives on is killed when this is dropped.
            let _ = self.exit().recv_timeout(PATIENCE);
        }
    }

    /// Requests a shutdown, waits for it, and returns the exit status and the rest of standard output.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn terminate(&mut self) -> Result<(ExitStatus, String)> {
        kill(Pid::from_raw(i32::try_from(self.pid())?), Signal::SIGTERM)?;
        self.until_gone().await?;
        let status = self.child.wait()?;
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest)?;
        Ok((status, rest))
    }

    /// Reports the end of the process without reaping it.
    fn exit(&self) -> mpsc::Receiver<()> {
        let (gone, until_gone) = mpsc::channel();
        let id = i32::try_from(self.pid()).map(Pid::from_raw);
        std::thread::spawn(move || {
            let Ok(pid) = id else { return };
            // The call fails when the process has already been reaped.
            let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            // The receiver may have stopped waiting.
            let _ = gone.send(());
        });
        until_gone
    }

    /// Kills the process, as a power cut would, and waits for it.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn kill(&mut self) -> Result<()> {
        // It may have ended by itself just before; that is what is wanted.
        let _ = self.child.kill();
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // In good order first, so that a test that fails leaves no agent behind.
        self.end_in_order();
        let _ = self.kill();
    }
}

/// The events of an engine, as a signal of possible changes.
struct EventSignal<'a> {
    served: &'a Served,
    stream: Option<Response>,
}

impl EventSignal<'_> {
    /// Waits for the next event. The first call only opens the stream, so that earlier changes are seen.
    async fn next(&mut self) {
        let Some(stream) = &mut self.stream else {
            match self.served.request(Method::GET, "/events").send().await {
                Ok(stream) if stream.status().is_success() => self.stream = Some(stream),
                // An engine that is gone is told by the next look.
                Ok(_) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
            return;
        };
        // What an agent does in its worktree has no event; a look now and then sees it.
        match tokio::time::timeout(UNTOLD, stream.chunk()).await {
            Ok(Ok(Some(_))) | Err(_) => {}
            Ok(Ok(None) | Err(_)) => {
                self.stream = None;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// The profile of a shell agent with the scripted program.
///
/// # Errors
/// When the program is not built.
pub fn scripted_agent(name: &str) -> Result<Value> {
    let program = program("forge-scripted-agent")?;
    Ok(json!({
        "name": name, "adapter": "shell", "max_concurrent": 4,
        "config": { "command": program.to_string_lossy(), "args": ["--prompt-file", "{prompt_file}"] },
    }))
}

/// Every process whose environment has a marker of Forge and a path below `dir`.
///
/// # Errors
/// When /proc cannot be read.
pub fn marked_processes(dir: &Path) -> Result<Vec<String>> {
    let needle = dir.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        if environment.contains("FORGE_PROCESS=") && environment.contains(&needle) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    Ok(found)
}

/// The id of an answer.
///
/// # Errors
/// When the answer has none.
pub fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}
