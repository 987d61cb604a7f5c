//! `forge agent scoreboard`.

use forge_api::{
    operations::{Scoreboard, ScoreboardCsv},
    ops::costs::ScoreboardOf,
};
use forge_model::{
    scoreboard::{Duel, ScoreGroup, ScoreRow, Scored, Share},
    words::{counted, dollars},
};

use super::cost::since;
use crate::{
    answer::Answer,
    args::{AgentScores, ScoresBy},
    at::At,
    error::CliError,
    shown::{NONE, table},
};

/// What is said of a figure that too little work stands behind.
const LITTLE: &str = "too few";

pub(crate) async fn run(at: &At, asked: AgentScores) -> Result<Answer, CliError> {
    // All projects, unless one is named.
    let project = at.only().await?;
    let by = match asked.by {
        ScoresBy::Agent => ScoreGroup::Agent,
        ScoresBy::Model => ScoreGroup::Model,
        ScoresBy::Effort => ScoreGroup::Effort,
    };
    let of = ScoreboardOf { by, project, since: asked.days.map(since), until: None };
    if asked.csv {
        let csv = at.call(ScoreboardCsv, of).await?;
        let text = csv.text.trim_end().to_owned();
        return Ok(Answer::new(csv.json, text));
    }
    let board = at.call(Scoreboard, of).await?;
    let rows: Vec<Vec<String>> = board.rows.iter().map(row).collect();
    let text = if rows.is_empty() {
        "No finished work yet.".to_owned()
    } else {
        let head = [
            "AGENT",
            "TASKS",
            "PASSED FIRST",
            "MERGED",
            "BLOCKED",
            "RETRIES",
            "MEDIAN",
            "90 %",
            "PER MERGE",
            "COST",
            "",
        ];
        let duels: Vec<Vec<String>> = board.duels.iter().map(duel).collect();
        let races = match duels.as_slice() {
            [] => String::new(),
            duels => format!("\n\n{}", table(&["IN RACES", "AGAINST", "WON", "LOST", "NEITHER"], duels)),
        };
        table(&head, &rows) + &races
    };
    Ok(Answer::new(board.json, text))
}

fn row(row: &ScoreRow) -> Vec<String> {
    // A cost that is not known never reads as none.
    let (cost, unknown) = match row.unknown {
        0 => (money(row.cost_micro_usd), String::new()),
        all if all == row.runs => ("unknown".to_owned(), String::new()),
        some => {
            let runs = counted(some.into(), "run", "runs");
            (money(row.cost_micro_usd), format!("excludes {runs} of unknown cost"))
        }
    };
    let little = || LITTLE.to_owned();
    vec![
        name(&row.who),
        row.tasks.to_string(),
        share(&row.passed_first),
        share(&row.merged),
        share(&row.blocked),
        row.retries_per_merged.map_or_else(little, |retries| format!("{retries:.1}")),
        row.median_ms.map_or_else(little, took),
        row.p90_ms.map_or_else(little, took),
        row.cost_per_merged_micro_usd.map_or_else(little, money),
        cost,
        unknown,
    ]
}

fn duel(duel: &Duel) -> Vec<String> {
    vec![
        name(&duel.first),
        name(&duel.second),
        duel.first_won.to_string(),
        duel.second_won.to_string(),
        duel.neither.to_string(),
    ]
}

fn name(who: &Scored) -> String {
    let parts = [Some(who.agent_name.as_str()), who.model.as_deref(), who.effort.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// A share with its count and its interval.
fn share(share: &Share) -> String {
    let count = format!("{} of {}", share.count, share.of);
    match (share.rate, share.low, share.high) {
        (Some(rate), Some(low), Some(high)) => {
            format!("{:.0} % ({:.0}-{:.0}), {count}", rate * 100.0, low * 100.0, high * 100.0)
        }
        _ if share.of == 0 => NONE.to_owned(),
        _ => count,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a sum of costs is a whole number"
)]
fn money(micro_usd: f64) -> String {
    dollars(micro_usd.round() as u64)
}

/// A time in the two largest units.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length of time is no less than 0"
)]
fn took(ms: f64) -> String {
    let seconds = (ms / 1000.0).round() as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d {}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_little_is_a_count_alone() {
        assert_eq!(share(&Share::new(0, 0)), NONE);
        assert_eq!(share(&Share::new(3, 4)), "3 of 4");
        assert_eq!(share(&Share::new(8, 10)), "80 % (49-94), 8 of 10");
    }

    #[test]
    fn times_have_two_units() {
        let told = [1_400.0, 61_000.0, 7_380_000.0, 90_000_000.0].map(took);
        assert_eq!(told, ["1s", "1m 1s", "2h 3m", "1d 1h"]);
    }
}
