//! `forge hook`.

use forge_api::{operations::HookTest, ops::hooks::TestHook};
use forge_model::{
    hook::{self, HookStatus},
    workflow::LifecycleEvent,
};

use super::task::find_in;
use crate::{
    answer::Answer,
    args::Hook,
    at::At,
    error::{CliError, Kind},
    shown::printable,
};

pub(crate) async fn run(at: &At, command: Hook) -> Result<Answer, CliError> {
    let Hook::Test { event, index, task } = command;
    let project_id = at.project().await?;
    let task_id = match task {
        Some(task) => Some(find_in(at, None, &task).await?.value.id),
        None => None,
    };
    let named = event.parse::<LifecycleEvent>();
    let event = named.map_err(|_| {
        let known: Vec<&str> = LifecycleEvent::ALL.iter().map(|event| event.as_str()).collect();
        CliError::Told {
            kind: Kind::Usage,
            message: format!("`{event}` is no event of a hook"),
            hint: format!("Events: {}.", known.join(", ")),
        }
    })?;
    let input = TestHook { project_id, task_id, event, hook_index: index, hook: None, log_id: None };
    let test = at.call(HookTest, input).await?;
    let text = shown(&test);
    Ok(Answer { good: test.status == HookStatus::Ok, ..Answer::new(test.json, text) })
}

/// How a hook ended, what it printed, and what it was told.
fn shown(test: &hook::HookTest) -> String {
    let exit = test.exit_code.map(|code| format!(", exit {code}")).unwrap_or_default();
    let mut lines =
        vec![format!("{}{exit}, after {} ms in {}", test.status, test.duration_ms, test.working_dir)];
    lines.extend(test.error.clone());
    for (name, printed) in [("stdout", &test.stdout), ("stderr", &test.stderr)] {
        if !printed.trim().is_empty() {
            lines.push(format!("{name}:\n{}", printed.trim_end()));
        }
    }
    lines.push("environment:".to_owned());
    lines.extend(test.environment.iter().map(|(name, value)| format!("  {name}={value}")));
    printable(&lines.join("\n"))
}
