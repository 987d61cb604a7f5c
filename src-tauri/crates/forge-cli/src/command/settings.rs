//! `forge settings`: settings of Forge as a whole.

use forge_api::{
    operations::{SettingsGet, SettingsUpdate},
    ops::{Empty, settings::UpdateAppSettings},
};

use crate::{
    answer::Answer,
    args::{Setting, Settings},
    at::At,
    error::CliError,
    shown::table,
};

pub(crate) async fn run(at: &At, command: Settings) -> Result<Answer, CliError> {
    let settings = match command {
        Settings::Show => at.call(SettingsGet, Empty {}).await?,
        Settings::Set { setting, value } => {
            let (orphan_minutes, services_max) = match setting {
                Setting::OrphanMinutes => (Some(value), None),
                Setting::ServicesMax => (None, Some(value)),
            };
            at.call(SettingsUpdate, UpdateAppSettings { orphan_minutes, services_max }).await?
        }
    };
    let rows = [
        vec!["orphan_minutes".to_owned(), settings.orphan_minutes.to_string()],
        vec!["services_max".to_owned(), settings.services_max.to_string()],
    ];
    let text = table(&["SETTING", "VALUE"], &rows);
    Ok(Answer::new(settings.json, text))
}
