//! `executions`: runs of agents.

use std::collections::HashMap;

use forge_model::budget::BudgetKind;
use forge_model::correction::Correction;
use forge_model::execution::{CostSource, Execution, ExecutionRole, Usage};
use forge_model::ids::{ExecutionId, MachineId, TaskId};
use forge_model::sandbox::SandboxReport;
use serde_json::Value;
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, json_opt, push_list},
};

mod days;

handles!(executions() -> Executions, executions_mut() -> ExecutionsMut);

/// An execution as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRow {
    /// What people see of it.
    pub execution: Execution,
    /// What its prompt carries besides the task.
    pub corrections: Vec<Correction>,
    /// The budget it was paid from.
    pub spends: Option<BudgetKind>,
    /// The newest move when it was started.
    pub after_transition: i64,
    /// What an adapter needs to go on with the conversation. Until the run is over: what it was given.
    pub carry: Option<Value>,
    /// Whether it goes on by itself with what the run before it was cut short in.
    pub goes_on: bool,
    /// How hard the agent was asked to think.
    pub effort: Option<String>,
}

impl Executions<'_> {
    /// The execution that was given the token with this hash, while it is open.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn open_with_token(&mut self, hash: &str) -> Result<Option<ExecutionRow>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM executions WHERE token_hash = ?1 AND status IN ('starting', 'running', 'waiting')",
        )
        .bind(hash)
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// One execution.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, id: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM executions WHERE id = ?1")
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// All executions of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<ExecutionRow>, StoreError> {
        let rows = sqlx::query("SELECT * FROM executions WHERE task_id = ?1 ORDER BY seq")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(read).collect()
    }

    /// The latest execution of a task; drafts of fixes are made beside its work and are none of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<ExecutionRow>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM executions WHERE task_id = ?1 AND role <> 'drafter' ORDER BY seq DESC LIMIT 1",
        )
        .bind(task.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// The latest execution of a task in a role.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last_of(
        &mut self,
        task: &TaskId,
        role: ExecutionRole,
    ) -> Result<Option<ExecutionRow>, StoreError> {
        let row = sqlx::query(
            "SELECT * FROM executions WHERE task_id = ?1 AND role = ?2 ORDER BY seq DESC LIMIT 1",
        )
        .bind(task.as_str())
        .bind(role.as_str())
        .fetch_optional(&mut *self.conn)
        .await?;
        row.as_ref().map(read).transpose()
    }

    /// Runs of a task whose traces are still there, oldest first, each with the untracked files that it found.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn with_traces(&mut self, task: &TaskId) -> Result<Vec<(Execution, Vec<String>)>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM executions WHERE task_id = ?1 AND untracked IS NOT NULL ORDER BY seq")
                .bind(task.as_str())
                .fetch_all(&mut *self.conn)
                .await?;
        rows.iter().map(|row| Ok((read(row)?.execution, Columns(row).json("untracked")?))).collect()
    }

    /// Executions that are not over, of all tasks or of some; without drafts of fixes, which hold nobody up.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn open(&mut self, tasks: Option<&[TaskId]>) -> Result<Vec<ExecutionRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT * FROM executions WHERE status IN ('starting', 'running', 'waiting') AND role <> 'drafter'",
        );
        narrow(&mut query, tasks)?;
        query.push(" ORDER BY seq");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// What the runs of many tasks used, summed per task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn usage(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, Usage>, StoreError> {
        // What a race's entries cost is their task's cost, too.
        let mut query = QueryBuilder::<Sqlite>::new("SELECT task_id, usage FROM executions WHERE TRUE");
        narrow(&mut query, Some(tasks))?;
        query.push(
            " UNION ALL SELECT e.parent_id, x.usage FROM tasks e JOIN executions x ON x.task_id = e.id
             WHERE e.execution_mode = 'race_entry' AND e.parent_id IN ",
        );
        push_list(&mut query, tasks)?;
        let mut sums: HashMap<TaskId, Usage> = HashMap::new();
        for row in query.build().fetch_all(&mut *self.conn).await? {
            let c = Columns(&row);
            sums.entry(c.text("task_id")?).or_default().add(&c.json("usage")?);
        }
        Ok(sums)
    }

    /// What the runs of a task have cost in micro-dollars, as far as that is known, without the run `but`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn cost_of_task(
        &mut self,
        task: &TaskId,
        but: Option<&ExecutionId>,
    ) -> Result<u64, StoreError> {
        let row = sqlx::query(
            "SELECT coalesce(sum(json_extract(usage, '$.cost_micro_usd')), 0) AS n FROM executions
             WHERE (task_id = ?1 OR task_id IN (SELECT id FROM tasks WHERE parent_id = ?1 AND execution_mode = 'race_entry'))
               AND id IS NOT ?2",
        )
        .bind(task.as_str())
        .bind(but.map(ExecutionId::as_str))
        .fetch_one(&mut *self.conn)
        .await?;
        Columns(&row).int("n")
    }

    /// How many runs were paid from the execution budget, each after its task's boundary.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn spent(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, u32>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT x.task_id, count(*) AS n FROM executions x JOIN tasks t ON t.id = x.task_id AND x.after_transition > t.budget_boundary
             WHERE x.spends = 'execution'",
        );
        query.push(" AND x.task_id IN ");
        push_list(&mut query, tasks)?;
        query.push(" GROUP BY x.task_id");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(|row| Ok((Columns(row).text("task_id")?, Columns(row).int("n")?))).collect()
    }

    /// How many executions a task has had in a role.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn count(&mut self, task: &TaskId, role: &str) -> Result<u32, StoreError> {
        let row = sqlx::query("SELECT count(*) AS n FROM executions WHERE task_id = ?1 AND role = ?2")
            .bind(task.as_str())
            .bind(role)
            .fetch_one(&mut *self.conn)
            .await?;
        Columns(&row).int("n")
    }
}

