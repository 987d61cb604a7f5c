//! What may be deleted because it is old: a deletion of more than half of anything waits for a person's answer.

use crate::storage::{RetentionAnswer, RetentionQuestion};
use crate::time::Timestamp;

/// Which things of a kind may go, by the time at which they were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Things made up to this time are kept, since a person said so.
    pub kept: Timestamp,
    /// Things made later, up to this time, are old enough to go.
    pub until: Timestamp,
}

impl Bounds {
    /// The bounds at a sweep that would delete what was made up to `until`.
    #[must_use]
    pub fn new(question: Option<&RetentionQuestion>, until: Timestamp) -> Self {
        let none_kept = Timestamp(i64::MIN);
        match question.and_then(|question| question.answer.map(|answer| (answer, question.until))) {
            Some((RetentionAnswer::Keep, kept)) => Self { kept, until },
            // The answer is about what was asked, and not about what has become old since.
            Some((RetentionAnswer::Delete, asked)) => Self { kept: none_kept, until: until.min(asked) },
            None => Self { kept: none_kept, until },
        }
    }

    /// Whether a thing that was made then is kept by a person's word.
    #[must_use]
    pub fn keeps(&self, made: Timestamp) -> bool {
        made <= self.kept
    }

    /// Whether a thing that was made then may go.
    #[must_use]
    pub fn dooms(&self, made: Timestamp) -> bool {
        made > self.kept && made <= self.until
    }
}

/// How many things of a kind there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Things that a person said are kept.
    pub kept: u32,
    /// Things that are old enough to go.
    pub doomed: u32,
    /// All things.
    pub total: u32,
}

impl Counts {
    /// Counts one more thing, made at some time; whether it may go.
    pub fn add(&mut self, bounds: Bounds, made: Timestamp) -> bool {
        let dooms = bounds.dooms(made);
        self.total += 1;
        self.kept += u32::from(bounds.keeps(made));
        self.doomed += u32::from(dooms);
        dooms
    }

    /// These things and others.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            kept: self.kept + other.kept,
            doomed: self.doomed + other.doomed,
            total: self.total + other.total,
        }
    }

    /// Counts things that are not old.
    pub const fn add_young(&mut self, count: u32) {
        self.total += count;
    }
}

/// What becomes of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// Nothing goes.
    None,
    /// Nothing goes, and the question about it is void.
    Forget,
    /// Nothing goes before a person has answered. So many things are asked about.
    Ask(u32),
    /// What may go goes.
    Do,
    /// What may go goes, and the question is answered by it.
    DoAndForget,
}

/// Decides on a deletion. An open question is waited for, also when what it asks about is no longer more than half; an
/// answer to delete counts once; an answer to keep holds for what it was about.
#[must_use]
pub const fn decide(question: Option<&RetentionQuestion>, counts: Counts) -> Deletion {
    let Counts { kept, doomed, total } = counts;
    let answer = match question {
        Some(question) => question.answer,
        None if doomed == 0 => return Deletion::None,
        None if asks_first(doomed, total) => return Deletion::Ask(doomed),
        None => return Deletion::Do,
    };
    match answer {
        None | Some(RetentionAnswer::Delete) if doomed == 0 => Deletion::Forget,
        None => Deletion::Ask(doomed),
        Some(RetentionAnswer::Delete) => Deletion::DoAndForget,
        Some(RetentionAnswer::Keep) if kept == 0 && doomed == 0 => Deletion::Forget,
        Some(RetentionAnswer::Keep) if doomed == 0 => Deletion::None,
        Some(RetentionAnswer::Keep) if asks_first(doomed, total) => Deletion::Ask(kept + doomed),
        Some(RetentionAnswer::Keep) => Deletion::Do,
    }
}

/// Whether a person is asked before `doomed` of `total` are deleted: more than half of anything, since then a clock or a
/// setting is more likely wrong than everything old.
const fn asks_first(doomed: u32, total: u32) -> bool {
    doomed > total / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(answer: Option<RetentionAnswer>) -> RetentionQuestion {
        let (asked_at, until) = (Timestamp(200), Timestamp(100));
        RetentionQuestion { kind: "logs".to_owned(), doomed: 6, total: 6, until, asked_at, answer }
    }

    const fn counts(kept: u32, doomed: u32, total: u32) -> Counts {
        Counts { kept, doomed, total }
    }

    #[test]
    fn deletion_of_more_than_half_asks_first() {
        assert_eq!(decide(None, counts(0, 51, 100)), Deletion::Ask(51));
        assert_eq!(decide(None, counts(0, 50, 100)), Deletion::Do);
        assert_eq!(decide(None, counts(0, 1, 2)), Deletion::Do);
        assert_eq!(decide(None, counts(0, 1, 1)), Deletion::Ask(1));
        assert_eq!(decide(None, counts(0, 0, 5)), Deletion::None);
    }

    #[test]
    fn open_question_is_waited_for_also_when_there_is_more_by_then() {
        let open = question(None);
        assert_eq!(decide(Some(&open), counts(0, 6, 13)), Deletion::Ask(6));
        assert_eq!(decide(Some(&open), counts(0, 0, 13)), Deletion::Forget);
    }

    #[test]
    fn what_a_person_keeps_is_kept_and_what_is_younger_is_not() {
        let kept = question(Some(RetentionAnswer::Keep));
        let bounds = Bounds::new(Some(&kept), Timestamp(150));
        let mut found = Counts::default();
        let doomed: Vec<bool> =
            [50, 100, 101, 150, 151].map(|made| found.add(bounds, Timestamp(made))).to_vec();
        assert_eq!(doomed, [false, false, true, true, false]);
        assert_eq!(found, counts(2, 2, 5));
        assert_eq!(decide(Some(&kept), counts(6, 0, 13)), Deletion::None);
        assert_eq!(decide(Some(&kept), counts(6, 1, 13)), Deletion::Do);
        assert_eq!(decide(Some(&kept), counts(6, 7, 13)), Deletion::Ask(13));
        assert_eq!(decide(Some(&kept), counts(0, 0, 7)), Deletion::Forget);
    }

    #[test]
    fn answer_to_delete_is_about_what_was_asked_and_counts_once() {
        let answered = question(Some(RetentionAnswer::Delete));
        assert_eq!(Bounds::new(Some(&answered), Timestamp(150)).until, Timestamp(100));
        assert_eq!(Bounds::new(Some(&answered), Timestamp(50)).until, Timestamp(50));
        assert_eq!(decide(Some(&answered), counts(0, 6, 13)), Deletion::DoAndForget);
        assert_eq!(decide(Some(&answered), counts(0, 0, 13)), Deletion::Forget);
    }
}
