//! What a project has learned, and what of it fits a task.
//!
//! A lesson is a Markdown file that the project keeps under [`FOLDER`]. Only its title and first paragraph
//! are shown; whoever needs more reads the file.

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{contract, lesson::LessonDraft};

/// Where a repository keeps its lessons.
pub const FOLDER: &str = "docs/knowledge";
/// How much of all lessons an agent is told, in bytes.
pub const MAX_BYTES: usize = 8 * 1024;
/// How short a word says nothing about what a text is about.
const MIN_WORD: usize = 4;
/// Words that are in every text.
const COMMON: [&str; 30] = [
    "about", "after", "also", "because", "been", "before", "change", "does", "each", "from", "have", "into",
    "just", "more", "must", "only", "should", "some", "such", "task", "than", "that", "them", "then",
    "there", "this", "were", "when", "will", "with",
];

contract! {
    /// Something that the project has learned.
    pub struct Lesson {
        /// Its file in the repository.
        pub path: String,
        /// Its heading, else the name of its file.
        pub title: String,
        /// Its first paragraph.
        pub summary: String,
    }
}

/// The whole of a lesson's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it says.
    pub lesson: LessonDraft,
    /// The number of the task that taught it.
    pub task: Option<u32>,
}

impl Document {
    /// Its file: a front matter that every YAML reader takes, a heading, the text.
    #[must_use]
    pub fn render(&self) -> String {
        // A JSON string, or a list of them, is YAML, too.
        let title = serde_json::Value::from(self.lesson.title.as_str());
        let mut text = format!("---\ntitle: {title}\n");
        if !self.lesson.paths.is_empty() {
            let _ = writeln!(text, "paths: {}", serde_json::Value::from(self.lesson.paths.clone()));
        }
        if let Some(task) = self.task {
            let _ = writeln!(text, "task: {task}");
        }
        let _ = write!(text, "---\n# {}\n\n{}\n", self.lesson.title, self.lesson.body);
        text
    }

    /// Reads a lesson's file, also one that somebody wrote by hand.
    #[must_use]
    pub fn read(path: &str, text: &str) -> Self {
        let text = text.replace("\r\n", "\n");
        let title = Lesson::of(path, &text).title;
        let body = without_front_matter(&text);
        let field = |name: &str| {
            let matter = text.strip_suffix(body).unwrap_or_default();
            let line = matter.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            line.map(|value| value.trim().to_owned())
        };
        let body = body.trim();
        let body = match body.strip_prefix("# ").map(|rest| rest.split_once('\n').unwrap_or((rest, ""))) {
            Some((heading, rest)) if heading.trim() == title => rest.trim(),
            Some(_) | None => body,
        };
        Self {
            task: field("task").and_then(|number| number.parse().ok()),
            lesson: LessonDraft {
                title,
                body: body.to_owned(),
                paths: field("paths").map(|list| paths_of(&list)).unwrap_or_default(),
            },
        }
    }
}

/// A list in one line, as JSON or with bare words.
fn paths_of(list: &str) -> Vec<String> {
    serde_json::from_str(list).unwrap_or_else(|_| {
        let words = list.trim_start_matches('[').trim_end_matches(']').split(',');
        words.map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
    })
}

impl Lesson {
    /// Reads a lesson's file.
    #[must_use]
    pub fn of(path: &str, text: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md").replace(['-', '_'], " ");
        let body = without_front_matter(text);
        let heading = body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
        let paragraph = body
            .split("\n\n")
            .map(str::trim)
            .map(|block| block.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
            .find(|block| !block.trim().is_empty());
        Self {
            path: path.to_owned(),
            title: heading.filter(|heading| !heading.is_empty()).map_or(name, str::to_owned),
            summary: paragraph.unwrap_or_default().trim().to_owned(),
        }
    }

    fn bytes(&self) -> usize {
        self.path.len() + self.title.len() + self.summary.len()
    }
}

/// The lessons that share words with a task, those that share most first, as many as fit.
#[must_use]
pub fn fitting(lessons: Vec<Lesson>, title: &str, description: &str) -> Vec<Lesson> {
    let of_task: BTreeSet<String> = words(title).chain(words(description)).collect();
    let mut scored: Vec<(usize, Lesson)> = lessons
        .into_iter()
        .map(|lesson| {
            let of_lesson: BTreeSet<String> =
                words(&lesson.path).chain(words(&lesson.title)).chain(words(&lesson.summary)).collect();
            (of_lesson.intersection(&of_task).count(), lesson)
        })
        .filter(|(shared, _)| *shared > 0)
        .collect();
    scored.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.path.cmp(&y.path)));
    let mut left = MAX_BYTES;
    scored
        .into_iter()
        .map(|(_, lesson)| lesson)
        .filter(|lesson| {
            let fits = lesson.bytes() <= left;
            left -= if fits { lesson.bytes() } else { 0 };
            fits
        })
        .collect()
}

