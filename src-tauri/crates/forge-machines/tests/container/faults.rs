//! What keeps a container from being made or used is told by name.

use std::fs;

use forge_machines::{
    ContainerFault, Fault, KeeperProgram,
    container::{ContainerConfig, Containers, EngineChoice, ImageSource, Mount, Programs},
};
use forge_machines_testkit::{Podman, keeper_program};

#[expect(clippy::panic, reason = "a helper of tests")]
fn container(fault: Fault) -> ContainerFault {
    let Fault::Container(fault) = fault else { panic!("{fault:?}") };
    assert!(fault.to_string().starts_with("Could not ") && fault.remedy().ends_with('.'), "{fault}");
    fault
}

#[tokio::test]
async fn missing_program_and_docker_without_its_service_are_told() {
    let Some(podman) = Podman::rootful() else { return };
    let mut setup = podman.setup(podman.config());
    setup.programs =
        Programs { podman: "no-such-podman".into(), docker: "no-such-docker".into(), ..Programs::default() };
    setup.config.engine = EngineChoice::Auto;
    let fault = container(Containers::open(setup.clone()).await.unwrap_err());
    assert_eq!(fault.to_string(), "Could not find podman or docker on this computer.");
    // The second one is taken when it can be used.
    setup.programs.docker = podman.folder.path().join("docker").into();
    let down = "#!/bin/sh\necho '{\"ServerVersion\":\"\",\"ServerErrors\":[\"Cannot connect to the Docker daemon at \
                unix:///var/run/docker.sock. Is the docker daemon running?\"]}'\nexit 1\n";
    fs::write(podman.folder.path().join("docker"), down).unwrap();
    fs::set_permissions(
        podman.folder.path().join("docker"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let fault = container(Containers::open(setup).await.unwrap_err());
    assert!(matches!(&fault, ContainerFault::Engine { engine, .. } if engine == "docker"), "{fault:?}");
    podman.close().unwrap();
}

#[tokio::test]
async fn image_user_and_mount_that_are_not_there_are_told() {
    let Some(podman) = Podman::rootful() else { return };
    let named = ImageSource::Named("localhost/no-such-image:1".to_owned());
    let no_image = ContainerConfig { image: named, ..podman.config() };
    let containers = Containers::open(podman.setup(no_image)).await.unwrap();
    let fault = container(containers.allocate("t").await.unwrap_err());
    assert!(matches!(fault, ContainerFault::ImageNotFound { .. }), "{fault:?}");
    let no_user = ContainerConfig { user: Some("nobody-knows".to_owned()), ..podman.config() };
    let mount = Mount { source: "/no/such/folder".into(), target: "/x".into(), read_only: true };
    let no_mount = ContainerConfig { mounts: vec![mount], ..podman.config() };
    for config in [no_user, no_mount] {
        let containers = Containers::open(podman.setup(config)).await.unwrap();
        let fault = container(containers.allocate("t").await.unwrap_err());
        assert!(matches!(fault, ContainerFault::NotStarted { .. }), "{fault:?}");
        assert_eq!(containers.list().await.unwrap(), []);
    }
    podman.close().unwrap();
}

#[tokio::test]
async fn image_for_another_kind_of_machine_is_told_before_anything_is_made() {
    let Some(podman) = Podman::rootful() else { return };
    let mut setup = podman.setup(podman.config());
    let path = podman.folder.path().join("other");
    let mut elf = fs::read(keeper_program()).unwrap();
    elf[18] = 0xb7;
    fs::write(&path, elf).unwrap();
    setup.keepers = vec![KeeperProgram::read(&path).unwrap()];
    let fault = container(Containers::open(setup).await.unwrap().allocate("t").await.unwrap_err());
    assert!(matches!(fault, ContainerFault::Architecture { .. }), "{fault:?}");
    podman.close().unwrap();
}

#[tokio::test]
async fn keepers_of_earlier_versions_stay_while_a_container_was_made_with_them() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let old = podman.setup(podman.config()).keepers[0].hash().to_owned();
    // A newer version of this program.
    let mut setup = podman.setup(podman.config());
    let path = podman.folder.path().join("newer");
    fs::write(&path, [fs::read(keeper_program()).unwrap(), b"newer".to_vec()].concat()).unwrap();
    setup.keepers = vec![KeeperProgram::read(&path).unwrap()];
    let newer = Containers::open(setup).await.unwrap();
    assert_eq!(newer.sweep_keepers().await.unwrap(), Vec::<String>::new());
    // It is seen in the container that was made before, and used there.
    newer.machine("t").connect().await.unwrap();
    let uses = format!("{}/forge-keeper relay", newer_hash(&path));
    assert!(!podman.running(&uses).is_empty());
    containers.release("t").await.unwrap();
    assert_eq!(newer.sweep_keepers().await.unwrap(), [old]);
    podman.close().unwrap();
}

fn newer_hash(path: &std::path::Path) -> String {
    KeeperProgram::read(path).map(|program| program.hash().to_owned()).unwrap_or_default()
}
