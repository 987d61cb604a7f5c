//! Which file a script means by a specifier: relative paths with and without endings, folders, `paths` and
//! `baseUrl` of tsconfig.json, and a package's own name and `imports`.
//!
//! Packages outside the folder are not looked for.

use serde_json::Value;

use crate::{Files, files};

/// What a specifier means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// These files, the first of them at run time; others take its place under other conditions.
    Files(Vec<String>),
    /// A package or an address that is not in the folder.
    Outside,
    /// A path to nothing.
    Nowhere,
}

const TYPED: [&str; 13] =
    [".ts", ".tsx", ".d.ts", ".mts", ".d.mts", ".cts", ".d.cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ""];
const PLAIN: [&str; 13] =
    [".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json", ".d.ts", ".d.mts", ".d.cts", ""];

/// Resolves what `from` asks for. `near` is a file whose package may be asked for by its name.
pub(super) fn resolve(files: &dyn Files, from: &str, specifier: &str, near: &str) -> Target {
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
            .and_then(|(folder, manifest)| mapped(files, &folder, manifest.get("imports")?, specifier, typed))
            .map_or(Target::Nowhere, Target::Files);
    }
    if let Some(found) = by_paths(files, from, specifier, typed) {
        return one(found);
    }
    for file in [from, near] {
        if let Some(found) = by_name(files, file, specifier, typed) {
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
    [".ts", ".tsx", ".mts", ".cts"].iter().any(|ending| path.ends_with(ending))
}

fn one(path: String) -> Target {
    Target::Files(vec![path])
}

/// The file at a path that may lack its ending, or name a folder.
fn probe(files: &dyn Files, base: &str, typed: bool) -> Option<String> {
    // TypeScript asks for `a.ts` by the name of what it becomes.
    for (made, sources) in [
        (".js", &[".ts", ".tsx", ".d.ts"][..]),
        (".jsx", &[".tsx"]),
        (".mjs", &[".mts", ".d.mts"]),
        (".cjs", &[".cts", ".d.cts"]),
    ] {
        let Some(stem) = base.strip_suffix(made) else { continue };
        let source = sources.iter().map(|ending| format!("{stem}{ending}")).find(|path| files.is_file(path));
        match source {
            Some(source) if typed || !files.is_file(base) => return Some(source),
            _ => {}
        }
    }
    if !base.is_empty() && files.is_file(base) {
        return Some(base.to_owned());
    }
    let endings = if typed { TYPED } else { PLAIN };
    if let Some(found) =
        endings.iter().map(|ending| format!("{base}{ending}")).find(|path| files.is_file(path))
    {
        return Some(found);
    }
    let inside = |name: &str| files::join(base, name);
    if let Some(manifest) = inside("package.json").and_then(|path| json(files, &path)) {
        for key in ["types", "module", "main"].into_iter().skip(usize::from(!typed)) {
            let entry = manifest.get(key).and_then(Value::as_str).and_then(inside);
            if let Some(entry) = entry.filter(|entry| entry != base)
                && let Some(found) = probe(files, &entry, typed)
            {
                return Some(found);
            }
        }
    }
    endings.iter().filter_map(|ending| inside(&format!("index{ending}"))).find(|path| files.is_file(path))
}

fn json(files: &dyn Files, path: &str) -> Option<Value> {
    let bytes = files.read(path).ok()?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes)).into_owned();
    serde_json::from_str(&text).or_else(|_| serde_json::from_str(&without_comments(&text))).ok()
}

/// The nearest package above a file: its folder and what it says of itself.
pub(super) fn package(files: &dyn Files, from: &str) -> Option<(String, Value)> {
    files::folders(from).into_iter().find_map(|folder| {
        let manifest = json(files, &files::join(folder, "package.json")?)?;
        Some((folder.to_owned(), manifest))
    })
}

/// A package that is asked for by its own name.
fn by_name(files: &dyn Files, file: &str, specifier: &str, typed: bool) -> Option<Target> {
    let (folder, manifest) = package(files, file)?;
    let name = manifest.get("name").and_then(Value::as_str)?;
    let rest = specifier.strip_prefix(name)?;
    if !rest.is_empty() && !rest.starts_with('/') {
        return None;
    }
    if let Some(exports) = manifest.get("exports") {
        let found = mapped(files, &folder, exports, &format!(".{rest}"), typed);
        return Some(found.map_or(Target::Nowhere, Target::Files));
    }
    let base = files::join(&folder, rest.trim_start_matches('/'))?;
    Some(probe(files, &base, typed).map_or(Target::Nowhere, one))
}

