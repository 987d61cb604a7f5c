//! The four verbs: each can be repeated, and says what is.

use std::{fs, os::unix::fs::PermissionsExt as _};

use forge_machines::{
    ContainerFault, Fault, StepName,
    container::{Containers, Look},
};
use forge_machines_testkit::Podman;

#[tokio::test]
async fn verbs_can_be_repeated_and_container_that_stopped_keeps_its_files() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    assert!(matches!(containers.look("t").await.unwrap(), Look::Gone { .. }));
    containers.release("t").await.unwrap();
    // Two at once make one.
    let (one, other) = tokio::join!(containers.allocate("t"), containers.allocate("t"));
    assert_eq!(one.unwrap(), other.unwrap());
    containers.allocate("t").await.unwrap();
    containers.allocate("u").await.unwrap();
    assert_eq!(containers.look("t").await.unwrap(), Look::Ready);
    let mut listed = containers.list().await.unwrap();
    listed.sort_by(|one, other| one.task.cmp(&other.task));
    let tasks: Vec<&str> = listed.iter().map(|listed| listed.task.as_str()).collect();
    assert_eq!(tasks, ["t", "u"]);
    let own = containers.machine("t").config().containers().name("t");
    assert_eq!((listed[0].name.as_str(), listed[0].machine.as_str()), (own.as_str(), "m"));
    // Somebody stops it: it is told, and whoever connects starts it with its files.
    podman.podman(&["exec", &own, "touch", "/kept"]).unwrap();
    podman.podman(&["kill", &own]).unwrap();
    let Look::Stopped { fault } = containers.look("t").await.unwrap() else { panic!("it stopped") };
    assert!(fault.to_string().contains("was killed"), "{fault}");
    containers.machine("t").connect().await.unwrap();
    podman.podman(&["exec", &own, "test", "-e", "/kept"]).unwrap();
    // Somebody removes it: nobody makes another one in its place but by `allocate`.
    podman.podman(&["rm", "--force", "--time", "0", &own]).unwrap();
    let fault = containers.machine("t").connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Container(ContainerFault::Gone { .. })), "{fault:?}");
    assert!(matches!(containers.look("t").await.unwrap(), Look::Gone { .. }));
    containers.release("t").await.unwrap();
    containers.release_named(&listed[1].name).await.unwrap();
    assert_eq!(containers.list().await.unwrap(), []);
    podman.close().unwrap();
}

#[tokio::test]
async fn container_that_is_removed_just_before_it_starts_is_gone_and_can_be_made_again() {
    let Some(podman) = Podman::rootful() else { return };
    let mut setup = podman.setup(podman.config());
    let (removes, real) = (podman.folder.path().join("removes"), podman.program());
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != start ] || {0} rm --force --time 0 \"$3\"\nexec {0} \"$@\"\n",
        real.display()
    );
    fs::write(&removes, script).unwrap();
    fs::set_permissions(&removes, fs::Permissions::from_mode(0o755)).unwrap();
    setup.programs.podman = removes.into();
    let containers = Containers::open(setup).await.unwrap();
    let name = containers.name("t");
    containers.allocate("t").await.unwrap();
    podman.podman(&["kill", &name]).unwrap();
    let fault = containers.machine("t").connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Container(ContainerFault::Gone { .. })), "{fault:?}");
    containers.allocate("t").await.unwrap();
    podman.podman(&["kill", &name]).unwrap();
    containers.allocate("t").await.unwrap();
    assert_eq!(containers.look("t").await.unwrap(), Look::Ready);
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}

#[tokio::test]
async fn making_that_was_cut_short_is_made_good() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    let (name, base) = (containers.name("t"), forge_machines_testkit::BASE);
    let owner = format!("forge.owner={}", podman.setup(podman.config()).owner);
    podman.podman(&["create", "--name", &name, "--label", &owner, base, "true"]).unwrap();
    assert_eq!(containers.look("t").await.unwrap(), Look::Pending);
    containers.allocate("t").await.unwrap();
    containers.machine("t").connect().await.unwrap();
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}

#[tokio::test]
async fn every_step_of_a_test_is_told_as_it_is_taken_and_its_container_goes() {
    let Some(podman) = Podman::rootful() else { return };
    let mut told = Vec::new();
    let setup = podman.setup(podman.config());
    let steps = Containers::test(setup, &["git", "no-such-tool"], |step| told.push(step.clone())).await;
    assert_eq!(told, steps);
    let names: Vec<StepName> = steps.iter().map(|step| step.name).collect();
    use StepName::{Container, ContainerEngine, Disk, Git, Image, Keeper, Limits, Program};
    assert_eq!(names, [ContainerEngine, Limits, Image, Container, Keeper, Git, Disk, Program, Program]);
    let bad: Vec<&str> =
        steps.iter().filter(|step| !step.ok).filter_map(|step| step.subject.as_deref()).collect();
    assert_eq!(bad, ["no-such-tool"], "{steps:?}");
    podman.close().unwrap();
}
