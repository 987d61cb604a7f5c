//! Rust: the modules of a package's crates, paths followed through them, and the verdict on two files.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Contract, Findings,
    rust_items::{self, Asked, Body, Child, Named, Seen, Used},
};
use crate::{Files, files};

/// Files that one crate may have.
const MAX_FILES: usize = 4_000;
/// Names that may stand for one another, one behind the other.
const MAX_STEPS: usize = 64;

pub(super) fn judge(files: &dyn Files, exporter: &str, importer: &str) -> Contract {
    let package = Package::of(files, importer);
    let mut findings = Findings::default();
    let library = package.library.as_ref().map(|root| Crate::load(files, root));
    let mut crates: Vec<Crate> = package.programs.iter().map(|root| Crate::load(files, root)).collect();
    let known = |crates: &[Crate]| library.iter().chain(crates).any(|one| one.holds(importer));
    if !known(&crates) {
        crates.push(Crate::load(files, importer));
    }
    for one in library.iter().chain(&crates) {
        if let Some(reason) = one.broken.get(importer).or_else(|| one.broken.get(exporter)) {
            return Contract::unknown(reason.clone());
        }
    }
    let mut look = Look { exporter, taken: BTreeMap::new(), named: false, linked: false };
    for one in library.iter().chain(&crates).filter(|one| one.holds(importer)) {
        let world = World { here: one, library: library.as_ref(), name: &package.name };
        for (at, module) in one.modules.iter().enumerate().filter(|(_, module)| module.file == importer) {
            for asked in &module.body.asked {
                world.ask(at, asked, &mut look);
            }
        }
    }
    let exported =
        library.iter().chain(&crates).flat_map(|one| &one.modules).filter(|one| one.file == exporter);
    findings.exported = exported.flat_map(|module| module.offered()).collect();
    if look.taken.is_empty() && !look.linked {
        let reason = if look.named {
            format!("{importer} names the module of {exporter}, but is not seen to use anything of it")
        } else {
            format!("{importer} takes nothing from {exporter}")
        };
        return findings.nothing(reason);
    }
    for (name, found) in look.taken {
        match found {
            Found::Yes => {}
            Found::No => {
                findings.missing.insert(name.clone(), "is not there".to_owned());
            }
            Found::Private => {
                findings.missing.insert(name.clone(), "is private".to_owned());
            }
            Found::Unknown(reason) => findings.doubts.push(format!("{name}: {reason}")),
        }
        findings.imported.insert(name);
    }
    findings.verdict(importer, exporter)
}

/// Where a package's crates begin.
struct Package {
    /// As other crates name the library.
    name: String,
    library: Option<String>,
    programs: Vec<String>,
}

impl Package {
    fn of(files: &dyn Files, importer: &str) -> Self {
        let at = |folder: &str, path: &str| files::join(folder, path).filter(|path| files.is_file(path));
        let folders = files::folders(importer);
        let manifest = folders.iter().find_map(|folder| at(folder, "Cargo.toml").map(|path| (*folder, path)));
        let Some((folder, manifest)) = manifest else {
            let root = |name: &str| {
                folders
                    .iter()
                    .find_map(|folder| at(folder, name).or_else(|| at(folder, &format!("src/{name}"))))
            };
            return Self {
                name: String::new(),
                library: root("lib.rs"),
                programs: root("main.rs").into_iter().collect(),
            };
        };
        let text = files.read(&manifest).unwrap_or_default();
        let table: toml::Table = toml::from_str(&String::from_utf8_lossy(&text)).unwrap_or_default();
        let text_of = |table: &str, key: &str, from: &toml::Table| {
            Some(from.get(table)?.get(key)?.as_str()?.to_owned())
        };
        let name = text_of("lib", "name", &table).or_else(|| text_of("package", "name", &table));
        let library = text_of("lib", "path", &table).unwrap_or_else(|| "src/lib.rs".to_owned());
        let mut programs = vec!["src/main.rs".to_owned(), "build.rs".to_owned()];
        for kind in ["bin", "test", "example", "bench"] {
            let listed = table.get(kind).and_then(toml::Value::as_array).into_iter().flatten();
            programs.extend(listed.filter_map(|one| Some(one.get("path")?.as_str()?.to_owned())));
        }
        // What cargo finds by itself: the folder that a program of several files lies in.
        for above in files::folders(importer).into_iter().filter(|above| above.len() > folder.len()) {
            let inner = above[folder.len()..].trim_start_matches('/');
            programs.push(format!("{inner}/main.rs"));
        }
        Self {
            name: name.unwrap_or_default().replace('-', "_"),
            library: at(folder, &library),
            programs: programs.iter().filter_map(|path| at(folder, path)).collect(),
        }
    }
}

