//! Tasks and logs, for people at a terminal.

use forge_model::words::{counted, dollars};
use serde_json::Value;

use crate::shown::{items, string, table};

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
        text.push_str(&format!("\nNext page: --cursor {cursor}"));
    }
    text
}

/// Why a task stands where it stands, in a few words.
fn note(task: &Value) -> String {
    if let Some(kind) = task["error_annotation"]["type"].as_str() {
        return format!("needs you: {kind}");
    }
    if task["review"]["status"] == "awaiting_human" {
        return "ready for your review".to_owned();
    }
    if let Some(reason) = task["waiting"]["reason"].as_str() {
        return format!("waits: {reason}");
    }
    if let Some(stays) = stays_behind(task) {
        return stays;
    }
    match task["live"]["activity"].as_str() {
        Some("") => "agent running".to_owned(),
        Some(activity) => activity.to_owned(),
        None => String::new(),
    }
}

/// What of a closed task is not merged.
fn stays_behind(task: &Value) -> Option<String> {
    let commits = task["unmerged_commits"].as_u64().unwrap_or_default();
    let counted = if commits == 1 { "1 commit".to_owned() } else { format!("{commits} commits") };
    if task["closed_unmerged"] == true {
        let stay = if commits == 1 { "stays" } else { "stay" };
        let id = string(task, "id");
        let rest = if commits == 0 { String::new() } else { format!("; {counted} {stay} on forge/{id}") };
        return Some(format!("closed without merging{rest}"));
    }
    // An open task is not merged yet, which is no news.
    let closed = task["offers"].as_array().is_none_or(Vec::is_empty);
    (closed && commits > 0).then(|| format!("{counted} not merged"))
}

/// How a task's race stands.
fn race(raced: &Value) -> Option<String> {
    let number = raced["number"].as_u64()?;
    let end = match raced["winner"].as_str() {
        Some(winner) => format!("{winner} won"),
        None => format!("{} of {} entries finished", raced["over"], raced["entries"]),
    };
    Some(format!("{number}: {}, {end}", string(raced, "status")))
}

/// What all runs of a task cost, as far as it is known.
fn cost(usage: &Value) -> Option<String> {
    let known = usage["cost_micro_usd"].as_u64().unwrap_or_default();
    let unknown = usage["runs_of_unknown_cost"].as_u64().unwrap_or_default();
    let runs = || counted(unknown, "run", "runs");
    match (known, unknown) {
        (0, 0) => None,
        (_, 0) => Some(dollars(known)),
        (0, _) => Some(format!("unknown, of {}", runs())),
        _ => Some(format!("{} plus {} of unknown cost", dollars(known), runs())),
    }
}

