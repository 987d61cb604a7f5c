//! What an agent is doing, in one line, as its entries tell it.

use forge_model::log::EntryKind;
use serde_json::Value;

use crate::json::text;

/// What an entry says about what is being done.
pub(crate) fn doing(kind: EntryKind, body: &Value) -> Option<String> {
    let field = |name: &str| text(body, name);
    let line = |name: &str| field(name).and_then(first_line).map(str::to_owned);
    match kind {
        EntryKind::AssistantText => line("text"),
        EntryKind::Reasoning => Some("Thinking".to_owned()),
        EntryKind::Command => {
            let command = line("command")?;
            Some(if body.get("exit_code").is_some() { command } else { format!("Running {command}") })
        }
        EntryKind::FileChange => field("path").map(|path| format!("Editing {path}")),
        EntryKind::ToolCall => field("title").or_else(|| field("name")).map(|name| format!("Using {name}")),
        EntryKind::Notice if field("code") == Some("activity") => line("text"),
        EntryKind::Plan => Some("Planning".to_owned()),
        EntryKind::Review => Some("Reviewing".to_owned()),
        EntryKind::ApprovalRequest => Some("Waiting for an approval".to_owned()),
        EntryKind::SessionStarted
        | EntryKind::UserMessage
        | EntryKind::ApprovalResolved
        | EntryKind::Usage
        | EntryKind::Notice
        | EntryKind::TurnEnded
        | EntryKind::ProcessExit
        | EntryKind::HookRun
        | EntryKind::Stdout
        | EntryKind::Stderr
        | EntryKind::Raw => None,
    }
}

/// The first line that is not blank.
pub(crate) fn first_line(text: &str) -> Option<&str> {
    text.lines().find(|line| !line.trim().is_empty())
}
