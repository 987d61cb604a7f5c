//! The four ways in which programs speak to models: what a request says in each, and how an answer is put.

mod anthropic;
mod chat;
mod gemini;
mod parts;
mod responses;

use serde_json::{Value, json};

use super::{
    answer::{Answer, Frame},
    request::{Asked, Dialect},
};

/// What a program asks at a path.
pub(super) enum Endpoint {
    /// An answer of the model, in a stream or not.
    Answer { dialect: Dialect, model: Option<String>, streamed: Option<bool> },
    /// How long a text is.
    Count,
}

/// The endpoint at a path; none for a path that no program was seen to use.
pub(super) fn endpoint(path: &str) -> Option<Endpoint> {
    let answer = |dialect| Some(Endpoint::Answer { dialect, model: None, streamed: None });
    let (_, last) = path.rsplit_once('/')?;
    match last {
        "responses" => return answer(Dialect::Responses),
        "completions" if path.ends_with("/chat/completions") => return answer(Dialect::Chat),
        "messages" => return answer(Dialect::Anthropic),
        "count_tokens" => return Some(Endpoint::Count),
        _ => {}
    }
    let (model, verb) = last.split_once(':')?;
    match verb {
        "countTokens" => Some(Endpoint::Count),
        "generateContent" | "streamGenerateContent" => Some(Endpoint::Answer {
            dialect: Dialect::Gemini,
            model: Some(model.to_owned()),
            streamed: Some(verb.starts_with("stream")),
        }),
        _ => None,
    }
}

impl Dialect {
    pub(super) fn read(self, body: &Value) -> Asked {
        match self {
            Self::Responses => responses::read(body),
            Self::Chat => chat::read(body),
            Self::Anthropic => anthropic::read(body),
            Self::Gemini => gemini::read(body),
        }
    }

    /// An answer in a stream.
    pub(super) fn frames(self, answer: &Answer) -> Vec<Frame> {
        match self {
            Self::Responses => responses::frames(answer),
            Self::Chat => chat::frames(answer),
            Self::Anthropic => anthropic::frames(answer),
            Self::Gemini => gemini::frames(answer),
        }
    }

    /// An answer at once.
    pub(super) fn whole(self, answer: &Answer) -> Value {
        match self {
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Anthropic => anthropic::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    /// The body of a refusal.
    pub(super) fn refusal(self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        match self {
            Self::Anthropic => json!({ "type": "error", "error": { "type": kind, "message": message } }),
            Self::Gemini => {
                let name = match status {
                    400 => "INVALID_ARGUMENT",
                    401 => "UNAUTHENTICATED",
                    429 => "RESOURCE_EXHAUSTED",
                    _ => "INTERNAL",
                };
                json!({ "error": { "code": status, "message": message, "status": name } })
            }
            Self::Responses | Self::Chat => {
                let code = (status == 429).then_some("rate_limit_exceeded");
                json!({ "error": { "message": message, "type": kind, "code": code } })
            }
        }
    }
}

#[cfg(test)]
mod tests;
