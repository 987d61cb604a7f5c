//! The command line of a run.

use forge_model::agent::{PermissionMode, ProgramConfig};

use crate::{AgentError, ForgeMcp, Launch, SessionRequest};

/// What makes it speak by lines of JSON.
pub(super) const STREAMS: &[&str] =
    &["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

/// What the program is told for every conversation, too. Its answers come as events, questions included; our own
/// messages are given back when they are taken.
const CONVERSATION: &[&str] = &[
    // What a call used is told as it ends, not with the turn alone.
    "--include-partial-messages",
    "--replay-user-messages",
    "--permission-prompt-tool",
    "stdio",
];

/// Tools that make no sense in a run that has one worktree and ends with its turn.
const OUT_OF_PLACE: &[&str] =
    &["EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "CronList", "ScheduleWakeup"];

/// Tools that write.
const WRITERS: &[&str] = &["Write", "Edit", "NotebookEdit"];

/// What lifts the program's own guards. Never ours to pass on.
const FORBIDDEN: &[&str] = &["dangerously-skip-permissions", "bypassPermissions"];

/// The program's environment, unless the profile says otherwise: what it starts ends with its turn, and it stays the
/// version that it is.
pub(super) const ENVIRONMENT: &[(&str, &str)] =
    &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"), ("DISABLE_AUTOUPDATER", "1")];

/// What a Claude Code around Forge leaves in the environment: a program that finds it takes itself for a part of it.
pub(super) const OF_ANOTHER: &[&str] = &["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID"];

/// The arguments of a run; `session_id` is the id of a new session.
///
/// # Errors
/// `Unavailable` when the profile would lift the program's guards.
pub(super) fn of(
    launch: &Launch,
    config: &ProgramConfig,
    session_id: &str,
) -> Result<Vec<String>, AgentError> {
    let lifted = |arg: &&String| FORBIDDEN.iter().any(|forbidden| arg.contains(forbidden));
    let sandbox = config.env.iter().flatten().any(|(name, _)| name == "IS_SANDBOX");
    if let Some(arg) = config.args.iter().flatten().find(lifted) {
        return Err(guards_stay(&format!("its profile has the argument `{arg}`")));
    } else if sandbox {
        return Err(guards_stay("its profile sets `IS_SANDBOX`"));
    }
    let mut args: Vec<String> = STREAMS.iter().chain(CONVERSATION).map(|&arg| arg.to_owned()).collect();
    let mut option = |name: &str, value: &str| args.push(format!("--{name}={value}"));
    match &launch.session {
        SessionRequest::New => option("session-id", session_id),
        SessionRequest::Resume(id) | SessionRequest::Fork(id) => option("resume", id),
    }
    if let Some(model) = launch.model.as_deref().filter(|model| !model.is_empty()) {
        option("model", model);
    }
    if let Some(effort) = config.effort.as_deref().filter(|effort| !effort.is_empty()) {
        option("effort", effort);
    }
    if let Some(turns) = launch.limits.turns {
        option("max-turns", &turns.to_string());
    }
    if let Some(limit) = launch.limits.cost {
        // It counts what this process spends, whatever the conversation cost before. Nothing left is no budget for it.
        let micro = limit.left_micro_usd.max(1);
        option("max-budget-usd", &format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000));
    }
    let (mode, denied) = match launch.permissions {
        PermissionMode::ReadOnly => ("default", [OUT_OF_PLACE, WRITERS].concat()),
        PermissionMode::Ask => ("default", OUT_OF_PLACE.to_vec()),
        PermissionMode::Edit | PermissionMode::Unattended => ("acceptEdits", OUT_OF_PLACE.to_vec()),
    };
    option("permission-mode", mode);
    option("disallowedTools", &denied.join(","));
    // Not the tools that write: allowed by name they could write anywhere.
    let unattended = launch.permissions == PermissionMode::Unattended;
    let bash = unattended.then(|| "Bash".to_owned());
    // What a person gave it to read is not asked for again. Two slashes: a path from the root.
    let given = launch.given.as_ref().map(|folder| format!("Read(/{}/**)", folder.display()));
    let forge = launch.mcp.as_ref().map(|_| ForgeMcp::allowed_in_claude(unattended));
    let allowed: Vec<String> = bash.into_iter().chain(given).chain(forge.into_iter().flatten()).collect();
    if !allowed.is_empty() {
        option("allowedTools", &allowed.join(","));
    }
    if let Some(mcp) = &launch.mcp {
        option("mcp-config", &mcp.for_claude());
    }
    if matches!(launch.session, SessionRequest::Fork(_)) {
        args.push("--fork-session".to_owned());
    }
    Ok(args)
}

fn guards_stay(what: &str) -> AgentError {
    AgentError::Unavailable {
        program: "claude".to_owned(),
        detail: format!("{what}, which would disable the program's safeguards"),
    }
}
