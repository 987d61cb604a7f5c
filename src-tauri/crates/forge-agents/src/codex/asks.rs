//! What the server asks for: as questions for a person, and their answers as it wants them.

use std::collections::VecDeque;

use forge_model::{
    approval::{ApprovalChoice, ApprovalKind, ApprovalOption},
    log::EntryStatus,
};
use serde_json::{Map, Value, json};

use super::{
    entries::{command_line, relative},
    wire::object,
};
use crate::{
    Ask, NewEntry,
    json::{list, text},
};

/// A request of the server that a person answers, in one or more questions.
#[derive(Debug)]
pub(super) struct Form {
    /// The request's id.
    pub(super) rpc: Value,
    /// What is still to be asked; the first one is open.
    questions: VecDeque<Question>,
    answers: Map<String, Value>,
    make: Make,
    /// The result that says no.
    pub(super) declined: Value,
    /// Why nobody may be asked at all.
    pub(super) unaskable: Option<&'static str>,
}

/// What answers become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    /// `{answers: {id: {answers: [..]}}}`.
    Answers,
    /// `{action: "accept", content: {name: ..}}`.
    Content,
}

#[derive(Debug)]
struct Question {
    key: String,
    ask: Ask,
    choices: Vec<Choice>,
}

/// What an option of a question does, in the order of the options.
#[derive(Debug, Clone)]
enum Choice {
    /// The result of the whole request.
    Result(Value),
    /// The answer to this question.
    Value(Value),
    /// The answer is what goes with the option: text, or else a number or the like.
    Note { is_text: bool },
}

/// What is known about what is asked.
pub(super) struct Context<'c> {
    pub(super) worktree: &'c std::path::Path,
    /// The entries of the item that waits for the answer.
    pub(super) item: &'c [NewEntry],
    /// Makes the name of the next question.
    pub(super) next: &'c mut u32,
}

impl Context<'_> {
    fn name(&mut self) -> String {
        *self.next = self.next.wrapping_add(1);
        format!("ask-{}", self.next)
    }
}

/// How an answer was taken.
#[derive(Debug)]
pub(super) enum Taken {
    /// The server is told this.
    Reply(Value),
    /// There is more to be asked.
    More,
}

impl Form {
    /// The question that is open, or to be asked next.
    pub(super) fn open(&self) -> Option<&Ask> {
        self.questions.front().map(|question| &question.ask)
    }

    /// Takes the answer to the open question; none when it has no such option. Also how the question ended, and
    /// whether what goes with the answer was used as one.
    pub(super) fn answer(&mut self, option: &str, note: Option<&str>) -> Option<(Taken, EntryStatus, bool)> {
        let question = self.questions.front()?;
        let at = question.ask.options.iter().position(|known| known.id == option)?;
        let status = match question.ask.options.get(at)?.choice {
            ApprovalChoice::AllowOnce | ApprovalChoice::AllowAlways | ApprovalChoice::Answer => {
                EntryStatus::Completed
            }
            ApprovalChoice::RejectOnce | ApprovalChoice::RejectAlways | ApprovalChoice::Stop => {
                EntryStatus::Declined
            }
        };
        let (value, by_note) = match question.choices.get(at)?.clone() {
            Choice::Result(result) => return Some((Taken::Reply(result), status, false)),
            Choice::Value(value) => (value, false),
            Choice::Note { is_text } => {
                let note = note.unwrap_or_default();
                let parsed = serde_json::from_str(note.trim()).ok().filter(|_| !is_text);
                (parsed.unwrap_or_else(|| json!(note)), true)
            }
        };
        let question = self.questions.pop_front()?;
        self.answers.insert(question.key, value);
        let taken = if self.questions.is_empty() { Taken::Reply(self.result()) } else { Taken::More };
        Some((taken, status, by_note))
    }

    fn result(&self) -> Value {
        match self.make {
            Make::Content => json!({ "action": "accept", "content": self.answers, "_meta": null }),
            Make::Answers => {
                let answers = self.answers.iter().map(|(key, value)| (key, json!({ "answers": [value] })));
                json!({ "answers": answers.collect::<std::collections::BTreeMap<_, _>>() })
            }
        }
    }

