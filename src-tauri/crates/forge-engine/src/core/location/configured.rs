//! A machine's configuration, with what is needed here to reach it.

use std::{path::PathBuf, sync::Arc};

use forge_keeper::Place;
use forge_machines::{
    AnyMachine, KeeperProgram, MachineConfig, SshConfig,
    container::{ContainerConfig, ContainerSetup, EngineChoice, ImageSource, Mount, Network, Programs},
    kubernetes::{KubernetesConfig, KubernetesSetup, Toleration},
    slurm::{SlurmConfig, SlurmSetup, Submit},
};
use forge_model::machine;
use forge_model::machine::Machine;
use forge_model::machine::container::{ContainerEngine, ContainerMount, ContainerNetwork};

use crate::{EngineError, World, core, error::Result};

/// The folder of the sockets of shared sessions, in the data folder.
const CONTROL_FOLDER: &str = "ssh";

/// The program.
const SSH: &str = "ssh";

/// The folder of what containers see of Forge, in the data folder.
const CONTAINERS_FOLDER: &str = "containers";

/// What is needed to reach a machine by ssh.
pub(crate) async fn ssh_config(
    world: &World,
    ssh: machine::SshConfig,
    root: String,
) -> Result<MachineConfig> {
    let machine::SshConfig { host, user, port, identity_file, options } = ssh;
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

/// What is needed to make the containers of a machine.
pub(crate) async fn container_setup(
    world: &World,
    machine: &Machine,
    config: &machine::container::ContainerConfig,
) -> Result<ContainerSetup> {
    Ok(ContainerSetup {
        config: container_config(config)?,
        root: machine.root.clone(),
        owner: core::keeper::owner_of(world).await?,
        machine: machine.id.0.clone(),
        keepers: keepers_of(world).await?,
        keepers_folder: world.data_dir().join(CONTAINERS_FOLDER).join("keepers"),
        programs: Programs::default(),
        environment: Arc::new(core::environment::user_variables(world).await),
    })
}

fn container_config(config: &machine::container::ContainerConfig) -> Result<ContainerConfig> {
    let machine::container::ContainerConfig { image, containerfile, devcontainer, .. } = config.clone();
    let image = image
        .map(ImageSource::Named)
        .or_else(|| containerfile.map(|file| ImageSource::Containerfile(file.into())))
        .or_else(|| devcontainer.map(|file| ImageSource::Devcontainer(file.into())))
        .ok_or_else(|| EngineError::invalid("container.image", "is required"))?;
    Ok(ContainerConfig {
        engine: match config.engine {
            ContainerEngine::Auto => EngineChoice::Auto,
            ContainerEngine::Podman => EngineChoice::Podman,
            ContainerEngine::Docker => EngineChoice::Docker,
        },
        image,
        network: match config.network {
            ContainerNetwork::None => Network::None,
            ContainerNetwork::Host => Network::Host,
            ContainerNetwork::Default => Network::Default,
        },
        memory_mb: config.memory_mb,
        cpus: config.cpus,
        pids: config.pids,
        mounts: config.mounts.iter().map(mount).collect(),
        user: config.user.clone(),
    })
}

/// What is needed to submit the jobs of a machine: here, or on its login node.
pub(crate) async fn slurm_setup(
    world: &World,
    machine: &Machine,
    config: &machine::slurm::SlurmConfig,
    login: Option<AnyMachine>,
) -> Result<SlurmSetup> {
    let machine::slurm::SlurmConfig { partition, account, time_minutes, cpus, memory_mb, gres, via: _ } =
        config.clone();
    let submit = match login {
        Some(login) => Submit::Via(login),
        None => Submit::Here(Arc::new(core::environment::user_variables(world).await)),
    };
    Ok(SlurmSetup {
        config: SlurmConfig { partition, account, time_minutes, cpus, memory_mb, gres },
        root: machine.root.clone(),
        owner: core::keeper::owner_of(world).await?,
        keepers: keepers_of(world).await?,
        submit,
    })
}

/// What is needed to create the Jobs of a machine.
pub(crate) async fn kubernetes_setup(
    world: &World,
    machine: &Machine,
    config: &machine::kubernetes::KubernetesConfig,
) -> Result<KubernetesSetup> {
    let memory_mb = config.memory_mb();
    let machine::kubernetes::KubernetesConfig {
        context,
        kubeconfig,
        namespace,
        image,
        service_account,
        resources,
        tolerations,
    } = config.clone();
    let tolerations = tolerations.iter().map(|text| toleration(text)).collect::<Result<_>>()?;
    Ok(KubernetesSetup {
        config: KubernetesConfig {
            context,
            kubeconfig,
            namespace,
            image,
            service_account,
            resources,
            memory_mb,
            tolerations,
        },
        root: machine.root.clone(),
        owner: core::keeper::owner_of(world).await?,
        keepers: keepers_of(world).await?,
        environment: Arc::new(core::environment::user_variables(world).await),
    })
}

fn toleration(text: &str) -> Result<Toleration> {
    let read = machine::kubernetes::Toleration::parse(text);
    let machine::kubernetes::Toleration { key, value, effect } =
        read.ok_or_else(|| EngineError::invalid("kubernetes.tolerations", "cannot be read"))?;
    Ok(Toleration { key: key.to_owned(), value: value.map(str::to_owned), effect: effect.to_owned() })
}

fn mount(mount: &ContainerMount) -> Mount {
    let ContainerMount { source, target, read_only } = mount;
    Mount { source: source.into(), target: target.into(), read_only: *read_only }
}

/// The keepers that can be sent: the one beside this program, which is for machines like this one.
async fn keepers_of(world: &World) -> Result<Vec<KeeperProgram>> {
    let Place::Program(path) = world.inner.config.keeper.clone() else { return Ok(Vec::new()) };
    let read = tokio::task::spawn_blocking(move || KeeperProgram::read(&path)).await;
    let read = read.map_err(std::io::Error::other).and_then(|read| read.map_err(std::io::Error::other));
    Ok(vec![read.map_err(EngineError::io("read the keeper's program"))?])
}
