//! Scheduling: caps on every interface, automatic starts, dependencies, and rate limits of providers.

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
    caller::good,
    script,
};
use serde_json::{Value, json};

fn waits_for(reason: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["waiting"]["reason"] == reason
}

async fn running(board: &Board) -> Result<u64> {
    let agents = board.items("/agents").await?;
    Ok(agents.iter().filter_map(|agent| agent["running"].as_u64()).sum())
}

#[tokio::test(flavor = "multi_thread")]
async fn cap_holds_on_every_interface_and_queued_tasks_start_in_order() -> Result<()> {
    const TASKS: usize = 20;
    let board = Board::new(json!({ "auto_approve": false, "max_concurrent": 50 })).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 2 })).await?;
    let go = board.folder.dir.path().join("go");
    let wait = format!("wait-for {}", go.display());
    let mut tasks = Vec::new();
    for n in 0..TASKS {
        // Two of each priority: the older one of them first.
        let more = json!({ "title": format!("Task {n}"), "priority": n / 2 });
        tasks.push(board.task(&[&wait, &format!("edit f{n} <<< \"x\"")], more).await?);
    }
    // All at once, by every operation that starts a task.
    let asked = tasks.iter().enumerate().map(|(n, task)| {
        let board = &board;
        async move {
            match n % 3 {
                0 => board.claim(task).await,
                1 => board.move_to(task, "in_progress").await,
                _ => board.act(task, "move?wait=none", json!({ "to": "in_progress" })).await,
            }
        }
    });
    futures::future::try_join_all(asked).await?;
    for task in &tasks {
        board.engine.until(task, |task| task["live"].is_object() || waits_for("agent_busy")(task)).await?;
    }
    assert_eq!(running(&board).await?, 2);
    let live = async || -> Result<Vec<bool>> {
        let mut live = Vec::new();
        for task in &tasks {
            live.push(board.get(task).await?["live"].is_object());
        }
        Ok(live)
    };
    let first = live().await?;
    assert_eq!(first.iter().filter(|live| **live).count(), 2, "each other one waits: {first:?}");
    // Another place, and the next in line takes it.
    let next = (0..TASKS).rev().filter(|n| !first[*n]).map(|n| n / 2).max().context("none waits")?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 3 })).await?;
    loop {
        let now = live().await?;
        let started: Vec<usize> = (0..TASKS).filter(|n| now[*n] && !first[*n]).collect();
        if let [n] = started[..] {
            assert_eq!(n / 2, next, "the highest priority is first");
            break;
        }
        assert!(started.is_empty(), "{started:?}");
    }
    std::fs::write(&go, "")?;
    let mut most = 0;
    for task in tasks.iter().rev() {
        loop {
            most = most.max(running(&board).await?);
            if !board.runs(task).await?.is_empty() {
                break;
            }
        }
    }
    assert!(most <= 3, "{most} ran at once");
    // The order of the places, not of the starts: one worktree takes longer to make than another.
    let order = |events: &[Value]| -> Vec<usize> {
        let admitted = events.iter().filter(|event| {
            (&event["data"]["step"], &event["data"]["outcome"]) == (&json!("admit"), &json!("ok"))
        });
        let places =
            admitted.filter_map(|event| tasks.iter().position(|task| task["id"] == event["task_id"]));
        places.filter(|place| !first[*place]).map(|place| place / 2).collect()
    };
    let all = board.events_until(|events| order(events).len() >= TASKS - 2, "the places").await?;
    let order = order(&all);
    assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_cap_queues_tasks_or_refuses_them_as_requested() -> Result<()> {
    let board = Board::new(json!({ "max_concurrent": 1 })).await?;
    let config = board.items("/agents").await?[0]["config"].clone();
    let other = board
        .engine
        .post("/agents", json!({ "name": "Other", "adapter": "shell", "config": config }))
        .await?;
    let first = board.task(&["hang"], json!({})).await?;
    board.claim(&first).await?;
    board.engine.until(&first, |task| task["live"].is_object()).await?;
    let roles = json!({ "roles": { "coder": other["id"] } });
    let second = board.task(&["edit a <<< \"a\""], roles).await?;
    let busy = json!({ "agent_id": other["id"] });
    let (status, body) = board.refused(&second, "claim?queue=false", busy.clone()).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "agent_busy"));
    board.act(&second, "claim", busy).await?;
    board.engine.until(&second, waits_for("project_busy")).await?;
    // It is another's now.
    let (status, body) = board.refused(&second, "claim", json!({ "agent_id": board.agent })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "role_conflict"), "{body}");
    let (status, body) = board.refused(&second, "claim", json!({ "agent_id": other["id"] })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "not_claimable"), "{body}");
    board.act(&first, "actions/cancel", json!({})).await?;
    board.engine.until(&second, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn eligible_tasks_start_automatically() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let settings = format!("/projects/{}/settings", board.project);
    let low = board.task(&["edit low <<< \"x\""], json!({ "title": "Low" })).await?;
    let high = board.task(&["edit high <<< \"x\""], json!({ "title": "High", "priority": 5 })).await?;
    let after =
        board.task(&["edit after <<< \"x\""], json!({ "title": "After", "depends_on": [low["id"]] })).await?;
    let held = board.task(&["edit held <<< \"x\""], json!({ "title": "Held" })).await?;
    board.act(&held, "actions/hold", json!({})).await?;
    let nobodys = board.engine.task(&board.project, json!({ "title": "Nobody's" })).await?;
    let parked = board.task(&["edit parked <<< \"x\""], json!({ "title": "Parked" })).await?;
    board.move_to(&parked, "backlog").await?;
    board.patch(&settings, json!({ "auto_start": true })).await?;
    // It says why it does not start, in the column that it stands in.
    let waiting =
        board.engine.until(&after, |task| !task["waiting"].is_null() || task["status"] != "todo").await?;
    assert_eq!(
        (waiting["status"].as_str(), waiting["waiting"]["reason"].as_str()),
        (Some("todo"), Some("dependency_open"))
    );
    assert_eq!(waiting["blocked_by"], json!([low["id"]]));
    for task in [&high, &low, &after] {
        board.engine.until(task, is("done")).await?;
        let history = board.history(task).await?;
        assert_eq!(
            (text(&history[0], "actor"), text(&history[0], "trigger")),
            ("system:scheduler".into(), "start".into())
        );
    }
    let started =
        async |task: &Value| -> Result<String> { Ok(text(&board.runs(task).await?[0], "started_at")) };
    assert!(started(&high).await? < started(&low).await?, "priority before age");
    assert!(board.get(&after).await?["blocked_by"] == json!([]));
    let events: Vec<Value> = board.items(&format!("/tasks/{}/transitions", text(&nobodys, "id"))).await?;
    assert!(events.is_empty());
    for (task, state) in [(&nobodys, "todo"), (&parked, "backlog")] {
        let now = board.get(task).await?;
        assert_eq!((now["status"].as_str(), &now["waiting"]), (Some(state), &Value::Null));
    }
    board.engine.until(&held, waits_for("held")).await?;
    board.act(&held, "actions/release", json!({})).await?;
    board.engine.until(&held, is("done")).await?;
    // A paused agent, and the end of auto-start, show at once, too.
    board.engine.post(&format!("/agents/{}/pause", board.agent), json!({})).await?;
    let late = board.task(&["edit late <<< \"x\""], json!({ "title": "Late" })).await?;
    board.engine.until(&late, waits_for("paused")).await?;
    board.patch(&settings, json!({ "auto_start": false })).await?;
    board.engine.until(&late, |task| task["waiting"].is_null()).await?;
    board.engine.post(&format!("/agents/{}/resume", board.agent), json!({})).await?;
    board.patch(&settings, json!({ "auto_start": true })).await?;
    board.engine.until(&late, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn open_dependencies_hold_agents_but_not_people() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let first = board.task(&["edit first <<< \"x\""], json!({ "title": "First" })).await?;
    let second = board
        .task(&["edit second <<< \"x\""], json!({ "title": "Second", "depends_on": [first["id"]] }))
        .await?;
    let (status, body) = board.refused(&second, "claim", json!({ "agent_id": board.agent })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "dependency_open"));
    let (status, body) = board
        .refuse(&format!("/tasks/{}/dependencies", text(&first, "id")), json!({ "depends_on": second["id"] }))
        .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "dependency_cycle"));
    assert_eq!(body["details"]["cycle"], json!([second["id"], first["id"]]));
    assert!(text(&body, "message").contains("#1 waits for #2, which waits for #1"), "{body}");
    // A parent's prerequisite that waits for one of its parts.
    let parent = board.task(&[], json!({ "title": "Parent", "depends_on": [first["id"]] })).await?;
    let new = json!({ "title": "Part", "parent_id": parent["id"], "execution_mode": "ordered_turn" });
    let part = board.engine.task(&board.project, new).await?;
    let (status, body) = board
        .refuse(&format!("/tasks/{}/dependencies", text(&first, "id")), json!({ "depends_on": part["id"] }))
        .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "dependency_cycle"), "{body}");
    // One that others need stays.
    let path = format!("/tasks/{}", text(&first, "id"));
    let (status, body) =
        forge_testkit::caller::refused(board.engine.request(reqwest::Method::DELETE, &path)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "in_use"), "{body}");
    // A person's hand goes before.
    board.move_to(&second, "in_progress").await?;
    board.engine.until(&second, is("done")).await?;
    // A claim that queued while the dependency came up waits for it.
    let blocker = board.task(&["hang"], json!({ "title": "Blocker" })).await?;
    board.claim(&blocker).await?;
    let queued = board.task(&["edit queued <<< \"x\""], json!({ "title": "Queued" })).await?;
    board.claim(&queued).await?;
    board.engine.until(&queued, waits_for("agent_busy")).await?;
    board
        .engine
        .post(&format!("/tasks/{}/dependencies", text(&queued, "id")), json!({ "depends_on": first["id"] }))
        .await?;
    board.act(&blocker, "actions/cancel", json!({})).await?;
    board.engine.until(&queued, waits_for("dependency_open")).await?;
    board.claim(&first).await?;
    board.engine.until(&queued, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dependency_on_itself_or_on_a_cancelled_task_is_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let task = board.task(&[], json!({ "title": "Task" })).await?;
    let cancelled = board.task(&[], json!({ "title": "Dropped" })).await?;
    board.act(&cancelled, "actions/cancel", json!({})).await?;
    let path = format!("/tasks/{}/dependencies", text(&task, "id"));
    for (on, reason) in [(&task, "a task cannot depend on itself"), (&cancelled, "#2 Dropped is cancelled")] {
        let (status, refusal) = board.refuse(&path, json!({ "depends_on": on["id"] })).await?;
        assert_eq!(status, 400, "{refusal:#}");
        assert!(text(&refusal, "message").contains(reason), "{refusal:#}");
    }
    let new = json!({ "title": "New", "depends_on": [cancelled["id"]] });
    let (status, refusal) = board.refuse(&format!("/projects/{}/tasks", board.project), new).await?;
    assert_eq!((status, &refusal["details"]["findings"][0]["path"]), (400, &json!("depends_on")));
    assert_eq!(board.get(&task).await?["depends_on"], json!([]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_dependency_blocks_its_dependents() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 2 })).await?;
    let first = board.task(&[], json!({ "title": "First" })).await?;
    let waiting =
        board.task(&["edit a <<< \"x\""], json!({ "title": "Waiting", "depends_on": [first["id"]] })).await?;
    let at_work = board
        .task(&["edit half <<< \"half\"", "hang"], json!({ "title": "At work", "depends_on": [first["id"]] }))
        .await?;
    board.move_to(&at_work, "in_progress").await?;
    board.engine.until(&at_work, |task| task["live"].is_object()).await?;
    board.act(&first, "actions/cancel", json!({})).await?;
    for task in [&waiting, &at_work] {
        let blocked = board.engine.until(task, is("blocked")).await?;
        assert_eq!(blocked["error_annotation"]["type"], "dependency_cancelled");
        assert_eq!(blocked["error_annotation"]["details"]["prerequisite"], first["id"]);
        assert!(text(&blocked["error_annotation"], "message").contains("#1 First"));
        assert!(blocked["live"].is_null());
    }
    // Whoever starts over knows, and is not held up by it again.
    let restarted = board.act(&waiting, "actions/restart", json!({})).await?;
    assert_eq!(
        (restarted["task"]["status"].as_str(), &restarted["task"]["depends_on"]),
        (Some("todo"), &json!([]))
    );
    board.claim(&waiting).await?;
    board.engine.until(&waiting, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reopened_task_with_cancelled_dependency_is_blocked_with_the_reason() -> Result<()> {
    let board = Board::new(json!({ "auto_start": true })).await?;
    let first = board.task(&["hang"], json!({ "title": "First" })).await?;
    let later =
        board.task(&["edit a <<< \"x\""], json!({ "title": "Later", "depends_on": [first["id"]] })).await?;
    board.engine.until(&later, waits_for("dependency_open")).await?;
    // Blocked already, it is left to the person when its prerequisite is cancelled.
    board.move_to(&later, "blocked").await?;
    board.act(&first, "actions/cancel", json!({})).await?;
    board.move_to(&later, "todo").await?;
    let blocked = board.engine.until(&later, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "dependency_cancelled");
    assert_eq!(blocked["error_annotation"]["details"]["prerequisite"], first["id"]);
    board.act(&later, "actions/restart", json!({})).await?;
    board.engine.until(&later, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rate_limited_run_is_resumed_after_the_limit() -> Result<()> {
    let mut board = Board::new(json!({})).await?;
    let limited =
        format!("{}\n```forge-script attempt=2\nedit a <<< \"a\"\n```", script(&["rate-limit 2500"]));
    let task = board.task(&[], json!({ "description": limited })).await?;
    let other = board.task(&["edit b <<< \"b\""], json!({ "title": "Other" })).await?;
    board.claim(&task).await?;
    let waiting = board.engine.until(&task, waits_for("rate_limited")).await?;
    assert_eq!(waiting["status"], "in_progress");
    let until = text(&waiting["waiting"], "until");
    assert!(!until.is_empty());
    assert_eq!(waiting["budgets"]["execution"], json!({ "used": 0, "limit": 2 }), "it spends nothing");
    let (status, _) = board.refused(&other, "claim?queue=false", json!({ "agent_id": board.agent })).await?;
    assert_eq!(status, 409);
    board.claim(&other).await?;
    let also = board.engine.until(&other, |task| !task["waiting"].is_null()).await?;
    assert_eq!(
        (also["waiting"]["reason"].as_str(), text(&also["waiting"], "until")),
        (Some("rate_limited"), until.clone()),
        "the limit is the agent's"
    );
    for task in [&task, &other] {
        let done = board.engine.until(task, is("done")).await?;
        assert_eq!(done["budgets"]["execution"]["used"], 0);
    }
    let runs = board.runs(&task).await?;
    assert_eq!((runs.len(), runs[0]["error"]["code"].as_str()), (2, Some("rate_limited")));
    assert!(text(&runs[1], "started_at") >= until, "not before its time");
    assert!(text(&board.runs(&other).await?[0], "started_at") >= until);

    // A longer one outlives the program; a person may cut it short, hold it, or give up.
    let hour =
        format!("{}\n```forge-script attempt=2\nedit c <<< \"c\"\n```", script(&["rate-limit 3600000"]));
    let task = board.task(&[], json!({ "title": "Long", "description": hour })).await?;
    let queued = board.task(&["edit d <<< \"d\""], json!({ "title": "Queued" })).await?;
    board.claim(&task).await?;
    let before = board.engine.until(&task, waits_for("rate_limited")).await?;
    board.claim(&queued).await?;
    board.engine.until(&queued, waits_for("rate_limited")).await?;
    board.restart().await?;
    let after = board.engine.until(&task, waits_for("rate_limited")).await?;
    assert_eq!(after["waiting"]["until"], before["waiting"]["until"]);
    let verbs: Vec<String> =
        after["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect();
    assert_eq!(verbs, ["retry", "hold", "cancel"]);
    board.act(&queued, "actions/cancel", json!({})).await?;
    board.act(&task, "actions/hold", json!({})).await?;
    board.engine.until(&task, waits_for("held")).await?;
    board.act(&task, "actions/release", json!({})).await?;
    board.engine.until(&task, waits_for("rate_limited")).await?;
    board.act(&task, "actions/retry", json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_list_shows_the_waiting_reason_of_each_task() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let first = board.task(&[], json!({ "title": "First" })).await?;
    let done = board.task(&[], json!({ "title": "Done" })).await?;
    board.move_to(&done, "done").await?;
    let more = with(json!({ "title": "Last" }), &json!({ "depends_on": [first["id"], done["id"]] }));
    let last = board.task(&[], more).await?;
    let page = board.items(&format!("/projects/{}/tasks?limit=50", board.project)).await?;
    let shown = page.iter().find(|task| task["id"] == last["id"]).context("not shown")?;
    let mut both = vec![text(&first, "id"), text(&done, "id")];
    both.sort();
    assert_eq!(shown["depends_on"], json!(both));
    assert_eq!(shown["blocked_by"], json!([first["id"]]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_agent_or_project_starts_no_task() -> Result<()> {
    let board = Board::new(json!({})).await?;
    for who in [format!("/agents/{}", board.agent), format!("/projects/{}", board.project)] {
        board.engine.post(&format!("{who}/pause"), json!({})).await?;
        let task = board.task(&["append a <<< \"x\\n\""], json!({})).await?;
        let (status, body) = board.refused(&task, "claim", json!({ "agent_id": board.agent })).await?;
        assert_eq!((status, text(&body, "code").as_str()), (409, "paused"), "{who}");
        assert_eq!(board.get(&task).await?["status"], "todo");
        // A card that a person drags into work queues, and says what for.
        board.move_to(&task, "in_progress").await?;
        let queued =
            board.engine.until(&task, |task| task["live"].is_object() || !task["waiting"].is_null()).await?;
        assert_eq!(queued["waiting"]["reason"], "paused", "{who}: {queued:#}");
        assert!(board.runs(&task).await?.is_empty());
        board.engine.post(&format!("{who}/resume"), json!({})).await?;
        board.engine.until(&task, is("done")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn automatic_start_asks_the_guards() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let path = format!("/projects/{}/workflow", board.project);
    let mut workflow = board.engine.get(&path).await?["workflow"].clone();
    for state in workflow["states"].as_array_mut().into_iter().flatten() {
        if state["name"] == "todo" {
            state["hooks"]["before_exit"] = json!([{ "action": "require_plan_complete" }]);
        }
    }
    let put = board.engine.request(reqwest::Method::PUT, &path).json(&json!({ "workflow": workflow }));
    good(put.send().await?)?;
    let task = board.task(&["edit a <<< \"x\""], json!({})).await?;
    board.patch(&format!("/projects/{}/settings", board.project), json!({ "auto_start": true })).await?;
    let blocked = board.engine.until(&task, |task| task["status"] != "todo").await?;
    assert_eq!(blocked["error_annotation"]["type"], "guard_rejected", "{blocked:#}");
    assert_eq!(blocked["error_annotation"]["details"]["action"], "require_plan_complete");
    assert!(board.runs(&task).await?.is_empty());
    Ok(())
}
