//! `forge project`.

use std::path::Path;

use forge_api::{
    Reply,
    operations::{
        ProjectCreate, ProjectDelete, ProjectGet, ProjectList, ProjectPause, ProjectRepository,
        ProjectRepositoryAccept, ProjectRepositoryUndo, ProjectResume, ProjectServiceOffers,
        ProjectServicesTake, ProjectSettingsGet, ProjectSettingsUpdate, ProjectUpdate,
    },
    ops::{
        Empty,
        projects::{
            AcceptRepository, CreateProject, DeleteProject, PatchSettings, ProjectPath, RepositoryState,
            UpdateProject,
        },
        services::TakeServices,
    },
};
use forge_model::{ids::ProjectId, project, service::ServiceDefinition};
use serde_json::json;

use super::{settings_of_project as settings, trust};
use crate::{
    answer::{Answer, confirm},
    args::{EditProject, Project, WorkMode},
    at::At,
    error::CliError,
    labels, place,
    shown::{printable, table},
};

/// The path of a repository as its engine takes it.
fn path_of(at: &At, path: &Path) -> Result<String, CliError> {
    if at.connection.is_elsewhere() && path.is_relative() {
        return Err(CliError::Usage {
            message: format!("{} is no full path", path.display()),
            hint: "Name the repository by its full path on the other computer.",
        });
    }
    place::absolute(path)
}

pub(crate) async fn run(at: &At, command: Project) -> Result<Answer, CliError> {
    match command {
        Project::Add { path, name, default_branch, machine } => {
            let repo_path = path_of(at, &path)?;
            let machines = labels::required(machine)?;
            let new = CreateProject {
                name,
                repo_path,
                default_branch,
                work_mode: None,
                workflow: None,
                settings: machines.map(|machines| json!({ "machines": machines })),
            };
            let project = at.call(ProjectCreate, new).await?;
            let text =
                format!("Added {} ({}), merging to {}.", project.name, project.id, project.default_branch);
            Ok(Answer::new(project.json, text))
        }
        Project::Edit(change) => edit(at, change).await,
        Project::Settings { prefix, own } => settings::show(at, prefix, own).await,
        Project::Set { settings } => settings::change(at, settings::set(&settings)?).await,
        Project::Unset { settings } => settings::change(at, settings::unset(&settings)?).await,
        Project::Services { named, add } => services(at, named, add).await,
        Project::Pause { named } => {
            let project_id = named_or_usual(at, named).await?;
            let project = at.call(ProjectPause, ProjectPath { project_id }).await?;
            let text = format!("{} starts no new runs.", project.name);
            Ok(Answer::new(project.json, text))
        }
        Project::Resume { named } => {
            let project_id = named_or_usual(at, named).await?;
            let project = at.call(ProjectResume, ProjectPath { project_id }).await?;
            let text = format!("{} may start new runs again.", project.name);
            Ok(Answer::new(project.json, text))
        }
        Project::Remove { project, yes, end_terminals } => {
            let path = ProjectPath { project_id: at.project_named(&project).await? };
            let found = at.call(ProjectGet, path).await?.value;
            let question =
                format!("Remove {} with its tasks and worktrees? The repository stays.", found.name);
            confirm(&question, "remove the project", yes)?;
            let delete = DeleteProject {
                project_id: found.id,
                confirm: found.name.clone(),
                end_terminals: Some(end_terminals),
            };
            let done = at.call(ProjectDelete, delete).await?;
            Ok(Answer::new(done.json, format!("Removed {}. The repository stays.", found.name)))
        }
        Project::Repository { project, accept, undo } => {
            let project_id = at.project_named(&project).await?;
            let (state, done) = match accept {
                Some(digest) => {
                    let seen = AcceptRepository { project_id, digest };
                    (at.call(ProjectRepositoryAccept, seen).await?, "Accepted.")
                }
                None if undo => (
                    at.call(ProjectRepositoryUndo, ProjectPath { project_id }).await?,
                    "Restored the accepted configuration. The replaced files are kept in the data folder.",
                ),
                None => (
                    at.call(ProjectRepository, ProjectPath { project_id }).await?,
                    "The repository's configuration matches the accepted one.",
                ),
            };
            Ok(repository(state, done))
        }
        Project::Trust(asked) => trust::run(at, asked).await,
        Project::List => {
            let page = at.call(ProjectList, Empty {}).await?;
            let row = |item: &project::Project| {
                vec![
                    item.id.to_string(),
                    item.name.clone(),
                    item.default_branch.clone(),
                    item.repo_path.clone(),
                ]
            };
            let rows: Vec<Vec<String>> = page.items.iter().map(row).collect();
            let text = if rows.is_empty() {
                "No projects. Add one with `forge project add PATH`.".to_owned()
            } else {
                table(&["ID", "NAME", "BRANCH", "REPOSITORY"], &rows)
            };
            Ok(Answer::new(page.json, text))
        }
    }
}

