//! Completion of what only a running engine knows: tasks, agents, projects, machines, fixes, runs and the like. Without one
//! that runs nothing is suggested, and none is started.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::PathBuf,
    time::Duration,
};

use clap::CommandFactory as _;
use clap_complete::{CompleteEnv, CompletionCandidate, env::Shells};
use forge_api::{
    Client as _,
    operations::{
        AgentKnown, AgentList, ApprovalList, KnowledgeList, MachineList, ProjectFixes, ProjectList,
        ProjectWorkflowGet, RunList, TaskList, WorkflowPresets,
    },
    ops::{
        Empty, executions::ListApprovals, knowledge::ListKnowledge, projects::ProjectPath, tasks::ListTasks,
    },
};
use forge_engine::data_folder;
use forge_model::{
    fix::FixProposal, ids::ProjectId, lesson::LessonStatus, project::Project, workflow::StateKind,
};

use crate::{
    args::Cli,
    connection::Connection,
    error::CliError,
    place,
    remote::Remote,
    words::{plain, program_key},
};

/// By it the script of a shell asks this program.
const VARIABLE: &str = "FORGE_COMPLETE";

/// A shell waits for the answer while a person types.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many tasks are suggested, of each project.
const TASKS: u32 = 100;

/// Answers a shell that wants to know what may follow. Whether one did.
pub(crate) fn answered(arguments: &[OsString]) -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    let asked = CompleteEnv::with_factory(Cli::command).var(VARIABLE);
    // A shell shows no errors in the middle of a line.
    asked.try_complete(arguments, None).unwrap_or(true)
}

/// What a shell is to read, so that it asks this program.
pub(crate) fn script(shell: &str) -> Option<String> {
    let shells = Shells::builtins();
    let mut script = Vec::new();
    shells.completer(shell)?.write_registration(VARIABLE, "forge", "forge", "forge", &mut script).ok()?;
    Some(String::from_utf8_lossy(&script).trim_end().to_owned())
}

/// Numbers of open tasks.
pub(crate) fn tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    of(current, known(async |at| tasks_in(at, |kind| kind != StateKind::Terminal).await))
}

/// Numbers of closed tasks.
pub(crate) fn closed_tasks(current: &OsStr) -> Vec<CompletionCandidate> {
    of(current, known(async |at| tasks_in(at, |kind| kind == StateKind::Terminal).await))
}

/// The tasks in states of some kinds, by number.
async fn tasks_in(
    at: &Connection,
    is_meant: fn(StateKind) -> bool,
) -> Result<Vec<(String, String)>, CliError> {
    let mut found = Vec::new();
    for project in projects_of(at).await? {
        let path = ProjectPath { project_id: project.clone() };
        let states = at.call(ProjectWorkflowGet, path).await?.value.workflow.states;
        let meant = states.into_iter().filter(|state| is_meant(state.kind));
        let list = ListTasks {
            project_id: project,
            status: Some(meant.map(|state| state.name).collect()),
            q: None,
            machine: None,
            limit: Some(TASKS),
            cursor: None,
        };
        let page = at.call(TaskList, list).await?.value;
        found.extend(page.items.into_iter().map(|task| (task.number.to_string(), task.title)));
    }
    Ok(found)
}

/// The projects that the command line means: the one that it names, else all.
async fn projects_of(at: &Connection) -> Result<Vec<ProjectId>, CliError> {
    let named = typed("--project");
    let all = at.call(ProjectList, Empty {}).await?.value.items;
    let is_meant = |project: &Project| {
        let names = |named: &OsString| *named == *project.id.as_str() || *named == *project.name;
        named.as_ref().is_none_or(names)
    };
    Ok(all.into_iter().filter(is_meant).map(|project| project.id).collect())
}

/// Ids of fixes.
pub(crate) fn fixes(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let mut found = Vec::new();
        for project_id in projects_of(at).await? {
            let page = at.call(ProjectFixes, ProjectPath { project_id }).await?.value;
            let one = |fix: FixProposal| {
                (fix.fix_id, format!("{}, {}", plain(fix.status.as_str()), fix.files.join(", ")))
            };
            found.extend(page.items.into_iter().map(one));
        }
        Ok(found)
    });
    of(current, found)
}

/// Ids of runs of agents.
pub(crate) fn runs(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let runs = at.call(RunList, Empty {}).await?.value.items.into_iter();
        Ok(runs.filter_map(|run| Some((run.execution_id?.0, run.task_title.unwrap_or_default()))).collect())
    });
    of(current, found)
}

/// Ids of open approvals.
pub(crate) fn approvals(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(ApprovalList, ListApprovals { task_id: None, all: None }).await?.value;
        Ok(page.items.into_iter().map(|it| (it.id.0, it.title)).collect())
    });
    of(current, found)
}

