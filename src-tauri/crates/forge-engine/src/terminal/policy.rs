//! Decisions about terminals: which shell one runs, and what its end means.

use std::ffi::{OsStr, OsString};

use forge_exec::{Exit, Finished, NamedProcess};
use forge_model::terminal::Terminal;
use forge_store::table::terminals::TerminalEnd;

/// The shell where the user has none that can be run.
const PLAIN_SHELL: &str = "/bin/sh";

/// The shell of a terminal: the user's, if it is a file that can be run.
pub(super) fn shell(users: Option<&OsStr>, can_be_run: impl Fn(&OsStr) -> bool) -> OsString {
    users.filter(|shell| can_be_run(shell)).unwrap_or_else(|| OsStr::new(PLAIN_SHELL)).to_owned()
}

/// What the end of a shell means that nobody asked for.
pub(super) fn end_of(finished: &Finished) -> TerminalEnd {
    match finished.exit {
        Exit::Code(code) => {
            TerminalEnd { reason: format!("Ended with exit code {code}"), exit_code: Some(code) }
        }
        Exit::Signal(signal) => ended(format!("Ended by signal {signal}")),
    }
}

pub(super) fn ended(reason: impl Into<String>) -> TerminalEnd {
    TerminalEnd { reason: reason.into(), exit_code: None }
}

/// What is said to whoever ends terminals in which programs run.
pub(super) fn busy(running: &[(Terminal, NamedProcess)]) -> String {
    let each = running.iter().map(|(terminal, program)| format!("{} runs {program}", terminal.title));
    format!("{}: end it first, or confirm that it ends", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_is_the_users_if_it_can_be_run() {
        let of = |users: Option<&str>| shell(users.map(OsStr::new), |shell| shell == "/bin/zsh");
        assert_eq!(of(Some("/bin/zsh")), "/bin/zsh");
        assert_eq!(of(Some("/bin/gone")), "/bin/sh");
        assert_eq!(of(None), "/bin/sh");
    }
}
