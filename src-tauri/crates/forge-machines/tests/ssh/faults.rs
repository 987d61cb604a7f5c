//! What keeps a machine from being used is told by name.

use std::{fs, path::Path};

use forge_machines::{Fault, KeeperProgram, SshMachine};
use forge_machines_testkit::{Following, Host, Setup, keeper_program};

use crate::{LONG, script};

#[tokio::test]
async fn host_key_that_is_unknown_or_changed_is_refused() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    host.know_key("other_key").unwrap();
    let fault = machine.connect().await.unwrap_err();
    let Fault::HostKeyChanged { known_in: Some(known_in), .. } = &fault else { panic!("{fault:?}") };
    assert!(known_in.ends_with("known_hosts:1"), "{known_in}");
    fs::remove_file(host.folder.path().join("known_hosts")).unwrap();
    assert!(matches!(machine.connect().await, Err(Fault::HostKeyUnknown { .. })));
    // A person accepts it.
    host.know_key("host_key").unwrap();
    let greeting = machine.connect().await.unwrap();
    assert_eq!(
        (greeting.host_name.as_str(), greeting.machine.as_str()),
        ("far", "00000000000000000000000000000far")
    );
}

#[tokio::test]
async fn other_machine_behind_the_same_name_is_refused() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let mut config = host.config();
    config.known_as = Some("another".to_owned());
    let fault = SshMachine::new(config).connect().await.unwrap_err();
    assert!(matches!(&fault, Fault::OtherMachine { before, .. } if before == "another"), "{fault:?}");
}

#[tokio::test]
async fn server_that_allows_one_session_suffices() {
    let Some(host) = Host::start(Setup { sshd: "MaxSessions 1", ..Setup::default() }) else { return };
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    let runs: Vec<_> = futures::future::try_join_all(
        (0..12).map(|n| keeper.open(script(&n.to_string(), "echo x; sleep 0.3"))),
    )
    .await
    .unwrap();
    for run in runs {
        let (finished, printed) = Following::of(run).end().await;
        assert!(finished.unwrap().is_success());
        assert_eq!(printed.out, b"x\n");
    }
    // What else is asked goes by a connection of its own.
    let steps = machine.test(&[], |_| ()).await;
    assert!(steps.len() == 8 && steps.iter().all(|step| step.ok), "{steps:?}");
    assert_eq!(machine.stop_all(&keeper).await.unwrap(), 12);
}

#[tokio::test]
async fn gateway_that_never_speaks_is_told_from_a_machine_that_is_away() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = host.config();
    config.ssh.options = vec!["ConnectTimeout=1".to_owned(), "HostName=127.0.0.1".to_owned()];
    config.ssh.port = Some(listener.local_addr().unwrap().port());
    let machine = SshMachine::new(config.clone());
    let (accepted, fault) = tokio::join!(listener.accept(), machine.connect());
    assert!(matches!(fault, Err(Fault::Silent { .. })), "{fault:?}");
    drop((accepted, listener));
    let fault = machine.connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Unreachable { .. }), "{fault:?}");
    host.set_link("down").unwrap();
    let mut config = host.config();
    config.ssh.options = vec!["ConnectTimeout=1".to_owned()];
    let fault = SshMachine::new(config.clone()).connect().await.unwrap_err();
    assert!(matches!(fault, Fault::TimedOut { .. } | Fault::Unreachable { .. }), "{fault:?}");
    config.ssh.options = vec!["HostName=no-such-name.invalid".to_owned()];
    let fault = SshMachine::new(config.clone()).connect().await.unwrap_err();
    assert!(matches!(fault, Fault::NoSuchHost { .. }), "{fault:?}");
    config.ssh.options = vec!["NoSuchOption=1".to_owned()];
    let fault = SshMachine::new(config.clone()).connect().await.unwrap_err();
    assert!(matches!(fault, Fault::Configuration { .. }), "{fault:?}");
    config.program = "/no/such/ssh".into();
    let fault = SshMachine::new(config).connect().await.unwrap_err();
    assert!(matches!(fault, Fault::NoSsh { .. }), "{fault:?}");
}

