//! Files of a crate use each other one way: no circle of files, and an order of the engine's modules.
//!
//! A file uses another by a `use`, by a path, or by a method that the other adds to a type of a third file. A part of a
//! module may use what the module itself defines. Tests are left out: they may look at everything.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    ImplItem, Item, ItemMod, UseTree,
    visit::{self, Visit},
};

use super::{Finding, is_for_tests};

/// The crate whose modules have an order.
const ENGINE: &str = "src-tauri/crates/forge-engine/src/";

/// The engine's modules from the lowest to the highest, and those below that each may use besides the base.
pub const ENGINE_MODULES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("trust", &["core"]),
    ("machine", &["core"]),
    ("program", &["core"]),
    ("export", &["core", "trust"]),
    ("workspace", &["core", "machine", "program", "trust"]),
    ("cost", &["core", "export"]),
    ("hook", &["core", "program", "trust"]),
    ("subtask", &["core", "workspace"]),
    ("run", &["core", "cost", "hook", "program", "subtask", "trust", "workspace"]),
    ("project", &["core", "run", "workspace"]),
    ("service", &["core", "program", "project", "trust"]),
    ("terminal", &["core", "program"]),
    ("review", &["core", "program", "project", "run", "trust", "workspace"]),
    ("retry", &["core", "review", "subtask"]),
    ("merge", &["core", "review", "workspace"]),
    ("pull_request", &["core", "merge", "retry", "review", "run", "workspace"]),
    ("knowledge", &["core", "export", "merge"]),
    ("fix", &["core", "cost", "export", "program", "review", "run", "trust", "workspace"]),
    ("race", &["core", "fix", "retry", "run", "trust", "workspace"]),
    ("validate", &["core", "export", "hook", "program", "review"]),
    ("read", &["core", "hook", "program", "project", "review", "run", "workspace"]),
    ("issue", &["core", "pull_request", "read"]),
    ("storage", &["core", "hook", "project", "workspace"]),
];

/// What every module of the engine may use, and what may use every module.
const ENGINE_BASE: &[&str] = &["config", "error", "instance"];
const ENGINE_TOP: &[&str] = &["", "face", "recovery", "registry", "start", "task"];

/// A source file of one crate.
struct File<'a> {
    path: &'a str,
    /// As its crate names it, without `crate::`; empty for the root.
    module: String,
    syntax: syn::File,
}

/// Checks the sources of every crate: pairs of a path from the root and a text.
pub fn check<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<File<'_>>> = BTreeMap::new();
    let mut findings = Vec::new();
    for (path, text) in sources {
        let Some((root, inner)) = split(path) else { continue };
        match syn::parse_file(text) {
            Ok(syntax) => {
                let file = File { path, module: module_of(inner), syntax };
                crates.entry(root).or_default().push(file);
            }
            Err(error) => findings.push(Finding::of_file(path, format!("does not parse: {error}"))),
        }
    }
    for (root, files) in &crates {
        let graph = Graph::of(files);
        findings.extend(graph.circles().into_iter().map(|circle| told(&graph, &circle)));
        if *root == ENGINE {
            findings.extend(order(&graph));
        }
    }
    findings
}

/// The folder of a crate's sources, and the path below it.
fn split(path: &str) -> Option<(&str, &str)> {
    let at = path.find("/src/")? + "/src/".len();
    let (root, inner) = path.split_at(at);
    let is_source = path.starts_with("src-tauri/") && inner.ends_with(".rs") && !inner.starts_with("bin/");
    is_source.then_some((root, inner))
}

fn module_of(inner: &str) -> String {
    let inner = inner.trim_end_matches(".rs");
    let inner = inner.strip_suffix("/mod").unwrap_or(inner);
    if matches!(inner, "lib" | "main") { String::new() } else { inner.replace('/', "::") }
}

/// Which file uses which, with one reason for each.
struct Graph<'a> {
    paths: Vec<&'a str>,
    modules: Vec<&'a str>,
    edges: Vec<BTreeMap<usize, String>>,
}

