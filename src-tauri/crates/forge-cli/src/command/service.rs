//! `forge service`: the engine as a service of systemd that belongs to the user and starts when they sign in.
//!
//! The service's agents are left to their keeper when it stops, as an upgrade needs it: `KillMode=process`.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_engine::data_folder;
use forge_exec::{Caps, Collected, Command, Exit, collect, find_program, variables_of};
use forge_server::MAX_SOCKET_PATH;
use serde_json::json;

use crate::{
    answer::Answer,
    args::Service,
    error::{CONFLICT, CliError},
    place,
};

/// The tool that speaks with the user's systemd.
const TOOL: &str = "systemctl";
/// How long it may take.
const WITHIN: Duration = Duration::from_secs(60);
const CAPS: Caps = Caps { stdout: 64 * 1024, stderr: 64 * 1024 };

/// Does what is asked of the service of a data folder.
pub(crate) async fn run(data_dir: PathBuf, asked: Service) -> Result<Answer, CliError> {
    let unit = Unit::of(data_dir)?;
    match asked {
        Service::Install { port } => unit.install(port).await,
        Service::Status => unit.status().await,
        Service::Remove => unit.remove().await,
    }
}

/// The unit of a data folder.
struct Unit {
    name: String,
    file: PathBuf,
    data_dir: PathBuf,
}

impl Unit {
    fn of(data_dir: PathBuf) -> Result<Self, CliError> {
        let folder = dirs::config_dir().ok_or_else(|| CliError::Usage {
            message: "this user has no folder for configuration".to_owned(),
            hint: "Set HOME.",
        })?;
        let usual = dirs::data_dir().map(|folder| folder.join("forge"));
        let name = if usual.as_ref() == Some(&data_dir) {
            "forge.service".to_owned()
        } else {
            format!("forge-{}.service", name_of(&data_dir))
        };
        Ok(Self { file: folder.join("systemd/user").join(&name), name, data_dir })
    }

    async fn install(&self, port: u16) -> Result<Answer, CliError> {
        let tool = tool()?;
        // Asked before anything is written.
        self.ask(&tool, &["show-environment"]).await?;
        let active = self.says(&tool, "is-active").await?;
        if active != "active"
            && let Some(holder) = data_folder::holder(&self.data_dir)
        {
            return Err(CliError::Conflict {
                message: format!("another Forge (process {}) uses {}", holder.pid, self.data_dir.display()),
                hint: "Stop it first: one engine works on a data folder.",
            });
        }
        let program = env::current_exe().map_err(CliError::io("find this program"))?;
        let text = self.text(&program, port)?;
        let written = || {
            fs::create_dir_all(self.file.parent().unwrap_or(Path::new("/")))?;
            fs::write(&self.file, &text)
        };
        written().map_err(CliError::io(format!("write {}", self.file.display())))?;
        self.ask(&tool, &["daemon-reload"]).await?;
        self.ask(&tool, &["enable", &self.name]).await?;
        // A service that runs takes the unit that was just written.
        self.ask(&tool, &["restart", &self.name]).await?;
        let text = format!(
            "Installed {} and started it.\nIt runs while you are signed in. To keep it running while you are signed out: `loginctl enable-linger`.",
            self.name
        );
        Ok(Answer::new(json!({ "unit": self.name, "file": self.file, "installed": true }), text))
    }

    async fn status(&self) -> Result<Answer, CliError> {
        let installed = self.file.exists();
        let tool = tool()?;
        let (enabled, active) = (self.says(&tool, "is-enabled").await?, self.says(&tool, "is-active").await?);
        let holder = data_folder::holder(&self.data_dir);
        let url = holder.as_ref().and_then(|holder| holder.url.clone());
        let lines = [
            format!("unit      {}", self.name),
            format!("file      {}{}", self.file.display(), if installed { "" } else { " (missing)" }),
            format!("enabled   {enabled}"),
            format!("active    {active}"),
            format!("engine    {}", url.as_deref().unwrap_or("not running")),
        ];
        let json = json!({
            "unit": self.name,
            "file": self.file,
            "installed": installed,
            "enabled": enabled == "enabled",
            "active": active == "active",
            "url": url,
            "pid": holder.map(|holder| holder.pid),
        });
        Ok(Answer { good: installed && active == "active", ..Answer::new(json, lines.join("\n")) })
    }

    async fn remove(&self) -> Result<Answer, CliError> {
        if !self.file.exists() {
            return Err(CliError::NotFound {
                message: format!("no service {} is installed", self.name),
                hint: "Install it with `forge service install`.",
            });
        }
        let tool = tool()?;
        self.ask(&tool, &["disable", "--now", &self.name]).await?;
        fs::remove_file(&self.file).map_err(CliError::io(format!("remove {}", self.file.display())))?;
        self.ask(&tool, &["daemon-reload"]).await?;
        let text = format!("Stopped {} and removed it. The data folder stays.", self.name);
        Ok(Answer::new(json!({ "unit": self.name, "file": self.file, "installed": false }), text))
    }

