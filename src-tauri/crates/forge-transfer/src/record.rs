//! What a store remembers of the last transfer.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{Fault, names::is_oid, safe};

/// The last transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// Nothing was transferred.
    Nothing,
    /// The snapshot is being applied.
    Applying(String),
    /// The tree was as this snapshot says.
    Holds(Held),
}

/// The snapshot that a tree was as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) id: String,
    /// Absent in records of earlier versions.
    pub(crate) parts: Option<Parts>,
}

/// What a snapshot names, so that git need not be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The tree of the worktree's files.
    pub(crate) files: String,
    /// Commits, tags and trees that the git directory names.
    pub(crate) roots: Vec<String>,
}

fn path(store: &Path) -> PathBuf {
    store.join("record")
}

impl Record {
    pub(crate) fn read(store: &Path) -> Self {
        let said = std::fs::read_to_string(path(store)).unwrap_or_default();
        let mut lines = said.lines();
        match lines.next().unwrap_or_default().split_once(' ') {
            Some(("applying", id)) if is_oid(id) => Self::Applying(id.to_owned()),
            Some(("holds", id)) if is_oid(id) => {
                let files =
                    lines.next().and_then(|line| line.strip_prefix("files ")).filter(|oid| is_oid(oid));
                let roots = lines.filter(|oid| is_oid(oid)).map(str::to_owned).collect();
                let parts = files.map(|files| Parts { files: files.to_owned(), roots });
                Self::Holds(Held { id: id.to_owned(), parts })
            }
            _ => Self::Nothing,
        }
    }

    /// When it was written.
    pub(crate) fn written(store: &Path) -> Option<SystemTime> {
        std::fs::metadata(path(store)).and_then(|found| found.modified()).ok()
    }

    pub(crate) fn write(&self, store: &Path) -> Result<(), Fault> {
        let said = match self {
            Self::Nothing => String::new(),
            Self::Applying(id) => format!("applying {id}\n"),
            Self::Holds(Held { id, parts: None }) => format!("holds {id}\n"),
            Self::Holds(Held { id, parts: Some(Parts { files, roots }) }) => {
                let roots: String = roots.iter().flat_map(|oid| [oid, "\n"]).collect();
                format!("holds {id}\nfiles {files}\n{roots}")
            }
        };
        safe::replace(&path(store), said.as_bytes()).map(drop).map_err(Fault::io("write", path(store)))
    }

    pub(crate) fn held(&self) -> Option<&Held> {
        match self {
            Self::Holds(held) => Some(held),
            Self::Nothing | Self::Applying(_) => None,
        }
    }
}
