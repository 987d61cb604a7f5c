//! The examples that elections, cost judgements and measures of attempts are held to.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use forge_model::replay::{CostInput, HistoryInput, RaceInput};
use serde::de::DeserializeOwned;
use serde_json::Value;

const EXAMPLES: &str = include_str!("vectors/inner-loop-examples.json");

fn examples<T: DeserializeOwned>(kind: &str) -> Vec<(String, T, Value)> {
    let all: Value = serde_json::from_str(EXAMPLES).unwrap();
    let examples = all[kind].as_array().unwrap();
    assert!(!examples.is_empty());
    examples
        .iter()
        .map(|example| {
            let name = example["name"].as_str().unwrap().to_owned();
            let input = T::deserialize(&example["input"]).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, input, example["expected"].clone())
        })
        .collect()
}

#[test]
fn every_election_is_decided_as_its_example_says() {
    for (name, race, expected) in examples::<RaceInput>("election") {
        let election = serde_json::to_value(race.elect()).unwrap();
        assert_eq!(election["winner"], expected["winner"], "{name}");
        assert_eq!(election["decidedBy"], expected["decidedBy"], "{name}");
    }
}

#[test]
fn every_cost_is_judged_as_its_example_says() {
    for (name, run, expected) in examples::<CostInput>("anomaly") {
        let judged = serde_json::to_value(run.judge()).unwrap();
        assert_holds(&name, &expected, &judged);
    }
}

#[test]
fn every_attempt_is_measured_as_its_example_says() {
    for (name, history, expected) in examples::<HistoryInput>("validate-sequence") {
        let measured = serde_json::to_value(history.measure()).unwrap();
        let (expected, measured) =
            (expected["attempts"].as_array().unwrap(), measured["attempts"].as_array().unwrap());
        assert_eq!(expected.len(), measured.len(), "{name}");
        for (expected, measured) in expected.iter().zip(measured) {
            assert_holds(&format!("{name}, attempt {}", expected["attempt"]), expected, measured);
        }
    }
}

/// Whether what was found has all that was expected.
fn assert_holds(name: &str, expected: &Value, found: &Value) {
    for (key, value) in expected.as_object().unwrap() {
        let same = match (value.as_f64(), found[key].as_f64()) {
            // A whole number and a decimal are the same number.
            (Some(expected), Some(found)) => (expected - found).abs() < 1e-12,
            _ => value == &found[key],
        };
        assert!(same, "{name}: {key} is {}, not {value}", found[key]);
    }
}
