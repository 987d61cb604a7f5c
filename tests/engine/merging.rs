//! Merges: one at a time per target, in order, and never of files that no check has seen.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Board,
    board::{is, text, until_exists},
};
use forge_tests::patience::until_there;
use serde_json::{Value, json};

async fn reviews(board: &Board, task: &Value) -> Result<Vec<Value>> {
    board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await
}

fn waits_for(reason: &'static str) -> impl Fn(&Value) -> bool {
    move |task| task["waiting"]["reason"] == reason
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_concurrent_merges_all_land() -> Result<()> {
    let board = Board::new(json!({ "max_concurrent": 20 })).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 20 })).await?;
    let go = board.folder.dir.path().join("go");
    let mut tasks = Vec::new();
    for number in 0..20 {
        let lines = [format!("wait-for {}", go.display()), format!("edit f{number} <<< \"{number}\\n\"")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let task = board.task(&lines, json!({})).await?;
        board.claim(&task).await?;
        tasks.push(task);
    }
    for task in &tasks {
        board.engine.until(task, |task| task["live"].is_object()).await?;
    }
    std::fs::write(&go, "")?;
    for task in &tasks {
        let done = board.engine.until(task, is("done")).await?;
        assert!(done["waiting"].is_null(), "{done:#}");
        let merges = board.items(&format!("/tasks/{}/merges", text(task, "id"))).await?;
        assert_eq!(merges.iter().map(|merge| merge["status"].as_str()).collect::<Vec<_>>(), [Some("landed")]);
    }
    let repo = &board.folder.repo;
    for number in 0..20 {
        assert_eq!(repo.show("main", &format!("f{number}")), Some(number.to_string()));
    }
    repo.git(&["fsck", "--strict", "--no-dangling"])?;
    assert_eq!(repo.git(&["status", "--porcelain"])?, "", "the user's checkout moved along");
    let merges = repo.git(&["log", "--merges", "--first-parent", "--format=%s", "main"])?;
    let distinct: BTreeSet<&str> = merges.lines().collect();
    assert_eq!(distinct.len(), merges.lines().count(), "one merge each:\n{merges}");
    Ok(())
}

/// The first merge holds the queue: a merge driver of the user blocks until the test releases it.
#[tokio::test(flavor = "multi_thread")]
async fn later_merge_is_queued_and_names_the_task_ahead() -> Result<()> {
    // A merge that does not end is cut short only by the end of its process.
    let mut board = Board::served(json!({ "max_concurrent": 8 })).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
    let go = board.folder.dir.path().join("go");
    let repo = &board.folder.repo;
    repo.write(".gitattributes", "slow merge=slow\n")?;
    repo.write("slow", "first\n")?;
    repo.commit("a file with a driver of its own")?;
    let driver = format!("{}; git merge-file --union %A %O %B", until_exists(&go));
    repo.git(&["config", "merge.slow.driver", &driver])?;
    let path = repo.path().display().to_string();
    let ours = format!("run cd '{path}' && echo main >>slow && git commit -qam main");
    let first = board.task(&[&ours, "append slow <<< \"task\\n\""], json!({})).await?;
    board.claim(&first).await?;
    board.engine.until(&first, is("merging")).await?;
    let mut line = vec![first];
    for number in 1..4 {
        let task = board.task(&[&format!("edit f{number} <<< \"x\\n\"")], json!({})).await?;
        board.claim(&task).await?;
        let behind = format!("queued behind #{}", line[line.len() - 1]["number"]);
        let stands = board.engine.until(&task, waits_for("merge_queue")).await?;
        assert_eq!((&stands["status"], &stands["waiting"]["message"]), (&json!("merging"), &json!(behind)));
        line.push(task);
    }
    let queue = board.items(&format!("/projects/{}/merge-queue", board.project)).await?;
    let places: Vec<_> =
        queue.iter().map(|entry| (entry["number"].clone(), entry["place"].clone())).collect();
    let expected: Vec<_> =
        line.iter().zip(0..).map(|(task, place)| (task["number"].clone(), json!(place))).collect();
    assert_eq!(places, expected);
    // Another target is another queue.
    repo.git(&["branch", "release"])?;
    let apart = json!({ "merge_config": { "target_branch": "release" } });
    let other = board.task(&["edit other <<< \"x\\n\""], apart).await?;
    board.claim(&other).await?;
    board.engine.until(&other, is("done")).await?;
    // Its own end lets nobody pass, and who leaves the line holds nobody up.
    board.engine.terminate().await?;
    board.engine = board.folder.serve()?;
    let last = &line[3];
    board.engine.until(last, waits_for("merge_queue")).await?;
    board.act(&line[2], "actions/cancel", json!({})).await?;
    assert_eq!(board.get(&line[1]).await?["status"], "merging");
    std::fs::write(&go, "")?;
    for task in [&line[0], &line[1], &line[3]] {
        board.engine.until(task, is("done")).await?;
    }
    let order = board.folder.repo.git(&["log", "--first-parent", "--reverse", "--format=%s", "main"])?;
    let merged: Vec<&str> = order.lines().filter(|subject| subject.contains('#')).collect();
    let numbers: Vec<String> =
        [&line[0], &line[1], &line[3]].iter().map(|task| format!("Do it (#{})", task["number"])).collect();
    assert_eq!(merged, numbers, "in the order of their coming");
    Ok(())
}

