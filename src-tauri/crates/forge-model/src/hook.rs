//! Lifecycle hooks: what a project runs around the work on its tasks, and how each run ended.
//!
//! Source: `lifecycle_hooks` of the project's settings. Hooks of one event run in order, and a failure
//! does not stop the next one, unless the hook is blocking, which only a `before_work` script can be.

use serde_json::Value;

use crate::{
    contract, names,
    time::Timestamp,
    workflow::{Action, Finding, LifecycleEvent},
};

/// How long a script may run unless it says otherwise, in seconds.
pub const DEFAULT_HOOK_TIMEOUT_SECONDS: u32 = 30;
/// The longest time a script may ask for, in seconds.
pub const MAX_HOOK_TIMEOUT_SECONDS: u32 = 3600;
/// How much of each stream a hook's record keeps, in bytes; head and tail, the cut marked.
pub const HOOK_OUTPUT_BYTES: usize = 10 * 1024;

contract! {
    /// One lifecycle hook.
    #[serde(tag = "type", rename_all = "snake_case")]
    pub enum LifecycleHook {
        /// A shell snippet, or the path of an executable.
        Script(ScriptHook),
        /// One of Forge's own actions.
        Plugin(PluginHook),
    }

    /// A shell snippet, or the path of an executable; run by the project's shell in the worktree.
    #[serde(deny_unknown_fields)]
    pub struct ScriptHook {
        /// What is run.
        pub command: String,
        /// Time limit in seconds.
        #[serde(default = "ScriptHook::default_timeout")]
        pub timeout_seconds: u32,
        /// Whether its failure keeps the agent from starting; `before_work` only.
        #[serde(default)]
        pub blocking: bool,
        /// The exit codes that count as success.
        #[serde(default = "ScriptHook::default_codes")]
        pub success_exit_codes: Vec<i32>,
    }

    /// One of Forge's own actions, run at an event.
    #[serde(deny_unknown_fields)]
    pub struct PluginHook {
        /// Which.
        pub name: Action,
        /// Whether it runs.
        #[serde(default = "PluginHook::default_enabled")]
        pub enabled: bool,
        /// Its parameters.
        #[serde(default)]
        #[specta(type = Option<specta_typescript::Unknown>)]
        pub config: Option<Value>,
    }

    /// A project's lifecycle hooks, by event.
    #[derive(Default)]
    #[serde(deny_unknown_fields, default)]
    pub struct LifecycleHooks {
        /// Work on a task is about to start.
        pub before_work: Vec<LifecycleHook>,
        /// Its agent has been started.
        pub on_work_start: Vec<LifecycleHook>,
        /// Work stopped, and the task is not closed.
        pub on_work_stop: Vec<LifecycleHook>,
        /// The task is done; its worktree is still there.
        pub on_task_done: Vec<LifecycleHook>,
        /// The task is cancelled.
        pub on_task_cancel: Vec<LifecycleHook>,
    }

    /// Which hook: its event and its place in the list of that event.
    pub struct HookRef {
        /// The event.
        pub event: LifecycleEvent,
        /// Its place, from 0.
        pub index: u32,
        /// The script's command, or the plugin's name.
        pub command: String,
    }

    /// The record of one run of a hook.
    pub struct HookRun {
        /// The event.
        pub event: LifecycleEvent,
        /// Its place in the event's list, from 0.
        pub index: u32,
        /// `script` or `plugin`.
        #[serde(rename = "type")]
        pub kind: String,
        /// The script's command, or the plugin's name.
        pub command: String,
        /// How it ended.
        pub status: HookStatus,
        /// The script's exit code, when it exited.
        pub exit_code: Option<i32>,
        /// Output, head and tail.
        pub stdout: String,
        /// Standard error, head and tail.
        pub stderr: String,
        /// How long it took, in milliseconds.
        #[specta(type = f64)]
        pub duration_ms: u64,
        /// Why it failed or was skipped.
        pub error: Option<String>,
        /// When it began.
        pub at: Timestamp,
    }

    /// Result of a hook test. No task was moved and no agent was started.
    pub struct HookTest {
        /// How it ended.
        pub status: HookStatus,
        /// The script's exit code, when it exited.
        pub exit_code: Option<i32>,
        /// Output, head and tail.
        pub stdout: String,
        /// Standard error, head and tail.
        pub stderr: String,
        /// How long it took, in milliseconds.
        #[specta(type = f64)]
        pub duration_ms: u64,
        /// Whether it timed out.
        pub timed_out: bool,
        /// Where it ran.
        pub working_dir: String,
        /// The variables that Forge set for it.
        pub environment: std::collections::BTreeMap<String, String>,
        /// Its log's name, to be read beside those of the task.
        pub log_id: String,
        /// Its log's file.
        pub log_path: String,
        /// Why it failed or was skipped.
        pub error: Option<String>,
    }
}

names! {
    /// How a hook's run ended.
    pub enum HookStatus {
        /// As it should.
        Ok = "ok",
        /// It failed.
        Failed = "failed",
        /// It timed out.
        TimedOut = "timed_out",
        /// Nothing to do, or not applicable to this event.
        Skipped = "skipped",
        /// Forge ended, or the task was moved, while it ran; it is not run again.
        Interrupted = "interrupted",
    }
}

