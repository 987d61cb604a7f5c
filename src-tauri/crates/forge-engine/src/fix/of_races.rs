//! Which entry of a race a fix was drafted for, and whether that work still counts.

use forge_model::fix::FixProposal;
use forge_model::race::{Race, RaceStatus};
use forge_store::ReadConnection;

use crate::error::Result;

/// The race whose entry's work a fix was drafted on.
pub(crate) async fn race_of_fix(conn: &mut ReadConnection, fix: &FixProposal) -> Result<Option<Race>> {
    match conn.reviews().task_of(&fix.review_id).await? {
        Some(entry) if fix.strategy.is_some() => Ok(conn.races().of_entry(&entry).await?),
        _ => Ok(None),
    }
}

/// Whether the work that a fix was drafted on is the task's, or can still become it.
pub(crate) async fn is_of_present_work(conn: &mut ReadConnection, fix: &FixProposal) -> Result<Standing> {
    if fix.strategy.is_none() {
        return Ok(Standing::Own);
    }
    let Some(race) = race_of_fix(conn, fix).await? else { return Ok(Standing::Gone) };
    let last = conn.races().last(&fix.task_id).await?;
    if last.is_none_or(|last| last.id != race.id) {
        return Ok(Standing::Gone);
    }
    Ok(standing_in(&race, fix.strategy.as_deref()))
}

/// What the work of an entry is to the raced task, by where the race is.
fn standing_in(race: &Race, entry: Option<&str>) -> Standing {
    let wins = race.winner.is_some() && race.winner.as_deref() == entry;
    match race.status {
        RaceStatus::NoWinner => Standing::Possible,
        RaceStatus::Decided if wins => Standing::Possible,
        RaceStatus::Promoted if wins => Standing::Own,
        RaceStatus::Running
        | RaceStatus::AwaitingCrown
        | RaceStatus::Decided
        | RaceStatus::Promoted
        | RaceStatus::Cancelled => Standing::Gone,
    }
}

/// What the work that a fix was drafted on is to its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The task's work.
    Own,
    /// The work of an entry that can still become the task's.
    Possible,
    /// None of the task's, for good.
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing;

    #[test]
    fn fix_of_an_entry_stands_by_where_its_race_is() {
        for (status, winner, expected) in [
            (RaceStatus::Running, None, Standing::Gone),
            (RaceStatus::AwaitingCrown, None, Standing::Gone),
            (RaceStatus::NoWinner, None, Standing::Possible),
            (RaceStatus::Decided, Some("a"), Standing::Possible),
            (RaceStatus::Decided, Some("b"), Standing::Gone),
            (RaceStatus::Promoted, Some("a"), Standing::Own),
            (RaceStatus::Promoted, Some("b"), Standing::Gone),
            (RaceStatus::Promoted, None, Standing::Gone),
            (RaceStatus::Cancelled, Some("a"), Standing::Gone),
        ] {
            let mut race = testing::race(&["a", "b"]);
            (race.status, race.winner) = (status, winner.map(str::to_owned));
            assert_eq!(standing_in(&race, Some("a")), expected, "{status:?}, won by {winner:?}");
        }
    }
}
