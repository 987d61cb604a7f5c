//! What an auditor decided, read from what it said.
//!
//! A verdict is a marker alone on a line (`===REVIEW: PASS===`, `===REVIEW: FAIL===`,
//! `===REVIEW: FAIL: reason===`) or a JSON object with a `verdict`. A marker in a code fence decides nothing, and
//! nothing in a block quote does. A JSON object in a code fence decides when it has its lines to itself and the
//! fence is no diff: agents fence their answers, and quoted code is rarely a whole object. Of all candidates the one
//! that ends last counts: an auditor that repeats its instruction before it answers has decided nothing by that.
//! Without a candidate the auditor is unusable; the work is not rejected for it.

mod candidates;

use forge_model::{
    audit::{Audit, AuditVerdict},
    log::LogEntry,
};

use crate::{
    fence::{fence_mark, is_quoted},
    speech::Speech,
};
use candidates::{MAX_JSON_BYTES, last_marker, last_object, last_score};

/// Reads the verdict of an auditor's whole text.
#[must_use]
pub fn audit(text: &str) -> Audit {
    let mut reader = AuditReader::new(0);
    reader.read(text);
    reader.finish().0
}

/// How much of the text that counts is looked at in one go, in bytes; an answer may span two such stretches.
const STRETCH: usize = 2 * MAX_JSON_BYTES;

/// A code fence that is open.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    count: usize,
    is_diff: bool,
}

/// What a line may decide, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// In plain text: everything.
    Open,
    /// In a code fence: a whole object may.
    Code,
    /// The mark of a fence: nothing, and no object goes on across it.
    Mark,
    /// In a block quote or a diff: nothing.
    Hidden,
}

/// Reads a verdict from what an auditor says, piece by piece and in bounded memory.
#[derive(Debug, Default)]
pub struct AuditReader {
    speech: Speech,
    /// How much of the end of the text is kept, in bytes, and that end.
    keep: usize,
    kept: String,
    /// The line that has not ended yet.
    line: String,
    /// Whether its beginning was dropped, and if so where it stands.
    cut: Option<Standing>,
    fence: Option<Fence>,
    /// The text in which markers decide, from byte `offset` of the whole on; other text is blank.
    open: String,
    /// The text in which objects decide: `open`, byte for byte, with the content of code fences.
    with_code: String,
    offset: usize,
    marker: Option<(usize, AuditVerdict, Option<String>)>,
    answer: Option<(usize, Audit)>,
    score: Option<u8>,
}

impl AuditReader {
    /// One that keeps the last `keep` bytes of the text for people to read.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Takes an entry of the run's log.
    pub fn hear(&mut self, entry: &LogEntry) {
        let mut speech = std::mem::take(&mut self.speech);
        speech.hear(entry, |piece| self.read(piece));
        self.speech = speech;
    }

    /// Takes the next piece of text.
    pub fn read(&mut self, text: &str) {
        if self.keep > 0 {
            self.kept.push_str(text);
            drop_front(&mut self.kept, self.keep, 2 * self.keep);
        }
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.end_line();
            } else if self.line.len() > 2 * STRETCH {
                // No marker is that long, and an answer within it is at its end.
                // A line of code whose beginning is gone holds no whole object.
                let is_open = self.fence.is_none() && !is_quoted(&self.line);
                self.cut.get_or_insert(if is_open { Standing::Open } else { Standing::Hidden });
                self.offset += drop_front(&mut self.line, STRETCH, STRETCH);
            }
        }
    }

    /// What was decided, now that the text is over, and the end of the text.
    #[must_use]
    pub fn finish(mut self) -> (Audit, String) {
        self.end_line();
        self.look();
        let marker_ends = self.marker.as_ref().map(|(end, ..)| *end);
        let audit = match (self.marker, self.answer) {
            (_, Some((end, answer))) if marker_ends.is_none_or(|marker_end| end > marker_end) => {
                Audit { score: answer.score.or(self.score), ..answer }
            }
            (Some((_, verdict, reason)), _) => {
                Audit { verdict: Some(verdict), reason, score: self.score, findings: Vec::new() }
            }
            (None, _) => Audit { score: self.score, ..Audit::default() },
        };
        drop_front(&mut self.kept, self.keep, self.keep);
        (audit, self.kept)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let standing = match self.cut.take() {
            Some(standing) => standing,
            None => self.standing(&line),
        };
        let blank = |filler: char| line.bytes().map(move |byte| if byte == b'\n' { '\n' } else { filler });
        match standing {
            Standing::Open => self.open.push_str(&line),
            Standing::Code | Standing::Mark | Standing::Hidden => self.open.extend(blank(' ')),
        }
        match standing {
            Standing::Open | Standing::Code => self.with_code.push_str(&line),
            Standing::Mark => self.with_code.extend(blank('`')),
            Standing::Hidden => self.with_code.extend(blank(' ')),
        }
        if self.with_code.len() > 4 * STRETCH {
            self.look();
            // A place between two characters of this text is one of the other, too.
            let dropped = drop_front(&mut self.with_code, STRETCH, STRETCH);
            self.open.drain(..dropped);
            self.offset += dropped;
        }
    }

    /// Where a line stands; follows the fences.
    fn standing(&mut self, line: &str) -> Standing {
        let mark = fence_mark(line);
        match (self.fence, mark) {
            (None, Some((mark, count, _))) => {
                let info = line.trim_start_matches([' ', mark]).trim().to_lowercase();
                let is_diff = info.starts_with("diff") || info.starts_with("patch");
                self.fence = Some(Fence { mark, count, is_diff });
                Standing::Mark
            }
            (Some(fence), Some((mark, count, true))) if mark == fence.mark && count >= fence.count => {
                self.fence = None;
                Standing::Mark
            }
            (Some(Fence { is_diff: true, .. }), _) => Standing::Hidden,
            _ if is_quoted(line) => Standing::Hidden,
            (Some(_), _) => Standing::Code,
            (None, None) => Standing::Open,
        }
    }

    /// Looks for candidates in the text at hand; the last of all counts.
    fn look(&mut self) {
        let offset = self.offset;
        let newer = |end: usize, known: Option<usize>| known.is_none_or(|known| end > known);
        if let Some((end, verdict, reason)) = last_marker(&self.open)
            && newer(offset + end, self.marker.as_ref().map(|known| known.0))
        {
            self.marker = Some((offset + end, verdict, reason));
        }
        if let Some((end, answer)) = last_object(&self.open, &self.with_code, offset == 0)
            && newer(offset + end, self.answer.as_ref().map(|known| known.0))
        {
            self.answer = Some((offset + end, answer));
        }
        self.score = last_score(&self.open).or(self.score);
    }
}

/// Drops the beginning of a text that is longer than `limit`, but for its last `keep` bytes; how much.
fn drop_front(text: &mut String, keep: usize, limit: usize) -> usize {
    if text.len() <= limit {
        return 0;
    }
    let from = text.len() - keep;
    let cut = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(from);
    text.drain(..cut);
    cut
}

#[cfg(test)]
mod tests;
