//! Terminals of tasks. They are for people: at the window always, over HTTP only with the setting.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_model::actor::{Actor, Via};
use forge_model::ids::{TaskId, TerminalId};
use forge_model::terminal::{Terminal, TerminalOutput};

use super::{Done, Page, TaskPath, input};
use crate::{Api, ApiError};

/// How long is waited for output, unless said otherwise.
const WAIT_MS: u32 = 20_000;
/// The longest wait.
const MOST_WAIT_MS: u32 = 30_000;

input! {
    /// A terminal to open.
    pub struct OpenTerminal {
        /// The task in whose worktree its shell runs.
        pub task_id: TaskId,
        /// Characters in a line, 1 to 1000; 80 when absent.
        #[serde(default)]
        pub columns: Option<u16>,
        /// Lines, 1 to 1000; 24 when absent.
        #[serde(default)]
        pub rows: Option<u16>,
    }

    /// Where to continue reading a terminal.
    pub struct ReadTerminal {
        /// The terminal.
        pub terminal_id: TerminalId,
        /// The offset to read from, `next` of the last answer; the beginning of what is kept when absent.
        #[serde(default)]
        #[specta(type = Option<u32>)]
        pub from: Option<u64>,
        /// `generation` of the last answer.
        #[serde(default)]
        pub generation: Option<String>,
        /// Milliseconds to wait for output if there is none yet, at most 30000; 20000 when absent.
        #[serde(default)]
        pub wait_ms: Option<u32>,
    }

    /// Something to type.
    pub struct TypeToTerminal {
        /// The terminal.
        pub terminal_id: TerminalId,
        /// The bytes, in Base64; at most 1 MiB.
        pub bytes: String,
    }

    /// Another size of a terminal.
    pub struct ResizeTerminal {
        /// The terminal.
        pub terminal_id: TerminalId,
        /// Characters in a line, 1 to 1000.
        pub columns: u16,
        /// Lines, 1 to 1000.
        pub rows: u16,
    }

    /// A terminal to close.
    pub struct CloseTerminal {
        /// The terminal.
        pub terminal_id: TerminalId,
        /// Whether to end a program that runs in it; refused with `terminal_busy` otherwise.
        #[serde(default)]
        pub end_program: Option<bool>,
    }
}

/// Refuses whoever asks over HTTP while terminals are not offered there.
async fn require_offered(api: &Api, actor: &Actor) -> Result<(), ApiError> {
    let is_at_window = *actor == Actor::from(Via::Board);
    if is_at_window || !actor.is_user() || api.engine().terminal_remote().await? {
        // Agents are refused by the engine itself.
        return Ok(());
    }
    let message = "terminals are not offered over HTTP";
    let mut refused = ApiError::new(403, "terminal_remote_off", message);
    refused.hints.push("Use the window, or allow it by `forge settings set terminal_remote 1`.".to_owned());
    Err(refused)
}

pub(crate) async fn list(api: Api, actor: Actor, path: TaskPath) -> Result<Page<Terminal>, ApiError> {
    require_offered(&api, &actor).await?;
    Ok(Page::whole(api.engine().terminals(&path.task_id).await?))
}

pub(crate) async fn open(api: Api, actor: Actor, open: OpenTerminal) -> Result<Terminal, ApiError> {
    require_offered(&api, &actor).await?;
    let size = (open.columns.unwrap_or(80), open.rows.unwrap_or(24));
    Ok(api.engine().open_terminal(&actor, &open.task_id, size).await?)
}

pub(crate) async fn read(api: Api, actor: Actor, read: ReadTerminal) -> Result<TerminalOutput, ApiError> {
    require_offered(&api, &actor).await?;
    let wait = read.wait_ms.unwrap_or(WAIT_MS);
    if wait > MOST_WAIT_MS {
        return Err(ApiError::invalid("wait_ms", &format!("must be at most {MOST_WAIT_MS}")));
    }
    let from = (read.generation.as_deref(), read.from.unwrap_or(0));
    let wait = Duration::from_millis(wait.into());
    Ok(api.engine().terminal_output(&actor, &read.terminal_id, from, wait).await?)
}

pub(crate) async fn write(api: Api, actor: Actor, typed: TypeToTerminal) -> Result<Done, ApiError> {
    require_offered(&api, &actor).await?;
    let bytes = STANDARD.decode(&typed.bytes);
    let bytes = bytes.map_err(|error| ApiError::invalid("bytes", &format!("must be Base64: {error}")))?;
    api.engine().type_to_terminal(&actor, &typed.terminal_id, bytes).await?;
    Ok(Done::yes())
}

pub(crate) async fn resize(api: Api, actor: Actor, size: ResizeTerminal) -> Result<Done, ApiError> {
    require_offered(&api, &actor).await?;
    api.engine().resize_terminal(&actor, &size.terminal_id, (size.columns, size.rows)).await?;
    Ok(Done::yes())
}

pub(crate) async fn close(api: Api, actor: Actor, close: CloseTerminal) -> Result<Done, ApiError> {
    require_offered(&api, &actor).await?;
    let ends_program = close.end_program.unwrap_or(false);
    api.engine().close_terminal(&actor, &close.terminal_id, ends_program).await?;
    Ok(Done::yes())
}
