//! Decisions as data.

use forge_model::machine::{DEFAULT_ROOT, MachineCaps, MachineContact, MachineKind, MachineQuota};
use forge_store::table::slots::Slot;

use super::*;
use crate::core::fleet::placement::Today;

mod simulated;

fn machine(name: &str, labels: &[&str], cap: Option<u32>) -> Candidate {
    Candidate::from(Machine {
        id: name.into(),
        name: name.to_owned(),
        kind: MachineKind::Ssh,
        ssh: None,
        container: None,
        slurm: None,
        kubernetes: None,
        root: DEFAULT_ROOT.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        caps: MachineCaps { runs: cap },
        quota: MachineQuota::default(),
        draining: false,
        created_at: Timestamp(0),
        updated_at: Timestamp(0),
        contact: MachineContact::Unknown,
        contact_since: None,
        contact_error: None,
        runs: 0,
        tasks: 0,
    })
}

/// Agent `a` with places, and projects `p` and `q`.
fn fleet(machines: Vec<Candidate>, places: u32) -> Fleet {
    let agent = AgentPlaces { name: "Ada".to_owned(), most: places, ..AgentPlaces::default() };
    let project = || ProjectPlaces { most: 100, ..ProjectPlaces::default() };
    Fleet {
        machines,
        agents: HashMap::from([("a".into(), agent)]),
        projects: HashMap::from([("p".into(), project()), ("q".into(), project())]),
        ..Fleet::empty(Timestamp(DAY))
    }
}

fn labels(all: &[&str]) -> Wants {
    Wants::Labels(all.iter().map(|label| (*label).to_owned()).collect())
}

/// A task that waits since its number.
fn waiter(project: &str, number: u32, priority: i32, wants: Wants) -> Waiter {
    let since = Timestamp(i64::from(number));
    Waiter {
        task: format!("{project}{number}").as_str().into(),
        project: project.into(),
        agent: "a".into(),
        rank: Rank::of(true, priority, (since, since), (None, number)),
        since,
        is_held: false,
        is_for_person: false,
        is_open: false,
        is_past_its_limit: false,
        wants,
    }
}

/// The tasks that start, in their order, each with its machine, and what the others wait for.
fn decide(fleet: &Fleet, waiters: &[Waiter]) -> (Vec<String>, Vec<String>) {
    let decided = plan(fleet.clone(), waiters, Timestamp(1000));
    let start = |start: &Start| match &decided.decisions[start.at] {
        Decision::Start(machine) => {
            let on = machine.as_ref().map_or("here", |id| id.as_str());
            format!("{} {on}", waiters[start.at].task)
        }
        Decision::Wait(_) => panic!("{start:?} starts and waits"),
    };
    let starts = decided.starts.iter().map(start).collect();
    let waits = waiters.iter().zip(&decided.decisions).filter_map(|(waiter, decision)| match decision {
        Decision::Wait(waiting) => Some(format!("{} {}", waiter.task, waiting.reason)),
        Decision::Start(_) => None,
    });
    (starts, waits.collect())
}

#[test]
fn priority_goes_before_age_and_what_does_not_fit_keeps_nobody_behind_it() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(2))], 9);
    let gpu = || labels(&["gpu"]);
    let (starts, waits) = decide(
        &fleet,
        &[
            waiter("p", 1, 0, gpu()),
            waiter("p", 2, 9, labels(&["tpu"])),
            waiter("p", 3, 1, gpu()),
            waiter("p", 4, 0, Wants::Here),
            waiter("p", 5, 0, gpu()),
        ],
    );
    assert_eq!(starts, ["p3 m", "p1 m", "p4 here"]);
    assert_eq!(waits, ["p2 no_machine", "p5 machine_busy"]);
}

