//! Races.

use forge_engine::ActionRequest;
use forge_model::actor::Actor;
use forge_model::ids::TaskId;
use forge_model::offer::Verb;
use forge_model::race::Race;

use super::{Page, TaskPath, input};
use crate::{Api, ApiError};

input! {
    /// The winner of a race.
    pub struct CrownEntry {
        /// The task.
        pub task_id: TaskId,
        /// Name of the winning entry's strategy.
        pub strategy: String,
        /// The task's version, as read; not compared when absent.
        #[serde(default)]
        pub version: Option<u32>,
    }
}

pub(crate) async fn list(api: Api, _: Actor, path: TaskPath) -> Result<Page<Race>, ApiError> {
    Ok(Page::whole(api.engine().races(&path.task_id).await?))
}

pub(crate) async fn last(api: Api, _: Actor, path: TaskPath) -> Result<Race, ApiError> {
    let last = api.engine().races(&path.task_id).await?.pop();
    last.ok_or_else(|| ApiError::not_found(format!("task {} was never raced", path.task_id)))
}

pub(crate) async fn select_winner(api: Api, actor: Actor, input: CrownEntry) -> Result<Race, ApiError> {
    let request = ActionRequest {
        verb: Verb::Crown,
        version: input.version,
        reason: None,
        message: None,
        entry: Some(input.strategy),
        commit: None,
        end_terminals: false,
    };
    api.engine().act_on(actor.clone(), &input.task_id, request).await?;
    last(api, actor, TaskPath { task_id: input.task_id }).await
}
