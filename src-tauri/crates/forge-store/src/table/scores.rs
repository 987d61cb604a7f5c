//! What the scoreboard is made of: pieces of work, read from runs, reviews, races, merges and moves.

use std::collections::{HashMap, HashSet};

use forge_model::cost::main_model;
use forge_model::execution::{ExecutionRole, Usage};
use forge_model::ids::{AgentId, ProjectId, RaceId, TaskId};
use forge_model::scoreboard::{PieceOfWork, Scored};
use forge_model::time::Timestamp;
use forge_model::usage::UsageSample;
use futures::TryStreamExt as _;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::ledger::CostFilter;
use crate::{
    StoreError,
    row::{Columns, push_list},
};

handles!(scores() -> Scores);

/// States of workflows, each with its project.
#[derive(Debug, Clone, Default)]
pub struct WorkflowStates {
    /// Those behind which nothing follows.
    pub over: HashSet<(ProjectId, String)>,
    /// Those of tasks that are blocked.
    pub blocked: HashSet<(ProjectId, String)>,
}

/// A task whose agents' runs are counted, with how far it is.
struct Task {
    project: ProjectId,
    status: String,
    is_annotated: bool,
    lines_added: u32,
    lines_removed: u32,
}

/// An entry of a race that is over.
struct Raced {
    race: RaceId,
    won: bool,
}

/// What the runs of a piece of work came to.
#[derive(Default)]
struct Runs {
    who: Option<(AgentId, Option<String>, Option<String>)>,
    began: Option<Timestamp>,
    ended: Option<Timestamp>,
    attempts: u32,
    cost: u64,
    runs: u32,
    unknown: u32,
}

/// What the reviews of a piece of work came to.
#[derive(Default)]
struct Reviewed {
    passed_first: Option<bool>,
    passed_at: Option<Timestamp>,
}

impl Scores<'_> {
    /// All work whose last run ended in a time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn work(
        &mut self,
        filter: &CostFilter,
        states: &WorkflowStates,
    ) -> Result<Vec<PieceOfWork>, StoreError> {
        let conn = &mut *self.conn;
        // The raced task is one piece of work with the entry that won.
        let won = winners(conn).await?;
        let piece_of = |task: TaskId| won.get(&task).cloned().unwrap_or(task);
        let runs = runs(conn, filter, &won).await?;
        let reviewed = reviewed(conn, &piece_of).await?;
        let merged: HashSet<TaskId> = merged(conn).await?.into_iter().map(&piece_of).collect();
        let blocked: HashSet<TaskId> = blocked(conn, states).await?.into_iter().map(&piece_of).collect();
        let raced = raced(conn).await?;
        let names = agent_names(conn).await?;
        let tasks = tasks(conn).await?;
        let over: HashSet<TaskId> = tasks
            .iter()
            .filter(|(_, task)| states.over.contains(&(task.project.clone(), task.status.clone())))
            .map(|(id, _)| piece_of(id.clone()))
            .collect();
        let annotated: HashSet<TaskId> =
            tasks.iter().filter(|(_, task)| task.is_annotated).map(|(id, _)| piece_of(id.clone())).collect();
        let mut pieces = Vec::new();
        for (id, runs) in runs {
            let Some((agent, model, effort)) = runs.who else { continue };
            let is_in_time = runs.ended.is_some_and(|ended| {
                filter.since.is_none_or(|since| ended >= since)
                    && filter.until.is_none_or(|until| ended < until)
            });
            if !is_in_time {
                continue;
            }
            let agent_name = names.get(&agent).cloned().unwrap_or_else(|| agent.0.clone());
            let reviewed = reviewed.get(&id);
            let race = raced.get(&id);
            let task = tasks.get(&id);
            pieces.push(PieceOfWork {
                who: Scored { agent_id: agent, agent_name, model, effort },
                passed_first: reviewed.and_then(|reviewed| reviewed.passed_first),
                passed_after_ms: reviewed
                    .and_then(|reviewed| Some(reviewed.passed_at?.since(runs.began?)))
                    .filter(|after| *after >= 0),
                // A loser is over with its race.
                is_over: over.contains(&id) || race.is_some_and(|race| !race.won),
                is_merged: merged.contains(&id),
                was_blocked: blocked.contains(&id) || annotated.contains(&id),
                attempts: runs.attempts,
                cost_micro_usd: runs.cost,
                runs: runs.runs,
                unknown: runs.unknown,
                lines_added: task.map_or(0, |task| task.lines_added),
                lines_removed: task.map_or(0, |task| task.lines_removed),
                raced: race.map(|race| (race.race.clone(), race.won)),
            });
        }
        Ok(pieces)
    }
}

