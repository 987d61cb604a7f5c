//! A conversation with Claude Code, as a state machine.
//!
//! Greeting, prompt, events, result. Words that are said while it works go to the program at once; it takes them
//! into the running turn, or makes a turn of its own of them, and says which of them it has taken: the run ends with
//! the first result behind which nothing of ours waits. A reviewer that gives no verdict is asked for it once.

use std::{collections::BTreeMap, path::PathBuf};

use forge_model::{
    agent::PermissionMode,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
};
use forge_prompt::audit::VERDICT_MISSING;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Builder;

use crate::{
    AgentError, Dialogue, DialogueContext, DialogueEnd, Launch, NewEntry, ReportedWindow, RunCommand,
    SessionRequest,
    clock::now_ms,
    doing::{doing, first_line},
    end, json, summary,
    verdict::Reminder,
};

use super::{
    asks::{Asks, Step},
    calls::Calls,
    entries::{Ended, Tools},
    outcome::{self, CallFailures, Given},
    spending::Spending,
    wire::{self, Call, Event, Init, Message, Retry, Told, TurnResult},
};

/// The conversation of one run.
#[derive(Debug)]
pub(super) struct ClaudeDialogue {
    prompt: String,
    goes_on: bool,
    given: Given,
    now_ms: fn() -> i64,
    requests: u32,
    /// The prompt's own message, once it was sent.
    prompted: Option<String>,
    /// What the ids of messages are counted from, and how many there were.
    run: String,
    messages: u64,
    /// Words that came before the prompt was sent.
    early: Vec<(String, String)>,
    /// Words that were sent and not yet taken: by message, their id and text.
    waiting: BTreeMap<String, (String, String)>,
    interrupting: bool,
    over: bool,
    turn: u32,
    session_id: Option<String>,
    asks: Asks,
    tools: Tools,
    spending: Spending,
    calls: Calls,
    failures: CallFailures,
    /// How full the windows of the account's limits are.
    windows: Vec<ReportedWindow>,
    verdict: Reminder,
    summary: Option<String>,
    result: Option<Result<(), AgentError>>,
    is_lost: bool,
}

/// What a conversation is about.
#[derive(Debug)]
pub(super) struct Brief {
    /// Which process of which run: no two have the same.
    pub run: String,
    pub prompt: String,
    pub role: ExecutionRole,
    pub permissions: PermissionMode,
    pub worktree: PathBuf,
    pub limits: Given,
    /// Whether it goes on with an earlier one, and what the run before left.
    pub goes_on: bool,
    pub carry: Option<Value>,
}

impl Brief {
    pub(super) fn of(launch: &Launch) -> Self {
        Self {
            run: format!("{} {}", launch.execution_id, launch.process),
            prompt: launch.prompt.clone(),
            role: launch.role,
            permissions: launch.permissions,
            worktree: launch.worktree.clone(),
            limits: Given { turns: launch.limits.turns, cost: launch.limits.cost },
            goes_on: launch.session != SessionRequest::New,
            carry: launch.carry.clone(),
        }
    }
}

impl ClaudeDialogue {
    pub(super) fn new(brief: Brief) -> Self {
        let Brief { run, prompt, role, permissions, worktree, limits, goes_on, carry } = brief;
        Self {
            prompt,
            goes_on,
            given: limits,
            now_ms,
            requests: 0,
            prompted: None,
            run,
            messages: 0,
            early: Vec::new(),
            waiting: BTreeMap::new(),
            interrupting: false,
            over: false,
            turn: 1,
            session_id: None,
            asks: Asks::new(permissions),
            tools: Tools::new(worktree),
            spending: Spending::new(carry.as_ref(), goes_on),
            calls: Calls::default(),
            failures: CallFailures::default(),
            windows: Vec::new(),
            verdict: Reminder::new(role),
            summary: None,
            result: None,
            is_lost: false,
        }
    }

    /// Whether the program does not know the session that it was to go on with.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    #[cfg(test)]
    pub(super) const fn at(mut self, now_ms: fn() -> i64) -> Self {
        self.now_ms = now_ms;
        self
    }

    fn request_id(&mut self) -> String {
        self.requests += 1;
        format!("forge-{}", self.requests)
    }

