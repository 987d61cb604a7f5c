//! The examples that elections and cost judgements are held to.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test")]

use forge_model::replay::{CostInput, RaceInput};
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
        for (key, value) in expected.as_object().unwrap() {
            let same = match (value.as_f64(), judged[key].as_f64()) {
                // A whole number and a decimal are the same number.
                (Some(expected), Some(judged)) => (expected - judged).abs() < 1e-12,
                _ => value == &judged[key],
            };
            assert!(same, "{name}: {key} is {}, not {value}", judged[key]);
        }
    }
}