/// The project that is named here, else the one of every command.
async fn named_or_usual(at: &At, named: Option<String>) -> Result<ProjectId, CliError> {
    match named {
        Some(named) => at.project_named(&named).await,
        None => at.project().await,
    }
}

/// The services that a project has, and those that it is offered, once the chosen ones were added.
async fn services(at: &At, named: Option<String>, add: Vec<String>) -> Result<Answer, CliError> {
    let project_id = named_or_usual(at, named).await?;
    if !add.is_empty() {
        let take = TakeServices { project_id: project_id.clone(), names: add };
        at.call(ProjectServicesTake, take).await?;
    }
    let path = ProjectPath { project_id };
    let settings = at.call(ProjectSettingsGet, path.clone()).await?;
    let offers = at.call(ProjectServiceOffers, path).await?;
    let own = settings.own["services"].as_array().cloned().unwrap_or_default();
    let from = |name: &str| if own.iter().any(|one| one["name"] == name) { "project" } else { ".forge.json" };
    let named = settings.settings.services.iter().map(|one| (one, from(&one.name)));
    let offered = offers.items.iter().map(|offer| (&offer.service, offer.source.as_str()));
    let row = |(service, from): (&ServiceDefinition, &str)| {
        vec![printable(&service.name), printable(&service.command), printable(from)]
    };
    let (own, more): (Vec<_>, Vec<_>) = (named.map(row).collect(), offered.map(row).collect());
    let mut parts = Vec::new();
    if !own.is_empty() {
        parts.push(table(&["NAME", "COMMAND", "FROM"], &own));
    }
    if let Some(first) = offers.items.first() {
        let first = printable(&first.service.name);
        parts.push(format!(
            "Suggested; add one with `forge project services --add {first}`:\n{}",
            table(&["NAME", "COMMAND", "FROM"], &more)
        ));
    }
    if parts.is_empty() {
        parts.push("The project has no services, and its files suggest none.".to_owned());
    }
    let json = json!({ "services": settings.json["settings"]["services"], "offers": offers.json["items"] });
    Ok(Answer::new(json, parts.join("\n\n")))
}

async fn edit(at: &At, change: EditProject) -> Result<Answer, CliError> {
    let EditProject { project, name, default_branch, work_mode, machine } = change;
    let project_id = at.project_named(&project).await?;
    let machines = labels::required(machine)?;
    let has_fields = name.is_some() || default_branch.is_some() || work_mode.is_some();
    if !has_fields && machines.is_none() {
        return Err(CliError::Usage {
            message: "no change was given".to_owned(),
            hint: "Pass --name, --default-branch, --work-mode or --machine.",
        });
    }
    let mut said = Vec::new();
    if has_fields {
        let work_mode = work_mode.map(|mode| match mode {
            WorkMode::DirectCommit => project::WorkMode::DirectCommit,
            WorkMode::PullRequest => project::WorkMode::PullRequest,
        });
        let change = UpdateProject { project_id: project_id.clone(), name, default_branch, work_mode };
        let changed = at.call(ProjectUpdate, change).await?;
        let by = match changed.work_mode {
            project::WorkMode::DirectCommit => "directly",
            project::WorkMode::PullRequest => "by pull request",
        };
        said.push(format!("{} merges to {} {by}.", changed.name, changed.default_branch));
    }
    if let Some(machines) = machines {
        let patch = [("machines".to_owned(), json!(machines))].into_iter().collect();
        let change = PatchSettings { project_id: project_id.clone(), patch };
        let view = at.call(ProjectSettingsUpdate, change).await?;
        said.push(format!("Tasks of {project} run on: {}.", labels::shown(&view.settings.machines)));
    }
    // The project, whatever of it was changed.
    let changed = at.call(ProjectGet, ProjectPath { project_id }).await?;
    Ok(Answer::new(changed.json, said.join("\n")))
}

/// How the repository's configuration differs, or what was done about it.
fn repository(state: Reply<RepositoryState>, done: &str) -> Answer {
    let difference = state.difference.as_ref().filter(|difference| !difference.files.is_empty());
    let text = difference.map_or_else(
        || done.to_owned(),
        |difference| {
            let shown: Vec<String> =
                difference.files.iter().map(|file| format!("{}\n{}", file.path, file.diff)).collect();
            format!("{}\nAccept it with --accept {}, or --undo.", shown.join("\n"), difference.digest)
        },
    );
    Answer::new(state.json, text)
}
