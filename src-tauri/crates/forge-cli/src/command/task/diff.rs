//! What a task changed, and comments on it.

use forge_api::{
    operations::{CommentCreate, CommentDelete, TaskChanges, TaskComments, TaskDiff},
    ops::{
        TaskPath,
        changes::{ChangedFile, ReadChanges},
        comments::{CommentPath, CreateComment},
        workspaces::ReadDiff,
    },
};
use forge_model::{
    comment::{Comment, DiffSide},
    diff::{DiffLineKind, FileChange, FileChangeKind, Hunk},
    words::counted,
};

use super::find;
use crate::{
    answer::Answer,
    args::TaskRef,
    at::At,
    error::{CliError, Kind},
    shown::{printable, table, text_or_input},
    words::plain,
};

/// The changed files, with their names alone or with the numbers of their lines.
pub(super) async fn files(at: &At, task: &TaskRef, names: bool) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let diff = at.call(TaskDiff, ReadDiff { task_id, scope: None }).await?;
    let text = if names {
        let names: Vec<&str> = diff.files.iter().map(|file| file.path.as_str()).collect();
        printable(&names.join("\n"))
    } else if diff.files.is_empty() {
        "Nothing is changed.".to_owned()
    } else {
        let rows: Vec<Vec<String>> = diff.files.iter().map(row).collect();
        let count = counted(diff.files.len() as u64, "file", "files");
        format!("{}\n{count}, +{} -{}", table(&["FILE", "", "LINES"], &rows), diff.added, diff.removed)
    };
    Ok(Answer::new(diff.json, text))
}

fn row(file: &FileChange) -> Vec<String> {
    let path = match &file.old_path {
        Some(old) if old != &file.path => format!("{old} -> {}", file.path),
        _ => file.path.clone(),
    };
    let lines = if file.binary { "binary".to_owned() } else { format!("+{} -{}", file.added, file.removed) };
    vec![path, kind(file.kind).to_owned(), lines]
}

const fn kind(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Added => "added",
        FileChangeKind::Deleted => "deleted",
        FileChangeKind::Modified => "",
        FileChangeKind::Renamed => "renamed",
        FileChangeKind::Copied => "copied",
        FileChangeKind::TypeChanged => "other kind of file",
        FileChangeKind::ModeChanged => "other mode",
    }
}

/// All changes, as a patch that people read.
pub(super) async fn all(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    read(at, task, None).await
}

/// The changes of one file.
pub(super) async fn of_file(at: &At, task: &TaskRef, path: String) -> Result<Answer, CliError> {
    read(at, task, Some(path)).await
}

async fn read(at: &At, task: &TaskRef, path: Option<String>) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let changes = at.call(TaskChanges, ReadChanges { task_id, scope: None, path }).await?;
    let files: Vec<String> = changes.files.iter().map(patch).collect();
    let text = if files.is_empty() { "Nothing is changed.".to_owned() } else { files.join("\n") };
    Ok(Answer::new(changes.json, printable(&text)))
}

fn patch(file: &ChangedFile) -> String {
    let change = &file.change;
    let old = change.old_path.as_ref().unwrap_or(&change.path);
    let (from, to) = match change.kind {
        FileChangeKind::Added => ("/dev/null", change.path.as_str()),
        FileChangeKind::Deleted => (old.as_str(), "/dev/null"),
        _ => (old.as_str(), change.path.as_str()),
    };
    let mut lines = vec![format!("--- {from}"), format!("+++ {to}")];
    if change.kind == FileChangeKind::Renamed {
        lines.push("(renamed)".to_owned());
    }
    if change.kind == FileChangeKind::ModeChanged {
        let mode = |mode: &Option<String>| mode.clone().unwrap_or_default();
        lines.push(format!("(mode {} -> {})", mode(&change.old_mode), mode(&change.new_mode)));
    }
    if change.binary {
        lines.push("(binary)".to_owned());
    } else if file.too_large {
        lines.push("(too large to show here)".to_owned());
    }
    lines.extend(file.hunks.iter().flat_map(of_hunk));
    if file.next_start.is_some() {
        lines.push("(more follows; the window shows all of it)".to_owned());
    }
    lines.join("\n")
}

