//! A hook's script as a process: its input, its log, and how its end is interpreted. Real runs and tests of a hook
//! share this code.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use forge_agents::LogWriter;
use forge_exec::{Command, Exit, HeadTail, Marker};
use forge_model::hook::{HOOK_OUTPUT_BYTES, HookRun, HookStatus, ScriptHook};
use forge_model::ids::{AgentId, ExecutionId, TaskId};
use forge_model::workflow::LifecycleEvent;
use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self, confinement::Subject, context::ProjectContext, environment::ProgramEnvironment,
        location::Location,
    },
    error::{Result, whole},
    program::{self, output::CheckOutput},
    trust,
};

/// From the gentle signal to the kill of a hook.
const GRACE: Duration = Duration::from_secs(5);

/// What a hook is told besides its task.
pub(crate) struct HookFacts {
    pub event: LifecycleEvent,
    pub status: String,
    pub previous: String,
    pub agent: Option<AgentId>,
    pub execution: Option<ExecutionId>,
}

/// A script about to be run.
pub(crate) struct ScriptRun<'a> {
    /// The task that it is recorded for.
    pub owner: &'a TaskId,
    pub script: &'a ScriptHook,
    pub context: &'a ProjectContext,
    /// The worktree of its task, if there is one.
    pub workspace: Option<&'a Workspace>,
    /// Where it runs.
    pub location: Location,
    pub environment: ProgramEnvironment,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub log: &'a LogWriter,
    pub log_id: &'a str,
}

