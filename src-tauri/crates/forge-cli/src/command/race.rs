//! `forge race`.

use forge_api::{
    operations::{AgentList, RaceCrown, RaceEstimate, TaskRace, TaskRaces},
    ops::{Empty, TaskPath, costs::EstimateRace, races::CrownEntry},
};
use forge_model::{
    agent::Agent,
    race::{self, RaceEntry, RaceStatus},
    words::{counted, dollars},
};

use super::{log, task::find};
use crate::{
    answer::Answer,
    args::{Race, TaskRef},
    at::At,
    error::CliError,
    shown::{NONE, printable, table},
    words::{self, plain},
};

pub(crate) async fn run(at: &At, command: Race) -> Result<Answer, CliError> {
    match command {
        Race::Show(task) => {
            let (number, race) = latest(at, &task).await?;
            let agents = at.call(AgentList, Empty {}).await?.value.items;
            Ok(Answer::new(race.json, shown(&race.value, number, &agents)))
        }
        Race::Pick { task, entry } => {
            let task = find(at, &task).await?;
            let raced = at.call(TaskRaces, TaskPath { task_id: task.id.clone() }).await?;
            if raced.items.is_empty() {
                return Err(never_raced(task.number));
            }
            let pick = CrownEntry { task_id: task.id.clone(), strategy: entry, version: Some(task.version) };
            let race = at.call(RaceCrown, pick).await?;
            let agents = at.call(AgentList, Empty {}).await?.value.items;
            Ok(Answer::new(race.json, shown(&race.value, task.number, &agents)))
        }
        Race::Log { task, entry, limit } => {
            let (_, race) = latest(at, &task).await?;
            let found = race.entries.iter().find(|it| it.strategy == entry);
            let entry = found.ok_or_else(|| CliError::NotFound {
                message: format!("the race has no entry `{entry}`"),
                hint: "List the entries with `forge race show`.",
            })?;
            log::of_entry(at, entry, limit, false).await
        }
        Race::Estimate(task) => {
            let task_id = find(at, &task).await?.value.id;
            let estimate = at.call(RaceEstimate, EstimateRace { task_id, strategies: None }).await?;
            let text = estimated(&estimate);
            Ok(Answer::new(estimate.json, text))
        }
    }
}

/// The latest race of a task, with the number of the task.
async fn latest(at: &At, task: &TaskRef) -> Result<(u32, forge_api::Reply<race::Race>), CliError> {
    let task = find(at, task).await?;
    let path = || TaskPath { task_id: task.id.clone() };
    if at.call(TaskRaces, path()).await?.items.is_empty() {
        return Err(never_raced(task.number));
    }
    Ok((task.number, at.call(TaskRace, path()).await?))
}

fn never_raced(task: u32) -> CliError {
    CliError::NotFound {
        message: format!("#{task} was never raced"),
        hint: "Race a task with `forge task create --race NAME=AGENT`.",
    }
}

fn shown(race: &race::Race, task: u32, agents: &[Agent]) -> String {
    let row = |entry: &RaceEntry| {
        let lines = entry.diff_stat.as_ref().map(|it| format!("+{} -{}", it.added, it.removed));
        let agent = agents.iter().find(|agent| agent.id == entry.agent_id);
        let agent = agent.map_or_else(none, |agent| agent.name.clone());
        vec![
            entry.strategy.clone(),
            entry.model.as_ref().map_or_else(|| agent.clone(), |model| format!("{agent}:{model}")),
            plain(entry.status.as_str()),
            plain(entry.gate.as_str()),
            entry.score.map_or_else(none, |score| format!("{score:.2}")),
            entry.cost_micro_usd.map_or_else(none, dollars),
            lines.unwrap_or_else(none),
            entry.reason.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = race.entries.iter().map(row).collect();
    let mut lines = vec![
        format!("race {}: {}", race.number, words::race(race.status)),
        table(&["ENTRY", "AGENT", "STATE", "CHECKS", "SCORE", "COST", "LINES", ""], &rows),
    ];
    lines.extend(end(race, task));
    lines.extend(race.error.as_ref().map(|error| printable(&format!("error: {error}"))));
    lines.join("\n")
}

/// Who won and by what, or what a person does about it.
fn end(race: &race::Race, task: u32) -> Vec<String> {
    if let Some(winner) = &race.winner {
        let by = race.decided_by.and_then(|by| words::rule(by, race.entries.len()));
        let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
        return vec![format!("winner: {winner}{by}")];
    }
    if race.status != RaceStatus::AwaitingCrown {
        return Vec::new();
    }
    let why = match &race.elected {
        Some(_) if race.is_without_evidence() => {
            "The best entries are tied on checks, score and cost.".to_owned()
        }
        Some(entry) => format!("Suggested winner: {entry}."),
        None => "Choose the winner.".to_owned(),
    };
    vec![why, format!("next: forge race pick {task} ENTRY")]
}

fn none() -> String {
    NONE.to_owned()
}

fn estimated(estimate: &race::RaceEstimate) -> String {
    let row = |entry: &race::EntryEstimate| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a median of whole amounts"
        )]
        let median = entry.median_micro_usd.map(|median| dollars(median.round() as u64));
        let of = counted(entry.samples.into(), "run", "runs");
        vec![entry.name.clone(), median.unwrap_or_else(|| "unknown".to_owned()), of]
    };
    let rows: Vec<Vec<String>> = estimate.entries.iter().map(row).collect();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of such medians")]
    let total =
        estimate.total_micro_usd.map_or_else(|| "unknown".to_owned(), |sum| dollars(sum.round() as u64));
    format!("{}\ntotal: {total}", table(&["ENTRY", "MEDIAN", "FROM"], &rows))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raced(changes: &Value) -> race::Race {
        let mut base = json!({
            "id": "r", "task_id": "t", "number": 1, "status": "promoted", "base_commit": "c", "reviewer_enabled": false,
            "max_parallel": 2, "timeout_sec": 60, "human_crown": false, "name_decides": false, "keep_losers_days": 1,
            "entries": [], "trail": [], "started_at": "2026-01-02T03:04:05.006Z",
        });
        for (key, value) in changes.as_object().unwrap() {
            base[key] = value.clone();
        }
        serde_json::from_value(base).unwrap()
    }

    #[test]
    fn race_that_waits_for_a_choice_is_not_said_to_be_decided() {
        let waiting =
            json!({ "status": "awaiting_crown", "elected": "a", "decidedBy": "cost", "human_crown": true });
        let told = end(&raced(&waiting), 7);
        assert_eq!(told, ["Suggested winner: a.", "next: forge race pick 7 ENTRY"]);
        let nobody = json!({ "status": "no_winner", "decidedBy": "none" });
        assert_eq!(end(&raced(&nobody), 7), [""; 0]);
        let won = json!({ "winner": "a", "decidedBy": "person" });
        assert_eq!(end(&raced(&won), 7), ["winner: a (selected by a person)"]);
    }
}
