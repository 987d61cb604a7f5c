//! Git operations that an agent left unfinished: finished where nothing needs a decision, reported where something
//! does.

use forge_git::{Operation, Standing, UnfinishedOperation};
use forge_model::correction::Correction;
use forge_model::task::AnnotationType;
use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        context::{ProjectContext, backup_prefix},
        world::step::{End, Stepping},
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
pub(crate) async fn finish_git_operation(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
) -> Result<Settled> {
    finish_git_operation_of(world, &s.context, &s.task, workspace).await
}

/// The same outside of a step.
pub(crate) async fn finish_git_operation_of(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
) -> Result<Settled> {
    let author = context.settings.author.as_ref().map(|it| (it.name.as_str(), it.email.as_str()));
    let branch = &workspace.branch;
    let mended = super::nested::mend_worktree(world, context, task, workspace).await?;
    let worktree = core::repository::worktree(world, context, workspace).await?;
    Ok(match worktree.finish_operation(branch, &backup_prefix(task), author).await? {
        Standing::Ready { finished, taken } => {
            let finished = finished.map(|operation| format!("finished the {}", name_of(operation)));
            let taken = taken.then(|| "moved the branch to the commits made beside it".to_owned());
            let done: Vec<String> = mended.into_iter().chain(finished).chain(taken).collect();
            Settled::Ready((!done.is_empty()).then(|| done.join(", ")))
        }
        Standing::Open(unfinished) => {
            let mut trouble = BlockReason::new(AnnotationType::GuardRejected, told(&unfinished, branch));
            trouble.details = json!({
                "operation": unfinished.operation.map(name_of), "files": unfinished.files,
                "kept": unfinished.kept, "output": unfinished.said,
            });
            Settled::Open(Box::new(trouble))
        }
    })
}

/// Another turn for the agent, which finds everything as it left it.
pub(crate) async fn back_to_unfinished(world: &World, s: &Stepping, trouble: BlockReason) -> Result<End> {
    let correction = Correction::GuardRefused { reason: trouble.message.clone() };
    core::again::send_back_in_place(world, s, correction, CAUSE, trouble).await
}

const fn name_of(operation: Operation) -> &'static str {
    match operation {
        Operation::Merge => "merge",
        Operation::Rebase => "rebase",
        Operation::CherryPick => "cherry-pick",
        Operation::Revert => "revert",
    }
}

fn told(unfinished: &UnfinishedOperation, branch: &str) -> String {
    let mut text = match unfinished.operation {
        Some(operation) => {
            let name = name_of(operation);
            let stands = match unfinished.files.as_slice() {
                [] => format!("the {name} in the worktree is unfinished"),
                files => format!("the {name} in the worktree has conflicts in {}", files.join(", ")),
            };
            format!("{stands}: finish it (`git {name} --continue`) or abort it (`git {name} --abort`)")
        }
        None if unfinished.kept.is_some() => format!(
            "the worktree is not on its branch `{branch}`, and its commits do not descend from that branch: \
             move the task's commits to the branch, and check it out"
        ),
        None => format!("the worktree is not on its branch `{branch}`: check it out"),
    };
    if let Some(kept) = &unfinished.kept {
        text.push_str(&format!(". Its commits are kept at {kept}"));
    }
    if let Some(why) = &unfinished.refused {
        text.push_str(&format!(". Forge cannot finish it: {why}"));
    }
    if !unfinished.said.is_empty() && unfinished.files.is_empty() {
        text.push_str(&format!(". git says: {}", unfinished.said));
    }
    text
}
