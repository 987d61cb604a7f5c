//! What a task's end does to others: dependents, ordered subtasks.

use forge_model::actor::Cause;
use forge_model::event::EventType;
use forge_model::task::ExecutionMode;
use forge_model::workflow::State;
use forge_store::Tx;
use forge_store::table::{dependencies, tasks, tasks::TaskRow};
use serde_json::Value;

use super::{Effect, End, Stepping};
use crate::{Engine, error::Result, guards::is_done, transition::Move};

impl Engine {
    /// Tells each dependent whose last prerequisite this was.
    pub(super) async fn satisfy_dependents(
        &self,
        tx: &mut Tx,
        s: &Stepping,
        effects: &mut Vec<Effect>,
    ) -> Result<End> {
        let dependents = dependencies::dependents(tx, &s.task.id).await?;
        if dependents.is_empty() {
            return Ok(End::skipped("nothing depends on it"));
        }
        let mut free = 0;
        for id in &dependents {
            let Some(dependent) = tasks::get(tx, id).await? else { continue };
            let mut open = false;
            for prerequisite in dependencies::of(tx, id).await? {
                let other = tasks::get(tx, &prerequisite).await?;
                open |= other.is_some_and(|other| !is_done(&s.context, &other));
            }
            if !open {
                free += 1;
                self.emit(tx, EventType::TaskDependencySatisfied, &dependent, id.as_str(), &Value::Null)
                    .await?;
                effects.push(Effect::Kick(id.clone()));
            }
        }
        Ok(End::Ok(Some(format!("{free} of {} dependents are free", dependents.len()))))
    }

    /// Closes the open ordered parts of a task: done with it, or cancelled with it.
    pub(super) async fn close_ordered_children(
        &self,
        tx: &mut Tx,
        s: &Stepping,
        cancel: bool,
        effects: &mut Vec<Effect>,
    ) -> Result<End> {
        let open: Vec<TaskRow> = tasks::children(tx, &s.task.id)
            .await?
            .into_iter()
            .filter(|child| child.execution_mode == ExecutionMode::OrderedTurn)
            .filter(|child| !s.context.workflow.state(&child.status).is_some_and(State::is_terminal))
            .collect();
        if open.is_empty() {
            return Ok(End::skipped("no ordered subtasks are open"));
        }
        let count = open.len();
        for mut child in open {
            let to = if cancel { &s.context.workflow.cancellation_state } else { &s.task.status };
            let mut mv = Move::cascade(to, "parent", Cause::Workflow, &s.transition);
            // A part's end is no further link of its parent's chain.
            mv.depth = 0;
            self.apply(tx, &s.context, &mut child, mv).await?;
            effects.push(Effect::Kick(child.id));
        }
        Ok(End::Ok(Some(format!("{count} subtasks closed"))))
    }
}
