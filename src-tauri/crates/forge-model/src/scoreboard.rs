//! The scoreboard: what the work of agents came to, by agent, model and effort.
//!
//! A *piece of work* is a task, or an entry of a race. It is counted to whoever did it last. The winner's entry and the
//! raced task are one piece of work; a loser's entry is one that was not merged, with what it cost.
//!
//! Invariants:
//! - A share is never without its count, and says nothing below [`ENOUGH`].
//! - A cost that nobody knows is counted, never taken for zero.

use std::collections::BTreeMap;

use crate::{
    contract,
    ids::{AgentId, RaceId},
    names,
};

/// The fewest pieces of work that a share, a time or a cost is told of.
pub const ENOUGH: u32 = 5;
/// The two-sided 95 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

names! {
    /// Grouping of the scoreboard.
    #[derive(Default)]
    pub enum ScoreGroup {
        /// An agent.
        #[default]
        Agent = "agent",
        /// An agent with a model.
        Model = "model",
        /// An agent with a model and an effort.
        Effort = "effort",
    }
}

contract! {
    /// A share with its count and 95 % interval (Wilson).
    #[derive(Default)]
    pub struct Share {
        /// How many.
        pub count: u32,
        /// Of how many.
        pub of: u32,
        /// The share, 0 to 1; null when there are fewer than 5.
        pub rate: Option<f64>,
        /// The lower end of its interval; null with the share.
        pub low: Option<f64>,
        /// The upper end of its interval; null with the share.
        pub high: Option<f64>,
    }

    /// Who did the work of a line.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct Scored {
        /// The agent.
        pub agent_id: AgentId,
        /// Its name.
        pub agent_name: String,
        /// The model; null if lines are by agent, or if the program named none.
        pub model: Option<String>,
        /// The requested effort; null if lines are not by effort, or if none was requested.
        pub effort: Option<String>,
    }

    /// A line of the scoreboard.
    pub struct ScoreRow {
        /// Who did the work.
        pub who: Scored,
        /// Pieces of work: tasks, and entries of races.
        pub tasks: u32,
        /// Tasks that passed their first review, of those with a decided one.
        pub passed_first: Share,
        /// Merged tasks, of the closed ones.
        pub merged: Share,
        /// Those that were blocked at least once.
        pub blocked: Share,
        /// Average number of rejections and restarts of a merged task; null if fewer than 5 were merged.
        pub retries_per_merged: Option<f64>,
        /// Number of tasks that passed a review, the first one or a later one.
        pub passed: u32,
        /// The median time from the first run to the review that passed, in milliseconds; null when fewer than 5 passed.
        pub median_ms: Option<f64>,
        /// The time within which 9 of 10 passed, in milliseconds; null when fewer than 5 passed.
        pub p90_ms: Option<f64>,
        /// Cost of all runs in micro-dollars, including losers, retries and reviewers, excluding runs of unknown cost.
        #[specta(type = u32)]
        pub cost_micro_usd: f64,
        /// Runs.
        pub runs: u32,
        /// Runs of unknown cost.
        pub unknown: u32,
        /// Cost per merged task, in micro-dollars; null if fewer than 5 were merged, or no cost is known.
        pub cost_per_merged_micro_usd: Option<f64>,
        /// Lines added by merged work.
        pub lines_added: u32,
        /// Lines removed by merged work.
        pub lines_removed: u32,
    }

    /// Results of two lines in the races that both took part in.
    #[derive(Eq)]
    pub struct Duel {
        /// The one.
        pub first: Scored,
        /// The other.
        pub second: Scored,
        /// Races that the one won.
        pub first_won: u32,
        /// Races that the other won.
        pub second_won: u32,
        /// Races that a third party or nobody won.
        pub neither: u32,
    }

    /// Results of agents.
    pub struct Scoreboard {
        /// Grouping of the lines.
        pub by: ScoreGroup,
        /// The lines, by agent, model and effort.
        pub rows: Vec<ScoreRow>,
        /// Pairwise results in finished races.
        pub duels: Vec<Duel>,
    }
}

/// A piece of work: a task, or an entry of a race.
#[derive(Debug, Clone, PartialEq)]
pub struct PieceOfWork {
    /// Who did it last, by agent, model and effort.
    pub who: Scored,
    /// Whether its first decided review passed.
    pub passed_first: Option<bool>,
    /// From its first run to its first review that passed, in milliseconds.
    pub passed_after_ms: Option<i64>,
    /// Whether nothing of it is still to happen.
    pub is_over: bool,
    /// Whether it was merged.
    pub is_merged: bool,
    /// Whether it was blocked at least once.
    pub was_blocked: bool,
    /// How often it was begun: runs of a coder but for those that went on by themselves.
    pub attempts: u32,
    /// What its runs cost, in micro-dollars, without those of unknown cost.
    pub cost_micro_usd: u64,
    /// Its runs that are over.
    pub runs: u32,
    /// Those of unknown cost.
    pub unknown: u32,
    /// Lines that it adds.
    pub lines_added: u32,
    /// Lines that it removes.
    pub lines_removed: u32,
    /// The race that it was an entry of, once that is over, and whether it won.
    pub raced: Option<(RaceId, bool)>,
}

