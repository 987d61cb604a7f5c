//! `forge task terminal`: terminals of a task, in this terminal.

mod keys;
mod replay;
mod sequence;

use std::{
    cell::Cell,
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use forge_api::{
    operations::{TerminalClose, TerminalInput, TerminalList, TerminalOpen, TerminalResize, TerminalStream},
    ops::{
        TaskPath,
        terminals::{CloseTerminal, OpenTerminal, ReadTerminal, ResizeTerminal, TypeToTerminal},
    },
};
use forge_model::ids::{TaskId, TerminalId};
use forge_model::terminal::Terminal;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::json;
use terminal_size::{Height, Width, terminal_size};
use tokio::signal::unix::{SignalKind, signal};

use self::{
    keys::{Answers, pass_on},
    replay::Replay,
};
use super::find;
use crate::{
    answer::{Answer, say},
    args::{TaskRef, TerminalChoice},
    at::At,
    error::{CliError, Kind},
    shown::{NONE, printable, table},
};

/// Answers to what programs asked in the past arrive within this after it is shown: `ssh` may be on the way.
const LATE_WITHIN: Duration = Duration::from_secs(1);

/// Switches back what programs in the terminal may have switched here: the second screen, updates that are held back,
/// mouse, focus and reports of size and colours, pasting, keys (those of `modifyOtherKeys` and of kitty's protocol, too),
/// the region that scrolls, the character set, the cursor, wrapping and colours.
const USUAL: &[u8] = b"\x1b[?1047l\x1b[?2026l\
    \x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\
    \x1b[?2031l\x1b[?2048l\x1b[?2004l\x1b[?1l\x1b>\x1b[>4m\x1b[=0u\x1b[<9u\
    \x1b7\x1b[r\x1b8\x0f\x1b(B\x1b[?7h\x1b[?25h\x1b[m";

/// Clears the screen.
const CLEAR: &[u8] = b"\x1b[H\x1b[2J";

/// Lists terminals, closes one, or shows one here.
pub(super) async fn run(at: &At, task: &TaskRef, choice: TerminalChoice) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    if choice.list {
        return list(at, &task_id).await;
    }
    if let Some(name) = choice.close {
        let terminal = named(at, &task_id, &name).await?;
        let close = CloseTerminal { terminal_id: terminal.id, end_program: Some(choice.end_program) };
        let done = at.call(TerminalClose, close).await?;
        return Ok(Answer::new(done.json, format!("Closed {}.", printable(&terminal.title))));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CliError::Usage {
            message: "a terminal is shown only in a terminal".to_owned(),
            hint: "For scripts there are --list and --close, and `forge api terminal_open`.",
        });
    }
    let (terminal, is_new) = match choice.terminal {
        Some(name) => (named(at, &task_id, &name).await?, false),
        None => latest_or_new(at, &task_id, choice.new).await?,
    };
    say(&format!("{}. Ctrl+] leaves it; it goes on.", printable(&terminal.title)));
    let left = attach(at, &terminal.id, is_new).await?;
    let text = match left {
        Left::Detached => format!("\nLeft {}, which goes on.", printable(&terminal.title)),
        Left::Ended => format!("\n{} has ended.", printable(&terminal.title)),
    };
    Ok(Answer::new(json!({ "terminal": terminal, "ended": left == Left::Ended }), text))
}

async fn of_task(at: &At, task_id: &TaskId) -> Result<Vec<Terminal>, CliError> {
    Ok(at.call(TerminalList, TaskPath { task_id: task_id.clone() }).await?.value.items)
}

async fn list(at: &At, task_id: &TaskId) -> Result<Answer, CliError> {
    let page = at.call(TerminalList, TaskPath { task_id: task_id.clone() }).await?;
    let rows: Vec<Vec<String>> = page
        .items
        .iter()
        .map(|it| {
            let state = it.reason.as_deref().map_or_else(|| "open".to_owned(), printable);
            vec![it.title.clone(), state, it.id.to_string()]
        })
        .collect();
    let text = if rows.is_empty() { NONE.to_owned() } else { table(&["TERMINAL", "STATE", "ID"], &rows) };
    Ok(Answer::new(page.json, text))
}

/// The terminal of a name, a number or an id.
async fn named(at: &At, task_id: &TaskId, name: &str) -> Result<Terminal, CliError> {
    let numbered = format!("Terminal {name}");
    let is_meant = |it: &Terminal| it.title == name || it.title == numbered || it.id.as_str() == name;
    of_task(at, task_id).await?.into_iter().find(is_meant).ok_or_else(|| CliError::Told {
        kind: Kind::NotFound,
        message: format!("the task has no terminal `{name}`"),
        hint: "List its terminals with --list.".to_owned(),
    })
}

