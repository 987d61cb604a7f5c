use super::*;
use crate::models::{
    answer::{Item, middle},
    call::{Call, Input},
    request::Role,
    scenario::Tokens,
};

const ALL: [Dialect; 4] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic, Dialect::Gemini];

fn answer() -> Answer {
    let call = |input| Item::Call(Call { name: "shell".to_owned(), namespace: None, input });
    Answer {
        id: "s_0".to_owned(),
        model: "m".to_owned(),
        items: vec![
            Item::Think("I should look at the files that are there.".to_owned()),
            Item::Say("I look.".to_owned()),
            call(Input::Json(json!({ "command": "ls" }))),
        ],
        tokens: Tokens { input_uncached: 100, cache_read: 20, cache_write: 3, output: 40, reasoning: 5 },
        piece: None,
    }
}

/// The data of the events, in order.
fn events(frames: &[Frame]) -> Vec<Value> {
    let data = frames.iter().filter_map(|frame| frame.text.split_once("data: "));
    data.filter_map(|(_, data)| serde_json::from_str(data).ok()).collect()
}

fn of_type<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn joined(events: &[&Value], pointer: &str) -> String {
    events.iter().filter_map(|event| event.pointer(pointer)).filter_map(Value::as_str).collect()
}

#[test]
fn endpoint_is_known_by_the_end_of_its_path() {
    for (path, expected) in [
        ("/v1/responses", Some((Dialect::Responses, None, None))),
        ("/v1/chat/completions", Some((Dialect::Chat, None, None))),
        ("/v1/messages", Some((Dialect::Anthropic, None, None))),
        ("/v1beta/models/g-1:generateContent", Some((Dialect::Gemini, Some("g-1"), Some(false)))),
        ("/v1beta/models/g-1:streamGenerateContent", Some((Dialect::Gemini, Some("g-1"), Some(true)))),
        ("/v1/embeddings", None),
    ] {
        let found = match endpoint(path) {
            Some(Endpoint::Answer { dialect, model, streamed }) => Some((dialect, model, streamed)),
            _ => None,
        };
        assert_eq!(
            found,
            expected.map(|(it, model, streamed)| (it, model.map(str::to_owned), streamed)),
            "{path}"
        );
    }
    for path in ["/v1/messages/count_tokens", "/v1beta/models/g-1:countTokens"] {
        assert!(matches!(endpoint(path), Some(Endpoint::Count)), "{path}");
    }
}

#[test]
fn a_stream_of_responses_tells_items_as_they_grow() {
    let events = events(&Dialect::Responses.frames(&answer()));
    let deltas = joined(&of_type(&events, "response.reasoning_summary_text.delta"), "/delta");
    assert_eq!(deltas, "I should look at the files that are there.");
    assert_eq!(joined(&of_type(&events, "response.output_text.delta"), "/delta"), "I look.");
    let done = of_type(&events, "response.output_item.done");
    let kinds: Vec<_> = done.iter().map(|event| event["item"]["type"].clone()).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert_eq!(done[2]["item"]["arguments"], r#"{"command":"ls"}"#);
    assert_eq!(done[2]["item"]["call_id"], "call_s_0_2");
    assert_eq!(of_type(&events, "response.output_item.added")[2]["item"]["arguments"], "");
    assert_eq!(
        of_type(&events, "response.completed")[0]["response"]["usage"],
        json!({
            "input_tokens": 123,
            "input_tokens_details": { "cached_tokens": 20, "cache_write_tokens": 3 },
            "output_tokens": 40,
            "output_tokens_details": { "reasoning_tokens": 5 },
            "total_tokens": 163,
        })
    );
}

#[test]
fn a_tool_that_takes_text_gets_text() {
    let mut answer = answer();
    let call =
        Call { name: "apply_patch".to_owned(), namespace: None, input: Input::Text("*** x".to_owned()) };
    answer.items = vec![Item::Call(call)];
    let whole = Dialect::Responses.whole(&answer);
    assert_eq!(whole["output"][0]["type"], "custom_tool_call");
    assert_eq!(whole["output"][0]["input"], "*** x");
    let events = events(&Dialect::Responses.frames(&answer));
    assert_eq!(joined(&of_type(&events, "response.custom_tool_call_input.delta"), "/delta"), "*** x");
}

#[test]
fn a_stream_of_completions_ends_with_its_usage() {
    let frames = Dialect::Chat.frames(&answer());
    assert_eq!(frames.last().map(|frame| frame.text.as_str()), Some("data: [DONE]\n\n"));
    let events = events(&frames);
    let all: Vec<&Value> = events.iter().collect();
    assert_eq!(joined(&all, "/choices/0/delta/content"), "I look.");
    assert!(joined(&all, "/choices/0/delta/reasoning_content").ends_with("are there."));
    let calls: Vec<_> = all.iter().filter_map(|it| it.pointer("/choices/0/delta/tool_calls/0")).collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0]["index"], 0);
    assert_eq!(calls[0]["function"]["arguments"], r#"{"command":"ls"}"#);
    assert_eq!(joined(&all, "/choices/0/finish_reason"), "tool_calls");
    let usage = &events[events.len() - 1]["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(123), &json!(40)));
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 20);
}

