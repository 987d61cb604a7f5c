//! Guards of a state that the engine is about to send a task out of: they look at the worktree, so they are asked
//! before the transaction that decides, and only when it would send the task on.

use forge_model::actor::Cause;
use forge_model::budget::BudgetKind;
use forge_model::prompt::Correction;
use forge_model::task::{AnnotationType, HolderKind};
use forge_model::transition::StepStatus;
use forge_model::workflow::Action;
use forge_store::table::{roles, steps};
use serde_json::json;

use super::{Effect, End, Stepping};
use crate::{
    Engine, EngineError, boundary,
    error::Result,
    guards::is_asked,
    transition::{Carry, Move, Trouble},
};

/// What a step keeps once its guards let the task go.
const ASKED: &str = "guards_asked";

/// Whether a step may send its task out of a state that has guards, which were not asked yet.
pub(super) fn must_be_asked(s: &Stepping) -> bool {
    let sends_on = matches!(
        s.step.action,
        Some(
            Action::AutoCascadeOnReviewPass
                | Action::AutoCascadeOnUnassignedRole
                | Action::AutoCascadeOnMergeResult
        )
    );
    let asked = s.step.params.as_ref().is_some_and(|params| params.get(ASKED).is_some());
    sends_on
        && !asked
        && s.context.workflow.state(&s.task.status).is_some_and(|state| {
            state.hooks.before_exit.iter().any(|hook| is_asked(hook, s.transition.audience))
        })
}

impl Engine {
    /// Asks the guards on behalf of a step. None when the step is to be run now.
    pub(super) async fn ask_to_leave(&self, s: &Stepping) -> Result<Option<End>> {
        let Some(mv) = self.would_leave(s).await? else {
            self.mark_asked(s).await?;
            return Ok(None);
        };
        match self.ask_guards(&s.context, &s.task, s.transition.audience).await {
            Ok(None) => {
                self.mark_asked(s).await?;
                Ok(None)
            }
            Ok(Some(aside)) => Ok(Some(End::go(aside.instead_of(&mv)))),
            Err(EngineError::GuardRejected { action, reason, details }) => {
                let mut trouble = Trouble::new(AnnotationType::GuardRejected, reason);
                trouble.details = json!({ "action": action, "details": details });
                self.refused(s, trouble).await.map(Some)
            }
            Err(other) => Err(other),
        }
    }

    /// The move that the step would make, tried and taken back.
    async fn would_leave(&self, s: &Stepping) -> Result<Option<Box<Move>>> {
        let Some(action) = s.step.action else { return Ok(None) };
        let mut effects: Vec<Effect> = Vec::new();
        let mut tx = self.store().write().await?;
        let mut tried = Stepping {
            step: s.step.clone(),
            task: s.task.clone(),
            context: std::sync::Arc::clone(&s.context),
            transition: s.transition.clone(),
        };
        let end = self.run_instant_action(&mut tx, &mut tried, action, &mut effects).await?;
        drop(tx);
        Ok(match end {
            End::Go(mv) => Some(mv),
            End::Ok(_)
            | End::Skipped(_)
            | End::Failed(_)
            | End::Block(_)
            | End::Wait(_)
            | End::Interrupted
            | End::Taught(..)
            | End::Found(_)
            | End::Hook(_) => None,
        })
    }

    /// Has the step run with the next instant ones.
    async fn mark_asked(&self, s: &Stepping) -> Result<()> {
        let mut tx = self.store().write().await?;
        let current = steps::next(&mut tx, &s.task.id).await?.filter(|step| step.id == s.step.id);
        if let Some(mut step) = current {
            step.params = Some(json!({ ASKED: true }));
            step.status = StepStatus::Pending;
            steps::update(&mut tx, &step).await?;
            tx.commit().await?;
        }
        Ok(())
    }

    /// The agent gets the reason as another turn, paid from the execution budget; a person without either.
    async fn refused(&self, s: &Stepping, trouble: Trouble) -> Result<End> {
        let mut conn = self.store().read().await?;
        let budget = boundary::budget(&mut conn, &s.context, &s.task).await?.get(BudgetKind::Execution);
        let role = s.context.work_role().unwrap_or_default();
        let holder = roles::holder(&mut conn, &s.task.id, role).await?;
        let has_agent = holder.is_some_and(|holder| holder.kind == HolderKind::Agent);
        match s.context.workflow.work_state().filter(|work| work.name != s.task.status) {
            Some(work) if has_agent && budget.allows() => {
                let mut mv = Move::cascade(&work.name, "guard", Cause::Workflow, &s.transition);
                mv.reason = Some(trouble.message.clone());
                mv.carry = Carry {
                    corrections: vec![Correction::GuardRefused { reason: trouble.message }],
                    cause: Some("a guard refused".to_owned()),
                    spends: Some(BudgetKind::Execution),
                    ..Carry::default()
                };
                Ok(End::go(mv))
            }
            _ => Ok(End::Block(trouble)),
        }
    }
}
