//! Environment, home and current directory are arguments: only programs read them.

use syn::visit::{self, Visit};

use super::{Finding, is_for_tests};

/// Crates that are programs, or begin them.
const MAY_READ: &[&str] =
    &["forge-cli", "forge-server", "forge-demo", "forge-machines-testkit", "forge-testkit", "xtask"];

/// Functions of `std::env` that read what the process was started in.
const READS: &[&str] = &[
    "args",
    "args_os",
    "current_dir",
    "current_exe",
    "home_dir",
    "temp_dir",
    "var",
    "var_os",
    "vars",
    "vars_os",
];

/// Checks one source file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some(rest) = path.strip_prefix("src-tauri/crates/") else { return Vec::new() };
    let Some((package, inner)) = rest.split_once("/src/") else { return Vec::new() };
    // That a file is for tests alone stands in the file that declares it; such files are called so.
    let is_test = inner == "testing.rs" || inner.ends_with("tests.rs") || inner.contains("/tests/");
    if MAY_READ.contains(&package) || is_test || !inner.ends_with(".rs") || inner.starts_with("bin/") {
        return Vec::new();
    }
    // What does not parse is told by another check.
    let Ok(syntax) = syn::parse_file(text) else { return Vec::new() };
    let mut reads = Reads::default();
    reads.visit_file(&syntax);
    let message =
        |name: &String| format!("reads `env::{name}`: take it as an argument, from the program that begins");
    reads.found.iter().map(|name| Finding::of_file(path, message(name))).collect()
}

#[derive(Default)]
struct Reads {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Reads {
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

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., module, function] = names.as_slice()
            && module == "env"
            && READS.contains(&function.as_str())
        {
            self.found.push(function.clone());
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_read_what_they_were_started_in() {
        let reads = "fn f() { std::env::var_os(\"HOME\"); }";
        for (path, text, expected) in [
            ("src-tauri/crates/forge-git/src/program.rs", reads, 1),
            ("src-tauri/crates/forge-git/src/program.rs", "use std::env; fn f() { env::current_dir(); }", 1),
            ("src-tauri/crates/forge-git/src/program.rs", "fn f() { std::env::split_paths(p); }", 0),
            (
                "src-tauri/crates/forge-git/src/program.rs",
                "#[cfg(test)] mod tests { fn f() { std::env::vars_os(); } }",
                0,
            ),
            ("src-tauri/crates/forge-git/src/testing.rs", reads, 0),
            ("src-tauri/crates/forge-git/src/worktree/tests.rs", reads, 0),
            ("src-tauri/crates/forge-cli/src/place.rs", reads, 0),
            ("src-tauri/src/lifecycle.rs", reads, 0),
        ] {
            assert_eq!(check(path, text).len(), expected, "{path}: {text}");
        }
    }
}
