//! A running `forge serve`, which is called as a [`Caller`].

use std::{
    io::{BufRead as _, BufReader, Read as _},
    ops::Deref,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc,
};

use anyhow::{Context as _, Result, bail};
use nix::{
    sys::{
        signal::{Signal, kill},
        wait::{Id, WaitPidFlag, waitid},
    },
    unistd::Pid,
};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::{
    HERMETIC_GIT,
    caller::{Caller, Http, PATIENCE},
    program,
};

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
    http: Http,
    caller: Caller,
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
        let path = self.data.with_extension("log");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&path)?;
        command.stdin(Stdio::null()).stderr(log);
        Served::start(command).with_context(|| {
            let said = std::fs::read_to_string(&path).unwrap_or_default();
            let last: Vec<&str> = said.lines().rev().take(20).collect();
            format!("it said last: {}", last.into_iter().rev().collect::<Vec<_>>().join("\n"))
        })
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
        let http = Http::new(url.clone(), token.clone())?;
        let caller = Caller::http(http.clone());
        Ok(Self { child, stdout, line, url, token, http, caller })
    }

    /// A request without a token, at the root.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.bare(method, path)
    }

    /// A request with the token, below `/api/v1`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, path)
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
        if matches!(self.is_gone(), Ok(false)) && kill(pid, Signal::SIGINT).is_ok() {
            // A process that lives on is killed when this is dropped.
            let _ = self.exit().recv_timeout(PATIENCE);
        }
    }

    /// Requests a shutdown as a service manager does, waits for it, and returns the exit status and the rest of
    /// standard output. Agents go on.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn terminate(&mut self) -> Result<(ExitStatus, String)> {
        self.ended_by(Signal::SIGTERM).await
    }

    /// The same as a person at a terminal does it. Agents end.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn interrupt(&mut self) -> Result<(ExitStatus, String)> {
        self.ended_by(Signal::SIGINT).await
    }

    async fn ended_by(&mut self, signal: Signal) -> Result<(ExitStatus, String)> {
        kill(Pid::from_raw(i32::try_from(self.pid())?), signal)?;
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

impl Deref for Served {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // In good order first, so that a test that fails leaves no agent behind.
        self.end_in_order();
        let _ = self.kill();
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

/// Every process whose environment has a marker of Forge and a path below `dir`, but for the login shell: every engine asks
/// it at its start, for no task.
///
/// # Errors
/// When /proc cannot be read.
pub fn marked_processes(dir: &Path) -> Result<Vec<String>> {
    let needle = dir.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        let is_of_a_task =
            environment.contains("FORGE_PROCESS=") && !environment.contains("FORGE_PROCESS=login-");
        if is_of_a_task && environment.contains(&needle) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&line).replace('\0', " "));
        }
    }
    Ok(found)
}
