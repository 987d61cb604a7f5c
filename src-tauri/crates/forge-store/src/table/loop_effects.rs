//! `loop_effects`: what parts of the inner loop did last, where no table of their own tells.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::loop_status::Subsystem;
use forge_model::time::Timestamp;

use crate::{StoreError, row::Columns};

handles!(loop_effects() -> LoopEffects, loop_effects_mut() -> LoopEffectsMut);

/// What a part did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectRow {
    /// About which task, if about one that is still there.
    pub task_id: Option<TaskId>,
    /// In a sentence without its point.
    pub effect: String,
    /// When.
    pub at: Timestamp,
}

impl LoopEffects<'_> {
    /// What a part did last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(
        &mut self,
        project: &ProjectId,
        part: Subsystem,
    ) -> Result<Option<EffectRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM loop_effects WHERE project_id = ?1 AND part = ?2")
            .bind(project.as_str())
            .bind(part.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let c = Columns(&row);
        Ok(Some(EffectRow { task_id: c.text_opt("task_id")?, effect: c.text("effect")?, at: c.time("at")? }))
    }
}

impl LoopEffectsMut<'_> {
    /// Writes what a part did, in place of what it did before.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(
        &mut self,
        project: &ProjectId,
        part: Subsystem,
        row: &EffectRow,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO loop_effects (project_id, part, task_id, effect, at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (project_id, part) DO UPDATE SET task_id = ?3, effect = ?4, at = ?5",
        )
        .bind(project.as_str())
        .bind(part.as_str())
        .bind(row.task_id.as_ref().map(TaskId::as_str))
        .bind(&row.effect)
        .bind(row.at.0)
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
    async fn last_effect_of_each_part_is_kept_when_its_task_goes() {
        let mut tx = seeded().await;
        let effect = |text: &str, at: i64| EffectRow {
            task_id: Some("t".into()),
            effect: text.to_owned(),
            at: Timestamp(at),
        };
        let (p, reviewer, races) = (ProjectId::from("p"), Subsystem::Reviewer, Subsystem::Competitive);
        for (part, row) in [(reviewer, effect("a", 1)), (races, effect("b", 2)), (reviewer, effect("c", 3))] {
            tx.loop_effects_mut().put(&p, part, &row).await.unwrap();
        }
        assert_eq!(tx.loop_effects().last(&p, reviewer).await.unwrap(), Some(effect("c", 3)));
        assert_eq!(tx.loop_effects().last(&"q".into(), reviewer).await.unwrap(), None);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        let left = EffectRow { task_id: None, ..effect("b", 2) };
        assert_eq!(tx.loop_effects().last(&p, races).await.unwrap(), Some(left));
    }
}
