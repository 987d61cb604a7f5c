//! Actions for merges that conflict, fail, or have a target that keeps moving.

use anyhow::Result;
use forge_model::task::AnnotationType;
use forge_testkit::script;
use serde_json::json;

use super::{ActionFixture, BlockCase, attempts, block_case, limits};

#[tokio::test(flavor = "multi_thread")]
async fn merge_conflict_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let repo = fixture.board.folder.repo.path().display().to_string();
    let first = format!(
        "run cd '{repo}' && echo $FORGE_TASK_ID >>c && git add c && git commit -qm main\nedit c <<< \"task\\n\""
    );
    let told = attempts(&first, 2, "run git rebase -q --strategy-option=ours main\nappend d <<< \"x\\n\"");
    let spent = limits(&json!({ "merge_fix": 0 }));
    let case = BlockCase { state: "merge_failed", ..block_case(AnnotationType::MergeConflict) };
    fixture
        .take_every_action(&case, async || {
            fixture.started(&fixture.board.project, &told, spent.clone()).await
        })
        .await
}

/// A merge driver of the user moves the target each time it runs.
#[tokio::test(flavor = "multi_thread")]
async fn target_unstable_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let repo = &fixture.board.folder.repo;
    let path = repo.path().display().to_string();
    repo.write(".gitattributes", "c merge=mover\n")?;
    repo.write("c", "first\n")?;
    repo.commit("a file with a driver of its own")?;
    let moves = format!(
        "env -u GIT_DIR -u GIT_INDEX_FILE -u GIT_WORK_TREE git -C '{path}' commit -q --allow-empty -m moved"
    );
    let driver = format!("{} || {moves}; git merge-file --union %A %O %B", fixture.cause_is_gone());
    repo.git(&["config", "merge.mover.driver", &driver])?;
    let first = format!(
        "run cd '{path}' && echo $FORGE_TASK_ID >>c && git add c && git commit -qm main\nappend c <<< \"task\\n\""
    );
    let told = attempts(&first, 2, "append d <<< \"x\\n\"");
    let case = BlockCase { retried: "merging", ..block_case(AnnotationType::TargetUnstable) };
    fixture
        .take_every_action(&case, async || fixture.started(&fixture.board.project, &told, json!({})).await)
        .await
}

/// A hook of the user refuses to move the target.
#[tokio::test(flavor = "multi_thread")]
async fn merge_error_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    fixture.board.folder.repo.git(&["branch", "release"])?;
    let line = format!(
        "refs=$(cat); [ \"$1\" != prepared ] || {} || ! echo \"$refs\" | grep -q refs/heads/release",
        fixture.cause_is_gone()
    );
    fixture.board.git_hook("reference-transaction", &line)?;
    let told = script(&["append a <<< \"x\\n\""]);
    let target = json!({ "merge_config": { "target_branch": "release" } });
    let case = BlockCase { retried: "merging", ..block_case(AnnotationType::MergeError) };
    fixture
        .take_every_action(&case, async || {
            fixture.started(&fixture.board.project, &told, target.clone()).await
        })
        .await
}
