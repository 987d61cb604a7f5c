//! A conversation by the Agent Client Protocol, as a state machine.
//!
//! Greeting, session, choices, prompt, updates, answer. One request of ours waits at a time. A session that cannot be
//! forked is loaded, one that cannot be loaded is begun anew, and the log says so. A reviewer that gives no verdict
//! is asked for it once.

use std::{
    collections::VecDeque,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use forge_model::{
    agent::{PermissionMode, ProgramConfig},
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
    verdict::AuditReader,
};
use serde_json::{Value, json};

use crate::{AgentError, Dialogue, Launch, NewEntry, RunCommand, Said, Scene, SessionRequest, summary};

use super::{
    asks::{Asks, Step},
    entries::{Speech, Spoken, Tools},
    outcome,
    spending::Spending,
    wire::{self, Choice, Ended, Greeted, How, Line, Options, Permission, RpcError, ToolPatch, Update},
};

/// The version of the protocol that is spoken.
const VERSION: u16 = 1;

/// The agent that tells the tokens of a prompt's last call of the model alone.
const TELLS_LAST_CALL: &str = "OpenCode";

/// Modes in which agents that have them do not write.
const READING_MODES: &[&str] = &["read-only", "read_only", "readonly"];

/// Asks a reviewer for what it forgot.
const VERDICT_MISSING: &str = "\
Your review has no verdict yet. Answer with one of these markers, alone on its line, outside of quotes and code:

===REVIEW: PASS===
===REVIEW: FAIL: the reason in one sentence===
";

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
    speech: Speech,
    tools: Tools,
    asks: Asks,
    spending: Spending,
    /// What a reviewer said so far; none for other roles, and once it was asked for its verdict.
    verdict: Option<AuditReader>,
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
            speech: Speech::default(),
            tools: Tools::new(brief.worktree.clone()),
            asks: Asks::new(brief.permissions, brief.worktree.clone()),
            spending: Spending::new(brief.carry.as_ref()),
            verdict: (brief.role == ExecutionRole::Reviewer).then(|| AuditReader::new(0)),
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
    fn request(&mut self, waits: Waits, scene: &mut Scene<'_>, message: impl FnOnce(u64) -> Value) {
        self.requests += 1;
        scene.send(&message(self.requests));
        self.waits = Some((self.requests, waits));
    }

    fn is_prompting(&self) -> bool {
        matches!(self.waits, Some((_, Waits::Prompt)))
    }

    fn end(&mut self, scene: &mut Scene<'_>) {
        self.over = true;
        self.waits = None;
        scene.end();
    }

    fn fail(&mut self, error: AgentError, scene: &mut Scene<'_>) {
        self.result = Some(Err(error));
        self.end(scene);
    }

    fn failure(&self, error: &RpcError) -> AgentError {
        outcome::failure(error, &self.greeted.sign_in, (self.now_ms)())
    }

    fn answered(&mut self, waits: Waits, result: Result<Value, RpcError>, at: u64, scene: &mut Scene<'_>) {
        match (waits, result) {
            (Waits::Prompt, result) => self.prompted(result, at, scene),
            (Waits::Greeting, Ok(answer)) => self.met(&answer, scene),
            (Waits::Greeting, Err(error)) => {
                let error = self.failure(&error);
                self.fail(error, scene);
            }
            (Waits::Opening(how), Ok(answer)) => self.opened(how, &answer, at, scene),
            (Waits::Opening(how), Err(error)) => self.not_opened(how, &error, scene),
            (Waits::Choice(value), Ok(_)) => {
                if self.brief.model.as_ref() == Some(&value) {
                    self.model = value;
                }
                self.choose_next(scene);
            }
            (Waits::Choice(value), Err(error)) => {
                let detail = format!("it does not take `{value}`: {}", error.message);
                self.fail(AgentError::ModelError { detail }, scene);
            }
        }
    }

    /// The program answers the greeting.
    fn met(&mut self, answer: &Value, scene: &mut Scene<'_>) {
        let greeted = Greeted::read(answer).unwrap_or_default();
        if greeted.version != VERSION {
            let detail = format!("it speaks version {} of the protocol, not {VERSION}", greeted.version);
            self.fail(AgentError::Protocol { detail }, scene);
            return;
        }
        self.greeted = greeted;
        let how = match &self.brief.session {
            SessionRequest::New => Opening::New,
            SessionRequest::Fork(_) if self.greeted.forks => Opening::Fork,
            SessionRequest::Resume(_) | SessionRequest::Fork(_) => self.going_on(scene),
        };
        self.open(how, scene);
    }

    /// How the program goes on with a session itself.
    fn going_on(&self, scene: &mut Scene<'_>) -> Opening {
        let how = match (self.greeted.loads, self.greeted.resumes) {
            (true, _) => Opening::Load,
            (false, true) => Opening::Resume,
            (false, false) => {
                note_lost_session(scene);
                return Opening::New;
            }
        };
        if matches!(self.brief.session, SessionRequest::Fork(_)) {
            let text = "The program cannot branch this conversation off; the run goes on with it.";
            scene.notice("fork_unavailable", text);
        }
        how
    }

    fn open(&mut self, how: Opening, scene: &mut Scene<'_>) {
        let earlier = match &self.brief.session {
            SessionRequest::New => String::new(),
            SessionRequest::Resume(id) | SessionRequest::Fork(id) => id.clone(),
        };
        let folder = self.brief.worktree.clone();
        self.request(Waits::Opening(how), scene, |id| match how {
            Opening::New => wire::new_session(id, &folder),
            Opening::Load => wire::load_session(id, &earlier, &folder),
            Opening::Resume => wire::resume_session(id, &earlier, &folder),
            Opening::Fork => wire::fork_session(id, &earlier, &folder),
        });
    }

    fn not_opened(&mut self, how: Opening, error: &RpcError, scene: &mut Scene<'_>) {
        let failure = self.failure(error);
        match how {
            // Whoever is not signed in gets no other session either.
            _ if matches!(failure, AgentError::Auth { .. } | AgentError::RateLimited { .. }) => {
                self.fail(failure, scene);
            }
            Opening::New => self.fail(failure, scene),
            Opening::Fork => {
                let how = self.going_on(scene);
                self.open(how, scene);
            }
            Opening::Load | Opening::Resume => {
                note_lost_session(scene);
                self.open(Opening::New, scene);
            }
        }
    }

    fn opened(&mut self, how: Opening, answer: &Value, raw_offset: u64, scene: &mut Scene<'_>) {
        let told = wire::text(answer, "sessionId").map(str::to_owned);
        let session = match (how, &self.brief.session) {
            (Opening::Load | Opening::Resume, SessionRequest::Resume(id) | SessionRequest::Fork(id)) => {
                Some(id.clone())
            }
            _ => told,
        };
        let Some(session) = session else {
            let detail = "it opens a session without an id".to_owned();
            self.fail(AgentError::Protocol { detail }, scene);
            return;
        };
        self.options = Options::read(answer);
        self.spending.opened(how == Opening::New);
        self.plan_choices(scene);
        let current = self.options.model.as_ref().map(|model| model.current.clone());
        self.model = current.unwrap_or_default();
        let is_chosen = |wanted: &&String| self.choices.iter().any(|(_, value)| value == *wanted);
        let model = self.brief.model.as_ref().filter(is_chosen).unwrap_or(&self.model).clone();
        let model = Some(model).filter(|model| !model.is_empty());
        scene.session(&session, model.as_deref());
        let body = json!({
            "session_id": session, "model": model, "program": self.greeted.name,
            "version": self.greeted.program_version,
        });
        log(NewEntry::new(EntryKind::SessionStarted, "session".to_owned(), body), raw_offset, scene);
        self.session_id = Some(session);
        self.choose_next(scene);
    }

    /// What the profile wants of the session, as far as the program lets choose.
    fn plan_choices(&mut self, scene: &mut Scene<'_>) {
        let mut choices = VecDeque::new();
        if let (PermissionMode::ReadOnly, Some(modes)) = (self.brief.permissions, &self.options.mode) {
            let reading = modes.offered.iter().find(|(id, _)| READING_MODES.contains(&id.as_str()));
            if let Some((id, _)) = reading.filter(|(id, _)| *id != modes.current) {
                choices.push_back((modes.how.clone(), id.clone()));
            }
        }
        for (what, wanted, offered) in [
            ("model", &self.brief.model, &self.options.model),
            ("effort", &self.brief.effort, &self.options.effort),
        ] {
            match (wanted, offered) {
                (Some(wanted), Some(choice)) if *wanted != choice.current => {
                    choices.push_back((choice.how.clone(), wanted.clone()));
                }
                (Some(wanted), None) => {
                    let text = format!("The program lets nobody choose its {what}; `{wanted}` is not set.");
                    scene.notice("choice_unavailable", &text);
                }
                _ => {}
            }
        }
        self.choices = choices;
    }

    /// Makes the next choice, or says what is to be done when all are made.
    fn choose_next(&mut self, scene: &mut Scene<'_>) {
        let Some(session) = self.session_id.clone() else { return };
        if let Some((how, value)) = self.choices.pop_front() {
            let waits = Waits::Choice(value.clone());
            self.request(waits, scene, |id| wire::choose(id, &session, &how, &value));
            return;
        }
        let prompt = std::mem::take(&mut self.brief.prompt);
        self.request(Waits::Prompt, scene, |id| wire::prompt(id, &session, &prompt));
    }

    fn update(&mut self, update: Update, line: (&[u8], u64), scene: &mut Scene<'_>) {
        match update {
            Update::Options(options) => self.chosen(options),
            Update::Spent { usd: Some(usd), .. } if self.session_id.is_none() => self.spending.replayed(usd),
            // What an opened session says before the prompt is what it said once.
            _ if !self.is_prompting() => {}
            Update::Said { is_thought, message, text } => {
                if let Some(spoken) = self.speech.hear(is_thought, message, &text) {
                    self.spoke(spoken, line.1, scene);
                }
                if is_thought {
                    scene.doing("Thinking");
                }
            }
            Update::Tool(patch) => self.tool(*patch, line.1, scene),
            Update::Plan(steps) => {
                let steps: Vec<_> =
                    steps.iter().map(|(text, done)| json!({ "text": text, "done": done })).collect();
                let entry = NewEntry::new(EntryKind::Plan, "plan".to_owned(), json!({ "steps": steps }));
                log(entry, line.1, scene);
            }
            Update::Spent { usd, model } => self.spent(usd, model, line.1, scene),
            Update::Notice(text) => scene.notice("program", &text),
            Update::Compacted => scene.notice("compacted", "The program shortened the conversation."),
            Update::Quiet => {}
            Update::Unknown => scene.log_raw(line.0, line.1),
        }
    }

    fn chosen(&mut self, options: Options) {
        if let Some(model) = &options.model {
            self.model.clone_from(&model.current);
        }
        let keep = |new: Option<Choice>, old: &mut Option<Choice>| {
            if new.is_some() {
                *old = new;
            }
        };
        keep(options.model, &mut self.options.model);
        keep(options.effort, &mut self.options.effort);
        keep(options.mode, &mut self.options.mode);
    }

    fn spoke(&mut self, spoken: Spoken, raw_offset: u64, scene: &mut Scene<'_>) {
        let Spoken { is_thought, text, entry } = spoken;
        log(entry, raw_offset, scene);
        if is_thought {
            return;
        }
        scene.doing(first_line(&text));
        if let Some(reader) = &mut self.verdict {
            reader.read(&text);
            reader.read("\n");
        }
        self.last_words = text;
    }

    /// What was said so far is a message of its own: something else follows.
    fn hush(&mut self, raw_offset: u64, scene: &mut Scene<'_>) {
        if let Some(spoken) = self.speech.close() {
            self.spoke(spoken, raw_offset, scene);
        }
    }

    fn tool(&mut self, patch: ToolPatch, raw_offset: u64, scene: &mut Scene<'_>) {
        self.hush(raw_offset, scene);
        if self.tools.get(&patch.id).is_none() {
            self.calls = self.calls.saturating_add(1);
        }
        let entries = self.tools.told(patch);
        log_tools(entries, raw_offset, scene);
    }

    fn spent(&mut self, usd: Option<f64>, model: Option<String>, raw_offset: u64, scene: &mut Scene<'_>) {
        if let Some(model) = model {
            self.model = model;
        }
        let Some(usd) = usd else { return };
        let spent = self.spending.spent(usd);
        if let Some(carry) = self.spending.carry() {
            scene.carry(carry);
        }
        match spent {
            Some(0) => {}
            Some(micro) => {
                let sample = forge_model::usage::UsageSample {
                    model: self.model.clone(),
                    cost_micro_usd: Some(micro),
                    ..Default::default()
                };
                scene.used(sample, raw_offset);
            }
            None => {
                let text = "What this turn cost cannot be told: the program reports the total of the whole session only.";
                scene.notice("usage_unread", text);
            }
        }
    }

    fn asked(&mut self, id: &Value, method: &str, params: Value, line: (&[u8], u64), scene: &mut Scene<'_>) {
        if method != "session/request_permission" {
            if !(method.starts_with("fs/") || method.starts_with("terminal/")) {
                scene.log_raw(line.0, line.1);
            }
            scene.send(&wire::not_served(id, method));
            return;
        }
        let Some(permission) = Permission::read(params) else {
            scene.log_raw(line.0, line.1);
            scene.send(&wire::not_understood(id));
            return;
        };
        if self.interrupting || !self.is_prompting() {
            scene.send(&wire::permission(id, None));
            return;
        }
        self.hush(line.1, scene);
        let call = permission.tool.id.clone();
        let entries = self.tools.asked(&permission.tool);
        log_tools(entries, line.1, scene);
        match self.asks.requested(id.clone(), permission, &self.tools) {
            Step::Ask(ask) => scene.ask(ask),
            Step::Reply { option, declined } => {
                if let Some(why) = declined {
                    self.tools.declined(&call, why);
                }
                scene.send(&wire::permission(id, option.as_deref()));
            }
        }
    }

    /// The answer to the prompt.
    fn prompted(&mut self, result: Result<Value, RpcError>, raw_offset: u64, scene: &mut Scene<'_>) {
        self.hush(raw_offset, scene);
        log_tools(self.tools.abandoned(), raw_offset, scene);
        for (ask, _) in self.asks.abandoned() {
            scene.settle(&ask, None, EntryStatus::Cancelled);
        }
        let judged = match result {
            Ok(answer) => match Ended::read(&answer) {
                Some(ended) => {
                    self.count(&ended, raw_offset, scene);
                    outcome::judge(ended.reason, self.brief.turns, self.speech.count())
                }
                None => {
                    let detail = "its answer to the prompt has no reason why it stopped".to_owned();
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
        self.turn_ended(&judged, raw_offset, scene);
        let asks_again = judged.is_ok() && self.ask_for_verdict(scene);
        self.result = Some(judged);
        if !asks_again {
            self.end(scene);
        }
    }

    fn count(&mut self, ended: &Ended, raw_offset: u64, scene: &mut Scene<'_>) {
        if let Some(carry) = self.spending.carry() {
            scene.carry(carry);
        }
        for sample in self.spending.tokens(ended, &self.model) {
            scene.used(sample, raw_offset);
        }
        if self.calls > 0 && self.greeted.name.as_deref() == Some(TELLS_LAST_CALL) {
            let text =
                "The program tells the tokens of its last call of the model only; the cost is that of all.";
            scene.notice("usage_partial", text);
        }
    }

    fn turn_ended(&self, judged: &Result<(), AgentError>, raw_offset: u64, scene: &mut Scene<'_>) {
        let error = judged.as_ref().err();
        let body = json!({
            "summary": self.summary.as_ref().filter(|_| error.is_none()),
            "error": error.map(|error| json!({ "code": error.code(), "message": error.to_string() })),
        });
        let mut entry = NewEntry::new(EntryKind::TurnEnded, "turn".to_owned(), body);
        entry.status = Some(match error {
            None => EntryStatus::Completed,
            Some(AgentError::Cancelled) => EntryStatus::Cancelled,
            Some(_) => EntryStatus::Failed,
        });
        log(entry, raw_offset, scene);
    }

    /// Asks a reviewer for its verdict when it gave none; once.
    fn ask_for_verdict(&mut self, scene: &mut Scene<'_>) -> bool {
        let (Some(reader), Some(session)) = (self.verdict.take(), self.session_id.clone()) else {
            return false;
        };
        if reader.finish().0.verdict.is_some() {
            return false;
        }
        scene.notice("verdict_missing", "The review has no verdict; the reviewer is asked for it.");
        self.turn += 1;
        self.calls = 0;
        self.speech = Speech::default();
        scene.turn(self.turn);
        self.request(Waits::Prompt, scene, |id| wire::prompt(id, &session, VERDICT_MISSING));
        true
    }

    /// Asks the program to stop, and answers what it waits for.
    fn stop(&mut self, scene: &mut Scene<'_>) {
        self.interrupting = true;
        for (ask, request) in self.asks.abandoned() {
            scene.settle(&ask, None, EntryStatus::Cancelled);
            scene.send(&wire::permission(&request, None));
        }
        if let Some(session) = &self.session_id {
            scene.send(&wire::cancel(session));
        }
    }
}

impl Dialogue for AcpDialogue {
    fn begin(&mut self, scene: &mut Scene<'_>) {
        self.request(Waits::Greeting, scene, wire::initialize);
    }

    fn hear(&mut self, line: &[u8], raw_offset: u64, scene: &mut Scene<'_>) {
        if self.over {
            // What follows the last answer tells nothing of the run.
            return;
        }
        match Line::read(line) {
            Line::Answer { id, result } => match self.waits.take() {
                Some((waited, waits)) if waited == id => self.answered(waits, result, raw_offset, scene),
                waits => {
                    self.waits = waits;
                    scene.log_raw(line, raw_offset);
                }
            },
            Line::Request { id, method, params } => {
                self.asked(&id, &method, params, (line, raw_offset), scene);
            }
            Line::Notification { method, params } if method == "session/update" => {
                self.update(Update::read(params), (line, raw_offset), scene);
            }
            Line::Notification { method, params } if method == "$/cancel_request" => {
                let request = params.get("requestId").unwrap_or(&Value::Null);
                if let Some(ask) = self.asks.withdrawn(request) {
                    scene.settle(&ask, None, EntryStatus::Cancelled);
                }
            }
            Line::Notification { .. } | Line::Other => scene.log_raw(line, raw_offset),
        }
    }

    fn command(&mut self, command: RunCommand, scene: &mut Scene<'_>) {
        // The protocol has no way to speak to a running turn, nor to say why something is refused.
        let RunCommand::Answer { ask, option, note: _ } = command else { return };
        let Some(taken) = self.asks.answered(&ask, &option) else { return };
        let status = if taken.declined.is_some() { EntryStatus::Declined } else { EntryStatus::Completed };
        scene.settle(&ask, Some(&option), status);
        if let Some(why) = taken.declined {
            self.tools.declined(&taken.call, why);
        }
        scene.send(&wire::permission(&taken.request, taken.option.as_deref()));
        if taken.stops {
            self.stop(scene);
        }
    }

    fn interrupt(&mut self, scene: &mut Scene<'_>) {
        if self.over || !self.is_prompting() {
            self.end(scene);
            return;
        }
        self.stop(scene);
    }

    fn said(&mut self) -> Said {
        Said {
            result: self.result.take(),
            session_id: self.session_id.clone(),
            carry: self.spending.carry(),
            summary: self.summary.take(),
        }
    }
}

fn note_lost_session(scene: &mut Scene<'_>) {
    let text =
        "The program no longer has the conversation that this run was to go on with; it starts a new one.";
    scene.notice("session_lost", text);
}

fn log(mut entry: NewEntry, raw_offset: u64, scene: &mut Scene<'_>) {
    entry.raw_offset = Some(raw_offset);
    scene.log(entry);
}

fn log_tools(entries: Vec<NewEntry>, raw_offset: u64, scene: &mut Scene<'_>) {
    for entry in entries {
        if entry.status == Some(EntryStatus::Running)
            && let Some(line) = doing(&entry)
        {
            scene.doing(&line);
        }
        log(entry, raw_offset, scene);
    }
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// What a call that runs says about what is being done.
fn doing(entry: &NewEntry) -> Option<String> {
    let field = |name: &str| wire::text(&entry.body, name);
    match entry.kind {
        EntryKind::Command => field("command").map(|command| format!("Running {}", first_line(command))),
        EntryKind::FileChange => field("path").map(|path| format!("Editing {path}")),
        _ => field("title").or_else(|| field("name")).map(|name| format!("Using {name}")),
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