    fn decision(rpc: &Value, ask: Ask, results: Vec<Value>, declined: Value) -> Self {
        let choices = results.into_iter().map(Choice::Result).collect();
        let question = Question { key: String::new(), ask, choices };
        Self {
            rpc: rpc.clone(),
            questions: VecDeque::from([question]),
            answers: Map::new(),
            make: Make::Answers,
            declined,
            unaskable: None,
        }
    }
}

/// What a request asks for; none when it is not one for people.
pub(super) fn form(rpc: &Value, method: &str, params: &Value, context: &mut Context<'_>) -> Option<Form> {
    match method {
        "item/commandExecution/requestApproval" => Some(command(rpc, params, context)),
        "item/fileChange/requestApproval" => Some(file_change(rpc, params, context)),
        "item/permissions/requestApproval" => Some(permissions(rpc, params, context)),
        "item/tool/requestUserInput" => Some(user_input(rpc, params, context)),
        "mcpServer/elicitation/request" => Some(elicitation(rpc, params, context)),
        _ => None,
    }
}

fn option(id: impl Into<String>, label: impl Into<String>, choice: ApprovalChoice) -> ApprovalOption {
    ApprovalOption { id: id.into(), label: label.into(), choice }
}

fn command(rpc: &Value, params: &Value, context: &mut Context<'_>) -> Form {
    let line = text(params, "command").map(command_line);
    let network = params.get("networkApprovalContext").and_then(|of| text(of, "host"));
    let decisions = match params.get("availableDecisions").and_then(Value::as_array) {
        Some(decisions) if !decisions.is_empty() => decisions.clone(),
        Some(_) | None => vec![json!("accept"), json!("cancel")],
    };
    let title = match (network, &line) {
        (Some(host), _) => format!("Connect to {host}"),
        (None, Some(line)) => line.clone(),
        (None, None) => "Run a command".to_owned(),
    };
    let detail = object([
        ("reason", params.get("reason").filter(|reason| reason.is_string()).cloned()),
        ("command", line.map(Value::String)),
        ("cwd", params.get("cwd").filter(|cwd| cwd.is_string()).cloned()),
    ]);
    let kind = if network.is_some() { ApprovalKind::Permission } else { ApprovalKind::Command };
    let (options, results) = decided(&decisions);
    let ask = Ask { id: context.name(), kind, title, detail, options };
    Form::decision(rpc, ask, results, json!({ "decision": "decline" }))
}

fn file_change(rpc: &Value, params: &Value, context: &mut Context<'_>) -> Form {
    let paths: Vec<&str> = context.item.iter().filter_map(|entry| text(&entry.body, "path")).collect();
    let diffs = context.item.iter().filter_map(|entry| text(&entry.body, "diff")).collect::<Vec<_>>();
    let root = text(params, "grantRoot").map(|root| relative(root, context.worktree));
    let title = match (paths.as_slice(), &root) {
        ([], Some(root)) => format!("Change files in {root}"),
        ([], None) => "Change files".to_owned(),
        (paths, _) => format!("Change {}", paths.join(", ")),
    };
    let detail = object([
        ("reason", params.get("reason").filter(|reason| reason.is_string()).cloned()),
        ("paths", (!paths.is_empty()).then(|| json!(paths))),
        ("diff", (!diffs.is_empty()).then(|| json!(diffs.join("\n")))),
    ]);
    let (options, results) = decided(&["accept", "acceptForSession", "cancel"].map(|name| json!(name)));
    let ask = Ask { id: context.name(), kind: ApprovalKind::FileChange, title, detail, options };
    Form::decision(rpc, ask, results, json!({ "decision": "decline" }))
}

/// The options for decisions, and what choosing each replies. Declining is always among them.
fn decided(decisions: &[Value]) -> (Vec<ApprovalOption>, Vec<Value>) {
    let mut options: Vec<ApprovalOption> = Vec::new();
    let mut results = Vec::new();
    let decline = json!("decline");
    let is_stop = |decision: &Value| decision.as_str() == Some("cancel");
    let before_stop = decisions.iter().filter(|decision| !is_stop(decision) && **decision != decline);
    let stop = decisions.iter().filter(|decision| is_stop(decision));
    for decision in before_stop.chain([&decline]).chain(stop) {
        let Some(mut option) = decision_option(decision) else { continue };
        if options.iter().any(|known| known.id == option.id) {
            option.id = format!("{}-{}", option.id, options.len());
        }
        options.push(option);
        results.push(json!({ "decision": decision }));
    }
    (options, results)
}

