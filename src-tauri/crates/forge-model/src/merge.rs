//! Merges: one row per attempt, the queue of a target, and what two branches disagree about.

use crate::{
    contract,
    ids::{MergeId, TaskId},
    names,
    settings::MergeStrategy,
    time::Timestamp,
    wait::Waiting,
};

names! {
    /// State of a conflict.
    pub enum ConflictStanding {
        /// It needs help.
        Open = "open",
        /// The task's branch includes the target; it is not merged yet.
        Resolved = "resolved",
        /// The task was merged after it.
        Merged = "merged",
    }
}

names! {
    /// State of a merge.
    pub enum MergeStatus {
        /// The commit is made; the target is about to move.
        Intended = "intended",
        /// The target contains it.
        Landed = "landed",
        /// There was nothing to merge.
        Nothing = "nothing",
        /// It needs help.
        Conflict = "conflict",
        /// It was given up.
        Failed = "failed",
    }
}

contract! {
    /// One version of a file in conflict.
    #[derive(Eq)]
    pub struct ConflictSide {
        /// git's object id of the content (hex).
        pub oid: String,
        /// git's file mode, octal.
        pub mode: String,
    }

    /// One path of a merge conflict.
    #[derive(Eq)]
    pub struct ConflictPath {
        /// The path.
        pub path: String,
        /// `content`, `add/add`, `modify/delete`, ...
        pub kind: String,
        /// The common base; null if there was none.
        #[serde(default)]
        pub base: Option<ConflictSide>,
        /// The target's version; null when it deleted it.
        #[serde(default)]
        pub ours: Option<ConflictSide>,
        /// The task's version; null when it deleted it.
        #[serde(default)]
        pub theirs: Option<ConflictSide>,
        /// The places where they disagree, with git's markers; empty when there is no text to show.
        #[serde(default)]
        pub hunks: Vec<String>,
        /// Location of each of those places, in their order; empty if unknown.
        #[serde(default)]
        pub places: Vec<ConflictPlace>,
    }

    /// Where a place in conflict begins in the files of the two sides, by lines from 1. A side without lines
    /// there: the line before which they would stand.
    #[derive(Copy, Eq)]
    pub struct ConflictPlace {
        /// In the target's version.
        pub ours: u32,
        /// In the task's version.
        pub theirs: u32,
    }

    /// A merge that needs help.
    #[derive(Eq)]
    pub struct Conflict {
        /// The target branch.
        pub target: String,
        /// Its commit at that time.
        pub target_commit: String,
        /// The task's commit at that time.
        #[serde(default)]
        pub source_commit: String,
        /// The conflicting paths.
        pub paths: Vec<ConflictPath>,
    }

    /// The content of one version of a file in conflict.
    #[derive(Eq)]
    pub struct ConflictText {
        /// The text; empty if it is not text or too large.
        pub text: String,
        /// It is not text.
        pub binary: bool,
        /// It is larger than what is shown.
        pub too_large: bool,
        /// Bytes.
        #[specta(type = f64)]
        pub size: u64,
    }

    /// One file in conflict with its three sides.
    #[derive(Eq)]
    pub struct ConflictFile {
        /// Path, kind and names of the sides.
        pub conflict: ConflictPath,
        /// The common base.
        pub base: Option<ConflictText>,
        /// The target's version.
        pub ours: Option<ConflictText>,
        /// The task's version.
        pub theirs: Option<ConflictText>,
    }

    /// One attempt at merging a task's branch.
    pub struct Merge {
        /// Identity.
        pub id: MergeId,
        /// The task.
        pub task_id: TaskId,
        /// The branch to merge into.
        pub target: String,
        /// How.
        pub strategy: MergeStrategy,
        /// The task branch's commit.
        pub source_commit: String,
        /// The commit that the target was or will be moved to.
        pub merge_commit: Option<String>,
        /// Commit of the target before the merge.
        pub target_before: Option<String>,
        /// Where it is.
        pub status: MergeStatus,
        /// Reason for its result.
        pub reason: Option<String>,
        /// When it began.
        pub created_at: Timestamp,
    }

    /// A task that is merging into a target, or queued for it.
    pub struct MergeQueueEntry {
        /// The task.
        pub task_id: TaskId,
        /// Its number.
        pub number: u32,
        /// Its title.
        pub title: String,
        /// The branch to merge into.
        pub target: String,
        /// Position in the queue; 0 is merging now.
        pub place: u32,
        /// What it waits for.
        pub waiting: Option<Waiting>,
        /// Since when.
        pub since: Timestamp,
    }
}

/// Lines shown around a place in conflict.
const AROUND: usize = 3;