#[test]
fn what_was_begun_goes_first_then_priority_and_age_raises_it_by_two_levels_at_most() {
    let rank = |is_begun, priority, days: i64| {
        Rank::of(is_begun, priority, (Timestamp(0), Timestamp(days * DAY)), (None, 1))
    };
    assert!(rank(true, 0, 0) < rank(false, 9, 9));
    // On the first day priority alone counts.
    let late = |hours| Rank::of(false, 0, (Timestamp(hours * DAY / 24), Timestamp(DAY)), (None, 1));
    let urgent = |hours| Rank::of(false, 1, (Timestamp(hours * DAY / 24), Timestamp(DAY)), (None, 1));
    assert!(urgent(23) < late(1));
    assert!(late(1) < late(2), "of equal priority, the older one");
    // A day later it is a level higher, and after two days it rises no more.
    assert!(late(0) < urgent(1));
    assert!(rank(false, 2, 3) > rank(false, 3, 3));
    assert!(rank(false, 1, 100) > Rank::of(false, 4, (Timestamp(DAY), Timestamp(DAY)), (None, 1)));
    assert!(rank(true, i32::MAX, i64::from(i32::MAX)) < rank(true, i32::MIN, 0));
}

#[test]
fn every_fourth_place_of_a_project_goes_to_the_task_that_waited_longest_if_that_is_more_than_a_day() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], None)], 6);
    let mut waiters: Vec<Waiter> = (10..=20).map(|n| waiter("p", n, 50, labels(&["gpu"]))).collect();
    for (number, days, wants) in [(1, 3, labels(&["tpu"])), (2, 2, labels(&["gpu"])), (3, 1, Wants::Here)] {
        let since = Timestamp(-days * DAY);
        let rank = Rank::of(false, 0, (since, Timestamp(1000)), (None, number));
        waiters.push(Waiter { since, rank, ..waiter("p", number, 0, wants) });
    }
    // The one that waited longest of those that can run.
    let (starts, _) = decide(&fleet, &waiters);
    assert_eq!(starts, ["p10 m", "p11 m", "p12 m", "p2 m", "p13 m", "p14 m"]);
    // What is owed stays owed until one can run.
    let owed = Turn { turn: 7, passed: 7 };
    fleet.projects.get_mut(&"p".into()).unwrap().turns.insert("m".to_owned(), owed);
    assert_eq!(decide(&fleet, &waiters).0[..2], ["p2 m", "p10 m"]);
    let young: Vec<Waiter> = waiters.into_iter().filter(|it| it.since.0 >= 0).collect();
    assert_eq!(decide(&fleet, &young).0[..2], ["p10 m", "p11 m"]);
}

#[test]
fn projects_share_a_machine_however_many_tasks_one_of_them_has() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(4))], 9);
    let mut waiters: Vec<Waiter> = (1..=9).map(|n| waiter("p", n, 5, labels(&["gpu"]))).collect();
    waiters.extend((20..=24).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&fleet, &waiters);
    assert_eq!(starts, ["p1 m", "q20 m", "p2 m", "q21 m"]);
}

#[test]
fn of_equal_shares_the_project_whose_turn_is_longest_ago_is_next() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 9);
    let waiters = [waiter("p", 1, 9, labels(&["gpu"])), waiter("q", 2, 0, labels(&["gpu"]))];
    let mut had = |project: &str, turn: u64| {
        let turns = &mut fleet.projects.get_mut(&project.into()).unwrap().turns;
        for whose in ["a", "m", project] {
            turns.insert(whose.to_owned(), Turn { turn, passed: 1 });
        }
        decide(&fleet, &waiters).0
    };
    assert_eq!(had("p", 7), ["q2 m"]);
    assert_eq!(had("q", 8), ["p1 m"]);
}

#[test]
fn project_that_is_busy_with_other_agents_is_passed_for_ever_by_none() {
    // Agent `a` has one place, which both projects always want; `p` has short tasks of another agent besides.
    let mut fleet = fleet(Vec::new(), 1);
    let other = AgentPlaces { most: 1, ..AgentPlaces::default() };
    fleet.agents.insert("other".into(), other);
    let mut of_projects = HashMap::new();
    for number in 1..=8 {
        let mut waiters = vec![
            waiter("p", 100 + number, 0, Wants::Here),
            waiter("q", number, 0, Wants::Here),
            Waiter { agent: "other".into(), ..waiter("p", number, 0, Wants::Here) },
        ];
        waiters[0].since = Timestamp(0);
        let decided = plan(fleet, &waiters, Timestamp(1000));
        for start in &decided.starts {
            let it = &waiters[start.at];
            *of_projects.entry((it.agent.0.clone(), it.project.0.clone())).or_insert(0) += 1;
        }
        fleet = decided.fleet;
        fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (0, HashMap::new()));
        fleet.projects.values_mut().for_each(|it| it.taken = 0);
    }
    let given = |agent: &str, project: &str| of_projects[&(agent.to_owned(), project.to_owned())];
    assert_eq!((given("a", "p"), given("a", "q"), given("other", "p")), (4, 4, 8));
}