/// The winner's entry of every raced task whose work is the task's.
async fn winners(conn: &mut SqliteConnection) -> Result<HashMap<TaskId, TaskId>, StoreError> {
    let rows = sqlx::query(
        "SELECT r.task_id AS raced, e.task_id AS entry FROM races r
         JOIN race_entries e ON e.race_id = r.id AND e.name = r.winner
         WHERE r.status = 'promoted' ORDER BY r.number",
    )
    .fetch_all(conn)
    .await?;
    // Of several races, the last one's winner is whose work the task has.
    rows.iter().map(|row| Ok((Columns(row).text("raced")?, Columns(row).text("entry")?))).collect()
}

async fn runs(
    conn: &mut SqliteConnection,
    filter: &CostFilter,
    won: &HashMap<TaskId, TaskId>,
) -> Result<HashMap<TaskId, Runs>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT x.task_id, x.role, x.agent_id, x.effort, x.usage, x.models, x.goes_on, x.started_at, x.finished_at
         FROM executions x JOIN tasks t ON t.id = x.task_id WHERE x.finished_at IS NOT NULL",
    );
    // By project alone: of a piece of work in the time, all runs count.
    CostFilter { project: filter.project.clone(), ..CostFilter::default() }.narrow(
        &mut query,
        "t.project_id",
        "",
    );
    query.push(" ORDER BY x.seq");
    let mut pieces: HashMap<TaskId, Runs> = HashMap::new();
    // One run at a time: there may be very many.
    let mut rows = query.build().fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let c = Columns(&row);
        let task: TaskId = c.text("task_id")?;
        let entry = won.get(&task);
        let piece = pieces.entry(entry.cloned().unwrap_or(task)).or_default();
        let usage: Usage = c.json("usage")?;
        piece.runs += 1;
        match usage.cost_micro_usd {
            Some(cost) => piece.cost = piece.cost.saturating_add(cost),
            None => piece.unknown += 1,
        }
        piece.ended = piece.ended.max(c.time_opt("finished_at")?);
        let role: ExecutionRole = c.name("role")?;
        if role != ExecutionRole::Coder {
            continue;
        }
        let began = c.time("started_at")?;
        piece.began = Some(piece.began.map_or(began, |first| first.min(began)));
        piece.attempts += u32::from(!c.flag("goes_on")?);
        // What was done to the work of a race's winner afterwards is the winner's.
        if entry.is_none() || piece.who.is_none() {
            let models: Vec<UsageSample> = c.json("models")?;
            let model = main_model(&models).map(str::to_owned);
            piece.who = Some((c.text("agent_id")?, model, c.text_opt("effort")?));
        }
    }
    Ok(pieces)
}

