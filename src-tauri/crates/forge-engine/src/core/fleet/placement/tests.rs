//! Choices of machines, as data.

use forge_model::machine::{DEFAULT_ROOT, MachineCaps, MachineKind, MachineQuota, SshConfig};
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
        slurm: None,
        kubernetes: None,
        root: DEFAULT_ROOT.to_owned(),
        labels: labels(own),
        caps: MachineCaps { runs: cap },
        quota: MachineQuota::default(),
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

/// A machine that had runs today, and what it may have.
fn spent(mut candidate: Candidate, (runs, most): (u32, u32), (cost, limit): (u64, u64)) -> Candidate {
    candidate.today = Today { runs, micro_usd: cost };
    candidate.machine.quota = MachineQuota { runs_per_day: Some(most), micro_usd_per_day: Some(limit) };
    candidate
}

/// The name of the machine that a task runs on which requires these labels, as the plan chooses it.
fn choose(required: &[String], machines: &[Candidate]) -> Result<String, WaitFor> {
    let has = |at: &usize| machines[*at].machine.has_labels(required);
    let labelled: Vec<usize> = (0..machines.len()).filter(has).collect();
    least_loaded(machines, &labelled).map(|at| machines[at].machine.name.clone())
}

fn on(name: &str) -> Result<String, WaitFor> {
    Ok(name.to_owned())
}

#[test]
fn least_loaded_machine_with_all_labels_is_chosen_and_what_keeps_a_task_from_all_is_told() {
    let gpu = |name: &str, runs, cap| machine(name, &["gpu"], runs, cap);
    let wait = Err;
    for (case, required, candidates, expected) in [
        ("a name is a label", &["a"][..], vec![gpu("b", 0, None), gpu("a", 9, None)], on("a")),
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
        (
            "a quota of runs that is left, and one that is used up",
            &["gpu"],
            vec![spent(gpu("a", 0, None), (5, 5), (0, 9)), spent(gpu("b", 7, None), (4, 5), (8, 9))],
            on("b"),
        ),
        (
            "a quota of dollars",
            &["gpu"],
            vec![spent(gpu("a", 0, None), (0, 5), (9, 9))],
            wait(WaitFor::Spent),
        ),
        (
            "a run ends before the day does",
            &["gpu"],
            vec![spent(gpu("a", 0, None), (0, 5), (9, 9)), gpu("b", 1, Some(1))],
            wait(WaitFor::Full),
        ),
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
                Err(_) => assert!(fitting.is_empty(), "{pair:?}: waits although one fits"),
                Ok(name) => {
                    let chosen = fitting.iter().find(|it| it.machine.name == *name);
                    let chosen = chosen.unwrap_or_else(|| panic!("{pair:?}: {name} does not fit"));
                    assert!(fitting.iter().all(|it| load(chosen) <= load(it)), "{pair:?}: {name} is busier");
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
        spent(machine("tired", &[], 0, None), (3, 3), (0, 1)),
        spent(machine("dear", &[], 0, None), (0, 3), (5_100_000, 5_000_000)),
    ];
    let told = |required: &[&str]| {
        let required = labels(required);
        let Err(wait) = choose(&required, &candidates) else { panic!("it is placed") };
        let Waiting { reason, message, .. } = waiting(&required, &candidates, wait);
        (reason, message)
    };
    let expect = |reason, message: &str| (reason, message.to_owned());
    assert_eq!(
        told(&["far"]),
        expect(WaitReason::MachineUnreachable, "waits for cut: not reachable since 1970-01-01 00:00 UTC")
    );
    assert_eq!(told(&["busy"]), expect(WaitReason::MachineBusy, "waits for busy: is at its limit of runs"));
    assert_eq!(
        told(&["small"]),
        expect(WaitReason::MachineBusy, "waits for busy, full: are at their limit of runs")
    );
    assert_eq!(
        told(&["old"]),
        expect(WaitReason::NoMachine, "waits for old: is draining, so no new runs start there")
    );
    assert_eq!(
        told(&["tired"]),
        expect(WaitReason::MachineQuota, "waits for tired: has reached its daily quota")
    );
    assert_eq!(
        told(&["dear"]),
        expect(WaitReason::MachineQuota, "waits for dear: has reached its daily quota")
    );
    assert_eq!(told(&["tpu"]), expect(WaitReason::NoMachine, "no machine has the label tpu"));
    assert_eq!(
        told(&["far", "small"]),
        expect(WaitReason::NoMachine, "no machine has all of the labels far, small")
    );
}

#[test]
fn fitness_of_a_machine_is_told_with_what_it_lacks_or_what_is_at_work() {
    let told = |required: &[&str], candidate: &Candidate| fitness(&labels(required), candidate);
    let idle = machine("idle", &["gpu"], 1, Some(4));
    assert_eq!(told(&["gpu"], &idle), (true, "can run it: 1 of 4 at work".to_owned()));
    assert_eq!(told(&["arm"], &idle), (false, "lacks the label arm".to_owned()));
    assert_eq!(told(&["arm", "gpu", "big"], &idle), (false, "lacks the labels arm, big".to_owned()));
    assert_eq!(
        told(&["gpu"], &draining(idle)),
        (false, "is draining, so no new runs start there".to_owned())
    );
}

#[test]
fn sentence_names_a_few_machines_and_counts_the_rest() {
    let all: Vec<Candidate> = (1..=8).map(|n| machine(&format!("m{n}"), &["gpu"], 1, Some(1))).collect();
    let told = waiting(&labels(&["gpu"]), &all, WaitFor::Full);
    assert_eq!(told.message, "waits for m1, m2, m3, m4, m5 and 3 more: are at their limit of runs");
}
