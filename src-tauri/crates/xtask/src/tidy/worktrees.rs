//! The engine gets the worktree of a task in one place, which knows where the workspace lies.

use syn::visit::{self, Visit};

use super::{Finding, is_for_tests};

const ENGINE: &str = "src-tauri/crates/forge-engine/src/";
/// The file whose `worktree` gives the worktree of a workspace.
const GIVES: &str = "core/repository.rs";
/// The method of `forge_git::Repo` that gives the worktree at a path.
const METHOD: &str = "worktree_at";

/// Checks one source file.
pub fn check(path: &str, text: &str) -> Vec<Finding> {
    let Some(inner) = path.strip_prefix(ENGINE).filter(|inner| inner.ends_with(".rs")) else {
        return Vec::new();
    };
    // Most files are not worth parsing for this.
    if inner == GIVES || !text.contains(METHOD) {
        return Vec::new();
    }
    // What does not parse is told by another check.
    let Ok(syntax) = syn::parse_file(text) else { return Vec::new() };
    let mut opened = Opened::default();
    opened.visit_file(&syntax);
    let message = "opens a worktree by its path: use `core::repository::worktree`";
    (0..opened.found).map(|_| Finding::of_file(path, message)).collect()
}

/// Counts the places that name the method.
#[derive(Default)]
struct Opened {
    found: usize,
}

impl<'ast> Visit<'ast> for Opened {
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

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.found += usize::from(call.method == METHOD);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.found += usize::from(path.segments.last().is_some_and(|name| name.ident == METHOD));
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_are_opened_by_path_in_one_file() {
        let run = "src-tauri/crates/forge-engine/src/run/mod.rs";
        let call = "async fn f(repo: &Repo) { repo.worktree_at(path).head().await }";
        for (path, text, expected) in [
            (run, call, 1),
            (run, "fn f() { p.map(|p| Repo::worktree_at(&r, p)); }", 1),
            (run, "// not by worktree_at\nfn f() {}", 0),
            (run, "#[cfg(test)] mod tests { fn f() { r.worktree_at(p); } }", 0),
            ("src-tauri/crates/forge-engine/src/core/repository.rs", call, 0),
            ("src-tauri/crates/forge-git/src/adopt.rs", call, 0),
        ] {
            assert_eq!(check(path, text).len(), expected, "{path}: {text}");
        }
    }

    #[test]
    fn file_that_gives_worktrees_exists() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        assert!(root.join(ENGINE).join(GIVES).exists());
    }
}
