//! What the token of a run reaches: its own task and that task's parts.
//!
//! [`RULES`] is the one table. An operation that is not in it is closed to runs. About its own task an agent may ask
//! everything and decide little: what it was told, how it is checked and who judges it are not its to change. Of parts it
//! decides like a person who cannot pass a gate.

use std::path::{Path, PathBuf};

use forge_engine::RunScope;
use forge_model::{
    actor::Actor,
    execution::ExecutionRole,
    ids::{ExecutionId, ProjectId, TaskId},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    Api, ApiError, Call as _,
    operations::{
        ExecutionFollowUp, FixApply, FixList, FixRollback, KnowledgeSearch, ServiceStart, ServiceStop,
        TaskAction, TaskCreate, TaskDependencyAdd, TaskDependencyRemove, TaskDiff, TaskDiffFile,
        TaskExecutions, TaskGet, TaskLog, TaskServices, TaskTransition, TaskUpdate, Validate, ValidateLog,
        ValidateState,
    },
};

/// When a run may use an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// For its task and the parts, named by `task_id`.
    Task,
    /// To try its work: a service of its own task.
    Service,
    /// For what a service of its task printed.
    ServiceLog,
    /// For its task and the parts, of both tasks that a dependency names.
    Dependency,
    /// To make a part, named by `parent_id`, with these fields.
    NewPart(&'static [&'static str]),
    /// For a part, with these fields.
    Part(&'static [&'static str]),
    /// To give a part up.
    CancelPart,
    /// To move a part, or its own task to where it waits for a person.
    Move,
    /// For a run of a part, named by `execution_id`.
    RunOfPart,
    /// For its project, named by `project_id`.
    Project,
    /// To check its work: in its worktree, by the project's commands, with attempts under the name of its task.
    Validate,
    /// For attempts under the name of its task.
    Attempts,
    /// For a fix of its task or a part.
    Fix,
}

impl Rule {
    /// Who judges changes nothing but by a fix; who works applies none.
    const fn is_for(self, role: ExecutionRole) -> bool {
        let works = matches!(role, ExecutionRole::Coder | ExecutionRole::Planner);
        match self {
            Self::Task | Self::Project | Self::Attempts | Self::ServiceLog => true,
            // A service runs what was changed in the worktree, and who plans or judges runs nothing.
            Self::Service => matches!(role, ExecutionRole::Coder),
            Self::Dependency
            | Self::NewPart(_)
            | Self::Part(_)
            | Self::CancelPart
            | Self::Move
            | Self::RunOfPart
            | Self::Validate => works,
            Self::Fix => matches!(role, ExecutionRole::Reviewer),
        }
    }
}

const RULES: &[(&str, Rule)] = &[
    (TaskGet::NAME, Rule::Task),
    (TaskDiff::NAME, Rule::Task),
    (TaskDiffFile::NAME, Rule::Task),
    (TaskExecutions::NAME, Rule::Task),
    (FixList::NAME, Rule::Task),
    (TaskServices::NAME, Rule::Task),
    (TaskLog::NAME, Rule::ServiceLog),
    (ServiceStart::NAME, Rule::Service),
    (ServiceStop::NAME, Rule::Service),
    (
        TaskCreate::NAME,
        Rule::NewPart(&["title", "description", "priority", "execution_mode", "subtask_order", "depends_on"]),
    ),
    (TaskUpdate::NAME, Rule::Part(&["version", "title", "description", "priority", "subtask_order"])),
    (TaskAction::NAME, Rule::CancelPart),
    (TaskTransition::NAME, Rule::Move),
    (TaskDependencyAdd::NAME, Rule::Dependency),
    (TaskDependencyRemove::NAME, Rule::Dependency),
    (ExecutionFollowUp::NAME, Rule::RunOfPart),
    (KnowledgeSearch::NAME, Rule::Project),
    (Validate::NAME, Rule::Validate),
    (ValidateState::NAME, Rule::Attempts),
    (ValidateLog::NAME, Rule::Attempts),
    (FixApply::NAME, Rule::Fix),
    (FixRollback::NAME, Rule::Fix),
];

fn rule_of(op: &str) -> Option<Rule> {
    RULES.iter().find(|(name, _)| *name == op).map(|(_, rule)| *rule)
}

/// Whether a run may use an operation at all, for some input.
#[must_use]
pub fn is_open_to_runs(scope: &RunScope, op: &str) -> bool {
    rule_of(op).is_some_and(|rule| rule.is_for(scope.role))
}

impl Api {
    /// Does one operation for an agent, as far as the token of its run reaches.
    ///
    /// # Errors
    /// `out_of_scope`, and what the operation refuses.
    pub async fn call_within(&self, scope: &RunScope, op: &str, input: Value) -> Result<Value, ApiError> {
        let Some(rule) = rule_of(op) else {
            return Err(beyond(scope, "cannot access anything outside that task"));
        };
        if !rule.is_for(scope.role) {
            return Err(beyond(scope, &format!("does not allow this to a {}", scope.role)));
        }
        let input = self.named(scope, rule, input).await?;
        self.check(scope, rule, &input).await?;
        // What a run writes is kept, shown to people and told to other runs.
        let input = self.engine().redactor(Some(&scope.project_id)).json(input);
        self.call(Actor::Agent { id: scope.agent_id.clone() }, op, input).await
    }