impl<'a> Graph<'a> {
    fn of(files: &'a [File<'a>]) -> Self {
        let in_tests = modules_of_tests(files);
        let files: Vec<&File<'_>> = files.iter().filter(|file| !is_below(&file.module, &in_tests)).collect();
        let modules: Vec<&str> = files.iter().map(|file| file.module.as_str()).collect();
        let names =
            Names { by_module: modules.iter().enumerate().map(|(at, module)| (*module, at)).collect() };
        let exported =
            files.iter().position(|file| file.module.is_empty()).map(|root| exports(files[root], &names));
        let exported = exported.unwrap_or_default();
        let added = added_methods(&files);
        let mut edges = vec![BTreeMap::new(); files.len()];
        for (at, file) in files.iter().enumerate() {
            // The root of a crate names everything: that is what it is for.
            if file.module.is_empty() {
                continue;
            }
            let mut uses = Uses::new(file, &names, &exported, &added);
            uses.visit_file(&file.syntax);
            // What a module defines is there for its parts.
            let is_part_of = |other: usize| {
                file.module
                    .strip_prefix(modules[other])
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            };
            edges[at] = uses.found.into_iter().filter(|(other, _)| !is_part_of(*other)).collect();
        }
        Self { paths: files.iter().map(|file| file.path).collect(), modules, edges }
    }

    /// Files that use each other, each circle once, by Tarjan's algorithm.
    fn circles(&self) -> Vec<Vec<usize>> {
        let mut search = Search {
            graph: self,
            next: 0,
            index: BTreeMap::new(),
            low: BTreeMap::new(),
            stack: Vec::new(),
            found: Vec::new(),
        };
        for at in 0..self.paths.len() {
            if !search.index.contains_key(&at) {
                search.visit(at);
            }
        }
        search.found
    }
}

struct Search<'g, 'a> {
    graph: &'g Graph<'a>,
    next: usize,
    index: BTreeMap<usize, usize>,
    low: BTreeMap<usize, usize>,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl Search<'_, '_> {
    fn visit(&mut self, at: usize) {
        self.index.insert(at, self.next);
        self.low.insert(at, self.next);
        self.next += 1;
        self.stack.push(at);
        let others: Vec<usize> = self.graph.edges[at].keys().copied().collect();
        for other in others {
            let reached = match self.index.get(&other).copied() {
                None => {
                    self.visit(other);
                    self.low.get(&other).copied()
                }
                Some(index) => self.stack.contains(&other).then_some(index),
            };
            if let (Some(reached), Some(low)) = (reached, self.low.get_mut(&at)) {
                *low = (*low).min(reached);
            }
        }
        if self.low.get(&at) == self.index.get(&at) {
            let from = self.stack.iter().rposition(|it| *it == at).unwrap_or_default();
            let circle = self.stack.split_off(from);
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }
}

/// A circle as a person reads it: who uses whom, and by what.
fn told(graph: &Graph<'_>, circle: &[usize]) -> Finding {
    let mut pairs = Vec::new();
    for at in circle {
        for (other, why) in graph.edges[*at].iter().filter(|(other, _)| circle.contains(other)) {
            pairs.push(format!("{} uses {} ({why})", graph.modules[*at], graph.modules[*other]));
        }
    }
    pairs.sort();
    let first = circle.iter().map(|at| graph.paths[*at]).min().unwrap_or_default();
    Finding::of_file(first, format!("files use each other in a circle: {}", pairs.join("; ")))
}

/// Edges of the engine's modules that its table does not have, and entries of the table that nothing needs.
fn order(graph: &Graph<'_>) -> Vec<Finding> {
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let mut findings = Vec::new();
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for (at, others) in graph.edges.iter().enumerate() {
        let from = top(graph.modules[at]);
        for (other, why) in others {
            let to = top(graph.modules[*other]);
            if from == to || ENGINE_TOP.contains(&from.as_str()) || ENGINE_BASE.contains(&to.as_str()) {
                continue;
            }
            let allowed = ENGINE_MODULES.iter().find(|(name, _)| *name == from).map(|(_, below)| *below);
            if !allowed.unwrap_or_default().contains(&to.as_str()) {
                let message =
                    format!("{from} may not use {to} ({why}), by tidy's table of the engine's modules");
                findings.push(Finding::of_file(graph.paths[at], message));
            }
            seen.insert((from.clone(), to));
        }
    }
    for (at, (name, below)) in ENGINE_MODULES.iter().enumerate() {
        for other in *below {
            let is_lower = ENGINE_MODULES.iter().take(at).any(|(lower, _)| lower == other);
            if !is_lower {
                findings
                    .push(Finding::of_file(ENGINE, format!("{name} may use {other}, which stands above it")));
            }
            if !seen.contains(&((*name).to_owned(), (*other).to_owned())) {
                let message = format!("{name} does not use {other}: take it out of tidy's table");
                findings.push(Finding::of_file(ENGINE, message));
            }
        }
    }
    findings
}

/// The document that shows the table.
pub const DOCUMENT: &str = "src-tauri/ARCHITECTURE.md";
const TABLE_BEGINS: &str = "<!-- engine modules: written by cargo xtask codegen -->\n";
const TABLE_ENDS: &str = "<!-- end of engine modules -->";

/// The document with the table as it is now; none when it has no place for it.
pub fn with_engine_table(document: &str) -> Option<String> {
    let (before, rest) = document.split_once(TABLE_BEGINS)?;
    let (_, after) = rest.split_once(TABLE_ENDS)?;
    Some(format!("{before}{TABLE_BEGINS}{}{TABLE_ENDS}{after}", engine_table()))
}

/// Checks that the document shows the table as it is.
pub fn check_document(text: &str) -> Option<Finding> {
    match with_engine_table(text) {
        Some(fresh) if fresh == text => None,
        Some(_) => Some(Finding::of_file(
            DOCUMENT,
            "its table of the engine's modules is stale: run `cargo xtask codegen`",
        )),
        None => Some(Finding::of_file(DOCUMENT, "it has no place for the table of the engine's modules")),
    }
}

/// The table of the engine's modules as Markdown.
fn engine_table() -> String {
    let mut table = String::from("| Module | Uses |\n|---|---|\n");
    for (name, below) in ENGINE_MODULES {
        let below: Vec<String> = below.iter().map(|other| format!("`{other}`")).collect();
        table.push_str(&format!("| `{name}` | {} |\n", below.join(", ")));
    }
    table
}

struct Names<'a> {
    by_module: BTreeMap<&'a str, usize>,
}

impl Names<'_> {
    /// The file that a path leads into: the longest module that it begins with.
    fn owner(&self, parts: &[String]) -> Option<usize> {
        (1..=parts.len())
            .rev()
            .find_map(|count| self.by_module.get(parts.get(..count)?.join("::").as_str()).copied())
    }
}

