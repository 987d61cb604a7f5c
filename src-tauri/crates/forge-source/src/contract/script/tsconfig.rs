//! What tsconfig.json and jsconfig.json say of a specifier: `paths` and `baseUrl`, their own or those of the
//! configurations they extend.

use serde_json::{Map, Value};

use super::{json::json, probe::probe};
use crate::{Files, files};

/// Chains of configurations are short; a ring of them ends here.
const MAX_DEPTH: usize = 5;

/// The file that the configurations above a file mean by a specifier.
pub(super) fn resolve(files: &dyn Files, from: &str, specifier: &str, typed: bool) -> Option<String> {
    for folder in files::folders(from) {
        for name in ["tsconfig.json", "jsconfig.json", "tsconfig.app.json", "tsconfig.base.json"] {
            let Some(path) = files::join(folder, name).filter(|path| files.is_file(path)) else { continue };
            if let Some(found) = by_config(files, &path, specifier, typed, 0) {
                return Some(found);
            }
        }
    }
    None
}

fn by_config(files: &dyn Files, path: &str, specifier: &str, typed: bool, depth: usize) -> Option<String> {
    let config = json(files, path)?;
    let mut options = Options::default();
    options.read(files, path, &config, 0);
    if let Some(found) = options.resolve(files, specifier, typed) {
        return Some(found);
    }
    let references = config.get("references").and_then(Value::as_array).into_iter().flatten();
    let mut referenced = references.filter_map(|one| one.get("path")?.as_str());
    referenced.find_map(|other| {
        let path = beside(files, path, other).filter(|_| depth < MAX_DEPTH)?;
        by_config(files, &path, specifier, typed, depth + 1)
    })
}

/// A configuration that another names; those of packages are not looked for.
fn beside(files: &dyn Files, path: &str, other: &str) -> Option<String> {
    let path = files::join(files::parent(path), other).filter(|_| other.starts_with('.'))?;
    let mut places = [path.clone(), format!("{path}.json"), format!("{path}/tsconfig.json")].into_iter();
    places.find(|path| files.is_file(path))
}

/// What is known of a configuration; what it says itself stands before what it extends.
#[derive(Default)]
struct Options {
    base_url: Option<String>,
    /// With the folder of the configuration that says so.
    paths: Option<(String, Map<String, Value>)>,
}

impl Options {
    fn read(&mut self, files: &dyn Files, path: &str, config: &Value, depth: usize) {
        let folder = files::parent(path);
        let option = |name: &str| config.get("compilerOptions")?.get(name);
        if self.base_url.is_none() {
            self.base_url =
                option("baseUrl").and_then(Value::as_str).and_then(|url| files::join(folder, url));
        }
        if self.paths.is_none() {
            self.paths =
                option("paths").and_then(Value::as_object).map(|paths| (folder.to_owned(), paths.clone()));
        }
        let extended = match config.get("extends") {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect::<Vec<_>>(),
            None => Vec::new(),
        };
        // The last that is named has the last word.
        for other in extended.into_iter().rev().filter(|_| depth < MAX_DEPTH) {
            if let Some(path) = beside(files, path, other)
                && let Some(config) = json(files, &path)
            {
                self.read(files, &path, &config, depth + 1);
            }
        }
    }

    fn resolve(&self, files: &dyn Files, specifier: &str, typed: bool) -> Option<String> {
        if let Some((folder, paths)) = &self.paths
            && let Some((targets, star)) = best(paths, specifier)
        {
            let base = self.base_url.as_deref().unwrap_or(folder);
            let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
            let mut places = targets.filter_map(|target| files::join(base, &target.replace('*', star)));
            // No other pattern is tried, as in the compiler.
            return places.find_map(|path| probe(files, &path, typed));
        }
        let base = files::join(self.base_url.as_deref()?, specifier)?;
        probe(files, &base, typed)
    }
}

/// The pattern that fits exactly, else the one with the longest beginning.
fn best<'p, 's>(paths: &'p Map<String, Value>, specifier: &'s str) -> Option<(&'p Value, &'s str)> {
    if let Some(exact) = paths.get(specifier) {
        return Some((exact, ""));
    }
    let fitting = paths.iter().filter_map(|(pattern, targets)| {
        let (before, after) = pattern.split_once('*')?;
        let star = specifier.strip_prefix(before)?.strip_suffix(after)?;
        Some((before.len(), targets, star))
    });
    // Of two that are as long, the first.
    fitting.rev().max_by_key(|(length, _, _)| *length).map(|(_, targets, star)| (targets, star))
}
