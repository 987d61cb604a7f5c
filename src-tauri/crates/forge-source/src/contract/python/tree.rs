//! Python: which file a module is, and names followed through the imports of many modules.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    module::{All, Binding, Module, Origin, Request, What},
    parse,
};
use crate::{Files, files};

/// Names that every module has, as an object of its class.
const OWN: [&str; 33] = [
    "__name__",
    "__doc__",
    "__file__",
    "__package__",
    "__spec__",
    "__loader__",
    "__builtins__",
    "__dict__",
    "__cached__",
    "__class__",
    "__annotations__",
    "__delattr__",
    "__dir__",
    "__eq__",
    "__format__",
    "__ge__",
    "__getattribute__",
    "__getstate__",
    "__gt__",
    "__hash__",
    "__init__",
    "__init_subclass__",
    "__le__",
    "__lt__",
    "__ne__",
    "__new__",
    "__reduce__",
    "__reduce_ex__",
    "__repr__",
    "__setattr__",
    "__sizeof__",
    "__str__",
    "__subclasshook__",
];

/// Files that are read to follow names, at most.
const MAX_FILES: usize = 4_000;
/// Modules that one name is followed through, and how far one stands behind another.
const MAX_STEPS: usize = 20_000;
const MAX_DEPTH: usize = 200;
/// Modules that are asked whether they load another.
const MAX_LOADED: usize = 200;

/// What is known of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    Yes,
    /// Only for type checkers.
    Typing,
    No,
    Unknown(String),
}

/// How a name is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// `from m import name`, which loads a module of that name.
    Import,
    /// `m.name`, which does not.
    Attribute,
}

pub(super) struct Tree<'f> {
    files: &'f dyn Files,
    pub(super) exporter: &'f str,
    pub(super) importer: &'f str,
    modules: BTreeMap<String, Result<Rc<Module>, String>>,
    steps: usize,
    /// Names that are being looked for, each in its file.
    open: Vec<(String, String)>,
}

impl<'f> Tree<'f> {
    pub(super) fn new(files: &'f dyn Files, exporter: &'f str, importer: &'f str) -> Self {
        Self { files, exporter, importer, modules: BTreeMap::new(), steps: 0, open: Vec::new() }
    }

    pub(super) fn module(&mut self, path: &str) -> Result<Rc<Module>, String> {
        if let Some(known) = self.modules.get(path) {
            return known.clone();
        }
        if self.modules.len() >= MAX_FILES {
            return Err("it reaches too many files".to_owned());
        }
        let bytes = self.files.read(path).map_err(|error| error.to_string());
        let stub = files::ending(path) == "pyi";
        let read = bytes.and_then(|bytes| parse::read(&bytes, stub)).map(Rc::new);
        self.modules.insert(path.to_owned(), read.clone());
        read
    }

    /// The file of a module that `from` names, if need be one that lies beside it: it may be run by itself.
    pub(super) fn resolve(&self, from: &str, level: u32, dotted: &str) -> Option<String> {
        let beside = || self.file(files::parent(from), &dotted.replace('.', "/"));
        self.known(from, level, dotted).or_else(|| if level == 0 { beside() } else { None })
    }

    /// The file of a module, as Python finds it where packages lie in the usual folders.
    fn known(&self, from: &str, level: u32, dotted: &str) -> Option<String> {
        let path = dotted.replace('.', "/");
        if level > 0 {
            return self.file(above(from, level)?, &path);
        }
        let outside = |path| files::folders(path).into_iter().filter(|folder| !self.is_package(folder));
        let roots = outside(from).chain(["", "src", "lib"]).chain(outside(self.exporter));
        roots.into_iter().find_map(|root| self.file(root, &path))
    }