#[test]
fn a_stream_of_messages_is_of_blocks() {
    let events = events(&Dialect::Anthropic.frames(&answer()));
    let kinds: Vec<_> = of_type(&events, "content_block_start")
        .iter()
        .map(|event| event["content_block"]["type"].clone())
        .collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
    assert_eq!(of_type(&events, "content_block_stop").len(), 3);
    let deltas = of_type(&events, "content_block_delta");
    assert_eq!(joined(&deltas, "/delta/text"), "I look.");
    assert_eq!(joined(&deltas, "/delta/partial_json"), r#"{"command":"ls"}"#);
    let start = &of_type(&events, "message_start")[0]["message"];
    assert_eq!((&start["content"], &start["usage"]["input_tokens"]), (&json!([]), &json!(100)));
    let end = of_type(&events, "message_delta")[0];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(end["usage"]["cache_creation_input_tokens"], 3);
    assert_eq!(end["usage"]["cache_read_input_tokens"], 20);
    assert_eq!(end["usage"]["output_tokens"], 40);
}

#[test]
fn gemini_counts_thought_apart() {
    let events = events(&Dialect::Gemini.frames(&answer()));
    let last = &events[events.len() - 1];
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    let usage = &last["usageMetadata"];
    assert_eq!((&usage["promptTokenCount"], &usage["totalTokenCount"]), (&json!(123), &json!(163)));
    assert_eq!((&usage["candidatesTokenCount"], &usage["thoughtsTokenCount"]), (&json!(35), &json!(5)));
    let call = events.iter().find_map(|event| event.pointer("/candidates/0/content/parts/0/functionCall"));
    assert_eq!(call, Some(&json!({ "name": "shell", "args": { "command": "ls" } })));
}

/// What a program sends back is what the next request has in its history.
#[test]
fn a_history_is_read_in_every_dialect() {
    let bodies = [
        json!({
            "instructions": "be good",
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "go" }] },
                { "type": "function_call", "name": "shell", "arguments": "{\"command\":\"ls\"}", "call_id": "1" },
                { "type": "function_call_output", "call_id": "1", "output": "a.md" },
            ],
            "tools": [{ "type": "function", "name": "shell" }],
        }),
        json!({
            "messages": [
                { "role": "system", "content": "be good" },
                { "role": "user", "content": "go" },
                { "role": "assistant", "content": "", "tool_calls": [
                    { "id": "1", "function": { "name": "shell", "arguments": "{\"command\":\"ls\"}" } },
                ] },
                { "role": "tool", "tool_call_id": "1", "content": "a.md" },
            ],
            "tools": [{ "type": "function", "function": { "name": "shell" } }],
        }),
        json!({
            "system": [{ "type": "text", "text": "be good" }],
            "messages": [
                { "role": "user", "content": "go" },
                { "role": "assistant", "content": [
                    { "type": "tool_use", "id": "1", "name": "shell", "input": { "command": "ls" } },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "1", "content": [{ "type": "text", "text": "a.md" }] },
                ] },
            ],
            "tools": [{ "name": "shell" }],
        }),
        json!({
            "systemInstruction": { "parts": [{ "text": "be good" }] },
            "contents": [
                { "role": "user", "parts": [{ "text": "go" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "shell", "args": { "command": "ls" } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "shell", "response": { "output": "a.md" } } }] },
            ],
            "tools": [{ "functionDeclarations": [{ "name": "shell" }] }],
        }),
    ];
    for (dialect, body) in ALL.into_iter().zip(bodies) {
        let asked = dialect.read(&body);
        let spoken: Vec<_> = asked.messages.iter().filter(|it| !it.text.is_empty()).collect();
        let roles: Vec<Role> = spoken.iter().map(|it| it.role).collect();
        assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool], "{dialect:?}");
        assert_eq!(spoken[2].text, r#"shell {"command":"ls"}"#, "{dialect:?}");
        assert!(spoken[3].text.contains("a.md"), "{dialect:?}");
        assert_eq!(asked.tools.len(), 1, "{dialect:?}");
        assert_eq!(asked.tools[0].name, "shell", "{dialect:?}");
    }
}

/// Else a program would keep it, and the next try would be taken for the next turn.
#[test]
fn nothing_is_whole_before_the_middle() {
    for dialect in ALL {
        let frames = dialect.frames(&answer());
        let begun = &frames[..middle(&frames)];
        assert!(begun.iter().any(|frame| frame.piece_of == Some(0)), "{dialect:?}: something has begun");
        assert!(begun.iter().all(|frame| frame.piece_of.is_none_or(|item| item == 0)), "{dialect:?}");
        for whole in ["output_item.done", "content_block_stop", "that are there."] {
            assert!(!begun.iter().any(|frame| frame.text.contains(whole)), "{dialect:?}: {whole}");
        }
    }
}

#[test]
fn tools_of_a_namespace_keep_it() {
    let inner = json!({ "type": "function", "name": "add" });
    let body = json!({ "tools": [{ "type": "namespace", "name": "mcp__notes", "tools": [inner] }] });
    let tools = Dialect::Responses.read(&body).tools;
    assert_eq!((tools[0].name.as_str(), tools[0].namespace.as_deref()), ("add", Some("mcp__notes")));
}
