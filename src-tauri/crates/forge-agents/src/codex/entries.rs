//! From the items of a thread to entries of the log.

use std::path::Path;

use forge_model::log::{EntryKind, EntryStatus};
use serde_json::{Value, json};

use super::wire::object;
use crate::{NewEntry, json::text};

/// What an item is to the log.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Its entries; several of one item have different ids.
    pub(super) entries: Vec<NewEntry>,
    /// What the agent said in it.
    pub(super) said: Option<String>,
    /// What the agent is doing, in one line.
    pub(super) doing: Option<String>,
}

/// Brings an item to entries; none when nobody knows its type. `done` is false when it has only begun: then it has
/// entries only if it has a lifetime.
pub(super) fn told(item: &Value, done: bool, worktree: &Path) -> Option<Told> {
    let id = text(item, "id").unwrap_or_default();
    let kind = text(item, "type")?;
    let status = status(item, done);
    let told = match kind {
        "agentMessage" | "plan" => spoken(id, item, done),
        "reasoning" => reasoning(id, item, done),
        "userMessage" => user_message(id, item, done),
        "commandExecution" => command(id, item, status),
        "fileChange" => file_changes(id, item, status, worktree),
        "enteredReviewMode" => review(id, item, done, EntryStatus::Running),
        "exitedReviewMode" => review(id, item, done, EntryStatus::Completed),
        "hookPrompt" => notice(id, done, "hook_prompt", &fragments(item)),
        "contextCompaction" => {
            notice(id, done, "context_compacted", "The conversation was compacted to fit the model.")
        }
        _ => tool(id, kind, item, status)?,
    };
    Some(told)
}

/// How far an item with a lifetime has come.
fn status(item: &Value, done: bool) -> EntryStatus {
    match (done, text(item, "status")) {
        (_, Some("failed")) => EntryStatus::Failed,
        (_, Some("declined")) => EntryStatus::Declined,
        (true, _) => EntryStatus::Completed,
        (false, _) => EntryStatus::Running,
    }
}

fn entry(kind: EntryKind, id: &str, body: Value) -> NewEntry {
    NewEntry::new(kind, id.to_owned(), body)
}

fn lasting(kind: EntryKind, id: &str, body: Value, status: EntryStatus) -> NewEntry {
    NewEntry { status: Some(status), ..entry(kind, id, body) }
}

fn spoken(id: &str, item: &Value, done: bool) -> Told {
    let said = text(item, "text").filter(|text| done && !text.trim().is_empty());
    Told {
        entries: said
            .map(|text| entry(EntryKind::AssistantText, id, json!({ "text": text })))
            .into_iter()
            .collect(),
        said: said.map(str::to_owned),
        doing: said.and_then(|text| text.trim().lines().next_back()).map(str::to_owned),
    }
}

fn reasoning(id: &str, item: &Value, done: bool) -> Told {
    let parts = |name: &str| texts(item.get(name)).collect::<Vec<_>>().join("\n\n");
    let thought = [parts("summary"), parts("content")].into_iter().find(|text| !text.trim().is_empty());
    let entries = thought
        .filter(|_| done)
        .map(|text| entry(EntryKind::Reasoning, id, json!({ "text": text })))
        .into_iter()
        .collect();
    Told { entries, said: None, doing: (!done).then(|| "Thinking".to_owned()) }
}

fn user_message(id: &str, item: &Value, done: bool) -> Told {
    let words = words_of(item);
    let is_told = done && !words.trim().is_empty();
    let entries =
        is_told.then(|| entry(EntryKind::UserMessage, id, json!({ "text": words }))).into_iter().collect();
    Told { entries, ..Told::default() }
}

/// The text of a user's message.
pub(super) fn words_of(item: &Value) -> String {
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| text(part, "text")).collect::<Vec<_>>().join("\n")
}

