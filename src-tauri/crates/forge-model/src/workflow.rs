//! Workflow definitions: the states of a project's board, who works in them and what happens between them.
//!
//! Invariant: nothing outside a definition knows a state's name. Other crates ask for a state by what it does
//! ([`Workflow::review_gate`], [`Workflow::merge_state`], ...), never by what it is called.

mod action;
mod arbitrary;
pub(crate) mod audience;
mod change;
mod edges;
mod presets;
mod rules;
mod shape;
mod text;
mod validate;

use std::collections::BTreeMap;

use serde_json::Value;

pub use action::{Action, LifecycleEvent, Phase};
pub use arbitrary::random_workflow;
pub use audience::Audience;
pub use change::{WorkflowChange, differences};
pub use edges::{Edge, EdgeKind, IllegalTransition, render_table};
pub use presets::{Preset, PresetInfo, default_workflow, default_workflow_json, preset, presets};
pub use shape::{Finding, key_path, nearest, nul_findings, shape_findings};
pub use text::parse_json;
pub use validate::{Parsed, parse, parse_stored, parse_value};

use crate::{contract, names};

names! {
    /// Kind of a state.
    pub enum StateKind {
        /// Parked ideas.
        Backlog = "backlog",
        /// Where tasks are created; exactly one.
        Initial = "initial",
        /// Somebody works.
        Active = "active",
        /// A decision is needed before the task continues.
        Gate = "gate",
        /// The task needs a person; exactly one.
        Blocked = "blocked",
        /// The task is closed.
        Terminal = "terminal",
        /// None of these.
        Custom = "custom",
    }
}

names! {
    /// Session that the agent starts with after a move back to work.
    pub enum SessionMode {
        /// A new one.
        New = "new",
        /// Resume the last session.
        Resume = "resume",
        /// Fork the last session.
        Fork = "fork",
    }
}

contract! {
    /// A workflow definition.
    #[serde(deny_unknown_fields)]
    pub struct Workflow {
        /// Its name, for people.
        pub name: String,
        /// The roles that its states can require.
        pub roles: Vec<Role>,
        /// Where cancelled tasks go; a terminal state.
        pub cancellation_state: String,
        /// The states, in board order.
        pub states: Vec<State>,
    }

    /// A role that an agent or a person can hold on a task.
    #[serde(deny_unknown_fields)]
    pub struct Role {
        /// Name used in `states[].role`.
        pub name: String,
        /// What people read.
        pub display_name: String,
    }

    /// One state.
    #[serde(deny_unknown_fields)]
    pub struct State {
        /// Unique name.
        pub name: String,
        /// What people read.
        pub display_name: String,
        /// What it is for.
        pub kind: StateKind,
        /// The board's column it is shown in.
        pub column: String,
        /// Who works in it.
        #[serde(default)]
        pub role: Option<String>,
        /// How a gate decides.
        #[serde(default)]
        pub gate_config: Option<GateConfig>,
        /// How the worktree is treated when this state is entered.
        #[serde(default)]
        pub cleanup: Option<CleanupPolicy>,
        /// Actions on entering and leaving.
        #[serde(default)]
        pub hooks: Hooks,
        /// Declared moves, by trigger: `accept`, `reject`, `fail`, `retry` or a custom name.
        #[serde(default)]
        pub triggers: BTreeMap<String, Trigger>,
        /// Its own numbers.
        #[serde(default)]
        pub config: StateConfig,
    }

    /// How a gate decides.
    #[serde(deny_unknown_fields)]
    pub struct GateConfig {
        /// State that a rejection moves the task to.
        #[serde(default)]
        pub reject_target: Option<String>,
        /// Number of rejections that are retried automatically.
        #[serde(default)]
        pub max_rejections: Option<u32>,
        /// Whether a person must decide in addition to any reviewer.
        #[serde(default)]
        pub requires_user_approval: UserApproval,
        /// Whether the gate passes when its role is unassigned.
        #[serde(default)]
        pub optional_when_unassigned: bool,
        /// Text of the approving button.
        #[serde(default)]
        pub approve_label: Option<String>,
        /// Text of the rejecting button.
        #[serde(default)]
        pub reject_label: Option<String>,
    }

    /// `false`, `true` or `"always"` (asked again even when a conflict fix comes back).
    #[serde(untagged)]
    pub enum UserApproval {
        /// Asked once per pass, or never.
        Flag(bool),
        /// Asked at every pass.
        Always(AlwaysWord),
    }

    /// How a worktree is treated.
    #[serde(rename_all = "snake_case")]
    pub enum CleanupPolicy {
        /// Removed as a step of the transition.
        Immediate,
        /// Kept until something else decides.
        Keep,
        /// Removed later.
        Delayed(Delay),
    }

    /// A delay.
    #[serde(deny_unknown_fields)]
    pub struct Delay {
        /// In seconds.
        pub seconds: u32,
    }

    /// Actions of a state, by phase.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct Hooks {
        /// Guards, before anything is written.
        pub before_exit: Vec<Hook>,
        /// After the move is recorded.
        pub on_exit: Vec<Hook>,
        /// The barrier: before an agent starts.
        pub before_enter: Vec<Hook>,
        /// Dispatch.
        pub on_enter: Vec<Hook>,
        /// May move the task to another state.
        pub after_enter: Vec<Hook>,
    }

    /// One action in one phase.
    #[serde(deny_unknown_fields)]
    pub struct Hook {
        /// What it does.
        pub action: Action,
        /// Its parameters.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub params: Option<Value>,
        /// Moves that run it.
        #[serde(default = "Hook::everybody")]
        pub applies_to: Audience,
        /// Effect of its failure; `block` in guards and barriers and `log` elsewhere when absent.
        #[serde(default)]
        pub on_failure: Option<OnFailure>,
    }

    /// Effect of a failed action.
    #[serde(rename_all = "snake_case")]
    pub enum OnFailure {
        /// Stops the move, or keeps the task behind the barrier.
        Block,
        /// Is recorded, and the rest continues.
        Log,
        /// Moves the task to this state.
        Cascade(String),
    }

    /// A declared move.
    #[serde(deny_unknown_fields)]
    pub struct Trigger {
        /// Where to.
        pub to: String,
        /// Text for the agent that starts there.
        #[serde(default)]
        pub prompt: Option<String>,
        /// The session that it starts with.
        #[serde(default)]
        pub session: Option<SessionMode>,
    }

    /// Options of a state.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct StateConfig {
        /// Budgets that this state owns.
        pub retry_budgets: RetryBudgets,
    }

    /// Limits of automatic retries; absent fields keep their defaults.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct RetryBudgets {
        /// Rejections in review.
        pub review: Option<u32>,
        /// Conflict fixes.
        pub merge_fix: Option<u32>,
        /// Restarts of a crashed agent and follow-ups after a refused guard.
        pub execution: Option<u32>,
    }
}

