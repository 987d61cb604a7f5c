//! Comments on lines of a task's diff: drafts that a person collects, told to the agent in one batch, and found
//! again after the file was edited.

use std::{collections::HashMap, path::Path};

use forge_git::{DiffScope, Repo, Worktree, guard};
use forge_model::comment::{
    Anchor, Comment, CommentSource, CommentStatus, DiffSide, LineNote, MAX_LINES, MAX_TEXT_BYTES, NewComment,
};
use forge_model::event::EventType;
use forge_model::ids::{CommentId, ReviewId, TaskId};
use forge_model::words::counted;
use forge_store::Tx;
use forge_store::table::{comments::CommentRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        live::{Freshness, Seen},
    },
    error::Result,
    workspace::{
        self,
        diff_scope::{DiffRequest, Scoped, check_inside},
    },
};

/// Files larger than this are commented as a whole only.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The files of a task's diff, read when they are asked for.
struct Versions {
    repo: Repo,
    scope: DiffScope,
    read: HashMap<(DiffSide, String), Option<Vec<String>>>,
    _unchanged: Option<Seen>,
}

/// A change of a comment that a person asks for.
#[derive(Debug, Clone, Default)]
pub struct CommentChange {
    /// Another text, of a draft.
    pub text: Option<String>,
    /// Whether the comment is resolved.
    pub resolved: Option<bool>,
}

/// A task's comments, oldest first, each with where its lines are now.
pub(crate) async fn comments(world: &World, id: &TaskId) -> Result<Vec<Comment>> {
    let rows = {
        let mut conn = world.store().read().await?;
        core::load::load(world, &mut conn, id, None).await?;
        conn.comments().list(id).await?
    };
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut versions = file_versions(world, id).await?;
    let mut shown = Vec::with_capacity(rows.len());
    for row in rows {
        shown.push(versions.place(row).await?);
    }
    Ok(shown)
}

/// Makes a draft.
pub(crate) async fn create_comment(world: &World, id: &TaskId, new: NewComment) -> Result<Comment> {
    let mut versions = file_versions(world, id).await?;
    let row = draft(world, id, new, "", &mut versions).await?;
    let mut tx = world.store().write().await?;
    let (task, _) = core::load::load(world, &mut tx, id, None).await?;
    tx.comments_mut().insert(&row).await?;
    mark_told(world, &mut tx, &task).await?;
    tx.commit().await?;
    versions.place(row).await
}

/// Rewrites a draft, or says whether a comment is settled.
pub(crate) async fn update_comment(world: &World, id: &CommentId, change: CommentChange) -> Result<Comment> {
    let mut tx = world.store().write().await?;
    let mut row = comment(&mut tx, id).await?;
    let (task, _) = core::load::load(world, &mut tx, &row.task_id, None).await?;
    if let Some(text) = change.text {
        require_draft(&row)?;
        row.text = checked_text(&text, "")?;
    }
    match change.resolved {
        Some(true) => row.status = CommentStatus::Resolved,
        Some(false) if row.status == CommentStatus::Resolved => {
            // One that nobody was told goes back to where it was.
            let told = row.review_id.is_some() || row.source != CommentSource::Person;
            row.status = if told { CommentStatus::Sent } else { CommentStatus::Draft };
        }
        Some(false) | None => {}
    }
    row.updated_at = world.now();
    tx.comments_mut().update(&row).await?;
    mark_told(world, &mut tx, &task).await?;
    tx.commit().await?;
    file_versions(world, &row.task_id.clone()).await?.place(row).await
}

/// Removes a draft.
pub(crate) async fn delete_comment(world: &World, id: &CommentId) -> Result<()> {
    let mut tx = world.store().write().await?;
    let row = comment(&mut tx, id).await?;
    require_draft(&row)?;
    let (task, _) = core::load::load(world, &mut tx, &row.task_id, None).await?;
    tx.comments_mut().delete(id).await?;
    mark_told(world, &mut tx, &task).await?;
    tx.commit().await?;
    Ok(())
}

async fn comment(tx: &mut Tx, id: &CommentId) -> Result<CommentRow> {
    tx.comments().get(id).await?.ok_or_else(|| EngineError::not_found("comment", id))
}

async fn mark_told(world: &World, tx: &mut Tx, task: &TaskRow) -> Result<()> {
    world.emit(tx, EventType::TaskUpdated, task, task.id.as_str(), &json!({ "comments": true })).await
}

/// The drafts of a task and those that come with a call, as the agent is told them. They are read before
/// the transaction that sends them ([`send_drafts`]), as files are.
pub(crate) async fn notes(
    world: &World,
    id: &TaskId,
    more: Vec<NewComment>,
) -> Result<Vec<(CommentRow, LineNote)>> {
    let drafts = {
        let mut conn = world.store().read().await?;
        let mut rows = conn.comments().list(id).await?;
        rows.retain(|row| row.status == CommentStatus::Draft);
        rows
    };
    if drafts.is_empty() && more.is_empty() {
        return Ok(Vec::new());
    }
    let mut versions = file_versions(world, id).await?;
    let mut rows = drafts;
    for (index, new) in more.into_iter().enumerate() {
        rows.push(draft(world, id, new, &format!("comments[{index}]."), &mut versions).await?);
    }
    let mut notes = Vec::with_capacity(rows.len());
    for row in rows {
        let placed = versions.place(row.clone()).await?;
        notes.push((row, note_of(placed)));
    }
    Ok(notes)
}

