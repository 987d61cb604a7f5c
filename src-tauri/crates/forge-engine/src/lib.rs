//! The machine: what happens to tasks, and that it happens once.
//!
//! A fact travels one way. A command (a person's act, an agent's end, a step's outcome) reads, decides by
//! the rules of `forge-model`, and writes status, history, events and the steps still to be done in **one
//! transaction** ([`transition`]). Only after its commit do the steps run ([`steps`]); what a step finds
//! out is again a command. So whatever is pending when the process dies is in the database, and the next
//! start goes on from there ([`recovery`]).
//!
//! Each feature has a folder: `run`, `workspace`, `review`, `merge`, `pull_request`, `subtask`, `race`, `fix`, `hook`,
//! `knowledge`, `cost`, `validate`, `trust`, `project`, `storage`, and `read` for queries. Most hold commands in
//! `command.rs` and effects in `step.rs`. Files beside the folders are the core: transitions, steps, workers, recovery.
//!
//! Invariants: state is changed by commands alone; no effect before its commit; no state's name is known
//! here; an open task has one owner (a pending step, an agent) or one reason to wait.
//! Deliberately absent: any window, any transport, the process environment and the clock (both come in
//! through [`EngineConfig`]).

mod app_settings;
mod boundary;
mod command;
mod config;
mod context;
mod cost;
mod engine;
mod environment;
mod error;
mod fix;
mod guards;
mod hook;
mod instance;
mod knowledge;
mod merge;
mod notices;
mod panics;
mod project;
mod pull_request;
mod race;
mod read;
mod recovery;
mod redaction;
mod review;
mod run;
mod scheduler;
mod sleep;
mod steps;
mod storage;
mod subtask;
mod transition;
#[cfg(test)]
mod transition_tests;
mod trust;
mod validate;
mod watchdog;
mod workers;
mod workspace;

pub use command::{
    moves::{ClaimRequest, IfLocked, MoveRequest, Place, Settle},
    recover::{ActionRequest, SayRequest},
    tasks::{NewTask, TaskEdit},
};
pub use config::{Clock, EngineConfig, IdSource, Observer, RandomIds, SystemClock, Work};
pub use cost::{CostCsvPage, CostPage};
pub use engine::{Engine, StartError};
pub use error::{ConflictCode, EngineError};
pub use forge_agents::{AgentError, Detected};
pub use forge_exec::is_out_of_files;
pub use forge_git::{DiffPage, GitError};
pub use forge_store::{OpenError, backups::BackupError};
pub use hook::command::HookTestRequest;
pub use instance::{EngineAddress, InstanceError};
pub use knowledge::command::{LessonEdit, LessonPage};
pub use panics::{Panic, guarded};
pub use project::{
    command::{NewProject, ProjectChange},
    workflows::{NewDefinition, WorkflowCheck, WorkflowState},
};
pub use pull_request::PullRequestNews;
pub use read::DiffRequest;
pub use read::preview::Preview;
pub use read::view::TaskPage;
pub use review::{
    command::{Decision, DecisionRequest},
    comments::CommentChange,
};
pub use run::growth::{Grown, Growths, LogGrowth};
pub use run::plan::Plan;
pub use run::tokens::RunScope;
pub use run::{
    attachments::FileSource,
    profiles::NewAgent,
    programs::{KnownProgram, Trial},
};
pub use storage::database_backups::needs_restore;
pub use storage::{DiskSpace, StorageFailure, StorageHealth};
pub use trust::Untrusted;
pub use validate::WhichProject;
