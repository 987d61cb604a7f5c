//! Fixes that no longer apply: their file, their review or their task moved on.

use forge_model::fix::{FixProposal, FixStatus};
use forge_model::ids::TaskId;
use forge_model::workspace::WorkspaceStatus;
use forge_store::table::tasks::TaskRow;

use crate::{
    World,
    core::{
        self,
        context::{ProjectContext, task_branch},
        lineage::{is_entry, is_ordered},
        world::{cx::Cx, features::Moved},
    },
    error::Result,
    fix::{
        of_races::{Standing, is_of_present_work},
        proposal::{SET_ASIDE, export_fixes, is_waiting, write_fix},
    },
};

/// Marks the open proposals of a task whose file is not what it was when they were drafted.
pub(crate) async fn supersede_fixes(world: &World, id: &TaskId) {
    if let Err(error) = find_superseded(world, id).await {
        tracing::warn!(task = %id, %error, "failed to see which fixes are overtaken; applying one looks again");
    }
}

async fn find_superseded(world: &World, id: &TaskId) -> Result<()> {
    let (task, context, open) = {
        let mut conn = world.store().read().await?;
        let (task, context) = core::load::load(world, &mut conn, id, None).await?;
        (task, context, conn.fixes().of_task(id).await?)
    };
    // A fix that is being verified may be taken back, and the file is then as it was.
    if open.iter().any(|fix| fix.status == FixStatus::Applied) {
        return Ok(());
    }
    let open = open.into_iter().filter(is_waiting).collect::<Vec<_>>();
    if open.is_empty() {
        return Ok(());
    }
    let Some(repo) = core::repository::present_repo(world, &context).await? else { return Ok(()) };
    let head = repo.resolve(&format!("refs/heads/{}", task_branch(&task))).await?;
    // A branch that somebody deleted can be restored; one that went with its worktree cannot.
    let is_set_aside = head.is_none() && {
        let workspace = world.store().read().await?.workspaces().last(id).await?;
        workspace.is_none_or(|workspace| workspace.status != WorkspaceStatus::Active)
    };
    for fix in open {
        match is_of_present_work(&mut *world.store().read().await?, &fix).await? {
            Standing::Own => {}
            Standing::Possible => continue,
            Standing::Gone => {
                let mut tx = world.store().write().await?;
                supersede_race_fixes(&mut Cx::of(world, &mut tx), &task).await?;
                tx.commit().await?;
                export_fixes(world, &context, None).await;
                continue;
            }
        }
        let Some(head) = &head else {
            if is_set_aside {
                supersede(world, &context, &task, &fix.fix_id, Some(SET_ASIDE)).await?;
            }
            continue;
        };
        for file in &fix.files {
            if repo.version_at(head, file).await? != repo.version_at(&fix.base_commit, file).await? {
                supersede(world, &context, &task, &fix.fix_id, None).await?;
                break;
            }
        }
    }
    Ok(())
}

/// Marks a proposal that still waits: its file changed, unless another reason is given.
pub(crate) async fn supersede(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    fix: &str,
    why: Option<&str>,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(fix) = tx.fixes().get(&task.id, fix).await?.filter(is_waiting) else {
        return Ok(());
    };
    let changed = || format!("{} changed since it was drafted", fix.files.join(", "));
    let why = why.map_or_else(changed, str::to_owned);
    mark_superseded(&mut Cx::of(world, &mut tx), task, fix, &why).await?;
    tx.commit().await?;
    export_fixes(world, context, None).await;
    Ok(())
}

/// Every open proposal of a task that is closed by a move.
pub(crate) async fn supersede_of_closed(cx: &mut Cx<'_>, moved: Moved<'_>) -> Result<()> {
    let Moved { task, state, .. } = moved;
    if state.is_terminal() && !is_ordered(task) && !is_entry(task) {
        supersede_all(cx, task, "the task is closed").await?;
    }
    Ok(())
}

/// Marks every open proposal of a task: what they were drafted on is not worked on any more.
pub(crate) async fn supersede_all(cx: &mut Cx<'_>, task: &TaskRow, why: &str) -> Result<()> {
    for fix in cx.tx.fixes().of_task(&task.id).await?.into_iter().filter(is_waiting) {
        mark_superseded(cx, task, fix, why).await?;
    }
    Ok(())
}

/// Writes that a proposal no longer applies, and why.
pub(crate) async fn mark_superseded(
    cx: &mut Cx<'_>,
    task: &TaskRow,
    mut fix: FixProposal,
    why: &str,
) -> Result<()> {
    fix.reason = Some(why.to_owned());
    fix.wanted_by = None;
    write_fix(cx, task, &mut fix, FixStatus::Superseded).await
}

/// Marks the open fixes of entries whose work cannot become the task's any more.
pub(crate) async fn supersede_race_fixes(cx: &mut Cx<'_>, task: &TaskRow) -> Result<()> {
    for fix in cx.tx.fixes().of_task(&task.id).await?.into_iter().filter(is_waiting) {
        if is_of_present_work(cx.tx, &fix).await? == Standing::Gone {
            mark_superseded(cx, task, fix, "its entry is not the winner").await?;
        }
    }
    Ok(())
}
