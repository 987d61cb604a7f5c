//! What runs leave for later runs: which lessons an agent was given, the note of a finished task, and the export of
//! both under `.forge/`.

use forge_model::correction::Correction;
use forge_model::debrief::Debrief;
use forge_model::execution::{Execution, ExecutionRole, ExecutionStatus};
use forge_model::ids::TaskId;
use forge_model::loop_status::Subsystem;
use forge_model::race::RaceStatus;
use forge_model::trajectory::render;
use forge_prompt::reflexion::reflexion;
use forge_store::table::{executions::ExecutionRow, tasks::TaskRow};
use forge_store::{ReadConnection, Tx};

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext, effects::record_effect, lineage::is_entry},
    error::Result,
    export,
};

/// Where the export keeps the notes of finished tasks.
const NOTES: &str = "trajectories";
/// Where it keeps the postmortems.
const POSTMORTEMS: &str = "postmortems";

/// What a task left behind.
pub(crate) async fn debrief(world: &World, id: &TaskId) -> Result<Debrief> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let note = conn.trajectories().get(id).await?;
    Ok(Debrief { note, postmortems: conn.postmortems().of_task(id).await? })
}

/// Writes down what a run that begins is told of earlier ones.
pub(crate) async fn record_told(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    task: &TaskRow,
    row: &ExecutionRow,
) -> Result<()> {
    let about = if is_entry(task) { task.parent_id.as_ref() } else { Some(&task.id) };
    let (project, attempt) = (&context.project.id, row.execution.attempt);
    let reflects = context.settings.inner_loop.reflexion.enabled;
    if let Some(told) = reflexion(&mut row.corrections.clone())
        .filter(|_| reflects && row.execution.role == ExecutionRole::Coder)
    {
        let effect = format!("run {attempt} started with: {}", told.gate);
        record_effect(world, tx, project, Subsystem::Reflexion, about, effect).await?;
    }
    let lessons = row.corrections.iter().find_map(|correction| match correction {
        Correction::Lessons { lessons } => Some(lessons),
        _ => None,
    });
    if let Some(lessons) = lessons {
        let files = lessons.iter().map(|lesson| lesson.path.as_str()).collect::<Vec<_>>().join(", ");
        let effect = format!("run {attempt} got the lessons {files}");
        record_effect(world, tx, project, Subsystem::Knowledge, about, effect).await?;
    }
    Ok(())
}

/// The runs that did a task's work well, oldest first: those of the entry whose work is the task's, then its own.
pub(crate) async fn finished_work(conn: &mut ReadConnection, task: &TaskId) -> Result<Vec<Execution>> {
    let race = conn.races().last(task).await?.filter(|race| race.status == RaceStatus::Promoted);
    let winner = race.and_then(|race| {
        let name = race.winner.clone()?;
        race.entry(&name).map(|entry| entry.task_id.clone())
    });
    let mut runs = Vec::new();
    for of in winner.iter().chain([task]) {
        runs.extend(conn.executions().list(of).await?.into_iter().map(|row| row.execution));
    }
    runs.retain(|run| run.role == ExecutionRole::Coder && run.status == ExecutionStatus::Finished);
    Ok(runs)
}

/// Exports the notes and postmortems that are not exported yet.
pub(crate) async fn export_new_debriefs(world: &World) -> Result<()> {
    let (notes, records) = {
        let mut conn = world.store().read().await?;
        (conn.trajectories().unexported().await?, conn.postmortems().unexported().await?)
    };
    for (id, note) in notes {
        let (task, context, agent) = {
            let mut conn = world.store().read().await?;
            let Some(task) = conn.tasks().get(&id).await? else { continue };
            let context = core::contexts::context_of(world, &mut conn, &task).await?;
            (task, context, conn.agents().get(&note.agent_id).await?)
        };
        let agent = agent.map_or_else(|| note.agent_id.0.clone(), |agent| agent.name);
        let file = render(&note, task.number, &task.title, &agent);
        if exported(world, &context, &format!("{NOTES}/{id}.md"), file).await {
            let mut tx = world.store().write().await?;
            tx.trajectories_mut().set_exported(&id, &note).await?;
            tx.commit().await?;
        }
    }
    for record in records {
        let context = {
            let mut conn = world.store().read().await?;
            let Some(task) = conn.tasks().get(&record.task_id).await? else { continue };
            core::contexts::context_of(world, &mut conn, &task).await?
        };
        let text = serde_json::to_string_pretty(&record)
            .map_err(|error| EngineError::io("write a postmortem")(error.into()))?;
        let path = format!("{POSTMORTEMS}/{}-{}.json", record.task_id, record.number);
        if exported(world, &context, &path, format!("{text}\n")).await {
            let mut tx = world.store().write().await?;
            tx.postmortems_mut().set_exported(&record.task_id, record.number).await?;
            tx.commit().await?;
        }
    }
    Ok(())
}

/// Exports a file; one that cannot be written keeps the others from nothing.
async fn exported(world: &World, context: &ProjectContext, path: &str, content: String) -> bool {
    let done = export::export(world, context, path, content).await;
    if let Err(error) = &done {
        tracing::warn!(project = %context.project.id, %path, %error, "failed to export; the next start tries again");
    }
    done.is_ok()
}