    fn is_package(&self, folder: &str) -> bool {
        files::join(folder, "__init__.py").is_some_and(|path| self.files.is_file(&path))
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

    /// Whether a module has a name.
    pub(super) fn find(&mut self, path: &str, name: &str, by: By) -> Found {
        let key = (path.to_owned(), name.to_owned());
        if self.open.contains(&key) {
            return Found::No;
        }
        self.steps += 1;
        if self.steps > MAX_STEPS || self.open.len() > MAX_DEPTH {
            return Found::Unknown(format!("{path}: it reaches too many modules"));
        }
        self.open.push(key);
        let found = self.find_in(path, name, by);
        self.open.pop();
        found
    }

    fn find_in(&mut self, path: &str, name: &str, by: By) -> Found {
        let module = match self.module(path) {
            Ok(module) => module,
            Err(reason) => return Found::Unknown(format!("{path}: {reason}")),
        };
        let mut doubt = module.open.first().map(|reason| format!("{path}: {reason}"));
        match self.bound(path, &module, name) {
            Some(Found::Unknown(reason)) => doubt = Some(reason),
            Some(found) => return found,
            None => {}
        }
        let is_package = matches!(files::name(path), "__init__.py" | "__init__.pyi");
        if OWN.contains(&name) || (name == "__path__" && is_package) {
            return Found::Yes;
        }
        if let Some(inner) = self.submodule(path, name) {
            if by == By::Import || self.loads(path, &inner) {
                return Found::Yes;
            }
            doubt.get_or_insert(format!("{inner} may not be loaded"));
        }
        if self.writes_to_itself(path, &module, name) {
            return Found::Yes;
        }
        for (level, dotted) in &module.stars {
            let Some(target) = self.known(path, *level, dotted) else {
                doubt =
                    doubt.or_else(|| Some(format!("{path} imports * from {dotted}, which is not analyzed")));
                continue;
            };
            match self.find_by_star(&target, name) {
                Found::No => {}
                Found::Unknown(reason) => doubt = doubt.or(Some(reason)),
                found => return found,
            }
        }
        doubt.map_or(Found::No, Found::Unknown)
    }

    /// What the statements say that bind a name at a module's top; `None` if there is none.
    fn bound(&mut self, path: &str, module: &Module, name: &str) -> Option<Found> {
        let known = module.names.get(name)?;
        let (mut best, mut doubt) = (None, None);
        for binding in &known.bindings {
            match self.origin(path, name, binding) {
                // The module cannot even be loaded.
                Found::No if binding.certain && !binding.typing => return Some(Found::No),
                Found::No if !binding.typing => {
                    let reason = format!("{path} imports it conditionally from a module that lacks it");
                    doubt.get_or_insert(reason);
                }
                Found::Unknown(reason) => {
                    doubt.get_or_insert(reason);
                }
                Found::Yes if !binding.typing => best = Some(Found::Yes),
                Found::Yes | Found::Typing | Found::No => {
                    best.get_or_insert(Found::Typing);
                }
            }
        }
        if known.deleted && best == Some(Found::Yes) {
            return Some(Found::Unknown(format!("{path} may delete it again")));
        }
        match (best, doubt) {
            (Some(Found::Yes), _) => Some(Found::Yes),
            (_, Some(doubt)) => Some(Found::Unknown(doubt)),
            (best, None) => best,
        }
    }

    fn origin(&mut self, path: &str, name: &str, binding: &Binding) -> Found {
        match &binding.origin {
            Origin::Here | Origin::Module(_) => Found::Yes,
            Origin::Later => {
                Found::Unknown(format!("{path}: only a function defines it, which may never run"))
            }
            Origin::Name { level, module, name: theirs } => {
                let found = self.imported(path, *level, module, theirs);
                match found {
                    Found::Unknown(reason) if theirs != name => Found::Unknown(format!("{theirs}: {reason}")),
                    found => found,
                }
            }
        }
    }

    /// What `from module import name` gives in the module at `path`.
    fn imported(&mut self, path: &str, level: u32, module: &str, name: &str) -> Found {
        if level > 0 && above(path, level).is_none() {
            return Found::Yes;
        }
        let dotted = if module.is_empty() { name.to_owned() } else { format!("{module}.{name}") };
        if self.known(path, level, &dotted).is_some() {
            return Found::Yes;
        }
        let Some(target) = self.known(path, level, module) else {
            return self.absent(path, level, &dotted);
        };
        if self.open.iter().any(|(open, wanted)| *open == target && wanted == name) && target != path {
            return Found::Unknown(format!("{path} and {target} import it from each other"));
        }
        match self.find(&target, name, By::Import) {
            Found::No if is_built(name) && matches!(files::name(&target), "__init__.py" | "__init__.pyi") => {
                Found::Unknown(format!("{path}: {dotted} may be a compiled module"))
            }
            Found::No if level == 0 && !self.is_near(path, &target) => {
                Found::Unknown(format!("{path}: {module} may be a module other than {target}"))
            }
            found => found,
        }
    }

    /// A module that no file is seen of: most often another package's, which is taken to have everything.
    fn absent(&self, path: &str, level: u32, dotted: &str) -> Found {
        let module = dotted.rsplit_once('.').map_or(dotted, |(module, _)| module);
        let parts: Vec<&str> = module.split('.').collect();
        let mut folder = None;
        if level > 0 {
            folder = above(path, level).map(str::to_owned);
        } else if let Some(package) = self.known(path, 0, parts[0])
            && files::name(&package).starts_with("__init__.")
        {
            if !self.is_near(path, &package) {
                return Found::Unknown(format!("{path}: {module} is not analyzed"));
            }
            folder = Some(files::parent(files::parent(&package)).to_owned());
        }
        let Some(folder) = folder else { return Found::Yes };
        let base = files::join(&folder, &parts.join("/")).unwrap_or_default();
        let endings = [".so", ".abi3.so", ".pyd", ".pyx", ".c", ".cpp", ".pyc"];
        let source = endings.iter().any(|ending| self.files.is_file(&format!("{base}{ending}")));
        if source || parts.iter().any(|part| is_built(part)) {
            return Found::Unknown(format!("{path}: {module} does not exist and may be generated"));
        }
        Found::No
    }

    /// Whether both are of one package, or lie beside one another: then one means the other by its name.
    fn is_near(&self, path: &str, target: &str) -> bool {
        let top = |path: &str| {
            let mut folder = files::parent(path);
            while self.is_package(folder) && !folder.is_empty() && self.is_package(files::parent(folder)) {
                folder = files::parent(folder);
            }
            folder.to_owned()
        };
        let (ours, theirs) = (top(path), top(target));
        ours == theirs || (self.is_package(&theirs) && files::parent(&theirs) == ours)
    }

    pub(super) fn find_by_star(&mut self, path: &str, name: &str) -> Found {
        let Ok(module) = self.module(path) else {
            return Found::Unknown(format!("could not read {path}"));
        };
        match &module.all {
            // What it lists is loaded, if it is a module.
            All::Names(names) if names.contains(name) => self.find(path, name, By::Import),
            All::Names(_) => Found::No,
            All::Public if name.starts_with('_') => Found::No,
            All::Public => self.find(path, name, By::Attribute),
            All::Computed => match self.find(path, name, By::Import) {
                Found::No => Found::No,
                _ => Found::Unknown(format!("{path} computes __all__")),
            },
        }
    }

    fn submodule(&self, path: &str, name: &str) -> Option<String> {
        let is_package = matches!(files::name(path), "__init__.py" | "__init__.pyi");
        let found = if is_package { self.file(files::parent(path), name) } else { None };
        found.filter(|found| found != path)
    }

    /// Whether a package's module is loaded by what the package or the importer loads.
    fn loads(&mut self, package: &str, inner: &str) -> bool {
        let mut open = vec![package.to_owned(), self.importer.to_owned()];
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        while let Some(path) = open.pop() {
            let Ok(module) = self.module(&path) else { continue };
            for request in module.requests.iter().filter(|request| !request.typing) {
                for target in self.loaded(&path, request) {
                    if target == inner {
                        return true;
                    }
                    if seen.len() < MAX_LOADED && seen.insert(target.clone()) {
                        open.push(target);
                    }
                }
            }
        }
        false
    }

    /// The files that one import loads: the packages on the way, too.
    fn loaded(&self, path: &str, request: &Request) -> Vec<String> {
        let mut dotted = request.module.clone();
        if let What::Name { name, .. } = &request.what {
            dotted = if dotted.is_empty() { name.clone() } else { format!("{dotted}.{name}") };
        }
        let ends = dotted.match_indices('.').map(|(at, _)| at).chain([dotted.len()]);
        ends.filter_map(|end| self.known(path, request.level, &dotted[..end])).collect()
    }

    /// `import m` and `m.x = 1` in m itself.
    fn writes_to_itself(&self, path: &str, module: &Module, name: &str) -> bool {
        module.requests.iter().any(|request| match &request.what {
            What::Module { prefix } => {
                module.written.contains(&(prefix.clone(), name.to_owned()))
                    && self.resolve(path, request.level, &request.module).as_deref() == Some(path)
            }
            What::Name { .. } | What::Star => false,
        })
    }

    /// Whether a package gives the name of one of its modules to something else.
    pub(super) fn hides(&mut self, package: &str, name: &str, inner: &str) -> bool {
        let Ok(module) = self.module(package) else { return false };
        if let Some(known) = module.names.get(name) {
            return known.bindings.iter().any(|binding| match &binding.origin {
                Origin::Name { level, module, name } => {
                    let dotted = if module.is_empty() { name.clone() } else { format!("{module}.{name}") };
                    self.resolve(package, *level, &dotted).as_deref() != Some(inner)
                }
                Origin::Module(dotted) => self.resolve(package, 0, dotted).as_deref() != Some(inner),
                Origin::Here | Origin::Later => true,
            });
        }
        module.stars.iter().any(|(level, dotted)| {
            let target = self.known(package, *level, dotted).filter(|target| target != package);
            target.is_some_and(|target| self.find_by_star(&target, name) == Found::Yes)
        })
    }

    pub(super) fn all_names(&mut self, path: &str, seen: &mut BTreeSet<String>) -> BTreeSet<String> {
        if !seen.insert(path.to_owned()) {
            return BTreeSet::new();
        }
        let Ok(module) = self.module(path) else { return BTreeSet::new() };
        let mut names: BTreeSet<String> = module.names.keys().cloned().collect();
        for (level, dotted) in &module.stars {
            let Some(target) = self.known(path, *level, dotted) else { continue };
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

/// The folder that so many dots mean; `None` if it lies outside.
fn above(path: &str, level: u32) -> Option<&str> {
    let mut folder = files::parent(path);
    for _ in 1..level {
        if folder.is_empty() {
            return None;
        }
        folder = files::parent(folder);
    }
    Some(folder)
}

/// Names that modules have which are made when a package is built: extensions, versions, generated messages.
fn is_built(name: &str) -> bool {
    (name.starts_with('_') && !name.starts_with("__"))
        || name == "version"
        || name.ends_with("_pb2")
        || name.ends_with("_pb2_grpc")
}
