//! What a project has learned: Markdown files that its target branch keeps, told to the agent whose task
//! they fit.

use forge_model::knowledge::{FOLDER, Lesson, fitting};
use forge_model::transition::StepStatus;
use forge_model::workflow::Action;
use forge_store::table::steps;

use super::{End, Stepping, dispatch::corrupt_step};
use crate::{Engine, error::Result, transition::Carry};

/// A file longer than this is no lesson.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// How many files are looked at.
const MAX_FILES: usize = 500;

impl Engine {
    /// Gives the agent that is about to be started what fits its task.
    pub(super) async fn inject_knowledge(&self, s: &Stepping) -> Result<End> {
        let all = self.lessons(s).await?;
        if all.is_empty() {
            return Ok(End::skipped(format!("the target branch keeps no lessons under {FOLDER}")));
        }
        let known = all.len();
        let lessons = fitting(all, &s.task.title, &s.task.description);
        if lessons.is_empty() {
            return Ok(End::skipped(format!("none of the {known} lessons fits the task")));
        }
        let told = lessons.iter().map(|lesson| lesson.path.as_str()).collect::<Vec<_>>().join(", ");
        let mut tx = self.store().write().await?;
        let open = steps::open(&mut tx, &s.task.id).await?;
        let dispatch = open.into_iter().find(|step| {
            step.action == Some(Action::DispatchRoleAgent) && step.status == StepStatus::Pending
        });
        let Some(mut dispatch) = dispatch else {
            return Ok(End::skipped("no agent is about to be started"));
        };
        let carry = dispatch.params.take().map(serde_json::from_value::<Carry>).transpose();
        let carry = Carry { lessons, ..carry.map_err(corrupt_step)?.unwrap_or_default() };
        dispatch.params = Some(serde_json::to_value(&carry).map_err(corrupt_step)?);
        steps::update(&mut tx, &dispatch).await?;
        tx.commit().await?;
        Ok(End::Ok(Some(told)))
    }

    /// Keeps what the finished task taught.
    pub(super) async fn capture_knowledge(&self, _: &Stepping) -> Result<End> {
        Ok(End::skipped("no lesson was proposed"))
    }

    /// Every lesson as the target branch has it now.
    async fn lessons(&self, s: &Stepping) -> Result<Vec<Lesson>> {
        let repo = self.repo(&s.context).await?;
        let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
        let Some(commit) = repo.resolve(&target).await? else { return Ok(Vec::new()) };
        let mut lessons = Vec::new();
        for path in repo.files_under(&commit, FOLDER).await?.into_iter().take(MAX_FILES) {
            if !path.ends_with(".md") {
                continue;
            }
            match repo.file_at(&commit, &path, MAX_FILE_BYTES).await {
                Ok(Some(text)) => lessons.push(Lesson::of(&path, &String::from_utf8_lossy(&text))),
                Ok(None) | Err(forge_git::GitError::TooLarge { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(lessons)
    }
}
