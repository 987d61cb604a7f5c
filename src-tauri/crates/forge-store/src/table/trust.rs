//! `project_trust`: contents of startup files that a person trusted.

use forge_model::{ids::ProjectId, time::Timestamp};
use sqlx::Row as _;

use crate::StoreError;

handles!(project_trust() -> ProjectTrust, project_trust_mut() -> ProjectTrustMut);

/// A content of a startup file that a person trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRow {
    /// From the repository's root.
    pub path: String,
    /// The hash of the content, in hex; nothing when the file was gone.
    pub sha256: Option<String>,
    /// The commit that has it; nothing when it lay uncommitted in a worktree.
    pub commit: Option<String>,
    /// The content, unless it is too large to be kept.
    pub content: Option<Vec<u8>>,
}

impl ProjectTrust<'_> {
    /// All that is accepted of a project, what was accepted last first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn list(&mut self, project: &ProjectId) -> Result<Vec<TrustRow>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM project_trust WHERE project_id = ?1 ORDER BY accepted_at DESC, path")
                .bind(project.as_str())
                .fetch_all(&mut *self.conn)
                .await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let sha256: String = row.try_get("sha256")?;
            Ok(TrustRow {
                path: row.try_get("path")?,
                sha256: Some(sha256).filter(|it| !it.is_empty()),
                commit: row.try_get("commit_id")?,
                content: row.try_get("content")?,
            })
        };
        rows.iter().map(read).collect()
    }
}

impl ProjectTrustMut<'_> {
    /// Adds a content. One that was accepted before is accepted anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(
        &mut self,
        project: &ProjectId,
        row: &TrustRow,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO project_trust (project_id, path, sha256, commit_id, accepted_at, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (project_id, path, sha256) DO UPDATE SET commit_id = ?4, accepted_at = ?5, content = ?6",
        )
        .bind(project.as_str())
        .bind(&row.path)
        .bind(row.sha256.as_deref().unwrap_or_default())
        .bind(&row.commit)
        .bind(now.0)
        .bind(&row.content)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;

    #[tokio::test]
    async fn content_is_accepted_anew_and_the_latest_comes_first() {
        let mut tx = seeded().await;
        let gone = TrustRow { path: "a.sh".to_owned(), sha256: None, commit: None, content: None };
        let first = TrustRow {
            path: "b.sh".to_owned(),
            sha256: Some("1".to_owned()),
            commit: None,
            content: Some(vec![0, 255]),
        };
        let again = TrustRow { commit: Some("c".to_owned()), ..first.clone() };
        for (row, at) in [(&first, 1), (&gone, 2), (&again, 3)] {
            tx.project_trust_mut().put(&"p".into(), row, Timestamp(at)).await.unwrap();
        }
        assert_eq!(tx.project_trust().list(&"p".into()).await.unwrap(), [again, gone]);
        assert_eq!(tx.project_trust().list(&"q".into()).await.unwrap(), []);
        tx.projects_mut().delete(&"p".into()).await.unwrap();
        assert_eq!(tx.project_trust().list(&"p".into()).await.unwrap(), []);
    }
}
