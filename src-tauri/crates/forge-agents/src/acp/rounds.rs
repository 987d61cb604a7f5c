//! How often the model was called, as far as the protocol lets that be seen.
//!
//! The protocol tells of no calls. What it does tell is what an agent says and which tools it uses: where something
//! new begins after the tools before it have ended, the model must have been called again. Tools of one call that end
//! before the next of them begins are taken for more calls than they were.

use std::collections::BTreeSet;

/// The calls of a run.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    seen: u32,
    open: BTreeSet<String>,
    /// Whether a tool ended since the last call.
    has_ended: bool,
}

impl Rounds {
    /// Records the start of a message, a thought or a tool call. Returns the number of model calls so far.
    pub(super) fn begins(&mut self) -> u32 {
        if self.seen == 0 || (self.has_ended && self.open.is_empty()) {
            self.seen = self.seen.saturating_add(1);
            self.has_ended = false;
        }
        self.seen
    }

    /// A tool is used, or has ended.
    pub(super) fn tool(&mut self, id: &str, is_over: bool) -> u32 {
        if is_over {
            // One that was never seen at work has been, all the same.
            let seen = if self.open.remove(id) || self.has_ended { self.seen } else { self.begins() };
            self.has_ended = true;
            return seen;
        }
        if self.open.contains(id) {
            return self.seen;
        }
        let seen = self.begins();
        self.open.insert(id.to_owned());
        seen
    }

    /// The prompt was answered: whatever comes next is a call of its own.
    pub(super) fn answered(&mut self) {
        self.open.clear();
        self.has_ended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_begins_after_the_tools_of_the_one_before() {
        let mut rounds = Rounds::default();
        assert_eq!((rounds.begins(), rounds.begins()), (1, 1), "words of one call");
        assert_eq!((rounds.tool("a", false), rounds.tool("b", false)), (1, 1), "two tools at once");
        assert_eq!((rounds.tool("a", true), rounds.begins()), (1, 1), "one is at work");
        assert_eq!((rounds.tool("b", true), rounds.tool("b", true)), (1, 1));
        assert_eq!((rounds.begins(), rounds.tool("c", false), rounds.tool("c", true)), (2, 2, 2));
        assert_eq!(rounds.tool("d", false), 3, "without a word");
        rounds.answered();
        assert_eq!(rounds.begins(), 4);
    }
}
