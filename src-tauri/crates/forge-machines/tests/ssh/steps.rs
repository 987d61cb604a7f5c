//! The test of a machine.

use forge_machines::{SshMachine, Step, StepName};
use forge_machines_testkit::{Host, Setup};

#[expect(clippy::expect_used, reason = "a helper of tests")]
fn step(steps: &[Step], name: StepName) -> &Step {
    steps.iter().find(|step| step.name == name).expect("the step was taken")
}

#[tokio::test]
async fn every_step_is_told_as_it_is_taken() {
    // What a profile sets and prints is there, as at any login.
    let before = "mkdir -p HOME/own; printf '#!/bin/sh\\necho tool 1.2.3\\n' > HOME/own/tool; chmod 755 HOME/own/tool; \
                  printf 'echo Welcome; PATH=~/own:$PATH\\n' > HOME/.profile";
    let Some(host) = Host::start(Setup { before, ..Setup::default() }) else { return };
    let machine = SshMachine::new(host.config());
    let mut told = Vec::new();
    let steps = machine.test(&["tool", "no-such-tool"], |step| told.push(step.clone())).await;
    assert_eq!(told, steps);
    let names: Vec<StepName> = steps.iter().map(|step| step.name).collect();
    use StepName::{Clock, Disk, Git, HostKey, Keeper, Lingering, Program, Reach, SignIn};
    assert_eq!(names, [Reach, HostKey, SignIn, Keeper, Git, Disk, Program, Program, Lingering, Clock]);
    let bad: Vec<&str> =
        steps.iter().filter(|step| !step.ok).filter_map(|step| step.subject.as_deref()).collect();
    assert_eq!(bad, ["no-such-tool"], "{steps:?}");
    let tool = steps.iter().find(|step| step.subject.as_deref() == Some("tool")).unwrap();
    assert!(tool.message.ends_with("own/tool (tool 1.2.3)."), "{tool:?}");
    assert_eq!(step(&steps, SignIn).message, "Signed in by publickey.");
    assert!(step(&steps, Keeper).message.contains("was copied"));
    assert!(
        machine.test(&[], |_| ()).await.iter().any(|step| step.message == "The keeper is running on far.")
    );
}

#[tokio::test]
async fn test_ends_at_the_first_step_on_the_way_that_fails() {
    let Some(host) = Host::start(Setup::default()) else { return };
    std::fs::write(host.home().join(".ssh/authorized_keys"), "").unwrap();
    let steps = SshMachine::new(host.config()).test(&[], |_| ()).await;
    let told: Vec<(StepName, bool)> = steps.iter().map(|step| (step.name, step.ok)).collect();
    assert_eq!(told, [(StepName::Reach, true), (StepName::HostKey, true), (StepName::SignIn, false)]);
    assert!(step(&steps, StepName::SignIn).remedy.is_some());
}

#[tokio::test]
async fn git_that_is_old_is_told_with_its_version() {
    let before = "mkdir -p HOME/old; printf '#!/bin/sh\\necho git version 2.10.0\\n' > HOME/old/git; chmod 755 HOME/old/git; \
                  printf 'KillUserProcesses=yes\\n' > HOME/logind.conf; mkdir -p /run/systemd/logind.conf.d; \
                  mount -t tmpfs none /run/systemd; mkdir /run/systemd/logind.conf.d; \
                  printf '[Login]\\nKillUserProcesses=yes\\n' > /run/systemd/logind.conf.d/x.conf";
    let setup = Setup { sshd: "SetEnv PATH=HOME/old:/usr/bin:/bin", before };
    let Some(host) = Host::start(setup) else { return };
    let steps = SshMachine::new(host.config()).test(&[], |_| ()).await;
    let git = step(&steps, StepName::Git);
    assert!(!git.ok && git.message.contains("2.10.0"), "{git:?}");
    assert!(!step(&steps, StepName::Lingering).ok, "{steps:?}");
}
