//! The keepers elsewhere that this engine asked something, and whether they can be reached.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use forge_keeper::Keeper;
use forge_machines::{
    Contact, Fault, SshMachine, Step, Way,
    container::{Containers, Opening, TaskContainer},
    job::{self, Cluster, TaskJob},
    kubernetes::Kubernetes,
    slurm::Slurm,
};
use forge_model::event::EventType;
use forge_model::ids::{MachineId, TaskId};
use forge_model::machine::{Machine, MachineContact, MachineFault, MachineKind};
use forge_model::time::Timestamp;
use forge_store::Tx;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{guarded::in_background, sync::locked},
    error::Result,
};

use super::{
    asked::{Asked, Own},
    configured, jobs,
    keeper_id::KeeperId,
};

#[derive(Default)]
struct Contacts {
    asked: Mutex<HashMap<KeeperId, Asked>>,
    /// What makes containers, by machine: an image is built once for all tasks.
    openings: Mutex<HashMap<MachineId, Opening>>,
    clusters: Mutex<HashMap<MachineId, Arc<dyn Cluster>>>,
    turns: Mutex<HashMap<KeeperId, Arc<tokio::sync::Mutex<()>>>>,
}

/// The keeper of a task on a machine as it is asked: one handle for all who ask.
///
/// # Errors
/// When the program of the keeper cannot be read, or no folder for its sessions can be made.
pub(crate) async fn asked(world: &World, machine: &Machine, task: &TaskId) -> Result<Asked> {
    let contacts = world.part::<Contacts>();
    let id = KeeperId::of(machine, task);
    if let Some(known) = locked(&contacts.asked).get(&id) {
        return Ok(known.clone());
    }
    let made = match machine.kind {
        MachineKind::Ssh => {
            let ssh = machine.ssh.clone().ok_or_else(|| EngineError::invalid("ssh", "is required"))?;
            Asked::by(world, id, configured::ssh_config(world, ssh, machine.root.clone()).await?)
        }
        MachineKind::Container => {
            let container = opening(world, machine).await?.of_task(task.as_str());
            Asked::in_own(world, id, Own::Container(Arc::new(container)))
        }
        MachineKind::Slurm | MachineKind::Kubernetes => {
            let ledger = Arc::new(jobs::Rows::new(world, &machine.id, task));
            let cluster = Box::pin(cluster(world, machine)).await?;
            let job = TaskJob::new(cluster, &machine.name, task.as_str(), ledger);
            Asked::in_own(world, id, Own::Job(Arc::new(job)))
        }
    };
    Ok(asked_by_all(world, made))
}

/// The keeper in a container that was listed, as it is asked by all.
pub(crate) fn asked_in(world: &World, id: KeeperId, container: TaskContainer) -> Asked {
    match known(world, &id) {
        Some(known) => known,
        None => asked_by_all(world, Asked::in_own(world, id, Own::Container(Arc::new(container)))),
    }
}

fn asked_by_all(world: &World, made: Asked) -> Asked {
    let contacts = world.part::<Contacts>();
    let kept = match locked(&contacts.asked).entry(made.id.clone()) {
        Entry::Occupied(known) => return known.get().clone(),
        Entry::Vacant(free) => free.insert(made).clone(),
    };
    tell_changes(world, &kept);
    kept
}

/// What makes the containers of a machine.
///
/// # Errors
/// When the program of the keeper cannot be read, or the machine has no containers.
pub(crate) async fn opening(world: &World, machine: &Machine) -> Result<Opening> {
    let contacts = world.part::<Contacts>();
    if let Some(known) = locked(&contacts.openings).get(&machine.id) {
        return Ok(known.clone());
    }
    let config = machine.container.as_ref();
    let config = config.ok_or_else(|| EngineError::invalid("container", "is required"))?;
    let setup = configured::container_setup(world, machine, config).await?;
    let mut openings = locked(&contacts.openings);
    Ok(openings.entry(machine.id.clone()).or_insert_with(|| Opening::new(setup)).clone())
}

