//! Python: which module an import means, names followed through `import *`, and the verdict on two modules.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    Contract, Findings,
    python_module::{self, All, Module, Request, What},
};
use crate::{Files, files};

/// Names that every module has.
const OWN: [&str; 11] = [
    "__name__",
    "__doc__",
    "__file__",
    "__package__",
    "__spec__",
    "__loader__",
    "__builtins__",
    "__path__",
    "__dict__",
    "__cached__",
    "__class__",
];

/// Files that are read to follow one name, at most.
const MAX_FILES: usize = 4_000;

pub(super) fn judge(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let mut tree = Tree { files, exporter, modules: BTreeMap::new() };
    let taken = match tree.module(importer) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("{importer} cannot be read: {reason}")),
    };
    let offered = match tree.module(exporter) {
        Ok(module) => module,
        Err(reason) => return Contract::unknown(format!("{exporter} cannot be read: {reason}")),
    };
    let mut findings =
        Findings { exported: tree.all_names(exporter, &mut BTreeSet::new()), ..Findings::default() };
    let (mut asked, mut used) = (false, false);
    for request in &taken.requests {
        let Some(uses) = tree.uses(importer, &taken, request) else { continue };
        asked = true;
        match uses {
            Uses::Names(names) => {
                used |= !names.is_empty();
                for name in names {
                    tree.take(&name, request.typing, &mut findings);
                }
            }
            Uses::Star => {
                used = true;
                if let All::Names(all) = &offered.all {
                    for name in all {
                        tree.take(name, request.typing, &mut findings);
                    }
                }
            }
            Uses::Opaque(name) => {
                used = true;
                let doubt = format!("it cannot be known what is taken, as {name} is handed on as a whole");
                findings.doubts.push(doubt);
            }
            Uses::Linked => used = true,
        }
    }
    if !asked {
        return findings.nothing(format!("{importer} takes nothing from {exporter}"));
    }
    if !used {
        return findings.nothing(format!("{importer} names {exporter}, but uses nothing of it"));
    }
    findings.verdict(importer, exporter)
}

/// What one import does with the exporter.
enum Uses {
    Names(BTreeSet<String>),
    Star,
    /// The module is used as one value, under this name.
    Opaque(String),
    /// It is only loaded.
    Linked,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Yes,
    /// Only for type checkers.
    Typing,
    No,
    Unknown(String),
}

struct Tree<'f> {
    files: &'f dyn Files,
    exporter: &'f str,
    modules: BTreeMap<String, Result<Rc<Module>, String>>,
}

