//! Agent profiles: which program runs, how, and within which limits.

use std::{collections::BTreeMap, ffi::OsStr};

use serde_json::Value;

use crate::{
    contract,
    environment::{AgentEnvironment, looks_secret},
    ids::AgentId,
    machine::required,
    names,
    redact::placeholder,
    sandbox::SandboxMode,
    time::Timestamp,
    usage::MAX_FIGURE,
    workflow::{Finding, key_path, nul_findings},
};

names! {
    /// The protocol that drives an agent program.
    pub enum AdapterKind {
        /// A command; its exit code decides.
        Shell = "shell",
        /// Codex, through the JSON-RPC of its app server.
        Codex = "codex",
        /// Claude Code, through stream-json.
        Claude = "claude",
        /// Any program that speaks the Agent Client Protocol, version 1.
        Acp = "acp",
    }
}

names! {
    /// What an agent program may do without a person's word. Whatever the mode, a program's own guards stay as they
    /// are, and roles that must not write (reviewer, planner, drafter) run as `read_only`.
    pub enum PermissionMode {
        /// Read; whatever would change something is refused.
        ReadOnly = "read_only",
        /// Read; whatever would change something is asked.
        Ask = "ask",
        /// Change files of the worktree; what goes beyond is asked. The default.
        Edit = "edit",
        /// Change files and run commands in the worktree; what the program would still ask is refused, so that nobody
        /// is waited for.
        Unattended = "unattended",
    }
}

contract! {
    /// An agent profile.
    pub struct Agent {
        /// Identity.
        pub id: AgentId,
        /// Display name; unique.
        pub name: String,
        /// How it is driven.
        pub adapter: AdapterKind,
        /// The adapter's own configuration: a [`ShellConfig`] for `shell`, a [`ProgramConfig`] for the others.
        #[specta(type = specta_typescript::Unknown)]
        pub config: Value,
        /// The requested model; the command of a `shell` agent finds it in `FORGE_MODEL`.
        pub model: Option<String>,
        /// Maximum number of its concurrent runs.
        pub max_concurrent: u32,
        /// While true, no new runs start on it.
        pub paused: bool,
        /// Current runs.
        pub running: u32,
        /// When it was created.
        pub created_at: Timestamp,
        /// When it last changed.
        pub updated_at: Timestamp,
    }
}

contract! {
    /// A window of a provider's rate limit, as an agent's program last reported it.
    #[derive(Eq)]
    pub struct LimitWindow {
        /// The program's name for it.
        pub name: String,
        /// Its length in minutes; null if the program did not say.
        pub minutes: Option<u32>,
        /// How much of it is used, in percent; above 100 when more was granted.
        pub used_percent: u32,
        /// When it begins anew.
        pub resets_at: Option<Timestamp>,
        /// When the program reported it.
        pub seen_at: Timestamp,
    }

    /// How an agent's provider limits it.
    #[derive(Eq)]
    pub struct AgentLimits {
        /// The agent.
        pub agent_id: AgentId,
        /// Until when no run starts, after the provider refused one.
        pub limited_until: Option<Timestamp>,
        /// Windows that have not begun anew since they were reported.
        pub windows: Vec<LimitWindow>,
    }
}

impl LimitWindow {
    /// Whether what was reported still holds.
    #[must_use]
    pub fn holds(&self, now: Timestamp) -> bool {
        self.resets_at.is_none_or(|at| at > now)
    }

    /// The length for people, such as `5-hour`; the program's name when it did not say.
    #[must_use]
    pub fn label(&self) -> String {
        const HOUR: u32 = 60;
        const DAY: u32 = 24 * HOUR;
        match self.minutes {
            Some(minutes) if minutes >= DAY && minutes.is_multiple_of(DAY) => {
                format!("{}-day", minutes / DAY)
            }
            Some(minutes) if minutes >= HOUR && minutes.is_multiple_of(HOUR) => {
                format!("{}-hour", minutes / HOUR)
            }
            Some(minutes) => format!("{minutes}-minute"),
            None => self.name.replace('_', " "),
        }
    }
}

