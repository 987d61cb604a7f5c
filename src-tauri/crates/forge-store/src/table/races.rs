//! `races` and `race_entries`.

use std::collections::HashMap;

use forge_model::election::ElectionRule;
use forge_model::ids::{ProjectId, RaceId, TaskId};
use forge_model::race::{Race, RaceBadge, RaceEntry, RaceStatus};
use forge_model::task::DiffStat;
use forge_model::time::Timestamp;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, json_opt, push_list},
};

handles!(races() -> Races, races_mut() -> RacesMut);

impl Races<'_> {
    /// All races of a task, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn list(&mut self, task: &TaskId) -> Result<Vec<Race>, StoreError> {
        let rows = sqlx::query("SELECT * FROM races WHERE task_id = ?1 ORDER BY number")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        with_entries(&mut *self.conn, &rows).await
    }

    /// The latest race of a task.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn last(&mut self, task: &TaskId) -> Result<Option<Race>, StoreError> {
        let rows = sqlx::query("SELECT * FROM races WHERE task_id = ?1 ORDER BY number DESC LIMIT 1")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        Ok(with_entries(&mut *self.conn, &rows).await?.pop())
    }

    /// The latest race of each of some tasks, as their cards show it.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn badges(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, RaceBadge>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT r.task_id, max(r.number) AS number, r.status, r.winner, count(e.name) AS entries,
             count(e.name) FILTER (WHERE e.status NOT IN ('queued', 'running')) AS over
             FROM races r LEFT JOIN race_entries e ON e.race_id = r.id
             WHERE r.number = (SELECT max(number) FROM races WHERE task_id = r.task_id) AND r.task_id IN ",
        );
        push_list(&mut query, tasks)?;
        query.push(" GROUP BY r.task_id");
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                let badge = RaceBadge {
                    number: c.int("number")?,
                    status: c.name("status")?,
                    entries: c.int("entries")?,
                    over: c.int("over")?,
                    winner: c.text_opt("winner")?,
                };
                Ok((c.text("task_id")?, badge))
            })
            .collect()
    }

    /// The latest races of a project's tasks, the latest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn of_project(&mut self, project: &ProjectId, limit: u32) -> Result<Vec<Race>, StoreError> {
        let rows = sqlx::query(
            "SELECT races.* FROM races JOIN tasks ON tasks.id = races.task_id WHERE tasks.project_id = ?1
             ORDER BY coalesce(races.finished_at, races.started_at) DESC LIMIT ?2",
        )
        .bind(project.as_str())
        .bind(limit)
        .fetch_all(&mut *self.conn)
        .await?;
        with_entries(&mut *self.conn, &rows).await
    }

    /// How many races of a project are not over: entries run, or a winner waits for its crown or its place.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn open_in(&mut self, project: &ProjectId) -> Result<u32, StoreError> {
        let row = sqlx::query(
            "SELECT count(*) AS n FROM races JOIN tasks ON tasks.id = races.task_id
             WHERE tasks.project_id = ?1 AND races.status IN ('running', 'awaiting_crown', 'decided')",
        )
        .bind(project.as_str())
        .fetch_one(&mut *self.conn)
        .await?;
        Columns(&row).int("n")
    }

    /// The race that a task is an entry of.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn of_entry(&mut self, entry: &TaskId) -> Result<Option<Race>, StoreError> {
        let rows = sqlx::query(
            "SELECT races.* FROM races JOIN race_entries ON race_entries.race_id = races.id WHERE race_entries.task_id = ?1",
        )
        .bind(entry.as_str())
        .fetch_all(&mut *self.conn)
        .await?;
        Ok(with_entries(&mut *self.conn, &rows).await?.pop())
    }

    /// Races of a task of which worktrees may be left, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn uncleared(&mut self, task: &TaskId) -> Result<Vec<Race>, StoreError> {
        let rows = sqlx::query("SELECT * FROM races WHERE task_id = ?1 AND cleared = 0 ORDER BY number")
            .bind(task.as_str())
            .fetch_all(&mut *self.conn)
            .await?;
        with_entries(&mut *self.conn, &rows).await
    }

    /// Races whose losers are kept for a while, the first to go first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn kept(&mut self) -> Result<Vec<Race>, StoreError> {
        let rows = sqlx::query("SELECT * FROM races WHERE losers_until IS NOT NULL ORDER BY losers_until")
            .fetch_all(&mut *self.conn)
            .await?;
        with_entries(&mut *self.conn, &rows).await
    }

    /// Whether a task is being raced.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn is_open(&mut self, task: &TaskId) -> Result<bool, StoreError> {
        let open = self.last(task).await?;
        Ok(open.is_some_and(|race| matches!(race.status, RaceStatus::Running | RaceStatus::AwaitingCrown)))
    }

    /// When the losers of some race go next.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn next_to_go(&mut self) -> Result<Option<Timestamp>, StoreError> {
        let row = sqlx::query("SELECT min(losers_until) AS next FROM races WHERE losers_until IS NOT NULL")
            .fetch_one(&mut *self.conn)
            .await?;
        Columns(&row).time_opt("next")
    }
}

