//! The steps about lessons: giving an agent the lessons that match its task, and keeping what the agents of a
//! finished task propose.

use std::sync::Arc;

use async_trait::async_trait;
use forge_agents::{LogError, LogReader};
use forge_model::event::EventType;
use forge_model::execution::Execution;
use forge_model::knowledge::{Document, FOLDER, bounded};
use forge_model::lesson::{LessonDraft, LessonStatus};
use forge_model::transition::StepStatus;
use forge_model::workflow::Action;
use forge_reading::lesson::{LessonReader, Proposals, told};
use forge_store::Tx;
use forge_store::table::lessons::LessonRow;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{
        self,
        context::ProjectContext,
        entry::corrupt_step,
        moves::EntryInput,
        world::step::{Effect, End, Finding, Stepping},
    },
    error::Result,
    knowledge::search::kept_lessons,
};

/// How many lessons an agent is told, at most.
const MOST_TOLD: u32 = 20;

/// Gives the agent that is about to be started what fits its task.
pub(crate) async fn inject_knowledge(world: &World, s: &Stepping) -> Result<End> {
    let text = format!("{}\n{}", s.task.title, s.task.description);
    let target = s.context.target_branch(&s.task);
    let lessons = bounded(super::search::find_lessons(world, &s.context, &target, &text, MOST_TOLD).await?);
    if lessons.is_empty() {
        return Ok(End::skipped(format!("no lesson in {FOLDER} on {target} matches the task")));
    }
    let told = lessons.iter().map(|lesson| lesson.path.as_str()).collect::<Vec<_>>().join(", ");
    let mut tx = world.store().write().await?;
    let open = tx.steps().open(&s.task.id).await?;
    let dispatch = open
        .into_iter()
        .find(|step| step.action == Some(Action::DispatchRoleAgent) && step.status == StepStatus::Pending);
    let Some(mut dispatch) = dispatch else {
        return Ok(End::skipped("no agent is going to start"));
    };
    let input = dispatch.params.take().map(serde_json::from_value::<EntryInput>).transpose();
    let input = EntryInput { lessons, ..input.map_err(corrupt_step)?.unwrap_or_default() };
    dispatch.params = Some(serde_json::to_value(&input).map_err(corrupt_step)?);
    tx.steps_mut().update(&dispatch).await?;
    tx.commit().await?;
    Ok(End::Ok(Some(told)))
}

/// Finds what the task's runs propose to remember; it is kept with the step's end. What the project was
/// told before is not proposed again, so that the step may be run as often as a kill or a person wants.
pub(crate) async fn capture_knowledge(world: &World, s: &Stepping) -> Result<End> {
    let runs = {
        let mut conn = world.store().read().await?;
        super::teaching::finished_work(&mut conn, &s.task.id).await?
    };
    let (mut said, mut refused) = (Vec::new(), Vec::new());
    for run in runs {
        let found = proposals_of(world, s, &run).await?;
        refused.extend(found.refused);
        said.extend(found.lessons.into_iter().map(|draft| (draft, run.clone())));
    }
    refused.dedup();
    let refusals = told(&refused);
    let (known, rows) = new_lessons(world, s, said).await?;
    let more = refusals.map(|refusals| format!("; {refusals}")).unwrap_or_default();
    world.point("lessons.found");
    Ok(match (rows.len(), known) {
        (0, 0) if more.is_empty() => End::skipped("no lesson proposed"),
        (0, 0) => End::skipped(format!("no lesson kept{more}")),
        (0, _) => End::skipped(format!("no new lesson proposed{more}")),
        (1, _) => taught(s, rows, format!("1 lesson proposed{more}")),
        (n, _) => taught(s, rows, format!("{n} lessons proposed{more}")),
    })
}

/// What of it nobody proposed and the branch does not keep yet; and how much of it is known.
async fn new_lessons(
    world: &World,
    s: &Stepping,
    said: Vec<(LessonDraft, Execution)>,
) -> Result<(usize, Vec<LessonRow>)> {
    if said.is_empty() {
        return Ok((0, Vec::new()));
    }
    let repo = core::repository::repo(world, &s.context).await?;
    let kept = match repo.resolve(&format!("refs/heads/{}", s.context.target_branch(&s.task))).await? {
        Some(commit) => kept_lessons(&repo, &commit).await?,
        None => Vec::new(),
    };
    let kept: Vec<LessonDraft> = kept.iter().map(|(path, text)| Document::read(path, text).lesson).collect();
    let same = |a: &LessonDraft, b: &LessonDraft| a.title == b.title && a.body == b.body;
    let (mut known, mut rows): (usize, Vec<LessonRow>) = (0, Vec::new());
    let mut conn = world.store().read().await?;
    for (draft, run) in said {
        if kept.iter().chain(rows.iter().map(|row| &row.draft)).any(|other| same(other, &draft))
            || conn.lessons().is_known(&s.task.project_id, &draft).await?
        {
            known += 1;
            continue;
        }
        rows.push(LessonRow {
            id: world.new_id(),
            project_id: s.task.project_id.clone(),
            task_id: Some(s.task.id.clone()),
            task_number: Some(s.task.number),
            execution_id: Some(run.id),
            draft,
            status: LessonStatus::Proposed,
            landing: None,
            created_at: world.now(),
            decided_at: None,
        });
    }
    Ok((known, rows))
}

/// Reads what a run proposes out of its log.
async fn proposals_of(world: &World, s: &Stepping, run: &Execution) -> Result<Proposals> {
    let dir = world.log_dir(&s.task.project_id, &run.task_id);
    let log = run.log_id.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut reader = LessonReader::default();
        match LogReader::each(&dir, &log, |entry| reader.hear(entry)) {
            // A run that said nothing may have left no log.
            Ok(()) | Err(LogError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok::<_, LogError>(reader.finish())
    });
    let read = read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))?;
    Ok(read?)
}

/// Proposals that are kept with the end of the step which found them.
struct Taught {
    context: Arc<ProjectContext>,
    lessons: Vec<LessonRow>,
    end: End,
}

fn taught(s: &Stepping, lessons: Vec<LessonRow>, remark: String) -> End {
    End::Found(Arc::new(Taught { context: Arc::clone(&s.context), lessons, end: End::Ok(Some(remark)) }))
}

#[async_trait]
impl Finding for Taught {
    async fn decide(&self, world: &World, tx: &mut Tx, _: &mut Stepping, _: &mut Vec<Effect>) -> Result<End> {
        keep_lessons(world, tx, &self.context, &self.lessons).await?;
        Ok(self.end.clone())
    }

    fn end(&self) -> Option<&End> {
        Some(&self.end)
    }
}

/// Keeps proposals, in the transaction that ends the step which found them.
async fn keep_lessons(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    rows: &[LessonRow],
) -> Result<()> {
    let mut new = 0;
    for row in rows {
        new += usize::from(tx.lessons_mut().propose(row).await?);
    }
    if new > 0 {
        knowledge_changed(world, tx, context, "proposed").await?;
    }
    Ok(())
}

/// Tells that what the project knows, or was told, changed.
pub(crate) async fn knowledge_changed(
    world: &World,
    tx: &mut Tx,
    context: &ProjectContext,
    what: &str,
) -> Result<()> {
    let project = &context.project.id;
    let facts = json!({ "change": "knowledge", "knowledge": what });
    tx.emit(EventType::ProjectChanged, world.now(), Some(project), None, project.as_str(), &facts).await?;
    Ok(())
}
