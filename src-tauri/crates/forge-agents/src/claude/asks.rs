//! What the program asks: may it use a tool, and questions of the model to a person.
//!
//! Permissions that are given for longer hold for the session alone: the program would write them into the
//! worktree's settings.

use std::collections::BTreeMap;

use forge_model::{
    agent::PermissionMode,
    approval::{ApprovalChoice, ApprovalKind, ApprovalOption},
};
use serde_json::{Map, Value, json};

use crate::{
    Ask,
    json::{list, owned, text},
};

use super::{
    entries::{Tools, added, replaced},
    wire::{allow, deny},
};

/// The tool by which the model asks a person.
const QUESTION_TOOL: &str = "AskUserQuestion";

const MAY_ONLY_READ: &str =
    "This run is read-only. Do not try again to change anything; describe what you would change.";
const NOBODY_ALLOWS: &str =
    "No user is available to allow this. Continue without it, inside the working directory.";
const NOBODY_ANSWERS: &str = "No user is available to answer. Decide yourself, and state your assumption.";
const REFUSED: &str = "The user refused this. Continue without it.";
const NO_ANSWER: &str = "The user did not answer. Decide yourself, and state your assumption.";

const ALLOW: &str = "allow";
const ALWAYS: &str = "always";
const REFUSE: &str = "refuse";
const STOP: &str = "stop";
const OTHER: &str = "other";

/// The questions that wait.
#[derive(Debug)]
pub(super) struct Asks {
    permissions: PermissionMode,
    /// By [`Ask::id`].
    open: BTreeMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    request_id: String,
    tool_use_id: String,
    input: Value,
    about: About,
}

#[derive(Debug)]
enum About {
    /// May it; what the program suggests to allow from now on.
    Permission(Vec<Value>),
    /// The question at this place of the input's; the answers so far, by question.
    Question { at: usize, answers: Map<String, Value> },
}

/// What comes of a request or an answer.
#[derive(Debug)]
pub(super) enum Step {
    /// A person is asked.
    Ask(Ask),
    /// The program is answered.
    Reply {
        request_id: String,
        response: Value,
        /// The call that was refused, and why.
        declined: Option<(String, String)>,
    },
}

/// An answer that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    pub is_refusal: bool,
    pub next: Step,
}

impl Asks {
    pub(super) const fn new(permissions: PermissionMode) -> Self {
        Self { permissions, open: BTreeMap::new() }
    }

    /// The program asks to use a tool.
    pub(super) fn requested(&mut self, request_id: &str, request: &Value, tools: &Tools) -> Step {
        let name = text(request, "tool_name").unwrap_or_default();
        let input = request.get("input").cloned().unwrap_or_else(|| json!({}));
        let tool_use_id = owned(request, "tool_use_id").unwrap_or_default();
        let is_question = name == QUESTION_TOOL && !list(&input, "questions").is_empty();
        let refusal = match self.permissions {
            PermissionMode::ReadOnly | PermissionMode::Unattended if is_question => Some(NOBODY_ANSWERS),
            PermissionMode::ReadOnly => Some(MAY_ONLY_READ),
            PermissionMode::Unattended => Some(NOBODY_ALLOWS),
            PermissionMode::Ask | PermissionMode::Edit => None,
        };
        if let Some(why) = refusal {
            return refuse(request_id.to_owned(), tool_use_id, why, false);
        }
        let request_id = request_id.to_owned();
        if is_question {
            let about = About::Question { at: 0, answers: Map::new() };
            return self.ask_next(Open { request_id, tool_use_id, input, about });
        }
        let suggestions: Vec<Value> =
            list(request, "permission_suggestions").iter().filter_map(for_session).collect();
        let ask = permission(&request_id, name, request, &input, &suggestions, tools);
        let about = About::Permission(suggestions);
        self.open.insert(request_id.clone(), Open { request_id, tool_use_id, input, about });
        Step::Ask(ask)
    }

    /// The question of this id is answered; none when it does not wait, or has no such option.
    pub(super) fn answered(&mut self, ask: &str, option: &str, note: Option<&str>) -> Option<Taken> {
        let note = note.map(str::trim).filter(|note| !note.is_empty());
        let open = self.open.remove(ask)?;
        match &open.about {
            About::Permission(_) => self.permit(ask, open, option, note),
            About::Question { .. } => self.reply(ask, open, option, note),
        }
    }

