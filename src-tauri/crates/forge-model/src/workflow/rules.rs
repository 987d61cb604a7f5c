//! What a definition must hold beyond its shape.
//!
//! The rules read the JSON value itself, field by field, so that one unreadable field hides nothing but
//! itself: what could not be read is said by the shape walk, and a rule that would need it keeps silent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::shape::{Finding, key_path, proposal};
use super::{Action, Phase, StateKind};

/// Most states a definition may have.
pub(super) const MAX_STATES: usize = 64;
/// Longest name of a state, a role or a column, in characters.
pub(super) const MAX_NAME: usize = 64;

/// Every rule that the readable part of `value` breaks.
pub(super) fn findings(value: &Value) -> Vec<Finding> {
    let mut rules = Rules { draft: Draft::of(value), found: Vec::new() };
    if value.get("states").is_some_and(Value::is_array) {
        rules.check_counts();
    }
    rules.check_names();
    rules.check_cancellation();
    for index in 0..rules.draft.states.len() {
        rules.check_state(index);
    }
    rules.check_reachable();
    rules.found
}

/// How a gate decides, said of states that are none. It has no effect there, and earlier versions took it.
pub(super) fn gate_findings(value: &Value) -> Vec<Finding> {
    let draft = Draft::of(value);
    let misplaced = draft.states.iter().filter_map(|state| {
        let kind = state.kind.filter(|kind| *kind != StateKind::Gate)?;
        state.value.get("gate_config").filter(|config| config.is_object())?;
        // A rejection from a terminal state is a finding of its own.
        (kind != StateKind::Terminal || state.reject_target().is_none()).then(|| {
            let message = format!(
                "only a state of kind `gate` can have it, and this one is of kind `{kind}`: remove it, or change the kind"
            );
            Finding::new(format!("{}.gate_config", state.path), message)
        })
    });
    misplaced.collect()
}

/// Whether a definition names no blocked state at all, so that one may be added.
pub(super) fn lacks_blocked(value: &Value) -> bool {
    let draft = Draft::of(value);
    value.get("states").is_some_and(Value::is_array)
        && draft.states.iter().all(|state| state.kind.is_some_and(|kind| kind != StateKind::Blocked))
        && draft.states.iter().all(|state| state.name != Some("blocked"))
}

/// What could be read of a definition.
struct Draft<'v> {
    states: Vec<DraftState<'v>>,
    roles: Vec<Option<&'v str>>,
    /// Whether the list of roles itself could be read.
    roles_known: bool,
    cancellation: Option<&'v str>,
}

struct DraftState<'v> {
    value: &'v Value,
    path: String,
    name: Option<&'v str>,
    kind: Option<StateKind>,
}

impl<'v> Draft<'v> {
    fn of(value: &'v Value) -> Self {
        let list = |key: &str| value.get(key).and_then(Value::as_array);
        let text = |value: &'v Value, key: &str| value.get(key).and_then(Value::as_str);
        Self {
            states: list("states")
                .into_iter()
                .flatten()
                .enumerate()
                .map(|(index, state)| DraftState {
                    value: state,
                    path: format!("states[{index}]"),
                    name: text(state, "name"),
                    kind: text(state, "kind").and_then(|kind| kind.parse().ok()),
                })
                .collect(),
            roles: list("roles").into_iter().flatten().map(|role| text(role, "name")).collect(),
            roles_known: list("roles").is_some(),
            cancellation: text(value, "cancellation_state"),
        }
    }

    fn names(&self) -> Vec<&'v str> {
        self.states.iter().filter_map(|state| state.name).collect()
    }

    /// Whether a name that nobody has may be the name of a state that could not be read.
    fn has_nameless(&self) -> bool {
        self.states.iter().any(|state| state.name.is_none())
    }
}

