//! When two failures are the same: what real programs print, through HTTP.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::Stage;

/// The program, in which the second line of what it prints is another one at each run.
const NODE: &str = "echo \"begun at $(date +%T.%N) by $$\"; node a.js";

async fn same_as_before(stage: &Stage, file: &str, text: &str, command: &str) -> Result<(Value, Value)> {
    stage.write(file, text)?;
    let report = stage.validate(json!({ "commands": [command] })).await?;
    Ok((report["sameAsPrev"].clone(), report["recommendation"].clone()))
}

#[tokio::test(flavor = "multi_thread")]
async fn two_errors_of_a_program_are_two_failures_and_one_at_another_time_is_one() -> Result<()> {
    let stage = Stage::new().await?;
    let mut told = Vec::new();
    for text in [
        "throw new Error('one is null');\n",
        "throw new TypeError('two is not a function');\n",
        // Further down, and after more was printed.
        "console.error(`at ${new Date().toISOString()}`);\n\nthrow new TypeError('two is not a function');\n",
        "let x = ;\n",
    ] {
        told.push(same_as_before(&stage, "a.js", text, NODE).await?);
    }
    let (new, same) = ((json!(false), json!("RETRY")), (json!(true), json!("ESCALATE")));
    assert_eq!(told[..3], [new.clone(), new, same]);
    assert_eq!(told[3].0, false, "a third error is none of those");
    let state = stage.state("").await?;
    let failures = |at: usize| state["attempts"][at]["failures"][0].as_str().map(str::to_owned);
    assert_eq!(failures(1), Some(format!("command {NODE}: a.js: TypeError: two is not a function")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_less_that_fails_is_another_failure() -> Result<()> {
    let stage = Stage::new().await?;
    let suite = |second: &str| {
        format!(
            "const {{ test }} = require('node:test');\nconst assert = require('node:assert');\n\
             test('adds', () => assert.equal(1, 2));\ntest('subs', () => assert.equal({second}));\n"
        )
    };
    let mut told = Vec::new();
    for text in [suite("3, 4"), suite("3, 3"), format!("// Moved.\n{}", suite("3, 3"))] {
        told.push(same_as_before(&stage, "t.test.js", &text, "node --test").await?.0);
    }
    assert_eq!(told, [json!(false), json!(false), json!(true)]);
    let state = stage.state("").await?;
    let first = state["attempts"][0]["failures"][0].as_str().context("no failure")?;
    assert!(first.starts_with("command node --test: adds (and 1 more): "), "{first}");
    Ok(())
}
