//! Races: entries, the election and its reason, promotion of the winner, and cleanup.

mod choice;
mod endings;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::serve::marked_processes;
use forge_tests::patience::until;
use serde_json::{Value, json};

use forge_testkit::{
    Board,
    board::{is, text, until_exists, with},
    caller::refused,
};

/// A script block for one entry.
fn block(strategy: &str, lines: &[&str]) -> String {
    format!("```forge-script strategy={strategy}\n{}\n```\n", lines.join("\n"))
}

/// A board whose agent races with these strategies.
async fn race_board(names: &[&str], more: Value) -> Result<Board> {
    let board = Board::new(json!({})).await?;
    let strategies: Vec<Value> =
        names.iter().map(|name| json!({ "name": name, "agent_id": board.agent })).collect();
    let race = json!({ "enabled": true, "maxParallel": 3, "strategies": strategies });
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
    board
        .patch(
            &format!("/projects/{}/settings", board.project),
            json!({ "innerLoop": { "competitive": with(race, &more) } }),
        )
        .await?;
    Ok(board)
}

async fn task(board: &Board, blocks: &[String], more: Value) -> Result<Value> {
    let new = json!({
        "title": "Race", "description": blocks.concat(), "race": { "enabled": true },
        "roles": { "coder": board.agent },
    });
    board.engine.task(&board.project, with(new, &more)).await
}

async fn race(board: &Board, task: &Value) -> Result<Value> {
    let all = board.items(&format!("/tasks/{}/races", text(task, "id"))).await?;
    all.last().cloned().context("no race")
}

fn entry(race: &Value, name: &str) -> Result<Value> {
    let entries = race["entries"].as_array().context("no entries")?;
    let found = entries.iter().find(|entry| entry["strategy"] == name);
    found.cloned().with_context(|| format!("no entry {name}"))
}

/// The processes of an entry.
fn processes_of(entry: &Value) -> Result<Vec<String>> {
    marked_processes(Path::new(&text(entry, "task_id")))
}