#[test]
fn projects_share_an_agent_whose_work_of_one_of_them_is_on_many_machines() {
    let machines: Vec<Candidate> = (0..20).map(|n| machine(&format!("m{n:02}"), &[], None)).collect();
    let mut fleet = fleet(machines, 1);
    let mut given = 0;
    for round in 0..40_u32 {
        let mut waiters: Vec<Waiter> = (0..20)
            .map(|n| waiter("p", 100 + n, 0, Wants::Its(MachineId(format!("m{n:02}")), None)))
            .collect();
        waiters.push(waiter("q", 200 + round, 0, Wants::Here));
        let decided = plan(fleet, &waiters, Timestamp(1000));
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        given += u32::from(start.at < 20);
        fleet = decided.fleet;
        fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (0, HashMap::new()));
        fleet.projects.values_mut().for_each(|it| it.taken = 0);
        fleet.machines.iter_mut().for_each(|it| it.runs = 0);
        fleet.on_machines.clear();
    }
    assert_eq!(given, 20);
}

#[test]
fn what_is_owed_by_a_project_is_given_by_no_debt_of_an_agent_or_a_machine() {
    // One place of the project. Others that are old are always owed something by `a`, and by the machines.
    let mut fleet = fleet(vec![machine("m", &["m"], None), machine("n", &["n"], None)], 9);
    for agent in ["b", "c"] {
        fleet.agents.insert(agent.into(), AgentPlaces { most: 9, ..AgentPlaces::default() });
    }
    fleet.projects.values_mut().for_each(|it| it.most = 1);
    let old = |number: u32, days: i64, agent: &str, wants: Wants| {
        let since = Timestamp(-days * DAY);
        let rank = Rank::of(false, -9, (since, Timestamp(1000)), (None, number));
        Waiter { since, rank, agent: agent.into(), ..waiter("p", number, 0, wants) }
    };
    for place in 1.. {
        assert!(place <= BY_RANK + 1, "it is passed for ever");
        let waiters = [
            old(1, 9, "b", Wants::Here),
            waiter("p", 100 + place, 90, labels(&["m"])),
            old(200 + place, 3, "a", labels(&["n"])),
            old(300 + place, 2, "c", labels(&["m"])),
        ];
        let decided = plan(fleet, &waiters, Timestamp(1000));
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        if start.at == 0 {
            break;
        }
        fleet = decided.fleet;
        // What the agent and the machine owe is due long since.
        let turns = &mut fleet.projects.get_mut(&"p".into()).unwrap().turns;
        for whose in ["a", "m", "n"] {
            turns.entry(whose.to_owned()).or_default().passed = 9;
        }
        fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (0, HashMap::new()));
        fleet.projects.values_mut().for_each(|it| it.taken = 0);
        fleet.machines.iter_mut().for_each(|it| it.runs = 0);
        fleet.on_machines.clear();
    }
}

#[test]
fn task_whose_agent_is_given_nothing_is_owed_a_place_of_its_project_and_so_is_a_race() {
    // The project has one place, and always a task of another agent that is more urgent than age can raise any other.
    for wants in [Wants::Here, Wants::Race] {
        let mut fleet = fleet(Vec::new(), 9);
        fleet.agents.insert("other".into(), AgentPlaces { most: 9, ..AgentPlaces::default() });
        fleet.projects.values_mut().for_each(|it| it.most = 1);
        let mut starts = 0;
        loop {
            starts += 1;
            assert!(starts <= BY_RANK + 1, "it is passed for ever: {wants:?}");
            let since = Timestamp(-2 * DAY);
            let rank = Rank::of(false, -9, (since, Timestamp(1000)), (None, 1));
            let old = Waiter { since, rank, agent: "other".into(), ..waiter("p", 1, 0, wants.clone()) };
            let urgent = waiter("p", 100 + starts, 90, Wants::Here);
            let decided = plan(fleet, &[old, urgent], Timestamp(1000));
            let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
            if start.at == 0 {
                assert!(start.by_age);
                break;
            }
            fleet = decided.fleet;
            fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (0, HashMap::new()));
            fleet.projects.values_mut().for_each(|it| it.taken = 0);
        }
    }
}

