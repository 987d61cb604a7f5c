//! A task's own worktree: made when work starts, kept through every later run, locked while somebody
//! changes it.
//!
//! The task's folder holds `tree/` (the worktree), `.forge.lock` and the prompts. The lock lies beside the
//! worktree, so it can neither be committed nor cleaned away.

use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_agents::LogWriter;
use forge_exec::{Command, HeadTail, Marker, ProcessIdentity};
use forge_git::{NewWorktree, Repo};
use forge_model::event::EventType;
use forge_model::ids::ExecutionId;
use forge_model::log::EntryKind;
use forge_model::settings::SETUP_TIMEOUT_SECONDS;
use forge_model::task::{AnnotationType, Evidence, WaitReason};
use forge_model::workspace::{Workspace, WorkspaceLock, WorkspaceStatus};
use forge_store::table::{tasks::TaskRow, workspaces};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Engine, EngineError,
    context::{ProjectContext, slug, task_branch},
    error::{ConflictCode, Result},
    executions::task_folder,
    steps::{End, Stepping},
    transition::Trouble,
};

/// The first port that workspaces may use, how many each gets, and how many workspaces have their own.
const FIRST_PORT: u32 = 20_000;
const PORTS_EACH: u32 = 20;
const PORT_BLOCKS: u32 = 1_000;
const LOCK_FILE: &str = ".forge.lock";

/// What was found where a task's worktree should be.
enum Found {
    /// Nothing was ever made, or it was cleaned away: make one.
    Absent,
    /// There it is.
    Ready(Workspace),
    /// The record is there, the folder is gone, the branch exists: make it again.
    Lost(Workspace),
    /// Folder and branch are gone.
    Gone(Workspace),
}

impl Engine {
    /// Makes the worktree, or finds it, and runs the set-up commands when it is new.
    pub(crate) async fn prepare_workspace(&self, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
        if !self.somebody_works(s).await? {
            return Ok(End::skipped("nobody holds the role"));
        }
        let repo = self.repo(&s.context).await?;
        let (workspace, recovered) = match self.look(&repo, &s.task).await? {
            Found::Ready(workspace) => {
                self.keep_workspace(workspace).await?;
                return Ok(End::Ok(Some("already there".to_owned())));
            }
            Found::Gone(workspace) => {
                let mut tx = self.store().write().await?;
                workspaces::delete(&mut tx, &workspace.id).await?;
                tx.commit().await?;
                let message =
                    format!("the worktree {} and its branch {} are gone", workspace.path, workspace.branch);
                return Ok(End::Block(Trouble::new(AnnotationType::WorkspaceResetRequired, message)));
            }
            Found::Lost(workspace) => (workspace, true),
            Found::Absent => (self.new_record(&repo, &s.context, &s.task).await?, false),
        };
        let made = self.make(&repo, &workspace).await;
        self.point("workspace.made");
        if let Err(error) = made {
            let mut tx = self.store().write().await?;
            let failed =
                Workspace { status: WorkspaceStatus::Error, error: Some(error.to_string()), ..workspace };
            workspaces::put(&mut tx, &failed, self.now()).await?;
            self.emit(
                &mut tx,
                EventType::WorkspaceError,
                &s.task,
                failed.id.as_str(),
                &json!({ "reason": failed.error }),
            )
            .await?;
            tx.commit().await?;
            return Ok(End::Block(Trouble::new(AnnotationType::EnvironmentNotReady, error.to_string())));
        }
        if !recovered && let Some(end) = self.set_up(s, &workspace, cancel).await? {
            return Ok(end);
        }
        let mut tx = self.store().write().await?;
        let ready = Workspace { status: WorkspaceStatus::Active, error: None, cleanup_at: None, ..workspace };
        workspaces::put(&mut tx, &ready, self.now()).await?;
        let event = if recovered { EventType::WorkspaceRecovered } else { EventType::WorkspaceCreated };
        self.emit(&mut tx, event, &s.task, ready.id.as_str(), &json!({ "path": ready.path })).await?;
        tx.commit().await?;
        Ok(End::Ok(recovered.then(|| "made again from its branch".to_owned())))
    }

    async fn somebody_works(&self, s: &Stepping) -> Result<bool> {
        let Some(role) = s.context.workflow.state(&s.task.status).and_then(|state| state.role.as_deref())
        else {
            return Ok(false);
        };
        let mut conn = self.store().read().await?;
        Ok(forge_store::table::roles::holder(&mut conn, &s.task.id, role).await?.is_some())
    }

    /// Takes back a planned removal: the task is worked on again.
    async fn keep_workspace(&self, workspace: Workspace) -> Result<()> {
        if workspace.status == WorkspaceStatus::Active {
            return Ok(());
        }
        let mut tx = self.store().write().await?;
        let kept = Workspace { status: WorkspaceStatus::Active, cleanup_at: None, error: None, ..workspace };
        workspaces::put(&mut tx, &kept, self.now()).await?;
        tx.commit().await?;
        Ok(())
    }