/// The fullest of an agent's windows that still hold.
#[must_use]
pub fn fullest_window(windows: &[LimitWindow], now: Timestamp) -> Option<&LimitWindow> {
    windows.iter().filter(|window| window.holds(now)).max_by_key(|window| window.used_percent)
}

impl Agent {
    /// The profile as it is shown: secrets of its `env` are replaced by their placeholders.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        for (name, value) in secrets_of(&mut self.config) {
            *value = Value::from(placeholder(name));
        }
        self
    }
}

/// Puts stored values back where a configuration has the placeholders that were shown for them. `stored` tells them by
/// their names.
pub fn restore_secrets<'s>(config: &mut Value, stored: impl Fn(&str) -> Option<&'s str>) {
    for (name, value) in secrets_of(config) {
        if value.as_str() == Some(&placeholder(name))
            && let Some(kept) = stored(name)
        {
            *value = Value::from(kept);
        }
    }
}

/// The variable's value in a configuration's `env`.
#[must_use]
pub fn env_value<'c>(config: &'c Value, name: &str) -> Option<&'c str> {
    config.get("env")?.get(name)?.as_str()
}

/// Variables of a configuration's `env` whose names look like a secret's.
fn secrets_of(config: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    let env = config.get_mut("env").and_then(Value::as_object_mut);
    env.into_iter().flatten().filter(|(name, value)| value.is_string() && looks_secret(OsStr::new(name)))
}

contract! {
    /// The configuration of a `shell` agent.
    #[serde(deny_unknown_fields)]
    pub struct ShellConfig {
        /// A program (with `args`) or a shell line (without); `{prompt_file}` stands for the prompt's path.
        pub command: String,
        /// The program's arguments, each taken as it is.
        #[serde(default)]
        pub args: Option<Vec<String>>,
        /// Environment on top of the user's.
        #[serde(default)]
        pub env: Option<BTreeMap<String, String>>,
        /// How hard it is asked to think; the command finds it in `FORGE_EFFORT`.
        #[serde(default)]
        pub effort: Option<String>,
        /// Variables of the user's environment that it gets although they look like secrets.
        #[serde(default)]
        pub environment: Option<AgentEnvironment>,
        /// How far its runs are confined; as its project says when absent.
        #[serde(default)]
        pub sandbox: Option<SandboxMode>,
        /// Labels that a machine must all have for its runs, none for this computer; as its project says when absent.
        #[serde(default)]
        pub machines: Option<Vec<String>>,
        /// Wall-clock limit of one run in seconds; default 3600.
        #[serde(default)]
        pub wall_clock_seconds: Option<u32>,
        /// Longest silence in seconds before the run is ended; default 600.
        #[serde(default)]
        pub silence_seconds: Option<u32>,
        /// What one run may cost in micro-dollars; it is stopped there.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
        /// Text before every prompt.
        #[serde(default)]
        pub prompt_prefix: Option<String>,
    }

    /// The configuration of an agent with a protocol: `codex`, `claude` and `acp`.
    #[derive(Default)]
    #[serde(deny_unknown_fields)]
    pub struct ProgramConfig {
        /// Its program, a name on the login shell's path or a path; `codex` and `claude` have a default.
        #[serde(default)]
        pub program: Option<String>,
        /// Arguments besides those of the adapter; for `acp` what makes the program speak the protocol, such as
        /// `["acp"]`.
        #[serde(default)]
        pub args: Option<Vec<String>>,
        /// Environment on top of the user's.
        #[serde(default)]
        pub env: Option<BTreeMap<String, String>>,
        /// Variables of the user's environment that it gets although they look like secrets.
        #[serde(default)]
        pub environment: Option<AgentEnvironment>,
        /// How far its runs are confined; as its project says when absent.
        #[serde(default)]
        pub sandbox: Option<SandboxMode>,
        /// Labels that a machine must all have for its runs, none for this computer; as its project says when absent.
        #[serde(default)]
        pub machines: Option<Vec<String>>,
        /// How hard it is asked to think, in the program's own words.
        #[serde(default)]
        pub effort: Option<String>,
        /// What it may do without being asked; `edit` when absent.
        #[serde(default)]
        pub permissions: Option<PermissionMode>,
        /// Text before every prompt.
        #[serde(default)]
        pub prompt_prefix: Option<String>,
        /// Wall-clock limit of one run in seconds; default 3600.
        #[serde(default)]
        pub wall_clock_seconds: Option<u32>,
        /// Longest silence in seconds before the run is ended; default 600.
        #[serde(default)]
        pub silence_seconds: Option<u32>,
        /// How often the model may be called in one run. The protocol of `acp` does not tell of calls: there it is how
        /// often the agent goes on after its tools have ended, and it is stopped as it begins to.
        #[serde(default)]
        pub turns: Option<u32>,
        /// What one run may cost in micro-dollars; it is stopped there.
        #[serde(default)]
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
    }

    /// A model that an agent program offers.
    #[derive(Eq)]
    pub struct AgentModel {
        /// Value for a profile's `model`.
        pub id: String,
        /// Display name.
        pub name: String,
        /// Supported efforts, as values for a profile's `effort`.
        pub efforts: Vec<String>,
        /// Whether it is the program's default.
        pub is_default: bool,
    }
}

