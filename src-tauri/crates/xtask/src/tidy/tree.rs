//! What somebody sees who opens the repository.

use std::collections::BTreeSet;

use super::Finding;

/// The whole visible top level; files of tools are dotted.
const TOP_LEVEL: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "icons",
    "src-tauri",
    "tauri.conf.json",
    "tests",
    "ui",
];

/// Checks the names at the top.
pub fn check(paths: &[String]) -> Vec<Finding> {
    let names: BTreeSet<&str> = paths.iter().map(|path| path.split('/').next().unwrap_or(path)).collect();
    names
        .into_iter()
        .filter(|name| !name.starts_with('.') && !TOP_LEVEL.contains(name))
        .map(|name| {
            Finding::of_file(name, "does not belong at the top level; put it into a folder or dot it")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_level_is_agreed() {
        let paths =
            ["Cargo.toml", "ui/src/main.tsx", ".ci/run", "scripts/build.sh", "scripts/test.sh", "notes.txt"];
        let found: Vec<String> =
            check(&paths.map(str::to_owned)).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["notes.txt", "scripts"]);
    }
}
