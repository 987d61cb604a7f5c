//! Drafted fixes of a race that nobody won: one for each entry whose check failed, proposed for the raced task. Each
//! fits the work of its entry alone: it can be applied once that is crowned.

use forge_model::fix::FixDraft;
use forge_model::ids::TaskId;
use forge_model::race::Race;
use forge_store::table::{reviews, tasks, workspaces};

use crate::{Engine, context::ProjectContext, error::Result};

impl Engine {
    /// What is to be drafted; of an entry that is no case for a small local patch, nothing is.
    pub(crate) async fn plan_drafts_of_race(&self, project: &ProjectContext, race: &Race) -> Vec<FixDraft> {
        let mut drafts = Vec::new();
        for entry in &race.entries {
            match self.draft_of_entry(project, race, &entry.task_id).await {
                Ok(draft) => drafts.extend(draft),
                // A race ends without a winner, whatever becomes of a proposal.
                Err(error) => {
                    let name = &entry.strategy;
                    tracing::warn!(task = %race.task_id, %name, %error, "failed to see whether a fix can be drafted");
                }
            }
        }
        drafts
    }

    async fn draft_of_entry(
        &self,
        project: &ProjectContext,
        race: &Race,
        entry: &TaskId,
    ) -> Result<Option<FixDraft>> {
        let (task, review, workspace) = {
            let mut conn = self.store().read().await?;
            let task = tasks::get(&mut conn, entry).await?;
            (task, reviews::last(&mut conn, entry).await?, workspaces::last(&mut conn, entry).await?)
        };
        let (Some(task), Some(review), Some(workspace)) = (task, review, workspace) else { return Ok(None) };
        let failed = |step: &&forge_model::review::ReviewStep| step.finished && step.exit_code != Some(0);
        let Some(check) = review.steps.iter().find(failed) else { return Ok(None) };
        let context = project.for_entries()?;
        let draft = self.look_for_draft((&context, &task), &review, &workspace, check).await?;
        Ok(draft.map(|draft| FixDraft { task_id: race.task_id.clone(), ..draft }))
    }
}
