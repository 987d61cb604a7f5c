//! `cargo xtask fixtures`: the answers that the page's tests read, recorded from the engine and compared with what is
//! committed.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{
    codegen::first_difference,
    program::{program, run as run_program},
    workspace::Workspace,
};

/// Where they lie, from the root.
const FOLDER: &str = "ui/src/test/fixtures";

/// Records them anew, or with `check` fails when the committed ones are stale.
pub fn run(workspace: &Workspace, check: bool) -> Result<()> {
    let arguments = ["build", "--workspace", "--bin", "forge-fixtures", "--bin", "forge-scripted-agent"];
    run_program(&mut program("cargo", arguments, &workspace.root))?;
    let scratch = workspace.scratch().join("fixtures");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).with_context(|| format!("Could not empty {}", scratch.display()))?;
    }
    run_program(Command::new(workspace.built("forge-fixtures")).arg(&scratch).current_dir(&workspace.root))?;
    let fresh = texts(&scratch)?;
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("Could not make {FOLDER}"))?;
    let committed = texts(&folder)?;
    if check {
        return match stale(&committed, &fresh) {
            Some(finding) => bail!("{finding}\nRun `cargo xtask fixtures` and commit what it writes."),
            None => Ok(()),
        };
    }
    for name in committed.keys().filter(|name| !fresh.contains_key(*name)) {
        fs::remove_file(folder.join(name)).with_context(|| format!("Could not remove {FOLDER}/{name}"))?;
    }
    for (name, text) in &fresh {
        fs::write(folder.join(name), text).with_context(|| format!("Could not write {FOLDER}/{name}"))?;
    }
    eprintln!("{} files are in {FOLDER}.", fresh.len());
    Ok(())
}

/// The files of a folder by their names.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).with_context(|| format!("Could not read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).with_context(|| format!("Could not read {}", path.display()))?;
        found.insert(name, text);
    }
    Ok(found)
}

/// The first file that differs, and how.
fn stale(committed: &BTreeMap<String, String>, fresh: &BTreeMap<String, String>) -> Option<String> {
    if let Some(name) = committed.keys().find(|name| !fresh.contains_key(*name)) {
        return Some(format!("{FOLDER}/{name}: the engine answers nothing like it any more"));
    }
    fresh.iter().find_map(|(name, text)| {
        let Some(before) = committed.get(name) else {
            return Some(format!("{FOLDER}/{name} is missing"));
        };
        let (line, was, is) = first_difference(before, text)?;
        Some(format!("{FOLDER}/{name}:{line} is stale\n  committed: {was}\n  engine:    {is}"))
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::stale;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn stale_names_the_file_and_the_line() {
        let committed = files(&[("a.json", "1\n2\n")]);
        assert_eq!(stale(&committed, &committed), None);
        for (fresh, expected) in [
            (files(&[("a.json", "1\n3\n")]), "a.json:2 is stale"),
            (files(&[("a.json", "1\n2\n"), ("b.json", "")]), "b.json is missing"),
            (files(&[]), "a.json: the engine answers nothing"),
        ] {
            let finding = stale(&committed, &fresh).unwrap_or_default();
            assert!(finding.contains(expected), "{finding}");
        }
    }
}
