//! The machines that this engine asked something, whether they can be reached, and the keeper of each.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use forge_exec::{SandboxSupport, Variables};
use forge_keeper::{Keeper, Place, Refusal, TransferError};
use forge_machines::{Contact, EnvironmentError, Fault, KeeperProgram, MachineConfig, SshConfig, SshMachine};
use forge_model::event::EventType;
use forge_model::ids::{MachineId, ProjectId, TaskId};
use forge_model::machine::{Machine, MachineContact, MachineFault};
use forge_model::time::Timestamp;
use forge_store::Tx;
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    EngineError, World,
    core::{self, guarded::in_background, sync::locked},
    error::Result,
};

/// The folder of the sockets of shared sessions, in the data folder.
const CONTROL_FOLDER: &str = "ssh";

/// The program.
const SSH: &str = "ssh";

/// How long programs on a machine go on without being asked anything. Its keeper cannot tell an engine that is gone
/// from a connection that is cut or a computer that sleeps, and only a person gives a machine up.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

#[derive(Default)]
struct Contacts(Mutex<HashMap<MachineId, Asked>>);

/// A machine as it is asked. Cheap to clone: all clones share one session, and what is known of the machine.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The way to it.
    pub ssh: SshMachine,
    /// What runs programs there.
    pub keeper: Keeper,
    login: Arc<OnceCell<Arc<Variables>>>,
    layout: Arc<Mutex<Option<Layout>>>,
}

/// What stays as it is while a machine is not started anew.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// What the kernel there can confine.
    pub support: SandboxSupport,
    /// The environment that a login there sets up.
    pub login: Arc<Variables>,
    /// Where its keeper has all of its files.
    pub keepers_folder: PathBuf,
}

impl Asked {
    /// The environment that a login there sets up.
    ///
    /// # Errors
    /// When the machine cannot be used, or its profile ends the shell.
    pub(crate) async fn login(&self) -> std::result::Result<Arc<Variables>, EnvironmentError> {
        self.login.get_or_try_init(|| self.ssh.login_environment()).await.cloned()
    }

    /// What is known of it; asked by way of a task that is to run there, and again whenever the machine was out of reach.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub(super) async fn layout(
        &self,
        task: &TaskId,
        project: &ProjectId,
    ) -> std::result::Result<Layout, TransferError> {
        if let Some(known) = locked(&self.layout).clone() {
            return Ok(known);
        }
        // First: whatever else is asked goes over its connection.
        let support = self.keeper.sandbox_support().await?;
        let login = self.login().await.map_err(|error| match error {
            EnvironmentError::Machine(fault) => TransferError::Unreachable(std::io::Error::other(fault)),
            error @ EnvironmentError::NoAnswer { .. } => {
                TransferError::Refused(Refusal::System(error.to_string()))
            }
        })?;
        let standing = self.keeper.far_tree(task.as_str(), project.as_str(), &login).stand().await?;
        let keepers_folder = standing.path.ancestors().nth(3).unwrap_or(&standing.path).to_owned();
        let found = Layout { support, keepers_folder, login };
        *locked(&self.layout) = Some(found.clone());
        Ok(found)
    }

    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(&*self.ssh.contact().borrow(), Contact::Unreachable { .. })
    }
}

/// The machine as it is asked: one handle for all who ask.
///
/// # Errors
/// When the program of the keeper cannot be read, or no folder for its sessions can be made.
pub(crate) async fn asked(world: &World, machine: &Machine) -> Result<Asked> {
    let contacts = world.part::<Contacts>();
    if let Some(known) = locked(&contacts.0).get(&machine.id) {
        return Ok(known.clone());
    }
    let config = config_of(world, machine.ssh.clone(), machine.root.clone()).await?;
    let ssh = SshMachine::new(config);
    let keeper = ssh.keeper(world.keeper().epoch(), PATIENCE);
    let made = Asked { ssh, keeper, login: Arc::default(), layout: Arc::default() };
    let kept = match locked(&contacts.0).entry(machine.id.clone()) {
        Entry::Occupied(known) => return Ok(known.get().clone()),
        Entry::Vacant(free) => free.insert(made).clone(),
    };
    tell_changes(world, &machine.id, &kept);
    Ok(kept)
}

