//! Pictures among a task's changes, one side at a time.

use forge_git::{FileSide, GitError, Worktree};
use forge_model::comment::DiffSide;
use forge_model::ids::TaskId;
use forge_model::preview::{FilePreview, MAX_PREVIEW_BYTES, PreviewKind};

use crate::{
    DiffRequest, EngineError, World,
    core::live::Freshness,
    error::Result,
    workspace::{
        self,
        diff_scope::{Scoped, check_inside},
    },
};

/// What one side of a changed file is, and its bytes when it is a picture that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// What it is; its `data` is still empty.
    pub told: FilePreview,
    /// The bytes.
    pub content: Option<Vec<u8>>,
}

/// One side of a changed file as a picture. No more than [`MAX_PREVIEW_BYTES`] are ever read.
pub(crate) async fn preview(
    world: &World,
    id: &TaskId,
    request: DiffRequest,
    path: &str,
    side: DiffSide,
) -> Result<Preview> {
    let Scoped { repo, scope, seen: _unchanged } =
        workspace::diff_scope::diff_scope(world, id, request, Freshness::Shown).await?;
    let inside = scope.worktree().map_or_else(|| repo.root(), Worktree::path);
    check_inside(inside, path, "path")?;
    let found = match repo.diff_side(&scope, path, side, MAX_PREVIEW_BYTES.into()).await {
        Err(GitError::NotInDiff { path }) => return Err(EngineError::not_found("changed file", path)),
        other => other?,
    };
    let bare = |kind, size| Preview { told: FilePreview::bare(kind, size), content: None };
    Ok(match found {
        FileSide::Absent => bare(PreviewKind::Absent, None),
        FileSide::NoFile => bare(PreviewKind::Other, None),
        FileSide::TooLarge(size) => bare(PreviewKind::TooLarge, Some(size)),
        FileSide::Content(content) => {
            let told = FilePreview::of(&content);
            let content = (told.kind == PreviewKind::Image).then_some(content);
            Preview { told, content }
        }
    })
}
