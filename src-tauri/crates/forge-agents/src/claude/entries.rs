//! From content blocks to entries of the log. A tool is one entry with a lifetime, under the id of its call.

use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

use forge_model::log::{EntryKind, EntryStatus};
use serde_json::{Value, json};

use crate::{
    NewEntry,
    json::{list, owned, text},
};

/// The tools that write files.
const WRITERS: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// What calls of tools stand for in the log, and where they are.
#[derive(Debug)]
pub(super) struct Tools {
    worktree: PathBuf,
    open: BTreeMap<String, Tool>,
    /// Why calls were refused, until their result comes.
    declined: BTreeMap<String, String>,
    /// How many blocks of a message came.
    blocks: BTreeMap<String, u32>,
}

/// A call without a result.
#[derive(Debug)]
struct Tool {
    kind: EntryKind,
    parent: Option<String>,
    body: Value,
}

/// What is known of a result beside its text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended<'v> {
    /// What the tool itself gave.
    pub detail: &'v Value,
    /// The program says that the call was refused.
    pub is_refused: bool,
    /// The turn was stopped.
    pub is_interrupted: bool,
}

impl Tools {
    pub(super) fn new(worktree: PathBuf) -> Self {
        Self { worktree, open: BTreeMap::new(), declined: BTreeMap::new(), blocks: BTreeMap::new() }
    }

    /// The id of the next block of a message. The blocks of one come in events of their own.
    pub(super) fn block_id(&mut self, message: &str) -> String {
        let index = self.blocks.entry(message.to_owned()).or_default();
        let id = format!("{message}:{index}");
        *index = index.saturating_add(1);
        id
    }

    /// A call begins; none when the block is no call.
    pub(super) fn started(&mut self, block: &Value, parent: Option<&str>) -> Option<NewEntry> {
        let (id, name) = (text(block, "id")?, text(block, "name")?);
        let input = block.get("input").unwrap_or(&Value::Null);
        let (kind, body) = self.describe(name, input);
        let parent = parent.map(str::to_owned);
        let mut entry = NewEntry::new(kind, id.to_owned(), body.clone());
        entry.parent_id.clone_from(&parent);
        entry.status = Some(EntryStatus::Running);
        self.open.insert(id.to_owned(), Tool { kind, parent, body });
        Some(entry)
    }

    /// Records that a tool call was declined, with the reason.
    pub(super) fn declined(&mut self, tool_use_id: &str, why: &str) {
        if self.open.contains_key(tool_use_id) {
            self.declined.insert(tool_use_id.to_owned(), why.to_owned());
        }
    }

    /// A call has its result; none when the block is no result of a call that is known.
    pub(super) fn ended(&mut self, block: &Value, ended: Ended<'_>) -> Option<NewEntry> {
        let id = text(block, "tool_use_id")?;
        let Tool { kind, parent, mut body } = self.open.remove(id)?;
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
        let why = self.declined.remove(id);
        let output = content_text(block);
        let status = match (failed, ended) {
            (true, Ended { is_interrupted: true, .. }) => EntryStatus::Cancelled,
            (true, Ended { is_refused, .. }) if is_refused || why.is_some() => EntryStatus::Declined,
            (true, _) => EntryStatus::Failed,
            (false, _) => EntryStatus::Completed,
        };
        if let Some(fields) = body.as_object_mut() {
            match (kind, status) {
                (_, EntryStatus::Declined) => {
                    fields.insert("reason".to_owned(), json!(why.unwrap_or(output)));
                }
                (EntryKind::Command, _) => {
                    let (exit_code, output) = command_output(&output, failed, ended.detail);
                    if let Some(code) = exit_code {
                        fields.insert("exit_code".to_owned(), json!(code));
                    }
                    fields.insert("output".to_owned(), json!(output));
                }
                (EntryKind::FileChange, EntryStatus::Completed) => self.changed(fields, ended.detail),
                (EntryKind::Plan, EntryStatus::Completed) => {}
                (_, _) => {
                    fields.insert("output".to_owned(), json!(output));
                }
            }
        }
        let mut entry = NewEntry::new(kind, id.to_owned(), body);
        entry.parent_id = parent;
        entry.status = Some(status);
        Some(entry)
    }

    /// The turn is over: calls that never got a result.
    pub(super) fn abandoned(&mut self) -> Vec<NewEntry> {
        self.declined.clear();
        self.blocks.clear();
        let open = std::mem::take(&mut self.open);
        let entry = |(id, tool): (String, Tool)| {
            let mut entry = NewEntry::new(tool.kind, id, tool.body);
            entry.parent_id = tool.parent;
            entry.status = Some(EntryStatus::Cancelled);
            entry
        };
        open.into_iter().map(entry).collect()
    }

