//! Which file a script means by a specifier: relative paths with and without endings, folders, `paths` and
//! `baseUrl` of tsconfig.json, and a package's own name and `imports`.
//!
//! Packages outside the folder are not looked for.

use serde_json::Value;

use super::{json::json, module::Via, probe::probe, tsconfig};
use crate::{Files, files};

/// What a specifier means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Files(Targets),
    /// A package or an address that is not in the folder.
    Outside,
    /// A path to nothing.
    Nowhere,
}

/// The files that a specifier may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Targets {
    /// What it means at run time and, where that is another, to the compiler; one at least.
    chosen: Vec<String>,
    /// What it means under conditions that a bundler or a flag may set.
    others: Vec<String>,
}

impl Targets {
    /// What it means at run time.
    pub(super) fn chosen(&self) -> &str {
        self.chosen.iter().chain(&self.others).next().map_or("", String::as_str)
    }

    /// Whether it may mean a file; then, whether it does without anybody's doing.
    pub(super) fn has(&self, path: &str) -> Option<bool> {
        let among = |files: &[String]| files.iter().any(|file| same(file, path));
        if among(&self.chosen) { Some(true) } else { among(&self.others).then_some(false) }
    }
}

/// Resolves what `from` asks for. `near` is a file whose package may be asked for by its name.
pub(super) fn resolve(files: &dyn Files, from: &str, specifier: &str, near: &str, via: Via) -> Target {
    // A suffix asks a bundler for something else than the module.
    if specifier.contains(['?', '\0']) || specifier.contains("://") || specifier.starts_with('/') {
        return Target::Outside;
    }
    let typed = is_typed(from);
    if specifier.starts_with("./") || specifier.starts_with("../") || matches!(specifier, "." | "..") {
        let base = files::join(files::parent(from), specifier);
        return base.and_then(|base| probe(files, &base, typed)).map_or(Target::Nowhere, one);
    }
    if specifier.starts_with('#') {
        return package(files, from)
            .and_then(|(folder, manifest)| {
                mapped(files, &folder, manifest.get("imports")?, specifier, &Conditions::of(from, via))
            })
            .map_or(Target::Nowhere, Target::Files);
    }
    if let Some(found) = tsconfig::resolve(files, from, specifier, typed) {
        return one(found);
    }
    for file in [from, near] {
        if let Some(found) = by_name(files, file, specifier, &Conditions::of(from, via)) {
            return found;
        }
    }
    Target::Outside
}

/// Whether two paths are one module: a file, or the declarations of its types beside it.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || (is_declaration(one) != is_declaration(other) && stem(one) == stem(other))
}

fn is_declaration(path: &str) -> bool {
    [".d.ts", ".d.mts", ".d.cts"].iter().any(|ending| path.ends_with(ending))
}

fn stem(path: &str) -> &str {
    let endings = [".d.ts", ".d.mts", ".d.cts", ".tsx", ".jsx", ".mts", ".cts", ".mjs", ".cjs", ".ts", ".js"];
    endings.iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path)
}

pub(super) fn is_typed(path: &str) -> bool {
    matches!(files::ending(path).as_str(), "ts" | "tsx" | "mts" | "cts")
}

fn one(path: String) -> Target {
    Target::Files(Targets { chosen: vec![path], others: Vec::new() })
}

/// The nearest package above a file: its folder and what it says of itself.
pub(super) fn package(files: &dyn Files, from: &str) -> Option<(String, Value)> {
    files::folders(from).into_iter().find_map(|folder| {
        let manifest = json(files, &files::join(folder, "package.json")?)?;
        Some((folder.to_owned(), manifest))
    })
}

/// A package that is asked for by its own name.
fn by_name(files: &dyn Files, file: &str, specifier: &str, conditions: &Conditions) -> Option<Target> {
    let (folder, manifest) = package(files, file)?;
    let name = manifest.get("name").and_then(Value::as_str)?;
    let rest = specifier.strip_prefix(name)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    if let Some(exports) = manifest.get("exports") {
        let found = mapped(files, &folder, exports, &format!(".{rest}"), conditions);
        return Some(found.map_or(Target::Nowhere, Target::Files));
    }
    let base = files::join(&folder, rest.trim_start_matches('/'))?;
    Some(probe(files, &base, conditions.typed).map_or(Target::Nowhere, one))
}

/// Under what conditions a file asks for another.
struct Conditions {
    typed: bool,
    /// The one way of asking that is known not to be this one; what TypeScript writes `import` may become
    /// `require`.
    excluded: Option<&'static str>,
    way: &'static str,
}

impl Conditions {
    fn of(from: &str, via: Via) -> Self {
        let typed = is_typed(from);
        let open = matches!(files::ending(from).as_str(), "ts" | "tsx");
        let (way, other) = match via {
            Via::Import => ("import", "require"),
            Via::Require => ("require", "import"),
        };
        Self { typed, excluded: (!open).then_some(other), way }
    }

    /// Whether a condition holds without anybody's doing.
    fn holds(&self, condition: &str, types: bool) -> bool {
        condition == self.way
            || matches!(condition, "default" | "node" | "module-sync" | "node-addons")
            || types && condition == "types"
    }

    /// The first path whose conditions all hold.
    fn chosen<'v>(&self, value: &'v Value, types: bool) -> Option<&'v str> {
        match value {
            Value::String(path) => Some(path),
            Value::Array(values) => values.iter().find_map(|value| self.chosen(value, types)),
            Value::Object(values) => values
                .iter()
                .filter(|(condition, _)| self.holds(condition, types))
                .find_map(|(_, value)| self.chosen(value, types)),
            _ => None,
        }
    }

    /// The paths under all conditions that may hold, in their order.
    fn leaves<'v>(&self, value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::String(path) => found.push(path),
            Value::Array(values) => values.iter().for_each(|value| self.leaves(value, found)),
            Value::Object(values) => values
                .iter()
                .filter(|(condition, _)| self.excluded != Some(condition.as_str()))
                .for_each(|(_, value)| self.leaves(value, found)),
            _ => {}
        }
    }
}

/// What `exports` or `imports` of a package say of a key.
fn mapped(
    files: &dyn Files,
    folder: &str,
    map: &Value,
    key: &str,
    conditions: &Conditions,
) -> Option<Targets> {
    let is_map = map.as_object().is_some_and(|map| map.keys().all(|key| key.starts_with(['.', '#'])));
    let (value, star) = if !is_map {
        ((key == ".").then_some(map)?, "")
    } else if let Some(value) = map.get(key) {
        (value, "")
    } else {
        let patterns = map.as_object()?.iter().filter_map(|(pattern, value)| {
            let (before, after) = pattern.split_once('*')?;
            let star = key.strip_prefix(before)?.strip_suffix(after)?;
            Some((before.len(), value, star))
        });
        let (_, value, star) = patterns.max_by_key(|(length, _, _)| *length)?;
        (value, star)
    };
    let file = |target: &str| {
        let base =
            target.strip_prefix("./").and_then(|path| files::join(folder, &path.replace('*', star)))?;
        probe(files, &base, conditions.typed)
    };
    let mut leaves = Vec::new();
    conditions.leaves(value, &mut leaves);
    let others: Vec<String> = leaves.into_iter().filter_map(file).collect();
    let ways = [Some(false), conditions.typed.then_some(true)].into_iter().flatten();
    let chosen: Vec<String> =
        ways.filter_map(|types| conditions.chosen(value, types).and_then(file)).collect();
    (!others.is_empty() || !chosen.is_empty()).then_some(Targets { chosen, others })
}
