//! Limits: they hold, and what they end is told.

use forge_exec::Exit;
use forge_machines::{
    ContainerFault, Fault,
    container::{ContainerConfig, Containers},
};
use forge_machines_testkit::{Following, Podman};

use crate::{LONG, script};

/// Takes 200 MB of memory.
const TAKES: &str = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${#x}";

#[tokio::test]
async fn program_at_the_memory_limit_is_killed_and_that_is_told() {
    let Some(podman) = Podman::rootful() else { return };
    let config = ContainerConfig { memory_mb: Some(96), ..podman.config() };
    let containers = match Containers::open(podman.setup(config)).await {
        Err(Fault::Container(ContainerFault::NoLimit { why, .. })) => {
            eprintln!("skipped: memory cannot be limited here ({why})");
            return;
        }
        opened => opened.unwrap(),
    };
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let before = containers.memory_kills("t").await.unwrap();
    assert_eq!(before, Some(0));
    let (finished, _) = Following::of(keeper.open(script("a", TAKES)).await.unwrap()).end().await;
    assert!(matches!(finished.unwrap().exit, Exit::Signal(_) | Exit::Code(137)));
    // The keeper and the container go on.
    assert!(containers.memory_kills("t").await.unwrap() > before);
    let (finished, printed) = Following::of(keeper.open(script("b", "echo on")).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success() && printed.out == b"on\n");
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}

#[tokio::test]
async fn processes_are_limited() {
    let Some(podman) = Podman::rootful() else { return };
    let config = ContainerConfig { pids: Some(24), cpus: Some(0.5), ..podman.config() };
    let containers = match Containers::open(podman.setup(config)).await {
        Err(Fault::Container(ContainerFault::NoLimit { why, .. })) => {
            eprintln!("skipped: processes cannot be limited here ({why})");
            return;
        }
        opened => opened.unwrap(),
    };
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let many = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; echo all";
    let (finished, printed) = Following::of(keeper.open(script("a", many)).await.unwrap()).end().await;
    assert!(!finished.unwrap().is_success());
    let errors = String::from_utf8_lossy(&printed.err).into_owned();
    assert!(errors.contains("fork") && printed.out.is_empty(), "{errors}");
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}
