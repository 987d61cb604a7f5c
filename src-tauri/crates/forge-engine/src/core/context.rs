//! A project with its workflow and settings read, and the names that follow from a task: branch, backup refs,
//! folder.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use forge_model::hook::LifecycleHook;
use forge_model::ids::TaskId;
use forge_model::inner_loop;
use forge_model::project::Project;
use forge_model::review::ReviewConfig;
use forge_model::service;
use forge_model::settings::{MergeConfig, ProjectSettings, parse_stored_settings};
use forge_model::workflow::{Action, Audience, Finding, Hook, State, StateKind, Workflow, parse_stored};
use forge_model::workspace::Workspace;
use forge_store::table::{projects::ProjectRow, tasks::TaskRow};

use crate::{EngineError, error::Result};

/// A project as the machine needs it. Rebuilt when the project's version rises.
#[derive(Debug)]
pub(crate) struct ProjectContext {
    pub project: Project,
    pub settings: ProjectSettings,
    pub workflow: Workflow,
    /// What is wrong with the stored checks. Everything else of the project can be used; no review passes.
    pub broken_checks: Vec<Finding>,
    /// The same as entries of races see it; made when it is first needed.
    pub entries: OnceLock<Arc<ProjectContext>>,
}

impl ProjectContext {
    pub(crate) fn read(row: &ProjectRow) -> Result<Self> {
        let stored = |what| move |findings| EngineError::Stored { what, findings };
        let mut complete = row.settings.clone();
        if let Some(complete) = complete.as_object_mut() {
            let repository = row.repository_config.as_ref().map(|read| &read.inner_loop);
            let mut all = inner_loop::layered(repository, complete.get(inner_loop::KEY));
            inner_loop::drop_unusable(&mut all);
            complete.insert(inner_loop::KEY.to_owned(), all);
            let repository = row.repository_config.as_ref().map(|read| read.services.as_slice());
            if let Some(all) = service::layered(repository.unwrap_or_default(), complete.get(service::KEY)) {
                complete.insert(service::KEY.to_owned(), all);
            }
        }
        let (settings, broken_checks) = match parse_stored_settings(&complete) {
            Ok(settings) => (settings, Vec::new()),
            Err(findings) if findings.iter().all(|finding| finding.path.starts_with("review_config")) => {
                let mut rest = complete;
                rest.as_object_mut().map(|settings| settings.remove("review_config"));
                (parse_stored_settings(&rest).map_err(stored("settings"))?, findings)
            }
            Err(findings) => return Err(stored("settings")(findings)),
        };
        Ok(Self {
            project: row.project.clone(),
            settings,
            broken_checks,
            entries: OnceLock::new(),
            workflow: parse_stored(&row.workflow).map_err(stored("workflow"))?.workflow,
        })
    }

    /// The project as its races' entries see it.
    pub(crate) fn for_entries(&self) -> Result<Arc<ProjectContext>> {
        if let Some(entries) = self.entries.get() {
            return Ok(Arc::clone(entries));
        }
        let workflow = forge_model::race::entry_workflow().map_err(|error| EngineError::Io {
            doing: "read the entries' workflow".to_owned(),
            source: error.into(),
        })?;
        let mut settings = self.settings.clone();
        // Work begins and stops in an entry's worktree as in any other; the task itself is closed elsewhere.
        settings.lifecycle_hooks.on_task_done.clear();
        settings.lifecycle_hooks.on_task_cancel.clear();
        let entries = Arc::new(ProjectContext {
            project: self.project.clone(),
            settings,
            workflow,
            broken_checks: self.broken_checks.clone(),
            entries: OnceLock::new(),
        });
        Ok(Arc::clone(self.entries.get_or_init(|| entries)))
    }

    /// Whether a task is in the state of cancelled tasks.
    pub(crate) fn is_cancelled(&self, task: &TaskRow) -> bool {
        task.status == self.workflow.cancellation_state
    }

    /// Refuses checks that do not read back as they must: what was meant to be run is not known.
    pub(crate) fn require_checks(&self, task: &TaskRow) -> Result<()> {
        let own = task.review_config.as_ref().map(|own| own.findings("review_config")).unwrap_or_default();
        let findings: Vec<Finding> = self.broken_checks.iter().cloned().chain(own).collect();
        if findings.is_empty() {
            return Ok(());
        }
        Err(EngineError::Stored { what: "configuration of checks", findings })
    }

