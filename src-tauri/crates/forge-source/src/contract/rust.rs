//! Rust: the modules of a package's crates, paths followed through them, and the verdict on two files.

mod attributes;
mod items;
mod package;

use std::collections::BTreeMap;

use super::findings::{Contract, Findings};
use crate::Files;

use items::{Asked, Named, Seen, Used};
use package::{Crate, Package};

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
    let mut look = Look::new(exporter);
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
            format!("{importer} names the module of {exporter}, but no use of it was found")
        } else {
            format!("{importer} imports nothing from {exporter}")
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
    /// What one path found behind globs, by crate's root, module and name; `None` while it is looked for.
    behind: BTreeMap<(String, usize, String), Option<Found>>,
}

impl<'l> Look<'l> {
    fn new(exporter: &'l str) -> Self {
        Self { exporter, taken: BTreeMap::new(), named: false, linked: false, behind: BTreeMap::new() }
    }
}

/// Where a path leads.
enum Place<'w> {
    Module(&'w Crate, usize),
    Item(&'w Crate, usize, &'w Named),
    /// To what is not known here, or not at all.
    Elsewhere,
    /// To a module that lacks the next name, or hides it.
    Lacking(Found),
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
        let mut own = Look::new(look.exporter);
        let place = self.walk(from, &asked.path, asked.is_use, &mut own, 0);
        for (name, found) in own.taken {
            let found = match found {
                Found::No | Found::Private if asked.doubtful => {
                    Found::Unknown("it is passed to a macro, which may define anything".to_owned())
                }
                found => found,
            };
            note(look, &name, found);
        }
        match place {
            Place::Module(krate, module) if krate.modules[module].file == look.exporter => {
                look.named = true;
                look.linked |= asked.glob;
            }
            Place::Module(..) | Place::Item(..) | Place::Elsewhere | Place::Lacking(_) => {}
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
        // A private module on the way hides all that lies in it.
        let mut hidden = false;
        while let [name, more @ ..] = rest {
            place = match place {
                Place::Module(krate, module) if name == "super" => match krate.modules[module].parent {
                    Some(parent) => Place::Module(krate, parent),
                    None => return Place::Elsewhere,
                },
                Place::Module(krate, module) if name == "self" => Place::Module(krate, module),
                Place::Module(krate, module) => {
                    let (found, next) = self.lookup(krate, module, name, from, look, steps + 1);
                    let found = if hidden && found == Found::Yes { Found::Private } else { found };
                    hidden |= found == Found::Private;
                    let lacks = match &found {
                        Found::No | Found::Unknown(_) => Some(found.clone()),
                        Found::Yes | Found::Private => None,
                    };
                    if krate.modules[module].file == look.exporter
                        && krate.modules[module].file != self.file(from)
                    {
                        note(look, name, found);
                    }
                    if let Some(lacks) = lacks {
                        return Place::Lacking(lacks);
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
                Place::Elsewhere | Place::Lacking(_) => return place,
            };
            rest = more;
        }
        if hidden { Place::Lacking(Found::Private) } else { place }
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
        // What lies behind the name counts only if it is the name's meaning.
        let mut tried = Look::new(look.exporter);
        std::mem::swap(&mut tried.behind, &mut look.behind);
        let found = self.lookup(from.krate, from.module, name, from, &mut tried, steps + 1);
        std::mem::swap(&mut tried.behind, &mut look.behind);
        match found {
            (Found::Yes | Found::Private, place) => {
                for (name, found) in tried.taken {
                    note(look, &name, found);
                }
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
        let mut lacking = None;
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
            let place = match place {
                // It cannot be handed on to more than may see it.
                Place::Item(of, _, named)
                    if used.seen == Seen::Everywhere
                        && named.seen != Seen::Everywhere
                        && !used.path.last().is_some_and(|last| of.macros.contains(last)) =>
                {
                    Place::Lacking(Found::Private)
                }
                place => place,
            };
            match keep(&used.seen, place) {
                // What is handed on must be there; another `use` under a condition may still give it.
                Some(Place::Lacking(found)) => {
                    lacking.get_or_insert(found);
                }
                Some(place) => return (Found::Yes, place),
                None => {}
            }
        }
        if let Some(found) = lacking {
            return (found, Place::Elsewhere);
        }
        if let Some(place) = private {
            return (Found::Private, place);
        }
        let key = (krate.modules[0].file.clone(), at, name.to_owned());
        match look.behind.get(&key) {
            // A ring of globs, or what was looked for in vain.
            Some(None) => return (Found::No, Place::Elsewhere),
            Some(Some(known)) if *known != Found::Yes => return (known.clone(), Place::Elsewhere),
            _ => {}
        }
        look.behind.insert(key.clone(), None);
        let (found, place) = self.behind(owner, name, from, look, steps);
        look.behind.insert(key, Some(found.clone()));
        (found, place)
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
                doubt = doubt.or_else(|| Some(format!("{file}: its names import each other in a cycle")));
                break;
            }
            match self.walk(owner, path, false, look, steps + 1) {
                Place::Module(krate, at) if !(std::ptr::eq(krate, owner.krate) && at == owner.module) => {
                    match self.lookup(krate, at, name, from, look, steps + 1) {
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
                Place::Item(..) | Place::Elsewhere | Place::Lacking(_) => {
                    doubt = doubt.or_else(|| {
                        Some(format!("{file} imports * from {}, which is not analyzed", path.join("::")))
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
