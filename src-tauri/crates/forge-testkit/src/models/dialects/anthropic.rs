//! `/v1/messages`.

use serde_json::{Value, json};

use super::parts::{list, text, words};
use crate::models::{
    answer::{Answer, Frame, Item},
    request::{Asked, Message, Offered, Role},
};

pub(super) fn read(body: &Value) -> Asked {
    let mut messages = vec![Message::new(Role::System, words(&body["system"]))];
    for message in list(&body["messages"]) {
        let role = match text(&message["role"]) {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => Role::System,
        };
        match &message["content"] {
            Value::Array(parts) => messages.extend(parts.iter().map(|part| of_part(role, part))),
            content => messages.push(Message::new(role, words(content))),
        }
    }
    let names = list(&body["tools"]).iter().map(|tool| text(&tool["name"]).to_owned());
    let tools = names.map(|name| Offered { name, namespace: None, freeform: false }).collect();
    let schema =
        body.pointer("/output_config/format/schema").or_else(|| body.pointer("/output_format/schema"));
    Asked { messages, tools, schema: schema.cloned() }
}

fn of_part(role: Role, part: &Value) -> Message {
    match text(&part["type"]) {
        "tool_result" => Message::new(Role::Tool, words(&part["content"])),
        "tool_use" => Message::new(Role::Assistant, format!("{} {}", text(&part["name"]), part["input"])),
        "thinking" => Message::new(Role::Assistant, text(&part["thinking"])),
        _ => Message::new(role, words(part)),
    }
}

fn block(answer: &Answer, index: usize) -> Value {
    match &answer.items[index] {
        Item::Think(text) => json!({ "type": "thinking", "thinking": text, "signature": "c2lnbmVk" }),
        Item::Say(text) => json!({ "type": "text", "text": text }),
        Item::Call(call) => json!({
            "type": "tool_use",
            "id": format!("toolu_{}_{index}", answer.id),
            "name": call.name,
            "input": call.input.to_json(),
        }),
    }
}

fn usage(answer: &Answer) -> Value {
    let tokens = &answer.tokens;
    json!({
        "input_tokens": tokens.input_uncached,
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "output_tokens": tokens.output,
        "output_tokens_details": { "thinking_tokens": tokens.reasoning },
        "service_tier": "standard",
    })
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls() { "tool_use" } else { "end_turn" }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let content: Vec<Value> = (0..answer.items.len()).map(|index| block(answer, index)).collect();
    json!({
        "id": format!("msg_{}", answer.id),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": content,
        "stop_reason": reason(answer),
        "stop_sequence": null,
        "usage": usage(answer),
    })
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut begun = whole(answer);
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    // Input is known at once, output is counted while it is made.
    begun["usage"]["output_tokens"] = json!(answer.tokens.output.min(1));
    begun["usage"]["output_tokens_details"]["thinking_tokens"] = json!(0);
    let mut frames = vec![event("message_start", json!({ "message": begun }))];
    for index in 0..answer.items.len() {
        let block = block(answer, index);
        let mut started = block.clone();
        for (field, empty) in
            [("thinking", json!("")), ("signature", json!("")), ("text", json!("")), ("input", json!({}))]
        {
            if started.get(field).is_some() {
                started[field] = empty;
            }
        }
        frames.push(event("content_block_start", json!({ "index": index, "content_block": started })));
        let delta = |delta: Value| event("content_block_delta", json!({ "index": index, "delta": delta }));
        let (kind, field, grown) = match &answer.items[index] {
            Item::Think(text) => ("thinking_delta", "thinking", text.clone()),
            Item::Say(text) => ("text_delta", "text", text.clone()),
            Item::Call(_) => ("input_json_delta", "partial_json", block["input"].to_string()),
        };
        for piece in answer.pieces(&grown) {
            frames.push(delta(json!({ "type": kind, field: piece })).of(index));
        }
        if let Some(signature) = block.get("signature") {
            frames.push(delta(json!({ "type": "signature_delta", "signature": signature })));
        }
        frames.push(event("content_block_stop", json!({ "index": index })));
    }
    let ended = json!({ "stop_reason": reason(answer), "stop_sequence": null });
    frames.push(event("message_delta", json!({ "delta": ended, "usage": usage(answer) })));
    frames.push(event("message_stop", json!({})));
    frames
}

fn event(name: &str, mut data: Value) -> Frame {
    data["type"] = json!(name);
    Frame::event(Some(name), &data)
}
