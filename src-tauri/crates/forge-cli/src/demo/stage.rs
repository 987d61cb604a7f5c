//! The demo project while it is played: tasks are claimed, what happens is told, gates are passed.

use std::{path::PathBuf, time::Duration};

use forge_demo::scenario::{self, Story};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    changes::Changes,
    connection::Connection,
    error::CliError,
    shown::{items, string},
    story,
};

/// A task on the stage.
pub(super) struct Part {
    pub(super) story: Story,
    pub(super) id: String,
    pub(super) number: u64,
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
        let project = connection.call("demo_create", json!({})).await?;
        let list = json!({ "project_id": project["id"], "limit": 200 });
        let tasks = connection.call("task_list", list).await?;
        let repo = PathBuf::from(string(&project, "repo_path"));
        tell(&format!("Repository:  {}", repo.display()));
        let mut parts = Vec::new();
        for scripted in scenario::tasks().into_iter().filter(|task| PLAYED.contains(&task.story)) {
            let there = items(&tasks).iter().find(|task| task["title"] == scripted.title);
            let fresh = match there {
                Some(task) => {
                    let moves = connection.call("task_transitions", json!({ "task_id": task["id"] })).await?;
                    items(&moves).is_empty().then_some(task)
                }
                None => None,
            };
            let task = fresh.ok_or_else(|| CliError::Conflict {
                message: format!("the demo project was changed: {}", scripted.title),
                hint: "Use another folder with --data-dir, or omit it for a temporary one.",
            })?;
            parts.push(Part {
                story: scripted.story,
                id: string(task, "id"),
                number: task["number"].as_u64().unwrap_or_default(),
                title: scripted.title,
                claimed_at: None,
                took: None,
                told: Vec::new(),
            });
        }
        Ok(Self { connection, tell, repo, parts, changes, began })
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
        let id = self.parts[index].id.clone();
        let task = self.connection.call("task_get", json!({ "task_id": id })).await?;
        let agent = task["roles"].as_object().into_iter().flat_map(serde_json::Map::values);
        let agent = agent.filter_map(|holder| holder["id"].as_str()).next().unwrap_or_default();
        self.note(index, &format!("claimed: {}", self.parts[index].title));
        self.parts[index].claimed_at = Some(Instant::now());
        let claim = json!({ "task_id": id, "agent_id": agent, "version": task["version"] });
        self.connection.call("task_claim", claim).await?;
        Ok(())
    }

    /// Follows the play until the agent of a task is at work.
    pub(super) async fn until_at_work(&mut self, story: Story, within: Duration) -> Result<(), CliError> {
        let id = self.parts[self.index(story)?].id.clone();
        let deadline = Instant::now() + within;
        loop {
            let task = self.connection.call("task_get", json!({ "task_id": id })).await?;
            if !task["live"].is_null() || !self.next(deadline).await? {
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
        let approve = json!({ "task_id": self.parts[index].id, "reason": "Looks good.", "wait": "none" });
        self.connection.call("review_approve", approve).await?;
        Ok(())
    }

    /// Looks whether a task is closed, or needs a person for more than a gate.
    async fn look(&mut self, index: usize) -> Result<(), CliError> {
        let task = self.connection.call("task_get", json!({ "task_id": self.parts[index].id })).await?;
        let offers = task["offers"].as_array().map_or(&[][..], Vec::as_slice);
        let in_trouble = !task["error_annotation"].is_null();
        if !offers.is_empty() && !in_trouble {
            return Ok(());
        }
        if let Some(message) = task["error_annotation"]["message"].as_str() {
            self.note(index, message);
        }
        for offer in offers {
            let line = format!("offered: {:15} {}", string(offer, "verb"), string(offer, "why"));
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