/// The latest terminal that is open, or one that is opened, and whether it was opened.
async fn latest_or_new(at: &At, task_id: &TaskId, new: bool) -> Result<(Terminal, bool), CliError> {
    let open = of_task(at, task_id).await?.into_iter().rfind(|it| it.ended_at.is_none());
    match open.filter(|_| !new) {
        Some(terminal) => Ok((terminal, false)),
        None => {
            let (columns, rows) = size();
            let open = OpenTerminal { task_id: task_id.clone(), columns: Some(columns), rows: Some(rows) };
            Ok((at.call(TerminalOpen, open).await?.value, true))
        }
    }
}

fn size() -> (u16, u16) {
    terminal_size().map_or((80, 24), |(Width(columns), Height(rows))| (columns, rows))
}

/// Why a terminal is no longer shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Detached,
    Ended,
}

/// This terminal passes every key on, until this is dropped.
struct Raw(Termios);

impl Raw {
    fn enter() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(USUAL).and_then(|()| out.flush());
        // There is nobody left to tell.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Shows a terminal here until the person leaves it, or it ends.
async fn attach(at: &At, id: &TerminalId, is_new: bool) -> Result<Left, CliError> {
    let mut resized = signal(SignalKind::window_change()).map_err(CliError::io("listen for signals"))?;
    let _raw = Raw::enter().map_err(CliError::io("change the mode of this terminal"))?;
    let mut typed = keys::typed();
    fit(at, id).await?;
    // A shell that was opened just now waits for the answers to what it asks first.
    let answers = Cell::new(if is_new { Answers::Sent } else { Answers::Dropped });
    let mut reader = Reader { at, id, place: None, replay: Replay::new(is_new), answers: &answers };
    let follow = async {
        // The first answer says at once where reading is.
        let mut wait_ms = Some(0);
        while !reader.show(wait_ms).await? {
            wait_ms = None;
        }
        Ok(Left::Ended)
    };
    let fit_again = async {
        while resized.recv().await.is_some() {
            fit(at, id).await?;
        }
        std::future::pending().await
    };
    let send = async |bytes: Vec<u8>| {
        let typed = TypeToTerminal { terminal_id: id.clone(), bytes: STANDARD.encode(bytes) };
        at.call(TerminalInput, typed).await.map(drop)
    };
    tokio::select! {
        left = follow => left,
        left = pass_on(&mut typed, &answers, send) => left,
        failed = fit_again => failed,
    }
}

/// What a terminal printed, from the beginning of what is kept.
struct Reader<'a> {
    at: &'a At,
    id: &'a TerminalId,
    /// The generation and the offset to read on from.
    place: Option<(String, u64)>,
    replay: Replay,
    answers: &'a Cell<Answers>,
}

impl Reader<'_> {
    /// Shows the next that it printed. Tells whether the terminal has ended, and all is shown.
    async fn show(&mut self, wait_ms: Option<u32>) -> Result<bool, CliError> {
        let (generation, from) = self.place.clone().unzip();
        let read = ReadTerminal { terminal_id: self.id.clone(), from, generation, wait_ms };
        let output = self.at.call(TerminalStream, read).await?.value;
        let bytes = STANDARD.decode(&output.bytes).map_err(io::Error::other);
        let mut bytes = bytes.map_err(CliError::io("read what the terminal printed"))?;
        if self.replay.begins(&output.generation, output.end) {
            self.answers.set(Answers::Dropped);
            if self.place.is_some() && !bytes.is_empty() {
                // Another engine tells everything again.
                bytes = [USUAL, CLEAR, bytes.as_slice()].concat();
            }
        }
        let mut out = io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush()).map_err(CliError::io("write to this terminal"))?;
        if self.replay.ends(output.next) {
            self.answers.set(Answers::LateUntil(Instant::now() + LATE_WITHIN));
        }
        self.place = Some((output.generation, u64::try_from(output.next).unwrap_or(0)));
        Ok(output.ended)
    }
}

/// Gives the terminal the size of this one.
async fn fit(at: &At, id: &TerminalId) -> Result<(), CliError> {
    let (columns, rows) = size();
    at.call(TerminalResize, ResizeTerminal { terminal_id: id.clone(), columns, rows }).await?;
    Ok(())
}
