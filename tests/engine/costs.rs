//! Costs: the ledger with retries, reviewers and losers of races, anomalies, and estimates of races.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text, with},
    caller::refused,
};
use forge_tests::patience::until;
use reqwest::Method;
use serde_json::{Value, json};

fn block(words: &str, lines: &[&str]) -> String {
    format!("\n```forge-script {words}\n{}\n```\n", lines.join("\n"))
}

/// A task that ran to its end.
async fn finished_task(board: &Board, title: &str, description: &str, more: Value) -> Result<Value> {
    let new = json!({ "title": title, "description": description, "roles": { "coder": board.agent } });
    let task = board.engine.task(&board.project, with(new, &more)).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await
}

/// A finished task that changes its own file and reports a usage.
async fn task_with_usage(board: &Board, name: &str, usage: &str) -> Result<Value> {
    let lines = [format!("edit {name} <<< \"x\\n\""), usage.to_owned()];
    finished_task(board, name, &block("", &[&lines[0], &lines[1]]), json!({})).await
}

async fn board_with_watch(more: Value) -> Result<Board> {
    let watch = with(json!({ "enabled": true }), &more);
    Board::new(json!({ "innerLoop": { "costAnomaly": watch } })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_without_figures_is_unknown_and_figures_beyond_2_53_are_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for (name, usage, cost) in [
        ("bare", r#"{"model":"m"}"#, Value::Null),
        ("free", r#"{"model":"m","cost_micro_usd":0}"#, json!(0)),
        ("most", r#"{"model":"m","cost_micro_usd":9007199254740991}"#, json!(9_007_199_254_740_991_u64)),
        ("beyond", r#"{"model":"m","cost_micro_usd":9007199254740992}"#, Value::Null),
    ] {
        let line = format!("echo '{{\"kind\":\"usage\",\"body\":{usage}}}'; touch {name}");
        let config = json!({ "command": "sh", "args": ["-c", line] });
        let agent = json!({ "name": name, "adapter": "shell", "config": config });
        let agent = board.engine.post("/agents", agent).await?;
        let new = json!({ "title": name, "roles": { "coder": agent["id"] } });
        let task = board.engine.task(&board.project, new).await?;
        board.act(&task, "claim", json!({ "agent_id": agent["id"] })).await?;
        board.engine.until(&task, is("done")).await?;
        let run = board.runs(&task).await?.remove(0);
        let source = if cost.is_null() { "unknown" } else { "reported" };
        assert_eq!((&run["cost_micro_usd"], &run["cost_source"]), (&cost, &json!(source)), "{name}: {run:#}");
        if name == "beyond" {
            let log = board.engine.get(&format!("/executions/{}/logs", text(&run, "id"))).await?.to_string();
            assert!(log.contains("cost_micro_usd is 9007199254740992, and must be below 2^53"), "{log}");
        }
    }
    Ok(())
}

async fn ledger(board: &Board) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    let mut cursor = String::new();
    loop {
        // In small pages, so that their seams are crossed.
        let page = board.engine.get(&format!("/costs/runs?limit=2{cursor}")).await?;
        rows.extend(page["items"].as_array().context("no items")?.iter().cloned());
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(rows),
        }
    }
}

async fn csv(board: &Board, query: &str) -> Result<(String, String)> {
    let server = board.engine.serve().await?;
    let answer = server.request(Method::GET, &format!("/costs.csv{query}")).send().await?;
    ensure!(answer.status().is_success(), "{answer:?}");
    let kind = answer.headers().get("content-type").context("no content type")?.to_str()?.to_owned();
    Ok((kind, answer.text().await?))
}

/// The stable columns of a ledger row.
fn ledger_line(row: &Value) -> String {
    let flag = |key: &str, word: &str| if row[key] == true { format!(" {word}") } else { String::new() };
    let race = match (row["strategy"].as_str(), row["race_won"].as_bool()) {
        (Some(name), Some(won)) => format!(" {name}:{}", if won { "won" } else { "lost" }),
        (Some(name), None) => format!(" {name}:open"),
        (None, _) => String::new(),
    };
    format!(
        "#{} {} {} {} {}{race}{}{}",
        row["task_number"],
        text(row, "role"),
        text(row, "status"),
        row["model"].as_str().unwrap_or("-"),
        row["cost_micro_usd"].as_u64().map_or_else(|| "?".to_owned(), |cost| cost.to_string()),
        flag("is_restart", "restart"),
        flag("is_anomaly", "anomaly"),
    )
}

/// The cost samples of a model in a project.
async fn line_of(board: &Board, model: &str) -> Result<Value> {
    let series = board.engine.get(&format!("/costs/series?project={}", board.project)).await?;
    let lines = series["lines"].as_array().context("no lines")?;
    lines.iter().find(|line| line["model"] == model).cloned().with_context(|| format!("{series:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_matches_a_handwritten_one() -> Result<()> {
    let board = Board::new(json!({})).await?;
    task_with_usage(&board, "one", "usage m 100 20 1000").await?;
    // A run that crashes and the one that follows by itself are one sample and two lines.
    let crashes = block("", &["usage m 1 1 300", "fail 3"]);
    let goes_on = block("attempt=2", &["edit two <<< \"x\\n\"", "usage m 1 1 500", "usage n 1 1 50"]);
    finished_task(&board, "two", &format!("{crashes}{goes_on}"), json!({})).await?;
    task_with_usage(&board, "three", "usage nobody-knows-it 7 7").await?;
    let strategies = json!([
        { "name": "cheap", "agent_id": board.agent }, { "name": "dear", "agent_id": board.agent },
    ]);
    let race = json!({ "enabled": true, "maxParallel": 2, "strategies": strategies });
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 4 })).await?;
    let settings = format!("/projects/{}/settings", board.project);
    board.patch(&settings, json!({ "innerLoop": { "competitive": race } })).await?;
    let entry = |name: &str, cost: &str| {
        block(&format!("strategy={name}"), &["edit four <<< \"x\\n\"", &format!("usage m 10 10 {cost}")])
    };
    let audit = block("role=reviewer", &["usage judge 5 5 70", "verdict pass fine"]);
    let raced = format!("{}{}{audit}", entry("cheap", "20"), entry("dear", "30"));
    let more = json!({
        "race": { "enabled": true }, "roles": { "coder": board.agent, "reviewer": board.agent },
    });
    let raced = finished_task(&board, "four, \"quoted\"", &raced, more).await?;

    let rows = ledger(&board).await?;
    let mut lines: Vec<String> = rows.iter().map(ledger_line).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "#1 coder finished m 1000",
            "#2 coder failed m 300",
            "#2 coder finished m 550 restart",
            "#3 coder finished nobody-knows-it ?",
            "#4 coder finished m 20 cheap:won",
            "#4 coder finished m 30 dear:lost",
            "#4 reviewer finished judge 70",
        ]
    );
    let ends: Vec<String> = rows.iter().map(|row| text(row, "ended_at")).collect();
    assert!(ends.is_sorted_by(|a, b| a >= b), "{ends:?}");
    assert!(rows.iter().filter(|row| row["task_number"] == 4).all(|row| row["task_id"] == raced["id"]));

    let totals = board.engine.get(&format!("/costs/totals?project={}", board.project)).await?;
    for (by, list) in [
        ("day", "days"),
        ("project", "projects"),
        ("task", "tasks"),
        ("agent", "agents"),
        ("model", "models"),
    ] {
        let sums = board.items(&format!("/costs?by={by}&project={}", board.project)).await?;
        assert_eq!(json!(sums), totals[list], "{by}");
    }
    // The same runs on the scoreboard: four tasks, one of which two entries raced at.
    let board_of = async |by: &str| -> Result<Value> {
        let path = format!("/scoreboard?by={by}&project={}", board.project);
        Ok(board.engine.get(&path).await?["rows"].clone())
    };
    let by_agent = board_of("agent").await?;
    let line = &by_agent[0];
    assert_eq!(
        [&line["tasks"], &line["runs"], &line["unknown"], &line["cost_micro_usd"], &line["merged"]["count"]],
        [&json!(5), &json!(7), &json!(1), &json!(1970.0), &json!(4)],
        "{by_agent:#}"
    );
    let models = board_of("model").await?;
    let tasks: Vec<_> = models.as_array().into_iter().flatten().map(|line| &line["tasks"]).collect();
    assert_eq!(tasks, [4, 1], "{models:#}");
    let scores = board.engine.get(&format!("/scoreboard/csv?project={}", board.project)).await?;
    let lines: Vec<&str> = scores["text"].as_str().context("no text")?.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("agent,model,effort,tasks,"), "{lines:?}");
    let sum = |list: &str, label: &str| -> Value {
        let sums = totals[list].as_array().into_iter().flatten();
        sums.filter(|sum| sum["label"] == label).map(|sum| sum["cost_micro_usd"].clone()).collect()
    };
    assert_eq!(
        (&totals["all"]["cost_micro_usd"], &totals["all"]["runs"], &totals["all"]["unknown"]),
        (&json!(1970), &json!(7), &json!(1))
    );
    assert_eq!(sum("tasks", "four, \"quoted\""), json!([120]));
    assert_eq!(sum("tasks", "two"), json!([850]));
    assert_eq!(sum("agents", "Bot"), json!([1970]));
    assert_eq!((sum("models", "m"), sum("models", "n")), (json!([1850]), json!([50])));
    assert_eq!(totals["projects"].as_array().map(Vec::len), Some(1));
    let of_days: u64 = totals["days"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|day| day["cost_micro_usd"].as_u64())
        .sum();
    assert_eq!(of_days, 1970);

    // A chain is one sample; reviewers are none; unknown ones are told apart.
    let of_m = line_of(&board, "m").await?;
    assert_eq!(of_m["cost_micro_usd"].as_array().map(Vec::len), Some(4), "{of_m:#}");
    assert_eq!((&of_m["cost_micro_usd"][0], &of_m["cost_micro_usd"][1]), (&json!(1000), &json!(850)));
    assert_eq!(line_of(&board, "nobody-knows-it").await?["unknown"], 1);
    line_of(&board, "judge").await.unwrap_err();

    // The file has the same lines, in the same order, and all of them.
    let (kind, file) = csv(&board, "").await?;
    assert_eq!(kind, "text/csv; charset=utf-8");
    let (head, rest) = file.split_once("\r\n").context("no head")?;
    let heads: Vec<&str> = head.split(',').collect();
    let records: Vec<&str> = rest.split_terminator("\r\n").collect();
    assert_eq!(records.len(), rows.len(), "{file}");
    for (record, row) in records.iter().zip(&rows) {
        let plain = record.replace("\"four, \"\"quoted\"\"\"", "four-quoted");
        let fields: Vec<&str> = plain.split(',').collect();
        assert_eq!(fields.len(), heads.len(), "{record}");
        let field =
            |name: &str| heads.iter().position(|head| *head == name).and_then(|at| fields.get(at)).copied();
        assert_eq!(field("execution_id"), row["execution_id"].as_str());
        assert_eq!(field("ended_at"), row["ended_at"].as_str());
        let cost = row["cost_micro_usd"].as_u64().map_or_else(String::new, |cost| cost.to_string());
        assert_eq!(field("cost_micro_usd"), Some(cost.as_str()));
        assert_eq!(field("input"), Some(row["tokens"]["input"].to_string().as_str()));
    }
    let (_, of_nobody) = csv(&board, "?until=2020-01-01T00:00:00Z").await?;
    assert_eq!(of_nobody, format!("{head}\r\n"));
    let server = board.engine.serve().await?;
    let answer = server.request(Method::GET, "/costs.csv?sinc=x").send().await?;
    let (status, body) = (answer.status().as_u16(), answer.json::<Value>().await?);
    assert_eq!((status, text(&body, "code").as_str()), (400, "invalid"), "{body:#}");
    let (status, _) = refused(board.engine.request(Method::GET, "/costs/runs?cursor=x")).await?;
    assert_eq!(status, 400);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn anomaly_is_reported_once_and_kept_unchanged() -> Result<()> {
    let board = board_with_watch(json!({ "ratio": 1.5 })).await?;
    for (name, cost) in [("one", 100), ("two", 140), ("three", 180)] {
        task_with_usage(&board, name, &format!("usage m 1 1 {cost}")).await?;
    }
    // 180 is exactly 1.5 times 120: not above.
    assert_eq!(board.items("/costs/anomalies").await?, Vec::<Value>::new());
    // Of another model it is the first.
    task_with_usage(&board, "other", "usage n 1 1 9000").await?;
    let crashes = block("", &["usage m 4 5 300", "fail 3"]);
    let goes_on = block("attempt=2", &["edit dear <<< \"x\\n\"", "usage m 6 7 1"]);
    let dear = finished_task(&board, "dear", &format!("{crashes}{goes_on}"), json!({})).await?;

    let found = board.items("/costs/anomalies").await?;
    assert_eq!(found.len(), 1, "{found:#?}");
    let record = &found[0]["record"];
    let run = board.runs(&dear).await?.pop().context("no run")?;
    assert_eq!(
        record,
        &json!({
            "at": record["at"], "taskId": dear["id"], "executionId": run["id"], "title": "dear", "model": "m",
            "costMicroUsd": 301, "medianMicroUsd": 140.0, "ratio": 2.15, "threshold": 1.5, "samples": 3,
            "tokens": { "input": 10, "cacheRead": 0, "cacheWrite": 0, "output": 12, "reasoning": 0 },
            "attempts": 2,
        })
    );
    assert_eq!(board.items(&format!("/costs/anomalies?task_id={}", text(&dear, "id"))).await?, found);
    let events = board.events("cost.anomaly", 1).await?;
    assert_eq!((&events[0]["task_id"], &events[0]["data"]["costMicroUsd"]), (&dear["id"], &json!(301)));
    let told = board.items("/notifications").await?;
    let told: Vec<&Value> = told.iter().filter(|told| told["kind"] == "cost_anomaly").collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["task_id"], dear["id"]);
    let file = board.folder.repo.path().join(".forge/cost-anomalies.jsonl");
    let exported = async || Ok(std::fs::read_to_string(&file).ok());
    let lines = until("the export", exported).await?;
    assert_eq!(serde_json::from_str::<Value>(&lines)?, *record);
    assert_eq!(board.folder.repo.git(&["status", "--porcelain"])?, "", "it is kept out of git");

    // Later runs, dear or cheap, change nothing of it; each is judged by what was before it.
    task_with_usage(&board, "four", "usage m 1 1 5000").await?;
    task_with_usage(&board, "five", "usage m 1 1 1").await?;
    let now = board.items("/costs/anomalies").await?;
    assert_eq!((now.len(), &now[1]), (2, &found[0]), "{now:#?}");
    assert_eq!((&now[0]["record"]["title"], &now[0]["record"]["samples"]), (&json!("four"), &json!(4)));
    let of_m = line_of(&board, "m").await?;
    assert_eq!(of_m["is_anomaly"], json!([false, false, false, true, true, false]), "{of_m:#}");
    assert_eq!(of_m["median_micro_usd"], json!([null, 100.0, 120.0, 140.0, 160.0, 180.0]), "{of_m:#}");
    let two = async || {
        let text = std::fs::read_to_string(&file)?;
        Ok((text.lines().count() == 2).then_some(text))
    };
    assert!(until("the second line", two).await?.starts_with(&lines), "lines stay where they are");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_run_is_a_cost_sample_and_stopped_run_is_not() -> Result<()> {
    let board = board_with_watch(json!({})).await?;
    task_with_usage(&board, "one", "usage m 1 1 100").await?;
    let new = json!({ "description": block("", &["usage m 1 1 90", "fail 3"]) });
    let failing = board.engine.task(&board.project, new).await?;
    board.claim(&failing).await?;
    board.engine.until(&failing, |task| task["error_annotation"]["type"] == "executor_failed").await?;
    let runs = board.runs(&failing).await?.len();
    let found = board.items("/costs/anomalies").await?;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["record"]["attempts"], runs);
    assert_eq!(found[0]["record"]["costMicroUsd"], 90 * runs);

    let new = json!({ "description": block("", &["usage m 1 1 7000", "hang"]) });
    let stopped = board.engine.task(&board.project, new).await?;
    board.claim(&stopped).await?;
    let counted = |task: &Value| task["usage"]["cost_micro_usd"] == 7000;
    board.engine.until(&stopped, counted).await?;
    board.act(&stopped, "actions/cancel", json!({})).await?;
    board.engine.until(&stopped, is("cancelled")).await?;
    assert_eq!(board.items("/costs/anomalies").await?.len(), 1);
    assert_eq!(line_of(&board, "m").await?["samples"], 2);
    // The money is gone all the same.
    let totals = board.engine.get("/costs/totals").await?;
    assert_eq!(totals["all"]["cost_micro_usd"], 100 + 90 * runs + 7000);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_cost_watch_reports_nothing() -> Result<()> {
    let board = board_with_watch(json!({ "enabled": false })).await?;
    for (name, cost) in [("one", 1), ("two", 1_000_000)] {
        task_with_usage(&board, name, &format!("usage m 1 1 {cost}")).await?;
    }
    assert_eq!(board.items("/costs/anomalies").await?, Vec::<Value>::new());
    assert!(!board.folder.repo.path().join(".forge").exists());
    // The course of costs is drawn all the same, and counts once somebody looks.
    assert_eq!(line_of(&board, "m").await?["samples"], 2);
    let on = json!({ "innerLoop": { "costAnomaly": { "enabled": true } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    task_with_usage(&board, "three", "usage m 1 1 1000001").await?;
    assert_eq!(board.items("/costs/anomalies").await?, Vec::<Value>::new());
    task_with_usage(&board, "four", "usage m 1 1 9000000").await?;
    assert_eq!(board.items("/costs/anomalies").await?[0]["record"]["samples"], 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn race_is_estimated_from_the_costs_of_its_models() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for (name, cost) in [("one", 100), ("two", 301)] {
        task_with_usage(&board, name, &format!("usage m 1 1 {cost}")).await?;
    }
    let strategies = json!([
        { "name": "by-name", "agent_id": board.agent, "model": "m" },
        { "name": "as-last-time", "agent_id": board.agent },
        { "name": "new", "agent_id": board.agent, "model": "never-used" },
    ]);
    let race = json!({ "enabled": true, "strategies": strategies });
    let settings = format!("/projects/{}/settings", board.project);
    board.patch(&settings, json!({ "innerLoop": { "competitive": race } })).await?;
    let task = board.engine.task(&board.project, json!({})).await?;
    let path = format!("/tasks/{}/race-estimate", text(&task, "id"));
    let estimate = board.engine.get(&path).await?;
    let medians: Vec<&Value> = estimate["entries"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| &entry["median_micro_usd"])
        .collect();
    assert_eq!(medians, [&json!(200.5), &json!(200.5), &Value::Null], "{estimate:#}");
    assert_eq!(estimate["total_micro_usd"], Value::Null, "one of them is unknown");
    let known = board.engine.get(&format!("{path}?strategies=by-name,as-last-time")).await?;
    assert_eq!((&known["total_micro_usd"], &known["entries"][0]["samples"]), (&json!(401.0), &json!(2)));
    let request = board.engine.request(Method::GET, &format!("{path}?strategies=nobody"));
    assert_eq!(refused(request).await?.0, 400);
    // Before there is a task: as the project says, or as it is typed.
    let of_project = format!("/projects/{}/race-estimate", board.project);
    assert_eq!(board.engine.post(&of_project, json!({})).await?, estimate);
    let typed = json!({ "strategies": [strategies[0]] });
    assert_eq!(board.engine.post(&of_project, typed).await?["total_micro_usd"], 200.5);
    let all = board.engine.post(&of_project, json!({ "strategies": [] })).await?;
    assert_eq!(all["entries"].as_array().map(Vec::len), Some(1), "every agent races: {all:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn forecast_of_a_project_counts_its_own_runs_of_today_beside_its_limit() -> Result<()> {
    let board = Board::new(json!({ "cost_limits": { "day_micro_usd": 9_000_000 } })).await?;
    let other = board.project("other", json!({}), json!({})).await?;
    task_with_usage(&board, "one.txt", "usage m 1000 200 420000").await?;
    let of = async |project: &str| board.engine.get(&format!("/projects/{project}/cost-forecast")).await;
    let own = of(&board.project).await?;
    ensure!(own["today_micro_usd"] == 420_000 && own["limit_micro_usd"] == 9_000_000, "{own:#}");
    let end = own["day_end_micro_usd"].as_u64();
    ensure!(end.is_none_or(|end| end >= 420_000), "{own:#}");
    let other = of(&other).await?;
    ensure!(other["today_micro_usd"] == 0 && other["limit_micro_usd"].is_null(), "{other:#}");
    Ok(())
}
