//! What people read for the names of the contract.

use forge_api::ops::agents::KnownAgent;
use forge_model::{
    actor::Actor,
    agent::{AdapterKind, Agent},
    election::ElectionRule,
    race::RaceStatus,
    task::{AnnotationType, WaitReason},
    time::Timestamp,
};

/// A name of the contract as words: its parts are joined by underscores.
pub(crate) fn plain(name: impl AsRef<str>) -> String {
    name.as_ref().replace('_', " ")
}

/// What a supported program of agents is called on the command line: what drives it, unless that drives several.
pub(crate) fn program_key(known: &KnownAgent) -> String {
    let program = known.config["program"].as_str().filter(|_| known.adapter == AdapterKind::Acp);
    program.map_or_else(|| known.adapter.to_string(), str::to_owned)
}

/// Why a task needs a person.
pub(crate) const fn trouble(kind: AnnotationType) -> &'static str {
    match kind {
        AnnotationType::ReviewBudgetExhausted => "out of review retries",
        AnnotationType::ReviewStagnant => "retries make no progress",
        AnnotationType::CiFailedAfterMergeFix => "checks failed after a conflict fix",
        AnnotationType::ExecutorFailed => "the agent did not finish",
        AnnotationType::ExecutorUnavailable => "could not start the agent",
        AnnotationType::EnvironmentNotReady => "could not set up the worktree",
        AnnotationType::CommitRefused => "a git hook rejected the commit",
        AnnotationType::RepositoryChanged => "the repository's configuration changed",
        AnnotationType::TrustRequired => "startup files not trusted",
        AnnotationType::EmbeddedRepository => "the worktree contains another repository",
        AnnotationType::SubmoduleNotPushed => "a submodule commit is not pushed",
        AnnotationType::GuardRejected => "a guard rejected the move",
        AnnotationType::TargetUnstable => "the target branch keeps moving",
        AnnotationType::WorkspaceResetRequired => "the worktree and its branch are missing",
        AnnotationType::WorkMissing => "the work to merge is missing",
        AnnotationType::WorkChanged => "the work changed after the review",
        AnnotationType::WorkspaceError => "worktree error",
        AnnotationType::BeforeWorkHookFailed => "a hook failed before work started",
        AnnotationType::BeforeWorkHookTimeout => "a hook timed out before work started",
        AnnotationType::SubtaskPaused => "a subtask could not finish",
        AnnotationType::DependencyCancelled => "a dependency was cancelled",
        AnnotationType::CascadeLimit => "too many automatic moves",
        AnnotationType::RecoveryRequired => "Forge could not continue this task",
        AnnotationType::Manual => "your decision",
        AnnotationType::ReviewerUnusable => "the reviewer gave no verdict",
        AnnotationType::MergeConflict => "merge conflict",
        AnnotationType::MergeError => "the merge failed",
        AnnotationType::PrFailed => "could not create the pull request",
        AnnotationType::PrClosedWithoutMerge => "the pull request was closed without merging",
        AnnotationType::RaceNoWinner => "no race entry passed",
        AnnotationType::RaceNotPromoted => "could not apply the winner's work",
    }
}

/// What a task waits for. A task whose own agent is at work waits for that alone.
pub(crate) const fn waiting(reason: WaitReason, is_at_work: bool) -> &'static str {
    match reason {
        WaitReason::Undo => "starting soon",
        WaitReason::AgentBusy => "queued for its agent",
        WaitReason::ProjectBusy => "queued: project limit reached",
        WaitReason::Paused => "paused",
        WaitReason::Held => "on hold",
        WaitReason::TargetCheckoutDirty => "local changes block the merge",
        WaitReason::GitLocked => "another program holds a git lock",
        WaitReason::RateLimited => "rate limited by the provider",
        WaitReason::WorkspaceLocked if is_at_work => "agent running, more is queued",
        WaitReason::WorkspaceLocked => "worktree in use",
        WaitReason::DependencyOpen => "waiting for another task",
        WaitReason::MergeQueue => "queued for merge",
        WaitReason::AwaitingMerge => "pull request open",
        WaitReason::HostUnreachable => "code host unreachable",
        WaitReason::NoMachine => "no machine fits",
        WaitReason::MachineBusy => "queued for a machine",
        WaitReason::MachineQuota => "machine's daily quota reached",
        WaitReason::MachineUnreachable => "machine not reachable",
        WaitReason::StartRequired => "to be started by you",
        WaitReason::JobPending => "queued on the cluster",
        WaitReason::MachineDiskFull => "machine disk full",
        WaitReason::CostLimit => "daily cost limit reached",
        WaitReason::RaceRunning => "race in progress",
        WaitReason::RaceCrown => "choose the winner",
    }
}

/// State of a race.
pub(crate) const fn race(status: RaceStatus) -> &'static str {
    match status {
        RaceStatus::Running => "running",
        RaceStatus::AwaitingCrown => "waiting for your choice",
        RaceStatus::Decided => "applying the winner's work",
        RaceStatus::Promoted => "finished",
        RaceStatus::NoWinner => "no winner",
        RaceStatus::Cancelled => "cancelled",
    }
}

/// By what a winner was selected; of one entry nothing had to be.
pub(crate) const fn rule(rule: ElectionRule, entries: usize) -> Option<&'static str> {
    match rule {
        ElectionRule::Person => Some("selected by a person"),
        ElectionRule::Gate | ElectionRule::Name if entries < 2 => Some("the only entry"),
        ElectionRule::Gate => Some("selected by checks"),
        ElectionRule::Reviewer => Some("selected by score"),
        ElectionRule::Cost => Some("selected by cost"),
        ElectionRule::Name => Some("selected by name"),
        ElectionRule::None => None,
    }
}

/// Who did something.
pub(crate) fn actor(actor: &Actor, agents: &[Agent]) -> String {
    match actor {
        Actor::User { via } => format!("you ({via})"),
        Actor::Agent { id } => {
            let known = agents.iter().find(|agent| agent.id == *id);
            known.map_or_else(|| "a removed agent".to_owned(), |agent| agent.name.clone())
        }
        Actor::System { cause } => format!("Forge ({})", plain(cause.to_string())),
    }
}

/// A time as a table shows it, by the clock of this computer.
pub(crate) fn time(at: Timestamp) -> String {
    in_zone(at, jiff::tz::TimeZone::system())
}

fn in_zone(at: Timestamp, zone: jiff::tz::TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_local() {
        let at = Timestamp(1_700_000_000_123);
        assert_eq!(in_zone(at, jiff::tz::TimeZone::UTC), "2023-11-14 22:13");
        let east = jiff::tz::TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(in_zone(at, east), "2023-11-15 00:13");
    }

    #[test]
    fn winner_of_a_race_of_one_is_not_said_to_be_selected_by_a_rule() {
        assert_eq!(rule(ElectionRule::Gate, 1), Some("the only entry"));
        assert_eq!(rule(ElectionRule::Gate, 2), Some("selected by checks"));
        assert_eq!(rule(ElectionRule::Person, 1), Some("selected by a person"));
        assert_eq!(rule(ElectionRule::None, 2), None);
    }
}
