//! The examples of the specification, every one of them.

use forge_source::{Texts, contract};
use serde_json::Value;

#[test]
fn every_example_is_judged_as_written() {
    let text = include_str!("../../forge-model/tests/vectors/inner-loop-examples.json");
    let examples: Value = serde_json::from_str(text).unwrap();
    let examples = examples["contract-check"].as_array().unwrap();
    assert!(examples.len() >= 21);
    for example in examples {
        let given = |key: &str| example["input"][key].as_str().unwrap();
        let (exporter, importer) = (given("exporter"), given("importer"));
        let files =
            Texts::default().with(exporter, given("exporterSource")).with(importer, given("importerSource"));
        let judged = contract(&files, exporter, importer);
        let name = &example["name"];
        assert_eq!(
            serde_json::to_value(judged.result).unwrap(),
            example["expected"]["result"],
            "{name}: {judged:?}"
        );
        assert_eq!(
            judged.reason.is_none(),
            judged.result == forge_source::Outcome::Pass,
            "{name}: {judged:?}"
        );
    }
}
