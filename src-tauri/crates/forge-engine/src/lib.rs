//! The machine: what happens to tasks, and that it happens once.
//!
//! A fact travels one way. A command (a person's act, an agent's end, a step's outcome) reads, decides by
//! the rules of `forge-model`, and writes status, history, events and the steps still to be done in **one
//! transaction** ([`core::transition`]). Only after its commit do the steps run ([`core::runner`]); what a step finds
//! out is again a command. So whatever is pending when the process dies is in the database, and the next
//! start goes on from there ([`recovery`]).
//!
//! [`core`] holds what every feature stands on: transitions, the runner of steps, workers, guards. Each feature has a folder:
//! `run`, `workspace`, `review`, `merge`, `pull_request`, `subtask`, `race`, `fix`, `hook`, `knowledge`, `cost`, `validate`,
//! `trust`, `project`, `storage`, and `read` for queries; most hold commands in `command.rs` and effects in `step.rs`. Above
//! them, `task` holds what is asked about tasks, [`registry`] names the feature that runs each step, and [`recovery`]
//! begins. Code is functions that are given the engine; the methods of [`Engine`] are its public face.
//!
//! Invariants: state is changed by commands alone; no effect before its commit; no state's name is known
//! here; an open task has one owner (a pending step, an agent) or one reason to wait.
//! Deliberately absent: any window, any transport, the process environment and the clock (both come in
//! through [`EngineConfig`]).

mod config;
mod core;
mod cost;
mod error;
mod export;
mod face;
mod fix;
mod hook;
mod instance;
mod knowledge;
mod merge;
mod program;
mod project;
mod pull_request;
mod race;
mod read;
mod recovery;
mod registry;
mod retry;
mod review;
mod run;
mod start;
mod storage;
mod subtask;
mod task;
mod trust;
mod validate;
mod workspace;

pub use crate::core::engine::Engine;
pub use crate::core::{
    disk::{DiskSpace, StorageHealth},
    guarded::guarded,
};
pub use crate::{
    core::{new_task::NewTask, worktree_lock::IfLocked},
    task::{
        actions::{ActionRequest, SayRequest},
        command::TaskEdit,
        moves::{ClaimRequest, MoveRequest, Place, Settle},
    },
};
pub use config::{Clock, EngineConfig, IdSource, Observer, RandomIds, SystemClock, Work};
pub use cost::{CostCsvPage, CostPage};
pub use error::StartError;
pub use error::{ConflictCode, EngineError, Panic, StorageFailure, Untrusted};
pub use forge_agents::{AgentError, Detected};
pub use forge_exec::is_out_of_files;
pub use forge_git::{DiffPage, GitError};
pub use forge_store::{OpenError, backups::BackupError};
pub use hook::command::HookTestRequest;
pub use instance::{EngineAddress, InstanceError};
pub use knowledge::command::{LessonEdit, LessonPage};
pub use program::growth::{Grown, Growths, LogGrowth};
pub use project::{
    command::{NewProject, ProjectChange},
    workflows::{NewDefinition, WorkflowCheck, WorkflowState},
};
pub use pull_request::notes::PullRequestNews;
pub use read::preview::Preview;
pub use read::view::TaskPage;
pub use review::{
    command::{Decision, DecisionRequest},
    comments::CommentChange,
};
pub use run::plan::Plan;
pub use run::tokens::RunScope;
pub use run::{
    attachments::FileSource,
    profiles::NewAgent,
    programs::{KnownProgram, Trial},
};
pub use start::needs_restore;
pub use validate::WhichProject;
pub use workspace::diff_scope::DiffRequest;
