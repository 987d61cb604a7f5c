//! `turns`: when each project was given a place last, as a number that rises.

use std::collections::HashMap;

use forge_model::ids::ProjectId;
use sqlx::Row as _;

use crate::{StoreError, row::Columns};

handles!(turns() -> Turns, turns_mut() -> TurnsMut);

impl Turns<'_> {
    /// The last turns of all projects that ever had one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&mut self) -> Result<HashMap<ProjectId, u64>, StoreError> {
        let rows = sqlx::query("SELECT project_id, turn FROM turns").fetch_all(&mut *self.conn).await?;
        rows.iter().map(|row| Ok((ProjectId(row.get(0)), Columns(row).int("turn")?))).collect()
    }
}

impl TurnsMut<'_> {
    /// Puts a project behind all others.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(&mut self, project: &ProjectId) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO turns (project_id, turn) SELECT ?1, coalesce(max(turn), 0) + 1 FROM turns WHERE true
             ON CONFLICT (project_id) DO UPDATE SET turn = excluded.turn",
        )
        .bind(project.as_str())
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
    async fn project_whose_turn_ends_is_behind_the_others() {
        let mut tx = seeded().await;
        for project in ["p", "q", "p"] {
            tx.turns_mut().end(&project.into()).await.unwrap();
        }
        let turns = tx.turns().all().await.unwrap();
        assert_eq!(turns, HashMap::from([("q".into(), 2), ("p".into(), 3)]));
    }
}