/// The drafted fixes that somebody may still do something with.
fn open_fixes(fixes: &Value) -> Vec<String> {
    let of = |fix: &Value| {
        let files: Vec<&str> =
            fix["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let strategy = fix["strategy"].as_str().map(|name| format!(" of {name}")).unwrap_or_default();
        format!("{} {}{strategy}: {}", string(fix, "fixId"), string(fix, "status"), files.join(", "))
    };
    let is_open = |fix: &&Value| matches!(fix["status"].as_str(), Some("drafted" | "applied"));
    items(fixes).iter().filter(is_open).map(of).collect()
}

/// One task.
pub(super) fn task(task: &Value, review: Option<&Value>, fixes: &Value) -> String {
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
    if let Some(changed) = task["work_changed"].as_object() {
        let files = changed["uncommitted"].as_array().map_or(0, Vec::len);
        lines.push(format!(
            "changed   since the review: {} commits, {files} uncommitted files",
            changed["commits"]
        ));
    }
    if let Some(branch) = task["workspace"]["branch"].as_str() {
        lines.push(format!("branch    {branch}"));
        lines.push(format!(
            "worktree  {} ({})",
            string(&task["workspace"], "path"),
            string(&task["workspace"], "status")
        ));
    }
    lines.extend(race(&task["raced"]).map(|race| format!("race      {race}")));
    lines.extend(cost(&task["usage"]).map(|cost| format!("cost      {cost}")));
    lines.extend(open_fixes(fixes).iter().map(|fix| format!("fix       {fix}")));
    if let Some(review) = review {
        let end = review["verdict"].as_str().unwrap_or("no verdict yet");
        lines.push(format!(
            "review    attempt {}: {}, {end}",
            review["attempt_number"],
            string(review, "status")
        ));
        if let Some(commit) = review["reviewed_commit"].as_str() {
            lines.push(format!("commit    {commit}"));
        }
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

/// The variables that a run did not get of the user's environment.
pub(super) fn withheld(run: &Value) -> Option<String> {
    let names: Vec<&str> = run["withheld"].as_array()?.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| printable(&format!("Withheld from the last run: {}", names.join(", "))))
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
    fn withheld_variables_are_named_when_there_are_any() {
        let run = json!({ "withheld": ["DB_PASSWORD", "NPM_TOKEN"] });
        assert_eq!(withheld(&run).as_deref(), Some("Withheld from the last run: DB_PASSWORD, NPM_TOKEN"));
        assert_eq!(withheld(&json!({ "withheld": [] })), None);
    }

    #[test]
    fn a_task_says_why_it_stands() {
        let blocked =
            json!({ "error_annotation": { "type": "manual" }, "review": { "status": "awaiting_human" } });
        assert_eq!(note(&blocked), "needs you: manual");
        assert_eq!(note(&json!({ "review": { "status": "awaiting_human" } })), "ready for your review");
        assert_eq!(note(&json!({ "live": { "activity": "" } })), "agent running");
        assert_eq!(note(&json!({ "offers": [{}], "unmerged_commits": 2 })), "");
    }

    #[test]
    fn race_says_who_won_or_how_many_entries_are_over() {
        let raced = json!({ "number": 1, "status": "racing", "entries": 3, "over": 2, "winner": null });
        assert_eq!(race(&raced).as_deref(), Some("1: racing, 2 of 3 entries finished"));
        let raced = json!({ "number": 2, "status": "promoted", "entries": 3, "over": 3, "winner": "cheap" });
        assert_eq!(race(&raced).as_deref(), Some("2: promoted, cheap won"));
        assert_eq!(race(&Value::Null), None);
    }

    #[test]
    fn unknown_cost_never_reads_as_no_cost() {
        let of = |known: u64, unknown: u64| {
            cost(&json!({ "cost_micro_usd": known, "runs_of_unknown_cost": unknown })).unwrap_or_default()
        };
        assert_eq!(of(0, 0), "");
        assert_eq!(of(1_250_000, 0), "$1.25");
        assert_eq!(of(0, 1), "unknown, of 1 run");
        assert_eq!(of(1_250_000, 2), "$1.25 plus 2 runs of unknown cost");
    }

    #[test]
    fn only_open_fixes_are_named() {
        let fix = |id: &str, status: &str, strategy: Value| json!({ "fixId": id, "status": status, "files": ["a", "b"], "strategy": strategy });
        let fixes = json!({ "items": [
            fix("1", "verified", Value::Null), fix("2", "drafted", json!("cheap")), fix("3", "applied", Value::Null),
        ] });
        assert_eq!(open_fixes(&fixes), ["2 drafted of cheap: a, b", "3 applied: a, b"]);
    }

    #[test]
    fn a_closed_task_says_what_is_not_merged() {
        let by_hand = json!({ "id": "t", "closed_unmerged": true, "unmerged_commits": 3, "offers": [] });
        assert_eq!(note(&by_hand), "closed without merging; 3 commits stay on forge/t");
        let merged = json!({ "id": "t", "unmerged_commits": 1, "offers": [] });
        assert_eq!(note(&merged), "1 commit not merged");
    }
}
