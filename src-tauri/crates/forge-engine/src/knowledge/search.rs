//! Full-text search of the lessons on a branch (FTS5). The index is made again when the content of the lessons'
//! folder differs from what it was made from.

use forge_git::Repo;
use forge_model::ids::ProjectId;
use forge_model::knowledge::{Document, FOLDER, Lesson, query};
use forge_store::table::lesson_index::IndexedLesson;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext},
    error::Result,
};

/// The longest text that people search with, in characters.
const MAX_TEXT: usize = 500;

/// The lessons of a project that a text finds, the best first.
pub(crate) async fn search_lessons(
    world: &World,
    id: &ProjectId,
    text: &str,
    limit: u32,
) -> Result<Vec<Lesson>> {
    if text.chars().count() > MAX_TEXT {
        return Err(EngineError::invalid("q", format!("must be at most {MAX_TEXT} characters")));
    }
    if query(text).is_none() {
        return Err(EngineError::invalid("q", "must contain a word of at least three letters"));
    }
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    find_lessons(world, &context, &context.usual_target(), text, limit).await
}

/// The lessons of a branch that a text finds, the best first.
pub(crate) async fn find_lessons(
    world: &World,
    context: &ProjectContext,
    target: &str,
    text: &str,
    limit: u32,
) -> Result<Vec<Lesson>> {
    index_lessons(world, context, target).await?;
    let Some(query) = query(text) else { return Ok(Vec::new()) };
    let mut conn = world.store().read().await?;
    Ok(conn.lesson_index().search(&context.project.id, target, &query, limit).await?)
}

/// Brings the index of a branch up to date.
async fn index_lessons(world: &World, context: &ProjectContext, target: &str) -> Result<()> {
    let repo = core::repository::repo(world, context).await?;
    let commit = repo.resolve(&format!("refs/heads/{target}")).await?;
    let version = match &commit {
        Some(commit) => repo.version_at(commit, FOLDER).await?,
        None => None,
    };
    let version = version.unwrap_or_default();
    let project = &context.project.id;
    let known = world.store().read().await?.lesson_index().version(project, target).await?;
    if known.as_deref() == Some(version.as_str()) {
        return Ok(());
    }
    let kept = match &commit {
        Some(commit) if !version.is_empty() => kept_lessons(&repo, commit).await?,
        Some(_) | None => Vec::new(),
    };
    let indexed = |(path, text): (String, String)| IndexedLesson {
        lesson: Lesson::of(&path, &text),
        description: Document::read(&path, &text).lesson.body,
    };
    let lessons: Vec<IndexedLesson> = kept.into_iter().map(indexed).collect();
    let mut tx = world.store().write().await?;
    tx.lesson_index_mut().replace((project, target), &version, &lessons).await?;
    Ok(tx.commit().await?)
}

/// Every lesson's file as a commit has it, with its text.
pub(crate) async fn kept_lessons(repo: &Repo, commit: &str) -> Result<Vec<(String, String)>> {
    let mut lessons = Vec::new();
    for path in lesson_files(repo, commit).await?.into_iter().take(MAX_FILES) {
        if let Some(text) = lesson_text(repo, commit, &path).await? {
            lessons.push((path, text));
        }
    }
    Ok(lessons)
}

/// How many files are looked at.
pub(crate) const MAX_FILES: usize = 500;

/// The paths of a commit's lessons, in order.
pub(crate) async fn lesson_files(repo: &Repo, commit: &str) -> Result<Vec<String>> {
    let mut files = repo.files_under(commit, FOLDER).await?;
    files.retain(|path| path.ends_with(".md"));
    Ok(files)
}

/// The text of one; none when it is too long to be one.
pub(crate) async fn lesson_text(repo: &Repo, commit: &str, path: &str) -> Result<Option<String>> {
    match repo.file_at(commit, path, MAX_FILE_BYTES).await {
        Ok(text) => Ok(text.map(|text| String::from_utf8_lossy(&text).into_owned())),
        Err(forge_git::GitError::TooLarge { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A file longer than this is no lesson.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024;
