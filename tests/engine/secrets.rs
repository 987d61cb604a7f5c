//! Secrets that programs print are stored, reported and sent nowhere.
//!
//! Each program of a task prints the same file of canaries: one of each well-known format, one of each kind of
//! withheld variable, one of the project's own pattern. Then every file that Forge wrote and every answer is
//! searched for them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use forge_agents::LogReader;
use forge_testkit::Sandbox;
use serde_json::{Value, json};

/// Names of withheld variables, one of each kind.
const WITHHELD: [&str; 8] = [
    "CANARY_TOKEN",
    "CANARY_SECRET",
    "CANARY_PASSWORD",
    "CANARY_PASSWD",
    "CANARY_API_KEY",
    "CANARY_ACCESS_KEY",
    "CANARY_PRIVATE_KEY",
    "CANARY_CREDENTIAL",
];

/// The canary that is printed in two writes.
const IN_TWO: &str = "ghp_Tw0WritesTw0WritesTw0WritesTw0Writes12";

/// Letters and digits that look random, different for each `n`.
fn body(n: usize, length: usize) -> String {
    let alphabet = b"aB3dE5gH7jK9mN2pQ4rS6tU8vW";
    (0..length).map(|at| char::from(alphabet[(at * 7 + n * 11 + at * at * n) % alphabet.len()])).collect()
}

fn value_of(n: usize) -> String {
    format!("withheld {}/\"{}", body(n, 12), body(n + 3, 9))
}

/// The printed texts, and the secrets in them that must be found nowhere.
fn canaries() -> Vec<(String, String)> {
    let whole = |text: String| (text.clone(), text);
    let mut all = vec![
        whole(format!("ghp_{}", body(1, 36))),
        whole(format!("gho_{}", body(2, 36))),
        whole(format!("ghs_{}", body(3, 36))),
        whole(format!("ghu_{}", body(4, 36))),
        whole(format!("github_pat_{}_{}", body(5, 22), body(6, 59))),
        whole(format!("glpat-{}", body(7, 20))),
        whole(format!("sk-{}", body(8, 48))),
        whole(format!("sk-proj-{}", body(9, 80))),
        whole(format!("sk-ant-api03-{}", body(10, 90))),
        whole(format!("AIza{}", body(11, 35))),
        whole(format!("AKIA{}", body(12, 16).to_uppercase())),
        whole(format!("ASIA{}", body(13, 16).to_uppercase())),
        whole(format!("xoxb-{}", body(14, 40))),
        whole(format!("npm_{}", body(15, 36))),
        whole(format!("pypi-AgEI{}", body(16, 80))),
        whole(format!("eyJ{}.{}.{}", body(17, 20), body(18, 30), body(19, 43))),
        whole(format!("run_{}", body(20, 43))),
        whole(format!("glft-{}", body(25, 20))),
        whole(format!("glagent-{}", body(26, 50))),
        whole(format!("xoxc-{}", body(27, 40))),
        whole(format!("1//0{}", body(28, 90))),
        whole("cust-48151".to_owned()),
        whole(IN_TWO.to_owned()),
    ];
    let key = body(21, 40);
    all.push((format!("aws_secret_access_key = {key}"), key));
    let password = body(22, 12);
    all.push((format!("postgres://me:{password}@db.example.org/x"), password));
    let session = body(29, 120);
    all.push((format!("aws_session_token: {session}"), session));
    let password = format!("%40{}", body(30, 12));
    all.push((format!("https://me:{password}@git.example.org/x"), password));
    let shown = [body(31, 64), body(32, 40)];
    let diff = format!(
        "\x1b[31m------BEGIN RSA PRIVATE KEY-----\x1b[m\n\x1b[31m-{}\x1b[m\n-{}\n------END RSA PRIVATE KEY-----",
        shown[0], shown[1]
    );
    all.push((diff, shown[1].clone()));
    let lines = [body(23, 64), body(24, 64)];
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----", lines[0], lines[1]);
    all.push((pem, lines[1].clone()));
    all.extend((0..WITHHELD.len()).map(|n| (value_of(n), body(n, 12))));
    all
}

fn environment() -> BTreeMap<OsString, OsString> {
    let mut own = (*forge_exec::variables_of(std::env::vars_os())).clone();
    own.extend(WITHHELD.iter().enumerate().map(|(n, name)| (name.into(), value_of(n).into())));
    own
}

