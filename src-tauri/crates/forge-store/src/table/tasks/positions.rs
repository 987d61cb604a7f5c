//! Where tasks stand in the columns of a board.

use forge_model::ids::{ProjectId, TaskId};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::{Tasks, TasksMut};
use crate::{
    StoreError,
    row::{json, push_list},
};

impl Tasks<'_> {
    /// The position below all others of these states.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn bottom(&mut self, project: &ProjectId, states: &[String]) -> Result<f64, StoreError> {
        // One look into the index for each state.
        let row = sqlx::query(
            "SELECT coalesce(max((SELECT max(position) FROM tasks WHERE project_id = ?1 AND status = s.value)), 0.0)
             FROM json_each(?2) s",
        )
        .bind(project.as_str())
        .bind(json(states)?)
        .fetch_one(&mut *self.conn)
        .await?;
        Ok(row.try_get::<f64, _>(0)? + 1024.0)
    }

    /// The position of the nearest task of these states above (or below) a position.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn neighbour(
        &mut self,
        project: &ProjectId,
        states: &[String],
        position: f64,
        above: bool,
        except: &TaskId,
    ) -> Result<Option<f64>, StoreError> {
        let nearest = if above {
            "SELECT max((SELECT max(position) FROM tasks WHERE project_id = ?1 AND status = s.value AND position < ?2
               AND id <> ?3)) FROM json_each(?4) s"
        } else {
            "SELECT min((SELECT min(position) FROM tasks WHERE project_id = ?1 AND status = s.value AND position > ?2
               AND id <> ?3)) FROM json_each(?4) s"
        };
        let row = sqlx::query(nearest)
            .bind(project.as_str())
            .bind(position)
            .bind(except.as_str())
            .bind(json(states)?)
            .fetch_one(&mut *self.conn)
            .await?;
        Ok(row.try_get(0)?)
    }
}

impl TasksMut<'_> {
    /// Spreads the positions of a column out evenly, in their present order.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn spread(&mut self, project: &ProjectId, states: &[String]) -> Result<(), StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "UPDATE tasks SET position = ranked.place * 1024.0 FROM (SELECT id AS task, row_number() OVER (ORDER BY position, id) AS place
             FROM tasks WHERE project_id = ",
        );
        query.push_bind(project.as_str().to_owned()).push(" AND status IN ");
        push_list(&mut query, states)?;
        query.push(") AS ranked WHERE tasks.id = ranked.task");
        query.build().execute(self.tx.sqlite()).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::table::tasks::TaskRow;
    use crate::testing::{seeded, task};

    #[tokio::test]
    async fn positions_are_of_one_column() {
        let mut tx = seeded().await;
        for (id, number, status, position) in
            [("u", 2, "todo", 10.0), ("v", 3, "todo", 10.5), ("w", 4, "done", 9000.0)]
        {
            let row = TaskRow { status: status.to_owned(), position, ..task(id, number) };
            tx.tasks_mut().insert(&row).await.unwrap();
        }
        let (p, todo) = ("p".into(), ["todo".to_owned()]);
        let told = format!(
            "{:?} {:?}",
            tx.tasks().bottom(&p, &todo).await.unwrap(),
            tx.tasks().bottom(&p, &["none".to_owned()]).await.unwrap(),
        );
        assert_eq!(told, "2048.0 1024.0");
        let v = "v".into();
        assert_eq!(tx.tasks().neighbour(&p, &todo, 10.5, true, &v).await.unwrap(), Some(10.0));
        assert_eq!(tx.tasks().neighbour(&p, &todo, 10.5, false, &v).await.unwrap(), Some(1024.0));
        assert_eq!(tx.tasks().neighbour(&p, &todo, 1024.0, false, &v).await.unwrap(), None);
        tx.tasks_mut().spread(&p, &todo).await.unwrap();
        let mut positions = Vec::new();
        for id in ["u", "v", "t", "w"] {
            positions.push(tx.tasks().get(&id.into()).await.unwrap().unwrap().position);
        }
        assert_eq!(format!("{positions:?}"), "[1024.0, 2048.0, 3072.0, 9000.0]");
    }
}
