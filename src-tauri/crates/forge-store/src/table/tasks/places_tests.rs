//! The migration that gave the places of entries a column.

use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};

use crate::testing::migrated;

const THIS: i64 = 20_261_126_000_010;

/// The columns that the migration fills in anew.
const UNPACKED: &str = "('number', 'race_place', 'subtask_order')";

/// A database of before with a project whose next number is 9.
async fn before() -> SqliteConnection {
    let mut conn = migrated(None, ..THIS).await;
    execute(
        &mut conn,
        "INSERT INTO projects (id, name, repo_path, default_branch, work_mode, settings, workflow, next_task_number, created_at,
           updated_at) VALUES ('p', 'P', '/p', 'main', 'direct_commit', '{}', '{}', 9, 0, 0);
         INSERT INTO agents (id, name, adapter, config, created_at, updated_at) VALUES ('a', 'A', 'shell', '{}', 0, 0);",
    )
    .await;
    conn
}

async fn execute(conn: &mut SqliteConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(conn).await.unwrap();
}

async fn add(
    conn: &mut SqliteConnection,
    id: &str,
    stored: (i64, i64),
    parent: &str,
    mode: &str,
    order: &str,
) {
    let number = (stored.0 << 32) | stored.1;
    let sql = format!(
        "INSERT INTO tasks (id, project_id, number, title, description, status, position, status_since, created_at, updated_at,
         parent_id, execution_mode, subtask_order) VALUES ('{id}', 'p', {number}, '', '', '', 0, 0, 0, 0, {parent}, '{mode}', {order})"
    );
    execute(conn, &sql).await;
}

async fn lines(conn: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(conn).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Identity, number, place, order and parent of each task.
async fn told(conn: &mut SqliteConnection) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', id, number, coalesce(race_place, '-'), coalesce(subtask_order, '-'),
               coalesce(parent_id, '-')) FROM tasks ORDER BY rowid";
    lines(conn, sql).await
}

/// Everything about the database that the migration must leave: the other columns with their content, the definitions
/// of other tables, indices and triggers, and how many rows each table has.
async fn untouched(conn: &mut SqliteConnection) -> Vec<String> {
    let mut all = lines(
        conn,
        &format!(
            "SELECT concat_ws(' ', name, type, \"notnull\", dflt_value, pk) FROM pragma_table_info('tasks')
             WHERE name NOT IN {UNPACKED} ORDER BY name"
        ),
    )
    .await;
    let columns =
        format!("SELECT name FROM pragma_table_info('tasks') WHERE name NOT IN {UNPACKED} ORDER BY name");
    for column in lines(conn, &columns).await {
        let content = format!("SELECT '{column} ' || coalesce(quote({column}), '-') FROM tasks ORDER BY id");
        all.extend(lines(conn, &content).await);
    }
    let definitions = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
                       AND name NOT IN ('tasks', 'tasks_number', 'tasks_race_place') ORDER BY name";
    all.extend(lines(conn, definitions).await);
    for table in lines(conn, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").await {
        all.extend(lines(conn, &format!("SELECT '{table} ' || count(*) FROM {table}")).await);
    }
    all.extend(lines(conn, "SELECT name || ' ' || seq FROM sqlite_sequence ORDER BY name").await);
    all.extend(lines(conn, "SELECT \"table\" FROM pragma_foreign_key_check").await);
    all
}

#[tokio::test]
async fn packed_numbers_become_numbers_and_places_and_nothing_else_changes() {
    let mut conn = before().await;
    add(&mut conn, "t", (0, 7), "NULL", "independent", "NULL").await;
    add(&mut conn, "part", (0, 8), "'t'", "ordered_turn", "3").await;
    for place in [1, 2, 300_000] {
        let id = format!("e{place}");
        add(&mut conn, &id, (place, 7), "'t'", "race_entry", &place.to_string()).await;
    }
    add(&mut conn, "left", (4, 5), "NULL", "race_entry", "4").await;
    // Each column gets a value of its own, so that none is mistaken for another.
    let set = "SELECT 'UPDATE tasks SET ' || name || ' = ' || CASE type WHEN 'TEXT' THEN '''value ' || cid || '''' ELSE cid + 100 END
               || ' WHERE id = ''t''' FROM pragma_table_info('tasks')
               WHERE name NOT IN ('id', 'project_id', 'number', 'parent_id', 'execution_mode', 'subtask_order')";
    for sql in lines(&mut conn, set).await {
        execute(&mut conn, &sql).await;
    }
    execute(
        &mut conn,
        "INSERT INTO executions (seq, id, task_id, role, agent_id, attempt, status, cause, corrections, usage, models,
           after_transition, started_at) VALUES (41, 'x', 'e2', 'coder', 'a', 1, 'running', '', '[]', '{}', '[]', 0, 0);
         INSERT INTO task_dependencies (task_id, depends_on) VALUES ('part', 't');",
    )
    .await;
    let former = untouched(&mut conn).await;

    let mut conn = migrated(Some(conn), THIS..=THIS).await;

    assert_eq!(
        told(&mut conn).await,
        ["t 7 - - -", "part 8 - 3 t", "e1 7 1 - t", "e2 7 2 - t", "e300000 7 300000 - t", "left 5 4 - -"]
    );
    assert_eq!(untouched(&mut conn).await, former);
    execute(&mut conn, "PRAGMA foreign_keys = ON; DELETE FROM tasks WHERE id = 't'").await;
    let left = "SELECT id FROM tasks WHERE parent_id IS NULL ORDER BY id";
    let ids = ["e1", "e2", "e300000", "left", "part"];
    assert_eq!(lines(&mut conn, left).await, ids, "a reference does not lead to the new table");
    assert_eq!(lines(&mut conn, "SELECT task_id FROM task_dependencies").await, [""; 0]);
}

/// Forge writes no such rows, but a database that somebody edited must open, too.
#[tokio::test]
async fn numbers_and_places_that_were_there_twice_are_given_anew() {
    let mut conn = before().await;
    add(&mut conn, "t", (0, 7), "NULL", "independent", "NULL").await;
    add(&mut conn, "twin", (1, 7), "NULL", "independent", "NULL").await;
    add(&mut conn, "triplet", (2, 7), "NULL", "independent", "NULL").await;
    add(&mut conn, "alone", (1, 3), "NULL", "independent", "NULL").await;
    add(&mut conn, "e", (5, 7), "'t'", "race_entry", "5").await;
    for (id, stored, order) in [("f2", (1, 4), "1"), ("f3", (1, 5), "1"), ("f1", (0, 6), "NULL")] {
        add(&mut conn, id, stored, "'alone'", "race_entry", order).await;
    }
    execute(&mut conn, "INSERT INTO task_dependencies (task_id, depends_on) VALUES ('gone', 't')").await;

    let mut conn = migrated(Some(conn), THIS..=THIS).await;

    assert_eq!(
        told(&mut conn).await,
        [
            "t 7 - - -",
            "twin 9 - - -",
            "triplet 10 - - -",
            "alone 3 - - -",
            "e 7 5 - t",
            "f2 4 2 - alone",
            "f3 5 3 - alone",
            "f1 6 1 - alone"
        ]
    );
    assert_eq!(lines(&mut conn, "SELECT '' || next_task_number FROM projects").await, ["11"]);
    assert_eq!(lines(&mut conn, "SELECT task_id FROM task_dependencies").await, ["gone"]);
}
