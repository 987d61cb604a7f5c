//! Code blocks with a name of ours in what an agent says.
//!
//! Only those at the top level of the text count: one inside another fence or a block quote is only talked about.
//! Nothing here is longer in memory than one block may be, however long the text is.

use forge_model::log::LogEntry;

use crate::{fence::fence_mark, speech::Speech};

/// A code fence: its character and its length.
type Fence = (char, usize);

/// A block that was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// What stands between its fences, as far as it is kept.
    pub text: String,
    /// Whether there was more.
    pub is_cut: bool,
    /// Whether its fence was closed.
    pub is_closed: bool,
}

/// A block whose end has not come yet.
#[derive(Debug)]
struct Open {
    fence: usize,
    /// A code block in it.
    nested: Option<Fence>,
    text: String,
    is_cut: bool,
}

impl Open {
    fn block(self, is_closed: bool) -> Block {
        Block { text: self.text, is_cut: self.is_cut, is_closed }
    }
}

#[derive(Debug, Default)]
enum Inside {
    #[default]
    Nothing,
    /// A code block that is none of ours.
    Code(Fence),
    Ours(Open),
}

/// Finds the blocks of one run, piece by piece.
#[derive(Debug)]
pub(crate) struct BlockReader {
    /// What their fences say.
    name: &'static str,
    /// How much of one is kept, in bytes.
    keep: usize,
    speech: Speech,
    /// The line that has not ended yet, as far as it is kept.
    line: String,
    inside: Inside,
}

impl BlockReader {
    pub(crate) fn new(name: &'static str, keep: usize) -> Self {
        Self { name, keep, speech: Speech::default(), line: String::new(), inside: Inside::Nothing }
    }

    /// Takes an entry of the run's log.
    pub(crate) fn hear(&mut self, entry: &LogEntry, mut found: impl FnMut(Block)) {
        let mut speech = std::mem::take(&mut self.speech);
        speech.hear(entry, |piece| self.read(piece, &mut found));
        self.speech = speech;
    }

    /// Takes the next piece of text.
    pub(crate) fn read(&mut self, text: &str, mut found: impl FnMut(Block)) {
        for piece in text.split_inclusive('\n') {
            let (content, ends) = piece.strip_suffix('\n').map_or((piece, false), |line| (line, true));
            // One byte past what may be kept makes the whole too long, so the rest need not be.
            let room = (self.keep + 1).saturating_sub(self.line.len());
            self.line.push_str(head(content, room));
            if ends {
                let line = std::mem::take(&mut self.line);
                self.take_line(line.strip_suffix('\r').unwrap_or(&line), &mut found);
            }
        }
    }

    /// Ends the text.
    pub(crate) fn finish(mut self, mut found: impl FnMut(Block)) {
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            self.take_line(&line, &mut found);
        }
        if let Inside::Ours(open) = self.inside {
            found(open.block(false));
        }
    }

    fn take_line(&mut self, line: &str, found: &mut impl FnMut(Block)) {
        let fence = fence_mark(line);
        self.inside = match (std::mem::take(&mut self.inside), fence) {
            (Inside::Nothing, None) => Inside::Nothing,
            (Inside::Nothing, Some((mark, count, _))) => self.opened(line, (mark, count)),
            (Inside::Code((mark, count)), Some((other, length, true)))
                if other == mark && length >= count =>
            {
                Inside::Nothing
            }
            (Inside::Code(fence), _) => Inside::Code(fence),
            (Inside::Ours(open), fence) => self.in_ours(open, line, fence, found),
        };
    }

    fn opened(&self, line: &str, fence: Fence) -> Inside {
        if !self.is_ours(line, fence) {
            return Inside::Code(fence);
        }
        Inside::Ours(Open { fence: fence.1, nested: None, text: String::new(), is_cut: false })
    }

    fn in_ours(
        &self,
        mut open: Open,
        line: &str,
        fence: Option<(char, usize, bool)>,
        found: &mut impl FnMut(Block),
    ) -> Inside {
        if let Some((mark, count, bare)) = fence {
            let closes_ours = bare && mark == '`' && count >= open.fence;
            let is_over = match open.nested {
                Some((_, inner)) => closes_ours && open.fence > inner,
                None => closes_ours,
            };
            if is_over {
                found(open.block(true));
                return Inside::Nothing;
            }
            match open.nested {
                Some((own, inner)) if bare && own == mark && count >= inner => open.nested = None,
                Some(_) => {}
                None if self.is_ours(line, (mark, count)) => {
                    found(open.block(false));
                    return self.opened(line, (mark, count));
                }
                None => open.nested = Some((mark, count)),
            }
        }
        if open.text.len() + line.len() < self.keep {
            open.text.push_str(line);
            open.text.push('\n');
        } else {
            open.is_cut = true;
        }
        Inside::Ours(open)
    }

    fn is_ours(&self, line: &str, (mark, count): Fence) -> bool {
        let info = line.trim_start_matches(' ').get(count..).unwrap_or_default();
        mark == '`' && info.trim() == self.name
    }
}

/// The first `room` bytes, or a little less where a character would be cut.
fn head(text: &str, room: usize) -> &str {
    let cut = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..cut).unwrap_or_default()
}