/// What `exports` or `imports` of a package say of a key.
fn mapped(files: &dyn Files, folder: &str, map: &Value, key: &str, typed: bool) -> Option<Vec<String>> {
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
    let mut targets = Vec::new();
    leaves(value, &mut targets);
    let mut found: Vec<String> = Vec::new();
    for target in targets {
        let base = files::join(folder, &target.replace('*', star));
        if let Some(path) = base.and_then(|base| probe(files, &base, typed))
            && !found.contains(&path)
        {
            found.push(path);
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The paths under all conditions, in their order.
fn leaves<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::String(path) if path.starts_with("./") => found.push(path),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(values) => values.values().for_each(|value| leaves(value, found)),
        _ => {}
    }
}

/// What the nearest tsconfig.json or jsconfig.json says of a specifier.
fn by_paths(files: &dyn Files, from: &str, specifier: &str, typed: bool) -> Option<String> {
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
    let folder = files::parent(path);
    let options = config.get("compilerOptions");
    let base_url = options.and_then(|options| options.get("baseUrl")).and_then(Value::as_str);
    let base = base_url.map_or_else(|| Some(folder.to_owned()), |url| files::join(folder, url))?;
    let paths = options.and_then(|options| options.get("paths")).and_then(Value::as_object);
    for (pattern, targets) in paths.into_iter().flatten() {
        let star = match pattern.split_once('*') {
            Some((before, after)) => specifier.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)),
            None => (pattern == specifier).then_some(""),
        };
        let Some(star) = star else { continue };
        for target in targets.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let path = files::join(&base, &target.replace('*', star));
            if let Some(found) = path.and_then(|path| probe(files, &path, typed)) {
                return Some(found);
            }
        }
    }
    if base_url.is_some()
        && let Some(found) = files::join(&base, specifier).and_then(|path| probe(files, &path, typed))
    {
        return Some(found);
    }
    // Chains of configurations are short; a ring of them ends here.
    let extended = config.get("extends").into_iter().flat_map(|value| match value {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        value => value.as_str().into_iter().collect::<Vec<_>>(),
    });
    let references = config.get("references").and_then(Value::as_array).into_iter().flatten();
    let referenced = references.filter_map(|one| one.get("path")?.as_str());
    let mut others = extended.chain(referenced).filter(|other| other.starts_with('.') && depth < 5);
    others.find_map(|other| {
        let path = files::join(folder, other)?;
        let path = [path.clone(), format!("{path}.json"), format!("{path}/tsconfig.json")];
        let path = path.iter().find(|path| files.is_file(path))?;
        by_config(files, path, specifier, typed, depth + 1)
    })
}

/// JSON as TypeScript's configuration is written: comments and trailing commas blanked.
fn without_comments(text: &str) -> String {
    let mut out: Vec<u8> = text.bytes().collect();
    let (mut at, mut comma) = (0, None);
    while at < out.len() {
        match (out[at], out.get(at + 1)) {
            (b'"', _) => {
                comma = None;
                at += 1;
                while at < out.len() && out[at] != b'"' {
                    at += 1 + usize::from(out[at] == b'\\');
                }
                at += 1;
            }
            (b'/', Some(b'/')) => {
                while at < out.len() && out[at] != b'\n' {
                    out[at] = b' ';
                    at += 1;
                }
            }
            (b'/', Some(b'*')) => {
                let end = text.as_bytes()[at + 2..].windows(2).position(|pair| pair == b"*/");
                let end = end.map_or(out.len(), |end| at + end + 4);
                out[at..end].fill(b' ');
                at = end;
            }
            (b',', _) => {
                comma = Some(at);
                at += 1;
            }
            (byte @ (b']' | b'}'), _) => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
                out[at] = byte;
                at += 1;
            }
            (byte, _) => {
                if !byte.is_ascii_whitespace() {
                    comma = None;
                }
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
