//! `lesson_index`: the lessons that branches keep, to be searched by their words.

use forge_model::ids::ProjectId;
use forge_model::knowledge::Lesson;
use sqlx::SqliteConnection;

use crate::{
    StoreError,
    row::{Columns, json},
};

/// A lesson as it is searched.
#[derive(Debug, Clone)]
pub struct IndexedLesson {
    /// What is told of it.
    pub lesson: Lesson,
    /// The whole of its text.
    pub description: String,
}

/// Which content of the lessons' folder a branch's index was made from; none before it was made.
///
/// # Errors
/// When it cannot be read.
pub async fn version(
    conn: &mut SqliteConnection,
    project: &ProjectId,
    target: &str,
) -> Result<Option<String>, StoreError> {
    let row = sqlx::query("SELECT version FROM lesson_heads WHERE project_id = ?1 AND target = ?2")
        .bind(project.as_str())
        .bind(target)
        .fetch_optional(conn)
        .await?;
    row.as_ref().map(|row| Columns(row).text("version")).transpose()
}

/// Makes a branch's index anew.
///
/// # Errors
/// When it cannot be written.
pub async fn replace(
    conn: &mut SqliteConnection,
    (project, target): (&ProjectId, &str),
    version: &str,
    lessons: &[IndexedLesson],
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM lesson_index WHERE project_id = ?1 AND target = ?2")
        .bind(project.as_str())
        .bind(target)
        .execute(&mut *conn)
        .await?;
    for IndexedLesson { lesson, description } in lessons {
        sqlx::query(
            "INSERT INTO lesson_index (title, description, paths, project_id, target, lesson)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(&lesson.title)
        .bind(description)
        .bind(format!("{}\n{}", lesson.paths.join("\n"), lesson.path))
        .bind(project.as_str())
        .bind(target)
        .bind(json(lesson)?)
        .execute(&mut *conn)
        .await?;
    }
    sqlx::query("INSERT OR REPLACE INTO lesson_heads (project_id, target, version) VALUES (?1, ?2, ?3)")
        .bind(project.as_str())
        .bind(target)
        .bind(version)
        .execute(conn)
        .await?;
    Ok(())
}

/// The lessons of a branch that a search finds (`forge_model::knowledge::query`), the best first: a word of the title
/// counts most, then one of the paths.
///
/// # Errors
/// When they cannot be read.
pub async fn search(
    conn: &mut SqliteConnection,
    project: &ProjectId,
    target: &str,
    query: &str,
    limit: u32,
) -> Result<Vec<Lesson>, StoreError> {
    let rows = sqlx::query(
        "SELECT lesson FROM lesson_index WHERE lesson_index MATCH ?1 AND project_id = ?2 AND target = ?3
         ORDER BY bm25(lesson_index, 4.0, 1.0, 3.0), rowid LIMIT ?4",
    )
    .bind(query)
    .bind(project.as_str())
    .bind(target)
    .bind(limit)
    .fetch_all(conn)
    .await?;
    rows.iter().map(|row| Columns(row).json("lesson")).collect()
}
