//! `forge fix`.

use std::collections::BTreeMap;

use forge_api::{
    operations::{FixApply, FixReject, FixRollback, ProjectFixes, ProjectList, TaskFixes, TaskGet},
    ops::{Empty, Page, TaskPath, fixes::FixPath, projects::ProjectPath},
};
use forge_model::{
    fix::{FixProposal, FixStatus},
    ids::TaskId,
    words::dollars,
};
use serde_json::{Value, json};

use super::{
    approval,
    task::{find, watch::Watch},
};
use crate::{
    answer::Answer,
    args::{Fix, FixRef, TaskRef},
    at::At,
    error::{CliError, Kind},
    shown::{NONE, printable, table},
    words::plain,
};

/// How many characters of a fix's id name it at least.
const SHORTEST_NAME: usize = 4;

/// A fix as it was answered, with the number of its task.
struct Found {
    json: Value,
    fix: FixProposal,
    number: u32,
}

pub(crate) async fn run(at: &At, command: Fix) -> Result<Answer, CliError> {
    match command {
        Fix::List { task } => {
            let found = match task {
                Some(task) => of_task(at, &TaskRef { task }).await?,
                None => {
                    let project_id = at.project().await?;
                    let page = at.call(ProjectFixes, ProjectPath { project_id }).await?;
                    numbered(at, page.json, page.value, "").await?
                }
            };
            Ok(listed(&found))
        }
        Fix::Show(named) => {
            let Found { json, fix, number } = find_fix(at, &named).await?;
            Ok(Answer::new(json, shown(&fix, number)))
        }
        Fix::Apply { fix, no_wait } => apply(at, &fix, !no_wait).await,
        Fix::Rollback(named) => {
            let found = find_fix(at, &named).await?;
            let done = at.call(FixRollback, path(&found.fix)).await?;
            let text = state(&done, found.number);
            Ok(Answer::new(done.json, text))
        }
        Fix::Reject(named) => {
            let found = find_fix(at, &named).await?;
            let done = at.call(FixReject, path(&found.fix)).await?;
            let text = state(&done, found.number);
            Ok(Answer::new(done.json, text))
        }
    }
}

/// Applies a fix, and tells what follows until its check ran.
async fn apply(at: &At, named: &FixRef, waits: bool) -> Result<Answer, CliError> {
    let found = find_fix(at, named).await?;
    let task = at.call(TaskGet, TaskPath { task_id: found.fix.task_id.clone() }).await?.value;
    let mut watch = Watch::begin(at, &task).await?;
    let applied = at.call(FixApply, path(&found.fix)).await?;
    if !waits {
        let when = if at.connection.is_own() { "when Forge does: `forge serve`" } else { "now" };
        let text = format!("{}\nIts check runs {when}.", state(&applied, task.number));
        return Ok(Answer::new(applied.json, text));
    }
    at.connection.work_on(&task.id);
    loop {
        let rests = watch.at_rest().await?.is_some();
        let now = own(at, &found.fix).await?;
        // An engine of this command ends with it, so that it has to do all that follows.
        let is_over = rests || (has_outcome(&now.fix) && !at.connection.is_own());
        if is_over {
            let good = now.fix.status == FixStatus::Verified;
            return Ok(Answer { good, ..Answer::new(now.json, state(&now.fix, task.number)) });
        }
        // A reviewer at work may ask for an approval, which without an engine that stays nobody else can answer.
        if at.connection.is_own() {
            approval::meet(at, &task).await?;
        }
        watch.next().await?;
    }
}

/// Whether the check ran with the fix, or will not.
fn has_outcome(fix: &FixProposal) -> bool {
    match fix.status {
        FixStatus::Drafted => fix.wanted_by.is_none(),
        FixStatus::Applied => fix.verification.is_some(),
        FixStatus::Verified | FixStatus::RolledBack | FixStatus::Rejected | FixStatus::Superseded => true,
    }
}

fn path(fix: &FixProposal) -> FixPath {
    FixPath { fix_id: fix.fix_id.clone(), task_id: Some(fix.task_id.clone()) }
}