fn command(id: &str, item: &Value, status: EntryStatus) -> Told {
    let line = command_line(text(item, "command").unwrap_or_default());
    let body = object([
        ("command", Some(json!(line))),
        ("cwd", item.get("cwd").filter(|cwd| cwd.is_string()).cloned()),
        ("exit_code", item.get("exitCode").filter(|code| code.is_number()).cloned()),
        ("output", item.get("aggregatedOutput").filter(|output| output.is_string()).cloned()),
        ("duration_ms", item.get("durationMs").filter(|took| took.is_number()).cloned()),
    ]);
    Told {
        entries: vec![lasting(EntryKind::Command, id, body, status)],
        said: None,
        doing: (status == EntryStatus::Running).then(|| format!("Running {line}")),
    }
}

fn file_changes(id: &str, item: &Value, status: EntryStatus, worktree: &Path) -> Told {
    let changes = item.get("changes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut entries = Vec::with_capacity(changes.len());
    let mut last = None;
    for (at, change) in changes.iter().enumerate() {
        let path = relative(text(change, "path").unwrap_or_default(), worktree);
        let kind = change.get("kind");
        let moved = kind.and_then(|kind| text(kind, "move_path"));
        let body = object([
            ("path", Some(json!(path))),
            ("change", Some(json!(kind.and_then(|kind| text(kind, "type")).unwrap_or("update")))),
            ("moved_to", moved.map(|moved| json!(relative(moved, worktree)))),
            ("diff", change.get("diff").filter(|diff| diff.is_string()).cloned()),
        ]);
        let id = if at == 0 { id.to_owned() } else { format!("{id}:{at}") };
        entries.push(lasting(EntryKind::FileChange, &id, body, status));
        last = Some(path);
    }
    let doing = last.filter(|_| status == EntryStatus::Running).map(|path| format!("Editing {path}"));
    Told { entries, said: None, doing }
}

/// The beginning of a review, and its outcome, which is also something that the agent said.
fn review(id: &str, item: &Value, done: bool, status: EntryStatus) -> Told {
    let words = text(item, "review").unwrap_or_default();
    if status == EntryStatus::Running {
        let begun = lasting(EntryKind::Review, "review", json!({ "text": "" }), status);
        let entries = done.then_some(begun).into_iter().collect();
        return Told { entries, said: None, doing: Some("Reviewing".to_owned()) };
    }
    if !done {
        return Told::default();
    }
    let mut entries = vec![lasting(EntryKind::Review, "review", json!({ "text": words }), status)];
    let said = Some(words).filter(|words| !words.trim().is_empty());
    entries.extend(said.map(|words| entry(EntryKind::AssistantText, id, json!({ "text": words }))));
    Told { entries, said: said.map(str::to_owned), doing: None }
}

fn notice(id: &str, done: bool, code: &str, words: &str) -> Told {
    let body = json!({ "text": words, "code": code });
    let entries = done.then(|| entry(EntryKind::Notice, id, body)).into_iter().collect();
    Told { entries, ..Told::default() }
}

fn fragments(item: &Value) -> String {
    let fragments = item.get("fragments").and_then(Value::as_array).into_iter().flatten();
    fragments.filter_map(|fragment| text(fragment, "text")).collect::<Vec<_>>().join("\n")
}

/// Any other tool that is known.
fn tool(id: &str, kind: &str, item: &Value, status: EntryStatus) -> Option<Told> {
    let own = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
    let qualified = |prefix: &str| {
        let tool = text(item, "tool").or_else(|| text(item, "name")).unwrap_or_default();
        text(item, prefix).map_or_else(|| tool.to_owned(), |prefix| format!("{prefix}.{tool}"))
    };
    let mut status = status;
    let (name, input, output) = match kind {
        "mcpToolCall" => (qualified("server"), own("arguments"), own("error").or_else(|| own("result"))),
        "dynamicToolCall" => {
            if item.get("success").and_then(Value::as_bool) == Some(false) {
                status = EntryStatus::Failed;
            }
            (qualified("namespace"), own("arguments"), own("contentItems"))
        }
        "functionCallOutput" => (qualified("namespace"), None, own("output")),
        "collabAgentToolCall" => (qualified("namespace"), own("prompt"), own("agentsStates")),
        "subAgentActivity" => ("agent".to_owned(), own("agentPath"), own("kind")),
        "webSearch" => ("web_search".to_owned(), own("query"), own("action")),
        "imageView" => ("view_image".to_owned(), own("path"), None),
        "imageGeneration" => {
            ("generate_image".to_owned(), own("revisedPrompt"), own("failure").or_else(|| own("savedPath")))
        }
        "sleep" => ("sleep".to_owned(), own("durationMs"), None),
        _ => return None,
    };
    let doing = (status == EntryStatus::Running).then(|| format!("Using {name}"));
    let body = object([("name", Some(json!(name))), ("input", input), ("output", output)]);
    Some(Told { entries: vec![lasting(EntryKind::ToolCall, id, body, status)], said: None, doing })
}

/// The agent's plan.
pub(super) fn plan(params: &Value) -> NewEntry {
    let steps = params.get("plan").and_then(Value::as_array).into_iter().flatten();
    let steps: Vec<Value> = steps
        .map(|step| {
            json!({
                "text": text(step, "step").unwrap_or_default(),
                "done": text(step, "status") == Some("completed"),
            })
        })
        .collect();
    entry(EntryKind::Plan, "plan", json!({ "steps": steps }))
}

fn texts(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A path from the worktree on, when it is in it.
pub(super) fn relative(path: &str, worktree: &Path) -> String {
    match Path::new(path).strip_prefix(worktree) {
        Ok(inside) => inside.to_string_lossy().into_owned(),
        Err(_) => path.to_owned(),
    }
}

/// The line that a shell was given, without the shell: `/bin/bash -lc 'a b'` is `a b`.
pub(super) fn command_line(command: &str) -> String {
    let unwrapped = || {
        let (shell, rest) = command.split_once(' ')?;
        let name = shell.rsplit('/').next()?;
        matches!(name, "bash" | "sh" | "zsh" | "dash" | "ksh").then_some(())?;
        let quoted = ["-lc ", "-c "].into_iter().find_map(|flag| rest.strip_prefix(flag))?;
        one_word(quoted.trim())
    };
    unwrapped().unwrap_or_else(|| command.to_owned())
}

/// What a shell makes of one quoted word; none when it is several.
fn one_word(quoted: &str) -> Option<String> {
    let mut word = String::with_capacity(quoted.len());
    let mut quote = None;
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(mark), letter) if mark == letter => quote = None,
            (None, letter) if letter.is_whitespace() => return None,
            (None, '\\') => word.push(letters.next()?),
            (Some('"'), '\\') => match letters.next()? {
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            (_, letter) => word.push(letter),
        }
    }
    quote.is_none().then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_around_a_line_is_left_out() {
        for (command, line) in [
            ("/bin/bash -lc 'echo hi && ls'", "echo hi && ls"),
            ("/usr/bin/zsh -c \"a \\\"b\\\" \\n\"", "a \"b\" \\n"),
            ("bash -lc ls", "ls"),
            (r"bash -lc 'it'\''s'", "it's"),
            ("bash -lc 'a' b", "bash -lc 'a' b"),
            ("bash -lc 'a", "bash -lc 'a"),
            ("git status", "git status"),
            ("bash", "bash"),
            ("", ""),
        ] {
            assert_eq!(command_line(command), line);
        }
    }

    #[test]
    fn unknown_types_are_not_told() {
        let path = Path::new("/w");
        assert!(told(&json!({ "type": "hologram", "id": "1" }), true, path).is_none());
        assert!(told(&json!({ "id": "1" }), true, path).is_none());
        assert!(told(&json!("x"), true, path).is_none());
        let odd = json!({ "type": "fileChange", "changes": [1, { "path": "/w/a" }] });
        assert_eq!(told(&odd, true, path).map(|told| told.entries.len()), Some(2));
    }
}
