//! What a diff looks like to everybody above git: the list of changed files and the rows of one of them.
//!
//! Invariants: paths are relative to the repository's root and use `/`; line numbers start at 1;
//! a path or line that is not UTF-8 is shown lossily (`U+FFFD`) and, for lines, flagged.
//! Absent on purpose: anything that computes a diff (that is `forge-git`) and any colour or layout.

use serde::{Deserialize, Serialize};

use crate::{ids::MachineId, time::Timestamp};

/// All files that changed between two points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct DiffSummary {
    /// Commit (hex) the changes are counted from.
    pub base: String,
    /// Commit (hex) they are counted to; `None` when they run up to the files of a worktree.
    pub head: Option<String>,
    /// Changed files, sorted by path.
    pub files: Vec<FileChange>,
    /// Added lines over all text files.
    pub added: u32,
    /// Removed lines over all text files.
    pub removed: u32,
    /// What the task's branch and worktree hold besides the reviewed commit that is shown; `None` when the changes
    /// shown are not those of a review, or nothing differs.
    #[serde(default)]
    pub outside_review: Option<crate::review::WorkChanged>,
    /// The machine on which programs work on the files now; `None` when the files are on this computer.
    #[serde(default)]
    pub there: Option<SeenThere>,
}

/// State of files that programs on another machine are working on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct SeenThere {
    /// The machine.
    pub machine_id: MachineId,
    /// Name of the machine.
    pub machine: String,
    /// Time of the state shown.
    pub at: Timestamp,
    /// Version of the files there, changing with them; `None` when nothing came from the machine yet.
    pub snapshot: Option<String>,
    /// Why nothing newer is shown; `None` when the files shown are current.
    pub error: Option<String>,
}

/// How a file changed.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// Did not exist before; includes untracked files.
    Added,
    /// Does not exist any more.
    Deleted,
    /// Same path and type, other content.
    Modified,
    /// Same or similar content under another path.
    Renamed,
    /// Made from another file that is still there.
    Copied,
    /// Became another kind of thing: file, symbolic link or submodule.
    TypeChanged,
    /// Same content, other permission bits.
    ModeChanged,
}

/// One changed file, without its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct FileChange {
    /// Path now, or the last path of a deleted file.
    pub path: String,
    /// Earlier path of a renamed or copied file.
    pub old_path: Option<String>,
    /// How it changed.
    pub kind: FileChangeKind,
    /// git file mode before, octal (`100644`); `None` when it was not there.
    pub old_mode: Option<String>,
    /// git file mode after, octal; `None` when it is gone.
    pub new_mode: Option<String>,
    /// Added lines; 0 for binaries.
    pub added: u32,
    /// Removed lines; 0 for binaries.
    pub removed: u32,
    /// Contains data that is not text.
    pub binary: bool,
    /// Made by a program: `linguist-generated` attribute or a lock file's name.
    pub generated: bool,
    /// git does not track the file yet.
    pub untracked: bool,
    /// Size before, in bytes; `None` when the file did not exist or was not read.
    #[specta(type = Option<f64>)]
    pub old_size: Option<u64>,
    /// Size after, in bytes; `None` when the file is gone or was not read.
    #[specta(type = Option<f64>)]
    pub new_size: Option<u64>,
    /// git's object id of the content before; `None` when the file did not exist.
    #[serde(default)]
    pub old_blob: Option<String>,
    /// git's object id of the content after; `None` when it is gone, or only in the worktree and not hashed yet.
    #[serde(default)]
    pub new_blob: Option<String>,
}

/// One page of the rows of one changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct FileDiff {
    /// The file.
    pub change: FileChange,
    /// The hunks, cut to the page; a hunk that spans pages comes again with its header on each of them,
    /// its ranges those of the whole hunk.
    pub hunks: Vec<Hunk>,
    /// Too large to be shown by default; `hunks` is then empty.
    pub too_large: bool,
    /// Some text was not UTF-8 and is shown with replacement characters.
    pub lossy: bool,
    /// Row to request next, if there are more.
    pub next_start: Option<u32>,
    /// Rows (lines of all hunks, without headers) in all pages.
    pub total_rows: u32,
}

/// A run of changed lines with the context around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct Hunk {
    /// First line in the old file; as in a unified diff, the line before when `old_lines` is 0.
    pub old_start: u32,
    /// Lines of the old file it covers.
    pub old_lines: u32,
    /// First line in the new file; as in a unified diff, the line before when `new_lines` is 0.
    pub new_start: u32,
    /// Lines of the new file it covers.
    pub new_lines: u32,
    /// The enclosing function or section, as git finds it; may be empty.
    pub header: String,
    /// Its rows.
    pub lines: Vec<DiffLine>,
}

/// Side of a diff that a line is on.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    specta::Type,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DiffLineKind {
    /// On both.
    Context,
    /// On the new one only.
    Added,
    /// On the old one only.
    Removed,
}

/// One row of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, specta::Type, schemars::JsonSchema)]
pub struct DiffLine {
    /// Side.
    pub kind: DiffLineKind,
    /// Line number in the old file.
    pub old_no: Option<u32>,
    /// Line number in the new file.
    pub new_no: Option<u32>,
    /// The line without its line feed; a carriage return before it is kept.
    pub text: String,
    /// The file's last line, without a line feed at its end.
    pub no_newline: bool,
}
