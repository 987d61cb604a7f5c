//! The engine's public face: how many methods it has, where they stand, and that they only forward.

use syn::{ImplItem, Item, Visibility};

use super::{Finding, is_for_tests};

/// The crate of the engine.
const ENGINE: &str = "src-tauri/crates/forge-engine/src/";
/// The type whose methods are counted.
const TYPE: &str = "Engine";
/// Where its methods may stand: the public face, and the file that defines it.
const FACE: &str = "face/";
const HANDLE: &str = "core/engine.rs";
/// One method an operation of the contract, with some for the life of an engine.
const MOST_PUBLIC: usize = 170;
const MOST_INNER: usize = 30;
/// A method of the face calls its feature.
const MOST_STATEMENTS: usize = 2;

/// Checks the sources of the engine: pairs of a path from the root and a text.
pub fn check<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Finding> {
    let (mut public, mut inner, mut findings) = (0, 0, Vec::new());
    for (path, text) in sources {
        let Some(file) = path.strip_prefix(ENGINE).filter(|file| file.ends_with(".rs")) else { continue };
        // What does not parse is told by another check.
        let Ok(syntax) = syn::parse_file(text) else { continue };
        let methods: Vec<&syn::ImplItemFn> = syntax.items.iter().flat_map(methods_of_engine).collect();
        if methods.is_empty() {
            continue;
        }
        let is_face = file.starts_with(FACE);
        if !is_face && file != HANDLE {
            let message = format!(
                "has methods of `{TYPE}`: make them functions that take the engine; what is public is forwarded from \
                 {FACE}"
            );
            findings.push(Finding::of_file(path, message));
        }
        for method in methods {
            match method.vis {
                Visibility::Public(_) => public += 1,
                Visibility::Restricted(_) | Visibility::Inherited => inner += 1,
            }
            if is_face && method.block.stmts.len() > MOST_STATEMENTS {
                let message = format!("`{}` does more than call its feature", method.sig.ident);
                findings.push(Finding::of_file(path, message));
            }
        }
    }
    for (count, most, what) in [(public, MOST_PUBLIC, "public"), (inner, MOST_INNER, "inner")] {
        if count > most {
            let message = format!(
                "`{TYPE}` has {count} {what} methods, at most {most} are right: fold those that are no operation of the \
                 contract"
            );
            findings.push(Finding::of_file(ENGINE, message));
        }
    }
    findings
}

/// The methods that an item adds to the engine itself, those of traits left out.
fn methods_of_engine(item: &Item) -> Vec<&syn::ImplItemFn> {
    let Item::Impl(item) = item else { return Vec::new() };
    let is_engine = matches!(item.self_ty.as_ref(), syn::Type::Path(of) if of.path.segments.last().is_some_and(|of| of.ident == TYPE));
    if !is_engine || item.trait_.is_some() || is_for_tests(&item.attrs) {
        return Vec::new();
    }
    item.items
        .iter()
        .filter_map(|item| match item {
            ImplItem::Fn(method) => Some(method),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("{ENGINE}{name}"), *text)).collect();
        check(files.iter().map(|(path, text)| (path.as_str(), *text)))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn methods(count: usize, visibility: &str) -> String {
        let methods: String = (0..count).map(|at| format!("{visibility} fn m{at}(&self) {{}}\n")).collect();
        format!("impl Engine {{ {methods} }}")
    }

    #[test]
    fn methods_of_the_engine_stand_in_its_face_and_are_few() {
        for (name, file, text, expected) in [
            ("face", "face/task.rs", methods(MOST_PUBLIC, "pub"), None),
            ("handle", "core/engine.rs", methods(MOST_INNER, "pub(crate)"), None),
            ("one too many", "face/task.rs", methods(MOST_PUBLIC + 1, "pub"), Some("171 public methods")),
            ("one too many within", "core/engine.rs", methods(MOST_INNER + 1, ""), Some("31 inner methods")),
            ("elsewhere", "core/workers.rs", methods(1, "pub(crate)"), Some("has methods of `Engine`")),
            ("a trait", "core/workers.rs", "impl Clone for Engine { fn clone(&self) {} }".to_owned(), None),
            ("another type", "core/workers.rs", "impl Hold { fn kick(&self) {} }".to_owned(), None),
            ("tests", "core/workers.rs", "#[cfg(test)] impl Engine { fn kick(&self) {} }".to_owned(), None),
            (
                "logic",
                "face/task.rs",
                "impl Engine { pub fn m(&self) { a(); b(); c() } }".to_owned(),
                Some("`m` does more than call its feature"),
            ),
        ] {
            let found = found(&[(file, &text)]);
            match expected {
                None => assert!(found.is_empty(), "{name}: {found:?}"),
                Some(part) => assert!(matches!(&found[..], [one] if one.contains(part)), "{name}: {found:?}"),
            }
        }
    }
}
