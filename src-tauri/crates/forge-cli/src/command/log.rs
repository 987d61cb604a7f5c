//! Logs of runs, checks and steps: their end, a page of them, and what is added while somebody looks.

use forge_api::{
    operations::{ExecutionGet, ExecutionLogs, TaskExecutions, TaskLog, TaskServices},
    ops::{
        TaskPath,
        executions::{ExecutionPath, ReadLog, ReadTaskLog},
    },
};
use forge_model::{
    execution::{Execution, ExecutionRole},
    ids::{ExecutionId, TaskId},
    log::{EntryStatus, LogEntry, LogPage},
    race::{Race, RaceEntry},
    service::Service,
};

use serde_json::Value;

use crate::{
    answer::{Answer, put},
    at::At,
    error::CliError,
    shown::printable,
    words::plain,
};

/// How many entries are read at once while a log is followed.
const PAGE: u32 = 200;
/// How wide the kind of an entry is, of which `approval_resolved` is the longest.
const KIND: usize = 17;
/// Where the text of an entry begins, behind its number and its kind.
const INDENT: usize = 6 + 2 + KIND + 1;

/// The end of a log.
pub(super) async fn last_page(
    at: &At,
    task_id: TaskId,
    log_id: String,
    limit: Option<u32>,
) -> Result<Answer, CliError> {
    page(at, ReadTaskLog { task_id, log_id, after: None, before: None, limit }).await
}

/// The run of a task that people mean: the latest one of the work, since a fix is drafted beside it.
pub(super) fn latest_work(runs: Vec<Execution>) -> Option<Execution> {
    let (drafts, work): (Vec<_>, Vec<_>) =
        runs.into_iter().partition(|run| run.role == ExecutionRole::Drafter);
    work.into_iter().next_back().or_else(|| drafts.into_iter().next_back())
}

/// A page of a log that the caller named, which may be of no log.
pub(super) async fn known_page(at: &At, input: ReadTaskLog, named: &str) -> Result<Answer, CliError> {
    let answer = page(at, input).await?;
    if answer.json["total"] != 0 {
        return Ok(answer);
    }
    // A log may be empty. Whether there is one, the engine says where it is asked for by its name alone.
    let execution_id = ExecutionId::from(named);
    let any = ReadLog { execution_id, after: None, before: None, limit: Some(1) };
    match at.call(ExecutionLogs, any).await {
        Err(CliError::Refused(error)) if error.status == 404 => Err(CliError::NotFound {
            message: format!("no log `{named}`"),
            hint: "The logs of checks are in `forge task show --json`, those of runs in `forge run list`.",
        }),
        known => known.map(|_| answer),
    }
}

/// The end of the log of an entry's latest run, and what is added, if that is followed.
pub(super) async fn of_entry(
    at: &At,
    entry: &RaceEntry,
    limit: Option<u32>,
    is_followed: bool,
) -> Result<Answer, CliError> {
    let task_id = entry.task_id.clone();
    let runs = at.call(TaskExecutions, TaskPath { task_id: task_id.clone() }).await?.value;
    let last = latest_work(runs.items).ok_or_else(|| CliError::NotFound {
        message: format!("the entry `{}` has no runs yet", entry.strategy),
        hint: "See the race with `forge race show`.",
    })?;
    if is_followed {
        return follow(at, task_id, Followed::Run(last.id, last.log_id), limit).await;
    }
    last_page(at, task_id, last.log_id, limit).await
}

/// The entry of a race whose log is shown for its task: the winner, else the one that is elected, else the first.
pub(super) fn leading(race: &Race) -> Option<&RaceEntry> {
    let named = race.winner.as_ref().or(race.elected.as_ref());
    let entry = named.and_then(|name| race.entries.iter().find(|entry| entry.strategy == *name));
    entry.or_else(|| race.entries.first())
}

/// A page of a log.
pub(super) async fn page(at: &At, input: ReadTaskLog) -> Result<Answer, CliError> {
    let page = at.call(TaskLog, input).await?;
    let text = shown(&page);
    Ok(Answer::new(page.json, text))
}

/// Whose log is followed.
pub(super) enum Followed {
    /// A run, and its log.
    Run(ExecutionId, String),
    /// A start of a service.
    Service(Box<Service>),
}

impl Followed {
    fn log_id(&self) -> String {
        match self {
            Self::Run(_, log_id) => log_id.clone(),
            Self::Service(service) => service.log_id.clone(),
        }
    }

    /// Whether nothing is added any more.
    async fn is_over(&self, at: &At, task_id: &TaskId) -> Result<bool, CliError> {
        match self {
            Self::Run(run, _) => {
                let path = ExecutionPath { execution_id: run.clone() };
                Ok(at.call(ExecutionGet, path).await?.finished_at.is_some())
            }
            Self::Service(service) => {
                let page = at.call(TaskServices, TaskPath { task_id: task_id.clone() }).await?.value;
                let mut last = page.items.into_iter().filter_map(|one| one.last);
                let same = last.find(|last| last.id == service.id);
                Ok(same.is_none_or(|last| !last.state.is_active()))
            }
        }
    }
}

