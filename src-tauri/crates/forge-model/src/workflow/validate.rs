//! Reading a definition: every finding at once, each with the path of its field. A definition that does
//! not parse is refused with line and column; nothing falls back silently.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{Finding, shape_findings};
use super::text::parse_json;
use super::{Action, Audience, Hook, Hooks, State, StateConfig, StateKind, Workflow, rules};

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
    parse_value(parse_json(json)?)
}

/// Reads a definition from a JSON value. Keys that were written twice are gone by then; [`parse`] sees them.
///
/// # Errors
/// All findings, those of the shape first.
pub fn parse_value(mut value: Value) -> Result<Parsed, Vec<Finding>> {
    let mut notes = Vec::new();
    let adds_blocked = rules::lacks_blocked(&value);
    if adds_blocked
        && let (Some(Value::Array(states)), Ok(state)) =
            (value.get_mut("states"), serde_json::to_value(blocked_state()))
    {
        notes.push("no state of kind `blocked`: added `blocked` in column Blocked".to_owned());
        states.push(state);
    }
    let broken = rules::findings(&value);
    match serde_path_to_error::deserialize::<_, Workflow>(&value) {
        Ok(workflow) if broken.is_empty() => Ok(Parsed { workflow, notes }),
        Ok(_) => Err(broken),
        Err(error) => {
            let mut findings = shape_findings::<Workflow>(&value, "");
            if findings.is_empty() {
                let path = error.path().to_string();
                let path = if path == "." { String::new() } else { path };
                findings.push(Finding::new(path, error.inner().to_string()));
            }
            findings.extend(broken);
            Err(findings)
        }
    }
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
        hooks: Hooks {
            on_enter: vec![Hook {
                action: Action::PublishTaskBlocked,
                params: None,
                applies_to: Audience::All,
                on_failure: None,
            }],
            ..Default::default()
        },
        triggers: BTreeMap::new(),
        config: StateConfig::default(),
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