impl PieceOfWork {
    /// One of which nothing is known but who did it.
    #[must_use]
    pub const fn of(who: Scored) -> Self {
        Self {
            who,
            passed_first: None,
            passed_after_ms: None,
            is_over: false,
            is_merged: false,
            was_blocked: false,
            attempts: 0,
            cost_micro_usd: 0,
            runs: 0,
            unknown: 0,
            lines_added: 0,
            lines_removed: 0,
            raced: None,
        }
    }
}

impl Scored {
    /// As a line names it.
    fn by(&self, by: ScoreGroup) -> Self {
        let mut who = self.clone();
        if by != ScoreGroup::Effort {
            who.effort = None;
        }
        if by == ScoreGroup::Agent {
            who.model = None;
        }
        who
    }
}

impl Share {
    /// So many of so many.
    #[must_use]
    pub fn new(count: u32, of: u32) -> Self {
        if of < ENOUGH {
            return Self { count, of, ..Self::default() };
        }
        let n = f64::from(of);
        let rate = f64::from(count) / n;
        let scale = 1.0 + Z * Z / n;
        let middle = (rate + Z * Z / (2.0 * n)) / scale;
        let half = Z / scale * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        // At the ends, rounding must not put the share outside of its interval.
        let low = (middle - half).clamp(0.0, rate);
        let high = (middle + half).clamp(rate, 1.0);
        Self { count, of, rate: Some(rate), low: Some(low), high: Some(high) }
    }
}

/// The scoreboard of pieces of work.
#[must_use]
pub fn scoreboard(work: &[PieceOfWork], by: ScoreGroup) -> Scoreboard {
    let mut lines: BTreeMap<Scored, Vec<&PieceOfWork>> = BTreeMap::new();
    for piece in work {
        lines.entry(piece.who.by(by)).or_default().push(piece);
    }
    let mut rows: Vec<ScoreRow> = lines.into_iter().map(|(who, pieces)| row(who, &pieces)).collect();
    rows.sort_by(|a, b| named(&a.who).cmp(&named(&b.who)));
    Scoreboard { by, rows, duels: duels(work, by) }
}

/// By what lines are sorted.
fn named(who: &Scored) -> (&str, &AgentId, Option<&str>, Option<&str>) {
    (&who.agent_name, &who.agent_id, who.model.as_deref(), who.effort.as_deref())
}

fn row(who: Scored, pieces: &[&PieceOfWork]) -> ScoreRow {
    let count = |is: fn(&PieceOfWork) -> bool| {
        u32::try_from(pieces.iter().filter(|piece| is(piece)).count()).unwrap_or(u32::MAX)
    };
    let sum =
        |of: fn(&PieceOfWork) -> u32| pieces.iter().fold(0_u32, |sum, piece| sum.saturating_add(of(piece)));
    let merged = count(|piece| piece.is_merged);
    let retries = sum(|piece| if piece.is_merged { piece.attempts.saturating_sub(1) } else { 0 });
    let mut times: Vec<i64> = pieces.iter().filter_map(|piece| piece.passed_after_ms).collect();
    times.sort_unstable();
    let (runs, unknown) = (sum(|piece| piece.runs), sum(|piece| piece.unknown));
    let cost = pieces.iter().fold(0_u64, |sum, piece| sum.saturating_add(piece.cost_micro_usd));
    // Exact up to 9 billion dollars.
    #[expect(clippy::cast_precision_loss, reason = "costs of less than 2^53 micro-dollars are exact")]
    let cost_micro_usd = cost as f64;
    let per_merged = |value: f64| (merged >= ENOUGH).then(|| value / f64::from(merged));
    ScoreRow {
        who,
        tasks: count(|_| true),
        passed_first: Share::new(
            count(|piece| piece.passed_first == Some(true)),
            count(|piece| piece.passed_first.is_some()),
        ),
        merged: Share::new(merged, count(|piece| piece.is_over)),
        blocked: Share::new(count(|piece| piece.was_blocked), count(|_| true)),
        retries_per_merged: per_merged(f64::from(retries)),
        passed: u32::try_from(times.len()).unwrap_or(u32::MAX),
        median_ms: median(&times),
        p90_ms: p90(&times),
        cost_micro_usd,
        runs,
        unknown,
        cost_per_merged_micro_usd: per_merged(cost_micro_usd).filter(|_| unknown < runs),
        lines_added: sum(|piece| if piece.is_merged { piece.lines_added } else { 0 }),
        lines_removed: sum(|piece| if piece.is_merged { piece.lines_removed } else { 0 }),
    }
}