#[test]
fn old_tasks_of_a_project_do_not_turn_the_shares_of_projects_around() {
    let fleet = fleet(vec![machine("m", &["gpu"], Some(8))], 9);
    let mut waiters: Vec<Waiter> = (1..=9).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    for it in &mut waiters {
        it.since = Timestamp(-9 * DAY);
        it.rank = Rank::of(true, 0, (it.since, Timestamp(1000)), (None, 1));
    }
    waiters.extend((20..=29).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&fleet, &waiters);
    let of = |project: &str| starts.iter().filter(|it| it.starts_with(project)).count();
    assert_eq!((of("p"), of("q")), (4, 4), "{starts:?}");
}

#[test]
fn task_that_waits_for_a_machine_takes_no_place_of_its_agent() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 1);
    fleet.machines[0].runs = 1;
    let (starts, waits) =
        decide(&fleet, &[waiter("p", 1, 9, labels(&["gpu"])), waiter("p", 2, 0, Wants::Here)]);
    assert_eq!((starts, waits), (vec!["p2 here".to_owned()], vec!["p1 machine_busy".to_owned()]));
}

#[test]
fn quota_of_a_day_counts_the_starts_of_the_same_pass_and_ends_tomorrow() {
    let mut of = fleet(vec![machine("m", &["gpu"], None)], 9);
    of.machines[0].machine.quota = MachineQuota { runs_per_day: Some(5), micro_usd_per_day: None };
    of.machines[0].today = Today { runs: 3, micro_usd: 0 };
    let waiters: Vec<Waiter> = (1..=4).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    let decided = plan(of, &waiters, Timestamp(1000));
    assert_eq!(decided.starts.iter().map(|start| start.at).collect::<Vec<_>>(), [0, 1]);
    let Decision::Wait(waiting) = &decided.decisions[2] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineQuota, Some(Timestamp(DAY))));
    assert!(!waiting.message.contains('$'), "{}", waiting.message);
}

#[test]
fn whoever_waits_for_a_full_machine_beside_a_spent_one_is_asked_again_tomorrow() {
    let mut of = fleet(vec![machine("full", &["gpu"], Some(1)), machine("spent", &["gpu"], None)], 9);
    of.machines[0].runs = 1;
    of.machines[1].machine.quota.micro_usd_per_day = Some(5);
    of.machines[1].today = Today { runs: 1, micro_usd: 5 };
    let it = waiter("p", 1, 0, labels(&["gpu"]));
    let decided = plan(of.clone(), std::slice::from_ref(&it), Timestamp(1000));
    let Decision::Wait(waiting) = &decided.decisions[0] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineBusy, None));
    let again = crate::core::admission::looks_again(&of, &it, waiting);
    assert_eq!(again, [crate::core::admission::Again::At(Timestamp(DAY))]);
}

#[test]
fn whoever_finds_a_machine_full_and_spent_by_the_same_plan_is_asked_again_tomorrow() {
    let mut of = fleet(vec![machine("m", &["gpu"], Some(1)), machine("n", &["gpu"], Some(1))], 9);
    of.machines[0].machine.quota.runs_per_day = Some(1);
    let waiters: Vec<Waiter> = (1..=3).map(|n| waiter("p", n, 0, labels(&["gpu"]))).collect();
    let decided = plan(of.clone(), &waiters, Timestamp(1000));
    let Decision::Wait(waiting) = &decided.decisions[2] else { panic!("{decided:?}") };
    assert_eq!((waiting.reason, waiting.until), (WaitReason::MachineBusy, None));
    let again = crate::core::admission::looks_again(&decided.fleet, &waiters[2], waiting);
    assert_eq!(again, [crate::core::admission::Again::At(Timestamp(DAY))]);
}