/// What the root of a crate gives on under its own name, by name.
fn exports(root: &File<'_>, names: &Names<'_>) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for item in &root.syntax.items {
        let Item::Use(item) = item else { continue };
        each_leaf(&item.tree, &mut Vec::new(), &mut |parts, name| {
            let parts: Vec<String> =
                parts.iter().filter(|part| *part != "crate" && *part != "self").cloned().collect();
            if let Some(owner) = names.owner(&parts) {
                all.insert(name.to_owned(), owner);
            }
        });
    }
    all
}

/// Methods that a file adds to a type which another file of the crate defines, by name; names that are given twice are
/// none.
fn added_methods(files: &[&File<'_>]) -> BTreeMap<String, usize> {
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        for item in &file.syntax.items {
            match item {
                Item::Struct(item) => drop(types.insert(item.ident.to_string(), at)),
                Item::Enum(item) => drop(types.insert(item.ident.to_string(), at)),
                _ => {}
            }
        }
    }
    let (mut added, mut given) = (BTreeMap::new(), BTreeMap::<String, u32>::new());
    for (at, file) in files.iter().enumerate() {
        for item in &file.syntax.items {
            let Item::Impl(item) = item else { continue };
            let syn::Type::Path(of) = item.self_ty.as_ref() else { continue };
            let Some(of) = of.path.segments.last().map(|segment| segment.ident.to_string()) else { continue };
            for method in &item.items {
                let ImplItem::Fn(method) = method else { continue };
                let name = method.sig.ident.to_string();
                *given.entry(name.clone()).or_default() += 1;
                let takes_self = method.sig.receiver().is_some();
                if takes_self && item.trait_.is_none() && types.get(&of).is_some_and(|home| *home != at) {
                    added.insert(name, at);
                }
            }
        }
    }
    added.retain(|name, _| given.get(name) == Some(&1));
    added
}