    /// The id of the next message. A later engine that says the message again gives it the same one: by that it knows what
    /// the program has taken.
    fn message_id(&mut self) -> String {
        self.messages += 1;
        let digest = Sha256::digest(format!("{} {}", self.run, self.messages));
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(digest).for_each(|(byte, part)| *byte = part);
        Builder::from_random_bytes(bytes).into_uuid().to_string()
    }

    fn end(&mut self, cx: &mut DialogueContext<'_>) {
        self.over = true;
        cx.end();
    }

    /// The program is greeted: now it gets the prompt, and what was said meanwhile.
    fn start_turn(&mut self, cx: &mut DialogueContext<'_>) {
        if self.prompted.is_some() {
            return;
        }
        let uuid = self.message_id();
        cx.send(&wire::user_message(&uuid, &self.prompt));
        self.prompted = Some(uuid);
        for (id, text) in std::mem::take(&mut self.early) {
            self.say(id, text, cx);
        }
    }

    fn say(&mut self, id: String, text: String, cx: &mut DialogueContext<'_>) {
        let uuid = self.message_id();
        cx.send(&wire::user_message(&uuid, &text));
        self.waiting.insert(uuid, (id, text));
    }

    /// The program took one of our messages.
    fn taken(&mut self, uuid: &str, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if let Some((id, text)) = self.waiting.remove(uuid) {
            let entry = NewEntry::new(EntryKind::UserMessage, format!("said:{id}"), json!({ "text": text }));
            cx.log_at(entry, raw_offset);
            cx.heard(&id);
        }
    }

    fn init(&mut self, init: Init, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Init { session_id, model, version, permission_mode } = init;
        let Some(id) = session_id.filter(|id| self.session_id.as_ref() != Some(id)) else { return };
        cx.session(&id, model.as_deref());
        let body = json!({
            "session_id": id, "model": model, "program": "claude", "version": version,
            "permission_mode": permission_mode,
        });
        cx.log_at(NewEntry::new(EntryKind::SessionStarted, "session".to_owned(), body), raw_offset);
        self.session_id = Some(id);
    }

    fn message(&mut self, message: Message, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Message { id, blocks, parent, error, limit, call } = message;
        self.called(call, cx);
        if let Some(limit) = &limit {
            self.failures.limited(limit);
        }
        for block in &blocks {
            let block_id = self.tools.block_id(&id);
            let kind = json::text(block, "type").unwrap_or_default();
            let entry = match (kind, &error) {
                ("text", Some(error)) => {
                    // The program's words in the model's place.
                    self.failures.failed(error);
                    let text = json::text(block, "text").unwrap_or_default();
                    let body = json!({ "text": text, "code": "api_error", "error": error });
                    Some(NewEntry::new(EntryKind::Notice, block_id, body))
                }
                ("text", None) => {
                    let text = json::text(block, "text").unwrap_or_default();
                    self.verdict.read(text);
                    cx.doing(first_line(text).unwrap_or_default());
                    Some(NewEntry::new(EntryKind::AssistantText, block_id, json!({ "text": text })))
                }
                ("thinking", _) => {
                    cx.doing("Thinking");
                    let text = json::text(block, "thinking").unwrap_or_default();
                    (!text.is_empty())
                        .then(|| NewEntry::new(EntryKind::Reasoning, block_id, json!({ "text": text })))
                }
                ("redacted_thinking", _) => None,
                ("tool_use" | "server_tool_use", _) => {
                    let entry = self.tools.started(block, parent.as_deref());
                    if let Some(line) = entry.as_ref().and_then(|entry| doing(entry.kind, &entry.body)) {
                        cx.doing(&line);
                    }
                    entry
                }
                _ => Some(NewEntry::new(EntryKind::Raw, block_id, block.clone())),
            };
            if let Some(mut entry) = entry {
                if entry.parent_id.is_none() {
                    entry.parent_id.clone_from(&parent);
                }
                cx.log_at(entry, raw_offset);
            }
        }
    }

    /// What a call of the model used so far: known before the turn's result, should there never be one.
    fn called(&mut self, call: Call, cx: &mut DialogueContext<'_>) {
        self.calls.heard(call);
        cx.estimated(self.calls.samples());
    }

