//! Races: several entries at one task, of which one is elected.
//!
//! An entry is worked on as a task of its own, off the board and in a workflow of its own ([`entry_workflow`]): it
//! has its worktree, its runs, its checks and its history like any other, and survives a kill like any other. The
//! race itself is the record of who ran, what is known of each, and who won.

use serde_json::json;

use crate::{
    actor::Actor,
    contract,
    diff_stat::DiffStat,
    election::{Election, ElectionRule, ElectionStep, EntryFacts, GateResult},
    ids::{AgentId, RaceId, TaskId},
    inner_loop::Strategy,
    names,
    time::Timestamp,
    workflow::Workflow,
};

names! {
    /// State of a race.
    pub enum RaceStatus {
        /// Entries are running or queued.
        Running = "running",
        /// The rules were applied, and a person has to choose.
        AwaitingCrown = "awaiting_crown",
        /// There is a winner whose work is not applied to the task yet.
        Decided = "decided",
        /// The winner's commits are the task's branch.
        Promoted = "promoted",
        /// Nobody passed.
        NoWinner = "no_winner",
        /// It was given up.
        Cancelled = "cancelled",
    }
}

impl RaceStatus {
    /// Whether nothing of it is still to happen.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Promoted | Self::NoWinner | Self::Cancelled)
    }
}

names! {
    /// State of an entry.
    pub enum RaceEntryStatus {
        /// It waits in the queue.
        Queued = "queued",
        /// It is running, or being checked or scored.
        Running = "running",
        /// It finished.
        Finished = "finished",
        /// It failed to finish.
        Failed = "failed",
        /// It timed out.
        TimedOut = "timed_out",
        /// The race was cancelled.
        Cancelled = "cancelled",
    }
}

impl RaceEntryStatus {
    /// Whether it has ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

contract! {
    /// One entry of a race.
    pub struct RaceEntry {
        /// The name of its strategy, unique in the race.
        pub strategy: String,
        /// The agent.
        pub agent_id: AgentId,
        /// The requested model; null for the agent's.
        pub model: Option<String>,
        /// Effort; null for the agent's.
        pub effort: Option<String>,
        /// Extra instructions for its agent.
        pub prompt_suffix: Option<String>,
        /// The task of the entry; use it to read its runs, reviews and changes.
        pub task_id: TaskId,
        /// Where it is.
        pub status: RaceEntryStatus,
        /// Why it ended, if it did not exit on its own.
        pub reason: Option<String>,
        /// How its checks ended.
        pub gate: GateResult,
        /// Number of checks; null if unknown.
        pub checks: Option<u32>,
        /// The reviewer's score, 0 to 100.
        pub score: Option<f64>,
        /// Cost of its runs so far, in micro-dollars; null if unknown.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// How long it took, in milliseconds.
        #[specta(type = Option<f64>)]
        pub duration_ms: Option<i64>,
        /// Size of its changes.
        pub diff_stat: Option<DiffStat>,
        /// Its last commit.
        pub commit: Option<String>,
        /// The branch with its work, while it is kept.
        pub branch: Option<String>,
        /// When it began.
        pub started_at: Option<Timestamp>,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
    }

    /// One race.
    pub struct Race {
        /// Identity.
        pub id: RaceId,
        /// The task.
        pub task_id: TaskId,
        /// 1, 2, ... per task.
        pub number: u32,
        /// Where it is.
        pub status: RaceStatus,
        /// The commit that every entry starts from.
        pub base_commit: String,
        /// Whether scores count.
        pub reviewer_enabled: bool,
        /// Maximum number of concurrent entries.
        pub max_parallel: u32,
        /// How long an entry may take, in seconds.
        pub timeout_sec: u32,
        /// Whether a person chooses the winner.
        pub human_crown: bool,
        /// Whether the name breaks ties; otherwise a person chooses.
        pub name_decides: bool,
        /// Number of days that the losers are kept.
        pub keep_losers_days: u32,
        /// The entries, by name.
        pub entries: Vec<RaceEntry>,
        /// The suggested winner; null before there is one, or if no entry passed.
        pub elected: Option<String>,
        /// The rule that left one entry, or `person` if a person chose; null before the election.
        #[serde(rename = "decidedBy")]
        pub decided_by: Option<ElectionRule>,
        /// The rules that were applied, in order.
        pub trail: Vec<ElectionStep>,
        /// Entry whose work the task uses or will use; null while a person must choose without any evidence.
        pub winner: Option<String>,
        /// The person who chose the winner; null when the rules did.
        pub crowned_by: Option<Actor>,
        /// Why the winner's work could not be applied to the task.
        pub error: Option<String>,
        /// When it began.
        pub started_at: Timestamp,
        /// When it ended.
        pub finished_at: Option<Timestamp>,
        /// When the losers' branches are deleted.
        pub losers_until: Option<Timestamp>,
    }

    /// The state of a task's latest race, for its card.
    #[derive(Eq)]
    pub struct RaceBadge {
        /// Which race of the task.
        pub number: u32,
        /// Where it is.
        pub status: RaceStatus,
        /// Number of entries.
        pub entries: u32,
        /// Number of finished entries.
        pub over: u32,
        /// Entry whose work the task uses or will use.
        pub winner: Option<String>,
    }

    /// Expected cost of an entry.
    pub struct EntryEstimate {
        /// The strategy's name.
        pub name: String,
        /// The agent.
        pub agent_id: AgentId,
        /// The requested model; null if the program chooses.
        pub model: Option<String>,
        /// The median of earlier runs of the model, in micro-dollars; null when there is none.
        pub median_micro_usd: Option<f64>,
        /// Number of runs.
        pub samples: u32,
    }

    /// Expected cost of a race.
    pub struct RaceEstimate {
        /// Each entry.
        pub entries: Vec<EntryEstimate>,
        /// Total in micro-dollars; null if one cost is unknown.
        pub total_micro_usd: Option<f64>,
    }
}

impl Race {
    /// The entry of that name.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<&RaceEntry> {
        self.entries.iter().find(|entry| entry.strategy == name)
    }

