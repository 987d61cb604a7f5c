//! A run of Codex, as a state machine without I/O.
//!
//! The way of a run: `initialize`; a thread is started, resumed or forked; one turn, or a native review and, when
//! that gives no verdict, one turn more that must; the end of the program's input. Invariants: the last turn's
//! status alone decides how the run ended; every request of the server is answered; nothing that it says ends the
//! run in another way than by a typed error. Deliberately absent: an entry for each piece of a text (readers of a
//! log join entries of one message, so a text is written once, when it is whole).

mod items;
mod questions;
mod turns;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    path::PathBuf,
};

use forge_model::{
    agent::PermissionMode,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
};
use forge_reading::verdict::AuditReader;
use serde_json::{Value, json};

use super::{
    asks::{self, Context, Form, Taken},
    entries,
    failure::{Limits, detail, failure},
    review,
    usage::{Counter, says_something, windows},
    wire::{self, Heard, Refusal, object},
};
use crate::{
    AgentError, Dialogue, DialogueContext, DialogueEnd, LimitKind, NewEntry, RunCommand, SessionRequest,
    json::text, summary,
};

/// The longest line of a text under way that is shown, in bytes.
const TAIL_BYTES: usize = 1024;

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What the agent is told.
    pub prompt: String,
    /// The model to ask for.
    pub model: Option<String>,
    /// How hard it is asked to think.
    pub effort: Option<String>,
    /// Where it works.
    pub worktree: PathBuf,
    /// What it may do.
    pub permissions: PermissionMode,
    /// What the run is for.
    pub role: ExecutionRole,
    /// Which conversation.
    pub session: SessionRequest,
    /// What the run before left.
    pub carry: Option<Value>,
    /// How often the model may be called.
    pub turns: Option<u32>,
    /// The time, in Unix milliseconds.
    pub now_ms: fn() -> i64,
}

/// A run.
#[derive(Debug)]
pub struct CodexDialogue {
    plan: Plan,
    last_id: u64,
    awaited: HashMap<u64, Awaited>,
    thread: Option<String>,
    /// Whether the thread is the one that was asked for, or a fork of it.
    goes_on: bool,
    model: String,
    sandbox: Option<Value>,
    turn: Option<Turn>,
    turns: u32,
    calls: u32,
    counter: Counter,
    limits: Option<Value>,
    /// Words for the agent, until there is a turn that takes them.
    says: VecDeque<(Option<String>, String)>,
    forms: BTreeMap<String, Form>,
    last_ask: u32,
    /// Entries of items that have begun and not ended.
    open: BTreeMap<String, Vec<NewEntry>>,
    /// Threads of helpers, and the items that began them.
    helpers: HashMap<String, String>,
    verdict: AuditReader,
    tail: Tail,
    last_said: Option<String>,
    last_error: Option<Value>,
    /// The prompt is logged by who starts the run.
    prompt_seen: bool,
    stopping: bool,
    result: Option<Result<(), AgentError>>,
}

/// What a request of ours was.
#[derive(Debug)]
enum Awaited {
    Hello,
    Thread,
    /// Whether the thread exists that could not be gone on with.
    Probe(Refusal),
    Turn,
    Steer(Option<String>),
    Interrupt,
    Clean,
}