    fn told(&mut self, told: Told, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Told { uuid, is_replay, blocks, parent, detail, refused } = told;
        if is_replay {
            if let Some(uuid) = uuid {
                self.taken(&uuid, raw_offset, cx);
            }
            return;
        }
        let detail = if blocks.len() == 1 { detail } else { Value::Null };
        for block in &blocks {
            let entry = match json::text(block, "type").unwrap_or_default() {
                "tool_result" => {
                    let call = json::text(block, "tool_use_id").unwrap_or_default();
                    let is_refused = refused.iter().any(|id| id == call);
                    let ended = Ended { detail: &detail, is_refused, is_interrupted: self.interrupting };
                    self.tools.ended(block, ended)
                }
                // What a sub-agent is told. Other words are the program's own, such as that it was interrupted.
                "text" if parent.is_some() => {
                    let text = json::text(block, "text").unwrap_or_default();
                    Some(NewEntry::text(EntryKind::UserMessage, text))
                }
                _ => None,
            };
            if let Some(mut entry) = entry {
                if entry.parent_id.is_none() {
                    entry.parent_id.clone_from(&parent);
                }
                cx.log_at(entry, raw_offset);
            }
        }
    }

    fn retry(&mut self, retry: &Retry, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        self.failures.retried(retry, (self.now_ms)());
        let what = retry.status.map_or_else(|| retry.error.clone(), |status| status.to_string());
        let seconds = retry.delay_ms.div_ceil(1000);
        let text = format!(
            "The model did not answer ({what}); retry {} of {} in {seconds} s.",
            retry.attempt, retry.max_retries
        );
        cx.doing(&text);
        let body = json!({
            "text": text, "code": "api_retry", "attempt": retry.attempt, "status": retry.status,
            "error": retry.error, "delay_ms": retry.delay_ms,
        });
        cx.log_at(NewEntry::new(EntryKind::Notice, String::new(), body), raw_offset);
    }

    fn requested(
        &mut self,
        request_id: &str,
        request: &Value,
        line: (&[u8], u64),
        cx: &mut DialogueContext<'_>,
    ) {
        if json::text(request, "subtype") == Some("can_use_tool") {
            let step = self.asks.requested(request_id, request, &self.tools);
            self.step(step, cx);
        } else {
            cx.log_raw(line.0, line.1);
            cx.send(&wire::control_error(request_id, "Forge does not serve this request."));
        }
    }

    fn step(&mut self, step: Step, cx: &mut DialogueContext<'_>) {
        match step {
            Step::Ask(ask) => cx.ask(ask),
            Step::Reply { request_id, response, declined, .. } => {
                if let Some((call, why)) = declined {
                    self.tools.declined(&call, &why);
                }
                cx.send(&wire::control_answer(&request_id, &response));
            }
        }
    }

    fn answered(&mut self, ask: &str, option: &str, note: Option<&str>, cx: &mut DialogueContext<'_>) {
        let Some(taken) = self.asks.answered(ask, option, note) else { return };
        let status = if taken.is_refusal { EntryStatus::Declined } else { EntryStatus::Completed };
        cx.resolve(ask, Some(option), status);
        self.step(taken.next, cx);
    }

    /// A turn is over.
    fn result(&mut self, result: &TurnResult, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if self.goes_on && self.prompted.is_none() {
            // It failed before it took the greeting: it does not have the session.
            self.is_lost = true;
        }
        for entry in self.tools.abandoned() {
            cx.log_at(entry, raw_offset);
        }
        for ask in self.asks.abandoned() {
            cx.resolve(&ask, None, EntryStatus::Cancelled);
        }
        self.count(result, raw_offset, cx);
        let judged = outcome::judge(result, &self.failures, self.given, (self.now_ms)());
        if judged.is_ok() {
            self.summary = result.text.as_deref().and_then(summary::of_message);
        }
        cx.log_at(self.turn_ended(result, &judged), raw_offset);
        let succeeded = judged.is_ok();
        self.result = Some(judged);
        self.failures = CallFailures::default();
        let goes_on =
            !self.interrupting && succeeded && (!self.waiting.is_empty() || self.ask_for_verdict(cx));
        if goes_on {
            self.turn += 1;
            cx.turn(self.turn);
        } else {
            self.end(cx);
        }
    }

    fn count(&mut self, result: &TurnResult, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Some(samples) = self.spending.count(result) else {
            let text = "The program reports only totals of the session; the cost of this turn is computed from its model calls.";
            cx.notice("usage_unread", text);
            return;
        };
        let cut_off = if self.interrupting { self.calls.beyond(&samples) } else { None };
        self.calls = Calls::default();
        cx.estimated(Vec::new());
        if let Some(carry) = self.spending.carry() {
            cx.carry(carry);
        }
        for sample in samples.into_iter().chain(cut_off) {
            cx.used(sample, raw_offset);
        }
    }