    async fn check(&self, scope: &RunScope, rule: Rule, input: &Value) -> Result<(), ApiError> {
        match rule {
            Rule::Task => self.within(scope, &field(input, "task_id")?).await,
            Rule::Service => own(scope, &field(input, "task_id")?),
            Rule::ServiceLog => {
                self.within(scope, &field(input, "task_id")?).await?;
                if forge_model::service::is_log(&field::<String>(input, "log_id")?) {
                    return Ok(());
                }
                Err(beyond(scope, "can read only logs of services"))
            }
            Rule::Dependency => {
                self.within(scope, &field(input, "task_id")?).await?;
                self.within(scope, &field(input, "depends_on")?).await
            }
            Rule::NewPart(fields) => {
                let parent: Option<TaskId> = optional(input, "parent_id")?;
                let parent = parent.ok_or_else(|| beyond(scope, "can create subtasks of that task only"))?;
                self.within(scope, &parent).await?;
                same_project(scope, input)?;
                only(scope, input, &["project_id", "parent_id"], fields)?;
                for id in optional::<Vec<TaskId>>(input, "depends_on")?.unwrap_or_default() {
                    self.within(scope, &id).await?;
                }
                Ok(())
            }
            Rule::Part(fields) => {
                self.part(scope, &field(input, "task_id")?).await?;
                only(scope, input, &["task_id"], fields)
            }
            Rule::CancelPart => {
                self.part(scope, &field(input, "task_id")?).await?;
                if input["verb"] == "cancel" {
                    Ok(())
                } else {
                    Err(beyond(scope, "can perform no action except cancelling a subtask"))
                }
            }
            Rule::Move => {
                let task = field(input, "task_id")?;
                self.within(scope, &task).await?;
                let to: String = field(input, "to")?;
                if self.engine().may_move(scope, &task, &to).await? {
                    return Ok(());
                }
                Err(beyond(
                    scope,
                    "can move that task only to a state that waits for a person, and no subtask past a gate",
                ))
            }
            Rule::RunOfPart => {
                let run: ExecutionId = field(input, "execution_id")?;
                let task = self.engine().execution(&run).await.map(|run| run.task_id);
                self.part(scope, &task.map_err(|_| beyond(scope, "cannot access that run"))?).await
            }
            Rule::Project => same_project(scope, input),
            Rule::Attempts => {
                same_project(scope, input)?;
                self.within(scope, &field(input, "runId")?).await
            }
            Rule::Validate => {
                same_project(scope, input)?;
                self.within(scope, &field(input, "runId")?).await?;
                let cwd: PathBuf = field(input, "cwd")?;
                let tree = PathBuf::from(self.engine().workspace(&scope.task_id).await?.path);
                if !is_below(&cwd, &tree) {
                    return Err(beyond(
                        scope,
                        &format!("can validate only the contents of {}", tree.display()),
                    ));
                }
                self.declared(scope, &optional::<Vec<String>>(input, "commands")?.unwrap_or_default()).await
            }
            Rule::Fix => self.fix(scope, input).await,
        }
    }

    /// Refuses commands that the project does not declare for the run's task.
    async fn declared(&self, scope: &RunScope, commands: &[String]) -> Result<(), ApiError> {
        if commands.is_empty() {
            return Ok(());
        }
        let declared = self.engine().declared_commands(&scope.task_id).await?;
        undeclared(scope.role, commands, &declared).map_or(Ok(()), |why| Err(beyond(scope, &why)))
    }

    /// The input with what a run need not say: which project, which task, which worktree.
    async fn named(&self, scope: &RunScope, rule: Rule, mut input: Value) -> Result<Value, ApiError> {
        if !matches!(rule, Rule::Validate | Rule::Attempts) || !input.is_object() {
            return Ok(input);
        }
        let mut put = |name: &str, value: &str| {
            if input[name].is_null() {
                input[name] = Value::from(value);
            }
        };
        put("project_id", scope.project_id.as_str());
        put("runId", scope.task_id.as_str());
        if rule == Rule::Validate {
            put("cwd", &self.engine().workspace(&scope.task_id).await?.path);
        }
        Ok(input)
    }

    async fn fix(&self, scope: &RunScope, input: &Value) -> Result<(), ApiError> {
        let fix: String = field(input, "fix_id")?;
        let named: Option<TaskId> = optional(input, "task_id")?;
        let task = self.engine().task_of_fix(&fix, named.as_ref()).await;
        let task = task.map_err(|_| beyond(scope, "cannot access that fix"))?;
        self.within(scope, &task).await
    }

