//! Random definitions, for the tests of this and other crates.
//!
//! Invariants: the same seed gives the same definition, and every definition is valid. Beyond validity
//! nothing is promised: states bear names that no shipped definition uses, hooks stand wherever they may,
//! and moves may lead in circles.

use std::collections::BTreeMap;

use super::{
    Action, Audience, CleanupPolicy, Delay, GateConfig, Hook, Hooks, OnFailure, Phase, RetryBudgets, Role,
    SessionMode, State, StateConfig, StateKind, Trigger, UserApproval, Workflow,
};
use crate::workflow::AlwaysWord;

const WORDS: &[&str] = &["ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "oak", "pine", "yew"];
const TRIGGERS: &[&str] = &["accept", "reject", "fail", "retry", "escalate", "park"];

/// A valid definition that depends on `seed` alone.
#[must_use]
pub fn random_workflow(seed: u64) -> Workflow {
    let mut dice = Dice(seed);
    let roles = roles(&mut dice);
    let mut states: Vec<State> = kinds(&mut dice, !roles.is_empty())
        .into_iter()
        .enumerate()
        .map(|(i, kind)| bare(&mut dice, i, kind))
        .collect();
    let terminal: Vec<String> = names(&states, |state| state.is_terminal());
    let cancellation_state = dice.pick(&terminal).cloned().unwrap_or_default();
    connect(&mut dice, &mut states);
    let targets = names(&states, |_| true);
    let reviewed = states.iter().position(|state| state.kind == StateKind::Gate);
    let work = states.iter().find(|state| state.kind == StateKind::Active).map(|state| state.name.clone());
    for (index, state) in states.iter_mut().enumerate() {
        dress(&mut dice, state, &roles, &targets);
        if reviewed == Some(index) && dice.one_in(2) {
            review(state, work.as_deref());
        }
    }
    dice.shuffle(&mut states);
    Workflow { name: format!("random-{seed}"), roles, cancellation_state, states }
}

fn names(states: &[State], which: impl Fn(&State) -> bool) -> Vec<String> {
    states.iter().filter(|state| which(state)).map(|state| state.name.clone()).collect()
}

fn roles(dice: &mut Dice) -> Vec<Role> {
    let count = dice.below(4);
    (0..count).map(|i| Role { name: format!("role_{i}"), display_name: format!("Role {i}") }).collect()
}

/// The kinds of the states: one initial, one blocked, at least one terminal, work where there are roles.
fn kinds(dice: &mut Dice, with_roles: bool) -> Vec<StateKind> {
    let mut kinds = vec![StateKind::Initial, StateKind::Blocked, StateKind::Terminal];
    let active = dice.below(3) + usize::from(with_roles);
    let counts = [
        (StateKind::Active, active),
        (StateKind::Gate, dice.below(4)),
        (StateKind::Custom, dice.below(3)),
        (StateKind::Backlog, dice.below(2)),
        (StateKind::Terminal, dice.below(3)),
    ];
    for (kind, count) in counts {
        kinds.extend(std::iter::repeat_n(kind, count));
    }
    kinds
}

fn bare(dice: &mut Dice, index: usize, kind: StateKind) -> State {
    let word = dice.pick(WORDS).copied().unwrap_or("state");
    let column = dice.below(index + 1);
    State {
        name: format!("{word}{}{index}", if dice.one_in(2) { '-' } else { '_' }),
        display_name: format!("{word} {index}"),
        kind,
        column: format!("Column {column}"),
        role: None,
        gate_config: None,
        cleanup: None,
        hooks: Hooks::default(),
        triggers: BTreeMap::new(),
        config: StateConfig::default(),
    }
}

/// Gives every state a move that leads to it from one that is reached already, and some moves more.
fn connect(dice: &mut Dice, states: &mut [State]) {
    let open: Vec<usize> = (0..states.len())
        .filter(|i| {
            states.get(*i).is_some_and(|state| !state.is_terminal() && state.kind != StateKind::Blocked)
        })
        .collect();
    // The initial state comes first in `kinds`, so it is the first that is reached.
    let mut reached: Vec<usize> = open.first().copied().into_iter().collect();
    let closed = (0..states.len()).filter(|i| !open.contains(i));
    let rest: Vec<usize> = open.iter().skip(1).copied().chain(closed).collect();
    for index in rest {
        let Some(from) = dice.pick(&reached).copied() else { return };
        lead(dice, states, from, index);
        if open.contains(&index) {
            reached.push(index);
        }
    }
    for _ in 0..dice.below(states.len()) {
        if let (Some(from), to) = (dice.pick(&open).copied(), dice.below(states.len())) {
            lead(dice, states, from, to);
        }
    }
}

fn lead(dice: &mut Dice, states: &mut [State], from: usize, to: usize) {
    let Some(target) = states.get(to).map(|state| state.name.clone()) else { return };
    let Some(state) = states.get_mut(from) else { return };
    let free: Vec<&str> =
        TRIGGERS.iter().copied().filter(|name| !state.triggers.contains_key(*name)).collect();
    // `accept` first: a way on is what most states have.
    let name = match free.first() {
        Some(&"accept") => "accept".to_owned(),
        _ => dice
            .pick(&free)
            .map_or_else(|| format!("way-{}", state.triggers.len()), |name| (*name).to_owned()),
    };
    let session = dice.pick(SessionMode::ALL).copied().filter(|_| dice.one_in(3));
    let prompt = dice.one_in(4).then(|| format!("Go on from {}.", state.name));
    state.triggers.insert(name, Trigger { to: target, prompt, session });
}

fn dress(dice: &mut Dice, state: &mut State, roles: &[Role], targets: &[String]) {
    let may_have_role = matches!(state.kind, StateKind::Active | StateKind::Gate | StateKind::Custom);
    if may_have_role && dice.one_in(2) {
        state.role = dice.pick(roles).map(|role| role.name.clone());
    }
    if state.kind == StateKind::Gate {
        state.gate_config = Some(gate(dice, &state.name, targets));
    }
    state.cleanup = match (state.kind, dice.below(6)) {
        (_, 0) => Some(CleanupPolicy::Keep),
        (StateKind::Active, _) => None,
        (_, 1) => Some(CleanupPolicy::Immediate),
        (_, 2) => Some(CleanupPolicy::Delayed(Delay { seconds: dice.number(7 * 24 * 3600) })),
        _ => None,
    };
    state.config.retry_budgets = RetryBudgets {
        review: dice.maybe_number(3),
        merge_fix: dice.maybe_number(3),
        execution: dice.maybe_number(3),
    };
    for phase in Phase::ALL {
        for _ in 0..dice.below(3).saturating_sub(1) {
            if let Some(hook) = hook(dice, *phase, state, targets) {
                phase_mut(&mut state.hooks, *phase).push(hook);
            }
        }
    }
    if state.role.is_some() && !state.has_action(Action::DispatchRoleAgent) && !dice.one_in(4) {
        state.hooks.on_enter.push(plain(Action::DispatchRoleAgent));
    }
}

fn gate(dice: &mut Dice, own: &str, targets: &[String]) -> GateConfig {
    let reject_target = match dice.below(4) {
        0 => None,
        // A draft that is sent back to where it was made.
        1 => Some(own.to_owned()),
        _ => dice.pick(targets).cloned(),
    };
    GateConfig {
        reject_target,
        max_rejections: dice.maybe_number(4),
        requires_user_approval: match dice.below(3) {
            0 => UserApproval::Flag(false),
            1 => UserApproval::Flag(true),
            _ => UserApproval::Always(AlwaysWord::Always),
        },
        optional_when_unassigned: dice.one_in(2),
        approve_label: dice.one_in(2).then(|| "Yes".to_owned()),
        reject_label: dice.one_in(2).then(|| "No".to_owned()),
    }
}

/// Makes a gate *the review*, whose rejection leads back to work.
fn review(state: &mut State, work: Option<&str>) {
    let cascade = work.map(|work| OnFailure::Cascade(work.to_owned()));
    state.hooks.before_enter.retain(|hook| hook.action != Action::RunCiSteps);
    state.hooks.before_enter.push(Hook { on_failure: cascade, ..plain(Action::RunCiSteps) });
    state.hooks.after_enter.push(plain(Action::AutoCascadeOnReviewPass));
    if let (Some(gate), Some(work)) = (&mut state.gate_config, work) {
        gate.reject_target = Some(work.to_owned());
    }
}

const fn plain(action: Action) -> Hook {
    Hook { action, params: None, applies_to: Audience::All, on_failure: None }
}

fn hook(dice: &mut Dice, phase: Phase, state: &State, targets: &[String]) -> Option<Hook> {
    let fitting: Vec<Action> =
        Action::ALL.iter().copied().filter(|action| action.phases().contains(&phase)).collect();
    let action = dice.pick(&fitting).copied()?;
    let stays = phase != Phase::OnExit;
    let may_cascade = !state.is_terminal();
    let on_failure = match dice.below(4) {
        0 => Some(OnFailure::Log),
        1 if matches!(phase, Phase::BeforeExit | Phase::BeforeEnter) => Some(OnFailure::Block),
        2 if may_cascade => dice
            .pick(targets)
            .filter(|target| !stays || **target != state.name)
            .map(|target| OnFailure::Cascade(target.clone())),
        _ => None,
    };
    let applies_to = dice.pick(Audience::ALL).copied().filter(|_| dice.one_in(3)).unwrap_or(Audience::All);
    let params = dice.one_in(8).then(|| serde_json::json!({}));
    Some(Hook { action, params, applies_to, on_failure })
}

const fn phase_mut(hooks: &mut Hooks, phase: Phase) -> &mut Vec<Hook> {
    match phase {
        Phase::BeforeExit => &mut hooks.before_exit,
        Phase::OnExit => &mut hooks.on_exit,
        Phase::BeforeEnter => &mut hooks.before_enter,
        Phase::OnEnter => &mut hooks.on_enter,
        Phase::AfterEnter => &mut hooks.after_enter,
    }
}

/// SplitMix64: every seed gives its own row, and neighbouring seeds have nothing in common.
struct Dice(u64);

impl Dice {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `bound` without it; 0 for a bound of 0.
    fn number(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound.max(1))).unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.number(u32::try_from(bound).unwrap_or(u32::MAX)) as usize
    }

    fn one_in(&mut self, chances: u32) -> bool {
        self.number(chances) == 0
    }

    fn maybe_number(&mut self, bound: u32) -> Option<u32> {
        let number = self.number(bound);
        self.one_in(2).then_some(number)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len());
        from.get(index)
    }

    fn shuffle<T>(&mut self, list: &mut [T]) {
        for index in (1..list.len()).rev() {
            list.swap(index, self.below(index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workflow::parse_value;

    const SEEDS: std::ops::Range<u64> = 0..2000;

    #[test]
    fn every_definition_is_valid_and_its_own() {
        let mut different = BTreeSet::new();
        for seed in SEEDS {
            let workflow = random_workflow(seed);
            assert_eq!(workflow, random_workflow(seed));
            let value = serde_json::to_value(&workflow).unwrap();
            different.insert(value.to_string());
            let parsed = parse_value(value).unwrap_or_else(|found| panic!("seed {seed}: {found:?}"));
            assert_eq!(parsed.notes, Vec::<String>::new(), "seed {seed}");
            assert_eq!(parsed.workflow, workflow, "seed {seed}");
        }
        assert_eq!(different.len(), SEEDS.count());
    }

    /// The rule of reachability reads the JSON; the engine walks [`Workflow::edges`]. They agree.
    #[test]
    fn every_state_is_led_to_by_the_edges() {
        for seed in SEEDS {
            let workflow = random_workflow(seed);
            let edges = workflow.edges();
            let starts =
                [workflow.initial(), workflow.blocked(), workflow.state(&workflow.cancellation_state)];
            let mut open: Vec<&str> = starts.into_iter().flatten().map(|state| state.name.as_str()).collect();
            let mut reached = BTreeSet::new();
            while let Some(name) = open.pop() {
                if reached.insert(name) {
                    open.extend(edges.iter().filter(|edge| edge.from == name).map(|edge| edge.to.as_str()));
                }
            }
            assert_eq!(reached.len(), workflow.states.len(), "seed {seed}");
        }
    }

    /// What never comes up would never be tested.
    #[test]
    fn everything_that_may_stand_comes_up() {
        let (mut actions, mut kinds, mut edges) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut back, mut reviews, mut merges, mut plain) = (0, 0, 0, 0);
        for seed in SEEDS {
            let workflow = random_workflow(seed);
            kinds.extend(workflow.states.iter().map(|state| state.kind));
            for state in &workflow.states {
                for phase in Phase::ALL {
                    actions.extend(state.hooks.phase(*phase).iter().map(|hook| (*phase, hook.action)));
                }
            }
            for edge in workflow.edges() {
                back += usize::from(edge.from == edge.to);
                edges.insert(edge.kind);
            }
            reviews += usize::from(workflow.review_gate().is_some());
            merges += usize::from(workflow.merge_state().is_some());
            plain += usize::from(workflow.roles.is_empty());
        }
        let possible: usize = Action::ALL.iter().map(|action| action.phases().len()).sum();
        assert_eq!((actions.len(), kinds.len(), edges.len()), (possible, StateKind::ALL.len(), 5));
        assert!(
            back > 100 && reviews > 100 && merges > 100 && plain > 100,
            "{back} {reviews} {merges} {plain}"
        );
    }
}
