//! `cost_samples` and `cost_anomalies`: what coder runs cost in the order in which they ended, and what was out of
//! the ordinary. Rows are written once; only whether an anomaly was exported changes.

use forge_model::cost::{CostAnomalyEntry, CostAnomalyRecord, CostPoint};
use forge_model::ids::{AgentId, ExecutionId, ProjectId, TaskId};
use forge_model::time::Timestamp;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::ledger::CostFilter;
use crate::{
    StoreError,
    row::{Columns, json},
};

handles!(costs() -> Costs, costs_mut() -> CostsMut);

/// What a coder run cost, restarts included.
#[derive(Debug, Clone, PartialEq)]
pub struct CostSample {
    /// Its last run.
    pub execution_id: ExecutionId,
    /// The project.
    pub project_id: ProjectId,
    /// The task; of a race's entry, the raced one.
    pub task_id: TaskId,
    /// The agent.
    pub agent_id: AgentId,
    /// Which entry of a race it was.
    pub strategy: Option<String>,
    /// The model that was used; empty when the program named none.
    pub model: String,
    /// The model that was asked for.
    pub asked: Option<String>,
    /// What it cost in micro-dollars; none when nobody knows.
    pub cost: Option<u64>,
    /// How many runs it took.
    pub attempts: u32,
    /// The median of the runs before it.
    pub median: Option<f64>,
    /// Above how many medians it is an anomaly.
    pub ratio: f64,
    /// Whether it is one.
    pub is_anomaly: bool,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// The runs of a model in a project.
#[derive(Debug, Clone, PartialEq)]
pub struct CostLineRow {
    /// The project.
    pub project_id: ProjectId,
    /// Its name.
    pub project_name: String,
    /// The model.
    pub model: String,
    /// Of how many runs the cost is known.
    pub known: u32,
    /// Of how many it is not.
    pub unknown: u32,
}

impl Costs<'_> {
    /// Whether a run is the last one of a sample that was written down.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn is_recorded(&mut self, run: &ExecutionId) -> Result<bool, StoreError> {
        let row = sqlx::query("SELECT 1 FROM cost_samples WHERE execution_id = ?1")
            .bind(run.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.is_some())
    }

    /// The last known costs of a model in a project, at most `window`, the latest last.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn window(
        &mut self,
        project: &ProjectId,
        model: &str,
        window: usize,
    ) -> Result<Vec<u64>, StoreError> {
        let rows = sqlx::query(
            "SELECT cost FROM cost_samples WHERE project_id = ?1 AND model = ?2 AND cost IS NOT NULL ORDER BY seq DESC LIMIT ?3",
        )
        .bind(project.as_str())
        .bind(model)
        .bind(i64::try_from(window).unwrap_or(i64::MAX))
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().rev().map(|row| Columns(row).int("cost")).collect()
    }

    /// The model that an agent used last when it was asked for `asked`, or for none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last_model(
        &mut self,
        project: &ProjectId,
        agent: &AgentId,
        asked: Option<&str>,
    ) -> Result<Option<String>, StoreError> {
        let row = sqlx::query(
            "SELECT model FROM cost_samples WHERE agent_id = ?1 AND project_id = ?2 AND asked IS ?3 AND model <> ''
             ORDER BY seq DESC LIMIT 1",
        )
        .bind(agent.as_str())
        .bind(project.as_str())
        .bind(asked)
        .fetch_optional(&mut *self.conn)
        .await?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Projects and models that have runs, the ones with the most known costs first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn lines(&mut self, filter: &CostFilter) -> Result<Vec<CostLineRow>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT s.project_id, p.name, s.model, count(s.cost) AS known, count(*) - count(s.cost) AS unknown
             FROM cost_samples s JOIN projects p ON p.id = s.project_id WHERE TRUE",
        );
        filter.narrow(&mut query, "s.project_id", "s.ended_at");
        query.push(" GROUP BY s.project_id, s.model ORDER BY known DESC, s.project_id, s.model");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok(CostLineRow {
                    project_id: c.text("project_id")?,
                    project_name: c.text("name")?,
                    model: c.text("model")?,
                    known: c.int("known")?,
                    unknown: c.int("unknown")?,
                })
            })
            .collect()
    }

    /// The runs of known cost of such a line, as they ended.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn points(
        &mut self,
        filter: &CostFilter,
        line: &CostLineRow,
    ) -> Result<Vec<CostPoint>, StoreError> {
        let of_project = CostFilter { project: Some(line.project_id.clone()), ..filter.clone() };
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT s.cost, s.median, s.ratio, s.anomaly, s.ended_at, t.number
             FROM cost_samples s JOIN tasks t ON t.id = s.task_id WHERE s.cost IS NOT NULL AND s.model = ",
        );
        query.push_bind(&line.model);
        of_project.narrow(&mut query, "s.project_id", "s.ended_at");
        query.push(" ORDER BY s.seq");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok(CostPoint {
                    at: c.time("ended_at")?,
                    cost: c.int("cost")?,
                    median: c.real_opt("median")?,
                    ratio: c.real_opt("ratio")?,
                    task_number: c.int("number")?,
                    is_anomaly: c.flag("anomaly")?,
                })
            })
            .collect()
    }

    /// Anomalies, the latest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn anomalies(
        &mut self,
        filter: &CostFilter,
        task: Option<&TaskId>,
        limit: u32,
    ) -> Result<Vec<CostAnomalyEntry>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT a.project_id, p.name, t.number, a.record
             FROM cost_anomalies a JOIN projects p ON p.id = a.project_id JOIN tasks t ON t.id = a.task_id WHERE TRUE",
        );
        filter.narrow(&mut query, "a.project_id", "a.at");
        if let Some(task) = task {
            query.push(" AND a.task_id = ").push_bind(task.as_str().to_owned());
        }
        query.push(" ORDER BY a.at DESC, a.rowid DESC LIMIT ").push_bind(limit);
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok(CostAnomalyEntry {
                    project_id: c.text("project_id")?,
                    project_name: c.text("name")?,
                    task_number: c.int("number")?,
                    record: c.json("record")?,
                })
            })
            .collect()
    }

    /// Projects with anomalies that were not exported yet.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn unexported(&mut self) -> Result<Vec<ProjectId>, StoreError> {
        let rows = sqlx::query(
            "SELECT DISTINCT project_id FROM cost_anomalies WHERE exported = 0 ORDER BY project_id",
        )
        .fetch_all(&mut *self.conn)
        .await?;
        rows.iter().map(|row| Columns(row).text("project_id")).collect()
    }

    /// All anomalies of a project in the order in which they were found, for its export.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn records(&mut self, project: &ProjectId) -> Result<Vec<CostAnomalyRecord>, StoreError> {
        let rows = sqlx::query("SELECT record FROM cost_anomalies WHERE project_id = ?1 ORDER BY at, rowid")
            .bind(project.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        rows.iter().map(|row| Columns(row).json("record")).collect()
    }
}

