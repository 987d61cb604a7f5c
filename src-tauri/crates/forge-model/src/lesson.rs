//! Lessons of a project: what a proposal says, what is wrong with it, and what became of it.

use crate::{
    contract,
    ids::{ExecutionId, LessonId, TaskId},
    names,
    time::Timestamp,
    workflow::Finding,
};

/// How much of a name stands in a sentence.
pub const SHOWN_CHARS: usize = 60;
/// The longest title, in characters.
pub const MAX_TITLE: usize = 120;
/// The longest body, in bytes.
pub const MAX_BODY: usize = 8 * 1024;
/// How many paths a lesson may name.
pub const MAX_PATHS: usize = 20;
/// The longest path, in bytes.
pub const MAX_PATH: usize = 255;

names! {
    /// State of a lesson.
    pub enum LessonStatus {
        /// It waits for a person.
        Proposed = "proposed",
        /// It is in the repository.
        Accepted = "accepted",
        /// A person dismissed it.
        Dismissed = "dismissed",
    }
}

contract! {
    /// What a lesson says.
    #[derive(Eq)]
    pub struct LessonDraft {
        /// What it is about, on one line.
        pub title: String,
        /// Text of the lesson, Markdown.
        pub body: String,
        /// Files and folders that it is about, from the root of the repository.
        pub paths: Vec<String>,
    }

    /// A lesson in the repository, or a proposed one.
    pub struct LessonView {
        /// Its id as a proposal; null for a file that was written without Forge.
        pub id: Option<LessonId>,
        /// Its status.
        pub status: LessonStatus,
        /// What it is about.
        pub title: String,
        /// Text of the lesson, Markdown.
        pub body: String,
        /// Files and folders that it applies to.
        pub paths: Vec<String>,
        /// Its file in the repository; null until it is accepted.
        pub file: Option<String>,
        /// The commit that brought it; null until it is accepted, and for a file that came without Forge.
        pub commit: Option<String>,
        /// The task whose agent proposed it, while the task is kept.
        pub task_id: Option<TaskId>,
        /// That task's number.
        pub task_number: Option<u32>,
        /// The run that proposed it, while it is kept.
        pub execution_id: Option<ExecutionId>,
        /// When it was proposed; null for a file that came without Forge.
        pub created_at: Option<Timestamp>,
        /// When a person decided.
        pub decided_at: Option<Timestamp>,
    }
}

impl LessonDraft {
    /// The same without blanks around it and with plain line ends.
    #[must_use]
    pub fn tidied(self) -> Self {
        let trimmed = |path: String| path.trim().trim_end_matches('/').to_owned();
        Self {
            title: self.title.trim().to_owned(),
            body: self.body.replace("\r\n", "\n").trim().to_owned(),
            paths: self.paths.into_iter().map(trimmed).collect(),
        }
    }

    /// Everything that is wrong with it.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut found =
            |path: &str, message: String| findings.push(Finding { path: path.to_owned(), message });
        match self.title.chars().count() {
            0 => found("title", "is missing".to_owned()),
            1..=MAX_TITLE => {}
            count => found("title", format!("has {count} characters; at most {MAX_TITLE} are allowed")),
        }
        if self.title.chars().any(char::is_control) {
            found("title", "must be on one line".to_owned());
        }
        if self.body.is_empty() {
            found("body", "is missing".to_owned());
        } else if self.body.len() > MAX_BODY {
            found("body", format!("has {} bytes; at most {MAX_BODY} are allowed", self.body.len()));
        }
        if self.body.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            found("body", "contains control characters".to_owned());
        }
        if self.paths.len() > MAX_PATHS {
            found("paths", format!("has {} paths; at most {MAX_PATHS} are allowed", self.paths.len()));
        }
        for (index, path) in self.paths.iter().enumerate() {
            if let Some(why) = wrong_path(path) {
                found(&format!("paths[{index}]"), format!("`{}` {why}", shown(path)));
            }
        }
        findings
    }
}

/// Why a path cannot be one of the repository.
fn wrong_path(path: &str) -> Option<&'static str> {
    let part = |wrong: &str| path.split('/').any(|part| part.eq_ignore_ascii_case(wrong));
    if path.is_empty() {
        Some("is empty")
    } else if path.len() > MAX_PATH {
        Some("is too long")
    } else if path.starts_with(['/', '~']) || path.contains(['\\', ':']) {
        Some("must be relative to the root of the repository, with `/`")
    } else if part("..") {
        Some("leads out of the repository")
    } else if part(".git") {
        Some("leads into git's folder")
    } else if part("") || part(".") {
        Some("has an empty part")
    } else if path.chars().any(char::is_control) {
        Some("contains control characters")
    } else {
        None
    }
}

/// A name that stands in a sentence: on one line, and cut after [`SHOWN_CHARS`] characters.
#[must_use]
pub fn shown(text: &str) -> String {
    let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = plain.clone().take(SHOWN_CHARS).collect();
    if plain.count() > SHOWN_CHARS {
        shown.push('…');
    }
    shown
}
