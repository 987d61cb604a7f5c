//! Actions for agents that fail, cannot start, leave files that cannot be committed, or are held by a guard or
//! hook.

use anyhow::Result;
use forge_model::task::AnnotationType;
use forge_testkit::{board::text, script};
use serde_json::json;

use super::{ActionFixture, BlockCase, attempts, block_case, limits};

const EDIT: &str = "append a <<< \"x\\n\"";

#[tokio::test(flavor = "multi_thread")]
async fn executor_failed_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let told = attempts("error auth who are you", 2, EDIT);
    let case = block_case(AnnotationType::ExecutorFailed);
    fixture
        .take_every_action(&case, async || fixture.started(&fixture.board.project, &told, json!({})).await)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn executor_unavailable_actions_have_their_effect() -> Result<()> {
    let mut fixture = ActionFixture::new().await?;
    let config =
        json!({ "command": fixture.mended, "args": ["scripted-agent", "--prompt-file", "{prompt_file}"] });
    let new = json!({ "name": "Missing", "adapter": "shell", "config": config });
    fixture.board.agent = text(&fixture.board.engine.post("/agents", new).await?, "id");
    let told = script(&[EDIT]);
    let case = block_case(AnnotationType::ExecutorUnavailable);
    fixture
        .take_every_action(&case, async || fixture.started(&fixture.board.project, &told, json!({})).await)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_refused_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let line = format!("{} || ! git diff --cached --name-only | grep -q no.txt", fixture.cause_is_gone());
    fixture.board.git_hook("pre-commit", &line)?;
    let told = script(&["append no.txt <<< \"no\\n\""]);
    let spent = limits(&json!({ "execution": 0 }));
    let case = block_case(AnnotationType::CommitRefused);
    fixture
        .take_every_action(&case, async || {
            fixture.started(&fixture.board.project, &told, spent.clone()).await
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn guard_rejected_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    let markers = "run printf '%s\\n' '<<<<<<< ours' a ======= b '>>>>>>> theirs' >m";
    let told = attempts(markers, 2, &format!("run rm -f m\n{EDIT}"));
    let spent = limits(&json!({ "execution": 0 }));
    let case = block_case(AnnotationType::GuardRejected);
    fixture
        .take_every_action(&case, async || {
            fixture.started(&fixture.board.project, &told, spent.clone()).await
        })
        .await
}

/// A blocking hook holds the agent by its failure and by its timeout.
#[tokio::test(flavor = "multi_thread")]
async fn before_work_hook_actions_have_their_effect() -> Result<()> {
    let fixture = ActionFixture::new().await?;
    for (kind, otherwise) in [
        (AnnotationType::BeforeWorkHookFailed, "false"),
        (AnnotationType::BeforeWorkHookTimeout, "sleep 600"),
    ] {
        let command = format!("{} || {otherwise}", fixture.cause_is_gone());
        let hook = json!({ "type": "script", "command": command, "timeout_seconds": 1, "blocking": true });
        let settings = json!({ "lifecycle_hooks": { "before_work": [hook] } });
        let project = fixture.board.project(kind.as_str(), settings, json!({})).await?;
        let case = BlockCase { state: "in_progress", ..block_case(kind) };
        let told = script(&[EDIT]);
        fixture.take_every_action(&case, async || fixture.started(&project, &told, json!({})).await).await?;
    }
    Ok(())
}
