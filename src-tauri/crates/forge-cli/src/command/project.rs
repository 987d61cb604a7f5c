//! `forge project`.

use serde_json::{Value, json};

use super::trust;
use crate::{
    answer::Answer,
    args::Project,
    at::At,
    error::CliError,
    place,
    shown::{items, string, table},
};

pub(crate) async fn run(at: &At, command: Project) -> Result<Answer, CliError> {
    match command {
        Project::Add { path, name, default_branch } => {
            let mut input = json!({ "repo_path": place::absolute(&path)? });
            if let Some(name) = name {
                input["name"] = Value::from(name);
            }
            if let Some(branch) = default_branch {
                input["default_branch"] = Value::from(branch);
            }
            let project = at.call("project_create", input).await?;
            let text = format!(
                "Added {} ({}), merging to {}.",
                string(&project, "name"),
                string(&project, "id"),
                string(&project, "default_branch")
            );
            Ok(Answer::new(project, text))
        }
        Project::Repository { project, accept, undo } => {
            // A name is understood where a project is read.
            let found = at.call("project_get", json!({ "project_id": project })).await?;
            let mut input = json!({ "project_id": found["id"] });
            let (operation, done) = match accept {
                Some(digest) => {
                    input["digest"] = Value::from(digest);
                    ("project_repository_accept", "Accepted.")
                }
                None if undo => (
                    "project_repository_undo",
                    "Restored the accepted configuration. The replaced files are kept in the data folder.",
                ),
                None => ("project_repository", "The repository's configuration is as accepted."),
            };
            let state = at.call(operation, input).await?;
            let difference = &state["difference"];
            let files = difference["files"].as_array().into_iter().flatten();
            let shown: Vec<String> =
                files.map(|file| format!("{}\n{}", string(file, "path"), string(file, "diff"))).collect();
            let text = if shown.is_empty() {
                done.to_owned()
            } else {
                format!(
                    "{}\nAccept it with --accept {}, or --undo.",
                    shown.join("\n"),
                    string(difference, "digest")
                )
            };
            Ok(Answer::new(state, text))
        }
        Project::Trust(asked) => trust::run(at, asked).await,
        Project::List => {
            let page = at.call("project_list", json!({})).await?;
            let keys = ["id", "name", "default_branch", "repo_path"];
            let rows: Vec<Vec<String>> =
                items(&page).iter().map(|item| keys.map(|key| string(item, key)).to_vec()).collect();
            let text = if rows.is_empty() {
                "No projects. Add one with `forge project add PATH`.".to_owned()
            } else {
                table(&["ID", "NAME", "BRANCH", "REPOSITORY"], &rows)
            };
            Ok(Answer::new(page, text))
        }
    }
}