/// The places in conflict of a file with git's markers, each with three lines around it; those that fit into
/// `most` bytes.
#[must_use]
pub fn conflict_hunks(text: &str, most: usize) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut hunks = Vec::new();
    let (mut left, mut from) = (most, 0);
    while let Some(start) = place_of(&lines, from, "<<<<<<<") {
        let Some(end) = place_of(&lines, start, ">>>>>>>") else { break };
        let hunk =
            lines[start.saturating_sub(AROUND).max(from)..(end + 1 + AROUND).min(lines.len())].join("\n");
        if hunk.len() > left {
            break;
        }
        left -= hunk.len();
        hunks.push(hunk);
        from = end + 1;
    }
    hunks
}

/// What a file with git's markers is on one side alone, and where its places in conflict begin there.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct SideView {
    /// Lines of that side and those of neither.
    pub text: String,
    /// The line, from 1, at which each place begins.
    pub starts: Vec<u32>,
}

/// A file with git's markers taken apart: the target's side, then the task's.
#[must_use]
pub fn conflict_sides(text: &str) -> [SideView; 2] {
    #[derive(Clone, Copy, PartialEq)]
    enum In {
        Both,
        Ours,
        Base,
        Theirs,
    }
    let is = |line: &str, marker: &str| {
        let line = line.trim_end_matches(['\r', '\n']);
        line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let mut sides = [SideView::default(), SideView::default()];
    let mut counts = [0_u32; 2];
    let mut within = In::Both;
    for line in text.split_inclusive('\n') {
        let (next, of): (In, &[usize]) = match within {
            In::Both if is(line, "<<<<<<<") => {
                for (side, count) in sides.iter_mut().zip(counts) {
                    side.starts.push(count + 1);
                }
                (In::Ours, &[])
            }
            In::Ours if is(line, "|||||||") => (In::Base, &[]),
            In::Ours | In::Base if is(line, "=======") => (In::Theirs, &[]),
            In::Theirs if is(line, ">>>>>>>") => (In::Both, &[]),
            In::Both => (within, &[0, 1]),
            In::Ours => (within, &[0]),
            In::Base => (within, &[]),
            In::Theirs => (within, &[1]),
        };
        within = next;
        for side in of {
            sides[*side].text.push_str(line);
            counts[*side] += 1;
        }
    }
    sides
}

fn place_of(lines: &[&str], from: usize, marker: &str) -> Option<usize> {
    let is_marker =
        |line: &&str| line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    lines.get(from..)?.iter().position(is_marker).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a\nb\n<<<<<<< main\nx\n=======\ny\n>>>>>>> task\nc\nd\ne\nf\n<<<<<<< main\n=======\nz\n>>>>>>> task\n";

    #[test]
    fn each_place_comes_with_what_is_around_it() {
        assert_eq!(
            conflict_hunks(TEXT, 1000),
            [
                "a\nb\n<<<<<<< main\nx\n=======\ny\n>>>>>>> task\nc\nd\ne",
                "d\ne\nf\n<<<<<<< main\n=======\nz\n>>>>>>> task"
            ]
        );
    }

    #[test]
    fn neighbours_are_shown_once() {
        let place = "<<<<<<< main\n=======\nz\n>>>>>>> task\n";
        let hunks = conflict_hunks(&format!("{place}between\n{place}"), 1000);
        let place = place.trim_end();
        assert_eq!(hunks, [format!("{place}\nbetween\n<<<<<<< main\n======="), format!("between\n{place}")]);
    }

    #[test]
    fn only_whole_places_are_shown() {
        assert_eq!(conflict_hunks(TEXT, 60).len(), 1);
        assert_eq!(conflict_hunks(TEXT, 10), Vec::<String>::new());
        assert_eq!(conflict_hunks("<<<<<<< main\nno end\n", 100), Vec::<String>::new());
        assert_eq!(conflict_hunks("<<<<<<<< not one\n", 100), Vec::<String>::new());
    }

    #[test]
    fn each_side_is_told_apart() {
        let [ours, theirs] = conflict_sides(TEXT);
        assert_eq!((ours.text.as_str(), ours.starts), ("a\nb\nx\nc\nd\ne\nf\n", vec![3, 8]));
        assert_eq!((theirs.text.as_str(), theirs.starts), ("a\nb\ny\nc\nd\ne\nf\nz\n", vec![3, 8]));
        let [ours, theirs] =
            conflict_sides("<<<<<<< main\r\n||||||| b\r\nold\r\n=======\r\nz\r\n>>>>>>> t\r\nq");
        assert_eq!((ours.text.as_str(), ours.starts), ("q", vec![1]));
        assert_eq!((theirs.text.as_str(), theirs.starts), ("z\r\nq", vec![1]));
    }
}
