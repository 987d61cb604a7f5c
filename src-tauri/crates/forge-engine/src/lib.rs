//! The engine: commands, transitions and durable steps of tasks.
//!
//! A command (a person's act, an agent's end, a step's outcome) reads, decides by the rules of `forge-model`, and
//! writes status, history, events and pending steps in **one transaction** ([`core::transition`]). The steps run
//! after the commit ([`core::runner`]), and what a step finds is again a command. Pending work is therefore in the
//! database when the process dies, and the next start continues it ([`recovery`]).
//!
//! [`core`] is what every feature builds on: transitions, the step runner, workers, guards. Each feature has a
//! folder: `run`, `workspace`, `review`, `merge`, `pull_request`, `issue`, `subtask`, `race`, `fix`, `hook`, `knowledge`,
//! `cost`, `validate`, `trust`, `project`, `machine`, `service`, `terminal`, `storage`, and `read` for queries. Most have commands in `command.rs` and
//! effects in `step.rs`. Above them, `task` has the commands about one task, [`registry`] names the function that
//! runs each step, and [`recovery`] begins. Code is functions that take the [`World`], or a `Cx` where they only
//! decide; the methods of [`Engine`] in `face` are its public interface.
//!
//! Invariants: state changes through commands alone; no effect happens before its commit; no state's name is known
//! here; an open task has one owner (a pending step, an agent) or one reason to wait. Absent: windows, transports,
//! the process environment and the clock, which come in through [`EngineConfig`].

// Some of what the features use is used by nobody else.
#![cfg_attr(
    not(all(feature = "fix", feature = "knowledge", feature = "race", feature = "validate")),
    allow(dead_code, reason = "a build without features is a test's alone")
)]

mod config;
mod core;
mod cost;
mod error;
mod export;
mod face;
#[cfg(feature = "fix")]
mod fix;
mod hook;
mod instance;
mod issue;
#[cfg(feature = "knowledge")]
mod knowledge;
mod machine;
mod merge;
mod program;
mod project;
mod pull_request;
#[cfg(feature = "race")]
mod race;
mod read;
mod recovery;
mod registry;
mod retry;
mod review;
mod run;
mod service;
mod start;
mod storage;
mod subtask;
mod task;
mod terminal;
mod trust;
#[cfg(feature = "validate")]
mod validate;
mod workspace;

pub(crate) use crate::core::world::World;
pub use crate::core::{
    computer::{Computer, Examination},
    disk::{DiskSpace, StorageHealth},
    fleet::placement::{Candidate, Today, WaitFor, fitness, waiting},
    guarded::guarded,
};
pub use crate::face::Engine;
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
pub use forge_exec::{SandboxSupport, is_out_of_files};
pub use forge_git::{DiffPage, GitError};
pub use forge_keeper::Place as KeeperPlace;
pub use forge_store::{OpenError, backups::BackupError};
pub use hook::command::HookTestRequest;
pub use instance::{EngineAddress, InstanceError};
pub use issue::{ImportFrom, NewImport};
#[cfg(feature = "knowledge")]
pub use knowledge::command::{LessonEdit, LessonPage};
pub use machine::command::MachineChange;
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
pub use run::tools::ToolServer;
pub use run::{
    attachments::FileSource,
    profiles::NewAgent,
    programs::{KnownProgram, Trial},
};
pub use start::needs_restore;
pub use storage::{
    data_folder,
    engine_log::EngineLog,
    status::{BackupStanding, StorageStatus, StorageUsage},
};
#[cfg(feature = "validate")]
pub use validate::WhichProject;
pub use workspace::diff_scope::DiffRequest;
