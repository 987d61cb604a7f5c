//! Programs there: they start once, their secrets are nowhere, and what is left is found and ended.

use std::{fs, path::Path};

use forge_exec::Stdin;
use forge_machines::{Contact, SshMachine};
use forge_machines_testkit::{Following, Host, Setup, keeper_program};

use crate::{LONG, script};

#[tokio::test]
async fn start_that_is_asked_for_again_by_another_engine_starts_nothing() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let mut contact = machine.contact();
    assert_eq!(*contact.borrow(), Contact::Unknown);
    let keeper = machine.keeper(1, LONG);
    let started = || {
        script(
            "a",
            "echo x >> ~/starts; hostname; id -un; while [ ! -e ~/go ]; do sleep 0.05; done; cat ~/starts",
        )
    };
    let with_home = || {
        let mut run = started();
        run.command = run.command.env("HOME", host.home());
        run
    };
    let session = keeper.open(with_home()).await.unwrap();
    assert!(session.opened().is_new);
    assert!(contact.borrow_and_update().is_live());
    keeper.leave_running();
    drop((session, keeper, machine));
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(2, LONG);
    let runs = keeper.runs().await.unwrap();
    assert_eq!((runs.len(), runs[0].id.as_str(), runs[0].is_running), (1, "a", true));
    let session = keeper.open(with_home()).await.unwrap();
    assert!(!session.opened().is_new);
    fs::write(host.home().join("go"), "").unwrap();
    let (finished, printed) = Following::of(session).end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(String::from_utf8_lossy(&printed.out), "far\nfar\nx\n");
    // What is not forgotten is found, and ended.
    drop(keeper.open(script("b", "sleep 1000")).await.unwrap());
    let left = keeper.open(script("c", "setsid sleep 1000 & echo begun; sleep 1000")).await.unwrap();
    let mut left = Following::of(left);
    left.until(6).await;
    assert_eq!(machine.stop_all(&keeper).await.unwrap(), 3);
    assert!(keeper.runs().await.unwrap().is_empty());
    assert!(!host.processes().iter().any(|(_, line)| line.contains("sleep 1000")), "{:?}", host.processes());
    assert!(left.end().await.0.unwrap().cancelled);
}

#[tokio::test]
async fn secret_is_in_no_argument_no_environment_of_ssh_and_no_file() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    let secret = "s3cr3t-0123456789-of-a-run";
    let mut run = script("a", "echo has $TOKEN; read word; echo read $word; read more");
    run.command = run.command.env("TOKEN", secret);
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    input.send(format!("{secret}\n").into_bytes()).await.unwrap();
    following.until(2 * secret.len() + "has \nread \n".len()).await;
    let has = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
    let (there, here) = (host.processes(), host.clients());
    assert!(!here.is_empty() && there.iter().any(|(_, line)| line.contains("forge-keeper serve")));
    let mut carry = 0;
    for (pid, line) in there.iter().chain(&here) {
        assert!(!has(line.as_bytes()), "{line}");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        // The program that was given it has it, and nobody else.
        if has(&environment) {
            assert!(line.starts_with("sh -c echo has"), "{line}");
            carry += 1;
        }
    }
    assert_eq!(carry, 1);
    fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                files(&entry.path(), found);
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    files(host.folder.path(), &mut found);
    assert!(found.iter().any(|path| path.ends_with("forge-keeper")));
    for path in found {
        assert!(!has(&fs::read(&path).unwrap()), "{}", path.display());
    }
    drop(input);
    assert!(has(&following.end().await.1.out));
    machine.stop_all(&keeper).await.unwrap();
}

#[tokio::test]
async fn environment_of_a_login_and_programs_come_by_one_connection() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    machine.connect().await.unwrap();
    let made = machine.login_environment().await.unwrap();
    assert_eq!(made.get(std::ffi::OsStr::new("HOME")), Some(&host.home().into_os_string()));
    let keeper = machine.keeper(1, LONG);
    let mut init = script("init", "git init -q --bare ~/mirror.git");
    init.command = init.command.base(made);
    let (finished, _) = Following::of(keeper.open(init).await.unwrap()).end().await;
    assert!(finished.unwrap().is_success());
    assert!(host.home().join("mirror.git/HEAD").exists());
    assert_eq!(host.sign_ins(), 1);
    machine.stop_all(&keeper).await.unwrap();
}

#[tokio::test]
async fn keepers_of_other_versions_are_swept_unless_they_run() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    let session = keeper.open(script("a", "sleep 1000")).await.unwrap();
    let bin = host.home().join(".forge/bin");
    let own = machine.config().keepers[0].hash().to_owned();
    // The version that runs becomes an old one, another one is left by a transfer.
    fs::create_dir(bin.join("0123")).unwrap();
    fs::write(bin.join("0123/.new.7"), "half").unwrap();
    host.give(&bin.join("0123")).unwrap();
    assert_eq!(machine.sweep().await.unwrap(), ["0123"]);
    let mut newer = host.config();
    let path = host.folder.path().join("newer");
    fs::write(&path, [fs::read(keeper_program()).unwrap(), b"newer".to_vec()].concat()).unwrap();
    newer.keepers = vec![forge_machines::KeeperProgram::read(&path).unwrap()];
    let newer = SshMachine::new(newer);
    newer.connect().await.unwrap();
    assert_eq!(newer.sweep().await.unwrap(), Vec::<String>::new());
    // A newer version goes on with what an earlier one started.
    let next = newer.keeper(2, LONG);
    assert_eq!(next.runs().await.unwrap().len(), 1);
    drop((session, keeper, machine));
    newer.stop_all(&next).await.unwrap();
    drop((next, newer));
    // Without an engine and with nothing to keep the old one leaves by itself.
    host.gone("forge-keeper").await.unwrap();
    let mut newest = host.config();
    newest.keepers = vec![forge_machines::KeeperProgram::read(&path).unwrap()];
    let newest = SshMachine::new(newest);
    newest.connect().await.unwrap();
    assert_eq!(newest.sweep().await.unwrap(), [own]);
}
