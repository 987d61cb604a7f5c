//! Which entry of a race wins: a pure function of the facts that were stored, with the way it came to.
//!
//! Rules narrow the field in order: gate, reviewer, cost, name. A rule that leaves one entry decides; a tie goes on
//! with the tied ones. How long an entry took is no fact of this. Names are unique, so somebody always wins once
//! one passed its gate, whatever order the entries come in.
//!
//! A name is no evidence. Whether a race takes a winner that only its name elected is the race's matter
//! ([`Election::is_by_name_alone`]).

use crate::{audit::MAX_SCORE, contract, names};

names! {
    /// How an entry's checks ended.
    pub enum GateResult {
        /// All passed.
        Passed = "passed",
        /// One failed.
        Failed = "failed",
        /// It timed out before they passed.
        TimedOut = "timed_out",
        /// They never ran.
        NotRun = "not_run",
    }
}

names! {
    /// A rule of the election.
    pub enum ElectionRule {
        /// Eliminates entries whose checks did not pass.
        Gate = "gate",
        /// The highest score of the reviewer.
        Reviewer = "reviewer",
        /// The lowest cost.
        Cost = "cost",
        /// The first name by its bytes.
        Name = "name",
        /// No rule: a person chose. Occurs only in races, never in elections.
        Person = "person",
        /// No rule: no entry is left.
        None = "none",
    }
}

contract! {
    /// What is known of an entry when it stands for election.
    pub struct EntryFacts {
        /// The strategy's name, unique in its race.
        pub name: String,
        /// How its checks ended.
        pub gate: GateResult,
        /// Whether it did its work and there were no checks to run. Such an entry did not pass; the gate does not rule
        /// it out either.
        #[serde(default)]
        pub without_checks: bool,
        /// What the reviewer gave it, 0 to 100; whatever lies outside counts as the nearer end.
        pub reviewer_score: Option<f64>,
        /// What all its runs cost, in micro-dollars; null when nobody knows.
        #[specta(type = Option<f64>)]
        pub cost_micro_usd: Option<u64>,
    }

    /// An entry that a rule eliminated, and why.
    #[derive(Eq)]
    pub struct Dropped {
        /// The strategy's name.
        pub name: String,
        /// Value that the rule compared: result of the checks, score, micro-dollars or name; null if unknown.
        pub value: Option<String>,
    }

    /// One rule's work.
    #[derive(Eq)]
    pub struct ElectionStep {
        /// The rule.
        pub rule: ElectionRule,
        /// Remaining entries, by name.
        pub kept: Vec<String>,
        /// Eliminated entries, by name.
        pub dropped: Vec<Dropped>,
    }

    /// Who won, and how that was found.
    #[derive(Eq)]
    pub struct Election {
        /// The winner's name; null when there is none.
        pub winner: Option<String>,
        /// The rule that left one.
        #[serde(rename = "decidedBy")]
        pub decided_by: ElectionRule,
        /// The rules that were applied, in order.
        pub trail: Vec<ElectionStep>,
    }
}

impl Election {
    /// Whether nothing but their names told the last candidates apart.
    #[must_use]
    pub fn is_by_name_alone(&self) -> bool {
        self.decided_by == ElectionRule::Name
    }
}

/// Elects. Without `reviewer_enabled`, scores are not looked at.
#[must_use]
pub fn elect(reviewer_enabled: bool, entries: &[EntryFacts]) -> Election {
    let mut field: Vec<&EntryFacts> = entries.iter().collect();
    field.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    let mut trail = Vec::new();
    for rule in [ElectionRule::Gate, ElectionRule::Reviewer, ElectionRule::Cost, ElectionRule::Name] {
        if rule == ElectionRule::Reviewer && !reviewer_enabled {
            continue;
        }
        let (kept, dropped): (Vec<_>, Vec<_>) = {
            let best = field.iter().map(|entry| Rank::of(rule, entry)).min();
            let stays = |entry: &&EntryFacts| Some(Rank::of(rule, entry)) == best;
            field.into_iter().partition(|entry| match rule {
                ElectionRule::Gate => entry.passes_gate(),
                _ => stays(entry),
            })
        };
        field = kept;
        trail.push(ElectionStep {
            rule,
            kept: field.iter().map(|entry| entry.name.clone()).collect(),
            dropped: dropped.into_iter().map(|entry| dropped_by(rule, entry)).collect(),
        });
        match field.as_slice() {
            [] => return Election { winner: None, decided_by: ElectionRule::None, trail },
            [winner] => return Election { winner: Some(winner.name.clone()), decided_by: rule, trail },
            _ => {}
        }
    }
    // Only entries of one name are left, which a race refuses.
    let winner = field.first().map(|entry| entry.name.clone());
    Election { winner, decided_by: ElectionRule::Name, trail }
}