struct Module {
    path: Vec<String>,
    file: String,
    parent: Option<usize>,
    /// With who may name them; a name may stand for several under conditions.
    children: Vec<(String, Seen, Option<usize>)>,
    body: Body,
}

impl Module {
    fn offered(&self) -> Vec<String> {
        let items =
            self.body.items.iter().filter(|(_, named)| named.seen != Seen::Up(0)).map(|(name, _)| name);
        let children =
            self.children.iter().filter(|(_, seen, _)| *seen != Seen::Up(0)).map(|(name, ..)| name);
        let uses = self.body.uses.iter().filter(|used| used.seen != Seen::Up(0));
        items.chain(children).chain(uses.filter_map(|used| used.name.as_ref())).cloned().collect()
    }
}

/// A crate's modules, the root first.
struct Crate {
    modules: Vec<Module>,
    /// Files that could not be read.
    broken: BTreeMap<String, String>,
    macros: BTreeSet<String>,
}

impl Crate {
    fn load(files: &dyn Files, root: &str) -> Self {
        let mut loaded = Self { modules: Vec::new(), broken: BTreeMap::new(), macros: BTreeSet::new() };
        loaded.file(files, root, Vec::new(), None, files::parent(root));
        loaded
    }

    fn holds(&self, file: &str) -> bool {
        self.modules.iter().any(|module| module.file == file)
    }

    fn file(
        &mut self,
        files: &dyn Files,
        file: &str,
        path: Vec<String>,
        parent: Option<usize>,
        folder: &str,
    ) -> Option<usize> {
        if self.modules.len() > MAX_FILES || path.len() > MAX_STEPS {
            return None;
        }
        let read =
            files.read(file).map_err(|error| error.to_string()).and_then(|bytes| rust_items::read(&bytes));
        match read {
            Ok(body) => Some(self.module(files, file, path, parent, folder, body)),
            Err(reason) => {
                self.broken.insert(file.to_owned(), format!("{file} cannot be read: {reason}"));
                None
            }
        }
    }

    /// Adds a module and those below it; `folder` is where the files of its children lie.
    fn module(
        &mut self,
        files: &dyn Files,
        file: &str,
        path: Vec<String>,
        parent: Option<usize>,
        folder: &str,
        mut body: Body,
    ) -> usize {
        let at = self.modules.len();
        let children = std::mem::take(&mut body.children);
        self.macros.extend(body.exported_macros.iter().cloned());
        let is_inline = parent.is_some_and(|parent| self.modules[parent].file == file);
        self.modules.push(Module {
            path: path.clone(),
            file: file.to_owned(),
            parent,
            children: Vec::new(),
            body,
        });
        for child in children {
            let Child { name, seen, path: placed, body } = child;
            let mut inner = path.clone();
            inner.push(name.clone());
            let below = format!("{folder}/{name}");
            let below = below.trim_start_matches('/');
            let found = match (body, placed) {
                (Some(body), placed) => {
                    let below =
                        placed.and_then(|placed| files::join(folder, &placed)).unwrap_or(below.to_owned());
                    Some(self.module(files, file, inner, Some(at), &below, *body))
                }
                (None, Some(placed)) => {
                    let from = if is_inline { folder } else { files::parent(file) };
                    files::join(from, &placed)
                        .and_then(|placed| self.file(files, &placed, inner, Some(at), files::parent(&placed)))
                }
                (None, None) => {
                    let own = format!("{below}.rs");
                    let file = if files.is_file(&own) { own } else { format!("{below}/mod.rs") };
                    self.file(files, &file, inner, Some(at), below)
                }
            };
            self.modules[at].children.push((name, seen, found));
        }
        at
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Yes,
    No,
    Private,
    Unknown(String),
}

/// What one importer is found to take from the exporter.
struct Look<'l> {
    exporter: &'l str,
    taken: BTreeMap<String, Found>,
    /// The module itself is named.
    named: bool,
    /// All of it is taken, whatever it be.
    linked: bool,
}

