//! Who wrote the text of a task: prompts fence what comes from issues of others.

use forge_prompt::layers::Foreign;
use forge_store::table::{issue_sources::IssueSourceRow, tasks::TaskRow};

use crate::{World, core::lineage::is_entry, error::Result};

/// The issue of others that the text of a task comes from; none for a text of the user. Entries of a race have that of
/// the raced task.
pub(crate) async fn source_of_text(world: &World, task: &TaskRow) -> Result<Option<IssueSourceRow>> {
    let of = task.parent_id.as_ref().filter(|_| is_entry(task)).unwrap_or(&task.id);
    let source = world.store().read().await?.issue_sources().get(of).await?;
    Ok(source.filter(|source| source.kind.is_foreign()))
}

/// What prompts say of it.
pub(crate) fn foreign(source: &IssueSourceRow) -> Foreign<'_> {
    Foreign { name: &source.name, comments: &source.comments }
}
