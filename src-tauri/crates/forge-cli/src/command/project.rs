//! `forge project`.

use forge_api::{
    Reply,
    operations::{
        ProjectCreate, ProjectList, ProjectRepository, ProjectRepositoryAccept, ProjectRepositoryUndo,
        ProjectSettingsUpdate,
    },
    ops::{
        Empty,
        projects::{AcceptRepository, CreateProject, PatchSettings, ProjectPath, RepositoryState},
    },
};
use serde_json::json;

use super::trust;
use crate::{answer::Answer, args::Project, at::At, error::CliError, labels, place, shown::table};

pub(crate) async fn run(at: &At, command: Project) -> Result<Answer, CliError> {
    match command {
        Project::Add { path, name, default_branch, machine } => {
            let repo_path = place::absolute(&path)?;
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
        Project::Edit { project, machine } => {
            let project_id = at.project_named(&project).await?;
            let machines = labels::required(machine)?.unwrap_or_default();
            let patch = [("machines".to_owned(), json!(machines))].into_iter().collect();
            let view = at.call(ProjectSettingsUpdate, PatchSettings { project_id, patch }).await?;
            let text = format!("Tasks of {project} run on: {}.", labels::shown(&view.settings.machines));
            Ok(Answer::new(view.json, text))
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
                    "The repository's configuration is as accepted.",
                ),
            };
            Ok(repository(state, done))
        }
        Project::Trust(asked) => trust::run(at, asked).await,
        Project::List => {
            let page = at.call(ProjectList, Empty {}).await?;
            let row = |item: &forge_model::project::Project| {
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
