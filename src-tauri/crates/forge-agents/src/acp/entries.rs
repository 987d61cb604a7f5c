//! From what the program tells to entries of the log: messages from their pieces, a tool as one entry with a
//! lifetime under the id of its call.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use forge_model::log::{EntryKind, EntryStatus};
use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::{NewEntry, json::text};

use super::wire::{Change, ToolCallStatus, ToolKind, ToolPatch};

/// The most text that lines are compared in; more is told without them.
const MAX_COMPARED: usize = 1024 * 1024;

/// How long lines are compared for the shortest difference; after that any is good.
const COMPARE_FOR: Duration = Duration::from_millis(200);

/// Where tools are given the file that they write.
const PATHS: &[&str] = &["file_path", "filePath", "filepath", "path", "abs_path", "notebook_path"];

/// A message that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Speech {
    open: Option<Message>,
    /// How often a message of this id was begun: one that goes on behind a tool is told again behind it.
    begun: BTreeMap<String, u32>,
}

#[derive(Debug)]
struct Message {
    is_thought: bool,
    name: Option<String>,
    id: String,
    text: String,
}

/// A whole message.
#[derive(Debug)]
pub(super) struct Spoken {
    pub is_thought: bool,
    pub text: String,
    pub entry: NewEntry,
}

impl Speech {
    /// Takes a piece. The message before it, when that has ended by this one.
    pub(super) fn hear(&mut self, is_thought: bool, name: Option<String>, piece: &str) -> Option<Spoken> {
        if let Some(open) = &mut self.open
            && open.is_thought == is_thought
            && open.name == name
        {
            open.text.push_str(piece);
            return None;
        }
        let ended = self.close();
        let what = if is_thought { "thought" } else { "message" };
        let id = name.as_ref().map_or_else(|| what.to_owned(), |name| format!("{what}:{name}"));
        let times = self.begun.entry(id.clone()).or_default();
        *times += 1;
        let id = if *times == 1 { id } else { format!("{id}:{times}") };
        self.open = Some(Message { is_thought, name, id, text: piece.to_owned() });
        ended
    }

    /// The open message has ended. None when there is none, or it says nothing.
    pub(super) fn close(&mut self) -> Option<Spoken> {
        let Message { is_thought, id, text, .. } = self.open.take()?;
        if text.trim().is_empty() {
            return None;
        }
        let kind = if is_thought { EntryKind::Reasoning } else { EntryKind::AssistantText };
        let entry = NewEntry::new(kind, id, json!({ "text": text }));
        Some(Spoken { is_thought, text, entry })
    }

    /// How many messages were begun.
    pub(super) fn count(&self) -> u32 {
        self.begun.values().sum()
    }
}

/// What calls of tools stand for in the log.
#[derive(Debug)]
pub(super) struct Tools {
    worktree: PathBuf,
    calls: BTreeMap<String, Tool>,
}

/// A call, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Tool {
    kind: ToolKind,
    status: ToolCallStatus,
    title: String,
    name: Option<String>,
    words: String,
    changes: Vec<Change>,
    paths: Vec<String>,
    input: Value,
    output: Value,
    /// Why it was refused.
    declined: Option<String>,
    is_over: bool,
    /// What of it is in the log, by id.
    logged: BTreeMap<String, (EntryKind, EntryStatus, Value)>,
}

impl Tool {
    pub(super) const fn kind(&self) -> ToolKind {
        self.kind
    }

    /// The files that it is about.
    pub(super) fn targets(&self) -> Vec<String> {
        targets(&self.changes, &self.paths, &self.input)
    }

    fn take(&mut self, patch: ToolPatch) {
        let ToolPatch { id: _, kind, status, title, name, words, changes, paths, input, output } = patch;
        self.kind = kind.unwrap_or(self.kind);
        self.status = status.unwrap_or(self.status);
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        self.name = name.or_else(|| self.name.take());
        self.words = words.unwrap_or_else(|| std::mem::take(&mut self.words));
        if !changes.is_empty() {
            // What was changed stays known when later content no longer shows it.
            self.changes = changes;
        }
        self.paths = paths.unwrap_or_else(|| std::mem::take(&mut self.paths));
        self.input = input.unwrap_or_else(|| self.input.take());
        self.output = output.unwrap_or_else(|| self.output.take());
    }

