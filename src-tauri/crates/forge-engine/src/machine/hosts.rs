//! Hosts of the user's SSH configuration, to be picked as machines.

use std::{ffi::OsStr, path::PathBuf};

use forge_model::machine::{DEFAULT_ROOT, SshConfig, SshHost};

use super::command;
use crate::{EngineError, World, core, core::location::configured, error::Result};

/// The hosts that the configuration names, with where they lead; none where there is no configuration.
pub(crate) async fn ssh_hosts(world: &World) -> Result<Vec<SshHost>> {
    let variables = core::environment::user_variables(world).await;
    let Some(home) = variables.get(OsStr::new("HOME")).map(PathBuf::from) else { return Ok(Vec::new()) };
    let file = home.join(".ssh/config");
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let nobody =
        SshConfig { host: String::new(), user: None, port: None, identity_file: None, options: Vec::new() };
    let like = configured::ssh_config(world, nobody, DEFAULT_ROOT.to_owned()).await?;
    let found = forge_machines::import(&file, &home, &like).await;
    let found = found.map_err(|fault| EngineError::invalid("ssh", fault.to_string()))?;
    let machines = command::machines(world).await?;
    let hosts = found.into_iter().map(|host| {
        let known = machines.iter().find(|it| it.ssh.as_ref().is_some_and(|ssh| ssh.host == host.alias));
        let machine_id = known.map(|machine| machine.id.clone());
        let jump = host.jump.map(|jump| format!(" over {jump}")).unwrap_or_default();
        let target = format!("{}@{}:{}{jump}", host.user, host.host_name, host.port);
        SshHost { alias: host.alias, target, machine_id }
    });
    Ok(hosts.collect())
}