async fn reviewed(
    conn: &mut SqliteConnection,
    piece_of: &impl Fn(TaskId) -> TaskId,
) -> Result<HashMap<TaskId, Reviewed>, StoreError> {
    // Reviews of work alone: one of a plan has no commit. A pass of checks after a conflict is none of the work.
    let mut rows = sqlx::query(
        "SELECT task_id, status = 'passed' AS passed, finished_at FROM reviews
         WHERE status IN ('passed', 'failed') AND reviewed_commit IS NOT NULL
           AND coalesce(verdict, '') <> 'pass_ci_only' AND finished_at IS NOT NULL
         ORDER BY finished_at, attempt_number",
    )
    .fetch(conn);
    let mut pieces: HashMap<TaskId, Reviewed> = HashMap::new();
    while let Some(row) = rows.try_next().await? {
        let c = Columns(&row);
        let piece = pieces.entry(piece_of(c.text("task_id")?)).or_default();
        let passed = c.flag("passed")?;
        piece.passed_first.get_or_insert(passed);
        if passed && piece.passed_at.is_none() {
            piece.passed_at = c.time_opt("finished_at")?;
        }
    }
    Ok(pieces)
}

/// Tasks whose work is on its target, by Forge or by their code host.
async fn merged(conn: &mut SqliteConnection) -> Result<Vec<TaskId>, StoreError> {
    let rows = sqlx::query(
        "SELECT task_id FROM merges WHERE status = 'landed'
         UNION SELECT task_id FROM pull_requests WHERE pull_request ->> 'state' = 'merged'",
    )
    .fetch_all(conn)
    .await?;
    rows.iter().map(|row| Columns(row).text("task_id")).collect()
}

/// Tasks that were in a state of blocked ones.
async fn blocked(conn: &mut SqliteConnection, states: &WorkflowStates) -> Result<Vec<TaskId>, StoreError> {
    let names: HashSet<&String> = states.blocked.iter().map(|(_, state)| state).collect();
    let mut query = QueryBuilder::<Sqlite>::new(
        "SELECT DISTINCT r.task_id, r.to_state, t.project_id FROM transitions r JOIN tasks t ON t.id = r.task_id
         WHERE r.to_state IN ",
    );
    push_list(&mut query, &names.into_iter().collect::<Vec<_>>())?;
    let rows = query.build().fetch_all(conn).await?;
    let mut blocked = Vec::new();
    for row in &rows {
        let c = Columns(row);
        if states.blocked.contains(&(c.text("project_id")?, c.text("to_state")?)) {
            blocked.push(c.text("task_id")?);
        }
    }
    Ok(blocked)
}

/// The entries of races that are over.
async fn raced(conn: &mut SqliteConnection) -> Result<HashMap<TaskId, Raced>, StoreError> {
    let rows = sqlx::query(
        "SELECT e.task_id, e.race_id, r.status = 'promoted' AND e.name = r.winner AS won
         FROM race_entries e JOIN races r ON r.id = e.race_id
         WHERE r.status IN ('promoted', 'no_winner', 'cancelled')",
    )
    .fetch_all(conn)
    .await?;
    let read = |row| {
        let c = Columns(row);
        Ok((c.text("task_id")?, Raced { race: c.text("race_id")?, won: c.flag("won")? }))
    };
    rows.iter().map(read).collect()
}

async fn tasks(conn: &mut SqliteConnection) -> Result<HashMap<TaskId, Task>, StoreError> {
    let rows = sqlx::query(
        "SELECT t.id, t.project_id, t.status, t.error_annotation IS NOT NULL AS annotated,
           coalesce(e.diff_added, t.diff_added, 0) AS added, coalesce(e.diff_removed, t.diff_removed, 0) AS removed
         FROM tasks t LEFT JOIN race_entries e ON e.task_id = t.id
         WHERE EXISTS (SELECT 1 FROM executions x WHERE x.task_id = t.id)
            OR EXISTS (SELECT 1 FROM races r WHERE r.task_id = t.id)",
    )
    .fetch_all(conn)
    .await?;
    let read = |row| {
        let c = Columns(row);
        let task = Task {
            project: c.text("project_id")?,
            status: c.text("status")?,
            is_annotated: c.flag("annotated")?,
            lines_added: c.int("added")?,
            lines_removed: c.int("removed")?,
        };
        Ok((c.text("id")?, task))
    };
    rows.iter().map(read).collect()
}

