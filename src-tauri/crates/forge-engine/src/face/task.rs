//! Public methods of [`Engine`] for tasks, their moves and actions.

use forge_model::actor::Actor;
use forge_model::ids::ExecutionId;
use forge_model::ids::ProjectId;
use forge_model::ids::TaskId;
use forge_model::machine::fleet::TaskPlacement;
use forge_model::project::RepositoryDifference;
use forge_model::task::RoleHolder;
use forge_model::task::Task;
use forge_model::trust::TrustListing;
use forge_model::trust::TrustedContent;
use forge_model::workspace::Workspace;

use crate::{
    Engine,
    core::{self, new_task::NewTask},
    error::Result,
    run,
    task::{
        self,
        actions::{ActionRequest, SayRequest},
        command::TaskEdit,
        moves::{ClaimRequest, MoveRequest},
    },
};

impl Engine {
    /// Where a task would run now, and why. Nothing changes by asking.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn task_placement(&self, id: &TaskId) -> Result<TaskPlacement> {
        core::fleet::preview::placement(&self.world, id).await
    }

    /// Does what is offered.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `NotOffered` with what is, `Invalid` for a missing field.
    pub async fn act_on(&self, actor: Actor, id: &TaskId, request: ActionRequest) -> Result<()> {
        task::actions::act_on(&self.world, actor, id, request).await
    }

    /// Ends an agent's run. The task stays where it is and says so; nothing is started by itself.
    ///
    /// # Errors
    /// `NotFound`, `NothingRunning`.
    pub async fn stop_execution(&self, id: &ExecutionId) -> Result<TaskId> {
        task::actions::stop_execution(&self.world, id).await
    }

    /// Says something to a task's agent: another run with the message, in the same worktree. While the agent
    /// runs it waits for the end of that run, or is refused, as asked; `at_once` says it to the running agent, where
    /// its program can be told.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `WorkspaceLocked` when it does not want to wait, `NothingToContinue` without an agent or in a
    /// state that it does not work in, `AlreadySent` for a file that went with another message.
    pub async fn follow_up(&self, actor: Actor, id: &ExecutionId, request: SayRequest) -> Result<TaskId> {
        task::actions::follow_up(&self.world, actor, id, request).await
    }

    /// Makes an orphaned worktree the one of a new task.
    ///
    /// # Errors
    /// `NotAnOrphan`, `InUse`, an escape, `Invalid`, git's errors.
    pub async fn adopt_orphan(&self, path: &str, project: &ProjectId, title: Option<String>) -> Result<Task> {
        task::adopt::adopt_orphan(&self.world, path, project, title).await
    }

    /// Makes a task in the initial state of its project.
    ///
    /// # Errors
    /// `NotFound` for the project, `Invalid` with every field that is wrong.
    pub async fn create_task(&self, project: &ProjectId, new: NewTask) -> Result<Task> {
        task::command::create_task(&self.world, project, new).await
    }

    /// A task's parts, in their order.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn subtasks(&self, id: &TaskId) -> Result<Vec<Task>> {
        task::command::subtasks(&self.world, id).await
    }

    /// Changes what a task says.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `Invalid`.
    pub async fn update_task(&self, id: &TaskId, version: u32, edit: TaskEdit) -> Result<Task> {
        task::command::update_task(&self.world, id, version, edit).await
    }

    /// Gives a role to an agent, to the person, or to nobody. A new coder's work is judged anew.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `Invalid`, `TaskOpen` while the present holder runs.
    pub async fn assign(
        &self,
        id: &TaskId,
        version: Option<u32>,
        role: &str,
        holder: Option<RoleHolder>,
    ) -> Result<Task> {
        task::command::assign(&self.world, id, version, role, holder).await
    }

    /// Lets a task wait for another.
    ///
    /// # Errors
    /// `NotFound`, `Invalid` (no such task, the task itself, a cancelled one), `DependencyCycle` with the cycle.
    pub async fn add_dependency(&self, id: &TaskId, prerequisite: &TaskId) -> Result<Task> {
        task::command::add_dependency(&self.world, id, prerequisite).await
    }

    /// Takes a dependency away.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn remove_dependency(&self, id: &TaskId, prerequisite: &TaskId) -> Result<Task> {
        task::command::remove_dependency(&self.world, id, prerequisite).await
    }

    /// Removes a closed task with its history and its worktree (after a backup). Its branch stays.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `TaskOpen` unless it is closed, `TerminalBusy` when a program runs in a terminal of
    /// it that may not end.
    pub async fn delete_task(&self, id: &TaskId, version: Option<u32>, end_terminals: bool) -> Result<()> {
        task::command::delete_task(&self.world, id, version, end_terminals).await
    }

    /// Moves a task to another state, or to another place in its column.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `IllegalTransition`, `GuardRejected`, `WorkChangedSinceReview` for a move that
    /// approves.
    pub async fn move_task(&self, actor: Actor, id: &TaskId, request: MoveRequest) -> Result<()> {
        task::moves::move_task(&self.world, actor, id, request).await
    }

    /// Takes a drag back while its agent has not been started.
    ///
    /// # Errors
    /// `NotFound`, `NothingToUndo`.
    pub async fn undo_move(&self, actor: Actor, id: &TaskId) -> Result<()> {
        task::moves::undo_move(&self.world, actor, id).await
    }

    /// Gives a task to an agent (or to the person) and starts work.
    ///
    /// # Errors
    /// `NotFound`, `VersionConflict`, `NotClaimable`, `Paused`, `DependencyOpen`, and `AgentBusy` when the
    /// caller does not want to queue.
    pub async fn claim(&self, actor: Actor, id: &TaskId, request: ClaimRequest) -> Result<()> {
        task::moves::claim(&self.world, actor, id, request).await
    }

    /// Waits until the next to act on a task is an agent, a person, or a wait.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn wait_until_idle(&self, id: &TaskId) -> Result<()> {
        run::idle::wait_until_idle(&self.world, id).await
    }

    /// Waits until a gate that a task was moved into is entered: the work is committed and its review has begun, or
    /// something else became of the move.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn enter_gate(&self, id: &TaskId) -> Result<()> {
        run::idle::enter_gate(&self.world, id).await
    }

    /// One task as people see it.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn task(&self, id: &TaskId) -> Result<Task> {
        task::moves::task(&self.world, id).await
    }

    /// How a project's repository differs from what was accepted, in what decides which programs git runs; `None` when
    /// it does not, or no agent has run there.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn repository_change(&self, project: &ProjectId) -> Result<Option<RepositoryDifference>> {
        task::repositories::repository_change(&self.world, project).await
    }

    /// Accepts the configuration of a project's repository as it was shown, or (without a digest) puts the accepted one
    /// back. Tasks that wait for this word go on.
    ///
    /// # Errors
    /// `NotFound`; git's `RepositoryChanged` with the present difference when it is not the one that was shown.
    pub async fn answer_repository_change(
        &self,
        actor: Actor,
        project: &ProjectId,
        accept: Option<&str>,
    ) -> Result<()> {
        task::repositories::answer_repository_change(&self.world, actor, project, accept).await
    }

    /// A fresh worktree from the default branch. What was there is kept: uncommitted content and the old
    /// branch as backup refs. The task stays blocked until a person starts it.
    ///
    /// # Errors
    /// `NotFound`, `NotOffered`, `TerminalBusy` when a program runs in a terminal of it that may not end, git's errors.
    pub async fn reset_workspace(&self, actor: Actor, id: &TaskId, end_terminals: bool) -> Result<Workspace> {
        task::reset::reset_workspace(&self.world, actor, id, end_terminals).await
    }

    /// A task's backups, newest last.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn backups(&self, id: &TaskId) -> Result<Vec<forge_model::workspace::WorkspaceBackup>> {
        task::reset::backups(&self.world, id).await
    }

    /// Puts a backup's content back into the worktree as uncommitted changes.
    ///
    /// # Errors
    /// `NotFound`, `WorkspaceMissing`, `BackupInTheWay` with the files.
    pub async fn restore_backup(&self, id: &TaskId, commit: &str) -> Result<()> {
        task::reset::restore_backup(&self.world, id, commit).await
    }

    /// The startup files of a project: of the branch that its tasks start on and of the tasks that wait for a word about
    /// theirs; with a task, of that one alone.
    ///
    /// # Errors
    /// `NotFound`, git's errors.
    pub async fn trust_listing(&self, project: &ProjectId, task: Option<&TaskId>) -> Result<TrustListing> {
        task::trusting::trust_listing(&self.world, project, task).await
    }

    /// Trusts contents as they were shown. Tasks that wait for this go on.
    ///
    /// # Errors
    /// `NotFound`; `PersonRequired` for an agent; `TrustChanged` when a file has another content now.
    pub async fn trust_files(
        &self,
        actor: Actor,
        project: &ProjectId,
        task: Option<&TaskId>,
        contents: &[TrustedContent],
    ) -> Result<()> {
        task::trusting::trust_files(&self.world, actor, project, task, contents).await
    }
}