const CHECK: &str = "test ! -e poison";

/// Work that passed its review, and a target that has moved since.
struct MovedTarget {
    board: Board,
    task: Value,
}

impl MovedTarget {
    /// Adds the file `late` to the target between review and merge. The target is not checked out anywhere.
    async fn new(late: &str, strategy: &str, checks: Value) -> Result<Self> {
        let settings = json!({
            "auto_approve": false, "review_config": { "ci_steps": checks },
            "merge_config": { "strategy": strategy, "target_branch": "trunk" },
        });
        let board = Board::new(settings).await?;
        board.folder.repo.git(&["branch", "trunk"])?;
        let task = board
            .task(&["edit work <<< \"work\\n\"", "run git add work && git commit -qm mine"], json!({}))
            .await?;
        board.claim(&task).await?;
        board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
        add(&board, late)?;
        Ok(Self { board, task })
    }

    async fn approve(&self) -> Result<()> {
        self.board.act(&self.task, "review/approve?wait=none", json!({})).await?;
        Ok(())
    }

    async fn set_checks(&self, checks: Value) -> Result<()> {
        let version = self.board.get(&self.task).await?["version"].clone();
        let change = json!({ "version": version, "review_config": { "ci_steps": checks } });
        self.board.patch(&format!("/tasks/{}", text(&self.task, "id")), change).await?;
        Ok(())
    }

    fn tip(&self, name: &str) -> Result<String> {
        self.board.folder.repo.git(&["rev-parse", name])
    }

    fn branch(&self) -> String {
        format!("refs/heads/forge/{}", text(&self.task, "id"))
    }
}

/// Adds a file to the target, which is not checked out anywhere.
fn add(board: &Board, file: &str) -> Result<()> {
    let repo = &board.folder.repo;
    let blob = repo.git(&["hash-object", "-w", "--", &readme(repo.path())])?;
    let tree = repo.git(&["ls-tree", "trunk"])?;
    let with = format!("{tree}\n100644 blob {blob}\t{file}\n");
    let list = board.folder.dir.path().join("tree");
    std::fs::write(&list, with)?;
    let made = std::process::Command::new("git")
        .arg("mktree")
        .current_dir(repo.path())
        .stdin(std::fs::File::open(&list)?)
        .output()?;
    ensure!(made.status.success(), "{made:?}");
    let tree = String::from_utf8(made.stdout)?.trim().to_owned();
    let commit = repo.git(&["commit-tree", "-p", "trunk", "-m", &format!("adds {file}"), &tree])?;
    repo.git(&["update-ref", "refs/heads/trunk", &commit])?;
    Ok(())
}

