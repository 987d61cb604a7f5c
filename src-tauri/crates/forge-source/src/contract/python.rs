//! Python: what one module takes from another, and the verdict on it.

mod builtins;
mod module;
mod parse;
mod reader;
mod tree;
mod uses;

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{Contract, Findings};
use crate::{Files, files};

use builtins::BUILTINS;
use module::{All, Module, Request, What};
use tree::{By, Found, Tree};

pub(super) fn judge(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut tree = Tree::new(files, exporter, importer);
    let taken = match tree.module(importer) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("could not read {importer}: {reason}")),
    };
    let offered = match tree.module(exporter) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("could not read {exporter}: {reason}")),
    };
    let exported = tree.all_names(exporter, &mut BTreeSet::new());
    let mut findings = Findings { exported, ..Findings::default() };
    let (mut asked, mut used) = (false, false);
    for request in &taken.requests {
        let Some(uses) = uses(&mut tree, &taken, request) else { continue };
        asked = true;
        match uses {
            Uses::Names(by, names) => {
                used |= !names.is_empty();
                for (name, certain) in names {
                    let found = tree.find(exporter, &name, by);
                    take(&tree, &name, found, request, certain, &mut findings);
                }
            }
            Uses::Star => {
                used = true;
                if let All::Names(all) = &offered.all {
                    for name in all {
                        let found = tree.find(exporter, name, By::Import);
                        take(&tree, name, found, request, true, &mut findings);
                    }
                }
                take_by_star(&mut tree, &taken, request, &mut findings);
            }
            Uses::Unclear(doubt) => {
                used = true;
                findings.doubts.push(doubt);
            }
            Uses::Linked => used = true,
        }
    }
    if !asked {
        return findings.nothing(format!("{importer} imports nothing from {exporter}"));
    }
    if !used {
        return findings.nothing(format!("{importer} imports {exporter} but uses nothing from it"));
    }
    findings.verdict(importer, exporter)
}

/// What one import does with the exporter.
enum Uses {
    /// Names, and whether they must be there.
    Names(By, BTreeMap<String, bool>),
    Star,
    /// It cannot be told, for this reason.
    Unclear(String),
    /// It is only loaded.
    Linked,
}

fn take(
    tree: &Tree<'_>,
    name: &str,
    found: Found,
    request: &Request,
    certain: bool,
    findings: &mut Findings,
) {
    findings.imported.insert(name.to_owned());
    let wrong = match found {
        Found::Yes => return,
        Found::Typing if request.typing || files::ending(tree.exporter) == "pyi" => return,
        Found::Typing => "exists for type checkers only",
        Found::No => "is not defined",
        Found::Unknown(reason) => return findings.doubts.push(format!("{name}: {reason}")),
    };
    if certain && !request.optional {
        findings.missing.insert(name.to_owned(), wrong.to_owned());
    } else {
        findings.doubts.push(format!("{name} {wrong}, but its import is optional"));
    }
}

/// What an import does with the exporter; `None` if it is about another module.
fn uses(tree: &mut Tree<'_>, module: &Module, request: &Request) -> Option<Uses> {
    let (exporter, importer) = (tree.exporter, tree.importer);
    let is_exporter = |found: Option<String>| found.as_deref() == Some(exporter);
    let by_name = is_exporter(tree.resolve(importer, request.level, &request.module));
    match &request.what {
        What::Star => by_name.then_some(Uses::Star),
        What::Module { prefix } => by_name.then(|| {
            let doubt = match request.module.rsplit_once('.') {
                Some((package, name)) => value_instead(tree, 0, package, name),
                None => None,
            };
            doubt.unwrap_or_else(|| used_by(tree, module, prefix))
        }),
        What::Name { name, local } => {
            let inside =
                if request.module.is_empty() { name.clone() } else { format!("{}.{name}", request.module) };
            if is_exporter(tree.resolve(importer, request.level, &inside)) {
                let doubt = value_instead(tree, request.level, &request.module, name);
                return Some(doubt.unwrap_or_else(|| used_by(tree, module, local)));
            }
            by_name.then(|| Uses::Names(By::Import, [(name.clone(), true)].into()))
        }
    }
}

/// A package may give the name of its module to something else, which is then what is used.
fn value_instead(tree: &mut Tree<'_>, level: u32, package: &str, name: &str) -> Option<Uses> {
    let package = tree.resolve(tree.importer, level, package)?;
    if package == tree.exporter || !files::name(&package).starts_with("__init__.") {
        return None;
    }
    let hidden = tree.hides(&package, name, tree.exporter);
    hidden.then(|| Uses::Unclear(format!("{package} defines its own {name}")))
}

/// What is asked of a module by the words before its names.
fn used_by(tree: &mut Tree<'_>, module: &Module, prefix: &str) -> Uses {
    let first = prefix.split('.').next().unwrap_or_default();
    let rebound = module.bindings.get(first).is_some_and(|count| *count > 1) && !prefix.contains('.');
    if rebound || (module.bare.contains(first) && !prefix.contains('.')) || star_gives(tree, module, first) {
        return Uses::Unclear(format!("the imported names are unknown: {first} is passed on as a whole"));
    }
    let Some(asked) = module.attributes.get(prefix) else { return Uses::Linked };
    let names = asked.iter().map(|(name, certain)| {
        let own = module.written.contains(&(prefix.to_owned(), name.clone()));
        (name.clone(), *certain && !own)
    });
    Uses::Names(By::Attribute, names.collect())
}

/// Whether `import *` of another module may give the name of this one a new meaning.
fn star_gives(tree: &mut Tree<'_>, module: &Module, name: &str) -> bool {
    module.stars.iter().any(|(level, dotted)| {
        let target = tree.resolve(tree.importer, *level, dotted);
        target.is_some_and(|target| tree.find_by_star(&target, name) == Found::Yes)
    })
}

/// What `import *` gives is what the importer uses and does not bind itself.
fn take_by_star(tree: &mut Tree<'_>, module: &Module, request: &Request, findings: &mut Findings) {
    let exporter = tree.exporter;
    let targets: Vec<Option<String>> =
        module.stars.iter().map(|(level, dotted)| tree.resolve(tree.importer, *level, dotted)).collect();
    let alone = targets.iter().all(|target| target.as_deref() == Some(exporter));
    let free = module.loads.iter().filter(|(name, _)| {
        let bound = module.bindings.contains_key(name.as_str());
        !bound && !name.starts_with("__") && !BUILTINS.contains(&name.as_str())
    });
    for (name, certain) in free {
        match tree.find_by_star(exporter, name) {
            Found::No => {}
            found => {
                take(tree, name, found, request, *certain, findings);
                continue;
            }
        }
        let mut others = targets.iter().filter(|target| target.as_deref() != Some(exporter));
        if alone && module.open.is_empty() {
            take(tree, name, Found::No, request, *certain, findings);
        } else if alone || others.all(|other| lacks(tree, other.as_deref(), name)) {
            findings.imported.insert(name.clone());
            findings.doubts.push(format!("{name}: its origin is unknown"));
        }
    }
}

fn lacks(tree: &mut Tree<'_>, path: Option<&str>, name: &str) -> bool {
    path.is_some_and(|path| tree.find_by_star(path, name) == Found::No)
}
