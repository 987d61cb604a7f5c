//! A person's answer about startup files: listing them and trusting their contents.

use forge_model::actor::{Actor, Via};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::task::AnnotationType;
use forge_model::trust::{TrustListing, TrustState, TrustedContent};
use forge_store::table::{
    tasks::{Filter, TaskRow},
    trust::TrustRow,
};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{self, block_reason::block_reason_of_trust, context::ProjectContext},
    error::Result,
    retry,
    trust::{Judgement, judge_start, start_of_project, start_of_task},
    workspace::is_present,
};

/// Content beyond this is accepted by its hash alone.
const KEPT_BYTES: usize = 1 << 20;

/// The startup files of a project: of the branch that its tasks start on and of the tasks that wait for a word about
/// theirs; with a task, of that one alone.
pub(crate) async fn trust_listing(
    world: &World,
    project: &ProjectId,
    task: Option<&TaskId>,
) -> Result<TrustListing> {
    let (context, task) = trust_scope(world, project, task).await?;
    let (commit, judgement) = judge_scope(world, &context, task.as_ref()).await?;
    Ok(TrustListing {
        trusted: judgement.is_trusted(),
        commit,
        files: judgement.shown(judgement.judged.iter()),
    })
}

/// Trusts contents as they were shown. Tasks that wait for this go on.
pub(crate) async fn trust_files(
    world: &World,
    actor: Actor,
    project: &ProjectId,
    task: Option<&TaskId>,
    contents: &[TrustedContent],
) -> Result<()> {
    require_person(&actor)?;
    let (context, task) = trust_scope(world, project, task).await?;
    let (_, mut judgement) = judge_scope(world, &context, None).await?;
    if let Some(task) = &task {
        judgement.add(judge_task(world, &context, task).await?);
    }
    accept_contents(world, &context, &judgement, contents).await?;
    go_on_with_trust(world, actor, &context).await
}

/// Takes the offer of a task that waits for trust: exactly the contents that it tells of.
pub(crate) async fn trust_files_of(world: &World, actor: Actor, id: &TaskId) -> Result<()> {
    require_person(&actor)?;
    let (task, context) = core::load::load_own(world, &mut *world.store().read().await?, id, None).await?;
    let judgement = judge_task(world, &context, &task).await?;
    let shown = task.error_annotation.as_ref().and_then(|it| it.details["digest"].as_str());
    let digest = judgement.digest();
    if !judgement.is_trusted() && shown != Some(digest.as_str()) {
        // The task shows what is to be trusted now.
        let files = judgement.shown(judgement.open());
        let trouble = block_reason_of_trust(&crate::error::Untrusted { digest, files });
        let mut tx = world.store().write().await?;
        let (mut task, _) = core::load::load_own(world, &mut tx, id, None).await?;
        if let Some(from) = task.error_annotation.as_ref().map(|it| it.from_state.clone()) {
            task.error_annotation = Some(trouble.annotation(&from, world.now()));
            tx.tasks_mut().update(&mut task, world.now()).await?;
        }
        tx.commit().await?;
        let paths: Vec<String> = judgement.open().map(|it| it.path.clone()).collect();
        return Err(changed(&paths));
    }
    let open = judgement.open();
    let contents: Vec<TrustedContent> =
        open.map(|it| TrustedContent { path: it.path.clone(), sha256: it.sha256.clone() }).collect();
    accept_contents(world, &context, &judgement, &contents).await?;
    go_on_with_trust(world, actor, &context).await
}

async fn trust_scope(
    world: &World,
    project: &ProjectId,
    task: Option<&TaskId>,
) -> Result<(std::sync::Arc<ProjectContext>, Option<TaskRow>)> {
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, project).await?;
    let Some(id) = task else { return Ok((context, None)) };
    let row = conn.tasks().get(id).await?.filter(|row| row.project_id == *project);
    let row = row.ok_or_else(|| EngineError::not_found("task", id))?;
    Ok((context, Some(row)))
}

/// What is looked at, with the commit that it starts on.
async fn judge_scope(
    world: &World,
    context: &ProjectContext,
    task: Option<&TaskRow>,
) -> Result<(String, Judgement)> {
    let repo = core::repository::repo(world, context).await?;
    if let Some(task) = task {
        let start = start_of_task(world, context, &repo, task, None).await?;
        let commit = start.commits.into_iter().next().unwrap_or_default();
        return Ok((commit, judge_task(world, context, task).await?));
    }
    let start = start_of_project(context, &repo).await?;
    let mut judgement = judge_start(world, context, &repo, &start).await?;
    for task in waiting_for_trust(world, context).await? {
        judgement.add(judge_task(world, context, &task).await?);
    }
    Ok((start.commits.into_iter().next().unwrap_or_default(), judgement))
}