names! {
    /// The word `always`.
    pub enum AlwaysWord {
        /// Always.
        Always = "always",
    }
}

impl Default for UserApproval {
    fn default() -> Self {
        Self::Flag(false)
    }
}

impl UserApproval {
    /// Whether a person must decide.
    #[must_use]
    pub const fn required(&self) -> bool {
        !matches!(self, Self::Flag(false))
    }
}

impl Hook {
    const fn everybody() -> Audience {
        Audience::All
    }

    /// Whether it answers to moves of this audience.
    #[must_use]
    pub fn answers_to(&self, audience: Audience) -> bool {
        self.applies_to == Audience::All || self.applies_to == audience
    }
}

impl Hooks {
    /// The hooks of one phase, in order.
    #[must_use]
    pub fn phase(&self, phase: Phase) -> &[Hook] {
        match phase {
            Phase::BeforeExit => &self.before_exit,
            Phase::OnExit => &self.on_exit,
            Phase::BeforeEnter => &self.before_enter,
            Phase::OnEnter => &self.on_enter,
            Phase::AfterEnter => &self.after_enter,
        }
    }
}

impl State {
    /// Whether one of its hooks, in any phase, is `action`.
    #[must_use]
    pub fn has_action(&self, action: Action) -> bool {
        Phase::ALL.iter().any(|phase| self.hooks.phase(*phase).iter().any(|hook| hook.action == action))
    }

    /// Whether tasks in it are closed.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        self.kind == StateKind::Terminal
    }

    /// Whether entering it starts an agent.
    #[must_use]
    pub fn dispatches(&self) -> bool {
        self.role.is_some() && self.has_action(Action::DispatchRoleAgent)
    }

    /// Whether a move of this audience starts an agent here, while one holds its role.
    #[must_use]
    pub fn dispatches_for(&self, audience: Audience) -> bool {
        let entering = [Phase::BeforeEnter, Phase::OnEnter, Phase::AfterEnter];
        let starts = |hook: &Hook| hook.action == Action::DispatchRoleAgent && hook.answers_to(audience);
        self.role.is_some() && entering.iter().any(|phase| self.hooks.phase(*phase).iter().any(starts))
    }

    /// Whether an agent that holds its role judges the work here.
    #[must_use]
    pub fn audits(&self) -> bool {
        self.kind == StateKind::Gate && self.role.is_some() && self.dispatches() && !self.plans()
    }

    /// Whether its agent writes a plan that is decided on here: a gate that starts an agent and asks for
    /// the plan.
    #[must_use]
    pub fn plans(&self) -> bool {
        self.kind == StateKind::Gate && self.dispatches() && self.has_action(Action::RequirePlanComplete)
    }

    /// Whether somebody moves tasks on from it: a state of the project's own, whatever its hooks do first, or a gate that
    /// does nothing when it is entered.
    #[must_use]
    pub fn is_by_hand(&self) -> bool {
        let entering = [Phase::BeforeEnter, Phase::OnEnter, Phase::AfterEnter];
        match self.kind {
            StateKind::Custom => true,
            StateKind::Gate => entering.iter().all(|phase| self.hooks.phase(*phase).is_empty()),
            StateKind::Backlog
            | StateKind::Initial
            | StateKind::Active
            | StateKind::Blocked
            | StateKind::Terminal => false,
        }
    }
}

