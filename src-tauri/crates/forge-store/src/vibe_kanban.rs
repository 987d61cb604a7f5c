//! The database of vibe-kanban, which is only read: tasks of one of its projects as issues.

use std::path::Path;

use forge_model::issue::{Issue, IssueState};
use sqlx::{Connection as _, Row as _, SqliteConnection, sqlite::SqliteRow};

use crate::connection::read_only;

/// Why its tasks are not read.
#[derive(Debug, thiserror::Error)]
pub enum VibeKanbanError {
    /// It is damaged, or another program's.
    #[error("it is not a database of vibe-kanban: {0}")]
    Strange(#[from] sqlx::Error),
    /// It has several projects, or none of that name.
    #[error("it has the projects {}: name one of them", .0.join(", "))]
    Project(Vec<String>),
}

/// The tasks of a project, oldest first. `project` is its name; it may be left out when there is only one.
///
/// # Errors
/// See [`VibeKanbanError`].
pub async fn read_vibe_kanban(file: &Path, project: Option<&str>) -> Result<Vec<Issue>, VibeKanbanError> {
    let mut conn = SqliteConnection::connect_with(&read_only(file)).await?;
    let names: Vec<String> =
        sqlx::query_scalar("SELECT name FROM projects ORDER BY name").fetch_all(&mut conn).await?;
    let named = match project {
        Some(name) => names.iter().find(|known| *known == name),
        None => names.first().filter(|_| names.len() == 1),
    };
    let Some(named) = named else { return Err(VibeKanbanError::Project(names)) };
    let rows = sqlx::query(
        "SELECT CASE typeof(t.id) WHEN 'blob' THEN lower(hex(t.id)) ELSE t.id END AS id, t.title, t.description, t.status
         FROM tasks t JOIN projects p ON p.id = t.project_id WHERE p.name = ?1 ORDER BY t.created_at, t.rowid",
    )
    .bind(named)
    .fetch_all(&mut conn)
    .await?;
    let issues = rows.iter().map(issue).collect::<Result<_, sqlx::Error>>()?;
    conn.close().await?;
    Ok(issues)
}

fn issue(row: &SqliteRow) -> Result<Issue, sqlx::Error> {
    let id: String = row.try_get("id")?;
    let status: String = row.try_get("status")?;
    let description: Option<String> = row.try_get("description")?;
    Ok(Issue {
        reference: hyphenated(&id),
        url: None,
        title: row.try_get("title")?,
        body: description.unwrap_or_default(),
        state: if matches!(status.as_str(), "done" | "cancelled") {
            IssueState::Closed
        } else {
            IssueState::Open
        },
        labels: Vec::new(),
        author: None,
        comment_count: 0,
        updated_at: None,
    })
}

/// An id as its interface writes it, so that an export in JSON has the same.
fn hyphenated(id: &str) -> String {
    if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return id.to_owned();
    }
    [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;

    use super::*;

    async fn database(file: &Path, projects: &[&str]) {
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
        let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
        let tables = "CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL, description TEXT,
              status TEXT NOT NULL, created_at TEXT NOT NULL);";
        sqlx::raw_sql(tables).execute(&mut conn).await.unwrap();
        for (at, name) in projects.iter().enumerate() {
            let rows = format!(
                "INSERT INTO projects VALUES (x'0{at}', '{name}');
                 INSERT INTO tasks VALUES (x'00112233445566778899aabbccddee0{at}', x'0{at}', 'Later', NULL, 'inreview', '2'),
                   (x'10112233445566778899aabbccddee0{at}', x'0{at}', 'First of {name}', 'Why', 'done', '1');"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(rows)).execute(&mut conn).await.unwrap();
        }
        conn.close().await.unwrap();
    }

    #[tokio::test]
    async fn tasks_of_the_only_project_or_of_a_named_one_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        database(&one, &["app"]).await;
        let found = read_vibe_kanban(&one, None).await.unwrap();
        let shown: Vec<_> = found.iter().map(|it| (it.title.as_str(), it.body.as_str(), it.state)).collect();
        assert_eq!(shown, [("First of app", "Why", IssueState::Closed), ("Later", "", IssueState::Open)]);
        assert_eq!(found[1].reference, "00112233-4455-6677-8899-aabbccddee00");
        database(&two, &["b", "a"]).await;
        assert_eq!(read_vibe_kanban(&two, Some("a")).await.unwrap()[0].title, "First of a");
        for named in [None, Some("c")] {
            let refused = read_vibe_kanban(&two, named).await.unwrap_err();
            assert_eq!(refused.to_string(), "it has the projects a, b: name one of them");
        }
    }

    #[tokio::test]
    async fn other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "no database").unwrap();
        assert!(matches!(read_vibe_kanban(&file, None).await, Err(VibeKanbanError::Strange(_))));
    }
}