fn readme(repo: &Path) -> String {
    repo.join("README.md").display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn rebased_work_is_checked_before_it_lands() -> Result<()> {
    let fixture =
        MovedTarget::new("late", "rebase", json!([CHECK, "git log -1 --format=%H >../checked"])).await?;
    let (board, reviewed) = (&fixture.board, fixture.tip(&fixture.branch())?);
    fixture.approve().await?;
    let done = board.engine.until(&fixture.task, is("done")).await?;
    let all = reviews(board, &fixture.task).await?;
    let rows: Vec<_> = all.iter().map(|row| (row["status"].as_str(), row["verdict"].as_str())).collect();
    assert_eq!(rows, [(Some("passed"), Some("pass")), (Some("passed"), Some("pass_ci_only"))]);
    let landed = fixture.tip("trunk")?;
    assert_eq!((&all[1]["reviewed_commit"], &all[1]["state"]), (&json!(landed), &json!("merging")));
    assert_eq!(all[1]["steps"].as_array().map(Vec::len), Some(2), "its own checks");
    let parents = board.folder.repo.git(&["log", "--format=%s", "trunk"])?;
    assert_eq!(parents, "mine\nadds late\nfirst", "replayed, no merge commit");
    assert_eq!(done["budgets"]["merge_fix"]["used"], 0, "it costs nothing");
    assert_eq!(board.runs(&fixture.task).await?.len(), 1, "nobody was asked");
    let kept = format!("refs/forge/backup/{}/", text(&fixture.task, "id"));
    let kept = board.folder.repo.git(&["for-each-ref", "--format=%(objectname)", &kept])?;
    assert!(kept.lines().any(|kept| kept == reviewed), "the old tip is kept: {kept}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rebase_that_breaks_the_checks_does_not_land() -> Result<()> {
    let fixture = MovedTarget::new("poison", "rebase", json!([CHECK])).await?;
    let (board, before) = (&fixture.board, fixture.tip("trunk")?);
    fixture.approve().await?;
    let blocked = board.engine.until(&fixture.task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "ci_failed_after_merge_fix");
    assert_eq!(blocked["error_annotation"]["evidence"]["command"], CHECK);
    assert!(blocked["review_passed_at"].is_null());
    assert_eq!(fixture.tip("trunk")?, before);
    let last = reviews(board, &fixture.task).await?.pop().context("no review")?;
    assert_eq!((&last["status"], &last["verdict"]), (&json!("failed"), &json!("fail")));
    // Trying again checks again, although branch and target stand where they would land.
    board.act(&fixture.task, "actions/retry?wait=none", json!({})).await?;
    board
        .engine
        .until(&fixture.task, |task| task["review"]["attempt_number"] == 3 && task["status"] == "blocked")
        .await?;
    assert_eq!(fixture.tip("trunk")?, before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn target_moved_during_checks_causes_another_rebase() -> Result<()> {
    let fixture = MovedTarget::new("late", "rebase", json!([])).await?;
    let board = &fixture.board;
    let dir = board.folder.dir.path();
    let (began, go) = (dir.join("began"), dir.join("go"));
    let check = format!("echo x >>'{}'; {}", began.display(), until_exists(&go));
    fixture.set_checks(json!([check])).await?;
    fixture.approve().await?;
    until_there(&began).await?;
    let merging = board.get(&fixture.task).await?;
    assert_eq!((&merging["status"], &merging["review"]["status"]), (&json!("merging"), &json!("running")));
    add(board, "later")?;
    std::fs::write(&go, "")?;
    board.engine.until(&fixture.task, is("done")).await?;
    let verdicts: Vec<_> =
        reviews(board, &fixture.task).await?.iter().map(|row| text(row, "verdict")).collect();
    assert_eq!(verdicts, ["pass", "pass_ci_only", "pass_ci_only"]);
    let log = board.folder.repo.git(&["log", "--format=%s", "trunk"])?;
    assert_eq!(log, "mine\nadds later\nadds late\nfirst");
    Ok(())
}

/// A check that moves the target to a new commit; `tree` changes its index.
fn moving(board: &Board, tree: &str) -> String {
    let repo = board.folder.repo.path().display().to_string();
    format!(
        "cd '{repo}' && export GIT_INDEX_FILE=$(mktemp -u) && git read-tree trunk && {tree} && \
         git update-ref refs/heads/trunk $(git commit-tree -p trunk -m moved $(git write-tree))"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn target_that_keeps_moving_is_given_up() -> Result<()> {
    let fixture = MovedTarget::new("late", "rebase", json!([])).await?;
    let board = &fixture.board;
    let adds = "git update-index --add --cacheinfo 100644,$(git rev-parse trunk:README.md),n$$";
    fixture.set_checks(json!([moving(board, adds)])).await?;
    fixture.approve().await?;
    let blocked = board.engine.until(&fixture.task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "target_unstable", "{blocked:#}");
    assert_eq!(reviews(board, &fixture.task).await?.len(), 1 + 5);
    assert!(board.folder.repo.show("trunk", "work").is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rebase_to_already_checked_files_lands_without_another_check() -> Result<()> {
    let fixture = MovedTarget::new("late", "rebase", json!([])).await?;
    fixture.set_checks(json!([moving(&fixture.board, "true")])).await?;
    fixture.approve().await?;
    fixture.board.engine.until(&fixture.task, is("done")).await?;
    assert_eq!(reviews(&fixture.board, &fixture.task).await?.len(), 2);
    let log = fixture.board.folder.repo.git(&["log", "--format=%s", "trunk"])?;
    assert_eq!(log, "mine\nmoved\nadds late\nfirst");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_and_squash_strategies_are_not_checked_again() -> Result<()> {
    for strategy in ["merge", "squash"] {
        let fixture = MovedTarget::new("late", strategy, json!([CHECK])).await?;
        fixture.approve().await?;
        let board = &fixture.board;
        board.engine.until(&fixture.task, is("done")).await?;
        assert_eq!(reviews(board, &fixture.task).await?.len(), 1, "{strategy}");
        assert!(board.folder.repo.show("trunk", "late").is_some(), "{strategy}");
        assert_eq!(board.folder.repo.show("trunk", "work").as_deref(), Some("work"), "{strategy}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rebase_that_cannot_be_checked_does_not_land() -> Result<()> {
    let fixture = MovedTarget::new("late", "rebase", json!([CHECK])).await?;
    let before = fixture.tip("trunk")?;
    let now = fixture.board.get(&fixture.task).await?;
    std::fs::remove_dir_all(text(&now["workspace"], "path"))?;
    fixture.approve().await?;
    let end =
        fixture.board.engine.until(&fixture.task, |task| is("blocked")(task) || is("done")(task)).await?;
    assert_eq!(end["status"], "blocked", "{end:#}");
    assert_eq!(fixture.tip("trunk")?, before, "the target is as it was");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_of_a_rebase_can_be_stopped() -> Result<()> {
    let fixture = MovedTarget::new("late", "rebase", json!([])).await?;
    let board = &fixture.board;
    let go = board.folder.dir.path().join("go");
    fixture.set_checks(json!([until_exists(&go)])).await?;
    fixture.approve().await?;
    board.engine.until(&fixture.task, |task| task["review"]["attempt_number"] == 2).await?;
    let before = fixture.tip("trunk")?;
    let path = format!("/tasks/{}/review/cancel", text(&fixture.task, "id"));
    board.engine.post(&path, json!({})).await?;
    let stopped = board.get(&fixture.task).await?;
    assert_eq!(
        (&stopped["status"], &stopped["error_annotation"]["type"]),
        (&json!("merging"), &json!("manual"))
    );
    assert_eq!((&stopped["review"]["status"], fixture.tip("trunk")?), (&json!("cancelled"), before));
    std::fs::write(&go, "")?;
    board.act(&fixture.task, "actions/retry?wait=none", json!({})).await?;
    board.engine.until(&fixture.task, is("done")).await?;
    let verdicts: Vec<_> =
        reviews(board, &fixture.task).await?.iter().map(|row| text(row, "verdict")).collect();
    assert_eq!(verdicts, ["pass", "", "pass_ci_only"]);
    Ok(())
}

/// Commits after the review do not land; the history names them and how to restore them.
#[tokio::test(flavor = "multi_thread")]
async fn commits_after_the_review_are_reported_in_the_history() -> Result<()> {
    for strategy in ["rebase", "merge", "squash"] {
        let fixture = MovedTarget::new("late", strategy, json!([CHECK])).await?;
        let board = &fixture.board;
        let tree = text(&board.get(&fixture.task).await?["workspace"], "path");
        let git = |args: &[&str]| {
            let mut git = std::process::Command::new("git");
            git.args(args).current_dir(&tree).envs(forge_testkit::HERMETIC_GIT).output()
        };
        std::fs::write(Path::new(&tree).join("after"), "after\n")?;
        git(&["add", "after"])?;
        ensure!(git(&["commit", "-qm", "after the review"])?.status.success());
        let after = fixture.tip(&fixture.branch())?;
        let (status, refusal) = board.refused(&fixture.task, "review/approve", json!({})).await?;
        assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
        board.act(&fixture.task, "actions/merge_reviewed?wait=none", json!({})).await?;
        let done = board.engine.until(&fixture.task, is("done")).await?;
        assert_eq!(done["unmerged_commits"], 1, "{strategy}: {done:#}");
        let repo = &board.folder.repo;
        assert_eq!(repo.show("trunk", "after"), None, "{strategy}: nobody looked at it");
        assert_eq!(repo.show("trunk", "work").as_deref(), Some("work"), "{strategy}");
        let kept = fixture.branch();
        assert_eq!(fixture.tip(&kept)?, after, "{strategy}: it is where it is said to be");
        let history = board.history(&fixture.task).await?;
        let merging = history.iter().find(|row| row["to"] == "merging").context("no merging")?;
        let merged = merging["steps"].as_array().into_iter().flatten();
        let merged: Vec<_> = merged.filter(|step| step["action"] == "run_merge").collect();
        let said = text(merged[0], "reason");
        assert!(said.contains(&format!("1 commit at {kept}")), "{strategy}: {said}");
        let back = said.split('`').nth(1).context("no command")?;
        let again: Vec<&str> = back.split(' ').skip(1).collect();
        repo.git(&["switch", "-q", "trunk"])?;
        repo.git(&again)?;
        assert_eq!(repo.show("trunk", "after").as_deref(), Some("after"), "{strategy}: {back}");
        let merges = board.items(&format!("/tasks/{}/merges", text(&fixture.task, "id"))).await?;
        assert!(text(&merges[0], "reason").contains(&kept), "{merges:#?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_waiting_for_a_checkout_lets_others_pass() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 4 })).await?;
    let repo = &board.folder.repo;
    repo.write("README.md", "# mine\n")?;
    let stuck = board.task(&["edit README.md <<< \"theirs\\n\""], json!({})).await?;
    board.claim(&stuck).await?;
    board.engine.until(&stuck, waits_for("target_checkout_dirty")).await?;
    let free = board.task(&["edit free <<< \"x\\n\""], json!({})).await?;
    board.claim(&free).await?;
    board.engine.until(&free, is("done")).await?;
    repo.git(&["checkout", "README.md"])?;
    board.engine.until(&stuck, is("done")).await?;
    Ok(())
}

/// Only the reviewed commit lands; a commit after the approval stays on its branch.
#[tokio::test(flavor = "multi_thread")]
async fn commit_after_the_approval_does_not_land() -> Result<()> {
    let board = Board::new(json!({})).await?;
    let repo = &board.folder.repo;
    repo.write("work", "in the way\n")?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    let waiting = board.engine.until(&task, waits_for("target_checkout_dirty")).await?;
    let tree = text(&waiting["workspace"], "path");
    std::fs::write(Path::new(&tree).join("late"), "late\n")?;
    for args in [&["add", "late"][..], &["commit", "-qm", "late"]] {
        let ran = std::process::Command::new("git")
            .args(args)
            .current_dir(&tree)
            .envs(forge_testkit::HERMETIC_GIT)
            .output()?;
        ensure!(ran.status.success(), "{ran:?}");
    }
    std::fs::remove_file(repo.path().join("work"))?;
    board.engine.until(&task, is("done")).await?;
    assert_eq!((repo.show("main", "work").as_deref(), repo.show("main", "late")), (Some("work"), None));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_closed_by_hand_while_queued_for_merge_is_an_override() -> Result<()> {
    let board = Board::new(json!({})).await?;
    board.folder.repo.write("work", "in the way\n")?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, waits_for("target_checkout_dirty")).await?;
    board.move_to(&task, "done").await?;
    let history = board.history(&task).await?;
    let closed = history.last().context("no move")?;
    assert_eq!((&closed["to"], &closed["trigger"]), (&json!("done"), &json!("override")), "{closed:#}");
    assert_eq!(board.get(&task).await?["unmerged_commits"], 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_uses_the_projects_message_and_signing() -> Result<()> {
    let merge =
        json!({ "strategy": "squash", "message_template": "{title} [{number}] {branch} into {target}" });
    let author = json!({ "name": "Ada", "email": "ada@example.com" });
    let board = Board::new(json!({ "merge_config": merge, "author": author })).await?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({ "title": "Fill {branch} in" })).await?;
    board.claim(&task).await?;
    board.engine.until(&task, is("done")).await?;
    let told = board.folder.repo.git(&["log", "-1", "--format=%an <%ae> %s", "main"])?;
    let expected = format!(
        "Ada <ada@example.com> Fill {{branch}} in [{}] forge/{} into main",
        task["number"],
        text(&task, "id")
    );
    assert_eq!(told, expected, "a title is nobody's template");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn merge_waits_for_another_program_in_the_checkout() -> Result<()> {
    let board = Board::new(json!({ "auto_approve": false })).await?;
    let task = board.task(&["edit work <<< \"work\\n\""], json!({})).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    let lock = board.folder.repo.path().join(".git/index.lock");
    std::fs::write(&lock, "")?;
    board.act(&task, "review/approve?wait=none", json!({})).await?;
    let held = board.engine.until(&task, |task| waits_for("git_locked")(task) || is("blocked")(task)).await?;
    assert_eq!(held["status"], "merging", "{held:#}");
    std::fs::remove_file(&lock)?;
    board.engine.until(&task, is("done")).await?;
    Ok(())
}