impl<'v> DraftState<'v> {
    fn text(&self, key: &str) -> Option<&'v str> {
        self.value.get(key).and_then(Value::as_str)
    }

    fn reject_target(&self) -> Option<&'v Value> {
        self.value.get("gate_config")?.get("reject_target").filter(|target| !target.is_null())
    }

    fn triggers(&self) -> impl Iterator<Item = (&'v String, &'v Value)> {
        self.value.get("triggers").and_then(Value::as_object).into_iter().flatten()
    }

    /// Every hook with its phase and its path.
    fn hooks(&self) -> Vec<(Phase, String, &'v Value)> {
        let mut list = Vec::new();
        for phase in Phase::ALL {
            let of_phase = self.value.get("hooks").and_then(|hooks| hooks.get(phase.as_str()));
            for (index, hook) in of_phase.and_then(Value::as_array).into_iter().flatten().enumerate() {
                list.push((*phase, format!("{}.hooks.{phase}[{index}]", self.path), hook));
            }
        }
        list
    }

    /// Where declared moves lead; nothing in place of a target that could not be read.
    fn targets(&self) -> Vec<Option<&'v str>> {
        let mut list: Vec<Option<&'v str>> =
            self.triggers().map(|(_, trigger)| trigger.get("to").and_then(Value::as_str)).collect();
        list.extend(self.reject_target().map(Value::as_str));
        for (_, _, hook) in self.hooks() {
            list.extend(hook.get("on_failure").and_then(|policy| policy.get("cascade")).map(Value::as_str));
        }
        list
    }
}

struct Rules<'v> {
    draft: Draft<'v>,
    found: Vec<Finding>,
}

