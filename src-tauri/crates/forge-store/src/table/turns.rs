//! `turns`: what each project was given last of an agent, of a machine and of itself.

use std::collections::HashMap;

use forge_model::ids::ProjectId;
use sqlx::Row as _;

use super::slots::Slot;
use crate::{StoreError, row::Columns};

handles!(turns() -> Turns, turns_mut() -> TurnsMut);

/// What a project was given of an agent, of a machine, or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Turn {
    /// When that was last, as a number that rises over all projects.
    pub turn: u64,
    /// How many places there were since the last one that went to the task that had waited longest.
    pub passed: u32,
}

impl Turn {
    /// After one more place, which went to the task that had waited longest there, or to another one.
    pub const fn next(self, turn: u64, is_oldest: bool) -> Self {
        Self { turn, passed: if is_oldest { 0 } else { self.passed + 1 } }
    }
}

/// Of whose tasks the one that is given a place had waited longest: of those of its project that could have had a place of
/// the project, of the agent, and on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Oldest {
    /// Of all of the project.
    pub of_project: bool,
    /// Of those that the agent works on.
    pub of_agent: bool,
    /// Of those that would be on the machine.
    pub on_machine: bool,
}

impl Turns<'_> {
    /// The turns of all projects that ever had one, by the id of the agent, of the machine, and of the project itself.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&mut self) -> Result<HashMap<ProjectId, HashMap<String, Turn>>, StoreError> {
        let rows = sqlx::query("SELECT project_id, whose, turn, passed FROM turns")
            .fetch_all(&mut *self.conn)
            .await?;
        let mut all: HashMap<ProjectId, HashMap<String, Turn>> = HashMap::new();
        for row in &rows {
            let c = Columns(row);
            let turn = Turn { turn: c.int("turn")?, passed: c.int("passed")? };
            all.entry(c.text("project_id")?).or_default().insert(row.get(1), turn);
        }
        Ok(all)
    }
}

impl TurnsMut<'_> {
    /// Counts a place that a project was given, or the start of a race, which takes none itself. Of what was given there
    /// the project is then behind all others.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn end(
        &mut self,
        project: &ProjectId,
        slot: Option<&Slot>,
        oldest: Oldest,
    ) -> Result<(), StoreError> {
        let turn: i64 = sqlx::query_scalar("SELECT coalesce(max(turn), 0) + 1 FROM turns")
            .fetch_one(self.tx.sqlite())
            .await?;
        let agent = slot.map(|slot| (slot.agent_id.as_str(), oldest.of_agent));
        let machine =
            slot.and_then(|slot| slot.machine_id.as_ref()).map(|id| (id.as_str(), oldest.on_machine));
        let own = Some((project.as_str(), oldest.of_project));
        for (whose, is_oldest) in [own, agent, machine].into_iter().flatten() {
            sqlx::query(
                "INSERT INTO turns (project_id, whose, turn, passed) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (project_id, whose) DO UPDATE SET turn = ?3, passed = iif(?4 = 0, 0, passed + 1)",
            )
            .bind(project.as_str())
            .bind(whose)
            .bind(turn)
            .bind(i32::from(!is_oldest))
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
    async fn turn_is_counted_for_the_agent_the_machine_and_the_project_and_begins_anew_where_the_oldest_was_given_it()
     {
        let mut tx = seeded().await;
        let on = |machine: Option<&str>| Slot { agent_id: "a".into(), machine_id: machine.map(Into::into) };
        for (project, machine) in [("p", Some("m")), ("q", None), ("p", Some("n"))] {
            tx.turns_mut().end(&project.into(), Some(&on(machine)), Oldest::default()).await.unwrap();
        }
        let turns = |all: &[(&str, u64, u32)]| {
            let turn = |(whose, turn, passed): &(&str, u64, u32)| {
                ((*whose).to_owned(), Turn { turn: *turn, passed: *passed })
            };
            all.iter().map(turn).collect::<HashMap<_, _>>()
        };
        let p = turns(&[("p", 3, 2), ("a", 3, 2), ("m", 1, 1), ("n", 3, 1)]);
        let all = tx.turns().all().await.unwrap();
        assert_eq!(all, HashMap::from([("q".into(), turns(&[("q", 2, 1), ("a", 2, 1)])), ("p".into(), p)]));
        let oldest = Oldest { of_agent: true, on_machine: true, of_project: false };
        tx.turns_mut().end(&"p".into(), Some(&on(Some("n"))), oldest).await.unwrap();
        tx.turns_mut().end(&"p".into(), None, Oldest::default()).await.unwrap();
        let p = turns(&[("p", 5, 4), ("a", 4, 0), ("m", 1, 1), ("n", 4, 0)]);
        assert_eq!(tx.turns().all().await.unwrap().get(&"p".into()), Some(&p), "elsewhere it is still owed");
    }
}