/// Where an entry stands by a rule; the least is the best.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// By a known number.
    Known(u64),
    /// Behind every known number.
    Unknown,
    /// By text.
    Text(Vec<u8>),
}

impl Rank {
    fn of(rule: ElectionRule, entry: &EntryFacts) -> Self {
        match rule {
            ElectionRule::Reviewer => score(entry).map_or(Self::Unknown, |score| {
                // Bits of numbers that are not negative stand in the order of the numbers.
                Self::Known((f64::from(MAX_SCORE) - score).to_bits())
            }),
            ElectionRule::Cost => entry.cost_micro_usd.map_or(Self::Unknown, Self::Known),
            ElectionRule::Name => Self::Text(entry.name.clone().into_bytes()),
            ElectionRule::Gate | ElectionRule::Person | ElectionRule::None => Self::Unknown,
        }
    }
}

impl EntryFacts {
    fn passes_gate(&self) -> bool {
        match self.gate {
            GateResult::Passed => true,
            GateResult::NotRun => self.without_checks,
            GateResult::Failed | GateResult::TimedOut => false,
        }
    }
}

/// The score within its bounds; none when it is no number.
fn score(entry: &EntryFacts) -> Option<f64> {
    let score = entry.reviewer_score.filter(|score| !score.is_nan())?;
    // `+ 0.0` makes of a negative zero an ordinary one.
    Some(score.clamp(0.0, f64::from(MAX_SCORE)) + 0.0)
}

