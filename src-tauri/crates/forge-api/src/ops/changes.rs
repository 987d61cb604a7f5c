//! A task's changes in one answer: every file with its lines, as far as that is of use to a program that asks once.

use forge_engine::{DiffPage, DiffRequest};
use forge_model::actor::Actor;
use forge_model::diff::{FileChange, FileDiff, Hunk, SeenThere};
use forge_model::ids::TaskId;
use forge_model::review::WorkChanged;

use super::{answer, input, workspaces::Scope};
use crate::{Api, ApiError};

/// Unchanged lines around a change.
const CONTEXT: u32 = 3;
/// Rows of one file, and of all of them.
const ROWS_OF_FILE: u32 = 2_000;
const ROWS: u32 = 10_000;
/// Files that are given with their lines.
const FILES: usize = 200;

input! {
    /// Changes to read.
    pub struct ReadChanges {
        /// The task.
        pub task_id: TaskId,
        /// Which changes; all when absent.
        #[serde(default)]
        pub scope: Option<Scope>,
        /// Only this file.
        #[serde(default)]
        pub path: Option<String>,
    }
}

answer! {
    /// A changed file with its lines.
    pub struct ChangedFile {
        /// The file.
        #[serde(flatten)]
        pub change: FileChange,
        /// The hunks, up to `next_start`.
        pub hunks: Vec<Hunk>,
        /// Whether the file is too large to include; `hunks` is then empty.
        pub too_large: bool,
        /// Whether text that is not UTF-8 was replaced.
        pub lossy: bool,
        /// First row that is missing here, for `diff/file`; null if complete.
        pub next_start: Option<u32>,
    }

    /// Changes of a task.
    pub struct Changes {
        /// The base commit of the diff.
        pub base: String,
        /// The head commit of the diff; null if the diff ends at the files in the worktree.
        pub head: Option<String>,
        /// The changed files, by path.
        pub files: Vec<ChangedFile>,
        /// Added lines over all text files.
        pub added: u32,
        /// Removed lines over all text files.
        pub removed: u32,
        /// What the task holds besides the reviewed commit that is shown; null when the changes shown are not those of
        /// a review, or nothing differs.
        pub outside_review: Option<WorkChanged>,
        /// The machine on which programs work on the files now; null when the files are on this computer.
        pub there: Option<SeenThere>,
    }
}

impl From<FileDiff> for ChangedFile {
    fn from(diff: FileDiff) -> Self {
        let FileDiff { change, hunks, too_large, lossy, next_start, .. } = diff;
        Self { change, hunks, too_large, lossy, next_start }
    }
}

impl ChangedFile {
    /// A file whose lines are left to be asked for.
    const fn without_lines(change: FileChange) -> Self {
        Self { change, hunks: Vec::new(), too_large: false, lossy: false, next_start: Some(0) }
    }

    fn rows(&self) -> u32 {
        let rows: usize = self.hunks.iter().map(|hunk| hunk.lines.len()).sum();
        u32::try_from(rows).unwrap_or(u32::MAX)
    }
}

pub(crate) async fn read(api: Api, _: Actor, read: ReadChanges) -> Result<Changes, ApiError> {
    let ReadChanges { task_id, scope, path } = read;
    let scope: DiffRequest = scope.unwrap_or_default().into();
    let summary = api.engine().diff(&task_id, scope).await?;
    let mut all = Changes {
        base: summary.base,
        head: summary.head,
        files: Vec::new(),
        added: summary.added,
        removed: summary.removed,
        outside_review: summary.outside_review,
        there: summary.there,
    };
    if let Some(path) = path {
        let file = file(&api, &task_id, scope, &path, ROWS_OF_FILE).await?;
        (all.added, all.removed) = (file.change.added, file.change.removed);
        all.files.push(file);
        return Ok(all);
    }
    let mut left = ROWS;
    for (index, change) in summary.files.into_iter().enumerate() {
        all.files.push(if left == 0 || index >= FILES {
            ChangedFile::without_lines(change)
        } else {
            let file = file(&api, &task_id, scope, &change.path, left.min(ROWS_OF_FILE)).await?;
            left = left.saturating_sub(file.rows());
            file
        });
    }
    Ok(all)
}

async fn file(
    api: &Api,
    task: &TaskId,
    scope: DiffRequest,
    path: &str,
    rows: u32,
) -> Result<ChangedFile, ApiError> {
    let page = DiffPage { start_line: 0, limit: rows, context: CONTEXT, force: false };
    Ok(api.engine().diff_file(task, scope, path, page).await?.into())
}
