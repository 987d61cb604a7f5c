//! Every program is started by one builder: `forge_exec::Command`, which gives it a group, limits and an end.

use syn::{
    UseTree,
    visit::{self, Visit},
};

use super::{Finding, is_for_tests};

/// Files and folders that start programs by themselves, and why they may.
const MAY_START: &[(&str, &str)] = &[
    ("src-tauri/crates/forge-exec/src/", "it is the builder"),
    ("src-tauri/crates/forge-demo/src/scripted.rs", "it is a program that agents are played by, not Forge"),
    ("src-tauri/crates/forge-machines-testkit/src/", "it makes a second host, which Forge would not"),
    ("src-tauri/crates/forge-testkit/src/", "it exists for tests, which start what Forge would not"),
    (
        "src-tauri/crates/xtask/src/",
        "it is the developer's tool, whose programs use the developer's terminal",
    ),
];

/// Checks one source file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some((_, inner)) = path.strip_prefix("src-tauri/crates/").and_then(|rest| rest.split_once("/src/"))
    else {
        return Vec::new();
    };
    // That a file is for tests alone stands in the file that declares it; such files are called so.
    let is_test = inner == "testing.rs" || inner.ends_with("tests.rs") || inner.contains("/tests/");
    if is_test || !inner.ends_with(".rs") || MAY_START.iter().any(|(start, _)| path.starts_with(start)) {
        return Vec::new();
    }
    // What does not parse is told by another check.
    let Ok(syntax) = syn::parse_file(text) else { return Vec::new() };
    let mut starts = Starts::default();
    starts.visit_file(&syntax);
    let message = "starts programs by itself: use `forge_exec::Command`, or name it in tidy's exceptions";
    (0..starts.found).map(|_| Finding::of_file(path, message)).collect()
}

/// Counts the places that name the `Command` of the standard library or of tokio.
#[derive(Default)]
struct Starts {
    found: usize,
}

impl<'ast> Visit<'ast> for Starts {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.find_in(&item.tree, &mut Vec::new());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.found += usize::from(names.windows(2).any(|pair| pair == ["process", "Command"]));
        visit::visit_path(self, path);
    }
}

impl Starts {
    /// Finds `std::process::Command`, `tokio::process::Command` and `std::process::*` in the tree of a `use`.
    fn find_in(&mut self, tree: &UseTree, names: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                names.push(path.ident.to_string());
                self.find_in(&path.tree, names);
                names.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.find_in(item, names)),
            UseTree::Name(name) => self.found += usize::from(is_command(names, &name.ident.to_string())),
            UseTree::Rename(name) => self.found += usize::from(is_command(names, &name.ident.to_string())),
            UseTree::Glob(_) => self.found += usize::from(is_command(names, "Command")),
        }
    }
}

fn is_command(module: &[String], name: &str) -> bool {
    let of_processes = matches!(module, [library, process] if process == "process" && (library == "std" || library == "tokio"));
    of_processes && name == "Command"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_started_by_the_builder_alone() {
        let git = "src-tauri/crates/forge-git/src/program.rs";
        let imports = "use std::process::{Command, Stdio};";
        for (path, text, expected) in [
            (git, imports, 1),
            (git, "use std::{io, process::Command as Program};", 1),
            (git, "use tokio::process::*;", 1),
            (git, "fn f() { tokio::process::Command::new(\"git\"); }", 1),
            (git, "use std::process; fn f() { process::Command::new(\"git\"); }", 1),
            (git, "use forge_exec::Command; fn f() { Command::tool(\"git\", \"/\"); }", 0),
            (git, "use std::process::{ExitCode, exit};", 0),
            (git, "#[cfg(test)] mod tests { use std::process::Command; }", 0),
            ("src-tauri/crates/forge-git/src/testing.rs", imports, 0),
            ("src-tauri/crates/forge-git/src/nested/tests.rs", imports, 0),
            ("src-tauri/crates/forge-git/tests/all.rs", imports, 0),
            ("src-tauri/crates/forge-exec/src/child.rs", imports, 0),
            ("src-tauri/crates/forge-demo/src/scripted.rs", imports, 0),
            ("src-tauri/crates/forge-demo/src/sample_repo.rs", imports, 1),
        ] {
            assert_eq!(check(path, text).len(), expected, "{path}: {text}");
        }
    }

    #[test]
    fn exceptions_are_files_that_exist() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        for (path, _) in MAY_START {
            assert!(root.join(path).exists(), "{path}");
        }
    }
}