#[test]
fn race_begins_while_its_own_agent_is_busy_and_its_project_is_not() {
    let mut base = fleet(Vec::new(), 1);
    base.agents.values_mut().for_each(|it| (it.taken, it.is_paused) = (1, true));
    base.projects.values_mut().for_each(|it| it.most = 2);
    let races: Vec<Waiter> = (1..=3).map(|n| waiter("p", n, 0, Wants::Race)).collect();
    let (starts, waits) = decide(&base, &races);
    assert_eq!(starts, ["p1 here", "p2 here"], "as many as could have an entry at work");
    assert_eq!(waits, ["p3 project_busy"]);
    let decided = plan(base.clone(), &races, Timestamp(1000));
    let (of_agent, turns) =
        (&decided.fleet.agents[&AgentId::from("a")], &decided.fleet.projects[&ProjectId::from("p")].turns);
    let turns: Vec<&str> = turns.keys().map(String::as_str).collect();
    assert_eq!((of_agent.taken, turns), (1, vec!["p"]), "a race takes no place of an agent");
    base.projects.values_mut().for_each(|it| it.is_paused = true);
    assert_eq!(decide(&base, &races).1[0], "p1 paused");
    let held = [Waiter { is_held: true, ..waiter("p", 1, 0, Wants::Race) }];
    assert_eq!(decide(&base, &held).1, ["p1 held"]);
}

#[test]
fn projects_share_an_agent_whose_places_are_on_many_machines() {
    // Each machine has room for all: the agent is what there is less of.
    let machines = (0..6).map(|n| machine(&format!("m{n}"), &["gpu"], Some(9))).collect();
    let mut base = fleet(machines, 6);
    base.agents
        .values_mut()
        .for_each(|it| (it.taken, it.of_projects) = (4, HashMap::from([("p".into(), 4)])));
    for n in 0..4_usize {
        base.machines[n].runs = 1;
        base.on_machines.insert((MachineId(format!("m{n}")), "p".into()), 1);
    }
    let mut waiters: Vec<Waiter> = (1..=4).map(|n| waiter("p", n, 9, labels(&["gpu"]))).collect();
    waiters.extend((10..=13).map(|n| waiter("q", n, 0, labels(&["gpu"]))));
    let (starts, _) = decide(&base, &waiters);
    assert!(starts.iter().all(|it| it.starts_with('q')), "q has no place of the agent: {starts:?}");
}

#[test]
fn worktree_keeps_its_task_on_its_machine_which_may_drain_and_may_be_gone() {
    let mut fleet = fleet(vec![machine("m", &[], Some(1)), machine("n", &[], None)], 9);
    let its = |id: &str| waiter("p", 1, 0, Wants::Its(id.into(), None));
    fleet.machines[0].machine.draining = true;
    assert_eq!(decide(&fleet, &[its("m")]).0, ["p1 m"]);
    assert_eq!(decide(&fleet, &[its("removed")]).0, ["p1 removed"]);
    fleet.machines[0].is_unreachable = true;
    assert_eq!(decide(&fleet, &[its("m")]).1, ["p1 machine_unreachable"]);
    assert_eq!(unreachable_for(&fleet, &its("m")), ["m".into()]);
    assert_eq!(unreachable_for(&fleet, &its("n")), []);
    // Its own container is what counts.
    let live = Machine { contact: MachineContact::Live, ..fleet.machines[0].machine.clone() };
    let own = waiter("p", 1, 0, Wants::Its("m".into(), Some(Box::new(live))));
    assert_eq!(decide(&fleet, std::slice::from_ref(&own)).0, ["p1 m"]);
    assert_eq!(unreachable_for(&fleet, &own), []);
}