/// The modules that are compiled for tests alone.
fn modules_of_tests(files: &[File<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for file in files {
        for item in &file.syntax.items {
            if let Item::Mod(item) = item
                && is_for_tests(&item.attrs)
            {
                let name = item.ident.to_string();
                found.insert(if file.module.is_empty() { name } else { format!("{}::{name}", file.module) });
            }
        }
    }
    found
}

fn is_below(module: &str, roots: &BTreeSet<String>) -> bool {
    roots.iter().any(|root| {
        module == root || module.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with("::"))
    })
}

fn each_leaf(tree: &UseTree, prefix: &mut Vec<String>, tell: &mut impl FnMut(&[String], &str)) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            each_leaf(&path.tree, prefix, tell);
            prefix.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            let last = prefix.last().cloned().unwrap_or_default();
            tell(prefix, &last);
        }
        UseTree::Name(name) => {
            prefix.push(name.ident.to_string());
            tell(prefix, &name.ident.to_string());
            prefix.pop();
        }
        UseTree::Rename(rename) => {
            prefix.push(rename.ident.to_string());
            tell(prefix, &rename.rename.to_string());
            prefix.pop();
        }
        UseTree::Glob(_) => tell(prefix, "*"),
        UseTree::Group(group) => group.items.iter().for_each(|tree| each_leaf(tree, prefix, tell)),
    }
}

/// What one file uses of its crate.
struct Uses<'f, 'a> {
    module: Vec<String>,
    names: &'f Names<'a>,
    exported: &'f BTreeMap<String, usize>,
    added: &'f BTreeMap<String, usize>,
    /// Modules that are in scope under a name of their own.
    imported: BTreeMap<String, Vec<String>>,
    found: BTreeMap<usize, String>,
}

impl<'f, 'a> Uses<'f, 'a> {
    fn new(
        file: &File<'_>,
        names: &'f Names<'a>,
        exported: &'f BTreeMap<String, usize>,
        added: &'f BTreeMap<String, usize>,
    ) -> Self {
        let module: Vec<String> = file.module.split("::").map(str::to_owned).collect();
        let mut uses =
            Self { module, names, exported, added, imported: BTreeMap::new(), found: BTreeMap::new() };
        for item in &file.syntax.items {
            match item {
                Item::Use(item) => {
                    let mut all = Vec::new();
                    each_leaf(&item.tree, &mut Vec::new(), &mut |parts, name| {
                        all.push((parts.to_vec(), name.to_owned()));
                    });
                    for (parts, name) in all {
                        let Some(full) = uses.absolute(&parts) else { continue };
                        if names.by_module.contains_key(full.join("::").as_str()) {
                            // That it is in scope is no use of it; what is called by that name is.
                            uses.imported.insert(name, full);
                        } else {
                            uses.add(&full, &parts.join("::"));
                        }
                    }
                }
                Item::Mod(item) if item.content.is_none() => {
                    let mut full = uses.module.clone();
                    full.push(item.ident.to_string());
                    uses.imported.insert(item.ident.to_string(), full);
                }
                _ => {}
            }
        }
        uses
    }

    /// A path of this crate from its root; none for one of another crate, or of what is in scope.
    fn absolute(&self, parts: &[String]) -> Option<Vec<String>> {
        let (first, rest) = parts.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([self.module.as_slice(), rest].concat()),
            "super" => {
                let up = parts.iter().take_while(|part| *part == "super").count();
                let base = self.module.get(..self.module.len().checked_sub(up)?)?;
                Some([base, parts.get(up..)?].concat())
            }
            name => self
                .imported
                .get(name)
                .filter(|_| !rest.is_empty())
                .map(|module| [module.as_slice(), rest].concat()),
        }
    }

    fn add(&mut self, full: &[String], why: &str) {
        let owner = self.names.owner(full).or_else(|| self.exported.get(full.first()?).copied());
        if let Some(owner) = owner {
            self.found.entry(owner).or_insert_with(|| why.to_owned());
        }
    }
}

