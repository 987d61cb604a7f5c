//! After an agent finished: its leftovers are committed, and the task moves on if the guards let it.

use std::{path::Path, sync::Arc};

use forge_git::{GitError, Repo};
use forge_model::actor::Actor;
use forge_model::budget::BudgetKind;
use forge_model::execution::Execution;
use forge_model::ids::AgentId;
use forge_model::prompt::Correction;
use forge_model::review::{Review, ReviewStatus};
use forge_model::task::{AnnotationType, DiffStat};
use forge_model::workflow::{Audience, State};
use forge_model::workspace::Workspace;
use forge_store::Tx;
use forge_store::table::{executions, reviews, steps, tasks, workspaces};
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    Engine,
    core::{
        self,
        context::backup_prefix,
        leaving::Leave,
        retry_budget,
        runner::{AtGate, Effect, End, Finding, HeldBack, Stepping},
        transition::{Carry, Move},
        trouble::Trouble,
    },
    error::Result,
    fix, hook,
    review::{self, audit::audits},
    run::{
        self,
        plan::{read_plan, write_plan},
    },
    subtask,
    workspace::{self, half_done::Settled},
};

/// The cause of the one follow-up that asks an agent which changed nothing.
const ASKED_ABOUT_NO_CHANGE: &str = "asked about no change";

/// Commits what the agent left, with the user's own hooks and filters.
pub(crate) async fn commit_work(engine: &Engine, s: &Stepping) -> Result<End> {
    let Some((mut execution, workspace)) = finished_execution(engine, s).await? else {
        return Ok(End::skipped("no execution or no workspace"));
    };
    if let Some(part) = execution.subtask_id.clone() {
        return subtask::turns::commit_turn(engine, s, execution, &workspace, &part).await;
    }
    let worktree = Path::new(&workspace.path);
    let repo = core::context::repo(engine, &s.context).await?;
    let settled = match workspace::half_done::settle_worktree(engine, s, &repo, &workspace).await? {
        Settled::Ready(done) => done,
        Settled::Open(trouble) => return workspace::half_done::back_to_half_done(engine, s, *trouble).await,
    };
    let seen = repo.uncommitted(worktree).await?;
    if let Some(end) =
        workspace::nested::refuse_embedded(engine, s, &repo, &workspace, &seen, Some(&execution)).await?
    {
        return Ok(end);
    }
    let author =
        s.context.settings.author.as_ref().map(|author| (author.name.as_str(), author.email.as_str()));
    let message = format!("{}\n\nTask #{}", s.task.title, s.task.number);
    let message = core::redaction::redacted_in(engine, &s.context, message);
    let committed = match repo
        .commit_all_keeping_staged(worktree, &seen, &message, author, &backup_prefix(&s.task))
        .await
    {
        Err(GitError::CommitRefused { output }) => {
            let correction = Correction::CommitRefused { output: output.clone() };
            let mut trouble =
                Trouble::new(AnnotationType::CommitRefused, "the repository's hooks refuse the commit");
            trouble.details = json!({ "output": output });
            return send_back_in_place(engine, s, correction, "the commit was refused", trouble).await;
        }
        other => other?,
    };
    engine.point("work.committed");
    let stat = measure(s, &repo, worktree, &workspace).await?;
    execution.after_commit = Some(repo.head(worktree).await?);
    let mut tx = engine.store().write().await?;
    executions::update(&mut tx, &execution).await?;
    if let Some(mut task) = tasks::get(&mut tx, &s.task.id).await? {
        task.diff_stat = Some(stat);
        tasks::update(&mut tx, &mut task, engine.now()).await?;
    }
    tx.commit().await?;
    fix::superseded::supersede_fixes(engine, &s.task.id).await;
    review::unmerged::count_unmerged(engine, &s.task.id).await;
    let committed = committed.map(|commit| format!("committed {}", commit.get(..10).unwrap_or(&commit)));
    let remarks: Vec<String> = settled.into_iter().chain(committed).collect();
    Ok(End::Ok((!remarks.is_empty()).then(|| remarks.join(", "))))
}

