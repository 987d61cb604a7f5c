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

/// What runs in a terminal beside its shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Runs {
    Program(NamedProcess),
    /// It cannot be told, for this reason: perhaps something does.
    Unknown(String),
}

/// What an answer of the keeper means; none when nothing runs.
pub(super) fn runs(asked: std::io::Result<Option<NamedProcess>>) -> Option<Runs> {
    match asked {
        Ok(program) => program.map(Runs::Program),
        Err(error) => Some(Runs::Unknown(error.to_string())),
    }
}

/// What is said to whoever ends terminals in which programs run.
pub(super) fn busy(running: &[(Terminal, Runs)]) -> String {
    let each = running.iter().map(|(terminal, runs)| match runs {
        Runs::Program(program) => format!("{} runs {program}", terminal.title),
        Runs::Unknown(reason) => {
            format!("{} may be running a program (unknown: {reason})", terminal.title)
        }
    });
    format!("{}: end it first, or confirm that it may be ended", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use forge_model::time::Timestamp;

    use super::*;

    #[test]
    fn shell_is_the_users_if_it_can_be_run() {
        let of = |users: Option<&str>| shell(users.map(OsStr::new), |shell| shell == "/bin/zsh");
        assert_eq!(of(Some("/bin/zsh")), "/bin/zsh");
        assert_eq!(of(Some("/bin/gone")), "/bin/sh");
        assert_eq!(of(None), "/bin/sh");
    }

    #[test]
    fn terminal_of_which_nothing_can_be_told_is_asked_about() {
        assert_eq!(runs(Ok(None)), None);
        let program = NamedProcess { pid: 7, name: "vim".to_owned() };
        let of = |number: u32| Terminal {
            id: format!("m{number}").into(),
            task_id: "t".into(),
            project_id: "p".into(),
            title: format!("Terminal {number}"),
            opened_by: "user:board".to_owned(),
            opened_at: Timestamp(0),
            ended_at: None,
            exit_code: None,
            reason: None,
        };
        let silent = runs(Err(std::io::Error::other("no answer")));
        let running = [(of(1), runs(Ok(Some(program))).unwrap()), (of(2), silent.unwrap())];
        assert_eq!(
            busy(&running),
            "Terminal 1 runs vim (process 7), Terminal 2 may be running a program (unknown: no answer): end it first, or \
             confirm that it may be ended"
        );
    }
}
