//! Choices of machines, as data.

use forge_model::machine::{DEFAULT_ROOT, MachineCaps, MachineKind, SshConfig};
use forge_model::time::Timestamp;

use super::*;

fn labels(all: &[&str]) -> Vec<String> {
    all.iter().map(|label| (*label).to_owned()).collect()
}

fn machine(name: &str, own: &[&str], runs: u32, cap: Option<u32>) -> Candidate {
    let ssh =
        SshConfig { host: name.to_owned(), user: None, port: None, identity_file: None, options: Vec::new() };
    Candidate::from(Machine {
        id: name.into(),
        name: name.to_owned(),
        kind: MachineKind::Ssh,
        ssh: Some(ssh),
        container: None,
        root: DEFAULT_ROOT.to_owned(),
        labels: labels(own),
        caps: MachineCaps { runs: cap },
        draining: false,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
        runs,
        tasks: runs,
    })
}

fn draining(mut candidate: Candidate) -> Candidate {
    candidate.machine.draining = true;
    candidate
}

fn unreachable(candidate: Candidate) -> Candidate {
    let contact = MachineContact::Unreachable;
    Candidate::from(Machine { contact, contact_since: Some(Timestamp(0)), ..candidate.machine })
}

fn on(name: &str) -> Placement {
    Placement::On(name.into())
}

#[test]
fn least_loaded_machine_with_all_labels_is_chosen_and_what_keeps_a_task_from_all_is_told() {
    let gpu = |name: &str, runs, cap| machine(name, &["gpu"], runs, cap);
    let wait = Placement::Wait;
    for (case, required, candidates, expected) in [
        ("an empty list is this computer", &[][..], vec![gpu("a", 0, None)], Placement::Local),
        ("a name is a label", &["a"], vec![gpu("b", 0, None), gpu("a", 9, None)], on("a")),
        ("a name beside a label", &["a", "gpu"], vec![gpu("b", 0, None), gpu("a", 9, None)], on("a")),
        (
            "two names are two machines",
            &["a", "b"],
            vec![gpu("b", 0, None), gpu("a", 9, None)],
            wait(WaitFor::NoMachine),
        ),
        (
            "all labels",
            &["gpu", "arm"],
            vec![gpu("a", 0, None), machine("b", &["arm", "gpu"], 3, None)],
            on("b"),
        ),
        ("a label that none has", &["tpu"], vec![gpu("a", 0, None)], wait(WaitFor::NoMachine)),
        ("no machines", &["gpu"], vec![], wait(WaitFor::NoMachine)),
        ("fewest runs", &["gpu"], vec![gpu("a", 2, None), gpu("b", 1, None)], on("b")),
        ("smallest share of the cap", &["gpu"], vec![gpu("a", 1, Some(2)), gpu("b", 2, Some(5))], on("b")),
        ("a share is below a whole run", &["gpu"], vec![gpu("a", 1, None), gpu("b", 4, Some(5))], on("b")),
        ("equal shares: by name", &["gpu"], vec![gpu("b", 1, Some(2)), gpu("a", 2, Some(4))], on("a")),
        ("full ones are left out", &["gpu"], vec![gpu("a", 1, Some(1)), gpu("b", 7, None)], on("b")),
        ("draining ones, too", &["gpu"], vec![draining(gpu("a", 0, None)), gpu("b", 7, None)], on("b")),
        ("and unreachable ones", &["gpu"], vec![unreachable(gpu("a", 0, None)), gpu("b", 7, None)], on("b")),
        ("all full", &["gpu"], vec![gpu("a", 1, Some(1)), gpu("b", 3, Some(2))], wait(WaitFor::Full)),
        ("draining", &["gpu"], vec![draining(unreachable(gpu("a", 0, None)))], wait(WaitFor::Draining)),
        ("unreachable", &["gpu"], vec![unreachable(gpu("a", 1, Some(1)))], wait(WaitFor::Unreachable)),
        (
            "a run ends before a machine comes back",
            &["gpu"],
            vec![draining(gpu("a", 0, None)), unreachable(gpu("b", 0, None)), gpu("c", 1, Some(1))],
            wait(WaitFor::Full),
        ),
        (
            "a machine comes back before draining ends",
            &["gpu"],
            vec![draining(gpu("a", 0, None)), unreachable(gpu("b", 0, None)), machine("c", &[], 0, None)],
            wait(WaitFor::Unreachable),
        ),
    ] {
        assert_eq!(choose(&labels(required), &candidates), expected, "{case}");
        let reversed: Vec<Candidate> = candidates.into_iter().rev().collect();
        assert_eq!(choose(&labels(required), &reversed), expected, "{case}, in another order");
    }
}

