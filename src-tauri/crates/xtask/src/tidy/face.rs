//! The engine's public face, and the context that its functions take: how many methods they have, where these stand,
//! and that the face only forwards.

use syn::{ImplItem, Item, Visibility};

use super::{Finding, is_for_tests};

/// The crate of the engine.
const ENGINE: &str = "src-tauri/crates/forge-engine/src/";
/// A method of the face calls its feature.
const MOST_STATEMENTS: usize = 2;

/// A type whose methods are counted.
struct Counted {
    name: &'static str,
    /// Where its methods may stand.
    place: &'static str,
    /// The most that are public.
    public: usize,
    /// The most that are not.
    inner: usize,
}

const COUNTED: [Counted; 2] = [
    // One method an operation of the contract, with some for the life of an engine.
    Counted { name: "Engine", place: "face/", public: 204, inner: 0 },
    Counted { name: "World", place: "core/world.rs", public: 0, inner: 30 },
];

/// Checks the sources of the engine: pairs of a path from the root and a text.
pub fn check<'a>(sources: &(impl Iterator<Item = (&'a str, &'a str)> + Clone)) -> Vec<Finding> {
    COUNTED.iter().flat_map(|counted| check_type(counted, sources.clone())).collect()
}

fn check_type<'a>(counted: &Counted, sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Finding> {
    let Counted { name, place, .. } = counted;
    let (mut public, mut inner, mut findings) = (0, 0, Vec::new());
    for (path, text) in sources {
        let Some(file) = path.strip_prefix(ENGINE).filter(|file| file.ends_with(".rs")) else { continue };
        // What does not parse is told by another check.
        let Ok(syntax) = syn::parse_file(text) else { continue };
        let methods: Vec<&syn::ImplItemFn> =
            syntax.items.iter().flat_map(|item| methods_of(name, item)).collect();
        if methods.is_empty() {
            continue;
        }
        if !file.starts_with(place) {
            let message = format!(
                "has methods of `{name}`, which stand in {place}: make them functions that take the world; what is \
                 public is forwarded from the face"
            );
            findings.push(Finding::of_file(path, message));
        }
        for method in methods {
            match method.vis {
                Visibility::Public(_) => public += 1,
                Visibility::Restricted(_) | Visibility::Inherited => inner += 1,
            }
            if place.ends_with('/') && method.block.stmts.len() > MOST_STATEMENTS {
                let message = format!("`{}` does more than call its feature", method.sig.ident);
                findings.push(Finding::of_file(path, message));
            }
        }
    }
    for (count, most, what) in [(public, counted.public, "public"), (inner, counted.inner, "inner")] {
        if count > most {
            let message = format!(
                "`{name}` has {count} {what} methods, at most {most} are right: fold those that are no operation of the \
                 contract"
            );
            findings.push(Finding::of_file(ENGINE, message));
        }
    }
    findings
}

/// The methods that an item adds to a type itself, those of traits left out.
fn methods_of<'a>(name: &str, item: &'a Item) -> Vec<&'a syn::ImplItemFn> {
    let Item::Impl(item) = item else { return Vec::new() };
    let is_it = matches!(item.self_ty.as_ref(), syn::Type::Path(of) if of.path.segments.last().is_some_and(|of| of.ident == name));
    if !is_it || item.trait_.is_some() || is_for_tests(&item.attrs) {
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
        check(&files.iter().map(|(path, text)| (path.as_str(), *text)))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn methods(of: &str, count: usize, visibility: &str) -> String {
        let methods: String = (0..count).map(|at| format!("{visibility} fn m{at}(&self) {{}}\n")).collect();
        format!("impl {of} {{ {methods} }}")
    }

    #[test]
    fn methods_of_engine_and_world_stand_in_their_places_and_are_few() {
        for (name, file, text, expected) in [
            ("face", "face/task.rs", methods("Engine", 204, "pub"), None),
            ("world", "core/world.rs", methods("World", 30, "pub(crate)"), None),
            ("one too many", "face/task.rs", methods("Engine", 205, "pub"), Some("205 public methods")),
            ("one too many within", "core/world.rs", methods("World", 31, ""), Some("31 inner methods")),
            ("inner one of the face", "face/task.rs", methods("Engine", 1, ""), Some("1 inner methods")),
            (
                "public one of the world",
                "core/world.rs",
                methods("World", 1, "pub"),
                Some("1 public methods"),
            ),
            (
                "elsewhere",
                "core/workers.rs",
                methods("World", 1, "pub(crate)"),
                Some("has methods of `World`"),
            ),
            ("a trait", "core/workers.rs", "impl Clone for World { fn clone(&self) {} }".to_owned(), None),
            ("another type", "core/workers.rs", "impl Hold { fn kick(&self) {} }".to_owned(), None),
            ("tests", "core/workers.rs", "#[cfg(test)] impl World { fn kick(&self) {} }".to_owned(), None),
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
