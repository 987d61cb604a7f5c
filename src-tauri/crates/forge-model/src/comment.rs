//! Comments on lines of a diff: a person's, an auditor's findings, and those from a code host.
//!
//! A comment keeps the lines it was written on with a little of what stood around them, so that it finds its
//! place again after the file was edited ([`Anchor::find`]), or knows that it has none any more.

use crate::{
    audit::Severity,
    contract,
    ids::{CommentId, ReviewId, TaskId},
    names,
    time::Timestamp,
};

/// The most lines that one comment may speak of.
pub const MAX_LINES: u32 = 500;
/// The longest text of a comment, in bytes.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;
/// How many lines around the commented ones are kept.
const AROUND: usize = 3;

names! {
    /// Where a comment comes from.
    pub enum CommentSource {
        /// The person.
        Person = "person",
        /// A reviewer's finding.
        Auditor = "auditor",
        /// The pull request at the code host.
        Host = "host",
    }
}

names! {
    /// State of a comment.
    pub enum CommentStatus {
        /// Written, but not sent yet.
        Draft = "draft",
        /// It was sent to the agent, or came with a verdict.
        Sent = "sent",
        /// A person resolved it.
        Resolved = "resolved",
    }
}

names! {
    /// The version of the file that a comment refers to.
    pub enum DiffSide {
        /// The one before the task's changes.
        Old = "old",
        /// The one with them.
        New = "new",
    }
}

contract! {
    /// A comment to create.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct NewComment {
        /// The file, from the root of the repository.
        pub path: String,
        /// Which version of it.
        #[serde(default = "NewComment::new_side")]
        pub side: DiffSide,
        /// The first line, from 1; null for the whole file.
        #[serde(default)]
        pub line: Option<u32>,
        /// The last line; the first when absent.
        #[serde(default)]
        pub last_line: Option<u32>,
        /// What.
        pub text: String,
    }

    /// A comment on a diff.
    pub struct Comment {
        /// Identity.
        pub id: CommentId,
        /// The task.
        pub task_id: TaskId,
        /// The review whose work it refers to.
        pub review_id: Option<ReviewId>,
        /// Where it comes from.
        pub source: CommentSource,
        /// Who wrote it: an agent's name or an account at the host; empty for the person.
        pub author: String,
        /// Its status.
        pub status: CommentStatus,
        /// Its severity, if a reviewer set one.
        pub severity: Option<Severity>,
        /// The file.
        pub path: String,
        /// Which version of it.
        pub side: DiffSide,
        /// First line at the time of writing, from 1; null for the whole file.
        pub line: Option<u32>,
        /// Last line at the time of writing.
        pub last_line: Option<u32>,
        /// Current position of the first line; null if the lines are gone, or for the whole file.
        pub now_line: Option<u32>,
        /// Current position of the last line.
        pub now_last_line: Option<u32>,
        /// Whether the lines, or the file, are gone.
        pub outdated: bool,
        /// The commented lines as they were.
        pub excerpt: Vec<String>,
        /// Text, Markdown.
        pub text: String,
        /// Its address on the code host.
        pub url: Option<String>,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }

    /// A comment as an agent is told it.
    #[derive(Eq)]
    pub struct LineNote {
        /// The file.
        pub path: String,
        /// The first line in the version that the agent has; null for the file as a whole or gone lines.
        pub line: Option<u32>,
        /// The last line.
        pub last_line: Option<u32>,
        /// The lines themselves.
        pub excerpt: Vec<String>,
        /// Who says it, when it is not the person.
        pub author: Option<String>,
        /// What.
        pub text: String,
    }

    /// The commented lines with what stood around them.
    #[derive(Default, Eq)]
    pub struct Anchor {
        /// Up to three lines before.
        pub before: Vec<String>,
        /// The lines themselves.
        pub lines: Vec<String>,
        /// Up to three lines after.
        pub after: Vec<String>,
    }
}

impl NewComment {
    const fn new_side() -> DiffSide {
        DiffSide::New
    }

    /// The first and last line; `None` for the file as a whole.
    #[must_use]
    pub fn range(&self) -> Option<(u32, u32)> {
        let first = self.line?;
        Some((first, self.last_line.unwrap_or(first)))
    }
}