/// A task's startup files, with those in its worktree, compared with what was accepted.
async fn judge_task(world: &World, context: &ProjectContext, task: &TaskRow) -> Result<Judgement> {
    let repo = core::repository::repo(world, context).await?;
    let workspace = world.store().read().await?.workspaces().last(&task.id).await?;
    // One that waits for trust before its set-up is not active yet.
    let made = workspace.filter(is_present);
    let start = start_of_task(world, context, &repo, task, made.as_ref()).await?;
    judge_start(world, context, &repo, &start).await
}

async fn waiting_for_trust(world: &World, context: &ProjectContext) -> Result<Vec<TaskRow>> {
    let filter = Filter { project: Some(context.project.id.clone()), ..Filter::default() };
    let all = world.store().read().await?.tasks().list(&filter, u32::MAX).await?;
    Ok(all.into_iter().filter(waits_for_trust).collect())
}

async fn accept_contents(
    world: &World,
    context: &ProjectContext,
    judgement: &Judgement,
    contents: &[TrustedContent],
) -> Result<()> {
    let mut rows = Vec::new();
    let mut others = Vec::new();
    for content in contents {
        let is_meant =
            |path: &str, sha256: &Option<String>| path == content.path && *sha256 == content.sha256;
        let judged = judgement.judged.iter().find(|it| is_meant(&it.path, &it.sha256));
        match judged {
            Some(judged) if judged.state == TrustState::Accepted => {}
            Some(judged) => {
                let placed = judgement.placed(judged);
                rows.push(TrustRow {
                    path: judged.path.clone(),
                    sha256: judged.sha256.clone(),
                    commit: placed.and_then(|placed| placed.commit.clone()),
                    content: placed
                        .map(|placed| placed.file.content.clone())
                        .filter(|content| content.len() <= KEPT_BYTES),
                });
            }
            // What is accepted already may have been accepted by somebody else meanwhile.
            None if judgement.accepted.iter().any(|row| is_meant(&row.path, &row.sha256)) => {}
            None => others.push(content.path.clone()),
        }
    }
    if !others.is_empty() {
        return Err(changed(&others));
    }
    let mut tx = world.store().write().await?;
    for row in &rows {
        tx.project_trust_mut().put(&context.project.id, row, world.now()).await?;
    }
    if let Some(project) = tx.projects().get(&context.project.id).await?.filter(|_| !rows.is_empty()) {
        core::contexts::project_changed(world, &mut tx, &project.project, "trust").await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Tries again what waited for trust and has it now.
async fn go_on_with_trust(world: &World, actor: Actor, context: &ProjectContext) -> Result<()> {
    for waiting in waiting_for_trust(world, context).await? {
        if !judge_task(world, context, &waiting).await?.is_trusted() {
            continue;
        }
        let _hold = core::workers::hold(world, &waiting.id).await;
        let mut tx = world.store().write().await?;
        let (mut task, context) = core::load::load(world, &mut tx, &waiting.id, None).await?;
        if !waits_for_trust(&task) {
            continue;
        }
        let annotation = task.error_annotation.clone();
        retry::retry(world, &mut tx, &context, &mut task, actor.clone(), annotation, None).await?;
        tx.commit().await?;
    }
    core::scheduler::wake_waiting(world);
    Ok(())
}

/// Trust is a person's word: no agent gives it, whichever token it has.
fn require_person(actor: &Actor) -> Result<()> {
    if matches!(actor, Actor::User { via: Via::Board | Via::Api | Via::Cli }) {
        return Ok(());
    }
    let message = "only a person can trust files: use Forge's window or `forge project trust`";
    Err(EngineError::conflict(ConflictCode::PersonRequired, message))
}

fn changed(paths: &[String]) -> EngineError {
    EngineError::Conflict {
        code: ConflictCode::TrustChanged,
        message: format!("Could not trust the files: {} changed since they were shown.", paths.join(", ")),
        details: json!({ "paths": paths }),
    }
}

fn waits_for_trust(task: &TaskRow) -> bool {
    task.error_annotation.as_ref().is_some_and(|it| it.kind == AnnotationType::TrustRequired)
}
