//! `/v1/responses`.

use serde_json::{Value, json};

use super::parts::{list, text, words};
use crate::models::{
    answer::{Answer, Frame, Item},
    call::{Call, Input},
    request::{Asked, Message, Offered, Role},
};

pub(super) fn read(body: &Value) -> Asked {
    let mut messages = vec![Message::new(Role::System, text(&body["instructions"]))];
    match &body["input"] {
        Value::String(prompt) => messages.push(Message::new(Role::User, prompt.clone())),
        items => messages.extend(list(items).iter().map(message)),
    }
    let mut tools: Vec<Offered> = Vec::new();
    for tool in list(&body["tools"]) {
        offer(tool, None, &mut tools);
    }
    let schema = body.pointer("/text/format/schema").cloned();
    Asked { messages, tools, schema }
}

fn offer(tool: &Value, namespace: Option<&str>, into: &mut Vec<Offered>) {
    let name = tool["name"].as_str().unwrap_or_else(|| text(&tool["type"]));
    if tool["type"] == "namespace" {
        for inner in list(&tool["tools"]) {
            offer(inner, Some(name), into);
        }
        return;
    }
    let freeform = tool["type"] == "custom";
    into.push(Offered { name: name.to_owned(), namespace: namespace.map(str::to_owned), freeform });
}

fn message(item: &Value) -> Message {
    let kind = text(&item["type"]);
    match text(&item["role"]) {
        "user" => return Message::new(Role::User, words(&item["content"])),
        "assistant" => return Message::new(Role::Assistant, words(&item["content"])),
        "" => {}
        _ => return Message::new(Role::System, words(&item["content"])),
    }
    if kind.ends_with("_output") {
        Message::new(Role::Tool, words(&item["output"]))
    } else if kind.ends_with("_call") {
        let input = item["arguments"].as_str().unwrap_or_else(|| text(&item["input"]));
        Message::new(Role::Assistant, format!("{} {input}", text(&item["name"])))
    } else if kind == "reasoning" {
        Message::new(Role::Assistant, words(&item["summary"]))
    } else {
        Message::new(Role::System, item.to_string())
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let output: Vec<Value> = (0..answer.items.len()).map(|index| item(answer, index)).collect();
    response(answer, "completed", &output)
}

fn response(answer: &Answer, status: &str, output: &[Value]) -> Value {
    let tokens = &answer.tokens;
    let mut response = json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": answer.model,
        "output": output,
        "error": null,
        "incomplete_details": null,
    });
    if status == "completed" {
        response["usage"] = json!({
            "input_tokens": tokens.input(),
            "input_tokens_details": {
                "cached_tokens": tokens.cache_read,
                "cache_write_tokens": tokens.cache_write,
            },
            "output_tokens": tokens.output,
            "output_tokens_details": { "reasoning_tokens": tokens.reasoning },
            "total_tokens": tokens.input() + tokens.output,
        });
    }
    response
}

/// An item when it is whole.
fn item(answer: &Answer, index: usize) -> Value {
    let id = |kind: &str| format!("{kind}_{}_{index}", answer.id);
    match &answer.items[index] {
        Item::Think(text) => json!({
            "id": id("rs"),
            "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": text }],
            "encrypted_content": null,
        }),
        Item::Say(text) => json!({
            "id": id("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        }),
        Item::Call(Call { name, namespace, input }) => {
            let (kind, prefix, field, input) = match input {
                Input::Json(input) => ("function_call", "fc", "arguments", input.to_string()),
                Input::Text(input) => ("custom_tool_call", "ctc", "input", input.clone()),
            };
            let mut call = json!({
                "id": id(prefix),
                "type": kind,
                "status": "completed",
                "call_id": id("call"),
                "name": name,
            });
            call[field] = json!(input);
            if let Some(namespace) = namespace {
                call["namespace"] = json!(namespace);
            }
            call
        }
    }
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let begun = json!({ "response": response(answer, "in_progress", &[]) });
    let mut frames = vec![event("response.created", begun)];
    for index in 0..answer.items.len() {
        let item = item(answer, index);
        let mut started = item.clone();
        for (field, empty) in [
            ("summary", json!([])),
            ("content", json!([])),
            ("arguments", json!("")),
            ("input", json!("")),
            ("status", json!("in_progress")),
        ] {
            if started.get(field).is_some() {
                started[field] = empty;
            }
        }
        let place = |mut data: Value| {
            data["output_index"] = json!(index);
            data["item_id"] = item["id"].clone();
            data
        };
        frames.push(event("response.output_item.added", place(json!({ "item": started }))));
        pieces(answer, index, &place, &mut frames);
        frames.push(event("response.output_item.done", place(json!({ "item": item }))));
    }
    frames.push(event("response.completed", json!({ "response": whole(answer) })));
    frames
}

/// How an item grows.
fn pieces(answer: &Answer, index: usize, place: &impl Fn(Value) -> Value, frames: &mut Vec<Frame>) {
    match &answer.items[index] {
        Item::Think(text) => {
            let of_part = |mut data: Value| {
                data["summary_index"] = json!(0);
                place(data)
            };
            let part = |text: &str| json!({ "part": { "type": "summary_text", "text": text } });
            frames.push(event("response.reasoning_summary_part.added", of_part(part(""))));
            for piece in answer.pieces(text) {
                let delta = of_part(json!({ "delta": piece }));
                frames.push(event("response.reasoning_summary_text.delta", delta).of(index));
            }
            frames.push(event("response.reasoning_summary_text.done", of_part(json!({ "text": text }))));
            frames.push(event("response.reasoning_summary_part.done", of_part(part(text))));
        }
        Item::Say(text) => {
            let of_part = |mut data: Value| {
                data["content_index"] = json!(0);
                place(data)
            };
            let part =
                |text: &str| json!({ "part": { "type": "output_text", "text": text, "annotations": [] } });
            frames.push(event("response.content_part.added", of_part(part(""))));
            for piece in answer.pieces(text) {
                frames
                    .push(event("response.output_text.delta", of_part(json!({ "delta": piece }))).of(index));
            }
            frames.push(event("response.output_text.done", of_part(json!({ "text": text }))));
            frames.push(event("response.content_part.done", of_part(part(text))));
        }
        Item::Call(call) => {
            let (name, field, input) = match &call.input {
                Input::Json(input) => ("response.function_call_arguments", "arguments", input.to_string()),
                Input::Text(input) => ("response.custom_tool_call_input", "input", input.clone()),
            };
            for piece in answer.pieces(&input) {
                frames.push(event(&format!("{name}.delta"), place(json!({ "delta": piece }))).of(index));
            }
            let mut done = place(json!({}));
            done[field] = json!(input);
            frames.push(event(&format!("{name}.done"), done));
        }
    }
}

fn event(name: &str, mut data: Value) -> Frame {
    data["type"] = json!(name);
    Frame::event(Some(name), &data)
}
