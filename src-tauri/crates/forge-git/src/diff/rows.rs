//! Hunks and rows of two contents.

use forge_model::diff::{DiffLine, DiffLineKind, FileChange, FileDiff, Hunk};
use git2::{DiffLineType, DiffOptions, Patch};

use super::content::Pair;
use super::scope::DiffPage;
use crate::error::GitError;

/// Longer lines are not for reading: a minified file, or data.
const LONG_LINE: usize = 5000;

pub(super) fn diff(mut change: FileChange, pair: &Pair, page: DiffPage) -> Result<FileDiff, GitError> {
    let empty = |change, too_large| {
        Ok(FileDiff { change, hunks: Vec::new(), too_large, lossy: false, next_start: None, total_rows: 0 })
    };
    if change.binary {
        return empty(change, false);
    }
    let (old, new) = (pair.old.bytes(), pair.new.bytes());
    let long = |content: &[u8]| content.split(|b| *b == b'\n').any(|line| line.len() > LONG_LINE);
    if pair.is_too_large() || (!page.force && (long(old) || long(new))) {
        return empty(change, true);
    }
    let mut options = DiffOptions::new();
    // What the attributes call text is text; what is not was sorted out above.
    options.context_lines(page.context).interhunk_lines(0).indent_heuristic(true).force_text(true);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
    let (_, added, removed) = patch.line_stats()?;
    change.added = u32::try_from(added).unwrap_or(u32::MAX);
    change.removed = u32::try_from(removed).unwrap_or(u32::MAX);
    let mut walk = Walk { page, row: 0, lossy: false, hunks: Vec::new() };
    for index in 0..patch.num_hunks() {
        walk.hunk(&patch, index)?;
    }
    let end = page.start_line.saturating_add(page.limit);
    Ok(FileDiff {
        change,
        hunks: walk.hunks,
        too_large: false,
        lossy: walk.lossy,
        next_start: (end < walk.row).then_some(end),
        total_rows: walk.row,
    })
}

struct Walk {
    page: DiffPage,
    row: u32,
    lossy: bool,
    hunks: Vec<Hunk>,
}

impl Walk {
    fn hunk(&mut self, patch: &Patch<'_>, index: usize) -> Result<(), GitError> {
        let (found, _) = patch.hunk(index)?;
        let mut hunk = Hunk {
            old_start: found.old_start(),
            old_lines: found.old_lines(),
            new_start: found.new_start(),
            new_lines: found.new_lines(),
            header: section(found.header()),
            lines: Vec::new(),
        };
        let first = self.page.start_line;
        let end = first.saturating_add(self.page.limit);
        for at in 0..patch.num_lines_in_hunk(index)? {
            let line = patch.line_in_hunk(index, at)?;
            let kind = match line.origin_value() {
                DiffLineType::Context => DiffLineKind::Context,
                DiffLineType::Addition => DiffLineKind::Added,
                DiffLineType::Deletion => DiffLineKind::Removed,
                // Remarks about a missing line feed; the line before says it itself.
                DiffLineType::ContextEOFNL
                | DiffLineType::AddEOFNL
                | DiffLineType::DeleteEOFNL
                | DiffLineType::FileHeader
                | DiffLineType::HunkHeader
                | DiffLineType::Binary => continue,
            };
            if self.row >= first && self.row < end {
                let content = line.content();
                let body = content.strip_suffix(b"\n");
                let text = String::from_utf8_lossy(body.unwrap_or(content));
                self.lossy |= matches!(text, std::borrow::Cow::Owned(_));
                hunk.lines.push(DiffLine {
                    kind,
                    old_no: line.old_lineno(),
                    new_no: line.new_lineno(),
                    text: text.into_owned(),
                    no_newline: body.is_none(),
                });
            }
            self.row = self.row.saturating_add(1);
        }
        if !hunk.lines.is_empty() {
            self.hunks.push(hunk);
        }
        Ok(())
    }
}

/// The text after the second `@@`.
fn section(header: &[u8]) -> String {
    let header = String::from_utf8_lossy(header);
    header.splitn(3, "@@").nth(2).unwrap_or_default().trim().to_owned()
}
