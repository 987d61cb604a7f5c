//! Whatever comes in: nothing panics, everything refused is explained, and every place exists.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::settings::ProjectSettings;
use crate::workflow::presets;

/// What a path points at, or its parent when the last part is what is missing.
fn resolves(value: &Value, path: &str) -> bool {
    let mut here = Some(value);
    let mut rest = path;
    while !rest.is_empty() {
        let Some(parent) = here else { return false };
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted
                .match_indices("\"]")
                .map(|(at, _)| at)
                .find(|at| serde_json::from_str::<String>(&format!("\"{}\"", &quoted[..*at])).is_ok());
            let Some(end) = end else { return false };
            let key: String = serde_json::from_str(&format!("\"{}\"", &quoted[..end])).unwrap();
            here = parent.get(key);
            rest = &quoted[end + 2..];
        } else if let Some(index) = rest.strip_prefix('[') {
            let Some((index, behind)) = index.split_once(']') else { return false };
            here = parent.get(index.parse::<usize>().unwrap());
            rest = behind;
        } else {
            let key = rest.strip_prefix('.').unwrap_or(rest);
            let end = key.find(['.', '[']).unwrap_or(key.len());
            here = parent.get(&key[..end]);
            rest = &key[end..];
        }
    }
    true
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "name",
        "roles",
        "states",
        "kind",
        "initial",
        "terminal",
        "blocked",
        "active",
        "gate",
        "hooks",
        "on_enter",
        "before_exit",
        "action",
        "run_merge",
        "on_failure",
        "cascade",
        "block",
        "triggers",
        "to",
        "accept",
        "gate_config",
        "reject_target",
        "cancellation_state",
        "column",
        "display_name",
        "cleanup",
        "delayed",
        "seconds",
        "config",
        "retry_budgets",
        "review",
        "params",
        "type",
        "script",
        "plugin",
        "",
    ]);
    let text = prop_oneof![4 => words.prop_map(str::to_owned), 1 => any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 96, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// A change somewhere in a value: where (each number chooses a child), and what.
#[derive(Debug, Clone)]
enum Change {
    Set(Value),
    Remove,
    Rename(String),
    Add(String, Value),
    Repeat,
}

fn any_change() -> impl Strategy<Value = (Vec<prop::sample::Index>, Change)> {
    let change = prop_oneof![
        any_json().prop_map(Change::Set),
        Just(Change::Remove),
        "[a-z_ .\\[\"]{0,8}".prop_map(Change::Rename),
        ("[a-z_ .\\[\"]{0,8}", any_json()).prop_map(|(key, value)| Change::Add(key, value)),
        Just(Change::Repeat),
    ];
    (prop::collection::vec(any::<prop::sample::Index>(), 1..7), change)
}

fn apply(value: &mut Value, place: &[prop::sample::Index], change: &Change) {
    let Some((first, rest)) = place.split_first() else {
        match change {
            Change::Set(new) => *value = new.clone(),
            Change::Add(key, new) => {
                if let Value::Object(map) = value {
                    map.insert(key.clone(), new.clone());
                }
            }
            Change::Remove | Change::Rename(_) | Change::Repeat => {}
        }
        return;
    };
    match value {
        Value::Array(list) if !list.is_empty() => {
            let index = first.index(list.len());
            match (rest, change) {
                ([], Change::Remove) => drop(list.remove(index)),
                ([], Change::Repeat) => list.push(list[index].clone()),
                _ => apply(&mut list[index], rest, change),
            }
        }
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(first.index(map.len())).cloned().unwrap();
            match (rest, change) {
                ([], Change::Remove) => drop(map.remove(&key)),
                ([], Change::Rename(new)) => {
                    let old = map.remove(&key).unwrap();
                    map.insert(new.clone(), old);
                }
                _ => apply(&mut map[&key], rest, change),
            }
        }
        other => apply(other, &[], change),
    }
}

/// Whatever the text, the shape walk explains what deserialisation refuses, at places that exist.
fn explained<T: serde::de::DeserializeOwned + schemars::JsonSchema>(
    value: &Value,
) -> Result<(), TestCaseError> {
    let found = shape_findings::<T>(value, "");
    if let Err(error) = serde_json::from_value::<T>(value.clone()) {
        prop_assert!(!found.is_empty(), "{} is not explained in {}", error, value);
    }
    for finding in &found {
        prop_assert!(resolves(value, &finding.path), "{:?} leads nowhere in {}", finding, value);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn no_value_makes_it_panic(value in any_json()) {
        let _ = parse_value(value.clone());
        explained::<Workflow>(&value)?;
        explained::<ProjectSettings>(&value)?;
    }

    #[test]
    fn every_finding_of_a_changed_definition_has_a_place(
        preset in 0..3_usize,
        changes in prop::collection::vec(any_change(), 1..5),
    ) {
        let mut value: Value = serde_json::from_str(presets()[preset].json).unwrap();
        for (place, change) in &changes {
            apply(&mut value, place, change);
        }
        explained::<Workflow>(&value)?;
        match parse_value(value.clone()) {
            Err(findings) => {
                prop_assert!(!findings.is_empty());
                for finding in findings {
                    prop_assert!(resolves(&value, &finding.path), "{:?} leads nowhere in {}", finding, value);
                }
            }
            Ok(parsed) => {
                // What was accepted is accepted again as it was written down.
                let again = parse_value(serde_json::to_value(&parsed.workflow).unwrap());
                prop_assert_eq!(again.map(|again| again.workflow), Ok(parsed.workflow));
            }
        }
    }

    #[test]
    fn changed_settings_are_explained(changes in prop::collection::vec(any_change(), 1..5)) {
        let mut value = serde_json::to_value(ProjectSettings::default()).unwrap();
        value["lifecycle_hooks"]["before_work"] = json!([
            { "type": "script", "command": "x" }, { "type": "plugin", "name": "knowledge-inject" }
        ]);
        for (place, change) in &changes {
            apply(&mut value, place, change);
        }
        explained::<ProjectSettings>(&value)?;
    }
}