    /// The unit as systemd reads it.
    fn text(&self, program: &Path, port: u16) -> Result<String, CliError> {
        let word = |path: &Path| place::absolute(path).map(|path| quoted(&path));
        let socket = self.data_dir.join("engine.sock");
        let socket = if socket.as_os_str().len() <= MAX_SOCKET_PATH {
            format!(" --socket {}", word(&socket)?)
        } else {
            String::new()
        };
        Ok(format!(
            "[Unit]\nDescription=Forge: a board for work done by AI coding agents\n\n\
             [Service]\nType=exec\nExecStart={} serve --port {port} --data-dir {}{socket}\n\
             Restart=on-failure\nRestartPreventExitStatus={CONFLICT}\n\
             # Agents go on without the engine; the next one goes on with them.\nKillMode=process\nTimeoutStopSec=20\n\n\
             [Install]\nWantedBy=default.target\n",
            word(program)?,
            word(&self.data_dir)?,
        ))
    }

    /// Has systemd do something.
    async fn ask(&self, tool: &Path, words: &[&str]) -> Result<(), CliError> {
        let done = call(tool, words).await?;
        if done.exit == Exit::Code(0) {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&done.stderr);
        let said = errors.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gave no reason");
        let said = said.trim_end_matches('.');
        if said.contains("connect to bus") || said.contains("not been booted with systemd") {
            return Err(no_systemd(said));
        }
        Err(CliError::Tool {
            message: format!("Could not run `{TOOL} --user {}`: {said}", words.join(" ")),
            hint: "See the service's output with `journalctl --user`.",
        })
    }

    /// A question that is answered in a word.
    async fn says(&self, tool: &Path, question: &str) -> Result<String, CliError> {
        let done = call(tool, &[question, &self.name]).await?;
        let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        Ok(if said.is_empty() { "unknown".to_owned() } else { said })
    }
}

/// The tool, where there is one.
fn tool() -> Result<PathBuf, CliError> {
    let path = env::var("PATH").unwrap_or_default();
    find_program(TOOL, &path).ok_or_else(|| no_systemd(&format!("there is no program `{TOOL}`")))
}

fn no_systemd(said: &str) -> CliError {
    CliError::Tool {
        message: format!("Could not reach the user's systemd: {said}"),
        hint: "Without systemd, start the engine with `forge serve --background`.",
    }
}

async fn call(tool: &Path, words: &[&str]) -> Result<Collected, CliError> {
    let command = Command::tool(tool, "/").arg("--user").args(words);
    let command = command.base(variables_of(env::vars_os())).timeout(WITHIN);
    let failed = |error| CliError::io(format!("run {TOOL}"))(io::Error::other(error));
    collect(command, CAPS).await.map_err(failed)
}

/// What tells the service of a data folder from others: the folder's name, and a number made of its path.
fn name_of(data_dir: &Path) -> String {
    // FNV-1a: the same in every version of this program.
    let bytes = data_dir.as_os_str().as_encoded_bytes();
    let hash =
        bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    let name = data_dir.file_name().unwrap_or_default().to_string_lossy();
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
    if plain.is_empty() { format!("{hash:08x}") } else { format!("{plain}-{hash:08x}") }
}

/// A word as systemd reads it back, in a line that starts a program.
fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for char in word.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            // These begin a placeholder and a variable.
            '%' | '$' => quoted.extend([char, char]),
            '\n' => quoted.push_str("\\n"),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_unit_are_quoted_for_systemd() {
        assert_eq!(quoted("/home/me/my data"), "\"/home/me/my data\"");
        assert_eq!(quoted(r#"/a"b\c%d$e"#), r#""/a\"b\\c%%d$$e""#);
    }

    #[test]
    fn data_folders_have_services_of_their_own() {
        let (one, other) = (name_of(Path::new("/a/data")), name_of(Path::new("/b/data")));
        assert!(one.starts_with("data-") && other.starts_with("data-") && one != other, "{one} {other}");
    }

    #[test]
    fn unit_leaves_agents_to_their_keeper_and_is_not_restarted_beside_another_engine() {
        let unit =
            Unit { name: "forge.service".to_owned(), file: "/u".into(), data_dir: "/home/me/d".into() };
        let text = unit.text(Path::new("/usr/bin/forge"), 4780).unwrap();
        assert!(text.contains(
            "ExecStart=\"/usr/bin/forge\" serve --port 4780 --data-dir \"/home/me/d\" --socket \"/home/me/d/engine.sock\"\n"
        ));
        assert!(
            text.contains("\nKillMode=process\n") && text.contains("\nRestartPreventExitStatus=4\n"),
            "{text}"
        );
    }
}
