//! The one log: what every adapter, hook run and check step writes, in one shape.
//!
//! An entry is normalised once, when it is written. Entries are append-only; a later entry with the
//! same `(turn, id)` supersedes an earlier one when the log is shown (a command that started and
//! then finished is two entries with one id). Where the bytes live is `forge-agents`' business.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specta::Type;

use crate::names;

names! {
    /// What an entry tells. Closed: an event no adapter knows becomes [`EntryKind::Raw`].
    pub enum EntryKind {
        /// The program has started. Body: `{session_id?, model?, program?}`.
        SessionStarted = "session_started",
        /// A message to the agent. Body: `{text}`.
        UserMessage = "user_message",
        /// A message of the agent. Body: `{text}`. [`EntryKind::read`] also takes the older name `assistant`.
        AssistantText = "assistant_text",
        /// The agent's reasoning. Body: `{text}`.
        Reasoning = "reasoning",
        /// A command it ran. Body: `{command, cwd?, exit_code?, output?}`.
        Command = "command",
        /// A file it changed. Body: `{path, change, diff?}`.
        FileChange = "file_change",
        /// Any other tool. Body: `{name, input?, output?}`.
        ToolCall = "tool_call",
        /// Its plan. Body: `{steps: [{text, done}]}`.
        Plan = "plan",
        /// A request for approval. Body: `{text, ..}`.
        ApprovalRequest = "approval_request",
        /// The answer to an [`EntryKind::ApprovalRequest`] of the same id. Body: `{answer}`.
        ApprovalResolved = "approval_resolved",
        /// Tokens and cost. Body: [`crate::usage::UsageSample`].
        Usage = "usage",
        /// A message from Forge about the run. Body: `{text, code?}`.
        Notice = "notice",
        /// Findings of a review. Body: as the adapter gives them.
        Review = "review",
        /// The agent's turn has ended. Body: `{summary?}`.
        TurnEnded = "turn_ended",
        /// The process has ended. Body: `{code?, signal?, duration_ms, left_behind}`.
        ProcessExit = "process_exit",
        /// The record of a lifecycle hook's run, its log's last entry. Body: [`crate::hook::HookRun`].
        HookRun = "hook_run",
        /// Text on standard output. Body: `{text}`, one or more lines.
        Stdout = "stdout",
        /// Text on standard error. Body: `{text}`, one or more lines.
        Stderr = "stderr",
        /// An event that is not normalised. Body: the event.
        Raw = "raw",
    }
}

names! {
    /// How far an entry with a lifetime (a command, a tool call, an approval) has come.
    pub enum EntryStatus {
        /// Under way.
        Running = "running",
        /// Ended well.
        Completed = "completed",
        /// Ended badly.
        Failed = "failed",
        /// Refused by a person or by policy.
        Declined = "declined",
        /// Stopped before its end.
        Cancelled = "cancelled",
    }
}

impl EntryKind {
    /// The kind that `name` means in a log, older names included.
    #[must_use]
    pub fn read(name: &str) -> Option<Self> {
        if name == "assistant" { Some(Self::AssistantText) } else { name.parse().ok() }
    }
}

/// One entry of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Type, JsonSchema)]
pub struct LogEntry {
    /// Place in the log, from 1, without gaps.
    #[specta(type = f64)]
    pub seq: u64,
    /// When it was written, in Unix milliseconds.
    #[specta(type = f64)]
    pub at: i64,
    /// The execution (or hook run, or check step) that wrote it.
    pub execution_id: String,
    /// Turn of the conversation, from 1.
    pub turn: u32,
    /// Identity within the turn: a later entry with the same `(turn, id)` supersedes this one.
    pub id: String,
    /// The entry this one belongs to, by id: a sub-agent's work, a tool's parts.
    pub parent_id: Option<String>,
    /// What it tells.
    pub kind: EntryKind,
    /// How far it has come, for entries with a lifetime.
    pub status: Option<EntryStatus>,
    /// The content, by kind. Text over 64 KiB is kept apart: instead of `text` the body then has
    /// `text_head`, `text_bytes` and `blob`.
    #[specta(type = specta_typescript::Unknown)]
    pub body: serde_json::Value,
    /// Where the raw bytes behind this entry start in the raw log, uncompressed.
    #[specta(type = f64)]
    pub raw_offset: u64,
}

/// A page of a log, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Type, JsonSchema)]
pub struct LogPage {
    /// The entries, by ascending `seq`.
    pub entries: Vec<LogEntry>,
    /// `seq` of the first entry of this page; 0 when the page is empty.
    #[specta(type = f64)]
    pub first_seq: u64,
    /// `seq` of the last entry of this page; 0 when the page is empty.
    #[specta(type = f64)]
    pub last_seq: u64,
    /// How many entries the log holds, which is also the `seq` of its last one.
    #[specta(type = f64)]
    pub total: u64,
}