/// What every profile says, whatever its adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// What its runs may do without being asked.
    pub permissions: PermissionMode,
    /// Text before every prompt.
    pub prompt_prefix: Option<String>,
    /// Wall-clock limit of one run in seconds.
    pub wall_clock_seconds: Option<u32>,
    /// Longest silence of one run in seconds.
    pub silence_seconds: Option<u32>,
    /// How often the model may be called in one run.
    pub turns: Option<u32>,
    /// What one run may cost in micro-dollars.
    pub cost_micro_usd: Option<u64>,
    /// Names of variables that it gets although they look like secrets.
    pub pass: Vec<String>,
    /// How far its runs are confined, where it says so itself.
    pub sandbox: Option<SandboxMode>,
    /// The machines that its runs require, where it says so itself; an empty list is this computer.
    pub machines: Option<Vec<String>>,
}

/// What is wrong with a profile's configuration beyond its shape: limits that no run can keep, and text that no program
/// can be given.
#[must_use]
pub fn config_findings(config: &Value) -> Vec<Finding> {
    let mut findings = nul_findings(config, "config");
    for limit in ["wall_clock_seconds", "silence_seconds", "turns"] {
        if config.get(limit).and_then(Value::as_u64) == Some(0) {
            findings.push(Finding::new(
                format!("config.{limit}"),
                "must be at least 1; null for the default limit",
            ));
        }
    }
    if config.get("cost_micro_usd").and_then(Value::as_u64).is_some_and(|figure| figure > MAX_FIGURE) {
        findings.push(Finding::new("config.cost_micro_usd", "must be below 2^53"));
    }
    // What is no list of texts is refused by its shape.
    let machines = config.get("machines").cloned().map(serde_json::from_value::<Vec<String>>);
    if let Some(Ok(labels)) = machines {
        findings.extend(required::findings(&labels, "config.machines"));
    }
    let names = config.get("env").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
    for name in names.filter(|name| name.is_empty() || name.contains(['=', '\0'])) {
        let message = "must be a variable name, not empty and without `=`";
        findings.push(Finding::new(key_path("config.env", name), message));
    }
    findings
}