fn of_hunk(hunk: &Hunk) -> Vec<String> {
    let head = format!("@@ -{},{} +{},{} @@", hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines);
    let line = |line: &forge_model::diff::DiffLine| {
        let sign = match line.kind {
            DiffLineKind::Context => ' ',
            DiffLineKind::Added => '+',
            DiffLineKind::Removed => '-',
        };
        format!("{sign}{}", line.text.trim_end_matches(['\n', '\r']))
    };
    std::iter::once(head).chain(hunk.lines.iter().map(line)).collect()
}

pub(super) async fn comments(at: &At, task: &TaskRef) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let page = at.call(TaskComments, TaskPath { task_id }).await?;
    let row = |it: &Comment| {
        let author = if it.author.is_empty() { "you".to_owned() } else { it.author.clone() };
        vec![it.id.to_string(), place_of(it), plain(it.status.as_str()), author, it.text.clone()]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "No comments.".to_owned(),
        rows => table(&["ID", "PLACE", "STATE", "BY", "COMMENT"], rows),
    };
    Ok(Answer::new(page.json, text))
}

fn place_of(comment: &Comment) -> String {
    match (comment.line, comment.last_line) {
        (None, _) => comment.path.clone(),
        (Some(line), Some(last)) if last != line => format!("{}:{line}-{last}", comment.path),
        (Some(line), _) => format!("{}:{line}", comment.path),
    }
}

/// Deletes a draft.
pub(super) async fn uncomment(at: &At, task: &TaskRef, named: &str) -> Result<Answer, CliError> {
    let task_id = find(at, task).await?.value.id;
    let all = at.call(TaskComments, TaskPath { task_id }).await?.value.items;
    let mut meant = all.into_iter().filter(|it| it.id.as_str().starts_with(named) && !named.is_empty());
    let (found, another) = (meant.next(), meant.next());
    let comment = found.filter(|_| another.is_none()).ok_or_else(|| CliError::Told {
        kind: Kind::NotFound,
        message: format!("no comment `{named}` on the task, or several that begin so"),
        hint: format!("List them with `forge task comments {}`.", task.task),
    })?;
    let place = place_of(&comment);
    let done = at.call(CommentDelete, CommentPath { comment_id: comment.id }).await?;
    Ok(Answer::new(done.json, printable(&format!("Deleted the draft on {place}."))))
}

/// Writes a draft.
pub(super) async fn comment(
    at: &At,
    task: &TaskRef,
    place: &str,
    text: String,
    old: bool,
) -> Result<Answer, CliError> {
    let (path, line, last_line) = path_and_lines(place);
    let text = text_or_input(text)?;
    let task = find(at, task).await?;
    let side = Some(if old { DiffSide::Old } else { DiffSide::New });
    let new = CreateComment { task_id: task.id.clone(), path: path.to_owned(), side, line, last_line, text };
    let comment = at.call(CommentCreate, new).await?;
    let told = format!(
        "Draft on {}. It goes to the agent with `forge task reject {}` or `forge task message {} --with-comments`.",
        place_of(&comment),
        task.number,
        task.number,
    );
    Ok(Answer::new(comment.json, printable(&told)))
}

/// A path, and the lines that follow its last colon, if these are numbers.
fn path_and_lines(place: &str) -> (&str, Option<u32>, Option<u32>) {
    let Some((path, lines)) = place.rsplit_once(':') else { return (place, None, None) };
    let (first, last) = lines.split_once('-').map_or((lines, None), |(first, last)| (first, Some(last)));
    match (first.parse(), last.map(str::parse).transpose()) {
        (Ok(first), Ok(last)) => (path, Some(first), last),
        _ => (place, None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files_with_or_without_lines() {
        assert_eq!(path_and_lines("src/a.rs"), ("src/a.rs", None, None));
        assert_eq!(path_and_lines("src/a.rs:12"), ("src/a.rs", Some(12), None));
        assert_eq!(path_and_lines("src/a.rs:12-20"), ("src/a.rs", Some(12), Some(20)));
        assert_eq!(path_and_lines("odd:name"), ("odd:name", None, None));
        assert_eq!(path_and_lines("odd:3-x"), ("odd:3-x", None, None));
    }
}
