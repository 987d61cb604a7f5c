//! Tasks that an agent is to start on, as the scheduler needs them: a few columns of each, read by one statement however
//! many there are.

use std::collections::HashSet;

use forge_model::ids::{AgentId, MachineId, ProjectId, TaskId};
use forge_model::inner_loop::TaskRace;
use forge_model::race::RaceStatus;
use forge_model::task::Waiting;
use forge_model::time::Timestamp;
use forge_model::workspace::WorkspaceStatus;
use sqlx::{QueryBuilder, Row as _, Sqlite, sqlite::SqliteRow};

use super::Tasks;
use crate::{
    StoreError,
    row::{Columns, push_list},
};

/// A task that an agent is to start on.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedTask {
    /// The task.
    pub id: TaskId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its number there.
    pub number: u32,
    /// Of a race's entry: its place among all entries that its task ever had.
    pub race_place: Option<u32>,
    /// The state that it is in.
    pub status: String,
    /// Its version, as it was read.
    pub version: u32,
    /// Higher goes first.
    pub priority: i32,
    /// Whether it, or the task that it is raced for, is on hold.
    pub held: bool,
    /// The labels that its machine must all have, where it says so itself.
    pub machines: Option<Vec<String>>,
    /// What it waits for.
    pub waiting: Option<Waiting>,
    /// Whether it is an entry of a race.
    pub is_entry: bool,
    /// The task that it is of.
    pub parent_id: Option<TaskId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it entered its state.
    pub status_since: Timestamp,
    /// The agents that hold roles of it, by role.
    pub agents: Vec<(String, AgentId)>,
    /// Where its latest worktree is, and the path of that, unless it was cleaned.
    pub workspace: Option<QueuedWorkspace>,
    /// The kind and action of its next step.
    pub next_step: Option<(String, Option<String>)>,
    /// Whether the next step is part of an agent's start: of its move, a step that gives a place is or goes before it, and
    /// no race comes between. Entries of a race have places of their own.
    pub is_for_agent: bool,
    /// Whether its work passed its review before, so that no auditor is asked again.
    pub is_passed: bool,
    /// Its own race, if it says something of one.
    pub race: Option<TaskRace>,
    /// What became of its last race.
    pub last_race: Option<RaceStatus>,
    /// Whether a place for it is still to be given.
    pub is_admitted_later: bool,
    /// Whether it was imported from a public repository, so that only a person starts it.
    pub is_from_public: bool,
}

/// The worktree of a queued task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedWorkspace {
    /// The machine; none is this computer.
    pub machine_id: Option<MachineId>,
    /// How far it is.
    pub status: WorkspaceStatus,
}

/// Everything but the condition and the order.
const SELECT: &str = "SELECT t.id, t.project_id, t.number, t.race_place, t.status, t.version, t.priority, t.machines, t.waiting, t.parent_id,
      t.created_at, t.status_since, t.execution_mode = 'race_entry' AS is_entry,
      max(t.held, coalesce((SELECT raced.held FROM tasks raced WHERE t.execution_mode = 'race_entry' AND raced.id = t.parent_id), 0)) AS held,
      (SELECT json_group_array(json_array(r.role, r.agent_id)) FROM task_roles r WHERE r.task_id = t.id AND r.kind = 'agent') AS agents,
      (SELECT json_array(w.machine_id, w.status) FROM workspaces w WHERE w.task_id = t.id ORDER BY w.created_at DESC, w.rowid DESC LIMIT 1) AS workspace,
      (SELECT json_array(s.kind, s.action) FROM steps s WHERE s.task_id = t.id AND s.status <> 'done' ORDER BY s.id LIMIT 1) AS next_step,
      coalesce((SELECT a.kind = 'admit' FROM steps n JOIN steps a ON a.transition_seq IS n.transition_seq AND a.task_id = n.task_id AND a.id <= n.id
          WHERE n.id = (SELECT min(s.id) FROM steps s WHERE s.task_id = t.id AND s.status <> 'done') AND a.kind IN ('admit', 'race')
          ORDER BY a.id DESC LIMIT 1), 0) AS is_for_agent,
      t.review_passed_at IS NOT NULL AS is_passed, t.race,
      (SELECT r.status FROM races r WHERE r.task_id = t.id ORDER BY r.number DESC LIMIT 1) AS last_race,
      EXISTS (SELECT 1 FROM steps s WHERE s.task_id = t.id AND s.status <> 'done' AND s.kind = 'admit') AS is_admitted_later,
      EXISTS (SELECT 1 FROM issue_sources i WHERE i.task_id = t.id AND i.is_public) AS is_from_public
    FROM tasks t";