/// The cluster that a machine is. Its login node is asked by the session that its own tasks use.
///
/// # Errors
/// When the program of the keeper cannot be read, the machine is no cluster, or its login node is not known any more.
pub(crate) async fn cluster(world: &World, machine: &Machine) -> Result<Arc<dyn Cluster>> {
    let contacts = world.part::<Contacts>();
    if let Some(known) = locked(&contacts.clusters).get(&machine.id) {
        return Ok(Arc::clone(known));
    }
    let made: Arc<dyn Cluster> = match &machine.kubernetes {
        Some(config) => {
            Arc::new(Kubernetes::new(configured::kubernetes_setup(world, machine, config).await?))
        }
        None => Arc::new(slurm(world, machine).await?),
    };
    let mut clusters = locked(&contacts.clusters);
    Ok(Arc::clone(clusters.entry(machine.id.clone()).or_insert(made)))
}

/// A cluster of Slurm.
async fn slurm(world: &World, machine: &Machine) -> Result<Slurm> {
    let config = machine.slurm.as_ref().ok_or_else(|| EngineError::invalid("slurm", "is required"))?;
    let login = match &config.via {
        Some(name) => Some(asked(world, &login_node(world, name).await?, &TaskId(String::new())).await?.link),
        None => None,
    };
    Ok(Slurm::new(configured::slurm_setup(world, machine, config, login).await?))
}

async fn login_node(world: &World, name: &str) -> Result<Machine> {
    let found = world.store().read().await?.machines().by_name(name).await?;
    let found = found.filter(|found| found.kind == MachineKind::Ssh);
    found.ok_or_else(|| EngineError::invalid("slurm.via", format!("there is no SSH machine named {name}")))
}

/// The keeper in what a job left, for whoever clears up: nobody else asks it.
pub(crate) fn asked_behind(world: &World, id: KeeperId, left: Arc<dyn Way>) -> Asked {
    Asked::by(world, id, left)
}

/// The keeper of a task on a machine; that of this computer when none is named.
///
/// # Errors
/// When the machine is not known any more.
pub(crate) async fn keeper_of(world: &World, machine: Option<&MachineId>, task: &TaskId) -> Result<Keeper> {
    let Some(id) = machine else { return Ok(world.keeper().clone()) };
    let found = world.store().read().await?.machines().get(id).await?;
    let machine = found.ok_or_else(|| EngineError::not_found("machine", id))?;
    Ok(asked(world, &machine, task).await?.keeper)
}

/// Tests a machine step by step. Whoever waits for it since it failed is not made to wait longer.
///
/// # Errors
/// When the program of the keeper cannot be read, or no folder for its sessions can be made.
pub(crate) async fn test(world: &World, machine: &Machine, programs: &[&str]) -> Result<Vec<Step>> {
    let steps = match (&machine.ssh, &machine.container) {
        (Some(ssh), _) => {
            let config = configured::ssh_config(world, ssh.clone(), machine.root.clone()).await?;
            SshMachine::new(config).test(programs, |_| {}).await
        }
        (None, Some(container)) => {
            let setup = configured::container_setup(world, machine, container).await?;
            Containers::test(setup, programs, |_| {}).await
        }
        (None, None) => job::test(&cluster(world, machine).await?, programs, |_| {}).await,
    };
    for known in all_known(world, &machine.id) {
        known.link.nudge().await;
    }
    Ok(steps)
}

/// Waits until nobody else makes, clears up or removes what this keeper is in.
pub(crate) async fn turn(world: &World, id: &KeeperId) -> tokio::sync::OwnedMutexGuard<()> {
    let contacts = world.part::<Contacts>();
    let turn = {
        let mut turns = locked(&contacts.turns);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(id.clone()).or_default())
    };
    turn.lock_owned().await
}

/// From now on, runs on machines go on without this engine.
pub(crate) fn leave_running(world: &World) {
    locked(&world.part::<Contacts>().asked).values().for_each(|known| known.keeper.leave_running());
}

/// A keeper that was asked before, if it was.
pub(crate) fn known(world: &World, id: &KeeperId) -> Option<Asked> {
    locked(&world.part::<Contacts>().asked).get(id).cloned()
}

/// The keeper of a task on a machine, whatever the kind of that, if it was asked before.
pub(crate) fn known_of(world: &World, machine: &MachineId, task: &TaskId) -> Option<Asked> {
    all_known(world, machine).into_iter().find(|known| known.id.serves(task))
}

/// All keepers of a machine that were asked before.
pub(crate) fn all_known(world: &World, machine: &MachineId) -> Vec<Asked> {
    let contacts = world.part::<Contacts>();
    let known = locked(&contacts.asked);
    known.values().filter(|known| known.id.machine == *machine).cloned().collect()
}

