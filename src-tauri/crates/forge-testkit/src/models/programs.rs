//! The real agent programs, in the versions of `tests/agents/programs`, each with a home of its own and a
//! [`ModelServer`] for its model.
//!
//! They are the native binaries, not the launchers in `node_modules/.bin`: a signal must reach the program
//! itself. Gemini's is a script, which `node` on the path runs. `cargo xtask test` installs them; a program that is not there is an error, never a reason to skip.
//! Of opencode only the binary for Linux on x64 is locked: its package for all systems names binaries that not
//! every registry has, and `npm ci` wants them all.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use super::{KEY, ModelServer};

const INSTALLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/agents/programs/node_modules");
/// A port where nobody listens: what would leave this machine ends there.
const NOWHERE: &str = "http://127.0.0.1:9";
const HERE: &str = "127.0.0.1,localhost";

/// A real agent program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProgram {
    /// `codex`, model `gpt-5.5`.
    Codex,
    /// `claude`, its own default model.
    Claude,
    /// `opencode`, model `fake/fake-model`.
    OpenCode,
    /// `gemini`, told its model by an argument.
    Gemini,
}

/// A program and what it must be started with.
#[derive(Debug, Clone)]
pub struct Seat {
    /// The native binary.
    pub program: PathBuf,
    /// Its whole environment: nothing of this process's belongs to it.
    pub environment: BTreeMap<String, String>,
}

impl Seat {
    /// The program in a folder, without arguments.
    #[must_use]
    pub fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(&self.environment).current_dir(folder);
        command
    }
}

impl AgentProgram {
    /// The binary that is installed for this machine.
    ///
    /// # Errors
    /// When it is not, saying how to install it.
    pub fn path(self) -> Result<PathBuf> {
        let os = if cfg!(target_os = "macos") { "darwin" } else { env::consts::OS };
        let cpu = match env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => bail!("the agent programs are not made for {other}"),
        };
        let triple = match os {
            "darwin" => format!("{}-apple-darwin", env::consts::ARCH),
            _ => format!("{}-unknown-linux-musl", env::consts::ARCH),
        };
        let below = match self {
            Self::Codex => format!("@openai/codex-{os}-{cpu}/vendor/{triple}/bin/codex"),
            Self::Claude => format!("@anthropic-ai/claude-code-{os}-{cpu}/claude"),
            Self::OpenCode => format!("opencode-{os}-{cpu}/bin/opencode"),
            Self::Gemini => "@google/gemini-cli/bundle/gemini.js".to_owned(),
        };
        let path = Path::new(INSTALLED).join(below);
        ensure!(
            path.is_file(),
            "{} is not installed: run `npm ci` in tests/agents/programs, as `cargo xtask test` does",
            path.display()
        );
        path.canonicalize().with_context(|| format!("failed to find {}", path.display()))
    }

    /// Gives the program a home in `folder`, and `server` as its model server. Reusing a folder keeps its sessions.
    ///
    /// Programs can write below `/tmp` from within their sandbox, so a test of forbidden writes needs a folder
    /// elsewhere. The path should be short, because sockets are created below it.
    ///
    /// # Errors
    /// When it is not installed, or its settings cannot be written.
    pub fn settle(self, folder: &Path, server: &ModelServer) -> Result<Seat> {
        let program = self.path()?;
        let text = |path: PathBuf| path.into_os_string().into_string().ok().context("the folder is not text");
        // Beside the home, not above it: codex refuses to work from a home in a folder for temporary files.
        let (home, temporary) = (folder.join("home"), folder.join("tmp"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&temporary)?;
        let mut environment: BTreeMap<String, String> = [
            ("LANG", "C.UTF-8"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("HTTP_PROXY", NOWHERE),
            ("HTTPS_PROXY", NOWHERE),
            ("NO_PROXY", HERE),
            ("http_proxy", NOWHERE),
            ("https_proxy", NOWHERE),
            ("no_proxy", HERE),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        environment.insert("HOME".to_owned(), text(home.clone())?);
        environment.insert("TMPDIR".to_owned(), text(temporary)?);
        environment.insert("PATH".to_owned(), env::var("PATH").context("there is no PATH")?);
        let own: Vec<(&str, String)> = match self {
            Self::Codex => {
                let settings = home.join(".codex");
                fs::create_dir_all(&settings)?;
                write_once(&settings.join("config.toml"), &codex_settings(server))?;
                vec![("CODEX_HOME", text(settings)?), ("FAKE_API_KEY", KEY.to_owned())]
            }
            Self::Claude => claude_environment(server),
            Self::OpenCode => {
                let settings = home.join(".config/opencode");
                fs::create_dir_all(&settings)?;
                write_once(&settings.join("opencode.json"), &opencode_settings(server))?;
                // It runs for seconds only: compiling its code further, or collecting its memory, takes longer than it saves.
                environment.insert("BUN_JSC_useFTLJIT".to_owned(), "0".to_owned());
                environment.insert("BUN_JSC_forceRAMSize".to_owned(), "34359738368".to_owned());
                let off = ["AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"];
                environment.extend(off.map(|it| (format!("OPENCODE_DISABLE_{it}"), "1".to_owned())));
                // Its catalogue of the world's models takes a second to read, and the tests' model is not in it.
                let catalogue = settings.join("models.json");
                write_once(&catalogue, "{}")?;
                vec![("OPENCODE_MODELS_PATH", text(catalogue)?)]
            }
            Self::Gemini => {
                let settings = home.join(".gemini");
                fs::create_dir_all(&settings)?;
                write_once(&settings.join("settings.json"), &gemini_settings())?;
                let yes = "true".to_owned();
                vec![
                    ("GEMINI_API_KEY", KEY.to_owned()),
                    ("GOOGLE_GEMINI_BASE_URL", server.address()),
                    // A process around the program's own would ignore signals.
                    ("GEMINI_CLI_NO_RELAUNCH", yes.clone()),
                    ("GEMINI_CLI_TRUST_WORKSPACE", yes),
                ]
            }
        };
        environment.extend(own.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(Seat { program, environment })
    }
}

/// A test may change the settings between two seats in one home.
fn write_once(path: &Path, text: &str) -> Result<()> {
    if !path.exists() {
        fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(())
}

/// `gpt-5.5` is the one model whose tools are plain calls. Without the last feature switched off a refused
/// connection is tried again for ever.
fn codex_settings(server: &ModelServer) -> String {
    format!(
        r#"model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[model_providers.scripted]
name = "Scripted"
base_url = "{}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 60000

[features]
plugins = false
unbounded_connection_retries = false

[analytics]
enabled = false
"#,
        server.address()
    )
}

fn claude_environment(server: &ModelServer) -> Vec<(&'static str, String)> {
    let mut environment = vec![
        ("ANTHROPIC_BASE_URL", server.address()),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
    ];
    let off = [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
    ];
    environment.extend(off.map(|name| (name, "1".to_owned())));
    environment
}

fn gemini_settings() -> String {
    json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
        "ide": { "enabled": false },
    })
    .to_string()
}

/// Prices are in dollars for a million tokens.
fn opencode_settings(server: &ModelServer) -> String {
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "enabled_providers": ["fake"],
        "model": "fake/fake-model",
        "provider": { "fake": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{}/v1", server.address()), "apiKey": KEY },
            "models": { "fake-model": {
                "limit": { "context": 200_000, "output": 8000 },
                "cost": { "input": 1, "output": 2, "cache_read": 0.1, "cache_write": 1.25 },
            } },
        } },
    })
    .to_string()
}