impl Tasks<'_> {
    /// Tasks of a project that stand in a state and are worked on by an agent that holds the role, or say what they wait
    /// for there.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn queued(
        &mut self,
        project: &ProjectId,
        state: &str,
        role: Option<&str>,
    ) -> Result<Vec<QueuedTask>, StoreError> {
        let sql = [
            SELECT,
            " WHERE t.project_id = ?1 AND t.status = ?2 AND t.execution_mode <> 'ordered_turn' AND (t.waiting IS NOT NULL
               OR EXISTS (SELECT 1 FROM task_roles r WHERE r.task_id = t.id AND r.kind = 'agent' AND r.role = ?3))
             ORDER BY t.priority DESC, t.created_at, t.race_place, t.number",
        ]
        .concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(project.as_str()).bind(state).bind(role);
        query.fetch_all(&mut *self.conn).await?.iter().map(read).collect()
    }

    /// Tasks with steps that are not over and without a place, of which the next step waits for something or gives them a
    /// place later.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn asking(&mut self) -> Result<Vec<QueuedTask>, StoreError> {
        let sql = [
            SELECT,
            " WHERE t.id IN (SELECT task_id FROM steps WHERE status <> 'done' AND kind = 'admit'
                 UNION SELECT w.id FROM tasks w WHERE w.waiting IS NOT NULL
                   AND EXISTS (SELECT 1 FROM steps s WHERE s.task_id = w.id AND s.status <> 'done'))
               AND NOT EXISTS (SELECT 1 FROM slots p WHERE p.task_id = t.id)
             ORDER BY t.priority DESC, t.status_since, t.race_place, t.number",
        ]
        .concat();
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut *self.conn).await?;
        rows.iter().map(read).collect()
    }

    /// These tasks, with everything that is of them: their subtasks, the entries of their races, and theirs.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn with_theirs(&mut self, tasks: &[TaskId]) -> Result<HashSet<TaskId>, StoreError> {
        let mut query =
            QueryBuilder::<Sqlite>::new("WITH RECURSIVE theirs (id) AS (SELECT id FROM tasks WHERE id IN ");
        push_list(&mut query, tasks)?;
        query.push(
            " UNION SELECT t.id FROM tasks t JOIN theirs ON t.parent_id = theirs.id) SELECT id FROM theirs",
        );
        let rows = query.build().fetch_all(&mut *self.conn).await?;
        rows.iter().map(|row| Columns(row).text("id")).collect()
    }

    /// One task as if it were queued.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn as_queued(&mut self, task: &TaskId) -> Result<Option<QueuedTask>, StoreError> {
        let sql = [SELECT, " WHERE t.id = ?1"].concat();
        let query = sqlx::query(sqlx::AssertSqlSafe(sql)).bind(task.as_str());
        query.fetch_optional(&mut *self.conn).await?.as_ref().map(read).transpose()
    }
}

fn read(row: &SqliteRow) -> Result<QueuedTask, StoreError> {
    let c = Columns(row);
    let workspace: Option<(Option<String>, String)> = c.json_opt("workspace")?;
    let workspace = workspace.and_then(|(machine_id, status)| {
        let status = status.parse().ok()?;
        Some(QueuedWorkspace { machine_id: machine_id.map(Into::into), status })
    });
    let agents: Vec<(String, String)> = c.json("agents")?;
    Ok(QueuedTask {
        id: TaskId(row.try_get("id")?),
        project_id: c.text("project_id")?,
        number: c.int("number")?,
        race_place: c.int_opt("race_place")?,
        status: c.text("status")?,
        version: c.int("version")?,
        priority: c.int("priority")?,
        held: c.flag("held")?,
        machines: c.json_opt("machines")?,
        waiting: c.json_opt("waiting")?,
        is_entry: c.flag("is_entry")?,
        parent_id: c.text_opt("parent_id")?,
        created_at: c.time("created_at")?,
        status_since: c.time("status_since")?,
        agents: agents.into_iter().map(|(role, agent)| (role, agent.into())).collect(),
        workspace: workspace.filter(|it| it.status != WorkspaceStatus::Cleaned),
        next_step: c.json_opt("next_step")?,
        is_for_agent: c.flag("is_for_agent")?,
        is_passed: c.flag("is_passed")?,
        race: c.json_opt("race")?,
        last_race: c.text_opt::<String>("last_race")?.and_then(|status| status.parse().ok()),
        is_admitted_later: c.flag("is_admitted_later")?,
        is_from_public: c.flag("is_from_public")?,
    })
}

#[cfg(test)]
mod tests {
    use forge_model::task::{HolderKind, RoleHolder, WaitReason};
    use forge_model::transition::{StepKind, StepStatus};
    use forge_model::workspace::Workspace;

    use super::*;
    use crate::table::{slots::Slot, steps::StepRow, tasks::TaskRow};
    use crate::testing::{entry, record, seeded, task};

    fn ids(all: &[QueuedTask]) -> Vec<&str> {
        all.iter().map(|task| task.id.as_str()).collect()
    }

    async fn step(tx: &mut crate::Tx, task: &str, kind: StepKind) {
        let mut step = StepRow::pending(&task.into(), "doing", kind, "before_enter");
        tx.steps_mut().insert(&mut step).await.unwrap();
    }