    /// The entry that is worked on as that task.
    #[must_use]
    pub fn entry_of(&self, task: &TaskId) -> Option<&RaceEntry> {
        self.entries.iter().find(|entry| entry.task_id == *task)
    }

    /// Elects from what is known, and keeps how that went. Who wins may still be a person's word.
    pub fn elect(&mut self) {
        let facts: Vec<EntryFacts> =
            self.entries.iter().map(|entry| entry.facts(&self.base_commit)).collect();
        self.keep_election(crate::election::elect(self.reviewer_enabled, &facts));
    }

    /// Whether a person has to choose the winner: it is asked for, or nothing but names told the entries apart.
    #[must_use]
    pub fn needs_choice(&self) -> bool {
        self.elected.is_some() && (self.human_crown || self.is_without_evidence())
    }

    /// Whether nothing but their names tells the entries apart, and that is not to decide.
    #[must_use]
    pub fn is_without_evidence(&self) -> bool {
        !self.name_decides && self.election().is_some_and(|election| election.is_by_name_alone())
    }

    /// The entries that names alone tell apart, in the order of names.
    #[must_use]
    pub fn told_apart_by_name(&self) -> Vec<&str> {
        let names = self.trail.iter().find(|step| step.rule == ElectionRule::Name);
        let mut all: Vec<&str> = names
            .into_iter()
            .flat_map(|step| step.kept.iter().chain(step.dropped.iter().map(|dropped| &dropped.name)))
            .map(String::as_str)
            .collect();
        all.sort_unstable();
        all
    }

    /// Makes an entry the winner by a person's choice.
    pub fn choose(&mut self, name: &str, who: Actor) {
        self.winner = Some(name.to_owned());
        self.crowned_by = Some(who);
        self.decided_by = Some(ElectionRule::Person);
    }

    /// Keeps an election.
    pub fn keep_election(&mut self, election: Election) {
        self.elected = election.winner;
        self.decided_by = Some(election.decided_by);
        self.trail = election.trail;
    }

    /// The election that was kept, as the rules had it; none before there is one.
    #[must_use]
    pub fn election(&self) -> Option<Election> {
        let decided_by = match self.decided_by? {
            ElectionRule::Person => self
                .trail
                .last()
                .filter(|_| self.elected.is_some())
                .map_or(ElectionRule::None, |step| step.rule),
            rule => rule,
        };
        Some(Election { winner: self.elected.clone(), decided_by, trail: self.trail.clone() })
    }
}

