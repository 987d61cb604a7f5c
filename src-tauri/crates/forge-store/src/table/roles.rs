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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{is_refused, seeded, task};

    #[tokio::test]
    async fn role_has_one_holder_or_none() {
        let mut tx = seeded().await;
        let agent = RoleHolder { kind: HolderKind::Agent, id: Some("a".into()) };
        let person = RoleHolder { kind: HolderKind::User, id: None };
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        for (role, holder) in [("coder", Some(&person)), ("coder", Some(&agent)), ("reviewer", Some(&person))]
        {
            tx.roles_mut().put(&"t".into(), role, holder).await.unwrap();
        }
        tx.roles_mut().put(&"u".into(), "coder", Some(&agent)).await.unwrap();
        assert_eq!(tx.roles().holder(&"t".into(), "coder").await.unwrap(), Some(agent.clone()));
        tx.roles_mut().put(&"t".into(), "reviewer", None).await.unwrap();
        assert_eq!(tx.roles().holder(&"t".into(), "reviewer").await.unwrap(), None);
        let of_t = tx.roles().of_tasks(&["t".into()]).await.unwrap();
        assert_eq!(of_t, HashMap::from([("t".into(), vec![("coder".to_owned(), agent)])]));
        let unknown = RoleHolder { kind: HolderKind::Agent, id: Some("gone".into()) };
        assert!(is_refused(tx.roles_mut().put(&"t".into(), "coder", Some(&unknown)).await, "FOREIGN KEY"));
    }
}