    /// The checks in force for a task.
    pub(crate) fn review_config(&self, task: &TaskRow) -> ReviewConfig {
        self.settings.review_config.overridden_by(task.review_config.as_ref())
    }

    /// How a task is merged.
    pub(crate) fn merge_config(&self, task: &TaskRow) -> MergeConfig {
        self.settings.merge_config.overridden_by(task.merge_config.as_ref())
    }

    /// The branch a task is merged into.
    pub(crate) fn target_branch(&self, task: &TaskRow) -> String {
        self.merge_config(task).target_branch.unwrap_or_else(|| self.project.default_branch.clone())
    }

    /// The branch that tasks are merged into unless they say otherwise.
    pub(crate) fn usual_target(&self) -> String {
        let target = self.settings.merge_config.target_branch.as_ref();
        target.unwrap_or(&self.project.default_branch).clone()
    }

    /// Whether what agents propose to remember is kept.
    pub(crate) fn captures_knowledge(&self) -> bool {
        self.settings.inner_loop.knowledge.enabled || self.asks_by_hooks(Action::KnowledgeCapture)
    }

    /// Whether the workflow, or a hook of the project, asks for one of the two actions about knowledge.
    fn asks_by_hooks(&self, action: Action) -> bool {
        let hooks = &self.settings.lifecycle_hooks;
        let by_workflow = self.workflow.states.iter().map(|state| &state.hooks);
        let by_workflow = by_workflow.flat_map(|hooks| hooks.before_enter.iter().chain(&hooks.on_enter));
        let mut by_hook = hooks.before_work.iter().chain(&hooks.on_task_done);
        by_workflow.map(|hook| hook.action).any(|it| it == action)
            || by_hook.any(|hook| {
                matches!(hook, LifecycleHook::Plugin(plugin) if plugin.enabled && plugin.name == action)
            })
    }

    /// What a state does first because the project learns, unless its hooks ask for that themselves: lessons are told
    /// where agents are started, and kept where tasks are finished.
    pub(crate) fn hooks_of_teaching(&self, state: &State) -> Vec<Hook> {
        let is_finished = state.is_terminal() && state.name != self.workflow.cancellation_state;
        let works = state.kind == StateKind::Active || state.plans();
        let action = match (is_finished, works && state.has_action(Action::DispatchRoleAgent)) {
            (true, _) => Action::KnowledgeCapture,
            (false, true) => Action::KnowledgeInject,
            (false, false) => return Vec::new(),
        };
        if !self.settings.inner_loop.knowledge.enabled || self.asks_by_hooks(action) {
            return Vec::new();
        }
        vec![Hook { action, applies_to: Audience::All, on_failure: None, params: None }]
    }

    /// The role whose holder does the work: that of the work state.
    pub(crate) fn work_role(&self) -> Option<&str> {
        self.workflow.work_state().and_then(|state| state.role.as_deref())
    }
}

/// The branch of a task's worktree.
pub(crate) fn task_branch(task: &TaskRow) -> String {
    format!("forge/{}", task.id)
}

/// Where a task's backups are kept.
pub(crate) fn backup_prefix(task: &TaskRow) -> String {
    backup_prefix_of(&task.id)
}

/// The same by the task's id.
pub(crate) fn backup_prefix_of(task: &TaskId) -> String {
    format!("refs/forge/backup/{task}")
}

/// Letters and digits of `text`, joined by hyphens, at most `max` bytes; never empty.
pub(crate) fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= max {
            break;
        }
    }
    let slug = slug.trim_matches('-').to_owned();
    if slug.is_empty() { "task".to_owned() } else { slug }
}

/// The task's folder: what holds the worktree, the lock and the prompts.
pub(crate) fn task_folder(workspace: &Workspace) -> PathBuf {
    let tree = Path::new(&workspace.path);
    tree.parent().unwrap_or(tree).to_owned()
}

pub(crate) fn is_closed(context: &ProjectContext, task: &TaskRow) -> bool {
    context.workflow.state(&task.status).is_some_and(State::is_terminal)
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn slugs_are_short_and_plain() {
        assert_eq!(slug("Fix the  Login -- now!", 40), "fix-the-login-now");
        assert_eq!(slug("Größe ändern", 40), "gr-e-ndern");
        assert_eq!(slug("日本語", 40), "task");
        assert_eq!(slug(&"a".repeat(300), 40).len(), 40);
        assert_eq!(slug("../../etc/passwd", 40), "etc-passwd");
    }
}