impl RacesMut<'_> {
    /// Inserts or rewrites a race with its entries.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, race: &Race) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO races (id, task_id, number, status, base_commit, reviewer_enabled, max_parallel, timeout_sec, human_crown,
             keep_losers_days, election, winner, crowned_by, error, started_at, finished_at, losers_until, name_decides)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (id) DO UPDATE SET status = ?4, election = ?11, winner = ?12, crowned_by = ?13, error = ?14,
             finished_at = ?16, losers_until = ?17",
        )
        .bind(race.id.as_str())
        .bind(race.task_id.as_str())
        .bind(race.number)
        .bind(race.status.as_str())
        .bind(&race.base_commit)
        .bind(race.reviewer_enabled)
        .bind(race.max_parallel)
        .bind(race.timeout_sec)
        .bind(race.human_crown)
        .bind(race.keep_losers_days)
        .bind(json_opt(race.election().as_ref())?)
        .bind(&race.winner)
        .bind(json_opt(race.crowned_by.as_ref())?)
        .bind(self.tx.text_opt(race.error.as_ref()))
        .bind(race.started_at.0)
        .bind(race.finished_at.map(|at| at.0))
        .bind(race.losers_until.map(|at| at.0))
        .bind(race.name_decides)
        .execute(self.tx.sqlite())
        .await?;
        for entry in &race.entries {
            self.put_entry(&race.id, entry).await?;
        }
        Ok(())
    }

    /// Inserts or rewrites an entry.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put_entry(&mut self, race: &RaceId, e: &RaceEntry) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO race_entries (race_id, name, strategy, task_id, status, reason, gate, reviewer_score, cost_micro_usd, duration_ms,
             diff_files, diff_added, diff_removed, commit_id, branch, started_at, finished_at, checks)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (race_id, name) DO UPDATE SET status = ?5, reason = ?6, gate = ?7, reviewer_score = ?8, cost_micro_usd = ?9,
             duration_ms = ?10, diff_files = ?11, diff_added = ?12, diff_removed = ?13, commit_id = ?14, branch = ?15,
             started_at = ?16, finished_at = ?17, checks = ?18",
        )
        .bind(race.as_str())
        .bind(&e.strategy)
        .bind(json(&e.how())?)
        .bind(e.task_id.as_str())
        .bind(e.status.as_str())
        .bind(self.tx.text_opt(e.reason.as_ref()))
        .bind(e.gate.as_str())
        .bind(e.score)
        .bind(e.cost_micro_usd.map(|cost| i64::try_from(cost).unwrap_or(i64::MAX)))
        .bind(e.duration_ms)
        .bind(e.diff_stat.map(|stat| stat.files))
        .bind(e.diff_stat.map(|stat| stat.added))
        .bind(e.diff_stat.map(|stat| stat.removed))
        .bind(&e.commit)
        .bind(&e.branch)
        .bind(e.started_at.map(|at| at.0))
        .bind(e.finished_at.map(|at| at.0))
        .bind(e.checks)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Notes that no worktree of a race is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_cleared(&mut self, race: &RaceId) -> Result<(), StoreError> {
        sqlx::query("UPDATE races SET cleared = 1 WHERE id = ?1")
            .bind(race.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

async fn with_entries(conn: &mut SqliteConnection, rows: &[SqliteRow]) -> Result<Vec<Race>, StoreError> {
    let mut races = Vec::with_capacity(rows.len());
    for row in rows {
        let mut race = read(row)?;
        let entries = sqlx::query("SELECT * FROM race_entries WHERE race_id = ?1 ORDER BY name")
            .bind(race.id.as_str())
            .fetch_all(&mut *conn)
            .await?;
        race.entries = entries.iter().map(read_entry).collect::<Result<_, _>>()?;
        races.push(race);
    }
    Ok(races)
}

fn read(row: &SqliteRow) -> Result<Race, StoreError> {
    let c = Columns(row);
    let mut race = Race {
        id: c.text("id")?,
        task_id: c.text("task_id")?,
        number: c.int("number")?,
        status: c.name("status")?,
        base_commit: c.text("base_commit")?,
        reviewer_enabled: c.flag("reviewer_enabled")?,
        max_parallel: c.int("max_parallel")?,
        timeout_sec: c.int("timeout_sec")?,
        human_crown: c.flag("human_crown")?,
        name_decides: c.flag("name_decides")?,
        keep_losers_days: c.int("keep_losers_days")?,
        entries: Vec::new(),
        elected: None,
        decided_by: None,
        trail: Vec::new(),
        winner: c.text_opt("winner")?,
        crowned_by: c.json_opt("crowned_by")?,
        error: c.text_opt("error")?,
        started_at: c.time("started_at")?,
        finished_at: c.time_opt("finished_at")?,
        losers_until: c.time_opt("losers_until")?,
    };
    if let Some(election) = c.json_opt("election")? {
        race.keep_election(election);
    }
    if race.crowned_by.is_some() {
        race.decided_by = Some(ElectionRule::Person);
    }
    Ok(race)
}

fn read_entry(row: &SqliteRow) -> Result<RaceEntry, StoreError> {
    let c = Columns(row);
    let diff_stat = match (c.int_opt("diff_files")?, c.int_opt("diff_added")?, c.int_opt("diff_removed")?) {
        (Some(files), Some(added), Some(removed)) => Some(DiffStat { files, added, removed }),
        _ => None,
    };
    Ok(RaceEntry {
        status: c.name("status")?,
        reason: c.text_opt("reason")?,
        gate: c.name("gate")?,
        checks: c.int_opt("checks")?,
        score: c.real_opt("reviewer_score")?,
        cost_micro_usd: c.int_opt("cost_micro_usd")?,
        duration_ms: c.int_opt("duration_ms")?,
        diff_stat,
        commit: c.text_opt("commit_id")?,
        branch: c.text_opt("branch")?,
        started_at: c.time_opt("started_at")?,
        finished_at: c.time_opt("finished_at")?,
        ..RaceEntry::queued(c.json("strategy")?, c.text("task_id")?)
    })
}

#[cfg(test)]
mod tests {
    use forge_model::race::RaceEntryStatus;

    use super::*;
    use crate::testing::{count, entry, race, raced_by, seeded};

    /// Two races of a task: the first is over, the second has an entry more.
    async fn two_races() -> (crate::Tx, Race, Race) {
        let mut tx = seeded().await;
        for (id, place) in [("e1", 1), ("e2", 2), ("e3", 3)] {
            tx.tasks_mut().insert(&entry(id, place)).await.unwrap();
        }
        let mut first = race("r1", 1, vec![raced_by("quick", "e1")]);
        tx.races_mut().put(&first).await.unwrap();
        first.status = RaceStatus::NoWinner;
        first.finished_at = Some(Timestamp(5));
        first.losers_until = Some(Timestamp(30));
        tx.races_mut().put(&first).await.unwrap();
        let second = race("r2", 2, vec![raced_by("careful", "e2"), raced_by("quick", "e3")]);
        tx.races_mut().put(&second).await.unwrap();
        (tx, first, second)
    }

    #[tokio::test]
    async fn race_is_read_back_with_its_entries() {
        let (mut tx, first, mut second) = two_races().await;
        assert_eq!(tx.races().list(&"t".into()).await.unwrap(), [first.clone(), second.clone()]);
        assert_eq!(tx.races().of_entry(&"e1".into()).await.unwrap().as_ref(), Some(&first));
        assert_eq!(tx.races().of_entry(&"t".into()).await.unwrap(), None);
        second.entries[1].status = RaceEntryStatus::Finished;
        second.entries[1].score = Some(7.5);
        tx.races_mut().put_entry(&second.id, &second.entries[1]).await.unwrap();
        assert_eq!(tx.races().last(&"t".into()).await.unwrap(), Some(second));
    }

    #[tokio::test]
    async fn open_race_is_counted_and_losers_go_in_time() {
        let (mut tx, first, mut second) = two_races().await;
        assert!(tx.races().is_open(&"t".into()).await.unwrap());
        assert_eq!(tx.races().open_in(&"p".into()).await.unwrap(), 1);
        assert_eq!(tx.races().open_in(&"q".into()).await.unwrap(), 0);
        assert_eq!(tx.races().next_to_go().await.unwrap(), Some(Timestamp(30)));
        second.status = RaceStatus::NoWinner;
        second.losers_until = Some(Timestamp(20));
        tx.races_mut().put(&second).await.unwrap();
        assert!(!tx.races().is_open(&"t".into()).await.unwrap());
        assert_eq!(tx.races().next_to_go().await.unwrap(), Some(Timestamp(20)));
        assert_eq!(tx.races().kept().await.unwrap(), [second.clone(), first.clone()]);
        tx.races_mut().set_cleared(&first.id).await.unwrap();
        assert_eq!(tx.races().uncleared(&"t".into()).await.unwrap(), [second]);
    }

    #[tokio::test]
    async fn badge_is_of_the_last_race() {
        let (mut tx, ..) = two_races().await;
        let badges = tx.races().badges(&["t".into(), "e1".into()]).await.unwrap();
        assert_eq!(badges.len(), 1);
        assert_eq!(badges[&TaskId::from("t")].status, RaceStatus::Running);
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "race_entries").await, 0);
    }
}
