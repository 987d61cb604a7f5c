//! The machines that this engine asked something, and whether they can be reached.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use forge_keeper::Place;
use forge_machines::{Contact, Fault, KeeperProgram, MachineConfig, SshConfig, SshMachine};
use forge_model::event::EventType;
use forge_model::ids::MachineId;
use forge_model::machine::{Machine, MachineContact, MachineFault};
use forge_model::time::Timestamp;
use forge_store::Tx;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    EngineError, World,
    core::{self, guarded::in_background, sync::locked},
    error::Result,
};

/// The folder of the sockets of shared sessions, in the data folder.
const CONTROL_FOLDER: &str = "ssh";

/// The program.
const SSH: &str = "ssh";

#[derive(Default)]
struct Contacts(Mutex<HashMap<MachineId, SshMachine>>);

/// The machine as it is asked: one handle for all who ask.
///
/// # Errors
/// When the program of the keeper cannot be read, or no folder for its sessions can be made.
pub(super) async fn asked(world: &World, machine: &Machine) -> Result<SshMachine> {
    let contacts = world.part::<Contacts>();
    if let Some(known) = locked(&contacts.0).get(&machine.id) {
        return Ok(known.clone());
    }
    let config = config_of(world, machine.ssh.clone(), machine.root.clone()).await?;
    let made = SshMachine::new(config);
    let kept = locked(&contacts.0).entry(machine.id.clone()).or_insert_with(|| made.clone()).clone();
    tell_changes(world, &machine.id, &kept);
    Ok(kept)
}

/// Drops the way to a machine: the next who asks finds it anew.
pub(super) fn forget(world: &World, id: &MachineId) {
    locked(&world.part::<Contacts>().0).remove(id);
}

/// The machine with what is known of the contact.
pub(super) fn with_contact(world: &World, mut machine: Machine) -> Machine {
    let known = locked(&world.part::<Contacts>().0).get(&machine.id).map(|known| known.contact());
    let contact = known.map_or(Contact::Unknown, |known| known.borrow().clone());
    (machine.contact, machine.contact_since, machine.contact_error) = match contact {
        Contact::Unknown => (MachineContact::Unknown, None, None),
        Contact::Live { since, .. } => (MachineContact::Live, Some(timestamp(since)), None),
        Contact::Unreachable { since, fault } => {
            (MachineContact::Unreachable, Some(timestamp(since)), Some(told(&fault)))
        }
    };
    machine
}

/// What is needed to reach a machine from here.
pub(super) async fn config_of(
    world: &World,
    ssh: forge_model::machine::SshConfig,
    root: String,
) -> Result<MachineConfig> {
    let forge_model::machine::SshConfig { host, user, port, identity_file, options } = ssh;
    let control_folder = world.data_dir().join(CONTROL_FOLDER);
    core::private_data::make(&control_folder)
        .map_err(EngineError::io("make the folder of ssh's sessions"))?;
    Ok(MachineConfig {
        ssh: SshConfig { host, user, port, identity_file: identity_file.map(PathBuf::from), options },
        root,
        owner: owner_of(world),
        keepers: keepers_of(world).await?,
        control_folder,
        program: SSH.into(),
        environment: Arc::new(core::environment::user_variables(world).await),
        known_as: None,
    })
}

/// The keepers that can be sent: the one beside this program, which is for machines like this one.
async fn keepers_of(world: &World) -> Result<Vec<KeeperProgram>> {
    let Place::Program(path) = world.inner.config.keeper.clone() else { return Ok(Vec::new()) };
    let read = tokio::task::spawn_blocking(move || KeeperProgram::read(&path)).await;
    let read = read.map_err(std::io::Error::other).and_then(|read| read.map_err(std::io::Error::other));
    Ok(vec![read.map_err(EngineError::io("read the keeper's program"))?])
}

/// Whose programs run there: those of these data, on this computer.
fn owner_of(world: &World) -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    let mut hash = Sha256::new();
    hash.update(host.as_encoded_bytes());
    hash.update([0]);
    hash.update(world.data_dir().as_os_str().as_encoded_bytes());
    let digest = hash.finalize();
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Tells windows whenever the contact changes, for as long as somebody asks the machine.
fn tell_changes(world: &World, id: &MachineId, machine: &SshMachine) {
    let (world, id, mut contact) = (world.clone(), id.clone(), machine.contact());
    in_background(&world.clone(), async move {
        while contact.changed().await.is_ok() {
            let tell = async {
                let mut tx = world.store().write().await?;
                machine_changed(&world, &mut tx, &id).await?;
                Ok::<(), EngineError>(tx.commit().await?)
            };
            if let Err(error) = tell.await {
                tracing::warn!(machine = %id, %error, "failed to tell of the contact with a machine");
            }
        }
    });
}

/// Records that a machine, or the contact with it, is another one now.
pub(super) async fn machine_changed(world: &World, tx: &mut Tx, id: &MachineId) -> Result<()> {
    tx.emit(EventType::MachineChanged, world.now(), None, None, id.as_str(), &json!({})).await?;
    Ok(())
}

/// What a person is told of a fault.
pub(super) fn told(fault: &Fault) -> MachineFault {
    MachineFault { message: fault.to_string(), remedy: fault.remedy() }
}

fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
