//! Checks that a project's own files imply, offered where it has none.

use std::path::Path;

use forge_git::{GitError, Repo};
use forge_model::check_offer::CheckOffer;
use forge_model::ids::ProjectId;
use forge_model::loop_status::Subsystem;
use forge_reading::check_offer::{FILES, check_offers};
use serde_json::json;

use crate::{
    EngineError, World,
    core::{self, context::ProjectContext},
    error::Result,
    project::{self, command::expand_home, files::root_texts},
};

/// The checks that a project is offered: nothing where that is off, or where it has checks.
pub(crate) async fn offered_checks(world: &World, id: &ProjectId) -> Result<Vec<CheckOffer>> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    offers_for(world, &context).await
}

/// The checks that the files of a folder's repository imply, before there is a project.
pub(crate) async fn check_offers_of_folder(
    world: &World,
    path: &str,
    branch: Option<&str>,
) -> Result<Vec<CheckOffer>> {
    let wrong = |error: GitError| EngineError::invalid("repo_path", error.to_string());
    let repo = Repo::open(world.git(), Path::new(&expand_home(world, path))).await.map_err(wrong)?;
    let branch = match branch {
        Some(branch) => branch.to_owned(),
        None => repo.default_branch().await.map_err(wrong)?,
    };
    offers_of(&repo, &branch).await
}

/// Adds suggested checks to the project.
pub(crate) async fn take_checks(world: &World, id: &ProjectId, commands: &[String]) -> Result<()> {
    let offered = offered_checks(world, id).await?;
    let is_offered = |command: &&String| offered.iter().any(|offer| offer.command == **command);
    if let Some(unknown) = commands.iter().find(|command| !is_offered(command)) {
        return Err(EngineError::invalid("commands", format!("`{unknown}` is not a suggested check")));
    }
    if commands.is_empty() {
        return Err(EngineError::invalid("commands", "must name at least one check"));
    }
    project::command::patch_settings(world, id, &json!({ "review_config": { "ci_steps": commands } }))
        .await?;
    let context = core::contexts::context(world, &mut *world.store().read().await?, id).await?;
    let mut tx = world.store().write().await?;
    let effect = format!("added checks: {}", commands.join(", "));
    core::effects::record_effect(world, &mut tx, id, Subsystem::GateSuggestions, None, effect).await?;
    core::contexts::project_changed(world, &mut tx, &context.project, "settings").await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn offers_for(world: &World, context: &ProjectContext) -> Result<Vec<CheckOffer>> {
    let settings = &context.settings;
    let has_checks = settings.review_config.check_count() > 0;
    if !settings.inner_loop.gate_suggestions.enabled || has_checks {
        return Ok(Vec::new());
    }
    offers_of(&core::repository::repo(world, context).await?, &context.project.default_branch).await
}

async fn offers_of(repo: &Repo, branch: &str) -> Result<Vec<CheckOffer>> {
    let Some(commit) = repo.resolve(&format!("refs/heads/{branch}")).await? else {
        return Err(EngineError::invalid("default_branch", format!("no branch `{branch}`")));
    };
    Ok(check_offers(&root_texts(repo, &commit, FILES).await?))
}
