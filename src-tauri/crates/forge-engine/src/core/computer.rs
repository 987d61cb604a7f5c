//! What the engine found on this computer, for whoever wants to know whether it is well.

use forge_exec::{SandboxSupport, sandbox_support};

use crate::{World, core, error::Result};

/// What was there when the engine started, and does not change while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Computer {
    /// The version of the git program in use.
    pub git_version: (u32, u32, u32),
    /// Whether agents can go on without an engine: not where the keeper's program is missing.
    pub keeps_agents: bool,
    /// What the kernel can confine.
    pub sandbox: SandboxSupport,
}

/// What was looked at when it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// How many variables the profile of the user's login shell exports, or why it could not be read.
    pub login: std::result::Result<usize, String>,
    /// The damage of the database's content; none when it is whole.
    pub damage: Option<String>,
}

/// What does not change while the engine runs.
pub(crate) fn computer(world: &World) -> Computer {
    Computer {
        git_version: world.git().version(),
        keeps_agents: world.keeper().outlives_engine(),
        sandbox: sandbox_support(),
    }
}

/// Reads the whole database and the profile of the user's login shell.
///
/// # Errors
/// When the file of the database cannot be read for another reason than damage.
pub(crate) async fn examine(world: &World) -> Result<Examination> {
    let login = core::environment::read_login(world).await;
    Ok(Examination { login, damage: world.store().check().await? })
}
