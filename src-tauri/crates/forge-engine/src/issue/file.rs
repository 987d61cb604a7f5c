//! Files with issues: which format they have, and what is in them.

use std::path::PathBuf;

use forge_model::issue::{Issue, IssueKind, IssueOrigin};
use forge_reading::issue_file::{IssueFileError, read_csv, read_markdown, read_vibe_kanban};
use forge_store::vibe_kanban::{self, VibeKanbanError};

use super::MOST_ISSUES;
use crate::{EngineError, World, error::Result};

/// How a database of SQLite begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The issues of a file, and the file as a source. Of a database with several projects, one is named.
pub(crate) async fn read_file(
    world: &World,
    kind: Option<IssueKind>,
    name: &str,
    (content, project): (Vec<u8>, Option<String>),
) -> Result<(IssueOrigin, Vec<Issue>)> {
    let name = name_of(name)?;
    let (kind, issues) = if content.starts_with(SQLITE) {
        (IssueKind::VibeKanban, read_database(world, &content, project.as_deref()).await?)
    } else {
        let text = String::from_utf8(content).map_err(|_| {
            EngineError::invalid("data", "must be text in UTF-8, or a database of vibe-kanban")
        })?;
        read_text(kind, name, &text)?
    };
    if issues.is_empty() || issues.len() > MOST_ISSUES {
        let message = format!("must have 1 to {MOST_ISSUES} issues, and has {}", issues.len());
        return Err(EngineError::invalid("text", message));
    }
    Ok((IssueOrigin::File { kind, name: name.to_owned() }, issues))
}

/// The name without folders.
fn name_of(path: &str) -> Result<&str> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(EngineError::invalid("name", "must be the name of a file"));
    }
    Ok(name)
}

fn read_text(kind: Option<IssueKind>, name: &str, text: &str) -> Result<(IssueKind, Vec<Issue>)> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    let by_name = match ending.as_str() {
        "md" | "markdown" => Some(IssueKind::Markdown),
        "csv" | "tsv" => Some(IssueKind::Csv),
        "json" => Some(IssueKind::VibeKanban),
        _ => None,
    };
    let unread = |error: IssueFileError| EngineError::invalid("text", format!("could not be read: {error}"));
    Ok(match kind.or(by_name) {
        Some(IssueKind::Markdown) => (IssueKind::Markdown, read_markdown(text)),
        Some(IssueKind::Csv) => (IssueKind::Csv, read_csv(text).map_err(unread)?),
        Some(IssueKind::VibeKanban) => (IssueKind::VibeKanban, read_vibe_kanban(text).map_err(unread)?),
        Some(IssueKind::Github | IssueKind::Gitlab | IssueKind::Gitea) | None => {
            return Err(EngineError::invalid("kind", "must be markdown, csv or vibe_kanban"));
        }
    })
}

/// The folder of the copies.
fn copies(world: &World) -> PathBuf {
    world.data_dir().join("imports")
}

/// Removes copies that a kill left.
pub(crate) async fn remove_copies(world: &World) -> Result<()> {
    match tokio::fs::remove_dir_all(copies(world)).await {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(EngineError::Io { doing: "remove copies of imported databases".to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// SQLite reads files alone, so the content is one for a moment.
async fn read_database(world: &World, content: &[u8], project: Option<&str>) -> Result<Vec<Issue>> {
    let folder = copies(world);
    let file = folder.join(world.inner.config.ids.new_id());
    let io = |source| EngineError::Io { doing: "keep the database that is imported".to_owned(), source };
    tokio::fs::create_dir_all(&folder).await.map_err(io)?;
    let written = tokio::fs::write(&file, content).await.map_err(io);
    let read = match written {
        Ok(()) => Ok(vibe_kanban::read_vibe_kanban(&file, project).await),
        Err(error) => Err(error),
    };
    if let Err(error) = tokio::fs::remove_file(&file).await {
        tracing::warn!(%error, "the copy of an imported database stays until Forge starts again");
    }
    read?.map_err(|error| match error {
        VibeKanbanError::Strange(_) => EngineError::invalid("data", error.to_string()),
        VibeKanbanError::Project(_) => EngineError::invalid("board", error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_of_a_text_is_said_or_as_its_name_ends() {
        let read = |kind, path: &str, text: &str| {
            let name = name_of(path)?;
            read_text(kind, name, text).map(|(kind, issues)| (name.to_owned(), kind, issues.len()))
        };
        let found = |name: &str, kind, count| (name.to_owned(), kind, count);
        let list = read(None, "/a/b/plan.md", "- [ ] A\n- [x] B\n").unwrap();
        assert_eq!(list, found("plan.md", IssueKind::Markdown, 2));
        assert_eq!(read(None, "C:\\x.CSV", "title\nA\n").unwrap(), found("x.CSV", IssueKind::Csv, 1));
        assert_eq!(read(Some(IssueKind::Csv), "x", "title\nA\n").unwrap(), found("x", IssueKind::Csv, 1));
        let export = r#"[{"id":"1","title":"A"}]"#;
        assert_eq!(read(None, "tasks.json", export).unwrap().1, IssueKind::VibeKanban);
        for (said, name, text) in [
            (None, "x", "- [ ] A"),
            (None, "/", "- [ ] A"),
            (Some(IssueKind::Github), "x.md", "- [ ] A"),
            (None, "x.csv", "a,b\n1,2"),
            (None, "x.json", "{}"),
        ] {
            assert!(matches!(read(said, name, text), Err(EngineError::Invalid(_))), "{name} {text}");
        }
    }
}
