//! What agents print, by the megabyte: the lines of Claude Code's stream-json and of Codex' app server, in the
//! shapes that both were recorded in, always the same.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use anyhow::Result;
use serde_json::{Value, json};

const WORDS: [&str; 20] = [
    "the",
    "agent",
    "reads",
    "file",
    "src/lib.rs",
    "and",
    "runs",
    "cargo",
    "test",
    "then",
    "edits",
    "line",
    "\"quoted\"",
    "path/to/file",
    "é",
    "→",
    "ok",
    "fn",
    "0x7f",
    "\\n",
];
const SESSION: &str = "11111111-1111-4111-8111-111111111111";

/// Numbers that look like chance and are the same each time.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From `low` to below `high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + self.0 % (high - low)
    }

    /// Appends from `low` to below `high` words, which are safe within a JSON string only if written by its rules.
    pub fn words(&mut self, text: &mut String, low: u64, high: u64) {
        for at in 0..self.within(low, high) {
            if at > 0 {
                text.push(' ');
            }
            text.push_str(WORDS[usize::try_from(self.within(0, WORDS.len() as u64)).unwrap_or(0)]);
        }
    }

    fn text(&mut self, low: u64, high: u64) -> String {
        let mut text = String::new();
        self.words(&mut text, low, high);
        text
    }

    /// What a command or a file gives: mostly a screen of lines, now and then more than an entry holds.
    fn output(&mut self) -> String {
        let lines = if self.within(0, 100) < 12 { self.within(500, 1500) } else { self.within(3, 60) };
        let mut text = String::new();
        for _ in 0..lines {
            self.words(&mut text, 2, 16);
            text.push('\n');
        }
        text
    }
}

/// Which program's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    Claude,
    Codex,
}

/// What was written.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    pub bytes: u64,
    /// Calls of tools, each with its result.
    pub calls: u64,
}

/// Writes at least so many bytes of lines.
pub fn write(program: Program, path: &Path, bytes: u64) -> Result<Written> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut chance = Chance::new(7);
    let mut written = Written { bytes: 0, calls: 0 };
    while written.bytes < bytes {
        written.calls += 1;
        let lines = match program {
            Program::Claude => claude(&mut chance, written.calls),
            Program::Codex => codex(&mut chance, written.calls),
        };
        for line in lines {
            let line = line.to_string();
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
            written.bytes += line.len() as u64 + 1;
        }
    }
    out.flush()?;
    Ok(written)
}

/// One call of the model: pieces of its words as they come, the words, a call of a tool and its result.
fn claude(chance: &mut Chance, number: u64) -> Vec<Value> {
    let (id, call) = (format!("msg_{number:08}"), format!("toolu_{number:08}"));
    let uuid = format!("45d19453-740d-4a41-9713-{number:012}");
    let message = |content: Value| {
        json!({
            "type": "assistant",
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": "claude-opus-5-5", "content": [content],
                "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": number % 90_000, "output_tokens": 12, "cache_read_input_tokens": 9000 },
            },
            "parent_tool_use_id": null, "session_id": SESSION, "uuid": uuid,
            "timestamp": "2026-11-22T09:13:53.304Z", "request_id": format!("req_{number}"),
        })
    };
    let mut lines = Vec::new();
    for index in 0..chance.within(2, 10) {
        let delta = json!({ "type": "text_delta", "text": chance.text(2, 12) });
        lines.push(json!({
            "type": "stream_event", "session_id": SESSION, "parent_tool_use_id": null, "uuid": uuid,
            "event": { "type": "content_block_delta", "index": index, "delta": delta },
        }));
    }
    lines.push(message(json!({ "type": "text", "text": chance.text(20, 200) })));
    let output = chance.output();
    let (name, input, detail) = match number % 4 {
        0 | 1 => {
            let input = json!({ "command": chance.text(4, 40), "description": chance.text(3, 8) });
            ("Bash", input, json!({ "stdout": output, "stderr": "", "interrupted": false, "isImage": false }))
        }
        2 => {
            let file = json!({ "filePath": "/w/a.rs", "content": output, "numLines": 40, "startLine": 1 });
            ("Read", json!({ "file_path": "/w/a.rs" }), json!({ "type": "text", "file": file }))
        }
        _ => {
            let (old, new) = (chance.text(5, 60), chance.text(5, 60));
            let hunk = json!({
                "oldStart": 4, "oldLines": 1, "newStart": 4, "newLines": 1,
                "lines": [format!("-{old}"), format!("+{new}")],
            });
            let detail = json!({
                "filePath": "/w/a.rs", "oldString": old, "newString": new, "originalFile": output,
                "structuredPatch": [hunk], "userModified": false, "replaceAll": false,
            });
            ("Edit", json!({ "file_path": "/w/a.rs", "old_string": old, "new_string": new }), detail)
        }
    };
    let told =
        if name == "Edit" { "The file /w/a.rs has been updated successfully.".to_owned() } else { output };
    lines.push(message(json!({ "type": "tool_use", "id": call, "name": name, "input": input })));
    lines.push(json!({
        "type": "user",
        "message": {
            "role": "user",
            "content": [{ "tool_use_id": call, "type": "tool_result", "content": told, "is_error": false }],
        },
        "parent_tool_use_id": null, "session_id": SESSION, "uuid": uuid,
        "timestamp": "2026-11-22T09:13:53.888Z", "tool_use_result": detail,
    }));
    lines
}

