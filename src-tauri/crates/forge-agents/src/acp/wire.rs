//! What the program prints and reads: JSON-RPC 2.0, an object a line, in the official types of the protocol.
//!
//! The types of the protocol's own crate stay in here; the rest of the adapter sees what it needs of them. Reading
//! never fails: what does not fit the types is [`Update::Unknown`] or [`Line::Other`], and is logged as it came.

mod requests;

use std::path::Path;

use agent_client_protocol_schema::v1 as acp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::json::{list, text};

pub(super) use acp::{PermissionOptionKind, StopReason, ToolCallStatus, ToolKind};
pub(super) use requests::{
    cancel, choose, fork_session, initialize, load_session, new_session, not_served, not_understood,
    permission, prompt, resume_session,
};

/// One line of the program.
#[derive(Debug)]
pub(super) enum Line {
    /// The answer to a request of ours.
    Answer {
        /// The request's number.
        id: u64,
        /// What came of it.
        result: Result<Value, RpcError>,
    },
    /// The program asks something.
    Request {
        /// To be named in the answer.
        id: Value,
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// The program tells something.
    Notification {
        /// What.
        method: String,
        /// With what.
        params: Value,
    },
    /// Nothing of the protocol.
    Other,
}

/// An error that the program answered with.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Value,
}

impl Line {
    /// Reads a line.
    pub(super) fn read(line: &[u8]) -> Self {
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return Self::Other };
        let id = message.remove("id").filter(|id| !id.is_null());
        let params = message.remove("params").unwrap_or_default();
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (None, Some(id)) => {
                let Some(id) = id.as_u64() else { return Self::Other };
                let result = match message.remove("error").filter(|error| !error.is_null()) {
                    Some(error) => Err(RpcError {
                        code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
                        message: text(&error, "message").unwrap_or_default().to_owned(),
                        data: error.get("data").cloned().unwrap_or_default(),
                    }),
                    None => Ok(message.remove("result").unwrap_or_default()),
                };
                Self::Answer { id, result }
            }
            _ => Self::Other,
        }
    }
}

/// What a greeted program can do.
#[derive(Debug, Default)]
pub(super) struct Greeted {
    pub version: u16,
    pub name: Option<String>,
    pub program_version: Option<String>,
    pub loads: bool,
    pub resumes: bool,
    pub forks: bool,
    /// Whether it can use MCP servers over HTTP.
    pub mcp_over_http: bool,
    /// How to sign in, by name.
    pub sign_in: Vec<String>,
}

impl Greeted {
    pub(super) fn read(answer: &Value) -> Option<Self> {
        let methods = answer.get("authMethods").and_then(Value::as_array).into_iter().flatten();
        let sign_in = methods.filter_map(|method| Some(text(method, "name")?.to_owned())).collect();
        let answer: acp::InitializeResponse = parse(answer)?;
        let session = &answer.agent_capabilities.session_capabilities;
        Some(Self {
            version: answer.protocol_version.as_u16(),
            loads: answer.agent_capabilities.load_session,
            resumes: session.resume.is_some(),
            forks: session.fork.is_some(),
            mcp_over_http: answer.agent_capabilities.mcp_capabilities.http,
            name: answer.agent_info.as_ref().map(|info| info.name.clone()),
            program_version: answer.agent_info.map(|info| info.version),
            sign_in,
        })
    }
}

/// What may be chosen of one kind: models, efforts, modes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// How it is chosen.
    pub how: How,
    /// What is chosen now.
    pub current: String,
    /// Values and their names.
    pub offered: Vec<(String, String)>,
}

/// The request that makes a choice.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum How {
    /// An option of the session's configuration, by its id.
    Config(String),
    /// `session/set_model`, of agents from before there were options for it.
    Model,
    /// `session/set_mode`.
    Mode,
}

/// What a session lets choose.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Options {
    pub model: Option<Choice>,
    pub effort: Option<Choice>,
    pub mode: Option<Choice>,
}

impl Options {
    /// Reads them from the answer that opened a session.
    pub(super) fn read(answer: &Value) -> Self {
        let session: Option<acp::LoadSessionResponse> = parse(answer);
        let (options, modes) =
            session.map(|session| (session.config_options, session.modes)).unwrap_or_default();
        let mut read = Self::of_config(&options.unwrap_or_default());
        if read.model.is_none() {
            read.model = answer.get("models").and_then(old_models);
        }
        read.mode = read.mode.or_else(|| {
            let modes = modes?;
            let offered = modes.available_modes.iter().map(|mode| (mode.id.to_string(), mode.name.clone()));
            let current = modes.current_mode_id.to_string();
            Some(Choice { how: How::Mode, current, offered: offered.collect() })
        });
        read
    }