async fn agent_names(conn: &mut SqliteConnection) -> Result<HashMap<AgentId, String>, StoreError> {
    let rows = sqlx::query("SELECT id, name FROM agents").fetch_all(conn).await?;
    rows.iter().map(|row| Ok((Columns(row).text("id")?, Columns(row).text("name")?))).collect()
}

#[cfg(test)]
mod tests {
    use forge_model::actor::{Actor, Cause};
    use forge_model::execution::ExecutionStatus;
    use forge_model::merge::{Merge, MergeStatus};
    use forge_model::race::RaceStatus;
    use forge_model::review::{ReviewStatus, Verdict};
    use forge_model::scoreboard::{ScoreGroup, ScoreRow, scoreboard};
    use forge_model::settings::MergeStrategy;
    use forge_model::task::DiffStat;
    use forge_model::workflow::Audience;

    use super::*;
    use crate::table::executions::ExecutionRow;
    use crate::table::tasks::TaskRow;
    use crate::table::transitions::TransitionRow;
    use crate::testing::{entry, race, raced_by, review, run, seeded, task};

    async fn ended(tx: &mut crate::Tx, id: &str, task: &str, at: i64, edit: impl FnOnce(&mut ExecutionRow)) {
        let mut row = run(id, task);
        row.execution.models =
            vec![UsageSample { model: "m".to_owned(), cost_micro_usd: Some(10), ..UsageSample::default() }];
        row.execution.status = ExecutionStatus::Finished;
        row.execution.finished_at = Some(Timestamp(at));
        edit(&mut row);
        row.execution.usage = Usage::of_run(&row.execution.models);
        tx.executions_mut().insert(&row).await.unwrap();
        tx.executions_mut().update(&row.execution).await.unwrap();
    }

    async fn decided(tx: &mut crate::Tx, id: &str, task: &str, attempt: u32, at: i64, passed: bool) {
        let mut review = review(id, attempt);
        review.task_id = task.into();
        review.reviewed_commit = Some("c".to_owned());
        review.status = if passed { ReviewStatus::Passed } else { ReviewStatus::Failed };
        review.verdict = Some(if passed { Verdict::Pass } else { Verdict::Fail });
        review.finished_at = Some(Timestamp(at));
        tx.reviews_mut().insert(&review, 0).await.unwrap();
        tx.reviews_mut().update(&review).await.unwrap();
    }

    fn states() -> WorkflowStates {
        let of = |names: &[&str]| {
            ["p", "q"]
                .iter()
                .flat_map(|project| names.iter().map(|name| (ProjectId::from(*project), (*name).to_owned())))
                .collect()
        };
        WorkflowStates { over: of(&["done"]), blocked: of(&["blocked"]) }
    }

    async fn landed(tx: &mut crate::Tx, task: &str) {
        let merge = Merge {
            id: format!("m-{task}").as_str().into(),
            task_id: task.into(),
            target: "main".to_owned(),
            strategy: MergeStrategy::Merge,
            source_commit: "c".to_owned(),
            merge_commit: Some("d".to_owned()),
            target_before: None,
            status: MergeStatus::Landed,
            reason: None,
            created_at: Timestamp(1),
        };
        tx.merges_mut().put(&merge, Timestamp(1)).await.unwrap();
    }

    async fn moved(tx: &mut crate::Tx, task: &str, to: &str) {
        let mut row = TransitionRow {
            seq: 0,
            id: format!("{task}-{to}").into(),
            task_id: task.into(),
            from: "todo".to_owned(),
            to: to.to_owned(),
            trigger: "walk".to_owned(),
            actor: Actor::System { cause: Cause::Workflow },
            audience: Audience::All,
            reason: None,
            rejection: false,
            cascade_depth: 0,
            at: Timestamp(1),
        };
        tx.transitions_mut().insert(&mut row).await.unwrap();
    }

