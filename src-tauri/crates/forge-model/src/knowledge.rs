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
const MIN_WORD: usize = 3;
/// How many words are searched for.
const MAX_WORDS: usize = 64;
/// Words that are in every text.
const COMMON: [&str; 45] = [
    "about", "after", "all", "also", "and", "any", "are", "because", "been", "before", "but", "can",
    "change", "does", "each", "for", "from", "has", "have", "into", "its", "just", "more", "must", "not",
    "now", "only", "should", "some", "such", "task", "than", "that", "the", "them", "then", "there", "this",
    "was", "were", "when", "will", "with", "you", "your",
];

contract! {
    /// A lesson of the project.
    pub struct Lesson {
        /// Its file in the repository.
        pub path: String,
        /// Its heading, otherwise the name of its file.
        pub title: String,
        /// Its first paragraph.
        pub summary: String,
        /// Files and folders that it applies to.
        #[serde(default)]
        pub paths: Vec<String>,
        /// The number of the task that it came from.
        #[serde(default)]
        pub task: Option<u32>,
    }
}

/// The whole of a lesson's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What it says.
    pub lesson: LessonDraft,
    /// The number of the task that it came from.
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
        let (title, _) = heading_and_summary(path, &text);
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
        let Document { lesson, task } = Document::read(path, text);
        let (title, summary) = heading_and_summary(path, text);
        Self { path: path.to_owned(), title, summary, paths: lesson.paths, task }
    }

    /// As an agent is told it, with where it comes from.
    #[must_use]
    pub fn told(&self) -> String {
        let mut text = format!("## {}\n", self.title);
        if !self.summary.is_empty() {
            let _ = write!(text, "\n{}\n", self.summary);
        }
        let _ = write!(text, "\nSource: `{}`", self.path);
        if let Some(task) = self.task {
            let _ = write!(text, ", learned in task #{task}");
        }
        if !self.paths.is_empty() {
            let _ = write!(text, ", about `{}`", self.paths.join("`, `"));
        }
        text.push('\n');
        text
    }

    fn bytes(&self) -> usize {
        self.path.len() + self.title.len() + self.summary.len()
    }
}

/// A lesson's heading, else the name of its file, and its first paragraph.
fn heading_and_summary(path: &str, text: &str) -> (String, String) {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md").replace(['-', '_'], " ");
    let body = without_front_matter(text);
    let heading = body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
    let paragraph = body
        .split("\n\n")
        .map(str::trim)
        .map(|block| block.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n"))
        .find(|block| !block.trim().is_empty());
    let title = heading.filter(|heading| !heading.is_empty()).map_or(name, str::to_owned);
    (title, paragraph.unwrap_or_default().trim().to_owned())
}

/// What lessons are searched for: the words of a text that say what it is about, each of them enough. In the language
/// of SQLite's full-text search; nothing when the text has no such word.
#[must_use]
pub fn query(text: &str) -> Option<String> {
    let mut seen = BTreeSet::new();
    let words = words(text).filter(|word| seen.insert(word.clone())).take(MAX_WORDS);
    let query = words.map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" OR ");
    (!query.is_empty()).then_some(query)
}

/// As many of the lessons as an agent is told, the first ones first.
#[must_use]
pub fn bounded(lessons: Vec<Lesson>) -> Vec<Lesson> {
    let mut left = MAX_BYTES;
    let fits = |lesson: &Lesson| {
        let fits = lesson.bytes() <= left;
        left -= if fits { lesson.bytes() } else { 0 };
        fits
    };
    lessons.into_iter().filter(fits).collect()
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
                summary: "Store them\nas UTC.".into(),
                paths: vec![],
                task: None,
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
    fn a_search_asks_for_the_words_that_say_something_once_each() {
        assert_eq!(
            query("Fix the LOGIN, and the login of src/log_in.rs").as_deref(),
            Some("\"fix\" OR \"login\" OR \"src\" OR \"log\"")
        );
        assert_eq!(query("\"*\" is to be"), None);
        let many = (0..100).map(|n| format!("word{n} ")).collect::<String>();
        assert_eq!(query(&many).unwrap().split(" OR ").count(), MAX_WORDS);
    }

    #[test]
    fn what_is_told_is_bounded_and_names_its_source() {
        let long = |index: usize| Lesson::of(&format!("{index}.md"), &"login ".repeat(500));
        let told = bounded((0..20).map(long).collect());
        assert_eq!(told.len(), 2);
        assert!(told.iter().map(Lesson::bytes).sum::<usize>() <= MAX_BYTES);
        let text = "---\npaths: [\"src/a.rs\", \"docs\"]\ntask: 3\n---\n# Dates\n\nThey are UTC.\n";
        assert_eq!(
            Lesson::of("docs/knowledge/dates.md", text).told(),
            "## Dates\n\nThey are UTC.\n\nSource: `docs/knowledge/dates.md`, learned in task #3, about `src/a.rs`, `docs`\n"
        );
        assert_eq!(Lesson::of("x.md", "# X\n").told(), "## X\n\nSource: `x.md`\n");
    }
}