impl RaceEntry {
    /// An entry that waits for its turn, and the task that it is worked on as.
    #[must_use]
    pub fn queued(strategy: Strategy, task_id: TaskId) -> Self {
        Self {
            strategy: strategy.name,
            agent_id: strategy.agent_id,
            model: strategy.model,
            effort: strategy.effort,
            prompt_suffix: strategy.prompt_suffix,
            task_id,
            status: RaceEntryStatus::Queued,
            reason: None,
            gate: GateResult::NotRun,
            checks: None,
            score: None,
            cost_micro_usd: None,
            duration_ms: None,
            diff_stat: None,
            commit: None,
            branch: None,
            started_at: None,
            finished_at: None,
        }
    }

    /// How it goes about the task.
    #[must_use]
    pub fn how(&self) -> Strategy {
        Strategy {
            name: self.strategy.clone(),
            agent_id: self.agent_id.clone(),
            model: self.model.clone(),
            effort: self.effort.clone(),
            prompt_suffix: self.prompt_suffix.clone(),
        }
    }

    /// What stands for election in a race from this commit.
    #[must_use]
    pub fn facts(&self, base_commit: &str) -> EntryFacts {
        let changed = self.commit.as_deref().is_some_and(|commit| commit != base_commit);
        EntryFacts {
            name: self.strategy.clone(),
            gate: self.gate,
            without_checks: self.checks == Some(0) && self.status == RaceEntryStatus::Finished && changed,
            reviewer_score: self.score,
            cost_micro_usd: self.cost_micro_usd,
        }
    }
}

/// The branch that keeps an entry's work after the race.
#[must_use]
pub fn kept_branch(task: &TaskId, race: u32, strategy: &str) -> String {
    format!("forge/{task}-race-{race}-{strategy}")
}

/// The workflow that entries go through: work, checks and a score, nothing more. Its names are none that a
/// person's definition may have, so no list of a project's states finds an entry.
///
/// # Errors
/// Never, unless this text was broken; a test reads it.
pub fn entry_workflow() -> Result<Workflow, serde_json::Error> {
    serde_json::from_value(json!({
        "name": "race entry",
        "roles": [
            { "name": "coder", "display_name": "Coder" },
            { "name": "reviewer", "display_name": "Reviewer" }
        ],
        "cancellation_state": "race/out",
        "states": [
            { "name": "race/queued", "display_name": "Queued", "kind": "initial", "column": "Race",
              "triggers": { "accept": { "to": "race/running" } } },
            { "name": "race/running", "display_name": "Running", "kind": "active", "column": "Race", "role": "coder",
              "hooks": {
                "before_exit": [ { "action": "require_no_conflict_markers", "applies_to": "agent_only" } ],
                "before_enter": [ { "action": "run_before_work_hooks" } ],
                "on_enter": [ { "action": "dispatch_role_agent" } ] },
              "triggers": { "accept": { "to": "race/judged" } } },
            { "name": "race/judged", "display_name": "Judged", "kind": "gate", "column": "Race", "role": "reviewer",
              "gate_config": {
                "reject_target": "race/running", "max_rejections": 0, "optional_when_unassigned": true },
              "hooks": {
                "before_enter": [ { "action": "run_ci_steps", "on_failure": { "cascade": "race/running" } } ],
                "on_enter": [ { "action": "dispatch_role_agent" } ],
                "after_enter": [ { "action": "auto_cascade_on_review_pass" } ] },
              "triggers": { "accept": { "to": "race/over" } } },
            { "name": "race/stopped", "display_name": "Stopped", "kind": "blocked", "column": "Race" },
            { "name": "race/over", "display_name": "Over", "kind": "terminal", "column": "Race", "cleanup": "keep" },
            { "name": "race/out", "display_name": "Out", "kind": "terminal", "column": "Race", "cleanup": "keep" }
        ]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{StateKind, parse_value};

    #[test]
    fn entries_have_a_workflow_that_nobody_else_can_have() {
        let workflow = entry_workflow().unwrap();
        for (kind, name) in [
            (StateKind::Initial, "race/queued"),
            (StateKind::Active, "race/running"),
            (StateKind::Gate, "race/judged"),
            (StateKind::Blocked, "race/stopped"),
        ] {
            assert_eq!(workflow.first_of(kind).unwrap().name, name);
        }
        assert_eq!(workflow.claim_target("race/queued").unwrap().name, "race/running");
        assert_eq!(workflow.review_gate().unwrap().name, "race/judged");
        assert!(workflow.merge_state().is_none());
        // A person's definition with such a name is refused.
        let findings = parse_value(serde_json::to_value(&workflow).unwrap()).unwrap_err();
        assert!(findings.iter().any(|finding| finding.path == "states[0].name"), "{findings:?}");
    }
}