#[test]
fn what_keeps_a_whole_agent_or_project_is_told_in_its_order() {
    let base = fleet(Vec::new(), 1);
    let here = waiter("p", 1, 0, Wants::Here);
    let told = |change: &dyn Fn(&mut Fleet, &mut Waiter)| {
        let (mut fleet, mut waiter) = (base.clone(), here.clone());
        change(&mut fleet, &mut waiter);
        decide(&fleet, &[waiter]).1.join("")
    };
    let agent = |fleet: &mut Fleet, change: &dyn Fn(&mut AgentPlaces)| {
        fleet.agents.values_mut().for_each(change);
    };
    let project = |fleet: &mut Fleet, change: &dyn Fn(&mut ProjectPlaces)| {
        fleet.projects.values_mut().for_each(change);
    };
    assert_eq!(told(&|_, waiter| waiter.is_held = true), "p1 held");
    assert_eq!(told(&|_, waiter| waiter.is_open = true), "p1 dependency_open");
    assert_eq!(told(&|fleet, _| agent(fleet, &|it| it.is_paused = true)), "p1 paused");
    assert_eq!(told(&|fleet, _| project(fleet, &|it| it.is_paused = true)), "p1 paused");
    let limited = |it: &mut AgentPlaces| it.limited_until = Some(Timestamp(9));
    assert_eq!(told(&|fleet, _| agent(fleet, &limited)), "p1 rate_limited");
    let costs = |it: &mut ProjectPlaces| it.obstacle = Some(wait(WaitReason::CostLimit, "costs"));
    assert_eq!(told(&|fleet, _| project(fleet, &costs)), "p1 cost_limit");
    let past_its_own = |fleet: &mut Fleet, waiter: &mut Waiter| {
        project(fleet, &costs);
        waiter.is_past_its_limit = true;
    };
    assert_eq!(told(&past_its_own), "", "its start tells of its own limit");
    assert_eq!(told(&|fleet, _| agent(fleet, &|it| it.taken = 1)), "p1 agent_busy");
    assert_eq!(told(&|fleet, _| project(fleet, &|it| it.taken = 100)), "p1 project_busy");
    assert_eq!(told(&|_, waiter| waiter.agent = "gone".into()), "p1 agent_busy");
}

#[test]
fn place_is_good_while_its_machine_can_run_the_task() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 9);
    let fits = |fleet: &Fleet, wants: Wants, on: Option<&str>| {
        let slot = Slot { agent_id: "a".into(), machine_id: on.map(Into::into) };
        still_fits(fleet, &waiter("p", 1, 0, wants), &slot)
    };
    let gpu = || labels(&["gpu"]);
    assert!(fits(&fleet, gpu(), Some("m")) && fits(&fleet, Wants::Here, None));
    assert!(fits(&fleet, Wants::Its("m".into(), None), Some("m")));
    assert!(!fits(&fleet, gpu(), None) && !fits(&fleet, Wants::Here, Some("m")));
    assert!(!fits(&fleet, labels(&["tpu"]), Some("m")) && !fits(&fleet, gpu(), Some("gone")));
    fleet.machines[0].machine.draining = true;
    assert!(!fits(&fleet, gpu(), Some("m")));
    assert!(fits(&fleet, Wants::Its("m".into(), None), Some("m")));
    for keep_off in [
        |fleet: &mut Fleet| fleet.agents.values_mut().for_each(|it| it.is_paused = true),
        |fleet: &mut Fleet| fleet.agents.values_mut().for_each(|it| it.limited_until = Some(Timestamp(9))),
        |fleet: &mut Fleet| fleet.projects.values_mut().for_each(|it| it.is_paused = true),
        |fleet: &mut Fleet| drop(fleet.agents.drain()),
    ] {
        let mut fleet = fleet.clone();
        keep_off(&mut fleet);
        assert!(!fits(&fleet, Wants::Here, None), "nothing begins there: {fleet:?}");
    }
    let of_another = Slot { agent_id: "other".into(), machine_id: None };
    assert!(!still_fits(&fleet, &waiter("p", 1, 0, Wants::Here), &of_another), "the role changed hands");
}

