//! Adding, changing, removing and listing machines.

use std::sync::Arc;

use forge_machines::kubernetes::current_context;
use forge_model::ids::MachineId;
use forge_model::machine::container::ContainerConfig;
use forge_model::machine::kubernetes::KubernetesConfig;
use forge_model::machine::slurm::SlurmConfig;
use forge_model::machine::{Machine, MachineCaps, MachineContact, MachineKind, MachineQuota, SshConfig};

use forge_store::{Tx, table::jobs::JobRow};

use crate::{
    ConflictCode, EngineError, World,
    core::{
        self,
        location::contacts::{self, machine_changed},
        prerequisites::named,
    },
    error::Result,
};

use super::jobs;

/// A machine to be added, or what is to change of one.
#[derive(Debug, Clone, Default)]
pub struct MachineChange {
    /// Display name.
    pub name: Option<String>,
    /// How `ssh` reaches it.
    pub ssh: Option<SshConfig>,
    /// How its containers are made.
    pub container: Option<ContainerConfig>,
    /// What its jobs ask for.
    pub slurm: Option<SlurmConfig>,
    /// What its Jobs of Kubernetes ask for.
    pub kubernetes: Option<KubernetesConfig>,
    /// The folder of Forge there.
    pub root: Option<String>,
    /// What tasks ask for.
    pub labels: Option<Vec<String>>,
    /// What may run there at once.
    pub caps: Option<MachineCaps>,
    /// What may run there on one day.
    pub quota: Option<MachineQuota>,
    /// Whether nothing new starts there.
    pub draining: Option<bool>,
}

/// All machines, by name.
pub(crate) async fn machines(world: &World) -> Result<Vec<Machine>> {
    let all = world.store().read().await?.machines().list().await?;
    Ok(all.into_iter().map(|machine| contacts::with_contact(world, machine)).collect())
}

/// One machine, by id or name.
pub(crate) async fn machine(world: &World, id: &MachineId) -> Result<Machine> {
    let machine = core::machines::machine(&mut *world.store().read().await?, id).await?;
    Ok(contacts::with_contact(world, machine))
}

/// Adds a machine.
pub(crate) async fn create_machine(world: &World, new: MachineChange) -> Result<Machine> {
    let new = with_context(world, new).await?;
    let required = |field: &str| EngineError::invalid(field, "is required");
    let kind = match (&new.ssh, &new.container, &new.slurm, &new.kubernetes) {
        (Some(_), _, _, _) => MachineKind::Ssh,
        (None, Some(_), _, _) => MachineKind::Container,
        (None, None, Some(_), _) => MachineKind::Slurm,
        (None, None, None, Some(_)) => MachineKind::Kubernetes,
        (None, None, None, None) => {
            let message = "is required, or `container`, or `slurm`, or `kubernetes`";
            return Err(EngineError::invalid("ssh", message));
        }
    };
    let now = world.now();
    let machine = Machine {
        id: world.new_id(),
        name: new.name.clone().ok_or_else(|| required("name"))?,
        kind,
        ssh: None,
        container: None,
        slurm: None,
        kubernetes: None,
        root: kind.default_root().to_owned(),
        labels: Vec::new(),
        caps: MachineCaps::default(),
        quota: MachineQuota::default(),
        draining: false,
        created_at: now,
        updated_at: now,
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
        runs: 0,
        tasks: 0,
    };
    write_machine(world, machine, new).await
}