/// What readers of the pull request said on lines, as the agent is told it, by the host's names.
pub(crate) async fn notes_of_host(
    world: &World,
    id: &TaskId,
    names: &[String],
) -> Result<HashMap<String, LineNote>> {
    let rows = world.store().read().await?.comments().list(id).await?;
    let mut notes = HashMap::new();
    let mut versions = None;
    for row in rows {
        let Some(name) = row.external_id.clone().filter(|name| names.contains(name)) else { continue };
        let versions = match &mut versions {
            Some(versions) => versions,
            none => none.insert(file_versions(world, id).await?),
        };
        notes.insert(name, note_of(versions.place(row).await?));
    }
    Ok(notes)
}

/// Marks the comments of a batch as sent; gives what the agent is told. A draft that was removed or sent
/// meanwhile is left out.
pub(crate) async fn send_drafts(
    world: &World,
    tx: &mut Tx,
    task: &TaskRow,
    notes: Vec<(CommentRow, LineNote)>,
) -> Result<Vec<LineNote>> {
    let review: Option<ReviewId> = tx.reviews().last(&task.id).await?.map(|review| review.id);
    let mut told = Vec::with_capacity(notes.len());
    for (mut row, note) in notes {
        let known = tx.comments().get(&row.id).await?;
        let is_new = known.is_none() && row.created_at == row.updated_at && row.review_id.is_none();
        row.status = CommentStatus::Sent;
        row.review_id.clone_from(&review);
        row.updated_at = world.now();
        match known {
            Some(known) if known.status == CommentStatus::Draft => {
                tx.comments_mut().update(&CommentRow { text: known.text.clone(), ..row }).await?;
                told.push(LineNote { text: known.text, ..note });
            }
            None if is_new => {
                tx.comments_mut().insert(&row).await?;
                told.push(note);
            }
            Some(_) | None => {}
        }
    }
    if !told.is_empty() {
        mark_told(world, tx, task).await?;
    }
    Ok(told)
}

async fn draft(
    world: &World,
    id: &TaskId,
    new: NewComment,
    at: &str,
    versions: &mut Versions,
) -> Result<CommentRow> {
    let text = checked_text(&new.text, at)?;
    let field = |name: &str| format!("{at}{name}");
    check_inside(versions.root(), &new.path, &field("path"))?;
    let mut anchor = Anchor::default();
    if let Some((first, last)) = new.range() {
        if last < first || last - first >= MAX_LINES {
            let limit = format!("must be at least {first}, and less than {MAX_LINES} lines behind it");
            return Err(EngineError::invalid(&field("last_line"), limit));
        }
        let file = versions.lines(new.side, &new.path).await?;
        let Some(file) = file else {
            let message = format!("the {} version has no text file `{}`", new.side, new.path);
            return Err(EngineError::invalid(&field("path"), message));
        };
        let lines: Vec<&str> = file.iter().map(String::as_str).collect();
        anchor = Anchor::of(&lines, first, last).ok_or_else(|| {
            EngineError::invalid(
                &field("line"),
                format!("{} has {}, counted from 1", new.path, counted(lines.len() as u64, "line", "lines")),
            )
        })?;
    } else if new.last_line.is_some() {
        return Err(EngineError::invalid(&field("line"), "also needs the first line"));
    }
    let now = world.now();
    Ok(CommentRow {
        id: world.new_id(),
        task_id: id.clone(),
        review_id: None,
        source: CommentSource::Person,
        author: String::new(),
        status: CommentStatus::Draft,
        severity: None,
        at_commit: versions.commit(new.side).await?,
        path: new.path,
        side: new.side,
        line: new.line,
        last_line: new.line.map(|line| new.last_line.unwrap_or(line)),
        anchor,
        text,
        url: None,
        external_id: None,
        created_at: now,
        updated_at: now,
    })
}

/// The anchor of a line that somebody else (an auditor, a reader of the pull request) speaks of; an empty one
/// when it is not there.
pub(crate) async fn anchors(
    world: &World,
    id: &TaskId,
    places: &[(String, DiffSide, u32)],
) -> Result<(Vec<Anchor>, String)> {
    let mut versions = file_versions(world, id).await?;
    let mut anchors = Vec::with_capacity(places.len());
    for (path, side, line) in places {
        let inside = check_inside(versions.root(), path, "path").is_ok();
        let file = if inside { versions.lines(*side, path).await? } else { None };
        let anchor = file.and_then(|file| {
            let lines: Vec<&str> = file.iter().map(String::as_str).collect();
            Anchor::of(&lines, *line, *line)
        });
        anchors.push(anchor.unwrap_or_default());
    }
    Ok((anchors, versions.commit(DiffSide::New).await?))
}

