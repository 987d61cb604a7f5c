//! The parts of the inner loop that learn from runs: each off and on, its results, and its last effect.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
    caller::{good, refused},
};
use forge_tests::patience::{until, until_there};
use reqwest::Method;
use serde_json::{Value, json};

/// Passes once the file `good` exists, and reports its absence.
const CHECK: &str = "test -e good || { echo 'nothing good is here' >&2; exit 3; }";

/// A board with these parts of the inner loop enabled.
async fn board(parts: &[&str], more: Value) -> Result<Board> {
    let on: serde_json::Map<String, Value> =
        parts.iter().map(|part| ((*part).to_owned(), json!({ "enabled": true }))).collect();
    Board::new(with(json!({ "innerLoop": on }), &more)).await
}

/// The status of a part: whether it is enabled, its last effect with its task, and the number of open items.
async fn part(board: &Board, name: &str) -> Result<(bool, String, Value, u64)> {
    let all = board.items(&format!("/projects/{}/inner-loop/status", board.project)).await?;
    let part = all.iter().find(|part| part["name"] == name).with_context(|| format!("no {name}"))?;
    assert_eq!(part["recorded"], true, "{part:#}");
    let last = &part["last"];
    Ok((
        part["enabled"].as_bool().context("no switch")?,
        text(last, "effect"),
        last["task"]["id"].clone(),
        part["open"].as_u64().context("no count")?,
    ))
}

/// A script line that stores the prompt under this name.
fn keeps_prompt(board: &Board, name: &str) -> String {
    format!("run cp \"$FORGE_PROMPT_FILE\" '{}'", prompt_file(board, name).display())
}

fn prompt_file(board: &Board, name: &str) -> PathBuf {
    board.folder.dir.path().join(format!("prompt-{name}"))
}

fn prompt(board: &Board, name: &str) -> Result<String> {
    Ok(std::fs::read_to_string(prompt_file(board, name))?)
}

/// A description with a script for the first run and one for the second.
fn two_runs(first: &[&str], then: &[&str]) -> String {
    let block = |words: &str, lines: &[&str]| format!("```forge-script{words}\n{}\n```\n", lines.join("\n"));
    block("", first) + &block(" attempt=2", then)
}

