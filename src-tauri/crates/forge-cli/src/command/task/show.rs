//! Tasks and logs, for people at a terminal.

use forge_api::ops::Page;
use forge_model::{
    execution::{Execution, Usage},
    fix::FixProposal,
    log::{LogEntry, LogPage},
    machine::{Machine, MachineContact},
    race::RaceBadge,
    review::{Review, ReviewStatus, Verdict},
    sandbox::SandboxState,
    task::Task,
    words::{counted, dollars},
};

use crate::{labels, shown::table};

/// Tasks, a line each.
pub(super) fn list(page: &Page<Task>) -> String {
    if page.items.is_empty() {
        return "No tasks.".to_owned();
    }
    let row =
        |task: &Task| vec![task.number.to_string(), task.status.clone(), task.title.clone(), note(task)];
    let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
    let mut text = table(&["#", "STATE", "TITLE", ""], &rows);
    if let Some(cursor) = &page.next_cursor {
        text.push_str(&format!("\nNext page: --cursor {cursor}"));
    }
    text
}

fn awaits_decision(task: &Task) -> bool {
    task.review.as_ref().is_some_and(|review| review.status == ReviewStatus::AwaitingHuman)
}

/// Why a task stands where it stands, in a few words.
fn note(task: &Task) -> String {
    if let Some(trouble) = &task.error_annotation {
        return format!("needs you: {}", trouble.kind);
    }
    if awaits_decision(task) {
        return "ready for your review".to_owned();
    }
    if let Some(waiting) = &task.waiting {
        return format!("waits: {}", waiting.reason);
    }
    if let Some(stays) = stays_behind(task) {
        return stays;
    }
    match task.live.as_ref().map(|live| live.activity.as_str()) {
        Some("") => "agent running".to_owned(),
        Some(activity) => activity.to_owned(),
        None => String::new(),
    }
}

/// What of a closed task is not merged.
fn stays_behind(task: &Task) -> Option<String> {
    let commits = task.unmerged_commits;
    if task.closed_unmerged {
        return task.closing_notice();
    }
    // An open task is not merged yet, which is no news.
    let closed = task.offers.is_empty();
    (closed && commits > 0).then(|| format!("{} not merged", counted(commits.into(), "commit", "commits")))
}

/// How a task's race stands.
fn race(raced: &RaceBadge) -> String {
    let end = match &raced.winner {
        Some(winner) => format!("{winner} won"),
        None => format!("{} of {} entries finished", raced.over, raced.entries),
    };
    format!("{}: {}, {end}", raced.number, raced.status)
}

/// What all runs of a task cost, as far as it is known.
fn cost(usage: &Usage) -> Option<String> {
    let known = usage.cost_micro_usd.unwrap_or_default();
    let unknown = usage.runs_of_unknown_cost;
    let runs = || counted(unknown.into(), "run", "runs");
    match (known, unknown) {
        (0, 0) => None,
        (_, 0) => Some(dollars(known)),
        (0, _) => Some(format!("unknown, of {}", runs())),
        _ => Some(format!("{} plus {} of unknown cost", dollars(known), runs())),
    }
}

/// The drafted fixes that somebody may still do something with.
fn open_fixes(fixes: &[FixProposal]) -> Vec<String> {
    let of = |fix: &FixProposal| {
        let strategy = fix.strategy.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        format!("{} {}{strategy}: {}", fix.fix_id, fix.status, fix.files.join(", "))
    };
    fixes.iter().filter(|fix| fix.status.is_open()).map(of).collect()
}

