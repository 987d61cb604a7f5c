//! Machines, found by what people call them.

use forge_model::ids::MachineId;
use forge_model::machine::Machine;
use forge_store::ReadConnection;

use crate::{EngineError, error::Result};

/// One machine, by id or name. Of the contact with it nothing is known here.
pub(crate) async fn machine(conn: &mut ReadConnection, id: &MachineId) -> Result<Machine> {
    let found = match conn.machines().get(id).await? {
        Some(machine) => Some(machine),
        None => conn.machines().by_name(id.as_str()).await?,
    };
    found.ok_or_else(|| EngineError::not_found("machine", id))
}
