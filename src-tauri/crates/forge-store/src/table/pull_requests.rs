//! `pull_requests`: a task's pull request at the code host, as it was asked for and as the host said last.

use std::collections::HashMap;

use forge_model::ids::{TaskId, TransitionId};
use forge_model::pull_request::{HostConfig, PullRequest, PullRequestLink};
use forge_model::time::Timestamp;
use sqlx::{QueryBuilder, Sqlite, sqlite::SqliteRow};

use crate::{
    StoreError,
    row::{Columns, json, push_list},
};

handles!(pull_requests() -> PullRequests, pull_requests_mut() -> PullRequestsMut);

/// A pull request as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct PullRequestRow {
    /// The task.
    pub task_id: TaskId,
    /// Where it is.
    pub host: HostConfig,
    /// The branch at the remote.
    pub head: String,
    /// The branch that it goes into.
    pub base: String,
    /// The commit that is about to be pushed, or was.
    pub intended_commit: Option<String>,
    /// The commit that was pushed last.
    pub pushed_commit: Option<String>,
    /// The move whose work its title and body tell of; none, too, when it was closed meanwhile and nobody has
    /// decided what follows.
    pub told_by: Option<TransitionId>,
    /// What the host said last; `None` while it is being made.
    pub pull_request: Option<PullRequest>,
    /// Pull requests up to this number belong to earlier work of the task.
    pub over: Option<u32>,
    /// Ids of comments that the agent was told.
    pub told: Vec<String>,
    /// When the host last answered.
    pub checked_at: Option<Timestamp>,
    /// When a look last found something new.
    pub changed_at: Option<Timestamp>,
    /// When it is asked again; `None` when it is not.
    pub next_check_at: Option<Timestamp>,
    /// Looks in a row that failed.
    pub failures: u32,
    /// Why the last poll failed.
    pub trouble: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
    /// When it was first asked for.
    pub created_at: Timestamp,
}

impl PullRequests<'_> {
    /// A task's pull request.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn get(&mut self, task: &TaskId) -> Result<Option<PullRequestRow>, StoreError> {
        let row = sqlx::query("SELECT * FROM pull_requests WHERE task_id = ?1")
            .bind(task.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.as_ref().map(read).transpose()
    }

    /// Number, address and state of those pull requests of some tasks that exist.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn links(&mut self, tasks: &[TaskId]) -> Result<HashMap<TaskId, PullRequestLink>, StoreError> {
        let mut query = QueryBuilder::<Sqlite>::new(
            "SELECT task_id, json_object('number', pull_request ->> 'number', 'url', pull_request ->> 'url',
             'state', pull_request ->> 'state') AS link FROM pull_requests WHERE pull_request IS NOT NULL AND task_id IN ",
        );
        push_list(&mut query, tasks)?;
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter()
            .map(|row| {
                let c = Columns(row);
                Ok((c.text("task_id")?, c.json("link")?))
            })
            .collect()
    }

    /// Those that the host is to be asked about, the next one first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn watched(&mut self) -> Result<Vec<PullRequestRow>, StoreError> {
        let rows =
            sqlx::query("SELECT * FROM pull_requests WHERE next_check_at IS NOT NULL ORDER BY next_check_at")
                .fetch_all(&mut *self.conn)
                .await?;
        rows.iter().map(read).collect()
    }
}

impl PullRequestsMut<'_> {
    /// Inserts or rewrites a task's pull request.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn put(&mut self, p: &PullRequestRow, now: Timestamp) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO pull_requests (task_id, host, head, base, intended_commit, pushed_commit, told_by, pull_request, over, told,
             checked_at, changed_at, next_check_at, failures, trouble, remedy, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
             ON CONFLICT (task_id) DO UPDATE SET host = ?2, head = ?3, base = ?4, intended_commit = ?5, pushed_commit = ?6,
             told_by = ?7, pull_request = ?8, over = ?9, told = ?10, checked_at = ?11, changed_at = ?12, next_check_at = ?13,
             failures = ?14, trouble = ?15, remedy = ?16, created_at = ?17, updated_at = ?18",
        )
        .bind(p.task_id.as_str())
        .bind(json(&p.host)?)
        .bind(&p.head)
        .bind(&p.base)
        .bind(&p.intended_commit)
        .bind(&p.pushed_commit)
        .bind(p.told_by.as_ref().map(TransitionId::as_str))
        .bind(p.pull_request.as_ref().map(json).transpose()?)
        .bind(p.over)
        .bind(json(&p.told)?)
        .bind(p.checked_at.map(|time| time.0))
        .bind(p.changed_at.map(|time| time.0))
        .bind(p.next_check_at.map(|time| time.0))
        .bind(p.failures)
        .bind(self.tx.text_opt(p.trouble.as_ref()))
        .bind(self.tx.text_opt(p.remedy.as_ref()))
        .bind(p.created_at.0)
        .bind(now.0)
        .execute(self.tx.sqlite())
        .await?;
        Ok(())
    }

    /// Has the host asked at `at`, whenever it would have been otherwise.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn set_due(&mut self, task: &TaskId, at: Timestamp) -> Result<(), StoreError> {
        sqlx::query("UPDATE pull_requests SET next_check_at = ?2 WHERE task_id = ?1")
            .bind(task.as_str())
            .bind(at.0)
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }

    /// Asks the host about it no more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn stop_watching(&mut self, task: &TaskId) -> Result<(), StoreError> {
        sqlx::query("UPDATE pull_requests SET next_check_at = NULL WHERE task_id = ?1")
            .bind(task.as_str())
            .execute(self.tx.sqlite())
            .await?;
        Ok(())
    }
}

