//! Without root: one test, since all that run as this user share its processes.

use std::{fs, os::unix::fs::MetadataExt as _};

use forge_machines::{
    ContainerFault, Fault,
    container::{ContainerConfig, Containers, Look, Mount},
};
use forge_machines_testkit::{Following, Podman};

use crate::{LONG, script};

#[tokio::test]
async fn containers_run_without_root_and_limits_that_do_not_hold_are_refused() {
    let Some(podman) = Podman::rootless() else { return };
    let shared = podman.folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mount = Mount { source: shared.clone(), target: "/shared".into(), read_only: false };
    let config =
        ContainerConfig { mounts: vec![mount], user: Some("1000:1000".to_owned()), ..podman.config() };
    let mut setup = podman.setup(config);
    // This user has no home in the image.
    setup.root = "/tmp/forge".to_owned();
    let containers = Containers::open(setup.clone()).await.unwrap();
    assert!(containers.is_rootless());
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let text = "id -u; touch /shared/made; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo on";
    let mut following = Following::of(keeper.open(script("a", text)).await.unwrap());
    following.until(5).await;
    // Cut once: it goes on.
    let mut contact = machine.contact();
    assert!(podman.kill_clients() > 0);
    contact.wait_for(|contact| !contact.is_live()).await.unwrap();
    machine.nudge().await;
    podman.podman(&["exec", &containers.name("t"), "touch", "/tmp/go"]).unwrap();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(String::from_utf8_lossy(&printed.out), "1000\non\n");
    // What the user of the container made belongs to the user that runs it.
    assert_eq!(fs::metadata(shared.join("made")).unwrap().uid(), 29_000);
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    assert!(matches!(containers.look("t").await.unwrap(), Look::Gone { .. }));
    setup.config.memory_mb = Some(64);
    match Containers::open(setup).await {
        Err(fault) => assert!(matches!(fault, Fault::Container(ContainerFault::NoLimit { .. })), "{fault:?}"),
        // With cgroups of version 2 that are delegated to the user.
        Ok(limited) => {
            limited.allocate("u").await.unwrap();
            limited.release("u").await.unwrap();
        }
    }
    podman.close().unwrap();
}
