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
            let of = |which: Setting| (setting == which).then_some(value);
            let change = UpdateAppSettings {
                orphan_minutes: of(Setting::OrphanMinutes),
                services_max: of(Setting::ServicesMax),
                terminal_remote: of(Setting::TerminalRemote).map(|value| value != 0),
            };
            at.call(SettingsUpdate, change).await?
        }
    };
    let rows = [
        vec!["orphan_minutes".to_owned(), settings.orphan_minutes.to_string()],
        vec!["services_max".to_owned(), settings.services_max.to_string()],
        vec!["terminal_remote".to_owned(), u8::from(settings.terminal_remote).to_string()],
    ];
    let text = table(&["SETTING", "VALUE"], &rows);
    Ok(Answer::new(settings.json, text))
}