#[test]
fn no_project_is_passed_for_ever_by_one_with_tasks_without_end() {
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(3))], 9);
    // A run that lasts, of the project that waits.
    fleet.machines[0].runs = 1;
    fleet.on_machines.insert(("m".into(), "p".into()), 1);
    let mine = waiter("p", 1, -9, labels(&["gpu"]));
    let mut waited = 0;
    for number in 2.. {
        let flood: Vec<Waiter> = (0..4).map(|n| waiter("q", number * 10 + n, 9, labels(&["gpu"]))).collect();
        let all: Vec<Waiter> = std::iter::once(mine.clone()).chain(flood).collect();
        let decided = plan(fleet.clone(), &all, Timestamp(1000));
        if decided.starts.iter().any(|start| start.at == 0) {
            break;
        }
        waited += 1;
        assert!(waited < 3, "its project has one place of three");
        // One run of the other project ends at a time.
        fleet = decided.fleet;
        fleet.machines[0].runs -= 1;
        *fleet.on_machines.get_mut(&("m".into(), "q".into())).unwrap() -= 1;
    }
}

#[test]
fn no_task_is_passed_for_ever_by_more_urgent_ones_of_its_project() {
    // One place, and always new tasks that are more urgent than age can raise any other.
    let mut fleet = fleet(vec![machine("m", &["gpu"], Some(1))], 1);
    let mut old: Vec<Waiter> = (1..=5).map(|n| waiter("p", n, -9, labels(&["gpu"]))).collect();
    let mut places = 0;
    while !old.is_empty() {
        places += 1;
        let now = Timestamp(2 * DAY + i64::from(places));
        let mut all = old.clone();
        all.extend((0..3).map(|n| {
            let since = Timestamp(now.0 - 1);
            let number = 100 * places + n;
            let rank = Rank::of(true, 90, (since, now), (None, number));
            Waiter { since, rank, ..waiter("p", number, 0, labels(&["gpu"])) }
        }));
        let decided = plan(fleet, &all, now);
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        if start.at < old.len() {
            assert_eq!(start.at, 0, "the oldest first");
            old.remove(0);
        }
        fleet = decided.fleet;
        // It ends.
        fleet.machines[0].runs = 0;
        fleet.on_machines.clear();
        fleet.agents.values_mut().for_each(|agent| agent.taken = 0);
        fleet.projects.values_mut().for_each(|project| project.taken = 0);
    }
    assert_eq!(places, 5 * (BY_RANK + 1));
}

#[test]
fn task_that_can_run_on_one_machine_alone_is_owed_its_place_while_others_have_their_turns_by_age() {
    // Four machines with a place each end in rotation; old tasks run on each of them, one on the last machine alone.
    let names = ["m0", "m1", "m2", "m3"];
    let mut fleet = fleet(names.map(|name| machine(name, &["gpu"], Some(1))).to_vec(), 9);
    fleet.machines.iter_mut().for_each(|it| it.runs = 1);
    let old = |number: u32, days: i64, wants: Wants| {
        let since = Timestamp(-days * DAY + i64::from(number));
        let rank = Rank::of(false, -9, (since, Timestamp(0)), (None, number));
        Waiter { since, rank, ..waiter("p", number, 0, wants) }
    };
    let alone = old(1, 2, labels(&["m3"]));
    let mut places_there = 0;
    // The place that goes by age is always one of the first machine.
    for round in 1_u32.. {
        let at = usize::try_from(round).unwrap() % names.len();
        places_there += u32::from(at == 3);
        assert!(places_there <= BY_RANK + 1, "it is passed for ever");
        fleet.machines[at].runs = 0;
        fleet.on_machines.clear();
        fleet.agents.values_mut().for_each(|it| (it.taken, it.of_projects) = (3, HashMap::new()));
        fleet.projects.values_mut().for_each(|it| it.taken = 3);
        // Always: an urgent task, and another old one that is younger than this one and can run on the other machines.
        let urgent = Waiter {
            rank: Rank::of(false, 90, (Timestamp(0), Timestamp(0)), (None, round)),
            ..waiter("p", 1000 + round, 0, labels(&["gpu"]))
        };
        let mut waiters = vec![alone.clone(), urgent];
        waiters.extend(
            (0..3).map(|n| old(100 + 10 * round + n, 1, labels(&[names[usize::try_from(n).unwrap()]]))),
        );
        let decided = plan(fleet, &waiters, Timestamp(1000));
        let [start] = decided.starts[..] else { panic!("one place, {:?}", decided.starts) };
        if start.at == 0 {
            assert!(start.by_age);
            break;
        }
        fleet = decided.fleet;
    }
}