async fn file_versions(world: &World, id: &TaskId) -> Result<Versions> {
    // Comments belong to what is shown, and are no reason to fetch anything from a machine.
    let Scoped { repo, scope, seen } =
        workspace::diff_scope::diff_scope(world, id, DiffRequest::Task, Freshness::Known).await?;
    Ok(Versions { repo, scope, read: HashMap::new(), _unchanged: seen })
}

impl Versions {
    fn root(&self) -> &Path {
        self.scope.worktree().map_or_else(|| self.repo.root(), Worktree::path)
    }

    /// The commit that a side is, or stands on.
    async fn commit(&self, side: DiffSide) -> Result<String> {
        Ok(match (&self.scope, side) {
            (DiffScope::Worktree { base, .. } | DiffScope::Commits { base, .. }, DiffSide::Old) => {
                base.clone()
            }
            (DiffScope::Commits { head, .. }, DiffSide::New) => head.clone(),
            (DiffScope::Worktree { worktree, .. } | DiffScope::Uncommitted { worktree }, _) => {
                worktree.head().await?
            }
        })
    }

    /// The lines of a file; `None` when it is not there, or no text.
    async fn lines(&mut self, side: DiffSide, path: &str) -> Result<Option<&Vec<String>>> {
        let key = (side, path.to_owned());
        if !self.read.contains_key(&key) {
            let content = self.content(side, path).await?;
            let lines = content.filter(|content| !content.contains(&0)).map(|content| {
                String::from_utf8_lossy(&content).lines().map(str::to_owned).collect::<Vec<_>>()
            });
            self.read.insert(key.clone(), lines);
        }
        Ok(self.read.get(&key).and_then(Option::as_ref))
    }

    async fn content(&self, side: DiffSide, path: &str) -> Result<Option<Vec<u8>>> {
        if let (DiffScope::Worktree { worktree, .. }, DiffSide::New) = (&self.scope, side) {
            let (worktree, path) = (worktree.clone(), path.to_owned());
            let read = move || guard::Root::open(worktree.path())?.read(Path::new(&path), MAX_FILE_BYTES);
            let entry = tokio::task::spawn_blocking(read)
                .await
                .map_err(|error| EngineError::io("read a file")(std::io::Error::other(error)))?;
            return match entry {
                Ok(Some(guard::Entry::File { content, .. })) => Ok(Some(content)),
                Ok(_) => Ok(None),
                Err(source) => Err(EngineError::Escape { field: "path".to_owned(), source }),
            };
        }
        match self.repo.file_at(&self.commit(side).await?, path, MAX_FILE_BYTES).await {
            Ok(content) => Ok(content),
            Err(forge_git::GitError::TooLarge { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// A comment with where its lines are now.
    async fn place(&mut self, row: CommentRow) -> Result<Comment> {
        let inside = check_inside(self.root(), &row.path, "path").is_ok();
        let file = if inside { self.lines(row.side, &row.path).await? } else { None };
        let found = row.line.zip(file).and_then(|(was, file)| {
            let lines: Vec<&str> = file.iter().map(String::as_str).collect();
            row.anchor.find(&lines, was)
        });
        let length = row.line.zip(row.last_line).map_or(0, |(first, last)| last.saturating_sub(first));
        Ok(Comment {
            outdated: row.line.is_some() && found.is_none(),
            now_line: found,
            now_last_line: found.map(|line| line + length),
            excerpt: row.anchor.lines,
            id: row.id,
            task_id: row.task_id,
            review_id: row.review_id,
            source: row.source,
            author: row.author,
            status: row.status,
            severity: row.severity,
            path: row.path,
            side: row.side,
            line: row.line,
            last_line: row.last_line,
            text: row.text,
            url: row.url,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    }
}

/// A comment as the agent is told it. Lines of the version before its changes are told by what they say.
fn note_of(comment: Comment) -> LineNote {
    let there = comment.side == DiffSide::New;
    LineNote {
        path: comment.path,
        line: comment.now_line.filter(|_| there),
        last_line: comment.now_last_line.filter(|_| there),
        excerpt: comment.excerpt,
        author: Some(comment.author).filter(|author| !author.is_empty()),
        text: comment.text,
    }
}

fn require_draft(row: &CommentRow) -> Result<()> {
    if row.status == CommentStatus::Draft {
        return Ok(());
    }
    Err(EngineError::conflict(ConflictCode::AlreadySent, "already sent to the agent: write a new comment"))
}

fn checked_text(text: &str, at: &str) -> Result<String> {
    let text = text.trim();
    let field = format!("{at}text");
    if text.is_empty() {
        return Err(EngineError::invalid(&field, "must not be empty"));
    }
    if text.len() > MAX_TEXT_BYTES {
        return Err(EngineError::invalid(&field, "must be at most 16 KiB"));
    }
    Ok(text.to_owned())
}
