//! Connections that are cut: nothing is lost, nothing comes twice, and nothing ends but by the container's word.

use std::time::Duration;

use forge_exec::Stdin;
use forge_machines::{Contact, container::Containers};
use forge_machines_testkit::{Following, Podman, Random};

use crate::{LONG, script};

/// How often the connection is cut.
const CUTS: usize = 30;

/// How many lines are printed.
const LINES: usize = 700_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thirty_cuts_while_a_program_prints_and_reads_lose_and_double_nothing() {
    let Some(podman) = Podman::rootful() else { return };
    let containers = Containers::open(podman.setup(podman.config())).await.unwrap();
    containers.allocate("t").await.unwrap();
    let machine = containers.machine("t");
    let mut contact = machine.contact();
    let keeper = machine.keeper(1, LONG);
    let text = format!(
        "echo >> /starts; (i=0; while [ $i -lt 10 ]; do seq $((i*{LINES}/10)) $((i*{LINES}/10+{LINES}/10-1)); \
         sleep 1; i=$((i+1)); done) & while read word; do echo got $word >&2; done; wait; wc -c < /starts >&2"
    );
    let mut run = script("a", &text);
    let (input, stdin) = tokio::sync::mpsc::channel(1);
    run.command.stdin = Stdin::Stream(stdin);
    let mut following = Following::of(keeper.open(run).await.unwrap());
    following.until(1).await;
    let seed = Random::seed();
    eprintln!("seed {seed}");
    let mut random = Random::new(seed);
    let mut done = 0;
    while done < CUTS {
        contact.wait_for(Contact::is_live).await.unwrap();
        tokio::time::sleep(Duration::from_millis(random.below(150))).await;
        let killed = if random.below(2) == 0 { podman.kill_clients() } else { podman.kill_relays() };
        if killed == 0 {
            continue;
        }
        contact.wait_for(|contact| !contact.is_live()).await.unwrap();
        machine.nudge().await;
        input.send(format!("word-{done}\n").into_bytes()).await.unwrap();
        done += 1;
    }
    drop(input);
    let (finished, printed) = following.end().await;
    assert!(finished.unwrap().is_success());
    let out = String::from_utf8(printed.out).unwrap();
    assert_eq!(out.lines().count(), LINES);
    assert!(out.lines().enumerate().all(|(number, line)| line == number.to_string()));
    let words: String = (0..CUTS).map(|number| format!("got word-{number}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&printed.err), words + "1\n");
    machine.stop_all(&keeper).await.unwrap();
    drop((keeper, machine));
    containers.release("t").await.unwrap();
    podman.close().unwrap();
}