/// The fix as it is now.
async fn own(at: &At, fix: &FixProposal) -> Result<Found, CliError> {
    let page = at.call(TaskFixes, TaskPath { task_id: fix.task_id.clone() }).await?;
    let all = numbered(at, page.json, page.value, &fix.fix_id).await?;
    all.into_iter().find(|it| it.fix.fix_id == fix.fix_id).ok_or_else(|| unknown(&fix.fix_id))
}

async fn of_task(at: &At, task: &TaskRef) -> Result<Vec<Found>, CliError> {
    let task_id = find(at, task).await?.value.id;
    let page = at.call(TaskFixes, TaskPath { task_id }).await?;
    numbered(at, page.json, page.value, "").await
}

/// A fix by its id or the beginning of it. Tasks whose files were the same when the same was drafted share its id.
async fn find_fix(at: &At, named: &FixRef) -> Result<Found, CliError> {
    let known = match &named.task {
        Some(task) => of_task(at, &TaskRef { task: task.clone() }).await?,
        None => {
            let projects = match at.only().await? {
                Some(only) => vec![only],
                None => {
                    let all = at.call(ProjectList, Empty {}).await?.value.items;
                    all.into_iter().map(|project| project.id).collect()
                }
            };
            let mut known = Vec::new();
            for project_id in projects {
                let page = at.call(ProjectFixes, ProjectPath { project_id }).await?;
                known.extend(numbered(at, page.json, page.value, &named.fix).await?);
            }
            known
        }
    };
    one_of(known, &named.fix)
}

fn one_of(known: Vec<Found>, named: &str) -> Result<Found, CliError> {
    if named.len() < SHORTEST_NAME {
        return Err(CliError::Usage {
            message: format!("`{named}` is too short to name a fix"),
            hint: "Use at least four characters of its id; `forge fix list` lists the fixes.",
        });
    }
    let meant: Vec<Found> = known.into_iter().filter(|it| it.fix.fix_id.starts_with(named)).collect();
    let first = meant.first().map(|it| it.fix.fix_id.clone()).unwrap_or_default();
    if meant.iter().any(|it| it.fix.fix_id != first) {
        return Err(CliError::Usage {
            message: format!("several fixes begin with `{named}`"),
            hint: "Use more characters of the id; `forge fix list` lists the fixes.",
        });
    }
    if meant.len() > 1 {
        let tasks: Vec<String> = meant.iter().map(|it| format!("#{}", it.number)).collect();
        return Err(CliError::Told {
            kind: Kind::Usage,
            message: format!("several tasks have the fix `{named}`: {}", tasks.join(", ")),
            hint: format!("Choose one with `--task {}`.", tasks.join("` or `--task ").replace('#', "")),
        });
    }
    meant.into_iter().next().ok_or_else(|| unknown(named))
}

fn unknown(named: &str) -> CliError {
    CliError::NotFound { message: format!("no fix `{named}`"), hint: "List them with `forge fix list`." }
}

/// The fixes whose ids begin with a text, with the numbers of their tasks.
async fn numbered(
    at: &At,
    mut json: Value,
    page: Page<FixProposal>,
    begins: &str,
) -> Result<Vec<Found>, CliError> {
    let mut numbers: BTreeMap<TaskId, u32> = BTreeMap::new();
    let mut found = Vec::new();
    for (place, fix) in page.items.into_iter().enumerate().filter(|(_, fix)| fix.fix_id.starts_with(begins)) {
        let number = match numbers.get(&fix.task_id) {
            Some(number) => *number,
            None => at.call(TaskGet, TaskPath { task_id: fix.task_id.clone() }).await?.number,
        };
        numbers.insert(fix.task_id.clone(), number);
        found.push(Found { json: json["items"][place].take(), fix, number });
    }
    Ok(found)
}

