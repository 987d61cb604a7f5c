//! Reads the answer of `git merge-tree`.

use super::{ConflictKind, ConflictPath, ConflictSide, MergeMessage, Merged};
use crate::bytes;

/// Tree, conflicted entries, an empty record, then messages: count, paths, kind, text.
///
/// A rename that collides with another path can end as clean with conflict markers in the file (git 2.47 says
/// so in a message alone): whatever git calls a conflict is one.
pub(super) fn parse_merged(output: &[u8], clean: bool) -> Option<Merged> {
    let mut records = output.strip_suffix(b"\0")?.split(|b| *b == 0);
    let tree = bytes::line(records.next()?);
    let mut paths: Vec<ConflictPath> = Vec::new();
    for record in records.by_ref().take_while(|record| !record.is_empty()) {
        let tab = record.iter().position(|b| *b == b'\t')?;
        let (header, path) = (bytes::text(&record[..tab]), bytes::text(&record[tab + 1..]));
        let mut fields = header.split(' ');
        let side = Some(ConflictSide { mode: fields.next()?.to_owned(), oid: fields.next()?.to_owned() });
        let stage = fields.next()?;
        if paths.last().is_none_or(|last| last.path != path) {
            let kind = ConflictKind::Other;
            paths.push(ConflictPath { path, kind, base: None, ours: None, theirs: None });
        }
        let last = paths.last_mut()?;
        match stage {
            "1" => last.base = side,
            "2" => last.ours = side,
            "3" => last.theirs = side,
            _ => return None,
        }
    }
    let mut messages = Vec::new();
    while let Some(count) = records.next() {
        let count: usize = bytes::text(count).parse().ok()?;
        let about = records.by_ref().take(count).map(bytes::text).collect();
        let (kind, text) = (bytes::text(records.next()?), bytes::line(records.next()?));
        messages.push(MergeMessage { kind, paths: about, text });
    }
    let conflicts = || messages.iter().filter(|message| message.kind.starts_with("CONFLICT"));
    if clean && conflicts().next().is_none() {
        return Some(Merged::Tree(tree));
    }
    if paths.is_empty() {
        for path in conflicts().flat_map(|message| message.paths.iter().cloned()) {
            paths.push(ConflictPath {
                path,
                kind: ConflictKind::Other,
                base: None,
                ours: None,
                theirs: None,
            });
        }
    }
    for path in &mut paths {
        path.kind = kind_of(path, &messages);
    }
    Some(Merged::Conflict { tree, paths, messages })
}

fn kind_of(path: &ConflictPath, messages: &[MergeMessage]) -> ConflictKind {
    let about = messages.iter().filter(|m| m.kind.starts_with("CONFLICT") && m.paths.contains(&path.path));
    let named = about.map(|message| message.kind.trim_start_matches("CONFLICT").trim()).find_map(|kind| {
        match kind {
            "(binary)" => Some(ConflictKind::Binary),
            "(file/directory)" => Some(ConflictKind::FileDirectory),
            "(distinct modes)" | "(distinct types)" => Some(ConflictKind::Type),
            "(modify/delete)" => Some(ConflictKind::ModifyDelete),
            "(rename/delete)" => Some(ConflictKind::RenameDelete),
            "(rename/rename)" | "(rename involved in collision)" => Some(ConflictKind::RenameRename),
            kind if kind.starts_with("(submodule") => Some(ConflictKind::Submodule),
            // Both contents and add/add come by this name; the sides tell.
            "(contents)" => None,
            _ => Some(ConflictKind::Other),
        }
    });
    named.unwrap_or(match (&path.base, &path.ours, &path.theirs) {
        (Some(_), Some(_), Some(_)) => ConflictKind::Content,
        (None, Some(_), Some(_)) => ConflictKind::AddAdd,
        (Some(_), Some(_), None) | (Some(_), None, Some(_)) => ConflictKind::ModifyDelete,
        _ => ConflictKind::Other,
    })
}