impl ScriptHook {
    const fn default_timeout() -> u32 {
        DEFAULT_HOOK_TIMEOUT_SECONDS
    }

    fn default_codes() -> Vec<i32> {
        vec![0]
    }
}

impl PluginHook {
    const fn default_enabled() -> bool {
        true
    }
}

impl LifecycleHook {
    /// The script's command, or the plugin's name.
    #[must_use]
    pub fn command(&self) -> &str {
        match self {
            Self::Script(script) => &script.command,
            Self::Plugin(plugin) => plugin.name.as_str(),
        }
    }

    /// Whether its failure keeps the agent from being started.
    #[must_use]
    pub const fn is_blocking(&self) -> bool {
        match self {
            Self::Script(script) => script.blocking,
            Self::Plugin(_) => false,
        }
    }

    /// `script` or `plugin`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Script(_) => "script",
            Self::Plugin(_) => "plugin",
        }
    }
}

impl LifecycleHooks {
    /// The hooks of an event, in order.
    #[must_use]
    pub fn of(&self, event: LifecycleEvent) -> &[LifecycleHook] {
        match event {
            LifecycleEvent::BeforeWork => &self.before_work,
            LifecycleEvent::OnWorkStart => &self.on_work_start,
            LifecycleEvent::OnWorkStop => &self.on_work_stop,
            LifecycleEvent::OnTaskDone => &self.on_task_done,
            LifecycleEvent::OnTaskCancel => &self.on_task_cancel,
        }
    }

    /// Everything wrong with them; `prefix` is the path they stand at.
    #[must_use]
    pub fn findings(&self, prefix: &str) -> Vec<Finding> {
        let of_event = |event: &LifecycleEvent| {
            let event = *event;
            let hooks = self.of(event).iter().enumerate();
            hooks.flat_map(move |(index, hook)| {
                findings_of(event, hook, &format!("{prefix}.{event}[{index}]"))
            })
        };
        LifecycleEvent::ALL.iter().flat_map(of_event).collect()
    }
}

/// Everything wrong with one hook at an event; `path` is where it stands.
#[must_use]
pub fn findings_of(event: LifecycleEvent, hook: &LifecycleHook, path: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let LifecycleHook::Script(script) = hook else { return findings };
    let mut add = |field: &str, message: String| {
        findings.push(Finding { path: format!("{path}.{field}"), message });
    };
    if script.command.trim().is_empty() {
        add("command", "must be a shell command, not blank".to_owned());
    }
    if !(1..=MAX_HOOK_TIMEOUT_SECONDS).contains(&script.timeout_seconds) {
        add("timeout_seconds", format!("must be 1 to {MAX_HOOK_TIMEOUT_SECONDS}"));
    }
    if script.success_exit_codes.is_empty() {
        add("success_exit_codes", "must name at least one exit code, such as 0".to_owned());
    }
    if script.blocking && event != LifecycleEvent::BeforeWork {
        add("blocking", format!("only a `before_work` script can block; remove it from `{event}`"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(value: Value) -> Vec<String> {
        let hooks: LifecycleHooks = serde_json::from_value(value).unwrap();
        hooks.findings("lifecycle_hooks").into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn what_is_left_out_takes_its_default() {
        let hooks: LifecycleHooks =
            serde_json::from_value(json!({ "on_task_done": [{ "type": "script", "command": "true" }] }))
                .unwrap();
        let LifecycleHook::Script(script) = &hooks.on_task_done[0] else { panic!("a script") };
        assert_eq!(
            (script.timeout_seconds, script.blocking, script.success_exit_codes.as_slice()),
            (30, false, &[0][..])
        );
    }

    #[test]
    fn only_before_work_can_block() {
        let blocking = json!([{ "type": "script", "command": "true", "blocking": true }]);
        assert_eq!(paths(json!({ "before_work": blocking })), Vec::<String>::new());
        for event in &LifecycleEvent::ALL[1..] {
            assert_eq!(
                paths(json!({ event.as_str(): blocking })),
                [format!("lifecycle_hooks.{event}[0].blocking")]
            );
        }
    }

    #[test]
    fn each_finding_names_its_field() {
        let bad = json!({ "type": "script", "command": " ", "timeout_seconds": 0, "success_exit_codes": [] });
        assert_eq!(
            paths(json!({ "on_work_stop": [{ "type": "plugin", "name": "publish_task_blocked" }, bad] })),
            ["command", "timeout_seconds", "success_exit_codes"]
                .map(|field| format!("lifecycle_hooks.on_work_stop[1].{field}"))
        );
    }

    #[test]
    fn unknown_names_are_refused() {
        for bad in [
            json!({ "type": "plugin", "name": "no-such-thing" }),
            json!({ "type": "script", "command": "true", "colour": "red" }),
            json!({ "type": "nothing" }),
        ] {
            assert!(serde_json::from_value::<LifecycleHook>(bad.clone()).is_err(), "{bad}");
        }
    }
}