/// The turn that runs.
#[derive(Debug)]
struct Turn {
    /// Known when the server has taken it.
    id: Option<String>,
    kind: TurnKind,
    /// Calls of the model that it reported.
    calls: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnKind {
    /// The agent works, or answers in a form.
    Ordinary,
    /// It reviews, by its own means.
    Review,
    /// It is asked for the verdict of its review.
    Verdict,
}

/// The line that the agent is writing.
#[derive(Debug, Default)]
struct Tail {
    item: String,
    line: String,
}

impl CodexDialogue {
    /// A run that has not begun.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            last_id: 0,
            awaited: HashMap::new(),
            thread: None,
            goes_on: false,
            model: plan.model.clone().unwrap_or_default(),
            sandbox: None,
            turn: None,
            turns: 0,
            calls: 0,
            counter: Counter::new(plan.carry.as_ref()),
            limits: None,
            says: VecDeque::new(),
            forms: BTreeMap::new(),
            last_ask: 0,
            open: BTreeMap::new(),
            helpers: HashMap::new(),
            verdict: AuditReader::new(0),
            tail: Tail::default(),
            last_said: None,
            last_error: None,
            prompt_seen: false,
            stopping: false,
            result: None,
            plan,
        }
    }

    fn permissions(&self) -> PermissionMode {
        match self.plan.role {
            ExecutionRole::Coder => self.plan.permissions,
            ExecutionRole::Reviewer | ExecutionRole::Planner | ExecutionRole::Drafter => {
                PermissionMode::ReadOnly
            }
        }
    }

    /// Whether nobody may be asked.
    fn asks_nobody(&self) -> bool {
        match self.permissions() {
            PermissionMode::ReadOnly | PermissionMode::Unattended => true,
            PermissionMode::Ask | PermissionMode::Edit => false,
        }
    }

    fn ask_server(&mut self, method: &str, params: &Value, awaited: Awaited, cx: &mut DialogueContext<'_>) {
        self.last_id += 1;
        cx.send(&wire::request(self.last_id, method, params));
        self.awaited.insert(self.last_id, awaited);
    }

    fn finish(&mut self, result: Result<(), AgentError>, cx: &mut DialogueContext<'_>) {
        self.counter.limited = match &result {
            Err(AgentError::RateLimited { .. }) => self.counter.limited,
            Ok(()) | Err(_) => 0,
        };
        self.result.get_or_insert(result);
        cx.end();
    }

    // Opening.

    fn open_thread(&mut self, session: &SessionRequest, cx: &mut DialogueContext<'_>) {
        let permissions = self.permissions();
        let effort = self.plan.effort.as_ref().map(|effort| json!({ "model_reasoning_effort": effort }));
        let mut params = object([
            ("cwd", Some(json!(self.plan.worktree))),
            ("model", self.plan.model.as_ref().map(|model| json!(model))),
            ("approvalPolicy", Some(json!(wire::approval_policy(permissions)))),
            ("sandbox", Some(json!(wire::sandbox_mode(permissions)))),
            ("config", effort),
        ]);
        let method = match session {
            SessionRequest::New => "thread/start",
            SessionRequest::Resume(id) | SessionRequest::Fork(id) => {
                params["threadId"] = json!(id);
                params["excludeTurns"] = json!(true);
                if matches!(session, SessionRequest::Fork(_)) { "thread/fork" } else { "thread/resume" }
            }
        };
        self.goes_on = *session != SessionRequest::New;
        self.ask_server(method, &params, Awaited::Thread, cx);
    }

    fn opened(&mut self, result: &Value, cx: &mut DialogueContext<'_>) {
        let thread = result.get("thread").unwrap_or(&Value::Null);
        let Some(id) = text(thread, "id").map(str::to_owned) else {
            let detail = "its thread has no id".to_owned();
            return self.finish(Err(AgentError::Protocol { detail }), cx);
        };
        if let Some(model) = text(result, "model").or_else(|| text(thread, "model")) {
            self.model = model.to_owned();
        }
        self.sandbox = result.get("sandbox").cloned();
        self.counter.opened(&id, self.goes_on);
        let body = object([
            ("session_id", Some(json!(id))),
            ("model", Some(json!(self.model))),
            ("program", Some(json!("codex"))),
            ("version", text(thread, "cliVersion").map(|version| json!(version))),
            ("forked_from", text(thread, "forkedFromId").map(|from| json!(from))),
        ]);
        cx.log(NewEntry::new(EntryKind::SessionStarted, "session".to_owned(), body));
        cx.session(&id, Some(&self.model));
        self.thread = Some(id);
        if self.stopping {
            return self.finish(Err(AgentError::Cancelled), cx);
        }
        if self.plan.role == ExecutionRole::Reviewer && self.goes_on {
            self.start_review(cx);
        } else {
            let prompt = self.plan.prompt.clone();
            self.start_turn(&prompt, TurnKind::Ordinary, cx);
        }
    }

    fn lost(&mut self, refusal: &Refusal, cx: &mut DialogueContext<'_>) {
        let text = format!("The earlier session no longer exists ({}). A new one starts.", refusal.message);
        cx.notice("session_lost", &text);
        self.open_thread(&SessionRequest::New, cx);
    }

    // Words.

    /// Tells the running turn what waits, when it takes words.
    fn steer(&mut self, cx: &mut DialogueContext<'_>) {
        let Some(Turn { id: Some(id), kind: TurnKind::Ordinary, .. }) = &self.turn else { return };
        let (thread, turn) = (self.thread.clone(), id.clone());
        for (say, words) in std::mem::take(&mut self.says) {
            let params = json!({
                "threadId": thread, "input": wire::input(&words), "expectedTurnId": turn,
            });
            self.ask_server("turn/steer", &params, Awaited::Steer(say), cx);
        }
    }

    // What the server says.

    fn answered(&mut self, id: u64, result: Result<Value, Refusal>, cx: &mut DialogueContext<'_>) -> bool {
        let Some(awaited) = self.awaited.remove(&id) else { return false };
        match (awaited, result) {
            (Awaited::Hello, Ok(_)) => {
                cx.send(&wire::notification("initialized"));
                let session = self.plan.session.clone();
                self.open_thread(&session, cx);
            }
            (Awaited::Thread, Ok(result)) => self.opened(&result, cx),
            (Awaited::Thread, Err(refusal)) if self.goes_on && !self.stopping => {
                let (SessionRequest::Resume(id) | SessionRequest::Fork(id)) = &self.plan.session else {
                    return true;
                };
                // Errors have no code that tells a thread that is gone from one that is in use.
                let params = json!({ "threadId": id, "includeTurns": false });
                self.ask_server("thread/read", &params, Awaited::Probe(refusal), cx);
            }
            (Awaited::Probe(_), Err(refusal)) if !self.stopping => self.lost(&refusal, cx),
            (Awaited::Hello | Awaited::Thread | Awaited::Probe(_), Err(refusal))
            | (Awaited::Probe(refusal), Ok(_)) => {
                self.finish(Err(AgentError::Protocol { detail: refusal.message }), cx);
            }
            (Awaited::Turn, result) => self.turn_taken(result, cx),
            (Awaited::Steer(say), Ok(_)) => {
                if let Some(say) = say {
                    cx.heard(&say);
                }
            }
            (Awaited::Steer(_), Err(refusal)) => {
                let text = format!("The agent did not accept a message: {}.", refusal.message);
                cx.notice("message_not_taken", &text);
            }
            // Its end is told by the turn; when there is none any more, what it left is still to be ended.
            (Awaited::Interrupt, Ok(_)) => {}
            (Awaited::Interrupt, Err(_)) => self.clean(cx),
            (Awaited::Clean, _) => {
                let result = self.result.clone().unwrap_or(Err(AgentError::Cancelled));
                self.finish(result, cx);
            }
        }
        true
    }

    /// Something that it tells. False when nobody knows it.
    fn noticed(
        &mut self,
        method: &str,
        params: &Value,
        raw_offset: u64,
        cx: &mut DialogueContext<'_>,
    ) -> bool {
        let is_ours = self.is_ours(params);
        match method {
            "item/started" => return self.item(params, false, raw_offset, cx),
            "item/completed" => return self.item(params, true, raw_offset, cx),
            "item/agentMessage/delta" | "item/plan/delta" if is_ours => self.writes(params, cx),
            "turn/completed" if is_ours => self.turn_over(params, cx),
            "turn/plan/updated" if is_ours => cx.log_at(entries::plan(params), raw_offset),
            "thread/tokenUsage/updated" => self.used(params, raw_offset, cx),
            "serverRequest/resolved" => {
                self.resolved(params.get("requestId").unwrap_or(&Value::Null), cx);
            }
            "account/rateLimits/updated" => {
                self.limits = params.get("rateLimits").filter(|limits| says_something(limits)).cloned();
                cx.windows(self.limits.as_ref().map(windows).unwrap_or_default());
            }
            "error" => self.error(params, raw_offset, cx),
            "warning" | "guardianWarning" | "configWarning" | "deprecationNotice" => {
                let words = text(params, "message").or_else(|| text(params, "summary")).unwrap_or_default();
                let more = text(params, "details").map(|more| format!(": {more}")).unwrap_or_default();
                notice_at("warning", &format!("{words}{more}"), raw_offset, cx);
            }
            "model/rerouted" if is_ours => {
                let to = text(params, "toModel").unwrap_or_default();
                notice_at("model_rerouted", &format!("Another model answers: {to}."), raw_offset, cx);
                to.clone_into(&mut self.model);
            }
            "thread/settings/updated" if is_ours => {
                let settings = params.get("threadSettings").unwrap_or(&Value::Null);
                if let Some(model) = text(settings, "model") {
                    model.clone_into(&mut self.model);
                }
            }
            _ => return is_known(method),
        }
        true
    }
}

