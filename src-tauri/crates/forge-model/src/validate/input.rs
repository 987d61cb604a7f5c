//! What is wrong with a call, found before anything of it runs.

use super::{ContractPair, ValidateGate, ValidateInput};
use crate::{path::within, workflow::Finding};

/// The longest id, in characters.
pub const MAX_ID: usize = 128;
/// The most checks of one call.
pub const MAX_CHECKS: usize = 1000;
/// What the files end with that keep attempts; the name of a run must not look like one.
const STATE_ENDING: &str = ".json";

/// What is wrong with the name of a module or a run; nothing when it is fine.
#[must_use]
pub fn findings_of_id(path: &str, id: &str) -> Option<Finding> {
    let is_plain = id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let fits = (1..=MAX_ID).contains(&id.len());
    let message = "must be 1 to 128 letters, digits, `_`, `.` or `-`, without `..`";
    (!is_plain || !fits || id == "." || id.contains("..")).then(|| finding(path, message))
}

/// What is wrong with the name of a run; nothing when it is fine.
#[must_use]
pub fn findings_of_run(path: &str, run: &str) -> Option<Finding> {
    let looks_like_state = || {
        let message = "must not end with `.json`, which names the files of attempts";
        run.ends_with(STATE_ENDING).then(|| finding(path, message))
    };
    findings_of_id(path, run).or_else(looks_like_state)
}

/// A file's path below a folder, without `.` and `..`; none when it leads out. An absolute one may name the folder
/// itself at its beginning.
#[must_use]
pub fn inside(cwd: Option<&str>, path: &str) -> Option<String> {
    let relative = match (path.strip_prefix('/'), cwd) {
        (None, _) => path,
        (Some(_), Some(cwd)) => path.strip_prefix(cwd.trim_end_matches('/'))?.strip_prefix('/')?,
        (Some(_), None) => return None,
    };
    if relative.contains(['\0', '\\']) {
        return None;
    }
    within(relative.split('/'))
}

impl ValidateInput {
    /// Everything that is wrong with it, each with its field.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        findings.extend(findings_of_id("moduleId", &self.module_id));
        findings.extend(self.run_id.as_deref().and_then(|run| findings_of_run("runId", run)));
        let cwd = self.cwd.as_deref();
        if cwd.is_some_and(|cwd| !cwd.starts_with('/') || cwd.contains('\0')) {
            findings.push(finding("cwd", "must be an absolute path"));
        }
        let checks = Checks {
            commands: &self.commands,
            files: &self.files,
            contracts: &self.contract_checks,
            cwd,
            at: "",
        };
        checks.find(&mut findings);
        if self.commands.is_empty() && self.files.is_empty() && self.contract_checks.is_empty() {
            findings
                .push(finding("commands", "at least one check is required: a command, a file or a contract"));
        }
        findings
    }
}

impl ValidateGate {
    /// Everything that is wrong with it; `at` is the field that holds it.
    #[must_use]
    pub fn findings(&self, at: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        let of = |field: &str| format!("{at}.{field}");
        findings.extend(self.module_id.as_deref().and_then(|id| findings_of_id(&of("moduleId"), id)));
        findings.extend(self.run_id.as_deref().and_then(|id| findings_of_run(&of("runId"), id)));
        let checks = Checks {
            commands: &self.commands,
            files: &self.files,
            contracts: &self.contract_checks,
            cwd: None,
            at,
        };
        checks.find(&mut findings);
        findings
    }
}

/// The checks of a call, or of a gate.
struct Checks<'c> {
    commands: &'c [String],
    files: &'c [String],
    contracts: &'c [ContractPair],
    cwd: Option<&'c str>,
    at: &'c str,
}

impl Checks<'_> {
    fn find(&self, findings: &mut Vec<Finding>) {
        let at = |field: String| if self.at.is_empty() { field } else { format!("{}.{field}", self.at) };
        for (index, command) in self.commands.iter().enumerate() {
            if command.trim().is_empty() || command.contains('\0') {
                findings
                    .push(finding(&at(format!("commands[{index}]")), "must be a shell command, not blank"));
            }
        }
        let mut file = |field: String, path: &str| {
            if inside(self.cwd, path).is_none() {
                findings.push(finding(&at(field), "must be the path of a file in `cwd`"));
            }
        };
        for (index, path) in self.files.iter().enumerate() {
            file(format!("files[{index}]"), path);
        }
        for (index, pair) in self.contracts.iter().enumerate() {
            file(format!("contractChecks[{index}].exporter"), &pair.exporter);
            file(format!("contractChecks[{index}].importer"), &pair.importer);
        }
        let count = self.commands.len() + self.files.len() + self.contracts.len();
        if count > MAX_CHECKS {
            findings.push(finding(&at("commands".to_owned()), "are too many checks: at most 1000 in total"));
        }
    }
}

fn finding(path: &str, message: &str) -> Finding {
    Finding { path: path.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn paths(input: Value) -> Vec<String> {
        let input: ValidateInput = serde_json::from_value(input).unwrap();
        input.findings().into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn everything_wrong_is_told_by_its_field() {
        let all = json!({
            "moduleId": "a/b", "runId": "..", "cwd": "here", "commands": ["true", " "],
            "files": ["ok.js", "../out.js", "/etc/passwd", ""],
            "contractChecks": [{ "exporter": "a.js", "importer": "x/../../b.js" }],
        });
        assert_eq!(
            paths(all),
            [
                "moduleId",
                "runId",
                "cwd",
                "commands[1]",
                "files[1]",
                "files[2]",
                "files[3]",
                "contractChecks[0].importer",
            ]
        );
        assert_eq!(paths(json!({ "moduleId": "m", "commands": [] })), ["commands"]);
        assert!(paths(json!({ "moduleId": "m", "commands": [], "files": ["a"] })).is_empty());
    }

    #[test]
    fn ids_are_names_of_files_and_nothing_else() {
        for id in ["m1", "a.b-c_D", &"x".repeat(128), ".hidden"] {
            assert_eq!(findings_of_id("moduleId", id), None, "{id}");
        }
        for id in ["", ".", "..", "a..b", "a/b", "a b", "ä", "a\0", &"x".repeat(129)] {
            assert!(findings_of_id("moduleId", id).is_some(), "{id:?}");
        }
        assert_eq!(paths(json!({ "moduleId": "m", "runId": "m.json", "commands": ["true"] })), ["runId"]);
    }

    #[test]
    fn files_are_below_the_folder() {
        let below = |path| inside(Some("/srv/tree/"), path);
        assert_eq!(below("./a//b/../c.js").as_deref(), Some("a/c.js"));
        assert_eq!(below("/srv/tree/a.js").as_deref(), Some("a.js"));
        for path in ["/srv/treeless/a.js", "/srv/tree", "..", "a/../..", ".", "a\\b", "a\0"] {
            assert_eq!(below(path), None, "{path:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_inside_stays_inside(path in "[a./]{0,12}") {
            if let Some(found) = inside(None, &path) {
                prop_assert!(!found.is_empty() && !found.starts_with('/'));
                prop_assert!(found.split('/').all(|part| !matches!(part, "" | "." | "..")));
                let again = inside(None, &found);
                prop_assert_eq!(again.as_ref(), Some(&found));
            }
        }
    }
}
