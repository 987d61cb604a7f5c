//! What people do about lessons: looking at them, proposing one by hand, accepting and dismissing.
//!
//! Accepting one is a commit on the target branch that adds its file. It lands as a merge does: made without a
//! checkout, written as an intent, moved by compare and swap or by one fast-forward; local changes in the way refuse
//! it, and nothing has moved. After a kill, git tells what became of it. The branch is the source of accepted
//! lessons; the rows say where each came from.

use forge_git::{Landing as Landed, Repo};
use forge_model::ids::{LessonId, ProjectId};
use forge_model::knowledge::{Document, FOLDER};
use forge_model::lesson::{LessonDraft, LessonStatus, LessonView};
use forge_model::project::WorkMode;
use forge_model::time::Timestamp;
use forge_store::table::lessons::{Landing, LessonRow};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        context::{ProjectContext, slug},
    },
    error::Result,
    knowledge::search::{lesson_files, lesson_text},
    merge::step::{ATTEMPTS, turn_at},
};

/// The longest name of a lesson's file, without its number and its ending, in bytes.
const SLUG_BYTES: usize = 60;
/// How many names are tried.
const NAMES: u32 = 1000;
/// What stands before the place in a list's cursor, by its part.
const OF_ROWS: &str = "row:";
const OF_FILES: &str = "file:";

/// A page of lessons.
#[derive(Debug, Clone)]
pub struct LessonPage {
    /// The lessons.
    pub items: Vec<LessonView>,
    /// Where the next page begins; none when this is the last.
    pub next_cursor: Option<String>,
}

/// What a person changes of a lesson before it is kept.
#[derive(Debug, Clone, Default)]
pub struct LessonEdit {
    /// What it is about.
    pub title: Option<String>,
    /// What was learned.
    pub body: Option<String>,
    /// Files and folders that it applies to.
    pub paths: Option<Vec<String>>,
}

/// Where a page begins.
enum Begin {
    Row(Option<(Timestamp, LessonId)>),
    File(Option<String>),
}

/// Lessons of a project: those that wait for a person, newest first, then those that the branch keeps, by
/// file; with `status`, those alone.
pub(crate) async fn lessons(
    world: &World,
    project: &ProjectId,
    status: Option<LessonStatus>,
    cursor: Option<&str>,
    limit: u32,
) -> Result<LessonPage> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    let mut from = match (cursor.map(parse_cursor).transpose()?, status) {
        (Some(from), _) => from,
        (None, Some(LessonStatus::Accepted)) => Begin::File(None),
        (None, _) => Begin::Row(None),
    };
    let room = limit as usize;
    let mut items = Vec::new();
    if let Begin::Row(after) = &from {
        let wanted = status.unwrap_or(LessonStatus::Proposed);
        let after = after.as_ref().map(|(at, id)| (*at, id));
        let mut conn = world.store().read().await?;
        let mut rows = conn.lessons().list(project, wanted, after, limit + 1).await?;
        let more = rows.len() > room;
        rows.truncate(room);
        let last = rows.last().filter(|_| more);
        let next = last.map(|last| format!("{OF_ROWS}{}:{}", last.created_at.0, last.id));
        items.extend(rows.iter().map(shown));
        if next.is_some() || status.is_some() {
            return Ok(LessonPage { items, next_cursor: next });
        }
        from = Begin::File(None);
    }
    if let Begin::File(after) = from {
        let (kept, next_cursor) = kept(world, &context, after.as_deref(), room - items.len()).await?;
        items.extend(kept);
        return Ok(LessonPage { items, next_cursor });
    }
    Ok(LessonPage { items, next_cursor: None })
}

/// Proposes a lesson that no run proposed.
pub(crate) async fn propose_lesson(
    world: &World,
    project: &ProjectId,
    draft: LessonDraft,
) -> Result<LessonView> {
    let draft = checked(draft)?;
    let mut tx = world.store().write().await?;
    let context = core::contexts::context(world, &mut tx, project).await?;
    let row = LessonRow {
        id: world.new_id(),
        project_id: project.clone(),
        task_id: None,
        task_number: None,
        execution_id: None,
        draft,
        status: LessonStatus::Proposed,
        landing: None,
        created_at: world.now(),
        decided_at: None,
    };
    if !tx.lessons_mut().propose(&row).await? {
        return Err(EngineError::conflict(ConflictCode::NameTaken, "the same lesson was proposed before"));
    }
    super::step::knowledge_changed(world, &mut tx, &context, "proposed").await?;
    tx.commit().await?;
    Ok(shown(&row))
}