/// Why the keeper of a task on a machine cannot be reached, where that is known.
pub(crate) fn why_unreachable(world: &World, machine: &MachineId, task: &TaskId) -> Option<String> {
    known_of(world, machine, task)?.fault().map(|fault| fault.to_string())
}

/// Drops every way to a machine: the next who asks finds it anew.
pub(crate) fn forget(world: &World, machine: &MachineId) {
    let contacts = world.part::<Contacts>();
    locked(&contacts.openings).remove(machine);
    locked(&contacts.clusters).remove(machine);
    locked(&contacts.asked).retain(|id, known| keep_or_end(id.machine != *machine, known));
}

/// Drops the way to one keeper.
pub(crate) fn forget_one(world: &World, id: &KeeperId) {
    let contacts = world.part::<Contacts>();
    locked(&contacts.asked).retain(|it, known| keep_or_end(it != id, known));
}

fn keep_or_end(is_kept: bool, known: &Asked) -> bool {
    if !is_kept {
        known.over.cancel();
    }
    is_kept
}

/// Machines that a test says cannot be reached.
#[cfg(test)]
#[derive(Default)]
pub(crate) struct CutOff(pub(crate) Mutex<std::collections::HashSet<MachineId>>);

/// The machine with what is known of the contact. Of containers and jobs, one that runs tells that the machine can be used,
/// and what is wrong with a single one tells nothing of the machine.
pub(crate) fn with_contact(world: &World, machine: Machine) -> Machine {
    #[cfg(test)]
    if locked(&world.part::<CutOff>().0).contains(&machine.id) {
        let contact = MachineContact::Unreachable;
        return Machine { contact, contact_since: Some(Timestamp(0)), ..machine };
    }
    let all = all_known(world, &machine.id).into_iter().map(|known| known.link.contact().borrow().clone());
    // A connection that ended with no reason yet is one of a single container or job, too.
    let is_of_one = |fault: &Fault| {
        fault.is_of_one_task() || machine.kind.is_of_tasks() && matches!(fault, Fault::Ended { .. })
    };
    let rank = |contact: &Contact| match contact {
        Contact::Unreachable { fault, .. } if is_of_one(fault) => 0,
        Contact::Unknown => 1,
        Contact::Unreachable { .. } => 2,
        Contact::Live { .. } => 3,
    };
    let best = all.filter(|contact| rank(contact) > 0).max_by_key(rank);
    told_contact(machine, best.unwrap_or(Contact::Unknown))
}

/// The machine with what is known of the contact with the keeper of a task there.
pub(crate) fn with_contact_of(world: &World, machine: Machine, task: &TaskId) -> Machine {
    let known = known(world, &KeeperId::of(&machine, task));
    let contact = known.map_or(Contact::Unknown, |known| known.link.contact().borrow().clone());
    told_contact(machine, contact)
}

fn told_contact(mut machine: Machine, contact: Contact) -> Machine {
    (machine.contact, machine.contact_since, machine.contact_error) = match contact {
        Contact::Unknown => (MachineContact::Unknown, None, None),
        Contact::Live { since, .. } => (MachineContact::Live, Some(timestamp(since)), None),
        Contact::Unreachable { since, fault } => {
            (MachineContact::Unreachable, Some(timestamp(since)), Some(told(&fault)))
        }
    };
    machine
}

/// Tells windows and the tasks there whenever the contact changes, for as long as somebody asks the keeper.
fn tell_changes(world: &World, asked: &Asked) {
    let (world, id, mut contact) = (world.clone(), asked.id.clone(), asked.link.contact());
    let forget_layout = asked.forgetful();
    in_background(&world.clone(), async move {
        loop {
            tokio::select! {
                changed = contact.changed() => if changed.is_err() { return },
                () = world.inner.shutdown.cancelled() => return,
            }
            let is_live = contact.borrow_and_update().is_live();
            if !is_live {
                forget_layout();
            }
            let tell = async {
                let mut tx = world.store().write().await?;
                machine_changed(&world, &mut tx, &id.machine).await?;
                tx.commit().await?;
                for changed in &world.features().moments.on_contact {
                    changed(&world, &id, is_live).await?;
                }
                Ok::<(), EngineError>(())
            };
            if let Err(error) = tell.await {
                tracing::warn!(machine = %id.machine, %error, "failed to tell of the contact with a machine");
            }
            world.features().moments.after_contact.iter().for_each(|wake| wake(&world));
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
