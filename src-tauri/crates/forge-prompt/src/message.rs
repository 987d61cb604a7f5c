//! What a person says to an agent: words, comments on lines of the diff, and files.

use std::fmt::Write as _;

use forge_model::{attachment::AttachedFile, comment::LineNote};

use crate::text::{quoted, write_named};

/// A message as an agent that is at work is told it.
#[must_use]
pub fn said(words: &str, notes: &[LineNote], files: &[AttachedFile]) -> String {
    let mut text = words.trim().to_owned();
    if !notes.is_empty() {
        text.push_str("\n\n");
        write_said(&mut text, "", notes);
    }
    if !files.is_empty() {
        text.push_str("\n\n");
        write_files(&mut text, files);
    }
    text.trim_start().to_owned()
}

/// Where files lie that a person gave. They are read there, and stay there.
pub(crate) fn write_files(text: &mut String, files: &[AttachedFile]) {
    let _ = writeln!(text, "Files that go with this, outside the worktree; read them, do not change them:\n");
    for file in files {
        let _ = writeln!(text, "- `{}` ({} bytes)", file.path, file.bytes);
    }
}

/// What somebody said about the work as a whole and about lines of it.
pub(crate) fn write_said(text: &mut String, words: &str, notes: &[LineNote]) {
    if !words.trim().is_empty() {
        let _ = writeln!(text, "{}", quoted(words));
    }
    for note in notes {
        let place = match (note.line, note.last_line) {
            (Some(first), Some(last)) if last > first => format!("`{}` lines {first}-{last}", note.path),
            (Some(line), _) => format!("`{}` line {line}", note.path),
            (None, _) if note.excerpt.is_empty() => format!("`{}`", note.path),
            (None, _) => format!("`{}`, lines that are gone", note.path),
        };
        let author = note.author.as_deref().map(|author| format!(" ({author})")).unwrap_or_default();
        let _ = writeln!(text, "\n{place}{author}:\n");
        if !note.excerpt.is_empty() {
            write_named(text, "the lines", &note.excerpt.join("\n"));
        }
        let _ = writeln!(text, "{}", quoted(&note.text));
    }
}
