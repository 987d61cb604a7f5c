//! Watching a task while what was asked of it is done, and answering its agents meanwhile.

use forge_api::{
    Call,
    operations::{TaskExecutions, TaskGet, TaskTransitions},
    ops::TaskPath,
};
use forge_model::{ids::TaskId, task, transition::StepStatus};

use super::{Found, shown};
use crate::{
    answer::{Answer, say},
    args::Wait,
    at::At,
    changes::Changes,
    command::approval::{self, Met},
    error::CliError,
    story,
};

/// What happens to a task, told line by line.
pub(in crate::command) struct Watch<'a> {
    at: &'a At,
    task: TaskId,
    number: u32,
    changes: Changes,
    moves_before: usize,
    moves_told: usize,
}

impl<'a> Watch<'a> {
    /// Listens from now on: begun before something is asked, so that nothing of what follows is missed.
    pub(in crate::command) async fn begin(at: &'a At, task: &task::Task) -> Result<Self, CliError> {
        let changes = at.connection.changes().await?;
        // Counted afterwards: a move in between would be one that is never heard of, and waited for.
        let path = TaskPath { task_id: task.id.clone() };
        let moves_before = at.call(TaskTransitions, path).await?.items.len();
        Ok(Self { at, task: task.id.clone(), number: task.number, changes, moves_before, moves_told: 0 })
    }

    fn path(&self) -> TaskPath {
        TaskPath { task_id: self.task.clone() }
    }

    /// The task, if it came to rest and all of its moves are told.
    pub(in crate::command) async fn at_rest(&self) -> Result<Option<Found>, CliError> {
        // Read twice around the steps: an agent that ends in between leaves new ones behind.
        let before = self.at.call(TaskGet, self.path()).await?;
        let transitions = self.at.call(TaskTransitions, self.path()).await?;
        let now = self.at.call(TaskGet, self.path()).await?;
        let all_told = self.moves_before + self.moves_told >= transitions.items.len();
        let rests = all_told && before.json == now.json && story::rest(&now, &transitions.items).is_some();
        Ok(rests.then_some(now))
    }

    /// Waits for the next event of the task, and tells it.
    pub(in crate::command) async fn next(&mut self) -> Result<(), CliError> {
        let event = loop {
            match self.changes.next().await {
                Some(event) if event["task_id"] == self.task.as_str() => break event,
                // An entry of its race may ask for an approval, whose events are its own.
                Some(event) if event["type"] == story::ASKS => return Ok(()),
                // The others change nothing here.
                Some(_) => {}
                None => return Err(CliError::Interrupted),
            }
        };
        self.moves_told += usize::from(event["type"] == "task.status_changed");
        if let Some(sentence) = story::sentence(&event) {
            say(&format!("#{} {sentence}", self.number));
        }
        Ok(())
    }
}

/// Acts, and when asked to, tells what follows until the task comes to rest or an agent asks for an approval that only
/// another command can answer.
pub(super) async fn act<C: Call>(
    at: &At,
    call: C,
    input: C::Input,
    task: &task::Task,
    wait: Wait,
) -> Result<Answer, CliError> {
    let path = || TaskPath { task_id: task.id.clone() };
    if !wait.decide(at.connection.is_own()) {
        at.call(call, input).await?;
        return shown(at, at.call(TaskGet, path()).await?).await;
    }
    let watch = Watch::begin(at, task).await?;
    at.call(call, input).await?;
    until_rest(at, task, watch).await
}

/// Goes on with work that is pending, and tells what follows until the task comes to rest.
pub(super) async fn go_on(at: &At, task: &task::Task) -> Result<Answer, CliError> {
    let watch = Watch::begin(at, task).await?;
    until_rest(at, task, watch).await
}

async fn until_rest(at: &At, task: &task::Task, mut watch: Watch<'_>) -> Result<Answer, CliError> {
    at.connection.work_on(&task.id);
    loop {
        if let Some(now) = watch.at_rest().await? {
            return shown(at, now).await;
        }
        if approval::meet(at, task).await? == Met::Left {
            let now = at.call(TaskGet, TaskPath { task_id: task.id.clone() }).await?;
            return shown(at, now).await;
        }
        watch.next().await?;
    }
}

/// Whether work of an open task is pending that no engine does now, since none runs but this command's own.
pub(in crate::command) async fn is_pending(at: &At, task: &task::Task) -> Result<bool, CliError> {
    let is_told = task.offers.is_empty() || task.waiting.is_some() || task.error_annotation.is_some();
    if !at.connection.is_own() || is_told {
        return Ok(false);
    }
    let path = || TaskPath { task_id: task.id.clone() };
    let transitions = at.call(TaskTransitions, path()).await?;
    let mut steps = transitions.items.iter().flat_map(|one| &one.steps);
    if steps.any(|step| step.status != StepStatus::Done) {
        return Ok(true);
    }
    // A run that was cut off is one until an engine that stays looks after it.
    let runs = at.call(TaskExecutions, path()).await?;
    Ok(runs.items.iter().any(|run| !run.status.is_over()))
}