    fn permit(&mut self, ask: &str, open: Open, option: &str, note: Option<&str>) -> Option<Taken> {
        let About::Permission(suggestions) = &open.about else { return None };
        match option {
            ALLOW | ALWAYS => {
                let permissions = if option == ALWAYS { suggestions.as_slice() } else { &[] };
                let response = allow(open.input, permissions);
                let next = Step::Reply { request_id: open.request_id, response, declined: None };
                Some(Taken { is_refusal: false, next })
            }
            REFUSE | STOP => {
                let why = note.unwrap_or(REFUSED);
                let next = refuse(open.request_id, open.tool_use_id, why, option == STOP);
                Some(Taken { is_refusal: true, next })
            }
            _ => {
                self.open.insert(ask.to_owned(), open);
                None
            }
        }
    }

    fn reply(&mut self, ask: &str, mut open: Open, option: &str, note: Option<&str>) -> Option<Taken> {
        let About::Question { at, answers } = &mut open.about else { return None };
        if option == REFUSE || option == STOP {
            let why = note.unwrap_or(NO_ANSWER);
            let next = refuse(open.request_id, open.tool_use_id, why, option == STOP);
            return Some(Taken { is_refusal: true, next });
        }
        let question = list(&open.input, "questions").get(*at).unwrap_or(&Value::Null);
        let chosen = option.parse().ok().and_then(|index: usize| list(question, "options").get(index));
        let label = chosen.and_then(|chosen| text(chosen, "label"));
        let answer = match (label, note) {
            (Some(label), Some(note)) => format!("{label} ({note})"),
            (Some(label), None) => label.to_owned(),
            (None, Some(note)) if option == OTHER => note.to_owned(),
            (None, None) if option == OTHER => NO_ANSWER.to_owned(),
            (None, _) => {
                self.open.insert(ask.to_owned(), open);
                return None;
            }
        };
        answers.insert(owned(question, "question").unwrap_or_default(), json!(answer));
        *at += 1;
        Some(Taken { is_refusal: false, next: self.ask_next(open) })
    }

    /// Asks the question that is next, or answers the program when all are answered.
    fn ask_next(&mut self, open: Open) -> Step {
        let About::Question { at, answers } = &open.about else {
            return refuse(open.request_id, open.tool_use_id, REFUSED, false);
        };
        let Some(question) = list(&open.input, "questions").get(*at) else {
            let mut input = open.input.clone();
            if let Some(fields) = input.as_object_mut() {
                fields.insert("answers".to_owned(), json!(answers));
            }
            let response = allow(input, &[]);
            return Step::Reply { request_id: open.request_id, response, declined: None };
        };
        let id = if *at == 0 { open.request_id.clone() } else { format!("{}:{at}", open.request_id) };
        let ask = ask_person(&id, question);
        self.open.insert(id, open);
        Step::Ask(ask)
    }

    /// The program gave this request up: the questions that need no answer any more.
    pub(super) fn withdrawn(&mut self, request_id: &str) -> Vec<String> {
        let of_request = |open: &Open| open.request_id == request_id;
        let gone: Vec<String> =
            self.open.iter().filter(|(_, open)| of_request(open)).map(|(id, _)| id.clone()).collect();
        self.open.retain(|_, open| !of_request(open));
        gone
    }

    /// The turn is over: nothing waits any more.
    pub(super) fn abandoned(&mut self) -> Vec<String> {
        std::mem::take(&mut self.open).into_keys().collect()
    }
}

fn refuse(request_id: String, tool_use_id: String, why: &str, stops: bool) -> Step {
    let declined = Some((tool_use_id, why.to_owned()));
    Step::Reply { request_id, response: deny(why, stops), declined }
}

/// A suggestion of the program, made to hold for the session alone. None: it would lift its guards.
fn for_session(suggestion: &Value) -> Option<Value> {
    let is_mode = text(suggestion, "type") == Some("setMode");
    if is_mode && text(suggestion, "mode") != Some("acceptEdits") {
        return None;
    }
    let mut suggestion = suggestion.clone();
    suggestion.as_object_mut()?.insert("destination".to_owned(), json!("session"));
    Some(suggestion)
}

