//! Drafted fixes: which failures draft one, which answers are refused, and what happens to applied fixes.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use forge_testkit::{
    Board,
    board::{is, text, with},
};
use forge_tests::{
    drafter,
    patience::{until, until_there},
};
use serde_json::{Value, json};

/// A check that reports the file as compilers do.
const CHECK: &str = "grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
/// A patch of the second of three lines.
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";

struct FixFixture {
    board: Board,
    folder: PathBuf,
    task: Value,
}

impl FixFixture {
    /// A task whose failed check blocks it, and a drafting agent that gives this answer.
    async fn new(answer: &str, auto_fix: Value) -> Result<Self> {
        Self::with(answer, auto_fix, json!({ "ci_steps": ["true", CHECK, "true"] }), json!({})).await
    }

    async fn with(answer: &str, auto_fix: Value, checks: Value, more: Value) -> Result<Self> {
        let board = Board::new(json!({ "review_config": checks })).await?;
        let folder = board.folder.dir.path().join("drafter");
        let program = drafter::install(&folder, answer)?;
        let drafter = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
        let drafter = board.engine.post("/agents", drafter).await?;
        let own = with(json!({ "agentId": drafter["id"] }), &auto_fix);
        let settings = json!({ "innerLoop": { "autoFix": own } });
        board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
        let once = json!({ "task_state_config": { "retry_budgets": { "review": 0 } } });
        let task = board.task(&["edit total.txt <<< \"one\\nbad\\nthree\\n\""], with(once, &more)).await?;
        Ok(Self { board, folder, task })
    }

    fn asked(&self) -> usize {
        std::fs::read_to_string(self.folder.join("asked")).map_or(0, |asked| asked.lines().count())
    }

    fn path(&self) -> String {
        format!("/tasks/{}/fixes/drafts", text(&self.task, "id"))
    }

    async fn fixes(&self) -> Result<Value> {
        self.board.engine.get(&self.path()).await
    }

    /// Waits for the only proposal to reach a status.
    async fn proposal(&self, status: &str) -> Result<Value> {
        until(&format!("a fix that is {status}"), async || {
            let all = self.fixes().await?;
            let one = all["proposals"].as_array().context("no list")?.first().cloned();
            Ok(one.filter(|fix| fix["status"] == status))
        })
        .await
    }

    /// Waits until the draft is dropped and returns the reason.
    async fn dropped(&self) -> Result<String> {
        until("the end of a draft", async || {
            let all = self.fixes().await?;
            let draft = all["drafts"].as_array().context("no list")?.last().cloned();
            Ok(draft.filter(|draft| draft["status"] == "dropped").map(|draft| text(&draft, "reason")))
        })
        .await
    }

    async fn blocked(&self) -> Result<Value> {
        self.board.engine.until(&self.task, is("blocked")).await
    }

    fn of(&self, fix: &Value, verb: &str) -> String {
        format!("/fixes/{}/{verb}", text(fix, "fixId"))
    }

    async fn act(&self, fix: &Value, verb: &str) -> Result<Value> {
        self.board.engine.post(&self.of(fix, verb), json!({})).await
    }

    /// Code and message of a refusal.
    async fn refused(&self, fix: &Value, verb: &str) -> Result<(String, String)> {
        let (status, body) = self.board.refuse(&self.of(fix, verb), json!({})).await?;
        assert_eq!(status, 409, "{body:#}");
        Ok((text(&body, "code"), text(&body, "message")))
    }

    fn branch(&self) -> String {
        format!("forge/{}", text(&self.task, "id"))
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        Ok(self.board.folder.repo.git(args)?.trim().to_owned())
    }

    fn content(&self) -> Result<String> {
        self.git(&["show", &format!("{}:total.txt", self.branch())])
    }

    fn root(&self) -> &Path {
        self.board.folder.repo.path()
    }