impl CostsMut<'_> {
    /// Writes down a sample.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert(&mut self, s: &CostSample) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO cost_samples (execution_id, project_id, task_id, agent_id, strategy, model, asked, cost, attempts, median,
             ratio, anomaly, ended_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )
        .bind(s.execution_id.as_str())
        .bind(s.project_id.as_str())
        .bind(s.task_id.as_str())
        .bind(s.agent_id.as_str())
        .bind(&s.strategy)
        .bind(&s.model)
        .bind(&s.asked)
        .bind(s.cost.map(|cost| i64::try_from(cost).unwrap_or(i64::MAX)))
        .bind(s.attempts)
        .bind(s.median)
        .bind(s.ratio)
        .bind(s.is_anomaly)
        .bind(s.ended_at.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Writes down an anomaly.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn insert_anomaly(
        &mut self,
        project: &ProjectId,
        record: &CostAnomalyRecord,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO cost_anomalies (execution_id, project_id, task_id, at, record) VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .bind(record.execution_id.as_str())
        .bind(project.as_str())
        .bind(record.task_id.as_str())
        .bind(record.at.0)
        .bind(json(record)?)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Remembers that an anomaly was exported.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_exported(&mut self, run: &ExecutionId) -> Result<(), StoreError> {
        sqlx::query("UPDATE cost_anomalies SET exported = 1 WHERE execution_id = ?1")
            .bind(run.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use forge_model::cost::CostTokens;
    use sqlx::SqliteConnection;

    use super::*;
    use crate::testing::{self, migrated};

    const THIS: i64 = 20_261_122_000_070;

    /// A project with a task, an entry of its race, and the runs that the table tells.
    async fn seeded(runs: &[(&str, &str, &str, &str, Option<u64>)]) -> SqliteConnection {
        let mut conn = migrated(None, ..THIS).await;
        sqlx::raw_sql(
            "INSERT INTO projects (id, name, repo_path, default_branch, work_mode, settings, workflow, created_at, updated_at)
             VALUES ('p', 'P', '/p', 'main', 'direct', '{}', '{}', 0, 0);
             INSERT INTO agents (id, name, adapter, config, model, created_at, updated_at) VALUES ('a', 'A', 'shell', '{}', 'asked', 0, 0);
             INSERT INTO tasks (id, project_id, number, title, description, status, position, status_since, created_at, updated_at, parent_id, execution_mode)
             VALUES ('t', 'p', 1, '', '', 'done', 0, 0, 0, 0, NULL, 'independent'),
                    ('e', 'p', 2, '', '', 'done', 0, 0, 0, 0, 't', 'race_entry');
             INSERT INTO races (id, task_id, number, status, base_commit, reviewer_enabled, max_parallel, timeout_sec, human_crown, keep_losers_days, started_at)
             VALUES ('r', 't', 1, 'promoted', 'c', 0, 1, 1, 0, 1, 0);
             INSERT INTO race_entries (race_id, name, strategy, task_id, status, gate) VALUES ('r', 'quick', '{}', 'e', 'finished', 'passed');",
        )
        .execute(&mut conn)
        .await
        .unwrap();
        for (at, (task, role, status, cause, cost)) in runs.iter().enumerate() {
            let cost = cost.map_or_else(|| "null".to_owned(), |cost| cost.to_string());
            sqlx::query(
                "INSERT INTO executions (id, task_id, role, agent_id, attempt, status, cause, corrections, usage, models,
                 after_transition, started_at, finished_at) VALUES (?1, ?2, ?3, 'a', 1, ?4, ?5, '[]', ?6, ?7, 0, 0, ?8)",
            )
            .bind(format!("x{at}"))
            .bind(task)
            .bind(role)
            .bind(status)
            .bind(cause)
            .bind(format!("{{\"cost_micro_usd\":{cost}}}"))
            .bind(format!("[{{\"model\":\"m{cost}\",\"cost_micro_usd\":{cost},\"output\":1}}]"))
            .bind(i64::try_from(at).unwrap())
            .execute(&mut conn)
            .await
            .unwrap();
        }
        migrated(Some(conn), THIS..).await
    }

    #[tokio::test]
    async fn runs_of_before_are_samples_too() {
        let again = "automatic restart";
        let mut conn = seeded(&[
            ("t", "coder", "finished", "started", Some(5)),
            ("t", "coder", "failed", "review", Some(2)),
            ("t", "reviewer", "finished", "started", Some(100)),
            ("t", "coder", "lost", again, Some(3)),
            ("t", "coder", "finished", "Forge was restarted", Some(4)),
            ("t", "coder", "cancelled", "your message", Some(9)),
            ("e", "coder", "finished", "started", None),
            ("t", "coder", "failed", "your message", Some(7)),
            ("t", "coder", "running", again, Some(1)),
        ])
        .await;
        let rows = sqlx::query(
            "SELECT execution_id || ' ' || task_id || ' ' || coalesce(strategy, '-') || ' ' || model || ' ' || asked
               || ' ' || coalesce(cost, '?') || ' ' || attempts FROM cost_samples ORDER BY seq",
        )
        .fetch_all(&mut conn)
        .await
        .unwrap();
        let rows: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(rows, ["x0 t - m5 asked 5 1", "x4 t - m4 asked 9 3", "x6 t quick mnull asked ? 1"]);
    }

    #[tokio::test]
    async fn a_line_has_the_runs_of_one_model() {
        let mut conn = seeded(&[
            ("t", "coder", "finished", "started", Some(5)),
            ("t", "coder", "finished", "your message", Some(4)),
            ("t", "coder", "finished", "your message", Some(4)),
            ("t", "coder", "failed", "your message", None),
            ("t", "reviewer", "finished", "started", Some(9)),
        ])
        .await;
        let all = CostFilter::default();
        let lines = Costs { conn: &mut conn }.lines(&all).await.unwrap();
        let told: Vec<_> = lines.iter().map(|line| (line.model.as_str(), line.known, line.unknown)).collect();
        assert_eq!(told, [("m4", 2, 0), ("m5", 1, 0), ("mnull", 0, 1)]);
        let points = Costs { conn: &mut conn }.points(&all, &lines[0]).await.unwrap();
        let told: Vec<_> = points.iter().map(|point| (point.at.0, point.cost, point.task_number)).collect();
        assert_eq!(told, [(1, 4, 1), (2, 4, 1)]);
    }
    fn sample(run: &str, model: &str, cost: Option<u64>) -> CostSample {
        CostSample {
            execution_id: run.into(),
            project_id: "p".into(),
            task_id: "t".into(),
            agent_id: "a".into(),
            strategy: None,
            model: model.to_owned(),
            asked: Some("asked".to_owned()),
            cost,
            attempts: 1,
            median: None,
            ratio: 3.0,
            is_anomaly: false,
            ended_at: Timestamp(1),
        }
    }

    fn anomaly(run: &str, at: i64) -> CostAnomalyRecord {
        CostAnomalyRecord {
            at: Timestamp(at),
            task_id: "t".into(),
            execution_id: run.into(),
            title: "Task t".to_owned(),
            strategy: None,
            model: "m".to_owned(),
            cost_micro_usd: 90,
            median_micro_usd: 10.5,
            ratio: 8.6,
            threshold: 3.0,
            samples: 5,
            tokens: CostTokens::default(),
            attempts: 1,
        }
    }

    /// A transaction in which some runs of task `t` are known.
    async fn with_runs(ids: &[&str]) -> crate::Tx {
        let mut tx = testing::seeded().await;
        for id in ids {
            tx.executions_mut().insert(&testing::run(id, "t")).await.unwrap();
        }
        tx
    }

    #[tokio::test]
    async fn window_holds_the_last_known_costs_of_one_model() {
        let mut tx = with_runs(&["1", "2", "3", "4", "5"]).await;
        for (run, model, cost) in [
            ("1", "m", Some(1)),
            ("2", "m", Some(2)),
            ("3", "m", None),
            ("4", "n", Some(4)),
            ("5", "m", Some(5)),
        ] {
            tx.costs_mut().insert(&sample(run, model, cost)).await.unwrap();
        }
        assert_eq!(tx.costs().window(&"p".into(), "m", 2).await.unwrap(), [2, 5]);
        assert_eq!(tx.costs().window(&"p".into(), "m", 9).await.unwrap(), [1, 2, 5]);
        assert_eq!(tx.costs().window(&"q".into(), "m", 9).await.unwrap(), [0; 0]);
        assert!(tx.costs().is_recorded(&"3".into()).await.unwrap());
        assert!(!tx.costs().is_recorded(&"6".into()).await.unwrap());
    }

    #[tokio::test]
    async fn model_that_was_used_last_is_of_the_same_agent_and_wish() {
        let mut tx = with_runs(&["1", "2", "3", "4"]).await;
        let unasked = CostSample { asked: None, ..sample("2", "default", None) };
        for row in [sample("1", "old", None), unasked, sample("3", "new", None), sample("4", "", None)] {
            tx.costs_mut().insert(&row).await.unwrap();
        }
        let (p, a) = ("p".into(), "a".into());
        let last = tx.costs().last_model(&p, &a, Some("asked")).await.unwrap();
        assert_eq!(last.as_deref(), Some("new"), "a run that named no model counts");
        let last = tx.costs().last_model(&p, &a, None).await.unwrap();
        assert_eq!(last.as_deref(), Some("default"));
        assert_eq!(tx.costs().last_model(&p, &"b".into(), None).await.unwrap(), None);
    }

    #[tokio::test]
    async fn anomalies_are_listed_latest_first_and_exported_once() {
        let mut tx = with_runs(&["1", "2"]).await;
        for (run, at) in [("1", 1), ("2", 2)] {
            tx.costs_mut().insert_anomaly(&"p".into(), &anomaly(run, at)).await.unwrap();
        }
        let all = CostFilter::default();
        let latest = CostAnomalyEntry {
            project_id: "p".into(),
            project_name: "P".to_owned(),
            task_number: 1,
            record: anomaly("2", 2),
        };
        assert_eq!(tx.costs().anomalies(&all, None, 1).await.unwrap(), [latest]);
        assert_eq!(tx.costs().anomalies(&all, Some(&"t".into()), 9).await.unwrap().len(), 2);
        assert_eq!(tx.costs().anomalies(&all, Some(&"u".into()), 9).await.unwrap(), []);
        let early = CostFilter { until: Some(Timestamp(2)), ..all };
        assert_eq!(tx.costs().anomalies(&early, None, 9).await.unwrap().len(), 1);
        assert_eq!(tx.costs().records(&"p".into()).await.unwrap(), [anomaly("1", 1), anomaly("2", 2)]);
        tx.costs_mut().set_exported(&"1".into()).await.unwrap();
        assert_eq!(tx.costs().unexported().await.unwrap(), ["p".into()]);
        tx.costs_mut().set_exported(&"2".into()).await.unwrap();
        assert_eq!(tx.costs().unexported().await.unwrap(), []);
    }
}
