//! Changes for a window: small, numbered, coalesced. Bulk is pulled; this only says what is stale.

use std::time::Duration;

use forge_engine::{Engine, Growths, LogGrowth, StorageHealth};
use forge_model::{
    event::{Event, EventType},
    ids::{ProjectId, TaskId},
};
use serde::Serialize;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::tags;

/// Changes of about one frame go together: this long after the batch before.
const COALESCE: Duration = Duration::from_millis(30);
/// What happens at one moment goes together, also after a pause.
const MOMENT: Duration = Duration::from_millis(5);
/// How many events one batch holds at most.
const MOST: u32 = 500;

/// Says that the state of the disk changed. It is no event: those are rows, and the disk may refuse them.
pub const STORAGE_CHANGED: &str = "storage.changed";

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, specta::Type)]
pub struct Change {
    /// Its number; that of the last event for what has none of its own.
    #[specta(type = f64)]
    pub seq: i64,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// The project concerned.
    pub project_id: Option<String>,
    /// The task concerned.
    pub task_id: Option<String>,
    /// What it is about.
    pub entity_id: String,
    /// The cached answers that it makes stale.
    pub tags: Vec<String>,
}

impl Change {
    /// The change that an event tells.
    #[must_use]
    pub fn of_event(event: Event) -> Self {
        let tags = tags::of(&event);
        Self {
            seq: event.seq,
            kind: event.kind.to_string(),
            project_id: event.project_id.map(|id| id.0),
            task_id: event.task_id.map(|id| id.0),
            entity_id: event.entity_id,
            tags,
        }
    }

    /// That a log has grown; it has no number of its own.
    #[must_use]
    pub fn of_growth(seq: i64, project_id: ProjectId, task_id: Option<TaskId>, log_id: String) -> Self {
        Self {
            seq,
            kind: EventType::ExecutionLog.to_string(),
            tags: std::iter::once(format!("log:{log_id}"))
                .chain(task_id.iter().map(|task| format!("activity:{task}")))
                .collect(),
            project_id: Some(project_id.0),
            task_id: task_id.map(|id| id.0),
            entity_id: log_id,
        }
    }

    /// That the state of the disk changed; it has no number of its own.
    #[must_use]
    pub fn of_storage(seq: i64) -> Self {
        Self {
            seq,
            kind: STORAGE_CHANGED.to_owned(),
            project_id: None,
            task_id: None,
            entity_id: String::new(),
            tags: vec!["storage".to_owned()],
        }
    }

    /// That everything is to be read again.
    #[must_use]
    pub fn of_everything(seq: i64) -> Self {
        Self {
            seq,
            kind: EventType::EventsResync.to_string(),
            project_id: None,
            task_id: None,
            entity_id: String::new(),
            tags: vec!["*".to_owned()],
        }
    }
}

/// Changes since the previous batch.
#[derive(Debug, Clone, PartialEq, Serialize, specta::Type)]
pub struct ChangeBatch {
    /// The number that this batch follows; a reader with another number must read everything again.
    #[specta(type = f64)]
    pub after: i64,
    /// The last number in it.
    #[specta(type = f64)]
    pub seq: i64,
    /// The changes, oldest first.
    pub changes: Vec<Change>,
}

/// Changes from a moment on.
pub struct Feed {
    engine: Engine,
    events: watch::Receiver<i64>,
    logs: Growths,
    storage: watch::Receiver<StorageHealth>,
    seen: i64,
    /// Whether the state of the disk changed since the last batch.
    storage_changed: bool,
    /// When the last batch was given out.
    given: Option<Instant>,
}

impl Feed {
    pub(crate) fn new(engine: Engine) -> Self {
        let events = engine.events();
        let seen = *events.borrow();
        let logs = engine.log_growth();
        let storage = engine.follow_storage();
        Self { engine, events, logs, storage, seen, storage_changed: false, given: None }
    }

    /// The number of the last change that was given out.
    #[must_use]
    pub const fn seen(&self) -> i64 {
        self.seen
    }

    /// Waits for the next changes. None when the engine is gone.
    pub async fn next(&mut self) -> Option<ChangeBatch> {
        loop {
            tokio::select! {
                changed = self.events.changed() => changed.ok()?,
                grown = self.logs.wait() => grown?,
                changed = self.storage.changed() => {
                    changed.ok()?;
                    self.storage_changed = true;
                }
            }
            let moment = Instant::now() + MOMENT;
            sleep_until(self.given.map_or(moment, |given| moment.max(given + COALESCE))).await;
            let grown = self.logs.take();
            let mut batch = self.batch(grown.logs).await;
            // News of a disk that refuses cannot be an event: those are rows.
            if std::mem::take(&mut self.storage_changed) {
                batch.changes.push(Change::of_storage(batch.seq));
            }
            if grown.missed {
                batch.changes.push(Change::of_everything(batch.seq));
            }
            if !batch.changes.is_empty() {
                self.given = Some(Instant::now());
                return Some(batch);
            }
        }
    }

    async fn batch(&mut self, grown: Vec<LogGrowth>) -> ChangeBatch {
        let after = self.seen;
        let last = *self.events.borrow_and_update();
        let mut changes = Vec::new();
        let events = if last > after {
            self.engine.events_after(after, MOST).await
        } else {
            // Logs alone have grown.
            Ok(Some(Vec::new()))
        };
        match events {
            Ok(Some(events)) if last - after <= i64::from(MOST) => {
                for event in events {
                    self.seen = event.seq;
                    changes.push(Change::of_event(event));
                }
            }
            // Too much at once, or no longer there: the reader reads everything again.
            Ok(_) => {
                self.seen = last;
                changes.push(Change::of_everything(last));
            }
            Err(error) => tracing::error!(%error, "failed to read events for the window"),
        }
        let of_growth = |it: LogGrowth| Change::of_growth(self.seen, it.project_id, it.task_id, it.log_id);
        changes.extend(grown.into_iter().map(of_growth));
        ChangeBatch { after, seq: self.seen, changes }
    }
}