/// Every file below a folder with its content, without following links.
fn files_below(folder: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            files_below(&path, found)?;
        } else if kind.is_file() {
            found.push((path.clone(), std::fs::read(&path)?));
        }
    }
    Ok(())
}

/// The same, with the content of raw logs besides.
pub(crate) fn written_below(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut found = Vec::new();
    files_below(folder, &mut found)?;
    let mut raw = Vec::new();
    for (path, _) in &found {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let (Some(log), Some(dir)) = (name.strip_suffix(".raw.zst"), path.parent()) {
            raw.push((path.with_extension("content"), LogReader::raw(dir, log, 0, 1 << 20)?));
        }
    }
    found.append(&mut raw);
    Ok(found)
}

pub(crate) fn holds(content: &[u8], canary: &str) -> bool {
    content.windows(canary.len()).any(|window| window == canary.as_bytes())
}

/// The answers of all read operations about a task, its project and one of its runs, refusals included.
async fn answers_of_all_reads(sandbox: &Sandbox, task: &Value, run: &Value) -> Vec<(&'static str, String)> {
    let known = BTreeMap::from([
        ("task_id", task["id"].clone()),
        ("project_id", json!(sandbox.project)),
        ("agent_id", json!(sandbox.agent)),
        ("execution_id", run.clone()),
    ]);
    let mut answers = Vec::new();
    for operation in forge_api::operations() {
        let fields = operation.path_fields();
        let input: Option<serde_json::Map<_, _>> =
            fields.into_iter().map(|field| Some((field.to_owned(), known.get(field)?.clone()))).collect();
        let Some(input) = input.filter(|_| matches!(operation.method, forge_api::Method::Get)) else {
            continue;
        };
        let answer = match sandbox.call(operation.name, Value::Object(input)).await {
            Ok(answer) => answer.to_string(),
            Err(refused) => format!("{refused:?}"),
        };
        answers.push((operation.name, answer));
    }
    answers
}

/// A command that prints all canaries, one in two writes, as text and inside a log entry.
fn print(outside: &Path) -> String {
    let outside = outside.display();
    format!(
        "cat '{outside}/canaries'; printf '{0}'; sleep 0.2; echo '{1}'; cat '{outside}/entry'",
        &IN_TWO[..17],
        &IN_TWO[17..]
    )
}