/// Adds a lesson to the repository, as it was proposed or as a person has edited it. One that was
/// dismissed may be accepted after all; one that is accepted stays as it is.
pub(crate) async fn accept_lesson(
    world: &World,
    project: &ProjectId,
    id: &LessonId,
    edit: LessonEdit,
) -> Result<LessonView> {
    let (beside, project, id) = (world.clone(), project.clone(), id.clone());
    // To the end, also when nobody waits for the answer.
    let work =
        world.inner.tracker.spawn(async move { accept_to_the_end(&beside, &project, &id, edit).await });
    work.await.map_err(|error| EngineError::io("accept a lesson")(std::io::Error::other(error)))?
}

/// Leaves a lesson out. One that was dismissed already stays so.
pub(crate) async fn dismiss_lesson(world: &World, project: &ProjectId, id: &LessonId) -> Result<LessonView> {
    let (_, context) = lesson(world, project, id).await?;
    let (repo, target) = (core::repository::repo(world, &context).await?, context.usual_target());
    let _turn = turn_at(&repo, &target).await;
    let mut row = resolved_lesson(world, &repo, project, id).await?;
    match row.status {
        LessonStatus::Dismissed => {}
        LessonStatus::Proposed => {
            row.status = LessonStatus::Dismissed;
            row.decided_at = Some(world.now());
            write_lesson(world, &row, Some((&context, "dismissed"))).await?;
        }
        LessonStatus::Accepted => {
            let file = row.landing.as_ref().map(|landing| landing.file.as_str()).unwrap_or_default();
            let message = format!("the lesson is accepted: delete {file} to remove it");
            return Err(EngineError::conflict(ConflictCode::LessonDecided, message));
        }
    }
    Ok(shown(&row))
}

/// The lessons that the branch keeps, by file.
async fn kept(
    world: &World,
    context: &ProjectContext,
    after: Option<&str>,
    room: usize,
) -> Result<(Vec<LessonView>, Option<String>)> {
    let repo = core::repository::repo(world, context).await?;
    let target = context.usual_target();
    let Some(commit) = repo.resolve(&format!("refs/heads/{target}")).await? else {
        return Ok((Vec::new(), None));
    };
    let mut files = lesson_files(&repo, &commit).await?;
    files.sort();
    files.retain(|file| after.is_none_or(|after| file.as_str() > after));
    let next = (files.len() > room).then(|| {
        format!(
            "{OF_FILES}{}",
            room.checked_sub(1).and_then(|last| files.get(last)).map_or("", String::as_str)
        )
    });
    files.truncate(room);
    let rows = match files.as_slice() {
        [] => Vec::new(),
        files => {
            let mut conn = world.store().read().await?;
            conn.lessons().of_files(&context.project.id, &target, files).await?
        }
    };
    let mut views = Vec::new();
    for file in files {
        let Some(text) = lesson_text(&repo, &commit, &file).await? else { continue };
        let of_file = |row: &&LessonRow| row.landing.as_ref().is_some_and(|landing| landing.file == file);
        views.push(in_branch(&file, &text, rows.iter().rfind(of_file)));
    }
    Ok((views, next))
}

async fn accept_to_the_end(
    world: &World,
    project: &ProjectId,
    id: &LessonId,
    edit: LessonEdit,
) -> Result<LessonView> {
    let (row, context) = lesson(world, project, id).await?;
    let draft = checked(LessonDraft {
        title: edit.title.unwrap_or(row.draft.title),
        body: edit.body.unwrap_or(row.draft.body),
        paths: edit.paths.unwrap_or(row.draft.paths),
    })?;
    let (repo, target) = (core::repository::repo(world, &context).await?, context.usual_target());
    let _turn = turn_at(&repo, &target).await;
    let mut row = resolved_lesson(world, &repo, project, id).await?;
    if row.status == LessonStatus::Accepted {
        return as_kept(&repo, &row).await;
    }
    let document = Document { lesson: draft, task: row.task_number };
    if context.project.work_mode == WorkMode::PullRequest {
        return Err(by_pull_request(world, &repo, &context, &target, &document).await?);
    }
    for _ in 0..ATTEMPTS {
        let (landing, before) = commit_of_lesson(world, &repo, &context, &target, &document).await?;
        row.landing = Some(landing.clone());
        write_lesson(world, &row, None).await?;
        world.point("lesson.intended");
        match repo.land(&target, &landing.commit, &before, "forge: accept a lesson").await? {
            Landed::Landed => {
                world.point("lesson.landed");
                return accepted(world, &repo, &context, row).await;
            }
            Landed::Moved { .. } => {}
            refused => return Err(not_landed(world, row, refused).await?),
        }
    }
    row.landing = None;
    write_lesson(world, &row, None).await?;
    let message = format!("{target} changed {ATTEMPTS} times while the lesson was added: try again");
    Err(EngineError::conflict(ConflictCode::TargetUnstable, message))
}

