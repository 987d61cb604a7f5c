//! Scripts: names followed through files, and the verdict on two of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    Contract, Findings,
    module::{self, Export, Kind, Module, Take, Via},
    resolve::{self, Target},
};
use crate::{Files, Language};

/// Files that are read to follow one name, at most.
const MAX_FILES: usize = 4_000;

/// What every object and function has without exporting it.
const INHERITED: [&str; 15] = [
    "toString",
    "valueOf",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "constructor",
    "call",
    "apply",
    "bind",
    "name",
    "length",
    "prototype",
    "__proto__",
    "__esModule",
];

pub(super) fn judge(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut graph = Graph { files, near: exporter, modules: BTreeMap::new() };
    let mut findings = Findings::default();
    let taken = match graph.module(importer) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("{importer} cannot be read: {reason}")),
    };
    let offered = match graph.module(exporter) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("{exporter} cannot be read: {reason}")),
    };
    findings.exported = graph.all_names(exporter, &mut BTreeSet::new());
    let mut asked = false;
    let mut used = false;
    for request in &taken.requests {
        let Target::Files(targets) = resolve::resolve(files, importer, &request.specifier, exporter) else {
            continue;
        };
        if !targets.iter().any(|target| resolve::same(target, exporter)) {
            continue;
        }
        asked = true;
        for take in &request.takes {
            used |= graph.take(exporter, &offered, importer, request.via, take, &mut findings);
        }
    }
    if !asked {
        let more = if taken.computed_requests { "; it asks for files by computed names, too" } else { "" };
        return findings.nothing(format!("{importer} takes nothing from {exporter}{more}"));
    }
    if !used {
        return findings.nothing(format!("{importer} names {exporter}, but uses nothing of it"));
    }
    findings.verdict(importer, exporter)
}

/// Whether a name is there, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Yes {
        /// The file and the name where it is made.
        origin: (String, String),
        type_only: bool,
    },
    No,
    /// Two files offer it; then the language takes neither.
    Twice,
    Unknown(String),
}

struct Graph<'f> {
    files: &'f dyn Files,
    near: &'f str,
    modules: BTreeMap<String, Result<Rc<Module>, String>>,
}

