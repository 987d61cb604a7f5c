//! Scripts: names followed through files, and the verdict on two of them.

mod bindings;
mod commonjs;
mod es;
mod exports;
mod json;
mod module;
mod natures;
mod parse;
mod probe;
mod resolve;
mod runs;
mod tsconfig;
mod uses;
mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::findings::{Contract, Findings};
use crate::{Files, Language, files};

use module::{Export, Form, Kind, Module, Star, Take, Via};
use natures::{Inherits, OBJECT};
use resolve::Target;

/// Files that are read to follow one name, at most.
const MAX_FILES: usize = 4_000;

pub(super) fn judge(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut graph = Graph { files, near: exporter, modules: BTreeMap::new() };
    let mut findings = Findings::default();
    let taken = match graph.module(importer) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("could not read {importer}: {reason}")),
    };
    let offered = match graph.module(exporter) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("could not read {exporter}: {reason}")),
    };
    findings.exported = graph.all_names(exporter, &mut BTreeSet::new());
    let mut asked = false;
    let mut used = false;
    for request in &taken.requests {
        let via = request.via;
        let Target::Files(targets) = resolve::resolve(files, importer, &request.specifier, exporter, via)
        else {
            continue;
        };
        let Some(is_chosen) = targets.has(exporter) else { continue };
        asked = true;
        let mut found = Findings::default();
        for take in &request.takes {
            used |= graph.take(exporter, &offered, importer, via, take, &mut found);
        }
        findings.imported.append(&mut found.imported);
        findings.doubts.append(&mut found.doubts);
        for (name, wrong) in found.missing {
            if is_chosen {
                findings.missing.insert(name, wrong);
            } else {
                let asked = &request.specifier;
                findings.doubts.push(format!("{name} {wrong}, but {asked} resolves to different files"));
            }
        }
    }
    for name in put(&taken, files, importer, exporter) {
        if findings.missing.remove(&name).is_some() {
            findings.doubts.push(format!("{importer} sets {name} itself"));
        }
    }
    if !asked {
        let more = if taken.computed_requests { "; it also loads files by computed names" } else { "" };
        return findings.nothing(format!("{importer} imports nothing from {exporter}{more}"));
    }
    if !used {
        return findings.nothing(format!("{importer} imports {exporter} but uses nothing from it"));
    }
    findings.verdict(importer, exporter)
}

/// What the importer sets on what it requires.
fn put(taken: &Module, files: &dyn Files, importer: &str, exporter: &str) -> BTreeSet<String> {
    let requests = taken.requests.iter().filter(|request| {
        let target = || resolve::resolve(files, importer, &request.specifier, exporter, request.via);
        request.via == Via::Require
            && matches!(target(), Target::Files(files) if files.has(exporter).is_some())
    });
    let takes = requests.flat_map(|request| &request.takes);
    takes.filter_map(|take| if let Take::Put(name) = take { Some(name.clone()) } else { None }).collect()
}

