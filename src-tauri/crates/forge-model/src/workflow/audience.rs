//! The moves, by people or agents, that run an action or a guard of a workflow.

use crate::names;

names! {
    /// Moves that run an action or a guard.
    pub enum Audience {
        /// Every move.
        All = "all",
        /// Moves of agents and of the engine.
        AgentOnly = "agent_only",
        /// Moves of people.
        UserOnly = "user_only",
    }
}