/// The variables that Forge sets for a hook; what is not known is empty.
pub(crate) fn hook_env(
    world: &World,
    context: &ProjectContext,
    task: Option<&TaskRow>,
    workspace: Option<&Workspace>,
    facts: &HookFacts,
) -> BTreeMap<String, String> {
    let project = &context.project;
    let id = |id: Option<&str>| id.unwrap_or_default().to_owned();
    let mut env: BTreeMap<String, String> = [
        ("FORGE_TASK_ID", String::new()),
        ("FORGE_TASK_TITLE", String::new()),
        ("FORGE_PROJECT_ID", project.id.0.clone()),
        ("FORGE_PROJECT_NAME", project.name.clone()),
        ("FORGE_REPO_PATH", project.repo_path.clone()),
        ("FORGE_WORKTREE_PATH", String::new()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    env.extend(
        task.map(|task| program::given::task_env(world, context, task, workspace)).unwrap_or_default(),
    );
    // The states of the moment, which may have passed since.
    env.extend(
        [
            ("FORGE_EVENT", facts.event.to_string()),
            ("FORGE_TASK_STATUS", facts.status.clone()),
            ("FORGE_TASK_PREVIOUS_STATUS", facts.previous.clone()),
            ("FORGE_AGENT_ID", id(facts.agent.as_ref().map(AgentId::as_str))),
            ("FORGE_EXECUTION_ID", id(facts.execution.as_ref().map(ExecutionId::as_str))),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    env
}

/// Refuses to run a script with startup files that a person has not trusted: those of the worktree that it runs in,
/// else the repository's.
pub(crate) async fn require_trust_of_script(
    world: &World,
    context: &ProjectContext,
    task: Option<&TaskRow>,
    workspace: Option<&Workspace>,
) -> Result<()> {
    match (task, workspace) {
        (Some(task), Some(workspace)) => trust::require_trust_of(world, context, task, Some(workspace)).await,
        (Some(_) | None, _) => trust::require_trust_of_project(world, context).await,
    }
}

/// Runs a script to its end, its time limit, or `cancel`; nothing of it is left. Its output is in the
/// log, but not yet its record.
pub(crate) async fn run_script(
    world: &World,
    run: ScriptRun<'_>,
    blank: HookRun,
    cancel: &CancellationToken,
) -> HookRun {
    let script = run.script;
    let line = shell_line(&script.command, &run.cwd);
    let marker = Marker(format!("{}-{}", run.log_id, run.owner));
    let command = Command::shell(run.environment.shell(), &line, &run.cwd, marker)
        .base(run.environment.base())
        .envs(run.location.variables(run.workspace, run.env))
        .timeout(Duration::from_secs(u64::from(script.timeout_seconds)))
        .grace(GRACE);
    run.environment.note_withheld(run.log);
    let subject = Subject::command_in(run.workspace, &run.location, cancel);
    let confined = core::confinement::confine(world, run.context, &run.environment, subject).await;
    let mut confinement = match confined {
        Ok(Some(confinement)) => confinement,
        Ok(None) => return interrupted(blank),
        Err(error) => return not_run(blank, &error),
    };
    confinement.begin_log(run.log);
    let begun = world.now();
    let mut output = CheckOutput { log: run.log.clone(), kept: HeadTail::new(HOOK_OUTPUT_BYTES) };
    let finished = program::recorded::run_recorded_for(
        world,
        run.owner,
        &run.location,
        confinement.of(command),
        cancel,
        (&mut output, run.environment.redactor()),
    )
    .await;
    confinement.note_refusals(run.log);
    if let Err(error) = confinement.end(world, run.log).await {
        return not_run(blank, &error);
    }
    let kept = output.kept.into_strings();
    let duration_ms = u64::try_from(world.now().since(begun)).unwrap_or_default();
    let ran = HookRun { stdout: kept.stdout, stderr: kept.stderr, duration_ms, ..blank };
    match finished {
        Err(error) => {
            HookRun { status: HookStatus::Failed, error: Some(format!("could not be run: {error}")), ..ran }
        }
        Ok(finished) if finished.cancelled => interrupted(ran),
        Ok(finished) => {
            let error = failure(script, finished.exit, finished.timed_out);
            let exit_code = match finished.exit {
                Exit::Code(code) if !finished.timed_out => Some(code),
                Exit::Code(_) | Exit::Signal(_) => None,
            };
            let status = match (&error, finished.timed_out) {
                (_, true) => HookStatus::TimedOut,
                (None, false) => HookStatus::Ok,
                (Some(_), false) => HookStatus::Failed,
            };
            HookRun { status, exit_code, error, ..ran }
        }
    }
}

/// Where a script works, as it finds that itself.
pub(crate) fn located(location: &Location, workspace: Option<&Workspace>, cwd: &Path) -> PathBuf {
    workspace.map_or_else(|| cwd.to_owned(), |workspace| location.path(workspace, cwd))
}

/// A run that was stopped before its end.
pub(crate) fn interrupted(run: HookRun) -> HookRun {
    HookRun { status: HookStatus::Interrupted, error: Some("interrupted".to_owned()), ..run }
}

fn not_run(blank: HookRun, error: &EngineError) -> HookRun {
    HookRun {
        status: HookStatus::Failed,
        error: Some(format!("could not be run: {}", whole(error))),
        ..blank
    }
}

/// What the shell is given: the snippet itself; the path of an existing file is quoted, so that it may have
/// spaces in it.
fn shell_line(command: &str, cwd: &Path) -> String {
    let path = command.trim();
    let odd = path.contains(|c: char| c.is_whitespace() || "'\"()&;$".contains(c));
    if odd && path.contains('/') && cwd.join(path).is_file() {
        format!("'{}'", path.replace('\'', r"'\''"))
    } else {
        command.to_owned()
    }
}

/// How a script ended, in words; none when it ended well.
pub(crate) fn failure(script: &ScriptHook, exit: Exit, timed_out: bool) -> Option<String> {
    match exit {
        _ if timed_out => Some(format!("timed out after {} s", script.timeout_seconds)),
        Exit::Code(code) if script.success_exit_codes.contains(&code) => None,
        Exit::Code(code) => Some(format!("exited with {code}")),
        Exit::Signal(signal) => Some(format!("was killed by signal {signal}")),
    }
}

#[cfg(test)]
mod tests {
    use super::shell_line;

    #[test]
    fn a_path_is_quoted_only_when_the_file_is_there() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("my hooks")).unwrap();
        std::fs::write(dir.path().join("my hooks/it's.sh"), "").unwrap();
        assert_eq!(shell_line("my hooks/it's.sh", dir.path()), r"'my hooks/it'\''s.sh'");
        assert_eq!(shell_line("my hooks/other.sh x", dir.path()), "my hooks/other.sh x");
        assert_eq!(shell_line("npm ci && npm test", dir.path()), "npm ci && npm test");
    }
}
