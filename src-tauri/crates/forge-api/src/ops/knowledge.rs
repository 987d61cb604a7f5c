//! What a project has learned, and what its agents propose to add.

use forge_engine::LessonEdit;
use forge_model::actor::Actor;
use forge_model::ids::{LessonId, ProjectId};
use forge_model::knowledge::Lesson;
use forge_model::lesson::{LessonDraft, LessonStatus, LessonView};

use super::{Page, input, limit};
use crate::{Api, ApiError, paging::PageRange};

input! {
    /// Which lessons to list.
    pub struct ListKnowledge {
        /// The project.
        pub project_id: ProjectId,
        /// Only lessons of this status; when absent, proposed ones and those on the branch.
        #[serde(default)]
        pub status: Option<LessonStatus>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
    }

    /// A search in the lessons of a project.
    pub struct SearchKnowledge {
        /// The project.
        pub project_id: ProjectId,
        /// Search terms; a lesson matches if it has one of them.
        pub q: String,
        /// Page size, 1 to 200; 50 when absent.
        #[serde(default)]
        pub limit: Option<u32>,
        /// Cursor from the previous page's `next_cursor`.
        #[serde(default)]
        pub cursor: Option<String>,
    }

    /// A lesson to propose.
    pub struct ProposeLesson {
        /// The project.
        pub project_id: ProjectId,
        /// Title, 1 to 120 characters.
        pub title: String,
        /// Text, Markdown of at most 8 KiB.
        pub body: String,
        /// Files and folders that the lesson applies to.
        #[serde(default)]
        pub paths: Option<Vec<String>>,
    }

    /// A lesson to accept, as proposed or edited.
    pub struct AcceptLesson {
        /// The project.
        pub project_id: ProjectId,
        /// The lesson.
        pub lesson_id: LessonId,
        /// New title.
        #[serde(default)]
        pub title: Option<String>,
        /// New text.
        #[serde(default)]
        pub body: Option<String>,
        /// New paths.
        #[serde(default)]
        pub paths: Option<Vec<String>>,
    }

    /// A lesson.
    pub struct LessonPath {
        /// The project.
        pub project_id: ProjectId,
        /// The lesson.
        pub lesson_id: LessonId,
    }
}

pub(crate) async fn list(api: Api, _: Actor, asked: ListKnowledge) -> Result<Page<LessonView>, ApiError> {
    let limit = limit(asked.limit)?;
    let page = api.engine().lessons(&asked.project_id, asked.status, asked.cursor.as_deref(), limit).await?;
    Ok(Page { items: page.items, next_cursor: page.next_cursor })
}

pub(crate) async fn search(api: Api, _: Actor, asked: SearchKnowledge) -> Result<Page<Lesson>, ApiError> {
    let range = PageRange::asked(asked.limit, asked.cursor.as_deref())?;
    Ok(range.of(api.engine().search_lessons(&asked.project_id, &asked.q, range.reach()).await?))
}

pub(crate) async fn propose(api: Api, _: Actor, new: ProposeLesson) -> Result<LessonView, ApiError> {
    let ProposeLesson { project_id, title, body, paths } = new;
    let draft = LessonDraft { title, body, paths: paths.unwrap_or_default() };
    Ok(api.engine().propose_lesson(&project_id, draft).await?)
}

pub(crate) async fn accept(api: Api, _: Actor, accept: AcceptLesson) -> Result<LessonView, ApiError> {
    let AcceptLesson { project_id, lesson_id, title, body, paths } = accept;
    Ok(api.engine().accept_lesson(&project_id, &lesson_id, LessonEdit { title, body, paths }).await?)
}

pub(crate) async fn dismiss(api: Api, _: Actor, path: LessonPath) -> Result<LessonView, ApiError> {
    Ok(api.engine().dismiss_lesson(&path.project_id, &path.lesson_id).await?)
}
