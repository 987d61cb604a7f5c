//! Small packages in which a name goes astray: what is said of them here is what CPython says when it runs them.
use std::fs;

use super::{common::judge, python_cases_table::CASES};
use forge_source::{Outcome, Texts, contract};
use serde_json::json;

/// Files as `path: text`, the exporter first and the importer last; a pass must run and a fail must not.
pub type Case = (&'static str, &'static [(&'static str, &'static str)]);

#[test]
fn cpython_and_the_contract_agree_on_small_packages() {
    let scratch = tempfile::tempdir().unwrap();
    let (mut questions, mut told, mut differ) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (expected, files)) in CASES.iter().enumerate() {
        let texts = files.iter().fold(Texts::default(), |texts, (path, text)| texts.with(path, *text));
        let (exporter, importer) = (files[0].0, files[files.len() - 1].0);
        let judged = contract(&texts, exporter, importer);
        let said = match judged.result {
            Outcome::Pass => "pass".to_owned(),
            Outcome::Fail => format!("fail {}", judged.missing.join(" ")),
            Outcome::Unknown => "unknown".to_owned(),
        };
        if said != *expected {
            differ.push(format!("{expected} expected: {files:?}\n  {judged:?}"));
        }
        // A stub is run by nobody.
        if exporter.ends_with(".pyi") {
            continue;
        }
        let root = scratch.path().join(at.to_string());
        for (path, text) in *files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let module = importer.trim_end_matches(".py").replace('/', ".");
        questions.push(json!({ "ask": "runs", "root": root, "module": module }));
        told.push((judged, files));
    }
    let answers = judge("python3", &["-I", "-S", "-B", "python.py"], &questions);
    for ((judged, files), answer) in told.iter().zip(answers) {
        let runs = answer.as_bool().unwrap();
        let agrees = match judged.result {
            Outcome::Pass => runs,
            Outcome::Fail => !runs,
            Outcome::Unknown => true,
        };
        if !agrees {
            differ.push(format!("CPython {runs}: {files:?}\n  {judged:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