#[tokio::test]
async fn printed_secret_is_not_stored_reported_or_sent() -> Result<()> {
    let outside = tempfile::tempdir()?;
    let canaries = canaries();
    let printed: Vec<&str> = canaries.iter().map(|(text, _)| text.as_str()).collect();
    std::fs::write(outside.path().join("canaries"), printed.join("\n") + "\n")?;
    let entry = json!({ "kind": "assistant_text", "body": { "text": printed.join(" and ") } });
    let ended = json!({ "kind": "turn_ended", "body": { "summary": printed.join(", ") } });
    std::fs::write(outside.path().join("entry"), format!("{entry}\n{ended}\n"))?;
    let print = print(outside.path());
    // The check fails once, so that its output is evidence in the next prompt.
    let settings = json!({
        "auto_approve": true,
        "redact": ["cust-[0-9]{5}"],
        "setup": [print],
        "review_config": { "ci_steps": [format!("{print}; {print} >&2; test -f fixed.txt")] },
        "lifecycle_hooks": { "before_work": [{ "type": "script", "command": print }] },
    });
    let sandbox_of = |config: &mut forge_engine::EngineConfig| config.environment = Arc::new(environment());
    let mut sandbox = Sandbox::with_config(settings, sandbox_of).await?;
    let seen = outside.path().display();
    let works = format!(
        "{print}; {print} >&2; cp \"$FORGE_PROMPT_FILE\" '{seen}'/prompt-$$; \
         if [ -f '{seen}/again' ]; then echo x > fixed.txt; else touch '{seen}/again'; echo x > work.txt; fi"
    );
    let new = json!({ "name": "leaky", "adapter": "shell", "config": { "command": works } });
    sandbox.agent = sandbox.call("agent_create", new).await?["id"].as_str().context("no id")?.to_owned();
    let title = "Work";
    let description = "Use the key cust-48151.";
    let task = sandbox.described(title, description, json!({})).await?;
    sandbox.claim(&task).await?;
    sandbox.reach(&task, "done").await?;

    // A person's own call prints them, too, and its attempts are kept below `.forge`.
    let call =
        json!({ "moduleId": "m", "cwd": sandbox.repo.path(), "commands": [format!("{print}; false")] });
    sandbox.call("validate", call).await?;

    let mut answers = Vec::new();
    for op in ["task_executions", "task_transitions", "task_reviews", "task_get"] {
        match sandbox.call(op, json!({ "task_id": task["id"] })).await {
            Ok(answer) => answers.push((op, answer)),
            Err(error) => anyhow::bail!("{op}: {error:?}"),
        }
    }
    let read = answers_of_all_reads(&sandbox, &task, &answers[0].1["items"][0]["id"]).await;
    assert!(read.len() > 25, "{} operations read", read.len());
    let runs = answers[0].1["items"].as_array().context("no runs")?.clone();
    assert_eq!(runs.len(), 2, "one run, and one that was told what failed");
    let data = sandbox.dir.path().join("data");
    sandbox.api.engine().stop().await;

    let mut written = written_below(&data)?;
    let exports = written_below(&sandbox.repo.path().join(".forge"))?;
    assert!(exports.len() >= 2, "the attempts and the log of `validate` are among them");
    written.extend(exports);
    let mut prompts = Vec::new();
    files_below(outside.path(), &mut prompts)?;
    prompts.retain(|(path, _)| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("prompt-"))
    });
    assert_eq!(prompts.len(), 2);
    assert!(
        prompts.iter().any(|(_, prompt)| holds(prompt, "[redacted: GITHUB_TOKEN]")),
        "the second prompt has the evidence of the failed check"
    );
    let database =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("forge.db"));
    for (canary, secret) in
        canaries.iter().map(|(text, secret)| (text.lines().next().unwrap_or_default(), secret.as_str()))
    {
        for (path, content) in written.iter().chain(&prompts) {
            // What a person typed into a task stays there.
            let is_typed = secret == "cust-48151" && database(path);
            assert!(is_typed || !holds(content, secret), "{} holds {canary}", path.display());
        }
        for (op, answer) in &answers {
            let is_typed = secret == "cust-48151" && *op == "task_get";
            assert!(is_typed || !answer.to_string().contains(secret), "{op} answers {canary}: {answer:#}");
        }
        for (op, answer) in read.iter().filter(|_| secret != "cust-48151") {
            assert!(!answer.contains(secret), "{op} answers {canary}: {answer}");
        }
    }
    let logs: Vec<_> =
        written.iter().filter(|(path, _)| path.extension().is_some_and(|it| it == "jsonl")).collect();
    for name in
        WITHHELD.iter().copied().chain(["GITHUB_TOKEN", "PRIVATE_KEY", "URL_PASSWORD", "JWT", "PATTERN_1"])
    {
        let left = format!("[redacted: {name}]");
        let told = logs.iter().filter(|(_, content)| holds(content, &left)).count();
        assert!(told >= 6, "{left} is in {told} of {} logs", logs.len());
    }
    assert_eq!(answers[3].1["description"], description, "what a person typed stays");
    Ok(())
}

#[tokio::test]
async fn invalid_redaction_pattern_is_refused_with_its_field() -> Result<()> {
    let sandbox = Sandbox::new(json!({})).await?;
    let patch = json!({ "project_id": sandbox.project, "redact": ["fine", "("] });
    let refused = sandbox.call("project_settings_update", patch).await.err().context("it was taken")?;
    let told: Value = serde_json::to_value(&refused)?;
    assert!(told.to_string().contains("redact[1]"), "{told:#}");
    Ok(())
}

#[tokio::test]
async fn readable_data_folder_is_made_private_at_next_start() -> Result<()> {
    let mut sandbox = Sandbox::new(json!({})).await?;
    let data = sandbox.dir.path().join("data");
    std::fs::create_dir_all(data.join("logs/p"))?;
    std::fs::write(data.join("logs/p/old.jsonl"), b"")?;
    for path in ["", "logs", "logs/p", "logs/p/old.jsonl", "forge.db"] {
        std::fs::set_permissions(data.join(path), std::fs::Permissions::from_mode(0o755))?;
    }
    sandbox.restart().await?;
    let mode = |path: &str| {
        Ok::<_, std::io::Error>(std::fs::metadata(data.join(path))?.permissions().mode() & 0o777)
    };
    for path in ["", "logs", "logs/p"] {
        assert_eq!(mode(path)?, 0o700, "{path}");
    }
    for path in ["logs/p/old.jsonl", "forge.db", "forge.db-wal", "forge.db-shm"] {
        assert_eq!(mode(path)?, 0o600, "{path}");
    }
    Ok(())
}