    /// A path as people read it: from the worktree on, when it is in there.
    pub(super) fn path(&self, path: &str) -> String {
        let inside = path.strip_prefix(&*self.worktree.to_string_lossy()).and_then(|it| it.strip_prefix('/'));
        inside.filter(|it| !it.is_empty()).unwrap_or(path).to_owned()
    }

    /// The path that a tool that writes was given.
    pub(super) fn written(&self, name: &str, input: &Value) -> Option<String> {
        let path = text(input, "file_path").or_else(|| text(input, "notebook_path"))?;
        WRITERS.contains(&name).then(|| self.path(path))
    }

    fn describe(&self, name: &str, input: &Value) -> (EntryKind, Value) {
        if let Some(path) = self.written(name, input) {
            return (EntryKind::FileChange, json!({ "path": path, "change": "edit" }));
        }
        if let (true, Some(command)) = (name == "Bash", text(input, "command")) {
            let mut body = json!({ "command": command });
            if let (Some(fields), Some(what)) = (body.as_object_mut(), text(input, "description")) {
                fields.insert("description".to_owned(), json!(what));
            }
            return (EntryKind::Command, body);
        }
        if name == "TodoWrite" {
            let step = |todo: &Value| {
                let done = text(todo, "status") == Some("completed");
                json!({ "text": owned(todo, "content").unwrap_or_default(), "done": done })
            };
            let steps: Vec<Value> = list(input, "todos").iter().map(step).collect();
            return (EntryKind::Plan, json!({ "steps": steps }));
        }
        (EntryKind::ToolCall, json!({ "name": name, "input": input }))
    }

    /// What a file change came to.
    fn changed(&self, fields: &mut serde_json::Map<String, Value>, detail: &Value) {
        let path = fields.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_new = text(detail, "type") == Some("create");
        let hunks = list(detail, "structuredPatch");
        let diff = match text(detail, "content") {
            Some(content) if is_new && hunks.is_empty() => Some(added(&path, content)),
            _ if hunks.is_empty() => None,
            _ => Some(patch(&path, hunks)),
        };
        fields.insert("change".to_owned(), json!(if is_new { "add" } else { "edit" }));
        if let Some(diff) = diff {
            fields.insert("diff".to_owned(), json!(diff));
        }
    }
}

/// A whole new file as a unified diff.
pub(super) fn added(path: &str, content: &str) -> String {
    let mut diff = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n", content.lines().count());
    for line in content.lines() {
        let _ = writeln!(diff, "+{line}");
    }
    diff
}

/// A replacement as a diff, without places: they are not known before it is done.
pub(super) fn replaced(path: &str, old: &str, new: &str) -> String {
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n");
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.lines() {
            let _ = writeln!(diff, "{sign}{line}");
        }
    }
    diff
}

fn patch(path: &str, hunks: &[Value]) -> String {
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n");
    for hunk in hunks {
        let number = |field: &str| hunk.get(field).and_then(Value::as_u64).unwrap_or_default();
        let _ = writeln!(
            diff,
            "@@ -{},{} +{},{} @@",
            number("oldStart"),
            number("oldLines"),
            number("newStart"),
            number("newLines")
        );
        for line in list(hunk, "lines").iter().filter_map(Value::as_str) {
            diff.push_str(line);
            diff.push('\n');
        }
    }
    diff
}

/// The text of a result.
fn content_text(block: &Value) -> String {
    match block.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let parts: Vec<_> = parts.iter().filter_map(|part| text(part, "text")).collect();
            parts.join("\n")
        }
        _ => String::new(),
    }
}

/// A command's exit code, when it is told, and its output. A command that failed has the code before its output.
fn command_output(content: &str, failed: bool, detail: &Value) -> (Option<i64>, String) {
    if !failed {
        let streams = [text(detail, "stdout"), text(detail, "stderr")];
        let said: Vec<_> = streams.into_iter().flatten().filter(|text| !text.is_empty()).collect();
        let output = if detail.is_object() { said.join("\n") } else { content.to_owned() };
        let in_background = detail.get("backgroundTaskId").is_some();
        return ((!in_background).then_some(0), output);
    }
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    match first.strip_prefix("Exit code ").and_then(|code| code.trim().parse().ok()) {
        Some(code) => (Some(code), rest.to_owned()),
        None => (None, content.to_owned()),
    }
}