impl Dialogue for CodexDialogue {
    fn begin(&mut self, cx: &mut DialogueContext<'_>) {
        self.ask_server("initialize", &wire::hello(), Awaited::Hello, cx);
    }

    fn hear(&mut self, line: &[u8], raw_offset: u64, cx: &mut DialogueContext<'_>) {
        let is_known = match wire::read(line) {
            Some(Heard::Answer { id, result }) => self.answered(id, result, cx),
            Some(Heard::Request { id, method, params }) => self.requested(&id, &method, &params, cx),
            Some(Heard::Notification { method, params }) => self.noticed(&method, &params, raw_offset, cx),
            Some(Heard::Piece) => true,
            None => false,
        };
        if !is_known {
            cx.log_raw(line, raw_offset);
        }
    }

    fn command(&mut self, command: RunCommand, cx: &mut DialogueContext<'_>) {
        match command {
            RunCommand::Say { id, text } => {
                self.says.push_back((Some(id), text));
                self.steer(cx);
            }
            RunCommand::Answer { ask, option, note } => self.answer(&ask, &option, note.as_deref(), cx),
        }
    }

    fn interrupt(&mut self, cx: &mut DialogueContext<'_>) {
        self.stopping = true;
        let opens = self
            .awaited
            .values()
            .any(|awaited| matches!(awaited, Awaited::Hello | Awaited::Thread | Awaited::Probe(_)));
        match (&self.turn, opens) {
            (Some(_), _) => self.interrupt_turn(cx),
            // Nothing has begun that would have to be stopped.
            (None, true) => self.finish(Err(AgentError::Cancelled), cx),
            (None, false) => self.clean(cx),
        }
    }

