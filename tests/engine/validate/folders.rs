//! The folder that is checked, and the project that stores the attempts.

use anyhow::{Context as _, Result};
use forge_testkit::board::{is, text};
use serde_json::json;

use super::ValidateFixture;

#[tokio::test(flavor = "multi_thread")]
async fn missing_folder_escalates_and_is_not_counted() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let gone = fixture.repo().join("gone");
    for cwd in [gone.as_path(), &fixture.repo().join("README.md"), "/nowhere/at/all".as_ref()] {
        let report = fixture.validate(json!({ "cwd": cwd, "commands": ["true"] })).await?;
        assert_eq!(report["results"].as_array().map(Vec::len), Some(1));
        let check = &report["results"][0];
        assert_eq!(
            (&check["type"], &check["cwd"], &check["passed"]),
            (&json!("cwd_check"), &json!(cwd), &json!(false))
        );
        assert!(check["error"].is_string(), "{report:#}");
        assert_eq!(
            (&report["recommendation"], &report["attempt"], &report["score"], &report["velocity"]),
            (&json!("ESCALATE"), &json!(0), &json!(0.0), &json!(null)),
            "{report:#}"
        );
    }
    assert!(!fixture.attempts_file("m1.json").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_outside_all_projects_needs_a_project_id() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let elsewhere = tempfile::tempdir()?;
    let call = json!({ "cwd": elsewhere.path(), "commands": ["pwd"] });
    let (status, refusal) = fixture.refuse(call.clone()).await?;
    assert_eq!(
        (status, &refusal["details"]["findings"][0]["path"]),
        (400, &json!("project_id")),
        "{refusal:#}"
    );
    let named = fixture.validate(
        json!({ "cwd": elsewhere.path(), "commands": ["pwd"], "project_id": fixture.board.project }),
    );
    let named = named.await?;
    assert_eq!(named["results"][0]["stdout"], format!("{}\n", elsewhere.path().display()));
    assert!(fixture.attempts_file("m1.json").is_file(), "the project keeps it");
    let (status, _) = fixture.refuse(json!({ "commands": ["true"], "project_id": "none" })).await?;
    assert_eq!(status, 404);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_a_folder_is_checked_at_its_root() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let root = fixture.repo().canonicalize()?;
    let call = json!({
        "moduleId": "m1", "project_id": fixture.board.project, "commands": ["pwd -P"], "files": ["README.md"],
    });
    let report = fixture.board.engine.post("/validate", call).await?;
    assert_eq!(report["results"][1]["stdout"], format!("{}\n", root.display()), "{report:#}");
    assert_eq!(report["results"][0]["passed"], true, "{report:#}");
    let of = format!("/validate/state?moduleId=m1&project_id={}", fixture.board.project);
    let state = fixture.board.engine.get(&of).await?;
    assert_eq!(state["input"]["cwd"], json!(fixture.repo()), "it is kept with what was checked");
    let neither = json!({ "moduleId": "m1", "commands": ["true"] });
    let request = fixture.board.engine.request(reqwest::Method::POST, "/validate").json(&neither);
    let (status, refusal) = forge_testkit::caller::refused(request).await?;
    let path = &refusal["details"]["findings"][0]["path"];
    assert_eq!(
        (status, path),
        (400, &json!("project_id")),
        "no project has the server's folder: {refusal:#}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn worktree_is_checked_and_the_project_keeps_the_attempts() -> Result<()> {
    let fixture = ValidateFixture::new().await?;
    let board = &fixture.board;
    let task = board
        .task(
            &["edit made.txt <<< \"x\\n\""],
            json!({ "roles": { "coder": board.agent, "reviewer": "user" } }),
        )
        .await?;
    board.claim(&task).await?;
    let task = board.engine.until(&task, is("review")).await?;
    let tree = text(&task["workspace"], "path");
    // A worktree that Forge made, and one that it did not.
    let own = board.folder.dir.path().join("elsewhere");
    board.folder.repo.git(&["worktree", "add", "-q", "-b", "mine", own.to_str().context("no text")?])?;
    std::fs::write(own.join("made.txt"), "y\n")?;
    for cwd in [tree.as_str(), own.to_str().context("no text")?] {
        let checks =
            json!({ "cwd": cwd, "files": ["made.txt"], "commands": ["test -n \"$FORGE_PROJECT_ID\""] });
        let report = fixture.validate(checks).await?;
        assert_eq!(report["passed"], true, "{report:#}");
        assert!(!std::path::Path::new(cwd).join(".forge").exists(), "it is kept elsewhere");
    }
    assert!(!fixture.repo().join("made.txt").exists(), "the main checkout was not looked at");
    assert_eq!(fixture.state("").await?["attempts"].as_array().map(Vec::len), Some(2));
    let events = board.events("validate.finished", 2).await?;
    let of: Vec<_> = events.iter().map(|it| (it["project_id"].clone(), it["task_id"].clone())).collect();
    let project = json!(board.project);
    assert_eq!(of, [(project.clone(), task["id"].clone()), (project, json!(null))]);
    assert_eq!((&events[0]["entity_id"], &events[0]["data"]["passed"]), (&json!("m1"), &json!(true)));
    let status = board.folder.repo.git(&["status", "--porcelain"])?;
    assert_eq!(status, "", "git does not see what is kept");
    Ok(())
}