fn dropped_by(rule: ElectionRule, entry: &EntryFacts) -> Dropped {
    let value = match rule {
        ElectionRule::Gate => Some(entry.gate.as_str().to_owned()),
        ElectionRule::Reviewer => score(entry).map(|score| score.to_string()),
        ElectionRule::Cost => entry.cost_micro_usd.map(|cost| cost.to_string()),
        ElectionRule::Name => Some(entry.name.clone()),
        ElectionRule::Person | ElectionRule::None => None,
    };
    Dropped { name: entry.name.clone(), value }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, gate: GateResult, score: Option<f64>, cost: Option<u64>) -> EntryFacts {
        let name = name.to_owned();
        EntryFacts { name, gate, without_checks: false, reviewer_score: score, cost_micro_usd: cost }
    }

    #[test]
    fn entries_without_checks_stand_and_only_names_tell_them_apart() {
        let without =
            |name: &str| EntryFacts { without_checks: true, ..entry(name, GateResult::NotRun, None, None) };
        let election = elect(true, &[without("b"), without("a"), entry("c", GateResult::NotRun, None, None)]);
        assert_eq!(election.winner.as_deref(), Some("a"));
        assert!(election.is_by_name_alone());
        let gate = &election.trail[0];
        assert_eq!((gate.kept.join(" "), gate.dropped.len()), ("a b".to_owned(), 1), "one never ran");
        let cheap = EntryFacts { cost_micro_usd: Some(5), ..without("z") };
        let election = elect(true, &[without("a"), cheap]);
        assert_eq!((election.winner.as_deref(), election.is_by_name_alone()), (Some("z"), false));
    }

    #[test]
    fn the_trail_tells_each_rule_and_what_it_looked_at() {
        let entries = [
            entry("slow", GateResult::TimedOut, None, Some(1)),
            entry("b", GateResult::Passed, Some(140.0), Some(20)),
            entry("a", GateResult::Passed, Some(100.0), Some(20)),
            entry("dear", GateResult::Passed, Some(100.0), None),
            entry("weak", GateResult::Passed, Some(-3.0), Some(1)),
            entry("unseen", GateResult::Passed, None, Some(1)),
        ];
        let election = elect(true, &entries);
        let told: Vec<String> = election
            .trail
            .iter()
            .map(|step| {
                let dropped: Vec<String> = step
                    .dropped
                    .iter()
                    .map(|d| format!("{}={}", d.name, d.value.as_deref().unwrap_or("?")))
                    .collect();
                format!("{}: {} | {}", step.rule, step.kept.join(" "), dropped.join(" "))
            })
            .collect();
        assert_eq!(
            told,
            [
                "gate: a b dear unseen weak | slow=timed_out",
                "reviewer: a b dear | unseen=? weak=0",
                "cost: a b | dear=?",
                "name: a | b=b",
            ]
        );
        assert_eq!((election.winner.as_deref(), election.decided_by), (Some("a"), ElectionRule::Name));
    }

    #[test]
    fn a_score_that_is_no_number_is_none() {
        let entries = [
            entry("a", GateResult::Passed, Some(f64::NAN), Some(1)),
            entry("b", GateResult::Passed, Some(0.0), Some(9)),
        ];
        assert_eq!(elect(true, &entries).winner.as_deref(), Some("b"));
        assert_eq!(elect(false, &entries).winner.as_deref(), Some("a"));
    }

    fn entries() -> impl Strategy<Value = Vec<EntryFacts>> {
        let facts = (
            prop::sample::select(GateResult::ALL),
            prop::option::of(prop::sample::select(vec![
                -1.0,
                0.0,
                -0.0,
                50.0,
                50.5,
                100.0,
                101.0,
                f64::INFINITY,
            ])),
            prop::option::of(prop::sample::select(vec![0u64, 1, 2, u64::MAX])),
        );
        prop::collection::btree_map("[a-cA-C]{1,2}", facts, 0..7).prop_map(|named| {
            named.into_iter().map(|(name, (gate, score, cost))| entry(&name, gate, score, cost)).collect()
        })
    }

    proptest! {
        #[test]
        fn the_order_of_the_entries_never_matters(mut given in entries(), reviewer: bool, seed: u64) {
            let first = elect(reviewer, &given);
            given.sort_by_key(|entry| {
                entry.name.bytes().fold(seed, |sum, byte| sum.rotate_left(7).wrapping_mul(31) ^ u64::from(byte))
            });
            prop_assert_eq!(first, elect(reviewer, &given));
        }

        #[test]
        fn somebody_wins_exactly_when_somebody_passed(given in entries(), reviewer: bool) {
            let election = elect(reviewer, &given);
            let passed: Vec<&str> = given
                .iter()
                .filter(|entry| entry.gate == GateResult::Passed)
                .map(|entry| entry.name.as_str())
                .collect();
            prop_assert_eq!(election.winner.is_some(), !passed.is_empty());
            prop_assert!(election.winner.iter().all(|winner| passed.contains(&winner.as_str())));
        }

        #[test]
        fn the_loser_of_a_race_decides_nothing_by_leaving(given in entries(), reviewer: bool) {
            let election = elect(reviewer, &given);
            if let Some(winner) = &election.winner {
                for gone in given.iter().filter(|entry| entry.name != *winner) {
                    let rest: Vec<EntryFacts> = given.iter().filter(|e| e.name != gone.name).cloned().collect();
                    prop_assert_eq!(elect(reviewer, &rest).winner, Some(winner.clone()));
                }
            }
        }

        #[test]
        fn facts_that_were_stored_elect_the_same(given in entries(), reviewer: bool) {
            // An infinite score has no form in JSON and is clamped before it is stored.
            let given: Vec<EntryFacts> = given
                .into_iter()
                .map(|e| EntryFacts { reviewer_score: score(&e), ..e })
                .collect();
            let stored = serde_json::to_string(&given).unwrap();
            let read: Vec<EntryFacts> = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(elect(reviewer, &given), elect(reviewer, &read));
        }
    }
}