/// Every machine of a name that differs in what the choice looks at.
fn variants(name: &str) -> Vec<Candidate> {
    let mut all = Vec::new();
    for own in [&[][..], &["gpu"]] {
        for runs in 0..4 {
            for cap in [None, Some(1), Some(3)] {
                let plain = machine(name, own, runs, cap);
                let cut = unreachable(plain.clone());
                all.extend([draining(plain.clone()), draining(cut.clone()), plain, cut]);
            }
        }
    }
    all
}

fn fits(candidate: &Candidate, label: &str) -> bool {
    let Machine { name, labels, caps, draining, .. } = &candidate.machine;
    (name == label || labels.iter().any(|own| own == label))
        && !draining
        && !candidate.is_unreachable
        && caps.runs.is_none_or(|cap| candidate.runs < cap)
}

/// The load as people count it; exact for these caps as far as the comparisons go.
fn load(candidate: &Candidate) -> f64 {
    f64::from(candidate.runs) / f64::from(candidate.machine.caps.runs.unwrap_or(1))
}

#[test]
fn of_any_two_machines_one_is_chosen_exactly_if_one_fits_and_it_is_the_least_loaded_that_does() {
    let (firsts, seconds) = (variants("a"), variants("b"));
    for (first, second) in firsts.iter().flat_map(|one| seconds.iter().map(move |other| (one, other))) {
        for label in ["gpu", "b"] {
            let pair = [first.clone(), second.clone()];
            let fitting: Vec<&Candidate> = pair.iter().filter(|it| fits(it, label)).collect();
            let placed = choose(&labels(&[label]), &pair);
            match &placed {
                Placement::Local => panic!("{pair:?}: a task that requires a machine was put here"),
                Placement::Wait(_) => assert!(fitting.is_empty(), "{pair:?}: waits although one fits"),
                Placement::On(id) => {
                    let chosen = fitting.iter().find(|it| it.machine.id == *id);
                    let chosen = chosen.unwrap_or_else(|| panic!("{pair:?}: {id} does not fit"));
                    assert!(fitting.iter().all(|it| load(chosen) <= load(it)), "{pair:?}: {id} is busier");
                }
            }
            let [one, other] = pair;
            assert_eq!(choose(&labels(&[label]), &[other, one]), placed, "the order of machines decides");
        }
    }
}

#[test]
fn waits_name_the_machines_or_the_labels() {
    let candidates = [
        unreachable(machine("cut", &["far"], 0, None)),
        machine("busy", &["small"], 1, Some(1)),
        machine("full", &["small"], 2, Some(2)),
        draining(machine("old", &[], 0, None)),
    ];
    let told = |required: &[&str]| {
        let required = labels(required);
        let Placement::Wait(wait) = choose(&required, &candidates) else { panic!("it is placed") };
        let Waiting { reason, message, .. } = waiting(&required, &candidates, wait);
        (reason, message)
    };
    let expect = |reason, message: &str| (reason, message.to_owned());
    assert_eq!(
        told(&["far"]),
        expect(WaitReason::MachineUnreachable, "waits for cut: not reachable since 1970-01-01 00:00 UTC")
    );
    assert_eq!(
        told(&["busy"]),
        expect(WaitReason::MachineBusy, "waits for busy: runs as many agents as it may")
    );
    assert_eq!(
        told(&["small"]),
        expect(WaitReason::MachineBusy, "waits for busy, full: run as many agents as they may")
    );
    assert_eq!(
        told(&["old"]),
        expect(WaitReason::NoMachine, "waits for old: is draining, so nothing new starts there")
    );
    assert_eq!(told(&["tpu"]), expect(WaitReason::NoMachine, "no machine has the label tpu"));
    assert_eq!(
        told(&["far", "small"]),
        expect(WaitReason::NoMachine, "no machine has all of the labels far, small")
    );
}
