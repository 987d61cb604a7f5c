//! Announcing the growth of logs to subscribers. It is not stored; a subscriber that falls behind is told that it
//! missed something, and reads again.

use crate::World;
use std::collections::BTreeMap;

use forge_model::ids::{ProjectId, TaskId};
use tokio::sync::broadcast::{
    Receiver, Sender,
    error::{RecvError, TryRecvError},
};

/// How many growths wait for who listens.
const GROWTHS_AHEAD: usize = 1024;

/// A log grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogGrowth {
    /// The project concerned.
    pub project_id: ProjectId,
    /// The task concerned; none for a hook that is tested in the repository itself.
    pub task_id: Option<TaskId>,
    /// The log.
    pub log_id: String,
    /// Its newest entry.
    pub seq: u64,
}

/// What grew since somebody looked.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// Of each log its newest growth.
    pub logs: Vec<LogGrowth>,
    /// Whether the last growth of a log may be among what was missed.
    pub missed: bool,
}

/// A listener to the growth of every log.
pub struct Growths {
    receiver: Receiver<LogGrowth>,
    newest: BTreeMap<String, LogGrowth>,
    missed: bool,
}

/// Who tells of growing logs; not worth a row each.
pub(crate) struct LogGrowths(pub Sender<LogGrowth>);

impl Default for LogGrowths {
    fn default() -> Self {
        Self(Sender::new(GROWTHS_AHEAD))
    }
}

/// Listens to the growth of logs from now on.
#[must_use]
pub(crate) fn log_growth(world: &World) -> Growths {
    Growths::new(world.part::<LogGrowths>().0.subscribe())
}

impl Growths {
    pub(crate) const fn new(receiver: Receiver<LogGrowth>) -> Self {
        Self { receiver, newest: BTreeMap::new(), missed: false }
    }

    /// Waits for the next growth and keeps it until it is taken. None when the engine is gone.
    ///
    /// Nothing is lost where the wait is given up.
    pub async fn wait(&mut self) -> Option<()> {
        match self.receiver.recv().await {
            Ok(growth) => self.keep(growth),
            Err(RecvError::Lagged(_)) => self.missed = true,
            Err(RecvError::Closed) => return None,
        }
        Some(())
    }

    /// What has grown since it was last taken.
    pub fn take(&mut self) -> Grown {
        loop {
            match self.receiver.try_recv() {
                Ok(growth) => self.keep(growth),
                Err(TryRecvError::Lagged(_)) => self.missed = true,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        Grown {
            logs: std::mem::take(&mut self.newest).into_values().collect(),
            missed: std::mem::take(&mut self.missed),
        }
    }

    fn keep(&mut self, growth: LogGrowth) {
        self.newest.insert(growth.log_id.clone(), growth);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::Sender;

    use super::*;

    fn growth(log: &str, seq: u64) -> LogGrowth {
        LogGrowth { project_id: ProjectId("p".into()), task_id: None, log_id: log.into(), seq }
    }

    #[tokio::test]
    async fn of_each_log_the_newest_is_told_once() {
        let sender = Sender::new(8);
        let mut growths = Growths::new(sender.subscribe());
        for (log, seq) in [("b", 1), ("a", 1), ("b", 2), ("b", 3)] {
            sender.send(growth(log, seq)).unwrap();
        }
        growths.wait().await.unwrap();
        let grown = Grown { logs: vec![growth("a", 1), growth("b", 3)], missed: false };
        assert_eq!(growths.take(), grown);
        assert_eq!(growths.take(), Grown::default());
    }

    #[tokio::test]
    async fn who_cannot_keep_up_is_told_so_once() {
        let sender = Sender::new(2);
        let mut growths = Growths::new(sender.subscribe());
        for log in ["lost", "a", "b"] {
            sender.send(growth(log, 1)).unwrap();
        }
        growths.wait().await.unwrap();
        assert_eq!(growths.take(), Grown { logs: vec![growth("a", 1), growth("b", 1)], missed: true });
        sender.send(growth("a", 2)).unwrap();
        assert_eq!(growths.take(), Grown { logs: vec![growth("a", 2)], missed: false });
        drop(sender);
        assert_eq!(growths.wait().await, None);
    }
}
