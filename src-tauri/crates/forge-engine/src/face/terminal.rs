//! Public methods of [`Engine`] for terminals.

use std::time::Duration;

use forge_model::actor::Actor;
use forge_model::ids::{TaskId, TerminalId};
use forge_model::terminal::{Terminal, TerminalOutput};

use crate::{
    Engine,
    error::Result,
    terminal::{command, remote},
};

impl Engine {
    /// Terminals of a task, oldest first, those that ended and were not closed among them.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn terminals(&self, task: &TaskId) -> Result<Vec<Terminal>> {
        command::of_task(&self.world, task).await
    }

    /// Opens a terminal in a task's worktree, with so many characters in a line and so many lines.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `Invalid` for a size; `WorkspaceMissing`; `TerminalElsewhere` when the
    /// worktree is on another machine; `TerminalsFull`.
    pub async fn open_terminal(&self, actor: &Actor, task: &TaskId, size: (u16, u16)) -> Result<Terminal> {
        command::open(&self.world, actor, task, size).await
    }

    /// Types to a terminal. Waits while the program in it reads nothing.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `Invalid` for too much; `TerminalAway`; `TerminalEnded`.
    pub async fn type_to_terminal(&self, actor: &Actor, id: &TerminalId, bytes: Vec<u8>) -> Result<()> {
        command::input(&self.world, actor, id, bytes).await
    }

    /// Gives a terminal another size.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `Invalid`; `TerminalAway`; `TerminalEnded`.
    pub async fn resize_terminal(&self, actor: &Actor, id: &TerminalId, size: (u16, u16)) -> Result<()> {
        command::resize(&self.world, actor, id, size).await
    }

    /// What a terminal printed from an offset of a generation on; waits so long for something where there is nothing yet.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `TerminalAway` while it cannot be reached.
    pub async fn terminal_output(
        &self,
        actor: &Actor,
        id: &TerminalId,
        from: (Option<&str>, u64),
        wait: Duration,
    ) -> Result<TerminalOutput> {
        command::output(&self.world, actor, id, from, wait).await
    }

    /// Closes a terminal; nothing of it runs when this returns.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `TerminalBusy` when a program runs in it that may not be ended.
    pub async fn close_terminal(&self, actor: &Actor, id: &TerminalId, ends_program: bool) -> Result<()> {
        command::close(&self.world, actor, id, ends_program).await
    }

    /// Whether terminals are offered over HTTP.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn terminal_remote(&self) -> Result<bool> {
        remote::is_remote(&self.world).await
    }

    /// Offers terminals over HTTP, or does so no more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_terminal_remote(&self, on: bool) -> Result<()> {
        remote::set_remote(&self.world, on).await
    }
}
