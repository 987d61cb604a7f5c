//! Services that a project's own files imply, offered to people.

use std::collections::BTreeSet;

use forge_model::ids::ProjectId;
use forge_model::service::{KEY, MAX_SERVICES, ServiceOffer};
use forge_reading::service_offer::{files, service_offers};
use serde_json::{Value, json};

use crate::{
    EngineError, World, core,
    error::Result,
    project::{
        command::change_settings,
        files::{default_commit, root_texts, text_at},
    },
};

/// The services that a project is offered: those of which it has neither the name nor the command.
pub(crate) async fn offered(world: &World, id: &ProjectId) -> Result<Vec<ServiceOffer>> {
    let mut conn = world.store().read().await?;
    let row = conn.projects().get(id).await?.ok_or_else(|| EngineError::not_found("project", id))?;
    let context = core::contexts::context(world, &mut conn, id).await?;
    drop(conn);
    let repo = core::repository::repo(world, &context).await?;
    let Some(commit) = default_commit(&repo, &row).await? else { return Ok(Vec::new()) };
    let (below, in_root): (Vec<&str>, Vec<&str>) = files().partition(|file| file.contains('/'));
    let mut found = root_texts(&repo, &commit, &in_root).await?;
    for file in below {
        // What is no text, or too long, says nothing.
        if let Ok(Some(text)) = text_at(&repo, &commit, file).await? {
            found.insert(file.to_owned(), text);
        }
    }
    let named = &context.settings.services;
    let is_new = |offer: &ServiceOffer| {
        named.iter().all(|one| one.name != offer.service.name && one.command.trim() != offer.service.command)
    };
    let room = MAX_SERVICES.saturating_sub(named.len());
    Ok(service_offers(&found).into_iter().filter(is_new).take(room).collect())
}

/// Makes offered services the project's own. Nothing is started.
pub(crate) async fn take(world: &World, id: &ProjectId, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Err(EngineError::invalid("names", "must name at least one suggested service"));
    }
    let mut offers = offered(world, id).await?;
    let asked: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let is_offered = |name: &&&str| offers.iter().any(|offer| offer.service.name == **name);
    if let Some(unknown) = asked.iter().find(|name| !is_offered(name)) {
        let names: Vec<&str> = offers.iter().map(|offer| offer.service.name.as_str()).collect();
        let others =
            if names.is_empty() { "none is".to_owned() } else { format!("these are: {}", names.join(", ")) };
        let message = format!("`{unknown}` is not a suggested service; {others}");
        return Err(EngineError::invalid("names", message));
    }
    offers.retain(|offer| asked.contains(offer.service.name.as_str()));
    let added = |settings: &Value| {
        // Those of the repository stay its own.
        let mut own = settings.get(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        own.extend(offers.iter().map(|offer| json!(offer.service)));
        json!({ KEY: own })
    };
    change_settings(world, id, added).await.map(drop)
}
