//! Public methods of [`Engine`] for lessons and postmortems.

use forge_model::debrief::Debrief;
use forge_model::ids::LessonId;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::knowledge::Lesson;
use forge_model::lesson::LessonDraft;
use forge_model::lesson::LessonStatus;
use forge_model::lesson::LessonView;

use crate::{
    Engine,
    error::Result,
    knowledge::{
        self,
        command::{LessonEdit, LessonPage},
    },
};

impl Engine {
    /// Lessons of a project: those that wait for a person, newest first, then those that the branch keeps, by
    /// file; with `status`, those alone.
    ///
    /// # Errors
    /// `NotFound` for the project, `Invalid` for a cursor that is none.
    pub async fn lessons(
        &self,
        project: &ProjectId,
        status: Option<LessonStatus>,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<LessonPage> {
        knowledge::command::lessons(&self.world, project, status, cursor, limit).await
    }

    /// Proposes a lesson that no run proposed.
    ///
    /// # Errors
    /// `Invalid` with what is wrong with it, `NameTaken` when the same was proposed before.
    pub async fn propose_lesson(&self, project: &ProjectId, draft: LessonDraft) -> Result<LessonView> {
        knowledge::command::propose_lesson(&self.world, project, draft).await
    }

    /// Adds a lesson to the repository, as it was proposed or as a person has edited it. One that was
    /// dismissed may be accepted after all; one that is accepted stays as it is.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` with what is wrong with the text, `TargetCheckoutDirty` with the files when local
    /// changes are in the way, `LessonNeedsPullRequest` with its file where work goes by pull requests.
    pub async fn accept_lesson(
        &self,
        project: &ProjectId,
        id: &LessonId,
        edit: LessonEdit,
    ) -> Result<LessonView> {
        knowledge::command::accept_lesson(&self.world, project, id, edit).await
    }

    /// Leaves a lesson out. One that was dismissed already stays so.
    ///
    /// # Errors
    /// `NotFound`, `LessonDecided` when the repository keeps it.
    pub async fn dismiss_lesson(&self, project: &ProjectId, id: &LessonId) -> Result<LessonView> {
        knowledge::command::dismiss_lesson(&self.world, project, id).await
    }

    /// The lessons of a project that a text finds, the best first.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` for a text without a word to search for.
    pub async fn search_lessons(&self, id: &ProjectId, text: &str, limit: u32) -> Result<Vec<Lesson>> {
        knowledge::search::search_lessons(&self.world, id, text, limit).await
    }

    /// What a task left behind.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn debrief(&self, id: &TaskId) -> Result<Debrief> {
        knowledge::teaching::debrief(&self.world, id).await
    }
}
