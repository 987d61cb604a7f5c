//! Tasks and logs, for people at a terminal.

use serde_json::Value;

use crate::command::{items, string, table};

/// Tasks, a line each.
pub(super) fn list(page: &Value) -> String {
    if items(page).is_empty() {
        return "No tasks.".to_owned();
    }
    let rows: Vec<Vec<String>> = items(page)
        .iter()
        .map(|task| {
            vec![task["number"].to_string(), string(task, "status"), string(task, "title"), note(task)]
        })
        .collect();
    let mut text = table(&["#", "STATE", "TITLE", ""], &rows);
    if let Some(cursor) = page["next_cursor"].as_str() {
        text.push_str(&format!("\nThere are more: --cursor {cursor}"));
    }
    text
}

/// Why a task stands where it stands, in a few words.
fn note(task: &Value) -> String {
    if let Some(kind) = task["error_annotation"]["type"].as_str() {
        return format!("needs you: {kind}");
    }
    if task["review"]["status"] == "awaiting_human" {
        return "waits for your decision".to_owned();
    }
    if let Some(reason) = task["waiting"]["reason"].as_str() {
        return format!("waits: {reason}");
    }
    match task["live"]["activity"].as_str() {
        Some("") => "an agent is at work".to_owned(),
        Some(activity) => activity.to_owned(),
        None => String::new(),
    }
}

/// One task.
pub(super) fn task(task: &Value, review: Option<&Value>) -> String {
    let mut lines = vec![
        format!("#{} {}", task["number"], string(task, "title")),
        format!("state     {}", string(task, "status")),
        format!("id        {}", string(task, "id")),
    ];
    let note = note(task);
    if !note.is_empty() {
        lines.push(format!("now       {note}"));
    }
    if task["review"]["status"] == "awaiting_human" {
        lines.push("next      forge task approve, or forge task reject --reason WHY".to_owned());
    }
    for key in ["error_annotation", "waiting"] {
        if let Some(message) = task[key]["message"].as_str() {
            lines.push(format!("why       {message}"));
        }
    }
    if let Some(branch) = task["workspace"]["branch"].as_str() {
        lines.push(format!("branch    {branch}"));
        lines.push(format!(
            "worktree  {} ({})",
            string(&task["workspace"], "path"),
            string(&task["workspace"], "status")
        ));
    }
    if let Some(review) = review {
        let end = review["verdict"].as_str().unwrap_or("no verdict yet");
        lines.push(format!(
            "review    attempt {}: {}, {end}",
            review["attempt_number"],
            string(review, "status")
        ));
        for step in review["steps"].as_array().into_iter().flatten() {
            let result = step["exit_code"].as_i64().map_or_else(|| "-".to_owned(), |code| code.to_string());
            lines.push(format!("          exit {result}: {}", string(step, "command")));
        }
    }
    for offer in task["offers"].as_array().into_iter().flatten() {
        lines.push(format!("offer     {:15} {}", string(offer, "verb"), string(offer, "why")));
    }
    let description = string(task, "description");
    if !description.is_empty() {
        lines.push(String::new());
        lines.push(description.trim_end().to_owned());
    }
    printable(&lines.join("\n"))
}

/// A stretch of a log.
pub(super) fn log(page: &Value) -> String {
    let entries: Vec<String> = page["entries"].as_array().into_iter().flatten().map(entry).collect();
    printable(&entries.join("\n"))
}

fn entry(entry: &Value) -> String {
    let body = &entry["body"];
    let said = ["text", "text_head", "command", "path", "name", "summary", "output"];
    let text = said.iter().find_map(|key| body[*key].as_str());
    let text = text.map_or_else(|| body.to_string(), |text| text.trim_end().to_owned());
    let mut line = format!("{:>6}  {:15} {text}", entry["seq"].to_string(), string(entry, "kind"));
    if let Some(code) = body["exit_code"].as_i64() {
        line.push_str(&format!(" (exit {code})"));
    }
    line
}

/// Without control characters: what an agent prints must not steer the reader's terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logs_do_not_steer_the_terminal() {
        let page =
            json!({ "entries": [{ "seq": 1, "kind": "stdout", "body": { "text": "\u{1b}[2Jgone\r\n" } }] });
        assert_eq!(log(&page), "     1  stdout          \u{fffd}[2Jgone");
    }

    #[test]
    fn a_task_says_why_it_stands() {
        let blocked =
            json!({ "error_annotation": { "type": "manual" }, "review": { "status": "awaiting_human" } });
        assert_eq!(note(&blocked), "needs you: manual");
        assert_eq!(note(&json!({ "review": { "status": "awaiting_human" } })), "waits for your decision");
        assert_eq!(note(&json!({ "live": { "activity": "" } })), "an agent is at work");
        assert_eq!(note(&json!({})), "");
    }
}
