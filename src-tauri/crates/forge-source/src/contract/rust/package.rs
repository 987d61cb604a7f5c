//! The crates of a Rust package: where they begin, and the tree of modules that each holds.

use std::collections::{BTreeMap, BTreeSet};

use super::items::{self, Body, Child, Seen};
use crate::{Files, files};

/// Files that one crate may have, and modules that may lie within one another.
const MAX_FILES: usize = 4_000;
const MAX_DEPTH: usize = 64;

/// Where a package's crates begin.
pub(super) struct Package {
    /// As other crates name the library.
    pub(super) name: String,
    pub(super) library: Option<String>,
    pub(super) programs: Vec<String>,
}

impl Package {
    pub(super) fn of(files: &dyn Files, importer: &str) -> Self {
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

pub(super) struct Module {
    pub(super) path: Vec<String>,
    pub(super) file: String,
    pub(super) parent: Option<usize>,
    /// With who may name them; a name may stand for several under conditions.
    pub(super) children: Vec<(String, Seen, Option<usize>)>,
    pub(super) body: Body,
}

impl Module {
    pub(super) fn offered(&self) -> Vec<String> {
        let items =
            self.body.items.iter().filter(|(_, named)| named.seen != Seen::Up(0)).map(|(name, _)| name);
        let children =
            self.children.iter().filter(|(_, seen, _)| *seen != Seen::Up(0)).map(|(name, ..)| name);
        let uses = self.body.uses.iter().filter(|used| used.seen != Seen::Up(0));
        items.chain(children).chain(uses.filter_map(|used| used.name.as_ref())).cloned().collect()
    }
}

/// A crate's modules, the root first.
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
    /// Files that could not be read.
    pub(super) broken: BTreeMap<String, String>,
    pub(super) macros: BTreeSet<String>,
}

impl Crate {
    pub(super) fn load(files: &dyn Files, root: &str) -> Self {
        let mut loaded = Self { modules: Vec::new(), broken: BTreeMap::new(), macros: BTreeSet::new() };
        loaded.file(files, root, &[], None, files::parent(root));
        loaded
    }

    pub(super) fn holds(&self, file: &str) -> bool {
        self.modules.iter().any(|module| module.file == file)
    }

    fn file(
        &mut self,
        files: &dyn Files,
        file: &str,
        path: &[String],
        parent: Option<usize>,
        folder: &str,
    ) -> Option<usize> {
        if self.modules.len() > MAX_FILES || path.len() > MAX_DEPTH {
            return None;
        }
        let read = files.read(file).map_err(|error| error.to_string()).and_then(|bytes| items::read(&bytes));
        match read {
            Ok(body) => Some(self.module(files, file, path, parent, folder, body)),
            Err(reason) => {
                self.broken.insert(file.to_owned(), format!("could not read {file}: {reason}"));
                None
            }
        }
    }

    /// Adds a module and those below it; `folder` is where the files of its children lie.
    fn module(
        &mut self,
        files: &dyn Files,
        file: &str,
        path: &[String],
        parent: Option<usize>,
        folder: &str,
        mut body: Body,
    ) -> usize {
        let at = self.modules.len();
        let children = std::mem::take(&mut body.children);
        self.macros.extend(body.exported_macros.iter().cloned());
        let is_inline = parent.is_some_and(|parent| self.modules[parent].file == file);
        self.modules.push(Module {
            path: path.to_vec(),
            file: file.to_owned(),
            parent,
            children: Vec::new(),
            body,
        });
        for child in children {
            let Child { name, seen, path: placed, body } = child;
            let mut inner = path.to_vec();
            inner.push(name.clone());
            let below = format!("{folder}/{name}");
            let below = below.trim_start_matches('/');
            let found = match (body, placed) {
                (Some(body), placed) => {
                    let below =
                        placed.and_then(|placed| files::join(folder, &placed)).unwrap_or(below.to_owned());
                    Some(self.module(files, file, &inner, Some(at), &below, *body))
                }
                (None, Some(placed)) => {
                    let from = if is_inline { folder } else { files::parent(file) };
                    files::join(from, &placed).and_then(|placed| {
                        self.file(files, &placed, &inner, Some(at), files::parent(&placed))
                    })
                }
                (None, None) => {
                    let own = format!("{below}.rs");
                    let file = if files.is_file(&own) { own } else { format!("{below}/mod.rs") };
                    self.file(files, &file, &inner, Some(at), below)
                }
            };
            self.modules[at].children.push((name, seen, found));
        }
        at
    }
}