/// Whether a name is there, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Yes {
        /// The file and the name where it is made.
        origin: (String, String),
        form: Form,
    },
    No,
    /// It is named, and not there all the same; completes the name.
    Gone(&'static str),
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
            return Err("it reaches too many files".to_owned());
        }
        let read = if Language::of(path) == Some(Language::Script) {
            let bytes = self.files.read(path).map_err(|error| error.to_string());
            bytes.and_then(|bytes| parse::read(path, &bytes)).map(Rc::new)
        } else {
            Err("it is not a script".to_owned())
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
                findings.doubts.push(format!("the imported names are unknown: {reason}"));
            }
            Take::Optional(name) | Take::Tested(name) => {
                match self.find(exporter, name, via, &mut BTreeSet::new()) {
                    Found::Yes { .. } => {
                        findings.imported.insert(name.clone());
                    }
                    _ if matches!(take, Take::Optional(_)) => {}
                    _ => findings.doubts.push(format!("the code tests for {name}, which may be absent")),
                }
            }
            // Nobody may set a name of an ES module from outside.
            Take::Put(name) if via == Via::Import => {
                let take = Take::Name { name: name.clone(), type_only: false };
                return self.take(exporter, offered, importer, via, &take, findings);
            }
            Take::Put(_) => {}
            Take::Whole if offered.whole => {}
            Take::Whole => {
                findings.doubts.push("it is used as one value, but does not export one".to_owned());
            }
            Take::Name { name, type_only } => {
                findings.imported.insert(name.clone());
                match self.find(exporter, name, via, &mut BTreeSet::new()) {
                    Found::Yes { form: Form::Type, .. } if !type_only => {
                        findings.missing.insert(name.clone(), "is only a type".to_owned());
                    }
                    // To TypeScript what is declared is there.
                    Found::Yes { form: Form::Ambient, .. } if !type_only && !resolve::is_typed(importer) => {
                        findings.missing.insert(name.clone(), "is declared but never defined".to_owned());
                    }
                    Found::Yes { .. } => {}
                    Found::Gone(wrong) => {
                        findings.missing.insert(name.clone(), wrong.to_owned());
                    }
                    Found::Unknown(reason) => findings.doubts.push(format!("{name}: {reason}")),
                    Found::Twice => {
                        findings.missing.insert(name.clone(), "is exported by two of its modules".to_owned());
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
            Err(_) if files::ending(path) == "json" && name == "default" => return yes(path, name),
            Err(reason) => return Found::Unknown(format!("{path}: {reason}")),
        };
        match module.names.get(name) {
            Some(Export::Local { form }) => {
                return Found::Yes { origin: (path.to_owned(), name.to_owned()), form: *form };
            }
            Some(Export::From { specifier, name: there, type_only }) => {
                let found = match resolve::resolve(self.files, path, specifier, self.near, via) {
                    Target::Files(files) => self.find(files.chosen(), there, Via::Import, seen),
                    // It is named here; whether the package has it is its own matter.
                    Target::Outside => yes(path, name),
                    Target::Nowhere => {
                        Found::Unknown(format!("{path} re-exports it from {specifier}, which does not exist"))
                    }
                };
                return if *type_only { found.types_only() } else { found };
            }
            Some(Export::Unsure(reason)) => return Found::Unknown(format!("{path}: {reason}")),
            Some(Export::Gone(wrong)) => return Found::Gone(wrong),
            None => {}
        }
        if module.kind != Kind::Es {
            if via == Via::Import && name == "default" {
                return self.default_of(path, &module);
            }
            if via == Via::Require
                && let Some(found) = inherited(path, &module, name)
            {
                return found;
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
        let stars: &[Star] = if module.kind == Kind::Es && name == "default" { &[] } else { &module.stars };
        for Star { specifier, type_only } in stars {
            let target = resolve::resolve(self.files, path, specifier, self.near, star_via(module));
            let one = match target {
                Target::Files(files) => self.find(files.chosen(), name, via, seen),
                Target::Outside => {
                    Found::Unknown(format!("{path} re-exports * from {specifier}, which is not analyzed"))
                }
                Target::Nowhere => {
                    Found::Unknown(format!("{path} re-exports * from {specifier}, which does not exist"))
                }
            };
            let one = if *type_only { one.types_only() } else { one };
            match (one, &found) {
                (Found::No | Found::Gone(_), _) => {}
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
        let is_module = files::ending(path) == "mjs"
            || package.is_some_and(|manifest| {
                manifest.get("type").and_then(|kind| kind.as_str()) == Some("module")
            });
        if is_module {
            return Found::No;
        }
        Found::Unknown(format!("{path} exports nothing, and its module type is unknown"))
    }

    /// Every name that is known, through all files.
    fn all_names(&mut self, path: &str, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(path.to_owned()) {
            return BTreeSet::new();
        }
        let Ok(module) = self.module(path) else { return BTreeSet::new() };
        let named = module.names.iter().filter(|(_, export)| !matches!(export, Export::Gone(_)));
        let mut names: BTreeSet<String> = named.map(|(name, _)| name.clone()).collect();
        if module.kind == Kind::Common && module.whole {
            names.insert("default".to_owned());
        }
        for Star { specifier, .. } in &module.stars {
            let target = resolve::resolve(self.files, path, specifier, self.near, star_via(&module));
            if let Target::Files(files) = target {
                let behind = self.all_names(files.chosen(), seen);
                names.extend(behind.into_iter().filter(|name| module.kind != Kind::Es || name != "default"));
            }
        }
        names
    }
}

impl Found {
    /// What is left of it behind `export type`.
    fn types_only(self) -> Self {
        match self {
            Self::Yes { origin, .. } => Self::Yes { origin, form: Form::Type },
            other => other,
        }
    }
}

fn star_via(module: &Module) -> Via {
    if module.kind == Kind::Es { Via::Import } else { Via::Require }
}

/// What an exported value has without anybody having set it; `None` if it has none of that.
fn inherited(path: &str, module: &Module, name: &str) -> Option<Found> {
    if name == "__esModule" || module.natures.is_empty() && OBJECT.contains(&name) {
        return Some(yes(path, name));
    }
    let all: BTreeSet<_> = module.natures.iter().map(|nature| nature.inherits(name) as u8).collect();
    let is = |one: Inherits| all.contains(&(one as u8));
    if is(Inherits::Perhaps) || is(Inherits::Yes) && is(Inherits::No) {
        return Some(Found::Unknown(format!("{path}: the exported value may have it by its type")));
    }
    is(Inherits::Yes).then(|| yes(path, name))
}

fn yes(path: &str, name: &str) -> Found {
    Found::Yes { origin: (path.to_owned(), name.to_owned()), form: Form::Value }
}
