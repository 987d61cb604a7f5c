//! The note of how a task went, read from what the agent of its last run said.

use forge_model::log::LogEntry;

use crate::blocks::{Block, BlockReader};

/// What the fence of a note says.
pub const FENCE: &str = "forge-trajectory";
/// The longest note, in words.
pub const MAX_WORDS: usize = 500;
/// What of a note is kept, in bytes, however long its words are.
const MAX_BYTES: usize = 16 * 1024;

/// What a run left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Markdown, at most [`MAX_WORDS`] words.
    pub text: String,
    /// Whether there was more.
    pub is_cut: bool,
}

/// Finds the note in what a run said: the last one counts.
#[derive(Debug)]
pub struct NoteReader {
    blocks: BlockReader,
    last: Option<Note>,
}

impl Default for NoteReader {
    fn default() -> Self {
        Self { blocks: BlockReader::new(FENCE, MAX_BYTES), last: None }
    }
}

impl NoteReader {
    /// Takes an entry of the run's log.
    pub fn hear(&mut self, entry: &LogEntry) {
        self.blocks.hear(entry, |block| keep(&mut self.last, &block));
    }

    /// The note, now that the run is over.
    #[must_use]
    pub fn finish(mut self) -> Option<Note> {
        self.blocks.finish(|block| keep(&mut self.last, &block));
        self.last
    }
}

/// A note whose end never came says nothing about the end of the work.
fn keep(last: &mut Option<Note>, block: &Block) {
    let (text, is_cut) = first_words(block.text.trim(), MAX_WORDS);
    if block.is_closed && !text.is_empty() {
        *last = Some(Note { text: text.to_owned(), is_cut: is_cut || block.is_cut });
    }
}

/// The first `most` words, and whether there are more.
fn first_words(text: &str, most: usize) -> (&str, bool) {
    let (mut words, mut inside) = (0, false);
    for (at, c) in text.char_indices() {
        let was_inside = std::mem::replace(&mut inside, !c.is_whitespace());
        words += usize::from(inside && !was_inside);
        if words > most {
            return (text.get(..at).unwrap_or_default().trim_end(), true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_in(text: &str) -> Option<Note> {
        let mut reader = NoteReader::default();
        reader.blocks.read(text, |block| keep(&mut reader.last, &block));
        reader.finish()
    }

    #[test]
    fn the_last_closed_note_counts() {
        let text = "Done.\n```forge-trajectory\nfirst\n```\n```forge-trajectory\n**second**\n\nline\n```\n```forge-trajectory\nno end";
        assert_eq!(note_in(text), Some(Note { text: "**second**\n\nline".into(), is_cut: false }));
        assert_eq!(note_in("```forge-trajectory\n\n```\n"), None);
        assert_eq!(note_in("~~~~\n```forge-trajectory\nonly an example\n```\n~~~~\n"), None);
    }

    #[test]
    fn a_note_has_at_most_so_many_words() {
        let long = |words: usize| {
            let text = vec!["wörd"; words].join(" ");
            note_in(&format!("```forge-trajectory\n{text}\n```\n")).unwrap()
        };
        let (fits, cut) = (long(MAX_WORDS), long(MAX_WORDS + 1));
        assert!(!fits.is_cut && cut.is_cut);
        assert_eq!(fits.text, cut.text);
        assert_eq!(cut.text.split_whitespace().count(), MAX_WORDS);
    }
}