impl<'v> Rules<'v> {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.found.push(Finding::new(path, message));
    }

    fn check_counts(&mut self) {
        let states = &self.draft.states;
        if states.len() > MAX_STATES {
            let message = format!("{} states are too many; at most {MAX_STATES} are allowed", states.len());
            return self.add("states", message);
        }
        let unread = states.iter().any(|state| state.kind.is_none());
        let count = |kind| states.iter().filter(|state| state.kind == Some(kind)).count();
        let (initial, terminal, active, blocked) = (
            count(StateKind::Initial),
            count(StateKind::Terminal),
            count(StateKind::Active),
            count(StateKind::Blocked),
        );
        let with_roles = states.iter().any(|state| state.text("role").is_some());
        // A kind that could not be read may be the one that is missing.
        if initial > 1 || (initial == 0 && !unread) {
            self.add("states", format!("exactly one state of kind `initial` is required, found {initial}"));
        }
        if terminal == 0 && !unread {
            self.add("states", "at least one state of kind `terminal` is required");
        }
        if blocked > 1 || (blocked == 0 && !unread) {
            self.add("states", format!("exactly one state of kind `blocked` is required, found {blocked}"));
        }
        if active == 0 && with_roles && !unread {
            self.add("states", "a workflow with roles needs at least one state of kind `active`");
        }
    }

    fn check_names(&mut self) {
        let roles: Vec<(String, Option<&'v str>)> = self
            .draft
            .roles
            .iter()
            .enumerate()
            .map(|(index, name)| (format!("roles[{index}].name"), *name))
            .collect();
        for (path, name) in &roles {
            match name {
                Some(name) if name.trim().is_empty() => self.add(path.as_str(), "must not be empty"),
                Some(name) if name.chars().count() > MAX_NAME => {
                    self.add(path.as_str(), format!("must have at most {MAX_NAME} characters"));
                }
                Some(_) | None => {}
            }
        }
        self.check_unique(&roles);
        let states: Vec<(String, Option<&'v str>)> =
            self.draft.states.iter().map(|state| (format!("{}.name", state.path), state.name)).collect();
        self.check_unique(&states);
    }

    fn check_unique(&mut self, names: &[(String, Option<&'v str>)]) {
        let mut first: BTreeMap<&str, &str> = BTreeMap::new();
        for (path, name) in names {
            let Some(name) = name else { continue };
            if let Some(other) = first.get(name) {
                let message = format!("`{name}` is used twice; {other} is the first");
                self.add(path.as_str(), message);
            } else {
                first.insert(name, path);
            }
        }
    }

    fn check_cancellation(&mut self) {
        let Some(name) = self.draft.cancellation else { return };
        let path = "cancellation_state";
        let kind = self.draft.states.iter().find(|state| state.name == Some(name)).map(|state| state.kind);
        match kind {
            None => self.check_target(path, name),
            Some(Some(kind)) if kind != StateKind::Terminal => {
                self.add(path, format!("`{name}` must be of kind `terminal`, not `{kind}`"));
            }
            Some(_) => {}
        }
    }

    fn check_target(&mut self, path: impl Into<String>, target: &str) {
        let names = self.draft.names();
        if !names.contains(&target) && !self.draft.has_nameless() {
            let help =
                if names.is_empty() { String::new() } else { format!("; {}", proposal(target, &names)) };
            self.add(path, format!("no state `{target}`{help}"));
        }
    }

    fn check_state(&mut self, index: usize) {
        let Some(state) = self.draft.states.get(index) else { return };
        let (path, name, kind) = (state.path.clone(), state.name, state.kind);
        let (column, role, reject_target) = (state.text("column"), state.text("role"), state.reject_target());
        let cleans = state
            .value
            .get("cleanup")
            .is_some_and(|cleanup| cleanup.as_str() == Some("immediate") || cleanup.get("delayed").is_some());
        let triggers: Vec<(&String, &Value)> = state.triggers().collect();
        let hooks = state.hooks();
        if let Some(name) = name {
            self.check_identifier(&format!("{path}.name"), name);
        }
        match column {
            Some(column) if column.trim().is_empty() => {
                self.add(format!("{path}.column"), "must not be empty");
            }
            Some(column) if column.chars().count() > MAX_NAME => {
                self.add(format!("{path}.column"), format!("must have at most {MAX_NAME} characters"));
            }
            Some(_) | None => {}
        }
        if let Some(role) = role {
            self.check_role(&format!("{path}.role"), role);
        }
        if let Some(target) = reject_target.and_then(Value::as_str) {
            self.check_target(format!("{path}.gate_config.reject_target"), target);
        }
        for (name, trigger) in &triggers {
            let below = key_path(&format!("{path}.triggers"), name);
            if name.trim().is_empty() {
                self.add(below.as_str(), "a trigger needs a name");
            }
            if let Some(target) = trigger.get("to").and_then(Value::as_str) {
                self.check_target(format!("{below}.to"), target);
            }
        }
        if kind == Some(StateKind::Terminal) {
            if !triggers.is_empty() {
                self.add(format!("{path}.triggers"), "a terminal state has no automatic triggers");
            }
            if reject_target.is_some() {
                let message = "no automatic move leaves a terminal state, so nothing can be rejected from it";
                self.add(format!("{path}.gate_config.reject_target"), message);
            }
        }
        if kind == Some(StateKind::Active) && cleans {
            self.add(format!("{path}.cleanup"), "an active state keeps its worktree");
        }
        for (phase, path, hook) in hooks {
            self.check_hook(phase, &path, hook, name, kind);
        }
    }

    fn check_identifier(&mut self, path: &str, name: &str) {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if name.is_empty() {
            self.add(path, "must not be empty");
        } else if !plain {
            self.add(path, format!("`{name}` may contain only letters, digits, `_` and `-`"));
        } else if name.len() > MAX_NAME {
            self.add(path, format!("must have at most {MAX_NAME} characters"));
        }
    }

    fn check_role(&mut self, path: &str, role: &str) {
        let unread = !self.draft.roles_known || self.draft.roles.iter().any(Option::is_none);
        let roles: Vec<&str> = self.draft.roles.iter().flatten().copied().collect();
        if !unread && !roles.contains(&role) {
            let help = if roles.is_empty() { String::new() } else { format!("; {}", proposal(role, &roles)) };
            self.add(path, format!("role `{role}` is not declared under `roles`{help}"));
        }
    }

    fn check_hook(
        &mut self,
        phase: Phase,
        path: &str,
        hook: &Value,
        state: Option<&str>,
        kind: Option<StateKind>,
    ) {
        let action: Option<Action> =
            hook.get("action").and_then(Value::as_str).and_then(|name| name.parse().ok());
        if let Some(action) = action {
            if !action.phases().contains(&phase) {
                let may: Vec<_> = action.phases().iter().map(|phase| phase.as_str()).collect();
                self.add(
                    format!("{path}.action"),
                    format!("`{action}` is allowed only in {}", may.join(" or ")),
                );
            }
            self.check_params(action, &format!("{path}.params"), hook.get("params"));
        }
        let Some(policy) = hook.get("on_failure") else { return };
        let guards = matches!(phase, Phase::BeforeExit | Phase::BeforeEnter);
        if policy.as_str() == Some("block") && !guards {
            self.add(format!("{path}.on_failure"), "`block` is allowed only in before_exit and before_enter");
        }
        let Some(cascade) = policy.get("cascade") else { return };
        if kind == Some(StateKind::Terminal) {
            self.add(format!("{path}.on_failure"), "no automatic move leaves a terminal state");
        }
        let Some(target) = cascade.as_str() else { return };
        let below = format!("{path}.on_failure.cascade");
        // A guard keeps the task where it is, entering puts it there.
        if phase != Phase::OnExit && state == Some(target) {
            self.add(below, format!("`{target}` is the state itself: the task would enter it in a loop"));
        } else {
            self.check_target(below, target);
        }
    }

    fn check_params(&mut self, action: Action, path: &str, params: Option<&Value>) {
        let known = action.params();
        let none = Map::new();
        let given = match params {
            None | Some(Value::Null) => &none,
            Some(Value::Object(given)) => given,
            Some(_) => return self.add(path, "must be an object"),
        };
        for key in given.keys().filter(|key| !known.contains(&key.as_str())) {
            let message = if known.is_empty() {
                format!("`{action}` takes no parameters")
            } else {
                format!("`{action}` has no parameter `{key}`; {}", proposal(key, known))
            };
            self.add(key_path(path, key), message);
        }
    }

    /// A state is reachable when a chain of declared moves leads to it from where tasks are created. A move
    /// whose target is unknown may lead anywhere, so nothing is called unreachable behind one.
    fn check_reachable(&mut self) {
        let states = &self.draft.states;
        let by_name: BTreeMap<&str, &DraftState<'v>> =
            states.iter().filter_map(|state| Some((state.name?, state))).collect();
        let mut initial = states.iter().filter(|state| state.kind == Some(StateKind::Initial));
        let (Some(first), None) = (initial.next(), initial.next()) else { return };
        let Some(start) = first.name else { return };
        let given = self.draft.cancellation;
        // A kind that could not be read may be the blocked one's.
        let blocked = states.iter().filter(|state| state.kind.is_none_or(|kind| kind == StateKind::Blocked));
        let mut open: Vec<&str> =
            std::iter::once(start).chain(given).chain(blocked.filter_map(|state| state.name)).collect();
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        while let Some(name) = open.pop() {
            let Some(state) = by_name.get(name) else { return };
            if reached.insert(name) {
                for target in state.targets() {
                    let Some(target) = target else { return };
                    open.push(target);
                }
            }
        }
        let lost: Vec<(String, &str)> = states
            .iter()
            .filter_map(|state| Some((state.path.clone(), state.name?)))
            .filter(|(_, name)| !reached.contains(name))
            .collect();
        for (path, name) in lost {
            let message =
                format!("`{name}` cannot be reached from `{start}`: add a trigger that leads to it");
            self.add(path, message);
        }
    }
}
