//! A conversation by the Agent Client Protocol, as a state machine.
//!
//! Greeting, session, choices, prompt, updates, answer. One request of ours waits at a time. A session that cannot be
//! forked is loaded, one that cannot be loaded is begun anew, and the log says so. A reviewer that gives no verdict
//! is asked for it once.

mod opening;

use std::{collections::VecDeque, path::PathBuf};

use forge_model::{
    agent::{PermissionMode, ProgramConfig},
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
};
use forge_prompt::audit::VERDICT_MISSING;
use serde_json::{Map, Value, json};

use crate::{
    AgentError, Dialogue, DialogueContext, DialogueEnd, ForgeMcp, Launch, LimitKind, NewEntry, RunCommand,
    SessionRequest,
    clock::now_ms,
    dialogue::SESSION_LOST,
    doing::{doing, first_line},
    end, json, summary,
    verdict::Reminder,
};

use super::{
    asks::{Asks, Step},
    entries::{Speech, Spoken, Tools},
    outcome,
    rounds::Rounds,
    spending::Spending,
    wire::{
        self, Choice, Ended, Greeted, How, Line, Options, Permission, RpcError, ToolCallStatus, ToolPatch,
        Update,
    },
};

/// The version of the protocol that is spoken.
const VERSION: u16 = 1;

/// The agent that tells the tokens of a prompt's last call of the model alone.
const TELLS_LAST_CALL: &str = "OpenCode";

/// The conversation of one run.
#[derive(Debug)]
pub(super) struct AcpDialogue {
    brief: Brief,
    now_ms: fn() -> i64,
    requests: u64,
    /// The request that waits for its answer.
    waits: Option<(u64, Waits)>,
    greeted: Greeted,
    session_id: Option<String>,
    options: Options,
    /// Choices that are still to be made.
    choices: VecDeque<(How, String)>,
    /// The model as the program names it.
    model: String,
    interrupting: bool,
    over: bool,
    turn: u32,
    /// Calls of tools in this prompt.
    calls: u32,
    rounds: Rounds,
    speech: Speech,
    tools: Tools,
    asks: Asks,
    spending: Spending,
    verdict: Reminder,
    /// The last message of the agent.
    last_words: String,
    summary: Option<String>,
    result: Option<Result<(), AgentError>>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Waits {
    Greeting,
    Opening(Opening),
    Choice(String),
    Prompt,
}

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    New,
    Load,
    Resume,
    Fork,
}

/// What a conversation is about.
#[derive(Debug)]
pub(super) struct Brief {
    pub prompt: String,
    pub role: ExecutionRole,
    pub permissions: PermissionMode,
    pub worktree: PathBuf,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub turns: Option<u32>,
    pub session: SessionRequest,
    pub carry: Option<Value>,
    pub mcp: Option<ForgeMcp>,
}

impl Brief {
    pub(super) fn of(launch: &Launch, config: &ProgramConfig) -> Self {
        Self {
            prompt: launch.prompt.clone(),
            role: launch.role,
            permissions: launch.permissions,
            worktree: launch.worktree.clone(),
            model: launch.model.clone(),
            effort: config.effort.clone(),
            turns: launch.limits.turns,
            session: launch.session.clone(),
            carry: launch.carry.clone(),
            mcp: launch.mcp.clone(),
        }
    }
}

impl AcpDialogue {
    pub(super) fn new(brief: Brief) -> Self {
        Self {
            now_ms,
            requests: 0,
            waits: None,
            greeted: Greeted::default(),
            session_id: None,
            options: Options::default(),
            choices: VecDeque::new(),
            model: String::new(),
            interrupting: false,
            over: false,
            turn: 1,
            calls: 0,
            rounds: Rounds::default(),
            speech: Speech::default(),
            tools: Tools::new(brief.worktree.clone()),
            asks: Asks::new(brief.permissions, brief.worktree.clone()),
            spending: Spending::new(brief.carry.as_ref()),
            verdict: Reminder::new(brief.role),
            last_words: String::new(),
            summary: None,
            result: None,
            brief,
        }
    }