    fn of_config(options: &[acp::SessionConfigOption]) -> Self {
        use acp::SessionConfigOptionCategory as Category;
        let mut read = Self::default();
        for option in options {
            let acp::SessionConfigKind::Select(select) = &option.kind else { continue };
            let place = match &option.category {
                Some(Category::Model) => &mut read.model,
                Some(Category::ThoughtLevel) => &mut read.effort,
                Some(Category::Mode) => &mut read.mode,
                _ => continue,
            };
            let pair = |it: &acp::SessionConfigSelectOption| (it.value.to_string(), it.name.clone());
            let offered = match &select.options {
                acp::SessionConfigSelectOptions::Ungrouped(options) => options.iter().map(pair).collect(),
                acp::SessionConfigSelectOptions::Grouped(groups) => {
                    groups.iter().flat_map(|group| &group.options).map(pair).collect()
                }
                _ => Vec::new(),
            };
            let how = How::Config(option.id.to_string());
            place.get_or_insert(Choice { how, current: select.current_value.to_string(), offered });
        }
        read
    }
}

/// The models as agents told them before they were an option of the configuration.
fn old_models(models: &Value) -> Option<Choice> {
    let offered = list(models, "availableModels").iter().filter_map(|model| {
        let id = text(model, "modelId")?;
        Some((id.to_owned(), text(model, "name").unwrap_or(id).to_owned()))
    });
    let current = text(models, "currentModelId").unwrap_or_default().to_owned();
    Some(Choice { how: How::Model, current, offered: offered.collect() })
}

/// What the program tells of a session.
#[derive(Debug)]
pub(super) enum Update {
    /// A piece of a message of the agent, or of its thoughts.
    Said { is_thought: bool, message: Option<String>, text: String },
    /// Something of a call of a tool.
    Tool(Box<ToolPatch>),
    /// The plan as it is now: each step, and whether it is done.
    Plan(Vec<(String, bool)>),
    /// What was spent so far in all, in dollars, and the model that the program names beside it.
    Spent { usd: Option<f64>, model: Option<String> },
    /// What may be chosen has changed.
    Options(Options),
    /// The program itself says something.
    Notice(String),
    /// The conversation was shortened.
    Compacted,
    /// Nothing that a log needs.
    Quiet,
    /// Not understood.
    Unknown,
}

impl Update {
    /// Reads the parameters of `session/update`.
    pub(super) fn read(params: Value) -> Self {
        let Ok(params) = serde_json::from_value::<acp::SessionNotification>(params) else {
            return Self::Unknown;
        };
        match params.update {
            acp::SessionUpdate::AgentMessageChunk(chunk) => said(false, &chunk),
            acp::SessionUpdate::AgentThoughtChunk(chunk) => said(true, &chunk),
            acp::SessionUpdate::ToolCall(call) => Self::Tool(Box::new(ToolPatch::of(call.into()))),
            acp::SessionUpdate::ToolCallUpdate(update) => Self::Tool(Box::new(ToolPatch::of(update))),
            acp::SessionUpdate::Plan(plan) => {
                let step = |it: acp::PlanEntry| {
                    let done = it.status == acp::PlanEntryStatus::Completed;
                    (it.content, done)
                };
                Self::Plan(plan.entries.into_iter().map(step).collect())
            }
            acp::SessionUpdate::UsageUpdate(usage) => {
                let model = usage.meta.as_ref().and_then(|meta| meta.get("_claude/model")?.as_str());
                let cost = usage.cost.as_ref().filter(|cost| cost.currency.eq_ignore_ascii_case("usd"));
                Self::Spent { usd: cost.map(|cost| cost.amount), model: model.map(str::to_owned) }
            }
            acp::SessionUpdate::ConfigOptionUpdate(update) => {
                Self::Options(Options::of_config(&update.config_options))
            }
            acp::SessionUpdate::Notice(notice) => Self::Notice(match notice.description {
                Some(more) => format!("{}: {more}", notice.title),
                None => notice.title,
            }),
            acp::SessionUpdate::CompactionUpdate(update) => match update.status {
                acp::CompactionStatus::Completed => Self::Compacted,
                _ => Self::Quiet,
            },
            acp::SessionUpdate::UserMessageChunk(_)
            | acp::SessionUpdate::AvailableCommandsUpdate(_)
            | acp::SessionUpdate::CurrentModeUpdate(_)
            | acp::SessionUpdate::SessionInfoUpdate(_)
            | acp::SessionUpdate::CompactionSummaryChunk(_) => Self::Quiet,
            _ => Self::Unknown,
        }
    }
}

fn said(is_thought: bool, chunk: &acp::ContentChunk) -> Update {
    let message = chunk.message_id.as_ref().map(ToString::to_string);
    Update::Said { is_thought, message, text: words(&chunk.content) }
}