/// Where work reaches the target by pull requests alone, nothing is put on the local branch, where it would
/// never get to the host: the lesson stays proposed, and its file is given to be added to one.
async fn by_pull_request(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    target: &str,
    document: &Document,
) -> Result<EngineError> {
    let (Landing { file, .. }, _) = commit_of_lesson(world, repo, context, target, document).await?;
    let message = format!(
        "the project merges to {target} by pull requests: add {file} to one, then dismiss the proposal"
    );
    Ok(EngineError::Conflict {
        code: ConflictCode::LessonNeedsPullRequest,
        message,
        details: json!({ "file": file, "text": document.render() }),
    })
}

/// The commit that adds a lesson under the first free name, and what it stands on.
async fn commit_of_lesson(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    target: &str,
    document: &Document,
) -> Result<(Landing, String)> {
    let tip = repo.resolve(&format!("refs/heads/{target}")).await?;
    let tip = tip.ok_or_else(|| EngineError::not_found("branch", target))?;
    let of_task = document.task.map(|number| format!(" (#{number})")).unwrap_or_default();
    let message =
        core::redaction::redacted_in(world, context, format!("Lesson: {}{of_task}", document.lesson.title));
    let author = context.settings.author.as_ref();
    let author = author.map(|author| (author.name.as_str(), author.email.as_str()));
    // Names that differ in case alone are one file on some disks.
    let taken: Vec<String> = lesson_files(repo, &tip).await?.iter().map(|file| file.to_lowercase()).collect();
    let title = &document.lesson.title;
    let is_plain = title.chars().any(|c| c.is_ascii_alphanumeric());
    let name = slug(if is_plain { title } else { "lesson" }, SLUG_BYTES);
    for number in 1..=NAMES {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let file = format!("{FOLDER}/{name}{number}.md");
        if taken.contains(&file) {
            continue;
        }
        let made = repo.commit_new_file(&tip, &file, &document.render(), &message, author).await?;
        if let Some(commit) = made {
            return Ok((Landing { target: target.to_owned(), file, commit }, tip));
        }
    }
    let message = format!("{NAMES} lessons have the name `{name}`: change the title");
    Err(EngineError::conflict(ConflictCode::NameTaken, message))
}

/// Takes an intent back, and says what was in the way.
async fn not_landed(world: &World, mut row: LessonRow, why: Landed) -> Result<EngineError> {
    row.landing = None;
    write_lesson(world, &row, None).await?;
    Ok(match why {
        Landed::CheckoutInTheWay { worktree, files } => {
            let place = worktree.display();
            let message = if files.is_empty() {
                format!("a merge or rebase is in progress in the checkout {place}")
            } else {
                format!("local changes in {place} are in the way: {}", files.join(", "))
            };
            EngineError::Conflict {
                code: ConflictCode::TargetCheckoutDirty,
                message,
                details: json!({ "worktree": worktree, "files": files }),
            }
        }
        Landed::IndexLocked { path, holder } => forge_git::GitError::IndexLocked { path, holder }.into(),
        Landed::Landed | Landed::Moved { .. } => {
            EngineError::conflict(ConflictCode::TargetUnstable, "the branch changed: try again")
        }
    })
}

/// Settles, at start, what was about to land when Forge ended.
pub(crate) fn recover_lessons(world: &World) {
    let world = world.clone();
    core::guarded::in_background(&world.clone(), async move {
        let settle = async {
            let rows = world.store().read().await?.lessons().landing().await?;
            for row in rows {
                let context =
                    core::contexts::context(&world, &mut *world.store().read().await?, &row.project_id)
                        .await?;
                let repo = core::repository::repo(&world, &context).await?;
                let _turn = turn_at(&repo, &context.usual_target()).await;
                resolved_lesson(&world, &repo, &row.project_id, &row.id).await?;
            }
            Ok::<_, EngineError>(())
        };
        if let Err(error) = settle.await {
            tracing::warn!(%error, "failed to settle lessons that were about to land; it is done when one is accepted");
        }
    });
}

/// A lesson of a project.
async fn lesson(
    world: &World,
    project: &ProjectId,
    id: &LessonId,
) -> Result<(LessonRow, std::sync::Arc<ProjectContext>)> {
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, project).await?;
    let row = conn.lessons().get(id).await?.filter(|row| row.project_id == *project);
    Ok((row.ok_or_else(|| EngineError::not_found("lesson", id))?, context))
}