/// Changes a machine.
pub(crate) async fn update_machine(world: &World, id: &MachineId, change: MachineChange) -> Result<Machine> {
    let change = with_context(world, change).await?;
    let found = machine(world, id).await?;
    let way = way_of(&found);
    let engine = |machine: Option<&ContainerConfig>| machine.map(|container| container.engine);
    let changes_engine =
        change.container.is_some() && engine(change.container.as_ref()) != engine(found.container.as_ref());
    if changes_engine && found.container.is_some() && found.tasks > 0 {
        let message = format!(
            "containers of tasks are on {}: drain it, and close those tasks or reset their workspaces first",
            found.name
        );
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    let changes_folder = change.root.as_ref().is_some_and(|root| *root != found.root);
    if found.kind.is_of_jobs() && (changes_folder || changes_cluster(&found, &change)) {
        require_no_jobs(world, &found).await?;
    }
    let written = write_machine(world, found, change).await?;
    if way != way_of(&written) {
        // The way that was found leads elsewhere now.
        contacts::forget(world, &written.id);
        for cluster in clusters_via(world, &written.name).await? {
            contacts::forget(world, &cluster.id);
        }
    }
    Ok(contacts::with_contact(world, written))
}

/// Names the context that is the current one where none is given: people change that every day, and Jobs of tasks would
/// be looked for where they never were.
async fn with_context(world: &World, mut change: MachineChange) -> Result<MachineChange> {
    let Some(config) = change.kubernetes.as_mut().filter(|config| config.context.is_none()) else {
        return Ok(change);
    };
    if !config.findings("kubernetes").is_empty() {
        // Those are told.
        return Ok(change);
    }
    let environment = Arc::new(core::environment::user_variables(world).await);
    let current = current_context(config.kubeconfig.as_deref(), environment).await;
    let context = current.map_err(|fault| {
        let message = format!("is required, since the current one is not known: {fault} {}", fault.remedy());
        EngineError::invalid("kubernetes.context", message)
    })?;
    config.context = Some(context);
    Ok(change)
}

/// Whether jobs would be looked for elsewhere than where they were submitted.
fn changes_cluster(found: &Machine, change: &MachineChange) -> bool {
    let login = |slurm: &SlurmConfig| slurm.via.clone();
    let namespace = |it: &KubernetesConfig| (it.context.clone(), it.kubeconfig.clone(), it.namespace.clone());
    let is_other_login =
        change.slurm.is_some() && change.slurm.as_ref().map(login) != found.slurm.as_ref().map(login);
    let is_other_namespace = change.kubernetes.is_some()
        && change.kubernetes.as_ref().map(namespace) != found.kubernetes.as_ref().map(namespace);
    is_other_login || is_other_namespace
}

/// What decides how a machine is reached.
fn way_of(machine: &Machine) -> impl PartialEq + use<> {
    let Machine { ssh, container, slurm, kubernetes, root, .. } = machine;
    (ssh.clone(), container.clone(), slurm.clone(), kubernetes.clone(), root.clone())
}

/// The clusters whose jobs are submitted on a machine.
async fn clusters_via(world: &World, name: &str) -> Result<Vec<Machine>> {
    let all = world.store().read().await?.machines().list().await?;
    let is_via = |machine: &Machine| machine.slurm.as_ref().is_some_and(|it| it.via.as_deref() == Some(name));
    Ok(all.into_iter().filter(is_via).collect())
}

/// Refuses while something is left of jobs: nobody else would release them.
async fn require_no_jobs(world: &World, machine: &Machine) -> Result<()> {
    let left = jobs::left_on(world, &machine.id).await?;
    if left.is_empty() { Ok(()) } else { Err(jobs_left(&machine.name, &left)) }
}

fn jobs_left(name: &str, left: &[JobRow]) -> EngineError {
    let called: Vec<&str> = left.iter().filter_map(|row| row.job.as_deref()).collect();
    let which = if called.is_empty() { String::new() } else { format!(" ({})", called.join(", ")) };
    let message = format!(
        "jobs of tasks are on {name}{which}: close those tasks or reset their workspaces, and wait until their jobs are released"
    );
    EngineError::conflict(ConflictCode::InUse, message)
}

/// Removes a machine. With `abandon_jobs`, jobs of tasks that nothing else needs are left on its cluster; their names are
/// returned.
pub(crate) async fn delete_machine(world: &World, id: &MachineId, abandon_jobs: bool) -> Result<Vec<String>> {
    let found = machine(world, id).await?;
    if !abandon_jobs {
        require_no_jobs(world, &found).await?;
    }
    let clusters = clusters_via(world, &found.name).await?;
    let Machine { id, name, .. } = found;
    if let Some(cluster) = clusters.first() {
        let message =
            format!("jobs of {} are submitted on {name}: change or remove that machine first", cluster.name);
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    let mut tx = world.store().write().await?;
    let tasks = tx.workspaces().tasks_on(&id).await?;
    if !tasks.is_empty() {
        let message = format!(
            "worktrees of {} are on {name}: drain it, and close those tasks or reset their workspaces first",
            named(&tasks)
        );
        return Err(EngineError::conflict(ConflictCode::InUse, message));
    }
    let left = tx.jobs().on(&id, None).await?;
    if !left.is_empty() && !abandon_jobs {
        return Err(jobs_left(&name, &left));
    }
    tx.jobs_mut().delete_on(&id).await?;
    tx.machines_mut().delete(&id).await?;
    machine_changed(world, &mut tx, &id).await?;
    tx.commit().await?;
    contacts::forget(world, &id);
    // One that was never heard of may be there by the name that it was submitted as.
    Ok(left.into_iter().map(|row| row.job.unwrap_or(row.id)).collect())
}

async fn write_machine(world: &World, mut machine: Machine, change: MachineChange) -> Result<Machine> {
    let earlier = machine.name.clone();
    machine.name = change.name.unwrap_or(machine.name).trim().to_owned();
    machine.ssh = change.ssh.or(machine.ssh);
    machine.container = change.container.or(machine.container);
    machine.slurm = change.slurm.or(machine.slurm);
    machine.kubernetes = change.kubernetes.or(machine.kubernetes);
    if let Some(ssh) = &mut machine.ssh {
        ssh.host = ssh.host.trim().to_owned();
    }
    machine.root = change.root.unwrap_or(machine.root).trim().trim_end_matches('/').to_owned();
    machine.labels = change.labels.unwrap_or(machine.labels);
    machine.caps = change.caps.unwrap_or(machine.caps);
    machine.quota = change.quota.unwrap_or(machine.quota);
    machine.draining = change.draining.unwrap_or(machine.draining);
    machine.updated_at = world.now();
    let findings = machine.findings();
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let mut tx = world.store().write().await?;
    if tx.machines().by_name(&machine.name).await?.is_some_and(|other| other.id != machine.id) {
        let message = format!("a machine named {} already exists", machine.name);
        return Err(EngineError::conflict(ConflictCode::NameTaken, message));
    }
    require_login_node(&mut tx, &machine).await?;
    tx.machines_mut().put(&machine).await?;
    machine_changed(world, &mut tx, &machine.id).await?;
    rename_login_node(world, &mut tx, &earlier, &machine.name).await?;
    tx.commit().await?;
    // There may be a place for a task that waits for one.
    core::scheduler::wake_waiting(world);
    Ok(machine)
}

/// Refuses a login node that jobs cannot be submitted on.
async fn require_login_node(tx: &mut Tx, machine: &Machine) -> Result<()> {
    let Some(via) = machine.slurm.as_ref().and_then(|slurm| slurm.via.as_ref()) else { return Ok(()) };
    match tx.machines().by_name(via).await? {
        Some(found) if found.kind == MachineKind::Ssh => Ok(()),
        Some(_) => Err(EngineError::invalid("slurm.via", format!("{via} is not an SSH machine"))),
        None => Err(EngineError::invalid("slurm.via", format!("there is no machine named {via}"))),
    }
}

/// Has clusters know their login node by its new name.
async fn rename_login_node(world: &World, tx: &mut Tx, earlier: &str, now: &str) -> Result<()> {
    if earlier == now {
        return Ok(());
    }
    for mut cluster in tx.machines().list().await? {
        let Some(slurm) = &mut cluster.slurm else { continue };
        if slurm.via.as_deref() == Some(earlier) {
            slurm.via = Some(now.to_owned());
            tx.machines_mut().put(&cluster).await?;
            machine_changed(world, tx, &cluster.id).await?;
        }
    }
    Ok(())
}
