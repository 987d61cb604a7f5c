//! What programs asked, in the words of no single service.

use std::{ops::Deref, sync::Arc};

use serde_json::Value;

/// The way a program speaks to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `/v1/responses`.
    Responses,
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/messages`.
    Anthropic,
    /// `/v1beta/models/M:generateContent` and `:streamGenerateContent`.
    Gemini,
}

/// Who said a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Instructions of the program.
    System,
    /// The prompt, and what the program adds to it.
    User,
    /// The model, earlier.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One message of a conversation. What a service keeps in one with several parts is several here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// Its words: of a call, the tool's name and its input.
    pub text: String,
}

impl Message {
    pub(super) fn new(role: Role, text: impl Into<String>) -> Self {
        Self { role, text: text.into() }
    }
}

/// A tool that a program offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    pub name: String,
    pub namespace: Option<String>,
    /// Its input is text, not JSON.
    pub freeform: bool,
}

/// What a dialect reads from a request's body.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub messages: Vec<Message>,
    pub tools: Vec<Offered>,
    /// The form that the answer must have.
    pub schema: Option<Value>,
}

/// One request, and what was made of it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The how many-th of its server, from 1.
    pub number: usize,
    /// How it was put.
    pub dialect: Dialect,
    /// The model that was asked for.
    pub model: String,
    /// The conversation so far, instructions among it.
    pub messages: Vec<Message>,
    /// The names of the tools that the program offers; of one in a namespace, `namespace/name`.
    pub tools: Vec<String>,
    /// The script and the turn of it, from 0, that answer it; none for a side request.
    pub plays: Option<(String, usize)>,
    /// How often this turn had been asked for before on this server.
    pub attempt: usize,
    /// The body as it came.
    pub body: Value,
}

impl Request {
    /// Whether it is none of a script's: titles, summaries and the like, which have no tools.
    #[must_use]
    pub fn is_side(&self) -> bool {
        self.plays.is_none()
    }

    /// Whether it plays a turn of this scenario.
    #[must_use]
    pub fn is_of(&self, scenario: &str) -> bool {
        self.plays.as_ref().is_some_and(|(name, _)| name == scenario)
    }

    /// All messages of one side, separated by line feeds.
    #[must_use]
    pub fn said_by(&self, role: Role) -> String {
        let texts: Vec<&str> =
            self.messages.iter().filter(|it| it.role == role).map(|it| it.text.as_str()).collect();
        texts.join("\n")
    }

    /// Whether the model is shown this as something that it said or called earlier.
    #[must_use]
    pub fn remembers(&self, text: &str) -> bool {
        self.said_by(Role::Assistant).contains(text)
    }

    /// Whether the model is shown this as a prompt, this one or an earlier one.
    #[must_use]
    pub fn was_told(&self, text: &str) -> bool {
        self.said_by(Role::User).contains(text)
    }

    /// Whether the model is shown this in a tool's result.
    #[must_use]
    pub fn got_back(&self, text: &str) -> bool {
        self.said_by(Role::Tool).contains(text)
    }
}

/// The requests of a server until now, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Requests(pub(super) Vec<Arc<Request>>);

impl Requests {
    /// Those of a scenario.
    #[must_use]
    pub fn of(&self, scenario: &str) -> Self {
        self.filtered(|request| request.is_of(scenario))
    }

    /// Those of any scenario.
    #[must_use]
    pub fn scripted(&self) -> Self {
        self.filtered(|request| !request.is_side())
    }

    /// Those of none.
    #[must_use]
    pub fn side(&self) -> Self {
        self.filtered(Request::is_side)
    }

    fn filtered(&self, keep: impl Fn(&Request) -> bool) -> Self {
        Self(self.0.iter().filter(|request| keep(request)).cloned().collect())
    }
}

impl Deref for Requests {
    type Target = [Arc<Request>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