fn without_front_matter(text: &str) -> &str {
    let rest = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    rest.map_or(text, |(_, body)| body)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() >= MIN_WORD)
        .map(str::to_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lesson_is_its_heading_and_first_paragraph() {
        let text = "---\ntags: x\n---\n# Dates are UTC\n\nStore them\nas UTC.\n\nMore of it.\n";
        assert_eq!(
            Lesson::of("docs/knowledge/dates.md", text),
            Lesson {
                path: "docs/knowledge/dates.md".into(),
                title: "Dates are UTC".into(),
                summary: "Store them\nas UTC.".into()
            }
        );
        let bare = Lesson::of("docs/knowledge/retry-with_care.md", "\n");
        assert_eq!((bare.title.as_str(), bare.summary.as_str()), ("retry with care", ""));
    }

    #[test]
    fn a_file_says_what_was_proposed() {
        let lesson = LessonDraft {
            title: "Say \"no\": # twice".into(),
            body: "First.\n\n# A heading\n\n---\nLast.".into(),
            paths: vec!["src/a, b.rs".into(), "docs".into()],
        };
        let document = Document { lesson, task: Some(12) };
        let text = document.render();
        assert_eq!(
            text,
            "---\ntitle: \"Say \\\"no\\\": # twice\"\npaths: [\"src/a, b.rs\",\"docs\"]\ntask: 12\n---\n\
             # Say \"no\": # twice\n\nFirst.\n\n# A heading\n\n---\nLast.\n"
        );
        assert_eq!(Document::read("docs/knowledge/x.md", &text), document);
        assert_eq!(Document::read("docs/knowledge/x.md", &text.replace('\n', "\r\n")), document);
        assert_eq!(Lesson::of("x.md", &text).summary, "First.");
        let by_hand = "---\npaths: [src/a.rs, docs]\ntags: y\n---\nNo heading.\n\nMore.\n";
        let read = Document::read("docs/knowledge/by-hand.md", by_hand);
        assert_eq!(
            (read.lesson.title.as_str(), read.lesson.body.as_str()),
            ("by hand", "No heading.\n\nMore.")
        );
        assert_eq!((read.lesson.paths, read.task), (vec!["src/a.rs".to_owned(), "docs".to_owned()], None));
    }

    #[test]
    fn those_that_share_most_words_come_first_and_strangers_stay_away() {
        let lesson = |path: &str, summary: &str| Lesson::of(path, summary);
        let all = vec![
            lesson("a.md", "The login form needs a token."),
            lesson("b.md", "Login and logout share a session token."),
            lesson("c.md", "Icons are drawn twice."),
        ];
        let paths: Vec<String> = fitting(all, "Fix the logout", "The session of a login is kept.")
            .into_iter()
            .map(|lesson| lesson.path)
            .collect();
        assert_eq!(paths, ["b.md", "a.md"]);
    }

    #[test]
    fn what_is_told_is_bounded() {
        let long = |index: usize| Lesson::of(&format!("{index}.md"), &"login ".repeat(500));
        let told = fitting((0..20).map(long).collect(), "login", "");
        assert_eq!(told.len(), 2);
        assert!(told.iter().map(Lesson::bytes).sum::<usize>() <= MAX_BYTES);
    }
}
