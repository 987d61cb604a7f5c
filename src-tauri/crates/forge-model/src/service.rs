//! Services: long-running commands of a project, such as a development server, that are started in a task's worktree
//! so that a person or an agent can try the work. What a project names ([`ServiceDefinition`]), and what became of one
//! start ([`Service`]).

mod pattern;
mod rules;

use std::collections::BTreeMap;

use crate::{
    contract,
    ids::{ProjectId, ServiceId, TaskId},
    names,
    time::Timestamp,
};

pub use pattern::PatternWatch;
pub use rules::{MAX_SERVICES, layered, parse_repository, service_findings, url_of};

/// The key of settings and of `.forge.json`.
pub const KEY: &str = "services";
/// How many services run at once, unless said otherwise.
pub const DEFAULT_SERVICES_MAX: u32 = 4;
/// The most services that may run at once.
pub const MOST_SERVICES_MAX: u32 = 64;
/// After how many idle minutes a service stops, unless said otherwise.
pub const DEFAULT_STOP_AFTER_MINUTES: u32 = 60;
/// How long a service may take to become ready, unless said otherwise.
pub const DEFAULT_READY_WITHIN_SECONDS: u32 = 120;

/// What the names of their logs begin with.
const LOG_PREFIX: &str = "service-";

names! {
    /// When a service starts.
    pub enum ServiceStart {
        /// When a person or an agent starts it.
        Manual = "manual",
        /// Also starts whenever a review of the task waits for a person.
        OnReview = "on_review",
    }
}

names! {
    /// State of one start of a service.
    pub enum ServiceState {
        /// Its process is running, but not ready yet.
        Starting = "starting",
        /// It runs and can be used.
        Ready = "ready",
        /// It could not be started, was not ready in time, or ended with an error.
        Failed = "failed",
        /// It was stopped, or exited without an error.
        Stopped = "stopped",
    }
}

contract! {
    /// When a service counts as ready: exactly one of these.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct ServiceReady {
        /// A GET request to this path on its port gets a status from 200 to 399.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub http: Option<String>,
        /// It listens on its port.
        pub port: bool,
        /// A line of its output matches this regular expression.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pattern: Option<String>,
    }

    /// A service that a project defines.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ServiceDefinition {
        /// Name; unique in the project.
        pub name: String,
        /// Shell command. `PORT` is the port to listen on.
        pub command: String,
        /// Folder in the worktree in which it runs; the worktree's root when absent.
        #[serde(default)]
        pub cwd: Option<String>,
        /// Additional environment variables.
        #[serde(default)]
        pub env: BTreeMap<String, String>,
        /// When it counts as ready; as soon as its process runs when absent.
        #[serde(default)]
        pub ready: Option<ServiceReady>,
        /// Time limit for becoming ready, in seconds; 120 when absent.
        #[serde(default)]
        pub ready_within_seconds: Option<u32>,
        /// Path that is opened in the browser; `/` when absent.
        #[serde(default)]
        pub open: Option<String>,
        /// When it starts.
        #[serde(default = "ServiceDefinition::default_start")]
        pub start: ServiceStart,
        /// Idle minutes after which it stops; 60 when absent.
        #[serde(default)]
        pub stop_after_minutes: Option<u32>,
    }

    /// A suggested service, based on a file of the repository.
    #[derive(Eq)]
    pub struct ServiceOffer {
        /// What accepting it adds to the project's services.
        pub service: ServiceDefinition,
        /// The file that implies it, from the repository's root.
        pub source: String,
    }

    /// One start of a service.
    #[derive(Eq)]
    pub struct Service {
        /// Its id.
        pub id: ServiceId,
        /// The task in whose worktree it runs.
        pub task_id: TaskId,
        /// The task's project.
        pub project_id: ProjectId,
        /// The task's number.
        pub task_number: u32,
        /// The task's title.
        pub task_title: String,
        /// Name of the service.
        pub name: String,
        /// The shell command, as it was started.
        pub command: String,
        /// Its status.
        pub state: ServiceState,
        /// Reason for its state, one sentence; null if there is none.
        pub reason: Option<String>,
        /// The port that it got as `PORT`.
        pub port: u32,
        /// Its address while it runs.
        pub url: String,
        /// Its log, among the logs of the task.
        pub log_id: String,
        /// Who started it.
        pub started_by: String,
        /// When it was requested.
        pub started_at: Timestamp,
        /// When it became ready; null before.
        pub ready_at: Option<Timestamp>,
        /// When it ended; null while it runs.
        pub ended_at: Option<Timestamp>,
        /// The exit code, if it exited with one.
        pub exit_code: Option<i32>,
        /// Idle minutes after which it stops.
        pub stop_after_minutes: u32,
    }

    /// A service of a task: its definition in the project, and its latest start.
    #[derive(Eq)]
    pub struct TaskService {
        /// Name of the service.
        pub name: String,
        /// The current shell command; null if the project no longer has the service.
        pub command: Option<String>,
        /// When it starts; null if the project no longer has the service.
        pub start: Option<ServiceStart>,
        /// Its latest start in this task; null if it was never started.
        pub last: Option<Service>,
    }
}

impl ServiceState {
    /// Whether a process of it runs, or is about to.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Ready)
    }
}

impl ServiceDefinition {
    /// A service of a command, with what holds where nothing is said.
    #[must_use]
    pub fn of(name: &str, command: &str) -> Self {
        Self {
            name: name.to_owned(),
            command: command.to_owned(),
            cwd: None,
            env: BTreeMap::new(),
            ready: None,
            ready_within_seconds: None,
            open: None,
            start: ServiceStart::Manual,
            stop_after_minutes: None,
        }
    }

    const fn default_start() -> ServiceStart {
        ServiceStart::Manual
    }

    /// Idle minutes after which it stops.
    #[must_use]
    pub fn idle_minutes(&self) -> u32 {
        self.stop_after_minutes.unwrap_or(DEFAULT_STOP_AFTER_MINUTES)
    }

    /// How many seconds it may take to become ready.
    #[must_use]
    pub fn ready_seconds(&self) -> u32 {
        self.ready_within_seconds.unwrap_or(DEFAULT_READY_WITHIN_SECONDS)
    }
}

/// The log of one start of a service, and the name by which its processes are found.
#[must_use]
pub fn log_of(id: &ServiceId) -> String {
    format!("{LOG_PREFIX}{id}")
}

/// Whether a log of a task is one of a service.
#[must_use]
pub fn is_log(log_id: &str) -> bool {
    log_id.starts_with(LOG_PREFIX)
}