impl ExecutionsMut<'_> {
    /// Inserts an execution.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, row: &ExecutionRow) -> Result<(), StoreError> {
        let e = &row.execution;
        sqlx::query(
            "INSERT INTO executions (id, task_id, role, agent_id, attempt, status, parent_execution_id, session_id, cause, corrections,
             before_commit, usage, spends, after_transition, started_at, subtask_id, session_mode, from_session, carry, messages,
             goes_on, machine_id, effort)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)",
        )
        .bind(e.id.as_str())
        .bind(e.task_id.as_str())
        .bind(e.role.as_str())
        .bind(e.agent_id.as_str())
        .bind(e.attempt)
        .bind(e.status.as_str())
        .bind(e.parent_execution_id.as_ref().map(ExecutionId::as_str))
        .bind(&e.session_id)
        .bind(&e.cause)
        .bind(json(&row.corrections)?)
        .bind(&e.before_commit)
        .bind(json(&e.usage)?)
        .bind(row.spends.map(BudgetKind::as_str))
        .bind(row.after_transition)
        .bind(e.started_at.0)
        .bind(e.subtask_id.as_ref().map(TaskId::as_str))
        .bind(e.session_mode.as_str())
        .bind(&e.from_session)
        .bind(json_opt(row.carry.as_ref())?)
        .bind(json(&e.messages)?)
        .bind(row.goes_on)
        .bind(e.machine_id.as_ref().map(MachineId::as_str))
        .bind(&row.effort)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes what changes of an execution.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn update(&mut self, e: &Execution) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE executions SET status = ?2, session_id = ?3, activity = ?4, after_commit = ?5, usage = ?6, conflict = ?7, error = ?8,
             summary = ?9, finished_at = ?10, before_commit = ?11, models = ?12, cost_source = ?13, price_version = ?14,
             session_mode = ?15, from_session = ?16
             WHERE id = ?1",
        )
        .bind(e.id.as_str())
        .bind(e.status.as_str())
        .bind(&e.session_id)
        .bind(self.tx.text(&e.activity))
        .bind(&e.after_commit)
        .bind(json(&e.usage)?)
        .bind(self.tx.json_opt(e.conflict.as_ref())?)
        .bind(self.tx.json_opt(e.error.as_ref())?)
        .bind(self.tx.text_opt(e.summary.as_ref()))
        .bind(e.finished_at.map(|time| time.0))
        .bind(&e.before_commit)
        .bind(json(&e.models)?)
        .bind(e.cost_source.as_str())
        .bind(&e.price_version)
        .bind(e.session_mode.as_str())
        .bind(&e.from_session)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes down what the next run of an execution's conversation must know.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_carry(&mut self, id: &ExecutionId, carry: Option<&Value>) -> Result<(), StoreError> {
        sqlx::query("UPDATE executions SET carry = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(json_opt(carry)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes down the names of the variables that an execution's program does not get.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_withheld(&mut self, id: &ExecutionId, names: &[String]) -> Result<(), StoreError> {
        sqlx::query("UPDATE executions SET withheld = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(json(&names)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes down what an execution's sandbox came to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_sandbox(&mut self, id: &ExecutionId, report: &SandboxReport) -> Result<(), StoreError> {
        sqlx::query("UPDATE executions SET sandbox = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(json(report)?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes down the hash of the token that an execution was given.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_token_hash(&mut self, id: &ExecutionId, hash: &str) -> Result<(), StoreError> {
        sqlx::query("UPDATE executions SET token_hash = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(hash)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes down the untracked files that a run found which may leave no trace (paths), or that its traces are gone.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_traces(
        &mut self,
        id: &ExecutionId,
        untracked: Option<&[String]>,
    ) -> Result<(), StoreError> {
        sqlx::query("UPDATE executions SET untracked = ?2 WHERE id = ?1")
            .bind(id.as_str())
            .bind(untracked.map(json).transpose()?)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Writes what a run that goes on has used so far and what the next run of its conversation must know: both or
    /// neither, so that nothing is counted twice by whoever goes on with it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_used(&mut self, e: &Execution, carry: Option<&Value>) -> Result<(), StoreError> {
        sqlx::query(
            "UPDATE executions SET usage = ?2, models = ?3, cost_source = ?4, price_version = ?5, carry = coalesce(?6, carry)
             WHERE id = ?1 AND finished_at IS NULL",
        )
        .bind(e.id.as_str())
        .bind(json(&e.usage)?)
        .bind(json(&e.models)?)
        .bind(e.cost_source.as_str())
        .bind(&e.price_version)
        .bind(json_opt(carry)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }
}

fn narrow(query: &mut QueryBuilder<Sqlite>, tasks: Option<&[TaskId]>) -> Result<(), StoreError> {
    if let Some(tasks) = tasks {
        query.push(" AND task_id IN ");
        push_list(query, tasks)?;
    }
    Ok(())
}

fn read(row: &SqliteRow) -> Result<ExecutionRow, StoreError> {
    let c = Columns(row);
    let id: ExecutionId = c.text("id")?;
    let usage: Usage = c.json("usage")?;
    Ok(ExecutionRow {
        corrections: c.json("corrections")?,
        spends: c.name_opt("spends")?,
        after_transition: row.try_get("after_transition")?,
        carry: c.json_opt("carry")?,
        goes_on: c.flag("goes_on")?,
        effort: c.text_opt("effort")?,
        execution: Execution {
            log_id: id.0.clone(),
            id,
            task_id: c.text("task_id")?,
            subtask_id: c.text_opt("subtask_id")?,
            role: c.name("role")?,
            agent_id: c.text("agent_id")?,
            machine_id: c.text_opt("machine_id")?,
            attempt: c.int("attempt")?,
            status: c.name("status")?,
            parent_execution_id: c.text_opt("parent_execution_id")?,
            session_id: c.text_opt("session_id")?,
            cause: c.text("cause")?,
            messages: c.json("messages")?,
            activity: c.text("activity")?,
            before_commit: c.text_opt("before_commit")?,
            after_commit: c.text_opt("after_commit")?,
            session_mode: c.name("session_mode")?,
            from_session: c.text_opt("from_session")?,
            cost_micro_usd: usage.cost_micro_usd,
            cost_source: c.name_opt("cost_source")?.unwrap_or(if usage.cost_micro_usd.is_some() {
                CostSource::Reported
            } else {
                CostSource::Unknown
            }),
            price_version: c.text_opt("price_version")?,
            models: c.json("models")?,
            usage,
            conflict: c.json_opt("conflict")?,
            error: c.json_opt("error")?,
            withheld: c.json("withheld")?,
            sandbox: c.json_opt("sandbox")?,
            summary: c.text_opt("summary")?,
            started_at: c.time("started_at")?,
            finished_at: c.time_opt("finished_at")?,
        },
    })
}

#[cfg(test)]
mod tests;
