//! Machines that are far away, or behind another one.

use std::time::Duration;

use forge_exec::Stdin;
use forge_machines::{Contact, SshMachine};
use forge_machines_testkit::{Distance, Following, Host, Setup};

use crate::{LONG, script};

#[tokio::test]
async fn start_question_and_end_take_few_round_trips() {
    let Some(host) = Host::start(Setup::default()) else { return };
    // The keeper is there from an earlier time.
    SshMachine::new(host.config()).connect().await.unwrap();
    let distance = Distance::start(&host, Duration::from_millis(50)).await.unwrap();
    let machine = SshMachine::new(distance.config(host.config()));
    let mut trips = 0;
    let mut since = |what: &str, most: u64| {
        let taken = distance.round_trips() - trips;
        trips += taken;
        eprintln!("{what}: {taken} round trips");
        assert!((1..=most).contains(&taken), "{what}: {taken} round trips");
    };
    machine.connect().await.unwrap();
    since("connection", 11);
    let keeper = machine.keeper(1, LONG);
    keeper.runs().await.unwrap();
    since("first question to the keeper", 4);
    let mut run = script("a", "echo what; read answer; echo got $answer; read more");
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until("what\n".len()).await;
    since("start", 2);
    input.send(b"word\n".to_vec()).await.unwrap();
    following.until("what\ngot word\n".len()).await;
    since("answer to a question", 2);
    drop(input);
    let (finished, printed) = following.end().await;
    assert!(finished.is_ok());
    assert_eq!(printed.out, b"what\ngot word\n");
    since("end", 2);
    keeper.forget("a").await.unwrap();
    since("forgetting", 2);
}

#[tokio::test]
async fn output_of_a_machine_far_away_fills_the_way() {
    let Some(host) = Host::start(Setup::default()) else { return };
    let distance = Distance::start(&host, Duration::from_millis(50)).await.unwrap();
    let machine = SshMachine::new(distance.config(host.config()));
    let keeper = machine.keeper(1, LONG);
    let run = script("a", "echo begun; head -c 16000000 /dev/zero");
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(6).await;
    let before = distance.round_trips();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed.out.len(), 16_000_006);
    // With windows that do not grow it would be more than sixty.
    let trips = distance.round_trips() - before;
    eprintln!("16 MB: {trips} round trips");
    assert!((1..=40).contains(&trips), "{trips} round trips");
    machine.stop_all(&keeper).await.unwrap();
}

#[tokio::test]
async fn machine_behind_another_one_is_reached_and_survives_the_loss_of_the_way() {
    let Some(near) = Host::start(Setup::default()) else { return };
    let Some(far) = Host::start_behind(&near) else { return };
    let machine = SshMachine::new(far.config());
    let mut contact = machine.contact();
    let keeper = machine.keeper(1, LONG);
    let mut run = script("a", "echo begun; read word; echo got $word");
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(6).await;
    assert_eq!((near.sign_ins(), far.sign_ins()), (1, 1));
    assert!(near.running("forge-keeper").is_empty(), "{:?}", near.processes());
    assert_eq!(far.running("forge-keeper serve").len(), 1);
    // What is lost is the way, not the machine.
    assert!(near.kill_sessions() > 0);
    contact.wait_for(|contact| !contact.is_live()).await.unwrap();
    contact.wait_for(Contact::is_live).await.unwrap();
    input.send(b"word\n".to_vec()).await.unwrap();
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    assert_eq!(printed.out, b"begun\ngot word\n");
    assert_eq!((near.sign_ins(), far.sign_ins()), (2, 2));
    machine.stop_all(&keeper).await.unwrap();
}
