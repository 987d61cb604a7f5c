//! Issues in files: task lists in Markdown, CSV, and exports of vibe-kanban.
//!
//! An issue is found again at the next import by its `ref`: the key that the file gives it, else its title. Entries with the
//! same title are numbered in their order.

mod csv;
mod markdown;
mod vibe_kanban;

use std::collections::HashMap;

use forge_model::issue::{Issue, IssueState};

pub use csv::read_csv;
pub use markdown::read_markdown;
pub use vibe_kanban::read_vibe_kanban;

/// Why a file is not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IssueFileError {
    /// The header names no column with titles.
    #[error("the first line names no column `title`, `summary` or `name`")]
    NoTitles,
    /// A quotation begins and does not end.
    #[error("the quotation that begins in line {line} does not end")]
    OpenQuotation {
        /// The line, from 1.
        line: usize,
    },
    /// It is not an export of vibe-kanban.
    #[error("the file is not an export of vibe-kanban: {why}")]
    NotAnExport {
        /// Why not.
        why: String,
    },
}

/// Whether a status of a file means that an issue is closed.
fn state_of(status: &str) -> IssueState {
    let status = status.trim().to_lowercase();
    let closed =
        ["closed", "done", "cancelled", "canceled", "resolved", "completed", "complete", "x", "true"];
    if closed.contains(&status.as_str()) { IssueState::Closed } else { IssueState::Open }
}

/// An open issue without a key.
fn untitled() -> Issue {
    Issue {
        reference: String::new(),
        url: None,
        title: String::new(),
        body: String::new(),
        state: IssueState::Open,
        labels: Vec::new(),
        author: None,
        comment_count: 0,
        updated_at: None,
    }
}

/// Gives every issue without a key its title as one, and numbers those that occur again.
fn with_references(mut issues: Vec<Issue>) -> Vec<Issue> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for issue in &mut issues {
        if issue.reference.is_empty() {
            issue.reference = issue.title.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        let count = seen.entry(issue.reference.clone()).or_default();
        *count += 1;
        if *count > 1 {
            issue.reference = format!("{} ({count})", issue.reference);
        }
    }
    issues
}
