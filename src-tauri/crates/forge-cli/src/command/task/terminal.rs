//! `forge task terminal`: terminals of a task, in this terminal.

use std::{
    cell::Cell,
    io::{self, IsTerminal as _, Read as _, Write as _},
    pin::pin,
    thread,
    time::Duration,
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
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

use super::find;
use crate::{
    answer::{Answer, say},
    args::{TaskRef, TerminalChoice},
    at::At,
    error::{CliError, Kind},
    shown::{NONE, printable, table},
};

/// The key that leaves a terminal, which goes on: `Ctrl+]`, as of other programs that show a terminal.
const DETACH: u8 = 0x1d;

/// This terminal answers what programs asked theirs long ago, when that is shown again: it is not typed.
const ANSWERS_WITHIN: Duration = Duration::from_millis(150);

/// Switches back what programs in the terminal may have switched here: the second screen, mouse, pasting and keys, the
/// cursor, wrapping and colours.
const USUAL: &[u8] = b"\x1b[?1047l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?7h\x1b[?25h\x1b[m";

/// Whoever leaves a terminal whose program reads nothing waits for no more than this.
const LAST_WITHIN: Duration = Duration::from_millis(500);

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
    let terminal = match choice.terminal {
        Some(name) => named(at, &task_id, &name).await?,
        None => latest_or_new(at, &task_id, choice.new).await?,
    };
    say(&format!("{}. Ctrl+] leaves it; it goes on.", printable(&terminal.title)));
    let left = attach(at, &terminal.id).await?;
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

async fn latest_or_new(at: &At, task_id: &TaskId, new: bool) -> Result<Terminal, CliError> {
    let open = of_task(at, task_id).await?.into_iter().rfind(|it| it.ended_at.is_none());
    match open.filter(|_| !new) {
        Some(terminal) => Ok(terminal),
        None => {
            let (columns, rows) = size();
            let open = OpenTerminal { task_id: task_id.clone(), columns: Some(columns), rows: Some(rows) };
            Ok(at.call(TerminalOpen, open).await?.value)
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
async fn attach(at: &At, id: &TerminalId) -> Result<Left, CliError> {
    let mut resized = signal(SignalKind::window_change()).map_err(CliError::io("listen for signals"))?;
    let _raw = Raw::enter().map_err(CliError::io("change the mode of this terminal"))?;
    let mut typed = keys();
    fit(at, id).await?;
    let is_live = Cell::new(false);
    let mut reader = Reader { at, id, place: None };
    let follow = async {
        // What was printed before, which may be followed by ever more.
        let mut read = reader.show(Some(0)).await?;
        let again = read.end;
        while !read.ended && read.next < again {
            read = reader.show(None).await?;
        }
        tokio::time::sleep(ANSWERS_WITHIN).await;
        is_live.set(true);
        while !read.ended {
            read = reader.show(None).await?;
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
        left = pass_on(&mut typed, &is_live, send) => left,
        failed = fit_again => failed,
    }
}

/// What a terminal printed, from the beginning of what is kept.
struct Reader<'a> {
    at: &'a At,
    id: &'a TerminalId,
    /// The generation and the offset to read on from.
    place: Option<(String, u64)>,
}

impl Reader<'_> {
    /// Shows the next that it printed.
    async fn show(&mut self, wait_ms: Option<u32>) -> Result<Read, CliError> {
        let (generation, from) = self.place.clone().unzip();
        let read = ReadTerminal { terminal_id: self.id.clone(), from, generation, wait_ms };
        let output = self.at.call(TerminalStream, read).await?.value;
        let bytes = STANDARD.decode(&output.bytes).map_err(io::Error::other);
        let bytes = bytes.map_err(CliError::io("read what the terminal printed"))?;
        let mut out = io::stdout().lock();
        out.write_all(&bytes).and_then(|()| out.flush()).map_err(CliError::io("write to this terminal"))?;
        self.place = Some((output.generation, u64::try_from(output.next).unwrap_or(0)));
        Ok(Read { next: output.next, end: output.end, ended: output.ended })
    }
}

/// Where reading is.
struct Read {
    next: i64,
    end: i64,
    /// The terminal has ended, and all is shown.
    ended: bool,
}

/// Sends what is typed here, until the key that leaves the terminal. That is looked at always: while what the terminal
/// printed before is shown, when nothing else is sent, and while a program reads nothing.
async fn pass_on(
    typed: &mut mpsc::Receiver<Vec<u8>>,
    is_live: &Cell<bool>,
    send: impl AsyncFn(Vec<u8>) -> Result<(), CliError>,
) -> Result<Left, CliError> {
    let mut keys = Keys::default();
    loop {
        if keys.waiting.is_empty() {
            if keys.leaves {
                return Ok(Left::Detached);
            }
            keys.take(typed.recv().await, is_live.get());
            continue;
        }
        let mut sending = pin!(send(std::mem::take(&mut keys.waiting)));
        loop {
            tokio::select! {
                biased;
                sent = &mut sending => break sent?,
                more = typed.recv(), if !keys.leaves => keys.take(more, is_live.get()),
                () = tokio::time::sleep(LAST_WITHIN), if keys.leaves => return Ok(Left::Detached),
            }
        }
    }
}

/// What was typed and not sent yet.
#[derive(Default)]
struct Keys {
    waiting: Vec<u8>,
    /// The key was typed that leaves the terminal.
    leaves: bool,
}

impl Keys {
    /// Takes what is typed next; nothing when nothing more comes.
    fn take(&mut self, bytes: Option<Vec<u8>>, is_live: bool) {
        let Some(bytes) = bytes else {
            self.leaves = true;
            return;
        };
        let leaves = bytes.iter().position(|byte| *byte == DETACH);
        self.leaves = leaves.is_some();
        if is_live {
            self.waiting.extend_from_slice(bytes.get(..leaves.unwrap_or(bytes.len())).unwrap_or_default());
        }
    }
}

/// What is typed here. Read on a thread of its own, which ends with this program: a read cannot be given up.
fn keys() -> mpsc::Receiver<Vec<u8>> {
    let (sender, typed) = mpsc::channel(64);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = io::stdin().lock().read(&mut buffer) {
            if sender.blocking_send(buffer.get(..read).unwrap_or_default().to_vec()).is_err() {
                return;
            }
        }
    });
    typed
}

/// Gives the terminal the size of this one.
async fn fit(at: &At, id: &TerminalId) -> Result<(), CliError> {
    let (columns, rows) = size();
    at.call(TerminalResize, ResizeTerminal { terminal_id: id.clone(), columns, rows }).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is typed, and whoever may type more.
    async fn typed(pieces: &[&[u8]]) -> (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>) {
        let (sender, typed) = mpsc::channel(8);
        for piece in pieces {
            sender.send(piece.to_vec()).await.unwrap();
        }
        (sender, typed)
    }

    #[tokio::test]
    async fn terminal_is_left_while_its_program_reads_nothing() {
        let (_more, mut typed) = typed(&[b"a", b"b\x1dc"]).await;
        let send = async |_: Vec<u8>| std::future::pending::<Result<(), CliError>>().await;
        let left = pass_on(&mut typed, &Cell::new(true), send).await;
        assert_eq!(left.unwrap(), Left::Detached);
    }

    #[tokio::test]
    async fn only_the_key_that_leaves_is_looked_at_while_what_was_printed_before_is_shown() {
        let (_more, mut typed) = typed(&[b"\x1b[?1;2c", b"x\x1d"]).await;
        let send = async |_: Vec<u8>| -> Result<(), CliError> { panic!("it is typed") };
        let left = pass_on(&mut typed, &Cell::new(false), send).await;
        assert_eq!(left.unwrap(), Left::Detached);
    }

    #[tokio::test]
    async fn what_is_typed_before_the_key_that_leaves_is_sent() {
        let (_more, mut typed) = typed(&[b"ls\n\x1d"]).await;
        let sent = std::cell::RefCell::new(Vec::new());
        let send = async |bytes: Vec<u8>| -> Result<(), CliError> {
            sent.borrow_mut().extend(bytes);
            Ok(())
        };
        assert_eq!(pass_on(&mut typed, &Cell::new(true), send).await.unwrap(), Left::Detached);
        assert_eq!(sent.into_inner(), b"ls\n");
    }
}
