//! The OpenAPI document, checked by a validator, and the answers of a served demo, checked by a fuzzer.
//!
//! The programs are those of `openapi/requirements.txt`, which `cargo xtask test` installs.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::program;
use reqwest::Method;
use serde_json::{Value, json};

use forge_testkit::{Folder, board::text, serve::Served};

/// How long the fuzzer runs.
const SECONDS: &str = "120";
/// A fixed seed repeats the same requests.
const SEED: &str = "20261122";
/// The properties that every answer must satisfy.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,negative_data_rejection,missing_required_header,\
    unsupported_method,allow_header_conformance,ignored_auth";

/// One of the installed programs.
fn tool(name: &str) -> Result<Command> {
    let built = program("forge")?;
    let target = built.parent().and_then(Path::parent).context("no target folder")?;
    let path = target.join("xtask/api-tools/bin").join(name);
    ensure!(path.exists(), "{} is not installed: `cargo xtask test` does that", path.display());
    Ok(Command::new(path))
}

/// Runs a program to its end; its output is the error when it fails.
fn judged(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    ensure!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

async fn document(sandbox: &Folder, server: &Served) -> Result<PathBuf> {
    let file = sandbox.dir.path().join("openapi.json");
    std::fs::write(&file, server.get("/openapi.json").await?.to_string())?;
    Ok(file)
}

#[tokio::test(flavor = "multi_thread")]
async fn openapi_document_is_valid() -> Result<()> {
    let sandbox = Folder::new()?;
    let server = sandbox.serve()?;
    judged(tool("openapi-spec-validator")?.arg(document(&sandbox, &server).await?))
}

#[tokio::test(flavor = "multi_thread")]
async fn fuzzed_request_gets_a_documented_answer() -> Result<()> {
    let sandbox = Folder::new()?;
    let data = sandbox.data_dir();
    sandbox.run(&["demo", "--data-dir", &data.to_string_lossy()])?.succeeded()?;
    let mut server = sandbox.serve()?;
    let config = sandbox.dir.path().join("schemathesis.toml");
    std::fs::write(&config, known_ids(&server).await?)?;
    let token = server.token.clone().context("no token")?;
    judged(
        tool("schemathesis")?
            .arg("--config-file")
            .arg(&config)
            .arg("run")
            .arg(document(&sandbox, &server).await?)
            .args(["--url", &format!("{}/api/v1", server.url)])
            .args(["--header", &format!("Authorization: Bearer {}", token.trim())])
            .args(["--phases", "examples,coverage,fuzzing", "--checks", CHECKS, "--continue-on-failure"])
            .args(["--seed", SEED, "--max-examples", "10", "--max-time", SECONDS])
            // The stream of events never ends, and health is not below the base of the others.
            .args(["--exclude-path", "/events", "--exclude-path", "/healthz"])
            // Whoever makes the token anew shuts itself out.
            .args(["--exclude-path", "/doors/token"])
            // A machine that does much else answers late.
            .args(["--request-timeout", "60", "--no-color", "--warnings", "off"])
            .current_dir(sandbox.dir.path()),
    )?;
    assert_eq!(server.bare(Method::GET, "/healthz").send().await?.status(), 200);
    let (ended, _) = server.terminate().await?;
    assert_eq!(ended.code(), Some(0), "it ends in good order after all of it");
    Ok(())
}

/// The fuzzer's configuration, with ids that exist.
async fn known_ids(server: &Served) -> Result<String> {
    let ids = |page: &Value| -> Vec<String> {
        page["items"].as_array().into_iter().flatten().map(|item| text(item, "id")).collect()
    };
    let mut known: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    known.insert("agent_id", ids(&server.get("/agents").await?));
    let projects = ids(&server.get("/projects").await?);
    for project in &projects {
        let tasks = ids(&server.get(&format!("/projects/{project}/tasks")).await?);
        for task in &tasks {
            let runs = ids(&server.get(&format!("/tasks/{task}/executions")).await?);
            known.entry("execution_id").or_default().extend(runs.clone());
            known.entry("log_id").or_default().extend(runs);
        }
        known.entry("task_id").or_default().extend(tasks.clone());
        known.entry("depends_on").or_default().extend(tasks);
    }
    known.insert("project_id", projects);
    let (mut values, mut places) = ("[dictionaries]\n".to_owned(), "[parameters]\n".to_owned());
    for (field, ids) in known {
        ensure!(!ids.is_empty(), "the demo left no {field}");
        writeln!(values, "{field} = {{ values = {} }}", json!(ids))?;
        writeln!(places, "\"path.{field}\" = {{ dictionary = \"{field}\", probability = 0.8 }}")?;
    }
    Ok(values + &places)
}