fn decision_option(decision: &Value) -> Option<ApprovalOption> {
    if let Some(name) = decision.as_str() {
        let (label, choice) = match name {
            "accept" => ("Allow", ApprovalChoice::AllowOnce),
            "acceptForSession" => ("Allow for this session", ApprovalChoice::AllowAlways),
            "decline" => ("Decline", ApprovalChoice::RejectOnce),
            "cancel" => ("Stop the agent", ApprovalChoice::Stop),
            _ => return None,
        };
        return Some(option(name, label, choice));
    }
    let (name, of) = decision.as_object()?.iter().next()?;
    match name.as_str() {
        "acceptWithExecpolicyAmendment" => {
            let words = of.get("execpolicy_amendment").and_then(Value::as_array)?;
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            let label = format!("Always allow commands that begin with `{}`", words.join(" "));
            Some(option(name, label, ApprovalChoice::AllowAlways))
        }
        "applyNetworkPolicyAmendment" => {
            let amendment = of.get("network_policy_amendment")?;
            let host = text(amendment, "host").unwrap_or_default();
            Some(match text(amendment, "action") {
                Some("deny") => option(name, format!("Never allow {host}"), ApprovalChoice::RejectAlways),
                Some(_) | None => option(name, format!("Always allow {host}"), ApprovalChoice::AllowAlways),
            })
        }
        _ => None,
    }
}

fn permissions(rpc: &Value, params: &Value, context: &mut Context<'_>) -> Form {
    let wanted = params.get("permissions").and_then(Value::as_object).cloned().unwrap_or_default();
    let wanted: Map<String, Value> = wanted.into_iter().filter(|(_, value)| !value.is_null()).collect();
    let files = wanted.get("fileSystem");
    let paths: Vec<&Value> = ["read", "write"]
        .iter()
        .filter_map(|name| files?.get(name)?.as_array())
        .flatten()
        .filter(|path| path.is_string())
        .collect();
    let reason = text(params, "reason");
    let detail = object([
        ("reason", reason.map(|reason| json!(reason))),
        ("cwd", params.get("cwd").filter(|cwd| cwd.is_string()).cloned()),
        ("paths", (!paths.is_empty()).then(|| json!(paths))),
        ("input", Some(Value::Object(wanted.clone()))),
    ]);
    let granted = |scope: &str| json!({ "permissions": wanted, "scope": scope });
    let declined = json!({ "permissions": {}, "scope": "turn" });
    let ask = Ask {
        id: context.name(),
        kind: ApprovalKind::Permission,
        title: reason.unwrap_or("Get more permissions").to_owned(),
        detail,
        options: vec![
            option("accept", "Allow", ApprovalChoice::AllowOnce),
            option("acceptForSession", "Allow for this session", ApprovalChoice::AllowAlways),
            option("decline", "Decline", ApprovalChoice::RejectOnce),
        ],
    };
    let results = vec![granted("turn"), granted("session"), declined.clone()];
    Form::decision(rpc, ask, results, declined)
}

fn user_input(rpc: &Value, params: &Value, context: &mut Context<'_>) -> Form {
    let declined = json!({ "answers": {} });
    let mut unaskable = None;
    let mut questions = VecDeque::new();
    for question in list(params, "questions") {
        let flag = |name: &str| question.get(name).and_then(Value::as_bool).unwrap_or_default();
        if flag("isSecret") {
            // Answers are stored, and secrets are not to be.
            unaskable = Some("The agent asks for a secret. Enter secrets in the program itself.");
        }
        let (mut options, mut choices) = (Vec::new(), Vec::new());
        for (at, offered) in list(question, "options").iter().enumerate() {
            let label = text(offered, "label").unwrap_or_default();
            let described = text(offered, "description").filter(|description| !description.is_empty());
            let shown = described.map_or_else(|| label.to_owned(), |about| format!("{label}: {about}"));
            options.push(option(at.to_string(), shown, ApprovalChoice::Answer));
            choices.push(Choice::Value(json!(label)));
        }
        if options.is_empty() || flag("isOther") {
            options.push(option("other", "Answer in your own words", ApprovalChoice::Answer));
            choices.push(Choice::Note { is_text: true });
        }
        options.push(option("decline", "Do not answer", ApprovalChoice::RejectOnce));
        choices.push(Choice::Result(declined.clone()));
        let ask = Ask {
            id: context.name(),
            kind: ApprovalKind::Question,
            title: text(question, "question").unwrap_or("A question").to_owned(),
            detail: object([("reason", text(question, "header").map(|header| json!(header)))]),
            options,
        };
        questions.push_back(Question {
            key: text(question, "id").unwrap_or_default().to_owned(),
            ask,
            choices,
        });
    }
    if questions.is_empty() {
        unaskable = Some("The question is empty.");
    }
    Form { rpc: rpc.clone(), questions, answers: Map::new(), make: Make::Answers, declined, unaskable }
}

