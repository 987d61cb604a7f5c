//! A running `forge serve` and a client of it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use forge_testkit::{HERMETIC_GIT, program};
use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use serde_json::{Value, json};

/// How long a test waits for something that is bound to happen.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A `forge serve` process on a data folder, and its address.
pub struct Served {
    child: Child,
    /// Where it is reached.
    pub url: String,
    token: String,
    client: reqwest::Client,
}

/// How to start one.
pub struct Serve<'a> {
    /// The program: `forge`, or the one that can be ended at a boundary.
    pub program: &'a str,
    /// Its data folder.
    pub data: PathBuf,
    /// Environment on top of the hermetic one.
    pub env: Vec<(String, String)>,
}

impl Serve<'_> {
    /// Starts it and waits until it says where it is.
    ///
    /// # Errors
    /// When it ends before that.
    pub fn start(self) -> Result<Served> {
        let command = Command::new(program(self.program)?);
        self.start_by(command)
    }

    /// Starts it on a disk of its own of so many bytes, mounted where its data folder is, and seen by it alone.
    ///
    /// # Errors
    /// When the system mounts none, or the program ends before it says where it is.
    pub fn start_on_small_disk(self, bytes: u64) -> Result<Served> {
        self.start_mounted(&format!("mount -t tmpfs -o size={bytes} none \"$0\""))
    }

    /// Starts it on a disk of so many bytes that holds what lies in a folder, and has no room for more.
    ///
    /// # Errors
    /// When the system mounts none, or the program ends before it says where it is.
    pub fn start_on_full_disk(self, bytes: u64, content: &Path) -> Result<Served> {
        let content = content.display();
        self.start_mounted(&format!(
            "mount -t tmpfs -o size={bytes} none \"$0\" && cp -a '{content}/.' \"$0\" \
             && {{ cat /dev/zero > \"$0/ballast\" 2>/dev/null || true; }}"
        ))
    }

    /// Starts it where nothing can be written to its data folder.
    ///
    /// # Errors
    /// When the system does not do that, or the program ends before it says where it is.
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
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no stdout")?).read_line(&mut line)?;
        if line.is_empty() {
            let status = child.wait()?;
            bail!("forge serve ended: {status}");
        }
        let said: Value = serde_json::from_str(&line)?;
        let url = said["url"].as_str().context("no url")?.to_owned();
        // Seen as the process sees it, which may have a disk of its own.
        let token = said["token_file"].as_str().context("no token file")?;
        let token = std::fs::read_to_string(format!("/proc/{}/root{token}", child.id()))?.trim().to_owned();
        Ok(Served { child, url, token, client: reqwest::Client::new() })
    }
}

impl Served {
    /// Calls a route below `/api/v1`; the error is what the server answered, or that it is gone.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn call(&self, method: reqwest::Method, path: &str, body: Option<Value>) -> Result<Value> {
        let (status, value) = self.answer(method, path, body).await?;
        ensure!((200..300).contains(&status), "{status}: {value}");
        Ok(value)
    }

    /// Whether the engine says that it can do its work, with the status of that answer.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn health(&self) -> Result<(u16, Value)> {
        let answer = self.client.get(format!("{}/healthz", self.url)).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// A path as this process sees it.
    #[must_use]
    pub fn path_of(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix("/").unwrap_or(path);
        PathBuf::from(format!("/proc/{}/root", self.pid())).join(inside)
    }

    /// Calls a route below `/api/v1`; the status with what it answers, also where it refuses.
    ///
    /// # Errors
    /// When the server is gone.
    pub async fn answer(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<(u16, Value)> {
        let mut request =
            self.client.request(method, format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token);
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
        self.call(reqwest::Method::GET, path, None).await
    }

    /// Posts to a route.
    ///
    /// # Errors
    /// When it is refused, or the server is gone.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        self.call(reqwest::Method::POST, path, Some(body)).await
    }

    /// Waits until a task is as wanted.
    ///
    /// # Errors
    /// When it does not become so, or the server is gone.
    pub async fn wait(&self, task: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let now = self.get(&format!("/tasks/{task}")).await?;
            if wanted(&now) {
                return Ok(now);
            }
            if tokio::time::Instant::now() > deadline {
                let history = self.get(&format!("/tasks/{task}/transitions")).await?;
                bail!("the task is not {what}: {now:#}\nhistory: {history:#}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has ended.
    ///
    /// # Errors
    /// When that cannot be known.
    pub fn is_gone(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Waits until the process has ended, as one does that is bound to be killed.
    ///
    /// # Errors
    /// When it lives on.
    pub async fn until_gone(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while !self.is_gone()? {
            ensure!(Instant::now() < end, "the process lives on: the boundary was never passed");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Asks it to end in good order, and waits until it has, or has had its time.
    pub fn end_in_order(&mut self) {
        let Ok(pid) = i32::try_from(self.pid()).map(Pid::from_raw) else { return };
        if !matches!(self.is_gone(), Ok(false)) || kill(pid, Signal::SIGTERM).is_err() {
            return;
        }
        let (gone, until_gone) = mpsc::channel();
        // Left to be waited for again: its exit is seen, not taken.
        let see = move || gone.send(waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT));
        std::thread::spawn(see);
        // Whoever lives on is killed when this goes.
        let _ = until_gone.recv_timeout(PATIENCE);
    }

    /// Ends it at once, as a power cut would, and waits for it.
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
        // A test that failed leaves nothing behind.
        let _ = self.kill();
    }
}

/// A shell agent for the scripted program.
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

/// Every process whose environment carries a mark of ours and a path below `dir`.
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

/// The identity of what the engine answered with.
///
/// # Errors
/// When it has none.
pub fn id(value: &Value) -> Result<String> {
    Ok(value["id"].as_str().with_context(|| format!("no id in {value}"))?.to_owned())
}