impl Anchor {
    /// The lines `first` to `last` (from 1) of a file; `None` when it has no such lines.
    #[must_use]
    pub fn of(file: &[&str], first: u32, last: u32) -> Option<Self> {
        let (first, last) = (usize::try_from(first).ok()?, usize::try_from(last).ok()?);
        let lines = file.get(first.checked_sub(1)?..last).filter(|lines| !lines.is_empty())?;
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        Some(Self {
            before: own(&file[(first - 1).saturating_sub(AROUND)..first - 1]),
            lines: own(lines),
            after: own(&file[last..(last + AROUND).min(file.len())]),
        })
    }

    /// The first line (from 1) of the same lines in another version of the file. Of several equal places the
    /// one with the most of the same around it counts, then the one nearest to `was`.
    #[must_use]
    pub fn find(&self, file: &[&str], was: u32) -> Option<u32> {
        let length = self.lines.len();
        if length == 0 || file.len() < length {
            return None;
        }
        let was = i64::from(was) - 1;
        let matches = (0..=file.len() - length).filter(|at| same(&file[*at..*at + length], &self.lines));
        let best = matches.max_by_key(|at| {
            let before = file[..*at].iter().rev().zip(self.before.iter().rev());
            let after = file[at + length..].iter().zip(&self.after);
            let around = before.chain(after).filter(|(line, known)| *line == known).count();
            let distance = i64::try_from(*at).unwrap_or(i64::MAX).abs_diff(was);
            (around, std::cmp::Reverse(distance))
        })?;
        // A line such as `}` alone says nothing about its place.
        let telling = self.lines.iter().any(|line| line.chars().filter(|c| c.is_alphanumeric()).count() > 2);
        let around = self.before.len() + self.after.len();
        let kept = file[..best].iter().rev().zip(self.before.iter().rev()).filter(|(a, b)| a == b).count()
            + file[best + length..].iter().zip(&self.after).filter(|(a, b)| a == b).count();
        (telling || around == 0 || kept * 2 >= around).then(|| u32::try_from(best + 1).ok()).flatten()
    }
}

fn same(file: &[&str], lines: &[String]) -> bool {
    file.iter().zip(lines).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: [&str; 8] = ["fn a() {", "    one();", "}", "", "fn b() {", "    two();", "}", ""];

    fn find(file: &[&str], first: u32, last: u32) -> Option<u32> {
        Anchor::of(&FILE, first, last).unwrap().find(file, first)
    }

    #[test]
    fn lines_are_found_where_they_went() {
        assert_eq!(find(&FILE, 6, 6), Some(6));
        let moved: Vec<&str> = ["// new", "// lines"].into_iter().chain(FILE).collect();
        assert_eq!(find(&moved, 5, 6), Some(7));
    }

    #[test]
    fn changed_lines_are_gone() {
        let mut edited = FILE;
        edited[5] = "    three();";
        assert_eq!(find(&edited, 6, 6), None);
        assert_eq!(find(&[], 6, 6), None);
    }

    #[test]
    fn of_equal_lines_those_with_the_same_neighbours_are_meant() {
        // The first function is gone: the brace at the end of the second is still that one.
        assert_eq!(find(&FILE[4..], 7, 7), Some(3));
        // And that of the first is gone, although a line like it is there.
        assert_eq!(find(&FILE[4..], 3, 3), None);
    }

    #[test]
    fn neighbours_tell_more_than_distance_and_distance_more_than_nothing() {
        let mut above = vec!["x"; 8];
        above[6] = "}";
        let grown: Vec<&str> = above.into_iter().chain(FILE).collect();
        assert_eq!(find(&grown, 7, 7), Some(15), "a brace of somebody else stands nearer");
        let equal = ["tick();"; 9];
        assert_eq!(Anchor::of(&equal, 5, 5).unwrap().find(&equal, 5), Some(5));
    }

    #[test]
    fn only_lines_that_are_there_can_be_commented() {
        for (first, last) in [(0, 1), (3, 2), (8, 9), (9, 9)] {
            assert_eq!(Anchor::of(&FILE, first, last), None, "{first}..{last}");
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_was_commented(
            file in prop::collection::vec("[ab]{0,2}", 1..20),
            other in prop::collection::vec("[ab]{0,2}", 0..20),
            first in 1u32..20, length in 0u32..4,
        ) {
            let file: Vec<&str> = file.iter().map(String::as_str).collect();
            let other: Vec<&str> = other.iter().map(String::as_str).collect();
            if let Some(anchor) = Anchor::of(&file, first, first + length) {
                prop_assert_eq!(anchor.find(&file, first), Some(first));
                if let Some(found) = anchor.find(&other, first) {
                    let at = found as usize - 1;
                    prop_assert_eq!(&other[at..at + anchor.lines.len()], &anchor.lines[..]);
                }
            }
        }
    }
}