/// Prints the end of a log, and what is added, until the run or the service ends.
pub(super) async fn follow(
    at: &At,
    task_id: TaskId,
    followed: Followed,
    limit: Option<u32>,
) -> Result<Answer, CliError> {
    let log_id = followed.log_id();
    // Listened to before it is read, so that nothing is missed.
    let mut changes = at.connection.changes().await?;
    let (mut after, mut limit) = (None, limit);
    loop {
        let is_over = followed.is_over(at, &task_id).await?;
        loop {
            let input = ReadTaskLog {
                task_id: task_id.clone(),
                log_id: log_id.clone(),
                after,
                before: None,
                limit: limit.take().or(Some(PAGE)),
            };
            let page = at.call(TaskLog, input).await?.value;
            let count = page.entries.len();
            let entries = finished(page.entries, is_over);
            let (is_whole, last) = (entries.len() == count, entries.last().map(|entry| entry.seq));
            let text = shown(&LogPage { entries, ..page });
            if !text.is_empty() && !put(&text) {
                return Ok(Answer::new(Value::Null, String::new()));
            }
            match last {
                Some(last) if is_whole => after = Some(last),
                last => {
                    after = last.or(after);
                    break;
                }
            }
        }
        // Without an engine that stays nothing is added to it.
        if is_over || at.connection.is_own() {
            return Ok(Answer::new(Value::Null, String::new()));
        }
        loop {
            match changes.next().await {
                Some(event) if event["task_id"] == task_id.as_str() => break,
                Some(_) => {}
                None => return Err(CliError::Unfollowed),
            }
        }
    }
}

/// The entries before the first one that is still under way: it would be shown in part, and never whole.
fn finished(entries: Vec<LogEntry>, is_over: bool) -> Vec<LogEntry> {
    entries.into_iter().take_while(|entry| is_over || entry.status != Some(EntryStatus::Running)).collect()
}

/// Entries, a line each.
pub(super) fn shown(page: &LogPage) -> String {
    let entries: Vec<String> = page.entries.iter().map(line).collect();
    printable(&entries.join("\n"))
}

fn line(entry: &LogEntry) -> String {
    let body = &entry.body;
    let said = ["text", "text_head", "command", "path", "name", "summary", "output"];
    let text = said.iter().find_map(|key| body[*key].as_str());
    let text = text.map_or_else(|| facts(body), |text| text.trim_end().to_owned());
    let kind = entry.kind.as_str();
    let mut line =
        format!("{:>6}  {kind:KIND$} {}", entry.seq, text.replace('\n', &format!("\n{:INDENT$}", "")));
    if let Some(code) = body["exit_code"].as_i64() {
        line.push_str(&format!(" (exit {code})"));
    }
    line
}

/// What an entry without a text says, each with its name; what is nothing is not told.
fn facts(body: &Value) -> String {
    let Some(facts) = body.as_object() else { return body.to_string() };
    let told = facts.iter().filter(|(name, value)| {
        // How it ended is told behind.
        let is_nothing = value.is_null() || matches!(value.as_str(), Some("")) || value.as_u64() == Some(0);
        !is_nothing && !value.is_object() && *name != "exit_code"
    });
    let one = |(name, value): (&String, &Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{} {value}", plain(name))
    };
    told.map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logs_do_not_steer_the_terminal() {
        let page = json!({
            "entries": [{
                "seq": 1, "at": 0, "execution_id": "e", "turn": 0, "id": "1", "kind": "stdout",
                "body": { "text": "\u{1b}[2Jgone\r\n" }, "raw_offset": 0,
            }],
            "first_seq": 1, "last_seq": 1, "total": 1,
        });
        let page: LogPage = serde_json::from_value(page).unwrap();
        assert_eq!(shown(&page), "     1  stdout            \u{fffd}[2Jgone");
    }

    #[test]
    fn facts_are_words_and_further_lines_are_indented() {
        let entry = |kind: &str, body: Value| {
            let entry = json!({
                "seq": 1, "at": 0, "execution_id": "e", "turn": 0, "id": "1", "kind": kind, "body": body, "raw_offset": 0,
            });
            line(&serde_json::from_value(entry).unwrap())
        };
        assert_eq!(
            entry("stdout", json!({ "text": "a\nb\n" })),
            format!("     1  stdout            a\n{:26}b", "")
        );
        let ended = json!({ "exit_code": 2, "signal": null, "timed_out": false, "duration_ms": 5 });
        assert_eq!(
            entry("process_exit", ended),
            "     1  process_exit      timed out false, duration ms 5 (exit 2)"
        );
    }

    #[test]
    fn log_of_a_task_is_that_of_its_work_also_where_a_fix_was_drafted_last() {
        let run = |id: &str, role: &str| crate::sample::run(json!({ "id": id, "role": role }));
        let latest = |runs| latest_work(runs).map(|run| run.id.0);
        let all = vec![run("1", "coder"), run("2", "reviewer"), run("3", "drafter")];
        assert_eq!(latest(all).as_deref(), Some("2"));
        assert_eq!(latest(vec![run("3", "drafter")]).as_deref(), Some("3"));
    }
}
