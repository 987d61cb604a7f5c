//! The demo project while it is played: tasks are claimed, what happens is told, gates are passed.

use std::{path::PathBuf, time::Duration};

use forge_api::{
    Client as _,
    operations::{DemoCreate, ReviewApprove, TaskClaim, TaskGet, TaskList, TaskTransitions},
    ops::{
        Empty, TaskPath, Wait,
        reviews::DecideReview,
        tasks::{ClaimTask, ListTasks},
    },
};
use forge_demo::scenario::{self, Story};
use forge_model::{
    ids::{ProjectId, TaskId},
    task::Task,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{changes::Changes, connection::Connection, error::CliError, story};

/// A task on the stage.
pub(super) struct Part {
    pub(super) story: Story,
    pub(super) id: TaskId,
    pub(super) number: u32,
    pub(super) title: &'static str,
    claimed_at: Option<Instant>,
    /// How long it took until it was closed or in trouble.
    pub(super) took: Option<Duration>,
    /// What happened, with the milliseconds since the play began.
    told: Vec<(u128, String)>,
}

/// The play.
pub(super) struct Stage<'a> {
    pub(super) connection: &'a Connection,
    tell: &'a (dyn Fn(&str) + Sync),
    pub(super) repo: PathBuf,
    pub(super) project: ProjectId,
    pub(super) parts: Vec<Part>,
    changes: Changes,
    began: Instant,
}

/// The stories that are played; the others are there for who opens the project.
const PLAYED: [Story; 6] =
    [Story::Done, Story::FailThenFix, Story::Blocked, Story::Conflict, Story::ConflictFirst, Story::Race];

