//! Attempts: comparison, storage, concurrent calls, reading and reset.

use anyhow::{Context as _, Result};
use forge_testkit::{Caller, Folder};
use serde_json::{Value, json};

use super::ValidateFixture;

/// A check that passes once the file contains a word.
fn check_for(word: &str) -> String {
    format!("grep -q {word} said || {{ echo 'no {word} after 0.'$$'s'; false; }}")
}

fn measures(report: &Value) -> (u64, bool, bool, bool, String) {
    let flag = |key: &str| report[key] == true;
    let recommendation = report["recommendation"].as_str().unwrap_or_default().to_owned();
    (
        report["attempt"].as_u64().unwrap_or(99),
        flag("sameAsPrev"),
        flag("oscillating"),
        flag("stagnant"),
        recommendation,
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn attempt_is_compared_with_earlier_attempts() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let commands =
        json!({ "commands": [check_for("one"), check_for("two"), check_for("three")], "runId": "r1" });
    let mut told = Vec::new();
    for said in ["one", "two", "two", "one", "one two", "one two three"] {
        fixture.write("said", said)?;
        told.push(measures(&fixture.validate(commands.clone()).await?));
    }
    let expect =
        |n, same, oscillating, stagnant, what: &str| (n, same, oscillating, stagnant, what.to_owned());
    assert_eq!(
        told,
        [
            expect(1, false, false, false, "RETRY"),
            expect(2, false, false, false, "RETRY"),
            // Durations in what it prints differ; it is the same failure.
            expect(3, true, false, true, "ESCALATE"),
            expect(4, false, true, true, "ESCALATE"),
            expect(5, false, false, false, "RETRY"),
            expect(6, false, false, false, "PROCEED"),
        ]
    );
    let state = fixture.state("&runId=r1").await?;
    assert_eq!(state["attempts"].as_array().map(Vec::len), Some(6));
    assert_eq!(state["attempts"][0]["failures"].as_array().map(Vec::len), Some(2), "{state:#}");
    assert_eq!(
        (&state["input"]["commands"], &state["results"][0]["passed"]),
        (&commands["commands"], &json!(true))
    );
    // Another run begins anew.
    assert_eq!(fixture.validate(json!({ "commands": ["false"], "runId": "r2" })).await?["attempt"], 1);

    let of = format!("/validate/log?runId=r1&moduleId=m1&limit=3&cwd={}", fixture.repo().display());
    let log = fixture.board.engine.get(&of).await?;
    let kinds: Vec<_> =
        log["items"].as_array().context("no items")?.iter().map(|it| it["type"].clone()).collect();
    assert_eq!(kinds, [json!("validate"), json!("tool_call"), json!("validate")]);
    assert_eq!(log["items"][2]["data"]["recommendation"], "PROCEED");

    let of = format!("/validate/state?moduleId=m1&runId=r1&cwd={}", fixture.repo().display());
    fixture.board.engine.delete(&of).await?;
    assert_eq!(fixture.state("&runId=r1").await?["attempts"], json!([]));
    assert_eq!(fixture.state("&runId=r2").await?["attempts"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_are_each_counted() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    // A second engine on the same repository, in a process and with data of its own.
    let elsewhere = Folder::new()?;
    let other = elsewhere.serve()?;
    let new = json!({ "repo_path": fixture.repo(), "settings": {} });
    other.post("/projects", new).await?;
    let call = fixture.call(&json!({ "commands": ["true"] }));
    let all = (0..6).map(|n| {
        let engine: &Caller = if n % 2 == 0 { &fixture.board.engine } else { &other };
        engine.post("/validate", call.clone())
    });
    let reports = futures::future::try_join_all(all).await?;
    let mut numbers: Vec<u64> = reports.iter().filter_map(|report| report["attempt"].as_u64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    assert_eq!(fixture.state("").await?["attempts"].as_array().map(Vec::len), Some(6));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_attempts_file_is_set_aside_and_reported() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    fixture.validate(json!({ "commands": ["true"] })).await?;
    std::fs::write(fixture.attempts_file("m1.json"), "{\"attempts\": 7")?;
    let seen = fixture.state("").await?;
    assert!(seen["unreadable"].is_string() && seen["attempts"] == json!([]), "{seen:#}");
    let report = fixture.validate(json!({ "commands": ["true"] })).await?;
    assert_eq!((&report["attempt"], &report["passed"]), (&json!(1), &json!(true)));
    let notice = report["notice"].as_str().context("it is not told")?;
    let aside = std::fs::read_dir(fixture.attempts_file(""))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .find(|name| name.starts_with("m1.json.unreadable-"))
        .context("it is not kept")?;
    assert!(notice.contains(&aside), "{notice}");
    assert_eq!(std::fs::read_to_string(fixture.attempts_file(&aside))?, "{\"attempts\": 7");
    assert!(fixture.validate(json!({ "commands": ["true"] })).await?["notice"].is_null());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn unwritable_attempts_file_still_gives_a_report_with_a_notice() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    // The attempts' place is taken by something else.
    std::fs::create_dir_all(fixture.attempts_file("m1.json/inner"))?;
    let report = fixture.validate(json!({ "commands": ["true"] })).await?;
    let notice = report["notice"].as_str().context("it is not told")?;
    assert!(report["attempt"] == 1 && notice.contains("it is not a regular file"), "{report:#}");
    // Another's file.
    std::fs::write(fixture.attempts_file("m1.json"), "{ \"moduleId\": \"m2\", \"attempts\": [] }")?;
    let report = fixture.validate(json!({ "commands": ["true"] })).await?;
    let notice = report["notice"].as_str().context("it is not told")?;
    assert!(report["attempt"] == 1 && notice.contains("it is about the module m2"), "{report:#}");

    let uncounted = async |cause: &str| {
        let report = fixture.validate(json!({ "commands": ["echo made; false"] })).await?;
        assert_eq!(
            (&report["attempt"], &report["results"][0]["stdout"], &report["recommendation"]),
            (&json!(0), &json!("made\n"), &json!("RETRY")),
            "{report:#}"
        );
        let notice = report["notice"].as_str().context("it is not told")?;
        assert!(
            notice.contains("the attempt is not counted: Could not ") && notice.contains(cause),
            "{notice}"
        );
        assert_eq!(fixture.validate(json!({ "commands": ["true"] })).await?["recommendation"], "PROCEED");
        anyhow::Ok(())
    };
    // A folder of a run that is none.
    std::fs::remove_dir_all(fixture.repo().join(".forge/iterations"))?;
    std::fs::write(fixture.repo().join(".forge/iterations"), "x")?;
    uncounted("is not a regular folder").await?;
    // What git would see is not written.
    std::fs::remove_dir_all(fixture.repo().join(".forge"))?;
    let exclude = fixture.repo().join(".git/info/exclude");
    std::fs::remove_file(&exclude)?;
    std::fs::create_dir(&exclude)?;
    uncounted("Is a directory").await?;
    assert!(!fixture.repo().join(".forge").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_call_is_refused_before_any_check_runs() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    std::os::unix::fs::symlink("/etc", fixture.repo().join("out"))?;
    let touch = "touch ran";
    for (more, path) in [
        (json!({ "moduleId": "a/b", "commands": [touch] }), "moduleId"),
        (json!({ "moduleId": "..", "commands": [touch] }), "moduleId"),
        (json!({ "runId": "x".repeat(129), "commands": [touch] }), "runId"),
        (json!({ "commands": [] }), "commands"),
        (json!({ "commands": [touch, " "] }), "commands[1]"),
        (json!({ "commands": [touch], "files": ["ok", "../out"] }), "files[1]"),
        (json!({ "commands": [touch], "files": ["/etc/passwd"] }), "files[0]"),
        (json!({ "commands": [touch], "files": ["out/passwd"] }), "files[0]"),
        (
            json!({ "commands": [touch], "contractChecks": [{ "exporter": "a", "importer": "out/passwd" }] }),
            "contractChecks[0].importer",
        ),
        (json!({ "commands": touch }), "commands"),
        (json!({ "commands": [touch], "colour": 1 }), "colour"),
        (json!({ "commands": [touch], "cwd": "." }), "cwd"),
    ] {
        let (status, refusal) = fixture.refuse(more.clone()).await?;
        assert_eq!(
            (status, &refusal["details"]["findings"][0]["path"]),
            (400, &json!(path)),
            "{more} {refusal:#}"
        );
    }
    assert!(!fixture.repo().join("ran").exists() && !fixture.repo().join(".forge").exists());
    Ok(())
}
