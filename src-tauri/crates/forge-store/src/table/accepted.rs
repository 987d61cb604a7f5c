//! `accepted_repositories`, `accepted_files`: which programs a repository may have git run, as a person accepted it.

use forge_model::time::Timestamp;
use sqlx::Row as _;

use crate::StoreError;

handles!(accepted_repositories() -> AcceptedRepositories, accepted_repositories_mut() -> AcceptedRepositoriesMut);

/// A file that says which programs git runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedFile {
    /// From the repository's common directory; absolute when it lies elsewhere.
    pub path: String,
    /// Whether its owner may execute it.
    pub executable: bool,
    /// The hash of its content, in hex.
    pub sha256: String,
    /// Its content, unless it is too large to be kept.
    pub content: Option<Vec<u8>>,
}

impl AcceptedRepositories<'_> {
    /// What is accepted of a repository, by path; `None` before the first run of an agent in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, repo_path: &str) -> Result<Option<Vec<AcceptedFile>>, StoreError> {
        let known = sqlx::query("SELECT 1 FROM accepted_repositories WHERE repo_path = ?1")
            .bind(repo_path)
            .fetch_optional(&mut *self.conn)
            .await?;
        if known.is_none() {
            return Ok(None);
        }
        let rows = sqlx::query("SELECT * FROM accepted_files WHERE repo_path = ?1 ORDER BY path")
            .bind(repo_path)
            .fetch_all(&mut *self.conn)
            .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            Ok(AcceptedFile {
                path: row.try_get("path")?,
                executable: row.try_get("executable")?,
                sha256: row.try_get("sha256")?,
                content: row.try_get("content")?,
            })
        };
        rows.iter().map(read).collect::<Result<_, StoreError>>().map(Some)
    }
}

impl AcceptedRepositoriesMut<'_> {
    /// Writes what is accepted of a repository, in place of what was.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(
        &mut self,
        repo_path: &str,
        files: &[AcceptedFile],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO accepted_repositories (repo_path, accepted_at) VALUES (?1, ?2)
             ON CONFLICT (repo_path) DO UPDATE SET accepted_at = ?2",
        )
        .bind(repo_path)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        sqlx::query("DELETE FROM accepted_files WHERE repo_path = ?1")
            .bind(repo_path)
            .execute(self.tx.sqlite())
            .await?;
        for file in files {
            sqlx::query(
                "INSERT INTO accepted_files (repo_path, path, executable, sha256, content) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .bind(repo_path)
            .bind(&file.path)
            .bind(file.executable)
            .bind(&file.sha256)
            .bind(&file.content)
            .execute(self.tx.sqlite())
            .await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::empty;

    #[tokio::test]
    async fn acceptance_replaces_the_files_of_one_repository() {
        let mut tx = empty().await;
        let file = |path: &str| AcceptedFile {
            path: path.to_owned(),
            executable: true,
            sha256: "1".to_owned(),
            content: Some(vec![0, 255]),
        };
        assert_eq!(tx.accepted_repositories().get("/r").await.unwrap(), None, "never asked");
        for (repo, files) in [("/r", vec![file("b"), file("a")]), ("/s", vec![file("a")])] {
            tx.accepted_repositories_mut().put(repo, &files, Timestamp(1)).await.unwrap();
        }
        assert_eq!(tx.accepted_repositories().get("/r").await.unwrap(), Some(vec![file("a"), file("b")]));
        tx.accepted_repositories_mut().put("/r", &[], Timestamp(2)).await.unwrap();
        assert_eq!(tx.accepted_repositories().get("/r").await.unwrap(), Some(vec![]), "nothing is accepted");
        assert_eq!(tx.accepted_repositories().get("/s").await.unwrap(), Some(vec![file("a")]));
    }
}
