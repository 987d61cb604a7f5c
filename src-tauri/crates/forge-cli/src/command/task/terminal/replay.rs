//! Which part of a terminal's output was printed before this program began to read it.

/// Follows reading, from the beginning of what is kept.
#[derive(Debug)]
pub(super) struct Replay {
    /// The terminal was opened just now: nobody saw what it printed.
    is_new: bool,
    generation: Option<String>,
    /// The offset behind what was printed before; none once that is shown.
    until: Option<i64>,
}

impl Replay {
    pub(super) const fn new(is_new: bool) -> Self {
        Self { is_new, generation: None, until: None }
    }

    /// Takes an answer before it is shown. Tells whether a replay begins with it: the answer is the first one, or of
    /// another engine, which tells everything again.
    pub(super) fn begins(&mut self, generation: &str, end: i64) -> bool {
        let begins = match self.generation.as_deref() {
            None => !self.is_new,
            Some(before) => before != generation,
        };
        self.generation = Some(generation.to_owned());
        if begins {
            // It does not move: a program that floods always has more.
            self.until = Some(end);
        }
        begins
    }

    /// Takes the offset behind what is shown. Tells whether the replay ends with it.
    pub(super) fn ends(&mut self, next: i64) -> bool {
        self.until.take_if(|until| next >= *until).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_of_an_open_terminal_ends_where_the_first_answer_says() {
        let mut replay = Replay::new(false);
        assert!(replay.begins("a", 9));
        assert!(!replay.ends(4));
        assert!(!replay.begins("a", 70));
        assert!(replay.ends(12));
        assert!(!replay.begins("a", 80));
        assert!(!replay.ends(80));
    }

    #[test]
    fn terminal_opened_just_now_has_no_replay() {
        let mut replay = Replay::new(true);
        assert!(!replay.begins("a", 9));
        assert!(!replay.ends(9));
    }

    #[test]
    fn another_generation_is_a_replay_up_to_its_own_end() {
        for is_new in [false, true] {
            let mut replay = Replay::new(is_new);
            replay.begins("a", 500);
            assert!(replay.begins("b", 30));
            assert!(!replay.ends(29));
            assert!(!replay.begins("b", 31));
            assert!(replay.ends(30));
        }
    }
}