/// The keeper of a machine; that of this computer when none is named.
///
/// # Errors
/// When the machine is not known any more.
pub(crate) async fn keeper_of(world: &World, machine: Option<&MachineId>) -> Result<Keeper> {
    let Some(id) = machine else { return Ok(world.keeper().clone()) };
    let found = world.store().read().await?.machines().get(id).await?;
    let machine = found.ok_or_else(|| EngineError::not_found("machine", id))?;
    Ok(asked(world, &machine).await?.keeper)
}

/// From now on, runs on machines go on without this engine.
pub(crate) fn leave_running(world: &World) {
    locked(&world.part::<Contacts>().0).values().for_each(|known| known.keeper.leave_running());
}

/// A machine that was asked before, if it was.
pub(crate) fn known(world: &World, id: &MachineId) -> Option<Asked> {
    locked(&world.part::<Contacts>().0).get(id).cloned()
}

/// Why a machine cannot be reached, where that is known.
pub(crate) fn why_unreachable(world: &World, id: &MachineId) -> Option<String> {
    match &*known(world, id)?.ssh.contact().borrow() {
        Contact::Unreachable { fault, .. } => Some(fault.to_string()),
        Contact::Unknown | Contact::Live { .. } => None,
    }
}

/// Drops the way to a machine: the next who asks finds it anew.
pub(crate) fn forget(world: &World, id: &MachineId) {
    locked(&world.part::<Contacts>().0).remove(id);
}

/// The machine with what is known of the contact.
pub(crate) fn with_contact(world: &World, mut machine: Machine) -> Machine {
    let known = locked(&world.part::<Contacts>().0).get(&machine.id).map(|known| known.ssh.contact());
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
pub(crate) async fn config_of(
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
        owner: core::keeper::owner_of(world).await?,
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

/// Tells windows and the tasks there whenever the contact changes, for as long as somebody asks the machine.
fn tell_changes(world: &World, id: &MachineId, asked: &Asked) {
    let (world, id, mut contact) = (world.clone(), id.clone(), asked.ssh.contact());
    let layout = Arc::downgrade(&asked.layout);
    in_background(&world.clone(), async move {
        loop {
            tokio::select! {
                changed = contact.changed() => if changed.is_err() { return },
                () = world.inner.shutdown.cancelled() => return,
            }
            let is_live = contact.borrow_and_update().is_live();
            if let (false, Some(layout)) = (is_live, layout.upgrade()) {
                *locked(&layout) = None;
            }
            let tell = async {
                let mut tx = world.store().write().await?;
                machine_changed(&world, &mut tx, &id).await?;
                tx.commit().await?;
                for changed in &world.features().moments.on_contact {
                    changed(&world, &id, is_live).await?;
                }
                Ok::<(), EngineError>(())
            };
            if let Err(error) = tell.await {
                tracing::warn!(machine = %id, %error, "failed to tell of the contact with a machine");
            }
            // Tasks that wait for a machine look again.
            super::super::scheduler::wake_waiting(&world);
        }
    });
}

/// Records that a machine, or the contact with it, is another one now.
pub(crate) async fn machine_changed(world: &World, tx: &mut Tx, id: &MachineId) -> Result<()> {
    tx.emit(EventType::MachineChanged, world.now(), None, None, id.as_str(), &json!({})).await?;
    Ok(())
}

/// What a person is told of a fault.
pub(crate) fn told(fault: &Fault) -> MachineFault {
    MachineFault { message: fault.to_string(), remedy: fault.remedy() }
}

fn timestamp(at: SystemTime) -> Timestamp {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
