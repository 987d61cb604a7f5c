//! What commands work with: the contract of an engine, and the project that was named.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_api::{
    Call, Client as _, Reply,
    operations::{AgentList, ProjectGet, ProjectList},
    ops::{Empty, Page, projects::ProjectPath},
};
use forge_engine::{Observer, Work};
use forge_model::{ids::ProjectId, project::Project};

use crate::{
    answer::Answer, args::Common, connection::Connection, error::CliError, place, shown::NONE,
    signals::interruptible,
};

/// What commands work with.
pub(crate) struct At {
    /// The contract.
    pub(crate) connection: Connection,
    /// The project that was named.
    pub(crate) project: Option<String>,
}

impl At {
    /// Does one operation.
    pub(crate) async fn call<C: Call>(&self, call: C, input: C::Input) -> Result<Reply<C::Output>, CliError> {
        self.connection.call(call, input).await
    }

    /// A project by its id or name: only where one is read is a name understood.
    pub(crate) async fn project_named(&self, named: &str) -> Result<ProjectId, CliError> {
        let path = ProjectPath { project_id: ProjectId::from(named) };
        Ok(self.call(ProjectGet, path).await?.value.id)
    }

    /// The folder that the command is run in; none for an engine on another computer, which has other folders.
    fn current_folder(&self) -> Option<PathBuf> {
        (!self.connection.is_elsewhere()).then(|| std::env::current_dir().ok()).flatten()
    }

    /// The project that was named, else the only one, else the one of the current folder.
    pub(crate) async fn project(&self) -> Result<ProjectId, CliError> {
        if let Some(named) = &self.project {
            return self.project_named(named).await;
        }
        let projects = self.call(ProjectList, Empty {}).await?;
        match projects.items.as_slice() {
            [only] => Ok(only.id.clone()),
            [] => Err(CliError::NotFound {
                message: "there are no projects".to_owned(),
                hint: "Add one with `forge project add PATH`.",
            }),
            all => of_folder(all, self.current_folder().as_deref()).ok_or(CliError::Usage {
                message: "there are several projects".to_owned(),
                hint: "Choose one with --project, or run the command in its repository; `forge project list` lists them.",
            }),
        }
    }

    /// The project that was named, where all are meant without one.
    pub(crate) async fn only(&self) -> Result<Option<ProjectId>, CliError> {
        match &self.project {
            Some(named) => self.project_named(named).await.map(Some),
            None => Ok(None),
        }
    }

    /// The projects whose names a table of tasks has to tell: all where there are several and none was named, since
    /// numbers of tasks are those of a project.
    pub(crate) async fn projects_to_tell(&self, only: Option<&ProjectId>) -> Result<Vec<Project>, CliError> {
        if only.is_some() {
            return Ok(Vec::new());
        }
        let all = self.call(ProjectList, Empty {}).await?.value.items;
        Ok(if all.len() > 1 { all } else { Vec::new() })
    }

    /// What a role's holder is called in the contract: an agent's id, or `user`.
    pub(crate) async fn holder(&self, named: &str) -> Result<String, CliError> {
        if named == "user" {
            return Ok(named.to_owned());
        }
        let agents = self.call(AgentList, Empty {}).await?;
        let found = agents.items.iter().find(|agent| agent.id.as_str() == named || agent.name == named);
        found.map(|agent| agent.id.0.clone()).ok_or_else(|| CliError::NotFound {
            message: format!("no agent `{named}`"),
            hint: "List them with `forge agent list`.",
        })
    }
}

/// The project in whose repository a folder lies, if that is one alone; of repositories within others the innermost.
fn of_folder(projects: &[Project], folder: Option<&Path>) -> Option<ProjectId> {
    let folder = folder?;
    let around = || projects.iter().filter(|project| folder.starts_with(&project.repo_path));
    let innermost = around().map(|project| project.repo_path.len()).max()?;
    let mut own = around().filter(|project| project.repo_path.len() == innermost);
    let (found, another) = (own.next(), own.next());
    found.filter(|_| another.is_none()).map(|project| project.id.clone())
}

/// A task by its number, behind the name of its project where that has to be told.
pub(crate) fn told_task(projects: &[Project], project: Option<&ProjectId>, number: Option<u32>) -> String {
    let named = projects.iter().find(|it| Some(&it.id) == project).map(|it| format!("{} ", it.name));
    let number = number.map_or_else(|| NONE.to_owned(), |number| format!("#{number}"));
    format!("{}{number}", named.unwrap_or_default())
}

/// A page without what is of other projects than the one that was named, if one was; also as programs read it.
pub(crate) fn of_project<T>(
    mut page: Reply<Page<T>>,
    only: Option<&ProjectId>,
    project: impl Fn(&T) -> Option<&ProjectId>,
) -> Reply<Page<T>> {
    let Some(only) = only else { return page };
    let kept: Vec<bool> = page.items.iter().map(|item| project(item) == Some(only)).collect();
    let (mut typed, mut sent) = (kept.iter(), kept.iter());
    page.value.items.retain(|_| typed.next() == Some(&true));
    if let Some(items) = page.json["items"].as_array_mut() {
        items.retain(|_| sent.next() == Some(&true));
    }
    page
}

/// Connects to the engine for a command, and closes the connection however the command ends.
pub(crate) async fn through(
    common: Common,
    observer: Option<Arc<dyn Observer>>,
    work: Work,
    command: impl AsyncFnOnce(&At) -> Result<Answer, CliError>,
) -> Result<Option<Answer>, CliError> {
    // Starting an engine is a large future.
    let connection = match common.on {
        Some(host) => Box::pin(interruptible(Connection::open_on(host))).await?,
        None => Box::pin(Connection::open(place::data_dir(common.data_dir)?, observer, work)).await?,
    };
    let at = At { connection, project: common.project };
    let answer = interruptible(command(&at)).await;
    at.connection.close().await;
    answer.map(Some)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(id: &str, repo_path: &str) -> Project {
        serde_json::from_value(json!({
            "id": id, "name": id, "repo_path": repo_path, "default_branch": "main", "work_mode": "direct_commit",
            "paused": false, "version": 1, "created_at": "2026-01-02T03:04:05.006Z",
            "updated_at": "2026-01-02T03:04:05.006Z",
        }))
        .unwrap()
    }

    #[test]
    fn project_of_a_folder_is_the_only_one_whose_repository_has_it() {
        let all = [project("a", "/r/a"), project("b", "/r/b"), project("c", "/r/b")];
        let of = |folder: &str| of_folder(&all, Some(Path::new(folder))).map(|id| id.0);
        assert_eq!(of("/r/a/src").as_deref(), Some("a"));
        assert_eq!(of("/r/b"), None, "two projects have it");
        let nested = [project("a", "/r/a"), project("sub", "/r/a/sub")];
        let of_nested = |folder: &str| of_folder(&nested, Some(Path::new(folder))).map(|id| id.0);
        assert_eq!(of_nested("/r/a/sub/src").as_deref(), Some("sub"));
        assert_eq!(of_nested("/r/a/subs").as_deref(), Some("a"));
        assert_eq!(of("/r/abc"), None);
        assert_eq!(of_folder(&all, None), None);
    }

    #[test]
    fn tasks_are_told_with_their_project_where_several_are_meant() {
        let all = [project("a", "/r/a"), project("b", "/r/b")];
        assert_eq!(told_task(&all, Some(&"b".into()), Some(3)), "b #3");
        assert_eq!(told_task(&[], Some(&"b".into()), Some(3)), "#3");
        assert_eq!(told_task(&[], None, None), NONE);
    }
}
