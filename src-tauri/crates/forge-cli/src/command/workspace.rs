//! `forge workspace`.

use std::path::Path;

use forge_api::{
    Reply,
    operations::{
        BackupRestore, OrphanAdopt, OrphanReclaim, ProjectBackups, TaskBackups, WorkspaceKeep, WorkspaceList,
        WorkspaceOrphans, WorkspaceRemove, WorkspaceReset,
    },
    ops::{
        Empty, Page, TaskPath,
        projects::ProjectPath,
        workspaces::{AdoptOrphan, LeaveWorktree, OrphanPath, RestoreBackup},
    },
};
use forge_model::{
    task,
    words::counted,
    workspace::{OrphanFolder, Workspace, WorkspaceBackup, WorkspaceView},
};

use super::task::{find, find_in};
use crate::{
    answer::Answer,
    args::{TaskRef, Worktree},
    at::{At, of_project, told_task},
    error::CliError,
    place,
    shown::{NONE, bytes, printable, table},
    words::time,
};

/// As many characters of a commit name it at least.
const SHORTEST_NAME: usize = 4;
/// Where the backups of folders are kept that belonged to no task.
const FOLDERS: &str = "refs/forge/backup/orphan-";

pub(crate) async fn run(at: &At, command: Worktree) -> Result<Answer, CliError> {
    match command {
        Worktree::List => {
            let only = at.only().await?;
            let all = at.call(WorkspaceList, Empty {}).await?;
            let page = of_project(all, only.as_ref(), |it| Some(&it.project_id));
            let names = at.projects_to_tell(only.as_ref()).await?;
            let row = |it: &WorkspaceView| {
                vec![
                    told_task(&names, Some(&it.project_id), Some(it.task_number)),
                    it.workspace.status.to_string(),
                    it.workspace.disk_bytes.map_or_else(|| NONE.to_owned(), bytes),
                    it.task_status.clone(),
                    it.workspace.path.clone(),
                ]
            };
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = match rows.as_slice() {
                [] => "No worktrees.".to_owned(),
                rows => table(&["TASK", "WORKTREE", "SIZE", "STATE", "PATH"], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Worktree::Reset { task, end_terminals } => {
            let task_id = find(at, &task).await?.value.id;
            let leave = LeaveWorktree { task_id, end_terminals: Some(end_terminals) };
            let fresh = at.call(WorkspaceReset, leave).await?;
            let text = format!("Replaced. The old content is in `forge workspace backups {}`.", task.task);
            Ok(Answer::new(fresh.json, text))
        }
        Worktree::Remove { task, end_terminals } => {
            let task = TaskRef::from(task);
            let task_id = find(at, &task).await?.value.id;
            let leave = LeaveWorktree { task_id, end_terminals: Some(end_terminals) };
            let removed = at.call(WorkspaceRemove, leave).await?;
            let mut done = told(removed, "Removed");
            done.text.push_str(&format!(
                ". Uncommitted changes, if any, are in `forge workspace backups {}`.",
                task.task
            ));
            Ok(done)
        }
        Worktree::Keep(task) => {
            let task_id = find(at, &task.into()).await?.value.id;
            let kept = at.call(WorkspaceKeep, TaskPath { task_id }).await?;
            Ok(told(kept, "Kept until you remove it:"))
        }
        Worktree::Backups { task } => Ok(listed(backups(at, task).await?)),
        Worktree::Restore { task, backup } => restore(at, &task, &backup).await,
        Worktree::Orphans => {
            let only = at.only().await?;
            let all = at.call(WorkspaceOrphans, Empty {}).await?;
            let page = of_project(all, only.as_ref(), |it| it.project_id.as_ref());
            let rows: Vec<Vec<String>> = page.items.iter().map(orphan_row).collect();
            let text = match rows.as_slice() {
                [] => "Every folder belongs to a task.".to_owned(),
                rows => table(&["PATH", "SIZE", "BRANCH", "HAS"], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Worktree::Reclaim { path } => {
            let path = path_of(at, path)?;
            let done = at.call(OrphanReclaim, OrphanPath { path: path.clone() }).await?;
            let text = format!(
                "Removed {path}, after a backup: `forge workspace backups` lists it, and `forge workspace restore` restores it \
                 into a task's worktree."
            );
            Ok(Answer::new(done.json, text))
        }
        Worktree::Adopt { path, title } => {
            let project_id = at.project().await?;
            let path = path_of(at, path)?;
            let task = at.call(OrphanAdopt, AdoptOrphan { path, project_id, title }).await?;
            let text = format!("Created #{} {} ({}).", task.number, task.title, task.id);
            Ok(Answer::new(task.json, text))
        }
    }
}

/// A folder by its full path; the current folder is that of this computer.
fn path_of(at: &At, path: String) -> Result<String, CliError> {
    if at.connection.is_elsewhere() { Ok(path) } else { place::absolute(Path::new(&path)) }
}

fn told(workspace: Reply<Workspace>, done: &str) -> Answer {
    let text = printable(&format!("{done} {}", workspace.path));
    Answer::new(workspace.json, text)
}

async fn backups(at: &At, task: Option<String>) -> Result<Reply<Page<WorkspaceBackup>>, CliError> {
    match task {
        Some(task) => {
            let task_id = find_in(at, None, &task).await?.value.id;
            at.call(TaskBackups, TaskPath { task_id }).await
        }
        None => {
            let project_id = at.project().await?;
            at.call(ProjectBackups, ProjectPath { project_id }).await
        }
    }
}

fn listed(page: Reply<Page<WorkspaceBackup>>) -> Answer {
    let row = |it: &WorkspaceBackup| {
        let commit: String = it.commit.chars().take(12).collect();
        vec![commit, time(it.at), counted(it.files.into(), "file", "files"), it.ref_name.clone()]
    };
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "No backups.".to_owned(),
        rows => table(&["BACKUP", "AT", "HOLDS", "REF"], rows),
    };
    Answer::new(page.json, text)
}

async fn restore(at: &At, task: &TaskRef, backup: &str) -> Result<Answer, CliError> {
    let task::Task { id: task_id, project_id, .. } = find(at, task).await?.value;
    if backup.len() < SHORTEST_NAME {
        return Err(CliError::Usage {
            message: format!("`{backup}` is too short to name a backup"),
            hint: "Use at least four characters of its commit.",
        });
    }
    let own = at.call(TaskBackups, TaskPath { task_id: task_id.clone() }).await?.value.items;
    // Those of folders that belonged to no task can be restored into any.
    let all = at.call(ProjectBackups, ProjectPath { project_id }).await?.value.items;
    let of_folders = all.into_iter().filter(|it| it.ref_name.starts_with(FOLDERS));
    let known: Vec<WorkspaceBackup> = own.into_iter().chain(of_folders).collect();
    let is_meant = |it: &&WorkspaceBackup| it.ref_name == backup || it.commit.starts_with(backup);
    let mut meant = known.iter().filter(is_meant);
    let (found, another) = (meant.next(), meant.next());
    if another.is_some_and(|another| found.is_some_and(|found| found.commit != another.commit)) {
        return Err(CliError::Usage {
            message: format!("several backups begin with `{backup}`"),
            hint: "Use more characters of the commit.",
        });
    }
    let commit = found.map(|found| found.commit.clone()).ok_or_else(|| CliError::NotFound {
        message: format!("the task has no backup `{backup}`"),
        hint: "List them with `forge workspace backups TASK`.",
    })?;
    let done = at.call(BackupRestore, RestoreBackup { task_id, commit }).await?;
    Ok(Answer::new(done.json, "Restored into the worktree.".to_owned()))
}

fn orphan_row(orphan: &OrphanFolder) -> Vec<String> {
    let Some(branch) = &orphan.branch else {
        let has = "no worktree: remove it by hand".to_owned();
        return vec![orphan.path.clone(), bytes(orphan.bytes), NONE.to_owned(), has];
    };
    let commits = counted(orphan.unmerged_commits.into(), "unmerged commit", "unmerged commits");
    let files = counted(orphan.uncommitted.into(), "uncommitted file", "uncommitted files");
    vec![orphan.path.clone(), bytes(orphan.bytes), branch.clone(), format!("{commits}, {files}")]
}
