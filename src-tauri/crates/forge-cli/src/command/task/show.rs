//! Tasks and logs, for people at a terminal.

use forge_api::ops::Page;
use forge_model::{
    agent::Agent,
    approval::Approval,
    execution::{Execution, Usage},
    fix::{FixProposal, FixStatus},
    machine::{Machine, MachineContact},
    race::RaceBadge,
    review::{Review, ReviewStatus, Verdict},
    sandbox::SandboxState,
    task::{HolderKind, RoleHolder, Task, WaitReason},
    words::{counted, dollars},
};

use crate::{
    command::approval::options,
    labels,
    shown::{printable, table},
    words::{self, plain},
};

/// Tasks, a line each. Where no engine stays, no agent of theirs is looked after.
pub(super) fn list(page: &Page<Task>, is_served: bool) -> String {
    if page.items.is_empty() {
        return "No tasks.".to_owned();
    }
    let row = |task: &Task| {
        let is_left = !is_served && task.live.is_some();
        let note = if is_left { "pending".to_owned() } else { note(task) };
        vec![task.number.to_string(), task.status.clone(), task.title.clone(), note]
    };
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
pub(in crate::command) fn note(task: &Task) -> String {
    if let Some(trouble) = &task.error_annotation {
        return format!("needs you: {}", words::trouble(trouble.kind));
    }
    if awaits_decision(task) {
        return "ready for your review".to_owned();
    }
    if let Some(waiting) = &task.waiting {
        return words::waiting(waiting.reason, task.live.is_some()).to_owned();
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
    format!("{}: {}, {end}", raced.number, words::race(raced.status))
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

/// The drafted fixes that somebody may still do something with: one that is in the work can be rolled back.
fn open_fixes(fixes: &[FixProposal]) -> Vec<String> {
    let of = |fix: &FixProposal| {
        let strategy = fix.strategy.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
        let status = plain(fix.status.as_str());
        format!("{} {status}{strategy}: {}", fix.fix_id, fix.files.join(", "))
    };
    let matters = |fix: &&FixProposal| fix.status.is_open() || fix.status == FixStatus::Verified;
    fixes.iter().filter(matters).map(of).collect()
}

/// What of a task is asked for besides the task.
pub(super) struct Facts<'a> {
    /// The machine of its worktree.
    pub(super) machine: Option<&'a Machine>,
    /// Its latest review.
    pub(super) review: Option<&'a Review>,
    /// The fixes that were drafted for it.
    pub(super) fixes: &'a [FixProposal],
    /// What its agents ask for.
    pub(super) asks: &'a [Approval],
    /// All agents.
    pub(super) agents: &'a [Agent],
    /// What it depends on, each in a line.
    pub(super) depends: &'a [String],
    /// Whether work is pending that no engine does now.
    pub(super) pending: bool,
}

/// What a person does next about a task, each a command.
fn next(task: &Task, facts: &Facts<'_>) -> Vec<String> {
    let number = task.number;
    if let Some(asks) = facts.asks.first() {
        let options = options(asks);
        return vec![format!("forge run answer {} OPTION, with one of: {options}", asks.id)];
    }
    if facts.pending {
        return vec![format!("forge task start {number}, or forge serve")];
    }
    if awaits_decision(task) {
        return vec![format!("forge task approve {number}, or forge task reject {number} --reason WHY")];
    }
    if task.waiting.as_ref().is_some_and(|waiting| waiting.reason == WaitReason::RaceCrown) {
        return vec![format!("forge race pick {number} ENTRY; forge race show {number} lists the entries")];
    }
    Vec::new()
}

/// Who holds the roles of a task.
fn roles(task: &Task, agents: &[Agent]) -> Vec<String> {
    let name = |holder: &RoleHolder| match (holder.kind, &holder.id) {
        (HolderKind::User, _) => "you".to_owned(),
        (HolderKind::Agent, Some(id)) => {
            let known = agents.iter().find(|agent| agent.id == *id);
            known.map_or_else(|| id.to_string(), |agent| agent.name.clone())
        }
        (HolderKind::Agent, None) => "an agent".to_owned(),
    };
    let of = |(role, holder): (&String, &Option<RoleHolder>)| {
        holder.as_ref().map(|holder| format!("{role:9} {}", name(holder)))
    };
    task.roles.iter().filter_map(of).collect()
}

/// One task.
pub(super) fn task(task: &Task, facts: &Facts<'_>) -> String {
    let mut lines = vec![
        format!("#{} {}", task.number, task.title),
        format!("state     {}", task.status),
        format!("id        {}", task.id),
    ];
    let note = match facts.asks.first() {
        _ if facts.pending => "pending: it continues when Forge runs".to_owned(),
        Some(asks) => format!("needs your answer: {}", asks.title),
        None => note(task),
    };
    if !note.is_empty() {
        lines.push(format!("now       {note}"));
    }
    lines.extend(next(task, facts).iter().map(|next| format!("next      {next}")));
    let why = [
        task.error_annotation.as_ref().map(|trouble| &trouble.message),
        task.waiting.as_ref().map(|waiting| &waiting.message),
    ];
    lines.extend(why.into_iter().flatten().map(|message| format!("why       {message}")));
    if let Some(changed) = &task.work_changed {
        lines.push(format!(
            "changed   since the review: {}, {}",
            counted(changed.commits.into(), "commit", "commits"),
            counted(changed.uncommitted.len() as u64, "uncommitted file", "uncommitted files")
        ));
    }
    lines.extend(roles(task, facts.agents));
    if task.priority != 0 {
        lines.push(format!("priority  {}", task.priority));
    }
    lines.extend(facts.depends.iter().map(|on| format!("needs     {on}")));
    lines.extend(where_it_runs(task, facts.machine));
    if let Some(workspace) = &task.workspace {
        lines.push(format!("branch    {}", workspace.branch));
        lines.push(format!("worktree  {} ({})", workspace.path, workspace.status));
    }
    lines.extend(task.raced.as_ref().map(|raced| format!("race      {}", race(raced))));
    lines.extend(cost(&task.usage).map(|cost| format!("cost      {cost}")));
    lines.extend(open_fixes(facts.fixes).iter().map(|fix| format!("fix       {fix}")));
    lines.extend(facts.review.into_iter().flat_map(of_review));
    let widest = task.offers.iter().map(|offer| offer.verb.as_str().len()).max().unwrap_or_default();
    for offer in &task.offers {
        lines.push(format!("action    {:widest$} {}", offer.verb.as_str(), offer.why));
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
    let (status, end) = (plain(review.status.as_str()), plain(end));
    let mut lines = vec![format!("review    attempt {}: {status}, {end}", review.attempt_number)];
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
        let count = counted(u64::from(report.refused), "read or write", "reads or writes");
        let paths =
            if report.paths.is_empty() { String::new() } else { format!(": {}", report.paths.join(", ")) };
        lines.push(format!("Sandbox: {count} refused in the last run{paths}"));
    }
    if !report.kept_refs.is_empty() {
        lines.push(format!("Sandbox: changes to other branches are kept as {}", report.kept_refs.join(", ")));
    }
    (!lines.is_empty()).then(|| printable(&lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::sample;

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
        let told = "Sandbox: 2 reads or writes refused in the last run: ~/.bashrc\n\
                    Sandbox: changes to other branches are kept as refs/forge/sandbox/t/heads/x";
        assert_eq!(report("enforced", 2, &["refs/forge/sandbox/t/heads/x"]).as_deref(), Some(told));
    }

    #[test]
    fn a_task_says_why_it_stands() {
        let awaited = json!({ "attempt_number": 1, "status": "awaiting_human" });
        let noted = |changes: Value| note(&sample::task(changes));
        let blocked = json!({ "error_annotation": sample::trouble("manual"), "review": awaited });
        assert_eq!(noted(blocked), "needs you: your decision");
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
        assert_eq!(of(raced), "2: finished, cheap won");
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
    fn only_fixes_that_can_be_decided_are_named() {
        let fixes = [
            sample::fix(json!({ "fixId": "1", "status": "rejected" })),
            sample::fix(json!({ "fixId": "4", "status": "verified" })),
            sample::fix(json!({ "fixId": "2", "status": "drafted", "strategy": "cheap" })),
            sample::fix(json!({ "fixId": "3", "status": "applied" })),
        ];
        assert_eq!(open_fixes(&fixes), ["4 verified: a, b", "2 drafted of cheap: a, b", "3 applied: a, b"]);
    }

    #[test]
    fn a_closed_task_says_what_is_not_merged() {
        let noted = |changes: Value| note(&sample::task(changes));
        let by_hand = json!({ "closed_unmerged": true, "unmerged_commits": 3, "offers": [] });
        assert_eq!(noted(by_hand), "closed without merging; 3 commits stay on forge/t");
        assert_eq!(noted(json!({ "unmerged_commits": 1, "offers": [] })), "1 commit not merged");
    }

    #[test]
    fn next_command_fits_what_the_task_waits_for() {
        let next_of = |changes: Value, pending: bool| {
            let facts = Facts {
                machine: None,
                review: None,
                fixes: &[],
                asks: &[],
                agents: &[],
                depends: &[],
                pending,
            };
            next(&sample::task(changes), &facts)
        };
        let awaited = json!({ "attempt_number": 1, "status": "awaiting_human" });
        assert_eq!(next_of(json!({}), false), [""; 0]);
        assert_eq!(next_of(json!({}), true), ["forge task start 1, or forge serve"]);
        let approve = "forge task approve 1, or forge task reject 1 --reason WHY";
        assert_eq!(next_of(json!({ "review": awaited }), false), [approve]);
        let raced = json!({ "waiting": { "reason": "race_crown", "files": [], "message": "" } });
        assert_eq!(next_of(raced, false), ["forge race pick 1 ENTRY; forge race show 1 lists the entries"]);
    }

    #[test]
    fn roles_are_told_with_the_names_of_their_holders() {
        let held = json!({ "coder": { "type": "agent", "id": "a" }, "reviewer": { "type": "user" }, "planner": null });
        let told = roles(&sample::task(json!({ "roles": held })), &[]);
        assert_eq!(told, ["coder     a", "reviewer  you"]);
    }
}
