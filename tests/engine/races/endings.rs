//! Races that end without a winner, with a deletion or with a stop, and the runs of a winner afterwards.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    board::{is, text, with},
    caller::refused,
};
use forge_tests::{
    drafter,
    patience::{until, until_there},
};
use serde_json::{Value, json};

use super::{PASSES, block, entry, git, nothing_is_left, processes_of, race, race_board, task, trees};

#[tokio::test(flavor = "multi_thread")]
async fn winner_sent_back_keeps_its_agent_and_strategy() -> Result<()> {
    let board = race_board(&["plain"], json!({})).await?;
    let other = board.folder.dir.path().join("other");
    let told = "env | grep ^FORGE_STRATEGY >>told; cat \"$FORGE_PROMPT_FILE\" >>told; echo more >>good";
    let config = json!({ "command": "sh", "args": ["-c", format!("{told}; touch '{}'", other.display())] });
    let sober = json!({ "name": "Sober", "adapter": "shell", "config": config });
    let sober = board.engine.post("/agents", sober).await?;
    let strategies = json!([
        { "name": "sober", "agent_id": sober["id"], "prompt_suffix": "Weigh every word." },
        { "name": "plain", "agent_id": board.agent },
    ]);
    let on = json!({ "auto_approve": false, "innerLoop": { "competitive": { "strategies": strategies } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    let task = task(
        &board,
        &["```forge-script\nfail 1\n```\n".to_owned()],
        json!({ "review_config": { "ci_steps": [PASSES] } }),
    )
    .await?;
    board.claim(&task).await?;
    let waits = |task: &Value| task["review"]["status"] == "awaiting_human";
    let judged = board.engine.until(&task, waits).await?;
    assert_eq!(judged["roles"]["coder"]["id"], sober["id"], "the winner's agent goes on with it");
    board.act(&task, "review/reject?wait=none", json!({ "reason": "once more" })).await?;
    board.engine.until(&task, |task| waits(task) && task["review"]["attempt_number"] == 2).await?;
    let worktree = board.get(&task).await?["workspace"]["path"].as_str().context("no worktree")?.to_owned();
    let told = std::fs::read_to_string(Path::new(&worktree).join("told"))?;
    let (in_race, again) = told.rsplit_once("FORGE_STRATEGY=sober").context("no second run")?;
    assert!(in_race.contains("FORGE_STRATEGY=sober") && in_race.contains("Weigh every word."), "{told}");
    assert!(again.contains("once more") && again.contains("Weigh every word."), "{told}");
    let runs = board.items(&format!("/tasks/{}/executions", text(&task, "id"))).await?;
    let of_entry = text(&entry(&race(&board, &task).await?, "sober")?, "task_id");
    let of_entry = board.items(&format!("/tasks/{of_entry}/executions")).await?;
    let whose: Vec<_> = runs.iter().map(|run| (&run["id"], &run["parent_execution_id"])).collect();
    assert_eq!(whose, [(&of_entry[0]["id"], &Value::Null), (&runs[1]["id"], &of_entry[0]["id"])]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_deleted_during_its_race_leaves_no_worktree_or_branch() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let lines = ["edit work <<< \"mine\\n\"", "run git add -A && git commit -qm mine", "hang"];
    let blocks = [block("a", &lines), block("b", &["hang"])];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    let running = until("work of an entry", async || {
        let Ok(race) = race(&board, &task).await else { return Ok(None) };
        let entries = [entry(&race, "a")?, entry(&race, "b")?];
        // The branch in the repository moves when the run ends.
        let has_worked = |folder: &PathBuf| {
            let tree = folder.join("tree");
            git(&board, &["-C", &tree.to_string_lossy(), "log", "-1", "--format=%s"])
                .is_ok_and(|said| said == "mine")
        };
        let worked = trees(&board).iter().any(has_worked);
        Ok((worked && !processes_of(&entries[1])?.is_empty()).then_some(entries))
    })
    .await?;
    // Each has ports of its own, and is listed as the raced task's.
    let now = board.get(&task).await?;
    let worktrees = board.items("/workspaces").await?;
    let [one, other] = worktrees.as_slice() else { anyhow::bail!("{worktrees:#?}") };
    assert_ne!(one["port_base"], other["port_base"]);
    assert_eq!((&one["task_number"], &one["task_status"]), (&now["number"], &now["status"]), "{one:#}");
    let path = format!("/tasks/{}?version={}", text(&task, "id"), now["version"]);
    board.engine.delete(&path).await?;
    for entry in &running {
        assert_eq!(processes_of(entry)?, Vec::<String>::new());
        let (status, _) = refused(
            board.engine.request(reqwest::Method::GET, &format!("/tasks/{}", text(entry, "task_id"))),
        )
        .await?;
        assert_eq!(status, 404);
    }
    assert_eq!(trees(&board), Vec::<PathBuf>::new());
    assert_eq!(git(&board, &["for-each-ref", "--format=%(refname:short)", "refs/heads"])?, "main");
    assert_eq!(board.items("/workspaces").await?, Vec::<Value>::new());
    // What was committed is in the backups, as whatever Forge removes.
    let backup = format!("refs/forge/backup/{}/1", text(&task, "id"));
    assert_eq!(git(&board, &["show", &format!("{backup}:work")])?, "mine");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_stopped_by_a_person_loses_and_the_race_continues() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let begun = board.folder.dir.path().join("begun");
    let touch = format!("run touch '{}'", begun.display());
    let blocks =
        [block("a", &["edit good <<< \"a\\n\"", &touch, "hang"]), block("b", &["edit good <<< \"b\\n\""])];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    until_there(&begun).await?;
    let run = until("the run of an entry", async || {
        let Ok(race) = race(&board, &task).await else { return Ok(None) };
        let path = format!("/tasks/{}/executions", text(&entry(&race, "a")?, "task_id"));
        Ok(board.items(&path).await?.into_iter().find(|run| run["status"] == "running"))
    })
    .await?;
    board.engine.post(&format!("/executions/{}/stop", text(&run, "id")), json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    let race = race(&board, &task).await?;
    let stopped = entry(&race, "a")?;
    assert_eq!(
        (
            text(&stopped, "status").as_str(),
            text(&stopped, "reason").as_str(),
            text(&race, "winner").as_str()
        ),
        ("failed", "You stopped the agent.", "b"),
        "{race:#}"
    );
    assert_eq!(git(&board, &["show", &format!("{}:good", text(&stopped, "branch"))])?, "a");
    nothing_is_left(&board, &race, &["a"])
}

/// A check that reports the file as compilers do.
const COMPLAINS: &str =
    "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";

#[tokio::test(flavor = "multi_thread")]
async fn race_without_a_winner_drafts_one_fix_per_failed_entry() -> Result<()> {
    let board = race_board(&["a", "b", "idle"], json!({})).await?;
    let folder = board.folder.dir.path().join("drafter");
    let program = drafter::install(&folder, FIX)?;
    let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
    let drafter = board.engine.post("/agents", drafter).await?;
    let on = json!({ "innerLoop": { "autoFix": { "enabled": true, "agentId": drafter["id"] } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    let blocks = [
        block("a", &["edit total.txt <<< \"one\\nbad\\nthree\\n\""]),
        block("b", &["edit total.txt <<< \"one\\nbad\\nthree\\nfour\\n\""]),
        block("idle", &["say nothing to do"]),
    ];
    let more = json!({
        "review_config": { "ci_steps": [COMPLAINS] }, "task_state_config": { "retry_budgets": { "review": 0 } },
    });
    let task = task(&board, &blocks, more).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "race_no_winner").await?;
    let path = format!("/tasks/{}/fixes/drafts", text(&task, "id"));
    let drafted = async || {
        let all = board.engine.get(&path).await?;
        let settled = |draft: &Value| draft["status"] != "drafting";
        let drafts = all["drafts"].as_array().context("no drafts")?;
        Ok((drafts.len() == 2 && drafts.iter().all(settled)).then_some(all))
    };
    let all = until("two drafts", drafted).await?;
    let ended = race(&board, &task).await?;
    let proposals = all["proposals"].as_array().context("no proposals")?;
    let mut of: Vec<String> = proposals.iter().map(|fix| text(fix, "baseCommit")).collect();
    let mut commits = [text(&entry(&ended, "a")?, "commit"), text(&entry(&ended, "b")?, "commit")];
    of.sort();
    commits.sort();
    assert_eq!(of, commits, "{all:#}");
    assert!(proposals.iter().all(|fix| fix["taskId"] == task["id"] && fix["status"] == "drafted"), "{all:#}");
    let asked = std::fs::read_to_string(folder.join("asked"))?;
    assert_eq!(asked.lines().count(), 2, "{asked}");

    // The picked winner can be mended by the fix of its own work.
    board.act(&task, "actions/crown?wait=none", json!({ "entry": "a" })).await?;
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "review_budget_exhausted").await?;
    let commit = &entry(&ended, "a")?["commit"];
    let fix = proposals.iter().find(|fix| fix["baseCommit"] == *commit).context("no fix of it")?;
    // What is left of the race is cleared first.
    let apply = format!("/fixes/{}/apply", text(fix, "fixId"));
    until("an applied fix", async || Ok(board.engine.post(&apply, json!({})).await.ok())).await?;
    until("a verified fix", async || {
        let all = board.engine.get(&path).await?;
        let one = all["proposals"].as_array().into_iter().flatten().find(|it| it["fixId"] == fix["fixId"]);
        Ok(one.is_some_and(|it| it["status"] == "verified").then_some(()))
    })
    .await?;
    assert_eq!(
        git(&board, &["show", &format!("forge/{}:total.txt", text(&task, "id"))])?,
        "one\ngood\nthree"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_of_a_failed_entry_is_applied_by_selecting_it_as_winner() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let folder = board.folder.dir.path().join("drafter");
    let program = drafter::install(&folder, FIX)?;
    let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
    let drafter = board.engine.post("/agents", drafter).await?;
    let on = json!({ "innerLoop": { "autoFix": { "enabled": true, "agentId": drafter["id"] } } });
    board.patch(&format!("/projects/{}/settings", board.project), on).await?;
    let blocks = [
        block("a", &["edit total.txt <<< \"one\\nbad\\nthree\\n\""]),
        block("b", &["edit total.txt <<< \"one\\nbad\\nthree\\nfour\\n\""]),
    ];
    let more = json!({
        "review_config": { "ci_steps": [COMPLAINS] }, "task_state_config": { "retry_budgets": { "review": 0 } },
    });
    let task = task(&board, &blocks, more).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["error_annotation"]["type"] == "race_no_winner").await?;
    let path = format!("/tasks/{}/fixes/drafts", text(&task, "id"));
    let all = until("two proposals", async || {
        let all = board.engine.get(&path).await?;
        Ok((all["proposals"].as_array().map(Vec::len) == Some(2)).then_some(all))
    })
    .await?;
    let of = |all: &Value, name: &str| -> Result<Value> {
        let proposals = all["proposals"].as_array().context("no proposals")?;
        proposals.iter().find(|fix| fix["strategy"] == name).cloned().context("no fix names the strategy")
    };
    let (fix, other) = (of(&all, "b")?, of(&all, "a")?);
    assert!(
        all["drafts"].as_array().is_some_and(|drafts| drafts.iter().all(|it| it["strategy"].is_string())),
        "{all:#}"
    );
    assert_eq!((&fix["status"], &other["status"]), (&json!("drafted"), &json!("drafted")));
    board.engine.post(&format!("/fixes/{}/apply", text(&fix, "fixId")), json!({})).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(git(&board, &["show", "main:total.txt"])?, "one\ngood\nthree\nfour");
    let ended = race(&board, &task).await?;
    assert_eq!((&ended["winner"], &ended["decidedBy"]), (&json!("b"), &json!("person")));
    let all = board.engine.get(&path).await?;
    let (fix, other) = (of(&all, "b")?, of(&all, "a")?);
    assert_eq!((&fix["status"], &other["status"]), (&json!("verified"), &json!("superseded")), "{all:#}");
    let (status, body) = refused(
        board
            .engine
            .request(reqwest::Method::POST, &format!("/fixes/{}/apply", text(&other, "fixId")))
            .json(&json!({})),
    )
    .await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "fix_decided"), "{body:#}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn winner_selection_is_refused_unless_the_race_waits_for_it() -> Result<()> {
    let board = race_board(&["a", "b"], json!({ "humanCrown": true })).await?;
    let gate = board.folder.dir.path().join("go");
    let wait = format!("run {}", forge_testkit::board::until_exists(&gate));
    let blocks = [block("a", &["edit good <<< \"a\\n\""]), block("b", &["edit good <<< \"b\\n\"", &wait])];
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    let first = async || {
        let Ok(race) = race(&board, &task).await else { return Ok(None) };
        Ok((entry(&race, "a")?["status"] == "finished").then_some(()))
    };
    until("the end of one entry", first).await?;
    let (status, body) = board.refused(&task, "actions/crown", json!({ "entry": "a" })).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "not_offered"), "{body:#}");
    std::fs::write(&gate, "")?;
    board.engine.until(&task, |task| task["waiting"]["reason"] == "race_crown").await?;
    // Two people at once: one of them gives it.
    let pick = |name: &'static str| {
        let board = &board;
        let task = &task;
        async move {
            let now = board.get(task).await?;
            let body = with(json!({ "entry": name }), &json!({ "version": now["version"] }));
            let path = format!("/tasks/{}/actions/crown?wait=none", text(task, "id"));
            let answer = board.engine.request(reqwest::Method::POST, &path).json(&body).send().await?;
            anyhow::Ok((name, answer.status < 300))
        }
    };
    let (one, other) = tokio::try_join!(pick("a"), pick("b"))?;
    let given: Vec<_> = [one, other].into_iter().filter(|(_, given)| *given).collect();
    let [(name, _)] = given[..] else { anyhow::bail!("{} winners were picked", given.len()) };
    board.engine.until(&task, is("done")).await?;
    let picked = race(&board, &task).await?;
    assert_eq!(
        (text(&picked, "winner").as_str(), git(&board, &["show", "main:good"])?.as_str()),
        (name, name)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn raced_work_without_a_winner_is_never_reported_as_nothing_to_merge() -> Result<()> {
    let board = race_board(&["a", "b"], json!({})).await?;
    let checks = json!({ "review_config": { "ci_steps": [PASSES] } });
    for to in ["review", "merging"] {
        let blocks = [block("a", &["edit a <<< \"a\\n\""]), block("b", &["edit b <<< \"b\\n\""])];
        let task = task(&board, &blocks, checks.clone()).await?;
        board.claim(&task).await?;
        board.engine.until(&task, |task| task["error_annotation"]["type"] == "race_no_winner").await?;
        board.move_to(&task, to).await?;
        let missing = |task: &Value| is("done")(task) || task["error_annotation"]["type"] == "work_missing";
        let end = board.engine.until(&task, missing).await?;
        ensure!(end["error_annotation"]["details"]["missing"] == "winner", "{to}: {end:#}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_on_the_winners_branch_after_the_race_is_kept() -> Result<()> {
    let board = race_board(&["a", "b"], json!({ "humanCrown": true })).await?;
    let blocks = ["a", "b"].map(|name| block(name, &[&format!("edit good <<< \"{name}\\n\"")]));
    let task = task(&board, &blocks, json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["waiting"]["reason"] == "race_crown").await?;
    let of_entry = text(&entry(&race(&board, &task).await?, "a")?, "task_id");
    let worktree =
        PathBuf::from(text(&board.engine.get(&format!("/tasks/{of_entry}")).await?["workspace"], "path"));
    ensure!(worktree.is_dir(), "no worktree at {}", worktree.display());
    std::fs::write(worktree.join("late"), "late\n")?;
    for args in [&["add", "late"][..], &["commit", "-qm", "late"]] {
        let mut git = std::process::Command::new("git");
        let output = git.args(args).current_dir(&worktree).envs(forge_testkit::HERMETIC_GIT).output()?;
        ensure!(output.status.success(), "{output:?}");
    }
    board.act(&task, "race/crown", json!({ "strategy": "a" })).await?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!(git(&board, &["show", "main:good"])?, "a");
    let kept = board.items(&format!("/tasks/{}/backups", text(&task, "id"))).await?;
    let has_late = |kept: &Value| board.folder.repo.show(&text(kept, "commit"), "late").is_some();
    assert!(kept.iter().any(has_late), "{kept:#?}");
    Ok(())
}