    async fn look(&self, repo: &Repo, task: &TaskRow) -> Result<Found> {
        let last = {
            let mut conn = self.store().read().await?;
            workspaces::last(&mut conn, &task.id).await?
        };
        let Some(workspace) = last else { return Ok(Found::Absent) };
        match workspace.status {
            WorkspaceStatus::Cleaned => Ok(Found::Absent),
            // A record that never became active is made to the end, set-up included.
            WorkspaceStatus::Creating => Ok(Found::Absent),
            _ if Path::new(&workspace.path).join(".git").exists() => Ok(Found::Ready(workspace)),
            WorkspaceStatus::Active | WorkspaceStatus::Scheduled | WorkspaceStatus::Error => {
                match repo.resolve(&format!("refs/heads/{}", workspace.branch)).await? {
                    Some(_) => Ok(Found::Lost(workspace)),
                    None => Ok(Found::Gone(workspace)),
                }
            }
        }
    }

    /// The record of a worktree to be made; the one of an interrupted try is used again.
    async fn new_record(&self, repo: &Repo, context: &ProjectContext, task: &TaskRow) -> Result<Workspace> {
        let mut conn = self.store().read().await?;
        let last = workspaces::last(&mut conn, &task.id).await?;
        if let Some(interrupted) = last.filter(|w| w.status == WorkspaceStatus::Creating) {
            return Ok(interrupted);
        }
        let port_base = workspaces::free_port_base(&mut conn, FIRST_PORT, PORTS_EACH, PORT_BLOCKS).await?;
        drop(conn);
        let target = context.target_branch(task);
        let base = match repo.resolve(&format!("refs/heads/{target}")).await? {
            Some(commit) => commit,
            None => {
                return Err(EngineError::invalid(
                    "merge_config.target_branch",
                    format!("no branch is called `{target}`"),
                ));
            }
        };
        let workspace = Workspace {
            id: self.new_id(),
            task_id: task.id.clone(),
            status: WorkspaceStatus::Creating,
            path: self.tree_path(context, task).to_string_lossy().into_owned(),
            branch: task_branch(task),
            base_commit: base,
            cleanup_at: None,
            disk_bytes: None,
            error: None,
            lock: None,
            port_base,
            created_at: self.now(),
            updated_at: self.now(),
        };
        let mut tx = self.store().write().await?;
        workspaces::put(&mut tx, &workspace, self.now()).await?;
        tx.commit().await?;
        Ok(workspace)
    }

    /// Where the worktree of a task is, or will be.
    pub(crate) fn tree_path(&self, context: &ProjectContext, task: &TaskRow) -> PathBuf {
        let tail = task.id.as_str().rsplit('-').next().unwrap_or_default();
        let short = tail.get(tail.len().saturating_sub(6)..).unwrap_or(tail);
        self.inner
            .config
            .workspace_root
            .join(slug(&context.project.name, 40))
            .join(format!("{}-{}-{short}", task.number, slug(&task.title, 40)))
            .join("tree")
    }

    /// A worktree made anew from the target branch. Its set-up is done when work starts in it.
    pub(crate) async fn fresh_workspace(
        &self,
        repo: &Repo,
        context: &ProjectContext,
        task: &TaskRow,
    ) -> Result<Workspace> {
        let workspace = self.new_record(repo, context, task).await?;
        self.make(repo, &workspace).await?;
        Ok(workspace)
    }

    async fn make(&self, repo: &Repo, workspace: &Workspace) -> Result<()> {
        let path = PathBuf::from(&workspace.path);
        std::fs::create_dir_all(task_folder(workspace))
            .map_err(EngineError::io(format!("make {}", path.display())))?;
        repo.create_worktree(&NewWorktree {
            path: path.clone(),
            branch: workspace.branch.clone(),
            base: workspace.base_commit.clone(),
        })
        .await?;
        // While nobody else knows of it. Every git command of this run is the faster for it.
        repo.settle_index(&path).await?;
        Ok(())
    }

