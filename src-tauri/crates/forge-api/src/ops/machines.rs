//! Machines.

use forge_engine::MachineChange;
use forge_model::actor::Actor;
use forge_model::ids::MachineId;
use forge_model::machine::container::ContainerConfig;
use forge_model::machine::slurm::SlurmConfig;
use forge_model::machine::{Machine, MachineCaps, MachineQuota, MachineTest, SshConfig, SshHost};

use super::{Done, Empty, Page, input};
use crate::{Api, ApiError};

input! {
    /// A machine to add; with `ssh`, `container` or `slurm`.
    pub struct CreateMachine {
        /// Name; unique.
        pub name: String,
        /// How `ssh` reaches it.
        #[serde(default)]
        pub ssh: Option<SshConfig>,
        /// How its containers are made, one for each task.
        #[serde(default)]
        pub container: Option<ContainerConfig>,
        /// What its jobs ask for, one for each task.
        #[serde(default)]
        pub slurm: Option<SlurmConfig>,
        /// The folder of Forge there; `~/.forge` when absent.
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
}

pub(crate) async fn list(api: Api, _: Actor, _: Empty) -> Result<Page<Machine>, ApiError> {
    Ok(Page::whole(api.engine().machines().await?))
}

pub(crate) async fn create(api: Api, _: Actor, new: CreateMachine) -> Result<Machine, ApiError> {
    let CreateMachine { name, ssh, container, slurm, root, labels, caps, quota } = new;
    let change =
        MachineChange { name: Some(name), ssh, container, slurm, root, labels, caps, quota, draining: None };
    Ok(api.engine().create_machine(change).await?)
}

pub(crate) async fn get(api: Api, _: Actor, path: MachinePath) -> Result<Machine, ApiError> {
    Ok(api.engine().machine(&path.machine_id).await?)
}

pub(crate) async fn update(api: Api, _: Actor, change: UpdateMachine) -> Result<Machine, ApiError> {
    let UpdateMachine { machine_id, name, ssh, container, slurm, root, labels, caps, quota, draining } =
        change;
    let change = MachineChange { name, ssh, container, slurm, root, labels, caps, quota, draining };
    Ok(api.engine().update_machine(&machine_id, change).await?)
}

pub(crate) async fn delete(api: Api, _: Actor, path: MachinePath) -> Result<Done, ApiError> {
    api.engine().delete_machine(&path.machine_id).await?;
    Ok(Done::yes())
}

pub(crate) async fn test(api: Api, _: Actor, path: MachinePath) -> Result<MachineTest, ApiError> {
    Ok(api.engine().test_machine(&path.machine_id).await?)
}

pub(crate) async fn hosts(api: Api, _: Actor, _: Empty) -> Result<Page<SshHost>, ApiError> {
    Ok(Page::whole(api.engine().ssh_hosts().await?))
}