    fn is_done(&self) -> bool {
        matches!(self.status, ToolCallStatus::Completed | ToolCallStatus::Failed)
    }

    /// Only its name is known: what it will do comes later.
    fn is_announced(&self) -> bool {
        let Some(fields) = self.input.as_object() else { return false };
        let says_nothing = fields.is_empty() || (self.kind == ToolKind::Execute && self.command().is_none());
        self.status == ToolCallStatus::Pending && says_nothing
    }

    fn command(&self) -> Option<String> {
        match self.input.get("command").or_else(|| self.input.get("cmd"))? {
            Value::String(command) => Some(command.clone()),
            Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
            _ => None,
        }
    }

    fn exit_code(&self) -> Option<i64> {
        let places = [Some(&self.output), self.output.get("metadata")];
        let fields = ["exit", "exitCode", "exit_code"];
        places.into_iter().flatten().find_map(|it| fields.iter().find_map(|field| it.get(field)?.as_i64()))
    }

    /// What it gave, as text.
    fn result(&self) -> Option<String> {
        if !self.words.is_empty() {
            return Some(self.words.clone());
        }
        match &self.output {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            output => {
                let known = ["output", "formatted_output", "stdout", "error"];
                let known = known.iter().find_map(|field| text(output, field));
                Some(known.map_or_else(|| output.to_string(), str::to_owned))
            }
        }
    }
}

impl Tools {
    pub(super) const fn new(worktree: PathBuf) -> Self {
        Self { worktree, calls: BTreeMap::new() }
    }

    pub(super) fn get(&self, id: &str) -> Option<&Tool> {
        self.calls.get(id)
    }

    /// Something is told of a call; it may be the first that is heard of it. What is new in the log by that.
    pub(super) fn told(&mut self, patch: ToolPatch) -> Vec<NewEntry> {
        let id = patch.id.clone();
        let tool = self.calls.entry(id.clone()).or_default();
        tool.take(patch);
        tool.is_over = tool.is_done();
        if tool.is_announced() {
            return Vec::new();
        }
        self.log(&id)
    }

    /// A question shows a call. It describes the question, so that of a call that is known only the changes count.
    pub(super) fn asked(&mut self, patch: &ToolPatch) -> Vec<NewEntry> {
        match self.calls.get_mut(&patch.id) {
            Some(tool) => {
                if !patch.changes.is_empty() {
                    tool.changes.clone_from(&patch.changes);
                }
                Vec::new()
            }
            None => self.told(patch.clone()),
        }
    }

    /// A call was refused, and why.
    pub(super) fn declined(&mut self, id: &str, why: &str) {
        if let Some(tool) = self.calls.get_mut(id) {
            tool.declined = Some(why.to_owned());
        }
    }

    /// The turn is over: calls that never came to an end.
    pub(super) fn abandoned(&mut self) -> Vec<NewEntry> {
        let open: Vec<String> =
            self.calls.iter().filter(|(_, tool)| !tool.is_over).map(|(id, _)| id.clone()).collect();
        let mut entries = Vec::new();
        for id in open {
            if let Some(tool) = self.calls.get_mut(&id) {
                tool.is_over = true;
            }
            entries.extend(self.log(&id));
        }
        self.calls.clear();
        entries
    }

    /// A path as people read it: from the worktree on, when it is in there.
    pub(super) fn path(&self, path: &str) -> String {
        let inside = path.strip_prefix(&*self.worktree.to_string_lossy()).and_then(|it| it.strip_prefix('/'));
        inside.filter(|it| !it.is_empty()).unwrap_or(path).to_owned()
    }

    /// A change as a unified diff; none when there is too much of it.
    pub(super) fn diff(&self, change: &Change) -> Option<String> {
        diff(&self.path(&change.path), change)
    }

