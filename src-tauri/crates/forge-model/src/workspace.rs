//! A task's own worktree.

use crate::{
    contract,
    ids::{TaskId, WorkspaceId},
    names,
    time::Timestamp,
};

names! {
    /// Where a workspace is in its life.
    pub enum WorkspaceStatus {
        /// Its worktree is being made.
        Creating = "creating",
        /// It can be worked in.
        Active = "active",
        /// It will be removed at `cleanup_at`.
        Scheduled = "scheduled",
        /// Its worktree is gone; branch and backups stay.
        Cleaned = "cleaned",
        /// The last operation on it failed.
        Error = "error",
    }
}

contract! {
    /// Who holds the right to change a worktree's files; written to `.forge.lock` beside it.
    pub struct WorkspaceLock {
        /// The execution that holds it.
        pub execution_id: String,
        /// Process id of its group leader; 0 until it runs.
        pub pid: u32,
        /// Start time of that process in clock ticks since boot, which tells it from a later one with the same id.
        #[specta(type = f64)]
        pub start_time: u64,
        /// The machine it runs on.
        pub host: String,
        /// Since when.
        pub acquired_at: Timestamp,
    }

    /// A workspace record; kept after the worktree is gone.
    pub struct Workspace {
        /// Identity.
        pub id: WorkspaceId,
        /// The task it belongs to.
        pub task_id: TaskId,
        /// Where it is in its life.
        pub status: WorkspaceStatus,
        /// Absolute path of the worktree.
        pub path: String,
        /// The task's branch, without `refs/heads/`.
        pub branch: String,
        /// The commit the branch started from.
        pub base_commit: String,
        /// When it will be removed, if that is decided.
        pub cleanup_at: Option<Timestamp>,
        /// Size on disk in bytes, when measured.
        #[specta(type = Option<f64>)]
        pub disk_bytes: Option<u64>,
        /// Why its last operation failed.
        pub error: Option<String>,
        /// Who may change its files now.
        pub lock: Option<WorkspaceLock>,
        /// First port of its own block, see `FORGE_PORT_BASE`.
        pub port_base: u32,
        /// When it was made.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }

    /// Uncommitted work that was kept in a ref before a worktree went.
    pub struct WorkspaceBackup {
        /// The ref, `refs/forge/backup/<task>/<n>`.
        pub ref_name: String,
        /// The commit it points to.
        pub commit: String,
        /// How many files it holds.
        pub files: u32,
        /// When it was made.
        pub at: Timestamp,
    }
}
