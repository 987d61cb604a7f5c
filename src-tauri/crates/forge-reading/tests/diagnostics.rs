//! What tools printed when they failed, recorded, and what is read from it.

use std::path::Path;

use forge_reading::diagnostic::{diagnostics, named_files};

/// The folder that they ran in.
const WORKTREE: &str = "/home/dev/shop";

#[test]
fn recorded_outputs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|tool| tool.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|tool| std::fs::read_dir(tool).unwrap().map(|file| file.unwrap().path()))
        .collect();
    files.sort();
    assert!(files.len() > 20, "{files:?}");
    let mut read = String::new();
    for file in files {
        let output = std::fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&folder).unwrap().display().to_string();
        read.push_str(&format!("{name}\n"));
        for it in diagnostics(&output, WORKTREE) {
            let at = [it.line, it.column].map(|n| n.map_or("-".to_owned(), |n| n.to_string())).join(":");
            read.push_str(&format!("  {} {} {at} {}\n", it.tool, it.path, it.message));
        }
        let named: Vec<String> = named_files(&output, WORKTREE).into_iter().collect();
        read.push_str(&format!("  = {}\n", named.join(", ")));
    }
    insta::with_settings!({ snapshot_path => "diagnostics", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("expected", read);
    });
}
