//! The `forge` program in a sandbox: served, asked over HTTP, and called.

use std::{
    ffi::OsStr,
    io::{BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::{HERMETIC_GIT, Repository, program};
use forge_tests::client::HttpClient;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for something that is bound to happen.
pub const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A folder with a home, a repository and a data folder.
pub struct Sandbox {
    pub dir: TempDir,
    pub repo: Repository,
}

/// What a program did.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Its standard output as JSON, when it succeeded.
    pub fn json(&self) -> Result<Value> {
        ensure!(self.code == Some(0), "{self:?}");
        Ok(serde_json::from_str(&self.stdout)?)
    }
}

impl Sandbox {
    pub fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        std::fs::create_dir(dir.path().join("home"))?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        Ok(Self { dir, repo })
    }

    pub fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The program with nothing of the user's around it.
    pub fn command(&self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Result<Command> {
        let mut command = Command::new(program("forge")?);
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").context("no PATH")?)
            .env("HOME", self.dir.path().join("home"))
            .env("SHELL", "/bin/sh")
            .env("FORGE_DATA_DIR", self.data_dir())
            .envs(HERMETIC_GIT)
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Result<Ended> {
        let output = self.command(args)?.output()?;
        Ok(Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }

    /// `forge serve` on a free port.
    pub fn serve(&self) -> Result<Server> {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, more: &[&str]) -> Result<Server> {
        Self::served(self.command([&["serve", "--port", "0"], more].concat())?)
    }

    /// A `forge serve` as it is asked for.
    pub fn served(mut command: Command) -> Result<Server> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("no stdout")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let line: Value = serde_json::from_str(&line).with_context(|| format!("not JSON: {line}"))?;
        let url = line["url"].as_str().context("no url")?.to_owned();
        let token = match line["token_file"].as_str() {
            Some(file) => Some(std::fs::read_to_string(file)?),
            None => None,
        };
        let client = Client::builder().no_proxy().build()?;
        let api = HttpClient::new(client.clone(), url.clone(), token.clone());
        Ok(Server { child, stdout, line, url, token, client, api })
    }
}

/// A running `forge serve`. Ended when it is dropped.
pub struct Server {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    /// What it said about itself.
    pub line: Value,
    pub url: String,
    pub token: Option<String>,
    pub client: Client,
    /// Its operations, by their types.
    pub api: HttpClient,
}

impl Drop for Server {
    fn drop(&mut self) {
        // In good order first, so that a test that fails leaves no agent behind. It may be gone already.
        if let Ok(pid) = i32::try_from(self.pid())
            && matches!(self.child.try_wait(), Ok(None))
            && kill(Pid::from_raw(pid), Signal::SIGTERM).is_ok()
        {
            let deadline = Instant::now() + PATIENCE;
            while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    pub fn pid(&self) -> u32 {
        self.child.id()
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

    pub async fn get(&self, path: &str) -> Result<Value> {
        good(self.request(Method::GET, path).send().await?).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        good(self.request(Method::POST, path).json(&body).send().await?).await
    }

    /// A project on the sandbox's repository, and an agent that does what its task's script says.
    pub async fn project(&self, sandbox: &Sandbox, settings: Value) -> Result<(String, String)> {
        let new = json!({ "repo_path": sandbox.repo.path(), "settings": settings });
        let project = self.post("/projects", new).await?;
        let config = json!({
            "command": program("forge")?,
            "args": ["scripted-agent", "--prompt-file", "{prompt_file}"],
        });
        let agent =
            self.post("/agents", json!({ "name": "Bot", "adapter": "shell", "config": config })).await?;
        Ok((text(&project, "id"), text(&agent, "id")))
    }

    pub async fn task(&self, project: &str, mut new: Value) -> Result<Value> {
        if new["title"].is_null() {
            new["title"] = "Do it".into();
        }
        self.post(&format!("/projects/{project}/tasks"), new).await
    }

    /// Reads a task again and again until it is as wanted.
    pub async fn until(&self, task: &Value, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.get(&format!("/tasks/{}", text(task, "id"))).await?;
            if wanted(&now) {
                return Ok(now);
            }
            if Instant::now() > deadline {
                bail!("the task never came to be as wanted: {now:#}");
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Asks it to end and waits; the rest of its standard output comes along.
    pub async fn terminate(&mut self) -> Result<(ExitStatus, String)> {
        kill(Pid::from_raw(i32::try_from(self.pid())?), Signal::SIGTERM)?;
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            ensure!(Instant::now() < deadline, "it does not end");
            tokio::time::sleep(LOOK_EVERY).await;
        };
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest)?;
        Ok((status, rest))
    }
}

/// The answer of a request that succeeded.
pub async fn good(response: Response) -> Result<Value> {
    let status = response.status();
    let body: Value = response.json().await?;
    ensure!(status.is_success(), "{status}: {body:#}");
    Ok(body)
}

/// Status and body of a refusal, which has the same id in its body and its head.
pub async fn refused(request: RequestBuilder) -> Result<(u16, Value)> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let id = response.headers().get("x-request-id").context("no request id")?.to_str()?.to_owned();
    let kind = response.headers().get("content-type").context("no content type")?.to_str()?.to_owned();
    ensure!(kind.starts_with("application/json"), "{kind}");
    let body: Value = response.json().await?;
    ensure!(body["request_id"] == id.as_str(), "{id}: {body}");
    ensure!(body["message"].is_string() && body["hints"].is_array(), "{body}");
    Ok((status, body))
}

pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A description whose script the agent follows.
pub fn script(lines: &[&str]) -> String {
    forge_testkit::script(lines)
}

/// A shell line that ends when the file is there.
pub fn until_exists(file: &Path) -> String {
    format!("until [ -e '{}' ]; do sleep 0.05; done", file.display())
}