    /// Forty tasks of two agents, the costs of which a person can add up.
    ///
    /// Of agent `a`, 20 tasks: each is run once for 10; 15 pass their first review and are merged; 5 fail it, are run
    /// again for 10 with a reviewer's run of unknown cost, pass and are merged; 2 of all were blocked.
    /// Of agent `b`, 20 tasks: 12 as the first ones of `a`; 4 failed and were closed without a merge; 4 go on.
    async fn forty() -> crate::Tx {
        let mut tx = seeded().await;
        for number in 1..=40_u32 {
            let (agent, id) = (if number <= 20 { "a" } else { "b" }, format!("t{number}"));
            let nth = (number - 1) % 20 + 1;
            let goes_on = agent == "b" && nth > 16;
            let status = if goes_on { "review" } else { "done" };
            let diff = DiffStat { files: 1, added: 3, removed: 1 };
            let mut row =
                TaskRow { status: status.to_owned(), diff_stat: Some(diff), ..task(&id, number + 1) };
            tx.tasks_mut().insert(&row).await.unwrap();
            tx.tasks_mut().update(&mut row, Timestamp(1)).await.unwrap();
            let start = i64::from(nth) * 1_000;
            let run_of = |row: &mut ExecutionRow| {
                row.execution.agent_id = agent.into();
                row.execution.started_at = Timestamp(start);
                row.effort = Some("high".to_owned());
            };
            ended(&mut tx, &format!("x{number}"), &id, start + 10, run_of).await;
            if goes_on {
                continue;
            }
            let passes = if agent == "a" { nth <= 15 } else { nth <= 12 };
            decided(&mut tx, &format!("r{number}"), &id, 1, start + 100, passes).await;
            if agent == "a" && !passes {
                ended(&mut tx, &format!("y{number}"), &id, start + 200, run_of).await;
                let by_reviewer = |row: &mut ExecutionRow| {
                    run_of(row);
                    row.execution.agent_id = "b".into();
                    row.execution.role = ExecutionRole::Reviewer;
                    row.execution.models = Vec::new();
                };
                ended(&mut tx, &format!("z{number}"), &id, start + 300, by_reviewer).await;
                decided(&mut tx, &format!("s{number}"), &id, 2, start + 400, true).await;
            }
            if agent == "a" || passes {
                landed(&mut tx, &id).await;
            }
            if agent == "a" && nth <= 2 {
                moved(&mut tx, &id, "blocked").await;
            }
        }
        tx
    }

    async fn work(tx: &mut crate::Tx, filter: &CostFilter) -> Vec<PieceOfWork> {
        tx.scores().work(filter, &states()).await.unwrap()
    }

    #[tokio::test]
    async fn scoreboard_equals_a_ledger_written_by_hand() {
        let mut tx = forty().await;
        let board = scoreboard(&work(&mut tx, &CostFilter::default()).await, ScoreGroup::Effort);
        let [a, b] = board.rows.as_slice() else { panic!("{board:?}") };
        assert_eq!(
            (&*a.who.agent_name, a.who.model.as_deref(), a.who.effort.as_deref()),
            ("A", Some("m"), Some("high"))
        );
        let counts = |row: &ScoreRow| {
            [&row.passed_first, &row.merged, &row.blocked].map(|share| (share.count, share.of))
        };
        assert_eq!(counts(a), [(15, 20), (20, 20), (2, 20)]);
        assert_eq!(counts(b), [(12, 16), (12, 16), (0, 20)]);
        // 20 first runs and 5 second ones for 10 each, and 5 of the reviewer that nobody knows the cost of.
        assert_eq!((a.tasks, a.runs, a.unknown, a.cost_micro_usd), (20, 30, 5, 250.0));
        assert_eq!((b.tasks, b.runs, b.unknown, b.cost_micro_usd), (20, 20, 0, 200.0));
        assert_eq!(a.cost_per_merged_micro_usd, Some(250.0 / 20.0));
        assert_eq!(b.cost_per_merged_micro_usd, Some(200.0 / 12.0));
        assert_eq!((a.retries_per_merged, b.retries_per_merged), (Some(0.25), Some(0.0)));
        // Of `a`, 15 passed after 100 ms and 5 after 400 ms.
        assert_eq!((a.passed, a.median_ms, a.p90_ms), (20, Some(100.0), Some(400.0)));
        assert_eq!((b.passed, b.median_ms, b.p90_ms), (12, Some(100.0), Some(100.0)));
        assert_eq!((a.lines_added, a.lines_removed, b.lines_added), (60, 20, 36));
        assert_eq!(board.duels, []);
    }