/// A content block as text.
fn words(block: &acp::ContentBlock) -> String {
    match block {
        acp::ContentBlock::Text(text) => text.text.clone(),
        acp::ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        acp::ContentBlock::Resource(it) => match &it.resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => text.text.clone(),
            _ => "[data]".to_owned(),
        },
        acp::ContentBlock::Image(_) => "[image]".to_owned(),
        acp::ContentBlock::Audio(_) => "[audio]".to_owned(),
        _ => String::new(),
    }
}

/// What is told of a call of a tool; what is not told stays as it was.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolPatch {
    pub id: String,
    pub kind: Option<ToolKind>,
    pub status: Option<ToolCallStatus>,
    pub title: Option<String>,
    pub name: Option<String>,
    /// The text of its content.
    pub words: Option<String>,
    /// Changes of files in its content.
    pub changes: Vec<Change>,
    pub paths: Option<Vec<String>>,
    pub input: Option<Value>,
    pub output: Option<Value>,
}

/// A file before and after.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub path: String,
    /// None when there was none.
    pub old: Option<String>,
    pub new: String,
}

impl ToolPatch {
    fn of(update: acp::ToolCallUpdate) -> Self {
        let fields = update.fields;
        let mut changes = Vec::new();
        let mut said = fields.content.is_some().then(Vec::new);
        for content in fields.content.into_iter().flatten() {
            match content {
                acp::ToolCallContent::Content(content) => {
                    if let Some(said) = &mut said {
                        said.push(words(&content.content));
                    }
                }
                acp::ToolCallContent::Diff(diff) => {
                    changes.push(Change { path: shown(&diff.path), old: diff.old_text, new: diff.new_text });
                }
                _ => {}
            }
        }
        Self {
            id: update.tool_call_id.to_string(),
            kind: fields.kind,
            status: fields.status,
            title: fields.title,
            name: fields.name,
            words: said.map(|said| said.join("\n")),
            changes,
            paths: fields.locations.map(|it| it.iter().map(|location| shown(&location.path)).collect()),
            input: fields.raw_input,
            output: fields.raw_output,
        }
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What the program asks to be allowed.
#[derive(Debug)]
pub(super) struct Permission {
    pub tool: ToolPatch,
    pub options: Vec<PermissionChoice>,
}

/// One answer that it takes.
#[derive(Debug, Clone)]
pub(super) struct PermissionChoice {
    pub id: String,
    pub name: String,
    pub kind: PermissionOptionKind,
}

impl Permission {
    /// Reads the parameters of `session/request_permission`.
    pub(super) fn read(params: Value) -> Option<Self> {
        let request: acp::RequestPermissionRequest = serde_json::from_value(params).ok()?;
        let options = request.options.into_iter().map(|option| PermissionChoice {
            id: option.option_id.to_string(),
            name: option.name,
            kind: option.kind,
        });
        Some(Self { tool: ToolPatch::of(request.tool_call), options: options.collect() })
    }
}

/// How a prompt ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub reason: StopReason,
    pub tokens: Option<Tokens>,
    /// Tokens by model, as some agents tell them beside the protocol.
    pub by_model: Vec<(String, Tokens)>,
}

/// Tokens as an agent counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub input: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub output: u64,
    pub thought: u64,
    pub total: u64,
}

impl Ended {
    /// Reads the answer to `session/prompt`.
    pub(super) fn read(answer: &Value) -> Option<Self> {
        let response: acp::PromptResponse = parse(answer)?;
        let tokens = response.usage.map(|usage| Tokens {
            input: usage.input_tokens,
            cache_read: usage.cached_read_tokens.unwrap_or_default(),
            cache_write: usage.cached_write_tokens.unwrap_or_default(),
            output: usage.output_tokens,
            thought: usage.thought_tokens.unwrap_or_default(),
            total: usage.total_tokens,
        });
        let quota = answer.get("_meta").and_then(|meta| meta.get("quota")).unwrap_or(&Value::Null);
        let by_model = list(quota, "model_usage").iter().filter_map(|usage| {
            let count = usage.get("token_count")?;
            let number = |name: &str| count.get(name).and_then(Value::as_u64).unwrap_or_default();
            let (input, output) = (number("input_tokens"), number("output_tokens"));
            let tokens = Tokens { input, output, total: input.saturating_add(output), ..Tokens::default() };
            Some((text(usage, "model")?.to_owned(), tokens))
        });
        Some(Self { reason: response.stop_reason, tokens, by_model: by_model.collect() })
    }
}

fn parse<T: DeserializeOwned>(value: &Value) -> Option<T> {
    // Agents answer `null` where every field may be absent.
    let value = if value.is_null() { json!({}) } else { value.clone() };
    serde_json::from_value(value).ok()
}