/// The existing worktree folders of the project.
fn trees(board: &Board) -> Vec<PathBuf> {
    let folders = |path: &Path| {
        let all = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        all.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let root = board.folder.data_dir().join("workspaces");
    folders(&root)
        .iter()
        .flat_map(|project| folders(project))
        .filter(|path| path.join("tree").is_dir())
        .collect()
}

fn git(board: &Board, args: &[&str]) -> Result<String> {
    Ok(board.folder.repo.git(args)?.trim().to_owned())
}

/// Checks that the race left no worktree, and only the branches of its losers.
fn nothing_is_left(board: &Board, race: &Value, losers: &[&str]) -> Result<()> {
    let worktrees = git(board, &["worktree", "list", "--porcelain"])?;
    for entry in race["entries"].as_array().context("no entries")? {
        let own = format!("forge/{}", text(entry, "task_id"));
        ensure!(!worktrees.contains(&own), "a worktree of {own} is left:\n{worktrees}");
        let branches = git(board, &["for-each-ref", "--format=%(refname:short)", "refs/heads"])?;
        ensure!(!branches.lines().any(|branch| branch == own), "{own} is left:\n{branches}");
        let name = text(entry, "strategy");
        let kept = format!("forge/{}-race-{}-{name}", text(race, "task_id"), race["number"]);
        let is_kept = branches.lines().any(|branch| branch == kept);
        ensure!(is_kept == losers.contains(&name.as_str()), "{kept}: {is_kept}\n{branches}");
    }
    Ok(())
}

const PASSES: &str = "test -e good";

#[tokio::test(flavor = "multi_thread")]
async fn cheapest_passing_entry_wins_and_its_commits_become_the_tasks() -> Result<()> {
    let board = race_board(&["cheap", "dear", "broken"], json!({})).await?;
    let blocks = [
        block("cheap", &["edit good <<< \"cheap\\n\"", "usage m 10 10 20"]),
        block("dear", &["edit good <<< \"dear\\n\"", "usage m 10 10 30"]),
        block("broken", &["edit bad <<< \"x\\n\"", "usage m 10 10 1"]),
    ];
    let task = task(&board, &blocks, json!({ "review_config": { "ci_steps": [PASSES] } })).await?;
    board.claim(&task).await?;
    let done = board.engine.until(&task, is("done")).await?;
    let race = race(&board, &task).await?;
    assert_eq!(
        (text(&race, "status").as_str(), text(&race, "winner").as_str()),
        ("promoted", "cheap"),
        "{race:#}"
    );
    assert_eq!(race["decidedBy"], "cost");
    assert_eq!(
        race["trail"],
        json!([
            { "rule": "gate", "kept": ["cheap", "dear"], "dropped": [{ "name": "broken", "value": "failed" }] },
            { "rule": "cost", "kept": ["cheap"], "dropped": [{ "name": "dear", "value": "30" }] },
        ])
    );
    assert_eq!(entry(&race, "broken")?["gate"], "failed");
    assert_eq!(entry(&race, "dear")?["diff_stat"], json!({ "files": 1, "added": 1, "removed": 0 }));

    // The branch of the task is exactly the winner's commits, and so is what was merged.
    let commit = text(&entry(&race, "cheap")?, "commit");
    assert_eq!(git(&board, &["rev-parse", &format!("forge/{}", text(&task, "id"))])?, commit);
    assert_eq!(
        git(&board, &["rev-list", "--count", &format!("{}..{commit}", text(&race, "base_commit"))])?,
        "1"
    );
    assert_eq!(git(&board, &["show", "main:good"])?, "cheap");
    assert!(
        git(&board, &["log", "-1", "--format=%B", &commit])?.contains(&format!("Task #{}", done["number"]))
    );

    // The gate was answered from the race, on the very same files.
    let reviews = board.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    assert_eq!(reviews[0]["steps"][0]["cached"], true, "{reviews:#?}");
    assert_eq!(
        board.moves(&task).await?,
        ["todo>in_progress", "in_progress>review", "review>merging", "merging>done"]
    );

    nothing_is_left(&board, &race, &["dear", "broken"])?;
    assert_eq!(trees(&board), Vec::<PathBuf>::new());
    // All of it is the task's cost.
    assert_eq!(done["usage"]["cost_micro_usd"], 51);
    // On no board, and moved by nobody.
    let listed = board.items(&format!("/projects/{}/tasks", board.project)).await?;
    assert_eq!(listed.len(), 1);
    // Its card tells how it ended; each entry's changes can still be read, winner's and losers'.
    assert_eq!(
        done["raced"],
        json!({ "number": 1, "status": "promoted", "entries": 3, "over": 3, "winner": "cheap" })
    );
    for (name, file) in [("cheap", "good"), ("dear", "good"), ("broken", "bad")] {
        let path = format!("/tasks/{}/diff", text(&entry(&race, name)?, "task_id"));
        let diff = board.engine.get(&path).await?;
        let changed = (&diff["files"][0]["path"], &diff["added"], diff["files"].as_array().map(Vec::len));
        assert_eq!(changed, (&json!(file), &json!(1), Some(1)), "{name}: {diff:#}");
    }
    let status = board.items(&format!("/projects/{}/inner-loop/status", board.project)).await?;
    let of = |name: &str| status.iter().find(|part| part["name"] == name).cloned().unwrap_or_default();
    let races = of("competitive");
    assert_eq!(
        (&races["enabled"], &races["source"], &races["open"], &races["last"]["effect"]),
        (&json!(true), &json!("project"), &json!(0), &json!("cheap won against 2"))
    );
    assert_eq!(races["last"]["task"]["id"], task["id"]);
    assert_eq!((&of("reviewer")["last"], &of("validate")["last"]), (&Value::Null, &Value::Null));

    let loser = json!({ "id": entry(&race, "dear")?["task_id"] });
    let (status, body) = board.refused(&loser, "claim", json!({ "agent_id": board.agent })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "race_entry"));
    let (status, body) = board.refused(&loser, "actions/cancel", json!({})).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "race_entry"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn race_without_a_winner_can_be_decided_repeated_or_continued() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let blocks = [
        block("a", &["edit a <<< \"a\\n\""]),
        block("b", &["say nothing to do"]),
        // Without a race, the agent does it well.
        "```forge-script\nedit good <<< \"one\\n\"\n```\n".to_owned(),
    ];
    // Blocks for an entry come after the one for nobody in particular: the last that fits counts.
    let blocks = [blocks[2].clone(), blocks[0].clone(), blocks[1].clone()];
    let checks = json!({ "review_config": { "ci_steps": [PASSES] } });
    let blocked = |task: &Value| task["error_annotation"]["type"] == "race_no_winner";
    let verbs = |task: &Value| -> Vec<String> {
        task["offers"].as_array().into_iter().flatten().map(|offer| text(offer, "verb")).collect()
    };

    let picked = task(&board, &blocks, checks.clone()).await?;
    board.claim(&picked).await?;
    let now = board.engine.until(&picked, blocked).await?;
    assert_eq!(verbs(&now)[..3], ["race_again", "single_agent", "crown"]);
    let first = race(&board, &picked).await?;
    assert_eq!((first["status"].as_str(), first["decidedBy"].as_str()), (Some("no_winner"), Some("none")));
    // Of an entry that did nothing there is nothing to keep.
    until("the end of both worktrees", async || Ok(nothing_is_left(&board, &first, &["a"]).ok())).await?;
    let (status, body) = board.refused(&picked, "actions/crown", json!({ "entry": "c" })).await?;
    assert_eq!((status, body["details"]["findings"][0]["path"].as_str()), (400, Some("entry")), "{body:#}");
    let (status, body) = board.refused(&picked, "actions/crown", json!({ "entry": "b" })).await?;
    assert_eq!(status, 400, "{body:#}");
    board.act(&picked, "actions/crown?wait=none", json!({ "entry": "a" })).await?;
    // Its checks fail as they did in the race; the review's budget sends it back to the winner's agent.
    let reviewed = |task: &Value| task["review"]["attempt_number"].as_u64() > Some(0);
    board.engine.until(&picked, reviewed).await?;
    let race_of = race(&board, &picked).await?;
    assert_eq!(
        (text(&race_of, "winner").as_str(), text(&race_of, "crowned_by").as_str()),
        ("a", "user:api"),
        "{race_of:#}"
    );

    let again = task(&board, &blocks, checks.clone()).await?;
    board.claim(&again).await?;
    board.engine.until(&again, blocked).await?;
    board.act(&again, "actions/race_again?wait=none", json!({})).await?;
    let twice = |races: &[Value]| races.len() == 2 && races[1]["status"] == "no_winner";
    let path = format!("/tasks/{}/races", text(&again, "id"));
    until("a second race", async || Ok(twice(&board.items(&path).await?).then_some(()))).await?;
    board.engine.until(&again, blocked).await?;

    board.act(&again, "actions/single_agent?wait=none", json!({})).await?;
    let done = board.engine.until(&again, is("done")).await?;
    assert_eq!(done["race"]["enabled"], false);
    assert_eq!(git(&board, &["show", "main:good"])?, "one");
    assert_eq!(board.items(&path).await?.len(), 2, "it is raced no more");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_at_its_time_limit_is_stopped_with_all_processes() -> Result<()> {
    let board = race_board(&["slow", "good"], json!({ "timeoutSec": 2 })).await?;
    let blocks = [
        block(
            "slow",
            &[
                "edit good <<< \"slow\\n\"",
                "run git add -A && git commit -qm slow",
                "edit good <<< \"slow, but more\\n\"",
                "edit left/new <<< \"not committed\\n\"",
                "fork",
                "ignore-sigterm",
                "hang",
            ],
        ),
        block("good", &["edit good <<< \"good\\n\""]),
    ];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let race = race(&board, &task).await?;
    let slow = entry(&race, "slow")?;
    assert_eq!(
        (slow["status"].as_str(), slow["gate"].as_str()),
        (Some("timed_out"), Some("not_run")),
        "{slow:#}"
    );
    assert_eq!((race["winner"].as_str(), race["decidedBy"].as_str()), (Some("good"), Some("gate")));
    // What it had done when it was stopped was never told by a run, and not all of it was committed: nothing is lost.
    let diff = board.engine.get(&format!("/tasks/{}/diff", text(&slow, "task_id"))).await?;
    let files: Vec<&Value> =
        diff["files"].as_array().into_iter().flatten().map(|file| &file["path"]).collect();
    assert_eq!(files, ["good", "left/new"], "{diff:#}");
    assert_eq!(slow["diff_stat"], json!({ "files": 2, "added": 2, "removed": 0 }));
    let kept = text(&slow, "branch");
    assert_eq!(git(&board, &["rev-parse", &kept])?, text(&slow, "commit"));
    assert_eq!(git(&board, &["show", &format!("{kept}:good")])?, "slow, but more");
    assert_eq!(git(&board, &["show", &format!("{kept}:left/new")])?, "not committed");
    let parents = git(&board, &["log", "--format=%s", &format!("main..{kept}")])?;
    assert_eq!(parents.lines().collect::<Vec<_>>(), ["Race", "slow"]);
    let left = processes_of(&slow)?;
    assert!(left.is_empty(), "{left:?}");
    nothing_is_left(&board, &race, &["slow"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn person_may_pick_another_winner_than_the_elected_one() -> Result<()> {
    let board = race_board(&["a", "b"], json!({ "humanCrown": true })).await?;
    let blocks = [
        block("a", &["edit good <<< \"a\\n\"", "usage m 1 1 1"]),
        block("b", &["edit good <<< \"b\\n\"", "usage m 1 1 2"]),
    ];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    let waits = |task: &Value| task["waiting"]["reason"] == "race_crown";
    board.engine.until(&task, waits).await?;
    let elected = race(&board, &task).await?;
    assert_eq!((elected["status"].as_str(), elected["winner"].as_str()), (Some("awaiting_crown"), Some("a")));
    let inbox = board.items("/attention").await?;
    assert!(inbox.iter().any(|waiting| waiting["id"] == task["id"]), "{inbox:#?}");
    let (status, body) = board.refused(&task, "race/crown", json!({ "strategy": "c" })).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("entry")), "{body:#}");
    board.act(&task, "race/crown", json!({ "strategy": "b" })).await?;
    board.engine.until(&task, is("done")).await?;
    let picked = race(&board, &task).await?;
    assert_eq!((picked["winner"].as_str(), picked["elected"].as_str()), (Some("b"), Some("a")));
    assert_eq!(git(&board, &["show", "main:good"])?, "b");
    nothing_is_left(&board, &picked, &["a"])?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn reviewer_scores_each_entry_without_knowing_its_agent() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    // It sees the work, and nothing that tells whose it is.
    let dir = board.folder.dir.path();
    let seen = dir.join("seen");
    let judge = format!(
        "env >>'{seen}'; pwd >>'{seen}'; cat \"$FORGE_PROMPT_FILE\" >>'{seen}'; git branch --show-current >>'{seen}'; \
         echo \"===SCORE: $(cat score)===\"; echo '===REVIEW: FAIL===' ",
        seen = seen.display()
    );
    let config = json!({ "command": "sh", "args": ["-c", judge] });
    let reviewer = board
        .engine
        .post("/agents", json!({ "name": "Judge", "adapter": "shell", "config": config }))
        .await?;
    let on = json!({ "innerLoop": { "reviewer": { "enabled": true } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    let blocks = [
        block("a", &["edit score <<< \"60\\n\"", "usage m 1 1 1"]),
        block("b", &["edit score <<< \"90\\n\"", "usage m 1 1 2"]),
    ];
    let roles = json!({ "roles": { "coder": board.agent, "reviewer": reviewer["id"] } });
    let task = task(&board, &blocks, roles).await?;
    board.claim(&task).await?;
    // Whoever wins is judged by the task's own review, too, whose word counts there.
    let over = |task: &Value| task["review"]["attempt_number"].as_u64() > Some(0);
    board.engine.until(&task, over).await?;
    let race = race(&board, &task).await?;
    assert_eq!(
        (race["winner"].as_str(), race["decidedBy"].as_str()),
        (Some("b"), Some("reviewer")),
        "{race:#}"
    );
    assert_eq!(entry(&race, "a")?["score"], 60.0);
    let seen = std::fs::read_to_string(&seen)?;
    assert!(!seen.contains("FORGE_STRATEGY") && !seen.contains("race-1-"), "{seen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_race_leaves_no_worktree_or_branch() -> Result<()> {
    let board = race_board(&["a", "b", "c"], json!({ "maxParallel": 2 })).await?;
    let task =
        task(&board, &["```forge-script\nedit good <<< \"x\\n\"\nhang\n```\n".to_owned()], json!({})).await?;
    board.claim(&task).await?;
    let running = until("two entries at work", async || {
        let mut running = Vec::new();
        let Ok(race) = race(&board, &task).await else { return Ok(None) };
        for entry in race["entries"].as_array().into_iter().flatten() {
            if !processes_of(entry)?.is_empty() {
                running.push(entry.clone());
            }
        }
        Ok((running.len() == 2).then_some(running))
    })
    .await?;
    // No more than that run at once.
    let now = race(&board, &task).await?;
    let states: Vec<String> =
        now["entries"].as_array().into_iter().flatten().map(|entry| text(entry, "status")).collect();
    assert_eq!(states.iter().filter(|state| *state == "queued").count(), 1, "{states:?}");
    board.act(&task, "actions/cancel", json!({})).await?;
    board.engine.until(&task, is("cancelled")).await?;
    until("the end of every worktree", async || Ok(trees(&board).is_empty().then_some(()))).await?;
    for entry in &running {
        assert_eq!(processes_of(entry)?, Vec::<String>::new());
    }
    let now = race(&board, &task).await?;
    assert_eq!(now["status"], "cancelled");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_races_run_concurrently() -> Result<()> {
    let board = race_board(&["a", "b"], json!({ "nameDecides": true })).await?;
    let gate = board.folder.dir.path().join("go");
    let wait = format!("run {}", until_exists(&gate));
    let mut tasks = Vec::new();
    for name in ["one", "two"] {
        let blocks = [
            block("a", &[&format!("edit {name} <<< \"a\\n\""), &wait]),
            block("b", &[&format!("edit {name} <<< \"b\\n\""), &wait]),
        ];
        let task = task(&board, &blocks, json!({ "title": name })).await?;
        board.claim(&task).await?;
        tasks.push(task);
    }
    until("four worktrees", async || Ok((trees(&board).len() == 4).then_some(()))).await?;
    std::fs::write(&gate, "")?;
    for task in &tasks {
        board.engine.until(task, is("done")).await?;
        nothing_is_left(&board, &race(&board, task).await?, &["b"])?;
    }
    assert_eq!(
        (git(&board, &["show", "main:one"])?, git(&board, &["show", "main:two"])?),
        ("a".to_owned(), "a".to_owned())
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn raced_task_in_a_project_without_races_is_refused() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let new = json!({ "title": "x", "race": { "enabled": true } });
    let path = format!("/projects/{}/tasks", board.project);
    let request = board.engine.request(reqwest::Method::POST, &path).json(&new);
    let (status, body) = refused(request).await?;
    assert_eq!((status, text(&body, "code").as_str()), (400, "race_disabled"), "{body:#}");
    Ok(())
}
