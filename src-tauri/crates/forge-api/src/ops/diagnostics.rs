//! What helps somebody else to find a fault in this Forge, as one text that its owner can read before it is sent.
//!
//! Invariant: known secrets, values of variables, titles, prompts, diffs and logs of runs are not in it.

use std::fmt::{Arguments, Write as _};

use forge_engine::EngineLog;
use forge_model::{actor::Actor, environment::looks_secret};
use serde_json::Value;

use super::{Empty, answer, system};
use crate::{Api, ApiError};

/// How much of the engine's log is told.
const LOG_BYTES: u64 = 256 << 10;
/// What stands for what is left out.
const LEFT_OUT: &str = "(left out)";
/// Settings whose values are those of variables: a name may not show that one is secret.
const OF_VARIABLES: [&str; 2] = ["env", "set"];

answer! {
    /// What helps somebody else to find a fault in this Forge.
    pub struct Diagnostics {
        /// The text, in Markdown. Read it before you send it.
        pub text: String,
    }
}

pub(crate) async fn get(api: Api, actor: Actor, _: Empty) -> Result<Diagnostics, ApiError> {
    let engine = api.engine();
    let meta = system::meta(api.clone(), actor.clone(), Empty {}).await?;
    let doctor = system::doctor(api.clone(), actor, Empty {}).await?;
    let usage = engine.storage_usage().await?;
    let mut text = format!(
        "# Forge diagnostics\n\nRead this before you send it. Secrets that Forge knows, values of variables, titles, \
         prompts, diffs and logs of runs are left out.\n\nForge {}, git {}, {}, {}\n\n## Checks\n\n",
        meta.version,
        meta.git_version,
        system_name(),
        engine.now(),
    );
    for finding in &doctor.findings {
        let mark = if finding.ok { "ok" } else { "BAD" };
        line(&mut text, format_args!("- {mark} {}: {}", finding.subject, finding.detail));
    }
    line(&mut text, format_args!("\n## Storage\n"));
    line(&mut text, format_args!("- database: {} bytes", usage.database_bytes));
    line(&mut text, format_args!("- backups: {} bytes", usage.backups_bytes));
    if let Some(bytes) = usage.logs_bytes {
        line(&mut text, format_args!("- logs of runs: {bytes} bytes"));
    }
    line(&mut text, format_args!("- events: {}\n\n## Settings of projects\n", usage.events));
    for project in engine.projects().await? {
        let (_, own) = engine.settings(&project.id).await?;
        line(&mut text, format_args!("- {}: {}", project.id, without_secrets(own)));
    }
    let log = EngineLog::last_lines(engine.data_dir(), LOG_BYTES);
    let log = log.unwrap_or_else(|error| format!("The log cannot be read: {error}"));
    line(&mut text, format_args!("\n## Log\n\n````\n{}\n````", log.trim_end().replace("````", "~~~~")));
    Ok(Diagnostics { text: engine.redactor(None).text(&text).into_owned() })
}

fn line(text: &mut String, words: Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{words}");
}

/// The name of the operating system and of its kernel, where they can be read.
fn system_name() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = name.unwrap_or(std::env::consts::OS).trim_matches('"');
    format!("{name} (kernel {}, {})", kernel.trim(), std::env::consts::ARCH)
}

/// Settings without the values of variables, and of what has a name like a secret's.
fn without_secrets(mut settings: Value) -> Value {
    leave_out(&mut settings);
    settings
}

fn leave_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if looks_secret(name.as_ref()) {
                    *value = LEFT_OUT.into();
                } else if OF_VARIABLES.contains(&name.as_str()) {
                    let variables = value.as_object_mut().into_iter().flatten();
                    variables.for_each(|(_, value)| *value = LEFT_OUT.into());
                } else {
                    leave_out(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(leave_out),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_variables_and_of_secrets_are_left_out_of_settings() {
        let settings = json!({
            "services": [{ "name": "web", "env": { "GREETING": "hello" } }],
            "environment": { "set": { "PLAIN": "1" }, "pass": ["LANG"] },
            "api_key": "k",
            "prLimit": 3,
        });
        let expected = json!({
            "services": [{ "name": "web", "env": { "GREETING": LEFT_OUT } }],
            "environment": { "set": { "PLAIN": LEFT_OUT }, "pass": ["LANG"] },
            "api_key": LEFT_OUT,
            "prLimit": 3,
        });
        assert_eq!(without_secrets(settings), expected);
    }
}
