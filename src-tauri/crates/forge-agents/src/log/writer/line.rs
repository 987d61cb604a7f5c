//! An entry as a line of the log.

use forge_model::log::{EntryKind, EntryStatus};
use serde::Serialize;
use serde_json::Value;

/// An entry as it is written; the same fields as [`forge_model::log::LogEntry`], borrowed.
#[derive(Serialize)]
pub(super) struct Line<'e> {
    pub(super) seq: u64,
    pub(super) at: i64,
    pub(super) execution_id: &'e str,
    pub(super) turn: u32,
    pub(super) id: LineId<'e>,
    pub(super) parent_id: Option<&'e str>,
    pub(super) kind: EntryKind,
    pub(super) status: Option<EntryStatus>,
    pub(super) body: &'e Value,
    pub(super) raw_offset: u64,
}

/// The identity of an entry; its number where it has none.
pub(super) enum LineId<'e> {
    Given(&'e str),
    Number(u64),
}

impl Serialize for LineId<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Given(id) => serializer.serialize_str(id),
            Self::Number(seq) => serializer.collect_str(seq),
        }
    }
}
