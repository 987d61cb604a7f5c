//! When two failures are the same: the same check of the same subject with the same first complaint, apart from
//! what differs between two runs of the same thing (times, durations, process ids, addresses, temporary paths, line
//! numbers).

use super::{CheckResult, CommandCheck, complaint::Diagnosed, normalised::normalised};

/// The longest complaint that is looked at, in characters.
const MAX_COMPLAINT: usize = 300;

/// What a failed check is called when it is compared with others.
#[must_use]
pub fn identity(result: &CheckResult, cwd: &str) -> String {
    let complaint = match result {
        CheckResult::Command(command) => complaint_of(command, cwd),
        CheckResult::CwdCheck(check) => check.error.clone(),
        CheckResult::FileCheck(check) => check.error.clone().unwrap_or_default(),
        CheckResult::SyntaxCheck(check) => check.error.clone().unwrap_or_default(),
        CheckResult::ContractCheck(check) if check.missing.is_empty() => {
            check.reason.clone().unwrap_or_default()
        }
        CheckResult::ContractCheck(check) => check.missing.join(", "),
    };
    format!("{} {}: {}", result.kind(), result.subject(), compared(&complaint, cwd))
}

/// A complaint as it is compared with others: short, without the folder it was made in, and [`normalised`].
pub(super) fn compared(complaint: &str, cwd: &str) -> String {
    let here = format!("{}/", cwd.trim_end_matches('/'));
    let relative = if here == "/" { complaint.to_owned() } else { complaint.replace(&here, "") };
    let text = normalised(&relative);
    text.chars().take(MAX_COMPLAINT).collect()
}

fn complaint_of(command: &CommandCheck, cwd: &str) -> String {
    let said = Diagnosed { stderr: &command.stderr, stdout: &command.stdout, cwd }.first();
    said.unwrap_or_else(|| match (command.timed_out, command.exit_code, command.signal) {
        (true, ..) => "ran out of time".to_owned(),
        (false, Some(code), _) => format!("exit code {code}"),
        (false, None, Some(signal)) => format!("signal {signal}"),
        (false, None, None) => "could not be run".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(stderr: &str, stdout: &str, exit_code: Option<i32>) -> CheckResult {
        CheckResult::Command(CommandCheck {
            passed: false,
            command: "make".to_owned(),
            exit_code,
            signal: None,
            timed_out: false,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            duration_ms: 7,
        })
    }

    #[test]
    fn the_first_complaint_is_the_one_that_a_parser_knows() {
        for (stderr, stdout, expected) in [
            (
                "warming up\nerror[E0308]: mismatched types\n --> src/a.rs:3:5\n",
                "",
                "command make: src/a.rs: error[E0308]: mismatched types",
            ),
            ("npm notice\n", "src/a.js:3:1: no\n", "command make: src/a.js: no"),
            ("\n\u{1b}[31mfirst\u{1b}[0m words\nmore", "other", "command make: first words"),
            ("", "\n  only this  \n", "command make: only this"),
            ("", "", "command make: exit code 2"),
        ] {
            assert_eq!(identity(&command(stderr, stdout, Some(2)), "/srv/x"), expected);
        }
    }

    #[test]
    fn the_folder_is_no_part_of_a_failure() {
        let of = |cwd: &str| identity(&command(&format!("missing {cwd}/a"), "", None), cwd);
        assert_eq!(of("/srv/one"), of("/home/two"));
    }
}