    /// Runs the set-up commands. An end is given when they fail or are stopped.
    async fn set_up(
        &self,
        s: &Stepping,
        workspace: &Workspace,
        cancel: &CancellationToken,
    ) -> Result<Option<End>> {
        for (index, script) in s.context.settings.setup.iter().enumerate() {
            let log_id = format!("setup-{}-{index}", workspace.id);
            let command = Command::shell(
                &s.context.settings.shell,
                script,
                Path::new(&workspace.path),
                Marker(log_id.clone()),
            )
            .envs(self.task_env(&s.context, &s.task, Some(workspace)))
            .timeout(Duration::from_secs(u64::from(SETUP_TIMEOUT_SECONDS)));
            let mut output = HeadTail::new(8192);
            let finished = self.run_recorded(&s.task, command, cancel, &mut output).await;
            let kept = output.into_strings();
            let text = [kept.stdout.trim_end(), kept.stderr.trim_end()].join("\n").trim().to_owned();
            let log_dir = self.log_dir(&s.task.project_id, &s.task.id);
            let log = LogWriter::open(&log_dir, &log_id, &log_id, forge_agents::log::DEFAULT_CAP_BYTES)?;
            log.append(EntryKind::Command, "setup", json!({ "command": script, "output": text }));
            let closed = tokio::task::spawn_blocking(move || log.close()).await;
            closed.map_err(|error| EngineError::io("close a log")(std::io::Error::other(error)))?;
            let (message, exit_code) = match finished {
                Ok(finished) if finished.is_success() => continue,
                Ok(finished) if finished.cancelled => return Ok(Some(End::Interrupted)),
                Ok(finished) if finished.timed_out => (format!("set-up `{script}` ran out of time"), None),
                Ok(finished) => match finished.exit {
                    forge_exec::Exit::Code(code) => {
                        (format!("set-up `{script}` exited with {code}"), Some(code))
                    }
                    forge_exec::Exit::Signal(signal) => {
                        (format!("set-up `{script}` was ended by signal {signal}"), None)
                    }
                },
                Err(error) => (format!("set-up `{script}` could not be run: {error}"), None),
            };
            let mut trouble = Trouble::new(AnnotationType::EnvironmentNotReady, message);
            trouble.evidence = Some(Evidence {
                command: Some(script.clone()),
                exit_code,
                output: text,
                log_id: Some(log_id),
            });
            return Ok(Some(End::Block(trouble)));
        }
        Ok(None)
    }
}

/// The hold on a worktree; given back when dropped.
#[derive(Debug)]
pub(crate) struct WorkspaceHold {
    path: PathBuf,
}

impl Drop for WorkspaceHold {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "failed to release a worktree's lock");
        }
    }
}

/// The lock of a worktree as it is on disk.
pub(crate) fn read_lock(workspace: &Workspace) -> Option<WorkspaceLock> {
    let text = std::fs::read_to_string(task_folder(workspace).join(LOCK_FILE)).ok()?;
    serde_json::from_str(&text).ok()
}

impl Engine {
    /// Takes the right to change a worktree's files.
    pub(crate) fn lock_workspace(
        &self,
        workspace: &Workspace,
        execution: &ExecutionId,
    ) -> Result<WorkspaceHold> {
        let path = task_folder(workspace).join(LOCK_FILE);
        let me = ProcessIdentity::of(std::process::id());
        let lock = WorkspaceLock {
            execution_id: execution.0.clone(),
            pid: std::process::id(),
            start_time: me.map_or(0, |identity| identity.start_time),
            host: host_name(),
            acquired_at: self.now(),
        };
        let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let holder =
                    read_lock(workspace).map_or_else(|| "somebody".to_owned(), |lock| lock.execution_id);
                let message = format!("the worktree is held by {holder} ({})", WaitReason::WorkspaceLocked);
                return Err(EngineError::conflict(ConflictCode::InUse, message));
            }
            Err(error) => return Err(EngineError::io(format!("lock {}", path.display()))(error)),
        };
        let hold = WorkspaceHold { path };
        let text =
            serde_json::to_vec(&lock).map_err(|error| EngineError::io("write a lock")(error.into()))?;
        file.write_all(&text).map_err(EngineError::io("write a lock"))?;
        Ok(hold)
    }

    /// Writes the agent's process into the lock, so that a later engine knows whether the holder lives.
    pub(crate) fn name_holder(
        &self,
        workspace: &Workspace,
        execution: &ExecutionId,
        identity: &ProcessIdentity,
    ) -> std::io::Result<()> {
        let path = task_folder(workspace).join(LOCK_FILE);
        let lock = WorkspaceLock {
            execution_id: execution.0.clone(),
            pid: identity.pid,
            start_time: identity.start_time,
            host: host_name(),
            acquired_at: self.now(),
        };
        let next = path.with_extension("lock.next");
        std::fs::write(&next, serde_json::to_vec(&lock)?)?;
        std::fs::rename(next, path)
    }

    /// Refuses while somebody holds the worktree.
    pub(crate) fn require_unlocked(&self, workspace: &Workspace) -> Result<()> {
        match read_lock(workspace) {
            Some(lock) => {
                let message = format!("execution {} works in the worktree", lock.execution_id);
                Err(EngineError::conflict(ConflictCode::InUse, message))
            }
            None => Ok(()),
        }
    }

    /// Releases the locks whose holder is gone. Called after orphans have been ended.
    pub(crate) fn release_stale_lock(&self, workspace: &Workspace) {
        let Some(lock) = read_lock(workspace) else { return };
        let alive = lock.host == host_name()
            && ProcessIdentity::of(lock.pid).is_some_and(|identity| identity.start_time == lock.start_time);
        if !alive {
            tracing::info!(path = %workspace.path, execution = %lock.execution_id, "released a lock whose holder is gone");
            drop(WorkspaceHold { path: task_folder(workspace).join(LOCK_FILE) });
        }
    }
}

fn host_name() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