fn permission(
    id: &str,
    name: &str,
    request: &Value,
    input: &Value,
    suggestions: &[Value],
    tools: &Tools,
) -> Ask {
    let mut detail = Map::new();
    let mut add = |field: &str, value: Value| {
        detail.insert(field.to_owned(), value);
    };
    let reason = owned(request, "decision_reason");
    let path = tools.written(name, input);
    let (kind, title) = if let Some(path) = path {
        let part = |field: &str| text(input, field);
        let diff = match (part("content"), part("old_string"), part("new_string")) {
            (Some(content), ..) => Some(added(&path, content)),
            (None, Some(old), Some(new)) => Some(replaced(&path, old, new)),
            _ => None,
        };
        add("reason", json!(reason));
        add("paths", json!([path]));
        add("diff", json!(diff));
        (ApprovalKind::FileChange, path)
    } else if let (true, Some(command)) = (name == "Bash", text(input, "command")) {
        add("reason", json!(reason.or_else(|| owned(request, "description"))));
        add("command", json!(command));
        (ApprovalKind::Command, command.to_owned())
    } else {
        add("reason", json!(reason));
        add("input", input.clone());
        let shown = text(request, "display_name").unwrap_or(name);
        let about = text(request, "description").filter(|it| !it.is_empty());
        (ApprovalKind::Tool, about.map_or_else(|| shown.to_owned(), |about| format!("{shown}: {about}")))
    };
    if let Some(blocked) = text(request, "blocked_path") {
        add("paths", json!([tools.path(blocked)]));
    }
    let mut options = vec![option(ALLOW, "Allow once", ApprovalChoice::AllowOnce)];
    if !suggestions.is_empty() {
        let what: Vec<String> = suggestions.iter().filter_map(|it| covers(it, tools)).collect();
        let label = if what.is_empty() {
            "Allow in this session".to_owned()
        } else {
            format!("Allow in this session: {}", what.join(", "))
        };
        options.push(option(ALWAYS, &label, ApprovalChoice::AllowAlways));
    }
    options.push(option(REFUSE, "Refuse", ApprovalChoice::RejectOnce));
    options.push(option(STOP, "Refuse and stop", ApprovalChoice::Stop));
    Ask { id: id.to_owned(), kind, title, detail: Value::Object(detail), options }
}

/// What a suggestion would allow, in short.
fn covers(suggestion: &Value, tools: &Tools) -> Option<String> {
    match text(suggestion, "type")? {
        "addRules" => {
            let rule = |rule: &Value| {
                let tool = text(rule, "toolName")?;
                Some(match text(rule, "ruleContent") {
                    Some(content) => format!("{tool}({content})"),
                    None => tool.to_owned(),
                })
            };
            let rules: Vec<_> = list(suggestion, "rules").iter().filter_map(rule).collect();
            (!rules.is_empty()).then(|| rules.join(", "))
        }
        "addDirectories" => {
            let folders: Vec<_> = list(suggestion, "directories").iter().filter_map(Value::as_str).collect();
            let folders: Vec<_> = folders.into_iter().map(|folder| tools.path(folder)).collect();
            (!folders.is_empty()).then(|| format!("changes in {}", folders.join(", ")))
        }
        "setMode" => Some("all changes of files".to_owned()),
        _ => None,
    }
}

fn ask_person(id: &str, question: &Value) -> Ask {
    let mut options: Vec<ApprovalOption> = list(question, "options")
        .iter()
        .enumerate()
        .map(|(index, it)| {
            let label = text(it, "label").unwrap_or_default();
            option(&index.to_string(), label, ApprovalChoice::Answer)
        })
        .collect();
    options.push(option(OTHER, "Other (describe it in the note)", ApprovalChoice::Answer));
    options.push(option(REFUSE, "No answer", ApprovalChoice::RejectOnce));
    options.push(option(STOP, "Stop", ApprovalChoice::Stop));
    Ask {
        id: id.to_owned(),
        kind: ApprovalKind::Question,
        title: text(question, "question").unwrap_or("The agent has a question").to_owned(),
        detail: json!({ "reason": owned(question, "header"), "input": question }),
        options,
    }
}

fn option(id: &str, label: &str, choice: ApprovalChoice) -> ApprovalOption {
    ApprovalOption { id: id.to_owned(), label: label.to_owned(), choice }
}
