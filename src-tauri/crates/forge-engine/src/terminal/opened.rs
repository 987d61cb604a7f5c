//! The terminals that this process follows.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use forge_exec::TerminalSize;
use forge_keeper::NoteSender;
use forge_model::ids::{TaskId, TerminalId};
use forge_model::terminal::Scrollback;
use forge_store::table::terminals::TerminalRow;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::{World, core::sync::locked};

/// How many pieces of input wait for a program that does not read.
const INPUT_QUEUE: usize = 64;

/// What this process keeps of terminals.
#[derive(Default)]
pub(super) struct Terminals {
    opened: Mutex<HashMap<TerminalId, Arc<Opened>>>,
}

/// Where a terminal is that is to be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing of it was started.
    New,
    /// The keeper has it.
    Kept,
    /// An earlier engine gave it to a keeper, which is gone.
    Lost,
}

/// One terminal that is followed, or that ended and was not closed.
#[derive(Debug)]
pub(super) struct Opened {
    pub task: TaskId,
    /// Names the count of offsets: those of another engine began elsewhere.
    pub generation: String,
    /// What is typed.
    pub input: mpsc::Sender<Vec<u8>>,
    /// Taken by whoever follows it.
    typed: Mutex<Option<mpsc::Receiver<Vec<u8>>>>,
    /// The end of its output.
    pub printed: Mutex<Scrollback>,
    /// How much that was in all, as it grows.
    pub length: watch::Sender<u64>,
    size: Mutex<Sized>,
    /// Fired when all is in [`Self::printed`] that was printed before this process followed it.
    pub live: CancellationToken,
    /// Ends its processes, once its end is written.
    pub stop: CancellationToken,
    /// Fired when nothing of it runs any more.
    pub over: CancellationToken,
    /// Fired when this process does not follow it any more although it may run.
    pub left: CancellationToken,
}

/// How large it is, and who is told when that changes.
#[derive(Debug)]
struct Sized {
    size: TerminalSize,
    sender: Option<NoteSender>,
}

impl Opened {
    fn new(world: &World, row: &TerminalRow) -> Self {
        let (input, typed) = mpsc::channel(INPUT_QUEUE);
        let size = TerminalSize { columns: row.size.0, rows: row.size.1 };
        Self {
            task: row.terminal.task_id.clone(),
            generation: world.new_id(),
            input,
            typed: Mutex::new(Some(typed)),
            printed: Mutex::default(),
            length: watch::Sender::new(0),
            size: Mutex::new(Sized { size, sender: None }),
            live: CancellationToken::new(),
            stop: CancellationToken::new(),
            over: CancellationToken::new(),
            left: CancellationToken::new(),
        }
    }

    /// What is typed, once.
    pub(super) fn typed(&self) -> Option<mpsc::Receiver<Vec<u8>>> {
        locked(&self.typed).take()
    }

    pub(super) fn size(&self) -> TerminalSize {
        locked(&self.size).size
    }

    pub(super) fn resize(&self, size: TerminalSize) {
        let mut sized = locked(&self.size);
        sized.size = size;
        if let Some(sender) = &sized.sender {
            sender.resize(size);
        }
    }

    /// It runs: from now on its program is told of sizes. One that was asked for before is told at once.
    pub(super) fn runs(&self, sender: NoteSender, opened_with: Option<TerminalSize>) {
        let mut sized = locked(&self.size);
        if opened_with.is_some_and(|size| size != sized.size) {
            sender.resize(sized.size);
        }
        sized.sender = Some(sender);
    }

    pub(super) fn print(&self, bytes: &[u8]) {
        let end = {
            let mut printed = locked(&self.printed);
            printed.push(bytes);
            printed.end()
        };
        self.length.send_replace(end);
    }
}

pub(super) fn terminals(world: &World) -> Arc<Terminals> {
    world.part::<Terminals>()
}

impl Terminals {
    /// Follows a terminal from now on; none when somebody does so already.
    pub(super) fn follow(&self, world: &World, row: &TerminalRow) -> Option<Arc<Opened>> {
        let mut opened = locked(&self.opened);
        if opened.contains_key(&row.terminal.id) {
            return None;
        }
        let one = Arc::new(Opened::new(world, row));
        opened.insert(row.terminal.id.clone(), Arc::clone(&one));
        Some(one)
    }

    pub(super) fn forget(&self, id: &TerminalId) {
        locked(&self.opened).remove(id);
    }

    pub(super) fn get(&self, id: &TerminalId) -> Option<Arc<Opened>> {
        locked(&self.opened).get(id).cloned()
    }

    /// Those of a task.
    pub(super) fn of_task(&self, task: &TaskId) -> Vec<Arc<Opened>> {
        locked(&self.opened).values().filter(|one| one.task == *task).map(Arc::clone).collect()
    }
}
