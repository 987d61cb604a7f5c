//! Connections that are cut: nothing is lost, nothing comes twice, and nothing ends but by the machine's word.

use std::time::Duration;

use forge_exec::Stdin;
use forge_keeper::KeepError;
use forge_machines::{Contact, Fault, SshMachine};
use forge_machines_testkit::{
    Following, Host, Random, Setup,
    cuts::{Course, Cut, Until, perform},
};

use crate::{LONG, script};

/// What `cargo xtask soak` does for long, with fewer ways to cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_cuts_in_fifty_megabytes_lose_and_double_nothing() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let seed = Random::seed();
    eprintln!("seed {seed}");
    let course = Course {
        seed,
        cuts: Cut::SUDDEN,
        link_one_of: None,
        at_once: 1,
        blocks: 100,
        until: Until::Cuts(100),
        link_down: 1,
        outage: None,
    };
    let report = perform(&host, course).await.unwrap();
    assert!(report.bytes > 50_000_000 && report.words > 100, "{report}");
    host.close().unwrap();
}

#[tokio::test]
async fn link_that_is_down_while_the_client_is_killed_delays_output_and_input_and_loses_neither() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let mut contact = machine.contact();
    let keeper = machine.keeper(1, LONG);
    let mut run = script(
        "a",
        "(i=0; while [ $i -lt 300 ]; do echo line $i; sleep 0.1; i=$((i+1)); done) & \
         while read word; do echo got $word >&2; done; wait",
    );
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(60).await;
    host.set_link("down").unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(host.kill_clients() > 0);
    contact.wait_for(|contact| !contact.is_live()).await.unwrap();
    let before = *following.printed.borrow();
    input.send(b"sent meanwhile\n".to_vec()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(*following.printed.borrow(), before);
    host.set_link("up").unwrap();
    machine.nudge().await;
    drop(input);
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    let lines: String = (0..300).map(|number| format!("line {number}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&printed.out), lines);
    assert_eq!(String::from_utf8_lossy(&printed.err), "got sent meanwhile\n");
    machine.stop_all(&keeper).await.unwrap();
}

#[tokio::test]
async fn link_that_is_down_for_five_seconds_stops_nothing() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    let run = script("a", "i=0; while [ $i -lt 80 ]; do date +%s%N; sleep 0.1; i=$((i+1)); done");
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(60).await;
    host.set_link("down").unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    host.set_link("up").unwrap();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    let printed = String::from_utf8(printed.out).unwrap();
    let times: Vec<i64> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(times.len(), 80);
    // It worked on meanwhile.
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    assert!(longest < 3_000_000_000, "{longest}");
    machine.stop_all(&keeper).await.unwrap();
}

#[tokio::test]
async fn program_is_lost_only_when_its_machine_is_back_and_says_so() {
    let Some(mut host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let mut contact = machine.contact();
    let keeper = machine.keeper(1, LONG);
    let mut following = Following::of(keeper.open(script("a", "echo begun; sleep 1000")).await.unwrap());
    following.until(6).await;
    host.power_off();
    let unreachable = contact.wait_for(|contact| !contact.is_live()).await.unwrap().clone();
    assert!(matches!(unreachable, Contact::Unreachable { .. }), "{unreachable:?}");
    // Two attempts later nothing is known of the program still.
    for _ in 0..2 {
        let fault = machine.connect().await.unwrap_err();
        assert!(matches!(fault, Fault::Unreachable { .. }) && fault.is_passing(), "{fault:?}");
    }
    assert!(!following.ended.is_finished());
    let Err(KeepError::NoKeeper { source, .. }) = keeper.open(script("b", "true")).await else {
        panic!("it started something");
    };
    assert!(matches!(Fault::of(&source), Some(Fault::Unreachable { .. })), "{source:?}");
    let since = |contact: &Contact| match contact {
        Contact::Unreachable { since, .. } => Some(*since),
        Contact::Unknown | Contact::Live { .. } => None,
    };
    assert_eq!(since(&unreachable), since(&contact.borrow()));
    host.power_on().unwrap();
    machine.nudge().await;
    let (finished, printed) = following.end().await;
    assert!(matches!(finished, Err(KeepError::Lost { .. })), "{finished:?}");
    assert_eq!(printed.out, b"begun\n");
    assert!(keeper.runs().await.unwrap().is_empty());
}

#[tokio::test]
async fn program_goes_on_while_its_users_key_is_revoked() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let mut contact = machine.contact();
    let keeper = machine.keeper(1, LONG);
    let run = script("a", "echo begun; while [ ! -e $HOME/go ]; do sleep 0.05; done; echo end");
    let mut run = run;
    run.command = run.command.env("HOME", host.home());
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(6).await;
    let keys = host.home().join(".ssh/authorized_keys");
    let accepted = std::fs::read(&keys).unwrap();
    std::fs::write(&keys, "").unwrap();
    assert!(host.kill_sessions() > 0);
    let denied = |contact: &Contact| {
        matches!(contact, Contact::Unreachable { fault: Fault::PermissionDenied { .. }, .. })
    };
    contact.wait_for(denied).await.unwrap();
    std::fs::write(host.home().join("go"), "").unwrap();
    std::fs::write(&keys, accepted).unwrap();
    // A person says that it is mended.
    machine.nudge().await;
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed.out, b"begun\nend\n");
    machine.stop_all(&keeper).await.unwrap();
}