    #[cfg(test)]
    pub(super) const fn at(mut self, now_ms: fn() -> i64) -> Self {
        self.now_ms = now_ms;
        self
    }

    /// Sends a request and waits for its answer.
    fn request(&mut self, waits: Waits, cx: &mut DialogueContext<'_>, message: impl FnOnce(u64) -> Value) {
        self.requests += 1;
        cx.send(&message(self.requests));
        self.waits = Some((self.requests, waits));
    }

    fn is_prompting(&self) -> bool {
        matches!(self.waits, Some((_, Waits::Prompt)))
    }

    fn end(&mut self, cx: &mut DialogueContext<'_>) {
        self.over = true;
        self.waits = None;
        cx.end();
    }

    fn fail(&mut self, error: AgentError, cx: &mut DialogueContext<'_>) {
        self.result = Some(Err(error));
        self.end(cx);
    }

    fn failure(&self, error: &RpcError) -> AgentError {
        outcome::failure(error, &self.greeted.sign_in, (self.now_ms)())
    }

    fn answered(
        &mut self,
        waits: Waits,
        result: Result<Value, RpcError>,
        at: u64,
        cx: &mut DialogueContext<'_>,
    ) {
        match (waits, result) {
            (Waits::Prompt, result) => self.prompted(result, at, cx),
            (Waits::Greeting, Ok(answer)) => self.met(&answer, cx),
            (Waits::Greeting, Err(error)) => {
                let error = self.failure(&error);
                self.fail(error, cx);
            }
            (Waits::Opening(how), Ok(answer)) => self.opened(how, &answer, at, cx),
            (Waits::Opening(how), Err(error)) => self.not_opened(how, &error, cx),
            (Waits::Choice(value), Ok(_)) => {
                if self.brief.model.as_ref() == Some(&value) {
                    self.model = value;
                }
                self.choose_next(cx);
            }
            (Waits::Choice(value), Err(error)) => {
                let detail = format!("it does not accept `{value}`: {}", error.message);
                self.fail(AgentError::ModelError { detail }, cx);
            }
        }
    }

    fn update(&mut self, update: Update, line: (&[u8], u64), cx: &mut DialogueContext<'_>) {
        match update {
            Update::Options(options) => self.chosen(options),
            Update::Spent { usd: Some(usd), .. } if self.session_id.is_none() => self.spending.replayed(usd),
            // What an opened session says before the prompt is what it said once.
            _ if !self.is_prompting() => {}
            Update::Said { is_thought, message, text } => {
                let round = self.rounds.begins();
                self.keep_to_limit(round, cx);
                if let Some(spoken) = self.speech.hear(is_thought, message, &text) {
                    self.spoke(spoken, line.1, cx);
                }
                if is_thought {
                    cx.doing("Thinking");
                }
            }
            Update::Tool(patch) => self.tool(*patch, line.1, cx),
            Update::Plan(steps) => {
                let steps: Vec<_> =
                    steps.iter().map(|(text, done)| json!({ "text": text, "done": done })).collect();
                let entry = NewEntry::new(EntryKind::Plan, "plan".to_owned(), json!({ "steps": steps }));
                cx.log_at(entry, line.1);
            }
            Update::Spent { usd, model } => self.spent(usd, model, line.1, cx),
            Update::Notice(text) => cx.notice("program", &text),
            Update::Compacted => cx.notice("compacted", "The program compacted the conversation."),
            Update::Quiet => {}
            Update::Unknown => cx.log_raw(line.0, line.1),
        }
    }

    fn spoke(&mut self, spoken: Spoken, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let Spoken { is_thought, text, entry } = spoken;
        cx.log_at(entry, raw_offset);
        if is_thought {
            return;
        }
        cx.doing(first_line(&text).unwrap_or_default());
        self.verdict.read(&text);
        self.last_words = text;
    }

    /// What was said so far is a message of its own: something else follows.
    fn hush(&mut self, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if let Some(spoken) = self.speech.close() {
            self.spoke(spoken, raw_offset, cx);
        }
    }

