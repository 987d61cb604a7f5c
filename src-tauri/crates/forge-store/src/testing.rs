//! What tests of tables share: a database in memory, made by the real migrations, and rows to begin with.

use std::ops::RangeBounds;
use std::path::PathBuf;
use std::sync::Arc;

use forge_model::agent::{AdapterKind, Agent};
use forge_model::execution::{Execution, ExecutionRole};
use forge_model::ids::TaskId;
use forge_model::inner_loop::Strategy;
use forge_model::project::{Project, WorkMode};
use forge_model::race::{Race, RaceEntry, RaceStatus};
use forge_model::redact::Redactor;
use forge_model::review::{Review, ReviewStatus};
use forge_model::task::ExecutionMode;
use forge_model::time::Timestamp;
use forge_model::workspace::{Workspace, WorkspaceStatus};
use serde_json::json;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use tokio::sync::watch;

use crate::table::{executions::ExecutionRow, projects::ProjectRow, tasks::TaskRow};
use crate::{Seam, Store, Tx, migrations::MIGRATIONS};

/// Runs the migrations of these versions, in a new database if none is given. Foreign keys are off, as while a store is
/// opened.
pub(crate) async fn migrated(
    conn: Option<SqliteConnection>,
    versions: impl RangeBounds<i64>,
) -> SqliteConnection {
    let mut conn = match conn {
        Some(conn) => conn,
        None => {
            let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
            SqliteConnection::connect_with(&options).await.unwrap()
        }
    };
    for migration in MIGRATIONS.iter().filter(|migration| versions.contains(&migration.version)) {
        sqlx::raw_sql(migration.sql.clone()).execute(&mut conn).await.unwrap();
    }
    conn
}

/// A transaction in an empty database.
pub(crate) async fn empty() -> Tx {
    store().await.write().await.unwrap()
}

async fn store() -> Store {
    let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(false);
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    MIGRATIONS.run(&pool).await.unwrap();
    sqlx::query("PRAGMA foreign_keys = ON").execute(&pool).await.unwrap();
    Store {
        path: PathBuf::new(),
        writer: pool.clone(),
        reader: pool,
        announced: watch::Sender::new(0),
        damage: Arc::default(),
        seam: Seam::default(),
        redactor: Arc::default(),
    }
}

/// A transaction in a database with the projects `p` and `q`, the agents `a` and `b`, and the task `t` of `p`.
pub(crate) async fn seeded() -> Tx {
    seeded_with(Redactor::none()).await
}

/// The same, where secrets are taken out of what others wrote.
pub(crate) async fn seeded_with(redactor: Redactor) -> Tx {
    let store = store().await;
    store.redact_by(Arc::new(redactor));
    let mut tx = store.write().await.unwrap();
    for id in ["p", "q"] {
        tx.projects_mut().insert(&project(id)).await.unwrap();
    }
    for id in ["a", "b"] {
        tx.agents_mut().put(&agent(id)).await.unwrap();
    }
    tx.tasks_mut().insert(&task("t", 1)).await.unwrap();
    tx
}

pub(crate) fn project(id: &str) -> ProjectRow {
    ProjectRow {
        project: Project {
            id: id.into(),
            name: id.to_uppercase(),
            repo_path: format!("/{id}"),
            default_branch: "main".to_owned(),
            work_mode: WorkMode::DirectCommit,
            paused: false,
            version: 1,
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        },
        settings: json!({}),
        workflow: "{}".to_owned(),
        workflow_origin: None,
        repository_config: None,
    }
}

pub(crate) fn agent(id: &str) -> Agent {
    Agent {
        id: id.into(),
        name: id.to_uppercase(),
        adapter: AdapterKind::Shell,
        config: json!({}),
        model: None,
        max_concurrent: 1,
        paused: false,
        running: 0,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
    }
}

/// A task of project `p` in the state `todo`.
pub(crate) fn task(id: &str, number: u32) -> TaskRow {
    let title = format!("Task {id}");
    TaskRow {
        position: f64::from(number) * 1024.0,
        ..TaskRow::new(TaskId::from(id), "p".into(), number, title, "todo".to_owned(), Timestamp(0))
    }
}

/// An entry of a race of task `t`.
pub(crate) fn entry(id: &str, place: u32) -> TaskRow {
    TaskRow {
        race_place: Some(place),
        parent_id: Some("t".into()),
        execution_mode: ExecutionMode::RaceEntry,
        ..task(id, 1)
    }
}

/// A workspace of a task, in use.
pub(crate) fn record(id: &str, task: &str, created_at: i64) -> Workspace {
    Workspace {
        id: id.into(),
        task_id: task.into(),
        machine_id: None,
        status: WorkspaceStatus::Active,
        path: format!("/w/{id}"),
        branch: format!("forge/{id}"),
        base_commit: "c".to_owned(),
        cleanup_at: None,
        disk_bytes: None,
        error: None,
        lock: None,
        port_base: 4000,
        created_at: Timestamp(created_at),
        updated_at: Timestamp(created_at),
    }
}

/// A run of agent `a`.
pub(crate) fn run(id: &str, task: &str) -> ExecutionRow {
    let execution = Execution::begun(id.into(), task.into(), "a".into(), ExecutionRole::Coder, Timestamp(1));
    ExecutionRow {
        execution,
        corrections: Vec::new(),
        spends: None,
        after_transition: 0,
        carry: None,
        goes_on: false,
        effort: None,
    }
}

/// A review of task `t` that goes on.
pub(crate) fn review(id: &str, attempt_number: u32) -> Review {
    Review {
        id: id.into(),
        task_id: "t".into(),
        attempt_number,
        state: "review".to_owned(),
        status: ReviewStatus::Running,
        verdict: None,
        steps: Vec::new(),
        audits: Vec::new(),
        report: None,
        score: None,
        findings: Vec::new(),
        work_execution_id: None,
        note: None,
        reason: None,
        decided_by: None,
        measures: None,
        base_commit: None,
        reviewed_commit: None,
        started_at: Timestamp(i64::from(attempt_number)),
        finished_at: None,
    }
}

/// A race of task `t` that goes on.
pub(crate) fn race(id: &str, number: u32, entries: Vec<RaceEntry>) -> Race {
    Race {
        id: id.into(),
        task_id: "t".into(),
        number,
        status: RaceStatus::Running,
        base_commit: "c".to_owned(),
        reviewer_enabled: true,
        max_parallel: 2,
        timeout_sec: 60,
        human_crown: false,
        name_decides: false,
        keep_losers_days: 1,
        entries,
        elected: None,
        decided_by: None,
        trail: Vec::new(),
        winner: None,
        crowned_by: None,
        error: None,
        started_at: Timestamp(1),
        finished_at: None,
        losers_until: None,
    }
}

/// An entry of a race, before it has begun.
pub(crate) fn raced_by(name: &str, task: &str) -> RaceEntry {
    let strategy = Strategy {
        name: name.to_owned(),
        agent_id: "a".into(),
        model: Some("m".to_owned()),
        effort: None,
        prompt_suffix: None,
    };
    RaceEntry::queued(strategy, task.into())
}

/// How many rows a table has.
pub(crate) async fn count(tx: &mut Tx, table: &str) -> u32 {
    let sql = AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(tx.sqlite()).await.unwrap()
}

/// Whether the database refused because a row would break a constraint of this kind.
pub(crate) fn is_refused<T>(result: Result<T, crate::StoreError>, constraint: &str) -> bool {
    matches!(result, Err(crate::StoreError::Database(error)) if error.to_string().contains(constraint))
}