/// One task.
pub(super) fn task(
    task: &Task,
    machine: Option<&Machine>,
    review: Option<&Review>,
    fixes: &[FixProposal],
) -> String {
    let mut lines = vec![
        format!("#{} {}", task.number, task.title),
        format!("state     {}", task.status),
        format!("id        {}", task.id),
    ];
    let note = note(task);
    if !note.is_empty() {
        lines.push(format!("now       {note}"));
    }
    if awaits_decision(task) {
        lines.push("next      forge task approve, or forge task reject --reason WHY".to_owned());
    }
    let why = [
        task.error_annotation.as_ref().map(|trouble| &trouble.message),
        task.waiting.as_ref().map(|waiting| &waiting.message),
    ];
    lines.extend(why.into_iter().flatten().map(|message| format!("why       {message}")));
    if let Some(changed) = &task.work_changed {
        lines.push(format!(
            "changed   since the review: {} commits, {} uncommitted files",
            changed.commits,
            changed.uncommitted.len()
        ));
    }
    lines.extend(where_it_runs(task, machine));
    if let Some(workspace) = &task.workspace {
        lines.push(format!("branch    {}", workspace.branch));
        lines.push(format!("worktree  {} ({})", workspace.path, workspace.status));
    }
    lines.extend(task.raced.as_ref().map(|raced| format!("race      {}", race(raced))));
    lines.extend(cost(&task.usage).map(|cost| format!("cost      {cost}")));
    lines.extend(open_fixes(fixes).iter().map(|fix| format!("fix       {fix}")));
    lines.extend(review.into_iter().flat_map(of_review));
    for offer in &task.offers {
        lines.push(format!("offer     {:15} {}", offer.verb.as_str(), offer.why));
    }
    if !task.description.is_empty() {
        lines.push(String::new());
        lines.push(task.description.trim_end().to_owned());
    }
    printable(&lines.join("\n"))
}

/// The machine that a task's worktree is on, and the labels that it requires itself.
fn where_it_runs(task: &Task, machine: Option<&Machine>) -> Vec<String> {
    let on = machine.map(|machine| match machine.contact {
        MachineContact::Unreachable => format!("machine   {} (unreachable)", machine.name),
        MachineContact::Live | MachineContact::Unknown => format!("machine   {}", machine.name),
    });
    let required = task.machines.as_ref().map(|required| format!("requires  {}", labels::shown(required)));
    on.into_iter().chain(required).collect()
}

/// The latest review of a task.
fn of_review(review: &Review) -> Vec<String> {
    let end = review.verdict.map_or("no verdict yet", Verdict::as_str);
    let mut lines = vec![format!("review    attempt {}: {}, {end}", review.attempt_number, review.status)];
    lines.extend(review.reviewed_commit.as_ref().map(|commit| format!("commit    {commit}")));
    for step in &review.steps {
        let result = step.exit_code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        lines.push(format!("          exit {result}: {}", step.command));
    }
    lines
}

/// The variables that a run did not get of the user's environment.
pub(super) fn withheld(run: &Execution) -> Option<String> {
    let names = &run.withheld;
    (!names.is_empty()).then(|| printable(&format!("Withheld from the last run: {}", names.join(", "))))
}

/// What the sandbox of a run came to, where there is something to know.
pub(super) fn sandbox(run: &Execution) -> Option<String> {
    let report = run.sandbox.as_ref()?;
    let mut lines = Vec::new();
    let state = match report.state {
        SandboxState::Enforced | SandboxState::Own => None,
        SandboxState::FilesOnly => Some("Sandbox: files only. This kernel cannot confine the network."),
        SandboxState::Missing => Some("Sandbox: none. This kernel has no Landlock."),
    };
    lines.extend(state.map(str::to_owned));
    if report.refused > 0 {
        let count = counted(u64::from(report.refused), "write or read", "writes or reads");
        let paths =
            if report.paths.is_empty() { String::new() } else { format!(": {}", report.paths.join(", ")) };
        lines.push(format!("Sandbox: {count} refused in the last run{paths}"));
    }
    if !report.kept_refs.is_empty() {
        lines.push(format!("Sandbox: changes to other branches are kept as {}", report.kept_refs.join(", ")));
    }
    (!lines.is_empty()).then(|| printable(&lines.join("\n")))
}

/// A stretch of a log.
pub(super) fn log(page: &LogPage) -> String {
    let entries: Vec<String> = page.entries.iter().map(entry).collect();
    printable(&entries.join("\n"))
}

