//! Machines.

use forge_engine::MachineChange;
use forge_model::actor::Actor;
use forge_model::ids::MachineId;
use forge_model::machine::container::ContainerConfig;
use forge_model::machine::kubernetes::KubernetesConfig;
use forge_model::machine::slurm::SlurmConfig;
use forge_model::machine::{Machine, MachineCaps, MachineQuota, MachineTest, SshConfig, SshHost};

use super::{Empty, Page, answer, input};
use crate::{Api, ApiError};

input! {
    /// A machine to add; with `ssh`, `container`, `slurm` or `kubernetes`.
    pub struct CreateMachine {
        /// Name; unique.
        pub name: String,
        /// How `ssh` reaches it.
        #[serde(default)]
        pub ssh: Option<SshConfig>,
        /// How its containers are made, one for each task.
        #[serde(default)]
        pub container: Option<ContainerConfig>,
        /// Resources of its jobs, one for each task.
        #[serde(default)]
        pub slurm: Option<SlurmConfig>,
        /// What its Jobs of Kubernetes ask for, one for each task.
        #[serde(default)]
        pub kubernetes: Option<KubernetesConfig>,
        /// The folder of Forge there; when absent `~/.forge`, and `/forge` in pods of Kubernetes.
        #[serde(default)]
        pub root: Option<String>,
        /// What tasks ask for.
        #[serde(default)]
        pub labels: Option<Vec<String>>,
        /// What may run there at once.
        #[serde(default)]
        pub caps: Option<MachineCaps>,
        /// What may run there on one day.
        #[serde(default)]
        pub quota: Option<MachineQuota>,
    }

    /// Changes to a machine.
    pub struct UpdateMachine {
        /// The machine.
        pub machine_id: MachineId,
        /// Name; unique.
        #[serde(default)]
        pub name: Option<String>,
        /// How `ssh` reaches it.
        #[serde(default)]
        pub ssh: Option<SshConfig>,
        /// How its containers are made.
        #[serde(default)]
        pub container: Option<ContainerConfig>,
        /// What its jobs ask for. A job that was submitted keeps what it asked for.
        #[serde(default)]
        pub slurm: Option<SlurmConfig>,
        /// What its Jobs of Kubernetes ask for. One that was created keeps what it asked for.
        #[serde(default)]
        pub kubernetes: Option<KubernetesConfig>,
        /// The folder of Forge there.
        #[serde(default)]
        pub root: Option<String>,
        /// What tasks ask for.
        #[serde(default)]
        pub labels: Option<Vec<String>>,
        /// What may run there at once.
        #[serde(default)]
        pub caps: Option<MachineCaps>,
        /// What may run there on one day.
        #[serde(default)]
        pub quota: Option<MachineQuota>,
        /// Whether nothing new starts there. What runs there goes on.
        #[serde(default)]
        pub draining: Option<bool>,
    }

    /// A machine by its id or name.
    pub struct MachinePath {
        /// The machine.
        pub machine_id: MachineId,
    }

    /// A machine to remove.
    pub struct DeleteMachine {
        /// The machine, by its id or name.
        pub machine_id: MachineId,
        /// Whether to leave jobs of tasks on its cluster that were not released, for when it cannot be reached any more:
        /// nobody deletes them then, and what they hold is lost. Refused with `in_use` otherwise.
        #[serde(default)]
        pub abandon_jobs: Option<bool>,
    }
}

answer! {
    /// A machine was removed.
    pub struct RemovedMachine {
        /// Always true.
        pub done: bool,
        /// The jobs of tasks that are left on its cluster, as it calls them.
        pub jobs_left: Vec<String>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<Machine>, ApiError> {
    Ok(Page::whole(api.engine().machines().await?))
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateMachine) -> Result<Machine, ApiError> {
    let CreateMachine { name, ssh, container, slurm, kubernetes, root, labels, caps, quota } = new;
    let change = MachineChange {
        name: Some(name),
        ssh,
        container,
        slurm,
        kubernetes,
        root,
        labels,
        caps,
        quota,
        draining: None,
    };
    Ok(api.engine().create_machine(change).await?)
}

pub(crate) async fn get(api: Api, _: Actor, path: MachinePath) -> Result<Machine, ApiError> {
    Ok(api.engine().machine(&path.machine_id).await?)
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateMachine) -> Result<Machine, ApiError> {
    let UpdateMachine {
        machine_id,
        name,
        ssh,
        container,
        slurm,
        kubernetes,
        root,
        labels,
        caps,
        quota,
        draining,
    } = change;
    let change =
        MachineChange { name, ssh, container, slurm, kubernetes, root, labels, caps, quota, draining };
    Ok(api.engine().update_machine(&machine_id, change).await?)
}

pub(crate) async fn delete(api: Api, _: Actor, input: DeleteMachine) -> Result<RemovedMachine, ApiError> {
    let abandon_jobs = input.abandon_jobs.unwrap_or_default();
    let jobs_left = api.engine().delete_machine(&input.machine_id, abandon_jobs).await?;
    Ok(RemovedMachine { done: true, jobs_left })
}

pub(crate) async fn test(api: Api, _: Actor, path: MachinePath) -> Result<MachineTest, ApiError> {
    Ok(api.engine().test_machine(&path.machine_id).await?)
}

pub(crate) async fn hosts(api: Api, _: Actor, _: Empty) -> Result<Page<SshHost>, ApiError> {
    Ok(Page::whole(api.engine().ssh_hosts().await?))
}