fn listed(found: &[Found]) -> Answer {
    let row = |Found { fix, number, .. }: &Found| {
        let cost = fix.cost_micro_usd.map_or_else(|| NONE.to_owned(), dollars);
        let lines = format!("+{} -{}", fix.added_lines, fix.removed_lines);
        let task = match &fix.strategy {
            Some(entry) => format!("#{number} {entry}"),
            None => format!("#{number}"),
        };
        let files = fix.files.join(", ");
        vec![
            fix.fix_id.clone(),
            task,
            plain(fix.status.as_str()),
            lines,
            cost,
            files,
            fix.gate.command.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = found.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "No drafted fixes.".to_owned(),
        rows => table(&["FIX", "TASK", "STATE", "LINES", "COST", "FILES", "CHECK"], rows),
    };
    let items: Vec<&Value> = found.iter().map(|it| &it.json).collect();
    Answer::new(json!({ "items": items, "next_cursor": null }), text)
}

/// What became of a fix, in a line.
fn state(fix: &FixProposal, task: u32) -> String {
    let reason = fix.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let becomes = match (fix.status, &fix.strategy) {
        (FixStatus::Drafted, Some(entry)) if fix.wanted_by.is_some() => {
            format!("is accepted: {entry} is the winner now, and gets the fix")
        }
        (FixStatus::Drafted, None) if fix.wanted_by.is_some() => "is accepted".to_owned(),
        (status, _) => format!("is {}", plain(status.as_str())),
    };
    printable(&format!("Fix {} of #{task} {becomes}{reason}.", fix.fix_id))
}

fn shown(fix: &FixProposal, task: u32) -> String {
    let exit = fix.gate.exit_code.map(|code| format!(" (exit {code})")).unwrap_or_default();
    let mut lines = vec![state(fix, task), format!("check   {}{exit}", fix.gate.command)];
    lines.extend(fix.strategy.as_ref().map(|entry| format!("entry   {entry}")));
    lines.extend([
        format!("files   {}", fix.files.join(", ")),
        String::new(),
        fix.patch.trim_end().to_owned(),
    ]);
    printable(&lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn found(id: &str, number: u32) -> Found {
        let fix = sample::fix(json!({ "fixId": id, "taskId": number.to_string() }));
        Found { json: Value::Null, fix, number }
    }

    #[test]
    fn fix_is_named_by_the_beginning_of_its_id_and_never_guessed() {
        let known = || vec![found("abcde1", 1), found("abcdf2", 2), found("shared", 3), found("shared", 5)];
        let named = |named: &str| one_of(known(), named);
        assert_eq!(named("abcdf").map(|it| it.number).ok(), Some(2));
        let refused = |text: &str| named(text).err().map(|error| (error.exit_code(), error.to_string()));
        assert_eq!(refused("abcd"), Some((2, "several fixes begin with `abcd`".to_owned())));
        assert_eq!(refused("abc"), Some((2, "`abc` is too short to name a fix".to_owned())));
        assert_eq!(refused("none"), Some((3, "no fix `none`".to_owned())));
        let shared = named("shared").err().unwrap();
        assert_eq!(shared.to_string(), "several tasks have the fix `shared`: #3, #5");
        assert_eq!(shared.hints(), ["Choose one with `--task 3` or `--task 5`."]);
    }

    #[test]
    fn fix_has_its_outcome_once_its_check_ran() {
        let ended = |changes: Value| has_outcome(&sample::fix(changes));
        let wanted = json!("user:cli");
        assert!(!ended(json!({ "status": "drafted", "wantedBy": wanted })));
        assert!(ended(json!({ "status": "drafted" })), "nobody asks for it any more");
        assert!(!ended(json!({ "status": "applied" })));
        assert!(ended(json!({ "status": "rolled_back" })) && ended(json!({ "status": "verified" })));
    }

    #[test]
    fn accepted_fix_of_an_entry_is_not_said_to_be_only_drafted() {
        let fix = sample::fix(json!({ "status": "drafted", "strategy": "cheap", "wantedBy": "user:cli" }));
        assert_eq!(state(&fix, 4), "Fix f of #4 is accepted: cheap is the winner now, and gets the fix.");
        let fix = sample::fix(json!({ "status": "rolled_back", "reason": "it did not help" }));
        assert_eq!(state(&fix, 4), "Fix f of #4 is rolled back: it did not help.");
    }
}
