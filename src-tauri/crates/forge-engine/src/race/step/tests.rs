//! Who wins a race, by what is known of its entries.

use forge_model::election::GateResult;
use forge_model::race::{Race, RaceEntry, RaceEntryStatus};

use super::decide;
use crate::core::testing;

/// An entry that passed its checks with changes, unless it is told otherwise.
fn finished(entry: &mut RaceEntry, score: f64, cost: u64) {
    entry.status = RaceEntryStatus::Finished;
    entry.gate = GateResult::Passed;
    entry.checks = Some(1);
    entry.commit = Some("work".to_owned());
    (entry.score, entry.cost_micro_usd) = (Some(score), Some(cost));
}

/// Decides a race of three and says what came of it.
fn check(change: impl FnOnce(&mut Race), expected: &str) {
    let mut race = testing::race(&["a", "b", "c"]);
    race.entries.iter_mut().for_each(|entry| finished(entry, 50.0, 100));
    change(&mut race);
    decide(&mut race);
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "nobody".to_owned());
    let by = race.decided_by.map(|rule| rule.to_string()).unwrap_or_default();
    let found =
        format!("{}: elected {}, won by {}, by {by}", race.status, name(&race.elected), name(&race.winner));
    assert_eq!(found, expected);
}

#[test]
fn the_best_score_wins_then_the_lowest_cost_then_the_name() {
    check(|race| race.entries[1].score = Some(90.0), "decided: elected b, won by b, by reviewer");
    check(|race| race.entries[2].cost_micro_usd = Some(7), "decided: elected c, won by c, by cost");
    check(|_| {}, "decided: elected a, won by a, by name");
}

#[test]
fn entries_that_did_not_pass_their_checks_cannot_win() {
    check(
        |race| {
            race.entries[0].gate = GateResult::Failed;
            race.entries[0].score = Some(99.0);
        },
        "decided: elected b, won by b, by name",
    );
    check(
        |race| {
            for (entry, gate) in
                race.entries.iter_mut().zip([GateResult::Failed, GateResult::TimedOut, GateResult::NotRun])
            {
                entry.gate = gate;
            }
        },
        "no_winner: elected nobody, won by nobody, by none",
    );
}

#[test]
fn person_chooses_where_that_is_asked_for_or_names_are_no_reason() {
    check(
        |race| {
            race.human_crown = true;
            race.entries[1].score = Some(90.0);
        },
        "awaiting_crown: elected b, won by b, by reviewer",
    );
    check(|race| race.name_decides = false, "awaiting_crown: elected a, won by nobody, by name");
}