fn entry(entry: &LogEntry) -> String {
    let body = &entry.body;
    let said = ["text", "text_head", "command", "path", "name", "summary", "output"];
    let text = said.iter().find_map(|key| body[*key].as_str());
    let text = text.map_or_else(|| body.to_string(), |text| text.trim_end().to_owned());
    let mut line = format!("{:>6}  {:15} {text}", entry.seq, entry.kind.as_str());
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
    use serde_json::{Value, json};

    use super::*;
    use crate::sample;

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
        assert_eq!(log(&page), "     1  stdout          \u{fffd}[2Jgone");
    }

    #[test]
    fn withheld_variables_are_named_when_there_are_any() {
        let run = sample::run(json!({ "withheld": ["DB_PASSWORD", "NPM_TOKEN"] }));
        assert_eq!(withheld(&run).as_deref(), Some("Withheld from the last run: DB_PASSWORD, NPM_TOKEN"));
        assert_eq!(withheld(&sample::run(json!({ "withheld": [] }))), None);
    }

    #[test]
    fn refusals_of_a_sandbox_are_told_and_one_that_holds_is_quiet() {
        let report = |state: &str, refused: u32, refs: &[&str]| {
            let paths: &[&str] = if refused > 0 { &["~/.bashrc"] } else { &[] };
            let report = json!({ "mode": "files", "state": state, "refused": refused, "paths": paths, "kept_refs": refs });
            sandbox(&sample::run(json!({ "sandbox": report })))
        };
        assert_eq!(report("enforced", 0, &[]), None);
        assert_eq!(report("missing", 0, &[]).as_deref(), Some("Sandbox: none. This kernel has no Landlock."));
        let told = "Sandbox: 2 writes or reads refused in the last run: ~/.bashrc\n\
                    Sandbox: changes to other branches are kept as refs/forge/sandbox/t/heads/x";
        assert_eq!(report("enforced", 2, &["refs/forge/sandbox/t/heads/x"]).as_deref(), Some(told));
    }

    #[test]
    fn a_task_says_why_it_stands() {
        let awaited = json!({ "attempt_number": 1, "status": "awaiting_human" });
        let noted = |changes: Value| note(&sample::task(changes));
        let blocked = json!({ "error_annotation": sample::trouble("manual"), "review": awaited });
        assert_eq!(noted(blocked), "needs you: manual");
        assert_eq!(noted(json!({ "review": awaited })), "ready for your review");
        assert_eq!(noted(json!({ "live": sample::live("") })), "agent running");
        assert_eq!(noted(json!({ "unmerged_commits": 2 })), "");
    }

    #[test]
    fn a_task_names_its_machine_and_what_it_requires() {
        let machine = |contact: &str| sample::machine(json!({ "contact": contact }));
        let plain = sample::task(json!({}));
        assert_eq!(where_it_runs(&plain, None), [""; 0]);
        let required = sample::task(json!({ "machines": ["gpu", "big"] }));
        let told = where_it_runs(&required, Some(&machine("live")));
        assert_eq!(told, ["machine   box", "requires  gpu, big"]);
        let local = sample::task(json!({ "machines": [] }));
        let told = where_it_runs(&local, Some(&machine("unreachable")));
        assert_eq!(told, ["machine   box (unreachable)", "requires  local"]);
    }

    #[test]
    fn race_says_who_won_or_how_many_entries_are_over() {
        let of = |raced: Value| race(&serde_json::from_value(raced).unwrap());
        let raced = json!({ "number": 1, "status": "running", "entries": 3, "over": 2, "winner": null });
        assert_eq!(of(raced), "1: running, 2 of 3 entries finished");
        let raced = json!({ "number": 2, "status": "promoted", "entries": 3, "over": 3, "winner": "cheap" });
        assert_eq!(of(raced), "2: promoted, cheap won");
    }

    #[test]
    fn unknown_cost_never_reads_as_no_cost() {
        let of = |known: u64, unknown: u32| {
            let usage = serde_json::from_value(sample::usage(Some(known), unknown)).unwrap();
            cost(&usage).unwrap_or_default()
        };
        assert_eq!(of(0, 0), "");
        assert_eq!(of(1_250_000, 0), "$1.25");
        assert_eq!(of(0, 1), "unknown, of 1 run");
        assert_eq!(of(1_250_000, 2), "$1.25 plus 2 runs of unknown cost");
    }

    #[test]
    fn only_open_fixes_are_named() {
        let fixes = [
            sample::fix(json!({ "fixId": "1", "status": "verified" })),
            sample::fix(json!({ "fixId": "2", "status": "drafted", "strategy": "cheap" })),
            sample::fix(json!({ "fixId": "3", "status": "applied" })),
        ];
        assert_eq!(open_fixes(&fixes), ["2 drafted of cheap: a, b", "3 applied: a, b"]);
    }

    #[test]
    fn a_closed_task_says_what_is_not_merged() {
        let noted = |changes: Value| note(&sample::task(changes));
        let by_hand = json!({ "closed_unmerged": true, "unmerged_commits": 3, "offers": [] });
        assert_eq!(noted(by_hand), "closed without merging; 3 commits stay on forge/t");
        assert_eq!(noted(json!({ "unmerged_commits": 1, "offers": [] })), "1 commit not merged");
    }
}
