//! `turns`: when each project was given a place last, as a number that rises, and how many it was given since one went to
//! the task that had waited longest.

use std::collections::HashMap;

use forge_model::ids::ProjectId;
use sqlx::Row as _;

use crate::{StoreError, row::Columns};

handles!(turns() -> Turns, turns_mut() -> TurnsMut);

/// The turns of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// The last one, as a number that rises over all projects.
    pub turn: u64,
    /// How many there were since the last one that went by age.
    pub passed: u32,
}

impl Turns<'_> {
    /// The turns of all projects that ever had one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&mut self) -> Result<HashMap<ProjectId, Turn>, StoreError> {
        let rows =
            sqlx::query("SELECT project_id, turn, passed FROM turns").fetch_all(&mut *self.conn).await?;
        let read = |row: &sqlx::sqlite::SqliteRow| {
            let c = Columns(row);
            Ok((ProjectId(row.get(0)), Turn { turn: c.int("turn")?, passed: c.int("passed")? }))
        };
        rows.iter().map(read).collect()
    }
}

impl TurnsMut<'_> {
    /// Puts a project behind all others, after a turn that went `by_age` or not.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(&mut self, project: &ProjectId, by_age: bool) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO turns (project_id, turn, passed) SELECT ?1, coalesce(max(turn), 0) + 1, ?2 FROM turns WHERE true
             ON CONFLICT (project_id) DO UPDATE SET turn = excluded.turn, passed = iif(?2 = 0, 0, passed + 1)",
        )
        .bind(project.as_str())
        .bind(i32::from(!by_age))
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
    async fn project_whose_turn_ends_is_behind_the_others_and_one_by_age_begins_to_count_anew() {
        let mut tx = seeded().await;
        for project in ["p", "q", "p"] {
            tx.turns_mut().end(&project.into(), false).await.unwrap();
        }
        let turn = |turn, passed| Turn { turn, passed };
        let turns = tx.turns().all().await.unwrap();
        assert_eq!(turns, HashMap::from([("q".into(), turn(2, 1)), ("p".into(), turn(3, 2))]));
        tx.turns_mut().end(&"p".into(), true).await.unwrap();
        assert_eq!(tx.turns().all().await.unwrap().get(&"p".into()), Some(&turn(4, 0)));
    }
}
