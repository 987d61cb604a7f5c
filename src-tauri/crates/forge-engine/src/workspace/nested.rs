//! Content of a worktree that is not the task's: a replaced `.git`, and repositories inside it.

use forge_git::{NestedRepository, Uncommitted};
use forge_model::correction::Correction;
use forge_model::event::EventType;
use forge_model::execution::Execution;
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
        moves::EntryInput,
        world::step::{End, Stepping},
    },
    error::Result,
    trust,
};

/// The cause of the one follow-up that tells an agent of a repository inside its worktree.
const TOLD_OF_EMBEDDED: &str = "reported an embedded repository";

/// Writes a worktree's `.git` again when it does not lead to the repository; says what was done.
pub(crate) async fn mend_dot_git(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
) -> Result<Option<String>> {
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let aside = trust::accepted::kept_folder(world, task);
    let Some(done) = worktree.rewrite_dot_git(&workspace.branch, &aside).await? else {
        return Ok(None);
    };
    let kept = done.kept.map(|kept| kept.display().to_string());
    let said = match &kept {
        Some(kept) => format!("restored the worktree's .git; the replacement is kept at {kept}"),
        None => "restored the missing .git of the worktree".to_owned(),
    };
    tracing::warn!(task = %task.id, path = %workspace.path, ?kept, "the worktree's .git was not its own");
    let facts = json!({ "path": workspace.path, "dot_git": true, "kept": kept, "message": said });
    let mut tx = world.store().write().await?;
    world.emit(&mut tx, EventType::WorkspaceRecovered, task, workspace.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(Some(said))
}

/// Makes a worktree usable that an agent's git, or a person's, left without its `.git` or on a branch that has no
/// commit; says what was done.
pub(crate) async fn mend_worktree(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    workspace: &Workspace,
) -> Result<Option<String>> {
    let mended = mend_dot_git(world, context, task, workspace).await?;
    let worktree = core::repository::worktree(world, context, workspace).await?;
    let branch = &workspace.branch;
    if !worktree.path().is_dir()
        || !worktree.revive_head(branch, &workspace.base_commit, &backup_prefix(task)).await?
    {
        return Ok(mended);
    }
    let said = format!("put the worktree back on its branch {branch}; it was on a branch without commits");
    tracing::warn!(task = %task.id, path = %workspace.path, %branch, "the worktree was on a branch without a commit");
    let facts = json!({ "path": workspace.path, "branch": branch, "message": said });
    let mut tx = world.store().write().await?;
    world.emit(&mut tx, EventType::WorkspaceRecovered, task, workspace.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(Some(mended.into_iter().chain([said]).collect::<Vec<_>>().join(", ")))
}

/// What follows from embedded repositories in a worktree: the agent is told once, then a person. Nothing when
/// there are none.
pub(crate) async fn refuse_embedded(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    seen: &Uncommitted,
    by: Option<&Execution>,
) -> Result<Option<End>> {
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    let found = worktree.embedded_repositories(seen, &workspace.base_commit).await?;
    if found.is_empty() {
        return Ok(None);
    }
    let paths: Vec<&str> = found.iter().map(|nested| nested.path.as_str()).collect();
    let reason = format!(
        "{} contains a separate git repository. Its files would be missing from the commit: remove its `.git`, \
         move the folder out of the worktree, or make it a submodule",
        named(&paths)
    );
    if by.is_some_and(|run| run.cause != TOLD_OF_EMBEDDED) {
        let input = EntryInput {
            corrections: vec![Correction::GuardRefused { reason }],
            cause: Some(TOLD_OF_EMBEDDED.to_owned()),
            ..EntryInput::default()
        };
        return core::again::run_once_more(world, s, input).await.map(Some);
    }
    let message = format!("{} contains a separate git repository", named(&paths));
    let mut trouble = BlockReason::new(AnnotationType::EmbeddedRepository, message);
    trouble.details = json!({ "paths": paths });
    Ok(Some(End::Block(trouble)))
}

/// Files of submodules that are not committed there, and commits that no remote has, as what holds the task up; nothing
/// when all is pushed.
pub(crate) async fn unpushed(
    world: &World,
    s: &Stepping,
    workspace: &Workspace,
    seen: &Uncommitted,
) -> Result<Option<BlockReason>> {
    let dirty: Vec<&str> = seen.dirty_submodules().collect();
    if !dirty.is_empty() {
        let reason = format!(
            "files of the submodule {} are not committed there: commit and push them, have the submodule ignore \
             them, or remove them",
            named(&dirty)
        );
        let mut trouble = BlockReason::new(AnnotationType::SubmoduleNotPushed, reason);
        let facts = |path: &&str| json!({ "path": path, "commit": null });
        trouble.details = json!({ "submodules": dirty.iter().map(facts).collect::<Vec<_>>() });
        return Ok(Some(trouble));
    }
    let worktree = core::repository::worktree(world, &s.context, workspace).await?;
    let (repo, head) = (worktree.repo(), worktree.head().await?);
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    let base = repo.merge_base(&target, &head).await?.unwrap_or_else(|| workspace.base_commit.clone());
    let unpushed = worktree.unpushed_submodules(&base).await?;
    if unpushed.is_empty() {
        return Ok(None);
    }
    let which = unpushed.iter().map(shown).collect::<Vec<_>>().join(", ");
    let reason = format!(
        "the commit of the submodule {which} is on no branch of its remote: push it, or use a commit that is \
         pushed"
    );
    let mut trouble = BlockReason::new(AnnotationType::SubmoduleNotPushed, reason);
    let facts = |it: &NestedRepository| json!({ "path": it.path, "commit": it.commit });
    trouble.details = json!({ "submodules": unpushed.iter().map(facts).collect::<Vec<_>>() });
    Ok(Some(trouble))
}

fn named(paths: &[&str]) -> String {
    paths.iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

fn shown(submodule: &NestedRepository) -> String {
    let commit = submodule.commit.as_deref().unwrap_or_default();
    format!("`{}` ({})", submodule.path, commit.get(..10).unwrap_or(commit))
}