    fn turn_ended(&self, result: &TurnResult, judged: &Result<(), AgentError>) -> NewEntry {
        let more = [
            ("reason", json!(result.terminal_reason.as_ref().unwrap_or(&result.subtype))),
            ("calls", json!(result.num_turns)),
            ("duration_ms", json!(result.duration_ms)),
        ];
        let more = more.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        end::turn_ended(self.summary.as_deref(), more, judged)
    }

    /// Asks a reviewer for its verdict when it gave none; once.
    fn ask_for_verdict(&mut self, cx: &mut DialogueContext<'_>) -> bool {
        if !self.verdict.is_due(cx) {
            return false;
        }
        let id = self.message_id();
        cx.send(&wire::user_message(&id, VERDICT_MISSING));
        true
    }

    fn event(&mut self, event: Event, line: (&[u8], u64), cx: &mut DialogueContext<'_>) {
        let raw_offset = line.1;
        match event {
            Event::Init(init) => self.init(init, raw_offset, cx),
            Event::Retry(retry) => self.retry(&retry, raw_offset, cx),
            Event::Denied { tool_use_id, message } => self.tools.declined(&tool_use_id, &message),
            Event::Compacted => cx.notice("compacted", "The program compacted the conversation."),
            Event::Progress(what) => cx.doing(&what),
            Event::Quiet => {}
            Event::Message(message) => self.message(message, raw_offset, cx),
            Event::Call(call) => self.called(call, cx),
            Event::Told(told) => self.told(told, raw_offset, cx),
            Event::Result(result) => self.result(&result, raw_offset, cx),
            Event::RateLimit(limit) => {
                self.failures.limited(&limit);
                // Each report is about one window.
                if let Some(window) = limit.window {
                    self.windows.retain(|known| known.name != window.name);
                    self.windows.push(window);
                    cx.windows(self.windows.clone());
                }
            }
            Event::Response { request_id } => {
                if request_id == "forge-1" && !self.interrupting {
                    self.start_turn(cx);
                }
            }
            Event::Request { request_id, request } => self.requested(&request_id, &request, line, cx),
            Event::Withdrawn { request_id } => {
                for ask in self.asks.withdrawn(&request_id) {
                    cx.resolve(&ask, None, EntryStatus::Cancelled);
                }
            }
            Event::Lifecycle { uuid, state } => match state.as_str() {
                "started" | "completed" => self.taken(&uuid, raw_offset, cx),
                "cancelled" => {
                    self.waiting.remove(&uuid);
                    if self.interrupting && self.prompted.as_ref() == Some(&uuid) {
                        // It was stopped before its turn began: there is no result to wait for.
                        self.end(cx);
                    }
                }
                _ => {}
            },
            Event::Other => cx.log_raw(line.0, line.1),
        }
    }
}

impl Dialogue for ClaudeDialogue {
    fn begin(&mut self, cx: &mut DialogueContext<'_>) {
        let id = self.request_id();
        cx.send(&wire::initialize(&id));
    }

    fn hear(&mut self, line: &[u8], raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if self.over {
            // What follows the last result tells nothing of it.
            return;
        }
        match Event::read(line) {
            Some(event) => self.event(event, (line, raw_offset), cx),
            None => cx.log_raw(line, raw_offset),
        }
    }

    fn command(&mut self, command: RunCommand, cx: &mut DialogueContext<'_>) {
        match command {
            RunCommand::Say { id, text } if self.prompted.is_some() => self.say(id, text, cx),
            RunCommand::Say { id, text } => self.early.push((id, text)),
            RunCommand::Answer { ask, option, note } => {
                self.answered(&ask, &option, note.as_deref(), cx);
            }
        }
    }

    fn interrupt(&mut self, cx: &mut DialogueContext<'_>) {
        self.interrupting = true;
        if self.prompted.is_none() || self.over {
            self.end(cx);
            return;
        }
        let id = self.request_id();
        cx.send(&wire::interrupt(&id));
    }

    fn take_end(&mut self) -> DialogueEnd {
        DialogueEnd {
            result: self.result.take(),
            session_id: self.session_id.clone(),
            carry: self.spending.carry(),
            summary: self.summary.take(),
        }
    }
}