impl Tree<'_> {
    fn module(&mut self, path: &str) -> Result<Rc<Module>, String> {
        if let Some(known) = self.modules.get(path) {
            return known.clone();
        }
        if self.modules.len() >= MAX_FILES {
            return Err("too many files lie behind it".to_owned());
        }
        let bytes = self.files.read(path).map_err(|error| error.to_string());
        let read = bytes.and_then(|bytes| python_module::read(&bytes)).map(Rc::new);
        self.modules.insert(path.to_owned(), read.clone());
        read
    }

    fn take(&mut self, name: &str, typing: bool, findings: &mut Findings) {
        findings.imported.insert(name.to_owned());
        match self.find(self.exporter, name, &mut BTreeSet::new()) {
            Found::Yes => {}
            Found::Typing if typing || self.exporter.ends_with(".pyi") => {}
            Found::Typing => {
                findings.missing.insert(name.to_owned(), "is there for type checkers alone".to_owned());
            }
            Found::No => {
                findings.missing.insert(name.to_owned(), "is not defined".to_owned());
            }
            Found::Unknown(reason) => findings.doubts.push(format!("{name}: {reason}")),
        }
    }

    /// What an import does with the exporter; `None` if it is about another module.
    fn uses(&self, importer: &str, module: &Module, request: &Request) -> Option<Uses> {
        let target = self.resolve(importer, request.level, &request.module);
        let is_exporter = target.as_deref() == Some(self.exporter);
        match &request.what {
            What::Star => is_exporter.then_some(Uses::Star),
            What::Module { prefix } => is_exporter.then(|| used_by(module, prefix)),
            What::Name { name, local } => {
                let inside = if request.module.is_empty() {
                    name.clone()
                } else {
                    format!("{}.{name}", request.module)
                };
                let submodule = self.resolve(importer, request.level, &inside);
                if submodule.as_deref() == Some(self.exporter) {
                    return Some(used_by(module, local));
                }
                is_exporter.then(|| Uses::Names([name.clone()].into()))
            }
        }
    }

    /// The file of a module.
    fn resolve(&self, from: &str, level: u32, dotted: &str) -> Option<String> {
        let path = dotted.replace('.', "/");
        if level > 0 {
            let mut folder = files::parent(from);
            for _ in 1..level {
                if folder.is_empty() {
                    return None;
                }
                folder = files::parent(folder);
            }
            return self.file(folder, &path);
        }
        let is_package =
            |folder: &str| files::join(folder, "__init__.py").is_some_and(|path| self.files.is_file(&path));
        let above = |path| files::folders(path).into_iter().filter(|folder| !is_package(folder));
        let roots =
            above(from).chain(["", "src", "lib"]).chain(above(self.exporter)).chain([files::parent(from)]);
        roots.into_iter().find_map(|root| self.file(root, &path))
    }

    fn file(&self, root: &str, path: &str) -> Option<String> {
        let base = files::join(root, path)?;
        let folder = if base.is_empty() { String::new() } else { format!("{base}/") };
        let own =
            if path.is_empty() { Vec::new() } else { vec![format!("{base}.py"), format!("{base}.pyi")] };
        let package = [format!("{folder}__init__.py"), format!("{folder}__init__.pyi")];
        // A package comes before a module of its name.
        package.into_iter().chain(own).find(|path| self.files.is_file(path))
    }

    fn find(&mut self, path: &str, name: &str, seen: &mut BTreeSet<String>) -> Found {
        if !seen.insert(path.to_owned()) {
            return Found::No;
        }
        let module = match self.module(path) {
            Ok(module) => module,
            Err(reason) => return Found::Unknown(format!("{path}: {reason}")),
        };
        match module.names.get(name) {
            Some(false) => return Found::Yes,
            Some(true) => return Found::Typing,
            None => {}
        }
        if OWN.contains(&name) || self.is_submodule(path, name) {
            return Found::Yes;
        }
        let mut doubt = module.open.first().map(|reason| format!("{path}: {reason}"));
        for (level, dotted) in &module.stars {
            let Some(target) = self.resolve(path, *level, dotted) else {
                doubt =
                    doubt.or_else(|| Some(format!("{path} takes all of {dotted}, which is not read here")));
                continue;
            };
            match self.find_by_star(&target, name, seen) {
                Found::No => {}
                Found::Unknown(reason) => doubt = doubt.or(Some(reason)),
                found => return found,
            }
        }
        doubt.map_or(Found::No, Found::Unknown)
    }

    fn find_by_star(&mut self, path: &str, name: &str, seen: &mut BTreeSet<String>) -> Found {
        let Ok(module) = self.module(path) else {
            return Found::Unknown(format!("{path} cannot be read"));
        };
        match &module.all {
            All::Names(names) if names.contains(name) => self.find(path, name, seen),
            All::Names(_) => Found::No,
            All::Public if name.starts_with('_') => Found::No,
            All::Public => self.find(path, name, seen),
            All::Computed => match self.find(path, name, seen) {
                Found::No => Found::No,
                _ => Found::Unknown(format!("{path} computes __all__")),
            },
        }
    }

    fn is_submodule(&self, path: &str, name: &str) -> bool {
        let is_package = matches!(files::name(path), "__init__.py" | "__init__.pyi");
        is_package && self.file(files::parent(path), name).is_some_and(|found| found != path)
    }

    fn all_names(&mut self, path: &str, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(path.to_owned()) {
            return BTreeSet::new();
        }
        let Ok(module) = self.module(path) else { return BTreeSet::new() };
        let mut names: BTreeSet<String> = module.names.keys().cloned().collect();
        for (level, dotted) in &module.stars {
            let Some(target) = self.resolve(path, *level, dotted) else { continue };
            let all = self.module(&target).map(|module| module.all.clone()).unwrap_or_default();
            let behind = self.all_names(&target, seen);
            names.extend(behind.into_iter().filter(|name| match &all {
                All::Names(all) => all.contains(name),
                All::Public | All::Computed => !name.starts_with('_'),
            }));
        }
        names
    }
}

/// What is asked of a module by the words before its names.
fn used_by(module: &Module, prefix: &str) -> Uses {
    let first = prefix.split('.').next().unwrap_or_default();
    let rebound = module.bindings.get(first).is_some_and(|count| *count > 1) && !prefix.contains('.');
    if rebound || (module.bare.contains(first) && !prefix.contains('.')) {
        return Uses::Opaque(first.to_owned());
    }
    match module.attributes.get(prefix) {
        Some(names) => Uses::Names(names.clone()),
        None => Uses::Linked,
    }
}