/// A server of tools asks. A form with more than one field, and an identity check, is nothing for a card.
fn elicitation(rpc: &Value, params: &Value, context: &mut Context<'_>) -> Form {
    let result =
        |action: &str, content: Value| json!({ "action": action, "content": content, "_meta": null });
    let declined = result("decline", Value::Null);
    let schema = params.get("requestedSchema").unwrap_or(&Value::Null);
    let fields = schema.get("properties").and_then(Value::as_object);
    let mut fields = fields.into_iter().flatten();
    let (mut options, mut choices) = (Vec::new(), Vec::new());
    let mut unaskable = None;
    let mut key = String::new();
    match (text(params, "mode"), fields.next(), fields.next()) {
        (Some("url"), ..) | (Some(_), None, _) if text(params, "challenge").is_none() => {
            options.push(option("accept", "Allow", ApprovalChoice::AllowOnce));
            choices.push(Choice::Result(result("accept", json!({}))));
        }
        (Some(_), Some((name, field)), None) => {
            key.clone_from(name);
            for (id, label, value) in values(field) {
                options.push(option(id, label, ApprovalChoice::Answer));
                choices.push(Choice::Value(value));
            }
            if options.is_empty() {
                options.push(option("other", "Answer in your own words", ApprovalChoice::Answer));
                let is_text = text(field, "type").is_none_or(|kind| kind == "string");
                choices.push(Choice::Note { is_text });
            }
        }
        _ => unaskable = Some("The agent asks for a form that Forge cannot show."),
    }
    options.push(option("decline", "Decline", ApprovalChoice::RejectOnce));
    choices.push(Choice::Result(declined.clone()));
    options.push(option("cancel", "Cancel the call", ApprovalChoice::RejectOnce));
    choices.push(Choice::Result(result("cancel", Value::Null)));
    let message = text(params, "message").or_else(|| text(params, "title"));
    let ask = Ask {
        id: context.name(),
        kind: if key.is_empty() { ApprovalKind::Tool } else { ApprovalKind::Question },
        title: message.unwrap_or("A tool asks a question").to_owned(),
        detail: object([
            ("reason", text(params, "serverName").map(|server| json!(format!("Asked by {server}")))),
            ("input", text(params, "url").map(|url| json!(url))),
        ]),
        options,
    };
    Form {
        rpc: rpc.clone(),
        questions: VecDeque::from([Question { key, ask, choices }]),
        answers: Map::new(),
        make: Make::Content,
        declined,
        unaskable,
    }
}

/// The values that a field can have, when they can be listed: id, label, value.
fn values(field: &Value) -> Vec<(String, String, Value)> {
    if text(field, "type") == Some("boolean") {
        return vec![
            ("yes".to_owned(), "Yes".to_owned(), json!(true)),
            ("no".to_owned(), "No".to_owned(), json!(false)),
        ];
    }
    let plain = list(field, "enum").iter();
    let titled = list(field, "oneOf").iter();
    plain
        .map(|value| (value.clone(), None))
        .chain(titled.filter_map(|of| Some((of.get("const")?.clone(), text(of, "title")))))
        .enumerate()
        .map(|(at, (value, title))| {
            let label = title.or(value.as_str()).map_or_else(|| value.to_string(), str::to_owned);
            (at.to_string(), label, value)
        })
        .collect()
}
