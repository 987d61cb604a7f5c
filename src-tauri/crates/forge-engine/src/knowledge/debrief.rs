//! What a closed task leaves behind: the note of how it went, read from its logs, and its postmortem. Nothing waits
//! for it, and it may be run again.

use forge_agents::{LogError, LogReader};
use forge_model::event::EventType;
use forge_model::execution::Execution;
use forge_model::ids::ProjectId;
use forge_model::postmortem::PostmortemCause;
use forge_model::trajectory::Trajectory;
use forge_model::words::counted;
use forge_reading::trajectory::{Note, NoteReader};
use serde_json::json;

use crate::{
    EngineError, World,
    core::world::step::{End, Stepping},
    error::Result,
    export,
};

/// Keeps what the closed task teaches.
pub(crate) async fn debrief_task(world: &World, s: &Stepping) -> Result<End> {
    let config = &s.context.settings.inner_loop;
    let mut kept = Vec::new();
    let was_cancelled = s.transition.to == s.context.workflow.cancellation_state;
    if config.trajectory.enabled && !was_cancelled {
        kept.push(keep_note(world, s).await?);
    }
    if config.postmortem.enabled {
        kept.push(keep_postmortem(world, s).await?);
    }
    world.point("debrief.kept");
    let said: Vec<String> = kept.into_iter().flatten().collect();
    Ok(if said.is_empty() { End::skipped("nothing to keep") } else { End::Ok(Some(said.join("; "))) })
}

/// Keeps the last note that the task's runs left.
async fn keep_note(world: &World, s: &Stepping) -> Result<Option<String>> {
    let runs = {
        let mut conn = world.store().read().await?;
        super::teaching::finished_work(&mut conn, &s.task.id).await?
    };
    for run in runs.into_iter().rev() {
        let Some(Note { text, is_cut }) = note_of(world, &s.task.project_id, &run).await? else { continue };
        let words = text.split_whitespace().count() as u64;
        let at = s.transition.at;
        let note = Trajectory { text, is_cut, execution_id: run.id, agent_id: run.agent_id, at };
        let mut tx = world.store().write().await?;
        tx.trajectories_mut().put(&s.task.id, &note).await?;
        let facts = json!({ "note": words });
        world.emit(&mut tx, EventType::TaskUpdated, &s.task, s.task.id.as_str(), &facts).await?;
        tx.commit().await?;
        export::export_later(world);
        return Ok(Some(format!("a note of {}", counted(words, "word", "words"))));
    }
    Ok(None)
}

/// Reads the note that a run left out of its log.
async fn note_of(world: &World, project: &ProjectId, run: &Execution) -> Result<Option<Note>> {
    let (dir, log) = (world.log_dir(project, &run.task_id), run.log_id.clone());
    let read = tokio::task::spawn_blocking(move || {
        let mut reader = NoteReader::default();
        match LogReader::each(&dir, &log, |entry| reader.hear(entry)) {
            // A run that said nothing may have left no log.
            Ok(()) | Err(LogError::NotFound(_)) => Ok(reader.finish()),
            Err(error) => Err(error),
        }
    });
    Ok(read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))??)
}

/// Writes the postmortem of this end of the task; run again after a kill, it finds it.
async fn keep_postmortem(world: &World, s: &Stepping) -> Result<Option<String>> {
    let mut tx = world.store().write().await?;
    let Some(task) = tx.tasks().get(&s.task.id).await? else { return Ok(None) };
    let cause = PostmortemCause::TaskClosed;
    let earlier = tx.postmortems().of_task(&task.id).await?;
    if earlier.iter().any(|known| known.cause == cause && known.at >= s.transition.at) {
        return Ok(None);
    }
    let record = super::postmortem::record_postmortem(world, &mut tx, &task, cause, None).await?;
    tx.commit().await?;
    Ok(record.map(|record| format!("postmortem {}", record.number)))
}
