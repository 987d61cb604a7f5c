//! A task's own worktree.

use crate::{
    contract,
    ids::{MachineId, ProjectId, TaskId, WorkspaceId},
    names,
    settings::CopyFile,
    time::Timestamp,
};

names! {
    /// State of a workspace.
    pub enum WorkspaceStatus {
        /// Its worktree is being created.
        Creating = "creating",
        /// It is ready to use.
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
        /// Process id of its group leader; 0 before it starts.
        pub pid: u32,
        /// Start time of that process in clock ticks since boot, to distinguish it from a later one with its id.
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
        /// The machine that its worktree is on; none for this computer.
        pub machine_id: Option<MachineId>,
        /// Its state.
        pub status: WorkspaceStatus,
        /// Absolute path of the worktree.
        pub path: String,
        /// The task's branch, without `refs/heads/`.
        pub branch: String,
        /// The commit the branch started from.
        pub base_commit: String,
        /// When it will be removed, if scheduled.
        pub cleanup_at: Option<Timestamp>,
        /// Size on disk in bytes, when measured.
        #[specta(type = Option<f64>)]
        pub disk_bytes: Option<u64>,
        /// Why its last operation failed.
        pub error: Option<String>,
        /// Holder of the lock on its files.
        pub lock: Option<WorkspaceLock>,
        /// First port of its own block, see `FORGE_PORT_BASE`.
        pub port_base: u32,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }

    /// Where the files are that a task's programs are working on.
    #[derive(Eq)]
    pub struct WorkspacePlace {
        /// Absolute path of the worktree on this computer.
        pub path: String,
        /// The machine on which programs work on the files now; none when the files are on this computer.
        pub there: Option<PlaceThere>,
    }

    /// Where the files of a task are on another machine.
    #[derive(Eq)]
    pub struct PlaceThere {
        /// Name of the machine.
        pub machine: String,
        /// Where `ssh` leads to it: an alias or a name, with user and port where the machine has them; none for a
        /// container, which no editor or terminal of this computer reaches by ssh.
        pub destination: Option<String>,
        /// Absolute path there; none while the machine does not respond.
        pub path: Option<String>,
    }

    /// A workspace with the task it belongs to, for lists of many.
    pub struct WorkspaceView {
        /// The record.
        #[serde(flatten)]
        pub workspace: Workspace,
        /// The task's project.
        pub project_id: ProjectId,
        /// The task's number.
        pub task_number: u32,
        /// The task's title.
        pub task_title: String,
        /// The task's state.
        pub task_status: String,
    }

    /// The disk space of a project's worktrees.
    pub struct ProjectDisk {
        /// The project.
        pub project_id: ProjectId,
        /// Bytes of the worktrees of its tasks, as far as measured.
        #[specta(type = f64)]
        pub tasks_bytes: u64,
        /// How many of them have not been measured yet.
        pub unmeasured: u32,
        /// Finished worktrees that wait for the next task.
        pub slots: u32,
        /// Bytes of those.
        #[specta(type = f64)]
        pub slots_bytes: u64,
        /// Size in bytes above which Forge warns.
        #[specta(type = Option<f64>)]
        pub cap_bytes: Option<u64>,
        /// Whether the warning limit is exceeded.
        pub over: bool,
    }

    /// A folder under the workspace root that belongs to no task.
    pub struct OrphanFolder {
        /// Its path.
        pub path: String,
        /// The project whose folder contains it, if known.
        pub project_id: Option<ProjectId>,
        /// Its size on disk in bytes.
        #[specta(type = f64)]
        pub bytes: u64,
        /// When something in it changed last.
        pub last_change: Option<Timestamp>,
        /// The branch that is checked out there, if it is a worktree of the project's repository.
        pub branch: Option<String>,
        /// Commits of it that the default branch lacks.
        pub unmerged_commits: u32,
        /// Uncommitted files.
        pub uncommitted: u32,
        /// Whether it can become the worktree of a new task.
        pub adoptable: bool,
    }

    /// Settings that a file of another tool in the repository contains.
    pub struct ImportOffer {
        /// The file.
        pub source: String,
        /// Files to copy.
        pub copy_files: Vec<CopyFile>,
        /// Setup commands.
        pub setup: Vec<String>,
        /// Parts without an equivalent in Forge, as text.
        pub notes: Vec<String>,
        /// Why the file could not be read.
        pub error: Option<String>,
    }

    /// Uncommitted work that was kept in a ref before a worktree was removed.
    pub struct WorkspaceBackup {
        /// The task that it was created for; `orphan-<folder>` for a folder without a task.
        pub task_id: TaskId,
        /// The ref, `refs/forge/backup/<task>/<n>`.
        pub ref_name: String,
        /// The commit it points to.
        pub commit: String,
        /// Number of files in it.
        pub files: u32,
        /// When it was created.
        pub at: Timestamp,
    }
}
