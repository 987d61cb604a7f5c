//! What a dialogue says when a later engine runs it again, beside what its program was given before.
//!
//! The n-th message that the dialogue says stands for the n-th one that was given. An engine of another version may
//! word it differently: what was given stays, and the message is not sent again. Where it is not certain which message
//! stands for which, nothing more is sent: a prompt that an agent gets twice is worse than a run that is lost.

use forge_keeper::Given;

/// What to do with a message of the dialogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Saying {
    /// The program was given it.
    Known,
    /// It is to be sent.
    Fresh,
    /// Nothing is to be sent any more.
    Unaligned,
}

/// The messages of one program.
#[derive(Debug, Default)]
pub(crate) struct Alignment {
    given: Vec<Given>,
    /// How many of them the dialogue said again.
    said: usize,
    /// How many of those in other words.
    reworded: u64,
    /// Whether the last one was.
    last_is_reworded: bool,
    is_live: bool,
    is_lost: bool,
}

impl Alignment {
    pub(crate) fn new(given: Vec<Given>) -> Self {
        Self { given, ..Self::default() }
    }

    /// The dialogue says a message.
    pub(crate) fn say(&mut self, message: &[u8]) -> Saying {
        if self.is_lost {
            return Saying::Unaligned;
        }
        if self.is_live || self.given.is_empty() {
            return Saying::Fresh;
        }
        let message = Given::of(message);
        let Some(given) = self.given.get(self.said) else {
            // One that stands for the last given one, or for any other, would be sent twice.
            let is_certain = self.reworded == 0 || (!self.last_is_reworded && !self.given.contains(&message));
            return if is_certain { Saying::Fresh } else { self.lose() };
        };
        self.last_is_reworded = *given != message;
        if self.last_is_reworded {
            if self.given.contains(&message) {
                return self.lose();
            }
            self.reworded += 1;
        }
        self.said += 1;
        Saying::Known
    }

    /// All was said that follows from what the program printed until now. False where messages are missing.
    pub(crate) const fn is_whole(&mut self) -> bool {
        self.is_live = true;
        self.is_lost |= self.said < self.given.len();
        !self.is_lost
    }

    /// Whether it is not certain any more which message stands for which.
    pub(crate) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// How many messages this version says in other words.
    pub(crate) const fn reworded(&self) -> u64 {
        self.reworded
    }

    const fn lose(&mut self) -> Saying {
        self.is_lost = true;
        Saying::Unaligned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of each message, how many were reworded, and whether all that was given was said.
    fn replay(given: &str, said: &str) -> (String, u64, bool) {
        let given = given.split_whitespace().map(|message| Given::of(message.as_bytes()));
        let mut alignment = Alignment::new(given.collect());
        let sayings = said.split_whitespace().map(|message| match alignment.say(message.as_bytes()) {
            Saying::Known => 'k',
            Saying::Fresh => 'f',
            Saying::Unaligned => 'u',
        });
        let sayings = sayings.collect();
        let is_whole = alignment.is_whole();
        (sayings, alignment.reworded(), is_whole)
    }

    #[test]
    fn messages_are_aligned_one_by_one_or_not_at_all() {
        let cases = [
            // The same, and what the earlier engine did not come to.
            ("", "hello prompt", ("ff", 0, true)),
            ("hello prompt", "hello prompt", ("kk", 0, true)),
            ("hello prompt", "hello prompt answer answer", ("kkff", 0, true)),
            ("hello stop", "hello stop stop", ("kkf", 0, true)),
            // Other words.
            ("hello prompt", "hello2 prompt", ("kk", 1, true)),
            ("hello prompt", "hello2 prompt2", ("kk", 2, true)),
            ("hello prompt", "hello2 prompt answer", ("kkf", 1, true)),
            // Fewer messages.
            ("hello prompt", "hello", ("k", 0, false)),
            ("hello prompt", "", ("", 0, false)),
            // One more at the beginning, in the middle, at the end behind one in other words.
            ("hello prompt", "new hello prompt", ("kuu", 1, false)),
            ("hello prompt", "hello new prompt", ("kku", 1, false)),
            ("hello prompt", "hello new prompt2", ("kku", 1, false)),
            // One less, another order.
            ("hello ready prompt", "hello prompt", ("ku", 0, false)),
            ("hello ready prompt", "hello prompt ready", ("kuu", 0, false)),
        ];
        for (given, said, (sayings, reworded, is_whole)) in cases {
            let expected = (sayings.to_owned(), reworded, is_whole);
            assert_eq!(replay(given, said), expected, "{said:?} for {given:?}");
        }
    }

    #[test]
    fn message_that_follows_from_new_output_is_sent_behind_one_in_other_words() {
        let mut alignment = Alignment::new(vec![Given::of(b"prompt")]);
        assert_eq!(alignment.say(b"prompt2"), Saying::Known);
        assert!(alignment.is_whole());
        assert_eq!(alignment.say(b"answer"), Saying::Fresh);
        assert_eq!(alignment.say(b"prompt"), Saying::Fresh);
    }
}
