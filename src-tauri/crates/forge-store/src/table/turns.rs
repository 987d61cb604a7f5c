//! `turns` and `passed_over`: when each project was given a place last, as a number that rises, and how many places of each
//! agent and on each machine it was given since one of them went to the task that had waited longest.

use std::collections::HashMap;

use forge_model::ids::ProjectId;
use sqlx::Row as _;

use super::slots::Slot;
use crate::{StoreError, row::Columns};

handles!(turns() -> Turns, turns_mut() -> TurnsMut);

/// The turns of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The last one, as a number that rises over all projects.
    pub turn: u64,
    /// How many there were since the last one that went by age, by the id of the agent and of the machine.
    pub passed: HashMap<String, u32>,
}

impl Turns<'_> {
    /// The turns of all projects that ever had one.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&mut self) -> Result<HashMap<ProjectId, Turn>, StoreError> {
        let rows = sqlx::query("SELECT project_id, turn FROM turns").fetch_all(&mut *self.conn).await?;
        let mut all = HashMap::new();
        for row in &rows {
            let turn = Turn { turn: Columns(row).int("turn")?, passed: HashMap::new() };
            all.insert(ProjectId(row.get(0)), turn);
        }
        let rows =
            sqlx::query("SELECT project_id, whose, passed FROM passed_over").fetch_all(&mut *self.conn).await?;
        for row in &rows {
            if let Some(of) = all.get_mut(&ProjectId(row.get(0))) {
                of.passed.insert(row.get(1), Columns(row).int("passed")?);
            }
        }
        Ok(all)
    }
}

impl TurnsMut<'_> {
    /// Puts a project behind all others, after a turn that went `by_age` or not.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(&mut self, project: &ProjectId, slot: &Slot, by_age: bool) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO turns (project_id, turn) SELECT ?1, coalesce(max(turn), 0) + 1 FROM turns WHERE true
             ON CONFLICT (project_id) DO UPDATE SET turn = excluded.turn",
        )
        .bind(project.as_str())
        .execute(self.tx.sqlite())
        .await?;
        let machine = slot.machine_id.as_ref().map(|id| id.as_str());
        for whose in [Some(slot.agent_id.as_str()), machine].into_iter().flatten() {
            sqlx::query(
                "INSERT INTO passed_over (project_id, whose, passed) VALUES (?1, ?2, ?3)
                 ON CONFLICT (project_id, whose) DO UPDATE SET passed = iif(?3 = 0, 0, passed + 1)",
            )
            .bind(project.as_str())
            .bind(whose)
            .bind(i32::from(!by_age))
            .execute(self.tx.sqlite())
            .await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;

    #[tokio::test]
    async fn project_whose_turn_ends_is_behind_the_others_and_one_by_age_begins_to_count_anew_where_it_was() {
        let mut tx = seeded().await;
        let on = |machine: Option<&str>| Slot { agent_id: "a".into(), machine_id: machine.map(Into::into) };
        for (project, machine) in [("p", Some("m")), ("q", None), ("p", Some("n"))] {
            tx.turns_mut().end(&project.into(), &on(machine), false).await.unwrap();
        }
        let turn = |turn, passed: &[(&str, u32)]| {
            let passed = passed.iter().map(|(whose, count)| ((*whose).to_owned(), *count)).collect();
            Turn { turn, passed }
        };
        let p = turn(3, &[("a", 2), ("m", 1), ("n", 1)]);
        let turns = tx.turns().all().await.unwrap();
        assert_eq!(turns, HashMap::from([("q".into(), turn(2, &[("a", 1)])), ("p".into(), p)]));
        tx.turns_mut().end(&"p".into(), &on(Some("n")), true).await.unwrap();
        let p = turn(4, &[("a", 0), ("m", 1), ("n", 0)]);
        assert_eq!(tx.turns().all().await.unwrap().get(&"p".into()), Some(&p), "elsewhere it is still owed");
    }
}
