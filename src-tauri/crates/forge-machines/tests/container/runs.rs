//! Programs in a container: they start once, their secrets are nowhere, and they go with the container.

use std::{ffi::OsStr, fs};

use forge_exec::Stdin;
use forge_machines::container::Containers;
use forge_machines_testkit::{Following, Podman};

use crate::{LONG, script};

#[tokio::test]
async fn program_goes_on_without_its_engine_and_starts_once() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let started = || {
        script(
            "a",
            "echo x >> /starts; id -un; while [ ! -e /go ]; do sleep 0.05; done; cat /starts; \
             cat /proc/net/dev | grep -c :",
        )
    };
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let session = keeper.open(started()).await.unwrap();
    assert!(session.opened().is_new);
    keeper.leave_running();
    drop((session, keeper, machine));
    let machine = containers.machine("t");
    let keeper = machine.keeper(2, LONG);
    let session = keeper.open(started()).await.unwrap();
    assert!(!session.opened().is_new);
    podman.podman(&["exec", &containers.name("t"), "touch", "/go"]).unwrap();
    let (finished, printed) = Following::of(session).end().await;
    assert!(finished.unwrap().is_success());
    // It reaches nothing but itself.
    assert_eq!(String::from_utf8_lossy(&printed.out), "root\nx\n1\n");
    assert_eq!(machine.stop_all(&keeper).await.unwrap(), 1);
    let mut left = Following::of(
        keeper.open(script("b", "setsid sleep 1234567 & echo begun; sleep 1234567")).await.unwrap(),
    );
    left.until(6).await;
    assert!(!podman.running("sleep 1234567").is_empty());
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    assert_eq!(podman.running("sleep 1234567"), []);
    left.ended.abort();
    podman.close().unwrap();
}

#[tokio::test]
async fn login_environment_is_that_of_the_image_and_of_its_profile() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let profile = "printf 'echo Welcome; PATH=~/own:/usr/bin; export OWN=1\\n' > ~/.profile";
    podman.podman(&["exec", &containers.name("t"), "sh", "-c", profile]).unwrap();
    let environment = containers.machine("t").login_environment().await.unwrap();
    let of = |name: &str| environment.get(OsStr::new(name)).map(|value| value.to_string_lossy().into_owned());
    assert_eq!(of("OWN").as_deref(), Some("1"));
    assert_eq!(of("HOME").as_deref(), Some("/root"));
    let path = of("PATH").unwrap();
    assert!(path.contains("/own:/usr/bin:") && path.contains("/usr/local/sbin"), "{path}");
    assert_eq!(of("FORGE_KEEPER_THERE"), None);
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}

#[tokio::test]
async fn secret_is_in_no_argument_and_in_no_environment_but_the_programs_own() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let keeper = machine.keeper(1, LONG);
    let secret = format!("s3cr3t-0123456789-of-a-container-{}", std::process::id());
    let mut run = script("a", "echo has $TOKEN; read word; echo read $word; read more");
    run.command = run.command.env("TOKEN", secret.as_str());
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    input.send(format!("{secret}\n").into_bytes()).await.unwrap();
    following.until(2 * secret.len() + "has \nread \n".len()).await;
    let has = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    let mut carry = 0;
    for (pid, line) in podman.running("") {
        assert!(!has(line.as_bytes()), "{line}");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if has(&environment) {
            assert!(line.starts_with("sh -c echo has"), "{line}");
            carry += 1;
        }
    }
    assert_eq!(carry, 1);
    let told = podman.podman(&["container", "inspect", &containers.name("t")]).unwrap();
    assert!(!has(told.as_bytes()));
    drop(input);
    assert!(has(&following.end().await.1.out));
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}