/// How much the branch changes.
pub(crate) async fn measure(
    s: &Stepping,
    repo: &Repo,
    worktree: &Path,
    workspace: &Workspace,
) -> Result<DiffStat> {
    let head = repo.head(worktree).await?;
    let target = format!("refs/heads/{}", s.context.target_branch(&s.task));
    let base = repo.merge_base(&target, &head).await?.unwrap_or_else(|| workspace.base_commit.clone());
    let counts = repo.diff_counts(&base, &head).await?;
    Ok(DiffStat { files: counts.files, added: counts.added, removed: counts.removed })
}

async fn finished_execution(engine: &Engine, s: &Stepping) -> Result<Option<(Execution, Workspace)>> {
    let mut conn = engine.store().read().await?;
    let execution = match &s.step.execution_id {
        Some(id) => executions::get(&mut conn, id).await?.map(|row| row.execution),
        None => None,
    };
    let workspace = workspaces::last(&mut conn, &s.task.id).await?;
    Ok(execution.zip(workspace))
}

/// Moves the task along `accept`; a guard's refusal goes back to the agent.
pub(crate) async fn advance(engine: &Engine, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let Some((execution, _)) = finished_execution(engine, s).await? else {
        return Ok(End::skipped("no execution"));
    };
    if audits(execution.role) {
        return review::audit::settle_audit(engine, s, execution, cancel).await;
    }
    if s.context.workflow.state(&s.task.status).is_some_and(State::plans) {
        return advance_plan(engine, s, &execution).await;
    }
    if let Some(end) = subtask::turns::next_turn(engine, s).await? {
        return Ok(end);
    }
    let unchanged = s.task.diff_stat.is_none_or(|stat| stat.files == 0);
    if unchanged && s.task.review_passed_at.is_none() && execution.cause != ASKED_ABOUT_NO_CHANGE {
        let carry = Carry {
            corrections: vec![Correction::NoChange {}],
            cause: Some(ASKED_ABOUT_NO_CHANGE.to_owned()),
            ..Carry::default()
        };
        return run_once_more(engine, s, carry).await;
    }
    let accept = s.context.workflow.state(&s.task.status).and_then(|state| state.triggers.get("accept"));
    let Some(accept) = accept else {
        let mut tx = engine.store().write().await?;
        hook::queue_work_stop(&mut tx, &s.context, &s.task, &s.transition).await?;
        tx.commit().await?;
        return Ok(End::Ok(Some("the state declares no accept".to_owned())));
    };
    let aside = match core::leaving::may_leave(engine, s, Audience::AgentOnly).await? {
        Leave::Freely => None,
        Leave::Aside(aside) => Some(aside),
        Leave::Refused(trouble) => {
            let correction = Correction::GuardRefused { reason: trouble.message.clone() };
            return send_back_in_place(engine, s, correction, "a guard refused", trouble).await;
        }
    };
    let mut mv = Move::by(&accept.to, "accept", Actor::Agent { id: execution.agent_id });
    mv.carry.note = unchanged.then(|| "no changes".to_owned());
    mv.reason = execution.summary;
    let mv = aside.map_or_else(|| mv.clone(), |aside| aside.instead_of(&mv));
    Ok(End::go(mv))
}

/// The plan is what the planner wrote to its file, else what it said last.
async fn advance_plan(engine: &Engine, s: &Stepping, execution: &Execution) -> Result<End> {
    let workspace = {
        let mut conn = engine.store().read().await?;
        workspaces::last(&mut conn, &s.task.id).await?
    };
    let Some(workspace) = workspace else { return Ok(End::skipped("no workspace")) };
    review::traces::remove_traces(engine, &s.context, &s.task, &workspace).await?;
    // One from before the task came here is none of this planner's.
    if run::plan::missing_plan(engine, &s.task).await?.is_some() {
        match execution.summary.as_deref().filter(|said| !said.trim().is_empty()) {
            Some(said) => write_plan(&workspace, said).await?,
            None if read_plan(&workspace).await?.is_some() => {}
            None => {
                let reason = "no plan has been written".to_owned();
                let correction = Correction::GuardRefused { reason: reason.clone() };
                let trouble = Trouble::new(AnnotationType::GuardRejected, reason);
                return send_back_in_place(engine, s, correction, "asked for the plan", trouble).await;
            }
        }
    }
    Ok(End::Found(Arc::new(PlanWritten { planner: execution.agent_id.clone() })))
}

