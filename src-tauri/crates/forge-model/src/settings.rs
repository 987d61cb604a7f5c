//! Project settings: what may be changed, what it means when absent, and where a value comes from.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    contract,
    environment::{EnvironmentSettings, ShellMode, findings_of_names},
    hook::LifecycleHooks,
    inner_loop::{self, InnerLoop},
    names,
    path::branch_fault,
    pull_request::HostConfig,
    redact::findings_of_patterns,
    review::ReviewConfig,
    usage::MAX_FIGURE,
    workflow::{Finding, key_path, nul_findings, shape_findings},
};

pub use crate::merge_patch::merge_patch;

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
        /// What `git merge` does: fast-forward when possible, else a merge commit.
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
        /// A copy of its own; shares its blocks where the file system can.
        Copy = "copy",
        /// The same file under a second name.
        Hardlink = "hardlink",
        /// A link to the one in the user's checkout.
        Symlink = "symlink",
    }
}

names! {
    /// What becomes of a finished worktree.
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
    /// Files that git does not track and a new worktree needs all the same.
    #[serde(deny_unknown_fields)]
    pub struct CopyFile {
        /// Which, as in `.gitignore`, from the repository's root.
        pub pattern: String,
        /// How.
        #[serde(default = "CopyFile::default_mode")]
        pub mode: CopyMode,
    }

    /// How work is merged. What a task leaves out, its project decides.
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

    /// Who Forge's own commits are by.
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
        /// All runs of the project on one day of this machine's time zone.
        #[specta(type = Option<f64>)]
        pub day_micro_usd: Option<u64>,
    }

    /// What a model costs, in micro-dollars per million tokens.
    #[derive(Eq)]
    #[serde(deny_unknown_fields)]
    pub struct ModelPrice {
        /// Input that no cache serves.
        #[specta(type = f64)]
        pub input: u64,
        /// Input read from a cache; as other input when absent.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cache_read: Option<u64>,
        /// Input written to a cache; as other input when absent.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cache_write: Option<u64>,
        /// Output, reasoning included.
        #[specta(type = f64)]
        pub output: u64,
    }

    /// Forge's own tools for the agents that it starts.
    #[derive(Default, Eq)]
    #[serde(deny_unknown_fields, default)]
    pub struct McpSettings {
        /// Whether they get them, by a token of their own for their task and its parts, good while the run lasts.
        pub inject: bool,
    }

    /// The settings of a project, complete.
    #[serde(deny_unknown_fields, default)]
    pub struct ProjectSettings {
        /// Whether a gate without reviewer passes by itself when its checks do.
        pub auto_approve: bool,
        /// Whether tasks that have an agent are started by themselves.
        pub auto_start: bool,
        /// How many agents may run at once.
        pub max_concurrent: u32,
        /// The program and arguments that run a shell line.
        pub shell: Vec<String>,
        /// When the profile of a login shell is run.
        pub shell_mode: ShellMode,
        /// What programs inherit of the user's environment.
        pub environment: EnvironmentSettings,
        /// Regular expressions of what is taken out of logs, prompts, events and exports as secrets are.
        pub redact: Vec<String>,
        /// Checks.
        pub review_config: ReviewConfig,
        /// Merging.
        pub merge_config: MergeConfig,
        /// Where pull requests go; what the git remote says when absent.
        pub code_host: Option<HostConfig>,
        /// Files that git does not track and a new worktree gets from the user's checkout.
        pub copy_files: Vec<CopyFile>,
        /// Commands that make a new worktree ready.
        pub setup: Vec<String>,
        /// What runs around the work on tasks.
        pub lifecycle_hooks: LifecycleHooks,
        /// What becomes of finished worktrees.
        pub workspace_reuse: WorkspaceReuse,
        /// How many finished worktrees are kept for reuse.
        pub workspace_pool_size: u32,
        /// Disk space of all worktrees above which the person is warned, in mebibytes; no warning when absent.
        pub workspace_disk_cap_mib: Option<u32>,
        /// Whether a task's branch is deleted once the target contains it.
        pub delete_merged_branches: bool,
        /// Where the workflow is defined.
        pub workflow_source: WorkflowSource,
        /// Who Forge's commits are by; the user's own git identity when absent.
        pub author: Option<Author>,
        /// Native notifications.
        pub notifications: NotificationSettings,
        /// What runs may cost.
        pub cost_limits: CostLimits,
        /// Forge's own tools for the agents that it starts.
        pub mcp: McpSettings,
        /// Prices of models by their names, instead of those that Forge knows.
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
            redact: Vec::new(),
            review_config: ReviewConfig::default(),
            merge_config: MergeConfig::default(),
            code_host: None,
            copy_files: Vec::new(),
            setup: Vec::new(),
            lifecycle_hooks: LifecycleHooks::default(),
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
            let message = "must be a message, not blank and without a NUL; null for the usual one";
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

/// Reads settings that are to be stored; what is absent takes its default.
///
/// # Errors
/// Every finding with the path of its field.
pub fn parse_settings(value: &Value) -> Result<ProjectSettings, Vec<Finding>> {
    // Deserialisation alone takes a list for an object whose fields have that order.
    let findings = shape_findings::<ProjectSettings>(value, "");
    if !findings.is_empty() {
        return Err(findings);
    }
    let settings = parse_stored_settings(value)?;
    let mut findings = nul_findings(value, "");
    findings.extend(settings.merge_config.findings("merge_config"));
    findings.extend(figure_findings(&settings));
    findings.extend(settings.author.iter().flat_map(Author::findings));
    if findings.is_empty() { Ok(settings) } else { Err(findings) }
}

/// Sums of money that not every reader of JSON holds exactly.
fn figure_findings(settings: &ProjectSettings) -> Vec<Finding> {
    let limits = &settings.cost_limits;
    let mut figures = vec![
        ("cost_limits.execution_micro_usd".to_owned(), limits.execution_micro_usd),
        ("cost_limits.task_micro_usd".to_owned(), limits.task_micro_usd),
        ("cost_limits.day_micro_usd".to_owned(), limits.day_micro_usd),
    ];
    for (model, price) in &settings.model_prices {
        let path = key_path("model_prices", model);
        let prices = [
            ("input", Some(price.input)),
            ("cache_read", price.cache_read),
            ("cache_write", price.cache_write),
            ("output", Some(price.output)),
        ];
        figures.extend(prices.map(|(name, figure)| (format!("{path}.{name}"), figure)));
    }
    let too_large =
        figures.into_iter().filter(|(_, figure)| figure.is_some_and(|figure| figure > MAX_FIGURE));
    too_large.map(|(path, _)| Finding::new(path, "must be below 2^53")).collect()
}

/// Settings without the blanks around names that are compared with those of git; to be stored like this.
pub fn tidy_settings(settings: &mut Value) {
    let target = settings.get_mut("merge_config").and_then(|merge| merge.get_mut("target_branch"));
    if let Some(Value::String(target)) = target {
        *target = target.trim().to_owned();
    }
}

/// Reads settings as they were stored, by this version or an earlier one that refused less.
///
/// # Errors
/// Every finding with the path of its field.
pub fn parse_stored_settings(value: &Value) -> Result<ProjectSettings, Vec<Finding>> {
    let settings: ProjectSettings = serde_path_to_error::deserialize(value).map_err(|error| {
        // The walk finds everything at once; deserialisation stops at the first and may see more in it.
        let mut findings = shape_findings::<ProjectSettings>(value, "");
        if findings.is_empty() {
            findings.push(Finding::new(error.path().to_string(), error.inner().to_string()));
        }
        findings
    })?;
    let mut findings = settings.review_config.findings("review_config");
    findings.extend(settings.lifecycle_hooks.findings("lifecycle_hooks"));
    findings.extend(findings_of_names(&settings.environment.pass, "environment.pass"));
    findings.extend(findings_of_patterns(&settings.redact, "redact"));
    findings.extend(settings.inner_loop.findings(inner_loop::KEY));
    findings.extend(settings.code_host.iter().flat_map(HostConfig::findings));
    let mut add = |path: &str, message: &str| {
        findings.push(Finding { path: path.to_owned(), message: message.to_owned() });
    };
    if settings.max_concurrent == 0 {
        add("max_concurrent", "must be at least 1");
    }
    if settings.shell.first().is_none_or(|program| program.trim().is_empty()) {
        add("shell", "must name a program, such as [\"bash\", \"-lc\"]");
    }
    for (index, command) in settings.setup.iter().enumerate() {
        if command.trim().is_empty() {
            add(&format!("setup[{index}]"), "must be a shell command, not blank");
        }
    }
    for (index, rule) in settings.copy_files.iter().enumerate() {
        let path = format!("copy_files[{index}].pattern");
        if rule.pattern.trim().is_empty() {
            add(&path, "must be a pattern such as `.env`, not blank");
        } else if rule.pattern.split('/').any(|part| part == "..") {
            add(&path, "must stay in the repository: `..` is not allowed");
        } else if rule.pattern.contains('\0') || has_drive(&rule.pattern) {
            add(&path, "must be a pattern of files in the repository, without a NUL or a drive");
        }
    }
    if settings.workspace_pool_size > MAX_POOL_SIZE {
        add("workspace_pool_size", "must be at most 20");
    }
    if settings.workspace_disk_cap_mib == Some(0) {
        add("workspace_disk_cap_mib", "must be at least 1; null for no warning");
    }
    if findings.is_empty() { Ok(settings) } else { Err(findings) }
}

/// Whether a text begins as an absolute path does on Windows.
fn has_drive(text: &str) -> bool {
    let mut start = text.chars();
    text.starts_with("\\\\")
        || (start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_merges_objects_replaces_lists_and_null_returns_to_the_default() {
        let mut stored =
            json!({ "review_config": { "ci_steps": ["a"], "allow_changes": true }, "auto_approve": true });
        merge_patch(&mut stored, &json!({ "review_config": { "ci_steps": ["b"] }, "auto_approve": null }));
        assert_eq!(stored, json!({ "review_config": { "ci_steps": ["b"], "allow_changes": true } }));
        assert!(!parse_settings(&stored).unwrap().auto_approve);
    }

    #[test]
    fn findings_name_the_field() {
        let path = |value: Value| parse_settings(&value).unwrap_err().remove(0).path;
        assert_eq!(path(json!({ "max_concurrent": 0 })), "max_concurrent");
        assert_eq!(
            path(json!({ "review_config": { "ci_steps": ["ok", " "] } })),
            "review_config.ci_steps[1]"
        );
        assert_eq!(path(json!({ "review_config": { "ci_steps": "npm test" } })), "review_config.ci_steps");
        assert_eq!(path(json!({ "colour": 1 })), "colour");
        let large = MAX_FIGURE + 1;
        assert_eq!(path(json!({ "cost_limits": { "task_micro_usd": large } })), "cost_limits.task_micro_usd");
        let prices = json!({ "m": { "input": 1, "output": large } });
        assert_eq!(path(json!({ "model_prices": prices })), "model_prices.m.output");
    }

    #[test]
    fn a_list_in_the_place_of_an_object_is_refused() {
        for (settings, path) in [
            (json!({ "innerLoop": { "competitive": [true, 3, 60] } }), "innerLoop.competitive"),
            (json!({ "innerLoop": [] }), "innerLoop"),
            (json!({ "innerLoop": { "reviewer": [true] } }), "innerLoop.reviewer"),
            (json!({ "merge_config": ["main"] }), "merge_config"),
            (json!({ "review_config": [] }), "review_config"),
            (json!({ "author": ["A", "a@b"] }), "author"),
            (json!({ "copy_files": [[".env"]] }), "copy_files[0]"),
            (json!({ "notifications": [true] }), "notifications"),
            (json!({ "cost_limits": [1] }), "cost_limits"),
            (json!({ "mcp": [true] }), "mcp"),
            (json!({ "model_prices": { "m": [1, 2, 3, 4] } }), "model_prices.m"),
            (json!({ "lifecycle_hooks": [[]] }), "lifecycle_hooks"),
            (
                json!({ "lifecycle_hooks": { "before_work": [["script", "x"]] } }),
                "lifecycle_hooks.before_work[0]",
            ),
            (json!([]), ""),
        ] {
            let findings = parse_settings(&settings).expect_err(&settings.to_string());
            assert_eq!(findings[0].path, path, "{settings}");
            assert!(findings[0].message.contains("not a list"), "{settings}: {findings:?}");
        }
    }

    #[test]
    fn complete_settings_are_accepted_as_they_are_written() {
        let mut all = serde_json::to_value(ProjectSettings::default()).unwrap();
        parse_settings(&all).unwrap();
        all["author"] = json!({ "name": "A", "email": "a@b" });
        all["copy_files"] = json!([{ "pattern": ".env" }, { "pattern": "a", "mode": "symlink" }]);
        all["code_host"] =
            json!({ "kind": "gitea", "base_url": "https://git.example", "owner": "a", "repo": "b" });
        all["model_prices"] = json!({ "m": { "input": 1, "output": 2 } });
        all["cost_limits"] = json!({ "task_micro_usd": 5 });
        all["lifecycle_hooks"]["before_work"] = json!([{ "type": "script", "command": "x" }]);
        all["innerLoop"]["competitive"]["strategies"] = json!([{ "name": "a", "agent_id": "x" }]);
        all["review_config"] = json!({ "ci_steps": ["a"], "validate": { "files": ["b"] } });
        let settings = parse_settings(&all).unwrap();
        let again = parse_settings(&serde_json::to_value(&settings).unwrap());
        assert_eq!(again, Ok(settings));
    }

    #[test]
    fn a_target_branch_is_trimmed_and_must_be_a_name_that_git_takes() {
        let mut settings = json!({ "merge_config": { "target_branch": " release/2 \n" } });
        tidy_settings(&mut settings);
        assert_eq!(settings["merge_config"]["target_branch"], "release/2");
        assert!(parse_settings(&settings).is_ok());
        for wrong in ["a b", "", "-x", "a..b", "refs/heads/", "a.lock"] {
            let findings =
                parse_settings(&json!({ "merge_config": { "target_branch": wrong } })).unwrap_err();
            assert_eq!(findings[0].path, "merge_config.target_branch", "{wrong:?}");
        }
        let stored = json!({ "merge_config": { "target_branch": "a b" } });
        assert!(parse_stored_settings(&stored).is_ok(), "a project stays usable whatever was stored once");
    }

    #[test]
    fn what_git_and_programs_would_refuse_later_is_refused_when_it_is_saved() {
        for (settings, path) in [
            (json!({ "author": { "name": " ", "email": "a@b" } }), "author.name"),
            (json!({ "author": { "name": "A", "email": "a@b>\n" } }), "author.email"),
            (json!({ "merge_config": { "message_template": " \n" } }), "merge_config.message_template"),
            (json!({ "shell": ["ba\0sh"] }), "shell[0]"),
            (json!({ "setup": ["a", "b\0"] }), "setup[1]"),
            (
                json!({ "lifecycle_hooks": { "before_work": [{ "type": "script", "command": "a\0" }] } }),
                "lifecycle_hooks.before_work[0].command",
            ),
        ] {
            let findings = parse_settings(&settings).expect_err(&settings.to_string());
            assert_eq!(findings[0].path, path, "{settings}");
            assert!(
                parse_stored_settings(&settings).is_ok(),
                "a project stays usable whatever was stored once"
            );
        }
    }

    #[test]
    fn findings_come_all_at_once() {
        let bad = json!({
            "colour": 1,
            "max_concurrent": "many",
            "lifecycle_hooks": { "before_work": [{ "type": "script", "comand": "x" }], "before_dinner": [] },
            "copy_files": [{ "pattern": ".env", "mode": "steal" }]
        });
        let mut paths: Vec<String> = parse_settings(&bad).unwrap_err().into_iter().map(|f| f.path).collect();
        paths.sort();
        for path in [
            "colour",
            "copy_files[0].mode",
            "lifecycle_hooks.before_dinner",
            "lifecycle_hooks.before_work[0].comand",
            "max_concurrent",
        ] {
            assert!(paths.iter().any(|found| found == path), "{path} in {paths:?}");
        }
    }
}