fn read(row: &SqliteRow) -> Result<PullRequestRow, StoreError> {
    let c = Columns(row);
    Ok(PullRequestRow {
        task_id: c.text("task_id")?,
        host: c.json("host")?,
        head: c.text("head")?,
        base: c.text("base")?,
        intended_commit: c.text_opt("intended_commit")?,
        pushed_commit: c.text_opt("pushed_commit")?,
        told_by: c.text_opt("told_by")?,
        pull_request: c.json_opt("pull_request")?,
        over: c.int_opt("over")?,
        told: c.json("told")?,
        checked_at: c.time_opt("checked_at")?,
        changed_at: c.time_opt("changed_at")?,
        next_check_at: c.time_opt("next_check_at")?,
        failures: c.int("failures")?,
        trouble: c.text_opt("trouble")?,
        remedy: c.text_opt("remedy")?,
        created_at: c.time("created_at")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::pull_request::{HostKind, Mergeable, PullRequestState};

    use super::*;
    use crate::testing::{count, seeded, task};

    fn asked_for(task: &str) -> PullRequestRow {
        PullRequestRow {
            task_id: task.into(),
            host: HostConfig {
                kind: HostKind::Gitea,
                base_url: Some("https://host".to_owned()),
                owner: "o".to_owned(),
                repo: "r".to_owned(),
                remote: "origin".to_owned(),
            },
            head: "forge/t".to_owned(),
            base: "main".to_owned(),
            intended_commit: Some("c".to_owned()),
            pushed_commit: None,
            told_by: None,
            pull_request: None,
            over: None,
            told: Vec::new(),
            checked_at: None,
            changed_at: None,
            next_check_at: None,
            failures: 0,
            trouble: None,
            remedy: None,
            created_at: Timestamp(1),
        }
    }

    fn open(number: u32) -> PullRequest {
        PullRequest {
            number,
            url: format!("https://host/{number}"),
            title: "Title".to_owned(),
            state: PullRequestState::Open,
            draft: false,
            head: "forge/t".to_owned(),
            base: "main".to_owned(),
            head_commit: "c".to_owned(),
            merge_commit: None,
            mergeable: Mergeable::Yes,
            checks: Vec::new(),
            comments: Vec::new(),
            unread: Vec::new(),
            updated_at: Timestamp(2),
        }
    }

    async fn put(tx: &mut crate::Tx, row: &PullRequestRow) {
        tx.pull_requests_mut().put(row, Timestamp(5)).await.unwrap();
    }

    #[tokio::test]
    async fn pull_request_of_a_task_is_rewritten_as_a_whole() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        let (first, other) = (asked_for("t"), asked_for("u"));
        put(&mut tx, &first).await;
        put(&mut tx, &other).await;
        let rewritten = PullRequestRow {
            base: "release".to_owned(),
            intended_commit: None,
            pushed_commit: Some("c".to_owned()),
            told_by: Some("move".into()),
            pull_request: Some(open(7)),
            over: Some(6),
            told: vec!["1".to_owned()],
            checked_at: Some(Timestamp(3)),
            changed_at: Some(Timestamp(2)),
            next_check_at: Some(Timestamp(9)),
            failures: 2,
            trouble: Some("No answer".to_owned()),
            remedy: Some("Wait".to_owned()),
            ..first
        };
        put(&mut tx, &rewritten).await;
        assert_eq!(tx.pull_requests().get(&"t".into()).await.unwrap(), Some(rewritten));
        assert_eq!(tx.pull_requests().get(&"u".into()).await.unwrap(), Some(other));
        tx.tasks_mut().delete(&"t".into()).await.unwrap();
        assert_eq!(count(&mut tx, "pull_requests").await, 1);
    }

    #[tokio::test]
    async fn links_lead_to_pull_requests_that_exist() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&task("u", 2)).await.unwrap();
        put(&mut tx, &PullRequestRow { pull_request: Some(open(7)), ..asked_for("t") }).await;
        put(&mut tx, &asked_for("u")).await;
        let link =
            PullRequestLink { number: 7, url: "https://host/7".to_owned(), state: PullRequestState::Open };
        let links = tx.pull_requests().links(&["t".into(), "u".into()]).await.unwrap();
        assert_eq!(links, HashMap::from([("t".into(), link)]));
        assert_eq!(tx.pull_requests().links(&["u".into()]).await.unwrap(), HashMap::new());
    }

    #[tokio::test]
    async fn host_is_asked_about_the_next_one_first_until_it_is_not_watched() {
        let mut tx = seeded().await;
        for (id, number) in [("u", 2), ("v", 3)] {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        for (task, at) in [("t", Some(30)), ("u", Some(20)), ("v", None)] {
            put(&mut tx, &PullRequestRow { next_check_at: at.map(Timestamp), ..asked_for(task) }).await;
        }
        let watched = async |tx: &mut crate::Tx| {
            let rows = tx.pull_requests().watched().await.unwrap();
            rows.into_iter().map(|row| row.task_id.0).collect::<Vec<_>>()
        };
        assert_eq!(watched(&mut tx).await, ["u", "t"]);
        tx.pull_requests_mut().set_due(&"t".into(), Timestamp(10)).await.unwrap();
        assert_eq!(watched(&mut tx).await, ["t", "u"]);
        tx.pull_requests_mut().stop_watching(&"t".into()).await.unwrap();
        assert_eq!(watched(&mut tx).await, ["u"]);
    }
}
