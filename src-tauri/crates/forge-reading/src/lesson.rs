//! Lessons that an agent proposes: the form it is told to use, and reading them from what it said.
//!
//! A proposal is a code block whose fence says [`FENCE`], at the top level of the text. It begins with a small
//! header and goes on with Markdown. What is not in the form is refused with a reason and never mended.

use std::fmt::Write as _;

use forge_model::{
    lesson::{LessonDraft, MAX_BODY, MAX_PATH, MAX_PATHS, MAX_TITLE, shown},
    log::LogEntry,
    workflow::Finding,
};

use crate::blocks::{Block, BlockReader};

/// What the fence of a proposal says.
pub const FENCE: &str = "forge-lesson";
/// How many lessons one run may propose.
pub const MAX_LESSONS: usize = 3;
/// What of a block is kept; more than any that is in the form has.
const MAX_BLOCK: usize = MAX_BODY + MAX_PATHS * (MAX_PATH + 2) + 4 * MAX_TITLE + 256;
/// How many refusals are told by name.
const REFUSALS_TOLD: usize = 5;

/// A proposal that is not in the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its title, else its place among the blocks.
    pub name: String,
    /// Why.
    pub why: String,
}

/// What a text proposes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposals {
    /// Those in the form, in order; the same thing said twice is there once.
    pub lessons: Vec<LessonDraft>,
    /// Those that are not.
    pub refused: Vec<Refusal>,
}

/// The refusals in a sentence; nothing when there are none.
#[must_use]
pub fn told(refused: &[Refusal]) -> Option<String> {
    let mut text = String::new();
    for (index, refusal) in refused.iter().take(REFUSALS_TOLD).enumerate() {
        let _ =
            write!(text, "{}{}: {}", if index > 0 { "; " } else { "refused: " }, refusal.name, refusal.why);
    }
    if refused.len() > REFUSALS_TOLD {
        let _ = write!(text, "; and {} more", refused.len() - REFUSALS_TOLD);
    }
    (!text.is_empty()).then_some(text)
}

/// What a whole text proposes.
#[must_use]
pub fn proposals(text: &str) -> Proposals {
    let mut reader = LessonReader::default();
    reader.read(text);
    reader.finish()
}

/// Finds the proposals of one run, piece by piece.
#[derive(Debug)]
pub struct LessonReader {
    blocks: BlockReader,
    found: Found,
}

impl Default for LessonReader {
    fn default() -> Self {
        Self { blocks: BlockReader::new(FENCE, MAX_BLOCK), found: Found::default() }
    }
}

impl LessonReader {
    /// Takes an entry of the run's log.
    pub fn hear(&mut self, entry: &LogEntry) {
        self.blocks.hear(entry, |block| self.found.take(&block));
    }

    /// Takes the next piece of text.
    pub fn read(&mut self, text: &str) {
        self.blocks.read(text, |block| self.found.take(&block));
    }

    /// What was proposed, now that the text is over.
    #[must_use]
    pub fn finish(mut self) -> Proposals {
        self.blocks.finish(|block| self.found.take(&block));
        self.found.proposals
    }
}

/// What was proposed so far.
#[derive(Debug, Default)]
struct Found {
    blocks: usize,
    proposals: Proposals,
}

impl Found {
    fn take(&mut self, block: &Block) {
        self.blocks += 1;
        if !block.is_closed {
            return self.refuse(block, "its fence is not closed");
        }
        if block.is_cut {
            return self.refuse(block, &format!("it is longer than {MAX_BODY} bytes"));
        }
        match draft(&block.text) {
            Err(why) => self.refuse(block, &why.to_string()),
            Ok(draft) if self.proposals.lessons.contains(&draft) => {}
            Ok(_) if self.proposals.lessons.len() == MAX_LESSONS => {
                self.refuse(block, &format!("a run can propose at most {MAX_LESSONS} lessons"));
            }
            Ok(draft) => self.proposals.lessons.push(draft),
        }
    }

    fn refuse(&mut self, block: &Block, why: &str) {
        let title = block.text.lines().find_map(|line| line.strip_prefix("title:")).map(str::trim);
        let name = match title {
            Some(title) if !title.is_empty() => format!("\"{}\"", shown(title)),
            Some(_) | None => format!("lesson {}", self.blocks),
        };
        self.proposals.refused.push(Refusal { name, why: why.to_owned() });
    }
}

/// Why a block is no lesson; each completes "refused: ...".
#[derive(Debug, thiserror::Error)]
enum FormError {
    #[error("its header allows `title` and `paths`, not `{}`", shown(.0))]
    UnknownKey(String),
    #[error("an empty line must follow its header")]
    HeaderWithoutEnd,
    #[error("{}", .0.iter().map(|it| format!("{} {}", it.path, it.message)).collect::<Vec<_>>().join(", "))]
    Wrong(Vec<Finding>),
}

/// Reads a block: a header up to the first empty line (or between lines of `---`), then Markdown.
fn draft(text: &str) -> Result<LessonDraft, FormError> {
    let mut draft = LessonDraft { title: String::new(), body: String::new(), paths: Vec::new() };
    let text = text.strip_prefix("---\n").unwrap_or(text);
    let mut rest = text;
    while let Some((line, after)) = rest.split_once('\n') {
        rest = after;
        if line.trim().is_empty() || line.trim() == "---" {
            break;
        }
        match line.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("title", title)) => title.clone_into(&mut draft.title),
            Some(("paths", paths)) => {
                draft.paths =
                    paths.split(',').filter(|path| !path.trim().is_empty()).map(str::to_owned).collect();
            }
            Some((key, _)) if key.chars().all(char::is_alphanumeric) => {
                return Err(FormError::UnknownKey(key.to_owned()));
            }
            Some(_) | None => return Err(FormError::HeaderWithoutEnd),
        }
    }
    rest.clone_into(&mut draft.body);
    let draft = draft.tidied();
    let findings = draft.findings();
    if findings.is_empty() { Ok(draft) } else { Err(FormError::Wrong(findings)) }
}

#[cfg(test)]
mod tests;
