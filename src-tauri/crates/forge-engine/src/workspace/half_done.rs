//! Git operations that an agent left unfinished: finished where nothing needs a decision, reported where something
//! does.

use std::path::Path;

use forge_git::{HalfDone, Operation, Repo, Standing};
use forge_model::correction::Correction;
use forge_model::task::AnnotationType;
use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    Engine,
    core::{
        self,
        block_reason::BlockReason,
        context::{ProjectContext, backup_prefix},
        engine::step::{End, Stepping},
    },
    error::Result,
};

/// Why the agent gets another turn.
const CAUSE: &str = "an unfinished git operation was found";

/// A worktree that is on its branch, or what keeps it from there.
pub(crate) enum Settled {
    /// It is; with what was done about it.
    Ready(Option<String>),
    /// Somebody must decide.
    Open(Box<BlockReason>),
}

/// Brings a worktree back to its branch. Nothing is judged, committed or merged from elsewhere.
pub(crate) async fn settle_worktree(
    engine: &Engine,
    s: &Stepping,
    repo: &Repo,
    workspace: &Workspace,
) -> Result<Settled> {
    settle_worktree_of(engine, &s.context, &s.task, repo, workspace).await
}

/// The same outside of a step.
pub(crate) async fn settle_worktree_of(
    engine: &Engine,
    context: &ProjectContext,
    task: &TaskRow,
    repo: &Repo,
    workspace: &Workspace,
) -> Result<Settled> {
    let author = context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let (tree, branch) = (Path::new(&workspace.path), &workspace.branch);
    let mended = super::nested::mend_worktree(engine, repo, task, workspace).await?;
    Ok(match repo.settle_half_done(tree, branch, &backup_prefix(task), author).await? {
        Standing::Ready { finished, taken } => {
            let finished = finished.map(|operation| format!("finished the {}", name_of(operation)));
            let taken = taken.then(|| "moved the branch to the commits made beside it".to_owned());
            let done: Vec<String> = mended.into_iter().chain(finished).chain(taken).collect();
            Settled::Ready((!done.is_empty()).then(|| done.join(", ")))
        }
        Standing::Open(half_done) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, told(&half_done, branch));
            trouble.details = json!({
                "operation": half_done.operation.map(name_of), "files": half_done.files,
                "kept": half_done.kept, "output": half_done.said,
            });
            Settled::Open(Box::new(trouble))
        }
    })
}

/// Another turn for the agent, which finds everything as it left it.
pub(crate) async fn back_to_half_done(engine: &Engine, s: &Stepping, trouble: BlockReason) -> Result<End> {
    let correction = Correction::GuardRefused { reason: trouble.message.clone() };
    core::again::send_back_in_place(engine, s, correction, CAUSE, trouble).await
}

const fn name_of(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Rebase => "rebase",
        Operation::CherryPick => "cherry-pick",
        Operation::Revert => "revert",
    }
}

fn told(half_done: &HalfDone, branch: &str) -> String {
    let mut text = match half_done.operation {
        Some(operation) => {
            let name = name_of(operation);
            let stands = match half_done.files.as_slice() {
                [] => format!("the {name} in the worktree is unfinished"),
                files => format!("the {name} in the worktree has conflicts in {}", files.join(", ")),
            };
            format!("{stands}: finish it (`git {name} --continue`) or abort it (`git {name} --abort`)")
        }
        None if half_done.kept.is_some() => format!(
            "the worktree is not on its branch `{branch}`, and its commits do not descend from that branch: \
             move the task's commits to the branch, and check it out"
        ),
        None => format!("the worktree is not on its branch `{branch}`: check it out"),
    };
    if let Some(kept) = &half_done.kept {
        text.push_str(&format!(". Its commits are kept at {kept}"));
    }
    if let Some(why) = &half_done.refused {
        text.push_str(&format!(". Forge cannot finish it: {why}"));
    }
    if !half_done.said.is_empty() && half_done.files.is_empty() {
        text.push_str(&format!(". git says: {}", half_done.said));
    }
    text
}
