//! Project settings: what may be changed, what it means when absent, and where a value comes from.

mod parse;

use std::collections::BTreeMap;

use crate::{
    contract,
    environment::{EnvironmentSettings, ShellMode},
    hook::LifecycleHooks,
    inner_loop::InnerLoop,
    issue::IssueSettings,
    names,
    path::branch_fault,
    pull_request::HostConfig,
    review::ReviewConfig,
    sandbox::SandboxSettings,
    service::ServiceDefinition,
    workflow::Finding,
};

pub use crate::merge_patch::merge_patch;
pub use parse::{parse_settings, parse_stored_settings, tidy_settings};

/// How many agents may run in one project at once, unless said otherwise.
pub const DEFAULT_MAX_CONCURRENT: u32 = 4;
/// Longest time of one set-up command in seconds.
pub const SETUP_TIMEOUT_SECONDS: u32 = 1800;
/// How many finished worktrees a project keeps for reuse, unless said otherwise.
pub const DEFAULT_POOL_SIZE: u32 = 3;
/// The most finished worktrees that a project may keep.
pub const MAX_POOL_SIZE: u32 = 20;

names! {
    /// How a task's branch becomes part of the target.
    pub enum MergeStrategy {
        /// Like `git merge`: fast-forward when possible, otherwise a merge commit.
        Merge = "merge",
        /// One commit with everything.
        Squash = "squash",
        /// The branch's commits, one by one, on top of the target.
        Rebase = "rebase",
    }
}

names! {
    /// How a file comes into a new worktree.
    pub enum CopyMode {
        /// A separate copy; shares its blocks if the file system supports that.
        Copy = "copy",
        /// The same file under a second name.
        Hardlink = "hardlink",
        /// A link to the one in the user's checkout.
        Symlink = "symlink",
    }
}

names! {
    /// How a finished worktree is treated.
    pub enum WorkspaceReuse {
        /// It is deleted.
        Off = "off",
        /// It is kept for the next task, with tracked files only.
        Tracked = "tracked",
        /// It is kept with its ignored files: dependencies and build caches stay warm, and so does whatever
        /// else a task left there.
        WithIgnored = "with_ignored",
    }
}

names! {
    /// Where a project's workflow is defined.
    pub enum WorkflowSource {
        /// In the project itself.
        Project = "project",
        /// In `.forge/workflow.json` of the default branch.
        Repository = "repository",
    }
}