impl Profile {
    /// The profile of an agent. A configuration that is not valid says nothing; it is refused when it is written.
    #[must_use]
    pub fn of(agent: &Agent) -> Self {
        match agent.adapter {
            AdapterKind::Shell => {
                let config: Option<ShellConfig> = serde_json::from_value(agent.config.clone()).ok();
                Self {
                    permissions: PermissionMode::Unattended,
                    prompt_prefix: config.as_ref().and_then(|config| config.prompt_prefix.clone()),
                    wall_clock_seconds: config.as_ref().and_then(|config| config.wall_clock_seconds),
                    silence_seconds: config.as_ref().and_then(|config| config.silence_seconds),
                    turns: None,
                    cost_micro_usd: config.as_ref().and_then(|config| config.cost_micro_usd),
                    sandbox: config.as_ref().and_then(|config| config.sandbox),
                    machines: config.as_ref().and_then(|config| config.machines.clone()),
                    pass: config.and_then(|config| config.environment).unwrap_or_default().pass,
                }
            }
            AdapterKind::Codex | AdapterKind::Claude | AdapterKind::Acp => {
                let config: ProgramConfig = serde_json::from_value(agent.config.clone()).unwrap_or_default();
                Self {
                    permissions: config.permissions.unwrap_or(PermissionMode::Edit),
                    prompt_prefix: config.prompt_prefix,
                    wall_clock_seconds: config.wall_clock_seconds,
                    silence_seconds: config.silence_seconds,
                    turns: config.turns,
                    cost_micro_usd: config.cost_micro_usd,
                    sandbox: config.sandbox,
                    machines: config.machines,
                    pass: config.environment.unwrap_or_default().pass,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_have_the_length_that_people_say_and_end_when_they_begin_anew() {
        let window = |minutes: Option<u32>, used_percent, resets_at: Option<i64>| LimitWindow {
            name: "seven_day".to_owned(),
            minutes,
            used_percent,
            resets_at: resets_at.map(Timestamp),
            seen_at: Timestamp(0),
        };
        for (minutes, expected) in
            [(Some(300), "5-hour"), (Some(10_080), "7-day"), (Some(90), "90-minute"), (None, "seven day")]
        {
            assert_eq!(window(minutes, 0, None).label(), expected);
        }
        let all =
            [window(Some(300), 99, Some(10)), window(Some(10_080), 40, Some(99)), window(None, 5, None)];
        assert_eq!(fullest_window(&all, Timestamp(9)), Some(&all[0]));
        assert_eq!(fullest_window(&all, Timestamp(10)), Some(&all[1]));
        assert_eq!(fullest_window(&all[2..], Timestamp(99)), Some(&all[2]));
    }

    #[test]
    fn secrets_of_a_profile_are_shown_as_placeholders_and_come_back_from_what_is_stored() {
        let config = json!({ "program": "x", "env": { "MY_API_KEY": "k-1234", "HOME": "/home/me" } });
        let mut shown = config.clone();
        for (name, value) in secrets_of(&mut shown) {
            *value = Value::from(placeholder(name));
        }
        let placeholders = json!({ "MY_API_KEY": "[redacted: MY_API_KEY]", "HOME": "/home/me" });
        assert_eq!(shown["env"], placeholders);
        restore_secrets(&mut shown, |name| env_value(&config, name));
        assert_eq!(shown, config);
        let mut changed = json!({ "env": { "MY_API_KEY": "other", "NEW_TOKEN": "[redacted: NEW_TOKEN]" } });
        let expected = changed.clone();
        restore_secrets(&mut changed, |name| env_value(&config, name));
        assert_eq!(changed, expected, "what is new stays");
    }

    #[test]
    fn a_configuration_that_no_run_can_keep_is_refused_by_its_fields() {
        let paths = |config: Value| {
            config_findings(&config).into_iter().map(|finding| finding.path).collect::<Vec<String>>()
        };
        let good = json!({ "command": "sh", "env": { "A_B": "" }, "wall_clock_seconds": 1, "silence_seconds": null });
        assert_eq!(paths(good), [""; 0]);
        let wrong = json!({
            "command": "s\0h", "args": ["a", "b\0"], "env": { "": "1", "A=B": "2", "C": "\0" },
            "wall_clock_seconds": 0, "silence_seconds": 0, "turns": 0, "machines": ["gpu", ""],
        });
        assert_eq!(
            paths(wrong),
            [
                "config.command",
                "config.args[1]",
                "config.env.C",
                "config.wall_clock_seconds",
                "config.silence_seconds",
                "config.turns",
                "config.machines[1]",
                "config.env[\"\"]",
                "config.env[\"A=B\"]",
            ]
        );
    }
}
