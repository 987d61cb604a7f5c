//! Runs in a container or a job with a memory limit: that the limit ended one is told.

use forge_agents::{AgentError, RunOutcome};

use crate::core::location::{Location, There};

/// What is known of a container or a job before a run in it.
pub(super) struct MemoryBefore {
    there: Box<There>,
    limit_mb: u32,
    /// How often something was killed in it.
    kills: u64,
}

/// Looks at the container or the job of a run; none where there is none with a limit, or where that is not known.
pub(super) async fn memory_before(location: &Location) -> Option<MemoryBefore> {
    let Location::There(there) = location else { return None };
    let limit_mb = there.memory_mb()?;
    let kills = there.memory_kills().await?;
    Some(MemoryBefore { there: there.clone(), limit_mb, kills })
}

impl MemoryBefore {
    /// The outcome, with the limit as the reason where it was that.
    pub(super) async fn told(self, mut outcome: RunOutcome) -> RunOutcome {
        let may_be = matches!(outcome.result, Err(AgentError::Crashed { .. } | AgentError::Protocol { .. }));
        if may_be && self.there.memory_kills().await.is_some_and(|kills| kills > self.kills) {
            outcome.result = Err(AgentError::OutOfMemory { limit_mb: self.limit_mb });
        }
        outcome
    }
}