    /// The entries of a call that are not in the log as they are now.
    fn log(&mut self, id: &str) -> Vec<NewEntry> {
        let Some(tool) = self.calls.get(id) else { return Vec::new() };
        let told = self.describe(id, tool);
        let Some(tool) = self.calls.get_mut(id) else { return Vec::new() };
        let mut entries = Vec::new();
        for (id, kind, status, body) in told {
            let now = (kind, status, body.clone());
            if tool.logged.get(&id) != Some(&now) {
                tool.logged.insert(id.clone(), now);
                let mut entry = NewEntry::new(kind, id, body);
                entry.status = Some(status);
                entries.push(entry);
            }
        }
        entries
    }

    fn describe(&self, id: &str, tool: &Tool) -> Vec<(String, EntryKind, EntryStatus, Value)> {
        let status = match (tool.status, &tool.declined) {
            (ToolCallStatus::Completed, _) => EntryStatus::Completed,
            (ToolCallStatus::Failed, None) => EntryStatus::Failed,
            (_, Some(_)) if tool.is_over => EntryStatus::Declined,
            _ if tool.is_over => EntryStatus::Cancelled,
            _ => EntryStatus::Running,
        };
        let targets = tool.targets();
        let writes = matches!(tool.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        if tool.kind == ToolKind::Execute {
            let (status, body) = self.command(tool, status);
            return vec![(id.to_owned(), EntryKind::Command, status, body)];
        }
        if !writes || targets.is_empty() {
            if writes && !tool.is_over {
                // Which file it is comes later.
                return Vec::new();
            }
            return vec![(id.to_owned(), EntryKind::ToolCall, status, self.call(tool, status))];
        }
        let change = |(at, path): (usize, &String)| {
            let id = if at == 0 { id.to_owned() } else { format!("{id}:{at}") };
            (id, EntryKind::FileChange, status, self.change(tool, path, status))
        };
        targets.iter().enumerate().map(change).collect()
    }

    fn command(&self, tool: &Tool, status: EntryStatus) -> (EntryStatus, Value) {
        let mut body = Map::new();
        body.insert("command".to_owned(), json!(tool.command().unwrap_or_else(|| tool.title.clone())));
        for (field, value) in
            [("description", text(&tool.input, "description")), ("cwd", text(&tool.input, "cwd"))]
        {
            let value = value.filter(|cwd| *cwd != self.worktree.to_string_lossy());
            if let Some(value) = value {
                body.insert(field.to_owned(), json!(value));
            }
        }
        if !tool.is_over {
            return (status, Value::Object(body));
        }
        let exit_code = tool.exit_code();
        if let Some(code) = exit_code {
            body.insert("exit_code".to_owned(), json!(code));
        }
        put_end(&mut body, tool, status);
        let failed = status == EntryStatus::Completed && exit_code.is_some_and(|code| code != 0);
        (if failed { EntryStatus::Failed } else { status }, Value::Object(body))
    }

    fn change(&self, tool: &Tool, path: &str, status: EntryStatus) -> Value {
        let change = tool.changes.iter().find(|change| change.path == path);
        let what = match (tool.kind, change) {
            (ToolKind::Delete, _) => "delete",
            (ToolKind::Move, _) => "move",
            (_, Some(change)) if is_new(change) => "add",
            _ => "edit",
        };
        let mut body = Map::new();
        body.insert("path".to_owned(), json!(self.path(path)));
        body.insert("change".to_owned(), json!(what));
        if let Some(diff) = change.and_then(|change| self.diff(change)) {
            body.insert("diff".to_owned(), json!(diff));
        }
        if tool.is_over && status != EntryStatus::Completed {
            put_end(&mut body, tool, status);
        }
        Value::Object(body)
    }

    fn call(&self, tool: &Tool, status: EntryStatus) -> Value {
        let of_kind = serde_json::to_value(tool.kind).ok().filter(|_| tool.kind != ToolKind::Other);
        let of_kind = of_kind.and_then(|kind| Some(kind.as_str()?.to_owned()));
        let name = tool.name.clone().or(of_kind).unwrap_or_else(|| tool.title.clone());
        let mut body = Map::new();
        if tool.title != name && !tool.title.is_empty() {
            body.insert("title".to_owned(), json!(self.path(&tool.title)));
        }
        body.insert("name".to_owned(), json!(name));
        if !tool.input.is_null() {
            body.insert("input".to_owned(), tool.input.clone());
        }
        if tool.is_over {
            put_end(&mut body, tool, status);
        }
        Value::Object(body)
    }
}

/// What a call came to: why it was refused, or what it gave.
fn put_end(body: &mut Map<String, Value>, tool: &Tool, status: EntryStatus) {
    let (field, value) = match status {
        EntryStatus::Declined => ("reason", tool.declined.clone()),
        _ => ("output", tool.result()),
    };
    if let Some(value) = value {
        body.insert(field.to_owned(), json!(value));
    }
}

/// The files that changes, locations and input name.
pub(super) fn targets(changes: &[Change], paths: &[String], input: &Value) -> Vec<String> {
    let mut targets: Vec<String> = Vec::new();
    let of_input = PATHS.iter().find_map(|field| text(input, field)).map(str::to_owned);
    let named = changes.iter().map(|change| change.path.clone()).chain(paths.iter().cloned()).chain(of_input);
    for path in named {
        if !targets.contains(&path) {
            targets.push(path);
        }
    }
    targets
}

/// Some agents tell a file that was not there as an empty one.
fn is_new(change: &Change) -> bool {
    change.old.as_deref().unwrap_or_default().is_empty()
}

fn diff(path: &str, change: &Change) -> Option<String> {
    let old = change.old.as_deref().unwrap_or_default();
    if old.len() + change.new.len() > MAX_COMPARED {
        return None;
    }
    let before = if is_new(change) { "/dev/null".to_owned() } else { format!("a/{path}") };
    let lines = TextDiff::configure().timeout(COMPARE_FOR).diff_lines(old, &change.new);
    let mut unified = lines.unified_diff();
    // Some agents show the piece that they replace alone: how the file ends is not known.
    unified.missing_newline_hint(false).context_radius(3).header(&before, &format!("b/{path}"));
    Some(unified.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(old: Option<&str>, new: &str) -> Change {
        Change { path: "/w/a.rs".to_owned(), old: old.map(str::to_owned), new: new.to_owned() }
    }

    #[test]
    fn changes_are_unified_diffs() {
        let tools = Tools::new(PathBuf::from("/w"));
        assert_eq!(
            tools.diff(&change(None, "one\ntwo\n")).as_deref(),
            Some("--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1,2 @@\n+one\n+two\n")
        );
        assert_eq!(
            tools.diff(&change(Some("one\ntwo\n"), "one\n2")).as_deref(),
            Some("--- a/a.rs\n+++ b/a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
        );
        assert_eq!(tools.diff(&change(None, &"x".repeat(MAX_COMPARED + 1))), None);
    }

    #[test]
    fn messages_are_joined_until_another_begins() {
        let mut speech = Speech::default();
        let name = |name: &str| Some(name.to_owned());
        assert!(speech.hear(false, name("a"), "Hello ").is_none());
        assert!(speech.hear(false, name("a"), "there.").is_none());
        let first = speech.hear(true, name("a"), "Hm.");
        assert_eq!(
            first.map(|it| (it.text, it.entry.id)),
            Some(("Hello there.".to_owned(), "message:a".to_owned()))
        );
        let thought = speech.close();
        assert_eq!(thought.map(|it| (it.is_thought, it.entry.id)), Some((true, "thought:a".to_owned())));
        speech.hear(false, name("a"), "Again.");
        assert_eq!(speech.close().map(|it| it.entry.id), Some("message:a:2".to_owned()));
        speech.hear(false, None, " \n");
        assert!(speech.close().is_none(), "it says nothing");
    }
}