    fn tool(&mut self, patch: ToolPatch, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        self.hush(raw_offset, cx);
        if self.tools.get(&patch.id).is_none() {
            self.calls = self.calls.saturating_add(1);
        }
        let is_over = matches!(patch.status, Some(ToolCallStatus::Completed | ToolCallStatus::Failed));
        let round = self.rounds.tool(&patch.id, is_over);
        let entries = self.tools.told(patch);
        log_tools(entries, raw_offset, cx);
        self.keep_to_limit(round, cx);
    }

    /// Stops the run once the model goes on although it was called as often as it may be.
    fn keep_to_limit(&self, round: u32, cx: &mut DialogueContext<'_>) {
        if let Some(most) = self.brief.turns.filter(|most| round > *most && !self.interrupting) {
            cx.stop_at(LimitKind::Turns(most));
        }
    }

    fn spent(
        &mut self,
        usd: Option<f64>,
        model: Option<String>,
        raw_offset: u64,
        cx: &mut DialogueContext<'_>,
    ) {
        if let Some(model) = model {
            self.model = model;
        }
        let Some(usd) = usd else { return };
        let spent = self.spending.spent(usd);
        if let Some(carry) = self.spending.carry() {
            cx.carry(carry);
        }
        match spent {
            Some(0) => {}
            Some(micro) => {
                let sample = forge_model::usage::UsageSample {
                    model: self.model.clone(),
                    cost_micro_usd: Some(micro),
                    ..Default::default()
                };
                cx.used(sample, raw_offset);
            }
            None => {
                let text =
                    "The cost of this turn is unknown: the program reports only the total of the session.";
                cx.notice("usage_unread", text);
            }
        }
    }

    fn asked(
        &mut self,
        id: &Value,
        method: &str,
        params: Value,
        line: (&[u8], u64),
        cx: &mut DialogueContext<'_>,
    ) {
        if method != "session/request_permission" {
            if !(method.starts_with("fs/") || method.starts_with("terminal/")) {
                cx.log_raw(line.0, line.1);
            }
            cx.send(&wire::not_served(id, method));
            return;
        }
        let Some(permission) = Permission::read(params) else {
            cx.log_raw(line.0, line.1);
            cx.send(&wire::not_understood(id));
            return;
        };
        if self.interrupting || !self.is_prompting() {
            cx.send(&wire::permission(id, None));
            return;
        }
        self.hush(line.1, cx);
        let call = permission.tool.id.clone();
        let round = self.rounds.tool(&call, false);
        self.keep_to_limit(round, cx);
        let entries = self.tools.asked(&permission.tool);
        log_tools(entries, line.1, cx);
        match self.asks.requested(id.clone(), permission, &self.tools) {
            Step::Ask(ask) => cx.ask(ask),
            Step::Reply { option, declined } => {
                if let Some(why) = declined {
                    self.tools.declined(&call, why);
                }
                cx.send(&wire::permission(id, option.as_deref()));
            }
        }
    }

    /// The answer to the prompt.
    fn prompted(&mut self, result: Result<Value, RpcError>, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        self.hush(raw_offset, cx);
        self.rounds.answered();
        log_tools(self.tools.abandoned(), raw_offset, cx);
        for (ask, _) in self.asks.abandoned() {
            cx.resolve(&ask, None, EntryStatus::Cancelled);
        }
        let judged = match result {
            Ok(answer) => match Ended::read(&answer) {
                Some(ended) => {
                    self.count(&ended, raw_offset, cx);
                    outcome::judge(ended.reason, self.brief.turns, self.speech.count())
                }
                None => {
                    let detail = "its answer to the prompt has no stop reason".to_owned();
                    Err(AgentError::Protocol { detail })
                }
            },
            Err(error) => Err(self.failure(&error)),
        };
        // Some programs end a turn that they were told to stop as if it had come to its end.
        let judged = if self.interrupting { Err(AgentError::Cancelled) } else { judged };
        if judged.is_ok() {
            self.summary = summary::of_message(&self.last_words);
        }
        let ended = end::turn_ended(self.summary.as_deref(), Map::new(), &judged);
        cx.log_at(ended, raw_offset);
        let asks_again = judged.is_ok() && self.ask_for_verdict(cx);
        self.result = Some(judged);
        if !asks_again {
            self.end(cx);
        }
    }

