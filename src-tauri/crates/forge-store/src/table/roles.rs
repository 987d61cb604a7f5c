//! `task_roles`: who holds which role on a task.

use std::collections::HashMap;

use forge_model::ids::{AgentId, TaskId};
use forge_model::task::{HolderKind, RoleHolder};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::{
    StoreError,
    row::{Columns, push_list},
};

handles!(roles() -> Roles, roles_mut() -> RolesMut);

impl Roles<'_> {
    /// Who holds a role.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn holder(&mut self, task: &TaskId, role: &str) -> Result<Option<RoleHolder>, StoreError> {
        let row = sqlx::query("SELECT * FROM task_roles WHERE task_id = ?1 AND role = ?2")
            .bind(task.as_str())
            .bind(role)
            .fetch_optional(&mut *self.conn)
            .await?;
        row.map(|row| {
            let c = Columns(&row);
            Ok(RoleHolder { kind: c.name::<HolderKind>("kind")?, id: c.text_opt("agent_id")? })
        })
        .transpose()
    }

    /// The holders of many tasks at once.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_tasks(
        &mut self,
        tasks: &[TaskId],
    ) -> Result<HashMap<TaskId, Vec<(String, RoleHolder)>>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM task_roles WHERE task_id IN ");
        push_list(&mut query, tasks)?;
        let mut found: HashMap<TaskId, Vec<(String, RoleHolder)>> = HashMap::new();
        for row in query.build().fetch_all(&mut *self.conn).await? {
            let c = Columns(&row);
            let holder = RoleHolder { kind: c.name::<HolderKind>("kind")?, id: c.text_opt("agent_id")? };
            found.entry(c.text("task_id")?).or_default().push((row.try_get("role")?, holder));
        }
        Ok(found)
    }
}

impl RolesMut<'_> {
    /// Gives a role to a holder, or to nobody.
    ///
    /// # Errors
    /// When the agent does not exist, or it cannot be written.
    pub async fn put(
        &mut self,
        task: &TaskId,
        role: &str,
        holder: Option<&RoleHolder>,
    ) -> Result<(), StoreError> {
        match holder {
            Some(holder) => {
                sqlx::query(
                    "INSERT INTO task_roles (task_id, role, kind, agent_id) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (task_id, role) DO UPDATE SET kind = ?3, agent_id = ?4",
                )
                .bind(task.as_str())
                .bind(role)
                .bind(holder.kind.as_str())
                .bind(holder.id.as_ref().map(AgentId::as_str))
                .execute(self.tx.sqlite())
                .await?;
            }
            None => {
                sqlx::query("DELETE FROM task_roles WHERE task_id = ?1 AND role = ?2")
                    .bind(task.as_str())
                    .bind(role)
                    .execute(self.tx.sqlite())
                    .await?;
            }
        }
        Ok(())
    }
}
