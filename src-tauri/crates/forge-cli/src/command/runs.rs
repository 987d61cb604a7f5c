//! `forge run`.

use forge_api::{
    operations::{
        ApprovalAnswer, ApprovalList, ExecutionGet, ExecutionStop, RunList, TaskExecutions, TaskGet,
        TaskRaces, TaskTransitions,
    },
    ops::{
        Empty, TaskPath,
        executions::{AnswerApproval, ExecutionPath, ListApprovals},
    },
};
use forge_model::{
    approval::Approval,
    execution::Execution,
    ids::ExecutionId,
    project::Project,
    run::{RunInfo, RunProcess},
};

use super::{
    approval::{option_named, options},
    log,
    task::find_in,
};
use crate::{
    answer::Answer,
    args::Run,
    at::{At, of_project, told_task},
    error::{CliError, Kind},
    shown::{bytes, table},
    words::{plain, time},
};

/// As many characters of an id name it at least.
const SHORTEST_NAME: usize = 4;

pub(crate) async fn run(at: &At, command: Run) -> Result<Answer, CliError> {
    match command {
        Run::List => {
            let only = at.only().await?;
            let all = at.call(RunList, Empty {}).await?;
            let page = of_project(all, only.as_ref(), |it| it.project_id.as_ref());
            let names = at.projects_to_tell(only.as_ref()).await?;
            let rows: Vec<Vec<String>> = page.items.iter().map(|run| row(run, &names)).collect();
            let text = match rows.as_slice() {
                [] => "Nothing is running.".to_owned(),
                rows => table(&["TASK", "RUN", "MEMORY", "SINCE", "ACTIVITY", "TITLE"], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Run::Stop { run } => {
            let found = find_run(at, &run, Meant::ToStop).await?;
            let task = at.call(ExecutionStop, ExecutionPath { execution_id: found.id.clone() }).await?;
            let mut text = format!("Stopped the run of #{} {}.", task.number, task.title);
            let moves = at.call(TaskTransitions, TaskPath { task_id: task.id.clone() }).await?;
            if moves.items.iter().flat_map(|it| &it.steps).any(|step| step.message.is_some()) {
                text.push_str(" A queued message starts the next one.");
            }
            Ok(Answer::new(task.json, text))
        }
        Run::Log { run, limit, follow } => {
            let found = find_run(at, &run, Meant::ToRead).await?;
            if follow {
                return log::follow(at, found.task_id, log::Followed::Run(found.id, found.log_id), limit)
                    .await;
            }
            log::last_page(at, found.task_id, found.log_id, limit).await
        }
        Run::Approvals => {
            let only = at.only().await?;
            let all = at.call(ApprovalList, ListApprovals { task_id: None, all: None }).await?;
            let page = of_project(all, only.as_ref(), |it| Some(&it.project_id));
            let names = at.projects_to_tell(only.as_ref()).await?;
            let mut rows = Vec::new();
            for approval in &page.items {
                let raced = approval.raced.as_ref();
                let task_id = raced.map_or(&approval.task_id, |entry| &entry.task_id).clone();
                let number = at.call(TaskGet, TaskPath { task_id }).await?.number;
                let task = told_task(&names, Some(&approval.project_id), Some(number));
                let entry = raced.map(|entry| format!(" {}", entry.name)).unwrap_or_default();
                rows.push(approval_row(approval, format!("{task}{entry}")));
            }
            let text = match rows.as_slice() {
                [] => "No open approvals.".to_owned(),
                rows => table(&["APPROVAL", "TASK", "KIND", "OPTIONS", "WHAT"], rows),
            };
            Ok(Answer::new(page.json, text))
        }
        Run::Answer { approval, option, note } => {
            let page = at.call(ApprovalList, ListApprovals { task_id: None, all: None }).await?.value;
            let mut open = page.items.into_iter().filter(|it| begins(it.id.as_str(), &approval));
            let (found, another) = (open.next(), open.next());
            let open = found.filter(|_| another.is_none()).ok_or_else(|| CliError::NotFound {
                message: format!("no open approval `{approval}`"),
                hint: "List them with `forge run approvals`.",
            })?;
            let option = option_named(&option, &open).to_owned();
            let answer =
                AnswerApproval { execution_id: open.execution_id, approval_id: open.id, option, note };
            let answered = at.call(ApprovalAnswer, answer).await?;
            let said = answered.answer.clone().unwrap_or_default();
            Ok(Answer::new(answered.json, format!("Answered {said}.")))
        }
    }
}

/// What a run is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    ToStop,
    ToRead,
}

/// Whether an id is named by this, as a whole or by its beginning.
fn begins(id: &str, named: &str) -> bool {
    id == named || (named.len() >= SHORTEST_NAME && id.starts_with(named))
}

/// A run by its id, or by the number of its task: the one that is at work, or the latest.
async fn find_run(at: &At, named: &str, meant: Meant) -> Result<Execution, CliError> {
    let text = named.trim();
    if text.strip_prefix('#').unwrap_or(text).parse::<u32>().is_err() {
        let running = at.call(RunList, Empty {}).await?.value.items;
        let ids = running.into_iter().filter_map(|run| run.execution_id);
        let mut begun = ids.filter(|id| begins(id.as_str(), text));
        let (found, another) = (begun.next(), begun.next());
        let execution_id = found.filter(|_| another.is_none()).unwrap_or_else(|| ExecutionId::from(text));
        return Ok(at.call(ExecutionGet, ExecutionPath { execution_id }).await?.value);
    }
    let task = find_in(at, None, text).await?;
    let own = at.call(TaskExecutions, TaskPath { task_id: task.id.clone() }).await?.value.items;
    if let Some(run) = of_task(own, meant) {
        return Ok(run);
    }
    // Of a raced task the entries work.
    let races = at.call(TaskRaces, TaskPath { task_id: task.id.clone() }).await?.value;
    let Some(race) = races.items.into_iter().next_back() else {
        return Err(CliError::NotFound {
            message: format!("#{} has no runs", task.number),
            hint: "Start the task with `forge task start`.",
        });
    };
    let mut found = Vec::new();
    for entry in &race.entries {
        let runs = at.call(TaskExecutions, TaskPath { task_id: entry.task_id.clone() }).await?.value.items;
        found.extend(of_task(runs, meant).map(|run| (entry.strategy.clone(), run)));
    }
    if meant == Meant::ToRead {
        let leads = log::leading(&race).map(|entry| entry.strategy.clone()).unwrap_or_default();
        found.sort_by_key(|(entry, _)| *entry != leads);
        found.truncate(1);
    } else {
        found.retain(|(_, run)| !run.status.is_over());
    }
    one_of(task.number, found)
}

/// The run of a task that is meant. A fix is drafted beside the work.
fn of_task(mut runs: Vec<Execution>, meant: Meant) -> Option<Execution> {
    if meant == Meant::ToStop && runs.iter().any(|run| !run.status.is_over()) {
        runs.retain(|run| !run.status.is_over());
    }
    log::latest_work(runs)
}

/// The only run of a race's entries.
fn one_of(task: u32, found: Vec<(String, Execution)>) -> Result<Execution, CliError> {
    let ids: Vec<String> = found.iter().map(|(entry, run)| format!("{} ({entry})", run.id)).collect();
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some((_, run)), None) => Ok(run),
        (None, _) => Err(CliError::NotFound {
            message: format!("no entry of #{task} runs"),
            hint: "See the race with `forge race show`.",
        }),
        _ => Err(CliError::Told {
            kind: Kind::Usage,
            message: format!("several entries of #{task} run"),
            hint: format!("Name the run by its id: {}.", ids.join(", ")),
        }),
    }
}