    async fn worktree(&self) -> Result<PathBuf> {
        let shown = self.board.engine.get(&format!("/tasks/{}/workspace", text(&self.task, "id"))).await?;
        let path = shown["path"].as_str().or(shown["workspace"]["path"].as_str()).context("no path")?;
        Ok(PathBuf::from(path))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_check_gets_a_fix_drafted_applied_and_verified() -> Result<()> {
    let fixture = FixFixture::new(&format!("Here:\n\n```diff\n{FIX}```\n"), json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    assert_eq!(fix["files"], json!(["total.txt"]));
    assert_eq!((&fix["addedLines"], &fix["removedLines"]), (&json!(1), &json!(1)));
    assert_eq!(
        fix["gate"],
        json!({
            "step": 1, "command": CHECK, "exitCode": 1,
            "failureIds": ["generic:total.txt:error: it is not good"],
        })
    );
    let head = fixture.git(&["rev-parse", &fixture.branch()])?;
    assert_eq!(text(&fix, "baseCommit"), head);
    let asked = std::fs::read_to_string(fixture.folder.join("asked"))?;
    assert!(asked.contains("it is not good") && asked.contains("unified diff"), "{asked}");

    // The export is there, whole, and git does not see it.
    let patch = fixture.root().join(format!(".forge/proposed-fixes/{}.patch", text(&fix, "fixId")));
    until_there(&patch).await?;
    assert_eq!(std::fs::read_to_string(&patch)?, text(&fix, "patch"));
    let list = fixture.root().join(".forge/fix-proposals.json");
    until_there(&list).await?;
    let exported = || -> Result<Value> { Ok(serde_json::from_str(&std::fs::read_to_string(&list)?)?) };
    assert_eq!(exported()?[0]["fixId"], fix["fixId"]);
    assert_eq!(exported()?[0]["patch"], Value::Null);
    assert_eq!(fixture.git(&["status", "--porcelain"])?, "");

    // The run that drafted it is one of the task's, and nobody waits for it.
    let runs = fixture.board.runs(&fixture.task).await?;
    let roles: Vec<String> = runs.iter().map(|run| text(run, "role")).collect();
    assert_eq!(roles, ["coder", "drafter"]);
    assert_eq!(runs[1]["id"], fix["executionId"]);

    let applied = fixture.act(&fix, "apply").await?;
    assert_eq!(applied["status"], "applied");
    let commit = text(&applied, "appliedCommit");
    assert_eq!(fixture.git(&["show", "-s", "--format=%an %P", &commit])?, format!("Forge {head}"));
    assert_eq!(fixture.content()?, "one\ngood\nthree");
    let verified = fixture.proposal("verified").await?;
    assert_eq!(
        (&verified["verification"]["passed"], &verified["verification"]["exitCode"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(verified["decidedBy"], "user:api");
    assert_eq!(fixture.content()?, "one\ngood\nthree");
    assert_eq!(fixture.refused(&fix, "apply").await?.0, "fix_decided");
    assert_eq!(fixture.refused(&fix, "reject").await?.0, "fix_decided");
    until("the export's last word", async || Ok((exported()?[0]["status"] == "verified").then_some(())))
        .await?;
    for kind in ["fix.applied", "fix.verified"] {
        let told = fixture.board.events(kind, 1).await?;
        assert_eq!(told[0]["entity_id"], fix["fixId"]);
    }

    // What was verified can be taken back, and then no more.
    let back = fixture.act(&fix, "rollback").await?;
    assert_eq!(back["status"], "rolled_back");
    assert_eq!(fixture.content()?, "one\nbad\nthree");
    assert_eq!(fixture.refused(&fix, "rollback").await?.0, "fix_decided");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_does_not_wait_for_a_draft_and_supersedes_it() -> Result<()> {
    let more = json!({
        "task_state_config": { "retry_budgets": { "review": 1 } },
        "description": forge_testkit::script(&["append total.txt <<< \"one\\nbad\\nthree\\n\""]),
    });
    let fixture = FixFixture::with(FIX, json!({}), json!({ "ci_steps": [CHECK] }), more).await?;
    let gate = fixture.folder.join("gate");
    std::fs::write(&gate, "")?;
    fixture.board.claim(&fixture.task).await?;
    // Both attempts are over while the drafters still think, one for each.
    fixture.blocked().await?;
    let statuses = |all: &Value, of: &str| -> Vec<String> {
        all[of].as_array().into_iter().flatten().map(|it| text(it, "status")).collect()
    };
    assert_eq!(statuses(&fixture.fixes().await?, "drafts"), ["drafting", "drafting"]);
    until("both drafters", async || Ok((fixture.asked() == 2).then_some(()))).await?;
    std::fs::remove_file(&gate)?;
    // The first was made for what the second attempt has changed.
    until("what became of both", async || {
        let mut now = statuses(&fixture.fixes().await?, "proposals");
        now.sort();
        Ok((now == ["drafted", "superseded"]).then_some(()))
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_verified_after_the_review_is_reviewed_again_before_it_is_merged() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    let (board, task) = (&fixture.board, &fixture.task);
    board.claim(task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    let applied = fixture.act(&fix, "apply").await?;
    fixture.proposal("verified").await?;
    // Forge made the change itself, so the ways on are offered before anybody is refused.
    let changed = board.engine.until(task, |task| task["work_changed"].is_object()).await?;
    assert_eq!(changed["work_changed"]["tip_commit"], applied["appliedCommit"]);
    assert_eq!(changed["offers"][0]["verb"], "review_again");
    let (status, refusal) = board.refused(task, "actions/approve", json!({ "reason": "fine" })).await?;
    assert_eq!((status, text(&refusal, "code").as_str()), (409, "work_changed_since_review"));
    board.act(task, "actions/review_again?wait=none", json!({})).await?;
    board.engine.until(task, is("done")).await?;
    assert_eq!(board.folder.repo.show("main", "total.txt").as_deref(), Some("one\ngood\nthree"));
    let reviews = board.items(&format!("/tasks/{}/reviews", text(task, "id"))).await?;
    let cached: Vec<_> =
        reviews[1]["steps"].as_array().into_iter().flatten().map(|it| it["cached"] == true).collect();
    assert_eq!(cached, [false, true, false], "what the fix was verified by is not run again");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_that_does_not_help_is_rolled_back_automatically() -> Result<()> {
    let fixture = FixFixture::new(&FIX.replace("+good", "+worse"), json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    fixture.act(&fix, "apply").await?;
    let back = fixture.proposal("rolled_back").await?;
    assert_eq!(back["verification"]["passed"], false);
    assert!(text(&back, "reason").starts_with("it did not help: check `grep"), "{back:#}");
    assert_eq!(fixture.content()?, "one\nbad\nthree");
    let count = fixture.git(&["rev-list", "--count", &format!("main..{}", fixture.branch())])?;
    assert_eq!(count, "3", "the work, the fix, and its end");
    assert_eq!(
        fixture.git(&["-C", &fixture.worktree().await?.to_string_lossy(), "status", "--porcelain"])?,
        ""
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn file_changed_since_the_draft_is_not_overwritten() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    let tree = fixture.worktree().await?;
    let at = tree.to_string_lossy().into_owned();

    // What is not committed is not overwritten.
    std::fs::write(tree.join("total.txt"), "one\nbad\nthree\nmine\n")?;
    let (code, message) = fixture.refused(&fix, "apply").await?;
    assert_eq!(code, "fix_blocked", "{message}");
    assert!(message.contains("total.txt"), "{message}");
    assert_eq!(std::fs::read_to_string(tree.join("total.txt"))?, "one\nbad\nthree\nmine\n");
    fixture.git(&["-C", &at, "checkout", "-q", "--", "total.txt"])?;
    fixture.act(&fix, "apply").await?;
    fixture.proposal("verified").await?;

    // Another commit on the file: the fix cannot be taken back.
    std::fs::write(tree.join("total.txt"), "one\ngood\nthree\nmore\n")?;
    fixture.git(&["-C", &at, "commit", "-q", "-a", "-m", "by hand"])?;
    let (code, message) = until("the end of the verification", async || {
        let said = fixture.refused(&fix, "rollback").await?;
        Ok((said.0 != "fix_blocked").then_some(said))
    })
    .await?;
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("fix_outdated", "total.txt changed since the fix was applied")
    );
    assert_eq!(fixture.content()?, "one\ngood\nthree\nmore");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_of_an_older_file_version_is_superseded() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    let tree = fixture.worktree().await?;
    std::fs::write(tree.join("total.txt"), "one\nbad\n3\n")?;
    fixture.git(&["-C", &tree.to_string_lossy(), "commit", "-q", "-a", "-m", "by hand"])?;
    let (code, message) = fixture.refused(&fix, "apply").await?;
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("fix_outdated", "total.txt changed since the fix was drafted")
    );
    assert_eq!(fixture.proposal("superseded").await?["reason"], "total.txt changed since it was drafted");
    assert_eq!(fixture.content()?, "one\nbad\n3");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_of_a_changed_file_is_listed_as_superseded() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    fixture.proposal("drafted").await?;
    let tree = fixture.worktree().await?;
    std::fs::write(tree.join("total.txt"), "one\nbad\n3\n")?;
    fixture.git(&["-C", &tree.to_string_lossy(), "commit", "-q", "-a", "-m", "by hand"])?;
    assert_eq!(fixture.proposal("superseded").await?["reason"], "total.txt changed since it was drafted");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn answer_that_is_no_small_patch_of_the_file_is_not_proposed() -> Result<()> {
    let outside = FIX.replace("a/total.txt", "a/../total.txt").replace("b/total.txt", "b/../total.txt");
    let other = FIX.replace("total.txt", "README.md");
    let two = format!("{FIX}{other}");
    let stale = FIX.replace("-bad", "-other");
    let mode = format!("diff --git a/total.txt b/total.txt\nold mode 100644\nnew mode 100755\n{FIX}");
    let long = FIX.replace("+good", &"+good\n".repeat(4));
    for (answer, why) in [
        (outside.as_str(), "the patch changes `../total.txt`, which is not a file in the worktree"),
        (&other, "the patch changes README.md, not total.txt"),
        (&two, "the patch changes more than one file"),
        (&stale, "the patch does not apply: error: patch failed: total.txt:1"),
        (&mode, "the patch does more than change lines: old mode 100644"),
        (long.trim_end(), "the patch changes 5 lines; at most 4 are allowed"),
        ("NONE", "the answer contains no unified diff"),
    ] {
        let fixture = FixFixture::new(answer, json!({ "maxChangedLines": 4 })).await?;
        fixture.board.claim(&fixture.task).await?;
        fixture.blocked().await?;
        let reason = fixture.dropped().await?;
        assert!(reason.starts_with(why), "{reason}");
        assert_eq!(fixture.fixes().await?["proposals"], json!([]));
        assert!(!fixture.root().join(".forge/proposed-fixes").exists());
        assert_eq!(fixture.content()?, "one\nbad\nthree");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_that_names_no_single_file_drafts_no_fix() -> Result<()> {
    let two = "echo 'total.txt:1: no'; echo 'README.md:1: no'; exit 1";
    for (check, auto_fix) in [
        ("exit 1", json!({})),
        (two, json!({})),
        // It is none that the task changes.
        ("echo 'README.md:1: no'; exit 1", json!({})),
        (CHECK, json!({ "enabled": false })),
    ] {
        let checks = json!({ "ci_steps": [check] });
        let fixture = FixFixture::with(FIX, auto_fix, checks, json!({})).await?;
        fixture.board.claim(&fixture.task).await?;
        fixture.blocked().await?;
        assert_eq!(fixture.fixes().await?, json!({ "proposals": [], "drafts": [] }), "{check}");
        assert_eq!(fixture.asked(), 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_in_place_of_a_retry_is_applied_automatically() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({ "applyWithoutReview": true })).await?;
    fixture.board.claim(&fixture.task).await?;
    let done = fixture.board.engine.until(&fixture.task, is("done")).await?;
    assert_eq!(done["budgets"]["review"]["used"], 0);
    let fix = fixture.proposal("verified").await?;
    assert_eq!(fix["verification"]["passed"], true);
    let reviews = fixture.board.items(&format!("/tasks/{}/reviews", text(&fixture.task, "id"))).await?;
    assert_eq!(reviews.len(), 1);
    assert_eq!(
        (&reviews[0]["status"], &reviews[0]["reviewed_commit"]),
        (&json!("passed"), &fix["appliedCommit"])
    );
    let codes: Vec<i64> = reviews[0]["steps"]
        .as_array()
        .context("no steps")?
        .iter()
        .filter_map(|step| step["exit_code"].as_i64())
        .collect();
    assert_eq!(codes, [0, 0, 0]);
    assert_eq!(fixture.git(&["show", "main:total.txt"])?, "one\ngood\nthree");
    let runs = fixture.board.runs(&fixture.task).await?;
    assert_eq!(runs.iter().filter(|run| run["role"] == "coder").count(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn useless_fix_in_place_of_a_retry_is_rolled_back_and_work_returns() -> Result<()> {
    let fixture =
        FixFixture::new(&FIX.replace("+good", "+worse"), json!({ "applyWithoutReview": true })).await?;
    fixture.board.claim(&fixture.task).await?;
    let blocked = fixture.blocked().await?;
    assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted");
    let fix = fixture.proposal("rolled_back").await?;
    assert_eq!(fix["verification"]["passed"], false);
    assert_eq!(fixture.content()?, "one\nbad\nthree");
    assert_eq!(fixture.asked(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn fix_shared_by_two_tasks_is_decided_per_task() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    let once = json!({ "task_state_config": { "retry_budgets": { "review": 0 } } });
    let twin = fixture.board.task(&["edit total.txt <<< \"one\\nbad\\nthree\\n\""], once).await?;
    for task in [&fixture.task, &twin] {
        fixture.board.claim(task).await?;
        fixture.board.engine.until(task, is("blocked")).await?;
    }
    let fix = fixture.proposal("drafted").await?;
    let of_twin = FixFixture { task: twin, ..fixture };
    assert_eq!(of_twin.proposal("drafted").await?["fixId"], fix["fixId"]);
    let (status, body) = of_twin.board.refuse(&of_twin.of(&fix, "reject"), json!({})).await?;
    assert_eq!((status, &body["details"]["findings"][0]["path"]), (400, &json!("task_id")), "{body:#}");
    let named = json!({ "task_id": of_twin.task["id"] });
    let rejected = of_twin.board.engine.post(&of_twin.of(&fix, "reject"), named).await?;
    assert_eq!((&rejected["taskId"], &rejected["status"]), (&of_twin.task["id"], &json!("rejected")));
    let all = of_twin.board.items(&format!("/projects/{}/fixes", of_twin.board.project)).await?;
    assert_eq!((&all[0]["status"], &all[1]["status"]), (&json!("drafted"), &json!("rejected")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_fix_can_be_neither_applied_nor_rolled_back() -> Result<()> {
    let fixture = FixFixture::new(FIX, json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    fixture.blocked().await?;
    let fix = fixture.proposal("drafted").await?;
    assert_eq!(fixture.act(&fix, "reject").await?["status"], "rejected");
    assert_eq!(fixture.refused(&fix, "apply").await?.0, "fix_decided");
    assert_eq!(fixture.refused(&fix, "rollback").await?.0, "fix_decided");
    let of_project = fixture.board.items(&format!("/projects/{}/fixes", fixture.board.project)).await?;
    assert_eq!((of_project.len(), &of_project[0]["status"]), (1, &json!("rejected")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn untrusted_forge_files_draft_no_fix() -> Result<()> {
    let own = "cd \"$FORGE_REPO_PATH\" && echo '{ \"innerLoop\": {} }' > .forge.json && git add .forge.json && \
               git -c user.name=a -c user.email=a@example.org commit -qm own > /dev/null";
    let check =
        format!("grep -q good total.txt || {{ ( {own} ); echo 'total.txt:2:1: error: no' >&2; exit 1; }}");
    let fixture = FixFixture::with(FIX, json!({}), json!({ "ci_steps": [check] }), json!({})).await?;
    fixture.board.claim(&fixture.task).await?;
    let reason = fixture.dropped().await?;
    assert!(reason.contains("`.forge.json` (new)"), "{reason}");
    assert_eq!(fixture.asked(), 0, "the agent was not started");
    Ok(())
}
