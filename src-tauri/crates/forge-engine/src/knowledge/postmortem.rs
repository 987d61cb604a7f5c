//! Postmortems: reads what is stored about a task, and records the postmortem that `policy.rs` makes of it.

use forge_model::event::EventType;
use forge_model::ids::ReviewId;
use forge_model::postmortem::{Postmortem, PostmortemCause};
use forge_model::review::Review;
use forge_store::table::tasks::TaskRow;
use forge_store::{ReadConnection, Tx};
use serde_json::json;

use crate::{
    World,
    core::{self, lineage::is_entry},
    error::Result,
    export,
    knowledge::policy::{EntryFacts, Facts, Occasion, postmortem},
};

/// Writes down how a review failed, unless a small local fix is drafted for it or a person sent the work back.
pub(crate) async fn record_gate_failure(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    review: &Review,
) -> Result<()> {
    let by_person = review.decided_by.as_ref().is_some_and(forge_model::actor::Actor::is_user);
    if by_person || tx.fixes().draft_of(&review.id).await?.is_some() {
        return Ok(());
    }
    record_postmortem(world, tx, task, PostmortemCause::GateFailed, Some(&review.id)).await.map(drop)
}

/// Writes a task's postmortem, where its project wants that. What an entry of a race went through is in the
/// raced task's.
pub(crate) async fn record_postmortem(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    cause: PostmortemCause,
    review: Option<&ReviewId>,
) -> Result<Option<Postmortem>> {
    if is_entry(task)
        || !core::contexts::context_of(world, tx, task).await?.settings.inner_loop.postmortem.enabled
    {
        return Ok(None);
    }
    let facts = facts_of(tx, task).await?;
    if facts.runs.is_empty() && facts.entries.is_empty() {
        return Ok(None);
    }
    let earlier = tx.postmortems().of_task(&task.id).await?;
    let number = earlier.last().map_or(1, |last| last.number + 1);
    let occasion = Occasion { number, cause, review_id: review.cloned(), at: world.now() };
    let record = postmortem(&facts, occasion);
    if !tx.postmortems_mut().insert(&record).await? {
        return Ok(None);
    }
    let told = json!({ "postmortem": number, "cause": cause });
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &told).await?;
    // Whoever exports waits for this transaction's end by wanting one, too.
    export::export_later(world);
    Ok(Some(record))
}

/// What is known of a task and of the entries of its races.
async fn facts_of(conn: &mut ReadConnection, task: &TaskRow) -> Result<Facts> {
    let mut entries = Vec::new();
    for race in conn.races().list(&task.id).await? {
        for entry in race.entries {
            let (reviews, runs) = judged_and_run(conn, &entry.task_id).await?;
            entries.push(EntryFacts { race: race.number, entry, reviews, runs });
        }
    }
    // Numbers and titles change while the task is worked on.
    let task = conn.tasks().get(&task.id).await?.unwrap_or_else(|| task.clone());
    let (reviews, runs) = judged_and_run(conn, &task.id).await?;
    let worktree = conn.workspaces().last(&task.id).await?.map(|it| it.path).unwrap_or_default();
    Ok(Facts {
        task_id: task.id,
        task_number: task.number,
        title: task.title,
        state: task.status,
        worktree,
        reviews,
        runs,
        entries,
    })
}

async fn judged_and_run(
    conn: &mut ReadConnection,
    task: &forge_model::ids::TaskId,
) -> Result<(Vec<Review>, Vec<forge_model::execution::Execution>)> {
    let runs = conn.executions().list(task).await?.into_iter().map(|row| row.execution).collect();
    Ok((conn.reviews().list(task).await?, runs))
}
