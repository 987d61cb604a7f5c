//! What every feature builds on: transitions, the steps that they queue, the runner and workers of steps, guards,
//! retry budgets, the scheduler, the watchdog, timers, environment and redaction.
//!
//! Absent: the name of any feature. Features come in through `core/world/features.rs`.

pub(crate) mod admission;
pub(crate) mod again;
pub(crate) mod app_settings;
pub(crate) mod block_reason;
pub(crate) mod computer;
pub(crate) mod confinement;
pub(crate) mod context;
pub(crate) mod contexts;
pub(crate) mod day;
pub(crate) mod deletion;
pub(crate) mod disk;
pub(crate) mod due;
pub(crate) mod effects;
pub(crate) mod entry;
pub(crate) mod environment;
pub(crate) mod fleet;
pub(crate) mod follow;
pub(crate) mod going;
pub(crate) mod guarded;
pub(crate) mod guards;
pub(crate) mod held;
pub(crate) mod instant;
pub(crate) mod issue_text;
pub(crate) mod keeper;
pub(crate) mod leaving;
pub(crate) mod lent_folders;
pub(crate) mod lineage;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod location;
pub(crate) mod machines;
pub(crate) mod moves;
pub(crate) mod new_task;
pub(crate) mod notices;
pub(crate) mod observed_time;
pub(crate) mod outcome;
pub(crate) mod own_steps;
pub(crate) mod panics;
pub(crate) mod prerequisites;
pub(crate) mod private_data;
pub(crate) mod redaction;
pub(crate) mod repository;
pub(crate) mod retry_budget;
pub(crate) mod runner;
pub(crate) mod scheduler;
pub(crate) mod sleep;
pub(crate) mod sync;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod transition;
#[cfg(test)]
pub(crate) mod transition_tests;
pub(crate) mod watchdog;
pub(crate) mod workers;
pub(crate) mod worktree_lock;
pub(crate) mod world;