    fn take_end(&mut self) -> DialogueEnd {
        DialogueEnd {
            result: self.result.clone(),
            session_id: self.thread.clone(),
            carry: self.thread.as_ref().map(|thread| self.counter.carry(thread)),
            summary: self.last_said.as_deref().and_then(summary::of_message),
        }
    }
}

/// What is told and needs no entry: pieces of what comes whole later, and what is about the program itself.
fn is_known(method: &str) -> bool {
    method.ends_with("Delta")
        || method.ends_with("/delta")
        || ["thread/", "turn/", "account/", "remoteControl/", "skills/", "app/", "mcpServer/startupStatus/"]
            .iter()
            .any(|of| method.starts_with(of))
        || matches!(
            method,
            "item/reasoning/summaryPartAdded"
                | "item/fileChange/patchUpdated"
                | "item/mcpToolCall/progress"
                | "item/commandExecution/terminalInteraction"
                | "rawResponseItem/completed"
                | "rawResponse/completed"
                | "hook/started"
                | "hook/completed"
        )
}

/// Logs that Forge says something about the line that starts there.
fn notice_at(code: &str, words: &str, raw_offset: u64, cx: &mut DialogueContext<'_>) {
    let body = json!({ "text": words, "code": code });
    cx.log_at(NewEntry::new(EntryKind::Notice, String::new(), body), raw_offset);
}
