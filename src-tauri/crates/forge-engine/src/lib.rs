//! The machine: what happens to tasks, and that it happens once.
//!
//! A fact travels one way. A command (a person's act, an agent's end, a step's outcome) reads, decides by
//! the rules of `forge-model`, and writes status, history, events and the steps still to be done in **one
//! transaction** ([`transition`]). Only after its commit do the steps run ([`steps`]); what a step finds
//! out is again a command. So whatever is pending when the process dies is in the database, and the next
//! start goes on from there ([`recovery`]).
//!
//! Invariants: state is changed by commands alone; no effect before its commit; no state's name is known
//! here; an open task has one owner (a pending step, an agent) or one reason to wait.
//! Deliberately absent: any window, any transport, the process environment and the clock (both come in
//! through [`EngineConfig`]).

mod accepted;
mod app_settings;
mod backups;
mod boundary;
mod check_offers;
mod command;
mod config;
mod context;
mod costs;
mod database_backups;
mod delivery;
mod diagnosing;
mod disk;
mod engine;
mod environment;
mod error;
mod executions;
mod exports;
mod fix;
mod growth;
mod guards;
mod hook;
mod hosts;
mod instance;
mod lesson_search;
mod lock;
mod loop_status;
mod meter;
mod notices;
mod observed_time;
mod old_logs;
mod panics;
mod plan;
mod pool;
mod postmortems;
mod preview;
mod prices;
mod private_data;
mod pull_requests;
mod race;
mod read;
mod recovery;
mod redaction;
mod repository;
mod retention;
mod reviewed;
mod run_events;
mod run_tokens;
mod runs;
mod scheduler;
mod sessions;
mod sleep;
mod steps;
mod storage;
mod subtasks;
mod teaching;
mod transition;
#[cfg(test)]
mod transition_tests;
mod trust;
mod validate;
mod view;
#[cfg(test)]
mod view_tests;
mod watch;
mod watchdog;
mod workers;
mod workspace;

pub use command::{
    agents::NewAgent,
    attachments::FileSource,
    comments::CommentChange,
    decide::{Decision, DecisionRequest},
    knowledge::{LessonEdit, LessonPage},
    moves::{ClaimRequest, IfLocked, MoveRequest, Place, Settle},
    programs::{KnownProgram, Trial},
    projects::{NewProject, ProjectChange},
    recover::{ActionRequest, SayRequest},
    tasks::{NewTask, TaskEdit},
    workflows::{NewDefinition, WorkflowCheck, WorkflowState},
};
pub use config::{Clock, EngineConfig, IdSource, Observer, RandomIds, SystemClock, Work};
pub use costs::{CostCsvPage, CostPage};
pub use database_backups::needs_restore;
pub use engine::{Engine, StartError};
pub use error::{ConflictCode, EngineError};
pub use forge_agents::{AgentError, Detected};
pub use forge_exec::is_out_of_files;
pub use forge_git::{DiffPage, GitError};
pub use forge_store::{OpenError, backups::BackupError};
pub use growth::{Grown, Growths, LogGrowth};
pub use hook::command::HookTestRequest;
pub use instance::{EngineAddress, InstanceError};
pub use panics::{Panic, guarded};
pub use plan::Plan;
pub use preview::Preview;
pub use pull_requests::PullRequestNews;
pub use read::DiffRequest;
pub use run_tokens::RunScope;
pub use storage::{DiskSpace, StorageFailure, StorageHealth};
pub use trust::Untrusted;
pub use validate::WhichProject;
pub use view::TaskPage;
