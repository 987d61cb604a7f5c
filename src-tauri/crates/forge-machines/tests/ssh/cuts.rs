//! Connections that are cut: nothing is lost, nothing comes twice, and nothing ends but by the machine's word.

use std::{collections::hash_map::RandomState, hash::BuildHasher as _, time::Duration};

use forge_exec::Stdin;
use forge_keeper::KeepError;
use forge_machines::{Contact, Fault, SshMachine};

use crate::{
    follow::{Following, LONG, script},
    host::{Host, Setup},
};

/// Numbers without a pattern, and the beginning that makes the same ones again.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = RandomState::new().hash_one(0) | 1;
        eprintln!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hundred_cuts_in_fifty_megabytes_lose_and_double_nothing() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let machine = SshMachine::new(host.config());
    let keeper = machine.keeper(1, LONG);
    let print =
        "i=0; while [ $i -lt 100 ]; do seq $((i*70000)) $((i*70000+69999)); sleep 0.2; i=$((i+1)); done";
    let mut run = script("a", &format!("({print}) & while read word; do echo got $word >&2; done; wait"));
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let following = Following::of(keeper.open(run).await.unwrap());
    let (end, mut ends) = tokio::sync::watch::channel(false);
    let feed = tokio::spawn(async move {
        let mut fed = 0;
        while !*ends.borrow() {
            input.send(format!("word{fed}\n").into_bytes()).await.unwrap();
            fed += 1;
            let _ = tokio::time::timeout(Duration::from_millis(25), ends.changed()).await;
        }
        fed
    });
    let (mut random, mut cuts, mut contact) = (Random::new(), 0, machine.contact());
    while cuts < 100 {
        // Some hit a session that is just being made.
        if cuts % 12 != 0 {
            contact.wait_for(Contact::is_live).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(random.below(120))).await;
        let live = contact.borrow_and_update().is_live();
        let hit = match random.below(3) {
            0 => host.kill_clients(),
            1 => host.kill_sessions(),
            _ => host.kill_relays(),
        };
        if hit > 0 {
            cuts += 1;
            // What was cut is noticed, whether or not another one follows at once.
            if live {
                contact.changed().await.unwrap();
            }
        }
    }
    end.send_replace(true);
    let fed = feed.await.unwrap();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    let all: Vec<u8> = (0..7_000_000).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    assert!(all.len() > 50_000_000 && printed.out == all, "{} of {} bytes", printed.out.len(), all.len());
    let words: String = (0..fed).map(|n| format!("got word{n}\n")).collect();
    assert!(fed > 100 && printed.err == words.as_bytes(), "{fed} words");
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
    host.power_on();
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