/// Supported programs of agents.
pub(crate) fn programs(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(AgentKnown, Empty {}).await?.value;
        Ok(page.items.into_iter().map(|known| (program_key(&known), known.name)).collect())
    });
    of(current, found)
}

/// Names of states.
pub(crate) fn states(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let mut found: Vec<(String, String)> = Vec::new();
        for project_id in projects_of(at).await? {
            let states = at.call(ProjectWorkflowGet, ProjectPath { project_id }).await?.value.workflow.states;
            found.extend(states.into_iter().map(|state| (state.name, state.display_name)));
        }
        found.sort();
        found.dedup_by(|one, other| one.0 == other.0);
        Ok(found)
    });
    of(current, found)
}

/// Ids of proposed lessons.
pub(crate) fn lessons(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let mut found = Vec::new();
        for project_id in projects_of(at).await? {
            let status = Some(LessonStatus::Proposed);
            let list = ListKnowledge { project_id, status, cursor: None, limit: Some(TASKS) };
            let page = at.call(KnowledgeList, list).await?.value;
            found.extend(page.items.into_iter().filter_map(|it| Some((it.id?.0, it.title))));
        }
        Ok(found)
    });
    of(current, found)
}

/// Names of workflows that ship with Forge.
pub(crate) fn presets(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(WorkflowPresets, Empty {}).await?.value;
        Ok(page.items.into_iter().map(|it| (it.name, it.title)).collect())
    });
    of(current, found)
}

/// Names of agents.
pub(crate) fn agents(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(AgentList, Empty {}).await?.value;
        Ok(page.items.into_iter().map(|agent| (agent.name, agent.adapter.to_string())).collect())
    });
    of(current, found)
}

/// Names of projects.
pub(crate) fn projects(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(ProjectList, Empty {}).await?.value;
        Ok(page.items.into_iter().map(|project| (project.name, project.repo_path)).collect())
    });
    of(current, found)
}

/// Names of machines.
pub(crate) fn machines(current: &OsStr) -> Vec<CompletionCandidate> {
    let found = known(async |at| {
        let page = at.call(MachineList, Empty {}).await?.value;
        Ok(page.items.into_iter().map(|machine| (machine.name, machine.kind.to_string())).collect())
    });
    of(current, found)
}

fn of(current: &OsStr, found: Vec<(String, String)>) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let begins = |(value, _): &(String, String)| value.starts_with(&*typed);
    let candidate =
        |(value, about): (String, String)| CompletionCandidate::new(value).help(Some(about.into()));
    found.into_iter().filter(begins).map(candidate).collect()
}

/// The value of an option on the line that is being completed.
fn typed(option: &str) -> Option<OsString> {
    value_in(option, std::env::args_os())
}

fn value_in(option: &str, line: impl Iterator<Item = OsString>) -> Option<OsString> {
    let mut words = line.skip_while(|word| word != option && !is_assigned(word, option));
    let word = words.next()?;
    if word == option {
        return words.next().filter(|value| !value.is_empty());
    }
    let bytes = word.as_encoded_bytes().get(option.len() + 1..)?;
    Some(OsStr::from_bytes(bytes).to_owned()).filter(|value| !value.is_empty())
}

/// Whether a word is the option with its value, joined by an equals sign.
fn is_assigned(word: &OsStr, option: &str) -> bool {
    let rest = word.as_encoded_bytes().strip_prefix(option.as_bytes());
    rest.is_some_and(|rest| rest.starts_with(b"="))
}

/// What the engine that runs answers; nothing where none does, or it does not answer.
fn known(
    question: impl AsyncFnOnce(&Connection) -> Result<Vec<(String, String)>, CliError>,
) -> Vec<(String, String)> {
    let answer = || -> Option<Vec<(String, String)>> {
        let data_dir = place::data_dir(typed("--data-dir").map(PathBuf::from)).ok()?;
        let holder = data_folder::holder(&data_dir)?;
        let url = holder.url.clone()?;
        let connection = Connection::Remote(Remote::new(&holder, &url, &data_dir).ok()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let asked = async { tokio::time::timeout(PATIENCE, question(&connection)).await.ok()?.ok() };
        runtime.block_on(asked)
    };
    answer().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_line_are_read_in_either_form() {
        let value = |line: &[&str]| {
            let words = line.iter().map(|word| OsString::from(*word));
            value_in("--data-dir", words).and_then(|value| value.into_string().ok())
        };
        assert_eq!(value(&["forge", "--data-dir", "/d", "task", ""]).as_deref(), Some("/d"));
        assert_eq!(value(&["forge", "task", "--data-dir=/d", ""]).as_deref(), Some("/d"));
        assert_eq!(value(&["forge", "--data-dir-x", "/d"]), None);
        assert_eq!(value(&["forge", "--data-dir", ""]), None, "it is being typed");
        assert_eq!(value(&["forge"]), None);
    }
}