impl<'a> Stage<'a> {
    /// Makes the demo project, with all tasks still to be done.
    pub(super) async fn set(
        connection: &'a Connection,
        tell: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Self, CliError> {
        let began = Instant::now();
        let changes = connection.changes().await?;
        let project = connection.call(DemoCreate, Empty {}).await?.value;
        let list = ListTasks {
            project_id: project.id.clone(),
            status: None,
            q: None,
            machine: None,
            limit: Some(200),
            cursor: None,
        };
        let tasks = connection.call(TaskList, list).await?;
        let repo = PathBuf::from(project.repo_path);
        tell(&format!("Repository:  {}", repo.display()));
        let mut parts = Vec::new();
        for scripted in scenario::tasks().into_iter().filter(|task| PLAYED.contains(&task.story)) {
            let there = tasks.items.iter().find(|task| task.title == scripted.title);
            let fresh = match there {
                Some(task) => {
                    let path = TaskPath { task_id: task.id.clone() };
                    let moves = connection.call(TaskTransitions, path).await?;
                    moves.items.is_empty().then_some(task)
                }
                None => None,
            };
            let task = fresh.ok_or_else(|| CliError::Conflict {
                message: format!("the demo project was changed: {}", scripted.title),
                hint: "Use another folder with --data-dir, or omit it for a temporary one.",
            })?;
            parts.push(Part {
                story: scripted.story,
                id: task.id.clone(),
                number: task.number,
                title: scripted.title,
                claimed_at: None,
                took: None,
                told: Vec::new(),
            });
        }
        Ok(Self { connection, tell, repo, project: project.id, parts, changes, began })
    }

    pub(super) fn elapsed_ms(&self) -> u128 {
        self.began.elapsed().as_millis()
    }

    /// What programs are told of the play.
    pub(super) fn report(&self) -> Vec<Value> {
        self.parts
            .iter()
            .map(|part| {
                let happened: Vec<Value> =
                    part.told.iter().map(|(at, text)| json!({ "at_ms": at, "text": text })).collect();
                json!({
                    "number": part.number,
                    "id": part.id,
                    "title": part.title,
                    "story": format!("{:?}", part.story),
                    "duration_ms": part.took.map(|took| took.as_millis()),
                    "happened": happened,
                })
            })
            .collect()
    }

    /// Starts work on a task, by its own agent.
    pub(super) async fn claim(&mut self, story: Story) -> Result<(), CliError> {
        let index = self.index(story)?;
        let task = self.task(index).await?;
        let agent = task.roles.values().flatten().find_map(|holder| holder.id.clone());
        self.note(index, &format!("claimed: {}", self.parts[index].title));
        self.parts[index].claimed_at = Some(Instant::now());
        let claim = ClaimTask {
            task_id: task.id,
            agent_id: agent.map(|id| id.0).unwrap_or_default(),
            version: task.version,
            queue: None,
            if_locked: None,
        };
        self.connection.call(TaskClaim, claim).await?;
        Ok(())
    }

    async fn task(&self, index: usize) -> Result<Task, CliError> {
        let path = TaskPath { task_id: self.parts[index].id.clone() };
        Ok(self.connection.call(TaskGet, path).await?.value)
    }

    /// Follows the play until the agent of a task is at work.
    pub(super) async fn until_at_work(&mut self, story: Story, within: Duration) -> Result<(), CliError> {
        let index = self.index(story)?;
        let deadline = Instant::now() + within;
        loop {
            if self.task(index).await?.live.is_some() || !self.next(deadline).await? {
                return Ok(());
            }
        }
    }

    /// Follows the play until every claimed task is closed or needs a person for more than a gate.
    pub(super) async fn until_all_rest(&mut self, within: Duration) -> Result<(), CliError> {
        let deadline = Instant::now() + within;
        while self.parts.iter().any(|part| part.claimed_at.is_some() && part.took.is_none()) {
            if !self.next(deadline).await? {
                // Whoever has not come to rest is found by what was expected of it.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Tells the next event and does what it asks for; false when the time is over.
    async fn next(&mut self, deadline: Instant) -> Result<bool, CliError> {
        let Ok(event) = tokio::time::timeout_at(deadline, self.changes.next()).await else {
            return Ok(false);
        };
        let event = event.ok_or(CliError::Interrupted)?;
        let index = self.parts.iter().position(|part| event["task_id"] == part.id.as_str());
        let Some(index) = index else { return Ok(true) };
        if let Some(sentence) = story::sentence(&event) {
            self.note(index, &sentence);
        }
        if self.parts[index].claimed_at.is_none() || self.parts[index].took.is_some() {
            return Ok(true);
        }
        match event["type"].as_str() {
            Some("review.awaiting_human") => self.approve(index).await?,
            Some("task.status_changed" | "task.blocked") => self.look(index).await?,
            _ => {}
        }
        Ok(true)
    }

    async fn approve(&mut self, index: usize) -> Result<(), CliError> {
        self.note(index, "approved by you");
        let approve = DecideReview {
            task_id: self.parts[index].id.clone(),
            reason: Some("Looks good.".to_owned()),
            commit: None,
            comments: Vec::new(),
            version: None,
            wait: Some(Wait::None),
        };
        self.connection.call(ReviewApprove, approve).await?;
        Ok(())
    }

    /// Looks whether a task is closed, or needs a person for more than a gate.
    async fn look(&mut self, index: usize) -> Result<(), CliError> {
        let task = self.task(index).await?;
        if !task.offers.is_empty() && task.error_annotation.is_none() {
            return Ok(());
        }
        if let Some(trouble) = &task.error_annotation {
            self.note(index, &trouble.message);
        }
        for offer in &task.offers {
            let line = format!("offered: {:15} {}", offer.verb.as_str(), offer.why);
            self.note(index, &line);
        }
        let part = &mut self.parts[index];
        part.took = part.claimed_at.map(|at| at.elapsed());
        Ok(())
    }

    fn note(&mut self, index: usize, text: &str) {
        let at = self.elapsed_ms();
        let part = &mut self.parts[index];
        (self.tell)(&format!("{:>3}.{:03} s  #{} {text}", at / 1000, at % 1000, part.number));
        part.told.push((at, text.to_owned()));
    }

    fn index(&self, story: Story) -> Result<usize, CliError> {
        self.parts.iter().position(|part| part.story == story).ok_or_else(|| CliError::NotFound {
            message: format!("the demo has no task for the story {story:?}"),
            hint: "Remove the demo project; another version of Forge created it.",
        })
    }
}
