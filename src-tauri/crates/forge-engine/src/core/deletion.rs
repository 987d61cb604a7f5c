//! Permission to delete old data: a person is asked before more than half of anything is deleted.

use forge_model::retention::{Bounds, Counts, Deletion, decide};
use forge_model::storage::RetentionQuestion;
use forge_model::time::Timestamp;

use crate::{World, core::disk::Storage, error::Result};

/// What is known of a deletion before it is decided on.
pub(crate) struct Asked {
    kind: String,
    known: Option<RetentionQuestion>,
    /// What may go.
    pub(crate) bounds: Bounds,
}

/// What is known of a deletion of a kind of things that were made up to a time, and the bounds that follow from it.
pub(crate) async fn question_of(world: &World, kind: &str, until: Timestamp) -> Result<Asked> {
    let known = world.store().read().await?.retention().get(kind).await?;
    Ok(Asked { kind: kind.to_owned(), bounds: Bounds::new(known.as_ref(), until), known })
}

/// Whether what may go within the bounds is to be deleted now. Asks a person where the rules say so.
pub(crate) async fn may_delete(world: &World, asked: &Asked, counts: Counts) -> Result<bool> {
    let Asked { kind, known, bounds } = asked;
    let decided = decide(known.as_ref(), counts);
    if matches!(decided, Deletion::None | Deletion::Do) {
        return Ok(decided == Deletion::Do);
    }
    let mut tx = world.store().write().await?;
    if tx.retention().get(kind).await? != *known {
        // Answered meanwhile: the sweep that the answer asks for decides.
        return Ok(false);
    }
    if let Deletion::Ask(doomed) = decided {
        tx.retention_mut().ask((kind, doomed, counts.total), bounds.until, world.now()).await?;
    } else {
        tx.retention_mut().forget(kind).await?;
    }
    tx.commit().await?;
    storage_changed(world);
    if let Deletion::Ask(doomed) = decided
        && known.as_ref().is_none_or(|question| question.answer.is_some())
    {
        let total = counts.total;
        tracing::warn!(kind, doomed, total, "more than half would be deleted: a person is asked first");
    }
    Ok(decided == Deletion::DoAndForget)
}

/// Tells windows that what they show of storage is out of date.
pub(crate) fn storage_changed(world: &World) {
    world.part::<Storage>().touch();
}
