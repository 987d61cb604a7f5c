//! The state of a project's inner loop, part by part: what each did last, read from the tables of its work, or from
//! `loop_effects` where it has none.

use forge_model::fix::FixStatus;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::ValueSource;
use forge_model::lesson::LessonStatus;
use forge_model::loop_status::{LoopEffect, LoopTask, Subsystem, SubsystemStatus};
use forge_model::race::{Race, RaceEntry, RaceStatus};
use forge_model::words::counted;
use forge_store::ReadConnection;
use forge_store::table::ledger::CostFilter;

use crate::{World, error::Result, project, review};

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

/// Each part of a project's inner loop: on or off and who says so, what it did last, what of it is open.
pub(crate) async fn inner_loop_status(world: &World, id: &ProjectId) -> Result<Vec<SubsystemStatus>> {
    let state = project::repository::inner_loop(world, id).await?;
    // A repository that cannot be read just now keeps nobody from seeing the rest.
    let offers = review::check_offers::offered_checks(world, id).await.unwrap_or_else(|error| {
        tracing::warn!(project = %id, %error, "failed to see which checks the files imply");
        Vec::new()
    });
    let offers = u32::try_from(offers.len()).unwrap_or(u32::MAX);
    let mut conn = world.store().read().await?;
    let latest = conn.races().of_project(id, LATEST_RACES).await?;
    let mut all = Vec::with_capacity(Subsystem::ALL.len());
    for &name in Subsystem::ALL {
        let known = match name {
            Subsystem::Reviewer => {
                let scored = latest.iter().find(|race| race.reviewer_enabled && !scores(race).is_empty());
                Known::of(effect_of(&mut conn, scored, scores).await?, 0)
            }
            Subsystem::Competitive => {
                let open = conn.races().open_in(id).await?;
                Known::of(effect_of(&mut conn, latest.first(), outcome).await?, open)
            }
            Subsystem::Knowledge => taught(&mut conn, id).await?,
            Subsystem::CostAnomaly => above(&mut conn, id).await?,
            Subsystem::AutoFix => drafted(&mut conn, id).await?,
            Subsystem::Reflexion => Known::of(kept_effect(&mut conn, id, name).await?, 0),
            Subsystem::Trajectory => noted(&mut conn, id).await?,
            Subsystem::Postmortem => analysed(&mut conn, id).await?,
            Subsystem::GateSuggestions => Known::of(kept_effect(&mut conn, id, name).await?, offers),
            Subsystem::Validate => Known::of(kept_effect(&mut conn, id, name).await?, 0),
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

async fn effect_of(
    conn: &mut ReadConnection,
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

/// What a part did last, where no table of its own tells.
async fn kept_effect(
    conn: &mut ReadConnection,
    project: &ProjectId,
    part: Subsystem,
) -> Result<Option<LoopEffect>> {
    let Some(row) = conn.loop_effects().last(project, part).await? else { return Ok(None) };
    let task = task_of(conn, row.task_id.as_ref()).await?;
    Ok(Some(LoopEffect { at: row.at, task, effect: row.effect }))
}

/// The latest drafted fix; those that nobody decided about are open.
async fn drafted(conn: &mut ReadConnection, project: &ProjectId) -> Result<Known> {
    let all = conn.fixes().of_project(project).await?;
    let open = all.iter().filter(|fix| fix.status == FixStatus::Drafted).count();
    let latest = all.into_iter().max_by_key(|fix| fix.updated_at);
    let last = match latest {
        Some(fix) => Some(LoopEffect {
            at: fix.updated_at,
            task: task_of(conn, Some(&fix.task_id)).await?,
            effect: format!("{}: a patch of {}", fix.status, fix.files.join(", ")),
        }),
        None => None,
    };
    Ok(Known::of(last, u32::try_from(open).unwrap_or(u32::MAX)))
}

/// The latest note of a finished task.
async fn noted(conn: &mut ReadConnection, project: &ProjectId) -> Result<Known> {
    let Some((task, note)) = conn.trajectories().last(project).await? else { return Ok(Known::of(None, 0)) };
    let words = note.text.split_whitespace().count() as u64;
    let effect = format!("a note of {}", counted(words, "word", "words"));
    Ok(Known::of(Some(LoopEffect { at: note.at, task: task_of(conn, Some(&task)).await?, effect }), 0))
}

/// The latest postmortem.
async fn analysed(conn: &mut ReadConnection, project: &ProjectId) -> Result<Known> {
    let Some(record) = conn.postmortems().last(project).await? else { return Ok(Known::of(None, 0)) };
    let first = record.first_failure.map(|failure| format!(", first failed: {}", failure.gate));
    let effect = format!(
        "{}{}",
        counted(record.attempts.len() as u64, "attempt", "attempts"),
        first.unwrap_or_default()
    );
    let task = task_of(conn, Some(&record.task_id)).await?;
    Ok(Known::of(Some(LoopEffect { at: record.at, task, effect }), 0))
}

/// The latest word on a lesson: that it was proposed, what a person decided, or that it was told.
async fn taught(conn: &mut ReadConnection, project: &ProjectId) -> Result<Known> {
    let mut latest = Vec::new();
    for (status, said) in [
        (LessonStatus::Proposed, "proposed"),
        (LessonStatus::Accepted, "accepted"),
        (LessonStatus::Dismissed, "dismissed"),
    ] {
        if let Some(row) = conn.lessons().list(project, status, None, 1).await?.into_iter().next() {
            latest.push((row.decided_at.unwrap_or(row.created_at), said, row));
        }
    }
    let open = conn.lessons().count(project, LessonStatus::Proposed).await?;
    let told = kept_effect(conn, project, Subsystem::Knowledge).await?;
    let decided = match latest.into_iter().max_by_key(|(at, ..)| *at) {
        Some((at, said, row)) => {
            let task = task_of(conn, row.task_id.as_ref()).await?;
            Some(LoopEffect { at, task, effect: format!("{said}: {}", row.draft.title) })
        }
        None => None,
    };
    Ok(Known::of(told.into_iter().chain(decided).max_by_key(|effect| effect.at), open))
}

/// The latest run that cost more than is usual. It halts nothing, so nothing of it is open.
async fn above(conn: &mut ReadConnection, project: &ProjectId) -> Result<Known> {
    let filter = CostFilter { project: Some(project.clone()), ..CostFilter::default() };
    let latest = conn.costs().anomalies(&filter, None, 1).await?.into_iter().next();
    let last = latest.map(|entry| {
        let of = entry.record.strategy.map(|name| format!("{name}, ")).unwrap_or_default();
        LoopEffect {
            at: entry.record.at,
            effect: format!("{of}{} cost {:.2} times the median", entry.record.model, entry.record.ratio),
            task: Some(LoopTask {
                id: entry.record.task_id,
                number: entry.task_number,
                title: entry.record.title,
            }),
        }
    });
    Ok(Known::of(last, 0))
}

async fn task_of(conn: &mut ReadConnection, id: Option<&TaskId>) -> Result<Option<LoopTask>> {
    let Some(id) = id else { return Ok(None) };
    let row = conn.tasks().get(id).await?;
    Ok(row.map(|row| LoopTask { id: row.id, number: row.number, title: row.title }))
}

/// What came of a race, without a point.
fn outcome(race: &Race) -> String {
    let all = race.entries.len();
    let over = race.entries.iter().filter(|entry| entry.status.is_over()).count();
    let winner = race.winner.as_deref().unwrap_or("nobody");
    match (race.status, &race.error) {
        (RaceStatus::Running, _) => format!("{over} of {all} entries finished"),
        (RaceStatus::AwaitingCrown, _) => format!("suggested winner: {winner}, waiting for your choice"),
        (RaceStatus::Decided, Some(error)) => {
            format!("{winner} won, but its work could not be taken over: {error}")
        }
        (RaceStatus::Decided, None) => format!("{winner} won"),
        (RaceStatus::Promoted, _) if race.crowned_by.is_some() => {
            format!("{winner} picked as winner of {all}")
        }
        (RaceStatus::Promoted, _) => format!("{winner} won against {}", all.saturating_sub(1)),
        (RaceStatus::NoWinner, _) => format!("none of {all} passed"),
        (RaceStatus::Cancelled, _) => "cancelled".to_owned(),
    }
}

/// The scores of a race's entries; nothing when there are none.
fn scores(race: &Race) -> String {
    let scored = |entry: &RaceEntry| entry.score.map(|score| format!("{} {score}", entry.strategy));
    race.entries.iter().filter_map(scored).collect::<Vec<_>>().join(", ")
}
