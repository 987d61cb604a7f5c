//! `/v1/chat/completions`.

use serde_json::{Value, json};

use super::parts::{list, text, words};
use crate::models::{
    answer::{Answer, Frame, Item},
    request::{Asked, Message, Offered, Role},
};

pub(super) fn read(body: &Value) -> Asked {
    let mut messages = Vec::new();
    for message in list(&body["messages"]) {
        let role = match text(&message["role"]) {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            _ => Role::System,
        };
        messages.push(Message::new(role, words(&message["content"])));
        for call in list(&message["tool_calls"]) {
            let (name, input) = (text(&call["function"]["name"]), text(&call["function"]["arguments"]));
            messages.push(Message::new(Role::Assistant, format!("{name} {input}")));
        }
    }
    let names = list(&body["tools"]).iter().map(|tool| text(&tool["function"]["name"]).to_owned());
    let tools = names.map(|name| Offered { name, namespace: None, freeform: false }).collect();
    let schema = body.pointer("/response_format/json_schema/schema").cloned();
    Asked { messages, tools, schema }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let said: String = texts(answer, |item| matches!(item, Item::Say(_)));
    let mut message = json!({ "role": "assistant", "content": said });
    let thought = texts(answer, |item| matches!(item, Item::Think(_)));
    if !thought.is_empty() {
        message["reasoning_content"] = json!(thought);
    }
    let calls: Vec<Value> = (0..answer.items.len()).filter_map(|index| call(answer, index)).collect();
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": reason(answer) });
    let mut whole = envelope(answer, "chat.completion", &json!([choice]));
    whole["usage"] = usage(answer);
    whole
}

fn texts(answer: &Answer, keep: impl Fn(&Item) -> bool) -> String {
    let kept = answer.items.iter().filter(|item| keep(item));
    kept.map(|item| match item {
        Item::Think(text) | Item::Say(text) => text.as_str(),
        Item::Call(_) => "",
    })
    .collect()
}

fn call(answer: &Answer, index: usize) -> Option<Value> {
    let Item::Call(call) = &answer.items[index] else { return None };
    let function = json!({ "name": call.name, "arguments": call.input.to_json().to_string() });
    Some(json!({ "id": format!("call_{}_{index}", answer.id), "type": "function", "function": function }))
}

fn reason(answer: &Answer) -> &'static str {
    if answer.calls() { "tool_calls" } else { "stop" }
}

fn usage(answer: &Answer) -> Value {
    let tokens = &answer.tokens;
    json!({
        "prompt_tokens": tokens.input(),
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input() + tokens.output,
        "prompt_tokens_details": {
            "cached_tokens": tokens.cache_read,
            "cache_write_tokens": tokens.cache_write,
        },
        "completion_tokens_details": { "reasoning_tokens": tokens.reasoning },
    })
}

fn envelope(answer: &Answer, object: &str, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl_{}", answer.id),
        "object": object,
        "created": 1,
        "model": answer.model,
        "choices": choices,
    })
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let chunk = |delta: Value, reason: Option<&str>| {
        let choices = json!([{ "index": 0, "delta": delta, "finish_reason": reason }]);
        Frame::event(None, &envelope(answer, "chat.completion.chunk", &choices))
    };
    let mut frames = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    let mut calls = 0;
    for (index, item) in answer.items.iter().enumerate() {
        let field = match item {
            Item::Think(_) => "reasoning_content",
            Item::Say(_) => "content",
            Item::Call(_) => "tool_calls",
        };
        match (item, call(answer, index)) {
            (Item::Think(text) | Item::Say(text), _) => {
                frames.extend(
                    answer.pieces(text).into_iter().map(|it| chunk(json!({ field: it }), None).of(index)),
                );
            }
            (Item::Call(_), Some(mut call)) => {
                call["index"] = json!(calls);
                calls += 1;
                frames.push(chunk(json!({ field: [call] }), None).of(index));
            }
            (Item::Call(_), None) => {}
        }
    }
    frames.push(chunk(json!({}), Some(reason(answer))));
    let mut last = envelope(answer, "chat.completion.chunk", &json!([]));
    last["usage"] = usage(answer);
    frames.push(Frame::event(None, &last));
    frames.push(Frame { text: "data: [DONE]\n\n".to_owned(), piece_of: None });
    frames
}
