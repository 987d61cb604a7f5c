//! When two failures are the same: the same check of the same subject with the same diagnoses, each as often, apart
//! from what differs between two runs of the same thing (times, durations, process ids, addresses, commits, temporary
//! paths, line numbers).

use forge_model::validate::{AttemptFacts, CheckResult, CommandCheck};

use crate::{
    compared::compared,
    complaint::{FailedCommand, listed},
};

/// What a failed check is called when it is compared with others.
#[must_use]
pub fn identity(result: &CheckResult, cwd: &str) -> String {
    let diagnoses = match result {
        CheckResult::Command(command) => diagnoses_of(command, cwd),
        CheckResult::CwdCheck(check) => compared(&check.error, cwd),
        CheckResult::FileCheck(check) => compared(check.error.as_deref().unwrap_or_default(), cwd),
        CheckResult::SyntaxCheck(check) => compared(check.error.as_deref().unwrap_or_default(), cwd),
        CheckResult::ContractCheck(check) if check.missing.is_empty() => {
            compared(check.reason.as_deref().unwrap_or_default(), cwd)
        }
        CheckResult::ContractCheck(check) => listed(check.missing.iter().map(|name| compared(name, cwd))),
    };
    format!("{} {}: {diagnoses}", result.kind(), result.subject())
}

/// What was noted when the command ended and all of its output was there, else what the kept output says.
fn diagnoses_of(command: &CommandCheck, cwd: &str) -> String {
    command.diagnoses.clone().unwrap_or_else(|| {
        let CommandCheck { stderr, stdout, timed_out, exit_code, signal, .. } = command;
        let (timed_out, exit_code, signal) = (*timed_out, *exit_code, *signal);
        FailedCommand { stderr, stdout, cwd, timed_out, exit_code, signal }.diagnoses()
    })
}

/// What checks came to; none when every one of them counts neither way. `cwd` is the folder they were made in.
#[must_use]
pub fn judge(results: &[CheckResult], cwd: &str) -> Option<AttemptFacts> {
    let counted = results.iter().filter(|result| result.passed().is_some()).count();
    let failed = results.iter().filter(|result| result.passed() == Some(false));
    let failures = failed.map(|result| identity(result, cwd)).collect();
    (counted > 0).then(|| AttemptFacts::new(counted, failures))
}

#[cfg(test)]
mod tests {
    use forge_model::validate::{ContractCheck, ContractOutcome, FileCheck};

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
            diagnoses: None,
        })
    }

    #[test]
    fn diagnoses_are_those_that_a_parser_knows() {
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

    #[test]
    fn diagnoses_that_were_noted_go_before_the_kept_output() {
        let mut failed = command("", "the end of its output", Some(1));
        if let CheckResult::Command(command) = &mut failed {
            command.diagnoses = Some("a; b".to_owned());
        }
        assert_eq!(identity(&failed, "/"), "command make: a; b");
    }

    #[test]
    fn a_contract_fails_alike_while_the_same_names_are_missing() {
        let lacks = |missing: &[&str]| {
            let missing = missing.iter().map(|name| (*name).to_owned()).collect();
            let check = ContractCheck {
                passed: Some(false),
                exporter: "a.js".to_owned(),
                importer: "b.js".to_owned(),
                result: ContractOutcome::Fail,
                exported: Vec::new(),
                imported: Vec::new(),
                missing,
                reason: None,
            };
            identity(&CheckResult::ContractCheck(check), "/")
        };
        assert_eq!(lacks(&["x", "y"]), lacks(&["y", "x"]));
        assert_eq!(lacks(&["x", "y"]), "contract_check a.js <- b.js: x; y");
        let (long, longer) = ("n".repeat(400), "n".repeat(200));
        assert_ne!(lacks(&[&long, "x"]), lacks(&[&long, "y"]));
        assert_ne!(lacks(&["a", "b", "c", "d", &longer]), lacks(&["a", "b", "c", "d"]));
    }

    #[test]
    fn what_cannot_be_known_counts_neither_way() {
        let file =
            |passed| CheckResult::FileCheck(FileCheck { passed, file: "a.js".to_owned(), error: None });
        let unknown = CheckResult::ContractCheck(ContractCheck {
            passed: None,
            exporter: "a.js".to_owned(),
            importer: "b.js".to_owned(),
            result: ContractOutcome::Unknown,
            exported: Vec::new(),
            imported: Vec::new(),
            missing: Vec::new(),
            reason: None,
        });
        assert!(judge(std::slice::from_ref(&unknown), "/").is_none());
        let all = judge(&[file(true), unknown.clone(), file(false), unknown], "/").unwrap();
        assert!((all.score - 0.5).abs() < f64::EPSILON && !all.passed, "{all:?}");
    }
}