    /// Its own task, or a part of it.
    async fn within(&self, scope: &RunScope, task: &TaskId) -> Result<(), ApiError> {
        if self.engine().reaches(scope, task).await? {
            Ok(())
        } else {
            Err(beyond(scope, &format!("cannot access the task {task}")))
        }
    }

    /// A part of its task.
    async fn part(&self, scope: &RunScope, task: &TaskId) -> Result<(), ApiError> {
        self.within(scope, task).await?;
        if *task == scope.task_id {
            return Err(beyond(scope, "can change subtasks, but not the task itself"));
        }
        Ok(())
    }
}

/// Why a run in a role may not run commands, if it may not. Otherwise a run could start by `validate` what its own
/// program may not; who plans starts nothing.
fn undeclared(role: ExecutionRole, commands: &[String], declared: &[String]) -> Option<String> {
    let first = commands.first()?;
    if role != ExecutionRole::Coder {
        return Some(format!("does not allow a {role} to run commands such as `{first}`"));
    }
    let other = commands.iter().find(|command| !declared.iter().any(|one| one.trim() == command.trim()))?;
    let known: Vec<String> = declared.iter().map(|one| format!("`{one}`")).collect();
    let known = if known.is_empty() {
        "it declares none".to_owned()
    } else {
        format!("it declares {}", known.join(", "))
    };
    Some(format!("can run only commands that the project declares, not `{other}`: {known}"))
}

/// Whether a path leads into a folder, links followed.
fn is_below(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

/// Its own task, and none of its subtasks.
fn own(scope: &RunScope, task: &TaskId) -> Result<(), ApiError> {
    if *task == scope.task_id {
        return Ok(());
    }
    Err(beyond(scope, "can run services of that task only"))
}

fn same_project(scope: &RunScope, input: &Value) -> Result<(), ApiError> {
    let project: ProjectId = field(input, "project_id")?;
    if project == scope.project_id { Ok(()) } else { Err(beyond(scope, "cannot access that project")) }
}

/// Refuses fields that are not for runs. Null says nothing.
fn only(scope: &RunScope, input: &Value, named: &[&str], fields: &[&str]) -> Result<(), ApiError> {
    let given = input.as_object().into_iter().flatten();
    let other = given
        .filter(|(_, value)| !value.is_null())
        .map(|(name, _)| name.as_str())
        .find(|name| !named.contains(name) && !fields.contains(name));
    other.map_or(Ok(()), |name| {
        Err(beyond(scope, &format!("cannot set `{name}`, which is reserved for a person")))
    })
}

fn field<T: DeserializeOwned>(input: &Value, name: &str) -> Result<T, ApiError> {
    optional(input, name)?.ok_or_else(|| ApiError::invalid(name, "is missing"))
}

fn optional<T: DeserializeOwned>(input: &Value, name: &str) -> Result<Option<T>, ApiError> {
    let value = input.get(name).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| ApiError::invalid(name, &error.to_string()))
}

fn beyond(scope: &RunScope, why: &str) -> ApiError {
    let message =
        format!("the token of this run is for the task {} and its subtasks: it {why}", scope.task_id);
    ApiError::new(403, "out_of_scope", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(role: ExecutionRole, commands: &[&str], declared: &[&str]) -> Option<String> {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        undeclared(role, &owned(commands), &owned(declared))
    }

    #[test]
    fn coder_runs_declared_commands_and_no_others() {
        let coder = ExecutionRole::Coder;
        assert_eq!(refusal(coder, &["npm test ", "npm ci"], &["npm ci", "npm test"]), None);
        let why = refusal(coder, &["npm test", "curl evil"], &["npm test"]).unwrap();
        assert!(why.contains("`curl evil`") && why.ends_with("it declares `npm test`"), "{why}");
        assert!(refusal(coder, &["true"], &[]).unwrap().ends_with("it declares none"));
    }

    #[test]
    fn coder_alone_runs_services() {
        for op in [ServiceStart::NAME, ServiceStop::NAME] {
            let rule = rule_of(op).unwrap();
            assert!(rule.is_for(ExecutionRole::Coder), "{op}");
            for role in [ExecutionRole::Planner, ExecutionRole::Reviewer, ExecutionRole::Drafter] {
                assert!(!rule.is_for(role), "{op}: {role}");
            }
        }
    }

    #[test]
    fn terminals_are_closed_to_runs() {
        let of_terminals = |operation: &&crate::Operation| operation.name.starts_with("terminal_");
        let all: Vec<_> = crate::operations().iter().filter(of_terminals).collect();
        assert_eq!(all.len(), 6);
        for operation in all {
            assert_eq!(rule_of(operation.name), None, "{}", operation.name);
        }
    }

    #[test]
    fn planner_and_reviewer_run_no_commands() {
        for role in [ExecutionRole::Planner, ExecutionRole::Reviewer, ExecutionRole::Drafter] {
            assert!(refusal(role, &["npm test"], &["npm test"]).is_some(), "{role}");
            assert_eq!(refusal(role, &[], &["npm test"]), None, "{role}");
        }
    }
}