    fn count(&mut self, ended: &Ended, raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if let Some(carry) = self.spending.carry() {
            cx.carry(carry);
        }
        for sample in self.spending.tokens(ended, &self.model) {
            cx.used(sample, raw_offset);
        }
        if self.calls > 0 && self.greeted.name.as_deref() == Some(TELLS_LAST_CALL) {
            let text = "The token count covers only the last model call; the cost covers all calls.";
            cx.notice("usage_partial", text);
        }
    }

    /// Asks a reviewer for its verdict when it gave none; once.
    fn ask_for_verdict(&mut self, cx: &mut DialogueContext<'_>) -> bool {
        let Some(session) = self.session_id.clone() else { return false };
        if !self.verdict.is_due(cx) {
            return false;
        }
        self.turn += 1;
        self.calls = 0;
        self.speech = Speech::default();
        cx.turn(self.turn);
        self.request(Waits::Prompt, cx, |id| wire::prompt(id, &session, VERDICT_MISSING));
        true
    }

    /// Asks the program to stop, and answers what it waits for.
    fn stop(&mut self, cx: &mut DialogueContext<'_>) {
        self.interrupting = true;
        for (ask, request) in self.asks.abandoned() {
            cx.resolve(&ask, None, EntryStatus::Cancelled);
            cx.send(&wire::permission(&request, None));
        }
        if let Some(session) = &self.session_id {
            cx.send(&wire::cancel(session));
        }
    }
}

impl Dialogue for AcpDialogue {
    fn begin(&mut self, cx: &mut DialogueContext<'_>) {
        self.request(Waits::Greeting, cx, wire::initialize);
    }

    fn hear(&mut self, line: &[u8], raw_offset: u64, cx: &mut DialogueContext<'_>) {
        if self.over {
            // What follows the last answer tells nothing of the run.
            return;
        }
        match Line::read(line) {
            Line::Answer { id, result } => match self.waits.take() {
                Some((waited, waits)) if waited == id => self.answered(waits, result, raw_offset, cx),
                waits => {
                    self.waits = waits;
                    cx.log_raw(line, raw_offset);
                }
            },
            Line::Request { id, method, params } => {
                self.asked(&id, &method, params, (line, raw_offset), cx);
            }
            Line::Notification { method, params } if method == "session/update" => {
                self.update(Update::read(params), (line, raw_offset), cx);
            }
            Line::Notification { method, params } if method == "$/cancel_request" => {
                let request = params.get("requestId").unwrap_or(&Value::Null);
                if let Some(ask) = self.asks.withdrawn(request) {
                    cx.resolve(&ask, None, EntryStatus::Cancelled);
                }
            }
            Line::Notification { .. } | Line::Other => cx.log_raw(line, raw_offset),
        }
    }

    fn command(&mut self, command: RunCommand, cx: &mut DialogueContext<'_>) {
        // The protocol has no way to speak to a running turn, nor to say why something is refused.
        let RunCommand::Answer { ask, option, note: _ } = command else { return };
        let Some(taken) = self.asks.answered(&ask, &option) else { return };
        let status = if taken.declined.is_some() { EntryStatus::Declined } else { EntryStatus::Completed };
        cx.resolve(&ask, Some(&option), status);
        if let Some(why) = taken.declined {
            self.tools.declined(&taken.call, why);
        }
        cx.send(&wire::permission(&taken.request, taken.option.as_deref()));
        if taken.stops {
            self.stop(cx);
        }
    }

    fn interrupt(&mut self, cx: &mut DialogueContext<'_>) {
        if self.over || !self.is_prompting() {
            self.end(cx);
            return;
        }
        self.stop(cx);
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

fn log_tools(entries: Vec<NewEntry>, raw_offset: u64, cx: &mut DialogueContext<'_>) {
    for entry in entries {
        if entry.status == Some(EntryStatus::Running)
            && let Some(line) = doing(entry.kind, &entry.body)
        {
            cx.doing(&line);
        }
        cx.log_at(entry, raw_offset);
    }
}
