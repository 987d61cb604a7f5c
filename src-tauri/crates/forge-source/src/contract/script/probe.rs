//! Which file a path means that may lack its ending or name a folder.

use serde_json::Value;

use super::json::json;
use crate::{Files, files};

const TYPED: [&str; 13] =
    [".ts", ".tsx", ".d.ts", ".mts", ".d.mts", ".cts", ".d.cts", ".js", ".jsx", ".mjs", ".cjs", ".json", ""];

const PLAIN: [&str; 13] =
    [".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".json", ".d.ts", ".d.mts", ".d.cts", ""];

/// The file at a path that may lack its ending, or name a folder.
pub(super) fn probe(files: &dyn Files, base: &str, typed: bool) -> Option<String> {
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