/// A keeper with a byte changed.
#[expect(clippy::unwrap_used, reason = "a helper of tests")]
fn changed(folder: &Path, name: &str, at: usize, to: u8) -> KeeperProgram {
    let mut bytes = fs::read(keeper_program()).unwrap();
    bytes[at] = to;
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    KeeperProgram::read(&path).unwrap()
}

#[tokio::test]
async fn machine_that_there_is_no_keeper_for_is_told() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let mut config = host.config();
    let other = if cfg!(target_arch = "aarch64") { (0x3e, "x86_64") } else { (0xb7, "aarch64") };
    config.keepers = vec![changed(host.folder.path(), "other", 18, other.0)];
    let fault = SshMachine::new(config).connect().await.unwrap_err();
    let Fault::WrongArchitecture { there, have, .. } = &fault else { panic!("{fault:?}") };
    assert!(there.starts_with("Linux ") && have.ends_with(other.1), "{fault}");
}

#[tokio::test]
async fn keeper_that_is_damaged_there_is_sent_again() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    machine.keeper(1, LONG).runs().await.unwrap();
    drop(machine);
    let hash = host.config().keepers[0].hash().to_owned();
    let there = host.home().join(".forge/bin").join(hash).join("forge-keeper");
    let whole = fs::read(&there).unwrap();
    host.gone("forge-keeper").await.unwrap();
    fs::write(&there, &whole[..whole.len() / 2]).unwrap();
    SshMachine::new(host.config()).connect().await.unwrap();
    assert!(fs::read(&there).unwrap() == whole);
}

#[tokio::test]
async fn connection_that_is_cut_while_the_keeper_is_sent_leaves_nothing_half() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let hash = host.config().keepers[0].hash().to_owned();
    let folder = host.home().join(".forge/bin").join(&hash);
    let machine = SshMachine::new(host.config());
    let connecting = tokio::spawn({
        let machine = machine.clone();
        async move { machine.connect().await }
    });
    let half = || fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    while !half() && !connecting.is_finished() {
        tokio::task::yield_now().await;
    }
    host.kill_clients();
    // Where it was too late, the loss of the session is seen later.
    let fault = connecting.await.unwrap().err();
    assert!(fault.as_ref().is_none_or(Fault::is_passing), "{fault:?}");
    machine.connect().await.unwrap();
    machine.keeper(1, LONG).runs().await.unwrap();
    assert!(fs::read(folder.join("forge-keeper")).unwrap() == fs::read(keeper_program()).unwrap());
}

#[tokio::test]
async fn full_disk_and_folders_that_cannot_be_used_are_told() {
    let before = "mkdir -p HOME/small HOME/noexec; mount -t tmpfs -o size=256k,mode=777 none HOME/small; \
                  mount -t tmpfs -o noexec,mode=777 none HOME/noexec";
    let Some(host) = Host::start(Setup { before, ..Setup::default() }) else { return };
    let fault = async |root: &str| {
        let mut config = host.config();
        root.clone_into(&mut config.root);
        SshMachine::new(config).connect().await.unwrap_err()
    };
    let full = fault("~/small/forge").await;
    assert!(matches!(&full, Fault::DiskFull { root, .. } if root == "~/small/forge"), "{full:?}");
    let noexec = fault("~/noexec").await;
    assert!(
        matches!(&noexec, Fault::Folder { said, .. } if said.contains("no program may run")),
        "{noexec:?}"
    );
    let refused = fault("/proc/forge").await;
    assert!(matches!(refused, Fault::Folder { .. }), "{refused:?}");
    // A name with everything in it that a shell could read otherwise.
    let mut config = host.config();
    config.root = "~/it's a \"$(touch ~/owned)\" `x` folder".to_owned();
    SshMachine::new(config).connect().await.unwrap();
    assert!(host.home().join("it's a \"$(touch ~/owned)\" `x` folder/bin").is_dir());
    assert!(!host.home().join("owned").exists());
}
