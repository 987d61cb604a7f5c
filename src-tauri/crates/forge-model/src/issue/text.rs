//! Text of tasks that are made of issues, and what a second import makes of it.
//!
//! A task that was imported keeps the text that was imported last. A second import compares three texts: that one, the
//! task's and the issue's ([`merge_text`]). What was changed on one side only is taken from that side. What was changed on
//! both sides stays as it is in the task, and the issue's text is kept beside it until a person decides. So is every change
//! of an issue once work on its task began: nobody else changes what an agent is asked to do.

use super::{Issue, PendingText};

/// The longest title of a task, in characters.
const LONGEST_TITLE: usize = 500;
/// The longest description of a task, in bytes.
const LONGEST_DESCRIPTION: usize = 256 * 1024;

/// Title and description, of a task or as a task would have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskText {
    /// One line.
    pub title: String,
    /// Markdown.
    pub description: String,
}

impl TaskText {
    /// What a task says that is made of an issue: a title of one line, and everything within the limits of tasks.
    #[must_use]
    pub fn of(issue: &Issue) -> Self {
        let shown: String = issue.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = if line.is_empty() { format!("Issue {}", issue.reference) } else { line };
        let body = issue.body.replace("\r\n", "\n");
        let end = body.floor_char_boundary(LONGEST_DESCRIPTION);
        Self {
            title: title.chars().take(LONGEST_TITLE).collect(),
            description: body.get(..end).unwrap_or_default().trim().to_owned(),
        }
    }
}

/// What a second import makes of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// What the task says from now on.
    pub task: TaskText,
    /// What counts as imported from now on.
    pub imported: TaskText,
    /// What the issue says where both were changed; none when they agree.
    pub pending: Option<PendingText>,
}

/// Whether a task takes what changed in its issue alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// It does: work on it did not begin.
    Changes,
    /// It does not: a person decides about every change.
    Nothing,
}

/// Compares what was imported last with the task and the issue of today, field by field.
#[must_use]
pub fn merge_text(imported: &TaskText, task: &TaskText, issue: &TaskText, takes: Takes) -> MergedText {
    let title = merge_field(&imported.title, &task.title, &issue.title, takes);
    let description = merge_field(&imported.description, &task.description, &issue.description, takes);
    let pending = PendingText { title: title.pending, description: description.pending };
    MergedText {
        task: TaskText { title: title.task, description: description.task },
        imported: TaskText { title: title.imported, description: description.imported },
        pending: (pending != PendingText::default()).then_some(pending),
    }
}

struct Field {
    task: String,
    imported: String,
    pending: Option<String>,
}

fn merge_field(imported: &str, task: &str, issue: &str, takes: Takes) -> Field {
    let of = |task: &str, imported: &str, pending: Option<&str>| Field {
        task: task.to_owned(),
        imported: imported.to_owned(),
        pending: pending.map(str::to_owned),
    };
    if issue == imported || issue == task {
        // Nothing new, or the same change on both sides.
        of(task, issue, None)
    } else if task == imported && takes == Takes::Changes {
        of(issue, issue, None)
    } else {
        // The old text stays the common one, so that the difference is found again.
        of(task, imported, Some(issue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue::IssueState;

    fn text(title: &str, description: &str) -> TaskText {
        TaskText { title: title.to_owned(), description: description.to_owned() }
    }

    #[test]
    fn field_changed_on_one_side_is_taken_and_on_both_sides_is_pending() {
        // imported, task, issue: task afterwards, imported afterwards, pending
        for (imported, task, issue, expected) in [
            ("a", "a", "a", ("a", "a", None)),
            ("a", "a", "b", ("b", "b", None)),
            ("a", "b", "a", ("b", "a", None)),
            ("a", "b", "b", ("b", "b", None)),
            ("a", "b", "c", ("b", "a", Some("c"))),
            ("a", "", "c", ("", "a", Some("c"))),
        ] {
            let merged = merge_text(&text(imported, ""), &text(task, ""), &text(issue, ""), Takes::Changes);
            let pending = merged.pending.as_ref().and_then(|pending| pending.title.as_deref());
            let found = (merged.task.title.as_str(), merged.imported.title.as_str(), pending);
            assert_eq!(found, expected, "{imported} {task} {issue}");
        }
    }

    #[test]
    fn fields_are_merged_apart_from_each_other() {
        let merged = merge_text(&text("a", "d"), &text("mine", "d"), &text("theirs", "new"), Takes::Changes);
        assert_eq!(merged.task, text("mine", "new"));
        assert_eq!(merged.imported, text("a", "new"));
        assert_eq!(merged.pending, Some(PendingText { title: Some("theirs".to_owned()), description: None }));
    }

    #[test]
    fn task_that_was_begun_takes_nothing_by_itself() {
        let (old, new) = (text("a", "d"), text("b", "d"));
        let merged = merge_text(&old, &old, &new, Takes::Nothing);
        assert_eq!((&merged.task, &merged.imported), (&old, &old));
        assert_eq!(merged.pending, Some(PendingText { title: Some("b".to_owned()), description: None }));
        assert_eq!(merge_text(&old, &old, &old, Takes::Nothing).pending, None);
    }

    #[test]
    fn difference_stays_until_one_side_gives_way() {
        let (imported, mine) = (text("a", ""), text("mine", ""));
        let first = merge_text(&imported, &mine, &text("theirs", ""), Takes::Changes);
        let again = merge_text(&first.imported, &first.task, &text("theirs", ""), Takes::Changes);
        assert_eq!(again, first);
        let taken_back = merge_text(&again.imported, &again.task, &imported, Takes::Changes);
        assert_eq!((taken_back.task, taken_back.pending), (mine, None));
    }

    fn issue(title: &str, body: &str) -> Issue {
        Issue {
            reference: "7".to_owned(),
            url: None,
            title: title.to_owned(),
            body: body.to_owned(),
            state: IssueState::Open,
            labels: Vec::new(),
            author: None,
            comment_count: 0,
            updated_at: None,
        }
    }

    #[test]
    fn text_of_an_issue_fits_a_task() {
        assert_eq!(TaskText::of(&issue(" a\n\tb\u{7} ", "x\r\ny\n")), text("a b", "x\ny"));
        assert_eq!(TaskText::of(&issue(" ", "")), text("Issue 7", ""));
        let long = TaskText::of(&issue(&"ä".repeat(600), &"ä".repeat(200_000)));
        assert_eq!(long.title.chars().count(), LONGEST_TITLE);
        assert!(long.description.len() <= LONGEST_DESCRIPTION);
    }
}
