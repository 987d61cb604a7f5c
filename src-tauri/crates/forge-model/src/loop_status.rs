//! What the inner loop of a project does: each of its subsystems with whether it is on, what it did last, and what
//! of it is open.

use crate::{
    contract,
    ids::TaskId,
    inner_loop::{InnerLoop, ValueSource},
    names,
    time::Timestamp,
};

names! {
    /// A part of the inner loop.
    pub enum Subsystem {
        /// Scores of entries by a reviewer.
        Reviewer = "reviewer",
        /// Races between agents.
        Competitive = "competitive",
        /// Drafted fixes.
        AutoFix = "auto_fix",
        /// Unusually high costs.
        CostAnomaly = "cost_anomaly",
        /// Measures of the progress of work.
        Validate = "validate",
        /// A retry's prompt includes the failures.
        Reflexion = "reflexion",
        /// Notes of how tasks went.
        Trajectory = "trajectory",
        /// Lessons that people accepted.
        Knowledge = "knowledge",
        /// Records of tasks' attempts.
        Postmortem = "postmortem",
        /// Checks for projects without any.
        GateSuggestions = "gate_suggestions",
    }
}

contract! {
    /// The task concerned.
    #[derive(Eq)]
    pub struct LoopTask {
        /// Identity.
        pub id: TaskId,
        /// Its number.
        pub number: u32,
        /// Its title.
        pub title: String,
    }

    /// Latest activity of a part of the inner loop.
    #[derive(Eq)]
    pub struct LoopEffect {
        /// When.
        pub at: Timestamp,
        /// The task; null if there is none, or if it was deleted.
        pub task: Option<LoopTask>,
        /// Its effect, one sentence without a full stop.
        pub effect: String,
    }

    /// One part of a project's inner loop.
    #[derive(Eq)]
    pub struct SubsystemStatus {
        /// Which.
        pub name: Subsystem,
        /// The path of its switch in the configuration.
        pub setting: String,
        /// Whether it is on.
        pub enabled: bool,
        /// Who says so.
        pub source: ValueSource,
        /// Whether its activity is recorded; if not, `last` and `open` have no meaning.
        pub recorded: bool,
        /// Its latest activity; null if there is none yet.
        pub last: Option<LoopEffect>,
        /// Number of its open items.
        pub open: u32,
    }
}

impl Subsystem {
    /// The path of its switch in the configuration.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Reviewer => "reviewer.enabled",
            Self::Competitive => "competitive.enabled",
            Self::AutoFix => "autoFix.enabled",
            Self::CostAnomaly => "costAnomaly.enabled",
            Self::Validate => "stopOnStagnation",
            Self::Reflexion => "reflexion.enabled",
            Self::Trajectory => "trajectory.enabled",
            Self::Knowledge => "knowledge.enabled",
            Self::Postmortem => "postmortem.enabled",
            Self::GateSuggestions => "gateSuggestions.enabled",
        }
    }

    /// Whether it is on.
    #[must_use]
    pub const fn is_on(self, config: &InnerLoop) -> bool {
        match self {
            Self::Reviewer => config.reviewer.enabled,
            Self::Competitive => config.competitive.enabled,
            Self::AutoFix => config.auto_fix.enabled,
            Self::CostAnomaly => config.cost_anomaly.enabled,
            Self::Validate => config.stop_on_stagnation,
            Self::Reflexion => config.reflexion.enabled,
            Self::Trajectory => config.trajectory.enabled,
            Self::Knowledge => config.knowledge.enabled,
            Self::Postmortem => config.postmortem.enabled,
            Self::GateSuggestions => config.gate_suggestions.enabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner_loop::sources;

    #[test]
    fn every_switch_is_one_of_the_configuration() {
        let config = InnerLoop::default();
        let known = sources(&config, None, None);
        let complete = serde_json::to_value(&config).unwrap();
        for name in Subsystem::ALL {
            let path = name.setting();
            assert!(known.contains_key(path), "{path}");
            let pointer = format!("/{}", path.replace('.', "/"));
            assert_eq!(complete.pointer(&pointer).unwrap(), name.is_on(&config), "{path}");
        }
    }
}