/// A lesson without an open intent: the branch says whether it has landed.
async fn resolved_lesson(
    world: &World,
    repo: &Repo,
    project: &ProjectId,
    id: &LessonId,
) -> Result<LessonRow> {
    let (mut row, context) = lesson(world, project, id).await?;
    if row.status != LessonStatus::Proposed {
        return Ok(row);
    }
    let Some(landing) = row.landing.clone() else { return Ok(row) };
    if has_landed(repo, &landing).await? {
        row.status = LessonStatus::Accepted;
        row.decided_at = Some(world.now());
        write_lesson(world, &row, Some((&context, "accepted"))).await?;
    } else {
        row.landing = None;
        write_lesson(world, &row, None).await?;
    }
    Ok(row)
}

async fn accepted(
    world: &World,
    repo: &Repo,
    context: &ProjectContext,
    mut row: LessonRow,
) -> Result<LessonView> {
    row.status = LessonStatus::Accepted;
    row.decided_at = Some(world.now());
    write_lesson(world, &row, Some((context, "accepted"))).await?;
    as_kept(repo, &row).await
}

/// An accepted lesson as its commit says it.
async fn as_kept(repo: &Repo, row: &LessonRow) -> Result<LessonView> {
    let Some(landing) = &row.landing else { return Ok(shown(row)) };
    let text = lesson_text(repo, &landing.commit, &landing.file).await?;
    Ok(text.map_or_else(|| shown(row), |text| in_branch(&landing.file, &text, Some(row))))
}

async fn write_lesson(world: &World, row: &LessonRow, told: Option<(&ProjectContext, &str)>) -> Result<()> {
    let mut tx = world.store().write().await?;
    tx.lessons_mut().update(row).await?;
    if let Some((context, what)) = told {
        super::step::knowledge_changed(world, &mut tx, context, what).await?;
    }
    tx.commit().await?;
    Ok(())
}

async fn has_landed(repo: &Repo, landing: &Landing) -> Result<bool> {
    let target = format!("refs/heads/{}", landing.target);
    if repo.resolve(&landing.commit).await?.is_none() || repo.resolve(&target).await?.is_none() {
        return Ok(false);
    }
    Ok(repo.is_ancestor(&landing.commit, &target).await?)
}

fn checked(draft: LessonDraft) -> Result<LessonDraft> {
    let draft = draft.tidied();
    let findings = draft.findings();
    if findings.is_empty() { Ok(draft) } else { Err(EngineError::Invalid(findings)) }
}

/// A proposal as it was made.
fn shown(row: &LessonRow) -> LessonView {
    let landing = row.landing.as_ref().filter(|_| row.status == LessonStatus::Accepted);
    LessonView {
        id: Some(row.id.clone()),
        status: row.status,
        title: row.draft.title.clone(),
        body: row.draft.body.clone(),
        paths: row.draft.paths.clone(),
        file: landing.map(|landing| landing.file.clone()),
        commit: landing.map(|landing| landing.commit.clone()),
        task_id: row.task_id.clone(),
        task_number: row.task_number,
        execution_id: row.execution_id.clone(),
        created_at: Some(row.created_at),
        decided_at: row.decided_at,
    }
}

/// A lesson as its file says it, with where it came from.
fn in_branch(file: &str, text: &str, row: Option<&LessonRow>) -> LessonView {
    let Document { lesson, task } = Document::read(file, text);
    LessonView {
        id: row.map(|row| row.id.clone()),
        status: LessonStatus::Accepted,
        title: lesson.title,
        body: lesson.body,
        paths: lesson.paths,
        file: Some(file.to_owned()),
        commit: row.and_then(|row| row.landing.as_ref()).map(|landing| landing.commit.clone()),
        task_id: row.and_then(|row| row.task_id.clone()),
        task_number: row.and_then(|row| row.task_number).or(task),
        execution_id: row.and_then(|row| row.execution_id.clone()),
        created_at: row.map(|row| row.created_at),
        decided_at: row.and_then(|row| row.decided_at),
    }
}

fn parse_cursor(cursor: &str) -> Result<Begin> {
    let row = |place: &str| {
        let (at, id) = place.split_once(':')?;
        Some(Begin::Row(Some((Timestamp(at.parse().ok()?), LessonId::from(id)))))
    };
    let file = |place: &str| Some(Begin::File(Some(place.to_owned())));
    let found = cursor.strip_prefix(OF_ROWS).and_then(row);
    found
        .or_else(|| cursor.strip_prefix(OF_FILES).and_then(file))
        .ok_or_else(|| EngineError::invalid("cursor", "is not a cursor of this list"))
}
