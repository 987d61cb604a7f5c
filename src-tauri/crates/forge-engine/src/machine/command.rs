//! Adding, changing, removing and listing machines.

use forge_model::ids::MachineId;
use forge_model::machine::{DEFAULT_ROOT, Machine, MachineCaps, MachineContact, MachineKind, SshConfig};

use super::contacts::{self, machine_changed};
use crate::{ConflictCode, EngineError, World, error::Result};

/// A machine to be added, or what is to change of one.
#[derive(Debug, Clone, Default)]
pub struct MachineChange {
    /// What people call it.
    pub name: Option<String>,
    /// How `ssh` reaches it.
    pub ssh: Option<SshConfig>,
    /// The folder of Forge there.
    pub root: Option<String>,
    /// What tasks ask for.
    pub labels: Option<Vec<String>>,
    /// What may run there at once.
    pub caps: Option<MachineCaps>,
}

/// All machines, by name.
pub(crate) async fn machines(world: &World) -> Result<Vec<Machine>> {
    let all = world.store().read().await?.machines().list().await?;
    Ok(all.into_iter().map(|machine| contacts::with_contact(world, machine)).collect())
}

/// One machine, by id or name.
pub(crate) async fn machine(world: &World, id: &MachineId) -> Result<Machine> {
    let mut conn = world.store().read().await?;
    let found = match conn.machines().get(id).await? {
        Some(machine) => Some(machine),
        None => conn.machines().by_name(id.as_str()).await?,
    };
    let machine = found.ok_or_else(|| EngineError::not_found("machine", id))?;
    Ok(contacts::with_contact(world, machine))
}

/// Adds a machine.
pub(crate) async fn create_machine(world: &World, new: MachineChange) -> Result<Machine> {
    let required = |field: &str| EngineError::invalid(field, "is required");
    let now = world.now();
    let machine = Machine {
        id: world.new_id(),
        name: new.name.clone().ok_or_else(|| required("name"))?,
        kind: MachineKind::Ssh,
        ssh: new.ssh.clone().ok_or_else(|| required("ssh"))?,
        root: DEFAULT_ROOT.to_owned(),
        labels: Vec::new(),
        caps: MachineCaps::default(),
        draining: false,
        created_at: now,
        updated_at: now,
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
    };
    write_machine(world, machine, new).await
}

/// Changes a machine.
pub(crate) async fn update_machine(world: &World, id: &MachineId, change: MachineChange) -> Result<Machine> {
    let found = machine(world, id).await?;
    let written = write_machine(world, found, change).await?;
    // The way that was found may lead elsewhere now.
    contacts::forget(world, &written.id);
    Ok(contacts::with_contact(world, written))
}

/// Removes a machine.
pub(crate) async fn delete_machine(world: &World, id: &MachineId) -> Result<()> {
    let id = machine(world, id).await?.id;
    let mut tx = world.store().write().await?;
    tx.machines_mut().delete(&id).await?;
    machine_changed(world, &mut tx, &id).await?;
    tx.commit().await?;
    contacts::forget(world, &id);
    Ok(())
}

async fn write_machine(world: &World, mut machine: Machine, change: MachineChange) -> Result<Machine> {
    machine.name = change.name.unwrap_or(machine.name).trim().to_owned();
    machine.ssh = change.ssh.unwrap_or(machine.ssh);
    machine.ssh.host = machine.ssh.host.trim().to_owned();
    machine.root = change.root.unwrap_or(machine.root).trim().trim_end_matches('/').to_owned();
    machine.labels = change.labels.unwrap_or(machine.labels);
    machine.caps = change.caps.unwrap_or(machine.caps);
    machine.updated_at = world.now();
    let findings = machine.findings();
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let mut tx = world.store().write().await?;
    if tx.machines().by_name(&machine.name).await?.is_some_and(|other| other.id != machine.id) {
        let message = format!("there is a machine named {} already", machine.name);
        return Err(EngineError::conflict(ConflictCode::NameTaken, message));
    }
    tx.machines_mut().put(&machine).await?;
    machine_changed(world, &mut tx, &machine.id).await?;
    tx.commit().await?;
    Ok(machine)
}
