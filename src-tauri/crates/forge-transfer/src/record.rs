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
    Holds(String),
}

fn path(store: &Path) -> PathBuf {
    store.join("record")
}

impl Record {
    pub(crate) fn read(store: &Path) -> Self {
        let said = std::fs::read_to_string(path(store)).unwrap_or_default();
        match said.trim_end().split_once(' ') {
            Some(("applying", id)) if is_oid(id) => Self::Applying(id.to_owned()),
            Some(("holds", id)) if is_oid(id) => Self::Holds(id.to_owned()),
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
            Self::Holds(id) => format!("holds {id}\n"),
        };
        safe::replace(&path(store), said.as_bytes()).map(drop).map_err(Fault::io("write", path(store)))
    }

    pub(crate) fn held(&self) -> Option<&str> {
        match self {
            Self::Holds(id) => Some(id),
            Self::Nothing | Self::Applying(_) => None,
        }
    }
}