impl<'ast> Visit<'ast> for Uses<'_, '_> {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, _: &'ast syn::ItemUse) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(full) = self.absolute(&parts) {
            self.add(&full, &parts.join("::"));
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        // Other types have methods of such names, too: only what is called on the engine itself counts.
        let on_shared = matches!(call.receiver.as_ref(), syn::Expr::Path(path)
            if path.path.is_ident("engine"));
        if on_shared && let Some(owner) = self.added.get(&name) {
            self.found.entry(*owner).or_insert_with(|| format!(".{name}()"));
        }
        visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("src-tauri/crates/x/src/{name}"), *text)).collect();
        check(files.iter().map(|(path, text)| (path.as_str(), *text)))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn files_that_use_each_other_are_told_with_their_reasons() {
        let below = ("b.rs", "pub fn b() {}");
        for (name, files, expected) in [
            ("one way", vec![("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::b;"), below], vec![]),
            (
                "by use and by path",
                vec![
                    ("lib.rs", "mod a; mod b;"),
                    ("a.rs", "use crate::b::b; pub struct A;"),
                    ("b.rs", "pub fn b() { crate::a::A; }"),
                ],
                vec![
                    "src-tauri/crates/x/src/a.rs: files use each other in a circle: a uses b (crate::b::b); b uses a (crate::a::A)",
                ],
            ),
            (
                "by a module in scope",
                vec![
                    ("lib.rs", "mod a; mod b;"),
                    ("a.rs", "use crate::b; fn a() { b::b() }"),
                    ("b.rs", "pub fn b() { super::a::a() }"),
                ],
                vec![
                    "src-tauri/crates/x/src/a.rs: files use each other in a circle: a uses b (b::b); b uses a (super::a::a)",
                ],
            ),
            (
                "by what the root gives on",
                vec![
                    ("lib.rs", "mod a; mod b; pub use a::A;"),
                    ("a.rs", "use crate::b::b; pub struct A;"),
                    ("b.rs", "use crate::A; pub fn b() {}"),
                ],
                vec![
                    "src-tauri/crates/x/src/a.rs: files use each other in a circle: a uses b (crate::b::b); b uses a (crate::A)",
                ],
            ),
            (
                "by a method that another file adds",
                vec![
                    ("lib.rs", "mod a; mod b;"),
                    ("a.rs", "pub struct A; fn a(engine: &A) { engine.more() }"),
                    ("b.rs", "use crate::a::A; impl A { pub fn more(&self) {} }"),
                ],
                vec![
                    "src-tauri/crates/x/src/a.rs: files use each other in a circle: a uses b (.more()); b uses a (crate::a::A)",
                ],
            ),
            (
                "a part and its module",
                vec![
                    ("lib.rs", "mod a;"),
                    ("a.rs", "mod b; use b::b; pub struct A;"),
                    ("a/b.rs", "pub fn b(_: super::A) {}"),
                ],
                vec![],
            ),
            (
                "in tests alone",
                vec![
                    ("lib.rs", "mod a; mod b;"),
                    ("a.rs", "use crate::b::b; pub struct A;"),
                    (
                        "b.rs",
                        "pub fn b() {} #[cfg(test)] mod tests { use crate::a::A; fn t() { crate::a::A; } }",
                    ),
                ],
                vec![],
            ),
            (
                "in a file of tests",
                vec![
                    ("lib.rs", "mod a; #[cfg(test)] mod b;"),
                    ("a.rs", "use crate::b::b; pub struct A;"),
                    ("b.rs", "use crate::a::A; pub fn b() {}"),
                ],
                vec![],
            ),
        ] {
            assert_eq!(found(&files), expected, "{name}");
        }
    }

    #[test]
    fn each_module_of_the_engine_uses_what_stands_below_it() {
        let names: Vec<&str> = ENGINE_MODULES.iter().map(|(name, _)| *name).collect();
        for (at, (name, below)) in ENGINE_MODULES.iter().enumerate() {
            assert!(
                below.iter().all(|other| names.get(..at).is_some_and(|lower| lower.contains(other))),
                "{name}"
            );
        }
        let stale = format!("before\n{TABLE_BEGINS}| old |\n{TABLE_ENDS}\nafter\n");
        let fresh = with_engine_table(&stale).unwrap();
        assert!(fresh.contains("| `export` | `core`, `trust` |") && !fresh.contains("old"), "{fresh}");
        assert!(check_document(&stale).is_some() && check_document("no table").is_some());
        assert_eq!(check_document(&fresh), None);
    }
}
