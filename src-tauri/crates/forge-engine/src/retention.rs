//! What is compressed and deleted because it is old: logs of closed tasks, events, backups of worktrees. Ages count by observed time
//! ([`crate::observed_time`]); a deletion of more than half of anything waits for a person.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use forge_agents::pack_logs;
use forge_model::storage::{Retention, RetentionAnswer, RetentionQuestion, asks_first};
use forge_model::time::Timestamp;
use forge_model::workflow::State;
use forge_store::table::{app_settings, retention, tasks};

use crate::{Engine, EngineError, error::Result};

/// The setting of Forge as a whole.
const SETTING: &str = "retention";
/// How often what is old is looked for.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// The names of what may be deleted.
const LOGS: &str = "logs";
const EVENTS: &str = "events";
/// Logs of a task that is closed for so many days are compressed.
const PACKED_AFTER_DAYS: u32 = 1;
/// The longest time that anything can be kept.
const MOST_DAYS: u32 = 730;

impl Engine {
    /// How long old data is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn retention(&self) -> Result<Retention> {
        let set = app_settings::get(&mut *self.store().read().await?, SETTING).await?;
        Ok(set.and_then(|set| serde_json::from_value(set).ok()).unwrap_or_default())
    }

    /// Sets how long old data is kept.
    ///
    /// # Errors
    /// `Invalid` for more days than can be counted; when it cannot be written.
    pub async fn set_retention(&self, wanted: &Retention) -> Result<()> {
        for (field, days) in
            [("retention.logs_days", wanted.logs_days), ("retention.events_days", wanted.events_days)]
        {
            if days > MOST_DAYS {
                return Err(EngineError::invalid(field, format!("must be at most {MOST_DAYS}")));
            }
        }
        let value = serde_json::to_value(wanted)
            .map_err(|error| EngineError::io("write the setting")(error.into()))?;
        self.set_app_setting(SETTING, &value).await?;
        self.storage_changed();
        self.inner.sweep.notify_one();
        Ok(())
    }

    /// The deletions that wait for a person, or that a person decided on.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn retention_questions(&self) -> Result<Vec<RetentionQuestion>> {
        Ok(retention::list(&mut *self.store().read().await?).await?)
    }

    /// Says whether what is old is to be deleted, though it is more than half.
    ///
    /// # Errors
    /// `NotFound` when nobody asked.
    pub async fn answer_retention(&self, kind: &str, answer: RetentionAnswer) -> Result<()> {
        let mut tx = self.store().write().await?;
        if !retention::answer(&mut tx, kind, answer, self.now()).await? {
            return Err(EngineError::not_found("question", kind));
        }
        tx.commit().await?;
        self.storage_changed();
        self.inner.sweep.notify_one();
        Ok(())
    }

    /// Looks for what is old, now and then, and when a person says so.
    pub(crate) fn keep_retention(&self) {
        self.keep_going(async |engine: Self| {
            loop {
                if let Err(error) = engine.sweep().await {
                    tracing::warn!(%error, "failed to look for what is old; tomorrow again");
                }
                let goes_on = tokio::select! {
                    goes_on = engine.pause(LOOK_EVERY) => goes_on,
                    () = engine.inner.sweep.notified() => true,
                };
                if !goes_on {
                    return;
                }
            }
        });
    }

    /// Deletes what is old, as far as it may, and compresses logs.
    ///
    /// # Errors
    /// When something cannot be looked at; the rest was.
    pub async fn sweep(&self) -> Result<()> {
        let _turn = self.inner.sweeping.lock().await;
        let swept = [
            self.sweep_logs().await,
            self.pack_old_logs().await,
            self.sweep_events().await,
            self.prune_backups().await,
        ];
        swept.into_iter().collect()
    }

    /// Whether so many of so many may be deleted. Asks a person where it is more than half; an answer to delete counts
    /// once.
    pub(crate) async fn may_delete(&self, kind: &str, doomed: u32, total: u32) -> Result<bool> {
        let known = self.retention_questions().await?.into_iter().find(|question| question.kind == kind);
        if doomed == 0 && known.is_none() {
            return Ok(false);
        }
        let mut tx = self.store().write().await?;
        let may = match known.as_ref().and_then(|question| question.answer) {
            Some(RetentionAnswer::Delete) => true,
            Some(RetentionAnswer::Keep) | None => !asks_first(doomed, total),
        };
        if may {
            retention::forget(&mut tx, kind).await?;
        } else {
            retention::ask(&mut tx, (kind, doomed, total), self.now()).await?;
        }
        tx.commit().await?;
        if known.is_some() || !may {
            self.storage_changed();
        }
        if !may && known.is_none() {
            tracing::warn!(kind, doomed, total, "more than half would be deleted: a person is asked first");
        }
        Ok(may && doomed > 0)
    }

    async fn sweep_logs(&self) -> Result<()> {
        let days = self.retention().await?.logs_days;
        let Some(until) = self.older_than(days).await?.filter(|_| days > 0) else { return Ok(()) };
        let (old, total) = self.logs_until(until).await?;
        let doomed = u32::try_from(old.len()).unwrap_or(u32::MAX);
        if !self.may_delete(LOGS, doomed, total).await? {
            return Ok(());
        }
        for folder in old {
            let path = folder.display();
            match tokio::fs::remove_dir_all(&folder).await {
                Ok(()) => tracing::info!(%path, "removed the logs of a task that was closed long ago"),
                Err(error) => tracing::warn!(%error, %path, "failed to remove old logs"),
            }
        }
        self.storage_changed();
        Ok(())
    }

    async fn pack_old_logs(&self) -> Result<()> {
        let Some(until) = self.older_than(PACKED_AFTER_DAYS).await? else { return Ok(()) };
        for folder in self.logs_until(until).await?.0 {
            let (path, stop) = (folder.clone(), self.inner.shutdown.clone());
            let packed = move || pack_logs(&folder, || !stop.is_cancelled());
            let packed = tokio::task::spawn_blocking(packed).await;
            match packed.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok(0) => {}
                Ok(files) => {
                    tracing::info!(path = %path.display(), files, "compressed the logs of a closed task")
                }
                Err(error) => tracing::warn!(path = %path.display(), %error, "failed to compress old logs"),
            }
        }
        Ok(())
    }

    /// The folders of logs of tasks that were closed by a time, and how many folders there are of any task.
    async fn logs_until(&self, until: Timestamp) -> Result<(Vec<PathBuf>, u32)> {
        let (mut old, mut total) = (Vec::new(), 0);
        for project in self.projects().await? {
            let (context, all) = {
                let mut conn = self.store().read().await?;
                let context = self.context(&mut conn, &project.id).await?;
                let filter = tasks::Filter { project: Some(project.id.clone()), ..tasks::Filter::default() };
                (context, tasks::list(&mut conn, &filter, u32::MAX).await?)
            };
            for task in all {
                let folder = self.log_dir(&project.id, &task.id);
                if !folder.is_dir() {
                    continue;
                }
                total += 1;
                let is_closed = context.workflow.state(&task.status).is_some_and(State::is_terminal);
                if is_closed && task.status_since <= until && !self.is_attended(&task.id) {
                    old.push(folder);
                }
            }
        }
        Ok((old, total))
    }

    async fn sweep_events(&self) -> Result<()> {
        let days = self.retention().await?.events_days;
        let Some(until) = self.older_than(days).await?.filter(|_| days > 0) else { return Ok(()) };
        let (total, doomed) = retention::count_events(&mut *self.store().read().await?, until).await?;
        if !self.may_delete(EVENTS, doomed, total).await? {
            return Ok(());
        }
        let mut tx = self.store().write().await?;
        let removed = retention::remove_events(&mut tx, until).await?;
        tx.commit().await?;
        tracing::info!(removed, "removed old events");
        Ok(())
    }

    /// How many events are kept.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub async fn count_events(&self) -> Result<u32> {
        Ok(retention::count_events(&mut *self.store().read().await?, Timestamp(0)).await?.0)
    }

    /// The size of all logs; none when the engine stops meanwhile.
    pub async fn logs_bytes(&self) -> Option<u64> {
        let folder: &Path = self.data_dir();
        self.space_of(vec![folder.join("logs")]).await
    }

    /// Tells windows that what they show of storage is out of date.
    pub(crate) fn storage_changed(&self) {
        self.inner.storage.touch();
    }
}