/// Script lines that print these.
fn print_lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("print {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

async fn debrief(board: &Board, task: &Value) -> Result<Value> {
    board.engine.get(&format!("/tasks/{}/debrief", text(task, "id"))).await
}

/// The content of an exported file.
async fn exported(board: &Board, path: &str) -> Result<String> {
    let file = board.folder.repo.path().join(".forge").join(path);
    until_there(&file).await?;
    assert_eq!(board.folder.repo.git(&["status", "--porcelain"])?, "", "git does not see it");
    Ok(std::fs::read_to_string(file)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_prompt_begins_with_the_failed_gate() -> Result<()> {
    for on in [false, true] {
        let parts: &[&str] = if on { &["reflexion"] } else { &[] };
        let board = board(parts, json!({ "review_config": { "ci_steps": [CHECK] } })).await?;
        let (one, two) = (keeps_prompt(&board, "1"), keeps_prompt(&board, "2"));
        let both = two_runs(&[&one, "edit bad <<< \"x\\n\""], &[&two, "edit good <<< \"x\\n\""]);
        let task = board.task(&[], json!({ "description": both })).await?;
        board.claim(&task).await?;
        board.engine.until(&task, is("done")).await?;

        let (first, retry) = (prompt(&board, "1")?, prompt(&board, "2")?);
        assert!(first.starts_with("# How you work here\n"), "{first}");
        let failure = format!("Review attempt 1 of 3 failed: `{CHECK}` exited with 3.");
        assert_eq!(retry.matches(&failure).count(), 1, "{retry}");
        let (enabled, effect, about, _) = part(&board, "reflexion").await?;
        assert_eq!(enabled, on);
        if on {
            let tail = "\n\nstderr:\n~~~~\nnothing good is here\n~~~~\n";
            let begin =
                format!("# This is attempt 2 of 3\n\nBegin with why the last one failed.\n\n{failure}{tail}");
            assert!(retry.starts_with(&begin), "{retry}");
            assert_eq!(
                effect,
                format!("run 2 started with: Review attempt 1 of 3 failed: `{CHECK}` exited with 3")
            );
            assert_eq!(about, task["id"]);
        } else {
            assert!(retry.starts_with("# How you work here\n"), "{retry}");
            assert_eq!((effect.as_str(), about), ("", Value::Null));
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_task_leaves_a_note() -> Result<()> {
    let board = board(&["trajectory"], json!({})).await?;
    let keep = keeps_prompt(&board, "1");
    let note =
        print_lines(&["Done.", "```forge-trajectory", "The lexer was **it**.", "", "Not the parser.", "```"]);
    let task = board.task(&[&keep, "edit a <<< \"x\\n\"", &note], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert!(prompt(&board, "1")?.contains("\n# How it went\n"));
    let left = until("the note", async || {
        let left = debrief(&board, &task).await?["note"].clone();
        Ok((!left.is_null()).then_some(left))
    })
    .await?;
    let run = board.runs(&task).await?[0]["id"].clone();
    assert_eq!(left["text"], "The lexer was **it**.\n\nNot the parser.");
    assert_eq!(
        (&left["is_cut"], &left["execution_id"], &left["agent_id"]),
        (&json!(false), &run, &json!(board.agent))
    );
    let file = exported(&board, &format!("trajectories/{}.md", text(&task, "id"))).await?;
    assert!(
        file.starts_with(&format!("---\ntask: {}\ntitle: \"Do it\"\nagent: \"Bot\"\n", task["number"])),
        "{file}"
    );
    assert!(file.ends_with("---\n\nThe lexer was **it**.\n\nNot the parser.\n"), "{file}");
    let (_, effect, about, _) = part(&board, "trajectory").await?;
    assert_eq!((effect.as_str(), about), ("a note of 7 words", task["id"].clone()));
    let history = board.history(&task).await?;
    let steps = history.last().context("no moves")?["steps"].as_array().context("no steps")?;
    let step = steps.iter().find(|step| step["action"] == "debrief").context("no such step")?;
    assert_eq!((&step["outcome"], &step["reason"]), (&json!("ok"), &json!("a note of 7 words")));

    // A task that is given up leaves none, and one whose agent says none is done all the same.
    let given_up = board.task(&["edit b <<< \"x\\n\"", &note, "hang"], json!({})).await?;
    board.claim(&given_up).await?;
    until("its run", async || Ok((!board.runs(&given_up).await?.is_empty()).then_some(()))).await?;
    board.act(&given_up, "actions/cancel?wait=none", json!({})).await?;
    board.engine.until(&given_up, is("cancelled")).await?;
    let silent = board.task(&["edit c <<< \"x\\n\""], json!({})).await?;
    board.claim(&silent).await?;
    board
        .engine
        .until(&silent, |task| task["status"] == "done" && task["workspace"]["status"] == "cleaned")
        .await?;
    for task in [given_up, silent] {
        assert_eq!(debrief(&board, &task).await?["note"], Value::Null);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_inner_loop_asks_for_and_keeps_no_knowledge() -> Result<()> {
    let board = board(&[], json!({ "review_config": { "ci_steps": [CHECK] } })).await?;
    let keep = keeps_prompt(&board, "1");
    let words =
        print_lines(&["```forge-trajectory", "x", "```", "```forge-lesson", "title: X", "", "x", "```"]);
    let both = two_runs(&[&keep, "edit bad <<< \"x\\n\""], &["edit good <<< \"x\\n\"", &words]);
    let task = board.task(&[], json!({ "description": both })).await?;
    board.claim(&task).await?;
    board
        .engine
        .until(&task, |task| task["status"] == "done" && task["workspace"]["status"] == "cleaned")
        .await?;
    let told = prompt(&board, "1")?;
    assert!(!told.contains("# What later tasks should know") && !told.contains("# How it went"), "{told}");
    assert_eq!(debrief(&board, &task).await?, json!({ "note": null, "postmortems": [] }));
    assert!(board.items(&format!("/projects/{}/knowledge", board.project)).await?.is_empty());
    for name in ["trajectory", "postmortem", "knowledge", "gate_suggestions"] {
        assert_eq!(part(&board, name).await?, (false, String::new(), Value::Null, 0), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_are_kept_and_found_without_a_hook() -> Result<()> {
    let board = board(&["knowledge"], json!({})).await?;
    let keep = keeps_prompt(&board, "1");
    let lesson = print_lines(&[
        "```forge-lesson",
        "title: Tokens expire",
        "paths: src/login.rs",
        "",
        "Renew them after an hour.",
        "```",
    ]);
    let task = board.task(&[&keep, "edit a <<< \"x\\n\"", &lesson], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    assert!(prompt(&board, "1")?.contains("\n# What later tasks should know\n"));
    let path = format!("/projects/{}/knowledge", board.project);
    let proposed = until("the proposal", async || Ok(board.items(&path).await?.into_iter().next())).await?;
    let (_, effect, _, open) = part(&board, "knowledge").await?;
    assert_eq!((effect.as_str(), open), ("proposed: Tokens expire", 1));
    board.engine.post(&format!("{path}/{}/accept", text(&proposed, "id")), json!({})).await?;
    board.folder.repo.write("docs/knowledge/icons.md", "# Icons\n\nThey are drawn twice.\n")?;
    board.folder.repo.write("docs/knowledge/session.md", "# Sessions\n\nA token lives in them.\n")?;
    board.folder.repo.commit("two more by hand")?;

    // By title, by text, by path; whole words in their other forms, too; the best first.
    let find = async |words: &str| -> Result<Vec<String>> {
        let found = board.items(&format!("{path}/search?q={words}")).await?;
        Ok(found.iter().map(|lesson| text(lesson, "title")).collect())
    };
    assert_eq!(find("token").await?, ["Tokens expire", "Sessions"]);
    assert_eq!(find("renewing").await?, ["Tokens expire"]);
    assert_eq!(find("login.rs%20drawn").await?.len(), 2);
    assert_eq!(find("nothing-like-it").await?, [] as [&str; 0]);
    let none = board.engine.request(Method::GET, &format!("{path}/search?q=%22*%22"));
    let (status, body) = refused(none).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("q")), "{body:#}");

    // The next run is told what fits its task alone, and from where.
    let keep = keeps_prompt(&board, "2");
    let title = json!({ "title": "Mend src/login.rs" });
    let next = board.task(&[&keep, "edit b <<< \"x\\n\""], title).await?;
    board.claim(&next).await?;
    board.engine.until(&next, is("done")).await?;
    let told = prompt(&board, "2")?;
    let wanted = format!(
        "# What this project has learned\n\n## Tokens expire\n\nRenew them after an hour.\n\nSource: \
         `docs/knowledge/tokens-expire.md`, learned in task #{}, about `src/login.rs`\n",
        task["number"]
    );
    assert!(told.contains(&wanted) && !told.contains("Icons"), "{told}");
    let (_, effect, about, open) = part(&board, "knowledge").await?;
    assert_eq!(effect, "run 1 got the lessons docs/knowledge/tokens-expire.md");
    assert_eq!((about, open), (next["id"].clone(), 0));

    // What the branch keeps no more is found no more.
    board.folder.repo.git(&["rm", "-q", "docs/knowledge/tokens-expire.md"])?;
    board.folder.repo.commit("it was wrong")?;
    assert_eq!(find("token").await?, ["Sessions"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_gate_and_task_end_leave_postmortems() -> Result<()> {
    let board = board(&["postmortem"], json!({ "review_config": { "ci_steps": ["true", CHECK] } })).await?;
    let both = two_runs(
        &["edit bad <<< \"x\\n\"", "usage m 10 10 30"],
        &["edit good <<< \"x\\n\"", "usage m 10 10 12"],
    );
    let task = board.task(&[], json!({ "description": both })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let records = until("both postmortems", async || {
        let all = debrief(&board, &task).await?["postmortems"].as_array().cloned().unwrap_or_default();
        Ok((all.len() == 2).then_some(all))
    })
    .await?;
    let [failed, closed] = &records[..] else { anyhow::bail!("{records:#?}") };
    assert_eq!((&failed["number"], &failed["cause"]), (&json!(1), &json!("gate_failed")));
    assert_eq!((failed["attempts"].as_array().map(Vec::len), &failed["state"]), (Some(1), &json!("review")));
    assert_eq!(
        (&closed["number"], &closed["cause"], &closed["state"]),
        (&json!(2), &json!("task_closed"), &json!("done"))
    );
    let first = &closed["first_failure"];
    assert_eq!(
        (&first["gate"], &first["attempt"], &first["line"]),
        (&json!(CHECK), &json!(1), &json!("nothing good is here"))
    );
    assert_eq!(first["what"], format!("check `{CHECK}` exited with 3"));
    assert_eq!(failed["first_failure"], *first);
    let told: Vec<_> = closed["attempts"]
        .as_array()
        .context("no attempts")?
        .iter()
        .map(|it| (text(it, "status"), it["runs"].clone(), it["cost_micro_usd"].clone()))
        .collect();
    assert_eq!(told, [("failed".into(), json!(1), json!(30)), ("passed".into(), json!(1), json!(12))]);
    assert_eq!((&closed["runs"], &closed["usage"]["cost_micro_usd"]), (&json!(2), &json!(42)));
    assert_eq!(
        closed["gates"],
        json!([
            { "gate": "true", "passed": 2, "failed": 0, "flapping": false },
            { "gate": CHECK, "passed": 1, "failed": 1, "flapping": false },
        ])
    );
    for record in &records {
        let path = format!("postmortems/{}-{}.json", text(&task, "id"), record["number"]);
        assert_eq!(&serde_json::from_str::<Value>(&exported(&board, &path).await?)?, record);
    }
    let (_, effect, about, _) = part(&board, "postmortem").await?;
    assert_eq!((effect, about), (format!("2 attempts, first failed: {CHECK}"), task["id"].clone()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn postmortem_covers_the_entries_of_a_race() -> Result<()> {
    let board = board(&["postmortem"], json!({ "review_config": { "ci_steps": [CHECK] } })).await?;
    let strategies =
        json!([{ "name": "a", "agent_id": board.agent }, { "name": "b", "agent_id": board.agent }]);
    let races = json!({ "innerLoop": { "competitive": { "enabled": true, "strategies": strategies } } });
    board.patch(&format!("/projects/{}/settings", board.project), races).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 4 })).await?;
    let task = board
        .task(&["edit bad <<< \"x\\n\"", "usage m 1 1 5"], json!({ "race": { "enabled": true } }))
        .await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "race_no_winner").await?;
    let left = debrief(&board, &task).await?["postmortems"].clone();
    assert_eq!(left.as_array().map(Vec::len), Some(1), "one of the task, none of each entry: {left:#}");
    let record = &left[0];
    let told: Vec<_> = record["entries"]
        .as_array()
        .context("no entries")?
        .iter()
        .map(|it| {
            (
                text(it, "strategy"),
                text(it, "gate"),
                it["cost_micro_usd"].clone(),
                text(&it["failed"], "gate"),
            )
        })
        .collect();
    let entry = |name: &str| (name.to_owned(), "failed".to_owned(), json!(5), CHECK.to_owned());
    assert_eq!(told, [entry("a"), entry("b")]);
    assert!(record["first_failure"]["strategy"].is_string(), "{record:#}");
    assert_eq!((&record["runs"], &record["usage"]["cost_micro_usd"]), (&json!(2), &json!(10)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_checks_is_suggested_checks_from_its_files() -> Result<()> {
    let board = board(&[], json!({})).await?;
    let repo = &board.folder.repo;
    repo.write("package.json", r#"{"scripts":{"test":"vitest run","lint":"eslint ."}}"#)?;
    repo.write("go.mod", "module x\n")?;
    repo.commit("what implies checks")?;
    // Only what is committed counts.
    repo.write("Cargo.toml", "[package]\n")?;
    let path = format!("/projects/{}/checks", board.project);
    let offers = async || -> Result<Vec<String>> {
        let all = board.items(&format!("{path}/offers")).await?;
        Ok(all
            .iter()
            .map(|offer| format!("{} < {}", text(offer, "command"), text(offer, "source")))
            .collect())
    };
    assert_eq!(offers().await?, [] as [&str; 0], "it is off");
    let settings = format!("/projects/{}/settings", board.project);
    board.patch(&settings, json!({ "innerLoop": { "gateSuggestions": { "enabled": true } } })).await?;
    let all = [
        "npm run lint < package.json",
        "npm run test < package.json",
        "go vet ./... < go.mod",
        "go test ./... < go.mod",
    ];
    assert_eq!(offers().await?, all);
    assert_eq!(part(&board, "gate_suggestions").await?.3, 4);
    let in_force = async || {
        Ok::<_, anyhow::Error>(
            board.engine.get(&settings).await?["settings"]["review_config"]["ci_steps"].clone(),
        )
    };
    assert_eq!(in_force().await?, Value::Null, "never by itself");

    let (status, body) = board.refuse(&format!("{path}/take"), json!({ "commands": ["rm -rf ."] })).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("commands")), "{body:#}");
    board.engine.post(&format!("{path}/take"), json!({ "commands": ["npm run test"] })).await?;
    assert_eq!(in_force().await?, json!(["npm run test"]));
    assert_eq!(offers().await?, [] as [&str; 0], "it has checks now");
    let (_, effect, _, open) = part(&board, "gate_suggestions").await?;
    assert_eq!((effect.as_str(), open), ("added checks: npm run test", 0));

    // Before there is a project: for whoever adds one.
    let root = board.folder.repo.path().display().to_string();
    let folder = board.engine.request(Method::GET, "/checks/offers").query(&[("repo_path", root.as_str())]);
    let found = good(folder.send().await?)?;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(4), "{found:#}");
    let nowhere = board.engine.request(Method::GET, "/checks/offers").query(&[("repo_path", "/")]);
    let (status, body) = refused(nowhere).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("repo_path")), "{body:#}");
    Ok(())
}