impl Workflow {
    /// The state of that name.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| state.name == name)
    }

    /// The first state of a kind.
    #[must_use]
    pub fn first_of(&self, kind: StateKind) -> Option<&State> {
        self.states.iter().find(|state| state.kind == kind)
    }

    /// Where tasks are created.
    #[must_use]
    pub fn initial(&self) -> Option<&State> {
        self.first_of(StateKind::Initial)
    }

    /// Where tasks that need a person go.
    #[must_use]
    pub fn blocked(&self) -> Option<&State> {
        self.first_of(StateKind::Blocked)
    }

    /// *The review*: the gate that runs the checks.
    #[must_use]
    pub fn review_gate(&self) -> Option<&State> {
        self.states.iter().find(|s| s.kind == StateKind::Gate && s.has_action(Action::RunCiSteps))
    }

    /// *Merging*: the state that runs the merge.
    #[must_use]
    pub fn merge_state(&self) -> Option<&State> {
        self.states.iter().find(|s| s.has_action(Action::RunMerge))
    }

    /// *Merge failed*: where the merge's failure leads.
    #[must_use]
    pub fn merge_failed(&self) -> Option<&State> {
        self.merge_state().and_then(|s| s.triggers.get("fail")).and_then(|t| self.state(&t.to))
    }

    /// Where the merge's success leads.
    #[must_use]
    pub fn merged(&self) -> Option<&State> {
        self.merge_state().and_then(|s| s.triggers.get("accept")).and_then(|t| self.state(&t.to))
    }

    /// Where an agent's work is done: the review's reject target, else the first active state.
    #[must_use]
    pub fn work_state(&self) -> Option<&State> {
        self.review_gate()
            .and_then(|gate| gate.gate_config.as_ref())
            .and_then(|config| config.reject_target.as_deref())
            .and_then(|name| self.state(name))
            .filter(|state| state.kind == StateKind::Active)
            .or_else(|| self.first_of(StateKind::Active))
    }

    /// Where a start from scratch begins: where creation's `accept` leads, when somebody has a part there
    /// (the work itself, or a plan for it).
    fn first_step(&self) -> Option<&State> {
        self.initial()
            .and_then(|state| state.triggers.get("accept"))
            .and_then(|trigger| self.state(&trigger.to))
            .filter(|state| state.role.is_some())
    }

    /// Where a claim of a task in `from` leads: to the first step of work. A claim takes a task out of the blocked
    /// state too, and starts it from the same place. A task in the backlog is not ready to be claimed.
    #[must_use]
    pub fn claim_target(&self, from: &str) -> Option<&State> {
        match self.state(from)?.kind {
            StateKind::Initial => self.first_step(),
            StateKind::Blocked => self.first_step().or_else(|| self.work_state()),
            StateKind::Backlog
            | StateKind::Active
            | StateKind::Gate
            | StateKind::Terminal
            | StateKind::Custom => None,
        }
    }

    /// The role that a claim fills: that of the first step of work.
    #[must_use]
    pub fn claim_role(&self) -> Option<&str> {
        self.first_step().or_else(|| self.work_state())?.role.as_deref()
    }

    /// Whether passing this gate means that the work was judged: the one that runs the checks, or, where none
    /// does, one that leads to the merge.
    #[must_use]
    pub fn judges_work(&self, state: &State) -> bool {
        match self.review_gate() {
            Some(gate) => gate.name == state.name,
            None => {
                state.kind == StateKind::Gate
                    && self.merge_state().is_some_and(|merge| {
                        state.triggers.get("accept").is_some_and(|accept| accept.to == merge.name)
                    })
            }
        }
    }

    /// The review budget's owner and the two others, with the task's own limits on top.
    #[must_use]
    pub fn budget_limits(&self, task: &RetryBudgets) -> crate::budget::Limits {
        let gate = self.review_gate().and_then(|s| s.gate_config.as_ref()).and_then(|g| g.max_rejections);
        let merge_fix = self.merge_failed().and_then(|s| s.config.retry_budgets.merge_fix);
        let execution = self.work_state().and_then(|s| s.config.retry_budgets.execution);
        crate::budget::Limits {
            review: task.review.or(gate).unwrap_or(crate::budget::DEFAULT_REVIEW),
            merge_fix: task.merge_fix.or(merge_fix).unwrap_or(crate::budget::DEFAULT_MERGE_FIX),
            execution: task.execution.or(execution).unwrap_or(crate::budget::DEFAULT_EXECUTION),
        }
    }
}
