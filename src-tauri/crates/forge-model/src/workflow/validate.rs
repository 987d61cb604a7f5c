//! Reading a definition: every finding at once, each with the path of its field. A definition that does
//! not parse is refused with line and column; nothing falls back silently.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Action, CleanupPolicy, OnFailure, Phase, State, StateConfig, StateKind, Workflow};
use crate::contract;

contract! {
    /// Something wrong with a field.
    pub struct Finding {
        /// Where, as `states[2].gate_config.reject_target`; empty for the whole text.
        pub path: String,
        /// What, and what would be right.
        pub message: String,
    }
}

/// A definition that may be used, with what was added to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The definition.
    pub workflow: Workflow,
    /// Remarks that do not refuse it.
    pub notes: Vec<String>,
}

/// Reads a definition from JSON text.
///
/// # Errors
/// All findings; a syntax error is one finding that names line and column.
pub fn parse(json: &str) -> Result<Parsed, Vec<Finding>> {
    let value: Value = serde_json::from_str(json)
        .map_err(|error| vec![Finding { path: String::new(), message: format!("not JSON: {error}") }])?;
    parse_value(value)
}

/// Reads a definition from a JSON value.
///
/// # Errors
/// All findings.
pub fn parse_value(value: Value) -> Result<Parsed, Vec<Finding>> {
    let mut workflow: Workflow = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        vec![Finding {
            path: if path == "." { String::new() } else { path },
            message: error.inner().to_string(),
        }]
    })?;
    let mut notes = Vec::new();
    if workflow.first_of(StateKind::Blocked).is_none() && workflow.state("blocked").is_none() {
        notes.push("no state of kind `blocked`: added `blocked` in column Blocked".to_owned());
        workflow.states.push(blocked_state());
    }
    let findings = validate(&workflow);
    if findings.is_empty() { Ok(Parsed { workflow, notes }) } else { Err(findings) }
}

fn blocked_state() -> State {
    State {
        name: "blocked".to_owned(),
        display_name: "Blocked".to_owned(),
        kind: StateKind::Blocked,
        column: "Blocked".to_owned(),
        role: None,
        gate_config: None,
        cleanup: None,
        hooks: super::Hooks {
            on_enter: vec![super::Hook {
                action: Action::PublishTaskBlocked,
                params: None,
                applies_to: super::Audience::All,
                on_failure: None,
            }],
            ..Default::default()
        },
        triggers: BTreeMap::new(),
        config: StateConfig::default(),
    }
}

struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Finding { path: path.into(), message: message.into() });
    }
}

fn validate(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Findings(Vec::new());
    check_whole(workflow, &mut findings);
    let names: BTreeSet<&str> = workflow.states.iter().map(|state| state.name.as_str()).collect();
    let roles: BTreeSet<&str> = workflow.roles.iter().map(|role| role.name.as_str()).collect();
    for (index, state) in workflow.states.iter().enumerate() {
        check_state(state, &format!("states[{index}]"), &names, &roles, &mut findings);
    }
    if findings.0.is_empty() {
        check_reachable(workflow, &mut findings);
    }
    findings.0
}

