//! `forge backup`: copies of the database, with an engine that runs or without one.

use std::{path::Path, sync::Arc};

use forge_engine::{Engine, Observer, StartError, Work, needs_restore};
use forge_model::storage::Backup;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    args::{self, Common},
    at::through,
    error::CliError,
    place,
    shown::{items, string, table},
};

/// What to do after a copy was chosen while Forge runs.
const RESTART: &str = "The next start of Forge restores the copy.";

pub(crate) async fn run(
    common: Common,
    what: args::Backup,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Option<Answer>, CliError> {
    let data_dir = place::data_dir(common.data_dir.clone())?;
    if Engine::holder_of(&data_dir).is_some() {
        return through(common, observer, Work::Nothing, async |at| match what {
            args::Backup::Create => Ok(made(at.call("database_backup_create", json!({})).await?)),
            args::Backup::List => Ok(listed(at.call("database_backups", json!({})).await?)),
            args::Backup::Restore { name } => {
                let answer = at.call("database_backup_restore", json!({ "name": name })).await?;
                Ok(Answer::new(answer, RESTART.to_owned()))
            }
        })
        .await;
    }
    let failed = |source| failed(&data_dir, source);
    match what {
        args::Backup::Create => Ok(made(value(&Engine::back_up_folder(&data_dir).await.map_err(failed)?)?)),
        args::Backup::List => {
            let all = Engine::backups_of_folder(&data_dir).map_err(failed)?;
            let page = json!({ "items": value(&all)?, "next_cursor": null });
            Ok(listed(page))
        }
        args::Backup::Restore { name } => {
            let restored = Engine::restore_folder(&data_dir, &name).await.map_err(failed)?;
            let text =
                format!("Restored {}. The replaced files are in the folder `set-aside`.", restored.name);
            Ok(Answer::new(json!({ "backup": value(&restored)?, "restart_required": false }), text))
        }
    }
    .map(Some)
}

fn failed(data_dir: &Path, source: StartError) -> CliError {
    use forge_engine::{BackupError, OpenError};
    match source {
        StartError::Open(OpenError::Backup(error @ BackupError::Unknown(_))) => {
            CliError::NotFound { message: error.to_string(), hint: "List them with `forge backup list`." }
        }
        source => CliError::Start { data_dir: data_dir.to_owned(), source },
    }
}

fn value(of: &impl serde::Serialize) -> Result<Value, CliError> {
    serde_json::to_value(of).map_err(|error| CliError::io("write the answer")(error.into()))
}

fn made(backup: Value) -> Answer {
    let text = format!("Copied the database to {}.", string(&backup, "path"));
    Answer::new(backup, text)
}

fn listed(page: Value) -> Answer {
    let row = |backup: &Value| {
        let size = backup["bytes"].as_u64().unwrap_or_default().div_ceil(1024);
        vec![
            string(backup, "name"),
            string(backup, "created_at"),
            format!("{size} KiB"),
            string(backup, "reason"),
        ]
    };
    let rows: Vec<Vec<String>> = items(&page).iter().map(row).collect();
    let text = if rows.is_empty() {
        "No copies of the database.".to_owned()
    } else {
        table(&["NAME", "MADE", "SIZE", "REASON"], &rows)
    };
    Answer::new(page, text)
}

/// What `forge doctor` says where the engine refuses to start on a damaged or emptied database; none for any other error.
pub(crate) async fn diagnose(data_dir: &Path, error: &CliError) -> Option<Answer> {
    let CliError::Start { source, .. } = error else { return None };
    if !needs_restore(source) {
        return None;
    }
    let newest: Option<Backup> = Engine::newest_good_backup(data_dir).await.ok().flatten();
    let remedy = newest.map_or_else(
        || "No usable copy exists. Keep this data folder, and start with a new one.".to_owned(),
        |backup| {
            format!(
                "Restore the newest usable copy, from {}: forge backup restore {}",
                backup.created_at, backup.name
            )
        },
    );
    let text = format!("BAD  database: {source}\n     {remedy}");
    let finding =
        json!({ "subject": "database", "ok": false, "detail": source.to_string(), "remedy": remedy });
    Some(Answer { good: false, ..Answer::new(json!({ "ok": false, "findings": [finding] }), text) })
}