/// The middle of sorted times; of an even number, the mean of the two middle ones.
#[expect(clippy::cast_precision_loss, reason = "times of less than 2^53 milliseconds are exact")]
fn median(sorted: &[i64]) -> Option<f64> {
    if sorted.len() < ENOUGH as usize {
        return None;
    }
    let middle = sorted.len() / 2;
    let (low, high) = (sorted.get((sorted.len() - 1) / 2)?, sorted.get(middle)?);
    Some((*low as f64 + *high as f64) / 2.0)
}

/// The time that nine of ten are not above (nearest rank).
#[expect(clippy::cast_precision_loss, reason = "times of less than 2^53 milliseconds are exact")]
fn p90(sorted: &[i64]) -> Option<f64> {
    if sorted.len() < ENOUGH as usize {
        return None;
    }
    let rank = (sorted.len() * 9).div_ceil(10);
    sorted.get(rank.saturating_sub(1)).map(|time| *time as f64)
}

/// Every two lines that were in a race together.
fn duels(work: &[PieceOfWork], by: ScoreGroup) -> Vec<Duel> {
    let mut races: BTreeMap<&RaceId, Vec<(Scored, bool)>> = BTreeMap::new();
    for piece in work {
        if let Some((race, won)) = &piece.raced {
            races.entry(race).or_default().push((piece.who.by(by), *won));
        }
    }
    let mut met: BTreeMap<(Scored, Scored), [u32; 3]> = BTreeMap::new();
    for entries in races.values() {
        // An agent that raced with itself is one line: it won when one of its entries did.
        let mut lines: BTreeMap<&Scored, bool> = BTreeMap::new();
        for (who, won) in entries {
            *lines.entry(who).or_default() |= won;
        }
        let lines: Vec<(&Scored, bool)> = lines.into_iter().collect();
        for (place, (first, first_won)) in lines.iter().enumerate() {
            for (second, second_won) in lines.iter().skip(place + 1) {
                let counts = met.entry(((*first).clone(), (*second).clone())).or_default();
                let [one, other, neither] = counts;
                let count = if *first_won {
                    one
                } else if *second_won {
                    other
                } else {
                    neither
                };
                *count += 1;
            }
        }
    }
    let duel = |((first, second), counts): ((Scored, Scored), [u32; 3])| {
        let [first_won, second_won, neither] = counts;
        Duel { first, second, first_won, second_won, neither }
    };
    let mut duels: Vec<Duel> = met.into_iter().map(duel).collect();
    duels.sort_by(|a, b| (named(&a.first), named(&a.second)).cmp(&(named(&b.first), named(&b.second))));
    duels
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn who(agent: &str, model: &str, effort: &str) -> Scored {
        Scored {
            agent_id: agent.into(),
            agent_name: agent.to_uppercase(),
            model: Some(model.to_owned()),
            effort: Some(effort.to_owned()),
        }
    }

    fn merged(agent: &str, minutes: i64, cost: u64) -> PieceOfWork {
        PieceOfWork {
            passed_first: Some(true),
            passed_after_ms: Some(minutes * 60_000),
            is_over: true,
            is_merged: true,
            attempts: 1,
            cost_micro_usd: cost,
            runs: 2,
            lines_added: 10,
            lines_removed: 1,
            ..PieceOfWork::of(who(agent, "m", "high"))
        }
    }

    #[test]
    fn shares_have_the_interval_of_wilson() {
        // Values of a published table of Wilson's interval without correction.
        let share = Share::new(8, 10);
        let (low, high) = (share.low.unwrap(), share.high.unwrap());
        assert!((low - 0.490_162).abs() < 1e-5 && (high - 0.943_318).abs() < 1e-5, "{low} {high}");
        let none = Share::new(0, 20);
        assert!(none.low == Some(0.0) && (none.high.unwrap() - 0.161_125).abs() < 1e-5, "{none:?}");
        assert_eq!(Share::new(4, 4), Share { count: 4, of: 4, ..Share::default() });
        assert!(Share::new(5, 5).rate.is_some());
    }

    #[test]
    fn cost_of_losers_and_retries_is_in_what_a_merged_one_cost() {
        let mut work: Vec<PieceOfWork> = (1..=5).map(|minutes| merged("a", minutes, 100)).collect();
        work[0].attempts = 3;
        work[0].passed_first = Some(false);
        work.push(PieceOfWork {
            is_merged: false,
            passed_after_ms: None,
            cost_micro_usd: 500,
            unknown: 1,
            attempts: 9,
            ..merged("a", 0, 0)
        });
        let board = scoreboard(&work, ScoreGroup::Agent);
        let [row] = board.rows.as_slice() else { panic!("{board:?}") };
        assert_eq!((row.tasks, row.runs, row.unknown, row.passed), (6, 12, 1, 5));
        assert_eq!(row.cost_per_merged_micro_usd, Some(200.0));
        assert_eq!(row.retries_per_merged, Some(0.4));
        assert_eq!((row.median_ms, row.p90_ms), (Some(180_000.0), Some(300_000.0)));
        assert_eq!((row.passed_first.count, row.passed_first.of), (5, 6));
        assert_eq!((row.lines_added, row.lines_removed), (50, 5));
    }

    #[test]
    fn little_work_is_counted_and_tells_nothing() {
        let board = scoreboard(&[merged("a", 1, 100)], ScoreGroup::Effort);
        let row = &board.rows[0];
        assert_eq!((row.tasks, row.merged.count, row.merged.rate), (1, 1, None));
        assert_eq!((row.median_ms, row.p90_ms, row.retries_per_merged), (None, None, None));
        assert_eq!((row.cost_micro_usd, row.cost_per_merged_micro_usd), (100.0, None));
        assert_eq!(row.who.effort.as_deref(), Some("high"));
    }

    #[test]
    fn cost_that_nobody_knows_is_none() {
        let unknown = PieceOfWork { unknown: 2, cost_micro_usd: 0, ..merged("a", 1, 0) };
        let board = scoreboard(&vec![unknown; 5], ScoreGroup::Agent);
        assert_eq!(board.rows[0].cost_per_merged_micro_usd, None);
        assert_eq!(board.rows[0].unknown, 10);
    }

    #[test]
    fn lines_part_by_what_is_asked_for() {
        let of = |model: &str, effort: &str| PieceOfWork::of(who("a", model, effort));
        let work = [of("m", "high"), of("m", "low"), of("n", "low")];
        let count = |by| scoreboard(&work, by).rows.iter().map(|row| row.tasks).collect::<Vec<_>>();
        assert_eq!(count(ScoreGroup::Agent), [3]);
        assert_eq!(count(ScoreGroup::Model), [2, 1]);
        assert_eq!(count(ScoreGroup::Effort), [1, 1, 1]);
    }

    #[test]
    fn races_count_for_every_two_that_met() {
        let raced = |agent: &str, race: &str, won: bool| PieceOfWork {
            raced: Some((race.into(), won)),
            ..PieceOfWork::of(who(agent, "m", "high"))
        };
        let work = [
            raced("a", "1", true),
            raced("b", "1", false),
            raced("c", "1", false),
            raced("a", "2", false),
            raced("b", "2", true),
            // Two entries of one agent.
            raced("a", "3", false),
            raced("a", "3", true),
        ];
        let told: Vec<_> = scoreboard(&work, ScoreGroup::Agent)
            .duels
            .into_iter()
            .map(|duel| {
                (duel.first.agent_name, duel.second.agent_name, duel.first_won, duel.second_won, duel.neither)
            })
            .collect();
        let duel = |a: &str, b: &str, won, lost, neither| (a.to_owned(), b.to_owned(), won, lost, neither);
        assert_eq!(told, [duel("A", "B", 1, 1, 0), duel("A", "C", 1, 0, 0), duel("B", "C", 0, 0, 1)]);
    }

    proptest! {
        #[test]
        fn share_lies_in_its_interval(of in ENOUGH..10_000, part in 0.0_f64..=1.0) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a count is one")]
            let count = (f64::from(of) * part) as u32;
            let share = Share::new(count, of);
            let (rate, low, high) = (share.rate.unwrap(), share.low.unwrap(), share.high.unwrap());
            prop_assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0);
        }

        #[test]
        fn lines_lose_no_work(agents in prop::collection::vec(0_u8..4, 0..40)) {
            let work: Vec<PieceOfWork> =
                agents.iter().map(|agent| merged(&format!("a{agent}"), 1, 7)).collect();
            let board = scoreboard(&work, ScoreGroup::Model);
            let tasks: u32 = board.rows.iter().map(|row| row.tasks).sum();
            prop_assert_eq!(tasks as usize, work.len());
            let cost: f64 = board.rows.iter().map(|row| row.cost_micro_usd).sum();
            prop_assert!((cost - 7.0 * f64::from(tasks)).abs() < 0.5);
        }
    }
}