    #[tokio::test]
    async fn queue_of_a_state_has_the_tasks_of_agents_by_rank_with_where_their_worktree_is() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&TaskRow { priority: 5, ..task("urgent", 2) }).await.unwrap();
        tx.tasks_mut().insert(&task("nobodys", 3)).await.unwrap();
        let role = RoleHolder { kind: HolderKind::Agent, id: Some("a".into()) };
        for id in ["t", "urgent"] {
            tx.roles_mut().put(&id.into(), "coder", Some(&role)).await.unwrap();
        }
        let there = Workspace { machine_id: Some("m".into()), ..record("w", "t", 1) };
        tx.workspaces_mut().put(&there, Timestamp(1)).await.unwrap();
        let queue = tx.tasks().queued(&"p".into(), "todo", Some("coder")).await.unwrap();
        assert_eq!(ids(&queue), ["urgent", "t"]);
        assert_eq!(queue[1].agents, [("coder".to_owned(), "a".into())]);
        let workspace = queue[1].workspace.as_ref().unwrap();
        assert_eq!((workspace.machine_id.clone(), workspace.status), (Some("m".into()), there.status));
        assert_eq!((queue[0].workspace.clone(), queue[0].next_step.clone()), (None, None));
        assert_eq!(tx.tasks().as_queued(&"t".into()).await.unwrap().as_ref(), queue.get(1));
    }

    #[tokio::test]
    async fn task_that_waits_or_is_given_a_place_later_asks_and_one_with_a_place_does_not() {
        let mut tx = seeded().await;
        for (id, number) in [("waits", 2), ("has", 3), ("explained", 4)] {
            tx.tasks_mut().insert(&task(id, number)).await.unwrap();
        }
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        for id in ["t", "has", "e"] {
            step(&mut tx, id, StepKind::Admit).await;
        }
        step(&mut tx, "waits", StepKind::PrepareWorkspace).await;
        let message = String::new();
        let waiting = Waiting { reason: WaitReason::MachineBusy, until: None, files: Vec::new(), message };
        for id in ["waits", "explained"] {
            let mut row = tx.tasks().get(&id.into()).await.unwrap().unwrap();
            row.waiting = Some(waiting.clone());
            tx.tasks_mut().update(&mut row, Timestamp(1)).await.unwrap();
        }
        let mut raced = tx.tasks().get(&"t".into()).await.unwrap().unwrap();
        raced.held = true;
        tx.tasks_mut().update(&mut raced, Timestamp(1)).await.unwrap();
        let slot = Slot { agent_id: "a".into(), machine_id: None };
        tx.slots_mut().take(&"has".into(), &"p".into(), &slot, Timestamp(1)).await.unwrap();
        let asking = tx.tasks().asking().await.unwrap();
        assert_eq!(ids(&asking), ["t", "waits", "e"]);
        let facts: Vec<_> = asking.iter().map(|it| (it.is_admitted_later, it.held, it.is_entry)).collect();
        assert_eq!(facts, [(true, true, false), (false, false, false), (true, true, true)]);
        assert_eq!(asking[1].next_step, Some(("prepare_workspace".to_owned(), None)));
    }

    #[tokio::test]
    async fn worktree_is_prepared_for_an_agent_unless_a_race_goes_before_it_in_the_same_move() {
        let mut tx = seeded().await;
        let for_agent =
            async |tx: &mut crate::Tx| tx.tasks().as_queued(&"t".into()).await.unwrap().unwrap().is_for_agent;
        for (kinds, expected) in [
            // A gate that only checks.
            (&[StepKind::Capture, StepKind::PrepareWorkspace][..], false),
            (&[StepKind::Admit, StepKind::PrepareWorkspace], true),
            (&[StepKind::Race, StepKind::PrepareWorkspace], false),
            // The work goes on as a race, and is gone on with after one.
            (&[StepKind::Admit, StepKind::Race, StepKind::PrepareWorkspace], false),
            (&[StepKind::Race, StepKind::Admit, StepKind::PrepareWorkspace], true),
        ] {
            tx.steps_mut().skip_open(&"t".into(), "elsewhere", Timestamp(1)).await.unwrap();
            for kind in kinds {
                let mut step = StepRow::pending(&"t".into(), "doing", *kind, "before_enter");
                tx.steps_mut().insert(&mut step).await.unwrap();
                if *kind != StepKind::PrepareWorkspace {
                    step.status = StepStatus::Done;
                    tx.steps_mut().update(&step).await.unwrap();
                }
            }
            assert_eq!(for_agent(&mut tx).await, expected, "{kinds:?}");
            let next = tx.steps().next(&"t".into()).await.unwrap().unwrap();
            assert_eq!(tx.steps().is_for_agent(&next).await.unwrap(), expected, "{kinds:?}, of the step");
        }
    }

    #[tokio::test]
    async fn tasks_are_found_with_what_is_of_them_and_no_others() {
        let mut tx = seeded().await;
        tx.tasks_mut().insert(&entry("e", 1)).await.unwrap();
        tx.tasks_mut().insert(&TaskRow { parent_id: Some("e".into()), ..task("of-e", 7) }).await.unwrap();
        tx.tasks_mut().insert(&task("other", 8)).await.unwrap();
        let theirs = tx.tasks().with_theirs(&["t".into(), "gone".into()]).await.unwrap();
        assert_eq!(theirs, HashSet::from(["t".into(), "e".into(), "of-e".into()]));
        assert!(tx.tasks().with_theirs(&[]).await.unwrap().is_empty());
    }
}
