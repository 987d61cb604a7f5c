//! Recorded outputs of failing commands: `one` and `again` are the same failure, with its place moved and at another
//! time; `other` is a different failure of the same command.

use std::{collections::BTreeSet, fs, path::Path};

use forge_model::validate::{CheckResult, CommandCheck};
use forge_reading::identity::identity;

/// The folder that they ran in.
const CWD: &str = "/home/dev/shop";

fn failing(folder: &Path, which: &str) -> CheckResult {
    let said =
        |stream: &str| fs::read_to_string(folder.join(format!("{which}.{stream}"))).unwrap_or_default();
    CheckResult::Command(CommandCheck {
        passed: false,
        command: "check".to_owned(),
        exit_code: Some(1),
        signal: None,
        timed_out: false,
        stdout: said("out"),
        stderr: said("err"),
        duration_ms: 7,
        diagnoses: None,
    })
}

#[test]
fn recorded_failures() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/identities");
    let folders: BTreeSet<_> = fs::read_dir(&recorded).unwrap().map(|entry| entry.unwrap().path()).collect();
    let folders: Vec<_> = folders.into_iter().filter(|path| path.is_dir()).collect();
    assert!(folders.len() > 30, "{folders:?}");
    let (mut read, mut wrong) = (String::new(), Vec::new());
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy();
        let [one, again, other] =
            ["one", "again", "other"].map(|which| identity(&failing(&folder, which), CWD));
        if one != again {
            wrong.push(format!("{name} is the same failure:\n  {one}\n  {again}"));
        }
        if one == other {
            wrong.push(format!("{name} are different failures:\n  {one}"));
        }
        read.push_str(&format!("{name}\n  {one}\n  {other}\n"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::with_settings!({ snapshot_path => "identities", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("expected", read);
    });
}