/// Where a path leads.
enum Place<'w> {
    Module(&'w Crate, usize),
    Item(&'w Crate, usize, &'w Named),
    /// To what is not known here, or not at all.
    Elsewhere,
}

/// A crate and the library of its package.
struct World<'w> {
    here: &'w Crate,
    library: Option<&'w Crate>,
    name: &'w str,
}

/// Who asks: a crate and a module of it.
#[derive(Clone, Copy)]
struct From<'w> {
    krate: &'w Crate,
    module: usize,
}

impl<'w> World<'w> {
    fn ask(&self, at: usize, asked: &Asked, look: &mut Look<'_>) {
        let from = From { krate: self.here, module: at };
        match self.walk(from, &asked.path, asked.is_use, look, 0) {
            Place::Module(krate, module) if krate.modules[module].file == look.exporter => {
                look.named = true;
                look.linked |= asked.glob;
            }
            Place::Module(..) | Place::Item(..) | Place::Elsewhere => {}
        }
    }

    fn walk(
        &self,
        from: From<'w>,
        path: &[String],
        is_use: bool,
        look: &mut Look<'_>,
        steps: usize,
    ) -> Place<'w> {
        let Some(first) = path.first() else { return Place::Elsewhere };
        if steps > MAX_STEPS {
            return Place::Elsewhere;
        }
        let mut rest = &path[1..];
        let mut place = match first.as_str() {
            "crate" => Place::Module(from.krate, 0),
            "self" => Place::Module(from.krate, from.module),
            "super" => match from.krate.modules[from.module].parent {
                Some(parent) => Place::Module(from.krate, parent),
                None => return Place::Elsewhere,
            },
            name => match self.first(from, name, look, steps) {
                Some(place) => place,
                None => return Place::Elsewhere,
            },
        };
        while let [name, more @ ..] = rest {
            place = match place {
                Place::Module(krate, module) if name == "super" => match krate.modules[module].parent {
                    Some(parent) => Place::Module(krate, parent),
                    None => return Place::Elsewhere,
                },
                Place::Module(krate, module) if name == "self" => Place::Module(krate, module),
                Place::Module(krate, module) => {
                    let (found, next) = self.lookup(krate, module, name, from, look, steps + 1);
                    if krate.modules[module].file == look.exporter
                        && !(krate.modules[module].file == self.file(from))
                    {
                        note(look, name, found);
                    }
                    next
                }
                Place::Item(krate, module, named) => {
                    if let (Some(variants), true, true) = (&named.variants, is_use, more.is_empty())
                        && krate.modules[module].file == look.exporter
                    {
                        let found = if variants.contains(name) { Found::Yes } else { Found::No };
                        note(look, name, found);
                    }
                    return Place::Elsewhere;
                }
                Place::Elsewhere => return Place::Elsewhere,
            };
            rest = more;
        }
        place
    }

    fn file(&self, from: From<'w>) -> &'w str {
        &from.krate.modules[from.module].file
    }

    /// What a path's first name means where it stands.
    fn first(&self, from: From<'w>, name: &str, look: &mut Look<'_>, steps: usize) -> Option<Place<'w>> {
        let module = &from.krate.modules[from.module];
        if let Some(used) = module.body.inner_uses.iter().find(|used| used.name.as_deref() == Some(name))
            && used.path.first().is_some_and(|first| first != name)
        {
            return Some(self.walk(from, &used.path, true, look, steps + 1));
        }
        let mut quiet = Look { exporter: "", taken: BTreeMap::new(), named: false, linked: false };
        match self.lookup(from.krate, from.module, name, from, &mut quiet, steps + 1) {
            (Found::Yes | Found::Private, place) => {
                // Again, so that what lies behind the name is noted.
                self.lookup(from.krate, from.module, name, from, look, steps + 1);
                Some(place)
            }
            (Found::No | Found::Unknown(_), _) => {
                let is_own = !self.name.is_empty() && name == self.name;
                self.library.filter(|_| is_own).map(|library| Place::Module(library, 0))
            }
        }
    }

    /// A name in a module, as `from` sees it.
    fn lookup(
        &self,
        krate: &'w Crate,
        at: usize,
        name: &str,
        from: From<'w>,
        look: &mut Look<'_>,
        steps: usize,
    ) -> (Found, Place<'w>) {
        let module = &krate.modules[at];
        let owner = From { krate, module: at };
        let mut private = None;
        let mut keep = |seen: &Seen, place: Place<'w>| {
            if visible(owner, seen, from) {
                return Some(place);
            }
            private = Some(place);
            None
        };
        let mut unread = false;
        for (_, seen, child) in module.children.iter().filter(|(child, ..)| child == name) {
            match child {
                Some(child) => {
                    if let Some(place) = keep(seen, Place::Module(krate, *child)) {
                        return (Found::Yes, place);
                    }
                }
                None => unread = true,
            }
        }
        if let Some(named) = module.body.items.get(name)
            && let Some(place) = keep(&named.seen, Place::Item(krate, at, named))
        {
            return (Found::Yes, place);
        }
        if unread || (at == 0 && krate.macros.contains(name)) {
            return (Found::Yes, Place::Elsewhere);
        }
        for used in module.body.uses.iter().filter(|used| used.name.as_deref() == Some(name)) {
            // `use name;` names a crate.
            let place = if used.path.len() == 1 && used.path[0] == name || steps > MAX_STEPS {
                Place::Elsewhere
            } else {
                self.walk(owner, &used.path, true, look, steps + 1)
            };
            if let Some(place) = keep(&used.seen, place) {
                return (Found::Yes, place);
            }
        }
        if let Some(place) = private {
            return (Found::Private, place);
        }
        self.behind(owner, name, from, look, steps)
    }

    /// Behind `use a::*`, and what macros may make.
    fn behind(
        &self,
        owner: From<'w>,
        name: &str,
        from: From<'w>,
        look: &mut Look<'_>,
        steps: usize,
    ) -> (Found, Place<'w>) {
        let module = &owner.krate.modules[owner.module];
        let file = &module.file;
        let mut doubt = module.body.open.first().map(|reason| format!("{file}: {reason}"));
        let globs =
            module.body.uses.iter().filter(|used| used.name.is_none() && visible(owner, &used.seen, from));
        for Used { path, .. } in globs {
            if steps > MAX_STEPS / 4 {
                doubt =
                    doubt.or_else(|| Some(format!("{file}: its names are taken from one another in a ring")));
                break;
            }
            match self.walk(owner, path, false, look, steps + 1) {
                Place::Module(krate, at) if !(std::ptr::eq(krate, owner.krate) && at == owner.module) => {
                    match self.lookup(krate, at, name, from, look, steps + 8) {
                        (Found::Yes, place) => return (Found::Yes, place),
                        (Found::Unknown(reason), _) => doubt = doubt.or(Some(reason)),
                        (Found::No | Found::Private, _) => {}
                    }
                }
                Place::Module(..) => {}
                Place::Item(_, _, Named { variants: Some(variants), .. }) => {
                    if variants.contains(name) {
                        return (Found::Yes, Place::Elsewhere);
                    }
                }
                Place::Item(..) | Place::Elsewhere => {
                    doubt = doubt.or_else(|| {
                        Some(format!("{file} takes all of {}, which is not read here", path.join("::")))
                    });
                }
            }
        }
        (doubt.map_or(Found::No, Found::Unknown), Place::Elsewhere)
    }
}

/// The worst that is found of a name counts.
fn note(look: &mut Look<'_>, name: &str, found: Found) {
    let known = look.taken.get(name);
    let worse = match (known, &found) {
        (None, _) => true,
        (Some(Found::Yes), found) => *found != Found::Yes,
        (Some(Found::Unknown(_)), found) => matches!(found, Found::No | Found::Private),
        (Some(Found::No | Found::Private), _) => false,
    };
    if worse {
        look.taken.insert(name.to_owned(), found);
    }
}

/// Whether a module may name what another declares.
fn visible(owner: From<'_>, seen: &Seen, from: From<'_>) -> bool {
    let same_crate = std::ptr::eq(owner.krate, from.krate);
    let (path, asks) = (&owner.krate.modules[owner.module].path, &from.krate.modules[from.module].path);
    match seen {
        Seen::Everywhere => true,
        Seen::Crate => same_crate,
        Seen::Up(up) => same_crate && asks.starts_with(&path[..path.len().saturating_sub(*up)]),
        Seen::In(path) => same_crate && asks.starts_with(path),
    }
}
