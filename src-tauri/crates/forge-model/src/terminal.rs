//! Terminals: shells in a task's worktree that a person types to. What became of one ([`Terminal`]), what it printed
//! ([`TerminalOutput`]), and what is kept of that ([`Scrollback`]).

mod scrollback;

use crate::{
    contract,
    ids::{ProjectId, TaskId, TerminalId},
    time::Timestamp,
};

pub use scrollback::{Printed, SCROLLBACK_BYTES, SCROLLBACK_LINES, Scrollback};

/// The most terminals that a task may have open.
pub const MOST_TERMINALS: usize = 8;
/// The most characters of a line, and lines, that a terminal may have.
pub const MOST_CELLS: u16 = 1000;
/// The most bytes that are typed at once.
pub const MOST_INPUT_BYTES: usize = 1024 * 1024;
/// The setting of Forge as a whole: whether terminals are offered over HTTP.
pub const REMOTE_KEY: &str = "terminal.remote";

/// What the names of their processes begin with.
const PROCESS_PREFIX: &str = "terminal-";

contract! {
    /// A shell in a task's worktree.
    #[derive(Eq)]
    pub struct Terminal {
        /// Its id.
        pub id: TerminalId,
        /// The task in whose worktree it runs.
        pub task_id: TaskId,
        /// The task's project.
        pub project_id: ProjectId,
        /// Its name.
        pub title: String,
        /// Who opened it.
        pub opened_by: String,
        /// When it was opened.
        pub opened_at: Timestamp,
        /// When it ended; null while it runs.
        pub ended_at: Option<Timestamp>,
        /// The exit code of its shell, if it exited with one.
        pub exit_code: Option<i32>,
        /// Why it ended, one sentence; null while it runs.
        pub reason: Option<String>,
    }

    /// Output of a terminal.
    #[derive(Eq)]
    pub struct TerminalOutput {
        /// Names the count that offsets belong to. Another one than before: what was read is to be forgotten, since
        /// everything that is kept is told again.
        pub generation: String,
        /// The offset of the first byte; later than the requested one if that is no longer kept.
        #[specta(type = u32)]
        pub from: i64,
        /// The bytes, in Base64; empty when none came in time.
        pub bytes: String,
        /// The offset after the last byte, from which to continue.
        #[specta(type = u32)]
        pub next: i64,
        /// The offset behind all that it had printed: where whoever begins to read finds that which was printed before, and
        /// which the programs in it were answered already, at its end.
        #[specta(type = u32)]
        pub end: i64,
        /// Whether it has ended, and this was all of its output.
        pub ended: bool,
    }
}

/// The name by which a terminal's processes are found.
#[must_use]
pub fn process_of(id: &TerminalId) -> String {
    format!("{PROCESS_PREFIX}{id}")
}

/// The name of one that is opened beside others: the lowest number that none of them has.
#[must_use]
pub fn title_beside(others: &[&str]) -> String {
    let mut number = 1;
    loop {
        let title = format!("Terminal {number}");
        if !others.contains(&title.as_str()) {
            return title;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_has_the_lowest_number_that_is_free() {
        assert_eq!(title_beside(&[]), "Terminal 1");
        assert_eq!(title_beside(&["Terminal 1", "Terminal 3"]), "Terminal 2");
    }
}