fn check_whole(workflow: &Workflow, findings: &mut Findings) {
    let count = |kind| workflow.states.iter().filter(|state| state.kind == kind).count();
    if count(StateKind::Initial) != 1 {
        findings.add(
            "states",
            format!("exactly one state of kind `initial` is needed, found {}", count(StateKind::Initial)),
        );
    }
    if count(StateKind::Terminal) == 0 {
        findings.add("states", "at least one state of kind `terminal` is needed");
    }
    if count(StateKind::Blocked) != 1 {
        findings.add(
            "states",
            format!("exactly one state of kind `blocked` is needed, found {}", count(StateKind::Blocked)),
        );
    }
    if count(StateKind::Active) == 0 && workflow.states.iter().any(|state| state.role.is_some()) {
        findings.add("states", "a workflow with roles needs at least one state of kind `active`");
    }
    let mut seen = BTreeSet::new();
    for (index, state) in workflow.states.iter().enumerate() {
        if !seen.insert(&state.name) {
            findings.add(format!("states[{index}].name"), format!("`{}` is used twice", state.name));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, role) in workflow.roles.iter().enumerate() {
        if !seen.insert(&role.name) {
            findings.add(format!("roles[{index}].name"), format!("`{}` is used twice", role.name));
        }
    }
    match workflow.state(&workflow.cancellation_state) {
        None => findings
            .add("cancellation_state", format!("no state is called `{}`", workflow.cancellation_state)),
        Some(state) if !state.is_terminal() => {
            findings.add("cancellation_state", format!("`{}` must be of kind `terminal`", state.name));
        }
        Some(_) => {}
    }
}

fn check_state(
    state: &State,
    path: &str,
    names: &BTreeSet<&str>,
    roles: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    if state.name.trim().is_empty() {
        findings.add(format!("{path}.name"), "must not be empty");
    }
    if state.column.trim().is_empty() {
        findings.add(format!("{path}.column"), "must not be empty");
    }
    if let Some(role) = &state.role
        && !roles.contains(role.as_str())
    {
        findings.add(format!("{path}.role"), format!("role `{role}` is not declared under `roles`"));
    }
    if let Some(target) = state.gate_config.as_ref().and_then(|gate| gate.reject_target.as_ref())
        && !names.contains(target.as_str())
    {
        findings.add(format!("{path}.gate_config.reject_target"), format!("no state is called `{target}`"));
    }
    for (name, trigger) in &state.triggers {
        if !names.contains(trigger.to.as_str()) {
            findings
                .add(format!("{path}.triggers.{name}.to"), format!("no state is called `{}`", trigger.to));
        }
    }
    if state.is_terminal() && !state.triggers.is_empty() {
        findings.add(format!("{path}.triggers"), "a terminal state has no automatic triggers");
    }
    if let (Some(CleanupPolicy::Delayed(_) | CleanupPolicy::Immediate), StateKind::Active) =
        (&state.cleanup, state.kind)
    {
        findings.add(format!("{path}.cleanup"), "an active state keeps its worktree");
    }
    for phase in Phase::ALL {
        for (index, hook) in state.hooks.phase(*phase).iter().enumerate() {
            let path = format!("{path}.hooks.{phase}[{index}]");
            if !hook.action.phases().contains(phase) {
                let may: Vec<_> = hook.action.phases().iter().map(|phase| phase.as_str()).collect();
                findings.add(
                    format!("{path}.action"),
                    format!("`{}` stands in {} only", hook.action, may.join(" or ")),
                );
            }
            match &hook.on_failure {
                Some(OnFailure::Block) if !matches!(phase, Phase::BeforeExit | Phase::BeforeEnter) => {
                    findings.add(
                        format!("{path}.on_failure"),
                        "`block` is for before_exit and before_enter only",
                    );
                }
                Some(OnFailure::Cascade(_)) if *phase == Phase::BeforeExit => {
                    findings.add(format!("{path}.on_failure"), "a guard can only block or log");
                }
                Some(OnFailure::Cascade(target)) if !names.contains(target.as_str()) => {
                    findings
                        .add(format!("{path}.on_failure.cascade"), format!("no state is called `{target}`"));
                }
                Some(OnFailure::Block | OnFailure::Log | OnFailure::Cascade(_)) | None => {}
            }
        }
    }
}

/// A state is reachable when a chain of declared moves, or a person's creation of a task there, leads to it.
fn check_reachable(workflow: &Workflow, findings: &mut Findings) {
    let Some(initial) = workflow.initial() else { return };
    let edges = workflow.edges();
    let mut reached: BTreeSet<&str> =
        BTreeSet::from([initial.name.as_str(), workflow.cancellation_state.as_str()]);
    reached.extend(workflow.states.iter().filter(|s| s.kind == StateKind::Blocked).map(|s| s.name.as_str()));
    loop {
        let before = reached.len();
        for edge in &edges {
            if reached.contains(edge.from.as_str())
                && let Some(to) = workflow.state(&edge.to)
            {
                reached.insert(to.name.as_str());
            }
        }
        if reached.len() == before {
            break;
        }
    }
    for (index, state) in workflow.states.iter().enumerate() {
        if !reached.contains(state.name.as_str()) {
            findings.add(
                format!("states[{index}]"),
                format!(
                    "`{}` cannot be reached from `{}`: add a trigger that leads to it",
                    state.name, initial.name
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workflow::default_workflow_json;

    fn paths(edit: impl FnOnce(&mut Value)) -> Vec<String> {
        let mut value: Value = serde_json::from_str(default_workflow_json()).unwrap();
        edit(&mut value);
        parse_value(value).map(|_| Vec::new()).unwrap_or_else(|f| f.into_iter().map(|f| f.path).collect())
    }

    #[test]
    fn the_shipped_default_is_valid() {
        assert_eq!(parse(default_workflow_json()).unwrap().notes, Vec::<String>::new());
    }

    #[test]
    fn each_finding_names_its_field() {
        assert_eq!(
            paths(|w| w["states"][1]["name"] = json!("backlog"))[..2],
            ["states[1].name", "states[0].triggers.accept.to"]
        );
        assert_eq!(paths(|w| w["states"][2]["role"] = json!("nobody")), ["states[2].role"]);
        assert_eq!(paths(|w| w["states"][2]["kind"] = json!("nonsense")), ["states[2].kind"]);
        assert_eq!(
            paths(|w| w["states"][3]["gate_config"]["reject_target"] = json!("x")),
            ["states[3].gate_config.reject_target"]
        );
        assert_eq!(paths(|w| w["cancellation_state"] = json!("todo")), ["cancellation_state"]);
        assert_eq!(
            paths(|w| w["states"][0]["colour"] = json!("red")),
            ["states[0]"].map(|_| "states[0].colour".to_owned())
        );
        assert_eq!(
            paths(|w| w["states"][3]["hooks"]["on_enter"][0]["on_failure"] = json!("block")),
            ["states[3].hooks.on_enter[0].on_failure"]
        );
        assert_eq!(
            paths(|w| w["states"][3]["hooks"]["on_enter"][0]["action"] = json!("run_ci_steps")),
            ["states[3].hooks.on_enter[0].action"]
        );
    }

    #[test]
    fn findings_come_all_at_once() {
        let found = paths(|w| {
            w["states"][2]["role"] = json!("nobody");
            w["states"][3]["column"] = json!("");
            w["states"][8]["triggers"] = json!({ "accept": { "to": "nowhere" } });
        });
        assert_eq!(
            found,
            ["states[2].role", "states[3].column", "states[8].triggers.accept.to", "states[8].triggers"]
        );
    }

    #[test]
    fn unreachable_states_are_found() {
        let found = paths(|w| {
            w["states"][3]["triggers"]["accept"]["to"] = json!("done");
        });
        assert_eq!(found, ["states[4]", "states[5]"]);
    }

    #[test]
    fn a_missing_blocked_state_is_added_and_said() {
        let mut value: Value = serde_json::from_str(default_workflow_json()).unwrap();
        value["states"].as_array_mut().unwrap().remove(6);
        let parsed = parse_value(value).unwrap();
        assert_eq!(parsed.notes.len(), 1);
        assert_eq!(parsed.workflow.blocked().unwrap().name, "blocked");
    }

    #[test]
    fn broken_json_is_refused_with_its_place() {
        let findings = parse("{\n  \"name\": }").unwrap_err();
        assert!(findings[0].message.contains("line 2 column"), "{findings:?}");
    }
}
