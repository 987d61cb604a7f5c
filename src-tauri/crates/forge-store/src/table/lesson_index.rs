//! `lesson_index`: the lessons that branches keep, to be searched by their words.

use forge_model::ids::ProjectId;
use forge_model::knowledge::Lesson;

use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(lesson_index() -> LessonIndex, lesson_index_mut() -> LessonIndexMut);

/// A lesson as it is searched.
#[derive(Debug, Clone)]
pub struct IndexedLesson {
    /// What is told of it.
    pub lesson: Lesson,
    /// The whole of its text.
    pub description: String,
}

impl LessonIndex<'_> {
    /// Which content of the lessons' folder a branch's index was made from; none before it was made.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn version(&mut self, project: &ProjectId, target: &str) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT version FROM lesson_heads WHERE project_id = ?1 AND target = ?2")
            .bind(project.as_str())
            .bind(target)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(|row| Columns(row).text("version")).transpose()
    }

    /// The lessons of a branch that a search finds (`forge_model::knowledge::query`), the best first: a word of the title
    /// counts most, then one of the paths.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn search(
        &mut self,
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
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Columns(row).json("lesson")).collect()
    }
}

impl LessonIndexMut<'_> {
    /// Makes a branch's index anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn replace(
        &mut self,
        (project, target): (&ProjectId, &str),
        version: &str,
        lessons: &[IndexedLesson],
    ) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM lesson_index WHERE project_id = ?1 AND target = ?2")
            .bind(project.as_str())
            .bind(target)
            .execute(self.tx.sqlite())
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
            .execute(self.tx.sqlite())
            .await?;
        }
        sqlx::query("INSERT OR REPLACE INTO lesson_heads (project_id, target, version) VALUES (?1, ?2, ?3)")
            .bind(project.as_str())
            .bind(target)
            .bind(version)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use forge_model::knowledge::query;

    use super::*;
    use crate::testing::{count, seeded};

    fn lesson(title: &str, description: &str, path: &str) -> IndexedLesson {
        let paths = vec![path.to_owned()];
        let path = format!("docs/knowledge/{}.md", title.to_lowercase());
        let lesson = Lesson { path, title: title.into(), summary: description.into(), paths, task: None };
        IndexedLesson { lesson, description: description.into() }
    }

    #[tokio::test]
    async fn titles_count_most_then_paths_and_each_branch_has_its_own() {
        let mut tx = seeded().await;
        let (project, all) = (
            ProjectId::from("p"),
            [
                lesson("Elsewhere", "The parser is asked once.", "src/cache.rs"),
                lesson("Commas", "They end lists.", "src/parser/list.rs"),
                lesson("Parser", "It reads Überschriften.", "src/read.rs"),
            ],
        );
        tx.lesson_index_mut().replace((&project, "main"), "v1", &all).await.unwrap();
        tx.lesson_index_mut().replace((&project, "other"), "v2", &all[..1]).await.unwrap();
        assert_eq!(tx.lesson_index().version(&project, "main").await.unwrap().as_deref(), Some("v1"));
        let mut find = async |target: &str, text: &str| {
            let query = query(text).unwrap();
            let found = tx.lesson_index().search(&project, target, &query, 10).await.unwrap();
            found.into_iter().map(|lesson| lesson.title).collect::<Vec<_>>()
        };
        assert_eq!(find("main", "parsers").await, ["Parser", "Commas", "Elsewhere"]);
        assert_eq!(find("main", "uberschrift NEAR(*").await, [] as [&str; 0]);
        assert_eq!(find("main", "uberschriften NEAR(*").await, ["Parser"]);
        assert_eq!(find("other", "parser").await, ["Elsewhere"]);
        tx.lesson_index_mut().replace((&project, "main"), "", &[]).await.unwrap();
        assert_eq!(count(&mut tx, "lesson_index").await, 1);
        tx.projects_mut().delete(&project).await.unwrap();
        assert_eq!(count(&mut tx, "lesson_index").await, 0, "a project takes its index along");
    }
}
