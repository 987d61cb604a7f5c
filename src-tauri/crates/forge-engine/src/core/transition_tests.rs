//! Every edge of the default workflow is written once, with its row, version, events and steps; the coverage is
//! printed.

use std::sync::Arc;

use forge_model::actor::{Actor, Cause, Via};
use forge_model::task::AnnotationType;
use forge_model::transition::StepKind;
use forge_model::workflow::{Action, Edge, StateKind, default_workflow};
use forge_store::Tx;
use forge_store::table::{steps::StepRow, tasks::TaskRow};
use serde_json::json;

use crate::{
    EngineConfig, World,
    core::{
        block_reason::BlockReason, context::ProjectContext, moves::Move, testing, transition::MAX_CASCADES,
    },
};

pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) context: Arc<ProjectContext>,
    _dir: tempfile::TempDir,
}

pub(crate) async fn bench() -> Bench {
    let dir = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(dir.path().to_owned(), std::env::vars_os());
    // The profile of whoever runs the tests is not run.
    config.login_shell = Some("true".into());
    let world = crate::start::open(config).await.unwrap();
    let now = world.now();
    let row = testing::project_row(json!({}), now);
    let mut tx = world.store().write().await.unwrap();
    tx.projects_mut().insert(&row).await.unwrap();
    let context = super::contexts::context(&world, &mut tx, &row.project.id).await.unwrap();
    tx.commit().await.unwrap();
    Bench { world, context, _dir: dir }
}

impl Bench {
    /// A task in a state, as if it had been moved there.
    pub(crate) async fn task_in(&self, tx: &mut Tx, state: &str) -> TaskRow {
        let now = self.world.now();
        let project = &self.context.project.id;
        let number = tx.projects_mut().take_task_number(project).await.unwrap();
        let row = testing::task_row(self.world.new_id(), number, state, now);
        tx.tasks_mut().insert(&row).await.unwrap();
        row
    }

    async fn walk(&self, edge: &Edge) {
        let world = &self.world;
        let mut tx = world.store().write().await.unwrap();
        let mut task = self.task_in(&mut tx, &edge.from).await;
        let before = tx.events().last_seq().await.unwrap();
        let actor = Actor::System { cause: Cause::Workflow };
        self.context.workflow.check_edge(&edge.from, &edge.to, &actor).unwrap();
        let mut mv = Move::by(&edge.to, "walk", actor);
        let target = self.context.workflow.state(&edge.to).unwrap();
        if target.kind == StateKind::Blocked {
            mv.annotation =
                Some(BlockReason::new(AnnotationType::Manual, "walked").annotation(&edge.from, world.now()));
        }
        super::transition::apply(world, &mut tx, &self.context, &mut task, mv).await.unwrap();

        let stored = tx.tasks().get(&task.id).await.unwrap().unwrap();
        assert_eq!((stored.status.as_str(), stored.version), (edge.to.as_str(), 2), "{edge:?}");
        let last = tx.transitions().last(&task.id).await.unwrap().unwrap();
        assert_eq!((last.from.as_str(), last.to.as_str()), (edge.from.as_str(), edge.to.as_str()));
        let told = tx.events().after(before, 100).await.unwrap();
        assert!(told.iter().any(|event| event.data["to"] == edge.to.as_str()), "{edge:?}: {told:?}");
        let queued = tx.steps().of_transition(last.seq).await.unwrap();
        let hooks: usize = [&target.hooks.before_enter, &target.hooks.on_enter, &target.hooks.after_enter]
            .iter()
            .map(|h| h.len())
            .sum();
        assert!(queued.len() >= hooks, "{edge:?}: every hook of the entered state is queued");
        let captures = queued.iter().any(|step| step.kind == StepKind::Capture);
        assert_eq!(captures, target.kind == StateKind::Gate, "{edge:?}: a gate is entered with a commit");
        tx.commit().await.unwrap();
    }
}

#[tokio::test]
async fn every_edge_of_the_default_workflow_is_walked() {
    let bench = bench().await;
    let edges = bench.context.workflow.edges();
    for edge in &edges {
        bench.walk(edge).await;
    }
    println!(
        "edge coverage: {} of {} edges of the default workflow",
        edges.len(),
        default_workflow().edges().len()
    );
    assert_eq!(edges, default_workflow().edges());
    crate::start::stop(&bench.world, crate::start::Runs::End).await;
}

#[tokio::test]
async fn the_fourth_cascade_in_a_row_blocks_the_task() {
    let bench = bench().await;
    let mut tx = bench.world.store().write().await.unwrap();
    let mut task = bench.task_in(&mut tx, "in_progress").await;
    let person = Actor::User { via: Via::Api };
    let to_review = Move::by("review", "move", person);
    let mut last =
        super::transition::apply(&bench.world, &mut tx, &bench.context, &mut task, to_review).await.unwrap();
    for (n, to) in ["merging", "review", "merging", "review"].into_iter().enumerate() {
        let mv = Move::cascade(to, "cascade", Cause::Workflow, &last);
        last =
            super::transition::cascade(&bench.world, &mut tx, &bench.context, &mut task, mv).await.unwrap();
        let expected = if n < MAX_CASCADES as usize { to } else { "blocked" };
        assert_eq!(last.to, expected);
    }
    assert_eq!(task.error_annotation.as_ref().unwrap().kind, AnnotationType::CascadeLimit);
    tx.commit().await.unwrap();
    crate::start::stop(&bench.world, crate::start::Runs::End).await;
}

#[tokio::test]
async fn a_hook_for_others_is_recorded_as_skipped() {
    let mut workflow = default_workflow().clone();
    let review = workflow.states.iter_mut().find(|state| state.name == "review").unwrap();
    review.hooks.before_enter[0].applies_to = forge_model::workflow::Audience::AgentOnly;
    let bench = bench().await;
    let context = ProjectContext {
        project: bench.context.project.clone(),
        settings: bench.context.settings.clone(),
        workflow,
        broken_checks: Vec::new(),
        entries: std::sync::OnceLock::new(),
    };
    let mut tx = bench.world.store().write().await.unwrap();
    let mut task = bench.task_in(&mut tx, "todo").await;
    let mv = Move::by("review", "move", Actor::User { via: Via::Board });
    let row = super::transition::apply(&bench.world, &mut tx, &context, &mut task, mv).await.unwrap();
    let queued = tx.steps().of_transition(row.seq).await.unwrap();
    let checks = |queued: &[StepRow]| {
        queued.iter().find(|step| step.action == Some(Action::RunCiSteps)).cloned().unwrap()
    };
    assert_eq!(checks(&queued).reason.as_deref(), Some("answers to agent_only moves"));
    // What follows from a person's act by itself is theirs, too; what follows from an agent's is the agents'.
    let person = Move::by("merging", "move", Actor::User { via: Via::Board });
    let agent = Move::by("merging", "accept", Actor::System { cause: Cause::Workflow });
    for (cause, is_skipped) in [(person, true), (agent, false)] {
        let mut task = bench.task_in(&mut tx, "in_progress").await;
        let first =
            super::transition::apply(&bench.world, &mut tx, &context, &mut task, cause).await.unwrap();
        let mv = Move::cascade("review", "cascade", Cause::Merge, &first);
        let row = super::transition::cascade(&bench.world, &mut tx, &context, &mut task, mv).await.unwrap();
        let queued = tx.steps().of_transition(row.seq).await.unwrap();
        assert_eq!(checks(&queued).outcome.is_some(), is_skipped, "{:?}", first.audience);
    }
    tx.commit().await.unwrap();
    crate::start::stop(&bench.world, crate::start::Runs::End).await;
}