fn row(run: &RunInfo, projects: &[Project]) -> Vec<String> {
    let memory: u64 = run.processes.iter().map(|RunProcess { rss_bytes, .. }| rss_bytes).sum();
    let task = told_task(projects, run.project_id.as_ref(), run.task_number);
    vec![
        task,
        run.execution_id.as_ref().map_or_else(|| run.kind.to_string(), ToString::to_string),
        bytes(memory),
        time(run.started_at),
        run.activity.clone(),
        run.task_title.clone().unwrap_or_default(),
    ]
}

fn approval_row(approval: &Approval, task: String) -> Vec<String> {
    vec![
        approval.id.to_string(),
        task,
        plain(approval.kind.as_str()),
        options(approval),
        approval.title.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    fn run(id: &str, role: &str, status: &str) -> Execution {
        sample::run(json!({ "id": id, "role": role, "status": status }))
    }

    #[test]
    fn run_to_stop_is_the_one_at_work_and_run_to_read_the_latest_of_the_work() {
        let id = |runs: Vec<Execution>, meant| of_task(runs, meant).map(|run| run.id.0);
        let all = || vec![run("1", "coder", "running"), run("2", "drafter", "finished")];
        assert_eq!(id(all(), Meant::ToStop).as_deref(), Some("1"));
        assert_eq!(id(all(), Meant::ToRead).as_deref(), Some("1"));
        let drafts = || vec![run("1", "coder", "finished"), run("2", "drafter", "running")];
        assert_eq!(id(drafts(), Meant::ToStop).as_deref(), Some("2"));
        assert_eq!(id(drafts(), Meant::ToRead).as_deref(), Some("1"));
        assert_eq!(id(Vec::new(), Meant::ToRead), None);
    }

    #[test]
    fn of_several_entries_that_run_one_is_chosen_by_its_id() {
        let two = vec![
            ("a".to_owned(), run("1", "coder", "running")),
            ("b".to_owned(), run("2", "coder", "running")),
        ];
        let refused = one_of(7, two).err().unwrap();
        assert_eq!(
            (refused.exit_code(), refused.hints()),
            (2, vec!["Name the run by its id: 1 (a), 2 (b).".to_owned()])
        );
        assert_eq!(one_of(7, Vec::new()).err().unwrap().exit_code(), 3);
    }
}