/// A plan is written, by this agent.
#[derive(Clone)]
struct PlanWritten {
    planner: AgentId,
}

impl Finding for PlanWritten {
    fn decide<'a>(
        &'a self,
        engine: &'a Engine,
        tx: &'a mut Tx,
        s: &'a mut Stepping,
        _: &'a mut Vec<Effect>,
    ) -> BoxFuture<'a, Result<End>> {
        Box::pin(decide_plan(engine, tx, s, self.planner.clone()))
    }

    fn at_gate(self: Arc<Self>) -> Option<Arc<dyn AtGate>> {
        Some(self)
    }
}

impl AtGate for PlanWritten {
    fn held_back<'a>(
        self: Arc<Self>,
        engine: &'a Engine,
        s: &'a Stepping,
        by: HeldBack,
    ) -> BoxFuture<'a, Result<End>> {
        Box::pin(async move {
            match by {
                HeldBack::Aside(mv) => Ok(End::Go(mv)),
                HeldBack::Refused(trouble) => {
                    let correction = Correction::GuardRefused { reason: trouble.message.clone() };
                    send_back_in_place(engine, s, correction, "a guard refused", trouble).await
                }
            }
        })
    }
}

/// Passes a plan that is written, or lets it wait for a person.
async fn decide_plan(engine: &Engine, tx: &mut Tx, s: &mut Stepping, planner: AgentId) -> Result<End> {
    let Some((state, mut review)) = running_review(tx, s).await? else {
        return Ok(End::skipped("nothing waits for the plan"));
    };
    let accepted = review::decision::decide_running(engine, tx, s, &state, &mut review).await?;
    Ok(match (accepted, state.triggers.get("accept")) {
        (true, Some(accept)) => End::go(Move::by(&accept.to, "accept", Actor::Agent { id: planner })),
        (true, None) => End::Ok(Some("passed; the state declares no accept".to_owned())),
        (false, _) => End::Ok(Some("the plan waits for a person".to_owned())),
    })
}

/// The task's gate and its review, while that runs.
pub(crate) async fn running_review(tx: &mut Tx, s: &Stepping) -> Result<Option<(State, Review)>> {
    let state = s.context.workflow.state(&s.task.status).cloned();
    let review = reviews::last(tx, &s.task.id).await?;
    Ok(state.zip(review).filter(|(_, review)| review.status == ReviewStatus::Running))
}

/// Another turn with the reason, paid from the execution budget; blocked when that is spent.
pub(crate) async fn send_back_in_place(
    engine: &Engine,
    s: &Stepping,
    correction: Correction,
    cause: &str,
    trouble: Trouble,
) -> Result<End> {
    let budget = {
        let mut conn = engine.store().read().await?;
        retry_budget::budget(&mut conn, &s.context, &s.task).await?.get(BudgetKind::Execution)
    };
    if !budget.allows() {
        return Ok(End::Block(trouble));
    }
    let carry = Carry {
        corrections: vec![correction],
        cause: Some(cause.to_owned()),
        spends: Some(BudgetKind::Execution),
        ..Carry::default()
    };
    run_once_more(engine, s, carry).await
}

/// Replaces the rest of this turn's steps by another run of the agent.
pub(crate) async fn run_once_more(engine: &Engine, s: &Stepping, carry: Carry) -> Result<End> {
    let mut effects: Vec<Effect> = Vec::new();
    let mut tx = engine.store().write().await?;
    let Some(task) = tasks::get(&mut tx, &s.task.id).await? else { return Ok(End::Interrupted) };
    let still_current = steps::next(&mut tx, &s.task.id).await?.is_some_and(|step| step.id == s.step.id);
    if !still_current || task.status != s.task.status {
        return Ok(End::Interrupted);
    }
    let reason = carry.cause.clone();
    steps::skip_open(&mut tx, &s.task.id, "the agent gets another turn", engine.now()).await?;
    let mut again = Stepping { task, ..s.again() };
    super::dispatch::re_enter(engine, &mut tx, &mut again, carry, &mut effects).await?;
    tx.commit().await?;
    core::runner::act(engine, effects);
    Ok(End::Ok(reason))
}
