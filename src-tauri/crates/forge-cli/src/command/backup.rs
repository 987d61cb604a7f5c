//! `forge backup`: copies of the database, with an engine that runs or without one.

use std::{path::Path, sync::Arc};

use forge_api::{
    Reply,
    operations::{DatabaseBackupCreate, DatabaseBackupRestore, DatabaseBackups},
    ops::{Empty, storage::BackupPath},
};
use forge_engine::{Observer, StartError, Work, data_folder, needs_restore};
use forge_model::storage::Backup;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    args::{self, Common},
    at::through,
    error::CliError,
    place,
    shown::table,
};

/// What to do after a copy was chosen while Forge runs.
const RESTART: &str = "The next start of Forge restores the copy.";

pub(crate) async fn run(
    common: Common,
    what: args::Backup,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Option<Answer>, CliError> {
    let data_dir = place::data_dir(common.data_dir.clone())?;
    if data_folder::holder(&data_dir).is_some() {
        return through(common, observer, Work::Nothing, async |at| match what {
            args::Backup::Create => Ok(made(at.call(DatabaseBackupCreate, Empty {}).await?)),
            args::Backup::List => {
                let page = at.call(DatabaseBackups, Empty {}).await?;
                Ok(listed(page.json, &page.value.items))
            }
            args::Backup::Restore { name } => {
                let answer = at.call(DatabaseBackupRestore, BackupPath { name }).await?;
                Ok(Answer::new(answer.json, RESTART.to_owned()))
            }
        })
        .await;
    }
    let failed = |source| failed(&data_dir, source);
    match what {
        args::Backup::Create => {
            let backup = data_folder::back_up(&data_dir).await.map_err(failed)?;
            Ok(made(Reply { json: value(&backup)?, value: backup }))
        }
        args::Backup::List => {
            let all = data_folder::backups(&data_dir).map_err(failed)?;
            let page = json!({ "items": value(&all)?, "next_cursor": null });
            Ok(listed(page, &all))
        }
        args::Backup::Restore { name } => {
            let restored = data_folder::restore(&data_dir, &name).await.map_err(failed)?;
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

fn made(backup: Reply<Backup>) -> Answer {
    let text = format!("Copied the database to {}.", backup.path);
    Answer::new(backup.json, text)
}

fn listed(page: Value, backups: &[Backup]) -> Answer {
    let row = |backup: &Backup| {
        let size = backup.bytes.div_ceil(1024);
        let reason = backup.reason.map(|reason| reason.to_string()).unwrap_or_default();
        vec![backup.name.clone(), backup.created_at.to_string(), format!("{size} KiB"), reason]
    };
    let rows: Vec<Vec<String>> = backups.iter().map(row).collect();
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
    let newest: Option<Backup> = data_folder::newest_good_backup(data_dir).await.ok().flatten();
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