/// One call of the model: its words in pieces and whole, and a command with its output in pieces and whole.
fn codex(chance: &mut Chance, number: u64) -> Vec<Value> {
    let (id, call) = (format!("msg_{number}"), format!("call_{number}"));
    let tell = |method: &str, mut params: Value| {
        params["threadId"] = json!("thread");
        params["turnId"] = json!("turn");
        json!({ "method": method, "params": params })
    };
    let item = |method: &str, item: Value| {
        tell(method, json!({ "item": item, "startedAtMs": 1_795_295_244_393_u64 }))
    };
    let mut lines = Vec::new();
    let said = chance.text(20, 200);
    let message = |text: &str| {
        json!({
            "type": "agentMessage", "moderation": null, "id": id, "text": text, "phase": null,
            "memoryCitation": null, "delivery": null, "questions": null,
        })
    };
    lines.push(item("item/started", message("")));
    for piece in said.split_inclusive(' ').collect::<Vec<_>>().chunks(5) {
        let delta = json!({ "itemId": id, "delta": piece.concat() });
        lines.push(tell("item/agentMessage/delta", delta));
    }
    lines.push(item("item/completed", message(&said)));
    let (words, output) = (chance.text(4, 40), chance.output());
    let command = |status: &str, output: Option<&str>| {
        json!({
            "type": "commandExecution", "id": call, "pluginId": null, "scriptPath": null,
            "command": format!("/bin/bash -lc '{}'", words.replace('\'', "")), "cwd": "/w", "processId": "37537",
            "source": "agent", "status": status, "commandActions": [{ "type": "unknown", "command": words }],
            "aggregatedOutput": output, "exitCode": output.map(|_| 0), "durationMs": output.map(|_| 12),
        })
    };
    lines.push(item("item/started", command("inProgress", None)));
    let whole: Vec<&str> = output.split_inclusive('\n').collect();
    for piece in whole.chunks(8) {
        let delta = json!({ "itemId": call, "delta": piece.concat() });
        lines.push(tell("item/commandExecution/outputDelta", delta));
    }
    lines.push(item("item/completed", command("completed", Some(&output))));
    let used = json!({
        "totalTokens": number * 1234, "inputTokens": number * 1200, "cachedInputTokens": number * 800,
        "cacheWriteInputTokens": 0, "outputTokens": number * 34, "reasoningOutputTokens": number * 10,
    });
    let used = json!({ "total": used, "last": used, "modelContextWindow": 258_400 });
    lines.push(tell("thread/tokenUsage/updated", json!({ "tokenUsage": used })));
    lines
}
