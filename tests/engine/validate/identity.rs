//! Identity of failures: when two outputs of real programs count as the same failure.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::ValidateFixture;

/// A command whose first output line differs in each run.
const NODE: &str = "echo \"begun at $(date +%T.%N) by $$\"; node a.js";

async fn same_as_before(
    fixture: &ValidateFixture,
    file: &str,
    text: &str,
    command: &str,
) -> Result<(Value, Value)> {
    fixture.write(file, text)?;
    let report = fixture.validate(json!({ "commands": [command] })).await?;
    Ok((report["sameAsPrev"].clone(), report["recommendation"].clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn different_errors_differ_and_a_repeated_error_is_the_same_failure() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let mut told = Vec::new();
    for text in [
        "throw new Error('one is null');\n",
        "throw new TypeError('two is not a function');\n",
        // Further down, and after more was printed.
        "console.error(`at ${new Date().toISOString()}`);\n\nthrow new TypeError('two is not a function');\n",
        "let x = ;\n",
    ] {
        told.push(same_as_before(&fixture, "a.js", text, NODE).await?);
    }
    let (new, same) = ((json!(false), json!("RETRY")), (json!(true), json!("ESCALATE")));
    assert_eq!(told[..3], [new.clone(), new, same]);
    assert_eq!(told[3].0, false, "a third error is none of those");
    let state = fixture.state("").await?;
    let failures = |at: usize| state["attempts"][at]["failures"][0].as_str().map(str::to_owned);
    assert_eq!(failures(1), Some(format!("command {NODE}: a.js: TypeError: two is not a function")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_failing_tests_are_another_failure() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let suite = |second: &str| {
        format!(
            "const {{ test }} = require('node:test');\nconst assert = require('node:assert');\n\
             test('adds', () => assert.equal(1, 2));\ntest('subs', () => assert.equal({second}));\n"
        )
    };
    let mut told = Vec::new();
    for text in [suite("3, 4"), suite("3, 3"), format!("// Moved.\n{}", suite("3, 3"))] {
        told.push(same_as_before(&fixture, "t.test.js", &text, "node --test").await?.0);
    }
    assert_eq!(told, [json!(false), json!(false), json!(true)]);
    let state = fixture.state("").await?;
    let first = state["attempts"][0]["failures"][0].as_str().context("no failure")?;
    assert!(first.starts_with("command node --test: adds: ") && first.contains("; subs: "), "{first}");
    Ok(())
}

/// A check that prints a file and fails.
const PRINTS: &str = "cat said.txt; false";

#[tokio::test(flavor = "multi_thread")]
async fn changes_behind_the_same_first_error_are_another_failure() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let tsc = |lines: &[u32]| {
        let each = |line: &u32| format!("src/a.ts({line},5): error TS2304: Cannot find name 'x'.\n");
        lines.iter().map(each).collect::<String>()
    };
    let pytest = |tests: &[&str]| {
        let each = |name: &&str| format!("FAILED test_t.py::test_{name} - assert 1 == 2\n");
        tests.iter().map(each).collect::<String>()
    };
    // Far more than is kept of an output; what changes is in its middle.
    let long = |gone: u32| tsc(&(1..1000).filter(|line| *line != gone).collect::<Vec<u32>>());
    let mut told = Vec::new();
    for said in [
        tsc(&[3, 7, 9]),
        tsc(&[3, 7]),
        tsc(&[4, 8]),
        pytest(&["a", "b"]),
        pytest(&["a", "c"]),
        pytest(&["c", "a"]),
        long(0),
        long(500),
        long(501),
    ] {
        told.push(same_as_before(&fixture, "said.txt", &said, PRINTS).await?.0);
    }
    assert_eq!(told, [false, false, true, false, false, true, false, false, true].map(|same| json!(same)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_ids_and_timestamps_do_not_change_the_failure() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let noisy = "cat made.txt; echo \"$(date +%s%N) $(date +%N) run_$(date +%s%N)\"; false";
    let mut told = Vec::new();
    for (commit, short) in [
        ("3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "3b18e51"),
        ("f7a6896566e0bb4a05568db42922f2bc1aec8002", "f7a6896"),
    ] {
        fixture.write("made.txt", &format!("failed at {commit} ({short})\n"))?;
        told.push(fixture.validate(json!({ "commands": [noisy] })).await?["sameAsPrev"].clone());
    }
    assert_eq!(told, [json!(false), json!(true)]);
    Ok(())
}