contract! {
    /// Files that git does not track but a new worktree needs.
    #[serde(deny_unknown_fields)]
    pub struct CopyFile {
        /// Which, as in `.gitignore`, from the repository's root.
        pub pattern: String,
        /// How.
        #[serde(default = "CopyFile::default_mode")]
        pub mode: CopyMode,
    }

    /// How work is merged. Fields that a task leaves out are taken from its project.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct MergeConfig {
        /// The branch to merge into; the project's default branch when absent.
        pub target_branch: Option<String>,
        /// How; `merge` when absent.
        pub strategy: Option<MergeStrategy>,
        /// Message of the merge commit; `{number}`, `{title}`, `{branch}` and `{target}` are replaced.
        pub message_template: Option<String>,
    }

    /// Author of Forge's own commits.
    #[serde(deny_unknown_fields)]
    pub struct Author {
        /// Name.
        pub name: String,
        /// Address.
        pub email: String,
    }

    /// Which notifications are raised natively.
    #[serde(deny_unknown_fields, default)]
    pub struct NotificationSettings {
        /// A task is blocked.
        pub blocked: bool,
        /// A task waits for a decision.
        pub awaiting_human: bool,
        /// A task waits for something a person can clear.
        pub waiting: bool,
        /// A task is done.
        pub done: bool,
        /// Worktrees take more disk space than they are allowed to.
        pub disk: bool,
        /// An agent asks something.
        pub agent_asks: bool,
        /// A limit of cost is near or reached.
        pub cost: bool,
        /// A race is decided, or waits to be.
        pub race_decided: bool,
        /// A run cost more than is usual.
        pub cost_anomaly: bool,
    }

    /// What runs may cost, in micro-dollars. At 80 % the person is told, at 100 % agents are stopped. What nobody knows
    /// the cost of counts as nothing.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct CostLimits {
        /// One run; an agent's own limit counts where it is lower.
        #[specta(type = Option<f64>)]
        pub execution_micro_usd: Option<u64>,
        /// All runs of one task.
        #[specta(type = Option<f64>)]
        pub task_micro_usd: Option<u64>,
        /// All runs of the project on one day in this computer's time zone.
        #[specta(type = Option<f64>)]
        pub day_micro_usd: Option<u64>,
    }

    /// Prices of a model, in micro-dollars per million tokens.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ModelPrice {
        /// Input not served from a cache.
        #[specta(type = f64)]
        pub input: u64,
        /// Input read from a cache; same as other input when absent.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cache_read: Option<u64>,
        /// Input written to a cache; same as other input when absent.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cache_write: Option<u64>,
        /// Output, including reasoning.
        #[specta(type = f64)]
        pub output: u64,
    }

    /// Forge's own tools for the agents that it starts.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct McpSettings {
        /// Whether agents get them, with a token for their task and its subtasks that is valid during the run.
        pub inject: bool,
    }

    /// The settings of a project, complete.
    #[serde(deny_unknown_fields, default)]
    pub struct ProjectSettings {
        /// Whether a gate without a reviewer passes automatically when its checks do.
        pub auto_approve: bool,
        /// Whether tasks with an agent start automatically.
        pub auto_start: bool,
        /// Maximum number of concurrent agents.
        pub max_concurrent: u32,
        /// The program and arguments that run a shell line.
        pub shell: Vec<String>,
        /// When the profile of the login shell runs.
        pub shell_mode: ShellMode,
        /// Which variables of the user's environment programs inherit.
        pub environment: EnvironmentSettings,
        /// How programs are confined.
        pub sandbox: SandboxSettings,
        /// Labels that a machine must all have to run tasks; empty for this computer. An agent and a task may say
        /// otherwise.
        pub machines: Vec<String>,
        /// Regular expressions; matches are redacted in logs, prompts, events and exports, like secrets.
        pub redact: Vec<String>,
        /// Checks.
        pub review_config: ReviewConfig,
        /// Merging.
        pub merge_config: MergeConfig,
        /// Code host for pull requests; taken from the git remote when absent.
        pub code_host: Option<HostConfig>,
        /// Issues that are imported automatically, and what is written back to issues.
        pub issues: IssueSettings,
        /// Untracked files that a new worktree gets from the user's checkout.
        pub copy_files: Vec<CopyFile>,
        /// Commands that set up a new worktree.
        pub setup: Vec<String>,
        /// Hooks around the work on tasks.
        pub lifecycle_hooks: LifecycleHooks,
        /// Commands that run in a task's worktree to try its work; `.forge.json` can define more.
        pub services: Vec<ServiceDefinition>,
        /// How finished worktrees are treated.
        pub workspace_reuse: WorkspaceReuse,
        /// How many finished worktrees are kept for reuse.
        pub workspace_pool_size: u32,
        /// Disk usage of all worktrees above which Forge warns, in mebibytes; no warning when absent.
        pub workspace_disk_cap_mib: Option<u32>,
        /// Whether a task's branch is deleted once the target contains it.
        pub delete_merged_branches: bool,
        /// Where the workflow is defined.
        pub workflow_source: WorkflowSource,
        /// Author of Forge's commits; the user's own git identity when absent.
        pub author: Option<Author>,
        /// Native notifications.
        pub notifications: NotificationSettings,
        /// Limits of cost.
        pub cost_limits: CostLimits,
        /// Forge's own tools for the agents that it starts.
        pub mcp: McpSettings,
        /// Prices of models by name, replacing Forge's built-in prices.
        pub model_prices: BTreeMap<String, ModelPrice>,
        /// Races, drafted fixes, cost anomalies and what runs teach; `.forge.json` may set what this leaves out.
        #[serde(rename = "innerLoop")]
        pub inner_loop: InnerLoop,
    }
}

