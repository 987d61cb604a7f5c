//! What the inner loop of a project did last, part by part; nothing of it is kept for this, all of it is read from
//! the tables of what was done.

use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::ValueSource;
use forge_model::lesson::LessonStatus;
use forge_model::loop_status::{LoopEffect, LoopTask, Subsystem, SubsystemStatus};
use forge_model::race::{Race, RaceEntry, RaceStatus};
use forge_store::table::{costs, ledger::CostFilter, lessons, races, tasks};
use sqlx::SqliteConnection;

use crate::{Engine, error::Result};

/// Among how many of a project's latest races one with scores is looked for.
const LATEST_RACES: u32 = 20;

/// What is known of a part.
#[derive(Default)]
struct Known {
    recorded: bool,
    last: Option<LoopEffect>,
    open: u32,
}

impl Known {
    fn of(last: Option<LoopEffect>, open: u32) -> Self {
        Self { recorded: true, last, open }
    }
}

impl Engine {
    /// Each part of a project's inner loop: on or off and who says so, what it did last, what of it is open.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn inner_loop_status(&self, id: &ProjectId) -> Result<Vec<SubsystemStatus>> {
        let state = self.inner_loop(id).await?;
        let mut conn = self.store().read().await?;
        let latest = races::of_project(&mut conn, id, LATEST_RACES).await?;
        let mut all = Vec::with_capacity(Subsystem::ALL.len());
        for &name in Subsystem::ALL {
            let known = match name {
                Subsystem::Reviewer => {
                    let scored = latest.iter().find(|race| race.reviewer_enabled && !scores(race).is_empty());
                    Known::of(effect_of(&mut conn, scored, scores).await?, 0)
                }
                Subsystem::Competitive => {
                    let open = races::open_in(&mut conn, id).await?;
                    Known::of(effect_of(&mut conn, latest.first(), outcome).await?, open)
                }
                Subsystem::Knowledge => taught(&mut conn, id).await?,
                Subsystem::CostAnomaly => above(&mut conn, id).await?,
                Subsystem::AutoFix
                | Subsystem::Validate
                | Subsystem::Reflexion
                | Subsystem::Trajectory
                | Subsystem::Postmortem
                | Subsystem::GateSuggestions => Known::default(),
            };
            all.push(SubsystemStatus {
                name,
                setting: name.setting().to_owned(),
                enabled: name.is_on(&state.config),
                source: state.sources.get(name.setting()).copied().unwrap_or(ValueSource::Default),
                recorded: known.recorded,
                last: known.last,
                open: known.open,
            });
        }
        Ok(all)
    }
}

async fn effect_of(
    conn: &mut SqliteConnection,
    race: Option<&Race>,
    say: fn(&Race) -> String,
) -> Result<Option<LoopEffect>> {
    let Some(race) = race else { return Ok(None) };
    Ok(Some(LoopEffect {
        at: race.finished_at.unwrap_or(race.started_at),
        task: task_of(conn, Some(&race.task_id)).await?,
        effect: say(race),
    }))
}

/// The latest word on a lesson: that it was proposed, or what a person decided.
async fn taught(conn: &mut SqliteConnection, project: &ProjectId) -> Result<Known> {
    let mut latest = Vec::new();
    for (status, said) in [
        (LessonStatus::Proposed, "proposed"),
        (LessonStatus::Accepted, "accepted"),
        (LessonStatus::Dismissed, "dismissed"),
    ] {
        if let Some(row) = lessons::list(conn, project, status, None, 1).await?.into_iter().next() {
            latest.push((row.decided_at.unwrap_or(row.created_at), said, row));
        }
    }
    let open = lessons::count(conn, project, LessonStatus::Proposed).await?;
    let Some((at, said, row)) = latest.into_iter().max_by_key(|(at, ..)| *at) else {
        return Ok(Known::of(None, open));
    };
    let task = task_of(conn, row.task_id.as_ref()).await?;
    Ok(Known::of(Some(LoopEffect { at, task, effect: format!("{said}: {}", row.draft.title) }), open))
}

/// The latest run that cost more than is usual. It halts nothing, so nothing of it is open.
async fn above(conn: &mut SqliteConnection, project: &ProjectId) -> Result<Known> {
    let filter = CostFilter { project: Some(project.clone()), ..CostFilter::default() };
    let latest = costs::anomalies(conn, &filter, None, 1).await?.into_iter().next();
    let last = latest.map(|entry| {
        let of = entry.record.strategy.map(|name| format!("{name}, ")).unwrap_or_default();
        LoopEffect {
            at: entry.record.at,
            effect: format!("{of}{} cost {} medians", entry.record.model, entry.record.ratio),
            task: Some(LoopTask {
                id: entry.record.task_id,
                number: entry.task_number,
                title: entry.record.title,
            }),
        }
    });
    Ok(Known::of(last, 0))
}

async fn task_of(conn: &mut SqliteConnection, id: Option<&TaskId>) -> Result<Option<LoopTask>> {
    let Some(id) = id else { return Ok(None) };
    let row = tasks::get(conn, id).await?;
    Ok(row.map(|row| LoopTask { id: row.id, number: row.number, title: row.title }))
}

/// What came of a race, without a point.
fn outcome(race: &Race) -> String {
    let all = race.entries.len();
    let over = race.entries.iter().filter(|entry| entry.status.is_over()).count();
    let winner = race.winner.as_deref().unwrap_or("nobody");
    match (race.status, &race.error) {
        (RaceStatus::Running, _) => format!("{over} of {all} entries are over"),
        (RaceStatus::AwaitingCrown, _) => format!("{winner} is elected and waits for the crown"),
        (RaceStatus::Decided, Some(error)) => {
            format!("{winner} won, but its work is not the task's: {error}")
        }
        (RaceStatus::Decided, None) => format!("{winner} won"),
        (RaceStatus::Promoted, _) if race.crowned_by.is_some() => format!("{winner} was crowned among {all}"),
        (RaceStatus::Promoted, _) => format!("{winner} won among {all}"),
        (RaceStatus::NoWinner, _) => format!("none of {all} passed"),
        (RaceStatus::Cancelled, _) => "given up".to_owned(),
    }
}

/// The scores of a race's entries; nothing when there are none.
fn scores(race: &Race) -> String {
    let scored =
        |entry: &RaceEntry| entry.reviewer_score.map(|score| format!("{} {score}", entry.strategy.name));
    race.entries.iter().filter_map(scored).collect::<Vec<_>>().join(", ")
}
