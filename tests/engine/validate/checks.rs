//! The kinds of checks, their order, and how commands run.

use std::time::Duration;

use anyhow::{Context as _, Result};
use forge_tests::patience::until;
use reqwest::Method;
use serde_json::{Value, json};

use super::{ValidateFixture, check_results};
use forge_testkit::{Folder, LocalEngine, caller::refused, serve::marked_processes};

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_every_kind_run_in_order_despite_failures() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    fixture.write("ok.mjs", "export const a = 1;\nexport default 2;\n")?;
    fixture.write("uses.mjs", "import two, { a } from './ok.mjs';\nconsole.log(a, two);\n")?;
    fixture.write("wants.mjs", "import { b } from './ok.mjs';\nconsole.log(b);\n")?;
    fixture.write("alone.mjs", "export const c = 1;\n")?;
    fixture.write("broken.ts", "const a: number = 1;\nconst b = = 2;\n")?;
    fixture.write("notes.txt", "(((\n")?;
    let contract = |exporter, importer| json!({ "exporter": exporter, "importer": importer });
    let report = fixture
        .validate(json!({
            "files": ["ok.mjs", "broken.ts", "gone.py", "notes.txt", "."],
            "commands": ["false", "echo out; echo err >&2"],
        }))
        .await;
    assert!(report.is_err(), "the folder itself is no file inside it");
    let report = fixture
        .validate(json!({
            "files": ["ok.mjs", "broken.ts", "gone.py", "notes.txt"],
            "contractChecks": [
                contract("ok.mjs", "uses.mjs"), contract("ok.mjs", "wants.mjs"), contract("ok.mjs", "alone.mjs"),
                contract("gone.mjs", "uses.mjs"),
            ],
            "commands": ["false", "echo out; echo err >&2; pwd"],
        }))
        .await?;
    let expected = [
        ("file_check", json!(true)),
        ("file_check", json!(true)),
        ("file_check", json!(false)),
        ("file_check", json!(true)),
        ("syntax_check", json!(true)),
        ("syntax_check", json!(false)),
        ("contract_check", json!(true)),
        ("contract_check", json!(false)),
        ("contract_check", json!(null)),
        ("contract_check", json!(false)),
        ("command", json!(false)),
        ("command", json!(true)),
    ];
    assert_eq!(
        check_results(&report),
        expected.map(|(kind, passed)| (kind.to_owned(), passed)),
        "{report:#}"
    );
    let results = report["results"].as_array().context("no results")?;
    assert_eq!((&results[5]["file"], &results[5]["line"]), (&json!("broken.ts"), &json!(2)), "{report:#}");
    assert!(results[5]["column"].as_u64().is_some_and(|column| column > 1), "{report:#}");
    assert_eq!((&results[7]["missing"], &results[7]["result"]), (&json!(["b"]), &json!("fail")));
    assert_eq!(results[6]["imported"], json!(["a", "default"]), "{report:#}");
    assert!(results[8]["reason"].is_string() && results[8]["result"] == "unknown", "{report:#}");
    assert_eq!((&results[10]["exitCode"], &results[10]["timedOut"]), (&json!(1), &json!(false)));
    assert_eq!(results[11]["stdout"], format!("out\n{}\n", fixture.repo().display()));
    assert_eq!(results[11]["stderr"], "err\n");
    // What is unknown is not in the divisor: 6 of 11.
    let score = report["score"].as_f64().context("no score")?;
    assert!((score - 6.0 / 11.0).abs() < 1e-12, "{report:#}");
    assert_eq!((&report["passed"], &report["recommendation"]), (&json!(false), &json!("RETRY")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn attempt_with_only_unknown_results_is_not_counted() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    fixture.write("a.mjs", "export const a = 1;\n")?;
    fixture.write("b.mjs", "export const b = 1;\n")?;
    for _ in 0..3 {
        let checks = json!({ "contractChecks": [{ "exporter": "a.mjs", "importer": "b.mjs" }] });
        let report = fixture.validate(checks).await?;
        assert_eq!(
            (&report["passed"], &report["recommendation"], &report["attempt"], &report["velocity"]),
            (&json!(false), &json!("RETRY"), &json!(0), &json!(null)),
            "{report:#}"
        );
    }
    assert_eq!(fixture.state("").await?["attempts"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn command_has_empty_input_and_truncated_output() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let report = fixture
        .validate(json!({ "commands": ["cat; echo read", "head -c 3000000 /dev/zero | tr '\\0' x; echo end", "kill -9 $$"] }))
        .await?;
    let results = report["results"].as_array().context("no results")?;
    assert_eq!((&results[0]["passed"], &results[0]["stdout"]), (&json!(true), &json!("read\n")));
    let printed = results[1]["stdout"].as_str().context("no output")?;
    assert_eq!(results[1]["passed"], true, "size is no failure");
    assert!(
        printed.len() < 40_000 && printed.starts_with("xxx") && printed.ends_with("xend\n"),
        "{}",
        printed.len()
    );
    assert!(printed.contains("bytes left out"));
    assert_eq!((&results[2]["signal"], &results[2]["exitCode"]), (&json!(9), &json!(null)), "{report:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn command_at_its_timeout_is_ended_with_its_children_and_the_next_runs() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |config| {
        config.validate_command_limit = Duration::from_secs(1);
    })
    .await?;
    let (project, _) = engine.project(&sandbox.repo, json!({})).await?;
    let tree = "echo begun; (trap '' TERM; sleep 600) & setsid sleep 601 & sleep 602; echo never";
    let call = json!({ "moduleId": "m1", "cwd": sandbox.repo.path(), "commands": [tree, "echo next"], "project_id": project });
    let report = engine.post("/validate", call).await?;
    let results = report["results"].as_array().context("no results")?;
    assert_eq!((&results[0]["timedOut"], &results[0]["passed"]), (&json!(true), &json!(false)), "{report:#}");
    assert_eq!(results[0]["stdout"], "begun\n");
    assert_eq!(results[1]["stdout"], "next\n");
    assert_eq!(marked_processes(sandbox.dir.path())?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnected_caller_ends_only_its_own_commands() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let begun = fixture.board.folder.dir.path().join("begun");
    let long = format!("echo x >'{}'; sleep 600", begun.display());
    let call = fixture.call(&json!({ "runId": "gone", "commands": [long, "echo never"] }));
    let request = fixture.board.engine.request(Method::POST, "/validate").json(&call);
    let hanging = tokio::spawn(request.send());
    until("the command's start", async || Ok(begun.exists().then_some(()))).await?;
    // Others are answered meanwhile.
    let other = fixture.validate(json!({ "moduleId": "m2", "commands": ["true"] })).await?;
    assert_eq!((&other["passed"], &other["attempt"]), (&json!(true), &json!(1)));
    hanging.abort();
    until("the end of its processes", async || {
        Ok(marked_processes(fixture.board.folder.dir.path())?.is_empty().then_some(()))
    })
    .await?;
    let log = until("its last line", async || {
        let log = fixture.log("gone")?;
        Ok((log.len() == 2).then_some(log))
    })
    .await?;
    let kinds: Vec<&Value> = log.iter().map(|line| &line["type"]).collect();
    assert_eq!(kinds, [&json!("tool_call"), &json!("validate")]);
    assert_eq!(log[1]["data"]["cancelled"], true);
    assert_eq!(fixture.state("&runId=gone").await?["attempts"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn running_call_can_be_cancelled_by_another_client() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let of = |module: &str| json!({ "moduleId": module, "cwd": fixture.repo() });
    let begun = fixture.board.folder.dir.path().join("begun");
    let call = fixture.call(&json!({ "commands": [format!("echo x >'{}'; sleep 600", begun.display())] }));
    let running = tokio::spawn(refused(fixture.board.engine.request(Method::POST, "/validate").json(&call)));
    until("the command's start", async || Ok(begun.exists().then_some(()))).await?;
    let other = fixture.board.engine.request(Method::POST, "/validate/cancel").json(&of("m2"));
    let (status, refusal) = refused(other).await?;
    assert_eq!((status, &refusal["code"]), (409, &json!("nothing_running")));
    fixture.board.engine.post("/validate/cancel", of("m1")).await?;
    let (status, refusal) = running.await??;
    assert_eq!((status, &refusal["code"]), (409, &json!("cancelled")), "{refusal:#}");
    assert_eq!(marked_processes(fixture.board.folder.dir.path())?, Vec::<String>::new());
    assert_eq!(fixture.state("").await?["attempts"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn file_too_large_or_deep_is_reported_as_not_checked() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    fixture.write("large.js", &format!("{}\n", "x;\n".repeat(3_000_000)))?;
    fixture.write("deep.js", &format!("{}1{};\n", "(".repeat(2000), ")".repeat(2000)))?;
    let report = fixture.validate(json!({ "files": ["large.js", "deep.js"] })).await?;
    let expected = [("file_check", json!(true)), ("file_check", json!(true))]
        .into_iter()
        .chain([("syntax_check", json!(null)), ("syntax_check", json!(null))]);
    let expected: Vec<_> = expected.map(|(kind, passed)| (kind.to_owned(), passed)).collect();
    assert_eq!(check_results(&report), expected, "{report:#}");
    for at in [2, 3] {
        let why = report["results"][at]["error"].as_str().context("it is not told")?;
        assert!(why.starts_with("not checked: "), "{why}");
    }
    assert_eq!(
        (&report["passed"], &report["score"], &report["recommendation"]),
        (&json!(true), &json!(1.0), &json!("PROCEED"))
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn circular_links_fail_the_file_check() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    std::os::unix::fs::symlink("two", fixture.repo().join("one"))?;
    std::os::unix::fs::symlink("one", fixture.repo().join("two"))?;
    let report = fixture.validate(json!({ "files": ["one"], "commands": ["true"] })).await?;
    let expected = [("file_check", json!(false)), ("command", json!(true))];
    assert_eq!(
        check_results(&report),
        expected.map(|(kind, passed)| (kind.to_owned(), passed)),
        "{report:#}"
    );
    assert!(report["results"][0]["error"].as_str().is_some_and(|why| why.contains("could not read it")));
    Ok(())
}