impl Graph<'_> {
    fn module(&mut self, path: &str) -> Result<Rc<Module>, String> {
        if let Some(known) = self.modules.get(path) {
            return known.clone();
        }
        if self.modules.len() >= MAX_FILES {
            return Err("too many files lie behind it".to_owned());
        }
        let read = if Language::of(path) == Some(Language::Script) {
            let bytes = self.files.read(path).map_err(|error| error.to_string());
            bytes.and_then(|bytes| module::read(path, &bytes)).map(Rc::new)
        } else {
            Err("it is no script".to_owned())
        };
        self.modules.insert(path.to_owned(), read.clone());
        read
    }

    /// Judges one use; whether it is one.
    fn take(
        &mut self,
        exporter: &str,
        offered: &Module,
        importer: &str,
        via: Via,
        take: &Take,
        findings: &mut Findings,
    ) -> bool {
        match take {
            Take::Nothing => return false,
            Take::Link => {}
            Take::Opaque(reason) => {
                findings.doubts.push(format!("it cannot be known what is taken, as {reason}"));
            }
            Take::Whole if offered.whole => {}
            Take::Whole => {
                findings.doubts.push("it is used as one value, which it does not set".to_owned());
            }
            Take::Name { name, type_only } => {
                findings.imported.insert(name.clone());
                let value_needed = !type_only && !resolve::is_typed(importer);
                match self.find(exporter, name, via, &mut BTreeSet::new()) {
                    Found::Yes { type_only: true, .. } if value_needed => {
                        findings.missing.insert(name.clone(), "is a type only".to_owned());
                    }
                    Found::Yes { .. } => {}
                    Found::Unknown(reason) => findings.doubts.push(format!("{name}: {reason}")),
                    Found::Twice => {
                        findings.missing.insert(name.clone(), "is exported by two of its files".to_owned());
                    }
                    Found::No => {
                        findings.missing.insert(name.clone(), "is not exported".to_owned());
                    }
                }
            }
        }
        true
    }

    fn find(&mut self, path: &str, name: &str, via: Via, seen: &mut BTreeSet<(String, String)>) -> Found {
        if !seen.insert((path.to_owned(), name.to_owned())) {
            return Found::No;
        }
        let module = match self.module(path) {
            Ok(module) => module,
            Err(_) if path.ends_with(".json") && name == "default" => return yes(path, name),
            Err(reason) => return Found::Unknown(format!("{path}: {reason}")),
        };
        match module.names.get(name) {
            Some(Export::Local { type_only }) => {
                return Found::Yes { origin: (path.to_owned(), name.to_owned()), type_only: *type_only };
            }
            Some(Export::From { specifier, name: there }) => {
                return match resolve::resolve(self.files, path, specifier, self.near) {
                    Target::Files(files) => self.find(&files[0], there, Via::Import, seen),
                    // It is named here; whether the package has it is its own matter.
                    Target::Outside => yes(path, name),
                    Target::Nowhere => {
                        Found::Unknown(format!("{path} takes it from {specifier}, which is not there"))
                    }
                };
            }
            None => {}
        }
        if module.kind != Kind::Es {
            if via == Via::Import && name == "default" {
                return self.default_of(path, &module);
            }
            if via == Via::Require && INHERITED.contains(&name) {
                return yes(path, name);
            }
        } else if via == Via::Require && name == "__esModule" {
            return yes(path, name);
        }
        self.find_behind(path, &module, name, via, seen)
    }

    /// Behind `export *` and `module.exports = require(..)`.
    fn find_behind(
        &mut self,
        path: &str,
        module: &Module,
        name: &str,
        via: Via,
        seen: &mut BTreeSet<(String, String)>,
    ) -> Found {
        let mut found: Option<Found> = None;
        let mut doubt = module.open.first().map(|reason| format!("{path}: {reason}"));
        // `export *` leaves the default out.
        let stars: &[String] = if module.kind == Kind::Es && name == "default" { &[] } else { &module.stars };
        for specifier in stars {
            let target = resolve::resolve(self.files, path, specifier, self.near);
            let one = match target {
                Target::Files(files) => self.find(&files[0], name, via, seen),
                Target::Outside => {
                    Found::Unknown(format!("{path} exports all of {specifier}, which is not read here"))
                }
                Target::Nowhere => {
                    Found::Unknown(format!("{path} exports all of {specifier}, which is not there"))
                }
            };
            match (one, &found) {
                (Found::No, _) => {}
                (Found::Unknown(reason), _) => doubt = doubt.or(Some(reason)),
                (Found::Twice, _) => found = Some(Found::Twice),
                (Found::Yes { origin, .. }, Some(Found::Yes { origin: known, .. })) if *known != origin => {
                    if module.kind == Kind::Es {
                        found = Some(Found::Twice);
                    }
                }
                (one @ Found::Yes { .. }, None) => found = Some(one),
                (Found::Yes { .. }, Some(_)) => {}
            }
        }
        found.or_else(|| doubt.map(Found::Unknown)).unwrap_or(Found::No)
    }

    /// The default of a file without ES module syntax is what it exports as a whole.
    fn default_of(&self, path: &str, module: &Module) -> Found {
        if module.kind == Kind::Common {
            return yes(path, "default");
        }
        let package = resolve::package(self.files, path).map(|(_, manifest)| manifest);
        let is_module = path.ends_with(".mjs")
            || package.is_some_and(|manifest| {
                manifest.get("type").and_then(|kind| kind.as_str()) == Some("module")
            });
        if is_module {
            return Found::No;
        }
        Found::Unknown(format!("{path} neither exports anything nor says what kind of module it is"))
    }

    /// Every name that is known, through all files.
    fn all_names(&mut self, path: &str, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(path.to_owned()) {
            return BTreeSet::new();
        }
        let Ok(module) = self.module(path) else { return BTreeSet::new() };
        let mut names: BTreeSet<String> = module.names.keys().cloned().collect();
        if module.kind == Kind::Common && module.whole {
            names.insert("default".to_owned());
        }
        for specifier in &module.stars {
            if let Target::Files(files) = resolve::resolve(self.files, path, specifier, self.near) {
                let behind = self.all_names(&files[0], seen);
                names.extend(behind.into_iter().filter(|name| module.kind != Kind::Es || name != "default"));
            }
        }
        names
    }
}

fn yes(path: &str, name: &str) -> Found {
    Found::Yes { origin: (path.to_owned(), name.to_owned()), type_only: false }
}