impl Default for NotificationSettings {
    fn default() -> Self {
        Self {
            blocked: true,
            awaiting_human: true,
            waiting: true,
            done: false,
            disk: true,
            agent_asks: true,
            cost: true,
            race_decided: true,
            cost_anomaly: false,
        }
    }
}

impl Default for ProjectSettings {
    fn default() -> Self {
        Self {
            auto_approve: false,
            auto_start: false,
            max_concurrent: DEFAULT_MAX_CONCURRENT,
            shell: vec!["bash".to_owned(), "-lc".to_owned()],
            shell_mode: ShellMode::LoginOnce,
            environment: EnvironmentSettings::default(),
            sandbox: SandboxSettings::default(),
            machines: Vec::new(),
            redact: Vec::new(),
            review_config: ReviewConfig::default(),
            merge_config: MergeConfig::default(),
            code_host: None,
            issues: IssueSettings::default(),
            copy_files: Vec::new(),
            setup: Vec::new(),
            lifecycle_hooks: LifecycleHooks::default(),
            services: Vec::new(),
            workspace_reuse: WorkspaceReuse::Off,
            workspace_pool_size: DEFAULT_POOL_SIZE,
            workspace_disk_cap_mib: None,
            delete_merged_branches: false,
            workflow_source: WorkflowSource::Project,
            author: None,
            notifications: NotificationSettings::default(),
            cost_limits: CostLimits::default(),
            mcp: McpSettings::default(),
            model_prices: BTreeMap::new(),
            inner_loop: InnerLoop::default(),
        }
    }
}

impl CopyFile {
    const fn default_mode() -> CopyMode {
        CopyMode::Copy
    }

    /// What is wrong with its pattern; none when settings may have it.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let pattern = &self.pattern;
        if pattern.trim().is_empty() {
            Some("must be a pattern such as `.env`, not blank")
        } else if pattern.split('/').any(|part| part == "..") {
            Some("must stay in the repository: `..` is not allowed")
        } else if pattern.contains('\0') || has_drive(pattern) {
            Some("must be a pattern of files in the repository, without a NUL or a drive")
        } else {
            None
        }
    }
}

/// Whether a text begins as an absolute path does on Windows.
fn has_drive(text: &str) -> bool {
    let mut start = text.chars();
    text.starts_with("\\\\")
        || (start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':'))
}

impl Author {
    /// What git refuses of it.
    fn findings(&self) -> Vec<Finding> {
        let is_refused = |text: &str| text.trim().is_empty() || text.contains(['<', '>', '\n', '\r']);
        [("author.name", &self.name), ("author.email", &self.email)]
            .into_iter()
            .filter(|(_, text)| is_refused(text))
            .map(|(path, _)| Finding::new(path, "must be on one line, not blank and without `<` and `>`"))
            .collect()
    }
}

impl MergeConfig {
    /// This configuration without the blanks around its target branch.
    #[must_use]
    pub fn tidied(self) -> Self {
        Self { target_branch: self.target_branch.map(|target| target.trim().to_owned()), ..self }
    }

    /// What is wrong with it; paths begin with `path`.
    #[must_use]
    pub fn findings(&self, path: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Some(fault) = self.target_branch.as_deref().and_then(|target| branch_fault(target.trim())) {
            findings.push(Finding::new(format!("{path}.target_branch"), fault));
        }
        let template = self.message_template.as_deref();
        if template.is_some_and(|template| template.trim().is_empty() || template.contains('\0')) {
            let message = "must be a message, not blank and without a NUL; null for the default";
            findings.push(Finding::new(format!("{path}.message_template"), message));
        }
        findings
    }

    /// This configuration with `over` on top, key by key.
    #[must_use]
    pub fn overridden_by(&self, over: Option<&Self>) -> Self {
        let Some(over) = over else { return self.clone() };
        Self {
            target_branch: over.target_branch.clone().or_else(|| self.target_branch.clone()),
            strategy: over.strategy.or(self.strategy),
            message_template: over.message_template.clone().or_else(|| self.message_template.clone()),
        }
    }
}