    #[tokio::test]
    async fn work_is_of_a_time_by_its_last_run_and_whole() {
        let mut tx = forty().await;
        // The last runs of the sixteenth task of `a` and later ones, two of which are reviewers' of each.
        let late = CostFilter { since: Some(Timestamp(16_000)), ..CostFilter::default() };
        let pieces = work(&mut tx, &late).await;
        let of_a: Vec<&PieceOfWork> =
            pieces.iter().filter(|piece| piece.who.agent_id.as_str() == "a").collect();
        assert_eq!((of_a.len(), of_a[0].runs, of_a[0].cost_micro_usd), (5, 3, 20));
        let none = CostFilter { project: Some("q".into()), ..CostFilter::default() };
        assert_eq!(work(&mut tx, &none).await, []);
    }

    #[tokio::test]
    async fn winner_and_raced_task_are_one_and_a_loser_costs_its_own_agent() {
        let mut tx = seeded().await;
        for (place, id) in [(1, "fast"), (2, "slow")] {
            tx.tasks_mut().insert(&entry(id, place)).await.unwrap();
        }
        let entries = vec![raced_by("quick", "fast"), raced_by("careful", "slow")];
        let mut over = race("r", 1, entries);
        over.status = RaceStatus::Promoted;
        over.winner = Some("careful".to_owned());
        tx.races_mut().put(&over).await.unwrap();
        let by_b = |row: &mut ExecutionRow| row.execution.agent_id = "b".into();
        ended(&mut tx, "1", "fast", 10, |_| {}).await;
        ended(&mut tx, "2", "slow", 20, by_b).await;
        decided(&mut tx, "r1", "slow", 1, 25, true).await;
        // What is done to the winner's work afterwards, by whoever, is one more attempt at it.
        decided(&mut tx, "r2", "t", 1, 30, false).await;
        ended(&mut tx, "3", "t", 40, |_| {}).await;
        landed(&mut tx, "t").await;
        let mut task = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
        task.status = "done".to_owned();
        tx.tasks_mut().update(&mut task, Timestamp(1)).await.unwrap();
        let mut pieces = work(&mut tx, &CostFilter::default()).await;
        pieces.sort_by(|a, b| a.who.cmp(&b.who));
        let [lost, won] = pieces.as_slice() else { panic!("{pieces:?}") };
        assert_eq!((&*lost.who.agent_name, &*won.who.agent_name), ("A", "B"));
        assert_eq!((lost.is_over, lost.is_merged, lost.cost_micro_usd), (true, false, 10));
        assert_eq!((won.is_over, won.is_merged, won.cost_micro_usd, won.attempts), (true, true, 20, 2));
        assert_eq!((won.passed_first, won.passed_after_ms), (Some(true), Some(24)));
        assert_eq!(lost.passed_first, None);
        let board = scoreboard(&pieces, ScoreGroup::Agent);
        let duel = &board.duels[0];
        assert_eq!((&*duel.first.agent_name, duel.first_won, duel.second_won, duel.neither), ("A", 0, 1, 0));
    }
}
