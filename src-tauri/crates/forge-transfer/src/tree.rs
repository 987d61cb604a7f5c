//! One end of a transfer: where it is, and what holds there.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_exec::Variables;
use serde::{Deserialize, Serialize};

/// A worktree with its git directory.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The files.
    pub worktree: PathBuf,
    /// Its git directory. Programs may have written anything into it.
    pub git_dir: PathBuf,
    /// The folder of our own in which git runs, out of the programs' reach. It is kept between transfers.
    pub store: PathBuf,
    /// Object stores that the git directory borrows from.
    pub objects: Vec<PathBuf>,
    /// git, by name or path.
    pub program: OsString,
    /// The environment that git starts from.
    pub environment: Arc<Variables>,
    /// What holds for both ends; what held at the last transfer when absent.
    pub manner: Option<Manner>,
    /// Which end this is.
    pub side: Side,
}

impl Tree {
    /// A tree of its own in a folder, for somebody who looks at what became of this one elsewhere. It borrows the objects
    /// that this one sent; its git directory lies beside its files, where programs that work on them cannot write.
    #[must_use]
    pub fn viewed_in(self, folder: &Path) -> Self {
        let mut objects = self.objects;
        objects.push(self.store.join("objects"));
        Self {
            worktree: folder.join("tree"),
            git_dir: folder.join("git"),
            store: folder.join("store"),
            objects,
            side: Side::Far { mirror: folder.join("mirror.git") },
            ..self
        }
    }
}

/// Which end a [`Tree`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Side {
    /// The git directory was made by somebody else and lent. Objects that come are put into it.
    Lent,
    /// The git directory is made here. Objects that come are put into the repository `mirror`, which trees share.
    Far {
        /// A repository of our own.
        mirror: PathBuf,
    },
}

/// What holds for both ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manner {
    /// Settings that programs at the other end find in their git directory.
    pub settings: Vec<(String, String)>,
    /// What is ignored in every repository.
    pub excludes: Vec<u8>,
    /// Whether names of objects are SHA-256.
    pub is_sha256: bool,
    /// Whether files may differ from what git stores of them.
    pub converts: bool,
}
