//! `/v1beta/models/M:generateContent` and `:streamGenerateContent`.

use serde_json::{Value, json};

use super::parts::{list, text, words};
use crate::models::{
    answer::{Answer, Frame, Item},
    request::{Asked, Message, Offered, Role},
};

pub(super) fn read(body: &Value) -> Asked {
    let mut messages = vec![Message::new(Role::System, words(&body["systemInstruction"]["parts"]))];
    for content in list(&body["contents"]) {
        let role = if content["role"] == "model" { Role::Assistant } else { Role::User };
        messages.extend(list(&content["parts"]).iter().map(|part| of_part(role, part)));
    }
    let declared = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    let names = declared.map(|function| text(&function["name"]).to_owned());
    let tools = names.map(|name| Offered { name, namespace: None, freeform: false }).collect();
    let config = &body["generationConfig"];
    let schema = config.get("responseJsonSchema").or_else(|| config.get("responseSchema"));
    Asked { messages, tools, schema: schema.cloned() }
}

fn of_part(role: Role, part: &Value) -> Message {
    if let Some(result) = part.get("functionResponse") {
        Message::new(Role::Tool, result["response"].to_string())
    } else if let Some(call) = part.get("functionCall") {
        Message::new(Role::Assistant, format!("{} {}", text(&call["name"]), call["args"]))
    } else {
        Message::new(role, words(part))
    }
}

fn envelope(answer: &Answer, parts: &[Value], last: bool) -> Value {
    let content = json!({ "role": "model", "parts": parts });
    let mut candidate = json!({ "content": content, "index": 0 });
    if last {
        candidate["finishReason"] = json!("STOP");
    }
    let mut envelope = json!({
        "candidates": [candidate],
        "modelVersion": answer.model,
        "responseId": format!("r_{}", answer.id),
    });
    if last {
        let tokens = &answer.tokens;
        envelope["usageMetadata"] = json!({
            "promptTokenCount": tokens.input(),
            "cachedContentTokenCount": tokens.cache_read,
            "candidatesTokenCount": tokens.output.saturating_sub(tokens.reasoning),
            "thoughtsTokenCount": tokens.reasoning,
            "totalTokenCount": tokens.input() + tokens.output,
        });
    }
    envelope
}

fn part(item: &Item, words: &str) -> Value {
    match item {
        Item::Think(_) => json!({ "text": words, "thought": true }),
        Item::Say(_) => json!({ "text": words }),
        Item::Call(call) => json!({ "functionCall": { "name": call.name, "args": call.input.to_json() } }),
    }
}

fn grown(item: &Item) -> &str {
    match item {
        Item::Think(text) | Item::Say(text) => text,
        Item::Call(_) => "",
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let parts: Vec<Value> = answer.items.iter().map(|item| part(item, grown(item))).collect();
    envelope(answer, &parts, true)
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut frames = Vec::new();
    for (index, item) in answer.items.iter().enumerate() {
        let pieces = match item {
            Item::Call(_) => vec![""],
            Item::Think(_) | Item::Say(_) => answer.pieces(grown(item)),
        };
        let piece = |words| Frame::event(None, &envelope(answer, &[part(item, words)], false)).of(index);
        frames.extend(pieces.into_iter().map(piece));
    }
    frames.push(Frame::event(None, &envelope(answer, &[json!({ "text": "" })], true)));
    frames
}
